//! Pairs of halves and of bfloat16.

use super::*;
use num::float32::MinMax;
use num::half::{self, Bf16, F16, Half};
use num::{Mode, Rounding};

const HADD2: Case<'_> = Case {
    sm: 75,
    code: 0x30,
    layout: Layout::TwoWord,
    types: &["f16x2", "f16x2"],
    columns: 1,
    signs: true,
    forms: &[],
    modify: &|w| w,
};
const HMUL2: Case<'_> = Case { code: 0x32, layout: Layout::Two, ..HADD2 };
const HFMA2: Case<'_> = Case { code: 0x31, layout: Layout::Three, types: &["f16x2"; 3], ..HADD2 };
const HMNMX2: Case<'_> = Case { sm: 80, code: 0x40, layout: Layout::Two, ..HADD2 };

/// Applies `g` to both halves of the sources.
fn pairs(s: &[u64], g: impl Fn(&[u16]) -> u16) -> u64 {
    let of = |shift: u32| {
        let parts: Vec<u16> = s.iter().map(|x| (x >> shift) as u16).collect();
        u64::from(g(&parts))
    };
    of(0) | of(16) << 16
}

/// Both halves are the lower or the upper one.
fn twice(x: u64, upper: bool) -> u64 {
    let half = if upper { x >> 16 & 0xffff } else { x & 0xffff };
    half | half << 16
}

/// A result in the format, rounded once from what `f64` holds exactly.
fn rounded<F: Half>(x: f64) -> u16 {
    half::from_f64::<F>(x, Rounding::NearestEven)
}

fn wide<F: Half>(x: u16) -> f64 {
    half::to_f64::<F>(x)
}

#[test]
fn arithmetic_on_pairs() {
    for sm in [70, 75, 80, 90] {
        // Sums and products of f16 are exact in f64.
        Case { sm, ..HADD2 }.check(|s| pairs(s, |h| rounded::<F16>(wide::<F16>(h[0]) + wide::<F16>(h[1]))));
        Case { sm, ..HMUL2 }.check(|s| pairs(s, |h| rounded::<F16>(wide::<F16>(h[0]) * wide::<F16>(h[1]))));
        Case { sm, ..HFMA2 }.check(|s| pairs(s, |h| half::fma::<F16>(h[0], h[1], h[2], Mode::RN)));
    }
    let mode = Mode { sat: true, ..Mode::RN_FTZ };
    let modify = |w: Word| w.bits(77, 1, 1).bits(80, 1, 1);
    Case { modify: &modify, ..HADD2 }.check(|s| pairs(s, |h| half::add::<F16>(h[0], h[1], mode)));
    Case { modify: &modify, ..HMUL2 }.check(|s| pairs(s, |h| half::mul::<F16>(h[0], h[1], mode)));
    Case { modify: &modify, ..HFMA2 }.check(|s| pairs(s, |h| half::fma::<F16>(h[0], h[1], h[2], mode)));
    // `.RELU` requires PT as its predicate.
    let relu = |w: Word| w.bits(79, 1, 1).p(7, false);
    let fused = |h: &[u16]| half::relu::<F16>(half::fma::<F16>(h[0], h[1], h[2], Mode::RN));
    Case { modify: &relu, sm: 80, ..HFMA2 }.check(|s| pairs(s, fused));
    Case { modify: &relu, sm: 80, ..HMUL2 }
        .check(|s| pairs(s, |h| half::relu::<F16>(half::mul::<F16>(h[0], h[1], Mode::RN))));
}

#[test]
fn arithmetic_on_pairs_of_bfloat16() {
    let modify = |w: Word| w.bits(85, 1, 1);
    Case { sm: 90, modify: &modify, ..HADD2 }.check(|s| pairs(s, |h| half::add::<Bf16>(h[0], h[1], Mode::RN)));
    Case { sm: 90, modify: &modify, ..HMUL2 }.check(|s| pairs(s, |h| half::mul::<Bf16>(h[0], h[1], Mode::RN)));
    for (sm, code) in [(80, 0x31), (86, 0x31), (90, 0x31), (90, 0x35)] {
        Case { sm, code, modify: &modify, ..HFMA2 }
            .check(|s| pairs(s, |h| half::fma::<Bf16>(h[0], h[1], h[2], Mode::RN)));
    }
}

#[test]
fn a_factor_of_zero_wins_with_fmz() {
    let fmz = |w: Word| w.bits(76, 1, 1);
    let factors = |h: &[u16]| {
        let zero = |x: u16| half::flush::<F16>(x) & 0x7fff == 0;
        if zero(h[0]) || zero(h[1]) { [0, 0] } else { [h[0], h[1]] }
    };
    Case { modify: &fmz, ..HMUL2 }.check(|s| {
        pairs(s, |h| {
            let [a, b] = factors(h);
            half::mul::<F16>(a, b, Mode::RN_FTZ)
        })
    });
    Case { modify: &fmz, ..HFMA2 }.check(|s| {
        pairs(s, |h| {
            let [a, b] = factors(h);
            half::fma::<F16>(a, b, h[2], Mode::RN_FTZ)
        })
    });
}

#[test]
fn halves_are_chosen_before_signs() {
    // Choices of the operands at 24, 32 and 64 in the register form.
    for (field, upper) in [(2, false), (3, true)] {
        let modify = |w: Word| w.bits(74, 2, field).bits(60, 2, 5 - field);
        Case { forms: &[1], modify: &modify, ..HADD2 }.check(|s| {
            let s = [twice(s[0], upper), twice(s[1], !upper)];
            pairs(&s, |h| half::add::<F16>(h[0], h[1], Mode::RN))
        });
        let modify = |w: Word| w.bits(81, 2, field);
        Case { forms: &[1, 4, 5, 6], modify: &modify, ..HFMA2 }.check(|s| {
            let s = [s[0], s[1], twice(s[2], upper)];
            pairs(&s, |h| half::fma::<F16>(h[0], h[1], h[2], Mode::RN))
        });
        // In the constant form too.
        let modify = |w: Word| w.bits(60, 2, field);
        Case { forms: &[5], modify: &modify, ..HMUL2 }.check(|s| {
            let s = [s[0], twice(s[1], upper)];
            pairs(&s, |h| half::mul::<F16>(h[0], h[1], Mode::RN))
        });
    }
}

/// Sums of halves that are rounded and then converted to single precision: the compiler combines both
/// operations.
#[test]
fn sums_in_single_precision() {
    for (upper, field) in [(false, 2), (true, 3)] {
        let modify = |w: Word| w.bits(78, 1, 1).bits(74, 2, field).bits(60, 2, field);
        let sum = |s: &[u64]| {
            let [a, b] = [s[0], s[1]].map(|x| twice(x, upper) as u16);
            out(F16::to_f32(half::add::<F16>(a, b, Mode::RN)))
        };
        Case { forms: &[1], modify: &modify, ..HADD2 }.check(sum);
        // The conversion that compilers make of it: -RZ and one operand.
        let modify = |w: Word| w.bits(78, 1, 1).a(255).bits(72, 2, 1).bits(60, 2, field);
        let converted = |s: &[u64]| out(F16::to_f32(twice(s[1], upper) as u16));
        Case { forms: &[1], modify: &modify, ..HADD2 }.check(converted);
    }
}

/// `HFMA2.MMA R4, -RZ, RZ, high, low`.
#[test]
fn constants_are_moved() {
    for bits in [0, 1, 0x0008_0000, 0x3c00_0004, 0x8000_7bff, 0x7fff_fc00] {
        let word = Word::new(0x35, 2).a(255).bits(72, 1, 1).b(bits).c(255).d(4);
        let result = run(80, &[word.0], &Registers::default(), &mut Setting::default());
        // NaN gets the canonical form.
        let wanted = if bits == 0x7fff_fc00 { 0x7fff_fc00 } else { bits };
        assert_eq!(result.general[4], all(wanted));
    }
}

#[test]
fn minimum_and_maximum() {
    let flags = |ftz, nan| MinMax { ftz, nan, xorsign_abs: false };
    for (i, flags) in [flags(false, false), flags(true, true)].into_iter().enumerate() {
        let modify = |w: Word| w.p(1, false).bits(80, 3, [0, 3][i]);
        Case { modify: &modify, ..HMNMX2 }.check_with(|s, p| {
            let pick = if p & 2 != 0 { half::min::<F16> } else { half::max::<F16> };
            Some(pairs(s, |h| pick(h[0], h[1], flags)))
        });
        let modify = |w: Word| w.p(7, true).bits(80, 3, [0, 3][i]).bits(85, 1, 1);
        Case { modify: &modify, ..HMNMX2 }.check(|s| pairs(s, |h| half::max::<Bf16>(h[0], h[1], flags)));
    }
}

#[test]
fn comparisons_to_registers() {
    for number in 0..16 {
        let modify = |w: Word| w.p(3, false).bits(76, 4, number).bits(69, 2, 1).bits(71, 1, number & 1);
        Case { code: 0x33, modify: &modify, ..HADD2 }.check_with(|s, p| {
            let holds = if number & 1 == 1 { 0x3c00 } else { 0xffff };
            let compares = |h: &[u16]| float::compares(number, wide::<F16>(h[0]), wide::<F16>(h[1]));
            Some(pairs(s, |h| if compares(h) || p & 8 != 0 { holds } else { 0 }))
        });
    }
}

#[test]
fn comparisons_to_predicates() {
    for number in 0..16 {
        for (combine, both) in [(0, false), (1, true), (2, true)] {
            let word = || {
                let word = Word::new(0x34, 1).bits(32, 8, SOURCES[1]).bits(76, 4, number);
                word.bits(69, 2, combine).bits(71, 1, u64::from(both)).bits(80, 1, 1)
            };
            check_predicates(75, word, &["f16x2", "f16x2"], |s, with| {
                let value = |x: u64| wide::<F16>(half::flush::<F16>(x as u16));
                let [low, high] = [0, 16].map(|k| float::compares(number, value(s[0] >> k), value(s[1] >> k)));
                let combined = |x: bool| match combine {
                    0 => x && with,
                    1 => x || with,
                    _ => x != with,
                };
                if both { [combined(low && high), combined(!(low && high))] } else { [combined(low), combined(high)] }
            });
        }
    }
}
