//! Records a stream while it runs.

use super::codec::CtaLog;
use super::contents::Contents;
use isa::{
    ClusterMember, CtaSlot, Dim3, DynInst, Fault, FaultKind, KernelId, MessageId, OperandValues, Pc, PeerAccesses,
    Program, SourceSpot, StepContext, TransferId, WarpSlot, WarpStream,
};
use kit::Cycle;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// A CTA whose warps have all ended.
#[derive(Debug)]
pub(super) struct FinishedCta {
    pub launch: usize,
    pub position: Dim3,
    pub bytes: Vec<u8>,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
}

/// Messages to the writer.
pub(super) enum Message {
    Cta(FinishedCta),
    /// The run has ended.
    Finish(Box<Contents>),
}

/// A resident CTA.
#[derive(Debug)]
struct Resident {
    kernel: KernelId,
    position: Dim3,
    program: Arc<Program>,
    log: CtaLog,
    warp_instructions: u64,
    thread_instructions: u64,
}

/// A recorded stream: each CTA is sent to the writer at the end of the window in which it ends, which is where
/// streams take turns; so the file is the same whichever host thread was faster. The run itself does not change.
/// Memory holds the instructions of resident CTAs, two to four bytes for most of them.
#[derive(Debug)]
pub struct Recording<S: WarpStream> {
    stream: S,
    program_of: fn(&S::Shared, KernelId) -> Option<Arc<Program>>,
    to: SyncSender<Message>,
    ctas: Vec<Option<Resident>>,
    /// CTAs that have ended in this window.
    ended: Vec<FinishedCta>,
    /// CTA of each warp, and the warp's index in it.
    warps: Vec<(CtaSlot, u32)>,
    with_values: bool,
    /// Values that the present instruction reads, if they are recorded.
    values: Option<OperandValues>,
    /// The writer has failed: the run ends at the next instruction.
    lost: bool,
}

impl<S: WarpStream> Recording<S> {
    pub(super) fn new(
        stream: S,
        program_of: fn(&S::Shared, KernelId) -> Option<Arc<Program>>,
        to: SyncSender<Message>,
        with_values: bool,
    ) -> Self {
        let values = with_values.then(OperandValues::default);
        let (ctas, ended, warps) = (Vec::new(), Vec::new(), Vec::new());
        Self { stream, program_of, to, ctas, ended, warps, with_values, values, lost: false }
    }

    fn send_ended(&mut self) {
        for cta in self.ended.drain(..) {
            self.lost |= self.to.send(Message::Cta(cta)).is_err();
        }
    }

    /// Records an instruction of `warp` and the values that it read.
    #[inline]
    fn note(&mut self, warp: WarpSlot, done: &DynInst, values: Option<&OperandValues>) -> Result<(), Box<Fault>> {
        if self.lost {
            return Err(self.failed(warp, "the trace cannot be written"));
        }
        if done.transfer.is_some() {
            return Err(self.failed(warp, "traces cannot hold bulk and tensor copies: run it without recording"));
        }
        let (slot, index) = self.warps[warp.index()];
        if let Some(cta) = &mut self.ctas[slot.index()]
            && let Some(inst) = cta.program.insts().get(done.pc.index())
        {
            cta.log.note(index as usize, inst, done);
            if let Some(values) = values {
                cta.log.note_values(index as usize, cta.program.srcs(inst), done.active, values);
            }
            cta.warp_instructions += 1;
            cta.thread_instructions += u64::from(done.mask.count_ones());
        }
        Ok(())
    }

    #[cold]
    fn failed(&self, warp: WarpSlot, what: &str) -> Box<Fault> {
        let cta = self.warps.get(warp.index()).and_then(|(cta, _)| self.ctas.get(cta.index())?.as_ref());
        let origin = Dim3::new(0, 0, 0);
        Box::new(Fault {
            kind: FaultKind::Other,
            what: what.into(),
            spot: SourceSpot { kernel: cta.map_or(String::new(), |c| c.program.name.clone()), ..SourceSpot::default() },
            cta: cta.map_or(origin, |c| c.position),
            thread: origin,
            lanes: 1,
        })
    }
}

impl<S: WarpStream> WarpStream for Recording<S> {
    type Shared = S::Shared;

    fn prepare_cta(&mut self, shared: &mut S::Shared, kernel: KernelId, cta: Dim3) {
        self.stream.prepare_cta(shared, kernel, cta);
    }

    fn start_cta(&mut self, shared: &S::Shared, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        let program = (self.program_of)(shared, kernel).unwrap_or_default();
        let log = CtaLog::new(warps.len(), self.with_values);
        let resident = Resident { kernel, position: cta, program, log, warp_instructions: 0, thread_instructions: 0 };
        *crate::stream::slot(&mut self.ctas, slot.index()) = Some(resident);
        for (index, warp) in warps.iter().enumerate() {
            let places = warp.index() + 1;
            if self.warps.len() < places {
                self.warps.resize(places, (CtaSlot(0), 0));
            }
            self.warps[warp.index()] = (slot, index as u32);
        }
        self.stream.start_cta(shared, kernel, cta, slot, warps);
    }

    #[inline]
    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        self.stream.next_pc(warp)
    }

    #[inline]
    fn step(
        &mut self,
        shared: &S::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        let Some(mut values) = self.values.take() else {
            self.stream.step(shared, warp, context, out)?;
            return self.note(warp, out, None);
        };
        let done = self.step_with_values(shared, warp, context, out, &mut values);
        self.values = Some(values);
        done
    }

    fn step_with_values(
        &mut self,
        shared: &S::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        self.stream.step_with_values(shared, warp, context, out, values)?;
        self.note(warp, out, Some(values))
    }

    #[inline]
    fn merge(&mut self, shared: &mut S::Shared) {
        self.stream.merge(shared);
        self.send_ended();
    }

    #[inline]
    fn waiting(&self) -> &[Cycle] {
        self.stream.waiting()
    }

    fn exchange(&mut self, shared: &mut S::Shared) -> Result<Option<WarpSlot>, Box<Fault>> {
        self.stream.exchange(shared)
    }

    fn transferred(&mut self, transfer: TransferId, now: Cycle) -> Option<Box<PeerAccesses>> {
        self.stream.transferred(transfer, now)
    }

    fn delivered(&mut self, to: ClusterMember, from: u8, message: MessageId, now: Cycle) {
        self.stream.delivered(to, from, message, now);
    }

    fn wants_peers(&self) -> bool {
        self.stream.wants_peers()
    }

    fn lend(&mut self, shared: &mut S::Shared) {
        self.stream.lend(shared);
    }

    fn take_back(&mut self, shared: &mut S::Shared) {
        self.stream.take_back(shared);
    }

    fn take_woken(&mut self) -> Option<WarpSlot> {
        self.stream.take_woken()
    }

    fn describe_wait(&self, warp: WarpSlot) -> Option<String> {
        self.stream.describe_wait(warp)
    }

    fn end_cta(&mut self, slot: CtaSlot) {
        self.stream.end_cta(slot);
        if let Some(cta) = self.ctas[slot.index()].take() {
            let Resident { kernel, position, log, warp_instructions, thread_instructions, .. } = cta;
            let bytes = log.finish();
            let launch = kernel.index();
            self.ended.push(FinishedCta { launch, position, bytes, warp_instructions, thread_instructions });
        }
    }
}
