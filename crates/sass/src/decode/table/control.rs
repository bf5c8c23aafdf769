//! Branches, convergence barriers, synchronisation.

use super::parts::*;
use crate::decode::op::SassOp;
use crate::decode::row::{Address, Width, row, split};
use Style::Bits;

/// Branch distance in words of four bytes.
const DISTANCE: Field = bits(34, 48);
/// On Hopper its low bits are separate.
const DISTANCE_90: Field = split(16, 8, 34, 48);
/// The distance of `LEPC` is in bytes, which are whole words.
const DISTANCE_LEPC: Field = bits(26, 56);
const DISTANCE_BSSY: Field = bits(34, 30);
const NO_UNIFORM: &[(Field, u64)] = &[(bits(91, 1), 0)];
const UNIFORM: &[(Field, u64)] = &[(bits(91, 1), 1)];
const BRA_KIND: Mod = choice!(BRANCH: Branch, bits(32, 2), [
    (Plain "") (Uniform ".U") (Diverged ".DIV") (Converged ".CONV")
]);
/// With a uniform register the branch has a kind.
const BRA_KIND_UNIFORM: Mod = choice!(BRANCH: Branch, bits(32, 2), [
    _ (Uniform ".U") (Diverged ".DIV") (Converged ".CONV")
]);
/// All lanes branch if the guard holds in one.
const BRA_ANY: Mod = key::ANY.bit(84, &["", ".ANY"]).show(Show::When(bits(32, 2), 1));
const BRA_KIND_BY_REGISTER: Mod = choice!(BRANCH: Branch, bits(32, 2), [_ _ (Diverged ".DIV") (Converged ".CONV")]);
const NO_KIND: Mod = choice!(BRANCH: Branch, bits(32, 2), [(Plain "")]);
const BRA_COUNT: Mod = modifier("count", bits(85, 2), &["", ".INC", ".DEC", RESERVED]);
/// Only relative calls have this opcode.
const CALL_RELATIVE: Mod = flag("relative", 0, &[".REL", ".REL"]);
const ABSOLUTE: Mod = flag("absolute", 0, &[".ABS", ".ABS"]);
const NOINC: Mod = flag("no count", 86, &["", ".NOINC"]);
const NODEC: Mod = flag("no count", 86, &["", ".NODEC"]);
const RELATIVE: Mod = flag("absolute", 85, &[".REL", ".ABS"]);
/// Barrier's number.
const BAR_ID: Slot = imm(54, 4);
const BAR_MODE: Mod = choice!(BARRIER: Barrier, bits(77, 3), [
    (Sync ".SYNC") (Arrive ".ARV") (Reduce ".RED") _ (SyncAll ".SYNCALL") _ _ _
]);
const BAR_REDUCTION: Mod = choice!(BARRIER_REDUCTION: BarrierReduction, bits(74, 2), [
    (Popc ".POPC") (And ".AND") (Or ".OR") _
])
.show(Show::When(bits(77, 3), 2));
const BAR_DEFER: Mod = flag("defer blocking", 80, &["", ".DEFER_BLOCKING"]);
const BAR_PRED: Slot = shown(What::Pred(87, 90), Show::When(bits(77, 3), 2));
const ADDRESS: Address =
    Address { base: 24, offset: bits(32, 32), uniform: 32, has_uniform: Show::Never, width: Width::Plain, scale: None };

pub(super) const ROWS: &[Row] = &[
    row(SassOp::Nop, 0x118, &[4], &[], &[], "nothing"),
    row(SassOp::Bra, 0x147, &[4], &[BRA_COUNT, BRA_KIND], &[P87_OPTIONAL, slot(What::Target(DISTANCE))], "branch")
        .sm(70, 89)
        .fixed(NO_UNIFORM),
    row(
        SassOp::Bra,
        0x147,
        &[4],
        &[BRA_COUNT, BRA_KIND, BRA_ANY],
        &[P87_OPTIONAL, slot(What::Target(DISTANCE_90))],
        "branch",
    )
    .sm(90, 90)
    .fixed(NO_UNIFORM),
    row(
        SassOp::Bra,
        0x147,
        &[4],
        &[BRA_COUNT, BRA_KIND_BY_REGISTER],
        &[P87_OPTIONAL, slot(What::URegInvert(24, 30)), slot(What::Target(DISTANCE))],
        "branch by a uniform register",
    )
    .sm(80, 89)
    .fixed(UNIFORM),
    row(
        SassOp::Bra,
        0x147,
        &[4],
        &[BRA_COUNT, BRA_KIND_UNIFORM],
        &[P87_OPTIONAL, shown(What::URegInvert(24, 30), on(33)), slot(What::Target(DISTANCE_90))],
        "branch by a uniform register",
    )
    .sm(90, 90)
    .fixed(UNIFORM),
    row(
        SassOp::Bra,
        0x147,
        &[2],
        &[choice!(BRANCH: Branch, bits(32, 2), [_ (Uniform ".U") _ _])],
        &[slot(What::UPred(24, 27)), slot(What::Target(DISTANCE_90))],
        "branch by a uniform predicate",
    )
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 1), (bits(87, 4), 7)]),
    row(SassOp::Bra, 0x147, &[4], &[BRA_COUNT, BRA_KIND], &[P87_OPTIONAL, slot(What::Target(DISTANCE))], "branch")
        .sm(75, 75)
        .fixed(UNIFORM),
    row(SassOp::Call, 0x144, &[4], &[CALL_RELATIVE, NOINC], &[P87_OPTIONAL, slot(What::Target(DISTANCE))], "call")
        .sm(70, 89)
        .fixed(NO_UNIFORM),
    row(SassOp::Call, 0x144, &[4], &[CALL_RELATIVE, NOINC], &[P87_OPTIONAL, slot(What::Target(DISTANCE_90))], "call")
        .sm(90, 90)
        .fixed(NO_UNIFORM),
    row(
        SassOp::Ret,
        0x150,
        &[4],
        &[RELATIVE, NODEC],
        &[P87_OPTIONAL, slot(What::Indirect(24, DISTANCE))],
        "return to a + target",
    )
    .sm(70, 89)
    .fixed(&[(bits(91, 1), 0), (bits(85, 1), 0)]),
    row(
        SassOp::Ret,
        0x150,
        &[4],
        &[RELATIVE, NODEC],
        &[P87_OPTIONAL, slot(What::IndirectAbsolute(24, DISTANCE))],
        "return to a + absolute target",
    )
    .sm(70, 89)
    .fixed(&[(bits(91, 1), 0), (bits(85, 1), 1)]),
    row(
        SassOp::Ret,
        0x150,
        &[4],
        &[RELATIVE, NODEC],
        &[P87_OPTIONAL, slot(What::IndirectUniform(24, DISTANCE))],
        "return to uniform a + target",
    )
    .sm(75, 89)
    .fixed(&[(bits(91, 1), 1), (bits(85, 1), 0)]),
    row(
        SassOp::Call,
        0x144,
        &[4],
        &[CALL_RELATIVE, NOINC],
        &[P87_OPTIONAL, slot(What::IndirectUniform(24, DISTANCE))],
        "call uniform a + target",
    )
    .sm(75, 89)
    .fixed(UNIFORM),
    row(
        SassOp::Ret,
        0x150,
        &[4],
        &[RELATIVE, NODEC],
        &[P87_OPTIONAL, slot(What::Indirect(24, DISTANCE_90))],
        "return to a + target",
    )
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 0), (bits(85, 1), 0)]),
    row(
        SassOp::Ret,
        0x150,
        &[4],
        &[RELATIVE, NODEC],
        &[P87_OPTIONAL, slot(What::IndirectAbsolute(24, DISTANCE_90))],
        "return to a + absolute target",
    )
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 0), (bits(85, 1), 1)]),
    row(
        SassOp::Ret,
        0x150,
        &[4],
        &[RELATIVE, NODEC],
        &[P87_OPTIONAL, slot(What::IndirectUniform(24, DISTANCE_90))],
        "return to uniform a + target",
    )
    .sm(90, 90)
    .fixed(&[(bits(91, 1), 1), (bits(85, 1), 0)]),
    row(
        SassOp::Call,
        0x144,
        &[4],
        &[CALL_RELATIVE, NOINC],
        &[P87_OPTIONAL, slot(What::IndirectUniform(24, DISTANCE_90))],
        "call uniform a + target",
    )
    .sm(90, 90)
    .fixed(UNIFORM),
    row(
        SassOp::Call,
        0x144,
        &[1],
        &[CALL_RELATIVE, NOINC],
        &[P87_OPTIONAL, slot(What::Indirect(24, DISTANCE))],
        "call a + target",
    )
    .sm(70, 89),
    row(
        SassOp::Call,
        0x144,
        &[1],
        &[CALL_RELATIVE, NOINC],
        &[P87_OPTIONAL, slot(What::Indirect(24, DISTANCE_90))],
        "call a + target",
    )
    .sm(90, 90),
    row(SassOp::Lepc, 0x14e, &[1], &[], &[DST], "d = address of the instruction"),
    row(SassOp::Lepc, 0x14e, &[4], &[], &[DST, slot(What::Target(DISTANCE_LEPC))], "d = address of the target")
        .sm(90, 90),
    call_absolute(&[4], &[P87_OPTIONAL, slot(What::TargetAbsolute(DISTANCE))]).sm(70, 89),
    call_absolute(&[4], &[P87_OPTIONAL, slot(What::TargetAbsolute(DISTANCE_90))]).sm(90, 90),
    call_absolute(&[1], &[P87_OPTIONAL, slot(What::IndirectAbsolute(24, DISTANCE))]).sm(70, 89),
    call_absolute(&[1], &[P87_OPTIONAL, slot(What::IndirectAbsolute(24, DISTANCE_90))]).sm(90, 90),
    row(
        SassOp::Brx,
        0x149,
        &[4],
        &[BRA_COUNT],
        &[P87_OPTIONAL, slot(What::IndirectAbsolute(24, DISTANCE))],
        "branch to a + target",
    )
    .sm(70, 89)
    .fixed(NO_UNIFORM),
    row(
        SassOp::Brx,
        0x149,
        &[4],
        &[BRA_COUNT],
        &[P87_OPTIONAL, slot(What::IndirectAbsolute(24, DISTANCE_90))],
        "branch to a + target",
    )
    .sm(90, 90)
    .fixed(NO_UNIFORM),
    row(
        SassOp::BrxU,
        0x158,
        &[4],
        &[BRA_COUNT, NO_KIND],
        &[P87_OPTIONAL, slot(What::IndirectUniformAbsolute(24, DISTANCE))],
        "branch to uniform a + target",
    )
    .sm(75, 89)
    .fixed(UNIFORM),
    row(
        SassOp::BrxU,
        0x158,
        &[4],
        &[BRA_COUNT, NO_KIND],
        &[P87_OPTIONAL, slot(What::IndirectUniformAbsolute(24, DISTANCE_90))],
        "branch to uniform a + target",
    )
    .sm(90, 90)
    .fixed(UNIFORM),
    row(
        SassOp::Exit,
        0x14d,
        &[4],
        &[
            modifier("mode", bits(84, 2), &["", ".KEEPREFCOUNT", ".PREEMPTED", RESERVED]),
            flag("no exit handler", 86, &["", ".NO_ATEXIT"]),
        ],
        &[P87_OPTIONAL],
        "ends the threads",
    ),
    row(
        SassOp::BSsy,
        0x145,
        &[4],
        &[],
        &[P87_OPTIONAL, slot(What::Barrier(16)), slot(What::Target(DISTANCE_BSSY))],
        "barrier = active threads; they will meet at the target",
    ),
    row(SassOp::BSync, 0x141, &[4], &[], &[P87_OPTIONAL, slot(What::Barrier(16))], "waits for the barrier's threads"),
    row(
        SassOp::Break,
        0x142,
        &[4],
        &[],
        &[P87_OPTIONAL, slot(What::Barrier(16))],
        "takes the active threads out of the barrier",
    ),
    row(SassOp::Yield, 0x146, &[4], &[], &[P87_OPTIONAL], "lets other threads of the warp run"),
    row(SassOp::WarpSync, 0x148, AB, &[], &[P87_OPTIONAL, b(Bits)], "waits for the threads in mask b").sm(70, 75),
    row(
        SassOp::WarpSync,
        0x148,
        AB,
        &[key::EXCLUSIVE.bit(86, &["", ".EXCLUSIVE"]).show(Show::When(bits(9, 3), 1))],
        &[P87_OPTIONAL, b(Bits)],
        "waits for the threads in mask b",
    )
    .sm(80, 89),
    row(SassOp::WarpSync, 0x148, &[1], &[], &[P87_OPTIONAL, slot(What::Reg(24))], "waits for the threads in mask a")
        .sm(90, 90)
        .fixed(&[(bits(85, 2), 0)]),
    row(
        SassOp::WarpSync,
        0x148,
        &[1],
        &[flag("collective", 86, &["", ".COLLECTIVE"])],
        &[P87_OPTIONAL, slot(What::Reg(24)), slot(What::Target(DISTANCE_90))],
        "waits for the threads in mask b, then runs them at the target",
    )
    .sm(90, 90)
    .fixed(&[(bits(85, 2), 2)]),
    row(
        SassOp::WarpSyncAll,
        0x148,
        &[4],
        &[flag("collective", 86, &["", ".COLLECTIVE.ALL"])],
        &[P87_OPTIONAL, slot(What::Target(DISTANCE_90))],
        "waits for all threads, then runs them at the target",
    )
    .sm(90, 90)
    .fixed(&[(bits(85, 2), 2)]),
    row(
        SassOp::WarpSyncAll,
        0x148,
        &[4],
        &[flag("all", 9, &[".ALL", ".ALL"])],
        &[P87_OPTIONAL],
        "waits for all threads",
    )
    .sm(90, 90)
    .fixed(&[(bits(85, 2), 0)]),
    row(
        SassOp::WarpSync,
        0x148,
        &[1],
        &[key::EXCLUSIVE.bit(85, &["", ".EXCLUSIVE"])],
        &[P87_OPTIONAL, slot(What::Reg(24))],
        "waits for the threads in mask b",
    )
    .sm(90, 90)
    .fixed(&[(bits(85, 2), 1)]),
    row(SassOp::EndCollective, 0x11b, &[4], &[], &[P87_OPTIONAL], "ends a collective stretch").sm(90, 90),
    row(
        SassOp::Bar,
        0x11d,
        &[5],
        &[BAR_MODE, BAR_REDUCTION, BAR_DEFER],
        &[BAR_ID, shown(What::Imm(bits(42, 12)), Show::Unless(bits(42, 12), 0)), BAR_PRED],
        "CTA barrier",
    )
    .fixed(&[(bits(77, 1), 0), (bits(79, 1), 0)]),
    row(SassOp::Bar, 0x11d, &[5], &[BAR_MODE, BAR_DEFER], &[], "waits for all threads of the CTA")
        .fixed(&[(bits(77, 1), 0), (bits(79, 1), 1)]),
    row(SassOp::Bar, 0x11d, &[5], &[BAR_MODE, BAR_DEFER], &[BAR_ID, imm(42, 12)], "arrives at a CTA barrier")
        .fixed(&[(bits(77, 1), 1)]),
    row(
        SassOp::Bar,
        0x11d,
        &[1],
        &[BAR_MODE, BAR_REDUCTION, BAR_DEFER],
        &[slot(What::Reg(32)), slot(What::Reg(32)), BAR_PRED],
        "CTA barrier, number or count in a register",
    ),
    row(
        SassOp::Bar,
        0x11d,
        &[2],
        &[BAR_MODE, BAR_REDUCTION, BAR_DEFER],
        &[slot(What::Reg(32)), shown(What::Imm(bits(42, 12)), Show::Unless(bits(42, 12), 0)), BAR_PRED],
        "CTA barrier, number or count in a register",
    ),
    row(
        SassOp::Bar,
        0x11d,
        &[4],
        &[BAR_MODE, BAR_REDUCTION, BAR_DEFER],
        &[imm(54, 4), slot(What::Reg(32)), BAR_PRED],
        "CTA barrier, number or count in a register",
    ),
    row(SassOp::B2R, 0x11c, &[1], &[], &[DST, PDST], "d, p = result of the last reduction at a barrier")
        .fixed(&[(bits(77, 3), 2)]),
    row(
        SassOp::Bpt,
        0x15c,
        &[4],
        &[choice!(BREAKPOINT: Breakpoint, bits(84, 3), [_ _ (Pause ".PAUSE") (Trap ".TRAP") _ _ _ _])],
        &[shown(What::Imm(bits(34, 3)), Show::Unless(bits(34, 3), 0))],
        "stops for a debugger or traps",
    ),
    row(SassOp::PmTrig, 0x01, &[4], &[], &[P87_OPTIONAL, imm(32, 16)], "triggers performance monitors"),
    row(
        SassOp::DepBar,
        0x11a,
        &[4],
        &[key::AT_MOST.bit(47, &["", ".LE"])],
        &[
            shown(What::Scoreboard(44), on(47)),
            shown(What::Imm(bits(38, 6)), on(47)),
            shown(What::ScoreboardSet(bits(32, 6)), Show::Unless(bits(32, 6), 0)),
        ],
        "waits until a scoreboard counts at most a number, and others zero",
    ),
    row(SassOp::AcqBulk, 0x2e, &[4], &[], &[], "waits for the grids that this one depends on").sm(90, 90),
    row(SassOp::PreExit, 0x2d, &[4], &[], &[], "lets the grids start that depend on this one").sm(90, 90),
    row(
        SassOp::FenceViewAsync,
        0x1c6,
        &[1],
        &[modifier("space", bits(72, 2), &[".S", ".G", RESERVED, RESERVED])],
        &[],
        "orders accesses by instructions and by copy engines",
    )
    .sm(90, 90),
    row(SassOp::LdGDepBar, 0x1af, &[4], &[], &[], "closes a group of asynchronous copies").sm(80, 90),
    row(
        SassOp::MemBar,
        0x192,
        &[4],
        &[
            modifier("order", bits(79, 2), &[".SC", ".ALL", "", RESERVED]),
            choice!(SCOPE: Scope, bits(76, 3), [
                (Cta ".CTA") (Sm ".SM") (Gpu ".GPU") (System ".SYS") _ (Vc ".VC") _ _
            ]),
            unused(bits(72, 2)),
        ],
        &[],
        "orders memory accesses",
    ),
    row(SassOp::ErrBar, 0x1ab, &[4], &[], &[], "waits for errors of earlier accesses"),
    row(SassOp::UCgaBarArv, 0x1c7, &[4], &[], &[], "arrives at the barrier of the cluster").sm(90, 90).fixed(UNIFORM),
    row(SassOp::UCgaBarWait, 0x1c7, &[6], &[], &[], "waits at the barrier of the cluster").sm(90, 90).fixed(UNIFORM),
    row(
        SassOp::USetMaxReg,
        0x1c8,
        &[4],
        &[
            modifier("kind", bits(72, 2), &[RESERVED, ".DEALLOC", ".TRY_ALLOC", RESERVED]),
            modifier("pool", bits(74, 1), &[RESERVED, ".CTAPOOL"]),
        ],
        &[shown(What::UPred(81, 0), Show::Unless(bits(81, 3), 7)), imm(32, 8)],
        "changes the number of registers of a thread",
    )
    .sm(90, 90)
    .fixed(UNIFORM),
    row(SassOp::CgaErrBar, 0x1ab, &[2], &[], &[], "ERRBAR of the cluster").sm(90, 90),
    row(
        SassOp::Cctl,
        0x18f,
        &[4],
        &[CCTL_WIDE, CCTL_CACHE, CCTL_OP],
        &[slot(What::Address(ADDRESS))],
        "prefetches, writes back or invalidates a line",
    )
    .fixed(&[(bits(89, 2), 0)]),
    row(SassOp::Cctl, 0x18f, &[4], &[CCTL_WIDE, CCTL_CACHE, CCTL_OP], &[slot(What::Address(ADDRESS))], "resets a line")
        .fixed(&[(bits(87, 4), 5)]),
    row(
        SassOp::Cctl,
        0x18f,
        &[4],
        &[CCTL_WIDE, CCTL_CACHE, CCTL_PRIORITY],
        &[slot(What::Address(ADDRESS))],
        "prefetches a line of L2 with a priority, lowers its priority or discards it",
    )
    .sm(80, 90)
    .fixed(&[(bits(89, 2), 2)]),
    row(SassOp::Cctl, 0x18f, &[4], &[CCTL_CACHE, CCTL_OP], &[], "invalidates all lines").fixed(&[(bits(87, 4), 4)]),
    row(SassOp::Cctl, 0x18f, &[4], &[CCTL_WIDE, CCTL_CACHE, CCTL_OP], &[], "invalidates all lines of a kind")
        .fixed(&[(bits(87, 4), 6)]),
    row(SassOp::Cctl, 0x18f, &[4], &[CCTL_WIDE, CCTL_CACHE, CCTL_OP], &[], "writes back all lines")
        .fixed(&[(bits(87, 4), 7)]),
    row(
        SassOp::NanoSleep,
        0x15d,
        AB,
        &[
            flag("random", 86, &["", ".RAND"]),
            flag("warp", 85, &["", ".WARP"]),
            flag("barrier", 84, &["", ".SYNCS"]),
            unused(bits(83, 1)),
        ],
        &[P87_OPTIONAL, b(Bits)],
        "sleeps for b nanoseconds",
    ),
    row(SassOp::Kill, 0x15b, &[4], &[], &[P87_OPTIONAL], "ends the threads of a shader"),
];

const fn call_absolute(form: &[u8], slots: &'static [Slot]) -> Row {
    row(SassOp::Call, CALL_ABSOLUTE, form, &[ABSOLUTE, NOINC], slots, "call of an absolute address")
}

const CCTL_WIDE: Mod = key::WIDE_ADDRESS.bit(72, &["", ".E"]);
const CCTL_CACHE: Mod = modifier("cache", bits(78, 3), &["", ".U", ".C", ".I"]);
const CCTL_PRIORITY: Mod = modifier("operation", bits(87, 2), &[RESERVED, ".PML2", ".DML2", ".RML2"]);
const CCTL_OP: Mod = modifier(
    "operation",
    bits(87, 4),
    &[
        ".PF1", ".PF2", ".WB", ".IV", ".IVALL", ".RS", ".IVALLP", ".WBALL", ".WBALLP", RESERVED, RESERVED, RESERVED,
        RESERVED, RESERVED, RESERVED, RESERVED,
    ],
);
