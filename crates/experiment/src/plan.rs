//! The runs of a comparison.

use crate::costs::{Cost, Costs};
use crate::store::{Key, Point, Store, StoredJob};
use lab::{Job, Setup};
use request::comparison::{Cell, Column, Comparison, Input};
use request::own_figures::OwnFigures;
use request::sweep::Sweep;
use request::versions::Version;
use request::{BadRequest, Options};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A comparison that is to be made.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its machines and workloads.
    pub sweep: Sweep,
    /// The jobs of the workloads.
    pub jobs: Vec<Job>,
    /// The comparison without its runs.
    empty: Comparison,
    /// The runs: row by row, then the same again for each repeat.
    pub points: Vec<Point>,
    kernels: Vec<String>,
}

impl Plan {
    /// The comparison of `workloads` that `options` ask for.
    ///
    /// # Errors
    /// A workload or a machine makes no sense.
    pub fn new(options: &Options, workloads: &[PathBuf]) -> Result<Self, BadRequest> {
        let sweep = Sweep::new(options, workloads)?;
        // Columns of one version share their jobs, each of which has its digest.
        let mut versions: Vec<&Version> = Vec::new();
        for column in &sweep.columns {
            if !versions.contains(&&column.version) {
                versions.push(&column.version);
            }
        }
        let of_row =
            |w: &PathBuf| versions.iter().map(|version| version.job(w, options)).collect::<Result<Vec<_>, _>>();
        let by_row = sweep.workloads.iter().map(of_row).collect::<Result<Vec<_>, _>>()?;
        let (codes, remarks): (Vec<_>, Vec<_>) = sweep.codes(options).into_iter().unzip();
        let repeats = options.repeat.map_or(1, |repeat| u64::from(repeat.get()));
        let stored = |job: &Job| Arc::new(StoredJob::new(job.clone()));
        let stored: Vec<Vec<Arc<StoredJob>>> = by_row.iter().map(|jobs| jobs.iter().map(stored).collect()).collect();
        let version_of = |column: &Column| versions.iter().position(|version| **version == column.version).unwrap_or(0);
        let machines: Vec<(&Setup, usize)> = sweep.setups.iter().zip(sweep.columns.iter().map(version_of)).collect();
        let rows = || stored.iter().zip(&codes);
        let of_repeat = |repeat: u64| {
            let machines = &machines;
            rows().flat_map(move |(jobs, &code)| {
                let on = move |setup: &Setup| Setup { code, ..setup.clone() };
                machines.iter().map(move |&(setup, version)| Point::new(&on(setup), jobs[version].clone(), repeat))
            })
        };
        let points = (0..repeats).flat_map(of_repeat).collect();
        let (names, columns) = (sweep.names.clone(), sweep.columns.clone());
        let inputs = by_row.iter().map(|jobs| Input::of(&jobs[0])).collect();
        let jobs = by_row.into_iter().flatten().collect();
        let derived = options.derive.clone();
        let empty = Comparison { workloads: names, inputs, codes, remarks, columns, derived, ..Comparison::default() };
        Ok(Self { sweep, jobs, empty, points, kernels: options.kernels.clone() })
    }

    /// The same runs with the names of rows and columns of `other`, which has the same files by other paths.
    pub fn named_as(mut self, other: &Self) -> Self {
        self.empty.workloads.clone_from(&other.empty.workloads);
        self.empty.columns.clone_from(&other.empty.columns);
        self
    }

    /// The same with published figures of the user's own.
    ///
    /// # Errors
    /// They are of unknown rows or columns.
    pub fn with_figures(mut self, own: Option<OwnFigures>) -> Result<Self, BadRequest> {
        if let Some(own) = &own {
            let rows = self.empty.workloads.iter().chain(&self.kernels).map(String::as_str);
            let labels = self.empty.columns.iter().map(|column| column.label.as_str());
            let checked = own.check(&Vec::from_iter(rows), &Vec::from_iter(labels));
            checked.map_err(|why| BadRequest::new(format!("`published`: {why}")))?;
        }
        self.empty.own = own;
        Ok(self)
    }

    /// Runs at the same time.
    pub fn threads(&self) -> usize {
        self.sweep.setups.first().map_or(1, |setup| setup.threads.total())
    }

    /// The comparison with the outcomes of the runs, in the order of [`Plan::points`].
    pub fn compared(&self, cells: Vec<Cell>) -> Comparison {
        let mut cells = cells.into_iter();
        let of_one = self.empty.workloads.len() * self.empty.columns.len();
        let mut comparison = Comparison { cells: cells.by_ref().take(of_one).collect(), ..self.empty.clone() };
        while cells.len() > 0 {
            let again = Comparison { cells: cells.by_ref().take(of_one).collect(), ..self.empty.clone() };
            comparison.again.push(again);
        }
        let comparison = comparison.with_remarks_in_reports();
        if self.kernels.is_empty() { comparison } else { comparison.by_kernel(&self.kernels) }
    }
}

/// The runs of several comparisons, without duplicates.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// All runs, by name.
    all: BTreeMap<&'a Key, &'a Point>,
    /// Runs that are not stored, the longest first.
    pub left: Vec<&'a Point>,
    costs: Costs,
}

/// Time of several runs together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Expected time.
    pub time: Duration,
    /// Upper bound.
    pub at_most: Duration,
    /// Number of runs without an estimate, which are not included.
    pub unknown: usize,
}

impl<'a> Runs<'a> {
    /// The runs of `plans`, less the runs in `store`.
    pub fn of(plans: impl IntoIterator<Item = &'a Plan>, store: &Store) -> Self {
        let all: BTreeMap<&Key, &Point> =
            plans.into_iter().flat_map(|plan| &plan.points).map(|point| (point.key(), point)).collect();
        let costs = Costs::of(store);
        let mut left: Vec<&Point> = all.values().copied().filter(|p| !(p.can_be_kept() && store.has(p))).collect();
        let seconds = |point: &Point| costs.cost(point).map_or(f64::INFINITY, |cost| cost.seconds);
        left.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
        Self { all, left, costs }
    }

    /// Number of runs.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The names of all runs, in order.
    pub fn keys(&self) -> impl Iterator<Item = &'a Key> + '_ {
        self.all.keys().copied()
    }

    /// The missing runs that can be stored, each with its share of `tasks`, from 0. Shares follow the order of all names,
    /// which does not depend on the store: each task finds its share without the others.
    pub fn dealt(&self, tasks: usize) -> Vec<(usize, &'a Point)> {
        let places: HashMap<&Key, usize> = self.keys().enumerate().map(|(place, key)| (key, place)).collect();
        let left = self.left.iter().copied().filter(|point| point.can_be_kept());
        left.map(|point| (places[point.key()] % tasks, point)).collect()
    }

    /// The runs of share `task` of `tasks`.
    pub fn share(&self, task: usize, tasks: usize) -> Vec<&'a Point> {
        self.dealt(tasks).into_iter().filter(|(share, _)| *share == task).map(|(_, point)| point).collect()
    }

    /// Time of the missing runs on `threads` threads.
    pub fn estimate(&self, threads: usize) -> Estimate {
        let costs: Vec<Option<Cost>> = self.left.iter().map(|point| self.costs.cost(point)).collect();
        let known = || costs.iter().flatten();
        let longest = |of: fn(&Cost) -> f64| known().map(of).fold(0.0, f64::max);
        let sum = |of: fn(&Cost) -> f64| known().map(of).sum::<f64>() / threads.max(1) as f64;
        let time = |of: fn(&Cost) -> f64| Duration::from_secs_f64(sum(of).max(longest(of)).min(1e9));
        let unknown = costs.iter().filter(|cost| cost.is_none()).count();
        Estimate { time: time(|cost| cost.seconds), at_most: time(|cost| cost.at_most), unknown }
    }
}
