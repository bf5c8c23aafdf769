//! Issue: each warp scheduler chooses a warp and issues its candidates.
//!
//! Schedulers take turns at going first, by the cycle. A scheduler sees the warps that have a
//! candidate whose issue latch (ID_OC) has room and that nothing holds; the one it chooses issues
//! up to the issue width. Memory instructions, control, barriers and fences take their effect on
//! the warp here, as in GPGPU-Sim.

pub mod policy;
pub mod schedulers;

use crate::design::{CoreDesign, MaskOf};
use crate::inflight::{InstId, Stage, Window};
use crate::issue::policy::IssuePolicy;
use crate::issue::schedulers::View;
use crate::kernel::Kernel;
use crate::observe::observer::{Observer, Seen};
use crate::observe::stalls::Stall;
use crate::operands::OperandStage;
use crate::sm::{SCHEDULERS, Sm, Wake};
use crate::spec::{Pipe, PipeSet};
use crate::warps::mask::WarpMask;
use config::{HoldingAtomics, InvalidatingFences};
use isa::{Access, Control, Space, WarpSlot, WarpStream};
use kit::Cycle;

impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// Every scheduler's turn. One that found nothing to issue finds nothing until something
    /// changes, for the same reason.
    #[inline]
    pub(crate) fn issue(&mut self, now: Cycle, kernels: &[Kernel]) {
        if self.policy.tick(now, Window { slab: &self.slab, kernels }, &mut self.agenda) {
            self.stirred = MaskOf::<D>::ALL;
        }
        self.stirred |= self.policy.take_changed(std::mem::take(&mut self.touched));
        if self.stirred.is_empty() {
            return;
        }
        // As GPGPU-Sim, whose turn moves on in every cycle in which the SM has warps.
        let (turn, count) = (self.counters.active_cycles, self.schedulers.len() as u64);
        let first = if count.is_power_of_two() { turn & (count - 1) } else { turn % count };
        // Those that have yet to come: the first and those above it, then those below.
        let (mut above, mut below) = (u32::MAX << first, !(u32::MAX << first));
        self.due_schedulers = self.schedulers_of(self.stirred);
        self.stirred = MaskOf::<D>::NONE;
        loop {
            // An issue may add schedulers that have yet to come: a barrier is released.
            above = if self.due_schedulers & above == 0 { std::mem::take(&mut below) } else { above };
            let due = self.due_schedulers & above;
            if due == 0 {
                break;
            }
            let scheduler = due.trailing_zeros();
            above &= u32::MAX << 1 << scheduler;
            self.issue_from(now, kernels, scheduler as usize);
        }
    }

    /// The schedulers of `warps`, one bit each: those of scheduler *s* are every *count*-th from *s*.
    #[inline]
    fn schedulers_of(&self, warps: MaskOf<D>) -> u32 {
        let count = self.schedulers.len();
        let all = (1 << count) - 1;
        if !count.is_power_of_two() {
            let has_any = |s: &usize| self.scheduler_warps[*s].meets(warps);
            return (0..count).filter(has_any).fold(0, |set, s| set | 1 << s);
        }
        let mut warps = warps.folded();
        // There are at most `SCHEDULERS`.
        for half in [32, 16, 8, 4, 2, 1] {
            if half >= SCHEDULERS || half >= count {
                warps |= warps >> half;
            }
        }
        warps as u32 & all
    }

    /// One scheduler's turn.
    #[inline]
    fn issue_from(&mut self, now: Cycle, kernels: &[Kernel], scheduler: usize) {
        let mine = self.scheduler_warps[scheduler % SCHEDULERS];
        let partition = self.spec.partition(scheduler);
        let view = View {
            live: self.warps.resident & !self.warps.exited & mine,
            held: self.warps.held() & mine,
            long_waits: self.policy.stalls().of(Stall::RawMemory) & mine,
            age: &self.warps.age,
        };
        let considered = self.schedulers[scheduler].considered(&view);
        let full = self.id_oc.full_pipes(partition);
        let ready = self.policy.ready().outside(full) & considered & !view.held;
        if ready.is_empty() {
            let warps = if considered.is_empty() { self.warps.resident & mine } else { considered };
            let stall = self.why(warps, partition);
            self.blocked = if stall.is_blocked() { self.blocked | mine } else { self.blocked & !mine };
            self.stall_slots(now, scheduler, 0, stall);
            return;
        }
        let first = ready & self.policy.first();
        let warp = self.schedulers[scheduler].choose(if first.is_empty() { ready } else { first }, &view);
        self.issue_warp(now, kernels, scheduler, warp, PipeSet::ALL.except(full));
    }

    /// Issues from `warp`, which has a candidate for one of the `open` pipes.
    #[inline]
    fn issue_warp(&mut self, now: Cycle, kernels: &[Kernel], scheduler: usize, warp: WarpSlot, open: PipeSet) {
        let id = self.policy.select(Window { slab: &self.slab, kernels }, warp, open);
        let pipe = self.issue_one(now, kernels, scheduler, id);
        let width = self.spec.sm.issue.width as usize;
        self.account.issue(scheduler * width);
        if width > 1 {
            self.issue_more(now, kernels, scheduler, warp, pipe);
        }
    }

    /// Issues as many more from `warp` as the width allows, behind one that went to `pipe`.
    #[cold]
    #[inline(never)]
    fn issue_more(&mut self, now: Cycle, kernels: &[Kernel], scheduler: usize, warp: WarpSlot, mut pipe: Pipe) {
        let issue = &self.spec.sm.issue;
        let (width, different) = (issue.width as usize, issue.dual_issue_needs_different_units);
        let partition = self.spec.partition(scheduler);
        for slot in 1..width {
            let mut open = self.policy.ready().pipes_of(MaskOf::<D>::of(warp)).except(self.id_oc.full_pipes(partition));
            let room = open.contains(pipe);
            if different {
                open = open.without(pipe);
            }
            if self.warps.held().contains(warp) || open.0 == 0 {
                let stall =
                    if different && room { Stall::SameUnit } else { self.why(MaskOf::<D>::of(warp), partition) };
                self.stall_slots(now, scheduler, slot, stall);
                break;
            }
            self.counters.multiple_issues += u64::from(slot == 1);
            let id = self.policy.select(Window { slab: &self.slab, kernels }, warp, open);
            pipe = self.issue_one(now, kernels, scheduler, id);
            self.account.issue(scheduler * width + slot);
        }
    }

    /// Marks the slots of `scheduler` from `first` on as stalled.
    #[inline]
    fn stall_slots(&mut self, now: Cycle, scheduler: usize, first: usize, stall: Stall) {
        let width = self.spec.sm.issue.width as usize;
        for slot in first..width {
            self.account.stall(scheduler * width + slot, stall);
            self.observer.stalled(now, scheduler, stall);
        }
    }

    /// Issues `id`. Returns its pipe.
    #[inline(always)]
    fn issue_one(&mut self, now: Cycle, kernels: &[Kernel], scheduler: usize, id: InstId) -> Pipe {
        let partition = self.spec.partition(scheduler);
        self.agenda.moved();
        self.operands.wake(partition);
        let flight = self.slab.get_mut(id);
        flight.stage = Stage::Issued;
        let order = self.counters.warp_instructions;
        flight.issue_number = order;
        let (warp, pipe, control, mem) = (flight.warp, flight.pipe, flight.control, flight.mem);
        let ends_warp = flight.ends_warp;
        self.stirred.insert(warp);
        self.warps.last_issued[warp.index()] = flight.pc;
        self.counters.warp_instructions += 1;
        let lanes = u64::from(flight.mask.count_ones());
        self.counters.thread_instructions += lanes;
        let (reads, writes) = (flight.vector_srcs, flight.vector_dsts);
        self.counters.lane_reads += lanes * u64::from(reads);
        self.counters.lane_writes += lanes * u64::from(writes);
        self.counters.empty_instructions += u64::from(flight.mask == 0);
        self.class_counts.0[flight.class as usize] += 1;
        self.work_counts.0[flight.work as usize] += lanes;
        if flight.is_routed {
            self.issue_routed(id);
        }

        self.id_oc.push(self.id_oc.id(pipe, partition), id, order);
        let window = Window { slab: &self.slab, kernels };
        self.policy.on_issue(window, id);
        self.observer.issued(now, scheduler, Seen { id, window });
        if mem.is_some() {
            self.begin_access(id);
        }
        self.resolve_control(now, warp, id);
        if control != Control::None {
            self.take_effect(now, control, id);
        }
        if ends_warp {
            self.exit_warp(now, warp);
        }
        pipe
    }

    /// Informs the layer, and takes off what lanes need not do because of it.
    #[cold]
    fn issue_routed(&mut self, id: InstId) {
        let (route, work) = (self.slab.route(id), self.slab.get(id).work);
        self.layer.on_issue(route);
        self.counters.lane_reads -= u64::from(route.lane_reads_saved);
        self.counters.lane_writes -= u64::from(route.lane_writes_saved);
        self.work_counts.0[work as usize] -= u64::from(route.lanes_saved);
    }

    /// A memory instruction issues: fences count it, and copies and atomics are remembered.
    #[inline]
    fn begin_access(&mut self, id: InstId) {
        let flight = self.slab.get_mut(id);
        let warp = flight.warp;
        self.warps.outstanding[warp.index()] += 1;
        match flight.mem.map(|m| m.access) {
            Some(Access::AsyncCopy) => flight.group = self.copies.issue(warp),
            Some(Access::Atomic | Access::Reduction) if self.holds_warp(id) => {
                self.slab.get_mut(id).holds_warp = true;
                self.warps.atomics[warp.index()] += 1;
                self.warps.at_atomic.insert(warp);
            }
            _ => {}
        }
    }

    /// Whether the warp of `id`, an atomic, issues nothing until it has returned.
    fn holds_warp(&self, id: InstId) -> bool {
        let holding = self.spec.sm.issue.atomics_hold_warp;
        let holds = match self.slab.dynamic(id).space {
            Space::Shared => holding == HoldingAtomics::All,
            _ => holding != HoldingAtomics::None,
        };
        holds && self.slab.get(id).mask != 0
    }

    /// `warp` issues a fence: it waits for accesses on their way.
    fn reach_fence(&mut self, warp: WarpSlot, control: Control) {
        let invalidates = match self.spec.sm.l1d.fences_invalidate {
            InvalidatingFences::None => false,
            InvalidatingFences::Device => control == Control::Fence,
            InvalidatingFences::All => true,
        };
        if invalidates {
            self.warps.invalidates.insert(warp);
        }
        if self.warps.outstanding[warp.index()] > 0 {
            self.warps.at_fence.insert(warp);
        } else {
            self.pass_fence(warp);
        }
    }

    /// The fence of `warp` is complete.
    pub(crate) fn pass_fence(&mut self, warp: WarpSlot) {
        if self.warps.invalidates.contains(warp) {
            self.warps.invalidates.remove(warp);
            self.invalidate_l1();
        }
    }

    /// Effects of `id` on its warp other than where it goes next.
    fn take_effect(&mut self, now: Cycle, control: Control, id: InstId) {
        let (warp, mask) = (self.slab.get(id).warp, self.slab.get(id).mask);
        let dynamic = self.slab.dynamic(id);
        match control {
            Control::BarrierSync | Control::BarrierArrive if mask != 0 => {
                let (arrival, waits) = (dynamic.barrier, control == Control::BarrierSync);
                self.counters.barrier_arrivals += 1;
                if waits {
                    self.warps.at_barrier.insert(warp);
                }
                let released = self.barriers.arrive(self.warps.cta[warp.index()], warp, arrival, waits);
                self.release(now, released);
            }
            Control::Fence | Control::FenceCta => self.reach_fence(warp, control),
            Control::AsyncCommit => self.copies.commit(warp),
            Control::AsyncWait if !self.copies.wait(warp, dynamic.async_groups_left) => {
                self.warps.at_copies.insert(warp);
            }
            Control::Sleep if dynamic.sleep_cycles > 0 => {
                self.warps.asleep.insert(warp);
                self.wake_at(now + Cycle::from(dynamic.sleep_cycles), Wake::Rise(warp));
            }
            _ => {}
        }
    }

    /// All threads of `warp` have exited.
    fn exit_warp(&mut self, now: Cycle, warp: WarpSlot) {
        self.warps.exited.insert(warp);
        let released = self.barriers.exit(self.warps.cta[warp.index()], warp);
        self.release(now, released);
    }

    /// Lets warps go on behind a barrier.
    fn release(&mut self, now: Cycle, warps: MaskOf<D>) {
        if !warps.is_empty() {
            self.warps.at_barrier &= !warps;
            self.stirred |= warps;
            self.due_schedulers |= self.schedulers_of(warps);
            self.fetch.release_from_barrier(warps);
            self.observer.released(now, warps.widest());
        }
    }

    /// Why none of `warps` issues, in the order of priority of [`Stall`].
    pub(crate) fn why(&self, warps: MaskOf<D>, partition: usize) -> Stall {
        let w = &self.warps;
        let free = warps & !w.held();
        let ready = self.policy.ready();
        // A ready candidate that did not issue found its latch full.
        let blocked = ready.pipes_of(free);
        if blocked.0 != 0 {
            return if self.operands.is_full(partition) {
                Stall::CollectorFull
            } else if blocked.contains(Pipe::MEM) {
                Stall::MemoryPipeFull
            } else if self.operands.any_waits_for_unit(partition) {
                Stall::UnitBusy
            } else {
                Stall::CollectorFull
            };
        }
        if let Some(hazard) = self.policy.stalls().first(free) {
            return hazard;
        }
        let empty = [
            (Stall::Atomic, w.at_atomic & warps & !w.exited),
            (Stall::Fence, w.at_fence & warps),
            (Stall::AsyncCopy, w.at_copies & warps),
            (Stall::Sleep, w.asleep & warps),
            (Stall::Barrier, w.at_barrier & warps),
            (Stall::Control, self.fetch.at_branch() & free),
            (Stall::InstructionCache, self.fetch.missing() & free),
            (Stall::EmptyBuffer, free),
            (Stall::Drain, warps),
        ];
        empty.into_iter().find(|(_, mask)| !mask.is_empty()).map_or(Stall::Idle, |(stall, _)| stall)
    }
}
