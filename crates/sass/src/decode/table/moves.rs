//! Moves, selections, permutations, and exchange between threads.

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::row;
use Style::Bits;

const PRMT_MODE: Mod = choice!(PERMUTATION: Permutation, bits(72, 3), [
    (Any "") (Forward4 ".F4E") (Backward4 ".B4E") (Replicate8 ".RC8") (ClampLeft ".ECL") (ClampRight ".ECR")
    (Replicate16 ".RC16") _
]);
const SHFL_MODE: Mod = choice!(SHUFFLE: Shuffle, bits(58, 2), [
    (Index ".IDX") (Up ".UP") (Down ".DOWN") (Butterfly ".BFLY")
]);
const SHFL_A: Slot = slot(What::Reg(24));
const VOTE_MODE: Mod = choice!(VOTE: Vote, bits(72, 2), [(All ".ALL") (Any ".ANY") (Equal ".EQ") _]);
pub(super) const BYTES: &[&str] = &["", ".B1", ".B2", ".B3"];
pub(super) const BYTE: Mod = choice!(BYTE: Part, bits(76, 2), [(First "") (Second ".B1") (Third ".B2") (Fourth ".B3")]);
/// The same, printed with the source.
pub(super) const BYTE_OF_SOURCE: Mod =
    choice!(BYTE: Part, bits(76, 2), [(First "") (Second "") (Third "") (Fourth "")]);

/// The predicate of `R2UR` is or'ed with its old value.
const R2UR_OR: Mod = key::OR.bit(84, &["", ".OR"]);

pub(super) const ROWS: &[Row] = &[
    row(
        SassOp::Mov,
        0x02,
        AB,
        &[],
        &[DST, b(Bits), shown(What::Imm(bits(72, 4)), Show::Unless(bits(72, 4), 15))],
        "d = b, in the lanes of each quad that the mask names",
    ),
    row(SassOp::Sel, 0x07, AB, &[], &[DST, a(Bits), b(Bits), P87], "d = p ? a : b"),
    row(SassOp::Prmt, 0x16, ABC, &[PRMT_MODE], &[DST, a(Bits), b(Bits), c(Bits)], "d = bytes of (c, a) chosen by b"),
    row(
        SassOp::Shfl,
        0x189,
        &[1],
        &[SHFL_MODE],
        &[P81, DST, SHFL_A, slot(What::Reg(32)), slot(What::Reg(64))],
        "d = a of another lane; p = that lane is in range",
    ),
    row(
        SassOp::Shfl,
        0x189,
        &[2],
        &[SHFL_MODE],
        &[P81, DST, SHFL_A, slot(What::Reg(32)), imm(40, 13)],
        "SHFL, segment immediate",
    ),
    row(
        SassOp::Shfl,
        0x189,
        &[4],
        &[SHFL_MODE],
        &[P81, DST, SHFL_A, imm(53, 5), slot(What::Reg(64))],
        "SHFL, lane immediate",
    ),
    row(SassOp::Shfl, 0x189, &[7], &[SHFL_MODE], &[P81, DST, SHFL_A, imm(53, 5), imm(40, 13)], "SHFL, both immediate"),
    row(
        SassOp::Vote,
        0x06,
        &[4],
        &[VOTE_MODE],
        &[shown(What::Reg(16), Show::Unless(bits(16, 8), 255)), P81, P87],
        "d = ballot of r; p = all, any or equal",
    ),
    row(
        SassOp::VoteU,
        0x86,
        &[4],
        &[VOTE_MODE],
        &[shown(What::UReg(16), Show::Unless(bits(16, 6), 63)), slot(What::UPred(81, 0)), P87],
        "VOTE into uniform registers",
    )
    .sm(75, 90),
    row(
        SassOp::Match,
        0x1a1,
        &[1],
        &[key::ANY.bit(79, &[".ALL", ".ANY"]), key::WIDE.bit(73, &["", ".U64"])],
        &[P81, DST, slot(What::Reg(24))],
        "d = lanes with the same a if all have it; p = all have it",
    )
    .fixed(&[(bits(79, 1), 0)]),
    row(
        SassOp::Match,
        0x1a1,
        &[1],
        &[key::ANY.bit(79, &[".ALL", ".ANY"]), key::WIDE.bit(73, &["", ".U64"])],
        &[DST, slot(What::Reg(24))],
        "d = lanes with the same a",
    )
    .fixed(&[(bits(79, 1), 1)]),
    row(
        SassOp::Redux,
        0x1c4,
        &[1],
        &[
            choice!(REDUCTION: Reduction, bits(78, 3), [
                (And "") (Or ".OR") (Xor ".XOR") (Sum ".SUM") (Min ".MIN") (Max ".MAX") _ _
            ]),
            key::SIGNED.bit(73, &["", ".S32"]),
        ],
        &[UDST, slot(What::Reg(24))],
        "uniform d = reduction of a over the warp",
    )
    .sm(80, 90),
    row(SassOp::Elect, 0x2f, &[4], &[], &[P81, UDST, P87], "d = lowest lane that holds r; p = is it")
        .sm(90, 90)
        .fixed(&[(bits(91, 1), 0)]),
    row(
        SassOp::Elect,
        0x2f,
        &[4],
        &[],
        &[P81, UDST, slot(What::URegInvert(24, 72))],
        "d = lowest lane of those in a; p = is it",
    )
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 1)]),
    row(SassOp::R2Ur, 0x1c2, &[1], &[R2UR_OR], &[PDST, UDST, slot(What::Reused(24, 122))], "uniform d = a").sm(75, 90),
    row(SassOp::R2Ur, 0xca, &[1], &[R2UR_OR], &[PDST, UDST, slot(What::Reused(24, 122))], "uniform d = a").sm(90, 90),
    row(SassOp::S2R, 0x119, &[4], &[], &[DST, slot(What::Special)], "d = special register"),
    row(SassOp::S2Ur, 0x1c3, &[4], &[], &[UDST, slot(What::Special)], "uniform d = special register").uniform(),
    row(
        SassOp::Cs2R,
        0x05,
        &[4],
        &[key::WIDE.bit(80, &[".32", ""])],
        &[DST, slot(What::Special)],
        "d = special register, on the main pipe",
    ),
    row(
        SassOp::P2R,
        0x03,
        AB,
        &[BYTE],
        &[DST, slot(What::AllPreds), a(Bits), b(Style::Signed)],
        "d = a with the predicates in the bits of mask b",
    ),
    row(
        SassOp::R2P,
        0x04,
        AB,
        &[BYTE_OF_SOURCE],
        &[slot(What::AllPreds), slot(What::Shaped(24, Bits, bits(76, 2), BYTES, 122)), b(Style::Signed)],
        "predicates in mask b = bits of a",
    ),
    row(
        SassOp::BMov,
        0x155,
        &[1],
        &[key::CLEAR.bit(84, &["", ".CLEAR"]), modifier("thread state", bits(28, 2), &[""])],
        &[DST, slot(What::Barrier(24))],
        "d = barrier",
    ),
    row(
        SassOp::BMovToBarrier,
        0x156,
        &[1],
        &[flag("quad", 84, &["", RESERVED]), modifier("thread state", bits(28, 2), &[""])],
        &[slot(What::Barrier(24)), slot(What::Reg(32))],
        "barrier = b",
    ),
    row(
        SassOp::MovM,
        0x3a,
        &[1],
        &[modifier("shape", bits(78, 2), &[".16.MT88"])],
        &[DST, slot(What::Reused(24, 122))],
        "transposes an 8x8 matrix",
    )
    .sm(75, 90),
];
