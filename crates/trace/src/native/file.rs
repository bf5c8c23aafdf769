//! The parts of a file: head, blocks of CTAs, footer, tail.
//!
//! ```text
//!  head    16 bytes   "wwtrace\n", version (u16), zeros
//!  blocks             CTAs one after the other, compressed together
//!  footer             programs, actions, launches, where each block and CTA is; compressed
//!  tail    32 bytes   footer's offset (u64), bytes stored and unpacked (u32 each), CRC-32 (u32),
//!                     zeros (u32), "wwtrend\n"
//! ```
//! All numbers are little-endian. Compressed data is raw DEFLATE; it is stored uncompressed if compression
//! would not shorten it, or would shorten it beyond the ratio that the reader accepts.

use crate::TraceError;
use kit::text::counted;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

pub(super) const HEAD: &[u8; 8] = b"wwtrace\n";
pub(super) const TAIL: &[u8; 8] = b"wwtrend\n";
pub(super) const HEAD_BYTES: u64 = 16;
pub(super) const TAIL_BYTES: u64 = 32;
/// Version of the format that is written; this one and earlier ones are read.
pub const NATIVE_VERSION: u16 = 6;
/// The first version that may have operand values.
pub(super) const VALUES_VERSION: u16 = 2;
/// The first version with reconvergence points.
pub(super) const RECONVERGENCE_VERSION: u16 = 3;
/// The first version with the work of lanes.
pub(super) const WORK_VERSION: u16 = 4;
/// The first version with the work of matrix operations.
pub(super) const MATRIX_VERSION: u16 = 5;
/// The first version with constant operands.
pub(super) const CONSTANT_VERSION: u16 = 6;

/// Maximum ratio of DEFLATE compression.
pub(super) const BLOCK_RATIO: u64 = 1032;
/// Maximum ratio for the footer, above the ratios of real runs: it bounds a reader's memory.
pub(super) const FOOTER_RATIO: u64 = 100;

/// Bytes packed between two checks for Ctrl-C.
const PACKED_AT_A_TIME: usize = 1 << 20;

/// A block of bytes in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    pub offset: u64,
    /// Size in the file.
    pub stored: u32,
    /// Size when unpacked; the same as `stored` if it is not compressed.
    pub unpacked: u32,
    /// CRC-32 of the bytes in the file.
    pub checksum: u32,
}

/// Whether `path` starts like a file of the native format.
pub fn is_native(path: &Path) -> bool {
    let mut head = [0; HEAD.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *HEAD
}

/// `bytes` as they are stored: compressed if that is shorter and within `ratio`.
pub(super) fn pack(bytes: &[u8], ratio: u64) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    for part in bytes.chunks(PACKED_AT_A_TIME) {
        kit::stop::check()?;
        encoder.write_all(part)?;
    }
    let packed = encoder.finish()?;
    let shorter = packed.len() < bytes.len() && packed.len() as u64 * ratio >= bytes.len() as u64;
    Ok(if shorter { packed } else { bytes.to_vec() })
}

pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Reads a block and unpacks it. Memory is proportional to the data present, not to the announced size.
pub(super) fn read_block(file: &mut File, path: &Path, block: Block, ratio: u64) -> Result<Vec<u8>, TraceError> {
    let error = |what: String| TraceError::at_byte(path, block.offset, what);
    let damaged = |what: String| error(what).hint("the file may be damaged or cut short");
    if u64::from(block.unpacked) > u64::from(block.stored).saturating_mul(ratio) {
        return Err(damaged(format!(
            "{} cannot hold {}",
            counted(block.stored.into(), "byte"),
            counted(block.unpacked.into(), "byte")
        )));
    }
    let mut stored = Vec::new();
    file.seek(SeekFrom::Start(block.offset)).map_err(|e| error(format!("cannot be read: {e}")))?;
    file.take(block.stored.into()).read_to_end(&mut stored).map_err(|e| error(format!("cannot be read: {e}")))?;
    if stored.len() != block.stored as usize {
        return Err(damaged(format!("ends after {} of {} bytes", stored.len(), block.stored)));
    }
    if checksum(&stored) != block.checksum {
        return Err(damaged("the checksum is wrong".into()));
    }
    if block.stored == block.unpacked {
        return Ok(stored);
    }
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::DeflateDecoder::new(&stored[..]).take(u64::from(block.unpacked) + 1);
    decoder.read_to_end(&mut unpacked).map_err(|e| damaged(format!("cannot be unpacked: {e}")))?;
    if unpacked.len() != block.unpacked as usize {
        return Err(damaged(format!("does not unpack to {}", counted(block.unpacked.into(), "byte"))));
    }
    Ok(unpacked)
}
