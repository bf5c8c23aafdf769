//! A machine of any core design, for callers that only launch and wait.

use exec::LiveStream;
use gpu::{AnySnapshot, CoreReport, KernelRun, Machine, RunError, Snapshot, StreamId};
use isa::{KernelId, WarpStream};
use sm::{Auditor, Findings, Kernel, Observer, Silent, Sm};
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// What a session needs of the machine under it, whose warps are streams `S`.
pub(crate) trait Engine<S: WarpStream = LiveStream> {
    /// What all streams share: of live ones, device memory and launches.
    fn state(&mut self) -> &mut S::Shared;
    /// See [`Machine::launch`].
    fn launch(&mut self, kernel: Kernel, stream: StreamId) -> KernelId;
    /// See [`Machine::run`].
    fn run(&mut self, watch: &mut dyn FnMut(gpu::Progress) -> ControlFlow<()>) -> Result<(), RunError>;
    /// See [`Machine::run_to_next_end`].
    fn run_to_next_end(&mut self, watch: &mut dyn FnMut(gpu::Progress) -> ControlFlow<()>) -> Result<(), RunError>;
    /// See [`Machine::take_ended`].
    fn take_ended(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>>;
    /// See [`Machine::unfinished`].
    fn unfinished(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>>;
    /// See [`Machine::counters`].
    fn counters(&mut self) -> AnySnapshot;
    /// See [`Machine::sample_every`].
    fn sample_every(&mut self, cycles: NonZeroU64);
    /// See [`Machine::watch_for_livelock`].
    fn watch_for_livelock(&mut self, _cycles: NonZeroU64) {}
    /// See [`Machine::take_samples`].
    fn take_samples(&mut self) -> Vec<AnySnapshot>;
    /// See [`Machine::since_sample`].
    fn since_sample(&mut self) -> AnySnapshot;
    /// See [`Machine::copied_to_device`].
    fn copied_to_device(&mut self, address: u64, bytes: u64);
    /// The host has written to device memory.
    fn host_wrote(&mut self, _address: u64, _bytes: u64) {}
    /// What the auditors of all SMs have found, if there are any.
    fn findings(&self) -> Option<Findings> {
        None
    }
}

/// Who may watch a machine's SMs.
pub(crate) trait Watch: Observer + 'static {
    /// What it has found, if it looks for anything.
    fn findings(&self) -> Option<&Findings>;
}

impl Watch for Silent {
    fn findings(&self) -> Option<&Findings> {
        None
    }
}

impl Watch for Auditor {
    fn findings(&self) -> Option<&Findings> {
        Some(Auditor::findings(self))
    }
}

impl<S: WarpStream, P: sm::CoreDesign, O: Watch> Engine<S> for Machine<Sm<S, P, O>> {
    fn state(&mut self) -> &mut S::Shared {
        &mut self.shared
    }

    fn launch(&mut self, kernel: Kernel, stream: StreamId) -> KernelId {
        Machine::launch(self, kernel, stream)
    }

    fn run(&mut self, watch: &mut dyn FnMut(gpu::Progress) -> ControlFlow<()>) -> Result<(), RunError> {
        Machine::run(self, watch)
    }

    fn run_to_next_end(&mut self, watch: &mut dyn FnMut(gpu::Progress) -> ControlFlow<()>) -> Result<(), RunError> {
        Machine::run_to_next_end(self, watch)
    }

    fn take_ended(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>> {
        Machine::take_ended(self).into_iter().map(KernelRun::erased).collect()
    }

    fn unfinished(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>> {
        Machine::unfinished(self).into_iter().map(KernelRun::erased).collect()
    }

    fn counters(&mut self) -> AnySnapshot {
        Machine::counters(self).erased()
    }

    fn sample_every(&mut self, cycles: NonZeroU64) {
        Machine::sample_every(self, cycles);
    }

    fn watch_for_livelock(&mut self, cycles: NonZeroU64) {
        Machine::watch_for_livelock(self, cycles);
    }

    fn take_samples(&mut self) -> Vec<AnySnapshot> {
        Machine::take_samples(self).into_iter().map(Snapshot::erased).collect()
    }

    fn since_sample(&mut self) -> AnySnapshot {
        Machine::since_sample(self).erased()
    }

    fn copied_to_device(&mut self, address: u64, bytes: u64) {
        Machine::copied_to_device(self, address, bytes);
    }

    fn findings(&self) -> Option<Findings> {
        let each = self.cores().iter().filter_map(|sm| sm.observer.findings());
        each.fold(None, |all: Option<Findings>, one| {
            let mut all = all.unwrap_or_default();
            all.add(one);
            Some(all)
        })
    }
}
