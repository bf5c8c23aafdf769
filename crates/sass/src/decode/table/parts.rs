//! Shared parts of the rows of several families: forms, texts of modifiers, operand slots.

pub(super) use crate::decode::modifier::{choice, key};
pub(super) use crate::decode::row::{
    Field, Mod, RESERVED, Row, Show, Slot, Style, What, bits, flag, modifier, shown, slot,
};

/// Opcode of `CALL.ABS`.
pub const CALL_ABSOLUTE: u16 = 0x143;
/// Forms of two-source operations whose second source is B.
pub(super) const AB: &[u8] = &[1, 4, 5, 6];
/// Forms of two-source operations whose second source is C.
pub(super) const AC: &[u8] = &[1, 2, 3, 7];
/// Forms of three-source operations.
pub(super) const ABC: &[u8] = &[1, 2, 3, 4, 5, 6, 7];

/// Rounding of a result.
pub(super) const fn round(field: Field) -> Mod {
    choice!(ROUND: Round, field, [(Nearest "") (Down ".RM") (Up ".RP") (Zero ".RZ")])
}

/// Relation of integers.
pub(super) const fn compare_int(field: Field) -> Mod {
    choice!(COMPARE: Compare, field, [
        (Never ".F") (Lt ".LT") (Eq ".EQ") (Le ".LE") (Gt ".GT") (Ne ".NE") (Ge ".GE") (Always ".T")
    ])
}

/// Relation of numbers that may be NaN.
pub(super) const fn compare(field: Field) -> Mod {
    choice!(COMPARE: Compare, field, [
        (Never ".F") (Lt ".LT") (Eq ".EQ") (Le ".LE") (Gt ".GT") (Ne ".NE") (Ge ".GE") (Num ".NUM") (Nan ".NAN")
        (Ltu ".LTU") (Equ ".EQU") (Leu ".LEU") (Gtu ".GTU") (Neu ".NEU") (Geu ".GEU") (Always ".T")
    ])
}

/// How the relation is combined with a predicate.
pub(super) const fn combine(field: Field) -> Mod {
    choice!(COMBINE: Combine, field, [(And ".AND") (Or ".OR") (Xor ".XOR") _])
}

/// Bits that are 0 in all known code. Their meaning is not known, so other values are refused.
pub(super) const fn unused(field: Field) -> Mod {
    modifier("unused", field, if field.len == 1 { &["", RESERVED] } else { &[""] })
}

/// `LEA` sign-extends its first source or has a third one above it; in forms 2, 3 and 7 only the latter.
/// Forms of `LEA` in which b has a sign bit of its own, and those in which c takes its place: bit 75, where b's sign
/// would be, is then the lowest bit of the shift only.
pub(super) const LEA_SIGNED: &[u8] = &[1, 4, 5, 6];
pub(super) const LEA_UNSIGNED: &[u8] = &[2, 3, 7];
pub(super) const LEA_SIGN: Mod = key::SIGN_EXTEND.bit(73, &["", ".SX32"]);
pub(super) const LEA_SIGN_FORM: Mod =
    modifier("sign extend", bits(9, 3), &["", "", RESERVED, RESERVED, "", "", "", RESERVED]).show(on(73));

/// General destination register.
pub(super) const DST: Slot = slot(What::Reg(16));
/// Uniform destination register.
pub(super) const UDST: Slot = slot(What::UReg(16));
/// First predicate destination; omitted if it is PT.
pub(super) const PDST: Slot = shown(What::Pred(81, 0), Show::UnlessTrue);
/// Second predicate destination; omitted if it is PT.
pub(super) const PDST2: Slot = shown(What::Pred(84, 0), Show::UnlessTrue);
/// First predicate destination, always written.
pub(super) const P81: Slot = slot(What::Pred(81, 0));
/// Second predicate destination, always written.
pub(super) const P84: Slot = slot(What::Pred(84, 0));
/// Predicate source.
pub(super) const P87: Slot = slot(What::Pred(87, 90));
/// Predicate source; omitted if it is PT.
pub(super) const P87_OPTIONAL: Slot = shown(What::Pred(87, 90), Show::UnlessTrue);

pub(super) const fn a(style: Style) -> Slot {
    slot(What::A(style))
}

pub(super) const fn b(style: Style) -> Slot {
    slot(What::B(style))
}

pub(super) const fn c(style: Style) -> Slot {
    slot(What::C(style))
}

pub(super) const fn late(style: Style) -> Slot {
    slot(What::Late(style))
}

pub(super) const fn word(style: Style) -> Slot {
    slot(What::Word(style))
}

pub(super) const fn imm(lo: u8, len: u8) -> Slot {
    slot(What::Imm(bits(lo, len)))
}

pub(super) const fn on(bit: u8) -> Show {
    Show::When(bits(bit, 1), 1)
}

pub(super) const fn off(bit: u8) -> Show {
    Show::When(bits(bit, 1), 0)
}
