//! The fetch stage of a sub-core: its instruction cache, its stream buffer, the lines that it has requested.

use super::constants::ConstantCache;
use super::shared::SharedCache;
use super::sizes::SubCoreCaches;
use super::stream_buffer::StreamBuffer;
use crate::frontend::FetchWires;
use crate::observe::observer::Observer;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;
use kit::Cycle;
use mem::Cache;
use mem::cache::{CacheCounters, CacheOutcome};
use std::ops::Range;

/// A sub-core.
#[derive(Debug)]
pub(super) struct SubCore<M> {
    number: usize,
    pub warps: M,
    /// The warp that issued last.
    pub last_issued: Option<WarpSlot>,
    /// Absent if every fetch hits.
    l0: Option<Cache>,
    line_bytes: u32,
    /// The line that hit last. Until a line comes it is the one that was used last, so its hits need no look-up.
    last_line: Option<u64>,
    hits_of_last_line: u64,
    pub stream: StreamBuffer,
    pub constants: ConstantCache<M>,
    /// Lines under way, each with its MSHR if L0 asked for it and not the stream buffer; by the id of the request.
    requested: Vec<Option<(u64, Option<u32>)>>,
    /// Lines under way that warps wait for, of constants too.
    pub awaited: u32,
}

impl<M: WarpMask> SubCore<M> {
    pub fn new(number: usize, warps: M, caches: &SubCoreCaches) -> Self {
        Self {
            number,
            warps,
            last_issued: None,
            l0: (!caches.perfect).then(|| Cache::new(&caches.l0)),
            line_bytes: caches.l0.line_bytes,
            last_line: None,
            hits_of_last_line: 0,
            stream: StreamBuffer::new(caches.stream_buffer_lines, caches.l0.line_bytes),
            constants: ConstantCache::new(caches),
            requested: Vec::new(),
            awaited: 0,
        }
    }

    /// Fetches for one of `wanting`: for the warp that issued last, else for the youngest. Returns it on a hit. Notes in
    /// `is_changed` that the stream may go on or a request is under way.
    #[inline(always)]
    pub fn fetch<O: Observer>(
        &mut self,
        wanting: M,
        wires: &mut FetchWires<'_, M, O>,
        shared: &mut SharedCache,
        is_changed: &mut bool,
    ) -> Option<WarpSlot> {
        let greedy = self.last_issued.filter(|&warp| wanting.contains(warp));
        let warp = greedy.or_else(|| wires.youngest(wanting))?;
        let pc = wires.next_pc(warp)?;
        wires.moved();
        let request = wires.request(warp, pc);
        let line = request.address & !u64::from(self.line_bytes - 1);
        if self.last_line == Some(line) {
            self.hits_of_last_line += 1;
            wires.fetched(warp, pc);
            return Some(warp);
        }
        let outcome = match &mut self.l0 {
            None => CacheOutcome::Hit,
            Some(l0) => {
                let at_head = self.stream.take_head(line);
                if at_head == Some(true) {
                    l0.preload(line, self.line_bytes);
                }
                *is_changed |= at_head.is_some();
                let outcome = l0.access(wires.now(), &request).outcome;
                if let Some(miss) = l0.pop_miss() {
                    *is_changed = true;
                    self.request(wires.now(), line, miss.token, at_head.is_some(), shared);
                }
                outcome
            }
        };
        match outcome {
            CacheOutcome::Hit => {
                self.last_line = self.l0.is_some().then_some(line);
                wires.fetched(warp, pc);
                return Some(warp);
            }
            CacheOutcome::Miss | CacheOutcome::Merged => wires.missed(warp, pc),
            CacheOutcome::Fail(_) => wires.refused(),
        }
        None
    }

    /// MSHR `mshr` of L0 waits for `line`, which was `at_head` of the stream or begins another one.
    fn request(&mut self, now: Cycle, line: u64, mshr: u32, at_head: bool, shared: &mut SharedCache) {
        if !at_head {
            self.stream.restart(line);
        }
        self.awaited += 1;
        match self.requested.iter_mut().flatten().find(|(requested, _)| *requested == line) {
            Some((_, waiting)) => *waiting = Some(mshr),
            None => self.send(now, line, Some(mshr), shared),
        }
    }

    fn send(&mut self, now: Cycle, line: u64, mshr: Option<u32>, shared: &mut SharedCache) {
        let free = self.requested.iter().position(Option::is_none);
        let id = free.unwrap_or_else(|| {
            self.requested.push(None);
            self.requested.len() - 1
        });
        self.requested[id] = Some((line, mshr));
        shared.request(now, self.number, (line, self.line_bytes), 2 * id as u32);
    }

    /// Whether the stream has a line to prefetch in the next cycle.
    #[inline]
    pub fn may_prefetch(&self) -> bool {
        self.stream.wanted().is_some()
    }

    /// Prefetches the next line of the stream, if there is room.
    #[inline]
    pub fn prefetch(&mut self, now: Cycle, shared: &mut SharedCache) {
        let Some(line) = self.stream.wanted() else { return };
        let is_there = self.l0.as_ref().is_some_and(|l0| l0.holds(line));
        let is_new = !is_there && !self.requested.iter().flatten().any(|(requested, _)| *requested == line);
        self.stream.advance(is_new);
        if is_new {
            self.send(now, line, None, shared);
        }
    }

    /// The id of the request of the constant cache with number `id`; those of instructions are even.
    pub fn id_of_constant(id: u32) -> u32 {
        2 * id + 1
    }

    /// Whether a warp waits for the line of request `id`.
    #[inline]
    pub fn awaits(&self, id: u32) -> bool {
        id % 2 == 1 || matches!(self.requested[id as usize / 2], Some((_, Some(_))))
    }

    /// The line of request `id`, which no warp awaits, has come.
    pub fn receive_prefetched(&mut self, id: u32) {
        debug_assert!(!self.awaits(id));
        if let Some((line, _)) = self.requested[id as usize / 2].take() {
            self.stream.receive(line);
        }
    }

    /// The line of request `id` has come.
    pub fn receive<O: Observer>(&mut self, id: u32, wires: &mut FetchWires<'_, M, O>) {
        if !self.awaits(id) {
            return self.receive_prefetched(id);
        }
        self.awaited -= 1;
        if id % 2 == 1 {
            self.constants.receive(wires.now(), id / 2);
            return wires.look_again(self.warps);
        }
        let Some((_, Some(mshr))) = self.requested[id as usize / 2].take() else { return };
        wires.moved();
        let Some(l0) = self.l0.as_mut() else { return };
        self.last_line = None;
        l0.fill(wires.now(), mshr);
        while let Some(waiter) = l0.pop_ready() {
            wires.answered(WarpSlot(waiter.token as u16));
        }
    }

    /// Drops what the caches hold outside the addresses `kept`; lines under way are dropped when they come.
    pub fn keep_only(&mut self, kept: &Range<u64>) {
        self.l0.iter_mut().for_each(|l0| l0.keep_only(kept));
        self.last_line = None;
        self.stream.clear();
        self.constants.invalidate();
    }

    pub fn counters(&self) -> CacheCounters {
        let mut counters = self.l0.as_ref().map_or_else(CacheCounters::default, |l0| l0.counters().clone());
        counters.read_hits += self.hits_of_last_line;
        counters
    }
}

kit::persist! {
    struct [M: WarpMask] SubCore<M> {
        last_issued, l0: part, last_line, hits_of_last_line, stream, constants, requested, awaited;
        skip number, warps, line_bytes
    }
}
