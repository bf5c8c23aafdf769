//! Libraries: modules that a program loads by itself, for all contexts, and their kernels.

use std::collections::BTreeSet;
use std::ffi::c_uint;
use std::sync::{Mutex, MutexGuard};

use crate::api::api;
use crate::argument::{In, Out};
use crate::context::current;
use crate::driver::{at, into, out};
use crate::error::{Error, Result};
use crate::registry::LONGEST_NAME;
use cabi::address::{Address, Handle, read, read_text};

/// Kernels that programs got of libraries: launches accept them in place of host functions.
static KERNELS: Mutex<BTreeSet<Handle>> = Mutex::new(BTreeSet::new());

fn kernels() -> MutexGuard<'static, BTreeSet<Handle>> {
    KERNELS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Whether a handle is a kernel of a library.
pub fn has_kernel(handle: Handle) -> bool {
    kernels().contains(&handle)
}

api! {
    fn cudaLibraryLoadData(
        library: Out<Handle>, code: In<u8>, jit_options: Address, jit_values: Address, jit_count: c_uint,
        options: Address, values: Address, count: c_uint,
    ) = cuLibraryLoadData;

    fn cudaLibraryLoadFromFile(
        library: Out<Handle>, path: In<u8>, jit_options: Address, jit_values: Address, jit_count: c_uint,
        options: Address, values: Address, count: c_uint,
    ) = cuLibraryLoadFromFile;

    fn cudaLibraryUnload(library: Handle) = cuLibraryUnload;
    fn cudaLibraryGetKernelCount(count: Out<c_uint>, library: Handle) = cuLibraryGetKernelCount;

    fn cudaLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: In<u8>) {
        let driver = current()?;
        let name = read_text(name.0, LONGEST_NAME)?;
        let found = out(|place| driver.cuLibraryGetKernel(place, library, at(name.as_bytes_with_nul())))?;
        kernel.set(found)?;
        kernels().insert(found);
        Ok(())
    }

    fn cudaLibraryEnumerateKernels(list: Out<Handle>, room: c_uint, library: Handle) {
        let driver = current()?;
        let total: c_uint = out(|place| driver.cuLibraryGetKernelCount(place, library))?;
        list.receive(|list| driver.cuLibraryEnumerateKernels(list, room, library))?;
        for index in 0..total.min(room) as usize {
            let kernel = read(list.0.wrapping_add(index * size_of::<Handle>()))?;
            kernels().insert(kernel);
        }
        Ok(())
    }

    fn cudaLibraryGetGlobal(address: Out<Address>, bytes: Out<usize>, library: Handle, name: In<u8>) {
        let driver = current()?;
        variable(address, bytes, name, |place, size, name| driver.cuLibraryGetGlobal(place, size, library, name))
    }

    fn cudaLibraryGetManaged(address: Out<Address>, bytes: Out<usize>, library: Handle, name: In<u8>) {
        let driver = current()?;
        variable(address, bytes, name, |place, size, name| driver.cuLibraryGetManaged(place, size, library, name))
    }

    fn cudaLibraryGetUnifiedFunction(function: Out<Address>, library: Handle, name: In<u8>)
        = cuLibraryGetUnifiedFunction;
}

/// Reports the address and the bytes of a library's variable. Both places may be null.
fn variable(
    address: Out<Address>,
    bytes: Out<usize>,
    name: In<u8>,
    find: impl FnOnce(Address, Address, Address) -> Result<()>,
) -> Result<()> {
    let name = read_text(name.0, LONGEST_NAME)?;
    let mut size: usize = 0;
    let place_of_size = into(&mut size);
    let found = out(|place| find(place, place_of_size, at(name.as_bytes_with_nul())));
    address.set_unless_null(match found {
        Err(Error::NOT_FOUND) => return Err(Error::INVALID_SYMBOL),
        found => found?,
    })?;
    bytes.set_unless_null(size)
}
