//! The shared libraries of `warpwright exec` as compressed bytes within the command, so that `cargo install` installs
//! them as well.
//!
//! A build script runs before the libraries are built, and a file that `include_bytes!` names must exist when the
//! command is only checked. A macro does neither: it runs when the command is compiled, after all that it depends on.

use lzma_rust2::{XzOptions, XzWriter};
use proc_macro::{Literal, TokenStream, TokenTree};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Variable that names the folder in which cargo builds libraries; where it is not set, none is embedded.
const FOLDER: &str = "WARPWRIGHT_EMBED_FROM";

/// Greater presets take up to four times as long for a tenth of the size.
const XZ_PRESET: u32 = 1;

/// `libraries!("libcuda.so", …)`: name, length and SHA-256 of each library, and all of them, one after the other, as an
/// xz file: `(&[(&str, u64, [u8; 32])], &[u8])`. Versions of a library differ in a few bytes, so together they take the
/// room of one. Both are empty where libraries are not embedded (the command's build script decides), and where one is
/// missing, as when the command is checked and not built.
#[proc_macro]
pub fn libraries(names: TokenStream) -> TokenStream {
    let names: Vec<String> = names.into_iter().filter_map(unquoted).collect();
    let folder = std::env::var_os(FOLDER);
    let folder = folder.as_deref().map(Path::new).filter(|folder| names.iter().all(|name| folder.join(name).is_file()));
    let text = match folder.map(|folder| packed(folder, &names)) {
        Some(Ok((table, file))) => format!("(&[{table}], include_bytes!({}))", Literal::string(&file)),
        Some(Err(e)) => format!("compile_error!({})", Literal::string(&format!("cannot pack the libraries: {e}"))),
        None => "(&[], &[])".to_owned(),
    };
    text.parse().unwrap_or_default()
}

/// Writes the libraries, compressed, to the folder for what is generated for the command. Returns the table as text, and
/// the path.
fn packed(folder: &Path, names: &[String]) -> io::Result<(String, String)> {
    let (mut table, mut all, mut newest) = (String::new(), Vec::new(), None);
    for name in names {
        let file = folder.join(name);
        let library = fs::read(&file).map_err(|e| io::Error::other(format!("`{}`: {e}", file.display())))?;
        let hash: [u8; 32] = Sha256::digest(&library).into();
        table.push_str(&format!("({name:?}, {}, {hash:?}), ", library.len()));
        all.extend(library);
        newest = newest.max(Some(fs::metadata(&file)?.modified()?));
    }
    let mut options = XzOptions::with_preset(XZ_PRESET);
    options.lzma_options.dict_size = u32::try_from(all.len()).map_err(io::Error::other)?;
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let packed = Path::new(&out).join("libraries.xz");
    let mut writer = XzWriter::new(io::BufWriter::new(File::create(&packed)?), options)?;
    writer.write_all(&all)?;
    let file = writer.finish()?.into_inner()?;
    // To cargo a file that is newer than the compiler's start has changed after it.
    newest.map_or(Ok(()), |newest| file.set_modified(newest))?;
    let path = packed.to_str().ok_or_else(|| io::Error::other("OUT_DIR is not UTF-8"))?;
    Ok((table, path.to_owned()))
}

/// The contents of a string literal without escapes; `None` for a comma.
fn unquoted(token: TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    Some(literal.to_string().trim_matches('"').to_owned())
}
