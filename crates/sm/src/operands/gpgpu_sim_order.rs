//! The order in which GPGPU-Sim 4.2 fills and empties its operand collectors, sub-cores and all.
//!
//! - Output ports, one after the other, each look for a collector whose instruction has its operands
//!   and room in its latch: after the one that the port last served, in the sub-core model from
//!   the next sub-core's first. Within a sub-core the collector with the lowest number therefore
//!   always comes first.
//! - Input ports, one after the other, each serve every pipe once, with the pipe's oldest instruction
//!   over all sub-cores. If its sub-core has no collector free, the pipe's others wait after it.

use super::pool::Collector;
use super::read_guard::Guard;
use super::{Collectors, Hooks, Mask, PARTITIONS, Wires};
use crate::execute::latches::LatchId;
use crate::inflight::Stage;
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::Observer;
use crate::spec::CoreSpec;

/// Where each output port continues to look.
#[derive(Debug)]
pub(super) struct PortOrder {
    /// For each output port, the collector that it looks at first.
    first: Box<[u8]>,
    /// For each collector, the one that a port which has served it looks at next.
    next: [u8; 64],
}

impl PortOrder {
    /// Ports over `each` collectors of each partition.
    pub fn new(spec: &CoreSpec, each: usize) -> Self {
        let (each, partitions) = (each as u32, spec.partitions as u32);
        let next = |c: usize| {
            let last = c as u32;
            let skip = if partitions > 1 { each - last % each } else { 1 };
            ((last + skip) % (each * partitions)) as u8
        };
        Self { first: vec![next(0); spec.sm.operands.out_ports as usize].into(), next: std::array::from_fn(next) }
    }
}

impl Collectors {
    /// One cycle, the sub-cores in step.
    #[inline(never)]
    pub(super) fn step_together<P: IssuePolicy, O: Observer>(
        &mut self,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        let mut banks = !self.pool.banks.written;
        for _ in 0..self.pool.rounds {
            let mut quiet = true;
            if self.pool.ready & !self.pool.blocked != 0 {
                hooks.done.touched |= self.serve_output_ports(wires, hooks);
                quiet = false;
            }
            let served = self.pool.banks.waiting & banks;
            if served != 0 {
                self.pool.serve_reads(served, wires, hooks);
                let of = |p: usize| u8::from(served & self.pool.banks.of_partition[p % PARTITIONS] != 0) << p;
                hooks.done.touched |= (0..self.pool.partitions).fold(0, |all, p| all | of(p));
                quiet = false;
            }
            if self.pool.free != 0 && wires.id_oc.occupied() != 0 {
                hooks.done.touched |= self.serve_input_ports(wires, hooks);
                quiet = false;
            }
            // A round that finds nothing to do leaves nothing for the next, except to the banks that
            // were being written.
            if quiet && self.pool.banks.waiting == 0 {
                break;
            }
            banks = Mask::MAX;
        }
        self.pool.banks.written = 0;
        let stuck = hooks.done.touched == 0 && self.pool.banks.waiting == 0;
        self.pool.awake = if stuck { 0 } else { u8::MAX };
    }

    /// Each output port sends at most one instruction on. Gives the sub-cores in which one moved.
    fn serve_output_ports<P: IssuePolicy, O: Observer>(
        &mut self,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> u8 {
        let mut touched = 0;
        let ports = self.port_order.as_ref().map_or(0, |order| order.first.len());
        for port in 0..ports {
            let Some(found) = self.found_by(port, wires) else { return touched };
            let Collector { inst, latch, .. } = self.pool.collectors[found as usize % 64];
            wires.oc_ex.push(latch, inst, wires.slab.get(inst).issue_order());
            self.pool.ready &= !(1 << found);
            self.pool.free |= 1 << found;
            if let Some(order) = &mut self.port_order {
                order.first[port] = order.next[found as usize % 64];
            }
            wires.slab.get_mut(inst).stage = Stage::Dispatched;
            hooks.operands_read(wires.slab, inst);
            touched |= 1 << wires.oc_ex.partition(latch);
        }
        touched
    }

    /// The collector whose instruction output port `port` sends on.
    fn found_by(&mut self, port: usize, wires: &Wires<'_>) -> Option<u32> {
        let after = Mask::MAX << (self.port_order.as_ref()?.first[port] % 64);
        let pool = &self.pool;
        let mut candidates = pool.ready & !pool.blocked;
        if self.guard == Guard::All {
            for p in (0..pool.partitions).filter(|&p| pool.banks.any_read_waits_in(p)) {
                let mine = candidates & pool.of_partition[p % PARTITIONS];
                candidates ^= mine ^ self.guard.may_leave_of(mine, p, pool, wires.window());
            }
        }
        while candidates != 0 {
            let c = if candidates & after == 0 { candidates } else { candidates & after }.trailing_zeros();
            if wires.oc_ex.has_room(self.pool.collectors[c as usize % 64].latch) {
                if !(self.keeps_memory_order && self.would_overtake(c, wires)) {
                    return Some(c);
                }
            } else {
                self.pool.blocked |= 1 << c;
            }
            candidates &= !(1 << c);
        }
        None
    }

    /// Each input port gives each pipe's oldest instruction a collector. Gives the sub-cores in which
    /// one moved.
    fn serve_input_ports<P: IssuePolicy, O: Observer>(
        &mut self,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> u8 {
        let mut waiting = wires.id_oc.occupied();
        let mut touched = 0;
        for _port in 0..self.pool.in_ports {
            let mut pipes = waiting;
            while pipes != 0 {
                let mine = wires.id_oc.of_pipe(wires.id_oc.pipe(pipes.trailing_zeros() as LatchId));
                let latch = wires.id_oc.oldest(pipes & mine);
                pipes &= !mine;
                let partition = wires.id_oc.partition(latch);
                let free = self.pool.free & self.pool.of_partition[partition % PARTITIONS];
                if free == 0 {
                    // No collector comes free before the next round.
                    waiting &= !mine;
                    continue;
                }
                if self.guard == Guard::All && Guard::must_wait(latch, partition, wires) {
                    continue;
                }
                let inst = wires.id_oc.pop(latch).expect("an occupied latch");
                let at = (free.trailing_zeros(), partition);
                self.pool.place::<false, P, O>(at, Collector::of(inst, latch), 0, wires, hooks);
                touched |= 1 << partition;
                waiting &= wires.id_oc.occupied() | !mine;
            }
            if waiting == 0 {
                break;
            }
        }
        touched
    }
}
