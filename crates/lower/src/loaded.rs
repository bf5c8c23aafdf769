//! Options, results and errors of loading a module.

use crate::registers::Registers;
use exec::{Kernel, LoadedModule};
use ptx::{Diagnostics, Severity, SourceText};
use std::sync::Arc;

/// Kernels of a file that are lowered when they are asked for.
pub(crate) trait Deferred: std::fmt::Debug + Send + Sync {
    /// Lowers the kernel of this name, if it is among them, or all kernels, and adds them to `loaded`.
    fn lower(&mut self, name: Option<&str>, loaded: &mut Loaded);

    /// Whether all kernels are lowered.
    fn is_done(&self) -> bool;
}

/// Address of module variables, below the heap.
const VARIABLES_BASE: u64 = 0x10_0000_0000;
/// Distance between the slots of modules; a module may take several.
const SLOT_DISTANCE: u64 = 2 << 20;
/// Bound on the variables of a module.
pub(crate) const MOST_VARIABLE_BYTES: u64 = 1 << 32;

/// Address of the variables of the module in `slot`.
pub(crate) fn module_base(slot: u32) -> u64 {
    VARIABLES_BASE + u64::from(slot) * SLOT_DISTANCE
}

/// Options of loading a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowerOptions {
    /// First slot of device memory for the module's variables: the one that [`Loaded::next_slot`] of the module
    /// loaded before returns.
    pub slot: u32,
    /// Registers per thread, if known; otherwise they are estimated.
    pub registers_per_thread: Option<u32>,
    /// Register allocation of PTX.
    pub registers: Registers,
    /// Architecture of the GPU, such as 75. PTX for a newer one is refused; not if it is older than sm_35, for which no
    /// compiler of today makes PTX. If it is `None`, PTX that no GPU here runs is refused.
    pub gpu_sm: Option<u32>,
    /// Loads code of another architecture than the GPU's.
    pub any_architecture: bool,
    /// Stack of a thread in bytes for machine code that does not bound it (recursion, calls through
    /// pointers); [`DEFAULT_STACK_BYTES`] if `None`. PTX takes what it needs.
    pub stack_bytes: Option<u32>,
    /// Kernels of machine code are lowered when [`Loaded::prepare`] asks for them: libraries have thousands, of which a
    /// program launches few.
    pub deferred: bool,
}

/// CUDA's default of `cudaLimitStackSize`.
pub const DEFAULT_STACK_BYTES: u32 = 1024;

/// A module could not be loaded, or a kernel in it cannot run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct LoadError {
    /// The problems, each with its place in the text.
    pub diagnostics: Diagnostics,
    /// The same, formatted.
    pub text: String,
    /// Architectures of the machine code, if it runs on others only.
    pub only_for: Vec<u32>,
}

impl LoadError {
    /// An error in a file that is not text.
    pub(crate) fn of_binary(text: String) -> Self {
        Self { diagnostics: Diagnostics::default(), text, only_for: Vec::new() }
    }

    pub(crate) fn new(diagnostics: Diagnostics, source: &SourceText) -> Box<Self> {
        let text = diagnostics.render(source, Severity::Error).trim_end().to_owned();
        Box::new(Self { diagnostics, text, only_for: Vec::new() })
    }
}

/// A kernel that cannot run, and the reason.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// Name of the kernel.
    pub name: String,
    /// All instructions in it and in its callees that are not executable.
    pub error: Box<LoadError>,
}

/// A loaded module: kernels that can run, kernels that cannot, and remarks on its text.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Kernels and variables.
    pub module: LoadedModule,
    /// Kernels that contain something that is not executable.
    pub rejected: Vec<Rejected>,
    /// Warnings and notes, formatted; may be empty.
    pub remarks: String,
    /// Cubins with kernels that are not lowered yet.
    pub(crate) deferred: Vec<Box<dyn Deferred>>,
}

/// The reason why [`Loaded::kernel`] returns no kernel.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the names say it")]
pub enum KernelError {
    /// The module has no kernel of this name.
    #[error("no kernel `{name}` in the module; it has {kernels}")]
    Unknown {
        name: String,
        /// The kernels of the module, listed.
        kernels: String,
    },
    /// The kernel cannot run.
    #[error("kernel `{name}` cannot run:\n{error}")]
    NotExecutable { name: String, error: Box<LoadError> },
}

impl Loaded {
    /// The first slot that the variables of this module, loaded into `slot`, leave free.
    pub fn next_slot(&self, slot: u32) -> u32 {
        let end = self.module.variables.iter().map(|v| v.address + v.bytes).max().unwrap_or(0);
        let slots = end.saturating_sub(module_base(slot)).div_ceil(SLOT_DISTANCE).max(1);
        slot.saturating_add(slots as u32)
    }

    /// Adds what another module holds, whose variables have later slots.
    pub(crate) fn absorb(&mut self, other: Self) {
        let LoadedModule { kernels, variables, references } = other.module;
        self.module.kernels.extend(kernels);
        self.module.variables.extend(variables);
        self.module.references.extend(references);
        self.rejected.extend(other.rejected);
        self.remarks += &other.remarks;
        self.deferred.extend(other.deferred);
    }

    /// Lowers the deferred kernels of this name (see [`LowerOptions::deferred`]), or all of them.
    pub fn prepare(&mut self, name: Option<&str>) {
        let mut deferred = std::mem::take(&mut self.deferred);
        deferred.iter_mut().for_each(|cubin| cubin.lower(name, self));
        deferred.retain(|cubin| !cubin.is_done());
        self.deferred = deferred;
    }

    /// The kernel `name`.
    ///
    /// # Errors
    /// If there is none, or if it cannot run.
    pub fn kernel(&self, name: &str) -> Result<&Arc<Kernel>, KernelError> {
        if let Some(kernel) = self.module.kernel(name) {
            return Ok(kernel);
        }
        if let Some(r) = self.rejected.iter().find(|r| exec::is_named(&r.name, name)) {
            return Err(KernelError::NotExecutable { name: r.name.clone(), error: r.error.clone() });
        }
        let names: Vec<&str> =
            self.module.kernels.iter().map(|k| k.name()).chain(self.rejected.iter().map(|r| &*r.name)).collect();
        let kernels = if names.is_empty() { "none".into() } else { names.join(", ") };
        Err(KernelError::Unknown { name: name.into(), kernels })
    }

    /// Everything in all kernels that is not executable; `None` if all of them can run.
    pub fn problems(&self) -> Option<String> {
        let texts: Vec<&str> = self.rejected.iter().map(|r| &*r.error.text).collect();
        if texts.is_empty() { None } else { Some(texts.join("\n")) }
    }
}
