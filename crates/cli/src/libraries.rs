//! The libraries that programs find in place of NVIDIA's, and their folder.

use crate::failure::Failure;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// File that cargo builds, and the name by which programs ask for it.
const SHARED: [(&str, &str); 5] = [
    ("libcuda.so", "libcuda.so.1"),
    ("libcuda.so", "libcuda.so"),
    ("libcudart11.so", "libcudart.so.11.0"),
    ("libcudart12.so", "libcudart.so.12"),
    ("libcudart13.so", "libcudart.so.13"),
];

/// The libraries within the command; empty where it was built without.
const EMBEDDED: [(&str, &[u8]); 4] = [
    ("libcuda.so", embed::library!("libcuda.so")),
    ("libcudart11.so", embed::library!("libcudart11.so")),
    ("libcudart12.so", embed::library!("libcudart12.so")),
    ("libcudart13.so", embed::library!("libcudart13.so")),
];

/// Name of the folder.
const FOLDER: &str = "warpwright-cuda";

/// Where the libraries are.
#[derive(Debug)]
pub struct Libraries(PathBuf);

impl Libraries {
    /// Finds the libraries beside the program, or takes those within it, and makes the folder in which they have the names
    /// that programs ask for.
    pub fn find() -> Result<Self, Failure> {
        let program = std::env::current_exe().and_then(fs::canonicalize);
        let program = program.map_err(|e| Failure::failed(format!("the program does not know where it is: {e}")))?;
        let beside = program.parent().unwrap_or(Path::new("/"));
        let places = [beside.to_owned(), beside.join("deps"), beside.join("../deps"), beside.join("../lib/warpwright")];
        let is_complete = |place: &&PathBuf| SHARED.iter().all(|(file, _)| place.join(file).is_file());
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        let cache = cache.map(|cache| cache.join("warpwright"));
        let place = match places.iter().find(is_complete) {
            Some(place) => place.clone(),
            None => unpack(&EMBEDDED, cache.as_deref(), beside)?,
        };
        let place = fs::canonicalize(place).map_err(Failure::failed)?;
        // Where the libraries may not be changed, the folder is the user's own.
        let own = cache.map(|cache| cache.join(format!("{:016x}", hash_of(&place))));
        let mut problem = None;
        for folder in std::iter::once(place.join(FOLDER)).chain(own) {
            match link_all(&place, &folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(e) => problem = Some(format!("cannot make the folder `{}`: {e}", folder.display())),
            }
        }
        Err(Failure::failed(problem.unwrap_or_default()))
    }

    /// The CUDA runtimes, the one first that serves code which asks for no version.
    pub fn runtimes(&self) -> [PathBuf; 3] {
        ["libcudart.so.12", "libcudart.so.13", "libcudart.so.11.0"].map(|name| self.0.join(name))
    }

    /// The folder in which programs find them.
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

/// Writes the libraries that are within the command to a folder of their own in `cache`, if they are not there, and returns
/// the folder.
fn unpack(libraries: &[(&str, &[u8])], cache: Option<&Path>, beside: &Path) -> Result<PathBuf, Failure> {
    if libraries.iter().any(|(_, bytes)| bytes.is_empty()) {
        return Err(Failure::failed(missing(beside)));
    }
    let cache = cache.ok_or_else(|| {
        let why = "the libraries that programs find in place of NVIDIA's have no folder to be written to";
        Failure::failed(format!("{why}: neither XDG_CACHE_HOME nor HOME names one\n  hint: set one of them"))
    })?;
    // Another version of the command has other libraries.
    let folder = cache.join(format!("libraries-{:016x}", hash_of(libraries)));
    let is_there = |&(file, bytes): &(&str, &[u8])| {
        folder.join(file).metadata().is_ok_and(|found| found.is_file() && found.len() == bytes.len() as u64)
    };
    let write = || {
        fs::create_dir_all(&folder)?;
        let missing = libraries.iter().filter(|library| !is_there(library));
        missing.into_iter().try_for_each(|(file, bytes)| kit::output::write(&folder.join(file), bytes))
    };
    write().map_err(|e| {
        let what = "cannot write the libraries that programs find in place of NVIDIA's";
        let hint = "hint: XDG_CACHE_HOME names another folder for them";
        Failure::failed(format!("{what} to `{}`: {e}\n  {hint}", folder.display()))
    })?;
    Ok(folder)
}

/// The message that libraries are missing in the folder of the program, and how to get them.
fn missing(beside: &Path) -> String {
    let mut files: Vec<&str> =
        SHARED.iter().map(|(file, _)| *file).filter(|file| !beside.join(file).is_file()).collect();
    files.dedup();
    let (files, own) = (files.join(", "), beside.parent().unwrap_or(Path::new("/")).join("lib/warpwright"));
    format!(
        "the libraries that programs find in place of NVIDIA's are not beside the command: no {files} in `{}` or `{}`\n  hint: a release build has them within it (`cargo install --path crates/cli`); this command was built without",
        beside.display(),
        own.display()
    )
}

fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Links the libraries, and in folders 11, 12 and 13 the runtimes as compilers look for them.
fn link_all(place: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (file, name) in SHARED {
        link(&place.join(file), &folder.join(name))?;
    }
    for version in ["11", "12", "13"] {
        let own = folder.join(version);
        fs::create_dir_all(&own)?;
        link(&place.join(format!("libcudart{version}.so")), &own.join("libcudart.so"))?;
        let archive = place.join(format!("libcudart{version}.a"));
        if archive.is_file() {
            link(&archive, &own.join("libcudart_static.a"))?;
        }
    }
    Ok(())
}

/// Makes a link, whatever was there before; several processes may do so at once.
fn link(to: &Path, at: &Path) -> io::Result<()> {
    if fs::read_link(at).is_ok_and(|present| present == to) {
        return Ok(());
    }
    let mut name = at.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let fresh = at.with_file_name(name);
    let _ = fs::remove_file(&fresh);
    symlink(to, &fresh)?;
    fs::rename(&fresh, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_its_libraries_says_where_they_belong() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let all = missing(&bin);
        assert!(all.contains("no libcuda.so, libcudart11.so, libcudart12.so, libcudart13.so in"), "{all}");
        assert!(all.contains(&*folder.path().join("lib/warpwright").to_string_lossy()), "{all}");
        fs::write(bin.join("libcuda.so"), "").unwrap();
        assert!(missing(&bin).contains("no libcudart11.so,"));
    }

    #[test]
    fn libraries_within_the_command_are_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, bin) = (folder.path().join("cache"), folder.path().join("bin"));
        let libraries: [(&str, &[u8]); 2] = [("libcuda.so", b"one"), ("libcudart12.so", b"other")];
        let place = unpack(&libraries, Some(&cache), &bin).unwrap();
        assert_eq!(fs::read(place.join("libcudart12.so")).unwrap(), b"other");
        let written = || fs::metadata(place.join("libcuda.so")).unwrap().modified().unwrap();
        let first = written();
        fs::write(place.join("libcudart12.so"), "cut").unwrap();
        assert_eq!(unpack(&libraries, Some(&cache), &bin).unwrap(), place);
        assert_eq!(first, written(), "what is there stays");
        assert_eq!(fs::read(place.join("libcudart12.so")).unwrap(), b"other", "what is not whole is written again");
        let newer = unpack(&[("libcuda.so", b"two")], Some(&cache), &bin).unwrap();
        assert_ne!(newer, place, "another version does not touch it");
        assert!(unpack(&[("libcuda.so", b"")], Some(&cache), &bin).unwrap_err().message.contains("built without"));
        assert!(unpack(&libraries, None, &bin).unwrap_err().message.contains("XDG_CACHE_HOME"));
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(unpack(&libraries, Some(&file), &bin).unwrap_err().message.contains("cannot write the libraries"));
    }

    #[test]
    fn links_are_made_anew_where_they_are_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let at = folder.path().join("libx.so.1");
        link(&one, &at).unwrap();
        link(&two, &at).unwrap();
        assert_eq!(fs::read_link(&at).unwrap(), two);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
