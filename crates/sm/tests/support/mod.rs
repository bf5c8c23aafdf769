//! Support of the SM's tests: scripted warps, a small GPU, a memory of fixed latency, a run
//! loop that sleeps or does not.
use config::{GpuConfig, Unit};
use gpu::Core;
use isa::Form;
use isa::{
    Access, BarrierArrival, CacheOp, ConstantOperand, Control, ControlBits, CounterBound, CtaSlot, Dim3, DynInst,
    Fault, InstSpec, KernelId, LaunchShape, MatrixWork, MemAccess, OpClass, OperandValues, Pc, Program, ProgramBuilder,
    RegFile, RegId, SingleOperation, Space, StepContext, Traits, Transfer, TransferId, TransferKind, WarpSlot,
    WarpStream,
};
use kit::{Cycle, NEVER};
use mem::{Port, RequestKind};
use sm::{
    Auditor, Board, Code, ConfigOf, CoreDesign, CoreOptions, CoreSpec, Env, Findings, FinishedCta, Flight, InOrder,
    Observer, ResidentKernel, Seen, Sm, Stall, Structure, Timeline,
};
use std::sync::Arc;

/// A GPU of the Turing kind with small numbers, which tests change as they need.
pub fn gpu() -> GpuConfig {
    let mut gpu = config::load("accel-sim/rtx2060s").expect("a built-in GPU");
    gpu.sm.perfect_instruction_and_constant_caches = true;
    gpu.sm.issue.scheduler = "lrr".into();
    gpu.sm.issue.atomics_hold_warp = config::HoldingAtomics::None;
    gpu.sm.issue.fences_wait_for = None;
    gpu
}

/// A board that sees no hazards.
pub struct NoBoard;

impl Board for NoBoard {
    type Config = ();
    fn new(_: &(), _: &CoreSpec) -> Self {
        Self
    }
    fn structures(&self) -> Vec<Structure> {
        vec![]
    }
    fn start_warp(&mut self, _: WarpSlot, _: &RegFile) {}
    fn hazard(&self, _: Flight<'_>) -> Option<Stall> {
        None
    }
    fn on_issue(&mut self, _: Flight<'_>) {}
    fn on_writeback(&mut self, _: Flight<'_>) {}
}

/// One scripted instruction: the static part and what the dynamic part needs.
#[derive(Clone, Debug)]
pub struct Line {
    pub class: OpClass,
    pub control: Control,
    pub mem: Option<MemAccess>,
    pub matrix: Option<MatrixWork>,
    pub single: Option<SingleOperation>,
    pub packed_half: bool,
    pub dsts: Vec<u16>,
    pub srcs: Vec<u16>,
    pub text: String,
    pub mask: u32,
    /// Address of lane 0 and stride.
    pub address: (u64, u64),
    pub barrier: BarrierArrival,
    pub sleep_cycles: u32,
    pub async_groups_left: u8,
    /// Where the warp goes next, if not to the next line; as offset.
    pub jump: i32,
    /// How often the jump is taken before it falls through.
    pub times: u32,
    /// Line of the re-convergence PC that it executes under.
    pub reconverge: Option<u32>,
    /// Value of its sources in each lane; by default, the number of the lane.
    pub value: fn(u32) -> u32,
    pub partial: bool,
    pub per_lane: bool,
    /// It waits for the exchange.
    pub held: bool,
    /// The transfer that it starts.
    pub transfer: Option<Transfer>,
    /// It waits at an `mbarrier` for this number of its warp's transfers.
    pub awaited: usize,
    /// Its last source guards it.
    pub guarded: bool,
    pub control_bits: Option<ControlBits>,
    /// The registers of its operand positions.
    pub slots: [Option<u8>; 3],
    pub counter_bound: Option<CounterBound>,
    pub constant: Option<ConstantOperand>,
}

impl Line {
    fn plain(class: OpClass, text: &str) -> Self {
        Self {
            class,
            control: Control::None,
            mem: None,
            matrix: None,
            single: None,
            packed_half: false,
            dsts: vec![],
            srcs: vec![],
            text: text.into(),
            mask: u32::MAX,
            address: (0, 4),
            barrier: BarrierArrival::default(),
            sleep_cycles: 0,
            async_groups_left: 0,
            jump: 1,
            times: 0,
            reconverge: None,
            value: |lane| lane,
            partial: false,
            per_lane: false,
            held: false,
            transfer: None,
            awaited: 0,
            guarded: false,
            control_bits: None,
            slots: [None; 3],
            counter_bound: None,
            constant: None,
        }
    }

    /// Its sources hold `value` of each lane.
    pub fn reads(mut self, value: fn(u32) -> u32) -> Self {
        self.value = value;
        self
    }

    /// Executes on a way that ends at line `at`.
    pub fn until(mut self, at: u32) -> Self {
        self.reconverge = Some(at);
        self
    }

    pub fn mask(mut self, mask: u32) -> Self {
        self.mask = mask;
        self
    }

    pub fn cached(mut self, cache: CacheOp) -> Self {
        self.mem.as_mut().expect("an access").cache = cache;
        self
    }

    /// Has a stall count, and a yield or none.
    pub fn stall(mut self, stall_cycles: u8, yields: bool) -> Self {
        let [write_barrier, read_barrier] = [None; 2];
        self.control_bits =
            Some(ControlBits { stall_cycles, yields, write_barrier, read_barrier, wait_mask: 0, reuse: 0 });
        self
    }

    /// Its control bits, changed; with a stall count of 1 if it has none.
    pub fn bits(self, change: impl FnOnce(&mut ControlBits)) -> Self {
        let mut line = if self.control_bits.is_none() { self.stall(1, false) } else { self };
        change(line.control_bits.as_mut().expect("it has bits"));
        line
    }

    /// Its sources are the operands in positions A, B and C, those in `reused` (one bit each) kept.
    pub fn in_slots(mut self, reused: u8) -> Self {
        self.slots = std::array::from_fn(|i| self.srcs.get(i).map(|&reg| reg as u8));
        self.bits(|bits| bits.reuse = reused)
    }

    /// Reads the constant at `offset` of bank 3.
    pub fn constant(mut self, offset: u16) -> Self {
        self.constant = Some(ConstantOperand { bank: 3, offset });
        self
    }

    /// Waits for the exchange ([`Bench::window`]).
    pub fn held(mut self) -> Self {
        self.held = true;
        self
    }

    pub fn bytes(mut self, bytes: u8) -> Self {
        self.mem.as_mut().expect("an access").bytes = bytes;
        self
    }
}

/// An arithmetic instruction `dst = class(srcs)`.
pub fn op(class: OpClass, dst: u16, srcs: &[u16]) -> Line {
    let text = format!("{} r{dst}{}", class.name(), srcs.iter().map(|s| format!(", r{s}")).collect::<String>());
    Line { dsts: vec![dst], srcs: srcs.to_vec(), ..Line::plain(class, &text) }
}

/// An integer addition.
pub fn add(dst: u16, srcs: &[u16]) -> Line {
    op(OpClass::IntAdd, dst, srcs)
}

fn access(class: OpClass, access: Access, space: Space, text: &str, address: u64, stride: u64) -> Line {
    let mem = Some(MemAccess { space, access, bytes: 4, cache: CacheOp::All });
    Line { mem, address: (address, stride), ..Line::plain(class, text) }
}

/// A load whose lane *i* reads `address + i * stride`.
pub fn load(space: Space, dst: u16, address: u64, stride: u64) -> Line {
    let text = format!("ld.{space:?} r{dst}").to_lowercase();
    Line { dsts: vec![dst], srcs: vec![100], ..access(OpClass::Load, Access::Load, space, &text, address, stride) }
}

/// A constant load of machine code whose lane *i* reads `i * stride`, by a general register.
pub fn indexed_constant(dst: u16, stride: u64) -> Line {
    let Line { mem, address, srcs, .. } = load(Space::Constant, dst, 0, stride);
    Line { mem, address, single: Some(SingleOperation::ConstantLoad), ..op(OpClass::Move, dst, &srcs) }
}

/// A store.
pub fn store(space: Space, src: u16, address: u64, stride: u64) -> Line {
    let text = format!("st.{space:?} r{src}").to_lowercase();
    Line { srcs: vec![100, src], ..access(OpClass::Store, Access::Store, space, &text, address, stride) }
}

/// An atomic on global memory.
pub fn atomic(dst: u16, address: u64, stride: u64) -> Line {
    let text = format!("atom r{dst}");
    let line = access(OpClass::Atomic, Access::Atomic, Space::Global, &text, address, stride);
    Line { dsts: vec![dst], srcs: vec![100], ..line }
}

/// An asynchronous copy.
pub fn copy_async(address: u64) -> Line {
    access(OpClass::AsyncCopy, Access::AsyncCopy, Space::Global, "cp.async", address, 4)
}

/// Starts a transfer of these runs.
pub fn transfer(kind: TransferKind, runs: &[(u64, u32)]) -> Line {
    let shared_bytes = runs.iter().map(|&(_, bytes)| bytes).sum();
    let transfer = Transfer { kind, runs: runs.to_vec(), shared_bytes, ..Transfer::default() };
    Line { transfer: Some(transfer), ..control(OpClass::Uniform, Control::Transfer, "transfer") }
}

/// Waits at an `mbarrier` for `count` transfers of its warp.
pub fn await_transfers(count: usize) -> Line {
    Line { awaited: count, ..Line::plain(OpClass::IntAdd, "mbarrier.try_wait") }
}

/// An instruction that only has an effect on control.
pub fn control(class: OpClass, control: Control, text: &str) -> Line {
    Line { control, ..Line::plain(class, text) }
}

/// Arrives at barrier `id` for `threads` threads (0: all), waiting.
pub fn sync(id: u8, threads: u16) -> Line {
    let line = control(OpClass::Barrier, Control::BarrierSync, &format!("bar.sync {id}"));
    Line { barrier: BarrierArrival { id, threads }, ..line }
}

/// Arrives without waiting.
pub fn arrive(id: u8, threads: u16) -> Line {
    let line = control(OpClass::Barrier, Control::BarrierArrive, &format!("bar.arrive {id}"));
    Line { barrier: BarrierArrival { id, threads }, ..line }
}

/// A branch by `jump` lines, taken `times` times.
pub fn branch(jump: i32, times: u32) -> Line {
    Line { jump, times, ..control(OpClass::Branch, Control::Branch, "bra") }
}

/// A memory fence.
pub fn fence() -> Line {
    control(OpClass::Fence, Control::Fence, "membar")
}

/// The end of a warp.
pub fn exit() -> Line {
    control(OpClass::Exit, Control::Exit, "exit")
}

/// Long arithmetic in a [`Bench::slow_sfu`]: `r1` comes late.
pub fn late() -> Line {
    op(OpClass::Sfu, 1, &[50])
}

/// The line, which reads `r1` as well: it waits for [`late`].
pub fn waiting(mut line: Line) -> Line {
    line.srcs.push(1);
    line
}

/// Accesses of which the second may not pass the first where addresses are not known.
pub fn accesses_in_order() -> Vec<[Line; 2]> {
    let (load, store) = (|| load(Space::Global, 2, 0, 4), || store(Space::Global, 52, 512, 4));
    let other = || Line { dsts: vec![3], ..load() };
    vec![
        [load(), store()],
        [store(), load()],
        [store(), store()],
        [load(), atomic(3, 1024, 0)],
        [atomic(3, 1024, 0), load()],
        [load(), other().cached(CacheOp::Volatile)],
        [load().cached(CacheOp::Volatile), other()],
        [load(), copy_async(4096)],
    ]
}

/// A program of `lines`, with an exit behind them, over 128 vector registers.
pub fn program(lines: &[Line]) -> Vec<Line> {
    let mut lines = lines.to_vec();
    lines.push(exit());
    lines
}

fn assemble(lines: &[Line], vector: u16) -> Program {
    let mut builder = ProgramBuilder::new("scripted", 16);
    for line in lines {
        let regs = |r: &[u16]| r.iter().map(|&r| RegId(r)).collect::<Vec<_>>();
        builder.push(InstSpec {
            dsts: &regs(&line.dsts),
            srcs: &regs(&line.srcs),
            text: &line.text,
            ..InstSpec::of(Traits {
                control: line.control,
                mem: line.mem,
                matrix: line.matrix,
                single: line.single,
                packed_half: line.packed_half,
                per_lane: line.per_lane,
                partial: line.partial,
                guarded: line.guarded,
                control_bits: line.control_bits,
                slots: line.slots,
                counter_bound: line.counter_bound,
                constant: line.constant,
                ..Traits::of(line.class)
            })
        });
    }
    builder.finish(RegFile { vector, predicate: 8, uniform: 0 }, vec![])
}

/// Warps that follow a script: every warp of every CTA runs the same lines, except that `per_warp`
/// may change a line's dynamic part.
#[derive(Clone)]
pub struct Scripted {
    lines: Arc<[Line]>,
    /// Position in the script and jumps taken, by warp slot.
    at: Vec<(Option<usize>, Vec<u32>)>,
    cta_warps: Vec<Vec<WarpSlot>>,
    /// Index of each warp over all CTAs started.
    number: Vec<usize>,
    started: usize,
    per_warp: fn(usize, &mut Line),
    skip: fn(usize, usize) -> bool,
    /// Waits for the exchange: cycles, and the held warps.
    waiting: Vec<Cycle>,
    held: Vec<WarpSlot>,
    /// Transfers by number: warp, and whether it has arrived.
    transfers: Vec<(WarpSlot, bool)>,
    /// Warps that wait at an `mbarrier`, for how many transfers.
    at_mbarrier: Vec<(WarpSlot, usize)>,
}

impl Scripted {
    pub fn new(lines: &[Line]) -> Self {
        Self {
            lines: lines.into(),
            at: vec![(None, vec![]); sm::MOST_WARPS],
            cta_warps: vec![vec![]; 64],
            number: vec![0; sm::MOST_WARPS],
            started: 0,
            per_warp: |_, _| {},
            skip: |_, _| false,
            waiting: vec![],
            held: vec![],
            transfers: vec![],
            at_mbarrier: vec![],
        }
    }

    fn arrived(&self, warp: WarpSlot) -> usize {
        self.transfers.iter().filter(|&&(of, arrived)| of == warp && arrived).count()
    }

    /// The first line from `from` on that the warp does not skip.
    fn settle(&self, w: usize, from: usize) -> Option<usize> {
        (from..self.lines.len()).find(|&l| !(self.skip)(self.number[w], l))
    }
}

impl WarpStream for Scripted {
    type Shared = ();

    fn start_cta(&mut self, _: &(), _: KernelId, _: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        self.cta_warps[slot.index()] = warps.to_vec();
        for warp in warps {
            self.number[warp.index()] = self.started;
            self.started += 1;
            let first = self.settle(warp.index(), 0);
            self.at[warp.index()] = (first, vec![0; self.lines.len()]);
        }
    }

    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        self.at[warp.index()].0.map(Pc::from)
    }

    fn waiting(&self) -> &[Cycle] {
        &self.waiting
    }

    fn exchange(&mut self, _: &mut ()) -> Result<Option<WarpSlot>, Box<Fault>> {
        self.waiting.remove(0);
        Ok(Some(self.held.remove(0)))
    }

    fn transferred(&mut self, transfer: TransferId, _: Cycle) -> Option<Box<isa::PeerAccesses>> {
        let (_, arrived) = &mut self.transfers[transfer.index()];
        assert!(!std::mem::replace(arrived, true), "a transfer ends once");
        None
    }

    fn take_woken(&mut self) -> Option<WarpSlot> {
        let at = self.at_mbarrier.iter().position(|&(warp, count)| self.arrived(warp) >= count)?;
        Some(self.at_mbarrier.swap_remove(at).0)
    }

    fn step(&mut self, _: &(), warp: WarpSlot, context: StepContext, out: &mut DynInst) -> Result<(), Box<Fault>> {
        assert!(!self.held.contains(&warp), "{warp:?} waits for the exchange");
        assert!(self.at_mbarrier.iter().all(|&(of, _)| of != warp), "{warp:?} waits at an mbarrier");
        let w = warp.index();
        let here = self.at[w].0.expect("a warp that has exited is not stepped");
        let mut line = self.lines[here].clone();
        (self.per_warp)(self.number[w], &mut line);
        out.pc = Pc::from(here);
        (out.mask, out.active) = (line.mask, u32::MAX);
        out.space = line.mem.map_or(Space::Global, |m| m.space);
        (0..32).for_each(|i| out.addresses[i] = line.address.0 + i as u64 * line.address.1);
        out.barrier = line.barrier;
        out.sleep_cycles = line.sleep_cycles;
        out.async_groups_left = line.async_groups_left;
        out.diverged = false;
        out.reconverge = line.reconverge.map(Pc);
        let jumps = &mut self.at[w].1[here];
        // An exit of some lanes lets the others continue.
        let next = if line.control == Control::Exit && line.mask == u32::MAX {
            None
        } else if line.jump != 1 && *jumps < line.times {
            *jumps += 1;
            Some((here as i64 + i64::from(line.jump)) as usize)
        } else {
            self.settle(w, here + 1)
        };
        self.at[w].0 = next;
        out.transfer = line.transfer.map(|transfer| {
            self.transfers.push((warp, false));
            Box::new(Transfer { id: TransferId::from(self.transfers.len() - 1), ..transfer })
        });
        out.at_mbarrier = line.awaited > self.arrived(warp);
        if out.at_mbarrier {
            self.at_mbarrier.push((warp, line.awaited));
        }
        out.held = line.held || out.at_mbarrier;
        if line.held {
            self.waiting.push(context.now);
            self.held.push(warp);
        }
        out.next_pc = next.map(Pc::from);
        Ok(())
    }

    fn step_with_values(
        &mut self,
        (): &(),
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        self.step(&(), warp, context, out)?;
        let line = &self.lines[out.pc.index()];
        let column = std::array::from_fn(|lane| (line.value)(lane as u32));
        values.columns = vec![column; line.srcs.len()];
        Ok(())
    }

    fn end_cta(&mut self, slot: CtaSlot) {
        for warp in &self.cta_warps[slot.index()] {
            assert_eq!(self.at[warp.index()].0, None, "a CTA ends when all its warps have");
        }
    }
}

/// Inputs of a run; `run` performs it.
#[derive(Clone, Debug)]
pub struct Bench {
    pub gpu: GpuConfig,
    pub lines: Vec<Line>,
    pub ctas: u32,
    pub threads: u32,
    pub registers: u32,
    /// Ids of vector registers; predicates follow.
    pub vector_registers: u16,
    pub shared_bytes: u32,
    /// Bytes of shared memory of further launches of the same lines: the CTAs are theirs in turn.
    pub more_launches: Vec<u32>,
    pub options: CoreOptions,
    pub memory_latency: Cycle,
    /// Cycles from one request that the memory takes to the next; 0: it takes all at once.
    pub request_interval: Cycle,
    pub tick_every_cycle: bool,
    pub per_warp: fn(usize, &mut Line),
    /// Lines that a warp leaves out: (warp, line).
    pub skip: fn(usize, usize) -> bool,
    pub limit: Cycle,
    /// Cycles from one exchange to the next.
    pub window: Cycle,
}

impl Bench {
    /// One warp that runs `lines` and exits.
    pub fn new(lines: &[Line]) -> Self {
        Self {
            gpu: gpu(),
            lines: program(lines),
            ctas: 1,
            threads: 32,
            registers: 16,
            vector_registers: 128,
            shared_bytes: 0,
            more_launches: vec![],
            options: CoreOptions::default(),
            memory_latency: 200,
            request_interval: 0,
            tick_every_cycle: false,
            per_warp: |_, _| {},
            skip: |_, _| false,
            limit: 100_000,
            window: 1,
        }
    }

    /// The same on a GPU whose special functions take 20 cycles, so that what reads their results waits.
    pub fn slow_sfu(lines: &[Line]) -> Self {
        Self::new(lines).timing(OpClass::Sfu, Unit::Sfu, 20, 2)
    }

    pub fn warps(mut self, warps: u32) -> Self {
        self.threads = 32 * warps;
        self
    }

    pub fn scheduler(mut self, name: &str) -> Self {
        self.options.scheduler = Some(name.into());
        self
    }

    pub fn gpu(mut self, change: impl FnOnce(&mut GpuConfig)) -> Self {
        change(&mut self.gpu);
        self
    }

    /// Gives one class of the SASS table a timing of its own.
    pub fn timing(self, class: OpClass, unit: Unit, latency_cycles: u32, initiation_cycles: u32) -> Self {
        let timing = config::OpTiming { unit, latency_cycles, initiation_cycles };
        self.gpu(|g| {
            g.sm.sass_timing.insert(class.name().into(), timing);
        })
    }

    pub fn run(&self) -> Run<Timeline> {
        self.run_with(Timeline::default())
    }

    pub fn run_with<O: Observer>(&self, observer: O) -> Run<O> {
        self.run_design::<InOrder, O>(&(), observer)
    }

    /// Timeline of a design.
    pub fn draw<P: CoreDesign>(&self, config: &ConfigOf<P>) -> Timeline {
        self.run_design::<P, _>(config, Timeline::default()).sm.observer
    }

    /// Which orders a design breaks.
    pub fn audit<P: CoreDesign>(&self, config: &ConfigOf<P>) -> Findings {
        let auditor = Auditor::new(P::allowances(config)).of_fences(self.gpu.sm.issue.fences_wait_for);
        let run = self.run_design::<P, _>(config, auditor);
        assert!(!run.deadlocked, "{:?}", run.sm.describe_stalls(&run.kernels));
        let findings = run.sm.observer.findings();
        assert_eq!(findings.instructions, run.sm.counters().warp_instructions);
        findings.clone()
    }

    /// Asserts that a design does the same if the SM is ticked in every cycle.
    pub fn sleeping_changes_nothing<P: CoreDesign>(&self, config: &ConfigOf<P>) {
        let run = |tick_every_cycle| {
            let bench = Self { tick_every_cycle, ..self.clone() };
            bench.run_design::<P, _>(config, Timeline::default())
        };
        let (asleep, awake) = (run(false), run(true));
        assert_eq!(awake.sm.observer.draw(), asleep.sm.observer.draw());
        assert!(asleep.ticks <= awake.ticks);
    }

    pub fn run_design<P: CoreDesign, O: Observer>(&self, policy: &ConfigOf<P>, observer: O) -> Run<O, P> {
        let scheduler = self.options.scheduler.clone().or(P::SCHEDULER.map(str::to_owned));
        let options = CoreOptions { scheduler, ..self.options.clone() };
        let mut spec = CoreSpec::new(&self.gpu, Form::Sass, options).unwrap_or_else(|e| panic!("{e}"));
        P::adapt(policy, &mut spec);
        let spec = Arc::new(spec);
        let code = Arc::new(Code::new(Arc::new(assemble(&self.lines, self.vector_registers)), &spec));
        let launch = |&shared_bytes: &u32| {
            let (grid, block) = (Dim3::new(self.ctas, 1, 1), Dim3::new(self.threads, 1, 1));
            let shape = LaunchShape { grid, block, registers_per_thread: self.registers, shared_bytes, cluster: None };
            ResidentKernel::new(code.clone(), shape, &spec)
        };
        let kernels = [self.shared_bytes].iter().chain(&self.more_launches).map(launch).collect();
        let mut stream = Scripted::new(&self.lines);
        (stream.per_warp, stream.skip) = (self.per_warp, self.skip);
        let sm = Sm::new(0, spec.clone(), stream, policy, observer);
        let mut run = Run {
            sm,
            port: Port::default(),
            kernels,
            now: 0,
            most_requests: 0,
            ticks: 0,
            finished: vec![],
            deadlocked: false,
        };
        run.go(self);
        run
    }
}

/// A finished run.
pub struct Run<O: Observer, P: CoreDesign = InOrder> {
    pub sm: Sm<Scripted, P, O>,
    pub port: Port,
    pub kernels: Vec<ResidentKernel>,
    /// First cycle in which the SM was empty.
    pub now: Cycle,
    /// Requests at the port at a time.
    pub most_requests: usize,
    pub ticks: u64,
    pub finished: Vec<FinishedCta>,
    pub deadlocked: bool,
}

impl<O: Observer, P: CoreDesign> Run<O, P> {
    fn go(&mut self, bench: &Bench) {
        let mut next_cta = 0;
        loop {
            let mut env = Env { kernels: &self.kernels, shared: gpu::Access::Frozen(&()), port: &mut self.port };
            let launch = |cta: u32| cta as usize % self.kernels.len();
            while next_cta < bench.ctas
                && self.sm.can_accept(&mut std::iter::empty(), &self.kernels[launch(next_cta)].shape)
            {
                let kernel = KernelId(launch(next_cta) as u32);
                self.sm.start_cta(self.now, &mut env, kernel, Dim3::new(next_cta, 0, 0));
                next_cta += 1;
            }
            self.sm.tick(self.now, &mut env).expect("scripts do not fault");
            self.ticks += 1;
            let boundary = (self.now / bench.window + 1) * bench.window;
            self.answer(bench);
            self.finished.append(self.sm.finished());
            if next_cta == bench.ctas && self.sm.is_idle() {
                self.now += 1;
                break;
            }
            let next_launch = next_cta as usize % self.kernels.len();
            let room =
                next_cta < bench.ctas && self.sm.can_accept(&mut std::iter::empty(), &self.kernels[next_launch].shape);
            let next = if room { self.now + 1 } else { self.sm.next_event(&self.port) };
            assert!(next > self.now, "an event in the past");
            let waits = !self.sm.waiting().is_empty();
            if next == NEVER && !waits || self.now > bench.limit {
                self.deadlocked = true;
                break;
            }
            self.now = if bench.tick_every_cycle { self.now + 1 } else { next };
            if waits && self.now >= boundary {
                while !self.sm.waiting().is_empty() {
                    self.sm.exchange(&mut ()).expect("scripts do not fault");
                }
                self.sm.end_exchange(boundary);
                self.now = boundary;
            }
        }
        self.sm.settle(self.now);
        self.sm.account().check();
    }

    /// The memory: it replies to a request `memory_latency` cycles after it has taken it.
    fn answer(&mut self, bench: &Bench) {
        self.most_requests = self.most_requests.max(self.port.outbox.len());
        let taken = match bench.request_interval {
            0 => self.port.outbox.len(),
            interval => usize::from(self.now.is_multiple_of(interval)),
        };
        for _ in 0..taken {
            let Some((_, request)) = self.port.outbox.pop_front() else { break };
            if request.kind != RequestKind::WriteBack {
                self.port.inbox.push_back((self.now + bench.memory_latency, request));
            }
        }
    }
}

/// The cycle in which the instruction at `order` of warp 0 passes the stage with `letter`.
pub fn at(timeline: &Timeline, order: u32, letter: char) -> u64 {
    timeline.at(0, order, letter).expect("it passes")
}

/// The instructions that issue, in order: cycle, warp, place in its program.
#[derive(Debug, Default)]
pub struct Issues(pub Vec<(Cycle, u16, u32)>);

impl Observer for Issues {
    fn issued(&mut self, now: Cycle, _: usize, seen: Seen<'_>) {
        self.0.push((now, seen.inst().warp.0, seen.inst().order));
    }
}

/// Independent instructions without operands for two units in turn, so that one can issue in each cycle.
pub fn stream(count: u16) -> impl Iterator<Item = Line> {
    (0..count).map(|i| op([OpClass::IntAdd, OpClass::FpAdd][usize::from(i) % 2], 20 + i % 60, &[]))
}

/// Numbers that look random.
pub struct Dice(pub u64);

impl Dice {
    /// The next one, from 0 to `bound`, excluded.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A loop over random lines of few registers. Those of the kinds from 14 to below `kinds` are `other`'s, which gets
/// the kind, a destination and two sources; the others are arithmetic and accesses to `spaces`.
pub fn random_program(
    seed: u64,
    spaces: &[Space],
    kinds: u64,
    other: fn(&mut Dice, u64, [u16; 3]) -> Line,
) -> Vec<Line> {
    let dice = &mut Dice(seed);
    let line = |dice: &mut Dice| {
        let [dst, a, b] = [(); 3].map(|()| dice.below(8) as u16);
        let address = dice.below(8) * 4;
        let space = spaces[dice.below(spaces.len() as u64) as usize];
        let mut line = match dice.below(kinds) {
            0..4 => add(dst, &[a, b]),
            4..6 => op(OpClass::Sfu, dst, &[a]),
            6..8 => op(OpClass::FpFma, dst, &[a, b, dst]),
            8..11 => load(space, dst, address, 4),
            11 | 12 => store(space, a, address, 4),
            13 => atomic(dst, address, 0),
            kind => other(dice, kind, [dst, a, b]),
        };
        if line.mem.is_some() {
            line.srcs[0] = b;
        }
        line
    };
    let mut lines: Vec<_> = (0..24).map(|_| line(dice)).collect();
    lines.push(branch(-20, 3));
    lines
}
