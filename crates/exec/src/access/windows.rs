//! Gathers and scatters through windows of words: device, shared and parameter memory.

use crate::lanes::{Column, LANE_BITS};
use crate::memory::{DeviceMemory, Overlay, Own, Reader, SharedMemory, Unreduced, View, Window};
use kit::{LaneMask, WARP_LANES, lanes};

/// Why an access is not performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// An address is out of bounds or misaligned; [`super::explain`] finds out which.
    BadAddress,
    /// It needs what a reduction that has not been performed leaves.
    Unreduced,
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

    /// What was written besides, if anything.
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

/// Whether an access of `size` bytes, a power of two, is in the window at `address`.
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

/// Positions of the lanes' addresses in a window.
struct Offsets {
    /// Bytes from the window's start; undefined for lanes outside.
    bytes: Column,
    /// An executing lane accesses memory outside the window.
    outside: bool,
    /// The offsets of executing lanes, or-ed: gives their common alignment.
    bits: u32,
}

impl Offsets {
    #[inline(always)]
    fn of<W>(addresses: &[u64; WARP_LANES], mask: LaneMask, w: &Window<W>) -> Self {
        let limit = w.limit.min(1 << 31) as u32;
        let (bytes, [far, most, bits]) = offsets_from(addresses, mask, w.start);
        Self { bytes, outside: far != 0 || most >= limit, bits }
    }

    /// Patterns of the addresses of the two halves of the warp, executing or not.
    #[inline(always)]
    fn patterns<const N: usize>(&self) -> [Pattern; 2] {
        let (halves, _) = self.bytes.as_chunks::<HALF>();
        [Pattern::of::<N>(&halves[0]), Pattern::of::<N>(&halves[1])]
    }
}

/// Lanes of half a warp: the width of common thread blocks, so that rows often have this length.
const HALF: usize = WARP_LANES / 2;

/// Pattern of the addresses of half a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// Adjacent words in lane order.
    Row,
    /// The same address in all lanes.
    Point,
    /// Any other pattern.
    Scattered,
}

impl Pattern {
    #[inline(always)]
    fn of<const N: usize>(bytes: &[u32; HALF]) -> Self {
        if bytes[1] == bytes[0].wrapping_add(4 * N as u32) && is_row::<N>(bytes) {
            Pattern::Row
        } else if bytes[1] == bytes[0] && is_point(bytes) {
            Pattern::Point
        } else {
            Pattern::Scattered
        }
    }
}

// Each of the following functions is a single loop, which compilers vectorise well.

/// Offsets of all lanes from `start`. For the executing lanes also the or of the upper words, the largest
/// lower word, and the or of the lower words.
#[inline(never)]
fn offsets_from(addresses: &[u64; WARP_LANES], mask: LaneMask, start: u64) -> (Column, [u32; 3]) {
    let mut bytes = [0; WARP_LANES];
    let (mut far, mut most, mut bits) = (0, 0, 0);
    if mask == !0 {
        for i in 0..WARP_LANES {
            let offset = addresses[i].wrapping_sub(start);
            bytes[i] = offset as u32;
            far |= (offset >> 32) as u32;
        }
        for low in bytes {
            most = most.max(low);
            bits |= low;
        }
        return (bytes, [far, most, bits]);
    }
    for i in 0..WARP_LANES {
        let offset = addresses[i].wrapping_sub(start);
        let on = if mask & LANE_BITS[i] != 0 { u32::MAX } else { 0 };
        let low = offset as u32;
        bytes[i] = low;
        far |= (offset >> 32) as u32 & on;
        most = most.max(low & on);
        bits |= low & on;
    }
    (bytes, [far, most, bits])
}

#[inline(never)]
fn is_row<const N: usize>(bytes: &[u32; HALF]) -> bool {
    let mut unlike = 0;
    for i in 0..HALF {
        unlike |= bytes[i] ^ bytes[0].wrapping_add((4 * N * i) as u32);
    }
    unlike == 0
}

#[inline(never)]
fn is_point(bytes: &[u32; HALF]) -> bool {
    let mut unlike = 0;
    for i in 0..HALF {
        unlike |= bytes[i] ^ bytes[0];
    }
    unlike == 0
}

/// Reads `N` words per lane. Accesses to one window are checked together; rows of adjacent lanes and single
/// addresses have fast paths.
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
    let offsets = Offsets::of(addresses, mask, &w);
    if offsets.outside {
        return gather_far(memory, addresses, mask, out);
    }
    if !is_aligned(u64::from(offsets.bits), size) {
        return Err(Refused::BadAddress);
    }
    for (half, pattern) in offsets.patterns::<N>().into_iter().enumerate() {
        let lanes = half * HALF..(half + 1) * HALF;
        let word = (offsets.bytes[lanes.start] / 4) as usize;
        let length = match pattern {
            Pattern::Row => N * HALF,
            Pattern::Point => N,
            Pattern::Scattered => usize::MAX,
        };
        match (pattern, w.words.get(word..word.saturating_add(length))) {
            (Pattern::Row, Some(words)) => {
                for (k, column) in out.iter_mut().enumerate() {
                    let column = &mut column.as_chunks_mut::<HALF>().0[half];
                    column.iter_mut().zip(words.as_chunks::<N>().0).for_each(|(to, words)| *to = words[k]);
                }
            }
            (Pattern::Point, Some(words)) => {
                for (column, &word) in out.iter_mut().zip(words) {
                    column.as_chunks_mut::<HALF>().0[half] = [word; HALF];
                }
            }
            // Lanes that do not execute may have any address, also one beyond the words.
            _ => {
                for i in lanes {
                    let word = (offsets.bytes[i] / 4) as usize;
                    if let Some(words) = w.words.get(word..word + N) {
                        for (column, &word) in out.iter_mut().zip(words) {
                            column[i] = word;
                        }
                    }
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

/// Replaces those of the `N` words per lane that were written besides.
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

/// Reads `N` words per lane from several windows.
fn gather_far<const N: usize>(
    memory: &impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    out: &mut [Column; N],
) -> Result<(), Refused> {
    let size = const { 4 * N as u64 };
    let mut w = Window::empty();
    for lane in lanes(mask) {
        let address = addresses[lane];
        if address.wrapping_sub(w.start) >= w.limit {
            w = memory.window(address, size).ok_or(Refused::BadAddress)?;
        }
        let offset = address - w.start;
        if !is_aligned(offset, size) {
            return Err(Refused::BadAddress);
        }
        let word = (offset / 4) as usize;
        for (column, &word) in out.iter_mut().zip(&w.words[word..word + N]) {
            column[lane] = word;
        }
    }
    memory.overlay().map_or(Ok(()), |own| patch_words(own, addresses, mask, out))
}

/// Reads `N` words from one address for all lanes; `None` if the access needs the general path.
#[inline(always)]
pub(super) fn broadcast<const N: usize>(memory: &impl Words, address: u64) -> Option<[Column; N]> {
    let size = const { 4 * N as u64 };
    let w = memory.window(address, size)?;
    if memory.overlay().is_some_and(|own| own.meets(address, address + size)) {
        return None;
    }
    let word = ((address - w.start) / 4) as usize;
    let words = w.words.get(word..word + N).filter(|_| is_aligned(address, size))?;
    let mut out = [[0; WARP_LANES]; N];
    for (column, &word) in out.iter_mut().zip(words) {
        *column = [word; WARP_LANES];
    }
    Some(out)
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
        let offset = address - w.start;
        if !is_aligned(offset, size) {
            return Err(Refused::BadAddress);
        }
        out[lane] = w.words[(offset / 4) as usize] >> (offset % 4 * 8) & keep;
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
        } else if !scatter_near(&mut w, addresses, rest, words)? {
            scatter_words(&mut w, addresses, &mut rest, words)?;
        } else {
            rest = 0;
        }
    }
    Ok(())
}

/// Writes `N` words per lane if all lanes of `mask` access the window. Returns whether they do.
#[inline(always)]
fn scatter_near<const N: usize>(
    w: &mut Window<&mut [u32]>,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    words: &[Column; N],
) -> Result<bool, Refused> {
    let size = const { 4 * N as u64 };
    let offsets = Offsets::of(addresses, mask, w);
    if offsets.outside {
        return Ok(false);
    }
    if !is_aligned(u64::from(offsets.bits), size) {
        return Err(Refused::BadAddress);
    }
    if mask == !0 && offsets.patterns::<N>() == [Pattern::Row; 2] {
        for half in 0..2 {
            let word = (offsets.bytes[half * HALF] / 4) as usize;
            let row = &mut w.words[word..word + N * HALF];
            for (i, row) in row.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                for (word, column) in row.iter_mut().zip(words) {
                    *word = column[half * HALF + i];
                }
            }
        }
        return Ok(true);
    }
    for lane in lanes(mask) {
        let word = (offsets.bytes[lane] / 4) as usize;
        for (word, column) in w.words[word..word + N].iter_mut().zip(words) {
            *word = column[lane];
        }
    }
    Ok(true)
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
        let offset = addresses[lane].wrapping_sub(w.start);
        if offset >= w.limit {
            return Ok(());
        }
        if !is_aligned(offset, const { 4 * N as u64 }) {
            return Err(Refused::BadAddress);
        }
        let word = (offset / 4) as usize;
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
        let offset = addresses[lane].wrapping_sub(w.start);
        if offset >= w.limit {
            return Ok(());
        }
        if !is_aligned(offset, size) {
            return Err(Refused::BadAddress);
        }
        let shift = offset % 4 * 8;
        let keep = ((1u32 << (8 * size)) - 1) << shift;
        let word = &mut w.words[(offset / 4) as usize];
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
    let w = memory.room(addresses[first], size, reader).ok_or(Refused::BadAddress)?;
    let offsets = Offsets::of(addresses, mask, &w);
    if offsets.outside {
        let mut w = w;
        for lane in lanes(mask) {
            if addresses[lane].wrapping_sub(w.start) >= w.limit {
                w = memory.room(addresses[lane], size, reader).ok_or(Refused::BadAddress)?;
            }
            if !is_aligned(addresses[lane] - w.start, size) {
                return Err(Refused::BadAddress);
            }
        }
    } else if !is_aligned(u64::from(offsets.bits), size) {
        return Err(Refused::BadAddress);
    }
    if size < 4 {
        lanes(mask).for_each(|lane| own.write_narrow(addresses[lane], size, words[0][lane]));
    } else if mask == !0 && !offsets.outside && offsets.patterns::<N>() == [Pattern::Row; 2] {
        write_rows(own, addresses, words);
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
