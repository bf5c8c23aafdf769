//! `kernelslist.g`: what the program asked of the GPU, in order.

use crate::TraceError;
use crate::error::shown;
use crate::source::Lines;
use std::path::{Path, PathBuf};

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A copy from the host to the device.
    CopyToDevice {
        /// Device address.
        address: u64,
        /// How much.
        bytes: u64,
    },
    /// A copy from the device to the host; nothing is simulated of it.
    CopyFromDevice,
    /// A kernel's trace file.
    Kernel(PathBuf),
}

/// A `kernelslist.g`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Its commands, in order.
    pub commands: Vec<Command>,
}

impl List {
    /// Reads the list at `path`; its kernel files are looked for beside it. A name that is not
    /// there is tried with `.xz`, `.gz` and `.zst`, as lists often name what was compressed later.
    ///
    /// # Errors
    /// A file that cannot be read, a line that is no command.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut lines = Lines::open(path)?;
        let mut commands = Vec::new();
        while lines.next()?.is_some() {
            let text = String::from_utf8_lossy(lines.current()).into_owned();
            commands.push(command(&text, &folder).ok_or_else(|| {
                let what = format!("`{}` is no command", shown(text.as_bytes()));
                lines.error(what).hint("commands are MemcpyHtoD,<hex address>,<bytes>, MemcpyDtoH,… and kernel files")
            })?);
        }
        Ok(Self { commands })
    }
}

fn command(text: &str, folder: &Path) -> Option<Command> {
    if let Some(copy) = text.strip_prefix("MemcpyHtoD") {
        let mut parts = copy.strip_prefix(',')?.split(',').map(str::trim);
        let address = parts.next()?;
        let address = u64::from_str_radix(address.strip_prefix("0x").unwrap_or(address), 16).ok()?;
        return Some(Command::CopyToDevice { address, bytes: parts.next()?.parse().ok()? });
    }
    if text.starts_with("Memcpy") {
        return Some(Command::CopyFromDevice);
    }
    (text.contains(".traceg") || text.starts_with("kernel")).then(|| Command::Kernel(find(folder, text)))
}

fn find(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    if path.exists() {
        return path;
    }
    let others = [".xz", ".gz", ".zst"].map(|suffix| folder.join(format!("{name}{suffix}")));
    let plain = name.rsplit_once('.').map(|(stem, _)| folder.join(stem));
    others.into_iter().chain(plain).find(|p| p.is_file()).unwrap_or(path)
}
