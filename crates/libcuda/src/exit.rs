//! The end of a program: the report, Ctrl-C, and functions of the program that nobody waits for.

use crate::call::{is_own_process, lock, proceed, try_lock};
use crate::process::{self, message};
use crate::text;
use driver::report::ProgramReport;
use driver::{Settings, Wait};
use std::io::Write as _;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Exit status of a program that the user has interrupted.
const INTERRUPTED: i32 = 130;

/// Time between two looks of the watching thread.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Calls of the API so far.
static CALLS: AtomicU64 = AtomicU64::new(0);
static FINISHED: AtomicBool = AtomicBool::new(false);

/// Notes that the program has called the API.
pub fn note_call() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

/// Prepares for the end of the program.
pub fn begin() {
    process::at_exit(at_exit);
    process::listen();
    // Without the thread, Ctrl-C and unattended functions do nothing.
    let _ = std::thread::Builder::new().name("warpwright".into()).spawn(watch);
}

extern "C" fn at_exit() {
    if is_own_process() {
        let _ = std::panic::catch_unwind(conclude);
    }
}

/// Writes the report, once. Returns when it is written.
fn conclude() {
    static ONCE: Once = Once::new();
    ONCE.call_once(write_report);
}

fn write_report() {
    FINISHED.store(true, Ordering::Relaxed);
    let Some(mut driver) = lock().take() else { return };
    let settings = driver.settings.clone();
    let report = driver.finish();
    // What kernels have printed last.
    drop(driver);
    if !report.devices.is_empty() || !report.unsupported.is_empty() {
        write(&settings, &report);
    }
}

/// Ends the process with a report if the user has asked for that.
pub fn leave_if_asked() {
    if process::asked_to_stop() {
        kit::stop::request();
        conclude();
        process::leave(INTERRUPTED);
    }
}

fn write(settings: &Settings, report: &ProgramReport) {
    let json = serde_json::to_vec_pretty(report).unwrap_or_default();
    let save = |path: &Path, contents: &[u8]| {
        if let Err(problem) = kit::output::write(path, contents) {
            message(&format!("the report is not written: {problem}"));
        }
    };
    if let Some(path) = &settings.json {
        save(path, &json);
    }
    let text = text::render(report);
    if let Some(folder) = &settings.out {
        let _ = std::fs::create_dir_all(folder);
        save(&folder.join("report.json"), &json);
        save(&folder.join("report.txt"), anstream::adapter::strip_str(&text).to_string().as_bytes());
        let series = report.devices.iter().filter_map(|device| device.report.power.as_ref());
        for (number, series) in series.enumerate() {
            let name = if number == 0 { "power.csv".to_owned() } else { format!("power{number}.csv") };
            save(&folder.join(name), series.csv().as_bytes());
        }
    }
    if !settings.quiet {
        let mut out = anstream::stderr().lock();
        // A closed standard error leaves no place for the report.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// Ends the process when the user asks for it; lets the device run if a function of the program waits to be called
/// and the program does not call the driver, which may be because it waits for that function.
fn watch() {
    let mut seen = 0;
    loop {
        std::thread::sleep(LOOK_EVERY);
        if FINISHED.load(Ordering::Relaxed) {
            return;
        }
        if process::asked_to_stop() {
            // A simulation that runs ends soon, and its thread the process.
            kit::stop::request();
        }
        leave_if_asked();
        let calls = CALLS.load(Ordering::Relaxed);
        if calls != seen {
            seen = calls;
            continue;
        }
        let waiting = try_lock().and_then(|driver| driver.as_ref()?.device_with_calls());
        if let Some(device) = waiting {
            let _ = proceed(Wait::Device(device));
            seen = CALLS.load(Ordering::Relaxed);
        }
    }
}
