//! Finds livelocks: warps that execute without end and change nothing.
//!
//! The rule: for some time nothing that warps share has changed (memory, output, votes at barriers), no CTA
//! has begun or ended, none is to begin later, and no warp has read the time. And each resident warp has
//! been in one state twice in that time, having executed instructions in between, or has waited at a barrier
//! at which nobody arrived. What a warp does follows from its own state and from what warps share. So each
//! repeats its loop indefinitely, in whatever order they execute: no change can come.
//!
//! It does not stop a program that would progress, except with a probability of 2^-64 that states that differ have one
//! digest. It misses loops that change memory and change it back (a ticket that is taken and given up), that
//! count in a register, that read the time, or that do not come round within the states that are remembered;
//! and warps that starve since a scheduler never chooses them.
//!
//! The state of warps is looked at only after a stated number of cycles without a change, and then a few
//! dozen times in as many cycles. Until then a look is a flag.

use isa::{WarpSlot, WarpStream};
use kit::Cycle;
use sm::{CoreDesign, Observer, Pulse, Sm, SpinningWarp};
use std::collections::BTreeMap;
use std::fmt;

/// Looks at the state of warps in as many cycles as pass without one.
const LOOKS: Cycle = 32;
/// Maximum number of states remembered of a warp. At this number every second one is forgotten.
const REMEMBERED: usize = 256;

/// Warps that execute indefinitely and change nothing: each has been in the same state twice, and in the
/// meantime nothing that warps share has changed.
#[derive(Clone, Debug)]
pub struct Livelock {
    /// When it was found.
    pub cycle: Cycle,
    /// The last cycle after which nothing changed.
    pub since: Cycle,
    /// The warps.
    pub warps: Vec<SpinningWarp>,
}

/// Most warps that the text of a livelock names.
const NAMED_WARPS: usize = 4;

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycle, since, warps } = self;
        let (count, does) =
            (warps.len(), if warps.len() == 1 { "warp repeats itself" } else { "warps repeat themselves" });
        write!(
            f,
            "livelock at cycle {cycle}: {count} {does} without end; memory and output have not changed for {} cycles",
            cycle - since
        )?;
        let mut named: Vec<&SpinningWarp> = Vec::new();
        for warp in warps {
            if named.len() < NAMED_WARPS && !named.iter().any(|other| other.does_as(warp)) {
                named.push(warp);
            }
        }
        for warp in &named {
            write!(f, "\n  {warp}")?;
            let others = warps.iter().filter(|other| other.does_as(warp)).count() - 1;
            if others > 0 {
                write!(f, "\n    … and so {} {others} more", if others == 1 { "does" } else { "do" })?;
            }
        }
        Ok(())
    }
}

/// What is remembered of a warp.
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

/// Looks for livelocks. See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    patience: Cycle,
    /// Since when nothing has changed.
    since: Cycle,
    next_look: Cycle,
    /// CTAs begun and ended until then.
    ctas: u64,
    /// By SM and warp slot.
    warps: BTreeMap<(usize, u16), Memory>,
}

impl Watchdog {
    /// Speaks up after at least `patience` cycles.
    pub fn new(patience: Cycle) -> Self {
        Self { patience, since: 0, next_look: 0, ctas: u64::MAX, warps: BTreeMap::new() }
    }

    /// Whether nothing is going to happen any more. `expects`: something outside the SMs is going to.
    pub fn look<S: WarpStream, P: CoreDesign, O: Observer>(
        &mut self,
        now: Cycle,
        sms: &[Sm<S, P, O>],
        shared: &mut S::Shared,
        expects: bool,
    ) -> bool {
        if now < self.next_look {
            return false;
        }
        self.next_look = now + (self.patience / LOOKS).max(1);
        let ctas = sms.iter().map(|sm| sm.counters().ctas_started + sm.counters().ctas_finished).sum();
        // What they share, every SM's stream knows.
        let Some(stream) = sms.first().map(Sm::stream) else { return false };
        if expects || ctas != self.ctas || stream.has_changed(shared) {
            (self.since, self.ctas) = (now, ctas);
            self.warps.clear();
            stream.watch_changes(shared);
            return false;
        }
        if now - self.since < self.patience {
            return false;
        }
        let mut all = true;
        for (number, sm) in sms.iter().enumerate() {
            for (warp, pulse) in sm.pulses() {
                let memory = self.warps.entry((number, warp.0)).or_default();
                memory.note(pulse);
                all &= memory.repeats;
            }
        }
        all
    }

    /// Whether a warp of an SM waits at a barrier that is not released.
    pub fn is_blocked(&self, sm: usize, warp: WarpSlot) -> bool {
        self.warps.get(&(sm, warp.0)).is_some_and(|warp| warp.blocked)
    }

    /// The livelock that has been found.
    pub fn report(&self, now: Cycle, warps: Vec<SpinningWarp>) -> Livelock {
        Livelock { cycle: now, since: self.since, warps }
    }
}
