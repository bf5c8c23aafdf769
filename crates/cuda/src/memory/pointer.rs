//! Attributes of an address (`CUpointer_attribute`), and advice on managed memory.

use crate::error::{Error, Result};
use crate::memory::objects::{DEVICE, LAST_HOST, NO_DEVICE};
use crate::memory::{Allocation, Location, Memory, Place};
use crate::module::Modules;
use crate::platform::Platform;
use crate::stream::Streams;

/// The value of an attribute, and the bytes that programs have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Attribute {
    Word(u32),
    Long(u64),
}

impl Attribute {
    /// Attributes that `cuPointerGetAttributes` writes for an unknown address.
    pub fn unknown(attribute: u32) -> Self {
        match attribute {
            1 | 3 | 4 | 5 | 7 | 11 | 12 | 14 | 17..=20 => Self::Long(0),
            9 => Self::Word(NO_DEVICE as u32),
            _ => Self::Word(0),
        }
    }
}

/// Known attributes of an address.
struct Known {
    /// First address on the device, and the allocation; none of a variable of a module.
    allocation: Option<(u64, Allocation)>,
    /// The address on the device.
    on_device: u64,
    /// Beginning and size of the memory.
    range: (u64, u64),
}

impl Memory {
    fn known(&self, platform: &mut Platform, modules: &Modules, address: u64) -> Option<Known> {
        let on_device = match self.find(address) {
            Some(_) => address,
            None => self.registered(address).unwrap_or(address),
        };
        if let Some((start, &allocation)) = self.find(on_device) {
            let range = (start, allocation.bytes);
            return Some(Known { allocation: Some((start, allocation)), on_device, range });
        }
        let device = platform.device_here().ok()?;
        let range = modules.variable_at(platform, device, address)?;
        Some(Known { allocation: None, on_device, range })
    }

    /// An attribute of an address. `None`: nothing is known of it.
    ///
    /// # Errors
    /// There is no such attribute, the memory has it not, or there is no context.
    pub fn pointer_attribute(
        &self,
        platform: &mut Platform,
        modules: &Modules,
        attribute: u32,
        address: u64,
    ) -> Result<Option<Attribute>> {
        use Attribute::{Long, Word};
        let (context, here) = platform.place_here()?;
        if !(1..=22).contains(&attribute) {
            return Err(Error::INVALID_VALUE);
        }
        let Some(Known { allocation, on_device, range }) = self.known(platform, modules, address) else {
            return Ok(None);
        };
        let place = allocation.map_or(Place::Device, |(_, a)| a.place);
        let of_host = match (place, allocation) {
            (Place::Device, _) => None,
            (Place::Registered(start), Some((base, _))) => Some(start + (on_device - base)),
            _ => Some(on_device),
        };
        let owner = allocation.map_or(here, |(_, a)| a.device);
        Ok(Some(match attribute {
            1 => Long(allocation.map_or(context, |(_, a)| a.context)),
            // Host or device.
            2 => Word(if matches!(place, Place::Host | Place::Registered(_)) { 1 } else { 2 }),
            3 => Long(on_device),
            4 => Long(of_host.ok_or(Error::INVALID_VALUE)?),
            // Tokens for other drivers.
            5 => return Err(Error::NOT_SUPPORTED),
            7 | 20 => Long(allocation.map_or(0, |(_, a)| a.id)),
            8 => Word(u32::from(place == Place::Managed)),
            9 => Word(owner as u32),
            11 | 19 => Long(range.0),
            12 | 18 => Long(range.1),
            13 => Word(1),
            14 => Long(0),
            // Reads and writes.
            16 => Word(3),
            17 => Long(allocation.and_then(|(start, _)| self.pool_memory.get(&start).copied()).unwrap_or(0)),
            _ => Word(0),
        }))
    }

    /// The beginning of the managed memory that `bytes` from `address` are in.
    fn managed(&self, platform: &Platform, address: u64, bytes: u64) -> Result<u64> {
        platform.context_here()?;
        let (start, allocation) = self.find(address).ok_or(Error::INVALID_VALUE)?;
        let within = bytes > 0 && bytes <= allocation.bytes - (address - start);
        if within && allocation.place == Place::Managed { Ok(start) } else { Err(Error::INVALID_VALUE) }
    }

    /// `cuMemAdvise`: it is kept for queries and has no effect.
    ///
    /// # Errors
    /// The memory is not managed, or there is no such advice or location.
    pub fn advise(
        &mut self,
        platform: &Platform,
        address: u64,
        bytes: u64,
        advice: u32,
        location: Location,
    ) -> Result<()> {
        let start = self.managed(platform, address, bytes)?;
        if (3..=6).contains(&advice) && advice != 4 {
            check_location(platform, location)?;
        }
        let known = self.advice.entry(start).or_default();
        match advice {
            1 | 2 => known.read_mostly = advice == 1,
            3 => known.preferred = Some(location),
            4 => known.preferred = None,
            5 => {
                known.accessed_by.insert(Location::device(Some(location)));
            }
            6 => {
                known.accessed_by.remove(&Location::device(Some(location)));
            }
            _ => return Err(Error::INVALID_VALUE),
        }
        Ok(())
    }

    /// `cuMemPrefetchAsync`: memory is everywhere already.
    ///
    /// # Errors
    /// The memory is not managed, or there is no such location or stream.
    pub fn prefetch(
        &mut self,
        platform: &Platform,
        streams: &Streams,
        address: u64,
        bytes: u64,
        location: Location,
        stream: u64,
    ) -> Result<()> {
        let start = self.managed(platform, address, bytes)?;
        check_location(platform, location)?;
        streams.device_of(platform, stream)?;
        self.advice.entry(start).or_default().prefetched = Some(location);
        Ok(())
    }

    /// An attribute of managed memory (`CUmem_range_attribute`), as many numbers of 32 bits as `count`.
    ///
    /// # Errors
    /// The memory is not managed, or there is no such attribute or size of it.
    pub fn range_attribute(
        &self,
        platform: &Platform,
        attribute: u32,
        count: usize,
        address: u64,
        bytes: u64,
    ) -> Result<Vec<i32>> {
        let start = self.managed(platform, address, bytes)?;
        let advice = self.advice.get(&start).cloned().unwrap_or_default();
        let kind = |location: Option<Location>| location.map_or(0, |location| location.kind as i32);
        let id = |location: Option<Location>| location.map_or(0, |location| location.id);
        let one = match attribute {
            1 => i32::from(advice.read_mostly),
            2 => Location::device(advice.preferred),
            3 => {
                let mut devices: Vec<i32> = advice.accessed_by.iter().copied().take(count).collect();
                devices.resize(count, NO_DEVICE);
                return if count == 0 { Err(Error::INVALID_VALUE) } else { Ok(devices) };
            }
            4 => Location::device(advice.prefetched),
            5 => kind(advice.preferred),
            6 => id(advice.preferred),
            7 => kind(advice.prefetched),
            8 => id(advice.prefetched),
            _ => return Err(Error::INVALID_VALUE),
        };
        if count == 1 { Ok(vec![one]) } else { Err(Error::INVALID_VALUE) }
    }
}

fn check_location(platform: &Platform, location: Location) -> Result<()> {
    match location.kind {
        DEVICE => platform.device(location.id).map(|_| ()),
        2..=LAST_HOST => Ok(()),
        _ => Err(Error::INVALID_VALUE),
    }
}
