//! Global and local memory: coalescing, look-ups in L1, accesses that bypass it.

use super::dispatch::{Dispatch, Path, Sending};
use super::{LoadStoreUnit, TOKEN_BYPASS};
use crate::execute::write_back::WriteBack;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::operands::OperandStage;
use crate::state::State;
use crate::warps::mask::WarpMask;
use isa::{Access, Space, WarpSlot};
use kit::{Cycle, NEVER};
use mem::cache::{Answer, CacheOutcome};
use mem::coalesce::{Granularity, SECTOR_BYTES};
use mem::{Level, Port, RequestKind};

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
        if atomic {
            state.counters.atomic_transactions += count as u64;
            let first = self.transactions.first().map(|transaction| transaction.address);
            let at_first = self.transactions.iter().filter(|transaction| Some(transaction.address) == first).count();
            state.counters.atomic_repeats += at_first.saturating_sub(1) as u64;
        } else if !local && mem.space != Space::Texture {
            let moved = match granularity {
                Granularity::Sector => count as u32,
                Granularity::Segment(_) => self.transactions.iter().map(|one| one.bytes / SECTOR_BYTES).sum(),
            };
            let excess = moved.saturating_sub((mask.count_ones() * bytes).div_ceil(SECTOR_BYTES));
            let is_store = mem.access == Access::Store;
            let counters = &mut state.counters;
            *if is_store { &mut counters.excess_store_sectors } else { &mut counters.excess_load_sectors } +=
                u64::from(excess);
        }
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
        let mut outbox = state.outbox(now, port);
        if !outbox.has_room() {
            return false;
        }
        outbox.push(sending.request(transaction));
        sending.sent += 1;
        dispatch.has_sent(state, 1);
        sending.sent == transactions.len()
    }

    /// Each bank looks its front access up, if that has waited out the latency.
    #[inline(always)]
    pub(super) fn look_up_l1<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
    ) {
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
    fn look_up_bank<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        bank: usize,
    ) {
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
    pub(super) fn take_from_l1<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
    ) -> Option<InstId> {
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
