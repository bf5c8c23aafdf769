//! The issue stage: each warp scheduler chooses a warp and issues its candidates.
//!
//! Schedulers take turns at being first, by the cycle. A scheduler sees the warps that have a
//! candidate whose issue latch (ID_OC) has room and that nothing holds; the one it chooses issues
//! up to the issue width.

use crate::design::{ConfigOf, CoreDesign, FetchOf, MaskOf};
use crate::execute::latches::Latches;
use crate::frontend::FrontEnd;
use crate::inflight::{InFlight, InstId};
use crate::issue::policy::IssuePolicy;
use crate::issue::schedulers::{Scheduler, View};
use crate::kernel::ResidentKernel;
use crate::observe::counters::SmCounters;
use crate::observe::observer::{Observer, Seen, Wait};
use crate::observe::stalls::{SlotAccount, Stall};
use crate::operands::layer::Layer;
use crate::operands::{Collected, OperandStage};
use crate::slab::Window;
use crate::spec::{CoreSpec, Pipe, PipeSet, SCHEDULERS};
use crate::state::{State, Tick};
use crate::warps::mask::WarpMask;
use isa::{Pc, WarpSlot};
use kit::Cycle;
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist, each};

/// The issue design, the warp schedulers, and the account of their slots.
pub(crate) struct IssueStage<D: CoreDesign> {
    pub policy: D::Issue,
    /// The first `count` of these.
    schedulers: [Scheduler<MaskOf<D>>; SCHEDULERS],
    count: usize,
    /// The warps of each scheduler, in turn: after those of the last come those of the first.
    warps_of: [MaskOf<D>; 2 * SCHEDULERS],
    /// Their numbers, in the same order.
    numbers: [u8; 2 * SCHEDULERS],
    /// Warps that are dirty in this cycle: their schedulers look at them.
    runnable: MaskOf<D>,
    /// Instructions that a scheduler may issue in a cycle.
    width: usize,
    /// Every scheduler looks at all of its live warps.
    considers_live: bool,
    /// Schedulers that issued nothing for want of room in an issue latch, one bit each: those for which it was that of
    /// the memory pipe, and [`SCHEDULERS`] bits higher the others.
    blocked: u16,
    /// What of a scheduler's number is that of its partition: all bits, none without sub-cores.
    partition_bits: usize,
    pub account: SlotAccount,
}

/// What the issue stage is connected to.
pub(crate) struct IssueWires<'a, D: CoreDesign, O> {
    pub tick: Tick<'a, O>,
    pub state: &'a mut State<MaskOf<D>>,
    pub fetch: &'a mut FetchOf<D>,
    pub id_oc: &'a mut Latches,
    pub layer: &'a mut Layer,
    pub operands: &'a mut D::Operands,
    pub memory: &'a mut D::Memory,
}

impl<D: CoreDesign> IssueStage<D> {
    /// The stage of an SM of `spec`.
    pub fn new(config: &ConfigOf<D>, spec: &CoreSpec) -> Self {
        let (warps, schedulers) = (spec.sm.max_warps as usize, spec.schedulers());
        let mine = |s: usize| MaskOf::<D>::collect((s..warps).step_by(schedulers).map(|w| WarpSlot(w as u16)));
        let of = |s: usize| if s < schedulers { mine(s) } else { MaskOf::<D>::NONE };
        let number = |turn: usize| turn % schedulers;
        // Those that an SM does not have are like the others, without warps.
        let of_all: [_; SCHEDULERS] = std::array::from_fn(|s| Scheduler::of(spec, of(s)));
        Self {
            policy: D::Issue::new(config, spec),
            considers_live: of_all.iter().all(Scheduler::considers_live),
            schedulers: of_all,
            count: schedulers,
            warps_of: std::array::from_fn(|turn| mine(number(turn))),
            numbers: std::array::from_fn(|turn| number(turn) as u8),
            width: spec.sm.issue.width as usize,
            runnable: MaskOf::<D>::NONE,
            blocked: 0,
            partition_bits: if spec.partitions == 1 { 0 } else { usize::MAX },
            account: SlotAccount::new(schedulers * spec.sm.issue.width as usize),
        }
    }

    /// The operand stage has moved instructions: warps that found no room are looked at again. Those that wait for the
    /// latch of the memory pipe find it full, for the same reason, until one has left its latch.
    #[inline]
    pub fn room_made(&self, done: Collected, state: &mut State<MaskOf<D>>) {
        let [by_memory, others] = self.blocked.to_le_bytes();
        let may_go_on = by_memory & self.schedulers_of(done.taken) | others & self.schedulers_of(done.touched);
        for scheduler in set_bits(may_go_on.into()) {
            state.dirty |= self.warps_of[scheduler % SCHEDULERS];
        }
    }

    /// The schedulers of `partitions`, one bit each. Without sub-cores all share one.
    #[inline]
    fn schedulers_of(&self, partitions: u8) -> u8 {
        if self.partition_bits == 0 { u8::MAX } else { partitions }
    }

    /// Whether a scheduler has anything to look at. One that found nothing to issue finds nothing until
    /// something changes, for the same reason.
    #[inline(always)]
    pub fn has_work(&mut self, now: Cycle, kernels: &[ResidentKernel], state: &mut State<MaskOf<D>>) -> bool {
        let window = Window { slab: &state.slab, kernels };
        state.dirty |= self.policy.tick(now, window, &mut state.wake_up);
        !state.dirty.is_empty()
    }

    /// Each scheduler whose warps are dirty issues, the first by the cycle.
    #[inline(always)]
    pub fn step<O: Observer>(&mut self, w: &mut IssueWires<'_, D, O>) {
        let state = &mut *w.state;
        // As GPGPU-Sim, whose turn moves on in every cycle in which the SM has warps.
        let (turn, count) = (state.active_cycles(w.tick.now), self.count);
        let first = if count.is_power_of_two() { turn as usize & (count - 1) } else { (turn % count as u64) as usize };
        self.runnable = std::mem::take(&mut state.dirty);
        for turn in first..first + count {
            let turn = turn % (2 * SCHEDULERS);
            let mine = self.warps_of[turn];
            // An issue may add warps of schedulers that have yet to come: a barrier is released.
            if self.runnable.meets(mine) {
                self.issue_from(w, usize::from(self.numbers[turn]), mine);
            }
        }
    }

    /// The scheduler, whose warps are `mine`, issues, or its slots get a stall reason. Beside its number goes that of its
    /// partition.
    #[inline(always)]
    fn issue_from<O: Observer>(&mut self, w: &mut IssueWires<'_, D, O>, scheduler: usize, mine: MaskOf<D>) {
        let partition = scheduler & self.partition_bits;
        let warps = &w.state.warps;
        let view = View {
            live: warps.resident & !warps.exited & mine,
            held: warps.held() & mine,
            long_waits: self.policy.candidates().stalled(Stall::RawMemory) & mine,
            warps,
        };
        let considered =
            if self.considers_live { view.live } else { self.schedulers[scheduler % SCHEDULERS].considered(&view) };
        let has_room = |pipe| w.id_oc.has_room(w.id_oc.id(pipe, partition));
        let (ready, mut blocked) = self.policy.candidates().offered(considered & !view.held, has_room);
        if ready.is_empty() {
            let mut warps = considered;
            if considered.is_empty() {
                warps = w.state.warps.resident & mine;
                blocked = self.policy.candidates().pipes_of(warps & !view.held);
            }
            let stall = self.why((warps, warps & !view.held), blocked, partition, w.state, w.fetch, w.operands);
            let why = match stall {
                Stall::MemoryPipeFull => 1,
                Stall::UnitBusy | Stall::CollectorFull => 1 << SCHEDULERS,
                _ => 0,
            };
            let scheduler_bits = 1 | 1 << SCHEDULERS;
            let place = scheduler % SCHEDULERS;
            self.blocked = self.blocked & !(scheduler_bits << place) | why << place;
            self.stall_slots(w, scheduler, 0, (stall, warps));
            return;
        }
        let first = ready & self.policy.candidates().first;
        let warp = self.schedulers[scheduler % SCHEDULERS].choose(if first.is_empty() { ready } else { first }, &view);
        let open = PipeSet::ALL.except(w.id_oc.full_pipes(partition));
        self.issue_warp(w, (scheduler, partition), warp, open);
    }

    /// Issues from `warp`, which has a candidate for one of the `open` pipes.
    #[inline(always)]
    fn issue_warp<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        (scheduler, partition): (usize, usize),
        warp: WarpSlot,
        open: PipeSet,
    ) {
        let id = self.policy.select(w.state.window(w.tick.kernels), warp, open);
        let width = self.width;
        let pipe = self.issue_one(w, (scheduler * width, partition), id);
        self.account.issue(scheduler * width);
        if width > 1 {
            self.issue_more(&mut w.reborrow(), (scheduler, partition), warp, pipe);
        }
    }

    /// Issues as many more from `warp` as the width allows, after one that went to `pipe`.
    #[cold]
    #[inline(never)]
    fn issue_more<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        (scheduler, partition): (usize, usize),
        warp: WarpSlot,
        mut pipe: Pipe,
    ) {
        let (width, different) = (self.width, w.state.spec.sm.issue.dual_issue_needs_different_units);
        let only = MaskOf::<D>::of(warp);
        for slot in 1..width {
            let mut open = self.policy.candidates().pipes_of(only).except(w.id_oc.full_pipes(partition));
            let room = open.contains(pipe);
            if different {
                open = open.without(pipe);
            }
            if w.state.warps.held().contains(warp) || open.0 == 0 {
                let same_unit = different && room;
                let free = only & !w.state.warps.held();
                let blocked = self.policy.candidates().pipes_of(free);
                let why = || self.why((only, free), blocked, partition, w.state, w.fetch, w.operands);
                let stall = if same_unit { Stall::SameUnit } else { why() };
                self.stall_slots(w, scheduler, slot, (stall, only));
                break;
            }
            w.state.counters.multiple_issues += u64::from(slot == 1);
            let id = self.policy.select(w.state.window(w.tick.kernels), warp, open);
            pipe = self.issue_one(w, (scheduler * width + slot, partition), id);
            self.account.issue(scheduler * width + slot);
        }
    }

    /// Marks the slots of `scheduler` from `first` on as stalled, for a reason that holds for any of `warps`.
    #[inline]
    fn stall_slots<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        scheduler: usize,
        first: usize,
        (stall, warps): (Stall, MaskOf<D>),
    ) {
        let width = self.width;
        let slots = scheduler * width + first..(scheduler + 1) * width;
        if width == 1 {
            self.account.stall(scheduler, stall);
        } else {
            slots.clone().for_each(|slot| self.account.stall(slot, stall));
        }
        if w.tick.observer.watches_details() {
            let wait = self.wait(stall, warps, w.state, w.fetch, w.tick.kernels);
            slots.for_each(|slot| w.tick.observer.stalled(w.tick.now, slot, &wait));
        }
    }

    /// What waits because of `stall`, the reason of `warps`.
    #[cold]
    fn wait<'a>(
        &self,
        stall: Stall,
        warps: MaskOf<D>,
        state: &'a State<MaskOf<D>>,
        fetch: &FetchOf<D>,
        kernels: &'a [ResidentKernel],
    ) -> Wait<'a> {
        let window = state.window(kernels);
        let none = Wait { stall, place: None, inst: None, window };
        let (candidates, free) = (self.policy.candidates(), warps & !state.warps.held());
        let is_ready = stall.is_blocked() || stall == Stall::SameUnit;
        let hazard = candidates.stalled(stall) & free;
        let of_stall = match stall {
            Stall::Idle => return none,
            _ if is_ready => candidates.ready() & free,
            _ if !hazard.is_empty() => hazard,
            _ => {
                let mut held = self.held((warps, free), state, fetch).into_iter();
                held.find(|(reason, _)| *reason == stall).map_or(MaskOf::<D>::NONE, |(_, held)| held)
            }
        };
        let Some(warp) = of_stall.first() else { return none };
        let at = |pc: Pc| Some((state.warps.kernel[warp.index()], pc));
        let last_issued = || at(state.warps.last_issued[warp.index()]);
        let inst = match stall {
            _ if is_ready => {
                let pipes = candidates.pipes_of(MaskOf::<D>::of(warp));
                Some(self.policy.select(window, warp, pipes))
            }
            _ if !hazard.is_empty() => self.policy.oldest(warp),
            Stall::InstructionCache | Stall::EmptyBuffer => {
                return Wait { place: fetch.next_pc(warp).and_then(at).or_else(last_issued), ..none };
            }
            _ => return Wait { place: last_issued(), ..none },
        };
        Wait { place: inst.and_then(|id| at(window.inst(id).pc)).or_else(last_issued), inst, ..none }
    }

    /// Issues `id` in `slot`. Returns its pipe.
    #[inline(always)]
    fn issue_one<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        (slot, partition): (usize, usize),
        id: InstId,
    ) -> Pipe {
        let State { slab, warps, counters, class_counts, work_counts, dirty, wake_up, .. } = &mut *w.state;
        wake_up.moved();
        w.operands.wake(partition);
        let order = counters.warp_instructions;
        let window = Window { slab, kernels: w.tick.kernels };
        let flight = window.flight(id);
        let (warp, pipe) = (flight.warp, flight.pipe);
        let (has_effect, is_access) = (flight.has_effect, flight.mem.is_some());
        dirty.insert(warp);
        warps.last_issued[warp.index()] = flight.pc;
        let lanes = counters.count_issue(&flight);
        class_counts.0[flight.class as usize] += 1;
        work_counts.0[flight.work as usize] += lanes;
        if is_access {
            // Until it has been performed, which fences wait for.
            warps.outstanding[warp.index()] += 1;
        }
        w.id_oc.push(w.id_oc.id(pipe, partition), id, order);
        self.policy.on_issue(flight);
        w.tick.observer.issued(w.tick.now, slot, Seen { id, window });
        if has_effect {
            let released = w.reborrow().take_effect(warp, id);
            self.runnable |= released;
        }
        pipe
    }

    /// Why none of `warps`, of which nothing holds those that are `free`, issues, in the order of priority of [`Stall`].
    /// These have candidates for pipes that are `blocked`: a ready candidate that did not issue found its latch full.
    #[inline(always)]
    pub fn why(
        &self,
        (warps, free): (MaskOf<D>, MaskOf<D>),
        blocked: PipeSet,
        partition: usize,
        state: &State<MaskOf<D>>,
        fetch: &FetchOf<D>,
        operands: &D::Operands,
    ) -> Stall {
        if blocked.0 != 0 {
            return if operands.is_full(partition) {
                Stall::CollectorFull
            } else if blocked.contains(Pipe::MEM) {
                Stall::MemoryPipeFull
            } else if operands.any_waits_for_unit(partition) {
                Stall::UnitBusy
            } else {
                Stall::CollectorFull
            };
        }
        if let Some(hazard) = self.policy.candidates().first_stall(free) {
            return hazard;
        }
        let held = self.held((warps, free), state, fetch);
        held.into_iter().find(|(_, mask)| !mask.is_empty()).map_or(Stall::Idle, |(stall, _)| stall)
    }

    /// Those of `warps` that are held, or whose buffers are empty, by reason in order of priority.
    #[inline]
    fn held(
        &self,
        (warps, free): (MaskOf<D>, MaskOf<D>),
        state: &State<MaskOf<D>>,
        fetch: &FetchOf<D>,
    ) -> [(Stall, MaskOf<D>); 9] {
        let w = &state.warps;
        [
            (Stall::Atomic, w.at_atomic & warps & !w.exited | w.atomic_at_exchange & free),
            (Stall::Fence, w.at_fence & warps | w.fence_at_exchange & free),
            (Stall::AsyncCopy, w.at_copies & warps),
            (Stall::Sleep, w.asleep & warps),
            (Stall::Barrier, w.at_barrier & warps),
            (Stall::Control, fetch.at_branch() & free),
            (Stall::InstructionCache, fetch.source.missing() & free),
            (Stall::EmptyBuffer, free),
            (Stall::Drain, warps),
        ]
    }
}

impl<D: CoreDesign, O: Observer> IssueWires<'_, D, O> {
    /// The same wires, for a function that is not inlined: these here stay in registers of the host.
    #[inline(always)]
    fn reborrow(&mut self) -> IssueWires<'_, D, O> {
        let Self { tick, state, fetch, id_oc, layer, operands, memory } = self;
        let tick = Tick { now: tick.now, kernels: tick.kernels, observer: tick.observer };
        IssueWires { tick, state, fetch, id_oc, layer, operands, memory }
    }

    /// Informs the layer, and takes off what lanes need not do because of it.
    #[cold]
    pub(super) fn issue_routed(&mut self, id: InstId) {
        let state = &mut *self.state;
        let (route, work) = (state.slab.route(id), state.slab.get(id).work);
        self.layer.on_issue(route);
        state.counters.lane_reads -= u64::from(route.lane_reads_saved);
        state.counters.lane_writes -= u64::from(route.lane_writes_saved);
        state.work_counts.0[work as usize] -= u64::from(route.lanes_saved);
    }
}

impl SmCounters {
    /// Counts an instruction that issues. Returns its active lanes.
    #[inline(always)]
    fn count_issue(&mut self, inst: &InFlight) -> u64 {
        let lanes = u64::from(inst.mask.count_ones());
        self.warp_instructions += 1;
        self.thread_instructions += lanes;
        self.lane_reads += lanes * u64::from(inst.vector_srcs);
        self.lane_writes += lanes * u64::from(inst.vector_dsts);
        self.empty_instructions += u64::from(inst.mask == 0);
        lanes
    }
}

impl<D: CoreDesign> Persist for IssueStage<D> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { policy, schedulers, runnable, blocked, account, .. } = self;
        let Self { count: _, warps_of: _, numbers: _, width: _, considers_live: _, partition_bits: _, .. } = self;
        policy.persist(archive)?;
        each(schedulers, archive)?;
        runnable.persist(archive)?;
        blocked.persist(archive)?;
        account.persist(archive)
    }
}
