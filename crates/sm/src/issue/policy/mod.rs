//! Issue designs: what is between decode and the warp scheduler.
//!
//! An [`IssuePolicy`] owns the instruction buffers and all knowledge of hazards. Decode inserts
//! instructions in program order; the policy offers [`Candidates`], of any age and any number per
//! warp, by the pipe they go to; the warp scheduler chooses among the warps that have one. Hooks
//! report to the policy what happens after issue. A design is one file that implements the trait.
//!
//! Outside of a policy: barriers, fences, sleeps and exits hold a whole warp ([`Warps::held`]), and
//! decode inserts nothing after a branch whose path the front end does not know.
//!
//! [`Warps::held`]: crate::Warps::held

mod candidates;
mod heads;
mod in_order;
pub mod scoreboard;

pub use candidates::{Candidates, Head};
pub use energy::{Each, Structure, Uses};
pub use heads::Heads;
pub use in_order::InOrder;

use crate::inflight::InstId;
use crate::observe::counters::DesignStatistic;
use crate::slab::{Flight, Window};
use crate::spec::{CoreSpec, PipeSet};
use crate::wake_up::WakeUp;
use crate::warps::mask::WarpMask;
use isa::{RegFile, WarpSlot};
use kit::persist::{Archive, Mismatch};
use kit::{Cycle, Parameters};

/// Bits compared to find the dependences between two instructions: the result of each with the three
/// sources of the other and with its result, names of 8 bits.
pub const DEPENDENCE_BITS: usize = (3 + 3 + 1) * 8;

/// An issue design: it holds the instructions between decode and issue, and knows which may issue.
pub trait IssuePolicy: Sized + Send {
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

    /// Its hardware structures in an SM, of which area and energy are computed.
    fn structures(&self) -> Vec<Structure>;

    /// Statistics that only this design has, since it was created: always the same ones in the same
    /// order. Called between cycles. Reports show them as `design.` and their name, the sum over all
    /// SMs.
    fn statistics(&self) -> Vec<DesignStatistic> {
        Vec::new()
    }

    /// A warp with registers `regs` takes an empty slot.
    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile);

    /// Warps whose buffer has room for all that one fetch brings. May hold warps that are not
    /// resident.
    fn room(&self) -> Self::Mask;

    /// The next instruction of its warp in program order enters the buffer.
    fn insert(&mut self, flight: Flight<'_>);

    /// Each cycle, before the warp schedulers choose: work of the design's own. It enters in `wake_up` the
    /// cycles that it waits for, and that it has moved something. Returns the warps whose candidates or
    /// stalls have changed since the last call.
    fn tick(&mut self, now: Cycle, window: Window<'_>, wake_up: &mut WakeUp) -> Self::Mask;

    /// The schedulers' view of the warps.
    fn candidates(&self) -> &Candidates<Self::Mask>;

    /// The candidate of `warp` to issue, among those that go to `pipes`. There is one.
    fn select(&self, window: Window<'_>, warp: WarpSlot, pipes: PipeSet) -> InstId;

    /// `flight`, a candidate, is issued.
    fn on_issue(&mut self, flight: Flight<'_>);

    /// `id` has read its registers and leaves its operand collector. It is looked up by the designs that ask.
    #[inline]
    fn on_operands_read(&mut self, _window: Window<'_>, _id: InstId) {}

    /// `flight` has written its registers, or would have: it is complete and leaves the SM.
    fn on_writeback(&mut self, flight: Flight<'_>);

    /// The oldest instructions in the buffer of `warp`, for messages.
    fn oldest(&self, warp: WarpSlot) -> Option<InstId>;

    /// Saves the design's state that survives the end of all warps, for checkpoints between kernels; by default nothing
    /// ([`Persist`](kit::persist::Persist)).
    ///
    /// # Errors
    /// The archive has the state of another kind.
    fn persist(&mut self, _archive: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}
