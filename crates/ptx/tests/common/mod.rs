//! Code for several test files.
pub mod oracle;

use std::path::Path;

/// Name and content of each `.ptx` file in a folder of this crate, in order of name. Empty if
/// there is no such folder.
pub fn ptx_files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "ptx"));
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

/// PTX that every part of this crate must accept without a diagnostic: in the style of each compiler, and the
/// compiled workloads.
pub fn valid_files() -> Vec<(String, Vec<u8>)> {
    let mut files = ptx_files("tests/data/valid");
    assert!(files.len() >= 8);
    for folder in [
        "../workloads/kernels",
        "../lab/tests/corpus",
        "../lower/tests/data",
        "../lower/tests/data/sm_90",
        "../../examples/launch",
    ] {
        files.extend(ptx_files(folder));
    }
    files
}
