//! The stream buffer of a sub-core: lines that follow a miss, before they are asked for.

use std::collections::VecDeque;

/// Lines of a stream in order, requested or there.
#[derive(Debug)]
pub(super) struct StreamBuffer {
    lines: VecDeque<Line>,
    capacity: usize,
    line_bytes: u64,
    /// The line that is prefetched next; none if the stream has stopped.
    next: Option<u64>,
    pub requested: u64,
    pub used: u64,
    pub dropped: u64,
}

/// A line by its address.
#[derive(Clone, Copy, Debug)]
struct Line {
    address: u64,
    has_come: bool,
}

impl StreamBuffer {
    /// A buffer of `capacity` lines of `line_bytes` without a stream.
    pub fn new(capacity: u32, line_bytes: u32) -> Self {
        Self {
            lines: VecDeque::with_capacity(capacity as usize),
            capacity: capacity as usize,
            line_bytes: line_bytes.into(),
            next: None,
            requested: 0,
            used: 0,
            dropped: 0,
        }
    }

    /// A stream begins after the line at `missed`.
    pub fn restart(&mut self, missed: u64) {
        self.clear();
        self.next = (self.capacity > 0).then_some(missed + self.line_bytes);
    }

    /// Drops the stream.
    pub fn clear(&mut self) {
        self.dropped += self.lines.len() as u64;
        self.lines.clear();
        self.next = None;
    }

    /// The line to prefetch, for which there is room.
    #[inline]
    pub fn wanted(&self) -> Option<u64> {
        self.next.filter(|_| self.lines.len() < self.capacity)
    }

    /// The wanted line has been requested, if `is_new`; else the stream stops at it.
    pub fn advance(&mut self, is_new: bool) {
        let Some(address) = self.next.take().filter(|_| is_new) else { return };
        self.lines.push_back(Line { address, has_come: false });
        self.next = Some(address + self.line_bytes);
        self.requested += 1;
    }

    /// If the line at `address` is at the head: takes it, and says whether it has come.
    pub fn take_head(&mut self, address: u64) -> Option<bool> {
        let head = *self.lines.front().filter(|line| line.address == address)?;
        self.lines.pop_front();
        self.used += 1;
        Some(head.has_come)
    }

    /// The line at `address` has come, be it of this stream or of an earlier one.
    pub fn receive(&mut self, address: u64) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.address == address) {
            line.has_come = true;
        }
    }
}

kit::persist! {
    new struct Line { address, has_come }
    struct StreamBuffer { lines, next, requested, used, dropped; skip capacity, line_bytes }
}
