//! Accesses of the host to device memory: reads, writes, fills and copies.

use super::{DeviceMemory, Fill, MemoryError};
use crate::memory::pages::{DeviceAllocation, PAGE_BYTES};

/// Bytes that are copied at a time.
const COPY_BYTES: usize = PAGE_BYTES as usize;

impl DeviceMemory {
    /// Copies device memory from `address` to `out`.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchAddress`] if not all of it is in one allocation.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let (slot, offset) = self.host_range(address, out.len() as u64)?;
        self.allocations[slot].read(offset, out);
        Ok(())
    }

    /// Copies `data` to device memory at `address`.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchAddress`] if not all of it is in one allocation.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        let (slot, offset) = self.host_range(address, data.len() as u64)?;
        let allocation = &mut self.allocations[slot];
        allocation.host_writes += 1;
        allocation.write(offset, data);
        allocation.note_written(offset, data.len() as u64);
        Ok(())
    }

    /// Sets `bytes` bytes at `address` to repetitions of `value`.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchAddress`] if not all of it is in one allocation, or if `address` or `bytes` is not
    /// a multiple of the size of `value`.
    pub fn fill(&mut self, address: u64, value: Fill, bytes: u64) -> Result<(), MemoryError> {
        let (slot, offset) = self.host_range(address, bytes)?;
        let size = value.bytes();
        if !address.is_multiple_of(size) || !bytes.is_multiple_of(size) {
            let [bytes, size] = [bytes, size].map(|n| kit::text::counted(n, "byte"));
            let what = format!("{bytes} at {address:#x} are not aligned to elements of {size}");
            return Err(MemoryError::NoSuchAddress(what));
        }
        let allocation = &mut self.allocations[slot];
        allocation.host_writes += 1;
        allocation.fill(offset, value.word(), bytes);
        allocation.note_written(offset, bytes);
        Ok(())
    }

    /// Copies `bytes` bytes within device memory. The two places may overlap.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchAddress`] if not all of a place is in one allocation.
    pub fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), MemoryError> {
        let (source, start) = self.host_range(from, bytes)?;
        let (target, end) = self.host_range(to, bytes)?;
        if from == to {
            return Ok(());
        }
        let mut buffer = vec![0; bytes.min(COPY_BYTES as u64) as usize];
        let mut done = 0;
        while done < bytes {
            let now = (bytes - done).min(COPY_BYTES as u64);
            // A copy to higher addresses starts at the end, so that no byte is overwritten before it is read.
            let at = if to > from { bytes - done - now } else { done };
            let buffer = &mut buffer[..now as usize];
            self.allocations[source].read(start + at, buffer);
            self.allocations[target].write(end + at, buffer);
            done += now;
        }
        let allocation = &mut self.allocations[target];
        allocation.host_writes += 1;
        allocation.note_written(end, bytes);
        Ok(())
    }

    /// Address and size of each page of the allocation at `base` that kernels or the host have written since
    /// [`DeviceMemory::clear_changed`]. Empty if no allocation starts there.
    pub fn changed(&self, base: u64) -> impl Iterator<Item = (u64, u64)> {
        let allocation = self.find(base).map(|slot| &self.allocations[slot]).filter(|a| a.base == base);
        allocation.into_iter().flat_map(DeviceAllocation::changed).map(move |(offset, bytes)| (base + offset, bytes))
    }

    /// Forgets what has been written of the allocation at `base`: [`DeviceMemory::changed`].
    pub fn clear_changed(&mut self, base: u64) {
        if let Some(slot) = self.find(base) {
            self.allocations[slot].clear_changed();
        }
    }

    /// Slot and offset of a range that the host accesses.
    fn host_range(&self, address: u64, bytes: u64) -> Result<(usize, u64), MemoryError> {
        let missing = || MemoryError::NoSuchAddress(format!("no memory at {address:#x}: {}", self.describe(address)));
        let slot = self.find(address).ok_or_else(missing)?;
        let a = &self.allocations[slot];
        let offset = address - a.base;
        if bytes > a.bytes - offset {
            let [bytes, size] = [bytes, a.bytes].map(|n| kit::text::counted(n, "byte"));
            let what = format!("{bytes} at offset {offset} do not fit in `{}` of {size}", a.name);
            return Err(MemoryError::NoSuchAddress(what));
        }
        Ok((slot, offset))
    }

    /// Counts a write by the host to the allocation of `address` that is not made, since its contents come from
    /// elsewhere.
    pub fn note_host_write(&mut self, address: u64) {
        if let Some(slot) = self.find(address) {
            self.allocations[slot].host_writes += 1;
        }
    }
}
