//! Copies and fills.

use crate::error::{Error, Result};
use crate::memory::{Allocation, Memory, Place, Place3d, Said};
use crate::platform::{Platform, Wait};
use crate::stream::Streams;
use crate::timeline::OpId;
use crate::work::{At, Comparison, Copy, Fill, Side, Value, ValueWait, Work};

impl Memory {
    /// Whether the memory at `address` is on `device` (or shared with it), as the program says or the address does.
    fn is_device_side(&self, device: usize, place: &Place3d) -> bool {
        match self.find(place.address) {
            Some((_, allocation)) => allocation.device == device,
            // Variables of modules are not allocations.
            None => place.said == Said::Device || (place.said == Said::Nothing && is_variable(place.address)),
        }
    }

    pub(crate) fn side(&self, platform: &mut Platform, device: usize, place: &Place3d, size: [u64; 3]) -> Result<Side> {
        let extent = place.extent(size).ok_or(Error::INVALID_VALUE)?;
        let at = if self.is_device_side(device, place) {
            if !platform.is_on_device(device, place.address, extent) {
                return Err(Error::INVALID_VALUE);
            }
            match self.find(place.address).map(|(_, allocation)| allocation.place) {
                Some(Place::Host | Place::Registered(_)) => At::Locked(place.address),
                _ => At::Device(place.address),
            }
        } else if let Some(of_device) = self.registered(place.address).filter(|_| place.said != Said::Device) {
            if !platform.is_on_device(device, of_device, extent) {
                return Err(Error::INVALID_VALUE);
            }
            At::Locked(of_device)
        } else {
            if place.said == Said::Device || !platform.is_in_process(place.address, extent) {
                return Err(Error::INVALID_VALUE);
            }
            At::Host(place.address)
        };
        Ok(Side { at, pitch: place.pitch, slice: place.slice })
    }

    /// The host's address of page-locked memory.
    pub(crate) fn of_host(&self, address: u64) -> u64 {
        match self.find(address) {
            Some((base, Allocation { place: Place::Registered(start), .. })) => start + (address - base),
            _ => address,
        }
    }

    /// A copy of a box of `size` for a graph: it reads host memory when it is carried out.
    ///
    /// # Errors
    /// Memory is missing on one side, or there is no context.
    pub fn plan_copy(&self, platform: &mut Platform, to: Place3d, from: Place3d, size: [u64; 3]) -> Result<Copy> {
        let device = platform.device_here()?;
        if size.contains(&0) {
            return Err(Error::INVALID_VALUE);
        }
        let (from, to) = (self.side(platform, device, &from, size)?, self.side(platform, device, &to, size)?);
        let [width, height, depth] = size;
        Ok(Copy { from, to, width, height, depth })
    }

    /// The wait of a call that fills memory: only host memory is seen by the program itself.
    pub fn fill_wait(
        &self,
        platform: &Platform,
        streams: &Streams,
        address: u64,
        op: Option<OpId>,
        stream: u64,
    ) -> Result<Wait> {
        let device = streams.device_of(platform, stream)?;
        let shared = self.find(address).is_some_and(|(_, a)| a.place != Place::Device);
        Ok(op.filter(|_| shared).map_or(Wait::Nothing, |op| Wait::Op(device, op)))
    }
}

/// A fill of `height` rows of `count` units of a pattern.
///
/// # Errors
/// Memory is missing, or nothing is to be filled.
pub fn plan_fill(
    platform: &mut Platform,
    device: usize,
    (address, pitch): (u64, u64),
    (pattern, unit): (u32, u64),
    [count, height]: [u64; 2],
) -> Result<Fill> {
    let width = count.checked_mul(unit).ok_or(Error::INVALID_VALUE)?;
    let place = Place3d { said: Said::Device, address, pitch, slice: 0 };
    let extent = place.extent([width, height, 1]).ok_or(Error::INVALID_VALUE)?;
    if !address.is_multiple_of(unit) || !platform.is_on_device(device, address, extent) {
        return Err(Error::INVALID_VALUE);
    }
    Ok(Fill { address, pitch, pattern: pattern.to_le_bytes(), unit, width, height })
}

/// Work that stores a value or waits for one. `comparison` is of a wait.
///
/// # Errors
/// It is not device memory, or the address is not a multiple of the size.
pub fn value_work(
    platform: &mut Platform,
    device: usize,
    address: u64,
    (value, wide): (u64, bool),
    comparison: Option<Comparison>,
) -> Result<Work> {
    let value = Value::new(value, wide);
    let bytes = value.bytes().len() as u64;
    if !address.is_multiple_of(bytes) || !platform.is_on_device(device, address, bytes) {
        return Err(Error::INVALID_VALUE);
    }
    Ok(match comparison {
        Some(comparison) => Work::WaitValue(ValueWait { address, value, comparison }),
        None => Work::Store(address, value),
    })
}

/// Whether an address may be one of a module's variables.
fn is_variable(address: u64) -> bool {
    (0x10_0000_0000..0x60_0000_0000).contains(&address)
}
