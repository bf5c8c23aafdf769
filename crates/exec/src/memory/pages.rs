//! An allocation: named bytes in sparse 64 KiB pages of words.

use kit::persist::{Archive, Fresh, Mismatch, Persist};
use std::hash::{Hash, Hasher};

/// Words of a page.
const PAGE_WORDS: usize = 1 << 14;
/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = 4 * PAGE_WORDS as u64;
/// Value of pages that were never written.
pub(super) static ZERO_PAGE: [u32; PAGE_WORDS] = [0; PAGE_WORDS];

/// The largest access of a thread. Pages end at a multiple of it, so that an access that is partly in bounds
/// has all its bytes.
pub(super) const GRANULE_BYTES: u64 = 16;

/// Why an allocation has its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The heap chose them.
    Heap,
    /// A module names them.
    Module,
    /// The memory is the host's.
    Host,
}

/// A piece of device memory.
#[derive(Clone, Debug)]
pub struct DeviceAllocation {
    /// Name in messages.
    pub name: String,
    /// Address of the first byte: a multiple of 256, except of a module's variables.
    pub base: u64,
    /// In bytes.
    pub bytes: u64,
    /// Kernels may not store to it (`.const` variables).
    pub read_only: bool,
    /// Number of the allocation: no other of this memory has it, also after it is freed.
    pub id: u64,
    /// Number of times that the host has written to it, initial contents included.
    pub(crate) host_writes: u64,
    pub(super) origin: Origin,
    pages: Vec<Page>,
    /// A bit for each byte that was written, if that is recorded.
    written: Option<Box<[u64]>>,
    /// Pages that were written in another epoch are yet to be kept ([`DeviceAllocation::keep`]).
    epoch: u32,
    kept: Option<Box<Kept>>,
}

/// State of an allocation when an undo log began: the pages that were written since.
#[derive(Clone, Debug, Default)]
struct Kept {
    pages: Vec<(usize, Page)>,
    written: Option<Box<[u64]>>,
}

/// A page: its words, none if all are zero, and whether it was written since that was last asked.
#[derive(Clone, Debug, Default)]
struct Page {
    words: Option<Box<[u32]>>,
    changed: bool,
    /// The allocation's epoch in which the page was written last.
    epoch: u32,
}

impl DeviceAllocation {
    /// An allocation of zeros.
    pub(super) fn new(name: String, base: u64, bytes: u64, id: u64, origin: Origin) -> Self {
        let pages = vec![Page::default(); page_count(base, bytes) as usize];
        Self {
            name,
            base,
            bytes,
            read_only: false,
            id,
            host_writes: 0,
            origin,
            pages,
            written: None,
            epoch: 0,
            kept: None,
        }
    }

    /// The rest of a freed allocation in its slot: it contains no address.
    pub(super) fn none() -> Self {
        Self::new(String::new(), 0, 0, 0, Origin::Heap)
    }

    /// First address after it.
    pub fn end(&self) -> u64 {
        self.base + self.bytes
    }

    /// Bytes of the first page before the first byte: pages begin at a multiple of the largest access, so that an
    /// aligned access is within one page and its words are the page's, whatever the first address is.
    #[inline]
    fn lead(&self) -> u64 {
        self.base % GRANULE_BYTES
    }

    /// The page of an address that is in bounds, and the address of the first byte of it that is in bounds.
    #[inline]
    pub(super) fn page_of(&self, address: u64) -> (usize, u64) {
        let start = self.base - self.lead();
        let page = (address - start) / PAGE_BYTES;
        (page as usize, (start + page * PAGE_BYTES).max(self.base))
    }

    /// The first address after a page, and not after the allocation.
    #[inline]
    pub(super) fn page_end(&self, page: usize) -> u64 {
        (self.base - self.lead() + (page as u64 + 1) * PAGE_BYTES).min(self.end())
    }

    /// Index in the words of its page of the word around an address that is in bounds.
    #[inline]
    pub(super) fn word_of(&self, address: u64) -> usize {
        ((address - self.base + self.lead()) % PAGE_BYTES / 4) as usize
    }

    fn page_words(&self, page: usize) -> usize {
        let rest = self.lead() + self.bytes - page as u64 * PAGE_BYTES;
        rest.min(PAGE_BYTES).next_multiple_of(GRANULE_BYTES) as usize / 4
    }

    #[inline]
    pub(super) fn page(&self, page: usize) -> &[u32] {
        match &self.pages[page].words {
            Some(words) => words,
            None => &ZERO_PAGE[..self.page_words(page)],
        }
    }

    #[inline]
    pub(super) fn page_mut(&mut self, index: usize) -> &mut [u32] {
        let words = self.page_words(index);
        if self.pages[index].epoch != self.epoch {
            self.keep(index);
        }
        let page = &mut self.pages[index];
        page.changed = true;
        page.words.get_or_insert_with(|| vec![0; words].into())
    }

    /// Keeps a page that is about to be written, if there is an undo log.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, index: usize) {
        let page = &mut self.pages[index];
        if let Some(kept) = &mut self.kept {
            kept.pages.push((index, page.clone()));
        }
        page.epoch = self.epoch;
    }

    /// Begins an undo log: each page is kept before it is written.
    pub(super) fn begin_undo(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.kept = Some(Box::new(Kept { pages: Vec::new(), written: self.written.clone() }));
    }

    /// Ends the undo log: what was written stays.
    pub(super) fn keep_writes(&mut self) {
        self.kept = None;
    }

    /// Ends the undo log: the allocation is as it was when the log began.
    pub(super) fn undo_writes(&mut self) {
        if let Some(kept) = self.kept.take() {
            for (index, page) in kept.pages {
                self.pages[index] = page;
            }
            self.written = kept.written;
        }
    }

    /// Adds the pages that differ from what they were when the undo log began.
    pub(super) fn digest_changes(&self, digest: &mut impl Hasher) {
        let mut kept: Vec<&(usize, Page)> = self.kept.iter().flat_map(|kept| &kept.pages).collect();
        kept.sort_unstable_by_key(|(index, _)| *index);
        for (index, was) in kept {
            let now = self.page(*index);
            if was.words.as_deref().map_or(now.iter().any(|&word| word != 0), |was| was != now) {
                (self.base, index, now).hash(digest);
            }
        }
    }

    /// Records from now on which bytes are written.
    pub(super) fn track_writes(&mut self) {
        self.written = Some(vec![0; self.bytes.div_ceil(64) as usize].into());
    }

    /// Whether all of the bytes that are in bounds were written, as far as that is recorded.
    pub(super) fn is_written(&self, offset: u64, bytes: u64) -> bool {
        let Some(written) = &self.written else { return true };
        let end = (offset + bytes).min(self.bytes);
        (offset..end).all(|byte| written[(byte / 64) as usize] >> (byte % 64) & 1 == 1)
    }

    /// Records that the bytes were written.
    pub(super) fn note_written(&mut self, offset: u64, bytes: u64) {
        let Some(written) = &mut self.written else { return };
        let (mut at, end) = (offset, (offset + bytes).min(self.bytes));
        while at < end {
            let next = end.min(at / 64 * 64 + 64);
            written[(at / 64) as usize] |= (u64::MAX >> (64 - (next - at))) << (at % 64);
            at = next;
        }
    }

    /// Bytes of host memory that it takes.
    pub(super) fn resident_bytes(&self) -> u64 {
        self.pages.iter().filter_map(|page| page.words.as_ref()).map(|words| 4 * words.len() as u64).sum()
    }

    /// Offset and size of each page that was written since [`DeviceAllocation::clear_changed`].
    pub(super) fn changed(&self) -> impl Iterator<Item = (u64, u64)> {
        let page = |(i, _)| {
            let offset = (i as u64 * PAGE_BYTES).saturating_sub(self.lead());
            (offset, self.page_end(i) - self.base - offset)
        };
        self.pages.iter().enumerate().filter(|(_, page)| page.changed).map(page)
    }

    pub(super) fn clear_changed(&mut self) {
        self.pages.iter_mut().for_each(|page| page.changed = false);
    }

    /// Copies the bytes from `offset` on, which are in bounds.
    pub(super) fn read(&self, offset: u64, mut out: &mut [u8]) {
        let mut at = self.lead() + offset;
        while !out.is_empty() {
            let skip = (at % PAGE_BYTES) as usize;
            let (now, later) = out.split_at_mut(out.len().min(PAGE_BYTES as usize - skip));
            match &self.pages[(at / PAGE_BYTES) as usize].words {
                Some(words) => load_bytes(words, skip, now),
                None => now.fill(0),
            }
            at += now.len() as u64;
            out = later;
        }
    }

    /// Writes `data` from `offset` on, which is in bounds.
    pub(super) fn write(&mut self, offset: u64, mut data: &[u8]) {
        let mut at = self.lead() + offset;
        while !data.is_empty() {
            let index = (at / PAGE_BYTES) as usize;
            let skip = (at % PAGE_BYTES) as usize;
            let (now, later) = data.split_at(data.len().min(PAGE_BYTES as usize - skip));
            if self.pages[index].epoch != self.epoch {
                self.keep(index);
            }
            let page = &mut self.pages[index];
            match &mut page.words {
                // The page reads as zeros already.
                None if now.iter().all(|&byte| byte == 0) => {}
                // A page that is overwritten completely need not be cleared first.
                new @ None if now.len() == PAGE_BYTES as usize => {
                    let (words, _) = now.as_chunks();
                    *new = Some(words.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect());
                    page.changed = true;
                }
                _ => store_bytes(self.page_mut(index), skip, now),
            }
            at += now.len() as u64;
            data = later;
        }
    }

    /// Sets `bytes` bytes from `offset` on, which are in bounds, to repetitions of `word`, whose bytes have
    /// the places that they have in a word of memory.
    pub(super) fn fill(&mut self, offset: u64, word: u32, bytes: u64) {
        let (start, limit) = (self.lead(), self.lead() + self.bytes);
        let (mut at, end) = (start + offset, start + offset + bytes);
        while at < end {
            let index = (at / PAGE_BYTES) as usize;
            let last = end.min((index as u64 + 1) * PAGE_BYTES);
            // All of the page, up to the end of the allocation.
            let from_start = at == start || at.is_multiple_of(PAGE_BYTES);
            if word == 0 && from_start && (last == limit || last.is_multiple_of(PAGE_BYTES)) {
                if self.pages[index].epoch != self.epoch {
                    self.keep(index);
                }
                let page = &mut self.pages[index];
                page.changed |= page.words.take().is_some();
            } else if word != 0 || self.pages[index].words.is_some() {
                let skip = (at % PAGE_BYTES) as usize;
                fill_bytes(self.page_mut(index), skip, skip + (last - at) as usize, word);
            }
            at = last;
        }
    }
}

/// Pages of an allocation.
fn page_count(base: u64, bytes: u64) -> u64 {
    (base % GRANULE_BYTES + bytes).div_ceil(PAGE_BYTES)
}

/// Fills the bytes `start..end` of little-endian words with the bytes of `word`.
fn fill_bytes(words: &mut [u32], start: usize, end: usize, word: u32) {
    let pattern = word.to_le_bytes();
    let (head, tail) = (start.next_multiple_of(4).min(end), end / 4 * 4);
    let by_byte = |words: &mut [u32], from: usize, to: usize| {
        (from..to).for_each(|at| store_bytes(words, at, &[pattern[at % 4]]));
    };
    by_byte(words, start, head);
    if head < tail {
        words[head / 4..tail / 4].fill(word);
    }
    by_byte(words, tail.max(head), end);
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

/// A page of zeros takes one byte.
impl Persist for DeviceAllocation {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        // Undo logs have ended.
        let Self { name, base, bytes, read_only, id, host_writes, origin, pages, written, epoch: _, kept: _ } = self;
        if written.is_some() {
            return Err(Mismatch::new("it is recorded which bytes of memory were written"));
        }
        name.persist(archive)?;
        base.persist(archive)?;
        bytes.persist(archive)?;
        read_only.persist(archive)?;
        id.persist(archive)?;
        host_writes.persist(archive)?;
        origin.persist(archive)?;
        let mut count = pages.len();
        archive.length(&mut count)?;
        let end = base.checked_add(*bytes).filter(|end| end.checked_add(PAGE_BYTES).is_some());
        if end.is_none() || count as u64 != page_count(*base, *bytes) {
            return Err(archive.wrong("an impossible allocation"));
        }
        pages.resize(count, Page::default());
        for page in 0..count {
            let words = self.page_words(page);
            let Page { words: contents, changed, epoch: _ } = &mut self.pages[page];
            let mut has_contents = contents.as_ref().is_some_and(|words| words.iter().any(|&word| word != 0));
            has_contents.persist(archive)?;
            changed.persist(archive)?;
            if has_contents {
                archive.words(contents.get_or_insert_with(|| vec![0; words].into()))?;
            } else if archive.is_reading() {
                *contents = None;
            }
        }
        Ok(())
    }
}

impl Fresh for DeviceAllocation {
    fn fresh() -> Self {
        Self::none()
    }
}

kit::persist! {
    enum Origin { Heap = 0, Module = 1, Host = 2 }
}
