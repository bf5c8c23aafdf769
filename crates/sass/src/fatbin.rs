//! Fat binaries: code of several architectures, often compressed.
//!
//! A fat binary is a sequence of containers (header 0xBA55ED50), one for each source file, each with a sequence of
//! entries: the file's PTX text or a cubin of it. Host programs store them in the section `.nv_fatbin`. A GPU runs
//! one entry of each container ([`containers`], [`select_code`]). Entries are found without expanding them;
//! [`Entry::extract`] expands one, to at most [`MAX_BYTES`].

use crate::elf::bytes::Bytes;
use crate::elf::{ElfError, Problem, host_fatbin, is_cubin, is_elf};
use std::borrow::Cow;
use std::fmt;
use std::io::Read;

/// The first four bytes of a fat binary.
pub const MAGIC: u32 = 0xba55_ed50;
/// Size of the header of a container.
pub const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: u32 = 64;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Maximum size of an expanded entry.
pub const MAX_BYTES: u64 = 1 << 28;

/// The kind of an entry's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Kind {
    Ptx,
    Cubin,
    /// Another kind, by number.
    Other(u16),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ptx => f.write_str("PTX"),
            Self::Cubin => f.write_str("machine code"),
            Self::Other(number) => write!(f, "something of kind {number}"),
        }
    }
}

/// An entry of a fat binary.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Entry<'a> {
    pub kind: Kind,
    /// Architecture, such as 75 for sm_75.
    pub sm: u32,
    /// Offset of its contents in the file.
    pub offset: u64,
    contents: &'a [u8],
    flags: u64,
    raw_bytes: u64,
}

fn fail<T>(offset: u64, problem: Problem) -> Result<T, ElfError> {
    Err(ElfError { offset, problem })
}

/// The containers of a fat binary, or of a host program or library that has some. A cubin is the only entry of its
/// only container.
pub fn containers(file: &[u8]) -> Result<Vec<Vec<Entry<'_>>>, ElfError> {
    if is_cubin(file) {
        let sm = crate::elf::Cubin::parse(file)?.sm;
        let raw_bytes = file.len() as u64;
        let entry = Entry { kind: Kind::Cubin, sm: sm.into(), offset: 0, contents: file, flags: 0, raw_bytes };
        return Ok(vec![vec![entry]]);
    }
    if !is_elf(file) {
        return sequence(Bytes::new(file));
    }
    let mut found = Vec::new();
    for (offset, data) in host_fatbin(file)? {
        let section = Bytes::new(file).part(offset, data.len() as u64, "fat binary")?;
        found.extend(sequence(section)?);
    }
    Ok(found)
}

/// The entries of all [`containers`] of a file.
pub fn entries(file: &[u8]) -> Result<Vec<Entry<'_>>, ElfError> {
    Ok(containers(file)?.concat())
}

/// Size of the container that starts with `header`, its header included.
pub fn container_bytes(header: &[u8; HEADER_BYTES]) -> Result<u64, ElfError> {
    let (header_bytes, bytes) = sizes(Bytes::new(header))?;
    header_bytes.checked_add(bytes).map_or_else(|| fail(8, Problem::BadFatbin("size of the entries")), Ok)
}

/// Size of a container's header and of its entries.
fn sizes(header: Bytes<'_>) -> Result<(u64, u64), ElfError> {
    let what = "header of a fat binary";
    if header.u32(0, what)? != MAGIC {
        return fail(header.offset() as u64, Problem::BadFatbin("it starts with another number than 0xBA55ED50"));
    }
    let header_bytes = u64::from(header.u16(6, what)?);
    if header_bytes < HEADER_BYTES as u64 {
        return fail(header.offset() as u64, Problem::BadFatbin("size of the header"));
    }
    Ok((header_bytes, header.u64(8, what)?))
}

/// Containers one after another; zeros between them are padding.
fn sequence(data: Bytes<'_>) -> Result<Vec<Vec<Entry<'_>>>, ElfError> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let rest = &data.data()[at..];
        let padding = rest.iter().take_while(|&&byte| byte == 0).count();
        if padding == rest.len() && at > 0 {
            break;
        }
        at += if at > 0 { padding } else { 0 };
        let (header_bytes, bytes) = sizes(data.part(at as u64, HEADER_BYTES as u64, "header of a fat binary")?)?;
        let start = at as u64 + header_bytes;
        let mut entries = Vec::new();
        read_entries(data.part(start, bytes, "fat binary")?, &mut entries)?;
        found.push(entries);
        at = (start + bytes) as usize;
    }
    Ok(found)
}

fn read_entries<'a>(data: Bytes<'a>, found: &mut Vec<Entry<'a>>) -> Result<(), ElfError> {
    let mut at = 0u64;
    while at < data.len() as u64 {
        let what = "entry of a fat binary";
        let head = data.part(at, ENTRY_BYTES.into(), what)?;
        let header_bytes = head.u32(4, what)?;
        if header_bytes < ENTRY_BYTES {
            return fail(head.offset() as u64, Problem::BadFatbin("size of an entry's header"));
        }
        let payload = data.part(at + u64::from(header_bytes), head.u64(8, what)?, "contents of an entry")?;
        let flags = head.u64(40, what)?;
        let compressed = flags & (LZ4 | ZSTD) != 0;
        // Contents are padded; only compressed entries store their own size.
        let bytes = if compressed { head.u32(16, what)?.into() } else { payload.len() as u64 };
        let contents = payload.part(0, bytes, "compressed contents of an entry")?;
        found.push(Entry {
            kind: match head.u16(0, what)? {
                1 => Kind::Ptx,
                2 => Kind::Cubin,
                other => Kind::Other(other),
            },
            sm: head.u32(28, what)?,
            offset: contents.offset() as u64,
            contents: contents.data(),
            flags,
            raw_bytes: if compressed { head.u64(56, what)? } else { bytes },
        });
        at += u64::from(header_bytes) + payload.len() as u64;
    }
    Ok(())
}

impl<'a> Entry<'a> {
    /// Whether the contents are compressed.
    pub fn is_compressed(&self) -> bool {
        self.flags & (LZ4 | ZSTD) != 0
    }

    /// The contents, expanded if they are compressed; of PTX the text without the zeros that follow it.
    pub fn extract(&self) -> Result<Cow<'a, [u8]>, ElfError> {
        let raw = self.expand()?;
        if self.kind != Kind::Ptx {
            return Ok(raw);
        }
        let end = raw.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Ok(match raw {
            Cow::Borrowed(raw) => Cow::Borrowed(&raw[..end]),
            Cow::Owned(mut raw) => {
                raw.truncate(end);
                Cow::Owned(raw)
            }
        })
    }

    fn expand(&self) -> Result<Cow<'a, [u8]>, ElfError> {
        let error = |why: String| ElfError { offset: self.offset, problem: Problem::Compression(why) };
        if self.raw_bytes > MAX_BYTES {
            return Err(error(format!("it claims {} bytes; the limit is {MAX_BYTES}", self.raw_bytes)));
        }
        if !self.is_compressed() {
            return Ok(Cow::Borrowed(self.contents));
        }
        if self.flags & LZ4 != 0 {
            // LZ4 expands a byte to at most 255: a larger claim would only reserve memory.
            if self.raw_bytes > 255 * self.contents.len() as u64 + 64 {
                return Err(error("it claims more bytes than its data can expand to".to_owned()));
            }
            let raw = lz4_flex::block::decompress(self.contents, self.raw_bytes as usize);
            return raw.map(Cow::Owned).map_err(|cause| error(cause.to_string()));
        }
        let mut raw = Vec::new();
        // One byte more: what is longer than it claims is damaged, too.
        kit::zstd::Reader::new(self.contents)
            .take(self.raw_bytes + 1)
            .read_to_end(&mut raw)
            .map_err(|cause| error(cause.to_string()))?;
        match raw.len() as u64 == self.raw_bytes {
            true => Ok(Cow::Owned(raw)),
            false => Err(error(format!("it expands to {} of {} bytes", raw.len(), self.raw_bytes))),
        }
    }
}

/// The cubin that runs on an architecture: its own, or the newest older one of the same generation.
pub fn select<'a, 'b>(entries: &'b [Entry<'a>], sm: u32) -> Option<&'b Entry<'a>> {
    let runs = |entry: &&Entry| entry.kind == Kind::Cubin && isa::runs_on(entry.sm, sm);
    entries.iter().filter(runs).max_by_key(|entry| entry.sm)
}

/// Code of a container that an architecture runs: the cubin that [`select`] takes, else the newest PTX that is not
/// newer than it.
pub fn select_code<'a, 'b>(entries: &'b [Entry<'a>], sm: u32) -> Option<&'b Entry<'a>> {
    let text = || entries.iter().filter(|entry| entry.kind == Kind::Ptx && entry.sm <= sm).max_by_key(|entry| entry.sm);
    select(entries, sm).or_else(text)
}
