//! The network between the SMs of a cluster, for accesses to the shared memory of other CTAs.
//!
//! ```text
//!  SM ─► request port ─► latency / 2 ─► request port ─► shared memory of the other SM
//!  SM ◄─ reply port ◄─── latency / 2 ◄─ reply port ◄────────────┘
//! ```
//! Each SM has four ports, in and out for requests and for replies. A port passes a number of bytes per cycle, one
//! packet after the other. SMs hand over their requests at the end of a window, and the network times each by its
//! cycle. Both ends know the cycle of an arrival before they simulate it, if half the latency is at least a window.
//!
//! - D-CN1: a reply leaves the other SM with the arrival of the request; its shared memory takes no time and no banks.
//! - D-CN2: ports serve requests in the order of their cycles at the sender, replies in the order of their requests.
//! - D-CN3: queues have no limit.

use config::ClusterPort;
use isa::{ClusterMember, KernelId, MessageId};
use kit::Cycle;
use kit::persist::{Archive, Mismatch, Persist, each};
use std::collections::BTreeMap;

/// An access of an SM to the shared memory of one CTA on another.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of some fields say it all")]
pub struct PeerRequest {
    /// The cycle in which it leaves.
    pub at: Cycle,
    pub from: ClusterMember,
    /// Rank of the CTA that it is for.
    pub to: u8,
    /// Bytes of data there and back.
    pub bytes: [u32; 2],
    /// The message for the other CTA's stream.
    pub message: MessageId,
    /// The token that the SM gets with the reply; `None` without a reply.
    pub token: Option<u32>,
}

/// An event that the network brings to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names of the fields say it")]
pub enum PeerEvent {
    /// A request of the CTA of rank `from` has arrived for one of its CTAs.
    Arrived { to: ClusterMember, from: u8, message: MessageId },
    /// The reply to its request with this token has arrived.
    Replied { token: u32 },
}

/// A load of an SM's copy engine that other CTAs of the cluster receive too.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of some fields say it all")]
pub struct Multicast {
    pub from: ClusterMember,
    /// Ranks of the other CTAs, a bit each; none at its end.
    pub others: u16,
    pub message: MessageId,
    /// The token of its requests of the memory system, and their number.
    pub token: u32,
    pub requests: u32,
}

/// The SM at which a request arrives, and the cycles in which it and its reply arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub sm: usize,
    pub arrived: Cycle,
    pub replied: Cycle,
}

/// The first cycle in which each port of an SM is free.
#[derive(Clone, Copy, Debug, Default)]
struct Ports {
    request_out: Cycle,
    request_in: Cycle,
    reply_out: Cycle,
    reply_in: Cycle,
}

/// The network of a GPU.
#[derive(Debug)]
pub(crate) struct ClusterNetwork {
    parameters: ClusterPort,
    ports: Vec<Ports>,
    /// The SM of each CTA of clusters that have started.
    places: BTreeMap<ClusterMember, usize>,
}

impl ClusterNetwork {
    /// The idle network of a GPU with this number of SMs.
    pub fn new(parameters: &ClusterPort, sms: usize) -> Self {
        Self { parameters: parameters.clone(), ports: vec![Ports::default(); sms], places: BTreeMap::new() }
    }

    /// A CTA is going to start on an SM.
    pub fn place(&mut self, cta: ClusterMember, sm: usize) {
        self.places.insert(cta, sm);
    }

    /// A kernel has ended.
    pub fn forget(&mut self, kernel: KernelId) {
        self.places.retain(|cta, _| cta.kernel != kernel);
    }

    /// The SM of a CTA that has started.
    pub fn sm_of(&self, cta: ClusterMember) -> Option<usize> {
        self.places.get(&cta).copied()
    }

    /// Times a request of `sm`; `None` if the CTA has not started. Called for the requests of a window in the order of
    /// their cycles.
    pub fn route(&mut self, sm: usize, request: &PeerRequest) -> Option<Route> {
        let to = self.sm_of(ClusterMember { rank: request.to, ..request.from })?;
        let latency = Cycle::from(self.parameters.latency_cycles());
        let half = [latency / 2, latency - latency / 2];
        let rate = self.parameters.bytes_per_cycle();
        let [there, back] = request.bytes.map(|bytes| Cycle::from(bytes.div_ceil(rate).max(1)));
        let left = pass(&mut self.ports[sm].request_out, request.at, there);
        let arrived = pass(&mut self.ports[to].request_in, left + half[0] - there, there);
        if request.token.is_none() {
            return Some(Route { sm: to, arrived, replied: arrived });
        }
        let left = pass(&mut self.ports[to].reply_out, arrived, back);
        let replied = pass(&mut self.ports[sm].reply_in, left + half[1] - back, back);
        Some(Route { sm: to, arrived, replied })
    }
}

/// Passes a packet of `cycles` that arrives at a port at `at`. Returns the cycle in which it has passed.
fn pass(free_at: &mut Cycle, at: Cycle, cycles: Cycle) -> Cycle {
    *free_at = at.max(*free_at) + cycles;
    *free_at
}

kit::persist! {
    struct Ports { request_out, request_in, reply_out, reply_in }
}

/// No CTA is resident between kernels.
impl Persist for ClusterNetwork {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        each(&mut self.ports, archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(rank: u8) -> ClusterMember {
        ClusterMember { kernel: KernelId(3), cluster: 7, rank }
    }

    fn network() -> ClusterNetwork {
        let parameters = ClusterPort { latency_cycles: Some(101), bytes_per_cycle: Some(16) };
        let mut network = ClusterNetwork::new(&parameters, 8);
        (0..4).for_each(|rank| network.place(member(rank), 2 * usize::from(rank)));
        network
    }

    fn request(at: Cycle, from: u8, to: u8, bytes: [u32; 2]) -> PeerRequest {
        PeerRequest { at, from: member(from), to, bytes, message: MessageId(0), token: Some(0) }
    }

    #[test]
    fn a_single_access_takes_the_latency_and_its_bytes() {
        let mut network = network();
        let route = network.route(0, &request(1000, 0, 3, [0, 4]));
        assert_eq!(route, Some(Route { sm: 6, arrived: 1051, replied: 1103 }), "a cycle at each end");
        let route = network.route(0, &request(2000, 0, 1, [128, 0]));
        assert_eq!(route, Some(Route { sm: 2, arrived: 2058, replied: 2110 }));
        let posted = PeerRequest { token: None, ..request(3000, 0, 1, [16, 0]) };
        assert_eq!(network.route(0, &posted).map(|route| route.arrived), Some(3051));
        assert_eq!(network.route(0, &request(0, 0, 4, [0, 4])), None, "it has not started");
        network.forget(KernelId(3));
        assert_eq!(network.route(0, &request(0, 0, 3, [0, 4])), None);
    }

    #[test]
    fn packets_pass_a_port_one_after_the_other() {
        let mut network = network();
        let arrived = |network: &mut ClusterNetwork, from: u8| {
            network.route(2 * usize::from(from), &request(0, from, 3, [160, 0])).unwrap().arrived
        };
        // Ten cycles each: at the receiver's port, where three senders meet.
        let first = arrived(&mut network, 0);
        assert_eq!([1, 2].map(|from| arrived(&mut network, from) - first), [10, 20]);
        // At the sender's port.
        let mut network = self::network();
        let sent = [1, 2, 3].map(|to| network.route(0, &request(0, 0, to, [160, 0])).unwrap().arrived);
        assert_eq!(sent.map(|at| at - sent[0]), [0, 10, 20]);
        // Replies have ports of their own.
        let mut network = self::network();
        let replied = [1, 2].map(|from| network.route(2 * from, &request(0, from as u8, 0, [0, 160])).unwrap().replied);
        assert_eq!(replied[1] - replied[0], 10, "one port sends both");
        assert_eq!(network.route(0, &request(0, 0, 3, [4, 0])).unwrap().arrived, 51);
    }
}
