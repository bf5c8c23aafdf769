//! Comparison of paths: whether they name the same file.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Maximum number of links that are followed, as in Linux.
const MOST_LINKS: usize = 40;

/// Whether both paths name the same file, whatever their spelling and links. Devices and pipes never count as
/// the same: writing them destroys nothing.
pub fn same_file(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) if !a.is_file() || !b.is_file() => false,
        (Ok(a_meta), Ok(b_meta)) if is_same(&a_meta, &b_meta) => true,
        _ => a == b || resolved(a).is_ok_and(|a| resolved(b).is_ok_and(|b| a == b)),
    }
}

#[cfg(unix)]
fn is_same(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}

/// The absolute path of the file that `path` names, or would name if it existed. Links are followed, also
/// dangling ones.
pub(super) fn resolved(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            // It is not a link.
            Err(_) => return placed(&path),
        }
    }
    Err(Error::other("too many links, each leading to the next"))
}

/// The folder that a file or folder is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn placed(path: &Path) -> Result<PathBuf> {
    if path.is_dir() {
        return path.canonicalize();
    }
    let name = path.file_name().ok_or_else(|| Error::new(ErrorKind::InvalidInput, "it is not the name of a file"))?;
    if path.to_string_lossy().ends_with(std::path::is_separator) {
        return Err(Error::new(ErrorKind::InvalidInput, "it is the name of a folder, not of a file"));
    }
    let folder = folder_of(path);
    let found = folder.canonicalize().map_err(|e| match e.kind() {
        ErrorKind::NotFound => Error::new(e.kind(), format!("there is no folder `{}`", folder.display())),
        _ => e,
    })?;
    if !found.is_dir() {
        return Err(Error::new(ErrorKind::NotADirectory, format!("`{}` is not a folder", folder.display())));
    }
    Ok(found.join(name))
}
