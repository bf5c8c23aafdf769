//! Live execution as a stream of dynamic instructions, which the timing model drives.

use crate::check::{CtaWatch, Executed, Watch};
use crate::cta::Cta;
use crate::fault::{Outcome, Trap};
use crate::interpret::{Environment, execute};
use crate::kernel::Kernel;
use crate::lanes::Column;
use crate::machine;
use crate::spot::spot;
use crate::state::{DeviceState, Parts};
use crate::warp::{Reduction, Warp, Way};
use isa::{CtaSlot, Dim3, DynInst, Fault, KernelId, OperandValues, Pc, Space, StepContext, WarpSlot, WarpStream};
use kit::LaneMask;
use std::sync::Arc;

/// The warps and CTAs resident on one SM. Slots are created at their first use and keep their storage.
#[derive(Debug, Default)]
pub struct LiveStream {
    warps: Vec<Warp>,
    ctas: Vec<Cta>,
}

impl LiveStream {
    /// Creates a stream without resident CTAs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lanes of `warp` that have not exited.
    pub fn live(&self, warp: WarpSlot) -> LaneMask {
        self.warps.get(warp.index()).map_or(0, Warp::live)
    }

    /// The kernel that `warp` executes.
    pub fn kernel(&self, warp: WarpSlot) -> Option<&Arc<Kernel>> {
        self.warps.get(warp.index())?.kernel.as_ref()
    }

    /// Columns and predicates of a resident warp, for tests of single instructions. Columns: the general
    /// registers, 8 more, then the uniform registers. Predicates: P0 to P6, then UP0 to UP6.
    #[doc(hidden)]
    pub fn registers_mut(&mut self, warp: WarpSlot) -> Option<(&mut [Column], &mut [LaneMask])> {
        let warp = self.warps.get_mut(warp.index())?;
        Some((&mut warp.regs, &mut warp.preds))
    }

    /// Bytes of host memory of the resident warps' registers, local and shared memory.
    pub fn resident_bytes(&self) -> u64 {
        let warps: u64 = self.warps.iter().map(|w| 128 * w.regs.len() as u64 + 32 * u64::from(w.local.bytes())).sum();
        let ctas: u64 = self.ctas.iter().map(|c| u64::from(c.shared.bytes())).sum();
        warps + ctas
    }

    /// Writes the result of a barrier's reduction to all warps that wait for it. The first of them that
    /// continues calls this; by the contract, the barrier is complete then.
    #[cold]
    #[inline(never)]
    fn finish_reduction(&mut self, cta: usize, barrier: u8) {
        let cta = &mut self.ctas[cta];
        let value = std::mem::take(&mut cta.reductions[barrier as usize]);
        for slot in &cta.warps {
            let warp = &mut self.warps[slot.index()];
            if warp.pending.is_some_and(|p| p.barrier == barrier) {
                warp.take_reduction(value);
            }
        }
    }
}

impl WarpStream for LiveStream {
    type Shared = DeviceState;

    fn start_cta(&mut self, shared: &mut DeviceState, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        let Some(launch) = shared.launch(kernel) else { return };
        let needed = warps.iter().map(|w| w.index() + 1).max().unwrap_or(0);
        if self.warps.len() < needed {
            self.warps.resize_with(needed, Warp::default);
        }
        if self.ctas.len() <= slot.index() {
            self.ctas.resize_with(slot.index() + 1, Cta::default);
        }
        for (index, warp) in warps.iter().enumerate() {
            self.warps[warp.index()].start(
                (kernel, &launch.kernel),
                launch.block,
                (slot.0, index as u32),
                shared.watch.is_some(),
            );
        }
        let place = &mut self.ctas[slot.index()];
        place.position = cta;
        place.shared.reset(launch.kernel.static_shared + launch.dynamic_shared);
        place.warps.clear();
        place.warps.extend_from_slice(warps);
        place.reductions.fill(Reduction::default());
        place.watch = shared.watch.as_ref().and_then(|watch| watch.start_cta(warps.len(), place.shared.bytes()));
    }

    #[inline]
    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        self.warps.get(warp.index())?.pc().map(Pc)
    }

    fn watch_changes(&self, shared: &mut DeviceState) {
        shared.memory.watch();
    }

    fn has_changed(&self, shared: &DeviceState) -> bool {
        !shared.memory.is_unchanged()
    }

    fn digest(&self, warp: WarpSlot) -> u64 {
        self.warps.get(warp.index()).map_or(0, Warp::digest)
    }

    fn word_at(&self, shared: &DeviceState, warp: WarpSlot, space: Space, address: u64) -> Option<u32> {
        let address = address & !3;
        if space == Space::Shared {
            let cta = self.ctas.get(self.warps.get(warp.index())?.cta as usize)?;
            return cta.shared.window(address, 4).map(|w| w.words[(address / 4) as usize]);
        }
        let window = shared.memory.window(address, 4)?;
        Some(window.words[((address - window.start) / 4) as usize])
    }

    fn step(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        self.advance(shared, slot, context, out, |_| ())
    }

    fn step_with_values(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        values.columns.clear();
        self.advance(shared, slot, context, out, |warp| warp.read_operands(&mut values.columns))
    }

    fn end_cta(&mut self, slot: CtaSlot) {
        for warp in std::mem::take(&mut self.ctas[slot.index()].warps) {
            self.warps[warp.index()].kernel = None;
        }
    }
}

impl LiveStream {
    /// Executes the next instruction of a warp. `before` sees the state before the instruction.
    #[inline(always)]
    fn advance(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        before: impl FnOnce(&Warp),
    ) -> Result<(), Box<Fault>> {
        let warp = &self.warps[slot.index()];
        if let Some(pending) = warp.pending {
            let cta = warp.cta as usize;
            self.finish_reduction(cta, pending.barrier);
        }
        let warp = &mut self.warps[slot.index()];
        before(warp);
        out.reconverge = warp.reconvergence().map(Pc);
        let cta = &mut self.ctas[warp.cta as usize];
        let Parts { memory, output, heap, images, launch, gpu, watch } = shared.split(warp.launch);
        // A launch exists as long as its CTAs are resident.
        let Some(launch) = launch else { return Ok(()) };
        let mut env = Environment {
            memory,
            images,
            output,
            heap,
            shared: &mut cta.shared,
            reductions: &mut cta.reductions,
            launch,
            gpu,
            context,
            cta: cta.position,
        };
        let done = match warp.way {
            Way::Ptx => execute(warp, &launch.kernel, &mut env, out),
            Way::MachineCode => machine::execute(warp, &launch.kernel, &mut env, out),
            Way::Watched => execute_watched(warp, &mut env, out, (watch, &mut cta.watch)),
        };
        out.next_pc = warp.pc().map(Pc);
        match done {
            Ok(()) => Ok(()),
            Err(trap) => Err(fault(&launch.kernel, warp, cta.position, out.pc, *trap)),
        }
    }
}

/// Executes the next instruction of a warp and checks what it has accessed.
#[cold]
#[inline(never)]
fn execute_watched(
    warp: &mut Warp,
    env: &mut Environment<'_>,
    out: &mut DynInst,
    (watch, cta): (&mut Option<Box<Watch>>, &mut Option<Box<CtaWatch>>),
) -> Outcome {
    let kernel = &env.launch.kernel;
    if warp.is_machine_code {
        machine::execute(warp, kernel, env, out)?;
    } else {
        execute(warp, kernel, env, out)?;
    }
    if let Some(watch) = watch {
        let done = Executed { launch: env.launch, warp, cta: env.cta, out };
        watch.see(&done, env.memory, cta.as_deref_mut());
    }
    Ok(())
}

/// Adds the place and the thread to a trap.
#[cold]
fn fault(kernel: &Kernel, warp: &Warp, cta: Dim3, pc: Pc, trap: Trap) -> Box<Fault> {
    let lane = (trap.lanes.trailing_zeros() as usize).min(31);
    let Trap { kind, what, lanes } = trap;
    Box::new(Fault { kind, what, spot: spot(kernel, pc), cta, thread: warp.thread(lane), lanes })
}
