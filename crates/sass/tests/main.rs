//! Tests of the machine code decoder.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod elf;
mod golden;
mod lines;
mod properties;
mod table;

use std::path::{Path, PathBuf};

/// The bundled cubins, by architecture.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/kernels/cubin")
}
