//! No handling of hazards: the head of a warp's buffer issues as soon as there is room for it.
//!
//! A limit, which no hardware could have: instructions read registers before they are written. Timing computes no
//! value, so that results are right. With it the core gains what all dependences through registers cost, RAW, WAR
//! and WAW, more than any order of issue can.
//!
//! - **Kept**: program order of issue; what holds a whole warp (barriers, fences, atomics where they do, groups of
//!   copies); what follows a branch that has not issued; latches and collectors. A branch does not wait for its
//!   guard.
//! - **Memory** keeps the order that it has after the [`Scoreboard`](sm::Scoreboard): accesses of a warp may pass
//!   each other in collectors.
//!
//! Structures: none. Stalls: none of its own.

use isa::{RegFile, WarpSlot};
use sm::Allowances;
use sm::CoreSpec;
use sm::Flight;
use sm::Stall;
use sm::Structure;
use sm::scoreboard::Board;

/// A board that sees no hazard.
#[derive(Debug)]
pub struct NoDependences;

impl Board for NoDependences {
    type Config = ();

    const KEEPS_MEMORY_ORDER: bool = false;

    fn new((): &(), _: &CoreSpec) -> Self {
        Self
    }

    fn allowances() -> Allowances {
        Allowances { ignores_registers: true, ..Allowances::default() }
    }

    fn structures(&self) -> Vec<Structure> {
        Vec::new()
    }

    fn start_warp(&mut self, _: WarpSlot, _: &RegFile) {}

    #[inline]
    fn hazard(&self, _: Flight<'_>) -> Option<Stall> {
        None
    }

    fn on_issue(&mut self, _: Flight<'_>) {}

    fn on_writeback(&mut self, _: Flight<'_>) {}
}
