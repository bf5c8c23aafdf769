//! `kernelslist.g`: the commands of the program to the GPU, in order.

use crate::TraceError;
use crate::source::Lines;
use kit::text::excerpt_bytes;
use std::path::{Component, Path, PathBuf};

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Command {
    /// A copy from the host to the device.
    CopyToDevice { address: u64, bytes: u64 },
    /// A copy from the device to the host, which is not simulated.
    CopyFromDevice,
    /// A kernel's trace file.
    Kernel(PathBuf),
}

/// Maximum number of lines of a list: far above any program's launches and copies.
pub const MOST_COMMANDS: usize = 4 << 20;

/// A `kernelslist.g`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// In the order of the file.
    pub commands: Vec<Command>,
}

impl List {
    /// Reads the list at `path`; its kernel files are in the same folder. If there is no file of a name, it
    /// is tried with `.xz`, `.gz` and `.zst`, because files are often compressed after the list was made.
    ///
    /// # Errors
    /// A file that cannot be read, a line that is not a command, a name outside the folder.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut lines = Lines::open(path)?;
        let mut commands = Vec::new();
        while lines.next()?.is_some() {
            let line = lines.current();
            let shown = || excerpt_bytes(line);
            let command = command(line, &folder).map_err(|wrong| match wrong {
                Wrong::Command => lines
                    .error(format!("`{}` is not a command", shown()))
                    .hint("commands are MemcpyHtoD,<hex address>,<bytes>, MemcpyDtoH,… and kernel files"),
                Wrong::Place => lines
                    .error(format!("`{}` is not in the folder of the list", shown()))
                    .hint("a list names kernel files in its own folder, or in folders in that, without `..`"),
            })?;
            if commands.len() == MOST_COMMANDS {
                return Err(lines.error(format!("more than {MOST_COMMANDS} commands, the maximum of a list")));
            }
            commands.push(command);
        }
        Ok(Self { commands })
    }
}

/// The reason why a line cannot be used.
enum Wrong {
    /// It is not a command.
    Command,
    /// It names a file outside the list's folder.
    Place,
}

fn command(line: &[u8], folder: &Path) -> Result<Command, Wrong> {
    let text = String::from_utf8_lossy(line);
    if let Some(copied) = text.strip_prefix("MemcpyHtoD") {
        return copy(copied).ok_or(Wrong::Command);
    }
    if text.starts_with("Memcpy") {
        return Ok(Command::CopyFromDevice);
    }
    if !text.contains(".traceg") && !text.starts_with("kernel") {
        return Err(Wrong::Command);
    }
    let name = path_of(line);
    if !name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(Wrong::Place);
    }
    Ok(Command::Kernel(find(folder, &name)))
}

/// The arguments `,<hex address>,<bytes>`.
fn copy(text: &str) -> Option<Command> {
    let mut parts = text.strip_prefix(',')?.split(',').map(str::trim);
    let address = parts.next()?;
    let address = u64::from_str_radix(address.strip_prefix("0x").unwrap_or(address), 16).ok()?;
    Some(Command::CopyToDevice { address, bytes: parts.next()?.parse().ok()? })
}

/// Names of files may not be UTF-8.
#[cfg(unix)]
fn path_of(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(name)).to_owned()
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> PathBuf {
    String::from_utf8_lossy(name).into_owned().into()
}

fn find(folder: &Path, name: &Path) -> PathBuf {
    let path = folder.join(name);
    if path.exists() {
        return path;
    }
    let others = [".xz", ".gz", ".zst"].map(|suffix| {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    });
    others.into_iter().chain([path.with_extension("")]).find(|p| p.is_file()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let of = |line: &str| {
            let list = folder.path().join("kernelslist.g");
            std::fs::write(&list, line).unwrap();
            List::open(&list).map_err(|e| e.to_string())
        };
        for outside in ["../kernel-1.traceg", "/tmp/kernel-1.traceg", "sub/../../kernel-1.traceg", "kernels/../x"] {
            let refused = of(outside).unwrap_err();
            assert!(refused.contains("kernelslist.g:1") && refused.contains("in the folder of the list"), "{refused}");
        }
        let inside = ["kernel-1.traceg", "./kernel-1.traceg", "sub/kernel-1.traceg.xz"];
        assert_eq!(of(&inside.join("\n")).unwrap().commands.len(), 3);
        assert!(of(&"x".repeat(10_000)).unwrap_err().len() < 400, "what is repeated is bounded");
    }

    #[cfg(unix)]
    #[test]
    fn names_need_not_be_text() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let name = b"kernel-\xff.traceg";
        std::fs::write(folder.path().join("kernelslist.g"), name).unwrap();
        std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"kernel-\xff.traceg.gz")), "").unwrap();
        let commands = List::open(&folder.path().join("kernelslist.g")).unwrap().commands;
        let [Command::Kernel(path)] = &commands[..] else { panic!("{commands:?}") };
        assert!(path.is_file(), "{}", path.display());
    }
}
