//! Fetch through an instruction cache: each cycle, warps in turn whose buffer has room for a fetch.
//!
//! Follows GPGPU-Sim: round robin over the warps; a hit is in the fetch latch for the next decode;
//! a warp whose fetch misses waits until its reply goes through the latch. Fetch and decode alternate
//! [`config::Frontend::fetches_per_cycle`] times in a cycle, so that all but the last of a cycle's
//! fetches are decoded in that cycle.

use super::{FetchWires, FrontEnd};
use crate::observe::observer::Observer;
use crate::outbox::{Client, Outbox};
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::{Pc, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Mismatch, Persist, part};
use mem::cache::{CacheCounters, CacheOutcome};
use mem::{Cache, Request};
use std::collections::VecDeque;

/// The instruction cache and the fetch latch.
#[derive(Debug)]
pub struct CachedFetch {
    /// Absent if every fetch hits.
    icache: Option<Cache>,
    /// The fetch latch: a warp and the number of its instructions.
    packet: Option<(WarpSlot, u8)>,
    /// The warp that was last fetched for.
    last: u32,
    /// Warps whose fetch has its reply, which goes through the latch.
    answered: VecDeque<WarpSlot>,
    per_fetch: u8,
    /// The instruction cache may have a request for the memory.
    may_send: bool,
}

impl<M: WarpMask> FrontEnd<M> for CachedFetch {
    fn new(spec: &CoreSpec) -> Self {
        let perfect = spec.sm.perfect_instruction_and_constant_caches;
        Self {
            icache: (!perfect).then(|| Cache::new(&spec.sm.frontend.icache)),
            packet: None,
            // As GPGPU-Sim: the first cycle looks at warp 1 first.
            last: 0,
            answered: VecDeque::with_capacity(spec.sm.max_warps as usize),
            per_fetch: spec.sm.frontend.instructions_per_fetch as u8,
            may_send: false,
        }
    }

    #[inline(always)]
    fn step<O: Observer>(&mut self, wanting: M, wires: &mut FetchWires<'_, M, O>) {
        if self.packet.is_some() {
            return;
        }
        if let Some(warp) = self.answered.pop_front() {
            wires.answered(warp);
            self.packet = Some((warp, self.per_fetch));
            wires.moved();
            return;
        }
        let Some(warp) = wanting.next_after(self.last) else { return };
        let Some(pc) = wires.next_pc(warp) else { return };
        self.last = u32::from(warp.0);
        wires.moved();
        if self.look_up(wires, warp, pc) {
            self.packet = Some((warp, self.per_fetch));
            wires.fetched(warp, pc);
        }
    }

    #[inline]
    fn has_packet(&self) -> bool {
        self.packet.is_some()
    }

    #[inline]
    fn take_packet(&mut self) -> Option<(WarpSlot, u8)> {
        self.packet.take()
    }

    fn receive(&mut self, now: Cycle, reply: &Request) {
        let Some(icache) = &mut self.icache else { return };
        icache.fill(now, reply.token);
        while let Some(waiter) = icache.pop_ready() {
            self.answered.push_back(WarpSlot(waiter.token as u16));
        }
    }

    fn counters(&self) -> CacheCounters {
        self.icache.as_ref().map_or_else(CacheCounters::default, |icache| icache.counters().clone())
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { icache, packet, last, answered, per_fetch: _, may_send } = self;
        part(icache, archive)?;
        packet.persist(archive)?;
        last.persist(archive)?;
        answered.persist(archive)?;
        may_send.persist(archive)
    }
}

impl Client for CachedFetch {
    #[inline]
    fn may_send(&self) -> bool {
        self.may_send
    }

    fn send(&mut self, outbox: &mut Outbox<'_>) {
        self.may_send = self.icache.as_mut().is_some_and(|icache| outbox.send_miss(icache));
    }
}

impl CachedFetch {
    /// Looks the instruction at `pc` up in the instruction cache; true on a hit.
    #[inline(always)]
    fn look_up<M: WarpMask, O: Observer>(&mut self, wires: &mut FetchWires<'_, M, O>, warp: WarpSlot, pc: Pc) -> bool {
        let Some(icache) = &mut self.icache else { return true };
        let outcome = icache.access(wires.now(), &wires.request(warp, pc)).outcome;
        self.may_send |= icache.peek_miss().is_some();
        match outcome {
            CacheOutcome::Hit => true,
            CacheOutcome::Miss | CacheOutcome::Merged => {
                wires.missed(warp, pc);
                false
            }
            CacheOutcome::Fail(_) => {
                wires.refused();
                false
            }
        }
    }
}
