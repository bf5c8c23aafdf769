//! Everything beyond the SMs' ports: crossbar, L2 slices, DRAM channels, and the order in which
//! their clocks tick.
//!
//! One core cycle does what GPGPU-Sim's main loop does, in its order: slices hand replies to the
//! crossbar; DRAM; slices take packets and look up; the crossbar moves packets. Only parts that have
//! something to do are touched, and cycles in which none has are skipped. Replies leave the crossbar
//! for the SMs at the SMs' [`Gate`]s.
//!
//! **Two sides.** What takes requests from the SMs to the slices' latency paths (the *request side*) and
//! what is after these paths (the *reply side*: look-up, DRAM, the crossbar back) meet only through the
//! paths, and through the room that slices have for packets, which is recorded. A side may therefore be
//! ahead of the other by less than the latency of the paths ([`MemorySystem::window`]): machines simulate
//! the reply side of a window before the SMs and the request side after them. Textures skip the paths: with
//! them both sides are at the same cycle ([`MemorySystem::run_both`]).
//!
//! The SMs of a cluster share one crossbar port each way. Requests enter it in the order of their
//! cycles; of one cycle, first those of the SM whose turn it is, which moves by one SM per cycle.
//! Deviation: an SM that takes no replies does not hold up those for others of its cluster.

use crate::cache::CacheCounters;
use crate::clock::Clocks;
use crate::crossbar::{Crossbar, CrossbarCounters, Source, Taken};
use crate::dram::{AddressMap, Channel, DramCounters};
use crate::gate::{Arrival, Gate, Reply};
use crate::packet::{Packet, Packets};
use crate::partition::{PartitionCounters, Side, Slice, finish_part};
use crate::{Port, Request, RequestKind};
use config::GpuConfig;
use kit::bits::set_bits;
use kit::{BitSet, Counters, Cycle, NEVER, Ring};
use std::cmp::Ordering;

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

kit::counters! {
    /// Counters of the whole memory system.
    pub struct MemoryCounters {
        /// What the SMs received.
        pub answers: AnswerCounters,
        /// The crossbar from SMs to slices.
        pub requests: CrossbarCounters,
        /// The crossbar from slices to SMs.
        pub replies: CrossbarCounters,
        /// Around the slices, all together.
        pub partitions: PartitionCounters,
        /// L2, all slices together.
        pub l2: CacheCounters,
        /// DRAM, all channels together.
        pub dram: DramCounters,
    }
}

/// The memory system: everything beyond the SMs' ports. It keeps time in core cycles.
#[derive(Clone, Debug)]
pub struct MemorySystem {
    /// The first core cycle that each side has not done, and the next one in which anything can happen there.
    requests_done: Cycle,
    requests_next: Cycle,
    replies_done: Cycle,
    replies_next: Cycle,
    clocks: Clocks,
    map: AddressMap,
    packets: Packets,
    /// SMs of each crossbar port.
    sms_per_cluster: usize,
    /// The crossbar port of each SM.
    cluster_of: Box<[u16]>,
    /// The requests of each SM that the crossbar has not taken.
    inputs: Box<[Ring<(Cycle, Request)>]>,
    /// Clusters whose next request the crossbar has not been offered yet, and the first core cycle
    /// in which one of those can be.
    unseen: BitSet,
    unseen_due: Cycle,
    requests: Crossbar,
    slices: Box<[Slice]>,
    slices_per_channel: usize,
    channels: Box<[Channel]>,
    replies: Crossbar,
    /// Parts of replies that have passed the crossbar since the last exchange, by cluster.
    arrived: Box<[Ring<Arrival>]>,
    input_packets: usize,
    /// Slices that have something to do in their next cycle.
    active: BitSet,
    /// Slices with replies for the crossbar.
    answering: BitSet,
    /// When packets leave the slices' latency paths: (L2 cycle, slice), in order.
    rop_timers: Ring<(u64, u16)>,
    rop_latency: u64,
    /// When packets from the other half of the chip come to slices: (L2 cycle, slice), in order.
    far_timers: Ring<(u64, u16)>,
    /// What they take longer.
    far_latency: u64,
    l2_bytes: u64,
    /// Sectors that follow each other in one line of one slice.
    sectors_together: u64,
    /// Core cycle in which each channel is due, and the earliest of them.
    channel_due: Box<[Cycle]>,
    channels_due: Cycle,
    /// Visits everything in every cycle: the yardstick for the tests.
    exhaustive: bool,
}

impl MemorySystem {
    /// The memory system of a GPU. The description should have been checked
    /// ([`GpuConfig::check`]); sizes of zero count as one.
    pub fn new(config: &GpuConfig) -> Self {
        let map = AddressMap::new(config);
        let (sms, slices) = (config.sm_count.max(1) as usize, map.slices() as usize);
        let sms_per_cluster = config.sms_per_cluster.max(1) as usize;
        let clusters = sms.div_ceil(sms_per_cluster);
        let slices_per_channel = config.l2.slices_per_partition.max(1) as usize;
        let channels = slices / slices_per_channel;
        let clocks = Clocks::new(&config.clocks);
        let sectors_per_line = u64::from(config.l2.cache.line_bytes / 32).max(1);
        Self {
            requests_done: 0,
            requests_next: NEVER,
            replies_done: 0,
            replies_next: NEVER,
            clocks,
            packets: Packets::default(),
            sms_per_cluster,
            cluster_of: (0..sms).map(|sm| (sm / sms_per_cluster) as u16).collect(),
            inputs: vec![Ring::new(); sms].into(),
            unseen: BitSet::new(clusters),
            unseen_due: NEVER,
            requests: Crossbar::new(&config.interconnect, clusters, slices),
            slices: (0..slices).map(|_| Slice::new(&config.l2)).collect(),
            slices_per_channel,
            channels: (0..channels).map(|_| Channel::new(&config.dram, slices_per_channel, clocks.dram)).collect(),
            replies: Crossbar::new(&config.interconnect, slices, clusters),
            arrived: vec![Ring::new(); clusters].into(),
            input_packets: config.interconnect.input_buffer_packets.max(1) as usize,
            active: BitSet::new(slices),
            answering: BitSet::new(slices),
            rop_timers: Ring::new(),
            rop_latency: u64::from(config.l2.latency_cycles),
            far_timers: Ring::new(),
            far_latency: config.l2.far_latency_cycles.unwrap_or(0).into(),
            sectors_together: if map.keeps_together(config.l2.cache.line_bytes) { sectors_per_line } else { 1 },
            l2_bytes: config.l2.cache.capacity_bytes() * slices as u64,
            channel_due: vec![NEVER; channels].into(),
            channels_due: NEVER,
            exhaustive: false,
            map,
        }
    }

    /// Core cycles by which the sides may be apart from each other, for windows of this length: a third of the
    /// slices' latency path, or 1 if that is too short for windows. Queues between SMs and slices bound it too:
    /// an SM knows at a window's end what has left them in the window before.
    pub fn window(&self) -> Cycle {
        let path = self.clocks.l2.first_source_at(self.rop_latency).saturating_sub(1);
        let queues = self.input_packets.min(self.replies.output_limit()) as Cycle;
        (path / 3).min(queues / 4).max(1)
    }

    /// Whether the reply side has done the core cycles before `end`.
    pub fn has_done_replies(&self, end: Cycle) -> bool {
        self.replies_done >= end
    }

    /// At a boundary: the requests that the SMs of `cluster` have made go to the crossbar's inputs, and parts of replies
    /// that have passed the crossbar to the cluster's gate. Each learns how many packets wait on the other side.
    pub fn exchange(&mut self, cluster: usize, gate: &mut Gate, ports: &mut [Port]) {
        let first = cluster * self.sms_per_cluster;
        let mut oldest = NEVER;
        for (port, input) in ports.iter_mut().zip(&mut self.inputs[first..]) {
            port.drain.note(self.requests_done, port.waiting.saturating_sub(input.len()));
            if let Some(&(stamp, _)) = port.outbox.front() {
                oldest = oldest.min(stamp);
                port.outbox.append_to(input);
            }
            port.waiting = input.len();
        }
        if oldest != NEVER && !self.requests.has_head(cluster) {
            self.unseen.insert(cluster);
            self.unseen_due = self.unseen_due.min(oldest + 1);
            self.requests_next = self.requests_next.min(oldest + 1);
        }
        self.arrived[cluster].append_to(&mut gate.arrivals);
        self.replies.set_beyond(cluster, gate.arrivals.len());
    }

    /// Does the core cycles before `end` of the request side.
    pub fn run_requests(&mut self, end: Cycle) {
        while let Some(t) = due_before(self.requests_next, self.requests_done, end) {
            self.step::<true, false>(t);
        }
        self.requests_done = self.requests_done.max(end);
    }

    /// Does the core cycles before `end` of the reply side.
    pub fn run_replies(&mut self, end: Cycle) {
        while let Some(t) = due_before(self.replies_next, self.replies_done, end) {
            self.step::<false, true>(t);
        }
        self.replies_done = self.replies_done.max(end);
    }

    /// Does the core cycles before `end` of both sides together.
    pub fn run_both(&mut self, end: Cycle) {
        // The reply side may be ahead from former windows.
        self.run_requests(self.replies_done.min(end));
        self.run_replies(self.requests_done.min(end));
        while let Some(t) = due_before(self.requests_next.min(self.replies_next), self.requests_done, end) {
            self.step::<true, true>(t);
        }
        self.requests_done = self.requests_done.max(end);
        self.replies_done = self.replies_done.max(end);
    }

    /// The next core cycle that some side has to do: exact or early, never late; [`NEVER`] if nothing is under way
    /// here. Requests at ports and replies at gates are left aside.
    pub fn next_event(&self) -> Cycle {
        let due = |next: Cycle, done: Cycle| if next == NEVER { NEVER } else { next.max(done) };
        due(self.requests_next, self.requests_done).min(due(self.replies_next, self.replies_done))
    }

    /// One core cycle of the request side, of the reply side or of both: everything whose clock has an edge after the
    /// last core cycle and not after `t`, in order of time.
    fn step<const REQUESTS: bool, const REPLIES: bool>(&mut self, t: Cycle) {
        let clocks = self.clocks;
        // Edge 0 of every clock belongs to core cycle 0.
        let first = |ratio: crate::clock::Ratio| if t == 0 { 0 } else { ratio.floor(t - 1) + 1 };
        let (mut icnt, icnt_last) = (first(clocks.interconnect), clocks.interconnect.floor(t));
        let (mut l2, l2_last) = (first(clocks.l2), clocks.l2.floor(t));
        while icnt <= icnt_last || l2 <= l2_last {
            let order = match (icnt <= icnt_last, l2 <= l2_last) {
                (true, false) => Ordering::Less,
                (false, _) => Ordering::Greater,
                (true, true) => clocks.interconnect_to_l2.compare(icnt, l2),
            };
            let (do_icnt, do_l2) = (order.is_le(), order.is_ge());
            if REPLIES && do_icnt {
                self.collect_answers();
            }
            if REPLIES && self.dram_is_due(t) {
                let l2_edge = || clocks.l2_to_dram.floor(l2);
                self.run_dram(t, if do_l2 { l2_edge() } else { clocks.interconnect_to_dram.floor(icnt) });
            }
            if do_l2 {
                self.run_l2::<REQUESTS, REPLIES>(l2);
                l2 += 1;
            }
            if do_icnt {
                if REQUESTS {
                    self.pass_requests(t, icnt);
                }
                if REPLIES {
                    self.pass_replies(t, icnt);
                }
                icnt += 1;
            }
        }
        if REPLIES && self.dram_is_due(t) {
            self.run_dram(t, clocks.dram.floor(t));
        }
        if REQUESTS {
            self.requests_done = t + 1;
        }
        if REPLIES {
            self.replies_done = t + 1;
        }
        // Requests that come to the slices' paths make work for the reply side, wherever that is.
        self.requests_next = self.requests_due();
        self.replies_next = self.replies_due();
    }

    /// Whether some channel has a command cycle to do in core cycle `t`.
    fn dram_is_due(&self, t: Cycle) -> bool {
        self.channels_due <= t || self.exhaustive
    }

    /// Each slice hands one reply to its crossbar input.
    fn collect_answers(&mut self) {
        for word in 0..self.answering.words() {
            set_bits(self.answering.word(word)).for_each(|bit| self.collect_from(64 * word + bit));
        }
    }

    fn collect_from(&mut self, s: usize) {
        let slice = &mut self.slices[s];
        let full = slice.is_full_towards(Side::Crossbar);
        if !slice.hand_over_answer(self.input_packets) {
            return;
        }
        if full {
            self.active.insert(s);
        }
        if !slice.has_answers() {
            self.answering.remove(s);
        }
        if !self.replies.has_head(s)
            && let Some(part) = slice.next_answer()
        {
            self.replies.offer(s, self.cluster_of[usize::from(self.packets[part.packet()].sm)].into());
        }
    }

    /// Channels do their command cycles up to and including `upto`.
    fn run_dram(&mut self, t: Cycle, upto: u64) {
        let (per, exhaustive) = (self.slices_per_channel, self.exhaustive);
        let mut earliest = NEVER;
        for (c, due) in self.channel_due.iter_mut().enumerate() {
            if *due <= t || exhaustive {
                let channel = &mut self.channels[c];
                let slices = &mut self.slices[c * per..(c + 1) * per];
                while channel.next_tick() <= upto {
                    let tick = channel.next_tick();
                    let woken = channel.tick(tick, &self.map, slices);
                    if exhaustive {
                        channel.wake(tick + 1);
                    }
                    set_bits(woken).for_each(|s| _ = self.active.insert(c * per + s));
                }
                *due = self.clocks.core_cycle_of_dram(channel.next_tick());
            }
            earliest = earliest.min(*due);
        }
        self.channels_due = earliest;
    }

    /// L2 cycle `cycle`: slices take packets from the crossbar and do their work.
    fn run_l2<const REQUESTS: bool, const REPLIES: bool>(&mut self, cycle: u64) {
        if REQUESTS {
            self.arrive_from_far(cycle);
        }
        if REPLIES {
            while let Some(&(due, slice)) = self.rop_timers.front() {
                if due > cycle {
                    break;
                }
                self.rop_timers.pop_front();
                self.active.insert(usize::from(slice));
            }
        }
        for word in 0..self.active.words() {
            let mut busy = 0;
            if REQUESTS {
                busy |= self.requests.occupied().word(word);
            }
            if REPLIES {
                busy |= self.active.word(word);
                if self.exhaustive {
                    busy = u64::MAX >> (64 - (self.slices.len() - 64 * word).min(64));
                }
            }
            set_bits(busy).for_each(|bit| self.run_slice::<REQUESTS, REPLIES>(64 * word + bit, cycle));
        }
    }

    /// Packets from the other half of the chip come to the slices' latency paths.
    fn arrive_from_far(&mut self, cycle: u64) {
        while let Some(&(due, slice)) = self.far_timers.front() {
            if due > cycle {
                break;
            }
            self.far_timers.pop_front();
            let slice_number = usize::from(slice);
            self.slices[slice_number].arrive_from_far(due);
            self.rop_timers.push_back((due + self.rop_latency, slice));
            self.active.insert(slice_number);
        }
    }

    fn run_slice<const REQUESTS: bool, const REPLIES: bool>(&mut self, s: usize, cycle: u64) {
        // A packet that waits outside, or has only entered the latency path, makes no work yet.
        let mut works = self.active.contains(s) || self.exhaustive;
        if REQUESTS && self.requests.occupied().contains(s) {
            let slice = &mut self.slices[s];
            let room = if REPLIES { slice.has_room_for_packet() } else { slice.had_room_for_packet(cycle) };
            if room {
                works |= self.receive(s, cycle);
            } else {
                slice.count_input_blocked();
            }
        }
        if !works || !REPLIES {
            return;
        }
        let slice = &mut self.slices[s];
        let effects = slice.tick(cycle, &self.map, &mut self.packets);
        if !REQUESTS {
            slice.record_room(cycle + 1);
        }
        if slice.is_active(cycle + 1) {
            self.active.insert(s);
        } else {
            self.active.remove(s);
        }
        if slice.has_answers() {
            self.answering.insert(s);
        }
        if effects.dram {
            let c = s / self.slices_per_channel;
            // DRAM has had all its edges up to this instant.
            self.channels[c].wake(self.clocks.l2_to_dram.floor(cycle) + 1);
            let due = self.clocks.core_cycle_of_dram(self.channels[c].next_tick());
            self.channel_due[c] = due;
            self.channels_due = self.channels_due.min(due);
        }
    }

    /// Slice `s` takes a packet from the crossbar. Returns whether it can be looked up at once.
    #[inline]
    fn receive(&mut self, s: usize, cycle: u64) -> bool {
        let slices = self.slices.len();
        let Some(id) = self.requests.pop(s) else { return false };
        let (slice, packet) = (&mut self.slices[s], &mut self.packets[id]);
        let is_far =
            self.far_latency > 0 && is_upper_half(packet.sm.into(), self.cluster_of.len()) != is_upper_half(s, slices);
        let far = if is_far { self.far_latency } else { 0 };
        let direct = slice.receive(cycle, id, packet, far);
        if is_far {
            self.far_timers.push_back((cycle + far, s as u16));
        } else {
            self.rop_timers.push_back((cycle + self.rop_latency, s as u16));
        }
        direct && slice.is_active(cycle)
    }

    /// Crossbar cycle `cycle` of the requests.
    fn pass_requests(&mut self, t: Cycle, cycle: u64) {
        if self.unseen_due <= t {
            self.offer_unseen(t);
        }
        let Self { map, packets, inputs, unseen, unseen_due, sms_per_cluster, .. } = self;
        let sms_per_cluster = *sms_per_cluster;
        let mut source = Inputs { now: t, inputs, sms_per_cluster, map, packets, unseen, unseen_due };
        self.requests.transfer(cycle, &mut source);
    }

    /// Crossbar cycle `cycle` of the replies.
    fn pass_replies(&mut self, t: Cycle, cycle: u64) {
        if !self.replies.has_offers() {
            return;
        }
        let Self { slices, packets, cluster_of, arrived, .. } = self;
        let mut source = ReplyInputs { now: t, slices, packets, cluster_of, arrived };
        self.replies.transfer(cycle, &mut source);
    }

    /// Offers the crossbar the requests of cycles before `t`.
    fn offer_unseen(&mut self, t: Cycle) {
        self.unseen_due = NEVER;
        let mut from = 0;
        while let Some(cluster) = self.unseen.next(from) {
            from = cluster + 1;
            match oldest_request(cluster_inputs(&self.inputs, cluster, self.sms_per_cluster)) {
                Some((_, stamp, address)) if stamp < t => {
                    self.requests.offer(cluster, self.map.slice_of(address) as usize);
                    self.unseen.remove(cluster);
                }
                Some((_, stamp, _)) => self.unseen_due = self.unseen_due.min(stamp + 1),
                None => _ = self.unseen.remove(cluster),
            }
        }
    }

    /// The first cycle that the request side has not done and in which anything can happen there.
    fn requests_due(&self) -> Cycle {
        let soon = self.exhaustive || self.requests.has_offers() || !self.requests.occupied().is_empty();
        if soon {
            return self.requests_done;
        }
        let far = self.far_timers.front().map_or(NEVER, |&(due, _)| self.clocks.l2.first_source_at(due));
        far.min(self.unseen_due).max(self.requests_done)
    }

    /// The same of the reply side.
    fn replies_due(&self) -> Cycle {
        let soon =
            self.exhaustive || self.replies.has_offers() || !self.answering.is_empty() || !self.active.is_empty();
        if soon {
            return self.replies_done;
        }
        let timer = self.rop_timers.front().map_or(NEVER, |&(due, _)| self.clocks.l2.first_source_at(due));
        timer.min(self.channels_due).max(self.replies_done)
    }

    /// Whether nothing is under way, not even a write-back.
    pub fn is_idle(&self) -> bool {
        self.packets.is_empty()
            && self.inputs.iter().all(Ring::is_empty)
            && self.arrived.iter().all(Ring::is_empty)
            && self.channels.iter().all(|c| c.in_flight() == 0)
            && self.slices.iter().all(|s| s.cache().is_idle() && s.next_to_dram().is_none())
    }

    /// Requests taken from the SMs and not replied to yet.
    pub fn requests_in_flight(&self) -> usize {
        self.packets.len()
    }

    /// Drops dirty lines of the L2 without sending them to DRAM, as GPGPU-Sim does at the end of
    /// a kernel.
    pub fn flush_l2(&mut self) {
        self.slices.iter_mut().for_each(|s| s.cache_mut().flush());
    }

    /// Leaves `bytes` from `address` on in the L2, as a copy to the device does: whole sectors, in
    /// order, the last ones staying if there are more than fit.
    pub fn copy_to_device(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        // Of a copy many times as large as the L2, the beginning leaves no trace.
        let address = address.max(end.saturating_sub(8 * self.l2_bytes));
        let (mut sector, end) = (address / 32, end.div_ceil(32));
        while sector < end {
            let upto = (sector - sector % self.sectors_together + self.sectors_together).min(end);
            let (address, bytes) = (32 * sector, 32 * (upto - sector) as u32);
            let slice = self.map.slice_of(address) as usize;
            self.slices[slice].cache_mut().preload(address, bytes, self.map.within_slice(address));
            sector = upto;
        }
    }

    /// How addresses are spread over slices, banks and rows.
    pub fn address_map(&self) -> &AddressMap {
        &self.map
    }

    /// Command cycles of the DRAM clock until core cycle `cycle`: the denominator of its
    /// utilisation, per channel.
    pub fn dram_cycles(&self, cycle: Cycle) -> u64 {
        self.clocks.dram.floor(cycle)
    }

    /// Packets that the crossbar has moved, in both directions: each request moves a few.
    pub fn packets_moved(&self) -> u64 {
        self.requests.counters().packets + self.replies.counters().packets
    }

    /// What has happened so far, but for the replies at the SMs' gates ([`Gate::answers`]).
    pub fn counters(&self) -> MemoryCounters {
        let mut all = MemoryCounters {
            requests: self.requests.counters().clone(),
            replies: self.replies.counters().clone(),
            ..MemoryCounters::default()
        };
        for slice in &self.slices {
            all.l2.add(slice.cache_counters());
            all.partitions.add(slice.counters());
        }
        for channel in &self.channels {
            all.dram.add(channel.counters());
        }
        all
    }

    /// Visits every part in every cycle from now on.
    #[cfg(test)]
    pub(crate) fn visit_everything(&mut self) {
        self.exhaustive = true;
        (self.requests_next, self.replies_next) = (0, 0);
        self.channels.iter_mut().for_each(|c| c.wake(0));
    }
}

/// Whether number `at` of `count` SMs or slices is in the upper half of the chip.
#[inline]
const fn is_upper_half(at: usize, count: usize) -> bool {
    2 * at >= count
}

/// The first of the cycles from `done` on and before `end` that has something to do.
#[inline]
fn due_before(next: Cycle, done: Cycle, end: Cycle) -> Option<Cycle> {
    Some(next.max(done)).filter(|&due| due < end)
}

/// The inputs of a cluster's SMs.
#[inline]
fn cluster_inputs(
    inputs: &[Ring<(Cycle, Request)>],
    cluster: usize,
    sms_per_cluster: usize,
) -> &[Ring<(Cycle, Request)>] {
    let first = cluster * sms_per_cluster;
    inputs.get(first..first + sms_per_cluster).unwrap_or_default()
}

/// The request of a cluster's SMs that entered the crossbar's input first: place of the SM in its
/// cluster, cycle, address.
#[inline]
fn oldest_request(cluster: &[Ring<(Cycle, Request)>]) -> Option<(usize, Cycle, u64)> {
    let head = |(sm, input): (usize, &Ring<(Cycle, Request)>)| input.front().map(|&(stamp, r)| (sm, stamp, r.address));
    if let [input] = cluster {
        return head((0, input));
    }
    let sms = cluster.len();
    let turn = |sm: usize, stamp: Cycle| (sm + sms - (stamp % sms as u64) as usize) % sms;
    cluster.iter().enumerate().filter_map(head).min_by_key(|&(sm, stamp, _)| (stamp, turn(sm, stamp)))
}

/// The SMs' requests as the request crossbar's inputs.
struct Inputs<'a> {
    now: Cycle,
    inputs: &'a mut [Ring<(Cycle, Request)>],
    sms_per_cluster: usize,
    map: &'a AddressMap,
    packets: &'a mut Packets,
    unseen: &'a mut BitSet,
    unseen_due: &'a mut Cycle,
}

impl Source for Inputs<'_> {
    #[inline]
    fn take(&mut self, input: usize, _output: usize) -> Taken {
        let oldest = |inputs: &[_]| oldest_request(cluster_inputs(inputs, input, self.sms_per_cluster));
        let (place, ..) = oldest(self.inputs).expect("its head was offered");
        let sm = input * self.sms_per_cluster + place;
        let (since, request) = self.inputs[sm].pop_front().expect("it is the oldest");
        let next = match oldest(self.inputs) {
            Some((_, stamp, address)) if stamp < self.now => Some(self.map.slice_of(address) as usize),
            Some((_, stamp, _)) => {
                self.unseen.insert(input);
                *self.unseen_due = (*self.unseen_due).min(stamp + 1);
                None
            }
            None => None,
        };
        let sends_data = request.kind.is_write() || request.kind == RequestKind::Atomic;
        let data_bytes = if sends_data { request.bytes } else { 0 };
        let packet = Packet { request, sm: sm as u16, parts_left: 1, since };
        Taken { packet: Some(self.packets.insert(packet)), data_bytes, next }
    }
}

/// The slices' replies as the reply crossbar's inputs; its outputs are the clusters' gates.
struct ReplyInputs<'a> {
    now: Cycle,
    slices: &'a mut [Slice],
    packets: &'a mut Packets,
    cluster_of: &'a [u16],
    arrived: &'a mut [Ring<Arrival>],
}

impl Source for ReplyInputs<'_> {
    #[inline]
    fn take(&mut self, input: usize, output: usize) -> Taken {
        let slice = &mut self.slices[input];
        let part = slice.pop_answer().expect("its head was offered");
        let next = slice.next_answer().map(|part| self.cluster_of[usize::from(self.packets[part.packet()].sm)].into());
        let request = &self.packets[part.packet()].request;
        let data_bytes = if request.kind.is_write() { 0 } else { slice.bytes_of_part(request) };
        // Of a packet that was served by sectors, the last one brings the reply.
        let last = finish_part(self.packets, part);
        let reply = last.map(|&Packet { request, sm, since, .. }| Reply { request, sm, since });
        self.arrived[output].push_back(Arrival { from: self.now + 1, reply });
        Taken { packet: None, data_bytes, next }
    }
}

kit::persist! {
    struct MemorySystem {
        requests_done, requests_next, replies_done, replies_next, packets, inputs, unseen, unseen_due, requests, slices,
        channels, replies, arrived, active, answering, rop_timers, far_timers, channel_due, channels_due;
        skip clocks, map, sms_per_cluster, cluster_of, slices_per_channel, input_packets, rop_latency, far_latency,
        l2_bytes, sectors_together, exhaustive
    }
}

#[cfg(test)]
mod tests;
