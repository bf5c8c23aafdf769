//! The runtime over a small driver in this process, called as a C program calls it.
//!
//! Tests share the driver and the runtime's tables, so those of one process run one after the
//! other (`serial`).
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "C functions are called, and a driver is one")]
#![allow(non_snake_case, reason = "functions have the names of their C declarations")]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of C's")]
#![allow(missing_docs, reason = "a test program")]

mod calls;
mod devices;
mod driver;
mod graphs;
mod launches;
mod memory;
mod robust;
mod symbols;
mod textures;

/// The functions of version 12, apart from the names of the tests.
mod version {
    cudart::runtime!(12);
}

/// Starts the driver, gives the thread a context, and keeps the tests of a process apart.
fn serial() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    calls::start();
    assert_eq!(calls::cudaFree(0), 0, "the thread has a context");
    guard
}
