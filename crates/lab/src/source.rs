//! The instruction streams of a simulation: programs that are executed live, or traces.
//!
//! All kinds are one type of stream, so that each core design is compiled once, not once per kind. The
//! choice costs a comparison per instruction.

use exec::{DeviceState, LiveStream};
use isa::{
    ClusterMember, CtaSlot, Dim3, DynInst, Fault, KernelId, MessageId, OperandValues, Pc, PeerAccesses, Program, Space,
    StepContext, TransferId, WarpSlot, WarpStream,
};
use kit::Cycle;
use kit::persist::{Archive, Mismatch, Persist};
use std::sync::Arc;
use trace::{NativeShared, NativeStream, Recorder, Recording, TraceShared, TraceStream};

/// The part of the instruction streams that all cores share.
#[repr(u8)]
pub enum Source {
    /// Device memory and launches of programs that are executed.
    Live(Box<DeviceState>),
    /// Traces of Accel-Sim.
    AccelSim(TraceShared),
    /// A trace of our own format.
    Native(NativeShared),
}

const ONE_KIND: &str = "the streams and the source of a simulation are of one kind";

impl Source {
    /// The stream of a core, idle; recorded if there is a recorder, which only live ones may have.
    pub fn stream(&self, recorder: Option<&Recorder>) -> Stream {
        match (self, recorder) {
            (Self::Live(_), Some(recorder)) => Stream::Recorded(recorder.record(LiveStream::new(), program_of)),
            _ => self.streams()(),
        }
    }

    /// Makes idle streams of cores, not recorded.
    pub fn streams(&self) -> fn() -> Stream {
        match self {
            Self::Live(_) => || Stream::Live(LiveStream::new()),
            Self::AccelSim(_) => || Stream::AccelSim(TraceStream::new()),
            Self::Native(_) => || Stream::Native(NativeStream::new()),
        }
    }

    /// The state of live execution.
    #[inline]
    pub fn live(&mut self) -> &mut DeviceState {
        let Self::Live(state) = self else { panic!("{ONE_KIND}") };
        state
    }

    /// The open traces of Accel-Sim.
    #[inline]
    pub fn accelsim(&mut self) -> &mut TraceShared {
        let Self::AccelSim(traces) = self else { panic!("{ONE_KIND}") };
        traces
    }

    /// The open trace of our own format.
    #[inline]
    pub fn native(&mut self) -> &mut NativeShared {
        let Self::Native(trace) = self else { panic!("{ONE_KIND}") };
        trace
    }

    #[inline]
    fn see_live(&self) -> &DeviceState {
        let Self::Live(state) = self else { panic!("{ONE_KIND}") };
        state
    }

    #[inline]
    fn see_accelsim(&self) -> &TraceShared {
        let Self::AccelSim(traces) = self else { panic!("{ONE_KIND}") };
        traces
    }

    #[inline]
    fn see_native(&self) -> &NativeShared {
        let Self::Native(trace) = self else { panic!("{ONE_KIND}") };
        trace
    }
}

/// Traces have no state beside the launches that have not ended, none of whose CTAs has been taken.
impl Persist for Source {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        match self {
            Self::Live(state) => state.persist(archive),
            Self::AccelSim(_) | Self::Native(_) => Ok(()),
        }
    }
}

/// Live execution, for cores that execute what they are launched with themselves.
impl AsMut<DeviceState> for Source {
    fn as_mut(&mut self) -> &mut DeviceState {
        self.live()
    }
}

fn program_of(state: &DeviceState, kernel: KernelId) -> Option<Arc<Program>> {
    state.launch(kernel).map(|launch| launch.kernel.program.clone())
}

/// The instruction streams of one core's warps.
#[repr(u8)]
#[allow(missing_docs, reason = "the names of the variants say it all")]
pub enum Stream {
    Live(LiveStream),
    Recorded(Recording<LiveStream>),
    AccelSim(TraceStream),
    Native(NativeStream),
}

/// Calls a method of the stream, whatever its kind.
macro_rules! each {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self {
            Stream::Live(stream) => stream.$method($($argument),*),
            Stream::Recorded(stream) => stream.$method($($argument),*),
            Stream::AccelSim(stream) => stream.$method($($argument),*),
            Stream::Native(stream) => stream.$method($($argument),*),
        }
    };
    ($self:ident.$method:ident(&$shared:ident; $($argument:expr),*)) => {
        match $self {
            Stream::Live(stream) => stream.$method($shared.see_live(), $($argument),*),
            Stream::Recorded(stream) => stream.$method($shared.see_live(), $($argument),*),
            Stream::AccelSim(stream) => stream.$method($shared.see_accelsim(), $($argument),*),
            Stream::Native(stream) => stream.$method($shared.see_native(), $($argument),*),
        }
    };
    ($self:ident.$method:ident(&mut $shared:ident; $($argument:expr),*)) => {
        match $self {
            Stream::Live(stream) => stream.$method($shared.live(), $($argument),*),
            Stream::Recorded(stream) => stream.$method($shared.live(), $($argument),*),
            Stream::AccelSim(stream) => stream.$method($shared.accelsim(), $($argument),*),
            Stream::Native(stream) => stream.$method($shared.native(), $($argument),*),
        }
    };
}

impl WarpStream for Stream {
    type Shared = Source;

    fn prepare_cta(&mut self, shared: &mut Source, kernel: KernelId, cta: Dim3) {
        each!(self.prepare_cta(&mut shared; kernel, cta));
    }

    fn start_cta(&mut self, shared: &Source, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        each!(self.start_cta(&shared; kernel, cta, slot, warps));
    }

    #[inline(always)]
    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        each!(self.next_pc(warp))
    }

    /// Only live execution knows its state.
    fn watch_changes(&self, shared: &mut Source) {
        if let (Self::Live(stream), Source::Live(state)) = (self, shared) {
            stream.watch_changes(state);
        }
    }

    fn has_changed(&self, shared: &Source) -> bool {
        let (Self::Live(stream), Source::Live(state)) = (self, shared) else { return true };
        stream.has_changed(state)
    }

    fn digest(&self, warp: WarpSlot) -> u64 {
        each!(self.digest(warp))
    }

    fn word_at(&self, shared: &Source, warp: WarpSlot, space: Space, address: u64) -> Option<u32> {
        let (Self::Live(stream), Source::Live(state)) = (self, shared) else { return None };
        stream.word_at(state, warp, space, address)
    }

    // A call of its own costs 1 % of all host instructions.
    #[inline(always)]
    fn step(
        &mut self,
        shared: &Source,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        // The usual case, which needs no jump table.
        if let (Self::Live(stream), Source::Live(state)) = (&mut *self, shared) {
            return stream.step(state, warp, context, out);
        }
        each!(self.step(&shared; warp, context, out))
    }

    fn step_with_values(
        &mut self,
        shared: &Source,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        each!(self.step_with_values(&shared; warp, context, out, values))
    }

    fn step_alone(
        &mut self,
        shared: &mut Source,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        each!(self.step_alone(&mut shared; warp, context, out))
    }

    /// Only live execution changes what streams share.
    #[inline(always)]
    fn merge(&mut self, shared: &mut Source) {
        match self {
            Self::Live(stream) => stream.merge(shared.live()),
            Self::Recorded(stream) => stream.merge(shared.live()),
            Self::AccelSim(_) | Self::Native(_) => {}
        }
    }

    fn wants_peers(&self) -> bool {
        each!(self.wants_peers())
    }

    fn lend(&mut self, shared: &mut Source) {
        each!(self.lend(&mut shared;));
    }

    fn take_back(&mut self, shared: &mut Source) {
        each!(self.take_back(&mut shared;));
    }

    #[inline(always)]
    fn waiting(&self) -> &[Cycle] {
        each!(self.waiting())
    }

    fn exchange(&mut self, shared: &mut Source) -> Result<Option<WarpSlot>, Box<Fault>> {
        each!(self.exchange(&mut shared;))
    }

    fn transferred(&mut self, transfer: TransferId, now: Cycle) -> Option<Box<PeerAccesses>> {
        each!(self.transferred(transfer, now))
    }

    fn delivered(&mut self, to: ClusterMember, from: u8, message: MessageId, now: Cycle) {
        each!(self.delivered(to, from, message, now));
    }

    #[inline(always)]
    fn take_woken(&mut self) -> Option<WarpSlot> {
        each!(self.take_woken())
    }

    fn describe_wait(&self, warp: WarpSlot) -> Option<String> {
        each!(self.describe_wait(warp))
    }

    fn describe_polls(&self, shared: &Source, warp: WarpSlot, done: &DynInst, most: usize) -> Vec<String> {
        let (Self::Live(stream), Source::Live(state)) = (self, shared) else { return Vec::new() };
        stream.describe_polls(state, warp, done, most)
    }

    fn end_cta(&mut self, slot: CtaSlot) {
        each!(self.end_cta(slot));
    }
}
