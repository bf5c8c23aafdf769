//! Finds livelocks: warps that execute without end and change nothing.
//!
//! The rule: for some time nothing that warps share has changed (memory, output, votes at barriers), no CTA
//! has begun or ended, none is to begin later, and no warp has read the time. And each resident warp has
//! been in one state twice in that time, having executed instructions in between, or has waited at a barrier
//! where no warp arrived. The work of a warp follows from its own state and from what warps share. So each
//! repeats its loop indefinitely, in whatever order they execute: no change can come.
//!
//! It does not stop a program that would progress, except with a probability of 2^-64 that states that differ have one
//! digest. It misses loops that change memory and change it back (a ticket that is taken and given up), that
//! count in a register, that read the time, or that do not come round within the states that are remembered. It also
//! misses warps that starve because a scheduler never chooses them.
//!
//! The state of warps is looked at only after a stated number of cycles without a change, and then a few
//! dozen times in as many cycles. Until then a look is a flag.

use crate::core::Core;
use crate::livelock::{Livelock, Pulse, SpinningWarp};
use isa::WarpSlot;
use kit::Cycle;
use std::collections::BTreeMap;

/// Looks at the state of warps in as many cycles as pass without one.
const LOOKS: Cycle = 32;
/// Maximum number of states remembered of a warp. At this number every second one is forgotten.
const REMEMBERED: usize = 256;

/// Record of a warp.
#[derive(Clone, Debug, Default)]
struct Memory {
    pulses: Vec<Pulse>,
    repeats: bool,
    /// Has not left its barrier since the last look.
    blocked: bool,
}

impl Memory {
    /// Another look at the warp.
    fn note(&mut self, now: Pulse) {
        let same = |then: &Pulse| {
            let waits = then.at_barrier && now.at_barrier && then.arrivals == now.arrivals;
            then.digest == now.digest && (then.executed != now.executed || waits)
        };
        self.blocked = now.at_barrier && self.pulses.last().is_some_and(|last| last.executed == now.executed);
        self.repeats = self.repeats && !now.at_barrier || self.pulses.iter().any(same);
        if self.pulses.len() == REMEMBERED {
            let mut index = 0;
            self.pulses.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
        self.pulses.push(now);
    }
}

/// Looks for livelocks: warps that repeat themselves indefinitely and change nothing. The time is in cycles; where
/// nothing has time, in executed instructions.
#[derive(Clone, Debug)]
pub struct Watchdog {
    patience: Cycle,
    /// Since when nothing has changed.
    since: Cycle,
    next_look: Cycle,
    /// CTAs begun and ended until then.
    ctas: u64,
    /// By core and warp slot.
    warps: BTreeMap<(usize, u16), Memory>,
}

impl Watchdog {
    /// Reports after at least `patience` cycles.
    pub fn new(patience: Cycle) -> Self {
        Self { patience, since: 0, next_look: 0, ctas: u64::MAX, warps: BTreeMap::new() }
    }

    /// Whether nothing is going to happen any more, by the `cores`, each with its number. `expects`: something outside the cores is going to.
    pub(crate) fn look<C: Core>(
        &mut self,
        now: Cycle,
        cores: &[(usize, &C)],
        shared: &mut C::Shared,
        expects: bool,
    ) -> bool {
        if !self.is_due(now) {
            return false;
        }
        let ctas = cores.iter().map(|(_, core)| core.cta_events()).sum();
        // Every core knows what they share.
        let Some((_, core)) = cores.first() else { return false };
        if expects || self.is_new(ctas) || core.has_changed(shared) {
            self.begin(now, ctas);
            core.watch_changes(shared);
            return false;
        }
        let of_core = |&(number, core): &(usize, &C)| {
            core.pulses().into_iter().map(move |(warp, pulse)| ((number, warp.0), pulse)).collect::<Vec<_>>()
        };
        self.repeats(now, cores.iter().flat_map(of_core))
    }

    /// Whether it is time for the next look.
    pub fn is_due(&mut self, now: Cycle) -> bool {
        let is_due = now >= self.next_look;
        if is_due {
            self.next_look = now + (self.patience / LOOKS).max(1);
        }
        is_due
    }

    /// Whether `ctas`, a number for the CTAs that have begun and ended, is another than at [`Watchdog::begin`].
    pub fn is_new(&self, ctas: u64) -> bool {
        ctas != self.ctas
    }

    /// Something has changed: from `now` on it is watched anew.
    pub fn begin(&mut self, now: Cycle, ctas: u64) {
        (self.since, self.ctas) = (now, ctas);
        self.warps.clear();
    }

    /// Whether all warps repeat themselves, by their `pulses`, each with the core and the warp slot. Nothing that warps
    /// share has changed since [`Watchdog::begin`].
    pub fn repeats(&mut self, now: Cycle, pulses: impl Iterator<Item = ((usize, u16), Pulse)>) -> bool {
        if now - self.since < self.patience {
            return false;
        }
        let mut all = true;
        for (place, pulse) in pulses {
            let memory = self.warps.entry(place).or_default();
            memory.note(pulse);
            all &= memory.repeats;
        }
        all
    }

    /// Cycles since something changed last.
    pub fn waited(&self, now: Cycle) -> Cycle {
        now - self.since
    }

    /// Whether a warp of a core waits at a barrier that is not released.
    pub fn is_blocked(&self, core: usize, warp: WarpSlot) -> bool {
        self.warps.get(&(core, warp.0)).is_some_and(|warp| warp.blocked)
    }

    /// The livelock that has been found.
    pub fn report(&self, now: Cycle, warps: Vec<SpinningWarp>) -> Livelock {
        Livelock { at: now, since: self.since, unit: "cycle", is_certain: true, warps }
    }
}

kit::persist! {
    new struct Memory { pulses, repeats, blocked }
    struct Watchdog { since, next_look, ctas, warps; skip patience }
}
