//! Launches of the kernels.

use std::ffi::{CStr, CString};

use cabi::address::{Address, Plain};
use cabi::driver::at;

use crate::driver::out;
use crate::handle::Call;
use crate::status::{Result, Status};

/// Threads of a CTA where a kernel leaves the number open.
pub const THREADS: u32 = 256;

/// A parameter of a kernel: any value whose bytes are a C value's.
pub trait Parameter {
    /// Its address, for as long as it lives.
    fn address(&self) -> Address;
}

impl<T: Plain> Parameter for T {
    fn address(&self) -> Address {
        at(self)
    }
}

impl Call {
    /// Launches a kernel of blas.cu: `grid` CTAs of `block` threads, with dynamic shared memory.
    pub fn launch(
        &self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        parameters: &[&dyn Parameter],
    ) -> Result<()> {
        self.launch_of(c"blas", &format!("standin_cublas_{name}"), grid, block, shared_bytes, parameters)
    }

    /// Launches a kernel of a file.
    pub fn launch_of(
        &self,
        file: &CStr,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        parameters: &[&dyn Parameter],
    ) -> Result<()> {
        /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`, and what a kernel has without it.
        const DYNAMIC_SHARED: (i32, u32) = (8, 48 << 10);
        let driver = self.driver;
        let module: Address = out(|place| driver.warpwrightStandIn(file.as_ptr().expose_provenance(), place))?;
        let name = CString::new(name).map_err(|_| Status::INTERNAL_ERROR)?;
        let function: Address =
            out(|place| driver.cuModuleGetFunction(place, module, name.as_ptr().expose_provenance()))?;
        if shared_bytes > DYNAMIC_SHARED.1 {
            let bytes = i32::try_from(shared_bytes).map_err(|_| Status::INTERNAL_ERROR)?;
            driver.cuFuncSetAttribute(function, DYNAMIC_SHARED.0, bytes)?;
        }
        let places: Vec<Address> = parameters.iter().map(|parameter| parameter.address()).collect();
        let ([x, y, z], [tx, ty, tz]) = (grid, block);
        driver.cuLaunchKernel(function, x, y, z, tx, ty, tz, shared_bytes, self.stream, at(places.as_slice()), 0)
    }

    /// Launches a kernel in which each thread takes every so many-th of `items`.
    pub fn launch_over(&self, name: &str, items: i64, parameters: &[&dyn Parameter]) -> Result<()> {
        self.launch(name, [self.blocks(items, THREADS, 8 * self.sms), 1, 1], [THREADS, 1, 1], 0, parameters)
    }

    /// CTAs for `items`, `each` for one, at most `most`.
    pub fn blocks(&self, items: i64, each: u32, most: u32) -> u32 {
        let wanted = items.max(1).unsigned_abs().div_ceil(each.into());
        u32::try_from(wanted).unwrap_or(most).min(most)
    }
}

/// CTAs in a direction of a grid that has no limit but the grid's.
pub fn tiles(items: i32, each: u32) -> u32 {
    items.max(0).unsigned_abs().div_ceil(each).max(1)
}
