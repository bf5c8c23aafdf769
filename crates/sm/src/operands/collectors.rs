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
//! A collector may dispatch its instruction before an older one, even if both access memory or the younger
//! one overwrites a register that the older one has not read. A core design can require order
//! ([`CollectorRules`]).
//!
//! - D-OC1: input ports limit instructions per pipe and round, as in GPGPU-Sim 4; but a pipe whose
//!   oldest instruction finds its own sub-core's collectors taken does not hold up other sub-cores.
//! - D-OC2: two registers of one instruction that are in one bank are written in one cycle.
//! - D-OC3: each sub-core has its share of the output ports and one round-robin pointer, so that its
//!   collectors take turns. GPGPU-Sim has a pointer per port over the collectors of all sub-cores,
//!   with which one sub-core's pace can keep another's instruction in its collector indefinitely.

use super::gpgpu_sim_order::PortOrder;
use super::pool::{Pool, of_the_pool};
use super::read_guard::{Guard, Kept};
use super::{Hooks, Mask, OperandStage, PARTITIONS, RegisterBanks, Wires, low};
use crate::execute::latches::LatchId;
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::Observer;
use crate::spec::{CoreSpec, Pipe};
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
    port_order: Option<PortOrder>,
}

impl Collectors {
    /// Creates the collectors of `spec`, all free.
    pub fn new(spec: &CoreSpec, rules: CollectorRules) -> Self {
        let (operands, partitions) = (&spec.sm.operands, spec.partitions);
        let each = (operands.collectors as usize / partitions).clamp(1, 64 / partitions);
        let of_layer = spec.layer_collectors() as usize / partitions;
        let vector = |p: usize| low(each) << (p * each);
        // The layer's units come after all others.
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
            port_order: spec.options.collectors_as_gpgpu_sim.then(|| PortOrder::new(spec, each)),
        }
    }

    /// Whether every write waits here for older reads ([`CollectorRules::guards_reads`]).
    pub fn guards_reads(&self) -> bool {
        self.kept.guard == Guard::All
    }

    /// One cycle of all partitions, which share nothing.
    #[inline(always)]
    fn step_in_turns<P: IssuePolicy, O: Observer>(&mut self, wires: &mut Wires<'_>, hooks: &mut Hooks<'_, P, O>) {
        let mut banks = !self.pool.banks.written;
        let (mut touched, mut taken) = (0, 0);
        for _ in 0..self.pool.rounds {
            let mut quiet = true;
            if self.pool.ready & !self.pool.blocked != 0 {
                touched |= self.dispatch(wires, hooks);
                quiet = false;
            }
            if self.pool.banks.waiting & banks != 0 {
                touched |= self.pool.serve_reads(banks, wires, hooks);
                quiet = false;
            }
            if wires.id_oc.occupied() & self.pool.open != 0 {
                taken |= if self.routed {
                    self.allocate::<true, P, O>(wires, hooks)
                } else {
                    self.allocate::<false, P, O>(wires, hooks)
                };
                quiet = false;
            }
            // A round that finds nothing to do leaves nothing for the next, except to the banks that
            // were being written.
            if quiet && self.pool.banks.waiting == 0 {
                break;
            }
            banks = Mask::MAX;
        }
        (hooks.done.touched, hooks.done.taken) = (touched | taken, taken);
        let sends = self.pool.ready & !self.pool.blocked != 0;
        let takes = wires.id_oc.occupied() & self.pool.open != 0;
        let goes_on = self.pool.banks.waiting != 0 || sends || takes;
        self.pool.awake = if goes_on { u8::MAX } else { 0 };
    }

    /// Sends collected instructions on, the instructions of each partition in turn after the last one sent. Returns the
    /// partitions in which any went, one bit each.
    #[inline(always)]
    fn dispatch<P: IssuePolicy, O: Observer>(&mut self, wires: &mut Wires<'_>, hooks: &mut Hooks<'_, P, O>) -> u8 {
        let mut touched = 0;
        let mut all = self.pool.ready & !self.pool.blocked;
        while all != 0 {
            let partition =
                usize::from(self.pool.collectors[all.trailing_zeros() as usize % 64].partition) % PARTITIONS;
            let mut candidates = all & self.pool.of_partition[partition % PARTITIONS];
            all ^= candidates;
            if self.kept.guard.any() && self.pool.banks.any_read_waits_in(partition) {
                candidates = self.kept.guard.may_leave_of(candidates, partition, &self.pool, wires.window());
            }
            let after_last = Mask::MAX << 1 << self.pool.last[partition % PARTITIONS];
            if let Some(c) = self.next_to_send(&mut candidates, after_last, wires) {
                self.send(c, partition, wires, hooks);
                touched |= 1 << partition;
                if self.pool.out_ports > 1 && candidates & !self.pool.blocked != 0 {
                    let (wires, hooks) = (&mut wires.reborrow(), &mut hooks.reborrow());
                    self.dispatch_more((candidates, after_last), partition, wires, hooks);
                }
            }
        }
        touched
    }

    /// Sends on as many more of the `candidates` of `partition` as its other output ports take.
    #[cold]
    #[inline(never)]
    fn dispatch_more<P: IssuePolicy, O: Observer>(
        &mut self,
        (mut candidates, after_last): (Mask, Mask),
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        for _port in 1..self.pool.out_ports {
            candidates &= !self.pool.blocked;
            let Some(c) = self.next_to_send(&mut candidates, after_last, wires) else { break };
            self.send(c, partition, wires, hooks);
        }
    }

    /// Takes the collector whose instruction is sent on next out of `candidates`: the first after the last one, of
    /// those that overtake nothing.
    #[inline(always)]
    fn next_to_send(&self, candidates: &mut Mask, after_last: Mask, wires: &Wires<'_>) -> Option<u32> {
        while *candidates != 0 {
            let after = *candidates & after_last;
            let c = if after == 0 { *candidates } else { after }.trailing_zeros();
            *candidates &= !(1 << c);
            if !(self.kept.memory_order && self.pool.would_overtake(c, wires.slab)) {
                return Some(c);
            }
        }
        None
    }

    /// The instruction in collector `c` of `partition`, which has its operands, leaves to its latch.
    #[inline(always)]
    fn send<P: IssuePolicy, O: Observer>(
        &mut self,
        c: u32,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        let inst = self.pool.collectors[c as usize % 64].inst;
        self.pool.send(c, wires.oc_ex);
        self.pool.release(c, partition);
        self.pool.last[partition % PARTITIONS] = c;
        hooks.operands_read(wires.window(), inst);
    }

    /// Moves instructions from issue latches into free collectors of their partitions. Returns the partitions in
    /// which any moved, one bit each.
    #[inline(always)]
    fn allocate<const ROUTED: bool, P: IssuePolicy, O: Observer>(
        &mut self,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> u8 {
        let mut touched = 0;
        let mut latches = wires.id_oc.occupied() & self.pool.open;
        while latches != 0 {
            let latch = latches.trailing_zeros() as LatchId;
            let partition = wires.id_oc.partition(latch);
            if self.allocate_one::<ROUTED, P, O>(latch, partition, wires, hooks) {
                touched |= 1 << partition;
                if self.pool.in_ports > 1 && wires.id_oc.front(latch).is_some() {
                    let (wires, hooks) = (&mut wires.reborrow(), &mut hooks.reborrow());
                    self.allocate_more::<ROUTED, P, O>(latch, partition, wires, hooks);
                }
            }
            latches &= (latches - 1) & self.pool.open;
        }
        touched
    }

    /// Moves as many more instructions out of `latch` of `partition` as the other input ports take.
    #[cold]
    #[inline(never)]
    fn allocate_more<const ROUTED: bool, P: IssuePolicy, O: Observer>(
        &mut self,
        latch: LatchId,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        for _port in 1..self.pool.in_ports {
            let any = wires.id_oc.front(latch).is_some();
            if !any || !self.allocate_one::<ROUTED, P, O>(latch, partition, wires, hooks) {
                break;
            }
        }
    }

    /// Moves the oldest instruction in `latch` of `partition`, which is not empty, into a free collector. False if there
    /// is none, or it has to wait.
    #[inline(always)]
    fn allocate_one<const ROUTED: bool, P: IssuePolicy, O: Observer>(
        &mut self,
        latch: LatchId,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let free = self.pool.free & self.of_kind::<ROUTED>(partition, wires.id_oc.pipe(latch));
        if free == 0 {
            return false;
        }
        let (inst, order) = (wires.id_oc.oldest_in(latch), wires.id_oc.order(latch));
        if self.kept.guard.any()
            && self.kept.guard.covers(wires.slab.get(inst))
            && Guard::must_wait(latch, partition, wires.id_oc, wires.window())
        {
            return false;
        }
        wires.id_oc.drop_oldest(latch);
        let unit = if ROUTED { wires.id_oc.id(wires.slab.get(inst).unit_pipe, partition) } else { latch };
        let at = (free.trailing_zeros(), partition);
        self.pool.place::<ROUTED, P, O>(at, (inst, order, unit), 0, wires, hooks);
        true
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
            Some(order) => {
                let (wires, mut apart) = (&mut wires.reborrow(), hooks.reborrow());
                order.step(&mut self.pool, self.kept, wires, &mut apart);
                hooks.done = apart.done;
            }
        }
        self.pool.banks.end_cycle();
    }

    /// A cycle is one of all partitions.
    #[inline]
    fn wake(&mut self, _partition: usize) {
        self.pool.awake = u8::MAX;
    }

    of_the_pool!();

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.pool.persist(archive)?;
        part(&mut self.port_order, archive)
    }
}
