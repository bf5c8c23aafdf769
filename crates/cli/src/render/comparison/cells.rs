//! Figures of a comparison as the texts of cells.

use crate::render::number::{self, ABSENT};
use crate::render::slots;
use crate::render::style::{BAD, WARNING, styled};
use lab::Report;
use request::chance::Spread;
use request::comparison::Cell;

/// The reason for which SMs that had warps lost most slots, as a share of those SMs' slots.
pub fn main_stall(report: &Report) -> String {
    let busy = report.total.number(slots::ALL) - report.total.number(slots::IDLE);
    let stalls = slots::stalls(&report.total);
    let first = stalls.iter().find(|(name, _)| slots::IDLE.strip_prefix(slots::PREFIX) != Some(*name));
    first.map_or_else(|| ABSENT.to_owned(), |(name, n)| format!("{name} ({:.0} %)", n / busy * 100.0))
}

/// A figure with its significant digits.
pub fn real(figure: Option<f64>) -> String {
    figure.map_or_else(|| ABSENT.to_owned(), number::real)
}

/// A mean with half of the width of its confidence interval, in percent.
pub fn with_interval(mean: &str, spread: Spread) -> String {
    format!("{mean} ±{:.1} %", spread.half / spread.mean * 100.0)
}

/// A ratio over repeats; a mark says that it may be 1.
pub fn spread_of_ratio(spread: Spread, is_baseline: bool) -> String {
    if is_baseline {
        return speedup(Some(spread.mean));
    }
    let mark = if spread.contains(1.0) { " ~" } else { "" };
    format!("{:.3} ±{:.3}{mark}", spread.mean, spread.half)
}

pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| ABSENT.to_owned(), |p| format!("{p:.1}"))
}

pub fn speedup(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| ABSENT.to_owned(), |r| format!("{r:.3}"))
}

pub fn text(cell: &Cell, figure: impl Fn(&Report) -> String) -> String {
    match (cell, cell.complete(), cell.any_report()) {
        (_, Some(report), _) => figure(report),
        (Cell::Failed(..), ..) => styled(BAD, "failed"),
        (_, None, Some(report)) => styled(WARNING, format!("> {}", figure(report))),
        (_, None, None) => styled(WARNING, "not run"),
    }
}

pub fn text_or(cell: &Cell, otherwise: &str, figure: impl Fn(&Report) -> String) -> String {
    cell.complete().map_or_else(|| otherwise.to_owned(), figure)
}
