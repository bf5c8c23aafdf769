//! Everything beyond the SMs' ports: crossbar, L2 slices, DRAM channels, and the order in which
//! their clocks tick.
//!
//! One core cycle does what GPGPU-Sim's main loop does, in its order: replies leave the crossbar
//! for the SMs; slices hand replies to the crossbar; DRAM; slices take packets and look up; the
//! crossbar moves packets. Only parts that have something to do are touched, and cycles in which
//! none has are skipped.
//!
//! The SMs of a cluster share one crossbar port each way. Requests enter it in the order of their
//! cycles; of one cycle, first those of the SM whose turn it is, which moves by one SM per cycle.
//! Deviation: an SM that takes no replies does not hold up those for others of its cluster.

use crate::cache::CacheCounters;
use crate::clock::Clocks;
use crate::crossbar::{Crossbar, CrossbarCounters, Source, Taken};
use crate::dram::{AddressMap, Channel, DramCounters};
use crate::outlook::Outlook;
use crate::packet::{Packet, Packets, Part};
use crate::partition::{PartitionCounters, Side, Slice, finish_part};
use crate::{Port, RequestKind};
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
    /// The last core cycle that has been done.
    now: Option<Cycle>,
    /// The next core cycle in which anything can happen, the ports left aside.
    next: Cycle,
    clocks: Clocks,
    map: AddressMap,
    packets: Packets,
    /// SMs of each crossbar port.
    sms_per_cluster: usize,
    /// The crossbar port of each SM.
    cluster_of: Box<[u16]>,
    /// Clusters whose next request the crossbar has not been offered yet, and the first core cycle
    /// in which one of those can be.
    unseen: BitSet,
    unseen_due: Cycle,
    requests: Crossbar,
    slices: Box<[Slice]>,
    slices_per_channel: usize,
    channels: Box<[Channel]>,
    replies: Crossbar,
    input_packets: usize,
    ejection_packets: usize,
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
    answers: AnswerCounters,
    outlook: Outlook,
    /// SMs that got a reply in the last call of `advance`.
    answered: BitSet,
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
            now: None,
            next: NEVER,
            clocks,
            packets: Packets::default(),
            sms_per_cluster,
            cluster_of: (0..sms).map(|sm| (sm / sms_per_cluster) as u16).collect(),
            unseen: BitSet::new(clusters),
            unseen_due: NEVER,
            requests: Crossbar::new(&config.interconnect, clusters, slices),
            slices: (0..slices).map(|_| Slice::new(&config.l2)).collect(),
            slices_per_channel,
            channels: (0..channels).map(|_| Channel::new(&config.dram, slices_per_channel, clocks.dram)).collect(),
            replies: Crossbar::new(&config.interconnect, slices, clusters),
            input_packets: config.interconnect.input_buffer_packets.max(1) as usize,
            ejection_packets: config.interconnect.ejection_buffer_packets.max(1) as usize,
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
            answers: AnswerCounters::default(),
            outlook: Outlook::new(clusters, &clocks, u64::from(config.l2.latency_cycles)),
            answered: BitSet::new(sms),
            exhaustive: false,
            map,
        }
    }

    /// Does all core cycles up to and including `now`, of which each SM's requests stamped before
    /// `now` are known. `ports[i]` is SM *i*'s. A reply is stamped with the cycle after the one
    /// in which it leaves the crossbar.
    pub fn advance(&mut self, now: Cycle, ports: &mut [Port]) {
        self.answered.clear();
        self.look_into(ports);
        loop {
            let due = self.next.min(self.unseen_due).max(self.first_not_done());
            if due > now {
                break;
            }
            self.step(due, ports);
            self.now = Some(due);
            self.next = self.due_after(due);
        }
        if self.now.is_none_or(|done| done < now) {
            self.now = Some(now);
        }
    }

    /// Keeps count from now on, with nothing under way, of how far requests have come: what
    /// [`MemorySystem::undisturbed_until`] needs.
    pub fn follow_requests(&mut self) {
        debug_assert_eq!(self.packets.len(), 0);
        self.outlook.followed = true;
    }

    /// The last cycle until which SM `sm` can be ticked if all have been up to `now`, and this system
    /// has been advanced to it: whatever the others do, no reply that it might see comes before, nor
    /// is its inbox looked at. `textures`: some SM may ask for textures.
    pub fn undisturbed_until(&mut self, sm: usize, now: Cycle, textures: bool) -> Cycle {
        debug_assert!(self.outlook.followed);
        self.outlook.first_answer(self.cluster_of[sm].into(), now, textures, &self.clocks) - 1
    }

    /// SMs whose inbox got a reply in the last [`MemorySystem::advance`].
    pub fn answered(&self) -> impl Iterator<Item = usize> {
        self.answered.iter()
    }

    /// Finds the requests that have come since the last call.
    fn look_into(&mut self, ports: &[Port]) {
        for (sm, port) in ports.iter().enumerate() {
            if let Some(stamp) = self.unseen_stamp(sm, port) {
                self.unseen.insert(self.cluster_of[sm].into());
                self.unseen_due = self.unseen_due.min(stamp + 1);
            }
        }
    }

    fn first_not_done(&self) -> Cycle {
        self.now.map_or(0, |done| done + 1)
    }

    /// The next core cycle for which [`MemorySystem::advance`] must be called, given the contents of
    /// the ports: exact or early, never late; [`NEVER`] if nothing is under way.
    pub fn next_event(&self, ports: &[Port]) -> Cycle {
        let first = self.first_not_done();
        let mut due = self.next.max(first);
        if due == first {
            return due;
        }
        for (sm, port) in ports.iter().enumerate() {
            if let Some(stamp) = self.unseen_stamp(sm, port) {
                due = due.min((stamp + 1).max(first));
            }
        }
        due
    }

    /// When SM `sm` made its next request, if the crossbar has not been offered that yet. Most
    /// outboxes are empty most of the time, and that is all that is looked at then.
    #[inline]
    fn unseen_stamp(&self, sm: usize, port: &Port) -> Option<Cycle> {
        if port.outbox.is_empty() || self.requests.has_head(self.cluster_of[sm].into()) {
            return None;
        }
        port.outbox.front().map(|&(stamp, _)| stamp)
    }

    /// One core cycle: everything whose clock has an edge after the last core cycle and not after
    /// `t`, in order of time.
    fn step(&mut self, t: Cycle, ports: &mut [Port]) {
        self.eject(t, ports);
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
            if do_icnt {
                self.collect_answers();
            }
            if self.dram_is_due(t) {
                let l2_edge = || clocks.l2_to_dram.floor(l2);
                self.run_dram(t, if do_l2 { l2_edge() } else { clocks.interconnect_to_dram.floor(icnt) });
            }
            if do_l2 {
                self.run_l2(l2);
                l2 += 1;
            }
            if do_icnt {
                self.transfer(t, icnt, ports);
                icnt += 1;
            }
        }
        if self.dram_is_due(t) {
            self.run_dram(t, clocks.dram.floor(t));
        }
    }

    /// Whether some channel has a command cycle to do in core cycle `t`.
    fn dram_is_due(&self, t: Cycle) -> bool {
        self.channels_due <= t || self.exhaustive
    }

    /// Per cluster, one packet leaves the crossbar for an inbox.
    fn eject(&mut self, t: Cycle, ports: &mut [Port]) {
        for word in 0..self.replies.occupied().words() {
            let occupied = self.replies.occupied().word(word);
            set_bits(occupied).for_each(|bit| self.eject_to(64 * word + bit, t, ports));
        }
    }

    fn eject_to(&mut self, cluster: usize, t: Cycle, ports: &mut [Port]) {
        let waiting: usize = cluster_ports(ports, cluster, self.sms_per_cluster).iter().map(|p| p.inbox.len()).sum();
        if waiting >= self.ejection_packets {
            return;
        }
        let Some(part) = self.replies.pop(cluster) else { return };
        // Of a packet that was served by sectors, the last one brings the reply.
        let packet = finish_part(&mut self.packets, Part(part));
        self.outlook.ejected(cluster, t, packet.is_some());
        let Some(packet) = packet else { return };
        let sm = usize::from(packet.sm);
        ports[sm].inbox.push_back((t + 1, packet.request));
        self.answered.insert(sm);
        if packet.request.kind == RequestKind::Write {
            self.answers.writes += 1;
        } else {
            self.answers.reads += 1;
            self.answers.read_latency += t + 1 - packet.since;
        }
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
    fn run_l2(&mut self, cycle: u64) {
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
        while let Some(&(due, slice)) = self.rop_timers.front() {
            if due > cycle {
                break;
            }
            self.rop_timers.pop_front();
            self.active.insert(usize::from(slice));
        }
        for word in 0..self.active.words() {
            let mut busy = self.active.word(word) | self.requests.occupied().word(word);
            if self.exhaustive {
                busy = u64::MAX >> (64 - (self.slices.len() - 64 * word).min(64));
            }
            set_bits(busy).for_each(|bit| self.run_slice(64 * word + bit, cycle));
        }
    }

    fn run_slice(&mut self, s: usize, cycle: u64) {
        let slices = self.slices.len();
        let slice = &mut self.slices[s];
        // A packet that waits outside, or has only entered the latency path, makes no work yet.
        let mut works = self.active.contains(s) || self.exhaustive;
        if self.requests.occupied().contains(s) {
            if slice.has_room_for_packet() {
                if let Some(id) = self.requests.pop(s) {
                    let packet = &mut self.packets[id];
                    let is_far = self.far_latency > 0
                        && is_upper_half(packet.sm.into(), self.cluster_of.len()) != is_upper_half(s, slices);
                    let far = if is_far { self.far_latency } else { 0 };
                    let direct = slice.receive(cycle, id, packet, far);
                    if packet.request.kind != RequestKind::WriteBack {
                        let path = if packet.request.kind == RequestKind::Texture { 0 } else { self.rop_latency };
                        // That a request comes from far is left out: its reply is promised early, never late.
                        self.outlook.received(self.cluster_of[usize::from(packet.sm)].into(), cycle, cycle + path);
                    }
                    if is_far {
                        self.far_timers.push_back((cycle + far, s as u16));
                    } else {
                        self.rop_timers.push_back((cycle + self.rop_latency, s as u16));
                    }
                    works |= direct && slice.is_active(cycle);
                }
            } else {
                slice.count_input_blocked();
            }
        }
        if !works {
            return;
        }
        let effects = slice.tick(cycle, &self.map, &mut self.packets);
        if slice.is_active(cycle + 1) {
            self.active.insert(s);
        } else {
            self.active.remove(s);
        }
        for part in slice.last_answers(effects.answers) {
            self.outlook.returns(self.cluster_of[usize::from(self.packets[part.packet()].sm)].into());
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

    /// Crossbar cycle `cycle`, both ways.
    fn transfer(&mut self, t: Cycle, cycle: u64, ports: &mut [Port]) {
        if self.unseen_due <= t {
            self.offer_unseen(t, ports);
        }
        let Self { map, packets, unseen, unseen_due, sms_per_cluster, .. } = self;
        let sms_per_cluster = *sms_per_cluster;
        let mut source = Outboxes { now: t, ports, sms_per_cluster, map, packets, unseen, unseen_due };
        self.requests.transfer(cycle, &mut source);
        let mut source = ReplyInputs { slices: &mut self.slices, packets: &self.packets, cluster_of: &self.cluster_of };
        self.replies.transfer(cycle, &mut source);
    }

    /// Offers the crossbar the requests of cycles before `t`.
    fn offer_unseen(&mut self, t: Cycle, ports: &[Port]) {
        self.unseen_due = NEVER;
        let mut from = 0;
        while let Some(cluster) = self.unseen.next(from) {
            from = cluster + 1;
            match oldest_request(cluster_ports(ports, cluster, self.sms_per_cluster)) {
                Some((_, stamp, address)) if stamp < t => {
                    self.requests.offer(cluster, self.map.slice_of(address) as usize);
                    self.unseen.remove(cluster);
                }
                Some((_, stamp, _)) => self.unseen_due = self.unseen_due.min(stamp + 1),
                None => _ = self.unseen.remove(cluster),
            }
        }
    }

    /// The first cycle after `t` in which anything can happen, not counting new requests.
    fn due_after(&self, t: Cycle) -> Cycle {
        let soon = self.exhaustive
            || self.requests.has_offers()
            || self.replies.has_offers()
            || !self.answering.is_empty()
            || !self.active.is_empty()
            || !self.requests.occupied().is_empty()
            || !self.replies.occupied().is_empty();
        if soon {
            return t + 1;
        }
        let due =
            |timers: &Ring<(u64, u16)>| timers.front().map_or(NEVER, |&(due, _)| self.clocks.l2.first_source_at(due));
        let timer = due(&self.rop_timers).min(due(&self.far_timers));
        timer.min(self.channels_due).max(t + 1)
    }

    /// Whether nothing is under way, not even a write-back.
    pub fn is_idle(&self) -> bool {
        self.packets.is_empty()
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

    /// What has happened so far.
    pub fn counters(&self) -> MemoryCounters {
        let mut all = MemoryCounters {
            answers: self.answers.clone(),
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
        self.next = 0;
        self.channels.iter_mut().for_each(|c| c.wake(0));
    }
}

/// Whether number `at` of `count` SMs or slices is in the upper half of the chip.
#[inline]
const fn is_upper_half(at: usize, count: usize) -> bool {
    2 * at >= count
}

/// The ports of a cluster's SMs.
#[inline]
fn cluster_ports(ports: &[Port], cluster: usize, sms_per_cluster: usize) -> &[Port] {
    let first = cluster * sms_per_cluster;
    ports.get(first..first + sms_per_cluster).unwrap_or_default()
}

/// The request of a cluster's SMs that entered the crossbar's input first: place of the SM in its
/// cluster, cycle, address.
#[inline]
fn oldest_request(cluster: &[Port]) -> Option<(usize, Cycle, u64)> {
    let head = |(sm, port): (usize, &Port)| port.outbox.front().map(|&(stamp, r)| (sm, stamp, r.address));
    if let [port] = cluster {
        return head((0, port));
    }
    let sms = cluster.len();
    let turn = |sm: usize, stamp: Cycle| (sm + sms - (stamp % sms as u64) as usize) % sms;
    cluster.iter().enumerate().filter_map(head).min_by_key(|&(sm, stamp, _)| (stamp, turn(sm, stamp)))
}

/// The SMs' outboxes as the request crossbar's inputs.
struct Outboxes<'a> {
    now: Cycle,
    ports: &'a mut [Port],
    sms_per_cluster: usize,
    map: &'a AddressMap,
    packets: &'a mut Packets,
    unseen: &'a mut BitSet,
    unseen_due: &'a mut Cycle,
}

impl Source for Outboxes<'_> {
    #[inline]
    fn take(&mut self, input: usize, _output: usize) -> Taken {
        let oldest = |ports: &[Port]| oldest_request(cluster_ports(ports, input, self.sms_per_cluster));
        let (place, ..) = oldest(self.ports).expect("its head was offered");
        let sm = input * self.sms_per_cluster + place;
        let (since, request) = self.ports[sm].outbox.pop_front().expect("it is the oldest");
        let next = match oldest(self.ports) {
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
        Taken { packet: self.packets.insert(packet), data_bytes, next }
    }
}

/// The slices' replies as the reply crossbar's inputs.
struct ReplyInputs<'a> {
    slices: &'a mut [Slice],
    packets: &'a Packets,
    cluster_of: &'a [u16],
}

impl Source for ReplyInputs<'_> {
    #[inline]
    fn take(&mut self, input: usize, _output: usize) -> Taken {
        let slice = &mut self.slices[input];
        let part = slice.pop_answer().expect("its head was offered");
        let next = slice.next_answer().map(|part| self.cluster_of[usize::from(self.packets[part.packet()].sm)].into());
        let request = &self.packets[part.packet()].request;
        let data_bytes = if request.kind.is_write() { 0 } else { slice.bytes_of_part(request) };
        Taken { packet: part.0, data_bytes, next }
    }
}

#[cfg(test)]
mod tests;
