//! A GPU that a Python program works with: memory, modules, launches.

use crate::failure::{self, bad_input};
use crate::job::{self, Keywords};
use crate::monitor::{Stopped, Watch};
use crate::outcome::Outcome;
use config::GpuConfig;
use isa::Dim3;
use lab::SimulatedDevice;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use request::{Options, Way, code, sweep};
use std::sync::{Mutex, MutexGuard, PoisonError};
use workloads::device::{ArgBytes, Buffer, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ThreadRegisters};
use workloads::{Device as _, DeviceError, Form};

/// A simulated GPU.
#[pyclass(frozen, module = "warpwright._native")]
pub struct Device {
    device: Mutex<SimulatedDevice<'static>>,
    gpu: GpuConfig,
    compiled: Form,
    options: Options,
    stopped: Stopped,
}

impl Device {
    fn device(&self) -> MutexGuard<'_, SimulatedDevice<'static>> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work` while other Python threads run.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut SimulatedDevice<'static>) -> Result<T, DeviceError> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| work(&mut self.device()));
        self.stopped.check()?;
        done.map_err(|error| match error {
            DeviceError::Fault(_) | DeviceError::Deadlock(_) | DeviceError::Interrupted => failure::failed(error),
            error => bad_input(error),
        })
    }
}

#[pymethods]
impl Device {
    #[new]
    fn new(keywords: Keywords, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        job::check_without_input(&keywords)?;
        let options = job::options(Way::Python, keywords)?;
        let setup = sweep::device(&options).map_err(bad_input)?;
        job::check_files(&options, &[])?;
        setup.energy.as_ref().map_err(bad_input)?;
        let (watch, stopped) = Watch::new(progress);
        let device = SimulatedDevice::watched(&setup, Box::new(watch)).map_err(bad_input)?;
        let compiled = code::of_device(&options, &setup.gpu, &setup.core);
        Ok(Self { device: Mutex::new(device), gpu: setup.gpu, compiled, options, stopped })
    }

    /// Architecture, as in sm_75: 75.
    fn sm_version(&self) -> u32 {
        self.gpu.sm_version
    }

    /// Whether kernels are compiled for it to machine code, not to PTX.
    fn takes_machine_code(&self) -> bool {
        self.compiled == Form::Sass
    }

    /// Loads PTX.
    fn load_ptx(&self, py: Python<'_>, name: &str, text: &str) -> PyResult<u32> {
        let source = ModuleSource { name, code: ModuleCode::Ptx(text) };
        self.with(py, |device| device.load_module(&source)).map(|id| id.0)
    }

    /// Loads a cubin or fatbin.
    fn load_binary(&self, py: Python<'_>, name: &str, code: &[u8]) -> PyResult<u32> {
        let source = ModuleSource { name, code: ModuleCode::Binary(code) };
        self.with(py, |device| device.load_module(&source)).map(|id| id.0)
    }

    /// Names of a module's kernels.
    fn kernels(&self, py: Python<'_>, module: u32) -> PyResult<Vec<String>> {
        self.with(py, |device| device.kernels(ModuleId(module)))
    }

    /// Name, bytes and type of each parameter of a kernel.
    fn parameters(&self, py: Python<'_>, module: u32, kernel: &str) -> PyResult<Vec<(String, u32, String)>> {
        let found = self.with(py, |device| device.parameters(ModuleId(module), kernel))?;
        Ok(found.into_iter().map(|p| (p.name, p.bytes, p.type_name)).collect())
    }

    /// Reserves memory; returns its address.
    fn alloc(&self, py: Python<'_>, name: &str, bytes: u64) -> PyResult<u64> {
        self.with(py, |device| device.alloc(name, bytes)).map(|buffer| buffer.address)
    }

    /// Gives memory back.
    fn free(&self, py: Python<'_>, address: u64, bytes: u64) -> PyResult<()> {
        self.with(py, |device| device.free(Buffer { address, bytes }))
    }

    /// Address and bytes of a module's variable.
    fn symbol(&self, py: Python<'_>, module: u32, name: &str) -> PyResult<(u64, u64)> {
        self.with(py, |device| device.symbol(ModuleId(module), name)).map(|buffer| (buffer.address, buffer.bytes))
    }

    /// Copies to the device.
    fn write(&self, py: Python<'_>, address: u64, data: &[u8]) -> PyResult<()> {
        let buffer = Buffer { address, bytes: data.len() as u64 };
        self.with(py, |device| device.write(buffer, 0, data))
    }

    /// Copies from the device.
    fn read<'py>(&self, py: Python<'py>, address: u64, bytes: u64) -> PyResult<Bound<'py, PyBytes>> {
        let read = self.with(py, |device| {
            let mut data = vec![0; bytes as usize];
            device.read(Buffer { address, bytes }, 0, &mut data).map(|()| data)
        })?;
        Ok(PyBytes::new(py, &read))
    }

    /// Starts a launch.
    #[allow(clippy::too_many_arguments, reason = "the parts of a launch, which the package names")]
    fn launch(
        &self,
        py: Python<'_>,
        module: u32,
        kernel: &str,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        dynamic_shared_bytes: u32,
        args: Vec<Vec<u8>>,
        registers: Option<u32>,
        stream: u32,
    ) -> PyResult<()> {
        let args: Vec<ArgBytes> = args.into_iter().map(ArgBytes::from_bytes).collect();
        let request = LaunchRequest {
            module: ModuleId(module),
            kernel,
            grid: Dim3::new(grid.0, grid.1, grid.2),
            block: Dim3::new(block.0, block.1, block.2),
            dynamic_shared_bytes,
            args: &args,
            registers: registers.map_or(ThreadRegisters::Estimated, ThreadRegisters::Given),
            stream,
        };
        self.with(py, |device| device.launch(&request))
    }

    /// Waits for all launches.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |device| device.synchronize())
    }

    /// The report of the launches so far, under the name `title`. Files that keywords name are written anew.
    fn outcome(&self, title: String) -> PyResult<Outcome> {
        let mut device = self.device();
        let output = device.take_output();
        let mut report = device.summary(title);
        report.output.extend(output.lines().map(str::to_owned));
        job::save(&self.options, &report, &self.gpu)?;
        Ok(Outcome::new(report, self.gpu.clone()))
    }
}
