//! How long runs take: what those that are kept have taken, and what can be said of others.

use crate::store::{Point, Store};
use lab::Job;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::time::Duration;
use workloads::Size;

/// Name of the file in the folder of a store: a line for each run that has ended, with job, GPU, core and seconds,
/// between tabs. It only grows; lines that are no such lines are passed over.
const FILE: &str = "times.tsv";

/// Seconds of a workload of which nothing is known, by size: of a thousandth, a million and ten
/// million warp instructions, by `docs/speed.md`.
const GUESS: [(Size, f64); 3] = [(Size::Small, 0.3), (Size::Medium, 4.0), (Size::Large, 40.0)];
/// How many times as long as the guess a run may take, by the slowest core over the fastest.
const UNCERTAIN: f64 = 5.0;

/// What runs have taken.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// By job, GPU and core.
    exact: HashMap<String, f64>,
    /// By job: the longest.
    of_job: HashMap<String, f64>,
}

/// How long a run takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Estimate.
    pub seconds: f64,
    /// Seconds that it hardly exceeds.
    pub at_most: f64,
}

fn place(point: &Point) -> [String; 3] {
    let job = match &point.job {
        Job::Workload { name, size, params, .. } => {
            let params: String = params.iter().map(|(name, value)| format!(",{name}={value}")).collect();
            format!("{name}:{}{params}", size.name())
        }
        Job::LaunchFile { path, .. } | Job::Trace { path, .. } => path.display().to_string(),
    };
    [job, point.setup.gpu.name.clone(), point.setup.core.clone()].map(|part| part.replace(['\t', '\n'], " "))
}

impl Costs {
    /// Those that `store` has noted.
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

    /// Notes that a run has taken so long.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(store: &Store, point: &Point, took: Duration) -> io::Result<()> {
        let line = format!("{}\t{:.3}\n", place(point).join("\t"), took.as_secs_f64());
        let mut file = OpenOptions::new().create(true).append(true).open(store.folder().join(FILE))?;
        file.write_all(line.as_bytes())
    }

    /// How long a run takes: as long as the same one has taken; or as the longest of the same job elsewhere; or by its
    /// size. `None` of a launch file or a trace that has not been run.
    pub fn cost(&self, point: &Point) -> Option<Cost> {
        let place = place(point);
        if let Some(&seconds) = self.exact.get(&place.join("\t")) {
            return Some(Cost { seconds, at_most: seconds * 1.5 });
        }
        if let Some(&seconds) = self.of_job.get(&place[0]) {
            return Some(Cost { seconds, at_most: seconds * UNCERTAIN });
        }
        let Job::Workload { size, .. } = &point.job else { return None };
        let (_, seconds) = GUESS.iter().find(|(of, _)| of == size)?;
        Some(Cost { seconds: *seconds, at_most: seconds * UNCERTAIN })
    }
}
