//! Halves with results of single precision, and compared with numbers.

use super::*;

/// Roundings of an exact result by operations on halves.
#[derive(Clone, Copy, PartialEq)]
enum Result16 {
    Nearest,
    TowardsZero,
    FlushToZero,
    Saturate,
}

/// A half whose exponent is one of normal numbers: sign, exponent and an odd fraction follow from `n`.
fn any_half(n: u32) -> u32 {
    let n = n.wrapping_mul(0x9e37_79b9);
    (n >> 31) << 15 | (n % 30 + 1) << 10 | (n >> 16 & 0x3ff) | 1
}

/// A half in units of 2^-24.
fn in_units(half: u32) -> i128 {
    let exponent = half >> 10 & 31;
    let size = i128::from(half & 0x3ff | u32::from(exponent > 0) << 10) << exponent.max(1) >> 1;
    if half >> 15 & 1 == 1 { -size } else { size }
}

/// An exact number in units of 2^-48 as a half.
fn rounded(exact: i128, how: Result16) -> f32 {
    assert_ne!(exact, 0, "the sign of zero would need a rule");
    let sign = if exact < 0 { -1.0 } else { 1.0 };
    let size = exact.unsigned_abs();
    let unit = (128 - size.leading_zeros()).saturating_sub(11).max(24);
    let (kept, rest, half) = (size >> unit, size & ((1 << unit) - 1), 1 << (unit - 1));
    let up = how != Result16::TowardsZero && (rest > half || rest == half && kept & 1 == 1);
    let value = (kept + u128::from(up)) as f32 * 2_f32.powi(unit as i32 - 48);
    let value = match how {
        Result16::TowardsZero => value.min(65504.0),
        Result16::FlushToZero if value < 2_f32.powi(-14) => 0.0,
        Result16::Saturate => return (sign * value).clamp(0.0, 1.0),
        _ if value > 65504.0 => f32::INFINITY,
        _ => value,
    };
    sign * value
}

#[test]
fn operations_on_halves_have_results_of_single_precision() {
    let modules = modules("results");
    let input: Vec<u32> = (0..WORDS as u32).map(|i| any_half(i) | any_half(i + 1000) << 16).collect();
    let of = |f: fn([i128; 3]) -> i128, how| {
        by_rows(&input, move |s| rounded(f(s.map(|half| in_units(half & 0xffff))), how).to_bits())
    };
    let add = |[a, b, _]: [i128; 3]| (a + b) << 24;
    let mul = |[a, b, _]: [i128; 3]| a * b;
    let fma = |[a, b, c]: [i128; 3]| a * b + (c << 24);
    use Result16::{FlushToZero, Nearest, Saturate};
    for (name, f) in [("add", add as fn([i128; 3]) -> i128), ("mul", mul), ("fma", fma)] {
        check(&modules, &format!("{name}_to_f32"), &input, &of(f, Nearest));
        check(&modules, &format!("{name}_sat_to_f32"), &input, &of(f, Saturate));
        check(&modules, &format!("{name}_ftz_to_f32"), &input, &of(f, FlushToZero));
    }
    check(&modules, "sub_to_f32", &input, &of(|[a, b, _]| (a - b) << 24, Nearest));
    let volta = &modules.iter().find(|(label, _)| label.contains("sm_70")).unwrap().1;
    let program = &volta.kernel("fma_to_f32").unwrap().program;
    assert!((0..program.insts().len() as u32).any(|at| program.text(isa::Pc(at)).starts_with("HFMA2.F32 ")));
}

/// `HSETP2` with a source of single precision truncates it.
#[test]
fn halves_are_compared_with_truncated_numbers() {
    use Result16::{Nearest, TowardsZero};
    let modules = modules("results");
    let value = |half: u32| rounded(in_units(half) << 24, Nearest);
    // Halves, numbers that differ from them by less than a unit in the last place, and other choices.
    let row = |i: u32| any_half(i % 64) | any_half(i % 64) << 16;
    let near = |i: u32| (value(row(i) & 0xffff) * [0.9998, 1.0, 1.0002][i as usize % 3]).to_bits();
    let word = |i: u32| match i / 64 {
        0 => row(i),
        1 => near(i),
        _ => i.wrapping_mul(7),
    };
    let mut input: Vec<u32> = (0..WORDS as u32).map(word).collect();
    input[64 + 5] = f32::NAN.to_bits();
    let as_half = |bits: u32, how| {
        let x = f32::from_bits(bits);
        if x.is_nan() { x } else { rounded((f64::from(x) * 2_f64.powi(48)) as i128, how) }
    };
    for (name, how) in [("rz", TowardsZero), ("rn", Nearest)] {
        let of = |test: fn(f32, f32) -> bool| {
            by_rows(&input, move |[a, b, c]| if test(value(a & 0xffff), as_half(b, how)) { a } else { c })
        };
        check(&modules, &format!("lt_of_{name}"), &input, &of(|a, b| a < b));
        check(&modules, &format!("gtu_of_{name}"), &input, &of(|a, b| a > b || a.is_nan() || b.is_nan()));
    }
    let pair = |[a, b, c]: [u32; 3]| if as_half(b, TowardsZero) < value(a >> 16) { a } else { c };
    check(&modules, "lt_of_pair", &input, &by_rows(&input, pair));
}
