//! The run loop: one core cycle of the whole GPU, and the jump to the next one in which anything
//! can happen.

use crate::dispatch::{Dispatcher, LaunchTiming, StreamId};
use crate::snapshot::{LaunchWait, Snapshot};
use crate::watchdog::{Livelock, Watchdog};
use config::GpuConfig;
use isa::{Fault, KernelId, LaunchShape, Space, WarpStream};
use kit::{BitSet, Cycle, NEVER};
use mem::{MemorySystem, Port};
use sm::{BlockedWarp, Code, ConfigOf, CoreDesign, CoreSpec, Env, Kernel, Observer, Silent, Sm};
use std::fmt;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Core cycles in which something happened between two calls of the watcher.
const CYCLES_PER_WATCH: u32 = 4096;

/// Core cycles without an issue and without a packet between SMs and L2 after which the machine is taken
/// to be stuck, although something still moves.
const STUCK_AFTER_CYCLES: Cycle = 10_000_000;

/// That, or as many as a hundred requests in one another's way take on a GPU of long latencies or of
/// clocks far apart.
fn stuck_after(config: &GpuConfig) -> Cycle {
    let clocks = &config.clocks;
    let t = &config.dram.timing;
    let in_bank: u64 = [t.tRC, t.tRAS, t.tRP, t.tRCD, t.tCL, t.tWL, t.tWR, t.tCDLR].map(u64::from).iter().sum();
    let dram = (u64::from(config.dram.latency_cycles) + in_bank) as f64 / clocks.dram_mhz;
    let l2 = f64::from(config.l2.latency_cycles) / clocks.l2_mhz;
    // A line in flits of one byte.
    let interconnect = 256.0 / clocks.interconnect_mhz;
    STUCK_AFTER_CYCLES.max((100.0 * clocks.core_mhz * (dram + l2 + interconnect)) as Cycle)
}

/// A kernel that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRun {
    /// Which launch.
    pub kernel: KernelId,
    /// Its stream.
    pub stream: StreamId,
    /// Cycle in which it became resident: the launch latency begins.
    pub start: Cycle,
    /// Cycle in which its launch latency was over.
    pub ready: Cycle,
    /// Cycle after its last CTA's end.
    pub end: Cycle,
    /// What the whole GPU did from `start` to `end`; from `ready` on only, if other kernels ran during the
    /// launch latency. [`Snapshot::kernel_cycles`] of it are those from `ready` to `end`.
    pub counters: Snapshot,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The oldest kernel that runs.
    pub kernel: Option<KernelId>,
    /// CTAs of unfinished kernels that have ended.
    pub ctas_done: u64,
    /// CTAs of unfinished kernels.
    pub ctas_total: u64,
    /// Core cycles.
    pub cycles: Cycle,
    /// Warp instructions issued.
    pub warp_instructions: u64,
}

/// Nothing can go on: who waits for what.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// When it was found.
    pub cycle: Cycle,
    /// The warps.
    pub blocked: Vec<BlockedWarp>,
}

/// Most warps that the text of a deadlock names.
const NAMED_WARPS: usize = 16;

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warps = kit::text::counted(self.blocked.len() as u64, "warp");
        write!(f, "deadlock at cycle {}: {warps} can never go on", self.cycle)?;
        for warp in self.blocked.iter().take(NAMED_WARPS) {
            write!(f, "\n  {warp}")?;
        }
        if self.blocked.len() > NAMED_WARPS {
            write!(f, "\n  … and {} more", self.blocked.len() - NAMED_WARPS)?;
        }
        Ok(())
    }
}

/// Why a run ended before its kernels did. The machine keeps its counters.
#[derive(Debug)]
pub enum RunError {
    /// An instruction had no defined outcome.
    Fault(Box<Fault>),
    /// Nothing can go on.
    Deadlock(Deadlock),
    /// Warps execute without end and change nothing.
    Livelock(Livelock),
    /// The watcher said so.
    Interrupted,
}

/// A launch that is running.
#[derive(Clone, Debug)]
struct Running {
    kernel: KernelId,
    stream: StreamId,
    start: Cycle,
    /// Its launch latency ends.
    ready: Cycle,
    /// Where its counters begin.
    before: Snapshot,
}

impl Running {
    /// Whether nothing ran between the beginning of the counters and `now`.
    fn only_waited(&self, now: &Snapshot) -> bool {
        now.launch.cycles - self.before.launch.cycles == now.cycles - self.before.cycles
    }

    /// The run up to `after`.
    fn until(&self, after: &Snapshot) -> KernelRun {
        let Self { kernel, stream, start, ready, ref before } = *self;
        let end = after.cycles;
        // What others did while it waited is not its own.
        let counters = if ready > end && !self.only_waited(after) { after } else { before };
        KernelRun { kernel, stream, start, ready: ready.min(end), end, counters: after.since(counters) }
    }
}

/// A GPU whose warps are streams `S` and whose SMs are of design `P`.
#[derive(Debug)]
pub struct Machine<S: WarpStream, P: CoreDesign, O: Observer = Silent> {
    // The block diagram.
    dispatcher: Dispatcher,
    sms: Vec<Sm<S, P, O>>,
    /// Between each SM and the memory system.
    ports: Vec<Port>,
    memory: MemorySystem,

    /// What all streams share: device memory, or nothing.
    pub shared: S::Shared,
    spec: Arc<CoreSpec>,
    kernels: Vec<Kernel>,
    streams: Vec<StreamId>,
    running: Vec<Running>,
    ended: Vec<KernelRun>,
    flush_l1: bool,
    flush_l2: bool,

    // Time.
    now: Cycle,
    /// When each SM must be ticked next.
    due: Vec<Cycle>,
    /// When the first of them must.
    first_due: Cycle,
    /// The first cycle in which CTAs have ended that still have to be retired.
    first_finish: Cycle,
    /// SMs that may have room for a CTA.
    room: BitSet,
    /// When the next resident kernel may have its first CTA dispatched.
    kernel_ready: Cycle,
    /// Waits for launches that are over.
    waited: LaunchWait,
    /// The counters when the present one began: no kernel is past its launch latency.
    waiting_since: Option<Box<Snapshot>>,
    /// When something moved last, and how much had moved then: instructions issued and packets.
    last_move: (Cycle, u64),
    stuck_after: Cycle,
    /// Looks for warps that execute without end, if that is wanted.
    watchdog: Option<Box<Watchdog>>,
    /// Some kernel reads textures.
    textures: bool,
    /// Cycles in which something happens until the watcher is called again.
    until_watch: u32,

    // Samples: all counters every so many cycles, if anyone wants them.
    sample_every: Cycle,
    /// The cycle before which the next one is taken.
    sample_at: Cycle,
    samples: Vec<Snapshot>,
}

impl<S: WarpStream, P: CoreDesign, O: Observer> Machine<S, P, O> {
    /// An idle GPU. `stream` and `observer` make those of SM *i*.
    pub fn new(
        config: &GpuConfig,
        spec: Arc<CoreSpec>,
        policy: &ConfigOf<P>,
        shared: S::Shared,
        stream: impl Fn(u16) -> S,
        observer: impl Fn(u16) -> O,
    ) -> Self {
        let timing = LaunchTiming {
            kernel_cycles: config.launch.kernel_latency_cycles.into(),
            cta_cycles: config.launch.cta_latency_cycles.into(),
            max_resident: config.launch.max_concurrent_kernels as usize,
        };
        let (count, cluster) = (config.sm_count as usize, config.sms_per_cluster as usize);
        let mut memory = MemorySystem::new(config);
        if S::ALONE {
            memory.follow_requests();
        }
        let sms = (0..count as u16).map(|i| Sm::new(i, spec.clone(), stream(i), policy, observer(i)));
        Self {
            dispatcher: Dispatcher::new(timing, count / cluster, cluster),
            sms: sms.collect(),
            ports: vec![Port::default(); count],
            memory,
            shared,
            spec,
            kernels: Vec::new(),
            streams: Vec::new(),
            running: Vec::new(),
            ended: Vec::new(),
            flush_l1: config.launch.flush_l1_between_kernels,
            flush_l2: config.launch.flush_l2_between_kernels,
            now: 0,
            due: vec![NEVER; count],
            first_due: NEVER,
            first_finish: NEVER,
            room: BitSet::new(count),
            kernel_ready: NEVER,
            waited: LaunchWait::default(),
            waiting_since: None,
            last_move: (0, 0),
            stuck_after: stuck_after(config),
            watchdog: None,
            textures: false,
            until_watch: CYCLES_PER_WATCH,
            sample_every: NEVER,
            sample_at: NEVER,
            samples: Vec::new(),
        }
    }

    /// Queues a launch, which must fit on an SM. Ids are given in order from 0; a live stream's
    /// shared state must give the same.
    pub fn launch(&mut self, code: Arc<Code>, shape: LaunchShape, stream: StreamId) -> KernelId {
        let id = KernelId::from(self.kernels.len());
        self.textures |= code.program.insts().iter().any(|i| i.mem.is_some_and(|m| m.space == Space::Texture));
        self.kernels.push(Kernel::new(code, shape, &self.spec));
        self.streams.push(stream);
        self.dispatcher.launch(id, stream, &shape);
        id
    }

    /// Runs until all launched kernels have ended, or `watch` breaks it off.
    ///
    /// # Errors
    /// A fault, a deadlock, an interruption.
    pub fn run(&mut self, watch: &mut dyn FnMut(Standing) -> ControlFlow<()>) -> Result<(), RunError> {
        while !self.dispatcher.is_idle() {
            self.run_to_next_end(watch)?;
        }
        Ok(())
    }

    /// Runs until some kernel has ended, if any is launched, or `watch` breaks it off. What is
    /// launched before the next call begins as early as if it had been launched before.
    ///
    /// # Errors
    /// As [`Machine::run`].
    pub fn run_to_next_end(&mut self, watch: &mut dyn FnMut(Standing) -> ControlFlow<()>) -> Result<(), RunError> {
        let ended = self.ended.len();
        self.admit(self.now);
        while !self.dispatcher.is_idle() && self.ended.len() == ended {
            let next = self.next_event();
            if next == NEVER {
                return Err(self.deadlock());
            }
            if next >= self.sample_at {
                self.take_samples_upto(next);
            }
            self.now = next;
            self.cycle().map_err(RunError::Fault)?;
            self.until_watch -= 1;
            if self.until_watch == 0 {
                self.until_watch = CYCLES_PER_WATCH;
                let standing = self.standing();
                self.check_progress(standing)?;
                if watch(standing).is_break() {
                    return Err(RunError::Interrupted);
                }
            }
        }
        self.sms.iter_mut().for_each(|sm| sm.settle(self.now));
        self.sms.iter().for_each(|sm| sm.account().check());
        Ok(())
    }

    /// Takes all counters from now on before each cycle whose number is a multiple of `cycles`, as long
    /// as kernels run. What is simulated stays the same.
    pub fn sample_every(&mut self, cycles: NonZeroU64) {
        self.sample_every = cycles.get();
        self.sample_at = self.now.next_multiple_of(cycles.get()).max(cycles.get());
    }

    /// Ends a run with [`RunError::Livelock`] when all warps have repeated themselves, and nothing that
    /// they share has changed, for at least `cycles` cycles. A program that would end is never stopped:
    /// [`Livelock`] says how it is detected. Streams must know their state ([`WarpStream::has_changed`]).
    pub fn watch_for_livelock(&mut self, cycles: NonZeroU64) {
        self.watchdog = Some(Box::new(Watchdog::new(cycles.get())));
    }

    /// The counters taken since this was last called ([`Machine::sample_every`]).
    pub fn take_samples(&mut self) -> Vec<Snapshot> {
        std::mem::take(&mut self.samples)
    }

    /// Nothing happens between `now` and `next`: the state is that of each cycle between.
    #[cold]
    fn take_samples_upto(&mut self, next: Cycle) {
        while self.sample_at <= next {
            let sample = self.snapshot(self.sample_at);
            self.samples.push(sample);
            self.sample_at += self.sample_every;
        }
    }

    /// One core cycle: answers arrive, SMs work, CTAs end and begin.
    fn cycle(&mut self) -> Result<(), Box<Fault>> {
        self.end_launch_latencies();
        self.advance_memory();
        self.tick_sms()?;
        self.retire();
        self.dispatch();
        self.now += 1;
        Ok(())
    }

    /// The memory system catches up; SMs that sleep are woken by their first answer.
    fn advance_memory(&mut self) {
        if self.memory.next_event(&self.ports) > self.now {
            return;
        }
        self.memory.advance(self.now, &mut self.ports);
        for sm in self.memory.answered() {
            if let Some(&(stamp, _)) = self.ports[sm].inbox.front() {
                self.due[sm] = self.due[sm].min(stamp);
                self.first_due = self.first_due.min(stamp);
            }
        }
    }

    /// Ticks the SMs that are due, and goes on with each as long as it cannot tell from its port what
    /// the others do: its state stays at hand. Whatever happens between SMs happens in the order of
    /// cycles all the same.
    fn tick_sms(&mut self) -> Result<(), Box<Fault>> {
        if self.first_due > self.now {
            return Ok(());
        }
        self.first_due = NEVER;
        let ahead = self.may_run_ahead();
        for i in 0..self.sms.len() {
            if self.due[i] <= self.now {
                let until = if ahead && self.sms[i].resident_warps() > 0 { self.may_reach(i) } else { self.now };
                self.tick_sm(i, until)?;
            }
            self.first_due = self.first_due.min(self.due[i]);
        }
        Ok(())
    }

    /// Whether SMs may be ticked beyond the present cycle: no warp depends on other SMs', no CTA is
    /// to be dispatched, and the end of the one kernel finds all other SMs idle.
    fn may_run_ahead(&self) -> bool {
        S::ALONE
            && self.running.len() == 1
            && self.kernel_ready == NEVER
            && (self.room.is_empty() || !self.dispatcher.has_work(self.now))
    }

    /// The last cycle in which SM `i` may be ticked now. All are to be level when the watcher is called
    /// and when a sample is taken.
    fn may_reach(&mut self, i: usize) -> Cycle {
        let watch = (self.now + Cycle::from(self.until_watch)).min(self.sample_at) - 1;
        self.memory.undisturbed_until(i, self.now, self.textures).clamp(self.now, watch)
    }

    /// Ticks SM `i` in this cycle and those up to `until` in which it has something to do. It stops
    /// where a CTA ends, and where its requests might find no room.
    fn tick_sm(&mut self, i: usize, until: Cycle) -> Result<(), Box<Fault>> {
        let (sm, port) = (&mut self.sms[i], &mut self.ports[i]);
        let mut env = Env { kernels: &self.kernels, shared: &mut self.shared, port };
        let mut at = self.now;
        loop {
            sm.tick(at, &mut env)?;
            let next = sm.next_event(env.port);
            self.due[i] = next;
            if !sm.finished().is_empty() {
                self.first_finish = self.first_finish.min(at);
                return Ok(());
            }
            if next > until || env.port.outbox.len() + Sm::<S, P, O>::MOST_REQUESTS > self.spec.outbox_packets as usize
            {
                return Ok(());
            }
            at = next;
        }
    }

    /// CTAs that have ended make room, kernels that have ended are reported.
    fn retire(&mut self) {
        if self.first_finish > self.now {
            return;
        }
        self.first_finish = NEVER;
        let mut ended = Vec::new();
        for (i, sm) in self.sms.iter_mut().enumerate() {
            if sm.finished().is_empty() {
                continue;
            }
            // It has not been ticked since.
            let finish = sm.account().cycles() - 1;
            if finish > self.now {
                self.first_finish = self.first_finish.min(finish);
                continue;
            }
            for cta in sm.finished().drain(..) {
                self.room.insert(i);
                if self.dispatcher.cta_finished(cta.kernel) {
                    ended.push(cta.kernel);
                }
            }
        }
        if ended.is_empty() {
            return;
        }
        let after = self.snapshot(self.now + 1);
        for kernel in ended {
            let at = self.running.iter().position(|r| r.kernel == kernel).expect("it was admitted");
            self.ended.push(self.running.remove(at).until(&after));
        }
        if self.flush_l2 {
            self.memory.flush_l2();
        }
        self.admit(self.now + 1);
    }

    /// Kernels whose turn has come become resident from cycle `now` on.
    fn admit(&mut self, now: Cycle) {
        let begun = self.dispatcher.admit(now);
        if !begun.is_empty() {
            let before = self.snapshot(now);
            for (kernel, ready) in begun {
                let stream = self.streams[kernel.index()];
                self.running.push(Running { kernel, stream, start: now, ready, before: before.clone() });
            }
            if self.flush_l1 {
                self.sms.iter_mut().filter(|sm| sm.is_idle()).for_each(Sm::invalidate_l1);
            }
            self.kernel_ready = self.dispatcher.next_ready(now);
        }
        if self.waiting_since.is_none() && !self.running.is_empty() && self.running.iter().all(|r| r.ready > now) {
            self.waiting_since = Some(Box::new(self.snapshot(now)));
        }
    }

    /// Kernels whose launch latency is over start: a wait of the whole machine ends.
    fn end_launch_latencies(&mut self) {
        let now = self.now;
        if self.kernel_ready > now {
            return;
        }
        let here = self.snapshot(now);
        if let Some(since) = self.waiting_since.take() {
            self.waited.add(&here.wait_since(&since));
        }
        for running in self.running.iter_mut().filter(|r| r.ready == now) {
            if !running.only_waited(&here) {
                running.before = here.clone();
            }
        }
    }

    /// Each SM gets at most one CTA.
    fn dispatch(&mut self) {
        if self.kernel_ready <= self.now {
            // Where no CTA of the others fits, one of this kernel may.
            (0..self.sms.len()).for_each(|sm| {
                self.room.insert(sm);
            });
            self.kernel_ready = self.dispatcher.next_ready(self.now + 1);
        }
        if self.room.is_empty() || !self.dispatcher.has_work(self.now) {
            return;
        }
        let Self { dispatcher, sms, ports, kernels, shared, due, first_due, now, room, .. } = self;
        let next = *now + 1;
        dispatcher.dispatch(*now, room, |p| {
            let sm = &mut sms[p.sm];
            let fits = sm.can_accept(&kernels[p.kernel.index()].shape);
            if fits {
                let mut env = Env { kernels, shared, port: &mut ports[p.sm] };
                sm.start_cta(next, &mut env, p.kernel, p.cta);
                due[p.sm] = next;
                *first_due = (*first_due).min(next);
            }
            fits
        });
    }

    /// The next cycle in which anything can happen; `now` is the first that has not been done.
    fn next_event(&self) -> Cycle {
        let dispatch =
            if !self.room.is_empty() && self.dispatcher.has_work(self.now) { self.now } else { self.kernel_ready };
        let next = self.first_due.min(self.first_finish).min(dispatch);
        if next <= self.now { self.now } else { next.min(self.memory.next_event(&self.ports)) }
    }

    /// A machine in which requests go round but nothing issues is as dead as a silent one.
    fn check_progress(&mut self, standing: Standing) -> Result<(), RunError> {
        let moved = standing.warp_instructions + self.memory.packets_moved();
        if moved != self.last_move.1 {
            self.last_move = (self.now, moved);
        } else if self.now - self.last_move.0 > self.stuck_after {
            return Err(self.deadlock());
        }
        let Self { watchdog, sms, shared, kernels, kernel_ready, now, .. } = self;
        if let Some(watchdog) = watchdog
            && watchdog.look(*now, sms, shared, *kernel_ready != NEVER)
        {
            let mut warps = Vec::new();
            for (number, sm) in sms.iter_mut().enumerate() {
                warps.extend(sm.follow_loops(*now, kernels, shared, |warp| watchdog.is_blocked(number, warp)));
            }
            return Err(RunError::Livelock(watchdog.report(*now, warps)));
        }
        Ok(())
    }

    fn deadlock(&self) -> RunError {
        let blocked = self.sms.iter().flat_map(|sm| sm.describe_stalls(&self.kernels)).collect();
        RunError::Deadlock(Deadlock { cycle: self.now, blocked })
    }

    fn standing(&self) -> Standing {
        let (ctas_done, ctas_total) = self.dispatcher.progress();
        Standing {
            kernel: self.running.first().map(|r| r.kernel),
            ctas_done,
            ctas_total,
            cycles: self.now,
            warp_instructions: self.sms.iter().map(|sm| sm.counters().warp_instructions).sum(),
        }
    }

    fn snapshot(&mut self, upto: Cycle) -> Snapshot {
        let mut all = Snapshot {
            cycles: upto,
            memory: self.memory.counters(),
            dram_cycles: self.memory.dram_cycles(upto),
            launch: self.waited.clone(),
            ..Snapshot::default()
        };
        for sm in &mut self.sms {
            sm.settle(upto);
            all.add_sm(sm);
        }
        if let Some(since) = &self.waiting_since {
            all.launch.add(&all.wait_since(since));
        }
        all
    }

    /// All counters since the start.
    pub fn counters(&mut self) -> Snapshot {
        self.snapshot(self.now)
    }

    /// The cycle that comes next: all before it have been simulated.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Kernels that have ended since this was last called, in order of their end.
    pub fn take_ended(&mut self) -> Vec<KernelRun> {
        std::mem::take(&mut self.ended)
    }

    /// What a kernel that has not ended has done so far, for a report after an interruption.
    pub fn unfinished(&mut self) -> Vec<KernelRun> {
        let after = self.snapshot(self.now);
        self.running.iter().map(|r| r.until(&after)).collect()
    }

    /// A launch by its id.
    pub fn kernel(&self, id: KernelId) -> &Kernel {
        &self.kernels[id.index()]
    }

    /// The SMs' common description.
    pub fn spec(&self) -> &Arc<CoreSpec> {
        &self.spec
    }

    /// The SMs, for their policies' structures and observers.
    pub fn sms(&self) -> &[Sm<S, P, O>] {
        &self.sms
    }

    /// A copy from the host leaves its data in L2, as on hardware.
    pub fn copied_to_device(&mut self, address: u64, bytes: u64) {
        self.memory.copy_to_device(address, bytes);
    }
}
