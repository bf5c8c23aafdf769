//! The SM's cache of instructions and constants, and the path between it and the sub-cores.

use super::sizes::SubCoreCaches;
use crate::outbox::Outbox;
use crate::spec::SCHEDULERS;
use kit::{Cycle, NEVER};
use mem::cache::{CacheCounters, CacheOutcome};
use mem::{Cache, Request, RequestKind};
use std::collections::VecDeque;
use std::ops::Range;

/// The cache with its two queues.
#[derive(Debug)]
pub(super) struct SharedCache {
    l1: Cache,
    to_l1: Cycle,
    from_l1: Cycle,
    /// Requests under way, by the cycle in which they are there: address, bytes, token.
    requests: VecDeque<(Cycle, (u64, u32, u32))>,
    /// The next cycle in which a request may enter the path.
    next_request: Cycle,
    /// Replies under way, by the cycle in which they are there.
    replies: VecDeque<(Cycle, u32)>,
    next_reply: Cycle,
    /// The first request was refused, and nothing has changed since.
    is_refused: bool,
    /// Requests from the first on that L1 has, or has requested: nothing comes of their look-ups by itself.
    served: usize,
    /// The cycle of the last look-up.
    looked_up: Cycle,
}

/// A request by its number, and the sub-core that it is from.
pub(super) fn of_token(token: u32) -> (usize, u32) {
    (token as usize % SCHEDULERS, token / SCHEDULERS as u32)
}

impl SharedCache {
    pub fn new(caches: &SubCoreCaches) -> Self {
        Self {
            l1: Cache::new(&caches.l1),
            to_l1: caches.to_l1_cycles.into(),
            from_l1: caches.from_l1_cycles.into(),
            requests: VecDeque::new(),
            next_request: 0,
            replies: VecDeque::new(),
            next_reply: 0,
            is_refused: false,
            served: 0,
            looked_up: 0,
        }
    }

    /// Sub-core `core` requests `bytes` at `address`, within a line; `id` comes with the reply.
    pub fn request(&mut self, now: Cycle, core: usize, (address, bytes): (u64, u32), id: u32) {
        let enters = now.max(self.next_request);
        self.next_request = enters + 1;
        let token = id * SCHEDULERS as u32 + core as u32;
        self.requests.push_back((enters + self.to_l1, (address, bytes, token)));
    }

    /// Whether anything came in a cycle before `now` and has been left.
    #[inline]
    pub fn is_behind(&self, now: Cycle) -> bool {
        let first = self.requests.front().filter(|_| !self.is_refused).map_or(NEVER, |request| request.0);
        first < now || self.replies.front().is_some_and(|reply| reply.0 < now)
    }

    /// Looks up requests that came before cycle `now` and have been left, each in its cycle.
    pub fn catch_up(&mut self, now: Cycle) {
        while let Some(request) = self.requests.front().filter(|_| !self.is_refused)
            && let at = request.0.max(self.looked_up + 1)
            && at < now
        {
            self.look_up(at);
        }
    }

    /// Looks up the request that has come, one in a cycle.
    pub fn look_up(&mut self, now: Cycle) {
        let Some(&(_, (address, bytes, token))) = self.requests.front().filter(|r| r.0 <= now && !self.is_refused)
        else {
            return;
        };
        self.looked_up = now;
        let request = Request::new(RequestKind::Instruction, address, bytes, token);
        match self.l1.access(now, &request).outcome {
            CacheOutcome::Hit => self.reply(now, token),
            CacheOutcome::Merged => {}
            CacheOutcome::Miss => self.served = 0,
            CacheOutcome::Fail(_) => {
                (self.is_refused, self.served) = (true, 0);
                return;
            }
        }
        self.served = self.served.saturating_sub(1);
        self.requests.pop_front();
    }

    fn reply(&mut self, now: Cycle, token: u32) {
        let enters = now.max(self.next_reply);
        self.next_reply = enters + 1;
        self.replies.push_back((enters + self.from_l1, token));
    }

    /// A line has come from L2.
    pub fn receive(&mut self, now: Cycle, token: u32) {
        self.catch_up(now);
        self.l1.fill(now, token);
        (self.is_refused, self.served) = (false, 0);
        while let Some(waiter) = self.l1.pop_ready() {
            self.reply(now, waiter.token);
        }
    }

    /// Takes a reply that is at its sub-core: the sub-core and the request's id.
    pub fn take_reply(&mut self, now: Cycle) -> Option<(usize, u32)> {
        self.take_reply_if(now, |_, _| true)
    }

    /// The same if `takes` says so of its sub-core and id.
    pub fn take_reply_if(&mut self, now: Cycle, takes: impl Fn(usize, u32) -> bool) -> Option<(usize, u32)> {
        let (core, id) = of_token(self.replies.front().filter(|reply| reply.0 <= now)?.1);
        takes(core, id).then(|| {
            self.replies.pop_front();
            (core, id)
        })
    }

    /// The next cycle after `now` in which something comes by time that a warp waits for, as `is_awaited` says of its token,
    /// or that L1 has to request; [`NEVER`] if nothing is under way but to and from L2. The rest is left until it matters.
    pub fn next_event(&mut self, now: Cycle, is_awaited: Option<impl Fn(u32) -> bool>) -> Cycle {
        let mut next = NEVER;
        if !self.is_refused {
            while let Some((_, (address, ..))) = self.requests.get(self.served)
                && self.l1.is_served(*address)
            {
                self.served += 1;
            }
            next = self.requests.get(self.served).map_or(NEVER, |request| request.0);
        }
        if let Some(is_awaited) = is_awaited {
            if !self.is_refused {
                let awaited = self.requests.iter().take(self.served).find(|(_, (.., token))| is_awaited(*token));
                next = awaited.map_or(next, |request| request.0);
            }
            let awaited = self.replies.iter().find(|(_, token)| is_awaited(*token));
            next = awaited.map_or(next, |reply| next.min(reply.0));
        }
        next.max(now + 1)
    }

    #[inline]
    pub fn may_send(&self) -> bool {
        self.l1.peek_miss().is_some()
    }

    pub fn send(&mut self, outbox: &mut Outbox<'_>) {
        outbox.send_miss(&mut self.l1);
        (self.is_refused, self.served) = (false, 0);
    }

    /// Drops lines outside the addresses `kept` that are not under way.
    pub fn keep_only(&mut self, kept: &Range<u64>) {
        self.l1.keep_only(kept);
        self.served = 0;
    }

    pub fn counters(&self) -> &CacheCounters {
        self.l1.counters()
    }
}

kit::persist! {
    struct SharedCache { l1, requests, next_request, replies, next_reply, is_refused, served, looked_up; skip to_l1, from_l1 }
}
