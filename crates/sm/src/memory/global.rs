//! Global and local memory: coalescing, the L1's look-up queues, accesses that bypass L1.

use super::{Dispatch, LoadStoreUnit, Path, TOKEN_BYPASS};
use crate::design::CoreDesign;
use crate::execute::write_back::WriteBack;
use crate::inflight::InstId;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::state::State;
use crate::warps::mask::WarpMask;
use config::{InvalidatingFences, L1Data, LookUpOrder};
use isa::{Access, Space, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist, each};
use kit::{Counters, Cycle, NEVER, Ring};
use mem::cache::{Answer, CacheCounters, CacheOutcome, FailReason, Refusal};
use mem::carveout::carve_out;
use mem::coalesce::{Granularity, Transaction};
use mem::{Cache, Level, Port, Request, RequestKind};

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
    /// Accesses that it had taken when its contents were dropped.
    dropped_at: u64,
    /// As GPGPU-Sim, it keeps what has come since, if it has taken no access.
    keeps_unused: bool,
    queues: Box<[LookUps]>,
    /// Banks whose queues are not empty, and those whose queues are full.
    waiting: u64,
    full: u64,
    /// No front access but those that have failed is due before.
    next_due: Cycle,
    failures: Failures,
    latency: Cycle,
    /// Shift to the bank's number in an address, shift to the bits that it is hashed with (those of the line, or
    /// none), and mask.
    bank_shift: u32,
    hash_shift: u32,
    bank_mask: usize,
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
}

/// Banks whose front access has failed: for want of an MSHR, or for another reason.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    without_mshr: Failed,
    refused: Failed,
}

/// Banks whose front access has failed for reasons of one kind. All fail again as long as the last of them does.
#[derive(Clone, Copy, Debug, Default)]
struct Failed {
    banks: u64,
    last: Option<Refusal>,
}

impl Failed {
    /// The banks, if their front accesses fail again.
    #[inline(always)]
    fn fail_again(&self, cache: &Cache) -> u64 {
        match self.last {
            Some(failure) if self.banks != 0 && cache.fails_again(failure) => self.banks,
            _ => 0,
        }
    }
}

impl Failures {
    #[inline(always)]
    fn banks(&self) -> u64 {
        self.without_mshr.banks | self.refused.banks
    }

    /// The banks whose front access would fail again.
    #[inline(always)]
    fn fail_again(&self, cache: &Cache) -> u64 {
        self.without_mshr.fail_again(cache) | self.refused.fail_again(cache)
    }

    /// `cache` cannot take the front access of `bank`.
    fn note(&mut self, bank: usize, reason: FailReason, cache: &Cache) {
        self.forget(bank);
        let failure = cache.failure(reason);
        // One that waits for anything but an MSHR may succeed at any change. There is none while banks look up.
        let failed = if failure.waits_for_mshr() { &mut self.without_mshr } else { &mut self.refused };
        *failed = Failed { banks: failed.banks | 1 << bank, last: Some(failure) };
    }

    /// The cache has taken the front access of `bank`, if it had failed.
    #[inline(always)]
    fn forget(&mut self, bank: usize) {
        let others = !(1 << bank);
        self.without_mshr.banks &= others;
        self.refused.banks &= others;
    }
}

impl L1 {
    /// Whether an access waits to be looked up at `now`, or has failed.
    #[inline(always)]
    pub(super) fn has_lookups(&self, now: Cycle) -> bool {
        self.next_due <= now || self.failures.banks() != 0
    }

    /// The banks that are to look their front access up, if that is due.
    #[inline(always)]
    fn take_due(&mut self, now: Cycle) -> u64 {
        let failed = self.failures.banks();
        let mut banks = if failed == 0 { 0 } else { failed & !self.failures.fail_again(&self.cache) };
        if self.next_due <= now {
            banks |= self.waiting & !failed;
            self.next_due = NEVER;
        }
        banks
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
        let queue = || LookUps { due: NEVER, accesses: Ring::new() };
        // Where kernels choose its size, the first one does.
        let chosen = !config.shared_carveouts_bytes.is_empty();
        let shape =
            if chosen { config::Cache { sets: 1, ways: 1, ..config.cache.clone() } } else { config.cache.clone() };
        Some(Self {
            cache: Cache::with_dirty_limit(&shape, config.write_ratio_percent),
            shape,
            former: CacheCounters::default(),
            dropped_at: 0,
            keeps_unused: config.fences_invalidate == InvalidatingFences::All,
            queues: (0..config.banks).map(|_| queue()).collect(),
            waiting: 0,
            full: 0,
            next_due: NEVER,
            failures: Failures::default(),
            latency: Cycle::from(latency),
            // Both are powers of two.
            bank_shift: config.bank_interleave_bytes.trailing_zeros(),
            bank_mask: config.banks as usize - 1,
            hash_shift: if config.bank_hash == Some(true) { config.cache.line_bytes.trailing_zeros() } else { NO_BITS },
            by_bank: config.look_up_order == Some(LookUpOrder::Bank),
            width: config.bytes_per_cycle.unwrap_or(u32::MAX),
        })
    }

    #[inline]
    fn bank(&self, address: u64) -> usize {
        (address >> self.bank_shift ^ address >> self.hash_shift) as usize & self.bank_mask
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

    /// Drops its contents but for what is under way.
    pub fn invalidate(&mut self) {
        let accesses = self.cache.counters().accesses();
        if self.dropped_at != accesses || !self.keeps_unused {
            self.cache.invalidate();
        }
        self.dropped_at = accesses;
    }

    /// Gives the idle cache another size, if `shape` differs. Its contents are lost.
    pub fn reshape(&mut self, config: &L1Data, shape: &config::Cache) {
        if self.shape != *shape {
            self.former.add(self.cache.counters());
            self.cache = Cache::with_dirty_limit(shape, config.write_ratio_percent);
            self.shape = shape.clone();
            self.dropped_at = 0;
            self.failures = Failures::default();
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
        let Self { cache, shape: _, former, dropped_at, queues, waiting, full, next_due, failures, .. } = self;
        cache.persist(archive)?;
        former.persist(archive)?;
        dropped_at.persist(archive)?;
        each(queues, archive)?;
        waiting.persist(archive)?;
        full.persist(archive)?;
        next_due.persist(archive)?;
        failures.persist(archive)
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

/// How the transactions of the instruction in the dispatch register leave it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// What they ask of the memory system: their kind, whether of local memory, the requests' token.
    kind: RequestKind,
    local: bool,
    token: u32,
    /// First cycle in which the instruction can leave the register, if it goes to L1.
    leaves_at: Cycle,
    /// How many have left.
    pub sent: usize,
    /// The bank of L1 that the next one waits for, as a bit: as long as its queue is full, the instruction is not ready.
    awaited: u64,
}

impl Sending {
    /// None has left.
    pub fn new() -> Self {
        Self { kind: RequestKind::Read, local: false, token: 0, leaves_at: 0, sent: 0, awaited: 0 }
    }

    /// The request for one of the transactions.
    #[inline]
    fn request(&self, transaction: &Transaction) -> Request {
        transaction.request(self.kind, self.local, self.token)
    }
}

impl Dispatch {
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
        dispatch: &Dispatch,
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
            out.gather_atomic(mask, &dynamic.addresses, bytes);
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
        let (kind, token) = match mem.access {
            Access::Store => (RequestKind::Write, u32::from(warp.0)),
            _ if atomic => (RequestKind::Atomic, u32::from(id.0)),
            _ => (RequestKind::Read, u32::from(id.0) | if bypass { TOKEN_BYPASS } else { 0 }),
        };
        self.sending = Sending { kind, local, token, ..Sending::new() };
        if let Some(l1) = self.l1.as_ref().filter(|_| !bypass) {
            if l1.by_bank {
                self.transactions.deal(|address| l1.bank(address));
            }
            let bytes = mask.count_ones() * bytes;
            // Mostly they are not more than the width; a division takes the host long.
            let cycles = if bytes <= l1.width { 1 } else { bytes.div_ceil(l1.width) };
            self.sending.leaves_at = now + Cycle::from(cycles);
        }
    }

    /// Transactions go to the L1's look-up queues, in order, as many as find their bank free. True
    /// if none is left and the data path is free again.
    #[inline(always)]
    pub(super) fn go_on_l1<M: WarpMask>(&mut self, state: &mut State<M>, now: Cycle) -> bool {
        let Self { dispatch: Some(dispatch), sending, l1: Some(l1), transactions, .. } = self else { return true };
        let mut sent = sending.sent;
        // Each bank takes one in a cycle, if its queue, which empties by a movement of its own, is not full.
        let mut closed = l1.full;
        for transaction in &transactions[sent..] {
            let bank = l1.bank(transaction.address);
            if closed >> bank & 1 != 0 {
                if l1.full >> bank & 1 != 0 {
                    (dispatch.ready_at, sending.awaited) = (NEVER, 1 << bank);
                }
                break;
            }
            closed |= 1 << bank;
            l1.push(now, bank, sending.request(transaction));
            sent += 1;
        }
        if sent != sending.sent {
            dispatch.has_sent(state, sent - sending.sent);
            sending.sent = sent;
        }
        if sent < transactions.len() {
            return false;
        }
        if now < sending.leaves_at {
            state.wake_up.at(sending.leaves_at);
            return false;
        }
        true
    }

    /// One transaction goes to the memory system. True if none is left.
    #[inline(always)]
    pub(super) fn go_on_bypass<M: WarpMask>(&mut self, state: &mut State<M>, now: Cycle, port: &mut Port) -> bool {
        let Self { dispatch: Some(dispatch), sending, transactions, .. } = self else { return true };
        let Some(transaction) = transactions.get(sending.sent) else { return true };
        if !port.has_room(state.spec.outbox_packets, now) {
            state.wake_up.at(now + 1);
            return false;
        }
        port.outbox.push_back((now, sending.request(transaction)));
        state.counters.requests += 1;
        sending.sent += 1;
        dispatch.has_sent(state, 1);
        sending.sent == transactions.len()
    }

    /// Each bank looks its front access up, if that has waited out the latency.
    #[inline(always)]
    pub(super) fn look_up_l1<D: CoreDesign, O: Observer>(&mut self, wb: &mut WriteBack<'_, D, O>) {
        let now = wb.tick.now;
        let Some(l1) = &mut self.l1 else { return };
        let mut banks = l1.take_due(now);
        while banks != 0 {
            let bank = banks.trailing_zeros() as usize;
            banks &= banks - 1;
            self.look_up_bank(wb, bank);
            let Some(l1) = &self.l1 else { return };
            self.may_send |= l1.cache.peek_miss().is_some();
            if banks & l1.failures.without_mshr.banks != 0 {
                // It may have got the last MSHR.
                banks &= !l1.failures.without_mshr.fail_again(&l1.cache);
            }
        }
    }

    /// The same for one bank.
    #[inline(always)]
    fn look_up_bank<D: CoreDesign, O: Observer>(&mut self, wb: &mut WriteBack<'_, D, O>, bank: usize) {
        let now = wb.tick.now;
        let Some(l1) = &mut self.l1 else { return };
        let queue = &mut l1.queues[bank];
        if queue.due > now {
            l1.next_due = l1.next_due.min(queue.due);
            return;
        }
        let (_, request) = queue.accesses.front().expect("a waiting bank has accesses");
        let access = l1.cache.access(now, request);
        let (kind, token) = (request.kind, request.token);
        if let CacheOutcome::Fail(reason) = access.outcome {
            l1.failures.note(bank, reason, &l1.cache);
            return;
        }
        if access.outcome == CacheOutcome::Miss {
            let state = &mut *wb.state;
            let is_write = kind == RequestKind::Write;
            let warp = if is_write { WarpSlot(token as u16) } else { state.slab.get(InstId(token as u16)).warp };
            state.warps.l1_misses[warp.index()] += 1;
        }
        l1.failures.forget(bank);
        queue.accesses.drop_front(1);
        // The next one may be due at once; it is looked at in the next cycle.
        queue.due = queue.accesses.front().map_or(NEVER, |&(due, _)| due);
        l1.next_due = l1.next_due.min(queue.due);
        l1.waiting &= !(u64::from(queue.due == NEVER) << bank);
        l1.full &= !(1 << bank);
        if let Some(dispatch) = self.dispatch.as_mut().filter(|_| self.sending.awaited >> bank & 1 != 0) {
            (dispatch.ready_at, self.sending.awaited) = (now, 0);
        }
        wb.state.wake_up.moved();
        if access.answer != Answer::Now {
            return;
        }
        if kind == RequestKind::Write {
            wb.performed(WarpSlot(token as u16));
        } else {
            let id = InstId(token as u16);
            wb.served(id, Level::L1);
            self.access_returned(wb, id);
        }
    }

    /// A load of which L1 has received data; acknowledgements of writes are taken on the way.
    pub(super) fn take_from_l1<D: CoreDesign, O: Observer>(&mut self, wb: &mut WriteBack<'_, D, O>) -> Option<InstId> {
        while let Some(waiter) = self.l1.as_mut()?.cache.pop_ready() {
            if waiter.silent {
                continue;
            }
            if waiter.kind == RequestKind::Write {
                wb.performed(WarpSlot(waiter.token as u16));
                wb.state.wake_up.moved();
                continue;
            }
            let id = InstId(waiter.token as u16);
            wb.served(id, waiter.from);
            return Some(id);
        }
        None
    }
}

kit::persist! {
    struct LookUps { due, accesses }
    struct Failures { without_mshr, refused }
    struct Failed { banks, last }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in GPGPU-Sim, a fence drops nothing if no access has come since the last one, though data have.
    #[test]
    fn contents_that_no_access_has_followed_are_kept_where_all_fences_invalidate() {
        for (fences_invalidate, keeps) in [(InvalidatingFences::All, true), (InvalidatingFences::Device, false)] {
            let gpu = config::load("accel-sim/v100").unwrap();
            let mut l1 =
                L1::new(&L1Data { fences_invalidate, shared_carveouts_bytes: Vec::new(), ..gpu.sm.l1d }).unwrap();
            let read = |l1: &mut L1| {
                let (address, bytes, kind) = (0x1000, 32, RequestKind::Read);
                let request = Request { address, bytes, kind, local: false, byte_mask: 0, token: 0, from: Level::L2 };
                l1.cache.access(0, &request).outcome
            };
            let fetch = |l1: &mut L1| l1.cache.pop_miss().map(|miss| l1.cache.fill(0, miss.token));
            assert_eq!(read(&mut l1), CacheOutcome::Miss);
            l1.invalidate();
            fetch(&mut l1).unwrap();
            l1.invalidate();
            let again = read(&mut l1);
            assert_eq!(again == CacheOutcome::Hit, keeps, "{fences_invalidate:?}: {again:?}");
            l1.invalidate();
            assert_ne!(read(&mut l1), CacheOutcome::Hit, "there was an access");
        }
    }
}
