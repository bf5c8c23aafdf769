//! The run loop: the whole GPU window by window, and the jump to the next one in which anything can happen.
//!
//! A window is a fixed number of core cycles ([`MemorySystem::window`]), less than a request takes to pass the L2's
//! latency path. In a window each [`Unit`] (the cores that share a crossbar port) simulates its cycles by itself, and
//! the memory system simulates its two sides: the side of replies one window ahead, the side of requests one window
//! after. Units and memory system meet at the window's end: requests, replies, what cores have written, ends and
//! starts of CTAs. Any number of host threads may do the parts of a window ([`Crew`]); results are the same.
//!
//! ```text
//!   request side of window n-1 ─┐
//!   reply side of window n+1 ───┼─► exchange ► window n+1 …
//!   cores in window n ──────────┘
//! ```
//! **Time is exact** where nothing else runs: a kernel ends in the cycle of its last CTA's end, launch latencies end in
//! their cycle, samples are of their cycle. A window is cut there. **Dispatch is exact** in the order of cycles: where
//! CTAs wait for places, a unit pauses at each end of a CTA, and the dispatcher serves a cycle when all units have done
//! it (`Control::serve`). A unit that has room and may get a CTA in the next cycle does one cycle at a time. What
//! windows change:
//! - The core estimates departures from its queue to the crossbar since the window before the last, where the queue
//!   would be full ([`mem::Drain`]).
//! - While other kernels run, a kernel counts as ended at the window's end.
//!
//! The cost of a unit without work is left out, which changes nothing: it is not looked at until a CTA or a reply
//! comes, and its cores need not have been made ([`Machine::made_lazily`]).
//!
//! Cores that run in step ([`Core::IN_STEP`]) and an L2 without a latency have windows of one cycle, one part after the
//! other.

mod exchange;
mod progress;
mod samples;
mod serve;

use crate::cluster_network::ClusterNetwork;
use crate::core::{Access, Core, CoreKernel};
use crate::crew::{Crew, HostThreads, Work};
use crate::dispatch::{Dispatcher, LaunchTiming, StreamId};
use crate::run::{KernelRun, MachineError, Running, View};
use crate::scaling::Scaling;
use crate::snapshot::{LaunchWait, Snapshot};
use crate::unit::{StopAt, Unit};
use crate::watchdog::Watchdog;
use config::GpuConfig;
use isa::{Fault, KernelId};
use kit::locks::{own, read, write};
use kit::{BitSet, Cycle, NEVER};
use mem::MemorySystem;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, MutexGuard, RwLock};

/// Core cycles between two calls of the watcher, at least, jumps left aside.
const CYCLES_PER_WATCH: Cycle = 4096;

/// Counts of cores while every kernel was within its launch latency.
pub(crate) struct Waiting<K> {
    /// The waits that are over.
    pub(crate) ended: LaunchWait,
    pub(crate) ended_cores: K,
    /// The counters when the present one began: no kernel is past its launch latency.
    pub(crate) since: Option<Box<Snapshot<K>>>,
}

/// A GPU of cores `C`.
pub struct Machine<C: Core> {
    pub(crate) units: Vec<Unit<C>>,
    pub(crate) memory: MemorySystem,
    /// State that all cores share: device memory, or nothing.
    pub shared: C::Shared,
    pub(crate) kernels: Vec<C::Kernel>,
    pub(crate) control: Control<C>,
    /// Host threads for it.
    pub(crate) threads: HostThreads,
}

/// State that the host threads of a run work on. A thread locks what is its task's; the control locks all of it between
/// windows. No lock is ever waited for.
struct Floor<'a, C: Core> {
    units: Vec<Mutex<&'a mut Unit<C>>>,
    memory: RwLock<&'a mut MemorySystem>,
    world: RwLock<(&'a mut C::Shared, &'a [C::Kernel])>,
    shift: RwLock<Shift>,
}

/// The tasks of a window.
#[derive(Debug, Default)]
struct Shift {
    /// Units that have work, and the cycle at which they stop.
    units: Vec<usize>,
    end: Cycle,
    stop: StopAt,
}

/// Units that have paused at the end of a CTA, the first cycle first.
type Paused = BinaryHeap<Reverse<(Cycle, usize)>>;

impl<C: Core> Work for Floor<'_, C> {
    fn task(&self, task: usize) {
        let shift = read(&self.shift);
        self.run_unit(shift.units[task], shift.end, shift.stop);
    }

    fn aside(&self, task: usize) {
        read(&self.memory).run_part(task);
    }

    fn after_asides(&self) {
        read(&self.memory).end_window();
    }
}

impl<'a, C: Core> Floor<'a, C> {
    fn run_unit(&self, unit: usize, end: Cycle, stop: StopAt) {
        let mut unit = own(&self.units[unit]);
        if C::IN_STEP {
            let mut world = write(&self.world);
            let (shared, kernels) = &mut *world;
            unit.run(end, stop, kernels, Access::Alone(shared));
        } else {
            let world = read(&self.world);
            unit.run(end, stop, world.1, Access::Frozen(world.0));
        }
    }

    fn each_unit(&self) -> impl Iterator<Item = MutexGuard<'_, &'a mut Unit<C>>> {
        self.units.iter().map(own)
    }

    /// How many cores have not been made.
    fn unmade(&self) -> usize {
        self.each_unit().filter(|unit| unit.cores.is_empty()).map(|unit| unit.ports.len()).sum()
    }

    /// The units in `set`, with their numbers.
    fn units_in(&self, set: &BitSet) -> impl Iterator<Item = (usize, MutexGuard<'_, &'a mut Unit<C>>)> {
        set.iter().map(|number| (number, own(&self.units[number])))
    }
}

/// The control: dispatch, the time, what is counted of kernels.
pub(crate) struct Control<C: Core> {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) cores_per_unit: usize,
    pub(crate) streams: Vec<StreamId>,
    pub(crate) running: Vec<Running<C::Counters>>,
    pub(crate) ended: Vec<KernelRun<C::Counters>>,
    pub(crate) flush_l1: bool,
    pub(crate) flush_l2: bool,

    // Time.
    /// All cycles before it have been simulated.
    pub(crate) now: Cycle,
    /// Cycles of a window.
    pub(crate) window: Cycle,
    pub(crate) network: ClusterNetwork,
    /// Cores that may have room for a CTA.
    pub(crate) room: BitSet,
    /// A cluster of CTAs may fit: CTAs have ended, or a kernel is ready.
    pub(crate) has_cluster_room: bool,
    /// Units that are looked at in each window. The others have nothing to do until they get a CTA or a reply.
    pub(crate) awake: BitSet,
    /// When the next resident kernel may have its first CTA dispatched.
    pub(crate) kernel_ready: Cycle,
    pub(crate) waiting: Waiting<C::Counters>,
    /// When something moved last, and how much had moved then: instructions issued and packets.
    pub(crate) last_move: (Cycle, u64),
    pub(crate) stuck_after: Cycle,
    /// Looks for warps that execute without end, if that is requested.
    pub(crate) watchdog: Option<Box<Watchdog>>,
    /// Cycles simulated since the watcher was called.
    pub(crate) since_watch: Cycle,
    /// State of the generator of the order of work, if it is drawn.
    pub(crate) shuffle: Option<u64>,

    // Samples: what was counted in each interval of a number of cycles, if that is requested.
    pub(crate) sample_every: Cycle,
    /// The cycle before which the next one is taken.
    pub(crate) sample_at: Cycle,
    /// The counters at the last one.
    pub(crate) sampled: Snapshot<C::Counters>,
    pub(crate) samples: Vec<Snapshot<C::Counters>>,
    pub(crate) most_samples: usize,

    /// The cores that have not been made, if there may be any.
    pub(crate) unmade: Option<Unmade<C>>,
}

/// Cores that have had nothing to do since the beginning.
pub(crate) struct Unmade<C> {
    make: Box<dyn FnMut(usize) -> C + Send>,
    /// One that stays so: it counts for each of them.
    idle: Option<Box<C>>,
}

impl<C: Core> Unmade<C> {
    /// Makes the cores of `unit`, if they are not there.
    fn make_cores(&mut self, unit: &mut Unit<C>) {
        if unit.cores.is_empty() {
            // Each is made where it stays, since it is large.
            unit.cores = (unit.first..unit.first + unit.ports.len()).map(&mut self.make).collect();
        }
    }

    /// One of them, which has done the cycles before `upto`.
    fn idle(&mut self, upto: Cycle) -> &C {
        let idle = self.idle.get_or_insert_with(|| Box::new((self.make)(0)));
        idle.settle(upto);
        idle
    }
}

impl<C: Core> Machine<C> {
    /// An idle GPU of `cores`.
    pub fn new(
        config: &GpuConfig,
        shared: C::Shared,
        cores: impl IntoIterator<Item = C, IntoIter: ExactSizeIterator>,
    ) -> Self {
        let mut cores = cores.into_iter();
        let mut machine = Self::without_cores(config, shared, cores.len());
        for unit in &mut machine.units {
            unit.cores.extend(cores.by_ref().take(unit.ports.len()));
        }
        machine
    }

    /// An idle GPU of `count` cores, each of which `make` makes of its number: the cores of a cluster when it may get
    /// its first CTA. Making an SM takes as long as simulating a hundred instructions, and small grids leave most SMs
    /// without a CTA.
    pub fn made_lazily(
        config: &GpuConfig,
        shared: C::Shared,
        count: usize,
        make: impl FnMut(usize) -> C + Send + 'static,
    ) -> Self {
        let mut machine = Self::without_cores(config, shared, count);
        machine.control.unmade = Some(Unmade { make: Box::new(make), idle: None });
        machine
    }

    fn without_cores(config: &GpuConfig, shared: C::Shared, count: usize) -> Self {
        let timing = LaunchTiming {
            kernel_cycles: config.kernel_latency_cycles().into(),
            cta_cycles: config.launch.cta_latency_cycles.into(),
            max_resident: config.launch.max_concurrent_kernels as usize,
        };
        let per_unit = config.sms_per_cluster as usize;
        let mut memory = MemorySystem::new(config);
        let unit = |unit| Unit::new(config, unit, unit * per_unit, per_unit.min(count - unit * per_unit));
        let control = Control {
            dispatcher: Dispatcher::new(timing, count / per_unit, per_unit)
                .beginning_at(config.launch.first_cluster.unwrap_or(0) as usize)
                .with_gpcs(config.gpcs().iter().map(|sms| sms.start as usize..sms.end as usize)),
            cores_per_unit: per_unit,
            streams: Vec::new(),
            running: Vec::new(),
            ended: Vec::new(),
            flush_l1: config.launch.flush_l1_between_kernels,
            flush_l2: config.launch.flush_l2_between_kernels,
            now: 0,
            window: if C::IN_STEP { 1 } else { memory.window() },
            network: ClusterNetwork::new(&config.sm.cluster_port, count),
            room: BitSet::new(count),
            has_cluster_room: false,
            awake: BitSet::new(count),
            kernel_ready: NEVER,
            waiting: Waiting { ended: LaunchWait::default(), ended_cores: C::Counters::default(), since: None },
            last_move: (0, 0),
            stuck_after: Control::<C>::stuck_after(config),
            watchdog: None,
            since_watch: 0,
            shuffle: None,
            sample_every: NEVER,
            sample_at: NEVER,
            sampled: Snapshot::default(),
            samples: Vec::new(),
            most_samples: usize::MAX,
            unmade: None,
        };
        let units = (0..count.div_ceil(per_unit)).map(unit).collect();
        Self { units, memory, shared, kernels: Vec::new(), control, threads: HostThreads::default() }
    }

    /// Runs use these host threads, the calling one among them. Results do not depend on it.
    pub fn set_threads(&mut self, threads: HostThreads) {
        self.control.shuffle = threads.order();
        self.threads = threads;
    }

    /// Queues a launch, which must fit on a core. Ids are given in order from 0; the launches in
    /// [`Machine::shared`], if it has any, must have the same.
    pub fn launch(&mut self, kernel: C::Kernel, stream: StreamId) -> KernelId {
        self.add(kernel, stream, None)
    }

    /// As [`Machine::launch`], of the CTAs with these numbers only, of which there is at least one.
    /// [`Machine::take_cta_ends`] knows when they ended.
    pub fn launch_ctas(&mut self, kernel: C::Kernel, stream: StreamId, ctas: Range<u64>) -> KernelId {
        self.add(kernel, stream, Some(ctas))
    }

    /// Cycles in which the CTAs of a kernel that has ended did, to a window; none unless [`Machine::launch_ctas`]
    /// launched it.
    pub fn take_cta_ends(&mut self, kernel: KernelId) -> Vec<Cycle> {
        self.control.dispatcher.take_cta_ends(kernel)
    }

    fn add(&mut self, kernel: C::Kernel, stream: StreamId, ctas: Option<Range<u64>>) -> KernelId {
        let id = KernelId::from(self.kernels.len());
        match ctas {
            Some(ctas) => self.control.dispatcher.launch_ctas(id, stream, kernel.shape(), ctas),
            None => self.control.dispatcher.launch(id, stream, kernel.shape()),
        }
        self.kernels.push(kernel);
        self.control.streams.push(stream);
        id
    }

    /// Runs until all launched kernels have ended, or `watch` ends the run.
    ///
    /// # Errors
    /// A fault, a deadlock, an interruption.
    pub fn run(&mut self, watch: &mut dyn FnMut(&dyn View) -> ControlFlow<()>) -> Result<(), MachineError> {
        while !self.control.dispatcher.is_idle() {
            self.run_to_next_end(NEVER, watch)?;
        }
        Ok(())
    }

    /// Runs until some kernel has ended, if any is launched, until cycle `limit`, or until `watch` ends the run.
    /// Launches before the next call begin as early as if they had been made before.
    ///
    /// # Errors
    /// As [`Machine::run`].
    pub fn run_to_next_end(
        &mut self,
        limit: Cycle,
        watch: &mut dyn FnMut(&dyn View) -> ControlFlow<()>,
    ) -> Result<(), MachineError> {
        let host = self.threads.clone();
        let share = host.enter();
        let threads = share.threads.min(self.most_threads());
        let (control, floor) = self.split();
        let measure = host.measure();
        let note = |event: fn(&mut Scaling)| measure.iter().for_each(|scaling| event(&mut own(scaling)));
        note(Scaling::begin);
        let done = Crew::with(threads, host.order().is_some(), measure, &floor, |crew| {
            control.run(&floor, crew, limit, watch)
        });
        note(Scaling::end);
        done
    }

    /// Host threads that have something to do at the same time. Cores that run in step would wait for each other, and a
    /// cycle of all cores takes less time than handing it over to several threads.
    fn most_threads(&self) -> usize {
        if self.control.window == 1 { 1 } else { self.units.len() + self.memory.partitions() }
    }

    /// The control, and what it controls.
    fn split(&mut self) -> (&mut Control<C>, Floor<'_, C>) {
        let Self { units, memory, shared, kernels, control, .. } = self;
        let floor = Floor {
            units: units.iter_mut().map(Mutex::new).collect(),
            memory: RwLock::new(memory),
            world: RwLock::new((shared, kernels)),
            shift: RwLock::default(),
        };
        (control, floor)
    }

    /// Makes the cores that have not been made.
    pub(crate) fn make_cores(&mut self) {
        let (control, floor) = self.split();
        control.make_all(&floor);
    }

    /// The cycle that comes next: all before it have been simulated.
    pub fn now(&self) -> Cycle {
        self.control.now
    }

    /// Kernels that have ended since this was last called, in order of their end.
    pub fn take_ended(&mut self) -> Vec<KernelRun<C::Counters>> {
        std::mem::take(&mut self.control.ended)
    }

    /// Results so far of a kernel that has not ended, for a report after an interruption.
    pub fn unfinished(&mut self) -> Vec<KernelRun<C::Counters>> {
        let after = self.counters();
        self.control.running.iter().map(|r| r.until(&after)).collect()
    }

    /// The cores that have been made, for what observes them.
    pub fn cores(&self) -> impl Iterator<Item = &C> {
        self.units.iter().flat_map(|unit| &unit.cores)
    }

    /// Bytes of the L2.
    pub fn l2_bytes(&self) -> u64 {
        self.memory.l2_bytes()
    }

    /// Something that was not simulated has replaced what was in L2.
    pub fn empty_l2(&mut self) {
        self.memory.empty_l2();
    }

    /// A copy from the host leaves its data in L2, as on hardware, if cores use the memory system at all.
    pub fn copied_to_device(&mut self, address: u64, bytes: u64) {
        if C::MOST_REQUESTS > 0 {
            self.memory.copy_to_device(address, bytes);
        }
    }
}

impl<C: Core> Control<C> {
    fn run(
        &mut self,
        floor: &Floor<'_, C>,
        crew: &Crew<'_>,
        limit: Cycle,
        watch: &mut dyn FnMut(&dyn View) -> ControlFlow<()>,
    ) -> Result<(), MachineError> {
        // The units may have changed since the last run.
        (0..floor.units.len()).for_each(|unit| _ = self.awake.insert(unit));
        if self.sample_every != NEVER {
            self.make_all(floor);
        }
        self.admit(floor, self.now);
        let done = self.run_windows(floor, crew, limit, watch);
        for mut unit in floor.each_unit() {
            unit.cores.iter_mut().for_each(|core| core.settle(self.now));
            unit.cores.iter().filter(|_| done.is_ok()).for_each(C::check);
        }
        done
    }

    /// Windows up to `limit` or to the end of a kernel.
    fn run_windows(
        &mut self,
        floor: &Floor<'_, C>,
        crew: &Crew<'_>,
        limit: Cycle,
        watch: &mut dyn FnMut(&dyn View) -> ControlFlow<()>,
    ) -> Result<(), MachineError> {
        let ended = self.ended.len();
        while !self.dispatcher.is_idle() && self.ended.len() == ended && self.now < limit {
            let next = self.next_event(floor);
            if next == NEVER {
                return Err(self.deadlock(floor));
            }
            if next >= limit {
                self.now = limit;
                break;
            }
            // Nothing happens between.
            let start = self.now.max(next - next % self.window);
            if start >= self.sample_at {
                self.take_samples_upto(floor, start);
            }
            self.since_watch += self.run_window(floor, crew, start, limit).map_err(MachineError::Fault)?;
            if self.since_watch >= CYCLES_PER_WATCH {
                self.since_watch = 0;
                self.check_progress(floor)?;
                if watch(&self.view(floor)).is_break() {
                    return Err(MachineError::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Makes the cores that have not been made: something is about to look at each of them.
    fn make_all(&mut self, floor: &Floor<'_, C>) {
        if let Some(mut unmade) = self.unmade.take() {
            floor.each_unit().for_each(|mut unit| {
                unmade.make_cores(&mut unit);
                unit.cores.iter_mut().for_each(|core| core.settle(self.now));
            });
        }
    }

    /// The window from `start` on, up to its end, to `limit`, to the end of a launch latency or to the end of the last
    /// CTA. Returns how many cycles that were.
    fn run_window(
        &mut self,
        floor: &Floor<'_, C>,
        crew: &Crew<'_>,
        start: Cycle,
        limit: Cycle,
    ) -> Result<Cycle, Box<Fault>> {
        let window_end = start - start % self.window + self.window;
        self.now = start;
        if self.kernel_ready == start {
            self.end_launch_latencies(floor);
        }
        if let Some(last) = start.checked_sub(1) {
            self.dispatch_in(floor, last);
        }
        if self.kernel_ready <= start {
            // Where no CTA of the others fits, one of this kernel may.
            (0..floor.units.len() * self.cores_per_unit).for_each(|core| _ = self.room.insert(core));
            self.has_cluster_room = true;
            self.kernel_ready = self.dispatcher.next_ready(start + 1);
        }
        self.dispatch_clusters(floor, start);
        let end = window_end.min(limit).min(self.kernel_ready);
        let memory_parts = self.begin_memory(floor, window_end);
        self.begin_units(floor, end);
        crew.begin_window(memory_parts);
        self.run_units(floor, crew, end);
        crew.end_window();
        let fault = self.catch_up(floor);
        self.collect_samples(floor);
        if let Some((cycle, fault)) = fault {
            // Effects before the fault are visible. Other cores have done the whole window.
            self.exchange(floor, cycle + 1)?;
            return Err(fault);
        }
        let with_ends = self.exchange(floor, NEVER)?;
        if !with_ends.is_empty() {
            self.retire(floor, &with_ends);
        }
        Ok(self.now - start)
    }

    /// Brings the reply side of the memory system to the window's end, so that the cores see all replies of the window.
    /// Begins what it does while the cores work, and returns how many parts that has.
    fn begin_memory(&mut self, floor: &Floor<'_, C>, window_end: Cycle) -> usize {
        let mut memory = write(&floor.memory);
        if self.window == 1 {
            // In step: both sides do the present cycle.
            if memory.next_event() <= self.now {
                memory.run_both(window_end);
                self.exchange_messages(floor, &mut memory);
            }
            return 0;
        }
        if !memory.has_done_replies(window_end) {
            // The windows before were jumped over.
            memory.run_window(self.now, window_end);
            self.exchange_messages(floor, &mut memory);
        }
        memory.begin_window(self.now, window_end + self.window)
    }

    /// The window begins for the units. Those that have work before `end`, and do not wait for the dispatcher, are its
    /// shift.
    fn begin_units(&self, floor: &Floor<'_, C>, end: Cycle) {
        let mut shift = write(&floor.shift);
        shift.units.clear();
        let is_served = self.now + 1 < end && self.dispatcher.has_work(self.now);
        for (number, mut unit) in floor.units_in(&self.awake) {
            (unit.sample_at, unit.sample_every) = (self.sample_at, self.sample_every);
            unit.begin_window(self.now);
            if unit.has_work(end) && !(is_served && self.has_room(number)) {
                shift.units.push(number);
            }
        }
    }

    /// The units that have threads do the cycles up to `end`, or to the end of the last CTA.
    fn run_units(&mut self, floor: &Floor<'_, C>, crew: &Crew<'_>, end: Cycle) {
        let (start, mut from, mut is_first) = (self.now, self.now, true);
        let mut paused = Paused::new();
        loop {
            // Units pause only to receive CTAs.
            let pause = from + 1 < end && self.dispatcher.has_work(start);
            let stop = if pause { StopAt::EachEnd } else { StopAt::LastEnd };
            if !pause {
                write(&floor.shift).units.extend(paused.drain().map(|Reverse((_, unit))| unit));
            }
            let tasks = self.hand_out(floor, end, stop);
            if tasks > 0 {
                crew.run(tasks, std::mem::take(&mut is_first));
            }
            if !pause {
                break;
            }
            from = self.serve(floor, from, end, &mut paused);
        }
        let mut awake = floor.units_in(&self.awake);
        let is_over = awake.all(|(_, unit)| !unit.has_threads());
        let last = if is_over { floor.units_in(&self.awake).filter_map(|(_, unit)| unit.ended).max() } else { None };
        self.now = last.map_or(end, |last| last + 1);
    }

    /// Those units of the shift that have anything to do before cycle `until` are the tasks of a round. Returns how many
    /// they are.
    fn hand_out(&mut self, floor: &Floor<'_, C>, until: Cycle, stop: StopAt) -> usize {
        let mut shift = write(&floor.shift);
        shift.units.retain(|&unit| own(&floor.units[unit]).has_work(until));
        if let Some(state) = &mut self.shuffle {
            shuffle(state, &mut shift.units);
        }
        (shift.end, shift.stop) = (until, stop);
        shift.units.len()
    }

    /// The next cycle in which anything can happen; `now` is the first that has not been done.
    fn next_event(&self, floor: &Floor<'_, C>) -> Cycle {
        let can_dispatch = !self.room.is_empty() && self.dispatcher.has_work(self.now)
            || self.has_cluster_room && self.dispatcher.has_clusters(self.now);
        let dispatch = if can_dispatch { self.now } else { self.kernel_ready };
        let units = floor.units_in(&self.awake).map(|(_, unit)| unit.next_event()).min().unwrap_or(NEVER);
        let next = dispatch.min(units);
        if next <= self.now { self.now } else { next.min(write(&floor.memory).next_event()).max(self.now) }
    }
}

/// Puts `entries` into an order drawn with the generator in `state`.
fn shuffle(state: &mut u64, entries: &mut [usize]) {
    for i in (1..entries.len()).rev() {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        entries.swap(i, (*state >> 33) as usize % (i + 1));
    }
}
