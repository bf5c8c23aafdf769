//! Launches as in CUDA 2 and 3: shape and arguments belong to the function.

use crate::call::launching;
use crate::values::{get_bytes, put, put_if};
use crate::{api, unlocked};
use cuda::module::{Arguments, Request};
use cuda::{Driver, Error, Result};

/// More arguments than any kernel has.
const MOST_ARGUMENT_BYTES: usize = 64 << 10;

fn set_argument(driver: &mut Driver, function: u64, offset: i32, bytes: &[u8]) -> Result<()> {
    let offset = usize::try_from(offset).map_err(|_| Error::INVALID_VALUE)?;
    let arguments = &mut driver.modules.function_mut(function)?.old.arguments;
    let end = offset.checked_add(bytes.len()).filter(|&end| end <= MOST_ARGUMENT_BYTES).ok_or(Error::INVALID_VALUE)?;
    arguments.resize(arguments.len().max(end), 0);
    arguments[offset..end].copy_from_slice(bytes);
    Ok(())
}

fn launch(driver: &mut Driver, function: u64, [width, height]: [i32; 2], stream: u64) -> Result<()> {
    driver.platform.context_here()?;
    let old = driver.modules.function_of(function)?.old.clone();
    let size = |n: i32| u32::try_from(n).ok().filter(|&n| n > 0).ok_or(Error::INVALID_VALUE);
    let grid = [size(width)?, size(height)?, 1];
    if old.block.contains(&0) {
        return Err(Error::INVALID_VALUE);
    }
    let packed = Arguments::Packed(old.arguments.as_ptr() as u64, old.arguments.len() as u64);
    driver.launch(&Request {
        function,
        grid,
        block: old.block,
        shared_bytes: old.shared_bytes,
        stream,
        arguments: packed,
        cooperative: false,
        cluster: None,
    })
}

api! {
    fn cuFuncSetBlockShape(function: u64, x: i32, y: i32, z: i32) |driver| {
        let sizes = [x, y, z].map(|n| u32::try_from(n).unwrap_or(0));
        if sizes.contains(&0) {
            return Err(Error::INVALID_VALUE);
        }
        driver.modules.function_mut(function)?.old.block = sizes;
        Ok(())
    }
    fn cuFuncSetSharedSize(function: u64, bytes: u32) |driver| {
        driver.modules.function_mut(function)?.old.shared_bytes = bytes;
        Ok(())
    }
    fn cuParamSetSize(function: u64, bytes: u32) |driver| {
        if bytes as usize > MOST_ARGUMENT_BYTES {
            return Err(Error::INVALID_VALUE);
        }
        driver.modules.function_mut(function)?.old.arguments.resize(bytes as usize, 0);
        Ok(())
    }
    fn cuParamSeti(function: u64, offset: i32, value: u32) |driver| {
        set_argument(driver, function, offset, &value.to_le_bytes())
    }
    fn cuParamSetf(function: u64, offset: i32, value: f32) |driver| {
        set_argument(driver, function, offset, &value.to_le_bytes())
    }
    fn cuParamSetv(function: u64, offset: i32, from: u64, bytes: u32) |driver| {
        let value = get_bytes(driver, from, (bytes as usize).min(MOST_ARGUMENT_BYTES + 1))?;
        set_argument(driver, function, offset, &value)
    }

    // Names and parameters of functions.
    fn cuFuncGetName(name: u64, function: u64) = cuKernelGetName |driver| {
        let address = driver.modules.function_of(function)?.c_name.as_ptr() as u64;
        put(driver, name, address)
    }
    fn cuFuncGetParamInfo(function: u64, index: u64, offset: u64, bytes: u64) = cuKernelGetParamInfo |driver| {
        let kernel = driver.modules.function_of(function)?.kernel.clone();
        let index = usize::try_from(index).map_err(|_| Error::INVALID_VALUE)?;
        let param = kernel.params.get(index).ok_or(Error::INVALID_VALUE)?;
        put(driver, offset, u64::from(param.offset))?;
        put_if(driver, bytes, u64::from(param.bytes))
    }
    fn cuFuncGetParamCount(function: u64, count: u64) = cuKernelGetParamCount |driver| {
        let number = driver.modules.function_of(function)?.kernel.params.len() as u64;
        put(driver, count, number)
    }
    fn cuModuleEnumerateFunctions(functions: u64, room: u32, module: u64) = cuLibraryEnumerateKernels |driver| {
        if functions == 0 && room > 0 {
            return Err(Error::INVALID_VALUE);
        }
        let names = driver.modules.function_names(&mut driver.platform, module)?;
        for (i, name) in (0..u64::from(room)).zip(names) {
            let handle = driver.modules.function(&mut driver.platform, module, &name)?;
            put(driver, functions + 8 * i, handle)?;
        }
        Ok(())
    }
}

unlocked! {
    fn cuLaunch(function: u64) { launching(|driver| launch(driver, function, [1, 1], 0)) }
    fn cuLaunchGrid(function: u64, width: i32, height: i32) {
        launching(|driver| launch(driver, function, [width, height], 0))
    }
    fn cuLaunchGridAsync(function: u64, width: i32, height: i32, stream: u64) {
        launching(|driver| launch(driver, function, [width, height], stream))
    }
}
