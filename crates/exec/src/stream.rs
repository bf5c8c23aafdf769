//! Live execution as a stream of dynamic instructions, which the timing model drives.

mod cluster;
mod turns;

use crate::cluster::{ClusterPlace, Membership};
use crate::copy_engine::Ends;
use crate::cta::Cta;
use crate::fault::{Outcome, Stop, Trap};
use crate::interpret::{Done, Environment, execute, execute_often, execute_rarely, resume};
use crate::kernel::Kernel;
use crate::lanes::Column;
use crate::launch::Launch;
use crate::machine;
use crate::mbarrier::{Arriving, Mail, Wait};
use crate::memory::{OutOfBounds, Own, Reader, SHARED_WINDOW};
use crate::op::Op;
use crate::spot::spot;
use crate::state::{DeviceState, Parts};
use crate::warp::{PendingReduction, Reduction, Warp, Way};
use isa::{
    ClusterMember, CtaSlot, Dim3, DynInst, Fault, FaultKind, KernelId, MessageId, OperandValues, Pc, PeerAccesses,
    SourceSpot, Space, StepContext, TransferId, WarpSlot, WarpStream,
};
use kit::{Cycle, LaneMask};
use std::collections::VecDeque;
use std::sync::Arc;

/// The warps and CTAs resident on one SM. Slots are created at their first use and keep their storage.
///
/// Device memory as its warps see it is in [`crate::memory`]: what it was when the window began, and what they have
/// written since.
#[derive(Debug, Default)]
pub struct LiveStream {
    warps: Vec<Warp>,
    ctas: Vec<Cta>,
    reader: Reader,
    /// Effects that other SMs have yet to see.
    own: Own,
    /// Operations that wait for the exchange, in the order of execution, and the cycle of each.
    waiting: Vec<Waiting>,
    cycles: Vec<Cycle>,
    /// The first that waits: those before have been performed.
    next: usize,
    /// Instructions executed under checks in this window, and the ones among them of which more than their number is
    /// checked.
    watched: u64,
    seen: Vec<Seen>,
    /// Warps whose wait at an `mbarrier` or at the barrier of their cluster is over.
    woken: VecDeque<WarpSlot>,
    /// Transfers that have not ended.
    transfers: Vec<Pending>,
    /// Bytes for barriers of other CTAs of the cluster, to be sent in the exchange.
    arrivals: Vec<(ClusterPlace, Arriving, MessageId)>,
    /// Messages about arrivals of other CTAs that the barriers refuse.
    refused: Vec<String>,
    next_message: u32,
    next_transfer: u32,
    /// The description of an operation of the exchange, which nobody needs.
    unused: DynInst,
    /// Warps that wait at the barriers of their clusters.
    at_cluster: Vec<WarpSlot>,
    /// The other streams' shared memory is needed, or others may wait for this one's.
    wants_peers: bool,
    /// It executes with the device for itself: shared memory of clusters is always handed over.
    is_alone: bool,
}

/// A transfer that the timing model has yet to finish, and the bytes that come to barriers at its end.
#[derive(Debug)]
struct Pending {
    id: TransferId,
    /// The slot of its CTA, unless that has ended.
    cta: Option<u16>,
    /// The CTA's place in a cluster.
    place: Option<ClusterPlace>,
    barriers: Vec<Arriving>,
}

/// An operation that waits for the exchange.
#[derive(Debug)]
struct Waiting {
    kind: WaitingKind,
    /// For checks of the instruction.
    seen: Option<Box<Seen>>,
}

#[derive(Clone, Copy, Debug)]
enum WaitingKind {
    /// The rest of the instruction at the PC, which holds its warp.
    Held(WarpSlot, Pc, StepContext, MessageId),
    /// The reduction of this number in [`Own::reductions`].
    Reduction(usize),
    /// The arrival of this number in [`LiveStream::arrivals`].
    Arrival(usize),
    /// The arrival of this number in [`LiveStream::refused`], of an instruction of another CTA at the PC; the warp is
    /// one of the barrier's CTA.
    Refused(WarpSlot, Pc, usize),
}

/// An instruction under checks.
#[derive(Clone, Debug)]
struct Seen {
    warp: WarpSlot,
    /// Its first access outside allocations, if any is to be reported.
    stray: Option<u64>,
    out: DynInst,
}

/// The device, as a stream accesses it.
enum Device<'a> {
    Frozen(&'a DeviceState),
    Alone(&'a mut DeviceState),
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

    /// Ends the waits at an `mbarrier` of the CTA in `slot` whose phase is complete: [`WarpStream::take_woken`].
    pub(crate) fn wake(&mut self, slot: CtaSlot) {
        let cta = &mut self.ctas[slot.index()];
        if cta.barriers_changed {
            wake(&mut self.warps, cta, &mut self.woken);
        }
    }

    /// The wait of `warp` at an `mbarrier`, and its CTA.
    fn wait_of(&self, warp: WarpSlot) -> Option<(&Cta, &Wait)> {
        let cta = self.ctas.get(usize::from(self.warps.get(warp.index())?.cta))?;
        Some((cta, cta.waits.iter().find(|wait| wait.warp == warp)?))
    }

    /// See [`WarpStream::describe_polls`].
    fn polls(&self, shared: &DeviceState, slot: WarpSlot, done: &DynInst, most: usize) -> Option<Vec<String>> {
        let warp = self.warps.get(slot.index())?;
        let Op::MbarrierWait(wait) = &warp.kernel.as_ref()?.code.get(done.pc.index())?.op else { return None };
        let memory = &self.ctas.get(usize::from(warp.cta))?.shared;
        let constants = &shared.launch(warp.launch)?.constants;
        Some(wait.incomplete((&warp.regs, constants), memory, done, most))
    }

    /// The instruction at which `warp` waits at an `mbarrier`.
    pub(crate) fn waits_at(&self, warp: WarpSlot) -> Option<Pc> {
        Some(self.wait_of(warp)?.1.pc)
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
}

/// Ends the waits of warps of `cta` whose phase is complete.
#[cold]
#[inline(never)]
fn wake(warps: &mut [Warp], cta: &mut Cta, woken: &mut VecDeque<WarpSlot>) {
    let Cta { waits, shared, barriers_changed, .. } = cta;
    *barriers_changed = false;
    waits.retain(|wait| {
        if !wait.is_over(shared) {
            return true;
        }
        if let Some(n) = wait.d.number() {
            warps[wait.warp.index()].preds[usize::from(n)] |= wait.mask;
        }
        woken.push_back(wait.warp);
        false
    });
}

/// Writes the result of the reduction that a warp waits for to all warps that wait for it. The first of them
/// that continues calls this; by the contract, the barrier is complete then.
#[cold]
#[inline(never)]
fn finish_reduction(warps: &mut [Warp], ctas: &mut [Cta], slot: WarpSlot) {
    let warp = &warps[slot.index()];
    let Some(&PendingReduction { barrier, .. }) = warp.pending.first() else { return };
    let cta = &mut ctas[warp.cta as usize];
    let value = std::mem::take(&mut cta.reductions[barrier as usize]);
    for slot in &cta.warps {
        let warp = &mut warps[slot.index()];
        if warp.pending.first().is_some_and(|p| p.barrier == barrier) {
            for pending in std::mem::take(&mut warp.pending) {
                warp.take_reduction(pending, value);
            }
        }
    }
}

impl WarpStream for LiveStream {
    type Shared = DeviceState;

    fn prepare_cta(&mut self, shared: &mut DeviceState, kernel: KernelId, cta: Dim3) {
        if let Some(place) = shared.launch(kernel).and_then(|launch| launch.cluster_place(kernel, cta)) {
            shared.clusters.enter(place);
        }
    }

    fn start_cta(&mut self, shared: &DeviceState, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
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
        let bytes = launch.kernel.system_shared.with(launch.own_shared());
        let member = launch.cluster_place(kernel, cta);
        place.shared.reset(member.map_or(0, ClusterPlace::own_start), bytes, shared.shared_room(bytes));
        place.cluster = member.map(|place| Box::new(Membership::new(place)));
        place.warps.clear();
        place.warps.extend_from_slice(warps);
        place.reductions.fill(Reduction::default());
        place.waits.clear();
        place.barriers_changed = false;
        // Accesses of other CTAs are not known here.
        let watch = shared.watch.as_ref().filter(|_| place.cluster.is_none());
        place.watch = watch.and_then(|watch| watch.start_cta(warps.len(), place.shared.bytes()));
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
            return cta.shared.window(address, 4).map(|w| w.words[w.word(address)]);
        }
        let window = shared.memory.window(address, 4, &Reader::default())?;
        Some(window.words[window.word(address)])
    }

    fn step(
        &mut self,
        shared: &DeviceState,
        slot: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        self.advance(Device::Frozen(shared), slot, context, out, |_| ())
    }

    fn step_with_values(
        &mut self,
        shared: &DeviceState,
        slot: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        values.columns.clear();
        self.advance(Device::Frozen(shared), slot, context, out, |warp| warp.read_operands(&mut values.columns))
    }

    /// At once, without a detour by what others have yet to see.
    fn step_alone(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        debug_assert!(self.own.overlay.is_empty() && self.waiting.is_empty(), "merged and exchanged");
        self.is_alone = true;
        self.take_shared(shared, slot);
        let done = self.advance(Device::Alone(shared), slot, context, out, |_| ());
        self.lend_shared(shared, slot);
        // Arrivals of other CTAs request no exchange, in which the warp would be woken.
        self.wants_peers |= out.at_mbarrier && self.waits_in_cluster();
        done
    }

    #[inline]
    fn merge(&mut self, shared: &mut DeviceState) {
        if !self.own.overlay.is_empty() || self.own.changed || self.watched != 0 {
            self.merge_own(shared);
        }
    }

    #[inline]
    fn waiting(&self) -> &[Cycle] {
        &self.cycles[self.next..]
    }

    fn exchange(&mut self, shared: &mut DeviceState) -> Result<Option<WarpSlot>, Box<Fault>> {
        let Some(Waiting { kind, seen }) = self.waiting.get_mut(self.next) else { return Ok(None) };
        let (kind, mut seen) = (*kind, seen.take());
        self.next += 1;
        let done = match kind {
            WaitingKind::Held(warp, pc, context, message) => {
                self.perform(shared, warp, (pc, message), context).map(|()| Some(warp))
            }
            WaitingKind::Refused(warp, pc, number) => {
                let what = std::mem::take(&mut self.refused[number]);
                Err(self.fault(shared, warp, pc, Trap { kind: FaultKind::IllegalInstruction, what, lanes: 1 }))
            }
            WaitingKind::Reduction(number) => {
                self.own.reductions[number].perform(&mut shared.memory, &self.reader);
                Ok(None)
            }
            WaitingKind::Arrival(number) => {
                let (place, arriving, message) = self.arrivals[number];
                let (of, arrival) = ((place.rank as u8, message), arriving.arrival());
                let mail = Mail { of, arrival, address: arriving.address.into(), pc: None };
                shared.clusters.post(place, arriving.rank, mail);
                Ok(None)
            }
        };
        let stray = self.reader.take_stray();
        if let Some(seen) = &mut seen {
            seen.stray = seen.stray.or(stray);
            self.see(shared, seen);
        }
        if self.next == self.waiting.len() {
            self.waiting.clear();
            self.cycles.clear();
            self.own.reductions.clear();
            self.arrivals.clear();
            self.refused.clear();
            self.next = 0;
        }
        done
    }

    fn transferred(&mut self, transfer: TransferId, now: Cycle) -> Option<Box<PeerAccesses>> {
        self.finish(transfer, now)
    }

    fn delivered(&mut self, to: ClusterMember, from: u8, message: MessageId, now: Cycle) {
        self.deliver(to, (from, message), now);
    }

    fn wants_peers(&self) -> bool {
        self.wants_peers
    }

    fn lend(&mut self, shared: &mut DeviceState) {
        self.lend_all(shared);
    }

    fn take_back(&mut self, shared: &mut DeviceState) {
        self.take_all_back(shared);
    }

    #[inline]
    fn take_woken(&mut self) -> Option<WarpSlot> {
        self.woken.pop_front()
    }

    fn describe_wait(&self, warp: WarpSlot) -> Option<String> {
        let Some((cta, wait)) = self.wait_of(warp) else { return self.describe_cluster_wait(warp) };
        Some(wait.describe(&cta.shared))
    }

    fn describe_polls(&self, shared: &DeviceState, warp: WarpSlot, done: &DynInst, most: usize) -> Vec<String> {
        self.polls(shared, warp, done, most).unwrap_or_default()
    }

    fn end_cta(&mut self, slot: CtaSlot) {
        for pending in self.transfers.iter_mut().filter(|pending| pending.cta == Some(slot.0)) {
            pending.cta = None;
        }
        if let Some(cluster) = &mut self.ctas[slot.index()].cluster {
            cluster.has_ended = true;
            self.wants_peers = true;
        }
        for warp in std::mem::take(&mut self.ctas[slot.index()].warps) {
            self.warps[warp.index()].kernel = None;
        }
    }
}

impl<'a> Parts<'a> {
    /// State that an instruction of a warp of `cta` of `launch` may access.
    #[inline(always)]
    fn environment(self, launch: &'a Launch, cta: &'a mut Cta, context: StepContext) -> Environment<'a> {
        let Self { memory, images, rest, clusters, launch: _, gpu } = self;
        let ends = if rest.is_some() { Ends::AtOnce } else { Ends::Later };
        Environment { memory, images, rest, cta, clusters, launch, gpu, context, ends }
    }
}

/// A fault in place of `done` if the next instruction does not exist: the timing model looks it up.
#[inline]
fn within(next: Option<Pc>, warp: &Warp, launch: &Launch, done: Outcome) -> Outcome {
    let is_beyond = next.is_some_and(|pc| pc.index() >= launch.kernel.code.len());
    if is_beyond && !matches!(done, Err(Stop::Trap(_))) {
        return Err(Trap::stop(FaultKind::InvalidPc, "execution ran past the end of the code", warp.active()));
    }
    done
}

impl LiveStream {
    /// Executes the next instruction of a warp. `before` sees the state before the instruction.
    #[inline(always)]
    fn advance(
        &mut self,
        mut device: Device<'_>,
        slot: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        before: impl FnOnce(&Warp),
    ) -> Result<(), Box<Fault>> {
        let Self { warps, ctas, own, reader, woken, .. } = self;
        let mut warp = &mut warps[slot.index()];
        if !warp.pending.is_empty() {
            finish_reduction(warps, ctas, slot);
            warp = &mut warps[slot.index()];
        }
        before(warp);
        (out.held, out.at_mbarrier, out.peers) = (false, false, None);
        let reductions = own.reductions.len();
        let mut parts = match &mut device {
            Device::Frozen(state) => state.frozen(warp.launch, own, reader),
            Device::Alone(state) => state.alone(warp.launch, reader),
        };
        // A launch exists as long as its CTAs are resident.
        let Some(launch) = parts.launch else { return Ok(()) };
        let cta = warp.cta as usize;
        let often = if warp.way == Way::Ptx {
            execute_often(
                warp,
                launch,
                || (parts.memory.reborrow(), &mut ctas[cta], parts.clusters.as_deref_mut()),
                out,
            )
            .map(Some)
        } else {
            Ok(None)
        };
        let done = match often {
            Ok(Some(Done::Executed)) => {
                out.next_pc = warp.stack.pc().map(Pc);
                return Ok(());
            }
            Err(stop) => Err(stop),
            Ok(left) => {
                let mut env = parts.environment(launch, &mut ctas[cta], context);
                match left {
                    Some(Done::Left(op, mask)) => execute_rarely(op, warp, mask, &mut env, out),
                    _ if warp.way == Way::MachineCode => machine::execute(warp, &launch.kernel, &mut env, out),
                    _ => execute_watched(warp, &mut env, out),
                }
            }
        };
        let is_watched = warp.way == Way::Watched;
        out.next_pc = warp.pc().map(Pc);
        let done = within(out.next_pc, warp, launch, done);
        if ctas[cta].barriers_changed {
            wake(warps, &mut ctas[cta], woken);
        }
        if let Some(started) = ctas[cta].started.take() {
            self.begin(cta as u16, started, context.now, out);
        }
        if done.is_ok() && !is_watched && self.own.reductions.len() == reductions {
            return Ok(());
        }
        self.settle(device, (slot, is_watched), context, out, (done, reductions))
    }

    /// The end of an instruction that has faulted, waits for the exchange, or is watched. There were `reductions`
    /// before it.
    #[cold]
    #[inline(never)]
    fn settle(
        &mut self,
        device: Device<'_>,
        (slot, is_watched): (WarpSlot, bool),
        context: StepContext,
        out: &mut DynInst,
        (done, reductions): (Outcome, usize),
    ) -> Result<(), Box<Fault>> {
        let kind = match done {
            Ok(()) if self.own.reductions.len() > reductions => Some(WaitingKind::Reduction(reductions)),
            Ok(()) => None,
            Err(Stop::Deferred) => {
                out.held = true;
                let message = self.new_message();
                if let Some(cluster) = &self.ctas[self.warps[slot.index()].cta as usize].cluster {
                    self.wants_peers = true;
                    out.peers = Self::peers_of(cluster.place, out, message);
                }
                Some(WaitingKind::Held(slot, out.pc, context, message))
            }
            Err(Stop::AtCluster) => {
                (out.held, out.at_mbarrier, self.wants_peers) = (true, true, true);
                self.at_cluster.push(slot);
                None
            }
            Err(Stop::Trap(trap)) => {
                let state = match &device {
                    Device::Frozen(state) => state,
                    Device::Alone(state) => &**state,
                };
                return Err(self.fault(state, slot, out.pc, *trap));
            }
        };
        let mut seen = None;
        if is_watched {
            let state = match &device {
                Device::Frozen(state) => state,
                Device::Alone(state) => &**state,
            };
            let reports = state.memory.out_of_bounds() == OutOfBounds::Warn;
            let cta = &self.ctas[self.warps[slot.index()].cta as usize];
            let beyond = cta.shared.take_stray().map(|address| SHARED_WINDOW + address);
            let stray = self.reader.take_stray().or(beyond.filter(|_| reports));
            let has_more = stray.is_some() || cta.watch.is_some();
            seen = has_more.then(|| Seen { warp: slot, stray, out: out.clone() });
        }
        match (device, kind) {
            (Device::Alone(state), _) => {
                if let Some(watch) = &mut state.watch {
                    watch.count(is_watched.into());
                }
                if let Some(seen) = &seen {
                    self.see(state, seen);
                }
            }
            (Device::Frozen(_), Some(kind)) => {
                self.watched += u64::from(is_watched);
                self.waiting.push(Waiting { kind, seen: seen.map(Box::new) });
                self.cycles.push(context.now);
                if matches!(kind, WaitingKind::Reduction(_)) {
                    // Of a bulk reduction or a vector there are several.
                    for more in reductions + 1..self.own.reductions.len() {
                        self.waiting.push(Waiting { kind: WaitingKind::Reduction(more), seen: None });
                        self.cycles.push(context.now);
                    }
                }
            }
            (Device::Frozen(_), None) => {
                self.watched += u64::from(is_watched);
                self.seen.extend(seen);
            }
        }
        Ok(())
    }

    /// Hands over what others have yet to see.
    fn merge_own(&mut self, shared: &mut DeviceState) {
        let Self { own, reader, .. } = self;
        for line in own.overlay.lines() {
            shared.memory.merge(line.address, line.written, &line.words, reader);
        }
        own.overlay.clear();
        if std::mem::take(&mut own.changed) {
            shared.memory.note_change();
        }
        if let Some(watch) = &mut shared.watch {
            // Accesses outside allocations were noted when they happened.
            reader.take_stray();
            watch.count(std::mem::take(&mut self.watched));
            let mut seen = std::mem::take(&mut self.seen);
            seen.drain(..).for_each(|seen| self.see(shared, &seen));
            self.seen = seen;
        }
    }

    /// Checks an instruction.
    fn see(&mut self, shared: &mut DeviceState, seen: &Seen) {
        let warp = &self.warps[seen.warp.index()];
        let cta = &mut self.ctas[warp.cta as usize];
        let position = cta.position;
        shared.see(warp, position, &seen.out, (seen.stray, cta.watch.as_deref_mut()));
    }

    /// Performs what waits of the instruction at `pc`.
    fn perform(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        (pc, message): (Pc, MessageId),
        context: StepContext,
    ) -> Result<(), Box<Fault>> {
        let was_lent = self.take_shared(shared, slot);
        let Self { warps, ctas, reader, unused, .. } = self;
        let warp = &mut warps[slot.index()];
        let cta = &mut ctas[warp.cta as usize];
        // The timing model delivers accesses only: other arrivals at barriers take effect at once.
        let is_access = |launch: &Launch| launch.kernel.program.insts()[pc.index()].traits.mem.is_some();
        let cluster = cta.cluster.as_ref().filter(|_| shared.launch(warp.launch).is_some_and(is_access));
        shared.clusters.sending = cluster.map(|cluster| (cluster.place.rank as u8, message));
        let parts = shared.alone(warp.launch, reader);
        let Some(launch) = parts.launch else { return Ok(()) };
        let mut env = parts.environment(launch, cta, context);
        env.ends = Ends::Started;
        let kernel = &launch.kernel;
        unused.pc = pc;
        let done = if warp.is_machine_code {
            machine::resume(warp, kernel, &mut env, unused)
        } else {
            resume(warp, kernel, &mut env, unused)
        };
        shared.clusters.sending = None;
        self.wake(CtaSlot(self.warps[slot.index()].cta));
        if was_lent {
            self.lend_shared(shared, slot);
        }
        match done {
            // With the device for itself nothing waits.
            Ok(()) | Err(Stop::Deferred | Stop::AtCluster) => Ok(()),
            Err(Stop::Trap(trap)) => Err(self.fault(shared, slot, pc, *trap)),
        }
    }

    /// Adds the place and the thread to a trap.
    #[cold]
    fn fault(&self, state: &DeviceState, slot: WarpSlot, pc: Pc, trap: Trap) -> Box<Fault> {
        let Trap { kind, what, lanes } = trap;
        let warp = &self.warps[slot.index()];
        let lane = (lanes.trailing_zeros() as usize).min(31);
        let spot = state.launch(warp.launch).map_or_else(SourceSpot::default, |launch| spot(&launch.kernel, pc));
        let cta = self.ctas[warp.cta as usize].position;
        Box::new(Fault { kind, what, spot, cta, thread: warp.thread(lane), lanes })
    }
}

/// Executes the next instruction of a warp, which is checked later.
#[cold]
#[inline(never)]
fn execute_watched(warp: &mut Warp, env: &mut Environment<'_>, out: &mut DynInst) -> Outcome {
    let kernel = &env.launch.kernel;
    if warp.is_machine_code { machine::execute(warp, kernel, env, out) } else { execute(warp, env, out) }
}
