//! Waiting for the device. Functions of the program are called meanwhile, without the lock.

use crate::global::{calls, try_lock, with};
use crate::{exit, process};
use driver::{Result, Step, Wait};
use std::time::Duration;

/// Time between two looks at what another thread has to do first.
const LOOK_EVERY: Duration = Duration::from_micros(50);

/// Waits; functions of the program are called without the lock.
pub fn finish(wait: Wait) -> Result<()> {
    if wait == Wait::Nothing {
        return Ok(());
    }
    while !proceed(wait)? {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Waits as long as this thread can do something about it. Returns whether the wait is over.
pub fn proceed(wait: Wait) -> Result<bool> {
    loop {
        let waited = with(|driver| driver.wait(wait));
        if waited.is_err() {
            exit::leave_if_asked();
        }
        let (device, op, call) = match waited? {
            Step::Done => return Ok(true),
            Step::Elsewhere => return Ok(false),
            Step::Call(device, op, call) => (device, op, call),
        };
        match call.stream {
            Some(stream) => process::call_callback(call.function, stream, call.argument),
            None => process::call_function(call.function, call.argument),
        }
        with(|driver| {
            driver.called(device, op);
            Ok(())
        })?;
    }
}

/// Time between two looks of the watching thread.
const WATCH_EVERY: Duration = Duration::from_millis(20);

/// Starts the thread that watches the program. Without it, Ctrl-C and functions of the program that nobody waits for do
/// nothing.
pub fn watch() {
    let _ = std::thread::Builder::new().name("warpwright".into()).spawn(watch_program);
}

/// Ends the process when the user asks for it; simulates if a function of the program waits to be called
/// and the program does not call the driver, which may be because it waits for that function.
fn watch_program() {
    let mut seen = 0;
    loop {
        std::thread::sleep(WATCH_EVERY);
        if exit::is_finished() {
            return;
        }
        if process::asked_to_stop() {
            // A simulation that runs ends soon, and its thread the process.
            kit::stop::request();
        }
        exit::leave_if_asked();
        let made = calls();
        if made != seen {
            seen = made;
            continue;
        }
        let waiting = try_lock().and_then(|driver| driver.as_ref()?.device_with_calls());
        if let Some(device) = waiting {
            let _ = proceed(Wait::Device(device));
            seen = calls();
        }
    }
}
