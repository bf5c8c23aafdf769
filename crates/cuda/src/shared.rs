//! Memory that device and host share: managed memory and page-locked host memory.
//!
//! It has the same addresses on both sides, except for registered memory. The device has a copy: it is brought up to
//! date before operations run, and the host's after them, so that operations and host program see each other's stores
//! where CUDA allows them to rely on that. A kernel does not see what the host stores while it runs.
//!
//! The host's copy gets whole pages of 64 KiB: what the program stores in a page to which an operation stores at the same
//! time may be lost.

use crate::host::Host;
use exec::DeviceMemory;
use std::collections::BTreeMap;

/// Bytes that are compared at once.
const PIECE_BYTES: u64 = 64 << 10;

/// The shared ranges by their address on the device, each with that on the host and its size.
#[derive(Debug, Default)]
pub struct Regions(BTreeMap<u64, (u64, u64)>);

impl Regions {
    /// Adds a range, for which device memory of the same address exists.
    pub fn add(&mut self, address: u64, of_host: u64, bytes: u64) {
        self.0.insert(address, (of_host, bytes));
    }

    /// Removes the range that begins at `address`.
    pub fn remove(&mut self, address: u64) {
        self.0.remove(&address);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an address on the device is in one of the ranges.
    pub fn has(&self, address: u64) -> bool {
        self.0.range(..=address).next_back().is_some_and(|(start, (_, bytes))| address - start < *bytes)
    }

    /// Brings the device's copy of all ranges up to date.
    pub fn bring_in(&self, memory: &mut DeviceMemory, host: &dyn Host) {
        for (&start, &(_, bytes)) in &self.0 {
            self.bring_in_part(memory, host, start, bytes);
            memory.clear_changed(start);
        }
    }

    /// Brings the device's copy of a part of a range up to date, and of what is in the same pieces.
    pub fn bring_in_part(&self, memory: &mut DeviceMemory, host: &dyn Host, address: u64, bytes: u64) {
        let Some((&start, &(host_start, size))) = self.0.range(..=address).next_back() else { return };
        let end = (address + bytes - start).min(size);
        let (mut of_host, mut of_device) = (vec![0; PIECE_BYTES as usize], vec![0; PIECE_BYTES as usize]);
        let mut at = (address - start) / PIECE_BYTES * PIECE_BYTES;
        while at < end {
            let piece = (size - at).min(PIECE_BYTES) as usize;
            let read = host.read(host_start + at, &mut of_host[..piece]);
            let read = read && memory.read(start + at, &mut of_device[..piece]).is_ok();
            if read && of_host[..piece] != of_device[..piece] {
                let _ = memory.write(start + at, &of_host[..piece]);
            }
            at += piece as u64;
        }
    }

    /// Brings the host's copy up to date: the pages that operations have written.
    pub fn bring_out(&self, memory: &mut DeviceMemory, host: &dyn Host) {
        let mut of_device = Vec::new();
        for (&start, &(host_start, _)) in &self.0 {
            let changed: Vec<(u64, u64)> = memory.changed(start).collect();
            for (address, bytes) in changed {
                of_device.resize(bytes as usize, 0);
                if memory.read(address, &mut of_device).is_ok() {
                    host.write(host_start + (address - start), &of_device);
                }
            }
            memory.clear_changed(start);
        }
    }
}
