//! Sidestep: in-order issue in which one arithmetic instruction may step past a stalled one.
//!
//! Paper: none; the smallest design that issues out of order. While the oldest instruction of a
//! warp waits, the next one issues in its place if it is arithmetic and touches no register
//! that the oldest one reads or writes in conflict.
//!
//! - D1: hazards against instructions that have issued are an exact WAR scoreboard's, cleared when
//!   operands are read.
//!
//! Structures: the instruction buffer, the scoreboards and a comparator of register names per warp.
//! Stalls: the oldest instruction's.

use designs::boards::{Release, WarScoreboard};
use isa::{Control, RegFile, RegId, WarpSlot};
use kit::Cycle;
use sm::operands::{CollectorRules, Collectors};
use sm::{
    Board, CachedFetch, Candidates, CoreDesign, CoreSpec, Each, Flight, Head, Heads, InstId, InstructionBuffer,
    IssuePolicy, LoadStoreUnit, PipeSet, Structure, Units, WakeUp, WarpMask, Window,
};

/// The design in one SM.
pub struct Sidestep<M: WarpMask = u64> {
    /// Each warp's instructions that have not issued, oldest first.
    buffer: InstructionBuffer<M>,
    /// Issued instructions, by the registers that they read and write.
    board: WarScoreboard<M>,
    /// Candidate or stall of each warp, for the warp schedulers.
    heads: Heads<M>,
    /// Warps whose candidate is the second instruction in the buffer.
    second: M,
}

impl<M: WarpMask> Sidestep<M> {
    /// Looks again for the candidate of `warp`: called when anything that matters to it has happened.
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        self.second.remove(warp);
        let ready = |id| Head::ready(window.inst(id).pipe);
        let head = match self.buffer.front(warp) {
            None => Head::EMPTY,
            Some(oldest) => match (self.board.hazard(window.flight(oldest)), self.buffer.get(warp, 1)) {
                (None, _) => ready(oldest),
                (Some(_), Some(next))
                    if Self::may_pass(window, oldest, next) && self.board.hazard(window.flight(next)).is_none() =>
                {
                    self.second.insert(warp);
                    ready(next)
                }
                (Some(stall), _) => Head::stalled(stall),
            },
        };
        self.heads.set(warp, head);
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
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    fn operands(_: &(), spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }
}

impl<M: WarpMask> IssuePolicy for Sidestep<M> {
    type Config = ();
    type Mask = M;

    fn new(_: &(), spec: &CoreSpec) -> Self {
        Self {
            buffer: InstructionBuffer::new(spec, spec.sm.frontend.buffer_entries),
            board: WarScoreboard::new(&Release::Read, spec),
            heads: Heads::default(),
            second: M::NONE,
        }
    }

    fn structures(&self) -> Vec<Structure> {
        // A guess: registers are distinguished by 8 bits, four of the oldest instruction from four of the next.
        let compared = self.buffer.structure().compares(16 * 8).searched(Each::Instruction.times(1));
        [vec![compared], self.board.structures()].concat()
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.board.start_warp(warp, regs);
    }

    fn room(&self) -> M {
        self.buffer.room()
    }

    fn insert(&mut self, flight: Flight<'_>) {
        self.buffer.push(flight.warp, flight.id);
        self.examine(flight.window, flight.warp);
    }

    fn tick(&mut self, _now: Cycle, _window: Window<'_>, _wake_up: &mut WakeUp) -> M {
        self.heads.take_changed()
    }

    fn candidates(&self) -> &Candidates<M> {
        self.heads.candidates()
    }

    fn select(&self, _window: Window<'_>, warp: WarpSlot, _pipes: PipeSet) -> InstId {
        self.buffer.get(warp, self.second.contains(warp).into()).expect("only a warp with a candidate is asked for it")
    }

    fn on_issue(&mut self, flight: Flight<'_>) {
        let warp = flight.warp;
        self.buffer.remove(warp, self.second.contains(warp).into());
        self.board.on_issue(flight);
        self.examine(flight.window, warp);
    }

    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) {
        if self.board.on_operands_read(window, id) {
            self.examine(window, window.inst(id).warp);
        }
    }

    fn on_writeback(&mut self, flight: Flight<'_>) {
        self.board.on_writeback(flight);
        self.examine(flight.window, flight.warp);
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.buffer.front(warp)
    }
}
