//! The kernels of a run as the sections of a page have them.

use crate::number;
use crate::summary;
use lab::{PackedStats, Report, Stats};
use std::borrow::Cow;

/// Maximum number of kernels that a page shows, by cycles.
pub const MOST: usize = 40;

/// A kernel, over all of its launches that have ended, or the whole run.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Its name, and the number of its launches if these are several.
    pub label: String,
    /// The counts.
    pub stats: Cow<'a, Stats>,
}

/// The kernels of most cycles, the longest first, and the number of those left out.
pub fn rows(report: &Report) -> (Vec<Row<'_>>, usize) {
    let mut rows: Vec<(String, &PackedStats)> = if report.by_kernel.is_empty() {
        let several = report.kernels.len() > 1;
        let label = |k: &lab::KernelReport| if several { format!("{} #{}", k.name, k.launch) } else { k.name.clone() };
        report.kernels.iter().map(|k| (label(k), &k.statistics)).collect()
    } else {
        let label = |k: &lab::KernelTotal| match k.launches {
            0 | 1 => k.name.clone(),
            n => format!("{} ({} launches)", k.name, number::count(n)),
        };
        report.by_kernel.iter().filter(|k| k.launches > 0).map(|k| (label(k), &k.statistics)).collect()
    };
    let cycles = |(_, stats): &(String, &PackedStats)| stats.number(summary::CYCLES);
    rows.sort_by(|a, b| cycles(b).total_cmp(&cycles(a)));
    let left_out = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let rows = rows.into_iter().map(|(label, stats)| Row { label, stats: Cow::Owned(stats.unpacked()) });
    (rows.collect(), left_out)
}

/// The same with the whole run before several kernels.
pub fn rows_with_total(report: &Report) -> (Vec<Row<'_>>, usize) {
    let (mut rows, left_out) = rows(report);
    if rows.len() != 1 {
        rows.insert(0, Row { label: "Whole run".into(), stats: Cow::Borrowed(&report.total) });
    }
    (rows, left_out)
}

/// A sentence on kernels that are left out.
pub fn left_out(n: usize) -> String {
    let kernels = kit::text::plural(n as u64, "kernel");
    if n == 0 { String::new() } else { format!(" {} {kernels} of fewer cycles left out.", number::count(n as u64)) }
}
