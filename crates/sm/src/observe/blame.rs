//! Finds the instruction that holds the resource of a ready one, and the one that delayed the last warp at a barrier.
//!
//! - The memory pipe is held by the access that entered it last, until the next one enters.
//! - A unit is held by the instruction that entered it last, of those that issued in the same slot. The unit is the one
//!   for which the oldest instruction with operands waits: it also keeps instructions for other units from issue. Without
//!   such an instruction it is the one of the oldest that has not entered its own.
//! - Operand collectors are held by the oldest instruction in them, of those that issued in the same slot.
//! - Warps wait at a barrier for its last warp. Their slots belong to the instruction that this warp waited for longest
//!   between two of its issues since the last barrier: the one that completed last before it continued, the holder of the
//!   memory pipe for an access, or else the instruction that waited.
//! - The slots of a warp that waits for asynchronous work are summed up until it is complete.

use crate::inflight::InstId;
use crate::observe::stalls::Stall;
use crate::spec::Pipe;
use crate::warps::mask::MOST_WARPS;
use isa::{Pc, WarpSlot};
use kit::Cycle;

/// Reasons to wait for work that continues without instructions of the warp.
const ASYNCHRONOUS: [Stall; 3] = [Stall::AsyncCopy, Stall::MatrixGroup, Stall::Mbarrier];

/// Whether `stall` is a wait for asynchronous work.
pub(super) fn is_asynchronous(stall: Stall) -> bool {
    ASYNCHRONOUS.contains(&stall)
}

/// The code with this number, and the instruction.
pub(super) type Place = (u32, Pc);

/// A warp since its last barrier.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// When it issued last.
    issued: Cycle,
    /// The instruction that has completed last since then.
    completed: Option<Place>,
    /// The longest time between two of its issues, and what it waited for.
    longest: Option<(Cycle, Place)>,
}

/// An instruction that has not entered its unit.
#[derive(Clone, Copy, Debug)]
struct Entering {
    id: InstId,
    pipe: Pipe,
    has_operands: bool,
}

/// Slots in which a warp has waited for asynchronous work that is not complete, by reason.
type Waited = [u64; ASYNCHRONOUS.len()];

/// Holders of pipes, units and collectors.
#[derive(Clone, Debug)]
pub(super) struct Blame {
    memory: Option<Place>,
    /// By issue slot: the instruction that entered each unit last.
    units: Box<[Vec<(Pipe, Place)>]>,
    /// By issue slot, oldest first: instructions that have not entered their units. Accesses to memory have a pipe.
    entering: Box<[Vec<Entering>]>,
    /// By issue slot, oldest first.
    collecting: Box<[Vec<(InstId, Place)>]>,
    warps: Box<[Progress]>,
    waited: Box<[Waited]>,
    /// The warp that issued last.
    last: WarpSlot,
    /// Slots in which warps waited at barriers that are not complete.
    at_barriers: u64,
}

impl Blame {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            memory: None,
            units: vec![Vec::new(); slots].into(),
            entering: vec![Vec::new(); slots].into(),
            collecting: vec![Vec::new(); slots].into(),
            warps: vec![Progress::default(); MOST_WARPS].into(),
            waited: vec![Waited::default(); MOST_WARPS].into(),
            last: WarpSlot(0),
            at_barriers: 0,
        }
    }

    /// The access that holds the memory pipe.
    pub(super) fn memory(&self) -> Option<Place> {
        self.memory
    }

    /// The instruction from `slot` that holds the unit for which others from it wait, if they wait for one, or else the unit
    /// of `own`.
    pub(super) fn unit(&self, slot: usize, own: Pipe) -> Option<Place> {
        let entering = &self.entering[slot];
        let first = entering.iter().find(|inst| inst.has_operands).or(entering.first());
        let pipe = first.map_or(own, |inst| inst.pipe);
        self.units[slot].iter().find(|(of, _)| *of == pipe).map(|&(_, place)| place)
    }

    /// The oldest instruction from `slot` in an operand collector.
    pub(super) fn collector(&self, slot: usize) -> Option<Place> {
        self.collecting[slot].first().map(|&(_, place)| place)
    }

    /// An access enters the memory pipe.
    pub(super) fn accesses(&mut self, place: Place) {
        self.memory = Some(place);
    }

    /// Instruction `id` issues in `slot`, for the unit of `pipe`.
    pub(super) fn goes(&mut self, slot: usize, id: InstId, pipe: Pipe) {
        if pipe != Pipe::MEM {
            self.entering[slot].push(Entering { id, pipe, has_operands: false });
        }
    }

    /// Instruction `id`, which issued in `slot`, waits for no unit any more.
    pub(super) fn gone(&mut self, slot: usize, id: InstId) {
        self.entering[slot].retain(|inst| inst.id != id);
    }

    /// Instruction `id`, which issued in `slot`, enters the unit of `pipe`.
    pub(super) fn executes(&mut self, slot: usize, id: InstId, pipe: Pipe, place: Place) {
        self.gone(slot, id);
        match self.units[slot].iter_mut().find(|(of, _)| *of == pipe) {
            Some((_, holder)) => *holder = place,
            None => self.units[slot].push((pipe, place)),
        }
    }

    /// An instruction that issued in `slot` enters a collector.
    pub(super) fn collects(&mut self, slot: usize, id: InstId, place: Place) {
        self.collecting[slot].push((id, place));
    }

    /// An instruction that issued in `slot` has its operands, and leaves its collector.
    pub(super) fn collected(&mut self, slot: usize, id: InstId) {
        let waits = self.entering[slot].iter_mut().find(|inst| inst.id == id);
        waits.into_iter().for_each(|inst| inst.has_operands = true);
        self.collecting[slot].retain(|(of, _)| *of != id);
    }

    /// `warp` issues the instruction at `place`, an access to memory or another one.
    pub(super) fn issues(&mut self, now: Cycle, warp: WarpSlot, place: Place, is_access: bool) {
        self.last = warp;
        let held = self.memory.filter(|_| is_access);
        let progress = &mut self.warps[warp.index()];
        let waited = now.saturating_sub(progress.issued);
        if progress.longest.is_none_or(|(longest, _)| waited > longest) {
            progress.longest = Some((waited, progress.completed.or(held).unwrap_or(place)));
        }
        (progress.issued, progress.completed) = (now, None);
    }

    /// The instruction of `warp` at `place` is complete.
    pub(super) fn completes(&mut self, warp: WarpSlot, place: Place) {
        self.warps[warp.index()].completed = Some(place);
    }

    /// `warp` begins.
    pub(super) fn begins(&mut self, now: Cycle, warp: WarpSlot) {
        self.warps[warp.index()] = Progress { issued: now, ..Progress::default() };
        self.waited[warp.index()] = Waited::default();
    }

    /// `warp` has waited for `slots` issue slots because of `stall`.
    pub(super) fn waits(&mut self, warp: WarpSlot, stall: Stall, slots: u64) {
        if let Some(reason) = ASYNCHRONOUS.iter().position(|&reason| reason == stall) {
            self.waited[warp.index()][reason] += slots;
        }
    }

    /// The slots in which `warp` has waited because of `stall`; it waits no longer.
    pub(super) fn take_waited(&mut self, warp: WarpSlot, stall: Stall) -> u64 {
        let reason = ASYNCHRONOUS.iter().position(|&reason| reason == stall);
        reason.map_or(0, |reason| std::mem::take(&mut self.waited[warp.index()][reason]))
    }

    /// Warps have waited at a barrier in `slots` issue slots.
    pub(super) fn waits_at_barrier(&mut self, slots: u64) {
        self.at_barriers += slots;
    }

    /// A barrier of `warps` is complete: the instruction that its last warp waited for, and the slots that it cost.
    pub(super) fn releases(&mut self, now: Cycle, warps: u128) -> (Option<Place>, u64) {
        let cause = self.warps[self.last.index()].longest.map(|(_, place)| place);
        for (_, progress) in self.warps.iter_mut().enumerate().filter(|(warp, _)| warps >> warp & 1 != 0) {
            *progress = Progress { issued: now, ..Progress::default() };
        }
        (cause, std::mem::take(&mut self.at_barriers))
    }
}

kit::persist! {
    struct Blame { at_barriers; skip memory, units, entering, collecting, warps, waited, last }
}
