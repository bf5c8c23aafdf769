//! A workload's interface to a GPU: memory, modules, launches. The simulator implements it; so can
//! anything else that runs kernels.

use isa::{Dim3, Fault, Image};

/// Maximum number of launches of a run. Its report holds each of them, in up to 8 KiB.
pub const MOST_LAUNCHES: u64 = 1 << 20;

/// A piece of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Buffer {
    /// Device address of the first byte.
    pub address: u64,
    pub bytes: u64,
}

/// A module that a device has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModuleId(pub u32);

/// Source of a module.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum ModuleCode<'a> {
    Ptx(&'a str),
    /// PTX of a bundled workload: it runs on every GPU, whatever its target, so that workloads can be compared.
    BundledPtx(&'a str),
    /// A cubin or fatbin.
    Binary(&'a [u8]),
}

/// A module to load.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct ModuleSource<'a> {
    /// For messages: the file's name.
    pub name: &'a str,
    pub code: ModuleCode<'a>,
}

/// A kernel's parameter, as its module declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct ParameterInfo {
    pub name: String,
    /// Size in bytes: of the scalar, or of the whole array.
    pub bytes: u32,
    /// Type as PTX writes it without the dot (`u64`, `f32`, `b8`); empty where the module does not say.
    pub type_name: String,
}

/// A kernel's argument: its bytes as the kernel's parameter space holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgBytes(Vec<u8>);

impl ArgBytes {
    /// An argument of any type, as raw little-endian bytes: for structs passed by value.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes as the kernel reads them, little-endian.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Buffer> for ArgBytes {
    fn from(buffer: Buffer) -> Self {
        buffer.address.into()
    }
}

macro_rules! arg_from {
    ($($scalar:ty)*) => {$(
        impl From<$scalar> for ArgBytes {
            fn from(value: $scalar) -> Self {
                Self(value.to_le_bytes().to_vec())
            }
        }
    )*};
}
arg_from!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

/// How many registers each thread of a launch has, which decides occupancy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadRegisters {
    /// The device finds out: from the module's metadata, else from liveness.
    #[default]
    Estimated,
    /// Known from the machine-code compiler for the architecture at hand.
    Compiled(u32),
    /// The user gives the number.
    Given(u32),
}

/// A launch of a kernel.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct LaunchRequest<'a> {
    /// Module that holds the kernel.
    pub module: ModuleId,
    pub kernel: &'a str,
    pub grid: Dim3,
    pub block: Dim3,
    /// Shared memory per CTA beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// One per kernel parameter, in order.
    pub args: &'a [ArgBytes],
    pub registers: ThreadRegisters,
    /// Launches of one stream run in order; launches of different streams may overlap.
    pub stream: u32,
}

/// Why a device could not carry out an operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum DeviceError {
    /// No room for a buffer.
    #[error("buffer `{name}` of {} does not fit: {reason}", kit::text::counted(*bytes, "byte"))]
    OutOfMemory {
        name: String,
        bytes: u64,
        /// The reason.
        reason: String,
    },
    /// A host access beyond a buffer.
    #[error("access to {} at offset {offset} of a buffer of {}", kit::text::counted(*bytes, "byte"), kit::text::counted(*size, "byte"))]
    OutOfRange {
        offset: u64,
        bytes: u64,
        /// Size of the buffer.
        size: u64,
    },
    /// There is no such texture or surface, or not enough memory in it.
    #[error("no texture or surface can be made: {0}")]
    Image(String),
    /// The module could not be loaded; the text has all diagnostics, rendered.
    #[error("{0}")]
    Module(String),
    /// No such module was loaded.
    #[error("module {0:?} is not loaded")]
    UnknownModule(ModuleId),
    /// The module has no such kernel.
    #[error("there is no kernel `{name}` in the module{}", kit::suggest::among(name, known))]
    UnknownKernel { name: String, known: Vec<String> },
    /// The module has no such texture or surface reference.
    #[error("there is no texture or surface reference `{name}` in the module{}", kit::suggest::among(name, known))]
    UnknownReference { name: String, known: Vec<String> },
    /// The module has no such global variable.
    #[error("there is no variable `{name}` in the module{}", kit::suggest::among(name, known))]
    UnknownSymbol { name: String, known: Vec<String> },
    /// Arguments do not fit the kernel's parameters.
    #[error("kernel `{kernel}`: {problem}")]
    Arguments {
        kernel: String,
        /// A count or size differs from the declared one.
        problem: String,
    },
    /// Grid, block, shared memory or registers that the GPU cannot run.
    #[error("kernel `{kernel}` cannot be launched: {problem}")]
    Shape {
        kernel: String,
        /// Which limit, and its value.
        problem: String,
    },
    /// A thread did something illegal.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// Nothing can make progress; the text names the warps and what they wait for.
    #[error("{0}")]
    Deadlock(String),
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// Another problem, in words.
    #[error("{0}")]
    Other(String),
}

impl From<Fault> for DeviceError {
    fn from(fault: Fault) -> Self {
        DeviceError::Fault(Box::new(fault))
    }
}

/// A GPU as a host program sees it.
///
/// Launches may be carried out at once or later; `read`, `write`, `memset`, `free`, `write_symbol`
/// and `synchronize` first wait for all launches so far, and report their errors.
pub trait Device {
    /// Architecture, as in sm_75: 75. 0 if there is none, as in a purely functional run.
    fn sm_version(&self) -> u32;

    /// Sets the stack of a thread for modules that are loaded from now on, where machine code does not bound
    /// its own, as `cudaDeviceSetLimit` does. A functional device may ignore it.
    fn set_stack_bytes(&mut self, _bytes: u32) {}

    /// Sets the size of the heap of kernels, before any of them uses it, as `cudaDeviceSetLimit` does. A functional
    /// device may ignore it.
    fn set_heap_bytes(&mut self, _bytes: u64) {}

    /// Loads a module. Its global variables get their initial values.
    fn load_module(&mut self, source: &ModuleSource<'_>) -> Result<ModuleId, DeviceError>;

    /// Names of a module's kernels, in the order of the module.
    fn kernels(&self, module: ModuleId) -> Result<Vec<String>, DeviceError>;

    /// A kernel's parameters, in order.
    fn parameters(&self, module: ModuleId, kernel: &str) -> Result<Vec<ParameterInfo>, DeviceError>;

    /// Reserves memory, aligned to 256 bytes at least. Its contents are undefined. `name` is for
    /// messages.
    fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer, DeviceError>;

    /// Gives a buffer's memory back.
    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError>;

    /// Copies from host to device.
    fn write(&mut self, buffer: Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies from device to host.
    fn read(&mut self, buffer: Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Sets every byte of a buffer.
    fn memset(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError>;

    /// Where a module's variable in global or constant memory is, to be read and written like a buffer. A mangled
    /// name may be given by the plain one.
    fn symbol(&mut self, module: ModuleId, name: &str) -> Result<Buffer, DeviceError>;

    /// Writes a module's variable in global or constant memory.
    fn write_symbol(&mut self, module: ModuleId, name: &str, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Makes a texture or surface of memory; returns the object that kernels take, 64 bits.
    fn image(&mut self, image: &Image) -> Result<u64, DeviceError>;

    /// Binds a texture or surface reference of a module to an object that [`Device::image`] has made, for launches from
    /// now on.
    fn bind_image(&mut self, module: ModuleId, name: &str, object: u64) -> Result<(), DeviceError>;

    /// Starts a launch, which may run until its results are read.
    fn launch(&mut self, launch: &LaunchRequest<'_>) -> Result<(), DeviceError>;

    /// Waits for all launches.
    fn synchronize(&mut self) -> Result<(), DeviceError>;
}
