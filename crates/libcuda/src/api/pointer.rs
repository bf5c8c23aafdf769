//! Attributes of an address, and advice on managed memory.

use crate::api;
use crate::values::{get_u32, get_u64, put};
use cuda::memory::{Attribute, Location};
use cuda::{Driver, Error, Result};

fn put_attribute(driver: &Driver, to: u64, value: Attribute) -> Result<()> {
    match value {
        Attribute::Word(word) => put(driver, to, word),
        Attribute::Long(long) => put(driver, to, long),
    }
}

/// A `CUmemLocation` as a register holds it: kind, then number.
fn location(bits: u64) -> Location {
    Location { kind: bits as u32, id: (bits >> 32) as i32 }
}

/// An attribute of an address; `None` if nothing is known of it.
fn attribute_of(driver: &mut Driver, attribute: u32, address: u64) -> Result<Option<Attribute>> {
    driver.memory.pointer_attribute(&mut driver.platform, &driver.modules, attribute, address)
}

/// Writes an attribute of managed memory to `bytes` bytes.
fn put_range(driver: &mut Driver, to: u64, bytes: u64, attribute: u32, range: (u64, u64)) -> Result<()> {
    /// No program asks for more devices.
    const MOST: u64 = 4096;
    if !bytes.is_multiple_of(4) || bytes > MOST {
        return Err(Error::INVALID_VALUE);
    }
    let numbers = driver.memory.range_attribute(&driver.platform, attribute, (bytes / 4) as usize, range.0, range.1)?;
    (0..).zip(numbers).try_for_each(|(i, number)| put(driver, to + 4 * i, number))
}

/// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`, the only one that programs set beside access flags.
const SYNC_MEMOPS: u32 = 6;

api! {
    fn cuPointerGetAttribute(data: u64, attribute: u32, address: u64) |driver| {
        let value = attribute_of(driver, attribute, address)?.ok_or(Error::INVALID_VALUE)?;
        put_attribute(driver, data, value)
    }

    fn cuPointerGetAttributes(count: u32, attributes: u64, data: u64, address: u64) |driver| {
        for i in 0..u64::from(count) {
            let (attribute, to) = (get_u32(driver, attributes + 4 * i)?, get_u64(driver, data + 8 * i)?);
            let value = match attribute_of(driver, attribute, address) {
                Ok(Some(value)) => value,
                // Such memory has no such attribute.
                Ok(None) | Err(Error::INVALID_VALUE) if (1..=22).contains(&attribute) => {
                    Attribute::unknown(attribute)
                }
                Ok(None) => return Err(Error::INVALID_VALUE),
                Err(error) => return Err(error),
            };
            put_attribute(driver, to, value)?;
        }
        if count == 0 { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    // Copies of this memory already wait for their end.
    fn cuPointerSetAttribute(value: u64, attribute: u32, address: u64) |driver| {
        get_u32(driver, value)?;
        let known = attribute_of(driver, SYNC_MEMOPS, address)?.is_some();
        if known && attribute == SYNC_MEMOPS { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    fn cuMemAdvise(address: u64, bytes: u64, advice: u32, device: i32) |driver| {
        driver.memory.advise(&driver.platform, address, bytes, advice, Location::of_device(device))
    }
    fn cuMemAdvise_v2(address: u64, bytes: u64, advice: u32, place: u64) |driver| {
        driver.memory.advise(&driver.platform, address, bytes, advice, location(place))
    }
    fn cuMemPrefetchAsync(address: u64, bytes: u64, device: i32, stream: u64) per_thread |driver| {
        driver.memory.prefetch(&driver.platform, &driver.streams, address, bytes, Location::of_device(device), stream)
    }
    fn cuMemPrefetchAsync_v2(address: u64, bytes: u64, place: u64, flags: u32, stream: u64) per_thread |driver| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        driver.memory.prefetch(&driver.platform, &driver.streams, address, bytes, location(place), stream)
    }
    fn cuMemPrefetchBatchAsync(
        addresses: u64, sizes: u64, count: u64, places: u64, firsts: u64, number: u64, flags: u64, stream: u64,
    ) per_thread |driver| {
        if flags != 0 || count == 0 || number == 0 || number > count {
            return Err(Error::INVALID_VALUE);
        }
        // Each place is that of the ranges from its first to that of the next.
        let mut place = 0;
        for i in 0..count {
            while place + 1 < number && get_u64(driver, firsts + 8 * (place + 1))? <= i {
                place += 1;
            }
            let (address, bytes) = (get_u64(driver, addresses + 8 * i)?, get_u64(driver, sizes + 8 * i)?);
            let to = location(get_u64(driver, places + 8 * place)?);
            driver.memory.prefetch(&driver.platform, &driver.streams, address, bytes, to, stream)?;
        }
        Ok(())
    }
    fn cuMemRangeGetAttribute(data: u64, bytes: u64, attribute: u32, address: u64, count: u64) |driver| {
        put_range(driver, data, bytes, attribute, (address, count))
    }
    fn cuMemRangeGetAttributes(
        data: u64, sizes: u64, attributes: u64, number: u64, address: u64, count: u64,
    ) |driver| {
        if number == 0 || number > 64 {
            return Err(Error::INVALID_VALUE);
        }
        for i in 0..number {
            let (to, bytes) = (get_u64(driver, data + 8 * i)?, get_u64(driver, sizes + 8 * i)?);
            let attribute = get_u32(driver, attributes + 4 * i)?;
            put_range(driver, to, bytes, attribute, (address, count))?;
        }
        Ok(())
    }
}
