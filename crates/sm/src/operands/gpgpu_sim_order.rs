//! The order in which GPGPU-Sim 4.2 fills and empties its operand collectors, sub-cores and all.
//!
//! - Output ports, one after the other, each look for a collector whose instruction has its operands
//!   and room in its latch: from behind the one that the port last served, in the sub-core model from
//!   the next sub-core's first. Within a sub-core the collector with the lowest number therefore
//!   always comes first.
//! - Input ports, one after the other, each serve every pipe once, with the pipe's oldest instruction
//!   over all sub-cores. If its sub-core has no collector free, the pipe's others wait behind it.

use super::{Collected, Collector, Design, Mask, OperandCollector, PARTITIONS};
use crate::execute::latches::{LatchId, Latches};
use crate::inflight::{Slab, Stage, Window};
use crate::kernel::Kernel;

impl OperandCollector {
    /// One cycle, the sub-cores in step.
    #[inline(never)]
    pub(super) fn step_together(
        &mut self,
        id_oc: &mut Latches,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut impl Design,
        done: &mut Collected,
    ) {
        let mut banks = !self.written;
        for _ in 0..self.rounds {
            let mut quiet = true;
            if self.ready & !self.blocked != 0 {
                done.touched |= self.serve_output_ports(oc_ex, slab, kernels, design);
                quiet = false;
            }
            let served = self.waiting & banks;
            if served != 0 {
                self.serve_reads(served, slab, design, done);
                let of = |p: usize| u8::from(served & self.banks_of_partition[p % PARTITIONS] != 0) << p;
                done.touched |= (0..self.partitions).fold(0, |all, p| all | of(p));
                quiet = false;
            }
            if self.free != 0 && id_oc.occupied() != 0 {
                done.touched |= self.serve_input_ports(id_oc, slab, kernels, design);
                quiet = false;
            }
            // A round that finds nothing to do leaves nothing for the next, except to the banks that
            // were being written.
            if quiet && self.waiting == 0 {
                break;
            }
            banks = Mask::MAX;
        }
        self.written = 0;
        let stuck = done.touched == 0 && self.waiting == 0;
        self.awake = if stuck { 0 } else { u8::MAX };
    }

    /// The collector that an output port which has served `last` looks at next.
    pub(super) fn first_behind(last: u32, each: u32, partitions: u32) -> u8 {
        let skip = if partitions > 1 { each - last % each } else { 1 };
        ((last + skip) % (each * partitions)) as u8
    }

    /// Each output port sends at most one instruction on. Gives the sub-cores in which one moved.
    fn serve_output_ports<D: Design>(
        &mut self,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut D,
    ) -> u8 {
        let mut touched = 0;
        for port in 0..self.port_first.len() {
            let behind = Mask::MAX << (self.port_first[port] % 64);
            let mut candidates = self.ready & !self.blocked;
            if design.guards(false) {
                for p in (0..self.partitions).filter(|&p| self.any_reads_wait(p)) {
                    let mine = candidates & self.of_partition[p % PARTITIONS];
                    candidates ^= mine ^ self.may_leave_of(mine, p, slab, kernels, design);
                }
            }
            let found = loop {
                if candidates == 0 {
                    return touched;
                }
                let c = if candidates & behind == 0 { candidates } else { candidates & behind }.trailing_zeros();
                if oc_ex.has_room(self.collectors[c as usize % 64].latch) {
                    if !(D::KEEPS_MEMORY_ORDER && self.would_overtake(c, slab)) {
                        break c;
                    }
                } else {
                    self.blocked |= 1 << c;
                }
                candidates &= !(1 << c);
            };
            let Collector { inst, latch, .. } = self.collectors[found as usize % 64];
            oc_ex.push(latch, inst, slab.get(inst).issue_order());
            self.ready &= !(1 << found);
            self.free |= 1 << found;
            self.port_first[port] = self.behind[found as usize % 64];
            slab.get_mut(inst).stage = Stage::Dispatched;
            design.operands_read(slab, inst);
            touched |= 1 << oc_ex.partition(latch);
        }
        touched
    }

    /// Each input port gives each pipe's oldest instruction a collector. Gives the sub-cores in which
    /// one moved.
    fn serve_input_ports(
        &mut self,
        id_oc: &mut Latches,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut impl Design,
    ) -> u8 {
        let mut waiting = id_oc.occupied();
        let mut touched = 0;
        for _port in 0..self.in_ports {
            let mut pipes = waiting;
            while pipes != 0 {
                let mine = id_oc.of_pipe(id_oc.pipe(pipes.trailing_zeros() as LatchId));
                let latch = id_oc.oldest(pipes & mine);
                pipes &= !mine;
                let partition = id_oc.partition(latch);
                let free = self.free & self.of_partition[partition % PARTITIONS];
                if free == 0 {
                    // No collector comes free before the next round.
                    waiting &= !mine;
                    continue;
                }
                let window = Window { slab, kernels };
                if design.guards(false) && Self::must_wait(latch, partition, id_oc, window) {
                    continue;
                }
                let inst = id_oc.pop(latch).expect("an occupied latch");
                let place = Collector { inst, outstanding: 0, awaited: 0, latch };
                self.place::<false>(free.trailing_zeros(), partition, place, slab, kernels, design);
                touched |= 1 << partition;
                waiting &= id_oc.occupied() | !mine;
            }
            if waiting == 0 {
                break;
            }
        }
        touched
    }
}
