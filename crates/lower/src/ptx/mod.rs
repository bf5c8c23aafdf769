//! From PTX to kernels: the syntax tree's names, types and modifiers are resolved here, once.
//!
//! | file | content |
//! | --- | --- |
//! | `module` | variables, functions, which kernels can run |
//! | `scope` | what the kernels of a module share |
//! | `build` | a kernel under construction: registers, constants, shared memory, instructions |
//! | `kernel` | a kernel from its first function to its description for the timing model |
//! | `function` | a function under construction: names, registers, the present instruction |
//! | `body` | the statements of a function |
//! | `families` | the family that lowers an opcode |
//! | `operand` | operands |
//! | `mods` | modifiers |
//! | the others | families of instructions |

mod body;
mod build;
mod cluster;
mod control;
mod convert;
mod copies;
mod families;
mod float;
mod function;
mod group;
mod image;
mod int;
mod kernel;
mod matrix;
mod mbarrier;
mod memory;
mod mods;
mod module;
mod moves;
mod operand;
mod scope;
mod tensormap;
mod video;
mod warp;

use crate::loaded::{LoadError, Loaded, LowerOptions};
use ptx::{Diagnostic, Severity, Span};

/// Parses and lowers the PTX in `text`; messages call it `name`.
///
/// # Errors
/// Syntax errors; if there are none, undeclared names, names declared twice and wrong operands; if there are
/// none, errors at module level. A correct kernel that cannot run is not an error: it is in [`Loaded::rejected`].
pub fn load(name: &str, text: impl AsRef<[u8]>, options: LowerOptions) -> Result<Loaded, Box<LoadError>> {
    load_parsed(&ptx::parse(name, text), options)
}

/// Lowers PTX that has been parsed.
///
/// # Errors
/// As [`load`].
pub fn load_parsed(parsed: &ptx::Parsed, options: LowerOptions) -> Result<Loaded, Box<LoadError>> {
    let source = &parsed.source;
    if let Some(why) = other_target(&parsed.module, options) {
        let mut error = LoadError::of_binary(format!("{}: {why}", source.name));
        let at = source.text().find(".target").unwrap_or(0) as u32;
        error.diagnostics.push(Diagnostic::error(Span::new(at, at), why));
        return Err(Box::new(error));
    }
    let mut diagnostics = parsed.diagnostics.clone();
    if !diagnostics.has_errors() {
        diagnostics.append(ptx::check(&parsed.module));
    }
    if diagnostics.has_errors() {
        return Err(LoadError::new(diagnostics, source));
    }
    let remarks = diagnostics.render(source, Severity::Note);
    let loaded = module::lower(&parsed.module, source, options)?;
    Ok(Loaded { remarks, ..loaded })
}

/// The oldest architecture for which CUDA 11.8 makes PTX.
const OLDEST_COMPILED: u32 = 35;

/// The newest architecture of which there are GPU descriptions.
pub const NEWEST_GPU: u32 = 90;

/// Why the GPU, or any if none is given, does not run PTX of the module's target. Features of `sm_90a` are in no other
/// architecture.
fn other_target(module: &ptx::ast::Module, options: LowerOptions) -> Option<String> {
    let (target, sm) = (module.name(*module.target.first()?), module.target_sm()?);
    let own = target.ends_with('a');
    let is_run = match options.gpu_sm {
        Some(gpu) => gpu < OLDEST_COMPILED || sm < gpu && !own || sm == gpu,
        None => sm <= NEWEST_GPU,
    };
    if is_run || options.any_architecture {
        return None;
    }
    let who = options.gpu_sm.map_or("no GPU here runs".to_owned(), |gpu| format!("an sm_{gpu} does not run"));
    let choose = match own {
        _ if sm > NEWEST_GPU => String::new(),
        true => format!("choose a GPU of sm_{sm}, "),
        false => format!("choose a GPU of sm_{sm} or newer, "),
    };
    let gpu = options.gpu_sm.unwrap_or(NEWEST_GPU);
    Some(format!(
        "it is PTX for {target}, which {who}; {choose}compile it for compute_{gpu}, or allow any architecture (option any_architecture)"
    ))
}
