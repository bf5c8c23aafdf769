//! The contract between what the warps do and when.
//!
//! The timing model asks for each warp's dynamic instructions one at a time, in program order, as
//! it decodes them into the warp's instruction buffer. A live stream executes the instruction at
//! that moment, so loads, atomics and spin loops see the order of the simulated machine; a trace
//! stream reads its next record.
//!
//! **Rules of the contract**
//! 1. The timing model calls [`WarpStream::step`] at most once per dynamic instruction, in program
//!    order within a warp, and not past one that holds the warp back: after a
//!    [`Control::BarrierSync`](crate::Control::BarrierSync) it steps the warp again only when the
//!    barrier has been released, which is when the modelled hardware has seen all its arrivals.
//!    A stream may therefore take results that depend on the whole barrier (`bar.red`) for
//!    complete by then.
//! 2. It may step past a branch that it has not resolved: the stream knows the way. What a design
//!    is allowed to know of that is the design's affair (`perfect branch prediction`).
//! 3. `step` alone changes what the warps see; timing never does. The same kernel leaves the same
//!    memory under every design, save where its own threads race.

use crate::{Dim3, KernelId, Pc, Space};
use kit::{Cycle, LaneMask, WARP_LANES};

kit::id! {
    /// A place for a CTA on an SM.
    pub struct CtaSlot(u16);
    /// A place for a warp on an SM.
    pub struct WarpSlot(u16);
}

/// Arrival of a warp at a CTA barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BarrierArrival {
    /// Barrier number, 0 to 15.
    pub id: u8,
    /// Threads the barrier waits for, a multiple of the warp size; 0 for all of the CTA's live ones.
    pub threads: u16,
}

/// One dynamic instruction of a warp. Filled in by [`WarpStream::step`]; fields that the static
/// instruction gives no meaning to are left as they were.
#[derive(Clone, Debug)]
pub struct DynInst {
    /// The static instruction.
    pub pc: Pc,
    /// Lanes that execute it: active, and the guard holds. May be empty.
    pub mask: LaneMask,
    /// Lanes active when it was reached, whatever their guard says.
    pub active: LaneMask,
    /// Where the warp goes next; `None` if all its threads have exited.
    pub next_pc: Option<Pc>,
    /// Where the lanes in `active`, if they are apart from others, go on with them: the re-convergence
    /// PC of the SIMT stack's entry under PTX, that which `BSSY` names in machine code. `None` if it is
    /// not known, as in traces.
    pub reconverge: Option<Pc>,
    /// For control instructions: the warp's lanes went different ways.
    pub diverged: bool,
    /// Space of this access; for a generic one, the outcome. Lanes of one generic access that fall
    /// in different spaces are split by the stream's choice of the majority space for timing.
    pub space: Space,
    /// Byte address per lane, for lanes in `mask` of a memory instruction. Shared and local
    /// addresses are offsets within the CTA's or thread's window.
    pub addresses: [u64; WARP_LANES],
    /// Second address per lane: the shared-memory side of an asynchronous copy; of a texture read, the
    /// texel diagonally across from that at the first address, of those that filtering blends.
    pub addresses2: [u64; WARP_LANES],
    /// For barrier instructions.
    pub barrier: BarrierArrival,
    /// For `nanosleep`.
    pub sleep_cycles: u32,
    /// For waits on asynchronous copies: groups that may stay pending.
    pub async_groups_left: u8,
}

impl Default for DynInst {
    fn default() -> Self {
        Self {
            pc: Pc(0),
            mask: 0,
            active: 0,
            next_pc: None,
            reconverge: None,
            diverged: false,
            space: Space::Global,
            addresses: [0; WARP_LANES],
            addresses2: [0; WARP_LANES],
            barrier: BarrierArrival::default(),
            sleep_cycles: 0,
            async_groups_left: 0,
        }
    }
}

/// What the registers hold that an instruction reads, before it is done: a column for each of
/// [`Program::srcs`](crate::Program::srcs), in that order, with a word for each of the 32 lanes, active or
/// not. Predicates are 0 or 1. Empty if the stream does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperandValues {
    /// The columns.
    pub columns: Vec<[u32; WARP_LANES]>,
}

/// What a live stream may ask of the simulated machine while it executes an instruction.
#[derive(Clone, Copy, Debug)]
pub struct StepContext {
    /// The present cycle, as `clock` and `globaltimer` read it.
    pub now: Cycle,
    /// Number of the SM, as `%smid` reads it.
    pub sm: u16,
}

/// What the resident warps of one SM do, in program order.
pub trait WarpStream {
    /// What all SMs share: device memory for live execution, nothing for traces.
    type Shared;

    /// Whether what the warps of an SM do depends on nothing that other SMs do, so that one SM may be ahead
    /// of the others in time. It never changes.
    fn is_alone(&self) -> bool {
        false
    }

    /// Places CTA `cta` of `kernel` on the SM. Its warps take the slots `warps[0]`, `warps[1]` ….
    fn start_cta(&mut self, shared: &mut Self::Shared, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]);

    /// The next instruction of `warp`, or `None` once all its threads have exited.
    fn next_pc(&self, warp: WarpSlot) -> Option<Pc>;

    /// From now on notes whether anything that warps share changes: [`WarpStream::has_changed`].
    fn watch_changes(&self, _shared: &mut Self::Shared) {}

    /// Whether anything that warps share may have changed since [`WarpStream::watch_changes`]: memory,
    /// output, votes at a barrier. Reading the time counts as a change, since what a warp does then
    /// depends on more than its state. A stream that does not know says so always.
    fn has_changed(&self, _shared: &Self::Shared) -> bool {
        true
    }

    /// A number of all that the next instructions of `warp` depend on except for what warps share:
    /// states that differ have different numbers, but for a chance of 2^-64.
    fn digest(&self, _warp: WarpSlot) -> u64 {
        0
    }

    /// The word of shared or device memory that `warp` would read at `address`, for messages.
    fn word_at(&self, _shared: &Self::Shared, _warp: WarpSlot, _space: Space, _address: u64) -> Option<u32> {
        None
    }

    /// Does the next instruction of `warp` and describes it in `out`.
    ///
    /// # Errors
    /// A [`Fault`] ends the kernel: the instruction had no defined outcome.
    fn step(
        &mut self,
        shared: &mut Self::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>>;

    /// As [`WarpStream::step`], and puts what the instruction reads into `values`: for designs that look
    /// at values, and to record them. A stream that does not know leaves it empty.
    ///
    /// # Errors
    /// As [`WarpStream::step`].
    fn step_with_values(
        &mut self,
        shared: &mut Self::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        values.columns.clear();
        self.step(shared, warp, context, out)
    }

    /// Takes a finished CTA off the SM.
    fn end_cta(&mut self, slot: CtaSlot);
}

/// Where in the program something happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceSpot {
    /// Kernel name.
    pub kernel: String,
    /// Index of the instruction.
    pub pc: Pc,
    /// The instruction's text.
    pub text: String,
    /// Line in the PTX or disassembly; 0 if unknown.
    pub line: u32,
    /// File and place in it, as `saxpy.ptx:34:5` or `saxpy.cubin, byte 0xd0 of the kernel`; empty if
    /// unknown.
    pub place: String,
    /// The line of that file with the instruction marked, for messages; empty if there is none.
    pub excerpt: String,
    /// File and line in the high-level source, if known.
    pub origin: Option<(String, u32)>,
}

/// An instruction without a defined outcome: what, where, who.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong, with the address and what lies nearest to it where memory is concerned.
    pub what: String,
    /// Where.
    pub spot: SourceSpot,
    /// CTA position in the grid.
    pub cta: Dim3,
    /// Thread position in the CTA, of the first lane at fault.
    pub thread: Dim3,
    /// Lanes at fault.
    pub lanes: LaneMask,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, spot, cta, thread, lanes } = self;
        write!(f, "{what}\n  in kernel `{}`, CTA {cta}, thread {thread}", spot.kernel)?;
        if lanes.count_ones() > 1 {
            let more = kit::text::counted(u64::from(lanes.count_ones()) - 1, "more lane");
            write!(f, " and {more} of its warp")?;
        }
        match (&*spot.place, &*spot.text, &*spot.excerpt) {
            ("", "", _) => {}
            ("", text, _) => write!(f, "\n  at instruction {}: {text}", spot.pc.0)?,
            (place, text, "") => write!(f, "\n  at {place}, instruction {}: {text}", spot.pc.0)?,
            (place, _, excerpt) => write!(f, "\n  at {place}, instruction {}:\n{}", spot.pc.0, excerpt.trim_end())?,
        }
        if let Some((file, line)) = &spot.origin {
            write!(f, "\n  from {file}:{line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
