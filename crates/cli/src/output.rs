//! Standard output, standard error and files.
//!
//! The reader of our output may stop early (`| head`): a closed pipe is not an error, and the exit
//! status stays that of the command.

use crate::failure::Failure;
use crate::render::style;
use crate::version;
use serde::Serialize;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Prints text, which may hold colours, to standard output. Colours are dropped where the output
/// is not a terminal or `NO_COLOR` is set.
pub fn print(text: &str) -> Result<(), Failure> {
    written(write_flushed(&mut anstream::stdout().lock(), text))
}

/// `rows` as CSV: a header, then a record for each; quoted as RFC 4180 has it, lines end in a line feed. Rows are flat
/// structs, whose fields are the columns.
pub fn csv(rows: impl IntoIterator<Item = impl Serialize>) -> Result<Vec<u8>, Failure> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    rows.into_iter().try_for_each(|row| writer.serialize(row)).map_err(Failure::failed)?;
    writer.into_inner().map_err(Failure::failed)
}

/// Writes bytes to `file`, or to standard output if there is none.
pub fn give(file: Option<&Path>, content: &[u8]) -> Result<(), Failure> {
    let Some(path) = file else {
        let mut out = io::stdout().lock();
        return written(out.write_all(content).and_then(|()| out.flush()));
    };
    save(path, content)
}

/// Writes a file: the old one stays until the new one is complete.
pub fn save(path: &Path, content: &[u8]) -> Result<(), Failure> {
    kit::output::write(path, content).map_err(|e| {
        let path = path.display();
        Failure::failed(format!("cannot write `{path}`: {e}; a file that was there is as it was"))
    })
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

/// Prints text to standard error, which keeps it out of redirected output.
pub fn remark(text: &str) {
    // A closed standard error leaves no place for the message.
    let _ = write_flushed(&mut anstream::stderr().lock(), text);
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

/// A value as the text of a file of JSON.
pub fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let signed = Signed { value, commit: version::COMMIT };
    let mut text = serde_json::to_vec_pretty(&signed).map_err(Failure::failed)?;
    text.push(b'\n');
    Ok(text)
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
        let text = csv(rows.map(|(name, value)| Row { name, value })).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "name,value\n\"a, \"\"b\"\"\nc\",0.5\n,\nplain,7.0\n");
    }
}
