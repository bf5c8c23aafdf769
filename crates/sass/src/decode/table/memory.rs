//! Loads and stores.

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::{Address, Width, row, split};

pub(super) const SIZE: Mod = choice!(SIZE: Size, bits(73, 3), [
    (U8 ".U8") (S8 ".S8") (U16 ".U16") (S16 ".S16") (B32 "") (B64 ".64") (B128 ".128") _
]);
/// Volta and Turing: 16 bytes of global and generic memory have a second form, which ptxas takes for uniform addresses.
const SIZE_70: Mod = choice!(SIZE: Size, bits(73, 3), [
    (U8 ".U8") (S8 ".S8") (U16 ".U16") (S16 ".S16") (B32 "") (B64 ".64") (B128 ".128") (Uniform128 ".U.128")
]);
/// Loads of 16 bytes from shared memory or constants.
pub(super) const WIDE_ADDRESS: Mod = key::WIDE_ADDRESS.bit(72, &["", ".E"]);
pub(super) const EVICT: Mod =
    modifier("eviction", bits(84, 3), &[".EF", "", ".EL", ".LU", ".EU", ".NA", RESERVED, RESERVED]);
/// Volta and Turing: order and scope in separate fields.
const ORDER: Mod = choice!(ORDER: Order, bits(79, 2), [
    (Constant ".CONSTANT") (Weak "") (Strong ".STRONG") (Mmio ".MMIO")
]);
pub(super) const ORDER_STORE: Mod = choice!(ORDER: Order, bits(79, 2), [
    _ (Weak "") (Strong ".STRONG") (Mmio ".MMIO")
]);
pub(super) const SCOPE: Mod = choice!(SCOPE: Scope, bits(77, 2), [
    (Cta ".CTA") (Sm ".SM") (Gpu ".GPU") (System ".SYS")
]);
pub(super) const PRIVATE: Mod = flag("private", 76, &["", ".PRIVATE"]);
/// Since Ampere: order and scope in one field. Only loads can be constant.
pub(super) const ORDER_80: Mod = choice!(ORDER: Order, bits(77, 4), [
    (Weak "") (Constant ".CONSTANT.PRIVATE") (Constant ".CONSTANT.CTA") (Constant ".CONSTANT.CTA.PRIVATE")
    (Constant ".CONSTANT") (Strong ".STRONG.SM") (StrongGpu ".STRONG.GPU.PRIVATE") (StrongGpu ".STRONG.GPU")
    (Mmio ".MMIO.GPU") (Constant ".CONSTANT.SM") (StrongSystem ".STRONG.SYS") (Constant ".CONSTANT.SM.PRIVATE")
    (Mmio ".MMIO.SYS") (Constant ".CONSTANT.VC") (Constant ".CONSTANT.VC.PRIVATE") (Constant ".CONSTANT.GPU")
]);
/// Asynchronous copies have names of their own.
const ORDER_COPY: Mod = choice!(ORDER: Order, bits(77, 4), [
    (Weak "") (Constant ".CONSTANT.PRIVATE") (Constant ".CONSTANT.CTA") (Constant ".CONSTANT.CTA.PRIVATE")
    (Constant ".CONSTANT") (Mmio ".MMIO.CTA") (Weak ".GPU.PRIVATE") (Mmio ".MMIO.CTA.PRIVATE") (Mmio ".MMIO.SM")
    (Constant ".CONSTANT.SM") (Mmio ".MMIO.VC") (Constant ".CONSTANT.SM.PRIVATE") (Mmio ".MMIO.GPU")
    (Constant ".CONSTANT.VC") (Constant ".CONSTANT.VC.PRIVATE") (Constant ".CONSTANT.GPU")
]);
pub(super) const ORDER_STORE_80: Mod = choice!(ORDER: Order, bits(77, 4), [
    (Weak "") _ _ _ (Strong ".STRONG.SM.PRIVATE") (Strong ".STRONG.SM") (StrongGpu ".STRONG.GPU.PRIVATE")
    (StrongGpu ".STRONG.GPU") (Mmio ".MMIO.GPU") _ (StrongSystem ".STRONG.SYS") _ (Mmio ".MMIO.SYS") _ _ _
]);
/// Loads that return zero in inactive lanes are refused.
const ZERO_DIVERGENT: Mod = flag("zd", 87, &["", RESERVED]);
const UNSIGNED_75: Mod = flag("u", 76, &["", ".U"]);

const PREFETCH: Mod = modifier("prefetch", bits(68, 2), &["", ".LTC64B", ".LTC128B", ".LTC256B"]);
/// Predicate of a generic load; the text omits it.
const P_ZD: Slot = shown(What::Pred(81, 0), Show::Never);
/// Predicate of a load's second kind of access; omitted if it is PT.
const P64: Slot = shown(What::PredInverse(64, 67), Show::Unless(bits(64, 4), 0));

/// Since Turing, a base of 64 bits (`wide`) with a uniform register: only in addresses of 64 bits.
pub(super) const fn base_width(wide: u8) -> Mod {
    modifier("base width", split(72, 1, wide, 1), &["", "", RESERVED, ""]).show(on(91))
}
pub(super) const BASE_WIDTH: Mod = base_width(90);
/// A descriptor goes with a base of 64 bits.
pub(super) const fn descriptor(bit: u8, wide: u8) -> Mod {
    modifier("descriptor", split(bit, 1, wide, 1), &["", RESERVED, "", ""]).show(on(91))
}
const DESCRIPTOR: Mod = descriptor(76, 90);

const OFFSET: Field = bits(40, 24);
const SCALE: Field = bits(78, 2);

/// `[R2+0x10]`.
pub(super) const PLAIN: Address =
    Address { base: 24, offset: OFFSET, uniform: 32, has_uniform: Show::Never, width: Width::Plain, scale: None };
/// `[R2.64+UR4]` of Turing, uniform register at 32 (loads) or 64.
/// Volta and Turing: generic addresses have offsets of 32 bits.
const GENERIC: Address = Address { offset: bits(32, 32), ..PLAIN };
const U32: Address = Address { has_uniform: Show::Always, width: Width::Bit(90), ..PLAIN };
pub(super) const U64: Address = Address { uniform: 64, ..U32 };
/// `[R2.64]` of Ampere: the uniform register holds a descriptor that the text omits.
const D32: Address = Address { has_uniform: off(76), width: Width::Descriptor(90), ..PLAIN };
pub(super) const D64: Address = Address { uniform: 64, ..D32 };
/// `[R2.X4+UR4+0x10]`: shared memory.
const S32: Address = Address { has_uniform: on(91), scale: Some(SCALE), ..PLAIN };
pub(super) const S64: Address = Address { uniform: 64, ..S32 };
/// The same without a scale.
const LDSM: Address = Address { scale: None, ..S32 };
const STSM: Address = Address { uniform: 64, ..LDSM };
/// Local memory: since Ampere, with bit 76 set the uniform register is a descriptor.
const L32: Address = Address { has_uniform: Show::When(split(76, 1, 91, 1), 2), ..LDSM };

pub(super) const fn at(address: Address) -> Slot {
    slot(What::Address(address))
}

const MATRICES: Mod = choice!(LAYOUT: Layout, bits(78, 2), [(Plain ".16.M88") (Transposed ".16.MT88") _ _]);
const MATRIX_COUNT: Mod = choice!(COUNT: Count, bits(72, 2), [(One "") (Two ".2") (Four ".4") _]);

pub(super) const DATA: Slot = slot(What::Reg(32));
pub(super) const DATA_64: Slot = slot(What::Reg(64));
pub(super) const UNIFORM_OFF: &[(Field, u64)] = &[(bits(91, 1), 0)];
pub(super) const UNIFORM_ON: &[(Field, u64)] = &[(bits(91, 1), 1)];

pub(super) const ROWS: &[Row] = &[
    row(
        SassOp::LdG,
        0x181,
        &[1],
        &[WIDE_ADDRESS, EVICT, SIZE_70, ORDER, SCOPE, PRIVATE, ZERO_DIVERGENT],
        &[PDST, DST, at(PLAIN)],
        "d = global memory",
    )
    .sm(70, 70)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::LdG,
        0x181,
        &[1],
        &[WIDE_ADDRESS, EVICT, PREFETCH, SIZE_70, ORDER, SCOPE, PRIVATE, ZERO_DIVERGENT],
        &[PDST, DST, at(PLAIN), P64],
        "d = global memory",
    )
    .sm(75, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::LdG,
        0x181,
        &[4],
        &[BASE_WIDTH, WIDE_ADDRESS, EVICT, PREFETCH, SIZE_70, ORDER, SCOPE, PRIVATE, ZERO_DIVERGENT],
        &[PDST, DST, at(U32), P64],
        "d = global memory, uniform register added",
    )
    .sm(75, 75)
    .fixed(UNIFORM_ON),
    row(
        SassOp::LdG,
        0x181,
        &[4],
        &[BASE_WIDTH, DESCRIPTOR, WIDE_ADDRESS, EVICT, PREFETCH, SIZE, ORDER_80],
        &[PDST, DST, at(D32), P64],
        "d = global memory, through a descriptor",
    )
    .sm(80, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::StG,
        0x186,
        &[1],
        &[WIDE_ADDRESS, EVICT, SIZE_70, ORDER_STORE, SCOPE, PRIVATE],
        &[at(PLAIN), DATA],
        "global memory = b",
    )
    .sm(70, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::StG,
        0x186,
        &[4],
        &[BASE_WIDTH, WIDE_ADDRESS, EVICT, SIZE_70, ORDER_STORE, SCOPE, PRIVATE],
        &[at(U64), DATA],
        "global memory = b, uniform register added",
    )
    .sm(75, 75)
    .fixed(UNIFORM_ON),
    row(
        SassOp::StG,
        0x186,
        &[4],
        &[BASE_WIDTH, DESCRIPTOR, WIDE_ADDRESS, EVICT, SIZE, ORDER_STORE_80],
        &[at(D64), DATA],
        "global memory = b, through a descriptor",
    )
    .sm(80, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::LdS,
        0x184,
        &[4],
        &[UNSIGNED_75, SIZE, ZERO_DIVERGENT],
        &[shown(What::Pred(81, 0), Show::Never), DST, at(S32)],
        "d = shared memory",
    )
    .sm(70, 75),
    row(SassOp::LdS, 0x184, &[4], &[SIZE], &[DST, at(S32)], "d = shared memory").sm(80, 90),
    row(
        SassOp::StS,
        0x188,
        &[1],
        &[SIZE],
        &[at(Address { has_uniform: Show::Never, ..S64 }), DATA],
        "shared memory = b",
    )
    .fixed(UNIFORM_OFF),
    row(SassOp::StS, 0x188, &[4], &[SIZE], &[at(S64), DATA], "shared memory = b, uniform register added")
        .sm(75, 90)
        .fixed(UNIFORM_ON),
    row(SassOp::LdL, 0x183, &[4], &[EVICT, SIZE], &[DST, at(LDSM)], "d = local memory").sm(70, 75),
    row(SassOp::LdL, 0x183, &[4], &[EVICT, SIZE], &[DST, at(L32)], "d = local memory").sm(80, 90),
    row(SassOp::StL, 0x187, &[1], &[EVICT, SIZE], &[at(PLAIN), DATA], "local memory = b").fixed(UNIFORM_OFF),
    row(SassOp::StL, 0x187, &[4], &[EVICT, SIZE], &[at(STSM), DATA], "local memory = b, uniform register added")
        .sm(75, 75)
        .fixed(UNIFORM_ON),
    row(
        SassOp::StL,
        0x187,
        &[4],
        &[EVICT, SIZE],
        &[at(Address { uniform: 64, ..L32 }), DATA],
        "local memory = b, uniform register added",
    )
    .sm(80, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::Ld,
        0x180,
        &[4],
        &[WIDE_ADDRESS, EVICT, SIZE_70, ORDER, SCOPE, PRIVATE, ZERO_DIVERGENT],
        &[P_ZD, DST, at(GENERIC)],
        "d = generic memory",
    )
    .sm(70, 70)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Ld,
        0x180,
        &[4],
        &[WIDE_ADDRESS, EVICT, PREFETCH, SIZE_70, ORDER, SCOPE, PRIVATE, ZERO_DIVERGENT],
        &[P_ZD, DST, at(GENERIC), P64],
        "d = generic memory",
    )
    .sm(75, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Ld,
        0x180,
        &[4],
        &[BASE_WIDTH, DESCRIPTOR, WIDE_ADDRESS, EVICT, PREFETCH, SIZE, ORDER_80],
        &[P_ZD, DST, at(D32), P64],
        "d = generic memory, through a descriptor",
    )
    .sm(80, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::St,
        0x185,
        &[1],
        &[WIDE_ADDRESS, EVICT, SIZE_70, ORDER_STORE, SCOPE, PRIVATE],
        &[at(GENERIC), DATA_64],
        "generic memory = b",
    )
    .sm(70, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::St,
        0x185,
        &[4],
        &[BASE_WIDTH, DESCRIPTOR, WIDE_ADDRESS, EVICT, SIZE, ORDER_STORE_80],
        &[at(D64), DATA],
        "generic memory = b, through a descriptor",
    )
    .sm(80, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::Ld,
        0x180,
        &[4],
        &[WIDE_ADDRESS, EVICT, PREFETCH, SIZE, ORDER_80],
        &[P_ZD, DST, at(GENERIC), P64],
        "d = generic memory, without a descriptor",
    )
    .sm(80, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::St,
        0x185,
        &[1],
        &[WIDE_ADDRESS, EVICT, SIZE, ORDER_STORE_80],
        &[at(GENERIC), DATA_64],
        "generic memory = b",
    )
    .sm(80, 90)
    .fixed(UNIFORM_OFF),
    row(SassOp::LdC, 0x182, &[5], &[SIZE_CONSTANT, MODE], &[DST, slot(What::ConstLoad)], "d = constant bank, indexed")
        .fixed(UNIFORM_OFF),
    row(
        SassOp::LdG,
        0x181,
        &[1],
        &[WIDE_ADDRESS, EVICT, PREFETCH, SIZE, ORDER_80],
        &[PDST, DST, at(PLAIN), P64],
        "d = global memory",
    )
    .sm(80, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::StG,
        0x186,
        &[1],
        &[WIDE_ADDRESS, EVICT, SIZE, ORDER_STORE_80],
        &[at(PLAIN), DATA],
        "global memory = b",
    )
    .sm(80, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::St,
        0x185,
        &[4],
        &[BASE_WIDTH, WIDE_ADDRESS, EVICT, SIZE_70, ORDER_STORE, SCOPE, PRIVATE],
        &[at(U64), DATA],
        "generic memory = b, uniform register added",
    )
    .sm(75, 75)
    .fixed(UNIFORM_ON),
    row(
        SassOp::Ld,
        0x180,
        &[4],
        &[BASE_WIDTH, WIDE_ADDRESS, EVICT, PREFETCH, SIZE_70, ORDER, SCOPE, PRIVATE, ZERO_DIVERGENT],
        &[P_ZD, DST, at(U32), P64],
        "d = generic memory, uniform register added",
    )
    .sm(75, 75)
    .fixed(UNIFORM_ON),
    row(
        SassOp::QSpc,
        0x1aa,
        &[1],
        &[WIDE_ADDRESS, choice!(SPACE: QueriedSpace, bits(73, 2), [(Global ".G") (Local ".L") (Shared ".S") _])],
        &[P81, DST, at(PLAIN)],
        "p = the generic address is in a space",
    )
    .sm(70, 89),
    row(
        SassOp::QSpc,
        0x1aa,
        &[4],
        &[
            BASE_WIDTH,
            WIDE_ADDRESS,
            choice!(SPACE: QueriedSpace, bits(73, 2), [
                (Global ".G") (Local ".L") (Shared ".S") _
            ]),
        ],
        &[P81, DST, at(U32)],
        "p = the generic address, uniform register added, is in a space",
    )
    .sm(75, 89)
    .fixed(UNIFORM_ON),
    row(
        SassOp::QSpc,
        0x1aa,
        &[4],
        &[
            BASE_WIDTH,
            WIDE_ADDRESS,
            choice!(SPACE: QueriedSpace, bits(73, 2), [
                (Global ".G") (Local ".L") (Shared ".S") (Distributed ".D")
            ]),
        ],
        &[P81, DST, at(U32)],
        "p = the generic address, uniform register added, is in a space",
    )
    .sm(90, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::QSpc,
        0x1aa,
        &[1],
        &[
            WIDE_ADDRESS,
            choice!(SPACE: QueriedSpace, bits(73, 2), [
                (Global ".G") (Local ".L") (Shared ".S") (Distributed ".D")
            ]),
        ],
        &[P81, DST, at(PLAIN)],
        "p = the generic address is in a space",
    )
    .sm(90, 90),
    row(
        SassOp::ArriveS,
        0x1b0,
        &[4],
        &[key::TRANSACTION_COUNT.bit(71, &["", ".TRANSCNT"])],
        &[at(S64)],
        "arrives at a barrier in shared memory when copies are done",
    )
    .sm(80, 89)
    .fixed(&[(bits(72, 4), 10)]),
    row(
        SassOp::ArriveS,
        0x1b0,
        &[4],
        &[key::TRANSACTION_COUNT.choice(
            bits(70, 2),
            &[u8::MAX, 0, 1, u8::MAX],
            &[RESERVED, ".ARVCNT", ".TRANSCNT", RESERVED],
        )],
        &[at(S64)],
        "arrives at a barrier in shared memory when copies are done",
    )
    .sm(90, 90)
    .fixed(&[(bits(72, 4), 10)]),
    row(
        SassOp::LdGSts,
        0x1ae,
        &[7],
        &[
            key::WIDE_ADDRESS.bit(91, &["", ".E"]),
            flag("through L1", 81, &[".BYPASS", ""]),
            EVICT,
            modifier("prefetch", bits(71, 2), &["", ".LTC64B", ".LTC128B", ".LTC256B"]),
            choice!(SIZE: Size, bits(73, 3), [_ _ _ _ (B32 "") (B64 ".64") (B128 ".128") _]),
            key::ZERO_FILL.bit(82, &["", ".ZFILL"]),
            ORDER_COPY,
            descriptor(76, 70),
        ],
        &[
            at(Address { base: 16, offset: bits(44, 20), ..PLAIN }),
            at(Address { offset: bits(32, 12), width: Width::Descriptor(70), ..D64 }),
            P87_OPTIONAL,
        ],
        "shared memory = global memory, without waiting",
    )
    .sm(80, 90)
    .fixed(UNIFORM_ON),
    row(SassOp::StSm, 0x44, &[4], &[MATRICES, MATRIX_COUNT], &[at(STSM), DATA], "8x8 matrices in shared memory = b")
        .sm(90, 90),
    row(SassOp::LdSm, 0x3b, &[4], &[MATRICES, MATRIX_COUNT], &[DST, at(LDSM)], "d = 8x8 matrices from shared memory")
        .sm(75, 90),
];

const MODE: Mod = choice!(INDEX_MODE: IndexMode, bits(78, 2), [
    (Plain "") (Bank ".IL") (Segmented ".IS") (SegmentedBank ".ISL")
]);
const SIZE_CONSTANT: Mod = choice!(SIZE: Size, bits(73, 3), [
    (U8 ".U8") (S8 ".S8") (U16 ".U16") (S16 ".S16") (B32 "") (B64 ".64") _ _
]);
