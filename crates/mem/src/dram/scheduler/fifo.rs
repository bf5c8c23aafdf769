//! First come, first served: the oldest request waits for its bank, all others wait for it.

use super::{Banks, Choice, Policy, Queued};
use std::collections::VecDeque;

/// Requests that may wait, as in GPGPU-Sim.
const ENTRIES: usize = 2;

#[derive(Clone, Debug)]
pub(in crate::dram) struct Fifo {
    queue: VecDeque<Queued>,
}

impl Fifo {
    pub fn new() -> Self {
        Self { queue: VecDeque::with_capacity(ENTRIES) }
    }
}

impl Policy for Fifo {
    fn room(&self) -> [bool; 2] {
        [self.queue.len() < ENTRIES; 2]
    }

    fn push(&mut self, request: Queued) {
        self.queue.push_back(request);
    }

    fn choose(&mut self, banks: Banks<'_>) -> Option<Choice> {
        if self.choosable() & banks.free == 0 {
            return None;
        }
        let request = self.queue.pop_front()?;
        let row_hit = banks.open_row[usize::from(request.bank)] == request.row;
        Some(Choice { request, row_hit, rotate: false })
    }

    fn choosable(&self) -> u64 {
        self.queue.front().map_or(0, |r| 1 << r.bank)
    }
}

kit::persist! {
    struct Fifo { queue }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_blocks_the_rest() {
        let mut fifo = Fifo::new();
        let request = |id, bank| Queued { id, bank, row: 5, write: false };
        fifo.push(request(1, 3));
        assert_eq!(fifo.room(), [true; 2]);
        fifo.push(request(2, 0));
        assert_eq!(fifo.room(), [false; 2]);
        let open_row = [0; 4];
        let banks = |free| Banks { free, first: 0, open_row: &open_row };
        assert_eq!(fifo.choose(banks(0b0111)), None, "bank 3 is busy and the other must wait");
        assert_eq!(fifo.choose(banks(0b1111)).map(|c| c.request.id), Some(1));
        assert_eq!(fifo.choose(banks(0b0111)).map(|c| c.request.id), Some(2));
    }
}
