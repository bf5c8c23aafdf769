//! Effect of atomic operations on a value in memory.

use num::atomic;
use num::float32::MinMax;
use num::half::{self, Bf16, F16};

/// The operation of an `atom` or `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum AtomicOp {
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Add,
    Inc,
    Dec,
    Min,
    Max,
    /// Arrivals at an `mbarrier` of sm_80 ([`crate::mbarrier`]); the operand is their number.
    Arrive,
}

/// Type of the value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum AtomicType {
    B16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

impl AtomicType {
    /// Size of the value in memory.
    pub const fn bytes(self) -> u8 {
        match self {
            AtomicType::B16 | AtomicType::F16 | AtomicType::Bf16 => 2,
            AtomicType::U64 | AtomicType::S64 | AtomicType::F64 => 8,
            _ => 4,
        }
    }

    /// Registers that hold a value.
    pub const fn columns(self) -> u8 {
        self.bytes().div_ceil(4)
    }
}

/// An atomic operation on a value of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    pub op: AtomicOp,
    pub ty: AtomicType,
}

impl Update {
    /// Computes the new value from the old one and the operands (`cas`: the value to compare with, the value to
    /// store), in shared or global memory.
    pub fn apply(self, old: u64, b: u64, c: u64, shared: bool) -> u64 {
        use AtomicType as T;
        match self.op {
            AtomicOp::And => old & b,
            AtomicOp::Or => old | b,
            AtomicOp::Xor => old ^ b,
            AtomicOp::Exch => b,
            AtomicOp::Cas => atomic::cas(old, b, c),
            AtomicOp::Arrive => arrive_80(old, b as u32),
            AtomicOp::Inc => u64::from(atomic::inc(old as u32, b as u32)),
            AtomicOp::Dec => u64::from(atomic::dec(old as u32, b as u32)),
            AtomicOp::Min | AtomicOp::Max if matches!(self.ty, T::F16 | T::Bf16) => {
                let (old, b, flags) = (old as u16, b as u16, MinMax::default());
                u64::from(match (self.ty, self.op) {
                    (T::F16, AtomicOp::Min) => half::min::<F16>(old, b, flags),
                    (T::F16, _) => half::max::<F16>(old, b, flags),
                    (_, AtomicOp::Min) => half::min::<Bf16>(old, b, flags),
                    _ => half::max::<Bf16>(old, b, flags),
                })
            }
            AtomicOp::Min | AtomicOp::Max if matches!(self.ty, T::F16x2 | T::Bf16x2) => {
                let half = Update { ty: if self.ty == T::F16x2 { T::F16 } else { T::Bf16 }, ..self };
                let [low, high] = [0, 16].map(|at| half.apply(old >> at & 0xffff, b >> at & 0xffff, c, shared));
                low | high << 16
            }
            AtomicOp::Min => match self.ty {
                T::S32 => u64::from((old as i32).min(b as i32) as u32),
                T::S64 => (old as i64).min(b as i64) as u64,
                _ => old.min(b),
            },
            AtomicOp::Max => match self.ty {
                T::S32 => u64::from((old as i32).max(b as i32) as u32),
                T::S64 => (old as i64).max(b as i64) as u64,
                _ => old.max(b),
            },
            AtomicOp::Add => match self.ty {
                T::F32 => {
                    let (old, b) = (f32::from_bits(old as u32), f32::from_bits(b as u32));
                    let add = if shared { atomic::add_f32_shared } else { atomic::add_f32_global };
                    u64::from(add(old, b).to_bits())
                }
                T::F64 => atomic::add_f64(f64::from_bits(old), f64::from_bits(b)).to_bits(),
                T::F16 => u64::from(atomic::add_half::<F16>(old as u16, b as u16)),
                T::Bf16 => u64::from(atomic::add_half::<Bf16>(old as u16, b as u16)),
                T::F16x2 => u64::from(atomic::add_half2::<F16>(old as u32, b as u32)),
                T::Bf16x2 => u64::from(atomic::add_half2::<Bf16>(old as u32, b as u32)),
                T::B16 => old.wrapping_add(b) & 0xffff,
                T::U32 | T::S32 => u64::from((old as u32).wrapping_add(b as u32)),
                T::U64 | T::S64 => old.wrapping_add(b),
            },
        }
    }
}

/// In machine code of sm_80 the arrivals of each phase are counted down from this.
pub(crate) const EXPECTED_80: u32 = 1 << 30;
/// The parity of the phase, in the upper word.
const PARITY: u32 = 1 << 31;

/// The state of a barrier of sm_80 after `count` arrivals. At the last one of a phase the next phase begins.
pub(crate) fn arrive_80(state: u64, count: u32) -> u64 {
    let (expected, pending) = (state as u32, (state >> 32) as u32);
    let mut after = pending.wrapping_add(count);
    if (after ^ pending) & PARITY != 0 {
        after = after & PARITY | expected.wrapping_add(EXPECTED_80) & !PARITY;
    }
    u64::from(expected) | u64::from(after) << 32
}
