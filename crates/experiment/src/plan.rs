//! The runs of a comparison.

use crate::costs::{Cost, Costs};
use crate::store::{Key, Point, Store};
use lab::{Job, Setup};
use request::comparison::{Cell, Comparison};
use request::sweep::Sweep;
use request::{BadRequest, Options, name};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A comparison that is to be made.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its machines and workloads.
    pub sweep: Sweep,
    /// What each workload is.
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
        let jobs = sweep.workloads.iter().map(|w| name::job(w, options)).collect::<Result<Vec<_>, _>>()?;
        let (codes, remarks): (Vec<_>, Vec<_>) = sweep.codes(options).into_iter().unzip();
        let repeats = options.repeat.map_or(1, |repeat| u64::from(repeat.get()));
        let rows = || jobs.iter().zip(&codes);
        let of_repeat = |repeat: u64| {
            let setups = &sweep.setups;
            rows().flat_map(move |(job, &code)| {
                let on = move |setup: &Setup| Setup { code, ..setup.clone() };
                setups.iter().map(move |setup| Point::new(&on(setup), job.clone(), repeat))
            })
        };
        let points = (0..repeats).flat_map(of_repeat).collect();
        let names = sweep.workloads.iter().map(|workload| workload.display().to_string()).collect();
        let columns = sweep.columns.clone();
        let empty = Comparison { workloads: names, codes, remarks, columns, ..Comparison::default() };
        Ok(Self { sweep, jobs, empty, points, kernels: options.kernels.clone() })
    }

    /// Runs at the same time.
    pub fn threads(&self) -> usize {
        self.sweep.setups.first().map_or(1, |setup| setup.threads.total())
    }

    /// The comparison, with what has come of the runs, in the order of [`Plan::points`].
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

/// The runs of several comparisons, each once.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// All of them, by name.
    all: BTreeMap<&'a Key, &'a Point>,
    /// Those that are not kept, those that take longest first.
    pub left: Vec<&'a Point>,
    costs: Costs,
}

/// How long runs take together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Most likely.
    pub time: Duration,
    /// Hardly more.
    pub at_most: Duration,
    /// Number of runs of which nothing is known, which are not in it.
    pub unknown: usize,
}

impl<'a> Runs<'a> {
    /// The runs of `plans`, of which those in `store` are kept.
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

    /// Their names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &'a Key> + '_ {
        self.all.keys().copied()
    }

    /// The shares of `tasks`, from 0, that have runs which `store` has not, and how many runs those are.
    pub fn missing(&self, store: &Store, tasks: usize) -> (Vec<usize>, usize) {
        let missing = |(_, point): &(usize, &&Point)| !store.has(point);
        let missing: Vec<usize> = self.all.values().enumerate().filter(missing).map(|(at, _)| at % tasks).collect();
        let shares = (0..tasks).filter(|share| missing.contains(share)).collect();
        (shares, missing.len())
    }

    /// The share of what is left that the `task`th of `tasks` has: dealt out in the order of the names, which does not
    /// depend on what is kept, so that each task knows its share without the others.
    pub fn share(&self, task: usize, tasks: usize) -> Vec<&'a Point> {
        let mine = |key: &Key| self.all.keys().position(|known| *known == key).is_some_and(|at| at % tasks == task);
        self.left.iter().copied().filter(|point| mine(point.key())).collect()
    }

    /// How long what is left takes on `threads` threads.
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
