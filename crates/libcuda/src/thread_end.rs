//! Destructors of thread-local values, without the loader's lock.
//!
//! The C library's `__cxa_thread_atexit_impl` takes the lock that `dlopen` holds while a library's constructors run. A
//! constructor that waits for a kernel would wait for threads of this library, which would wait for the lock. Since this
//! library stays loaded (`build.rs`), it needs nothing that the lock protects. A hidden symbol serves the references
//! within this library only.

#![allow(unsafe_code, reason = "the boundary to the C library")]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl __cxa_thread_atexit_impl",
    ".hidden __cxa_thread_atexit_impl",
    ".type __cxa_thread_atexit_impl, @function",
    "__cxa_thread_atexit_impl: jmp {register}",
    register = sym register
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl __cxa_thread_atexit_impl",
    ".hidden __cxa_thread_atexit_impl",
    ".type __cxa_thread_atexit_impl, %function",
    "__cxa_thread_atexit_impl: b {register}",
    register = sym register
);

type Destroy = unsafe extern "C" fn(*mut c_void);

/// Objects that a thread destroys at its end, the last first.
type List = Vec<(Destroy, *mut c_void)>;

/// Registers a value that the calling thread destroys at its end.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
extern "C" fn register(destroy: Destroy, value: *mut c_void, _library: *mut c_void) -> c_int {
    let Some(key) = key() else { return -1 };
    // SAFETY: the key exists; its value in each thread is null or a list of `Box::into_raw`, which only this thread uses.
    unsafe {
        let mut list = libc::pthread_getspecific(key).cast::<List>();
        if list.is_null() {
            list = Box::into_raw(Box::default());
            libc::pthread_setspecific(key, list.cast());
        }
        (*list).push((destroy, value));
    }
    0
}

/// The key of each thread's list.
fn key() -> Option<libc::pthread_key_t> {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: there is a place for the key.
        let code = unsafe { libc::pthread_key_create(&raw mut key, Some(destroy_all)) };
        (code == 0).then_some(key)
    })
}

/// Called at the end of a thread, and again for what destructors have registered.
unsafe extern "C" fn destroy_all(list: *mut c_void) {
    // SAFETY: the list is one of `register`, whose place is empty now.
    let mut list = unsafe { Box::from_raw(list.cast::<List>()) };
    while let Some((destroy, value)) = list.pop() {
        // SAFETY: both were registered together, and the thread still has the value.
        unsafe { destroy(value) };
    }
}
