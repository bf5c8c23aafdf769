//! Published counts evaluated by our model, next to published and measured watts.
//!
//! AccelWattch's artifact (MICRO 2021) contains, for 25 kernels on a Quadro V100, hardware counters, watts by
//! component that its hardware variant computed from them, and the measured power of the board. Counts of the
//! instruction buffer, the scheduler and the lanes, and the active lanes on which static power depends, are
//! not published: for those the published watts are used, so that totals can be compared.

use crate::{Activity, CoefficientError, Coefficients, Component, Event};

/// Counts and watts: see the head of the file.
const PUBLISHED: &str = include_str!("../data/accelwattch_v100.csv");
/// Coefficients of the hardware variant.
const COEFFICIENTS: &str = include_str!("../../../energies/v100-hw.toml");
/// Pipes whose active cycles per cycle and SM the published duty is the mean of.
const PIPES: f64 = 5.0;

/// Results of both models for the same counts, in watts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct PowerPart {
    pub name: &'static str,
    /// Our model's result from the published counts.
    pub ours: f64,
    pub published: f64,
}

/// The comparison for one kernel. Powers are in watts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct AccelWattchRow {
    /// Its name in AccelWattch's tables.
    pub kernel: String,
    /// Parts whose counts are published.
    pub parts: Vec<PowerPart>,
    /// The board's constant power, which belongs to no event.
    pub constant: PowerPart,
    /// Published power of everything else.
    pub taken: f64,
    pub published: f64,
    pub measured: f64,
}

impl AccelWattchRow {
    /// Our total: our parts, constant power and the published remainder.
    pub fn ours(&self) -> f64 {
        self.taken + self.constant.ours + self.counted().0
    }

    /// Power of the parts with published counts: ours and the published one.
    pub fn counted(&self) -> (f64, f64) {
        self.parts.iter().fold((0.0, 0.0), |(ours, theirs), p| (ours + p.ours, theirs + p.published))
    }
}

/// The comparison for all kernels.
///
/// # Errors
/// The coefficients in the program are malformed, which tests exclude.
pub fn rows() -> Result<Vec<AccelWattchRow>, CoefficientError> {
    let coefficients = Coefficients::parse(COEFFICIENTS)?;
    let mut lines = PUBLISHED.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    Ok(lines.map(|line| row(&coefficients, &head, line)).collect())
}

fn row(coefficients: &Coefficients, head: &[&str], line: &str) -> AccelWattchRow {
    let cells: Vec<&str> = line.split(',').collect();
    let cell = |name: &str| head.iter().position(|&h| h == name).and_then(|i| cells.get(i)).copied().unwrap_or("");
    let number = |name: &str| cell(name).parse::<f64>().unwrap_or(0.0);
    let cycles = number("cycles");
    let mut activity = Activity {
        seconds: cycles / (coefficients.core_mhz * 1e6),
        active_sms: coefficients.sms - number("idle_sms"),
        sms: coefficients.sms,
        ..Activity::default()
    };
    for &event in Event::ALL {
        activity.events[event] = number(event.name());
    }
    activity.events[Event::PipeCycle] = number("pipeline_duty") * PIPES * coefficients.sms * cycles;
    activity.events[Event::SharedInstruction] = number("shared_access");
    let energy = coefficients.energy(&activity, coefficients.volts);
    let watts = |of: &[Component]| of.iter().map(|&c| energy.watts(c)).sum::<f64>();
    use Component as C;
    let part =
        |name, of: &[Component], published: &str| PowerPart { name, ours: watts(of), published: number(published) };
    AccelWattchRow {
        kernel: cell("kernel").to_owned(),
        parts: vec![
            part("L1", &[C::L1], "w_l1"),
            part("constant cache", &[C::ConstantCache], "w_constant"),
            part("shared memory", &[C::SharedMemory], "w_shared"),
            part("L2, crossbar", &[C::L2, C::Crossbar], "w_l2_and_crossbar"),
            part("DRAM", &[C::Dram], "w_dram"),
            part("pipeline", &[C::Pipeline], "w_pipeline"),
            part("idle SMs", &[C::IdleSms], "w_idle_sms"),
        ],
        constant: part("constant", &[C::Constant], "w_constant_power"),
        taken: number("w_static") + number("w_rest"),
        published: number("w_total"),
        measured: number("w_measured"),
    }
}

/// Mean of the absolute relative deviations of `found` from `expected`, in percent.
pub fn mean_error_percent(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, count) =
        pairs.fold((0.0, 0.0), |(sum, n), (found, expected)| (sum + (found / expected - 1.0).abs(), n + 1.0));
    if count > 0.0 { 100.0 * sum / count } else { 0.0 }
}
