//! What a device says of itself: memory, name, limits, attributes of functions.

use crate::driver::Driver;
use crate::error::{Error, Result};
use config::GpuConfig;
use workloads::device::Device as _;

/// Bytes per second at which DRAM moves data at most.
pub(crate) fn dram_bytes_per_second(gpu: &GpuConfig) -> f64 {
    gpu.dram_peak_gb_per_s() * 1e9
}

/// Bytes of device memory.
pub(crate) fn memory_bytes(gpu: &GpuConfig) -> u64 {
    u64::from(gpu.board.memory_mib.unwrap_or(USUAL_MEMORY_MIB)) << 20
}

/// Name of the product.
pub fn product(gpu: &GpuConfig) -> &str {
    gpu.board.product.as_deref().unwrap_or(&gpu.description)
}

/// Device memory of boards that do not say, in MiB.
const USUAL_MEMORY_MIB: u32 = 8192;

impl Driver {
    /// Bytes of memory of a device.
    pub fn device_memory_bytes(&self, ordinal: i32) -> u64 {
        self.device(ordinal).map_or(0, |device| memory_bytes(&device.setup.gpu))
    }

    /// A limit of the current context (`CUlimit`).
    ///
    /// # Errors
    /// There is no context, or no such limit.
    pub fn limit(&mut self, limit: u32) -> Result<u64> {
        let (_, context) = self.context_here()?;
        let usual = *USUAL_LIMITS.get(limit as usize).ok_or(Error::UNSUPPORTED_LIMIT)?;
        Ok(context.limits.get(&limit).copied().unwrap_or(usual))
    }

    /// Sets a limit of the current context.
    ///
    /// # Errors
    /// There is no context, or no such limit.
    pub fn set_limit(&mut self, limit: u32, value: u64) -> Result<()> {
        let (_, context) = self.context_here()?;
        if limit as usize >= USUAL_LIMITS.len() {
            return Err(Error::UNSUPPORTED_LIMIT);
        }
        context.limits.insert(limit, value);
        let device = context.device;
        if limit == HEAP_SIZE {
            self.timeline(device)?.device.set_heap_bytes(value);
        }
        if limit == STACK_SIZE {
            let bytes = u32::try_from(value).map_err(|_| Error::INVALID_VALUE)?;
            self.timeline(device)?.device.set_stack_bytes(bytes);
        }
        Ok(())
    }

    /// An attribute of a function (`CUfunction_attribute`).
    ///
    /// # Errors
    /// There is no such function or attribute.
    pub fn function_attribute(&self, function: u64, attribute: i32) -> Result<i32> {
        let function = self.functions.get(function)?;
        let kernel = &function.kernel;
        let sm = self.devices[function.device].setup.gpu.sm_version as i32;
        Ok(match attribute {
            0 => kernel.max_threads.unwrap_or(1024) as i32,
            1 => kernel.static_shared as i32,
            2 => 0,
            3 => kernel.local_bytes as i32,
            4 => kernel.registers.per_thread as i32,
            5 | 6 => sm,
            7 => 0,
            8 => function.max_dynamic_shared as i32,
            9 => function.set.get(&9).copied().unwrap_or(-1),
            10..=15 => function.set.get(&(attribute as u32)).copied().unwrap_or(0),
            _ => return Err(Error::INVALID_VALUE),
        })
    }

    /// Sets an attribute of a function.
    ///
    /// # Errors
    /// There is no such function, the attribute cannot be set, or not to this value.
    pub fn set_function_attribute(&mut self, function: u64, attribute: i32, value: i32) -> Result<()> {
        let device = self.functions.get(function)?.device;
        let most = self.devices[device].setup.gpu.sm.max_shared_bytes_per_cta;
        let function = self.functions.get_mut(function)?;
        match attribute {
            8 => {
                let bytes = u32::try_from(value).map_err(|_| Error::INVALID_VALUE)?;
                if function.kernel.static_shared.saturating_add(bytes) > most {
                    return Err(Error::INVALID_VALUE);
                }
                function.max_dynamic_shared = bytes;
            }
            9..=15 => {
                function.set.insert(attribute as u32, value);
            }
            _ => return Err(Error::INVALID_VALUE),
        }
        Ok(())
    }

    /// Dynamic shared memory that CTAs of a function may have so that `ctas` of them fit on an SM.
    ///
    /// # Errors
    /// There is no such function, or so many do not fit without any.
    pub fn available_shared(&self, function: u64, ctas: u32, threads: u32) -> Result<u32> {
        if ctas == 0 || self.occupancy(function, threads, 0)? < ctas {
            return Err(Error::INVALID_VALUE);
        }
        let (mut fits, mut too_much) = (0, 1 << 20);
        while too_much - fits > 1 {
            let middle = (fits + too_much) / 2;
            if self.occupancy(function, threads, middle)? >= ctas { fits = middle } else { too_much = middle }
        }
        Ok(fits)
    }
}

/// Limits that a context has at first, by number: stack size, printf buffer, heap size, depth of synchronisation and
/// pending launches of dynamic parallelism, L2 fetch granularity, persisting L2 bytes.
const USUAL_LIMITS: [u64; 7] = [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0];
const STACK_SIZE: u32 = 0;
const HEAP_SIZE: u32 = 2;
