//! Loads and stores of 32-bit words by all lanes, where each half of the warp accesses adjacent words, or one word:
//! the most frequent accesses. They are found in the register of the addresses, before there are addresses.
//! All others take the general path, which has the same results.

use super::transfer::{Format, Spaces, Transfer};
use crate::lanes::{Column, Lanes};
use crate::memory::{Overlay, Window};
use isa::{DynInst, Space};
use kit::WARP_LANES;

/// Lanes of half a warp: the width of common thread blocks, so that rows often have this length.
const HALF: usize = WARP_LANES / 2;
/// Bytes of the words that the lanes of a half access after the first.
const MORE: u64 = 4 * (HALF as u64 - 1);

/// The words that half a warp accesses.
#[derive(Clone, Copy)]
struct Half {
    /// Address of the first lane.
    address: u64,
    /// Each lane accesses the word after the lane before it; else all access the same.
    is_row: bool,
}

impl Half {
    /// Finds the words at the addresses that the half of a register holds, which `shift` is added to. `None` if they
    /// are others.
    #[inline(always)]
    fn of(register: &[u32; HALF], shift: u32) -> Option<Self> {
        let first = register[0];
        // Comparisons of whole arrays become a few vector instructions.
        let is_row = match register[1].wrapping_sub(first) {
            4 if *register == row(first) => true,
            0 if *register == [first; HALF] => false,
            _ => return None,
        };
        let address = first.wrapping_add(shift);
        // A row must not wrap around.
        let limit = if is_row { u32::MAX - MORE as u32 } else { u32::MAX };
        (address <= limit).then_some(Self { address: u64::from(address), is_row })
    }

    /// Index in the words of the window `w` of the first word; `None` if not all are in the window.
    #[inline(always)]
    fn place<W>(self, w: &Window<W>) -> Option<usize> {
        let offset = self.address.wrapping_sub(w.start);
        let is_inside = offset < w.limit && offset + if self.is_row { MORE } else { 0 } < w.limit;
        (is_inside && self.address.is_multiple_of(4)).then(|| w.word(self.address))
    }

    /// The address after the last word.
    #[inline(always)]
    fn end(self) -> u64 {
        self.address + if self.is_row { MORE + 4 } else { 4 }
    }

    /// Writes the addresses of the lanes.
    #[inline(always)]
    fn fill(self, addresses: &mut [u64; HALF]) {
        if self.is_row {
            for (i, address) in addresses.iter_mut().enumerate() {
                *address = self.address.wrapping_add(4 * i as u64);
            }
        } else {
            *addresses = [self.address; HALF];
        }
    }
}

/// Addresses of adjacent words.
#[inline(always)]
fn row(first: u32) -> [u32; HALF] {
    let mut row = [0; HALF];
    for (i, address) in row.iter_mut().enumerate() {
        *address = first.wrapping_add(4 * i as u32);
    }
    row
}

/// The words that the halves of the warp access, if all lanes access words of 32 bits in such a pattern.
#[inline(always)]
fn halves(file: &Lanes<'_>, t: &Transfer) -> Option<[Half; 2]> {
    let Transfer { format: Format { bytes, count, signed: _, register_bits }, address: a, .. } = *t;
    if (bytes, count, register_bits) != (4, 1, 32) || a.frame || file.mask != !0 {
        return None;
    }
    if !a.wide {
        let [low, high] = split(file.column(a.base));
        return Some([Half::of(low, a.offset as u32)?, Half::of(high, a.offset as u32)?]);
    }
    let (low, high) = file.pair(a.base);
    if split(high).into_iter().any(|half| *half != [high[0]; HALF]) {
        return None;
    }
    let base = (u64::from(high[0]) << 32).wrapping_add(a.offset as u64);
    let [low, high] = split(low);
    let at = |half: Half| Half { address: base.wrapping_add(half.address), ..half };
    Some([at(Half::of(low, 0)?), at(Half::of(high, 0)?)])
}

/// Both halves of a column.
#[inline(always)]
fn split(column: &Column) -> [&[u32; HALF]; 2] {
    let (halves, _) = column.as_chunks::<HALF>();
    [&halves[0], &halves[1]]
}

/// Executes a load of the kind above. Returns false, and changes nothing, if it is another one.
#[inline(never)]
pub(super) fn load<const SEEN: bool>(
    file: &mut Lanes<'_>,
    m: &Spaces<'_, '_>,
    t: &Transfer,
    out: &mut DynInst,
) -> bool {
    let Some(halves) = halves(file, t) else { return false };
    let first = halves[0].address;
    match t.space {
        Space::Shared => m.shared.window(first, 4).is_some_and(|w| load_from::<SEEN>(file, &w, None, t, halves, out)),
        Space::Global => {
            let overlay = m.device.overlay();
            m.device.window(first, 4).is_some_and(|w| load_from::<SEEN>(file, &w, overlay, t, halves, out))
        }
        _ => false,
    }
}

#[inline(always)]
fn load_from<const SEEN: bool>(
    file: &mut Lanes<'_>,
    w: &Window<&[u32]>,
    overlay: Option<&Overlay>,
    t: &Transfer,
    halves: [Half; 2],
    out: &mut DynInst,
) -> bool {
    let (Some(low), Some(high)) = (halves[0].place(w), halves[1].place(w)) else { return false };
    if overlay.is_some_and(|own| halves.iter().any(|half| own.meets(half.address, half.end()))) {
        return false;
    }
    let (column, _) = file.regs[t.registers[0].0 as usize].as_chunks_mut::<HALF>();
    let (addresses, _) = out.addresses.as_chunks_mut::<HALF>();
    for (i, (half, place)) in halves.into_iter().zip([low, high]).enumerate() {
        if SEEN {
            half.fill(&mut addresses[i]);
        }
        let words = &w.words[place..];
        column[i] = if half.is_row { *words.first_chunk().expect("within the window") } else { [words[0]; HALF] };
    }
    out.space = t.space;
    true
}

/// Executes a store of the kind above to rows. Returns false, and changes nothing, if it is another one.
#[inline(never)]
pub(super) fn store<const SEEN: bool>(
    file: &Lanes<'_>,
    m: &mut Spaces<'_, '_>,
    t: &Transfer,
    out: &mut DynInst,
) -> bool {
    let Some(halves) = halves(file, t).filter(|halves| halves.iter().all(|half| half.is_row)) else { return false };
    // Where changes are recorded, the general path finds out whether this is one.
    if m.device.is_unchanged() {
        return false;
    }
    let (first, column) = (halves[0].address, file.column(t.registers[0]));
    let done = match t.space {
        Space::Shared => m.shared.window_mut(first, 4).is_some_and(|mut w| store_to(&mut w, halves, column)),
        Space::Global => match m.device.own() {
            Some((own, memory, reader)) => {
                let own = &mut own.overlay;
                let may = !own.has_reduced()
                    && memory
                        .room(first, 4, reader)
                        .is_some_and(|w| halves.iter().all(|half| half.place(&w).is_some()));
                if may {
                    write_own(own, halves, column);
                }
                may
            }
            None => {
                let memory = m.device.exclusive();
                let w = memory.and_then(|(memory, reader)| memory.window_mut(first, 4, reader));
                w.is_some_and(|mut w| store_to(&mut w, halves, column))
            }
        },
        _ => false,
    };
    if done && SEEN {
        let (addresses, _) = out.addresses.as_chunks_mut::<HALF>();
        for (half, addresses) in halves.into_iter().zip(addresses) {
            half.fill(addresses);
        }
        out.space = t.space;
    }
    done
}

#[inline(always)]
fn store_to(w: &mut Window<&mut [u32]>, halves: [Half; 2], column: &Column) -> bool {
    let (Some(low), Some(high)) = (halves[0].place(w), halves[1].place(w)) else { return false };
    for (words, place) in split(column).into_iter().zip([low, high]) {
        w.words[place..place + HALF].copy_from_slice(words);
    }
    true
}

#[inline(always)]
fn write_own(own: &mut Overlay, halves: [Half; 2], column: &Column) {
    if halves[1].address == halves[0].end() {
        return own.write_words(halves[0].address, column);
    }
    for (half, words) in halves.into_iter().zip(split(column)) {
        own.write_words(half.address, words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Address, addresses};
    use crate::lanes::Reg;

    /// Where a pattern is found, its addresses are those that the general path computes, and they do not wrap around.
    #[test]
    fn addresses_of_halves_are_those_of_the_general_path() {
        let row = |first: u32| std::array::from_fn(|i| first.wrapping_add(4 * i as u32));
        let format = Format { bytes: 4, count: 1, signed: false, register_bits: 32 };
        let mut found = [0; 2];
        for first in [0, 4, 0x1000, 0x7fff_fff0, u32::MAX - 200, u32::MAX - 60, u32::MAX - 59, u32::MAX] {
            for low in
                [row(first), [first; WARP_LANES], [[first; HALF], [first ^ 64; HALF]].concat().try_into().unwrap()]
            {
                for (wide, odd_lane) in [(false, None), (true, None), (false, Some(7)), (true, Some(30))] {
                    let mut regs = [low, [3; WARP_LANES]];
                    if let Some(lane) = odd_lane {
                        regs[usize::from(wide)][lane] ^= 1;
                    }
                    for offset in [0, 60, -64, 1 << 40] {
                        let address = Address { base: Reg(0), wide, frame: false, offset };
                        let t = Transfer { space: Space::Global, format, address, registers: [Reg(0); 4] };
                        let file = Lanes { regs: &mut regs, preds: &mut [], constants: &[], mask: !0 };
                        let Some(halves) = halves(&file, &t) else { continue };
                        let (mut all, mut expected) = ([[0; HALF]; 2], [0; WARP_LANES]);
                        halves[0].fill(&mut all[0]);
                        halves[1].fill(&mut all[1]);
                        addresses(&file, address, 0, &mut expected);
                        assert_eq!(all.as_flattened(), expected, "{first:#x} {wide} {offset:#x}");
                        assert_eq!(odd_lane, None);
                        found[usize::from(wide)] += 1;
                    }
                }
            }
        }
        assert!(found.iter().all(|&found| found > 40), "{found:?}");
    }
}
