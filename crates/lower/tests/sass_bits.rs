//! Shifts, bit fields, counts and byte arithmetic of machine code against host arithmetic.

use crate::words;

use words::check::{AT_32, AT_64, Change, Form, Lane, Source, check, general, register, uniform};

const ABC: &[u128] = &[1, 2, 3, 4, 5, 6, 7];
const AB: &[u128] = &[1, 4, 5, 6];

fn forms(code: u128, list: &[u128], twin: Option<(u128, &[u128])>, immediates: &[u32]) -> Vec<(u8, bool, Form)> {
    let mut all = Vec::new();
    for &immediate in immediates {
        all.extend(general(86, code, list, immediate).into_iter().map(|f| (86, false, f)));
        if let Some((code, list)) = twin {
            all.extend(uniform(code, list, immediate).into_iter().map(|f| (80, true, f)));
        }
    }
    all
}

#[test]
fn shf_shifts_pairs() {
    let amounts = [0, 1, 8, 31, 32, 33, 48, 63, 64, 65, 200];
    for (sm, u, form) in forms(0x019, ABC, Some((0x099, &[1, 2, 4])), &amounts) {
        for (right, upper, wrap, kind) in (0..32).map(|k| (k & 1 == 1, k & 2 == 2, k & 4 == 4, k >> 3)) {
            let word = form.word.bits(76, 1, right.into()).bits(80, 1, upper.into()).bits(75, 1, wrap.into());
            let word = word.bits(73, 2, kind).bits(74, 1, kind >> 1);
            let (bits, signed) = ([64, 64, 32, 32][kind as usize], kind % 2 == 0);
            let value = move |lane: &Lane<'_>| {
                let pair = u64::from(lane.get(form.a)) | u64::from(lane.get(form.c)) << 32;
                let n = lane.get(form.b);
                let n = if wrap { n % bits } else { n.min(bits) };
                let shifted = match (right, signed) {
                    (false, _) => u128::from(pair) << n,
                    (true, false) => u128::from(pair) >> n,
                    (true, true) => (i128::from(pair as i64) >> n) as u128,
                };
                if upper { (shifted >> 32) as u32 } else { shifted as u32 }
            };
            check(sm, word, |lane| vec![register(u, 30, value(lane))]);
            check(sm, word.d(AT_64 as u64), |lane| vec![register(u, AT_64, value(lane))]);
        }
    }
}

#[test]
fn fields_and_masks() {
    for (sm, u, form) in forms(0x01a, AB, Some((0x09a, &[1, 4])), &[0, 1, 8, 31, 32, 33, 0xffff_ffff]) {
        for (signed, wrap) in [(false, false), (false, true), (true, false), (true, true)] {
            let word = form.word.bits(73, 1, u64::from(signed)).bits(75, 1, u64::from(wrap)).c(0);
            check(sm, word, |lane| {
                let (x, n) = (lane.get(form.a), lane.get(form.b));
                let n = if wrap { n % 32 } else { n.min(32) };
                let field = i64::from(x) & ((1 << n) - 1);
                let negative = signed && n > 0 && field >> (n - 1) & 1 == 1;
                vec![register(u, 30, (field - if negative { 1 << n } else { 0 }) as u32)]
            });
        }
    }
    for (sm, u, form) in forms(0x01b, AB, Some((0x09b, &[1, 4])), &[0, 1, 8, 31, 32, 33, 0xffff_ffff]) {
        for wrap in [false, true] {
            check(sm, form.word.bits(75, 1, u64::from(wrap)).c(0), |lane| {
                let limit = |n: u32| if wrap { n % 32 } else { n.min(32) };
                let (at, n) = (limit(lane.get(form.a)), limit(lane.get(form.b)));
                let ones = (0..32).filter(|k| (at..at + n).contains(k)).fold(0_u32, |m, k| m | 1 << k);
                vec![register(u, 30, ones)]
            });
        }
    }
}

#[test]
fn counts_reversals_and_searches() {
    for (sm, u, form) in forms(0x109, AB, Some((0x0bf, &[1, 4])), &[0xff00_1234]) {
        let word = form.word.a(0).c(0);
        check(sm, word, |lane| vec![register(u, 30, lane.get(form.b).count_ones())]);
        if let Some(bit) = form.minus_b {
            check(sm, word.bits(bit, 1, 1), |lane| vec![register(u, 30, lane.get(form.b).count_zeros())]);
        }
    }
    for (sm, u, form) in forms(0x101, AB, Some((0x0be, &[1, 4])), &[0xff00_1234]) {
        check(sm, form.word.a(0).c(0), |lane| vec![register(u, 30, lane.get(form.b).reverse_bits())]);
    }
    for (sm, u, form) in forms(0x100, AB, Some((0x0bd, &[1, 4])), &[0, 0xffff_ffff, 0x00ff_0000]) {
        for (signed, shift) in [(false, false), (false, true), (true, false), (true, true)] {
            let word = form.word.a(0).c(0).bits(73, 1, u64::from(signed)).bits(74, 1, u64::from(shift));
            let found = move |x: u32| {
                let differs = |k: &u32| x >> k & 1 != if signed { x >> 31 } else { 0 };
                (0..32).rev().find(differs).map_or(!0, |k| if shift { 31 - k } else { k })
            };
            check(sm, word, |lane| vec![register(u, 30, found(lane.get(form.b)))]);
            if let Some(bit) = form.minus_b {
                check(sm, word.bits(bit, 1, 1), |lane| vec![register(u, 30, found(!lane.get(form.b)))]);
            }
        }
    }
}

#[test]
fn dot_products() {
    let byte = |x: u32, k: u32, signed: bool| {
        let byte = (x >> (8 * k)) as u8;
        if signed { i64::from(byte as i8) } else { byte.into() }
    };
    for (sm, _, form) in forms(0x026, AB, None, &[0x80ff_7f01]) {
        for (x_signed, y_signed, minus) in (0..8).map(|k| (k & 1 == 1, k & 2 == 2, k & 4 == 4)) {
            let word = form.word.bits(73, 1, u64::from(x_signed)).bits(74, 1, u64::from(y_signed));
            let word = word.bits(75, 1, u64::from(minus));
            let total = move |lane: &Lane<'_>, sum: i64| {
                let c = i64::from(lane.get(form.c));
                (sum + if minus { -c } else { c }) as u32
            };
            check(sm, word, |lane| {
                let (x, y) = (lane.get(form.a), lane.get(form.b));
                let sum = (0..4).map(|k| byte(x, k, x_signed) * byte(y, k, y_signed)).sum();
                vec![Change::R(30, total(lane, sum))]
            });
            for upper in [0, 1] {
                check(sm, word.bits(76, 1, 1).bits(77, 1, upper), |lane| {
                    let (x, y) = (lane.get(form.a), lane.get(form.b));
                    let half = |k: u32| {
                        let half = (x >> (16 * k)) as u16;
                        if x_signed { i64::from(half as i16) } else { half.into() }
                    };
                    let sum = (0..2).map(|k| half(k) * byte(y, k + 2 * upper as u32, y_signed)).sum();
                    vec![Change::R(30, total(lane, sum))]
                });
            }
        }
    }
}

#[test]
fn absolute_differences() {
    for signed in [false, true] {
        let wide = move |x: u32| if signed { i64::from(x as i32) } else { x.into() };
        for (sm, _, form) in forms(0x014, ABC, None, &[0x80ff_7f01]) {
            check(sm, form.word.bits(73, 1, u64::from(signed)), |lane| {
                let difference = (wide(lane.get(form.a)) - wide(lane.get(form.b))).unsigned_abs();
                vec![Change::R(30, (difference as u32).wrapping_add(lane.get(form.c)))]
            });
        }
        for (sm, _, form) in forms(0x015, ABC, None, &[0x80ff_7f01]) {
            let bytes = move |lane: &Lane<'_>| -> Vec<u32> {
                let value = |x: u32, k: u32| {
                    let byte = (x >> (8 * k)) as u8;
                    if signed { i32::from(byte as i8) } else { byte.into() }
                };
                (0..4).map(|k| value(lane.get(form.a), k).abs_diff(value(lane.get(form.b), k))).collect()
            };
            let word = form.word.bits(73, 1, u64::from(signed));
            check(sm, word.bits(75, 1, 1), |lane| {
                vec![Change::R(30, bytes(lane).iter().sum::<u32>().wrapping_add(lane.get(form.c)))]
            });
            if form.c == Source::General(AT_64) {
                check(sm, word.c(255), |lane| {
                    let value = bytes(lane).iter().enumerate().fold(0, |m, (k, byte)| m | byte << (8 * k));
                    vec![Change::R(30, value)]
                });
            }
        }
    }
}

#[test]
fn i2i_saturates() {
    for (kind, least, greatest) in [(0, 0, 255), (1, -128, 127), (2, 0, 65535), (3, -32768, 32767)] {
        for (sm, _, form) in forms(0x038, AB, None, &[0xffff_ff00, 300, 40000]) {
            check(sm, form.word.a(0).c(0).d(AT_32 as u64).bits(76, 2, kind), |lane| {
                vec![Change::R(AT_32, (lane.get(form.b) as i32).clamp(least, greatest) as u32)]
            });
        }
    }
}

/// `I2IP` of bytes: below the lower or, of two halves, the upper half of the third operand.
#[test]
fn bytes_are_packed_below_a_half() {
    for form in general(86, 0x039, &[1], 0) {
        for (signed, upper) in [(false, false), (false, true), (true, false), (true, true)] {
            let word = form.word.bits(76, 4, signed.into()).bits(87, 3, 0).bits(81, 6, 0).bits(72, 1, upper.into());
            check(86, word, |lane| {
                let byte = |s: Source| {
                    let x = lane.get(s) as i32;
                    let clamped = if signed { x.clamp(-128, 127) } else { x.clamp(0, 255) };
                    u32::from(clamped as u8)
                };
                let above = lane.get(form.c) >> if upper { 16 } else { 0 };
                vec![register(false, 30, above << 16 | byte(form.a) << 8 | byte(form.b))]
            });
        }
    }
}
