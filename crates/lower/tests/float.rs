//! Floating-point instructions: round to nearest against the host, the other modes against `num`,
//! which has its own tests against exact arithmetic.

use crate::common;

use common::{check, check_like, check_where};
use num::half::{Bf16, F16, Half};
use num::{Mode, Rounding, approx, float32, float64, half};

fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

/// Bits with the NaN that the GPU gives.
fn out(x: f32) -> u64 {
    u64::from(if x.is_nan() { 0x7fff_ffff } else { x.to_bits() })
}

fn outd(x: f64) -> u64 {
    if x.is_nan() { float64::NAN.to_bits() } else { x.to_bits() }
}

#[test]
fn single_precision_to_nearest() {
    let two = ["f32", "f32"];
    for rn in ["", ".rn"] {
        check(&format!("add{rn}.f32 $d, $a, $b"), "f32", &two, |[a, b, ..]| out(f(a) + f(b)));
        check(&format!("sub{rn}.f32 $d, $a, $b"), "f32", &two, |[a, b, ..]| out(f(a) - f(b)));
        check(&format!("mul{rn}.f32 $d, $a, $b"), "f32", &two, |[a, b, ..]| out(f(a) * f(b)));
    }
    check("div.rn.f32 $d, $a, $b", "f32", &two, |[a, b, ..]| out(f(a) / f(b)));
    check("fma.rn.f32 $d, $a, $b, $c", "f32", &["f32"; 3], |[a, b, c, _]| out(f(a).mul_add(f(b), f(c))));
    check("mad.rn.f32 $d, $a, $b, $c", "f32", &["f32"; 3], |[a, b, c, _]| out(f(a).mul_add(f(b), f(c))));
    check("sqrt.rn.f32 $d, $a", "f32", &["f32"], |[a, ..]| out(f(a).sqrt()));
    check("rcp.rn.f32 $d, $a", "f32", &["f32"], |[a, ..]| out(1.0 / f(a)));
    check("neg.f32 $d, $a", "f32", &["f32"], |[a, ..]| a ^ 0x8000_0000);
    check("abs.f32 $d, $a", "f32", &["f32"], |[a, ..]| a & 0x7fff_ffff);
    check("copysign.f32 $d, $a, $b", "f32", &two, |[a, b, ..]| b & 0x7fff_ffff | a & 0x8000_0000);
}

#[test]
fn double_precision_to_nearest() {
    let two = ["f64", "f64"];
    check("add.f64 $d, $a, $b", "f64", &two, |[a, b, ..]| outd(d(a) + d(b)));
    check("sub.rn.f64 $d, $a, $b", "f64", &two, |[a, b, ..]| outd(d(a) - d(b)));
    check("mul.f64 $d, $a, $b", "f64", &two, |[a, b, ..]| outd(d(a) * d(b)));
    check("div.rn.f64 $d, $a, $b", "f64", &two, |[a, b, ..]| outd(d(a) / d(b)));
    check("fma.rn.f64 $d, $a, $b, $c", "f64", &["f64"; 3], |[a, b, c, _]| outd(d(a).mul_add(d(b), d(c))));
    check("sqrt.rn.f64 $d, $a", "f64", &["f64"], |[a, ..]| outd(d(a).sqrt()));
    // The NaN of these is not specified.
    let unary = |instruction: &str, f: &dyn Fn(u64) -> u64| {
        check_where(instruction, "f64", &["f64"], |[a, ..]| Some(f(a)), |[a, ..]| !d(a).is_nan());
    };
    unary("rcp.rn.f64 $d, $a", &|a| outd(1.0 / d(a)));
    unary("neg.f64 $d, $a", &|a| a ^ 1 << 63);
    unary("abs.f64 $d, $a", &|a| a & !(1 << 63));
}

const MODES: [(&str, Rounding); 4] =
    [("rn", Rounding::NearestEven), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];

#[test]
fn rounding_flushing_and_saturation() {
    for (name, round) in MODES {
        for (suffix, ftz, sat) in
            [("", false, false), (".ftz", true, false), (".sat", false, true), (".ftz.sat", true, true)]
        {
            let mode = Mode { round, ftz, sat };
            check(&format!("add.{name}{suffix}.f32 $d, $a, $b"), "f32", &["f32"; 2], |[a, b, ..]| {
                u64::from(float32::add(f(a), f(b), mode).to_bits())
            });
            check(&format!("mul.{name}{suffix}.f32 $d, $a, $b"), "f32", &["f32"; 2], |[a, b, ..]| {
                u64::from(float32::mul(f(a), f(b), mode).to_bits())
            });
            check(&format!("fma.{name}{suffix}.f32 $d, $a, $b, $c"), "f32", &["f32"; 3], |[a, b, c, _]| {
                u64::from(float32::fma(f(a), f(b), f(c), mode).to_bits())
            });
        }
        check(&format!("add.{name}.f64 $d, $a, $b"), "f64", &["f64"; 2], |[a, b, ..]| {
            float64::add(d(a), d(b), round).to_bits()
        });
        check(&format!("fma.{name}.f64 $d, $a, $b, $c"), "f64", &["f64"; 3], |[a, b, c, _]| {
            float64::fma(d(a), d(b), d(c), round).to_bits()
        });
        check(&format!("div.{name}.f32 $d, $a, $b"), "f32", &["f32"; 2], |[a, b, ..]| {
            u64::from(float32::div(f(a), f(b), Mode { round, ..Mode::RN }).to_bits())
        });
    }
}

#[test]
fn extremes_and_nan() {
    // The IEEE 754-2019 minimumNumber: a number wins over NaN, -0 is below +0.
    let least = |a: f32, b: f32| {
        if a.is_nan() || (b < a) || (a == b && b.is_sign_negative()) { b } else { a }
    };
    let most = |a: f32, b: f32| -least(-a, -b);
    check("min.f32 $d, $a, $b", "f32", &["f32"; 2], |[a, b, ..]| out(least(f(a), f(b))));
    check("max.f32 $d, $a, $b", "f32", &["f32"; 2], |[a, b, ..]| out(most(f(a), f(b))));
    check("min.NaN.f32 $d, $a, $b", "f32", &["f32"; 2], |[a, b, ..]| {
        if f(a).is_nan() || f(b).is_nan() { 0x7fff_ffff } else { out(least(f(a), f(b))) }
    });
    check("max.f64 $d, $a, $b", "f64", &["f64"; 2], |[a, b, ..]| outd(float64::max(d(a), d(b))));
}

#[test]
fn approximate_functions() {
    type Function = fn(f32, bool) -> f32;
    let functions: [(&str, Function); 7] = [
        ("rcp", approx::rcp),
        ("sqrt", approx::sqrt),
        ("rsqrt", approx::rsqrt),
        ("ex2", approx::ex2),
        ("lg2", approx::lg2),
        ("sin", |x, _| approx::sin(x)),
        ("cos", |x, _| approx::cos(x)),
    ];
    for (name, function) in functions {
        for (suffix, ftz) in [("", false), (".ftz", true)] {
            check(&format!("{name}.approx{suffix}.f32 $d, $a"), "f32", &["f32"], |[a, ..]| {
                u64::from(function(f(a), ftz).to_bits())
            });
        }
    }
    check("tanh.approx.f32 $d, $a", "f32", &["f32"], |[a, ..]| u64::from(approx::tanh(f(a)).to_bits()));
    for (suffix, ftz) in [("", false), (".ftz", true)] {
        check(&format!("div.approx{suffix}.f32 $d, $a, $b"), "f32", &["f32"; 2], |[a, b, ..]| {
            u64::from(approx::div(f(a), f(b), ftz).to_bits())
        });
        check(&format!("div.full{suffix}.f32 $d, $a, $b"), "f32", &["f32"; 2], |[a, b, ..]| {
            u64::from(approx::div_full(f(a), f(b), ftz).to_bits())
        });
    }
    check("rcp.approx.ftz.f64 $d, $a", "f64", &["f64"], |[a, ..]| approx::rcp_ftz_f64(d(a)).to_bits());
    check("rsqrt.approx.f64 $d, $a", "f64", &["f64"], |[a, ..]| approx::rsqrt_f64(d(a)).to_bits());
    // A value known by hand.
    check_like("ex2.approx.f32 $d, 0f40400000", "f32", &[], |_| Some(u64::from(8.0_f32.to_bits())));
}

fn halves<F: Half>(name: &str) {
    let single = |x: u64| F::to_f32(x as u16);
    let narrow = |x: f32| u64::from(half::from_f32::<F>(x, Rounding::NearestEven));
    let pair = |a: u64, b: u64, g: &dyn Fn(u64, u64) -> u64| g(a & 0xffff, b & 0xffff) | g(a >> 16, b >> 16) << 16;
    // A product of two 16-bit numbers is exact in f32; a sum of them, rounded to f32 and again, may
    // only differ for bf16, where `num` decides.
    let product = |a, b| narrow(single(a) * single(b));
    let sum = |a: u64, b: u64| u64::from(half::add::<F>(a as u16, b as u16, Mode::RN));
    let fused = |a: u64, b: u64, c: u64| u64::from(half::fma::<F>(a as u16, b as u16, c as u16, Mode::RN));
    check(&format!("mul.{name} $d, $a, $b"), name, &[name; 2], |[a, b, ..]| product(a, b));
    check(&format!("add.{name} $d, $a, $b"), name, &[name; 2], |[a, b, ..]| sum(a, b));
    check(&format!("fma.rn.{name} $d, $a, $b, $c"), name, &[name; 3], |[a, b, c, _]| fused(a, b, c));
    let packed = format!("{name}x2");
    check(&format!("mul.rn.{packed} $d, $a, $b"), "b32", &["b32"; 2], |[a, b, ..]| pair(a, b, &product));
    check(&format!("add.{packed} $d, $a, $b"), "b32", &["b32"; 2], |[a, b, ..]| pair(a, b, &sum));
    check(&format!("fma.rn.relu.{packed} $d, $a, $b, $c"), "b32", &["b32"; 3], |[a, b, c, _]| {
        let one = |s: u32| {
            let r = fused(a >> s & 0xffff, b >> s & 0xffff, c >> s & 0xffff);
            u64::from(half::relu::<F>(r as u16)) << s
        };
        one(0) | one(16)
    });
    let numbers = |[a, ..]: [u64; 4]| !single(a & 0xffff).is_nan() && !single(a >> 16).is_nan();
    check_where(&format!("neg.{packed} $d, $a"), "b32", &["b32"], |[a, ..]| Some(a ^ 0x8000_8000), numbers);
    check(&format!("max.{name} $d, $a, $b"), name, &[name; 2], |[a, b, ..]| {
        let (x, y) = (single(a), single(b));
        narrow(if x.is_nan() || y > x || (x == y && y.is_sign_positive()) { y } else { x })
    });
}

#[test]
fn half_precision() {
    halves::<F16>("f16");
    halves::<Bf16>("bf16");
}

#[test]
fn classes() {
    type Class<F> = fn(F) -> bool;
    // Zero counts as normal.
    let single: [(&str, Class<f32>); 6] = [
        ("finite", |x| x.is_finite()),
        ("infinite", |x| x.is_infinite()),
        ("number", |x| !x.is_nan()),
        ("notanumber", |x| x.is_nan()),
        ("normal", |x| x.is_normal() || x == 0.0),
        ("subnormal", |x| x.is_subnormal()),
    ];
    let double: [(&str, Class<f64>); 6] = [
        ("finite", |x| x.is_finite()),
        ("infinite", |x| x.is_infinite()),
        ("number", |x| !x.is_nan()),
        ("notanumber", |x| x.is_nan()),
        ("normal", |x| x.is_normal() || x == 0.0),
        ("subnormal", |x| x.is_subnormal()),
    ];
    for (name, class) in single {
        let body = format!("testp.{name}.f32 %p1, $a; selp.u32 $d, 1, 0, %p1;");
        check(&body, "u32", &["f32"], |[a, ..]| u64::from(class(f(a))));
    }
    for (name, class) in double {
        // Random bits are hardly ever subnormal: a second value has its exponent bits taken away.
        for mask in ["0xffffffffffffffff", "0x800fffffffffffff"] {
            let body = format!(
                "mov.b64 %rd1, $a; and.b64 %rd1, %rd1, {mask}; mov.b64 %d1, %rd1; \
                 testp.{name}.f64 %p1, %d1; selp.u32 $d, 1, 0, %p1;"
            );
            let mask = u64::from_str_radix(&mask[2..], 16).unwrap();
            check(&body, "u32", &["f64"], |[a, ..]| u64::from(class(d(a & mask))));
        }
    }
}
