//! The report of a program.

use crate::link::Direction;
use crate::origin::Origins;
use crate::timeline::{Moved, Timeline, Untimed};
use lab::Report;
use lab::grouping::{Costs, Grouping, Path};
use request::values::By;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Most failures that the report has in words.
const MOST_FAILURES: usize = 1000;

/// How many kernels and launches failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// Kernels, and modules as a whole, that cannot run.
    pub refused: u64,
    /// Kernels that ended with a fault, a deadlock or at a bound on cycles.
    pub faulted: u64,
    /// Requests of launches that returned an error.
    pub launches: u64,
}

impl Failed {
    /// Whether anything failed.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { refused, faulted, launches } = self;
        let counted = |count, one: &str, several: &str| format!("{count} {}", if count == 1 { one } else { several });
        let refused = counted(refused, "kernel or module was refused", "kernels or modules were refused");
        let faulted = counted(faulted, "kernel faulted", "kernels faulted");
        write!(f, "{refused}, {faulted}, {}", counted(launches, "launch failed", "launches failed"))
    }
}

/// Parts of the report beside the figures of the devices.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Notes {
    /// Calls of functions that are not supported, by name, with their number.
    pub unsupported: BTreeMap<&'static str, u64>,
    /// Failures of kernels and modules, the first thousand.
    failures: Vec<String>,
    /// All of them, and failed launches.
    pub failed: Failed,
    /// Launches of kernels in place of a library's, by library.
    stand_ins: BTreeMap<String, u64>,
    /// Devices whose use has ended.
    retired: Vec<DeviceReport>,
}

/// Transfers of a direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TransferReport {
    pub direction: &'static str,
    pub transfers: u64,
    pub bytes: u64,
    /// Time by the model of the link, each transfer by itself.
    pub seconds: f64,
}

/// Kernels of one name that were executed without time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct UntimedReport {
    pub name: String,
    pub launches: u64,
    /// Those of them that only filled memory: they take the time of a memset.
    pub fills: u64,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
}

/// Work of a device.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct DeviceReport {
    /// Ordinal.
    pub device: usize,
    /// Kernels and statistics, as of `warpwright run`.
    #[serde(flatten)]
    pub report: Report,
    pub transfers: Vec<TransferReport>,
    /// Kernels that were executed without time.
    pub untimed: Vec<UntimedReport>,
    /// Simulated time from the first use of the device to its last, transfers included.
    pub seconds: f64,
}

/// Work of a program.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ProgramReport {
    pub program: String,
    /// Calls of functions that are not supported, by name, with their number.
    pub unsupported: BTreeMap<&'static str, u64>,
    /// Launches of our kernels in place of a library's, by library.
    pub stand_ins: BTreeMap<String, u64>,
    /// Failures of kernels and modules, the first thousand.
    pub failures: Vec<String>,
    pub failed: Failed,
    pub devices: Vec<DeviceReport>,
}

/// Version of the JSON of a program's report.
const SCHEMA: u32 = 1;

/// The report of a program as its JSON has it.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: u32,
    version: &'static str,
    #[serde(flatten)]
    report: &'a ProgramReport,
}

impl ProgramReport {
    /// The document of this report.
    pub fn document(&self) -> Document<'_> {
        Document { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), report: self }
    }
}

impl Notes {
    /// Notes a kernel or module that cannot run.
    pub(crate) fn refused(&mut self, text: String) {
        self.failed.refused += 1;
        self.note(text);
    }

    /// Notes a kernel that failed.
    pub(crate) fn faulted(&mut self, text: String) {
        self.failed.faulted += 1;
        self.note(text);
    }

    fn note(&mut self, text: String) {
        if self.failures.len() < MOST_FAILURES {
            self.failures.push(text);
        }
    }

    /// Keeps the figures of a device that is not used any more.
    /// Its kernels are grouped if there is a `grouping`.
    pub(crate) fn retire(&mut self, device: usize, timeline: &mut Timeline, grouping: Option<(By, &Origins)>) {
        let ended = of_device(device, timeline, grouping);
        let timed = ended.report.by_kernel.iter().map(|kernel| (&kernel.name, kernel.launches));
        let untimed = ended.untimed.iter().map(|kernel| (&kernel.name, kernel.launches));
        for (name, launches) in timed.chain(untimed) {
            if let Some(library) = standins::library_of(name) {
                // A kernel is listed without launches if the run was cut off in its first one.
                *self.stand_ins.entry(library.to_owned()).or_insert(0) += launches.max(1);
            }
        }
        self.retired.push(ended);
    }

    /// The report of the program.
    pub(crate) fn report(self) -> ProgramReport {
        let Self { unsupported, stand_ins, failures, failed, retired } = self;
        ProgramReport { program: program(), unsupported, stand_ins, failures, failed, devices: retired }
    }
}

/// The kernels of a device by what launched them.
fn grouped(report: &Report, timeline: &Timeline, by: By, origins: &Origins) -> Grouping {
    let sampled = report.sampling.iter().flat_map(|sampling| &sampling.kernels);
    let mut costs: Costs<'_> = sampled.map(|one| (one.launch, (&*one.name, one.inferred_cycles))).collect();
    costs.extend(timeline.filled().iter().map(|(launch, name)| (*launch, (&**name, None))));
    for kernel in &report.kernels {
        let inferred = costs.get(&kernel.launch).and_then(|(_, cycles)| *cycles);
        let cycles = inferred.unwrap_or_else(|| kernel.statistics.number("cycles"));
        costs.insert(kernel.launch, (&kernel.name, Some(cycles)));
    }
    let paths: Vec<Path> =
        timeline.origins().iter().map(|&(launched, prepared)| origins.path(launched, prepared)).collect();
    Grouping::of(by.name(), &costs, &paths, timeline.core_hz())
}

fn of_device(device: usize, timeline: &mut Timeline, grouping: Option<(By, &Origins)>) -> DeviceReport {
    let mut report = timeline.device.summary(program());
    report.grouping = grouping.map(|(by, origins)| grouped(&report, timeline, by, origins));
    let hz = timeline.core_hz();
    let transfers = Direction::ALL.into_iter().zip(timeline.moved()).filter(|(_, moved)| moved.transfers > 0);
    let transfers = transfers.map(|(direction, &Moved { transfers, bytes, cycles })| TransferReport {
        direction: direction.name(),
        transfers,
        bytes,
        seconds: cycles as f64 / hz,
    });
    let untimed = timeline.untimed().iter().map(
        |(name, &Untimed { launches, fills, warp_instructions, thread_instructions })| {
            let name = exec::plain_name(name).unwrap_or(name).to_owned();
            UntimedReport { name, launches, fills, warp_instructions, thread_instructions }
        },
    );
    let (transfers, untimed) = (transfers.collect(), untimed.collect());
    DeviceReport { device, report, transfers, untimed, seconds: timeline.now() as f64 / hz }
}

/// The command that the program was started with.
fn program() -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    words.join(" ")
}
