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

use crate::agenda::Agenda;
use crate::inflight::{InstId, Window};
use crate::observe::counters::DesignStatistic;
use crate::observe::stalls::{Stall, StallMasks};
use crate::spec::{CoreSpec, Pipe, PipeSet};
use crate::warps::mask::WarpMask;
use config::BranchFetch;
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

/// Reservation stations of an SM in place of the GPU's operand collectors, shared out evenly among the
/// sub-cores; at most 64 in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stations {
    /// Those that take any instruction, or all but accesses to memory if these have their own.
    pub count: u32,
    /// Those that take accesses to memory and nothing else.
    pub of_memory: u32,
}

/// What a design may do that program order would forbid, having its own means against the harm. The
/// [`Auditor`](crate::Auditor) does not hold it to that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowances {
    /// Registers are renamed: writes need not wait for older reads and writes of the same register, and
    /// predicates and uniform registers may be awaited in operand collectors instead of read at issue.
    pub renames: bool,
    /// Branches are predicted: instructions may issue before an older branch does.
    pub passes_branches: bool,
}

/// An issue design.
pub trait IssuePolicy: Sized {
    /// Sizes and choices of the design.
    type Config: Parameters;

    /// Its sets of warps: `u64`, or `u128` for SMs of more than 64. A design that serves both is generic
    /// over it.
    type Mask: WarpMask;

    /// Accesses to memory of one warp leave their operand collectors in the order in which they
    /// issued. Without this, one that waits for its operands is overtaken, as in GPGPU-Sim.
    const KEEPS_MEMORY_ORDER: bool = true;

    /// Its operand collectors are reservation stations: an instruction keeps its own until its result is
    /// there, and leaves when it has its operands, a memory access as [`IssuePolicy::may_pass`] says.
    const STATIONS: bool = false;

    /// The design for an SM of `spec`, empty.
    fn new(config: &Self::Config, spec: &CoreSpec) -> Self;

    /// Whether the design makes sense on an SM of `spec`.
    ///
    /// # Errors
    /// Sizes that do not fit together, or not that SM.
    fn check(_config: &Self::Config, _spec: &CoreSpec) -> Result<(), String> {
        Ok(())
    }

    /// What it may do that program order would forbid.
    fn allowances(_config: &Self::Config) -> Allowances {
        Allowances::default()
    }

    /// Whether operand collectors see to it that an instruction writes no register that an older one of its
    /// warp, which has issued before it, has yet to read there: for designs in which such a dependence ends
    /// at issue. Collectors that are stations see to it always.
    #[inline]
    fn guards_reads(&self) -> bool {
        false
    }

    /// How many stations it has, if its collectors are stations.
    fn stations(_config: &Self::Config) -> Option<Stations> {
        None
    }

    /// How decode goes on behind a branch that has not issued, on a GPU whose front end does as `of_gpu`.
    fn branches(_config: &Self::Config, of_gpu: BranchFetch) -> BranchFetch {
        of_gpu
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

    /// Work of the design's own in each cycle, before the warp schedulers choose. What it waits
    /// for by time goes on the agenda; when it moves something, that too. Returns whether its
    /// candidates or stalls may have changed.
    #[inline]
    fn tick(&mut self, _now: Cycle, _window: Window<'_>, _agenda: &mut Agenda) -> bool {
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

    /// Warps whose oldest instruction waits for a long-latency (memory) operation.
    #[inline]
    fn long_waits(&self) -> Self::Mask {
        self.stalls().of(Stall::RawMemory)
    }

    /// Warps that go before all others of their schedulers while they have a candidate that has room.
    #[inline]
    fn first(&self) -> Self::Mask {
        Self::Mask::NONE
    }

    /// `id`, a candidate, is issued.
    fn on_issue(&mut self, window: Window<'_>, id: InstId);

    /// Which of the sources of `id` (by place in [`Window::srcs`], one bit each) it does not read but
    /// awaits in its operand collector. Asked when it enters its collector.
    #[inline]
    fn awaited(&self, _window: Window<'_>, _id: InstId) -> u64 {
        0
    }

    /// An instruction in an operand collector for which one awaited source has come. Asked after
    /// each write-back until there is none.
    #[inline]
    fn take_woken(&mut self) -> Option<InstId> {
        None
    }

    /// Whether the access `younger`, which has its operands, may leave its station before `older`, an
    /// access of the same warp in another one; `known` if that one has its operands. Asked again only
    /// when something has moved in the stations of the sub-core.
    #[inline]
    fn may_pass(_window: Window<'_>, _younger: InstId, _older: InstId, _known: bool) -> bool {
        false
    }

    /// `id` has read its registers and leaves its operand collector.
    #[inline]
    fn on_operands_read(&mut self, _window: Window<'_>, _id: InstId) {}

    /// `id` has written its registers, or would have: it is complete and leaves the SM.
    fn on_writeback(&mut self, window: Window<'_>, id: InstId);

    /// The branch `id` has issued and its way is known; `flushed` if it was not the sequential one.
    #[inline]
    fn on_control_resolved(&mut self, _window: Window<'_>, _id: InstId, _flushed: bool) {}

    /// The oldest instructions in the buffer of `warp`, for messages.
    fn oldest(&self, warp: WarpSlot) -> Option<InstId>;
}
