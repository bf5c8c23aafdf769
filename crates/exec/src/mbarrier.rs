//! `mbarrier`: a barrier of 64 bits in shared memory.
//!
//! Its layout is as in machine code of sm_80, found by compiling each form of the PTX instructions:
//!
//! | bits | are |
//! | --- | --- |
//! | 0 to 29 | minus the number of arrivals that each phase expects; 2^30 if it expects none |
//! | 32 to 62 | minus the number of arrivals that the phase still expects |
//! | 63 | parity of the phase |
//!
//! The last arrival of a phase carries into the parity.
//!
//! Deviation: a warp waits at `cp.async.mbarrier.arrive` until its copies are done, where hardware continues.
//! Instructions in its instruction buffer have executed by then, so that an arrival directly after it may be seen
//! before the copies are done in time; their data is there.

/// The parity of the phase, in the upper word.
pub const PARITY: u32 = 1 << 31;
/// From this the lower word of a barrier is counted down.
pub const EXPECTED: u32 = 1 << 30;

/// The state after `count` arrivals. At the last one of a phase the next phase begins.
pub(crate) fn arrive(state: u64, count: u32) -> u64 {
    let (expected, pending) = (state as u32, (state >> 32) as u32);
    let mut after = pending.wrapping_add(count);
    if (after ^ pending) & PARITY != 0 {
        after = after & PARITY | expected.wrapping_add(EXPECTED) & !PARITY;
    }
    u64::from(expected) | u64::from(after) << 32
}

/// The state when later phases expect `count` arrivals fewer.
pub(crate) fn drop(state: u64, count: u32) -> u64 {
    state & !u64::from(u32::MAX) | u64::from((state as u32).wrapping_add(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(count: u32) -> u64 {
        u64::from(EXPECTED - count) | u64::from(PARITY - count) << 32
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival() {
        let mut state = new(3);
        for parity in [0, PARITY, 0] {
            for _ in 0..3 {
                assert_eq!((state >> 32) as u32 & PARITY, parity);
                state = arrive(state, 1);
            }
        }
        assert_eq!(state, arrive(new(3), 3), "three phases, or one");
    }

    #[test]
    fn those_that_drop_are_expected_no_more() {
        let state = arrive(drop(new(3), 1), 1);
        assert_eq!(arrive(state, 1) >> 32 & u64::from(PARITY), 0, "the phase still expects three");
        let next = arrive(state, 2);
        assert_eq!(next, new(2) ^ u64::from(PARITY) << 32);
        let none = arrive(drop(arrive(drop(next, 1), 1), 1), 1);
        assert_eq!(none, u64::from(EXPECTED), "of none, in the next phase");
    }
}
