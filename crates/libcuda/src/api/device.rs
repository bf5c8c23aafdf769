//! Initialisation, errors, devices.

use crate::api;
use crate::call::guarded;
use crate::values::{put, put_bytes, put_text};
use cuda::Error;
use std::ffi::CString;
use std::sync::OnceLock;

/// The version of the API that the library has: 13.0. Runtimes of up to this version run on it.
pub const VERSION: i32 = 13000;

api! {
    fn cuInit(flags: u32) |driver| { driver.platform.init(flags) }

    fn cuDriverGetVersion(version: u64) |driver| { put(driver, version, VERSION) }

    fn cuDeviceGet(device: u64, ordinal: i32) |driver| {
        driver.platform.device(ordinal)?;
        put(driver, device, ordinal)
    }

    fn cuDeviceGetCount(count: u64) |driver| {
        driver.platform.check_initialised()?;
        put(driver, count, driver.platform.devices.len() as i32)
    }

    fn cuDeviceGetName(name: u64, room: i32, device: i32) |driver| {
        let text = cuda::platform::attributes::product(&driver.platform.device(device)?.setup.gpu).to_owned();
        put_text(driver, name, usize::try_from(room).unwrap_or(0), &text)
    }

    fn cuDeviceGetUuid(uuid: u64, device: i32) = cuDeviceGetUuid_v2 |driver| {
        driver.platform.device(device)?;
        let mut bytes = *b"warpwright\0\0\0\0\0\0";
        bytes[15] = device as u8;
        put_bytes(driver, uuid, &bytes)
    }

    fn cuDeviceTotalMem_v2(bytes: u64, device: i32) |driver| {
        driver.platform.device(device)?;
        let total = driver.platform.device_memory_bytes(device);
        put(driver, bytes, total)
    }

    fn cuDeviceGetAttribute(value: u64, attribute: i32, device: i32) |driver| {
        let number = driver.platform.attribute(device, attribute)?;
        put(driver, value, number)
    }

    fn cuDeviceComputeCapability(major: u64, minor: u64, device: i32) |driver| {
        let sm = driver.platform.device(device)?.setup.gpu.sm_version as i32;
        put(driver, major, sm / 10)?;
        put(driver, minor, sm % 10)
    }
}

/// Texts that programs keep addresses of, by error.
fn texts(error: Error) -> (u64, u64) {
    static TEXTS: OnceLock<Vec<(u32, CString, CString)>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let success = (0, text("CUDA_SUCCESS"), text("no error"));
        let errors = Error::all().map(|error| (error.code(), text(error.name()), text(error.text())));
        std::iter::once(success).chain(errors).collect()
    });
    let row = texts.iter().find(|row| row.0 == error.code());
    row.map_or((0, 0), |(_, name, text)| (name.as_ptr() as u64, text.as_ptr() as u64))
}

fn put_error_text(name: &'static str, code: u32, to: u64, choose: fn((u64, u64)) -> u64) -> u32 {
    guarded(name, || {
        // Works without initialisation.
        let known = if code == 0 { Some(Error::SUCCESS) } else { Error::from_code(code) };
        let address = known.map_or(0, |error| choose(texts(error)));
        let written = cuda::Host::write(&crate::process::Process, to, &address.to_le_bytes());
        if written && known.is_some() { Ok(()) } else { Err(Error::INVALID_VALUE) }
    })
}

#[allow(unsafe_code, reason = "the name is part of CUDA's API")]
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(code: u32, name: u64) -> u32 {
    put_error_text("cuGetErrorName", code, name, |texts| texts.0)
}

#[allow(unsafe_code, reason = "the name is part of CUDA's API")]
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(code: u32, text: u64) -> u32 {
    put_error_text("cuGetErrorString", code, text, |texts| texts.1)
}
