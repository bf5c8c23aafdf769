//! Conversions.

use super::*;
use num::convert::{self, IntType};
use num::half::{self, Bf16, F16, Half};
use num::{Mode, Rounding, float32};

const F2F: Case<'_> = Case {
    sm: 75,
    code: 0x104,
    layout: Layout::One,
    types: &["f32"],
    columns: 1,
    signs: true,
    forms: &[],
    modify: &|w| w,
};
/// One of the types has 64 bits.
const F2F_WIDE: Case<'_> = Case { code: 0x110, ..F2F };

const ROUNDINGS: [Rounding; 4] = [Rounding::NearestEven, Rounding::Down, Rounding::Up, Rounding::Zero];

/// Fields of the result's and the source's floating-point type.
fn types(d: u64, s: u64) -> impl Fn(Word) -> Word {
    move |w| w.bits(75, 2, d).bits(84, 2, s)
}

#[test]
fn between_floating_point_types() {
    for sm in [70, 75, 90] {
        Case { sm, modify: &types(1, 2), ..F2F }.check(|s| u64::from(convert::f32_to_half::<F16>(f(s[0]), Mode::RN)));
        Case { sm, modify: &types(2, 2), ..F2F }.check(|s| out(f(s[0])));
        let half = Case { sm, types: &["f16"], ..F2F };
        Case { modify: &types(2, 1), ..half }.check(|s| out(F16::to_f32(s[0] as u16)));
        Case { modify: &types(3, 1), columns: 2, code: 0x110, ..half }.check(|s| outd(F16::to_f32(s[0] as u16).into()));
        Case { sm, modify: &types(3, 2), columns: 2, ..F2F_WIDE }.check(|s| outd(f64::from(f(s[0]))));
        let double = Case { sm, types: &["f64"], ..F2F_WIDE };
        Case { modify: &types(2, 3), ..double }.check(|s| out(d(s[0]) as f32));
        Case { modify: &types(1, 3), ..double }
            .check(|s| u64::from(half::from_f64::<F16>(d(s[0]), Rounding::NearestEven)));
        Case { modify: &types(3, 3), columns: 2, ..double }.check(|s| outd(d(s[0])));
    }
    let from_bf16 = |d: u64| move |w: Word| w.bits(75, 3, d).bits(84, 3, 4);
    let bf16 = Case { sm: 90, types: &["bf16"], signs: false, forms: &[1], ..F2F };
    Case { modify: &from_bf16(1), ..bf16 }
        .check(|s| u64::from(convert::f32_to_half::<F16>(Bf16::to_f32(s[0] as u16), Mode::RN)));
    // A wider exponent is all that changes, of a NaN too.
    Case { modify: &from_bf16(2), ..bf16 }.check(|s| (s[0] & 0xffff) << 16);
    Case { modify: &from_bf16(3), columns: 2, code: 0x110, ..bf16 }.check(|s| outd(Bf16::to_f32(s[0] as u16).into()));
    let upper = |w| types(2, 1)(w).bits(60, 2, 1);
    Case { types: &["f16x2"], signs: false, forms: &[1, 5], modify: &upper, ..F2F }
        .check(|s| out(F16::to_f32((s[0] >> 16) as u16)));
    for (number, round) in ROUNDINGS.into_iter().enumerate() {
        for ftz in [false, true] {
            let mode = Mode { round, ftz, sat: false };
            let modify = |d, s| move |w| types(d, s)(w).bits(78, 2, number as u64).bits(80, 1, ftz.into());
            Case { modify: &modify(1, 2), ..F2F }.check(|s| u64::from(convert::f32_to_half::<F16>(f(s[0]), mode)));
            Case { modify: &modify(2, 3), types: &["f64"], ..F2F_WIDE }
                .check(|s| out(convert::f64_to_f32(d(s[0]), mode)));
            Case { modify: &modify(3, 2), columns: 2, ..F2F_WIDE }
                .check(|s| outd(if ftz { float32::flush(f(s[0])) } else { f(s[0]) }.into()));
        }
    }
}

const INTS: [IntType; 8] =
    [IntType::U8, IntType::S8, IntType::U16, IntType::S16, IntType::U32, IntType::S32, IntType::U64, IntType::S64];

/// A rounded number as an integer: clamped; NaN gives zero or only the top bit.
fn to_int(x: f64, ty: IntType, round: Rounding, nan_to_zero: bool, columns: usize) -> u64 {
    let value = if x.is_nan() {
        if nan_to_zero { 0 } else { 1_i128 << (ty.bits() - 1) }
    } else {
        let x = match round {
            Rounding::NearestEven => x.round_ties_even(),
            Rounding::Down => x.floor(),
            Rounding::Up => x.ceil(),
            _ => x.trunc(),
        };
        (x as i128).clamp(ty.min(), ty.max())
    };
    let extended = ty.extend(value as u64);
    if columns == 2 { extended } else { extended & 0xffff_ffff }
}

#[test]
fn to_integers() {
    for (i, ty) in INTS.into_iter().enumerate() {
        for (number, round) in ROUNDINGS.into_iter().enumerate() {
            for ntz in [false, true] {
                let wide = ty.bits() == 64;
                let modify = |source: u64| {
                    move |w: Word| {
                        let w = w.bits(72, 1, i as u64 & 1).bits(75, 2, i as u64 >> 1).bits(84, 2, source);
                        w.bits(77, 1, ntz.into()).bits(78, 2, number as u64)
                    }
                };
                let columns = if wide { 2 } else { 1 };
                let int = |x: f64| to_int(x, ty, round, ntz, columns);
                let code = if wide { 0x111 } else { 0x105 };
                Case { code, columns, modify: &modify(2), ..F2F }.check(|s| int(f(s[0]).into()));
                Case { code, columns, types: &["f16"], modify: &modify(1), ..F2F }
                    .check(|s| int(F16::to_f32(s[0] as u16).into()));
                Case { code: 0x111, columns, types: &["f64"], modify: &modify(3), ..F2F }.check(|s| int(d(s[0])));
                // With .FTZ.
                let flushing = modify(2);
                Case { code, columns, modify: &|w| flushing(w).bits(80, 1, 1), ..F2F }
                    .check(|s| int(float32::flush(f(s[0])).into()));
            }
        }
    }
}

#[test]
fn from_integers() {
    for (i, ty) in INTS.into_iter().enumerate() {
        for (number, round) in ROUNDINGS.into_iter().enumerate() {
            let wide = ty.bits() == 64;
            let modify = |d: u64| {
                move |w: Word| {
                    let w = w.bits(74, 1, i as u64 & 1).bits(84, 2, i as u64 >> 1);
                    w.bits(75, 2, d).bits(78, 2, number as u64)
                }
            };
            let types: &[&str] = if wide { &["u64"] } else { &["u32"] };
            // Where an immediate has bits of its own, bytes are not chosen by fields.
            let forms: &[u64] = if wide { &[1, 5, 6] } else { &[1, 4, 5, 6] };
            let code = if wide { 0x112 } else { 0x106 };
            let case = Case { code, types, signs: false, forms, ..F2F };
            let half = |s: &[u64]| u64::from(convert::int_to_half::<F16>(s[0], ty, round));
            Case { modify: &modify(1), ..case }.check(half);
            Case { modify: &modify(2), ..case }.check(|s| out(convert::int_to_f32(s[0], ty, round)));
            Case { modify: &modify(3), columns: 2, code: 0x112, ..case }
                .check(|s| outd(convert::int_to_f64(s[0], ty, round)));
        }
    }
    // A byte of the source.
    for byte in 0..4 {
        let modify = |w: Word| w.bits(75, 2, 2).bits(74, 1, 1).bits(60, 2, byte);
        Case { code: 0x106, types: &["u32"], signs: false, forms: &[1, 5], modify: &modify, ..F2F }
            .check(|s| out(f32::from((s[0] >> (8 * byte)) as i8)));
    }
}

#[test]
fn from_integers_on_the_main_pipe() {
    let i2fp = Case { sm: 86, code: 0x45, layout: Layout::Two, types: &["u32", "u32"], signs: false, ..F2F };
    for (number, round) in ROUNDINGS.into_iter().enumerate() {
        let modify =
            |signed: u64| move |w: Word| w.bits(74, 1, signed).bits(75, 3, 2).bits(78, 2, number as u64).bits(84, 3, 2);
        Case { modify: &modify(1), ..i2fp }.check(|s| out(convert::int_to_f32(s[1], IntType::S32, round)));
        Case { modify: &modify(0), ..i2fp }.check(|s| out(convert::int_to_f32(s[1], IntType::U32, round)));
    }
}

#[test]
fn to_integral_values() {
    for (number, round) in ROUNDINGS.into_iter().enumerate() {
        let modify = |ty: u64| move |w: Word| types(ty, ty)(w).bits(78, 2, number as u64);
        let mode = Mode { round, ..Mode::RN };
        Case { code: 0x107, modify: &modify(2), ..F2F }.check(|s| out(convert::integral_f32(f(s[0]), mode)));
        let flushing = modify(2);
        Case { code: 0x107, modify: &|w| flushing(w).bits(80, 1, 1), ..F2F }
            .check(|s| out(convert::integral_f32(f(s[0]), Mode { ftz: true, ..mode })));
        Case { code: 0x113, modify: &modify(3), types: &["f64"], columns: 2, ..F2F }
            .check(|s| outd(convert::integral_f64(d(s[0]), round)));
    }
}

#[test]
fn pairs_of_halves() {
    for sm in [80, 86, 90] {
        for (bf16, mode, relu) in [(0, 0, 0), (1, 0, 0), (0, 3, 1), (1, 3, 0), (1, 0, 1)] {
            let round = if mode == 3 { Rounding::Zero } else { Rounding::NearestEven };
            let modify = |w: Word| w.bits(76, 2, bf16).bits(79, 2, mode).bits(75, 1, relu).bits(72, 2, 0);
            let one = |x: u64| {
                let relu = relu == 1;
                u64::from(if bf16 == 1 {
                    convert::f32_to_half_limited::<Bf16>(f(x), round, relu, false)
                } else {
                    convert::f32_to_half_limited::<F16>(f(x), round, relu, false)
                })
            };
            // Signs of the first operand are reserved.
            let f2fp =
                Case { sm, code: 0x3e, layout: Layout::Two, types: &["f32"; 2], signs: false, modify: &modify, ..F2F };
            f2fp.check(|s| one(s[0]) << 16 | one(s[1]));
        }
    }
}

#[test]
fn saturation_to_small_integers() {
    for (i, ty) in INTS.into_iter().take(4).enumerate() {
        let modify = |w: Word| w.bits(76, 2, i as u64);
        let i2i =
            Case { code: 0x38, layout: Layout::Two, types: &["u32", "u32"], signs: false, modify: &modify, ..F2F };
        i2i.check(|s| {
            let clamped = i128::from(s[1] as u32 as i32).clamp(ty.min(), ty.max());
            u64::from(clamped as u32)
        });
    }
}
