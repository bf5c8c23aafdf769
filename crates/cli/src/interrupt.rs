//! Ctrl-C: once to stop and see what is known so far, twice to leave at once.

use crate::failure::{Exit, Failure};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C (and a request to terminate) sets [`requested`]; the second one ends the
/// process.
pub fn install() -> Result<(), Failure> {
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted.status().into());
        }
        let _ = writeln!(
            std::io::stderr(),
            "\nStopping; the report of what is known follows. Ctrl-C again leaves at once."
        );
    })
    .map_err(|e| Failure::failed(format!("cannot catch Ctrl-C: {e}")))
}

/// Whether the user wants to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
