//! The shared libraries of `warpwright exec` as compressed bytes within the command, so that `cargo install` installs
//! them as well.
//!
//! A build script runs before the libraries are built, and a file that `include_bytes!` names must exist when the
//! command is only checked. A macro does neither: it runs when the command is compiled, after all that it depends on.

use proc_macro::{Literal, TokenStream, TokenTree};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Variable that names the folder in which cargo builds libraries; where it is not set, none is embedded.
const FOLDER: &str = "WARPWRIGHT_EMBED_FROM";

/// `library!("libcuda.so")`: the library as `&[u8]`, an LZ4 block after its length when unpacked
/// (`lz4_flex::decompress_size_prepended`). It is empty where libraries are not embedded (the command's build script
/// decides), and where there is none, as when the command is checked and not built.
#[proc_macro]
pub fn library(name: TokenStream) -> TokenStream {
    let library = unquoted(name).and_then(|name| Some((Path::new(&std::env::var_os(FOLDER)?).join(&name), name)));
    let text = match library.filter(|(file, _)| file.is_file()) {
        Some((file, name)) => match packed(&file, &name) {
            Ok(packed) => format!("include_bytes!({})", Literal::string(&packed)),
            Err(e) => {
                format!("compile_error!({})", Literal::string(&format!("cannot pack `{}`: {e}", file.display())))
            }
        },
        None => "&[]".to_owned(),
    };
    text.parse().unwrap_or_default()
}

/// Writes the compressed library to the folder for what is generated for the command. Returns its path.
fn packed(library: &Path, name: &str) -> io::Result<String> {
    let folder = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let packed = Path::new(&folder).join(format!("{name}.lz4"));
    let mut file = File::create(&packed)?;
    file.write_all(&lz4_flex::compress_prepend_size(&fs::read(library)?))?;
    // To cargo a file that is newer than the compiler's start has changed after it.
    file.set_modified(fs::metadata(library)?.modified()?)?;
    packed.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("OUT_DIR is not UTF-8"))
}

/// The contents of a string literal without escapes.
fn unquoted(tokens: TokenStream) -> Option<String> {
    let Some(TokenTree::Literal(literal)) = tokens.into_iter().next() else { return None };
    Some(literal.to_string().trim_matches('"').to_owned())
}
