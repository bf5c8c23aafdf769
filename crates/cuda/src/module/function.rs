//! Functions: their attributes, and how many CTAs of them are on an SM.

use crate::error::{Error, Result};
use crate::module::{Function, Modules};
use crate::platform::Platform;
use isa::Dim3;

impl Modules {
    /// A function.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn function_of(&self, function: u64) -> Result<&Function> {
        self.functions.get(function)
    }

    /// A function, to change what its launches take.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn function_mut(&mut self, function: u64) -> Result<&mut Function> {
        self.functions.get_mut(function)
    }

    /// An attribute of a function (`CUfunction_attribute`).
    ///
    /// # Errors
    /// There is no such function or attribute.
    pub fn function_attribute(&self, platform: &Platform, function: u64, attribute: i32) -> Result<i32> {
        let function = self.functions.get(function)?;
        let kernel = &function.kernel;
        let sm = platform.devices[function.device].setup.gpu.sm_version as i32;
        Ok(match attribute {
            0 => kernel.max_threads.unwrap_or(1024) as i32,
            1 => kernel.static_shared as i32,
            2 => i32::try_from(function.constant_bytes).unwrap_or(i32::MAX),
            3 => kernel.local_bytes as i32,
            4 => kernel.registers.per_thread as i32,
            5 | 6 => sm,
            7 => 0,
            8 => function.max_dynamic_shared as i32,
            9 => function.set.get(&9).copied().unwrap_or(-1),
            10 => i32::from(function.needs_cluster()),
            11..=13 if kernel.required_cluster.is_some() => {
                let cluster = kernel.required_cluster.unwrap_or(Dim3::new(0, 0, 0));
                [cluster.x, cluster.y, cluster.z][attribute as usize - 11] as i32
            }
            11..=15 => function.set.get(&(attribute as u32)).copied().unwrap_or(0),
            _ => return Err(Error::INVALID_VALUE),
        })
    }

    /// Sets an attribute of a function.
    ///
    /// # Errors
    /// There is no such function, the attribute cannot be set, or not to this value.
    pub fn set_function_attribute(
        &mut self,
        platform: &Platform,
        function: u64,
        attribute: i32,
        value: i32,
    ) -> Result<()> {
        let device = self.functions.get(function)?.device;
        let most = platform.devices[device].setup.gpu.sm.max_shared_bytes_per_cta;
        let function = self.functions.get_mut(function)?;
        match attribute {
            8 => {
                let bytes = u32::try_from(value).map_err(|_| Error::INVALID_VALUE)?;
                if function.kernel.static_shared.saturating_add(bytes) > most {
                    return Err(Error::INVALID_VALUE);
                }
                function.max_dynamic_shared = bytes;
            }
            11..=13 if function.kernel.required_cluster.is_some() => return Err(Error::NOT_PERMITTED),
            11..=13 if value < 0 => return Err(Error::INVALID_VALUE),
            9..=15 => {
                function.set.insert(attribute as u32, value);
            }
            _ => return Err(Error::INVALID_VALUE),
        }
        Ok(())
    }

    /// CTAs of a function that fit on an SM.
    ///
    /// # Errors
    /// It is not a function, or the block is empty.
    pub fn occupancy(&self, platform: &Platform, function: u64, threads: u32, dynamic_shared: u32) -> Result<u32> {
        let function = self.functions.get(function)?;
        if threads == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let gpu = &platform.devices[function.device].setup.gpu;
        let kernel = &function.kernel;
        let most = kernel.max_threads.unwrap_or(1024).min(1024);
        let shared_bytes = kernel.static_shared.saturating_add(dynamic_shared);
        let fits = threads <= most && shared_bytes <= gpu.sm.max_shared_bytes_per_cta;
        let shape = isa::LaunchShape {
            grid: Dim3::new(u32::MAX >> 1, 1, 1),
            block: Dim3::new(threads, 1, 1),
            registers_per_thread: kernel.registers.per_thread,
            shared_bytes,
            cluster: None,
        };
        Ok(if fits { sm::occupancy(&gpu.sm, &shape).ctas_per_sm } else { 0 })
    }

    /// Dynamic shared memory that CTAs of a function may have so that `ctas` of them fit on an SM.
    ///
    /// # Errors
    /// There is no such function, or not as many CTAs fit without dynamic shared memory.
    pub fn available_shared(&self, platform: &Platform, function: u64, ctas: u32, threads: u32) -> Result<u32> {
        if ctas == 0 || self.occupancy(platform, function, threads, 0)? < ctas {
            return Err(Error::INVALID_VALUE);
        }
        let (mut fits, mut too_much) = (0, 1 << 20);
        while too_much - fits > 1 {
            let middle = (fits + too_much) / 2;
            if self.occupancy(platform, function, threads, middle)? >= ctas { fits = middle } else { too_much = middle }
        }
        Ok(fits)
    }
}
