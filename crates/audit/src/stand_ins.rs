//! For which names and paths there is a library of ours: the files of our folder are the list.

use crate::mapped::Mapped;
use hostcode::families::family_of;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Our libraries by the names that programs ask for.
#[derive(Debug, Default)]
pub struct StandIns {
    by_name: BTreeMap<Vec<u8>, CString>,
    /// Paths that the loader tried, for which it got another file: it keeps the path as the object's name.
    taken: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl StandIns {
    /// The libraries in the folder of the file `own`. Of the families that a user may choose, those in `choice`; `None`
    /// is all.
    pub fn beside(own: &Path, choice: Option<&str>) -> Self {
        let is_chosen = |stem: &[u8]| {
            let family = std::str::from_utf8(stem).ok().and_then(family_of);
            family.zip(choice).is_none_or(|(family, choice)| choice.split(',').any(|chosen| chosen == family))
        };
        let Some(Ok(files)) = own.parent().map(std::fs::read_dir) else { return Self::default() };
        let names = files.filter_map(|file| Some(file.ok()?.path())).filter_map(|path| {
            let name = path.file_name()?.as_bytes().to_vec();
            stem(&name).filter(|stem| is_chosen(stem))?;
            Some((name, CString::new(path.as_os_str().as_bytes()).ok()?))
        });
        Self { by_name: names.collect(), taken: Mutex::default() }
    }

    /// The file of ours in place of the library that is asked for by a name or path.
    pub fn of(&self, asked: &Path) -> Option<&CStr> {
        let name = asked.file_name()?.as_bytes();
        let stem = stem(name)?;
        if !self.by_name.keys().any(|known| self::stem(known) == Some(stem)) {
            return None;
        }
        let is_path = asked.as_os_str().as_bytes().contains(&b'/');
        let (known, ours) = self.named(name).or_else(|| {
            // `libcudart.so`, `libcudart.so.12.9.79`: only the file says which one.
            let file = is_path.then(|| Mapped::open(asked))??;
            self.named(hostcode::soname(file.bytes())?.as_bytes())
        })?;
        if is_path {
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            taken.insert(asked.as_os_str().as_bytes().to_vec(), known.to_vec());
        }
        Some(ours)
    }

    fn named(&self, name: &[u8]) -> Option<(&[u8], &CStr)> {
        let (known, path) = self.by_name.get_key_value(&without_hash(name))?;
        Some((known, path))
    }

    /// The name of our runtime of a major version of CUDA.
    pub fn runtime(&self, version: u32) -> Option<&[u8]> {
        let exact = format!("libcudart.so.{version}");
        let is_it = |name: &&Vec<u8>| **name == exact.as_bytes() || name.starts_with(format!("{exact}.").as_bytes());
        self.by_name.keys().find(is_it).map(Vec::as_slice)
    }

    /// The name of the library of ours that the loader has loaded from `path`.
    pub fn loaded_as(&self, path: &Path) -> Option<&[u8]> {
        let path = path.as_os_str().as_bytes();
        if let Some((name, _)) = self.by_name.iter().find(|(_, ours)| ours.to_bytes() == path) {
            return Some(name);
        }
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let name = taken.get(path)?;
        self.by_name.get_key_value(name).map(|(name, _)| name.as_slice())
    }

    /// The file of the library with this name.
    pub fn path(&self, name: &[u8]) -> Option<&Path> {
        self.by_name.get(name).map(|path| Path::new(OsStr::from_bytes(path.to_bytes())))
    }
}

/// `libcudart` of `libcudart.so.12`, and of `libcudart-9335f6a2.so.12`; `None` of other names than libraries have.
fn stem(name: &[u8]) -> Option<&[u8]> {
    let text = std::str::from_utf8(name).ok()?;
    let (stem, _) = text.split_once(".so").filter(|(stem, _)| stem.starts_with("lib"))?;
    Some(stem.rsplit_once('-').filter(|(_, hash)| is_hash(hash)).map_or(stem, |(stem, _)| stem).as_bytes())
}

/// The name without the hash that tools for Python wheels add to names of libraries.
fn without_hash(name: &[u8]) -> Vec<u8> {
    let end = name.windows(3).position(|at| at == b".so").unwrap_or(name.len());
    [stem(name).unwrap_or(&name[..end]), &name[end..]].concat()
}

fn is_hash(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_folder_are_the_list() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "libcuda.so.1",
            "libcudart.so.11.0",
            "libcudart.so.12",
            "libcublasLt.so.12",
            "libcurand.so.10",
            "warpwright-audit.so",
            "12",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let all = StandIns::beside(&folder.path().join("warpwright-audit.so"), None);
        let of = |asked: &str| {
            let ours = all.of(Path::new(asked))?;
            Some(Path::new(OsStr::from_bytes(ours.to_bytes())).file_name()?.to_str()?.to_owned())
        };
        for (asked, ours) in [
            ("libcuda.so.1", Some("libcuda.so.1")),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", Some("libcuda.so.1")),
            ("../lib/libcudart.so.12", Some("libcudart.so.12")),
            ("/wheel/libcudart-9335f6a2.so.11.0", Some("libcudart.so.11.0")),
            ("/wheel/libcudart-12345678.so.12", Some("libcudart.so.12")),
            ("libcudart.so", None),
            ("libcudart.so.13", None),
            ("libcudart-static.so.12", None),
            ("libc.so.6", None),
            ("warpwright-audit.so", None),
            ("12", None),
            ("", None),
            ("/", None),
        ] {
            assert_eq!(of(asked).as_deref(), ours, "{asked}");
        }
        // The driver and the runtime are always ours.
        for (choice, expected) in
            [(None, [true, true]), (Some("blas,rand"), [true, true]), (Some("rand"), [false, true])]
        {
            let chosen = StandIns::beside(&folder.path().join("warpwright-audit.so"), choice);
            assert_eq!(
                ["libcublasLt.so.12", "libcurand.so.10"].map(|name| chosen.of(Path::new(name)).is_some()),
                expected
            );
            assert!(chosen.of(Path::new("libcuda.so.1")).is_some());
        }
        assert_eq!(all.runtime(11), Some(&b"libcudart.so.11.0"[..]));
        assert_eq!(all.runtime(1), None);
        let file = folder.path().join("libcudart.so.12");
        assert_eq!(all.loaded_as(&file), Some(&b"libcudart.so.12"[..]));
        assert_eq!(all.loaded_as(Path::new("/wheel/libcudart-12345678.so.12")), Some(&b"libcudart.so.12"[..]));
        assert_eq!(all.loaded_as(Path::new("/elsewhere/libcudart.so.12")), None);
        assert_eq!(all.path(b"libcudart.so.12"), Some(&*file));
    }
}
