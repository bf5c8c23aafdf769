//! From cubins to kernels: machine code is translated once to operations of the interpreter.
//!
//! An instruction is translated to one operation or to a short sequence over registers that only sequences
//! use; sequences write the instruction's own results last. The timing model's view of the registers is
//! derived from the operations, so the two cannot disagree.
//!
//! Uniform registers are columns too, with the same value in the lanes of a group; instructions of the uniform
//! datapath execute in the active lanes, as others do.
//!
//! | file | content |
//! | --- | --- |
//! | `lines` | lines of CUDA and PTX |
//! | `link` | a kernel with the functions that it calls by address |
//! | `module` | variables, constant banks and relocations of a cubin |
//! | `builder` | a kernel under construction: registers, constants, sequences |
//! | `build` | a kernel from its first instruction to its description for the timing model |
//! | `families` | the function that lowers an instruction, by its operation |
//! | `operand` | operands with their signs |
//! | `reach` | code that continues beyond its function |
//! | `stack` | size of a thread's stack |
//! | `control` | branches, convergence barriers, CTA barriers |
//! | `device_runtime` | functions that NVIDIA's driver gives to kernels, as machine code |
//! | `deferred` | cubins whose kernels are lowered when they are asked for |
//! | the others | families of instructions |

mod barrier;
mod build;
mod builder;
mod control;
mod convert;
mod copies;
mod deferred;
mod device_runtime;
mod families;
mod float;
mod group;
mod half;
mod integer;
mod lines;
mod link;
mod matrix;
mod memory;
mod module;
mod moves;
mod operand;
mod reach;
mod stack;
mod texture;
mod warp;
mod words;

use crate::loaded::{LoadError, Loaded, LowerOptions};
use deferred::{DeferredCubin, lower_kernel};
use module::Layout;
use sass::elf::{Cubin, is_cubin};
use sass::fatbin::{self, Entry, Kind};
pub use words::load_words;

/// Loads the kernels of a cubin; messages call it `name`.
///
/// # Errors
/// If the file is damaged or is not a cubin. A kernel that cannot run is not an error: it is in
/// [`Loaded::rejected`] with everything in it that is not executable.
pub fn load_cubin(name: &str, file: &[u8], options: LowerOptions) -> Result<Loaded, Box<LoadError>> {
    let fail = |problem: String| Box::new(LoadError::of_binary(format!("{name}: {problem}")));
    let cubin = Cubin::parse(file).map_err(|e| fail(e.to_string()))?;
    let layout = Layout::new(&cubin, options.slot).map_err(fail)?;
    let mut loaded = Loaded::default();
    loaded.module.variables = layout.variables().to_vec();
    loaded.module.references = layout.references().to_vec();
    if options.deferred {
        loaded.deferred.push(Box::new(DeferredCubin::new((name, file), &cubin, layout, options)));
    } else {
        let lines = cubin.lines();
        cubin.kernels().for_each(|kernel| lower_kernel(name, (&cubin, &lines), &layout, kernel, options, &mut loaded));
    }
    Ok(loaded)
}

/// Loads the module in `file`, which is a cubin, a fat binary, or a host program or library that contains some, for a
/// GPU of architecture `sm_version`. Of each container it takes the cubin that the GPU runs; otherwise the PTX;
/// otherwise, if any architecture is allowed, the newest cubin. The kernels of all containers are one module.
///
/// # Errors
/// As for [`load_cubin`]; also if the file contains nothing for the GPU.
pub fn load_binary(name: &str, file: &[u8], sm_version: u32, options: LowerOptions) -> Result<Loaded, Box<LoadError>> {
    let fail = |problem: String| Box::new(LoadError::of_binary(format!("{name}: {problem}")));
    if is_cubin(file) {
        let sm = u32::from(Cubin::parse(file).map_err(|e| fail(e.to_string()))?.sm);
        if !options.any_architecture && !isa::runs_on(sm, sm_version) {
            let hint = "choose another GPU, or allow any architecture (option any_architecture)";
            let problem = format!("it is machine code for sm_{sm}, which an sm_{sm_version} does not run; {hint}");
            return Err(Box::new(LoadError { only_for: vec![sm], ..*fail(problem) }));
        }
        return load_cubin(name, file, options);
    }
    let containers = fatbin::containers(file).map_err(|e| fail(e.to_string()))?;
    let chosen: Vec<&Entry<'_>> =
        containers.iter().filter_map(|entries| choose(entries, sm_version, options.any_architecture)).collect();
    if chosen.is_empty() {
        let mut known: Vec<String> =
            containers.iter().flatten().map(|e| format!("{} for sm_{}", e.kind, e.sm)).collect();
        known.dedup();
        let known = if known.is_empty() { "no code for any GPU".to_owned() } else { known.join(", ") };
        let only_for = containers.iter().flatten().map(|e| e.sm).collect();
        let problem = format!("nothing in it runs on sm_{sm_version}; it holds {known}");
        return Err(Box::new(LoadError { only_for, ..*fail(problem) }));
    }
    let mut all = Loaded::default();
    let mut slot = options.slot;
    for entry in chosen {
        let contents = entry.extract().map_err(|e| fail(e.to_string()))?;
        let (name, options) = (format!("{name} (sm_{})", entry.sm), LowerOptions { slot, ..options });
        let loaded = match entry.kind {
            Kind::Ptx => crate::load(&name, contents, LowerOptions { gpu_sm: Some(sm_version), ..options }),
            _ => load_cubin(&name, &contents, options),
        }?;
        slot = loaded.next_slot(slot);
        all.absorb(loaded);
    }
    Ok(all)
}

/// Code of a container that a GPU runs, and code that it may run if any architecture is allowed.
fn choose<'a, 'b>(entries: &'b [Entry<'a>], sm_version: u32, any_architecture: bool) -> Option<&'b Entry<'a>> {
    let cubins = || entries.iter().filter(|e| any_architecture && e.kind == Kind::Cubin);
    fatbin::select_code(entries, sm_version).or_else(|| cubins().max_by_key(|e| e.sm))
}
