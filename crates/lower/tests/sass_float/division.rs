//! Division and square root as compilers write them out: exact with correctly rounded seeds, as long
//! as nothing asks for the slow path. The sequences are those of the bundled cubins.

use super::*;

fn ffma(d: u64, a: u64, minus_a: bool, b: u64, c: u64) -> u128 {
    Word::new(0x23, 1).d(d).a(a).bits(72, 1, minus_a.into()).bits(32, 8, b).c(c).0
}

fn dfma(d: u64, a: u64, minus_a: bool, b: u64, c: u64) -> u128 {
    Word::new(0x2b, 1).d(d).a(a).bits(72, 1, minus_a.into()).bits(32, 8, b).c(c).0
}

fn dmul(d: u64, a: u64, b: u64) -> u128 {
    Word::new(0x28, 1).d(d).a(a).bits(32, 8, b).0
}

fn mufu(d: u64, function: u64, s: u64) -> u128 {
    Word::new(0x108, 1).d(d).bits(32, 8, s).bits(74, 4, function).0
}

/// `1 - a * b`.
fn ffma_one(d: u64, a: u64, b: u64) -> u128 {
    Word::new(0x23, 2).d(d).a(a).bits(72, 1, 1).c(b).b(1f32.to_bits()).0
}

fn dfma_one(d: u64, a: u64, minus_a: bool, b: u64) -> u128 {
    Word::new(0x2b, 2).d(d).a(a).bits(72, 1, minus_a.into()).c(b).b(0x3ff0_0000).0
}

fn pair(registers: &mut Registers, at: usize, values: [u64; 32]) {
    registers.general[at] = values.map(|x| x as u32);
    registers.general[at + 1] = values.map(|x| (x >> 32) as u32);
}

fn pair_of(registers: &Registers, at: usize, lane: usize) -> f64 {
    d(u64::from(registers.general[at][lane]) | u64::from(registers.general[at + 1][lane]) << 32)
}

/// R3 / R4: MUFU.RCP, FCHK, two steps of Newton, one of the quotient.
fn divide(a: Column, b: Column) -> (Column, u32) {
    let words = [
        mufu(7, 4, 4),
        Word::new(0x102, 1).a(3).bits(32, 8, 4).bits(81, 3, 0).0,
        ffma_one(6, 4, 7),
        ffma(6, 7, false, 6, 7),
        ffma(7, 3, false, 6, 255),
        ffma(8, 4, true, 7, 3),
        ffma(7, 6, false, 8, 7),
    ];
    let mut registers = Registers::default();
    (registers.general[3], registers.general[4]) = (a, b);
    let result = run(75, &words, &registers, &mut Setting::default());
    (result.general[7], result.predicates[0])
}

#[test]
fn single_precision_quotients_are_exact_on_the_fast_path() {
    let mut values = Values::new("quotients");
    let mut fast = 0;
    for round in 0..3000 {
        let mut number = |_| {
            let x = values.next("f32") as u32;
            // Mantissas of mostly ones or zeros are the hard ones; exponents near each other are common.
            let x = if round % 3 == 0 { x | 0x007f_fff0 } else { x };
            if round % 2 == 0 { x & 0xcfff_ffff | 0x3000_0000 } else { x }
        };
        let a: Column = std::array::from_fn(&mut number);
        let b: Column = std::array::from_fn(&mut number);
        let (q, slow) = divide(a, b);
        for lane in 0..32 {
            let (x, y) = (f32::from_bits(a[lane]), f32::from_bits(b[lane]));
            let near = |x: f32| (-60..60).contains(&((x.to_bits() >> 23 & 0xff) as i32 - 127));
            if slow >> lane & 1 == 1 {
                assert!(!near(x) || !near(y), "{x:e} / {y:e} must not be slow");
            } else {
                assert_eq!(u64::from(q[lane]), out(x / y), "{x:e} / {y:e}");
                fast += 1;
            }
        }
    }
    assert!(fast > 40_000, "only {fast} fast ones");
}

#[test]
fn zeros_infinities_and_nan_take_the_slow_path() {
    let odd = [0.0, -0.0, f32::INFINITY, f32::NAN, 1e-40].map(f32::to_bits);
    for x in odd {
        assert_eq!(divide(all(1f32.to_bits()), all(x)).1, !0, "1 / {x:#x}");
        assert_eq!(divide(all(x), all(1f32.to_bits())).1, !0, "{x:#x} / 1");
    }
}

/// R10:R11 / R32:R33.
#[test]
fn double_precision_quotients_are_exact() {
    let words = [
        mufu(9, 6, 33),
        dfma_one(28, 32, true, 8),
        dfma(28, 28, false, 28, 28),
        dfma(28, 8, false, 28, 8),
        dfma_one(8, 32, true, 28),
        dfma(8, 28, false, 8, 28),
        dmul(28, 10, 8),
        dfma(30, 32, true, 28, 10),
        dfma(34, 8, false, 30, 28),
    ];
    let mut values = Values::new("double quotients");
    for round in 0..3000 {
        let mut number = |_: usize| {
            let x = values.next("u64");
            let x = if round % 3 == 0 { x | 0x000f_ffff_ffff_ff00 } else { x };
            // Exponents from -255 to 256.
            x & 0x9fff_ffff_ffff_ffff | if x & 1 << 62 == 0 { 0x3000_0000_0000_0000 } else { 0x4000_0000_0000_0000 }
        };
        let a: [u64; 32] = std::array::from_fn(&mut number);
        let b: [u64; 32] = std::array::from_fn(&mut number);
        let (a, b) = (a.map(|x| x & !(1 << 61)), b.map(|x| x & !(1 << 61)));
        let mut registers = Registers::default();
        registers.general[8] = all(1);
        pair(&mut registers, 10, a);
        pair(&mut registers, 32, b);
        let result = run(75, &words, &registers, &mut Setting::default());
        for lane in 0..32 {
            let (x, y) = (d(a[lane]), d(b[lane]));
            let normal = x.is_normal() && y.is_normal() && (1e-250..1e250).contains(&(x / y).abs());
            if normal && (1e-250..1e250).contains(&x.abs()) {
                assert_eq!(pair_of(&result, 34, lane), x / y, "{x:e} / {y:e}");
            }
        }
    }
}

/// The root of R5: MUFU.RSQ and one step.
#[test]
fn single_precision_roots_are_exact() {
    let ftz = |w: Word| w.bits(80, 1, 1);
    let words = [
        mufu(4, 5, 5),
        ftz(Word::new(0x20, 1).d(2).a(5).bits(32, 8, 4).bits(84, 3, 4)).0,
        ftz(Word::new(0x20, 4).d(4).a(4).b(0.5f32.to_bits()).bits(84, 3, 4)).0,
        ffma(5, 2, true, 2, 5),
        ffma(5, 5, false, 4, 2),
    ];
    let mut values = Values::new("roots");
    for _ in 0..3000 {
        let mut registers = Registers::default();
        // Compiled code takes this path for these.
        let fast = |x: u32| x.wrapping_sub(0x0d00_0000) <= 0x727f_ffff;
        registers.general[5] = std::array::from_fn(|_| values.next("f32") as u32);
        let result = run(75, &words, &registers, &mut Setting::default());
        for lane in 0..32 {
            let x = registers.general[5][lane];
            if fast(x) {
                assert_eq!(f32::from_bits(result.general[5][lane]), f32::from_bits(x).sqrt(), "root of {x:#x}");
            }
        }
    }
}

/// The root of R30:R31.
#[test]
fn double_precision_roots_are_exact() {
    let half = |d: u64, a: u64| Word::new(0x28, 4).d(d).a(a).b(0x3fe0_0000).0;
    let words = [
        mufu(35, 7, 31),
        dmul(8, 34, 34),
        Word::new(0x2b, 2).d(8).a(30).c(8).bits(75, 1, 1).b(0x3ff0_0000).0,
        Word::new(0x2b, 2).d(28).a(8).c(28).b(0x3fe0_0000).0,
        dmul(8, 34, 8),
        dfma(32, 28, false, 8, 34),
        dmul(38, 30, 32),
        half(28, 32),
        Word::new(0x2b, 1).d(36).a(38).bits(32, 8, 38).bits(63, 1, 1).c(30).0,
        dfma(8, 36, false, 28, 38),
    ];
    let mut values = Values::new("double roots");
    for _ in 0..3000 {
        let x: [u64; 32] = std::array::from_fn(|_| values.next("f64"));
        let mut registers = Registers::default();
        pair(&mut registers, 30, x);
        // The lower word of the seed is left from before; the other constant is 0.375.
        registers.general[34] = x.map(|x| ((x >> 32) as u32).wrapping_sub(0x0350_0000));
        pair(&mut registers, 28, [0x3fd8_0000_0000_0000; 32]);
        let result = run(75, &words, &registers, &mut Setting::default());
        for (lane, x) in x.into_iter().map(d).enumerate() {
            if registers.general[34][lane] < 0x7ca0_0000 {
                assert_eq!(pair_of(&result, 8, lane), x.sqrt(), "root of {x:e}");
            }
        }
    }
}
