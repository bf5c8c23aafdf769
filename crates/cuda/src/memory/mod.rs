//! Memory of programs: on the device, page-locked and managed.

mod copy;
mod graph;
mod mapping;
mod objects;
mod pointer;
mod pool;

pub use copy::{plan_fill, value_work};
pub(crate) use objects::HEAP_BYTES;
pub use objects::{
    Advice, Allocation, GRANULARITY_BYTES, Location, MOST_DEVICES, PITCH_ALIGNMENT, Physical, Place, Place3d, Pool,
    Said,
};
pub use pointer::Attribute;

use crate::error::{Error, Result};
use crate::handles::{Handles, Kind};
use crate::host::PAGE_BYTES;
use crate::platform::Platform;
use crate::platform::attributes::memory_bytes;
use exec::MemoryError;
use objects::{GraphMemory, OfDevice, Reserved, Shared};
use std::collections::BTreeMap;

fn code_of(error: &MemoryError) -> Error {
    match error {
        MemoryError::Full { .. } => Error::OUT_OF_MEMORY,
        _ => Error::INVALID_VALUE,
    }
}

/// Owner of memory: allocations, pools, reserved addresses and what is mapped there.
pub struct Memory {
    /// By address.
    allocations: BTreeMap<u64, Allocation>,
    /// Next number of an allocation.
    next_allocation: u64,
    /// By device.
    devices: Vec<OfDevice>,
    /// Advice on managed memory, by address of allocations.
    advice: BTreeMap<u64, Advice>,
    pools: Handles<Pool>,
    /// The pool of memory that comes from one, by address.
    pool_memory: BTreeMap<u64, u64>,
    /// Memory that is mapped to reserved addresses, or will be.
    physical: Handles<Physical>,
    reserved: Reserved,
    /// Its handles, by the addresses where it is mapped.
    mappings: BTreeMap<u64, u64>,
    /// Memory of nodes of graphs, by address.
    of_graphs: BTreeMap<u64, GraphMemory>,
}

impl Memory {
    /// The memory of as many devices.
    pub(crate) fn new(devices: usize) -> Self {
        let of_device =
            |device| OfDevice { shared: Shared::of(device, devices), allocated: 0, default_pool: None, pool: None };
        Self {
            allocations: BTreeMap::new(),
            next_allocation: 1,
            devices: (0..devices).map(of_device).collect(),
            advice: BTreeMap::new(),
            pools: Handles::new(Kind::Pool),
            pool_memory: BTreeMap::new(),
            physical: Handles::new(Kind::Physical),
            reserved: Reserved::default(),
            mappings: BTreeMap::new(),
            of_graphs: BTreeMap::new(),
        }
    }

    /// Allocates device memory.
    ///
    /// # Errors
    /// No bytes, no context, or not enough memory.
    pub(crate) fn allocate(&mut self, platform: &mut Platform, bytes: u64) -> Result<u64> {
        let (context, device) = platform.place_here()?;
        if bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        self.check_room(platform, device, bytes)?;
        let id = self.next_allocation;
        let memory = platform.timeline(device)?.device.memory();
        let address = memory.allocate(format!("allocation {id}"), bytes).map_err(|e| code_of(&e))?;
        self.pool_memory.remove(&address);
        self.note(address, Allocation { bytes, place: Place::Device, context, device, id, flags: 0 });
        Ok(address)
    }

    /// Whether the board has room for `bytes` more.
    ///
    /// # Errors
    /// It has not.
    fn check_room(&self, platform: &Platform, device: usize, bytes: u64) -> Result<()> {
        let all = memory_bytes(&platform.devices[device].setup.gpu);
        let fits = self.devices[device].allocated.checked_add(bytes).is_some_and(|taken| taken <= all);
        if fits { Ok(()) } else { Err(Error::OUT_OF_MEMORY) }
    }

    fn note(&mut self, address: u64, allocation: Allocation) {
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

    /// Allocates memory that device and host share.
    ///
    /// # Errors
    /// As [`Memory::allocate`].
    pub(crate) fn allocate_shared(
        &mut self,
        platform: &mut Platform,
        bytes: u64,
        place: Place,
        flags: u32,
    ) -> Result<u64> {
        let (context, device) = platform.place_here()?;
        if bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let whole = bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Error::OUT_OF_MEMORY)?;
        let address = self.devices[device].shared.take(whole).ok_or(Error::OUT_OF_MEMORY)?;
        let of_host = if let Place::Registered(of_host) = place { of_host } else { address };
        if of_host == address && !platform.host.map(address, whole) {
            return Err(Error::OUT_OF_MEMORY);
        }
        let id = self.next_allocation;
        let timeline = platform.timeline(device)?;
        timeline
            .device
            .memory()
            .place(format!("shared allocation {id}"), address, bytes, false)
            .map_err(|e| code_of(&e))?;
        timeline.regions.add(address, of_host, bytes);
        self.note(address, Allocation { bytes, place, context, device, id, flags });
        Ok(address)
    }

    /// Whether host memory can be made known to the device.
    ///
    /// # Errors
    /// It does not exist, or is known already.
    pub(crate) fn check_unregistered(&self, platform: &Platform, address: u64, bytes: u64) -> Result<()> {
        platform.context_here()?;
        if bytes == 0 || !platform.is_in_process(address, bytes) {
            return Err(Error::INVALID_VALUE);
        }
        if self.registered(address).is_some() || self.find(address).is_some() {
            return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
        }
        Ok(())
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
    pub fn host_unregister(&mut self, platform: &mut Platform, address: u64) -> Result<()> {
        let (of_device, _) = self.registration(address)?;
        self.release(platform, of_device);
        Ok(())
    }

    /// The registered memory around the host's `address`: its address on the device.
    fn registered(&self, address: u64) -> Option<u64> {
        self.allocations.iter().find_map(|(&of_device, a)| match a.place {
            Place::Registered(start) if address.wrapping_sub(start) < a.bytes => Some(of_device + (address - start)),
            _ => None,
        })
    }

    /// The address on the device of page-locked or registered host memory.
    ///
    /// # Errors
    /// It is neither.
    pub fn host_device_pointer(&self, platform: &Platform, address: u64) -> Result<u64> {
        platform.context_here()?;
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
    pub fn owner_of(&self, address: u64, is_kind: impl Fn(Place) -> bool) -> Result<usize> {
        let is_mapping = self.mappings.contains_key(&address);
        self.allocations
            .get(&address)
            .filter(|a| is_kind(a.place) && !is_mapping)
            .map(|a| a.device)
            .ok_or(Error::INVALID_VALUE)
    }

    /// Frees the allocation that starts at `address`.
    pub fn release(&mut self, platform: &mut Platform, address: u64) {
        if self.is_kept_by_graph(address) {
            return;
        }
        let Some(allocation) = self.forget(address) else { return };
        if let Some(timeline) = &mut platform.devices[allocation.device].timeline {
            let _ = timeline.device.memory().free(address);
            timeline.regions.remove(address);
        }
        if allocation.place != Place::Device {
            let whole = allocation.bytes.next_multiple_of(PAGE_BYTES);
            if !matches!(allocation.place, Place::Registered(_)) {
                platform.host.unmap(address, whole);
            }
            self.devices[allocation.device].shared.give_back(address, whole);
        }
    }

    /// Frees the memory of a context.
    pub(crate) fn release_context(&mut self, platform: &mut Platform, context: u64) {
        let is_of = |address: &u64| self.allocations.get(address).is_some_and(|a| a.context == context);
        self.of_graphs.retain(|address, _| !is_of(address));
        let mapped: Vec<(u64, u64)> =
            self.mappings.iter().filter(|(address, _)| is_of(address)).map(|(&at, &handle)| (at, handle)).collect();
        for (address, handle) in mapped {
            self.mappings.remove(&address);
            let _ = self.physical.remove(handle);
        }
        let addresses: Vec<u64> =
            self.allocations.iter().filter(|(_, a)| a.context == context).map(|(&address, _)| address).collect();
        addresses.into_iter().for_each(|address| self.release(platform, address));
    }

    /// Bytes of device memory that are free, and all of them.
    ///
    /// # Errors
    /// There is no context.
    pub fn info(&self, platform: &Platform) -> Result<(u64, u64)> {
        let device = platform.device_here()?;
        let total = memory_bytes(&platform.devices[device].setup.gpu);
        Ok((total.saturating_sub(self.devices[device].allocated), total))
    }

    /// Takes room of the board for what is not memory of the program, such as an array; returns its address.
    ///
    /// # Errors
    /// There is not enough.
    pub(crate) fn take_room(&mut self, platform: &mut Platform, device: usize, name: &str, bytes: u64) -> Result<u64> {
        self.check_room(platform, device, bytes)?;
        let memory = platform.timeline(device)?.device.memory();
        let address = memory.allocate(name, bytes).map_err(|_| Error::OUT_OF_MEMORY)?;
        self.devices[device].allocated += bytes;
        Ok(address)
    }

    /// Gives room of the board back.
    pub(crate) fn give_room(&mut self, platform: &mut Platform, device: usize, address: u64, bytes: u64) {
        self.devices[device].allocated -= bytes;
        if let Some(timeline) = &mut platform.devices[device].timeline {
            let _ = timeline.device.memory().free(address);
        }
    }
}
