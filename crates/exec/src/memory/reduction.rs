//! Read-modify-writes of device memory, and those that wait to be performed.

use super::device::DeviceMemory;
use super::reader::Reader;
use crate::update::Update;
use kit::{LaneMask, WARP_LANES, lanes};

/// A `red` on global memory with its operands, to be performed later.
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    pub update: Update,
    pub mask: LaneMask,
    pub addresses: [u64; WARP_LANES],
    /// As [`Update::apply`] has them.
    pub operands: [[u64; 2]; WARP_LANES],
}

impl Reduction {
    /// Performs it, in lane order. All its addresses are in bounds.
    pub fn perform(&self, memory: &mut DeviceMemory, reader: &Reader) {
        let bytes = u64::from(self.update.ty.bytes());
        for lane in lanes(self.mask) {
            let [b, c] = self.operands[lane];
            modify_device(memory, reader, self.addresses[lane], bytes, |old| self.update.apply(old, b, c, false));
        }
    }
}

/// Replaces the value of 1, 2, 4 or 8 bytes at an aligned address of device memory and returns the old one; `None` if
/// there is no such memory.
pub(crate) fn modify_device(
    memory: &mut DeviceMemory,
    reader: &Reader,
    address: u64,
    bytes: u64,
    f: impl FnOnce(u64) -> u64,
) -> Option<u64> {
    let w = memory.window_mut(address, bytes, reader)?;
    let (old, new) = modify_at(w.words, w.start, address, bytes, f);
    if new != old {
        memory.note_change();
    }
    Some(old)
}

/// Replaces the value at `address` in words that begin at `start`. Returns the old one and the new one.
#[inline]
pub(crate) fn modify_at(
    words: &mut [u32],
    start: u64,
    address: u64,
    bytes: u64,
    f: impl FnOnce(u64) -> u64,
) -> (u64, u64) {
    let word = (address / 4 - start / 4) as usize;
    let mut new = 0;
    let update = |old| {
        new = f(old);
        new
    };
    let old = modify_words(&mut words[word..], (address % 4) as u32, bytes, update);
    (old, new)
}

#[inline]
pub(crate) fn modify_words(words: &mut [u32], byte: u32, bytes: u64, f: impl FnOnce(u64) -> u64) -> u64 {
    match bytes {
        8 => {
            let old = u64::from(words[0]) | u64::from(words[1]) << 32;
            let new = f(old);
            words[0] = new as u32;
            words[1] = (new >> 32) as u32;
            old
        }
        4 => {
            let old = u64::from(words[0]);
            words[0] = f(old) as u32;
            old
        }
        _ => {
            let (shift, keep) = (8 * byte, u32::MAX >> (32 - 8 * bytes));
            let old = u64::from(words[0] >> shift & keep);
            words[0] = words[0] & !(keep << shift) | (f(old) as u32 & keep) << shift;
            old
        }
    }
}
