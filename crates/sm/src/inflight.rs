//! An instruction between decode and completion.

use crate::resolved::{Micro, Names};
use crate::spec::Pipe;
use isa::{Access, Control, KernelId, Pc, WarpSlot};
use kit::LaneMask;

kit::id! {
    /// An instruction in flight.
    pub struct InstId(u16);
}

kit::id! {
    /// The stream's record of an instruction in flight, in full.
    pub struct RecordId(u16);
}

impl RecordId {
    /// One record for all instructions of which nothing needs to be known later: of the youngest of them.
    pub(crate) const SHARED: Self = Self(0);
}

/// Facts of an instruction in flight that stages need: a line of the host's caches.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct InFlight {
    /// Its warp.
    pub warp: WarpSlot,
    /// The static instruction, resolved: reached by dereference.
    pub micro: Micro,
    /// The pipe of its unit; [`Micro::pipe`] is the pipe of its issue latch.
    pub unit_pipe: Pipe,
    /// Its issue does more than send it on its way: it acts on its warp, ends or turns it, it is an access to memory that
    /// is remembered, or it is routed.
    pub has_effect: bool,
    /// A layer over the operand stage changes its way: [`Slab::route`](crate::Slab::route).
    pub is_routed: bool,
    /// An atomic that keeps its warp from issuing.
    pub holds_warp: bool,
    /// All threads of its warp have exited with it.
    pub ends_warp: bool,
    /// Its warp does not continue at the next instruction in memory, or ends.
    pub turns: bool,
    /// Its kernel.
    pub kernel: KernelId,
    /// The static instruction.
    pub pc: Pc,
    /// Place in the program order of its warp, from 0.
    pub order: u32,
    /// Lanes that execute it.
    pub mask: LaneMask,
    /// Memory accesses that have not returned.
    pub pending: u16,
    /// Its unit, once it executes.
    pub unit: u16,
    /// Its reservation station, from when it has one.
    pub station: u8,
    /// Group of its asynchronous copy; for a matrix operation, its group plus one, or 0 without a group.
    pub group: u32,
    /// The stream's record of it.
    pub record: RecordId,
}

impl std::ops::Deref for InFlight {
    type Target = Micro;
    #[inline]
    fn deref(&self) -> &Micro {
        &self.micro
    }
}

impl InFlight {
    /// [`InFlight::station`] of an instruction without one.
    pub const NO_STATION: u8 = u8::MAX;

    /// An execution of the instruction `micro` at `pc` before it is known whose.
    fn template(pc: Pc, micro: Micro) -> Self {
        Self {
            warp: WarpSlot(0),
            micro,
            unit_pipe: micro.pipe,
            has_effect: micro.control != Control::None || is_remembered(micro),
            is_routed: false,
            holds_warp: false,
            ends_warp: false,
            turns: false,
            kernel: KernelId(0),
            pc,
            order: 0,
            mask: 0,
            pending: 0,
            unit: 0,
            station: Self::NO_STATION,
            group: 0,
            record: RecordId::SHARED,
        }
    }
}

/// Whether `micro` is an atomic, which may hold its warp, or asynchronous, so that its warp may wait for it.
fn is_remembered(micro: Micro) -> bool {
    micro.is_asynchronous()
        || micro.mem.is_some_and(|mem| matches!(mem.access, Access::AsyncCopy | Access::Atomic | Access::Reduction))
}

/// An instruction in flight, and what it names.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Entry {
    pub inst: InFlight,
    pub names: Names,
}

/// Four lines of the host's caches: an entry is copied with each instruction that is decoded.
const _: () = assert!(size_of::<Entry>() == 4 * 64);

impl Entry {
    /// Record of an execution of the instruction `micro` at `pc` when it is decoded, before its warp is known.
    pub fn template(pc: Pc, micro: Micro, names: Names) -> Self {
        Self { inst: InFlight::template(pc, micro), names }
    }
}
