//! The contract between what the warps do and when.
//!
//! The timing model requests the dynamic instructions of each warp one at a time, in program order, when it
//! decodes them into the warp's instruction buffer. A live stream executes the instruction at that moment; a
//! trace stream reads its next record.
//!
//! **Windows.** The state that streams share does not change while they step: a stream keeps what its warps
//! write, and they see it, other streams do not. At the end of the window, a number of cycles, the streams hand
//! their writes over ([`WarpStream::merge`]), one after the other. Then the operations that need the shared
//! state for themselves are performed, in the order of their cycles ([`WarpStream::exchange`]): atomics,
//! reductions, output. Windows therefore define the order of live execution: a warp sees the writes of other SMs from
//! the next window on, and all writes of a window appear together. This is within PTX's memory model: a fence beyond
//! the CTA waits until the writes before it are merged.
//!
//! **Rules of the contract**
//! 1. The timing model calls [`WarpStream::step`] at most once per dynamic instruction, in program order
//!    within a warp, and not beyond an instruction that holds the warp: after a
//!    [`Control::BarrierSync`](crate::Control::BarrierSync) it steps the warp again only when the barrier has
//!    been released, that is when the modelled hardware has seen all arrivals. A stream may therefore assume
//!    that results of the whole barrier (`bar.red`) are complete by then.
//!    It does not step a warp that the stream holds ([`DynInst::held`]) before [`WarpStream::exchange`] has
//!    returned that warp.
//! 2. It may step beyond an unresolved branch: the stream knows the path. Each design decides how much of
//!    this it uses (`perfect branch prediction`).
//! 3. Only `step` and `exchange` change what the warps see; timing never does. The same kernel leaves the same
//!    memory under every design, except where its own threads race.
//! 4. At the end of a window every stream is merged, then all waiting operations of all streams are exchanged.
//!    Until then no stream steps.
//! 5. **Asynchronous work**: an instruction that starts a transfer ([`DynInst::transfer`]) moves its data when it
//!    executes. The timing model says when the last byte has arrived ([`WarpStream::transferred`]): the stream
//!    then completes the `mbarrier` of the transfer, which no thread has seen complete before. In the same way accesses
//!    to other CTAs' shared memory ([`DynInst::peers`]) are performed in the exchange, but arrivals at their barriers
//!    take effect when the timing model has delivered them ([`WarpStream::delivered`]).
//! 6. A wait at an `mbarrier` whose phase has not completed holds its warp ([`DynInst::held`]) until
//!    [`WarpStream::take_woken`] returns it. The timing model asks after each call that may complete a phase:
//!    `step`, `transferred`, `exchange` and `take_back`.
//! 7. **Clusters**: shared memory of a CTA is its stream's, but other CTAs of its cluster may access it. If a stream asks
//!    for it ([`WarpStream::wants_peers`]), all streams hand over the shared memory of their clusters' CTAs after the
//!    merges ([`WarpStream::lend`]) and take it back after the exchange ([`WarpStream::take_back`]). Between the two,
//!    operations on shared memory of other CTAs are performed, as other operations of the exchange. In `take_back`
//!    barriers of clusters complete and mbarriers of a CTA may have, by arrivals of others: `take_woken` has the warps.
//!    The CTAs of a cluster start in the same cycle.
//! 8. [`WarpStream::prepare_cta`] precedes each [`WarpStream::start_cta`] of a stream, in the same order. The
//!    slots of a CTA that has ended are not used again in the same window.

use crate::{ClusterMember, Dim3, KernelId, Pc, Space};
use kit::{Cycle, LaneMask, WARP_LANES};

kit::id! {
    /// A place for a CTA on an SM.
    pub struct CtaSlot(u16);
    /// A place for a warp on an SM.
    pub struct WarpSlot(u16);
}

/// A wait for asynchronous copies with this number of groups left is for all copies, also those in no closed group.
pub const ALL_COPIES: u8 = u8::MAX;

kit::id! {
    /// A transfer that a stream has started and the timing model has not finished.
    pub struct TransferId(u32);
}

/// Where a transfer of the copy engine reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TransferKind {
    #[default]
    GlobalToShared,
    SharedToGlobal,
    /// Shared memory is added to (or otherwise combined with) global memory.
    SharedReduction,
    /// Shared memory of this CTA to shared memory of a CTA of its cluster.
    SharedToShared,
    /// Global memory into the L2.
    Prefetch,
}

impl TransferKind {
    /// Whether its end completes the thread's bulk group instead of an `mbarrier`: it writes global memory.
    pub const fn is_by_group(self) -> bool {
        matches!(self, Self::SharedToGlobal | Self::SharedReduction)
    }
}

/// Work of the SM's copy engine that an instruction starts: a bulk copy, or a box of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Id to pass to [`WarpStream::transferred`] at its end.
    pub id: TransferId,
    /// Its direction.
    pub kind: TransferKind,
    /// Runs of consecutive bytes of global memory that it accesses, first address and length, in its order. Parts of a
    /// box outside its tensor are not accessed.
    pub runs: Vec<(u64, u32)>,
    /// Bytes of shared memory that it accesses, including parts of a box outside the tensor.
    pub shared_bytes: u32,
    /// Other CTAs of the cluster that receive these bytes, by rank, a bit each.
    pub others: u16,
    /// If they receive them from global memory: the own CTA, and the message for [`WarpStream::delivered`] when one of
    /// them has received all bytes.
    pub multicast: Option<(ClusterMember, MessageId)>,
    /// The tensor map that it uses; none for a bulk copy.
    pub tensor: Option<TensorUse>,
}

/// Use of a tensor map by a transfer. A prefetch without runs only brings the map to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorUse {
    /// Generic address of the map.
    pub map: u64,
    /// Rows of its box along the first dimension, including those outside the tensor.
    pub rows: u32,
}

kit::id! {
    /// A message to other CTAs of the cluster: a number in the sender's stream.
    pub struct MessageId(u32);
}

/// Accesses of an instruction to the shared memory of other CTAs of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAccesses {
    /// The CTA that accesses.
    pub from: ClusterMember,
    /// Rank of each CTA whose memory is accessed, and the bytes of the 32-byte segments there.
    pub to: Vec<(u8, u32)>,
    /// The message for [`WarpStream::delivered`] in each of them.
    pub message: MessageId,
}

/// Arrival of a warp at a CTA barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BarrierArrival {
    /// Barrier number, 0 to 15.
    pub id: u8,
    /// Number of threads for which the barrier waits, a multiple of the warp size; 0 for all live threads of
    /// the CTA.
    pub threads: u16,
}

/// One dynamic instruction of a warp. [`WarpStream::step`] fills it in; fields without a meaning for the
/// static instruction are left unchanged.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct DynInst {
    pub pc: Pc,
    /// Lanes that execute it: active, and the guard holds. May be empty.
    pub mask: LaneMask,
    /// Lanes that were active when the warp reached it, whatever their guard is.
    pub active: LaneMask,
    /// The warp's next instruction; `None` if all its threads have exited.
    pub next_pc: Option<Pc>,
    /// The instruction at which the lanes in `active` reconverge with others, if they are diverged: the PC of
    /// the SIMT stack's entry in PTX, the one that `BSSY` names in machine code. `None` if it is not known,
    /// as in traces.
    pub reconverge: Option<Pc>,
    /// For control instructions: the lanes of the warp diverged.
    pub diverged: bool,
    /// State space of the access; for a generic one, the actual space. If the lanes of a generic access fall
    /// into different spaces, the stream reports the majority space to timing.
    pub space: Space,
    /// Byte address per lane, for lanes in `mask` of a memory instruction. Shared and local
    /// addresses are offsets within the CTA's or thread's window.
    pub addresses: [u64; WARP_LANES],
    /// Second address per lane, of the few accesses that have one ([`MemAccess::has_two_addresses`]): the
    /// shared-memory side of an asynchronous copy; of a texture read, the texel diagonally across from that at
    /// the first address, of those that filtering blends.
    ///
    /// [`MemAccess::has_two_addresses`]: crate::MemAccess::has_two_addresses
    pub addresses2: Option<Box<[u64; WARP_LANES]>>,
    pub barrier: BarrierArrival,
    /// Duration of `nanosleep`, in cycles.
    pub sleep_cycles: u32,
    /// For waits on asynchronous copies: groups that may stay pending, or [`ALL_COPIES`].
    pub async_groups_left: u8,
    /// The instruction waits for the exchange ([`WarpStream::exchange`]), or at an `mbarrier` or the barrier of a cluster
    /// ([`WarpStream::take_woken`]): it is described here, but has not been performed, and its warp is not stepped
    /// before.
    pub held: bool,
    /// Of an instruction that is held: it waits at an `mbarrier` or at the barrier of its cluster.
    pub at_mbarrier: bool,
    /// Asynchronous work that the instruction starts. The caller of the step takes it.
    pub transfer: Option<Box<Transfer>>,
    /// Its accesses to other CTAs of the cluster; `None` for an instruction that starts a transfer.
    pub peers: Option<Box<PeerAccesses>>,
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
            addresses2: None,
            barrier: BarrierArrival::default(),
            sleep_cycles: 0,
            async_groups_left: 0,
            held: false,
            at_mbarrier: false,
            transfer: None,
            peers: None,
        }
    }
}

impl DynInst {
    /// The second address per lane; 0 if there is none.
    pub fn second_addresses(&self) -> &[u64; WARP_LANES] {
        self.addresses2.as_deref().unwrap_or(&[0; WARP_LANES])
    }

    /// The second address per lane, to be filled in.
    pub fn second_addresses_mut(&mut self) -> &mut [u64; WARP_LANES] {
        self.addresses2.get_or_insert_with(|| Box::new([0; WARP_LANES]))
    }
}

/// Contents of the registers that an instruction reads, before it executes: a column for each of
/// [`Program::srcs`](crate::Program::srcs), in that order, with a word for each of the 32 lanes, active or
/// not. Predicates are 0 or 1. Empty if the stream does not know them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct OperandValues {
    pub columns: Vec<[u32; WARP_LANES]>,
}

/// State of the simulated machine that a live stream may read while it executes an instruction.
#[derive(Clone, Copy, Debug)]
pub struct StepContext {
    /// The present cycle, as `%clock` reads it.
    pub now: Cycle,
    /// Number of the SM, as `%smid` reads it.
    pub sm: u16,
}

/// The instructions of the resident warps of one SM, in program order.
pub trait WarpStream: Send {
    /// State that all SMs share: device memory for live execution, nothing for traces.
    type Shared: Send + Sync;

    /// Takes from the shared state what CTA `cta` of `kernel` needs, between windows.
    /// [`WarpStream::start_cta`] follows later, in the same order.
    fn prepare_cta(&mut self, _shared: &mut Self::Shared, _kernel: KernelId, _cta: Dim3) {}

    /// Places CTA `cta` of `kernel`, which has been prepared, on the SM. Its warps take the slots `warps[0]`,
    /// `warps[1]` ….
    fn start_cta(&mut self, shared: &Self::Shared, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]);

    /// The next instruction of `warp`, or `None` once all its threads have exited.
    fn next_pc(&self, warp: WarpSlot) -> Option<Pc>;

    /// Starts to record whether shared state changes: [`WarpStream::has_changed`].
    fn watch_changes(&self, _shared: &mut Self::Shared) {}

    /// Whether state that warps share may have changed since [`WarpStream::watch_changes`]: memory, output,
    /// votes at a barrier. Reading the time counts as a change, since the warp's behaviour then depends on
    /// more than its state. A stream that cannot tell returns true. Changes count from
    /// [`WarpStream::merge`] on.
    fn has_changed(&self, _shared: &Self::Shared) -> bool {
        true
    }

    /// A hash of everything on which the next instructions of `warp` depend, except for shared state:
    /// different states have different hashes with a probability of 1 - 2^-64.
    fn digest(&self, _warp: WarpSlot) -> u64 {
        0
    }

    /// The word of shared or device memory that `warp` would read at `address`, for messages.
    fn word_at(&self, _shared: &Self::Shared, _warp: WarpSlot, _space: Space, _address: u64) -> Option<u32> {
        None
    }

    /// Executes the next instruction of `warp` and describes it in `out`. One that needs the shared state for
    /// itself is only described, and holds the warp: [`DynInst::held`].
    ///
    /// # Errors
    /// A [`Fault`] ends the kernel: the instruction had no defined outcome.
    fn step(
        &mut self,
        shared: &Self::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>>;

    /// As [`WarpStream::step`]; also copies the values that the instruction reads into `values`, for designs
    /// that use them and for recording. A stream that does not know them leaves it empty.
    ///
    /// # Errors
    /// As [`WarpStream::step`].
    fn step_with_values(
        &mut self,
        shared: &Self::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        values.columns.clear();
        self.step(shared, warp, context, out)
    }

    /// A window of one instruction: [`WarpStream::step`], then the merge and the exchange. For what executes
    /// one instruction after the other. There must be nothing to merge or to exchange before.
    ///
    /// # Errors
    /// As [`WarpStream::step`].
    fn step_alone(
        &mut self,
        shared: &mut Self::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        self.step(shared, warp, context, out)?;
        self.merge(shared);
        while !self.waiting().is_empty() {
            self.exchange(shared)?;
        }
        out.held = false;
        out.next_pc = self.next_pc(warp);
        Ok(())
    }

    /// Hands over to the shared state what the warps have written in the window.
    fn merge(&mut self, _shared: &mut Self::Shared) {}

    /// Cycle of each operation that waits for the exchange, the oldest first.
    fn waiting(&self) -> &[Cycle] {
        &[]
    }

    /// Performs the oldest waiting operation with the shared state for itself. Returns the warp that it held,
    /// if any, which may be stepped when all waiting operations of all streams have been performed.
    ///
    /// # Errors
    /// As [`WarpStream::step`].
    fn exchange(&mut self, _shared: &mut Self::Shared) -> Result<Option<WarpSlot>, Box<Fault>> {
        Ok(None)
    }

    /// Whether this stream, or one that shares a cluster with it, may need shared memory of other streams' CTAs: all
    /// streams [`lend`](WarpStream::lend) before the exchange.
    fn wants_peers(&self) -> bool {
        false
    }

    /// Hands over the shared memory of clusters' CTAs, after the merges.
    fn lend(&mut self, _shared: &mut Self::Shared) {}

    /// Takes it back, when all waiting operations of all streams have been performed. Barriers of clusters complete.
    fn take_back(&mut self, _shared: &mut Self::Shared) {}

    /// All bytes of a transfer have arrived in cycle `now`: its `mbarrier` counts them. If a transfer goes from shared
    /// memory to other CTAs, its bytes have left: the other `mbarrier` counts them when they are
    /// [`delivered`](WarpStream::delivered). Returns the accesses to other CTAs.
    fn transferred(&mut self, _transfer: TransferId, _now: Cycle) -> Option<Box<PeerAccesses>> {
        None
    }

    /// The access or multicast with this message, of the CTA of rank `from`, has arrived in cycle `now` at CTA `to` of
    /// the same cluster: the `mbarrier` counts its arrivals and bytes. Its data have been moved in the exchange.
    fn delivered(&mut self, _to: ClusterMember, _from: u8, _message: MessageId, _now: Cycle) {}

    /// A warp that was held at an `mbarrier` or the barrier of its cluster and may be stepped again, each once. Its wait
    /// has been performed.
    fn take_woken(&mut self) -> Option<WarpSlot> {
        None
    }

    /// The phase for which `warp` waits at an `mbarrier`, for messages: "the even phase of the mbarrier at …".
    fn describe_wait(&self, _warp: WarpSlot) -> Option<String> {
        None
    }

    /// The phases of `mbarrier`s that `done`, the last instruction of `warp`, found incomplete, in the words of
    /// [`WarpStream::describe_wait`]; at most `most` of them.
    fn describe_polls(&self, _shared: &Self::Shared, _warp: WarpSlot, _done: &DynInst, _most: usize) -> Vec<String> {
        Vec::new()
    }

    /// Removes a finished CTA from the SM.
    fn end_cta(&mut self, slot: CtaSlot);
}

/// The place of an event in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SourceSpot {
    pub kernel: String,
    /// Index of the instruction.
    pub pc: Pc,
    pub text: String,
    /// Line in the PTX or disassembly; 0 if unknown.
    pub line: u32,
    /// File and position in it, such as `saxpy.ptx:34:5` or `saxpy.cubin, byte 0xd0 of the kernel`; empty if
    /// unknown.
    pub place: String,
    /// The line of that file with a marker at the instruction, for messages; empty if there is none.
    pub excerpt: String,
    /// File and line in the high-level source, if known.
    pub origin: Option<(String, u32)>,
}

/// The kinds of fault that programs can distinguish: CUDA has an error code for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An access outside all memory of its space, or a store to memory that kernels may only read.
    IllegalAddress,
    /// An address that is not a multiple of the size of the access.
    MisalignedAddress,
    /// A failed `assert` of device code.
    Assert,
    /// An instruction, or an operand of it, that the GPU does not have.
    IllegalInstruction,
    /// A jump, call or branch to an address without an instruction.
    InvalidPc,
    /// Calls are nested too deeply for the thread's stack.
    StackOverflow,
    /// The kernel ended itself: `trap`, or an access to a surface that traps outside it.
    Trap,
    /// Faults without a CUDA error code: deadlock, invalid texture handle, truncated trace.
    #[default]
    Other,
}

/// An instruction without a defined outcome: description, place and thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Fault {
    pub kind: FaultKind,
    /// Description; for memory, with the address and the nearest allocation.
    pub what: String,
    pub spot: SourceSpot,
    /// CTA position in the grid.
    pub cta: Dim3,
    /// Position in the CTA of the first faulting thread.
    pub thread: Dim3,
    /// The faulting lanes.
    pub lanes: LaneMask,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind: _, what, spot, cta, thread, lanes } = self;
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
