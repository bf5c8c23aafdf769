//! The instruction table: one row per instruction form.
//!
//! Bits 0 to 8 select the operation, bits 9 to 11 the form, which gives the positions of the sources.
//!
//! | form | second source (B) | third source (C) |
//! | --- | --- | --- |
//! | 1 | register at 32 | register at 64 |
//! | 2 | register at 64 | immediate at 32 |
//! | 3 | register at 64 | constant bank at 32 |
//! | 4 | immediate at 32 | register at 64 |
//! | 5 | constant bank at 32 | register at 64 |
//! | 6 | uniform register at 32 | register at 64 |
//! | 7 | register at 64 | uniform register at 32 |
//!
//! The guard predicate is at bit 12, the destination at 16, the first source at 24; the control bits start at
//! 105. Modifiers and operands of a row are in the order of the text.

mod async_copy;
mod atomics;
mod control;
mod convert;
mod float;
mod group;
mod half;
mod integer;
mod memory;
mod moves;
mod parts;
mod texture;
mod uniform;

use super::row::Row;
pub(super) use parts::CALL_ABSOLUTE;

/// The rows of all families.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let families = [float::ROWS, half::ROWS, integer::ROWS, convert::ROWS, moves::ROWS, memory::ROWS, atomics::ROWS];
    let rest = [async_copy::ROWS, group::ROWS, texture::ROWS, control::ROWS, uniform::ROWS];
    families.into_iter().chain(rest).flatten()
}
