//! Functions that the driver adds to kernels: `libcudadevrt` calls `__cuda_syscall_*`, which no file defines.
//!
//! Those about grids that synchronise are `grid.cu`, compiled for each generation.

use sass::elf::{Cubin, ElfFunction, RelocationKind};
use std::sync::OnceLock;

/// Machine code of `grid.cu`, by the first architecture that can execute it, in increasing order.
const GRID: [(u8, &[u8]); 4] = [
    (70, include_bytes!("grid.sm_70.cubin")),
    (75, include_bytes!("grid.sm_75.cubin")),
    (80, include_bytes!("grid.sm_80.cubin")),
    (90, include_bytes!("grid.sm_90.cubin")),
];

const PREFIX: &str = "__cuda_syscall_";

/// Functions of each file. Their ids are none that a file has.
fn functions(at: usize) -> &'static [ElfFunction<'static>] {
    static FUNCTIONS: [OnceLock<Vec<ElfFunction<'static>>>; GRID.len()] = [const { OnceLock::new() }; GRID.len()];
    FUNCTIONS[at].get_or_init(|| {
        let mut functions = Cubin::parse(GRID[at].1).expect("a compiled file").functions;
        for (function, id) in functions.iter_mut().zip((0..u32::MAX).rev()) {
            assert!(function.relocations.iter().all(|r| r.kind == RelocationKind::Yield), "they call nothing");
            function.id = id;
        }
        functions
    })
}

/// The name of the function `name`, if there is one.
pub(super) fn named(name: &str) -> Option<&'static str> {
    name.starts_with(PREFIX).then(|| functions(0).iter().map(|f| f.name).find(|&n| n == name))?
}

/// The function `name` for architecture `sm`.
pub(super) fn function(name: &str, sm: u8) -> Option<&'static ElfFunction<'static>> {
    let at = GRID.iter().rposition(|&(first, _)| first <= sm)?;
    functions(at).iter().find(|function| function.name == name)
}

/// Feature that kernels cannot use, if `name` is another function of the driver.
pub(super) fn unsupported(name: &str) -> Option<&'static str> {
    let call = name.strip_prefix(PREFIX)?;
    Some(if ["Launch", "ParameterBuffer"].iter().any(|part| call.contains(part)) {
        "launch kernels (dynamic parallelism)"
    } else {
        "call the CUDA runtime"
    })
}
