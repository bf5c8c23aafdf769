//! Folders whose contents are as they must be, and which nobody else can change.

use super::packed::Library;
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// Kind of a file in a folder.
#[derive(Debug)]
pub enum Content<'a> {
    /// A file with the bytes of this library.
    File(Library<'a>),
    /// A symbolic link with this target.
    Link(PathBuf),
}

/// A file of a folder.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Its path in the folder: a name, or a subfolder's name and a name.
    pub name: &'static str,
    /// Its kind.
    pub content: Content<'a>,
}

/// Permission of everyone to write.
const EVERYONE: u32 = 0o002;
/// Permission of a group or of everyone to write.
const OTHERS: u32 = 0o022;
/// In such a folder only the owner of a file can replace it, as in /tmp.
const STICKY: u32 = 0o1000;

/// Age at which an unfinished file is one that a killed process has left.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// Whose files may hold code that the user runs.
#[derive(Clone, Copy, Debug)]
pub struct Trust {
    user: u32,
    /// Owner of the system: root, or who stands for it in a user namespace.
    system: u32,
    /// Owner of the command, which the user runs already.
    command: u32,
    /// Permissions of others that are refused.
    refused: u32,
}

impl Trust {
    /// The user and the system only.
    pub fn user() -> io::Result<Self> {
        let user = geteuid().as_raw();
        Ok(Self { user, system: fs::metadata("/")?.uid(), command: user, refused: OTHERS })
    }

    /// As much trust as the user has in `command` anyway: in its owner, and in groups, who could change it as well.
    pub fn of(command: &Path) -> io::Result<Self> {
        Ok(Self { command: fs::metadata(command)?.uid(), refused: EVERYONE, ..Self::user()? })
    }

    fn owner(self, path: &Path, meta: &Metadata) -> Result<(), String> {
        let owner = meta.uid();
        match [self.user, self.system, self.command].contains(&owner) {
            true => Ok(()),
            false => Err(format!("`{}` belongs to another user (uid {owner})", path.display())),
        }
    }

    /// Whether nobody else can exchange `folder`, which has an absolute path without links, or a folder around it.
    pub fn folders(self, folder: &Path) -> Result<(), String> {
        for folder in folder.ancestors() {
            let meta = folder.metadata().map_err(|e| format!("`{}`: {e}", folder.display()))?;
            self.owner(folder, &meta)?;
            if meta.mode() & self.refused != 0 && meta.mode() & STICKY == 0 {
                let (shown, mode) = (folder.display(), meta.mode() & 0o777);
                return Err(format!("other users can write to `{shown}` (mode {mode:o}; `chmod go-w` changes that)"));
            }
        }
        Ok(())
    }

    /// Whether nobody else can change the contents of `folder`.
    pub fn folder(self, folder: &Path) -> Result<(), String> {
        let problem = |e: io::Error| format!("`{}`: {e}", folder.display());
        self.folders(&folder.canonicalize().map_err(problem)?)?;
        match folder.symlink_metadata().map_err(problem)? {
            meta if !meta.is_dir() => Err(format!("`{}` is not a folder", folder.display())),
            meta if meta.mode() & self.refused != 0 => Err(format!("other users can write to `{}`", folder.display())),
            _ => Ok(()),
        }
    }

    /// Whether nobody else can change or exchange `file`.
    pub fn file(self, file: &Path) -> Result<(), String> {
        let problem = |e: io::Error| format!("`{}`: {e}", file.display());
        let file = file.canonicalize().map_err(problem)?;
        let meta = file.metadata().map_err(problem)?;
        self.owner(&file, &meta)?;
        if meta.mode() & self.refused != 0 {
            return Err(format!("other users can write to `{}`", file.display()));
        }
        file.parent().map_or(Ok(()), |folder| self.folders(folder))
    }
}

/// Whether all of `entries` are in `folder`.
pub fn has(folder: &Path, entries: &[Entry<'_>], trust: Trust) -> bool {
    entries.iter().all(|entry| is_right(&folder.join(entry.name), &entry.content, trust))
}

fn is_right(path: &Path, content: &Content<'_>, trust: Trust) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return false };
    trust.owner(path, &meta).is_ok()
        && match content {
            Content::Link(to) => fs::read_link(path).is_ok_and(|found| found == *to),
            Content::File(library) => {
                let is_whole = meta.is_file() && meta.len() == library.length() && meta.mode() & OTHERS == 0;
                is_whole && library.is_in(path).unwrap_or(false)
            }
        }
}

/// Makes the folder `name` in `top`, both of the user only, with `entries` and nothing else. Wrong files are put right;
/// several processes may do so at once. `top` may be in a folder that others write to, if it is sticky.
pub fn fill_private(top: &Path, name: &str, entries: &[Entry<'_>]) -> Result<PathBuf, String> {
    let trust = Trust::user().map_err(|e| format!("the user is not known: {e}"))?;
    let around = top.parent().unwrap_or(Path::new("/"));
    let problem = |e: io::Error| format!("`{}` cannot be used: {e}", around.display());
    DirBuilder::new().recursive(true).mode(0o700).create(around).map_err(problem)?;
    let around = around.canonicalize().map_err(problem)?;
    trust.folders(&around)?;
    let top = around.join(top.file_name().unwrap_or_default());
    own(&top, 0o700, trust, false)?;
    let folder = top.join(name);
    own(&folder, 0o700, trust, true)?;
    fill(&folder, 0o700, entries, trust)?;
    clear(&folder, entries).map_err(|e| format!("`{}` cannot be cleared: {e}", folder.display()))?;
    Ok(folder)
}

/// Makes `folder` of the user, which others may read, with `entries`.
pub fn fill_public(folder: &Path, entries: &[Entry<'_>]) -> Result<(), String> {
    let trust = Trust::user().map_err(|e| format!("the user is not known: {e}"))?;
    own(folder, 0o755, trust, false)?;
    fill(folder, 0o755, entries, trust)
}

fn fill(folder: &Path, mode: u32, entries: &[Entry<'_>], trust: Trust) -> Result<(), String> {
    for Entry { name, content } in entries {
        if let Some((subfolder, _)) = name.split_once('/') {
            own(&folder.join(subfolder), mode, trust, true)?;
        }
        let path = folder.join(name);
        if !is_right(&path, content, trust) {
            write(&path, content).map_err(|e| format!("`{}` cannot be written: {e}", path.display()))?;
        }
    }
    Ok(())
}

/// Makes `path` a folder of the user with `mode`. `heals`: what is there in its place is removed.
fn own(path: &Path, mode: u32, trust: Trust, heals: bool) -> Result<(), String> {
    let problem = |e: io::Error| format!("`{}` cannot be made a folder of your own: {e}", path.display());
    let make = || match DirBuilder::new().mode(mode).create(path) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
        _ => path.symlink_metadata(),
    };
    let mut meta = make().map_err(problem)?;
    if heals && !meta.is_dir() {
        // A folder that another process has made meanwhile stays.
        let _ = fs::remove_file(path);
        meta = make().map_err(problem)?;
    }
    if meta.uid() != trust.user {
        return Err(format!("`{}` belongs to another user (uid {})", path.display(), meta.uid()));
    }
    if !meta.is_dir() {
        return Err(format!("`{}` is not a folder", path.display()));
    }
    if meta.mode() & 0o7777 != mode {
        fs::set_permissions(path, Permissions::from_mode(mode)).map_err(problem)?;
    }
    Ok(())
}

/// Puts a file or a link at `path` in place of what is there; nothing is written through a link. Other processes find
/// the old or the new one.
fn write(path: &Path, content: &Content<'_>) -> io::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().display();
    let fresh = path.with_file_name(format!(".{name}.{}-{number}.fresh.partial", std::process::id()));
    remove(&fresh)?;
    match content {
        Content::Link(to) => symlink(to, &fresh)?,
        Content::File(library) => {
            kit::output::write(&fresh, library.bytes()?)?;
            fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        }
    }
    if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        remove(path)?;
    }
    fs::rename(&fresh, path).inspect_err(|_| _ = fs::remove_file(&fresh))
}

/// Removes what has the name `path`, not what that leads to.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    match removed {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes what is in `folder` and none of `entries`: programs would find it. Files that another process is writing
/// stay.
fn clear(folder: &Path, entries: &[Entry<'_>]) -> io::Result<()> {
    let is_left = |meta: &Metadata| {
        let age = meta.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age > LEFT_BEHIND)
    };
    let subfolders = entries.iter().filter_map(|entry| Some(folder.join(entry.name.split_once('/')?.0)));
    let mut folders: Vec<PathBuf> = subfolders.chain([folder.to_owned()]).collect();
    folders.sort_unstable();
    folders.dedup();
    let expected: Vec<PathBuf> = entries.iter().map(|entry| folder.join(entry.name)).chain(folders.clone()).collect();
    for folder in folders {
        for found in fs::read_dir(&folder)? {
            let path = found?.path();
            let is_unfinished = path.extension().is_some_and(|extension| extension == "partial");
            let stays = || path.symlink_metadata().is_ok_and(|meta| !meta.is_dir() && !is_left(&meta));
            let keeps = expected.contains(&path) || is_unfinished && stays();
            if !keeps {
                remove(&path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
