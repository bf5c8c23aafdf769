//! Records of a few SMs, cycle by cycle, from which timelines are drawn.

use kit::Cycle;
use kit::text::counted;
pub use sm::passages::{Cycles, Gap, Passage, Residence, Transfer};
use sm::passages::{Passages, Selection};
pub use sm::{Stall, Transferred};
use std::collections::BTreeSet;
use std::ops::Range;

/// Maximum number of instructions that are recorded, of all SMs together.
pub const MOST: usize = 250_000;

/// SMs, cycles and warps to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineWindow {
    /// Which cycles.
    pub cycles: Cycles,
    /// Which SMs.
    pub sms: Vec<u16>,
    /// Which of their warps, one bit for each slot.
    pub warps: u128,
    /// Part of the names of the kernels that are recorded; absent for all.
    pub kernel: Option<String>,
}

impl TimelineWindow {
    /// The record for SM `sm`, if it is to be recorded.
    pub(crate) fn of_sm(&self, sm: u16) -> Option<Passages> {
        let all = self.sms.iter().collect::<BTreeSet<_>>().len();
        let (cycles, kernel) = (self.cycles.clone(), self.kernel.clone());
        let selection = || Selection { cycles, warps: self.warps, kernel, most: MOST / all };
        self.sms.contains(&sm).then(|| Passages::new(selection()))
    }

    /// Remarks for readers of `recorded`.
    pub(crate) fn remarks(&self, recorded: &[SmTimeline]) -> Vec<String> {
        let of_sm = |&sm: &u16| {
            let Some(timeline) = recorded.iter().find(|timeline| timeline.sm == sm) else {
                let of = self.kernel.as_ref().map_or_else(String::new, |name| format!(" of a kernel `{name}`"));
                return Some(format!("no CTA{of} ran on SM {sm}: its timeline is empty"));
            };
            timeline.is_cut.then(|| {
                let left_out = counted(timeline.left_out, "more instruction");
                format!(
                    "the timeline of SM {sm} ends before cycle {}, where it is full: {left_out} of the cycles asked for are not in it",
                    timeline.cycles.end
                )
            })
        };
        self.sms.iter().collect::<BTreeSet<_>>().into_iter().filter_map(of_sm).collect()
    }
}

/// Events on an SM within the window.
#[derive(Clone, Debug)]
pub struct SmTimeline {
    /// Number of the SM.
    pub sm: u16,
    /// The core cycles recorded.
    pub cycles: Range<u64>,
    /// Issue slots of a warp scheduler.
    pub width: usize,
    /// Instructions in the order of their decode.
    pub instructions: Vec<Passage>,
    /// Transfers of the copy engine that are complete.
    pub transfers: Vec<Transfer>,
    /// CTAs.
    pub residences: Vec<Residence>,
    /// Empty issue slots.
    pub gaps: Vec<Gap>,
    /// Whether the cycles end before those asked for, because there was too much in them.
    pub is_cut: bool,
    /// Instructions that this leaves out.
    pub left_out: u64,
}

impl SmTimeline {
    /// Records up to cycle `now`.
    pub(crate) fn of(sm: u16, width: usize, recorded: &Passages, now: Cycle) -> Option<Self> {
        let Range { start, end } = recorded.range()?;
        Some(Self {
            sm,
            cycles: start..end.min(now).max(start),
            width,
            is_cut: recorded.is_cut(),
            instructions: recorded.instructions(),
            transfers: recorded.transfers(),
            residences: recorded.residences(),
            gaps: recorded.gaps(),
            left_out: recorded.left_out(),
        })
    }
}

impl PartialEq for SmTimeline {
    /// As far as reports are compared: what was recorded where.
    fn eq(&self, other: &Self) -> bool {
        (self.sm, &self.cycles, self.instructions.len()) == (other.sm, &other.cycles, other.instructions.len())
    }
}
