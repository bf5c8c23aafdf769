//! From PTX to kernels: the syntax tree's names, types and modifiers are resolved here, once.
//!
//! | file | content |
//! | --- | --- |
//! | `module` | variables, functions, which kernels can run |
//! | `build` | a kernel under construction: registers, constants, shared memory, instructions |
//! | `function` | scopes, labels, statements of one function |
//! | `operand` | operands |
//! | `mods` | modifiers |
//! | the others | families of instructions |

mod build;
mod control;
mod convert;
mod float;
mod function;
mod image;
mod int;
mod matrix;
mod memory;
mod mods;
mod module;
mod moves;
mod operand;
mod video;
mod warp;

pub(crate) use build::{Constants, Line, LoweredFunction, reach, uses};
pub(crate) use memory::mem_access;
pub(crate) use module::module_base;

use crate::kernel::{Kernel, Module};
use crate::registers::Registers;
use ptx::{Diagnostic, Diagnostics, Severity, SourceText};
use std::sync::Arc;

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

    fn new(diagnostics: Diagnostics, source: &SourceText) -> Box<Self> {
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
    pub module: Module,
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
        let plain = |n: &str| n == name || crate::kernel::plain_name(n) == Some(name);
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

/// Parses and lowers the PTX in `text`; `name` is what messages call it.
///
/// # Errors
/// Syntax errors, else all undeclared and doubly declared names and wrong operand counts, else
/// errors at module level. A kernel that is right but cannot run is no error here: it is in
/// [`Loaded::rejected`].
pub fn load(name: &str, text: impl AsRef<[u8]>, options: LowerOptions) -> Result<Loaded, Box<LoadError>> {
    let mut parsed = ptx::parse(name, text);
    if !parsed.has_errors() {
        parsed.diagnostics.append(ptx::check(&parsed.module));
    }
    if parsed.has_errors() {
        return Err(LoadError::new(parsed.diagnostics, &parsed.source));
    }
    let remarks = parsed.diagnostics.render(&parsed.source, Severity::Note);
    let loaded = module::lower(&parsed.module, &Arc::new(parsed.source), options)?;
    Ok(Loaded { remarks, ..loaded })
}

/// Result of lowering a part.
type Lowered<T> = Result<T, Box<Diagnostic>>;
