//! Stored form of a report, which is read instead of running again.

use crate::checkpoint::{JobIdentity, identity};
use crate::report::{HostFigures, KernelTotal, Report};
use crate::setup::Setup;
use serde::{Deserialize, Serialize};

/// A stored report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptReport {
    /// Identity of the run ([`identity_of`]).
    pub identity: Vec<(String, String)>,
    report: Report,
    by_kernel: Vec<KernelTotal>,
    unmatched: Vec<String>,
}

impl KeptReport {
    /// Stores `report` of a run with this identity, without the host's figures. `None` if it has parts that are not stored:
    /// findings of hazard auditors or memory checks, profiles, timelines, and figures over time.
    pub fn of(identity: Vec<(String, String)>, report: &Report) -> Option<Self> {
        let Report { audit, profile, memory_checks, power, samples, timelines, .. } = report;
        let none = audit.is_none() && profile.is_none() && memory_checks.is_none();
        if !(none && power.is_none() && samples.is_none() && timelines.is_empty()) {
            return None;
        }
        let unmatched = report.sampling.as_ref().map_or_else(Vec::new, |sampling| sampling.unmatched.clone());
        let by_kernel = report.by_kernel.clone();
        // The host's figures differ from run to run.
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

/// Identity of a run: names and values of everything that its results depend on, with the model's version and digests of
/// its inputs.
pub fn identity_of(setup: &Setup, job: &JobIdentity) -> Vec<(String, String)> {
    // The scheduler that the core or the GPU has is the same one, named or not.
    let setup = Setup { scheduler: Some(setup.scheduler_of_sms().to_owned()), ..setup.clone() };
    identity(&setup, job)
}
