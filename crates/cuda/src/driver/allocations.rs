//! Allocations that captures may forbid, and those in the order of a stream.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::graph::Task;
use crate::memory::{PITCH_ALIGNMENT, Place};
use crate::work::Work;

impl Driver {
    /// Allocates device memory.
    ///
    /// # Errors
    /// No bytes, no context, not enough memory, or a capture forbids it.
    pub fn mem_alloc(&mut self, bytes: u64) -> Result<u64> {
        self.streams.check_capture()?;
        self.memory.allocate(&mut self.platform, bytes)
    }

    /// Allocates `height` rows of at least `width` bytes; returns address and pitch.
    ///
    /// # Errors
    /// As [`Driver::mem_alloc`].
    pub fn mem_alloc_pitch(&mut self, width: u64, height: u64) -> Result<(u64, u64)> {
        let pitch = width.checked_next_multiple_of(PITCH_ALIGNMENT).ok_or(Error::INVALID_VALUE)?;
        let bytes = pitch.checked_mul(height).ok_or(Error::OUT_OF_MEMORY)?;
        Ok((self.mem_alloc(bytes)?, pitch))
    }

    /// Allocates memory that device and host share.
    ///
    /// # Errors
    /// As [`Driver::mem_alloc`].
    pub fn mem_alloc_shared(&mut self, bytes: u64, place: Place, flags: u32) -> Result<u64> {
        self.streams.check_capture()?;
        self.memory.allocate_shared(&mut self.platform, bytes, place, flags)
    }

    /// Makes host memory known to the device.
    ///
    /// # Errors
    /// It does not exist, or is known already.
    pub fn host_register(&mut self, address: u64, bytes: u64, flags: u32) -> Result<()> {
        self.memory.check_unregistered(&self.platform, address, bytes)?;
        self.mem_alloc_shared(bytes, Place::Registered(address), flags).map(|_| ())
    }

    /// Allocates memory in the order of a stream, from a pool or the present one of the stream's device.
    ///
    /// # Errors
    /// No bytes, not enough memory, or no stream of the pool's device.
    pub fn mem_alloc_async(&mut self, bytes: u64, pool: Option<u64>, stream: u64) -> Result<u64> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        let pool = match pool {
            Some(pool) => pool,
            None => self.memory.present_pool(&self.platform, device as i32)?,
        };
        if self.memory.pool(pool)?.device != device {
            return Err(Error::INVALID_VALUE);
        }
        let is_captured = self.streams.is_captured(device, key)?;
        let address = self.memory.allocate(&mut self.platform, bytes)?;
        self.memory.note_pool(address, pool);
        if is_captured {
            self.capture(key, Task::Allocate(address, bytes))?;
        }
        Ok(address)
    }

    /// Frees memory in the order of a stream.
    ///
    /// # Errors
    /// It is not device memory of the program, or it is not a stream.
    pub fn mem_free_async(&mut self, address: u64, stream: u64) -> Result<()> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        self.memory.check_ordered(address, device)?;
        if self.streams.is_captured(device, key)? {
            // Memory of a graph only: other memory is freed once, a graph may be launched often.
            if !self.memory.is_of_graph(address) {
                return Err(Error::INVALID_VALUE);
            }
            return self.capture(key, Task::Free(address)).map(|_| ());
        }
        if self.memory.is_kept_by_graph(address) {
            return Ok(());
        }
        self.memory.forget(address);
        self.request(stream, Work::Release(address), &[]).map(|_| ())
    }
}
