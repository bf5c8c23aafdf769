//! Arithmetic, comparisons and special functions in single and double precision.

use super::*;
use num::{Mode, Rounding, approx, float32, float64};

const FADD: Case<'_> = Case {
    sm: 75,
    code: 0x21,
    layout: Layout::TwoWord,
    types: &["f32", "f32"],
    columns: 1,
    signs: true,
    forms: &[],
    modify: &|w| w,
};
const FMUL: Case<'_> = Case { code: 0x20, layout: Layout::Two, modify: &|w| w.bits(84, 3, 4), ..FADD };
const FFMA: Case<'_> = Case { code: 0x23, layout: Layout::Three, types: &["f32"; 3], ..FADD };
const DADD: Case<'_> = Case { code: 0x29, layout: Layout::TwoLast, types: &["f64"; 2], columns: 2, ..FADD };
const DMUL: Case<'_> = Case { code: 0x28, layout: Layout::Two, ..DADD };
const DFMA: Case<'_> = Case { code: 0x2b, layout: Layout::Three, types: &["f64"; 3], ..DADD };

#[test]
fn arithmetic_to_nearest() {
    for sm in [70, 75, 80, 86, 90] {
        Case { sm, ..FADD }.check(|s| out(f(s[0]) + f(s[1])));
        Case { sm, ..FMUL }.check(|s| out(f(s[0]) * f(s[1])));
        Case { sm, ..FFMA }.check(|s| out(f(s[0]).mul_add(f(s[1]), f(s[2]))));
        Case { sm, ..DADD }.check(|s| outd(d(s[0]) + d(s[1])));
        Case { sm, ..DMUL }.check(|s| outd(d(s[0]) * d(s[1])));
        Case { sm, ..DFMA }.check(|s| outd(d(s[0]).mul_add(d(s[1]), d(s[2]))));
    }
}

/// Rounding field with each mode; `.FTZ` and `.SAT` for two of them.
type Modified = (fn(Word) -> Word, Mode);
const MODES: [Modified; 6] = [
    (|w| w.bits(78, 2, 1), Mode { round: Rounding::Down, ..Mode::RN }),
    (|w| w.bits(78, 2, 2), Mode { round: Rounding::Up, ..Mode::RN }),
    (|w| w.bits(78, 2, 3), Mode { round: Rounding::Zero, ..Mode::RN }),
    (|w| w.bits(80, 1, 1), Mode::RN_FTZ),
    (|w| w.bits(77, 1, 1), Mode { sat: true, ..Mode::RN }),
    (|w| w.bits(77, 1, 1).bits(78, 2, 3).bits(80, 1, 1), Mode { round: Rounding::Zero, ftz: true, sat: true }),
];

#[test]
fn arithmetic_with_modifiers() {
    for (modify, mode) in MODES {
        Case { modify: &modify, ..FADD }.check(|s| out(float32::add(f(s[0]), f(s[1]), mode)));
        let unscaled = |w| modify(w).bits(84, 3, 4);
        Case { modify: &unscaled, ..FMUL }.check(|s| out(float32::mul(f(s[0]), f(s[1]), mode)));
        Case { modify: &modify, ..FFMA }.check(|s| out(float32::fma(f(s[0]), f(s[1]), f(s[2]), mode)));
    }
    for (modify, mode) in MODES.into_iter().take(3) {
        Case { modify: &modify, ..DADD }.check(|s| outd(float64::add(d(s[0]), d(s[1]), mode.round)));
        Case { modify: &modify, ..DMUL }.check(|s| outd(float64::mul(d(s[0]), d(s[1]), mode.round)));
        Case { modify: &modify, ..DFMA }.check(|s| outd(float64::fma(d(s[0]), d(s[1]), d(s[2]), mode.round)));
    }
}

#[test]
fn scaled_products_are_rounded_once() {
    let scaled = |s: &[u64], scale: f64| out((f64::from(f(s[0])) * f64::from(f(s[1])) * scale) as f32);
    Case { modify: &|w| w.bits(84, 3, 1), ..FMUL }.check(|s| scaled(s, 0.125));
    Case { modify: &|w| w.bits(84, 3, 3), ..FMUL }.check(|s| scaled(s, 0.5));
    Case { modify: &|w| w.bits(84, 3, 7), ..FMUL }.check(|s| scaled(s, 8.0));
}

#[test]
fn a_factor_of_zero_wins_with_fmz() {
    let flush = |x: u64| float32::flush(f(x));
    let product = |s: &[u64]| match flush(s[0]) == 0.0 || flush(s[1]) == 0.0 {
        true => [0.0, 0.0],
        false => [f(s[0]), f(s[1])],
    };
    Case { modify: &|w| w.bits(84, 3, 4).bits(76, 1, 1), ..FMUL }.check(|s| {
        let [a, b] = product(s);
        out(float32::mul(a, b, Mode::RN_FTZ))
    });
    Case { modify: &|w| w.bits(76, 1, 1), ..FFMA }.check(|s| {
        let [a, b] = product(s);
        out(float32::fma(a, b, f(s[2]), Mode::RN_FTZ))
    });
}

#[test]
fn minimum_and_maximum_by_predicate() {
    let fmnmx = Case { code: 0x09, layout: Layout::Two, modify: &|w| w.p(7, false), ..FADD };
    let plain = float32::MinMax::default();
    fmnmx.check(|s| out(float32::min(f(s[0]), f(s[1]), plain)));
    Case { modify: &|w| w.p(7, true), ..fmnmx }.check(|s| out(float32::max(f(s[0]), f(s[1]), plain)));
    let by_predicate = |s: &[u64], minimum: bool, flags| {
        let pick = if minimum { float32::min } else { float32::max };
        Some(out(pick(f(s[0]), f(s[1]), flags)))
    };
    Case { modify: &|w| w.p(3, false), ..fmnmx }.check_with(|s, p| by_predicate(s, p & 8 != 0, plain));
    Case { modify: &|w| w.p(3, true), ..fmnmx }.check_with(|s, p| by_predicate(s, p & 8 == 0, plain));
    let flags = float32::MinMax { ftz: true, nan: true, xorsign_abs: false };
    Case { modify: &|w| w.p(3, false).bits(80, 3, 3), ..fmnmx }.check_with(|s, p| by_predicate(s, p & 8 != 0, flags));
}

#[test]
fn selection_by_predicate() {
    let fsel = Case { code: 0x08, layout: Layout::Two, modify: &|w| w.p(2, true), ..FADD };
    fsel.check_with(|s, p| Some(if p & 4 == 0 { s[0] } else { s[1] }));
    let flushed = |x: u64| u64::from(float32::flush(f(x)).to_bits());
    Case { modify: &|w| w.p(2, false).bits(80, 1, 1), ..fsel }
        .check_with(|s, p| Some(flushed(if p & 4 != 0 { s[0] } else { s[1] })));
}

/// Whether two numbers compare as the field says.
pub fn compares(number: u64, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match number {
        0 => false,
        1 => a < b,
        2 => a == b,
        3 => a <= b,
        4 => a > b,
        5 => !unordered && a != b,
        6 => a >= b,
        7 => !unordered,
        8 => unordered,
        9..=14 => unordered || compares(number - 8, a, b),
        _ => true,
    }
}

#[test]
fn all_comparisons() {
    for number in 0..16 {
        for ftz in [false, true] {
            for combine in 0..3 {
                let word = |code| {
                    let word = Word::new(code, 1).bits(32, 8, SOURCES[1]);
                    word.bits(76, 4, number).bits(80, 1, ftz.into()).bits(74, 2, combine)
                };
                let value = |x: u64| f64::from(if ftz { float32::flush(f(x)) } else { f(x) });
                let combined = |x: bool, with: bool| match combine {
                    0 => x && with,
                    1 => x || with,
                    _ => x != with,
                };
                check_predicates(
                    75,
                    || word(0x0b),
                    &["f32", "f32"],
                    |s, with| {
                        let holds = compares(number, value(s[0]), value(s[1]));
                        [combined(holds, with), combined(!holds, with)]
                    },
                );
                if !ftz && !matches!(number, 0 | 15) {
                    check_predicates(
                        75,
                        || word(0x2a),
                        &["f64", "f64"],
                        |s, with| {
                            let holds = compares(number, d(s[0]), d(s[1]));
                            [combined(holds, with), combined(!holds, with)]
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn comparisons_to_registers() {
    let fset = Case { code: 0x0a, layout: Layout::Two, modify: &|w| w.p(1, false).bits(76, 4, 1), ..FADD };
    let one = |x| Some(if x { u64::from(1f32.to_bits()) } else { 0 });
    fset.check_with(|s, p| one(f(s[0]) < f(s[1]) && p & 2 != 0));
    Case { modify: &|w| w.p(1, true).bits(76, 4, 13).bits(74, 2, 1), ..fset }
        .check_with(|s, p| one(compares(13, f(s[0]).into(), f(s[1]).into()) || p & 2 == 0));
}

/// The sequence that compiled code uses with `DSETP.MIN` and `.MAX`: select by the first predicate, set the
/// quiet bit by the second.
#[test]
fn double_minimum_and_maximum_by_predicates() {
    for (number, pick) in [(0, float64::min as fn(f64, f64) -> f64), (15, float64::max)] {
        let word = || Word::new(0x2a, 1).bits(32, 8, SOURCES[1]).bits(76, 4, number);
        let chooses = |s: &[u64]| {
            let (a, b) = (d(s[0]), d(s[1]));
            let first = !a.is_nan() && pick(a, b).to_bits() == s[0];
            [first, a.is_nan() && b.is_nan()]
        };
        check_predicates(75, word, &["f64", "f64"], |s, with| chooses(s).map(|x| x && with));
        let mut values = Values::new("minimum");
        for _ in 0..1000 {
            let s = [value(&mut values, "f64"), value(&mut values, "f64")];
            let [first, both] = chooses(&s);
            let selected = if first { s[0] } else { s[1] } | if both { 1 << 51 } else { 0 };
            assert_eq!(outd(d(selected)), outd(pick(d(s[0]), d(s[1]))));
        }
    }
}

const MUFU: Case<'_> = Case { code: 0x108, layout: Layout::One, types: &["f32"], ..FADD };

#[test]
fn special_functions() {
    Case { modify: &|w| w.bits(74, 4, 2), ..MUFU }.check(|s| out(approx::ex2(f(s[0]), true)));
    Case { modify: &|w| w.bits(74, 4, 3), ..MUFU }.check(|s| out(approx::lg2(f(s[0]), true)));
    Case { modify: &|w| w.bits(74, 4, 4), ..MUFU }.check(|s| out(approx::rcp(f(s[0]), true)));
    Case { modify: &|w| w.bits(74, 4, 5), ..MUFU }.check(|s| out(approx::rsqrt(f(s[0]), true)));
    Case { modify: &|w| w.bits(74, 4, 8), ..MUFU }.check(|s| out(approx::sqrt(f(s[0]), true)));
    Case { modify: &|w| w.bits(74, 4, 9), ..MUFU }.check(|s| out(approx::tanh(f(s[0]))));
    // Sine and cosine: of turns, to a few units of 2^-24 of the true value where that is easy to have.
    let near = |s: &[u64], got: f32, wanted: f64| {
        assert!((f64::from(got) - wanted).abs() < 1.2e-7, "{} turns: {got}, not {wanted}", f(s[0]));
    };
    let mut values = Values::new("turns");
    for _ in 0..200 {
        let bits = ((values.next("s32") as i32 >> 12) as f32 / 4096.0).to_bits();
        let s = [u64::from(bits)];
        let angle = f64::from(f(s[0])) * std::f64::consts::TAU;
        for (number, wanted) in [(0, angle.cos()), (1, angle.sin())] {
            let mut registers = Registers::default();
            registers.general[4] = all(bits);
            let word = Word::new(0x108, 1).d(5).bits(32, 8, 4).bits(74, 4, number);
            let got = run(75, &[word.0], &registers, &mut Setting::default()).general[5][7];
            near(&s, f32::from_bits(got), wanted);
        }
    }
    for (number, quarters) in [(0_u64, [1, 0, -1, 0]), (1, [0, 1, 0, -1])] {
        for quarter in -9..9_i32 {
            let mut registers = Registers::default();
            registers.general[4] = all((quarter as f32 / 4.0).to_bits());
            let word = Word::new(0x108, 1).d(5).bits(32, 8, 4).bits(74, 4, number);
            let got = run(75, &[word.0], &registers, &mut Setting::default()).general[5][0];
            let wanted = quarters[quarter.rem_euclid(4) as usize] as f32;
            assert_eq!(f32::from_bits(got), wanted, "{quarter} quarters of a turn");
        }
    }
}

#[test]
fn special_functions_of_doubles_work_on_the_upper_word() {
    let upper = |x: f64| x.to_bits() >> 32;
    Case { modify: &|w| w.bits(74, 4, 6), ..MUFU }.check(|s| upper(approx::rcp_ftz_f64(d(s[0] << 32))));
    Case { modify: &|w| w.bits(74, 4, 7), ..MUFU }.check(|s| upper(approx::rsqrt_ftz_f64(d(s[0] << 32))));
}

#[test]
fn special_functions_of_halves() {
    let of = |s: &[u64], function: fn(u16) -> u16| u64::from(function(s[0] as u16));
    let ex2 = Case { types: &["f16"], forms: &[1], modify: &|w| w.bits(73, 1, 1).bits(74, 4, 2), ..MUFU };
    ex2.check(|s| of(s, |x| approx::ex2_half::<num::half::F16>(x, false)));
    Case { modify: &|w| w.bits(73, 1, 1).bits(74, 4, 9), ..ex2 }.check(|s| of(s, approx::tanh_half::<num::half::F16>));
}

#[test]
fn a_guard_leaves_lanes_alone() {
    let mut registers = Registers::default();
    registers.general[4] = all(1f32.to_bits());
    registers.general[20] = all(77);
    registers.predicates[1] = 0x00ff_ff00;
    let word = Word::new(0x21, 1).a(4).bits(32, 8, 4).d(20).guard(1, true);
    let result = run(70, &[word.0], &registers, &mut Setting::default());
    let wanted: Column = std::array::from_fn(|lane| if (8..24).contains(&lane) { 77 } else { 2f32.to_bits() });
    assert_eq!(result.general[20], wanted);
}
