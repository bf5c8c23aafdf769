//! Bad pointers, errors that stay, callbacks, forks.

use std::ffi::{CStr, c_int, c_void};

use crate::calls::*;
use crate::{driver, serial};

/// Addresses that are null, low, in a hole, or beyond the end.
const WILD: [usize; 5] = [0, 1, 0x1234, 0x6666_0000_0000, usize::MAX - 3];

#[test]
fn wild_pointers_are_invalid_values() {
    let _serial = serial();
    for wild in WILD {
        assert_eq!(cudaMalloc(wild, 16), 1, "{wild:#x}");
        assert_eq!(cudaGetDevice(wild), 1, "{wild:#x}");
        assert_eq!(cudaGetDeviceCount(wild), 1, "{wild:#x}");
        assert_eq!(cudaGetDeviceProperties(wild, 0), 1, "{wild:#x}");
        assert_eq!(cudaMemcpy3D(wild), 1, "{wild:#x}");
        assert_eq!(cudaMallocArray(at(&mut 0_usize), wild, 4, 4, 0), 1, "{wild:#x}");
        assert_eq!(cudaMemcpy(wild, at(&mut 0_u64), 8, 0), 1, "{wild:#x}");
        assert_eq!(cudaMemcpy(at(&mut 0_u64), wild, 8, 0), 1, "{wild:#x}");
        assert_eq!(cudaPointerGetAttributes(wild, 4096), 1, "{wild:#x}");
    }
    // A place that may only be read.
    let constant = c"constant".as_ptr().expose_provenance();
    assert_eq!(cudaGetDevice(constant), 1);
    assert_eq!(cudaGetLastError(), 1);
}

#[test]
fn the_last_error_is_the_threads_own() {
    let _serial = serial();
    assert_eq!(cudaGetLastError(), 0);
    assert_eq!(cudaSetDevice(9), 101);
    assert_eq!(cudaFree(0), 0, "a success keeps the error");
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(cudaPeekAtLastError(), 0));
    });
    assert_eq!(cudaPeekAtLastError(), 101);
    assert_eq!(cudaGetLastError(), 101);
    assert_eq!(cudaGetLastError(), 0);
}

#[test]
fn a_fault_stays_until_the_driver_forgets_it() {
    let _serial = serial();
    driver::state().broken = 700;
    assert_eq!(cudaDeviceSynchronize(), 700);
    assert_eq!(cudaGetLastError(), 700);
    assert_eq!(cudaDeviceSynchronize(), 700);
    driver::state().broken = 0;
    assert_eq!(cudaDeviceSynchronize(), 0);
    assert_eq!(cudaGetLastError(), 700);
    // SAFETY: texts of errors are never freed.
    let text = unsafe { CStr::from_ptr(cudaGetErrorString(700)) };
    assert_eq!(text, c"an illegal memory access was encountered");
}

#[test]
fn what_is_not_ready_is_no_last_error() {
    let _serial = serial();
    assert_eq!(cudaEventQuery(5), 600);
    assert_eq!(cudaPeekAtLastError(), 0);
    assert_eq!(cudaStreamDestroy(0), 400);
    assert_eq!(cudaEventQuery(5), 600);
    assert_eq!(cudaGetLastError(), 400);
}

#[test]
fn what_the_driver_lacks_is_not_supported() {
    let _serial = serial();
    assert_eq!(cudaEventRecord(5, 0), 801);
    assert_eq!(cudaGetLastError(), 801);
}

#[test]
fn a_callback_gets_its_stream_status_and_data() {
    extern "C" fn seen(stream: usize, status: c_int, data: *mut c_void) {
        // SAFETY: the test passes a place of its own.
        unsafe { *data.cast::<(usize, c_int)>() = (stream, status) };
    }
    let _serial = serial();
    let mut place = (0_usize, -1);
    let data = (&raw mut place).cast::<c_void>();
    assert_eq!(cudaStreamAddCallback(7, Some(seen), data, 0), 0);
    assert_eq!(place, (7, 0));
    assert_eq!(cudaStreamAddCallback(7, None, data, 0), 1);
    assert_eq!(cudaStreamAddCallback(7, Some(seen), data, 1), 1);
    cudaGetLastError();
}

/// The result of a call in a child of this process, which ends after 10 seconds.
fn in_child(call: fn() -> c_int) -> c_int {
    // SAFETY: the child calls the runtime, which takes no lock there, and ends at once.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(10);
                libc::_exit(call())
            }
            child => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                assert!(libc::WIFEXITED(status), "the child waits for a lock");
                libc::WEXITSTATUS(status)
            }
        }
    }
}

#[test]
fn the_child_of_a_fork_has_no_driver() {
    let _serial = serial();
    assert_eq!(in_child(|| cudaMalloc(at(&mut 0_usize), 4)), 3, "cudaErrorInitializationError");
    assert_eq!(cudaFree(0), 0, "the parent continues");
}

#[test]
fn the_child_of_a_fork_waits_for_no_lock_of_its_parent() {
    let _serial = serial();
    let symbol = Binary::register().variable("while_forking", 4);
    // The registry is locked while a module is loaded.
    driver::state().meanwhile = Some(|| {
        assert_eq!(in_child(|| cudaGetTextureReference(at(&mut 0_usize), 8)), 3);
        assert_eq!(in_child(|| cudaGetSymbolAddress(at(&mut 0_usize), 8)), 3);
    });
    assert_eq!(cudaGetSymbolAddress(at(&mut 0_usize), symbol), 0);
    assert!(driver::state().meanwhile.is_none(), "a module was loaded");
}

#[test]
fn threads_share_modules_and_have_contexts_of_their_own() {
    let _serial = serial();
    let binary = Binary::register();
    let kernels: Vec<_> = (0..8).map(|index| binary.kernel(&format!("thread_{index}"))).collect();
    let one = Dim3(1, 1, 1);
    let log = logged(|| {
        std::thread::scope(|scope| {
            for kernel in &kernels {
                scope.spawn(|| {
                    for _ in 0..50 {
                        assert_eq!(cudaLaunchKernel(*kernel, one, one, 0, 0, 0), 0);
                    }
                });
            }
        });
    });
    let count = |start: &str| log.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!([count("load"), count("function"), count("launch")], [1, 8, 400]);
}

/// Set in the process whose end the next test looks at.
const AT_EXIT: &str = "CUDART_TEST_AT_EXIT";

#[test]
fn calls_at_the_end_of_the_process_work() {
    /// Ends the process with what calls return after `main`, the destructors of threads included.
    extern "C" fn at_the_end() {
        let mut place = 0_usize;
        let codes = [
            cudaMalloc(at(&mut place), 4),
            cudaFree(place),
            __cudaPopCallConfiguration(8, 8, 8, 8) - 52,
            cudaGetLastError() - 52,
        ];
        let wrong = codes.iter().filter(|code| **code != 0).count();
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(40 + wrong as c_int) }
    }
    if std::env::var_os(AT_EXIT).is_some() {
        let _serial = serial();
        // SAFETY: the handler is a function of this program.
        assert_eq!(unsafe { libc::atexit(at_the_end) }, 0);
        return;
    }
    let own = std::env::current_exe().expect("the test has a path");
    let name = "robust::calls_at_the_end_of_the_process_work";
    let output = std::process::Command::new(own)
        .args(["--exact", name])
        .env(AT_EXIT, "1")
        .output()
        .expect("the test runs again");
    assert_eq!(output.status.code(), Some(40), "{output:?}");
}
