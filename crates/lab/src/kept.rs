//! What is kept of a run, to be read again in place of running it again.

use crate::checkpoint::{Work, identity};
use crate::report::{HostFigures, KernelTotal, Report};
use crate::run::Job;
use crate::setup::Setup;
use serde::{Deserialize, Serialize};

/// A report as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptReport {
    /// What the run was ([`identity_of`]).
    pub identity: Vec<(String, String)>,
    report: Report,
    by_kernel: Vec<KernelTotal>,
    unmatched: Vec<String>,
}

impl KeptReport {
    /// Keeps `report`, of a run with this identity. `None` if it has parts that are not kept: what hazard auditors or
    /// checks of memory accesses have found, profiles, timelines, and figures over time. What the host took is left out.
    pub fn of(identity: Vec<(String, String)>, report: &Report) -> Option<Self> {
        let Report { audit, profile, memory_checks, power, samples, timelines, .. } = report;
        let none = audit.is_none() && profile.is_none() && memory_checks.is_none();
        if !(none && power.is_none() && samples.is_none() && timelines.is_empty()) {
            return None;
        }
        let unmatched = report.sampling.as_ref().map_or_else(Vec::new, |sampling| sampling.unmatched.clone());
        let by_kernel = report.by_kernel.clone();
        // What the host took is another figure each time.
        let report = Report { overview: None, host: HostFigures::default(), ..report.clone() };
        Some(Self { identity, report, by_kernel, unmatched })
    }

    /// The report.
    pub fn into_report(self) -> Report {
        let Self { mut report, by_kernel, unmatched, .. } = self;
        if let Some((first, others)) = report.kernels.split_first_mut() {
            others.iter_mut().for_each(|kernel| kernel.statistics.share(&first.statistics));
        }
        report.by_kernel = by_kernel;
        if let Some(sampling) = &mut report.sampling {
            sampling.unmatched = unmatched;
        }
        report
    }
}

/// What distinguishes a run from all others whose results may differ: names and values, the model's version and digests
/// of what is read among them.
pub fn identity_of(setup: &Setup, job: &Job) -> Vec<(String, String)> {
    let (name, is_trace) = (job.named(), matches!(job, Job::Trace { .. }));
    // The GPU's own scheduler is the same one, named or not.
    let scheduler = setup.scheduler.clone().or_else(|| Some(setup.gpu.sm.issue.scheduler.to_string()));
    let setup = Setup { scheduler, ..setup.clone() };
    identity(&setup, &Work { name, inputs: &job.inputs(), is_trace })
}
