//! When the execution of a launch without time is ended: at the limit of the run, at a livelock, or by the user.
//!
//! The limits are the same as for timed runs, with warp instructions in place of cycles. CTAs whose warps execute very long
//! without a change of memory or output are a livelock, whether their states repeat or not: a loop that waits for a flag and
//! counts never comes round.

use crate::setup::Setup;
use exec::{Launch, Observer, Round};
use gpu::{Livelock, LoopStep, Pulse, SpinningWarp, Watchdog};
use isa::{DynInst, Pc, StepContext, WarpSlot, WarpStream};
use kit::LaneMask;
use std::ops::ControlFlow;

/// Warp instructions that each warp of a CTA may execute without a change of memory or output, over those after which
/// the watchdog examines it: with the default, seconds of a GPU's time.
const UNCHANGED: u64 = 1024;

/// Why an execution was ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// By the user, or by the limit of the run.
    Interrupted,
    Livelock(Livelock),
}

/// Sees the instructions of an execution, and may end it.
pub(super) trait Sees {
    /// Whether it does not look.
    const IS_BLIND: bool = false;

    fn see(&mut self, out: &DynInst) -> ControlFlow<()>;
}

/// Does not look.
pub(super) struct Blind;

impl Sees for Blind {
    const IS_BLIND: bool = true;

    fn see(&mut self, _: &DynInst) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&DynInst) -> ControlFlow<()>> Sees for F {
    fn see(&mut self, out: &DynInst) -> ControlFlow<()> {
        self(out)
    }
}

/// Ends the execution of a launch where it must be. `S` can end it, too.
pub(super) struct Bounded<'a, S> {
    launch: &'a Launch,
    /// Warp instructions that it may have.
    most: u64,
    watchdog: Option<Watchdog>,
    /// Warp instructions of each warp without a change after which it is ended.
    most_unchanged: u64,
    /// Why it was ended, if not by `sees`.
    pub end: Option<End>,
    /// Warp instructions so far.
    pub executed: u64,
    pub sees: S,
}

impl<'a, S: Sees> Bounded<'a, S> {
    /// Within the limits of `setup`, for a launch before which `executed` warp instructions were executed.
    pub fn new(setup: &Setup, launch: &'a Launch, executed: u64, sees: S) -> Self {
        let most = setup.max_cycles.map_or(u64::MAX, |most| most.saturating_sub(executed));
        let watchdog = setup.livelock_cycles.map(|patience| Watchdog::new(patience.get()));
        let most_unchanged =
            setup.livelock_cycles.map_or(u64::MAX, |patience| patience.get().saturating_mul(UNCHANGED));
        Self { launch, most, watchdog, most_unchanged, end: None, executed: 0, sees }
    }

    /// The livelock of the CTA, if it is in one.
    fn livelock(&mut self, round: &mut Round<'_>) -> Option<Livelock> {
        let now = round.executed;
        let watchdog = self.watchdog.as_mut()?;
        if !watchdog.is_due(now) {
            return None;
        }
        if watchdog.is_new(round.begun) || round.stream.has_changed(round.state) {
            watchdog.begin(now, round.begun);
            round.stream.watch_changes(round.state);
            return None;
        }
        let left: Vec<WarpSlot> = round.warps.iter().copied().filter(|&warp| !round.is_done(warp)).collect();
        let pulse = |warp: WarpSlot| Pulse {
            digest: round.stream.digest(warp),
            executed: round.turns[warp.index()],
            at_barrier: round.is_waiting(warp),
            arrivals: round.arrived,
        };
        let is_certain = watchdog.repeats(now, left.iter().map(|&warp| ((0, warp.0), pulse(warp))));
        let executing = left.iter().filter(|&&warp| !round.is_waiting(warp)).count() as u64;
        if !is_certain && watchdog.waited(now) / executing.max(1) < self.most_unchanged {
            return None;
        }
        let blocked: Vec<bool> = left.iter().map(|&warp| watchdog.is_blocked(0, warp)).collect();
        let warps = left.iter().zip(blocked).map(|(&warp, blocked)| spinning(self.launch, round, warp, blocked));
        let warps = warps.collect();
        Some(Livelock { unit: "warp instruction", is_certain, ..watchdog.report(now, warps) })
    }
}

/// The part of `warp` in a livelock.
fn spinning(launch: &Launch, round: &mut Round<'_>, warp: WarpSlot, blocked: bool) -> SpinningWarp {
    let program = &launch.kernel.program;
    let (cta, index) = round.place(warp);
    let mut spinning = SpinningWarp {
        sm: 0,
        warp,
        kernel: program.name.clone(),
        cta: launch.shape().position(cta),
        index_in_cta: index as u16,
        lanes: 0,
        steps: Vec::new(),
        blocked,
    };
    if blocked {
        // The program counter is after the barrier.
        let after = round.stream.next_pc(warp).unwrap_or_default();
        spinning.steps.push(LoopStep::new(program, Pc(after.0.saturating_sub(1))));
    } else {
        let context = StepContext { now: round.executed, sm: 0 };
        spinning.follow(&mut *round.stream, &mut *round.state, program, context);
        // Of a loop that never comes round in the same state, one round is enough.
        let again = |steps: &[LoopStep]| steps.iter().skip(1).position(|step| step.pc == steps[0].pc);
        if let Some(more) = again(&spinning.steps) {
            spinning.steps.truncate(more + 1);
        }
    }
    spinning
}

impl<S: Sees> Observer for Bounded<'_, S> {
    const IS_BLIND: bool = S::IS_BLIND;

    fn see(&mut self, _: LaneMask, out: &DynInst) -> ControlFlow<()> {
        self.sees.see(out)
    }

    fn look(&mut self, mut round: Round<'_>) -> ControlFlow<()> {
        self.executed = round.executed;
        self.end = if kit::stop::requested() || round.executed >= self.most {
            Some(End::Interrupted)
        } else {
            self.livelock(&mut round).map(End::Livelock)
        };
        if self.end.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
