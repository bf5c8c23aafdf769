//! The native part of the Python package: [`lab`] as Python sees it.
//!
//! Only what needs Rust is here; `python/warpwright` has the interface for users, with its documentation. Results go
//! over as JSON of the same schema as the command's.

mod device;
mod failure;
mod job;
mod lists;
mod monitor;
mod outcome;
mod sweep;

use pyo3::prelude::*;

/// Marks the file of a library that is compiled for instruction sets of newer processors. `_processor.py` looks for it
/// in the file, because no code of the library may run on an older processor.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[used]
static MARK: [u8; 43] = *b"warpwright is compiled to AVX2, FMA and BMI";

#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::device::Device;
    #[pymodule_export]
    use crate::failure::{Error, InputError};
    #[pymodule_export]
    use crate::job::{run, unexpected};
    #[pymodule_export]
    use crate::lists::{cores, gpus, schedulers, statistics, workloads};
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::sweep::{Comparison, Sweep};
    #[allow(non_upper_case_globals)]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
