//! Runs many points on a few threads.

use crate::costs::Costs;
use crate::plan::Plan;
use crate::store::{Key, Point, Store};
use lab::{Monitor, Progress, Report};
use request::comparison::Cell;
use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
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
/// instead, correct ones are added, and a failed run is retried once.
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

/// The outcome of each run of `plan`: from `ran`, or else from the store. A run whose stored file is damaged is repeated.
pub fn outcomes(plan: &Plan, ran: &HashMap<&Key, Cell>, store: &Store, watch: &dyn Watch) -> Vec<Cell> {
    let missing: Vec<&Point> = plan.points.iter().filter(|point| !ran.contains_key(point.key())).collect();
    let mut read = run_all(&missing, plan.threads(), Some(store), watch).into_iter();
    let cells = plan.points.iter().map(|point| ran.get(point.key()).cloned().or_else(|| read.next()));
    cells.flatten().collect()
}

fn kept_or_run(point: &Point, store: Option<&Store>, watch: &dyn Watch) -> Cell {
    let Some(store) = store.filter(|_| point.can_be_kept()) else { return run(point, watch) };
    if let Some(report) = store.get(point) {
        return Cell::Complete(Box::new(report));
    }
    let begin = Instant::now();
    let cell = run_to_keep(point, watch);
    let Cell::Complete(report) = &cell else { return cell };
    match kept(point, report, store) {
        Ok(again) => {
            // A missing estimate is not an error.
            let _ = Costs::note(store, point, begin.elapsed());
            again.map_or(cell, |again| Cell::Complete(Box::new(again)))
        }
        Err(why) => {
            watch.cannot_keep(&why);
            cell
        }
    }
}

/// Stores a report, and returns it as it will be read back: the result must not show whether the run was stored. `None` if
/// it has parts that are not stored.
fn kept(point: &Point, report: &Report, store: &Store) -> Result<Option<Report>, String> {
    let cannot = |e: io::Error| format!("a run cannot be kept in `{}`: {e}", store.folder().display());
    let Some(packed) = point.pack(report).map_err(cannot)? else { return Ok(None) };
    store.put(point, &packed).map_err(cannot)?;
    Ok(point.unpack(&packed[..]))
}

/// Runs one that is to be stored: again if it fails. Among many runs on many machines some fail for external reasons.
pub fn run_to_keep(point: &Point, watch: &dyn Watch) -> Cell {
    let cell = run(point, watch);
    if matches!(cell, Cell::Failed(..)) { run(point, watch) } else { cell }
}

/// A monitor that remembers whether it has ended the run.
struct Ending<'a> {
    monitor: Box<dyn Monitor + 'a>,
    ended: bool,
}

impl Monitor for Ending<'_> {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        let flow = self.monitor.progress(progress);
        self.ended |= flow.is_break();
        flow
    }

    fn wants_details(&self) -> bool {
        self.monitor.wants_details()
    }
}

/// Runs one.
pub fn run(point: &Point, watch: &dyn Watch) -> Cell {
    if kit::stop::requested() {
        return Cell::Interrupted(None);
    }
    let mut monitor = Ending { monitor: watch.begin(), ended: false };
    // A defect of the simulator that one run meets must not take the other runs' results along.
    let ran = catch_unwind(AssertUnwindSafe(|| lab::run(&point.setup, point.job(), &mut monitor)));
    let stopped = monitor.ended || kit::stop::requested();
    match ran {
        Ok(Ok(report)) if report.interrupted && stopped => Cell::Interrupted(Some(Box::new(report))),
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
