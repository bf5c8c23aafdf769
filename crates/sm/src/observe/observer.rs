//! Events in the SM, for observers: timelines, auditors, energy.
//!
//! The SM calls an [`Observer`] by static dispatch; the silent one is zero-sized and costs nothing.

use crate::inflight::{InFlight, InstId};
use crate::kernel::ResidentKernel;
use crate::observe::stalls::Stall;
use crate::slab::Window;
use isa::{CtaSlot, Dim3, KernelId, Pc, TransferKind, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Mismatch};

use mem::Level;

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

/// Why an issue slot stays empty.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// The reason.
    pub stall: Stall,
    /// The instruction that waits, as a place in a kernel's code: the next to issue of the warp that came closest, or
    /// that at which its warp is held. `None` if no warp waits.
    pub place: Option<(KernelId, Pc)>,
    /// The warp, if one waits.
    pub warp: Option<WarpSlot>,
    /// The same as an instruction in flight, if it has been decoded and not been issued.
    pub inst: Option<InstId>,
    /// All that is in flight.
    pub window: Window<'a>,
}

/// An instruction that a warp has waited for.
#[derive(Clone, Copy, Debug)]
pub struct Awaited<'a> {
    /// Its place in a kernel's code.
    pub place: (KernelId, Pc),
    /// All that is in flight.
    pub window: Window<'a>,
}

/// A transfer of the copy engine that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// Direction.
    pub kind: TransferKind,
    /// Bytes of shared memory.
    pub bytes: u32,
    /// Issue of the instruction that started it.
    pub issued: Cycle,
    /// First cycle in which the engine worked at it.
    pub begun: Cycle,
}

/// An access to memory as it enters the load/store unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accessed {
    /// Transactions that it is split into; passes through the banks for shared memory.
    pub transactions: u32,
    /// Bytes that these move, whole sectors; 0 for shared memory.
    pub bytes: u32,
    /// Cycles beyond the first that conflicts between banks, or different words of constants, take.
    pub conflict_cycles: u32,
    /// Passes through the banks of shared memory beyond those that the bytes of all active lanes fill.
    pub excess_passes: u32,
}

/// Watches an SM. Every method does nothing unless it is overridden.
#[expect(unused_variables, reason = "default methods name what they are told")]
pub trait Observer: Send {
    /// Whether it is to be informed of empty issue slots and of accesses to memory, which takes time to find out.
    #[inline]
    fn watches_details(&self) -> bool {
        false
    }
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
    /// An instruction issues in an issue slot, numbered as in [`SlotAccount`](crate::SlotAccount): scheduler times issue
    /// width, and the number within the scheduler.
    #[inline]
    fn issued(&mut self, now: Cycle, slot: usize, seen: Seen<'_>) {}
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
    /// An access to memory with any active lane enters the load/store unit. Only for observers that
    /// [watch details](Self::watches_details).
    #[inline]
    fn accessed(&mut self, now: Cycle, seen: Seen<'_>, accessed: Accessed) {}
    /// The data of a transaction of a load or atomic on global, local or texture memory have come from `level`. Of
    /// textures only where they are read through L1.
    #[inline]
    fn served(&mut self, now: Cycle, seen: Seen<'_>, level: Level) {}
    /// An instruction has written its results and is complete.
    #[inline]
    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {}
    /// Fetch of `warp` is turned to another path.
    #[inline]
    fn flushed(&mut self, now: Cycle, warp: WarpSlot) {}
    /// Warps are released from a barrier, one bit for each slot.
    #[inline]
    fn released(&mut self, now: Cycle, warps: u128) {}
    /// `warp` need not wait any longer for asynchronous work, the reason being `stall`: the instruction `by`, of this
    /// warp or another, did the last of it; `None` if it was none of this SM. Only for observers that
    /// [watch details](Self::watches_details).
    #[inline]
    fn awaited(&mut self, now: Cycle, warp: WarpSlot, stall: Stall, by: Option<Awaited<'_>>) {}
    /// A transfer that the instruction of `warp` at `place` started is complete.
    #[inline]
    fn transferred(&mut self, now: Cycle, warp: WarpSlot, place: (KernelId, Pc), transferred: Transferred) {}
    /// An issue slot, numbered as in [`SlotAccount`](crate::SlotAccount), stays empty, and stays so for as long as
    /// nothing changes: that is called once. Only for observers that [watch details](Self::watches_details).
    #[inline]
    fn stalled(&mut self, now: Cycle, slot: usize, wait: &Wait<'_>) {}
    /// All cycles before `now` have passed: counts by time are complete up to there.
    #[inline]
    fn settled(&mut self, now: Cycle) {}
    /// Saves its observations, for checkpoints between kernels: nothing is in flight. By default nothing.
    ///
    /// # Errors
    /// The archive has what another one has observed, or what it observes cannot be kept.
    fn persist(&mut self, kernels: &[ResidentKernel], archive: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
