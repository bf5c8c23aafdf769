//! A machine of any core design, for callers that only launch and wait: the one place where a simulation
//! is dispatched at run time. Nothing within a cycle goes through it.

use crate::source::Source;
use crate::timeline::SmTimeline;
use gpu::{AnySnapshot, Core, CoreReport, HostThreads, KernelRun, Machine, MachineError, Snapshot, StreamId, View};
use isa::{KernelId, LaunchShape, Program};
use kit::persist::{Archive, Fresh, Mismatch, Persist};
use kit::{Counters, Cycle};
use sm::passages::Passages;
use sm::{Findings, Profile};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use workloads::Form;

/// The machine under a simulation. Methods without a comment are as in [`Machine`].
pub(crate) trait Engine: Send {
    /// The instruction streams of the warps.
    fn source(&mut self) -> &mut Source;
    /// Queues a launch.
    ///
    /// # Errors
    /// The core cannot execute the program; all reasons.
    fn launch(&mut self, loading: &LaunchCode<'_>, stream: StreamId) -> Result<KernelId, String>;
    /// As [`Engine::launch`], of the CTAs with these numbers only.
    ///
    /// # Errors
    /// As of [`Engine::launch`].
    fn launch_ctas(&mut self, loading: &LaunchCode<'_>, stream: StreamId, ctas: Range<u64>)
    -> Result<KernelId, String>;
    fn take_cta_ends(&mut self, kernel: KernelId) -> Vec<Cycle>;
    fn run_to_next_end(
        &mut self,
        limit: Cycle,
        watch: &mut dyn FnMut(&dyn View) -> ControlFlow<()>,
    ) -> Result<(), MachineError>;
    fn now(&self) -> Cycle;
    fn take_ended(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>>;
    fn unfinished(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>>;
    fn counters(&mut self) -> AnySnapshot;
    /// Counts while kernels of each name ran, over all launches that [`Engine::take_ended`] has given.
    fn by_kernel(&self) -> Vec<(String, AnySnapshot)>;
    fn sample_every(&mut self, cycles: NonZeroU64);
    fn sample_at_most(&mut self, cycles: NonZeroU64, most: usize);
    fn take_samples(&mut self) -> Vec<AnySnapshot>;
    fn samples(&self) -> Vec<AnySnapshot>;
    fn since_sample(&mut self) -> AnySnapshot;
    fn watch_for_livelock(&mut self, cycles: NonZeroU64);
    fn set_threads(&mut self, threads: HostThreads);
    fn copied_to_device(&mut self, address: u64, bytes: u64);
    fn l2_bytes(&self) -> u64;
    fn empty_l2(&mut self);
    /// The program that the last launch was the first of, if the cores fetch it from memory: address and bytes.
    fn take_copied_code(&mut self) -> Option<(u64, u64)>;
    /// From now on what [`Engine::take_ended`] and [`Engine::take_samples`] give is recorded.
    fn record_steps(&mut self);
    /// Records since the last call.
    fn take_step(&mut self) -> Vec<u8>;
    /// The results of [`Engine::take_samples`] and [`Engine::take_ended`] when the next step of `archive` was recorded.
    /// Kernels count as ended with it.
    ///
    /// # Errors
    /// It has none, or one of other launches.
    fn step_again(&mut self, archive: &mut Archive) -> Result<Step<Box<dyn CoreReport>>, Mismatch>;
    /// Whether no thread is resident, and no kernel has begun.
    fn is_between_kernels(&self) -> bool;
    /// The state of the machine between kernels, with what its cores share. The launches must have been made.
    ///
    /// # Errors
    /// The archive has the state of another machine, or the cores have none to keep.
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch>;
    /// Findings of the auditors of all cores, if there are any.
    fn findings(&self) -> Option<Findings>;
    /// Cycle-by-cycle records of some cores, whose schedulers issue up to `width` instructions a cycle.
    /// Up to the last [`Engine::counters`], which settles all cores.
    fn timelines(&self, width: usize) -> Vec<SmTimeline>;
    /// Counts of the profiles of all cores, if there are any, up to the last [`Engine::counters`].
    fn profile(&self) -> Option<Profile>;
    /// The warp scheduler in use, or `none`.
    fn scheduler(&self) -> &str;
    /// Remarks for each report on this kind of core.
    fn remarks(&self) -> &'static [&'static str];
}

/// Result of a run to a kernel's end.
#[derive(Clone, Debug)]
pub(crate) struct Step<K> {
    /// Counts of each interval that has ended.
    pub intervals: Vec<Snapshot<K>>,
    /// The kernels that have ended.
    pub ended: Vec<KernelRun<K>>,
}

impl<K> Default for Step<K> {
    fn default() -> Self {
        Self { intervals: Vec::new(), ended: Vec::new() }
    }
}

kit::persist! {
    struct [K: Fresh + Counters] Step<K> { intervals, ended }
}

/// The form in which a core takes a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchCode<'a> {
    /// Name of the kernel, as in reports.
    pub name: &'a str,
    pub program: &'a Arc<Program>,
    /// The form of code that it was made from.
    pub form: Form,
    pub shape: LaunchShape,
    /// Operations and arguments; traces have none.
    pub live: Option<&'a exec::Launch>,
}

/// A kind of core that simulations run on.
pub(crate) trait LoadableCore: Core<Shared = Source> {
    /// Makes launches of programs.
    type Loader: Send;
    /// A launch as the core needs it.
    ///
    /// # Errors
    /// The core cannot execute the program; all reasons.
    fn load(loader: &mut Self::Loader, loading: &LaunchCode<'_>) -> Result<Self::Kernel, String>;
    /// The program that was loaded last, if it was loaded for the first time and the cores fetch it from memory: address
    /// and bytes.
    fn take_copied(_: &mut Self::Loader) -> Option<(u64, u64)> {
        None
    }
    /// Remarks for each report on this kind of core.
    const REMARKS: &'static [&'static str] = &[];
    /// Findings of the auditor, if the core has one.
    fn findings(&self) -> Option<&Findings> {
        None
    }
    /// Counts by instruction, if the core has them.
    fn profile(&self) -> Option<&Profile> {
        None
    }
    /// Records of the pipeline, if the core has them.
    fn passages(&self) -> Option<&Passages> {
        None
    }
    /// The warp scheduler in use, if there are any.
    fn scheduler(_: &Self::Loader) -> Option<&str> {
        None
    }
}

/// A machine with what makes its launches.
pub(crate) struct LoadingMachine<C: LoadableCore> {
    machine: Machine<C>,
    loader: C::Loader,
    /// Names of kernels, as indices of `sums`.
    names: BTreeMap<String, usize>,
    /// Counts while kernels of a name ran.
    sums: Vec<Snapshot<C::Counters>>,
    /// By launch, the index of its kernel's name.
    name_of: Vec<usize>,
    /// The step so far, if steps are recorded.
    step: Option<Step<C::Counters>>,
}

impl<C: LoadableCore> LoadingMachine<C> {
    /// A machine on which nothing has been launched.
    pub fn new(machine: Machine<C>, loader: C::Loader) -> Self {
        Self { machine, loader, names: BTreeMap::new(), sums: Vec::new(), name_of: Vec::new(), step: None }
    }

    /// Notes the name of the kernel that is launched next.
    fn name_next(&mut self, name: &str) {
        let index = self.names.get(name).copied().unwrap_or_else(|| {
            self.names.insert(name.to_owned(), self.sums.len());
            self.sums.push(Snapshot::default());
            self.sums.len() - 1
        });
        self.name_of.push(index);
    }
}

impl<C: LoadableCore> Engine for LoadingMachine<C> {
    fn source(&mut self) -> &mut Source {
        &mut self.machine.shared
    }

    fn launch(&mut self, loading: &LaunchCode<'_>, stream: StreamId) -> Result<KernelId, String> {
        let kernel = C::load(&mut self.loader, loading)?;
        self.name_next(loading.name);
        Ok(self.machine.launch(kernel, stream))
    }

    fn launch_ctas(
        &mut self,
        loading: &LaunchCode<'_>,
        stream: StreamId,
        ctas: Range<u64>,
    ) -> Result<KernelId, String> {
        let kernel = C::load(&mut self.loader, loading)?;
        self.name_next(loading.name);
        Ok(self.machine.launch_ctas(kernel, stream, ctas))
    }

    fn take_cta_ends(&mut self, kernel: KernelId) -> Vec<Cycle> {
        self.machine.take_cta_ends(kernel)
    }

    fn run_to_next_end(
        &mut self,
        limit: Cycle,
        watch: &mut dyn FnMut(&dyn View) -> ControlFlow<()>,
    ) -> Result<(), MachineError> {
        self.machine.run_to_next_end(limit, watch)
    }

    fn now(&self) -> Cycle {
        self.machine.now()
    }

    fn take_ended(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>> {
        let ended = self.machine.take_ended();
        ended.iter().for_each(|run| self.sums[self.name_of[run.kernel.index()]].add(&run.counters));
        if let Some(step) = &mut self.step {
            step.ended.extend_from_slice(&ended);
        }
        ended.into_iter().map(KernelRun::erased).collect()
    }

    fn unfinished(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>> {
        self.machine.unfinished().into_iter().map(KernelRun::erased).collect()
    }

    fn counters(&mut self) -> AnySnapshot {
        self.machine.counters().erased()
    }

    fn by_kernel(&self) -> Vec<(String, AnySnapshot)> {
        self.names.iter().map(|(name, &index)| (name.clone(), self.sums[index].clone().erased())).collect()
    }

    fn sample_every(&mut self, cycles: NonZeroU64) {
        self.machine.sample_every(cycles);
    }

    fn sample_at_most(&mut self, cycles: NonZeroU64, most: usize) {
        self.machine.sample_at_most(cycles, most);
    }

    fn samples(&self) -> Vec<AnySnapshot> {
        self.machine.samples().iter().cloned().map(Snapshot::erased).collect()
    }

    fn take_samples(&mut self) -> Vec<AnySnapshot> {
        let samples = self.machine.take_samples();
        if let Some(step) = &mut self.step {
            step.intervals.extend_from_slice(&samples);
        }
        samples.into_iter().map(Snapshot::erased).collect()
    }

    fn record_steps(&mut self) {
        self.step = Some(Step::default());
    }

    fn take_step(&mut self) -> Vec<u8> {
        let Some(step) = &mut self.step else { return Vec::new() };
        let mut archive = Archive::writer();
        // Writing counters to memory has no errors.
        let _ = std::mem::take(step).persist(&mut archive);
        archive.into_bytes()
    }

    fn step_again(&mut self, archive: &mut Archive) -> Result<Step<Box<dyn CoreReport>>, Mismatch> {
        let mut step = Step::<C::Counters>::default();
        step.persist(archive)?;
        for run in &step.ended {
            let name = self.name_of.get(run.kernel.index()).ok_or_else(|| archive.wrong("no such launch"))?;
            self.sums[*name].add(&run.counters);
        }
        Ok(Step {
            intervals: step.intervals.into_iter().map(Snapshot::erased).collect(),
            ended: step.ended.into_iter().map(KernelRun::erased).collect(),
        })
    }

    fn is_between_kernels(&self) -> bool {
        self.machine.is_between_kernels()
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.machine.persist(archive)?;
        self.machine.shared.persist(archive)
    }

    fn since_sample(&mut self) -> AnySnapshot {
        self.machine.since_sample().erased()
    }

    fn watch_for_livelock(&mut self, cycles: NonZeroU64) {
        self.machine.watch_for_livelock(cycles);
    }

    fn set_threads(&mut self, threads: HostThreads) {
        self.machine.set_threads(threads);
    }

    fn copied_to_device(&mut self, address: u64, bytes: u64) {
        self.machine.copied_to_device(address, bytes);
    }

    fn l2_bytes(&self) -> u64 {
        self.machine.l2_bytes()
    }

    fn empty_l2(&mut self) {
        self.machine.empty_l2();
    }

    fn take_copied_code(&mut self) -> Option<(u64, u64)> {
        C::take_copied(&mut self.loader)
    }

    fn findings(&self) -> Option<Findings> {
        let each = self.machine.cores().filter_map(C::findings);
        each.fold(None, |all: Option<Findings>, one| {
            let mut all = all.unwrap_or_default();
            all.add(one);
            Some(all)
        })
    }

    fn timelines(&self, width: usize) -> Vec<SmTimeline> {
        let (cores, now) = (self.machine.cores().enumerate(), self.machine.now());
        cores.filter_map(|(i, core)| SmTimeline::of(i as u16, width, core.passages()?, now)).collect()
    }

    fn profile(&self) -> Option<Profile> {
        let each = self.machine.cores().filter_map(C::profile);
        each.fold(None, |all: Option<Profile>, one| {
            let mut all = all.unwrap_or_else(|| Profile::new(0));
            all.add(one);
            Some(all)
        })
    }

    fn scheduler(&self) -> &str {
        C::scheduler(&self.loader).unwrap_or("none")
    }

    fn remarks(&self) -> &'static [&'static str] {
        C::REMARKS
    }
}
