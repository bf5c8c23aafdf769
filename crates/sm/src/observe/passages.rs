//! When each instruction passes each stage, within a window of cycles: what timelines are drawn of.

use crate::kernel::Code;
use crate::observe::observer::{Observer, Seen, Transferred, Wait};
use crate::observe::stalls::Stall;
use isa::{CtaSlot, Dim3, KernelId, Pc, WarpSlot};
use kit::Cycle;
use mem::Level;
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
    /// The last of its data have come from memory, and the furthest level that any came from.
    pub served: Option<(Cycle, Level)>,
    /// It is complete.
    pub written_back: Option<Cycle>,
}

impl Passage {
    /// The instruction as text.
    pub fn text(&self) -> &str {
        self.code.program.text(self.pc)
    }

    /// Whether it is a matrix operation of a warp group.
    pub fn is_of_matrix_group(&self) -> bool {
        self.code.micro(self.pc).is_asynchronous()
    }
}

/// A transfer of the copy engine that is complete.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Slot of the warp that started it.
    pub warp: WarpSlot,
    /// Launch that it belongs to.
    pub kernel: KernelId,
    /// The instruction that started it.
    pub pc: Pc,
    /// Direction, bytes, issue, and the first cycle in which the engine worked at it.
    pub transferred: Transferred,
    /// Its end.
    pub ended: Cycle,
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

/// Records of an SM.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Which cycles: the window.
    pub cycles: Cycles,
    /// Instructions of which warps, one bit for each slot.
    pub warps: u128,
    /// Instructions and CTAs of kernels whose names have this part; of all if it is absent.
    pub kernel: Option<String>,
    /// Maximum number of instructions; four times as many gaps. The window ends where there are more.
    pub most: usize,
}

/// Gaps that are recorded at most for each instruction that is.
const GAPS: usize = 4;

/// The record of an SM.
#[derive(Clone, Debug)]
pub struct Passages {
    selection: Selection,
    /// The window; `None` if no CTA has come that it begins with.
    window: Option<Range<Cycle>>,
    /// Where the window would have ended, if it was cut short.
    cut_from: Option<Cycle>,
    /// Instructions after a window that was cut short and before the end that was asked for.
    left_out: u64,
    /// By launch, whether it is of a kernel that is recorded; `None` as long as none of its instructions was decoded.
    chosen: Vec<Option<bool>>,
    /// Under way, by id.
    live: Vec<Option<Passage>>,
    /// Instructions in `live` and `done`.
    recorded: usize,
    /// The last fetch of each warp.
    fetched: Vec<Option<Cycle>>,
    done: Vec<Passage>,
    transfers: Vec<Transfer>,
    residences: Vec<Residence>,
    /// By issue slot, since when it stays empty and why.
    empty: Vec<Option<(Cycle, Stall)>>,
    gaps: Vec<Gap>,
    /// All cycles before this one have passed.
    settled: Cycle,
}

impl Passages {
    /// An empty record of what is in `selection`.
    pub fn new(selection: Selection) -> Self {
        let window = match &selection.cycles {
            Cycles::Range(range) => Some(range.clone()),
            Cycles::First(_) => None,
        };
        Self {
            selection,
            window,
            cut_from: None,
            left_out: 0,
            chosen: Vec::new(),
            live: Vec::new(),
            recorded: 0,
            fetched: Vec::new(),
            done: Vec::new(),
            transfers: Vec::new(),
            residences: Vec::new(),
            empty: Vec::new(),
            gaps: Vec::new(),
            settled: 0,
        }
    }

    /// The cycles recorded; `None` if no CTA has come that the window begins with.
    pub fn range(&self) -> Option<Range<Cycle>> {
        self.window.clone()
    }

    /// Whether the window ended before what was asked for, because there was too much in it.
    pub fn is_cut(&self) -> bool {
        self.cut_from.is_some()
    }

    /// The instructions that were in the pipeline within the window, in the order of their decode.
    pub fn instructions(&self) -> Vec<Passage> {
        let Some(range) = self.range() else { return Vec::new() };
        let under_way = self.live.iter().flatten().filter(|passage| passage.decoded < range.end);
        let mut all: Vec<Passage> = self.done.iter().chain(under_way).cloned().collect();
        all.sort_by_key(|passage| (passage.decoded, passage.warp, passage.order));
        all
    }

    /// Transfers that began within the window and are complete, in the order of their ends.
    pub fn transfers(&self) -> Vec<Transfer> {
        let Some(range) = self.range() else { return Vec::new() };
        let within = |t: &&Transfer| self.is_chosen(t.kernel) == Some(true) && range.contains(&t.transferred.issued);
        self.transfers.iter().filter(within).cloned().collect()
    }

    /// CTAs that were there within the window.
    pub fn residences(&self) -> Vec<Residence> {
        let Some(range) = self.range() else { return Vec::new() };
        let within = |r: &&Residence| {
            let is_chosen = self.is_chosen(r.kernel) == Some(true);
            is_chosen && r.started < range.end && r.finished.is_none_or(|end| end >= range.start)
        };
        self.residences.iter().filter(within).cloned().collect()
    }

    /// Empty issue slots within the window.
    pub fn gaps(&self) -> Vec<Gap> {
        let Some(range) = self.range() else { return Vec::new() };
        let clip = |gap: Gap| Gap { from: gap.from.max(range.start), until: gap.until.min(range.end), ..gap };
        let open = |(slot, empty): (usize, &Option<(Cycle, Stall)>)| {
            empty.map(|(from, stall)| Gap { slot, stall, from, until: self.settled })
        };
        let open = self.empty.iter().enumerate().filter_map(open);
        self.gaps.iter().copied().chain(open).map(clip).filter(|gap| gap.from < gap.until).collect()
    }

    /// Instructions that a window that was cut short leaves out of what was asked for.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn is_over(&self, now: Cycle) -> bool {
        self.window.as_ref().is_some_and(|window| now >= window.end)
    }

    /// Whether the launch is of a kernel that is recorded; `None` if that is not known yet.
    fn is_chosen(&self, kernel: KernelId) -> Option<bool> {
        match self.selection.kernel {
            None => Some(true),
            Some(_) => self.chosen.get(kernel.index()).copied().flatten(),
        }
    }

    /// The same of `seen`, of which it is known.
    fn choose(&mut self, seen: Seen<'_>) -> bool {
        let kernel = seen.inst().kernel;
        if let Some(is_chosen) = self.is_chosen(kernel) {
            return is_chosen;
        }
        let part = self.selection.kernel.as_deref().unwrap_or_default();
        let is_chosen = seen.window.code(seen.id).program.name.contains(part);
        if self.chosen.len() <= kernel.index() {
            self.chosen.resize(kernel.index() + 1, None);
        }
        self.chosen[kernel.index()] = Some(is_chosen);
        if is_chosen {
            self.residences
                .iter()
                .find(|r| r.kernel == kernel)
                .map(|r| r.started)
                .into_iter()
                .for_each(|at| self.open(at));
        } else {
            self.residences.retain(|r| r.kernel != kernel);
            self.forget_gaps();
        }
        is_chosen
    }

    /// A window that begins with a CTA does so at `now`, unless it has begun.
    fn open(&mut self, now: Cycle) {
        if let (None, Cycles::First(cycles)) = (&self.window, &self.selection.cycles) {
            self.window = Some(now..now.saturating_add(*cycles));
        }
    }

    /// The window ends before `now`: it is full.
    fn cut(&mut self, now: Cycle) {
        if let Some(window) = self.window.as_mut().filter(|window| now < window.end) {
            self.cut_from = Some(window.end);
            window.end = now;
        }
    }

    /// Gaps before the window are nobody's: there is no CTA that it may begin with.
    fn forget_gaps(&mut self) {
        if self.window.is_none() && self.residences.is_empty() {
            self.gaps.clear();
        }
    }

    fn change(&mut self, seen: Seen<'_>, change: impl FnOnce(&mut Passage)) {
        let inst = seen.inst();
        let passage = self.live.get_mut(seen.id.index()).and_then(Option::as_mut);
        if let Some(passage) = passage.filter(|p| p.warp == inst.warp && p.order == inst.order) {
            change(passage);
        }
    }

    fn close(&mut self, slot: usize, now: Cycle) {
        let Some((from, stall)) = self.empty.get_mut(slot).and_then(Option::take) else { return };
        // Where the window has yet to begin, it may do so with a CTA that is there.
        let matters = self.window.as_ref().map_or(!self.residences.is_empty(), |window| now > window.start);
        if from < now && matters {
            self.gaps.push(Gap { slot, stall, from, until: now });
            if self.gaps.len() >= GAPS * self.selection.most {
                self.cut(now);
            }
        }
    }
}

impl Observer for Passages {
    fn watches_details(&self) -> bool {
        true
    }

    fn cta_started(&mut self, now: Cycle, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        let is_chosen = self.is_chosen(kernel);
        if self.is_over(now) || is_chosen == Some(false) {
            return;
        }
        if is_chosen == Some(true) {
            self.open(now);
        }
        let warps = warps.to_vec();
        self.residences.push(Residence { kernel, cta, slot, warps, started: now, finished: None });
    }

    fn cta_finished(&mut self, now: Cycle, slot: CtaSlot) {
        let here = self.residences.iter().rposition(|r| r.slot == slot && r.finished.is_none());
        let Some(here) = here else { return };
        if self.window.as_ref().is_none_or(|window| now < window.start) {
            self.residences.remove(here);
            self.forget_gaps();
        } else {
            self.residences[here].finished = Some(now);
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
        let ends = self.cut_from.or(self.window.as_ref().map(|window| window.end));
        if ends.is_some_and(|end| now >= end)
            || self.selection.warps >> inst.warp.index() & 1 == 0
            || !self.choose(seen)
        {
            return;
        }
        if self.recorded >= self.selection.most {
            self.cut(now);
        }
        if self.is_over(now) {
            self.left_out += 1;
            return;
        }
        if self.live.len() <= seen.id.index() {
            self.live.resize_with(seen.id.index() + 1, || None);
        }
        self.recorded += 1;
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
            let furthest = passage.served.map_or(level, |(_, furthest)| furthest.max(level));
            passage.served = Some((now, furthest));
        });
    }

    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        self.change(seen, |passage| passage.written_back = Some(now));
        let Some(passage) = self.live.get_mut(seen.id.index()).and_then(Option::take) else { return };
        if self.window.as_ref().is_some_and(|window| now >= window.start) {
            self.done.push(passage);
        } else {
            self.recorded -= 1;
        }
    }

    fn transferred(&mut self, now: Cycle, warp: WarpSlot, (kernel, pc): (KernelId, Pc), transferred: Transferred) {
        let is_chosen = self.selection.warps >> warp.index() & 1 != 0;
        let may_be_within = self.window.as_ref().is_none_or(|window| window.contains(&transferred.issued));
        if is_chosen && may_be_within && self.transfers.len() < self.selection.most {
            self.transfers.push(Transfer { warp, kernel, pc, transferred, ended: now });
        }
    }

    fn stalled(&mut self, now: Cycle, slot: usize, wait: &Wait<'_>) {
        if self.empty.len() <= slot {
            self.empty.resize(slot + 1, None);
        }
        if self.empty[slot].is_some_and(|(_, stall)| stall == wait.stall) {
            return;
        }
        self.close(slot, now);
        if !self.is_over(now) {
            self.empty[slot] = Some((now, wait.stall));
        }
    }

    fn settled(&mut self, now: Cycle) {
        self.settled = now;
    }
}
