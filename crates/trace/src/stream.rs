//! The warps of an SM, replayed from traces.

use crate::cta::CtaReader;
use crate::decoded::{Decoded, Shape, Span};
use crate::program::InstTable;
use crate::{Header, KernelTrace, TraceError};
use isa::{
    CtaSlot, Dim3, DynInst, Fault, FaultKind, KernelId, Pc, SourceSpot, Space, StepContext, WarpSlot, WarpStream,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Size of the shared and the local window of generic addresses.
const WINDOW_BYTES: u64 = 16 << 20;

/// A running launch.
#[derive(Debug)]
struct Launch {
    trace: Arc<KernelTrace>,
    ctas: Ctas,
}

/// Source of a launch's CTAs, in order of dispatch.
#[derive(Debug)]
enum Ctas {
    /// CTAs kept since the trace was opened, and the number of those dispatched.
    Kept(Arc<Decoded>, usize),
    /// A second pass over the file. Streams read it one after the other.
    Read(Mutex<Box<(CtaReader, InstTable)>>),
}

/// State that all SMs share: the open traces of the launches, indexed by [`KernelId`].
#[derive(Debug, Default)]
pub struct TraceShared {
    /// How generic addresses are sorted.
    spaces: GenericSpaces,
    launches: Vec<Option<Launch>>,
    /// Error of a CTA that could not be read; the first warp that is stepped reports it.
    failed: Option<TraceError>,
}

impl TraceShared {
    /// Creates it without launches.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with another rule for generic addresses.
    pub fn with_spaces(self, spaces: GenericSpaces) -> Self {
        Self { spaces, ..self }
    }

    /// Adds the next launch; launches of a machine are numbered in the same order.
    ///
    /// # Errors
    /// If the trace cannot be opened again.
    pub fn launch(&mut self, trace: Arc<KernelTrace>) -> Result<KernelId, TraceError> {
        let id = KernelId::from(self.launches.len());
        let ctas = match &trace.kept {
            Some(kept) => Ctas::Kept(kept.clone(), 0),
            None => Ctas::Read(Mutex::new(Box::new(trace.ctas()?))),
        };
        self.launches.push(Some(Launch { trace, ctas }));
        Ok(id)
    }

    /// Counts a launch whose CTAs have all ended before, of which nothing is read.
    pub fn launch_closed(&mut self) {
        self.launches.push(None);
    }

    /// Leaves out the next `ctas` CTAs of a launch, which has as many.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn skip(&mut self, kernel: KernelId, ctas: u64) -> Result<(), TraceError> {
        match self.launches.get_mut(kernel.index()).and_then(Option::as_mut).map(|launch| &mut launch.ctas) {
            Some(Ctas::Kept(_, dispatched)) => *dispatched += ctas as usize,
            Some(Ctas::Read(file)) => {
                let file = file.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
                let (reader, table) = &mut **file;
                let mut left_out = Decoded::default();
                for _ in 0..ctas {
                    reader.next_in_grid(table, &mut left_out)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Closes the trace of a launch whose CTAs have all ended.
    pub fn close(&mut self, kernel: KernelId) {
        if let Some(launch) = self.launches.get_mut(kernel.index()) {
            *launch = None;
        }
    }
}

/// A warp's position in its CTA's trace.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    cta: CtaSlot,
    at: Span,
    pc: Option<Pc>,
}

/// A resident CTA.
#[derive(Debug, Default)]
struct Resident {
    /// All CTAs, if the launch keeps them.
    kept: Option<Arc<Decoded>>,
    /// The single CTA, otherwise.
    alone: Decoded,
    position: Dim3At,
    spaces: GenericSpaces,
    shared_base: u64,
    local_base: u64,
    program: Option<Arc<isa::Program>>,
}

/// A position with a default value.
#[derive(Clone, Copy, Debug)]
struct Dim3At(Dim3);

impl Default for Dim3At {
    fn default() -> Self {
        Self(Dim3::new(0, 0, 0))
    }
}

/// The instruction streams of one SM's warps, from traces.
#[derive(Debug, Default)]
pub struct TraceStream {
    warps: Vec<Cursor>,
    ctas: Vec<Resident>,
    /// CTAs that have yet to start, with the number of their first warp in what is kept.
    prepared: VecDeque<(Resident, usize)>,
    /// Storage of CTAs that have ended.
    spare: Vec<Resident>,
    /// A CTA could not be read: every warp has a next instruction, which faults.
    broken: bool,
}

impl TraceStream {
    /// Creates it without resident warps.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Element `index` of `all`, which grows as needed.
pub(crate) fn slot<T: Default>(all: &mut Vec<T>, index: usize) -> &mut T {
    if all.len() <= index {
        all.resize_with(index + 1, T::default);
    }
    &mut all[index]
}

/// The rule by which a generic address belongs to a state space (T4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GenericSpaces {
    /// By windows of 16 MiB from the bases of shared and of local memory.
    #[default]
    Windows,
    /// As Accel-Sim has it (`trace_driven.cc`): shared memory from its base to the base of local memory, local memory
    /// 16 KiB from its base. The bases of real traces are in the other order: then no address is shared.
    Bases,
}

/// Local memory of a thread in Accel-Sim (`LOCAL_MEM_SIZE_MAX`).
const ACCELSIM_LOCAL_BYTES: u64 = 16 << 10;

/// Resolves a generic address of the first active lane (T4): state space, and start of its window.
fn resolve(first: u64, spaces: GenericSpaces, shared_base: u64, local_base: u64) -> (Space, u64) {
    if shared_base == 0 || local_base == 0 {
        // Accel-Sim treats all as shared if the trace does not contain the windows.
        return (Space::Shared, 0);
    }
    let (shared_bytes, local_bytes) = match spaces {
        GenericSpaces::Windows => (WINDOW_BYTES, WINDOW_BYTES),
        GenericSpaces::Bases => (local_base.saturating_sub(shared_base), ACCELSIM_LOCAL_BYTES),
    };
    let within = |base: u64, bytes: u64| first >= base && first - base < bytes;
    if within(shared_base, shared_bytes) {
        (Space::Shared, shared_base)
    } else if within(local_base, local_bytes) {
        (Space::Local, local_base)
    } else {
        (Space::Global, 0)
    }
}

impl WarpStream for TraceStream {
    type Shared = TraceShared;

    /// Reads the CTA.
    fn prepare_cta(&mut self, shared: &mut TraceShared, kernel: KernelId, cta: Dim3) {
        let (mut resident, mut first) = (self.spare.pop().unwrap_or_default(), 0);
        resident.position = Dim3At(cta);
        if let Some(Some(Launch { trace, ctas })) = shared.launches.get_mut(kernel.index()) {
            let Header { shared_base, local_base, .. } = trace.header;
            (resident.shared_base, resident.local_base) = (shared_base, local_base);
            resident.spaces = shared.spaces;
            match ctas {
                Ctas::Kept(kept, dispatched) => {
                    resident.kept = Some(kept.clone());
                    first = *dispatched * trace.header.shape.warps() as usize;
                    *dispatched += 1;
                }
                Ctas::Read(file) => {
                    // Nobody else has it.
                    let file = file.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let (reader, table) = &mut **file;
                    resident.kept = None;
                    if let Err(error) = reader.next_in_grid(table, &mut resident.alone) {
                        shared.failed.get_or_insert(error);
                        self.broken = true;
                    }
                }
            }
            resident.program = Some(trace.program.clone());
        }
        self.prepared.push_back((resident, first));
    }

    fn start_cta(&mut self, _: &TraceShared, _: KernelId, _: Dim3, at: CtaSlot, warps: &[WarpSlot]) {
        let (resident, first) = self.prepared.pop_front().unwrap_or_default();
        let ended = std::mem::replace(slot(&mut self.ctas, at.index()), resident);
        self.spare.push(ended);
        let decoded = self.ctas[at.index()].decoded();
        for (index, warp) in warps.iter().enumerate() {
            let at_warp = decoded.warp(first + index);
            *slot(&mut self.warps, warp.index()) = Cursor { cta: at, at: at_warp, pc: decoded.next_pc(at_warp) };
        }
    }

    #[inline]
    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        let cursor = self.warps.get(warp.index())?;
        if self.broken { Some(Pc(0)) } else { cursor.pc }
    }

    #[inline]
    fn step(
        &mut self,
        shared: &TraceShared,
        warp: WarpSlot,
        _context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        let cursor = &mut self.warps[warp.index()];
        let resident = &self.ctas[cursor.cta.index()];
        if shared.failed.is_some() || cursor.at.next >= cursor.at.end {
            return Err(resident.fault(shared));
        }
        let decoded = resident.decoded();
        let (form, base) = (decoded.form(cursor.at.next), cursor.at.base);
        cursor.at.next += 1;
        cursor.at.base += u32::from(form.shape.has_base());
        cursor.pc = decoded.next_pc(cursor.at);
        out.pc = form.pc;
        out.mask = form.mask;
        out.active = form.mask;
        out.diverged = false;
        out.next_pc = cursor.pc;
        out.barrier = isa::BarrierArrival::default();
        if let Shape::GroupsLeft(groups) = form.shape {
            out.async_groups_left = groups;
        }
        let Some(space) = form.space else { return Ok(()) };
        out.space = space;
        if form.mask == 0 {
            return Ok(());
        }
        decoded.spread(form, base, &mut out.addresses);
        if matches!(space, Space::Generic | Space::Local) {
            resident.move_to_window(out);
        }
        Ok(())
    }

    fn end_cta(&mut self, at: CtaSlot) {
        if let Some(resident) = self.ctas.get_mut(at.index()) {
            (resident.program, resident.kept) = (None, None);
        }
    }
}

impl Resident {
    #[inline]
    fn decoded(&self) -> &Decoded {
        self.kept.as_deref().unwrap_or(&self.alone)
    }

    /// Makes the addresses of an access to local memory, or to a generic address, relative to their window.
    #[inline(never)]
    fn move_to_window(&self, out: &mut DynInst) {
        if out.space == Space::Generic {
            let first = out.addresses[out.mask.trailing_zeros() as usize];
            let (space, base) = resolve(first, self.spaces, self.shared_base, self.local_base);
            out.space = space;
            out.addresses.iter_mut().for_each(|a| *a = a.wrapping_sub(base) & (u64::MAX >> 1));
        }
        if out.space == Space::Local {
            // The model maps all lanes at once and expects offsets in a thread's memory.
            for (lane, address) in out.addresses.iter_mut().enumerate() {
                *address = if out.mask >> lane & 1 != 0 { *address % WINDOW_BYTES } else { 0 };
            }
        }
    }

    /// A fault: the trace could not be read further.
    #[cold]
    fn fault(&self, shared: &TraceShared) -> Box<Fault> {
        let what = shared
            .failed
            .as_ref()
            .map_or_else(|| "a warp has no further instruction in its trace".to_owned(), ToString::to_string);
        let kernel = self.program.as_ref().map(|p| p.name.clone()).unwrap_or_default();
        let spot = SourceSpot { kernel, ..SourceSpot::default() };
        Box::new(Fault {
            kind: FaultKind::Other,
            what,
            spot,
            cta: self.position.0,
            thread: Dim3::new(0, 0, 0),
            lanes: 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_addresses_belong_to_spaces_by_windows_or_as_in_accelsim() {
        use GenericSpaces::{Bases, Windows};
        let (low, high) = (0x7fa7_7500_0000, 0x7fa8_0000_0000);
        let space = |spaces, shared, local, at| resolve(at, spaces, shared, local);
        for (at, shared, local, by_windows, by_bases) in [
            // As tracers write them: shared memory above local memory.
            (high + 8, high, low, (Space::Shared, high), (Space::Global, 0)),
            (low + 8, high, low, (Space::Local, low), (Space::Local, low)),
            (low + (16 << 10), high, low, (Space::Local, low), (Space::Global, 0)),
            (low + (16 << 20), high, low, (Space::Global, 0), (Space::Global, 0)),
            (low + 8, low, high, (Space::Shared, low), (Space::Shared, low)),
            (high - 1, low, high, (Space::Global, 0), (Space::Shared, low)),
            (low - 1, low, high, (Space::Global, 0), (Space::Global, 0)),
            (low, 0, low, (Space::Shared, 0), (Space::Shared, 0)),
        ] {
            assert_eq!(space(Windows, shared, local, at), by_windows, "{at:x}");
            assert_eq!(space(Bases, shared, local, at), by_bases, "{at:x}");
        }
    }
}
