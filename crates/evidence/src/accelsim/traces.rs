//! Traces by name, in folders or in archives.

use lab::LIST_FILE;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// A folder of traces: each in a folder of its name, or in an archive (`.tar`, `.tar.xz`, `.tar.gz`,
/// `.tar.zst`) whose name is the trace's or its beginning.
#[derive(Debug)]
pub struct Traces {
    folder: PathBuf,
    /// The folder that archives are unpacked to, deleted when this is dropped.
    unpacked: Option<TempDir>,
    /// Archives that have been unpacked.
    done: BTreeSet<PathBuf>,
}

impl Traces {
    /// The traces in `folder`.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), unpacked: None, done: BTreeSet::new() }
    }

    /// The list of the trace `name`, unpacked if it is in an archive.
    ///
    /// # Errors
    /// There is no such trace, or its archive cannot be unpacked.
    pub fn list(&mut self, name: &str) -> Result<PathBuf, String> {
        let plain = self.folder.join(name).join(LIST_FILE);
        if plain.is_file() {
            return Ok(plain);
        }
        for archive in self.archives(name)? {
            let to = self.unpack(&archive)?;
            let list = to.join(name).join(LIST_FILE);
            if list.is_file() {
                return Ok(list);
            }
        }
        let folder = self.folder.display();
        Err(format!("there is no trace `{name}` in `{folder}`: neither {name}/{LIST_FILE} nor an archive with that"))
    }

    /// Archives that may hold the trace `name`, the longest names first.
    fn archives(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let unreadable = |e: std::io::Error| format!("`{}` cannot be read: {e}", self.folder.display());
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some((stem, _)) = file.split_once(".tar")
                && name.starts_with(stem)
            {
                found.push((std::cmp::Reverse(stem.len()), path));
            }
        }
        found.sort();
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    /// Unpacks an archive, once; gives the folder that all are unpacked to.
    fn unpack(&mut self, archive: &Path) -> Result<PathBuf, String> {
        let failed = |e: std::io::Error| format!("`{}` cannot be unpacked: {e}", archive.display());
        let to = match &self.unpacked {
            Some(folder) => folder,
            None => self.unpacked.insert(tempfile::tempdir().map_err(failed)?),
        };
        let to = to.path().to_owned();
        if self.done.insert(archive.to_owned()) {
            let reader = trace::open_decompressed(archive).map_err(failed)?;
            unpack(reader, &to).map_err(failed)?;
        }
        Ok(to)
    }
}

/// Unpacks an archive of plain files and folders to `to`, and nothing beyond it.
fn unpack(reader: impl Read, to: &Path) -> std::io::Result<()> {
    let mut archive = tar::Archive::new(reader);
    archive.set_preserve_permissions(false);
    archive.set_unpack_xattrs(false);
    for entry in archive.entries()? {
        kit::stop::check()?;
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let refused = |why: &str| {
            let name = kit::text::excerpt_bytes(path.to_string_lossy().as_bytes());
            std::io::Error::new(std::io::ErrorKind::InvalidData, format!("`{name}` {why}"))
        };
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        if !(kind.is_file() || kind.is_dir() || kind.is_contiguous()) {
            return Err(refused("is a link, a sparse file or a device; archives of traces have files and folders"));
        }
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(refused("is outside the archive's folder"));
        }
        if !entry.unpack_in(to)? {
            return Err(refused("cannot be placed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_come_out_of_folders_and_archives() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("plain")).unwrap();
        std::fs::write(folder.path().join("plain").join(LIST_FILE), "").unwrap();
        let file = std::fs::File::create(folder.path().join("some-run.tar")).unwrap();
        let mut archive = tar::Builder::new(file);
        let mut header = tar::Header::new_gnu();
        header.set_size(6);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, format!("some-run-7/{LIST_FILE}"), &b"hello\n"[..]).unwrap();
        archive.finish().unwrap();
        std::fs::write(folder.path().join("torn.tar.xz"), b"\xfd7zXZ\0\x00\x04torn").unwrap();

        let mut traces = Traces::new(folder.path());
        assert_eq!(traces.list("plain").unwrap(), folder.path().join("plain").join(LIST_FILE));
        assert_eq!(std::fs::read_to_string(traces.list("some-run-7").unwrap()).unwrap(), "hello\n");
        assert!(traces.list("some-run-8").unwrap_err().contains("no trace `some-run-8`"));
        assert!(traces.list("torn").unwrap_err().contains("torn.tar.xz` cannot be unpacked"));
        assert!(Traces::new(Path::new("/nowhere")).list("x").unwrap_err().contains("/nowhere"));
    }

    /// An archive with one entry, whose name is written as it is.
    fn archive(name: &str, kind: tar::EntryType, content: &[u8]) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        let mut out = tar::Builder::new(Vec::new());
        out.append(&header, content).unwrap();
        out.into_inner().unwrap()
    }

    #[test]
    fn archives_hold_files_and_folders_of_their_own() {
        use tar::EntryType;
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("to");
        std::fs::create_dir(&to).unwrap();
        let check = |bytes: &[u8]| unpack(bytes, &to).map_err(|e| e.to_string());
        check(&archive("a/./b", EntryType::Regular, b"text")).unwrap();
        check(&archive("c", EntryType::Directory, b"")).unwrap();
        check(&archive("g", EntryType::XGlobalHeader, b"11 k=value\n")).unwrap();
        assert_eq!(std::fs::read(to.join("a/b")).unwrap(), b"text");
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::GNUSparse, EntryType::Fifo, EntryType::Char] {
            assert!(check(&archive("link", kind, b"")).is_err(), "{kind:?}");
        }
        for name in ["../out", "/tmp/out", "a/../../out"] {
            assert!(check(&archive(name, EntryType::Regular, b"x")).unwrap_err().contains("outside"), "{name}");
        }
        // Names of more than 100 bytes have an entry of their own.
        let mut long = tar::Builder::new(Vec::new());
        let name = format!("{}/{}", "d".repeat(120), "f".repeat(200));
        let mut header = tar::Header::new_gnu();
        header.set_size(4);
        header.set_mode(0o644);
        long.append_data(&mut header, &name, &b"long"[..]).unwrap();
        let long = long.into_inner().unwrap();
        check(&long).unwrap();
        assert_eq!(std::fs::read(to.join(&name)).unwrap(), b"long");
        // Any damage of a head is found by its checksum, and a missing end by its size.
        let good = archive("e", EntryType::Regular, &[7; 700]);
        for at in 0..512 {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(check(&bad).is_err(), "byte {at}");
        }
        assert!(check(&good[..1000]).is_err());
        assert!(!folder.path().join("out").exists());
    }
}
