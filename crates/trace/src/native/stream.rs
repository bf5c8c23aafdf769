//! The warps of an SM, replayed from a file of the native format.

use super::codec::CtaCode;
use super::reader::{CtaSource, NativeTrace};
use crate::TraceError;
use isa::{
    CtaSlot, Dim3, DynInst, Fault, FaultKind, KernelId, OperandValues, Pc, Program, SourceSpot, StepContext, WarpSlot,
    WarpStream,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// State that all SMs share: the file. Launches are numbered as in the file, unless [`NativeShared::launch`] says which
/// of them are made.
#[derive(Debug)]
pub struct NativeShared {
    source: CtaSource,
    /// The launches that are made, by their numbers in the file.
    chosen: Vec<usize>,
    /// Error of a CTA that could not be read; the first warp that is stepped reports it.
    failed: Option<TraceError>,
}

impl NativeShared {
    /// Opens the launches of `trace`.
    ///
    /// # Errors
    /// If the file cannot be opened again.
    pub fn new(trace: Arc<NativeTrace>) -> Result<Self, TraceError> {
        Ok(Self { source: CtaSource::open(trace)?, chosen: Vec::new(), failed: None })
    }

    /// The next launch of the machine is number `launch` of the file.
    pub fn launch(&mut self, launch: usize) {
        self.chosen.push(launch);
    }

    /// Number in the file of a launch of the machine.
    fn number(&self, kernel: KernelId) -> usize {
        self.chosen.get(kernel.index()).copied().unwrap_or(kernel.index())
    }
}

/// A resident CTA.
#[derive(Debug, Default)]
struct Resident {
    code: CtaCode,
    program: Arc<Program>,
    launch: usize,
    /// Number of the CTA in the grid.
    number: u64,
    position: Option<Dim3>,
}

/// The instruction streams of one SM's warps, from a file of the native format.
#[derive(Debug, Default)]
pub struct NativeStream {
    /// CTA of each warp, and the warp's index in it.
    warps: Vec<(CtaSlot, u32)>,
    ctas: Vec<Resident>,
    /// CTAs that have yet to start.
    prepared: VecDeque<Resident>,
    /// A CTA could not be read: every warp has a next instruction, which faults.
    broken: bool,
}

impl NativeStream {
    /// Creates it without resident warps.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Number of a CTA in its grid, x fastest.
pub(crate) fn number(grid: Dim3, cta: Dim3) -> u64 {
    u64::from(cta.x) + u64::from(grid.x) * (u64::from(cta.y) + u64::from(grid.y) * u64::from(cta.z))
}

impl WarpStream for NativeStream {
    type Shared = NativeShared;

    /// Reads the CTA.
    fn prepare_cta(&mut self, shared: &mut NativeShared, kernel: KernelId, cta: Dim3) {
        let mut resident = Resident::default();
        let trace = shared.source.trace().clone();
        resident.launch = shared.number(kernel);
        resident.number = number(trace.launches()[resident.launch].shape.grid, cta);
        resident.position = Some(cta);
        resident.program = trace.code(resident.launch).clone();
        if let Err(error) = shared.source.read(resident.launch, resident.number, &mut resident.code) {
            shared.failed.get_or_insert(error);
            self.broken = true;
        }
        self.prepared.push_back(resident);
    }

    fn start_cta(&mut self, _: &NativeShared, _: KernelId, _: Dim3, at: CtaSlot, warps: &[WarpSlot]) {
        let resident = self.prepared.pop_front().unwrap_or_default();
        *crate::stream::slot(&mut self.ctas, at.index()) = resident;
        for (index, warp) in warps.iter().enumerate() {
            let places = warp.index() + 1;
            if self.warps.len() < places {
                self.warps.resize(places, (CtaSlot(0), 0));
            }
            self.warps[warp.index()] = (at, index as u32);
        }
    }

    #[inline]
    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        if self.broken {
            return Some(Pc(0));
        }
        let &(cta, index) = self.warps.get(warp.index())?;
        self.ctas[cta.index()].code.next_pc(index as usize)
    }

    #[inline]
    fn step(
        &mut self,
        shared: &NativeShared,
        warp: WarpSlot,
        _context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        let (cta, index) = self.warps[warp.index()];
        let resident = &mut self.ctas[cta.index()];
        if let Some(error) = &shared.failed {
            return Err(resident.fault(error));
        }
        let Resident { code, program, .. } = resident;
        code.step(index as usize, program, out)
            .map_err(|expected| resident.fault(&shared.source.error(resident.launch, resident.number, expected)))
    }

    fn step_with_values(
        &mut self,
        shared: &NativeShared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        values.columns.clear();
        self.step(shared, warp, context, out)?;
        let (cta, index) = self.warps[warp.index()];
        let resident = &mut self.ctas[cta.index()];
        let Resident { code, program, .. } = resident;
        code.read_values(index as usize, program, out, values)
            .map_err(|expected| resident.fault(&shared.source.error(resident.launch, resident.number, expected)))
    }

    fn end_cta(&mut self, at: CtaSlot) {
        if let Some(resident) = self.ctas.get_mut(at.index()) {
            *resident = Resident::default();
        }
    }
}

impl Resident {
    /// A fault: the file could not be read further.
    #[cold]
    fn fault(&self, error: &TraceError) -> Box<Fault> {
        let spot = SourceSpot { kernel: self.program.name.clone(), ..SourceSpot::default() };
        let (origin, cta) = (Dim3::new(0, 0, 0), self.position);
        Box::new(Fault {
            kind: FaultKind::Other,
            what: error.to_string(),
            spot,
            cta: cta.unwrap_or(origin),
            thread: origin,
            lanes: 1,
        })
    }
}
