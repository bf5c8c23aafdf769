//! Reads of shared memory by matrix operations of warp groups. They go before the SM's other accesses, which wait for
//! exactly as many cycles.
//!
//! Each of an operation's four warps adds a quarter of its cycles when it begins, so that times here are in quarters.

use kit::Cycle;

/// Wavefronts of factors that tensor cores read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wavefronts {
    /// End of the last one.
    until: u64,
    /// All that have begun.
    begun: u64,
}

/// Wavefronts that an access has waited for, since it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held(u64);

impl Wavefronts {
    const QUARTERS: u64 = 4;

    /// A warp begins its part of an operation that reads for `cycles`.
    #[inline]
    pub(crate) fn begin(&mut self, now: Cycle, cycles: u16) {
        self.until = self.until.max(Self::QUARTERS * now) + u64::from(cycles);
        self.begun += u64::from(cycles);
    }

    /// The first cycle without one, of those that have begun.
    #[inline]
    pub(crate) fn until(&self) -> Cycle {
        self.until.div_ceil(Self::QUARTERS)
    }

    /// An access comes that has waited for all that have begun.
    #[inline]
    pub(super) fn held(&self) -> Held {
        Held(self.begun)
    }

    /// Whole cycles that an access has to wait for those that have begun since `held`, which now has them.
    #[inline]
    pub(super) fn delay(&self, held: &mut Held) -> Cycle {
        if self.begun == held.0 {
            return 0;
        }
        let cycles = (self.begun - held.0) / Self::QUARTERS;
        held.0 += Self::QUARTERS * cycles;
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_warps_take_the_cycles_of_an_operation_together() {
        let mut wavefronts = Wavefronts::default();
        let mut held = wavefronts.held();
        let mut delays = vec![];
        for now in [10, 10, 11, 13] {
            wavefronts.begin(now, 18);
            delays.push(wavefronts.delay(&mut held));
        }
        assert_eq!(delays, [4, 5, 4, 5]);
        assert_eq!(wavefronts.until(), 28);
        wavefronts.begin(100, 18);
        assert_eq!(wavefronts.until(), 105);
    }
}
