//! Packs the pages of the documentation for the command `docs`, in the order of `docs/SUMMARY.md`.

use lzma_rust2::{XzOptions, XzWriter};
use std::fmt::Write as _;
use std::io::{Error, Write as _};
use std::path::Path;
use std::{env, fs, io};

/// The pages are half a megabyte: a preset with a larger window gains nothing.
const XZ_PRESET: u32 = 6;

/// Writes `pages.xz`, the texts one after the other, and `pages.rs`, a slice with part, name, title and length of each.
pub fn pack() -> io::Result<()> {
    let docs = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../docs");
    println!("cargo::rerun-if-changed={}", docs.display());
    let (mut part, mut table, mut texts) = ("", String::from("&["), String::new());
    let summary = read(&docs.join("SUMMARY.md"))?;
    for line in summary.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            part = heading;
        }
        let link = line.strip_prefix("- [").and_then(|row| row.split_once("](")?.1.strip_suffix(".md)"));
        // Pages outside the folder are for readers of the repository.
        let Some(name) = link.filter(|name| !name.starts_with("../")) else { continue };
        let text = read(&docs.join(name).with_extension("md"))?;
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
        let _ = writeln!(table, "({part:?}, {name:?}, {title:?}, {}),", text.len());
        texts += &text;
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("pages.rs"), table + "]")?;
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(XZ_PRESET))?;
    writer.write_all(texts.as_bytes())?;
    fs::write(Path::new(&out).join("pages.xz"), writer.finish()?)
}

fn read(file: &Path) -> io::Result<String> {
    fs::read_to_string(file).map_err(|e| Error::other(format!("`{}`: {e}", file.display())))
}
