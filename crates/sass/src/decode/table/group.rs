//! Matrix multiplication by a warp group (`wgmma` of PTX).

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::{row, split};

/// A from shared memory, and A from registers.
const SHARED: &[u8] = &[4];
const REGISTERS: &[u8] = &[6];

/// Numbers of columns in steps of 8.
const STEPS: usize = 32;
const COLUMNS_TEXT: [&str; STEPS] = [
    ".64x8", ".64x16", ".64x24", ".64x32", ".64x40", ".64x48", ".64x56", ".64x64", ".64x72", ".64x80", ".64x88",
    ".64x96", ".64x104", ".64x112", ".64x120", ".64x128", ".64x136", ".64x144", ".64x152", ".64x160", ".64x168",
    ".64x176", ".64x184", ".64x192", ".64x200", ".64x208", ".64x216", ".64x224", ".64x232", ".64x240", ".64x248",
    ".64x256",
];
const COLUMNS_VALUES: [u8; STEPS] = {
    let mut values = [0; STEPS];
    let mut at = 0;
    while at < STEPS {
        values[at] = at as u8;
        at += 1;
    }
    values
};
/// Numbers of columns of integers, by their places in the list above: 8, 16, 24, then multiples of 16.
const OF_INTEGERS: [u8; 18] = [0, 1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];

/// Shapes of integers with sums of this length, as a text that starts with `x`.
macro_rules! of_integers {
    ($length:literal) => {
        of_integers!($length: 8 16 24 32 48 64 80 96 112 128 144 160 176 192 208 224 240 256)
    };
    ($length:literal: $($columns:literal)*) => {
        [$(concat!(".64x", $columns, $length)),*]
    };
}

/// Texts and values in a field of `N` values: a shape is one in `STEP` of them, the first at `FIRST`.
const fn spread<const N: usize>(shapes: [&'static str; 18], first: usize, step: usize) -> ([&'static str; N], [u8; N]) {
    let (mut text, mut values) = ([RESERVED; N], [u8::MAX; N]);
    let mut shape = 0;
    while shape < shapes.len() {
        let at = first + shape * step;
        (text[at], values[at]) = (shapes[shape], OF_INTEGERS[shape]);
        shape += 1;
    }
    (text, values)
}

const OF_BYTES: ([&str; 64], [u8; 64]) = spread(of_integers!("x32"), 0, 3);
const OF_SPARSE_BYTES: ([&str; 64], [u8; 64]) = spread(of_integers!("x64"), 1, 3);
const OF_BITS: ([&str; 32], [u8; 32]) = spread(of_integers!("x256"), 0, 1);

const SPARSE: Mod = key::SPARSE.bit(73, &["", ".SP"]);
const COLUMNS: Mod = key::GROUP_COLUMNS.choice(bits(53, 5), &COLUMNS_VALUES, &COLUMNS_TEXT);
const SUM_F32: Mod = key::D_F32.bit(75, &[".F16", ".F32"]);
const HALF_TYPE: Mod = choice!(FACTORS: FloatType, bits(76, 2), [(F16 "") (Bf16 ".BF16") (Tf32 ".TF32") _]);
const A_BYTE: Mod = choice!(A_BYTE: ByteType, bits(76, 1), [(E4m3 ".E4M3") (E5m2 ".E5M2")]);
const B_BYTE: Mod = choice!(B_BYTE: ByteType, bits(77, 1), [(E4m3 ".E4M3") (E5m2 ".E5M2")]);
const A_INT: Mod = choice!(A_INT: IntType, bits(76, 2), [(U8 ".U8") (S8 ".S8") _ _]);
const B_INT: Mod = choice!(B_INT: IntType, bits(82, 2), [(U8 ".U8") (S8 ".S8") _ _]);
const SAT: Mod = key::SATURATE.bit(75, &["", ".SAT"]);
/// Only the first of the scoreboards of a warp group is used; 7 is none.
const SCOREBOARD: Mod =
    modifier("scoreboard", bits(84, 3), &["", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, ""]);
/// An operation with the scoreboard is the last of its group.
const END: Mod = choice!(GROUP_END: GroupEnd, bits(84, 3), [(Last "") _ _ _ _ _ _ (Inner "")]);
const NO_SELECTOR: Mod = modifier("selector", bits(48, 2), &["", RESERVED, RESERVED, RESERVED]);
/// Another form of the descriptors.
const NO_OFFSET: Mod = unused(bits(74, 1));
/// Factors that are neither transposed nor negated.
const NO_TRANSPOSITION: Mod = modifier("unused", bits(61, 2), &[""]);
const NO_CHANGE: Mod = modifier("unused", split(61, 3, 72, 1), &[""]);

const HALF: &[Mod] = &[
    SPARSE,
    COLUMNS,
    choice!(GROUP_LENGTH: GroupLength, bits(58, 2), [(K16 "x16") (K8 "x8") _ _]),
    SUM_F32,
    HALF_TYPE,
    END,
];
const SPARSE_HALF: &[Mod] = &[
    SPARSE,
    COLUMNS,
    choice!(GROUP_LENGTH: GroupLength, bits(58, 2), [(K16 "x16") _ (K32 "x32") _]),
    SUM_F32,
    HALF_TYPE,
    END,
    NO_OFFSET,
];
const BYTES: &[Mod] =
    &[SPARSE, COLUMNS, flag("length", 58, &["x32", RESERVED]), SUM_F32, A_BYTE, B_BYTE, END, NO_TRANSPOSITION];
const SPARSE_BYTES: &[Mod] = &[
    SPARSE,
    COLUMNS,
    flag("length", 58, &[RESERVED, "x64"]),
    SUM_F32,
    A_BYTE,
    B_BYTE,
    END,
    NO_OFFSET,
    NO_SELECTOR,
    NO_TRANSPOSITION,
];
const INTEGERS: &[Mod] =
    &[SPARSE, key::GROUP_COLUMNS.choice(bits(53, 6), &OF_BYTES.1, &OF_BYTES.0), A_INT, B_INT, SAT, END, NO_CHANGE];
const SPARSE_INTEGERS: &[Mod] = &[
    SPARSE,
    key::GROUP_COLUMNS.choice(bits(53, 6), &OF_SPARSE_BYTES.1, &OF_SPARSE_BYTES.0),
    A_INT,
    B_INT,
    SAT,
    END,
    NO_OFFSET,
    NO_SELECTOR,
    NO_CHANGE,
];
const SINGLE_BITS: &[Mod] = &[
    key::GROUP_COLUMNS.choice(bits(53, 5), &OF_BITS.1, &OF_BITS.0),
    unused(bits(58, 1)),
    choice!(BIT_OPERATION: BitOperation, bits(77, 2), [_ _ (And ".AND") _]),
    flag("reduction", 80, &[RESERVED, ".POPC"]),
    END,
    NO_CHANGE,
];

/// The predicate that says whether the accumulator is added.
const ACCUMULATES: Slot = shown(What::UPredInverse(87, 90), Show::UnlessTrue);
/// Metadata of a sparse A, and the selector of its lanes: bytes have one choice only.
const METADATA: Slot = shown(What::Reg(40), on(73));
const SELECTOR: Slot = shown(What::Imm(bits(48, 2)), on(73));
const GROUP_SCOREBOARD: Slot = shown(What::Named(bits(84, 3), &["gsb0"]), Show::Unless(bits(84, 3), 7));
const OF_SHARED: Slot = slot(What::Descriptors(24));
const OF_REGISTERS: Slot = slot(What::Descriptors(32));
const A: Slot = a(Style::Int);
const C: Slot = c(Style::Bits);

const SHARED_HALF: &[Slot] = &[DST, OF_SHARED, C, ACCUMULATES, METADATA, SELECTOR, GROUP_SCOREBOARD];
const REGISTERS_HALF: &[Slot] = &[DST, A, OF_REGISTERS, C, ACCUMULATES, METADATA, SELECTOR, GROUP_SCOREBOARD];
const SHARED_OTHER: &[Slot] = &[DST, OF_SHARED, C, ACCUMULATES, METADATA, GROUP_SCOREBOARD];
const REGISTERS_OTHER: &[Slot] = &[DST, A, OF_REGISTERS, C, ACCUMULATES, METADATA, GROUP_SCOREBOARD];

/// The predicate is uniform, and A is dense or sparse.
const DENSE: &[(Field, u64)] = &[(bits(91, 1), 1), (bits(73, 1), 0)];
const IS_SPARSE: &[(Field, u64)] = &[(bits(91, 1), 1), (bits(73, 1), 1)];

/// A row of Hopper.
const fn group(op: SassOp, code: u16, form: &[u8], mods: &'static [Mod], slots: &'static [Slot]) -> Row {
    row(op, code, form, mods, slots, "matrix multiplication by a warp group").sm(90, 90).fixed(DENSE)
}

/// A row with a sparse A.
const fn sparse(op: SassOp, code: u16, form: &[u8], mods: &'static [Mod], slots: &'static [Slot]) -> Row {
    row(op, code, form, mods, slots, "the same with a sparse A").sm(90, 90).fixed(IS_SPARSE)
}

/// The rows of this family.
pub const ROWS: &[Row] = &[
    group(SassOp::HGmma, 0x1f0, SHARED, HALF, SHARED_HALF),
    group(SassOp::HGmma, 0x1f0, REGISTERS, HALF, REGISTERS_HALF),
    sparse(SassOp::HGmma, 0x1f0, SHARED, SPARSE_HALF, SHARED_HALF),
    sparse(SassOp::HGmma, 0x1f0, REGISTERS, SPARSE_HALF, REGISTERS_HALF),
    group(SassOp::IGmma, 0x1f1, SHARED, INTEGERS, SHARED_OTHER),
    group(SassOp::IGmma, 0x1f1, REGISTERS, INTEGERS, REGISTERS_OTHER),
    sparse(SassOp::IGmma, 0x1f1, SHARED, SPARSE_INTEGERS, SHARED_OTHER),
    sparse(SassOp::IGmma, 0x1f1, REGISTERS, SPARSE_INTEGERS, REGISTERS_OTHER),
    group(SassOp::BGmma, 0x1f2, SHARED, SINGLE_BITS, SHARED_OTHER),
    group(SassOp::BGmma, 0x1f2, REGISTERS, SINGLE_BITS, REGISTERS_OTHER),
    group(SassOp::QGmma, 0x1f3, SHARED, BYTES, SHARED_OTHER),
    group(SassOp::QGmma, 0x1f3, REGISTERS, BYTES, REGISTERS_OTHER),
    sparse(SassOp::QGmma, 0x1f3, SHARED, SPARSE_BYTES, SHARED_OTHER),
    sparse(SassOp::QGmma, 0x1f3, REGISTERS, SPARSE_BYTES, REGISTERS_OTHER),
    row(
        SassOp::WarpGroup,
        0x1c5,
        &[4],
        &[
            modifier("mode", bits(79, 2), &[".ARRIVE", RESERVED, ".DEPBAR", RESERVED]),
            flag("comparison", 47, &[RESERVED, ".LE"]).show(on(80)),
            SCOREBOARD.show(on(80)),
        ],
        &[shown(What::Named(bits(84, 3), &["gsb0"]), on(80)), shown(What::Imm(bits(72, 3)), on(80))],
        "start and wait of a warp group's matrix multiplications",
    )
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 0)]),
];
