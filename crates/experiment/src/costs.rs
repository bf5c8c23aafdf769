//! Run times: measured for stored runs, estimated for others.

use crate::store::{Point, Store};
use lab::Job;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::time::Duration;
use workloads::Size;

/// Name of the file in a store's folder: a line for each run that has ended, with job, GPU, core and seconds separated by
/// tabs. The file only grows; malformed lines are ignored.
const FILE: &str = "times.tsv";

/// Seconds of a workload without a measurement, by size: up to a tenth of a million, a million and ten million warp
/// instructions at the speed of `docs/speed.md`.
const GUESS: [(Size, f64); 3] = [(Size::Small, 0.3), (Size::Medium, 4.0), (Size::Large, 40.0)];
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
    /// by size. `None` for a launch file or a trace that has never run.
    pub fn cost(&self, point: &Point) -> Option<Cost> {
        let place = place(point);
        if let Some(&seconds) = self.exact.get(&place.join("\t")) {
            return Some(Cost { seconds, at_most: seconds * 1.5 });
        }
        if let Some(&seconds) = self.of_job.get(&place[0]) {
            return Some(Cost { seconds, at_most: seconds * UNCERTAIN });
        }
        let Job::Workload { size, .. } = point.job() else { return None };
        let (_, seconds) = GUESS.iter().find(|(of, _)| of == size)?;
        Some(Cost { seconds: *seconds, at_most: seconds * UNCERTAIN })
    }
}
