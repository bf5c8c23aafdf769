//! Operand collectors over the banked register file.
//!
//! Follows GPGPU-Sim's `opndcoll_rfu_t` with generic collectors: several rounds per cycle
//! ([`config::Operands::reads_per_bank`]), each of which first sends collected instructions on to
//! the latches of their units, then lets every bank serve the oldest of its waiting reads, then
//! moves instructions from the issue latches into free collectors. A bank that is written in a
//! cycle serves no read in that cycle's first round.
//!
//! With [`crate::CoreOptions::collectors_as_gpgpu_sim`] neither D-OC1 nor D-OC3 holds (`gpgpu_sim_order`).
//!
//! A collector whose instruction has its operands may send it on before that of an older one: also
//! where both access memory, or it writes what the other has yet to read, unless the core design asks
//! for order ([`CollectorRules`]).
//!
//! - D-OC1: input ports limit instructions per pipe and round, as in GPGPU-Sim 4; but a pipe whose
//!   oldest instruction finds its own sub-core's collectors taken does not hold up other sub-cores.
//! - D-OC2: two registers of one instruction that are in one bank are written in one cycle.
//! - D-OC3: each sub-core has its share of the output ports and one round-robin pointer, so that its
//!   collectors take turns. GPGPU-Sim has a pointer per port over the collectors of all sub-cores,
//!   with which one sub-core's pace can keep another's instruction in its collector indefinitely.

use super::gpgpu_sim_order::PortOrder;
use super::pool::{Collector, Pool, of_the_pool};
use super::read_guard::{Guard, Kept};
use super::{Hooks, Mask, OperandStage, PARTITIONS, RegisterBanks, Wires, low};
use crate::execute::latches::LatchId;
use crate::inflight::Stage;
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::Observer;
use crate::spec::{CoreSpec, Pipe};
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist, part};

/// The order that collectors keep among instructions of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorRules {
    /// Accesses to memory leave in the order in which they issued. Without this, one that waits for its
    /// operands is overtaken, as in GPGPU-Sim.
    pub keeps_memory_order: bool,
    /// No instruction writes a register that an older one, which has issued before it, has yet to read: for
    /// designs in which such a dependence ends at issue.
    pub guards_reads: bool,
}

impl Default for CollectorRules {
    fn default() -> Self {
        Self { keeps_memory_order: true, guards_reads: false }
    }
}

/// The collectors of the GPU description over the register banks.
#[derive(Debug)]
pub struct Collectors {
    pool: Pool,
    /// Of each partition, those that take instructions of the vector pipes, and those for the pipe of a
    /// layer over the stage.
    kinds: [[Mask; 2]; PARTITIONS],
    /// A layer over the stage settles a [`Route`](super::Route) for each instruction.
    routed: bool,
    kept: Kept,
    /// The order of GPGPU-Sim's ports; none if collectors take turns.
    port_order: Option<Box<PortOrder>>,
}

impl Collectors {
    /// Creates the collectors of `spec`, all free.
    pub fn new(spec: &CoreSpec, rules: CollectorRules) -> Self {
        let (operands, partitions) = (&spec.sm.operands, spec.partitions);
        let each = (operands.collectors as usize / partitions).clamp(1, 64 / partitions);
        let of_layer = spec.layer_collectors() as usize / partitions;
        let vector = |p: usize| low(each) << (p * each);
        // Those of the layer come after all others.
        let layer = |p: usize| low(of_layer) << (each * partitions + p * of_layer).min(63);
        let kinds = |p: usize| if p < partitions { [vector(p), layer(p)] } else { [0; 2] };
        let routed = spec.has_layer();
        Self {
            pool: Pool::new(spec, each, |p| vector(p) | layer(p)),
            kinds: std::array::from_fn(kinds),
            routed,
            kept: Kept {
                memory_order: rules.keeps_memory_order,
                guard: match rules.guards_reads {
                    true => Guard::All,
                    false if routed => Guard::Routed,
                    false => Guard::None,
                },
            },
            port_order: spec.options.collectors_as_gpgpu_sim.then(|| Box::new(PortOrder::new(spec, each))),
        }
    }

    /// One cycle, partition by partition.
    fn step_in_turns<P: IssuePolicy, O: Observer>(&mut self, wires: &mut Wires<'_>, hooks: &mut Hooks<'_, P, O>) {
        for partition in set_bits(self.pool.awake.into()) {
            let moved = self.step_partition(partition, wires, hooks);
            hooks.done.touched |= u8::from(moved) << partition;
        }
    }

    /// The rounds of one partition, which shares nothing with the others. True if anything moved. The
    /// partition goes to sleep if nothing can move in the next cycle unless its latches change.
    #[inline]
    fn step_partition<P: IssuePolicy, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let mut moved = false;
        let mine = self.pool.of_partition[partition % PARTITIONS];
        let latches = wires.id_oc.of_partition(partition);
        let all_banks = self.pool.banks.of_partition[partition % PARTITIONS];
        let mut banks = all_banks & !self.pool.banks.written;
        // Those whose reads find their banks free and each other not in the way: served in the round
        // after the one in which they came.
        let mut passing = 0;
        let rounds = self.pool.rounds;
        for round in 1..rounds + 1 {
            let mut quiet = passing == 0;
            if self.pool.ready & mine & !self.pool.blocked != 0 {
                moved |= self.dispatch(partition, wires, hooks);
                quiet = false;
            }
            if self.pool.banks.waiting & banks != 0 {
                self.pool.serve_reads(banks, wires, hooks);
                (moved, quiet) = (true, false);
            }
            self.pool.ready |= std::mem::take(&mut passing);
            if wires.id_oc.occupied() & latches != 0 && self.pool.free & mine != 0 {
                quiet = false;
                if let Some(latch) = wires.id_oc.only(latches)
                    && let Some(c) = self.try_pass(partition, latch, round < rounds, wires, hooks)
                {
                    passing = c;
                    moved = true;
                } else {
                    moved |= if self.routed {
                        self.allocate::<true, P, O>(partition, wires, hooks)
                    } else {
                        self.allocate::<false, P, O>(partition, wires, hooks)
                    };
                }
            }
            // A round that finds nothing to do leaves nothing for the next, except to the banks that
            // were being written.
            if quiet && self.pool.banks.waiting & all_banks == 0 {
                break;
            }
            banks = all_banks;
        }
        let collects = self.pool.banks.waiting & all_banks != 0;
        let sends = self.pool.ready & mine & !self.pool.blocked != 0;
        let takes = self.pool.free & mine != 0 && wires.id_oc.occupied() & latches != 0;
        if !collects && !sends && !takes {
            self.pool.awake &= !(1 << partition);
        }
        moved
    }

    /// Sends collected instructions of a partition on, in turn after the last one sent.
    #[inline]
    fn dispatch<P: IssuePolicy, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let mut moved = false;
        let mut candidates = self.pool.ready & !self.pool.blocked & self.pool.of_partition[partition % PARTITIONS];
        if self.kept.guard.any() && self.pool.banks.any_read_waits_in(partition) {
            candidates = self.kept.guard.may_leave_of(candidates, partition, &self.pool, wires.window());
        }
        let after_last = Mask::MAX << 1 << self.pool.last[partition % PARTITIONS];
        let mut ports = self.pool.out_ports;
        while candidates != 0 && ports > 0 {
            let after = candidates & after_last;
            let c = if after == 0 { candidates } else { after }.trailing_zeros();
            candidates &= !(1 << c);
            let Collector { inst, latch, .. } = self.pool.collectors[c as usize % 64];
            if !wires.oc_ex.has_room(latch) {
                self.pool.blocked |= 1 << c;
                continue;
            }
            if self.kept.memory_order && self.pool.would_overtake(c, wires.slab) {
                continue;
            }
            wires.oc_ex.push(latch, inst, wires.slab.get(inst).issue_order());
            self.pool.ready &= !(1 << c);
            self.pool.free |= 1 << c;
            self.pool.last[partition % PARTITIONS] = c;
            ports -= 1;
            moved = true;
            wires.slab.get_mut(inst).stage = Stage::Dispatched;
            hooks.operands_read(wires.window(), inst);
        }
        moved
    }

    /// If no bank that the instruction in `latch` reads has another read to serve and the cycle has
    /// another round, it takes a free collector in which it has its operands after that round, without
    /// queueing at the banks. Returns that collector's bit, nothing if it has its operands at once.
    #[inline]
    fn try_pass<P: IssuePolicy, O: Observer>(
        &mut self,
        partition: usize,
        latch: LatchId,
        another_round: bool,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> Option<Mask> {
        let inst = wires.id_oc.front(latch)?;
        let (flight, banks) = (wires.slab.get(inst), wires.slab.banks(wires.kernels, inst));
        let reads = self.pool.banks.of_warp(flight.warp, partition, banks.reads);
        let passes = banks.is_spread && reads & self.pool.banks.waiting == 0 && (another_round || reads == 0);
        let free = if self.routed {
            self.pool.free & self.of_kind::<true>(partition, wires.id_oc.pipe(latch))
        } else {
            self.pool.free & self.pool.of_partition[partition % PARTITIONS]
        };
        if !passes || self.routed && free == 0 {
            return None;
        }
        wires.id_oc.pop(latch);
        let bit = free & free.wrapping_neg();
        self.pool.free &= !bit;
        let latch = if self.routed { wires.id_oc.id(flight.unit_pipe, partition) } else { latch };
        self.pool.collectors[bit.trailing_zeros() as usize % 64] = Collector::of(inst, latch);
        hooks.done.reads += u32::from(flight.vector_srcs);
        if self.routed {
            hooks.done.reads -= wires.slab.route(inst).skipped.count_ones();
        }
        wires.slab.get_mut(inst).stage = Stage::Collecting;
        hooks.collecting(wires.window(), inst, 0);
        hooks.collected(wires.window(), inst);
        if reads == 0 {
            self.pool.ready |= bit;
            return Some(0);
        }
        Some(bit)
    }

    /// Moves instructions from a partition's issue latches into its free collectors.
    #[inline(never)]
    fn allocate<const ROUTED: bool, P: IssuePolicy, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let mut moved = false;
        for latch in set_bits(wires.id_oc.occupied() & wires.id_oc.of_partition(partition)) {
            let latch = latch as LatchId;
            let mine = self.of_kind::<ROUTED>(partition, wires.id_oc.pipe(latch));
            let mut ports = self.pool.in_ports;
            while ports > 0
                && let Some(inst) = wires.id_oc.front(latch)
            {
                let free = self.pool.free & mine;
                if free == 0 {
                    if !ROUTED {
                        return moved;
                    }
                    break;
                }
                if self.kept.guard.any()
                    && self.kept.guard.covers(wires.slab.get(inst))
                    && Guard::must_wait(latch, partition, wires)
                {
                    break;
                }
                wires.id_oc.pop(latch);
                let unit = if ROUTED { wires.id_oc.id(wires.slab.get(inst).unit_pipe, partition) } else { latch };
                let at = (free.trailing_zeros(), partition);
                self.pool.place::<ROUTED, P, O>(at, Collector::of(inst, unit), 0, wires, hooks);
                moved = true;
                ports -= 1;
            }
        }
        moved
    }

    /// The collectors of `partition` that take instructions from issue latches of `pipe`.
    #[inline]
    fn of_kind<const ROUTED: bool>(&self, partition: usize, pipe: Pipe) -> Mask {
        self.kinds[partition % PARTITIONS][usize::from(ROUTED && pipe == Pipe::OF_LAYER)]
    }
}

impl<P: IssuePolicy> OperandStage<P> for Collectors {
    #[inline(always)]
    fn step<O: Observer>(&mut self, wires: &mut Wires<'_>, hooks: &mut Hooks<'_, P, O>) {
        match &mut self.port_order {
            None => self.step_in_turns(wires, hooks),
            Some(order) => order.step(&mut self.pool, self.kept, wires, hooks),
        }
        self.pool.banks.end_cycle();
    }

    of_the_pool!();

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.pool.persist(archive)?;
        part(&mut self.port_order, archive)
    }
}
