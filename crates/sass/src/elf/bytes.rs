//! Bounds-checked reading of little-endian data.

use super::{ElfError, Problem};

/// A part of a file with its position, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    data: &'a [u8],
    /// Offset of `data` in the file.
    base: usize,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Bytes<'a> {
        Bytes { data, base: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    pub(crate) fn offset(&self) -> usize {
        self.base
    }

    pub(crate) fn data(&self) -> &'a [u8] {
        self.data
    }

    /// `len` bytes starting at `at`; messages call them `what`.
    pub(crate) fn part(&self, at: u64, len: u64, what: &'static str) -> Result<Bytes<'a>, ElfError> {
        let error = || ElfError { offset: (self.base as u64).saturating_add(at), problem: Problem::Truncated(what) };
        let end = at.checked_add(len).ok_or_else(error)?;
        if end > self.data.len() as u64 {
            return Err(error());
        }
        Ok(Bytes { data: &self.data[at as usize..end as usize], base: self.base + at as usize })
    }

    fn array<const N: usize>(&self, at: usize, what: &'static str) -> Result<[u8; N], ElfError> {
        let part = self.part(at as u64, N as u64, what)?;
        Ok(part.data.try_into().expect("the part has N bytes"))
    }

    pub(crate) fn u8(&self, at: usize, what: &'static str) -> Result<u8, ElfError> {
        Ok(self.array::<1>(at, what)?[0])
    }

    pub(crate) fn u16(&self, at: usize, what: &'static str) -> Result<u16, ElfError> {
        Ok(u16::from_le_bytes(self.array(at, what)?))
    }

    pub(crate) fn u32(&self, at: usize, what: &'static str) -> Result<u32, ElfError> {
        Ok(u32::from_le_bytes(self.array(at, what)?))
    }

    pub(crate) fn u64(&self, at: usize, what: &'static str) -> Result<u64, ElfError> {
        Ok(u64::from_le_bytes(self.array(at, what)?))
    }

    /// The zero-terminated name at `at`.
    pub(crate) fn name(&self, at: u32) -> Result<&'a str, ElfError> {
        let error = |problem| ElfError { offset: (self.base as u64).saturating_add(at.into()), problem };
        let rest = self.data.get(at as usize..).ok_or_else(|| error(Problem::Truncated("name")))?;
        let end = rest.iter().position(|&byte| byte == 0).ok_or_else(|| error(Problem::Truncated("name")))?;
        std::str::from_utf8(&rest[..end]).map_err(|_| error(Problem::BadName))
    }
}
