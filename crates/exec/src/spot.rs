//! The places of instructions, for messages.

use crate::kernel::Kernel;
use isa::{Pc, SourceSpot};

/// The place of an instruction in its program, for messages.
pub fn spot(kernel: &Kernel, pc: Pc) -> SourceSpot {
    let program = &kernel.program;
    let origin = program.origin(pc).map(|(file, line)| (file.to_owned(), line));
    let in_cubin = || (program.place_in_code(pc), String::new());
    let (place, excerpt) = kernel.origin.as_ref().map_or_else(in_cubin, |origin| origin.describe(pc));
    SourceSpot {
        kernel: kernel.name().into(),
        pc,
        text: program.text(pc).into(),
        line: program.source(pc).line,
        place,
        excerpt,
        origin,
    }
}
