//! The bits with which the compiler schedules machine code (sm_70 and later).

/// Instructions of a word to the hardware's scheduler. Most latencies have no other interlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ControlBits {
    /// Cycles until the next instruction of the warp may issue: 0 to 15.
    pub stall_cycles: u8,
    /// The scheduler prefers another warp next.
    pub yields: bool,
    /// Index of the dependence barrier that is set when the instruction has written its results.
    pub write_barrier: Option<u8>,
    /// Index of the dependence barrier that is set when the instruction has read its sources.
    pub read_barrier: Option<u8>,
    /// Dependence barriers for which the instruction waits before issue, one bit each.
    pub wait_mask: u8,
    /// Source slots whose value the operand cache keeps, one bit each.
    pub reuse: u8,
}

/// The wait of a `DEPBAR.LE`, in addition to the wait mask of its control bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterBound {
    /// The dependence barrier (counter) that it waits for.
    pub counter: u8,
    /// Largest count that ends the wait.
    pub at_most: u8,
    /// Others of which nothing may be left, one bit each.
    pub drained: u8,
}

/// The number that means that no barrier is set.
const NO_BARRIER: u8 = 7;

impl ControlBits {
    /// Number of these bits in a word.
    pub const BITS: u32 = 21;

    /// Decodes bits 105 to 125 of a word, the lowest first: stall cycles (4), no yield (1), write barrier
    /// (3), read barrier (3), wait mask (6), reuse (4).
    pub const fn of(bits: u32) -> Self {
        Self {
            stall_cycles: (bits & 15) as u8,
            yields: bits >> 4 & 1 == 0,
            write_barrier: barrier((bits >> 5 & 7) as u8),
            read_barrier: barrier((bits >> 8 & 7) as u8),
            wait_mask: (bits >> 11 & 63) as u8,
            reuse: (bits >> 17 & 15) as u8,
        }
    }

    /// The bits of a word: the reverse of [`Self::of`].
    pub fn bits(self) -> u32 {
        let barrier = |number: Option<u8>| u32::from(number.unwrap_or(NO_BARRIER));
        u32::from(self.stall_cycles)
            | u32::from(!self.yields) << 4
            | barrier(self.write_barrier) << 5
            | barrier(self.read_barrier) << 8
            | u32::from(self.wait_mask) << 11
            | u32::from(self.reuse) << 17
    }
}

const fn barrier(number: u8) -> Option<u8> {
    if number == NO_BARRIER { None } else { Some(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back() {
        for bits in 0..1 << ControlBits::BITS {
            assert_eq!(ControlBits::of(bits).bits(), bits);
        }
    }
}
