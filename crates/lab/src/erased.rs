//! Streams of any kind as one type, for machines whose speed matters less than how long they take to
//! compile: audited ones and those of more than 64 warps to an SM. Each design is compiled once for
//! them, not once per kind of stream.

use crate::cores::Stream;
use crate::engine::Engine;
use gpu::{AnySnapshot, CoreReport, KernelRun, RunError, StreamId};
use isa::{CtaSlot, Dim3, DynInst, Fault, KernelId, OperandValues, Pc, Space, StepContext, WarpSlot, WarpStream};
use sm::{Findings, Kernel};
use std::any::Any;
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// A [`WarpStream`] but for the type of what its SMs share.
trait Erased {
    fn start_cta(&mut self, shared: &mut dyn Any, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]);
    fn next_pc(&self, warp: WarpSlot) -> Option<Pc>;
    fn watch_changes(&self, shared: &mut dyn Any);
    fn has_changed(&self, shared: &dyn Any) -> bool;
    fn digest(&self, warp: WarpSlot) -> u64;
    fn word_at(&self, shared: &dyn Any, warp: WarpSlot, space: Space, address: u64) -> Option<u32>;
    fn step(
        &mut self,
        shared: &mut dyn Any,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>>;
    fn step_with_values(
        &mut self,
        shared: &mut dyn Any,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>>;
    fn end_cta(&mut self, slot: CtaSlot);
}

fn typed<S: Stream>(shared: &mut dyn Any) -> &mut S::Shared {
    shared.downcast_mut().expect("a machine's streams are of one kind, and so is what they share")
}

impl<S: Stream> Erased for S {
    fn start_cta(&mut self, shared: &mut dyn Any, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        WarpStream::start_cta(self, typed::<S>(shared), kernel, cta, slot, warps);
    }

    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        WarpStream::next_pc(self, warp)
    }

    fn watch_changes(&self, shared: &mut dyn Any) {
        WarpStream::watch_changes(self, typed::<S>(shared));
    }

    fn has_changed(&self, shared: &dyn Any) -> bool {
        shared.downcast_ref().is_none_or(|shared| WarpStream::has_changed(self, shared))
    }

    fn digest(&self, warp: WarpSlot) -> u64 {
        WarpStream::digest(self, warp)
    }

    fn word_at(&self, shared: &dyn Any, warp: WarpSlot, space: Space, address: u64) -> Option<u32> {
        WarpStream::word_at(self, shared.downcast_ref()?, warp, space, address)
    }

    fn step(
        &mut self,
        shared: &mut dyn Any,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        WarpStream::step(self, typed::<S>(shared), warp, context, out)
    }

    fn step_with_values(
        &mut self,
        shared: &mut dyn Any,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        WarpStream::step_with_values(self, typed::<S>(shared), warp, context, out, values)
    }

    fn end_cta(&mut self, slot: CtaSlot) {
        WarpStream::end_cta(self, slot);
    }
}

/// A stream of some kind.
pub(crate) struct AnyStream(Box<dyn Erased>);

impl AnyStream {
    /// A stream `S`, idle.
    pub fn new<S: Stream>() -> Self {
        Self(Box::new(S::default()))
    }
}

impl WarpStream for AnyStream {
    /// The [`WarpStream::Shared`] of the streams' kind.
    type Shared = Box<dyn Any>;

    fn start_cta(&mut self, shared: &mut Self::Shared, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        self.0.start_cta(&mut **shared, kernel, cta, slot, warps);
    }

    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        self.0.next_pc(warp)
    }

    fn watch_changes(&self, shared: &mut Self::Shared) {
        self.0.watch_changes(&mut **shared);
    }

    fn has_changed(&self, shared: &Self::Shared) -> bool {
        self.0.has_changed(&**shared)
    }

    fn digest(&self, warp: WarpSlot) -> u64 {
        self.0.digest(warp)
    }

    fn word_at(&self, shared: &Self::Shared, warp: WarpSlot, space: Space, address: u64) -> Option<u32> {
        self.0.word_at(&**shared, warp, space, address)
    }

    fn step(
        &mut self,
        shared: &mut Self::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        self.0.step(&mut **shared, warp, context, out)
    }

    fn step_with_values(
        &mut self,
        shared: &mut Self::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        self.0.step_with_values(&mut **shared, warp, context, out, values)
    }

    fn end_cta(&mut self, slot: CtaSlot) {
        self.0.end_cta(slot);
    }
}

/// A machine of [`AnyStream`]s that shows as one of the streams that they are.
pub(crate) struct Unerased(pub Box<dyn Engine<AnyStream>>);

impl<S: Stream> Engine<S> for Unerased {
    fn state(&mut self) -> &mut S::Shared {
        typed::<S>(&mut **self.0.state())
    }

    fn launch(&mut self, kernel: Kernel, stream: StreamId) -> KernelId {
        self.0.launch(kernel, stream)
    }

    fn run(&mut self, watch: &mut dyn FnMut(gpu::Progress) -> ControlFlow<()>) -> Result<(), RunError> {
        self.0.run(watch)
    }

    fn run_to_next_end(&mut self, watch: &mut dyn FnMut(gpu::Progress) -> ControlFlow<()>) -> Result<(), RunError> {
        self.0.run_to_next_end(watch)
    }

    fn take_ended(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>> {
        self.0.take_ended()
    }

    fn unfinished(&mut self) -> Vec<KernelRun<Box<dyn CoreReport>>> {
        self.0.unfinished()
    }

    fn counters(&mut self) -> AnySnapshot {
        self.0.counters()
    }

    fn sample_every(&mut self, cycles: NonZeroU64) {
        self.0.sample_every(cycles);
    }

    fn watch_for_livelock(&mut self, cycles: NonZeroU64) {
        self.0.watch_for_livelock(cycles);
    }

    fn take_samples(&mut self) -> Vec<AnySnapshot> {
        self.0.take_samples()
    }

    fn since_sample(&mut self) -> AnySnapshot {
        self.0.since_sample()
    }

    fn copied_to_device(&mut self, address: u64, bytes: u64) {
        self.0.copied_to_device(address, bytes);
    }

    fn findings(&self) -> Option<Findings> {
        self.0.findings()
    }
}
