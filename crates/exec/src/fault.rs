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
    /// The instruction stops by a trap of all lanes in `lanes`.
    pub fn stop(kind: FaultKind, what: impl Into<String>, lanes: LaneMask) -> Stop {
        Stop::Trap(Box::new(Self { kind, what: what.into(), lanes }))
    }
}

/// Why an instruction is not performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has no defined outcome.
    Trap(Box<Trap>),
    /// It needs the state that SMs share for itself: it has changed nothing but the description for the timing model,
    /// and is performed in the exchange ([`isa::WarpStream::exchange`]).
    Deferred,
    /// It has been performed, but its warp waits for the other threads of the cluster.
    AtCluster,
}

impl From<Box<Trap>> for Stop {
    fn from(trap: Box<Trap>) -> Self {
        Self::Trap(trap)
    }
}

/// Result of executing an instruction.
pub(crate) type Outcome = Result<(), Stop>;

/// The divergence stack has more entries than its bound.
#[cold]
pub(crate) fn overflow(mask: LaneMask) -> Stop {
    Trap::stop(FaultKind::StackOverflow, "the warp's calls are nested too deeply", mask)
}
