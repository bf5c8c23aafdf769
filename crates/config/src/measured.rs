//! Figures measured on real GPUs, for comparison with the simulator's.
//!
//! The data are in `docs/hardware-figures.toml`, which comes with the program.
//!
//! ```
//! use config::measured::{Quantity, figures};
//!
//! let l1 = figures().iter().find(|f| f.gpu == "TITAN V" && f.quantity == Quantity::L1Latency).unwrap();
//! assert_eq!(l1.quantity.unit(), "core cycles");
//! assert!((33.7..33.8).contains(&l1.middle()));
//! ```

use crate::error::{ConfigError, Problem, Spot};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

macro_rules! quantities {
    ($($(#[doc = $text:literal])+ $quantity:ident = $name:literal, $unit:literal;)*) => {
        /// A quantity that microbenchmarks measure, with its unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        pub enum Quantity { $($(#[doc = $text])+ #[serde(rename = $name)] $quantity,)* }

        impl Quantity {
            /// Every quantity, in the order of reports.
            pub const ALL: &'static [Quantity] = &[$(Quantity::$quantity,)*];

            /// The name in the data file.
            pub const fn name(self) -> &'static str {
                match self { $(Quantity::$quantity => $name,)* }
            }

            /// The unit of its values.
            pub const fn unit(self) -> &'static str {
                match self { $(Quantity::$quantity => $unit,)* }
            }

            /// One sentence for a reader of the report.
            pub const fn description(self) -> &'static str {
                match self { $(Quantity::$quantity => concat!($($text,)+).trim_ascii(),)* }
            }
        }
    };
}

quantities! {
    /// From one dependent single-precision fma to the next.
    Fp32Latency = "fp32_latency", "core cycles";
    /// From one dependent 32-bit integer multiply-add to the next.
    Int32Latency = "int32_latency", "core cycles";
    /// From one dependent half-precision fma to the next.
    Fp16Latency = "fp16_latency", "core cycles";
    /// From one dependent double-precision fma to the next.
    Fp64Latency = "fp64_latency", "core cycles";
    /// From one dependent special function to the next.
    SfuLatency = "sfu_latency", "core cycles";
    /// From one dependent 16x16x16 matrix operation with fp32 accumulation to the next.
    WmmaF32Latency = "wmma_f32_latency", "core cycles";
    /// From one dependent 16x16x16 matrix operation with fp16 accumulation to the next.
    WmmaF16Latency = "wmma_f16_latency", "core cycles";
    /// Single-precision operations; an fma counts as two.
    Fp32Rate = "fp32_rate", "operations/core cycle/SM";
    /// 32-bit integer operations; a multiply-add counts as two.
    Int32Rate = "int32_rate", "operations/core cycle/SM";
    /// Half-precision operations; an fma counts as two.
    Fp16Rate = "fp16_rate", "operations/core cycle/SM";
    /// Double-precision operations; an fma counts as two.
    Fp64Rate = "fp64_rate", "operations/core cycle/SM";
    /// Special functions.
    SfuRate = "sfu_rate", "operations/core cycle/SM";
    /// Fused multiply-adds of the matrix units with fp32 accumulation.
    TensorF32Rate = "tensor_f32_rate", "fma/core cycle/SM";
    /// Fused multiply-adds of the matrix units with fp16 accumulation.
    TensorF16Rate = "tensor_f16_rate", "fma/core cycle/SM";
    /// A load that hits in L1, by pointer chasing.
    L1Latency = "l1_latency", "core cycles";
    /// A load from shared memory, by pointer chasing.
    SharedLatency = "shared_latency", "core cycles";
    /// A load that misses in L1 and hits in L2, by pointer chasing.
    L2Latency = "l2_latency", "core cycles";
    /// A load that misses in L2, by pointer chasing.
    DramLatency = "dram_latency", "core cycles";
    /// From one dependent atomic addition on global memory to the next.
    AtomicLatency = "atomic_latency", "core cycles";
    /// Data that loads get from L1.
    L1Bandwidth = "l1_bandwidth", "bytes/core cycle/SM";
    /// Data that loads get from shared memory.
    SharedBandwidth = "shared_bandwidth", "bytes/core cycle/SM";
    /// Data that loads of all SMs get from L2.
    L2Bandwidth = "l2_bandwidth", "bytes/core cycle";
    /// Data that loads of all SMs get from DRAM.
    DramBandwidth = "dram_bandwidth", "GB/s";
    /// From a kernel's launch to its start.
    LaunchLatency = "launch_latency", "core cycles";
    /// Data that instructions get from the register file.
    RegisterBandwidth = "register_bandwidth", "bytes/core cycle/SM";
}

/// A measurement on hardware, with its source.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Figure {
    /// The GPU measured, by its full name.
    pub gpu: String,
    /// Our description that models that GPU, or the nearest one.
    pub description: Option<String>,
    /// What was measured; also has the unit.
    pub quantity: Quantity,
    pub low: f64,
    /// Largest value measured; the same as `low` where there is only one.
    pub high: f64,
    /// Who measured it, and how.
    pub source: String,
    /// What else there is to say; may be empty.
    pub note: String,
}

impl Figure {
    /// The value, or the middle where there are several.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    sources: BTreeMap<String, String>,
    figure: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    gpu: toml::Spanned<String>,
    description: Option<String>,
    quantity: Quantity,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    source: String,
    #[serde(default)]
    note: String,
}

/// The figures that come with the program.
pub fn figures() -> &'static [Figure] {
    // A file of our own: a test reads it.
    static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| bundled().unwrap_or_default());
    &FIGURES
}

/// The figures that our description `name` should be compared with, by quantity.
pub fn figures_for(name: &str) -> impl Iterator<Item = &'static Figure> {
    figures().iter().filter(move |f| f.description.as_deref() == Some(name))
}

fn bundled() -> Result<Vec<Figure>, ConfigError> {
    parse(include_str!("../../../docs/hardware-figures.toml"), "docs/hardware-figures.toml")
}

/// Reads a file of figures.
///
/// # Errors
/// What is malformed, with line and column.
pub fn parse(text: &str, origin: &str) -> Result<Vec<Figure>, ConfigError> {
    let file: Arc<str> = origin.into();
    let data: File = toml::from_str(text).map_err(|e| {
        let spot = e.span().map_or_else(|| Spot::whole(origin), |s| Spot::at(&file, text, s.start));
        Problem::new("", e.message()).at(spot)
    })?;
    let (mut figures, mut problems) = (Vec::new(), Vec::new());
    for entry in data.figure {
        let spot = Spot::at(&file, text, entry.gpu.span().start);
        let range = match (entry.value, entry.low, entry.high) {
            (Some(value), None, None) => Some((value, value)),
            (None, Some(low), Some(high)) if low <= high => Some((low, high)),
            _ => None,
        };
        match (range.filter(|(low, high)| *low > 0.0 && high.is_finite()), data.sources.get(&entry.source)) {
            (Some((low, high)), Some(source)) => figures.push(Figure {
                gpu: entry.gpu.into_inner(),
                description: entry.description,
                quantity: entry.quantity,
                low,
                high,
                source: source.clone(),
                note: entry.note,
            }),
            (None, _) => {
                let problem = Problem::new("", "needs either `value`, or `low` and `high` with low not above high");
                problems.push(problem.at(spot).hint("values are above 0"));
            }
            (_, None) => {
                let problem = Problem::new("source", format!("is `{}`, which [sources] lacks", entry.source));
                problems.push(problem.at(spot));
            }
        }
    }
    ConfigError::unless_none(problems)?;
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_bundled_figures_can_be_read_and_belong_to_descriptions_that_exist() {
        let figures = bundled().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(figures.len(), 43);
        let mut seen = BTreeSet::new();
        for f in &figures {
            assert!(seen.insert((&f.gpu, f.quantity)), "{} {:?} twice", f.gpu, f.quantity);
            if let Some(name) = &f.description {
                assert!(crate::builtin().iter().any(|b| b.name == name), "{name}");
            }
        }
        assert_eq!(figures_for("titanv").count(), 25);
        assert_eq!(figures_for("rtx3070").count(), 3);
        assert_eq!(figures_for("a40").count(), 6);
    }

    #[test]
    fn names_in_the_file_are_those_of_the_table() {
        for quantity in Quantity::ALL {
            let text = format!(
                "[sources]\ns = \"me\"\n[[figure]]\ngpu = \"g\"\nquantity = \"{}\"\nvalue = 2\nsource = \"s\"\n",
                quantity.name()
            );
            assert_eq!(parse(&text, "t").unwrap()[0].quantity, *quantity);
        }
    }

    #[test]
    fn malformed_figures_are_refused_with_their_line() {
        let with = |lines: &str| {
            let text = format!("[sources]\ns = \"me\"\n[[figure]]\ngpu = \"g\"\n{lines}\n");
            parse(&text, "t").unwrap_err().to_string()
        };
        for (lines, expected) in [
            ("quantity = \"l1_latency\"\nsource = \"s\"", "t:4:7: needs either `value`"),
            ("quantity = \"l1_latency\"\nsource = \"s\"\nlow = 3\nhigh = 2", "needs either `value`"),
            ("quantity = \"l1_latency\"\nsource = \"s\"\nvalue = -1", "needs either `value`"),
            ("quantity = \"l1_latency\"\nsource = \"t\"\nvalue = 1", "`source` is `t`, which [sources] lacks"),
            ("quantity = \"l9_latency\"\nsource = \"s\"\nvalue = 1", "t:5:12: unknown variant `l9_latency`"),
        ] {
            let found = with(lines);
            assert!(found.contains(expected), "{expected}\nnot in\n{found}");
        }
    }
}
