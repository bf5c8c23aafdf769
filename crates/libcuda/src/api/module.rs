//! Modules, libraries, functions.

use crate::api;
use crate::api::link::logs;
use crate::call::with;
use crate::unlocked;
use crate::values::{get_text, put, put_if, put_new};
use crate::wait::finish;
use cuda::{Driver, Result, Wait};

/// Loads with options of compilation: their number, numbers and values.
fn load(driver: &mut Driver, handle: u64, image: u64, options: (u32, u64, u64)) -> Result<()> {
    driver.platform.context_here()?;
    let logs = logs(driver, options.0, options.1, options.2)?;
    let image = cuda::module::read_image(driver.platform.host(), image)?;
    put_new(driver, handle, |driver| driver.modules.load_with_logs(&mut driver.platform, &image, &logs))
}

fn load_file(driver: &mut Driver, handle: u64, path: u64) -> Result<()> {
    let path = get_text(driver, path)?;
    let image = cuda::module::read_file(driver.platform.host(), &path)?;
    put_new(driver, handle, |driver| driver.modules.load(&mut driver.platform, &image))
}

api! {
    fn cuModuleLoad(module: u64, path: u64) |driver| { load_file(driver, module, path) }

    fn cuModuleLoadData(module: u64, image: u64) |driver| { load(driver, module, image, (0, 0, 0)) }

    fn cuModuleLoadDataEx(module: u64, image: u64, count: u32, options: u64, values: u64) |driver| {
        load(driver, module, image, (count, options, values))
    }

    fn cuModuleLoadFatBinary(module: u64, image: u64) |driver| { load(driver, module, image, (0, 0, 0)) }

    fn cuModuleGetLoadingMode(mode: u64) |driver| { put(driver, mode, 2) }

    // Not of CUDA: our kernels in place of a library's, for our library of that name.
    fn warpwrightStandIn(library: u64, module: u64) |driver| {
        let name = get_text(driver, library)?;
        let handle = driver.modules.stand_in(&mut driver.platform, &name)?;
        put(driver, module, handle)
    }

    fn cuModuleGetFunction(function: u64, module: u64, name: u64) = cuLibraryGetKernel |driver| {
        let name = get_text(driver, name)?;
        let handle = driver.modules.function(&mut driver.platform, module, &name)?;
        put(driver, function, handle)
    }

    fn cuModuleGetFunctionCount(count: u64, module: u64) = cuLibraryGetKernelCount |driver| {
        let names = driver.modules.function_names(&mut driver.platform, module)?;
        put(driver, count, names.len() as u32)
    }

    fn cuModuleGetGlobal_v2(address: u64, bytes: u64, module: u64, name: u64) = cuLibraryGetGlobal |driver| {
        let name = get_text(driver, name)?;
        let (start, size) = driver.modules.variable(&mut driver.platform, module, &name)?;
        put_if(driver, address, start)?;
        put_if(driver, bytes, size)
    }

    fn cuLibraryLoadData(
        library: u64, image: u64, jit: u64, jit_values: u64, jit_count: u32, _options: u64, _values: u64, _count: u32,
    ) |driver| {
        load(driver, library, image, (jit_count, jit, jit_values))
    }

    fn cuLibraryLoadFromFile(
        library: u64, path: u64, _jit: u64, _jit_values: u64, _jit_count: u32, _options: u64, _values: u64, _count: u32,
    ) |driver| {
        load_file(driver, library, path)
    }

    fn cuLibraryGetModule(module: u64, library: u64) |driver| {
        driver.modules.get(library)?;
        put(driver, module, library)
    }

    fn cuLibraryGetManaged(address: u64, bytes: u64, library: u64, name: u64) |driver| {
        let name = get_text(driver, name)?;
        let (start, size) = driver.modules.managed_variable(&mut driver.platform, library, &name)?;
        put_if(driver, address, start)?;
        put_if(driver, bytes, size)
    }

    fn cuKernelGetFunction(function: u64, kernel: u64) |driver| {
        driver.modules.function_of(kernel)?;
        put(driver, function, kernel)
    }

    fn cuFuncGetModule(module: u64, function: u64) = cuKernelGetLibrary |driver| {
        let of = driver.modules.function_of(function)?.module;
        put(driver, module, of)
    }

    fn cuFuncLoad(function: u64) |driver| { driver.modules.function_of(function).map(|_| ()) }

    fn cuFuncIsLoaded(state: u64, function: u64) |driver| {
        driver.modules.function_of(function)?;
        put(driver, state, 1)
    }

    fn cuFuncGetAttribute(value: u64, attribute: i32, function: u64) |driver| {
        let number = driver.modules.function_attribute(&driver.platform, function, attribute)?;
        put(driver, value, number)
    }

    fn cuFuncSetAttribute(function: u64, attribute: i32, value: i32) |driver| {
        driver.modules.set_function_attribute(&driver.platform, function, attribute, value)
    }

    fn cuFuncSetCacheConfig(function: u64, _config: u32) |driver| { driver.modules.function_of(function).map(|_| ()) }

    fn cuFuncSetSharedMemConfig(function: u64, _config: u32) |driver| {
        driver.modules.function_of(function).map(|_| ())
    }

    fn cuKernelGetAttribute(value: u64, attribute: i32, kernel: u64, _device: i32) |driver| {
        let number = driver.modules.function_attribute(&driver.platform, kernel, attribute)?;
        put(driver, value, number)
    }

    fn cuKernelSetAttribute(attribute: i32, value: i32, kernel: u64, _device: i32) |driver| {
        driver.modules.set_function_attribute(&driver.platform, kernel, attribute, value)
    }

    fn cuKernelSetCacheConfig(kernel: u64, _config: u32, _device: i32) |driver| {
        driver.modules.function_of(kernel).map(|_| ())
    }
}

unlocked! {
    // After the work of the device has ended, which may use the module's variables.
    fn cuModuleUnload(module: u64) = cuLibraryUnload {
        let device = with(|driver| driver.modules.get(module).map(|module| module.device))?;
        let ended = finish(Wait::Device(device));
        with(|driver| driver.unload(module))?;
        ended
    }
}
