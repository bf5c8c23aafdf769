//! An L2 slice with its queues.
//!
//! ```text
//! crossbar ──► rop ──► from_crossbar ──► cache ──► to_crossbar ──► crossbar
//!                                        │   ▲
//!                                  to_dram   from_dram
//! ```
//! One look-up, one fill, one reply and one miss per L2 cycle. A request is looked up after its bytes have crossed the
//! slice's port, which takes [`config::L2::request_bytes_per_cycle`].

use crate::cache::{Answer, Cache, CacheCounters, CacheOutcome, Refusal};
use crate::crossbar::HEADER_BYTES;
use crate::dram::AddressMap;
use crate::packet::{Packet, PacketId, Packets, Part, Reply};
use crate::staged::StagedQueue;
use crate::{Level, Request, RequestKind};
use kit::{NEVER, Ring};

/// Four sectors of stores with their headers, a packet.
const AHEAD_BYTES: u64 = 4 * (HEADER_BYTES as u64 + 32);

/// Request of a slice to DRAM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToDram {
    pub address: u64,
    pub bytes: u32,
    pub write: bool,
    pub answer: FromDram,
}

/// Reply of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FromDram {
    /// Data for the miss with this MSHR.
    Fill(u32),
    /// The acknowledgement of a write passed on.
    Written(Part),
    /// No reply: a write-back.
    Nothing,
}

kit::counters! {
    /// Counts around the L2 slices.
    pub struct PartitionCounters {
        /// Sectors (parts of packets) that came from the crossbar.
        pub parts: "sectors",
        /// Atomics performed.
        pub atomics: "sectors",
        /// L2 cycles in which a request waited at the head because the cache could not take it.
        pub head_blocked: "L2 cycles",
        /// L2 cycles in which a slice could not take a packet that the crossbar had for it.
        pub input_blocked: "L2 cycles",
    }
}

/// A request that the cache could not take, and when it was tried.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    failure: Refusal,
    tried: u64,
}

/// An L2 slice with its queues to the crossbar and to DRAM.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// Through the raster-operations path, a fixed latency that ends at the cycle given, to the
    /// queue that the cache takes from.
    from_crossbar: StagedQueue<(u64, Part)>,
    cache: Cache,
    to_dram: Ring<ToDram>,
    from_dram: Ring<FromDram>,
    /// To the crossbar's input buffer.
    to_crossbar: StagedQueue<Reply>,
    /// Queue lengths, in the order of [`config::L2::queue_entries`].
    limits: [usize; 4],
    /// Entries of the queue from the crossbar with which it has room for a packet.
    room_for_packet: usize,
    /// Bytes that the cache fetches at once: the size of a packet's parts.
    fetch_bytes: u32,
    blocked: Option<Blocked>,
    /// Bytes that requests bring in a cycle.
    request_bytes_per_cycle: Option<u64>,
    /// When the last one that was looked up had come, in bytes of the port since the first cycle.
    brought: u64,
    /// Whether there is room for a packet, as the request side was last told.
    room: bool,
    counters: PartitionCounters,
}

/// Where a slice's requests and replies go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Dram,
    Crossbar,
}

impl Slice {
    pub fn new(l2: &config::L2, map: &AddressMap) -> Self {
        let limits = l2.queue_entries.map(|n| n.max(1) as usize);
        Self {
            from_crossbar: StagedQueue::new(),
            cache: Cache::of_slice(&l2.cache, map),
            to_dram: Ring::new(),
            from_dram: Ring::new(),
            to_crossbar: StagedQueue::new(),
            limits,
            room_for_packet: limits[0] - limits[0].min(4),
            fetch_bytes: l2.cache.fetch_bytes(),
            blocked: None,
            request_bytes_per_cycle: l2.request_bytes_per_cycle.map(u64::from),
            brought: 0,
            room: true,
            counters: PartitionCounters::default(),
        }
    }

    /// Whether a packet of up to four sectors can come in. Queues shorter than that take a packet
    /// when they are empty.
    #[inline]
    fn has_room_for_packet(&self) -> bool {
        self.from_crossbar.ready() <= self.room_for_packet
    }

    /// Whether there is room for a packet, if that has changed since this was last called.
    #[inline]
    pub fn changed_room(&mut self) -> Option<bool> {
        let room = self.has_room_for_packet();
        (std::mem::replace(&mut self.room, room) != room).then_some(room)
    }

    /// The parts of a packet enter the slice's path, which they leave in L2 cycle `due`.
    #[inline]
    pub fn receive(&mut self, due: u64, id: PacketId, packet: &Packet) {
        for part in (0..u32::from(packet.parts_left)).map(|n| Part::new(id, n)) {
            self.from_crossbar.push((due, part));
        }
    }

    /// Does one L2 cycle. Returns whether the channel may have something new to take, or room to give back.
    #[inline]
    pub fn tick(&mut self, now: u64, packets: &mut Packets) -> bool {
        let mut concerns_dram = false;
        if self.cache.has_ready() {
            self.answer_waiter(packets);
        }
        if !self.from_dram.is_empty() {
            concerns_dram |= self.take_fill(now, packets);
        }
        if self.cache.has_miss() {
            concerns_dram |= self.send_miss();
        }
        if self.from_crossbar.ready() != 0 {
            self.look_up(now, packets);
        }
        if self.path_ends().is_some_and(|due| due <= now) {
            self.from_crossbar.hand_on();
        }
        concerns_dram
    }

    #[inline(always)]
    fn answer_waiter(&mut self, packets: &mut Packets) {
        if !self.crossbar_has_room() {
            return;
        }
        if let Some(waiter) = self.cache.pop_ready()
            && !waiter.silent
        {
            let part = Part(waiter.token);
            let request = &mut packets[part.packet()].request;
            request.from = request.from.max(waiter.from);
            self.reply(part, packets);
        }
    }

    /// A part of a packet goes to the crossbar, after those that wait to be handed over. Of a packet whose data cross
    /// together, the last part does, with the others' data.
    #[inline(always)]
    fn reply(&mut self, part: Part, packets: &mut Packets) {
        let packet = &mut packets[part.packet()];
        if packet.request.whole && packet.parts_left > 1 {
            packet.parts_left -= 1;
        } else {
            self.to_crossbar.push(Reply { from: 0, part, sm: packet.sm });
        }
    }

    /// Takes what DRAM has given back; returns whether there was no room for more before.
    #[inline(always)]
    fn take_fill(&mut self, now: u64, packets: &mut Packets) -> bool {
        match self.from_dram.front() {
            Some(&FromDram::Fill(token)) if self.cache.fill_port_free(now) => {
                self.cache.fill_from(now, token, Level::Dram);
            }
            Some(&FromDram::Written(part)) if self.crossbar_has_room() => self.reply(part, packets),
            Some(FromDram::Nothing) => {}
            _ => return false,
        }
        let was_full = !self.has_room_from_dram();
        self.from_dram.drop_front(1);
        was_full
    }

    /// Sends a miss to DRAM; returns whether there was one and room for it.
    #[inline(always)]
    fn send_miss(&mut self) -> bool {
        if self.to_dram.len() >= self.limits[1] {
            return false;
        }
        let Some(miss) = self.cache.pop_miss() else { return false };
        let (write, answer) = match miss.kind {
            RequestKind::WriteBack => (true, FromDram::Nothing),
            RequestKind::Write => (true, FromDram::Written(Part(miss.token))),
            _ => (false, FromDram::Fill(miss.token)),
        };
        self.to_dram.push_back(ToDram { address: miss.address, bytes: miss.bytes, write, answer });
        true
    }

    #[inline(always)]
    fn look_up(&mut self, now: u64, packets: &mut Packets) {
        if self.to_dram.len() >= self.limits[1] || !self.crossbar_has_room() || !self.cache.data_port_free(now) {
            return;
        }
        let Some(&(_, part)) = self.from_crossbar.first_ready() else { return };
        if let Some(blocked) = self.blocked {
            if self.cache.fails_again(blocked.failure) {
                return;
            }
            self.count_blocked(blocked, now);
        }
        self.try_part(now, part, packets);
    }

    /// When the port has brought `request`, in its bytes, unless that is after cycle `now`. It has brought at most a packet
    /// ahead of the look-ups.
    #[inline(always)]
    fn brought_by(&self, now: u64, request: &Request) -> Option<u64> {
        let Some(per_cycle) = self.request_bytes_per_cycle else { return Some(0) };
        let earliest = (now * per_cycle).saturating_sub(AHEAD_BYTES);
        let brings_data = request.kind.is_write() || request.kind == RequestKind::Atomic;
        let bytes = u64::from(HEADER_BYTES) + if brings_data { u64::from(request.bytes) } else { 0 };
        let brought = self.brought.max(earliest) + bytes;
        (brought <= (now + 1) * per_cycle).then_some(brought)
    }

    /// Looks one part of a packet up, which is the first one from the crossbar.
    #[inline(never)]
    fn try_part(&mut self, now: u64, part: Part, packets: &mut Packets) {
        let request = self.part_of(&packets[part.packet()].request, part);
        let Some(brought) = self.brought_by(now, &request) else { return };
        let access = self.cache.look_up(now, &request);
        if let CacheOutcome::Fail(reason) = access.outcome {
            self.blocked = Some(Blocked { failure: self.cache.failure(reason), tried: now });
            return;
        }
        self.from_crossbar.drop_ready();
        self.brought = brought;
        self.counters.atomics += u64::from(request.kind == RequestKind::Atomic);
        if request.kind == RequestKind::WriteBack {
            finish_part(packets, part, |_| {});
        } else if access.answer == Answer::Now {
            self.reply(part, packets);
        }
    }

    /// A blocked request is tried again: the cycles since count as blocked, too.
    fn count_blocked(&mut self, blocked: Blocked, now: u64) {
        self.counters.head_blocked += now - blocked.tried;
        self.cache.count_fails(blocked.failure.reason, now - blocked.tried - 1);
        self.blocked = None;
    }

    /// The request of one part of a packet.
    #[inline(always)]
    fn part_of(&self, request: &Request, part: Part) -> Request {
        let size = self.fetch_bytes;
        let within = request.address as u32 & (size - 1);
        if within + request.bytes <= size {
            return Request { bytes: request.bytes.max(1), token: part.0, ..*request };
        }
        // The first and the last part may be less than what the cache fetches.
        let from = (part.number() * size).max(within);
        let to = ((part.number() + 1) * size).min(within + request.bytes.max(1));
        let address = request.address - u64::from(within) + u64::from(from);
        Request { address, bytes: to.saturating_sub(from).max(1), token: part.0, ..*request }
    }

    /// The L2 cycle from which on a request can leave the latency path, if there is room for it.
    #[inline]
    pub fn path_ends(&self) -> Option<u64> {
        if self.from_crossbar.ready() >= self.limits[0] {
            return None;
        }
        self.from_crossbar.first_waiting().map(|&(due, _)| due)
    }

    #[inline]
    fn crossbar_has_room(&self) -> bool {
        self.to_crossbar.waiting() < self.limits[3]
    }

    /// The first L2 cycle from `soon` on that has anything to do. A full queue is not waited for by polling:
    /// the part that makes room wakes the slice.
    #[inline]
    pub fn due(&self, soon: u64) -> u64 {
        let (dram, crossbar) = (self.to_dram.len() < self.limits[1], self.crossbar_has_room());
        let has_work = dram
            && crossbar
            && self.from_crossbar.ready() != 0
            && self.blocked.is_none_or(|b| !self.cache.fails_again(b.failure))
            || crossbar && self.cache.has_ready()
            || self.from_dram.front().is_some_and(|back| crossbar || !matches!(back, FromDram::Written(_)))
            || dram && self.cache.has_miss();
        if has_work { soon } else { self.path_ends().map_or(NEVER, |due| due.max(soon)) }
    }

    /// Whether nothing more can go to DRAM, or to the crossbar: then the slice is woken when it can.
    pub fn is_full_towards(&self, side: Side) -> bool {
        match side {
            Side::Dram => self.to_dram.len() >= self.limits[1],
            Side::Crossbar => !self.crossbar_has_room(),
        }
    }

    /// Whether a reply is on its way to the crossbar.
    #[inline]
    pub fn has_answers(&self) -> bool {
        self.to_crossbar.waiting() != 0
    }

    /// Replies in the crossbar's input buffer.
    #[inline]
    pub fn answers_handed_over(&self) -> usize {
        self.to_crossbar.ready()
    }

    /// Hands the oldest reply to the crossbar's input buffer of `packets` packets in crossbar cycle `now`; false if that
    /// has no room.
    #[inline]
    pub fn hand_over_answer(&mut self, now: u64, packets: usize) -> bool {
        let room = self.to_crossbar.ready() < packets;
        if room && let Some(reply) = self.to_crossbar.hand_on() {
            reply.from = now;
        }
        room
    }

    /// The head of the crossbar's input buffer.
    #[inline]
    pub fn next_answer(&self) -> Option<&Reply> {
        self.to_crossbar.first_ready()
    }

    #[inline]
    pub fn pop_answer(&mut self) -> Option<Reply> {
        self.to_crossbar.pop()
    }

    /// Data in a packet of a reply to `request`: a sector or line of it, or all that was asked for.
    #[inline]
    pub fn bytes_of_part(&self, request: &Request) -> u32 {
        if request.whole { request.bytes } else { request.bytes.min(self.fetch_bytes) }
    }

    /// The slice's next request to DRAM.
    #[inline]
    pub fn next_to_dram(&self) -> Option<&ToDram> {
        self.to_dram.front()
    }

    /// The channel has taken that.
    #[inline]
    pub fn drop_to_dram(&mut self) {
        self.to_dram.drop_front(1);
    }

    #[inline]
    pub fn has_room_from_dram(&self) -> bool {
        self.from_dram.len() < self.limits[2]
    }

    /// DRAM gives something back; false if there is no room.
    pub fn take_from_dram(&mut self, answer: FromDram) -> bool {
        let room = self.has_room_from_dram();
        if room {
            self.from_dram.push_back(answer);
        }
        room
    }

    /// Whether nothing is under way but what waits for a reply.
    pub fn is_idle(&self) -> bool {
        self.cache.is_idle() && self.to_dram.is_empty()
    }

    pub fn cache_mut(&mut self) -> &mut Cache {
        &mut self.cache
    }

    pub fn cache_counters(&self) -> &CacheCounters {
        self.cache.counters()
    }

    pub fn counters(&self) -> &PartitionCounters {
        &self.counters
    }
}

/// One part of a packet is done. Calls `take` with the packet, which is gone then if no part is left.
#[inline(always)]
pub(crate) fn finish_part(packets: &mut Packets, part: Part, take: impl FnOnce(&Packet)) {
    let packet = &mut packets[part.packet()];
    packet.parts_left -= 1;
    take(packet);
    if packet.parts_left == 0 {
        packets.remove(part.packet());
    }
}

kit::persist! {
    new struct ToDram { address, bytes, write, answer }
    enum FromDram { Fill(mshr) = 0, Written(part) = 1, Nothing = 2 }
    new struct Blocked { failure, tried }
    struct Slice {
        from_crossbar, cache, to_dram, from_dram, to_crossbar, blocked, brought, room, counters;
        skip limits, room_for_packet, fetch_bytes, request_bytes_per_cycle
    }
}
