//! The run loop: one core cycle of the whole GPU, and the jump to the next one in which anything
//! can happen.

use crate::core::{Core, CoreCounters, CoreKernel, CoreReport, Env};
use crate::dispatch::{Dispatcher, LaunchTiming, StreamId};
use crate::run::{Deadlock, KernelRun, MachineError, Progress, Running, View};
use crate::snapshot::{LaunchWait, Snapshot};
use crate::watchdog::Watchdog;
use config::GpuConfig;
use isa::{Fault, KernelId};
use kit::{BitSet, Counters, Cycle, NEVER};
use mem::{MemorySystem, Port};
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// Core cycles in which something happened between two calls of the watcher.
const CYCLES_PER_WATCH: u32 = 4096;

/// Core cycles without an issue and without a packet between SMs and L2 after which the machine counts
/// as stuck, although requests still move.
const STUCK_AFTER_CYCLES: Cycle = 10_000_000;

/// The same, or the time of a hundred requests one after the other on a GPU with long latencies or with very
/// different clocks.
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

/// What cores counted while every kernel was within its launch latency.
struct Waiting<K> {
    /// The waits that are over.
    ended: LaunchWait,
    ended_cores: K,
    /// The counters when the present one began: no kernel is past its launch latency.
    since: Option<Box<Snapshot<K>>>,
}

/// A GPU of cores `C`.
pub struct Machine<C: Core> {
    // The block diagram.
    dispatcher: Dispatcher,
    cores: Vec<C>,
    /// Between each core and the memory system.
    ports: Vec<Port>,
    memory: MemorySystem,

    /// What all cores share: device memory, or nothing.
    pub shared: C::Shared,
    kernels: Vec<C::Kernel>,
    streams: Vec<StreamId>,
    running: Vec<Running<C::Counters>>,
    ended: Vec<KernelRun<C::Counters>>,
    flush_l1: bool,
    flush_l2: bool,

    // Time.
    now: Cycle,
    /// The present run does not reach this cycle.
    limit: Cycle,
    /// When each core must be ticked next.
    due: Vec<Cycle>,
    /// When the first of them must.
    first_due: Cycle,
    /// The first cycle in which CTAs have ended that still have to be retired.
    first_finish: Cycle,
    /// Cores that may have room for a CTA.
    room: BitSet,
    /// When the next resident kernel may have its first CTA dispatched.
    kernel_ready: Cycle,
    waiting: Waiting<C::Counters>,
    /// When something moved last, and how much had moved then: instructions issued and packets.
    last_move: (Cycle, u64),
    stuck_after: Cycle,
    /// Looks for warps that execute without end, if that is requested.
    watchdog: Option<Box<Watchdog>>,
    /// No core's threads depend on another's.
    alone: bool,
    /// Some kernel reads textures.
    textures: bool,
    /// Cycles in which something happens until the watcher is called again.
    until_watch: u32,

    /// Requests that a core may have at its port.
    outbox_packets: usize,

    // Samples: what was counted in each interval of a number of cycles, if that is requested.
    sample_every: Cycle,
    /// The cycle before which the next one is taken.
    sample_at: Cycle,
    /// The counters at the last one.
    sampled: Snapshot<C::Counters>,
    samples: Vec<Snapshot<C::Counters>>,
    most_samples: usize,
}

impl<C: Core> Machine<C> {
    /// An idle GPU of `cores`, each of which may have `outbox_packets` requests at its port.
    pub fn new(config: &GpuConfig, outbox_packets: u32, shared: C::Shared, cores: Vec<C>) -> Self {
        let timing = LaunchTiming {
            kernel_cycles: config.kernel_latency_cycles().into(),
            cta_cycles: config.launch.cta_latency_cycles.into(),
            max_resident: config.launch.max_concurrent_kernels as usize,
        };
        let (count, cluster) = (cores.len(), config.sms_per_cluster as usize);
        let mut memory = MemorySystem::new(config);
        let alone = cores.iter().all(C::is_alone);
        if alone {
            memory.follow_requests();
        }
        Self {
            dispatcher: Dispatcher::new(timing, count / cluster, cluster),
            cores,
            alone,
            ports: vec![Port::default(); count],
            memory,
            shared,
            kernels: Vec::new(),
            streams: Vec::new(),
            running: Vec::new(),
            ended: Vec::new(),
            flush_l1: config.launch.flush_l1_between_kernels,
            flush_l2: config.launch.flush_l2_between_kernels,
            now: 0,
            limit: NEVER,
            due: vec![NEVER; count],
            first_due: NEVER,
            first_finish: NEVER,
            room: BitSet::new(count),
            kernel_ready: NEVER,
            waiting: Waiting { ended: LaunchWait::default(), ended_cores: C::Counters::default(), since: None },
            last_move: (0, 0),
            stuck_after: stuck_after(config),
            watchdog: None,
            textures: false,
            until_watch: CYCLES_PER_WATCH,
            outbox_packets: outbox_packets as usize,
            sample_every: NEVER,
            sample_at: NEVER,
            sampled: Snapshot::default(),
            samples: Vec::new(),
            most_samples: usize::MAX,
        }
    }

    /// Queues a launch, which must fit on a core. Ids are given in order from 0; the launches in
    /// [`Machine::shared`], if it has any, must have the same.
    pub fn launch(&mut self, kernel: C::Kernel, stream: StreamId) -> KernelId {
        let id = KernelId::from(self.kernels.len());
        self.textures |= kernel.reads_textures();
        self.dispatcher.launch(id, stream, kernel.shape());
        self.kernels.push(kernel);
        self.streams.push(stream);
        id
    }

    /// Runs until all launched kernels have ended, or `watch` ends the run.
    ///
    /// # Errors
    /// A fault, a deadlock, an interruption.
    pub fn run(&mut self, watch: &mut dyn FnMut(&dyn View) -> ControlFlow<()>) -> Result<(), MachineError> {
        while !self.dispatcher.is_idle() {
            self.run_to_next_end(NEVER, watch)?;
        }
        Ok(())
    }

    /// Runs until some kernel has ended, if any is launched, until cycle `limit`, or until `watch` ends the run. What
    /// is launched before the next call begins as early as if it had been launched before.
    ///
    /// # Errors
    /// As [`Machine::run`].
    pub fn run_to_next_end(
        &mut self,
        limit: Cycle,
        watch: &mut dyn FnMut(&dyn View) -> ControlFlow<()>,
    ) -> Result<(), MachineError> {
        let ended = self.ended.len();
        self.limit = limit;
        self.admit(self.now);
        while !self.dispatcher.is_idle() && self.ended.len() == ended && self.now < limit {
            let next = self.next_event();
            if next == NEVER {
                return Err(self.deadlock());
            }
            if next >= limit {
                self.now = limit;
                break;
            }
            if next >= self.sample_at {
                self.take_samples_upto(next);
            }
            self.now = next;
            self.cycle().map_err(MachineError::Fault)?;
            self.until_watch -= 1;
            if self.until_watch == 0 {
                self.until_watch = CYCLES_PER_WATCH;
                let progress = self.progress();
                self.check_progress(progress)?;
                if watch(&*self).is_break() {
                    return Err(MachineError::Interrupted);
                }
            }
        }
        self.cores.iter_mut().for_each(|core| core.settle(self.now));
        self.cores.iter().for_each(C::check);
        Ok(())
    }

    /// From now on takes a sample before each cycle whose number is a multiple of `cycles`, as long as kernels
    /// run. What is simulated stays the same.
    pub fn sample_every(&mut self, cycles: NonZeroU64) {
        self.sample_every = cycles.get();
        self.sample_at = self.now.next_multiple_of(cycles.get()).max(cycles.get());
    }

    /// As [`Machine::sample_every`] from the start of a run whose length is not known: when there are `most` samples,
    /// an even number, each two become one and the interval doubles.
    pub fn sample_at_most(&mut self, cycles: NonZeroU64, most: usize) {
        self.sample_every(cycles);
        self.most_samples = most;
    }

    /// Ends a run with [`MachineError::Livelock`] when all warps have repeated themselves, and nothing that
    /// they share has changed, for at least `cycles` cycles. A program that would end is never stopped. Cores
    /// must know their state ([`Core::has_changed`]).
    ///
    /// [`MachineError::Livelock`]: crate::MachineError::Livelock
    pub fn watch_for_livelock(&mut self, cycles: NonZeroU64) {
        self.watchdog = Some(Box::new(Watchdog::new(cycles.get())));
    }

    /// What was counted in each interval between samples that has ended since this was last called
    /// ([`Machine::sample_every`]).
    pub fn take_samples(&mut self) -> Vec<Snapshot<C::Counters>> {
        std::mem::take(&mut self.samples)
    }

    /// What was counted in each interval that [`Machine::take_samples`] has not taken.
    pub fn samples(&self) -> &[Snapshot<C::Counters>] {
        &self.samples
    }

    /// What was counted since the last sample.
    pub fn since_sample(&mut self) -> Snapshot<C::Counters> {
        self.snapshot(self.now).since(&self.sampled)
    }

    /// Nothing happens between `now` and `next`: the state is that of each cycle between.
    #[cold]
    fn take_samples_upto(&mut self, next: Cycle) {
        while self.sample_at <= next {
            let sample = self.snapshot(self.sample_at);
            self.samples.push(sample.since(&self.sampled));
            self.sampled = sample;
            if self.samples.len() >= self.most_samples {
                self.halve_samples();
            }
            self.sample_at += self.sample_every;
        }
    }

    fn halve_samples(&mut self) {
        let sum = |pair: &[Snapshot<C::Counters>]| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|other| sum.add(other));
            sum
        };
        self.samples = self.samples.chunks(2).map(sum).collect();
        self.sample_every *= 2;
    }

    /// One core cycle: replies arrive, cores work, CTAs end and begin.
    fn cycle(&mut self) -> Result<(), Box<Fault>> {
        self.end_launch_latencies();
        self.advance_memory();
        self.tick_cores()?;
        self.retire();
        self.dispatch();
        self.now += 1;
        Ok(())
    }

    /// The memory system catches up; cores that sleep are woken by their first reply.
    fn advance_memory(&mut self) {
        if self.memory.next_event(&self.ports) > self.now {
            return;
        }
        self.memory.advance(self.now, &mut self.ports);
        for core in self.memory.answered() {
            if let Some(&(stamp, _)) = self.ports[core].inbox.front() {
                self.due[core] = self.due[core].min(stamp);
                self.first_due = self.first_due.min(stamp);
            }
        }
    }

    /// Ticks the cores that are due, and continues with each as long as its port cannot show what the others
    /// do: its state stays in the host's caches. What happens between cores happens in the order of cycles
    /// all the same.
    fn tick_cores(&mut self) -> Result<(), Box<Fault>> {
        if self.first_due > self.now {
            return Ok(());
        }
        self.first_due = NEVER;
        let ahead = self.may_run_ahead();
        for i in 0..self.cores.len() {
            if self.due[i] <= self.now {
                let until = if ahead && self.cores[i].has_threads() { self.may_reach(i) } else { self.now };
                self.tick_core(i, until)?;
            }
            self.first_due = self.first_due.min(self.due[i]);
        }
        Ok(())
    }

    /// Whether cores may be ticked beyond the present cycle: no thread depends on other cores', no CTA is
    /// to be dispatched, and the end of the one kernel finds all other cores idle.
    fn may_run_ahead(&self) -> bool {
        self.alone
            && self.running.len() == 1
            && self.kernel_ready == NEVER
            && (self.room.is_empty() || !self.dispatcher.has_work(self.now))
    }

    /// The last cycle in which core `i` may be ticked now. All cores are at the same cycle when the watcher is called
    /// and when a sample is taken.
    fn may_reach(&mut self, i: usize) -> Cycle {
        let watch = (self.now + Cycle::from(self.until_watch)).min(self.sample_at).min(self.limit) - 1;
        self.memory.undisturbed_until(i, self.now, self.textures).clamp(self.now, watch)
    }

    /// Ticks core `i` in this cycle and those up to `until` in which it has something to do. It stops
    /// where a CTA ends, and where its requests might find no room.
    fn tick_core(&mut self, i: usize, until: Cycle) -> Result<(), Box<Fault>> {
        let (core, port) = (&mut self.cores[i], &mut self.ports[i]);
        let mut env = Env { kernels: &self.kernels, shared: &mut self.shared, port };
        let mut at = self.now;
        loop {
            core.tick(at, &mut env)?;
            let next = core.next_event(env.port);
            self.due[i] = next;
            if !core.finished().is_empty() {
                self.first_finish = self.first_finish.min(at);
                return Ok(());
            }
            if next > until || env.port.outbox.len() + C::MOST_REQUESTS > self.outbox_packets {
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
        for (i, core) in self.cores.iter_mut().enumerate() {
            if core.finished().is_empty() {
                continue;
            }
            // It has not been ticked since.
            let finish = core.cycles() - 1;
            if finish > self.now {
                self.first_finish = self.first_finish.min(finish);
                continue;
            }
            for cta in core.finished().drain(..) {
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
                self.cores.iter_mut().filter(|core| core.is_idle()).for_each(C::flush_l1);
            }
            self.kernel_ready = self.dispatcher.next_ready(now);
        }
        if self.waiting.since.is_none() && !self.running.is_empty() && self.running.iter().all(|r| r.ready > now) {
            self.waiting.since = Some(Box::new(self.counted(now)));
        }
    }

    /// Kernels whose launch latency is over start: a wait of the whole machine ends.
    fn end_launch_latencies(&mut self) {
        let now = self.now;
        if self.kernel_ready > now {
            return;
        }
        let counted = self.counted(now);
        if let Some(since) = self.waiting.since.take() {
            self.waiting.ended.add(&counted.wait_since(&since));
            self.waiting.ended_cores.add(&counted.core.since(&since.core));
        }
        let here = self.without_waits(counted);
        for running in self.running.iter_mut().filter(|r| r.ready == now) {
            if !running.only_waited(&here) {
                running.before = here.clone();
            }
        }
    }

    /// Each core gets at most one CTA.
    fn dispatch(&mut self) {
        if self.kernel_ready <= self.now {
            // Where no CTA of the others fits, one of this kernel may.
            (0..self.cores.len()).for_each(|core| {
                self.room.insert(core);
            });
            self.kernel_ready = self.dispatcher.next_ready(self.now + 1);
        }
        if self.room.is_empty() || !self.dispatcher.has_work(self.now) {
            return;
        }
        let Self { dispatcher, cores, ports, kernels, shared, due, first_due, now, room, .. } = self;
        let next = *now + 1;
        dispatcher.dispatch(*now, room, |p| {
            let core = &mut cores[p.core];
            let fits = core.can_accept(kernels[p.kernel.index()].shape());
            if fits {
                let mut env = Env { kernels, shared, port: &mut ports[p.core] };
                core.start_cta(next, &mut env, p.kernel, p.cta);
                due[p.core] = next;
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

    /// A machine in which requests circulate but nothing issues is deadlocked too.
    fn check_progress(&mut self, progress: Progress) -> Result<(), MachineError> {
        let moved = progress.warp_instructions + self.memory.packets_moved();
        if moved != self.last_move.1 {
            self.last_move = (self.now, moved);
        } else if self.now - self.last_move.0 > self.stuck_after {
            return Err(self.deadlock());
        }
        let Self { watchdog, cores, shared, kernels, kernel_ready, now, .. } = self;
        if let Some(watchdog) = watchdog
            && watchdog.look(*now, cores, shared, *kernel_ready != NEVER)
        {
            let mut warps = Vec::new();
            for (number, core) in cores.iter_mut().enumerate() {
                warps.extend(core.follow_loops(*now, kernels, shared, &|warp| watchdog.is_blocked(number, warp)));
            }
            return Err(MachineError::Livelock(watchdog.report(*now, warps)));
        }
        Ok(())
    }

    fn deadlock(&self) -> MachineError {
        let blocked = self.cores.iter().flat_map(|core| core.describe_stalls(&self.kernels)).collect();
        MachineError::Deadlock(Deadlock { cycle: self.now, blocked })
    }

    /// What is counted up to `cycle`, as reports have it.
    fn snapshot(&mut self, upto: Cycle) -> Snapshot<C::Counters> {
        let counted = self.counted(upto);
        self.without_waits(counted)
    }

    /// What cores and memory have counted up to `upto`, waits for launches like any other time.
    fn counted(&mut self, upto: Cycle) -> Snapshot<C::Counters> {
        let mut core = C::Counters::default();
        for one in &mut self.cores {
            one.settle(upto);
            one.count(&mut core);
        }
        Snapshot {
            cycles: upto,
            launch: LaunchWait::default(),
            core,
            memory: self.memory.counters(),
            dram_cycles: self.memory.dram_cycles(upto),
        }
    }

    /// Separates the waits for launches from other time.
    fn without_waits(&self, mut counted: Snapshot<C::Counters>) -> Snapshot<C::Counters> {
        let Waiting { ended, ended_cores, since } = &self.waiting;
        let (mut wait, mut cores) = (ended.clone(), ended_cores.clone());
        if let Some(since) = since {
            wait.add(&counted.wait_since(since));
            cores.add(&counted.core.since(&since.core));
        }
        counted.launch = wait;
        counted.core.leave_out(&cores);
        counted
    }

    /// All counters since the start.
    pub fn counters(&mut self) -> Snapshot<C::Counters> {
        self.snapshot(self.now)
    }

    /// The cycle that comes next: all before it have been simulated.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Kernels that have ended since this was last called, in order of their end.
    pub fn take_ended(&mut self) -> Vec<KernelRun<C::Counters>> {
        std::mem::take(&mut self.ended)
    }

    /// What a kernel that has not ended has done so far, for a report after an interruption.
    pub fn unfinished(&mut self) -> Vec<KernelRun<C::Counters>> {
        let after = self.snapshot(self.now);
        self.running.iter().map(|r| r.until(&after)).collect()
    }

    /// The cores, for what observes them.
    pub fn cores(&self) -> &[C] {
        &self.cores
    }

    /// A copy from the host leaves its data in L2, as on hardware, if cores use the memory system at all.
    pub fn copied_to_device(&mut self, address: u64, bytes: u64) {
        if C::MOST_REQUESTS > 0 {
            self.memory.copy_to_device(address, bytes);
        }
    }
}

impl<C: Core> View for Machine<C> {
    fn progress(&self) -> Progress {
        let (ctas_done, ctas_total) = self.dispatcher.progress();
        Progress {
            kernel: self.running.first().map(|r| r.kernel),
            ctas_done,
            ctas_total,
            cycles: self.now,
            warp_instructions: self.cores.iter().map(C::warp_instructions).sum(),
        }
    }

    fn issued(&self) -> Vec<u64> {
        self.cores.iter().map(C::warp_instructions).collect()
    }

    fn counted(&self) -> Box<dyn CoreReport> {
        let mut sum = C::Counters::default();
        self.cores.iter().for_each(|core| core.count(&mut sum));
        Box::new(sum)
    }
}
