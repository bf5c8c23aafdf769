//! What happens in the SM, for observers: timelines, auditors, energy.
//!
//! The SM calls an [`Observer`] by static dispatch; the silent one is zero-sized and costs nothing.

use crate::inflight::{InFlight, InstId, Window};
use crate::observe::stalls::Stall;
use isa::{CtaSlot, Dim3, KernelId, Pc, WarpSlot};
use kit::Cycle;

/// An instruction that something happens to.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its id, unique among those in flight.
    pub id: InstId,
    /// All that is in flight.
    pub window: Window<'a>,
}

impl<'a> Seen<'a> {
    /// The instruction.
    pub fn inst(self) -> &'a InFlight {
        self.window.inst(self.id)
    }
}

/// Watches an SM. Every method does nothing unless it is overridden.
#[expect(unused_variables, reason = "default methods name what they are told")]
pub trait Observer: Send {
    /// A CTA takes `cta_slot`, its warps `warps`.
    #[inline]
    fn cta_started(&mut self, now: Cycle, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {}
    /// A CTA has left its slot.
    #[inline]
    fn cta_finished(&mut self, now: Cycle, slot: CtaSlot) {}
    /// Instructions from `pc` on are fetched for `warp`.
    #[inline]
    fn fetched(&mut self, now: Cycle, warp: WarpSlot, pc: Pc) {}
    /// An instruction enters its buffer.
    #[inline]
    fn decoded(&mut self, now: Cycle, seen: Seen<'_>) {}
    /// An instruction issues from `scheduler`.
    #[inline]
    fn issued(&mut self, now: Cycle, scheduler: usize, seen: Seen<'_>) {}
    /// An instruction enters an operand collector: from now on it may read its vector sources, but
    /// for those `awaited` (by place in [`Window::vector_srcs`], one bit each), which come to it.
    #[inline]
    fn collecting(&mut self, now: Cycle, seen: Seen<'_>, awaited: u64) {}
    /// The last of an instruction's register reads has been served. Not called for an instruction whose
    /// last operand came to it.
    #[inline]
    fn collected(&mut self, now: Cycle, seen: Seen<'_>) {}
    /// An instruction has its operands and leaves its operand collector.
    #[inline]
    fn operands_read(&mut self, now: Cycle, seen: Seen<'_>) {}
    /// An instruction enters its unit.
    #[inline]
    fn executing(&mut self, now: Cycle, seen: Seen<'_>) {}
    /// An instruction has written its results and is complete.
    #[inline]
    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {}
    /// Fetch of `warp` is turned to another path.
    #[inline]
    fn flushed(&mut self, now: Cycle, warp: WarpSlot) {}
    /// Warps are released from a barrier, one bit for each slot.
    #[inline]
    fn released(&mut self, now: Cycle, warps: u128) {}
    /// An issue slot of `scheduler` stays empty, and stays so for as long as nothing changes: that is
    /// called once.
    #[inline]
    fn stalled(&mut self, now: Cycle, scheduler: usize, stall: Stall) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
