//! A bound on the time until the first cycle is simulated: reading, parsing, register allocation and
//! translation. Nothing has been computed yet that could be lost.

use crate::failure::{Exit, Failure};
use crate::output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Environment variable that changes the bound.
const VARIABLE: &str = "WARPWRIGHT_PREPARATION_SECONDS";
const DEFAULT_SECONDS: u64 = 600;

static OVER: AtomicBool = AtomicBool::new(false);

/// Ends the process as one with bad input unless [`end`] is called in time.
pub fn begin() -> Result<(), Failure> {
    let seconds = match std::env::var(VARIABLE) {
        Ok(text) => text.parse().ok().filter(|&seconds| seconds > 0).ok_or_else(|| {
            let text = kit::text::excerpt(&text);
            Failure::bad_input(format!("{VARIABLE} is `{text}`; it must be a number of seconds, at least 1"))
        })?,
        Err(_) => DEFAULT_SECONDS,
    };
    let deadline = Instant::now() + Duration::from_secs(seconds);
    std::thread::spawn(move || {
        while !is_over() {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { give_up(seconds) };
            std::thread::sleep(left.min(Duration::from_millis(200)));
        }
    });
    Ok(())
}

/// The first cycle has been simulated, or nothing is left to prepare.
pub fn end() {
    OVER.store(true, Ordering::Relaxed);
}

/// Whether something is or was simulated.
pub fn is_over() -> bool {
    OVER.load(Ordering::Relaxed)
}

fn give_up(seconds: u64) -> ! {
    let (unit, variable) = (kit::text::counted(seconds, "second"), VARIABLE);
    output::error(&format!(
        "nothing was simulated after {unit} of reading and translating the input: use a smaller one, or allow more time with {variable}=SECONDS"
    ));
    kit::output::discard_unfinished();
    std::process::exit(Exit::BadInput.status().into());
}
