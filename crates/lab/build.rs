//! Digests the sources that determine simulated figures: a stored run is valid only for the same model.

use std::fs;
use std::path::Path;

/// Crates of the workspace whose code determines simulated figures. A crate that is built outside the workspace is
/// identified by its version only.
const CRATES: [&str; 21] = [
    "config",
    "dataflow",
    "designs",
    "energy",
    "exec",
    "functional",
    "gpu",
    "isa",
    "kit",
    "lab",
    "launchfile",
    "lower",
    "mem",
    "num",
    "ptx",
    "sass",
    "sgmf",
    "sm",
    "trace",
    "workloads",
    "request",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut digest = 0xcbf2_9ce4_8422_2325;
    for name in CRATES {
        let sources = Path::new("..").join(name).join("src");
        if sources.is_dir() {
            println!("cargo::rerun-if-changed={}", sources.display());
            add(&mut digest, name.as_bytes());
            add_folder(&mut digest, &sources);
        }
    }
    println!("cargo::rustc-env=WARPWRIGHT_MODEL={digest:016x}");
}

/// FNV-1a of 64 bits.
fn add(digest: &mut u64, bytes: &[u8]) {
    *digest = bytes.iter().fold(*digest, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
}

/// Adds names and contents, in the order of the names.
fn add_folder(digest: &mut u64, folder: &Path) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        add(digest, entry.file_name().as_encoded_bytes());
        let path = entry.path();
        if path.is_dir() { add_folder(digest, &path) } else { add(digest, &fs::read(&path).unwrap_or_default()) }
    }
}
