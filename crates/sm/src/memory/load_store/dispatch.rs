//! The dispatch register: the access that the unit works at, and how its transactions leave.

use crate::inflight::InstId;
use crate::memory::wavefronts::Held;
use crate::state::State;
use crate::warps::mask::WarpMask;
use kit::Cycle;
use mem::coalesce::Transaction;
use mem::{Request, RequestKind};

/// Where the instruction in the dispatch register goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Shared,
    /// Shared memory of other CTAs of the cluster.
    Peers,
    Constant,
    Texture,
    L1,
    /// Straight to the memory system.
    Bypass,
    /// Nowhere: no lane active, or not an access at all (fences).
    None,
}

/// The instruction in the dispatch register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatch {
    pub id: InstId,
    pub path: Path,
    pub is_store: bool,
    /// First cycle in which it can go on.
    pub ready_at: Cycle,
    /// The cycle in which it came into the register.
    pub accepted_at: Cycle,
    /// Reads of shared memory by tensor cores that it has waited for.
    pub held: Held,
}

/// How the transactions of the instruction in the dispatch register leave it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Their requests of the memory system: kind, whether of local memory, token.
    pub kind: RequestKind,
    pub local: bool,
    pub token: u32,
    /// First cycle in which the instruction can leave the register, if it goes to L1.
    pub leaves_at: Cycle,
    /// How many have left.
    pub sent: usize,
    /// The bank of L1 that the next one waits for, as a bit: as long as its queue is full, the instruction is not ready.
    pub awaited: u64,
}

impl Sending {
    /// None has left.
    pub fn new() -> Self {
        Self { kind: RequestKind::Read, local: false, token: 0, leaves_at: 0, sent: 0, awaited: 0 }
    }

    /// The request for one of the transactions.
    #[inline]
    pub fn request(&self, transaction: &Transaction) -> Request {
        transaction.request(self.kind, self.local, self.token)
    }
}

impl Dispatch {
    /// Notes that `count` of its transactions have gone.
    #[inline]
    pub fn has_sent<M: WarpMask>(&self, state: &mut State<M>, count: usize) {
        state.wake_up.moved();
        if self.is_store {
            let warp = state.slab.get(self.id).warp;
            state.warps.outstanding[warp.index()] += count as u32;
        }
    }
}
