//! The libraries that programs find in place of NVIDIA's, and their folder.

use crate::failure::Failure;
use std::fs;
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

/// Name of the folder.
const FOLDER: &str = "warpwright-cuda";

/// Where the libraries are.
#[derive(Debug)]
pub struct Libraries(PathBuf);

impl Libraries {
    /// Finds the libraries beside the program, and makes the folder in which they have the names that programs ask for.
    pub fn find() -> Result<Self, Failure> {
        let program = std::env::current_exe().and_then(fs::canonicalize);
        let program = program.map_err(|e| Failure::failed(format!("the program does not know where it is: {e}")))?;
        let beside = program.parent().unwrap_or(Path::new("/"));
        let places = [beside.to_owned(), beside.join("deps"), beside.join("../deps"), beside.join("../lib/warpwright")];
        let is_complete = |place: &&PathBuf| SHARED.iter().all(|(file, _)| place.join(file).is_file());
        let Some(place) = places.iter().find(is_complete) else {
            return Err(Failure::failed(missing(beside)));
        };
        let place = fs::canonicalize(place).map_err(Failure::failed)?;
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        // Where the libraries may not be changed, the folder is the user's own.
        let own = cache.map(|cache| cache.join(format!("warpwright/{:016x}", hash_of(&place))));
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

/// The message that libraries are missing in the folder of the program, and how to get them.
fn missing(beside: &Path) -> String {
    let mut files: Vec<&str> =
        SHARED.iter().map(|(file, _)| *file).filter(|file| !beside.join(file).is_file()).collect();
    files.dedup();
    let (files, own) = (files.join(", "), beside.parent().unwrap_or(Path::new("/")).join("lib/warpwright"));
    format!(
        "the libraries that programs find in place of NVIDIA's are not beside the command: no {files} in `{}` or `{}`\n  hint: `cargo install` installs the command only; `cargo build --release` in a checkout makes the libraries: copy target/release/libcuda*.so to one of these folders",
        beside.display(),
        own.display()
    )
}

fn hash_of(path: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
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
