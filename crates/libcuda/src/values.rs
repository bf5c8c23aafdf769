//! Values in the program's memory: arguments of functions that are addresses.

use crate::process::Process;
use cuda::{Driver, Error, Host, Result};

/// Who reads and writes the program's memory: the driver while it is locked, or the process itself.
pub trait Memory {
    fn host(&self) -> &dyn Host;
}

impl Memory for Driver {
    fn host(&self) -> &dyn Host {
        self.platform.host()
    }
}

impl Memory for Process {
    fn host(&self) -> &dyn Host {
        self
    }
}

/// Writes a value to the program's memory.
pub fn put<T: Plain>(memory: &impl Memory, address: u64, value: T) -> Result<()> {
    put_bytes(memory, address, value.bytes().as_ref())
}

/// Writes what `make` makes to the program's memory. Without a place for it nothing is made.
pub fn put_new<T: Plain>(driver: &mut Driver, to: u64, make: impl FnOnce(&mut Driver) -> Result<T>) -> Result<()> {
    if to == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let value = make(driver)?;
    put(driver, to, value)
}

/// Writes bytes to the program's memory.
pub fn put_bytes(memory: &impl Memory, address: u64, bytes: &[u8]) -> Result<()> {
    if memory.host().write(address, bytes) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Writes a value to the program's memory if it asks for it.
pub fn put_if<T: Plain>(memory: &impl Memory, address: u64, value: T) -> Result<()> {
    if address == 0 { Ok(()) } else { put(memory, address, value) }
}

/// Reads `N` bytes of the program's memory.
pub fn get<const N: usize>(memory: &impl Memory, address: u64) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    if memory.host().read(address, &mut bytes) { Ok(bytes) } else { Err(Error::INVALID_VALUE) }
}

/// Reads bytes of the program's memory.
pub fn get_bytes(memory: &impl Memory, address: u64, count: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    if memory.host().read(address, &mut bytes) { Ok(bytes) } else { Err(Error::INVALID_VALUE) }
}

/// Reads a number of 64 bits.
pub fn get_u64(memory: &impl Memory, address: u64) -> Result<u64> {
    get(memory, address).map(u64::from_le_bytes)
}

/// Reads a number of 32 bits.
pub fn get_u32(memory: &impl Memory, address: u64) -> Result<u32> {
    get(memory, address).map(u32::from_le_bytes)
}

/// A structure of the API as the program's memory holds it: fields by their offsets.
#[derive(Clone, Copy)]
pub struct Fields<const N: usize>(pub [u8; N]);

impl<const N: usize> Fields<N> {
    fn bytes<const M: usize>(&self, at: usize) -> [u8; M] {
        std::array::from_fn(|i| self.0[at + i])
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }
}

/// Reads a text.
pub fn get_text(memory: &impl Memory, address: u64) -> Result<String> {
    let text = cuda::read_text(memory.host(), address).ok_or(Error::INVALID_VALUE)?;
    String::from_utf8(text).map_err(|_| Error::INVALID_VALUE)
}

/// Writes a text with its end, cut to `room` bytes.
pub fn put_text(memory: &impl Memory, address: u64, room: usize, text: &str) -> Result<()> {
    if room == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let mut bytes = text.as_bytes()[..text.len().min(room - 1)].to_vec();
    bytes.push(0);
    put_bytes(memory, address, &bytes)
}

/// Numbers as the program's memory holds them.
pub trait Plain {
    type Bytes: AsRef<[u8]>;
    fn bytes(self) -> Self::Bytes;
}

macro_rules! plain {
    ($($number:ty)*) => {$(
        impl Plain for $number {
            type Bytes = [u8; size_of::<$number>()];
            fn bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }
        }
    )*};
}
plain!(u8 i32 u32 u64 usize f32);
