//! `libcuda.so.1`: the C boundary of CUDA's driver API. All meaning is in [`cuda`]; here addresses become values.
//!
//! `unsafe` is in `process` (memory of the process, its standard output, signals), `processor`, `python` (the
//! interpreter's C functions) and `thread_end` only: functions take addresses as numbers and read and write what is
//! there through [`cuda::Host`], which finds out wrong ones.
//!
//! | module | content |
//! | --- | --- |
//! | `process`, `processor` | the process around the driver; the check of the processor at load |
//! | `thread_end` | destructors of thread-local values |
//! | `global` | the driver and its lock |
//! | `exit`, `text` | the report at the end, at Ctrl-C |
//! | `asked`, `nvtx`, `python`, `origin` | what kernels are grouped by; ranges of the program, lines of Python |
//! | `wait` | waiting, and calls of functions of the program |
//! | `call` | what every function does |
//! | `values` | values in the program's memory |
//! | `api` | the functions, by family |
#![allow(non_snake_case, reason = "the names are from CUDA's API")]
#![allow(clippy::missing_safety_doc, reason = "the functions are from CUDA's API")]
#![allow(clippy::too_many_arguments, reason = "the functions are from CUDA's API")]
#![allow(missing_docs, reason = "CUDA's API reference describes the functions")]

pub mod api;
mod asked;
mod call;
mod exit;
mod global;
mod nvtx;
mod origin;
mod process;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../../cabi/processor.rs"]
mod processor;
mod python;
mod text;
mod thread_end;
mod values;
mod wait;
