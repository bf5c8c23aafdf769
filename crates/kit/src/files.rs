//! Reading files that users name.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Most bytes of a description or any other text that someone writes.
pub const MOST_TEXT_BYTES: u64 = 16 << 20;

/// Most bytes of code or data from what does not say how long it is.
const MOST_BYTES: u64 = 1 << 30;

/// All of a file, device or pipe of at most `most` bytes.
///
/// # Errors
/// It cannot be read, or does not end within `most` bytes (`/dev/zero`).
pub fn read(path: impl AsRef<Path>, most: u64) -> Result<Vec<u8>> {
    let file = File::open(path)?;
    let expected = file.metadata().map_or(0, |m| m.len()).min(most);
    let mut bytes = Vec::with_capacity(expected as usize);
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let limit = if most < 1 << 30 { format!("{} MiB", most >> 20) } else { format!("{} GiB", most >> 30) };
        return Err(Error::new(ErrorKind::FileTooLarge, format!("longer than the {limit} that are read at most")));
    }
    Ok(bytes)
}

/// As [`read`], for code or data: a whole file, or up to 1 GiB of a device or a pipe.
///
/// # Errors
/// As [`read`].
pub fn read_data(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let said = std::fs::metadata(&path).map_or(0, |m| m.len());
    read(path, said.max(MOST_BYTES))
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
/// Where they are none.
pub fn text(bytes: Vec<u8>) -> std::result::Result<String, String> {
    String::from_utf8(bytes).map_err(|e| format!("not a text file: byte {} is not UTF-8", e.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_refused() {
        let path = std::env::temp_dir().join(format!("kit-files-{}", std::process::id()));
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        let refused = read(&path, 3).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        if Path::new("/dev/zero").exists() {
            assert!(read_text("/dev/zero").unwrap_err().to_string().contains("16 MiB"));
        }
    }
}
