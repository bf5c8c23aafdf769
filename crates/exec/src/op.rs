//! Executable operations: the one form that front ends lower to and the interpreter executes.
//!
//! Tables of rows hold element-wise arithmetic ([`crate::int`], [`crate::float`], [`crate::convert`]); all
//! other operations are variants here. An operation names its registers and its class for timing; the static
//! description of an instruction is derived from them.

use crate::access::{Address, Transfer};
use crate::atomic::Atomic;
use crate::bulk::BulkCopy;
use crate::compare::{Combine, Comparison};
use crate::convert::{Convert1, Cvt, PackedCvt};
use crate::float::{Float1, Float2, Float3, Modifiers};
use crate::image::{Fetch, Query, SurfaceAccess};
use crate::int::{Int1, Int2, Int3, Int4};
use crate::lanes::{Pred, Reg};
use crate::mbarrier::{Mbarrier, MbarrierOp, MbarrierWait};
use crate::operand::{Destination, OperandUse, Origin, columns, reads, reads_pred, row, walks, writes, writes_pred};
use crate::shuffle::{Redux, ShuffleMode, Vote};
use crate::special::Special;
use crate::steer::{BarrierOp, ClusterBarrier, Steer};
use crate::tensor_copy::{MapPrefetch, TensorCopy};
use crate::video::Video;
use isa::{Control, OpClass, OpClass as C, Space, Work};
use num::float32::TestClass;

/// How an instruction of a carry chain uses the carry bit, which is a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CarryOp {
    /// `a + b`
    Add,
    /// `a - b`: the sum of `a`, the complement of `b`, and the carry.
    Sub,
    /// Low half of `a * b`, plus `c`.
    MadLo,
    /// High half of the unsigned `a * b`, plus `c`.
    MadHiUnsigned,
    /// High half of the signed `a * b`, plus `c`.
    MadHiSigned,
}

/// An operation with its operands.
// The tag has a byte of its own: read out of a field's unused values, it costs each instruction five more on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Op {
    /// No effect: prefetches, hints.
    Nop,
    /// One integer operand.
    Int1(Int1, Reg, [Reg; 1]),
    /// Two integer operands.
    Int2(Int2, Reg, [Reg; 2]),
    /// Three integer operands.
    Int3(Int3, Reg, [Reg; 3]),
    /// Four integer operands.
    Int4(Int4, Reg, [Reg; 4]),
    /// Any function of three bits, bit by bit. The last value is the truth table.
    Lop3(Reg, [Reg; 3], u8),
    /// Sum of three terms with carries, as in machine code.
    Add3 {
        d: Reg,
        s: [Reg; 3],
        /// Terms that are complemented, one bit each. Without carries in, each of them adds one.
        minus: u8,
        carry_in: Option<[Pred; 2]>,
        /// The sum has more than 32 bits: it carries once or more, and twice or more.
        carry_out: [Pred; 2],
    },
    /// A step of a carry chain: reads the carry predicate if `carry_in`, writes it if `carry_out`.
    Carry {
        op: CarryOp,
        /// The operands have 64 bits.
        wide: bool,
        d: Reg,
        s: [Reg; 3],
        carry: Pred,
        /// Adds the carry. Without it, a sum adds 0 and a difference 1.
        carry_in: bool,
        carry_out: bool,
    },
    /// One floating-point operand.
    Float1(Float1, Modifiers, Reg, [Reg; 1]),
    /// Two floating-point operands.
    Float2(Float2, Modifiers, Reg, [Reg; 2]),
    /// Three floating-point operands.
    Float3(Float3, Modifiers, Reg, [Reg; 3]),
    /// A frequent conversion.
    Convert(Convert1, Reg, [Reg; 1]),
    /// Any other conversion of one value.
    Cvt(Cvt, Reg, Reg),
    PackedCvt(PackedCvt, Reg, [Reg; 3]),
    Video(Video, Reg, [Reg; 3]),
    /// Combines registers into a wider one: `parts` of 8, 16 or 32 `bits`, lowest first.
    Pack {
        d: Reg,
        s: [Reg; 4],
        parts: u8,
        /// Bits of each part.
        bits: u8,
    },
    /// Splits a register into registers; the reverse of `Pack`. A `None` part is discarded.
    Unpack {
        d: [Option<Reg>; 4],
        /// The whole register.
        s: Reg,
        parts: u8,
        /// Bits of each part.
        bits: u8,
    },
    /// Comparison to predicates.
    Setp {
        test: Comparison,
        s: [Reg; 2],
        /// Result, and result of the complement.
        d: [Pred; 2],
        /// Operator and predicate that the result is combined with.
        with: (Combine, Pred),
    },
    /// Comparison to a register.
    Set {
        test: Comparison,
        s: [Reg; 2],
        d: Reg,
        /// Value where the comparison holds; 0 elsewhere.
        holds: u32,
        /// Operator and predicate that the result is combined with.
        with: (Combine, Pred),
    },
    /// Selection of one column, or two, by a predicate.
    Selp {
        d: Reg,
        /// Value where the predicate holds, and value elsewhere.
        s: [Reg; 2],
        /// The values have two columns.
        wide: bool,
        p: Pred,
    },
    /// Class of a floating-point number.
    Testp {
        d: Pred,
        class: TestClass,
        a: Reg,
        /// The number is an f64.
        wide: bool,
    },
    PredLogic(Combine, Pred, [Pred; 2]),
    /// Two functions of three predicates, given as truth tables.
    PredLut {
        d: [Pred; 2],
        s: [Pred; 3],
        /// Truth tables, as for `Lop3`.
        tables: [u8; 2],
    },
    Special(Special, Reg),
    /// Address of a local variable or parameter of the current function.
    FrameAddress {
        d: Reg,
        /// In bytes, within the frame.
        offset: u32,
        /// The address has two columns.
        wide: bool,
    },
    /// Whether a generic address is in a state space.
    Isspacep {
        d: Pred,
        space: Space,
        /// For shared memory: whether an address in any CTA of the cluster counts, not only in the own CTA.
        of_cluster: bool,
        a: Reg,
    },
    Load(Transfer),
    Store(Transfer),
    /// Load of parameters of calls and similar. The timing model sees no memory access.
    FrameLoad(Transfer),
    /// The reverse of `FrameLoad`.
    FrameStore(Transfer),
    Atomic(Atomic),
    /// Change of a barrier in shared memory.
    Mbarrier(Mbarrier),
    /// Test of its phase, or wait for it.
    MbarrierWait(MbarrierWait),
    /// Read through a texture.
    Fetch(Fetch),
    /// Load or store through a surface.
    Surface(SurfaceAccess),
    /// Properties of a texture or surface.
    Query(Query),
    /// Copy from global to shared memory.
    AsyncCopy {
        shared: Address,
        global: Address,
        /// Bytes written: 4, 8 or 16.
        bytes: u8,
        /// Bytes read, if fewer; the rest is zero.
        source_bytes: Option<Reg>,
        /// Where it holds, nothing is read and all bytes are 0.
        ignore: Option<Pred>,
    },
    /// Copy by the copy engine.
    BulkCopy(BulkCopy),
    /// The same of a box of a tensor.
    TensorCopy(TensorCopy),
    /// Brings a tensor map to the copy engine.
    MapPrefetch(MapPrefetch),
    /// Closes a group of matrix operations of a warp group.
    MatrixCommit,
    /// Waits until at most this many of these groups are left.
    MatrixWait(u8),
    /// Closes a group of copies of the copy engine.
    BulkCommit,
    /// Waits until at most this many of these groups are left, or until the sources of all others have been read.
    BulkWait {
        groups: u8,
        reads: bool,
    },
    /// Closes a group of asynchronous copies.
    AsyncCommit,
    /// Waits until at most this many groups of asynchronous copies are left, or for [`isa::ALL_COPIES`].
    AsyncWait(u8),
    /// Exchange of a register between lanes.
    Shuffle {
        mode: ShuffleMode,
        d: Reg,
        /// Whether the source was in range.
        p: Pred,
        /// Value, source lane, clamp and segment mask.
        s: [Reg; 3],
        /// Member mask of each lane, if the lanes wait for each other.
        members: Option<Reg>,
    },
    /// Vote over the executing lanes of each member mask.
    Vote {
        kind: Vote,
        /// A predicate; for a ballot, a register.
        d: Destination,
        p: Pred,
        /// Member mask of each lane.
        members: Reg,
        /// The lanes wait for each other.
        waits: bool,
    },
    /// Finds the lanes with equal values.
    Match {
        /// `match.all` instead of `match.any`.
        all: bool,
        /// The values have 64 bits.
        wide: bool,
        d: Reg,
        /// Whether all values are equal.
        p: Pred,
        a: Reg,
        /// Member mask of each lane.
        members: Reg,
    },
    ActiveMask(Reg),
    /// Reduction of the first source over the executing lanes of each member mask (the second source).
    Redux(Redux, Reg, [Reg; 2]),
    /// Elects the lowest executing lane.
    Elect {
        /// Number of the elected lane.
        d: Option<Reg>,
        /// Whether this lane is elected.
        p: Pred,
        /// Member mask of each lane.
        members: Reg,
    },
    /// Matrix operation, by index in the kernel's table.
    Matrix(u16),
    Barrier {
        op: BarrierOp,
        id: Reg,
        /// Number of threads; `None` for all of the CTA.
        threads: Option<Reg>,
        d: Option<Destination>,
        p: Pred,
        /// All lanes of the warp execute it together. Otherwise they wait for each other first.
        aligned: bool,
    },
    /// Barrier of the cluster.
    ClusterBarrier(ClusterBarrier),
    /// Copies the value of the first executing lane to a uniform register, in all active lanes.
    ReadFirst(Reg, Reg),
    /// Whether a predicate holds in any executing lane, as a predicate of all that execute.
    AnyLane(Pred, Pred),
    /// Several operations that are one instruction: index of the first in the kernel's list, and their
    /// number.
    Sequence(u32, u16),
    /// Steers the groups of lanes of machine code.
    Steer(Steer),
    Fence,
    /// Memory fence between the threads of a CTA.
    FenceCta,
    Branch {
        /// Instruction to which the executing lanes branch.
        target: u32,
        /// Instruction where they reconverge with the others.
        reconverge: u32,
        /// It jumps back in a loop that may wait for other lanes.
        polls: bool,
    },
    /// Indirect branch through a table.
    BranchTable {
        /// Index of the table in the kernel.
        table: u32,
        index: Reg,
        /// Instruction where the lanes reconverge.
        reconverge: u32,
    },
    /// Call, by index of the call site in the kernel.
    Call(u32),
    /// Return; in the kernel itself, exit.
    Return,
    /// Ends the executing threads.
    Exit,
    /// Deliberate fault.
    Trap,
    /// Suspends the warp for about this many nanoseconds.
    Sleep(Reg),
}

/// Declares what must be known of each operation besides how it executes. One row for each, with
///
/// - its class for timing (the lowering refines `Matrix` and operations that only machine code has) and,
///   after a semicolon, what its lanes do where the class does not determine it;
/// - the source of differences between lanes;
/// - its effect on control flow, if any (the lowering turns `Return` of a kernel itself into an exit);
/// - its operands, destinations first.
///
/// An operation without a row does not compile.
macro_rules! ops {
    (|$f:ident| $($op:ident $fields:tt: $class:expr $(; $work:expr)?, $origin:expr $(, $control:expr)? => $operands:block)*) => {
        #[allow(unused_variables, reason = "a row names what one of its columns needs")]
        impl Op {
            /// Class for timing. The lowering refines the class of `Matrix` and of memory accesses to parameters
            /// of calls.
            pub const fn class(&self) -> OpClass {
                match self { $(Op::$op $fields => $class,)* }
            }

            /// Work of the lanes, as far as [`Self::class`] knows the class.
            pub const fn work(&self) -> Work {
                match self { $(Op::$op $fields => ops!(@work $class $(, $work)?),)* }
            }

            /// Source of differences between the lanes' results.
            pub const fn origin(&self) -> Origin {
                match self { $(Op::$op $fields => $origin,)* }
            }

            /// Effect on control flow. The lowering turns `Return` of a kernel itself into an exit.
            #[allow(unreachable_code, reason = "a row's own effect precedes the usual one")]
            pub const fn control(&self) -> Control {
                match self { $(Op::$op $fields => { $(return $control;)? Control::None })* }
            }

            walks!(|self, $f| match self { $(Op::$op $fields => $operands)* });
        }
    };
    (@work $class:expr, $work:expr) => {
        $work
    };
    (@work $class:expr) => {
        const { Work::of($class).expect("a class of one kind of work") }
    };
}

ops! { |f|
    Nop {}: C::Nop, Origin::Operands => {}
    Int1(op, d, s): op.class(); op.work(), Origin::Operands => { row(f, op.columns(), d, s) }
    Int2(op, d, s): op.class(); op.work(), Origin::Operands => { row(f, op.columns(), d, s) }
    Int3(op, d, s): op.class(); op.work(), Origin::Operands => { row(f, op.columns(), d, s) }
    Int4(op, d, s): op.class(); op.work(), Origin::Operands => { row(f, op.columns(), d, s) }
    Lop3(d, s, _): C::IntAdd, Origin::Operands => { row(f, (1, [1; 3]), d, s) }
    Add3 { d, s, carry_in, carry_out, .. }: C::IntAdd, Origin::Operands => {
        row(f, (1, [1; 3]), d, s);
        writes_pred(f, carry_out);
        reads_pred(f, carry_in.into_iter().flatten());
    }
    Carry { op, wide, d, s, carry, carry_in, carry_out }: op.class(); op.work(), Origin::Operands => {
        writes(f, [d], columns(*wide));
        reads(f, s.into_iter().take(op.sources()), columns(*wide));
        match (*carry_in, *carry_out) {
            (true, true) => f(OperandUse::UpdatePred(carry)),
            (true, false) => f(OperandUse::ReadPred(carry)),
            (false, true) => f(OperandUse::WritePred(carry)),
            (false, false) => {}
        }
    }
    Float1(op, _, d, s): op.class(); op.work(), Origin::Operands => { row(f, op.columns(), d, s) }
    Float2(op, _, d, s): op.class(); op.work(), Origin::Operands => { row(f, op.columns(), d, s) }
    Float3(op, _, d, s): op.class(); op.work(), Origin::Operands => { row(f, op.columns(), d, s) }
    Convert(op, d, s): op.class(); op.work(), Origin::Operands => { row(f, op.columns(), d, s) }
    Cvt(cvt, d, s): cvt.class(); cvt.work(), Origin::Operands => {
        row(f, (columns(cvt.dst_bits == 64), [columns(cvt.src_bits == 64)]), d, [s]);
    }
    PackedCvt(op, d, s): C::Convert; op.work(), Origin::Operands => {
        writes(f, [d], 1);
        reads(f, s.into_iter().take(op.sources()), 1);
    }
    Video(Video::Mad { .. }, d, s): C::IntMad, Origin::Operands => { row(f, (1, [1; 3]), d, s) }
    Video(Video::Scalar { .. } | Video::Simd(..), d, s): C::IntAdd, Origin::Operands => { row(f, (1, [1; 3]), d, s) }
    Pack { d, s, parts, bits }: C::Move, Origin::Operands => {
        writes(f, [d], columns_of(*parts, *bits));
        reads(f, s.into_iter().take((*parts).into()), columns_of(1, *bits));
    }
    Unpack { d, s, parts, bits }: C::Move, Origin::Operands => {
        writes(f, d.into_iter().take((*parts).into()).flatten(), columns_of(1, *bits));
        reads(f, [s], columns_of(*parts, *bits));
    }
    Setp { test, s, d, with: (_, with) }: test.ty.class(); test.ty.work(), Origin::Operands => {
        writes_pred(f, d);
        reads(f, s, test.ty.columns());
        reads_pred(f, [with]);
    }
    Set { test, s, d, with: (_, with), .. }: test.ty.class(); test.ty.work(), Origin::Operands => {
        writes(f, [d], 1);
        reads(f, s, test.ty.columns());
        reads_pred(f, [with]);
    }
    Selp { d, s, wide, p }: C::Move, Origin::Operands => {
        row(f, (columns(*wide), [columns(*wide); 2]), d, s);
        reads_pred(f, [p]);
    }
    Testp { d, a, wide, .. }: if *wide { C::DpAdd } else { C::FpCompare }; if *wide { Work::DpAdd } else { Work::FpAdd }, Origin::Operands => {
        writes_pred(f, [d]);
        reads(f, [a], columns(*wide));
    }
    PredLogic(_, d, s): C::Move, Origin::Operands => {
        writes_pred(f, [d]);
        reads_pred(f, s);
    }
    PredLut { d, s, .. }: C::Move, Origin::Operands => {
        writes_pred(f, d);
        reads_pred(f, s);
    }
    Special(special, d): C::Move, if special.varies() { Origin::Own } else { Origin::Operands } => {
        writes(f, [d], special.columns());
    }
    FrameAddress { d, wide, .. }: C::IntAdd, Origin::Operands => { writes(f, [d], columns(*wide)) }
    Isspacep { d, a, .. }: C::IntAdd, Origin::Operands => {
        writes_pred(f, [d]);
        reads(f, [a], 2);
    }
    Load(Transfer { space, format, address: Address { base, wide, .. }, registers }): C::Load, origin_of(*space) => {
        writes(f, registers.into_iter().take(format.count.into()), format.columns());
        reads(f, [base], columns(*wide));
    }
    Store(Transfer { format, address: Address { base, wide, .. }, registers, .. }): C::Store, Origin::Operands => {
        reads(f, [base], columns(*wide));
        reads(f, registers.into_iter().take(format.count.into()), format.columns());
    }
    FrameLoad(Transfer { format, address: Address { base, wide, .. }, registers, .. }): C::Move, Origin::Own => {
        writes(f, registers.into_iter().take(format.count.into()), format.columns());
        reads(f, [base], columns(*wide));
    }
    FrameStore(Transfer { format, address: Address { base, wide, .. }, registers, .. }): C::Move, Origin::Operands => {
        reads(f, [base], columns(*wide));
        reads(f, registers.into_iter().take(format.count.into()), format.columns());
    }
    Atomic(Atomic { ty, count, d, address: Address { base, wide, .. }, b, c, .. }): C::Atomic, Origin::Lane => {
        let n = ty.columns() * *count;
        writes(f, d, n);
        reads(f, [base], columns(*wide));
        reads(f, [b], n);
        reads(f, c, n);
    }
    Mbarrier(Mbarrier { op, address: Address { base, wide, .. }, d, count, bytes, .. }): if matches!(op, MbarrierOp::Init | MbarrierOp::Exchange) { C::Store } else { C::Atomic }; Work::Memory, Origin::Lane => {
        writes(f, d, 2);
        reads(f, [base], columns(*wide));
        reads(f, [count], columns(matches!(op, MbarrierOp::Exchange)));
        reads(f, [bytes], 1);
    }
    MbarrierWait(MbarrierWait { address: Address { base, wide, .. }, d, phase, .. }): C::Atomic, Origin::Lane => {
        writes_pred(f, [d]);
        reads(f, [base], columns(*wide));
        reads(f, [phase], 1);
    }
    Fetch(Fetch { shape, handle, wide, at, level, channels, d, .. }): C::Texture, Origin::Operands => {
        writes(f, d.into_iter().enumerate().filter(|(k, _)| *channels >> k & 1 == 1).map(|(_, d)| d), 1);
        reads(f, [handle], columns(*wide));
        reads(f, at.into_iter().take(shape.coordinates() + usize::from(*level)), 1);
    }
    Surface(SurfaceAccess { store, shape, handle, wide, at, format, registers, .. }): C::Texture, Origin::Operands => {
        let data = registers.into_iter().take(format.count.into());
        if *store { reads(f, data, format.columns()) } else { writes(f, data, format.columns()) }
        reads(f, [handle], columns(*wide));
        reads(f, at.into_iter().take(shape.coordinates()), 1);
    }
    Query(Query { handle, wide, d, .. }): C::Texture, Origin::Operands => { row(f, (1, [columns(*wide)]), d, [handle]) }
    AsyncCopy {
        shared: Address { base: shared, wide: wide_shared, .. },
        global: Address { base: global, wide: wide_global, .. },
        source_bytes,
        ignore,
        ..
    }: C::AsyncCopy, Origin::Operands => {
        reads(f, [shared], columns(*wide_shared));
        reads(f, [global], columns(*wide_global));
        reads(f, source_bytes, 1);
        reads_pred(f, ignore);
    }
    BulkCopy(copy): C::Uniform, Origin::Operands, Control::Transfer => {
        let columns = copy.outer_columns();
        let BulkCopy { outer, shared, barrier, size, ctas, .. } = copy;
        reads(f, [outer], columns);
        reads(f, [shared, size], 1);
        reads(f, barrier.into_iter().chain(ctas), 1);
    }
    TensorCopy(copy): C::Uniform, Origin::Operands, Control::Transfer => {
        let columns = copy.columns();
        let TensorCopy { map, operands, extra, .. } = copy;
        reads(f, [map], 2);
        reads(f, [operands], columns);
        reads(f, extra, 1);
    }
    MapPrefetch(prefetch): C::Uniform, Origin::Operands, Control::Transfer => {
        let MapPrefetch { map, .. } = prefetch;
        reads(f, [map], 2);
    }
    MatrixCommit {}: C::Uniform, Origin::Operands, Control::MatrixCommit => {}
    MatrixWait(_): C::Uniform, Origin::Operands, Control::MatrixWait => {}
    BulkCommit {}: C::Uniform, Origin::Operands, Control::BulkCommit => {}
    BulkWait { reads, .. }: C::Uniform, Origin::Operands, if *reads { Control::BulkReadWait } else { Control::BulkWait } => {}
    AsyncCommit {}: C::Fence, Origin::Operands, Control::AsyncCommit => {}
    AsyncWait(_): C::Fence, Origin::Operands, Control::AsyncWait => {}
    Shuffle { d, p, s, members, .. }: C::Shuffle, Origin::Lane => {
        writes(f, [d], 1);
        writes_pred(f, [p]);
        reads(f, s, 1);
        reads(f, members, 1);
    }
    Vote { d, p, members, .. }: C::Vote, Origin::Warp(Some(*members)) => {
        match d {
            Destination::Reg(d) => writes(f, [d], 1),
            Destination::Pred(d) => writes_pred(f, [d]),
        }
        reads_pred(f, [p]);
        reads(f, [members], 1);
    }
    Match { wide, d, p, a, members, .. }: C::Vote, Origin::Lane => {
        writes(f, [d], 1);
        writes_pred(f, [p]);
        reads(f, [a], columns(*wide));
        reads(f, [members], 1);
    }
    ActiveMask(d): C::Vote, Origin::Warp(None) => { writes(f, [d], 1) }
    Redux(_, d, s): C::Reduce, Origin::Warp(Some(s[1])) => { row(f, (1, [1, 1]), d, s) }
    Elect { d, p, members }: C::Vote, Origin::Lane => {
        writes(f, d, 1);
        writes_pred(f, [p]);
        reads(f, [members], 1);
    }
    // The operands are in the kernel's table, as `Call`'s are: see `crate::uses`.
    Matrix(_): C::Tensor, Origin::Own => {}
    Barrier { op, id, threads, d, p, .. }: C::Barrier, Origin::Warp(None), op.control() => {
        match d {
            Some(Destination::Reg(d)) => writes(f, [d], 1),
            Some(Destination::Pred(d)) => writes_pred(f, [d]),
            None => {}
        }
        reads(f, [id], 1);
        reads(f, threads, 1);
        reads_pred(f, [p]);
    }
    ReadFirst(d, s): C::Nop, Origin::Warp(None) => { row(f, (1, [1]), d, [s]) }
    AnyLane(d, s): C::Nop, Origin::Warp(None) => {
        writes_pred(f, [d]);
        reads_pred(f, [s]);
    }
    // Its operations are in the kernel's list.
    Sequence(..): C::Nop, Origin::Operands => {}
    Steer(Steer::Gather(_, b, _) | Steer::Clear(_, b)): C::Nop, Origin::Operands => { writes(f, [b], 1) }
    Steer(Steer::Meet(_, r) | Steer::WarpSync(r, _) | Steer::BranchIfDiverged(_, r, _)): C::Nop, Origin::Operands => {
        reads(f, [r], 1);
    }
    Steer(Steer::Leave(_, r, p) | Steer::BranchIndirect(r, _, p)): C::Nop, Origin::Operands => {
        reads(f, [r], 1);
        reads_pred(f, [p]);
    }
    Steer(Steer::Collective(lanes, back, _)): C::Nop, Origin::Operands => { row(f, (1, [1]), back, [lanes]) }
    Steer(Steer::Yield): C::Nop, Origin::Operands => {}
    Steer(Steer::Branch(_, p) | Steer::BranchIfAny(_, p) | Steer::Exit(p)): C::Nop, Origin::Operands => {
        reads_pred(f, [p]);
    }
    Steer(Steer::CtaBarrier { id, threads, d, p, .. }): C::Nop, Origin::Warp(None) => {
        match d {
            Some(Destination::Reg(d)) => writes(f, [d], 1),
            Some(Destination::Pred(d)) => writes_pred(f, [d]),
            None => {}
        }
        reads(f, [id], 1);
        reads(f, threads, 1);
        reads_pred(f, [p]);
    }
    ClusterBarrier(_): C::Barrier, Origin::Operands => {}
    Fence {}: C::Fence, Origin::Operands, Control::Fence => {}
    FenceCta {}: C::Fence, Origin::Operands, Control::FenceCta => {}
    Branch { .. }: C::Branch, Origin::Operands, Control::Branch => {}
    BranchTable { index, .. }: C::Branch, Origin::Operands, Control::Branch => { reads(f, [index], 1) }
    Call(_): C::Branch, Origin::Lane, Control::Branch => {}
    Return {}: C::Branch, Origin::Operands, Control::Branch => {}
    Exit {}: C::Exit, Origin::Operands, Control::Exit => {}
    Trap {}: C::Exit, Origin::Operands, Control::Exit => {}
    Sleep(a): C::Nop, Origin::Operands, Control::Sleep => { reads(f, [a], 1) }
}

impl Op {
    /// The member mask of each lane, at an instruction of PTX whose lanes wait for each other.
    #[inline]
    pub fn waits_for(&self) -> Option<Reg> {
        match *self {
            Op::Shuffle { members, .. } => members,
            Op::Vote { members, waits, .. } => waits.then_some(members),
            Op::Match { members, .. } | Op::Elect { members, .. } | Op::Redux(_, _, [_, members]) => Some(members),
            Op::Steer(Steer::WarpSync(members, _)) => Some(members),
            _ => None,
        }
    }
}

/// Origin of a load: a generic address may be in local memory.
const fn origin_of(space: Space) -> Origin {
    match space {
        Space::Local | Space::Generic | Space::Texture => Origin::Lane,
        _ => Origin::Operands,
    }
}

const fn columns_of(parts: u8, bits: u8) -> u8 {
    (parts as u32 * bits as u32).div_ceil(32) as u8
}

impl CarryOp {
    /// Class for timing.
    const fn class(self) -> OpClass {
        match self {
            CarryOp::Add | CarryOp::Sub => C::IntAdd,
            CarryOp::MadLo | CarryOp::MadHiUnsigned | CarryOp::MadHiSigned => C::IntMad,
        }
    }

    /// Work of the lanes.
    const fn work(self) -> Work {
        match self {
            CarryOp::Add | CarryOp::Sub => Work::IntAdd,
            CarryOp::MadLo | CarryOp::MadHiUnsigned | CarryOp::MadHiSigned => Work::IntMul,
        }
    }

    /// Number of operands that it reads.
    pub const fn sources(self) -> usize {
        match self {
            CarryOp::Add | CarryOp::Sub => 2,
            CarryOp::MadLo | CarryOp::MadHiUnsigned | CarryOp::MadHiSigned => 3,
        }
    }
}
