//! Reading files that users name.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};

/// Maximum size of a description or any other text written by hand.
pub const MOST_TEXT_BYTES: u64 = 16 << 20;

/// Maximum size of code: PTX, a cubin, a fat binary, a program.
pub const MOST_CODE_BYTES: u64 = 1 << 30;

/// Maximum size of a buffer's contents or of a host program.
pub const MOST_DATA_BYTES: u64 = 16 << 30;

/// Maximum size of data from a source that does not report its length.
const MOST_ENDLESS_BYTES: u64 = 1 << 30;

/// Bytes read between two checks for Ctrl-C.
const AT_A_TIME: u64 = 4 << 20;

/// The user's folder for caches, from `XDG_CACHE_HOME` and `HOME` as `variable` has them. Code in it is run, so it must not
/// depend on the current folder: relative paths are ignored.
pub fn user_cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

/// Reads a file, device or pipe of at most `most` bytes.
///
/// # Errors
/// It cannot be read, it does not end within `most` bytes (`/dev/zero`), or the user has requested a stop.
pub fn read(path: impl AsRef<Path>, most: u64) -> Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let expected = file.metadata().map_or(0, |m| m.len());
    let too_long = || {
        let limit = if most < 1 << 30 { format!("{} MiB", most >> 20) } else { format!("{} GiB", most >> 30) };
        Error::new(ErrorKind::FileTooLarge, format!("longer than {limit}, the maximum for such a file"))
    };
    if expected > most {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    let room = bytes.try_reserve_exact(expected as usize + 1);
    room.map_err(|_| Error::new(ErrorKind::OutOfMemory, format!("no room for its {expected} bytes on this machine")))?;
    loop {
        crate::stop::check()?;
        let got = (&mut file).take(AT_A_TIME.min(most + 1 - bytes.len() as u64)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(too_long());
        }
        if got == 0 {
            return Ok(bytes);
        }
    }
}

/// Whether a file holds machine code by its first bytes: an ELF file (a cubin, a program, a library) or a fat binary.
pub fn is_machine_code(file: &[u8]) -> bool {
    file.starts_with(b"\x7fELF") || file.starts_with(&0xba55_ed50_u32.to_le_bytes())
}

/// As [`read`], for code.
///
/// # Errors
/// As [`read`].
pub fn read_code(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    read(path, MOST_CODE_BYTES)
}

/// As [`read`], for data: a file of at most [`MOST_DATA_BYTES`], or up to 1 GiB of a device or a pipe.
///
/// # Errors
/// As [`read`].
pub fn read_data(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let said = std::fs::metadata(&path).map_or(0, |m| m.len());
    read(path, said.clamp(MOST_ENDLESS_BYTES, MOST_DATA_BYTES))
}

/// As [`read`], for text of at most [`MOST_TEXT_BYTES`].
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> Result<String> {
    text(read(path, MOST_TEXT_BYTES)?).map_err(|e| Error::new(ErrorKind::InvalidData, e))
}

/// The contents of a file as text.
///
/// # Errors
/// The contents are not UTF-8.
pub fn text(bytes: Vec<u8>) -> std::result::Result<String, String> {
    String::from_utf8(bytes).map_err(|e| format!("not a text file: byte {} is not UTF-8", e.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_has_an_absolute_path() {
        let cache = |xdg: Option<&str>, home: Option<&str>| {
            user_cache(|name| if name == "HOME" { home } else { xdg }.map(OsString::from))
        };
        assert_eq!(cache(Some("/x"), Some("/home/u")), Some("/x".into()));
        for relative in [None, Some(""), Some("cache"), Some("./cache")] {
            assert_eq!(cache(relative, Some("/home/u")), Some("/home/u/.cache".into()), "{relative:?}");
            assert_eq!(cache(relative, relative), None, "{relative:?}");
        }
    }

    #[test]
    fn what_does_not_end_is_refused() {
        let path = std::env::temp_dir().join(format!("kit-files-{}", std::process::id()));
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        let refused = read(&path, 3).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        // A file reports its length: nothing is read from one that is too long.
        let sparse = File::create(&path).unwrap();
        sparse.set_len(MOST_DATA_BYTES + 1).unwrap();
        let refused = [read_data(&path), read_code(&path)].map(|read| read.unwrap_err().to_string());
        std::fs::remove_file(&path).unwrap();
        assert!(refused[0].contains("16 GiB") && refused[1].contains("1 GiB"), "{refused:?}");
        if Path::new("/dev/zero").exists() {
            assert!(read_text("/dev/zero").unwrap_err().to_string().contains("16 MiB"));
        }
    }
}
