//! The core: resident CTAs, the turns of their warps, and what an instruction does to its warp.

use crate::counters::FunctionalCounters;
use config::GpuConfig;
use gpu::resident::ctas::Ctas;
use gpu::resident::mask::{MOST_WARPS, WarpMask};
use gpu::resident::occupancy::Resources;
use gpu::{Core, CoreKernel, EnvOf, FinishedCta, LoopStep, Pulse, SpinningWarp};
use isa::{
    Control, CtaSlot, Dim3, DynInst, Fault, KernelId, LaunchShape, Pc, Program, StepContext, WarpSlot, WarpStream,
};
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist, each};
use kit::{Counters, Cycle, NEVER};
use mem::Port;
use std::sync::Arc;

kit::parameters! {
    /// Sizes of a functional core.
    pub struct FunctionalConfig {
        /// Warp instructions that a core executes in a cycle; 0: as many as the warp schedulers of the GPU's SMs issue.
        pub width: u32 = 0 in (0, 65_536),
    }
}

/// State that all functional cores of a GPU share.
#[derive(Debug)]
pub struct FunctionalSpec {
    sm: config::Sm,
    width: u32,
}

impl FunctionalSpec {
    /// Cores with `config` in place of the SMs of `gpu`.
    pub fn new(gpu: &GpuConfig, config: &FunctionalConfig) -> Self {
        let issue = &gpu.sm.issue;
        let width = if config.width == 0 { issue.schedulers * issue.width } else { config.width };
        Self { sm: gpu.sm.clone(), width }
    }
}

/// A launch: the program and its shape.
#[derive(Clone, Debug)]
pub struct FunctionalKernel {
    program: Arc<Program>,
    shape: LaunchShape,
}

impl FunctionalKernel {
    /// A launch of `program` in `shape`.
    pub fn new(program: Arc<Program>, shape: LaunchShape) -> Self {
        Self { program, shape }
    }
}

impl CoreKernel for FunctionalKernel {
    fn shape(&self) -> &LaunchShape {
        &self.shape
    }
}

/// A set of warps.
type Warps = u128;

/// A warp slot.
#[derive(Clone, Copy, Debug)]
struct Warp {
    kernel: KernelId,
    cta: CtaSlot,
    index_in_cta: u16,
    /// Instructions executed.
    executed: u32,
    /// The last of them.
    last: Pc,
}

/// A core without a pipeline, whose warps come from the stream `S`.
#[derive(Debug)]
pub struct FunctionalCore<S> {
    id: u16,
    spec: Arc<FunctionalSpec>,
    stream: S,
    ctas: Ctas<Warps>,
    warps: Box<[Warp]>,
    /// Warps that have not exited.
    resident: Warps,
    /// Warps among them that neither wait at a barrier nor sleep.
    ready: Warps,
    /// At one of the CTA, or at an `mbarrier`.
    at_barrier: Warps,
    /// Warps that wait at an `mbarrier` or at the barrier of their cluster.
    held: Warps,
    /// When each sleeping warp rises.
    asleep: Vec<(Cycle, WarpSlot)>,
    /// When the first of them does.
    first_rise: Cycle,
    /// The warp that had the last turn.
    last: u32,
    /// The instruction of the present turn.
    done: DynInst,
    counters: FunctionalCounters,
    /// Cycles accounted for.
    cycles: Cycle,
}

impl<S: WarpStream> FunctionalCore<S> {
    /// An empty core, number `id` of its GPU.
    pub fn new(id: u16, spec: Arc<FunctionalSpec>, stream: S) -> Self {
        let empty = Warp { kernel: KernelId(0), cta: CtaSlot(0), index_in_cta: 0, executed: 0, last: Pc(0) };
        Self {
            id,
            stream,
            ctas: Ctas::new(&spec.sm),
            warps: vec![empty; MOST_WARPS].into(),
            resident: Warps::NONE,
            ready: Warps::NONE,
            at_barrier: Warps::NONE,
            held: Warps::NONE,
            asleep: Vec::new(),
            first_rise: NEVER,
            last: Warps::BITS - 1,
            done: DynInst::default(),
            counters: FunctionalCounters::default(),
            cycles: 0,
            spec,
        }
    }

    /// `warp` executes its next instruction.
    #[inline]
    fn take_turn(&mut self, now: Cycle, warp: WarpSlot, env: &mut EnvOf<'_, Self>) -> Result<(), Box<Fault>> {
        self.stream.step_alone(env.shared.alone(), warp, StepContext { now, sm: self.id }, &mut self.done)?;
        let (row, done) = (&mut self.warps[warp.index()], &self.done);
        row.executed = row.executed.wrapping_add(1);
        row.last = done.pc;
        self.counters.warp_instructions += 1;
        self.counters.thread_instructions += u64::from(done.mask.count_ones());
        let (exits, held) = (done.next_pc.is_none(), done.held);
        match env.kernels[row.kernel.index()].program.inst(done.pc).traits.control {
            Control::None | Control::Branch | Control::Exit => {}
            control => self.take_effect(now, warp, control),
        }
        if held {
            self.ready.remove(warp);
            self.held.insert(warp);
        }
        if exits {
            self.exit(warp);
        }
        while let Some(woken) = self.stream.take_woken() {
            self.held.remove(woken);
            self.ready.insert(woken);
        }
        Ok(())
    }

    /// Barriers and sleep. All that fences and waits for copies wait for is complete.
    fn take_effect(&mut self, now: Cycle, warp: WarpSlot, control: Control) {
        match control {
            Control::BarrierSync | Control::BarrierArrive if self.done.mask != 0 => {
                let (waits, cta) = (control == Control::BarrierSync, self.warps[warp.index()].cta);
                self.counters.barrier_arrivals += 1;
                if waits {
                    self.ready.remove(warp);
                    self.at_barrier.insert(warp);
                }
                let released = self.ctas.barriers.arrive(cta, warp, self.done.barrier, waits);
                self.release(released);
            }
            Control::Sleep if self.done.sleep_cycles > 0 => {
                let rise = now + Cycle::from(self.done.sleep_cycles);
                self.ready.remove(warp);
                self.asleep.push((rise, warp));
                self.first_rise = self.first_rise.min(rise);
            }
            _ => {}
        }
    }

    /// `warps` continue after a barrier.
    fn release(&mut self, warps: Warps) {
        self.at_barrier &= !warps;
        self.ready |= warps;
    }

    /// All threads of `warp` have exited; its CTA may have ended with it.
    fn exit(&mut self, warp: WarpSlot) {
        let cta = self.warps[warp.index()].cta;
        self.resident.remove(warp);
        self.ready.remove(warp);
        let released = self.ctas.barriers.exit(cta, warp);
        self.release(released);
        if self.ctas.finish_warp(cta, warp) {
            self.counters.ctas_finished += 1;
            let ended = std::mem::take(&mut self.ctas.ended);
            set_bits(ended).for_each(|slot| self.stream.end_cta(CtaSlot::from(slot)));
        }
    }

    /// Warps whose sleep is over become ready.
    fn wake(&mut self, now: Cycle) {
        if self.first_rise > now {
            return;
        }
        let Self { asleep, ready, .. } = self;
        asleep.retain(|&(rise, warp)| {
            if rise <= now {
                ready.insert(warp);
            }
            rise > now
        });
        self.first_rise = asleep.iter().map(|&(rise, _)| rise).min().unwrap_or(NEVER);
    }

    /// The line of a deadlock's report for `warp`.
    fn describe(&self, warp: WarpSlot, kernels: &[FunctionalKernel]) -> String {
        let Warp { kernel, cta, index_in_cta, last, .. } = self.warps[warp.index()];
        let program = &kernels[kernel.index()].program;
        let (text, place) = (program.text(last), program.place(last));
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        let waits_for = self
            .stream
            .describe_wait(warp)
            .unwrap_or_else(|| self.ctas.barriers.describe_wait(cta, warp, |w| self.warps[w.index()].index_in_cta));
        format!(
            "SM {}, warp slot {}: warp {index_in_cta} of CTA {} of `{}` at `{text}`{place} waits for {waits_for}",
            self.id,
            warp.0,
            self.ctas.position(cta),
            program.name
        )
    }
}

impl<S: WarpStream> Core for FunctionalCore<S> {
    type Kernel = FunctionalKernel;
    type Shared = S::Shared;
    type Counters = FunctionalCounters;

    const MOST_REQUESTS: usize = 0;
    const IN_STEP: bool = true;

    fn tick(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>) -> Result<(), Box<Fault>> {
        self.settle(now + 1);
        self.wake(now);
        for _ in 0..self.spec.width {
            let Some(warp) = self.ready.next_after(self.last) else { break };
            self.last = warp.0.into();
            self.take_turn(now, warp, env)?;
        }
        Ok(())
    }

    fn next_event(&self, _: &Port) -> Cycle {
        if self.ready.is_empty() { self.first_rise } else { self.cycles }
    }

    fn cycles(&self) -> Cycle {
        self.cycles
    }

    fn can_accept(&self, coming: &mut dyn Iterator<Item = &LaunchShape>, shape: &LaunchShape) -> bool {
        self.ctas.can_accept(&self.spec.sm, coming, shape)
    }

    fn prepare_cta(&mut self, shared: &mut S::Shared, kernel: KernelId, cta: Dim3) {
        self.stream.prepare_cta(shared, kernel, cta);
    }

    fn merge(&mut self, shared: &mut S::Shared) {
        self.stream.merge(shared);
    }

    fn wants_peers(&self) -> bool {
        self.stream.wants_peers()
    }

    fn lend(&mut self, shared: &mut S::Shared) {
        self.stream.lend(shared);
    }

    fn take_back(&mut self, shared: &mut S::Shared) -> bool {
        self.stream.take_back(shared);
        let mut woken = Warps::NONE;
        while let Some(warp) = self.stream.take_woken() {
            woken.insert(warp);
        }
        self.held &= !woken;
        self.ready |= woken;
        !woken.is_empty()
    }

    fn start_cta(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>, kernel: KernelId, cta: Dim3) {
        self.settle(now);
        let need = Resources::of_cta(&self.spec.sm, &env.kernels[kernel.index()].shape);
        let mut slots = [WarpSlot(0); MOST_WARPS];
        let (slot, count) = self.ctas.start(kernel, cta, need, &mut slots);
        let slots = &slots[..count];
        for (index, &warp) in slots.iter().enumerate() {
            let row = Warp { kernel, cta: slot, index_in_cta: index as u16, executed: 0, last: Pc(0) };
            self.warps[warp.index()] = row;
            self.resident.insert(warp);
            self.ready.insert(warp);
        }
        self.stream.start_cta(env.shared.get(), kernel, cta, slot, slots);
        self.counters.ctas_started += 1;
        for &warp in slots {
            if self.stream.next_pc(warp).is_none() {
                self.exit(warp);
            }
        }
    }

    fn finished(&mut self) -> &mut Vec<FinishedCta> {
        &mut self.ctas.finished
    }

    fn has_threads(&self) -> bool {
        !self.resident.is_empty()
    }

    fn is_idle(&self) -> bool {
        self.ctas.is_empty()
    }

    fn settle(&mut self, now: Cycle) {
        let passed = now.saturating_sub(self.cycles);
        let warps = u64::from(self.resident.count());
        self.counters.active_cycles += if warps > 0 { passed } else { 0 };
        self.counters.warp_cycles += passed * warps;
        self.cycles += passed;
    }

    /// There is none.
    fn flush_l1(&mut self) {}

    fn count(&self, sum: &mut FunctionalCounters) {
        sum.add(&self.counters);
    }

    fn warp_instructions(&self) -> u64 {
        self.counters.warp_instructions
    }

    fn cta_events(&self) -> u64 {
        self.counters.ctas_started + self.counters.ctas_finished
    }

    fn describe_stalls(&self, kernels: &[FunctionalKernel]) -> Vec<String> {
        (self.at_barrier | self.held).iter().map(|warp| self.describe(warp, kernels)).collect()
    }

    fn watch_changes(&self, shared: &mut S::Shared) {
        self.stream.watch_changes(shared);
    }

    fn persist(&mut self, _: &[FunctionalKernel], archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { ctas, resident, ready, at_barrier, asleep, first_rise, last, counters, cycles, .. } = self;
        ctas.persist(archive)?;
        each([resident, ready, at_barrier], archive)?;
        asleep.persist(archive)?;
        first_rise.persist(archive)?;
        last.persist(archive)?;
        counters.persist(archive)?;
        cycles.persist(archive)
    }

    fn has_changed(&self, shared: &S::Shared) -> bool {
        self.stream.has_changed(shared)
    }

    fn pulses(&self) -> Vec<(WarpSlot, Pulse)> {
        let pulse = |warp: WarpSlot| Pulse {
            digest: self.stream.digest(warp),
            executed: self.warps[warp.index()].executed,
            at_barrier: self.at_barrier.contains(warp),
            arrivals: self.counters.barrier_arrivals,
        };
        self.resident.iter().map(|warp| (warp, pulse(warp))).collect()
    }

    fn follow_loops(
        &mut self,
        now: Cycle,
        kernels: &[FunctionalKernel],
        shared: &mut S::Shared,
        blocked: &dyn Fn(WarpSlot) -> bool,
    ) -> Vec<SpinningWarp> {
        let follow = |warp: WarpSlot| {
            let Warp { kernel, cta, index_in_cta, last, .. } = self.warps[warp.index()];
            let program = &kernels[kernel.index()].program;
            let mut spinning = SpinningWarp {
                sm: self.id,
                warp,
                kernel: program.name.clone(),
                cta: self.ctas.position(cta),
                index_in_cta,
                lanes: 0,
                steps: Vec::new(),
                blocked: blocked(warp),
            };
            if spinning.blocked {
                spinning.steps.push(LoopStep::new(program, last));
            } else {
                spinning.follow(&mut self.stream, shared, program, StepContext { now, sm: self.id });
            }
            spinning
        };
        self.resident.iter().map(follow).collect()
    }
}
