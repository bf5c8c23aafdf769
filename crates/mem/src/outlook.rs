//! The time before which no reply can reach an SM: until then the SM may run ahead of the others.
//!
//! Everything on the way takes at least one step per cycle: a reply that no slice has made yet
//! needs a look-up, the crossbar and the ejection, and a request that has not passed the fixed
//! latency of the L2 needs that too. Each crossbar port's requests are counted by how far they have
//! come; the bound follows from the one that has come farthest.

use crate::clock::Clocks;
use kit::{Cycle, NEVER, Ring};

/// The requests that slices have received from the SMs of one crossbar port.
#[derive(Clone, Debug, Default)]
struct Received {
    /// Of those in slices' latency paths: the L2 cycle in which they leave it, in order.
    in_path: Ring<u64>,
    /// Those that have left it and are not replied to yet. A request is noted as replied to here even
    /// if its leaving the path has not been looked at yet, so that this may be negative in between.
    beyond: i64,
    /// Parts of replies between a slice's look-up and the SM.
    returning: u32,
    /// The last result for the first reply.
    promised: Cycle,
}

impl Received {
    /// Notes who has left the latency path up to L2 cycle `cycle`.
    #[inline]
    fn leave_path(&mut self, cycle: u64) {
        while self.in_path.front().is_some_and(|&due| due <= cycle) {
            self.in_path.pop_front();
            self.beyond += 1;
        }
    }
}

/// State of the replies that are still to come.
#[derive(Clone, Debug)]
pub(crate) struct Outlook {
    /// Whether anyone will ask; if not, nothing is noted.
    pub followed: bool,
    ports: Box<[Received]>,
    /// Crossbar and L2 have one edge in each core cycle, at the same time.
    one_clock: bool,
    /// Core cycles that the slices' latency path takes at least, wherever in them it begins.
    path: Cycle,
}

impl Outlook {
    /// An outlook without requests for `ports` crossbar ports; the path takes `latency` L2 cycles.
    pub fn new(ports: usize, clocks: &Clocks, latency: u64) -> Self {
        let one_clock = clocks.interconnect.is_one() && clocks.l2.is_one();
        let path = clocks.l2.first_source_at(latency).saturating_sub(1);
        Self { followed: false, ports: vec![Received::default(); ports].into(), one_clock, path }
    }

    /// A request of `port` is received in L2 cycle `cycle`; it leaves the latency path in cycle `due`, or
    /// skips it.
    #[inline]
    pub fn received(&mut self, port: usize, cycle: u64, due: u64) {
        if !self.followed {
            return;
        }
        let received = &mut self.ports[port];
        received.leave_path(cycle);
        if due > cycle {
            received.in_path.push_back(due);
        } else {
            received.beyond += 1;
        }
    }

    /// A slice has made a part of a reply to `port`.
    #[inline]
    pub fn returns(&mut self, port: usize) {
        if self.followed {
            self.ports[port].returning += 1;
        }
    }

    /// A part of a reply has left the crossbar at `port` in core cycle `now`; it was the `last` of
    /// its request's.
    #[inline]
    pub fn ejected(&mut self, port: usize, now: Cycle, last: bool) {
        if !self.followed {
            return;
        }
        debug_assert!(now >= self.ports[port].promised, "an answer has come before it could");
        self.ports[port].returning -= 1;
        self.ports[port].beyond -= i64::from(last);
    }

    /// Core cycles from the one before which a slice cannot make a reply to the one in which that
    /// leaves the crossbar at the earliest: one more each for the crossbar and the ejection.
    #[inline]
    fn way_back(&self) -> Cycle {
        if self.one_clock { 2 } else { 1 }
    }

    /// The first core cycle in which a reply may leave the crossbar at `port`, if all up to `now`
    /// are done, whatever SMs ask for from now on. The SM may see it in the cycle after that.
    /// `skip_path`: some requests may skip the latency path.
    pub fn first_answer(&mut self, port: usize, now: Cycle, skip_path: bool, clocks: &Clocks) -> Cycle {
        // A request that waits outside the slices, or comes, passes the crossbar both ways.
        let to_new = now + 1 + self.way_back() + if skip_path { 0 } else { self.path };
        let (way_back, l2_now) = (self.way_back(), clocks.l2.floor(now));
        let received = &mut self.ports[port];
        received.leave_path(l2_now);
        let to_received = if received.returning > 0 {
            now + 1
        } else if received.beyond > 0 {
            now + 1 + way_back
        } else if let Some(&due) = received.in_path.front() {
            clocks.l2.first_source_at(due) + way_back
        } else {
            NEVER
        };
        received.promised = to_received.min(to_new);
        received.promised
    }
}
