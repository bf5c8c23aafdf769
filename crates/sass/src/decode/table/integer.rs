//! Integer arithmetic, logic, shifts and comparisons.

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::{row, split};
use Style::{Bits, BitsX, Int, IntX, Invert, Signed};

const X: Mod = key::EXTENDED.bit(74, &["", ".X"]);
const U32: Mod = key::SIGNED.bit(73, &[".U32", ""]);

/// Words or pairs of halves, unsigned or signed.
const MINMAX_TYPE: Mod = choice!(EXTREME_TYPE: ExtremeType, bits(72, 2), [
    (U32 ".U32") (S32 "") (U16x2 ".U16x2") (S16x2 ".S16x2")
]);
/// Two predicates, or none, report which operand was chosen.
const HAS_CHOICES: Show = Show::Unless(bits(81, 3), 7);
const SECOND_CHOICE: Mod = modifier("second choice", bits(84, 3), &["", "", "", "", "", "", ""]).show(HAS_CHOICES);
/// Negative results become zero.
const RELU: Mod = key::RELU.bit(76, &["", ".RELU"]);

/// Registers of which only the sign is used.
const ANY: Field = bits(9, 0);
pub(super) const SIGN_A: Slot = slot(What::Shaped(24, Bits, ANY, &[".SIGN"], 122));
pub(super) const SIGN_B: Slot = slot(What::ShapedB(Bits, ".SIGN"));
pub(super) const SIGN_C: Slot = slot(What::Shaped(64, Bits, ANY, &[".SIGN"], 124));

const ISETP_MODS: &[Mod] = &[compare_int(bits(76, 3)), U32, combine(bits(74, 2)), key::EXTENDED.bit(72, &["", ".EX"])];

pub(super) const ROWS: &[Row] = &[
    row(
        SassOp::IAdd3,
        0x10,
        ABC,
        &[X],
        &[
            DST,
            PDST,
            PDST2,
            a(IntX),
            b(IntX),
            c(IntX),
            shown(What::Pred(87, 90), on(74)),
            shown(What::Pred(77, 80), on(74)),
        ],
        "d = a + b + c (+ two carries); p, q = carries out",
    ),
    row(
        SassOp::IMad,
        0x24,
        ABC,
        &[U32, X],
        &[DST, a(Signed), b(Signed), c(IntX), shown(What::Pred(87, 90), on(74))],
        "d = low half of a * b + c",
    ),
    row(
        SassOp::IMadWide,
        0x25,
        ABC,
        &[U32, X],
        &[DST, PDST, a(Signed), b(Signed), c(IntX), shown(What::Pred(87, 90), on(74))],
        "64-bit d = a * b + 64-bit c",
    ),
    row(
        SassOp::IMadHi,
        0x27,
        ABC,
        &[U32, X],
        &[DST, PDST, a(Signed), b(Signed), c(IntX), shown(What::Pred(87, 90), on(74))],
        "d = high half of a * b + 64-bit c",
    ),
    row(
        SassOp::ISetP,
        0x0c,
        AB,
        ISETP_MODS,
        &[P81, P84, a(Signed), b(Signed), P87, shown(What::Pred(68, 71), Show::UnlessTrue)],
        "p = (a cmp b) op r, q = !(a cmp b) op r; extended: with the low words' comparison",
    )
    .sm(70, 75),
    row(
        SassOp::ISetP,
        0x0c,
        AB,
        ISETP_MODS,
        &[P81, P84, a(Signed), b(Signed), P87, shown(What::Pred(68, 71), on(72))],
        "p = (a cmp b) op r, q = !(a cmp b) op r; extended: with the low words' comparison",
    )
    .sm(80, 90),
    row(
        SassOp::Lea,
        0x11,
        LEA_SIGNED,
        &[key::HIGH.bit(80, &["", ".HI"]), X, LEA_SIGN, LEA_SIGN_FORM],
        &[
            DST,
            PDST,
            a(BitsX),
            b(BitsX),
            shown(What::C(Bits), Show::When(split(73, 1, 80, 1), 2)),
            imm(75, 5),
            shown(What::Pred(87, 90), on(74)),
        ],
        "d = (a << shift) + b, or its high half with c above a; p = carry out",
    ),
    row(
        SassOp::Lea,
        0x11,
        LEA_UNSIGNED,
        &[key::HIGH.bit(80, &["", ".HI"]), X, LEA_SIGN, LEA_SIGN_FORM],
        &[
            DST,
            PDST,
            a(BitsX),
            b(Bits),
            shown(What::C(Bits), Show::When(split(73, 1, 80, 1), 2)),
            imm(75, 5),
            shown(What::Pred(87, 90), on(74)),
        ],
        "LEA, c from elsewhere; the sign bit of b belongs to the shift",
    ),
    row(
        SassOp::Lop3,
        0x12,
        ABC,
        &[key::PREDICATE_AND.bit(80, &["", ".PAND"])],
        &[PDST, DST, a(Bits), b(Bits), c(Bits), imm(72, 8), P87],
        "d = function of three bits given by its truth table; p = (d != 0) op r",
    ),
    row(SassOp::IAbs, 0x13, AB, &[], &[DST, b(Bits)], "d = |b|"),
    row(SassOp::IMnMx, 0x17, AB, &[U32], &[DST, a(Signed), b(Signed), P87], "d = p ? min(a, b) : max(a, b)").sm(70, 89),
    row(
        SassOp::VIMnMx,
        0x48,
        AB,
        &[MINMAX_TYPE, RELU, SECOND_CHOICE],
        &[DST, PDST, shown(What::Pred(84, 0), HAS_CHOICES), a(Signed), b(Signed), P87],
        "d = p ? min(a, b) : max(a, b); q, r = a was chosen in the lower, the upper half",
    )
    .sm(90, 90),
    row(SassOp::VIAdd, 0x36, AB, &[key::PAIRS.bit(73, &["", ".16x2"])], &[DST, a(Bits), b(BitsX)], "d = a + b")
        .sm(90, 90)
        .fixed(&[(bits(74, 1), 0)]),
    row(
        SassOp::VIAddMnMx,
        0x46,
        ABC,
        &[MINMAX_TYPE, RELU],
        &[DST, a(Bits), b(BitsX), c(Bits), P87],
        "d = p ? min(a + b, c) : max(a + b, c)",
    )
    .sm(90, 90),
    row(
        SassOp::VIMnMx3,
        0x0f,
        ABC,
        &[MINMAX_TYPE, RELU],
        &[DST, a(Bits), b(Bits), c(Bits), P87],
        "d = p ? min(a, b, c) : max(a, b, c)",
    )
    .sm(90, 90),
    row(
        SassOp::Shf,
        0x19,
        ABC,
        &[
            key::RIGHT.bit(76, &[".L", ".R"]),
            key::WRAP.bit(75, &["", ".W"]),
            choice!(SHIFT_TYPE: ShiftType, bits(73, 2), [(S64 ".S64") (U64 ".U64") (S32 ".S32") (U32 ".U32")]),
            key::HIGH.bit(80, &["", ".HI"]),
        ],
        &[DST, a(Bits), b(Bits), c(Bits)],
        "d = word of the pair (c, a) shifted by b",
    ),
    row(
        SassOp::Sgxt,
        0x1a,
        AB,
        &[key::WRAP.bit(75, &["", ".W"]), key::SIGNED.bit(73, &[".U32", ""])],
        &[DST, a(Bits), b(Bits)],
        "d = low b bits of a, extended",
    ),
    row(
        SassOp::BMsk,
        0x1b,
        AB,
        &[key::WRAP.bit(75, &["", ".W"])],
        &[DST, a(Bits), b(Bits)],
        "d = b ones from bit a on",
    ),
    row(
        SassOp::Idp,
        0x26,
        AB,
        &[key::A_SIGNED.bit(73, &[".U8", ".S8"]), key::B_SIGNED.bit(74, &[".U8", ".S8"])],
        &[DST, a(Signed), b(Signed), c(Int)],
        "d = dot product of four bytes + c",
    )
    .fixed(&[(bits(76, 1), 0)]),
    row(
        SassOp::Idp2,
        0x26,
        AB,
        &[
            key::HIGH.bit(77, &[".LO", ".HI"]),
            key::A_SIGNED.bit(73, &[".U16", ".S16"]),
            key::B_SIGNED.bit(74, &[".U8", ".S8"]),
        ],
        &[DST, a(Signed), b(Signed), c(Int)],
        "d = dot product of two halves and two of four bytes + c",
    )
    .fixed(&[(bits(76, 1), 1)]),
    row(
        SassOp::VAbsDiff4,
        0x15,
        ABC,
        &[key::SIGNED.bit(73, &[".U8", ""]), key::ACCUMULATE.bit(75, &["", ".ACC"])],
        &[DST, PDST, a(Signed), b(Signed), c(Signed)],
        "d = |a - b| byte by byte, or their sum + c",
    ),
    row(
        SassOp::PLop3,
        0x1c,
        &[4],
        &[],
        &[
            P81,
            P84,
            slot(What::Pred(87, 90)),
            slot(What::Pred(77, 80)),
            slot(What::EitherPred(68, 71, 67)),
            slot(What::Imm(split(64, 3, 72, 5))),
            imm(16, 8),
        ],
        "p, q = functions of three predicates given by their truth tables",
    ),
    row(
        SassOp::PLop3Sign,
        0x1f,
        &[1, 5, 6],
        &[],
        &[P81, P84, SIGN_A, SIGN_B, SIGN_C, imm(72, 8), imm(16, 8)],
        "p, q = functions of three sign bits given by their truth tables",
    ),
    row(SassOp::PopC, 0x109, AB, &[], &[DST, b(Invert)], "d = number of ones of b"),
    row(
        SassOp::Flo,
        0x100,
        AB,
        &[key::SIGNED.bit(73, &[".U32", ""]), key::SHIFT_AMOUNT.bit(74, &["", ".SH"])],
        &[DST, PDST, b(Invert)],
        "d = position of b's highest bit that is not a sign bit",
    ),
    row(SassOp::Brev, 0x101, AB, &[], &[DST, b(Bits)], "d = bits of b in reverse order"),
    row(
        SassOp::VAbsDiff,
        0x14,
        ABC,
        &[key::SIGNED.bit(73, &[".U32", ""])],
        &[DST, PDST, a(Signed), b(Signed), c(Signed)],
        "d = |a - b| + c",
    ),
];
