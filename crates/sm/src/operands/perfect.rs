//! An operand stage without limits: an instruction has its operands in the cycle after its issue.
//!
//! The register file has as many ports as there are operands, and there is a collector for every instruction that
//! has issued. So an instruction never waits for a bank, a port or a collector, and none that waits for its unit
//! keeps others from theirs.
//!
//! - **Kept**: the latches before and after the stage. An instruction is in ID_OC for a cycle, as is every other,
//!   and waits in the stage until the latch of its unit in OC_EX has room. Instructions of one latch leave in the order
//!   in which they came, accesses of a warp to memory among them.
//! - **Left out**: banks, for reads and for writes. Results of loads find them free.
//! - D1: the stage holds [`MOST`] instructions of a sub-core. Without a bound a warp that only stores would fill it
//!   with the rest of its program.
//!
//! Stall reasons: none is this stage's, until it is that full (`operand_collector_full`).

use super::{Collectors, Hooks, OperandStage, PARTITIONS, RegisterBanks, Wires};
use crate::design::{Allowances, ConfigOf, CoreDesign, With};
use crate::execute::latches::LatchId;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::Observer;
use crate::spec::CoreSpec;
use config::BranchFetch;
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist};
use std::collections::VecDeque;

/// Instructions of a sub-core that may wait for their units.
pub const MOST: usize = 1024;

/// Instructions that have their operands, by the latch that they wait for.
#[derive(Debug)]
pub struct PerfectOperands {
    /// With their places in the order of issue.
    waiting: [VecDeque<(InstId, u64)>; 64],
    /// Latches that any waits for, one bit each.
    occupied: u64,
    /// How many wait in each partition.
    count: [usize; PARTITIONS],
    /// Partitions in which one may come or go.
    awake: u8,
    /// Of no bank.
    banks: RegisterBanks,
}

impl PerfectOperands {
    /// The stage of an SM of `spec`, empty.
    pub fn new(spec: &CoreSpec) -> Self {
        Self {
            waiting: std::array::from_fn(|_| VecDeque::new()),
            occupied: 0,
            count: [0; PARTITIONS],
            awake: 0,
            banks: RegisterBanks::none(spec),
        }
    }

    /// The instructions that have issued in a partition get their operands. True if there are any.
    fn admit<P: IssuePolicy, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let mut moved = false;
        for latch in set_bits(wires.id_oc.occupied() & wires.id_oc.of_partition(partition)) {
            while self.count[partition % PARTITIONS] < MOST && wires.id_oc.front(latch as LatchId).is_some() {
                let order = wires.id_oc.order(latch as LatchId);
                let Some(id) = wires.id_oc.pop(latch as LatchId) else { break };
                let flight = wires.slab.get(id);
                let (unit, reads) = (wires.id_oc.id(flight.unit_pipe, partition), u32::from(flight.vector_srcs));
                hooks.counters.register_reads += u64::from(reads - wires.slab.route(id).skipped.count_ones());
                hooks.collecting(wires.window(), id, 0);
                hooks.collected(wires.window(), id);
                self.waiting[usize::from(unit) % 64].push_back((id, order));
                self.occupied |= 1 << (unit & 63);
                self.count[partition % PARTITIONS] += 1;
                moved = true;
            }
        }
        moved
    }

    /// Instructions of a partition go to the latches of their units as far as there is room. True if any does.
    fn send<P: IssuePolicy, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let mut moved = false;
        for latch in set_bits(self.occupied & wires.oc_ex.of_partition(partition)) {
            let waiting = &mut self.waiting[latch % 64];
            while wires.oc_ex.has_room(latch as LatchId)
                && let Some((id, order)) = waiting.pop_front()
            {
                wires.oc_ex.push(latch as LatchId, id, order);
                hooks.operands_read(wires.window(), id);
                self.count[partition % PARTITIONS] -= 1;
                moved = true;
            }
            self.occupied &= !(u64::from(waiting.is_empty()) << latch);
        }
        moved
    }
}

impl<P: IssuePolicy> OperandStage<P> for PerfectOperands {
    fn step<O: Observer>(&mut self, wires: &mut Wires<'_>, hooks: &mut Hooks<'_, P, O>) {
        for partition in set_bits(std::mem::take(&mut self.awake).into()) {
            let moved = self.admit(partition, wires, hooks) | self.send(partition, wires, hooks);
            hooks.done.touched |= u8::from(moved) << partition;
        }
        hooks.done.taken = hooks.done.touched;
        self.awake = hooks.done.touched;
    }

    fn banks(&mut self) -> &mut RegisterBanks {
        &mut self.banks
    }

    fn is_stuck(&self) -> bool {
        self.awake == 0
    }

    fn wake(&mut self, partition: usize) {
        self.awake |= 1 << partition;
    }

    fn latches_freed(&mut self, latches: u64) {
        if latches & self.occupied != 0 {
            self.awake = (0..PARTITIONS).filter(|&p| self.count[p] > 0).fold(self.awake, |all, p| all | 1 << p);
        }
    }

    fn any_waits_for_unit(&self, partition: usize) -> bool {
        self.count[partition % PARTITIONS] > 0
    }

    fn is_full(&self, partition: usize) -> bool {
        self.count[partition % PARTITIONS] == MOST
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.awake.persist(archive)
    }
}

/// In place of stations, which await results, it would let instructions go without them.
impl<D: CoreDesign<Operands = Collectors>> CoreDesign for With<PerfectOperands, D> {
    type FrontEnd = D::FrontEnd;
    type Issue = D::Issue;
    type Operands = PerfectOperands;
    type Execution = D::Execution;
    type Memory = D::Memory;

    const SCHEDULER: Option<&'static str> = D::SCHEDULER;

    fn operands(_: &ConfigOf<D>, spec: &CoreSpec) -> PerfectOperands {
        PerfectOperands::new(spec)
    }

    fn memory(config: &ConfigOf<D>, spec: &CoreSpec) -> D::Memory {
        D::memory(config, spec)
    }

    fn front_end(config: &ConfigOf<D>, spec: &CoreSpec) -> D::FrontEnd {
        D::front_end(config, spec)
    }

    fn branches(config: &ConfigOf<D>, of_gpu: BranchFetch) -> BranchFetch {
        D::branches(config, of_gpu)
    }

    fn allowances(config: &ConfigOf<D>) -> Allowances {
        D::allowances(config)
    }
}
