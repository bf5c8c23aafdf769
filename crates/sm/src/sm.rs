//! The SM: its parts in the order of the block diagram, its cycle, the wires of its stages.

use crate::core::SmTotals;
use crate::design::{ConfigOf, CoreDesign, FetchOf, MaskOf};
use crate::execute::ExecutionStage;
use crate::execute::latches::Latches;
use crate::execute::work::WorkCounts;
use crate::execute::write_back::WriteBack;
use crate::frontend::FrontEnd;
use crate::frontend::decode::{Decode, DecodeWires};
use crate::frontend::fetch::Fetch;
use crate::issue::policy::IssuePolicy;
use crate::issue::stage::{IssueStage, IssueWires};
use crate::kernel::ResidentKernel;
use crate::memory::copy_engine::{Complete, Read, Received};
use crate::memory::load_store::is_of_engine;
use crate::memory::peers::Reply;
use crate::memory::{MemoryCounters, MemoryStage, MemoryWires};
use crate::observe::counters::{ClassCounts, DesignStatistics, SmCounters};
use crate::observe::observer::{Observer, Seen, Silent};
use crate::observe::stalls::{SlotAccount, Stall};
use crate::operands::layer::{Layer, LayerCounts};
use crate::operands::{Collected, Hooks, OperandStage, Wires};
use crate::outbox::{Client, Outbox};
use crate::slab::Window;
use crate::spec::CoreSpec;
use crate::state::{State, Tick};
use crate::wake_up::{Timer, WakeUp};
use crate::warps::mask::{MOST_WARPS, WarpMask};
use crate::warps::occupancy::Resources;
use gpu::{Core, FinishedCta, Multicast, PeerEvent, PeerRequest, Pulse, SpinningWarp};
use isa::{ClusterMember, CtaSlot, Dim3, Fault, KernelId, LaunchShape, WarpSlot, WarpStream};
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist};
use kit::{ByKind, Counters, Cycle, NEVER};
use mem::{Port, RequestKind};
use std::fmt;
use std::sync::Arc;

/// State that an SM shares with the rest of the GPU while it ticks.
pub type Env<'a, Shared> = gpu::Env<'a, ResidentKernel, Shared>;

/// A streaming multiprocessor: warps as stream `S` has them, issue design `P`, watched by `O`.
///
/// ```text
///  fetch ► decode ► policy ► schedulers ► ID_OC ► collectors ► OC_EX ─┬► units ► EX_WB ─┬► write-back
///    ▲                                              ▲                 └► load/store ────┘      │
///    └ control resolved at issue                    └────────── register banks ◄───────────────┘
/// ```
pub struct Sm<S: WarpStream, D: CoreDesign, O: Observer = Silent> {
    pub(crate) fetch: FetchOf<D>,
    pub(crate) decode: Decode<S>,
    pub(crate) issue: IssueStage<D>,
    id_oc: Latches,
    layer: Layer,
    pub(crate) operands: D::Operands,
    oc_ex: Latches,
    units: D::Execution,
    memory: D::Memory,
    /// The next reply from the memory cannot be taken before something else happens.
    inbox_stuck: bool,
    /// State that the stages share.
    pub(crate) state: State<MaskOf<D>>,
    /// The observer of each event of an instruction; none, unless a caller asks for it.
    pub observer: O,
}

impl<S: WarpStream, D: CoreDesign, O: Observer> fmt::Debug for Sm<S, D, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycles = self.issue.account.cycles();
        f.debug_struct("Sm").field("id", &self.state.id).field("cycles", &cycles).finish_non_exhaustive()
    }
}

impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// Creates an SM without warps. Panics if it has more warp slots than [`IssuePolicy::Mask`] has bits.
    pub fn new(id: u16, spec: Arc<CoreSpec>, stream: S, config: &ConfigOf<D>, observer: O) -> Self {
        let (warps, slots) = (spec.sm.max_warps as usize, MaskOf::<D>::SLOTS);
        assert!(warps <= slots, "{warps} warp slots, and this issue design is of {slots}");
        Self {
            fetch: Fetch::new(&spec, D::front_end(config, &spec), D::branches(config, spec.sm.frontend.branches)),
            decode: Decode { stream, woken: vec![] },
            issue: IssueStage::new(config, &spec),
            id_oc: Latches::new(&spec, |p| spec.issue_latches(p)),
            layer: Layer::new(&spec),
            operands: D::operands(config, &spec),
            oc_ex: Latches::new(&spec, |p| spec.dispatch_latches(p)),
            units: D::Execution::new(&spec),
            memory: D::memory(config, &spec),
            inbox_stuck: false,
            state: State::new(id, spec),
            observer,
        }
    }
}

impl<S: WarpStream, D: CoreDesign, O: Observer> Core for Sm<S, D, O> {
    type Kernel = ResidentKernel;
    type Shared = S::Shared;
    type Counters = SmTotals;

    /// Each of four caches makes one request, one access bypasses them, and the copy engine makes one.
    const MOST_REQUESTS: usize = 6;
    const FETCHES_CODE: bool = <D::FrontEnd as FrontEnd<MaskOf<D>>>::PLACES_CODE;

    /// Back to front: a stage finds room that the one after it made in this cycle.
    #[inline]
    fn tick(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>) -> Result<(), Box<Fault>> {
        self.wake(now);
        self.execute(now, env.kernels, env.port);
        self.collect_operands(now, env.kernels);
        self.issue(now, env.kernels);
        // A cycle with a fault is a cycle too: its slots are accounted for.
        let done = self.decode_and_fetch(now, env);
        self.end_cycle();
        done
    }

    #[inline]
    fn next_event(&self, port: &Port) -> Cycle {
        let from = self.issue.account.cycles();
        if self.state.wake_up.is_due(from) {
            return from;
        }
        let next = self.state.wake_up.next().min(self.state.peers.next_event());
        let reply = port.inbox.front().filter(|_| !self.inbox_stuck).map_or(NEVER, |&(due, _)| due);
        let stages = self.memory.next_event(from).min(self.units.next_ending(from));
        next.min(reply).min(self.state.timers.next).min(stages).min(self.state.engine.next_event()).max(from)
    }

    fn cycles(&self) -> Cycle {
        self.issue.account.cycles()
    }

    fn can_accept(&self, coming: &mut dyn Iterator<Item = &LaunchShape>, shape: &LaunchShape) -> bool {
        self.state.ctas.can_accept(&self.state.spec.sm, coming, shape)
    }

    fn prepare_cta(&mut self, shared: &mut S::Shared, kernel: KernelId, cta: Dim3) {
        self.decode.stream.prepare_cta(shared, kernel, cta);
    }

    /// The warps are fetched for from the next tick on.
    #[inline(never)]
    fn start_cta(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>, kernel: KernelId, cta: Dim3) {
        self.catch_up(now);
        self.state.count_warps(self.issue.account.cycles());
        let launch = &env.kernels[kernel.index()];
        let state = &mut self.state;
        self.fetch.source.catch_up(now);
        self.memory.prepare_kernel(&state.spec, (kernel, launch), state.ctas.is_empty());
        self.fetch.source.prepare_kernel(kernel, state.ctas.is_empty());
        let need = Resources::of_cta(&state.spec.sm, &launch.shape);
        let mut slots = [WarpSlot(0); MOST_WARPS];
        let (slot, count) = state.ctas.start(kernel, cta, need, &mut slots);
        let slots = &slots[..count];
        for (index, &warp) in slots.iter().enumerate() {
            state.warps.start(warp, kernel, slot, index);
            self.issue.policy.start_warp(warp, &launch.code.program.regs);
            self.layer.start_warp(warp, launch, index);
        }
        self.decode.stream.start_cta(env.shared.get(), kernel, cta, slot, slots);
        slots.iter().for_each(|&warp| self.fetch.set_next_pc(warp, self.decode.stream.next_pc(warp)));
        state.counters.ctas_started += 1;
        self.observer.cta_started(now, kernel, cta, slot, slots);
        state.wake_up.put_first(self.issue.account.cycles());
        state.dirty = MaskOf::<D>::ALL;
    }

    #[inline]
    fn merge(&mut self, shared: &mut S::Shared) {
        self.decode.stream.merge(shared);
        self.state.ctas.exchanged();
    }

    #[inline]
    fn waiting(&self) -> &[Cycle] {
        self.decode.stream.waiting()
    }

    fn exchange(&mut self, shared: &mut S::Shared) -> Result<(), Box<Fault>> {
        let warp = self.decode.stream.exchange(shared)?;
        warp.into_iter().for_each(|warp| self.state.warps.exchanged.insert(warp));
        Ok(())
    }

    fn wants_peers(&self) -> bool {
        self.decode.stream.wants_peers()
    }

    fn lend(&mut self, shared: &mut S::Shared) {
        self.decode.stream.lend(shared);
    }

    fn take_back(&mut self, shared: &mut S::Shared) -> bool {
        let stream = &mut self.decode.stream;
        stream.take_back(shared);
        while let Some(warp) = stream.take_woken() {
            self.state.warps.exchanged.insert(warp);
        }
        !self.state.warps.exchanged.is_empty()
    }

    fn take_peer_requests(&mut self) -> Vec<PeerRequest> {
        self.state.peers.take_requests()
    }

    fn take_multicasts(&mut self) -> Vec<Multicast> {
        self.state.peers.take_multicasts()
    }

    fn receive_multicast(&mut self, to: ClusterMember, multicast: &Multicast) -> u32 {
        self.state.engine.expect(to, multicast)
    }

    fn receive_from_peer(&mut self, at: Cycle, event: PeerEvent) {
        self.state.peers.receive(at, event);
    }

    /// Decodes in cycle `now` the rest of the fetches of warps that waited.
    fn end_exchange(&mut self, now: Cycle) {
        let warps = std::mem::replace(&mut self.state.warps.exchanged, MaskOf::<D>::NONE) | self.take_woken();
        self.go_on(now, warps);
    }

    fn finished(&mut self) -> &mut Vec<FinishedCta> {
        &mut self.state.ctas.finished
    }

    fn has_threads(&self) -> bool {
        self.resident_warps() > 0
    }

    fn is_idle(&self) -> bool {
        let state = &self.state;
        state.ctas.is_empty()
            && state.slab.is_empty()
            && state.engine.is_idle()
            && state.peers.is_idle()
            && self.memory.is_idle()
    }

    fn settle(&mut self, now: Cycle) {
        self.catch_up(now);
        self.fetch.source.catch_up(now);
        self.issue.account.close_all();
        self.observer.settled(now);
    }

    /// Every issue slot is an issue or a stall.
    fn check(&self) {
        self.issue.account.check();
    }

    fn flush_l1(&mut self) {
        self.memory.invalidate_l1();
        self.state.engine.drop_maps();
    }

    fn count(&self, sum: &mut SmTotals) {
        sum.sm.add(&self.state.counted(self.issue.account.cycles()));
        sum.slots_issued += self.account().issued();
        sum.slots_stalled.add(&ByKind(std::array::from_fn(|i| self.account().stalled(Stall::ALL[i]))));
        sum.classes.add(self.class_counts());
        sum.works.add(self.work_counts());
        let mut design = self.policy().statistics();
        if let Some(layer) = self.layer_counts() {
            design.extend(layer.statistics());
            sum.layer.add(&layer.counters);
        }
        design.extend(self.fetch.source.statistics());
        sum.design.add(&DesignStatistics(design));
        let memory = self.memory_counters();
        sum.l1d.add(&memory.l1d);
        sum.icache.add(&self.fetch.source.counters());
        sum.constant.add(&memory.constant);
        sum.texture.add(&memory.texture);
    }

    fn warp_instructions(&self) -> u64 {
        self.counters().warp_instructions
    }

    fn cta_events(&self) -> u64 {
        self.counters().ctas_started + self.counters().ctas_finished
    }

    fn describe_stalls(&self, kernels: &[ResidentKernel]) -> Vec<String> {
        Sm::describe_stalls(self, kernels).iter().map(ToString::to_string).collect()
    }

    fn persist(&mut self, kernels: &[ResidentKernel], archive: &mut Archive) -> Result<(), Mismatch> {
        let Self {
            fetch,
            decode: _,
            issue,
            id_oc: _,
            layer,
            operands,
            oc_ex: _,
            units,
            memory,
            inbox_stuck,
            state,
            observer,
        } = self;
        fetch.persist(archive)?;
        issue.persist(archive)?;
        layer.persist(archive)?;
        operands.persist(archive)?;
        units.persist(archive)?;
        memory.persist(&state.spec, archive)?;
        inbox_stuck.persist(archive)?;
        state.persist(archive)?;
        observer.persist(kernels, archive)
    }

    fn watch_changes(&self, shared: &mut S::Shared) {
        self.stream().watch_changes(shared);
    }

    fn has_changed(&self, shared: &S::Shared) -> bool {
        self.stream().has_changed(shared)
    }

    fn pulses(&self) -> Vec<(WarpSlot, Pulse)> {
        Sm::pulses(self).collect()
    }

    fn follow_loops(
        &mut self,
        now: Cycle,
        kernels: &[ResidentKernel],
        shared: &mut S::Shared,
        blocked: &dyn Fn(WarpSlot) -> bool,
    ) -> Vec<SpinningWarp> {
        Sm::follow_loops(self, now, kernels, shared, blocked)
    }
}

/// The stages of a cycle and the wires between them. Those in which a cycle often has nothing to do are functions of
/// their own, entered only if it has: inlined they would share too few registers of the host.
impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// Accounts for the cycles slept and does what time alone brings.
    #[inline]
    fn wake(&mut self, now: Cycle) {
        self.catch_up(now);
        let Self { state, fetch, observer, .. } = self;
        state.wake_up = WakeUp::none();
        if !state.warps.stalls.holding.is_empty() {
            state.dirty |= state.warps.stalls.release(now);
            state.wake_up.at(state.warps.stalls.next(now));
        }
        if state.timers.next <= now {
            let mut passing = MaskOf::<D>::NONE;
            state.timers.end_due(now, |timer| {
                let (Timer::Refetch(warp) | Timer::Rise(warp) | Timer::Pass(warp)) = timer;
                state.dirty.insert(warp);
                match timer {
                    Timer::Refetch(_) => fetch.refetch(warp),
                    Timer::Rise(_) => state.warps.asleep.remove(warp),
                    Timer::Pass(_) => passing.insert(warp),
                }
            });
            if !passing.is_empty() {
                state.warps.at_barrier &= !passing;
                fetch.release_from_barrier(passing);
                observer.released(now, passing.widest());
            }
            state.wake_up.moved();
        }
    }

    /// Instructions leave their units, which take others; loads and stores; the CTAs that end with any.
    #[inline]
    fn execute(&mut self, now: Cycle, kernels: &[ResidentKernel], port: &mut Port) {
        if self.units.has_ending(now) {
            self.write_back(now, kernels);
        }
        if self.state.peers.next_event() <= now {
            self.receive_from_peers(now, kernels);
        }
        if self.oc_ex.waiting_for_units() != 0 || self.units.has_waiting() {
            self.dispatch(now, kernels);
        }
        let may_send = || self.memory.may_send() | self.fetch.source.may_send();
        // The most frequent first.
        if self.memory.has_work(now, self.oc_ex.waiting_for_memory() != 0) || may_send() || port.answer(now).is_some() {
            self.access_memory(now, kernels, port);
        }
        if self.state.engine.next_event() <= now {
            self.copy(now, kernels, port);
        }
        if self.state.ctas.ended != 0 {
            self.end_ctas();
        }
    }

    /// Steps the copy engine. Commands whose bytes have arrived complete barriers and groups.
    #[cold]
    #[inline(never)]
    fn copy(&mut self, now: Cycle, kernels: &[ResidentKernel], port: &mut Port) {
        let Self { issue, operands, state, observer, .. } = self;
        let counters = &mut state.counters;
        let mut outbox = Outbox::new(now, port, &state.spec, &mut state.wake_up, &mut counters.requests);
        let (parameters, busy_cycles) = (&state.spec.sm.copy_engine, &mut counters.transfer_cycles);
        let read = state.engine.send(now, parameters, &mut outbox, busy_cycles);
        let tick = Tick { now, kernels, observer };
        let mut wb = WriteBack { tick, state, policy: &mut issue.policy, operands };
        if let Some(Read { warp, place, goes_on }) = read {
            wb.state.wake_up.moved();
            if goes_on {
                wb.state.warps.at_bulk_reads.remove(warp);
                wb.state.dirty.insert(warp);
                wb.awaited(warp, Stall::AsyncCopy, place);
            }
        }
        while let Some(complete) = wb.state.engine.end(now) {
            let Complete { warp, place, transfer, transferred, goes_on, received, ended } = complete;
            wb.state.wake_up.moved();
            if let Some(Received { to, from, message }) = received {
                self.decode.stream.delivered(to, from, message, now);
                continue;
            }
            ended.into_iter().for_each(|multicast| wb.state.peers.note_multicast(multicast));
            if let Some(accesses) = self.decode.stream.transferred(transfer, now) {
                wb.state.counters.peer_bytes += accesses.to.iter().map(|&(_, bytes)| u64::from(bytes)).sum::<u64>();
                wb.state.peers.send_copy(now, &accesses);
            }
            wb.tick.observer.transferred(now, warp, place, transferred);
            self.decode.note_awaited(&mut wb.tick, wb.state, place);
            if goes_on {
                wb.state.warps.at_bulk.remove(warp);
                wb.state.dirty.insert(warp);
                wb.awaited(warp, Stall::AsyncCopy, place);
            }
            wb.state.warps.transfers[warp.index()] -= 1;
            wb.performed(warp);
        }
        let woken = self.take_woken();
        self.go_on(now, woken);
    }

    /// Processes the replies and accesses of other CTAs that have arrived through the network of clusters.
    #[cold]
    #[inline(never)]
    fn receive_from_peers(&mut self, now: Cycle, kernels: &[ResidentKernel]) {
        let Self { issue, operands, memory, state, observer, decode, .. } = self;
        let tick = Tick { now, kernels, observer };
        let mut wb = WriteBack { tick, state, policy: &mut issue.policy, operands };
        while let Some(event) = wb.state.peers.take_event(now) {
            wb.state.wake_up.moved();
            match event {
                PeerEvent::Arrived { to, from, message } => decode.stream.delivered(to, from, message, now),
                PeerEvent::Replied { token } => match wb.state.peers.reply(token) {
                    Reply::Store(warp) => wb.performed(warp),
                    Reply::Complete(id) => memory.receive_from_peers(id),
                    Reply::Partial => {}
                },
            }
        }
        let woken = self.take_woken();
        self.go_on(now, woken);
    }

    /// Warps that need not wait at an `mbarrier` any longer.
    fn take_woken(&mut self) -> MaskOf<D> {
        let mut woken = MaskOf::<D>::NONE;
        if !self.state.warps.at_mbarrier.is_empty() {
            while let Some(warp) = self.decode.take_woken() {
                woken.insert(warp);
            }
        }
        woken
    }

    /// Decodes from cycle `now` on the rest of the fetches of `warps`, which were held after an instruction.
    fn go_on(&mut self, now: Cycle, warps: MaskOf<D>) {
        let Self { fetch, decode, state, observer, .. } = self;
        if warps.is_empty() {
            return;
        }
        if observer.watches_details() {
            let waited = state.warps.at_mbarrier & warps;
            waited.iter().for_each(|warp| observer.awaited(now, warp, Stall::Mbarrier, None));
        }
        state.warps.atomic_at_exchange &= !warps;
        state.warps.fence_at_exchange &= !warps;
        state.warps.at_mbarrier &= !warps;
        warps.iter().for_each(|warp| fetch.set_next_pc(warp, decode.stream.next_pc(warp)));
        fetch.release_from_barrier(warps);
        state.dirty |= warps;
        state.wake_up.put_first(now);
    }

    #[cold]
    fn end_ctas(&mut self) {
        let ended = std::mem::take(&mut self.state.ctas.ended);
        set_bits(ended).for_each(|slot| self.decode.stream.end_cta(CtaSlot::from(slot)));
    }

    /// Instructions leave their units.
    #[inline(never)]
    fn write_back(&mut self, now: Cycle, kernels: &[ResidentKernel]) {
        let Self { issue, id_oc, operands, units, memory, state, observer, .. } = self;
        let tick = Tick { now, kernels, observer };
        let mut wb = WriteBack { tick, state, policy: &mut issue.policy, operands };
        units.write_back(&mut wb, memory.is_writing_back());
        if state.commands.has_freed() {
            let partitions = state.commands.take_freed(id_oc);
            issue.room_made(Collected { touched: partitions, taken: partitions }, state);
        }
    }

    /// Units take the instructions that have their operands.
    #[inline(never)]
    fn dispatch(&mut self, now: Cycle, kernels: &[ResidentKernel]) {
        let Self { operands, oc_ex, units, state, observer, .. } = self;
        let State { slab, wake_up, wavefronts, .. } = state;
        let taken = units.accept(now, oc_ex, slab, wake_up, wavefronts, |slab, id| {
            observer.executing(now, Seen { id, window: Window { slab, kernels } });
        });
        operands.latches_freed(taken);
    }

    /// Loads and stores, and what goes through the port: in the order of GPGPU-Sim.
    #[inline(never)]
    fn access_memory(&mut self, now: Cycle, kernels: &[ResidentKernel], port: &mut Port) {
        let Self { fetch, issue, operands, oc_ex, memory, inbox_stuck, state, observer, .. } = self;
        let tick = Tick { now, kernels, observer };
        let mut wb = WriteBack { tick, state, policy: &mut issue.policy, operands };
        memory.write_back(&mut wb);
        if let Some(&reply) = port.answer(now) {
            // The client that asked takes it.
            let stuck_until = if reply.kind == RequestKind::Instruction {
                fetch.source.receive(now, &reply);
                now
            } else if is_of_engine(&reply) {
                wb.state.engine.receive(now, &reply, &wb.state.spec.sm.copy_engine);
                now
            } else {
                memory.receive(&mut wb.reborrow(), &reply)
            };
            *inbox_stuck = stuck_until > now;
            if !*inbox_stuck {
                port.inbox.drop_front(1);
                wb.state.wake_up.moved();
            } else if stuck_until != NEVER {
                wb.state.wake_up.at(stuck_until);
            }
        }
        if memory.may_send() | fetch.source.may_send() {
            let mut outbox = wb.state.outbox(now, port);
            memory.send(&mut outbox);
            fetch.source.send(&mut outbox);
        }
        memory.step(&mut wb, &mut MemoryWires { port, oc_ex });
    }

    /// Issued instructions get their operands.
    #[inline]
    fn collect_operands(&mut self, now: Cycle, kernels: &[ResidentKernel]) {
        if self.operands.is_stuck() {
            self.operands.banks().end_cycle();
        } else {
            self.step_operands(now, kernels);
        }
    }

    #[inline(never)]
    fn step_operands(&mut self, now: Cycle, kernels: &[ResidentKernel]) {
        let Self { issue, id_oc, operands, oc_ex, state, observer, .. } = self;
        let (policy, counters) = (&mut issue.policy, &mut state.counters);
        let mut hooks = Hooks { policy, observer, counters, now, done: Collected::default() };
        operands.step(&mut Wires { id_oc, oc_ex, slab: &mut state.slab, kernels }, &mut hooks);
        let done = hooks.done;
        if done.touched != 0 || !operands.is_stuck() {
            state.wake_up.moved();
            issue.room_made(done, state);
        }
    }

    /// The warp schedulers issue.
    #[inline]
    fn issue(&mut self, now: Cycle, kernels: &[ResidentKernel]) {
        if self.issue.has_work(now, kernels, &mut self.state) {
            self.step_schedulers(now, kernels);
        }
    }

    #[inline(never)]
    fn step_schedulers(&mut self, now: Cycle, kernels: &[ResidentKernel]) {
        let Self { fetch, issue, id_oc, layer, operands, memory, state, observer, .. } = self;
        let tick = Tick { now, kernels, observer };
        issue.step(&mut IssueWires { tick, state, fetch, id_oc, layer, operands, memory });
    }

    /// Decode and fetch, alternating as often as there are fetches in a cycle.
    #[inline]
    fn decode_and_fetch(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>) -> Result<(), Box<Fault>> {
        let mut has_packet = self.fetch.has_packet();
        let mut fetches = 0;
        loop {
            if has_packet {
                self.decode_packets(now, env)?;
            }
            let tick = Tick { now, kernels: env.kernels, observer: &mut self.observer };
            has_packet = self.fetch.step(tick, &mut self.state, self.issue.policy.room());
            fetches += 1;
            if !has_packet || fetches == self.fetch.source.fetches_per_cycle(&self.state.spec) {
                return Ok(());
            }
        }
    }

    #[inline(never)]
    fn decode_packets(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>) -> Result<(), Box<Fault>> {
        let Self { fetch, decode, issue, layer, state, observer, .. } = self;
        let (tick, policy) = (Tick { now, kernels: env.kernels, observer }, &mut issue.policy);
        decode.step(env.shared.get(), &mut DecodeWires::<D, O> { tick, state, fetch, layer, policy })?;
        if !self.state.warps.at_mbarrier.is_empty() {
            // One that has just been decoded may have arrived.
            let woken = self.take_woken();
            self.go_on(now + 1, woken);
        }
        Ok(())
    }

    #[inline]
    fn end_cycle(&mut self) {
        self.issue.account.end_cycle();
    }

    #[inline]
    fn catch_up(&mut self, now: Cycle) {
        let slept = now.saturating_sub(self.issue.account.cycles());
        if slept > 0 {
            self.issue.account.sleep_until(now);
        }
    }

    /// The warps' stream.
    pub fn stream(&self) -> &S {
        &self.decode.stream
    }

    /// The issue design.
    pub fn policy(&self) -> &D::Issue {
        &self.issue.policy
    }

    /// Counts of the SM.
    pub fn counters(&self) -> &SmCounters {
        &self.state.counters
    }

    /// Issue slots and stalls, up to the last tick or [`settle`](gpu::Core::settle).
    pub fn account(&self) -> &SlotAccount {
        &self.issue.account
    }

    /// Counts of the layer over the operand stage, if there is one.
    pub fn layer_counts(&self) -> Option<&LayerCounts> {
        self.layer.counts()
    }

    /// Warp instructions issued, by class.
    pub fn class_counts(&self) -> &ClassCounts {
        &self.state.class_counts
    }

    /// Active lanes of issued instructions, by what they do.
    pub fn work_counts(&self) -> &WorkCounts {
        &self.state.work_counts
    }

    /// Counts of the caches of the memory stage.
    pub fn memory_counters(&self) -> MemoryCounters {
        self.memory.counters()
    }

    /// Counters of the instruction caches.
    pub fn icache_counters(&self) -> mem::cache::CacheCounters {
        self.fetch.source.counters()
    }

    /// Warps resident now.
    pub fn resident_warps(&self) -> u32 {
        self.state.warps.resident.count()
    }
}
