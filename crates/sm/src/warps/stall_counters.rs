//! The stall counters of all warps: until when the control bits of its last instruction keep a warp from issuing.
//!
//! They follow Huerta et al., *Dissecting and Modeling the Architecture of Modern GPU Cores* (MICRO 2025), section 4.
//! A counter is set at issue and loses one each cycle; the warp may issue when it is 0. Nothing is counted down here: a
//! warp waits in the bucket of the cycle in which it may issue again.
//!
//! - D-SC1: a stall count above 11 without a yield holds hardware for a cycle or two; compilers do not write it. Here
//!   it holds for its count; `warpwright inspect --early-reads` counts them.

use gpu::resident::mask::WarpMask;
use isa::ControlBits;
use kit::{Cycle, NEVER};

/// Cycles that the word with stall count 0 and a yield holds its warp.
const LONG_STALL: u8 = 45;
/// Buckets: more than any stall has cycles.
const CYCLES: usize = 64;

/// From the issue of an instruction with `bits` to the earliest issue of its warp's next one: one cycle if they hold
/// nothing.
pub fn issue_distance(bits: ControlBits) -> u8 {
    match (bits.stall_cycles, bits.yields) {
        (0, true) => LONG_STALL,
        // The warp leaves the next cycle to others.
        (0 | 1, yields) => 1 + u8::from(yields),
        (cycles, _) => cycles,
    }
}

/// Warps that their stall counters hold.
#[derive(Clone, Debug)]
pub struct StallCounters<M> {
    /// Those whose counter is not 0.
    pub holding: M,
    /// These by the cycle in which they may issue again, modulo the length.
    until: [M; CYCLES],
    /// The buckets with any, one bit each.
    used: u64,
}

impl<M: WarpMask> Default for StallCounters<M> {
    fn default() -> Self {
        Self { holding: M::NONE, until: [M::NONE; CYCLES], used: 0 }
    }
}

impl<M: WarpMask> StallCounters<M> {
    /// The warps `only` issued at `now` and may issue again `distance` cycles later, more than one.
    #[inline]
    pub fn hold(&mut self, now: Cycle, only: M, distance: u8) {
        debug_assert!(distance > 1 && usize::from(distance) < CYCLES);
        let at = (now + Cycle::from(distance)) as usize % CYCLES;
        self.holding |= only;
        self.until[at] |= only;
        self.used |= 1 << at;
    }

    /// The warps that may issue again from `now` on. Called in each cycle that [`Self::next`] names.
    #[inline]
    pub fn release(&mut self, now: Cycle) -> M {
        let at = now as usize % CYCLES;
        self.used &= !(1 << at);
        let released = std::mem::replace(&mut self.until[at], M::NONE);
        self.holding &= !released;
        released
    }

    /// The next cycle after `now` in which a warp may issue again; [`NEVER`] if none is held.
    #[inline]
    pub fn next(&self, now: Cycle) -> Cycle {
        let after = self.used.rotate_right((now + 1) as u32 % CYCLES as u32);
        if after == 0 { NEVER } else { now + 1 + Cycle::from(after.trailing_zeros()) }
    }
}

kit::persist! {
    struct [M: WarpMask] StallCounters<M> { holding, until, used }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(stall_cycles: u8, yields: bool) -> ControlBits {
        ControlBits { stall_cycles, yields, ..ControlBits::of(0x3ff0) }
    }

    #[test]
    fn distances_follow_the_count_and_the_yield() {
        let rows =
            [(0, false, 1), (1, false, 1), (2, false, 2), (15, false, 15), (0, true, 45), (1, true, 2), (7, true, 7)];
        for (stall, yields, distance) in rows {
            assert_eq!(issue_distance(bits(stall, yields)), distance, "stall {stall}, yield {yields}");
        }
    }

    #[test]
    fn each_warp_is_released_in_its_cycle() {
        let mut counters = StallCounters::<u64>::default();
        for (now, distance) in [(62, 45), (63, 2), (64, 15), (65, 2)] {
            counters.hold(now, 1 << (now - 62), distance);
        }
        assert_eq!(counters.holding, 0b1111);
        let mut seen = Vec::new();
        let mut now = 65 - 1;
        while counters.next(now) != NEVER {
            now = counters.next(now);
            seen.push((now, counters.release(now)));
        }
        assert_eq!(seen, [(65, 0b10), (67, 0b1000), (79, 0b100), (107, 1)]);
        assert_eq!(counters.holding, 0);
    }
}
