//! Workloads on several machines, side by side: the values; [`render`](crate::render::comparison)
//! makes text of them.

use crate::changes::Choice;
use crate::render::{energy, summary};
use lab::{Report, published};
use serde::Serialize;
use std::collections::BTreeMap;
use workloads::Form;

/// A machine to compare: one column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Column {
    /// What tells it from the other columns.
    pub label: String,
    /// GPU description.
    pub gpu: String,
    /// Core design.
    pub core: String,
    /// Warp scheduler; the GPU description's if absent.
    pub scheduler: Option<String>,
    /// Values of the GPU description that differ.
    pub settings: Vec<String>,
    /// Those of them that flags of their own have changed.
    #[serde(skip)]
    pub choice: Choice,
}

/// What a comparison can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shown {
    /// Simulated core cycles
    Cycles,
    /// The cycles at the core clock, in microseconds
    Time,
    /// Simulated time of the first column over that of this one, with the geometric mean
    Speedup,
    /// Issue slots lost to data and structural hazards, in percent less than in the first column
    Stalls,
    /// Resident warps as a share of warp slots
    Occupancy,
    /// Thread instructions per cycle
    Ipc,
    /// What SMs with warps lost most issue slots to
    Lost,
    /// Instructions that issued before an older one of their warp, in percent, of designs that count them
    Reordered,
    /// Energy of GPU and board
    Energy,
    /// That energy by simulated time, in watts
    Power,
    /// That energy over that of the first column
    RelativeEnergy,
    /// Instructions executed once for all of their lanes, in percent, of cores with a scalar path
    Scalar,
    /// Older instructions on which one depends that enters the buffer, of designs that count them: RAW, WAW-WAR, Stop
    Dependences,
}

/// What a paper reports of a run like one of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Published {
    /// Speedup over the first column's core design.
    pub speedup: Option<f64>,
    /// Issue slots lost to data and structural hazards, in percent less than in order.
    pub stall_reduction_percent: Option<f64>,
    /// Resident warps as a share of warp slots, in percent.
    pub occupancy_percent: Option<f64>,
    /// Thread instructions per cycle.
    pub ipc: Option<f64>,
    /// Mean power, in watts.
    pub watts: Option<f64>,
    /// Energy over that of the paper's baseline.
    pub relative_energy: Option<f64>,
}

/// What a paper reports of a core design on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedMean {
    /// Geometric mean of the speedups of all its workloads.
    pub speedup: Option<f64>,
    /// Paper and figure.
    pub source: &'static str,
}

/// What came of a workload on a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// It ran to its end and the result is right or was not checked.
    Complete(Box<Report>),
    /// It did not, or its result is wrong: why, and what is known.
    Failed(String, Option<Box<Report>>),
    /// It was not run, or ended early: what is known.
    Interrupted(Option<Box<Report>>),
}

impl Cell {
    /// The report, if the run is complete: figures of other runs mean nothing beside it.
    pub fn complete(&self) -> Option<&Report> {
        match self {
            Cell::Complete(report) => Some(report),
            Cell::Failed(..) | Cell::Interrupted(_) => None,
        }
    }

    fn any_report(&self) -> Option<&Report> {
        match self {
            Cell::Complete(report) => Some(report),
            Cell::Failed(_, report) | Cell::Interrupted(report) => report.as_deref(),
        }
    }
}

/// Workloads by columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Code of bundled workloads.
    pub code: Form,
    /// Rows: workloads and launch files.
    pub workloads: Vec<String>,
    /// Columns; speedups are over the first.
    pub columns: Vec<Column>,
    /// Row by row.
    pub cells: Vec<Cell>,
}

/// A mean and over how many workloads it goes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Geometric mean of the speedups; absent if there are none.
    pub speedup: Option<f64>,
    /// Workloads that ran to their end both here and in the first column.
    pub workloads: usize,
}

impl Comparison {
    /// A workload on a machine.
    pub fn cell(&self, row: usize, column: usize) -> &Cell {
        &self.cells[row * self.columns.len() + column]
    }

    /// Simulated time of the first column over that of this one.
    pub fn speedup(&self, row: usize, column: usize) -> Option<f64> {
        let time = |column| Some(self.cell(row, column).complete()?.total.number(summary::TIME)).filter(|t| *t > 0.0);
        Some(time(0)? / time(column)?)
    }

    /// By how much the issue slots lost to data and structural hazards are fewer than in the first
    /// column, in percent.
    pub fn stall_reduction(&self, row: usize, column: usize) -> Option<f64> {
        let lost = |column| self.cell(row, column).complete()?.total.get(summary::STALLS)?.number();
        let first = Some(lost(0)?).filter(|n| *n > 0.0)?;
        Some((1.0 - lost(column)? / first) * 100.0)
    }

    /// Energy over that of the first column.
    pub fn relative_energy(&self, row: usize, column: usize) -> Option<f64> {
        let joules = |column| self.cell(row, column).complete()?.total.get(energy::TOTAL)?.number();
        Some(joules(column)? / Some(joules(0)?).filter(|j| *j > 0.0)?)
    }

    /// What is published of a column's core design, running such code.
    pub fn published_figure(&self, column: usize) -> Option<&'static published::Figure> {
        let figure = published::figure(&self.columns[column].core, &self.columns[column].gpu);
        figure.filter(|figure| figure.code == self.code)
    }

    /// Whether the paper's speedups are over what ours are over: the first column.
    pub fn is_over_the_same(&self, figure: &published::Figure, column: usize) -> bool {
        self.columns[0].core == figure.against && self.columns[0].gpu == self.columns[column].gpu
    }

    /// The geometric mean that is published of a column's core design, over the first column's.
    pub fn published_speedup(&self, column: usize) -> Option<f64> {
        self.published_figure(column).filter(|figure| self.is_over_the_same(figure, column))?.geometric_mean
    }

    fn published_mean(&self, column: usize) -> Option<PublishedMean> {
        let figure = self.published_figure(column)?;
        Some(PublishedMean { speedup: self.published_speedup(column), source: &figure.source })
    }

    /// What is published of a run.
    pub fn published(&self, row: usize, column: usize) -> Option<Published> {
        let (figure, name) = (self.published_figure(column)?, &self.workloads[row]);
        let absolute = |of: &BTreeMap<String, f64>| of.get(name).copied();
        let relative = |of| absolute(of).filter(|_| self.is_over_the_same(figure, column));
        let published = Published {
            speedup: relative(&figure.speedup),
            stall_reduction_percent: relative(&figure.stall_reduction_percent),
            occupancy_percent: absolute(&figure.occupancy_percent),
            ipc: absolute(&figure.ipc),
            watts: absolute(&figure.watts),
            relative_energy: relative(&figure.relative_energy),
        };
        (published != Published::default()).then_some(published)
    }

    /// The geometric mean of a column's speedups.
    pub fn mean(&self, column: usize) -> Mean {
        let logs: Vec<f64> =
            (0..self.workloads.len()).filter_map(|row| self.speedup(row, column)).map(f64::ln).collect();
        let workloads = logs.len();
        let speedup = (workloads > 0).then(|| (logs.iter().sum::<f64>() / workloads as f64).exp());
        Mean { speedup, workloads }
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

    /// Whether some run was not run to its end because the user wanted to stop.
    pub fn interrupted(&self) -> bool {
        self.cells.iter().any(|c| matches!(c, Cell::Interrupted(_)))
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

    fn run(&self, row: usize, column: usize) -> Run<'_> {
        let cell = self.cell(row, column);
        let (status, reason) = match cell {
            Cell::Complete(_) => ("complete", None),
            Cell::Failed(why, _) => ("failed", Some(why.as_str())),
            Cell::Interrupted(_) => ("interrupted", None),
        };
        Run {
            workload: &self.workloads[row],
            column,
            status,
            reason,
            speedup: self.speedup(row, column),
            stall_reduction_percent: self.stall_reduction(row, column),
            relative_energy: self.relative_energy(row, column),
            published: self.published(row, column),
            report: cell.any_report(),
        }
    }
}

/// Version of [`Document`].
const SCHEMA: u32 = 1;

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
    stall_reduction_percent: Option<f64>,
    relative_energy: Option<f64>,
    published: Option<Published>,
    report: Option<&'a Report>,
}
