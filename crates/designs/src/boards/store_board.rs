//! A warpboard for instructions without a result: what hazard-preventing register allocation leaves to
//! the hardware.
//!
//! Follows "Write-after-Read Hazard Prevention in GPGPUSim", section 3: allocation by extended live
//! ranges keeps a register until an instruction waits for the result of each of its readers. A store has no result, so
//! that "an additional mechanism is still necessary"; section 4 offers the warpboards. This one is set by instructions
//! that read vector registers and write no register, and reset when they leave their operand collectors (release on
//! read). While it is set, instructions that write a register wait.
//!
//! - D1: a counter instead of a bit, so that stores do not wait for each other.
//!
//! Alone it does not protect programs whose registers were allocated otherwise.
//!
//! Structures: a counter up to the number of collectors per warp, beside the scoreboard's 263 bits.
//! Stalls: `raw`, `raw_memory` and `waw` where there is such a hazard, else `war`.

use isa::{RegFile, WarpSlot};
use sm::CoreSpec;
use sm::InstId;
use sm::PerWarp;
use sm::Stall;
use sm::WarpMask;
use sm::scoreboard::{Board, PendingWrites, Scoreboard};
use sm::{Each, Structure};
use sm::{Flight, Window};

/// The scoreboard, and how many instructions without a result collect their operands.
#[derive(Debug)]
pub struct StoreBoard<M: WarpMask = u64> {
    writes: PendingWrites<M>,
    collecting: PerWarp<u8, M>,
    warps: usize,
    /// Instructions that can collect at a time.
    collectors: u32,
}

/// Whether `id` reads vector registers and writes none of any kind.
#[inline]
fn has_no_result(window: Window<'_>, id: InstId) -> bool {
    window.dsts(id).is_empty() && !window.vector_srcs(id).is_empty()
}

impl<M: WarpMask> Board for StoreBoard<M> {
    type Config = ();

    fn new((): &(), spec: &CoreSpec) -> Self {
        Self {
            writes: PendingWrites::default(),
            collecting: PerWarp::new(0),
            warps: spec.sm.max_warps as usize,
            collectors: spec.sm.operands.collectors,
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let scoreboard = Scoreboard::structure(self.warps);
        let bits = (u32::BITS - self.collectors.leading_zeros()) as usize;
        // Only stores are counted and counted no more: to take all accesses for such is too much.
        let board = Structure::new("store warpboard", self.warps, 1, bits)
            .ports(1, 2)
            .read(Each::Instruction.times(1))
            .written(Each::Access.times(2));
        vec![scoreboard, board]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.writes.start_warp(warp, regs);
        debug_assert!(self.collecting[warp.index()] == 0, "an instruction pending from a former warp");
    }

    #[inline]
    fn hazard(&self, flight: Flight<'_>) -> Option<Stall> {
        let held = self.collecting[flight.warp.index()] > 0 && !flight.dsts().is_empty();
        self.writes.hazard(flight).or(held.then_some(Stall::War))
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        self.writes.begin_write(flight);
        self.collecting[flight.warp.index()] += u8::from(has_no_result(window, id));
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) -> bool {
        let count = &mut self.collecting[window.inst(id).warp.index()];
        let counted = has_no_result(window, id);
        *count -= u8::from(counted);
        counted && *count == 0
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        self.writes.end(flight);
    }
}
