//! The request side: from the SMs' requests through the crossbar to the slices' latency paths.

use crate::clock::due_before;
use crate::coming::Coming;
use crate::crossbar::{Crossbar, Source, Taken};
use crate::packet::{Delivery, Packet};
use crate::partition::{Partition, PartitionCounters};
use crate::topology::Topology;
use crate::{Port, Request, RequestKind};
use config::GpuConfig;
use kit::{BitSet, Cycle, NEVER, Ring};

/// Whether a slice has room for a packet.
#[derive(Clone, Debug)]
struct Room {
    now: bool,
    /// From which L2 cycle on that changes, and to what.
    changes: Ring<(u64, bool)>,
}

impl Room {
    /// Whether there is room in L2 cycle `cycle`, which is not before that of the last call.
    #[inline]
    fn at(&mut self, cycle: u64) -> bool {
        while let Some(&(from, room)) = self.changes.front()
            && from <= cycle
        {
            self.changes.pop_front();
            self.now = room;
        }
        self.now
    }
}

/// The request side of the memory system.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// The first core cycle that it has not done, and the next one in which anything can happen.
    pub done: Cycle,
    next: Cycle,
    /// The requests of each SM that the crossbar has not taken.
    inputs: Box<[Ring<(Cycle, Request)>]>,
    /// Clusters whose next request the crossbar has not been offered yet: the first core cycle in which it can be.
    coming: Coming,
    pub crossbar: Crossbar,
    /// Packets at the crossbar's outputs, by slice, and those that have any.
    outputs: Box<[Ring<Packet>]>,
    occupied: BitSet,
    /// What the slices have said of their room.
    rooms: Box<[Room]>,
    /// Packets on their way from the other half of the chip, in the order of their arrival, with the number of the slice.
    far: Ring<(u64, u16, Packet)>,
    /// Packets for the slices' latency paths, by partition.
    delivered: Box<[Ring<Delivery>]>,
    pub counters: PartitionCounters,
}

impl Requests {
    pub fn new(config: &GpuConfig, topology: &Topology) -> Self {
        let (clusters, slices) = (topology.clusters(), topology.slices());
        Self {
            done: 0,
            next: NEVER,
            inputs: vec![Ring::new(); topology.cluster_of.len()].into(),
            coming: Coming::new(clusters),
            crossbar: Crossbar::new(&config.interconnect, clusters, slices),
            outputs: vec![Ring::new(); slices].into(),
            occupied: BitSet::new(slices),
            rooms: vec![Room { now: true, changes: Ring::new() }; slices].into(),
            far: Ring::new(),
            delivered: vec![Ring::new(); topology.partitions()].into(),
            counters: PartitionCounters::default(),
        }
    }

    /// The requests that the SMs of `cluster` have made go to the crossbar's inputs. Each SM learns how many wait there.
    pub fn take(&mut self, cluster: usize, ports: &mut [Port], topology: &Topology) {
        let first = cluster * topology.sms_per_cluster;
        let mut oldest = NEVER;
        for (port, input) in ports.iter_mut().zip(&mut self.inputs[first..]) {
            port.drain.note(self.done, port.waiting.saturating_sub(input.len()));
            if let Some(&(stamp, _)) = port.outbox.front() {
                oldest = oldest.min(stamp);
                port.outbox.append_to(input);
            }
            port.waiting = input.len();
        }
        if oldest != NEVER && !self.crossbar.has_head(cluster) {
            self.coming.insert(cluster, oldest + 1);
            self.next = self.next.min(oldest + 1);
        }
    }

    /// What has come to the slices' paths goes to partition number `number`.
    #[inline]
    pub fn hand_over(&mut self, number: usize, partition: &mut Partition) {
        if !self.delivered[number].is_empty() {
            self.delivered[number].append_to(&mut partition.deliveries);
        }
    }

    /// Learns from partition number `number` when its slices have room.
    #[inline]
    pub fn look_at(&mut self, number: usize, partition: &mut Partition, topology: &Topology) {
        while let Some((slice, from, room)) = partition.rooms.pop_front() {
            let slice = number * topology.slices_per_partition + usize::from(slice);
            self.rooms[slice].changes.push_back((from, room));
        }
    }

    /// The next core cycle in which anything can happen: exact or early, never late.
    pub fn next_event(&self) -> Cycle {
        if self.next == NEVER { NEVER } else { self.next.max(self.done) }
    }

    /// Does the core cycles before `end`.
    pub fn run(&mut self, end: Cycle, topology: &Topology) {
        while let Some(t) = due_before(self.next, self.done, end) {
            for &edge in topology.times.edges(t) {
                if let Some(l2) = edge.l2 {
                    self.deliver(l2, topology);
                }
                if let Some(cycle) = edge.interconnect {
                    self.pass(t, cycle, topology);
                }
            }
            self.end_cycle(t, topology);
        }
        self.done = self.done.max(end);
    }

    /// L2 cycle `cycle`: packets come to the slices' paths.
    pub fn deliver(&mut self, cycle: u64, topology: &Topology) {
        while let Some(&(at, slice, packet)) = self.far.front().filter(|(at, ..)| *at <= cycle) {
            self.far.pop_front();
            enter_path(&mut self.delivered, at, slice.into(), packet, topology);
        }
        let mut from = 0;
        while let Some(slice) = self.occupied.next(from) {
            from = slice + 1;
            if self.rooms[slice].at(cycle) {
                self.leave_crossbar(cycle, slice, topology);
            } else {
                self.counters.input_blocked += 1;
            }
        }
    }

    #[inline]
    fn leave_crossbar(&mut self, cycle: u64, slice: usize, topology: &Topology) {
        let Self { outputs, occupied, crossbar, far, delivered, counters, .. } = self;
        let queue = &mut outputs[slice];
        let Some(&packet) = queue.front() else { return };
        queue.pop_front();
        crossbar.release(slice);
        if queue.is_empty() {
            occupied.remove(slice);
        }
        counters.parts += u64::from(packet.parts_left);
        match topology.far_latency(packet.sm.into(), slice) {
            0 => enter_path(delivered, cycle, slice, packet, topology),
            later => far.push_back((cycle + later, slice as u16, packet)),
        }
    }

    /// Crossbar cycle `cycle`, of core cycle `t`.
    pub fn pass(&mut self, t: Cycle, cycle: u64, topology: &Topology) {
        let Self { inputs, coming, crossbar, outputs, occupied, .. } = self;
        coming.take_due(t, |cluster| {
            let (_, stamp, address) = oldest_request(cluster_inputs(inputs, cluster, topology.sms_per_cluster))?;
            if stamp >= t {
                return Some(stamp + 1);
            }
            crossbar.offer(cluster, topology.map.slice_of(address) as usize);
            None
        });
        let mut source = Inputs { now: t, topology, inputs, coming, outputs, occupied };
        crossbar.transfer(cycle, &mut source);
    }

    /// Core cycle `t` is done.
    pub fn end_cycle(&mut self, t: Cycle, topology: &Topology) {
        self.done = t + 1;
        self.next = if topology.exhaustive || self.crossbar.has_offers() || !self.occupied.is_empty() {
            self.done
        } else {
            let far = self.far.front().map_or(NEVER, |&(at, ..)| topology.clocks.l2.first_source_at(at));
            far.min(self.coming.first())
        };
    }

    /// Requests that have not come to the slices' paths.
    pub fn in_flight(&self) -> usize {
        let packets = self.outputs.iter().map(Ring::len).sum::<usize>() + self.far.len();
        packets + self.delivered.iter().map(Ring::len).sum::<usize>()
    }

    /// Whether no request is under way on this side.
    pub fn is_idle(&self) -> bool {
        self.in_flight() == 0 && self.inputs.iter().all(Ring::is_empty)
    }

    /// Visits everything in every cycle from now on.
    #[cfg(test)]
    pub fn visit_everything(&mut self) {
        self.next = 0;
    }
}

/// A packet comes to the latency path of a slice in L2 cycle `at`.
#[inline]
fn enter_path(delivered: &mut [Ring<Delivery>], at: u64, slice: usize, packet: Packet, topology: &Topology) {
    let (partition, slice) = topology.place_of[slice];
    delivered[usize::from(partition)].push_back(Delivery { at, slice, packet });
}

/// The inputs of a cluster's SMs.
#[inline]
fn cluster_inputs(
    inputs: &mut [Ring<(Cycle, Request)>],
    cluster: usize,
    sms_per_cluster: usize,
) -> &mut [Ring<(Cycle, Request)>] {
    let inputs = &mut inputs[cluster * sms_per_cluster..];
    let sms = sms_per_cluster.min(inputs.len());
    &mut inputs[..sms]
}

/// The request of a cluster's SMs that entered the crossbar's input first: place of the SM in its
/// cluster, cycle, address.
#[inline]
pub(super) fn oldest_request(cluster: &[Ring<(Cycle, Request)>]) -> Option<(usize, Cycle, u64)> {
    let head = |(sm, input): (usize, &Ring<(Cycle, Request)>)| input.front().map(|&(stamp, r)| (sm, stamp, r.address));
    if let [input] = cluster {
        return head((0, input));
    }
    let sms = cluster.len();
    let turn = |sm: usize, stamp: Cycle| (sm + sms - (stamp % sms as u64) as usize) % sms;
    cluster.iter().enumerate().filter_map(head).min_by_key(|&(sm, stamp, _)| (stamp, turn(sm, stamp)))
}

/// The SMs' requests as the crossbar's inputs.
struct Inputs<'a> {
    now: Cycle,
    topology: &'a Topology,
    inputs: &'a mut [Ring<(Cycle, Request)>],
    coming: &'a mut Coming,
    outputs: &'a mut [Ring<Packet>],
    occupied: &'a mut BitSet,
}

impl Source for Inputs<'_> {
    #[inline]
    fn take(&mut self, input: usize, output: usize) -> Taken {
        let Topology { sms_per_cluster, map, .. } = self.topology;
        let cluster = cluster_inputs(self.inputs, input, *sms_per_cluster);
        let (place, ..) = oldest_request(cluster).expect("its head was offered");
        let sm = input * sms_per_cluster + place;
        let (since, request) = cluster[place].front().expect("it is the oldest");
        let sends_data = request.kind.is_write() || request.kind == RequestKind::Atomic;
        let data_bytes = if sends_data { request.bytes } else { 0 };
        let parts_left = self.topology.parts(request);
        self.outputs[output].push_back(Packet { request: *request, sm: sm as u16, parts_left, since: *since });
        self.occupied.insert(output);
        cluster[place].pop_front();
        let next = match oldest_request(cluster) {
            Some((_, stamp, address)) if stamp < self.now => Some(map.slice_of(address) as usize),
            Some((_, stamp, _)) => {
                self.coming.insert(input, stamp + 1);
                None
            }
            None => None,
        };
        Taken { data_bytes, next }
    }
}

kit::persist! {
    new struct Room { now, changes }
    struct Requests {
        done, next, inputs, coming, crossbar, outputs, occupied, rooms, far, delivered, counters
    }
}
