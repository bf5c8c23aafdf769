//! What loading a module takes and gives.

use crate::registers::Registers;
use exec::{Kernel, LoadedModule};
use ptx::{Diagnostics, Severity, SourceText};
use std::sync::Arc;

/// Addresses below the heap where module variables lie: 4 GiB for each slot.
const VARIABLES_BASE: u64 = 0x10_0000_0000;
pub(crate) const SLOT_BYTES: u64 = 1 << 32;

/// Where the variables of the module in place `slot` start.
pub(crate) fn module_base(slot: u16) -> u64 {
    VARIABLES_BASE + u64::from(slot) * SLOT_BYTES
}

/// What the caller decides about loading a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowerOptions {
    /// Which of the device's places for module variables to use: give each module its own.
    pub slot: u16,
    /// Registers per thread, if known; else they are estimated.
    pub registers_per_thread: Option<u32>,
    /// Which registers PTX runs with.
    pub registers: Registers,
    /// Whether machine code of another architecture than the GPU's is loaded.
    pub any_architecture: bool,
    /// Stack of a thread, in bytes, where machine code does not bound its own, for recursion or calls
    /// through pointers; 1 KiB if absent. PTX takes what it needs.
    pub stack_bytes: Option<u32>,
}

/// CUDA's default of `cudaLimitStackSize`.
pub const DEFAULT_STACK_BYTES: u32 = 1024;

/// A module could not be loaded, or a kernel in it cannot run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct LoadError {
    /// What is wrong, each with its place in the text.
    pub diagnostics: Diagnostics,
    /// The same, as text for a person.
    pub text: String,
}

impl LoadError {
    /// An error in a file that is not text.
    pub(crate) fn of_binary(text: String) -> Self {
        Self { diagnostics: Diagnostics::default(), text }
    }

    pub(crate) fn new(diagnostics: Diagnostics, source: &SourceText) -> Box<Self> {
        let text = diagnostics.render(source, Severity::Error).trim_end().to_owned();
        Box::new(Self { diagnostics, text })
    }
}

/// A kernel that cannot run, and why.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// Name of the kernel.
    pub name: String,
    /// All that is not executable in it and in what it calls.
    pub error: Box<LoadError>,
}

/// A module with the kernels in it that can run, those that cannot, and remarks on its text.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Kernels and variables.
    pub module: LoadedModule,
    /// Kernels that hold something that is not executable.
    pub rejected: Vec<Rejected>,
    /// Warnings and notes, as text for a person; may be empty.
    pub remarks: String,
}

/// Why [`Loaded::kernel`] has no kernel to give.
#[derive(Clone, Debug, thiserror::Error)]
pub enum KernelError {
    /// No kernel is called that.
    #[error("no kernel `{name}` in the module; it has {kernels}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The kernels there are.
        kernels: String,
    },
    /// It cannot run.
    #[error("kernel `{name}` cannot run:\n{error}")]
    NotExecutable {
        /// Its name.
        name: String,
        /// Why.
        error: Box<LoadError>,
    },
}

impl Loaded {
    /// The kernel called `name`.
    ///
    /// # Errors
    /// If there is none, or it cannot run.
    pub fn kernel(&self, name: &str) -> Result<&Arc<Kernel>, KernelError> {
        if let Some(kernel) = self.module.kernel(name) {
            return Ok(kernel);
        }
        let plain = |n: &str| n == name || exec::kernel::plain_name(n) == Some(name);
        if let Some(r) = self.rejected.iter().find(|r| plain(&r.name)) {
            return Err(KernelError::NotExecutable { name: r.name.clone(), error: r.error.clone() });
        }
        let names: Vec<&str> =
            self.module.kernels.iter().map(|k| k.name()).chain(self.rejected.iter().map(|r| &*r.name)).collect();
        let kernels = if names.is_empty() { "none".into() } else { names.join(", ") };
        Err(KernelError::Unknown { name: name.into(), kernels })
    }

    /// Everything that is not executable, in all kernels; `None` if all of them can run.
    pub fn problems(&self) -> Option<String> {
        let texts: Vec<&str> = self.rejected.iter().map(|r| &*r.error.text).collect();
        if texts.is_empty() { None } else { Some(texts.join("\n")) }
    }
}
