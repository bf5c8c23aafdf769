//! Folders that get their names, or their contents, when they are complete.

use super::{Unfinished, begin, beside, folder_of, forget, give_up, sync_folder, unfinished};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Folders that were created for an output. If this is dropped before [`MadeFolders::keep`], empty ones are
/// removed.
#[derive(Debug, Default)]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Creates `folder` and its missing parents.
    ///
    /// # Errors
    /// One of them cannot be created.
    pub fn make(folder: &Path) -> Result<Self> {
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let mut new: Vec<&Path> = folder.ancestors().take_while(missing).collect();
        let mut made = Self::default();
        while let Some(path) = new.pop() {
            match fs::create_dir(path) {
                // Another process has just created it, or the path contains `..`.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(()) => {
                    begin(Unfinished::Made(path.to_owned()));
                    made.0.push(path.to_owned());
                }
            }
        }
        if folder.is_dir() { Ok(made) } else { Err(Error::new(ErrorKind::NotADirectory, "it is not a folder")) }
    }

    /// Keeps the folders.
    pub fn keep(mut self) {
        self.0.drain(..).for_each(|path| forget(&Unfinished::Made(path)));
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        self.0.drain(..).rev().for_each(|path| give_up(&Unfinished::Made(path)));
    }
}

/// Method by which the new folder replaces the named one.
#[derive(Debug)]
enum Way {
    /// There is none of that name, or no file in it is replaced: the files are moved into it, the one named
    /// `last` last.
    Into,
    /// The old folder is exchanged for the new one, which gets the old files that are not part of the output.
    Exchange,
}

/// Files that belong together and appear together. They are written to [`NewFolder::path`], a folder of
/// another name, until [`NewFolder::finish`]. If this is dropped before, they are removed.
#[derive(Debug)]
pub struct NewFolder {
    target: PathBuf,
    staged: PathBuf,
    way: Way,
    /// Whether the name of a file belongs to a part of the output.
    is_part: fn(&OsStr) -> bool,
    made: MadeFolders,
}

impl NewFolder {
    /// Begins files that will be in `folder`. `is_part` reports whether a name belongs to such a file:
    /// existing ones are replaced all at once, other files stay.
    ///
    /// # Errors
    /// The folder cannot be written, or its files cannot be replaced at once.
    pub fn create(folder: &Path, is_part: fn(&OsStr) -> bool) -> Result<Self> {
        let made = MadeFolders::make(folder)?;
        let target = folder.canonicalize()?;
        let (old, others): (Vec<_>, Vec<_>) = names(&target)?.into_iter().partition(|name| is_part(name));
        let way = if old.is_empty() { Way::Into } else { Way::Exchange };
        let inside = target.join("files");
        let place = match way {
            Way::Into => &inside,
            Way::Exchange => {
                exchangeable(&target, &others)?;
                &target
            }
        };
        let (staged, ()) = beside(place, |path| fs::create_dir(path))?;
        begin(Unfinished::Folder(staged.clone()));
        Ok(Self { target, staged, way, is_part, made })
    }

    /// The folder to write the files to.
    pub fn path(&self) -> &Path {
        &self.staged
    }

    /// Moves the files into place. The file named `last` is moved last: the others are meaningless without
    /// it.
    ///
    /// # Errors
    /// The contents cannot be stored on the disk, or the folder cannot be replaced: the old contents are
    /// unchanged then.
    pub fn finish(mut self, last: &str) -> Result<()> {
        let new = names(&self.staged)?;
        for name in &new {
            fs::File::open(self.staged.join(name))?.sync_all()?;
        }
        match self.way {
            Way::Into => self.move_in(new, OsStr::new(last))?,
            Way::Exchange => self.exchange()?,
        }
        sync_folder(&self.target);
        sync_folder(folder_of(&self.target));
        std::mem::take(&mut self.made).keep();
        Ok(())
    }

    fn move_in(&self, mut new: Vec<OsString>, last: &OsStr) -> Result<()> {
        new.sort_by_key(|name| name == last);
        let _lock = unfinished();
        for (i, name) in new.iter().enumerate() {
            let to = self.target.join(name);
            let moved = if to.exists() { Err(appeared(&to)) } else { fs::rename(self.staged.join(name), &to) };
            if moved.is_err() {
                new[..i].iter().for_each(|name| _ = fs::remove_file(self.target.join(name)));
                return moved;
            }
        }
        Ok(())
    }

    fn exchange(&self) -> Result<()> {
        let _lock = unfinished();
        for name in names(&self.target)?.iter().filter(|name| !(self.is_part)(name)) {
            // A link needs no space, and the file has a name at all times.
            fs::hard_link(self.target.join(name), self.staged.join(name))?;
        }
        sync_folder(&self.staged);
        exchange(&self.staged, &self.target)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // After an exchange this is the old folder.
        give_up(&Unfinished::Folder(self.staged.clone()));
    }
}

fn appeared(path: &Path) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("`{}` was created by another program during the run", path.display()))
}

fn names(folder: &Path) -> Result<Vec<OsString>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}

/// Checks that the folder can be exchanged for a new one that keeps the files `others`.
fn exchangeable(folder: &Path, others: &[OsString]) -> Result<()> {
    if std::env::current_dir().is_ok_and(|current| current.starts_with(folder)) {
        let message = "it is the current folder or one around it, which cannot be exchanged for a new one; \
                       run the command from elsewhere";
        return Err(Error::new(ErrorKind::ResourceBusy, message));
    }
    for name in others {
        if folder.join(name).symlink_metadata()?.is_dir() {
            let name = name.display();
            let message =
                format!("it has the folder `{name}`, which is not part of a trace; give the trace a folder of its own");
            return Err(Error::new(ErrorKind::DirectoryNotEmpty, message));
        }
    }
    Ok(())
}

/// Exchanges two folders: at each moment both names exist.
#[cfg(target_os = "linux")]
fn exchange(new: &Path, old: &Path) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        // Some file systems cannot.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => exchange_by_steps(new, old),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(new: &Path, old: &Path) -> Result<()> {
    exchange_by_steps(new, old)
}

/// The same in steps: if the process is killed between two of them, both folders exist, complete.
pub(super) fn exchange_by_steps(new: &Path, old: &Path) -> Result<()> {
    let (aside, ()) = beside(old, |path| fs::rename(old, path))?;
    if let Err(error) = fs::rename(new, old) {
        fs::rename(&aside, old)?;
        return Err(error);
    }
    fs::rename(&aside, new)
}
