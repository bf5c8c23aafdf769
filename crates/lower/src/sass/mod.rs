//! From cubins to kernels: machine code is translated once to operations of the interpreter.
//!
//! An instruction is translated to one operation or to a short sequence over registers that only sequences
//! use; sequences write the instruction's own results last. The timing model's view of the registers is
//! derived from the operations, so the two cannot disagree.
//!
//! Uniform registers are columns with the same value in all lanes. An instruction of the uniform datapath
//! executes in all 32 lanes, whichever are active.
//!
//! | file | content |
//! | --- | --- |
//! | `link` | a kernel with the functions that it calls by address |
//! | `module` | variables, constant banks and relocations of a cubin |
//! | `builder` | a kernel under construction: registers, constants, sequences |
//! | `build` | a kernel from its first instruction to its description for the timing model |
//! | `operand` | operands with their signs |
//! | `stack` | size of a thread's stack |
//! | `control` | branches, convergence barriers, CTA barriers |
//! | the others | families of instructions |

mod build;
mod builder;
mod control;
mod convert;
mod float;
mod half;
mod integer;
mod link;
mod matrix;
mod memory;
mod module;
mod moves;
mod operand;
mod stack;
mod texture;
mod warp;
mod words;

use crate::loaded::{LoadError, Loaded, LowerOptions, Rejected};
use module::Layout;
use sass::elf::{Cubin, is_cubin};
use sass::fatbin::{self, Kind};
use std::sync::Arc;
pub use words::load_words;

/// Loads the kernels of a cubin; messages call it `name`.
///
/// # Errors
/// If the file is damaged or is not a cubin. A kernel that cannot run is no error: it is in
/// [`Loaded::rejected`] with everything in it that is not executable.
pub fn load_cubin(name: &str, file: &[u8], options: LowerOptions) -> Result<Loaded, Box<LoadError>> {
    let fail = |problem: String| Box::new(LoadError::of_binary(format!("{name}: {problem}")));
    let cubin = Cubin::parse(file).map_err(|e| fail(e.to_string()))?;
    let layout = Layout::new(&cubin, options.slot).map_err(fail)?;
    let mut loaded = Loaded::default();
    loaded.module.variables = layout.variables().to_vec();
    loaded.module.references = layout.references().to_vec();
    for function in cubin.kernels() {
        match build::lower(&cubin, &layout, function, options) {
            Ok(mut kernel) => {
                Arc::make_mut(&mut kernel.program).code_file = name.to_owned();
                loaded.module.kernels.push(Arc::new(kernel));
            }
            Err(problems) => {
                let text = format!("{name}: kernel `{}` is not executable:\n{}", function.name, problems.join("\n"));
                let error = Box::new(LoadError::of_binary(text));
                loaded.rejected.push(Rejected { name: function.name.to_owned(), error });
            }
        }
    }
    Ok(loaded)
}

/// Loads the module in `file`, which is a cubin, a fat binary, or a host program that contains one, for a GPU
/// of architecture `sm_version`. From a fat binary it takes the cubin that the GPU runs; otherwise its PTX;
/// otherwise, if any architecture is allowed, the newest cubin.
///
/// # Errors
/// As for [`load_cubin`]; also if the file contains nothing for the GPU.
pub fn load_binary(name: &str, file: &[u8], sm_version: u32, options: LowerOptions) -> Result<Loaded, Box<LoadError>> {
    let fail = |problem: String| Box::new(LoadError::of_binary(format!("{name}: {problem}")));
    if is_cubin(file) {
        let sm = u32::from(Cubin::parse(file).map_err(|e| fail(e.to_string()))?.sm);
        if !options.any_architecture && !isa::runs_on(sm, sm_version) {
            let hint = "choose another GPU, or allow any architecture (--any-architecture)";
            return Err(fail(format!("it is machine code for sm_{sm}, which an sm_{sm_version} does not run; {hint}")));
        }
        return load_cubin(name, file, options);
    }
    let entries = fatbin::entries(file).map_err(|e| fail(e.to_string()))?;
    let newest =
        |kind, fits: &dyn Fn(u32) -> bool| entries.iter().filter(|e| e.kind == kind && fits(e.sm)).max_by_key(|e| e.sm);
    let cubin = fatbin::select(&entries, sm_version);
    let ptx = || newest(Kind::Ptx, &|sm| sm <= sm_version);
    let of_another = || newest(Kind::Cubin, &|_| options.any_architecture);
    let Some(entry) = cubin.or_else(ptx).or_else(of_another) else {
        let known: Vec<String> = entries.iter().map(|e| format!("{} for sm_{}", e.kind, e.sm)).collect();
        let known = if known.is_empty() { "no code for any GPU".to_owned() } else { known.join(", ") };
        return Err(fail(format!("nothing in it runs on sm_{sm_version}; it holds {known}")));
    };
    let contents = entry.extract().map_err(|e| fail(e.to_string()))?;
    let name = format!("{name} (sm_{})", entry.sm);
    match entry.kind {
        Kind::Ptx => crate::load(&name, contents.strip_suffix(b"\0").unwrap_or(&contents), options),
        _ => load_cubin(&name, &contents, options),
    }
}
