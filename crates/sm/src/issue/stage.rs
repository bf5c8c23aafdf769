//! The issue stage: each warp scheduler chooses a warp and issues its candidates.
//!
//! Schedulers take turns at being first, by the cycle. A scheduler sees the warps that have a
//! candidate whose issue latch (ID_OC) has room and that nothing holds; the one it chooses issues
//! up to the issue width.

use crate::design::{ConfigOf, CoreDesign, FetchOf, MaskOf};
use crate::execute::latches::Latches;
use crate::frontend::FrontEnd;
use crate::inflight::{InFlight, InstId};
use crate::issue::policy::{Head, IssuePolicy};
use crate::issue::schedulers::{Scheduler, View};
use crate::kernel::ResidentKernel;
use crate::memory::MemoryStage;
use crate::observe::counters::SmCounters;
use crate::observe::observer::{Observer, Seen, Wait};
use crate::observe::stalls::{SlotAccount, Stall};
use crate::operands::layer::Layer;
use crate::operands::{Collected, OperandStage};
use crate::slab::Window;
use crate::spec::{CoreSpec, Pipe, PipeSet, SCHEDULERS};
use crate::state::{State, Tick};
use crate::warps::Warps;
use crate::warps::mask::WarpMask;
use isa::{OpClass, Pc, WarpSlot, Work};
use kit::Cycle;
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist, each};
use std::marker::PhantomData;

/// The issue design, the warp schedulers, and the account of their slots.
pub(crate) struct IssueStage<D: CoreDesign> {
    pub policy: D::Issue,
    /// The first `count` of these.
    schedulers: [Scheduler<MaskOf<D>>; SCHEDULERS],
    count: usize,
    /// The schedulers in turn: after the last comes the first.
    turns: [Turn<MaskOf<D>>; 2 * SCHEDULERS],
    /// Warps that are dirty in this cycle: their schedulers look at them.
    runnable: MaskOf<D>,
    /// Resident warps that nothing holds.
    free: MaskOf<D>,
    /// Instructions that a scheduler may issue in a cycle.
    width: usize,
    /// Every scheduler looks at all of its live warps.
    considers_live: bool,
    /// Schedulers that issued nothing for lack of room in an issue latch, one bit each. Bits from 0 on: the latch of the
    /// memory pipe. Bits from [`SCHEDULERS`] on: another latch.
    blocked: u16,
    /// Every scheduler, one bit each, if all share one partition; no bit if each has its own.
    sharing: u8,
    pub account: SlotAccount,
}

/// A scheduler: what is its own.
#[derive(Clone, Copy)]
struct Turn<M> {
    warps: M,
    number: u8,
    /// The partition of latches, collectors and banks that it uses.
    partition: u8,
    /// The first of its issue slots.
    slot: u8,
}

/// Look-ups of the front end of `D` at issue.
struct LooksUp<D>(PhantomData<D>);

impl<D: CoreDesign> LooksUp<D> {
    const CONSTANTS: bool = <D::FrontEnd as FrontEnd<MaskOf<D>>>::LOOKS_UP_CONSTANTS;
}

/// Wires of the issue stage.
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
        let width = spec.sm.issue.width as usize;
        let turn = |turn: usize| {
            let number = turn % schedulers;
            let (partition, slot) = (spec.partition(number) as u8, (number * width) as u8);
            Turn { warps: mine(number), number: number as u8, partition, slot }
        };
        // Those that an SM does not have are like the others, without warps.
        let of_all: [_; SCHEDULERS] = std::array::from_fn(|s| Scheduler::of(spec, of(s)));
        Self {
            policy: D::Issue::new(config, spec),
            considers_live: of_all.iter().all(Scheduler::considers_live),
            schedulers: of_all,
            count: schedulers,
            turns: std::array::from_fn(turn),
            width,
            runnable: MaskOf::<D>::NONE,
            free: MaskOf::<D>::NONE,
            blocked: 0,
            sharing: if spec.partitions > 1 { 0 } else { u8::MAX },
            account: SlotAccount::new(schedulers * width),
        }
    }

    /// The operand stage has moved instructions: warps that found no room are looked at again. Those that wait for the
    /// latch of the memory pipe find it full, for the same reason, until one has left its latch.
    #[inline]
    pub fn room_made(&self, done: Collected, state: &mut State<MaskOf<D>>) {
        let [by_memory, others] = self.blocked.to_le_bytes();
        let may_go_on = by_memory & self.schedulers_of(done.taken) | others & self.schedulers_of(done.touched);
        for scheduler in set_bits(may_go_on.into()) {
            state.dirty |= self.turns[scheduler % SCHEDULERS].warps;
        }
    }

    /// The schedulers of `partitions`, one bit each.
    #[inline]
    fn schedulers_of(&self, partitions: u8) -> u8 {
        partitions | self.sharing
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
        // A division takes the host long.
        let first = if count.is_power_of_two() { turn as usize & (count - 1) } else { (turn % count as u64) as usize };
        self.runnable = std::mem::take(&mut state.dirty);
        self.free = state.warps.free();
        for turn in first..first + count {
            let turn = turn % (2 * SCHEDULERS);
            // An issue may add warps of schedulers that have yet to come: a barrier is released.
            if self.runnable.meets(self.turns[turn].warps) {
                self.issue_from(w, self.turns[turn]);
            }
        }
    }

    /// The scheduler of `turn` issues, or its slots get a stall reason.
    #[inline(always)]
    fn issue_from<O: Observer>(&mut self, w: &mut IssueWires<'_, D, O>, turn: Turn<MaskOf<D>>) {
        let mine = turn.warps;
        let place = usize::from(turn.number) % SCHEDULERS;
        let (offered, open) = self.policy.candidates().offered(w.id_oc.open_pipes(turn.partition.into()));
        let mut ready = offered & self.free & mine;
        let mut considered = None;
        if !self.considers_live {
            let view = self.view(&w.state.warps, mine);
            let few = self.schedulers[place].considered(&view);
            considered = Some(few);
            ready &= few;
        }
        let dropping = w.state.warps.drops_l1 & mine;
        if !dropping.is_empty() {
            self.drop_l1(&mut w.reborrow(), place, considered.unwrap_or(mine) & dropping, ready);
        }
        if ready.is_empty() {
            let considered = considered.unwrap_or_else(|| w.state.warps.live() & mine);
            return self.note_stall(w, turn, considered);
        }
        let mut among = ready;
        if LooksUp::<D>::CONSTANTS {
            among &= w.fetch.source.may_issue(turn.number.into());
            if among.is_empty() {
                return self.note_constant_miss(&mut w.reborrow(), turn, 0, ready);
            }
        }
        let first = among & self.policy.candidates().first;
        if !first.is_empty() {
            among = first;
        }
        let view = self.view(&w.state.warps, mine);
        let scheduler = &mut self.schedulers[place];
        let warp = if LooksUp::<D>::CONSTANTS { scheduler.first(among, &view) } else { scheduler.choose(among, &view) };
        let id = self.policy.select(w.state.window(w.tick.kernels), warp, open);
        if LooksUp::<D>::CONSTANTS {
            if !Self::has_constant(w, turn, id) {
                return self.note_constant_miss(&mut w.reborrow(), turn, 0, ready);
            }
            self.schedulers[place].note_issue(warp);
        }
        let pipe = self.issue_one(w, turn, turn.slot.into(), id);
        if self.width > 1 {
            self.issue_more(&mut w.reborrow(), turn, warp, pipe);
        }
    }

    /// Whether the constant operand of candidate `id` is there, or it has none.
    #[inline(always)]
    fn has_constant<O: Observer>(w: &mut IssueWires<'_, D, O>, turn: Turn<MaskOf<D>>, id: InstId) -> bool {
        let flight = w.state.window(w.tick.kernels).flight(id);
        if !flight.names().scheduling.names_constant {
            return true;
        }
        let (warp, constant) = (flight.warp, flight.code().constant(flight.pc));
        constant.is_none_or(|constant| w.fetch.source.has_constant(w.tick.now, turn.number.into(), warp, constant))
    }

    /// None of `warps`, which are ready, issues in the slots of the scheduler of `turn` from `first` on, for want of a
    /// constant operand.
    #[cold]
    #[inline(never)]
    fn note_constant_miss<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        turn: Turn<MaskOf<D>>,
        first: usize,
        warps: MaskOf<D>,
    ) {
        // Other warps may wait for room.
        self.blocked |= (1 | 1 << SCHEDULERS) << (turn.number % SCHEDULERS as u8);
        self.stall_slots(w, turn, first, (Stall::InstructionCache, warps));
    }

    /// Drops the contents of L1 for each warp of `dropping` that scheduler number `place` visits. It visits warps in
    /// order and stops at the first one in `ready`, which may issue.
    #[cold]
    #[inline(never)]
    fn drop_l1<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        place: usize,
        dropping: MaskOf<D>,
        ready: MaskOf<D>,
    ) {
        for warp in dropping.iter() {
            let among = ready | MaskOf::<D>::of(warp);
            let view = self.view(&w.state.warps, self.turns[place].warps);
            if ready.is_empty() || self.schedulers[place].first(among, &view) == warp {
                w.state.warps.drops_l1.remove(warp);
                w.state.wake_up.moved();
                w.memory.invalidate_l1();
            }
        }
    }

    /// A scheduler's view of its warps `mine`.
    #[inline(always)]
    fn view<'a>(&self, warps: &'a Warps<MaskOf<D>>, mine: MaskOf<D>) -> View<'a, MaskOf<D>> {
        let mut held = warps.held();
        if warps.at_mbarrier.meets(mine) {
            // Once such a warp has issued all that is decoded, it cannot issue until others arrive.
            held |= warps.at_mbarrier & !self.policy.candidates().waiting();
        }
        View {
            live: warps.live() & mine,
            held: held & mine,
            long_waits: self.policy.candidates().stalled(Stall::RawMemory) & mine,
            warps,
        }
    }

    /// None of the warps that the scheduler of `turn` has `considered` issues.
    #[inline(always)]
    fn note_stall<O: Observer>(&mut self, w: &mut IssueWires<'_, D, O>, turn: Turn<MaskOf<D>>, considered: MaskOf<D>) {
        let warps = if considered.is_empty() { w.state.warps.resident & turn.warps } else { considered };
        let free = warps & self.free;
        let candidates = self.policy.candidates();
        // That of the memory pipe is the reason mostly, whatever others there are.
        let by_memory = candidates.of(Head::ready(Pipe::MEM)).meets(free);
        let blocked = if by_memory { PipeSet::default().with(Pipe::MEM) } else { candidates.pipes_of(free) };
        let stall = self.why((warps, free), blocked, turn.partition.into(), w.state, w.fetch, w.operands);
        let why = match stall {
            Stall::MemoryPipeFull => 1,
            Stall::UnitBusy | Stall::CollectorFull => 1 << SCHEDULERS,
            _ => 0,
        };
        let (scheduler_bits, place) = (1 | 1 << SCHEDULERS, turn.number % SCHEDULERS as u8);
        self.blocked = self.blocked & !(scheduler_bits << place) | why << place;
        self.stall_slots(w, turn, 0, (stall, warps));
    }

    /// Issues as many more from `warp` as the width allows, after one that went to `pipe`.
    #[cold]
    #[inline(never)]
    fn issue_more<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        turn: Turn<MaskOf<D>>,
        warp: WarpSlot,
        mut pipe: Pipe,
    ) {
        let partition = usize::from(turn.partition);
        let (width, different) = (self.width, w.state.spec.sm.issue.dual_issue_needs_different_units);
        let only = MaskOf::<D>::of(warp);
        for slot in 1..width {
            let wanted = self.policy.candidates().pipes_of(only);
            let mut open = PipeSet(wanted.0 & w.id_oc.open_pipes(partition).0);
            let room = open.contains(pipe);
            if different {
                open = open.without(pipe);
            }
            if !w.state.warps.free().contains(warp) || open.0 == 0 {
                let same_unit = different && room;
                let free = only & w.state.warps.free();
                let blocked = self.policy.candidates().pipes_of(free);
                let why = || self.why((only, free), blocked, partition, w.state, w.fetch, w.operands);
                let stall = if same_unit { Stall::SameUnit } else { why() };
                self.stall_slots(w, turn, slot, (stall, only));
                break;
            }
            let id = self.policy.select(w.state.window(w.tick.kernels), warp, open);
            if LooksUp::<D>::CONSTANTS && !Self::has_constant(w, turn, id) {
                self.note_constant_miss(&mut w.reborrow(), turn, slot, only);
                break;
            }
            w.state.counters.multiple_issues += u64::from(slot == 1);
            pipe = self.issue_one(w, turn, usize::from(turn.slot) + slot, id);
        }
    }

    /// Marks the slots of the scheduler of `turn` from `first` on as stalled, for a reason that holds for any of `warps`.
    #[inline]
    fn stall_slots<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        turn: Turn<MaskOf<D>>,
        first: usize,
        (stall, warps): (Stall, MaskOf<D>),
    ) {
        let (width, start) = (self.width, usize::from(turn.slot));
        let slots = start + first..start + width;
        if width == 1 {
            self.account.stall(start, stall);
        } else {
            slots.clone().for_each(|slot| self.account.stall(slot, stall));
        }
        if w.tick.observer.watches_details() {
            let wait = self.wait(stall, warps, w.state, w.fetch, w.tick.kernels);
            slots.for_each(|slot| w.tick.observer.stalled(w.tick.now, slot, &wait));
        }
    }

    /// The instruction that waits because of `stall`, the reason of `warps`.
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
        let none = Wait { stall, place: None, warp: None, inst: None, window };
        let (candidates, free) = (self.policy.candidates(), warps & state.warps.free());
        let is_ready = stall.is_blocked() || stall == Stall::SameUnit;
        let hazard = candidates.stalled(stall) & free;
        let of_stall = match stall {
            Stall::Idle => return none,
            _ if is_ready => candidates.ready() & free,
            _ if !hazard.is_empty() => hazard,
            // They wait for a constant.
            Stall::InstructionCache if LooksUp::<D>::CONSTANTS && candidates.ready().meets(free) => {
                candidates.ready() & free
            }
            _ => {
                let mut held = self.held((warps, free), state, fetch).into_iter();
                held.find(|(reason, _)| *reason == stall).map_or(MaskOf::<D>::NONE, |(_, held)| held)
            }
        };
        let Some(warp) = of_stall.first() else { return none };
        let none = Wait { warp: Some(warp), ..none };
        let at = |pc: Pc| Some((state.warps.kernel[warp.index()], pc));
        let last_issued = || at(state.warps.last_issued[warp.index()]);
        let inst = match stall {
            _ if is_ready => {
                let pipes = candidates.pipes_of(MaskOf::<D>::of(warp));
                Some(self.policy.select(window, warp, pipes))
            }
            _ if !hazard.is_empty() => self.policy.oldest(warp),
            Stall::InstructionCache if !state.warps.missing.contains(warp) => self.policy.oldest(warp),
            Stall::InstructionCache | Stall::EmptyBuffer => {
                return Wait { place: fetch.next_pc(warp).and_then(at).or_else(last_issued), ..none };
            }
            _ => return Wait { place: last_issued(), ..none },
        };
        Wait { place: inst.and_then(|id| at(window.inst(id).pc)).or_else(last_issued), inst, ..none }
    }

    /// The scheduler of `turn` issues `id` in `slot`. Returns its pipe.
    #[inline(always)]
    fn issue_one<O: Observer>(
        &mut self,
        w: &mut IssueWires<'_, D, O>,
        turn: Turn<MaskOf<D>>,
        slot: usize,
        id: InstId,
    ) -> Pipe {
        let partition = usize::from(turn.partition);
        self.account.issue(slot);
        let State { slab, warps, counters, class_counts, work_counts, dirty, wake_up, .. } = &mut *w.state;
        wake_up.moved();
        w.operands.wake(partition);
        let order = counters.warp_instructions;
        let window = Window { slab, kernels: w.tick.kernels };
        let flight = window.flight(id);
        let (warp, pipe) = (flight.warp, flight.pipe);
        let (has_effect, distance) = (flight.has_effect, flight.issue_distance);
        // The scheduler looks again: at all its warps, as it does if one is dirty.
        *dirty |= turn.warps;
        warps.last_issued[warp.index()] = flight.pc;
        let lanes = counters.count_issue(&flight);
        class_counts.0[flight.class as usize] += 1;
        work_counts.0[flight.work as usize] += lanes;
        // Until it is complete or has been performed, which fences wait for.
        warps.writers[warp.index()] += u32::from(flight.dsts > 0);
        warps.outstanding[warp.index()] += u32::from(flight.mem.is_some());
        w.id_oc.push(w.id_oc.id(pipe, partition), id, order);
        self.policy.on_issue(flight);
        w.fetch.source.on_issue(turn.number.into(), warp);
        w.tick.observer.issued(w.tick.now, slot, Seen { id, window });
        if has_effect {
            let released = w.reborrow().take_effect(warp, id);
            self.runnable |= released;
            self.free = w.state.warps.free();
        }
        if distance > 1 && !w.state.warps.exited.contains(warp) {
            w.state.warps.stalls.hold(w.tick.now, MaskOf::<D>::of(warp), distance);
            self.free.remove(warp);
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
            return if state.commands.is_full(partition) && blocked.contains(state.commands.pipe()) {
                Stall::UnitBusy
            } else if operands.is_full(partition) {
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
            let counts = || (state.warps.stalls.holding & !state.warps.held()).meets(warps);
            return if hazard > Stall::StallCount && counts() { Stall::StallCount } else { hazard };
        }
        let held = self.held((warps, free), state, fetch);
        held.into_iter().find(|(_, mask)| !mask.is_empty()).map_or(Stall::Idle, |(stall, _)| stall)
    }

    /// The warps of `warps` that are held, or whose buffers are empty, by reason in order of priority.
    #[inline]
    fn held(
        &self,
        (warps, free): (MaskOf<D>, MaskOf<D>),
        state: &State<MaskOf<D>>,
        fetch: &FetchOf<D>,
    ) -> [(Stall, MaskOf<D>); 12] {
        let w = &state.warps;
        [
            (Stall::StallCount, w.stalls.holding & warps & !w.held()),
            (Stall::Atomic, w.at_atomic & warps & !w.exited | w.atomic_at_exchange & free),
            (Stall::Fence, w.at_fence & warps | w.fence_at_exchange & free),
            (Stall::AsyncCopy, (w.at_copies | w.at_bulk | w.at_bulk_reads) & warps),
            (Stall::MatrixGroup, w.at_matrices & warps),
            (Stall::Mbarrier, w.at_mbarrier & free),
            (Stall::Sleep, w.asleep & warps),
            (Stall::Barrier, w.at_barrier & warps),
            (Stall::Control, fetch.at_branch() & free),
            (Stall::InstructionCache, w.missing & free),
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

    /// Informs the layer, and takes off what lanes need not do because of it: it was counted in this cycle.
    #[cold]
    pub(super) fn issue_routed(&mut self, id: InstId) {
        let state = &mut *self.state;
        let (route, work) = (state.slab.route(id), state.slab.get(id).work);
        self.layer.on_issue(route);
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
        self.unit_instructions += u64::from(inst.work.is_arithmetic());
        self.pipe_cycles += u64::from(inst.pipe_cycles);
        self.lane_writes += lanes * u64::from(inst.vector_dsts);
        if inst.is_special | (lanes == 0) {
            self.count_special(inst, lanes);
        }
        lanes
    }

    /// Adds `inst` to the statistics that do not count most instructions ([`Micro::is_special`]).
    ///
    /// [`Micro::is_special`]: crate::resolved::Micro::is_special
    #[inline(never)]
    fn count_special(&mut self, inst: &InFlight, lanes: u64) {
        let is_matrix = inst.class == OpClass::Tensor;
        self.tensor_cycles += u64::from(if is_matrix { inst.initiation_cycles } else { 0 });
        self.matrix_multiply_adds += u64::from(inst.multiply_adds);
        self.half_operations += lanes * u64::from(inst.half_operations);
        self.constant_moves += u64::from(inst.work == Work::Memory && inst.mem.is_none());
        self.empty_instructions += u64::from(lanes == 0);
    }
}

impl<D: CoreDesign> Persist for IssueStage<D> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { policy, schedulers, runnable, blocked, account, .. } = self;
        let Self { count: _, turns: _, width: _, considers_live: _, sharing: _, free: _, .. } = self;
        policy.persist(archive)?;
        each(schedulers, archive)?;
        runnable.persist(archive)?;
        blocked.persist(archive)?;
        account.persist(archive)
    }
}
