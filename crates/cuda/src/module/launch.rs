//! Functions and their launches.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::module::Function;
use crate::work::{KernelLaunch, Work};
use exec::{Arg, Kernel, Launch};
use isa::Dim3;
use std::sync::Arc;
use workloads::DeviceError;
use workloads::device::ThreadRegisters;

/// Where a program has put the arguments of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// Address of an array of addresses, one for each parameter.
    Each(u64),
    /// Address and size of all of them, as the kernel has them.
    Packed(u64, u64),
    /// There are none.
    None,
}

/// A requested launch.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Request {
    pub function: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub stream: u64,
    pub arguments: Arguments,
    /// All CTAs must be on the GPU at the same time.
    pub cooperative: bool,
}

impl Driver {
    /// The bytes of each argument.
    fn arguments(&self, kernel: &Kernel, arguments: Arguments) -> Result<Vec<Vec<u8>>> {
        let addresses: Vec<u64> = match arguments {
            Arguments::Each(list) => {
                let mut bytes = vec![0; 8 * kernel.params.len()];
                if !bytes.is_empty() && !self.platform.host.read(list, &mut bytes) {
                    return Err(Error::INVALID_VALUE);
                }
                bytes.chunks_exact(8).map(|each| u64::from_le_bytes(each.try_into().unwrap_or_default())).collect()
            }
            Arguments::Packed(start, bytes) => {
                if kernel.params.iter().any(|param| u64::from(param.offset + param.bytes) > bytes) {
                    return Err(Error::INVALID_VALUE);
                }
                kernel.params.iter().map(|param| start + u64::from(param.offset)).collect()
            }
            Arguments::None if kernel.params.is_empty() => Vec::new(),
            Arguments::None => return Err(Error::INVALID_VALUE),
        };
        let mut values: Vec<Vec<u8>> = kernel.params.iter().map(|param| vec![0; param.bytes as usize]).collect();
        let mut pieces: Vec<(u64, &mut [u8])> =
            addresses.into_iter().zip(values.iter_mut().map(|value| &mut value[..])).collect();
        if self.platform.host.read_each(&mut pieces) { Ok(values) } else { Err(Error::INVALID_VALUE) }
    }

    /// A launch that is checked, ready to be requested.
    ///
    /// # Errors
    /// The shape is impossible or does not fit on the GPU, arguments are missing.
    pub fn prepare(&mut self, request: &Request) -> Result<Arc<KernelLaunch>> {
        let &Function { module, device, max_dynamic_shared, ref kernel, .. } = self.functions.get(request.function)?;
        let kernel = kernel.clone();
        let dim3 = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
        if request.shared_bytes > max_dynamic_shared {
            return Err(Error::INVALID_VALUE);
        }
        let values = self.arguments(&kernel, request.arguments)?;
        let args: Vec<Arg> = values.iter().cloned().map(Arg::Bytes).collect();
        let live = Launch::new(kernel, dim3(request.grid), dim3(request.block), request.shared_bytes, &args);
        let live = live.map_err(|problem| {
            self.platform.host.message(&problem.to_string());
            Error::INVALID_VALUE
        })?;
        if let Err(problem) = self.platform.timeline(device)?.device.check_launch(&live) {
            self.platform.host.message(&problem.to_string());
            return Err(match problem {
                DeviceError::Shape { .. } => Error::LAUNCH_OUT_OF_RESOURCES,
                _ => Error::LAUNCH_FAILED,
            });
        }
        let (function, registers) = (request.function, ThreadRegisters::Estimated);
        let (bindings, args) = (self.bindings(module), values);
        let mut launch = KernelLaunch { live, registers, function, args, cooperative: false, bindings };
        if request.cooperative {
            self.make_cooperative(device, &mut launch)?;
        }
        Ok(Arc::new(launch))
    }

    /// Makes a launch one whose CTAs are all on the GPU at the same time.
    pub(crate) fn make_cooperative(&mut self, device: usize, launch: &mut KernelLaunch) -> Result<()> {
        if launch.live.grid.volume() > self.resident_ctas(device, &launch.live) {
            return Err(Error::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        self.platform.timeline(device)?.prepare_workspace().map_err(|_| Error::OUT_OF_MEMORY)?;
        launch.cooperative = true;
        Ok(())
    }

    /// CTAs of a launch that are on the GPU at the same time.
    fn resident_ctas(&self, device: usize, live: &Launch) -> u64 {
        let gpu = &self.platform.devices[device].setup.gpu;
        u64::from(sm::occupancy(&gpu.sm, &live.shape()).ctas_per_sm) * u64::from(gpu.sm_count)
    }

    /// Requests a launch.
    ///
    /// # Errors
    /// As [`Driver::prepare`], or it is not a stream of the function's device.
    pub fn launch(&mut self, request: &Request) -> Result<()> {
        let launched = self.try_to_launch(request);
        self.platform.notes.failed.launches += u64::from(launched.is_err());
        launched
    }

    fn try_to_launch(&mut self, request: &Request) -> Result<()> {
        let device = self.streams.device_of(&self.platform, request.stream)?;
        if self.functions.get(request.function)?.device != device {
            return Err(Error::INVALID_CONTEXT);
        }
        let launch = self.prepare(request)?;
        self.request(request.stream, Work::Launch(launch), &[]).map(|_| ())
    }
}
