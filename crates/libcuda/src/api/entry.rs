//! Functions by name and version.

use crate::api;
use crate::call::enter;
use crate::process::{Process, caller, message, own_function};
use crate::unlocked;
use crate::values::{get_text, put, put_if};
use cuda::stream::default_stream;
use cuda::{Driver, Error, Result};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The public functions: symbol, name, first version, headers.
const SYMBOLS: &str = include_str!("../../symbols/driver.txt");

/// `CU_GET_PROC_ADDRESS_LEGACY_STREAM` and `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const LEGACY_STREAM: u64 = 1;
const PER_THREAD_STREAM: u64 = 2;

/// `CUdriverProcAddressQueryResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The symbol.
    Symbol(&'static str),
    Nothing,
    /// Only in a later version.
    Later,
}

/// Meaning of `name` in a version of the API: the latest function that is no later, with the default stream of the
/// thread if there is one and it is asked for. A symbol means itself.
fn find(name: &str, version: i32, per_thread: bool) -> Found {
    let rows = SYMBOLS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?, words.next()?.parse::<i32>().ok()?))
    });
    let mut best: Option<(bool, i32, &str)> = None;
    let mut known = false;
    for (symbol, of, since) in rows {
        let variant = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
        if (of != name && symbol != name) || (variant && !per_thread && symbol != name) {
            continue;
        }
        known = true;
        if since <= version && best.is_none_or(|best| (variant, since) > (best.0, best.1)) {
            best = Some((variant, since, symbol));
        }
    }
    match best {
        Some((_, _, symbol)) => Found::Symbol(symbol),
        None if known => Found::Later,
        None => Found::Nothing,
    }
}

fn look_up(name: u64, to: u64, version: i32, flags: u64, status: u64) -> Result<()> {
    enter()?;
    let name = get_text(&Process, name)?;
    if to == 0 || flags > PER_THREAD_STREAM {
        return Err(Error::INVALID_VALUE);
    }
    let per_thread = flags == PER_THREAD_STREAM || (flags != LEGACY_STREAM && default_stream::is_of_thread());
    let found = find(&name, version, per_thread);
    let (address, code) = match found {
        Found::Symbol(symbol) => match own_function(symbol) {
            0 => (0, 1),
            address => (address, 0_u32),
        },
        Found::Nothing => (0, 1),
        Found::Later => (0, 2),
    };
    put(&Process, to, address)?;
    put_if(&Process, status, code)?;
    if address == 0 { Err(Error::NOT_FOUND) } else { Ok(()) }
}

/// Names once each library that asks for functions that only NVIDIA's driver has: NVIDIA's runtime does, which is linked
/// into it, and nothing that the library does on the GPU works. NVRTC and nvJitLink do without them.
fn name_foreign_runtime(driver: &mut Driver) {
    static NAMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let Some(file) = caller() else { return };
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    if ["libnvrtc", "libnvJitLink"].iter().any(|works| name.starts_with(works)) {
        return;
    }
    *driver.platform.notes.unsupported.entry("cuGetExportTable").or_insert(0) += 1;
    if NAMED.lock().unwrap_or_else(PoisonError::into_inner).insert(file) {
        let hint = if name.starts_with("libcudnn") {
            "in PyTorch `torch.backends.cudnn.enabled = False` takes its own kernels instead"
        } else if name.contains(".so") {
            "a library of your own works with its symbol table (not stripped), or linked with `nvcc -cudart shared`; NVIDIA's do not"
        } else {
            "link it with `nvcc -cudart shared`; `warpwright exec -- PROGRAM` shows other ways"
        };
        message(&format!(
            "`{name}` has NVIDIA's CUDA runtime in it, which runs on NVIDIA's driver only: what it does on the GPU fails\n  hint: {hint}"
        ));
    }
}

unlocked! {
    fn cuGetProcAddress(name: u64, to: u64, version: i32, flags: u64) per_thread {
        look_up(name, to, version, flags, 0)
    }

    fn cuGetProcAddress_v2(name: u64, to: u64, version: i32, flags: u64, status: u64) per_thread {
        look_up(name, to, version, flags, status)
    }
}

api! {
    // Tables of functions that are not part of the public API.
    fn cuGetExportTable(table: u64, _id: u64) |driver| {
        put_if(driver, table, 0_u64)?;
        name_foreign_runtime(driver);
        Err::<(), _>(Error::NOT_SUPPORTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_the_latest_function_that_the_version_has() {
        let legacy = |name, version| find(name, version, false);
        assert_eq!(legacy("cuMemAlloc", 11080), Found::Symbol("cuMemAlloc_v2"));
        assert_eq!(legacy("cuMemAlloc", 2000), Found::Symbol("cuMemAlloc"));
        assert_eq!(legacy("cuCtxCreate", 3020), Found::Symbol("cuCtxCreate_v2"));
        assert_eq!(legacy("cuCtxCreate", 12050), Found::Symbol("cuCtxCreate_v4"));
        assert_eq!(legacy("cuCtxCreate", 1000), Found::Later);
        assert_eq!(legacy("cuGraphInstantiate", 12000), Found::Symbol("cuGraphInstantiateWithFlags"));
        assert_eq!(legacy("cuNothing", 12000), Found::Nothing);
        assert_eq!(legacy("cuMemcpyHtoD_v2", 12000), Found::Symbol("cuMemcpyHtoD_v2"));
    }

    #[test]
    fn the_default_stream_of_the_thread_has_functions_of_its_own() {
        let per_thread = |name, version| find(name, version, true);
        assert_eq!(per_thread("cuMemcpyHtoD", 12000), Found::Symbol("cuMemcpyHtoD_v2_ptds"));
        assert_eq!(per_thread("cuMemcpyHtoD", 4000), Found::Symbol("cuMemcpyHtoD_v2"));
        assert_eq!(per_thread("cuLaunchKernel", 12000), Found::Symbol("cuLaunchKernel_ptsz"));
        assert_eq!(per_thread("cuInit", 12000), Found::Symbol("cuInit"));
    }
}
