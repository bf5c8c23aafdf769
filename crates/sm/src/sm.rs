//! The SM: its parts in the order of the block diagram, its cycle, and what the GPU sees of it.

use crate::agenda::Agenda;
use crate::design::{ConfigOf, CoreDesign, MaskOf};
use crate::execute::latches::Latches;
use crate::execute::units::Units;
use crate::execute::work::WorkCounts;
use crate::frontend::fetch::Fetch;
use crate::inflight::{Slab, Window};
use crate::issue::policy::IssuePolicy;
use crate::issue::schedulers::Scheduler;
use crate::kernel::Kernel;
use crate::memory::copies::Copies;
use crate::memory::{L1, LoadStoreUnit};
use crate::observe::counters::{ClassCounts, SmCounters};
use crate::observe::observer::{Observer, Seen, Silent};
use crate::observe::stalls::SlotAccount;
use crate::operands::layer::Layer;
use crate::operands::scalar::ScalarCounts;
use crate::operands::{Collected, Hooks, OperandStage, Wires};
use crate::spec::CoreSpec;
use crate::warps::barrier::Barriers;
use crate::warps::mask::{MOST_WARPS, WarpMask};
use crate::warps::occupancy::Resources;
use crate::warps::{Cta, PerWarp, Warps};
use gpu::FinishedCta;
use isa::{CtaSlot, Dim3, Fault, KernelId, WarpSlot, WarpStream};
use kit::bits::set_bits;
use kit::{Cycle, NEVER};
use mem::Port;
use mem::cache::CacheCounters;
use mem::carveout::carve_out;
use std::fmt;
use std::sync::Arc;

/// Most warp schedulers, rounded up.
pub(crate) const SCHEDULERS: usize = 8;

/// What an SM shares with the rest of the GPU while it ticks.
pub type Env<'a, Shared> = gpu::Env<'a, Kernel, Shared>;

/// What happens to a warp by time alone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wake {
    /// The right path may be fetched.
    Refetch(WarpSlot),
    /// It has slept enough.
    Rise(WarpSlot),
}

/// A streaming multiprocessor: warps as stream `S` has them, issue design `P`, watched by `O`.
///
/// ```text
///  fetch ► decode ► policy ► schedulers ► ID_OC ► collectors ► OC_EX ─┬► units ► EX_WB ─┬► write-back
///    ▲                                              ▲                 └► load/store ────┘      │
///    └ control resolved at issue                    └────────── register banks ◄───────────────┘
/// ```
pub struct Sm<S: WarpStream, D: CoreDesign, O: Observer = Silent> {
    // The pipeline.
    pub(crate) fetch: Fetch<MaskOf<D>>,
    pub(crate) stream: S,
    pub(crate) policy: D::Issue,
    pub(crate) schedulers: Box<[Scheduler<MaskOf<D>>]>,
    pub(crate) id_oc: Latches,
    pub(crate) operands: D::Operands,
    pub(crate) oc_ex: Latches,
    pub(crate) units: Units,
    pub(crate) lsu: LoadStoreUnit,
    pub(crate) layer: Layer,

    // What runs.
    pub(crate) warps: Warps<MaskOf<D>>,
    pub(crate) ctas: Box<[Option<Cta<MaskOf<D>>>]>,
    pub(crate) barriers: Barriers<MaskOf<D>>,
    pub(crate) copies: Copies,
    pub(crate) slab: Slab,
    pub(crate) free: Resources,
    /// Slots of all warps of resident CTAs, finished ones among them.
    pub(crate) reserved_warps: MaskOf<D>,
    pub(crate) finished: Vec<FinishedCta>,
    last_kernel: Option<KernelId>,

    // Time.
    pub(crate) agenda: Agenda,
    /// What time alone brings to warps, in no order.
    wakes: Vec<(Cycle, Wake)>,
    next_wake: Cycle,
    /// Warps for which something that their schedulers see has changed since they were last looked at.
    pub(crate) stirred: MaskOf<D>,
    /// Schedulers that have yet to look in this cycle, or have, one bit each.
    pub(crate) due_schedulers: u32,
    /// Warps of which the issue design has been told something since then.
    pub(crate) touched: MaskOf<D>,
    /// Warps of schedulers that issued nothing for want of room in an issue latch.
    pub(crate) blocked: MaskOf<D>,

    // What it is, and what it has done.
    pub(crate) id: u16,
    pub(crate) spec: Arc<CoreSpec>,
    pub(crate) scheduler_warps: [MaskOf<D>; SCHEDULERS],
    pub(crate) partition_of: PerWarp<u8, MaskOf<D>>,
    pub(crate) account: SlotAccount,
    pub(crate) counters: SmCounters,
    pub(crate) class_counts: ClassCounts,
    pub(crate) work_counts: WorkCounts,
    /// Whoever watches.
    pub observer: O,
}

impl<S: WarpStream, D: CoreDesign, O: Observer> fmt::Debug for Sm<S, D, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sm").field("id", &self.id).field("cycles", &self.account.cycles()).finish_non_exhaustive()
    }
}

impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// An empty SM. It has no more warp slots than [`IssuePolicy::Mask`] tells apart.
    pub fn new(id: u16, spec: Arc<CoreSpec>, stream: S, config: &ConfigOf<D>, observer: O) -> Self {
        let (warps, ctas) = (spec.sm.max_warps as usize, spec.sm.max_ctas as usize);
        assert!(warps <= MaskOf::<D>::SLOTS, "{warps} warp slots, and this issue design is of {}", MaskOf::<D>::SLOTS);
        let schedulers = spec.schedulers();
        let warps_of = |s: usize| MaskOf::<D>::collect((s..warps).step_by(schedulers).map(|w| WarpSlot(w as u16)));
        let scheduler_warps = std::array::from_fn(|s| if s < schedulers { warps_of(s) } else { MaskOf::<D>::NONE });
        let partition_of = PerWarp::from_fn(|w| spec.partition(w % schedulers) as u8);
        let in_buffers = warps * (spec.sm.frontend.buffer_entries as usize + 4);
        Self {
            fetch: Fetch::new(&spec, D::branches(config, spec.sm.frontend.branches)),
            stream,
            policy: D::Issue::new(config, &spec),
            schedulers: (0..schedulers).map(|s| Scheduler::of(&spec, warps_of(s))).collect(),
            id_oc: Latches::new(&spec, |p| spec.issue_latches(p)),
            operands: D::operands(config, &spec),
            oc_ex: Latches::new(&spec, |p| spec.dispatch_latches(p)),
            units: Units::new(&spec),
            lsu: LoadStoreUnit::new(&spec),
            layer: Layer::new(&spec),
            warps: Warps::default(),
            ctas: vec![None; ctas].into(),
            barriers: Barriers::new(ctas, spec.sm.barriers_per_cta as usize),
            copies: Copies::new(warps),
            slab: Slab::with_capacity(in_buffers),
            free: Resources::of_sm(&spec.sm),
            reserved_warps: MaskOf::<D>::NONE,
            finished: Vec::with_capacity(ctas),
            last_kernel: None,
            agenda: Agenda::new(0),
            wakes: Vec::with_capacity(warps),
            next_wake: NEVER,
            stirred: MaskOf::<D>::ALL,
            due_schedulers: 0,
            touched: MaskOf::<D>::NONE,
            blocked: MaskOf::<D>::NONE,
            id,
            account: SlotAccount::new(schedulers * spec.sm.issue.width as usize),
            scheduler_warps,
            partition_of,
            counters: SmCounters::default(),
            class_counts: ClassCounts::default(),
            work_counts: WorkCounts::default(),
            observer,
            spec,
        }
    }

    /// One cycle, back to front: a stage finds room that the one behind it made in this cycle.
    ///
    /// # Errors
    /// The fault of an instruction that the stream could not execute.
    pub fn tick(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>) -> Result<(), Box<Fault>> {
        self.wake(now);
        self.write_back(now, env.kernels);
        self.execute(now, env.kernels);
        self.write_back_memory(now, env.kernels);
        self.load_store(now, env.kernels, env.port);
        self.collect_operands(now, env.kernels);
        self.issue(now, env.kernels);
        // A cycle with a fault is a cycle too: its slots are accounted for.
        let done = self.front_end(now, env);
        self.end_cycle();
        done
    }

    /// Accounts for the cycles slept and does what time alone brings.
    #[inline]
    fn wake(&mut self, now: Cycle) {
        self.catch_up(now);
        self.agenda = Agenda::new(now);
        if self.next_wake <= now {
            self.rouse(now);
        }
    }

    /// Wakes the warps whose time has come.
    fn rouse(&mut self, now: Cycle) {
        self.next_wake = NEVER;
        let mut i = 0;
        while let Some(&(due, wake)) = self.wakes.get(i) {
            if due > now {
                self.next_wake = self.next_wake.min(due);
                i += 1;
                continue;
            }
            self.wakes.swap_remove(i);
            match wake {
                Wake::Refetch(warp) => self.fetch.refetch(warp),
                Wake::Rise(warp) => self.warps.asleep.remove(warp),
            }
        }
        self.stirred = MaskOf::<D>::ALL;
        self.agenda.moved();
    }

    /// Something is to happen to a warp by time alone.
    pub(crate) fn wake_at(&mut self, due: Cycle, wake: Wake) {
        self.wakes.push((due, wake));
        self.next_wake = self.next_wake.min(due);
    }

    /// The part of latches, collectors and banks that `warp` uses.
    #[inline]
    pub(crate) fn partition_of(&self, warp: WarpSlot) -> usize {
        self.partition_of[warp.index()].into()
    }

    /// Units take what waits for them.
    #[inline]
    fn execute(&mut self, now: Cycle, kernels: &[Kernel]) {
        let Self { units, oc_ex, slab, agenda, observer, .. } = self;
        if oc_ex.occupied() & !oc_ex.of_memory() == 0 {
            return;
        }
        let taken = units.accept(now, oc_ex, slab, agenda, |slab, id| {
            observer.executing(now, Seen { id, window: Window { slab, kernels } });
        });
        self.operands.latches_freed(taken);
    }

    /// Operand collectors read registers.
    #[inline]
    fn collect_operands(&mut self, now: Cycle, kernels: &[Kernel]) {
        let Self { operands, id_oc, oc_ex, slab, policy, observer, touched, .. } = self;
        if operands.is_stuck() {
            operands.banks().end_cycle();
            return;
        }
        let lane_reads = &mut self.counters.lane_reads;
        let done = Collected::default();
        let mut hooks = Hooks { policy, observer, pending: touched, lane_reads, kernels, now, done };
        let done = operands.step(&mut Wires { id_oc, oc_ex, slab, kernels }, &mut hooks);
        self.counters.register_reads += u64::from(done.reads);
        self.counters.bank_conflicts += u64::from(done.conflicts);
        if done.touched != 0 || !operands.is_stuck() {
            self.agenda.moved();
            if !self.blocked.is_empty() {
                self.stirred |= self.blocked & self.warps_of_partitions(done.touched);
            }
        }
    }

    /// The warps that use `partitions`, one bit each.
    #[inline]
    fn warps_of_partitions(&self, partitions: u8) -> MaskOf<D> {
        // Without sub-cores all schedulers share the one partition.
        if self.spec.partitions == 1 {
            return MaskOf::<D>::ALL;
        }
        set_bits(partitions.into()).fold(MaskOf::<D>::NONE, |all, p| all | self.scheduler_warps[p % SCHEDULERS])
    }

    /// Decode and fetch, alternating as often as there are fetches in a cycle.
    #[inline]
    fn front_end(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>) -> Result<(), Box<Fault>> {
        for _ in 0..self.spec.sm.frontend.fetches_per_cycle {
            self.decode(now, env)?;
            self.fetch(now, env);
            if !self.fetch.has_packet() {
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn end_cycle(&mut self) {
        self.account.end_cycle();
        self.count_warps(1);
    }

    #[inline]
    fn count_warps(&mut self, cycles: u64) {
        let resident = u64::from(self.warps.resident.count());
        self.counters.warp_cycles += resident * cycles;
        self.counters.active_cycles += if resident > 0 { cycles } else { 0 };
    }

    /// Accounts for the cycles before `now` that the SM slept through. For reports in between:
    /// [`Sm::tick`] does it by itself.
    pub fn settle(&mut self, now: Cycle) {
        self.catch_up(now);
        self.account.close_all();
    }

    #[inline]
    fn catch_up(&mut self, now: Cycle) {
        let slept = now.saturating_sub(self.account.cycles());
        if slept > 0 {
            self.account.sleep_until(now);
            self.count_warps(slept);
        }
    }

    /// When the SM must be ticked next: exact or too early, never too late, unless a CTA is started
    /// before. [`NEVER`] if nothing but an answer from the memory can move it and none is on its
    /// way through its `port`.
    #[inline]
    pub fn next_event(&self, port: &Port) -> Cycle {
        let (from, next) = (self.account.cycles(), self.agenda.next());
        if next <= from {
            return from;
        }
        let answer = port.inbox.front().filter(|_| !self.lsu.inbox_stuck).map_or(NEVER, |&(due, _)| due);
        next.min(answer).min(self.next_wake).min(self.units.next_ending(from)).max(from)
    }

    /// Whether a CTA of `shape` fits now.
    pub fn can_accept(&self, shape: &isa::LaunchShape) -> bool {
        let need = Resources::of_cta(&self.spec.sm, shape);
        self.free.covers(&need)
    }

    /// Starts CTA `cta` of `kernel`, which must fit ([`Sm::can_accept`]). It is fetched for from the
    /// next tick on, which must be at the earliest cycle that has not been ticked.
    pub fn start_cta(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>, kernel: KernelId, cta: Dim3) -> CtaSlot {
        self.catch_up(now);
        let launch = &env.kernels[kernel.index()];
        if self.last_kernel != Some(kernel) {
            self.prepare_kernel(kernel, launch);
        }
        let need = Resources::of_cta(&self.spec.sm, &launch.shape);
        assert!(self.free.covers(&need), "a CTA that does not fit was started");
        self.free.take(&need);
        let slot = CtaSlot::from(self.ctas.iter().position(Option::is_none).expect("a CTA slot is free"));
        let mut slots = [WarpSlot(0); MOST_WARPS];
        let count = self.choose_warp_slots(need.warps as usize, &mut slots);
        let slots = &slots[..count];
        let warps = MaskOf::<D>::collect(slots.iter().copied());
        self.reserved_warps |= warps;
        self.ctas[slot.index()] = Some(Cta { kernel, position: cta, warps, unfinished: warps, resources: need });
        self.barriers.start_cta(slot, warps);
        for (index, &warp) in slots.iter().enumerate() {
            self.warps.start(warp, kernel, slot, index);
            self.policy.start_warp(warp, &launch.code.program.regs);
            self.layer.start_warp(warp, launch, index);
        }
        self.stream.start_cta(env.shared, kernel, cta, slot, slots);
        self.counters.ctas_started += 1;
        self.observer.cta_started(now, kernel, cta, slot, slots);
        self.agenda.put_first(self.account.cycles());
        self.stirred = MaskOf::<D>::ALL;
        slot
    }

    /// The first run of free slots that holds `count` warps side by side, as GPGPU-Sim looks for
    /// one at multiples of the CTA's size; else the first free ones.
    fn choose_warp_slots(&self, count: usize, slots: &mut [WarpSlot; MOST_WARPS]) -> usize {
        let total = self.spec.sm.max_warps as usize;
        let fits = |&s: &usize| s + count <= total && !self.reserved_warps.meets(MaskOf::<D>::run(s, count));
        let aligned = (0..total).step_by(count.max(1)).find(fits);
        let from = (aligned.unwrap_or(0)..total).map(|w| WarpSlot(w as u16));
        let mut chosen = 0;
        for warp in from.filter(|&w| !self.reserved_warps.contains(w)).take(count) {
            slots[chosen] = warp;
            chosen += 1;
        }
        chosen
    }

    /// A kernel comes to the SM: an SM without any other gives L1 what shared memory leaves.
    fn prepare_kernel(&mut self, kernel: KernelId, launch: &Kernel) {
        let l1d = &self.spec.sm.l1d;
        let alone = self.ctas.iter().all(Option::is_none);
        if alone && !l1d.shared_carveouts_bytes.is_empty() && self.lsu.l1.as_ref().is_some_and(L1::is_idle) {
            let split = carve_out(l1d, launch.shape.shared_bytes * launch.ctas_per_sm);
            if let Some(l1) = &mut self.lsu.l1 {
                l1.reshape(l1d, &split.l1);
            }
        }
        self.last_kernel = Some(kernel);
    }

    /// CTAs that have left since this was last called, for the dispatcher to drain.
    pub fn finished(&mut self) -> &mut Vec<FinishedCta> {
        &mut self.finished
    }

    /// Whether no CTA is resident and nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.reserved_warps.is_empty() && self.slab.is_empty() && self.lsu.is_idle()
    }

    /// Drops the contents of L1, as between kernels.
    pub fn invalidate_l1(&mut self) {
        if let Some(l1) = &mut self.lsu.l1 {
            l1.cache.invalidate();
            self.lsu.may_send = true;
        }
    }

    /// The warps' stream.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// The issue design.
    pub fn policy(&self) -> &D::Issue {
        &self.policy
    }

    /// What the SM has done.
    pub fn counters(&self) -> &SmCounters {
        &self.counters
    }

    /// Issue slots and stalls, up to the last tick or [`Sm::settle`].
    pub fn account(&self) -> &SlotAccount {
        &self.account
    }

    /// What the scalar path has done, if there is one.
    pub fn scalar_counts(&self) -> Option<&ScalarCounts> {
        self.layer.counts()
    }

    /// Warp instructions issued, by class.
    pub fn class_counts(&self) -> &ClassCounts {
        &self.class_counts
    }

    /// Active lanes of issued instructions, by what they do.
    pub fn work_counts(&self) -> &WorkCounts {
        &self.work_counts
    }

    /// What the texture cache has done.
    pub fn texture_counters(&self) -> &CacheCounters {
        self.lsu.texture.counters()
    }

    /// What the L1 data cache has done; nothing if there is none.
    pub fn l1_counters(&self) -> CacheCounters {
        self.lsu.l1.as_ref().map_or_else(CacheCounters::default, L1::counters)
    }

    /// The instruction cache, for its counters.
    pub fn icache(&self) -> Option<&mem::Cache> {
        self.fetch.icache.as_ref()
    }

    /// The constant cache, for its counters.
    pub fn constant_cache(&self) -> Option<&mem::Cache> {
        self.lsu.constant.as_ref()
    }

    /// Warps resident now.
    pub fn resident_warps(&self) -> u32 {
        self.warps.resident.count()
    }
}
