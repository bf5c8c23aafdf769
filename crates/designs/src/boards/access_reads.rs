//! The board of designs that reorder over the stages of sub-cores: writes under way, and registers that accesses to
//! memory have yet to read.
//!
//! There, instructions of fixed latency read their registers in the order of issue, and an access to memory reads them
//! ten cycles and more after it, in the queue of its sub-core ([`SubCoreMemory`](sm::SubCoreMemory)). The control bits of
//! machine code have dependence counters for that, by whose numbers only the compiler's order is safe.
//!
//! Structures: the scoreboard's 263 bits a warp, and as many bits for pending reads, as the exact board of
//! [`WarScoreboard`]. Stalls: `raw`, `raw_memory`, `waw`, then `war`.

use super::{Release, ReorderedBoard, WarScoreboard};
use isa::{RegFile, WarpSlot};
use sm::scoreboard::Board;
use sm::{CoreSpec, Flight, InstId, Pipe, Stall, Structure, WarpMask, Window};

/// The exact board, of which only accesses to memory mark their reads.
#[derive(Debug)]
pub struct AccessReads<M: WarpMask = u64>(WarScoreboard<M>);

/// Whether `id` reads its registers late.
#[inline]
fn reads_late(window: Window<'_>, id: InstId) -> bool {
    window.inst(id).unit_pipe == Pipe::MEM
}

impl<M: WarpMask> Board for AccessReads<M> {
    type Config = ();

    fn new((): &(), spec: &CoreSpec) -> Self {
        Self(WarScoreboard::new(&Release::Read, spec))
    }

    fn structures(&self) -> Vec<Structure> {
        self.0.structures()
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.0.start_warp(warp, regs);
    }

    #[inline]
    fn hazard(&self, flight: Flight<'_>) -> Option<Stall> {
        self.0.hazard(flight)
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        self.0.begin_write(flight);
        if reads_late(flight.window, flight.id) {
            self.0.mark(flight.window, flight.id);
        }
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) -> bool {
        let late = reads_late(window, id);
        if late {
            self.0.clear(window, id);
        }
        late
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        self.0.on_writeback(flight);
    }
}

impl<M: WarpMask> ReorderedBoard for AccessReads<M> {
    const SEES_READS: bool = true;

    #[inline]
    fn awaits_reads(flight: Flight<'_>) -> bool {
        reads_late(flight.window, flight.id)
    }
}
