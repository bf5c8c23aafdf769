//! The order in which GPGPU-Sim 4.2 fills and empties its operand collectors, sub-cores and all.
//!
//! - Output ports, one after the other, each look for a collector whose instruction has its operands
//!   and room in its latch: from behind the one that the port last served, in the sub-core model from
//!   the next sub-core's first. Within a sub-core the collector with the lowest number therefore
//!   always comes first.
//! - Input ports, one after the other, each serve every pipe once, with the pipe's oldest instruction
//!   over all sub-cores. If its sub-core has no collector free, the pipe's others wait behind it.

use super::{Collected, Collector, Design, Mask, OperandCollector};
use crate::inflight::{InstId, Slab, Stage};
use crate::kernel::Kernel;
use crate::latches::{LatchId, Latches};
use crate::spec::Pipe;
use kit::bits::set_bits;

impl OperandCollector {
    /// One cycle, the sub-cores in step.
    #[cold]
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
        // Those that found their latch full: it stays so to the end of the cycle.
        let mut blocked = 0;
        for _ in 0..self.rounds {
            if self.ready & !blocked != 0 {
                done.touched |= self.serve_output_ports(&mut blocked, oc_ex, slab, design);
            }
            for partition in 0..self.partitions {
                let served = self.waiting & banks & self.banks_of_partition[partition];
                if served != 0 {
                    self.serve_reads(served, slab, design, done);
                    done.touched |= 1 << partition;
                }
            }
            if self.free != 0 && id_oc.occupied() != 0 {
                done.touched |= self.serve_input_ports(id_oc, slab, kernels, design);
            }
            banks = Mask::MAX;
        }
        self.written = 0;
        let stuck = done.touched == 0 && self.waiting == 0;
        self.awake = if stuck { 0 } else { u8::MAX };
    }

    /// Each output port sends at most one instruction on. Gives the sub-cores in which one moved.
    fn serve_output_ports<D: Design>(
        &mut self,
        blocked: &mut Mask,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        design: &mut D,
    ) -> u8 {
        let count = self.each * self.partitions as u32;
        let mut touched = 0;
        for port in 0..self.port_last.len() {
            let last = self.port_last[port];
            let skip = if self.partitions > 1 { self.each - last % self.each } else { 1 };
            let first = (last + skip) % count;
            let candidates = self.ready & !*blocked;
            let (behind, before) = (candidates >> first << first, candidates & !(Mask::MAX << first));
            let mut found = None;
            for c in set_bits(behind).chain(set_bits(before)) {
                if oc_ex.has_room(self.collectors[c].latch) {
                    if D::KEEPS_MEMORY_ORDER && self.would_overtake(c as u32, slab) {
                        continue;
                    }
                    found = Some(c);
                    break;
                }
                *blocked |= 1 << c;
            }
            let Some(c) = found else { break };
            let Collector { inst, latch, .. } = self.collectors[c];
            oc_ex.push(latch, inst);
            self.ready &= !(1 << c);
            self.free |= 1 << c;
            self.port_last[port] = c as u32;
            slab.get_mut(inst).stage = Stage::Dispatched;
            design.operands_read(slab, inst);
            touched |= 1 << (c as u32 / self.each);
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
        let partitions = self.partitions;
        let mut waiting = id_oc.occupied();
        let mut touched = 0;
        for _port in 0..self.in_ports {
            if waiting == 0 {
                break;
            }
            for pipe in (0..Pipe::COUNT as u8).map(Pipe) {
                let mine = id_oc.of_pipe(pipe);
                let Some((latch, inst)) = oldest(id_oc, waiting & mine, slab) else { continue };
                let partition = usize::from(latch) % partitions;
                let free = self.free & self.of_partition[partition];
                if free == 0 {
                    // No collector comes free before the next round.
                    waiting &= !mine;
                    continue;
                }
                id_oc.pop(latch);
                let place = Collector { inst, outstanding: 0, awaited: 0, latch };
                self.place(free.trailing_zeros(), partition, place, slab, kernels, design);
                touched |= 1 << partition;
                waiting &= id_oc.occupied() | !mine;
            }
        }
        touched
    }
}

/// The instruction among the heads of `latches` that issued first.
pub(super) fn oldest(id_oc: &Latches, latches: u64, slab: &Slab) -> Option<(LatchId, InstId)> {
    let heads = set_bits(latches).filter_map(|l| id_oc.front(l as LatchId).map(|inst| (l as LatchId, inst)));
    heads.min_by_key(|&(_, inst)| slab.get(inst).issue_order())
}
