//! Execution: the latches around the operand stage, the units, and write-back.
//!
//! Where instructions other than loads and stores execute is a choice of the core design ([`ExecutionStage`]):
//! [`Units`](units::Units) are GPGPU-Sim's, [`PerfectExecution`](perfect::PerfectExecution) one without limits.

pub(crate) mod commands;
pub(crate) mod latches;
pub(crate) mod perfect;
pub(crate) mod units;
pub(crate) mod work;
pub(crate) mod write_back;

use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::memory::wavefronts::Wavefronts;
use crate::observe::observer::Observer;
use crate::operands::OperandStage;
use crate::slab::Slab;
use crate::spec::CoreSpec;
use crate::wake_up::WakeUp;
use config::LatencyOf;
use kit::Cycle;
use kit::persist::{Archive, Mismatch};
use latches::Latches;
use write_back::WriteBack;

/// Where instructions other than loads and stores execute: from their dispatch latches (OC_EX) to write-back.
pub trait ExecutionStage: Sized + Send {
    /// Nothing under way, on an SM of `spec`.
    fn new(spec: &CoreSpec) -> Self;

    /// Whether any instruction that has left its latch waits for its unit: then [`ExecutionStage::accept`] is called in
    /// every cycle of the SM.
    fn has_waiting(&self) -> bool {
        false
    }

    /// Whether any instruction ends in cycle `now`.
    fn has_ending(&self, now: Cycle) -> bool;

    /// The instructions that end in the present cycle, of which there are some, write their results
    /// ([`WriteBack::end`]). It comes first in a cycle. `contended`: the memory stage has a result to write as well.
    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        contended: bool,
    );

    /// Takes instructions from their latches and calls `begin` for each one. Returns the latches that any was taken
    /// from, one bit each. A latch whose instruction has to wait is looked at again after a movement
    /// or at the time given to `wake_up`. Matrix operations of warp groups add what they read of shared memory to
    /// `wavefronts`, for which shuffles wait.
    fn accept(
        &mut self,
        now: Cycle,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        wavefronts: &mut Wavefronts,
        begin: impl FnMut(&Slab, InstId),
    ) -> u64;

    /// The first cycle from `from` on in which an instruction ends; [`NEVER`](kit::NEVER) if none is under way.
    fn next_ending(&self, from: Cycle) -> Cycle;

    /// Saves the state that survives the end of all warps, for checkpoints between kernels; by default nothing
    /// ([`Persist`](kit::persist::Persist)).
    ///
    /// # Errors
    /// The archive has the state of another kind.
    fn persist(&mut self, _archive: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}

/// Cycles from acceptance to write-back beyond the latency: leaving the pipe, and EX_WB; or, where latencies count
/// from issue, less those from issue to acceptance.
pub(crate) fn beyond_latency(spec: &CoreSpec) -> i64 {
    match spec.sm.latency.unwrap_or(LatencyOf::Execution) {
        LatencyOf::Execution => 2,
        LatencyOf::Issue => -3,
    }
}

/// Cycles from the acceptance of `id` to its write-back: at least one.
#[inline(always)]
pub(crate) fn cycles_to_end(slab: &Slab, id: InstId, beyond_latency: i64) -> Cycle {
    (i64::from(slab.get(id).latency_cycles) + beyond_latency).max(1) as Cycle
}
