//! A machine of a core without a pipeline: dispatch, statistics and the report of a deadlock need no SM.

use config::GpuConfig;
use energy::{Activity, Each};
use gpu::{
    Core, CoreCounters, CoreKernel, CoreReport, EnvOf, FinishedCta, HostThreads, Machine, MachineError, Period,
    StreamId, Table, Value,
};
use isa::{CtaSlot, Dim3, Fault, KernelId, LaunchShape};
use kit::{Cycle, NEVER};
use mem::{Port, Request, RequestKind};
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// CTAs that fit on a core.
const ROOM: usize = 2;

kit::counters! {
    /// Counters of tiny cores.
    pub struct TinyCounters {
        /// CTAs ended.
        pub ctas: "CTAs",
        /// Requests made.
        pub requests: "requests",
        /// Replies received.
        pub replies: "requests",
        /// Cycles without a CTA.
        pub idle: "cycles",
        /// Cycles with one.
        pub busy: "cycles",
    }
}

impl CoreCounters for TinyCounters {
    fn leave_out(&mut self, waited: &Self) {
        self.idle -= waited.idle;
    }
}

impl CoreReport for TinyCounters {
    fn headline(&self, of: Period<'_>, t: &mut Table) {
        t.put("ctas_per_cycle", "CTAs/cycle", "CTAs ended.", Value::ratio(self.ctas, of.kernel_cycles, 1.0));
    }

    fn parts(&self, _: Period<'_>, t: &mut Table) {
        t.group("tiny", self);
    }

    fn design(&self, _: &mut Table) {}

    fn activity(&self, cycles: Cycle, _: &GpuConfig) -> Activity {
        Activity { seconds: cycles as f64 * 1e-9, ..Activity::default() }
    }

    fn uses(&self, _: Each) -> u64 {
        0
    }

    fn warp_instructions(&self) -> u64 {
        self.ctas
    }

    fn thread_instructions(&self) -> u64 {
        self.ctas
    }

    fn active_cycles(&self) -> u64 {
        self.busy
    }
}

/// A CTA of this kernel takes some cycles, in the first of which it makes its requests.
#[derive(Clone, Copy)]
struct Work {
    shape: LaunchShape,
    cycles: Cycle,
    /// Maximum number of cycles that a CTA takes longer; it differs between CTAs.
    spread: Cycle,
    requests: u32,
    /// Replies beyond those to its requests for which it waits: they never come.
    lost: u32,
}

impl Work {
    fn cycles_of(&self, cta: Dim3) -> Cycle {
        self.cycles + (u64::from(cta.x) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % (self.spread + 1)
    }
}

impl CoreKernel for Work {
    fn shape(&self) -> &LaunchShape {
        &self.shape
    }
}

struct Resident {
    kernel: KernelId,
    cta: Dim3,
    /// The first cycle in which it may end.
    until: Cycle,
    unsent: u32,
    awaited: u32,
}

/// A core that runs in step, or in windows.
#[derive(Default)]
struct Tiny<const IN_STEP: bool = true> {
    number: u64,
    /// Cycles accounted for.
    cycles: Cycle,
    resident: Vec<Resident>,
    finished: Vec<FinishedCta>,
    counters: TinyCounters,
}

impl<const IN_STEP: bool> Core for Tiny<IN_STEP> {
    type Kernel = Work;
    /// Where each CTA ran, in the order of dispatch.
    type Shared = Vec<(u64, Dim3)>;
    type Counters = TinyCounters;

    const MOST_REQUESTS: usize = 1;
    const IN_STEP: bool = IN_STEP;

    fn tick(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>) -> Result<(), Box<Fault>> {
        self.settle(now + 1);
        if env.port.inbox.front().is_some_and(|&(due, _)| due <= now) {
            env.port.inbox.pop_front();
            self.counters.replies += 1;
            let waiting = self.resident.iter_mut().find(|r| r.awaited > 0).expect("someone waits");
            waiting.awaited -= 1;
        }
        if let Some(sender) = self.resident.iter_mut().find(|r| r.unsent > 0) {
            let line = self.number << 20 | self.counters.requests << 7;
            let request = Request::new(RequestKind::Read, line, 128, 0);
            env.port.outbox.push_back((now, request));
            sender.unsent -= 1;
            self.counters.requests += 1;
        }
        let ended = |r: &Resident| r.until <= now && r.unsent + r.awaited == 0;
        if let Some(at) = self.resident.iter().position(ended) {
            let Resident { kernel, cta, .. } = self.resident.remove(at);
            self.finished.push(FinishedCta { kernel, cta, slot: CtaSlot(at as u16) });
            self.counters.ctas += 1;
        }
        Ok(())
    }

    fn next_event(&self, port: &Port) -> Cycle {
        if self.resident.iter().any(|r| r.unsent > 0) {
            return self.cycles;
        }
        let ends = self.resident.iter().filter(|r| r.awaited == 0).map(|r| r.until);
        let reply = port.inbox.front().map(|&(due, _)| due);
        ends.chain(reply).min().map_or(NEVER, |next| next.max(self.cycles))
    }

    fn cycles(&self) -> Cycle {
        self.cycles
    }

    fn can_accept(&self, coming: &mut dyn Iterator<Item = &LaunchShape>, _: &LaunchShape) -> bool {
        self.resident.len() + coming.count() < ROOM
    }

    fn prepare_cta(&mut self, shared: &mut Self::Shared, _: KernelId, cta: Dim3) {
        shared.push((self.number, cta));
    }

    fn start_cta(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>, kernel: KernelId, cta: Dim3) {
        self.settle(now);
        let work = env.kernels[kernel.index()];
        let Work { requests, lost, .. } = work;
        let (until, awaited) = (now + work.cycles_of(cta) - 1, requests + lost);
        self.resident.push(Resident { kernel, cta, until, unsent: requests, awaited });
    }

    fn finished(&mut self) -> &mut Vec<FinishedCta> {
        &mut self.finished
    }

    fn has_threads(&self) -> bool {
        !self.resident.is_empty()
    }

    fn is_idle(&self) -> bool {
        self.resident.is_empty()
    }

    fn settle(&mut self, now: Cycle) {
        let passed = now.saturating_sub(self.cycles);
        *(if self.resident.is_empty() { &mut self.counters.idle } else { &mut self.counters.busy }) += passed;
        self.cycles += passed;
    }

    fn check(&self) {
        assert_eq!(self.counters.idle + self.counters.busy, self.cycles);
    }

    fn flush_l1(&mut self) {}

    fn count(&self, sum: &mut TinyCounters) {
        kit::Counters::add(sum, &self.counters);
    }

    fn warp_instructions(&self) -> u64 {
        self.counters.ctas
    }

    fn cta_events(&self) -> u64 {
        self.counters.ctas
    }

    fn describe_stalls(&self, _: &[Work]) -> Vec<String> {
        let line = |r: &Resident| format!("core {}: CTA {} waits for {} replies", self.number, r.cta, r.awaited);
        self.resident.iter().map(line).collect()
    }
}

const LATENCY: Cycle = 10;

fn gpu(cores: u32, cores_per_cluster: u32) -> GpuConfig {
    let mut gpu = config::load("accel-sim/gtx480").expect("a built-in GPU");
    gpu.sm_count = cores;
    gpu.sms_per_cluster = cores_per_cluster;
    gpu.launch.set_kernel_latency_cycles(LATENCY as u32);
    gpu.launch.cta_latency_cycles = 0;
    gpu
}

fn core<const IN_STEP: bool>(number: usize) -> Tiny<IN_STEP> {
    Tiny { number: number as u64, ..Tiny::default() }
}

fn machine() -> Machine<Tiny> {
    Machine::new(&gpu(2, 1), Vec::new(), (0..2).map(core))
}

fn work(ctas: u32, cycles: Cycle, requests: u32, lost: u32) -> Work {
    let (grid, block) = (Dim3::new(ctas, 1, 1), Dim3::new(32, 1, 1));
    let shape = LaunchShape { grid, block, registers_per_thread: 16, shared_bytes: 0, cluster: None };
    Work { shape, cycles, spread: 0, requests, lost }
}

/// Without requests every cycle is known: two cores hold two CTAs each, a core takes one CTA in a cycle, a
/// CTA that is dispatched in cycle *t* begins in *t + 1*.
#[test]
fn ctas_fill_the_cores_and_follow_each_other() {
    let mut machine = machine();
    machine.launch(work(6, 100, 0, 0), StreamId(0));
    machine.run(&mut |_| ControlFlow::Continue(())).expect("it ends");
    let placed: Vec<_> = machine.shared.iter().map(|&(core, cta)| (core, cta.x)).collect();
    assert_eq!(placed, [(0, 0), (1, 1), (0, 2), (1, 3), (0, 4), (1, 5)]);
    let run = machine.take_ended().remove(0);
    // Dispatch in cycles 10 and 11; the first CTAs end in 110, where the last two are dispatched.
    assert_eq!((run.start, run.ready, run.end), (0, LATENCY, LATENCY + 1 + 100 + 100));
    let counted = &run.counters;
    assert_eq!((counted.kernel_cycles(), counted.launch.cycles), (201, LATENCY));
    assert_eq!((counted.core.ctas, counted.core.busy), (6, 2 * 200));
    assert_eq!(counted.core.idle, 2, "idling within the launch latency is left out");
}

/// Rounds of `cores * ROOM` CTAs of `k` cycles each follow each other: core *c*'s place *p* gets its first CTA in cycle
/// `LATENCY + 1 + p`, and each next one in the cycle after the end of the last.
#[test]
fn ctas_of_one_length_take_a_time_in_closed_form() {
    for (cores, ctas, k) in [(1, 7, 1), (3, 6, 1), (3, 20, 2), (5, 64, 7), (16, 500, 30), (16, 512, 100), (16, 33, 400)]
    {
        let mut machine = Machine::new(&gpu(cores, 1), Vec::new(), (0..cores as usize).map(core::<false>));
        machine.launch(work(ctas, k, 0, 0), StreamId(0));
        machine.run(&mut |_| ControlFlow::Continue(())).expect("it ends");
        // A place of a core is free again after `k` cycles, and a core takes one CTA in a cycle. CTAs of one cycle need
        // one place.
        let places = (ROOM as u64).min(k);
        let of_core = u64::from(ctas.div_ceil(cores));
        let (rounds, place) = ((of_core - 1) / places, (of_core - 1) % places);
        let end = LATENCY + 1 + rounds * k + place + k;
        assert_eq!(machine.take_ended().remove(0).end, end, "{ctas} CTAs of {k} cycles on {cores} cores");
    }
}

/// CTAs go to cores in the order of ends, cycle by cycle, whatever the windows and the order of work in them.
#[test]
fn dispatch_in_windows_is_that_in_step() {
    fn runs<const IN_STEP: bool>(gpu: &GpuConfig, works: &[Work], seed: u64) -> String {
        let cores = gpu.sm_count as usize;
        let mut machine = Machine::made_lazily(gpu, Vec::new(), cores, core::<IN_STEP>);
        machine.set_threads(HostThreads::new(2).shuffled(seed));
        for &work in works {
            machine.launch(work, StreamId(0));
        }
        machine.run(&mut |_| ControlFlow::Continue(())).expect("it ends");
        let mut ended = machine.take_ended();
        ended.sort_by_key(|run| run.kernel);
        let ended: Vec<_> =
            ended.iter().map(|run| (run.start, run.ready, run.end, run.counters.core.clone())).collect();
        format!("{ended:?} {:?}", machine.shared)
    }
    let varied = |ctas, cycles, spread| Work { spread, ..work(ctas, cycles, 0, 0) };
    for (cores, per_cluster) in [(1, 1), (6, 1), (16, 1), (12, 2), (12, 3)] {
        let gpu = gpu(cores, per_cluster);
        for (cycles, spread) in [(1, 0), (1, 3), (2, 40), (5, 55), (20, 1), (39, 3), (60, 500), (500, 200)] {
            let works = [varied(3, cycles, spread), varied(300, cycles, spread), varied(77, cycles + 3, spread)];
            let in_step = runs::<true>(&gpu, &works, 1);
            for seed in [1, 2] {
                let in_windows = runs::<false>(&gpu, &works, seed);
                assert_eq!(in_windows, in_step, "{cores} cores, {per_cluster} a cluster, {cycles} to +{spread} cycles");
            }
        }
    }
}

/// A run in pieces of 7 cycles is the run as a whole.
#[test]
fn limits_change_nothing() {
    let runs = |limit: Option<Cycle>| {
        let mut machine = machine();
        for ctas in [5, 7] {
            machine.launch(work(ctas, 20, 3, 0), StreamId(0));
        }
        let mut ended = Vec::new();
        while ended.len() < 2 {
            let until = limit.map_or(Cycle::MAX, |cycles| machine.now() + cycles);
            machine.run_to_next_end(until, &mut |_| ControlFlow::Continue(())).expect("it ends");
            assert!(machine.now() <= until);
            ended.extend(machine.take_ended().into_iter().map(|run| (run.start, run.ready, run.end)));
        }
        (ended, machine.shared)
    };
    assert_eq!(runs(Some(7)), runs(None));
}

#[test]
fn the_core_s_own_statistics_are_reported_and_add_up() {
    let mut machine = machine();
    machine.sample_every(NonZeroU64::new(64).expect("not zero"));
    for ctas in [5, 7] {
        machine.launch(work(ctas, 20, 3, 0), StreamId(0));
    }
    machine.run(&mut |_| ControlFlow::Continue(())).expect("it ends");
    let runs = machine.take_ended();
    let of = |n: usize| (runs[n].counters.core.ctas, runs[n].counters.core.requests, runs[n].counters.core.replies);
    assert_eq!((of(0), of(1)), ((5, 15, 15), (7, 21, 21)));
    assert_eq!(runs[1].counters.memory.answers.reads, 21);
    let mut sampled = machine.take_samples();
    sampled.push(machine.since_sample());
    assert!(sampled.len() > 2 && sampled[0].cycles == 64);
    assert_eq!(sampled.iter().map(|s| s.core.requests).sum::<u64>(), 36);
    let mut table = Table::default();
    let gpu = config::load("accel-sim/gtx480").expect("a built-in GPU");
    let total = machine.counters().erased();
    total.core.headline(Period { kernel_cycles: total.kernel_cycles(), gpu: &gpu }, &mut table);
    total.core.parts(Period { kernel_cycles: total.kernel_cycles(), gpu: &gpu }, &mut table);
    assert_eq!(table.0.get("tiny.requests"), Some(Value::Count(36)));
    assert_eq!(table.0.number("ctas_per_cycle"), 12.0 / total.kernel_cycles() as f64);
}

#[test]
fn a_deadlock_names_who_waits() {
    let mut machine = machine();
    machine.launch(work(1, 5, 2, 1), StreamId(0));
    let error = machine.run(&mut |_| ControlFlow::Continue(())).expect_err("a reply never comes");
    let MachineError::Deadlock(deadlock) = error else { panic!("{error:?}") };
    assert_eq!(deadlock.blocked, ["core 0: CTA (0,0,0) waits for 1 replies"]);
    assert!(deadlock.to_string().contains("deadlock at cycle"), "{deadlock}");
    let unfinished = machine.unfinished().remove(0);
    assert_eq!((unfinished.counters.core.requests, unfinished.counters.core.replies), (2, 2));
}

/// A core that does not know its state is never taken for a livelock.
#[test]
fn no_livelock_is_found_without_states() {
    let mut machine = machine();
    machine.watch_for_livelock(NonZeroU64::MIN);
    machine.launch(work(4, 100_000, 1, 0), StreamId(0));
    machine.run(&mut |_| ControlFlow::Continue(())).expect("it ends");
}

/// Whether a core was made before it got its first CTA changes nothing; those without a CTA are not made.
#[test]
fn cores_can_be_made_late() {
    let gpu = gpu(12, 2);
    let runs = |mut machine: Machine<Tiny>, sampled: bool| {
        if sampled {
            machine.sample_every(NonZeroU64::new(64).expect("not zero"));
        }
        // The first two leave cores without work, the last one does not.
        for ctas in [1, 5, 40] {
            machine.launch(work(ctas, 30, 2, 0), StreamId(0));
        }
        let mut said = Vec::new();
        for _ in 0..3 {
            machine
                .run_to_next_end(NEVER, &mut |view| {
                    said.push(format!("{:?}", view.issued()));
                    ControlFlow::Continue(())
                })
                .expect("it ends");
            let ended: Vec<_> = machine.take_ended().iter().map(|run| format!("{:?}", run.counters)).collect();
            said.push(format!("{ended:?} {:?} {:?}", machine.take_samples(), machine.counters()));
            said.push(format!("{:?}", machine.shared));
        }
        said
    };
    let made = Arc::new(AtomicUsize::new(0));
    let late = || {
        let made = made.clone();
        Machine::made_lazily(&gpu, Vec::new(), 12, move |number| {
            made.fetch_add(1, Ordering::Relaxed);
            core(number)
        })
    };
    for sampled in [false, true] {
        assert_eq!(runs(late(), sampled), runs(Machine::new(&gpu, Vec::new(), (0..12).map(core)), sampled));
    }
    made.store(0, Ordering::Relaxed);
    let mut machine = late();
    machine.launch(work(3, 30, 2, 0), StreamId(0));
    machine.run(&mut |_| ControlFlow::Continue(())).expect("it ends");
    assert_eq!(made.load(Ordering::Relaxed), 3 * 2 + 1, "three clusters, and one core that counts for the others");
}
