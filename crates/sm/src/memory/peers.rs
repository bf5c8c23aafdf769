//! The SM's side of the network between the SMs of a cluster ([`gpu::PeerRequest`]): accesses to shared memory of CTAs on
//! other SMs leave here, and their replies and accesses of other SMs arrive here.
//!
//! Loads and atomics wait for the replies of all CTAs that they access; a store is performed with the last reply.
//! Arrivals at an `mbarrier` of another CTA take effect when the access arrives there ([`isa::WarpStream::delivered`]).
//!
//! - D-P1: an access to both the own CTA's and other CTAs' memory takes the time of the accesses to the others.
//! - D-P2: accesses from the network do not occupy the banks of shared memory.

use crate::inflight::InstId;
use gpu::{Multicast, PeerEvent, PeerRequest};
use isa::{Access, PeerAccesses, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist};
use kit::{Cycle, NEVER};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Marks the token of a store; the rest is its warp. Without it, the rest is the number of the instruction.
const TOKEN_STORE: u32 = 1 << 31;

/// Requests and multicasts that leave the SM for the network, and events that arrive.
#[derive(Debug)]
pub(crate) struct Peers {
    requests: Vec<PeerRequest>,
    multicasts: Vec<Multicast>,
    /// Events to come, by cycle, then in the order in which they were received.
    events: BinaryHeap<Reverse<(Cycle, u64, PeerEvent)>>,
    /// The cycle of the first one, which the SM looks at in every cycle.
    next: Cycle,
    received: u64,
    /// Loads and atomics, with the number of their missing replies.
    left: Vec<(InstId, u32)>,
}

/// The effect of a reply.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    /// A part of a store of this warp has been performed.
    Store(WarpSlot),
    /// An instruction has all its replies.
    Complete(InstId),
    /// An instruction still lacks replies.
    Partial,
}

impl Default for Peers {
    fn default() -> Self {
        let (requests, multicasts, events, left) = Default::default();
        Self { requests, multicasts, events, next: NEVER, received: 0, left }
    }
}

impl Peers {
    /// Whether no instruction waits for a reply.
    pub fn is_idle(&self) -> bool {
        self.left.is_empty()
    }

    /// Sends the accesses of instruction `id` of `warp` to other CTAs. Returns the number of requests.
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

    /// Sends data that the copy engine has read from shared memory to other CTAs.
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

    /// Takes the multicasts since the last call.
    pub fn take_multicasts(&mut self) -> Vec<Multicast> {
        std::mem::take(&mut self.multicasts)
    }

    /// Takes the requests since the last call.
    pub fn take_requests(&mut self) -> Vec<PeerRequest> {
        std::mem::take(&mut self.requests)
    }

    /// `event` is due in cycle `at`.
    pub fn receive(&mut self, at: Cycle, event: PeerEvent) {
        self.events.push(Reverse((at, self.received, event)));
        self.received += 1;
        self.next = self.next.min(at);
    }

    /// The cycle of the next event.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.next
    }

    /// Takes the next event, if it is due.
    pub fn take_event(&mut self, now: Cycle) -> Option<PeerEvent> {
        if self.next > now {
            return None;
        }
        let Reverse((_, _, event)) = self.events.pop()?;
        self.next = self.events.peek().map_or(NEVER, |&Reverse((at, ..))| at);
        Some(event)
    }

    /// The reply with this token has arrived.
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
    /// Between kernels no instruction waits for a reply; remaining events are for CTAs that have ended.
    fn persist(&mut self, _: &mut Archive) -> Result<(), Mismatch> {
        self.events.clear();
        self.next = NEVER;
        Ok(())
    }
}
