//! Integer and bit operations against the manual's pseudo code, written out bit by bit, and against
//! wider host arithmetic.

use crate::reference;

use num::bits::{self, Permute};
use num::int::{self, Int};
use num::{atomic, video};
use proptest::prelude::*;
use reference::Random;

/// A number with a random number of significant bits, or a special one.
fn word(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => [0, 1, u64::MAX, 1 << 31, 1 << 63, u64::MAX >> 1, 0x7fff_ffff, 0xffff_ffff][random.below(8) as usize],
        1..=4 => random.bits(),
        _ => random.bits() >> random.below(64),
    }
}

#[test]
fn products_of_all_widths() {
    let mut random = Random(41);
    for _ in 0..1_000_000 {
        let (a, b, c) = (word(&mut random), word(&mut random), word(&mut random));
        macro_rules! check {
            ($($t:ty)*) => {$(
                let (x, y, z) = (a as $t, b as $t, c as $t);
                let product = i128::from(x).wrapping_mul(i128::from(y));
                assert_eq!(x.mul_lo(y), product as $t);
                assert_eq!(x.mul_hi(y), (product >> <$t>::BITS) as $t);
                assert_eq!(x.mul_wide(y) as i128, product);
                assert_eq!(x.mad_lo(y, z), product.wrapping_add(i128::from(z)) as $t);
                assert_eq!(x.mad_hi(y, z), (product >> <$t>::BITS).wrapping_add(i128::from(z)) as $t);
                let distance = (i128::from(x) - i128::from(y)).abs();
                assert_eq!(x.sad(y, z), (distance + i128::from(z)) as $t);
                let clamp = |v: i128| v.clamp(<$t>::MIN.into(), <$t>::MAX.into()) as $t;
                assert_eq!(x.add_sat(y), clamp(i128::from(x) + i128::from(y)));
                assert_eq!(x.sub_sat(y), clamp(i128::from(x) - i128::from(y)));
                if y != 0 {
                    assert_eq!(x.div(y), (i128::from(x) / i128::from(y)) as $t);
                    assert_eq!(x.rem(y), (i128::from(x) % i128::from(y)) as $t);
                } else {
                    assert_eq!((x.div(y), x.rem(y)), (!0, !0));
                }
                let amount = c as u32 % 70;
                assert_eq!(Int::shl(x, amount), (u128::from(x as u64) << amount) as $t);
                assert_eq!(Int::shr(x, amount), (i128::from(x) >> amount) as $t);
            )*};
        }
        check!(u16 i16 u32 i32 i64);
        let product = u128::from(a) * u128::from(b);
        assert_eq!(a.mul_hi(b), (product >> 64) as u64);
        assert_eq!(a.mul_wide(b), product);
        assert_eq!(a.mad_hi(b, c), ((product >> 64) as u64).wrapping_add(c));
        assert_eq!(Int::shr(a, (c % 70) as u32), if c % 70 > 63 { 0 } else { a >> (c % 70) });
    }
    assert_eq!(Int::shr(-1i32, u32::MAX), -1);
    assert_eq!(Int::shl(1u64, u32::MAX), 0);
    assert_eq!(int::mad_hi_sat_s32(i32::MAX, i32::MAX, i32::MAX), i32::MAX);
}

#[test]
fn products_of_24_bits() {
    let mut random = Random(42);
    for _ in 0..500_000 {
        let (a, b, c) = (random.bits() as u32, random.bits() as u32, random.bits() as i32);
        let unsigned = (a as u64 % (1 << 24)) * (b as u64 % (1 << 24));
        let sign = |x: u32| i64::from(x % (1 << 24)) - if x >> 23 & 1 == 1 { 1 << 24 } else { 0 };
        let signed = sign(a) * sign(b);
        assert_eq!(int::mul24_lo_u32(a, b), unsigned as u32);
        assert_eq!(int::mul24_hi_u32(a, b), (unsigned >> 16) as u32);
        assert_eq!(int::mul24_lo_s32(a as i32, b as i32), signed as i32);
        assert_eq!(int::mul24_hi_s32(a as i32, b as i32), (signed >> 16) as i32);
        let sum = i64::from((signed >> 16) as i32) + i64::from(c);
        let clamped = sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        assert_eq!(int::mad24_hi_sat_s32(a as i32, b as i32, c), clamped);
    }
}

proptest! {
    #[test]
    fn carry_chains_add_wide_numbers(a: u128, b: u128) {
        let (low, carry) = int::add_carry_u64(a as u64, b as u64, false);
        let (high, carry) = int::add_carry_u64((a >> 64) as u64, (b >> 64) as u64, carry);
        let (sum, overflow) = a.overflowing_add(b);
        prop_assert_eq!((u128::from(high) << 64 | u128::from(low), carry), (sum, overflow));
        let (low, carry) = int::add_carry_u64(a as u64, !b as u64, true);
        let (high, carry) = int::add_carry_u64((a >> 64) as u64, (!b >> 64) as u64, carry);
        let (difference, overflow) = a.overflowing_sub(b);
        prop_assert_eq!((u128::from(high) << 64 | u128::from(low), !carry), (difference, overflow));
    }

    #[test]
    fn carry_chains_of_32_bits(a: u64, b: u64) {
        let (low, carry) = int::add_carry_u32(a as u32, b as u32, false);
        let (high, carry) = int::add_carry_u32((a >> 32) as u32, (b >> 32) as u32, carry);
        prop_assert_eq!((u64::from(high) << 32 | u64::from(low), carry), a.overflowing_add(b));
        let (low, carry) = int::add_carry_u32(a as u32, !b as u32, true);
        let (high, carry) = int::add_carry_u32((a >> 32) as u32, (!b >> 32) as u32, carry);
        prop_assert_eq!((u64::from(high) << 32 | u64::from(low), !carry), a.overflowing_sub(b));
    }

    #[test]
    fn dot_products(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool, hi: bool) {
        let byte = |x: u32, i: u32, signed: bool| {
            let v = i128::from(x >> (8 * i) & 0xff);
            if signed && v > 127 { v - 256 } else { v }
        };
        let half = |x: u32, i: u32, signed: bool| {
            let v = i128::from(x >> (16 * i) & 0xffff);
            if signed && v > 32767 { v - 65536 } else { v }
        };
        let four: i128 = (0..4).map(|i| byte(a, i, a_signed) * byte(b, i, b_signed)).sum();
        prop_assert_eq!(int::dp4a(a, a_signed, b, b_signed, c), (four + i128::from(c)) as u32);
        let at = if hi { 2 } else { 0 };
        let two: i128 = (0..2).map(|i| half(a, i, a_signed) * byte(b, i + at, b_signed)).sum();
        prop_assert_eq!(int::dp2a(a, a_signed, b, b_signed, hi, c), (two + i128::from(c)) as u32);
    }
}

/// The manual's loop for `bfe` on a word whose top bit is number `msb`.
fn bfe_by_bits(a: u64, pos: u32, len: u32, msb: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    let sign = signed && len != 0 && a >> (pos + len - 1).min(msb) & 1 != 0;
    (0..=msb).fold(0, |d, i| {
        let bit = if i < len && pos + i <= msb { a >> (pos + i) & 1 != 0 } else { sign };
        d | u64::from(bit) << i
    })
}

/// The manual's loop for `bfi`.
fn bfi_by_bits(a: u64, b: u64, pos: u32, len: u32, msb: u32) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    (0..len).take_while(|i| pos + i <= msb).fold(b, |d, i| d & !(1 << (pos + i)) | (a >> i & 1) << (pos + i))
}

#[test]
fn bit_fields() {
    let mut random = Random(43);
    for _ in 0..200_000 {
        let (a, b) = (word(&mut random), word(&mut random));
        let amount = |random: &mut Random| match random.below(4) {
            0 => random.bits() as u32,
            _ => random.below(70) as u32,
        };
        let (pos, len) = (amount(&mut random), amount(&mut random));
        let (a32, b32) = (a as u32, b as u32);
        assert_eq!(u64::from(bits::bfe_u32(a32, pos, len)), bfe_by_bits(a32.into(), pos, len, 31, false));
        assert_eq!(u64::from(bits::bfe_s32(a32 as i32, pos, len) as u32), bfe_by_bits(a32.into(), pos, len, 31, true));
        assert_eq!(bits::bfe_u64(a, pos, len), bfe_by_bits(a, pos, len, 63, false));
        assert_eq!(bits::bfe_s64(a as i64, pos, len) as u64, bfe_by_bits(a, pos, len, 63, true));
        assert_eq!(u64::from(bits::bfi_u32(a32, b32, pos, len)), bfi_by_bits(a32.into(), b32.into(), pos, len, 31));
        assert_eq!(bits::bfi_u64(a, b, pos, len), bfi_by_bits(a, b, pos, len, 63));
    }
}

#[test]
fn finding_bits() {
    let mut random = Random(44);
    for _ in 0..200_000 {
        let a = word(&mut random);
        let find = |x: u64, top: u32| (0..=top).rev().find(|&i| x >> i & 1 != 0);
        let shift = |found: Option<u32>, top: u32| found.map_or(u32::MAX, |i| top - i);
        let (a32, flip32) = (a as u32, if (a as i32) < 0 { !(a as u32) } else { a as u32 });
        let flip = if (a as i64) < 0 { !a } else { a };
        assert_eq!(bits::bfind_u32(a32, false), find(a32.into(), 31).unwrap_or(u32::MAX));
        assert_eq!(bits::bfind_u32(a32, true), shift(find(a32.into(), 31), 31));
        assert_eq!(bits::bfind_s32(a32 as i32, false), find(flip32.into(), 31).unwrap_or(u32::MAX));
        assert_eq!(bits::bfind_s32(a32 as i32, true), shift(find(flip32.into(), 31), 31));
        assert_eq!(bits::bfind_u64(a, false), find(a, 63).unwrap_or(u32::MAX));
        assert_eq!(bits::bfind_u64(a, true), shift(find(a, 63), 63));
        assert_eq!(bits::bfind_s64(a as i64, false), find(flip, 63).unwrap_or(u32::MAX));
        assert_eq!(bits::bfind_s64(a as i64, true), shift(find(flip, 63), 63));
        assert_eq!((bits::popc64(a), bits::clz64(a)), (a.count_ones(), a.leading_zeros()));
        let (base, offset) = (random.below(33) as u32, random.below(80) as i32 - 40);
        assert_eq!(bits::fns(a32, base, offset), fns_by_bits(a32, base, offset), "{a32:#x} {base} {offset}");
    }
    assert_eq!(bits::fns(u32::MAX, 0, i32::MIN), u32::MAX);
}

/// The manual's loop for `fns`.
fn fns_by_bits(mask: u32, base: u32, offset: i32) -> u32 {
    let at = |pos: i64| (0..32).contains(&pos) && mask >> pos & 1 != 0;
    let mut pos = i64::from(base);
    if offset == 0 {
        return if at(pos) { base } else { u32::MAX };
    }
    if base > 31 {
        return u32::MAX;
    }
    let mut count = offset.abs() - 1;
    while (0..32).contains(&pos) {
        if at(pos) {
            if count == 0 {
                return pos as u32;
            }
            count -= 1;
        }
        pos += i64::from(offset.signum());
    }
    u32::MAX
}

#[test]
fn funnel_shifts_masks_and_extensions() {
    let mut random = Random(45);
    for _ in 0..200_000 {
        let (lo, hi) = (random.bits() as u32, random.bits() as u32);
        let amount = if random.below(3) == 0 { random.bits() as u32 } else { random.below(70) as u32 };
        for clamp in [false, true] {
            let n = if clamp { amount.min(32) } else { amount % 32 };
            let pair = u128::from(hi) << 32 | u128::from(lo);
            assert_eq!(bits::shf_l(lo, hi, amount, clamp), (pair << n >> 32) as u32);
            assert_eq!(bits::shf_r(lo, hi, amount, clamp), (pair >> n) as u32);

            let width = random.below(70) as u32;
            let inside = |i: u32| {
                let (p, w) = if clamp { (amount.min(64), width.min(64)) } else { (amount % 32, width % 32) };
                i >= p && i < p + w
            };
            let want = (0..32).filter(|&i| inside(i)).fold(0, |m, i| m | 1u32 << i);
            assert_eq!(bits::bmsk(amount, width, clamp), want, "bmsk {amount} {width} {clamp}");

            let kept = if clamp && amount >= 32 { 32 } else { amount % 32 };
            for signed in [false, true] {
                let sign = signed && kept > 0 && lo >> (kept - 1) & 1 != 0;
                let bit = |i: u32| if i < kept { lo >> i & 1 != 0 } else { sign };
                let want = (0..32).filter(|&i| bit(i)).fold(0, |m, i| m | 1u32 << i);
                assert_eq!(bits::szext(lo, amount, signed, clamp), want);
            }
        }
    }
}

#[test]
fn lop3_follows_its_table() {
    let mut random = Random(46);
    for table in 0..=255u8 {
        for _ in 0..50 {
            let (a, b, c) = (random.bits() as u32, random.bits() as u32, random.bits() as u32);
            let want = (0..32).fold(0, |d, i| {
                let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
                d | u32::from(table >> index & 1) << i
            });
            assert_eq!(bits::lop3(a, b, c, table), want);
        }
    }
    // The manual's examples: the table is the function applied to these three.
    let (ta, tb, tc) = (0xf0u8, 0xccu8, 0xaau8);
    assert_eq!(bits::lop3(5, 6, 7, ta & tb & tc), 5 & 6 & 7);
    assert_eq!(bits::lop3(5, 6, 9, ta & tb | !tc), 5 & 6 | !9);
}

#[test]
fn permutes() {
    let (a, b) = (0x8322_1100, 0x7766_5544);
    assert_eq!(bits::prmt(a, b, 0x3210, Permute::Default), a);
    assert_eq!(bits::prmt(a, b, 0x7654, Permute::Default), b);
    assert_eq!(bits::prmt(a, b, 0xb840, Permute::Default), 0xff00_4400, "signs of bytes 3 and 0");
    assert_eq!(bits::prmt(a, b, 0xffff_3210, Permute::Default), a, "the upper half is ignored");
    // Tables of the manual, for selectors 0 to 3, byte 3 first.
    let tables = [
        (Permute::Forward4, [0x3210, 0x4321, 0x5432, 0x6543]),
        (Permute::Backward4, [0x5670, 0x6701, 0x7012, 0x0123]),
        (Permute::Replicate8, [0x0000, 0x1111, 0x2222, 0x3333]),
        (Permute::EdgeClampLeft, [0x3210, 0x3211, 0x3222, 0x3333]),
        (Permute::EdgeClampRight, [0x0000, 0x1110, 0x2210, 0x3210]),
        (Permute::Replicate16, [0x1010, 0x3232, 0x1010, 0x3232]),
    ];
    for (mode, selectors) in tables {
        for (i, selector) in selectors.into_iter().enumerate() {
            let want = bits::prmt(a, b, selector, Permute::Default);
            assert_eq!(bits::prmt(a, b, i as u32, mode), want, "{mode:?} {i}");
            assert_eq!(bits::prmt(a, b, i as u32 | 0xfc, mode), want, "only two bits count");
        }
    }
}

#[test]
fn atomics() {
    assert_eq!([0, 4, 5, 6, u32::MAX].map(|old| atomic::inc(old, 5)), [1, 5, 0, 0, 0]);
    assert_eq!([0, 1, 5, 6, u32::MAX].map(|old| atomic::dec(old, 5)), [5, 0, 4, 5, 5]);
    assert_eq!((atomic::inc(u32::MAX, u32::MAX), atomic::dec(0, 0)), (0, 0));
    assert_eq!((atomic::cas(3, 3, 9), atomic::cas(4, 3, 9)), (9, 4));
    let subnormal = f32::from_bits(1);
    assert_eq!(atomic::add_f32_global(subnormal, subnormal).to_bits(), 0);
    assert_eq!(atomic::add_f32_shared(subnormal, subnormal).to_bits(), 2);
    assert_eq!(atomic::add_f64(1.5, 2.0), 3.5);
    assert_eq!(atomic::add_half2::<num::half::F16>(0x3c00_4000, 0x3c00_3c00), 0x4000_4200);
    assert_eq!(atomic::add_half::<num::half::Bf16>(0x3f80, 0x3f80), 0x4000);
}

#[test]
fn scalar_video() {
    use video::{Destination, Part, Source, Then, VideoOp, Vmad, scalar, vmad};
    let source = |value, part, signed| Source { value, part, signed };
    let a = source(0x8001_7f80, Part::Byte(0), true);
    assert_eq!(a.get(), -128);
    assert_eq!(source(0x8001_7f80, Part::Half(1), true).get(), -32767);
    assert_eq!(source(0x8001_7f80, Part::Half(1), false).get(), 32769);
    let b = source(3, Part::Word, false);
    let plain = Destination { signed: true, ..Destination::default() };
    assert_eq!(scalar(VideoOp::Add, a, b, plain) as i32, -125);
    assert_eq!(scalar(VideoOp::AbsDiff, a, b, plain), 131);
    assert_eq!(scalar(VideoOp::Sub, a, b, Destination { sat: true, signed: false, ..plain }), 0);
    let merged = Destination { sat: true, then: Then::Merge(Part::Byte(2)), c: 0x1122_3344, ..plain };
    assert_eq!(scalar(VideoOp::Sub, a, b, merged), 0x1180_3344, "clamped to s8");
    assert_eq!(scalar(VideoOp::Max, a, b, Destination { then: Then::Add, c: 10, ..plain }), 13);
    assert_eq!(scalar(VideoOp::Add, a, b, Destination { then: Then::Min, c: 7, ..plain }) as i32, -125);
    assert_eq!(scalar(VideoOp::Set(video::Compare::Lt), a, b, Destination::default()), 1);
    let shift = source(40, Part::Word, false);
    assert_eq!(scalar(VideoOp::Shl { wrap: true }, b, shift, plain), 3 << 8);
    assert_eq!(scalar(VideoOp::Shl { wrap: false }, b, shift, plain), 0);
    assert_eq!(scalar(VideoOp::Shr { wrap: false }, a, shift, plain) as i32, -1);
    let big = source(u32::MAX, Part::Word, false);
    assert_eq!(vmad(big, big, 1, Vmad { sat: true, ..Vmad::default() }), u32::MAX);
    assert_eq!(vmad(a, b, 4, Vmad { negate_c: true, ..Vmad::default() }) as i32, -388);
    assert_eq!(vmad(a, b, 4, Vmad { negate_product: true, ..Vmad::default() }), 388);
    assert_eq!(vmad(b, b, 1 << 7, Vmad { scale: 7, plus_one: true, ..Vmad::default() }), 1);
}

#[test]
fn simd_video_is_elementwise() {
    use video::{Simd, VideoOp, simd};
    let mut random = Random(47);
    for _ in 0..100_000 {
        let (a, b, c) = (random.bits() as u32, random.bits() as u32, random.bits() as u32);
        let (a4, b4) = (a.to_le_bytes(), b.to_le_bytes());
        let each = |f: fn(u8, u8) -> u8| u32::from_le_bytes([0, 1, 2, 3].map(|i| f(a4[i], b4[i])));
        let unsigned = Simd::plain(4, false);
        assert_eq!(simd(VideoOp::Add, a, b, c, unsigned), each(u8::wrapping_add));
        assert_eq!(simd(VideoOp::AbsDiff, a, b, c, unsigned), each(u8::abs_diff));
        assert_eq!(simd(VideoOp::Sub, a, b, c, Simd { sat: true, ..unsigned }), each(u8::saturating_sub));
        assert_eq!(simd(VideoOp::Max, a, b, c, Simd::plain(4, true)), each(|x, y| (x as i8).max(y as i8) as u8));
        assert_eq!(
            simd(VideoOp::Average, a, b, c, unsigned),
            each(|x, y| u16::midpoint(x.into(), u16::from(y) + 1) as u8)
        );
        let sum = simd(VideoOp::AbsDiff, a, b, c, Simd { add: true, ..unsigned });
        let want = (0..4).fold(c, |d, i| d.wrapping_add(a4[i].abs_diff(b4[i]).into()));
        assert_eq!(sum, want);
        let pair = |f: fn(i16, i16) -> i16| {
            let half = |i: u32| u32::from(f((a >> i) as i16, (b >> i) as i16) as u16) << i;
            half(0) | half(16)
        };
        assert_eq!(simd(VideoOp::Sub, a, b, c, Simd { sat: true, ..Simd::plain(2, true) }), pair(i16::saturating_sub));
        assert_eq!(simd(VideoOp::Min, a, b, c, Simd::plain(2, true)), pair(i16::min));
        let upper = Simd { mask: 2, a_select: [0, 2, 0, 0], ..Simd::plain(2, false) };
        let want = (b << 16).wrapping_add(b & 0xffff_0000) | c & 0xffff;
        assert_eq!(simd(VideoOp::Add, a, b, c, upper), want);
    }
}
