//! The reply crossbar: from the slices' replies to the SMs' gates.

use crate::clock::due_before;
use crate::crossbar::{Crossbar, Source, Taken};
use crate::gate::{Arrival, Gate};
use crate::gpc_cache::GpcCaches;
use crate::packet::{Packet, Reply};
use crate::partition::{Partition, Slice, finish_part};
use crate::topology::Topology;
use crate::{Port, Request, RequestKind};
use config::GpuConfig;
use kit::bits::set_bits;
use kit::{Cycle, NEVER, Ring};
use std::collections::BTreeMap;
use std::ops::DerefMut;

/// The reply crossbar with its output queues.
#[derive(Clone, Debug)]
pub(super) struct Replies {
    /// The first core cycle that it has not done, and the next one in which anything can happen.
    pub done: Cycle,
    next: Cycle,
    pub crossbar: Crossbar,
    /// Parts of replies that have passed since the last exchange, by cluster.
    arrived: Box<[Ring<Arrival>]>,
    /// For the SM and the token of a request: other SMs that receive its replies too, with their own tokens.
    multicasts: BTreeMap<(u16, u32), Vec<(u16, u32)>>,
    /// Absent if the GPU has none.
    pub gpc_caches: Option<GpcCaches>,
    /// Their replies since the last exchange, by cluster.
    of_gpcs: Box<[Ring<Arrival>]>,
}

impl Replies {
    pub fn new(config: &GpuConfig, topology: &Topology) -> Self {
        let (clusters, slices) = (topology.clusters(), topology.slices());
        Self {
            done: 0,
            next: NEVER,
            crossbar: Crossbar::new(&config.interconnect, slices, clusters),
            arrived: vec![Ring::new(); clusters].into(),
            multicasts: BTreeMap::new(),
            gpc_caches: GpcCaches::new(config),
            of_gpcs: vec![Ring::new(); clusters].into(),
        }
    }

    /// Replies to reads of `sm` with `token` go to `others` too; if `others` is empty, only to `sm`.
    pub fn set_multicast(&mut self, sm: u16, token: u32, others: Vec<(u16, u32)>) {
        if others.is_empty() {
            self.multicasts.remove(&(sm, token));
        } else {
            self.multicasts.insert((sm, token), others);
        }
    }

    /// Replies that have passed the crossbar go to the gate of `cluster`. The crossbar learns how much waits there.
    pub fn hand_over(&mut self, cluster: usize, gate: &mut Gate) {
        self.arrived[cluster].append_to(&mut gate.arrivals);
        self.of_gpcs[cluster].append_to(&mut gate.of_gpc);
        self.crossbar.set_queued(cluster, gate.arrivals.len());
    }

    /// Whether anything has passed the crossbar for `cluster` since the last exchange.
    pub fn has_arrived(&self, cluster: usize) -> bool {
        !self.arrived[cluster].is_empty() || !self.of_gpcs[cluster].is_empty()
    }

    /// Takes from `ports`, of the SMs of `cluster`, the requests that the caches of GPCs serve.
    pub fn take_fetches(&mut self, cluster: usize, ports: &mut [Port], topology: &Topology) {
        let Some(caches) = &mut self.gpc_caches else { return };
        for (sm, port) in (cluster * topology.sms_per_cluster..).zip(ports) {
            let arrived = |arrival| self.of_gpcs[cluster].push_back(arrival);
            caches.take(sm as u16, &mut port.outbox, self.done, arrived);
        }
    }

    /// The next core cycle in which anything can happen: exact or early, never late.
    pub fn next_event(&self) -> Cycle {
        if self.next == NEVER { NEVER } else { self.next.max(self.done) }
    }

    /// Looks at the replies that partition number `number` has handed over.
    #[inline]
    pub fn look_at(&mut self, number: usize, partition: &mut Partition, topology: &Topology) {
        for place in set_bits(std::mem::take(&mut partition.handed_over)) {
            let slice = number * topology.slices_per_partition + place;
            if !self.crossbar.has_head(slice)
                && let Some((output, from)) = next_head(&partition.slices[place], topology)
            {
                self.crossbar.announce(slice, output, from);
            }
        }
    }

    /// Does the core cycles before `end`, which all partitions have done.
    pub fn run<P: DerefMut<Target = Partition>>(&mut self, end: Cycle, partitions: &mut [P], topology: &Topology) {
        for (number, partition) in partitions.iter_mut().enumerate() {
            self.look_at(number, partition, topology);
        }
        self.next = self.due(topology);
        while let Some(t) = due_before(self.next, self.done, end) {
            for &edge in topology.times.edges(t) {
                if let Some(cycle) = edge.interconnect {
                    self.pass(t, cycle, partitions, topology);
                }
            }
            self.end_cycle(t, topology);
        }
        self.done = self.done.max(end);
    }

    /// Crossbar cycle `cycle`, of core cycle `t`.
    pub fn pass<P: DerefMut<Target = Partition>>(
        &mut self,
        t: Cycle,
        cycle: u64,
        partitions: &mut [P],
        topology: &Topology,
    ) {
        let Self { crossbar, arrived, multicasts, gpc_caches, of_gpcs, .. } = self;
        let mut inputs = Inputs { now: t, topology, partitions, arrived, multicasts, gpc_caches, of_gpcs };
        crossbar.transfer(cycle, cycle, &mut inputs);
    }

    /// Core cycle `t` is done.
    pub fn end_cycle(&mut self, t: Cycle, topology: &Topology) {
        self.done = t + 1;
        self.next = self.due(topology);
    }

    fn due(&self, topology: &Topology) -> Cycle {
        if topology.exhaustive || self.crossbar.has_offers() {
            return self.done;
        }
        match self.crossbar.next_head() {
            NEVER => NEVER,
            due => topology.clocks.interconnect.first_source_at(due),
        }
    }

    /// Whether no reply waits for the exchange.
    pub fn is_idle(&self) -> bool {
        self.arrived.iter().chain(&self.of_gpcs).all(Ring::is_empty)
            && self.gpc_caches.as_ref().is_none_or(GpcCaches::is_idle)
    }

    /// Visits everything in every cycle from now on.
    #[cfg(test)]
    pub fn visit_everything(&mut self) {
        self.next = 0;
    }
}

/// The cluster of a slice's next reply, and the first crossbar cycle in which it may pass.
#[inline]
fn next_head(slice: &Slice, topology: &Topology) -> Option<(usize, u64)> {
    let &Reply { from, sm, .. } = slice.next_answer()?;
    Some((topology.cluster_of[usize::from(sm)].into(), from))
}

/// The slices' replies as the crossbar's inputs; its outputs are the clusters' gates.
struct Inputs<'a, P> {
    now: Cycle,
    topology: &'a Topology,
    partitions: &'a mut [P],
    arrived: &'a mut [Ring<Arrival>],
    multicasts: &'a BTreeMap<(u16, u32), Vec<(u16, u32)>>,
    gpc_caches: &'a mut Option<GpcCaches>,
    of_gpcs: &'a mut [Ring<Arrival>],
}

impl<P: DerefMut<Target = Partition>> Source for Inputs<'_, P> {
    #[inline(always)]
    fn take(&mut self, input: usize, output: usize) -> Taken {
        let (partition, place) = self.topology.place_of[input];
        let partition = &mut *self.partitions[usize::from(partition)];
        let Partition { slices, packets, .. } = partition;
        let slice = &mut slices[usize::from(place)];
        let reply = slice.pop_answer().expect("its head was offered");
        let mut data_bytes = 0;
        // Of a packet that was served by sectors, the last one brings the reply.
        finish_part(packets, reply.part, |packet| {
            if !packet.request.kind.is_write() {
                data_bytes = slice.bytes_of_part(&packet.request);
            }
            let from = self.now + 1;
            if let Some(caches) = self.gpc_caches {
                let (of_gpcs, cluster_of) = (&mut *self.of_gpcs, &self.topology.cluster_of);
                let arrived = |arrival: Arrival| {
                    of_gpcs[usize::from(cluster_of[usize::from(arrival.packet.sm)])].push_back(arrival);
                };
                if caches.receive(packet, from, arrived) {
                    return;
                }
            }
            self.arrived[output].push_back(Arrival { from, packet: *packet });
            if !self.multicasts.is_empty() && packet.request.kind == RequestKind::Read {
                let of = self.multicasts.get(&(packet.sm, packet.request.token));
                // The crossbar makes the copies: only one leaves the slice.
                for &(sm, token) in of.into_iter().flatten() {
                    let packet = Packet { sm, request: Request { token, ..packet.request }, ..*packet };
                    let output = usize::from(self.topology.cluster_of[usize::from(sm)]);
                    self.arrived[output].push_back(Arrival { from, packet });
                }
            }
        });
        let next = next_head(slice, self.topology);
        Taken { data_bytes, next }
    }
}

kit::persist! {
    struct Replies { done, next, crossbar, arrived, of_gpcs, gpc_caches: part; skip multicasts }
}
