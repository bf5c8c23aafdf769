//! Conversions between number formats.

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::{row, split};
use Style::{Bits, Bytes, F16, F32, F64, Signed};

const FTZ: Mod = key::FTZ.bit(80, &["", ".FTZ"]);
const RND: Mod = round(bits(78, 2));
const RND_INT: Mod = choice!(ROUND: Round, bits(78, 2), [(Nearest "") (Down ".FLOOR") (Up ".CEIL") (Zero ".TRUNC")]);
const NTZ: Mod = key::NAN_TO_ZERO.bit(77, &["", ".NTZ"]);
/// Size of a floating-point result; F32 is omitted.
const D_FLOAT: Mod = choice!(TO_FLOAT: FloatType, bits(75, 3), [
    _ (F16 ".F16") (F32 "") (F64 ".F64") (Bf16 ".BF16") _ _ _
]);
/// The same with F32 written.
const D_FLOAT_FULL: Mod = choice!(TO_FLOAT: FloatType, bits(75, 3), [
    _ (F16 ".F16") (F32 ".F32") (F64 ".F64") (Bf16 ".BF16") _ _ _
]);
const S_FLOAT: Mod = choice!(FROM_FLOAT: FloatType, bits(84, 3), [
    _ (F16 ".F16") (F32 "") (F64 ".F64") (Bf16 ".BF16")
]);
/// The same where the text omits it.
const S_FLOAT_OMITTED: Mod = choice!(FROM_FLOAT: FloatType, bits(84, 3), [_ (F16 "") (F32 "") (F64 "") (Bf16 "")]);
const S_FLOAT_FULL: Mod = choice!(FROM_FLOAT: FloatType, bits(84, 3), [
    _ (F16 ".F16") (F32 ".F32") (F64 ".F64") (Bf16 ".BF16")
]);
/// The half of a register that is a half-precision source.
const HALF_CHOICE: Mod =
    modifier("half source", bits(60, 2), &["", "", RESERVED, RESERVED]).show(Show::Unless(bits(9, 3), 4));
/// Size and sign of an integer result; S32 is omitted.
const D_INT: Mod = choice!(TO_INT: IntType, split(72, 1, 75, 2), [
    (U8 ".U8") (S8 ".S8") (U16 ".U16") (S16 ".S16") (U32 ".U32") (S32 "") (U64 ".U64") (S64 ".S64")
]);
/// Size and sign of an integer source.
const S_INT: Mod = choice!(FROM_INT: IntType, split(74, 1, 84, 2), [
    (U8 ".U8") (S8 ".S8") (U16 ".U16") (S16 ".S16") (U32 ".U32") (S32 "") (U64 ".U64") (S64 ".S64")
]);

/// The first source has no sign modifiers, nor has the second one unless it is an immediate.
const NO_SIGN: Mod = modifier("a sign", bits(72, 2), &[""]);
const RELU: Mod = key::RELU.bit(75, &["", ".RELU"]);
const NO_SIGN_B: Mod = modifier("b sign", bits(62, 2), &[""]).show(Show::Unless(bits(9, 3), 4));
/// Stochastic rounding is refused.
const PACK: Mod = choice!(PACK_ROUND: Round, bits(79, 3), [(Nearest ".PACK_AB") _ _ (Zero ".PACK_AB.RZ")]);
const MERGE: Mod = choice!(PACK_ROUND: Round, bits(79, 3), [(Nearest ".MERGE_C") _ _ (Zero ".MERGE_C.RZ")]);
const F2FP_TYPE: Mod = choice!(TO_FLOAT: FloatType, split(76, 2, 86, 1), [(F16 "") (Bf16 ".BF16")]);
const F2FP_TYPE_89: Mod = choice!(TO_FLOAT: FloatType, split(76, 2, 86, 1), [(F16 ".F16.F32") (Bf16 ".BF16.F32")]);
const SMALL: &[(Field, u64)] = &[(bits(78, 1), 0)];
const TINY: &[(Field, u64)] = &[(bits(78, 1), 1)];
/// Clamping at zero and unclamped results are refused.
const SAT: Mod = modifier("saturate", bits(74, 2), &[".SAT", RESERVED, RESERVED, RESERVED]);
/// The same on Hopper, which encodes them differently.
const SAT_90: Mod = modifier("saturate", bits(74, 2), &[RESERVED, ".SAT", RESERVED, RESERVED]);
const SMALL_TYPE: Mod = choice!(TO_INT: IntType, bits(76, 2), [
    (U8 ".U8.S32") (S8 ".S8.S32") (U16 ".U16.S32") (S16 ".S16.S32")
]);
const TINY_TYPE: Mod = choice!(TO_INT: IntType, bits(76, 2), [
    (U2 ".U2.S32") (S2 ".S2.S32") (U4 ".U4.S32") (S4 ".S4.S32")
]);
/// Part of the third operand that is kept: its lowest bits, next to two results.
const KEPT_SMALL: Mod = flag("kept bits", 73, &["", RESERVED]);
/// Two results of 16 bits leave no room for the third operand.
const KEPT_16: Mod = flag("kept half", 72, &["", RESERVED]).show(on(77));
const KEPT_28: Mod = modifier("kept bits", bits(72, 2), &[RESERVED, RESERVED, RESERVED, ""]).show(off(77));
const KEPT_24: Mod = modifier("kept bits", bits(72, 2), &[RESERVED, RESERVED, "", RESERVED]).show(on(77));
const C_SMALL: Slot = slot(What::Shaped(64, Bits, bits(72, 1), &["", ".H1"], 124));
const C_TINY: Slot = slot(What::Shaped(64, Bits, bits(77, 1), &[".28", ".24"], 124));
const SOURCE_16: &[(Field, u64)] = &[(bits(84, 3), 1)];
const SOURCE_32: &[(Field, u64)] = &[(bits(84, 3), 2)];
const SOURCE_64: &[(Field, u64)] = &[(bits(84, 3), 3)];
const SOURCE_BF16: &[(Field, u64)] = &[(bits(84, 3), 4)];
/// Operations with 8-bit floating-point numbers, by packed types and positions of the sources.
const PACK_BYTES: &[(Field, u64)] = &[(bits(73, 2), 0), (bits(78, 1), 1), (bits(84, 2), 0), (bits(89, 2), 2)];
const UNPACK_BYTES: &[(Field, u64)] = &[(bits(74, 1), 1), (bits(78, 1), 0), (bits(84, 2), 0), (bits(89, 2), 1)];
const PACK_BYTES_OF_HALVES: &[(Field, u64)] = &[(bits(73, 2), 1), (bits(78, 1), 0), (bits(84, 2), 0), (bits(89, 2), 2)];
const SATFINITE: Mod = key::SATURATE.bit(77, &["", ".SATFINITE"]);
const BYTES_TYPE: Field = split(76, 1, 86, 2);
const TO_BYTES: Mod = choice!(TO_BYTE: ByteType, BYTES_TYPE, [
    _ _ _ _ (E5m2 ".E5M2.F32.PACK_AB_MERGE_C") (E4m3 ".E4M3.F32.PACK_AB_MERGE_C") _ _
]);
const TO_BYTES_OF_HALVES: Mod = choice!(TO_BYTE: ByteType, BYTES_TYPE, [
    _ _ _ _ (E5m2 ".E5M2.F16.UNPACK_B_MERGE_C") (E4m3 ".E4M3.F16.UNPACK_B_MERGE_C") _ _
]);
const NO_ROUND: Mod = choice!(ROUND: Round, bits(79, 3), [(Nearest "")]);
/// The half that becomes the upper one of the result.
const MERGED: Slot = slot(What::Shaped(64, Bits, bits(72, 1), &["", ".H1"], 124));

/// Sources of conversions.
const FROM_F32: &[Slot] = &[DST, late(F32)];
const FROM_F16: &[Slot] = &[DST, late(F16)];
const FROM_F64: &[Slot] = &[DST, late(F64)];
const F2F: &[Mod] = &[FTZ, D_FLOAT_FULL, S_FLOAT_FULL, RND];
const F2F_BF16: &[Mod] = &[FTZ, key::BF16.bit(77, &["", ".BF16"]), S_FLOAT_FULL, RND];
const F2F_HALF: &[Mod] = &[FTZ, D_FLOAT_FULL, S_FLOAT_FULL, RND, HALF_CHOICE];
const F2I: &[Mod] = &[FTZ, D_INT, S_FLOAT, RND_INT, NTZ];
const F2I_HALF: &[Mod] = &[FTZ, D_INT, S_FLOAT, RND_INT, NTZ, HALF_CHOICE];
const FRND: &[Mod] = &[FTZ, D_FLOAT, S_FLOAT_OMITTED, RND_INT];
const FRND_HALF: &[Mod] = &[FTZ, D_FLOAT, S_FLOAT_OMITTED, RND_INT, HALF_CHOICE];

const PACK_HALVES: &[(Field, u64)] = &[(bits(78, 1), 0)];
const MERGE_HALF: &[(Field, u64)] = &[(bits(78, 1), 1)];
/// The same where the opcode also has operations with 8-bit floating-point numbers.
const PACK_HALVES_89: &[(Field, u64)] = &[(bits(78, 1), 0), (bits(74, 1), 0), (bits(84, 4), 0), (bits(89, 2), 0)];
const MERGE_HALF_89: &[(Field, u64)] = &[(bits(78, 1), 1), (bits(74, 1), 0), (bits(84, 4), 0), (bits(89, 2), 0)];

pub(super) const ROWS: &[Row] = &[
    row(SassOp::F2F, 0x104, AB, F2F, FROM_F32, "d = b in another precision")
        .fixed(&[(bits(84, 2), 2), (bits(77, 1), 0)]),
    row(SassOp::F2F, 0x104, AB, F2F_BF16, FROM_F32, "d = b as bfloat16")
        .sm(80, 90)
        .fixed(&[(bits(84, 2), 2), (bits(75, 3), 4)]),
    row(SassOp::F2F, 0x104, AB, F2F_HALF, FROM_F16, "d = half b in another precision").fixed(SOURCE_16),
    row(SassOp::F2F, 0x104, &[1], F2F_HALF, FROM_F16, "d = bfloat16 b in another precision")
        .sm(90, 90)
        .fixed(SOURCE_BF16),
    row(SassOp::F2F, 0x110, AB, F2F, FROM_F32, "double d = b").fixed(SOURCE_32),
    row(SassOp::F2F, 0x110, AB, F2F_HALF, FROM_F16, "double d = half b").fixed(SOURCE_16),
    row(SassOp::F2F, 0x110, &[1], F2F_HALF, FROM_F16, "double d = bfloat16 b").sm(90, 90).fixed(SOURCE_BF16),
    row(SassOp::F2F, 0x110, AB, F2F, FROM_F64, "d = double b").fixed(SOURCE_64),
    row(SassOp::F2I, 0x105, AB, F2I, FROM_F32, "integer d = b").fixed(SOURCE_32),
    row(SassOp::F2I, 0x105, AB, F2I_HALF, FROM_F16, "integer d = half b").fixed(SOURCE_16),
    row(SassOp::F2I, 0x105, &[1], F2I_HALF, FROM_F16, "integer d = bfloat16 b").sm(90, 90).fixed(SOURCE_BF16),
    row(SassOp::F2I, 0x111, AB, F2I, FROM_F32, "64-bit integer d = b").fixed(SOURCE_32),
    row(SassOp::F2I, 0x111, AB, F2I_HALF, FROM_F16, "64-bit integer d = half b").fixed(SOURCE_16),
    row(SassOp::F2I, 0x111, &[1], F2I_HALF, FROM_F16, "64-bit integer d = bfloat16 b").sm(90, 90).fixed(SOURCE_BF16),
    row(SassOp::F2I, 0x111, AB, F2I, FROM_F64, "integer d = double b").fixed(SOURCE_64),
    row(SassOp::I2F, 0x106, AB, &[D_FLOAT, S_INT, RND], &[DST, late(Bytes)], "d = integer b"),
    row(SassOp::I2F, 0x112, AB, &[D_FLOAT, S_INT, RND], &[DST, late(Bytes)], "d = integer b, one of them of 64 bits"),
    row(
        SassOp::I2Fp,
        0x45,
        AB,
        &[choice!(TO_FLOAT: FloatType, bits(75, 3), [_ _ (F32 ".F32")]), key::SIGNED.bit(74, &[".U32", ".S32"]), RND],
        &[DST, b(Signed)],
        "d = integer b on the main pipe",
    )
    .sm(86, 90)
    .fixed(&[(bits(84, 3), 2)]),
    row(SassOp::FRnd, 0x107, AB, FRND, FROM_F32, "d = b rounded to an integer").fixed(SOURCE_32),
    row(SassOp::FRnd, 0x107, AB, FRND_HALF, FROM_F16, "d = half b rounded").fixed(SOURCE_16),
    row(SassOp::FRnd, 0x107, &[1], FRND_HALF, FROM_F16, "d = bfloat16 b rounded").sm(90, 90).fixed(SOURCE_BF16),
    row(SassOp::FRnd, 0x113, AB, FRND, FROM_F64, "d = double b rounded to an integer").fixed(SOURCE_64),
    pack_halves(PACK_HALVES, &[NO_SIGN, NO_SIGN_B, RELU, F2FP_TYPE, PACK]).sm(80, 86),
    merge_half(MERGE_HALF, &[NO_SIGN, NO_SIGN_B, RELU, F2FP_TYPE, MERGE]).sm(80, 86),
    pack_halves(PACK_HALVES_89, &[NO_SIGN, NO_SIGN_B, RELU, F2FP_TYPE_89, PACK]).sm(89, 90),
    merge_half(MERGE_HALF_89, &[NO_SIGN, NO_SIGN_B, RELU, F2FP_TYPE_89, MERGE]).sm(89, 90),
    row(
        SassOp::F2FpBytes,
        0x3e,
        &[1],
        &[SATFINITE, RELU, TO_BYTES, NO_ROUND],
        &[DST, a(Bits), b(Bits), MERGED],
        "d = pair (half of c, bytes (a, b))",
    )
    .sm(89, 90)
    .fixed(PACK_BYTES),
    row(
        SassOp::F2FpHalves,
        0x3e,
        &[1],
        &[
            RELU,
            choice!(TO_FLOAT: FloatType, BYTES_TYPE, [(F16 ".F16")]),
            choice!(FROM_BYTE: ByteType, bits(73, 1), [(E5m2 ".E5M2.UNPACK_B") (E4m3 ".E4M3.UNPACK_B")]),
            NO_ROUND,
        ],
        &[DST, slot(What::Shaped(32, Bits, bits(88, 1), &["", ".H1"], 123))],
        "d = pair of halves of the bytes in a half of b",
    )
    .sm(89, 90)
    .fixed(UNPACK_BYTES),
    row(
        SassOp::F2FpBytesOfHalves,
        0x3e,
        &[1],
        &[SATFINITE, RELU, TO_BYTES_OF_HALVES, NO_ROUND],
        &[DST, b(Bits), MERGED],
        "d = pair (half of c, bytes of the halves of b)",
    )
    .sm(89, 90)
    .fixed(PACK_BYTES_OF_HALVES),
    row(
        SassOp::I2I,
        0x38,
        AB,
        &[choice!(TO_INT: IntType, bits(76, 2), [
            (U8 ".U8.S32.SAT") (S8 ".S8.S32.SAT") (U16 ".U16.S32.SAT") (S16 ".S16.S32.SAT")
        ])],
        &[DST, b(Signed)],
        "d = b saturated to a small integer",
    ),
    pack(SMALL, &[SMALL_TYPE, SAT, KEPT_SMALL, KEPT_16], &[DST, a(Signed), b(Signed), C_SMALL]).sm(75, 89),
    pack(TINY, &[TINY_TYPE, SAT, KEPT_28, KEPT_24], &[DST, a(Signed), b(Signed), C_TINY]).sm(75, 89),
    pack(SMALL, &[SMALL_TYPE, SAT_90, KEPT_SMALL, KEPT_16], &[DST, a(Signed), b(Signed), C_SMALL]).sm(90, 90),
    pack(TINY, &[TINY_TYPE, SAT_90, KEPT_28, KEPT_24], &[DST, a(Signed), b(Signed), C_TINY]).sm(90, 90),
    row(
        SassOp::F2Ip,
        0x43,
        ABC,
        &[
            choice!(TO_INT: IntType, bits(76, 2), [(U8 ".U8.F32") (S8 ".S8.F32") _ _]),
            choice!(ROUND: Round, bits(78, 2), [(Nearest "") _ _ (Zero ".TRUNC")]),
            key::NAN_TO_ZERO.bit(74, &["", ".NTZ"]),
            key::RELU.bit(75, &["", RESERVED]),
            flag("upper half", 72, &["", RESERVED]),
            NO_SIGN_B.show(Show::When(bits(9, 2), 1)),
        ],
        &[DST, slot(What::Reg(24)), b(F32), c(Bits)],
        "d = bytes b and a as integers, with the lower half of c above",
    )
    .sm(86, 90),
];

const fn pack(fixed: &'static [(Field, u64)], mods: &'static [Mod], slots: &'static [Slot]) -> Row {
    row(SassOp::I2Ip, 0x39, AB, mods, slots, "d = a and b as small integers, below the lowest bits of c").fixed(fixed)
}

const fn pack_halves(fixed: &'static [(Field, u64)], mods: &'static [Mod]) -> Row {
    const SLOTS: &[Slot] = &[DST, a(F32), b(F32)];
    row(SassOp::F2Fp, 0x3e, AB, mods, SLOTS, "d = pair of halves (a, b)").fixed(fixed)
}

const fn merge_half(fixed: &'static [(Field, u64)], mods: &'static [Mod]) -> Row {
    const SLOTS: &[Slot] = &[DST, b(F32), c(Bits)];
    row(SassOp::F2FpMerge, 0x3e, AB, mods, SLOTS, "d = pair of halves (half of c, b)").fixed(fixed)
}
