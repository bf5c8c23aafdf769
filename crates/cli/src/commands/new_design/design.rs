//! NewDesign: in-order issue behind an exact write-after-read scoreboard, the beginning of a design of its own.
//!
//! Paper: none yet. Name the paper and its section here, and number what deviates from it:
//!
//! - D1: hazards against instructions that have issued are an exact WAR scoreboard's, cleared when operands are read.
//!
//! Structures: the instruction buffer and the scoreboards.
//! Stalls: the oldest instruction's.

use crate::boards::{Release, WarScoreboard};
use isa::{RegFile, WarpSlot};
use kit::Cycle;
use sm::operands::{CollectorRules, Collectors};
use sm::{
    Board, CachedFetch, Candidates, CoreDesign, CoreSpec, Flight, Head, Heads, InstId, InstructionBuffer, IssuePolicy,
    LoadStoreUnit, PipeSet, Structure, Units, WakeUp, WarpMask, Window,
};

/// The design in one SM.
pub struct NewDesign<M: WarpMask = u64> {
    /// Each warp's instructions that have not issued, oldest first.
    buffer: InstructionBuffer<M>,
    /// Issued instructions, by the registers that they read and write.
    board: WarScoreboard<M>,
    /// Candidate or stall of each warp, for the warp schedulers.
    heads: Heads<M>,
}

impl<M: WarpMask> NewDesign<M> {
    /// Looks again for the candidate of `warp`: called when anything that matters to it has happened.
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        let head = match self.buffer.front(warp) {
            None => Head::EMPTY,
            Some(id) => {
                let oldest = window.flight(id);
                self.board.hazard(oldest).map_or(Head::ready(oldest.pipe), Head::stalled)
            }
        };
        self.heads.set(warp, head);
    }
}

impl<M: WarpMask> CoreDesign for NewDesign<M> {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    fn operands(_: &(), spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }
}

impl<M: WarpMask> IssuePolicy for NewDesign<M> {
    type Config = ();
    type Mask = M;

    fn new(_: &(), spec: &CoreSpec) -> Self {
        Self {
            buffer: InstructionBuffer::new(spec, spec.sm.frontend.buffer_entries),
            board: WarScoreboard::new(&Release::Read, spec),
            heads: Heads::default(),
        }
    }

    fn structures(&self) -> Vec<Structure> {
        [vec![self.buffer.structure()], self.board.structures()].concat()
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
        self.buffer.front(warp).expect("only a warp with a candidate is asked for it")
    }

    fn on_issue(&mut self, flight: Flight<'_>) {
        let warp = flight.warp;
        self.buffer.remove(warp, 0);
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
