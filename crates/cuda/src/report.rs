//! The report of a program.

use crate::link::Direction;
use crate::timeline::{Moved, Timeline, Untimed};
use lab::Report;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the report has beside the figures of the devices.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Notes {
    /// Calls of functions that are not supported, by name, with their number.
    pub unsupported: BTreeMap<&'static str, u64>,
    /// Failures of kernels and modules.
    pub failures: Vec<String>,
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
    pub warp_instructions: u64,
    pub thread_instructions: u64,
}

/// What a device did.
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

/// What a program did.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ProgramReport {
    pub program: String,
    /// Calls of functions that are not supported, by name, with their number.
    pub unsupported: BTreeMap<&'static str, u64>,
    /// Failures of kernels and modules.
    pub failures: Vec<String>,
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
    commit: Option<&'a str>,
}

impl ProgramReport {
    /// The document of this report, by a program that was built from `commit`.
    pub fn document<'a>(&'a self, commit: Option<&'a str>) -> Document<'a> {
        Document { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), report: self, commit }
    }
}

impl Notes {
    /// Keeps the figures of a device that is not used any more.
    pub(crate) fn retire(&mut self, device: usize, timeline: &mut Timeline) {
        self.retired.push(of_device(device, timeline));
    }

    /// The report of the program.
    pub(crate) fn report(self) -> ProgramReport {
        let Self { unsupported, failures, retired } = self;
        ProgramReport { program: program(), unsupported, failures, devices: retired }
    }
}

fn of_device(device: usize, timeline: &mut Timeline) -> DeviceReport {
    let report = timeline.device.summary(program());
    let hz = timeline.core_hz();
    let transfers = Direction::ALL.into_iter().zip(timeline.moved()).filter(|(_, moved)| moved.transfers > 0);
    let transfers = transfers.map(|(direction, &Moved { transfers, bytes, cycles })| TransferReport {
        direction: direction.name(),
        transfers,
        bytes,
        seconds: cycles as f64 / hz,
    });
    let untimed =
        timeline.untimed().iter().map(|(name, &Untimed { launches, warp_instructions, thread_instructions })| {
            let name = exec::plain_name(name).unwrap_or(name).to_owned();
            UntimedReport { name, launches, warp_instructions, thread_instructions }
        });
    let (transfers, untimed) = (transfers.collect(), untimed.collect());
    DeviceReport { device, report, transfers, untimed, seconds: timeline.now() as f64 / hz }
}

/// The command that the program was started with.
fn program() -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    words.join(" ")
}
