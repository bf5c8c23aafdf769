//! f16, bf16, tf32, e4m3 and e5m2: conversions exhaustively, arithmetic against exact big numbers.

use crate::reference;

use num::float32::MinMax;
use num::half::{self, Bf16, F16, Half};
use num::{Mode, Rounding, small};
use reference::{Big, DIRECTED_AND_NEAREST, Random, Shape, zero_sum_sign};

fn mode(round: Rounding) -> Mode {
    Mode::RN.rounding(round)
}

fn widening_is_exact<F: Half>(shape: Shape) {
    for bits in 0..=u16::MAX {
        let wide = F::to_f32(bits);
        if shape.is_nan(bits.into()) {
            assert_eq!(wide.to_bits(), 0x7fff_ffff);
            assert_eq!(half::from_f32::<F>(wide, Rounding::NearestEven), half::NAN);
            continue;
        }
        if shape.is_finite(bits.into()) {
            let exact = shape.value(bits.into());
            assert!(reference::F32.value(wide.to_bits().into()).compare(&exact).is_eq(), "{bits:#x}");
        } else {
            assert!(wide.is_infinite());
        }
        assert_eq!(wide.is_sign_negative(), bits >> 15 != 0);
        for round in Rounding::ALL {
            assert_eq!(half::from_f32::<F>(wide, round), bits, "{bits:#x}");
        }
    }
}

#[test]
fn every_half_survives_widening() {
    widening_is_exact::<F16>(reference::F16);
    widening_is_exact::<Bf16>(reference::BF16);
}

/// Around each number of the format and each midpoint of two, in every mode.
fn narrowing_is_exact<F: Half>(shape: Shape) {
    let infinity = shape.infinity() as u16;
    let largest_step = F::to_f32(infinity - 1) - F::to_f32(infinity - 2);
    for low in 0..infinity {
        let below = f64::from(F::to_f32(low));
        let above = if low + 1 == infinity { below + f64::from(largest_step) } else { f64::from(F::to_f32(low + 1)) };
        let middle = (below + above) / 2.0;
        for (x, place) in
            [(below.next_up(), 1), (middle.next_down(), 1), (middle, 2), (middle.next_up(), 3), (above.next_down(), 3)]
        {
            for round in Rounding::ALL {
                for negative in [false, true] {
                    let up = match round {
                        Rounding::Zero => false,
                        Rounding::Down => negative,
                        Rounding::Up => !negative,
                        Rounding::NearestAway => place >= 2,
                        Rounding::NearestEven => place == 3 || (place == 2 && low & 1 == 1),
                    };
                    let want = (low + u16::from(up)) | if negative { 0x8000 } else { 0 };
                    let x = if negative { -x } else { x };
                    assert_eq!(half::from_f64::<F>(x, round), want, "{x:e} {round:?}");
                }
            }
        }
    }
    assert_eq!(half::from_f64::<F>(1e300, Rounding::Zero), infinity - 1);
    assert_eq!(half::from_f64::<F>(1e300, Rounding::NearestEven), infinity);
    assert_eq!(half::from_f64::<F>(5e-324, Rounding::Up), 1);
    assert_eq!(half::from_f64::<F>(-5e-324, Rounding::Up), 0x8000);
}

#[test]
fn narrowing_around_every_half() {
    narrowing_is_exact::<F16>(reference::F16);
    narrowing_is_exact::<Bf16>(reference::BF16);
}

fn arithmetic_is_exact<F: Half>(shape: Shape, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..60_000 {
        let [a, b, c] = [(); 3].map(|()| random.float(shape.0, shape.1) as u16);
        if ![a, b, c].iter().all(|&x| shape.is_finite(x.into())) {
            continue;
        }
        let [va, vb, vc] = [a, b, c].map(|x| shape.value(x.into()));
        let [na, nb, nc] = [a, b, c].map(|x| x >> 15 != 0);
        let product = va.times(&vb);
        for round in DIRECTED_AND_NEAREST {
            let m = mode(round);
            let check = |bits: u16, exact: &Big, zero: bool| shape.check_value(bits.into(), round, exact, zero);
            check(half::add::<F>(a, b, m), &va.plus(&vb), zero_sum_sign(na, nb, round));
            check(half::sub::<F>(a, b, m), &va.plus(&vb.neg()), zero_sum_sign(na, !nb, round));
            check(half::mul::<F>(a, b, m), &product, na != nb);
            check(half::fma::<F>(a, b, c, m), &product.plus(&vc), zero_sum_sign(na != nb, nc, round));
        }
    }
}

#[test]
fn f16_arithmetic_is_exactly_rounded() {
    arithmetic_is_exact::<F16>(reference::F16, 11);
}

#[test]
fn bf16_arithmetic_is_exactly_rounded() {
    arithmetic_is_exact::<Bf16>(reference::BF16, 12);
}

/// Every f16 against a few others, in integers: f16 numbers are multiples of 2^-24, their products
/// of 2^-48.
#[test]
fn every_f16_in_fma_and_add() {
    let scaled = |x: u16| {
        let field = i32::from(x >> 10 & 31);
        let fraction = i128::from(x & 0x3ff);
        let magnitude = if field == 0 { fraction } else { (fraction | 0x400) << (field - 1) };
        if x >> 15 != 0 { -magnitude } else { magnitude }
    };
    let others = [0x0001, 0x3c00, 0x3c01, 0x7bff, 0x8400, 0xb555, 0x03ff, 0x1400];
    for a in 0..=u16::MAX {
        if a & 0x7c00 == 0x7c00 {
            continue;
        }
        for b in others {
            for c in [0x3c00, 0xbc00, 0x0001, 0x8001, 0x7bff] {
                let exact = scaled(a) * scaled(b) + (scaled(c) << 24);
                if exact == 0 {
                    continue;
                }
                let got = half::fma::<F16>(a, b, c, Mode::RN);
                assert_eq!(got, nearest_f16(exact), "fma({a:#x}, {b:#x}, {c:#x})");
            }
            let exact = (scaled(a) + scaled(b)) << 24;
            if exact != 0 {
                assert_eq!(half::add::<F16>(a, b, Mode::RN), nearest_f16(exact));
            }
        }
    }
}

/// The f16 nearest to `x * 2^-48`.
fn nearest_f16(x: i128) -> u16 {
    let m = x.unsigned_abs();
    let length = 128 - m.leading_zeros() as i32;
    // Units of the last place: 11 bits are kept, but none below 2^-24, which is bit 24 here.
    let ulp = (length - 11).max(24);
    let (kept, rest, half) = (m >> ulp, m & ((1 << ulp) - 1), 1u128 << (ulp - 1));
    let kept = kept + u128::from(rest > half || (rest == half && kept & 1 == 1));
    // Kept counts units of 2^(ulp - 48); adding it to the exponent field carries as it should.
    let magnitude = (((ulp - 24) as u128) << 10) + kept;
    (magnitude.min(0x7c00) as u16) | if x < 0 { 0x8000 } else { 0 }
}

#[test]
fn special_halves() {
    for (nan, infinity) in [(0x7e00, 0x7c00), (0xfe01, 0x7c00)] {
        assert_eq!(half::add::<F16>(nan, 0x3c00, Mode::RN), half::NAN);
        assert_eq!(half::fma::<F16>(infinity, 0, 0x3c00, Mode::RN), half::NAN);
        assert_eq!(half::sub::<F16>(infinity, infinity, Mode::RN), half::NAN);
        assert_eq!(half::relu::<F16>(nan), half::NAN);
        assert_eq!(half::saturate::<F16>(nan), 0);
    }
    assert_eq!(half::relu::<F16>(0xbc00), 0);
    assert_eq!(half::saturate::<F16>(0x4000), 0x3c00);
    assert_eq!(half::saturate::<Bf16>(0xbf80), 0);
    assert_eq!(half::saturate::<Bf16>(0x7f80), 0x3f80);
    let ftz = Mode { ftz: true, ..Mode::RN };
    assert_eq!(half::add::<F16>(0x83ff, 0x8000, ftz), 0x8000);
    assert_eq!(half::mul::<F16>(0x0400, 0x3800, ftz), 0, "a subnormal result");
    assert_eq!(half::mul::<F16>(0x0400, 0x3800, Mode::RN), 0x0200);
    let plain = MinMax::default();
    assert_eq!(half::min::<F16>(0x8000, 0, plain), 0x8000);
    assert_eq!(half::max::<F16>(0x8000, 0, plain), 0);
    assert_eq!(half::max::<Bf16>(0x7fc0, 0x3f80, plain), 0x3f80);
    assert_eq!(half::max::<Bf16>(0x7fc0, 0x3f80, MinMax { nan: true, ..plain }), half::NAN);
    assert_eq!(half::zip2(0x0001_0002, 0x0010_0020, |a, b| a | b), 0x0011_0022);
}

#[test]
fn half_min_max_follow_the_order_of_values() {
    for a in (0..=u16::MAX).step_by(7) {
        for b in (0..=u16::MAX).step_by(1021) {
            let (x, y) = (F16::to_f32(a), F16::to_f32(b));
            if x.is_nan() || y.is_nan() {
                continue;
            }
            let a_first = x.total_cmp(&y).is_le();
            assert_eq!(half::min::<F16>(a, b, MinMax::default()), if a_first { a } else { b });
            assert_eq!(half::max::<F16>(a, b, MinMax::default()), if a_first { b } else { a });
        }
    }
}

#[test]
fn tf32_is_f32_with_ten_mantissa_bits() {
    let mut random = Random(13);
    for _ in 0..200_000 {
        let x = random.f32();
        for round in [Rounding::NearestAway, Rounding::NearestEven, Rounding::Zero] {
            let got = small::tf32_from_f32(x, round, false, false).to_bits();
            if x.is_nan() {
                assert_eq!(got, 0x7fff_ffff);
                continue;
            }
            let (low, rest) = (x.to_bits() & !0x1fff, x.to_bits() & 0x1fff);
            let up = match round {
                Rounding::NearestAway => rest >= 0x1000,
                Rounding::Zero => false,
                _ => rest > 0x1000 || (rest == 0x1000 && low & 0x2000 != 0),
            };
            assert_eq!(got, low + if up { 0x2000 } else { 0 }, "{x:e} {round:?}");
        }
    }
    assert_eq!(small::tf32_from_f32(f32::MAX, Rounding::NearestAway, false, true).to_bits(), 0x7f7f_e000);
    assert_eq!(small::tf32_from_f32(f32::MAX, Rounding::NearestAway, false, false), f32::INFINITY);
    assert_eq!(small::tf32_from_f32(-1.0, Rounding::NearestEven, true, false).to_bits(), 0);
}

/// All finite values of an 8-bit format in order of their bits, by the definition of the format.
fn eight_bit(mantissa_bits: i32, bias: i32, count: u8) -> Vec<f64> {
    let value = |bits: u8| {
        let field = i32::from(bits) >> mantissa_bits;
        let fraction = f64::from(i32::from(bits) & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
        let (lead, exponent) = if field == 0 { (0.0, 1) } else { (1.0, field) };
        (lead + fraction) * 2f64.powi(exponent - bias)
    };
    (0..count).map(value).collect()
}

fn check_eight_bit(table: &[f64], to: impl Fn(u8) -> f32, from: impl Fn(f32, bool) -> u8) {
    for (bits, &value) in table.iter().enumerate() {
        let bits = bits as u8;
        assert_eq!(f64::from(to(bits)), value);
        assert_eq!(f64::from(to(bits | 0x80)), -value);
        assert_eq!(from(value as f32, false), bits);
        assert_eq!(from(-value as f32, false), bits | 0x80);
        assert_eq!(from(-value as f32, true), 0);
        if let Some(&next) = table.get(usize::from(bits) + 1) {
            let middle = ((value + next) / 2.0) as f32;
            assert_eq!(from(middle.next_down(), false), bits, "below {middle}");
            assert_eq!(from(middle.next_up(), false), bits + 1, "above {middle}");
            assert_eq!(from(middle, false), bits + (bits & 1), "at {middle}");
        }
    }
    let last = table.len() as u8 - 1;
    for large in [table[usize::from(last)] as f32 * 1.01, 1e30, f32::INFINITY] {
        assert_eq!(from(large, false), last);
        assert_eq!(from(-large, false), last | 0x80);
    }
    assert_eq!(from(f32::NAN, false), 0x7f);
    assert!(to(0x7f).is_nan());
}

#[test]
fn eight_bit_formats() {
    check_eight_bit(&eight_bit(3, 7, 0x7f), small::e4m3_to_f32, small::e4m3_from_f32);
    check_eight_bit(&eight_bit(2, 15, 0x7c), small::e5m2_to_f32, small::e5m2_from_f32);
    assert_eq!(small::e5m2_to_f32(0x7c), f32::INFINITY);
}
