//! Encoding of dynamic instructions.
//!
//! The instructions of a warp are written in columns, so that similar values are adjacent:
//!
//! | column | holds |
//! | --- | --- |
//! | ops | a byte for each instruction: the columns in which it has data |
//! | jumps | program counters that do not follow the one before, as a signed distance from it |
//! | masks | changed active masks, then masks that differ from the active one: four bytes each |
//! | memory | addresses that differ from the prediction |
//! | extra | spaces, barriers, sleeps, groups of copies |
//! | reconvergence | changes of the reconvergence point: number of instructions since the last change, then the program counter plus 1, or 0 for none |
//! | values | values of the registers that are read ([`values`](super::values)); only if requested |
//!
//! An address is predicted from the last access by the same instruction of the same warp: the same distance
//! from it as between the last two, with the same stride from lane to lane. A warp's first access is
//! predicted at the CTA's first one. The predictions are a small table indexed by the lowest bits of the
//! program counter; instructions that share a place cost bytes, never correctness.

mod code;
mod log;

pub(crate) use code::CtaCode;
pub(crate) use log::CtaLog;

use isa::Pc;

/// The program counter does not follow the last one.
const JUMP: u8 = 1;
/// The active mask has changed.
const ACTIVE: u8 = 2;
/// The mask differs from the active one.
const MASK: u8 = 4;
/// The lanes diverged.
const DIVERGED: u8 = 8;
/// Form of the addresses: two bits.
const ADDRESSES: u8 = 0x30;
/// The space differs from the space of the warp's last generic access.
const SPACE: u8 = 0x40;
/// Data for the kind of instruction: a barrier, a sleep, groups of copies, second addresses.
const MORE: u8 = 0x80;

const AS_PREDICTED: u8 = 0x10;
const AFFINE: u8 = 0x20;
const LIST: u8 = 0x30;

const OPS: usize = 0;
const JUMPS: usize = 1;
const MASKS: usize = 2;
const MEMORY: usize = 3;
const EXTRA: usize = 4;
const RECONVERGENCE: usize = 5;
const VALUES: usize = 6;
const COLUMNS: usize = 7;

/// Optional columns of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub reconvergence: bool,
    pub values: bool,
}

impl Layout {
    /// The columns, in their order.
    fn columns(self) -> impl Iterator<Item = usize> {
        (0..COLUMNS).filter(move |&column| match column {
            RECONVERGENCE => self.reconvergence,
            VALUES => self.values,
            _ => true,
        })
    }
}

/// Number of places in a table of predictions.
const PLACES: usize = 64;

/// Prediction for the next access at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Prediction {
    /// Address of the last access's first lane.
    base: u64,
    /// Distance from the access before it.
    step: i64,
    /// Difference between the addresses of consecutive lanes.
    stride: i64,
}

const fn place(pc: Pc) -> usize {
    pc.0 as usize % PLACES
}

/// The place of predictions for the second addresses of `pc`.
const fn second_place(pc: Pc) -> usize {
    (pc.0 as usize + PLACES / 2) % PLACES
}

impl Prediction {
    /// Distance of `base` from its prediction.
    fn residual(&self, base: u64) -> i64 {
        base.wrapping_sub(self.base).wrapping_sub(self.step as u64) as i64
    }

    fn base_at(&self, residual: i64) -> u64 {
        self.base.wrapping_add_signed(self.step).wrapping_add_signed(residual)
    }

    fn learn(&mut self, base: u64, stride: i64) {
        *self = Self { base, step: base.wrapping_sub(self.base) as i64, stride };
    }
}

#[inline]
fn at(base: u64, stride: i64, lanes: usize) -> u64 {
    base.wrapping_add_signed(stride.wrapping_mul(lanes as i64))
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
