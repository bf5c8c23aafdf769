//! From bytes to a module with its diagnostics.

use super::Parser;
use crate::ast::Module;
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::span::{SourceText, Span};
use std::sync::Arc;

/// Maximum size of a text in bytes: offsets have 32 bits.
pub const MAX_BYTES: usize = 256 << 20;

/// The result of parsing, whatever the input is.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Parsed {
    /// The text, for positions and messages.
    pub source: Arc<SourceText>,
    /// The parts that could be parsed. Complete if there are no errors.
    pub module: Module,
    pub diagnostics: Diagnostics,
}

impl Parsed {
    /// Whether there are errors: the module must not be run then.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.has_errors()
    }

    /// Formats the diagnostics of `least` severity or worse.
    pub fn render(&self, least: Severity) -> String {
        self.diagnostics.render(&self.source, least)
    }

    /// The module.
    ///
    /// # Errors
    /// All errors, formatted, if there are any.
    pub fn into_result(self) -> Result<Module, String> {
        if self.has_errors() { Err(self.render(Severity::Error)) } else { Ok(self.module) }
    }
}

/// Parses a PTX module. Always returns: errors are in [`Parsed::diagnostics`], and everything that could be
/// parsed is in [`Parsed::module`].
///
/// ```
/// let parsed = ptx::parse("k.ptx", b".version 7.0\n.target sm_75\n.entry k() { ret }\n");
/// assert_eq!(parsed.render(ptx::Severity::Error), "\
/// k.ptx:3:16: error: `;` is missing after the instruction
///     3 | .entry k() { ret }
///       |                ^
/// ");
/// assert_eq!(parsed.module.kernels().count(), 1);
/// ```
pub fn parse(file_name: &str, text: impl AsRef<[u8]>) -> Parsed {
    let bytes = text.as_ref();
    let mut diagnostics = Diagnostics::default();
    if let Some(problem) = not_text(bytes) {
        diagnostics.push(problem);
        return Parsed { source: Arc::new(SourceText::new(file_name, "")), module: Module::default(), diagnostics };
    }
    let source = Arc::new(SourceText::new(file_name, decode(bytes, &mut diagnostics)));
    if source.text().trim().is_empty() {
        let hint = "a PTX module starts with `.version`, `.target` and `.address_size`";
        diagnostics.push(Diagnostic::error(Span::default(), "the file is empty").hint(hint));
        return Parsed { source, module: Module::default(), diagnostics };
    }
    let mut parser = Parser::new(source.text());
    parser.module();
    let Parser { module, lexer, .. } = parser;
    diagnostics.append(lexer.diagnostics);
    Parsed { source, module, diagnostics }
}

/// The text of `bytes`, without the NULs that NVRTC appends and without a byte order mark. Bytes that are not
/// UTF-8 are replaced and reported: PTX is ASCII except in comments and paths.
fn decode(bytes: &[u8], diagnostics: &mut Diagnostics) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let length = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    let bytes = &bytes[..length];
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) => {
            let at = error.valid_up_to() as u32;
            let message = format!("byte {at} is not UTF-8 text; such bytes are replaced");
            diagnostics.push(
                Diagnostic::warning(Span::new(at, at + 1), message)
                    .hint("harmless in comments and file names; otherwise check that the file is PTX"),
            );
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}

/// The reason why `bytes` are not text.
fn not_text(bytes: &[u8]) -> Option<Diagnostic> {
    let error = |message: String, hint: &str| Some(Diagnostic::error(Span::default(), message).hint(hint));
    let extract = "extract the PTX with `cuobjdump -ptx`, or compile with `nvcc -ptx`";
    if bytes.len() > MAX_BYTES {
        let message = format!("the file is {} bytes long; at most {MAX_BYTES} are read", bytes.len());
        return error(message, "split the module");
    }
    let binary = [
        (b"\x7fELF".as_slice(), "this is an ELF file (a cubin or host object), not PTX text"),
        (b"\x50\xed\x55\xba", "this is a fat binary, not PTX text"),
        (b"!<arch>", "this is a library archive, not PTX text"),
        (b"BC\xc0\xde", "this is LLVM bitcode, not PTX text"),
        (b"\x1f\x8b", "this is a gzip file, not PTX text"),
        (b"PK\x03\x04", "this is a zip file, not PTX text"),
        (b"\xff\xfe", "this is UTF-16 text; PTX is ASCII"),
        (b"\xfe\xff", "this is UTF-16 text; PTX is ASCII"),
    ];
    if let Some((_, message)) = binary.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return error((*message).to_owned(), extract);
    }
    let text_end = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    let nul = bytes[..text_end].iter().position(|&b| b == 0)?;
    error(format!("this is a binary file, not PTX text (byte {nul} is zero)"), extract)
}
