//! Progress of a run, and its listener.

use std::ops::ControlFlow;

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Kernel that runs (the oldest one, where several do).
    pub kernel: String,
    /// Kernel launches that have ended.
    pub kernels_done: u32,
    /// Kernel launches that there will be, where that is known beforehand.
    pub kernels_total: Option<u32>,
    /// Share of the run's CTAs that have ended, where their number is known beforehand.
    pub share_done: Option<f64>,
    /// CTAs of the running kernels that have ended.
    pub ctas_done: u64,
    /// CTAs of the running kernels.
    pub ctas_total: u64,
    /// Core cycles simulated so far in the run.
    pub cycles: u64,
    /// Warp instructions issued so far in the run.
    pub warp_instructions: u64,
    /// More, for monitors that want it.
    pub details: Option<Details>,
}

/// Counts of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Warp instructions issued, by SM.
    pub issued: Vec<u64>,
    /// Issue slots: those in which an instruction issued (`issued`), and those that stayed empty by reason. Empty for
    /// cores without issue slots.
    pub slots: Vec<(String, u64)>,
}

/// Receives a run's progress a few times per second; `Break` ends the run early.
pub trait Monitor: Send {
    /// Called at intervals.
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()>;

    /// Whether it wants [`Progress::details`], which take time to find out.
    fn wants_details(&self) -> bool {
        false
    }
}

impl<M: Monitor + ?Sized> Monitor for &mut M {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        (**self).progress(progress)
    }

    fn wants_details(&self) -> bool {
        (**self).wants_details()
    }
}

/// A monitor that lets everything run to its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

impl Monitor for Unattended {
    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
