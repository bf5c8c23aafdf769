//! Comparisons: their runs, here or by jobs elsewhere, and their figures.

use crate::failure::{bad_input, failed};
use crate::job::{self, Keywords};
use crate::monitor::Watch;
use crate::outcome::{Outcome, changes_of};
use config::GpuConfig;
use experiment::costs::Costs;
use experiment::file::{Machines, Named};
use experiment::plan::{Plan, Runs};
use experiment::runs;
use experiment::store::{Key, Point, Store};
use pyo3::prelude::*;
use request::comparison::{Cell, Comparison as Compared};
use request::own_figures::OwnFigures;
use request::{OptionRow, Options, Way, name};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One of the comparisons, and what a process elsewhere makes it from.
struct Part {
    plan: Plan,
    workloads: Vec<PathBuf>,
    keywords: Keywords,
    command: String,
}

/// Place of a run: its part, and its place in the part's plan.
type Place = (usize, usize);

/// The runs of comparisons.
#[pyclass(frozen, module = "warpwright._native")]
pub struct Sweep {
    /// Title, subject, and findings of a paper, of an experiment.
    about: [String; 3],
    parts: Vec<Part>,
    store: Option<Store>,
    /// Runs that have ended and are not stored.
    ran: Mutex<HashMap<Place, Cell>>,
}

/// The outcome of a job's run: how it ended, why it failed, and the report as it is stored.
type Packed = (&'static str, Option<String>, Option<Vec<u8>>);

/// A column as Python has it: label, GPU, core, scheduler, settings, index of the column that speedups are over.
type Column = (String, String, String, Option<String>, Vec<String>, usize);

/// Mean over repeats: runs, mean, half of the width of its confidence interval.
type Repeats = (usize, f64, f64);

impl Part {
    /// The comparison that `options` ask for. Its runs have absolute paths, so that they are the same runs everywhere.
    fn new(options: Options, workloads: &[PathBuf], command: String, figures: Option<OwnFigures>) -> PyResult<Self> {
        let named = Plan::new(&options, workloads).map_err(bad_input)?;
        let workloads = workloads.iter().map(|workload| name::absolute(workload));
        let workloads = workloads.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let options = options.absolute().map_err(failed)?;
        let plan = Plan::new(&options, &workloads)
            .map_err(bad_input)?
            .named_as(&named)
            .with_figures(figures)
            .map_err(bad_input)?;
        let of_sweeps = |row: &OptionRow| row.reason(Way::PythonSweep).is_none();
        let texts = options.texts().into_iter().filter(|(row, _)| of_sweeps(row));
        let keywords = texts.map(|(row, values)| (row.keyword().to_owned(), values)).collect();
        Ok(Self { plan, workloads, keywords, command })
    }
}

impl Sweep {
    fn ran(&self) -> MutexGuard<'_, HashMap<Place, Cell>> {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plans(&self) -> impl Iterator<Item = &Plan> {
        self.parts.iter().map(|part| &part.plan)
    }

    fn point(&self, (part, run): Place) -> PyResult<&Point> {
        let point = self.parts.get(part).and_then(|part| part.plan.points.get(run));
        point.ok_or_else(|| bad_input(format!("there is no run {run} of part {part}")))
    }

    /// The place of each run; the first one of runs that occur several times.
    fn places(&self) -> HashMap<&Key, Place> {
        let mut places = HashMap::new();
        for (at, plan) in self.plans().enumerate() {
            for (run, point) in plan.points.iter().enumerate() {
                places.entry(point.key()).or_insert((at, run));
            }
        }
        places
    }

    /// Runs `point`; other Python threads run meanwhile.
    fn run_here(
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        run: impl FnOnce(&Watch) -> Cell + Send,
    ) -> PyResult<Cell> {
        let (watch, stopped) = Watch::new(progress);
        let cell = py.detach(|| run(&watch));
        stopped.check().map(|()| cell)
    }
}

#[pymethods]
impl Sweep {
    /// A comparison of workloads.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "what Python gives is copied")]
    fn compared(workloads: Vec<PathBuf>, keywords: Keywords) -> PyResult<Self> {
        let options = job::options(Way::PythonCompare, keywords)?;
        let plan = Plan::new(&options, &workloads).map_err(bad_input)?;
        let part = Part { plan, workloads, keywords: Keywords::new(), command: String::new() };
        Ok(Self { about: Default::default(), parts: vec![part], store: None, ran: Mutex::default() })
    }

    /// A comparison of workloads, or an experiment, whose runs are stored in `points`.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "what Python gives is copied")]
    fn stored(what: Vec<PathBuf>, keywords: Keywords, points: Option<PathBuf>) -> PyResult<Self> {
        let texts = job::texts(Way::PythonSweep, keywords)?;
        let options = job::read(Way::PythonSweep, &texts)?;
        let folder = points.or_else(Store::usual_folder).ok_or_else(|| {
            bad_input("XDG_CACHE_HOME and HOME name no cache folder; give a folder for the runs with points")
        })?;
        let named = if let [what] = &what[..] { Named::find(what).map_err(bad_input)? } else { None };
        let (about, parts) = match named {
            None => (Default::default(), vec![Part::new(options, &what, String::new(), None)?]),
            Some(Named { name, experiment, folder }) => {
                if !experiment.areas().is_empty() {
                    return Err(bad_input(format!("`{name}` has areas and no runs: `warpwright reproduce {name}`")));
                }
                let parts = experiment.parts(&folder, &texts, Machines::Named).map_err(bad_input)?;
                let parts =
                    parts.into_iter().map(|part| Part::new(part.options, &part.workloads, part.command, part.figures));
                let title = if experiment.title.is_empty() { name } else { experiment.title };
                ([title, experiment.about, experiment.published], parts.collect::<PyResult<Vec<_>>>()?)
            }
        };
        Ok(Self { about, parts, store: Some(Store::new(folder)), ran: Mutex::default() })
    }

    /// Title, subject, and findings of a paper, of an experiment; else empty.
    fn about(&self) -> [String; 3] {
        self.about.clone()
    }

    /// Each comparison as a command, of an experiment; else empty.
    fn commands(&self) -> Vec<String> {
        self.parts.iter().map(|part| part.command.clone()).collect()
    }

    /// The folder of stored runs.
    fn folder(&self) -> Option<PathBuf> {
        self.store.as_ref().map(|store| store.folder().to_owned())
    }

    /// Number of runs, without duplicates where they are stored.
    fn count(&self) -> usize {
        if self.store.is_some() { self.places().len() } else { self.plans().map(|plan| plan.points.len()).sum() }
    }

    /// Runs at the same time: as many as there are host threads.
    fn threads(&self) -> usize {
        self.plans().next().map_or(1, Plan::threads)
    }

    /// The runs that are missing, the longest first: part and place, and whether the run can be stored.
    fn left(&self) -> Vec<(usize, usize, bool)> {
        let Some(store) = &self.store else {
            let runs = |(part, plan): (usize, &Plan)| (0..plan.points.len()).map(move |run| (part, run, false));
            return self.plans().enumerate().flat_map(runs).collect();
        };
        let places = self.places();
        let runs = Runs::of(self.plans(), store).left;
        let left = runs.into_iter().map(|point| (places[point.key()], point.can_be_kept()));
        left.map(|((part, run), kept)| (part, run, kept)).collect()
    }

    /// Workload and machine of a run, in a line.
    fn described(&self, part: usize, run: usize) -> PyResult<String> {
        self.point((part, run)).map(Point::described)
    }

    /// The name under which a run is stored.
    fn key(&self, part: usize, run: usize) -> PyResult<String> {
        Ok(self.point((part, run))?.key().as_ref().to_owned())
    }

    /// The workloads and keywords that make a part again, in any folder.
    fn task(&self, part: usize) -> (Vec<PathBuf>, Vec<(String, Vec<OsString>)>) {
        let Part { workloads, keywords, .. } = &self.parts[part];
        (workloads.clone(), keywords.clone())
    }

    /// Makes a run and has its outcome, which is not stored.
    fn run(&self, py: Python<'_>, part: usize, run: usize, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let point = self.point((part, run))?;
        let cell = Self::run_here(py, progress, |watch| runs::run(point, watch))?;
        self.ran().insert((part, run), cell);
        Ok(())
    }

    /// Makes a run, again if it fails: its outcome for `put`, and the seconds that it took.
    fn packed(&self, py: Python<'_>, part: usize, run: usize, progress: Option<Py<PyAny>>) -> PyResult<(Packed, f64)> {
        let point = self.point((part, run))?;
        let begin = Instant::now();
        let cell = Self::run_here(py, progress, |watch| runs::run_to_keep(point, watch))?;
        let seconds = begin.elapsed().as_secs_f64();
        let report = cell.any_report().map(|report| point.pack(report)).transpose().map_err(failed)?.flatten();
        Ok(((cell.status(), cell.reason().map(str::to_owned), report), seconds))
    }

    /// Takes the outcome of a run, and stores it if it is complete.
    #[allow(clippy::needless_pass_by_value, reason = "what Python gives is copied")]
    fn put(
        &self,
        part: usize,
        run: usize,
        outcome: (String, Option<String>, Option<Vec<u8>>),
        seconds: f64,
    ) -> PyResult<()> {
        let point = self.point((part, run))?;
        let (status, reason, packed) = outcome;
        let report = packed.as_deref().and_then(|packed| point.unpack(packed)).map(Box::new);
        let cell = match (&*status, report, reason) {
            ("complete", Some(report), _) => {
                if let (Some(store), Some(packed)) = (self.store.as_ref().filter(|_| point.can_be_kept()), &packed) {
                    let cannot = |e| failed(format!("a run cannot be kept in `{}`: {e}", store.folder().display()));
                    store.put(point, packed).map_err(cannot)?;
                    // A missing estimate is not an error.
                    let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                    let _ = Costs::note(store, point, took);
                }
                Cell::Complete(report)
            }
            ("interrupted", report, _) => Cell::Interrupted(report),
            (_, report, Some(why)) => Cell::Failed(why, report),
            _ => Cell::Failed("its report was damaged on the way".to_owned(), None),
        };
        self.ran().insert((part, run), cell);
        Ok(())
    }

    /// The comparison of each part. Runs of which nothing is known are read, or made if they are damaged.
    fn comparisons(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Vec<Comparison>> {
        let mut ran = std::mem::take(&mut *self.ran());
        let Some(store) = &self.store else {
            let of_part = |(at, part): (usize, &Part)| {
                let cell = |run| ran.remove(&(at, run)).unwrap_or(Cell::Interrupted(None));
                Comparison::new(&part.plan, (0..part.plan.points.len()).map(cell).collect())
            };
            return Ok(self.parts.iter().enumerate().map(of_part).collect());
        };
        let ran: HashMap<&Key, Cell> =
            ran.drain().map(|((part, run), cell)| (self.parts[part].plan.points[run].key(), cell)).collect();
        let (watch, stopped) = Watch::new(progress);
        let of_part = |part: &Part| Comparison::new(&part.plan, runs::outcomes(&part.plan, &ran, store, &watch));
        let all = py.detach(|| self.parts.iter().map(of_part).collect());
        stopped.check().map(|()| all)
    }
}

/// A comparison that has been made.
#[pyclass(frozen, module = "warpwright._native")]
pub struct Comparison {
    compared: Compared,
    gpus: Vec<GpuConfig>,
}

impl Comparison {
    fn new(plan: &Plan, cells: Vec<Cell>) -> Self {
        let gpus = plan.sweep.setups.iter().map(|setup| setup.gpu.clone()).collect();
        Self { compared: plan.compared(cells), gpus }
    }
}

#[pymethods]
impl Comparison {
    /// The rows.
    fn workloads(&self) -> Vec<String> {
        self.compared.workloads.clone()
    }

    /// The columns.
    fn columns(&self) -> Vec<Column> {
        let columns = self.compared.columns.iter().cloned();
        columns.map(|c| (c.label, c.gpu, c.core, c.scheduler, c.settings, c.baseline)).collect()
    }

    /// The outcome of a run: how it ended, why it failed, and its report.
    fn entry(&self, row: usize, column: usize) -> (&'static str, Option<String>, Option<Outcome>) {
        let cell = self.compared.cell(row, column);
        let outcome = cell.any_report().map(|report| Outcome::new(report.clone(), self.gpus[column].clone()));
        (cell.status(), cell.reason().map(str::to_owned), outcome)
    }

    /// Time of kernels in the baseline's column over that in this one, without launch latency.
    fn speedup(&self, row: usize, column: usize) -> Option<f64> {
        self.compared.speedup(row, column)
    }

    /// The changes from the baseline's run, as JSON and as text.
    fn changes(&self, row: usize, column: usize) -> PyResult<Option<(String, String)>> {
        let changes = self.compared.changes(row, column);
        changes.map(|changes| changes_of(&changes, Some(&self.compared.columns[column].label))).transpose()
    }

    /// A statistic, or the speedup, over the repeats.
    fn repeats(&self, row: usize, column: usize, statistic: &str) -> Option<Repeats> {
        let spread = self.compared.over_repeats(|one| match statistic {
            "speedup" => one.speedup(row, column),
            name => one.statistic(name, row, column),
        })?;
        Some((spread.runs, spread.mean, spread.half))
    }

    /// The geometric mean of a column's speedups, and the same over the repeats.
    fn mean(&self, column: usize) -> (Option<f64>, Option<Repeats>) {
        let mean = self.compared.mean(column);
        (mean.speedup, mean.repeats.map(|spread| (spread.runs, spread.mean, spread.half)))
    }

    /// The speedup that is published of a run's core design and program.
    fn published(&self, row: usize, column: usize) -> Option<f64> {
        self.compared.published(row, column)?.speedup
    }

    /// The comparison as `warpwright compare --json` has it.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.compared.document()).map_err(failed)
    }
}
