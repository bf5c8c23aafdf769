//! What happened on a few SMs, cycle by cycle: what timelines are drawn of.

use sm::passages::Passages;
pub use sm::passages::{Cycles, Gap, Passage, Residence};
use std::ops::Range;

/// Maximum number of instructions that are recorded of an SM.
const MOST: usize = 1_000_000;

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineWindow {
    /// Which cycles.
    pub cycles: Cycles,
    /// Which SMs.
    pub sms: Vec<u16>,
    /// Which of their warps, one bit for each slot.
    pub warps: u128,
}

impl TimelineWindow {
    /// The record for SM `sm`, if it is to be recorded.
    pub(crate) fn of_sm(&self, sm: u16) -> Option<Passages> {
        self.sms.contains(&sm).then(|| Passages::new(self.cycles.clone(), self.warps, MOST))
    }
}

/// What happened on an SM within the window.
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
    /// CTAs.
    pub residences: Vec<Residence>,
    /// Empty issue slots.
    pub gaps: Vec<Gap>,
    /// Instructions beyond the maximum number.
    pub left_out: u64,
}

impl SmTimeline {
    pub(crate) fn of(sm: u16, width: usize, recorded: &Passages) -> Option<Self> {
        Some(Self {
            sm,
            cycles: recorded.range()?,
            width,
            instructions: recorded.instructions(),
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
