//! The places of instructions, for messages.

use crate::kernel::Kernel;
use isa::{Pc, SourceSpot};

/// The place of an instruction in its program, for messages.
pub fn spot(kernel: &Kernel, pc: Pc) -> SourceSpot {
    let program = &kernel.program;
    let source = program.source(pc);
    let (file, line) = source.origin;
    let origin = program.files.get(file as usize).filter(|_| line != 0).map(|f| (f.clone(), line));
    let in_cubin = || (program.place(pc), String::new());
    let (place, excerpt) = kernel.origin.as_ref().map_or_else(in_cubin, |origin| origin.describe(pc));
    SourceSpot {
        kernel: kernel.name().into(),
        pc,
        text: program.text(pc).into(),
        line: source.line,
        place,
        excerpt,
        origin,
    }
}
