//! Libraries: modules that a program loads by itself, for all contexts, and their kernels.

use std::collections::BTreeSet;
use std::ffi::c_uint;
use std::sync::Mutex;

use crate::address::{Address, Handle, In, Out, read, read_text};
use crate::api::api;
use crate::context::current;
use crate::driver::{at, into, out};
use crate::error::{Error, Result};

/// Kernels that programs got of libraries: launches accept them in place of host functions.
static KERNELS: Mutex<BTreeSet<Handle>> = Mutex::new(BTreeSet::new());

/// Whether a handle is a kernel of a library.
pub fn has_kernel(handle: Handle) -> bool {
    KERNELS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).contains(&handle)
}

fn keep(kernel: Handle) {
    KERNELS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(kernel);
}

api! {
    fn cudaLibraryLoadData(
        library: Out<Handle>,
        code: In<u8>,
        jit_options: Address,
        jit_values: Address,
        jit_count: c_uint,
        options: Address,
        values: Address,
        count: c_uint,
    ) = cuLibraryLoadData;

    fn cudaLibraryLoadFromFile(
        library: Out<Handle>,
        path: In<u8>,
        jit_options: Address,
        jit_values: Address,
        jit_count: c_uint,
        options: Address,
        values: Address,
        count: c_uint,
    ) = cuLibraryLoadFromFile;

    fn cudaLibraryUnload(library: Handle) = cuLibraryUnload;
    fn cudaLibraryGetKernelCount(count: Out<c_uint>, library: Handle) = cuLibraryGetKernelCount;

    fn cudaLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: In<u8>) {
        let driver = current()?;
        kernel.ready()?;
        let name = read_text(name.0, 1 << 20)?;
        let found = out(|place| {
            driver.cuLibraryGetKernel(place, library, at(name.as_bytes_with_nul()))
        })?;
        keep(found);
        kernel.set(found)
    }

    fn cudaLibraryEnumerateKernels(kernels: Out<Handle>, count: c_uint, library: Handle) {
        let driver = current()?;
        kernels.ready()?;
        let mut total: c_uint = out(|place| driver.cuLibraryGetKernelCount(place, library))?;
        driver.cuLibraryEnumerateKernels(kernels.0, count, library)?;
        total = total.min(count);
        for index in 0..total as usize {
            keep(read(kernels.0.wrapping_add(index * size_of::<Handle>()))?);
        }
        Ok(())
    }

    fn cudaLibraryGetGlobal(
        address: Address,
        bytes: Address,
        library: Handle,
        name: In<u8>,
    ) {
        let (found, size) = variable(|place, size, name| {
            current()?.cuLibraryGetGlobal(place, size, library, name)
        }, name)?;
        Out::<Address>::at(address).set_unless_null(found)?;
        Out::<usize>::at(bytes).set_unless_null(size)
    }

    fn cudaLibraryGetManaged(
        address: Address,
        bytes: Address,
        library: Handle,
        name: In<u8>,
    ) {
        let (found, size) = variable(|place, size, name| {
            current()?.cuLibraryGetManaged(place, size, library, name)
        }, name)?;
        Out::<Address>::at(address).set_unless_null(found)?;
        Out::<usize>::at(bytes).set_unless_null(size)
    }

    fn cudaLibraryGetUnifiedFunction(function: Out<Address>, library: Handle, name: In<u8>)
        = cuLibraryGetUnifiedFunction;
}

/// Address and size of a library's variable.
fn variable(find: impl FnOnce(Address, Address, Address) -> Result<()>, name: In<u8>) -> Result<(Address, usize)> {
    let name = read_text(name.0, 1 << 20)?;
    let mut bytes: usize = 0;
    let size = into(&mut bytes);
    let address = out(|place| find(place, size, at(name.as_bytes_with_nul())))
        .map_err(|error| error.as_runtime(Error::NOT_FOUND, Error::INVALID_SYMBOL))?;
    Ok((address, bytes))
}
