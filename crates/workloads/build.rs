//! Lists the cubins beside the kernels, for `bundled.rs`.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("kernels/cubin");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut rows: Vec<(u32, String, PathBuf)> = Vec::new();
    for architecture in fs::read_dir(&folder)? {
        let architecture = architecture?;
        let name = architecture.file_name().into_string().map_err(|_| "a folder name is not UTF-8")?;
        let Some(sm) = name.strip_prefix("sm_").and_then(|sm| sm.parse().ok()) else { continue };
        for file in fs::read_dir(architecture.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|e| e == "cubin") {
                let stem = path.file_stem().and_then(|s| s.to_str()).ok_or("a file name is not UTF-8")?.to_owned();
                rows.push((sm, stem, path));
            }
        }
    }
    rows.sort();
    let mut table =
        String::from("/// Name, architecture and contents of each cubin.\nconst CUBINS: &[(&str, u32, &[u8])] = &[\n");
    for (sm, name, path) in rows {
        writeln!(table, "    ({name:?}, {sm}, include_bytes!({:?})),", path.display().to_string())?;
    }
    table += "];\n";
    fs::write(Path::new(&env::var("OUT_DIR")?).join("cubins.rs"), table)?;
    Ok(())
}
