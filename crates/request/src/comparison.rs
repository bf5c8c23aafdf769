//! Workloads on several machines, side by side: baselines, speedups, means, and what is published beside them.

use crate::chance::Spread;
use crate::derived::Derived;
use crate::gpu::Choice;
use crate::own_figures::OwnFigures;
use crate::versions::Version;
use evidence::published;
use kit::suggest;
use lab::changes::Changes;
use lab::{Job, Report};
use render::{energy, summary};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use workloads::{Form, Size};

/// A machine to compare: one column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Column {
    /// Distinguishes it from the other columns.
    pub label: String,
    /// Name of the GPU description, or its path.
    pub gpu: String,
    /// The same as the command line has it: the path of a file may not be text.
    #[serde(skip)]
    pub gpu_path: PathBuf,
    /// Name of the core design, with its parameters.
    pub core: String,
    /// Warp scheduler; the GPU description's if absent.
    pub scheduler: Option<String>,
    /// Values of the GPU description that differ.
    pub settings: Vec<String>,
    /// The code that it runs, of comparisons of versions.
    #[serde(serialize_with = "label", skip_serializing_if = "is_only")]
    pub version: Version,
    /// Index of the column that its speedups and other relative figures are over.
    pub baseline: usize,
    /// The values among them that flags of their own have set.
    #[serde(skip)]
    pub choice: Choice,
    /// Its label: the difference to the other columns.
    #[serde(skip)]
    pub axes: Vec<Axis>,
}

fn is_only(version: &Version) -> bool {
    version.label.is_empty()
}

fn label<S: Serializer>(version: &Version, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&version.label)
}

/// Something that varies among the columns of a comparison, and its value in one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The varied quantity: a setting by its key, or gpu, core, scheduler.
    pub name: String,
    /// How a heading has the value.
    pub value: String,
    /// It is a setting of the GPU, of the core design or of the warp scheduler.
    pub is_setting: bool,
}

impl Axis {
    /// The name as headings have it: the last part of a setting's key.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    /// The value without the name that headings put before it: `lru` of `replacement=lru`, `x2` of `registers x2`.
    pub fn bare_value(&self) -> &str {
        let named = self.value.strip_prefix(self.short_name()).and_then(|rest| rest.strip_prefix(['=', ' ']));
        named.unwrap_or(&self.value)
    }

    /// Names and values of the parameters of a core or a scheduler.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_design = ["core", "scheduler"].contains(&self.name.as_str());
        self.value.split([':', ',', '+']).filter(move |_| is_design).filter_map(|part| part.split_once('='))
    }
}

impl Column {
    /// Settings and parameters by their keys, `core.issue_buffer` among them, that vary or are set, in the order of headings.
    pub fn keyed_values(&self) -> impl Iterator<Item = (String, &str)> {
        fn of_axis(axis: &Axis) -> impl Iterator<Item = (String, &str)> {
            let parameters = axis.parameters().map(|(name, value)| (format!("{}.{name}", axis.name), value));
            let is_other = ["gpu", "core", "scheduler", "version"].contains(&axis.name.as_str());
            parameters.chain((!is_other).then(|| (axis.name.clone(), axis.bare_value())))
        }
        let set = self.settings.iter().filter_map(|setting| setting.split_once('='));
        self.axes.iter().flat_map(of_axis).chain(set.map(|(key, value)| (key.to_owned(), value)))
    }

    /// Published figures of its core design.
    fn published_figure(&self) -> Option<&'static published::Figure> {
        published::figure(&self.core, &self.gpu, &self.settings)
    }
}

/// A paper's figures for a run like one of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Published {
    /// Speedup over the baseline's core design.
    pub speedup: Option<f64>,
    /// Issue slots lost to data and structural hazards, in percent less than in order.
    pub stall_reduction_percent: Option<f64>,
    /// Resident warps as a share of warp slots, in percent.
    pub occupancy_percent: Option<f64>,
    /// Thread instructions per cycle.
    pub ipc: Option<f64>,
    /// Mean power, in watts.
    pub watts: Option<f64>,
    /// Energy, relative to the paper's baseline.
    pub relative_energy: Option<f64>,
    /// Instructions per joule, relative to the paper's baseline.
    pub efficiency: Option<f64>,
}

/// A paper's means for a core design on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedMean {
    /// Geometric mean of the speedups of all the paper's programs.
    pub speedup: Option<f64>,
    /// Number of those programs.
    pub programs: Option<u32>,
    /// Our mean and the paper's over the workloads that both have.
    pub in_common: Option<InCommon>,
    /// Where it is published.
    pub source: &'static str,
}

/// Geometric means over the workloads that ran here and have the name of a program of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InCommon {
    /// Number of these workloads.
    pub workloads: usize,
    /// Mean of our speedups.
    pub ours: f64,
    /// Mean of the paper's.
    pub published: f64,
}

/// The outcome of a workload on a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// It ran to its end, or to the limit of its cycles, and the result is right or was not checked.
    Complete(Box<Report>),
    /// It did not, or its result is wrong: why, and what is known.
    Failed(String, Option<Box<Report>>),
    /// It was not run, or ended early: what is known.
    Interrupted(Option<Box<Report>>),
}

impl Cell {
    /// The report, if the program ran to its end: figures of other runs mean nothing beside it.
    pub fn complete(&self) -> Option<&Report> {
        match self {
            Cell::Complete(report) => Some(&**report).filter(|report| !report.interrupted),
            Cell::Failed(..) | Cell::Interrupted(_) => None,
        }
    }

    /// The same of the launches of a kernel; `None` if none has ended.
    fn of_kernel(&self, name: &str) -> Option<Self> {
        let only = |report: &Report| report.of_kernel(name).map(Box::new);
        match self {
            Cell::Complete(report) => only(report).map(Cell::Complete),
            Cell::Failed(why, report) => Some(Cell::Failed(why.clone(), Some(only(report.as_deref()?)?))),
            Cell::Interrupted(report) => Some(Cell::Interrupted(Some(only(report.as_deref()?)?))),
        }
    }

    /// The same, of a kernel called `name` of which no launch has ended, where `others` have.
    fn without(&self, name: &str, others: &[&str]) -> Self {
        match self {
            Cell::Complete(_) => Cell::Failed(suggest::unknown("launch of kernel", name, others), None),
            Cell::Failed(why, _) => Cell::Failed(why.clone(), None),
            Cell::Interrupted(_) => Cell::Interrupted(None),
        }
    }

    /// How it ended, in a word.
    pub fn status(&self) -> &'static str {
        match self {
            Cell::Complete(report) if !report.interrupted => "complete",
            Cell::Failed(..) => "failed",
            Cell::Complete(_) | Cell::Interrupted(_) => "interrupted",
        }
    }

    /// Why the run failed, if it did.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Cell::Failed(why, _) => Some(why),
            Cell::Complete(_) | Cell::Interrupted(_) => None,
        }
    }

    /// The report, complete or not.
    pub fn any_report(&self) -> Option<&Report> {
        match self {
            Cell::Complete(report) => Some(report),
            Cell::Failed(_, report) | Cell::Interrupted(report) => report.as_deref(),
        }
    }
}

/// The input of a bundled workload, as far as its name does not say it; other workloads have their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Input {
    /// How much work.
    pub size: Option<Size>,
    /// Seed of the generated data.
    pub seed: Option<u64>,
}

impl Input {
    /// The input of `job`.
    pub fn of(job: &Job) -> Self {
        match job {
            Job::Workload { size, seed, .. } => Self { size: Some(*size), seed: Some(*seed) },
            _ => Self::default(),
        }
    }
}

/// The runs of all workloads on all machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Rows: workloads, launch files, traces.
    pub workloads: Vec<String>,
    /// Input of each row.
    pub inputs: Vec<Input>,
    /// Code of each row, if it is a bundled workload.
    pub codes: Vec<Form>,
    /// Of each row, that it has no machine code where others have.
    pub remarks: Vec<Option<String>>,
    /// The machines.
    pub columns: Vec<Column>,
    /// The runs, row by row.
    pub cells: Vec<Cell>,
    /// The same again, each time with what should not matter changed by chance.
    pub again: Vec<Self>,
    /// Published figures of the user's own, in place of the papers'.
    pub own: Option<OwnFigures>,
    /// Figures of the user's own, derived from statistics.
    pub derived: Vec<Derived>,
}

/// A figure of a row in a column.
pub type Figure = fn(&Comparison, usize, usize) -> Option<f64>;

/// Figures that are ratios to the baseline's, with their names: the names of `--show`, and `relative-power`.
pub const RATIOS: &[(&str, Figure)] = &[
    ("speedup", Comparison::speedup),
    ("relative-energy", Comparison::relative_energy),
    ("relative-power", Comparison::relative_power),
    ("management", Comparison::relative_management),
    ("efficiency", Comparison::efficiency),
    ("own-efficiency", Comparison::own_efficiency),
    ("core-efficiency", Comparison::efficiency_of_cores),
    ("cache-energy", Comparison::relative_caches),
];

/// The ratio called `name`.
pub fn ratio(name: &str) -> Option<Figure> {
    RATIOS.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure)
}

/// A mean over workloads.
pub type MeanOf = fn(&[f64]) -> Option<f64>;

/// A mean and over how many workloads it goes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Geometric mean of the speedups; absent if there are none.
    pub speedup: Option<f64>,
    /// The same over the repeats, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Spread>,
    /// Workloads that ran to their end both here and in the baseline's column.
    pub workloads: usize,
}

impl Comparison {
    /// A workload on a machine.
    pub fn cell(&self, row: usize, column: usize) -> &Cell {
        &self.cells[row * self.columns.len() + column]
    }

    /// The same with a row for each of `kernels` that a workload launches, of these launches only, in place of the
    /// workload's row. A kernel that none launches has a row of failures.
    pub fn by_kernel(self, kernels: &[String]) -> Self {
        let again = self.again.into_iter().map(|again| again.by_kernel(kernels)).collect();
        let columns = self.columns.clone();
        let (own, derived) = (self.own.clone(), self.derived.clone());
        let mut out = Self { columns, again, own, derived, ..Self::default() };
        let reports = self.cells.iter().filter_map(Cell::any_report).flat_map(|report| &report.by_kernel);
        let known: BTreeSet<&str> = reports.map(|kernel| kernel.name.as_str()).collect();
        let known: Vec<&str> = known.into_iter().collect();
        let rows = || self.cells.chunks(out.columns.len()).enumerate();
        let launches = |cells: &[Cell], name: &str| cells.iter().any(|cell| cell.of_kernel(name).is_some());
        let mut add = |label: &str, row: usize, cells: Vec<Cell>| {
            out.workloads.push(label.to_owned());
            out.inputs.push(self.inputs[row]);
            out.codes.push(self.codes[row]);
            out.remarks.push(self.remarks[row].clone());
            out.cells.extend(cells);
        };
        for (row, cells) in rows() {
            let workload = &self.workloads[row];
            let launched: Vec<&String> = kernels.iter().filter(|name| launches(cells, name)).collect();
            for name in &launched {
                let elsewhere = rows().any(|(other, cells)| other != row && launches(cells, name));
                let label = if elsewhere { format!("{workload} {name}") } else { (*name).clone() };
                let only = |cell: &Cell| cell.of_kernel(name).unwrap_or_else(|| cell.without(name, &known));
                add(&label, row, cells.iter().map(only).collect());
            }
            if launched.is_empty() && !cells.iter().all(|cell| cell.complete().is_some()) {
                add(workload, row, cells.to_vec());
            }
        }
        for name in kernels.iter().filter(|name| !rows().any(|(_, cells)| launches(cells, name))) {
            let (_, cells) = rows().next().unwrap_or_default();
            add(name, 0, cells.iter().map(|cell| cell.without(name, &known)).collect());
        }
        out
    }

    /// A statistic of a complete run.
    pub fn statistic(&self, name: &str, row: usize, column: usize) -> Option<f64> {
        self.cell(row, column).complete()?.total.get(name)?.number()
    }

    /// A derived figure of a complete run.
    pub fn derived(&self, figure: &Derived, row: usize, column: usize) -> Option<f64> {
        self.cell(row, column).complete()?;
        figure.value(&|name| self.statistic(name, row, column))
    }

    /// Cycles of kernels.
    pub fn cycles(&self, row: usize, column: usize) -> Option<f64> {
        self.statistic(summary::CYCLES, row, column)
    }

    /// Time of kernels, in microseconds.
    pub fn time(&self, row: usize, column: usize) -> Option<f64> {
        self.statistic(summary::TIME, row, column)
    }

    /// Thread instructions per cycle.
    pub fn ipc(&self, row: usize, column: usize) -> Option<f64> {
        self.statistic(summary::IPC, row, column)
    }

    /// A figure over the run and its repeats; `None` without repeats, or where one of them has no such figure.
    pub fn spread(&self, figure: Figure, row: usize, column: usize) -> Option<Spread> {
        self.over_repeats(|one| figure(one, row, column))
    }

    /// The mean of a column's figures, over the runs and their repeats.
    pub fn spread_of_mean(&self, figure: Figure, column: usize, mean: MeanOf) -> Option<Spread> {
        self.over_repeats(|one| mean(&one.all(figure, column)))
    }

    /// A figure of the whole comparison over its repeats; `None` without repeats, or where one of them has no such figure.
    pub fn over_repeats(&self, of: impl Fn(&Self) -> Option<f64>) -> Option<Spread> {
        let values: Option<Vec<f64>> = std::iter::once(self).chain(&self.again).map(of).collect();
        Spread::of(&values?)
    }

    /// The column that a column's relative figures are over.
    pub fn baseline(&self, column: usize) -> &Column {
        &self.columns[self.columns[column].baseline]
    }

    /// Name of the baseline of relative figures: its label, or the values that all baselines share.
    pub fn baseline_name(&self) -> String {
        let (columns, first) = (&self.columns, self.baseline(0));
        if columns.iter().all(|column| column.baseline == columns[0].baseline) {
            return first.label.clone();
        }
        let is_shared = |(at, axis): &(usize, &Axis)| {
            (0..columns.len()).all(|column| self.baseline(column).axes.get(*at) == Some(*axis))
        };
        let values = first.axes.iter().enumerate().filter(is_shared).map(|(_, axis)| axis.value.as_str());
        let shared = values.collect::<Vec<_>>().join(" ");
        if shared.is_empty() { first.core.clone() } else { shared }
    }

    /// Puts the remarks on rows into the reports of their runs.
    pub fn with_remarks_in_reports(mut self) -> Self {
        for (i, cell) in self.cells.iter_mut().enumerate() {
            let Some(remark) = &self.remarks[i / self.columns.len()] else { continue };
            if let Cell::Complete(report) | Cell::Failed(_, Some(report)) | Cell::Interrupted(Some(report)) = cell {
                report.remarks.push(remark.clone());
            }
        }
        self.again = self.again.into_iter().map(Self::with_remarks_in_reports).collect();
        self
    }

    /// Code of the kernels of a row: as the runs report it, or else as it was to be.
    pub fn code(&self, row: usize) -> Form {
        let reports = (0..self.columns.len()).filter_map(|column| self.cell(row, column).any_report());
        reports.filter_map(Report::code).next().unwrap_or(self.codes[row])
    }

    /// Time of kernels in the baseline's column over that in this one; `None` where either has no model of time.
    pub fn speedup(&self, row: usize, column: usize) -> Option<f64> {
        speedup(self.cell(row, self.columns[column].baseline).complete()?, self.cell(row, column).complete()?)
    }

    /// The changes from the baseline's run to this one; `None` if either is not complete or has no time, or for the
    /// baseline itself.
    pub fn changes(&self, row: usize, column: usize) -> Option<Changes> {
        let baseline = self.columns[column].baseline;
        let (before, after) = (self.cell(row, baseline).complete()?, self.cell(row, column).complete()?);
        (baseline != column).then(|| Changes::between(&self.columns[baseline].label, before, after))?
    }

    /// Whether columns run versions of the same work.
    pub fn has_versions(&self) -> bool {
        self.columns.iter().any(|column| !column.version.label.is_empty())
    }

    /// The columns that are compared with another, by the values in which they differ from it: such as
    /// `two_level over lrr`, and the columns of each core design under `two_level`.
    pub fn by_difference(&self) -> Vec<(String, Vec<usize>)> {
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        for (at, column) in self.columns.iter().enumerate().filter(|(at, column)| column.baseline != *at) {
            let pairs = column.axes.iter().zip(&self.baseline(at).axes).filter(|(of, over)| of.value != over.value);
            let (of, over): (Vec<&str>, Vec<&str>) = pairs.map(|(of, over)| (&*of.value, &*over.value)).unzip();
            let name = format!("{} over {}", of.join(" "), over.join(" "));
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, columns)) => columns.push(at),
                None => groups.push((name, vec![at])),
            }
        }
        groups
    }

    /// The largest speedup of a row in `columns` less the smallest; `None` if there are fewer than two.
    pub fn variation(&self, row: usize, columns: &[usize]) -> Option<f64> {
        let of = |column: usize| match self.spread(Self::speedup, row, column) {
            Some(spread) => Some(spread.mean),
            None => self.speedup(row, column),
        };
        let all = columns.iter().map(|&column| of(column)).collect::<Option<Vec<f64>>>().filter(|all| all.len() > 1)?;
        let extreme = |pick: fn(f64, f64) -> f64| all.iter().copied().reduce(pick);
        Some(extreme(f64::max)? - extreme(f64::min)?)
    }

    /// By how much the issue slots lost to data and structural hazards are fewer than in the baseline's
    /// column, in percent.
    pub fn stall_reduction(&self, row: usize, column: usize) -> Option<f64> {
        let lost = |column| self.cell(row, column).complete()?.total.get(summary::STALLS)?.number();
        let first = Some(lost(self.columns[column].baseline)?).filter(|n| *n > 0.0)?;
        Some((1.0 - lost(column)? / first) * 100.0)
    }

    /// Energy, relative to the baseline's column.
    pub fn relative_energy(&self, row: usize, column: usize) -> Option<f64> {
        self.relative_joules(row, column, |report| report.total.get(energy::TOTAL)?.number())
    }

    /// Mean power, relative to the baseline's column.
    pub fn relative_power(&self, row: usize, column: usize) -> Option<f64> {
        Some(self.relative_energy(row, column)? * self.speedup(row, column)?)
    }

    /// Energy of managing values and instructions, relative to the baseline's column.
    pub fn relative_management(&self, row: usize, column: usize) -> Option<f64> {
        self.relative_joules(row, column, |report| report.total.get(energy::MANAGEMENT)?.number())
    }

    /// Energy of L1 and L2, relative to the baseline's column.
    pub fn relative_caches(&self, row: usize, column: usize) -> Option<f64> {
        self.relative_joules(row, column, |report| {
            Some(report.total.get(energy::L1)?.number()? + report.total.get(energy::L2)?.number()?)
        })
    }

    /// Ratio of `joules` of a run to `joules` of the baseline.
    fn relative_joules(&self, row: usize, column: usize, joules: fn(&Report) -> Option<f64>) -> Option<f64> {
        let of = |column| joules(self.cell(row, column).complete()?);
        Some(of(column)? / Some(of(self.columns[column].baseline)?).filter(|j| *j > 0.0)?)
    }

    /// Instructions per joule, relative to the baseline's column; both execute the same program.
    pub fn efficiency(&self, row: usize, column: usize) -> Option<f64> {
        Some(1.0 / Some(self.relative_energy(row, column)?).filter(|energy| *energy > 0.0)?)
    }

    /// The same without the constant power, which the whole chip and its board have with any number of cores.
    pub fn efficiency_of_cores(&self, row: usize, column: usize) -> Option<f64> {
        let energy = self.relative_joules(row, column, |report| {
            Some(report.total.get(energy::TOTAL)?.number()? - report.total.get(energy::CONSTANT)?.number()?)
        });
        Some(1.0 / energy.filter(|energy| *energy > 0.0)?)
    }

    /// [`Comparison::efficiency`] by the instructions that each column's cores execute.
    pub fn own_efficiency(&self, row: usize, column: usize) -> Option<f64> {
        let own = |column| self.cell(row, column).complete()?.total.get(summary::THREAD_INSTRUCTIONS)?.number();
        let baseline = Some(own(self.columns[column].baseline)?).filter(|n| *n > 0.0)?;
        Some(self.efficiency(row, column)? * own(column)? / baseline)
    }

    /// Published figures of a column's core design, running code as some row here does.
    pub fn published_figure(&self, column: usize) -> Option<&'static published::Figure> {
        let figure = self.columns[column].published_figure().filter(|_| self.own.is_none());
        figure.filter(|figure| (0..self.workloads.len()).any(|row| self.code(row) == figure.code))
    }

    /// Whether the paper's speedups are over what ours are over.
    pub fn is_over_the_same(&self, figure: &published::Figure, column: usize) -> bool {
        let baseline = self.baseline(column);
        baseline.core == figure.against && baseline.gpu == self.columns[column].gpu
    }

    /// Geometric means over the workloads that a column has in common with what is published of its core
    /// design over the baseline's; `None` if there are none.
    pub fn in_common(&self, column: usize) -> Option<InCommon> {
        let pair = |row| Some((self.speedup(row, column)?, self.published(row, column)?.speedup?));
        let (ours, published): (Vec<f64>, Vec<f64>) = (0..self.workloads.len()).filter_map(pair).unzip();
        Some(InCommon { workloads: ours.len(), ours: geometric_mean(&ours)?, published: geometric_mean(&published)? })
    }

    /// The paper's means for a column's core design.
    pub fn published_mean(&self, column: usize) -> Option<PublishedMean> {
        let figure = self.published_figure(column)?;
        Some(PublishedMean {
            speedup: figure.geometric_mean.filter(|_| self.is_over_the_same(figure, column)),
            programs: figure.programs,
            in_common: self.in_common(column),
            source: &figure.source,
        })
    }

    /// Published figures of a run: of the program of the workload's name, with whatever parameters it has here. A row
    /// of one kernel of a workload has none.
    pub fn published(&self, row: usize, column: usize) -> Option<Published> {
        if let Some(own) = &self.own {
            let Column { label, baseline, .. } = &self.columns[column];
            let value = Some(own.value(&self.workloads[row], label, *baseline == column)?);
            return Some(match own.figure() {
                "speedup" => Published { speedup: value, ..Published::default() },
                "relative-energy" => Published { relative_energy: value, ..Published::default() },
                _ => Published { efficiency: value, ..Published::default() },
            });
        }
        let figure = self.published_figure(column)?;
        let label = &self.workloads[row];
        let name = if label.contains(' ') { label } else { label.split(':').next()? };
        if figure.code != self.code(row) {
            return None;
        }
        let absolute = |of: &BTreeMap<String, f64>| of.get(name).copied();
        let relative = |of| absolute(of).filter(|_| self.is_over_the_same(figure, column));
        let published = Published {
            speedup: relative(&figure.speedup),
            stall_reduction_percent: relative(&figure.stall_reduction_percent),
            occupancy_percent: absolute(&figure.occupancy_percent),
            ipc: absolute(&figure.ipc),
            watts: absolute(&figure.watts),
            relative_energy: relative(&figure.relative_energy),
            efficiency: relative(&figure.efficiency),
        };
        (published != Published::default()).then_some(published)
    }

    /// The geometric mean of a column's speedups.
    pub fn mean(&self, column: usize) -> Mean {
        let all = self.all(Self::speedup, column);
        let repeats = self.spread_of_mean(Self::speedup, column, geometric_mean);
        Mean { speedup: geometric_mean(&all), repeats, workloads: all.len() }
    }

    /// The figures of a column, of the rows that have one.
    pub fn all(&self, figure: Figure, column: usize) -> Vec<f64> {
        (0..self.workloads.len()).filter_map(|row| figure(self, row, column)).collect()
    }

    /// The cells that failed: workload, column, reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &Column, &str)> {
        self.cells.iter().enumerate().filter_map(|(i, cell)| match cell {
            Cell::Failed(why, _) => {
                let (row, column) = (i / self.columns.len(), i % self.columns.len());
                Some((self.workloads[row].as_str(), &self.columns[column], why.as_str()))
            }
            Cell::Complete(_) | Cell::Interrupted(_) => None,
        })
    }

    /// Whether a hazard auditor watched any run.
    pub fn audited(&self) -> bool {
        self.cells.iter().filter_map(Cell::any_report).any(|report| report.audit.is_some())
    }

    /// Whether some run was not run to its end because of Ctrl-C or the limit of cycles.
    pub fn interrupted(&self) -> bool {
        self.cells.iter().any(|cell| cell.status() == "interrupted")
    }

    /// As written to JSON.
    pub fn document(&self) -> Document<'_> {
        let columns = self.columns.len();
        Document {
            schema: SCHEMA,
            columns: &self.columns,
            geometric_means: (0..columns).map(|c| self.mean(c)).collect(),
            published_means: (0..columns).map(|c| self.published_mean(c)).collect(),
            runs: (0..self.cells.len()).map(|i| self.run(i / columns, i % columns)).collect(),
        }
    }

    fn run<'a>(&'a self, row: usize, column: usize) -> Run<'a> {
        let cell = self.cell(row, column);
        let derived = |of: &'a Derived| DerivedValue { name: &of.name, value: self.derived(of, row, column) };
        Run {
            workload: &self.workloads[row],
            column,
            status: cell.status(),
            reason: cell.reason(),
            speedup: self.speedup(row, column),
            repeats: self.spread(Self::speedup, row, column),
            stall_reduction_percent: self.stall_reduction(row, column),
            relative_energy: self.relative_energy(row, column),
            relative_management: self.relative_management(row, column),
            published: self.published(row, column),
            changes: self.changes(row, column),
            derived: self.derived.iter().map(derived).collect(),
            report: cell.any_report(),
        }
    }
}

/// Time of kernels in one run over that in another; `None` where either has no model of time.
pub fn speedup(baseline: &Report, of: &Report) -> Option<f64> {
    let time = |report: &Report| {
        let is_timed = lab::is_timed(&report.core);
        Some(report.total.number(summary::TIME)).filter(|time| is_timed && *time > 0.0)
    };
    Some(time(baseline)? / time(of)?)
}

/// The geometric mean; `None` of nothing.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logs: f64 = ratios.iter().map(|r| r.ln()).sum();
    (!ratios.is_empty()).then(|| (logs / ratios.len() as f64).exp())
}

/// The arithmetic mean; `None` of nothing.
pub fn arithmetic_mean(ratios: &[f64]) -> Option<f64> {
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}

/// Version of [`Document`].
const SCHEMA: u32 = 2;

/// A comparison as JSON; `docs/cli.md` describes it.
#[derive(Serialize)]
pub struct Document<'a> {
    schema: u32,
    columns: &'a [Column],
    geometric_means: Vec<Mean>,
    published_means: Vec<Option<PublishedMean>>,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    workload: &'a str,
    column: usize,
    status: &'static str,
    reason: Option<&'a str>,
    speedup: Option<f64>,
    /// The speedup over the repeats, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<Spread>,
    stall_reduction_percent: Option<f64>,
    relative_energy: Option<f64>,
    relative_management: Option<f64>,
    published: Option<Published>,
    /// Absent for the baseline, and without two complete runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Changes>,
    /// Figures of the user's own, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    derived: Vec<DerivedValue<'a>>,
    report: Option<&'a Report>,
}

#[derive(Serialize)]
struct DerivedValue<'a> {
    name: &'a str,
    value: Option<f64>,
}
