//! Floating-point, half-precision, conversion and matrix instructions of machine code against host
//! arithmetic, in all their forms.

use crate::common;
use crate::words;

mod convert;
mod division;
mod float;
mod half;
mod matrix;

use common::Values;
use words::{Column, Registers, Setting, Word, run};

/// Number and positions of an operation's sources (see the decoder's table).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    /// One source at bit 32.
    One,
    /// A, and B at 32.
    Two,
    /// A, and a second source at 32 in forms 1, 2, 3 and 7.
    TwoWord,
    /// A, and a second source that is at 64 in form 1.
    TwoLast,
    /// A, B and C.
    Three,
}

impl Layout {
    fn forms(self) -> &'static [u64] {
        match self {
            Layout::One | Layout::Two => &[1, 4, 5, 6],
            Layout::TwoWord | Layout::TwoLast => &[1, 2, 3, 7],
            Layout::Three => &[1, 2, 3, 4, 5, 6, 7],
        }
    }

    /// Bit of each source in a form.
    fn positions(self, form: u64) -> Vec<u64> {
        let third_at_32 = matches!(form, 2 | 3 | 7);
        match self {
            Layout::One => vec![32],
            Layout::Two | Layout::TwoWord => vec![24, 32],
            Layout::TwoLast => vec![24, if form == 1 { 64 } else { 32 }],
            Layout::Three if third_at_32 => vec![24, 64, 32],
            Layout::Three => vec![24, 32, 64],
        }
    }
}

/// Registers of the sources, wide enough for pairs; uniform ones have the same numbers.
const SOURCES: [u64; 3] = [4, 8, 12];
/// A register that sources do not use.
const OTHER: u64 = 20;

/// An operation and how it is tested.
#[derive(Clone, Copy)]
struct Case<'a> {
    sm: u8,
    code: u128,
    layout: Layout,
    /// Types of the sources: f32, f64, f16x2, or an integer's.
    types: &'a [&'a str],
    /// Columns of the result.
    columns: usize,
    /// Sources have a negation and an absolute value.
    signs: bool,
    /// Forms that are tested; all that the layout has, if empty.
    forms: &'a [u64],
    /// Sets the modifiers.
    modify: &'a dyn Fn(Word) -> Word,
}

impl Case<'_> {
    /// Compares the results of all forms, with random signs, on random values with `expected`, which
    /// gets the sources after their sign changes. Predicates hold random lanes.
    fn check(self, expected: impl Fn(&[u64]) -> u64) {
        self.check_with(|s, _| Some(expected(s)));
    }

    /// As [`Case::check`]; `expected` also gets the lane's predicates P0 to P6 as a bit set; lanes for
    /// which nothing is expected may hold anything.
    fn check_with(self, expected: impl Fn(&[u64], u8) -> Option<u64>) {
        let mut values = Values::new(&format!("{:x} {}", self.code, self.types.join(" ")));
        let forms = if self.forms.is_empty() { self.layout.forms() } else { self.forms };
        for &form in forms {
            if form >= 6 && self.sm < 75 {
                continue;
            }
            for round in 0..24 {
                self.round(form, round, &mut values, &expected);
            }
        }
    }

    fn round(self, form: u64, round: usize, values: &mut Values, expected: &impl Fn(&[u64], u8) -> Option<u64>) {
        let destination = [OTHER, SOURCES[0], SOURCES[1], SOURCES[2]][round % 4];
        let mut word = Word::new(self.code, form.into()).d(destination);
        let mut registers = Registers::default();
        let mut parameter = [0; 16];
        // By source: value in each lane, with signs.
        let mut lanes: Vec<[u64; 32]> = Vec::new();
        for (i, (&ty, position)) in self.types.iter().zip(self.layout.positions(form)).enumerate() {
            let at = SOURCES[i];
            let one = value(values, ty);
            let upper = ty == "f64" && position == 32 && matches!(form, 2 | 4);
            let immediate = if upper { one >> 32 } else { one };
            let in_lanes = match (position, form) {
                (32, 2 | 4) => {
                    word = word.b(immediate as u32);
                    [if upper { immediate << 32 } else { immediate & 0xffff_ffff }; 32]
                }
                (32, 3 | 5) => {
                    let offset = parameter_base(self.sm) + 8 * i as u64;
                    (parameter[2 * i], parameter[2 * i + 1]) = (one as u32, (one >> 32) as u32);
                    word = word.bank(0, offset);
                    [one; 32]
                }
                (32, 6 | 7) => {
                    registers.uniform[at as usize] = one as u32;
                    registers.uniform[at as usize + 1] = (one >> 32) as u32;
                    word = word.bits(32, 6, at).bits(91, 1, 1);
                    [one; 32]
                }
                (position, _) => {
                    word = word.bits(position as u32, 8, at);
                    let all: [u64; 32] = std::array::from_fn(|_| value(values, ty));
                    registers.general[at as usize] = all.map(|x| x as u32);
                    registers.general[at as usize + 1] = all.map(|x| (x >> 32) as u32);
                    all
                }
            };
            let in_lanes = if ty == "f64" || ty.ends_with("64") { in_lanes } else { in_lanes.map(|x| x & 0xffff_ffff) };
            let fixed = position == 32 && matches!(form, 2 | 4);
            let choice = value(values, "u32");
            let (negate, absolute) = (choice & 1 == 1, choice & 6 == 0);
            let signed = self.signs && !fixed;
            if signed {
                let bits = match position {
                    24 => [72, 73],
                    32 => [63, 62],
                    _ if ty == "f16x2" => [84, 83],
                    _ => [75, 74],
                };
                word = word.bits(bits[0], 1, negate.into()).bits(bits[1], 1, absolute.into());
            }
            lanes.push(if signed { in_lanes.map(|x| sign(ty, x, negate, absolute)) } else { in_lanes });
        }
        registers.predicates = std::array::from_fn(|_| value(values, "u32") as u32);
        let word = (self.modify)(word);
        let mut setting = Setting::default().with_words(&parameter);
        let result = run(self.sm, &[word.0], &registers, &mut setting);
        for lane in 0..32 {
            let sources: Vec<u64> = lanes.iter().map(|values| values[lane]).collect();
            let predicates = (0..7).map(|p| ((registers.predicates[p] >> lane & 1) as u8) << p).sum();
            let Some(wanted) = expected(&sources, predicates) else { continue };
            let low = result.general[destination as usize][lane];
            let high = if self.columns == 2 { result.general[destination as usize + 1][lane] } else { 0 };
            let got = u64::from(low) | u64::from(high) << 32;
            let text = sass::decode::decode(word.0, 0, self.sm).unwrap();
            assert_eq!(got, wanted, "{text} of {sources:x?}: {got:#x}, not {wanted:#x}, predicates {predicates:#b}");
        }
    }
}

fn parameter_base(sm: u8) -> u64 {
    if sm < 90 { 0x160 } else { 0x210 }
}

/// A number of a type: random, small or an edge.
fn value(values: &mut Values, ty: &str) -> u64 {
    match ty {
        "f16" | "f16x2" => {
            let bits = values.next("f32");
            half_value(bits, values.next("u32")) | half_value(bits >> 16, values.next("u32")) << 16
        }
        // The mixture has few numbers of similar size otherwise.
        "f32" if values.next("u64") & 3 == 0 => u64::from(((values.next("s32") as i32 >> 8) as f32 / 1024.0).to_bits()),
        "f64" if values.next("u64") & 3 == 0 => ((values.next("s64") as i64 >> 8) as f64 / 1e12).to_bits(),
        _ => values.next(ty),
    }
}

fn half_value(bits: u64, choice: u64) -> u64 {
    const EDGES: [u64; 14] =
        [0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0xffff];
    match choice >> 3 & 3 {
        0 => EDGES[bits as usize % EDGES.len()],
        1 => bits & 0x83ff | 0x3c00,
        _ => bits & 0xffff,
    }
}

fn sign(ty: &str, x: u64, negate: bool, absolute: bool) -> u64 {
    let bits = match ty {
        "f64" => 1 << 63,
        "f16" => 0x8000,
        "f16x2" => 0x8000_8000,
        _ => 0x8000_0000,
    };
    let x = if absolute { x & !bits } else { x };
    if negate { x ^ bits } else { x }
}

/// Runs a comparison whose results are P1 and P2 and compares them with `expected` of the sources and
/// of P0, the predicate that the result is combined with (`word` says how).
fn check_predicates(sm: u8, words: impl Fn() -> Word, types: &[&str], expected: impl Fn(&[u64], bool) -> [bool; 2]) {
    let word = words().a(SOURCES[0]).pq(1, 2).p(0, false);
    let mut values = Values::new(&format!("{:x}", word.0));
    for round in 0..8 {
        let mut registers = Registers::default();
        let mut sources: Vec<[u64; 32]> =
            types.iter().map(|ty| std::array::from_fn(|_| value(&mut values, ty))).collect();
        // Equal operands are rare otherwise.
        if round % 2 == 1 {
            (0..32).step_by(3).for_each(|lane| sources[1][lane] = sources[0][lane]);
        }
        for (at, column) in SOURCES.into_iter().zip(&sources) {
            registers.general[at as usize] = column.map(|x| x as u32);
            registers.general[at as usize + 1] = column.map(|x| (x >> 32) as u32);
        }
        registers.predicates = std::array::from_fn(|_| value(&mut values, "u32") as u32);
        // The result may replace the predicate that it is combined with.
        let [p, q, r] = [[1, 2, 0], [0, 2, 0], [1, 0, 0], [3, 4, 0]][round % 4];
        let word = word.pq(p, q).p(r, false);
        let result = run(sm, &[word.0], &registers, &mut Setting::default());
        let text = sass::decode::decode(word.0, 0, sm).unwrap();
        for lane in 0..32 {
            let s: Vec<u64> = sources.iter().map(|column| column[lane]).collect();
            let with = registers.predicates[r as usize] >> lane & 1 == 1;
            let got = [p, q].map(|p| result.predicates[p as usize] >> lane & 1 == 1);
            assert_eq!(got, expected(&s, with), "{text} of {s:x?} with {with}");
        }
    }
}

/// Single precision from bits, and bits with the NaN that the GPU gives.
fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn out(x: f32) -> u64 {
    u64::from(if x.is_nan() { 0x7fff_ffff } else { x.to_bits() })
}

/// Double precision, in the same way.
fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

fn outd(x: f64) -> u64 {
    if x.is_nan() { num::float64::NAN.to_bits() } else { x.to_bits() }
}

/// A column of the same value.
fn all(x: u32) -> Column {
    [x; 32]
}

/// Arbitrary words load and run, or are refused.
#[test]
fn no_word_panics() {
    const CODES: [u128; 38] = [
        0x08, 0x09, 0x0a, 0x0b, 0x20, 0x21, 0x23, 0x28, 0x29, 0x2a, 0x2b, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36,
        0x37, 0x38, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f, 0x40, 0x45, 0x102, 0x104, 0x105, 0x106, 0x107, 0x108, 0x110,
        0x111, 0x112, 0x113,
    ];
    let mut values = Values::new("words");
    let mut ran = 0;
    for round in 0..12_000 {
        let random = u128::from(values.next("u64")) << 64 | u128::from(values.next("u64"));
        let code = CODES[round % CODES.len()];
        let form = u64::from(random as u32 >> 20) % 7 + 1;
        // Registers that the kernel has, mostly.
        let word = Word(random & !0xfff | code | u128::from(form) << 9);
        let word = word.d(random as u64 % 48).a(random as u64 >> 8 & 31).bits(37, 3, 0);
        let word = if random >> 90 & 3 == 0 { word } else { word.bits(69, 3, 0).bits(91, 1, 0) };
        for sm in [70, 75, 80, 86, 90] {
            if lower::load_words("words", sm, &[word.0, words::EXIT], words::GENERAL as u32).is_ok() {
                let mut setting = Setting { shared: 4096, ..Setting::default() };
                // A fault is an outcome too.
                let _ = words::try_run(sm, &[word.0], &Registers::default(), &mut setting);
                ran += 1;
            }
        }
    }
    assert!(ran > 2000, "only {ran} words ran");
}
