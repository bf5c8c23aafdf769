//! Which default stream a call means by 0: the legacy one, or the thread's (`_ptsz` and `_ptds` functions).

use crate::stream::PER_THREAD;
use std::cell::Cell;

thread_local! {
    static OF_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Puts the former choice back, also when a panic passes.
struct Former(bool);

impl Drop for Former {
    fn drop(&mut self) {
        OF_THREAD.set(self.0);
    }
}

/// Makes a call whose default stream is the thread's.
pub fn of_thread<T>(call: impl FnOnce() -> T) -> T {
    let _former = Former(OF_THREAD.replace(true));
    call()
}

/// Makes a call whose default stream is the legacy one: functions of the program that a call waits for.
pub fn legacy<T>(call: impl FnOnce() -> T) -> T {
    let _former = Former(OF_THREAD.replace(false));
    call()
}

/// Whether the present call's default stream is the thread's.
pub fn is_of_thread() -> bool {
    OF_THREAD.get()
}

/// The stream that a call means by `stream`.
pub fn meant(stream: u64) -> u64 {
    if stream == 0 && is_of_thread() { PER_THREAD } else { stream }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_means_the_threads_stream_within_a_call_only() {
        assert_eq!((meant(0), of_thread(|| [meant(0), meant(1), meant(7)]), meant(0)), (0, [PER_THREAD, 1, 7], 0));
        assert_eq!(of_thread(|| legacy(|| meant(0))), 0);
        assert!(std::panic::catch_unwind(|| of_thread(|| panic!("the call fails"))).is_err());
        assert_eq!(meant(0), 0);
    }
}
