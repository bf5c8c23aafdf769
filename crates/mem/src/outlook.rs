//! How long the memory system cannot answer an SM: what lets an SM run ahead of the others.
//!
//! Everything on the way takes at least one step per cycle: an answer that no slice has made yet
//! needs a look-up, the crossbar and the ejection, and a request behind which the fixed latency of
//! the L2 still lies needs that too. Each crossbar port's requests are counted by how far they have
//! come; the bound follows from the one that has come farthest.

use crate::clock::Clocks;
use kit::{Cycle, Ring};

/// The requests of the SMs behind one crossbar port that a slice has received.
#[derive(Clone, Debug, Default)]
struct Received {
    /// Of those in slices' latency paths: the L2 cycle in which they leave it, in order.
    in_path: Ring<u64>,
    /// Those that have left it and are not answered yet. A request is noted as answered here even
    /// if its leaving the path has not been looked at yet, so that this may be negative in between.
    beyond: i64,
    /// Parts of answers between a slice's look-up and the SM.
    returning: u32,
}

/// What is known of answers to come.
#[derive(Clone, Debug)]
pub(crate) struct Outlook {
    ports: Box<[Received]>,
    /// Crossbar and L2 have one edge in each core cycle, at the same time.
    one_clock: bool,
    /// Core cycles that the slices' latency path takes at least, wherever in them it begins.
    path: Cycle,
}

impl Outlook {
    /// Nothing on the way to `ports` crossbar ports; the path takes `latency` L2 cycles.
    pub fn new(ports: usize, clocks: &Clocks, latency: u64) -> Self {
        let one_clock = clocks.interconnect.is_one() && clocks.l2.is_one();
        let path = clocks.l2.first_source_at(latency).saturating_sub(1);
        Self { ports: vec![Received::default(); ports].into(), one_clock, path }
    }

    /// A request of `port` is received; it leaves the latency path in L2 cycle `due`, or skips it.
    #[inline]
    pub fn received(&mut self, port: usize, due: Option<u64>) {
        let received = &mut self.ports[port];
        match due {
            Some(due) => received.in_path.push_back(due),
            None => received.beyond += 1,
        }
    }

    /// A slice has made a part of an answer to `port`.
    #[inline]
    pub fn returns(&mut self, port: usize) {
        self.ports[port].returning += 1;
    }

    /// A part of an answer has left the crossbar at `port`; it was the `last` of its request's.
    #[inline]
    pub fn ejected(&mut self, port: usize, last: bool) {
        self.ports[port].returning -= 1;
        self.ports[port].beyond -= i64::from(last);
    }

    /// Core cycles from the one before which a slice cannot make an answer to the one in which that
    /// leaves the crossbar at the earliest: one more each for the crossbar and the ejection.
    #[inline]
    fn way_back(&self) -> Cycle {
        if self.one_clock { 2 } else { 1 }
    }

    /// The first core cycle in which an answer may leave the crossbar at `port`, if all up to `now`
    /// are done and none of its SMs' requests waits outside the slices. An answer may be seen by the
    /// SM in the cycle behind that.
    pub fn first_answer(&mut self, port: usize, now: Cycle, clocks: &Clocks) -> Cycle {
        let (way_back, l2_now) = (self.way_back(), clocks.l2.floor(now));
        let received = &mut self.ports[port];
        while let Some(&due) = received.in_path.front()
            && due <= l2_now
        {
            received.in_path.pop_front();
            received.beyond += 1;
        }
        if received.returning > 0 {
            now + 1
        } else if received.beyond > 0 {
            now + 1 + way_back
        } else if let Some(&due) = received.in_path.front() {
            clocks.l2.first_source_at(due) + way_back
        } else {
            Cycle::MAX
        }
    }

    /// Likewise, if any request may wait outside the slices or come after cycle `now`. Those that
    /// skip the latency path pass only the crossbar, both ways.
    #[inline]
    pub fn first_answer_to_new(&self, now: Cycle, skip_path: bool) -> Cycle {
        now + 1 + self.way_back() + if skip_path { 0 } else { self.path }
    }
}
