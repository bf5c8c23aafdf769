//! Results on their way to a file or to standard output.

use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes `rows` as CSV: a header, then a record for each; quoted as RFC 4180 has it, lines end in a line feed. Rows are
/// flat structs, whose fields are the columns.
///
/// # Errors
/// They cannot be written.
pub fn csv(rows: impl IntoIterator<Item = impl Serialize>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer =
        csv::Writer::from_writer(Shown { out, with: |_, text: &mut String| text.push('\u{fffd}'), part: Vec::new() });
    // Errors of the output, such as a closed pipe, remain unchanged.
    let of_output = |e: csv::Error| match e.into_kind() {
        csv::ErrorKind::Io(e) => e,
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

/// Writes the output of `write` to `out` in large pieces.
///
/// # Errors
/// It cannot be written.
pub fn piecewise(out: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(AT_A_TIME, Noticing(out));
    write(&mut out)?;
    out.flush()
}

/// Writes a file of what `write` makes: the old one stays until the new one is complete.
///
/// # Errors
/// It cannot be written: why.
pub fn save_as(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    let whole = || {
        let mut file = kit::output::NewFile::create(path)?;
        piecewise(&mut file, write)?;
        file.finish()
    };
    whole().map_err(|e| {
        let path = path.display();
        format!("cannot write `{path}`: {e}; a file that was there is as it was")
    })
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

/// A value as JSON, with the commit of the program.
#[derive(Serialize)]
struct Signed<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    commit: Option<&'a str>,
}

/// Writes a value as the text of a file of JSON. Invisible characters in texts are escaped; outside texts JSON is
/// ASCII.
///
/// # Errors
/// It cannot be written.
pub fn json(value: &impl Serialize, commit: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let signed = Signed { value, commit };
    let escape = |bad: char, text: &mut String| {
        bad.encode_utf16(&mut [0; 2]).iter().for_each(|unit| *text += &format!("\\u{unit:04x}"));
    };
    let mut out = Shown { out, with: escape, part: Vec::new() };
    serde_json::to_writer_pretty(&mut out, &signed)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        #[derive(Serialize)]
        struct Row {
            name: &'static str,
            value: Option<f64>,
        }
        let rows = [("a, \"b\"\nc", Some(0.5)), ("", None), ("plain", Some(7.0))];
        let mut out = Vec::new();
        csv(rows.map(|(name, value)| Row { name, value }), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "name,value\n\"a, \"\"b\"\"\nc\",0.5\n,\nplain,7.0\n");
    }
}
