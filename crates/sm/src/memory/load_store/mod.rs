//! The load/store unit, the memory stage of all designs but the limit study's.
//!
//! ```text
//!  OC_EX ─► dispatch register ─┬─► shared memory pipe ──────────────┐
//!                              ├─► constant, texture cache ─────────┤
//!                              ├─► L1 look-up queues ─► L1 ─► MSHRs ┼─► write-back register ─► RF
//!                              └─► (bypass) ─► port ─► next global ─┘
//! ```
//! Follows GPGPU-Sim's `ldst_unit`, in its order within a cycle: the write-back register writes
//! the register file and takes the next client's result in turn; one reply is taken from the
//! memory; caches send one miss each; L1 look-ups that have waited out the latency are done; the
//! instruction in the dispatch register goes on; the next one comes from OC_EX. A load whose last
//! access hits in L1 releases its registers in that cycle, without the write-back register.
//!
//! - D-LS1: write-backs of dirty lines and passed-on writes share the caches' one request per cycle.
//! - D-LS2: an access that fails in L1 is tried again when the cache has changed, not every cycle; one that
//!   lacks an MSHR when one is free.
//! - D-LS3: a store is performed when every transaction's acknowledgement is back, and fences wait
//!   for that unless [`config::Issue::fences_wait_for`] is `registers`, as in GPGPU-Sim.
//! - D-LS4: an asynchronous copy is a load without registers; writing shared memory takes no time.
//! - D-LS5: reductions without a result get replies like atomics.
//! - D-LS6: a texture read that filters touches two texels per lane, diagonally across, of the four or
//!   eight that it blends. Filtering itself takes no time.
//! - D-LS7: the result of a constant load of machine code comes when it would from another unit: its hit takes the
//!   latency of its class, or its own, and a cycle for each further pass.
//! - D-LS8: a miss of such a load on sub-cores ([`Constants::of_sub_cores`]) goes through the port to the cache of the GPC,
//!   and not to the SM's cache of instructions and constants, which constant operands come from.

mod cached;
mod constant_moves;
mod constants;
mod dispatch;
mod global;
mod l1;
mod shared;

use super::{MemoryCounters, MemoryStage, MemoryWires};
use crate::execute::latches::Latches;
use crate::execute::write_back::WriteBack;
use crate::inflight::{InFlight, InstId};
use crate::issue::policy::IssuePolicy;
use crate::kernel::ResidentKernel;
use crate::memory::copy_engine::TOKEN_ENGINE;
use crate::observe::observer::{Accessed, Observer, Seen};
use crate::operands::OperandStage;
use crate::outbox::{Client, Outbox};
use crate::spec::CoreSpec;
use crate::state::State;
use crate::warps::mask::WarpMask;
use constant_moves::ConstantMoves;
pub(super) use constants::Constants;
use dispatch::{Dispatch, Path, Sending};
use isa::{Access, DynInst, KernelId, PeerAccesses, Space, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist, each, part};
use kit::{Cycle, NEVER};
use l1::L1;
use mem::cache::CacheCounters;
use mem::carveout::carve_out;
use mem::coalesce::Transactions;
use mem::{Cache, Port, Request, RequestKind};
use shared::SharedPipe;
use std::collections::VecDeque;

/// Marks the token of an access that bypasses L1: the rest is the instruction's id.
pub(crate) const TOKEN_BYPASS: u32 = 1 << 31;

/// Whether `reply` is to a request of the copy engine.
#[inline]
pub(crate) fn is_of_engine(reply: &Request) -> bool {
    let kind = matches!(reply.kind, RequestKind::Read | RequestKind::Write | RequestKind::Atomic);
    kind && reply.token & (TOKEN_ENGINE | TOKEN_BYPASS) == TOKEN_ENGINE
}

/// Clients of the write-back register, in turn: shared memory, textures, constants, what bypassed L1,
/// L1, shared memory of other CTAs.
const CLIENTS: u32 = 6;
/// The last of them.
const OF_PEERS: u32 = CLIENTS - 1;

/// Cycles that accesses to shared memory and others spend before they come to the unit. They are in the latencies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub shared: u32,
    pub others: u32,
}

/// The load/store unit: the usual [`MemoryStage`].
#[derive(Debug)]
pub struct LoadStoreUnit {
    dispatch: Option<Dispatch>,
    /// Transactions of the instruction in the dispatch register, if its path has any.
    transactions: Transactions,
    sending: Sending,
    shared: SharedPipe,
    /// Other CTAs whose shared memory the instruction in the dispatch register accesses.
    peers: Option<Box<PeerAccesses>>,
    /// Accesses to other CTAs that have all their replies.
    from_peers: VecDeque<InstId>,
    /// L1 data cache with its look-up queues; absent if the GPU has none.
    l1: Option<L1>,
    constants: Constants,
    constant_moves: ConstantMoves,
    /// Texture cache, which every GPU has.
    texture: Cache,
    /// A reply to an access that bypassed L1.
    next_global: Option<InstId>,
    /// The result that writes the register file next.
    write_back: Option<InstId>,
    /// The client served last.
    last_client: u32,
    /// A cache may have a request to send.
    may_send: bool,
    /// A client other than shared memory may have a result.
    may_have_result: bool,
    /// The kernel of which a CTA came last.
    last_kernel: Option<KernelId>,
}

impl MemoryStage for LoadStoreUnit {
    fn new(spec: &CoreSpec) -> Self {
        Self::after(spec, Spent::default(), Constants::of(spec))
    }

    #[inline(always)]
    fn has_work(&self, now: Cycle, access_waits: bool) -> bool {
        self.write_back.is_some()
            || self.may_have_result
            || self.shared.next_result().min(self.constant_moves.next()) <= now
            || self.dispatch.as_ref().map_or(access_waits, |dispatch| dispatch.ready_at <= now)
            || self.l1.as_ref().is_some_and(|l1| l1.has_lookups(now))
    }

    fn next_event(&self, from: Cycle) -> Cycle {
        // An access that has been ready waits for something else.
        let waits = self.dispatch.as_ref().filter(|dispatch| dispatch.ready_at >= from);
        let access = waits.map_or(NEVER, |dispatch| dispatch.ready_at);
        let lookup = self.l1.as_ref().map_or(NEVER, L1::next_lookup);
        self.shared.next_result().min(self.constant_moves.next()).min(access).min(lookup)
    }

    /// The write-back register: its result is written, the next client's comes in.
    #[inline(always)]
    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        let now = wb.tick.now;
        while self.constant_moves.next() <= now
            && let Some(id) = self.constant_moves.take(now)
        {
            wb.end(id, self.write_back.is_some());
        }
        if let Some(id) = self.write_back {
            if wb.try_write_registers(id) {
                self.write_back = None;
                // Most instructions are completed here, without the call.
                let flight = wb.state.slab.get_mut(id);
                flight.pending -= 1;
                if flight.pending == 0 {
                    wb.complete(id);
                }
                wb.state.wake_up.moved();
            } else {
                wb.state.wake_up.at(now + 1);
                return;
            }
        }
        if self.may_have_result {
            self.take_turns(wb);
        } else if self.shared.next_result() <= now {
            self.take_from_client(wb, 0);
        }
    }

    fn receive<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        reply: &Request,
    ) -> Cycle {
        let now = wb.tick.now;
        let (may_send, may_have_result) = (&mut self.may_send, &mut self.may_have_result);
        let mut fill = |cache: &mut Cache| {
            if !cache.fill_port_free(now) {
                return cache.fill_port_free_at();
            }
            cache.fill_from(now, reply.token, reply.from);
            *may_have_result = true;
            // A line that had to go may have to be written back.
            *may_send |= cache.peek_miss().is_some();
            now
        };
        match reply.kind {
            RequestKind::Write => {
                wb.performed(WarpSlot(reply.token as u16));
                now
            }
            RequestKind::Constant => self.constants.cache.as_mut().map_or(now, fill),
            RequestKind::Texture => fill(&mut self.texture),
            RequestKind::Read if reply.token & TOKEN_BYPASS == 0 => {
                self.l1.as_mut().map_or(now, |l1| fill(&mut l1.cache))
            }
            RequestKind::Read | RequestKind::Atomic => {
                if self.next_global.is_some() {
                    // The write-back register takes it first, which is a movement of its own.
                    return NEVER;
                }
                let id = InstId((reply.token & !TOKEN_BYPASS) as u16);
                wb.served(id, reply.from);
                self.next_global = Some(id);
                self.may_have_result = true;
                now
            }
            RequestKind::WriteBack | RequestKind::Instruction => now,
        }
    }

    fn receive_from_peers(&mut self, id: InstId) {
        self.from_peers.push_back(id);
        self.may_have_result = true;
    }

    #[inline(always)]
    fn step<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        wires: &mut MemoryWires<'_>,
    ) {
        self.look_up_l1(wb);
        if self.dispatch.is_some() {
            self.go_on(wb, wires.port);
        }
        if self.dispatch.is_none() && wires.oc_ex.waiting_for_memory() != 0 {
            self.accept_access(wb, wires.oc_ex);
        }
    }

    fn is_idle(&self) -> bool {
        let registers = self.dispatch.is_none() && self.write_back.is_none() && self.next_global.is_none();
        registers
            && self.constant_moves.is_idle()
            && self.l1.as_ref().is_none_or(L1::is_idle)
            && self.constants.cache.as_ref().is_none_or(Cache::is_idle)
            && self.texture.is_idle()
    }

    #[inline]
    fn is_writing_back(&self) -> bool {
        self.write_back.is_some()
    }

    /// An SM without any other kernel gives L1 what shared memory leaves.
    fn prepare_kernel(&mut self, spec: &CoreSpec, (id, kernel): (KernelId, &ResidentKernel), alone: bool) {
        let l1d = &spec.sm.l1d;
        if self.last_kernel.replace(id) == Some(id) || !alone {
            return;
        }
        self.constants.begin_kernel();
        if l1d.shared_carveouts_bytes.is_empty() {
            return;
        }
        if let Some(l1) = self.l1.as_mut().filter(|l1| l1.is_idle()) {
            l1.reshape(l1d, &carve_out(l1d, kernel.shape.shared_bytes * kernel.ctas_per_sm).l1);
        }
    }

    fn invalidate_l1(&mut self) {
        if let Some(l1) = &mut self.l1 {
            l1.invalidate();
            self.may_send = true;
        }
    }

    fn counters(&self) -> MemoryCounters {
        MemoryCounters {
            l1d: self.l1.as_ref().map_or_else(CacheCounters::default, L1::counters),
            constant: self.constants.counters(),
            texture: self.texture.counters().clone(),
        }
    }

    fn persist(&mut self, spec: &CoreSpec, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self {
            dispatch,
            transactions: _,
            sending: _,
            shared: _,
            peers: _,
            from_peers: _,
            l1,
            constants,
            constant_moves,
            texture,
            next_global,
            write_back,
            ..
        } = self;
        if dispatch.is_some() || next_global.is_some() || write_back.is_some() || !constant_moves.is_idle() {
            return Err(Mismatch::new("an access is in the load/store unit"));
        }
        if let Some(l1) = l1 {
            l1.persist(&spec.sm.l1d, archive)?;
        }
        part(&mut constants.cache, archive)?;
        texture.persist(archive)?;
        let Self { last_client, may_send, may_have_result, last_kernel, .. } = self;
        last_client.persist(archive)?;
        each([may_send, may_have_result], archive)?;
        last_kernel.persist(archive)
    }
}

impl Client for LoadStoreUnit {
    #[inline]
    fn may_send(&self) -> bool {
        self.may_send
    }

    #[inline(always)]
    fn send(&mut self, outbox: &mut Outbox<'_>) {
        let mut send = |cache: Option<&mut Cache>| cache.is_some_and(|cache| outbox.send_miss(cache));
        let l1 = self.l1.as_mut().map(|l1| &mut l1.cache);
        self.may_send = send(Some(&mut self.texture)) | send(self.constants.cache.as_mut()) | send(l1);
    }
}

impl LoadStoreUnit {
    /// The unit of an SM of `spec` to which accesses come later than instructions to other units.
    pub(super) fn after(spec: &CoreSpec, spent: Spent, constants: Constants) -> Self {
        Self {
            dispatch: None,
            transactions: Transactions::new(),
            sending: Sending::new(),
            shared: SharedPipe::new(spec, spent.shared),
            peers: None,
            from_peers: VecDeque::new(),
            l1: L1::new(&spec.sm.l1d, spent.others),
            constants,
            constant_moves: ConstantMoves::new(spec, spent.others.into()),
            texture: Cache::new(&spec.sm.texture_cache),
            next_global: None,
            write_back: None,
            last_client: CLIENTS - 1,
            may_send: false,
            may_have_result: false,
            last_kernel: None,
        }
    }

    /// The clients that may have a result for the write-back register, one bit each.
    #[inline]
    fn clients_with_results(&mut self, now: Cycle) -> u32 {
        let shared = u32::from(self.shared.next_result() <= now);
        let others = u32::from(self.texture.has_ready()) << 1
            | u32::from(self.constants.cache.as_ref().is_some_and(Cache::has_ready)) << 2
            | u32::from(self.next_global.is_some()) << 3
            | u32::from(self.l1.as_ref().is_some_and(|l1| l1.cache.has_ready())) << 4
            | u32::from(!self.from_peers.is_empty()) << OF_PEERS;
        self.may_have_result = others != 0;
        shared | others
    }

    /// The next client that has a result.
    #[inline(always)]
    fn take_turns<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        let mut clients = self.clients_with_results(wb.tick.now);
        while clients != 0 {
            // In turn: those after the one served last, then the others.
            let behind = clients & u32::MAX << 1 << self.last_client;
            let client = if behind == 0 { clients } else { behind }.trailing_zeros();
            clients &= !(1 << client);
            if self.take_from_client(wb, client) {
                return;
            }
        }
    }

    /// The result of `client`, if it has one, comes into the write-back register. Whether it did.
    #[inline(always)]
    fn take_from_client<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        client: u32,
    ) -> bool {
        let result = match client {
            0 => self.shared.take(),
            1 => self.texture.pop_ready().map(|w| InstId(w.token as u16)),
            2 => self.constants.cache.as_mut().and_then(Cache::pop_ready).map(|w| InstId(w.token as u16)),
            3 => self.next_global.take(),
            OF_PEERS => self.from_peers.pop_front(),
            _ => self.take_from_l1(&mut wb.reborrow()),
        };
        let Some(id) = result else { return false };
        // As in GPGPU-Sim, an atomic on shared memory is over when its result leaves the pipe.
        if matches!(client, 0 | OF_PEERS) {
            wb.state.end_atomic(id);
        }
        self.write_back = Some(id);
        self.last_client = client;
        wb.state.wake_up.moved();
        true
    }

    /// One access of `id` has returned with its data; with the last one the instruction is complete.
    #[inline(always)]
    fn access_returned<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        id: InstId,
    ) {
        let flight = wb.state.slab.get_mut(id);
        flight.pending -= 1;
        if flight.pending == 0 {
            wb.complete(id);
        }
    }

    /// The instruction in the dispatch register goes on as far as it can.
    #[inline(always)]
    fn go_on<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        port: &mut Port,
    ) {
        let now = wb.tick.now;
        let Some(&Dispatch { id, path, is_store, ready_at, accepted_at, .. }) = self.dispatch.as_ref() else { return };
        if ready_at > now || path == Path::Shared && self.is_held(wb.state, now) {
            return;
        }
        // Whether it leaves the register, and whether it is complete with that if it has no access under way.
        let (leaves, may_be_complete) = match path {
            Path::Peers => (self.go_on_to_peers(wb.state, now), is_store),
            Path::Shared => (is_store || self.shared.enter(now, id, &mut wb.state.slab), is_store),
            Path::Constant | Path::Texture => (self.go_on_cached(wb.state, now), true),
            // Where L1 holds an access after its last look-up has begun, its data may have come: it is complete by now.
            Path::L1 => (self.go_on_l1(wb.state, now), is_store || self.sending.sent == 0),
            Path::Bypass => (self.go_on_bypass(wb.state, now, port), true),
            Path::None => (true, true),
        };
        if !leaves {
            return;
        }
        self.dispatch = None;
        wb.state.wake_up.moved();
        wb.state.counters.memory_stall_cycles += now - accepted_at - 1;
        if !may_be_complete || wb.state.slab.get(id).pending != 0 {
            return;
        }
        if !wb.state.slab.get(id).is_constant_move() {
            wb.complete(id);
        } else if !self.constant_moves.enter(now, id, &wb.state.slab) {
            wb.end(id, false);
        }
    }

    /// Whether the access to shared memory in the dispatch register waits for tensor cores that have begun to read since
    /// it came.
    #[inline]
    fn is_held<M: WarpMask>(&mut self, state: &State<M>, now: Cycle) -> bool {
        let Some(dispatch) = self.dispatch.as_mut().filter(|dispatch| dispatch.path != Path::Peers) else {
            return false;
        };
        dispatch.ready_at += state.wavefronts.delay(&mut dispatch.held);
        dispatch.ready_at > now
    }

    /// The instruction in the dispatch register leaves for the shared memory of other CTAs.
    #[cold]
    fn go_on_to_peers<M: WarpMask>(&mut self, state: &mut State<M>, now: Cycle) -> bool {
        let (Some(accesses), Some(dispatch)) = (self.peers.take(), &self.dispatch) else { return true };
        let flight = state.slab.get_mut(dispatch.id);
        let access = flight.mem.map_or(Access::Load, |mem| mem.access);
        flight.pending = u16::from(!dispatch.is_store);
        let warp = flight.warp;
        let sent = state.peers.send(now, (dispatch.id, warp), access, &accesses);
        if dispatch.is_store {
            state.warps.outstanding[warp.index()] += sent;
        }
        state.counters.peer_accesses += 1;
        state.counters.peer_bytes += accesses.to.iter().map(|&(_, bytes)| u64::from(bytes)).sum::<u64>();
        true
    }

    /// The oldest instruction in OC_EX comes into the dispatch register.
    #[inline(always)]
    fn accept_access<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        oc_ex: &mut Latches,
    ) {
        let now = wb.tick.now;
        let id = wb.begin_access(oc_ex);
        let State { slab, spec, counters, wavefronts, .. } = &mut *wb.state;
        let (flight, dynamic) = (slab.get(id), slab.dynamic(id));
        let path = self.path(spec, flight, dynamic);
        let record = flight.record;
        let mut dispatch = Dispatch {
            id,
            path,
            is_store: flight.mem.is_some_and(|m| m.access == Access::Store),
            ready_at: now + 1,
            accepted_at: now,
            held: wavefronts.held(),
        };
        match path {
            Path::Shared => dispatch.begin_shared(now.max(wavefronts.until()), (flight, dynamic), spec, counters),
            Path::Peers => self.peers = slab.record_mut(record).peers.take(),
            Path::Constant | Path::Texture => self.begin_cached(wb.state, &mut dispatch),
            Path::L1 | Path::Bypass => self.begin_global(wb.state, (now, wb.tick.kernels), &dispatch),
            Path::None => {}
        }
        self.dispatch = Some(dispatch);
        if path != Path::None && wb.tick.observer.watches_details() {
            let flight = wb.state.slab.get(id);
            let bytes = flight.mask.count_ones() * flight.mem.map_or(0, |mem| u32::from(mem.bytes));
            let needed = shared::cycles_needed(bytes, &wb.state.spec.sm.shared);
            let accessed = self.accessed(now, path, needed);
            let window = wb.state.window(wb.tick.kernels);
            wb.tick.observer.accessed(now, Seen { id, window }, accessed);
        }
    }

    /// Parts of the access that has just come into the dispatch register, which in shared memory needs at least `needed`
    /// passes.
    #[cold]
    fn accessed(&self, now: Cycle, path: Path, needed: u32) -> Accessed {
        let ready_at = self.dispatch.map_or(now + 1, |dispatch| dispatch.ready_at);
        let conflict_cycles = ready_at.saturating_sub(now + 1) as u32;
        match path {
            Path::Shared | Path::Peers => {
                let passes = 1 + conflict_cycles;
                let excess_passes = passes.saturating_sub(needed);
                Accessed { transactions: passes, conflict_cycles, excess_passes, ..Accessed::default() }
            }
            Path::Constant if self.constants.cache.is_none() => {
                Accessed { transactions: 1, conflict_cycles, ..Accessed::default() }
            }
            _ => Accessed {
                transactions: self.transactions.len() as u32,
                bytes: self.transactions.iter().map(|transaction| transaction.bytes).sum(),
                conflict_cycles,
                excess_passes: 0,
            },
        }
    }

    /// Where an access goes.
    #[inline(always)]
    fn path(&self, spec: &CoreSpec, flight: &InFlight, dynamic: &DynInst) -> Path {
        let Some(mem) = flight.mem else { return Path::None };
        if flight.mask == 0 {
            return Path::None;
        }
        // The stream resolves generic accesses; all others have their static space.
        let space = if mem.space == Space::Generic { dynamic.space } else { mem.space };
        match space {
            Space::Shared if mem.access != Access::AsyncCopy => {
                if dynamic.peers.is_some() {
                    Path::Peers
                } else {
                    Path::Shared
                }
            }
            Space::Constant | Space::Param => Path::Constant,
            // Since Maxwell textures are read through L1.
            Space::Texture if spec.sm_version >= 50 => self.path_by_l1(spec, mem, false),
            Space::Texture => Path::Texture,
            Space::Local => self.path_by_l1(spec, mem, true),
            Space::Global | Space::Generic | Space::Shared => self.path_by_l1(spec, mem, false),
        }
    }

    #[inline(always)]
    fn path_by_l1(&self, spec: &CoreSpec, mem: isa::MemAccess, local: bool) -> Path {
        let atomic = matches!(mem.access, Access::Atomic | Access::Reduction);
        let past_l1 = matches!(mem.cache, isa::CacheOp::L2 | isa::CacheOp::Volatile) && !local;
        let skipped = spec.sm.l1d.skip_global && !local;
        if atomic || past_l1 || skipped || self.l1.is_none() { Path::Bypass } else { Path::L1 }
    }
}
