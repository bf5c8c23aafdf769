//! All output to files: a file or a folder gets its name when it is complete.
//!
//! Output is written next to its target, in the same folder, until it is complete; then it is synced and
//! renamed. If anything fails before that, even by a full disk or a killed process, the old file is
//! unchanged. A killed process can leave the unfinished file, whose name begins with a dot and ends in
//! `.partial`.

mod folder;
mod lock;
mod same;

pub use folder::{MadeFolders, NewFolder};
pub use lock::Lock;
use same::folder_of;
pub use same::same_file;

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Output that exists until it is completed or given up.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Unfinished {
    File(PathBuf),
    /// A folder with all its contents.
    Folder(PathBuf),
    /// A folder that was created for an output: it is removed if it is empty.
    Made(PathBuf),
}

impl Unfinished {
    fn remove(&self) {
        // The error cannot be reported here; the reason for the removal is reported elsewhere.
        let _ = match self {
            Self::File(path) => fs::remove_file(path),
            Self::Folder(path) => fs::remove_dir_all(path),
            Self::Made(path) => fs::remove_dir(path),
        };
    }
}

/// Everything that this process has begun to write. The lock is held during a rename.
static UNFINISHED: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<Unfinished>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin(what: Unfinished) {
    unfinished().push(what);
}

fn forget(what: &Unfinished) {
    unfinished().retain(|known| known != what);
}

fn give_up(what: &Unfinished) {
    let mut all = unfinished();
    all.retain(|known| known != what);
    what.remove();
}

/// Removes all incomplete outputs of this process, before it exits at once. No output can be completed after
/// this call.
pub fn discard_unfinished() {
    let mut all = unfinished();
    // The last first, so that folders are empty when they are removed.
    all.drain(..).rev().for_each(|what| what.remove());
    std::mem::forget(all);
}

/// The files that are being written, by the paths that were asked for.
static WRITING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn writing() -> MutexGuard<'static, Vec<PathBuf>> {
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file that is being written, by the path that was asked for; of several the last one.
pub fn being_written() -> Option<PathBuf> {
    writing().last().cloned()
}

/// A file that is being written, until it is dropped.
#[derive(Debug)]
struct Writing(PathBuf);

impl Writing {
    fn new(path: &Path) -> Self {
        writing().push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut all = writing();
        if let Some(at) = all.iter().rposition(|path| *path == self.0) {
            all.remove(at);
        }
    }
}

/// A file that gets its name when it is complete, by [`NewFile::finish`]. If it is dropped before, it is
/// removed.
///
/// A symbolic link is kept, and the file that it names is replaced. Devices and pipes are written directly,
/// as are paths through `/dev` or `/proc`.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    /// The temporary file and its target; `None` for output that is written directly.
    beside: Option<(PathBuf, PathBuf)>,
    _writing: Writing,
}

impl NewFile {
    /// Begins a file that will replace the one at `path`, if there is one.
    ///
    /// # Errors
    /// There is no such folder, it cannot be written, or `path` names a folder or a write-protected file.
    pub fn create(path: &Path) -> Result<Self> {
        if is_direct(path) {
            let file = File::options().append(true).open(path)?;
            return Ok(Self { file, beside: None, _writing: Writing::new(path) });
        }
        let (target, old) = replaceable(path)?;
        let (temporary, file) = temporary_file(&target)?;
        begin(Unfinished::File(temporary.clone()));
        let new = Self { file, beside: Some((temporary, target)), _writing: Writing::new(path) };
        if let Some(old) = old {
            new.file.set_permissions(old)?;
        }
        Ok(new)
    }

    /// Gives the file its name: from now on it exists in full.
    ///
    /// # Errors
    /// The contents cannot be stored on the disk, or the old file cannot be replaced.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush()?;
        let Some((temporary, target)) = self.beside.take() else { return Ok(()) };
        let renamed = self.file.sync_all().and_then(|()| {
            let _lock = unfinished();
            fs::rename(&temporary, &target)
        });
        if renamed.is_err() {
            give_up(&Unfinished::File(temporary));
            return renamed;
        }
        forget(&Unfinished::File(temporary));
        sync_folder(folder_of(&target));
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = self.beside.take() {
            give_up(&Unfinished::File(temporary));
        }
    }
}

/// Writes a whole file.
///
/// # Errors
/// As [`NewFile::create`] and [`NewFile::finish`]; the old file is unchanged then.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(content)?;
    file.finish()
}

/// A file that grows by what is appended to it, for records that must survive the end of the process at any moment.
#[derive(Debug)]
pub struct Appended(File);

impl Appended {
    /// Begins a file that replaces the one at `path`, if there is one, with `content`.
    ///
    /// # Errors
    /// As [`write`](write()).
    pub fn create(path: &Path, content: &[u8]) -> Result<Self> {
        write(path, content)?;
        Ok(Self(File::options().append(true).open(path)?))
    }

    /// Appends `bytes`: all of them, or none.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let before = self.0.metadata()?.len();
        // A reader finds whole lines where the disk was full.
        self.0.write_all(bytes).inspect_err(|_| _ = self.0.set_len(before))
    }
}

/// The reason why a command cannot write its output.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Refused {
    /// Two outputs are the same file.
    Twice(PathBuf),
    /// An output is a file that the command reads.
    Input {
        output: PathBuf,
        /// The input that is the same file.
        input: PathBuf,
    },
    /// It cannot be written.
    Unwritable(PathBuf, Error),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Twice(path) => write!(f, "`{}` is named for two outputs; give each its own file", path.display()),
            Self::Input { output, input } => {
                let (shown, input) = (output.display(), input.display());
                write!(f, "`{shown}` is both an output and an input of this command")?;
                if shown.to_string() != input.to_string() {
                    write!(f, " (`{input}`)")?;
                }
                write!(f, ": it would be overwritten; choose another path for the output")
            }
            Self::Unwritable(path, error) => {
                write!(f, "cannot write `{}`: {error}; choose a path that can be written", path.display())
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Checks before a long run that each of `outputs` can be written at its end, that they are different files,
/// and that none is one of `inputs`. Changes nothing.
///
/// # Errors
/// The first output for which this does not hold.
pub fn check(outputs: &[PathBuf], inputs: &[PathBuf]) -> std::result::Result<(), Refused> {
    for (i, output) in outputs.iter().enumerate() {
        if outputs[..i].iter().any(|earlier| same_file(earlier, output)) {
            return Err(Refused::Twice(output.clone()));
        }
        if let Some(input) = inputs.iter().find(|input| same_file(input, output)) {
            return Err(Refused::Input { output: output.clone(), input: input.clone() });
        }
        attempt(output).map_err(|error| Refused::Unwritable(output.clone(), error))?;
    }
    Ok(())
}

/// Tests whether the file could be written.
fn attempt(path: &Path) -> Result<()> {
    if is_direct(path) {
        // Opening a pipe could wait for its reader, indefinitely.
        return fs::metadata(path).map(|_| ());
    }
    NewFile::create(path).map(|_| ())
}

/// Whether `path` is written directly: a device, a pipe, or a path through `/dev` or `/proc`, which may name
/// either or a file that the shell has opened.
fn is_direct(path: &Path) -> bool {
    let special = fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    special || ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder)) && path.exists()
}

/// The file that `path` names, through all links, and its permissions if it exists.
fn replaceable(path: &Path) -> Result<(PathBuf, Option<fs::Permissions>)> {
    let target = same::resolved(path)?;
    match fs::metadata(&target) {
        Ok(meta) if meta.is_dir() => Err(Error::new(ErrorKind::IsADirectory, "it is a folder")),
        Ok(meta) => {
            // Replacing needs no permission on the file itself, but a read-only file shall stay.
            File::options().append(true).open(&target)?;
            Ok((target, Some(meta.permissions())))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok((target, None)),
        Err(e) => Err(e),
    }
}

/// Creates a file next to `target`.
fn temporary_file(target: &Path) -> Result<(PathBuf, File)> {
    let create = |path: &Path| File::options().write(true).create_new(true).open(path);
    beside(target, create).map_err(|e| match e.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Error::new(e.kind(), format!("its folder cannot be written, where the new file is made first ({e})"))
        }
        _ => e,
    })
}

/// Creates something with a new name next to `target`.
fn beside<T>(target: &Path, make: impl Fn(&Path) -> Result<T>) -> Result<(PathBuf, T)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    const ATTEMPTS: usize = 100;
    let name = target.file_name().ok_or_else(|| Error::new(ErrorKind::InvalidInput, "it has no name"))?;
    // Most file systems limit names to 255 bytes.
    let stem: String = name.to_string_lossy().chars().take(50).collect();
    for _ in 0..ATTEMPTS {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder_of(target).join(format!(".{stem}.{}-{number}.partial", std::process::id()));
        match make(&path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (path, made)),
        }
    }
    Err(Error::new(ErrorKind::AlreadyExists, "no name is free for the new file beside it"))
}

/// Syncs the names in a folder. Not every system can; the contents are stored either way.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests;
