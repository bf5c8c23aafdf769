//! Gathers and scatters through windows of words: device, shared and parameter memory.

use crate::lanes::Column;
use crate::memory::{DeviceMemory, Overlay, Own, Reader, SharedMemory, Unreduced, View, Window};
use kit::{LaneMask, WARP_LANES, lanes};

/// Why an access is not performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// An address is out of bounds or misaligned; [`super::explain`] finds out which.
    BadAddress,
    /// It needs what a reduction that has not been performed leaves.
    Unreduced,
    /// It is to the shared memory of another CTA.
    Elsewhere,
}

impl From<Unreduced> for Refused {
    fn from(_: Unreduced) -> Self {
        Self::Unreduced
    }
}

/// Memory that consists of runs of words.
pub(super) trait Words {
    /// The run around `address`, for accesses of `size` bytes; `None` if there is none.
    fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>>;

    /// Other writes, if there are any.
    #[inline(always)]
    fn overlay(&self) -> Option<&Overlay> {
        None
    }
}

/// Memory that consists of runs of words, for stores.
pub(super) trait WordsMut {
    /// The run around `address`, for stores of `size` bytes; `None` if there is none.
    fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>>;
}

impl Words for View<'_> {
    #[inline(always)]
    fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        self.window(address, size)
    }

    #[inline(always)]
    fn overlay(&self) -> Option<&Overlay> {
        self.overlay()
    }
}

impl WordsMut for (&mut DeviceMemory, &Reader) {
    #[inline(always)]
    fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>> {
        self.0.window_mut(address, size, self.1)
    }
}

impl Words for SharedMemory {
    #[inline(always)]
    fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        self.window(address, size)
    }
}

impl WordsMut for SharedMemory {
    #[inline(always)]
    fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>> {
        self.window_mut(address, size)
    }
}

/// Parameters of the launch, in words.
pub(super) struct Params<'a>(pub &'a [u32]);

impl Words for Params<'_> {
    #[inline(always)]
    fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        let limit = (4 * self.0.len() as u64 + 1).saturating_sub(size);
        (address < limit).then_some(Window { start: 0, limit, words: self.0 })
    }
}

/// Whether `address` is a multiple of `size`, a power of two.
#[inline(always)]
pub(super) const fn is_aligned(address: u64, size: u64) -> bool {
    address & (size - 1) == 0
}

/// Reads `size` bytes per lane: one or two, or all `4 * N`.
#[inline(never)]
pub(super) fn gather<const N: usize>(
    memory: &impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut [Column; N],
) -> Result<(), Refused> {
    if size < 4 {
        gather_narrow(memory, addresses, mask, size, &mut out[0])
    } else {
        gather_words(memory, addresses, mask, out)
    }
}

/// Lanes of half a warp: the width of common thread blocks, so that rows often have this length.
const HALF: usize = WARP_LANES / 2;

/// Pattern of the addresses of half a warp, executing or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// Adjacent elements in lane order.
    Row,
    /// The same element in all lanes.
    Point,
}

impl Pattern {
    /// The pattern of the addresses of elements of `N` words; `None` if it is another one.
    #[inline(always)]
    fn of<const N: usize>(addresses: &[u64; HALF]) -> Option<Self> {
        let step = addresses[1].wrapping_sub(addresses[0]);
        if step == 4 * N as u64 && is_row::<N>(addresses) {
            Some(Pattern::Row)
        } else if step == 0 && is_point(addresses) {
            Some(Pattern::Point)
        } else {
            None
        }
    }
}

// Each of the following two functions is a loop over vectors of four, which compilers take as such.

#[inline(always)]
fn is_row<const N: usize>(addresses: &[u64; HALF]) -> bool {
    let mut unlike = [0; 4];
    for (k, four) in addresses.as_chunks::<4>().0.iter().enumerate() {
        for i in 0..4 {
            unlike[i] |= four[i] ^ addresses[0].wrapping_add((4 * N * (4 * k + i)) as u64);
        }
    }
    unlike == [0; 4]
}

#[inline(always)]
fn is_point(addresses: &[u64; HALF]) -> bool {
    let mut unlike = [0; 4];
    for four in addresses.as_chunks::<4>().0 {
        for i in 0..4 {
            unlike[i] |= four[i] ^ addresses[0];
        }
    }
    unlike == [0; 4]
}

/// Pattern and first word of each half of the warp, if all lanes, executing or not, access aligned elements of `N`
/// words of the window in such patterns.
#[inline(always)]
fn patterns<const N: usize, W>(addresses: &[u64; WARP_LANES], w: &Window<W>) -> Option<[(Pattern, usize); 2]> {
    let size = const { 4 * N as u64 };
    let of_half = |addresses: &[u64; HALF]| {
        let pattern = Pattern::of::<N>(addresses)?;
        let first = addresses[0].wrapping_sub(w.start);
        let last = if pattern == Pattern::Row { first.wrapping_add(size * (HALF as u64 - 1)) } else { first };
        let is_inside = first <= last && last < w.limit && is_aligned(addresses[0], size);
        is_inside.then(|| (pattern, w.word(addresses[0])))
    };
    let (halves, _) = addresses.as_chunks::<HALF>();
    Some([of_half(&halves[0])?, of_half(&halves[1])?])
}

/// The first words of both halves, if each of them accesses a row.
#[inline(always)]
fn rows<const N: usize, W>(addresses: &[u64; WARP_LANES], w: &Window<W>) -> Option<[usize; 2]> {
    match patterns::<N, W>(addresses, w)? {
        [(Pattern::Row, low), (Pattern::Row, high)] => Some([low, high]),
        _ => None,
    }
}

/// Reads `N` words per lane. Rows of adjacent lanes and single addresses have fast paths.
#[inline(always)]
fn gather_words<const N: usize>(
    memory: &impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    out: &mut [Column; N],
) -> Result<(), Refused> {
    let size = const { 4 * N as u64 };
    let first = mask.trailing_zeros() as usize % WARP_LANES;
    let w = memory.window(addresses[first], size).ok_or(Refused::BadAddress)?;
    let Some(halves) = patterns::<N, _>(addresses, &w) else {
        return gather_scattered(memory, w, addresses, mask, out);
    };
    for (half, (pattern, word)) in halves.into_iter().enumerate() {
        let words = &w.words[word..];
        match pattern {
            Pattern::Row => {
                let row: &[[u32; N]; HALF] = words.as_chunks::<N>().0.first_chunk().expect("within the window");
                for (k, column) in out.iter_mut().enumerate() {
                    column.as_chunks_mut::<HALF>().0[half] = std::array::from_fn(|i| row[i][k]);
                }
            }
            Pattern::Point => {
                for (column, &word) in out.iter_mut().zip(&words[..N]) {
                    column.as_chunks_mut::<HALF>().0[half] = [word; HALF];
                }
            }
        }
    }
    if let Some(own) = memory.overlay()
        && own.meets(w.start, w.start + w.limit + size)
    {
        patch_words(own, addresses, mask, out)?;
    }
    Ok(())
}

/// Replaces the words, of `N` per lane, that have been written besides.
#[inline(never)]
fn patch_words<const N: usize>(
    own: &Overlay,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    out: &mut [Column; N],
) -> Result<(), Refused> {
    let mut glance = own.glance();
    for lane in lanes(mask) {
        glance.patch(addresses[lane], out.iter_mut().map(|column| &mut column[lane]))?;
    }
    Ok(())
}

/// Reads `N` words per lane from any addresses, the first of them in the window `w`.
#[inline(never)]
fn gather_scattered<'a, const N: usize>(
    memory: &'a impl Words,
    mut w: Window<&'a [u32]>,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    out: &mut [Column; N],
) -> Result<(), Refused> {
    let size = const { 4 * N as u64 };
    for lane in lanes(mask) {
        let address = addresses[lane];
        if address.wrapping_sub(w.start) >= w.limit {
            w = memory.window(address, size).ok_or(Refused::BadAddress)?;
        }
        if !is_aligned(address, size) {
            return Err(Refused::BadAddress);
        }
        let word = w.word(address);
        for (column, &word) in out.iter_mut().zip(&w.words[word..word + N]) {
            column[lane] = word;
        }
    }
    memory.overlay().map_or(Ok(()), |own| patch_words(own, addresses, mask, out))
}

/// Reads `N` words from one address; `None` if the access needs the general path.
#[inline(always)]
pub(super) fn one<const N: usize>(memory: &impl Words, address: u64) -> Option<[u32; N]> {
    let size = const { 4 * N as u64 };
    let w = memory.window(address, size)?;
    if memory.overlay().is_some_and(|own| own.meets(address, address + size)) {
        return None;
    }
    let word = w.word(address);
    w.words.get(word..)?.first_chunk().filter(|_| is_aligned(address, size)).copied()
}

/// Reads one or two bytes per lane.
#[inline(always)]
fn gather_narrow(
    memory: &impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut Column,
) -> Result<(), Refused> {
    let keep = (1u32 << (8 * size)) - 1;
    let mut w = Window::empty();
    for lane in lanes(mask) {
        let address = addresses[lane];
        if address.wrapping_sub(w.start) >= w.limit {
            w = memory.window(address, size).ok_or(Refused::BadAddress)?;
        }
        if !is_aligned(address, size) {
            return Err(Refused::BadAddress);
        }
        out[lane] = w.words[w.word(address)] >> (address % 4 * 8) & keep;
    }
    if let Some(own) = memory.overlay() {
        let mut glance = own.glance();
        for lane in lanes(mask) {
            glance.patch_narrow(addresses[lane], size, &mut out[lane])?;
        }
    }
    Ok(())
}

/// Writes `size` bytes per lane: one or two, or all `4 * N`. If lanes have the same address, the highest lane
/// wins.
#[inline(never)]
pub(super) fn scatter<const N: usize>(
    memory: &mut impl WordsMut,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> Result<(), Refused> {
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let mut w = memory.window_mut(addresses[first], size).ok_or(Refused::BadAddress)?;
        if size < 4 {
            scatter_narrow(&mut w, addresses, &mut rest, size, &words[0])?;
        } else if let Some(rows) = rows::<N, _>(addresses, &w).filter(|_| rest == !0) {
            scatter_rows(w.words, rows, words);
            rest = 0;
        } else {
            scatter_words(&mut w, addresses, &mut rest, words)?;
        }
    }
    Ok(())
}

/// Writes `N` words per lane, each half of the warp to adjacent ones from those numbers on.
#[inline(always)]
fn scatter_rows<const N: usize>(memory: &mut [u32], rows: [usize; 2], words: &[Column; N]) {
    for (half, word) in rows.into_iter().enumerate() {
        for (i, row) in memory[word..word + N * HALF].as_chunks_mut::<N>().0.iter_mut().enumerate() {
            *row = words.each_ref().map(|column| column[half * HALF + i]);
        }
    }
}

/// Writes `N` words for each lane of `rest`, removing it, up to the first lane outside the window.
#[inline(always)]
fn scatter_words<const N: usize>(
    w: &mut Window<&mut [u32]>,
    addresses: &[u64; WARP_LANES],
    rest: &mut LaneMask,
    words: &[Column; N],
) -> Result<(), Refused> {
    for lane in lanes(*rest) {
        let address = addresses[lane];
        if address.wrapping_sub(w.start) >= w.limit {
            return Ok(());
        }
        if !is_aligned(address, const { 4 * N as u64 }) {
            return Err(Refused::BadAddress);
        }
        let word = w.word(address);
        for (word, column) in w.words[word..word + N].iter_mut().zip(words) {
            *word = column[lane];
        }
        *rest &= !(1 << lane);
    }
    Ok(())
}

/// The same for one or two bytes per lane.
fn scatter_narrow(
    w: &mut Window<&mut [u32]>,
    addresses: &[u64; WARP_LANES],
    rest: &mut LaneMask,
    size: u64,
    values: &Column,
) -> Result<(), Refused> {
    for lane in lanes(*rest) {
        let address = addresses[lane];
        if address.wrapping_sub(w.start) >= w.limit {
            return Ok(());
        }
        if !is_aligned(address, size) {
            return Err(Refused::BadAddress);
        }
        let shift = address % 4 * 8;
        let keep = ((1u32 << (8 * size)) - 1) << shift;
        let word = w.word(address);
        let word = &mut w.words[word];
        *word = *word & !keep | values[lane] << shift & keep;
        *rest &= !(1 << lane);
    }
    Ok(())
}

/// As [`scatter`], to what the other SMs have yet to see. `memory` knows where stores are permitted.
#[inline(never)]
pub(super) fn scatter_own<const N: usize>(
    (own, memory, reader): (&mut Own, &DeviceMemory, &Reader),
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> Result<(), Refused> {
    let own = &mut own.overlay;
    if own.has_reduced() && lanes(mask).any(|lane| own.is_reduced(addresses[lane], size)) {
        return Err(Refused::Unreduced);
    }
    let first = mask.trailing_zeros() as usize % WARP_LANES;
    let mut w = memory.room(addresses[first], size, reader).ok_or(Refused::BadAddress)?;
    if mask == !0 && size >= 4 && rows::<N, _>(addresses, &w).is_some() {
        write_rows(own, addresses, words);
        return Ok(());
    }

    for lane in lanes(mask) {
        if addresses[lane].wrapping_sub(w.start) >= w.limit {
            w = memory.room(addresses[lane], size, reader).ok_or(Refused::BadAddress)?;
        }
        if !is_aligned(addresses[lane], size) {
            return Err(Refused::BadAddress);
        }
    }
    if size < 4 {
        lanes(mask).for_each(|lane| own.write_narrow(addresses[lane], size, words[0][lane]));
    } else {
        for lane in lanes(mask) {
            own.write_words(addresses[lane], &words.each_ref().map(|column| column[lane]));
        }
    }
    Ok(())
}

/// Writes `N` words per lane, each half of the warp to adjacent ones.
#[inline(always)]
fn write_rows<const N: usize>(own: &mut Overlay, addresses: &[u64; WARP_LANES], words: &[Column; N]) {
    for half in 0..2 {
        let mut row = [[0; N]; HALF];
        for (i, row) in row.iter_mut().enumerate() {
            *row = words.each_ref().map(|column| column[half * HALF + i]);
        }
        own.write_words(addresses[half * HALF], row.as_flattened());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Spaces;
    use crate::atomic::modify;
    use crate::memory::LocalMemory;
    use isa::Space;

    const BYTES: u64 = 70;

    /// A variable at `base` whose bytes are the lower ones of their addresses.
    fn variable(base: u64) -> DeviceMemory {
        let mut memory = DeviceMemory::default();
        memory.place("v", base, BYTES, false).unwrap();
        let bytes: Vec<u8> = (base..base + BYTES).map(|at| at as u8).collect();
        memory.write(base, &bytes).unwrap();
        memory
    }

    fn little_endian(bytes: impl Iterator<Item = u64>) -> u32 {
        bytes.enumerate().fold(0, |word, (i, byte)| word | u32::try_from(byte & 0xff).unwrap() << (8 * i))
    }

    fn check<const N: usize>(base: u64, size: u64) {
        let (memory, reader) = (variable(base), Reader::default());
        for address in base - 20..base + BYTES + 20 {
            let case = format!("{size} bytes at {address:#x} of a variable at {base:#x}");
            let is_good = address >= base && address + size <= base + BYTES && address % size == 0;
            // One lane, all lanes at one place, and a row, each by loads and stores.
            for (mask, step) in [(1, 0), (!0, 0), (0xffff, size)] {
                let addresses = std::array::from_fn(|lane| address + step * lane as u64);
                let last = address + step * if step == 0 { 0 } else { 15 };
                let is_good = is_good && last + size <= base + BYTES;
                let (mut own, mut out) = (Own::default(), [[0; WARP_LANES]; N]);
                let view = View::frozen(&memory, &mut own, &reader);
                assert_eq!(gather(&view, &addresses, mask, size, &mut out).is_ok(), is_good, "load of {case}");
                let words = [[0x0c0b_0a09; WARP_LANES]; N];
                let stored = scatter_own((&mut own, &memory, &reader), &addresses, mask, size, &words);
                assert_eq!(stored.is_ok(), is_good, "noted store of {case}");
                let mut direct = variable(base);
                let stored = scatter(&mut (&mut direct, &reader), &addresses, mask, size, &words);
                assert_eq!(stored.is_ok(), is_good, "store of {case}");
                if !is_good {
                    continue;
                }
                for lane in lanes(mask) {
                    let at = addresses[lane];
                    let wanted = |k: usize| little_endian((at + 4 * k as u64..at + size).take(4));
                    (0..N).for_each(|k| assert_eq!(out[k][lane], wanted(k), "lane {lane}, {case}"));
                }
                let mut bytes = [0; BYTES as usize];
                direct.read(base, &mut bytes).unwrap();
                for (at, byte) in (base..).zip(bytes) {
                    let stored = (address..last + size).contains(&at).then(|| 9 + (at - address) % size.min(4));
                    assert_eq!(u64::from(byte), stored.unwrap_or(at & 0xff), "byte {at:#x} after {case}");
                }
            }
            if size <= 8 {
                let mut memory = variable(base);
                let mut device = View::alone(&mut memory, &reader);
                let (shared, local) = (&mut SharedMemory::default(), &mut LocalMemory::default());
                let mut spaces =
                    Spaces { device: &mut device, shared, local, params: &[], frame: 0, cluster: None, peers: None };
                let old = modify(&mut spaces, Space::Global, address, size, 0, |old| old);
                assert_eq!(old.is_some(), is_good, "atomic access to {case}");
            }
        }
    }

    /// Alignment counts from address 0, wherever a variable begins.
    #[test]
    fn every_size_at_every_address_of_a_variable() {
        for base in [0x1000, 0x1001, 0x1002, 0x1004, 0x100c, 0x100f] {
            (0..2).for_each(|log| check::<1>(base, 1 << log));
            check::<1>(base, 4);
            check::<2>(base, 8);
            check::<4>(base, 16);
        }
    }
}
