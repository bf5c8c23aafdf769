//! The way to the memory system: an SM's stages with caches are clients of one port.
//!
//! ```text
//!  memory stage:  L1, constant, texture caches; what bypasses L1 ─┐
//!                                                                 ├─► Outbox ─► Port ─► crossbar
//!  front end:     instruction cache ──────────────────────────────┘
//! ```
//! A client keeps its misses until there is room, sends them itself, and receives the replies to them; no stage
//! knows the caches of another. In a cycle the SM takes one reply and then lets its clients send, the memory
//! stage first.

use crate::spec::CoreSpec;
use crate::wake_up::WakeUp;
use kit::Cycle;
use mem::{Cache, Port, Request};

/// A stage that asks the memory system for data. By default it asks for nothing.
pub trait Client {
    /// Whether it may have a request to send.
    #[inline]
    fn may_send(&self) -> bool {
        false
    }

    /// Sends what it has: in a cycle one request of each cache at most, as far as there is room.
    fn send(&mut self, _outbox: &mut Outbox<'_>) {}
}

/// The SM's side of its port in a cycle.
#[derive(Debug)]
pub struct Outbox<'a> {
    now: Cycle,
    port: &'a mut Port,
    /// Packets that the crossbar's input buffer holds.
    packets: u32,
    wake_up: &'a mut WakeUp,
    sent: &'a mut u64,
}

impl<'a> Outbox<'a> {
    /// `sent` counts the requests of the SM.
    #[inline(always)]
    pub(crate) fn new(
        now: Cycle,
        port: &'a mut Port,
        spec: &CoreSpec,
        wake_up: &'a mut WakeUp,
        sent: &'a mut u64,
    ) -> Self {
        Self { now, port, packets: spec.outbox_packets, wake_up, sent }
    }

    /// Whether there is room for a request. If not, the SM looks again in the next cycle.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        let has_room = self.port.has_room(self.packets, self.now);
        if !has_room {
            self.wake_up.at(self.now + 1);
        }
        has_room
    }

    /// Sends `request`, for which there is room.
    #[inline]
    pub fn push(&mut self, request: Request) {
        self.port.outbox.push_back((self.now, request));
        *self.sent += 1;
        self.wake_up.moved();
    }

    /// Sends the next miss of `cache`, if it has one and there is room. Whether there are more to send.
    #[inline(always)]
    pub fn send_miss(&mut self, cache: &mut Cache) -> bool {
        cache.peek_miss().is_some() && self.send_first_miss(cache)
    }

    #[inline(never)]
    fn send_first_miss(&mut self, cache: &mut Cache) -> bool {
        if !self.has_room() {
            return true;
        }
        let Some(request) = cache.pop_miss() else { return false };
        self.push(request);
        cache.peek_miss().is_some()
    }
}
