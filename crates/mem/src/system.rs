//! Everything beyond the SMs' ports: crossbar, L2 slices, DRAM channels, and the order in which
//! their clocks tick.
//!
//! One core cycle does what GPGPU-Sim's main loop does, in its order: slices hand replies to the
//! crossbar; DRAM; slices take packets and look up; the crossbar moves packets. Only parts that have
//! something to do are touched, and cycles in which none has are skipped. Replies leave the crossbar
//! for the SMs at the SMs' [`Gate`]s.
//!
//! **Parts of a window.** The *request side* takes requests from the SMs to the slices' latency paths. The *reply side*
//! is after these paths: the partitions with their look-ups and DRAM, and the crossbar back. They meet only through the
//! paths, and through the room that slices have for packets, which is recorded. A side may therefore be ahead of the
//! other by less than the latency of the paths ([`MemorySystem::window`]). Machines simulate the reply side of a window
//! before the SMs and the request side after them, part by part ([`MemorySystem::begin_window`]): the request side and
//! each partition by itself, on any threads, and then the reply crossbar. Only a full input buffer of the reply
//! crossbar would hold up a partition: where one may become full within the window, partitions and crossbar are
//! simulated together, cycle by cycle, with the same result.
//!
//! The SMs of a cluster share one crossbar port each way. Requests enter it in the order of their
//! cycles; of one cycle, first the requests of the SM whose turn it is, which moves by one SM per cycle.
//! Deviation: an SM that takes no replies does not hold up those for others of its cluster.

mod replies;
mod requests;

use crate::Port;
use crate::cache::CacheCounters;
use crate::clock::due_before;
use crate::crossbar::CrossbarCounters;
use crate::dram::{AddressMap, DramCounters};
use crate::gate::Gate;
use crate::gpc_cache::GpcCaches;
use crate::partition::{Partition, PartitionCounters};
use crate::topology::Topology;
use config::GpuConfig;
use kit::locks::{get, own};
use kit::persist::{Archive, Mismatch, Persist};
use kit::{Counters, Cycle, NEVER};
use replies::Replies;
use requests::Requests;
use std::ops::DerefMut;
use std::sync::Mutex;

kit::counters! {
    /// Replies that the SMs got.
    pub struct AnswerCounters {
        /// Replies with data to reads of all kinds and atomics.
        pub reads: "requests",
        /// Acknowledgements of writes.
        pub writes: "requests",
        /// From request to reply, summed over reads of all kinds and atomics.
        pub read_latency: "core cycles",
    }
}

/// A count of each of several equal parts; none before anything was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByPart(pub Vec<u64>);

impl Counters for ByPart {
    fn add(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a += b);
    }

    fn since(&self, earlier: &Self) -> Self {
        Self(self.0.iter().enumerate().map(|(at, count)| count - earlier.0.get(at).unwrap_or(&0)).collect())
    }
}

impl Persist for ByPart {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.0.persist(archive)
    }
}

kit::counters! {
    /// Counters of the whole memory system.
    pub struct MemoryCounters {
        /// Replies that the SMs received.
        pub answers: AnswerCounters,
        /// The crossbar from SMs to slices.
        pub requests: CrossbarCounters,
        /// The crossbar from slices to SMs.
        pub replies: CrossbarCounters,
        /// The caches of instructions and constants of GPCs, all together.
        pub gpc_caches: CacheCounters,
        /// Around the slices, all together.
        pub partitions: PartitionCounters,
        /// L2, all slices together.
        pub l2: CacheCounters,
        /// Accesses of each L2 slice.
        pub l2_slices: ByPart,
        /// DRAM, all channels together.
        pub dram: DramCounters,
        /// Read and write commands of each DRAM channel.
        pub dram_channels: ByPart,
    }
}

/// The memory system: everything beyond the SMs' ports. It keeps time in core cycles.
#[derive(Debug)]
pub struct MemorySystem {
    topology: Topology,
    requests: Mutex<Requests>,
    partitions: Box<[Mutex<Partition>]>,
    replies: Mutex<Replies>,
    /// The parts of the present window, and how far each side goes in it.
    parts: Vec<Part>,
    requests_upto: Cycle,
    replies_upto: Cycle,
    l2_bytes: u64,
    /// Sectors that follow each other in one line of one slice.
    sectors_together: u64,
}

/// A part that is simulated by itself in a window.
#[derive(Clone, Copy, Debug)]
enum Part {
    Requests,
    Partition(u16),
    /// The whole reply side in step.
    Replies,
}

impl MemorySystem {
    /// The memory system of a GPU. The description should have been checked
    /// ([`GpuConfig::check`]); sizes of zero count as one.
    pub fn new(config: &GpuConfig) -> Self {
        let topology = Topology::new(config);
        let sectors_per_line = u64::from(config.l2.cache.line_bytes / 32).max(1);
        let together = topology.map.keeps_together(config.l2.cache.line_bytes);
        let partition = |_| Mutex::new(Partition::new(config, &topology));
        Self {
            requests: Mutex::new(Requests::new(config, &topology)),
            partitions: (0..topology.partitions()).map(partition).collect(),
            replies: Mutex::new(Replies::new(config, &topology)),
            parts: Vec::new(),
            requests_upto: 0,
            replies_upto: 0,
            sectors_together: if together { sectors_per_line } else { 1 },
            l2_bytes: config.l2.cache.capacity_bytes() * topology.slices() as u64,
            topology,
        }
    }

    /// Core cycles by which the sides may be apart from each other, for windows of this length: a third of the
    /// slices' latency path, or 1 if that is too short for windows. Queues between SMs and slices bound it too:
    /// an SM knows at a window's end what has left them in the window before.
    pub fn window(&mut self) -> Cycle {
        let path = self.topology.clocks.l2.first_source_at(self.topology.rop_latency).saturating_sub(1);
        let queues = self.topology.input_packets.min(get(&mut self.replies).crossbar.output_limit()) as Cycle;
        (path / 3).min(queues / 4).max(1)
    }

    /// Whether the reply side has done the core cycles before `end`.
    pub fn has_done_replies(&mut self, end: Cycle) -> bool {
        get(&mut self.replies).done >= end
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// At a boundary: the requests that the SMs of `cluster` have made go to the crossbar's inputs, and parts of replies
    /// that have passed the crossbar to the cluster's gate. Each learns how many packets wait on the other side.
    pub fn exchange(&mut self, cluster: usize, gate: &mut Gate, ports: &mut [Port]) {
        let replies = get(&mut self.replies);
        replies.take_fetches(cluster, ports, &self.topology);
        get(&mut self.requests).take(cluster, ports, &self.topology);
        replies.hand_over(cluster, gate);
    }

    /// From now on the crossbar delivers replies to reads of `sm` with `token` to `others` too, each with its own
    /// token; if `others` is empty, only to `sm`. One read of the L2 and one packet of its slice serve all.
    pub fn set_multicast(&mut self, sm: u16, token: u32, others: Vec<(u16, u32)>) {
        get(&mut self.replies).set_multicast(sm, token, others);
    }

    /// Whether parts of replies for `cluster` have passed the crossbar since the last exchange.
    pub fn has_replies(&mut self, cluster: usize) -> bool {
        get(&mut self.replies).has_arrived(cluster)
    }

    /// Begins a window, in which the request side does the core cycles before `requests` and the reply side those before
    /// `replies`. Returns the number of its parts, at least one: [`MemorySystem::run_part`] simulates each of them once,
    /// in any order and on any thread, and then [`MemorySystem::end_window`] the rest.
    pub fn begin_window(&mut self, requests: Cycle, replies: Cycle) -> usize {
        self.cover(requests.max(replies));
        let Self { topology, parts, partitions, .. } = self;
        (self.requests_upto, self.replies_upto) = (requests, replies);
        let done = get(&mut self.replies).done;
        let before = |cycle: Cycle| cycle.checked_sub(1).map_or(0, |last| topology.clocks.interconnect.floor(last) + 1);
        let crossbar_cycles = before(replies).saturating_sub(before(done));
        let mut in_step = topology.exhaustive;
        parts.clear();
        parts.push(Part::Requests);
        for (number, partition) in partitions.iter_mut().map(get).enumerate() {
            in_step |= !partition.has_room_towards_crossbar(crossbar_cycles, topology);
            if partition.next_event() < replies {
                parts.push(Part::Partition(number as u16));
            }
        }
        if in_step {
            parts.truncate(1);
            parts.push(Part::Replies);
        }
        parts.len()
    }

    /// Simulates part number `part` of the window.
    pub fn run_part(&self, part: usize) {
        match self.parts[part] {
            Part::Requests => own(&self.requests).run(self.requests_upto, &self.topology),
            Part::Partition(number) => {
                own(&self.partitions[usize::from(number)]).run(self.replies_upto, &self.topology)
            }
            Part::Replies => {
                let mut partitions: Vec<_> = self.partitions.iter().map(own).collect();
                let mut replies = own(&self.replies);
                let mut whole = Whole { requests: None, partitions: &mut partitions, replies: &mut replies };
                whole.run(self.replies_upto, &self.topology);
            }
        }
    }

    /// Ends the window, of which all parts are done.
    pub fn end_window(&self) {
        let mut partitions: Vec<_> = self.partitions.iter().map(own).collect();
        own(&self.replies).run(self.replies_upto, &mut partitions, &self.topology);
        let mut requests = own(&self.requests);
        for (number, partition) in partitions.iter_mut().enumerate() {
            requests.hand_over(number, partition, &self.topology);
            requests.look_at(number, partition);
        }
    }

    /// Does the core cycles before `requests` of the request side and those before `replies` of the reply side.
    pub fn run_window(&mut self, requests: Cycle, replies: Cycle) {
        let parts = self.begin_window(requests, replies);
        (0..parts).for_each(|part| self.run_part(part));
        self.end_window();
    }

    /// Does the core cycles before `end` of both sides together.
    pub fn run_both(&mut self, end: Cycle) {
        // The reply side may be ahead from former windows.
        let (requests, replies) = (get(&mut self.requests).done, get(&mut self.replies).done);
        if requests != replies {
            self.run_window(replies.min(end), requests.min(end));
        }
        self.cover(end);
        let Self { topology, requests, partitions, replies, .. } = self;
        let (requests, replies) = (get(requests), get(replies));
        let mut partitions: Vec<_> = partitions.iter_mut().map(get).collect();
        Whole { requests: Some(requests), partitions: &mut partitions, replies }.run(end, topology);
    }

    /// Computes the edges of the clocks in the cycles before `end` in which anything can happen.
    fn cover(&mut self, end: Cycle) {
        let next = self.next_event();
        self.topology.times.cover(next.min(end)..end);
    }

    /// The next core cycle that some part has to do: exact or early, never late; [`NEVER`] if nothing is under way
    /// here. Requests at ports and replies at gates are left aside.
    pub fn next_event(&mut self) -> Cycle {
        let next = self.partitions.iter_mut().map(|partition| get(partition).next_event()).min().unwrap_or(NEVER);
        next.min(get(&mut self.requests).next_event()).min(get(&mut self.replies).next_event())
    }

    /// Whether nothing is under way, not even a write-back.
    pub fn is_idle(&mut self) -> bool {
        get(&mut self.requests).is_idle()
            && get(&mut self.replies).is_idle()
            && self.partitions.iter_mut().all(|partition| get(partition).is_idle())
    }

    /// Requests taken from the SMs and not replied to yet.
    pub fn requests_in_flight(&mut self) -> usize {
        let in_partitions = self.partitions.iter_mut().map(|partition| get(partition).packets.len());
        in_partitions.sum::<usize>() + get(&mut self.requests).in_flight()
    }

    /// Drops dirty lines of the L2 without sending them to DRAM, as GPGPU-Sim does at the end of
    /// a kernel.
    pub fn flush_l2(&mut self) {
        for partition in &mut self.partitions {
            get(partition).slices.iter_mut().for_each(|slice| slice.cache_mut().flush());
        }
    }

    /// A kernel is launched: the GPCs' caches lose constants, and code unless the description says that it stays.
    pub fn empty_gpc_caches(&mut self) {
        get(&mut self.replies).gpc_caches.iter_mut().for_each(GpcCaches::begin_launch);
    }

    /// The launch of a kernel whose code is `bytes` from `address` on fetches it into the GPCs' caches.
    pub fn prefetch_code(&mut self, address: u64, bytes: u64) {
        get(&mut self.replies).gpc_caches.iter_mut().for_each(|caches| caches.prefetch_code(address, bytes));
    }

    /// A launch writes `bytes` of parameters from `address` on, through L2, and may fetch them into the GPCs' caches.
    pub fn write_parameters(&mut self, address: u64, bytes: u64) {
        self.copy_to_device(address, bytes);
        get(&mut self.replies).gpc_caches.iter_mut().for_each(|caches| caches.prefetch_parameters(address, bytes));
    }

    /// Bytes of the L2.
    pub fn l2_bytes(&self) -> u64 {
        self.l2_bytes
    }

    /// Drops all lines of the L2 that are not under way. It costs no time.
    pub fn empty_l2(&mut self) {
        for partition in &mut self.partitions {
            get(partition).slices.iter_mut().for_each(|slice| slice.cache_mut().invalidate());
        }
    }

    /// Leaves `bytes` from `address` on in the L2, as a copy to the device does: whole sectors, in
    /// order, the last ones staying if there are more than fit.
    pub fn copy_to_device(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        // Of a copy many times as large as the L2, the beginning leaves no trace.
        let address = address.max(end.saturating_sub(8 * self.l2_bytes));
        let Self { topology, partitions, sectors_together, .. } = self;
        let (mut sector, end) = (address / 32, end.div_ceil(32));
        while sector < end {
            let upto = (sector - sector % *sectors_together + *sectors_together).min(end);
            let (address, bytes) = (32 * sector, 32 * (upto - sector) as u32);
            let (partition, place) = topology.place_of[topology.map.slice_of(address) as usize];
            let slice = &mut get(&mut partitions[usize::from(partition)]).slices[usize::from(place)];
            slice.cache_mut().preload(address, bytes);
            sector = upto;
        }
    }

    /// How addresses are spread over slices, banks and rows.
    pub fn address_map(&self) -> &AddressMap {
        &self.topology.map
    }

    /// Command cycles of the DRAM clock until core cycle `cycle`: the denominator of its
    /// utilisation, per channel.
    pub fn dram_cycles(&self, cycle: Cycle) -> u64 {
        self.topology.clocks.dram.floor(cycle)
    }

    /// Packets that the crossbar has moved, in both directions: each request moves a few.
    pub fn packets_moved(&mut self) -> u64 {
        let requests = get(&mut self.requests).crossbar.counters().packets;
        requests + get(&mut self.replies).crossbar.counters().packets
    }

    /// Counts so far, except the replies at the SMs' gates ([`Gate::answers`]).
    pub fn counters(&mut self) -> MemoryCounters {
        let (requests, replies) = (get(&mut self.requests), get(&mut self.replies));
        let mut all = MemoryCounters {
            requests: requests.crossbar.counters().clone(),
            replies: replies.crossbar.counters().clone(),
            gpc_caches: replies.gpc_caches.as_ref().map(GpcCaches::counters).unwrap_or_default(),
            partitions: requests.counters.clone(),
            ..MemoryCounters::default()
        };
        for partition in self.partitions.iter_mut().map(get) {
            for slice in &partition.slices {
                all.l2.add(slice.cache_counters());
                all.l2_slices.0.push(slice.cache_counters().accesses());
                all.partitions.add(slice.counters());
            }
            let dram = partition.channel.counters();
            all.dram.add(dram);
            all.dram_channels.0.push(dram.read_commands + dram.write_commands);
        }
        all
    }

    /// Visits every part in every cycle from now on.
    #[cfg(test)]
    pub(crate) fn visit_everything(&mut self) {
        self.topology.exhaustive = true;
        get(&mut self.requests).visit_everything();
        get(&mut self.replies).visit_everything();
        self.partitions.iter_mut().for_each(|partition| get(partition).visit_everything());
    }
}

/// The reply side, with the request side or without, whose parts are simulated in step.
struct Whole<'a, P> {
    requests: Option<&'a mut Requests>,
    partitions: &'a mut [P],
    replies: &'a mut Replies,
}

impl<P: DerefMut<Target = Partition>> Whole<'_, P> {
    /// Does the core cycles before `end`, as far as they have not been done.
    fn run(&mut self, end: Cycle, topology: &Topology) {
        while let Some(t) = self.next(end) {
            self.cycle(t, topology);
        }
        self.partitions.iter_mut().for_each(|partition| partition.run(end, topology));
        self.replies.run(end, self.partitions, topology);
        if let Some(requests) = &mut self.requests {
            requests.run(end, topology);
        }
    }

    /// The next cycle before `end` in which anything can happen.
    fn next(&self, end: Cycle) -> Option<Cycle> {
        let mut next = self.replies.next_event();
        for partition in &*self.partitions {
            next = next.min(partition.next_event());
        }
        if let Some(requests) = &self.requests {
            next = next.min(requests.next_event());
        }
        due_before(next, self.replies.done, end)
    }

    /// Core cycle `t`: edge by edge, one part after the other.
    fn cycle(&mut self, t: Cycle, topology: &Topology) {
        let Self { requests, partitions, replies } = self;
        for &edge in topology.times.edges(t) {
            for (number, partition) in partitions.iter_mut().enumerate() {
                partition.begin_edge(edge, topology);
                replies.look_at(number, partition, topology);
            }
            if let Some(cycle) = edge.l2 {
                if let Some(requests) = requests {
                    requests.deliver(cycle, topology);
                }
                for (number, partition) in partitions.iter_mut().enumerate() {
                    if let Some(requests) = requests {
                        requests.hand_over(number, partition, topology);
                    }
                    partition.l2_cycle(cycle, edge.dram, topology);
                    if let Some(requests) = requests {
                        requests.look_at(number, partition);
                    }
                }
            }
            if let Some(cycle) = edge.interconnect {
                if let Some(requests) = requests {
                    requests.pass(t, cycle, topology);
                }
                replies.pass(t, cycle, partitions, topology);
            }
        }
        partitions.iter_mut().for_each(|partition| partition.end_cycle(t, topology));
        replies.end_cycle(t, topology);
        if let Some(requests) = requests {
            requests.end_cycle(t, topology);
        }
    }
}

kit::persist! {
    struct MemorySystem {
        requests, partitions, replies;
        skip topology, parts, requests_upto, replies_upto, l2_bytes, sectors_together
    }
}

#[cfg(test)]
mod tests;
