//! Sidestep: in-order issue in which one arithmetic instruction may step past a stalled one.
//!
//! Paper: none; the smallest design that issues out of order. While the oldest instruction of a
//! warp waits, the one behind it issues in its place if it is arithmetic and touches no register
//! that the oldest one reads or writes in conflict.
//!
//! - D1: hazards against instructions that have issued are an exact WAR scoreboard's, cleared when
//!   operands are read.
//!
//! Structures: the instruction buffer, the scoreboards and a comparator of register names per warp.
//! Stalls: those of the oldest instruction.

use isa::{Control, RegFile, RegId, WarpSlot};
use sm::operands::{CollectorRules, Collectors};
use sm::policy::boards::{Release, WarScoreboard};
use sm::{
    Board, CoreDesign, CoreSpec, Each, InstId, IssuePolicy, PipeSet, ReadyMasks, Stall, StallMasks, Structure,
    WarpMask, Window,
};
use std::collections::VecDeque;

/// The design in one SM.
pub struct Sidestep<M: WarpMask = u64> {
    /// Each warp's instructions that have not issued, oldest first.
    buffers: Vec<VecDeque<InstId>>,
    /// What has issued, by the registers it reads and writes.
    board: WarScoreboard<M>,
    /// The instruction that each warp would issue.
    candidates: Vec<Option<InstId>>,
    ready: ReadyMasks<M>,
    stalls: StallMasks<M>,
    room: M,
    warps: usize,
    entries: usize,
    per_fetch: usize,
}

impl<M: WarpMask> Sidestep<M> {
    /// Looks again for the candidate of `warp`: called when anything that matters to it has happened.
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        let (bit, buffer) = (M::of(warp), &self.buffers[warp.index()]);
        PipeSet::ALL.iter().for_each(|pipe| self.ready.remove(pipe, bit));
        Stall::ALL.iter().for_each(|&stall| self.stalls.remove(stall, bit));
        let hazard = |id| self.board.hazard(window, id);
        let mut candidate = buffer.front().copied();
        if let Some(stall) = candidate.and_then(hazard) {
            let behind = buffer.get(1).copied();
            candidate = behind.filter(|&id| Self::may_pass(window, buffer[0], id) && hazard(id).is_none());
            if candidate.is_none() {
                self.stalls.insert(stall, bit);
            }
        }
        candidate.iter().for_each(|&id| self.ready.insert(window.inst(id).pipe, bit));
        self.candidates[warp.index()] = candidate;
        let room = buffer.len() + self.per_fetch <= self.entries;
        self.room = if room { self.room | bit } else { self.room & !bit };
    }

    /// Whether `younger` may issue before `oldest`.
    fn may_pass(window: Window<'_>, oldest: InstId, younger: InstId) -> bool {
        let meets = |a: &[RegId], b: &[RegId]| a.iter().any(|reg| b.contains(reg));
        let (reads, writes) = (window.srcs(oldest), window.dsts(oldest));
        let arithmetic = window.inst(younger).control == Control::None && window.inst(younger).mem.is_none();
        arithmetic
            && window.inst(oldest).control == Control::None
            && !meets(writes, window.srcs(younger))
            && !meets(writes, window.dsts(younger))
            && !meets(reads, window.dsts(younger))
    }
}

impl<M: WarpMask> CoreDesign for Sidestep<M> {
    type Issue = Self;
    type Operands = Collectors;

    fn operands(_: &(), spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }
}

impl<M: WarpMask> IssuePolicy for Sidestep<M> {
    type Config = ();
    type Mask = M;

    fn new(_: &(), spec: &CoreSpec) -> Self {
        let (warps, frontend) = (spec.sm.max_warps as usize, &spec.sm.frontend);
        Self {
            buffers: vec![VecDeque::with_capacity(frontend.buffer_entries as usize); warps],
            board: WarScoreboard::new(&Release::Read, spec),
            candidates: vec![None; warps],
            ready: ReadyMasks::default(),
            stalls: StallMasks::default(),
            room: M::ALL,
            warps,
            entries: frontend.buffer_entries as usize,
            per_fetch: frontend.instructions_per_fetch as usize,
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let once = Each::Instruction.times(1);
        // A guess: a valid bit and 64 bits of decoded instruction; registers are told apart by 8 bits,
        // four of the oldest instruction from four of the next.
        let buffer = Structure::new("instruction buffer", self.warps, self.entries, 65)
            .ports(2, self.per_fetch)
            .compares(16 * 8)
            .read(once)
            .written(once)
            .searched(once);
        let mut all = vec![buffer];
        all.extend(self.board.structures());
        all
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.board.start_warp(warp, regs);
    }

    fn room(&self) -> M {
        self.room
    }

    fn insert(&mut self, window: Window<'_>, id: InstId) {
        let warp = window.inst(id).warp;
        self.buffers[warp.index()].push_back(id);
        self.examine(window, warp);
    }

    fn ready(&self) -> &ReadyMasks<M> {
        &self.ready
    }

    fn select(&self, _window: Window<'_>, warp: WarpSlot, _pipes: PipeSet) -> InstId {
        self.candidates[warp.index()].expect("only a warp with a candidate is asked for it")
    }

    fn stalls(&self) -> &StallMasks<M> {
        &self.stalls
    }

    fn on_issue(&mut self, window: Window<'_>, id: InstId) {
        let warp = window.inst(id).warp;
        self.buffers[warp.index()].retain(|&waiting| waiting != id);
        self.board.on_issue(window, id);
        self.examine(window, warp);
    }

    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) {
        if self.board.on_operands_read(window, id) {
            self.examine(window, window.inst(id).warp);
        }
    }

    fn on_writeback(&mut self, window: Window<'_>, id: InstId) {
        self.board.on_writeback(window, id);
        self.examine(window, window.inst(id).warp);
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.buffers[warp.index()].front().copied()
    }
}
