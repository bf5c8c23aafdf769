//! Files as lines, decompressed on the way.

use crate::TraceError;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest line that is taken for one: some thirty times the longest that a tracer writes.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// Bytes read from a file, and decompressed, at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// Opens `path`, decompressing what the first bytes (not the name) say is compressed: gzip, xz, zstd.
///
/// # Errors
/// The file cannot be opened or its beginning not be read.
pub fn open_decompressed(path: &Path) -> std::io::Result<Box<dyn BufRead + Send>> {
    let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let magic = file.fill_buf()?;
    let unpacked: Box<dyn Read + Send> = if magic.starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(file))
    } else if magic.starts_with(b"\xfd7zXZ\0") {
        Box::new(lzma_rust2::XzReader::new(file, true))
    } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Box::new(ruzstd::decoding::StreamingDecoder::new(file).map_err(std::io::Error::other)?)
    } else {
        return Ok(Box::new(file));
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)))
}

/// The lines of a file that are not blank.
pub(crate) struct Lines {
    path: PathBuf,
    input: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let input = open_decompressed(path).map_err(|e| {
            let error = TraceError::new(path, 0, format!("cannot be opened: {e}"));
            if e.kind() == std::io::ErrorKind::NotFound {
                error.hint("kernel files stand beside the list, under the names that it gives")
            } else {
                error
            }
        })?;
        Ok(Self { path: path.to_owned(), input, line: Vec::new(), number: 0 })
    }

    /// The next line that is not blank, without blanks at its ends; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        loop {
            self.line.clear();
            self.number += 1;
            let mut limited = (&mut self.input).take(MAX_LINE_BYTES);
            match limited.read_until(b'\n', &mut self.line) {
                Ok(0) => return Ok(None),
                Ok(bytes) if bytes as u64 == MAX_LINE_BYTES && self.line.last() != Some(&b'\n') => {
                    let error = self.error(format!("a line is longer than {MAX_LINE_BYTES} bytes"));
                    return Err(error.hint("is this a trace, or an archive of traces?"));
                }
                Ok(_) if self.line.trim_ascii().is_empty() => {}
                Ok(_) => return Ok(Some(self.line.trim_ascii())),
                Err(e) => {
                    let error = self.error(format!("cannot be read on: {e}"));
                    return Err(error.hint("the file may be damaged or cut short"));
                }
            }
        }
    }

    /// The line that [`Lines::next`] last gave.
    pub fn current(&self) -> &[u8] {
        self.line.trim_ascii()
    }

    /// An error in the current line.
    pub fn error(&self, what: impl Into<String>) -> TraceError {
        TraceError::new(&self.path, self.number, what)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lines({}:{})", self.path.display(), self.number)
    }
}
