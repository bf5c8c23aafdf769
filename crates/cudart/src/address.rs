//! Memory of the program: read and written so that a bad pointer is an error.
//!
//! The kernel copies between two places of this process (`process_vm_readv`) and returns `EFAULT`
//! where a plain access would end the process. Where a sandbox forbids that call, memory is
//! accessed directly; only null and very low addresses are refused then.

use std::ffi::CString;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, size_of};

use crate::error::{Error, Result};

/// An address of the program or of a device.
pub type Address = usize;
/// A handle of the driver: a stream, an event, a module …
pub type Handle = usize;

/// Bytes that are copied by one call: the kernel stops just below 2 GiB.
const MOST_AT_ONCE: usize = 1 << 30;

/// No object of a program is below this address.
const FIRST: Address = 4096;

/// A value that may be copied from and to a program's memory: any bytes are one.
///
/// # Safety
/// Every pattern of bytes is a value of the type.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($kind:ty),* $(,)?) => {
        // SAFETY: any bytes are a value of these types, which consist of numbers.
        $(unsafe impl $crate::address::Plain for $kind {})*
    };
}
pub(crate) use plain;

plain!(i8, u8, i32, u32, u64, i64, usize, f32);
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

/// Copies bytes within the program's memory.
pub fn copy(to: Address, from: Address, bytes: usize) -> Result<()> {
    copy_in_pieces(to, from, bytes, MOST_AT_ONCE)
}

fn copy_in_pieces(to: Address, from: Address, bytes: usize, most: usize) -> Result<()> {
    let mut done = 0;
    while done < bytes {
        let piece = most.min(bytes - done);
        let (to, from) = (to.checked_add(done), from.checked_add(done));
        let (to, from) = to.zip(from).ok_or(Error::INVALID_VALUE)?;
        if from < FIRST {
            return Err(Error::INVALID_VALUE);
        }
        transfer(Direction::ToProgram, from, to, piece)?;
        done += piece;
    }
    Ok(())
}

/// Fails if a byte of the range is not readable. Reads one byte of each page.
pub fn readable(address: Address, bytes: usize) -> Result<()> {
    let last = address.checked_add(bytes.max(1) - 1).ok_or(Error::INVALID_VALUE)?;
    let mut at = address;
    while at < last {
        read::<u8>(at)?;
        at = (at | (FIRST - 1)).saturating_add(1);
    }
    read::<u8>(last).map(drop)
}

/// Reads a text that ends with a zero byte, of at most `limit` bytes with it.
pub fn read_text(address: Address, limit: usize) -> Result<CString> {
    // Programs register tens of thousands of names: each call of the system counts.
    const PIECE: usize = 256;
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let at = address.wrapping_add(bytes.len());
        // To the end of the page: the next one may not exist.
        let piece = PIECE.min(FIRST - at % FIRST).min(limit - bytes.len());
        let start = bytes.len();
        bytes.resize(start + piece, 0);
        transfer(Direction::FromProgram, bytes[start..].as_mut_ptr().expose_provenance(), at, piece)?;
        if let Some(end) = bytes[start..].iter().position(|&byte| byte == 0) {
            bytes.truncate(start + end);
            return CString::new(bytes).map_err(|_| Error::INVALID_VALUE);
        }
    }
    Err(Error::INVALID_VALUE)
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

/// Copies between `local` and `remote`. The addresses may be bad; `local` is where a Rust value is
/// or, in `copy`, an address of the program too.
fn transfer(direction: Direction, local: Address, remote: Address, bytes: usize) -> Result<()> {
    if remote < FIRST {
        return Err(Error::INVALID_VALUE);
    }
    let place = |address| libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: bytes };
    let (near, far) = (place(local), place(remote));
    // SAFETY: the kernel checks both ranges; ranges of Rust values have the size of the value.
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
        return Err(Error::INVALID_VALUE);
    }
    let (to, from) = match direction {
        Direction::ToProgram => (far.iov_base, near.iov_base),
        Direction::FromProgram => (near.iov_base, far.iov_base),
    };
    // SAFETY: the program says that its range is valid, and this system lets nobody check.
    unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) };
    Ok(())
}

/// A pointer to where a result goes. Null or unmapped: `cudaErrorInvalidValue`.
#[repr(transparent)]
pub struct Out<T>(pub Address, PhantomData<T>);

/// A pointer to a value that is read.
#[repr(transparent)]
pub struct In<T>(pub Address, PhantomData<T>);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}
impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}

impl<T> Out<T> {
    /// A place at an address.
    pub const fn at(address: Address) -> Self {
        Self(address, PhantomData)
    }
}

impl<T: Plain> Out<T> {
    pub fn set(self, value: T) -> Result<()> {
        write(self.0, value)
    }

    /// Sets the result if the caller asked for it.
    pub fn set_unless_null(self, value: T) -> Result<()> {
        if self.0 == 0 { Ok(()) } else { self.set(value) }
    }

    /// The value that the caller has put there.
    pub fn get(self) -> Result<T> {
        read(self.0)
    }

    /// Fails if there is no place for the result: called before anything is made.
    pub fn ready(self) -> Result<Self> {
        let value: T = read(self.0)?;
        write(self.0, value)?;
        Ok(self)
    }
}

impl<T> In<T> {
    /// A value at an address.
    pub const fn at(address: Address) -> Self {
        Self(address, PhantomData)
    }
}

impl<T: Plain> In<T> {
    pub fn get(self) -> Result<T> {
        read(self.0)
    }

    /// The value, or nothing for a null pointer.
    pub fn get_unless_null(self) -> Result<Option<T>> {
        if self.0 == 0 { Ok(None) } else { self.get().map(Some) }
    }
}

/// A stream of the caller: 0 is the default stream, 2 that of the thread.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub Handle);

impl Stream {
    pub const DEFAULT: Self = Self(0);
    pub const PER_THREAD: Self = Self(2);
}

/// An argument of a function of the runtime, as the driver gets it.
pub trait Argument: Copy {
    /// Its type in the driver's table.
    type Raw;

    /// Checks a pointer and hands the argument on.
    fn raw(self) -> Result<Self::Raw>;

    /// The argument in the variant of a function whose default stream is that of the thread.
    fn per_thread(self) -> Self {
        self
    }
}

macro_rules! argument {
    ($($kind:ty),*) => {
        $(impl Argument for $kind {
            type Raw = Self;

            fn raw(self) -> Result<Self> {
                Ok(self)
            }
        })*
    };
}
argument!(i32, u32, u64, usize);

impl<T: Plain> Argument for Out<T> {
    type Raw = Address;

    fn raw(self) -> Result<Address> {
        Ok(self.ready()?.0)
    }
}

impl<T: Plain> Argument for In<T> {
    type Raw = Address;

    fn raw(self) -> Result<Address> {
        readable(self.0, size_of::<T>())?;
        Ok(self.0)
    }
}

impl Argument for Stream {
    type Raw = Handle;

    fn raw(self) -> Result<Handle> {
        Ok(self.0)
    }

    fn per_thread(self) -> Self {
        if self == Self::DEFAULT { Self::PER_THREAD } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_copies_go_in_pieces() {
        let from: Vec<u8> = (0..100).collect();
        for most in [1, 7, 99, 100, 101] {
            let mut to = vec![0_u8; 102];
            let place = to.as_mut_ptr().expose_provenance() + 1;
            let source = from.as_ptr().expose_provenance();
            assert_eq!(copy_in_pieces(place, source, 100, most), Ok(()));
            assert_eq!((to[0], &to[1..101], to[101]), (0, &from[..], 0));
        }
    }

    #[test]
    fn what_is_not_mapped_is_an_error() {
        let value = 5_u32;
        let address = (&raw const value).expose_provenance();
        assert_eq!(read::<u32>(address), Ok(5));
        assert_eq!(readable(address, 4), Ok(()));
        for wild in [0, 8, 0x6666_0000_0000, usize::MAX - 2] {
            assert_eq!(read::<u32>(wild), Err(Error::INVALID_VALUE));
            assert_eq!(write(wild, 1_u32), Err(Error::INVALID_VALUE));
            assert_eq!(readable(wild, 8), Err(Error::INVALID_VALUE));
            assert_eq!(copy(address, wild, 4), Err(Error::INVALID_VALUE));
        }
    }

    #[test]
    fn texts_end_within_their_limit() {
        let text = c"name";
        let address = text.as_ptr().expose_provenance();
        assert_eq!(read_text(address, 5).as_deref(), Ok(text));
        assert_eq!(read_text(address, 4), Err(Error::INVALID_VALUE));
        assert_eq!(read_text(0, 4), Err(Error::INVALID_VALUE));
        let long = CString::new(vec![b'x'; 1000]).unwrap();
        let address = long.as_ptr().expose_provenance();
        assert_eq!(read_text(address, 1 << 20), Ok(long.clone()));
        assert_eq!(read_text(address, 1000), Err(Error::INVALID_VALUE));
    }

    #[test]
    fn texts_at_the_end_of_memory_are_read() {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: two new pages, of which the second is given back.
        let page = unsafe {
            let pages = libc::mmap(std::ptr::null_mut(), 2 * FIRST, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            libc::munmap(pages.byte_add(FIRST), FIRST);
            pages.expose_provenance()
        };
        write_bytes(page + FIRST - 3, b"ab\0").unwrap();
        assert_eq!(read_text(page + FIRST - 3, 1 << 20).as_deref(), Ok(c"ab"));
        write_bytes(page + FIRST - 1, b"c").unwrap();
        assert_eq!(read_text(page + FIRST - 3, 1 << 20), Err(Error::INVALID_VALUE));
    }
}
