//! The operand stage: from issue (ID_OC) to the units (OC_EX), through the banked register file.
//!
//! | file | what it is |
//! | --- | --- |
//! | [`collectors`](Collectors) | operand collectors, which take turns |
//! | `gpgpu_sim_order` | the same in exactly the order of GPGPU-Sim 4.2 |
//! | `read_guard` | a rule over collectors: no write overtakes an older read |
//! | [`stations`](ReservationStations) | reservation stations, which await results |
//! | [`sub_cores`](SubCoreOperands) | no collectors: reserved ports and a cache of operands, as GPUs since Volta |
//! | [`perfect`](PerfectOperands) | a stage without limits |
//! | [`scalar`] | a layer: what all lanes share is collected and executed once |
//! | `pool`, `banks` | what the alternatives have in common |
//!
//! A stage of another kind is a file with an [`OperandStage`], which a [`CoreDesign`](crate::CoreDesign)
//! names.

mod banks;
mod collectors;
mod gpgpu_sim_order;
pub(crate) mod layer;
mod perfect;
mod pool;
pub mod read_guard;
mod route;
pub mod scalar;
mod stations;
mod sub_cores;

pub use banks::RegisterBanks;
pub use collectors::{CollectorRules, Collectors};
pub use perfect::PerfectOperands;
pub use route::Route;
pub use stations::{FeedsStations, ReservationStations, StationCounts};
pub use sub_cores::{SubCoreOperands, SubCoreSettings};

use crate::execute::latches::Latches;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::kernel::ResidentKernel;
use crate::observe::counters::SmCounters;
use crate::observe::observer::{Observer, Seen};
use crate::slab::{Slab, Window};
use kit::Cycle;
use kit::persist::{Archive, Mismatch};

/// One bit per collector, or per bank.
type Mask = u64;

/// The maximum number of partitions: the schedulers are fewer.
const PARTITIONS: usize = 8;

/// The lowest `n` bits.
fn low(n: usize) -> Mask {
    if n == 64 { Mask::MAX } else { (1 << n) - 1 }
}

/// Wires of an operand stage.
#[derive(Debug)]
pub struct Wires<'a> {
    /// Instructions that have issued.
    pub id_oc: &'a mut Latches,
    /// Instructions that have their operands.
    pub oc_ex: &'a mut Latches,
    /// The instructions in flight.
    pub slab: &'a mut Slab,
    /// The kernels of all launches, by number.
    pub kernels: &'a [ResidentKernel],
}

impl Wires<'_> {
    /// The same wires, for a function that is not inlined: these here stay in registers of the host.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Wires<'_> {
        Wires { id_oc: self.id_oc, oc_ex: self.oc_ex, slab: self.slab, kernels: self.kernels }
    }

    /// The instructions, to look at.
    #[inline]
    pub fn window(&self) -> Window<'_> {
        Window { slab: self.slab, kernels: self.kernels }
    }
}

/// Work of an operand stage in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collected {
    /// Partitions in which anything moved, one bit each.
    pub touched: u8,
    /// Partitions among them in which an instruction left its issue latch.
    pub taken: u8,
}

/// Who hears of what an operand stage does: issue design, observer, statistics.
#[derive(Debug)]
pub struct Hooks<'a, P: IssuePolicy, O> {
    /// The issue design, which hears when an instruction has read its operands.
    pub policy: &'a mut P,
    pub(crate) observer: &'a mut O,
    pub(crate) counters: &'a mut SmCounters,
    pub(crate) now: Cycle,
    /// Work of the stage in this cycle.
    pub done: Collected,
}

impl<P: IssuePolicy, O: Observer> Hooks<'_, P, O> {
    /// The same, as [`Wires::reborrow`].
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Hooks<'_, P, O> {
        let Self { policy, observer, counters, now, done } = self;
        Hooks { policy, observer, counters, now: *now, done: *done }
    }

    /// `id` has a collector, where it awaits the sources `awaited` (by place, one bit each) and reads the
    /// others. Each instruction that issues comes here once: its reads are counted when their number is known.
    #[inline]
    pub fn collecting(&mut self, window: Window<'_>, id: InstId, awaited: u64) {
        let flight = window.inst(id);
        let mut sources = u32::from(flight.vector_srcs);
        if awaited != 0 {
            // Sources in the register file come first.
            sources -= (awaited & !u64::MAX.checked_shl(sources).unwrap_or(0)).count_ones();
        }
        let saved = if flight.is_routed { window.slab.route(id).lane_reads_saved } else { 0 };
        self.counters.lane_reads += u64::from(sources * flight.mask.count_ones() - u32::from(saved));
        self.observer.collecting(self.now, Seen { id, window }, awaited);
    }

    /// The last register read of `id` is served.
    #[inline]
    pub fn collected(&mut self, window: Window<'_>, id: InstId) {
        self.observer.collected(self.now, Seen { id, window });
    }

    /// `id` has its operands and leaves.
    #[inline]
    pub fn operands_read(&mut self, window: Window<'_>, id: InstId) {
        self.policy.on_operands_read(window, id);
        self.observer.operands_read(self.now, Seen { id, window });
    }
}

/// Where issued instructions get their operands, in a core whose issue design is `P`. Partitions are the
/// parts into which sub-cores split it.
pub trait OperandStage<P: IssuePolicy>: Send {
    /// One cycle: instructions come from ID_OC, read their registers, and leave to OC_EX. Its work goes into
    /// [`Hooks::done`].
    fn step<O: Observer>(&mut self, wires: &mut Wires<'_>, hooks: &mut Hooks<'_, P, O>);

    /// The register banks, to which results are written.
    fn banks(&mut self) -> &mut RegisterBanks;

    /// Whether nothing can move, so that [`OperandStage::step`] need not be called.
    fn is_stuck(&self) -> bool;

    /// An instruction has come into an issue latch of `partition`.
    fn wake(&mut self, partition: usize);

    /// Instructions have left dispatch `latches`, one bit each.
    fn latches_freed(&mut self, latches: u64);

    /// `id`, of a warp in `partition`, has written its results, of which `policy` has been informed.
    #[inline]
    fn written_back(&mut self, _policy: &mut P, _slab: &Slab, _id: InstId, _partition: usize) {}

    /// An access of `partition` has left its queue in the memory stage, if there are such queues.
    #[inline]
    fn access_left(&mut self, _partition: usize) {}

    /// Whether an instruction in `partition` has its operands and waits for its unit.
    fn any_waits_for_unit(&self, partition: usize) -> bool;

    /// Whether `partition` takes no instruction of some kind, even if its units are free.
    fn is_full(&self, _partition: usize) -> bool {
        false
    }

    /// Saves the state that survives the end of all warps, for checkpoints between kernels; by default nothing
    /// ([`Persist`](kit::persist::Persist)).
    ///
    /// # Errors
    /// The archive has the state of another kind.
    fn persist(&mut self, _archive: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}
