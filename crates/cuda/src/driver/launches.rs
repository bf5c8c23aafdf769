//! Launches of kernels and graphs.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::graph::Task;
use crate::module::{Function, Request, arguments, make_cooperative};
use crate::origin::Part;
use crate::work::{KernelLaunch, Work};
use exec::{Arg, Launch};
use isa::Dim3;
use std::sync::Arc;
use workloads::DeviceError;
use workloads::device::ThreadRegisters;

impl Driver {
    /// A launch that is checked, ready to be requested.
    ///
    /// # Errors
    /// The shape is impossible or does not fit on the GPU, arguments are missing.
    pub fn prepare(&mut self, request: &Request) -> Result<Arc<KernelLaunch>> {
        let &Function { module, device, max_dynamic_shared, ref kernel, .. } =
            self.modules.function_of(request.function)?;
        let kernel = kernel.clone();
        let shapes = (request.cluster, request.grid);
        let cluster = self.modules.launch_cluster(&self.platform, request.function, shapes)?;
        let dim3 = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
        if request.shared_bytes > max_dynamic_shared {
            return Err(Error::INVALID_VALUE);
        }
        let values = arguments(&*self.platform.host, &kernel, request.arguments)?;
        let args: Vec<Arg> = values.iter().cloned().map(Arg::Bytes).collect();
        let live = Launch::new(kernel, dim3(request.grid), dim3(request.block), request.shared_bytes, &args);
        let live = live.and_then(|mut live| live.set_cluster(cluster).map(|()| live));
        let live = live.map_err(|problem| {
            self.platform.host.message(&problem.to_string());
            Error::INVALID_VALUE
        })?;
        if let Err(problem) = self.platform.timeline(device)?.device.check_launch(&live) {
            self.platform.host.message(&problem.to_string());
            return Err(match problem {
                DeviceError::Shape { .. } if self.is_too_large_a_cluster(device, &live) => Error::INVALID_CLUSTER_SIZE,
                DeviceError::Shape { .. } => Error::LAUNCH_OUT_OF_RESOURCES,
                _ => Error::LAUNCH_FAILED,
            });
        }
        let (function, registers) = (request.function, ThreadRegisters::Estimated);
        let (bindings, args) = (self.images.bindings(&mut self.platform, module), values);
        let origin = self.platform.origin;
        let mut launch = KernelLaunch { live, registers, function, args, cooperative: false, bindings, origin };
        if request.cooperative {
            make_cooperative(&mut self.platform, device, &mut launch)?;
        }
        Ok(Arc::new(launch))
    }

    /// Whether a CTA of a launch fits on an SM of the GPU, and a cluster of them on no GPC.
    fn is_too_large_a_cluster(&self, device: usize, launch: &Launch) -> bool {
        let (gpu, shape) = (&self.platform.devices[device].setup.gpu, launch.shape());
        let fits = sm::occupancy(&gpu.sm, &shape).ctas_per_sm > 0;
        shape.cluster.is_some() && fits && lab::clusters_at_once(gpu, &shape) == 0
    }

    /// Notes what is open in the program, the outermost first, for launches from now on.
    pub fn launched_from(&mut self, open: Vec<Part>) {
        self.platform.origin = self.platform.origins.of(open);
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
        if self.modules.function_of(request.function)?.device != device {
            return Err(Error::INVALID_CONTEXT);
        }
        let launch = self.prepare(request)?;
        self.request(request.stream, Work::Launch(launch), &[]).map(|_| ())
    }

    /// Launches a graph in a stream. It begins after its previous launch.
    ///
    /// # Errors
    /// Either handle is invalid, the stream is one of another device, or memory of its last launch has not been freed.
    pub fn graph_launch(&mut self, executable: u64, stream: u64) -> Result<()> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        if self.graphs.executable(executable)?.device != device {
            return Err(Error::INVALID_VALUE);
        }
        if self.streams.is_captured(device, key)? {
            let graph = self.graphs.graph_of(&self.platform, &mut self.memory, executable)?;
            return self.capture(key, Task::Child(graph)).map(|_| ());
        }
        self.graphs.launch(&mut self.platform, &mut self.memory, &mut self.streams, executable, (device, key))
    }
}
