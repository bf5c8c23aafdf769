//! A comparison as a part of a page.

use ::render::page;
use ::render::page::comparison::{Design, Outcome, PublishedMeans};
use request::comparison::{Column, Comparison};

/// The comparison for a page; `command` is what runs it, if it is a part of an experiment.
pub fn part(of: &Comparison, command: Option<String>) -> page::Comparison<'_> {
    let columns = of.columns.len();
    page::Comparison {
        command,
        workloads: &of.workloads,
        designs: (0..columns).map(|column| design(of, column)).collect(),
        outcomes: (0..of.cells.len()).map(|i| outcome(of, i / columns, i % columns)).collect(),
    }
}

fn design(of: &Comparison, at: usize) -> Design {
    let Column { label, gpu, core, scheduler, settings, baseline, .. } = &of.columns[at];
    let scheduler = scheduler.iter().map(|scheduler| format!("scheduler {scheduler}"));
    let parts = [gpu.clone(), format!("core {core}")].into_iter().chain(scheduler).chain(settings.iter().cloned());
    let mean = of.mean(at);
    let published = of.published_mean(at).map(|published| PublishedMeans {
        mean: published.speedup,
        in_common: published.in_common.map(|common| (common.workloads, common.ours, common.published)),
        source: published.source.to_owned(),
    });
    Design {
        label: label.clone(),
        machine: parts.collect::<Vec<_>>().join(", "),
        baseline: *baseline,
        mean: mean.repeats.map(|spread| spread.mean).or(mean.speedup).map(|speedup| (speedup, mean.workloads)),
        half: mean.repeats.map(|spread| spread.half),
        published,
    }
}

fn outcome(of: &Comparison, row: usize, column: usize) -> Outcome<'_> {
    let cell = of.cell(row, column);
    let spread = of.spread(Comparison::speedup, row, column);
    Outcome {
        report: cell.any_report(),
        complete: cell.complete().is_some(),
        reason: cell.reason(),
        speedup: spread.map(|spread| spread.mean).or(of.speedup(row, column)),
        half: spread.map(|spread| spread.half),
        published: of.published(row, column).and_then(|published| published.speedup),
    }
}
