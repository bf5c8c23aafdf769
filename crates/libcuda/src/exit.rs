//! The end of a program: the report, Ctrl-C.

use crate::global::{is_own_process, lock};
use crate::process::{self, message};
use crate::text;
use driver::Settings;
use driver::report::ProgramReport;
use std::io::Write as _;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit status of a program that the user has interrupted.
const INTERRUPTED: i32 = 130;

static FINISHED: AtomicBool = AtomicBool::new(false);

/// Prepares for the end of the program.
pub fn begin() {
    process::at_exit(at_exit);
    process::listen();
}

extern "C" fn at_exit() {
    if is_own_process() {
        let _ = std::panic::catch_unwind(conclude);
    }
}

/// Whether the program has ended for the driver: nothing is simulated any more.
pub fn is_finished() -> bool {
    FINISHED.load(Ordering::Relaxed)
}

/// Writes the report, once. Returns when it is written.
fn conclude() {
    static ONCE: Once = Once::new();
    ONCE.call_once(write_report);
}

fn write_report() {
    FINISHED.store(true, Ordering::Relaxed);
    let Some(mut driver) = lock().and_then(|mut driver| driver.take()) else { return };
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
    let json = serde_json::to_vec_pretty(&report.document(text::COMMIT)).unwrap_or_default();
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
