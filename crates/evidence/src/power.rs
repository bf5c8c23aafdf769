//! Power of runs beside measured power: AccelWattch's validation kernels, `docs/measured-power.toml`, which comes with
//! the program. Measured and published figures judge the model; they are never an input.

use crate::applications::{Agreement, Input};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Power of kernels, measured, published and of our runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredPower {
    /// Where the measured and published watts are from.
    pub source: String,
    /// How our watts were taken, by core design.
    #[serde(default)]
    pub ours: BTreeMap<String, Ours>,
    /// The kernels, in the order of the publication.
    #[serde(rename = "kernel")]
    pub kernels: Vec<Kernel>,
}

/// The build and the coefficients that our watts are of.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of some fields say it all")]
pub struct Ours {
    pub gpu: String,
    /// Coefficients (`--energy-model`).
    pub energy_model: String,
    pub version: String,
    pub commit: String,
    /// Day of the last run, as `2026-11-23`.
    pub date: String,
}

/// A kernel, and the run of a program that launches it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Name in AccelWattch's tables.
    pub name: String,
    /// Name of the executable.
    pub program: String,
    /// Its command line.
    #[serde(default)]
    pub arguments: String,
    /// Launches that are simulated in time (`exec --time`).
    pub time: String,
    /// Text in the names of the launches that count.
    pub kernel: String,
    /// Where its input is from.
    pub input: Input,
    /// Power of the board, measured while the kernel was launched again and again.
    pub measured_watts: f64,
    /// AccelWattch's power from hardware counters, if it published one.
    pub hardware_variant_watts: Option<f64>,
    /// AccelWattch's power from its own simulation.
    pub simulated_variant_watts: f64,
    /// Ours, by core design.
    #[serde(default)]
    pub watts: BTreeMap<String, f64>,
    /// Known cause of the deviation.
    pub note: Option<String>,
}

/// The published figures, and ours.
const TEXT: &str = include_str!("../../../docs/measured-power.toml");

static POWER: LazyLock<MeasuredPower> =
    LazyLock::new(|| toml::from_str(TEXT).expect("docs/measured-power.toml is well-formed"));

/// The figures of `docs/measured-power.toml`.
pub fn measured_power() -> &'static MeasuredPower {
    &POWER
}

/// Agreement of watts with the measured ones, kernel by kernel; kernels without watts are left out.
pub fn agreement(watts_and_measured: impl IntoIterator<Item = (Option<f64>, f64)>) -> Agreement {
    let pairs: Vec<_> =
        watts_and_measured.into_iter().filter_map(|(watts, measured)| Some((watts?, measured))).collect();
    Agreement::of(&pairs)
}

/// Deviation of `watts` from the measured ones, in percent.
pub fn off_percent(watts: f64, measured: f64) -> f64 {
    (watts / measured - 1.0) * 100.0
}
