//! The file of a checkpoint: sections of bytes, compressed, with a checksum.
//!
//! ```text
//! magic, version (4 bytes), checksum of all that follows (8), bytes unpacked (8), blocks
//! block: bytes packed (4), LZ4 of up to BLOCK_BYTES
//! ```
//! Numbers are little-endian. The checksum is FNV-1a.

use kit::persist::{Archive, Fresh, Mismatch, Persist};
use std::path::Path;

const MAGIC: &[u8] = b"warpwright checkpoint\n";
/// Of the format. It changes with any difference that the program's version does not show.
const VERSION: u32 = 1;
const BLOCK_BYTES: usize = 4 << 20;
const HEAD_BYTES: usize = MAGIC.len() + 4 + 8;

/// FNV-1a of 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest(u64);

impl Digest {
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub fn with(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    pub fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Contents of a checkpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// Properties that a run must share with this one: names and values.
    pub identity: Vec<(String, String)>,
    /// The words of the command that ran, and the folder that it ran in.
    pub command: Vec<String>,
    pub folder: String,
    /// Names of the launches that the host had made.
    pub launches: Vec<String>,
    /// Numbers of those that had not ended.
    pub pending: Vec<u32>,
    /// Data that the host had read from the device ([`Journal`](super::journal::Journal)).
    pub answers: Bytes,
    /// Results of each run to a kernel's end, and the number of runs.
    pub steps: Bytes,
    pub step_count: usize,
    /// The machine with what its cores share.
    pub machine: Bytes,
}

/// Bytes as they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes(pub Vec<u8>);

impl Persist for Bytes {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut length = self.0.len();
        archive.length(&mut length)?;
        self.0.resize(length, 0);
        archive.raw(&mut self.0)
    }
}

impl Fresh for Bytes {
    fn fresh() -> Self {
        Self::default()
    }
}

kit::persist! {
    new struct Contents { identity, command, folder, launches, pending, answers, steps, step_count, machine }
}

/// The contents as the bytes of a file.
pub(super) fn packed(contents: &mut Contents) -> Result<Vec<u8>, Mismatch> {
    let mut archive = Archive::writer();
    contents.persist(&mut archive)?;
    let unpacked = archive.into_bytes();
    let mut body = (unpacked.len() as u64).to_le_bytes().to_vec();
    for block in unpacked.chunks(BLOCK_BYTES) {
        let block = lz4_flex::block::compress(block);
        body.extend_from_slice(&(block.len() as u32).to_le_bytes());
        body.extend_from_slice(&block);
    }
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(&Digest::new().with(&body).0.to_le_bytes());
    file.extend_from_slice(&body);
    Ok(file)
}

/// The contents of the file at `path`.
pub(super) fn open(path: &Path) -> Result<Contents, String> {
    let shown = path.display();
    let file = kit::files::read_data(path).map_err(|e| format!("cannot read the checkpoint `{shown}`: {e}"))?;
    unpacked(&file).map_err(|why| format!("`{shown}` is not a usable checkpoint: {why}"))
}

/// The contents of a file of these bytes.
pub(super) fn unpacked(file: &[u8]) -> Result<Contents, String> {
    if !file.starts_with(MAGIC) {
        return Err("it does not begin as one does".to_owned());
    }
    let short = || "its end is missing".to_owned();
    let (head, mut body) = file.split_at_checked(HEAD_BYTES).ok_or_else(short)?;
    let (version, sum) = head[MAGIC.len()..].split_at(4);
    let version = u32::from_le_bytes(version.try_into().unwrap_or_default());
    if version != VERSION {
        return Err(format!("it has version {version} of the format, and this program reads version {VERSION}"));
    }
    if sum != Digest::new().with(body).0.to_le_bytes() {
        return Err("it is damaged: its checksum is wrong".to_owned());
    }
    let length = u64::from_le_bytes(*body.split_off(..8).and_then(|bytes| bytes.first_chunk()).ok_or_else(short)?);
    if length > kit::files::MOST_DATA_BYTES {
        return Err(format!("it is damaged: it says that it holds {length} bytes"));
    }
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < length {
        let packed = u32::from_le_bytes(*body.split_off(..4).and_then(|bytes| bytes.first_chunk()).ok_or_else(short)?);
        let block = body.split_off(..packed as usize).ok_or_else(short)?;
        let size = (length - bytes.len() as u64).min(BLOCK_BYTES as u64) as usize;
        let block = lz4_flex::block::decompress(block, size).map_err(|e| format!("it is damaged: {e}"))?;
        if block.len() != size {
            return Err("it is damaged: a block has another length".to_owned());
        }
        bytes.try_reserve(size).map_err(|_| format!("this machine has no room for its {length} bytes"))?;
        bytes.extend_from_slice(&block);
    }
    if !body.is_empty() {
        return Err("it is damaged: something follows its end".to_owned());
    }
    let mut archive = Archive::reader(bytes);
    let contents = Contents::read(&mut archive).and_then(|contents| archive.end().map(|()| contents));
    contents.map_err(|e| format!("it is damaged: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> Contents {
        Contents {
            identity: vec![("core design".into(), "ghost".into())],
            command: vec!["run".into(), "bfs".into()],
            machine: Bytes((0..100_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect()),
            step_count: 3,
            ..Contents::default()
        }
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let file = packed(&mut contents()).unwrap();
        assert!(file.len() < 200_000, "it is compressed: {}", file.len());
        let back = unpacked(&file).unwrap();
        assert_eq!((back.identity, back.command, back.step_count), (contents().identity, contents().command, 3));
        assert_eq!(back.machine.0, contents().machine.0);
    }

    #[test]
    fn any_damage_is_found() {
        let file = packed(&mut contents()).unwrap();
        for at in (0..file.len()).step_by(997).chain(0..HEAD_BYTES + 16) {
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            assert!(unpacked(&damaged).is_err(), "byte {at}");
        }
        for length in (0..file.len()).step_by(4999).chain(0..HEAD_BYTES + 16) {
            assert!(unpacked(&file[..length]).is_err(), "cut after {length}");
        }
    }

    /// With a right checksum, whatever the rest is.
    #[test]
    fn no_length_is_believed() {
        let file = packed(&mut contents()).unwrap();
        for at in HEAD_BYTES..HEAD_BYTES + 64 {
            for byte in [0, 0x7f, 0xff] {
                let mut damaged = file.clone();
                damaged[at] = byte;
                let sum = Digest::new().with(&damaged[HEAD_BYTES..]).0;
                damaged[HEAD_BYTES - 8..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
                let _ = unpacked(&damaged);
            }
        }
    }
}
