//! Kernel launches: the stack of configurations that `<<<…>>>` fills, and the calls that launch.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::Mutex;

use crate::api::{api, enter};
use crate::argument::{Argument, In, Out, Stream};
use crate::context::{current, current_context, device_of};
use crate::driver::{Driver, at, out};
use crate::error::{Error, Result};
use crate::{library, registry};
use cabi::address::{Address, Handle, plain};

/// `dim3`: passed by value.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Dim3 {
    pub x: c_uint,
    pub y: c_uint,
    pub z: c_uint,
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Stream,
    attributes: Address,
    count: c_uint,
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DriverConfig {
    grid: Dim3,
    block: Dim3,
    shared: c_uint,
    stream: Handle,
    attributes: Address,
    count: c_uint,
}

plain!(Dim3, Config, DriverConfig);

/// A kernel: its host function, or a handle of a library's kernel. Anything else:
/// `cudaErrorInvalidDeviceFunction`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Kernel(pub Address);

impl Argument for Kernel {
    type Raw = Handle;

    fn raw(self) -> Result<Handle> {
        let (driver, context) = current_context()?;
        function_of(driver, context, self.0)
    }
}

impl Config {
    /// The driver's structure.
    pub fn to_driver(self) -> Result<DriverConfig> {
        Ok(DriverConfig {
            grid: self.grid,
            block: self.block,
            shared: shared_bytes(self.shared)?,
            stream: self.stream.0,
            attributes: self.attributes,
            count: self.count,
        })
    }
}

/// A configuration that waits for its launch.
#[derive(Clone, Copy)]
struct Pending {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Stream,
}

/// The maximum number of configurations that wait for their launches. Several do where the arguments of a launch
/// are computed by other launches.
const DEPTH: usize = 64;
const NO_LAUNCH: Pending =
    Pending { grid: Dim3 { x: 0, y: 0, z: 0 }, block: Dim3 { x: 0, y: 0, z: 0 }, shared: 0, stream: Stream::DEFAULT };

// Without destructors: both may be used from `atexit`.
thread_local! {
    static PENDING: [Cell<Pending>; DEPTH] = const { [const { Cell::new(NO_LAUNCH) }; DEPTH] };
    static DEPTH_USED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: Stream) -> c_uint {
    let used = DEPTH_USED.get();
    if used == DEPTH {
        return enter(|| Err(Error::INVALID_CONFIGURATION)).cast_unsigned();
    }
    PENDING.with(|pending| pending[used].set(Pending { grid, block, shared, stream }));
    DEPTH_USED.set(used + 1);
    0
}

api! {
    fn __cudaPopCallConfiguration(grid: Out<Dim3>, block: Out<Dim3>, shared: Out<usize>, stream: Out<Handle>) {
        let used = DEPTH_USED.get().checked_sub(1).ok_or(Error::MISSING_CONFIGURATION)?;
        DEPTH_USED.set(used);
        let top = PENDING.with(|pending| pending[used].get());
        grid.set(top.grid)?;
        block.set(top.block)?;
        shared.set(top.shared)?;
        stream.set(top.stream.0)
    }

    // The kernel's handle is the address of its host function, as the launch calls accept both.
    fn __cudaGetKernel(kernel: Out<Handle>, host: Address) { kernel.set(host) }
    fn cudaGetKernel(kernel: Out<Handle>, host: Address) {
        let (driver, context) = current_context()?;
        registry::function(driver, context, host)?;
        kernel.set(host)
    }

    fn cudaGetFuncBySymbol(function: Out<Handle>, host: Address) {
        let (driver, context) = current_context()?;
        function.set(registry::function(driver, context, host)?)
    }

    fn cudaLaunchKernel | cudaLaunchKernel_ptsz(
        kernel: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Stream,
    ) {
        launch(kernel, grid, block, arguments, shared, stream)
    }

    fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz(
        kernel: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Stream,
    ) {
        launch(kernel, grid, block, arguments, shared, stream)
    }

    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz(
        kernel: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Stream,
    ) {
        let (driver, function) = launchable(kernel, grid, block)?;
        let shared = shared_bytes(shared)?;
        driver.cuLaunchCooperativeKernel(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream.0, arguments,
        )
    }

    fn cudaLaunchKernelExC(config: In<Config>, kernel: Address, arguments: Address) {
        launch_by(config.get()?, kernel, arguments)
    }

    fn cudaLaunchKernelExC_ptsz(config: In<Config>, kernel: Address, arguments: Address) {
        let config = config.get()?;
        launch_by(Config { stream: config.stream.per_thread(), ..config }, kernel, arguments)
    }

    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz(stream: Stream, function: Address, data: Address)
        = cuLaunchHostFunc;

    fn cudaLaunchHostFunc_v2 | cudaLaunchHostFunc_v2_ptsz(
        stream: Stream, function: Address, data: Address, _how_to_wait: c_uint,
    ) {
        current()?.cuLaunchHostFunc(stream.0, function, data)
    }
}

fn launch(kernel: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Stream) -> Result<()> {
    let (driver, function) = launchable(kernel, grid, block)?;
    let shared = shared_bytes(shared)?;
    driver.cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream.0, arguments, 0)
}

fn launch_by(config: Config, kernel: Address, arguments: Address) -> Result<()> {
    let (driver, function) = launchable(kernel, config.grid, config.block)?;
    driver.cuLaunchKernelEx(at(&config.to_driver()?), function, arguments, 0)
}

fn shared_bytes(bytes: usize) -> Result<c_uint> {
    c_uint::try_from(bytes).map_err(|_| Error::INVALID_VALUE)
}

/// The function of a kernel in a context, which is current.
fn function_of(driver: &Driver, context: Handle, kernel: Address) -> Result<Handle> {
    match registry::function(driver, context, kernel) {
        Err(Error::INVALID_DEVICE_FUNCTION) if library::has_kernel(kernel) => {
            out(|place| driver.cuKernelGetFunction(place, kernel))
        }
        found => found,
    }
}

/// The function of a kernel, for a launch. The driver's error for sizes that the device does not have is an invalid
/// value, the runtime's an invalid configuration.
pub fn launchable(kernel: Address, grid: Dim3, block: Dim3) -> Result<(&'static Driver, Handle)> {
    let (driver, context) = current_context()?;
    let function = function_of(driver, context, kernel)?;
    let [most_threads, most @ ..] = limits(driver, device_of(driver, context)?)?;
    let threads = u64::from(block.x) * u64::from(block.y) * u64::from(block.z);
    let sizes = [block.x, block.y, block.z, grid.x, grid.y, grid.z];
    let fits = sizes.iter().zip(&most).all(|(size, most)| (1..=*most).contains(size));
    let fits = fits && threads <= u64::from(most_threads);
    if fits { Ok((driver, function)) } else { Err(Error::INVALID_CONFIGURATION) }
}

/// Attributes 1 to 7: threads of a block, sizes of blocks, sizes of grids.
fn limits(driver: &Driver, device: c_int) -> Result<[c_uint; 7]> {
    static LIMITS: Mutex<BTreeMap<c_int, [c_uint; 7]>> = Mutex::new(BTreeMap::new());
    let mut known = LIMITS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(limits) = known.get(&device) {
        return Ok(*limits);
    }
    let mut limits = [0; 7];
    for (attribute, limit) in (1..).zip(&mut limits) {
        *limit = out(|place| driver.cuDeviceGetAttribute(place, attribute, device))?;
    }
    known.insert(device, limits);
    Ok(limits)
}
