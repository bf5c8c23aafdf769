//! Atomics and reductions.

use super::memory::{
    BASE_WIDTH, D64, DATA, DATA_64, EVICT, ORDER_STORE_80, PLAIN, PRIVATE, S64, SCOPE, U64, UNIFORM_OFF, UNIFORM_ON,
    WIDE_ADDRESS, at, base_width, descriptor,
};
use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::{Address, Width, row};

const ORDER_ATOMIC: Mod = choice!(ORDER: Order, bits(79, 2), [_ (Weak "") (Strong ".STRONG") _]);
/// Types of Hopper's floating-point atomics.
const FLOAT_90: Mod = choice!(ATOMIC_TYPE: AtomicType, bits(73, 4), [
    (F16x2 ".F16x2.RN") (F16x4 ".F16x4.RN") (F16x8 ".F16x8.RN")
    (Bf16x2 ".BF16x2.RN") (Bf16x4 ".BF16x4.RN") (Bf16x8 ".BF16x8.RN") _ _ _
    (F32 ".F32.FTZ.RN") (F32x2 ".F32x2.FTZ.RN") (F32x4 ".F32x4.FTZ.RN") _ _ _ (F64 ".F64.RN")
]);
const ATOMIC_OP: Mod = choice!(ATOMIC: Atomic, bits(87, 4), [
    (Add ".ADD") (Min ".MIN") (Max ".MAX") (Inc ".INC") (Dec ".DEC") (And ".AND") (Or ".OR") (Xor ".XOR") (Exch ".EXCH")
]);
const ATOMG_OP: Mod = choice!(ATOMIC: Atomic, bits(87, 4), [
    (Add ".ADD") (Min ".MIN") (Max ".MAX") (Inc ".INC") (Dec ".DEC") (And ".AND") (Or ".OR") (Xor ".XOR") (Exch ".EXCH")
    (SafeAdd ".SAFEADD")
]);
pub(super) const REDUCTION_OP: Mod = choice!(ATOMIC: Atomic, bits(87, 3), [
    (Add ".ADD") (Min ".MIN") (Max ".MAX") (Inc ".INC") (Dec ".DEC") (And ".AND") (Or ".OR") (Xor ".XOR")
]);
pub(super) const ATOMIC_TYPE: Mod = choice!(ATOMIC_TYPE: AtomicType, bits(73, 3), [
    (U32 "") (S32 ".S32") (U64 ".64") (F32 ".F32.FTZ.RN") (F16x2 ".F16x2.RN") (S64 ".S64") (F64 ".F64.RN") _
]);
const CAS_TYPE: Mod = choice!(ATOMIC_TYPE: AtomicType, bits(73, 3), [(U32 "") (S32 ".S32") (U64 ".64")]);
/// Ampere's fields are wider.
const ATOMIC_TYPE_80: Mod = Mod { field: bits(73, 4), ..ATOMIC_TYPE };
const CAS_TYPE_80: Mod = Mod { field: bits(73, 4), ..CAS_TYPE };
const TYPE_90: Mod = choice!(ATOMIC_TYPE: AtomicType, bits(73, 4), [
    (U32 "") (S32 ".S32") (U64 ".64") (S64 ".S64") _ _ _ _ _ _ _ _ _ _ _ _
]);
const BASE_WIDTH_ATOMIC: Mod = base_width(70);
const DESCRIPTOR_ATOMIC: Mod = descriptor(71, 70);
const DESCRIPTOR_REDUCTION: Mod = descriptor(71, 90);
/// Atomics have the bit of the width elsewhere.
const U64_ATOMIC: Address = Address { width: Width::Bit(70), ..U64 };
const D64_ATOMIC: Address = Address { has_uniform: off(71), width: Width::Descriptor(70), ..D64 };
const D64_REDUCTION: Address = Address { has_uniform: off(71), ..D64 };
/// Generic compare-and-swap may return a flag instead of the old value.
const CAS_TEST: Mod = choice!(ATOMIC: Atomic, bits(87, 4), [(Cas ".CAS") (Cast ".CAST") _ (CastSpin ".CAST.SPIN")]);
const CAS: Mod = choice!(ATOMIC: Atomic, bits(87, 4), [(Cas ".CAS")]);
const ATOMS_CAS: Mod = choice!(ATOMIC: Atomic, bits(87, 2), [(Cas ".CAS") (Cast ".CAST") _ (CastSpin ".CAST.SPIN")]);
const ATOMS_TYPE: Mod = choice!(ATOMIC_TYPE: AtomicType, bits(73, 3), [(U32 "") (S32 ".S32") (U64 ".64")]);
const ATOMS_CAS_TYPE: Mod = choice!(ATOMIC_TYPE: AtomicType, bits(73, 3), [(U32 "") _ (U64 ".64")]);
/// Floating-point atomics encode operations differently.
const FLOAT_OP: Mod = choice!(ATOMIC: Atomic, bits(87, 4), [(Add ".ADD") _ (Min ".MIN") _ (Max ".MAX")]);
/// Rows of `RED` have bit 90 set.
const FLOAT_REDUCTION: Mod = choice!(ATOMIC: Atomic, bits(87, 3), [(Add ".ADD") _ (Min ".MIN") _ (Max ".MAX")]);

pub(super) const ROWS: &[Row] = &[
    row(
        SassOp::AtomG,
        0x1a8,
        &[1],
        &[WIDE_ADDRESS, ATOMG_OP, EVICT, ATOMIC_TYPE, ORDER_ATOMIC, SCOPE, PRIVATE],
        &[P81, DST, at(PLAIN), DATA],
        "d = global memory; memory = memory op b",
    )
    .sm(70, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::AtomG,
        0x1a8,
        &[4],
        &[BASE_WIDTH_ATOMIC, WIDE_ADDRESS, ATOMG_OP, EVICT, ATOMIC_TYPE, ORDER_ATOMIC, SCOPE, PRIVATE],
        &[P81, DST, at(U64_ATOMIC), DATA],
        "ATOMG, uniform register added",
    )
    .sm(75, 75)
    .fixed(UNIFORM_ON),
    row(
        SassOp::AtomG,
        0x1a8,
        &[4],
        &[BASE_WIDTH_ATOMIC, DESCRIPTOR_ATOMIC, WIDE_ADDRESS, ATOMG_OP, EVICT, ATOMIC_TYPE_80, ORDER_STORE_80],
        &[P81, DST, at(D64_ATOMIC), DATA],
        "ATOMG through a descriptor",
    )
    .sm(80, 89)
    .fixed(UNIFORM_ON),
    row(
        SassOp::AtomG,
        0x1a8,
        &[1],
        &[WIDE_ADDRESS, ATOMG_OP, EVICT, ATOMIC_TYPE_80, ORDER_STORE_80],
        &[P81, DST, at(PLAIN), DATA],
        "ATOMG without a descriptor",
    )
    .sm(80, 89)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::AtomG,
        0x1a8,
        &[4],
        &[BASE_WIDTH_ATOMIC, DESCRIPTOR_ATOMIC, WIDE_ADDRESS, ATOMG_OP, EVICT, TYPE_90, ORDER_STORE_80],
        &[P81, DST, at(D64_ATOMIC), DATA],
        "ATOMG through a descriptor",
    )
    .sm(90, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::AtomG,
        0x1a8,
        &[1],
        &[WIDE_ADDRESS, ATOMG_OP, EVICT, TYPE_90, ORDER_STORE_80],
        &[P81, DST, at(PLAIN), DATA],
        "ATOMG without a descriptor",
    )
    .sm(90, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::AtomGCas,
        0x1a9,
        &[1],
        &[WIDE_ADDRESS, CAS, EVICT, CAS_TYPE, ORDER_ATOMIC, SCOPE, PRIVATE],
        &[P81, DST, at(PLAIN), DATA, DATA_64],
        "d = global memory; memory = memory == b ? c : memory",
    )
    .sm(70, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::AtomGCas,
        0x1a9,
        &[1],
        &[WIDE_ADDRESS, CAS, EVICT, CAS_TYPE_80, ORDER_STORE_80],
        &[P81, DST, at(PLAIN), DATA, DATA_64],
        "d = global memory; memory = memory == b ? c : memory",
    )
    .sm(80, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Atom,
        0x18a,
        &[1],
        &[WIDE_ADDRESS, ATOMIC_OP, EVICT, ATOMIC_TYPE, ORDER_ATOMIC, SCOPE, PRIVATE],
        &[P81, DST, at(PLAIN), DATA],
        "d = generic memory; memory = memory op b",
    )
    .sm(70, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Atom,
        0x18a,
        &[4],
        &[BASE_WIDTH_ATOMIC, WIDE_ADDRESS, ATOMIC_OP, EVICT, ATOMIC_TYPE, ORDER_ATOMIC, SCOPE, PRIVATE],
        &[P81, DST, at(U64_ATOMIC), DATA],
        "ATOM, uniform register added",
    )
    .sm(75, 75)
    .fixed(UNIFORM_ON),
    row(
        SassOp::Atom,
        0x18a,
        &[4],
        &[BASE_WIDTH_ATOMIC, DESCRIPTOR_ATOMIC, WIDE_ADDRESS, ATOMIC_OP, EVICT, ATOMIC_TYPE_80, ORDER_STORE_80],
        &[P81, DST, at(D64_ATOMIC), DATA],
        "ATOM through a descriptor",
    )
    .sm(80, 89)
    .fixed(UNIFORM_ON),
    row(
        SassOp::Atom,
        0x18a,
        &[1],
        &[WIDE_ADDRESS, ATOMIC_OP, EVICT, ATOMIC_TYPE_80, ORDER_STORE_80],
        &[P81, DST, at(PLAIN), DATA],
        "ATOM without a descriptor",
    )
    .sm(80, 89)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Atom,
        0x18a,
        &[4],
        &[BASE_WIDTH_ATOMIC, DESCRIPTOR_ATOMIC, WIDE_ADDRESS, ATOMIC_OP, EVICT, TYPE_90, ORDER_STORE_80],
        &[P81, DST, at(D64_ATOMIC), DATA],
        "ATOM through a descriptor",
    )
    .sm(90, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::Atom,
        0x18a,
        &[1],
        &[WIDE_ADDRESS, ATOMIC_OP, EVICT, TYPE_90, ORDER_STORE_80],
        &[P81, DST, at(PLAIN), DATA],
        "ATOM without a descriptor",
    )
    .sm(90, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::AtomCas,
        0x18b,
        &[1],
        &[WIDE_ADDRESS, CAS_TEST, EVICT, CAS_TYPE, ORDER_ATOMIC, SCOPE, PRIVATE],
        &[P81, DST, at(PLAIN), DATA, DATA_64],
        "compare and swap in generic memory",
    )
    .sm(70, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::AtomCas,
        0x18b,
        &[1],
        &[WIDE_ADDRESS, CAS_TEST, EVICT, CAS_TYPE_80, ORDER_STORE_80],
        &[P81, DST, at(PLAIN), DATA, DATA_64],
        "compare and swap in generic memory",
    )
    .sm(80, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Red,
        0x18e,
        &[4],
        &[WIDE_ADDRESS, REDUCTION_OP, EVICT, ATOMIC_TYPE, ORDER_ATOMIC, SCOPE, PRIVATE],
        &[at(PLAIN), DATA],
        "global memory = memory op b",
    )
    .sm(70, 75)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Red,
        0x18e,
        &[4],
        &[BASE_WIDTH, WIDE_ADDRESS, REDUCTION_OP, EVICT, ATOMIC_TYPE, ORDER_ATOMIC, SCOPE, PRIVATE],
        &[at(U64), DATA],
        "RED, uniform register added",
    )
    .sm(75, 75)
    .fixed(UNIFORM_ON),
    row(
        SassOp::Red,
        0x18e,
        &[4],
        &[BASE_WIDTH, DESCRIPTOR_REDUCTION, WIDE_ADDRESS, REDUCTION_OP, EVICT, ATOMIC_TYPE_80, ORDER_STORE_80],
        &[at(D64_REDUCTION), DATA],
        "RED through a descriptor",
    )
    .sm(80, 89)
    .fixed(UNIFORM_ON),
    row(
        SassOp::RedG,
        0x18e,
        &[4],
        &[BASE_WIDTH, DESCRIPTOR_REDUCTION, WIDE_ADDRESS, REDUCTION_OP, EVICT, TYPE_90, ORDER_STORE_80],
        &[at(D64_REDUCTION), DATA],
        "RED through a descriptor",
    )
    .sm(90, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::AtomS,
        0x18c,
        &[1],
        &[ATOMIC_OP, ATOMS_TYPE],
        &[DST, at(Address { has_uniform: Show::Never, ..S64 }), DATA],
        "d = shared memory; memory = memory op b",
    )
    .fixed(UNIFORM_OFF),
    row(SassOp::AtomS, 0x18c, &[4], &[ATOMIC_OP, ATOMS_TYPE], &[DST, at(S64), DATA], "ATOMS, uniform register added")
        .sm(75, 90)
        .fixed(UNIFORM_ON),
    row(
        SassOp::AtomSPopcInc,
        0x18c,
        &[7],
        &[choice!(ATOMIC_TYPE: AtomicType, bits(73, 3), [(U32 ".32")])],
        &[DST, at(Address { has_uniform: Show::Always, ..S64 })],
        "shared memory += number of active lanes at the address",
    )
    .sm(80, 89)
    .fixed(&[(bits(87, 4), 10)]),
    row(
        SassOp::AtomSPopcInc,
        0x18c,
        &[7],
        &[choice!(ATOMIC_TYPE: AtomicType, bits(73, 3), [(U32 ".32")])],
        &[DST, at(Address { has_uniform: Show::Always, ..S64 })],
        "shared memory += number of active lanes at the address",
    )
    .sm(90, 90)
    .fixed(&[(bits(87, 4), 11)]),
    row(
        SassOp::AtomSCas,
        0x18d,
        &[1],
        &[ATOMS_CAS, ATOMS_CAS_TYPE],
        &[DST, at(Address { has_uniform: Show::Never, ..S64 }), DATA, DATA_64],
        "compare and swap in shared memory",
    )
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Red,
        0x18e,
        &[4],
        &[WIDE_ADDRESS, REDUCTION_OP, EVICT, ATOMIC_TYPE_80, ORDER_STORE_80],
        &[at(PLAIN), DATA],
        "RED without a descriptor",
    )
    .sm(80, 89)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::RedG,
        0x18e,
        &[4],
        &[WIDE_ADDRESS, REDUCTION_OP, EVICT, TYPE_90, ORDER_STORE_80],
        &[at(PLAIN), DATA],
        "RED without a descriptor",
    )
    .sm(90, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::RedG,
        0x1a6,
        &[4],
        &[BASE_WIDTH, DESCRIPTOR_REDUCTION, WIDE_ADDRESS, FLOAT_REDUCTION, EVICT, FLOAT_90, ORDER_STORE_80],
        &[at(D64_REDUCTION), DATA],
        "RED of floating-point numbers",
    )
    .sm(90, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::AtomG,
        0x1a3,
        &[4],
        &[BASE_WIDTH_ATOMIC, DESCRIPTOR_ATOMIC, WIDE_ADDRESS, FLOAT_OP, EVICT, FLOAT_90, ORDER_STORE_80],
        &[P81, DST, at(D64_ATOMIC), DATA],
        "ATOMG of floating-point numbers",
    )
    .sm(90, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::AtomG,
        0x1a3,
        &[1],
        &[WIDE_ADDRESS, FLOAT_OP, EVICT, FLOAT_90, ORDER_STORE_80],
        &[P81, DST, at(PLAIN), DATA],
        "ATOMG of floating-point numbers, without a descriptor",
    )
    .sm(90, 90)
    .fixed(UNIFORM_OFF),
    row(
        SassOp::Atom,
        0x1a2,
        &[4],
        &[BASE_WIDTH_ATOMIC, DESCRIPTOR_ATOMIC, WIDE_ADDRESS, FLOAT_OP, EVICT, FLOAT_90, ORDER_STORE_80],
        &[P81, DST, at(D64_ATOMIC), DATA],
        "ATOM of floating-point numbers",
    )
    .sm(90, 90)
    .fixed(UNIFORM_ON),
    row(
        SassOp::Atom,
        0x1a2,
        &[1],
        &[WIDE_ADDRESS, FLOAT_OP, EVICT, FLOAT_90, ORDER_STORE_80],
        &[P81, DST, at(PLAIN), DATA],
        "ATOM of floating-point numbers, without a descriptor",
    )
    .sm(90, 90)
    .fixed(UNIFORM_OFF),
    row(SassOp::AtomSArrive, 0x18c, &[7], &[], &[DST, at(S64)], "arrives at a barrier in shared memory")
        .sm(80, 89)
        .fixed(&[(bits(72, 4), 4), (bits(87, 4), 9)]),
    row(SassOp::AtomSArrive, 0x18c, &[7], &[], &[DST, at(S64)], "arrives at a barrier in shared memory")
        .sm(90, 90)
        .fixed(&[(bits(72, 4), 4), (bits(87, 4), 10)]),
];
