//! NVTX: the functions that programs call through an injection (`NVTX_INJECTION64_PATH`), or link as
//! `libnvToolsExt.so.1`.

use crate::process::{Process, call_export_table, call_function_table};
use crate::values::{Fields, get};
use crate::{asked, nvtx};
use cuda::{Host as _, read_text};
use std::panic::catch_unwind;

/// Messages of `nvtxEventAttributes_t`.
const ASCII: u32 = 1;
const WIDE: u32 = 2;
const REGISTERED: u32 = 3;

/// Result of a push or a pop that nobody watches (`NVTX_NO_PUSH_POP_TRACKING`).
const NO_TOOL: i32 = -2;

/// Bytes of a `wchar_t`.
const WIDE_BYTES: u64 = 4;
/// Maximum characters of a wide text.
const MOST_WIDE: u64 = 4096;

/// A text of bytes.
fn text(address: u64) -> Option<String> {
    read_text(&Process, address).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A text of `wchar_t`.
fn wide_text(address: u64) -> Option<String> {
    let mut out = String::new();
    for at in 0..MOST_WIDE {
        let unit = u32::from_le_bytes(get::<4>(&Process, address.checked_add(at * WIDE_BYTES)?).ok()?);
        if unit == 0 {
            break;
        }
        out.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Some(out)
}

/// The message of `nvtxEventAttributes_t`.
fn message(attributes: u64) -> Option<String> {
    let fields = Fields(get::<48>(&Process, attributes).ok()?);
    let value = fields.u64(40);
    match fields.u32(32) {
        ASCII => text(value),
        WIDE => wide_text(value),
        REGISTERED => nvtx::registered(value),
        _ => None,
    }
}

/// Functions of NVTX: what each returns if the user has not asked for ranges, or in case of a defect.
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) -> $out:ty, else $nothing:expr, $body:block)*) => {$(
        #[allow(unsafe_code, reason = "the name is part of NVTX's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> $out {
            if asked::by().is_none() {
                return $nothing;
            }
            catch_unwind(|| $body).unwrap_or($nothing)
        }
    )*};
}

functions! {
    fn nvtxRangePushEx(attributes: u64) -> i32, else NO_TOOL, { nvtx::push(0, message(attributes)) }
    fn nvtxRangePushA(name: u64) -> i32, else NO_TOOL, { nvtx::push(0, text(name)) }
    fn nvtxRangePushW(name: u64) -> i32, else NO_TOOL, { nvtx::push(0, wide_text(name)) }
    fn nvtxRangePop() -> i32, else NO_TOOL, { nvtx::pop(0) }
    fn nvtxRangeStartEx(attributes: u64) -> u64, else 0, { nvtx::start(0, message(attributes)) }
    fn nvtxRangeStartA(name: u64) -> u64, else 0, { nvtx::start(0, text(name)) }
    fn nvtxRangeStartW(name: u64) -> u64, else 0, { nvtx::start(0, wide_text(name)) }
    fn nvtxRangeEnd(range: u64) -> i32, else 0, { nvtx::end(range) }
    fn nvtxDomainRangePushEx(domain: u64, attributes: u64) -> i32, else NO_TOOL, { nvtx::push(domain, message(attributes)) }
    fn nvtxDomainRangePop(domain: u64) -> i32, else NO_TOOL, { nvtx::pop(domain) }
    fn nvtxDomainRangeStartEx(domain: u64, attributes: u64) -> u64, else 0, { nvtx::start(domain, message(attributes)) }
    fn nvtxDomainRangeEnd(_domain: u64, range: u64) -> i32, else 0, { nvtx::end(range) }
    fn nvtxDomainCreateA(name: u64) -> u64, else 0, { nvtx::domain(text(name).unwrap_or_default()) }
    fn nvtxDomainCreateW(name: u64) -> u64, else 0, { nvtx::domain(wide_text(name).unwrap_or_default()) }
    fn nvtxDomainRegisterStringA(_domain: u64, name: u64) -> u64, else 0, { nvtx::register(text(name).unwrap_or_default()) }
    fn nvtxDomainRegisterStringW(_domain: u64, name: u64) -> u64, else 0, {
        nvtx::register(wide_text(name).unwrap_or_default())
    }
}

/// Functions of NVTX that mean nothing here, for programs that are linked to them. They need no arguments: the caller
/// removes them.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[allow(unsafe_code, reason = "the name is part of NVTX's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> u64 {
            0
        }
    )*};
}

nothing! {
    nvtxInitialize nvtxMarkEx nvtxMarkA nvtxMarkW nvtxNameCategoryA nvtxNameCategoryW nvtxNameOsThreadA
    nvtxNameOsThreadW nvtxDomainMarkEx nvtxDomainResourceCreate nvtxDomainResourceDestroy nvtxDomainNameCategoryA
    nvtxDomainNameCategoryW nvtxDomainDestroy nvtxNameCuDeviceA nvtxNameCuDeviceW nvtxNameCuContextA nvtxNameCuContextW
    nvtxNameCuStreamA nvtxNameCuStreamW nvtxNameCuEventA nvtxNameCuEventW nvtxNameCudaDeviceA nvtxNameCudaDeviceW
    nvtxNameCudaStreamA nvtxNameCudaStreamW nvtxNameCudaEventA nvtxNameCudaEventW
}

/// The table of callbacks among those of `NvtxGetExportTableFunc_t`.
const CALLBACKS: u32 = 1;

/// The modules of the table with functions that have a meaning here, with the places of these.
type Functions = [(usize, &'static str)];
const CORE: (u32, &Functions) = (
    1,
    &[
        (4, "nvtxRangeStartEx"),
        (5, "nvtxRangeStartA"),
        (6, "nvtxRangeStartW"),
        (7, "nvtxRangeEnd"),
        (8, "nvtxRangePushEx"),
        (9, "nvtxRangePushA"),
        (10, "nvtxRangePushW"),
        (11, "nvtxRangePop"),
    ],
);
const CORE2: (u32, &Functions) = (
    5,
    &[
        (2, "nvtxDomainRangeStartEx"),
        (3, "nvtxDomainRangeEnd"),
        (4, "nvtxDomainRangePushEx"),
        (5, "nvtxDomainRangePop"),
        (10, "nvtxDomainRegisterStringA"),
        (11, "nvtxDomainRegisterStringW"),
        (12, "nvtxDomainCreateA"),
        (13, "nvtxDomainCreateW"),
    ],
);

/// Puts our functions into the table of a copy of NVTX in the program. False if it has none.
fn inject(get_export_table: u64) -> bool {
    let address = |place| get::<8>(&Process, place).map(u64::from_le_bytes).unwrap_or(0);
    let callbacks = call_export_table(get_export_table, CALLBACKS);
    let find = address(callbacks.wrapping_add(8));
    if callbacks == 0 || find == 0 {
        return false;
    }
    for (module, functions) in [CORE, CORE2] {
        let Some((table, size)) = call_function_table(find, module) else { continue };
        for &(place, name) in functions.iter().filter(|(place, _)| (*place as u64) < u64::from(size)) {
            let slot = address(table.wrapping_add(8 * place as u64));
            let ours = crate::process::own_function(name);
            if slot != 0 && ours != 0 {
                Process.write(slot, &ours.to_le_bytes());
            }
        }
    }
    true
}

/// Called by each copy of NVTX in the program, once, if `NVTX_INJECTION64_PATH` names this library.
#[allow(unsafe_code, reason = "the name is part of NVTX's API")]
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjectionNvtx2(get_export_table: u64) -> i32 {
    i32::from(asked::by().is_some() && catch_unwind(|| inject(get_export_table)).unwrap_or(false))
}
