//! The driver's functions that this library calls.

use std::ffi::{c_int, c_uint};

use cabi::address::{Address, Handle, Plain};
use cabi::driver::Once;
use cabi::stand_in::Fault;

use crate::status::{Result, Status};

static DRIVER: Once<Driver, Status> = Once::new();

/// The driver, loaded and initialised by the first call.
pub fn driver() -> Result<&'static Driver> {
    DRIVER.get("warpwright cuBLAS", Status::NOT_INITIALIZED, |find| {
        let driver = Driver::bind(find);
        driver.cuInit(0)?;
        Ok(driver)
    })
}

fn missing(name: &str) -> Status {
    cabi::driver::name_once(format!("{name} is not supported by the driver"));
    Status::NOT_SUPPORTED
}

/// A code of `CUresult` as a status.
fn check(code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        1 => Err(Status::INVALID_VALUE),
        801 => Err(Status::NOT_SUPPORTED),
        code => Err(Fault(code).into()),
    }
}

/// Calls a function of the driver that leaves its result at an address.
pub fn out<T: Plain + Default>(call: impl FnOnce(Address) -> Result<()>) -> Result<T> {
    cabi::driver::out(call)
}

cabi::driver! {
    missing, check, Result<()>;
    cuInit(flags: c_uint);
    cuCtxGetCurrent(context: Address);
    cuCtxSetCurrent(context: Handle);
    cuCtxGetDevice(device: Address);
    cuDevicePrimaryCtxRetain(context: Address, device: c_int);
    cuDeviceGetAttribute(value: Address, attribute: c_int, device: c_int);
    cuModuleGetFunction(function: Address, module: Handle, name: Address);
    cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    cuLaunchKernel(
        function: Handle, x: c_uint, y: c_uint, z: c_uint, threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
        shared_bytes: c_uint, stream: Handle, parameters: Address, extra: Address,
    );
    cuMemAlloc_v2(address: Address, bytes: usize);
    cuMemFree_v2(address: Address);
    cuMemAllocAsync(address: Address, bytes: usize, stream: Handle);
    cuMemFreeAsync(address: Address, stream: Handle);
    cuMemsetD32_v2(address: Address, value: c_uint, count: usize);
    cuMemcpyDtoHAsync_v2(host: Address, device: Address, bytes: usize, stream: Handle);
    cuMemcpyHtoDAsync_v2(device: Address, host: Address, bytes: usize, stream: Handle);
    cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpy2DAsync_v2(copy: Address, stream: Handle);
    cuStreamSynchronize(stream: Handle);
    // Of our driver only: the module with our kernels in place of a library's, in the current context.
    warpwrightStandIn(library: Address, module: Address);
}
