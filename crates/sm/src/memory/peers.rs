//! The SM's side of the network between the SMs of a cluster ([`gpu::PeerRequest`]): accesses to shared memory of CTAs on
//! other SMs leave here, and their replies and others' accesses come here.
//!
//! Loads and atomics wait for the replies of all CTAs that they access; a store is performed with the last of them. What
//! an access does to an `mbarrier` of another CTA takes effect there when it arrives ([`isa::WarpStream::delivered`]).
//!
//! - D-P1: an access to the memory of the own and of other CTAs takes the time of the others.
//! - D-P2: the access of the network to shared memory takes its banks from no other access.

use crate::inflight::InstId;
use gpu::{Multicast, PeerEvent, PeerRequest};
use isa::{Access, PeerAccesses, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist};
use kit::{Cycle, NEVER};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Marks the token of a store; the rest is its warp. Without it, the rest is the number of the instruction.
const TOKEN_STORE: u32 = 1 << 31;

/// What leaves the SM for the network, and what comes.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    requests: Vec<PeerRequest>,
    multicasts: Vec<Multicast>,
    /// What comes, with its cycle and its place in the order of its coming.
    events: BinaryHeap<Reverse<(Cycle, u64, PeerEvent)>>,
    received: u64,
    /// Loads and atomics, with the number of replies that they lack.
    left: Vec<(InstId, u32)>,
}

/// What a reply brings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    /// A part of a store of this warp has been performed.
    Store(WarpSlot),
    /// An instruction has all its replies.
    Complete(InstId),
    /// It lacks others.
    Partial,
}

impl Peers {
    /// Whether no instruction waits for a reply.
    pub fn is_idle(&self) -> bool {
        self.left.is_empty()
    }

    /// Instruction `id` of `warp` leaves for other CTAs. Returns the number of its requests.
    pub fn send(&mut self, now: Cycle, (id, warp): (InstId, WarpSlot), access: Access, accesses: &PeerAccesses) -> u32 {
        let count = accesses.to.len() as u32;
        let token = if access == Access::Store { TOKEN_STORE | u32::from(warp.0) } else { u32::from(id.0) };
        if access != Access::Store {
            self.left.push((id, count));
        }
        self.push(now, accesses, Some(token), |bytes| match access {
            Access::Store => [bytes, 0],
            Access::Load => [0, bytes],
            _ => [bytes; 2],
        });
        count
    }

    /// Data that the copy engine has read from shared memory leave for other CTAs.
    pub fn send_copy(&mut self, now: Cycle, accesses: &PeerAccesses) {
        self.push(now, accesses, None, |bytes| [bytes, 0]);
    }

    fn push(&mut self, at: Cycle, accesses: &PeerAccesses, token: Option<u32>, bytes: impl Fn(u32) -> [u32; 2]) {
        let &PeerAccesses { from, ref to, message } = accesses;
        let request = |&(to, size): &(u8, u32)| PeerRequest { at, from, to, bytes: bytes(size), message, token };
        self.requests.extend(to.iter().map(request));
    }

    /// A multicast of the copy engine begins or has ended.
    pub fn note_multicast(&mut self, multicast: Multicast) {
        self.multicasts.push(multicast);
    }

    /// These since this was last called.
    pub fn take_multicasts(&mut self) -> Vec<Multicast> {
        std::mem::take(&mut self.multicasts)
    }

    /// The requests since this was last called.
    pub fn take_requests(&mut self) -> Vec<PeerRequest> {
        std::mem::take(&mut self.requests)
    }

    /// `event` comes in cycle `at`.
    pub fn receive(&mut self, at: Cycle, event: PeerEvent) {
        self.events.push(Reverse((at, self.received, event)));
        self.received += 1;
    }

    /// When the next event comes.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.events.peek().map_or(NEVER, |&Reverse((at, ..))| at)
    }

    /// The next event, if it has come.
    pub fn take_event(&mut self, now: Cycle) -> Option<PeerEvent> {
        if self.next_event() > now {
            return None;
        }
        self.events.pop().map(|Reverse((_, _, event))| event)
    }

    /// The reply with this token has come.
    pub fn reply(&mut self, token: u32) -> Reply {
        if token & TOKEN_STORE != 0 {
            return Reply::Store(WarpSlot((token & !TOKEN_STORE) as u16));
        }
        let id = InstId(token as u16);
        let Some(at) = self.left.iter().position(|&(of, _)| of == id) else { return Reply::Partial };
        self.left[at].1 -= 1;
        if self.left[at].1 > 0 {
            return Reply::Partial;
        }
        self.left.swap_remove(at);
        Reply::Complete(id)
    }
}

impl Persist for Peers {
    /// Between kernels nobody waits for a reply; what comes is for CTAs that have ended.
    fn persist(&mut self, _: &mut Archive) -> Result<(), Mismatch> {
        self.events.clear();
        Ok(())
    }
}
