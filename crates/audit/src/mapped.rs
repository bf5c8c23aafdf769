//! Files in memory.

use std::ffi::c_void;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::{ptr, slice};

/// A file in memory.
pub struct Mapped {
    at: *mut c_void,
    bytes: usize,
}

impl Mapped {
    /// The file at `path`; `None` if it cannot be read or is empty.
    pub fn open(path: &Path) -> Option<Self> {
        let file = std::fs::File::open(path).ok()?;
        let bytes = usize::try_from(file.metadata().ok()?.len()).ok()?;
        // SAFETY: a new mapping of an open file.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        (at != libc::MAP_FAILED).then_some(Self { at, bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: it is mapped. Who shortens a library that is being loaded ends the program in any case.
        unsafe { slice::from_raw_parts(self.at.cast(), self.bytes) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: nothing borrows it any longer.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}
