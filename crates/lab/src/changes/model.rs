//! The changes between two runs, as values.

use crate::diagnosis::Cause;
use serde::Serialize;

/// The changes from a run to a later one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// Name of the run before: a file, or the column of a comparison.
    pub baseline: String,
    /// Whether every statistic is equal.
    pub is_equal: bool,
    /// Time of kernels before over the time after; `None` if either is zero.
    pub times_faster: Option<f64>,
    /// Differences of GPU, core design, scheduler and settings.
    pub machine: Vec<Named>,
    /// Main statistics that differ.
    pub figures: Vec<Figure>,
    /// Issue slots that account for the change in cycles, the greatest first.
    pub issue_slots: Vec<Slots>,
    /// Kernels, the greatest change first.
    pub kernels: Vec<KernelChange>,
    /// Shares of the roofs of the longest kernel that differ, the greatest change first.
    pub roofs: Vec<Figure>,
    /// Causes that only the run before has.
    pub causes_gone: Vec<Cause>,
    /// Causes that only the run after has.
    pub causes_new: Vec<Cause>,
}

/// A name or value that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The part: `gpu`, `core`, `scheduler`, `settings`.
    pub name: &'static str,
    /// In the run before.
    pub before: String,
    /// In the run after.
    pub after: String,
}

/// A figure that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name of a statistic or a roof.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// In the run before; `None` if it has none.
    pub before: Option<f64>,
    /// In the run after; `None` if it has none.
    pub after: Option<f64>,
}

/// Issue slots of a reason, or those that issued.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slots {
    /// `issued`, or the reason of empty slots.
    pub reason: String,
    /// Slots in the run before.
    pub before: u64,
    /// Slots in the run after.
    pub after: u64,
    /// Their part of the change in cycles; negative if there are fewer.
    pub cycles: f64,
}

/// A kernel in both runs, or in one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelChange {
    /// Name in the run after, or before if it is only there.
    pub name: String,
    /// Name in the run before, if it was another one.
    pub name_before: Option<String>,
    /// Cycles of its launches in the run before; `None` if it was not launched.
    pub cycles_before: Option<f64>,
    /// Cycles of its launches in the run after; `None` if it is not launched.
    pub cycles_after: Option<f64>,
    /// Lines whose issue slots differ, or instructions if the code has no lines: the greatest change first. Empty unless
    /// both runs were profiled.
    pub lines: Vec<LineChange>,
}

impl KernelChange {
    /// Change in cycles; a kernel of one run has all of its cycles.
    pub fn cycles(&self) -> f64 {
        self.cycles_after.unwrap_or(0.0) - self.cycles_before.unwrap_or(0.0)
    }
}

impl Changes {
    /// Change in cycles of kernels.
    pub fn cycles(&self) -> f64 {
        let cycles = self.figures.iter().find(|figure| figure.name == "cycles");
        cycles.map_or(0.0, |of| of.after.unwrap_or(0.0) - of.before.unwrap_or(0.0))
    }
}

/// A line of the source whose issue slots differ; an instruction if the code has no lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineChange {
    /// Text of the line or the instruction; empty if the source is not at hand.
    pub text: String,
    /// Its place in the version before; `None` if it is new.
    pub before: Option<Spot>,
    /// Its place in the version after; `None` if it is gone.
    pub after: Option<Spot>,
    /// Its part of the change in cycles; negative if it takes fewer slots.
    pub cycles: f64,
}

impl LineChange {
    /// The reason of most slots in which it waits, or waited if it is gone.
    pub fn waits_for(&self) -> Option<&'static str> {
        self.after.as_ref().or(self.before.as_ref())?.waits_for
    }
}

/// A line or instruction in one of the versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spot {
    /// File of the line, without folders; `None` of instructions.
    pub file: Option<String>,
    /// Line from 1, or the place of the instruction in the code, from 0.
    pub number: u32,
    /// Issue slots that it took.
    pub slots: u64,
    /// Warp instructions that it issued.
    pub issued: u64,
    /// The reason of most slots in which it waited.
    pub waits_for: Option<&'static str>,
}
