//! The place of a layer over the operand stage: it settles, when an instruction is decoded, where the
//! instruction collects its operands and executes ([`Route`]), under any issue design. There is one, the
//! [`scalar`](super::scalar) path, and most cores have none.

use super::Route;
use super::scalar::ScalarPath;
use crate::inflight::{InFlight, InstId};
use crate::kernel::ResidentKernel;
use crate::slab::Slab;
use crate::spec::{CoreSpec, Pipe, SpecError, within};
use isa::{DynInst, Fault, StepContext, WarpSlot, WarpStream};
use kit::persist::{Archive, Mismatch, Persist, part};
use kit::{LaneMask, WARP_LANES};

pub use super::scalar::{ScalarCounters as LayerCounters, ScalarCounts as LayerCounts};

/// The layer, if the core has one.
#[derive(Debug)]
pub(crate) struct Layer(Option<Box<ScalarPath>>);

impl Layer {
    /// The layer that `spec` asks for.
    pub fn new(spec: &CoreSpec) -> Self {
        Self(ScalarPath::new(spec))
    }

    /// A warp that is the `index`-th of a CTA of `kernel` takes a slot.
    pub fn start_warp(&mut self, warp: WarpSlot, kernel: &ResidentKernel, index: usize) {
        if let Some(path) = &mut self.0 {
            let threads = (kernel.shape.block.volume() - (index * WARP_LANES) as u64).min(WARP_LANES as u64);
            let live = LaneMask::MAX >> (WARP_LANES as u64 - threads);
            path.start_warp(warp, live, kernel.code.program.regs.vector);
        }
    }

    /// The stream executes the next instruction of `warp` and describes it in `out`.
    #[inline]
    pub fn step<S: WarpStream>(
        &mut self,
        stream: &mut S,
        shared: &S::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        match &mut self.0 {
            None => stream.step(shared, warp, context, out),
            Some(path) => stream.step_with_values(shared, warp, context, out, &mut path.values),
        }
    }

    /// Settles the way of `id`, which has just been executed.
    #[inline]
    pub fn settle(&mut self, slab: &mut Slab, kernels: &[ResidentKernel], id: InstId) {
        if let Some(path) = &mut self.0 {
            settle(path, slab, kernels, id);
        }
    }

    /// An instruction that goes by `route` has issued.
    pub fn on_issue(&mut self, route: Route) {
        if let Some(path) = &mut self.0 {
            path.on_issue(route);
        }
    }

    /// Counts of the layer.
    pub fn counts(&self) -> Option<&LayerCounts> {
        self.0.as_ref().map(|path| &path.counts)
    }
}

#[cold]
fn settle(path: &mut ScalarPath, slab: &mut Slab, kernels: &[ResidentKernel], id: InstId) {
    let InFlight { warp, kernel, mut micro, .. } = *slab.get(id);
    let (unit, route) = path.route(warp, &kernels[kernel.index()], slab.dynamic(id), &mut micro);
    let flight = slab.get_mut(id);
    (flight.micro, flight.unit_pipe) = (micro, unit);
    slab.set_route(id, route);
}

impl InFlight {
    /// Whether it collects its operands or executes in what the layer adds.
    #[inline]
    pub(crate) fn uses_layer(&self) -> bool {
        self.unit_pipe == Pipe::OF_LAYER || self.pipe == Pipe::OF_LAYER
    }
}

/// Units and ports that the layer adds to the SM.
impl CoreSpec {
    /// Whether there is a layer.
    pub(crate) fn has_layer(&self) -> bool {
        self.options.scalar.is_some()
    }

    /// # Errors
    /// The layer is of impossible size.
    pub(crate) fn check_layer(&self) -> Result<(), SpecError> {
        let Some(scalar) = self.options.scalar else { return Ok(()) };
        within("the clock of scalar ALUs over the SM's", scalar.clock, 1, 64)?;
        within("the number of scalar ALUs", scalar.alus, 0, 64)?;
        within("the number of scalar ports", scalar.ports, 1, 64)?;
        within("the number of scalar operand collectors", scalar.collectors, 1, 64)?;
        let collectors = self.layer_collectors() + self.sm.operands.collectors;
        within("the number of operand collectors, scalar ones among them", collectors, self.partitions as u64, 64)?;
        within("the number of sub-cores with a scalar path", self.partitions as u32, 1, 6)
    }

    /// Slots of the layer's units.
    pub(crate) fn layer_units(&self) -> u32 {
        // A unit of a higher clock is as many slots (D-SV2).
        self.options.scalar.map_or(0, |s| self.in_each_part(s.alus) * s.clock)
    }

    /// Ports of the layer, for dispatch and for write-back each.
    pub(crate) fn layer_ports(&self) -> u32 {
        self.options.scalar.map_or(0, |s| self.in_each_part(s.ports))
    }

    /// Operand collectors of the layer.
    pub(crate) fn layer_collectors(&self) -> u32 {
        self.options.scalar.map_or(0, |s| self.in_each_part(s.collectors))
    }

    /// `total`, or more if the parts could not have as many each (D-SV3).
    fn in_each_part(&self, total: u32) -> u32 {
        total.next_multiple_of(self.partitions as u32)
    }
}

impl Persist for Layer {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        part(&mut self.0, archive)
    }
}
