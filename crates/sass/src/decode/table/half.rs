//! Half precision and matrix multiplication.

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::row;
use Style::{BHalf, BHalfMma, Half, HalfMma};

/// Results in single precision and minima that report the chosen operand are refused.
const WHICH: Mod = unused(bits(65, 1));
/// `.FMZ` together with `.FTZ` is another mode.
const ONE_MODE: Mod = flag("mode", 80, &["", RESERVED]).show(on(76));
const NO_RELU: Mod = unused(bits(79, 1));
const FTZ: Mod = key::FTZ.bit(80, &["", ".FTZ"]);
const FMZ: Mod = key::FMZ.bit(76, &["", ".FMZ"]);
const SAT: Mod = key::SATURATE.bit(77, &["", ".SAT"]);
const F32_OUT: Mod = key::F32_RESULT.bit(78, &["", ".F32"]);
/// Negative results become zero.
const RELU: Mod = key::RELU.bit(79, &["", ".RELU"]);
/// Only the predicate PT is supported with it.
const RELU_PRED: Mod = modifier(
    "relu predicate",
    bits(87, 4),
    &[RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, ""],
)
.show(on(79));
/// Products in single precision are refused since sm_80: compilers emit them for sm_70 and sm_75 only.
const NO_F32: Mod = key::F32_RESULT.bit(78, &["", RESERVED]);
/// `.F32` has no `.RELU`.
const NO_RELU_F32: Mod = flag("relu of f32", 79, &["", RESERVED]).show(on(78));
/// The sum in single precision has no absolute value of its first source since sm_86.
const NO_ABS: Mod = flag("a absolute", 73, &["", RESERVED]).show(on(78));
const H_AND: Mod = key::BOTH_HALVES.bit(71, &["", ".H_AND"]);
const BF16_OFF: &[(Field, u64)] = &[(bits(85, 1), 0)];
const BF16_ON: &[(Field, u64)] = &[(bits(85, 1), 1)];
const CMP: Mod = compare(bits(76, 4));
/// A uniform predicate may select accumulation: refused.
const NO_PRED: Mod = modifier("predicate", bits(87, 4), &[""]);
/// Operations on pairs only do not have the choice `.F32`.
const A_HALF: Mod = modifier("a half", bits(74, 2), &["", RESERVED, "", ""]);
const B_HALF: Mod = modifier("b half", bits(60, 2), &["", RESERVED, "", ""]).show(IN_REGISTER);
/// The second source is a register, not an immediate or a constant.
const IN_REGISTER: Show = Show::When(bits(9, 3), 1);
const COMBINE_69: Mod = combine(bits(69, 2));

/// A register that holds a matrix fragment in row or column order.
const A_SHAPE: Slot = slot(What::Shaped(24, Style::Bits, bits(73, 1), &[".ROW", ".COL"], 122));
const A_SIGNED: Slot = slot(What::Shaped(24, Style::Int, bits(73, 1), &[".ROW", ".COL"], 122));
const B_SIGNED: Slot = slot(What::Shaped(32, Style::Int, bits(74, 1), &[".ROW", ".COL"], 123));
const B_SHAPE: Slot = slot(What::Shaped(32, Style::Bits, bits(74, 1), &[".ROW", ".COL"], 123));

pub(super) const ROWS: &[Row] = &[
    row(SassOp::HAdd2, 0x30, AC, &[F32_OUT, FTZ, SAT], &[DST, a(Half), slot(What::WordC(Half))], "d = a + b on pairs")
        .sm(70, 80),
    row(
        SassOp::HAdd2,
        0x30,
        AC,
        &[F32_OUT, FTZ, SAT, NO_ABS],
        &[DST, a(Half), slot(What::WordC(Half))],
        "d = a + b on pairs",
    )
    .sm(86, 89),
    row(SassOp::HAdd2, 0x30, AC, &[F32_OUT, FTZ, SAT], &[DST, a(Half), slot(What::WordC(Half))], "d = a + b on pairs")
        .sm(90, 90)
        .fixed(BF16_OFF),
    row(
        SassOp::HAdd2Bf16,
        0x30,
        AC,
        &[F32_OUT, FTZ, SAT],
        &[DST, a(BHalf), slot(What::WordC(BHalf))],
        "d = a + b on pairs of bfloat16",
    )
    .sm(90, 90)
    .fixed(BF16_ON),
    row(
        SassOp::HMul2,
        0x32,
        AB,
        &[F32_OUT, FMZ, FTZ, SAT, RELU, RELU_PRED, NO_RELU_F32, ONE_MODE],
        &[DST, a(Half), b(Half)],
        "d = a * b on pairs",
    )
    .sm(70, 75),
    row(
        SassOp::HMul2,
        0x32,
        AB,
        &[FMZ, FTZ, SAT, RELU, RELU_PRED, NO_F32, ONE_MODE],
        &[DST, a(Half), b(Half)],
        "d = a * b on pairs",
    )
    .sm(80, 89),
    row(
        SassOp::HMul2,
        0x32,
        AB,
        &[FMZ, FTZ, SAT, NO_RELU, NO_F32, ONE_MODE],
        &[DST, a(Half), b(Half)],
        "d = a * b on pairs",
    )
    .sm(90, 90)
    .fixed(BF16_OFF),
    row(
        SassOp::HMul2Bf16,
        0x32,
        AB,
        &[FMZ, FTZ, SAT, NO_RELU, NO_F32, ONE_MODE],
        &[DST, a(BHalf), b(BHalf)],
        "d = a * b on pairs of bfloat16",
    )
    .sm(90, 90)
    .fixed(BF16_ON),
    row(
        SassOp::HFma2,
        0x31,
        ABC,
        &[F32_OUT, FMZ, FTZ, SAT, RELU, RELU_PRED, NO_RELU_F32, ONE_MODE],
        &[DST, a(Half), b(Half), c(Half)],
        "d = a * b + c on pairs",
    )
    .sm(70, 75),
    row(
        SassOp::HFma2,
        0x31,
        ABC,
        &[FMZ, FTZ, SAT, RELU, RELU_PRED, NO_F32, ONE_MODE],
        &[DST, a(Half), b(Half), c(Half)],
        "d = a * b + c on pairs",
    )
    .sm(80, 80)
    .fixed(BF16_OFF),
    row(
        SassOp::HFma2,
        0x31,
        ABC,
        &[FMZ, FTZ, SAT, RELU, RELU_PRED, NO_F32, ONE_MODE],
        &[DST, a(Half), slot(What::SwappedB(Half)), c(Half)],
        "d = a * b + c on pairs",
    )
    .sm(86, 90)
    .fixed(BF16_OFF),
    row(
        SassOp::HFma2Bf16,
        0x31,
        ABC,
        &[FMZ, FTZ, SAT, RELU, RELU_PRED, NO_F32, ONE_MODE],
        &[DST, a(BHalf), b(BHalf), c(BHalf)],
        "d = a * b + c on pairs of bfloat16",
    )
    .sm(80, 80)
    .fixed(BF16_ON),
    row(
        SassOp::HFma2Bf16,
        0x31,
        ABC,
        &[FMZ, FTZ, SAT, RELU, RELU_PRED, NO_F32, ONE_MODE],
        &[DST, a(BHalf), slot(What::SwappedB(BHalf)), c(BHalf)],
        "d = a * b + c on pairs of bfloat16",
    )
    .sm(86, 90)
    .fixed(BF16_ON),
    row(
        SassOp::HFma2Mma,
        0x35,
        ABC,
        &[FMZ, FTZ, SAT, RELU, RELU_PRED, NO_F32, ONE_MODE],
        &[DST, a(HalfMma), b(HalfMma), c(HalfMma)],
        "HFMA2 on the tensor pipe; also moves constants",
    )
    .sm(80, 90)
    .fixed(&[(bits(85, 1), 0)]),
    row(
        SassOp::HFma2MmaBf16,
        0x35,
        ABC,
        &[FMZ, FTZ, SAT, RELU, RELU_PRED, NO_F32, ONE_MODE],
        &[DST, a(BHalfMma), b(BHalfMma), c(BHalfMma)],
        "the same on pairs of bfloat16",
    )
    .sm(90, 90)
    .fixed(&[(bits(85, 1), 1)]),
    row(
        SassOp::HSet2,
        0x33,
        AC,
        &[key::BOOLEAN_FLOAT.bit(71, &["", ".BF"]), CMP, FTZ, COMBINE_69],
        &[DST, a(Half), slot(What::WordC(Half)), P87],
        "d = (a cmp b) op p on pairs of halves",
    )
    .fixed(&[(bits(65, 1), 0)]),
    row(
        SassOp::HSet2Bf16,
        0x33,
        AC,
        &[key::BOOLEAN_FLOAT.bit(71, &["", ".BF"]), CMP, FTZ, COMBINE_69, unused(bits(64, 1)), A_HALF, B_HALF],
        &[DST, a(BHalf), slot(What::WordC(BHalf)), P87],
        "d = (a cmp b) op p on pairs of bfloat16",
    )
    .sm(90, 90)
    .fixed(&[(bits(65, 1), 1)]),
    row(
        SassOp::HSetP2,
        0x34,
        AC,
        &[CMP, H_AND, FTZ, COMBINE_69],
        &[P81, P84, a(Half), slot(What::WordC(Half)), P87],
        "p, q = (a cmp b) op r for each half",
    )
    .fixed(&[(bits(65, 1), 0)]),
    row(
        SassOp::HSetP2Bf16,
        0x34,
        AC,
        &[CMP, key::BOTH_HALVES.bit(71, &["", ".H_AND"]), FTZ, COMBINE_69, unused(bits(64, 1)), A_HALF, B_HALF],
        &[P81, P84, a(BHalf), slot(What::WordC(BHalf)), P87],
        "p, q = (a cmp b) op r for each bfloat16",
    )
    .sm(90, 90)
    .fixed(&[(bits(65, 1), 1)]),
    row(
        SassOp::VHMnMx,
        0x47,
        &[1],
        &[
            key::BF16.bit(85, &["", ".BF16_V2"]),
            modifier("size", bits(78, 2), &[""]),
            FTZ,
            key::NAN.bit(81, &["", ".NAN"]),
            key::XOR_SIGN.bit(82, &["", ".XORSIGN"]),
            A_HALF,
            B_HALF,
            modifier("c half", bits(76, 2), &["", RESERVED, "", ""]),
        ],
        &[DST, a(Half), b(Half), slot(What::Shaped(64, Half, bits(76, 2), &["", "", ".H0_H0", ".H1_H1"], 124)), P87],
        "d = p ? min(a, b, c) : max(a, b, c) on pairs of halves or of bfloat16",
    )
    .sm(90, 90),
    row(
        SassOp::HMnMx2,
        0x40,
        AB,
        &[FTZ, key::NAN.bit(81, &["", ".NAN"]), key::XOR_SIGN.bit(82, &["", ".XORSIGN"]), NO_F32, WHICH],
        &[DST, a(Half), b(Half), P87],
        "d = p ? min : max on pairs of halves",
    )
    .sm(80, 90)
    .fixed(BF16_OFF),
    row(
        SassOp::HMnMx2Bf16,
        0x40,
        AB,
        &[FTZ, key::NAN.bit(81, &["", ".NAN"]), key::XOR_SIGN.bit(82, &["", ".XORSIGN"]), NO_F32, WHICH],
        &[DST, a(BHalf), b(BHalf), P87],
        "d = p ? min : max on pairs of bfloat16",
    )
    .sm(80, 90)
    .fixed(BF16_ON),
    row(
        SassOp::BMma,
        0x3d,
        &[1],
        &[
            choice!(SHAPE: MatrixShape, bits(75, 2), [
                (M8N8K128 ".88128") (M16N8K128 ".168128") (M16N8K256 ".168256") _
            ]),
            choice!(BIT_OPERATION: BitOperation, bits(77, 3), [(Xor ".XOR") _ (And ".AND") _ _ _ _ _]),
            flag("reduction", 80, &[RESERVED, ".POPC"]),
        ],
        &[DST, A_SHAPE, B_SHAPE, c(Style::Bits)],
        "matrix multiplication of bits by a warp",
    )
    .sm(75, 90),
    row(
        SassOp::HMmaStep,
        0x36,
        &[1],
        &[
            choice!(SHAPE: MatrixShape, bits(75, 1), [(M8N8K4 ".884") (M4N4K4 ".444")]),
            key::D_F32.bit(76, &[".F16", ".F32"]),
            key::C_F32.bit(78, &[".F16", ".F32"]),
            choice!(STEP: Part, bits(79, 2), [(First ".STEP0") (Second ".STEP1") (Third ".STEP2") (Fourth ".STEP3")]),
            key::SATURATE.bit(77, &["", ".SATFINITE"]),
        ],
        &[DST, A_SIGNED, B_SIGNED, c(Style::Bits)],
        "a quarter of an 8x8x4 matrix multiplication by quad pairs",
    )
    .sm(70, 75),
    row(
        SassOp::HMma,
        0x3c,
        &[1],
        &[
            choice!(SHAPE: MatrixShape, split(75, 1, 78, 1), [
                (M16N8K8 ".1688") (M16N8K16 ".16816") (M16N8K4 ".1684") _
            ]),
            key::D_F32.bit(76, &[".F16", ".F32"]),
            choice!(FACTORS: FloatType, bits(82, 2), [(F16 "") (Bf16 ".BF16") (Tf32 ".TF32") _]),
            key::SATURATE.bit(77, &["", ".SATFINITE"]),
            flag("sparse", 73, &["", RESERVED]),
        ],
        &[DST, a(Style::Int), word(Style::Int), c(Style::Bits)],
        "matrix multiplication of halves by a warp",
    )
    .sm(75, 75),
    row(
        SassOp::HMma,
        0x3c,
        &[1],
        &[
            choice!(SHAPE: MatrixShape, split(75, 1, 78, 1), [
                (M16N8K8 ".1688") (M16N8K16 ".16816") (M16N8K4 ".1684") _
            ]),
            key::D_F32.bit(76, &[".F16", ".F32"]),
            choice!(FACTORS: FloatType, bits(82, 2), [(F16 "") (Bf16 ".BF16") (Tf32 ".TF32") _]),
            NO_PRED,
            flag("sparse", 73, &["", RESERVED]),
        ],
        &[DST, a(Style::Int), word(Style::Int), c(Style::Bits)],
        "matrix multiplication of halves by a warp",
    )
    .sm(80, 90),
    row(
        SassOp::IMma,
        0x37,
        &[1],
        &[
            choice!(SHAPE: MatrixShape, split(75, 1, 85, 2), [
                (M8N8K16 ".8816") _ (M8N8K32 ".8832") _ (M16N8K16 ".16816") (M16N8K32 ".16832") (M16N8K64 ".16864") _
            ]),
            choice!(A_INT: IntType, split(76, 1, 83, 1), [(U8 ".U8") (S8 ".S8") (U4 ".U4") (S4 ".S4")]),
            choice!(B_INT: IntType, split(78, 1, 84, 1), [(U8 ".U8") (S8 ".S8") (U4 ".U4") (S4 ".S4")]),
            key::SATURATE.bit(82, &["", ".SAT"]),
            modifier("other types", split(77, 1, 79, 1), &[""]),
            flag("sparse", 72, &["", RESERVED]),
            NO_PRED,
        ],
        &[DST, A_SHAPE, B_SHAPE, c(Style::Bits)],
        "matrix multiplication of integers by a warp",
    )
    .sm(75, 90),
    row(
        SassOp::QMma,
        0x7a,
        &[1],
        &[
            choice!(SHAPE: MatrixShape, bits(75, 2), [(M16N8K16 ".16816") (M16N8K32 ".16832")]),
            key::D_F32.bit(77, &[".F16", ".F32"]),
            choice!(A_BYTE: ByteType, bits(78, 1), [(E4m3 ".E4M3") (E5m2 ".E5M2")]),
            choice!(B_BYTE: ByteType, bits(79, 1), [(E4m3 ".E4M3") (E5m2 ".E5M2")]),
            modifier("orders", bits(73, 2), &[RESERVED, RESERVED, "", RESERVED]),
            flag("sparse", 80, &["", RESERVED]),
            NO_PRED,
        ],
        &[DST, A_SIGNED, B_SIGNED, c(Style::Bits)],
        "matrix multiplication of 8-bit floating-point numbers by a warp",
    )
    .sm(89, 89),
];

use crate::decode::row::split;
