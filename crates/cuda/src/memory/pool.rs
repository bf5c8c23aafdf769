//! Memory that is allocated and freed in the order of a stream, and its pools.
//!
//! Memory is there at the request: its address is not used before. It is given back when the stream gets there. A pool
//! keeps nothing: what is freed goes back to the device.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::graph::Task;
use crate::memory::{Place, Pool};
use crate::timeline::OpId;
use crate::work::{Comparison, Value, ValueWait, Work};
use std::collections::BTreeMap;

/// Attributes of pools (`CU_MEMPOOL_ATTR_*`): three choices of reuse, then numbers of bytes.
const REUSE: std::ops::RangeInclusive<u32> = 1..=3;
const RELEASE_THRESHOLD: u32 = 4;
const RESERVED_HIGH: u32 = 6;
const USED_HIGH: u32 = 8;

impl Driver {
    /// Creates a pool on a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn pool_create(&mut self, device: i32) -> Result<u64> {
        let device = self.platform.index_of(device)?;
        Ok(self.pools.add(Pool { device, is_default: false, attributes: BTreeMap::new(), highest: 0 }))
    }

    /// Destroys a pool. Memory from it stays until it is freed.
    ///
    /// # Errors
    /// The handle is invalid, or the pool is that of a device.
    pub fn pool_destroy(&mut self, pool: u64) -> Result<()> {
        if self.pool(pool)?.is_default {
            return Err(Error::INVALID_VALUE);
        }
        for device in &mut self.platform.devices {
            device.pool = device.pool.filter(|&present| present != pool);
        }
        self.pools.remove(pool).map(|_| ())
    }

    /// A pool.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn pool(&self, pool: u64) -> Result<&Pool> {
        self.pools.get(pool).map_err(|_| Error::INVALID_VALUE)
    }

    /// The default pool of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn default_pool(&mut self, device: i32) -> Result<u64> {
        let device = self.platform.index_of(device)?;
        if let Some(pool) = self.platform.devices[device].default_pool {
            return Ok(pool);
        }
        let pool = self.pools.add(Pool { device, is_default: true, attributes: BTreeMap::new(), highest: 0 });
        self.platform.devices[device].default_pool = Some(pool);
        Ok(pool)
    }

    /// The pool that a device's allocations come from.
    ///
    /// # Errors
    /// There is no such device.
    pub fn present_pool(&mut self, device: i32) -> Result<u64> {
        match self.platform.device(device)?.pool {
            Some(pool) => Ok(pool),
            None => self.default_pool(device),
        }
    }

    /// Chooses the pool that a device's allocations come from.
    ///
    /// # Errors
    /// There is no such device, or no such pool on it.
    pub fn set_present_pool(&mut self, device: i32, pool: u64) -> Result<()> {
        self.platform.device(device)?;
        if self.pool(pool)?.device != device as usize {
            return Err(Error::INVALID_VALUE);
        }
        self.platform.devices[device as usize].pool = Some(pool);
        Ok(())
    }

    /// Bytes of a pool that are in use.
    fn pool_bytes(&self, pool: u64) -> u64 {
        let of_pool = self.pool_memory.iter().filter(|(_, of)| **of == pool);
        of_pool.filter_map(|(address, _)| self.allocations.get(address)).map(|allocation| allocation.bytes).sum()
    }

    /// An attribute of a pool, and whether it is a number of 64 bits.
    ///
    /// # Errors
    /// It is not a pool, or there is no such attribute.
    pub fn pool_attribute(&self, handle: u64, attribute: u32) -> Result<(u64, bool)> {
        let pool = self.pool(handle)?;
        let set = pool.attributes.get(&attribute).copied();
        match attribute {
            _ if REUSE.contains(&attribute) => Ok((set.unwrap_or(1), false)),
            RELEASE_THRESHOLD => Ok((set.unwrap_or(0), true)),
            RESERVED_HIGH | USED_HIGH => Ok((pool.highest, true)),
            // Bytes reserved and in use.
            5 | 7 => Ok((self.pool_bytes(handle), true)),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    /// Whether an attribute of pools is a number of 64 bits.
    pub fn is_wide_pool_attribute(attribute: u32) -> bool {
        !REUSE.contains(&attribute)
    }

    /// Sets an attribute of a pool. Marks of maximum use can only be set to 0, which means to the present use.
    ///
    /// # Errors
    /// It is not a pool, there is no such attribute, or it cannot be set.
    pub fn set_pool_attribute(&mut self, handle: u64, attribute: u32, value: u64) -> Result<()> {
        let present = self.pool_bytes(handle);
        let pool = self.pools.get_mut(handle).map_err(|_| Error::INVALID_VALUE)?;
        match attribute {
            _ if REUSE.contains(&attribute) && value <= 1 => {
                pool.attributes.insert(attribute, value);
            }
            RELEASE_THRESHOLD => {
                pool.attributes.insert(attribute, value);
            }
            RESERVED_HIGH | USED_HIGH if value == 0 => pool.highest = present,
            _ => return Err(Error::INVALID_VALUE),
        }
        Ok(())
    }

    /// Allocates memory in the order of a stream, from a pool or the present one of the stream's device.
    ///
    /// # Errors
    /// No bytes, not enough memory, or no stream of the pool's device.
    pub fn mem_alloc_async(&mut self, bytes: u64, pool: Option<u64>, stream: u64) -> Result<u64> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        let pool = match pool {
            Some(pool) => pool,
            None => self.present_pool(device as i32)?,
        };
        if self.pool(pool)?.device != device {
            return Err(Error::INVALID_VALUE);
        }
        let is_captured = self.streams.is_captured(device, key)?;
        let address = self.allocate(bytes)?;
        self.pool_memory.insert(address, pool);
        let present = self.pool_bytes(pool);
        if let Ok(pool) = self.pools.get_mut(pool) {
            pool.highest = pool.highest.max(present);
        }
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
        let allocation = self.allocations.get(&address).ok_or(Error::INVALID_VALUE)?;
        if allocation.place != Place::Device || allocation.device != device || self.mappings.contains_key(&address) {
            return Err(Error::INVALID_VALUE);
        }
        if self.streams.is_captured(device, key)? {
            // Memory of a graph only: other memory is freed once, a graph may be launched often.
            self.graph_memory.get(&address).ok_or(Error::INVALID_VALUE)?;
            return self.capture(key, Task::Free(address)).map(|_| ());
        }
        if self.is_kept_by_graph(address) {
            return Ok(());
        }
        self.forget(address);
        self.request(stream, Work::Release(address), &[]).map(|_| ())
    }

    /// Frees memory after operations.
    pub(crate) fn free_after(&mut self, address: u64, after: &[OpId]) -> Result<()> {
        let Some(allocation) = self.forget(address) else { return Ok(()) };
        self.platform.timeline(allocation.device)?.request(Work::Release(address), after, 0);
        Ok(())
    }

    // Values in memory.

    /// Work that stores a value or waits for one. `comparison` is of a wait.
    ///
    /// # Errors
    /// It is not device memory, or the address is not a multiple of the size.
    pub fn value_work(
        &mut self,
        device: usize,
        address: u64,
        (value, wide): (u64, bool),
        comparison: Option<Comparison>,
    ) -> Result<Work> {
        let value = Value::new(value, wide);
        let bytes = value.bytes().len() as u64;
        if !address.is_multiple_of(bytes) || !self.is_on_device(device, address, bytes) {
            return Err(Error::INVALID_VALUE);
        }
        Ok(match comparison {
            Some(comparison) => Work::WaitValue(ValueWait { address, value, comparison }),
            None => Work::Store(address, value),
        })
    }
}
