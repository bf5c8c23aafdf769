//! Instructions without a defined outcome.

use isa::FaultKind;
use kit::LaneMask;

/// Description of a fault and its lanes; the stream adds place and thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trap {
    pub kind: FaultKind,
    pub what: String,
    pub lanes: LaneMask,
}

impl Trap {
    /// A trap of all lanes in `lanes`.
    pub fn new(kind: FaultKind, what: impl Into<String>, lanes: LaneMask) -> Box<Self> {
        Box::new(Self { kind, what: what.into(), lanes })
    }
}

/// Result of executing an instruction.
pub(crate) type Outcome = Result<(), Box<Trap>>;

/// The divergence stack has more entries than its bound.
#[cold]
pub(crate) fn overflow(mask: LaneMask) -> Box<Trap> {
    Trap::new(FaultKind::StackOverflow, "the warp's calls are nested too deeply", mask)
}
