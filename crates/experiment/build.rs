//! Lists the bundled experiments: the files in `experiments`, in the order of their names.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../experiments").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths: Vec<_> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, Box<dyn Error>>>()?;
    paths.sort();
    let mut table = String::from("&[\n");
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let name = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a file name is not UTF-8")?;
        table += &format!("    ({name:?}, include_str!({:?})),\n", path.to_str().ok_or("the path is not UTF-8")?);
    }
    table += "]\n";
    fs::write(Path::new(&env::var("OUT_DIR")?).join("bundled.rs"), table)?;
    Ok(())
}
