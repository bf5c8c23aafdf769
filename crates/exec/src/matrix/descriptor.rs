//! Matrix descriptors of `wgmma`: where a factor is in shared memory (PTX ISA, "Matrix Descriptor Format"; the meaning of
//! the offsets by layout is in CUTLASS's `cute/atom/mma_traits_sm90_gmma.hpp`).
//!
//! A factor consists of units of 16 bytes that are adjacent along K (K-major) or along M or N (MN-major). A *span* is as
//! many units as the layout swizzles together: 1, 2, 4 or 8. Eight spans, one for each of eight rows (K-major) or of eight
//! values of k (MN-major), are adjacent; then an offset leads to the next eight.
//!
//! | layout | next span along the adjacent units | next eight spans |
//! | --- | --- | --- |
//! | K-major, none | leading offset | stride offset |
//! | K-major, swizzled | does not occur: a factor is within one span | stride offset |
//! | MN-major, none | stride offset | leading offset |
//! | MN-major, swizzled | leading offset | stride offset |
//!
//! Swizzling replaces bits 4 and following of an address by their exclusive or with bits 7 and following: one, two or
//! three bits. It is a function of the address, as in copies of tensors (CUDA programming guide, "Swizzle Modes"), so that
//! a start within a span selects later values of k, and a factor may start at any row of the pattern: CUTLASS aligns its
//! buffers to 128 bytes only and leaves the base offset 0.
//!
//! The manual is silent on two points. The swizzle of a matrix with a base offset counts from the offset. Bits outside all
//! fields must be 0: only an address or an offset beyond its field sets them.

/// Bytes of a unit.
pub const UNIT_BYTES: u32 = 16;
/// Rows, or values of k, whose spans are adjacent.
const TOGETHER: u32 = 8;

/// The direction along which elements of a unit are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// Along the sum.
    K,
    /// Along the rows of A or the columns of B.
    Mn,
}

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Descriptor {
    pub start_address: u32,
    pub leading_bytes: u32,
    pub stride_bytes: u32,
    pub base_offset: u32,
    /// Units that are swizzled together: 1, 2, 4 or 8.
    pub span: u32,
}

impl Descriptor {
    /// Decodes `bits`.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn of(bits: u64) -> Result<Self, String> {
        let field = |lo: u32, len: u32| (bits >> lo & ((1 << len) - 1)) as u32;
        for (lo, len) in [(14, 2), (30, 2), (46, 3), (52, 10)] {
            if field(lo, len) != 0 {
                let last = lo + len - 1;
                return Err(format!(
                    "bits {lo} to {last}, which are in no field, are {:#x}, must be 0",
                    field(lo, len)
                ));
            }
        }
        let descriptor = Self {
            start_address: field(0, 14) * UNIT_BYTES,
            leading_bytes: field(16, 14) * UNIT_BYTES,
            stride_bytes: field(32, 14) * UNIT_BYTES,
            base_offset: field(49, 3),
            span: [1, 8, 4, 2][field(62, 2) as usize],
        };
        if descriptor.span == 1 && descriptor.base_offset != 0 {
            return Err(format!("base offset is {}, must be 0 without swizzling", descriptor.base_offset));
        }
        Ok(descriptor)
    }

    /// Checks that a K-major factor with `units` units in a row is within one span.
    ///
    /// # Errors
    /// Names the layout.
    pub fn check_row(&self, units: u32) -> Result<(), String> {
        if self.span > 1 && self.span < units {
            let (bytes, row) = (self.span * UNIT_BYTES, units * UNIT_BYTES);
            return Err(format!("layout: swizzling of {bytes} bytes with rows of {row} bytes has no published order"));
        }
        Ok(())
    }

    /// Address of the unit that is number `unit` along the adjacent units, for number `other` in the other direction: a
    /// row or column if K-major, a value of k if MN-major.
    pub const fn address(&self, major: Major, unit: u32, other: u32) -> u32 {
        let (next_span, next_eight) = match (major, self.span) {
            (Major::K, _) | (Major::Mn, 2..) => (self.leading_bytes, self.stride_bytes),
            (Major::Mn, _) => (self.stride_bytes, self.leading_bytes),
        };
        let (span, within) = match (major, self.span) {
            (Major::K, 2..) => (0, unit),
            _ => (unit / self.span, unit % self.span),
        };
        let spans = other % TOGETHER * self.span;
        let linear =
            self.start_address + span * next_span + other / TOGETHER * next_eight + (spans + within) * UNIT_BYTES;
        // The row within the pattern that starts at the base offset.
        let row = (linear >> 7).wrapping_sub(self.base_offset) & (self.span - 1);
        linear ^ (row << 4)
    }
}
