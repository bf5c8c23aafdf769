//! The model's figures beside those measured on hardware, each gap with its reason.
//!
//! Ours come from [`crate::microbench`], the others from [`config::measured`]. `docs/validation.md`
//! holds the table and the reasons.

use crate::microbench::{Measurement, measure};
use crate::setup::Setup;
use config::GpuConfig;
use config::measured::{Figure, Quantity, figures_for};
use workloads::device::DeviceError;

/// Deviation in percent up to which two figures agree.
pub const AGREES_PERCENT: f64 = 5.0;

/// What was measured on hardware.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Measured {
    /// The GPU, by its full name; it may be a related card.
    pub gpu: String,
    /// Smallest of the measured values.
    pub low: f64,
    /// Largest of the measured values.
    pub high: f64,
    /// Who measured it, and how.
    pub source: String,
    /// Remarks on the measurement; may be empty.
    pub note: String,
}

/// One quantity of one GPU.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Row {
    /// Name of the GPU description.
    pub gpu: String,
    /// Name of the quantity.
    pub quantity: &'static str,
    /// Unit of all figures.
    pub unit: &'static str,
    /// What was measured on hardware, if anything was.
    pub measured: Option<Measured>,
    /// The model's figure.
    pub ours: f64,
    /// Deviation of ours from the nearest measured value, in percent of that; 0 within the
    /// range of the measured values.
    pub deviation_percent: Option<f64>,
    /// Key of the reason, one of [`Reason`]'s names.
    pub reason: &'static str,
}

macro_rules! reasons {
    ($($(#[doc = $text:literal])+ $reason:ident = $name:literal;)*) => {
        /// Why a figure is what it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason { $($(#[doc = $text])+ $reason,)* }

        impl Reason {
            /// Every reason, in the order of the document.
            pub const ALL: &'static [Reason] = &[$(Reason::$reason,)*];

            /// The key in a [`Row`].
            pub const fn name(self) -> &'static str {
                match self { $(Reason::$reason => $name,)* }
            }

            /// The mechanism, for a reader of the report.
            pub const fn text(self) -> &'static str {
                match self { $(Reason::$reason => concat!($($text,)+).trim_ascii(),)* }
            }
        }
    };
}

reasons! {
    /// No figure measured on this GPU is known to us.
    Unmeasured = "unmeasured";
    /// The two figures differ by no more than 5 %.
    Agrees = "agrees";
    /// The description has Accel-Sim's PTX latency, which its tuner takes from the measured time
    /// between dependent instructions. The model's pipeline adds operand collection, dispatch and
    /// write-back to it: 5 cycles, and more where registers wait for their bank.
    PtxLatency = "ptx-latency";
    /// Accel-Sim's PTX table gives special functions 100 cycles, nearly five times what the tuner
    /// measured; its table for machine code has 21.
    PtxSfuLatency = "ptx-sfu-latency";
    /// A 16x16x16 operation is one PTX instruction, with latency and interval 64 in Accel-Sim's PTX
    /// table. Hardware executes it as machine instructions that overlap: half the time, twice the
    /// rate. In addition the 20 to 24 registers are read one per bank and round, in 5 to 12 rounds.
    PtxTensor = "ptx-tensor";
    /// The latency is that of Accel-Sim's description: 20 cycles on the TITAN V, where its tuner
    /// measured 33.7 for L1 and 27 for shared memory; 39 for L1 on the RTX 3070, where the chase,
    /// without its clock's overhead, has 33. The load/store unit of the model adds 4 or 5.
    L1Parameter = "l1-parameter";
    /// Accel-Sim's tuner sets the latency of L2 to the measured L2 latency less that of L1. In the
    /// model a request that misses L1 does not pay the L1 latency, only 12 cycles of transport in
    /// both directions. The sum is too short by most of an L1 latency.
    L2Parameter = "l2-parameter";
    /// The sum agrees, its parts do not. Accel-Sim's tuner sets the latency of DRAM to the measured
    /// difference to L2, and the model adds the DRAM's own timing (tRCD, tCL and three command
    /// cycles), which compensates for the short latency of L2.
    DramParameter = "dram-parameter";
    /// L2 replies to atomics as to loads, with the same missing latency (`l2-parameter`), and the
    /// unit that adds has no latency of its own.
    AtomicUnit = "atomic-unit";
    /// No mechanism has been found yet.
    Unexplained = "unexplained";
    /// Two limits, both as in Accel-Sim; hardware reaches 90 %. The crossbar has one queue per
    /// input, whose head blocks the requests behind it: 50 to 59 % of the peak is achieved. Where
    /// the number of slices is no power of two, the hash, made for the next power, is taken modulo
    /// the number of slices: of the TITAN V's 48, 16 get twice the traffic of the others and are
    /// full at two thirds of the peak.
    L2Traffic = "l2-traffic";
    /// As for L2, 16 of the TITAN V's 48 slices, and so 8 of its 24 channels, get twice the traffic
    /// of the others: at two thirds of the peak these are full. The V100, with 32 channels, comes
    /// close to its peak, as refresh is not modelled.
    DramTraffic = "dram-traffic";
    /// The description leaves launches at 0 cycles, as Accel-Sim's does for this GPU; the figure is
    /// that of an empty kernel in the SM. Set `launch.kernel_latency_cycles` where launches matter.
    LaunchParameter = "launch-parameter";
    /// Ours is the operand traffic of independent multiply-adds with three operands, at the rate of
    /// their units. The other is derived by the tuner for the matrix units' operands, without a
    /// measurement; the description's banks and rounds have the same capacity.
    RegisterCapacity = "register-capacity";
    /// The figure is that of a related card with other clocks: the A4000 has slower memory, and its
    /// latencies count cycles of its own core clock.
    Relation = "relation";
}

impl Reason {
    /// Why a figure deviates.
    fn of(gpu: &GpuConfig, figure: &Figure, deviation: f64, l2_agrees: bool) -> Self {
        let quantity = figure.quantity;
        use Quantity::*;
        // The right sum must not hide the wrong parts.
        if deviation.abs() <= AGREES_PERCENT && (quantity != DramLatency || l2_agrees) {
            return Reason::Agrees;
        }
        match quantity {
            DramLatency if !gpu.description.contains(&figure.gpu) => Reason::Relation,
            Fp32Latency | Int32Latency | Fp16Latency | Fp64Latency => Reason::PtxLatency,
            SfuLatency => Reason::PtxSfuLatency,
            WmmaF32Latency | WmmaF16Latency | TensorF32Rate | TensorF16Rate => Reason::PtxTensor,
            Fp16Rate | Fp32Rate | Int32Rate | Fp64Rate | SfuRate => Reason::Unexplained,
            L1Latency | SharedLatency => Reason::L1Parameter,
            L2Latency => Reason::L2Parameter,
            DramLatency => Reason::DramParameter,
            AtomicLatency => Reason::AtomicUnit,
            L1Bandwidth | SharedBandwidth => Reason::Unexplained,
            L2Bandwidth => Reason::L2Traffic,
            DramBandwidth => Reason::DramTraffic,
            LaunchLatency => Reason::LaunchParameter,
            RegisterBandwidth => Reason::RegisterCapacity,
        }
    }
}

/// By how much `ours` is outside of `low..=high`, in percent of the nearer end.
fn deviation(ours: f64, low: f64, high: f64) -> f64 {
    let nearest = ours.clamp(low, high);
    (ours - nearest) / nearest * 100.0
}

/// The rows of one GPU: every quantity that the model has.
///
/// # Errors
/// What the simulated device reports; a model that cannot run a microbenchmark is at fault.
pub fn table(setup: &Setup) -> Result<Vec<Row>, DeviceError> {
    let figures: Vec<&Figure> = figures_for(&setup.gpu.name).collect();
    let figure_of = |found: &Measurement| figures.iter().find(|f| f.quantity.name() == found.name);
    let measurements = measure(setup)?;
    let l2 = measurements.iter().find(|found| found.name == Quantity::L2Latency.name());
    let l2_agrees = l2.is_some_and(|found| {
        figure_of(found).is_some_and(|f| deviation(found.value, f.low, f.high).abs() <= AGREES_PERCENT)
    });
    let row = |found: Measurement| {
        let figure = figure_of(&found);
        let measured = figure.map(|f| Measured {
            gpu: f.gpu.clone(),
            low: f.low,
            high: f.high,
            source: f.source.clone(),
            note: f.note.clone(),
        });
        let deviation_percent = figure.map(|f| deviation(found.value, f.low, f.high));
        let reason = match (figure, deviation_percent) {
            (Some(figure), Some(deviation)) => Reason::of(&setup.gpu, figure, deviation, l2_agrees),
            _ => Reason::Unmeasured,
        };
        Row {
            gpu: setup.gpu.name.clone(),
            quantity: found.name,
            unit: found.unit,
            measured,
            ours: found.value,
            deviation_percent,
            reason: reason.name(),
        }
    };
    Ok(measurements.into_iter().map(row).collect())
}

/// A figure with one decimal place, or none for large ones.
pub fn figure(value: f64) -> String {
    let decimals = if value.abs() >= 1000.0 { 0 } else { 1 };
    let text = format!("{value:.decimals$}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

impl Row {
    /// What was measured, as text: one value or two.
    pub fn measured_text(&self) -> String {
        match &self.measured {
            None => "-".to_owned(),
            Some(m) if figure(m.low) == figure(m.high) => figure(m.low),
            Some(m) => format!("{} to {}", figure(m.low), figure(m.high)),
        }
    }

    /// The deviation, as text with its sign.
    pub fn deviation_text(&self) -> String {
        self.deviation_percent
            .map_or_else(|| "-".to_owned(), |d| format!("{:+.0} %", if d.abs() < 0.5 { 0.0 } else { d }))
    }
}

/// The rows as a table in Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| GPU | quantity | unit | hardware | ours | deviation | reason |\n| --- | --- | --- | ---: | ---: | ---: | --- |\n",
    );
    for row in rows {
        let on = row.measured.as_ref().map_or_else(String::new, |m| format!(" ({})", m.gpu));
        text += &format!(
            "| {} | {} | {} | {}{on} | {} | {} | {} |\n",
            row.gpu,
            row.quantity,
            row.unit,
            row.measured_text(),
            figure(row.ours),
            row.deviation_text(),
            row.reason
        );
    }
    text
}

/// Our figures as a table in Markdown: a line per quantity, a column per GPU.
pub fn side_by_side(rows: &[Row]) -> String {
    let distinct = |of: fn(&Row) -> String| {
        rows.iter().map(of).fold(Vec::new(), |mut all: Vec<String>, one| {
            if !all.contains(&one) {
                all.push(one);
            }
            all
        })
    };
    let (gpus, lines) = (distinct(|r| r.gpu.clone()), distinct(|r| format!("{} | {}", r.quantity, r.unit)));
    let mut text =
        format!("| quantity | unit | {} |\n| --- | --- |{}\n", gpus.join(" | "), " ---: |".repeat(gpus.len()));
    for line in lines {
        let of = |gpu: &String| {
            let row = rows.iter().find(|r| r.gpu == *gpu && format!("{} | {}", r.quantity, r.unit) == line);
            row.map_or_else(|| "-".to_owned(), |r| figure(r.ours))
        };
        text += &format!("| {line} | {} |\n", gpus.iter().map(of).collect::<Vec<_>>().join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_from_the_nearer_end() {
        assert_eq!(deviation(3.0, 2.0, 4.0), 0.0);
        assert_eq!(deviation(5.0, 2.0, 4.0), 25.0);
        assert_eq!(deviation(1.0, 2.0, 4.0), -50.0);
    }

    #[test]
    fn figures_are_short() {
        for (value, text) in [(4.0, "4"), (4.119, "4.1"), (7257.6, "7258"), (0.5, "0.5"), (100.0, "100")] {
            assert_eq!(figure(value), text);
        }
    }
}
