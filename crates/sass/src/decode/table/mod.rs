//! The instruction table: one row per instruction form.
//!
//! Bits 0 to 8 choose the operation, bits 9 to 11 the form: where the sources are.
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
//! The guard predicate is at 12, the destination at 16, the first source at 24, the control bits from
//! 105 on. Each row's modifiers and operands stand in the order of the text.

mod control;
mod convert;
mod float;
mod half;
mod integer;
mod memory;
mod moves;
mod texture;
mod uniform;

use super::row::{Field, Mod, RESERVED, Row, Show, Slot, Style, What, bits, flag, modifier, shown, slot};

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let families = [float::ROWS, half::ROWS, integer::ROWS, convert::ROWS, moves::ROWS, memory::ROWS, texture::ROWS];
    families.into_iter().chain([control::ROWS, uniform::ROWS]).flatten()
}

/// Opcode of `CALL.ABS`.
pub(super) const CALL_ABSOLUTE: u16 = 0x143;
/// Forms of two-source operations whose second source is B.
const AB: &[u8] = &[1, 4, 5, 6];
/// Forms of two-source operations whose second source is C.
const AC: &[u8] = &[1, 2, 3, 7];
/// Forms of three-source operations.
const ABC: &[u8] = &[1, 2, 3, 4, 5, 6, 7];

const ROUND: &[&str] = &["", ".RM", ".RP", ".RZ"];
const COMPARE_INT: &[&str] = &[".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".T"];
const COMPARE: &[&str] = &[
    ".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU", ".GTU", ".NEU", ".GEU",
    ".T",
];
const COMBINE: &[&str] = &[".AND", ".OR", ".XOR", RESERVED];

/// Bits that are 0 in all code that is known: what they mean is not, so that others are refused.
const fn unused(field: Field) -> Mod {
    modifier("unused", field, if field.len == 1 { &["", RESERVED] } else { &[""] })
}

/// `LEA` sign-extends its first source, or has a third one above it: only that in forms 2, 3 and 7.
const LEA_SIGN: Mod = flag("sign extend", 73, &["", ".SX32"]);
const LEA_SIGN_FORM: Mod =
    modifier("sign extend", bits(9, 3), &["", "", RESERVED, RESERVED, "", "", "", RESERVED]).show(on(73));

/// General destination register.
const DST: Slot = slot(What::Reg(16));
/// Uniform destination register.
const UDST: Slot = slot(What::UReg(16));
/// First predicate destination, left out if it is PT.
const PDST: Slot = shown(What::Pred(81, 0), Show::UnlessTrue);
/// Second predicate destination, left out if it is PT.
const PDST2: Slot = shown(What::Pred(84, 0), Show::UnlessTrue);
/// First predicate destination, always written.
const P81: Slot = slot(What::Pred(81, 0));
/// Second predicate destination, always written.
const P84: Slot = slot(What::Pred(84, 0));
/// Predicate source.
const P87: Slot = slot(What::Pred(87, 90));
/// Predicate source, left out if it is PT.
const P87_OPTIONAL: Slot = shown(What::Pred(87, 90), Show::UnlessTrue);

const fn a(style: Style) -> Slot {
    slot(What::A(style))
}

const fn b(style: Style) -> Slot {
    slot(What::B(style))
}

const fn c(style: Style) -> Slot {
    slot(What::C(style))
}

const fn late(style: Style) -> Slot {
    slot(What::Late(style))
}

const fn word(style: Style) -> Slot {
    slot(What::Word(style))
}

const fn imm(lo: u8, len: u8) -> Slot {
    slot(What::Imm(bits(lo, len)))
}

const fn on(bit: u8) -> Show {
    Show::When(bits(bit, 1), 1)
}

const fn off(bit: u8) -> Show {
    Show::When(bits(bit, 1), 0)
}
