//! When each instruction passes each stage, within a window of cycles: what timelines are drawn of.

use crate::kernel::Code;
use crate::observe::observer::{Level, Observer, Seen, Wait};
use crate::observe::stalls::Stall;
use isa::{CtaSlot, Dim3, KernelId, Pc, WarpSlot};
use kit::Cycle;
use std::ops::Range;
use std::sync::Arc;

/// An instruction of a warp on its way through the pipeline. Times are core cycles; `None` of a stage that it had not
/// reached, or that the design does not have.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Slot of its warp on the SM.
    pub warp: WarpSlot,
    /// Launch that it belongs to.
    pub kernel: KernelId,
    /// Its code.
    pub code: Arc<Code>,
    /// The static instruction.
    pub pc: Pc,
    /// Place in the program order of its warp, from 0.
    pub order: u32,
    /// Lanes that execute it, one bit each.
    pub mask: u32,
    /// Its fetch.
    pub fetched: Option<Cycle>,
    /// It enters its warp's instruction buffer.
    pub decoded: Cycle,
    /// It issues.
    pub issued: Option<Cycle>,
    /// It enters an operand collector.
    pub collecting: Option<Cycle>,
    /// It has its operands.
    pub operands_read: Option<Cycle>,
    /// It enters its unit.
    pub executing: Option<Cycle>,
    /// The first and the last of its data have come from memory, and the furthest level that any came from.
    pub served: Option<(Cycle, Cycle, Level)>,
    /// It is complete.
    pub written_back: Option<Cycle>,
}

impl Passage {
    /// The instruction as text.
    pub fn text(&self) -> &str {
        self.code.program.text(self.pc)
    }
}

/// A CTA on the SM.
#[derive(Clone, Debug)]
pub struct Residence {
    /// Launch that it belongs to.
    pub kernel: KernelId,
    /// Position in the grid.
    pub cta: Dim3,
    /// Its slot.
    pub slot: CtaSlot,
    /// Slots of its warps.
    pub warps: Vec<WarpSlot>,
    /// When it came, in core cycles.
    pub started: Cycle,
    /// When it left; `None` if it had not.
    pub finished: Option<Cycle>,
}

/// Cycles in which an issue slot stayed empty for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The issue slot: scheduler times issue width, and the number within the scheduler.
    pub slot: usize,
    /// Why.
    pub stall: Stall,
    /// First cycle.
    pub from: Cycle,
    /// The cycle after the last.
    pub until: Cycle,
}

/// Which cycles are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// This number, from the first CTA on.
    First(Cycle),
    /// These.
    Range(Range<Cycle>),
}

/// The record of an SM.
#[derive(Clone, Debug)]
pub struct Passages {
    cycles: Cycles,
    /// Warps that are recorded, one bit for each slot.
    warps: u128,
    /// Maximum number of instructions.
    most: usize,
    /// Instructions that came after that many.
    left_out: u64,
    /// Under way, by id.
    live: Vec<Option<Passage>>,
    /// The last fetch of each warp.
    fetched: Vec<Option<Cycle>>,
    done: Vec<Passage>,
    residences: Vec<Residence>,
    /// By issue slot, since when it stays empty and why.
    open: Vec<Option<(Cycle, Stall)>>,
    gaps: Vec<Gap>,
}

impl Passages {
    /// An empty record of `cycles` of the warps in `warps`, of up to `most` instructions.
    pub fn new(cycles: Cycles, warps: u128, most: usize) -> Self {
        Self {
            cycles,
            warps,
            most,
            left_out: 0,
            live: Vec::new(),
            fetched: Vec::new(),
            done: Vec::new(),
            residences: Vec::new(),
            open: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// The cycles recorded; `None` if no CTA has come that the window begins with.
    pub fn range(&self) -> Option<Range<Cycle>> {
        match &self.cycles {
            Cycles::Range(range) => Some(range.clone()),
            Cycles::First(cycles) => self.residences.first().map(|first| first.started..first.started + cycles),
        }
    }

    /// The instructions that were in the pipeline within the window, in the order of their decode.
    pub fn instructions(&self) -> Vec<Passage> {
        let Some(range) = self.range() else { return Vec::new() };
        let under_way = self.live.iter().flatten().filter(|passage| passage.decoded < range.end);
        let mut all: Vec<Passage> = self.done.iter().chain(under_way).cloned().collect();
        all.sort_by_key(|passage| (passage.decoded, passage.warp, passage.order));
        all
    }

    /// CTAs that were there within the window.
    pub fn residences(&self) -> Vec<Residence> {
        let Some(range) = self.range() else { return Vec::new() };
        let within = |r: &&Residence| r.started < range.end && r.finished.is_none_or(|end| end >= range.start);
        self.residences.iter().filter(within).cloned().collect()
    }

    /// Empty issue slots within the window.
    pub fn gaps(&self) -> Vec<Gap> {
        let Some(range) = self.range() else { return Vec::new() };
        let clip = |gap: &Gap| Gap { from: gap.from.max(range.start), until: gap.until.min(range.end), ..*gap };
        self.gaps.iter().map(clip).filter(|gap| gap.from < gap.until).collect()
    }

    /// Instructions within the window beyond the maximum number.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn is_over(&self, now: Cycle) -> bool {
        self.range().is_some_and(|range| now >= range.end)
    }

    fn change(&mut self, seen: Seen<'_>, change: impl FnOnce(&mut Passage)) {
        let inst = seen.inst();
        let passage = self.live.get_mut(seen.id.index()).and_then(Option::as_mut);
        if let Some(passage) = passage.filter(|p| p.warp == inst.warp && p.order == inst.order) {
            change(passage);
        }
    }

    fn close(&mut self, slot: usize, now: Cycle) {
        if let Some((from, stall)) = self.open.get_mut(slot).and_then(Option::take)
            && from < now
        {
            self.gaps.push(Gap { slot, stall, from, until: now });
        }
    }
}

impl Observer for Passages {
    fn watches_details(&self) -> bool {
        true
    }

    fn cta_started(&mut self, now: Cycle, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        if !self.is_over(now) {
            let warps = warps.to_vec();
            self.residences.push(Residence { kernel, cta, slot, warps, started: now, finished: None });
        }
    }

    fn cta_finished(&mut self, now: Cycle, slot: CtaSlot) {
        let here = self.residences.iter_mut().rev().find(|r| r.slot == slot && r.finished.is_none());
        if let Some(residence) = here {
            residence.finished = Some(now);
        }
    }

    fn fetched(&mut self, now: Cycle, warp: WarpSlot, _pc: Pc) {
        if self.fetched.len() <= warp.index() {
            self.fetched.resize(warp.index() + 1, None);
        }
        self.fetched[warp.index()] = Some(now);
    }

    fn decoded(&mut self, now: Cycle, seen: Seen<'_>) {
        let inst = seen.inst();
        if self.is_over(now) || self.warps >> inst.warp.index() & 1 == 0 {
            return;
        }
        if self.live.len() <= seen.id.index() {
            self.live.resize_with(seen.id.index() + 1, || None);
        }
        self.live[seen.id.index()] = Some(Passage {
            warp: inst.warp,
            kernel: inst.kernel,
            code: seen.window.kernels[inst.kernel.index()].code.clone(),
            pc: inst.pc,
            order: inst.order,
            mask: inst.mask,
            fetched: self.fetched.get(inst.warp.index()).copied().flatten(),
            decoded: now,
            issued: None,
            collecting: None,
            operands_read: None,
            executing: None,
            served: None,
            written_back: None,
        });
    }

    fn issued(&mut self, now: Cycle, slot: usize, seen: Seen<'_>) {
        self.close(slot, now);
        self.change(seen, |passage| passage.issued = Some(now));
    }

    fn collecting(&mut self, now: Cycle, seen: Seen<'_>, _awaited: u64) {
        self.change(seen, |passage| passage.collecting = Some(now));
    }

    fn operands_read(&mut self, now: Cycle, seen: Seen<'_>) {
        self.change(seen, |passage| passage.operands_read = Some(now));
    }

    fn executing(&mut self, now: Cycle, seen: Seen<'_>) {
        self.change(seen, |passage| passage.executing = Some(now));
    }

    fn served(&mut self, now: Cycle, seen: Seen<'_>, level: Level) {
        self.change(seen, |passage| {
            let (first, _, furthest) = passage.served.unwrap_or((now, now, level));
            passage.served = Some((first, now, furthest.max(level)));
        });
    }

    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        self.change(seen, |passage| passage.written_back = Some(now));
        let starts = self.range().map_or(Cycle::MAX, |range| range.start);
        let passage = self.live.get_mut(seen.id.index()).and_then(Option::take);
        let Some(passage) = passage.filter(|_| now >= starts) else { return };
        if self.done.len() < self.most {
            self.done.push(passage);
        } else {
            self.left_out += 1;
        }
    }

    fn stalled(&mut self, now: Cycle, slot: usize, wait: &Wait<'_>) {
        if self.open.len() <= slot {
            self.open.resize(slot + 1, None);
        }
        if self.open[slot].is_some_and(|(_, stall)| stall == wait.stall) {
            return;
        }
        self.close(slot, now);
        if !self.is_over(now) {
            self.open[slot] = Some((now, wait.stall));
        }
    }

    fn settled(&mut self, now: Cycle) {
        for slot in 0..self.open.len() {
            if let Some((_, stall)) = self.open[slot] {
                self.close(slot, now);
                self.open[slot] = Some((now, stall)).filter(|_| !self.is_over(now));
            }
        }
    }
}
