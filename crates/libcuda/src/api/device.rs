//! Initialisation, errors, devices.

use crate::call::{devices, enter, guarded, init};
use crate::process::Process;
use crate::unlocked;
use crate::values::{put, put_bytes, put_text};
use cuda::Error;
use cuda::platform::attributes::product;
use std::ffi::CString;
use std::sync::OnceLock;

/// The version of the API that the library has: 13.0. Runtimes of up to this version run on it.
pub const VERSION: i32 = 13000;

unlocked! {
    fn cuInit(flags: u32) { init(flags) }

    fn cuDriverGetVersion(version: u64) {
        enter()?;
        put(&Process, version, VERSION)
    }

    fn cuDeviceGet(device: u64, ordinal: i32) {
        devices()?.gpu(ordinal)?;
        put(&Process, device, ordinal)
    }

    fn cuDeviceGetCount(count: u64) { put(&Process, count, devices()?.count()) }

    fn cuDeviceGetName(name: u64, room: i32, device: i32) {
        let text = product(devices()?.gpu(device)?);
        put_text(&Process, name, usize::try_from(room).unwrap_or(0), text)
    }

    fn cuDeviceGetUuid(uuid: u64, device: i32) = cuDeviceGetUuid_v2 {
        devices()?.gpu(device)?;
        let mut bytes = *b"warpwright\0\0\0\0\0\0";
        bytes[15] = device as u8;
        put_bytes(&Process, uuid, &bytes)
    }

    fn cuDeviceTotalMem_v2(bytes: u64, device: i32) { put(&Process, bytes, devices()?.memory_bytes(device)?) }

    fn cuDeviceGetAttribute(value: u64, attribute: i32, device: i32) {
        put(&Process, value, devices()?.attribute(device, attribute)?)
    }

    fn cuDeviceComputeCapability(major: u64, minor: u64, device: i32) {
        let sm = devices()?.gpu(device)?.sm_version as i32;
        put(&Process, major, sm / 10)?;
        put(&Process, minor, sm % 10)
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
        put(&Process, to, address)?;
        if known.is_some() { Ok(()) } else { Err(Error::INVALID_VALUE) }
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
