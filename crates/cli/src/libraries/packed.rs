//! The libraries within the command, which are unpacked only where a file of theirs is missing or wrong.

use lzma_rust2::XzReader;
use sha2::{Digest as _, Sha256};
use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Name, length in bytes and SHA-256 of a library.
pub type Row = (&'static str, u64, [u8; 32]);

/// Libraries that are compressed together.
#[derive(Debug)]
pub struct Packed<'a> {
    /// In the order in which they are packed.
    pub table: Vec<Row>,
    xz: &'a [u8],
    unpacked: OnceCell<Vec<u8>>,
}

/// A library of [`Packed`].
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    from: &'a Packed<'a>,
    row: &'a Row,
}

impl<'a> Packed<'a> {
    /// The libraries of `table`, one after the other, in an xz file.
    pub fn new(table: &[Row], xz: &'a [u8]) -> Self {
        Self { table: table.to_vec(), xz, unpacked: OnceCell::new() }
    }

    /// The library `name`.
    pub fn library(&'a self, name: &str) -> Option<Library<'a>> {
        let row = self.table.iter().find(|row| row.0 == name)?;
        Some(Library { from: self, row })
    }

    fn all(&self) -> io::Result<&[u8]> {
        if let Some(all) = self.unpacked.get() {
            return Ok(all);
        }
        let mut all = Vec::new();
        XzReader::new(self.xz, false).read_to_end(&mut all)?;
        Ok(self.unpacked.get_or_init(|| all))
    }
}

impl Library<'_> {
    /// Its bytes.
    ///
    /// # Errors
    /// The command is damaged.
    pub fn bytes(&self) -> io::Result<&[u8]> {
        let damaged = |why: String| io::Error::other(format!("this command is damaged: {why}"));
        let all = self.from.all().map_err(|e| damaged(e.to_string()))?;
        let before: u64 = self.from.table.iter().take_while(|row| row.0 != self.row.0).map(|row| row.1).sum();
        let start = usize::try_from(before).map_err(io::Error::other)?;
        let end = usize::try_from(before + self.row.1).map_err(io::Error::other)?;
        all.get(start..end).ok_or_else(|| damaged(format!("{} is not whole", self.row.0)))
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.row.1
    }

    /// Whether the file `path` has its bytes.
    pub fn is_in(&self, path: &Path) -> io::Result<bool> {
        let mut hash = Sha256::new();
        // A file that grows meanwhile is another one.
        let length = io::copy(&mut File::open(path)?.take(self.row.1 + 1), &mut hash)?;
        Ok(length == self.row.1 && <[u8; 32]>::from(hash.finalize()) == self.row.2)
    }
}

#[cfg(test)]
impl Packed<'static> {
    /// These libraries, unpacked.
    pub fn of(libraries: &[(&'static str, &[u8])]) -> Self {
        let row = |&(name, bytes): &(&'static str, &[u8])| (name, bytes.len() as u64, Sha256::digest(bytes).into());
        let all: Vec<u8> = libraries.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        Self { table: libraries.iter().map(row).collect(), xz: &[], unpacked: OnceCell::from(all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn libraries_come_out_as_they_were_packed() {
        let plain = Packed::of(&[("one", b"first"), ("two", b"second")]);
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
        writer.write_all(plain.all().unwrap()).unwrap();
        let xz = writer.finish().unwrap();
        let packed = Packed::new(&plain.table, &xz);
        assert_eq!(packed.library("two").unwrap().bytes().unwrap(), b"second");
        assert_eq!(packed.library("one").unwrap().bytes().unwrap(), b"first");
        assert!(packed.library("three").is_none());

        let cut = Packed::new(&plain.table, &xz[..xz.len() / 2]);
        let why = cut.library("one").unwrap().bytes().unwrap_err().to_string();
        assert!(why.starts_with("this command is damaged: "), "{why}");
        let longer = Packed::new(&[("one", 12, [0; 32])], &xz);
        let why = longer.library("one").unwrap().bytes().unwrap_err().to_string();
        assert_eq!(why, "this command is damaged: one is not whole");
    }

    #[test]
    fn a_file_with_other_bytes_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let packed = Packed::of(&[("one", b"first")]);
        for (content, is) in [("first", true), ("First", false), ("firs", false), ("first1", false)] {
            std::fs::write(&file, content).unwrap();
            assert_eq!(packed.library("one").unwrap().is_in(&file).unwrap(), is, "{content}");
        }
    }
}
