//! Where issue slots go: every slot of every cycle is an issue or exactly one named reason.
//!
//! When a scheduler issues nothing, the reason is taken from the warp that came closest: the first in
//! the order of [`Stall`] that holds for any warp the scheduler looked at. A slot that stays empty
//! after an issue (issue width above one) has the reason of the warp that issued.

use kit::Cycle;
use kit::persist::{Archive, Fresh, Mismatch, Persist};

macro_rules! stalls {
    ($($(#[doc = $text:literal])+ $stall:ident = $name:literal,)*) => {
        /// Why an issue slot stayed empty, closest to issue first: the fixed priority.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Stall { $($(#[doc = $text])+ $stall,)* }

        impl Stall {
            /// Every reason, in order of priority: `ALL[s as usize] == s`.
            pub const ALL: &'static [Stall] = &[$(Stall::$stall,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();
            /// Name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Stall::$stall => $name,)* }
            }
            /// One sentence for a reader of the report.
            pub const fn description(self) -> &'static str {
                match self { $(Stall::$stall => concat!($($text,)+).trim_ascii(),)* }
            }
        }
    };
}

stalls! {
    /// A ready instruction found the latch before the memory pipe full.
    MemoryPipeFull = "memory_pipe_full",
    /// A ready instruction found its issue latch full because its unit takes no more.
    UnitBusy = "unit_busy",
    /// A ready instruction found its issue latch full because no operand collector is free.
    CollectorFull = "operand_collector_full",
    /// A second instruction of one issue needed the kind of unit that the first one took.
    SameUnit = "same_unit",
    /// An issue design's own structure had no room or had not yet examined the instruction.
    Design = "design",
    /// Write after read: an older instruction has yet to read a register that this one writes.
    War = "war",
    /// Write after write: an older instruction has yet to write a register that this one writes.
    Waw = "waw",
    /// Read after write, the producer being arithmetic.
    Raw = "raw",
    /// The stall count of machine code has not run out: the compiler's wait for a fixed latency.
    StallCount = "stall_count",
    /// Read after write, the producer being a load or atomic.
    RawMemory = "raw_memory",
    /// Waits for an older memory operation that it must not pass.
    MemoryOrder = "memory_order",
    /// Waits for a global atomic to come back (only where atomics hold their warp), or after one for the exchange
    /// between SMs.
    Atomic = "atomic",
    /// Waits at a fence for outstanding memory accesses, or after one for the exchange between SMs.
    Fence = "fence",
    /// Waits for a group of asynchronous copies.
    AsyncCopy = "async_copy",
    /// Waits for a group of matrix operations of its warp group.
    MatrixGroup = "matrix_group",
    /// Waits at an `mbarrier` for arrivals or bytes of a transfer, or at the barrier of its cluster.
    Mbarrier = "mbarrier",
    /// Sleeps (nanosleep).
    Sleep = "sleep",
    /// Waits at a CTA barrier.
    Barrier = "barrier",
    /// Behind a branch or other change of control flow that has not been resolved or refetched.
    Control = "control",
    /// Waits for the instruction cache, or for a constant operand that its sub-core lacks.
    InstructionCache = "instruction_cache",
    /// Has an empty instruction buffer.
    EmptyBuffer = "empty_buffer",
    /// All threads have exited; waits for outstanding instructions and stores.
    Drain = "drain",
    /// No warp.
    Idle = "idle",
}

impl Stall {
    /// Whether there was a candidate, but no room in its issue latch.
    #[inline]
    pub const fn is_blocked(self) -> bool {
        matches!(self, Self::MemoryPipeFull | Self::UnitBusy | Self::CollectorFull)
    }
}

/// Issue slots by what happened to them.
#[derive(Clone, Debug)]
pub struct SlotAccount {
    /// Cycles accounted for: the SM's age.
    cycles: Cycle,
    issued: u64,
    stalled: [u64; Stall::COUNT],
    /// The first `count` of these.
    slots: [Slot; Self::MOST],
    count: usize,
}

/// An issue slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Why it stayed empty when it was last looked at, which holds since.
    stall: Stall,
    /// The first cycle not yet accounted for.
    since: Cycle,
}

impl SlotAccount {
    /// Most slots, rounded up to a power of two: schedulers times issue width.
    const MOST: usize = 64;

    /// An account of `count` issue slots per cycle, 64 at most.
    pub fn new(count: usize) -> Self {
        assert!(count <= Self::MOST, "{count} issue slots");
        Self {
            cycles: 0,
            issued: 0,
            stalled: [0; Stall::COUNT],
            slots: [Slot { stall: Stall::Idle, since: 0 }; Self::MOST],
            count,
        }
    }

    /// Accounts for the cycles before `now` in which the SM slept: nothing changed in them, so each
    /// slot stood as it had in the last cycle.
    #[inline]
    pub fn sleep_until(&mut self, now: Cycle) {
        debug_assert!(now >= self.cycles);
        self.cycles = now;
    }

    /// `slot` issues in the cycle being ticked.
    #[inline]
    pub fn issue(&mut self, slot: usize) {
        let slot = &mut self.slots[slot % Self::MOST];
        self.stalled[slot.stall as usize] += self.cycles - slot.since;
        self.issued += 1;
        // It is looked at again in the next cycle, unless the run ends there.
        *slot = Slot { stall: Stall::Idle, since: self.cycles + 1 };
    }

    /// `slot` stays empty in the cycle being ticked, and until the next call for it.
    #[inline]
    pub fn stall(&mut self, slot: usize, stall: Stall) {
        let slot = &mut self.slots[slot % Self::MOST];
        if slot.stall != stall {
            self.stalled[slot.stall as usize] += self.cycles - slot.since;
            *slot = Slot { stall, since: self.cycles };
        }
    }

    /// Accounts for all slots until now, between ticks, so that they add up.
    pub fn close_all(&mut self) {
        for slot in &mut self.slots[..self.count] {
            self.stalled[slot.stall as usize] += self.cycles - slot.since;
            slot.since = self.cycles;
        }
    }

    /// Ends the cycle being ticked.
    #[inline]
    pub fn end_cycle(&mut self) {
        self.cycles += 1;
    }

    /// Cycles accounted for.
    pub fn cycles(&self) -> Cycle {
        self.cycles
    }

    /// Slots that issued.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Slots lost to `reason`.
    pub fn stalled(&self, reason: Stall) -> u64 {
        self.stalled[reason as usize]
    }

    /// Slots per cycle.
    pub fn slots(&self) -> usize {
        self.count
    }

    /// Panics unless issues and stalls add up to cycles x slots.
    pub fn check(&self) {
        let sum = self.issued + self.stalled.iter().sum::<u64>();
        assert_eq!(sum, self.cycles * self.count as u64, "issue slots do not add up");
    }
}

impl Persist for Stall {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut number = *self as u8;
        number.persist(archive)?;
        *self = *Self::ALL.get(usize::from(number)).ok_or_else(|| archive.wrong("no stall reason"))?;
        Ok(())
    }
}

impl Fresh for Stall {
    fn fresh() -> Self {
        Self::Idle
    }
}

kit::persist! {
    struct Slot { stall, since }
    struct SlotAccount { cycles, issued, stalled, slots; skip count }
}
