//! How tensor cores round: published cases, and a second model of integers, which is written from the description alone.

use exec::matrix::{Element, Fragment, MatrixOperand, Mma, Multiply, Shape};

/// Architectures whose tensor cores add in different ways.
const ARCHITECTURES: [u32; 5] = [70, 75, 80, 89, 90];

/// A floating-point format: bits of exponent and of fraction, and whether its greatest exponent means infinity or NaN.
/// In e4m3 all ones is NaN, and infinities do not exist.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub exponent: u32,
    fraction: u32,
    has_infinities: bool,
}

pub(crate) const fn format(element: Element) -> Format {
    let (exponent, fraction) = match element {
        Element::F16 => (5, 10),
        Element::Bf16 => (8, 7),
        Element::E4m3 => (4, 3),
        Element::E5m2 => (5, 2),
        // The lower 13 bits of a tf32 operand do not count.
        _ => (8, 23),
    };
    Format { exponent, fraction, has_infinities: !matches!(element, Element::E4m3) }
}

/// A number: a multiple of a power of two, and the exponent by which it is aligned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Finite { units: i128, unit: i32, exponent: i32 },
    Infinite { negative: bool },
    Nan,
}

pub(crate) fn number(element: Element, bits: u32) -> Number {
    let bits = if element == Element::Tf32 { bits & !0x1fff } else { bits };
    let Format { exponent: width, fraction, has_infinities } = format(element);
    let bias = (1 << (width - 1)) - 1;
    let negative = bits >> (width + fraction) & 1 == 1;
    let (field, low) = (bits >> fraction & ((1 << width) - 1), bits & ((1 << fraction) - 1));
    if field == (1 << width) - 1 && (has_infinities || low == (1 << fraction) - 1) {
        return if has_infinities && low == 0 { Number::Infinite { negative } } else { Number::Nan };
    }
    let (units, exponent) = match field {
        0 => (low, 1 - bias),
        _ => (low | 1 << fraction, field as i32 - bias),
    };
    let units = if negative { -i128::from(units) } else { i128::from(units) };
    Number::Finite { units, unit: exponent - fraction as i32, exponent: if units == 0 { -126 } else { exponent } }
}

pub(crate) fn product(a: Number, b: Number) -> Number {
    use Number::{Finite, Infinite, Nan};
    let negative = |x: Number| match x {
        Finite { units, .. } => units < 0,
        Infinite { negative } => negative,
        Nan => false,
    };
    match (a, b) {
        (Finite { units: x, unit: u, exponent: e }, Finite { units: y, unit: v, exponent: f }) => {
            Finite { units: x * y, unit: u + v, exponent: e + f }
        }
        (Nan, _) | (_, Nan) | (Finite { units: 0, .. }, _) | (_, Finite { units: 0, .. }) => Nan,
        _ => Infinite { negative: negative(a) != negative(b) },
    }
}

/// The sum of `numbers`, each cut off `fraction_bits` below the greatest exponent, as bits of `d`; a result of single
/// precision has `result_bits` of fraction.
pub(crate) fn sum(numbers: &[Number], fraction_bits: i32, d: Element, result_bits: u32) -> u32 {
    let (mut greatest, mut plus, mut minus) = (i32::MIN, false, false);
    for &number in numbers {
        match number {
            Number::Finite { exponent, .. } => greatest = greatest.max(exponent),
            Number::Infinite { negative: false } => plus = true,
            Number::Infinite { negative: true } => minus = true,
            Number::Nan => (plus, minus) = (true, true),
        }
    }
    let infinity = if d == Element::F16 { 0x7c00 } else { 0x7f80_0000 };
    let sign = if d == Element::F16 { 0x8000 } else { 0x8000_0000 };
    match (plus, minus) {
        (true, true) => return if d == Element::F16 { 0x7fff } else { 0x7fff_ffff },
        (true, false) => return infinity,
        (false, true) => return infinity | sign,
        (false, false) => {}
    }
    let aligned = |number: &Number| {
        let &Number::Finite { units, unit, .. } = number else { unreachable!("looked at above") };
        let up = unit + fraction_bits - greatest;
        // Division of integers cuts off towards zero.
        if up >= 0 { units << up } else { units.checked_div(1 << (-up).min(126)).unwrap() }
    };
    let total: i128 = numbers.iter().map(aligned).sum();
    let (magnitude, unit) = (total.unsigned_abs(), greatest - fraction_bits);
    if magnitude == 0 {
        return 0;
    }
    let (least, bits) = if d == Element::F16 { (-14, 10) } else { (-126, result_bits as i32) };
    let exponent = (magnitude.ilog2() as i32 + unit).max(least);
    let up = unit - (exponent - bits);
    let kept = if up >= 0 {
        magnitude << up
    } else if d == Element::F16 {
        let half = 1u128 << (-up - 1).min(126);
        let (whole, rest) = (magnitude / (2 * half), magnitude % (2 * half));
        whole + u128::from(rest > half || rest == half && whole % 2 == 1)
    } else {
        magnitude / (1 << (-up).min(126))
    };
    // A carry out of the fraction is one more in the exponent.
    let (fraction, width, bias) = if d == Element::F16 { (10, 5, 15) } else { (23, 8, 127) };
    let kept = kept << (fraction - bits);
    let of_exponent = u128::try_from(exponent + bias - 1).unwrap() << fraction;
    let out = kept + of_exponent;
    let out = if out >> (fraction + width) > 0 || out >= u128::from(infinity) { u128::from(infinity) } else { out };
    out as u32 | if total < 0 { sign } else { 0 }
}

/// Rule of a sum: products at once, bits of fraction, bits of a result of single precision.
fn rule(sm: u32, factor: Element) -> (usize, i32, u32) {
    let bytes = matches!(factor, Element::E4m3 | Element::E5m2);
    match sm {
        70 => (4, 23, 23),
        75 => (8, 24, 23),
        80 | 89 if bytes => (16, 13, 13),
        80 | 89 => (if factor == Element::Tf32 { 4 } else { 8 }, 24, 23),
        _ => (16, 25, 23),
    }
}

/// One element of D, by the second model.
fn reference(sm: u32, types: Multiply, a: &[u32], b: &[u32], c: u32) -> u32 {
    let (together, fraction_bits, result_bits) = rule(sm, types.a);
    let mut at = number(types.c, c);
    let mut bits = 0;
    for (a, b) in a.chunks(together).zip(b.chunks(together)) {
        let products = a.iter().zip(b).map(|(&x, &y)| product(number(types.a, x), number(types.b, y)));
        let all: Vec<Number> = products.chain([at]).collect();
        bits = sum(&all, fraction_bits, types.d, result_bits);
        at = number(types.d, bits);
    }
    bits
}

/// An operand of `mma` whose element (row, column) has bits `at(row, column)`.
fn columns(operand: MatrixOperand, element: Element, shape: Shape, at: impl Fn(usize, usize) -> u32) -> Vec<[u32; 32]> {
    let fragment = Fragment::mma(operand, element, shape).unwrap();
    let mut columns = vec![[0; 32]; fragment.registers()];
    for lane in 0..32 {
        for i in 0..fragment.elements() {
            let place = fragment.position(lane, i);
            let bit = i * element.bits();
            columns[(bit / 32) as usize][lane as usize] |= at(place.row.into(), place.col.into()) << (bit % 32);
        }
    }
    columns
}

/// Element (0, 0) of D, where row 0 of A is `a`, column 0 of B is `b` and all of C is `c`; the others are 0.
fn corner(sm: u32, types: Multiply, a: &[u32], b: &[u32], c: u32) -> u32 {
    let shape = Shape { m: 16, n: 8, k: a.len() as u16 };
    let plan = Mma::mma(shape, types, sm).unwrap();
    let of_a = columns(MatrixOperand::A, types.a, shape, |row, k| if row == 0 { a[k] } else { 0 });
    let of_b = columns(MatrixOperand::B, types.b, shape, |k, col| if col == 0 { b[k] } else { 0 });
    let of_c = columns(MatrixOperand::C, types.c, shape, |_, _| c);
    let mut d = vec![[0; 32]; plan.registers()[3]];
    plan.execute(&of_a, &of_b, &of_c, &mut d);
    if types.d == Element::F16 { d[0][0] & 0xffff } else { d[0][0] }
}

/// Half precision, 2 to the power of `exponent`.
fn half(exponent: i32) -> u32 {
    ((exponent + 15) as u32) << 10
}

const F32: Multiply = Multiply::plain(Element::F16, Element::F32);
const ONE: u32 = 0x3f80_0000;

#[test]
fn published_cases() {
    // Of k products, `terms` are a * b and the others 0.
    let with = |sm, k: usize, terms: &[(usize, u32, u32)], c| {
        let (mut a, mut b) = (vec![0; k], vec![0; k]);
        terms.iter().for_each(|&(at, x, y)| (a[at], b[at]) = (x, y));
        corner(sm, F32, &a, &b, c)
    };
    for sm in ARCHITECTURES {
        // 1 + 3 * 2^-24 is cut off, not rounded to the nearest.
        let three = half(-14) | 0x200;
        assert_eq!(with(sm, 8, &[(0, three, half(-9))], ONE), ONE + 1, "sm_{sm}: 3 * 2^-24");
        // Two of 2^-24: below the bits of Volta.
        let tiny = [0, 1].map(|at| (at, half(-12), half(-12)));
        assert_eq!(with(sm, 8, &tiny, ONE), ONE + u32::from(sm > 70), "sm_{sm}: 2 of 2^-24");
        // Four of 2^-25: below the bits of all but Hopper.
        let tiny = [0, 1, 2, 3].map(|at| (at, half(-12), half(-13)));
        assert_eq!(with(sm, 8, &tiny, ONE), ONE + u32::from(sm == 90), "sm_{sm}: 4 of 2^-25");
    }
    // 2^24 + 1 - 2^24 over the two halves of k = 16: one step on Hopper, two before.
    let far = [(0, half(12), half(12)), (1, half(0), half(0)), (8, half(12) | 0x8000, half(12))];
    assert_eq!([80, 89, 90].map(|sm| with(sm, 16, &far, 0)), [0, 0, ONE]);
    let large = [(0, half(13), half(13)), (1, half(0), half(0)), (8, half(13) | 0x8000, half(13))];
    assert_eq!([80, 89, 90].map(|sm| with(sm, 16, &large, 0)), [0, 0, 0]);

    // 1 + 2^-11 + 2^-24 in half precision is rounded once, from the exact sum.
    let types = Multiply::plain(Element::F16, Element::F16);
    let (a, b) = ([half(-11), half(-12), 0, 0, 0, 0, 0, 0], [half(0), half(-12), 0, 0, 0, 0, 0, 0]);
    for sm in [75, 80, 90] {
        assert_eq!(corner(sm, types, &a, &b, half(0)), half(0) + 1, "sm_{sm}");
    }
}

/// NaN has all bits, whether it comes from a factor, from the sum before, from infinity times 0 or from infinities of
/// both signs.
#[test]
fn nan_and_infinities() {
    let halves = Multiply::plain(Element::F16, Element::F16);
    let (inf, minus, nan) = (0x7c00, 0xfc00, 0xfe01);
    for sm in ARCHITECTURES {
        for (types, one, big, unknown) in [(F32, ONE, 0x7f80_0000, 0x7fff_ffff), (halves, half(0), inf, 0x7fff)] {
            let of_sign = if types.d == Element::F16 { 0x8000 } else { 0x8000_0000 };
            let with = |terms: &[(usize, u32, u32)], c| {
                let (mut a, mut b) = ([half(0); 8], [half(0); 8]);
                terms.iter().for_each(|&(at, x, y)| (a[at], b[at]) = (x, y));
                corner(sm, types, &a, &b, c)
            };
            let cases = [
                (with(&[(5, nan, half(0))], one), unknown),
                (with(&[(0, half(0), nan)], one), unknown),
                (with(&[], big | 1), unknown),
                (with(&[(3, inf, 0)], one), unknown),
                (with(&[(0, inf, half(0)), (1, minus, half(0))], one), unknown),
                // The other sign comes in a later step of Volta.
                (with(&[(0, inf, half(0)), (7, minus, half(0))], one), unknown),
                (with(&[(2, inf, half(0))], big | of_sign), unknown),
                (with(&[(2, inf, half(3)), (6, minus, half(3) | 0x8000)], big), big),
                (with(&[(2, minus, half(3))], one), big | of_sign),
                (with(&[], big | of_sign), big | of_sign),
            ];
            for (number, (found, expected)) in cases.into_iter().enumerate() {
                assert_eq!(found, expected, "sm_{sm}, {types:?}, case {number}: {found:#x}");
            }
        }
    }
}

/// The products of a step have no order; those of different steps have.
#[test]
fn a_permutation_inside_a_step_leaves_the_result() {
    let mut random = Random(11);
    let plain = Multiply::plain;
    let all = [(Element::F16, 16), (Element::Bf16, 16), (Element::Tf32, 8), (Element::E4m3, 32), (Element::E5m2, 32)];
    let mut changed = 0;
    for sm in ARCHITECTURES {
        for (element, k) in all {
            let types = plain(element, Element::F32);
            let together = rule(sm, element).0.min(k);
            if Mma::mma(Shape { m: 16, n: 8, k: k as u16 }, types, sm).is_none()
                || sm < 80 && element != Element::F16
                || sm < 89 && element.bits() == 8
            {
                continue;
            }
            for case in 0..40 {
                let around = random.below(1 << format(element).exponent);
                let mut a: Vec<u32> = (0..k).map(|_| random.number(element, around)).collect();
                let mut b: Vec<u32> = (0..k).map(|_| random.number(element, around)).collect();
                let c = random.number(Element::F32, 127);
                let before = corner(sm, types, &a, &b, c);
                for step in 0..k / together {
                    for i in (1..together).rev() {
                        let j = random.below(i as u32 + 1) as usize;
                        a.swap(step * together + i, step * together + j);
                        b.swap(step * together + i, step * together + j);
                    }
                }
                assert_eq!(corner(sm, types, &a, &b, c), before, "sm_{sm}, {types:?}, case {case}");
                // The steps in another order.
                a.rotate_left(together % k);
                b.rotate_left(together % k);
                changed += usize::from(corner(sm, types, &a, &b, c) != before);
            }
        }
    }
    assert!(changed > 20, "the order of steps made a difference in {changed} cases");
}

/// Double precision is a fused multiply-add for each k, in order: another order or an exact sum gives 2.
#[test]
fn double_precision_is_added_in_the_order_of_k() {
    let types = Multiply::plain(Element::F64, Element::F64);
    let large = 2f64.powi(53);
    for (sm, shapes) in [(80, &[(8, 8, 4)][..]), (90, &[(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)])] {
        for &(m, n, k) in shapes {
            let shape = Shape { m, n, k };
            let plan = Mma::mma(shape, types, sm).unwrap();
            // The columns of a factor whose element k has the value `at(k)`; of C, zeros.
            let doubles = |operand: MatrixOperand, at: &dyn Fn(usize) -> f64| {
                let fragment = Fragment::mma(operand, Element::F64, shape).unwrap();
                let mut columns = vec![[0; 32]; fragment.registers()];
                for lane in 0..32 {
                    for i in 0..fragment.elements() {
                        let place = fragment.position(lane, i);
                        let k = if operand == MatrixOperand::A { place.col } else { place.row };
                        let bits = at(k.into()).to_bits();
                        let i = 2 * i as usize;
                        (columns[i][lane as usize], columns[i + 1][lane as usize]) = (bits as u32, (bits >> 32) as u32);
                    }
                }
                columns
            };
            let run = |a: &[f64], b: &[f64], c: f64| {
                let of = |list: &[f64], k: usize| list.get(k).copied().unwrap_or(0.0);
                let (of_a, of_b) = (doubles(MatrixOperand::A, &|k| of(a, k)), doubles(MatrixOperand::B, &|k| of(b, k)));
                let of_c = doubles(MatrixOperand::C, &|_| c);
                let mut d = vec![[0; 32]; plan.registers()[3]];
                plan.execute(&of_a, &of_b, &of_c, &mut d);
                f64::from_bits(u64::from(d[0][0]) | u64::from(d[1][0]) << 32)
            };
            let ones = [1.0; 4];
            assert_eq!(run(&[large, 1.0, 1.0, -large], &ones, 0.0), 0.0, "sm_{sm}, {shape:?}");
            assert_eq!(run(&[1.0, 1.0, large, -large], &ones, 0.0), 2.0, "sm_{sm}, {shape:?}");
            assert_eq!(run(&[1.0, 1.0, -large, 0.0], &ones, large), 0.0, "c comes first: sm_{sm}, {shape:?}");
            // The product is not rounded.
            let tiny = 2f64.powi(-30);
            assert_eq!(run(&[1.0 + tiny], &[1.0 - tiny], -1.0), -tiny * tiny, "sm_{sm}, {shape:?}");
        }
    }
}

pub(crate) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }

    /// A number whose exponent field is near `around`; some are 0, subnormal, infinite or NaN.
    pub fn number(&mut self, element: Element, around: u32) -> u32 {
        let Format { exponent: width, fraction, .. } = format(element);
        let greatest = (1 << width) - 1;
        let field = match self.below(64) {
            0 => greatest,
            1..12 => 0,
            _ => (around + self.below(7)).saturating_sub(3).min(greatest - 1),
        };
        // Few bits and many bits.
        let low = self.below(1 << fraction) & (u32::MAX << [0, fraction / 2, fraction][self.below(3) as usize]);
        self.below(2) << (width + fraction) | field << fraction | low
    }
}

#[test]
fn sums_are_those_of_the_second_model() {
    use Element::{Bf16, E4m3, E5m2, F16, F32 as Single, Tf32};
    let plain = Multiply::plain;
    let eight_bits = |a, b, sum| Multiply { b, ..plain(a, sum) };
    let cases: [(u32, &[u16], &[Multiply]); 6] = [
        (70, &[8, 16], &[plain(F16, Single), plain(F16, F16)]),
        (75, &[8, 16], &[plain(F16, Single), plain(F16, F16)]),
        (80, &[8, 16], &[plain(F16, Single), plain(F16, F16), plain(Bf16, Single)]),
        (89, &[8, 16], &[plain(F16, Single), plain(F16, F16), plain(Bf16, Single)]),
        (89, &[16, 32], &[eight_bits(E4m3, E5m2, Single), eight_bits(E5m2, E4m3, F16), plain(E4m3, Single)]),
        (90, &[8, 16], &[plain(F16, Single), plain(F16, F16), plain(Bf16, Single)]),
    ];
    let tf32_types = [plain(Tf32, Single)];
    let tf32 = [80, 89, 90].map(|sm| (sm, &[4, 8][..], &tf32_types[..]));
    let hopper = [(90, &[16, 32][..], &[eight_bits(E4m3, E5m2, Single), eight_bits(E5m2, E5m2, F16)][..])];
    let mut random = Random(1);
    for (sm, lengths, all) in cases.into_iter().chain(tf32).chain(hopper) {
        for (&k, &types) in lengths.iter().flat_map(|k| all.iter().map(move |types| (k, types))) {
            for case in 0..60 {
                let shape = Shape { m: 16, n: 8, k };
                let plan = Mma::mma(shape, types, sm).unwrap();
                let mut matrix = |element, count: u16| -> Vec<u32> {
                    let around = random.below(1 << format(element).exponent);
                    (0..count).map(|_| random.number(element, around)).collect()
                };
                let (a, b, c) = (matrix(types.a, 16 * k), matrix(types.b, 8 * k), matrix(types.c, 16 * 8));
                let length = usize::from(k);
                let of_a = columns(MatrixOperand::A, types.a, shape, |row, k| a[row * length + k]);
                let of_b = columns(MatrixOperand::B, types.b, shape, |k, col| b[col * length + k]);
                let of_c = columns(MatrixOperand::C, types.c, shape, |row, col| c[row * 8 + col]);
                let mut d = vec![[0; 32]; plan.registers()[3]];
                plan.execute(&of_a, &of_b, &of_c, &mut d);
                let expected = columns(MatrixOperand::C, types.d, shape, |row, col| {
                    let (a, b) = (&a[row * length..][..length], &b[col * length..][..length]);
                    reference(sm, types, a, b, c[row * 8 + col])
                });
                assert_eq!(d, expected, "sm_{sm}, k = {k}, {types:?}, case {case}");
            }
        }
    }
}
