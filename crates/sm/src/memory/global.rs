//! Global and local memory: coalescing, the L1's look-up queues, accesses that bypass L1.

use super::{Dispatch, LoadStoreUnit, Path, TOKEN_BYPASS};
use crate::design::CoreDesign;
use crate::execute::write_back::WriteBack;
use crate::inflight::InstId;
use crate::kernel::ResidentKernel;
use crate::observe::observer::{Level, Observer};
use crate::state::State;
use crate::warps::mask::WarpMask;
use config::{L1Data, LookUpOrder};
use isa::{Access, Space, WarpSlot};
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist, each};
use kit::{Counters, Cycle, NEVER, Ring};
use mem::cache::{Answer, CacheCounters, CacheOutcome, Refusal};
use mem::carveout::carve_out;
use mem::coalesce::{Granularity, Transaction};
use mem::{Cache, Port, Request, RequestKind};

/// A shift that leaves nothing of an address.
const NO_BITS: u32 = 63;

/// L1 data cache after its look-up queues: one queue per bank, each taking one access per cycle,
/// whose look-up is done when the latency has passed.
#[derive(Debug)]
pub struct L1 {
    /// Tags, MSHRs and miss queue.
    pub cache: Cache,
    /// The description that it was made from.
    shape: config::Cache,
    /// What it did in former shapes.
    former: CacheCounters,
    queues: Box<[LookUps]>,
    /// Banks whose queues are not empty, and those whose queues are full.
    waiting: u64,
    full: u64,
    /// No front access but those that have failed is due before.
    next_due: Cycle,
    /// Some front access has failed: the one that may first succeed.
    failure: Option<Refusal>,
    latency: Cycle,
    interleave: u64,
    /// Where in an address the bank's number stands, if it does: shift and mask.
    bank_bits: Option<(u32, usize)>,
    /// Shift to the bits that the bank's number is hashed with: those of the line, or none.
    hash_shift: u32,
    /// Each bank takes the next part of an access that is its own.
    by_bank: bool,
    /// Bytes to or from lanes per cycle.
    width: u32,
}

#[derive(Debug)]
struct LookUps {
    /// When the front access has waited out the latency; [`NEVER`] without one.
    due: Cycle,
    accesses: Ring<(Cycle, Request)>,
    /// The front access has failed.
    failure: Option<Refusal>,
}

impl L1 {
    /// Whether an access waits to be looked up at `now`, or has failed.
    #[inline(always)]
    pub(super) fn has_lookups(&self, now: Cycle) -> bool {
        self.next_due <= now || self.failure.is_some()
    }

    /// When the next access has waited out the latency.
    pub(super) fn next_lookup(&self) -> Cycle {
        self.next_due
    }

    /// The L1 that the description gives; none if it has no lines.
    pub fn new(config: &L1Data) -> Option<Self> {
        if config.cache.sets == 0 || config.cache.ways == 0 {
            return None;
        }
        let latency = config.latency_cycles.max(1);
        let (banks, interleave) = (config.banks.clamp(1, 64), config.bank_interleave_bytes.max(1));
        let queue = || LookUps { due: NEVER, accesses: Ring::new(), failure: None };
        // Where kernels choose its size, the first one does.
        let chosen = !config.shared_carveouts_bytes.is_empty();
        let shape =
            if chosen { config::Cache { sets: 1, ways: 1, ..config.cache.clone() } } else { config.cache.clone() };
        Some(Self {
            cache: Cache::with_dirty_limit(&shape, config.write_ratio_percent),
            shape,
            former: CacheCounters::default(),
            queues: (0..banks).map(|_| queue()).collect(),
            waiting: 0,
            full: 0,
            next_due: NEVER,
            failure: None,
            latency: Cycle::from(latency),
            interleave: u64::from(interleave),
            bank_bits: (banks.is_power_of_two() && interleave.is_power_of_two())
                .then(|| (interleave.trailing_zeros(), banks as usize - 1)),
            hash_shift: if config.bank_hash == Some(true) { config.cache.line_bytes.trailing_zeros() } else { NO_BITS },
            by_bank: config.look_up_order == Some(LookUpOrder::Bank),
            width: config.bytes_per_cycle.unwrap_or(u32::MAX),
        })
    }

    #[inline]
    fn bank(&self, address: u64) -> usize {
        let hash = address >> self.hash_shift;
        match self.bank_bits {
            Some((shift, mask)) => ((address >> shift) ^ hash) as usize & mask,
            None => (((address / self.interleave) ^ hash) % self.queues.len() as u64) as usize,
        }
    }

    /// Puts an access into the queue of its bank, which has room.
    #[inline]
    fn push(&mut self, now: Cycle, bank: usize, request: Request) {
        let queue = &mut self.queues[bank];
        if queue.accesses.is_empty() {
            queue.due = now + self.latency;
            self.next_due = self.next_due.min(queue.due);
        }
        queue.accesses.push_back((now + self.latency, request));
        self.waiting |= 1 << bank;
        self.full |= u64::from(queue.accesses.len() as Cycle == self.latency) << bank;
    }

    /// A front access cannot be taken.
    fn note(&mut self, failure: Refusal) {
        // One that waits for anything but an MSHR may succeed at any change.
        if self.failure.is_none_or(|other| other.waits_for_mshr()) {
            self.failure = Some(failure);
        }
    }

    /// Gives the idle cache another size, if `shape` differs. Its contents are lost.
    pub fn reshape(&mut self, config: &L1Data, shape: &config::Cache) {
        if self.shape != *shape {
            self.former.add(self.cache.counters());
            self.cache = Cache::with_dirty_limit(shape, config.write_ratio_percent);
            self.shape = shape.clone();
            self.queues.iter_mut().for_each(|q| q.failure = None);
            self.failure = None;
        }
    }

    /// The L1 between kernels, in the shape that the last kernel chose.
    ///
    /// # Errors
    /// As [`Persist::persist`].
    pub fn persist(&mut self, config: &L1Data, archive: &mut Archive) -> Result<(), Mismatch> {
        // The shapes are those of the description: which one it is.
        let bytes = config.shared_carveouts_bytes.iter().copied().chain([0, u32::MAX]);
        let shapes: Vec<_> = bytes.map(|bytes| carve_out(config, bytes).l1).collect();
        let mut shape = shapes.iter().position(|shape| *shape == self.shape);
        shape.persist(archive)?;
        if archive.is_reading()
            && let Some(shape) = shape
        {
            let shape = shapes.get(shape).ok_or_else(|| archive.wrong("no shape of L1"))?;
            self.reshape(config, shape);
        }
        let Self { cache, shape: _, former, queues, waiting, full, next_due, failure, .. } = self;
        cache.persist(archive)?;
        former.persist(archive)?;
        each(queues, archive)?;
        waiting.persist(archive)?;
        full.persist(archive)?;
        next_due.persist(archive)?;
        failure.persist(archive)
    }

    /// What the cache has done, in all its shapes.
    pub fn counters(&self) -> CacheCounters {
        let mut all = self.former.clone();
        all.add(self.cache.counters());
        all
    }

    /// Whether nothing is in the queues or under way.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.cache.is_idle()
    }
}

impl Dispatch {
    /// The request for one of its transactions.
    #[inline]
    fn request(&self, transaction: &Transaction) -> Request {
        transaction.request(self.kind, self.local, self.token)
    }

    /// Notes that `count` of its transactions have gone.
    #[inline]
    fn has_sent<M: WarpMask>(&self, state: &mut State<M>, count: usize) {
        state.wake_up.moved();
        if self.is_store {
            let warp = state.slab.get(self.id).warp;
            state.warps.outstanding[warp.index()] += count as u32;
        }
    }
}

impl LoadStoreUnit {
    /// Coalesces an access to global or local memory, and says how long it takes the data path of L1.
    pub(super) fn begin_global<M: WarpMask>(
        &mut self,
        state: &mut State<M>,
        (now, kernels): (Cycle, &[ResidentKernel]),
        dispatch: &mut Dispatch,
    ) {
        let (id, bypass) = (dispatch.id, dispatch.path == Path::Bypass);
        let (flight, dynamic) = (state.slab.get(id), state.slab.dynamic(id));
        let mem = flight.mem.expect("an access");
        let (bytes, mask, warp) = (u32::from(mem.bytes), flight.mask, flight.warp);
        let granularity = Granularity::of(state.spec.sm_version, bypass, state.spec.sm.l1d.cache.fetch_bytes());
        let out = &mut self.transactions;
        let local = dynamic.space == Space::Local;
        let atomic = matches!(mem.access, Access::Atomic | Access::Reduction);
        if atomic {
            out.gather_atomic(mask, &dynamic.addresses, bytes, granularity);
            state.counters.global_atomics += 1;
        } else if local {
            let layout = kernels[flight.kernel.index()].local_layout;
            let first_thread = u32::from(state.warps.index_in_cta[warp.index()]) * kit::WARP_LANES as u32;
            let cta = u32::from(state.warps.cta[warp.index()].0);
            let addresses = layout.addresses(u32::from(state.id), cta, first_thread, &dynamic.addresses);
            out.gather_local(mask, &addresses, bytes, layout.word_stride(), granularity);
        } else if mem.space == Space::Texture {
            out.gather_pairs(mask, [&dynamic.addresses, dynamic.second_addresses()], bytes, granularity);
        } else {
            out.gather(mask, &dynamic.addresses, bytes, granularity);
        }
        let counter = match mem.space {
            _ if local => &mut state.counters.local_accesses,
            Space::Texture => &mut state.counters.texture_accesses,
            _ => &mut state.counters.global_accesses,
        };
        *counter += 1;
        let count = self.transactions.len();
        state.counters.transactions += count as u64;
        if mem.access != Access::Store {
            state.slab.get_mut(id).pending = count as u16;
        }
        (dispatch.kind, dispatch.token) = match mem.access {
            Access::Store => (RequestKind::Write, u32::from(warp.0)),
            _ if atomic => (RequestKind::Atomic, u32::from(id.0)),
            _ => (RequestKind::Read, u32::from(id.0) | if bypass { TOKEN_BYPASS } else { 0 }),
        };
        dispatch.local = local;
        if let Some(l1) = self.l1.as_ref().filter(|_| !bypass) {
            if l1.by_bank {
                self.transactions.deal(|address| l1.bank(address));
            }
            let cycles = (mask.count_ones() * bytes).div_ceil(l1.width);
            dispatch.leaves_at = now + Cycle::from(cycles);
        }
    }

    /// Transactions go to the L1's look-up queues, in order, as many as find their bank free. True
    /// if none is left and the data path is free again.
    #[inline(always)]
    pub(super) fn go_on_l1<M: WarpMask>(&mut self, state: &mut State<M>, now: Cycle) -> bool {
        let Self { dispatch: Some(dispatch), l1: Some(l1), transactions, .. } = self else { return true };
        if dispatch.awaited & l1.full != 0 {
            return false;
        }
        let first = dispatch.sent;
        // Each bank takes one in a cycle, if its queue, which empties by a movement of its own, is not full.
        let mut closed = l1.full;
        for transaction in &transactions[first..] {
            let bank = l1.bank(transaction.address);
            if closed >> bank & 1 != 0 {
                dispatch.awaited = 1 << bank;
                break;
            }
            closed |= 1 << bank;
            l1.push(now, bank, dispatch.request(transaction));
            dispatch.sent += 1;
        }
        if dispatch.sent != first {
            dispatch.has_sent(state, dispatch.sent - first);
        }
        if dispatch.sent < transactions.len() {
            return false;
        }
        if now < dispatch.leaves_at {
            state.wake_up.at(dispatch.leaves_at);
            return false;
        }
        true
    }

    /// One transaction goes to the memory system. True if none is left.
    #[inline(always)]
    pub(super) fn go_on_bypass<M: WarpMask>(&mut self, state: &mut State<M>, now: Cycle, port: &mut Port) -> bool {
        let Self { dispatch: Some(dispatch), transactions, .. } = self else { return true };
        let Some(transaction) = transactions.get(dispatch.sent) else { return true };
        if !port.has_room(state.spec.outbox_packets, now) {
            state.wake_up.at(now + 1);
            return false;
        }
        port.outbox.push_back((now, dispatch.request(transaction)));
        state.counters.requests += 1;
        dispatch.sent += 1;
        dispatch.has_sent(state, 1);
        dispatch.sent == transactions.len()
    }

    /// Each bank looks its front access up, if that has waited out the latency.
    #[inline(always)]
    pub(super) fn look_up_l1<D: CoreDesign, O: Observer>(&mut self, wb: &mut WriteBack<'_, D, O>) {
        let now = wb.tick.now;
        let Some(l1) = &mut self.l1 else { return };
        if l1.next_due > now && l1.failure.is_none_or(|failure| l1.cache.fails_again(failure)) {
            return;
        }
        (l1.next_due, l1.failure) = (NEVER, None);
        for bank in set_bits(l1.waiting) {
            self.look_up_bank(wb, bank);
        }
    }

    #[inline(always)]
    fn look_up_bank<D: CoreDesign, O: Observer>(&mut self, wb: &mut WriteBack<'_, D, O>, bank: usize) {
        let now = wb.tick.now;
        let Some(l1) = &mut self.l1 else { return };
        let queue = &mut l1.queues[bank];
        if queue.due > now {
            l1.next_due = l1.next_due.min(queue.due);
            return;
        }
        if let Some(failure) = queue.failure
            && l1.cache.fails_again(failure)
        {
            l1.note(failure);
            return;
        }
        let &(_, request) = queue.accesses.front().expect("a waiting bank has accesses");
        let access = l1.cache.access(now, &request);
        self.may_send |= l1.cache.peek_miss().is_some();
        if let CacheOutcome::Fail(reason) = access.outcome {
            let failure = l1.cache.failure(reason);
            queue.failure = Some(failure);
            l1.note(failure);
            return;
        }
        if access.outcome == CacheOutcome::Miss {
            let state = &mut *wb.state;
            let token = request.token as u16;
            let is_write = request.kind == RequestKind::Write;
            let warp = if is_write { WarpSlot(token) } else { state.slab.get(InstId(token)).warp };
            state.warps.l1_misses[warp.index()] += 1;
        }
        queue.failure = None;
        queue.accesses.pop_front();
        // The next one may be due at once; it is looked at in the next cycle.
        queue.due = queue.accesses.front().map_or(NEVER, |&(due, _)| due);
        l1.next_due = l1.next_due.min(queue.due);
        l1.waiting &= !(u64::from(queue.due == NEVER) << bank);
        l1.full &= !(1 << bank);
        wb.state.wake_up.moved();
        if access.answer == Answer::Now {
            if request.kind == RequestKind::Write {
                self.performed(wb, WarpSlot(request.token as u16));
            } else {
                let id = InstId(request.token as u16);
                wb.served(id, Level::L1);
                self.access_returned(wb, id);
            }
        }
    }

    /// A load of which L1 has received data; acknowledgements of writes are taken on the way.
    pub(super) fn take_from_l1<D: CoreDesign, O: Observer>(&mut self, wb: &mut WriteBack<'_, D, O>) -> Option<InstId> {
        while let Some(waiter) = self.l1.as_mut()?.cache.pop_ready() {
            if waiter.silent {
                continue;
            }
            if waiter.kind == RequestKind::Write {
                self.performed(wb, WarpSlot(waiter.token as u16));
                wb.state.wake_up.moved();
                continue;
            }
            let id = InstId(waiter.token as u16);
            wb.served(id, Level::beyond_l1(waiter.from_dram));
            return Some(id);
        }
        None
    }
}

kit::persist! {
    struct LookUps { due, accesses, failure }
}
