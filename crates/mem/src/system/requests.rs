//! The request side: from the SMs' requests through the crossbar to the slices' latency paths.

use crate::clock::due_before;
use crate::crossbar::{Crossbar, Source, Taken};
use crate::packet::{Delivery, Packet};
use crate::partition::{Partition, PartitionCounters};
use crate::staged::StagedQueue;
use crate::topology::Topology;
use crate::{Level, Port, Request, RequestKind};
use config::GpuConfig;
use kit::bits::set_bits;
use kit::{BitSet, Cycle, NEVER, Ring};

/// Which slices have room for a packet.
#[derive(Clone, Debug)]
struct Rooms {
    open: BitSet,
    /// Reports of the slices of each partition, in order: the slice's number there, from which L2 cycle on, and
    /// whether it has room.
    changes: Box<[Ring<(u8, u64, bool)>]>,
    /// The L2 cycle of the first of them.
    next: u64,
}

impl Rooms {
    fn new(topology: &Topology) -> Self {
        let mut open = BitSet::new(topology.slices());
        (0..topology.slices()).for_each(|slice| _ = open.insert(slice));
        Self { open, changes: vec![Ring::new(); topology.partitions()].into(), next: NEVER }
    }

    /// Learns what the slices of partition number `number` have said.
    #[inline]
    fn take(&mut self, number: usize, said: &mut Ring<(u8, u64, bool)>) {
        if let Some(&(_, from, _)) = said.front() {
            self.next = self.next.min(from);
            said.append_to(&mut self.changes[number]);
        }
    }

    /// Goes to L2 cycle `cycle`, which is not before the last call's.
    fn advance(&mut self, cycle: u64, topology: &Topology) {
        self.next = NEVER;
        for (number, changes) in self.changes.iter_mut().enumerate() {
            while let Some(&(slice, from, room)) = changes.front() {
                if from > cycle {
                    self.next = self.next.min(from);
                    break;
                }
                changes.pop_front();
                let slice = number * topology.slices_per_partition + usize::from(slice);
                _ = if room { self.open.insert(slice) } else { self.open.remove(slice) };
            }
        }
    }
}

/// A crossbar input: of a cluster's SMs.
#[derive(Clone, Debug)]
struct Input {
    /// The requests of each SM that the crossbar has not taken.
    queues: Box<[Ring<(Cycle, Request)>]>,
    /// The SM of the next request, counted within the cluster, and the slice that the request is for.
    place: u16,
    slice: u16,
    /// The block of addresses that it is in: neighbouring sectors mostly follow each other, and are in one slice.
    block: u64,
}

impl Input {
    fn new(sms: usize) -> Self {
        Self { queues: vec![Ring::new(); sms].into(), place: 0, slice: 0, block: u64::MAX }
    }

    /// Goes to the next request, if there is one: its slice, and the first core cycle in which it may pass the crossbar.
    #[inline(always)]
    fn advance(&mut self, topology: &Topology) -> Option<(usize, Cycle)> {
        let (place, stamp, address) = oldest_request(&self.queues)?;
        self.place = place as u16;
        let block = address >> topology.block_shift;
        if self.block != block {
            (self.block, self.slice) = (block, topology.map.slice_of(address) as u16);
        }
        Some((self.slice.into(), stamp + 1))
    }
}

/// The request side of the memory system.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// The first core cycle that it has not done, and the next one in which anything can happen.
    pub done: Cycle,
    next: Cycle,
    inputs: Box<[Input]>,
    pub crossbar: Crossbar,
    /// For each slice, packets at the crossbar's output, and before them those that have left it for the slice's path.
    outputs: Box<[StagedQueue<Delivery>]>,
    /// Slices with packets at the crossbar's output.
    occupied: BitSet,
    rooms: Rooms,
    /// Packets on their way from the other half of the chip, in the order of their arrival, with the number of the slice.
    far: Ring<(u64, u16, Packet)>,
    pub counters: PartitionCounters,
}

impl Requests {
    pub fn new(config: &GpuConfig, topology: &Topology) -> Self {
        let (clusters, slices) = (topology.clusters(), topology.slices());
        Self {
            done: 0,
            next: NEVER,
            inputs: topology.sms_of_clusters().map(Input::new).collect(),
            crossbar: Crossbar::new(&config.interconnect, clusters, slices),
            outputs: vec![StagedQueue::new(); slices].into(),
            occupied: BitSet::new(slices),
            rooms: Rooms::new(topology),
            far: Ring::new(),
            counters: PartitionCounters::default(),
        }
    }

    /// The requests that the SMs of `cluster` have made go to the crossbar's inputs. Each SM learns how many wait there.
    pub fn take(&mut self, cluster: usize, ports: &mut [Port], topology: &Topology) {
        let input = &mut self.inputs[cluster];
        let mut any = false;
        for (port, queue) in ports.iter_mut().zip(&mut input.queues) {
            port.drain.note(self.done, port.waiting.saturating_sub(queue.len()));
            if !port.outbox.is_empty() {
                any = true;
                port.outbox.append_to(queue);
            }
            port.waiting = queue.len();
        }
        if !any || self.crossbar.has_head(cluster) {
            return;
        }
        if let Some((slice, from)) = input.advance(topology) {
            self.crossbar.announce(cluster, slice, from);
            self.next = self.next.min(from);
        }
    }

    /// Moves the requests that have come to the slices' paths to partition number `number`.
    #[inline]
    pub fn hand_over(&mut self, number: usize, partition: &mut Partition, topology: &Topology) {
        let slices = partition.slices.len();
        let mut any = false;
        for (place, output) in self.outputs[number * slices..].iter_mut().take(slices).enumerate() {
            if output.ready() != 0 {
                partition.receive(place, output, topology);
                any = true;
            }
        }
        if any {
            partition.look_ahead(topology);
        }
    }

    /// Learns from partition number `number` when its slices have room.
    #[inline]
    pub fn look_at(&mut self, number: usize, partition: &mut Partition) {
        self.rooms.take(number, &mut partition.rooms);
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
            self.outputs[usize::from(slice)].push_ready(Delivery { at, packet });
        }
        if self.rooms.next <= cycle {
            self.rooms.advance(cycle, topology);
        }
        for word in 0..self.occupied.words() {
            let (occupied, open) = (self.occupied.word(word), self.rooms.open.word(word));
            self.counters.input_blocked += u64::from((occupied & !open).count_ones());
            set_bits(occupied & open).for_each(|bit| self.leave_crossbar(cycle, 64 * word + bit, topology));
        }
    }

    #[inline]
    fn leave_crossbar(&mut self, cycle: u64, slice: usize, topology: &Topology) {
        let output = &mut self.outputs[slice];
        let Some(&Delivery { packet: Packet { sm, parts_left, .. }, .. }) = output.first_waiting() else { return };
        self.counters.parts += u64::from(parts_left);
        let later = topology.far_latency(sm.into(), slice);
        if later != 0 {
            let mut packet = output.take_waiting().packet;
            packet.request.from = packet.request.from.max(Level::L2Far);
            self.far.push_back((cycle + later, slice as u16, packet));
        } else if let Some(delivery) = output.hand_on() {
            delivery.at = cycle;
        }
        if output.waiting() == 0 {
            self.occupied.remove(slice);
        }
        self.crossbar.release(slice);
    }

    /// Crossbar cycle `cycle`, of core cycle `t`.
    pub fn pass(&mut self, t: Cycle, cycle: u64, topology: &Topology) {
        let Self { inputs, crossbar, outputs, occupied, .. } = self;
        crossbar.transfer(cycle, t, &mut Inputs { topology, inputs, outputs, occupied });
    }

    /// Core cycle `t` is done.
    pub fn end_cycle(&mut self, t: Cycle, topology: &Topology) {
        self.done = t + 1;
        self.next = if topology.exhaustive || self.crossbar.has_offers() || !self.occupied.is_empty() {
            self.done
        } else {
            let far = self.far.front().map_or(NEVER, |&(at, ..)| topology.clocks.l2.first_source_at(at));
            far.min(self.crossbar.next_head())
        };
    }

    /// Requests that have not come to the slices' paths.
    pub fn in_flight(&self) -> usize {
        self.outputs.iter().map(StagedQueue::len).sum::<usize>() + self.far.len()
    }

    /// Whether no request is under way on this side.
    pub fn is_idle(&self) -> bool {
        self.in_flight() == 0 && self.inputs.iter().flat_map(|input| &input.queues).all(Ring::is_empty)
    }

    /// Visits everything in every cycle from now on.
    #[cfg(test)]
    pub fn visit_everything(&mut self) {
        self.next = 0;
    }
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
    topology: &'a Topology,
    inputs: &'a mut [Input],
    outputs: &'a mut [StagedQueue<Delivery>],
    occupied: &'a mut BitSet,
}

impl Source for Inputs<'_> {
    #[inline(always)]
    fn take(&mut self, input: usize, output: usize) -> Taken {
        let sm = (input * self.topology.sms_per_cluster) as u16;
        let input = &mut self.inputs[input];
        let sm = sm + input.place;
        let queue = &mut input.queues[usize::from(input.place)];
        let (since, request) = queue.front().expect("its head was announced");
        let sends_data = request.kind.is_write() || request.kind == RequestKind::Atomic;
        let data_bytes = if sends_data { request.bytes } else { 0 };
        let parts_left = self.topology.parts(request);
        let packet = Packet { request: *request, sm, parts_left, since: *since };
        self.outputs[output].push(Delivery { at: NEVER, packet });
        queue.drop_front(1);
        self.occupied.insert(output);
        let next = input.advance(self.topology);
        Taken { data_bytes, next }
    }
}

kit::persist! {
    struct Input { queues, place, slice, block }
    struct Rooms { open, changes, next }
    struct Requests {
        done, next, inputs, crossbar, outputs, occupied, rooms, far, counters
    }
}
