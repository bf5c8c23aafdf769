//! Hopper's barriers in shared memory, and its copies by the uniform datapath. The text of the descriptor with the cache
//! policy (bit 76, uniform register at 40) is left out.

use super::atomics::{ATOMIC_TYPE, REDUCTION_OP};
use super::memory::{DATA, PLAIN, UNIFORM_ON, at};
use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::{Address, Width, row};

/// `[R2+UR4+0x10]`.
const BARRIER: Address = Address {
    base: 24,
    offset: bits(40, 24),
    uniform: 64,
    has_uniform: Show::Always,
    width: Width::Plain,
    scale: None,
};
/// `[R2.64]`: a pair of addresses in the cluster's shared memory, of the data and of a barrier. No compiler adds a
/// uniform register.
const PAIR: Address = Address { uniform: 64, width: Width::Descriptor(90), ..PLAIN };
const NOT_ADDED: (Field, u64) = (bits(64, 6), 0x3f);
const SIZE: Mod = choice!(SIZE: Size, bits(73, 3), [_ _ _ _ (B32 "") (B64 ".64") (B128 ".128") _]);
const fn uniform_at(lo: u8) -> Slot {
    slot(What::UAddress(lo))
}
const UR64: Slot = slot(What::UReg(64));
const MULTICAST: Mod = key::MULTICAST.bit(75, &["", ".MULTICAST"]);
const DIRECTION: Mod = choice!(DIRECTION: CopyDirection, bits(73, 2), [
    _ (GlobalToShared ".S.G") (SharedToGlobal ".G.S") (SharedToShared ".S.S")
]);
const BULK_TYPE: Mod = choice!(ATOMIC_TYPE: AtomicType, bits(81, 4), [
    (U32 "") (S32 ".S32") (U64 ".U64") (S64 ".S64") (F16 ".F16.RN") (F32 ".F32.RN") _ (F64 ".F64.RN") (Bf16 ".BF16.RN")
    _ _ _ _ _ _ _
]);
const RANK: Mod =
    choice!(RANK: Rank, bits(79, 3), [(One ".1D") (Two ".2D") (Three ".3D") (Four ".4D") (Five ".5D") _ _ _]);
const IM2COL: Mod = key::IM2COL.bit(82, &["", ".IM2COL"]);
const L2: Mod = modifier("level", bits(91, 1), &[".L2", ".L2"]);

/// A row of the copy engine: its operands are in uniform registers.
const fn engine(
    op: SassOp,
    code: u16,
    forms: &'static [u8],
    mods: &'static [Mod],
    slots: &'static [Slot],
    meaning: &'static str,
) -> Row {
    row(op, code, forms, mods, slots, meaning).uniform().sm(90, 90).fixed(UNIFORM_ON)
}

pub(super) const ROWS: &[Row] = &[
    row(
        SassOp::SyncsExch,
        0x1b2,
        &[2],
        &[],
        &[UDST, slot(What::UAddressOffset(24, bits(40, 24))), slot(What::UReg(32))],
        "d = barrier in shared memory; barrier = b",
    )
    .uniform()
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 1), (bits(72, 2), 1)]),
    row(
        SassOp::SyncsArrive,
        0x1a7,
        &[4],
        &[
            key::TOGETHER.bit(73, &["", ".TMASK"]),
            key::REMOTE.bit(74, &["", ".RED"]),
            key::DROP.bit(75, &["", ".OPTOUT"]),
            choice!(ARRIVAL: Arrival, bits(84, 3), [
                (One "") (OneWithoutBytes ".A1T0") (NoneOneByte ".A0T1") (None ".A0TR") (Complete ".A0TX") (Many ".ART0") _ _
            ]),
        ],
        &[DST, at(BARRIER), DATA],
        "d = barrier in shared memory; arrives there, or expects bytes",
    )
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 1), (bits(70, 3), 0)]),
    row(
        SassOp::SyncsPhaseChk,
        0x1a7,
        &[2],
        &[key::SUSPENDS.bit(72, &["", ".TRYWAIT"])],
        &[P81, at(BARRIER), DATA],
        "p = the phase of the barrier whose parity is bit 31 of b is complete",
    )
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 1), (bits(70, 2), 1)]),
    row(SassOp::SyncsCctl, 0x1b1, &[4], &[], &[at(BARRIER)], "invalidates the barrier").sm(90, 90).fixed(UNIFORM_ON),
    row(
        SassOp::StAs,
        0x1bd,
        &[6],
        &[SIZE],
        &[at(PAIR), DATA],
        "shared memory of a CTA of the cluster = b; a barrier counts the bytes",
    )
    .sm(90, 90)
    .fixed(&[(bits(90, 2), 3), (bits(77, 4), 0), NOT_ADDED]),
    row(
        SassOp::RedAs,
        0x1be,
        &[6],
        &[REDUCTION_OP, ATOMIC_TYPE],
        &[at(PAIR), DATA],
        "shared memory of a CTA of the cluster = memory op b; a barrier counts the bytes",
    )
    .sm(90, 90)
    .fixed(&[(bits(90, 2), 2), (bits(72, 1), 1), (bits(77, 4), 0), NOT_ADDED]),
    engine(
        SassOp::UBlkCp,
        0x1ba,
        &[1],
        &[DIRECTION, MULTICAST],
        &[uniform_at(32), uniform_at(24), UR64],
        "copies units of 16 bytes between global and shared memory",
    ),
    row(
        SassOp::UBlkRed,
        0x1bb,
        &[1],
        &[DIRECTION, REDUCTION_OP, BULK_TYPE],
        &[uniform_at(32), uniform_at(24), UR64],
        "reduces shared memory into global or shared memory",
    )
    .uniform()
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 1), (bits(74, 2), 1)]),
    engine(SassOp::UBlkPf, 0x1bc, &[1], &[L2], &[uniform_at(24), UR64], "copies units of 16 bytes into the L2"),
    row(
        SassOp::UTmaLdG,
        0x1b4,
        &[2],
        &[RANK, IM2COL],
        &[uniform_at(32), uniform_at(24)],
        "copies a box of a tensor to shared memory",
    )
    .uniform()
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 1), (bits(75, 1), 0)]),
    engine(
        SassOp::UTmaLdG,
        0x1b4,
        &[1],
        &[RANK, IM2COL, MULTICAST],
        &[uniform_at(32), uniform_at(24), UR64],
        "UTMALDG with offsets and receiving CTAs",
    ),
    engine(
        SassOp::UTmaStG,
        0x1b5,
        &[1],
        &[RANK, IM2COL],
        &[uniform_at(32), uniform_at(24)],
        "copies shared memory to a box of a tensor",
    ),
    engine(
        SassOp::UTmaRedG,
        0x1b6,
        &[1],
        &[RANK, IM2COL, REDUCTION_OP],
        &[uniform_at(32), uniform_at(24)],
        "reduces shared memory into a box of a tensor",
    ),
    engine(
        SassOp::UTmaPf,
        0x1b8,
        &[2],
        &[L2, RANK, IM2COL],
        &[uniform_at(32), uniform_at(24)],
        "copies a box of a tensor into the L2",
    ),
    engine(
        SassOp::UTmaPf,
        0x1b8,
        &[1],
        &[L2, RANK, IM2COL],
        &[uniform_at(32), uniform_at(24), UR64],
        "UTMAPF with offsets",
    ),
    engine(
        SassOp::UTmaCctl,
        0x1b9,
        &[4],
        &[key::MAP_PREFETCH.bit(82, &[".IV", ".PF"])],
        &[uniform_at(24)],
        "prefetches or forgets the description of a tensor",
    ),
    row(SassOp::UTmaCmdFlush, 0x1b7, &[4], &[], &[], "closes a group of bulk copies").uniform().sm(90, 90),
];
