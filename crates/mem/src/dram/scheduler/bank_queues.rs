//! Requests in a queue per bank, which banks serve in turn. Which request of its queue a bank takes
//! is a [`Pick`].
//!
//! Writes may wait in queues of their own, which are drained from the time when they fill up to a
//! mark until they fall below another, and (unlike GPGPU-Sim's, where the last ones stay for good)
//! when no read waits.

use super::{Banks, Choice, Policy, Queued};

/// Which request of its queue a bank takes.
pub(in crate::dram) trait Pick {
    fn new(banks: usize) -> Self;
    /// The position of a request in the queue of `bank`, which is not empty and has the oldest first.
    /// The request is taken. `open_row` is the row that the bank has or had open.
    fn pick(&mut self, bank: usize, queue: &[Queued], open_row: u32) -> usize;
}

#[derive(Clone, Debug)]
pub(in crate::dram) struct BankQueues<P> {
    /// Reads, and writes too unless they have queues of their own.
    reads: Queues<P>,
    writes: Queues<P>,
    /// (drain from, drain until below), if writes have queues of their own.
    marks: Option<(usize, usize)>,
    draining: bool,
}

#[derive(Clone, Debug)]
struct Queues<P> {
    entries: usize,
    len: usize,
    banks: Box<[Vec<Queued>]>,
    pending: u64,
    pick: P,
}

impl<P: Pick> Queues<P> {
    fn new(entries: usize, banks: usize) -> Self {
        Self { entries, len: 0, banks: vec![Vec::new(); banks].into(), pending: 0, pick: P::new(banks) }
    }

    #[inline]
    fn push(&mut self, request: Queued) {
        self.banks[usize::from(request.bank)].push(request);
        self.pending |= 1 << request.bank;
        self.len += 1;
    }

    fn take(&mut self, bank: usize, open_row: u32) -> Choice {
        let queue = &mut self.banks[bank];
        let at = self.pick.pick(bank, queue, open_row);
        let request = queue.remove(at);
        if queue.is_empty() {
            self.pending &= !(1 << bank);
        }
        self.len -= 1;
        Choice { request, row_hit: request.row == open_row, rotate: true }
    }
}

impl<P: Pick> BankQueues<P> {
    /// `write_queue` is (entries, drain from, drain until below).
    pub fn new(entries: u32, write_queue: Option<[u32; 3]>, banks: usize) -> Self {
        let [write_entries, from, below] = write_queue.unwrap_or_default().map(|n| n as usize);
        Self {
            reads: Queues::new(entries as usize, banks),
            writes: Queues::new(write_entries.max(1), banks),
            marks: write_queue.map(|_| (from.clamp(1, write_entries.max(1)), below)),
            draining: false,
        }
    }

    /// Whether writes are served now.
    #[inline]
    fn drains(&self) -> bool {
        self.marks.is_some_and(|(from, below)| {
            let enough = if self.draining { self.writes.len >= below.max(1) } else { self.writes.len >= from };
            enough || self.reads.len == 0 && self.writes.len > 0
        })
    }
}

/// The first bank of `candidates` from `first` on, cyclically.
#[inline]
fn first_from(candidates: u64, first: u32) -> Option<usize> {
    let ahead = candidates & u64::MAX.checked_shl(first).unwrap_or(0);
    let pick = if ahead != 0 { ahead } else { candidates };
    (pick != 0).then(|| pick.trailing_zeros() as usize)
}

impl<P: Pick> Policy for BankQueues<P> {
    #[inline]
    fn room(&self) -> [bool; 2] {
        let read = self.reads.len < self.reads.entries;
        let write = if self.marks.is_some() { self.writes.len < self.writes.entries } else { read };
        [read, write]
    }

    #[inline]
    fn push(&mut self, request: Queued) {
        let own_queue = request.write && self.marks.is_some();
        if own_queue { self.writes.push(request) } else { self.reads.push(request) }
    }

    #[inline(always)]
    fn choose(&mut self, banks: Banks<'_>) -> Option<Choice> {
        self.draining = self.drains();
        let queue = if self.draining { &mut self.writes } else { &mut self.reads };
        let bank = first_from(queue.pending & banks.free, banks.first)?;
        Some(queue.take(bank, banks.open_row[bank]))
    }

    #[inline]
    fn choosable(&self) -> u64 {
        if self.drains() { self.writes.pending } else { self.reads.pending }
    }
}

kit::persist! {
    struct [P: kit::persist::Persist] Queues<P> { len, banks, pending, pick; skip entries }
    struct [P: kit::persist::Persist] BankQueues<P> { reads, writes, draining; skip marks }
}

#[cfg(test)]
mod tests {
    use super::super::fr_fcfs::FrFcfs;
    use super::*;

    fn read(id: u16, bank: u8, row: u32) -> Queued {
        Queued { id, bank, row, write: false }
    }

    fn choose(s: &mut BankQueues<FrFcfs>, free: u64, first: u32, open_row: &[u32]) -> Option<(u16, bool)> {
        let banks = Banks { free, first, open_row };
        let possible = s.choosable() & free != 0;
        let choice = s.choose(banks);
        assert_eq!(choice.is_some(), possible);
        choice.map(|c| (c.request.id, c.row_hit))
    }

    #[test]
    fn banks_take_turns_and_the_queue_is_bounded() {
        let mut s = BankQueues::<FrFcfs>::new(3, None, 4);
        [read(1, 0, 0), read(2, 2, 0), read(3, 3, 0)].into_iter().for_each(|r| s.push(r));
        assert!(!s.room()[0]);
        assert_eq!(choose(&mut s, 0b1111, 1, &[0; 4]), Some((2, true)));
        assert_eq!(choose(&mut s, 0b1111, 3, &[0; 4]), Some((3, true)));
        assert_eq!(choose(&mut s, 0b1111, 3, &[0; 4]), Some((1, true)));
        assert_eq!(choose(&mut s, 0b1111, 3, &[0; 4]), None);
    }

    #[test]
    fn a_write_queue_drains_between_its_marks() {
        let mut s = BankQueues::<FrFcfs>::new(8, Some([4, 3, 2]), 1);
        let write = |id| Queued { id, bank: 0, row: 0, write: true };
        [read(1, 0, 0), read(2, 0, 0), read(3, 0, 0)].into_iter().for_each(|r| s.push(r));
        [write(10), write(11)].into_iter().for_each(|r| s.push(r));
        assert_eq!(choose(&mut s, 1, 0, &[0]), Some((1, true)), "two writes wait");
        s.push(write(12));
        assert_eq!(choose(&mut s, 1, 0, &[0]), Some((10, true)), "three are drained");
        assert_eq!(choose(&mut s, 1, 0, &[0]), Some((11, true)));
        assert_eq!(choose(&mut s, 1, 0, &[0]), Some((2, true)), "one is below the lower mark");
        assert_eq!(choose(&mut s, 1, 0, &[0]), Some((3, true)));
        assert_eq!(choose(&mut s, 1, 0, &[0]), Some((12, true)), "no read is left");
    }
}
