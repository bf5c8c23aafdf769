//! Hazards of in-order issue: which registers of each warp have a write under way.

use crate::inflight::{InstId, Window};
use crate::policy::Structure;
use crate::spec::CoreSpec;
use crate::stalls::Stall;
use isa::{Access, RegFile, RegId, WarpSlot};

/// What decides whether the head of a warp's buffer may issue. Each way of handling hazards in an
/// in-order core is one implementation.
pub trait Board {
    /// Its sizes and choices.
    type Config: Clone;

    /// An empty board.
    fn new(config: &Self::Config, spec: &CoreSpec) -> Self;
    /// Its hardware structures.
    fn structures(&self) -> Vec<Structure>;
    /// A warp with registers `regs` starts: nothing of it is in flight.
    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile);
    /// The hazard that keeps `id` from issuing, if there is one.
    fn hazard(&self, window: Window<'_>, id: InstId) -> Option<Stall>;
    /// `id` issues.
    fn on_issue(&mut self, window: Window<'_>, id: InstId);
    /// `id` has read its registers. True if that may have ended a hazard.
    #[inline]
    fn on_operands_read(&mut self, _window: Window<'_>, _id: InstId) -> bool {
        false
    }
    /// `id` has written its registers.
    fn on_writeback(&mut self, window: Window<'_>, id: InstId);
}

/// The registers with a write under way, by warp.
#[derive(Clone, Debug, Default)]
pub struct PendingWrites {
    /// Per register: bit 0, a write is under way; bit 1, one by a memory operation. `stride`
    /// registers for each warp.
    pending: Vec<u8>,
    stride: usize,
    warps: usize,
}

impl PendingWrites {
    /// None, for `warps` warps.
    pub fn new(warps: usize) -> Self {
        Self { pending: Vec::new(), stride: 0, warps }
    }

    /// Makes room for a warp's registers, none of them pending.
    pub fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        if regs.count() > self.stride {
            self.widen(regs.count().next_multiple_of(64));
        }
        debug_assert!(self.of(warp).iter().all(|&p| p == 0), "writes pending from a former warp");
    }

    /// A kernel with more registers than any before it has come.
    fn widen(&mut self, stride: usize) {
        let mut wider = vec![0; self.warps * stride];
        for w in 0..self.warps {
            wider[w * stride..][..self.stride].copy_from_slice(&self.pending[w * self.stride..][..self.stride]);
        }
        (self.pending, self.stride) = (wider, stride);
    }

    #[inline]
    fn of(&self, warp: WarpSlot) -> &[u8] {
        &self.pending[warp.index() * self.stride..][..self.stride]
    }

    #[inline]
    fn of_mut(&mut self, warp: WarpSlot) -> &mut [u8] {
        &mut self.pending[warp.index() * self.stride..][..self.stride]
    }

    /// The hazard of reading `srcs` and writing `dsts`, reads before writes.
    #[inline]
    pub fn hazard(&self, warp: WarpSlot, dsts: &[RegId], srcs: &[RegId]) -> Option<Stall> {
        let pending = self.of(warp);
        let read = srcs.iter().fold(0, |any, r| any | pending[r.index()]);
        if read != 0 {
            return Some(if read & 2 != 0 { Stall::RawMemory } else { Stall::Raw });
        }
        let written = dsts.iter().fold(0, |any, r| any | pending[r.index()]);
        (written != 0).then_some(Stall::Waw)
    }

    /// Writes of `dsts` are under way, `by_memory` or not.
    #[inline]
    pub fn begin(&mut self, warp: WarpSlot, dsts: &[RegId], by_memory: bool) {
        let pending = self.of_mut(warp);
        dsts.iter().for_each(|r| pending[r.index()] = 1 | u8::from(by_memory) << 1);
    }

    /// `dsts` have been written.
    #[inline]
    pub fn end(&mut self, warp: WarpSlot, dsts: &[RegId]) {
        let pending = self.of_mut(warp);
        dsts.iter().for_each(|r| pending[r.index()] = 0);
    }
}

/// The scoreboard of GPGPU-Sim: an instruction waits while a register that it reads or writes has
/// a write under way. It knows nothing of reads, so it does not see write-after-read hazards.
#[derive(Debug)]
pub struct Scoreboard {
    pending: PendingWrites,
    warps: usize,
}

impl Board for Scoreboard {
    type Config = ();

    fn new(_config: &(), spec: &CoreSpec) -> Self {
        let warps = spec.sm.max_warps as usize;
        Self { pending: PendingWrites::new(warps), warps }
    }

    fn structures(&self) -> Vec<Structure> {
        // One bit for each of 255 registers and 8 predicates of a warp.
        let (entries, bits) = (1, 263);
        vec![Structure { name: "scoreboard", instances: self.warps, entries, bits, read_ports: 1, write_ports: 2 }]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.pending.start_warp(warp, regs);
    }

    #[inline(always)]
    fn hazard(&self, window: Window<'_>, id: InstId) -> Option<Stall> {
        let inst = window.inst(id);
        let (dsts, srcs) = inst.micro.operands.both(window.kernels, inst.kernel);
        self.pending.hazard(inst.warp, dsts, srcs)
    }

    #[inline]
    fn on_issue(&mut self, window: Window<'_>, id: InstId) {
        let inst = window.inst(id);
        let by_memory = inst.mem.is_some_and(|m| m.access != Access::Store);
        self.pending.begin(inst.warp, window.dsts(id), by_memory);
    }

    #[inline]
    fn on_writeback(&mut self, window: Window<'_>, id: InstId) {
        self.pending.end(window.inst(id).warp, window.dsts(id));
    }
}
