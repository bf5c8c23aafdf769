//! Loads and stores: addresses, state spaces, vector and narrow forms, faults.

use crate::fault::{Outcome, Trap};
use crate::lanes::{Column, LANE_BITS, Lanes, Reg, blend};
use crate::memory::{DeviceMemory, LocalMemory, SharedMemory, Window, generic_space, window_base};
use isa::{DynInst, Space};
use kit::{LaneMask, WARP_LANES, lanes};

/// An address operand: `[register + offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Register (or constant) that holds the base.
    pub base: Reg,
    /// The base takes two columns.
    pub wide: bool,
    /// Relative to the frame of the function that executes (local variables and parameters).
    pub frame: bool,
    /// Added to the base.
    pub offset: i64,
}

/// The elements that a load or store moves per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Bytes of an element: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Elements: 1, 2 or 4.
    pub count: u8,
    /// Elements narrower than the register are sign-extended.
    pub signed: bool,
    /// Bits of each register: 16, 32 or 64.
    pub register_bits: u8,
}

impl Format {
    /// Bytes that a lane moves.
    pub const fn total_bytes(self) -> u8 {
        self.bytes * self.count
    }

    /// Columns of each register.
    pub const fn columns(self) -> u8 {
        if self.register_bits == 64 { 2 } else { 1 }
    }
}

/// A load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Where.
    pub space: Space,
    /// What.
    pub format: Format,
    /// At which address.
    pub address: Address,
    /// Registers loaded to or stored from; as many as the format has elements.
    pub registers: [Reg; 4],
}

/// Everything that the executing warp can load from and store to.
pub(crate) struct Spaces<'a> {
    pub device: &'a mut DeviceMemory,
    pub shared: &'a mut SharedMemory,
    pub local: &'a mut LocalMemory,
    /// The launch's parameters.
    pub params: &'a [u32],
    /// Offset in local memory of the current function's frame.
    pub frame: u32,
}

/// Computes the addresses of all lanes to `out`.
#[inline]
pub(crate) fn addresses(file: &Lanes<'_>, a: Address, frame: u32, out: &mut [u64; WARP_LANES]) {
    let offset = if a.frame { a.offset + i64::from(frame) } else { a.offset } as u64;
    // A local array, which aliases nothing, so that the loops vectorise.
    let mut sum = [0; WARP_LANES];
    if a.wide {
        let (low, high) = file.pair(a.base);
        for i in 0..WARP_LANES {
            sum[i] = (u64::from(low[i]) | u64::from(high[i]) << 32).wrapping_add(offset);
        }
    } else {
        let low = file.column(a.base);
        for i in 0..WARP_LANES {
            sum[i] = u64::from(low[i].wrapping_add(offset as u32));
        }
    }
    *out = sum;
}

/// Splits the lanes of a generic access by the space they fall in and makes their addresses
/// relative to it. Returns the lanes of (global, shared, local, param).
pub(crate) fn split_generic(addresses: &mut [u64; WARP_LANES], mask: LaneMask) -> [LaneMask; 4] {
    let mut low = false;
    for &a in addresses.iter() {
        low |= (a >> 32) as u32 == 0;
    }
    let mut masks = [mask, 0, 0, 0];
    if low {
        for lane in lanes(mask) {
            let space = generic_space(addresses[lane]);
            addresses[lane] -= window_base(space);
            masks[0] &= !(1 << lane);
            masks[space_index(space)] |= 1 << lane;
        }
    }
    masks
}

const fn space_index(space: Space) -> usize {
    match space {
        Space::Shared => 1,
        Space::Local => 2,
        Space::Param => 3,
        _ => 0,
    }
}

/// The spaces in the order of [`split_generic`]'s masks.
pub(crate) const SPLIT_SPACES: [Space; 4] = [Space::Global, Space::Shared, Space::Local, Space::Param];

/// The space that most lanes fall in: what timing sees of a mixed access.
pub(crate) fn majority(masks: [LaneMask; 4]) -> Space {
    let most = (0..4).max_by_key(|&i| (masks[i].count_ones(), 4 - i)).unwrap_or(0);
    SPLIT_SPACES[most]
}

/// Executes a load. The addresses and the space go to `out`.
pub(crate) fn load(file: &mut Lanes<'_>, m: &mut Spaces<'_>, t: &Transfer, out: &mut DynInst) -> Outcome {
    addresses(file, t.address, m.frame, &mut out.addresses);
    match t.format.total_bytes() {
        1 | 2 => load_words::<1>(file, m, t, out),
        4 => load_words::<1>(file, m, t, out),
        8 => load_words::<2>(file, m, t, out),
        _ => load_words::<4>(file, m, t, out),
    }
}

#[inline]
fn load_words<const N: usize>(file: &mut Lanes<'_>, m: &mut Spaces<'_>, t: &Transfer, out: &mut DynInst) -> Outcome {
    let mut words = [[0; WARP_LANES]; N];
    let size = u64::from(t.format.total_bytes());
    out.space = t.space;
    if file.mask != 0 {
        if t.space == Space::Generic {
            let masks = split_generic(&mut out.addresses, file.mask);
            out.space = majority(masks);
            for (space, mask) in SPLIT_SPACES.into_iter().zip(masks) {
                if mask == file.mask {
                    read(m, space, &out.addresses, mask, size, &mut words)?;
                } else if mask != 0 {
                    let mut part = [[0; WARP_LANES]; N];
                    read(m, space, &out.addresses, mask, size, &mut part)?;
                    words.iter_mut().zip(&part).for_each(|(word, part)| blend(word, part, mask));
                }
            }
        } else {
            read(m, t.space, &out.addresses, file.mask, size, &mut words)?;
        }
    }
    deliver(file, t, &words);
    Ok(())
}

/// Moves loaded words to the registers.
#[inline]
fn deliver<const N: usize>(file: &mut Lanes<'_>, t: &Transfer, words: &[Column; N]) {
    let f = t.format;
    match (f.bytes, f.register_bits) {
        (4, 32) => {
            for (register, column) in t.registers.iter().zip(words).take(f.count as usize) {
                file.write(*register, column);
            }
        }
        (8, _) => {
            for (register, pair) in t.registers.iter().zip(words.chunks_exact(2)).take(f.count as usize) {
                file.write(*register, &pair[0]);
                file.write(register.next(), &pair[1]);
            }
        }
        _ => deliver_extended(file, t, words),
    }
}

/// Moves loaded elements that are narrower than their registers.
fn deliver_extended(file: &mut Lanes<'_>, t: &Transfer, words: &[Column]) {
    let f = t.format;
    let unused = 32 - 8 * u32::from(f.bytes);
    for k in 0..f.count as usize {
        let at = k * f.bytes as usize;
        let shift = 8 * (at % 4) as u32;
        let word = &words[at / 4];
        let (mut low, mut high) = ([0; WARP_LANES], [0; WARP_LANES]);
        for i in 0..WARP_LANES {
            let top = word[i] >> shift << unused;
            let value = if f.signed { ((top as i32) >> unused) as u32 } else { top >> unused };
            low[i] = if f.register_bits == 16 { value & 0xffff } else { value };
            high[i] = if f.signed { ((value as i32) >> 31) as u32 } else { 0 };
        }
        file.write(t.registers[k], &low);
        if f.register_bits == 64 {
            file.write(t.registers[k].next(), &high);
        }
    }
}

/// Executes a store. The addresses and the space go to `out`.
pub(crate) fn store(file: &Lanes<'_>, m: &mut Spaces<'_>, t: &Transfer, out: &mut DynInst) -> Outcome {
    addresses(file, t.address, m.frame, &mut out.addresses);
    match t.format.total_bytes() {
        1 | 2 | 4 => store_words::<1>(file, m, t, out),
        8 => store_words::<2>(file, m, t, out),
        _ => store_words::<4>(file, m, t, out),
    }
}

#[inline]
fn store_words<const N: usize>(file: &Lanes<'_>, m: &mut Spaces<'_>, t: &Transfer, out: &mut DynInst) -> Outcome {
    let size = u64::from(t.format.total_bytes());
    out.space = t.space;
    if file.mask == 0 {
        return Ok(());
    }
    let words: [Column; N] = collect(file, t);
    if t.space == Space::Generic {
        let masks = split_generic(&mut out.addresses, file.mask);
        out.space = majority(masks);
        for (space, mask) in SPLIT_SPACES.into_iter().zip(masks) {
            if mask != 0 {
                write(m, space, &out.addresses, mask, size, &words)?;
            }
        }
        Ok(())
    } else {
        write(m, t.space, &out.addresses, file.mask, size, &words)
    }
}

/// The words that a store moves.
#[inline]
fn collect<const N: usize>(file: &Lanes<'_>, t: &Transfer) -> [Column; N] {
    let f = t.format;
    let mut words = [[0; WARP_LANES]; N];
    match f.bytes {
        4 => {
            for (word, register) in words.iter_mut().zip(t.registers) {
                *word = *file.column(register);
            }
        }
        8 => {
            for (pair, register) in words.chunks_exact_mut(2).zip(t.registers) {
                let (low, high) = file.pair(register);
                pair.copy_from_slice(&[*low, *high]);
            }
        }
        bytes => {
            let keep = (1u32 << (8 * bytes)) - 1;
            for k in 0..f.count as usize {
                let at = k * bytes as usize;
                let shift = 8 * (at % 4) as u32;
                let value = file.column(t.registers[k]);
                for i in 0..WARP_LANES {
                    words[at / 4][i] |= (value[i] & keep) << shift;
                }
            }
        }
    }
    words
}

/// Reads `size` bytes per lane in `mask` from one space.
#[inline]
pub(crate) fn read<const N: usize>(
    m: &Spaces<'_>,
    space: Space,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut [Column; N],
) -> Outcome {
    let result = match space {
        Space::Shared => gather(m.shared, addresses, mask, size, out),
        Space::Param => gather(&Params(m.params), addresses, mask, size, out),
        Space::Local => read_local(m.local, addresses, mask, size, out),
        _ => gather(m.device, addresses, mask, size, out),
    };
    result.map_err(|BadAddress| explain(m, "load from", space, addresses, mask, size))
}

/// Writes `size` bytes per lane in `mask` to one space.
#[inline]
pub(crate) fn write<const N: usize>(
    m: &mut Spaces<'_>,
    space: Space,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> Outcome {
    let result = match space {
        Space::Shared => scatter(m.shared, addresses, mask, size, words),
        Space::Local => write_local(m.local, addresses, mask, size, words),
        Space::Param => Err(BadAddress),
        _ => scatter(m.device, addresses, mask, size, words),
    };
    result.map_err(|BadAddress| explain(m, "store to", space, addresses, mask, size))
}

/// An address was out of bounds or misaligned; [`explain`] finds out which.
struct BadAddress;

/// Memory that lies in runs of words.
trait Words {
    /// The run around `address`, for accesses of `size` bytes; `None` if there is none.
    fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>>;
    /// The same for stores.
    fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>>;
}

impl Words for DeviceMemory {
    #[inline(always)]
    fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        self.window(address, size)
    }

    #[inline(always)]
    fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>> {
        self.window_mut(address, size)
    }
}

impl Words for SharedMemory {
    #[inline(always)]
    fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        self.window(address, size)
    }

    #[inline(always)]
    fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>> {
        self.window_mut(address, size)
    }
}

/// The launch's parameters.
struct Params<'a>(&'a [u32]);

impl Words for Params<'_> {
    #[inline(always)]
    fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        let limit = (4 * self.0.len() as u64 + 1).saturating_sub(size);
        (address < limit).then_some(Window { start: 0, limit, words: self.0 })
    }

    fn window_mut(&mut self, _: u64, _: u64) -> Option<Window<&mut [u32]>> {
        None
    }
}

/// Whether an access of `size` bytes, a power of two, may lie at `address`.
#[inline(always)]
const fn is_aligned(address: u64, size: u64) -> bool {
    address & (size - 1) == 0
}

/// Reads `size` bytes per lane: one or two, or all `4 * N`.
#[inline(never)]
fn gather<const N: usize>(
    memory: &impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut [Column; N],
) -> Result<(), BadAddress> {
    if size < 4 {
        gather_narrow(memory, addresses, mask, size, &mut out[0])
    } else {
        gather_words(memory, addresses, mask, out)
    }
}

/// Where the lanes' addresses lie in a window.
struct Offsets {
    /// Bytes from the window's start; for lanes outside, anything.
    bytes: Column,
    /// The access of an executing lane does not lie in the window.
    outside: bool,
    /// The offsets of executing lanes, or-ed: their common alignment.
    bits: u32,
}

impl Offsets {
    #[inline(always)]
    fn of<W>(addresses: &[u64; WARP_LANES], mask: LaneMask, w: &Window<W>) -> Self {
        let limit = w.limit.min(1 << 31) as u32;
        let (bytes, [far, most, bits]) = offsets_from(addresses, mask, w.start);
        Self { bytes, outside: far != 0 || most >= limit, bits }
    }

    /// How the lanes of each half of the warp, executing or not, lie to each other.
    #[inline(always)]
    fn patterns<const N: usize>(&self) -> [Pattern; 2] {
        let (halves, _) = self.bytes.as_chunks::<HALF>();
        [Pattern::of::<N>(&halves[0]), Pattern::of::<N>(&halves[1])]
    }
}

/// Lanes of half a warp: the width of common thread blocks, so rows are often as long as this.
const HALF: usize = WARP_LANES / 2;

/// How the addresses of half a warp lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// Adjacent, in order.
    Row,
    /// All one.
    Point,
    /// Otherwise.
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

// The following are functions of their own, each a single loop, so that they vectorise well.

/// Offsets of all lanes from `start`; and of the executing ones the upper words or-ed, the largest
/// lower word, and the lower words or-ed.
#[inline(never)]
fn offsets_from(addresses: &[u64; WARP_LANES], mask: LaneMask, start: u64) -> (Column, [u32; 3]) {
    let mut bytes = [0; WARP_LANES];
    let (mut far, mut most, mut bits) = (0, 0, 0);
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

/// Reads `N` words per lane. Accesses to one window are checked together; rows of adjacent lanes
/// and single addresses have short cuts.
#[inline(always)]
fn gather_words<const N: usize>(
    memory: &impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    out: &mut [Column; N],
) -> Result<(), BadAddress> {
    let size = const { 4 * N as u64 };
    let first = mask.trailing_zeros() as usize % WARP_LANES;
    let w = memory.window(addresses[first], size).ok_or(BadAddress)?;
    let offsets = Offsets::of(addresses, mask, &w);
    if offsets.outside {
        return gather_far(memory, addresses, mask, out);
    }
    if !is_aligned(u64::from(offsets.bits), size) {
        return Err(BadAddress);
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
                for (i, words) in lanes.zip(words.as_chunks::<N>().0) {
                    for (column, &word) in out.iter_mut().zip(words) {
                        column[i] = word;
                    }
                }
            }
            (Pattern::Point, Some(words)) => {
                for (column, &word) in out.iter_mut().zip(words) {
                    column[lanes.clone()].fill(word);
                }
            }
            // Lanes that do not execute may lie anywhere, also beyond the words.
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
    Ok(())
}

/// Reads `N` words per lane from several windows.
fn gather_far<const N: usize>(
    memory: &impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    out: &mut [Column; N],
) -> Result<(), BadAddress> {
    let size = const { 4 * N as u64 };
    let mut w = Window::empty();
    for lane in lanes(mask) {
        let address = addresses[lane];
        if address.wrapping_sub(w.start) >= w.limit {
            w = memory.window(address, size).ok_or(BadAddress)?;
        }
        let offset = address - w.start;
        if !is_aligned(offset, size) {
            return Err(BadAddress);
        }
        let word = (offset / 4) as usize;
        for (column, &word) in out.iter_mut().zip(&w.words[word..word + N]) {
            column[lane] = word;
        }
    }
    Ok(())
}

/// Reads one or two bytes per lane.
#[inline(always)]
fn gather_narrow(
    memory: &impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut Column,
) -> Result<(), BadAddress> {
    let keep = (1u32 << (8 * size)) - 1;
    let mut w = Window::empty();
    for lane in lanes(mask) {
        let address = addresses[lane];
        if address.wrapping_sub(w.start) >= w.limit {
            w = memory.window(address, size).ok_or(BadAddress)?;
        }
        let offset = address - w.start;
        if !is_aligned(offset, size) {
            return Err(BadAddress);
        }
        out[lane] = w.words[(offset / 4) as usize] >> (offset % 4 * 8) & keep;
    }
    Ok(())
}

/// Writes `size` bytes per lane: one or two, or all `4 * N`. Of lanes with one address, the highest
/// wins.
#[inline(never)]
fn scatter<const N: usize>(
    memory: &mut impl Words,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> Result<(), BadAddress> {
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let mut w = memory.window_mut(addresses[first], size).ok_or(BadAddress)?;
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

/// Writes `N` words per lane if all lanes of `mask` fall in the window. Says whether so.
#[inline(always)]
fn scatter_near<const N: usize>(
    w: &mut Window<&mut [u32]>,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    words: &[Column; N],
) -> Result<bool, BadAddress> {
    let size = const { 4 * N as u64 };
    let offsets = Offsets::of(addresses, mask, w);
    if offsets.outside {
        return Ok(false);
    }
    if !is_aligned(u64::from(offsets.bits), size) {
        return Err(BadAddress);
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

/// Writes `N` words per lane of `rest`, which it takes out, up to the first that falls outside the
/// window.
#[inline(always)]
fn scatter_words<const N: usize>(
    w: &mut Window<&mut [u32]>,
    addresses: &[u64; WARP_LANES],
    rest: &mut LaneMask,
    words: &[Column; N],
) -> Result<(), BadAddress> {
    for lane in lanes(*rest) {
        let offset = addresses[lane].wrapping_sub(w.start);
        if offset >= w.limit {
            return Ok(());
        }
        if !is_aligned(offset, const { 4 * N as u64 }) {
            return Err(BadAddress);
        }
        let word = (offset / 4) as usize;
        for (word, column) in w.words[word..word + N].iter_mut().zip(words) {
            *word = column[lane];
        }
        *rest &= !(1 << lane);
    }
    Ok(())
}

/// The same for one or two bytes.
fn scatter_narrow(
    w: &mut Window<&mut [u32]>,
    addresses: &[u64; WARP_LANES],
    rest: &mut LaneMask,
    size: u64,
    values: &Column,
) -> Result<(), BadAddress> {
    for lane in lanes(*rest) {
        let offset = addresses[lane].wrapping_sub(w.start);
        if offset >= w.limit {
            return Ok(());
        }
        if !is_aligned(offset, size) {
            return Err(BadAddress);
        }
        let shift = offset % 4 * 8;
        let keep = ((1u32 << (8 * size)) - 1) << shift;
        let word = &mut w.words[(offset / 4) as usize];
        *word = *word & !keep | values[lane] << shift & keep;
        *rest &= !(1 << lane);
    }
    Ok(())
}

/// Whether the lanes of `mask` all have the address of the first.
fn same_address(addresses: &[u64; WARP_LANES], mask: LaneMask) -> bool {
    let here = addresses[mask.trailing_zeros() as usize];
    lanes(mask).all(|lane| addresses[lane] == here)
}

fn check_local(
    local: &LocalMemory,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
) -> Result<(), BadAddress> {
    let fine = |lane: usize| local.holds(addresses[lane], size) && is_aligned(addresses[lane], size);
    if lanes(mask).all(fine) { Ok(()) } else { Err(BadAddress) }
}

fn read_local<const N: usize>(
    local: &LocalMemory,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut [Column; N],
) -> Result<(), BadAddress> {
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

fn write_local<const N: usize>(
    local: &mut LocalMemory,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> Result<(), BadAddress> {
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

/// Finds the lanes at fault and says what is wrong with the first.
#[cold]
pub(crate) fn explain(
    m: &Spaces<'_>,
    verb: &str,
    space: Space,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
) -> Box<Trap> {
    let store = verb != "load from";
    let outside = |a: u64| match space {
        Space::Shared => m.shared.window(a, size).is_none(),
        Space::Local => !m.local.holds(a, size),
        Space::Param => store || Params(m.params).window(a, size).is_none(),
        _ => {
            let writable =
                |a: u64| m.device.allocations().iter().any(|x| x.read_only && a.wrapping_sub(x.base) < x.bytes);
            m.device.window(a, size).is_none() || store && writable(a)
        }
    };
    let bad = lanes(mask).filter(|&lane| !is_aligned(addresses[lane], size) || outside(addresses[lane]));
    let bad = bad.fold(0, |m, lane| m | 1 << lane);
    let address = addresses[(bad | LaneMask::from(bad == 0)).trailing_zeros() as usize];
    let what = match space {
        _ if !is_aligned(address, size) && !outside(address) => {
            let wanted = "is not a multiple of its size";
            format!("misaligned {verb} {} address {address:#x} of {size} bytes: the address {wanted}", name(space))
        }
        Space::Shared => {
            let bytes = m.shared.bytes();
            format!(
                "{verb} shared address {address:#x} ({size} bytes) outside the CTA's {bytes} bytes of shared memory"
            )
        }
        Space::Local => {
            let bytes = m.local.bytes();
            format!(
                "{verb} local address {address:#x} ({size} bytes) outside the thread's {bytes} bytes of local memory"
            )
        }
        Space::Param if store => format!("{verb} kernel parameters, which are constant, at offset {address}"),
        Space::Param => {
            format!(
                "{verb} parameter offset {address} ({size} bytes) outside the kernel's {} bytes",
                4 * m.params.len()
            )
        }
        _ => {
            let nearest = m.device.describe(address);
            format!("out-of-bounds {verb} {} address {address:#x} ({size} bytes): {nearest}", name(space))
        }
    };
    Box::new(Trap { what, lanes: bad })
}

fn name(space: Space) -> &'static str {
    match space {
        Space::Global | Space::Generic | Space::Texture => "global",
        Space::Local => "local",
        Space::Shared => "shared",
        Space::Constant => "constant",
        Space::Param => "parameter",
    }
}

/// Copies between places of the frame's local memory: parameters of calls.
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
