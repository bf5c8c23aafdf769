//! Images of modules in memory of the process and in files.

use crate::error::{Error, Result};
use crate::host::{Host, read_text};
use kit::{files, text::excerpt};
use sass::fatbin;

/// First bytes of the wrapper in which compilers put fat binaries (public `fatbinary_section.h`).
const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// First bytes of a file of machine code.
pub(super) const ELF_MAGIC: [u8; 4] = *b"\x7fELF";
/// Maximum size of an image.
const MOST_IMAGE_BYTES: u64 = 1 << 30;

/// First bytes of the images that linking makes; the size of the contents follows, as 64 bits.
pub const IMAGE_MAGIC: [u8; 8] = *b"WWLINKED";
/// Bytes before the contents.
pub const IMAGE_HEADER_BYTES: usize = 16;

/// The contents of an image that linking has made.
pub(super) fn linked_contents(image: &[u8]) -> Option<&[u8]> {
    let (header, contents) = image.split_at_checked(IMAGE_HEADER_BYTES)?;
    let size = u64::from_le_bytes(*header.last_chunk()?);
    if header.starts_with(&IMAGE_MAGIC) { contents.get(..usize::try_from(size).ok()?) } else { None }
}

/// The image at `address` of host memory: fat binary, wrapper of one, cubin, or PTX. Its size is in it.
///
/// # Errors
/// There is no memory, or it is not one of these.
pub fn read_image(host: &dyn Host, address: u64) -> Result<Vec<u8>> {
    let magic = host_u32(host, address)?;
    let bytes = match magic {
        WRAPPER_MAGIC => {
            let wrapped = host_u64(host, address + 8)?;
            // A wrapper in a wrapper may be the same one.
            let is_wrapper = host_u32(host, wrapped)? == WRAPPER_MAGIC;
            return if is_wrapper { Err(Error::INVALID_IMAGE) } else { read_image(host, wrapped) };
        }
        fatbin::MAGIC => {
            let header = u64::from(host_u32(host, address + 4)? >> 16);
            header.checked_add(host_u64(host, address + 8)?).ok_or(Error::INVALID_IMAGE)?
        }
        _ if magic.to_le_bytes() == IMAGE_MAGIC[..4] && host_u64(host, address)?.to_le_bytes() == IMAGE_MAGIC => {
            (IMAGE_HEADER_BYTES as u64).checked_add(host_u64(host, address + 8)?).ok_or(Error::INVALID_IMAGE)?
        }
        _ if magic.to_le_bytes() == ELF_MAGIC => elf_bytes(host, address)?,
        _ => return read_text(host, address).ok_or(Error::INVALID_VALUE),
    };
    if bytes > MOST_IMAGE_BYTES {
        return Err(Error::INVALID_IMAGE);
    }
    let mut image = vec![0; bytes as usize];
    if host.read(address, &mut image) { Ok(image) } else { Err(Error::INVALID_VALUE) }
}

/// The contents of a file of code that the program names. A device or a pipe is refused: it may not end.
///
/// # Errors
/// There is no such file, or it is too long.
pub fn read_file(host: &dyn Host, path: &str) -> Result<Vec<u8>> {
    let about = std::fs::metadata(path).map_err(|_| Error::FILE_NOT_FOUND)?;
    let read =
        if about.is_file() { files::read_code(path).map_err(|e| e.to_string()) } else { Err("not a file".into()) };
    read.map_err(|problem| {
        host.message(&format!("`{}` is not loaded: {problem}", excerpt(path)));
        Error::INVALID_IMAGE
    })
}

/// Size of an ELF file of 64 bits: to the end of its last part.
fn elf_bytes(host: &dyn Host, address: u64) -> Result<u64> {
    let mut header = [0; 64];
    if !host.read(address, &mut header) {
        return Err(Error::INVALID_VALUE);
    }
    let long = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap_or_default());
    let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let (segments, sections) = (long(32), long(40));
    let tables = [segments.saturating_add(short(54) * short(56)), sections.saturating_add(short(58) * short(60))];
    let mut end = tables[0].max(tables[1]);
    if end > MOST_IMAGE_BYTES {
        return Err(Error::INVALID_IMAGE);
    }
    for section in 0..short(60) {
        let at = address + sections + section * short(58);
        // Sections of kind 8 take no room in the file.
        if host_u32(host, at + 4)? != 8 {
            end = end.max(host_u64(host, at + 24)?.saturating_add(host_u64(host, at + 32)?));
        }
    }
    Ok(end)
}

fn host_u32(host: &dyn Host, address: u64) -> Result<u32> {
    let mut bytes = [0; 4];
    if host.read(address, &mut bytes) { Ok(u32::from_le_bytes(bytes)) } else { Err(Error::INVALID_VALUE) }
}

fn host_u64(host: &dyn Host, address: u64) -> Result<u64> {
    let mut bytes = [0; 8];
    if host.read(address, &mut bytes) { Ok(u64::from_le_bytes(bytes)) } else { Err(Error::INVALID_VALUE) }
}
