//! Copies and fills in streams.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::memory::{Place, Place3d, plan_fill};
use crate::platform::{Platform, Step, Wait};
use crate::timeline::{OpId, data};
use crate::work::{At, Copy, Side, Work};

impl Driver {
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
        let sides = [&from, &to].map(|place| self.memory.find(place.address).map_or(device, |(_, found)| found.device));
        if sides != [device; 2] {
            self.streams.refuse_capture(key)?;
            return self.copy_between((to, sides[1]), (from, sides[0]), size, device);
        }
        if wait {
            self.streams.refuse_capture(key)?;
        }
        // The program sees what is in managed memory.
        let is_managed =
            |place: &Place3d| self.memory.find(place.address).is_some_and(|(_, a)| a.place == Place::Managed);
        let is_seen = is_managed(&to) || is_managed(&from);
        let (mut from, to) = (
            self.memory.side(&mut self.platform, device, &from, size)?,
            self.memory.side(&mut self.platform, device, &to, size)?,
        );
        let to_pageable = matches!(to.at, At::Host(_));
        if let (At::Host(address), false, false) = (&from.at, wait || is_captured, to_pageable) {
            from = snapshot(&*self.platform.host, *address, &from, size)?;
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
        let (from, to) = (
            self.memory.side(&mut self.platform, sender, &from, size)?,
            self.memory.side(&mut self.platform, receiver, &to, size)?,
        );
        let from = match from.at {
            At::Device(address) => contents(&mut self.platform, sender, address, &from, size)?,
            At::Host(address) => snapshot(&*self.platform.host, address, &from, size)?,
            At::Locked(address) => snapshot(&*self.platform.host, self.memory.of_host(address), &from, size)?,
            At::Data(_) => from,
        };
        let [width, height, depth] = size;
        let work = Work::Copy(Copy { from, to, width, height, depth });
        let op = self.platform.timeline(receiver)?.request(work, &[], 0);
        Ok(Wait::Op(receiver, op))
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
        let fill = plan_fill(&mut self.platform, device, (address, pitch), (pattern, unit), [count, height])?;
        self.request(stream, Work::Fill(fill), &[]).map(Some)
    }
}

/// The contents of a box of device memory, packed.
fn contents(platform: &mut Platform, device: usize, address: u64, side: &Side, size: [u64; 3]) -> Result<Side> {
    let (copy, packed) = packing(At::Device(address), side, size);
    let mut bytes = vec![0; copy.bytes() as usize];
    let memory = platform.timeline(device)?.device.memory();
    for (offset, to, count) in copy.spans() {
        let piece = &mut bytes[to as usize..][..count as usize];
        memory.read(address + offset, piece).map_err(|_| Error::INVALID_VALUE)?;
    }
    Ok(Side { at: data(bytes), ..packed })
}

/// The contents of a box of host memory, packed.
fn snapshot(host: &dyn Host, address: u64, side: &Side, size: [u64; 3]) -> Result<Side> {
    let (copy, packed) = packing(At::Host(address), side, size);
    let mut bytes = vec![0; copy.bytes() as usize];
    for (offset, to, count) in copy.spans() {
        if !host.read(address + offset, &mut bytes[to as usize..][..count as usize]) {
            return Err(Error::INVALID_VALUE);
        }
    }
    Ok(Side { at: data(bytes), ..packed })
}

/// The copy that packs a box of memory at `at`, and the packed side.
fn packing(at: At, side: &Side, [width, height, depth]: [u64; 3]) -> (Copy, Side) {
    let packed = Side { at: At::Host(0), pitch: width, slice: width * height };
    let from = Side { at, ..side.clone() };
    (Copy { from, to: packed.clone(), width, height, depth }, packed)
}
