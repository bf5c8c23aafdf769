//! f32 and f64 arithmetic against exact big numbers in every rounding mode, and against the host's
//! own operations in the default one.

use crate::reference;

use num::float32::MinMax;
use num::{Mode, Rounding, float32, float64};
use reference::{Big, DIRECTED_AND_NEAREST, F32, F64, Random, Shape, zero_sum_sign};

const CASES: usize = 60_000;

fn mode(round: Rounding) -> Mode {
    Mode::RN.rounding(round)
}

/// Checks add, mul, fma, div and sqrt of a format on `CASES` random operands in each mode.
fn check_format(
    shape: Shape,
    seed: u64,
    add: impl Fn(u64, u64, Rounding) -> u64,
    mul: impl Fn(u64, u64, Rounding) -> u64,
    fma: impl Fn(u64, u64, u64, Rounding) -> u64,
    div: impl Fn(u64, u64, Rounding) -> u64,
    sqrt: impl Fn(u64, Rounding) -> u64,
) {
    let mut random = Random(seed);
    let sign = 1u64 << (shape.0 + shape.1);
    for case in 0..CASES {
        let (a, b) = (random.float(shape.0, shape.1), random.float(shape.0, shape.1));
        let mut c = random.float(shape.0, shape.1);
        if ![a, b, c].iter().all(|&x| shape.is_finite(x)) {
            continue;
        }
        let (va, vb) = (shape.value(a), shape.value(b));
        let product = va.times(&vb);
        if case % 4 == 0 {
            // Near cancellation: c close to minus the product.
            let near = mul(a, b, Rounding::NearestEven) ^ sign;
            if shape.is_finite(near) {
                c = near.wrapping_add(random.below(3)).wrapping_sub(1);
            }
            if !shape.is_finite(c) {
                c = 0;
            }
        }
        let vc = shape.value(c);
        let negative = |x: u64| x & sign != 0;
        let product_negative = negative(a) != negative(b);
        for round in DIRECTED_AND_NEAREST {
            let zero = zero_sum_sign(negative(a), negative(b), round);
            shape.check_value(add(a, b, round), round, &va.plus(&vb), zero);
            shape.check_value(mul(a, b, round), round, &product, product_negative);
            let zero = zero_sum_sign(product_negative, negative(c), round);
            shape.check_value(fma(a, b, c, round), round, &product.plus(&vc), zero);
            if !vb.is_zero() && !va.is_zero() {
                // a / b against x is a against x * b, the other way round for negative b.
                let compare = |x: &Big| {
                    let order = va.compare(&x.times(&vb));
                    if negative(b) { order.reverse() } else { order }
                };
                shape.check(div(a, b, round), round, product_negative, compare);
            }
            if !va.is_zero() && !negative(a) {
                shape.check(sqrt(a, round), round, false, |x| va.compare(&x.times(x)));
            }
        }
    }
}

#[test]
fn f32_is_exactly_rounded_in_every_mode() {
    let f = |x: u64| f32::from_bits(x as u32);
    let u = |x: f32| u64::from(x.to_bits());
    check_format(
        F32,
        1,
        |a, b, r| u(float32::add(f(a), f(b), mode(r))),
        |a, b, r| u(float32::mul(f(a), f(b), mode(r))),
        |a, b, c, r| u(float32::fma(f(a), f(b), f(c), mode(r))),
        |a, b, r| u(float32::div(f(a), f(b), mode(r))),
        |a, r| u(float32::sqrt(f(a), mode(r))),
    );
}

#[test]
fn f64_is_exactly_rounded_in_every_mode() {
    let f = f64::from_bits;
    check_format(
        F64,
        2,
        |a, b, r| float64::add(f(a), f(b), r).to_bits(),
        |a, b, r| float64::mul(f(a), f(b), r).to_bits(),
        |a, b, c, r| float64::fma(f(a), f(b), f(c), r).to_bits(),
        |a, b, r| float64::div(f(a), f(b), r).to_bits(),
        |a, r| float64::sqrt(f(a), r).to_bits(),
    );
}

/// The bits of `x`, every NaN being the canonical one.
fn f32_bits(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

fn f64_bits(x: f64) -> u64 {
    if x.is_nan() { 0xfff8_0000_0000_0000 } else { x.to_bits() }
}

#[test]
fn default_mode_equals_the_host() {
    let mut random = Random(3);
    for _ in 0..4_000_000 {
        let (a, b, c) = (random.f32(), random.f32(), random.f32());
        assert_eq!(float32::add_rn(a, b).to_bits(), f32_bits(a + b), "{a:e} + {b:e}");
        assert_eq!(float32::sub_rn(a, b).to_bits(), f32_bits(a - b), "{a:e} - {b:e}");
        assert_eq!(float32::mul_rn(a, b).to_bits(), f32_bits(a * b), "{a:e} * {b:e}");
        assert_eq!(float32::fma_rn(a, b, c).to_bits(), f32_bits(a.mul_add(b, c)), "fma({a:e}, {b:e}, {c:e})");
        assert_eq!(float32::add(a, b, Mode::RN).to_bits(), f32_bits(a + b));
        assert_eq!(float32::sub(a, b, Mode::RN).to_bits(), f32_bits(a - b));
        assert_eq!(float32::mul(a, b, Mode::RN).to_bits(), f32_bits(a * b));
        assert_eq!(float32::div(a, b, Mode::RN).to_bits(), f32_bits(a / b));
        assert_eq!(float32::sqrt(a, Mode::RN).to_bits(), f32_bits(a.sqrt()));
    }
    for _ in 0..2_000_000 {
        let (a, b, c) = (random.f64(), random.f64(), random.f64());
        assert_eq!(float64::add_rn(a, b).to_bits(), f64_bits(a + b));
        assert_eq!(float64::sub_rn(a, b).to_bits(), f64_bits(a - b));
        assert_eq!(float64::mul_rn(a, b).to_bits(), f64_bits(a * b));
        assert_eq!(float64::fma_rn(a, b, c).to_bits(), f64_bits(a.mul_add(b, c)));
        assert_eq!(float64::div(a, b, Rounding::NearestEven).to_bits(), f64_bits(a / b));
    }
}

/// Where IEEE 754 gives infinities or NaN, every mode agrees with the host.
#[test]
fn special_operands_in_every_mode() {
    let special32 = [0.0, -0.0, 1.0, -2.5, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for a in special32 {
        for b in special32 {
            for round in DIRECTED_AND_NEAREST {
                let m = mode(round);
                let (wide_a, wide_b) = (f64::from(a), f64::from(b));
                let infinite = !a.is_finite() || !b.is_finite();
                if infinite {
                    assert_eq!(float32::add(a, b, m).to_bits(), f32_bits(a + b));
                    assert_eq!(float32::mul(a, b, m).to_bits(), f32_bits(a * b));
                    assert_eq!(float32::fma(a, b, 1.0, m).to_bits(), f32_bits(a.mul_add(b, 1.0)));
                    assert_eq!(float32::fma(1.0, a, b, m).to_bits(), f32_bits(a + b));
                    assert_eq!(float64::add(wide_a, wide_b, round).to_bits(), f64_bits(wide_a + wide_b));
                    assert_eq!(float64::mul(wide_a, wide_b, round).to_bits(), f64_bits(wide_a * wide_b));
                    assert_eq!(
                        float64::fma(wide_a, wide_b, 1.0, round).to_bits(),
                        f64_bits(wide_a.mul_add(wide_b, 1.0))
                    );
                }
                if infinite || b == 0.0 {
                    assert_eq!(float32::div(a, b, m).to_bits(), f32_bits(a / b));
                    assert_eq!(float64::div(wide_a, wide_b, round).to_bits(), f64_bits(wide_a / wide_b));
                }
            }
        }
        for round in DIRECTED_AND_NEAREST {
            if !a.is_finite() || a <= 0.0 {
                assert_eq!(float32::sqrt(a, mode(round)).to_bits(), f32_bits(a.sqrt()));
                assert_eq!(float64::sqrt(f64::from(a), round).to_bits(), f64_bits(f64::from(a).sqrt()));
            }
        }
    }
}

#[test]
fn flushing_and_saturation() {
    let mut random = Random(4);
    let flush = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
    for _ in 0..200_000 {
        let (a, b, c) = (random.f32(), random.f32(), random.f32());
        for round in DIRECTED_AND_NEAREST {
            let plain = mode(round);
            let ftz = Mode { ftz: true, ..plain };
            let want = flush(float32::fma(flush(a), flush(b), flush(c), plain));
            assert_eq!(float32::fma(a, b, c, ftz).to_bits(), want.to_bits());
            let want = flush(float32::mul(flush(a), flush(b), plain));
            assert_eq!(float32::mul(a, b, ftz).to_bits(), want.to_bits());
            let want = float32::add(a, b, plain);
            let want = if want.is_nan() || want <= 0.0 { 0.0 } else { want.min(1.0) };
            assert_eq!(float32::add(a, b, Mode { sat: true, ..plain }).to_bits(), want.to_bits());
        }
    }
    assert_eq!(float32::saturate(-0.0).to_bits(), 0);
    assert_eq!(float32::saturate(f32::NAN).to_bits(), 0);
    assert_eq!(float32::saturate(f32::INFINITY), 1.0);
    assert_eq!(float64::saturate(f64::NAN).to_bits(), 0);
}

#[test]
fn minimum_and_maximum() {
    let plain = MinMax::default();
    let nan = MinMax { nan: true, ..plain };
    let xorsign = MinMax { xorsign_abs: true, ..plain };
    let canonical = 0x7fff_ffff;
    assert_eq!(float32::min(0.0, -0.0, plain).to_bits(), (-0f32).to_bits());
    assert_eq!(float32::min(-0.0, 0.0, plain).to_bits(), (-0f32).to_bits());
    assert_eq!(float32::max(-0.0, 0.0, plain).to_bits(), 0);
    assert_eq!(float32::max(0.0, -0.0, plain).to_bits(), 0);
    assert_eq!(float32::max(f32::NAN, 1.0, plain), 1.0);
    assert_eq!(float32::min(1.0, f32::NAN, plain), 1.0);
    assert_eq!(float32::min(-f32::NAN, f32::NAN, plain).to_bits(), canonical);
    assert_eq!(float32::min(1.0, -f32::NAN, nan).to_bits(), canonical);
    assert_eq!(float32::max(f32::NAN, 1.0, nan).to_bits(), canonical);
    assert_eq!(float32::max(-3.0, 2.0, xorsign), -3.0);
    assert_eq!(float32::max(-3.0, -2.0, xorsign), 3.0);
    assert_eq!(float32::min(-3.0, 2.0, xorsign), -2.0);
    assert_eq!(float32::min(f32::from_bits(1), 1.0, MinMax { ftz: true, ..plain }).to_bits(), 0);
    let mut random = Random(5);
    for _ in 0..200_000 {
        let (a, b) = (random.f32(), random.f32());
        if !a.is_nan() && !b.is_nan() {
            let (low, high) = if a.total_cmp(&b).is_le() { (a, b) } else { (b, a) };
            assert_eq!(float32::min(a, b, plain).to_bits(), low.to_bits());
            assert_eq!(float32::max(a, b, plain).to_bits(), high.to_bits());
            assert_eq!(float64::min(a.into(), b.into()).to_bits(), f64::from(low).to_bits());
            assert_eq!(float64::max(a.into(), b.into()).to_bits(), f64::from(high).to_bits());
        } else if a.is_nan() != b.is_nan() {
            let number = if a.is_nan() { b } else { a };
            assert_eq!(float32::min(a, b, plain).to_bits(), number.to_bits());
            assert_eq!(float32::max(a, b, plain).to_bits(), number.to_bits());
            assert_eq!(float64::max(a.into(), b.into()).to_bits(), f64::from(number).to_bits());
        }
    }
}

#[test]
fn classes() {
    use float32::TestClass::*;
    let table = [
        (0.0, [true, false, true, false, true, false]),
        (-0.0, [true, false, true, false, true, false]),
        (f32::from_bits(1), [true, false, true, false, false, true]),
        (-1.5, [true, false, true, false, true, false]),
        (f32::INFINITY, [false, true, true, false, false, false]),
        (f32::NAN, [false, false, false, true, false, false]),
    ];
    for (x, want) in table {
        let classes = [Finite, Infinite, Number, NotANumber, Normal, Subnormal];
        assert_eq!(classes.map(|c| float32::testp(x, c)), want, "{x}");
        let x = if x.is_subnormal() { f64::from_bits(1) } else { f64::from(x) };
        assert_eq!(classes.map(|c| float64::testp(x, c)), want, "{x}");
    }
    assert_eq!(float32::copysign(-1.0, 2.0), -2.0);
    assert_eq!(float64::copysign(1.0, -2.0), 2.0);
    assert_eq!(float32::abs(-f32::from_bits(1), true).to_bits(), 0);
    assert_eq!(float32::neg(f32::from_bits(1), true).to_bits(), 0x8000_0000);
}
