//! Executable operations: the one form that front ends lower to and the interpreter executes.
//!
//! Element-wise arithmetic lives in tables of rows ([`crate::int`], [`crate::float`],
//! [`crate::convert`]); everything else is a variant here. An operation knows its registers and its
//! class for timing, so that the static description of an instruction follows from it.

use crate::access::{Address, Transfer};
use crate::atomic::Atomic;
use crate::compare::{Combine, Comparison};
use crate::convert::{Convert1, Cvt, PackedCvt};
use crate::float::{Float1, Float2, Float3, Modifiers};
use crate::image::{Fetch, Query, SurfaceAccess};
use crate::int::{Int1, Int2, Int3, Int4};
use crate::lanes::{Pred, Reg};
use crate::operand::{Destination, Use};
use crate::shuffle::{Redux, ShuffleMode, Vote};
use crate::special::Special;
use crate::steer::{BarrierOp, Steer};
use crate::video::Video;
use isa::{Control, OpClass, Space};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Nothing: fences' relatives, prefetches, hints.
    Nop,
    /// One integer operand.
    Int1(Int1, Reg, [Reg; 1]),
    /// Two integer operands.
    Int2(Int2, Reg, [Reg; 2]),
    /// Three integer operands.
    Int3(Int3, Reg, [Reg; 3]),
    /// Four integer operands.
    Int4(Int4, Reg, [Reg; 4]),
    /// Any function of three bits, bit by bit: truth table last.
    Lop3(Reg, [Reg; 3], u8),
    /// Sum of three terms with carries, of machine code.
    Add3 {
        /// Result.
        d: Reg,
        /// Terms.
        s: [Reg; 3],
        /// Which of them are complemented, a bit each. Without carries in, each of these adds a one.
        minus: u8,
        /// Carries that are added.
        carry_in: Option<[Pred; 2]>,
        /// Whether the sum, in more than 32 bits, carries once or more, and twice or more.
        carry_out: [Pred; 2],
    },
    /// A step of a carry chain: reads the carry predicate if `carry_in`, writes it if `carry_out`.
    Carry {
        /// Which step.
        op: CarryOp,
        /// On 64-bit operands.
        wide: bool,
        /// Result.
        d: Reg,
        /// Operands.
        s: [Reg; 3],
        /// The carry bit.
        carry: Pred,
        /// Adds the carry; without it, 0, or 1 of a difference.
        carry_in: bool,
        /// Sets the carry.
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
    /// A packed conversion.
    PackedCvt(PackedCvt, Reg, [Reg; 3]),
    /// A video instruction.
    Video(Video, Reg, [Reg; 3]),
    /// Registers into the parts of a wider one: `parts` of 8, 16 or 32 `bits`, lowest first.
    Pack {
        /// Result.
        d: Reg,
        /// Parts.
        s: [Reg; 4],
        /// Number of parts.
        parts: u8,
        /// Bits of each.
        bits: u8,
    },
    /// The parts of a register into registers; the reverse of `Pack`. `None` is thrown away.
    Unpack {
        /// Parts.
        d: [Option<Reg>; 4],
        /// The whole.
        s: Reg,
        /// Number of parts.
        parts: u8,
        /// Bits of each.
        bits: u8,
    },
    /// Comparison to predicates.
    Setp {
        /// What is compared.
        test: Comparison,
        /// Operands.
        s: [Reg; 2],
        /// Result and result for the complement.
        d: [Pred; 2],
        /// Combined with.
        with: (Combine, Pred),
    },
    /// Comparison to a register.
    Set {
        /// What is compared.
        test: Comparison,
        /// Operands.
        s: [Reg; 2],
        /// Result.
        d: Reg,
        /// Value where the comparison holds; zero elsewhere.
        holds: u32,
        /// Combined with.
        with: (Combine, Pred),
    },
    /// Selection of one column, or two, by a predicate.
    Selp {
        /// Result.
        d: Reg,
        /// Where the predicate holds, and where not.
        s: [Reg; 2],
        /// Two columns.
        wide: bool,
        /// The predicate.
        p: Pred,
    },
    /// Class of a floating-point number.
    Testp {
        /// Result.
        d: Pred,
        /// Class.
        class: TestClass,
        /// The number.
        a: Reg,
        /// It is an f64.
        wide: bool,
    },
    /// Predicate logic.
    PredLogic(Combine, Pred, [Pred; 2]),
    /// Two functions of three predicates, given by their truth tables.
    PredLut {
        /// Results.
        d: [Pred; 2],
        /// Operands.
        s: [Pred; 3],
        /// Truth tables, as those of `Lop3`.
        tables: [u8; 2],
    },
    /// Special register.
    Special(Special, Reg),
    /// Address of a local variable or parameter of the current function.
    FrameAddress {
        /// Result.
        d: Reg,
        /// Offset within the frame.
        offset: u32,
        /// Two columns.
        wide: bool,
    },
    /// Whether a generic address lies in a space.
    Isspacep {
        /// Result.
        d: Pred,
        /// The space.
        space: Space,
        /// The address.
        a: Reg,
    },
    /// Load.
    Load(Transfer),
    /// Store.
    Store(Transfer),
    /// Load or store of call parameters and the like: not an access as timing sees it.
    FrameLoad(Transfer),
    /// See `FrameLoad`.
    FrameStore(Transfer),
    /// Atomic or reduction.
    Atomic(Atomic),
    /// Read through a texture.
    Fetch(Fetch),
    /// Load or store through a surface.
    Surface(SurfaceAccess),
    /// What a texture or surface is.
    Query(Query),
    /// Copy from global to shared memory.
    AsyncCopy {
        /// Destination.
        shared: Address,
        /// Source.
        global: Address,
        /// Bytes written: 4, 8 or 16.
        bytes: u8,
        /// Bytes read, if fewer; the rest is zero.
        source_bytes: Option<Reg>,
        /// Where it holds, nothing is read and all is zero.
        ignore: Option<Pred>,
    },
    /// Closes a group of asynchronous copies.
    AsyncCommit,
    /// Waits for asynchronous copies until this many groups are left.
    AsyncWait(u8),
    /// Exchange of a register between lanes.
    Shuffle {
        /// Which lane is read.
        mode: ShuffleMode,
        /// Result.
        d: Reg,
        /// Whether the source was in range.
        p: Pred,
        /// Value, lane, clamp and segment mask.
        s: [Reg; 3],
    },
    /// Vote over the executing lanes of each member mask.
    Vote {
        /// What is asked.
        kind: Vote,
        /// A predicate, or of a ballot a register.
        d: Destination,
        /// Each lane's vote.
        p: Pred,
        /// Each lane's member mask.
        members: Reg,
    },
    /// Lanes with equal values.
    Match {
        /// All, instead of any.
        all: bool,
        /// 64-bit values.
        wide: bool,
        /// Result.
        d: Reg,
        /// Whether all agree.
        p: Pred,
        /// The value.
        a: Reg,
        /// Each lane's member mask.
        members: Reg,
    },
    /// The active mask.
    ActiveMask(Reg),
    /// Reduction of the first source over the executing lanes of each member mask, the second source.
    Redux(Redux, Reg, [Reg; 2]),
    /// The lowest executing lane and who it is.
    Elect {
        /// Its number.
        d: Option<Reg>,
        /// Whether this lane is it.
        p: Pred,
        /// Each lane's member mask.
        members: Reg,
    },
    /// Matrix operation, by number in the kernel's table.
    Matrix(u16),
    /// CTA barrier.
    Barrier {
        /// What it does.
        op: BarrierOp,
        /// Barrier number.
        id: Reg,
        /// Threads, if not all.
        threads: Option<Reg>,
        /// Result of a reduction.
        d: Option<Destination>,
        /// Operand of a reduction.
        p: Pred,
    },
    /// The first executing lane's value, to all lanes of the warp.
    ReadFirst(Reg, Reg),
    /// Whether a predicate holds in an executing lane, to all lanes of the warp.
    AnyLane(Pred, Pred),
    /// Operations in turn that are one instruction: first and count in the kernel's list.
    Sequence(u32, u16),
    /// What steers the groups of lanes of machine code.
    Steer(Steer),
    /// Memory fence.
    Fence,
    /// Memory fence between the threads of a CTA.
    FenceCta,
    /// Branch.
    Branch {
        /// Where the executing lanes go.
        target: u32,
        /// Where they meet the others again.
        reconverge: u32,
    },
    /// Indirect branch through a table.
    BranchTable {
        /// Number of the table in the kernel.
        table: u32,
        /// Index into it.
        index: Reg,
        /// Where the lanes meet again.
        reconverge: u32,
    },
    /// Call, by number of the call site in the kernel.
    Call(u32),
    /// Return; of the kernel itself, exit.
    Return,
    /// Ends threads.
    Exit,
    /// Fault on purpose.
    Trap,
    /// Suspends the warp for about as many nanoseconds.
    Sleep(Reg),
}

impl Op {
    /// Whether lanes may get different results from the same operands: see [`isa::Inst::per_lane`].
    pub const fn is_per_lane(&self) -> bool {
        match self {
            Op::Special(special, _) => special.varies(),
            // Each lane has its own part of a matrix.
            Op::FrameLoad(_) | Op::Matrix(_) => true,
            _ => false,
        }
    }

    /// Class for timing. `Matrix` and memory accesses to what only calls use are the lowering's to
    /// refine.
    pub const fn class(&self) -> OpClass {
        match self {
            Op::Nop => OpClass::Nop,
            Op::Int1(op, ..) => op.class(),
            Op::Int2(op, ..) => op.class(),
            Op::Int3(op, ..) => op.class(),
            Op::Int4(op, ..) => op.class(),
            Op::Lop3(..) | Op::Add3 { .. } | Op::FrameAddress { .. } | Op::Isspacep { .. } => OpClass::IntAdd,
            Op::Carry { op: CarryOp::Add | CarryOp::Sub, .. } => OpClass::IntAdd,
            Op::Carry { .. } => OpClass::IntMad,
            Op::Float1(op, ..) => op.class(),
            Op::Float2(op, ..) => op.class(),
            Op::Float3(op, ..) => op.class(),
            Op::Convert(..) | Op::Cvt(..) | Op::PackedCvt(..) => OpClass::Convert,
            Op::Video(Video::Mad { .. }, ..) => OpClass::IntMad,
            Op::Video(..) => OpClass::IntAdd,
            Op::Setp { test, .. } | Op::Set { test, .. } => test.ty.class(),
            Op::Testp { wide: true, .. } => OpClass::DpAdd,
            Op::Testp { .. } => OpClass::FpAdd,
            Op::Pack { .. } | Op::Unpack { .. } | Op::Selp { .. } | Op::PredLogic(..) | Op::PredLut { .. } => {
                OpClass::Move
            }
            Op::Special(..) | Op::ActiveMask(..) | Op::FrameLoad(..) | Op::FrameStore(..) => OpClass::Move,
            Op::Load(..) => OpClass::Load,
            Op::Store(..) => OpClass::Store,
            Op::Atomic(..) => OpClass::Atomic,
            Op::Fetch(_) | Op::Surface(_) | Op::Query(_) => OpClass::Texture,
            Op::AsyncCopy { .. } => OpClass::AsyncCopy,
            Op::Shuffle { .. } | Op::Vote { .. } | Op::Match { .. } | Op::Redux(..) | Op::Elect { .. } => {
                OpClass::Shuffle
            }
            Op::Matrix(_) => OpClass::Tensor,
            Op::Barrier { .. } => OpClass::Barrier,
            Op::Fence | Op::FenceCta | Op::AsyncCommit | Op::AsyncWait(_) => OpClass::Fence,
            Op::Branch { .. } | Op::BranchTable { .. } | Op::Call(_) | Op::Return => OpClass::Branch,
            Op::Exit | Op::Trap => OpClass::Exit,
            // Machine code says itself what its instructions are to timing.
            Op::Sleep(_) | Op::ReadFirst(..) | Op::AnyLane(..) | Op::Sequence(..) | Op::Steer(_) => OpClass::Nop,
        }
    }

    /// Effect on control flow. `Return` of a kernel itself is an exit, which the lowering knows.
    pub const fn control(&self) -> Control {
        match self {
            Op::Branch { .. } | Op::BranchTable { .. } | Op::Call(_) | Op::Return => Control::Branch,
            Op::Exit | Op::Trap => Control::Exit,
            Op::Barrier { op: BarrierOp::Arrive, .. } => Control::BarrierArrive,
            Op::Barrier { .. } => Control::BarrierSync,
            Op::Fence => Control::Fence,
            Op::FenceCta => Control::FenceCta,
            Op::AsyncCommit => Control::AsyncCommit,
            Op::AsyncWait(_) => Control::AsyncWait,
            Op::Sleep(_) => Control::Sleep,
            _ => Control::None,
        }
    }

    /// Tells `f` each register and predicate that the operation uses, destinations first.
    pub fn uses(&self, f: &mut impl FnMut(Use)) {
        match *self {
            Op::Nop
            | Op::AsyncCommit
            | Op::AsyncWait(_)
            | Op::Fence
            | Op::FenceCta
            | Op::Branch { .. }
            | Op::Sequence(..) => {}
            Op::Steer(steer) => steer.uses(f),
            Op::ReadFirst(d, s) => table_row((1, [1]), d, [s], f),
            Op::AnyLane(d, s) => {
                f(Use::WritePred(d));
                f(Use::ReadPred(s));
            }
            Op::Call(_) | Op::Return | Op::Exit | Op::Trap | Op::Matrix(_) => {}
            Op::Int1(op, d, s) => table_row(op.columns(), d, s, f),
            Op::Int2(op, d, s) => table_row(op.columns(), d, s, f),
            Op::Int3(op, d, s) => table_row(op.columns(), d, s, f),
            Op::Int4(op, d, s) => table_row(op.columns(), d, s, f),
            Op::Float1(op, _, d, s) => table_row(op.columns(), d, s, f),
            Op::Float2(op, _, d, s) => table_row(op.columns(), d, s, f),
            Op::Float3(op, _, d, s) => table_row(op.columns(), d, s, f),
            Op::Convert(op, d, s) => table_row(op.columns(), d, s, f),
            Op::Lop3(d, s, _) | Op::Video(_, d, s) => table_row((1, [1; 3]), d, s, f),
            Op::Add3 { d, s, carry_in, carry_out, .. } => {
                table_row((1, [1; 3]), d, s, f);
                carry_out.into_iter().for_each(|p| f(Use::WritePred(p)));
                carry_in.into_iter().flatten().for_each(|p| f(Use::ReadPred(p)));
            }
            Op::Carry { op, wide, d, s, carry, carry_in, carry_out } => {
                let columns = 1 + u8::from(wide);
                f(Use::Write(d, columns));
                if carry_out {
                    f(Use::WritePred(carry));
                }
                let count = if matches!(op, CarryOp::Add | CarryOp::Sub) { 2 } else { 3 };
                s[..count].iter().for_each(|&s| f(Use::Read(s, columns)));
                if carry_in {
                    f(Use::ReadPred(carry));
                }
            }
            Op::Cvt(cvt, d, a) => {
                f(Use::Write(d, if cvt.dst_bits == 64 { 2 } else { 1 }));
                f(Use::Read(a, if cvt.src_bits == 64 { 2 } else { 1 }));
            }
            Op::PackedCvt(op, d, s) => {
                f(Use::Write(d, 1));
                s[..op.sources()].iter().for_each(|&s| f(Use::Read(s, 1)));
            }
            Op::Pack { d, s, parts, bits } => {
                f(Use::Write(d, columns_of(parts, bits)));
                s[..parts as usize].iter().for_each(|&s| f(Use::Read(s, columns_of(1, bits))));
            }
            Op::Unpack { d, s, parts, bits } => {
                d[..parts as usize].iter().flatten().for_each(|&d| f(Use::Write(d, columns_of(1, bits))));
                f(Use::Read(s, columns_of(parts, bits)));
            }
            Op::Setp { test, s, d, with } => {
                d.into_iter().for_each(|d| f(Use::WritePred(d)));
                s.into_iter().for_each(|s| f(Use::Read(s, test.ty.columns())));
                f(Use::ReadPred(with.1));
            }
            Op::Set { test, s, d, with, .. } => {
                f(Use::Write(d, 1));
                s.into_iter().for_each(|s| f(Use::Read(s, test.ty.columns())));
                f(Use::ReadPred(with.1));
            }
            Op::Selp { d, s, wide, p } => {
                table_row((1 + u8::from(wide), [1 + u8::from(wide); 2]), d, s, f);
                f(Use::ReadPred(p));
            }
            Op::Testp { d, a, wide, .. } => {
                f(Use::WritePred(d));
                f(Use::Read(a, 1 + u8::from(wide)));
            }
            Op::PredLogic(_, d, s) => {
                f(Use::WritePred(d));
                s.into_iter().for_each(|s| f(Use::ReadPred(s)));
            }
            Op::PredLut { d, s, .. } => {
                d.into_iter().for_each(|d| f(Use::WritePred(d)));
                s.into_iter().for_each(|s| f(Use::ReadPred(s)));
            }
            Op::Special(special, d) => f(Use::Write(d, special.columns())),
            Op::FrameAddress { d, wide, .. } => f(Use::Write(d, 1 + u8::from(wide))),
            Op::Isspacep { d, a, .. } => {
                f(Use::WritePred(d));
                f(Use::Read(a, 2));
            }
            Op::Load(t) | Op::FrameLoad(t) => {
                let registers = &t.registers[..t.format.count as usize];
                registers.iter().for_each(|&r| f(Use::Write(r, t.format.columns())));
                address(t.address, f);
            }
            Op::Store(t) | Op::FrameStore(t) => {
                address(t.address, f);
                let registers = &t.registers[..t.format.count as usize];
                registers.iter().for_each(|&r| f(Use::Read(r, t.format.columns())));
            }
            Op::Atomic(a) => {
                let columns = if a.ty.bytes() == 8 { 2 } else { 1 };
                a.d.into_iter().for_each(|d| f(Use::Write(d, columns)));
                address(a.address, f);
                f(Use::Read(a.b, columns));
                a.c.into_iter().for_each(|c| f(Use::Read(c, columns)));
            }
            Op::Fetch(fetch) => fetch.uses(f),
            Op::Surface(access) => access.uses(f),
            Op::Query(q) => table_row((1, [1 + u8::from(q.wide)]), q.d, [q.handle], f),
            Op::AsyncCopy { shared, global, source_bytes, ignore, .. } => {
                address(shared, f);
                address(global, f);
                source_bytes.into_iter().for_each(|r| f(Use::Read(r, 1)));
                ignore.into_iter().for_each(|p| f(Use::ReadPred(p)));
            }
            Op::Shuffle { d, p, s, .. } => {
                f(Use::Write(d, 1));
                f(Use::WritePred(p));
                s.into_iter().for_each(|s| f(Use::Read(s, 1)));
            }
            Op::Vote { d, p, members, .. } => {
                destination(d, f);
                f(Use::ReadPred(p));
                f(Use::Read(members, 1));
            }
            Op::Match { wide, d, p, a, members, .. } => {
                f(Use::Write(d, 1));
                f(Use::WritePred(p));
                f(Use::Read(a, 1 + u8::from(wide)));
                f(Use::Read(members, 1));
            }
            Op::ActiveMask(d) => f(Use::Write(d, 1)),
            Op::Redux(_, d, s) => table_row((1, [1, 1]), d, s, f),
            Op::Elect { d, p, members } => {
                d.into_iter().for_each(|d| f(Use::Write(d, 1)));
                f(Use::WritePred(p));
                f(Use::Read(members, 1));
            }
            Op::Barrier { id, threads, d, p, .. } => {
                d.into_iter().for_each(|d| destination(d, f));
                f(Use::Read(id, 1));
                threads.into_iter().for_each(|r| f(Use::Read(r, 1)));
                f(Use::ReadPred(p));
            }
            Op::BranchTable { index, .. } => f(Use::Read(index, 1)),
            Op::Sleep(a) => f(Use::Read(a, 1)),
        }
    }
}

const fn columns_of(parts: u8, bits: u8) -> u8 {
    (parts as u32 * bits as u32).div_ceil(32) as u8
}

fn table_row<const N: usize>(columns: (u8, [u8; N]), d: Reg, s: [Reg; N], f: &mut impl FnMut(Use)) {
    f(Use::Write(d, columns.0));
    for (s, n) in s.into_iter().zip(columns.1) {
        f(Use::Read(s, n));
    }
}

fn address(a: Address, f: &mut impl FnMut(Use)) {
    f(Use::Read(a.base, 1 + u8::from(a.wide)));
}

fn destination(d: Destination, f: &mut impl FnMut(Use)) {
    f(match d {
        Destination::Reg(r) => Use::Write(r, 1),
        Destination::Pred(p) => Use::WritePred(p),
    });
}
