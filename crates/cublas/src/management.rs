//! Handles and their settings, versions, copies between host and device.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

use cabi::address::{Address, Handle, write};
use cabi::stand_in::enter;

use crate::api::Take;
use crate::driver::{Driver, driver};
use crate::handle::{self, State, with};
use crate::status::{Result, Status, valid};

/// The version that the library is of, as `cublasGetVersion` gives it.
static VERSION: AtomicI32 = AtomicI32::new(0);

/// Called when the library is loaded.
pub fn set_version(version: c_int) {
    VERSION.store(version, Ordering::Relaxed);
}

fn version() -> c_int {
    VERSION.load(Ordering::Relaxed)
}

/// Version of the runtime that a library of this version goes with.
fn runtime() -> usize {
    usize::try_from(version() / 10000 * 1000).unwrap_or(0)
}

/// A part of the version: major, minor, patch.
fn property(which: c_int) -> Result<c_int> {
    match which {
        0 => Ok(version() / 10000),
        1 => Ok(version() / 100 % 100),
        2 => Ok(version() % 100),
        _ => Err(Status::INVALID_VALUE),
    }
}

fn destroy_handle(handle: Address) -> Result<()> {
    handle::destroy(handle)
}

fn set_mode(handle: Address, mode: c_int) -> Result<()> {
    valid(mode == 0 || mode == 1)?;
    with(handle, |state| {
        state.on_device = mode == 1;
        Ok(())
    })
}

fn get(handle: Address, place: Address, what: impl FnOnce(&State) -> c_int) -> Result<()> {
    let value = with(handle, |state| Ok(what(state)))?;
    Ok(write(place, value)?)
}

fn set(handle: Address, change: impl FnOnce(&mut State)) -> Result<()> {
    with(handle, |state| {
        change(state);
        Ok(())
    })
}

cabi::functions! {
    Status;
    fn cublasCreate_v2(place: Address) {
        valid(place != 0)?;
        Ok(write(place, handle::create()?)?)
    }
    fn cublasDestroy_v2(handle: Address) { destroy_handle(handle) }
    fn cublasGetVersion_v2(_handle: Address, place: Address) { Ok(write(place, version())?) }
    fn cublasGetProperty(which: c_int, place: Address) { Ok(write(place, property(which)?)?) }
    fn cublasLtGetProperty(which: c_int, place: Address) { Ok(write(place, property(which)?)?) }
    fn cublasSetStream_v2(handle: Address, stream: Handle) { set(handle, |state| state.stream = stream) }
    fn cublasGetStream_v2(handle: Address, place: Address) {
        let stream = with(handle, |state| Ok(state.stream))?;
        Ok(write(place, stream)?)
    }
    // Kernels here take memory of their own.
    fn cublasSetWorkspace_v2(handle: Address, _memory: Address, _bytes: usize) { set(handle, |_| ()) }
    fn cublasSetPointerMode_v2(handle: Address, mode: c_int) { set_mode(handle, mode) }
    fn cublasGetPointerMode_v2(handle: Address, place: Address) {
        get(handle, place, |state| c_int::from(state.on_device))
    }
    fn cublasSetAtomicsMode(handle: Address, mode: c_int) { set(handle, |state| state.atomics = mode) }
    fn cublasGetAtomicsMode(handle: Address, place: Address) { get(handle, place, |state| state.atomics) }
    fn cublasSetMathMode(handle: Address, mode: c_int) { set(handle, |state| state.math = mode) }
    fn cublasGetMathMode(handle: Address, place: Address) { get(handle, place, |state| state.math) }
    fn cublasSetSmCountTarget(handle: Address, count: c_int) { set(handle, |state| state.sm_target = count) }
    fn cublasGetSmCountTarget(handle: Address, place: Address) { get(handle, place, |state| state.sm_target) }
    // Nothing is logged.
    fn cublasLoggerConfigure(_on: c_int, _output: c_int, _error: c_int, _file: Address) { Ok(()) }
    fn cublasSetLoggerCallback(_function: Address) { Ok(()) }
    fn cublasGetLoggerCallback(place: Address) { Ok(write(place, 0_usize)?) }
    fn cublasLtLoggerSetCallback(_function: Address) { Ok(()) }
    fn cublasLtLoggerSetFile(_file: Address) { Ok(()) }
    fn cublasLtLoggerOpenFile(_file: Address) { Ok(()) }
    fn cublasLtLoggerSetLevel(_level: c_int) { Ok(()) }
    fn cublasLtLoggerSetMask(_mask: c_int) { Ok(()) }
    fn cublasLtLoggerForceDisable() { Ok(()) }
    fn cublasMigrateComputeType(_handle: Address, kind: c_int, place: Address) {
        let compute = match kind {
            2 => 64,
            0 | 4 => 68,
            1 | 5 => 70,
            10 => 72,
            _ => return Err(Status::INVALID_VALUE),
        };
        Ok(write::<c_int>(place, compute)?)
    }
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn cublasGetCudartVersion() -> usize {
    runtime()
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn cublasLtGetCudartVersion() -> usize {
    runtime()
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn cublasLtGetVersion() -> usize {
    usize::try_from(version()).unwrap_or(0)
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Copy2D {
    from: Side,
    to: Side,
    width: usize,
    height: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Side {
    x: usize,
    y: usize,
    memory: c_int,
    padding: c_int,
    host: Address,
    device: Address,
    array: Handle,
    pitch: usize,
}

impl Side {
    fn host(host: Address, pitch: usize) -> Self {
        Self { memory: 1, host, pitch, ..Self::default() }
    }

    fn device(device: Address, pitch: usize) -> Self {
        Self { memory: 2, device, pitch, ..Self::default() }
    }
}

/// How a copy ends: the caller waits for it, or it is in the order of a stream.
#[derive(Clone, Copy)]
enum Order {
    Wait,
    Stream(Handle),
}

/// Copies `rows` x `columns` elements between a matrix of the host and one of the device.
fn transfer(
    to_device: bool,
    order: Order,
    [rows, columns, bytes]: [i64; 3],
    from: Address,
    leading_from: i64,
    to: Address,
    leading_to: i64,
) -> Result<()> {
    valid(rows >= 0 && columns >= 0 && bytes > 0)?;
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    valid(leading_from >= rows && leading_to >= rows)?;
    let driver: &Driver = driver()?;
    handle::device(driver)?;
    let size = |number: i64| usize::try_from(number).map_err(|_| Status::INVALID_VALUE);
    let pitch = |leading: i64| size(leading.checked_mul(bytes).ok_or(Status::INVALID_VALUE)?);
    let (from_pitch, to_pitch) = (pitch(leading_from)?, pitch(leading_to)?);
    let (from, to) = if to_device {
        (Side::host(from, from_pitch), Side::device(to, to_pitch))
    } else {
        (Side::device(from, from_pitch), Side::host(to, to_pitch))
    };
    let copy = Copy2D { from, to, width: pitch(rows)?, height: size(columns)? };
    let mapped = |result: Result<()>| result.map_err(|_| Status::MAPPING_ERROR);
    match order {
        Order::Wait => {
            mapped(driver.cuMemcpy2DAsync_v2(cabi::driver::at(&copy), 0))?;
            mapped(driver.cuStreamSynchronize(0))
        }
        Order::Stream(stream) => mapped(driver.cuMemcpy2DAsync_v2(cabi::driver::at(&copy), stream)),
    }
}

/// Copies `n` elements; a distance of one between them is one copy of all.
fn vector(
    to_device: bool,
    order: Order,
    n: i64,
    bytes: i64,
    from: Address,
    by_from: i64,
    to: Address,
    by_to: i64,
) -> Result<()> {
    valid(n >= 0 && by_from > 0 && by_to > 0)?;
    let (shape, leading) =
        if by_from == 1 && by_to == 1 { ([n, 1, bytes], [n.max(1); 2]) } else { ([1, n, bytes], [by_from, by_to]) };
    transfer(to_device, order, shape, from, leading[0], to, leading[1])
}

macro_rules! copies {
    (@export $name:ident, $suffix:literal, $int:ty, ($($argument:ident: $kind:ty),*), $body:expr) => {
        const _: () = {
            type Int = $int;
            // SAFETY: the name belongs to this API, which defines it once.
            #[unsafe(export_name = concat!(stringify!($name), $suffix))]
            extern "C" fn exported($($argument: $kind),*) -> c_int {
                enter::<Status>(|| $body)
            }
        };
    };
    ($(fn $name:ident $arguments:tt = $body:expr;)*) => {
        $(
            copies!(@export $name, "", c_int, $arguments, $body);
            copies!(@export $name, "_64", i64, $arguments, $body);
        )*
    };
}

copies! {
    fn cublasSetVector(n: Int, bytes: Int, from: Address, by_from: Int, to: Address, by_to: Int)
        = vector(true, Order::Wait, n.take(), bytes.take(), from, by_from.take(), to, by_to.take());
    fn cublasGetVector(n: Int, bytes: Int, from: Address, by_from: Int, to: Address, by_to: Int)
        = vector(false, Order::Wait, n.take(), bytes.take(), from, by_from.take(), to, by_to.take());
    fn cublasSetVectorAsync(n: Int, bytes: Int, from: Address, by_from: Int, to: Address, by_to: Int, stream: Handle)
        = vector(true, Order::Stream(stream), n.take(), bytes.take(), from, by_from.take(), to, by_to.take());
    fn cublasGetVectorAsync(n: Int, bytes: Int, from: Address, by_from: Int, to: Address, by_to: Int, stream: Handle)
        = vector(false, Order::Stream(stream), n.take(), bytes.take(), from, by_from.take(), to, by_to.take());
    fn cublasSetMatrix(rows: Int, columns: Int, bytes: Int, a: Address, lda: Int, b: Address, ldb: Int)
        = transfer(true, Order::Wait, [rows.take(), columns.take(), bytes.take()], a, lda.take(), b, ldb.take());
    fn cublasGetMatrix(rows: Int, columns: Int, bytes: Int, a: Address, lda: Int, b: Address, ldb: Int)
        = transfer(false, Order::Wait, [rows.take(), columns.take(), bytes.take()], a, lda.take(), b, ldb.take());
    fn cublasSetMatrixAsync(
        rows: Int, columns: Int, bytes: Int, a: Address, lda: Int, b: Address, ldb: Int, stream: Handle)
        = transfer(true, Order::Stream(stream), [rows.take(), columns.take(), bytes.take()], a, lda.take(), b,
                   ldb.take());
    fn cublasGetMatrixAsync(
        rows: Int, columns: Int, bytes: Int, a: Address, lda: Int, b: Address, ldb: Int, stream: Handle)
        = transfer(false, Order::Stream(stream), [rows.take(), columns.take(), bytes.take()], a, lda.take(), b,
                   ldb.take());
}
