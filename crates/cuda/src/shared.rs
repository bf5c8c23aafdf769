//! Memory that device and host share: managed memory and page-locked host memory.
//!
//! It has the same addresses on both sides, except for registered memory. The device has a copy: it is brought up to date before operations run,
//! and the host's after them, so that operations and host program see each other's stores where CUDA lets them rely on
//! that. A kernel does not see what the host stores while it runs.

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

    /// Brings the device's copy up to date.
    pub fn bring_in(&self, memory: &mut DeviceMemory, host: &dyn Host) {
        self.each_difference(memory, host, |memory, address, of_host, _| {
            let _ = memory.write(address.0, of_host);
        });
    }

    /// Brings the host's copy up to date.
    pub fn bring_out(&self, memory: &mut DeviceMemory, host: &dyn Host) {
        self.each_difference(memory, host, |_, address, _, of_device| {
            host.write(address.1, of_device);
        });
    }

    /// Calls `update` with memory, both addresses, host's and device's bytes of each piece that differs.
    fn each_difference(
        &self,
        memory: &mut DeviceMemory,
        host: &dyn Host,
        mut update: impl FnMut(&mut DeviceMemory, (u64, u64), &[u8], &[u8]),
    ) {
        if self.0.is_empty() {
            return;
        }
        let (mut of_host, mut of_device) = (vec![0; PIECE_BYTES as usize], vec![0; PIECE_BYTES as usize]);
        for (&start, &(host_start, bytes)) in &self.0 {
            let mut at = 0;
            while at < bytes {
                let piece = (bytes - at).min(PIECE_BYTES) as usize;
                let places = (start + at, host_start + at);
                let read = host.read(places.1, &mut of_host[..piece]);
                let read = read && memory.read(places.0, &mut of_device[..piece]).is_ok();
                if read && of_host[..piece] != of_device[..piece] {
                    update(memory, places, &of_host[..piece], &of_device[..piece]);
                }
                at += piece as u64;
            }
        }
    }
}
