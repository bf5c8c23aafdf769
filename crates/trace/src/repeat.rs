//! Lines that say again what another one said.
//!
//! A warp that executes an instruction most often leaves the line that the warp before it left, but
//! for the address of its first lane. To compare the two is many times quicker than to take one
//! apart.

use crate::line::{ADDRESS_BITS, leading_hexadecimal};
use crate::program::InstIndex;

/// Longest line that is remembered.
const MAX_BYTES: usize = 1 << 10;

/// How far an access's addresses lie from the first one, and which of them are odd.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The least, 0 or less.
    pub low: i64,
    /// The greatest, 0 or more.
    pub high: i64,
    /// An address below this is odd.
    pub odd_below: u64,
}

/// What a line says again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    /// Bytes of the line.
    pub bytes: usize,
    /// Address of the first active lane, if there are addresses.
    pub base: Option<u64>,
    /// An address lies below [`Reach::odd_below`].
    pub odd: bool,
}

/// The last line of a static instruction, and what was made of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeat {
    /// From the program counter to the end of the line, without the digits of the first address;
    /// empty if there is nothing to compare with.
    text: Vec<u8>,
    /// Where in `text` those digits were; all of it, if there were none.
    head: usize,
    reach: Option<Reach>,
    /// What was made of it, by its number, and in which CTA or run of CTAs.
    pub form: u32,
    pub epoch: u32,
    /// Active lanes.
    pub lanes: u32,
    /// The instruction has addresses, but they are not given.
    pub no_address: bool,
    /// Lines of the instruction so far.
    pub count: u64,
    /// Which instruction came next, the last time.
    pub next: InstIndex,
}

impl Repeat {
    /// No line so far of an instruction behind which `next` is expected.
    pub fn before(next: InstIndex) -> Self {
        Self { next, ..Self::default() }
    }

    /// Forgets the line.
    pub fn forget(&mut self) {
        self.text.clear();
        (self.head, self.reach) = (0, None);
    }

    /// Remembers a line without addresses.
    pub fn remember(&mut self, line: &[u8]) {
        self.forget();
        if line.len() <= MAX_BYTES && line.ends_with(b"\n") {
            self.text.extend_from_slice(line);
            self.head = line.len();
        }
    }

    /// Remembers a line with addresses: what comes before the digits of the first one, and after them.
    pub fn remember_around(&mut self, head: &[u8], tail: &[u8], reach: Reach) {
        self.forget();
        if head.len() + tail.len() <= MAX_BYTES && tail.ends_with(b"\n") {
            self.text.extend_from_slice(head);
            self.text.extend_from_slice(tail);
            (self.head, self.reach) = (head.len(), Some(reach));
        }
    }

    /// Whether `text` begins with the line again, with whatever first address.
    #[inline]
    pub fn matches(&self, text: &[u8]) -> Option<Again> {
        let (head, tail) = self.text.split_at(self.head);
        let rest = text.strip_prefix(head)?;
        let Some(reach) = &self.reach else {
            return (!head.is_empty()).then_some(Again { bytes: head.len(), base: None, odd: false });
        };
        let (base, digits) = leading_hexadecimal(rest)?;
        if !rest[digits..].starts_with(tail) || base >> ADDRESS_BITS != 0 {
            return None;
        }
        let lowest = u64::try_from(base as i64 + reach.low).ok()?;
        if (base as i64 + reach.high) >> ADDRESS_BITS != 0 {
            return None;
        }
        Some(Again { bytes: self.text.len() + digits, base: Some(base), odd: lowest < reach.odd_below })
    }
}
