//! Local memory: columns of words. Lanes access it at one offset or at different ones.

use super::windows::{Refused, is_aligned};
use crate::lanes::Column;
use crate::lanes::blend;
use crate::memory::LocalMemory;
use kit::{LaneMask, WARP_LANES, lanes};

/// Whether all lanes of `mask` have the same address.
fn same_address(addresses: &[u64; WARP_LANES], mask: LaneMask) -> bool {
    let here = addresses[mask.trailing_zeros() as usize];
    lanes(mask).all(|lane| addresses[lane] == here)
}

fn check_local(local: &LocalMemory, addresses: &[u64; WARP_LANES], mask: LaneMask, size: u64) -> Result<(), Refused> {
    let fine = |lane: usize| local.holds(addresses[lane], size) && is_aligned(addresses[lane], size);
    if lanes(mask).all(fine) { Ok(()) } else { Err(Refused::BadAddress) }
}

/// Reads `size` bytes per lane of local memory.
pub(super) fn read_local<const N: usize>(
    local: &LocalMemory,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut [Column; N],
) -> Result<(), Refused> {
    check_local(local, addresses, mask, size)?;
    if size >= 4 && same_address(addresses, mask) {
        let word = addresses[mask.trailing_zeros() as usize] as usize / 4;
        for (k, column) in out.iter_mut().enumerate() {
            *column = *local.column(word + k);
        }
        return Ok(());
    }
    let keep = u32::MAX >> (32 - 8 * size.min(4));
    for lane in lanes(mask) {
        let (word, shift) = (addresses[lane] as usize / 4, addresses[lane] % 4 * 8);
        for (k, column) in out.iter_mut().enumerate() {
            column[lane] = local.column(word + k)[lane] >> shift & keep;
        }
    }
    Ok(())
}

/// Writes `size` bytes per lane of local memory.
pub(super) fn write_local<const N: usize>(
    local: &mut LocalMemory,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> Result<(), Refused> {
    check_local(local, addresses, mask, size)?;
    if size >= 4 && same_address(addresses, mask) {
        let word = addresses[mask.trailing_zeros() as usize] as usize / 4;
        for (k, column) in words.iter().enumerate() {
            local.write(word + k, column, mask);
        }
        return Ok(());
    }
    for lane in lanes(mask) {
        let (index, shift) = (addresses[lane] as usize / 4, addresses[lane] % 4 * 8);
        let keep = (u32::MAX >> (32 - 8 * size.min(4))) << shift;
        for (k, column) in words.iter().enumerate() {
            let word = local.word(index + k, lane);
            *word = *word & !keep | column[lane] << shift & keep;
        }
    }
    Ok(())
}

/// Copies within the local memory of a frame: parameters of calls.
pub(crate) fn copy_local(local: &mut LocalMemory, from: u32, to: u32, bytes: u32, mask: LaneMask) {
    let last = from.max(to) + bytes;
    local.grow(last.next_multiple_of(4));
    for word in 0..bytes.div_ceil(4) {
        let column = *local.column((from / 4 + word) as usize);
        let mut target = *local.column((to / 4 + word) as usize);
        let used = (bytes - 4 * word).min(4);
        let keep = u32::MAX >> (32 - 8 * used);
        let mut merged = [0; WARP_LANES];
        for i in 0..WARP_LANES {
            merged[i] = target[i] & !keep | column[i] & keep;
        }
        blend(&mut target, &merged, mask);
        local.write((to / 4 + word) as usize, &target, mask);
    }
}
