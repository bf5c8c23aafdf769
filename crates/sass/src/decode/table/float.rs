//! Single and double precision.

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::row;
use Style::{F16, F32, F64};

/// Minima that report the chosen operand are refused.
const WHICH: Mod = unused(bits(65, 1));
const FTZ: Mod = key::FTZ.bit(80, &["", ".FTZ"]);
const FMZ: Mod = key::FMZ.bit(76, &["", ".FMZ"]);
const SAT: Mod = key::SATURATE.bit(77, &["", ".SAT"]);
const RND: Mod = round(bits(78, 2));
const CMP: Mod = compare(bits(76, 4));
const COMBINE_74: Mod = combine(bits(74, 2));
/// Scale of FMUL's result: 4 means 1.
const SCALE: Mod = choice!(SCALE: Scale, bits(84, 3), [
    _ (Eighth ".D8") (Quarter ".D4") (Half ".D2") (One "") (Two ".M2") (Four ".M4") (Eight ".M8")
]);

/// Single precision has no choice of halves.
const NO_HALF_CHOICE: Mod = modifier("half source", bits(58, 4), &[""]).show(Show::When(bits(9, 3), 1));
const HALF_CHOICE: Mod = modifier("half source", bits(60, 2), &["", "", RESERVED, RESERVED]);
const MUFU_FUNCTION: Mod = choice!(FUNCTION: Function, bits(74, 4), [
    (Cos ".COS") (Sin ".SIN") (Ex2 ".EX2") (Lg2 ".LG2") (Rcp ".RCP") (Rsq ".RSQ") (Rcp64H ".RCP64H")
    (Rsq64H ".RSQ64H") (Sqrt ".SQRT") (Tanh ".TANH")
]);

pub(super) const ROWS: &[Row] = &[
    row(SassOp::FAdd, 0x21, AC, &[FTZ, RND, SAT], &[DST, a(F32), slot(What::WordC(F32))], "d = a + b"),
    row(SassOp::FMul, 0x20, AB, &[FMZ, FTZ, SCALE, RND, SAT], &[DST, a(F32), b(F32)], "d = a * b * scale"),
    row(SassOp::FFma, 0x23, ABC, &[FMZ, FTZ, RND, SAT], &[DST, a(F32), b(F32), c(F32)], "d = a * b + c, fused"),
    row(
        SassOp::FMnMx,
        0x09,
        AB,
        &[FTZ, key::NAN.bit(81, &["", ".NAN"]), key::XOR_SIGN.bit(82, &["", ".XORSIGN"]), WHICH],
        &[DST, a(F32), b(F32), P87],
        "d = p ? min(a, b) : max(a, b)",
    ),
    row(SassOp::FSel, 0x08, AB, &[FTZ], &[DST, a(F32), b(F32), P87], "d = p ? a : b"),
    row(
        SassOp::FSet,
        0x0a,
        AB,
        &[CMP, FTZ, COMBINE_74],
        &[DST, a(F32), b(F32), P87],
        "d = (a cmp b) op p ? all ones or 1.0 : 0",
    ),
    row(
        SassOp::FSetP,
        0x0b,
        AB,
        &[CMP, FTZ, COMBINE_74],
        &[P81, P84, a(F32), b(F32), P87],
        "p = (a cmp b) op r, q = !(a cmp b) op r",
    ),
    row(SassOp::FChk, 0x102, AB, &[], &[P81, a(F32), b(F32)], "p = the division a / b needs the slow path"),
    row(
        SassOp::MuFu,
        0x108,
        AB,
        &[MUFU_FUNCTION, key::HALF.bit(73, &["", RESERVED])],
        &[DST, late(F32)],
        "d = function(b), approximately",
    )
    .sm(70, 70),
    row(SassOp::MuFu, 0x108, AB, &[MUFU_FUNCTION], &[DST, late(F32)], "d = function(b), approximately")
        .sm(75, 89)
        .fixed(&[(bits(73, 1), 0)]),
    row(
        SassOp::MuFu,
        0x108,
        &[1],
        &[MUFU_FUNCTION, key::HALF.bit(73, &["", ".F16"]), HALF_CHOICE],
        &[DST, late(F16)],
        "d = function(half b), approximately",
    )
    .sm(75, 89)
    .fixed(&[(bits(73, 1), 1)]),
    row(SassOp::MuFu, 0x108, AB, &[MUFU_FUNCTION, NO_HALF_CHOICE], &[DST, late(F32)], "d = function(b), approximately")
        .sm(90, 90)
        .fixed(&[(bits(72, 2), 0)]),
    row(
        SassOp::MuFu,
        0x108,
        &[1],
        &[MUFU_FUNCTION, key::HALF.bit(72, &["", ".F16"]), HALF_CHOICE],
        &[DST, late(F16)],
        "d = function(half b), approximately",
    )
    .sm(90, 90)
    .fixed(&[(bits(72, 2), 1)]),
    row(
        SassOp::MuFu,
        0x108,
        &[1],
        &[MUFU_FUNCTION, key::BF16.bit(73, &["", ".BF16"]), HALF_CHOICE],
        &[DST, late(F16)],
        "d = function(bfloat16 b), approximately",
    )
    .sm(90, 90)
    .fixed(&[(bits(72, 2), 2)]),
    row(SassOp::DAdd, 0x29, AC, &[RND], &[DST, a(F64), c(F64)], "d = a + c on register pairs"),
    row(SassOp::DMul, 0x28, AB, &[RND], &[DST, a(F64), b(F64)], "d = a * b on register pairs"),
    row(SassOp::DFma, 0x2b, ABC, &[RND], &[DST, a(F64), b(F64), c(F64)], "d = a * b + c, fused, on register pairs"),
    row(
        SassOp::DMma,
        0x3f,
        &[1],
        &[choice!(SHAPE: MatrixShape, bits(76, 1), [(M8N8K4 ".884") _]), RND],
        &[DST, a(F64), word(F64), c(F64)],
        "8x8x4 matrix multiplication of doubles by a warp",
    )
    .sm(80, 89),
    row(
        SassOp::DMma,
        0x3f,
        &[1],
        &[
            choice!(SHAPE: MatrixShape, bits(76, 2), [
                (M8N8K4 ".8x8x4") (M16N8K4 ".16x8x4") (M16N8K8 ".16x8x8") (M16N8K16 ".16x8x16")
            ]),
            RND,
            unused(bits(87, 4)),
        ],
        &[DST, a(F64), word(F64), c(F64)],
        "matrix multiplication of doubles by a warp",
    )
    .sm(90, 90),
    row(
        SassOp::DSetP,
        0x2a,
        AC,
        &[
            choice!(COMPARE: Compare, bits(76, 4), [
                (Min ".MIN") (Lt ".LT") (Eq ".EQ") (Le ".LE") (Gt ".GT") (Ne ".NE") (Ge ".GE") (Num ".NUM")
                (Nan ".NAN") (Ltu ".LTU") (Equ ".EQU") (Leu ".LEU") (Gtu ".GTU") (Neu ".NEU") (Geu ".GEU")
                (Max ".MAX")
            ]),
            COMBINE_74,
        ],
        &[P81, P84, a(F64), slot(What::WordC(F64)), P87],
        "p = (a cmp b) op r, q = !(a cmp b) op r on register pairs",
    ),
];
