//! Traces by name, in folders or in archives.

use crate::traces::LIST_FILE;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder of traces: each in a folder of its name, or in an archive (`.tar`, `.tar.xz`, `.tar.gz`,
/// `.tar.zst`) whose name is that of the trace or its beginning.
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
            tar::Archive::new(reader).unpack(&to).map_err(failed)?;
        }
        Ok(to)
    }
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
}
