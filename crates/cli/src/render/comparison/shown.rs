//! The figures that a comparison can show: of each, headings, values, texts and what papers have.

use super::cells::{main_stall, percent, real, speedup, spread_of_ratio, text, text_or, with_interval};
use crate::render::number::{self, ABSENT};
use crate::render::report::figure;
use crate::render::table::Align;
use crate::render::{energy, summary};
use clap::ValueEnum;
use evidence::published;
use lab::Report;
use request::comparison::{self, Comparison};

/// A figure that a comparison can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shown {
    /// Simulated core cycles of kernels, without launch latency
    Cycles,
    /// The cycles at the core clock, in microseconds
    Time,
    /// Time of kernels in the baseline's column over that in this one, with the geometric mean
    Speedup,
    /// How much speedups depend on all else: the largest less the smallest among the columns that differ in the same from their baselines, such as one scheduler over another under each core design
    Variation,
    /// Issue slots lost to data and structural hazards, in percent less than in the baseline's column
    Stalls,
    /// Resident warps as a share of warp slots
    Occupancy,
    /// Thread instructions per cycle
    Ipc,
    /// The reason for which schedulers with warps lost most issue slots
    Lost,
    /// Instructions that issued before an older one of their warp, in percent, of designs that count them
    Reordered,
    /// Energy of GPU and board
    Energy,
    /// Energy by simulated time, in watts
    Power,
    /// Energy relative to the baseline's column
    RelativeEnergy,
    /// Energy of register file, pipeline and scheduler, or of a fabric's parts in their place, relative to the baseline's column
    Management,
    /// Instructions per joule relative to the baseline's column; the instructions of the baseline count for both
    Efficiency,
    /// Instructions per joule relative to the baseline's column; each column counts its own instructions
    OwnEfficiency,
    /// Instructions per joule, without the constant power of chip and board, relative to the baseline's column
    CoreEfficiency,
    /// Energy of L1 and L2 relative to the baseline's column
    CacheEnergy,
    /// Instructions executed once for all of their lanes, in percent, of cores with a scalar path
    Scalar,
    /// Older instructions on which one depends that enters the buffer, of designs that count them: RAW, WAW-WAR, Stop
    Dependences,
    /// Time in which fabrics are configured, in percent of all, of cores that are fabrics
    Configuration,
}

impl Shown {
    pub fn heading(self) -> &'static str {
        match self {
            Shown::Cycles => "Cycles of kernels",
            Shown::Time => "Time of kernels (us)",
            Shown::Speedup => "Speedup",
            Shown::Variation => "Variation: largest speedup less the smallest",
            Shown::Stalls => "Slots lost to hazards, percent less",
            Shown::Occupancy => "Achieved occupancy (%)",
            Shown::Ipc => "Thread instructions per cycle",
            Shown::Lost => "Busy SMs' slots lost most to",
            Shown::Reordered => "Issued before an older instruction of the warp (%)",
            Shown::Energy => "Energy",
            Shown::Power => "Mean power (W)",
            Shown::RelativeEnergy => "Energy",
            Shown::Management => "Energy of register file, pipeline and scheduler, or of what replaces them,",
            Shown::Efficiency => "Instructions per joule",
            Shown::OwnEfficiency => "Own instructions per joule",
            Shown::CoreEfficiency => "Instructions per joule without constant power",
            Shown::CacheEnergy => "Energy of L1 and L2",
            Shown::Scalar => "Scalar instructions (%)",
            Shown::Dependences => "Dependences per instruction: RAW, WAW-WAR, Stop",
            Shown::Configuration => "Configuration, percent of time",
        }
    }

    /// Whether it is relative to the baseline's column.
    pub fn is_relative(self) -> bool {
        self == Shown::Stalls || self.relative().is_some()
    }

    /// The figure of a row in a column, if it is a ratio to the baseline's.
    pub fn relative(self) -> Option<comparison::Figure> {
        comparison::ratio(self.to_possible_value()?.get_name())
    }

    /// The same, if means of it are shown.
    pub fn ratio(self) -> Option<comparison::Figure> {
        self.relative().filter(|_| self != Shown::RelativeEnergy)
    }

    /// The mean that a paper gives without its kind.
    pub fn published_mean(self, figure: &published::Figure) -> Option<f64> {
        match self {
            Shown::Speedup => figure.mean,
            Shown::Efficiency => figure.mean_efficiency,
            Shown::Management => figure.mean_management,
            _ => None,
        }
    }

    /// Short heading, for tables of several figures.
    pub fn short(self) -> (&'static str, Align) {
        match self {
            Shown::Cycles => ("cycles", Align::Right),
            Shown::Time => ("time (us)", Align::Right),
            Shown::Speedup => ("speedup", Align::Right),
            Shown::Variation => ("variation", Align::Right),
            Shown::Stalls => ("stalls less", Align::Right),
            Shown::Occupancy => ("occupancy", Align::Right),
            Shown::Ipc => ("IPC", Align::Right),
            Shown::Lost => ("slots lost most to", Align::Left),
            Shown::Reordered => ("reordered", Align::Right),
            Shown::Energy => ("energy", Align::Right),
            Shown::Power => ("W", Align::Right),
            Shown::RelativeEnergy => ("relative energy", Align::Right),
            Shown::Management => ("management", Align::Right),
            Shown::Efficiency => ("insts/J", Align::Right),
            Shown::OwnEfficiency => ("own insts/J", Align::Right),
            Shown::CoreEfficiency => ("core insts/J", Align::Right),
            Shown::CacheEnergy => ("cache energy", Align::Right),
            Shown::Scalar => ("scalar", Align::Right),
            Shown::Dependences => ("RAW, WAW-WAR, Stop", Align::Right),
            Shown::Configuration => ("configuration", Align::Right),
        }
    }

    /// The statistic that it is, if it is one of a run.
    pub fn statistic(self) -> Option<&'static str> {
        match self {
            Shown::Cycles => Some(summary::CYCLES),
            Shown::Time => Some(summary::TIME),
            Shown::Occupancy => Some(summary::OCCUPANCY),
            Shown::Ipc => Some(summary::IPC),
            Shown::Reordered => Some(summary::REORDERED),
            Shown::Energy => Some(energy::TOTAL),
            Shown::Power => Some(energy::POWER),
            Shown::Scalar => Some(summary::SCALAR),
            Shown::Configuration => Some(summary::CONFIGURATION),
            _ => None,
        }
    }

    /// Whether it is one number.
    pub fn is_number(self) -> bool {
        !matches!(self, Shown::Lost | Shown::Dependences)
    }

    /// The figure of a run as a number.
    pub fn value(self, comparison: &Comparison, row: usize, column: usize) -> Option<f64> {
        match self {
            Shown::Variation => {
                let of_column = comparison.by_difference().into_iter().find(|(_, columns)| columns.contains(&column));
                of_column.and_then(|(_, columns)| comparison.variation(row, &columns))
            }
            Shown::Stalls => comparison.stall_reduction(row, column),
            _ => match self.statistic() {
                Some(name) => comparison.statistic(name, row, column),
                None => self.relative().and_then(|ratio| ratio(comparison, row, column)),
            },
        }
    }

    /// The figure of a run as text: of repeats, the mean with half of the width of its confidence interval.
    pub fn text(self, comparison: &Comparison, row: usize, column: usize) -> String {
        let spread = || comparison.over_repeats(|one| self.value(one, row, column));
        match self {
            _ if self.relative().is_some() => match spread() {
                Some(spread) => spread_of_ratio(spread, comparison.columns[column].baseline == column),
                None => self.text_of_one(comparison, row, column),
            },
            Shown::Cycles | Shown::Time | Shown::Ipc => match spread().filter(|spread| spread.mean > 0.0) {
                Some(spread) => {
                    let mean = if self == Shown::Cycles {
                        number::count(spread.mean.round() as u64)
                    } else {
                        number::real(spread.mean)
                    };
                    with_interval(&mean, spread)
                }
                None => self.text_of_one(comparison, row, column),
            },
            _ => self.text_of_one(comparison, row, column),
        }
    }

    /// The figure of the first run as text.
    fn text_of_one(self, comparison: &Comparison, row: usize, column: usize) -> String {
        let cell = comparison.cell(row, column);
        let value = || self.value(comparison, row, column);
        match self {
            Shown::Cycles => text(cell, |r| figure(&r.total, summary::CYCLES)),
            Shown::Stalls => percent(value()),
            Shown::Lost => text_or(cell, ABSENT, main_stall),
            Shown::Energy => value().map_or_else(|| ABSENT.to_owned(), |joules| number::with_prefix(joules, "J")),
            Shown::Dependences => {
                let counted = cell.complete().filter(|r| r.total.get(summary::DEPENDENCES[0]).is_some());
                let text = |r: &Report| summary::DEPENDENCES.map(|name| figure(&r.total, name)).join(", ");
                counted.map_or_else(|| ABSENT.to_owned(), text)
            }
            _ => match self.statistic() {
                Some(name) => text_or(cell, ABSENT, |r| figure(&r.total, name)),
                None => speedup(value()),
            },
        }
    }

    /// The figure of a paper.
    pub fn published_value(self, comparison: &Comparison, row: usize, column: usize) -> Option<f64> {
        let of = comparison.published(row, column)?;
        match self {
            Shown::Speedup => of.speedup,
            Shown::Stalls => of.stall_reduction_percent,
            Shown::Occupancy => of.occupancy_percent,
            Shown::Ipc => of.ipc,
            Shown::Power => of.watts,
            Shown::RelativeEnergy => of.relative_energy,
            Shown::Efficiency => of.efficiency,
            _ => None,
        }
    }

    /// The figure of a paper as text; `None` if published figures of this kind are not shown.
    pub fn published(self, comparison: &Comparison, row: usize, column: usize) -> Option<String> {
        let value = self.published_value(comparison, row, column);
        match self {
            // Of management papers have one figure of all programs.
            Shown::Speedup | Shown::RelativeEnergy | Shown::Efficiency | Shown::Management => Some(speedup(value)),
            Shown::Stalls | Shown::Occupancy => Some(percent(value)),
            Shown::Ipc | Shown::Power => Some(real(value)),
            _ => None,
        }
    }
}
