//! Copies and fills.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::memory::{Allocation, Place, Place3d, Said};
use crate::platform::{Step, Wait};
use crate::timeline::{OpId, data};
use crate::work::{At, Copy, Fill, Side, Work};

impl Driver {
    /// Whether the memory at `address` is on `device` (or shared with it), as the program says or the address does.
    fn is_device_side(&self, device: usize, place: &Place3d) -> bool {
        match self.find(place.address) {
            Some((_, allocation)) => allocation.device == device,
            // Variables of modules are not allocations.
            None => place.said == Said::Device || (place.said == Said::Nothing && is_variable(place.address)),
        }
    }

    fn side(&mut self, device: usize, place: &Place3d, size: [u64; 3]) -> Result<Side> {
        let extent = place.extent(size).ok_or(Error::INVALID_VALUE)?;
        let at = if self.is_device_side(device, place) {
            if !self.is_on_device(device, place.address, extent) {
                return Err(Error::INVALID_VALUE);
            }
            match self.find(place.address).map(|(_, allocation)| allocation.place) {
                Some(Place::Host | Place::Registered(_)) => At::Locked(place.address),
                _ => At::Device(place.address),
            }
        } else if let Some(of_device) = self.registered(place.address).filter(|_| place.said != Said::Device) {
            if !self.is_on_device(device, of_device, extent) {
                return Err(Error::INVALID_VALUE);
            }
            At::Locked(of_device)
        } else {
            if place.said == Said::Device || !self.is_in_process(place.address, extent) {
                return Err(Error::INVALID_VALUE);
            }
            At::Host(place.address)
        };
        Ok(Side { at, pitch: place.pitch, slice: place.slice })
    }

    /// Requests a copy of a box of `size` (bytes, rows, slices). A copy that the host does not wait for takes
    /// pageable memory with it at once.
    ///
    /// # Errors
    /// Memory is missing on one side, or it is not a stream.
    pub fn copy(&mut self, to: Place3d, from: Place3d, size: [u64; 3], stream: u64, wait: bool) -> Result<Wait> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        if size.contains(&0) {
            return Ok(Wait::Nothing);
        }
        let is_captured = self.streams.is_captured(device, key)?;
        let sides = [&from, &to].map(|place| self.find(place.address).map_or(device, |(_, found)| found.device));
        if sides != [device; 2] {
            self.streams.refuse_capture(key)?;
            return self.copy_between((to, sides[1]), (from, sides[0]), size, device);
        }
        if wait {
            self.streams.refuse_capture(key)?;
        }
        // The program sees what is in managed memory.
        let is_managed = |place: &Place3d| self.find(place.address).is_some_and(|(_, a)| a.place == Place::Managed);
        let is_seen = is_managed(&to) || is_managed(&from);
        let (mut from, to) = (self.side(device, &from, size)?, self.side(device, &to, size)?);
        let to_pageable = matches!(to.at, At::Host(_));
        if let (At::Host(address), false, false) = (&from.at, wait || is_captured, to_pageable) {
            from = self.snapshot(*address, &from, size)?;
        }
        let [width, height, depth] = size;
        let within = !is_seen && matches!((&from.at, &to.at), (At::Device(_), At::Device(_)));
        let op = self.request(stream, Work::Copy(Copy { from, to, width, height, depth }), &[])?;
        Ok(if to_pageable || (wait && !within) { Wait::Op(device, op) } else { Wait::Nothing })
    }

    /// Copies between devices: after all their work, over the link of the one that receives.
    fn copy_between(
        &mut self,
        (to, receiver): (Place3d, usize),
        (from, sender): (Place3d, usize),
        size: [u64; 3],
        here: usize,
    ) -> Result<Wait> {
        for device in [sender, receiver, here] {
            if self.platform.wait(Wait::Device(device))? != Step::Done {
                return Err(self.platform.unsupported("a copy from a device that waits for the program"));
            }
        }
        let (from, to) = (self.side(sender, &from, size)?, self.side(receiver, &to, size)?);
        let from = match from.at {
            At::Device(address) => self.contents(sender, address, &from, size)?,
            At::Host(address) => self.snapshot(address, &from, size)?,
            At::Locked(address) => self.snapshot(self.of_host(address), &from, size)?,
            At::Data(_) => from,
        };
        let [width, height, depth] = size;
        let work = Work::Copy(Copy { from, to, width, height, depth });
        let op = self.platform.timeline(receiver)?.request(work, &[], 0);
        Ok(Wait::Op(receiver, op))
    }

    /// The host's address of page-locked memory.
    fn of_host(&self, address: u64) -> u64 {
        match self.find(address) {
            Some((base, Allocation { place: Place::Registered(start), .. })) => start + (address - base),
            _ => address,
        }
    }

    /// The contents of a box of device memory, packed.
    fn contents(&mut self, device: usize, address: u64, side: &Side, size: [u64; 3]) -> Result<Side> {
        let (copy, packed) = packing(At::Device(address), side, size);
        let mut bytes = vec![0; copy.bytes() as usize];
        let memory = self.platform.timeline(device)?.device.memory();
        for (offset, to, count) in copy.spans() {
            let piece = &mut bytes[to as usize..][..count as usize];
            memory.read(address + offset, piece).map_err(|_| Error::INVALID_VALUE)?;
        }
        Ok(Side { at: data(bytes), ..packed })
    }

    /// A copy of a box of `size` for a graph: it reads host memory when it is carried out.
    ///
    /// # Errors
    /// Memory is missing on one side, or there is no context.
    pub fn plan_copy(&mut self, to: Place3d, from: Place3d, size: [u64; 3]) -> Result<Copy> {
        let device = self.platform.device_here()?;
        if size.contains(&0) {
            return Err(Error::INVALID_VALUE);
        }
        let (from, to) = (self.side(device, &from, size)?, self.side(device, &to, size)?);
        let [width, height, depth] = size;
        Ok(Copy { from, to, width, height, depth })
    }

    /// The contents of a box of host memory, packed.
    fn snapshot(&self, address: u64, side: &Side, size: [u64; 3]) -> Result<Side> {
        let (copy, packed) = packing(At::Host(address), side, size);
        let mut bytes = vec![0; copy.bytes() as usize];
        for (offset, to, count) in copy.spans() {
            if !self.platform.host.read(address + offset, &mut bytes[to as usize..][..count as usize]) {
                return Err(Error::INVALID_VALUE);
            }
        }
        Ok(Side { at: data(bytes), ..packed })
    }

    /// Requests a fill of `height` rows of `count` units of a pattern.
    ///
    /// # Errors
    /// Memory is missing, or it is not a stream.
    pub fn fill(
        &mut self,
        address: u64,
        pitch: u64,
        (pattern, unit): (u32, u64),
        [count, height]: [u64; 2],
        stream: u64,
    ) -> Result<Option<OpId>> {
        let device = self.streams.device_of(&self.platform, stream)?;
        if count == 0 || height == 0 {
            return Ok(None);
        }
        let fill = self.plan_fill(device, (address, pitch), (pattern, unit), [count, height])?;
        self.request(stream, Work::Fill(fill), &[]).map(Some)
    }

    /// A fill of `height` rows of `count` units of a pattern.
    ///
    /// # Errors
    /// Memory is missing, or nothing is to be filled.
    pub fn plan_fill(
        &mut self,
        device: usize,
        (address, pitch): (u64, u64),
        (pattern, unit): (u32, u64),
        [count, height]: [u64; 2],
    ) -> Result<Fill> {
        let width = count.checked_mul(unit).ok_or(Error::INVALID_VALUE)?;
        let place = Place3d { said: Said::Device, address, pitch, slice: 0 };
        let extent = place.extent([width, height, 1]).ok_or(Error::INVALID_VALUE)?;
        if !address.is_multiple_of(unit) || !self.is_on_device(device, address, extent) {
            return Err(Error::INVALID_VALUE);
        }
        Ok(Fill { address, pitch, pattern: pattern.to_le_bytes(), unit, width, height })
    }

    /// What a call that fills memory waits for: only host memory is seen by the program itself.
    pub fn fill_wait(&mut self, address: u64, op: Option<OpId>, stream: u64) -> Result<Wait> {
        let device = self.streams.device_of(&self.platform, stream)?;
        let shared = self.find(address).is_some_and(|(_, a)| a.place != Place::Device);
        Ok(op.filter(|_| shared).map_or(Wait::Nothing, |op| Wait::Op(device, op)))
    }
}

/// The copy that packs a box of memory at `at`, and the packed side.
fn packing(at: At, side: &Side, [width, height, depth]: [u64; 3]) -> (Copy, Side) {
    let packed = Side { at: At::Host(0), pitch: width, slice: width * height };
    let from = Side { at, ..side.clone() };
    (Copy { from, to: packed.clone(), width, height, depth }, packed)
}

/// Whether an address may be one of a module's variables.
fn is_variable(address: u64) -> bool {
    (0x10_0000_0000..0x60_0000_0000).contains(&address)
}
