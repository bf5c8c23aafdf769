//! Operations on words that are more than one column in, one column out: pairs of registers, carries, parts of words.

use crate::lanes::{Column, LANE_BITS, Lanes, Pred, Reg, Value};
use crate::op::CarryOp;
use kit::{LaneMask, WARP_LANES};
use num::int;

#[inline(never)]
pub(super) fn move_pair(file: &mut Lanes<'_>, d: Reg, s: Reg) {
    let (low, high) = file.pair(s);
    u64::commit(&[*low, *high], file, d);
}

#[inline(never)]
pub(super) fn add_pairs(file: &mut Lanes<'_>, d: Reg, [a, b]: [Reg; 2]) {
    let ((a_low, a_high), (b_low, b_high)) = (file.pair(a), file.pair(b));
    let mut out = u64::blank();
    for i in 0..WARP_LANES {
        let low = a_low[i].wrapping_add(b_low[i]);
        out[0][i] = low;
        out[1][i] = a_high[i].wrapping_add(b_high[i]).wrapping_add(u32::from(low < a_low[i]));
    }
    u64::commit(&out, file, d);
}

#[inline(never)]
pub(super) fn lop3(file: &mut Lanes<'_>, d: Reg, s: [Reg; 3], table: u8) {
    // The common functions of two or three operands are single expressions.
    match table {
        0x96 => file.map3(d, s, |a: u32, b: u32, c: u32| a ^ b ^ c),
        0x80 => file.map3(d, s, |a: u32, b: u32, c: u32| a & b & c),
        0xfe => file.map3(d, s, |a: u32, b: u32, c: u32| a | b | c),
        0xf8 => file.map3(d, s, |a: u32, b: u32, c: u32| a | b & c),
        0xc8 => file.map3(d, s, |a: u32, b: u32, c: u32| b & (a | c)),
        0x48 => file.map3(d, s, |a: u32, b: u32, c: u32| b & (a ^ c)),
        0x78 => file.map3(d, s, |a: u32, b: u32, c: u32| a ^ b & c),
        0xca => file.map3(d, s, |a: u32, b: u32, c: u32| a & b | !a & c),
        0xe2 => file.map3(d, s, |a: u32, b: u32, c: u32| b & a | !b & c),
        0xd8 => file.map3(d, s, |a: u32, b: u32, c: u32| c & b | !c & a),
        _ => file.map3(d, s, |a: u32, b: u32, c: u32| num::bits::lop3(a, b, c, table)),
    }
}

/// The sum of three terms, those in `minus` complemented, with its carries.
#[inline]
pub(super) fn add3(
    file: &mut Lanes<'_>,
    d: Reg,
    s: [Reg; 3],
    minus: u8,
    carry_in: Option<[Pred; 2]>,
    carry_out: [Pred; 2],
) {
    let flips = [0, 1, 2].map(|k| if minus >> k & 1 == 1 { !0 } else { 0 });
    let ones = minus.count_ones();
    match carry_in {
        None if carry_out == [Pred::TRUE; 2] => file.map3(d, s, |a: u32, b: u32, c: u32| {
            let sum = (a ^ flips[0]).wrapping_add(b ^ flips[1]).wrapping_add(c ^ flips[2]);
            sum.wrapping_add(ones)
        }),
        None => add3_carrying(file, d, (s, flips), (ones, [0; 2]), carry_out),
        Some(carry_in) => add3_carrying(file, d, (s, flips), (0, carry_in.map(|p| file.pred(p))), carry_out),
    }
}

/// The same with carries: of `ones` and, in the lanes of each of `more`, one more.
#[inline(never)]
fn add3_carrying(
    file: &mut Lanes<'_>,
    d: Reg,
    (s, flips): ([Reg; 3], [u32; 3]),
    (ones, more): (u32, [LaneMask; 2]),
    carry_out: [Pred; 2],
) {
    let [a, b, c] = s.map(|s| file.column(s));
    let (mut out, mut carries) = ([0; WARP_LANES], [0; WARP_LANES]);
    for i in 0..WARP_LANES {
        let ones = ones + u32::from(more[0] & LANE_BITS[i] != 0) + u32::from(more[1] & LANE_BITS[i] != 0);
        let terms = [a[i] ^ flips[0], b[i] ^ flips[1], c[i] ^ flips[2]];
        let first = ones.wrapping_add(terms[0]);
        let second = first.wrapping_add(terms[1]);
        out[i] = second.wrapping_add(terms[2]);
        carries[i] = u32::from(first < terms[0]) + u32::from(second < terms[1]) + u32::from(out[i] < terms[2]);
    }
    file.write(d, &out);
    for (p, least) in carry_out.into_iter().zip([1, 2]) {
        if p != Pred::TRUE {
            file.write_pred(p, lanes_of_at_least(&carries, least));
        }
    }
}

/// A separate function, so that it is vectorised.
#[inline(never)]
fn lanes_of_at_least(column: &Column, least: u32) -> LaneMask {
    let mut holds = 0;
    for (i, bit) in LANE_BITS.iter().enumerate() {
        holds |= u32::from(column[i] >= least).wrapping_neg() & bit;
    }
    holds
}

/// A step of a carry chain.
pub(super) struct Chain {
    pub op: CarryOp,
    pub carry: Pred,
    pub carry_in: bool,
    pub carry_out: bool,
}

impl Chain {
    /// The carry that is added. A difference is the sum of `a`, the complement of `b` and the carry; the
    /// carry is 1 if no earlier step sets it.
    fn first(&self, file: &Lanes<'_>) -> LaneMask {
        match self.op {
            _ if self.carry_in => file.pred(self.carry),
            CarryOp::Sub => !0,
            _ => 0,
        }
    }

    pub fn run32(&self, file: &mut Lanes<'_>, d: Reg, s: [Reg; 3]) {
        let carry = self.first(file);
        let (mut out, mut carries) = ([0; WARP_LANES], 0);
        for lane in 0..WARP_LANES {
            let [a, b]: [u32; 2] = [s[0], s[1]].map(|s| file.get(s, lane));
            let c = if self.op.sources() == 3 { file.get(s[2], lane) } else { 0 };
            let carry = carry & LANE_BITS[lane] != 0;
            let (value, carry) = match self.op {
                CarryOp::Add => int::add_carry_u32(a, b, carry),
                CarryOp::Sub => int::add_carry_u32(a, !b, carry),
                CarryOp::MadLo => int::add_carry_u32(a.wrapping_mul(b), c, carry),
                CarryOp::MadHiUnsigned => int::add_carry_u32(int::Int::mul_hi(a, b), c, carry),
                CarryOp::MadHiSigned => int::add_carry_u32(int::Int::mul_hi(a as i32, b as i32) as u32, c, carry),
            };
            out[lane] = value;
            carries |= LaneMask::from(carry) << lane;
        }
        file.write(d, &out);
        if self.carry_out {
            file.write_pred(self.carry, carries);
        }
    }

    pub fn run64(&self, file: &mut Lanes<'_>, d: Reg, s: [Reg; 3]) {
        let carry = self.first(file);
        let (mut out, mut carries) = (u64::blank(), 0);
        for lane in 0..WARP_LANES {
            let [a, b]: [u64; 2] = [s[0], s[1]].map(|s| file.get(s, lane));
            let c = if self.op.sources() == 3 { file.get(s[2], lane) } else { 0 };
            let carry = carry & LANE_BITS[lane] != 0;
            let (value, carry) = match self.op {
                CarryOp::Add => int::add_carry_u64(a, b, carry),
                CarryOp::Sub => int::add_carry_u64(a, !b, carry),
                CarryOp::MadLo => int::add_carry_u64(a.wrapping_mul(b), c, carry),
                CarryOp::MadHiUnsigned => int::add_carry_u64(int::Int::mul_hi(a, b), c, carry),
                CarryOp::MadHiSigned => int::add_carry_u64(int::Int::mul_hi(a as i64, b as i64) as u64, c, carry),
            };
            u64::put(&mut out, lane, value);
            carries |= LaneMask::from(carry) << lane;
        }
        u64::commit(&out, file, d);
        if self.carry_out {
            file.write_pred(self.carry, carries);
        }
    }
}

pub(super) fn pack(file: &mut Lanes<'_>, d: Reg, parts: &[Reg], bits: u8) {
    let bits = u32::from(bits);
    let mut out = [[0; WARP_LANES]; 4];
    for (k, &part) in parts.iter().enumerate() {
        let at = k as u32 * bits;
        if bits == 64 {
            let (low, high) = file.pair(part);
            (out[2 * k], out[2 * k + 1]) = (*low, *high);
        } else {
            let (column, keep) = (file.column(part), u32::MAX >> (32 - bits));
            let word = &mut out[(at / 32) as usize];
            for lane in 0..WARP_LANES {
                word[lane] |= (column[lane] & keep) << (at % 32);
            }
        }
    }
    let columns = (parts.len() as u32 * bits).div_ceil(32) as u16;
    for k in 0..columns {
        file.write(Reg(d.0 + k), &out[k as usize]);
    }
}

pub(super) fn unpack(file: &mut Lanes<'_>, parts: &[Option<Reg>], s: Reg, bits: u8) {
    let bits = u32::from(bits);
    // A part may be the same register as the whole.
    let columns = (parts.len() as u32 * bits).div_ceil(32) as u16;
    let whole: [Column; 4] =
        std::array::from_fn(|k| if (k as u16) < columns { *file.column(Reg(s.0 + k as u16)) } else { [0; WARP_LANES] });
    for (k, &part) in parts.iter().enumerate() {
        let Some(part) = part else { continue };
        let at = k as u32 * bits;
        let word = (at / 32) as usize;
        if bits == 64 {
            file.write(part, &whole[word]);
            file.write(part.next(), &whole[word + 1]);
        } else {
            let keep = u32::MAX >> (32 - bits);
            file.write(part, &whole[word].map(|x| x >> (at % 32) & keep));
        }
    }
}
