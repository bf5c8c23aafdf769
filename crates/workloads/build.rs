//! Packs the cubins beside the kernels and lists them, for `bundled.rs`.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
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
    // Most of a cubin is tables of zeros and names: packed, the suite is a quarter.
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut table = format!("/// The cubins.\nstatic CUBINS: [Cubin; {}] = [\n", rows.len());
    for (sm, name, path) in rows {
        let packed = out.join(format!("{name}.sm_{sm}.z"));
        let mut encoder = ZlibEncoder::new(File::create(&packed)?, Compression::best());
        encoder.write_all(&fs::read(path)?)?;
        encoder.finish()?;
        let packed = packed.display().to_string();
        writeln!(table, "    Cubin::packed({name:?}, {sm}, include_bytes!({packed:?})),")?;
    }
    table += "];\n";
    fs::write(out.join("cubins.rs"), table)?;
    Ok(())
}
