//! State that the stages of an SM share: the warps and CTAs, the instructions in flight, time, statistics.

use crate::execute::commands::Commands;
use crate::execute::work::WorkCounts;
use crate::kernel::ResidentKernel;
use crate::memory::copies::Copies;
use crate::memory::copy_engine::CopyEngine;
use crate::memory::peers::Peers;
use crate::memory::wavefronts::Wavefronts;
use crate::observe::counters::{ClassCounts, SmCounters};
use crate::outbox::Outbox;
use crate::slab::{Slab, Window};
use crate::spec::CoreSpec;
use crate::wake_up::{Timers, WakeUp};
use crate::warps::ctas::Ctas;
use crate::warps::mask::WarpMask;
use crate::warps::{PerWarp, Warps};
use config::FenceWaits;
use isa::WarpSlot;
use kit::Cycle;
use mem::Port;
use std::sync::Arc;

/// The cycle being ticked, and its observer.
#[derive(Debug)]
pub(crate) struct Tick<'a, O> {
    pub now: Cycle,
    pub kernels: &'a [ResidentKernel],
    pub observer: &'a mut O,
}

/// Warps, CTAs, instructions in flight, wake-up times and counters of an SM.
#[derive(Debug)]
pub(crate) struct State<M: WarpMask> {
    pub id: u16,
    pub spec: Arc<CoreSpec>,
    pub warps: Warps<M>,
    pub ctas: Ctas<M>,
    pub copies: Copies,
    /// Groups of matrix operations of warp groups.
    pub matrices: Copies,
    /// Those between issue and their end.
    pub commands: Commands,
    /// Reads of shared memory by these operations.
    pub wavefronts: Wavefronts,
    pub engine: CopyEngine,
    pub peers: Peers,
    pub slab: Slab,
    pub wake_up: WakeUp,
    pub timers: Timers,
    /// When the SM's barrier unit has dealt with all arrivals, if these take time.
    pub barrier_free: Cycle,
    /// Warps for which something that their schedulers see has changed since they were last looked at.
    pub dirty: M,
    partition_of: PerWarp<u8, M>,
    /// The cycle before which the counters have the resident warps.
    counted_until: Cycle,
    pub counters: SmCounters,
    pub class_counts: ClassCounts,
    pub work_counts: WorkCounts,
}

impl<M: WarpMask> State<M> {
    /// No warps, on an SM of `spec`.
    pub fn new(id: u16, spec: Arc<CoreSpec>) -> Self {
        let warps = spec.sm.max_warps as usize;
        let schedulers = spec.schedulers();
        let in_buffers = warps * (spec.sm.frontend.buffer_entries as usize + 4);
        Self {
            id,
            warps: Warps::default(),
            ctas: Ctas::new(&spec.sm),
            copies: Copies::new(warps),
            matrices: Copies::new(warps),
            commands: Commands::new(&spec),
            wavefronts: Wavefronts::default(),
            engine: CopyEngine::new(warps),
            peers: Peers::default(),
            slab: Slab::with_capacity(in_buffers),
            wake_up: WakeUp::none(),
            timers: Timers::new(warps),
            barrier_free: 0,
            dirty: M::ALL,
            partition_of: PerWarp::from_fn(|w| spec.partition(w % schedulers) as u8),
            counted_until: 0,
            counters: SmCounters::default(),
            class_counts: ClassCounts::default(),
            work_counts: WorkCounts::default(),
            spec,
        }
    }

    /// The SM's side of `port` in cycle `now`.
    #[inline(always)]
    pub fn outbox<'a>(&'a mut self, now: Cycle, port: &'a mut Port) -> Outbox<'a> {
        Outbox::new(now, port, &self.spec, &mut self.wake_up, &mut self.counters.requests)
    }

    /// Counts the resident warps in the cycles before `until`: before another set of warps is resident.
    pub fn count_warps(&mut self, until: Cycle) {
        self.counters = self.counted(until);
        self.counted_until = until;
    }

    /// The counters with the resident warps in the cycles before `until`.
    pub fn counted(&self, until: Cycle) -> SmCounters {
        let resident = u64::from(self.warps.resident.count());
        SmCounters {
            warp_cycles: self.counters.warp_cycles + resident * (until - self.counted_until),
            active_cycles: self.active_cycles(until),
            ..self.counters.clone()
        }
    }

    /// The cycles before `until` with a resident warp.
    #[inline]
    pub fn active_cycles(&self, until: Cycle) -> Cycle {
        let since = if self.warps.resident.is_empty() { 0 } else { until - self.counted_until };
        self.counters.active_cycles + since
    }

    /// Accesses of `warp` under way that a fence waits for.
    pub fn before_fence(&self, warp: WarpSlot) -> u32 {
        let of_warps = match self.spec.sm.issue.fences_wait_for {
            Some(FenceWaits::Registers) => &self.warps.writers,
            _ => &self.warps.outstanding,
        };
        // Transfers are asynchronous: no fence waits for them.
        of_warps[warp.index()].saturating_sub(self.warps.transfers[warp.index()])
    }

    /// The part of latches, collectors and banks that `warp` uses.
    #[inline]
    pub fn partition_of(&self, warp: WarpSlot) -> usize {
        self.partition_of[warp.index()].into()
    }

    /// A view of the instructions in flight.
    #[inline]
    pub fn window<'a>(&'a self, kernels: &'a [ResidentKernel]) -> Window<'a> {
        Window { slab: &self.slab, kernels }
    }
}

kit::persist! {
    struct [M: WarpMask] State<M> {
        warps, ctas, copies, matrices, engine, peers, slab, wake_up, timers, barrier_free, dirty, counted_until, counters, class_counts, work_counts;
        skip id, spec, commands, wavefronts, partition_of
    }
}
