//! The data of modules, functions and links.

use exec::Kernel;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Arc;
use workloads::device::ModuleId;

/// A module of the program.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Module {
    pub context: u64,
    pub device: usize,
    /// The module on the simulated device.
    pub loaded: ModuleId,
    /// Identity of the contents that it was loaded from.
    pub contents: u64,
    /// Handles of its functions, by name.
    pub functions: BTreeMap<String, u64>,
}

/// A function of a module.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Function {
    pub module: u64,
    pub device: usize,
    pub kernel: Arc<Kernel>,
    /// Size of the constant variables of its module.
    pub constant_bytes: u64,
    /// Dynamic shared memory that a launch may have at most.
    pub max_dynamic_shared: u32,
    /// Attributes that the program has set, by number.
    pub set: BTreeMap<u32, i32>,
    /// Its name as C has it.
    pub c_name: CString,
    /// Settings for launches by `cuLaunch`.
    pub old: OldLaunch,
}

/// Settings of the program before launches by `cuLaunch`, the interface of CUDA 2 and 3.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct OldLaunch {
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub arguments: Vec<u8>,
}

/// Shared memory of a CTA, static and dynamic, without `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub const USUAL_SHARED_BYTES: u32 = 48 << 10;

impl Function {
    /// A function without attributes of its own.
    pub fn new(module: u64, device: usize, kernel: Arc<Kernel>) -> Self {
        let max_dynamic_shared = USUAL_SHARED_BYTES.saturating_sub(kernel.static_shared);
        let c_name = CString::new(kernel.name()).unwrap_or_default();
        Self {
            module,
            device,
            kernel,
            constant_bytes: 0,
            max_dynamic_shared,
            set: BTreeMap::new(),
            c_name,
            old: OldLaunch::default(),
        }
    }
}

/// A buffer of the program for messages, with the place of its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Log {
    pub address: u64,
    pub room: u64,
    /// Where the program learns how many bytes were written; 0: nowhere.
    pub written: u64,
}

/// The program's buffers for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Logs {
    pub info: Log,
    pub error: Log,
    /// Where the time in milliseconds goes, as 32 bits of floating point.
    pub time: u64,
}

/// An input of the linker.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Ptx(Box<Text>),
    Binary(Vec<u8>),
}

/// A module of PTX with its name and text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) name: String,
    pub(super) module: ptx::ast::Module,
    pub(super) text: String,
}

/// A link in progress.
#[derive(Clone, Debug)]
pub struct Linker {
    pub(super) context: u64,
    pub(super) inputs: Vec<Input>,
    pub(super) logs: Logs,
    pub(super) errors: String,
    /// Stays until the end of the link: the program has its address.
    pub(super) image: Option<Box<[u8]>>,
}
