//! Files that one process writes at a time.

use super::{Unfinished, begin, folder_of, give_up, is_direct};
use std::fs::{self, File};
use std::io::Result;
use std::path::{Path, PathBuf};

/// Attempts to lock a file that others remove at the same time.
const ATTEMPTS: usize = 100;

/// The right to write a file over some time, which one process has. The lock is a hidden file beside it; the system
/// releases it when the process ends in any way.
///
/// File systems without locks, and systems other than Linux, give it to every process. Devices need none.
#[derive(Debug)]
pub struct Lock(Option<(File, PathBuf)>);

impl Lock {
    /// Takes the lock of the file `of`; `None` if another process has it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn take(of: &Path) -> Result<Option<Self>> {
        if is_direct(of) {
            return Ok(Some(Self(None)));
        }
        let of = super::same::resolved(of)?;
        let path = folder_of(&of).join(format!(".{}.lock", of.file_name().unwrap_or_default().display()));
        for _ in 0..ATTEMPTS {
            let file = File::options().append(true).create(true).open(&path)?;
            if !is_locked_now(&file) {
                return Ok(None);
            }
            // The process that had it may have removed it meanwhile.
            if is_at(&file, &path) {
                begin(Unfinished::File(path.clone()));
                return Ok(Some(Self(Some((file, path)))));
            }
        }
        Ok(None)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is locked.
        self.0.iter().for_each(|(_, path)| give_up(&Unfinished::File(path.clone())));
    }
}

/// Locks a file; false if another process has locked it.
#[cfg(target_os = "linux")]
fn is_locked_now(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive) != Err(rustix::io::Errno::WOULDBLOCK)
}

#[cfg(not(target_os = "linux"))]
fn is_locked_now(_: &File) -> bool {
    true
}

/// Whether `file` is the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().map(identity).ok() == fs::metadata(path).map(identity).ok()
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    fs::exists(path).unwrap_or(true)
}
