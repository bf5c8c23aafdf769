//! A folder for one program, which is removed when that has ended.

use super::folder::Trust;
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::Permissions;
use std::io::{self, PipeWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Removes the folder when its input ends. Its parent does not wait for it, so that the program has no child
/// that it does not know.
const REMOVER: &str = "exec 3<&0; (trap '' HUP INT TERM; cat <&3; exec rm -rf -- \"$1\") </dev/null >/dev/null 2>&1 &";

/// A new folder that only the user can read and write.
#[derive(Debug)]
pub struct Temporary {
    folder: TempDir,
    /// Open in the program and in all that it starts: its end is theirs.
    program: Option<PipeWriter>,
}

impl Temporary {
    /// Makes a folder in `place`, the system's folder for temporary files.
    pub fn new(place: &Path) -> Result<Self, String> {
        let problem = |e: io::Error| format!("no temporary folder can be made in `{}`: {e}", place.display());
        let place = place.canonicalize().map_err(problem)?;
        Trust::user().map_err(problem)?.folders(&place)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("warpwright-").permissions(Permissions::from_mode(0o700));
        Ok(Self { folder: builder.tempdir_in(&place).map_err(problem)?, program: None })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the folder after the program that takes the place of this process has ended.
    pub fn remove_after_program(&mut self) -> io::Result<()> {
        let (reader, writer) = io::pipe()?;
        let mut remover = Command::new("/bin/sh");
        remover.args(["-c", REMOVER, "sh"]).arg(self.path()).stdin(reader).process_group(0);
        let started = remover.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !started.success() {
            return Err(io::Error::other("the shell that removes it later has failed"));
        }
        // Only now, so that the remover itself does not hold its input open.
        fcntl_setfd(&writer, FdFlags::empty())?;
        self.program = Some(writer);
        Ok(())
    }

    /// Keeps the folder. Returns it.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::{Duration, Instant};

    #[test]
    fn the_folder_goes_when_the_program_and_its_children_have_ended() {
        let mut temporary = Temporary::new(&std::env::temp_dir()).unwrap();
        assert_eq!(fs::metadata(temporary.path()).unwrap().permissions().mode() & 0o777, 0o700);
        temporary.remove_after_program().unwrap();
        let writer = temporary.program.take().unwrap();
        let folder = temporary.keep();
        // A child has the same end of the pipe.
        let mut child = Command::new("/bin/sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
        drop(writer);
        std::thread::sleep(Duration::from_millis(100));
        assert!(folder.is_dir(), "the child still runs");
        drop(child.stdin.take());
        child.wait().unwrap();
        let begin = Instant::now();
        while folder.exists() {
            assert!(begin.elapsed() < Duration::from_secs(20), "the folder is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
