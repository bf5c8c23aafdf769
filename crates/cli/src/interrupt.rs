//! Ctrl-C: once to stop and see what is known so far, twice to leave at once.

use crate::failure::{Exit, Failure};
use crate::preparation;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C (and a request to terminate) sets [`requested`]; the second one ends the
/// process. The time until the first simulated cycle is bounded ([`preparation`]).
pub fn install() -> Result<(), Failure> {
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        if kit::stop::request() {
            kit::output::discard_unfinished();
            std::process::exit(Exit::Interrupted.status().into());
        }
        // In threads of their own, so that the next Ctrl-C is heard at once, even if standard error takes no text.
        std::thread::spawn(|| {
            let report = if preparation::is_over() { "; the report of what is known follows" } else { "" };
            let _ = writeln!(std::io::stderr(), "\nStopping{report}. Ctrl-C again leaves at once.");
        });
        std::thread::spawn(|| {
            leave_unless_noticed();
            name_what_is_written();
        });
    })
    .map_err(|e| Failure::failed(format!("cannot catch Ctrl-C: {e}")))?;
    preparation::begin()
}

/// Ends the process if nothing notices soon that it is to stop: what waits for a pipe, or takes long
/// without looking, has nothing to report. Before the first simulated cycle there is no report at all.
fn leave_unless_noticed() {
    const LOOKS: [u32; 2] = [2, 14];
    for _ in 0..LOOKS[usize::from(preparation::is_over())] {
        std::thread::sleep(Duration::from_millis(50));
        if kit::stop::noticed() {
            return;
        }
    }
    kit::output::discard_unfinished();
    std::process::exit(Exit::Interrupted.status().into());
}

/// Names the file whose writing takes long: what is known is written to its end.
fn name_what_is_written() {
    std::thread::sleep(Duration::from_millis(600));
    let file = loop {
        match kit::output::being_written() {
            Some(file) => break file,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let file = file.display().to_string();
    let file = kit::text::visible(&file);
    let _ = writeln!(std::io::stderr(), "Writing `{file}` to its end. Ctrl-C again leaves without it.");
}

/// Whether the user has interrupted the command.
pub fn requested() -> bool {
    kit::stop::requested()
}
