//! Standard output, standard error and files.
//!
//! The reader of our output may stop early (`| head`): a closed pipe is not an error, and the exit
//! status stays the command's.

use crate::failure::Failure;
use crate::render::{names, style};
use crate::version;
use kit::text::excerpt;
use request::write;
pub use request::write::csv;
use serde::Serialize;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Prints text, which may hold colours, to standard output. Colours are dropped where the output
/// is not a terminal or `NO_COLOR` is set.
pub fn print(text: &str) -> Result<(), Failure> {
    written(write_flushed(&mut anstream::stdout().lock(), &shown(text)))
}

/// Writes what `write` makes to `file`, or to standard output if there is none, without holding all of it.
pub fn give(file: Option<&Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    match file {
        Some(path) => save_as(path, write),
        None => written(write::piecewise(io::stdout().lock(), write)),
    }
}

/// Writes a file of what `write` makes: the old one stays until the new one is complete.
pub fn save_as(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    write::save_as(path, write).map_err(Failure::failed)
}

/// As [`save_as`], of bytes that are there.
pub fn save(path: &Path, content: &[u8]) -> Result<(), Failure> {
    save_as(path, |out| out.write_all(content))
}

/// Checks before a long run that each output can be written in the end, that they are different files,
/// and that none is an input.
pub fn check<'a>(outputs: impl IntoIterator<Item = &'a Path>, inputs: &[PathBuf]) -> Result<(), Failure> {
    let outputs: Vec<PathBuf> = outputs.into_iter().map(Path::to_owned).collect();
    kit::output::check(&outputs, inputs).map_err(Failure::bad_input)
}

/// A value as a shell reads it.
pub fn quoted(value: &OsStr) -> String {
    kit::text::shell_word(&value.to_string_lossy())
}

/// Text for a terminal: what is invisible in names becomes U+FFFD; colours stay.
fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return kit::text::visible(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, part) in text.split('\u{1b}').enumerate() {
        // A style of ours has a few numbers, none of which conceals text (8). Any other escape is replaced.
        let style = part.strip_prefix('[').and_then(|rest| rest.split_once('m')).filter(|(numbers, _)| {
            numbers.split(';').all(|number| number.parse::<u8>().is_ok_and(|number| number <= 107 && number != 8))
        });
        match style {
            _ if at == 0 => out += &kit::text::visible(part),
            Some((numbers, rest)) => {
                out += &format!("\u{1b}[{numbers}m");
                out += &kit::text::visible(rest);
            }
            None => {
                out.push('\u{fffd}');
                out += &kit::text::visible(part);
            }
        }
    }
    out.into()
}

/// Prints text to standard error, which keeps it out of redirected output.
pub fn remark(text: &str) {
    // A closed standard error leaves no place for the message.
    let _ = write_flushed(&mut anstream::stderr().lock(), &shown(text));
}

/// Prints an error to standard error.
pub fn error(message: &str) {
    let message = kit::text::bounded(&names::in_text(message.trim_end()));
    // A front end's message about a file begins with the place and already has the word `error`.
    let located = message.lines().next().is_some_and(|line| line.contains(": error: "));
    let label = if located { String::new() } else { format!("{} ", style::styled(style::BAD, "error:")) };
    remark(&format!("{label}{message}\n"));
}

fn write_flushed(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a value as the text of a file of JSON, with the commit of the program.
pub fn json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    write::json(value, version::COMMIT, out)
}

fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Checks words that are names, not files.
///
/// # Errors
/// One has the ending of results: their file comes after an equals sign.
pub fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    for name in names {
        if let Some(form) = request::name::form_of_results(name) {
            let name = excerpt(name);
            let message = format!("`{name}` is a file, not a name; to write results to it: `--{form}={name}`");
            return Err(Failure::bad_input(message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Control characters, those that set the direction of text, and others that are not seen.
    const BAD: &str = "a\u{202e}b\u{200b}c\0\u{7f}\r\u{9b}31m\u{1b}]0;x\u{7}\u{1b}[8mhidden\u{1b}[2J\u{e0041}";

    fn text_of(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn is_clean(text: &str) -> bool {
        !text.chars().any(|c| kit::text::is_invisible(c) && c != '\n')
    }

    #[test]
    fn nothing_invisible_reaches_a_terminal_a_table_or_json() {
        let text = shown(&style::styled(style::BAD, BAD)).into_owned();
        assert!(text.starts_with("\u{1b}[") && text.ends_with("\u{1b}[0m"), "{text:?}");
        assert!(is_clean(anstream::adapter::strip_str(&text).to_string().as_str()), "{text:?}");
        assert_eq!(text.matches('\u{1b}').count(), style::styled(style::BAD, "").matches('\u{1b}').count(), "{text:?}");
        assert!(is_clean(&text_of(|out| csv([[BAD]], out))));
        let document = text_of(|out| json(&std::collections::BTreeMap::from([(BAD, BAD)]), out));
        assert!(is_clean(&document), "{document:?}");
        let back: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(back[BAD], BAD);
    }

    #[test]
    fn a_shell_reads_any_value() {
        assert_eq!(quoted(OsStr::new("it's $HOME")), r"'it'\''s $HOME'");
    }
}
