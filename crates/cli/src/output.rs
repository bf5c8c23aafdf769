//! Standard output, standard error and files.
//!
//! The reader of our output may stop early (`| head`): a closed pipe is not an error, and the exit
//! status stays that of the command.

use crate::failure::Failure;
use crate::render::style;
use crate::version;
use serde::Serialize;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Prints text, which may hold colours, to standard output. Colours are dropped where the output
/// is not a terminal or `NO_COLOR` is set.
pub fn print(text: &str) -> Result<(), Failure> {
    written(write_flushed(&mut anstream::stdout().lock(), &shown(text)))
}

/// Writes `rows` as CSV: a header, then a record for each; quoted as RFC 4180 has it, lines end in a line feed. Rows are
/// flat structs, whose fields are the columns.
pub fn csv(rows: impl IntoIterator<Item = impl Serialize>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer =
        ::csv::Writer::from_writer(Shown { out, with: |_, text: &mut String| text.push('\u{fffd}'), part: Vec::new() });
    // What the output itself says, a closed pipe among it, stays what it is.
    let of_output = |e: ::csv::Error| match e.into_kind() {
        ::csv::ErrorKind::Io(e) => e,
        other => io::Error::other(format!("{other:?}")),
    };
    rows.into_iter().try_for_each(|row| writer.serialize(row)).map_err(of_output)?;
    writer.flush()
}

/// Bytes that are collected before they are written, and written between two looks at the request to stop.
const AT_A_TIME: usize = 256 << 10;

/// Output that shows that it has seen a request to stop: what is known is written to the end, and the next Ctrl-C ends
/// the process at once.
struct Noticing<W>(W);

impl<W: Write> Write for Noticing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        kit::stop::requested();
        self.0.write(&bytes[..bytes.len().min(AT_A_TIME)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What `write` makes, to `out` in large pieces.
fn piecewise(out: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(AT_A_TIME, Noticing(out));
    write(&mut out)?;
    out.flush()
}

/// Writes what `write` makes to `file`, or to standard output if there is none, without holding all of it.
pub fn give(file: Option<&Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    match file {
        Some(path) => save_as(path, write),
        None => written(piecewise(io::stdout().lock(), write)),
    }
}

/// Writes a file of what `write` makes: the old one stays until the new one is complete.
pub fn save_as(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let whole = || {
        let mut file = kit::output::NewFile::create(path)?;
        piecewise(&mut file, write)?;
        file.finish()
    };
    whole().map_err(|e| {
        let path = path.display();
        Failure::failed(format!("cannot write `{path}`: {e}; a file that was there is as it was"))
    })
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
    format!("'{}'", value.to_string_lossy().replace('\'', "'\\''"))
}

/// Text for a terminal: what is invisible in names becomes U+FFFD; colours stay.
fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return kit::text::visible(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, part) in text.split('\u{1b}').enumerate() {
        // What follows an escape is a style of ours, of a few numbers without the one that conceals, or no style at all.
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

/// Text in UTF-8 on its way to `out`, in which something else is written for what is invisible.
struct Shown<W, F> {
    out: W,
    /// Appends to a text what is written for a character.
    with: F,
    /// The beginning of a character whose end has not come.
    part: Vec<u8>,
}

impl<W: Write, F: Fn(char, &mut String)> Write for Shown<W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        if self.part.is_empty() && bytes.iter().all(is_plain) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.part.extend_from_slice(bytes);
        let mut out = String::new();
        let mut rest = &self.part[..];
        while let Some(chunk) = rest.utf8_chunks().next() {
            for c in chunk.valid().chars() {
                if kit::text::is_invisible(c) && !matches!(c, '\n' | '\t') {
                    (self.with)(c, &mut out)
                } else {
                    out.push(c)
                }
            }
            rest = &rest[chunk.valid().len()..];
            let is_cut = std::str::from_utf8(rest).is_err_and(|e| e.error_len().is_none());
            if rest.is_empty() || is_cut {
                break;
            }
            // Not text at all.
            out.push('\u{fffd}');
            rest = &rest[chunk.invalid().len()..];
        }
        let kept = rest.to_vec();
        self.part = kept;
        self.out.write_all(out.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Prints text to standard error, which keeps it out of redirected output.
pub fn remark(text: &str) {
    // A closed standard error leaves no place for the message.
    let _ = write_flushed(&mut anstream::stderr().lock(), &shown(text));
}

/// Prints an error to standard error.
pub fn error(message: &str) {
    let message = kit::text::bounded(message.trim_end());
    // A front end's message about a file begins with the place and already has the word `error`.
    let located = message.lines().next().is_some_and(|line| line.contains(": error: "));
    let label = if located { String::new() } else { format!("{} ", style::styled(style::BAD, "error:")) };
    remark(&format!("{label}{message}\n"));
}

fn write_flushed(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A value printed as JSON, with the commit of the program.
#[derive(Serialize)]
struct Signed<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    commit: Option<&'static str>,
}

/// Writes a value as the text of a file of JSON. What is invisible in texts is escaped; outside texts JSON is ASCII.
pub fn json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let signed = Signed { value, commit: version::COMMIT };
    let escape = |bad: char, text: &mut String| {
        bad.encode_utf16(&mut [0; 2]).iter().for_each(|unit| *text += &format!("\\u{unit:04x}"));
    };
    let mut out = Shown { out, with: escape, part: Vec::new() };
    serde_json::to_writer_pretty(&mut out, &signed)?;
    out.write_all(b"\n")
}

fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
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

    /// However the pieces are cut, also within a character.
    #[test]
    fn pieces_of_a_text_are_the_text() {
        let text = "a\u{202e}\u{1f600}\u{7f}\u{e9}\nb";
        for size in 1..text.len() {
            let mut out = Vec::new();
            let mut shown = Shown { out: &mut out, with: |_, text: &mut String| text.push('?'), part: Vec::new() };
            text.as_bytes().chunks(size).for_each(|piece| shown.write_all(piece).unwrap());
            assert_eq!(String::from_utf8(out).unwrap(), "a?\u{1f600}?\u{e9}\nb", "pieces of {size} bytes");
        }
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

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        #[derive(Serialize)]
        struct Row {
            name: &'static str,
            value: Option<f64>,
        }
        let rows = [("a, \"b\"\nc", Some(0.5)), ("", None), ("plain", Some(7.0))];
        let text = text_of(|out| csv(rows.map(|(name, value)| Row { name, value }), out));
        assert_eq!(text, "name,value\n\"a, \"\"b\"\"\nc\",0.5\n,\nplain,7.0\n");
    }
}
