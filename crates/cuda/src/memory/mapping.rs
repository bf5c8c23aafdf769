//! Virtual memory: ranges of addresses, memory without addresses, and mappings of one to the other.
//!
//! Memory is mapped whole, and at one place at a time. It keeps its contents from a mapping to the next.

use crate::error::{Error, Result};
use crate::memory::objects::ADDRESSES;
use crate::memory::{Allocation, GRANULARITY_BYTES, Memory, Physical, Place};
use crate::platform::Platform;

fn is_whole(bytes: u64) -> bool {
    bytes != 0 && bytes.is_multiple_of(GRANULARITY_BYTES)
}

impl Memory {
    /// Reserves a range of addresses.
    ///
    /// # Errors
    /// The size is not a multiple of the granularity, or there are not as many addresses.
    pub fn reserve(&mut self, platform: &Platform, bytes: u64, alignment: u64) -> Result<u64> {
        platform.context_here()?;
        let alignment = alignment.max(GRANULARITY_BYTES);
        if !is_whole(bytes) || !alignment.is_power_of_two() || alignment > ADDRESSES.end {
            return Err(Error::INVALID_VALUE);
        }
        self.reserved.take(bytes, alignment).ok_or(Error::OUT_OF_MEMORY)
    }

    /// Gives a range of addresses back.
    ///
    /// # Errors
    /// There is none, or memory is mapped there.
    pub fn unreserve(&mut self, address: u64, bytes: u64) -> Result<()> {
        let is_range = self.reserved.ranges.get(&address) == Some(&bytes);
        if !is_range || self.mappings.range(address..address + bytes).next().is_some() {
            return Err(Error::INVALID_VALUE);
        }
        self.reserved.ranges.remove(&address);
        Ok(())
    }

    /// Memory of a device, without an address.
    ///
    /// # Errors
    /// The size is not a multiple of the granularity, or not as much is free.
    pub fn physical_create(&mut self, platform: &Platform, device: i32, bytes: u64) -> Result<u64> {
        let device = platform.index_of(device)?;
        if !is_whole(bytes) {
            return Err(Error::INVALID_VALUE);
        }
        let unmapped: u64 = self.physical.iter().filter(|(_, p)| p.mapped.is_none()).map(|(_, p)| p.bytes).sum();
        self.check_room(platform, device, bytes.saturating_add(unmapped))?;
        let physical = Physical { device, bytes, mapped: None, contents: None, is_released: false };
        Ok(self.physical.add(physical))
    }

    /// Memory by its handle.
    ///
    /// # Errors
    /// There is none, or the program has given the handle back.
    pub fn physical(&self, handle: u64) -> Result<&Physical> {
        let physical = self.physical.get(handle).map_err(|_| Error::INVALID_VALUE)?;
        if physical.is_released { Err(Error::INVALID_VALUE) } else { Ok(physical) }
    }

    /// Gives the handle of memory back.
    ///
    /// # Errors
    /// There is none.
    pub fn physical_release(&mut self, handle: u64) -> Result<()> {
        if self.physical(handle)?.mapped.is_none() {
            return self.physical.remove(handle).map(|_| ());
        }
        self.physical.get_mut(handle)?.is_released = true;
        Ok(())
    }

    /// Maps memory into a reserved range.
    ///
    /// # Errors
    /// The range is not reserved or has memory, or it is a part of the memory or a second place for it.
    pub fn map(&mut self, platform: &mut Platform, address: u64, bytes: u64, offset: u64, handle: u64) -> Result<()> {
        let (context, _) = platform.context_here()?;
        let Physical { device, bytes: all, mapped, .. } = *self.physical(handle)?;
        if !is_whole(bytes) || !address.is_multiple_of(GRANULARITY_BYTES) || !self.reserved.has(address, bytes) {
            return Err(Error::INVALID_VALUE);
        }
        if offset != 0 || bytes != all || mapped.is_some() {
            return Err(Error::NOT_SUPPORTED);
        }
        let id = self.next_allocation;
        let memory = platform.timeline(device)?.device.memory();
        memory.place(format!("mapping {id}"), address, bytes, false).map_err(|_| Error::INVALID_VALUE)?;
        if let Some(contents) = self.physical.get_mut(handle)?.contents.take() {
            platform.timeline(device)?.device.memory().write(address, &contents).map_err(|_| Error::INVALID_VALUE)?;
        }
        self.note(address, Allocation { bytes, place: Place::Device, context, device, id, flags: 0 });
        self.physical.get_mut(handle)?.mapped = Some(address);
        self.mappings.insert(address, handle);
        Ok(())
    }

    /// The mappings of which a range consists.
    ///
    /// # Errors
    /// There is a gap, or a mapping is only partly in it.
    pub fn mapped(&self, address: u64, bytes: u64) -> Result<Vec<u64>> {
        let (mut found, mut at) = (Vec::new(), address);
        let end = address.checked_add(bytes).ok_or(Error::INVALID_VALUE)?;
        while at < end {
            let handle = self.mappings.get(&at).ok_or(Error::INVALID_VALUE)?;
            found.push(at);
            at += self.physical.get(*handle)?.bytes;
        }
        if at == end && bytes != 0 { Ok(found) } else { Err(Error::INVALID_VALUE) }
    }

    /// Takes mappings away, after the work of their device has ended.
    ///
    /// # Errors
    /// The range does not consist of mappings.
    pub fn unmap(&mut self, platform: &mut Platform, address: u64, bytes: u64) -> Result<()> {
        for start in self.mapped(address, bytes)? {
            let Some(handle) = self.mappings.remove(&start) else { continue };
            self.forget(start);
            let Physical { device, bytes, is_released, .. } = *self.physical.get(handle)?;
            let memory = platform.timeline(device)?.device.memory();
            let mut contents = None;
            if !is_released {
                let mut kept = vec![0; bytes as usize];
                memory.read(start, &mut kept).map_err(|_| Error::INVALID_VALUE)?;
                contents = Some(kept);
            }
            memory.free(start).map_err(|_| Error::INVALID_VALUE)?;
            if is_released {
                self.physical.remove(handle)?;
            } else {
                let physical = self.physical.get_mut(handle)?;
                (physical.mapped, physical.contents) = (None, contents);
            }
        }
        Ok(())
    }

    /// The device of the mapping around an address.
    ///
    /// # Errors
    /// There is none.
    pub fn mapping_at(&self, address: u64) -> Result<(u64, &Physical)> {
        let (&start, &handle) = self.mappings.range(..=address).next_back().ok_or(Error::INVALID_VALUE)?;
        let physical = self.physical.get(handle)?;
        if address - start < physical.bytes { Ok((handle, physical)) } else { Err(Error::INVALID_VALUE) }
    }
}
