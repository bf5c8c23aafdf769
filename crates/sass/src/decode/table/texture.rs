//! Textures and surfaces.
//!
//! Positions of fields are from Mesa NAK (`sm70_encode.rs`) and NVIDIA's disassembler.

use super::memory::{EVICT, ORDER_80, ORDER_STORE, ORDER_STORE_80, PRIVATE, SCOPE, SIZE};
use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::row;

/// Coordinates are in two groups instead of one vector.
const SCATTERED: Mod = key::SCATTERED.bit(60, &["", ".SCR"]);
/// The handle is among the coordinates.
const BINDLESS: Mod = key::BINDLESS.bit(59, &["", ".B"]);
const LEVEL: Mod = choice!(LEVEL: Level, bits(87, 3), [
    (Automatic "") (Zero ".LZ") (Bias ".LB") (Given ".LL") (Clamped ".LC") (BiasClamped ".LB.LC") _ _
]);
const LEVEL_TLD: Mod = choice!(LEVEL: Level, bits(87, 3), [_ (Zero ".LZ") _ (Given ".LL") _ _ _ _]);
const OFFSET: Mod = choice!(OFFSETS: Offsets, bits(76, 1), [(None "") (One ".AOFFI")]);
const OFFSETS: Mod = choice!(OFFSETS: Offsets, bits(76, 2), [(None "") (One ".AOFFI") (PerTexel ".PTP") _]);
const HALF: Mod = modifier("half", bits(79, 2), &["", RESERVED, RESERVED, RESERVED]);
const NON_DIVERGENT: Mod = flag("non-divergent", 77, &["", ".NDV"]);
const COMPARE: Mod = key::DEPTH.bit(78, &["", ".DC"]);
const MULTISAMPLE: Mod = key::MULTISAMPLE.bit(78, &["", ".MS"]);
const CLAMP: Mod = flag("clamp", 77, &["", ".CL"]);
const CHANNEL: Mod = choice!(CHANNEL: Part, bits(87, 2), [(First ".R") (Second ".G") (Third ".B") (Fourth ".A")]);
const NO_DEPENDENCE: Mod = flag("no dependence", 90, &["", ".NODEP"]);

/// Fields of the handle: constant bank and word, or uniform register and offset.
const BANK: Slot = imm(54, 5);
const WORD: Slot = imm(40, 14);
const UNIFORM: Slot = slot(What::UReg(40));
const UNIFORM_OFFSET: Slot = imm(46, 8);
const A24: Slot = slot(What::Reg(24));
/// The second group of coordinates.
const B32: Slot = shown(What::Reg(32), Show::Unless(bits(32, 8), 255));
const D64: Slot = slot(What::Reg(64));
const SHAPE: Slot =
    slot(What::Named(bits(61, 3), &["1D", "2D", "3D", "CUBE", "ARRAY_1D", "ARRAY_2D", "ARRAY_3D", "ARRAY_CUBE"]));
const CHANNELS: Slot = shown(What::Imm(bits(72, 4)), Show::Unless(bits(72, 4), 15));
const QUESTION: Slot = slot(What::Named(
    bits(62, 2),
    &["TEX_HEADER_DIMENSION", "TEX_HEADER_TEXTURE_TYPE", "TEX_HEADER_SAMPLER_POS", "INVALID3"],
));

const BOUND: &[(Field, u64)] = &[(bits(59, 1), 0), (bits(91, 1), 0)];
const IN_REGISTER: &[(Field, u64)] = &[(bits(59, 1), 1), (bits(91, 1), 0)];
const IN_UNIFORM: &[(Field, u64)] = &[(bits(91, 1), 1)];

const TEX: &[Mod] = &[SCATTERED, BINDLESS, HALF, LEVEL, OFFSET, COMPARE, EVICT, NON_DIVERGENT, NO_DEPENDENCE];
const TEX_UNIFORM: &[Mod] = &[SCATTERED, HALF, LEVEL, OFFSET, COMPARE, EVICT, NON_DIVERGENT, NO_DEPENDENCE];
const TLD: &[Mod] = &[SCATTERED, BINDLESS, HALF, LEVEL_TLD, OFFSET, EVICT, MULTISAMPLE, CLAMP, NO_DEPENDENCE];
const TLD_UNIFORM: &[Mod] = &[SCATTERED, HALF, LEVEL_TLD, OFFSET, EVICT, MULTISAMPLE, CLAMP, NO_DEPENDENCE];
const TLD4: &[Mod] = &[SCATTERED, CHANNEL, BINDLESS, HALF, OFFSETS, COMPARE, EVICT, NO_DEPENDENCE];
const TLD4_UNIFORM: &[Mod] = &[SCATTERED, CHANNEL, HALF, OFFSETS, COMPARE, EVICT, NO_DEPENDENCE];
const FROM_BANK: &[Slot] = &[PDST, D64, DST, A24, B32, BANK, WORD, SHAPE, CHANNELS];
const FROM_REGISTER: &[Slot] = &[PDST, D64, DST, A24, B32, SHAPE, CHANNELS];
const FROM_UNIFORM: &[Slot] = &[PDST, D64, DST, A24, B32, UNIFORM, UNIFORM_OFFSET, SHAPE, CHANNELS];

const fn texture(op: SassOp, code: u16, form: &[u8], mods: &'static [Mod], slots: &'static [Slot]) -> Row {
    row(op, code, form, mods, slots, "d, d2 = channels of a texture at a, b")
}

const BYTES: Mod = key::IN_BYTES.bit(72, &["", ".BA"]);
const SURFACE: Mod = choice!(SURFACE: Surface, bits(61, 3), [
    (D1 ".1D") (Buffer ".1D_BUFFER") (Array1 ".1D_ARRAY") (D2 ".2D") (Array2 ".2D_ARRAY") (D3 ".3D") _ _
]);
const OUTSIDE: Mod = choice!(OUTSIDE: Outside, bits(59, 2), [(Ignore ".IGN") (Clamp "") (Trap ".TRAP") _]);
const ACCESS: &[Mod] = &[BYTES, SURFACE, EVICT, SIZE, ORDER_STORE, SCOPE, PRIVATE, OUTSIDE];
const LOAD_80: &[Mod] = &[BYTES, SURFACE, EVICT, SIZE, ORDER_80, OUTSIDE];
const STORE_80: &[Mod] = &[BYTES, SURFACE, EVICT, SIZE, ORDER_STORE_80, OUTSIDE];
const AT: Slot = slot(What::Coordinates(24));
const DATA: Slot = slot(What::Reg(32));
const NOT_UNIFORM: &[(Field, u64)] = &[(bits(91, 1), 0)];
const LOAD: &str = "d = surface at a";
const STORE: &str = "surface at a = b";

pub(super) const ROWS: &[Row] = &[
    texture(SassOp::Tex, 0x160, &[5], TEX, FROM_BANK).fixed(BOUND),
    texture(SassOp::Tex, 0x161, &[1], TEX, FROM_REGISTER).fixed(IN_REGISTER),
    texture(SassOp::Tex, 0x160, &[7], TEX_UNIFORM, FROM_UNIFORM).fixed(IN_UNIFORM).sm(75, 90),
    texture(SassOp::Tld, 0x166, &[5], TLD, FROM_BANK).fixed(BOUND),
    texture(SassOp::Tld, 0x167, &[1], TLD, FROM_REGISTER).fixed(IN_REGISTER),
    texture(SassOp::Tld, 0x166, &[7], TLD_UNIFORM, FROM_UNIFORM).fixed(IN_UNIFORM).sm(75, 90),
    texture(SassOp::Tld4, 0x163, &[5], TLD4, FROM_BANK).fixed(BOUND),
    texture(SassOp::Tld4, 0x164, &[1], TLD4, FROM_REGISTER).fixed(IN_REGISTER),
    texture(SassOp::Tld4, 0x163, &[7], TLD4_UNIFORM, FROM_UNIFORM).fixed(IN_UNIFORM).sm(75, 90),
    row(SassOp::Txq, 0x16f, &[5], &[NO_DEPENDENCE], &[D64, DST, A24, QUESTION, BANK, WORD, imm(72, 4)], "d = its size")
        .fixed(BOUND),
    row(
        SassOp::Txq,
        0x16f,
        &[7],
        &[NO_DEPENDENCE],
        &[D64, DST, A24, QUESTION, UNIFORM, UNIFORM_OFFSET, imm(72, 4)],
        "d = its size",
    )
    .fixed(&[(bits(59, 1), 0), (bits(91, 1), 1)])
    .sm(75, 90),
    row(SassOp::SuLd, 0x199, &[5], ACCESS, &[PDST, DST, AT, BANK, WORD], LOAD).fixed(NOT_UNIFORM).sm(70, 75),
    row(SassOp::SuLd, 0x199, &[5], LOAD_80, &[PDST, DST, AT, BANK, WORD], LOAD).fixed(NOT_UNIFORM).sm(80, 90),
    row(SassOp::SuLd, 0x19a, &[4], ACCESS, &[PDST, DST, AT, D64], LOAD).fixed(NOT_UNIFORM).sm(70, 75),
    row(SassOp::SuLd, 0x19a, &[4], LOAD_80, &[PDST, DST, AT, D64], LOAD).fixed(NOT_UNIFORM).sm(80, 90),
    row(SassOp::SuLd, 0x199, &[7], ACCESS, &[PDST, DST, AT, UNIFORM, UNIFORM_OFFSET], LOAD)
        .fixed(IN_UNIFORM)
        .sm(75, 75),
    row(SassOp::SuLd, 0x199, &[7], LOAD_80, &[PDST, DST, AT, UNIFORM, UNIFORM_OFFSET], LOAD)
        .fixed(IN_UNIFORM)
        .sm(80, 90),
    row(SassOp::SuSt, 0x19d, &[5], ACCESS, &[AT, DATA, BANK, WORD], STORE).fixed(NOT_UNIFORM).sm(70, 75),
    row(SassOp::SuSt, 0x19d, &[5], STORE_80, &[AT, DATA, BANK, WORD], STORE).fixed(NOT_UNIFORM).sm(80, 90),
    row(SassOp::SuSt, 0x19e, &[4], ACCESS, &[AT, DATA, D64], STORE).fixed(NOT_UNIFORM).sm(70, 75),
    row(SassOp::SuSt, 0x19e, &[4], STORE_80, &[AT, DATA, D64], STORE).fixed(NOT_UNIFORM).sm(80, 90),
    row(SassOp::SuSt, 0x19d, &[7], ACCESS, &[AT, DATA, UNIFORM, UNIFORM_OFFSET], STORE).fixed(IN_UNIFORM).sm(75, 75),
    row(SassOp::SuSt, 0x19d, &[7], STORE_80, &[AT, DATA, UNIFORM, UNIFORM_OFFSET], STORE).fixed(IN_UNIFORM).sm(80, 90),
];
