//! Single and double precision.

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::row;
use Style::{F16, F32, F64};

/// Minima that report the chosen operand are refused.
const WHICH: Mod = unused(bits(65, 1));
const FTZ: Mod = flag("ftz", 80, &["", ".FTZ"]);
const FMZ: Mod = flag("fmz", 76, &["", ".FMZ"]);
const SAT: Mod = flag("saturate", 77, &["", ".SAT"]);
const RND: Mod = modifier("round", bits(78, 2), ROUND);
const CMP: Mod = modifier("compare", bits(76, 4), COMPARE);
const COMBINE_74: Mod = modifier("combine", bits(74, 2), COMBINE);
/// Scale of FMUL's result: 4 means 1.
const SCALE: Mod = modifier("scale", bits(84, 3), &[RESERVED, ".D8", ".D4", ".D2", "", ".M2", ".M4", ".M8"]);

/// Single precision has no choice of halves.
const NO_HALF_CHOICE: Mod = modifier("half source", bits(58, 4), &[""]).show(Show::When(bits(9, 3), 1));
const HALF_CHOICE: Mod = modifier("half source", bits(60, 2), &["", "", RESERVED, RESERVED]);
const MUFU_FUNCTION: Mod = modifier(
    "function",
    bits(74, 4),
    &[".COS", ".SIN", ".EX2", ".LG2", ".RCP", ".RSQ", ".RCP64H", ".RSQ64H", ".SQRT", ".TANH"],
);

pub(super) const ROWS: &[Row] = &[
    row(SassOp::FAdd, 0x21, AC, &[FTZ, RND, SAT], &[DST, a(F32), slot(What::WordC(F32))], "d = a + b"),
    row(SassOp::FMul, 0x20, AB, &[FMZ, FTZ, SCALE, RND, SAT], &[DST, a(F32), b(F32)], "d = a * b * scale"),
    row(SassOp::FFma, 0x23, ABC, &[FMZ, FTZ, RND, SAT], &[DST, a(F32), b(F32), c(F32)], "d = a * b + c, fused"),
    row(
        SassOp::FMnMx,
        0x09,
        AB,
        &[FTZ, flag("nan", 81, &["", ".NAN"]), flag("xor sign", 82, &["", ".XORSIGN"]), WHICH],
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
        &[MUFU_FUNCTION, flag("half", 73, &["", RESERVED])],
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
        &[MUFU_FUNCTION, flag("half", 73, &["", ".F16"]), HALF_CHOICE],
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
        &[MUFU_FUNCTION, flag("half", 72, &["", ".F16"]), HALF_CHOICE],
        &[DST, late(F16)],
        "d = function(half b), approximately",
    )
    .sm(90, 90)
    .fixed(&[(bits(72, 2), 1)]),
    row(
        SassOp::MuFu,
        0x108,
        &[1],
        &[MUFU_FUNCTION, flag("bf16", 73, &["", ".BF16"]), HALF_CHOICE],
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
        &[flag("shape", 76, &[".884", RESERVED]), RND],
        &[DST, a(F64), word(F64), c(F64)],
        "8x8x4 matrix multiplication of doubles by a warp",
    )
    .sm(80, 89),
    row(
        SassOp::DMma,
        0x3f,
        &[1],
        &[modifier("shape", bits(76, 2), &[".8x8x4", ".16x8x4", ".16x8x8", ".16x8x16"]), RND, unused(bits(87, 4))],
        &[DST, a(F64), word(F64), c(F64)],
        "matrix multiplication of doubles by a warp",
    )
    .sm(90, 90),
    row(
        SassOp::DSetP,
        0x2a,
        AC,
        &[
            modifier(
                "compare",
                bits(76, 4),
                &[
                    ".MIN", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU", ".GTU",
                    ".NEU", ".GEU", ".MAX",
                ],
            ),
            COMBINE_74,
        ],
        &[P81, P84, a(F64), slot(What::WordC(F64)), P87],
        "p = (a cmp b) op r, q = !(a cmp b) op r on register pairs",
    ),
];
