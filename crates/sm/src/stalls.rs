//! Where issue slots go: every slot of every cycle is an issue or exactly one named reason.
//!
//! When a scheduler issues nothing, the reason is that of the warp that came closest: the first in
//! the order of [`Stall`] that holds for any warp the scheduler looked at. A slot that stays empty
//! behind an issue (issue width above one) has the reason of the warp that issued.

use crate::spec::WarpMask;
use kit::Cycle;

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
    /// Read after write, the producer being a load or atomic.
    RawMemory = "raw_memory",
    /// Waits for an older memory operation that it must not pass.
    MemoryOrder = "memory_order",
    /// Waits for a global atomic to come back (only where atomics hold their warp).
    Atomic = "atomic",
    /// Waits at a fence for outstanding memory accesses.
    Fence = "fence",
    /// Waits for a group of asynchronous copies.
    AsyncCopy = "async_copy",
    /// Sleeps (nanosleep).
    Sleep = "sleep",
    /// Waits at a CTA barrier.
    Barrier = "barrier",
    /// Behind a branch or other change of control flow that has not been resolved or refetched.
    Control = "control",
    /// Waits for the instruction cache.
    InstructionCache = "instruction_cache",
    /// Has an empty instruction buffer.
    EmptyBuffer = "empty_buffer",
    /// All threads have exited; waits for outstanding instructions and stores.
    Drain = "drain",
    /// No warp.
    Idle = "idle",
}

/// Warps by the reason for which they have no candidate.
#[derive(Clone, Copy, Debug, Default)]
pub struct StallMasks([WarpMask; Stall::COUNT]);

impl StallMasks {
    /// Warps stalled for `reason`.
    #[inline]
    pub fn of(&self, reason: Stall) -> WarpMask {
        self.0[reason as usize]
    }

    /// Adds `warps` to those stalled for `reason`.
    #[inline]
    pub fn insert(&mut self, reason: Stall, warps: WarpMask) {
        self.0[reason as usize] |= warps;
    }

    /// Takes `warps` out of those stalled for `reason`.
    #[inline]
    pub fn remove(&mut self, reason: Stall, warps: WarpMask) {
        self.0[reason as usize] &= !warps;
    }

    /// The first reason in order of priority that holds for any of `warps`.
    #[inline]
    pub fn first(&self, warps: WarpMask) -> Option<Stall> {
        self.0.iter().position(|&mask| mask & warps != 0).map(|i| Stall::ALL[i])
    }

    /// The reason for which `warp` is stalled.
    pub fn reason(&self, warp: usize) -> Option<Stall> {
        self.first(1 << warp)
    }
}

/// Issue slots by what became of them.
#[derive(Clone, Debug)]
pub struct SlotAccount {
    /// Cycles accounted for: the SM's age.
    cycles: Cycle,
    issued: u64,
    stalled: [u64; Stall::COUNT],
    /// What became of each slot when it was last looked at, which holds since.
    last: Box<[Option<Stall>]>,
    /// The first cycle not yet accounted for, of each slot.
    since: Box<[Cycle]>,
}

impl SlotAccount {
    /// An account of `slots` issue slots per cycle.
    pub fn new(slots: usize) -> Self {
        Self {
            cycles: 0,
            issued: 0,
            stalled: [0; Stall::COUNT],
            last: vec![Some(Stall::Idle); slots].into(),
            since: vec![0; slots].into(),
        }
    }

    /// Accounts for the cycles before `now` in which the SM slept: nothing changed in them, so each
    /// slot stood as it had in the last cycle.
    #[inline]
    pub fn sleep_until(&mut self, now: Cycle) {
        debug_assert!(now >= self.cycles);
        self.cycles = now;
    }

    /// Notes what became of `slot` in the cycle being ticked. One that is not noted stands as in the
    /// cycle before, in which it did not issue.
    #[inline]
    pub fn note(&mut self, slot: usize, outcome: Option<Stall>) {
        // A slot that issued is looked at anew in the next cycle.
        if self.last[slot] != outcome || outcome.is_none() {
            self.close(slot);
            self.last[slot] = outcome;
        }
    }

    /// Accounts for what became of `slot` until now.
    #[inline]
    fn close(&mut self, slot: usize) {
        let mut cycles = self.cycles - std::mem::replace(&mut self.since[slot], self.cycles);
        if self.last[slot].is_none() && cycles > 0 {
            self.issued += 1;
            cycles -= 1;
            // An SM is ticked again in the cycle after an issue, unless the run ends there.
            self.last[slot] = Some(Stall::Idle);
        }
        self.stalled[self.last[slot].unwrap_or(Stall::Idle) as usize] += cycles;
    }

    /// Accounts for all slots until now, so that they add up.
    pub fn close_all(&mut self) {
        (0..self.last.len()).for_each(|slot| self.close(slot));
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
        self.last.len()
    }

    /// Panics unless issues and stalls add up to cycles x slots.
    pub fn check(&self) {
        let sum = self.issued + self.stalled.iter().sum::<u64>();
        assert_eq!(sum, self.cycles * self.last.len() as u64, "issue slots do not add up");
    }
}
