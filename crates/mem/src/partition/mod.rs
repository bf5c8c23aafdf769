//! A memory partition: some L2 slices, and the DRAM channel that they share.
//!
//! Beside its requests it needs nothing of other parts as long as the reply crossbar's input buffers have room, and
//! simulates a window by itself.

mod slice;

use crate::clock::Edge;
use crate::dram::Channel;
use crate::packet::{Delivery, Packets};
use crate::staged::StagedQueue;
use crate::topology::Topology;
use config::GpuConfig;
use kit::bits::set_bits;
use kit::{Cycle, NEVER, Ring};
pub use slice::PartitionCounters;
pub(crate) use slice::{FromDram, Side, Slice, ToDram, finish_part};

/// A memory partition.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    /// The first core cycle that it has not done, and the next one in which anything can happen.
    done: Cycle,
    next: Cycle,
    pub packets: Packets,
    pub slices: Box<[Slice]>,
    pub channel: Channel,
    /// The first L2 cycle in which a packet leaves the latency path of a slice that is not active, or an earlier one.
    path_ends: u64,
    /// Slices that have something to do in their next cycle, as a mask.
    active: u64,
    /// Slices with replies for the crossbar.
    answering: u64,
    /// Slices that have handed replies over to the crossbar's input buffers since its side looked last.
    pub handed_over: u64,
    /// Slices that have room for packets, or no longer, from an L2 cycle on: for the request side, which comes later.
    pub rooms: Ring<(u8, u64, bool)>,
}

impl Partition {
    pub fn new(config: &GpuConfig, topology: &Topology) -> Self {
        let slices = config.l2.slices_per_partition.max(1) as usize;
        Self {
            done: 0,
            next: NEVER,
            packets: Packets::default(),
            slices: (0..slices).map(|_| Slice::new(&config.l2, &topology.map)).collect(),
            channel: Channel::new(&config.dram, slices, topology.clocks.dram),
            path_ends: NEVER,
            active: 0,
            answering: 0,
            handed_over: 0,
            rooms: Ring::new(),
        }
    }

    /// The next core cycle in which anything can happen: exact or early, never late.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.next
    }

    /// Whether no input buffer of the reply crossbar can become full within `cycles` crossbar cycles.
    pub fn has_room_towards_crossbar(&self, cycles: u64, topology: &Topology) -> bool {
        let room = |slice: &Slice| slice.answers_handed_over() as u64 + cycles <= topology.input_packets as u64;
        self.slices.iter().all(room)
    }

    /// Does the core cycles before `end`.
    pub fn run(&mut self, end: Cycle, topology: &Topology) {
        while self.next < end {
            let t = self.next;
            for &edge in topology.times.edges(t) {
                self.begin_edge(edge, topology);
                if let Some(l2) = edge.l2 {
                    self.l2_cycle(l2, edge.dram, topology);
                }
            }
            self.end_cycle(t, topology);
        }
        self.done = self.done.max(end);
        self.next = self.next.max(self.done);
    }

    /// The packets in the second stage of `from` come to the latency path of slice number `s`.
    /// [`Partition::look_ahead`] must follow.
    pub fn receive(&mut self, s: usize, from: &mut StagedQueue<Delivery>, topology: &Topology) {
        let Self { packets, slices, path_ends, .. } = self;
        let slice = &mut slices[s];
        if let Some(first) = from.first_ready() {
            *path_ends = (*path_ends).min(first.at + topology.rop_latency);
        }
        from.take_ready(|Delivery { at, packet }| {
            slice.receive(at + topology.rop_latency, packets.insert(*packet), packet);
        });
    }

    /// Learns when anything can happen next.
    pub fn look_ahead(&mut self, topology: &Topology) {
        self.next = self.due(topology);
    }

    /// The steps before the L2 at an edge: replies go to the crossbar, and DRAM.
    #[inline(always)]
    pub fn begin_edge(&mut self, edge: Edge, topology: &Topology) {
        if let Some(cycle) = edge.interconnect
            && self.answering != 0
        {
            self.hand_over_answers(cycle, topology.input_packets);
        }
        if self.channel.next_tick() <= edge.dram {
            self.run_channel(edge.dram, topology);
        }
    }

    /// Each slice hands one reply over to its crossbar input.
    #[inline(never)]
    fn hand_over_answers(&mut self, cycle: u64, input_packets: usize) {
        for s in set_bits(self.answering) {
            let slice = &mut self.slices[s];
            let full = slice.is_full_towards(Side::Crossbar);
            if !slice.hand_over_answer(cycle, input_packets) {
                continue;
            }
            self.handed_over |= 1 << s;
            self.active |= u64::from(full) << s;
            if !slice.has_answers() {
                self.answering &= !(1 << s);
            }
        }
    }

    /// The channel does its command cycles up to and including `upto`.
    #[inline(never)]
    fn run_channel(&mut self, upto: u64, topology: &Topology) {
        while self.channel.next_tick() <= upto {
            let tick = self.channel.next_tick();
            self.active |= self.channel.tick(tick, &topology.map, &mut self.slices);
            if topology.exhaustive {
                self.channel.wake(tick + 1);
            }
        }
    }

    /// L2 cycle `cycle`, until which DRAM has done its cycles up to and including `dram`: slices do their work.
    #[inline(always)]
    pub fn l2_cycle(&mut self, cycle: u64, dram: u64, topology: &Topology) {
        if self.path_ends <= cycle {
            self.wake_slices(cycle);
        }
        let busy = if topology.exhaustive { u64::MAX >> (64 - self.slices.len()) } else { self.active };
        for s in set_bits(busy) {
            self.slice_cycle(s, cycle, dram);
        }
    }

    /// Slices in which a packet leaves the latency path by L2 cycle `cycle` have something to do.
    fn wake_slices(&mut self, cycle: u64) {
        self.path_ends = NEVER;
        for s in set_bits(!self.active & u64::MAX >> (64 - self.slices.len())) {
            match self.slices[s].path_ends() {
                Some(due) if due > cycle => self.path_ends = self.path_ends.min(due),
                Some(_) => self.active |= 1 << s,
                None => {}
            }
        }
    }

    #[inline(never)]
    fn slice_cycle(&mut self, s: usize, cycle: u64, dram: u64) {
        let slice = &mut self.slices[s];
        let concerns_dram = slice.tick(cycle, &mut self.packets);
        if let Some(room) = slice.changed_room() {
            self.rooms.push_back((s as u8, cycle + 1, room));
        }
        let (soon, due) = (cycle + 1, slice.due(cycle + 1));
        if due == soon {
            self.active |= 1 << s;
        } else {
            self.active &= !(1 << s);
            self.path_ends = self.path_ends.min(due);
        }
        if slice.has_answers() {
            self.answering |= 1 << s;
        }
        if concerns_dram {
            self.channel.notice(s, dram + 1);
        }
    }

    /// Ends core cycle `t` with what DRAM does after the last edge of the other clocks.
    #[inline]
    pub fn end_cycle(&mut self, t: Cycle, topology: &Topology) {
        let last = topology.times.last_dram_cycle(t);
        if self.channel.next_tick() <= last {
            self.run_channel(last, topology);
        }
        self.done = t + 1;
        self.next = self.due(topology);
    }

    /// The first core cycle that has not been done and in which anything can happen.
    #[inline]
    fn due(&self, topology: &Topology) -> Cycle {
        if self.active | self.answering != 0 || topology.exhaustive { self.done } else { self.due_later(topology) }
    }

    /// The same, where no slice has anything to do yet.
    fn due_later(&self, topology: &Topology) -> Cycle {
        let path = if self.path_ends == NEVER { NEVER } else { topology.clocks.l2.first_source_at(self.path_ends) };
        path.min(topology.clocks.core_cycle_of_dram(self.channel.next_tick())).max(self.done)
    }

    /// Whether nothing is under way, not even a write-back.
    pub fn is_idle(&self) -> bool {
        self.packets.is_empty() && self.channel.in_flight() == 0 && self.slices.iter().all(Slice::is_idle)
    }

    /// Visits everything in every cycle from now on.
    #[cfg(test)]
    pub fn visit_everything(&mut self) {
        self.next = 0;
        self.channel.wake(0);
    }
}

kit::persist! {
    struct Partition {
        done, next, packets, slices, channel, path_ends, active, answering, handed_over, rooms
    }
}
