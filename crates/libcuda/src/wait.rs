//! Waiting for the device. Functions of the program are called meanwhile, without the lock.

use crate::global::{calls, has_ended, lock_within, with};
use crate::{exit, process};
use cuda::{Result, Step, Wait};
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
        let waited = with(|driver| driver.platform.wait(wait));
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
            driver.platform.called(device, op);
            Ok(())
        })?;
    }
}

/// Time between two looks of a watching thread.
const WATCH_EVERY: Duration = Duration::from_millis(20);

/// Looks for requests to end between two looks for the program's threads.
const LOOKS: u32 = 10;

/// Threads that watch the program.
const WATCHERS: [fn(); 2] = [watch_requests, watch_functions];

/// Starts the threads that watch the program. Without them Ctrl-C, and functions of the program that nobody waits for, do
/// nothing. Returns whether they run.
pub fn watch() -> bool {
    let start = |watcher| std::thread::Builder::new().name(process::THREAD_NAME.into()).spawn(watcher).is_ok();
    WATCHERS.into_iter().all(start)
}

/// Ends the process when the user asks for it, or when all of the program's threads have ended.
fn watch_requests() {
    for look in 1_u32.. {
        std::thread::sleep(WATCH_EVERY);
        exit::leave_soon_if_asked();
        if look.is_multiple_of(LOOKS) && process::is_left_to(WATCHERS.len()) {
            process::exit();
        }
    }
}

/// Simulates if a function of the program waits to be called and the program does not call the driver, which may be
/// because it waits for that function.
fn watch_functions() {
    let mut seen = 0;
    while !has_ended() {
        std::thread::sleep(WATCH_EVERY);
        let made = calls();
        if made != seen {
            seen = made;
            continue;
        }
        let waiting = lock_within(Duration::ZERO).and_then(|driver| driver.as_ref()?.platform.device_with_calls());
        if let Some(device) = waiting {
            let _ = proceed(Wait::Device(device));
            seen = calls();
        }
    }
}
