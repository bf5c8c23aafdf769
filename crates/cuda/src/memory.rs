//! Memory of programs: on the device, page-locked and managed.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::host::PAGE_BYTES;
use crate::properties::memory_bytes;
use exec::MemoryError;

/// What memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Device memory.
    Device,
    /// Page-locked host memory.
    Host,
    /// Managed memory.
    Managed,
    /// Host memory that the program has registered; its own address, which is not that on the device.
    Registered(u64),
}

/// A piece of memory that the program has allocated.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Allocation {
    pub bytes: u64,
    pub place: Place,
    pub context: u64,
    pub device: usize,
    /// Unique number.
    pub id: u64,
    pub flags: u32,
}

impl Allocation {
    /// Bytes of the board's memory that it takes.
    fn on_board(&self) -> u64 {
        if matches!(self.place, Place::Device | Place::Managed) { self.bytes } else { 0 }
    }
}

/// First address of memory that device and host share, and the bytes of it for all devices together.
const SHARED_BASE: u64 = 0x64_0000_0000;
const SHARED_BYTES: u64 = 0x0c_0000_0000;
/// Addresses of the heap that each device has for itself, so that an address says which device it is of.
pub(crate) const HEAP_BYTES: u64 = 64 << 30;
/// Devices that have addresses.
pub const MOST_DEVICES: usize = 8;

/// The addresses of a device's shared memory.
#[derive(Clone, Debug)]
pub struct Shared {
    /// First address and bytes.
    range: (u64, u64),
    /// Bytes given out.
    used: u64,
    /// Ranges that were given back: address and bytes.
    free: Vec<(u64, u64)>,
}

impl Shared {
    /// The addresses of one of `count` devices.
    pub(crate) fn of(device: usize, count: usize) -> Self {
        let each = (SHARED_BYTES / count.max(1) as u64) / PAGE_BYTES * PAGE_BYTES;
        Self { range: (SHARED_BASE + each * device as u64, each), used: 0, free: Vec::new() }
    }

    fn take(&mut self, bytes: u64) -> Option<u64> {
        if let Some(at) = self.free.iter().position(|&(_, free)| free == bytes) {
            return Some(self.free.remove(at).0);
        }
        let (base, most) = self.range;
        let address = base + self.used;
        // A page stays free after each range, so that no two are adjacent.
        self.used = self.used.checked_add(bytes + PAGE_BYTES).filter(|&used| used <= most)?;
        Some(address)
    }

    fn give_back(&mut self, address: u64, bytes: u64) {
        self.free.push((address, bytes));
    }
}

/// Alignment of rows of pitched memory.
pub const PITCH_ALIGNMENT: u64 = 512;

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
        self.check_capture()?;
        self.allocate(bytes)
    }

    /// Allocates device memory, also during a capture.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Result<u64> {
        let (context, device) = self.context_here().map(|(handle, c)| (handle, c.device))?;
        if bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        self.check_room(device, bytes)?;
        let id = self.next_allocation;
        let memory = self.timeline(device)?.device.memory();
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
        let device = &self.devices[device];
        let fits = device.allocated.checked_add(bytes).is_some_and(|all| all <= memory_bytes(&device.setup.gpu));
        if fits { Ok(()) } else { Err(Error::OUT_OF_MEMORY) }
    }

    pub(crate) fn note(&mut self, address: u64, allocation: Allocation) {
        self.next_allocation += 1;
        self.devices[allocation.device].allocated += allocation.on_board();
        self.allocations.insert(address, allocation);
    }

    /// Takes an allocation out of the books.
    pub(crate) fn forget(&mut self, address: u64) -> Option<Allocation> {
        let allocation = self.allocations.remove(&address)?;
        self.advice.remove(&address);
        self.devices[allocation.device].allocated -= allocation.on_board();
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
        self.check_capture()?;
        let (context, device) = self.context_here().map(|(handle, c)| (handle, c.device))?;
        if bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let whole = bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Error::OUT_OF_MEMORY)?;
        let address = self.devices[device].shared.take(whole).ok_or(Error::OUT_OF_MEMORY)?;
        let of_host = if let Place::Registered(of_host) = place { of_host } else { address };
        if of_host == address && !self.host.map(address, whole) {
            return Err(Error::OUT_OF_MEMORY);
        }
        let id = self.next_allocation;
        let timeline = self.timeline(device)?;
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
        self.context_here()?;
        let mut byte = [0];
        if bytes == 0 || !self.host.read(address, &mut byte) || !self.host.read(address + bytes - 1, &mut byte) {
            return Err(Error::INVALID_VALUE);
        }
        if self.registered(address).is_some() || self.find(address).is_some() {
            return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
        }
        self.mem_alloc_shared(bytes, Place::Registered(address), flags).map(|_| ())
    }

    /// Takes that back.
    ///
    /// # Errors
    /// It is not known.
    pub fn host_unregister(&mut self, address: u64) -> Result<()> {
        let of_device = self
            .allocations
            .iter()
            .find(|(_, a)| a.place == Place::Registered(address))
            .map(|(&of_device, _)| of_device)
            .ok_or(Error::HOST_MEMORY_NOT_REGISTERED)?;
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
        self.context_here()?;
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

    /// The device whose work must have ended before the memory at `address` is freed or not registered any more.
    ///
    /// # Errors
    /// No allocation of a kind that `is_kind` accepts starts there.
    pub fn mem_owner_of(&self, address: u64, is_kind: impl Fn(Place) -> bool) -> Result<usize> {
        let registered = |a: &&Allocation| a.place == Place::Registered(address);
        let allocation = self.allocations.get(&address).or_else(|| self.allocations.values().find(registered));
        let is_mapping = self.mappings.contains_key(&address);
        allocation.filter(|a| is_kind(a.place) && !is_mapping).map(|a| a.device).ok_or(Error::INVALID_VALUE)
    }

    /// Frees the allocation that starts at `address`.
    pub fn release(&mut self, address: u64) {
        if self.is_kept_by_graph(address) {
            return;
        }
        let Some(allocation) = self.forget(address) else { return };
        if let Some(timeline) = &mut self.devices[allocation.device].timeline {
            let _ = timeline.device.memory().free(address);
            timeline.regions.remove(address);
        }
        if allocation.place != Place::Device {
            let whole = allocation.bytes.next_multiple_of(PAGE_BYTES);
            if !matches!(allocation.place, Place::Registered(_)) {
                self.host.unmap(address, whole);
            }
            self.devices[allocation.device].shared.give_back(address, whole);
        }
    }

    /// Bytes of device memory that are free, and all of them.
    ///
    /// # Errors
    /// There is no context.
    pub fn mem_info(&mut self) -> Result<(u64, u64)> {
        let device = self.device_here()?;
        let total = memory_bytes(&self.devices[device].setup.gpu);
        Ok((total.saturating_sub(self.devices[device].allocated), total))
    }

    /// Whether `bytes` from `address` are within one piece of memory of a device.
    pub(crate) fn is_on_device(&mut self, device: usize, address: u64, bytes: u64) -> bool {
        let Ok(timeline) = self.timeline(device) else { return false };
        timeline.device.memory().allocation_of(address).is_some_and(|a| bytes <= a.bytes - (address - a.base))
    }
}
