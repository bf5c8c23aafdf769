//! Fields of instruction words, and conditions on them.

/// A field: `len` bits of the instruction word starting at bit `lo`, below `len_high` bits starting at bit
/// `lo_high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Field {
    pub lo: u8,
    pub len: u8,
    /// Lowest bit of the upper part.
    pub lo_high: u8,
    /// Number of bits of the upper part, which is 0 in most fields.
    pub len_high: u8,
}

/// A field without an upper part.
pub const fn bits(lo: u8, len: u8) -> Field {
    Field { lo, len, lo_high: 0, len_high: 0 }
}

/// A field in two parts, the low one first.
pub const fn split(lo: u8, len: u8, lo_high: u8, len_high: u8) -> Field {
    Field { lo, len, lo_high, len_high }
}

impl Field {
    /// The field's value in a word.
    pub const fn get(self, word: u128) -> u64 {
        let low = (word >> self.lo) & ((1 << self.len) - 1);
        let high = (word >> self.lo_high) & ((1 << self.len_high) - 1);
        (low | high << self.len) as u64
    }

    /// The bits that the field occupies.
    pub const fn mask(self) -> u128 {
        (((1 << self.len) - 1) << self.lo) | (((1 << self.len_high) - 1) << self.lo_high)
    }
}

/// Condition under which something is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Show {
    Always,
    /// Never: the text omits the operand.
    Never,
    /// Unless the predicate is a plain PT.
    UnlessTrue,
    /// Unless the field has this value.
    Unless(Field, u64),
    /// When the field has this value.
    When(Field, u64),
}
