//! The uniform datapath of Turing and later: one value for the warp.

use super::integer::{SIGN_A, SIGN_B, SIGN_C};
use super::moves::{BYTE, BYTE_OF_SOURCE, BYTES};
use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::{row, split};
use Style::{Bits, BitsX, Int, IntX, Invert, Signed};

/// Forms of three-source uniform operations.
const UABC: &[u8] = &[1, 2, 4];
/// Forms of two-source uniform operations.
const UAB: &[u8] = &[1, 4];
const X: Mod = key::EXTENDED.bit(74, &["", ".X"]);
const U32: Mod = key::SIGNED.bit(73, &[".U32", ""]);
/// Every uniform operation has this bit.
const FIXED: &[(Field, u64)] = &[(bits(91, 1), 1)];
const UP81: Slot = slot(What::UPred(81, 0));
const UP84: Slot = slot(What::UPred(84, 0));
const UPDST: Slot = shown(What::UPred(81, 0), Show::UnlessTrue);
const UPDST2: Slot = shown(What::UPred(84, 0), Show::UnlessTrue);
const UP87: Slot = slot(What::UPred(87, 90));
const CARRY: Slot = shown(What::UPred(87, 90), on(74));

/// A predicate destination that must be PT.
const NO_CARRY_OUT: Mod = modifier("predicate", bits(81, 3), ONLY_PT);
const NO_SECOND_CARRY_OUT: Mod = modifier("predicate", bits(84, 3), ONLY_PT);
const ONLY_PT: &[&str] = &[RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, ""];

pub(super) const ROWS: &[Row] = &[
    row(
        SassOp::UIAdd3,
        0x90,
        UABC,
        &[X],
        &[UDST, UPDST, UPDST2, a(IntX), b(IntX), c(IntX), CARRY, shown(What::UPred(77, 80), on(74))],
        "d = a + b + c (+ two carries); p, q = carries out",
    )
    .uniform()
    .fixed(FIXED),
    // Compilers add two of the three, without carries.
    row(
        SassOp::UIAdd364,
        0x97,
        UAB,
        &[unused(bits(74, 1)), NO_CARRY_OUT, NO_SECOND_CARRY_OUT],
        &[UDST, a(Int), b(Int), c(Int)],
        "64-bit d = a + b + c",
    )
    .uniform()
    .sm(90, 90)
    .fixed(FIXED),
    row(
        SassOp::UIMad,
        0xa4,
        UABC,
        &[U32, X],
        &[UDST, a(Signed), b(Signed), c(IntX), CARRY],
        "d = low half of a * b + c",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::UIMadWide,
        0xa5,
        UABC,
        &[U32, X],
        &[UDST, UPDST, a(Signed), b(Signed), c(IntX), CARRY],
        "64-bit d = a * b + 64-bit c",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::UIMadHi,
        0xa7,
        UABC,
        &[U32, X],
        &[UDST, UPDST, a(Signed), b(Signed), c(IntX), CARRY],
        "d = high half of a * b + 64-bit c",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::ULea,
        0x91,
        &[1, 4],
        &[key::HIGH.bit(80, &["", ".HI"]), X, LEA_SIGN, LEA_SIGN_FORM],
        &[UDST, UPDST, a(BitsX), b(BitsX), shown(What::C(Bits), Show::When(split(73, 1, 80, 1), 2)), imm(75, 5), CARRY],
        "d = (a << shift) + b, or its high half with c above a; p = carry out",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::ULea,
        0x91,
        &[2],
        &[key::HIGH.bit(80, &["", ".HI"]), X, LEA_SIGN, LEA_SIGN_FORM],
        &[UDST, UPDST, a(BitsX), b(Bits), shown(What::C(Bits), Show::When(split(73, 1, 80, 1), 2)), imm(75, 5), CARRY],
        "ULEA, c from elsewhere; the sign bit of b belongs to the shift",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::ULop3,
        0x92,
        UABC,
        &[key::PREDICATE_AND.bit(80, &["", ".PAND"])],
        &[UPDST, UDST, a(Bits), b(Bits), c(Bits), imm(72, 8), UP87],
        "d = function of three bits given by its truth table",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::USHf,
        0x99,
        UABC,
        &[
            key::RIGHT.bit(76, &[".L", ".R"]),
            key::WRAP.bit(75, &["", ".W"]),
            choice!(SHIFT_TYPE: ShiftType, bits(73, 2), [(S64 ".S64") (U64 ".U64") (S32 ".S32") (U32 ".U32")]),
            key::HIGH.bit(80, &["", ".HI"]),
        ],
        &[UDST, a(Bits), b(Bits), c(Bits)],
        "d = word of the pair (c, a) shifted by b",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::UISetP,
        0x8c,
        UAB,
        &[compare_int(bits(76, 3)), U32, combine(bits(74, 2)), key::EXTENDED.bit(72, &["", ".EX"])],
        &[UP81, UP84, a(Signed), b(Signed), UP87, shown(What::UPred(68, 71), on(72))],
        "p = (a cmp b) op r, q = !(a cmp b) op r",
    )
    .uniform()
    .fixed(FIXED),
    row(SassOp::UMov, 0x82, &[4], &[], &[UDST, b(Bits)], "d = b").uniform(),
    row(SassOp::UMov, 0x82, &[6], &[], &[UDST, b(Bits)], "d = b").uniform().fixed(FIXED),
    row(
        SassOp::UPrmt,
        0x96,
        UABC,
        &[unused(bits(72, 3))],
        &[UDST, a(Bits), b(Bits), c(Bits)],
        "d = bytes of (c, a) chosen by b",
    )
    .uniform()
    .fixed(FIXED),
    row(SassOp::USel, 0x87, UAB, &[], &[UDST, a(Bits), b(Bits), UP87], "d = p ? a : b").uniform().fixed(FIXED),
    row(
        SassOp::UBMsk,
        0x9b,
        UAB,
        &[key::WRAP.bit(75, &["", ".W"])],
        &[UDST, a(Bits), b(Bits)],
        "d = b ones from bit a on",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::USgxt,
        0x9a,
        UAB,
        &[key::WRAP.bit(75, &["", ".W"]), U32],
        &[UDST, a(Bits), b(Bits)],
        "d = low b bits of a, extended",
    )
    .uniform()
    .fixed(FIXED),
    row(SassOp::UPopC, 0xbf, UAB, &[], &[UDST, b(Invert)], "d = number of ones of b").uniform().fixed(FIXED),
    row(
        SassOp::UFlo,
        0xbd,
        UAB,
        &[U32, key::SHIFT_AMOUNT.bit(74, &["", ".SH"])],
        &[UDST, UPDST, b(Invert)],
        "d = position of b's highest bit that is not a sign bit",
    )
    .uniform()
    .fixed(FIXED),
    row(SassOp::UBrev, 0xbe, UAB, &[], &[UDST, b(Bits)], "d = bits of b in reverse order").uniform().fixed(FIXED),
    row(
        SassOp::UP2Ur,
        0x83,
        &[4, 6],
        &[BYTE],
        &[UDST, slot(What::AllPreds), a(Bits), b(Bits)],
        "d = a with the predicates in the bits of mask b",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::UR2Up,
        0x84,
        &[4, 6],
        &[BYTE_OF_SOURCE],
        &[
            slot(What::AllPreds),
            slot(What::Shaped(24, Bits, bits(76, 2), BYTES, 122)),
            shown(What::B(Bits), Show::Unless(bits(32, 32), 0xff)),
        ],
        "predicates in mask b = bits of a",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::UPLop3,
        0x9c,
        &[4],
        &[],
        &[
            UP81,
            UP84,
            UP87,
            slot(What::UPred(77, 80)),
            slot(What::UPred(68, 71)),
            slot(What::Imm(split(64, 3, 72, 5))),
            imm(16, 8),
        ],
        "p, q = functions of three predicates given by their truth tables",
    )
    .uniform(),
    row(
        SassOp::UPLop3Sign,
        0x9f,
        &[1],
        &[],
        &[UP81, UP84, SIGN_A, SIGN_B, SIGN_C, imm(72, 8), imm(16, 8)],
        "p, q = functions of three sign bits given by their truth tables",
    )
    .uniform()
    .fixed(FIXED),
    row(
        SassOp::ULdC,
        0xb9,
        &[5],
        &[choice!(SIZE: Size, bits(73, 3), [
            (U8 ".U8") (S8 ".S8") (U16 ".U16") (S16 ".S16") (B32 "") (B64 ".64") _ _
        ])],
        &[UDST, slot(What::ConstUniform)],
        "d = constant bank",
    )
    .uniform(),
    row(
        SassOp::ULdC,
        0xbb,
        &[5],
        &[choice!(SIZE: Size, bits(73, 3), [
            (U8 ".U8") (S8 ".S8") (U16 ".U16") (S16 ".S16") (B32 "") (B64 ".64") _ _
        ])],
        &[UDST, slot(What::ConstUniformIndexed)],
        "d = constant bank, indexed",
    )
    .uniform()
    .fixed(FIXED),
];
