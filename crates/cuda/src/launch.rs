//! Functions and their launches.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::work::{KernelLaunch, Work};
use exec::{Arg, Kernel, Launch};
use isa::Dim3;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Arc;
use workloads::DeviceError;
use workloads::device::ThreadRegisters;

/// A function of a module.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Function {
    pub module: u64,
    pub device: usize,
    pub kernel: Arc<Kernel>,
    /// Dynamic shared memory that a launch may have at most.
    pub max_dynamic_shared: u32,
    /// Attributes that the program has set, by number.
    pub set: BTreeMap<u32, i32>,
    /// Its name as C has it.
    pub c_name: CString,
    /// What launches by `cuLaunch` take.
    pub old: OldLaunch,
}

/// What the program sets before launches by `cuLaunch`, the interface of CUDA 2 and 3.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct OldLaunch {
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub arguments: Vec<u8>,
}

/// Shared memory of a CTA, static and dynamic, without `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub const USUAL_SHARED_BYTES: u32 = 48 << 10;

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

impl Function {
    /// A function without attributes of its own.
    pub fn new(module: u64, device: usize, kernel: Arc<Kernel>) -> Self {
        let max_dynamic_shared = USUAL_SHARED_BYTES.saturating_sub(kernel.static_shared);
        let c_name = CString::new(kernel.name()).unwrap_or_default();
        Self { module, device, kernel, max_dynamic_shared, set: BTreeMap::new(), c_name, old: OldLaunch::default() }
    }
}

impl Driver {
    /// A function.
    ///
    /// # Errors
    /// It is none.
    pub fn function_of(&self, function: u64) -> Result<&Function> {
        self.functions.get(function)
    }

    /// A function, to change what its launches take.
    ///
    /// # Errors
    /// It is none.
    pub fn function_mut(&mut self, function: u64) -> Result<&mut Function> {
        self.functions.get_mut(function)
    }

    /// The bytes of each argument.
    fn arguments(&self, kernel: &Kernel, arguments: Arguments) -> Result<Vec<Vec<u8>>> {
        let read = |address: u64, bytes: usize| {
            let mut value = vec![0; bytes];
            if self.host.read(address, &mut value) { Ok(value) } else { Err(Error::INVALID_VALUE) }
        };
        let each = kernel.params.iter().enumerate().map(|(i, param)| match arguments {
            Arguments::Each(list) => {
                let address = read(list + 8 * i as u64, 8)?;
                read(u64::from_le_bytes(address.try_into().unwrap_or_default()), param.bytes as usize)
            }
            Arguments::Packed(start, bytes) if u64::from(param.offset + param.bytes) <= bytes => {
                read(start + u64::from(param.offset), param.bytes as usize)
            }
            Arguments::Packed(..) | Arguments::None => Err(Error::INVALID_VALUE),
        });
        each.collect()
    }

    /// A launch that is checked, ready to be requested.
    ///
    /// # Errors
    /// The shape is impossible or does not fit on the GPU, arguments are missing.
    pub fn prepare(&mut self, request: &Request) -> Result<Arc<KernelLaunch>> {
        let Function { module, device, kernel, max_dynamic_shared, .. } = self.functions.get(request.function)?.clone();
        let dim3 = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
        if request.shared_bytes > max_dynamic_shared {
            return Err(Error::INVALID_VALUE);
        }
        let values = self.arguments(&kernel, request.arguments)?;
        let args: Vec<Arg> = values.iter().cloned().map(Arg::Bytes).collect();
        let live = Launch::new(kernel.clone(), dim3(request.grid), dim3(request.block), request.shared_bytes, &args);
        let live = live.map_err(|problem| {
            self.host.message(&problem.to_string());
            Error::INVALID_VALUE
        })?;
        if let Err(problem) = self.timeline(device)?.device.check_launch(&live) {
            self.host.message(&problem.to_string());
            return Err(match problem {
                DeviceError::Shape { .. } => Error::LAUNCH_OUT_OF_RESOURCES,
                _ => Error::LAUNCH_FAILED,
            });
        }
        let (function, registers) = (request.function, ThreadRegisters::Estimated);
        let timed = self.settings.time.includes(kernel.name());
        let (bindings, args) = (self.bindings(module), values);
        let mut launch = KernelLaunch { live, registers, timed, function, args, cooperative: false, bindings };
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
        launch.live.set_workspace(self.workspace(device)?);
        // CTAs that wait for each other cannot be executed one after another.
        (launch.cooperative, launch.timed) = (true, true);
        Ok(())
    }

    /// The words with which the CTAs of cooperative launches of a device count arrivals.
    fn workspace(&mut self, device: usize) -> Result<u64> {
        if let Some(workspace) = self.devices[device].workspace {
            return Ok(workspace);
        }
        let memory = self.timeline(device)?.device.memory();
        let workspace = memory.allocate("workspace of cooperative launches", Launch::WORKSPACE_BYTES);
        let workspace = workspace.map_err(|_| Error::OUT_OF_MEMORY)?;
        self.devices[device].workspace = Some(workspace);
        Ok(workspace)
    }

    /// CTAs of a launch that are on the GPU at the same time.
    fn resident_ctas(&self, device: usize, live: &Launch) -> u64 {
        let gpu = &self.devices[device].setup.gpu;
        u64::from(sm::occupancy(&gpu.sm, &live.shape()).ctas_per_sm) * u64::from(gpu.sm_count)
    }

    /// Requests a launch.
    ///
    /// # Errors
    /// As [`Driver::prepare`], or it is no stream of the function's device.
    pub fn launch(&mut self, request: &Request) -> Result<()> {
        let device = self.stream_device(request.stream)?;
        if self.functions.get(request.function)?.device != device {
            return Err(Error::INVALID_CONTEXT);
        }
        let launch = self.prepare(request)?;
        self.request(request.stream, Work::Launch(launch), &[]).map(|_| ())
    }

    /// CTAs of a function that fit on an SM.
    ///
    /// # Errors
    /// It is no function, or the block is empty.
    pub fn occupancy(&self, function: u64, threads: u32, dynamic_shared: u32) -> Result<u32> {
        let function = self.functions.get(function)?;
        if threads == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let gpu = &self.devices[function.device].setup.gpu;
        let kernel = &function.kernel;
        let most = kernel.max_threads.unwrap_or(1024).min(1024);
        let shared_bytes = kernel.static_shared.saturating_add(dynamic_shared);
        let fits = threads <= most && shared_bytes <= gpu.sm.max_shared_bytes_per_cta;
        let shape = isa::LaunchShape {
            grid: Dim3::new(u32::MAX >> 1, 1, 1),
            block: Dim3::new(threads, 1, 1),
            registers_per_thread: kernel.registers.per_thread,
            shared_bytes,
        };
        Ok(if fits { sm::occupancy(&gpu.sm, &shape).ctas_per_sm } else { 0 })
    }
}
