//! Memory of the program: read and written so that a bad pointer is an error.
//!
//! The kernel copies between two places of this process (`process_vm_readv`) and returns `EFAULT`
//! where a plain access would end the process. Where a sandbox forbids that call, memory is
//! accessed directly; only null and very low addresses are refused then.

use std::ffi::CString;
use std::mem::{MaybeUninit, size_of};

/// An address that cannot be read or written, or not as far as asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadAddress;

type Result<T> = std::result::Result<T, BadAddress>;

/// An address of the program or of a device.
pub type Address = usize;
/// A handle of the driver: a stream, an event, a module …
pub type Handle = usize;

/// Bytes of the smallest page. No object of a program is in the first one.
const PAGE: usize = 4096;

/// A value that may be copied from and to a program's memory: any bytes are one.
///
/// # Safety
/// Every pattern of bytes is a value of the type.
pub unsafe trait Plain: Copy {}

/// Says of types that consist of numbers that any bytes are a value of them.
#[macro_export]
macro_rules! plain {
    ($($kind:ty),* $(,)?) => {
        // SAFETY: any bytes are a value of these types, which consist of numbers.
        $(unsafe impl $crate::address::Plain for $kind {})*
    };
}

pub use crate::plain;

plain!(i8, u8, i32, u32, u64, i64, usize, f32, f64);
// SAFETY: an array of values of which any bytes are one.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Reads a value. Fails if any of it is not readable.
pub fn read<T: Plain>(address: Address) -> Result<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let local = value.as_mut_ptr().expose_provenance();
    transfer(Direction::FromProgram, local, address, size_of::<T>())?;
    // SAFETY: all bytes were written, and any bytes are a value of `T`.
    Ok(unsafe { value.assume_init() })
}

/// Writes a value. Fails if any of its place is not writable.
pub fn write<T: Plain>(address: Address, value: T) -> Result<()> {
    let local = (&raw const value).expose_provenance();
    transfer(Direction::ToProgram, local, address, size_of::<T>())
}

/// Fails if a byte of the range is not readable. Reads one byte of each page.
pub fn readable(address: Address, bytes: usize) -> Result<()> {
    let last = address.checked_add(bytes.max(1) - 1).ok_or(BadAddress)?;
    let mut at = address;
    while at < last {
        read::<u8>(at)?;
        at = (at | (PAGE - 1)).saturating_add(1);
    }
    read::<u8>(last).map(drop)
}

/// Reads a text that ends with a zero byte, of at most `limit` bytes.
pub fn read_text(address: Address, limit: usize) -> Result<CString> {
    /// Bytes that are read at once. No piece crosses the end of a page: what follows may be unmapped.
    const PIECE: usize = 128;
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let start = address.checked_add(bytes.len()).ok_or(BadAddress)?;
        let mut piece = [0_u8; PIECE];
        let piece = &mut piece[..PIECE.min(PAGE - start % PAGE).min(limit - bytes.len())];
        transfer(Direction::FromProgram, piece.as_mut_ptr().expose_provenance(), start, piece.len())?;
        if let Some(end) = piece.iter().position(|byte| *byte == 0) {
            bytes.extend_from_slice(&piece[..end]);
            return CString::new(bytes).map_err(|_| BadAddress);
        }
        bytes.extend_from_slice(piece);
    }
    Err(BadAddress)
}

/// Reads bytes one after the other.
pub fn read_bytes(address: Address, into: &mut [u8]) -> Result<()> {
    if into.is_empty() {
        return Ok(());
    }
    transfer(Direction::FromProgram, into.as_mut_ptr().expose_provenance(), address, into.len())
}

/// Writes bytes one after the other.
pub fn write_bytes(address: Address, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    transfer(Direction::ToProgram, bytes.as_ptr().expose_provenance(), address, bytes.len())
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    ToProgram,
    FromProgram,
}

/// Copies between `local`, where a Rust value is, and `remote`, an address of the program that may be bad.
fn transfer(direction: Direction, local: Address, remote: Address, bytes: usize) -> Result<()> {
    if remote < PAGE {
        return Err(BadAddress);
    }
    let place = |address| libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: bytes };
    let (near, far) = (place(local), place(remote));
    // SAFETY: the kernel checks the program's range; that of the Rust value has its size.
    let moved = unsafe {
        let process = libc::getpid();
        match direction {
            Direction::ToProgram => libc::process_vm_writev(process, &near, 1, &far, 1, 0),
            Direction::FromProgram => libc::process_vm_readv(process, &near, 1, &far, 1, 0),
        }
    };
    if usize::try_from(moved) == Ok(bytes) {
        return Ok(());
    }
    let forbidden =
        moved < 0 && matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EPERM | libc::ENOSYS));
    if !forbidden {
        return Err(BadAddress);
    }
    let (to, from) = match direction {
        Direction::ToProgram => (far.iov_base, near.iov_base),
        Direction::FromProgram => (near.iov_base, far.iov_base),
    };
    // SAFETY: the program passes a valid range; the system does not allow a check.
    unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_mapped_is_an_error() {
        let value = 5_u32;
        let address = (&raw const value).expose_provenance();
        assert_eq!(read::<u32>(address), Ok(5));
        assert_eq!(readable(address, 4), Ok(()));
        for wild in [0, 8, 0x6666_0000_0000, usize::MAX - 2] {
            assert_eq!(read::<u32>(wild), Err(BadAddress));
            assert_eq!(write(wild, 1_u32), Err(BadAddress));
            assert_eq!(readable(wild, 8), Err(BadAddress));
        }
    }

    #[test]
    fn texts_end_within_their_limit() {
        let text = c"name";
        let address = text.as_ptr().expose_provenance();
        assert_eq!(read_text(address, 5).as_deref(), Ok(text));
        assert_eq!(read_text(address, 4), Err(BadAddress));
        assert_eq!(read_text(0, 4), Err(BadAddress));
        for length in [1, 127, 128, 129, 1000] {
            let text = CString::new(vec![b'x'; length]).expect("no zero byte");
            assert_eq!(read_text(text.as_ptr().expose_provenance(), length + 1), Ok(text));
        }
    }

    /// The page that follows a text need not exist.
    #[test]
    fn texts_are_not_read_beyond_their_page() {
        // SAFETY: two new pages, of which the second one becomes unreadable.
        let start = unsafe {
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let start = libc::mmap(std::ptr::null_mut(), 2 * PAGE, protection, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(PAGE), PAGE, libc::PROT_NONE), 0);
            start.expose_provenance()
        };
        let end = start + PAGE;
        write_bytes(end - 5, b"name\0").expect("the first page is writable");
        assert_eq!(read_text(end - 5, 1 << 20).as_deref(), Ok(c"name"));
        write_bytes(end - 1, b"x").expect("the first page is writable");
        assert_eq!(read_text(end - 5, 1 << 20), Err(BadAddress));
    }
}
