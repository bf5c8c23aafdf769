//! Packs the kernels, and lists their cubins for `bundled.rs`.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("kernels");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed={}", folder.display());
    for (path, stem) in files(&folder, &["cu", "ptx"])? {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        pack(&path, &out.join(format!("{stem}.{extension}.z")))?;
    }
    let mut rows: Vec<(u32, String, PathBuf)> = Vec::new();
    for architecture in fs::read_dir(folder.join("cubin"))? {
        let architecture = architecture?;
        let name = architecture.file_name().into_string().map_err(|_| "a folder name is not UTF-8")?;
        let Some(sm) = name.strip_prefix("sm_").and_then(|sm| sm.parse().ok()) else { continue };
        rows.extend(files(&architecture.path(), &["cubin"])?.into_iter().map(|(path, stem)| (sm, stem, path)));
    }
    rows.sort();
    let mut table = format!("/// The cubins.\nstatic CUBINS: [Cubin; {}] = [\n", rows.len());
    for (sm, name, path) in rows {
        let packed = out.join(format!("{name}.sm_{sm}.z"));
        pack(&path, &packed)?;
        let packed = packed.display().to_string();
        writeln!(table, "    Cubin::packed({name:?}, {sm}, include_bytes!({packed:?})),")?;
    }
    table += "];\n";
    fs::write(out.join("cubins.rs"), table)?;
    Ok(())
}

/// The files of a folder with one of these extensions, and their names without it.
fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<(PathBuf, String)>, Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_some_and(|e| extensions.iter().any(|extension| e == *extension)) {
            let stem = path.file_stem().and_then(|s| s.to_str()).ok_or("a file name is not UTF-8")?.to_owned();
            files.push((path, stem));
        }
    }
    Ok(files)
}

/// Text is a sixth when packed, and a cubin, most of which is tables of zeros and names, a quarter.
fn pack(file: &Path, packed: &Path) -> io::Result<()> {
    let mut encoder = ZlibEncoder::new(File::create(packed)?, Compression::best());
    encoder.write_all(&fs::read(file)?)?;
    encoder.finish()?;
    Ok(())
}
