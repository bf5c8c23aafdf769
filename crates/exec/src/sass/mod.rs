//! From cubins to kernels: machine code becomes operations of the interpreter, once.
//!
//! An instruction becomes one operation or a short sequence of them over registers that only
//! sequences use; sequences write the instruction's own results last. What the timing model must
//! know of registers follows from the operations, so the two cannot disagree.
//!
//! Uniform registers are columns whose lanes all hold the same value. An instruction of the uniform
//! datapath executes in all 32 lanes, whichever are active.
//!
//! | file | content |
//! | --- | --- |
//! | `module` | variables, constant banks and relocations of a cubin |
//! | `build` | a kernel under construction: registers, constants, sequences, static description |
//! | `operand` | operands with their signs |
//! | `control` | branches, convergence barriers, CTA barriers |
//! | the others | families of instructions |

mod build;
mod control;
mod convert;
mod float;
mod half;
mod integer;
mod matrix;
mod memory;
mod module;
mod moves;
mod operand;
mod warp;
mod words;

use crate::lower::{LoadError, Loaded, LowerOptions, Rejected};
use build::Builder;
use module::Layout;
use sass::decode::Inst;
use sass::elf::Cubin;
use std::sync::Arc;
pub use words::load_words;

/// Why an instruction is not executable.
type Lowered<T> = Result<T, String>;

/// Lowers one instruction of a family; false if it is of another one.
type Family = fn(&mut Builder<'_>, &Inst) -> Lowered<bool>;

/// The families, the frequent ones first.
const FAMILIES: &[Family] = &[
    integer::lower,
    moves::lower,
    memory::lower,
    float::lower,
    control::lower,
    warp::lower,
    convert::lower,
    half::lower,
    matrix::lower,
];

/// Loads the kernels of a cubin; `name` is what messages call it.
///
/// # Errors
/// If the file is damaged or no cubin. A kernel that cannot run is no error here: it is in
/// [`Loaded::rejected`] with everything in it that is not executable.
pub fn load_cubin(name: &str, file: &[u8], options: LowerOptions) -> Result<Loaded, Box<LoadError>> {
    let fail = |problem: String| Box::new(LoadError::of_binary(format!("{name}: {problem}")));
    let cubin = Cubin::parse(file).map_err(|e| fail(e.to_string()))?;
    let layout = Layout::new(&cubin, options.slot).map_err(fail)?;
    let mut loaded = Loaded::default();
    loaded.module.variables = layout.variables().to_vec();
    for function in cubin.kernels() {
        match Builder::build(&cubin, &layout, function, options) {
            Ok(kernel) => loaded.module.kernels.push(Arc::new(kernel)),
            Err(problems) => {
                let text = format!("{name}: kernel `{}` is not executable:\n{}", function.name, problems.join("\n"));
                let error = Box::new(LoadError::of_binary(text));
                loaded.rejected.push(Rejected { name: function.name.to_owned(), error });
            }
        }
    }
    Ok(loaded)
}
