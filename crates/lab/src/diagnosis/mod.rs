//! Why a run takes the time it takes: the roof that limits it, and causes that can be removed.
//!
//! A rule is a file of `rules` and a line of its table: a condition over what was counted, a sentence with figures, and
//! the cycles that the cause costs: at most, or, of latencies, about. A rule that holds names the instruction and its line
//! if there is a profile. The gain of a rule is never beyond what the other roofs leave. Causes are ordered by their
//! gains; a cause whose removal makes the kernel less than `cause::LEAST` times as fast is not mentioned.

mod cause;
mod facts;
mod found;
mod roofs;
mod rules;

pub use cause::{Cause, Diagnosis, KernelRoofs, RoofInUse};
pub use roofs::{LevelPeak, ROOFS, Roof, level_peak, roofs};
pub use rules::{RULES, Rule};

use crate::for_core::{is_sm, is_timed};
use crate::profile::Profile;
use crate::report::{KernelReport, KernelTotal, Report};
use config::GpuConfig;
use facts::Facts;

/// Kernels that are looked at, by cycles.
const KERNELS: usize = 4;
/// Share of the run's cycles from which a kernel is looked at.
const SHARE: f64 = 0.05;

/// The diagnosis of a run on `gpu`; `None` for cores that are not SMs or have no time, or where nothing ran.
pub(crate) fn of(report: &Report, gpu: &GpuConfig) -> Option<Diagnosis> {
    if !is_sm(&report.core) || !is_timed(&report.core) {
        return None;
    }
    let cycles = |kernel: &KernelTotal| kernel.statistics.number("cycles");
    let mut kernels: Vec<_> = report.by_kernel.iter().filter(|kernel| kernel.launches > 0).collect();
    kernels.sort_by(|a, b| cycles(b).total_cmp(&cycles(a)));
    let all: f64 = kernels.iter().map(|kernel| cycles(kernel)).sum();
    kernels.retain(|kernel| cycles(kernel) > SHARE * all);
    kernels.truncate(KERNELS);
    let of_kernels: Vec<_> = kernels.iter().filter_map(|kernel| facts_of(report, gpu, kernel)).collect();
    let limit = of_kernels.first()?.limit();
    let kernels = of_kernels.iter().map(Facts::roofs_in_use).collect();
    let mut diagnosis = Diagnosis { limit, causes: Vec::new(), kernels };
    diagnosis.add(rules::causes(report, &of_kernels));
    Some(diagnosis)
}

fn facts_of<'a>(report: &'a Report, gpu: &'a GpuConfig, kernel: &'a KernelTotal) -> Option<Facts<'a>> {
    let cycles = |kernel: &KernelReport| kernel.statistics.number("cycles");
    let launches: Vec<_> = report.kernels.iter().filter(|launch| launch.name == kernel.name).collect();
    let longest = launches.iter().copied().max_by(|a, b| cycles(a).total_cmp(&cycles(b)))?;
    let profile = report.profile.as_ref().and_then(|profile: &Profile| {
        let mut of_name = profile.kernels.iter().filter(|of| of.name == kernel.name);
        of_name.next().filter(|_| of_name.next().is_none())
    });
    Facts::new(gpu, longest, &launches, kernel.statistics.unpacked(), profile)
}
