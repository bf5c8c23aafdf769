//! Runs many points on a few threads.

use crate::costs::Costs;
use crate::store::{Point, Store};
use lab::{Monitor, Report};
use request::comparison::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Reports progress of runs.
pub trait Watch: Sync {
    /// A run begins: its monitor.
    fn begin(&self) -> Box<dyn Monitor + '_>;

    /// A completed run cannot be stored, with the reason. Its result is used nevertheless.
    fn cannot_keep(&self, why: &str);
}

/// Runs `points` on up to `threads` threads, in order, and returns the outcome of each. With a store, stored runs are read
/// instead and correct ones are added. A failed run is then retried once: among many runs on many machines some fail for
/// external reasons.
pub fn run_all(points: &[&Point], threads: usize, store: Option<&Store>, watch: &dyn Watch) -> Vec<Cell> {
    let next = AtomicUsize::new(0);
    let cells: Vec<Mutex<Option<Cell>>> = points.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(points.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(point) = points.get(index) else { break };
                    let cell = kept_or_run(point, store, watch);
                    *cells[index].lock().expect("nothing panics while it holds this") = Some(cell);
                }
            });
        }
    });
    cells.into_iter().map(|cell| cell.into_inner().ok().flatten().unwrap_or(Cell::Interrupted(None))).collect()
}

fn kept_or_run(point: &Point, store: Option<&Store>, watch: &dyn Watch) -> Cell {
    let Some(store) = store.filter(|_| point.can_be_kept()) else { return run(point, &mut *watch.begin()) };
    if let Some(report) = store.get(point) {
        return Cell::Complete(Box::new(report));
    }
    let begin = Instant::now();
    let mut cell = run(point, &mut *watch.begin());
    if matches!(cell, Cell::Failed(..)) {
        cell = run(point, &mut *watch.begin());
    }
    let Cell::Complete(report) = &mut cell else { return cell };
    match store.keep(point, report) {
        // The result must not show whether the run was stored.
        Ok(Some(again)) => **report = again,
        Ok(None) => {}
        Err(e) => watch.cannot_keep(&format!("a run cannot be kept in `{}`: {e}", store.folder().display())),
    }
    // A missing estimate is not an error.
    let _ = Costs::note(store, point, begin.elapsed());
    cell
}

/// Runs one.
fn run(point: &Point, monitor: &mut dyn Monitor) -> Cell {
    if kit::stop::requested() {
        return Cell::Interrupted(None);
    }
    // A defect of the simulator that one run meets must not take the other runs' results along.
    match catch_unwind(AssertUnwindSafe(|| lab::run(&point.setup, point.job(), monitor))) {
        Ok(Ok(report)) if report.interrupted && kit::stop::requested() => Cell::Interrupted(Some(Box::new(report))),
        Ok(Ok(report)) => match wrong_result(&report) {
            Some(why) => Cell::Failed(why, Some(Box::new(report))),
            None => Cell::Complete(Box::new(report)),
        },
        Ok(Err(error)) => Cell::Failed(error.message, error.partial),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Cell::Failed(format!("a defect of warpwright: {}; please report it", text.unwrap_or("no message")), None)
        }
    }
}

/// Why a complete run counts as failed: its result is wrong.
fn wrong_result(report: &Report) -> Option<String> {
    let check = report.check.as_ref().filter(|check| !check.passed)?;
    Some(format!("WRONG: {}", check.details.trim_end()))
}
