//! Hazards of in-order issue: which registers of each warp have a write under way.

use crate::design::Allowances;
use crate::inflight::InstId;
use crate::issue::policy::{Each, Structure};
use crate::kernel::ResidentKernel;
use crate::observe::stalls::Stall;
use crate::resolved::RegSet;
use crate::slab::{Flight, Slab, Window};
use crate::spec::CoreSpec;
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use crate::warps::rows::widened;
use isa::{Access, RegFile, RegId, WarpSlot};
use kit::Parameters;

/// Rule that decides whether the head of a warp's buffer may issue. Each way of handling hazards in an
/// in-order core is one implementation.
pub trait Board: Send {
    /// Its sizes and choices.
    type Config: Parameters;

    /// See [`CollectorRules::keeps_memory_order`](crate::operands::CollectorRules::keeps_memory_order).
    const KEEPS_MEMORY_ORDER: bool = true;

    /// Its liberties against program order.
    fn allowances() -> Allowances {
        Allowances::default()
    }
    /// An empty board.
    fn new(config: &Self::Config, spec: &CoreSpec) -> Self;
    /// Its hardware structures in an SM.
    fn structures(&self) -> Vec<Structure>;
    /// A warp with registers `regs` starts: nothing of it is in flight.
    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile);
    /// The hazard that keeps `flight` from issuing, if there is one.
    fn hazard(&self, flight: Flight<'_>) -> Option<Stall>;
    /// `flight` issues: its registers are reserved.
    fn on_issue(&mut self, flight: Flight<'_>);
    /// `id` has read its registers. True if that may have ended a hazard.
    #[inline]
    fn on_operands_read(&mut self, _window: Window<'_>, _id: InstId) -> bool {
        false
    }
    /// `flight` has written its registers.
    fn on_writeback(&mut self, flight: Flight<'_>);
}

/// The registers with a write under way, by warp.
#[derive(Clone, Debug)]
pub struct PendingWrites<M: WarpMask = u64> {
    /// Those below [`RegSet::BOUND`].
    low: PerWarp<Pending, M>,
    /// Of the others, if a kernel has any, `stride` for each warp: bit 0, a write is under way; bit 1,
    /// one by a memory operation.
    high: Vec<u8>,
    stride: usize,
    /// The stride that the kernels so far need, if an instruction of theirs uses such a register.
    needed: usize,
}

/// Registers with a write under way.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    all: RegSet,
    /// By memory operations.
    by_memory: RegSet,
}

impl<M: WarpMask> Default for PendingWrites<M> {
    fn default() -> Self {
        Self { low: PerWarp::new(Pending::default()), high: Vec::new(), stride: 0, needed: 0 }
    }
}

impl<M: WarpMask> PendingWrites<M> {
    /// A warp with registers `regs` starts: no write of it is under way.
    pub fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        let high = regs.count().saturating_sub(RegSet::BOUND);
        self.needed = self.needed.max(high.next_multiple_of(64));
        let pending = &self.low[warp.index()];
        debug_assert!(pending.all.is_empty() && pending.by_memory.is_empty(), "writes pending from a former warp");
    }

    /// The places in `high` of the registers of `regs` that have one.
    fn places<'a>(&self, warp: WarpSlot, regs: &'a [RegId]) -> impl Iterator<Item = usize> + use<'a, M> {
        let (first, stride) = (warp.index() * self.stride, self.stride);
        let above = regs.iter().filter_map(|r| r.index().checked_sub(RegSet::BOUND));
        above.filter(move |&number| number < stride).map(move |number| first + number)
    }

    /// Writes under way to the registers of `regs` that have a place in `high`.
    fn high(&self, warp: WarpSlot, regs: &[RegId]) -> u8 {
        self.places(warp, regs).fold(0, |any, place| any | self.high[place])
    }

    /// The hazard of issuing `flight`, reads before writes.
    #[inline(always)]
    pub fn hazard(&self, flight: Flight<'_>) -> Option<Stall> {
        let names = flight.names();
        if flight.is_wide {
            return self.hazard_of_wide(flight.window.slab, flight.window.kernels, flight.id);
        }
        let pending = &self.low[flight.warp.index()];
        if pending.all.meets(&names.reads) {
            return Some(if pending.by_memory.meets(&names.reads) { Stall::RawMemory } else { Stall::Raw });
        }
        pending.all.meets(&names.writes).then_some(Stall::Waw)
    }

    /// Takes the parts of a [`Window`], as what follows, so that its callers' parts stay in registers of the host.
    #[cold]
    fn hazard_of_wide(&self, slab: &Slab, kernels: &[ResidentKernel], id: InstId) -> Option<Stall> {
        let window = Window { slab, kernels };
        let (inst, names) = (window.inst(id), window.names(id));
        let low = &self.low[inst.warp.index()];
        let read = self.high(inst.warp, window.srcs(id));
        if low.by_memory.meets(&names.reads) || read & 2 != 0 {
            return Some(Stall::RawMemory);
        }
        if low.all.meets(&names.reads) || read != 0 {
            return Some(Stall::Raw);
        }
        (low.all.meets(&names.writes) || self.high(inst.warp, window.dsts(id)) != 0).then_some(Stall::Waw)
    }

    /// `flight` issues: its writes are under way.
    #[inline(always)]
    pub fn begin_write(&mut self, flight: Flight<'_>) {
        self.begin(flight, flight.mem.is_some_and(|m| m.access != Access::Store));
    }

    /// The writes of `flight` are under way, `by_memory` or not.
    #[inline(always)]
    pub fn begin(&mut self, flight: Flight<'_>, by_memory: bool) {
        let writes = flight.names().writes;
        let pending = &mut self.low[flight.warp.index()];
        pending.all.insert(writes);
        if by_memory {
            pending.by_memory.insert(writes);
        }
        if flight.is_wide {
            self.set_high(flight.window.slab, flight.window.kernels, flight.id, 1 | u8::from(by_memory) << 1);
        }
    }

    /// `flight` has written its registers.
    #[inline(always)]
    pub fn end(&mut self, flight: Flight<'_>) {
        let writes = flight.names().writes;
        let pending = &mut self.low[flight.warp.index()];
        pending.all.remove(writes);
        pending.by_memory.remove(writes);
        if flight.is_wide {
            self.set_high(flight.window.slab, flight.window.kernels, flight.id, 0);
        }
    }

    #[cold]
    fn set_high(&mut self, slab: &Slab, kernels: &[ResidentKernel], id: InstId, pending: u8) {
        if self.stride < self.needed {
            self.high = widened(&self.high, self.stride, M::SLOTS, self.needed, 0);
            self.stride = self.needed;
        }
        let window = Window { slab, kernels };
        for place in self.places(window.inst(id).warp, window.dsts(id)) {
            self.high[place] = pending;
        }
    }
}

/// The scoreboard of GPGPU-Sim: an instruction waits while a register that it reads or writes has
/// a write under way. It knows nothing of reads, so it does not see write-after-read hazards; nor are
/// a warp's memory accesses kept in order after it.
#[derive(Debug)]
pub struct Scoreboard<M: WarpMask = u64> {
    pending: PendingWrites<M>,
    warps: usize,
}

impl Scoreboard {
    /// As hardware: one bit for each of 255 registers and 8 predicates of a warp. Three sources and a
    /// result are looked up in a cycle; an issue sets a bit, a write-back clears one.
    pub const fn structure(warps: usize) -> Structure {
        Structure::new("scoreboard", warps, 263, 1)
            .ports(4, 2)
            .read(Each::Operand.times(1))
            .written(Each::Result.times(2))
    }
}

impl<M: WarpMask> Board for Scoreboard<M> {
    type Config = ();

    const KEEPS_MEMORY_ORDER: bool = false;

    fn new(_config: &(), spec: &CoreSpec) -> Self {
        Self { pending: PendingWrites::default(), warps: spec.sm.max_warps as usize }
    }

    fn structures(&self) -> Vec<Structure> {
        vec![Scoreboard::structure(self.warps)]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.pending.start_warp(warp, regs);
    }

    #[inline(always)]
    fn hazard(&self, flight: Flight<'_>) -> Option<Stall> {
        self.pending.hazard(flight)
    }

    #[inline(always)]
    fn on_issue(&mut self, flight: Flight<'_>) {
        self.pending.begin_write(flight);
    }

    #[inline(always)]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        self.pending.end(flight);
    }
}
