//! Operand collectors as the reservation stations of an issue design.
//!
//! - **In.** Instructions of a sub-core take stations in the order in which they issued: behind one
//!   that finds none free all others wait. So none waits in a station for the result of one that has
//!   no station.
//! - **Operands** are read from the register file, or awaited and captured when they are broadcast.
//! - **Out.** An instruction leaves for its unit when it has its operands, in any order but for two
//!   rules: no older one of its warp has yet to read, from the register file, a register that it
//!   writes; and what the issue design says of memory ([`Design::may_pass`]).
//! - **Free.** A station is its instruction's until the result is broadcast; one without a result gives
//!   it up when it leaves.

use super::{Collected, Collector, Design, Mask, OperandCollector, PARTITIONS};
use crate::execute::latches::Latches;
use crate::inflight::{InstId, Slab, Stage};
use crate::kernel::Kernel;
use kit::bits::set_bits;

/// The stage's wires.
pub(super) struct Wires<'a> {
    pub id_oc: &'a mut Latches,
    pub oc_ex: &'a mut Latches,
    pub slab: &'a mut Slab,
    pub kernels: &'a [Kernel],
}

impl OperandCollector {
    /// One cycle.
    pub(super) fn step_stations(&mut self, wires: &mut Wires<'_>, design: &mut impl Design, done: &mut Collected) {
        for partition in set_bits(self.awake.into()) {
            let moved = self.step_stations_of(partition, wires, design, done);
            done.touched |= u8::from(moved) << partition;
            // All that could let an instruction in or out is a movement, a broadcast or a latch.
            if !moved && self.waiting & self.banks_of_partition[partition % PARTITIONS] == 0 {
                self.awake &= !(1 << partition);
            }
        }
        self.written = 0;
    }

    /// The rounds of one partition. True if anything moved.
    fn step_stations_of(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        design: &mut impl Design,
        done: &mut Collected,
    ) -> bool {
        let mut moved = false;
        let mine = self.of_partition[partition % PARTITIONS];
        let all_banks = self.banks_of_partition[partition % PARTITIONS];
        let mut banks = all_banks & !self.written;
        // Those that found their latch full: it stays so to the end of the cycle.
        let mut blocked = 0;
        for _ in 0..self.rounds {
            if self.ready & mine & !blocked != 0 {
                moved |= self.send(partition, &mut blocked, wires, design);
            }
            if self.waiting & banks != 0 {
                self.serve_reads(banks, wires.slab, design, done);
                moved = true;
            }
            if wires.id_oc.occupied() & wires.id_oc.of_partition(partition) != 0 {
                moved |= self.admit(partition, wires, design);
            }
            banks = all_banks;
        }
        moved
    }

    /// Instructions enter stations in the order of issue, while the next one finds one free.
    fn admit(&mut self, partition: usize, wires: &mut Wires<'_>, design: &mut impl Design) -> bool {
        let Wires { id_oc, slab, kernels, .. } = wires;
        let mut moved = false;
        for _ in 0..self.in_ports {
            let waiting = id_oc.occupied() & id_oc.of_partition(partition);
            if waiting == 0 {
                break;
            }
            let latch = id_oc.oldest(waiting);
            let Some(inst) = id_oc.front(latch) else { break };
            let in_memory = slab.get(inst).mem.is_some();
            let free = self.free & self.of_partition[partition % PARTITIONS] & self.of_kind[usize::from(in_memory)];
            if free == 0 {
                break;
            }
            id_oc.pop(latch);
            let place = Collector { inst, outstanding: 0, awaited: 0, latch };
            self.place::<false>(free.trailing_zeros(), partition, place, slab, kernels, design);
            self.memory |= if in_memory { free & free.wrapping_neg() } else { 0 };
            moved = true;
        }
        moved
    }

    /// Sends instructions of a partition on that have their operands, in turn from behind the last one.
    fn send<D: Design>(&mut self, partition: usize, blocked: &mut Mask, wires: &mut Wires<'_>, design: &mut D) -> bool {
        let Wires { oc_ex, slab, kernels, .. } = wires;
        let mut moved = false;
        let mut candidates = self.ready & !*blocked & self.of_partition[partition % PARTITIONS];
        let behind_last = Mask::MAX << 1 << self.last[partition % PARTITIONS];
        let mut ports = self.out_ports;
        while candidates != 0 && ports > 0 {
            let behind = candidates & behind_last;
            let c = if behind == 0 { candidates } else { behind }.trailing_zeros();
            candidates &= !(1 << c);
            let Collector { inst, latch, .. } = self.collectors[c as usize % 64];
            if !oc_ex.has_room(latch) {
                *blocked |= 1 << c;
                continue;
            }
            if !self.may_leave::<D>(c, partition, slab, kernels) {
                continue;
            }
            oc_ex.push(latch, inst, slab.get(inst).issue_order());
            self.ready &= !(1 << c);
            self.memory &= !(1 << c);
            self.last[partition % PARTITIONS] = c;
            ports -= 1;
            moved = true;
            let flight = slab.get_mut(inst);
            flight.stage = Stage::Dispatched;
            *if flight.dsts == 0 { &mut self.free } else { &mut self.sent } |= 1 << c;
            design.operands_read(slab, inst);
        }
        moved
    }

    /// Whether the instruction in station `c`, which has its operands, may leave before all older ones
    /// of its warp.
    #[inline]
    fn may_leave<D: Design>(&self, c: u32, partition: usize, slab: &Slab, kernels: &[Kernel]) -> bool {
        let mine = self.of_partition[partition % PARTITIONS];
        let id = self.collectors[c as usize % 64].inst;
        let (me, names) = (slab.get(id), slab.names(kernels, id));
        let is_older = |other: InstId| {
            let other = slab.get(other);
            other.warp == me.warp && other.issue_order() < me.issue_order()
        };
        if me.mem.is_some() {
            let before = |o: usize| {
                let other = self.collectors[o % 64].inst;
                is_older(other) && !D::may_pass(slab, kernels, id, other, self.ready >> o & 1 != 0)
            };
            if set_bits(self.memory & mine & !(1 << c)).any(before) {
                return false;
            }
        }
        if !self.any_reads_wait(partition) || me.dsts == 0 {
            return true;
        }
        let reads_mine = |o: usize| {
            let Collector { inst, outstanding, .. } = self.collectors[o % 64];
            let overlap = |other: InstId| me.is_wide || names.writes.meets(&slab.names(kernels, other).reads);
            outstanding > 0 && is_older(inst) && overlap(inst)
        };
        !set_bits(mine & !(self.free | self.sent | self.ready)).any(reads_mine)
    }

    /// The result of the instruction in `station` of `partition` is broadcast: the station is free.
    #[inline]
    pub fn release(&mut self, partition: usize, station: u8) {
        let bit = 1 << (station & 63);
        debug_assert!(self.sent & bit != 0, "a result of an instruction that has not left its station");
        self.sent &= !bit;
        self.free |= bit;
        self.awake |= 1 << partition;
    }

    /// Whether instructions of memory, or the others, find no station free in `partition`.
    pub fn is_full(&self, partition: usize) -> bool {
        let free = self.free & self.of_partition[partition % PARTITIONS];
        self.of_kind.iter().any(|kind| free & kind == 0)
    }
}
