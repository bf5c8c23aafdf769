//! Memory near allocations that belongs to none: what programs that leave their buffers by mistake access.
//!
//! Hardware maps memory in pages of 2 MiB (CUDA driver API, `cuMemGetAllocationGranularity`), so that such an
//! access faults only where no allocation is in its page.

use super::pages::{GRANULE_BYTES, ZERO_PAGE};
use kit::persist::{Archive, Mismatch, Persist};
use std::collections::BTreeMap;

/// Bytes that hardware maps together.
pub(super) const MAPPED_BYTES: u64 = 2 << 20;
/// Bytes of a page here.
const PAGE_BYTES: u64 = 4096;

/// Effect of an access by a kernel to global memory outside all allocations, or to shared memory outside what its
/// CTA has but within its last allocation unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutOfBounds {
    /// It is a fault.
    #[default]
    Error,
    /// Within the 2 MiB pages that allocations touch, and those beside them, it is as harmless as on hardware,
    /// and is reported.
    Warn,
    /// The same without a report.
    Allow,
}

impl OutOfBounds {
    /// Names and values, for options.
    pub const CHOICES: [(&str, Self); 3] = [("error", Self::Error), ("warn", Self::Warn), ("allow", Self::Allow)];
}

impl std::str::FromStr for OutOfBounds {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let choice = Self::CHOICES.iter().find(|choice| choice.0 == name);
        choice.map(|choice| choice.1).ok_or_else(|| format!("`{name}` is not one of error, warn, allow"))
    }
}

/// Contents outside allocations.
#[derive(Debug, Default)]
pub(super) struct Stray {
    pub policy: OutOfBounds,
    /// By address divided by their size.
    pages: BTreeMap<u64, Box<[u32]>>,
    /// The same when an undo log began.
    kept: Option<BTreeMap<u64, Box<[u32]>>>,
}

/// Words of a granule, and the first of them in its page.
pub(super) const GRANULE_WORDS: usize = GRANULE_BYTES as usize / 4;

const fn word_of(address: u64) -> usize {
    (address % PAGE_BYTES / GRANULE_BYTES) as usize * GRANULE_WORDS
}

impl Stray {
    /// The granule around `address`.
    pub fn words(&self, address: u64) -> &[u32] {
        let at = word_of(address);
        let page = self.pages.get(&(address / PAGE_BYTES)).map_or(&ZERO_PAGE[..], |page| page);
        &page[at..at + GRANULE_WORDS]
    }

    /// The same for stores.
    pub fn words_mut(&mut self, address: u64) -> &mut [u32] {
        let new = || vec![0; PAGE_BYTES as usize / 4].into();
        let at = word_of(address);
        &mut self.pages.entry(address / PAGE_BYTES).or_insert_with(new)[at..at + GRANULE_WORDS]
    }

    /// Begins an undo log.
    pub fn begin_undo(&mut self) {
        self.kept = Some(self.pages.clone());
    }

    /// Ends the undo log; what was written since is kept or undone.
    pub fn end_undo(&mut self, keeps: bool) {
        if let Some(kept) = self.kept.take().filter(|_| !keeps) {
            self.pages = kept;
        }
    }
}

impl Persist for Stray {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut pages = std::mem::take(&mut self.pages).into_iter().map(|(at, words)| (at, words.into_vec())).collect();
        Vec::<(u64, Vec<u32>)>::persist(&mut pages, archive)?;
        if pages.iter().any(|(_, words)| words.len() != PAGE_BYTES as usize / 4) {
            return Err(archive.wrong("a page of another size"));
        }
        self.pages = pages.into_iter().map(|(at, words)| (at, words.into())).collect();
        Ok(())
    }
}
