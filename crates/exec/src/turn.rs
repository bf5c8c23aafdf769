//! How a turn of a warp ends.

use isa::{Control, DynInst, Inst};

/// Why a warp's turn has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It has executed as many instructions as it was allowed.
    Over,
    /// It has arrived at a barrier; whether it waits there.
    Barrier { waits: bool },
    /// All its lanes have exited.
    Done,
    /// Its observer wants no more.
    Stopped,
}

/// Whether the executed instruction has arrived at a barrier; if so, whether its warp waits there.
#[inline]
pub(crate) fn arrival(insts: &[Inst], out: &DynInst) -> Option<bool> {
    match insts[out.pc.index()].traits.control {
        Control::BarrierSync if out.mask != 0 => Some(true),
        Control::BarrierArrive if out.mask != 0 => Some(false),
        _ => None,
    }
}
