//! The memory stage: where loads and stores execute, a choice of the core design ([`MemoryStage`]).
//! [`LoadStoreUnit`](load_store::LoadStoreUnit) is GPGPU-Sim's, [`SubCoreMemory`](sub_cores::SubCoreMemory) has a queue
//! in each sub-core before it, [`PerfectMemory`](perfect::PerfectMemory) is one without limits.

pub(crate) mod copies;
pub(crate) mod copy_engine;
pub(crate) mod load_store;
pub(crate) mod peers;
pub(crate) mod perfect;
pub(crate) mod sub_cores;
pub(crate) mod wavefronts;

use crate::execute::latches::Latches;
use crate::execute::write_back::WriteBack;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::operands::OperandStage;
use crate::outbox::Client;
use crate::spec::CoreSpec;
use isa::KernelId;
use kit::persist::{Archive, Mismatch};
use kit::{Cycle, NEVER};
use mem::cache::CacheCounters;
use mem::{Port, Request};

/// Where loads and stores execute: from the dispatch latches of the memory pipe (OC_EX) to write-back.
///
/// A cycle of it is [`MemoryStage::write_back`], then [`MemoryStage::receive`] if a reply for it has come, then
/// [`Client::send`], then [`MemoryStage::step`].
pub trait MemoryStage: Client + Sized + Send {
    /// Nothing under way, on an SM of `spec`.
    fn new(spec: &CoreSpec) -> Self;

    /// Whether the stage may have anything to do in cycle `now`, beside what it receives and sends. If not, there may be
    /// no such cycle of it. `access_waits`: an access to memory has its operands.
    fn has_work(&self, now: Cycle, access_waits: bool) -> bool;

    /// The first cycle from `from` on in which anything may happen in it by time alone, if its last step has not entered
    /// that. The SM asks before it sleeps.
    fn next_event(&self, _from: Cycle) -> Cycle {
        NEVER
    }

    /// Results that are there are written, and accesses that have ended are complete.
    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>);

    /// The reply to a request of any kind but [`Instruction`](mem::RequestKind::Instruction) has come. Returns the cycle until which it
    /// cannot be taken, [`NEVER`] if something else has to happen first; one that is not after the present cycle if it
    /// was taken.
    fn receive<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        _reply: &Request,
    ) -> Cycle {
        wb.now()
    }

    /// The access `id`, which the stage has sent to shared memory of other CTAs, has all its replies.
    fn receive_from_peers(&mut self, _id: InstId) {}

    /// Accesses go on, and others come. Events that come by time only are entered by [`WriteBack::wake_at`], or knows
    /// for [`MemoryStage::next_event`].
    fn step<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        wires: &mut MemoryWires<'_>,
    );

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool;

    /// Whether a result waits to be written to the register file, so that units that write in this cycle
    /// must say to which banks.
    fn is_writing_back(&self) -> bool {
        false
    }

    /// A CTA of a kernel comes to the SM, which is `alone` if no other is there.
    fn prepare_kernel(&mut self, _spec: &CoreSpec, _kernel: (KernelId, &ResidentKernel), _alone: bool) {}

    /// Drops what the first level of the memory keeps, for a fence or between kernels.
    fn invalidate_l1(&mut self) {}

    /// Counts of its caches.
    fn counters(&self) -> MemoryCounters {
        MemoryCounters::default()
    }

    /// Saves the state that survives the end of all warps, for checkpoints between kernels; by default nothing
    /// ([`Persist`](kit::persist::Persist)).
    ///
    /// # Errors
    /// The archive has the state of another kind.
    fn persist(&mut self, _spec: &CoreSpec, _archive: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}

/// Counts of the caches of a memory stage; zeros where there is none.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "named after the caches")]
pub struct MemoryCounters {
    pub l1d: CacheCounters,
    pub constant: CacheCounters,
    pub texture: CacheCounters,
}

/// Wires of a memory stage, beside the wires of an instruction's end ([`WriteBack`]).
#[derive(Debug)]
pub struct MemoryWires<'a> {
    pub(crate) port: &'a mut Port,
    /// Instructions that have their operands.
    pub oc_ex: &'a mut Latches,
}
