//! Figures that papers report for core designs: `docs/published-figures.toml`, which comes with the program.
//! They are printed beside ours and are never an input.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use workloads::Form;

/// A figure of a paper, for the programs that our workloads are named after.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Figure {
    /// Core design, by our name.
    pub core: String,
    /// GPU description that models the paper's.
    pub gpu: String,
    /// Description of the machine as the paper has it.
    pub machine: Option<String>,
    /// Values of that description which the paper's machine has in place of ours, as `key=value`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Code that the paper ran.
    pub code: Form,
    /// Core design, by our name, over which its relative figures are.
    #[serde(default = "in_order")]
    pub against: String,
    pub source: String,
    /// Geometric mean of all speedups of the figure.
    pub geometric_mean: Option<f64>,
    /// Mean of all speedups of the figure, of a kind that the paper does not name.
    pub mean: Option<f64>,
    /// Number of programs that it goes over, where the paper gives it.
    pub programs: Option<u32>,
    /// Speedup over `against`, by workload or by kernel.
    #[serde(default)]
    pub speedup: BTreeMap<String, f64>,
    /// Resident warps as a share of warp slots, by workload.
    #[serde(default)]
    pub occupancy_percent: BTreeMap<String, f64>,
    /// Issue slots lost to data and structural hazards, how many fewer, by workload.
    #[serde(default)]
    pub stall_reduction_percent: BTreeMap<String, f64>,
    /// Thread instructions per cycle, by workload.
    #[serde(default)]
    pub ipc: BTreeMap<String, f64>,
    /// Mean power in watts, by workload.
    #[serde(default)]
    pub watts: BTreeMap<String, f64>,
    /// Energy, relative to the paper's baseline, by workload.
    #[serde(default)]
    pub relative_energy: BTreeMap<String, f64>,
    /// Instructions per joule, relative to `against`, by workload or by kernel.
    #[serde(default)]
    pub efficiency: BTreeMap<String, f64>,
    /// Mean of all of those, of a kind that the paper does not name.
    pub mean_efficiency: Option<f64>,
    /// Energy of register file, pipeline and scheduler, or of what replaces them, relative to `against`: of all
    /// programs, of a kind that the paper does not name.
    pub mean_management: Option<f64>,
}

fn in_order() -> String {
    "inorder".into()
}

/// A published area or power of a core design.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Cost {
    /// Core design, by our name.
    pub core: String,
    /// GPU description that models the paper's.
    pub gpu: String,
    /// Short description of the cost, different for each.
    pub what: String,
    /// The measured quantity and its unit.
    pub measure: Measure,
    pub value: f64,
    /// Core design whose cost is subtracted, by our name; none if the figure is of structures only.
    pub against: Option<String>,
    /// Entries of the GPU's instruction buffers, where the paper has others than our description.
    pub buffer_entries: Option<u32>,
    /// Structures that it is of; all if there are none here.
    #[serde(default)]
    pub structures: Vec<String>,
    /// Feature size of the paper's process.
    pub node_nm: f64,
    pub volts: f64,
    pub core_mhz: f64,
    /// Area of the die.
    pub die_mm2: f64,
    /// Paper and section, and which of the above it does not give.
    pub source: String,
}

/// Quantity and unit of a published cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Area of a core, square millimetres.
    CoreMm2,
    /// Area of all SMs, percent of the die.
    DiePercent,
    /// Area of the part of an SM that a warp scheduler has, square micrometres.
    SchedulerUm2,
    /// Power of all SMs, watts.
    Watts,
    /// Power of the part of an SM that a warp scheduler has, milliwatts.
    SchedulerMilliwatts,
}

impl Measure {
    /// Unit of such a figure, for reports.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::CoreMm2 => "mm2",
            Self::DiePercent => "%",
            Self::SchedulerUm2 => "um2",
            Self::Watts => "W",
            Self::SchedulerMilliwatts => "mW",
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    figure: Vec<Figure>,
    cost: Vec<Cost>,
}

static FILE: LazyLock<File> =
    LazyLock::new(|| toml::from_str(include_str!("../../../docs/published-figures.toml")).unwrap_or_default());

/// The figures of `docs/published-figures.toml`.
pub fn figures() -> &'static [Figure] {
    &FILE.figure
}

/// Every published area and power.
pub fn costs() -> &'static [Cost] {
    &FILE.cost
}

/// The published figure of the core design `core` on `gpu` with `settings`: of the machine most like it.
pub fn figure(core: &str, gpu: &str, settings: &[String]) -> Option<&'static Figure> {
    let like = |figure: &&Figure| {
        let is_on = figure.gpu == gpu || figure.machine.as_deref() == Some(gpu);
        is_on && figure.core == core && figure.settings.iter().all(|setting| settings.contains(setting))
    };
    figures().iter().filter(like).max_by_key(|figure| figure.settings.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::suite;

    #[test]
    fn the_file_is_whole_and_names_what_there_is() {
        assert!(figures().len() >= 10, "{}", figures().len());
        for (i, figure) in figures().iter().enumerate() {
            assert!(config::load_with(&figure.gpu, &figure.settings).is_ok(), "{figure:?}");
            assert!(figure.machine.iter().all(|m| config::load_with(m, &figure.settings).is_ok()), "{figure:?}");
            assert!(lab::check_core(&figure.core).is_ok(), "{figure:?}");
            assert!(!figure.source.is_empty(), "{figure:?}");
            let key = |f: &Figure| (f.core.clone(), f.gpu.clone(), f.settings.clone());
            assert!(figures()[..i].iter().all(|earlier| key(earlier) != key(figure)), "{figure:?}");
            let by_name = [
                &figure.speedup,
                &figure.occupancy_percent,
                &figure.ipc,
                &figure.watts,
                &figure.relative_energy,
                &figure.efficiency,
            ];
            for (name, value) in by_name.into_iter().flatten() {
                let is_kernel = || suite::ALL.iter().any(|w| w.module.ptx().contains(&format!(".entry {name}(")));
                assert!((suite::find(name).is_ok() || is_kernel()) && *value > 0.0, "{name}: {figure:?}");
            }
        }
        let ghost = figure("ghost", "rtx2060s", &["sm_count=1".into()]).unwrap();
        assert_eq!((ghost.geometric_mean, ghost.speedup["lud"]), (Some(1.0687), 1.0832));
        assert_eq!(figure("ghost", "papers/ghost", &[]), Some(ghost));
        assert_eq!(figure("inorder", "rtx2060s", &[]), None);
        let [one, all] =
            [&["sm_count=1".to_owned()][..], &[]].map(|s| figure("sgmf:copies=0,entries=16", "gtx480", s).unwrap());
        assert_eq!([one.mean, all.mean], [Some(1.77), Some(1.35)]);
        assert!(costs().len() >= 6, "{}", costs().len());
        for (i, cost) in costs().iter().enumerate() {
            assert!(costs()[..i].iter().all(|earlier| earlier.what != cost.what), "{cost:?}");
            assert!(cost.value > 0.0, "{cost:?}");
        }
    }
}
