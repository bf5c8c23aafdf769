//! The order in which GPGPU-Sim 4.2 fills and empties its operand collectors, sub-cores and all.
//!
//! - Output ports, one after the other, each look for a collector whose instruction has its operands
//!   and room in its latch: after the one that the port last served, in the sub-core model from
//!   the next sub-core's first. Within a sub-core the collector with the lowest number therefore
//!   always comes first.
//! - Input ports, one after the other, each serve every pipe once, with the pipe's oldest instruction
//!   over all sub-cores. If its sub-core has no collector free, the pipe's others wait after it.

use super::pool::{Collector, Pool};
use super::read_guard::{Guard, Kept};
use super::{Hooks, Mask, PARTITIONS, Wires};
use crate::execute::latches::LatchId;
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::Observer;
use crate::spec::CoreSpec;

/// The output ports: where each continues to look.
#[derive(Debug)]
pub(super) struct PortOrder {
    /// For each output port, the collector that it looks at first; the first `ports` of these.
    first: [u8; 64],
    ports: usize,
    /// For each collector, the one that a port which has served it looks at next.
    next: [u8; 64],
    /// Issue latches of the pipes whose oldest instruction waits for a collector of each sub-core, and all of these.
    held_by: [Mask; PARTITIONS],
    held: Mask,
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
        // No more than there are collectors send anything.
        let ports = (spec.sm.operands.out_ports as usize).min(64);
        let next_of = std::array::from_fn(next);
        Self { first: [next(0); 64], ports, next: next_of, held_by: [0; PARTITIONS], held: 0 }
    }

    /// One cycle of `pool`, the sub-cores in step.
    #[inline(always)]
    pub fn step<P: IssuePolicy, O: Observer>(
        &mut self,
        pool: &mut Pool,
        kept: Kept,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        let mut banks = !pool.banks.written;
        let (mut touched, mut taken) = (0, 0);
        for _ in 0..pool.rounds {
            let mut quiet = true;
            if pool.ready & !pool.blocked != 0 {
                touched |= self.serve_output_ports(pool, kept, wires, hooks);
                quiet = false;
            }
            if pool.banks.waiting & banks != 0 {
                touched |= pool.serve_reads(banks, wires, hooks);
                quiet = false;
            }
            if wires.id_oc.occupied() & pool.open & !self.held != 0 {
                taken |= self.serve_input_ports(pool, kept, wires, hooks);
                quiet = false;
            }
            // A round that finds nothing to do leaves nothing for the next, except to the banks that
            // were being written.
            if quiet && pool.banks.waiting == 0 {
                break;
            }
            banks = Mask::MAX;
        }
        (hooks.done.touched, hooks.done.taken) = (touched | taken, taken);
        let stuck = touched | taken == 0 && pool.banks.waiting == 0;
        pool.awake = if stuck { 0 } else { u8::MAX };
    }

    /// Each output port sends at most one instruction on. Gives the sub-cores in which one moved.
    #[inline(always)]
    fn serve_output_ports<P: IssuePolicy, O: Observer>(
        &mut self,
        pool: &mut Pool,
        kept: Kept,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> u8 {
        let mut touched = 0;
        for port in 0..self.ports {
            let Some(found) = found_from(self.first[port % 64], pool, kept, wires) else { break };
            let Collector { inst, latch, .. } = pool.collectors[found as usize % 64];
            pool.send(found, wires.oc_ex);
            let partition = wires.oc_ex.partition(latch);
            pool.release(found, partition);
            self.held &= !std::mem::take(&mut self.held_by[partition % PARTITIONS]);
            self.first[port % 64] = self.next[found as usize % 64];
            hooks.operands_read(wires.window(), inst);
            touched |= 1 << partition;
        }
        touched
    }

    /// Each input port gives each pipe's oldest instruction a collector. Gives the sub-cores in which one
    /// moved.
    #[inline(always)]
    fn serve_input_ports<P: IssuePolicy, O: Observer>(
        &mut self,
        pool: &mut Pool,
        kept: Kept,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> u8 {
        let mut waiting = wires.id_oc.occupied();
        let mut touched = 0;
        for _port in 0..pool.in_ports {
            // Pipes that wait only in sub-cores without a free collector do so in the whole round.
            let mut pipes = waiting & pool.open & !self.held;
            if pipes == 0 {
                break;
            }
            while pipes != 0 {
                let mine = wires.id_oc.of_same_pipe(pipes.trailing_zeros() as LatchId);
                let latch = wires.id_oc.oldest(waiting & mine);
                pipes &= !mine;
                let partition = wires.id_oc.partition(latch);
                let free = pool.free & pool.of_partition[partition % PARTITIONS];
                if free == 0 {
                    // Until one of that sub-core is free, the pipe need not be looked at.
                    self.held_by[partition % PARTITIONS] |= mine;
                    self.held |= mine;
                    continue;
                }
                if kept.guard == Guard::All && Guard::must_wait(latch, partition, wires.id_oc, wires.window()) {
                    continue;
                }
                let (inst, order) = (wires.id_oc.oldest_in(latch), wires.id_oc.order(latch));
                wires.id_oc.drop_oldest(latch);
                let at = (free.trailing_zeros(), partition);
                pool.place::<false, P, O>(at, (inst, order, latch), 0, wires, hooks);
                touched |= 1 << partition;
                waiting &= wires.id_oc.occupied() | !mine;
            }
        }
        touched
    }
}

/// The collector whose instruction an output port sends on that looks at `first` first.
#[inline(always)]
fn found_from(first: u8, pool: &Pool, kept: Kept, wires: &Wires<'_>) -> Option<u32> {
    let after = Mask::MAX << (first % 64);
    let mut candidates = pool.ready & !pool.blocked;
    if kept.guard == Guard::All {
        for p in (0..pool.partitions).filter(|&p| pool.banks.any_read_waits_in(p)) {
            let mine = candidates & pool.of_partition[p % PARTITIONS];
            candidates ^= mine ^ kept.guard.may_leave_of(mine, p, pool, wires.window());
        }
    }
    while candidates != 0 {
        let c = if candidates & after == 0 { candidates } else { candidates & after }.trailing_zeros();
        if !(kept.memory_order && pool.would_overtake(c, wires.slab)) {
            return Some(c);
        }
        candidates &= !(1 << c);
    }
    None
}

kit::persist! {
    struct PortOrder { first; skip ports, next, held_by, held }
}
