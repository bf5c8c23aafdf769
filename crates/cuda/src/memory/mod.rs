//! Memory of programs: on the device, page-locked and managed.

mod copy;
mod mapping;
mod objects;
mod pointer;
mod pool;

pub use objects::{
    Advice, Allocation, GRANULARITY_BYTES, Location, MOST_DEVICES, PITCH_ALIGNMENT, Physical, Place, Place3d, Pool,
    Said, Shared,
};
pub(crate) use objects::{HEAP_BYTES, Reserved};
pub use pointer::Attribute;

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::host::PAGE_BYTES;
use crate::platform::attributes::memory_bytes;
use exec::MemoryError;

fn code_of(error: &MemoryError) -> Error {
    match error {
        MemoryError::Full { .. } => Error::OUT_OF_MEMORY,
        _ => Error::INVALID_VALUE,
    }
}

impl Driver {
    /// Allocates device memory.
    ///
    /// # Errors
    /// No bytes, no context, or not enough memory.
    pub fn mem_alloc(&mut self, bytes: u64) -> Result<u64> {
        self.streams.check_capture()?;
        self.allocate(bytes)
    }

    /// Allocates device memory, also during a capture.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Result<u64> {
        let (context, device) = self.platform.place_here()?;
        if bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        self.check_room(device, bytes)?;
        let id = self.next_allocation;
        let memory = self.platform.timeline(device)?.device.memory();
        let address = memory.allocate(format!("allocation {id}"), bytes).map_err(|e| code_of(&e))?;
        self.pool_memory.remove(&address);
        self.note(address, Allocation { bytes, place: Place::Device, context, device, id, flags: 0 });
        Ok(address)
    }

    /// Whether the board has room for `bytes` more.
    ///
    /// # Errors
    /// It has not.
    pub(crate) fn check_room(&self, device: usize, bytes: u64) -> Result<()> {
        let device = &self.platform.devices[device];
        let fits = device.allocated.checked_add(bytes).is_some_and(|all| all <= memory_bytes(&device.setup.gpu));
        if fits { Ok(()) } else { Err(Error::OUT_OF_MEMORY) }
    }

    pub(crate) fn note(&mut self, address: u64, allocation: Allocation) {
        self.next_allocation += 1;
        self.platform.devices[allocation.device].allocated += allocation.on_board();
        self.allocations.insert(address, allocation);
    }

    /// Takes an allocation out of the books.
    pub(crate) fn forget(&mut self, address: u64) -> Option<Allocation> {
        let allocation = self.allocations.remove(&address)?;
        self.advice.remove(&address);
        self.platform.devices[allocation.device].allocated -= allocation.on_board();
        Some(allocation)
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
        let (context, device) = self.platform.place_here()?;
        if bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let whole = bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Error::OUT_OF_MEMORY)?;
        let address = self.platform.devices[device].shared.take(whole).ok_or(Error::OUT_OF_MEMORY)?;
        let of_host = if let Place::Registered(of_host) = place { of_host } else { address };
        if of_host == address && !self.platform.host.map(address, whole) {
            return Err(Error::OUT_OF_MEMORY);
        }
        let id = self.next_allocation;
        let timeline = self.platform.timeline(device)?;
        timeline
            .device
            .memory()
            .place(format!("shared allocation {id}"), address, bytes, false)
            .map_err(|e| code_of(&e))?;
        timeline.regions.add(address, of_host, bytes);
        self.note(address, Allocation { bytes, place, context, device, id, flags });
        Ok(address)
    }

    /// Makes host memory known to the device.
    ///
    /// # Errors
    /// It does not exist, or is known already.
    pub fn host_register(&mut self, address: u64, bytes: u64, flags: u32) -> Result<()> {
        self.platform.context_here()?;
        if bytes == 0 || !self.is_in_process(address, bytes) {
            return Err(Error::INVALID_VALUE);
        }
        if self.registered(address).is_some() || self.find(address).is_some() {
            return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
        }
        self.mem_alloc_shared(bytes, Place::Registered(address), flags).map(|_| ())
    }

    /// The registration that begins at the host's `address`, with its address on the device.
    ///
    /// # Errors
    /// There is none.
    pub fn registration(&self, address: u64) -> Result<(u64, &Allocation)> {
        let mut registered = self.allocations.iter().filter(|(_, a)| a.place == Place::Registered(address));
        registered.next().map(|(&of_device, a)| (of_device, a)).ok_or(Error::HOST_MEMORY_NOT_REGISTERED)
    }

    /// Ends the registration that begins at the host's `address`.
    ///
    /// # Errors
    /// There is none.
    pub fn host_unregister(&mut self, address: u64) -> Result<()> {
        let (of_device, _) = self.registration(address)?;
        self.release(of_device);
        Ok(())
    }

    /// The registered memory around the host's `address`: its address on the device.
    pub(crate) fn registered(&self, address: u64) -> Option<u64> {
        self.allocations.iter().find_map(|(&of_device, a)| match a.place {
            Place::Registered(start) if address.wrapping_sub(start) < a.bytes => Some(of_device + (address - start)),
            _ => None,
        })
    }

    /// The address on the device of page-locked or registered host memory.
    ///
    /// # Errors
    /// It is neither.
    pub fn host_device_pointer(&mut self, address: u64) -> Result<u64> {
        self.platform.context_here()?;
        match self.find(address) {
            Some((_, allocation)) if allocation.place != Place::Device => Ok(address),
            _ => self.registered(address).ok_or(Error::INVALID_VALUE),
        }
    }

    /// The allocation that contains `address`, with its first address.
    pub fn find(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (&start, allocation) = self.allocations.range(..=address).next_back()?;
        (address - start < allocation.bytes).then_some((start, allocation))
    }

    /// The device whose work must have ended before the memory at `address` is freed.
    ///
    /// # Errors
    /// No allocation of a kind that `is_kind` accepts starts there.
    pub fn mem_owner_of(&self, address: u64, is_kind: impl Fn(Place) -> bool) -> Result<usize> {
        let is_mapping = self.mappings.contains_key(&address);
        self.allocations
            .get(&address)
            .filter(|a| is_kind(a.place) && !is_mapping)
            .map(|a| a.device)
            .ok_or(Error::INVALID_VALUE)
    }

    /// Frees the allocation that starts at `address`.
    pub fn release(&mut self, address: u64) {
        if self.is_kept_by_graph(address) {
            return;
        }
        let Some(allocation) = self.forget(address) else { return };
        if let Some(timeline) = &mut self.platform.devices[allocation.device].timeline {
            let _ = timeline.device.memory().free(address);
            timeline.regions.remove(address);
        }
        if allocation.place != Place::Device {
            let whole = allocation.bytes.next_multiple_of(PAGE_BYTES);
            if !matches!(allocation.place, Place::Registered(_)) {
                self.platform.host.unmap(address, whole);
            }
            self.platform.devices[allocation.device].shared.give_back(address, whole);
        }
    }

    /// Frees the memory of a context.
    pub(crate) fn release_memory(&mut self, context: u64) {
        let is_of = |address: &u64| self.allocations.get(address).is_some_and(|a| a.context == context);
        self.graph_memory.retain(|address, _| !is_of(address));
        let mapped: Vec<(u64, u64)> =
            self.mappings.iter().filter(|(address, _)| is_of(address)).map(|(&at, &handle)| (at, handle)).collect();
        for (address, handle) in mapped {
            self.mappings.remove(&address);
            let _ = self.physical.remove(handle);
        }
        let addresses: Vec<u64> =
            self.allocations.iter().filter(|(_, a)| a.context == context).map(|(&address, _)| address).collect();
        addresses.into_iter().for_each(|address| self.release(address));
    }

    /// Bytes of device memory that are free, and all of them.
    ///
    /// # Errors
    /// There is no context.
    pub fn mem_info(&mut self) -> Result<(u64, u64)> {
        let device = self.platform.device_here()?;
        let total = memory_bytes(&self.platform.devices[device].setup.gpu);
        Ok((total.saturating_sub(self.platform.devices[device].allocated), total))
    }

    /// Whether the first and the last of `bytes` from `address` are memory of the process.
    pub(crate) fn is_in_process(&self, address: u64, bytes: u64) -> bool {
        let Some(last) = address.checked_add(bytes - 1) else { return false };
        let (mut first_byte, mut last_byte) = ([0], [0]);
        self.platform.host.read_each(&mut [(address, &mut first_byte), (last, &mut last_byte)])
    }

    /// Whether `bytes` from `address` are within one piece of memory of a device.
    pub(crate) fn is_on_device(&mut self, device: usize, address: u64, bytes: u64) -> bool {
        let Ok(timeline) = self.platform.timeline(device) else { return false };
        timeline.device.memory().allocation_of(address).is_some_and(|a| bytes <= a.bytes - (address - a.base))
    }
}
