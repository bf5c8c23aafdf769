//! A memory stage without limits: every access takes the time of a hit.
//!
//! One access comes from OC_EX in each cycle, whatever its lanes ask for, and is done after the time that it takes in
//! the [`LoadStoreUnit`](super::LoadStoreUnit) when it hits and meets no other:
//!
//! | access | cycles from the unit's begin to write-back |
//! | --- | --- |
//! | global, local, atomics, copies; textures, where L1 has them | 1 + `l1d.latency_cycles` |
//! | loads from shared memory, atomics there | 2 + `shared.latency_cycles` |
//! | stores to shared memory, constants, parameters; textures, where they have a cache; fences, no lane active | 1 |
//!
//! - **Kept**: the one port of the memory pipe, results of shared memory that wait for their register bank, fences
//!   (for accesses that are as short), the instruction cache with its requests.
//! - **Left out**: coalescing, bank conflicts, caches and all that is beyond the SM. No data leave or enter it, also
//!   where the GPU's L1 keeps none (`l1d.skip_global`, atomics).
//!
//! Counters: accesses by kind. There are no transactions, and caches of data have done nothing.

use super::{MemoryStage, MemoryWires};
use crate::design::with;
use crate::execute::write_back::WriteBack;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::Observer;
use crate::operands::OperandStage;
use crate::outbox::Client;
use crate::spec::CoreSpec;
use crate::state::State;
use crate::warps::mask::WarpMask;
use isa::{Access, Space};
use kit::{Cycle, NEVER};
use std::collections::VecDeque;

/// Accesses that take equally long.
#[derive(Debug)]
struct UnderWay {
    /// When each is done, oldest first.
    accesses: VecDeque<(Cycle, InstId)>,
    latency: Cycle,
}

impl UnderWay {
    fn new(latency: Cycle) -> Self {
        Self { accesses: VecDeque::new(), latency }
    }

    /// The oldest, if it is done.
    fn done(&self, now: Cycle) -> Option<InstId> {
        self.accesses.front().filter(|(due, _)| *due <= now).map(|(_, id)| *id)
    }
}

/// By what decides how long an access takes.
#[derive(Clone, Copy, Debug)]
enum Hit {
    AtOnce,
    L1,
    Shared,
}

/// The accesses under way.
#[derive(Debug)]
pub struct PerfectMemory {
    /// By [`Hit`].
    under_way: [UnderWay; 3],
}

impl MemoryStage for PerfectMemory {
    fn new(spec: &CoreSpec) -> Self {
        let [l1, shared] = [spec.sm.l1d.latency_cycles, spec.sm.shared.latency_cycles].map(|l| Cycle::from(l.max(1)));
        Self { under_way: [1, 1 + l1, 2 + shared].map(UnderWay::new) }
    }

    fn has_work(&self, _: Cycle, access_waits: bool) -> bool {
        access_waits || !self.is_idle()
    }

    /// As in the load/store unit, a hit in L1 finds its register bank free.
    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        for hit in [Hit::AtOnce, Hit::L1, Hit::Shared] {
            let under_way = &mut self.under_way[hit as usize];
            while let Some(id) = under_way.done(wb.tick.now) {
                if matches!(hit, Hit::Shared) && !wb.try_write_registers(id) {
                    break;
                }
                under_way.accesses.pop_front();
                wb.complete(id);
            }
        }
    }

    fn step<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        wires: &mut MemoryWires<'_>,
    ) {
        if wires.oc_ex.waiting_for_memory() != 0 {
            let id = wb.begin_access(wires.oc_ex);
            let record = wb.state.slab.get(id).record;
            if let Some(accesses) = wb.state.slab.record_mut(record).peers.take() {
                // No instruction waits for it, but other CTAs may wait for its arrivals.
                wb.state.peers.send_copy(wb.tick.now, &accesses);
            }
            let UnderWay { accesses, latency } = &mut self.under_way[hit(wb.state, id) as usize];
            accesses.push_back((wb.tick.now + *latency, id));
        }
        let next = self.under_way.iter().filter_map(|u| u.accesses.front()).fold(NEVER, |next, a| next.min(a.0));
        wb.wake_at(next.max(wb.tick.now + 1));
    }

    fn is_idle(&self) -> bool {
        self.under_way.iter().all(|u| u.accesses.is_empty())
    }

    fn is_writing_back(&self) -> bool {
        !self.under_way[Hit::Shared as usize].accesses.is_empty()
    }
}

impl Client for PerfectMemory {}

/// How access `id` hits; counts it.
fn hit<M: WarpMask>(state: &mut State<M>, id: InstId) -> Hit {
    let flight = state.slab.get(id);
    let Some(mem) = flight.mem.filter(|_| flight.mask != 0) else { return Hit::AtOnce };
    let space = if mem.space == Space::Generic { state.slab.dynamic(id).space } else { mem.space };
    let counters = &mut state.counters;
    let (counter, hit) = match space {
        Space::Shared if mem.access == Access::Store => (&mut counters.shared_accesses, Hit::AtOnce),
        Space::Shared if mem.access != Access::AsyncCopy => (&mut counters.shared_accesses, Hit::Shared),
        Space::Constant | Space::Param => (&mut counters.constant_accesses, Hit::AtOnce),
        Space::Texture if state.spec.sm_version < 50 => (&mut counters.texture_accesses, Hit::AtOnce),
        Space::Texture => (&mut counters.texture_accesses, Hit::L1),
        Space::Local => (&mut counters.local_accesses, Hit::L1),
        Space::Global | Space::Generic | Space::Shared => (&mut counters.global_accesses, Hit::L1),
    };
    *counter += 1;
    let atomic = matches!(mem.access, Access::Atomic | Access::Reduction) && matches!(hit, Hit::L1);
    counters.global_atomics += u64::from(atomic);
    hit
}

with!(PerfectMemory => D::FrontEnd, D::Execution, PerfectMemory; D::front_end, |_, spec| MemoryStage::new(spec));
