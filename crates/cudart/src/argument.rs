//! Arguments of the API's functions: places, values, streams, devices.

use std::ffi::c_int;
use std::marker::PhantomData;

use crate::context::with_device;
use crate::driver::Driver;
use crate::error::Result;
use cabi::address::{Address, Handle, Plain, read, readable, write};

/// An argument of a function of the runtime, as the driver gets it.
pub trait Argument: Copy {
    /// Its type in the driver's table.
    type Raw;

    /// Checks the argument and converts it.
    fn raw(self) -> Result<Self::Raw>;

    /// The argument in the variant of a function whose default stream is the thread's.
    fn per_thread(self) -> Self {
        self
    }
}

impl<T: Plain> Argument for T {
    type Raw = Self;

    fn raw(self) -> Result<Self> {
        Ok(self)
    }
}

/// A pointer to where a result goes. Null or unmapped: `cudaErrorInvalidValue`.
#[repr(transparent)]
pub struct Out<T>(pub Address, PhantomData<T>);

/// A pointer to a value that is read. Null or unmapped: `cudaErrorInvalidValue`.
#[repr(transparent)]
pub struct In<T>(pub Address, PhantomData<T>);

// Derived, both would ask for `T: Copy`.
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
    /// Writes the result.
    pub fn set(self, value: T) -> Result<()> {
        Ok(write(self.0, value)?)
    }

    /// Writes the result if the caller asked for it.
    pub fn set_unless_null(self, value: T) -> Result<()> {
        if self.0 == 0 { Ok(()) } else { self.set(value) }
    }

    /// Fails if there is no place for the result: called before anything is made.
    pub fn ready(self) -> Result<Self> {
        let value: T = read(self.0)?;
        write(self.0, value)?;
        Ok(self)
    }

    /// Lets a function of the driver write the result, if there is a place for it.
    pub fn receive(self, call: impl FnOnce(Address) -> Result<()>) -> Result<()> {
        call(self.ready()?.0)
    }
}

impl<T: Plain> Argument for Out<T> {
    type Raw = Address;

    fn raw(self) -> Result<Address> {
        Ok(self.ready()?.0)
    }
}

impl<T> In<T> {
    /// A value at an address.
    pub const fn at(address: Address) -> Self {
        Self(address, PhantomData)
    }
}

impl<T: Plain> In<T> {
    /// Reads the value.
    pub fn get(self) -> Result<T> {
        Ok(read(self.0)?)
    }

    /// The value, or nothing for a null pointer.
    pub fn get_unless_null(self) -> Result<Option<T>> {
        if self.0 == 0 { Ok(None) } else { self.get().map(Some) }
    }
}

impl<T: Plain> Argument for In<T> {
    type Raw = Address;

    fn raw(self) -> Result<Address> {
        readable(self.0, size_of::<T>())?;
        Ok(self.0)
    }
}

/// A stream of the caller: 0 is the default stream, 2 the thread's.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub Handle);

impl Stream {
    /// The default stream of all threads.
    pub const DEFAULT: Self = Self(0);
    /// The default stream of the calling thread.
    pub const PER_THREAD: Self = Self(2);
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

/// A device by its number. One that does not exist: `cudaErrorInvalidDevice`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Device(pub c_int);

impl Argument for Device {
    type Raw = c_int;

    fn raw(self) -> Result<c_int> {
        with_device(self.0).map(|_| self.0)
    }
}

/// The order of a copy or fill: its stream, and whether the call waits for it.
#[derive(Clone, Copy)]
pub struct Order {
    stream: Stream,
    waits: bool,
}

impl Order {
    /// Argument of a synchronous call, for which the default stream is `stream`.
    pub const fn synchronous(stream: Stream) -> Self {
        Self { stream, waits: true }
    }

    /// Argument of a call that has a stream.
    pub const fn asynchronous(stream: Stream) -> Self {
        Self { stream, waits: false }
    }

    /// Calls the driver's function that corresponds: one that waits and uses the default stream, or one that gets a
    /// stream and waits for nothing.
    pub fn start(
        self,
        synchronous: impl FnOnce() -> Result<()>,
        in_stream: impl FnOnce(Handle) -> Result<()>,
    ) -> Result<()> {
        if self.has_synchronous_form() { synchronous() } else { in_stream(self.stream.0) }
    }

    /// Waits for what a synchronous call has started in the stream of the thread.
    pub fn finish(self, driver: &Driver) -> Result<()> {
        let is_pending = self.waits && !self.has_synchronous_form();
        if is_pending { driver.cuStreamSynchronize(self.stream.0) } else { Ok(()) }
    }

    fn has_synchronous_form(self) -> bool {
        self.waits && self.stream == Stream::DEFAULT
    }
}
