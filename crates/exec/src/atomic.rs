//! Atomic operations: the read-modify-write of each executing lane, in lane order.

use crate::access::{self, Address, SPLIT_SPACES, Spaces, explain, majority, split_generic};
use crate::fault::Outcome;
use crate::lanes::{Lanes, Reg, Value};
use crate::mbarrier;
use isa::{DynInst, Space};
use kit::lanes;
use num::atomic;
use num::half::{Bf16, F16};

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
    /// Arrivals at an `mbarrier` ([`crate::mbarrier`]); the operand is their number.
    Arrive,
    /// Arrivals of threads that will not arrive in later phases.
    ArriveDrop,
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
}

/// An `atom` or `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Atomic {
    pub space: Space,
    pub op: AtomicOp,
    pub ty: AtomicType,
    /// Receives the old value; `None` for `red`.
    pub d: Option<Reg>,
    pub address: Address,
    /// Operand; for `cas`, the value to compare with.
    pub b: Reg,
    /// The value that `cas` stores.
    pub c: Option<Reg>,
}

impl Atomic {
    /// Computes the new value.
    pub(crate) fn apply(&self, old: u64, b: u64, c: u64, shared: bool) -> u64 {
        use AtomicType as T;
        match self.op {
            AtomicOp::And => old & b,
            AtomicOp::Or => old | b,
            AtomicOp::Xor => old ^ b,
            AtomicOp::Exch => b,
            AtomicOp::Cas => atomic::cas(old, b, c),
            AtomicOp::Arrive => mbarrier::arrive(old, b as u32),
            AtomicOp::ArriveDrop => mbarrier::arrive(mbarrier::drop(old, b as u32), b as u32),
            AtomicOp::Inc => u64::from(atomic::inc(old as u32, b as u32)),
            AtomicOp::Dec => u64::from(atomic::dec(old as u32, b as u32)),
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

    /// Executes it for the lanes of `file`.
    pub(crate) fn run(&self, file: &mut Lanes<'_>, m: &mut Spaces<'_>, out: &mut DynInst) -> Outcome {
        access::addresses(file, self.address, m.frame, &mut out.addresses);
        out.space = self.space;
        let mut masks = [0; 4];
        match self.space {
            Space::Generic => {
                masks = split_generic(&mut out.addresses, file.mask);
                out.space = majority(masks);
            }
            Space::Shared => masks[1] = file.mask,
            Space::Local => masks[2] = file.mask,
            _ => masks[0] = file.mask,
        }
        let (bytes, wide) = (u64::from(self.ty.bytes()), self.ty.bytes() == 8);
        let mut old = [[0; 32]; 2];
        for (space, mask) in SPLIT_SPACES.into_iter().zip(masks) {
            for lane in lanes(mask) {
                let operand = |reg: Reg| {
                    if wide { file.get::<u64>(reg, lane) } else { u64::from(file.get::<u32>(reg, lane)) }
                };
                let (b, c) = (operand(self.b), self.c.map_or(0, operand));
                let shared = space == Space::Shared;
                let update = |old| self.apply(old, b, c, shared);
                let Some(value) = modify(m, space, out.addresses[lane], bytes, lane, update) else {
                    return Err(explain(m, "atomic access to", space, &out.addresses, mask, bytes));
                };
                <u64 as Value>::put(&mut old, lane, value);
            }
        }
        if let Some(d) = self.d {
            file.write(d, &old[0]);
            if wide {
                file.write(d.next(), &old[1]);
            }
        }
        Ok(())
    }
}

/// Replaces the value of 1, 2, 4 or 8 bytes at an address and returns the old one; `None` if there is no such memory.
pub(crate) fn modify(
    m: &mut Spaces<'_>,
    space: Space,
    address: u64,
    bytes: u64,
    lane: usize,
    f: impl FnOnce(u64) -> u64,
) -> Option<u64> {
    if !address.is_multiple_of(bytes) {
        return None;
    }
    if space == Space::Local {
        if !m.local.holds(address, bytes) {
            return None;
        }
        let word = address as usize / 4;
        let mut pair = [*m.local.word(word, lane), if bytes == 8 { *m.local.word(word + 1, lane) } else { 0 }];
        let old = modify_words(&mut pair, (address % 4) as u32, bytes, f);
        *m.local.word(word, lane) = pair[0];
        if bytes == 8 {
            *m.local.word(word + 1, lane) = pair[1];
        }
        return Some(old);
    }
    let w = match space {
        Space::Shared => m.shared.window_mut(address, bytes)?,
        Space::Param => return None,
        _ => m.device.window_mut(address, bytes)?,
    };
    let word = ((address - w.start) / 4) as usize;
    let mut new = 0;
    let update = |old| {
        new = f(old);
        new
    };
    let old = modify_words(&mut w.words[word..], (address % 4) as u32, bytes, update);
    if new != old {
        m.device.note_change();
    }
    Some(old)
}

#[inline]
fn modify_words(words: &mut [u32], byte: u32, bytes: u64, f: impl FnOnce(u64) -> u64) -> u64 {
    match bytes {
        8 => {
            let old = u64::from(words[0]) | u64::from(words[1]) << 32;
            let new = f(old);
            words[0] = new as u32;
            words[1] = (new >> 32) as u32;
            old
        }
        4 => {
            let old = u64::from(words[0]);
            words[0] = f(old) as u32;
            old
        }
        _ => {
            let (shift, keep) = (8 * byte, u32::MAX >> (32 - 8 * bytes));
            let old = u64::from(words[0] >> shift & keep);
            words[0] = words[0] & !(keep << shift) | (f(old) as u32 & keep) << shift;
            old
        }
    }
}
