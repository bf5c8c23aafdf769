//! Memory that is allocated and freed in the order of a stream, and its pools.
//!
//! Memory is there at the request: its address is not used before. It is given back when the stream gets there. A pool
//! keeps nothing: what is freed goes back to the device.

use crate::error::{Error, Result};
use crate::memory::{Memory, Place, Pool};
use crate::platform::Platform;
use crate::timeline::OpId;
use crate::work::Work;
use std::collections::BTreeMap;

/// Attributes of pools (`CU_MEMPOOL_ATTR_*`): three choices of reuse, then numbers of bytes.
const REUSE: std::ops::RangeInclusive<u32> = 1..=3;
const RELEASE_THRESHOLD: u32 = 4;
const RESERVED_HIGH: u32 = 6;
const USED_HIGH: u32 = 8;

impl Memory {
    /// Creates a pool on a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn pool_create(&mut self, platform: &Platform, device: i32) -> Result<u64> {
        let device = platform.index_of(device)?;
        Ok(self.pools.add(Pool { device, is_default: false, attributes: BTreeMap::new(), highest: 0 }))
    }

    /// Destroys a pool. Memory from it stays until it is freed.
    ///
    /// # Errors
    /// The handle is invalid, or the pool is a device's own.
    pub fn pool_destroy(&mut self, pool: u64) -> Result<()> {
        if self.pool(pool)?.is_default {
            return Err(Error::INVALID_VALUE);
        }
        for device in &mut self.devices {
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
    pub fn default_pool(&mut self, platform: &Platform, device: i32) -> Result<u64> {
        let device = platform.index_of(device)?;
        if let Some(pool) = self.devices[device].default_pool {
            return Ok(pool);
        }
        let pool = self.pools.add(Pool { device, is_default: true, attributes: BTreeMap::new(), highest: 0 });
        self.devices[device].default_pool = Some(pool);
        Ok(pool)
    }

    /// The pool that a device's allocations come from.
    ///
    /// # Errors
    /// There is no such device.
    pub fn present_pool(&mut self, platform: &Platform, device: i32) -> Result<u64> {
        match self.devices[platform.index_of(device)?].pool {
            Some(pool) => Ok(pool),
            None => self.default_pool(platform, device),
        }
    }

    /// Chooses the pool that a device's allocations come from.
    ///
    /// # Errors
    /// There is no such device, or no such pool on it.
    pub fn set_present_pool(&mut self, platform: &Platform, device: i32, pool: u64) -> Result<()> {
        platform.device(device)?;
        if self.pool(pool)?.device != device as usize {
            return Err(Error::INVALID_VALUE);
        }
        self.devices[device as usize].pool = Some(pool);
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

    /// Notes that memory is of a pool.
    pub(crate) fn note_pool(&mut self, address: u64, pool: u64) {
        self.pool_memory.insert(address, pool);
        let present = self.pool_bytes(pool);
        if let Ok(pool) = self.pools.get_mut(pool) {
            pool.highest = pool.highest.max(present);
        }
    }

    /// Whether the program can free the memory at an address in the order of a stream on `device`.
    ///
    /// # Errors
    /// It is not device memory of the program there.
    pub(crate) fn check_ordered(&self, address: u64, device: usize) -> Result<()> {
        let allocation = self.allocations.get(&address).ok_or(Error::INVALID_VALUE)?;
        let is_ordered = allocation.place == Place::Device && allocation.device == device;
        if is_ordered && !self.mappings.contains_key(&address) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    /// Frees memory after operations.
    pub(crate) fn free_after(&mut self, platform: &mut Platform, address: u64, after: &[OpId]) -> Result<()> {
        let Some(allocation) = self.forget(address) else { return Ok(()) };
        platform.timeline(allocation.device)?.request(Work::Release(address), after, 0);
        Ok(())
    }
}

impl Pool {
    /// Whether an attribute of pools is a number of 64 bits.
    pub fn is_wide(attribute: u32) -> bool {
        !REUSE.contains(&attribute)
    }
}
