//! Execution units without limits: every instruction begins in the cycle after it has its operands.
//!
//! There is a unit for every instruction, and a result bus for every result.
//!
//! - **Kept**: latencies, also of matrix operations by their size; the latches before the units, which the
//!   operand stage fills; results that are written to their banks.
//! - **Left out**: the number of units and their initiation intervals, reads of shared memory by matrix operations, and the
//!   limit on results written in a cycle.
//!
//! Stall reasons: none is of a unit. An issue latch is full only where its instruction waits for its operands.

use super::latches::{LatchId, Latches};
use super::write_back::WriteBack;
use super::{ExecutionStage, beyond_latency, cycles_to_end};
use crate::design::with;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::memory::wavefronts::Wavefronts;
use crate::observe::observer::Observer;
use crate::operands::OperandStage;
use crate::slab::Slab;
use crate::spec::CoreSpec;
use crate::wake_up::WakeUp;
use kit::bits::set_bits;
use kit::{Cycle, NEVER};
use std::collections::BTreeMap;

/// The instructions under way.
#[derive(Debug)]
pub struct PerfectExecution {
    /// By the cycle in which they end, in the order in which they began.
    ending: BTreeMap<Cycle, Vec<InstId>>,
    /// Lists that are used again.
    spare: Vec<Vec<InstId>>,
    beyond_latency: i64,
}

impl ExecutionStage for PerfectExecution {
    fn new(spec: &CoreSpec) -> Self {
        Self { ending: BTreeMap::new(), spare: Vec::new(), beyond_latency: beyond_latency(spec) }
    }

    fn has_ending(&self, now: Cycle) -> bool {
        self.next_ending(now) == now
    }

    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        contended: bool,
    ) {
        let Some(mut ended) = self.ending.remove(&wb.now()) else { return };
        ended.drain(..).for_each(|id| wb.end(id, contended));
        self.spare.push(ended);
    }

    fn accept(
        &mut self,
        now: Cycle,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        _: &mut Wavefronts,
        mut begin: impl FnMut(&Slab, InstId),
    ) -> u64 {
        let from = oc_ex.waiting_for_units();
        for latch in set_bits(from) {
            while let Some(id) = oc_ex.pop(latch as LatchId) {
                let end = now + cycles_to_end(slab, id, self.beyond_latency);
                self.ending.entry(end).or_insert_with(|| self.spare.pop().unwrap_or_default()).push(id);
                begin(slab, id);
                wake_up.moved();
            }
        }
        from
    }

    fn next_ending(&self, _: Cycle) -> Cycle {
        self.ending.first_key_value().map_or(NEVER, |(&end, _)| end)
    }
}

with!(PerfectExecution => D::FrontEnd, PerfectExecution, D::Memory; D::front_end, D::memory);
