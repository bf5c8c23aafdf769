//! Matrix multiplication, against the plans of PTX's instructions (which have their own tests against
//! plain products), and moving fragments.

use super::*;
use exec::matrix::{BitOp, Element, Mma, Multiply, Order, Shape, ldmatrix, movmatrix_trans};
use lower::load_words;
use num::half::{F16, Half};

/// Random columns, as many as asked for. Small integers in halves keep sums exact.
fn columns(values: &mut Values, element: Element, count: usize) -> Vec<Column> {
    let mut one = || {
        let small = |bits: u64| ((bits % 17) as f32) - 8.0;
        match element {
            Element::F16 => {
                let half = |bits| u32::from(F16::from_f32_rn(small(bits)));
                half(values.next("u64") >> 3) | half(values.next("u64") >> 3) << 16
            }
            Element::Bf16 => small(values.next("u64") >> 3).to_bits() | small(values.next("u64") >> 3).to_bits() >> 16,
            Element::F32 | Element::Tf32 => small(values.next("u64") >> 3).to_bits(),
            _ => values.next("u32") as u32,
        }
    };
    (0..count).map(|_| std::array::from_fn(|_| one())).collect()
}

/// Runs `word` with A in R16 on, B in R24 on, C in R32 on; D goes to R40 on.
fn check(sm: u8, word: Word, plan: &Mma, element: Element) {
    let [ra, rb, rc, rd] = plan.registers();
    let mut values = Values::new(&format!("{:x}", word.0));
    let word = word.d(40).a(16).bits(32, 8, 24).c(32);
    let (a, b) = (columns(&mut values, element, ra), columns(&mut values, element, rb));
    let accumulator = match (element, rc == 2 && rd == 2) {
        (Element::F16, true) => Element::F16,
        (Element::F16 | Element::Bf16 | Element::Tf32, _) => Element::F32,
        _ => Element::S32,
    };
    let c = columns(&mut values, accumulator, rc);
    let mut registers = Registers::default();
    for (first, columns) in [(16, &a), (24, &b), (32, &c)] {
        registers.general[first..first + columns.len()].copy_from_slice(columns);
    }
    let result = run(sm, &[word.0], &registers, &mut Setting::default());
    let mut d = vec![[0; 32]; rd];
    plan.execute(&a, &b, &c, &mut d);
    let text = sass::decode::decode(word.0, 0, sm).unwrap();
    assert_eq!(result.general[40..40 + rd], d, "{text}");
    assert_eq!(result.general[40 + rd], [0; 32], "{text} writes too much");
    // In place, and without an accumulator.
    let result = run(sm, &[word.d(32).0], &registers, &mut Setting::default());
    assert_eq!(result.general[32..32 + rd], d, "{text} in place");
    plan.execute(&a, &b, &vec![[0; 32]; rc], &mut d);
    let result = run(sm, &[word.c(255).0], &registers, &mut Setting::default());
    assert_eq!(result.general[40..40 + rd], d, "{text} without an accumulator");
}

fn mma(m: u16, n: u16, k: u16, types: Multiply) -> Mma {
    Mma::mma(Shape { m, n, k }, types, 80).unwrap()
}

#[test]
fn halves() {
    let word = |shape: u64, single: u64, input: u64| {
        let word = Word::new(0x3c, 1).bits(75, 1, shape & 1).bits(78, 1, shape >> 1).bits(76, 1, single);
        word.bits(82, 2, input)
    };
    for sm in [75, 80, 90] {
        for (single, accumulator) in [(0, Element::F16), (1, Element::F32)] {
            let types = Multiply::plain(Element::F16, accumulator);
            check(sm, word(0, single, 0), &mma(16, 8, 8, types), Element::F16);
            check(sm, word(1, single, 0), &mma(16, 8, 16, types), Element::F16);
        }
    }
    for sm in [80, 86] {
        let types = Multiply::plain(Element::Bf16, Element::F32);
        check(sm, word(0, 1, 1), &mma(16, 8, 8, types), Element::Bf16);
        check(sm, word(1, 1, 1), &mma(16, 8, 16, types), Element::Bf16);
        let types = Multiply::plain(Element::Tf32, Element::F32);
        check(sm, word(2, 1, 2), &mma(16, 8, 4, types), Element::Tf32);
        check(sm, word(0, 1, 2), &mma(16, 8, 8, types), Element::Tf32);
    }
}

#[test]
fn integers() {
    const TYPES: [Element; 4] = [Element::U8, Element::S8, Element::U4, Element::S4];
    let shapes = [
        (0, 8, 16, false),
        (4, 16, 16, false),
        (5, 16, 32, false),
        (2, 8, 32, true),
        (5, 16, 32, true),
        (6, 16, 64, true),
    ];
    for (shape, m, k, nibbles) in shapes {
        for a in 0..2_u64 {
            for b in 0..2_u64 {
                for saturate in [false, true] {
                    let (a, b) = if nibbles { (a + 2, b + 2) } else { (a, b) };
                    // B is in the order of columns.
                    let word = Word::new(0x37, 1).bits(75, 1, shape & 1).bits(85, 2, shape >> 1).bits(74, 1, 1);
                    let word = word.bits(76, 1, a & 1).bits(83, 1, a >> 1).bits(78, 1, b & 1).bits(84, 1, b >> 1);
                    let types = Multiply {
                        b: TYPES[b as usize],
                        satfinite: saturate,
                        ..Multiply::plain(TYPES[a as usize], Element::S32)
                    };
                    check(80, word.bits(82, 1, saturate.into()), &mma(m, 8, k, types), TYPES[a as usize]);
                }
            }
        }
    }
}

#[test]
fn bits_and_doubles() {
    for (operation, bit_op) in [(0, BitOp::Xor), (2, BitOp::And)] {
        for (shape, m, k) in [(0, 8, 128), (2, 16, 256)] {
            let word = Word::new(0x3d, 1).bits(75, 2, shape).bits(77, 3, operation).bits(80, 1, 1).bits(74, 1, 1);
            let types = Multiply { bit_op, ..Multiply::plain(Element::B1, Element::S32) };
            check(80, word, &mma(m, 8, k, types), Element::B1);
        }
    }
    let types = Multiply::plain(Element::F64, Element::F64);
    for (round, mode) in [(0, num::Rounding::NearestEven), (3, num::Rounding::Zero)] {
        let types = Multiply { round: mode, ..types };
        check(80, Word::new(0x3f, 1).bits(78, 2, round), &mma(8, 8, 4, types), Element::F64);
    }
}

/// The steps of sm_70 together are PTX's m8n8k4.
#[test]
fn steps_of_volta() {
    for (single, accumulator, steps) in [(1, Element::F32, 4_u64), (0, Element::F16, 2)] {
        for orders in 0..4_u64 {
            let order = |bit: u64| if orders >> bit & 1 == 1 { Order::Col } else { Order::Row };
            let types = Multiply { a_order: order(0), b_order: order(1), ..Multiply::plain(Element::F16, accumulator) };
            let plan = mma(8, 8, 4, types);
            let mut values = Values::new("steps");
            let (a, b) = (columns(&mut values, Element::F16, 2), columns(&mut values, Element::F16, 2));
            let count = 2 * steps as usize;
            let c = columns(&mut values, accumulator, count);
            let mut registers = Registers::default();
            registers.general[16..18].copy_from_slice(&a);
            registers.general[24..26].copy_from_slice(&b);
            registers.general[32..32 + count].copy_from_slice(&c);
            let word = |step: u64| {
                let word = Word::new(0x36, 1).a(16).bits(32, 8, 24).c(32 + 2 * step).d(40 + 2 * step);
                let word = word.bits(73, 1, orders & 1).bits(74, 1, orders >> 1).bits(79, 2, step);
                word.bits(76, 1, single).bits(78, 1, single).0
            };
            let words: Vec<u128> = (0..steps).map(word).collect();
            let result = run(70, &words, &registers, &mut Setting::default());
            let mut d = vec![[0; 32]; count];
            plan.execute(&a, &b, &c, &mut d);
            assert_eq!(result.general[40..40 + count], d, "{accumulator:?}, orders {orders}");
        }
    }
}

#[test]
fn what_is_not_executable_says_so() {
    let refused = |sm: u8, word: Word| load_words("refused", sm, &[word.0, words::EXIT], 64).unwrap_err().join("\n");
    // Saturation of halves, accumulators of two types, an inverted factor, factors in the wrong order.
    assert!(refused(75, Word::new(0x3c, 1).bits(77, 1, 1)).contains("saturation"));
    assert!(refused(70, Word::new(0x36, 1).bits(76, 1, 1)).contains("one type"));
    assert!(refused(80, Word::new(0x3c, 1).bits(72, 1, 1)).contains("signs"));
    assert!(refused(80, Word::new(0x37, 1)).contains("orders"));
    assert!(refused(70, Word::new(0x36, 1).bits(79, 2, 3)).contains("no such step"));
}

/// `STS.128 [R4], R8` for each lane's row, then `LDSM`.
#[test]
fn tiles_from_shared_memory() {
    let store = Word::new(0x188, 1).a(4).bits(32, 8, 8).bits(73, 3, 6).0;
    let mut registers = Registers::default();
    let mut values = Values::new("tiles");
    registers.general[4] = std::array::from_fn(|lane| 64 + 16 * lane as u32);
    for k in 0..4 {
        registers.general[8 + k] = std::array::from_fn(|_| values.next("u32") as u32);
    }
    // Rows are read in another order, with an offset.
    registers.general[5] = std::array::from_fn(|lane| 16 * (lane as u32 * 7 % 32));
    let rows: Vec<[u32; 4]> =
        (0..32).map(|lane| std::array::from_fn(|k| registers.general[8 + k][lane * 7 % 32])).collect();
    for (field, count) in [(0, 1), (1, 2), (2, 4)] {
        for trans in [false, true] {
            let load = Word::new(0x3b, 4).d(16).a(5).bits(40, 24, 64).bits(72, 2, field).bits(78, 2, trans.into());
            let mut setting = Setting { shared: 1024, ..Setting::default() };
            let result = run(75, &[store, load.0], &registers, &mut setting);
            let mut wanted = [[0; 32]; 4];
            ldmatrix(&rows[..8 * count], trans, &mut wanted[..count]);
            assert_eq!(result.general[16..20], wanted, "{count} tiles, transposed: {trans}");
        }
    }
}

#[test]
fn transposition() {
    let mut registers = Registers::default();
    let mut values = Values::new("transposition");
    registers.general[4] = std::array::from_fn(|_| values.next("u32") as u32);
    let result = run(80, &[Word::new(0x3a, 1).d(4).a(4).0], &registers, &mut Setting::default());
    assert_eq!(result.general[4], movmatrix_trans(&registers.general[4]));
}
