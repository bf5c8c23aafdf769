//! Lines that repeat an earlier line.
//!
//! A warp that executes an instruction usually leaves the same line as the warp before it, except for the
//! address of its first lane. Comparing the two is many times faster than parsing one.

use crate::line::{ADDRESS_BITS, Dynamic, Places, leading_hexadecimal};
use crate::program::InstIndex;
use kit::LaneMask;
use std::ops::Range;

/// Maximum length of a remembered line.
const MAX_BYTES: usize = 1 << 10;

/// Maximum number of remembered forms of an instruction.
pub(crate) const MAX_FORMS: usize = 16;

/// Range of an access's addresses relative to the first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The least, 0 or less.
    pub low: i64,
    /// The greatest, 0 or more.
    pub high: i64,
    /// Addresses below this are suspicious.
    pub odd_below: u64,
}

impl Reach {
    /// Whether some address is suspicious if the first one is `base`. `None` if one of them is not an address.
    #[inline]
    pub fn of(&self, base: u64) -> Option<bool> {
        let lowest = u64::try_from(base as i64 + self.low).ok()?;
        ((base as i64 + self.high) >> ADDRESS_BITS == 0).then_some(lowest < self.odd_below)
    }
}

/// A line that repeats all of the remembered one but the first address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Same {
    /// Length of the line.
    pub bytes: usize,
    /// Address of the first active lane, if there are addresses.
    pub base: Option<u64>,
    /// Some address is below [`Reach::odd_below`].
    pub odd: bool,
}

/// The part of another line that repeats the remembered one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Again {
    /// All but the mask, on which nothing else depends.
    Plain {
        mask: LaneMask,
        /// Length of the line.
        bytes: usize,
    },
    /// The part before the width, except the mask.
    Instruction { mask: LaneMask, places: Places },
}

/// How a line that repeats all but the first address can be decoded without parsing.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// It is not a memory access.
    Plain,
    /// It has no addresses.
    Whole,
    /// Its addresses are distances from the first, whose digits are at this position.
    Moving(Range<usize>, Reach),
    /// It must be parsed.
    Not,
}

/// The last line of a static instruction, and its decoded form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeat {
    /// From the program counter to the end of the line, without the digits of the first address; empty if
    /// there is no line to compare with.
    text: Vec<u8>,
    /// Position in `text` of these digits; its length if there were none.
    head: usize,
    reach: Option<Reach>,
    /// The mask may differ.
    plain: bool,
    /// Positions in `text`, then the width of the access.
    places: Places,
    pub width: u64,
    /// Upper half of the first address, on which the form depends.
    pub high: u32,
    /// Index of the decoded form, then the CTA or run of CTAs in which it is valid.
    pub form: u32,
    pub epoch: u32,
    /// Forms in the same CTA or run of CTAs, that one among them, with their masks, in which most differ: the instruction
    /// often returns to one of them.
    pub forms: Vec<(LaneMask, u32)>,
    /// Number of active lanes.
    pub lanes: u32,
    /// The instruction should have addresses, but the trace lacks them.
    pub no_address: bool,
    /// Number of lines of the instruction so far.
    pub count: u64,
    /// The instruction that followed the last time.
    pub next: InstIndex,
}

impl Repeat {
    /// An instruction without lines so far, with `next` expected after it.
    pub fn before(next: InstIndex) -> Self {
        Self { next, ..Self::default() }
    }

    /// Discards the remembered line.
    pub fn forget(&mut self) {
        self.text.clear();
        (self.head, self.reach, self.plain, self.places) = (0, None, false, Places::default());
    }

    /// Replaces the remembered line.
    pub fn remember(&mut self, line: &[u8], said: &Dynamic<'_>, known: &Known) {
        let start = said.places.start;
        self.forget();
        if line.len() - start > MAX_BYTES || !line.ends_with(b"\n") {
            return;
        }
        match known {
            Known::Not => self.text.extend_from_slice(&line[start..said.places.rest]),
            Known::Plain | Known::Whole => {
                self.plain = matches!(known, Known::Plain);
                self.text.extend_from_slice(&line[start..]);
                self.head = self.text.len();
            }
            Known::Moving(digits, reach) => {
                self.text.extend_from_slice(&line[start..digits.start]);
                (self.head, self.reach) = (self.text.len(), Some(*reach));
                self.text.extend_from_slice(&line[digits.end..]);
            }
        }
        (self.places, self.width) = (said.places.shifted_back(start), said.width);
    }

    /// Remembers the same line with the mask in `line`, which `compare` has accepted.
    #[inline]
    pub fn remember_mask(&mut self, line: &[u8]) {
        let Places { mask: (from, to), .. } = self.places;
        self.text[from..to].copy_from_slice(&line[from..to]);
    }

    /// The line at the start of `text`, if it repeats all but the first address.
    #[inline]
    pub fn same(&self, text: &[u8]) -> Option<Same> {
        let (head, tail) = self.text.split_at(self.head);
        let rest = text.strip_prefix(head)?;
        let Some(reach) = &self.reach else {
            return (!head.is_empty()).then_some(Same { bytes: head.len(), base: None, odd: false });
        };
        let (base, digits) = leading_hexadecimal(rest)?;
        if !rest[digits..].starts_with(tail) || base >> 32 != u64::from(self.high) {
            return None;
        }
        Some(Same { bytes: self.text.len() + digits, base: Some(base), odd: reach.of(base)? })
    }

    /// The parts of the line before and after the digits of the first address, and the reach if there is one. `None` if
    /// the line must be parsed, or lacks its addresses.
    pub fn parts(&self) -> Option<(&[u8], &[u8], Option<Reach>)> {
        let is_known = self.reach.is_some() || self.head != 0;
        let (head, tail) = self.text.split_at(self.head);
        (is_known && !self.no_address).then_some((head, tail, self.reach))
    }

    /// Which part the line at `start` in `text` repeats. The decoded form can be used only if
    /// `form_is_known`.
    pub fn compare(&self, text: &[u8], start: usize, form_is_known: bool) -> Option<Again> {
        let Places { mask: (from, to), rest, .. } = self.places;
        let after_pc = text[start..].strip_prefix(&self.text[..from])?;
        let (mask, digits) = leading_hexadecimal(after_pc)?;
        let after_width = after_pc[digits..].strip_prefix(&self.text[to..rest])?;
        let mask = LaneMask::try_from(mask).ok()?;
        if self.plain && form_is_known && digits == to - from && after_width.starts_with(&self.text[rest..]) {
            return Some(Again::Plain { mask, bytes: self.text.len() });
        }
        let at = text.len() - after_pc.len();
        let places = Places { start, mask: (at, at + digits), rest: text.len() - after_width.len() };
        let ends = rest > 0 && after_width.first().is_some_and(|&c| c <= b' ');
        ends.then_some(Again::Instruction { mask, places })
    }
}
