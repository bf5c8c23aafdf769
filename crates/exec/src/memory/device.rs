//! Device memory: named allocations of sparse 64 KiB pages.

mod host;

use super::heap::{ADDRESS_LIMIT, ALIGNMENT, Heap};
use super::overlay::{LINE_BYTES, LINE_WORDS, word_mask};
use super::pages::{DeviceAllocation, GRANULE_BYTES, Origin};
use super::reader::Reader;
use super::stray::{GRANULE_WORDS, MAPPED_BYTES, OutOfBounds, Stray};
use kit::persist::{Archive, Mismatch, Persist};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};

/// Freed allocations that messages can name.
const MOST_FREED: usize = 256;

/// Why the host could not do something with device memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MemoryError {
    /// Not enough memory is free.
    #[error("cannot allocate {} for `{name}`: {free} of {capacity} bytes of device memory are free", kit::text::counted(*bytes, "byte"))]
    Full {
        name: String,
        bytes: u64,
        /// In bytes.
        free: u64,
        /// In bytes.
        capacity: u64,
    },
    /// The address range is occupied (module variables have fixed addresses).
    #[error("cannot place `{name}` at {address:#x}: `{other}` is there")]
    Taken {
        name: String,
        address: u64,
        /// The allocation that occupies it.
        other: String,
    },
    /// Memory cannot be placed at an address.
    #[error("cannot place `{name}` at {address:#x}: {why}")]
    Misplaced { name: String, address: u64, why: &'static str },
    /// No memory at an address.
    #[error("{0}")]
    NoSuchAddress(String),
}

/// A run of words that contains an address: an access of the given size is in bounds at the addresses
/// `start..start + limit`. The first word contains the byte at `start`, which need not be its first.
pub(crate) struct Window<W> {
    pub start: u64,
    pub limit: u64,
    pub words: W,
}

impl<W> Window<W> {
    /// Index of the word around an address that is in bounds.
    #[inline(always)]
    pub fn word(&self, address: u64) -> usize {
        (address / 4 - self.start / 4) as usize
    }
}

impl<W: Default> Window<W> {
    /// A window without addresses.
    pub fn empty() -> Self {
        Self { start: 0, limit: 0, words: W::default() }
    }
}

/// An element that [`DeviceMemory::fill`] repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Fill {
    Byte(u8),
    Half(u16),
    Word(u32),
}

impl Fill {
    /// Size of the element.
    pub const fn bytes(self) -> u64 {
        match self {
            Fill::Byte(_) => 1,
            Fill::Half(_) => 2,
            Fill::Word(_) => 4,
        }
    }

    /// A word of repetitions.
    fn word(self) -> u32 {
        match self {
            Fill::Byte(byte) => u32::from_le_bytes([byte; 4]),
            Fill::Half(half) => u32::from(half) << 16 | u32::from(half),
            Fill::Word(word) => word,
        }
    }
}

/// An allocation that was freed, for messages.
#[derive(Debug)]
struct Freed {
    name: String,
    base: u64,
    bytes: u64,
}

/// All device memory.
#[derive(Debug)]
pub struct DeviceMemory {
    /// Addresses of the allocations, ascending.
    bases: Vec<u64>,
    /// The slot of each of them in `allocations`.
    slots: Vec<u32>,
    allocations: Vec<DeviceAllocation>,
    /// Slots without an allocation.
    empty: Vec<u32>,
    heap: Heap,
    /// The most recently freed last.
    freed: VecDeque<Freed>,
    capacity: u64,
    used: u64,
    /// Allocations so far.
    count: u64,
    /// Warps have not changed shared state since this was last set ([`DeviceMemory::watch`]).
    unchanged: bool,
    stray: Stray,
    /// Allocations record which of their bytes were written.
    tracks_writes: bool,
}

impl Default for DeviceMemory {
    fn default() -> Self {
        Self::new(16 << 30)
    }
}

impl DeviceMemory {
    /// Empty memory that holds up to `capacity` bytes.
    pub fn new(capacity: u64) -> Self {
        Self {
            bases: Vec::new(),
            slots: Vec::new(),
            allocations: Vec::new(),
            empty: Vec::new(),
            heap: Heap::default(),
            freed: VecDeque::new(),
            capacity,
            used: 0,
            count: 0,
            unchanged: false,
            stray: Stray::default(),
            tracks_writes: false,
        }
    }

    /// Leaves out the first `bytes` of the heap's addresses, so that several devices have different ones.
    ///
    /// # Panics
    /// Something is allocated.
    pub fn skip_addresses(&mut self, bytes: u64) {
        self.heap.skip(bytes);
    }

    /// Chooses what happens to accesses by kernels outside all allocations.
    pub fn set_out_of_bounds(&mut self, policy: OutOfBounds) {
        self.stray.policy = policy;
    }

    /// Whether allocations from now on record which of their bytes are written.
    pub(crate) fn track_writes(&mut self, tracks: bool) {
        self.tracks_writes = tracks;
    }

    /// Whether all of the bytes were written, as far as that is recorded.
    pub(crate) fn is_written(&self, address: u64, bytes: u64) -> bool {
        self.allocation_of(address).is_none_or(|a| a.is_written(address - a.base, bytes))
    }

    /// Records that the bytes were written.
    pub(crate) fn note_written(&mut self, address: u64, bytes: u64) {
        if let Some(slot) = self.find(address) {
            let a = &mut self.allocations[slot];
            a.note_written(address - a.base, bytes);
        }
    }

    /// Effect of accesses by kernels outside all allocations.
    pub fn out_of_bounds(&self) -> OutOfBounds {
        self.stray.policy
    }

    /// Records from now on whether warps change shared state.
    pub(crate) fn watch(&mut self) {
        self.unchanged = true;
    }

    /// Whether changes are recorded and there have been none.
    #[inline]
    pub(crate) fn is_unchanged(&self) -> bool {
        self.unchanged
    }

    /// Records a change, or a possible one.
    #[inline]
    pub(crate) fn note_change(&mut self) {
        self.unchanged = false;
    }

    /// Allocates `bytes` (at least one) of zeros and returns the address, a multiple of 256.
    ///
    /// # Errors
    /// [`MemoryError::Full`].
    pub fn allocate(&mut self, name: impl Into<String>, bytes: u64) -> Result<u64, MemoryError> {
        self.allocate_aligned(name, bytes, ALIGNMENT)
    }

    /// As [`DeviceMemory::allocate`], at a multiple of `alignment`, which is rounded up to a power of two.
    ///
    /// # Errors
    /// [`MemoryError::Full`].
    pub fn allocate_aligned(
        &mut self,
        name: impl Into<String>,
        bytes: u64,
        alignment: u64,
    ) -> Result<u64, MemoryError> {
        let (name, bytes) = (name.into(), bytes.max(1));
        let alignment = alignment.max(ALIGNMENT).checked_next_power_of_two().unwrap_or(ADDRESS_LIMIT);
        let has_room = bytes <= self.free_bytes();
        let Some(base) = has_room.then(|| self.heap.take(bytes, alignment)).flatten() else {
            return Err(self.full(name, bytes));
        };
        match self.insert(name, base, bytes, Origin::Heap) {
            Ok(_) => Ok(base),
            Err(error) => {
                self.heap.give_back(base, bytes);
                Err(error)
            }
        }
    }

    /// Places `bytes` of zeros at `base`, outside the heap: for module variables.
    ///
    /// # Errors
    /// [`MemoryError::Taken`], [`MemoryError::Full`].
    pub fn place(
        &mut self,
        name: impl Into<String>,
        base: u64,
        bytes: u64,
        read_only: bool,
    ) -> Result<(), MemoryError> {
        let (name, bytes) = (name.into(), bytes.max(1));
        if bytes > self.free_bytes() {
            return Err(self.full(name, bytes));
        }
        let slot = self.insert(name, base, bytes, Origin::Module)?;
        self.allocations[slot].read_only = read_only;
        Ok(())
    }

    /// Places `bytes` of zeros at `base`, a multiple of 256 outside the heap: a copy of memory that the host
    /// has there. It takes nothing of the device's capacity.
    ///
    /// # Errors
    /// [`MemoryError::Taken`]; [`MemoryError::Misplaced`] if `base` is not such an address.
    pub fn place_at(&mut self, name: impl Into<String>, base: u64, bytes: u64) -> Result<(), MemoryError> {
        let (name, bytes) = (name.into(), bytes.max(1));
        let end = base.checked_add(bytes).filter(|&end| end <= ADDRESS_LIMIT);
        let why = match end {
            None => "the address space ends at 2^40",
            _ if !base.is_multiple_of(ALIGNMENT) => "the address is not a multiple of 256",
            Some(end) if Heap::has(base) || Heap::has(end - 1) => "device memory is allocated there",
            Some(_) if base < super::WINDOWS_END => "generic addresses of shared and local memory are there",
            Some(_) => return self.insert(name, base, bytes, Origin::Host).map(drop),
        };
        Err(MemoryError::Misplaced { name, address: base, why })
    }

    fn full(&self, name: String, bytes: u64) -> MemoryError {
        MemoryError::Full { name, bytes, free: self.free_bytes(), capacity: self.capacity }
    }

    /// Bytes of device memory that are not allocated.
    pub fn free_bytes(&self) -> u64 {
        self.capacity.saturating_sub(self.used)
    }

    /// Bytes of device memory.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    fn insert(&mut self, name: String, base: u64, bytes: u64, origin: Origin) -> Result<usize, MemoryError> {
        let at = self.bases.partition_point(|&b| b <= base);
        let before = at.checked_sub(1).map(|i| self.at(i)).filter(|a| a.end() > base);
        let after = (at < self.bases.len()).then(|| self.at(at)).filter(|a| a.base < base + bytes);
        if let Some(other) = before.or(after) {
            return Err(MemoryError::Taken { name, address: base, other: other.name.clone() });
        }
        if origin != Origin::Host {
            self.used += bytes;
        }
        self.count += 1;
        let mut new = DeviceAllocation::new(name, base, bytes, self.count, origin);
        if self.tracks_writes && origin == Origin::Heap {
            new.track_writes();
        }
        let slot = match self.empty.pop() {
            Some(slot) => {
                self.allocations[slot as usize] = new;
                slot as usize
            }
            None => {
                self.allocations.push(new);
                self.allocations.len() - 1
            }
        };
        self.bases.insert(at, base);
        self.slots.insert(at, slot as u32);
        Ok(slot)
    }

    /// Frees the allocation that starts at `base`. Later ones may have its addresses.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchAddress`] if none does.
    pub fn free(&mut self, base: u64) -> Result<(), MemoryError> {
        let Ok(at) = self.bases.binary_search(&base) else {
            let freed = self.freed.iter().rev().find(|freed| freed.base == base);
            let freed = freed.map_or(String::new(), |freed| format!(": `{}` was freed there", freed.name));
            return Err(MemoryError::NoSuchAddress(format!("no allocation starts at {base:#x}{freed}")));
        };
        self.bases.remove(at);
        let slot = self.slots.remove(at);
        self.empty.push(slot);
        let gone = std::mem::replace(&mut self.allocations[slot as usize], DeviceAllocation::none());
        if gone.origin != Origin::Host {
            self.used -= gone.bytes;
        }
        if gone.origin == Origin::Heap {
            self.heap.give_back(base, gone.bytes);
        }
        if self.freed.len() == MOST_FREED {
            self.freed.pop_front();
        }
        self.freed.push_back(Freed { name: gone.name, base, bytes: gone.bytes });
        Ok(())
    }

    /// Begins an undo log of what is written and placed from now on. There is one at a time.
    pub(crate) fn begin_undo(&mut self) -> u64 {
        self.allocations.iter_mut().for_each(DeviceAllocation::begin_undo);
        self.stray.begin_undo();
        self.count
    }

    /// Ends the undo log that [`DeviceMemory::begin_undo`] began with `count` allocations; what was written since is
    /// kept or undone. Nothing was freed since.
    pub(crate) fn end_undo(&mut self, count: u64, keeps: bool) {
        self.stray.end_undo(keeps);
        if keeps {
            return self.allocations.iter_mut().for_each(DeviceAllocation::keep_writes);
        }
        for at in (0..self.bases.len()).rev().filter(|&at| self.at(at).id > count).collect::<Vec<_>>() {
            self.bases.remove(at);
            let slot = self.slots.remove(at);
            self.empty.push(slot);
            self.used -= std::mem::replace(&mut self.allocations[slot as usize], DeviceAllocation::none()).bytes;
        }
        self.count = count;
        self.allocations.iter_mut().for_each(DeviceAllocation::undo_writes);
    }

    /// Digest of what has changed since the undo log began, in allocations that are older than it.
    pub(crate) fn digest_of_changes(&self) -> u64 {
        let mut digest = DefaultHasher::new();
        let allocations = self.slots.iter().map(|&slot| &self.allocations[slot as usize]);
        allocations.for_each(|allocation| allocation.digest_changes(&mut digest));
        digest.finish()
    }

    /// The allocation with the `index`th address.
    fn at(&self, index: usize) -> &DeviceAllocation {
        &self.allocations[self.slots[index] as usize]
    }

    /// The allocations, sorted by address.
    pub fn allocations(&self) -> impl ExactSizeIterator<Item = &DeviceAllocation> {
        self.slots.iter().map(|&slot| &self.allocations[slot as usize])
    }

    /// The allocation that contains `address`.
    pub fn allocation_of(&self, address: u64) -> Option<&DeviceAllocation> {
        self.find(address).map(|slot| &self.allocations[slot])
    }

    /// Bytes of host memory in use: only written pages take memory.
    pub fn resident_bytes(&self) -> u64 {
        self.allocations.iter().map(DeviceAllocation::resident_bytes).sum()
    }

    /// Slot of the allocation that contains `address`.
    fn find(&self, address: u64) -> Option<usize> {
        let index = self.bases.partition_point(|&base| base <= address).checked_sub(1)?;
        let slot = self.slots[index] as usize;
        (address < self.allocations[slot].end()).then_some(slot)
    }

    /// The same, where it is likely that `reader` has found it last.
    #[inline]
    fn find_again(&self, address: u64, reader: &Reader) -> Option<usize> {
        let last = reader.last.get();
        if let Some(a) = self.allocations.get(last)
            && address.wrapping_sub(a.base) < a.bytes
        {
            return Some(last);
        }
        let slot = self.find(address)?;
        reader.last.set(slot);
        Some(slot)
    }

    /// Bounds of the page around `address`: slot of the allocation, page, and a window without its words.
    #[inline]
    fn locate(&self, address: u64, size: u64, reader: &Reader) -> Option<(usize, usize, Window<()>)> {
        let slot = self.find_again(address, reader)?;
        let a = &self.allocations[slot];
        let (page, start) = a.page_of(address);
        let limit = (a.page_end(page) - start + 1).saturating_sub(size);
        (address - start < limit).then_some((slot, page, Window { start, limit, words: () }))
    }

    /// The window for accesses of `size` bytes around `address`; `None` if it is out of bounds or crosses a
    /// page, which an aligned access does not.
    #[inline]
    pub(crate) fn window(&self, address: u64, size: u64, reader: &Reader) -> Option<Window<&[u32]>> {
        match self.locate(address, size, reader) {
            Some((slot, page, w)) => {
                let a = &self.allocations[slot];
                Some(Window { start: w.start, limit: w.limit, words: &a.page(page)[a.word_of(w.start)..] })
            }
            None => self.stray_window(address, size, reader),
        }
    }

    /// The same window for stores; `None` also if kernels may not write there.
    #[inline]
    pub(crate) fn window_mut(&mut self, address: u64, size: u64, reader: &Reader) -> Option<Window<&mut [u32]>> {
        let Some((slot, page, w)) = self.locate(address, size, reader) else {
            return self.stray_window_mut(address, size, reader);
        };
        let allocation = &mut self.allocations[slot];
        if allocation.read_only {
            return None;
        }
        let first = allocation.word_of(w.start);
        Some(Window { start: w.start, limit: w.limit, words: &mut allocation.page_mut(page)[first..] })
    }

    /// The same window without its words: where kernels may store.
    #[inline]
    pub(crate) fn room(&self, address: u64, size: u64, reader: &Reader) -> Option<Window<()>> {
        match self.locate(address, size, reader) {
            Some((slot, _, w)) => (!self.allocations[slot].read_only).then_some(w),
            None => {
                self.stray_window(address, size, reader).map(|w| Window { start: w.start, limit: w.limit, words: () })
            }
        }
    }

    /// Stores the bytes, of the 128 at `address`, a multiple of their number, whose bits are set in `mask`:
    /// stores of kernels that [`DeviceMemory::room`] has permitted.
    pub(crate) fn merge(&mut self, address: u64, mask: u128, words: &[u32; LINE_WORDS], reader: &Reader) {
        let Some(slot) = self.find_again(address, reader) else {
            return self.merge_bytes(address, mask, words, reader);
        };
        let allocation = &mut self.allocations[slot];
        let ((page, _), at) = (allocation.page_of(address), allocation.word_of(address));
        // Of the granule in which an allocation ends, the rest may be another one's.
        let bytes = allocation.page_end(page) - address;
        if bytes < LINE_BYTES && mask >> bytes != 0 {
            return self.merge_bytes(address, mask, words, reader);
        }
        let page = &mut allocation.page_mut(page)[at..];
        match page.first_chunk_mut::<LINE_WORDS>() {
            Some(line) if mask == u128::MAX => *line = *words,
            Some(line) => merge_words(line, mask, words),
            None => merge_words(page, mask, words),
        }
    }

    /// The same for lines that are not all in one page of an allocation.
    #[cold]
    fn merge_bytes(&mut self, address: u64, mask: u128, words: &[u32; LINE_WORDS], reader: &Reader) {
        for byte in (0..4 * LINE_WORDS).filter(|byte| mask >> byte & 1 == 1) {
            let at = address + byte as u64;
            if let Some(w) = self.window_mut(at, 1, reader) {
                let (word, shift) = (w.word(at), at % 4 * 8);
                let value = words[byte / 4] >> (byte % 4 * 8) & 0xff;
                w.words[word] = w.words[word] & !(0xff << shift) | value << shift;
            }
        }
    }

    /// The granule around `address`, which is not all in bounds, if the policy permits the access: where its
    /// words are. `None` if it is a fault.
    #[cold]
    #[inline(never)]
    fn locate_stray(&self, address: u64, size: u64) -> Option<Granule> {
        let start = address / GRANULE_BYTES * GRANULE_BYTES;
        if !self.is_near(address) || address - start + size > GRANULE_BYTES {
            return None;
        }
        let limit = GRANULE_BYTES + 1 - size;
        // Allocations start at granules: only the last granule of one may be partly in bounds.
        let index = self.bases.partition_point(|&base| base <= address).checked_sub(1);
        let partly = index.filter(|&index| self.at(index).end() > start).map(|index| self.slots[index] as usize);
        if partly.is_some_and(|slot| self.allocations[slot].origin == Origin::Module) {
            return None;
        }
        Some(Granule { partly, window: Window { start, limit, words: () } })
    }

    #[cold]
    #[inline(never)]
    fn stray_window(&self, address: u64, size: u64, reader: &Reader) -> Option<Window<&[u32]>> {
        let Granule { partly, window: w } = self.locate_stray(address, size)?;
        self.note_stray(address, reader);
        let words = match partly.map(|slot| &self.allocations[slot]) {
            Some(a) => {
                let first = a.word_of(w.start);
                &a.page(a.page_of(w.start).0)[first..first + GRANULE_WORDS]
            }
            None => self.stray.words(address),
        };
        Some(Window { start: w.start, limit: w.limit, words })
    }

    #[cold]
    #[inline(never)]
    fn stray_window_mut(&mut self, address: u64, size: u64, reader: &Reader) -> Option<Window<&mut [u32]>> {
        let Granule { partly, window: w } = self.locate_stray(address, size)?;
        self.note_stray(address, reader);
        let words = match partly.map(|slot| &mut self.allocations[slot]) {
            Some(a) => {
                let first = a.word_of(w.start);
                &mut a.page_mut(a.page_of(w.start).0)[first..first + GRANULE_WORDS]
            }
            None => self.stray.words_mut(address),
        };
        Some(Window { start: w.start, limit: w.limit, words })
    }

    /// Whether the policy permits accesses to `address`, which is in no allocation.
    fn is_near(&self, address: u64) -> bool {
        if self.stray.policy == OutOfBounds::Error || !Heap::has(address.saturating_add(MAPPED_BYTES)) {
            return false;
        }
        // The pages beside an allocation's usually belong to another one, or to the driver.
        let start = (address / MAPPED_BYTES - 1) * MAPPED_BYTES;
        let index = self.bases.partition_point(|&base| base < start + 3 * MAPPED_BYTES).checked_sub(1);
        index.is_some_and(|index| self.at(index).end() > start)
    }

    /// Notes an access outside allocations, if they are reported.
    fn note_stray(&self, address: u64, reader: &Reader) {
        if self.stray.policy == OutOfBounds::Warn && reader.stray.get().is_none() {
            reader.stray.set(Some(address));
        }
    }

    /// Whether not all of the `size` bytes at `address` are in bounds.
    pub(crate) fn is_outside(&self, address: u64, size: u64) -> bool {
        self.find(address).is_none_or(|slot| size > self.allocations[slot].end() - address)
    }

    /// Describes the allocation at or next to `address`, for messages.
    pub fn describe(&self, address: u64) -> String {
        let index = self.bases.partition_point(|&base| base <= address);
        let before = index.checked_sub(1).map(|i| self.at(i));
        let after = (index < self.bases.len()).then(|| self.at(index));
        let below = before.map(|a| (address - a.base).saturating_sub(a.bytes));
        if before.is_none_or(|a| address >= a.end()) {
            let freed = self.freed.iter().rev().find(|freed| address.wrapping_sub(freed.base) < freed.bytes);
            if let Some(Freed { name, base, bytes }) = freed {
                let bytes = kit::text::counted(*bytes, "byte");
                let offset = address - base;
                return format!("it is in `{name}` ({bytes} at {base:#x}), which was freed, at offset {offset}");
            }
        }
        let above = after.map(|a| a.base - address);
        let nearest = match (below, above) {
            (Some(b), Some(a)) if a < b => after,
            (None, _) => after,
            _ => before,
        };
        let Some(a) = nearest else { return "nothing is allocated".into() };
        let bytes = |n: u64| kit::text::counted(n, "byte");
        let what = format!("`{}` ({} at {:#x})", a.name, bytes(a.bytes), a.base);
        if address < a.base {
            format!("nearest is {what}: {} before its start", bytes(a.base - address))
        } else if address < a.end() {
            let note = if a.read_only { ", which is constant" } else { "" };
            format!("it is in {what}{note}, at offset {}", address - a.base)
        } else if address == a.end() {
            format!("nearest is {what}: directly after its last byte")
        } else {
            format!("nearest is {what}: {} past its end", bytes(address - a.end()))
        }
    }
}

/// A granule outside allocations.
struct Granule {
    /// Slot of the allocation whose last bytes are in it.
    partly: Option<usize>,
    window: Window<()>,
}

/// Replaces the bytes of words whose bits are set in `mask`.
fn merge_words(to: &mut [u32], mask: u128, from: &[u32; LINE_WORDS]) {
    // Most lines have few written words. Each half of the mask fits a register of the host.
    for (half, mask) in [mask as u64, (mask >> 64) as u64].into_iter().enumerate() {
        let mut rest = mask;
        while rest != 0 {
            let word = rest.trailing_zeros() / 4;
            let keep = word_mask((rest >> (4 * word)) as u8 & 0xf);
            rest &= !(0xf << (4 * word));
            let at = half * LINE_WORDS / 2 + word as usize;
            if let Some(to) = to.get_mut(at) {
                *to = *to & !keep | from[at % LINE_WORDS] & keep;
            }
        }
    }
}

impl DeviceMemory {
    /// Whether the tables of allocations agree with each other.
    fn is_consistent(&self) -> bool {
        let slots = self.allocations.len();
        self.bases.len() == self.slots.len()
            && self.bases.len() + self.empty.len() == slots
            && self.slots.iter().chain(&self.empty).all(|&slot| (slot as usize) < slots)
            && (0..self.bases.len()).all(|i| self.at(i).base == self.bases[i] && self.at(i).bytes > 0)
            && (1..self.bases.len()).all(|i| self.at(i - 1).end() <= self.bases[i])
    }
}

impl Persist for DeviceMemory {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { bases, slots, allocations, empty, heap, freed, capacity: _, used, count, .. } = self;
        bases.persist(archive)?;
        slots.persist(archive)?;
        allocations.persist(archive)?;
        empty.persist(archive)?;
        heap.persist(archive)?;
        freed.persist(archive)?;
        used.persist(archive)?;
        count.persist(archive)?;
        let Self { unchanged, stray, tracks_writes: _, .. } = self;
        unchanged.persist(archive)?;
        stray.persist(archive)?;
        if self.is_consistent() { Ok(()) } else { Err(archive.wrong("allocations that contradict each other")) }
    }
}

kit::persist! {
    new struct Freed { name, base, bytes }
}

#[cfg(test)]
mod tests;
