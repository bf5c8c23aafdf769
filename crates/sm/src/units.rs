//! Execution units other than memory, and the result buses.
//!
//! A unit takes an instruction from its OC_EX latch when its dispatch register is free (the last
//! one's initiation interval has passed), no instruction in it ends in the same cycle, and a
//! result bus is free in that cycle. Nothing is shifted or counted down: an accepted instruction is
//! an event at the cycle of its write-back.
//!
//! Timing follows GPGPU-Sim's `pipelined_simd_unit`: an instruction accepted in cycle *t* with
//! latency *L* is in EX_WB in *t + L + 1* and writes back in *t + L + 2*, before that cycle's issue.
//!
//! - D-U1: a unit count that the sub-cores do not divide evenly makes the pipe a shared one, whose
//!   units take the oldest instruction of any sub-core.

use crate::agenda::Agenda;
use crate::inflight::{InstId, Slab, Stage};
use crate::latches::{LatchId, Latches};
use crate::spec::{CoreSpec, Pipe};
use kit::bits::set_bits;
use kit::{Cycle, EventWheel};

/// Cycles from the end of a unit's latency to write-back: leaving the pipe, and EX_WB.
pub const WRITE_BACK_DELAY: Cycle = 2;

#[derive(Debug)]
struct Unit {
    /// First cycle in which the dispatch register is free.
    free_at: Cycle,
    /// Cycles, modulo the ring, in which an instruction ends.
    ending: Box<[u64]>,
}

/// The units, the result buses, and what is on its way to write-back.
#[derive(Debug)]
pub struct Units {
    units: Box<[Unit]>,
    /// First unit and number of units of each pipe.
    of_pipe: [(usize, usize); Pipe::COUNT],
    partitions: usize,
    /// Result buses taken, by cycle modulo the ring.
    buses_taken: Box<[u8]>,
    buses: u8,
    ring: usize,
    /// Instructions by the cycle in which they write back.
    pub ex_wb: EventWheel<InstId>,
}

impl Units {
    /// Idle units.
    pub fn new(spec: &CoreSpec) -> Self {
        let ring = (spec.max_latency() + 2).next_power_of_two().max(64);
        let mut of_pipe = [(0, 0); Pipe::COUNT];
        let mut total = 0;
        for (p, slot) in of_pipe.iter_mut().enumerate() {
            let pipe = Pipe(p as u8);
            let count = if pipe == Pipe::MEM { 0 } else { spec.unit_count(pipe) };
            *slot = (total, count);
            total += count;
        }
        let unit = || Unit { free_at: 0, ending: vec![0; ring / 64].into() };
        Self {
            units: (0..total).map(|_| unit()).collect(),
            of_pipe,
            partitions: spec.partitions,
            buses_taken: vec![0; ring].into(),
            buses: spec.sm.writeback_width as u8,
            ring,
            ex_wb: EventWheel::new(),
        }
    }

    /// Units take instructions from their latches. Calls `begin` for each one taken.
    pub fn accept(
        &mut self,
        now: Cycle,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        agenda: &mut Agenda,
        mut begin: impl FnMut(&Slab, InstId),
    ) {
        let mut pipes = oc_ex.occupied() & !oc_ex.of_pipe(Pipe::MEM);
        while pipes != 0 {
            let pipe = Pipe((pipes.trailing_zeros() as usize / self.partitions) as u8);
            let latches = oc_ex.of_pipe(pipe);
            let (first, count) = self.of_pipe[pipe.index()];
            if count.is_multiple_of(self.partitions) {
                for latch in set_bits(pipes & latches) {
                    let part = latch % self.partitions;
                    for unit in (part..count).step_by(self.partitions) {
                        let Some(id) = oc_ex.front(latch as LatchId) else { break };
                        self.try_accept(now, first + unit, latch as LatchId, id, oc_ex, slab, agenda, &mut begin);
                    }
                }
            } else {
                for unit in 0..count {
                    let age = |l: &usize| oc_ex.front(*l as LatchId).map(|id| slab.get(id).issued_at);
                    let oldest = set_bits(oc_ex.occupied() & latches).min_by_key(age);
                    let Some(latch) = oldest else { break };
                    let id = oc_ex.front(latch as LatchId).expect("an occupied latch");
                    self.try_accept(now, first + unit, latch as LatchId, id, oc_ex, slab, agenda, &mut begin);
                }
            }
            pipes &= !latches;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the stage's wires")]
    #[inline]
    fn try_accept(
        &mut self,
        now: Cycle,
        unit: usize,
        latch: LatchId,
        id: InstId,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        agenda: &mut Agenda,
        begin: &mut impl FnMut(&Slab, InstId),
    ) {
        let flight = slab.get_mut(id);
        let at = &mut self.units[unit];
        if at.free_at > now {
            agenda.at(at.free_at);
            return;
        }
        let ends = (now as usize + flight.latency_cycles as usize) & (self.ring - 1);
        let (word, bit) = (ends / 64, 1u64 << (ends % 64));
        if at.ending[word] & bit != 0 || self.buses_taken[ends] == self.buses {
            agenda.at(now + 1);
            return;
        }
        at.free_at = now + Cycle::from(flight.initiation_cycles);
        at.ending[word] |= bit;
        self.buses_taken[ends] += 1;
        flight.stage = Stage::Executing;
        flight.unit = unit as u8;
        self.ex_wb.schedule(now + Cycle::from(flight.latency_cycles) + WRITE_BACK_DELAY, id);
        oc_ex.pop(latch);
        begin(slab, id);
        agenda.moved();
    }

    /// The instruction has left its unit, which with its result bus is free for others that end in
    /// the cycle a whole ring later.
    #[inline]
    pub fn left(&mut self, now: Cycle, unit: u8) {
        let ended = (now - WRITE_BACK_DELAY) as usize & (self.ring - 1);
        self.units[unit as usize].ending[ended / 64] &= !(1 << (ended % 64));
        self.buses_taken[ended] -= 1;
    }
}
