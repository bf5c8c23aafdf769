//! Conversions between number formats.

use super::*;
use crate::decode::op::Op;
use crate::decode::row::{row, split};
use Style::{Bits, Bytes, F16, F32, F64, Signed};

const FTZ: Mod = flag("ftz", 80, &["", ".FTZ"]);
const RND: Mod = modifier("round", bits(78, 2), ROUND);
const RND_INT: Mod = modifier("round", bits(78, 2), &["", ".FLOOR", ".CEIL", ".TRUNC"]);
const NTZ: Mod = flag("nan to zero", 77, &["", ".NTZ"]);
/// Size of a floating-point result, F32 left out.
const D_FLOAT: Mod = modifier("d type", bits(75, 2), &[RESERVED, ".F16", "", ".F64"]);
/// The same written out.
const D_FLOAT_FULL: Mod = modifier("d type", bits(75, 2), &[RESERVED, ".F16", ".F32", ".F64"]);
const S_FLOAT: Mod = modifier("b type", bits(84, 2), &[RESERVED, ".F16", "", ".F64"]);
const S_FLOAT_FULL: Mod = modifier("b type", bits(84, 2), &[RESERVED, ".F16", ".F32", ".F64"]);
/// Size and sign of an integer result, S32 left out.
const D_INT: Mod = modifier("d type", split(72, 1, 75, 2), &[".U8", ".S8", ".U16", ".S16", ".U32", "", ".U64", ".S64"]);
/// Size and sign of an integer source.
const S_INT: Mod = modifier("b type", split(74, 1, 84, 2), &[".U8", ".S8", ".U16", ".S16", ".U32", "", ".U64", ".S64"]);

/// Signs of the first source are refused.
const NO_SIGN: Mod = modifier("a sign", bits(72, 2), &[""]);
const RELU: Mod = flag("relu", 75, &["", ".RELU"]);
const PACK: Mod = modifier("mode", bits(79, 2), &[".PACK_AB", RESERVED, RESERVED, ".PACK_AB.RZ"]);
const MERGE: Mod = modifier("mode", bits(79, 2), &[".MERGE_C", RESERVED, RESERVED, RESERVED]);
const SOURCE_16: &[(Field, u64)] = &[(bits(84, 2), 1)];
const SOURCE_32: &[(Field, u64)] = &[(bits(84, 2), 2)];
const SOURCE_64: &[(Field, u64)] = &[(bits(84, 2), 3)];

pub(super) const ROWS: &[Row] = &[
    row(Op::F2F, 0x104, AB, &[FTZ, D_FLOAT_FULL, S_FLOAT_FULL, RND], &[DST, late(F32)], "d = b in another precision")
        .fixed(SOURCE_32),
    row(
        Op::F2F,
        0x104,
        AB,
        &[FTZ, D_FLOAT_FULL, S_FLOAT_FULL, RND],
        &[DST, late(F16)],
        "d = half b in another precision",
    )
    .fixed(SOURCE_16),
    row(Op::F2F, 0x110, AB, &[FTZ, D_FLOAT_FULL, S_FLOAT_FULL, RND], &[DST, late(F32)], "double d = b")
        .fixed(SOURCE_32),
    row(Op::F2F, 0x110, AB, &[FTZ, D_FLOAT_FULL, S_FLOAT_FULL, RND], &[DST, late(F16)], "double d = half b")
        .fixed(SOURCE_16),
    row(Op::F2F, 0x110, AB, &[FTZ, D_FLOAT_FULL, S_FLOAT_FULL, RND], &[DST, late(F64)], "d = double b")
        .fixed(SOURCE_64),
    row(Op::F2I, 0x105, AB, &[FTZ, D_INT, S_FLOAT, RND_INT, NTZ], &[DST, late(F32)], "integer d = b").fixed(SOURCE_32),
    row(Op::F2I, 0x105, AB, &[FTZ, D_INT, S_FLOAT, RND_INT, NTZ], &[DST, late(F16)], "integer d = half b")
        .fixed(SOURCE_16),
    row(Op::F2I, 0x111, AB, &[FTZ, D_INT, S_FLOAT, RND_INT, NTZ], &[DST, late(F32)], "64-bit integer d = b")
        .fixed(SOURCE_32),
    row(Op::F2I, 0x111, AB, &[FTZ, D_INT, S_FLOAT, RND_INT, NTZ], &[DST, late(F16)], "64-bit integer d = half b")
        .fixed(SOURCE_16),
    row(Op::F2I, 0x111, AB, &[FTZ, D_INT, S_FLOAT, RND_INT, NTZ], &[DST, late(F64)], "integer d = double b")
        .fixed(SOURCE_64),
    row(Op::I2F, 0x106, AB, &[D_FLOAT, S_INT, RND], &[DST, late(Bytes)], "d = integer b"),
    row(Op::I2F, 0x112, AB, &[D_FLOAT, S_INT, RND], &[DST, late(Bytes)], "d = integer b, one of them of 64 bits"),
    row(
        Op::I2Fp,
        0x45,
        AB,
        &[flag("d type", 75, &[".F32", ".F16"]), flag("signed", 74, &[".U32", ".S32"]), RND],
        &[DST, b(Signed)],
        "d = integer b on the main pipe",
    )
    .sm(86, 90),
    row(Op::FRnd, 0x107, AB, &[FTZ, D_FLOAT, RND_INT], &[DST, late(F32)], "d = b rounded to an integer"),
    row(Op::FRnd, 0x113, AB, &[D_FLOAT, RND_INT], &[DST, late(F64)], "d = double b rounded to an integer"),
    row(
        Op::F2Fp,
        0x3e,
        AB,
        &[NO_SIGN, RELU, modifier("d type", bits(76, 2), &["", ".BF16", RESERVED, RESERVED]), PACK],
        &[DST, a(F32), b(F32)],
        "d = pair of halves (a, b)",
    )
    .sm(80, 86)
    .fixed(&[(bits(78, 1), 0)]),
    row(
        Op::F2Fp,
        0x3e,
        AB,
        &[NO_SIGN, RELU, modifier("d type", bits(76, 2), &["", ".BF16", RESERVED, RESERVED]), MERGE],
        &[DST, b(F32), c(Bits)],
        "d = pair of halves (half of c, b)",
    )
    .sm(80, 86)
    .fixed(&[(bits(78, 1), 1)]),
    row(
        Op::F2Fp,
        0x3e,
        AB,
        &[NO_SIGN, RELU, modifier("d type", bits(76, 2), &[".F16.F32", ".BF16.F32", RESERVED, RESERVED]), PACK],
        &[DST, a(F32), b(F32)],
        "d = pair of halves (a, b)",
    )
    .sm(89, 90)
    .fixed(&[(bits(78, 1), 0)]),
    row(
        Op::F2Fp,
        0x3e,
        AB,
        &[NO_SIGN, RELU, modifier("d type", bits(76, 2), &[".F16.F32", ".BF16.F32", RESERVED, RESERVED]), MERGE],
        &[DST, b(F32), c(Bits)],
        "d = pair of halves (half of c, b)",
    )
    .sm(89, 90)
    .fixed(&[(bits(78, 1), 1)]),
    row(
        Op::I2I,
        0x38,
        AB,
        &[modifier("d type", bits(76, 2), &[".U8.S32.SAT", ".S8.S32.SAT", ".U16.S32.SAT", ".S16.S32.SAT"])],
        &[DST, b(Signed)],
        "d = b saturated to a small integer",
    ),
];
