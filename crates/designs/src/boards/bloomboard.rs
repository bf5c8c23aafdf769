//! Bloomboards: a few bins per warp, to which registers are mapped by a hash.
//!
//! Follows "Write-after-Read Hazard Prevention in GPGPUSim", sections 4.3 and 5. The hash is the
//! register bank: a warp has as many bins as its registers have banks (16 on the paper's GTX 480). A
//! bin counts the instructions that have issued and have a register of that bin yet to read, up to the
//! most that its bits can hold. An instruction waits while a register that it writes maps to a bin
//! that counts any, or one that it reads to a bin that can count no more. With one bit per bin
//! that is the paper's "do not access a register identifier with a reserved bin". RAW and WAW are
//! the scoreboard's.
//!
//! - D1: an instruction that reads several registers of one bin is counted once: were it counted by
//!   register, one with two in a bin could never issue over one-bit bins.
//! - D2: registers that an instruction only writes do not reserve their bins: the scoreboard holds
//!   readers and writers of those. The paper's "accesses" can be read either way.
//! - D3: the paper does not say when a bin is released: when the instruction leaves its operand
//!   collector, as with the release-on-read warpboard.
//! - D4: predicates, which are not read through the banks, have no bin: they are read at issue.
//!
//! Structures: `bins` x counter bits per warp beside the scoreboard. Stalls: `war`, after the
//! scoreboard's.

use isa::{RegFile, WarpSlot};
use kit::bits::set_bits;
use sm::CoreSpec;
use sm::InstId;
use sm::PerWarp;
use sm::Stall;
use sm::WarpMask;
use sm::scoreboard::{Board, PendingWrites, Scoreboard};
use sm::{Each, Structure};
use sm::{Flight, Window};

kit::parameters! {
    /// Sizes of a bloomboard.
    pub struct BloomConfig {
        /// Bits of a bin's counter; 0: unbounded.
        pub counter_bits: u32 = 2 in (0, 16),
    }
}

/// The bins of one warp, one bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Bins {
    /// Count any.
    reserved: u64,
    /// Can count no more.
    full: u64,
}

/// Bins of pending reads.
#[derive(Debug)]
pub struct Bloomboard<M: WarpMask = u64> {
    writes: PendingWrites<M>,
    bins: PerWarp<Bins, M>,
    /// Instructions that each bin counts: `per_warp` for each warp.
    counts: Vec<u16>,
    per_warp: usize,
    most: u16,
    counter_bits: u32,
    warps: usize,
}

impl<M: WarpMask> Board for Bloomboard<M> {
    type Config = BloomConfig;

    fn new(config: &BloomConfig, spec: &CoreSpec) -> Self {
        let (warps, per_warp) = (spec.sm.max_warps as usize, spec.banks_per_partition() as usize);
        let counter_bits = match config.counter_bits {
            0 => u16::BITS,
            bits => bits,
        };
        Self {
            writes: PendingWrites::default(),
            bins: PerWarp::new(Bins::default()),
            counts: vec![0; warps * per_warp],
            per_warp,
            most: u16::MAX >> (u16::BITS - counter_bits),
            counter_bits,
            warps,
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let scoreboard = Scoreboard::structure(self.warps);
        let bits = self.counter_bits as usize;
        // Bins of three sources and a result are looked at; three sources are counted, and three others
        // counted no more.
        let board = Structure::new("bloomboard", self.warps, self.per_warp, bits)
            .ports(4, 6)
            .read(Each::Operand.times(1))
            .written(Each::Source.times(2));
        vec![scoreboard, board]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.writes.start_warp(warp, regs);
        debug_assert_eq!(self.bins[warp.index()].reserved, 0, "reads pending from a former warp");
    }

    #[inline]
    fn hazard(&self, flight: Flight<'_>) -> Option<Stall> {
        self.writes.hazard(flight).or_else(|| {
            let Bins { reserved, full } = self.bins[flight.warp.index()];
            let banks = flight.banks();
            (banks.writes & reserved | banks.read() & full != 0).then_some(Stall::War)
        })
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        self.writes.begin_write(flight);
        let (warp, reads) = (flight.warp.index(), flight.banks().read());
        self.bins[warp].reserved |= reads;
        for bin in set_bits(reads) {
            let count = &mut self.counts[warp * self.per_warp + bin];
            *count += 1;
            self.bins[warp].full |= u64::from(*count == self.most) << bin;
        }
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) -> bool {
        let (warp, reads) = (window.inst(id).warp.index(), window.banks(id).read());
        self.bins[warp].full &= !reads;
        for bin in set_bits(reads) {
            let count = &mut self.counts[warp * self.per_warp + bin];
            *count -= 1;
            self.bins[warp].reserved &= !(u64::from(*count == 0) << bin);
        }
        reads != 0
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        self.writes.end(flight);
    }
}
