//! A front end whose sub-cores fetch from instruction caches of their own, with prefetchers, under a cache of the SM.
//!
//! ```text
//!                    sub-core (4)                          │            SM
//!  decode ◄ fetch ◄─ L0 ◄── stream buffer ◄── 1 reply ─────┼── from_l1 ◄── L1 of instructions ◄── port ◄══ L2
//!                    └───── miss, prefetch ── 1 request ───┼── to_l1 ────► and constants ───────► port ══►
//! ```
//! It follows Huerta et al., *Dissecting and Modeling the Architecture of Modern GPU Cores* (MICRO 2025), section 5.2.
//! A sub-core is a warp scheduler with its warps.
//!
//! - **Fetch.** Each sub-core fetches one instruction in a cycle, which is decoded in the next one and may issue in the
//!   one after: for the warp that issued last, else for its youngest warp with room. An instruction that misses is
//!   looked up again when its line has come.
//! - **Stream buffer** of each sub-core. An L0 miss starts a stream of prefetches, one a cycle, at the following line. A
//!   line goes to L0 when it is asked for at the head of the stream; a miss elsewhere restarts the stream. It stops at a
//!   line that L0 has or that is under way.
//! - **Constant operands** of instructions of fixed latency are looked up at issue, in a cache of the sub-core (section
//!   5.1.1). After a miss the sub-core issues nothing for four cycles; then other warps may, and this one when its line
//!   has come, 79 cycles after the miss if L1 had it.
//! - **Path.** Of all sub-cores together one request and one reply enter in a cycle.
//! - **Kernel start.** Caches of constants are empty when a kernel comes to an SM without CTAs; caches of code, too, unless
//!   `launch.keeps_code` says that they keep it ([`mem`] says by which source).
//! - **Taken branch** ([`config::BranchFetch::SequentialFlush`]): its issue flushes the buffer, and the right path is
//!   fetched from the next cycle on. On L0 hits the next instruction issues three cycles after the branch: fetch, decode,
//!   issue. No source measures it, so a description may say more.
//!
//! Prefetched lines come to their sub-core without a tick of the SM: look-ups and replies that no warp waits for are left
//! until a fetch, a line from L2 or a report may see what came of them.
//!
//! Sizes and times are keys of GPU descriptions ([`config::InstructionCaches`]), which a design may override
//! ([`SubCoreFetch::with_caches`]). The instruction buffer must have room by single instructions
//! ([`InstructionBuffer::with_fetches`](crate::InstructionBuffer::with_fetches)); the paper has 3 entries for each warp.
//!
//! - D-SF1: wrong paths are neither fetched nor prefetched, so they pollute no cache.
//! - D-SF2: the fetch policy and the prefetcher are the paper's reading of measurements. Any number of prefetches may be
//!   under way.
//! - D-SF3: requests queue for the path without limit, in the order in which they were made.
//!
//! - D-SF4: constants have one address for each bank and offset, so kernels on an SM at a time share their lines. Misses
//!   of L1 count as requests for instructions at L2, constants too.
//! - D-SF5: `ULDC` counts as an instruction of fixed latency. Constants that a uniform register addresses, those that `LDC`
//!   loads without a register, and operands of instructions of variable latency always hit. `LDC` by a register has a cache
//!   of the memory stage ([`SubCoreMemory`](crate::SubCoreMemory)).
//!
//! Stall reasons: `instruction_cache` while a warp waits for a line of instructions or constants, `empty_buffer` while it waits for fetch and decode.

mod constants;
mod shared;
mod sizes;
mod stream_buffer;
mod sub_core;

pub use sizes::SubCoreCaches;

use super::{FetchWires, FrontEnd};
use crate::design::{MaskOf, with};
use crate::observe::counters::DesignStatistic;
use crate::observe::observer::Observer;
use crate::outbox::{Client, Outbox};
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::{ConstantOperand, KernelId, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist};
use kit::{Counters, Cycle, NEVER};
use mem::Request;
use mem::cache::CacheCounters;
use shared::{SharedCache, of_token};
use std::ops::Range;
use sub_core::SubCore;

/// The sub-cores' fetch stages and the cache that they share.
#[derive(Debug)]
pub struct SubCoreFetch<M: WarpMask = u64> {
    sub_cores: Box<[SubCore<M>]>,
    shared: SharedCache,
    /// From the issue of a taken branch to the fetch at its target.
    refetch_cycles: Cycle,
    /// Warps that an instruction has been fetched for, one of each sub-core at most.
    fetched: M,
    last_kernel: Option<KernelId>,
    /// Addresses whose lines stay at the start of a kernel.
    kept: Range<u64>,
    /// The next cycle in which a stream goes on, a sub-core's hold ends, or a request or reply reaches the end of the path
    /// to the shared cache.
    due: Cycle,
}

impl<M: WarpMask> SubCoreFetch<M> {
    /// The front end of an SM of `spec` with caches that differ from the description.
    pub fn with_caches(spec: &CoreSpec, caches: &SubCoreCaches) -> Self {
        let (warps, count) = (spec.sm.max_warps as usize, spec.schedulers());
        let mine = |core: usize| M::collect((core..warps).step_by(count).map(|w| WarpSlot(w as u16)));
        Self {
            sub_cores: (0..count).map(|core| SubCore::new(core, mine(core), caches)).collect(),
            shared: SharedCache::new(caches),
            // Decode and issue follow the fetch.
            refetch_cycles: caches.taken_branch_cycles.saturating_sub(2).max(1).into(),
            fetched: M::NONE,
            last_kernel: None,
            kept: spec.kept_at_launches.clone(),
            due: NEVER,
        }
    }
}

impl<M: WarpMask> SubCoreFetch<M> {
    /// The shared cache and the path to it, and what waits for them.
    #[inline(never)]
    fn step_shared<O: Observer>(&mut self, wires: &mut FetchWires<'_, M, O>) {
        let Self { sub_cores, shared, due, .. } = self;
        shared.look_up(wires.now());
        while let Some((core, reply)) = shared.take_reply(wires.now()) {
            sub_cores[core].receive(reply, wires);
        }
        let next_cycle = wires.now() + 1;
        let is_awaited = |token| {
            let (core, id) = of_token(token);
            sub_cores[core].awaits(id)
        };
        let any_awaited = sub_cores.iter().any(|core| core.awaited > 0);
        *due = shared.next_event(wires.now(), any_awaited.then_some(is_awaited));
        for core in sub_cores.iter_mut() {
            let until = core.constants.end_hold(next_cycle);
            if until == Some(next_cycle) {
                wires.look_again(core.warps);
            } else if let Some(until) = until {
                // The last cycle of the hold ends it.
                *due = (*due).min(until - 1);
            }
        }
        if shared.may_send() || sub_cores.iter().any(SubCore::may_prefetch) {
            wires.moved();
            *due = next_cycle;
        }
    }
}

impl<M: WarpMask> FrontEnd<M> for SubCoreFetch<M> {
    const PLACES_CODE: bool = true;
    const LOOKS_UP_CONSTANTS: bool = true;

    fn new(spec: &CoreSpec) -> Self {
        Self::with_caches(spec, &SubCoreCaches::of(spec))
    }

    /// Caches are read as they were when the cycle began: lines that come in it are there in the next one.
    #[inline]
    fn step<O: Observer>(&mut self, wanting: M, wires: &mut FetchWires<'_, M, O>) {
        let is_due = self.due <= wires.now();
        let mut is_changed = is_due;
        if is_due || !wanting.is_empty() {
            if self.shared.is_behind(wires.now()) {
                self.catch_up(wires.now());
            }
            let Self { sub_cores, shared, fetched, .. } = self;
            for core in sub_cores.iter_mut() {
                if is_due {
                    core.prefetch(wires.now(), shared);
                }
                let mine = wanting & core.warps;
                if !mine.is_empty()
                    && let Some(warp) = core.fetch(mine, wires, shared, &mut is_changed)
                {
                    fetched.insert(warp);
                }
            }
        }
        if is_changed {
            self.step_shared(wires);
        }
        if self.due != NEVER {
            wires.wake_at(self.due);
        }
    }

    fn fetches_per_cycle(&self, _: &CoreSpec) -> u32 {
        1
    }

    #[inline]
    fn has_packet(&self) -> bool {
        !self.fetched.is_empty()
    }

    #[inline]
    fn take_packet(&mut self) -> Option<(WarpSlot, u8)> {
        let warp = self.fetched.first()?;
        self.fetched.remove(warp);
        Some((warp, 1))
    }

    fn receive(&mut self, now: Cycle, reply: &Request) {
        self.shared.receive(now, reply.token);
        self.due = now;
    }

    #[inline(never)]
    fn catch_up(&mut self, now: Cycle) {
        let Self { sub_cores, shared, .. } = self;
        shared.catch_up(now);
        let Some(last) = now.checked_sub(1) else { return };
        // A warp can await one only where a fault elsewhere has stopped the machine before this SM's tick.
        while let Some((core, reply)) = shared.take_reply_if(last, |core, id| !sub_cores[core].awaits(id)) {
            sub_cores[core].receive_prefetched(reply);
        }
    }

    fn prepare_kernel(&mut self, kernel: KernelId, alone: bool) {
        if self.last_kernel.replace(kernel) != Some(kernel) && alone {
            self.sub_cores.iter_mut().for_each(|core| core.keep_only(&self.kept));
            self.shared.keep_only(&self.kept);
        }
    }

    #[inline(always)]
    fn on_issue(&mut self, scheduler: usize, warp: WarpSlot) {
        self.sub_cores[scheduler].last_issued = Some(warp);
    }

    #[inline]
    fn may_issue(&self, scheduler: usize) -> M {
        self.sub_cores[scheduler].constants.may_issue()
    }

    #[inline]
    fn has_constant(&mut self, now: Cycle, scheduler: usize, warp: WarpSlot, constant: ConstantOperand) -> bool {
        let is_there = self.sub_cores[scheduler].constants.look_up(now, warp, constant);
        if let Some((address, bytes, id)) = self.sub_cores[scheduler].constants.take_request() {
            self.sub_cores[scheduler].awaited += 1;
            self.shared.request(now, scheduler, (address, bytes), SubCore::<M>::id_of_constant(id));
        }
        if !is_there {
            self.due = now;
        }
        is_there
    }

    #[inline]
    fn refetch_cycles(&self, _: bool) -> Cycle {
        self.refetch_cycles
    }

    /// The L0 caches of all sub-cores, added up; L1 is among the [statistics](FrontEnd::statistics).
    fn counters(&self) -> CacheCounters {
        let mut sum = CacheCounters::default();
        self.sub_cores.iter().for_each(|core| sum.add(&core.counters()));
        sum
    }

    fn statistics(&self) -> Vec<DesignStatistic> {
        let of_streams = |count: fn(&SubCore<M>) -> u64| self.sub_cores.iter().map(count).sum();
        let l1 = self.shared.counters();
        vec![
            DesignStatistic::count(
                "prefetches",
                "lines",
                "Lines that stream buffers of instructions have requested.",
                of_streams(|core| core.stream.requested),
            ),
            DesignStatistic::count(
                "prefetches_used",
                "lines",
                "Lines among them that were asked for at the head of their stream.",
                of_streams(|core| core.stream.used),
            ),
            DesignStatistic::count(
                "prefetches_unused",
                "lines",
                "Lines among them that were dropped because another stream began.",
                of_streams(|core| core.stream.dropped),
            ),
            DesignStatistic::count(
                "constant_operand_hits",
                "operands",
                "Constant operands that issuing instructions found in their sub-core.",
                of_streams(|core| core.constants.hits()),
            ),
            DesignStatistic::count(
                "constant_operand_misses",
                "operands",
                "Constant operands that kept an instruction from issuing.",
                of_streams(|core| core.constants.misses()),
            ),
            DesignStatistic::count(
                "l1_instruction_hits",
                "lines",
                "Requests of sub-cores that the SM's cache of instructions and constants had, or had requested.",
                l1.reads_served(),
            ),
            DesignStatistic::count(
                "l1_instruction_misses",
                "lines",
                "Requests of sub-cores for which that cache asked L2.",
                l1.reads_missed(),
            ),
        ]
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { sub_cores, shared, refetch_cycles: _, fetched, last_kernel, kept: _, due } = self;
        sub_cores.persist(archive)?;
        shared.persist(archive)?;
        fetched.persist(archive)?;
        last_kernel.persist(archive)?;
        due.persist(archive)
    }
}

impl<M: WarpMask> Client for SubCoreFetch<M> {
    #[inline]
    fn may_send(&self) -> bool {
        self.shared.may_send()
    }

    fn send(&mut self, outbox: &mut Outbox<'_>) {
        if self.shared.may_send() {
            self.shared.send(outbox);
            self.due = 0;
        }
    }
}

with!(SubCoreFetch<MaskOf<D>> => SubCoreFetch<MaskOf<D>>, D::Execution, D::Memory; |_, spec| FrontEnd::new(spec), D::memory);
