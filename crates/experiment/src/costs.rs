//! Run times: measured for stored runs, estimated for others.

use crate::store::{Point, Store};
use lab::Job;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::time::Duration;
use workloads::{Parameter, Size, suite};

/// Name of the file in a store's folder: a line for each run that has ended, with job, GPU, core and seconds separated by
/// tabs. The file only grows; malformed lines are ignored.
const FILE: &str = "times.tsv";

/// Seconds of a workload with the parameters of a size, without a measurement: up to a tenth of a million, a million and ten
/// million warp instructions at half the speed of a quiet machine (`docs/speed.md`), twice the speed of a busy one.
const GUESS: [(Size, f64); 3] = [(Size::Small, 0.15), (Size::Medium, 2.0), (Size::Large, 20.0)];
/// Seconds of a run without work: reading its code and its description of a GPU.
const LEAST: f64 = 0.02;
/// Ratio of the upper bound to an estimate: the slowest core relative to the fastest.
const UNCERTAIN: f64 = 5.0;

/// Measured run times.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// By job, GPU and core.
    exact: HashMap<String, f64>,
    /// The longest, by job.
    of_job: HashMap<String, f64>,
}

/// Time of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Estimate.
    pub seconds: f64,
    /// Upper bound.
    pub at_most: f64,
}

fn place(point: &Point) -> [String; 3] {
    [point.job().named(), point.setup.gpu.name.clone(), point.setup.core.clone()]
        .map(|part| part.replace(['\t', '\n'], " "))
}

impl Costs {
    /// The times recorded in `store`.
    pub fn of(store: &Store) -> Self {
        let mut costs = Self::default();
        let text = fs::read_to_string(store.folder().join(FILE)).unwrap_or_default();
        for line in text.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            let [job, gpu, core, seconds] = parts[..] else { continue };
            let Some(seconds) = seconds.parse().ok().filter(|s: &f64| s.is_finite() && *s >= 0.0) else { continue };
            costs.exact.insert([job, gpu, core].join("\t"), seconds);
            let longest = costs.of_job.entry(job.to_owned()).or_insert(seconds);
            *longest = longest.max(seconds);
        }
        costs
    }

    /// Records the time of a run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(store: &Store, point: &Point, took: Duration) -> io::Result<()> {
        let line = format!("{}\t{:.3}\n", place(point).join("\t"), took.as_secs_f64());
        let mut file = OpenOptions::new().create(true).append(true).open(store.folder().join(FILE))?;
        file.write_all(line.as_bytes())
    }

    /// Time of a run: the same run's last time, else the longest time of the same job on another machine, else an estimate
    /// by size and parameters. `None` for a launch file or a trace that has never run.
    pub fn cost(&self, point: &Point) -> Option<Cost> {
        let place = place(point);
        if let Some(&seconds) = self.exact.get(&place.join("\t")) {
            return Some(Cost { seconds, at_most: seconds * 1.5 });
        }
        if let Some(&seconds) = self.of_job.get(&place[0]) {
            return Some(Cost { seconds, at_most: seconds * UNCERTAIN });
        }
        let Job::Workload { name, size, params, .. } = point.job() else { return None };
        let seconds = guess(name, *size, params)?;
        Some(Cost { seconds, at_most: seconds * UNCERTAIN })
    }
}

/// Seconds of a workload that has never run. All parameters that grow from size small to size large share the growth of the
/// time, each with the same exponent; others, such as the threads of a CTA, are taken not to change it.
fn guess(name: &str, size: Size, params: &BTreeMap<String, u64>) -> Option<f64> {
    let of_size = |size: Size| GUESS.iter().find(|(of, _)| *of == size).map(|(_, seconds)| *seconds);
    let grows = |p: &&Parameter| p.name != "block" && p.sizes[Size::Large as usize] > p.sizes[Size::Small as usize];
    let growing: Vec<&Parameter> = suite::find(name).ok()?.parameters.iter().filter(grows).collect();
    let growth = |p: &&Parameter| ratio(p.sizes[Size::Large as usize], p.sizes[Size::Small as usize]).ln();
    let exponent = (of_size(Size::Large)? / of_size(Size::Small)?).ln() / growing.iter().map(growth).sum::<f64>();
    let given = growing.iter().filter_map(|p| Some(ratio(*params.get(p.name)?, p.sizes[size as usize])));
    Some((of_size(size)? * given.map(|ratio| ratio.powf(exponent)).product::<f64>()).max(LEAST))
}

fn ratio(a: u64, b: u64) -> f64 {
    a.max(1) as f64 / b.max(1) as f64
}
