//! The gate of a cluster of SMs: replies leave the crossbar for the SMs' inboxes.

use crate::packet::Packet;
use crate::{AnswerCounters, Port, RequestKind};
use config::GpuConfig;
use kit::{Cycle, NEVER, Ring};

/// A part of a reply that has passed the crossbar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The first cycle in which it may leave the crossbar's output.
    pub from: Cycle,
    /// Its packet, as it was after this part.
    pub packet: Packet,
}

/// A part of a reply that has left the crossbar.
#[derive(Clone, Copy, Debug)]
pub struct Ejected {
    /// The cycle in which it left.
    pub at: Cycle,
    /// If the reply is complete: the place of its SM in the cluster, and its latency, which is 0 for an
    /// acknowledgement of a write.
    pub reply: Option<(usize, Cycle)>,
}

/// The path between the reply crossbar's output and the inboxes of the SMs that share it.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Parts of replies at the crossbar's output, in order.
    pub(crate) arrivals: Ring<Arrival>,
    /// Replies of the cache of the GPC, in order. They have a path of their own.
    pub(crate) of_gpc: Ring<Arrival>,
    first_sm: usize,
    ejection_packets: usize,
    answers: AnswerCounters,
}

impl Gate {
    /// The gate of cluster number `cluster`.
    pub fn new(config: &GpuConfig, cluster: usize) -> Self {
        Self {
            arrivals: Ring::new(),
            of_gpc: Ring::new(),
            first_sm: cluster * config.sms_per_cluster.max(1) as usize,
            ejection_packets: config.interconnect.ejection_buffer_packets.max(1) as usize,
            answers: AnswerCounters::default(),
        }
    }

    /// The first cycle from `from` on in which a part of a reply can leave the crossbar, as long as no SM takes
    /// a reply; [`NEVER`] if there is none.
    #[inline]
    pub fn next_event(&self, from: Cycle, ports: &[Port]) -> Cycle {
        match self.first_arrival() {
            Some(first) if self.has_room(ports) => first.max(from),
            _ => NEVER,
        }
    }

    /// When the first part of a reply that waits came, or comes.
    #[inline]
    pub fn first_arrival(&self) -> Option<Cycle> {
        let first = self.arrivals.front().map(|part| part.from);
        match self.of_gpc.front() {
            Some(reply) => Some(first.map_or(reply.from, |first| first.min(reply.from))),
            None => first,
        }
    }

    /// Whether the next one is a reply of the GPC's cache.
    #[inline]
    fn is_next_of_gpc(&self) -> bool {
        self.of_gpc.front().is_some_and(|reply| self.arrivals.front().is_none_or(|part| reply.from < part.from))
    }

    #[inline]
    fn has_room(&self, ports: &[Port]) -> bool {
        if let [port] = ports {
            return port.inbox.len() < self.ejection_packets;
        }
        ports.iter().map(|port| port.inbox.len()).sum::<usize>() < self.ejection_packets
    }

    /// One part of a reply leaves the crossbar, in the first cycle from `from` on and before `until` in which it can, if
    /// there is room in the inboxes. With a reply's last part the reply is in the inbox of its SM, which may take it
    /// from the next cycle on.
    #[inline(always)]
    pub fn eject(&mut self, from: Cycle, until: Cycle, ports: &mut [Port]) -> Option<Ejected> {
        let is_of_gpc = self.is_next_of_gpc();
        let part = if is_of_gpc { self.of_gpc.front() } else { self.arrivals.front() }?;
        let at = part.from.max(from);
        if at >= until || !self.has_room(ports) {
            return None;
        }
        let Packet { request, sm, parts_left, since } = &part.packet;
        let mut reply = None;
        if *parts_left == 0 {
            let place = usize::from(*sm) - self.first_sm;
            ports[place].inbox.push_back((at + 1, *request));
            let mut latency = 0;
            if request.kind == RequestKind::Write {
                self.answers.writes += 1;
            } else {
                latency = at + 1 - since;
                self.answers.reads += 1;
                self.answers.read_latency += latency;
            }
            reply = Some((place, latency));
        }
        if is_of_gpc { &mut self.of_gpc } else { &mut self.arrivals }.drop_front(1);
        Some(Ejected { at, reply })
    }

    /// Replies that the SMs got.
    pub fn answers(&self) -> &AnswerCounters {
        &self.answers
    }

    /// Whether no part of a reply waits.
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.of_gpc.is_empty()
    }
}

kit::persist! {
    new struct Arrival { from, packet }
    struct Gate { arrivals, of_gpc, answers; skip first_sm, ejection_packets }
}
