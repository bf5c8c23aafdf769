//! What papers report of core designs: `docs/published-figures.toml`, which comes with the program.
//! Printed beside our figures, never an input.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One figure of a paper, as far as its workloads are ours.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Core design, by our name.
    pub core: String,
    /// GPU description that models the paper's.
    pub gpu: String,
    /// Paper and figure.
    pub source: String,
    /// Geometric mean of all speedups of the figure.
    pub geometric_mean: Option<f64>,
    /// Speedup over in-order issue, by workload.
    #[serde(default)]
    pub speedup: BTreeMap<String, f64>,
    /// Resident warps as a share of warp slots, by workload.
    #[serde(default)]
    pub occupancy_percent: BTreeMap<String, f64>,
    /// Issue slots lost to data and structural hazards, how many fewer, by workload.
    #[serde(default)]
    pub stall_reduction_percent: BTreeMap<String, f64>,
}

static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        figure: Vec<Figure>,
    }
    let text = include_str!("../../../docs/published-figures.toml");
    toml::from_str::<File>(text).map(|file| file.figure).unwrap_or_default()
});

/// Every published figure.
pub fn figures() -> &'static [Figure] {
    &FIGURES
}

/// What is published of the core design `core` on `gpu`.
pub fn figure(core: &str, gpu: &str) -> Option<&'static Figure> {
    figures().iter().find(|figure| figure.core == core && figure.gpu == gpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole_and_names_what_there_is() {
        assert!(figures().len() >= 10, "{}", figures().len());
        for (i, figure) in figures().iter().enumerate() {
            assert!(config::load(&figure.gpu).is_ok(), "{figure:?}");
            assert!(!figure.source.is_empty(), "{figure:?}");
            let key = |f: &Figure| (f.core.clone(), f.gpu.clone());
            assert!(figures()[..i].iter().all(|earlier| key(earlier) != key(figure)), "{figure:?}");
            for (workload, value) in figure.speedup.iter().chain(&figure.occupancy_percent) {
                assert!(workloads::suite::find(workload).is_ok() && *value > 0.0, "{workload}: {figure:?}");
            }
        }
        let ghost = figure("ghost", "rtx2060s").unwrap();
        assert_eq!((ghost.geometric_mean, ghost.speedup["lud"]), (Some(1.0687), 1.0832));
        assert_eq!(figure("inorder", "rtx2060s"), None);
    }
}
