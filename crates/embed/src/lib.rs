//! The shared libraries of `warpwright exec` as bytes within the command, so that `cargo install` installs them as well.
//!
//! A build script runs before the libraries are built, and a file that `include_bytes!` names must exist when the
//! command is only checked. A macro does neither: it runs when the command is compiled, after all that it depends on.

use proc_macro::{Literal, TokenStream, TokenTree};
use std::path::Path;

/// Variable that names the folder in which cargo builds libraries; where it is not set, none is embedded.
const FOLDER: &str = "WARPWRIGHT_EMBED_FROM";

/// `library!("libcuda.so")`: the bytes of the library as `&[u8]`. It is empty where libraries are not embedded (the
/// command's build script decides), and where there is none, as when the command is checked and not built.
#[proc_macro]
pub fn library(name: TokenStream) -> TokenStream {
    let folder = std::env::var_os(FOLDER);
    let file = folder.and_then(|folder| Some(Path::new(&folder).join(unquoted(name)?)));
    match file.filter(|file| file.is_file()).as_deref().and_then(Path::to_str) {
        Some(path) => format!("include_bytes!({})", Literal::string(path)).parse().unwrap_or_default(),
        None => "&[]".parse().unwrap_or_default(),
    }
}

/// The contents of a string literal without escapes.
fn unquoted(tokens: TokenStream) -> Option<String> {
    let Some(TokenTree::Literal(literal)) = tokens.into_iter().next() else { return None };
    Some(literal.to_string().trim_matches('"').to_owned())
}
