//! Warpboards: one bit per warp.
//!
//! Follows "Write-after-Read Hazard Prevention in GPGPUSim", sections 4.1 and 4.2. The bit is set
//! when an instruction of the warp issues; while it is set, none of the warp issues.
//! - Release on commit ([`Release::Commit`]): the bit is reset when the instruction commits. A warp
//!   has one instruction outstanding at a time; there is no scoreboard.
//! - Release on read ([`Release::Read`]): the bit is reset when the instruction leaves its operand
//!   collector. A warp has one instruction collecting at a time; RAW and WAW are the scoreboard's.
//!
//! - D1: a store commits when its last transaction has left the SM, a branch or barrier when it leaves
//!   its unit; the paper does not say.
//!
//! Structures: 1 bit per warp; with release on read the scoreboard's 263 bits per warp beside it.
//! Stalls: `raw`, `raw_memory` and `waw` where there is such a hazard (which release on commit need
//! not find out: the name is for the report), else `war`.

use super::Release;
use isa::{RegFile, WarpSlot};
use sm::CoreSpec;
use sm::InstId;
use sm::PerWarp;
use sm::Stall;
use sm::WarpMask;
use sm::scoreboard::{Board, PendingWrites, Scoreboard};
use sm::{Each, Structure};
use sm::{Flight, Window};

/// A bit per warp that holds its next instruction back.
#[derive(Debug)]
pub struct Warpboard<M: WarpMask = u64> {
    writes: PendingWrites<M>,
    set: PerWarp<bool, M>,
    release: Release,
    warps: usize,
}

impl<M: WarpMask> Board for Warpboard<M> {
    type Config = Release;

    fn new(config: &Release, spec: &CoreSpec) -> Self {
        Self {
            writes: PendingWrites::default(),
            set: PerWarp::new(false),
            release: *config,
            warps: spec.sm.max_warps as usize,
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let scoreboard = Scoreboard::structure(self.warps);
        let board = Structure::new("warpboard", self.warps, 1, 1)
            .ports(1, 2)
            .read(Each::Instruction.times(1))
            .written(Each::Instruction.times(2));
        if self.release == Release::Commit { vec![board] } else { vec![scoreboard, board] }
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.writes.start_warp(warp, regs);
        debug_assert!(!self.set[warp.index()], "an instruction pending from a former warp");
    }

    #[inline]
    fn hazard(&self, flight: Flight<'_>) -> Option<Stall> {
        let held = self.set[flight.warp.index()];
        self.writes.hazard(flight).or(held.then_some(Stall::War))
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        self.writes.begin_write(flight);
        self.set[flight.warp.index()] = true;
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) -> bool {
        if self.release == Release::Read {
            self.set[window.inst(id).warp.index()] = false;
        }
        self.release == Release::Read
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        self.writes.end(flight);
        if self.release == Release::Commit {
            self.set[flight.warp.index()] = false;
        }
    }
}
