//! `cvt` between integers and floats, against exact references.

use crate::reference;

use num::convert::{self, IntType};
use num::half::{self, Bf16, F16};
use num::{Mode, Rounding};
use reference::{Big, DIRECTED_AND_NEAREST, Random, Shape};

/// `x` rounded to an integer, or beyond any 64-bit one if it is.
fn round_exactly(x: f64, round: Rounding) -> i128 {
    if x.abs() >= 2f64.powi(100) {
        return if x < 0.0 { -(1 << 100) } else { 1 << 100 };
    }
    // In units of 2^-20 after the integer part is split off exactly.
    let integer = x.trunc();
    let fraction = x - integer;
    let whole = integer as i128;
    let away = if x < 0.0 { whole - 1 } else { whole + 1 };
    let up = match round {
        Rounding::Zero => false,
        Rounding::Down => fraction < 0.0,
        Rounding::Up => fraction > 0.0,
        Rounding::NearestEven => fraction.abs() > 0.5 || (fraction.abs() == 0.5 && whole % 2 != 0),
        Rounding::NearestAway => fraction.abs() >= 0.5,
    };
    if up { away } else { whole }
}

/// Random numbers around the limits of the integer types and between.
fn interesting(random: &mut Random) -> f64 {
    let x = match random.below(4) {
        0 => return random.f64(),
        1 => 2f64.powi(random.below(66) as i32) + random.below(8) as f64 / 4.0 - 1.0,
        2 => random.below(2000) as f64 / 4.0,
        _ => random.bits() as f64 * 2f64.powi(-(random.below(64) as i32)),
    };
    if random.below(2) == 0 { x } else { -x }
}

#[test]
fn float_to_integer_clamps() {
    let mut random = Random(31);
    for _ in 0..60_000 {
        let x = interesting(&mut random);
        let single = x as f32;
        for to in IntType::ALL {
            for round in DIRECTED_AND_NEAREST {
                if !x.is_nan() {
                    let want = round_exactly(x, round).clamp(to.min(), to.max()) as u64;
                    assert_eq!(convert::f64_to_int(x, to, round), want, "{x:e} to {to:?} {round:?}");
                }
                if !single.is_nan() {
                    let want = round_exactly(f64::from(single), round).clamp(to.min(), to.max()) as u64;
                    assert_eq!(convert::f32_to_int(single, to, round, false), want, "{single:e} to {to:?} {round:?}");
                }
            }
        }
        if !single.is_nan() {
            let plain = |to| convert::f32_to_int(single, to, Rounding::Zero, false);
            assert_eq!(convert::f32_to_s32_rz(single), plain(IntType::S32) as i32);
            assert_eq!(convert::f32_to_u32_rz(single), plain(IntType::U32) as u32);
        }
    }
    for bits in 0..=u16::MAX {
        let x = half::to_f64::<F16>(bits);
        if !x.is_nan() {
            let want = round_exactly(x, Rounding::NearestEven).clamp(-128, 127) as u64;
            assert_eq!(convert::half_to_int::<F16>(bits, IntType::S8, Rounding::NearestEven), want);
        }
    }
}

#[test]
fn nan_to_integer() {
    let from32 = |to| convert::f32_to_int(f32::NAN, to, Rounding::Zero, false);
    let from64 = |to| convert::f64_to_int(f64::NAN, to, Rounding::Zero);
    assert_eq!([IntType::S8, IntType::U16, IntType::S32, IntType::U32].map(from32), [0; 4]);
    assert_eq!([IntType::S64, IntType::U64].map(from32), [1 << 63; 2]);
    assert_eq!(from64(IntType::S32) as i32, i32::MIN);
    assert_eq!(from64(IntType::U32), 1 << 31);
    assert_eq!(from64(IntType::U64), 1 << 63);
    assert_eq!(convert::f32_to_s32_rz(f32::NAN), 0);
    assert_eq!(convert::f32_to_int(f32::from_bits(1), IntType::S32, Rounding::Up, true), 0);
    assert_eq!(convert::f32_to_int(f32::from_bits(1), IntType::S32, Rounding::Up, false), 1);
}

#[test]
fn integer_to_float_is_exactly_rounded() {
    let mut random = Random(32);
    for case in 0..20_000 {
        let x = random.bits() >> random.below(64);
        let x = if case % 5 == 0 {
            1u64.rotate_left(case / 5 % 64).wrapping_add(random.below(3)).wrapping_sub(1)
        } else {
            x
        };
        for from in IntType::ALL {
            let value = if from.signed() { i128::from(from.extend(x) as i64) } else { i128::from(from.extend(x)) };
            let exact = Big::int(value);
            for round in DIRECTED_AND_NEAREST {
                let check = |shape: Shape, bits: u64| shape.check_value(bits, round, &exact, false);
                check(reference::F32, convert::int_to_f32(x, from, round).to_bits().into());
                check(reference::F64, convert::int_to_f64(x, from, round).to_bits());
                check(reference::F16, convert::int_to_half::<F16>(x, from, round).into());
                check(reference::BF16, convert::int_to_half::<Bf16>(x, from, round).into());
            }
        }
        assert_eq!(convert::int_to_f32(x, IntType::U64, Rounding::NearestEven), x as f32);
        assert_eq!(convert::int_to_f32(x, IntType::S64, Rounding::NearestEven), x as i64 as f32);
        assert_eq!(convert::s32_to_f32_rn(x as i32), x as i32 as f32);
        assert_eq!(convert::u32_to_f32_rn(x as u32), x as u32 as f32);
    }
}

#[test]
fn integer_to_integer() {
    let mut random = Random(33);
    for _ in 0..100_000 {
        let x = random.bits() >> random.below(64);
        let x = if random.below(2) == 0 { x } else { x.wrapping_neg() };
        for from in IntType::ALL {
            let value = if from.signed() { i128::from(from.extend(x) as i64) } else { i128::from(from.extend(x)) };
            assert!((from.min()..=from.max()).contains(&value));
            for to in IntType::ALL {
                let wrapped = to.extend(value as u64);
                assert_eq!(convert::int_to_int(x, from, to, false), wrapped);
                let clamped = value.clamp(to.min(), to.max()) as u64;
                assert_eq!(convert::int_to_int(x, from, to, true), clamped);
            }
        }
    }
    assert_eq!(convert::int_to_int(0xff, IntType::S8, IntType::U32, false), 0xffff_ffff);
    assert_eq!(convert::int_to_int(0xff, IntType::S8, IntType::U32, true), 0);
    assert_eq!(convert::int_to_int(300, IntType::U32, IntType::S8, true), 127);
}

#[test]
fn float_to_float() {
    let mut random = Random(34);
    for _ in 0..100_000 {
        let x = random.f64();
        let single = random.f32();
        for round in DIRECTED_AND_NEAREST {
            let mode = Mode::RN.rounding(round);
            if x.is_finite() {
                let exact = reference::F64.value(x.to_bits());
                let zero = x.is_sign_negative();
                reference::F32.check_value(convert::f64_to_f32(x, mode).to_bits().into(), round, &exact, zero);
                reference::F16.check_value(convert::f64_to_half::<F16>(x, mode).into(), round, &exact, zero);
            }
            if single.is_finite() {
                let exact = reference::F32.value(single.to_bits().into());
                let zero = single.is_sign_negative();
                reference::F16.check_value(convert::f32_to_half::<F16>(single, mode).into(), round, &exact, zero);
                reference::BF16.check_value(convert::f32_to_half::<Bf16>(single, mode).into(), round, &exact, zero);
                let integral = convert::integral_f32(single, mode);
                if single.abs() < 1e30 {
                    assert_eq!(f64::from(integral), round_exactly(single.into(), round) as f64);
                }
                assert_eq!(integral.is_sign_negative(), single.is_sign_negative());
            }
        }
    }
    assert_eq!(convert::f64_to_f32(f64::NAN, Mode::RN).to_bits(), 0x7fff_ffff);
    assert_eq!(convert::f32_to_f64(f32::NAN, false, false).to_bits(), 0xfff8_0000_0000_0000);
    assert_eq!(convert::f32_to_f64(f32::from_bits(1), true, false), 0.0);
    assert_eq!(convert::f64_to_f32(1e-40, Mode { ftz: true, ..Mode::RN }), 0.0);
    assert_eq!(convert::f32_to_half_limited::<F16>(1e9, Rounding::NearestEven, false, true), 0x7bff);
    assert_eq!(convert::f32_to_half_limited::<F16>(-1.0, Rounding::NearestEven, true, false), 0);
    assert_eq!(convert::f32_to_half_limited::<F16>(f32::NAN, Rounding::NearestEven, true, true), half::NAN);
    assert_eq!(convert::integral_half::<F16>(0x4100, Mode::RN), 0x4000, "2.5 to even");
    assert_eq!(convert::half_to_half::<F16, Bf16>(0x3c00, Mode::RN), 0x3f80);
    assert_eq!(convert::half_to_f32::<Bf16>(1, true, false), 0.0);
    assert_eq!(convert::integral_f64(-0.5, Rounding::NearestEven).to_bits(), (-0f64).to_bits());
}
