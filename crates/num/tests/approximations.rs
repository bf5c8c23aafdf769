//! Approximate functions against the platform's f64 functions, within the bounds the ISA states.

use crate::reference;

use num::approx;
use num::half::{self, Bf16, F16, Half};
use reference::Random;

/// The spacing of f32 numbers at `x`.
fn ulp(x: f64) -> f64 {
    let x = (x.abs() as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
    f64::from(x.next_up().min(f32::MAX)) - f64::from(x).min(f64::from(f32::MAX.next_down()))
}

/// Random positive finite numbers over the whole range, subnormals included.
fn positive(random: &mut Random) -> f32 {
    f32::from_bits(random.below(0x7f80_0000) as u32)
}

#[test]
fn reciprocals_roots_and_quotients() {
    let mut random = Random(21);
    for _ in 0..400_000 {
        let (a, b) = (positive(&mut random), positive(&mut random));
        let (wide, divisor) = (f64::from(a), f64::from(b));
        let reciprocal = 1.0 / wide;
        if reciprocal < f64::from(f32::MAX) && a > 0.0 {
            assert!((f64::from(approx::rcp(a, false)) - reciprocal).abs() <= ulp(reciprocal), "rcp {a:e}");
        }
        let root = wide.sqrt();
        assert!((f64::from(approx::sqrt(a, false)) - root).abs() <= root * 2f64.powi(-23), "sqrt {a:e}");
        if a > 0.0 {
            let inverse = 1.0 / root;
            assert!((f64::from(approx::rsqrt(a, false)) - inverse).abs() <= inverse * 2f64.powf(-22.9), "rsqrt {a:e}");
        }
        let quotient = wide / divisor;
        if quotient < f64::from(f32::MAX) {
            assert!(
                (f64::from(approx::div_full(a, b, false)) - quotient).abs() <= 2.0 * ulp(quotient),
                "{a:e} / {b:e}"
            );
            if divisor <= 2f64.powi(126) {
                assert_eq!(approx::div(a, b, false).to_bits(), approx::div_full(a, b, false).to_bits());
            }
        }
    }
}

#[test]
fn exponential_and_logarithm() {
    let mut random = Random(22);
    for _ in 0..400_000 {
        let x = (random.bits() as i64 as f64 / i64::MAX as f64 * 150.0) as f32;
        let power = f64::from(x).exp2();
        if power < f64::from(f32::MAX) {
            assert!((f64::from(approx::ex2(x, false)) - power).abs() <= 2.0 * ulp(power), "ex2 {x:e}");
        }
        for a in [positive(&mut random), 0.5 + random.below(1 << 24) as f32 / (1 << 24) as f32 * 1.5] {
            if a > 0.0 {
                let log = f64::from(a).log2();
                let bound = if a > 0.5 && a < 2.0 { 2f64.powi(-22) } else { log.abs() * 2f64.powi(-22) };
                assert!((f64::from(approx::lg2(a, false)) - log).abs() <= bound, "lg2 {a:e}");
            }
        }
    }
}

#[test]
fn trigonometric_and_hyperbolic() {
    let mut random = Random(23);
    for _ in 0..400_000 {
        let unit = random.bits() as i64 as f64 / i64::MAX as f64;
        for (range, bound) in [(2.0, -20.5), (100.0, -14.7)] {
            let x = (unit * range * std::f64::consts::PI) as f32;
            let bound = 2f64.powf(bound);
            assert!((f64::from(approx::sin(x)) - f64::from(x).sin()).abs() <= bound, "sin {x}");
            assert!((f64::from(approx::cos(x)) - f64::from(x).cos()).abs() <= bound, "cos {x}");
        }
        let x = f32::from_bits(random.bits() as u32);
        if !x.is_nan() {
            let tanh = f64::from(x).tanh();
            assert!((f64::from(approx::tanh(x)) - tanh).abs() <= tanh.abs() * 2f64.powi(-11) + 1e-45, "tanh {x:e}");
        }
    }
}

/// Our own stated bound: the true value rounded once, within a sliver of half an ulp.
#[test]
fn within_half_an_ulp_of_the_true_value() {
    let mut random = Random(24);
    for _ in 0..200_000 {
        let x = (random.bits() as i64 as f64 / i64::MAX as f64 * 20.0) as f32;
        let wide = f64::from(x);
        let cases = [
            (approx::ex2(x, false), wide.exp2()),
            (approx::sin_turns(x, false), (wide * std::f64::consts::TAU).sin()),
            (approx::cos_turns(x, false), (wide * std::f64::consts::TAU).cos()),
            (approx::tanh(x), wide.tanh()),
            (approx::lg2(x.abs(), false), wide.abs().log2()),
        ];
        for (got, want) in cases {
            if want.is_finite() {
                assert!((f64::from(got) - want).abs() <= 0.5001 * ulp(want), "{x:e}: {got:e} for {want:e}");
            }
        }
    }
}

/// The tables of special inputs in the ISA's descriptions.
#[test]
fn special_inputs() {
    let (inf, nan) = (f32::INFINITY, 0x7fff_ffff);
    let sub = f32::from_bits(1);
    type Function = fn(f32, bool) -> f32;
    let functions: [(Function, [f32; 5]); 7] = [
        // -inf, -0, +0, +inf, -subnormal flushed
        (approx::rcp, [-0.0, -inf, inf, 0.0, -inf]),
        (approx::sqrt, [f32::NAN, -0.0, 0.0, inf, -0.0]),
        (approx::rsqrt, [f32::NAN, -inf, inf, 0.0, -inf]),
        (approx::ex2, [0.0, 1.0, 1.0, inf, 1.0]),
        (approx::lg2, [f32::NAN, -inf, -inf, inf, -inf]),
        (|x, _| approx::sin(x), [f32::NAN, -0.0, 0.0, f32::NAN, -0.0]),
        (|x, _| approx::cos(x), [f32::NAN, 1.0, 1.0, f32::NAN, 1.0]),
    ];
    for (i, (function, want)) in functions.into_iter().enumerate() {
        for (x, want) in [-inf, -0.0, 0.0, inf, -sub].into_iter().zip(want) {
            let want = if want.is_nan() { nan } else { want.to_bits() };
            assert_eq!(function(x, true).to_bits(), want, "function {i} of {x}");
        }
        assert_eq!(function(-f32::NAN, false).to_bits(), nan);
    }
    assert_eq!(approx::lg2(-1.0, false).to_bits(), nan);
    assert_eq!(approx::rsqrt(-1.0, false).to_bits(), nan);
    assert_eq!(approx::lg2(sub, false), -149.0);
    assert_eq!(approx::ex2(-149.0, false), sub);
    assert_eq!(approx::ex2(-149.0, true).to_bits(), 0);
    assert_eq!([inf, -inf, -0.0].map(|x| approx::tanh(x).to_bits()), [1f32, -1.0, -0.0].map(f32::to_bits));
    let huge = 1.5 * 2f32.powi(126);
    assert_eq!(approx::div(3.0, -huge, false).to_bits(), (-0f32).to_bits());
    assert_eq!(approx::div(inf, huge, false).to_bits(), nan);
    assert_eq!(approx::div(3.0, inf, false), 0.0);
    assert_eq!(approx::div_full(huge, huge, false), 1.0);
}

#[test]
fn gross_f64_approximations() {
    let nan = 0x7fff_ffff_0000_0000;
    for (x, reciprocal, inverse_root) in [
        (f64::INFINITY, 0f64.to_bits(), 0f64.to_bits()),
        (f64::NEG_INFINITY, (-0f64).to_bits(), nan),
        (0.0, f64::INFINITY.to_bits(), f64::INFINITY.to_bits()),
        (-0.0, f64::NEG_INFINITY.to_bits(), f64::NEG_INFINITY.to_bits()),
        (-5e-324, f64::NEG_INFINITY.to_bits(), f64::NEG_INFINITY.to_bits()),
        (f64::NAN, nan, nan),
    ] {
        assert_eq!(approx::rcp_ftz_f64(x).to_bits(), reciprocal, "rcp {x}");
        assert_eq!(approx::rsqrt_ftz_f64(x).to_bits(), inverse_root, "rsqrt {x}");
    }
    let mut random = Random(25);
    for _ in 0..100_000 {
        let x = f64::from_bits(random.below(0x7fd0_0000_0000_0000)).max(f64::MIN_POSITIVE);
        for (got, want) in [(approx::rcp_ftz_f64(x), 1.0 / x), (approx::rsqrt_ftz_f64(x), 1.0 / x.sqrt())] {
            assert_eq!(got.to_bits() as u32, 0);
            assert!(((got - want) / want).abs() < 2f64.powi(-19), "{x:e}");
        }
    }
}

/// Every 16-bit input, within the relative bound for ex2 and the absolute one for tanh.
fn halves<F: Half>(ex2_bound: f64, tanh_bound: f64, smallest_normal: f64) {
    for bits in 0..=u16::MAX {
        let x = half::to_f64::<F>(bits);
        let power = half::to_f64::<F>(approx::ex2_half::<F>(bits, false));
        let tanh = half::to_f64::<F>(approx::tanh_half::<F>(bits));
        if x.is_nan() {
            assert!(power.is_nan() && tanh.is_nan());
            continue;
        }
        if power.is_finite() && power >= smallest_normal {
            assert!((power - x.exp2()).abs() <= x.exp2() * ex2_bound, "ex2 {x}");
        }
        assert!((tanh - x.tanh()).abs() <= tanh_bound, "tanh {x}");
    }
}

#[test]
fn half_functions_on_every_input() {
    halves::<F16>(2f64.powf(-9.9), 2f64.powf(-10.987), 2f64.powi(-14));
    halves::<Bf16>(2f64.powi(-7), 2f64.powi(-8), 2f64.powi(-126));
}
