//! A machine of any core design, for callers that only launch and wait: the one place where a simulation
//! is dispatched at run time. Nothing within a cycle goes through it.

use gpu::{AnySnapshot, Core, CoreReport, KernelRun, Machine, MachineError, Progress, Snapshot, StreamId};
use isa::{KernelId, LaunchShape, Program};
use sm::Findings;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;
use stream::Source;
use workloads::Form;

/// What a simulation needs of the machine under it. Methods without a comment are those of [`Machine`].
pub(crate) trait Engine {
    /// What the warps do.
    fn source(&mut self) -> &mut Source;
    /// Queues a launch.
    ///
    /// # Errors
    /// The core cannot execute the program; all reasons.
    fn launch(&mut self, loading: &Loading<'_>, stream: StreamId) -> Result<KernelId, String>;
    fn run_to_next_end(&mut self, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<(), MachineError>;
    fn take_ended(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>>;
    fn unfinished(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>>;
    fn counters(&mut self) -> AnySnapshot;
    fn sample_every(&mut self, cycles: NonZeroU64);
    fn take_samples(&mut self) -> Vec<AnySnapshot>;
    fn since_sample(&mut self) -> AnySnapshot;
    fn watch_for_livelock(&mut self, cycles: NonZeroU64);
    fn copied_to_device(&mut self, address: u64, bytes: u64);
    /// What the auditors of all cores have found, if there are any.
    fn findings(&self) -> Option<Findings>;
    /// The warp scheduler in use, or `none`.
    fn scheduler(&self) -> &str;
    /// What readers of each report must know of this kind of core.
    fn remarks(&self) -> &'static [&'static str];
}

/// What a core makes a launch of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loading<'a> {
    pub program: &'a Arc<Program>,
    /// The form of code that it was made from.
    pub form: Form,
    pub shape: LaunchShape,
    /// Operations and arguments; traces have none.
    pub live: Option<&'a exec::Launch>,
}

/// A kind of core that simulations run on.
pub(crate) trait Subject: Core<Shared = Source> {
    /// Makes launches of programs.
    type Loader;
    /// A launch as the core needs it.
    ///
    /// # Errors
    /// The core cannot execute the program; all reasons.
    fn load(loader: &mut Self::Loader, loading: &Loading<'_>) -> Result<Self::Kernel, String>;
    /// What readers of each report must know of this kind of core.
    const REMARKS: &'static [&'static str] = &[];
    /// What an auditor has found, if the core has one.
    fn findings(&self) -> Option<&Findings> {
        None
    }
    /// The warp scheduler in use, if there are any.
    fn scheduler(_: &Self::Loader) -> Option<&str> {
        None
    }
}

/// A machine with what makes its launches.
pub(crate) struct Rig<C: Subject> {
    pub machine: Machine<C>,
    pub loader: C::Loader,
}

impl<C: Subject> Engine for Rig<C> {
    fn source(&mut self) -> &mut Source {
        &mut self.machine.shared
    }

    fn launch(&mut self, loading: &Loading<'_>, stream: StreamId) -> Result<KernelId, String> {
        Ok(self.machine.launch(C::load(&mut self.loader, loading)?, stream))
    }

    fn run_to_next_end(&mut self, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<(), MachineError> {
        self.machine.run_to_next_end(watch)
    }

    fn take_ended(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>> {
        self.machine.take_ended().into_iter().map(KernelRun::erased).collect()
    }

    fn unfinished(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>> {
        self.machine.unfinished().into_iter().map(KernelRun::erased).collect()
    }

    fn counters(&mut self) -> AnySnapshot {
        self.machine.counters().erased()
    }

    fn sample_every(&mut self, cycles: NonZeroU64) {
        self.machine.sample_every(cycles);
    }

    fn take_samples(&mut self) -> Vec<AnySnapshot> {
        self.machine.take_samples().into_iter().map(Snapshot::erased).collect()
    }

    fn since_sample(&mut self) -> AnySnapshot {
        self.machine.since_sample().erased()
    }

    fn watch_for_livelock(&mut self, cycles: NonZeroU64) {
        self.machine.watch_for_livelock(cycles);
    }

    fn copied_to_device(&mut self, address: u64, bytes: u64) {
        self.machine.copied_to_device(address, bytes);
    }

    fn findings(&self) -> Option<Findings> {
        let each = self.machine.cores().iter().filter_map(C::findings);
        each.fold(None, |all: Option<Findings>, one| {
            let mut all = all.unwrap_or_default();
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
