//! In-order issue: the baseline of every paper.
//!
//! Each warp's instruction buffer is a queue; its head is the only candidate, once the board sees
//! no hazard. An entry is free when its instruction issues. The board is a choice of its own
//! ([`Board`]): the scoreboard for RAW and WAW, or one that handles WAR as well.
//!
//! A head is examined when it becomes the head and when an instruction of its warp reads or writes
//! its registers, never per cycle.

use super::candidates::Head;
use super::heads::Heads;
use super::{Candidates, IssuePolicy, Structure};
use crate::design::{Allowances, CoreDesign};
use crate::execute::units::Units;
use crate::frontend::cached::CachedFetch;
use crate::frontend::instruction_buffer::InstructionBuffer;
use crate::inflight::InstId;
use crate::issue::policy::scoreboard::{Board, Scoreboard};
use crate::memory::load_store::LoadStoreUnit;
use crate::operands::{CollectorRules, Collectors};
use crate::slab::{Flight, Window};
use crate::spec::{CoreSpec, PipeSet};
use crate::wake_up::WakeUp;
use crate::warps::mask::WarpMask;
use isa::{RegFile, WarpSlot};
use kit::Cycle;

/// In-order issue over board `B`.
#[derive(Debug)]
pub struct InOrder<B: Board = Scoreboard, M: WarpMask = u64> {
    buffer: InstructionBuffer<M>,
    board: B,
    heads: Heads<M>,
}

impl<B: Board, M: WarpMask> InOrder<B, M> {
    /// Offer of a warp whose oldest instruction is `oldest`.
    #[inline(always)]
    fn head(&self, oldest: Flight<'_>) -> Head {
        self.board.hazard(oldest).map_or(Head::ready(oldest.pipe), Head::stalled)
    }

    /// Examines the head of a warp's buffer.
    #[inline(always)]
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        let head = match self.buffer.front(warp) {
            None => Head::EMPTY,
            Some(id) => self.head(window.flight(id)),
        };
        self.heads.set(warp, head);
    }

    #[inline(always)]
    fn examine_if_stalled(&mut self, window: Window<'_>, warp: WarpSlot) {
        if self.heads.is_stalled(warp) {
            self.examine(window, warp);
        }
    }
}

impl<B: Board, M: WarpMask> CoreDesign for InOrder<B, M> {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    const KEEPS_MEMORY_ORDER: bool = B::KEEPS_MEMORY_ORDER;

    fn operands(_: &B::Config, spec: &CoreSpec) -> Collectors {
        let rules = CollectorRules { keeps_memory_order: B::KEEPS_MEMORY_ORDER, ..CollectorRules::default() };
        Collectors::new(spec, rules)
    }

    fn allowances(_: &B::Config) -> Allowances {
        B::allowances()
    }
}

impl<B: Board, M: WarpMask> IssuePolicy for InOrder<B, M> {
    type Config = B::Config;
    type Mask = M;

    fn new(config: &B::Config, spec: &CoreSpec) -> Self {
        Self {
            buffer: InstructionBuffer::new(spec, spec.sm.frontend.buffer_entries),
            board: B::new(config, spec),
            heads: Heads::default(),
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let mut all = vec![self.buffer.structure()];
        all.extend(self.board.structures());
        all
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        debug_assert!(self.heads.is_empty(warp));
        self.board.start_warp(warp, regs);
    }

    #[inline]
    fn room(&self) -> M {
        self.buffer.room()
    }

    #[inline(always)]
    fn insert(&mut self, flight: Flight<'_>) {
        let warp = flight.warp;
        self.buffer.push(warp, flight.id);
        if self.heads.is_empty(warp) {
            // It is the oldest.
            self.heads.set(warp, self.head(flight));
        }
    }

    #[inline]
    fn tick(&mut self, _now: Cycle, _window: Window<'_>, _wake_up: &mut WakeUp) -> M {
        self.heads.take_changed()
    }

    #[inline]
    fn candidates(&self) -> &Candidates<M> {
        self.heads.candidates()
    }

    #[inline]
    fn select(&self, _window: Window<'_>, warp: WarpSlot, _pipes: PipeSet) -> InstId {
        self.buffer.front(warp).expect("a warp with a candidate has a head")
    }

    #[inline(always)]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let warp = flight.warp;
        debug_assert_eq!(self.buffer.front(warp), Some(id));
        self.buffer.pop(warp);
        self.board.on_issue(flight);
        self.examine(window, warp);
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) {
        if self.board.on_operands_read(window, id) {
            self.examine_if_stalled(window, window.inst(id).warp);
        }
    }

    #[inline(always)]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        self.board.on_writeback(flight);
        self.examine_if_stalled(flight.window, flight.warp);
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.buffer.front(warp)
    }
}
