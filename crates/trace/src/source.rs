//! Files as lines, with decompression.

use crate::TraceError;
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Maximum length of a line: some thirty times the longest that a tracer writes.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Bytes read from a file, and decompressed, at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// First bytes of a file, which identify its compression.
const MAGIC_BYTES: u64 = 6;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = b"\xfd7zXZ\0";
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Whether a file begins with a frame of zstd, which may be a skippable one.
fn is_zstd(magic: &[u8]) -> bool {
    magic.starts_with(ZSTD) || matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Maximum memory of an xz decoder: a dictionary of 256 MiB, four times the dictionary of `xz -9`.
const MOST_XZ_KIB: u32 = 257 << 10;

/// Opens `path` with decompression (gzip, xz or zstd) according to its first bytes, whatever its name.
///
/// # Errors
/// The file cannot be opened, or its first bytes cannot be read.
pub fn open_decompressed(path: &Path) -> std::io::Result<Box<dyn Read + Send>> {
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    (&mut file).take(MAGIC_BYTES).read_to_end(&mut magic)?;
    let whole = Cursor::new(magic.clone()).chain(file);
    let buffered = |whole| BufReader::with_capacity(BUFFER_BYTES, whole);
    Ok(if magic.starts_with(GZIP) {
        Box::new(Decompressed { format: "gzip", from: flate2::bufread::MultiGzDecoder::new(buffered(whole)) })
    } else if magic.starts_with(XZ) {
        let from = lzma_rust2::XzReader::new_mem_limit(buffered(whole), true, MOST_XZ_KIB);
        Box::new(Decompressed { format: "xz", from })
    } else if is_zstd(&magic) {
        Box::new(Decompressed { format: "zstd", from: kit::zstd::Reader::new(buffered(whole)) })
    } else {
        Box::new(whole)
    })
}

/// Output of a decompressor. Its errors name the format.
struct Decompressed<R> {
    format: &'static str,
    from: R,
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        kit::stop::check()?;
        let of_system = |e: &std::io::Error| e.raw_os_error().is_some() || e.kind() == ErrorKind::Interrupted;
        self.from.read(out).map_err(|e| match e.kind() {
            _ if of_system(&e) => e,
            ErrorKind::OutOfMemory => {
                let what = format!("this {} data needs a dictionary of more than 256 MiB", self.format);
                std::io::Error::new(ErrorKind::InvalidData, what)
            }
            _ => std::io::Error::new(ErrorKind::InvalidData, format!("this is not valid {} data: {e}", self.format)),
        })
    }
}

/// Size that is worth a thread of its own.
const WORTH_SPLITTING: u64 = 1 << 20;

/// Divides a plain trace at the beginnings of CTAs into at most `most` parts of about the same length. One part if
/// that is not possible, or not worth it.
pub(crate) fn split(path: &Path, most: usize) -> Vec<Range<u64>> {
    let cuts = if most > 1 { cuts(path, most as u64).unwrap_or_default() } else { Vec::new() };
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    starts.zip(cuts.iter().copied().chain([u64::MAX])).map(|(start, end)| start..end).collect()
}

fn cuts(path: &Path, parts: u64) -> std::io::Result<Vec<u64>> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let parts = parts.min(bytes / WORTH_SPLITTING);
    let mut cuts: Vec<u64> = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    if parts > 1 {
        let read = file.read(&mut buffer)?;
        if is_zstd(&buffer[..read]) || [GZIP, XZ].iter().any(|magic| buffer[..read].starts_with(magic)) {
            return Ok(cuts);
        }
    }
    for part in 1..parts {
        let from = (bytes / parts * part).max(cuts.last().map_or(0, |last| last + 1));
        if let Some(at) = find(&mut file, from, b"\n#BEGIN_TB", &mut buffer)? {
            cuts.push(at + 1);
        }
    }
    Ok(cuts)
}

/// The first place of `text` in a file from byte `from` on.
fn find(file: &mut File, from: u64, text: &[u8], buffer: &mut [u8]) -> std::io::Result<Option<u64>> {
    let (mut start, mut held) = (from, 0);
    file.seek(SeekFrom::Start(from))?;
    loop {
        let read = file.read(&mut buffer[held..])?;
        if read == 0 {
            return Ok(None);
        }
        held += read;
        if let Some(at) = memchr::memmem::find(&buffer[..held], text) {
            return Ok(Some(start + at as u64));
        }
        // The text may begin in the last bytes.
        let kept = held.min(text.len() - 1);
        buffer.copy_within(held - kept..held, 0);
        (start, held) = (start + (held - kept) as u64, kept);
    }
}

/// The lines of a file, except blank ones.
pub(crate) struct Lines {
    path: PathBuf,
    input: Box<dyn Read + Send>,
    /// Bytes that were read and not consumed: `buffer[from..to]`.
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Maximum number of bytes read at a time.
    at_a_time: usize,
    /// Position of the present line in `buffer`.
    line: Range<usize>,
    number: u64,
}

impl Lines {
    /// Opens the file at `path` to read most of its lines.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Self::open_reading(path, BUFFER_BYTES)
    }

    /// Opens the file at `path` to read its first few lines.
    pub fn open_for_few(path: &Path) -> Result<Self, TraceError> {
        Self::open_reading(path, 4 << 10)
    }

    /// Opens these bytes of the plain file at `path`, which begin with a line.
    pub fn open_part(path: &Path, bytes: Range<u64>) -> Result<Self, TraceError> {
        let open = || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(bytes.start))?;
            Ok(file.take(bytes.end - bytes.start))
        };
        Self::of(path, open().map(|input| Box::new(input) as _), BUFFER_BYTES)
    }

    fn open_reading(path: &Path, at_a_time: usize) -> Result<Self, TraceError> {
        Self::of(path, open_decompressed(path), at_a_time)
    }

    fn of(path: &Path, input: std::io::Result<Box<dyn Read + Send>>, at_a_time: usize) -> Result<Self, TraceError> {
        let input = input.map_err(|e| {
            let error = TraceError::new(path, 0, format!("cannot be opened: {e}"));
            if e.kind() == ErrorKind::NotFound {
                error.hint("kernel files must be in the folder of the list, under the names in it")
            } else {
                error
            }
        })?;
        let buffer = vec![0; at_a_time];
        Ok(Self { path: path.to_owned(), input, buffer, from: 0, to: 0, at_a_time, line: 0..0, number: 0 })
    }

    /// The next line that is not blank, without surrounding blanks; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        loop {
            self.number += 1;
            let bytes = self.line_bytes()?;
            if bytes == 0 {
                return Ok(None);
            }
            self.line = self.from..self.from + bytes;
            self.from += bytes;
            if !self.current().is_empty() {
                return Ok(Some(self.current()));
            }
        }
    }

    /// Length of the line at `from`, which is completely in the buffer afterwards; 0 at the end of the file.
    #[inline]
    fn line_bytes(&mut self) -> Result<usize, TraceError> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.from..self.to];
            let most = unread.len().min(MAX_LINE_BYTES);
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..most]) {
                return Ok(searched + at + 1);
            }
            if most == MAX_LINE_BYTES {
                let error = self.error(format!("a line is longer than {MAX_LINE_BYTES} bytes"));
                return Err(error.hint("is this a trace, or an archive of traces?"));
            }
            searched = most;
            if self.fill()? == 0 {
                return Ok(searched);
            }
        }
    }

    /// Reads more after the unconsumed bytes, which are fewer than a maximum line; returns their number.
    #[cold]
    fn fill(&mut self) -> Result<usize, TraceError> {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        self.line = 0..0;
        if self.buffer.len() < self.to + self.at_a_time {
            self.buffer.resize(self.to + self.at_a_time, 0);
        }
        loop {
            kit::stop::check().map_err(|e| self.error(e.to_string()))?;
            match self.input.read(&mut self.buffer[self.to..][..self.at_a_time]) {
                Ok(bytes) => {
                    self.to += bytes;
                    return Ok(bytes);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    let error = self.error(format!("cannot be read on: {e}"));
                    return Err(error.hint("the file may be damaged or cut short"));
                }
            }
        }
    }

    /// The line that [`Lines::next`] last returned.
    #[inline]
    pub fn current(&self) -> &[u8] {
        self.buffer[self.line.clone()].trim_ascii()
    }

    /// The same line with the blanks around it and its end.
    #[inline]
    pub fn whole(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// The bytes after the present line that have been read.
    #[inline]
    pub fn ahead(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Skips lines of `bytes` bytes in all that [`Lines::ahead`] has shown completely.
    #[inline]
    pub fn skip(&mut self, lines: usize, bytes: usize) {
        self.from += bytes;
        self.number += lines as u64;
    }

    /// An error in the present line.
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
