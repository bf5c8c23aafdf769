//! Operand collectors as the reservation stations of an issue design.
//!
//! - **In.** Instructions of a sub-core take stations in the order in which they issued: all others
//!   wait after one that finds none free. So none waits in a station for the result of one that has
//!   no station.
//! - **Operands** are read from the register file, or awaited and captured when they are broadcast.
//! - **Out.** An instruction leaves for its unit when it has its operands, in any order but for two
//!   rules. No older one of its warp may have yet to read, from the register file, a register that it
//!   writes; and the issue design orders accesses to memory ([`FeedsStations::may_pass`]).
//! - **Free.** A station is its instruction's until the result is broadcast; one without a result gives
//!   it up when it leaves.

use super::pool::{Collector, Pool, of_the_pool};
use super::{Hooks, Mask, OperandStage, PARTITIONS, RegisterBanks, Wires, low};
use crate::inflight::{InFlight, InstId};
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::Observer;
use crate::slab::{Slab, Window};
use crate::spec::CoreSpec;
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist};

/// Reservation stations of an SM in place of the GPU's operand collectors, shared out evenly among the
/// sub-cores; at most 64 in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationCounts {
    /// Those that take any instruction, or all but accesses to memory if these have their own.
    pub any: u32,
    /// Those that take accesses to memory and nothing else.
    pub of_memory: u32,
}

/// An issue design whose instructions may issue before their sources are there.
pub trait FeedsStations: IssuePolicy {
    /// Which of the sources of `id` (by place in [`Window::srcs`], one bit each) it does not read but
    /// awaits in its station. Asked when it enters its station.
    fn awaited(&self, window: Window<'_>, id: InstId) -> u64;

    /// An instruction in a station for which one awaited source has come. Asked after each write-back
    /// until there is none.
    fn take_woken(&mut self) -> Option<InstId>;

    /// Whether the access `younger`, which has its operands, may leave its station before `older`, an
    /// access of the same warp in another one; `known` if that one has its operands. Asked again only
    /// when something has moved in the stations of the sub-core.
    fn may_pass(_window: Window<'_>, _younger: InstId, _older: InstId, _known: bool) -> bool {
        false
    }
}

/// The stations over the register banks.
#[derive(Debug)]
pub struct ReservationStations {
    pool: Pool,
    /// Stations whose instructions have left and whose results have yet to come.
    sent: Mask,
    /// Stations with a memory access that has not left.
    memory: Mask,
    /// Stations for other instructions, and for memory accesses.
    of_kind: [Mask; 2],
}

impl ReservationStations {
    /// Creates the stations of an SM of `spec`, all free.
    pub fn new(spec: &CoreSpec, counts: StationCounts) -> Self {
        let partitions = spec.partitions;
        let most = 64 / partitions;
        let each = (counts.any as usize / partitions).clamp(1, most);
        let of_memory = (counts.of_memory as usize / partitions).min(most - each);
        // Those for memory accesses only come after all others.
        let (shared, all) = (low(each * partitions), low((each + of_memory) * partitions));
        let first_of_memory = |p: usize| each * partitions + p * of_memory;
        let of_partition = |p: usize| low(each) << (p * each) | low(of_memory) << first_of_memory(p).min(63);
        Self {
            pool: Pool::new(spec, each, of_partition),
            sent: 0,
            memory: 0,
            of_kind: [shared, if of_memory == 0 { shared } else { all & !shared }],
        }
    }

    /// The rounds of one partition. True if anything moved.
    fn step_partition<P: FeedsStations, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let mut moved = false;
        let mine = self.pool.of_partition[partition % PARTITIONS];
        let all_banks = self.pool.banks.of_partition[partition % PARTITIONS];
        let mut banks = all_banks & !self.pool.banks.written;
        for _ in 0..self.pool.rounds {
            if self.pool.ready & mine & !self.pool.blocked != 0 {
                moved |= self.send(partition, wires, hooks);
            }
            if self.pool.banks.waiting & banks != 0 {
                self.pool.serve_reads(banks, wires, hooks);
                moved = true;
            }
            if wires.id_oc.occupied() & wires.id_oc.of_partition(partition) != 0 {
                moved |= self.admit(partition, wires, hooks);
            }
            banks = all_banks;
        }
        moved
    }

    /// Instructions enter stations in the order of issue, while the next one finds one free.
    fn admit<P: FeedsStations, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let mut moved = false;
        for _ in 0..self.pool.in_ports {
            let waiting = wires.id_oc.occupied() & wires.id_oc.of_partition(partition);
            if waiting == 0 {
                break;
            }
            let latch = wires.id_oc.oldest(waiting);
            let Some(inst) = wires.id_oc.front(latch) else { break };
            let in_memory = wires.slab.get(inst).mem.is_some();
            let mine = self.pool.of_partition[partition % PARTITIONS];
            let free = self.pool.free & mine & self.of_kind[usize::from(in_memory)];
            if free == 0 {
                break;
            }
            let order = wires.id_oc.order(latch);
            wires.id_oc.pop(latch);
            wires.slab.get_mut(inst).station = free.trailing_zeros() as u8;
            let awaited = hooks.policy.awaited(wires.window(), inst);
            let at = (free.trailing_zeros(), partition);
            self.pool.place::<false, P, O>(at, (inst, order, latch), awaited, wires, hooks);
            self.memory |= if in_memory { free & free.wrapping_neg() } else { 0 };
            moved = true;
        }
        moved
    }

    /// Sends instructions of a partition on that have their operands, in turn after the last one.
    fn send<P: FeedsStations, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        let mut moved = false;
        let mut candidates = self.pool.ready & !self.pool.blocked & self.pool.of_partition[partition % PARTITIONS];
        let after_last = Mask::MAX << 1 << self.pool.last[partition % PARTITIONS];
        let mut ports = self.pool.out_ports;
        while candidates != 0 && ports > 0 {
            let after = candidates & after_last;
            let c = if after == 0 { candidates } else { after }.trailing_zeros();
            candidates &= !(1 << c);
            let inst = self.pool.collectors[c as usize % 64].inst;
            if !self.may_leave::<P>(c, partition, wires.window()) {
                continue;
            }
            self.pool.send(c, wires.oc_ex);
            candidates &= !self.pool.blocked;
            self.memory &= !(1 << c);
            self.pool.last[partition % PARTITIONS] = c;
            ports -= 1;
            moved = true;
            if wires.slab.get(inst).dsts == 0 {
                self.pool.release(c, partition);
            } else {
                self.sent |= 1 << c;
            }
            hooks.operands_read(wires.window(), inst);
        }
        moved
    }

    /// Whether the instruction in station `c`, which has its operands, may leave before all older ones
    /// of its warp.
    #[inline]
    fn may_leave<P: FeedsStations>(&self, c: u32, partition: usize, window: Window<'_>) -> bool {
        let pool = &self.pool;
        let mine = pool.of_partition[partition % PARTITIONS];
        let Collector { order, inst: id, .. } = pool.collectors[c as usize % 64];
        let (me, names) = (window.inst(id), window.names(id));
        let is_older = |other: &Collector| other.order < order && window.inst(other.inst).warp == me.warp;
        if me.mem.is_some() {
            let before = |o: usize| {
                let other = &pool.collectors[o % 64];
                is_older(other) && !P::may_pass(window, id, other.inst, pool.ready >> o & 1 != 0)
            };
            if set_bits(self.memory & mine & !(1 << c)).any(before) {
                return false;
            }
        }
        if !pool.banks.any_read_waits_in(partition) || me.dsts == 0 {
            return true;
        }
        let reads_mine = |o: usize| {
            let other = &pool.collectors[o % 64];
            is_older(other) && (me.is_wide || names.writes.meets(&window.names(other.inst).reads))
        };
        !set_bits(mine & pool.reading).any(reads_mine)
    }

    /// An awaited source of the instruction in `station` of `partition` has come.
    #[inline]
    fn deliver(&mut self, partition: usize, station: u8) {
        let pool = &mut self.pool;
        let collector = &mut pool.collectors[usize::from(station) % 64];
        collector.awaited -= 1;
        pool.awaiting &= !(u64::from(collector.awaited == 0) << (station % 64));
        pool.ready |= (1 << (station % 64)) & !pool.awaiting & !pool.reading;
        pool.awake |= 1 << partition;
    }

    /// The result of the instruction in `station` of `partition` is broadcast: the station is free.
    #[inline]
    fn release(&mut self, partition: usize, station: u8) {
        let bit = 1 << (station & 63);
        debug_assert!(self.sent & bit != 0, "a result of an instruction that has not left its station");
        self.sent &= !bit;
        self.pool.release(station.into(), partition);
        self.pool.awake |= 1 << partition;
    }
}

impl<P: FeedsStations> OperandStage<P> for ReservationStations {
    fn step<O: Observer>(&mut self, wires: &mut Wires<'_>, hooks: &mut Hooks<'_, P, O>) {
        for partition in set_bits(self.pool.awake.into()) {
            let moved = self.step_partition(partition, wires, hooks);
            hooks.done.touched |= u8::from(moved) << partition;
            // All that could let an instruction in or out is a movement, a broadcast or a latch.
            if !moved && !self.pool.banks.any_read_waits_in(partition) {
                self.pool.awake &= !(1 << partition);
            }
        }
        // That any moves may make room for one that found no station.
        hooks.done.taken = hooks.done.touched;
        self.pool.banks.end_cycle();
    }

    #[inline]
    fn wake(&mut self, partition: usize) {
        self.pool.awake |= 1 << partition;
    }

    of_the_pool!();

    #[inline]
    fn written_back(&mut self, policy: &mut P, slab: &Slab, id: InstId, partition: usize) {
        // Results go to stations of their own warp, which are in its partition.
        while let Some(woken) = policy.take_woken() {
            self.deliver(partition, slab.get(woken).station);
        }
        let InFlight { micro, station, .. } = slab.get(id);
        if micro.dsts > 0 {
            self.release(partition, *station);
        }
    }

    /// Whether instructions of memory, or the others, find no station free.
    fn is_full(&self, partition: usize) -> bool {
        let free = self.pool.free & self.pool.of_partition[partition % PARTITIONS];
        self.of_kind.iter().any(|kind| free & kind == 0)
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.pool.persist(archive)
    }
}
