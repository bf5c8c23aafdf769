//! FR-FCFS with a cap on row hits: at most four younger accesses to the open row go before an older access
//! of the bank to another row. O. Mutlu, T. Moscibroda, "Stall-time fair memory access scheduling for chip
//! multiprocessors" (MICRO 2007) introduces it as FR-FCFS+Cap, a baseline for its own scheduler, with the
//! cap of four.
//!
//! Hardware: a counter of three bits per bank beside FR-FCFS's comparators.

use super::{Pick, Queued};

/// Younger requests that may pass the oldest one.
const CAP: u32 = 4;

#[derive(Clone, Debug)]
pub(in crate::dram) struct FrFcfsCap {
    /// For each bank, how many younger requests have passed its oldest one.
    passed: Box<[u32]>,
}

impl Pick for FrFcfsCap {
    fn new(banks: usize) -> Self {
        Self { passed: vec![0; banks].into() }
    }

    fn pick(&mut self, bank: usize, queue: &[Queued], open_row: u32) -> usize {
        let passed = &mut self.passed[bank];
        let hit = if *passed < CAP { queue.iter().position(|r| r.row == open_row) } else { None };
        let at = hit.unwrap_or(0);
        *passed = if at == 0 { 0 } else { *passed + 1 };
        at
    }
}

kit::persist! {
    struct FrFcfsCap { passed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::scheduler::tests::{Expected, agrees, read};
    use proptest::prelude::*;

    #[test]
    fn the_fifth_row_hit_waits_for_the_oldest_request() {
        let mut cap = FrFcfsCap::new(1);
        let mut queue: Vec<Queued> = (1..=7).map(|id| read(id, if id == 2 { 3 } else { 9 })).collect();
        let mut pick = |open_row| queue.remove(cap.pick(0, &queue, open_row)).id;
        // Request 1 is the oldest and passes nothing; 3, 4, 5 and 6 pass request 2.
        assert_eq!([pick(9), pick(9), pick(9), pick(9), pick(9)], [1, 3, 4, 5, 6]);
        assert_eq!((pick(9), pick(3)), (2, 7), "7 would hit the open row");
    }

    proptest! {
        #[test]
        fn agrees_with_its_definition(arrivals in prop::collection::vec(0u32..3, 1..80)) {
            // Who has been passed by how many.
            let mut passed = std::collections::BTreeMap::new();
            agrees::<FrFcfsCap>(&arrivals, |queue, open_row| {
                let oldest = queue[0];
                let times: &mut u32 = passed.entry(oldest.id).or_default();
                let hit = queue.iter().find(|r| r.row == open_row).filter(|_| *times < 4);
                let taken = hit.copied().unwrap_or(oldest);
                *times += u32::from(taken.id != oldest.id);
                Expected(taken.id)
            });
        }
    }
}
