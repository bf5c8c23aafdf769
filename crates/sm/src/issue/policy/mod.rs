//! The seam for issue designs: what stands between decode and the warp scheduler.
//!
//! An [`IssuePolicy`] owns the instruction buffers and all knowledge of hazards. Decode puts
//! instructions in, in program order; the policy offers candidates, of any age and any number per
//! warp, by the pipe they go to; the warp scheduler chooses among the warps that have one. Hooks
//! tell the policy what happens behind it. A design is one file that implements the trait.
//!
//! What stays outside: barriers, fences, sleeps and exits hold a whole warp ([`Warps::held`]), and
//! decode inserts nothing behind a branch whose way the front end does not know.
//!
//! [`Warps::held`]: crate::Warps::held

pub mod boards;
mod extent;
pub mod ghost;
mod heads;
pub mod ideal;
mod in_order;
pub mod loog;
pub mod socgpu;

pub use energy::{Each, Structure, Uses};
pub use in_order::InOrder;

use crate::inflight::{InstId, Window};
use crate::observe::counters::DesignStatistic;
use crate::observe::stalls::StallMasks;
use crate::spec::{CoreSpec, Pipe, PipeSet};
use crate::wake_up::WakeUp;
use crate::warps::mask::WarpMask;
use isa::{RegFile, WarpSlot};
use kit::{Cycle, Parameters};

/// Bits compared to find the dependences between two instructions: the result of each with the three
/// sources of the other and with its result, names of 8 bits.
pub(crate) const DEPENDENCE_BITS: usize = (3 + 3 + 1) * 8;

/// Warps that have a candidate, by the pipe it goes to. A warp with several candidates may stand
/// under several pipes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadyMasks<M = u64> {
    of: [M; Pipe::COUNT],
    /// Pipes for which some warp has a candidate.
    pipes: PipeSet,
}

impl<M: WarpMask> ReadyMasks<M> {
    /// Warps with a candidate for `pipe`.
    #[inline]
    pub fn of(&self, pipe: Pipe) -> M {
        self.of[pipe.index()]
    }

    /// Pipes for which any warp has a candidate.
    #[inline]
    pub fn pipes(&self) -> PipeSet {
        self.pipes
    }

    /// Warps with a candidate for a pipe that is not one of `full`.
    #[inline]
    pub fn outside(&self, full: PipeSet) -> M {
        if self.pipes.0 & full.0 == 0 {
            return self.of.iter().fold(M::NONE, |all, &warps| all | warps);
        }
        self.pipes.except(full).iter().fold(M::NONE, |all, pipe| all | self.of(pipe))
    }

    /// Pipes for which any of `warps` has a candidate.
    #[inline]
    pub fn pipes_of(&self, warps: M) -> PipeSet {
        self.pipes.iter().filter(|&p| self.of(p).meets(warps)).fold(PipeSet::default(), PipeSet::with)
    }

    /// The warps have a candidate for `pipe`.
    #[inline]
    pub fn insert(&mut self, pipe: Pipe, warps: M) {
        self.of[pipe.index()] |= warps;
        self.pipes = if self.of(pipe).is_empty() { self.pipes } else { self.pipes.with(pipe) };
    }

    /// The warps have no candidate for `pipe` any more.
    #[inline]
    pub fn remove(&mut self, pipe: Pipe, warps: M) {
        self.of[pipe.index()] &= !warps;
        self.pipes = if self.of(pipe).is_empty() { self.pipes.without(pipe) } else { self.pipes };
    }
}

/// An issue design.
pub trait IssuePolicy: Sized {
    /// Sizes and choices of the design.
    type Config: Parameters;

    /// Its sets of warps: `u64`, or `u128` for SMs of more than 64. A design that serves both is generic
    /// over it.
    type Mask: WarpMask;

    /// The design for an SM of `spec`, empty.
    fn new(config: &Self::Config, spec: &CoreSpec) -> Self;

    /// Whether the design makes sense on an SM of `spec`.
    ///
    /// # Errors
    /// Sizes that do not fit together, or not that SM.
    fn check(_config: &Self::Config, _spec: &CoreSpec) -> Result<(), String> {
        Ok(())
    }

    /// Its hardware structures.
    fn structures(&self) -> Vec<Structure>;

    /// Statistics that it alone has, from its beginning until now: always the same ones in the same
    /// order. Not asked within a cycle. Reports have them as `design.` and their name, those of all
    /// SMs added up.
    fn statistics(&self) -> Vec<DesignStatistic> {
        Vec::new()
    }

    /// A warp with registers `regs` takes an empty slot.
    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile);

    /// Warps whose buffer has room for all that one fetch brings. May hold warps that are not
    /// resident.
    fn room(&self) -> Self::Mask;

    /// The next instruction of its warp in program order enters the buffer.
    fn insert(&mut self, window: Window<'_>, id: InstId);

    /// Work of the design's own in each cycle, before the warp schedulers choose. It enters in `wake_up` the
    /// cycles that it waits for, and that it has moved something. Returns whether its candidates or stalls
    /// may have changed.
    #[inline]
    fn tick(&mut self, _now: Cycle, _window: Window<'_>, _wake_up: &mut WakeUp) -> bool {
        false
    }

    /// Of the warps `touched`, those whose candidates or stalls may have changed since this was last
    /// asked. `touched` are all for whose instructions any method that begins with `on_`, or
    /// [`IssuePolicy::insert`], has been called since then.
    #[inline]
    fn take_changed(&mut self, touched: Self::Mask) -> Self::Mask {
        touched
    }

    /// Warps with candidates. A candidate has no hazard left but whether its latch has room.
    fn ready(&self) -> &ReadyMasks<Self::Mask>;

    /// The candidate of `warp` to issue, among those that go to `pipes`. There is one.
    fn select(&self, window: Window<'_>, warp: WarpSlot, pipes: PipeSet) -> InstId;

    /// Why warps whose buffer is not empty have no candidate.
    fn stalls(&self) -> &StallMasks<Self::Mask>;

    /// Warps that go before all others of their schedulers while they have a candidate that has room.
    #[inline]
    fn first(&self) -> Self::Mask {
        Self::Mask::NONE
    }

    /// `id`, a candidate, is issued.
    fn on_issue(&mut self, window: Window<'_>, id: InstId);

    /// `id` has read its registers and leaves its operand collector.
    #[inline]
    fn on_operands_read(&mut self, _window: Window<'_>, _id: InstId) {}

    /// `id` has written its registers, or would have: it is complete and leaves the SM.
    fn on_writeback(&mut self, window: Window<'_>, id: InstId);

    /// The oldest instructions in the buffer of `warp`, for messages.
    fn oldest(&self, warp: WarpSlot) -> Option<InstId>;
}
