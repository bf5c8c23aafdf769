//! The effect of copies and fills when they end, and the device's copy of shared memory.

use crate::host::Host;
use crate::timeline::{Timeline, other};
use crate::work::{At, Copy, Fill, Side, Work};
use exec::memory::Fill as Element;
use std::sync::Arc;
use workloads::DeviceError;

/// Bytes that are moved at once.
const MOST_PIECE_BYTES: u64 = 1 << 20;

impl Timeline {
    /// Brings the device's copy of shared memory up to date, once between two stops of the program.
    pub(super) fn bring_in(&mut self, host: &dyn Host) {
        if !std::mem::replace(&mut self.fresh, true) {
            // Stores of operations are not to be overwritten.
            if std::mem::take(&mut self.changed) {
                self.regions.bring_out(self.device.memory(), host);
            }
            self.regions.bring_in(self.device.memory(), host);
        }
    }

    /// Brings the device's copy of what a copy or fill accesses up to date.
    fn bring_in_for(&mut self, work: &Work, host: &dyn Host) {
        let parts = match work {
            Work::Copy(copy) => {
                let part = |side: &Side| match side.at {
                    At::Device(address) | At::Locked(address) => {
                        Some((address, side.pitch * (copy.height - 1) + side.slice * (copy.depth - 1) + copy.width))
                    }
                    _ => None,
                };
                [part(&copy.from), part(&copy.to)]
            }
            Work::Fill(fill) => [Some((fill.address, fill.pitch * (fill.height - 1) + fill.width)), None],
            _ => return,
        };
        for (address, bytes) in parts.into_iter().flatten().filter(|part| self.regions.has(part.0)) {
            if !self.fresh {
                if std::mem::take(&mut self.changed) {
                    self.regions.bring_out(self.device.memory(), host);
                }
                self.regions.bring_in_part(self.device.memory(), host, address, bytes);
            }
            self.changed = true;
        }
    }

    /// Moves the bytes of a copy or fill. Returns false if memory of the program cannot be read or written: that is an
    /// error of the call, not one of the device.
    pub(super) fn carry_out(&mut self, work: &Work, host: &dyn Host) -> Result<bool, DeviceError> {
        self.bring_in_for(work, host);
        match work {
            Work::Copy(copy) => self.copy(copy, host),
            Work::Fill(fill) => self.fill(fill).map(|()| true),
            _ => Ok(true),
        }
    }

    fn copy(&mut self, copy: &Copy, host: &dyn Host) -> Result<bool, DeviceError> {
        for (from, to, bytes) in copy.spans() {
            if let (At::Device(source), At::Device(target)) = (&copy.from.at, &copy.to.at) {
                self.device.memory().copy(source + from, target + to, bytes).map_err(|error| other(&error))?;
                self.device.copied_to_device(target + to, bytes);
                continue;
            }
            let mut done = 0;
            while done < bytes {
                let now = (bytes - done).min(MOST_PIECE_BYTES);
                let Some(piece) = self.read(&copy.from.at, from + done, now, host)? else { return Ok(false) };
                if !self.write(&copy.to.at, to + done, &piece, host)? {
                    return Ok(false);
                }
                done += now;
            }
        }
        Ok(true)
    }

    fn read(&mut self, at: &At, offset: u64, bytes: u64, host: &dyn Host) -> Result<Option<Vec<u8>>, DeviceError> {
        let mut piece = vec![0; bytes as usize];
        match at {
            At::Device(address) | At::Locked(address) => {
                self.device.memory().read(address + offset, &mut piece).map_err(|error| other(&error))?
            }
            At::Host(address) if host.read(address + offset, &mut piece) => {}
            At::Host(address) => {
                unreached("read", address + offset, bytes, host);
                return Ok(None);
            }
            At::Data(data) => piece.copy_from_slice(&data[offset as usize..][..bytes as usize]),
        }
        Ok(Some(piece))
    }

    pub(super) fn write(&mut self, at: &At, offset: u64, piece: &[u8], host: &dyn Host) -> Result<bool, DeviceError> {
        match at {
            At::Device(address) => {
                self.device.memory().write(address + offset, piece).map_err(|error| other(&error))?;
                self.device.copied_to_device(address + offset, piece.len() as u64);
            }
            At::Locked(address) => {
                self.device.memory().write(address + offset, piece).map_err(|error| other(&error))?;
            }
            At::Host(address) if host.write(address + offset, piece) => {}
            At::Host(address) => {
                unreached("written", address + offset, piece.len() as u64, host);
                return Ok(false);
            }
            At::Data(_) => {}
        }
        Ok(true)
    }

    fn fill(&mut self, fill: &Fill) -> Result<(), DeviceError> {
        let [a, b, ..] = fill.pattern;
        let element = match fill.unit {
            1 => Element::Byte(a),
            2 => Element::Half(u16::from_le_bytes([a, b])),
            _ => Element::Word(u32::from_le_bytes(fill.pattern)),
        };
        for row in 0..fill.height {
            let address = fill.address + row * fill.pitch;
            self.device.memory().fill(address, element, fill.width).map_err(|error| other(&error))?;
            self.device.copied_to_device(address, fill.width);
        }
        if fill.width * fill.height >= self.device.least_fill() {
            self.device.empty_l2();
        }
        Ok(())
    }
}

fn unreached(done: &str, address: u64, bytes: u64, host: &dyn Host) {
    host.message(&format!("a copy fails: {bytes} bytes of host memory at {address:#x} cannot all be {done}"));
}

/// Data that is kept for a copy.
pub(crate) fn data(bytes: Vec<u8>) -> At {
    At::Data(Arc::from(bytes))
}
