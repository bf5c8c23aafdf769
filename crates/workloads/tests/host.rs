//! A device for tests: device memory and modules, and launches that run at once. Each crate says what runs them; the
//! tests of other crates name this file by its path.

use exec::{DeviceState, GpuFacts, Kernel, Launch};
use lower::{KernelError, Loaded, LowerOptions, Registers};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use workloads::device::{
    Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ParameterInfo,
};

/// Executor of the launches of a [`Host`].
pub trait Runs {
    /// The memory.
    fn state(&mut self) -> &mut DeviceState;

    /// Runs a launch to its end.
    fn run(&mut self, launch: &Launch) -> Result<(), DeviceError>;

    /// Architecture whose machine code is run; 0 for none.
    fn sm_version(&self) -> u32 {
        0
    }
}

/// The device.
pub struct Host<R> {
    pub runs: R,
    pub modules: Vec<Loaded>,
    /// Registers for PTX.
    pub registers: Registers,
}

impl<R> From<R> for Host<R> {
    fn from(runs: R) -> Self {
        Self { runs, modules: Vec::new(), registers: Registers::Virtual }
    }
}

impl<R> Deref for Host<R> {
    type Target = R;
    fn deref(&self) -> &R {
        &self.runs
    }
}

impl<R> DerefMut for Host<R> {
    fn deref_mut(&mut self) -> &mut R {
        &mut self.runs
    }
}

/// Empty device memory.
pub fn memory() -> DeviceState {
    DeviceState::new(16 << 30, GpuFacts::default())
}

pub fn other(error: impl std::fmt::Display) -> DeviceError {
    DeviceError::Other(error.to_string())
}

fn span(buffer: Buffer, offset: u64, bytes: usize) -> Result<u64, DeviceError> {
    if offset + bytes as u64 > buffer.bytes {
        return Err(DeviceError::OutOfRange { offset, bytes: bytes as u64, size: buffer.bytes });
    }
    Ok(buffer.address + offset)
}

impl<R> Host<R> {
    fn module(&self, id: ModuleId) -> Result<&Loaded, DeviceError> {
        self.modules.get(id.0 as usize).ok_or(DeviceError::UnknownModule(id))
    }

    pub fn kernel(&self, id: ModuleId, name: &str) -> Result<&Arc<Kernel>, DeviceError> {
        self.module(id)?.kernel(name).map_err(|error| match error {
            KernelError::Unknown { name, .. } => DeviceError::UnknownKernel { name, known: Vec::new() },
            error => DeviceError::Module(error.to_string()),
        })
    }
}

impl<R: Runs> Device for Host<R> {
    fn sm_version(&self) -> u32 {
        self.runs.sm_version()
    }
    fn load_module(&mut self, source: &ModuleSource<'_>) -> Result<ModuleId, DeviceError> {
        let slot = self.modules.iter().fold(0, |slot, module| module.next_slot(slot));
        let options = LowerOptions { slot, registers: self.registers, ..LowerOptions::default() };
        let loaded = match source.code {
            ModuleCode::Ptx(text) | ModuleCode::BundledPtx(text) => lower::load(source.name, text, options),
            ModuleCode::Binary(file) => lower::load_binary(source.name, file, self.sm_version(), options),
        };
        let loaded = loaded.map_err(|e| DeviceError::Module(e.to_string()))?;
        self.runs.state().load(&loaded.module).map_err(other)?;
        self.modules.push(loaded);
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }
    fn kernels(&self, module: ModuleId) -> Result<Vec<String>, DeviceError> {
        Ok(self.module(module)?.module.kernels.iter().map(|k| k.name().to_owned()).collect())
    }
    fn parameters(&self, module: ModuleId, kernel: &str) -> Result<Vec<ParameterInfo>, DeviceError> {
        let info = |p: &exec::Param| ParameterInfo {
            name: p.name.clone(),
            bytes: p.bytes,
            type_name: p.ty.trim_start_matches('.').to_owned(),
        };
        Ok(self.kernel(module, kernel)?.params.iter().map(info).collect())
    }
    fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer, DeviceError> {
        let address = self.runs.state().memory.allocate(name, bytes).map_err(other)?;
        Ok(Buffer { address, bytes })
    }
    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.runs.state().memory.free(buffer.address).map_err(other)
    }
    fn write(&mut self, buffer: Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.runs.state().memory.write(span(buffer, offset, bytes.len())?, bytes).map_err(other)
    }
    fn read(&mut self, buffer: Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.runs.state().memory.read(span(buffer, offset, bytes.len())?, bytes).map_err(other)
    }
    fn memset(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError> {
        self.write(buffer, 0, &vec![byte; buffer.bytes as usize])
    }
    fn symbol(&mut self, module: ModuleId, name: &str) -> Result<Buffer, DeviceError> {
        let variable = self.module(module)?.module.variable(name).ok_or_else(|| other(name))?;
        Ok(Buffer { address: variable.address, bytes: variable.bytes })
    }
    fn write_symbol(&mut self, module: ModuleId, name: &str, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let place = self.symbol(module, name)?;
        self.write(place, offset, bytes)
    }
    fn image(&mut self, image: &isa::Image) -> Result<u64, DeviceError> {
        self.runs.state().add_image(*image).map_err(|e| DeviceError::Image(e.to_string()))
    }
    fn bind_image(&mut self, module: ModuleId, name: &str, object: u64) -> Result<(), DeviceError> {
        let reference = self.module(module)?.module.reference(name).cloned().ok_or_else(|| other(name))?;
        self.runs.state().bind(&reference, Some(object)).map_err(other)
    }
    fn launch(&mut self, launch: &LaunchRequest<'_>) -> Result<(), DeviceError> {
        let kernel = self.kernel(launch.module, launch.kernel)?.clone();
        let args: Vec<_> = launch.args.iter().map(|a| exec::Arg::Bytes(a.bytes().to_vec())).collect();
        let live = Launch::new(kernel, launch.grid, launch.block, launch.dynamic_shared_bytes, &args)
            .map_err(|e| DeviceError::Arguments { kernel: launch.kernel.to_owned(), problem: e.problem() })?;
        self.runs.run(&live)
    }
    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}
