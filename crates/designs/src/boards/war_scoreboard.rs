//! The exact WAR scoreboard: which registers of each warp have a read under way.
//!
//! Follows the baseline of SOCGPU (section 4: "an extra scoreboard ... called the WAR scoreboard"):
//! an issuing instruction marks its source registers, predicates among them, and clears them when it
//! writes back; an instruction waits while one of its destinations is marked. RAW and WAW are the
//! ordinary scoreboard's. With [`Release::Read`] the marks are cleared when the instruction leaves
//! its operand collector: the "ideal handling" that the WAR paper (section 2) compares with.
//!
//! - D1: readers of a register are counted. With the bits that SOCGPU describes, the first of two to
//!   write back would clear the mark of the other. The structure is listed as published, a bit per
//!   register.
//!
//! Structures: 263 bits per warp (255 registers, 8 predicates) beside the scoreboard's 263. Stalls: `war`, after the scoreboard's `raw`, `raw_memory`
//! and `waw`.

use super::Release;
use isa::{RegFile, WarpSlot};
use sm::CoreSpec;
use sm::InstId;
use sm::PerWarp;
use sm::RegSet;
use sm::Stall;
use sm::WarpMask;
use sm::scoreboard::{Board, PendingWrites, Scoreboard};
use sm::{Each, Structure};
use sm::{Flight, Window};

/// The scoreboard with exact knowledge of pending reads.
#[derive(Debug)]
pub struct WarScoreboard<M: WarpMask = u64> {
    writes: PendingWrites<M>,
    /// Registers below [`RegSet::BOUND`] with a read under way.
    marked: PerWarp<RegSet, M>,
    /// Reads under way of each register: `stride` for each warp.
    counts: Vec<u16>,
    stride: usize,
    release: Release,
    warps: usize,
}

impl<M: WarpMask> WarScoreboard<M> {
    /// A kernel with more registers than any before it has come.
    fn widen(&mut self, stride: usize) {
        let mut wider = vec![0; M::SLOTS * stride];
        for (new, old) in wider.chunks_exact_mut(stride).zip(self.counts.chunks_exact(self.stride.max(1))) {
            new[..self.stride].copy_from_slice(old);
        }
        (self.counts, self.stride) = (wider, stride);
    }

    /// The writes of `flight` are under way.
    #[inline]
    pub(super) fn begin_write(&mut self, flight: Flight<'_>) {
        self.writes.begin_write(flight);
    }

    /// Counts the reads of `id`.
    #[inline]
    pub(super) fn mark(&mut self, window: Window<'_>, id: InstId) {
        let warp = window.inst(id).warp.index();
        for &reg in window.srcs(id) {
            let count = &mut self.counts[warp * self.stride + reg.index()];
            *count += 1;
            if *count == 1 {
                self.marked[warp].put(reg);
            }
        }
    }

    /// The reads of `id` are done.
    #[inline]
    pub(super) fn clear(&mut self, window: Window<'_>, id: InstId) {
        let warp = window.inst(id).warp.index();
        for &reg in window.srcs(id) {
            let count = &mut self.counts[warp * self.stride + reg.index()];
            *count -= 1;
            if *count == 0 {
                self.marked[warp].take(reg);
            }
        }
    }

    #[cold]
    fn meets_wide(&self, window: Window<'_>, id: InstId) -> bool {
        let first = window.inst(id).warp.index() * self.stride;
        window.dsts(id).iter().any(|r| self.counts[first + r.index()] > 0)
    }
}

impl<M: WarpMask> Board for WarScoreboard<M> {
    type Config = Release;

    fn new(config: &Release, spec: &CoreSpec) -> Self {
        Self {
            writes: PendingWrites::default(),
            marked: PerWarp::new(RegSet::default()),
            counts: Vec::new(),
            stride: 0,
            release: *config,
            warps: spec.sm.max_warps as usize,
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let scoreboard = Scoreboard::structure(self.warps);
        // A result is looked up; three sources are marked, and three others cleared.
        let war = Structure::new("WAR scoreboard", self.warps, 263, 1)
            .ports(1, 6)
            .read(Each::Result.times(1))
            .written(Each::Source.times(2));
        vec![scoreboard, war]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.writes.start_warp(warp, regs);
        debug_assert!(self.marked[warp.index()].is_empty(), "reads pending from a former warp");
        let registers = regs.count().max(RegSet::BOUND);
        if registers > self.stride {
            self.widen(registers.next_multiple_of(64));
        }
    }

    #[inline]
    fn hazard(&self, flight: Flight<'_>) -> Option<Stall> {
        let Flight { id, window, .. } = flight;
        self.writes.hazard(flight).or_else(|| {
            let war = self.marked[flight.warp.index()].meets(&flight.names().writes)
                || flight.is_wide && self.meets_wide(window, id);
            war.then_some(Stall::War)
        })
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        self.writes.begin_write(flight);
        self.mark(window, id);
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) -> bool {
        if self.release == Release::Read {
            self.clear(window, id);
        }
        self.release == Release::Read
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        self.writes.end(flight);
        if self.release == Release::Commit {
            self.clear(window, id);
        }
    }
}
