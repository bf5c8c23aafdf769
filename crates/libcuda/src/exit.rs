//! The end of a program: the report, Ctrl-C.
//!
//! A program may end while other threads are in calls, of which one simulates with the driver's lock. The end of the
//! program asks it to stop. No wait for other threads is unbounded.

use crate::global::{self, is_own_process, lock_within};
use crate::process::{self, INTERRUPTED, message};
use crate::text;
use cuda::Settings;
use cuda::report::ProgramReport;
use request::outputs;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::io::Write as _;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Time in which calls of other threads end by themselves if they do not simulate for long.
const SHORT_CALL: Duration = Duration::from_millis(100);

/// Time that calls of other threads, and the report, have to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Exit status of a program with failures, with `--strict`: the same as of other commands whose runs failed.
const FAILED: i32 = 1;

/// How far the end of the program is: it has not begun, a thread writes the report, the report is written.
static STAGE: AtomicU8 = AtomicU8::new(RUNS);
const RUNS: u8 = 0;
const ENDS: u8 = 1;
const ENDED: u8 = 2;

thread_local! {
    /// Whether the thread writes the report.
    static IS_WRITER: Cell<bool> = const { Cell::new(false) };
}

/// Prepares for the end of the program.
pub fn begin() {
    process::at_exit(at_exit);
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    if !is_own_process() {
        return;
    }
    conclude(status);
    if process::asked_to_stop() {
        process::leave(INTERRUPTED);
    }
}

/// Writes the report of a program that ends with `status`, once. Returns when it is written, or cannot be written in
/// time.
fn conclude(status: c_int) {
    if STAGE.compare_exchange(RUNS, ENDS, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        let _ = catch_unwind(|| write_report(status));
        STAGE.store(ENDED, Ordering::Release);
        return;
    }
    // Another thread writes it, or this one does and was interrupted by a signal.
    let start = Instant::now();
    while STAGE.load(Ordering::Acquire) == ENDS && !IS_WRITER.get() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn write_report(status: c_int) {
    IS_WRITER.set(true);
    global::end();
    let held = lock_within(SHORT_CALL).or_else(|| {
        kit::stop::request();
        lock_within(PATIENCE)
    });
    let Some(mut held) = held else {
        message("the program ends within a call of CUDA that does not end: there is no report");
        return;
    };
    let Some(mut driver) = held.take() else { return };
    drop(held);
    let settings = driver.settings.clone();
    let report = driver.platform.finish();
    // Prints the kernels' last output.
    drop(driver);
    let has_report = !report.devices.is_empty() || !report.unsupported.is_empty() || report.failed.any();
    let is_whole = !has_report || write(&settings, &report);
    if settings.options.strict && (report.failed.any() || !is_whole) && status & 0xff == 0 {
        let why = if report.failed.any() { report.failed.to_string() } else { "the report is not whole".to_owned() };
        message(&format!("{why}: with --strict the exit status is {FAILED}"));
        process::end_with(FAILED);
    }
}

/// Ends the process with a report if the user has asked for that.
pub fn leave_if_asked() {
    if process::asked_to_stop() {
        conclude(INTERRUPTED);
        process::leave(INTERRUPTED);
    }
}

/// As [`leave_if_asked`], in bounded time: other threads, or the streams of the C library, may keep the process from
/// ending.
pub fn leave_soon_if_asked() {
    if !process::asked_to_stop() {
        return;
    }
    let leaving = std::thread::Builder::new().name(process::THREAD_NAME.into()).spawn(leave_if_asked);
    if leaving.is_ok() {
        std::thread::sleep(PATIENCE);
    }
    process::leave_at_once(INTERRUPTED);
}

/// Writes the report; whether all of it could be written and everything that options name was in the run.
fn write(settings: &Settings, report: &ProgramReport) -> bool {
    let options = &settings.options;
    let (document, text) = (report.document(), text::render(report, options));
    let plain = anstream::adapter::strip_str(&text).to_string();
    let devices = report.devices.iter();
    let reports: Vec<_> =
        devices.filter_map(|device| Some((&device.report, &settings.devices.get(device.device)?.gpu))).collect();
    let written = outputs::of_program(options, &document, &plain, &reports, text::PROGRAM);
    if let Err(problems) = &written {
        message(&format!("the report is not written: {problems}"));
    }
    let reports: Vec<_> = report.devices.iter().map(|device| &device.report).collect();
    let missing = outputs::not_found(options, &reports);
    missing.iter().for_each(|missing| message(missing));
    if !options.quiet {
        let mut out = anstream::stderr().lock();
        // A closed standard error leaves no place for the report.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
    written.is_ok() && missing.is_empty()
}
