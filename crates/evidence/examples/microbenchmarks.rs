//! Writes the PTX of the microbenchmarks to a folder, a file for each module, as
//! `tools/rebuild-microbenchmarks` wants it.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    for kernel in evidence::microbench::source::kernels() {
        std::fs::write(folder.join(format!("{}.{}.ptx", kernel.name, kernel.lowest_sm)), kernel.ptx)?;
    }
    Ok(())
}
