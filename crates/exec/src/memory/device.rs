//! Device memory: named allocations of sparse 64 KiB pages.

use std::cell::Cell;

/// Words of a page.
const PAGE_WORDS: usize = 1 << 14;
/// Bytes of a page.
const PAGE_BYTES: u64 = 4 * PAGE_WORDS as u64;
/// What pages that were never written read as.
static ZERO_PAGE: [u32; PAGE_WORDS] = [0; PAGE_WORDS];

/// Alignment of allocations.
const ALIGNMENT: u64 = 256;
/// Minimum distance in bytes between two allocations.
const GUARD_BYTES: u64 = 4096;
/// First address of the heap. It is high so that a kernel that truncates a pointer to 32 bits faults.
const HEAP_BASE: u64 = 0x7f_0000_0000;
/// First address beyond the address space.
const ADDRESS_LIMIT: u64 = 1 << 40;

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
    /// No memory at an address.
    #[error("{0}")]
    NoSuchAddress(String),
}

/// A piece of device memory.
#[derive(Clone, Debug)]
pub struct DeviceAllocation {
    /// Name in messages.
    pub name: String,
    /// Address of the first byte, a multiple of 256.
    pub base: u64,
    /// In bytes.
    pub bytes: u64,
    /// Kernels may not store to it (`.const` variables).
    pub read_only: bool,
    /// Freed by the host; kept for messages.
    pub freed: bool,
    pages: Vec<Option<Box<[u32]>>>,
}

impl DeviceAllocation {
    fn end(&self) -> u64 {
        self.base + self.bytes
    }

    fn page_words(&self, page: usize) -> usize {
        let rest = self.bytes - page as u64 * PAGE_BYTES;
        rest.min(PAGE_BYTES).div_ceil(4) as usize
    }

    fn page(&self, page: usize) -> &[u32] {
        match &self.pages[page] {
            Some(words) => words,
            None => &ZERO_PAGE[..self.page_words(page)],
        }
    }

    fn page_mut(&mut self, page: usize) -> &mut [u32] {
        let words = self.page_words(page);
        self.pages[page].get_or_insert_with(|| vec![0; words].into())
    }
}

/// A run of words that contains an address: an access of the given size is in bounds at the addresses
/// `start..start + limit`.
pub(crate) struct Window<W> {
    pub start: u64,
    pub limit: u64,
    pub words: W,
}

impl<W: Default> Window<W> {
    /// A window without addresses.
    pub fn empty() -> Self {
        Self { start: 0, limit: 0, words: W::default() }
    }
}

/// All device memory.
#[derive(Debug)]
pub struct DeviceMemory {
    /// Sorted by address.
    allocations: Vec<DeviceAllocation>,
    capacity: u64,
    used: u64,
    next: u64,
    /// The allocation that was found last; the next access is likely to be in it.
    last: Cell<usize>,
    /// Warps have not changed shared state since this was last set ([`DeviceMemory::watch`]).
    unchanged: bool,
}

impl Default for DeviceMemory {
    fn default() -> Self {
        Self::new(16 << 30)
    }
}

impl DeviceMemory {
    /// Empty memory that holds up to `capacity` bytes.
    pub fn new(capacity: u64) -> Self {
        Self { allocations: Vec::new(), capacity, used: 0, next: HEAP_BASE, last: Cell::new(0), unchanged: false }
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

    /// Allocates `bytes` (at least one) of zeros and returns the address.
    ///
    /// # Errors
    /// [`MemoryError::Full`].
    pub fn allocate(&mut self, name: impl Into<String>, bytes: u64) -> Result<u64, MemoryError> {
        let (name, base) = (name.into(), self.next);
        let end = base.checked_add(bytes).filter(|&end| end < ADDRESS_LIMIT);
        let Some(end) = end else { return Err(self.full(name, bytes)) };
        self.insert(name, base, bytes.max(1), false)?;
        self.next = (end.max(base + 1) + GUARD_BYTES).next_multiple_of(ALIGNMENT);
        Ok(base)
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
        self.insert(name.into(), base, bytes.max(1), read_only)
    }

    fn full(&self, name: String, bytes: u64) -> MemoryError {
        MemoryError::Full { name, bytes, free: self.capacity.saturating_sub(self.used), capacity: self.capacity }
    }

    fn insert(&mut self, name: String, base: u64, bytes: u64, read_only: bool) -> Result<(), MemoryError> {
        if bytes > self.capacity.saturating_sub(self.used) {
            return Err(self.full(name, bytes));
        }
        let at = self.allocations.partition_point(|a| a.base <= base);
        let before = at.checked_sub(1).map(|i| &self.allocations[i]).filter(|a| a.end() > base);
        let after = self.allocations.get(at).filter(|a| a.base < base + bytes);
        if let Some(other) = before.or(after) {
            return Err(MemoryError::Taken { name, address: base, other: other.name.clone() });
        }
        self.used += bytes;
        let pages = vec![None; bytes.div_ceil(PAGE_BYTES) as usize];
        self.allocations.insert(at, DeviceAllocation { name, base, bytes, read_only, freed: false, pages });
        self.last.set(at);
        Ok(())
    }

    /// Frees the allocation that starts at `base`.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchAddress`] if none does.
    pub fn free(&mut self, base: u64) -> Result<(), MemoryError> {
        let found = self.allocations.iter_mut().find(|a| a.base == base && !a.freed);
        let Some(allocation) = found else {
            return Err(MemoryError::NoSuchAddress(format!("no allocation starts at {base:#x}")));
        };
        allocation.freed = true;
        allocation.pages = Vec::new();
        self.used -= allocation.bytes;
        Ok(())
    }

    /// The allocations, sorted by address, including freed ones.
    pub fn allocations(&self) -> &[DeviceAllocation] {
        &self.allocations
    }

    /// Bytes of host memory in use: only written pages take memory.
    pub fn resident_bytes(&self) -> u64 {
        let pages = self.allocations.iter().flat_map(|a| &a.pages).flatten();
        pages.map(|words| 4 * words.len() as u64).sum()
    }

    /// Index of the allocation that contains `address`.
    #[inline]
    fn find(&self, address: u64) -> Option<usize> {
        let last = self.last.get();
        if let Some(a) = self.allocations.get(last)
            && address.wrapping_sub(a.base) < a.bytes
            && !a.freed
        {
            return Some(last);
        }
        let index = self.allocations.partition_point(|a| a.base <= address).checked_sub(1)?;
        let a = &self.allocations[index];
        if address >= a.end() || a.freed {
            return None;
        }
        self.last.set(index);
        Some(index)
    }

    /// Bounds of the page around `address`: allocation, page, and a window without its words.
    #[inline]
    fn locate(&self, address: u64, size: u64) -> Option<(usize, usize, Window<()>)> {
        let index = self.find(address)?;
        let a = &self.allocations[index];
        let page = ((address - a.base) / PAGE_BYTES) as usize;
        let start = a.base + page as u64 * PAGE_BYTES;
        let bytes = (a.end() - start).min(PAGE_BYTES);
        let limit = (bytes + 1).saturating_sub(size);
        (address - start < limit).then_some((index, page, Window { start, limit, words: () }))
    }

    /// The window for accesses of `size` bytes around `address`; `None` if it is out of bounds or crosses a
    /// page, which an aligned access does not.
    #[inline]
    pub(crate) fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        let (index, page, w) = self.locate(address, size)?;
        Some(Window { start: w.start, limit: w.limit, words: self.allocations[index].page(page) })
    }

    /// The same window for stores; `None` also if kernels may not write there.
    #[inline]
    pub(crate) fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>> {
        let (index, page, w) = self.locate(address, size)?;
        let allocation = &mut self.allocations[index];
        if allocation.read_only {
            return None;
        }
        Some(Window { start: w.start, limit: w.limit, words: allocation.page_mut(page) })
    }

    /// Describes the allocation at or next to `address`, for messages.
    pub fn describe(&self, address: u64) -> String {
        let index = self.allocations.partition_point(|a| a.base <= address);
        let before = index.checked_sub(1).map(|i| &self.allocations[i]);
        let after = self.allocations.get(index);
        let below = before.map(|a| (address - a.base).saturating_sub(a.bytes));
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
        } else if a.freed && address < a.end() {
            format!("it is in {what}, which was freed, at offset {}", address - a.base)
        } else if address < a.end() {
            let note = if a.read_only { ", which is constant" } else { "" };
            format!("it is in {what}{note}, at offset {}", address - a.base)
        } else if address == a.end() {
            format!("nearest is {what}: directly after its last byte")
        } else {
            format!("nearest is {what}: {} past its end", bytes(address - a.end()))
        }
    }

    /// Copies device memory from `address` to `out`.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchAddress`] if not all of it is allocated.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let (index, offset) = self.host_range(address, out.len())?;
        let allocation = &self.allocations[index];
        let (mut at, mut rest) = (offset, out);
        while !rest.is_empty() {
            let page = allocation.page((at / PAGE_BYTES) as usize);
            let skip = (at % PAGE_BYTES) as usize;
            let (now, later) = rest.split_at_mut(rest.len().min(PAGE_BYTES as usize - skip));
            at += now.len() as u64;
            load_bytes(page, skip, now);
            rest = later;
        }
        Ok(())
    }

    /// Copies `data` to device memory at `address`.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchAddress`] if not all of it is allocated.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        let (index, offset) = self.host_range(address, data.len())?;
        let allocation = &mut self.allocations[index];
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let page = (at / PAGE_BYTES) as usize;
            let skip = (at % PAGE_BYTES) as usize;
            let (now, later) = rest.split_at(rest.len().min(PAGE_BYTES as usize - skip));
            match &mut allocation.pages[page] {
                // The page reads as zeros already.
                None if now.iter().all(|&byte| byte == 0) => {}
                // A page that is overwritten completely need not be cleared first.
                new @ None if now.len() == PAGE_BYTES as usize => {
                    let (words, _) = now.as_chunks();
                    *new = Some(words.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect());
                }
                _ => store_bytes(allocation.page_mut(page), skip, now),
            }
            at += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    fn host_range(&self, address: u64, bytes: usize) -> Result<(usize, u64), MemoryError> {
        let missing = || MemoryError::NoSuchAddress(format!("no memory at {address:#x}: {}", self.describe(address)));
        if bytes == 0 && self.allocations.is_empty() {
            return Err(missing());
        }
        let index = self.find(address).ok_or_else(missing)?;
        let a = &self.allocations[index];
        let offset = address - a.base;
        if bytes as u64 > a.bytes - offset {
            let [bytes, size] = [bytes as u64, a.bytes].map(|n| kit::text::counted(n, "byte"));
            let what = format!("{bytes} at offset {offset} do not fit in `{}` of {size}", a.name);
            return Err(MemoryError::NoSuchAddress(what));
        }
        Ok((index, offset))
    }
}

/// Loads bytes from little-endian words, starting at byte `skip`.
fn load_bytes(words: &[u32], skip: usize, out: &mut [u8]) {
    let head = out.len().min(skip.wrapping_neg() % 4);
    let (head, rest) = out.split_at_mut(head);
    let byte = |at: usize| (words[at / 4] >> (at % 4 * 8)) as u8;
    for (i, out) in head.iter_mut().enumerate() {
        *out = byte(skip + i);
    }
    let start = skip + head.len();
    let (whole, tail) = rest.as_chunks_mut::<4>();
    for (bytes, word) in whole.iter_mut().zip(&words[start / 4..]) {
        *bytes = word.to_le_bytes();
    }
    let start = start + 4 * whole.len();
    for (i, out) in tail.iter_mut().enumerate() {
        *out = byte(start + i);
    }
}

/// Stores bytes into little-endian words, starting at byte `skip`.
fn store_bytes(words: &mut [u32], skip: usize, data: &[u8]) {
    let head = data.len().min(skip.wrapping_neg() % 4);
    let (head, rest) = data.split_at(head);
    let put = |word: &mut u32, at: usize, byte: u8| {
        let shift = at % 4 * 8;
        *word = *word & !(0xff << shift) | u32::from(byte) << shift;
    };
    for (i, &byte) in head.iter().enumerate() {
        put(&mut words[(skip + i) / 4], skip + i, byte);
    }
    let start = skip + head.len();
    let (whole, tail) = rest.as_chunks::<4>();
    for (word, bytes) in words[start / 4..].iter_mut().zip(whole) {
        *word = u32::from_le_bytes(*bytes);
    }
    let start = start + 4 * whole.len();
    for (i, &byte) in tail.iter().enumerate() {
        put(&mut words[(start + i) / 4], start + i, byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_across_pages_and_at_odd_places() {
        let mut memory = DeviceMemory::default();
        let base = memory.allocate("a", 200_001).unwrap();
        let data: Vec<u8> = (0..131_077u32).map(|i| (i * 7 + i / 251) as u8).collect();
        for offset in [0, 1, 2, 3, 65_533, 68_924] {
            memory.write(base + offset, &data).unwrap();
            let mut back = vec![0; data.len()];
            memory.read(base + offset, &mut back).unwrap();
            assert!(back == data, "offset {offset}");
        }
        assert!(memory.write(base + 68_925, &data).is_err());
    }

    #[test]
    fn untouched_memory_is_zero_and_costs_nothing() {
        let mut memory = DeviceMemory::default();
        let base = memory.allocate("big", 8 << 30).unwrap();
        let mut out = [1; 9];
        memory.read(base + (7 << 30), &mut out).unwrap();
        assert_eq!((out, memory.resident_bytes()), ([0; 9], 0));
        memory.write(base, &[0; 200_000]).unwrap();
        assert_eq!(memory.resident_bytes(), 0);
        memory.write(base + 65_536, &[1]).unwrap();
        assert_eq!(memory.resident_bytes(), 65_536);
    }

    #[test]
    fn a_missing_address_is_described_by_its_neighbour() {
        let mut memory = DeviceMemory::default();
        assert_eq!(memory.describe(0), "nothing is allocated");
        let base = memory.allocate("x", 100).unwrap();
        assert_eq!(
            memory.describe(base + 104),
            format!("nearest is `x` (100 bytes at {base:#x}): 4 bytes past its end")
        );
        assert!(memory.describe(base - 1).ends_with("1 byte before its start"));
        memory.free(base).unwrap();
        assert!(memory.describe(base + 4).contains("freed, at offset 4"));
        assert!(memory.window(base, 4).is_none());
        assert!(matches!(memory.allocate("y", 1 << 50), Err(MemoryError::Full { .. })));
    }
}
