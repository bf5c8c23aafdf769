//! Standard output, standard error and files.
//!
//! Whoever reads our output may stop early (`| head`): a closed pipe is no error, and the exit
//! status stays that of the command.

use crate::failure::Failure;
use crate::render::style;
use serde::Serialize;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Prints text, which may hold colours, to standard output. Colours are dropped where the output
/// is no terminal or the user wants none (`NO_COLOR`).
pub fn print(text: &str) -> Result<(), Failure> {
    written(write_flushed(&mut anstream::stdout().lock(), text))
}

/// Prints a value as JSON to standard output.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = json(value)?;
    let mut out = io::stdout().lock();
    written(out.write_all(&text).and_then(|()| out.flush()))
}

/// Gives a value as JSON where `--json` wants it: in a file, else on standard output.
pub fn give_json(file: Option<&Path>, value: &impl Serialize) -> Result<(), Failure> {
    file.map_or_else(|| print_json(value), |path| save(path, &json(value)?))
}

/// Writes a file.
pub fn save(path: &Path, content: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, content).map_err(|e| unwritable(path, &e))
}

/// Checks before a long run that each of `paths` can be written in the end, and that they are different.
pub fn check_paths<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    let mut seen: Vec<&Path> = Vec::new();
    for path in paths {
        if seen.contains(&path) {
            let path = path.display();
            return Err(Failure::bad_input(format!("`{path}` is to hold two things; give each a file of its own")));
        }
        seen.push(path);
        let existed = path.exists();
        File::options().append(true).create(true).open(path).map_err(|e| unwritable(path, &e))?;
        if !existed {
            std::fs::remove_file(path).map_err(|e| unwritable(path, &e))?;
        }
    }
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    Failure::bad_input(format!("cannot write `{path}`: {error}; choose a path that can be written"))
}

/// Prints text to standard error: what should not get into redirected output.
pub fn remark(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = write_flushed(&mut anstream::stderr().lock(), text);
}

/// Prints an error to standard error.
pub fn error(message: &str) {
    remark(&format!("{} {}\n", style::styled(style::BAD, "error:"), message.trim_end()));
}

fn write_flushed(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A value as the text of a file.
fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut text = serde_json::to_vec_pretty(value).map_err(Failure::failed)?;
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
