//! Integer instructions of machine code against host arithmetic.

use crate::words;

use words::check::{AT_32, AT_64, Change, Form, Lane, Source, check, general, predicate, register, uniform};
use words::{Registers, Setting, Word, run};

const ABC: &[u128] = &[1, 2, 3, 4, 5, 6, 7];
const AB: &[u128] = &[1, 4, 5, 6];
const UABC: &[u128] = &[1, 2, 4];
const UAB: &[u128] = &[1, 4];

#[test]
fn a_kernel_of_bare_words_runs() {
    let registers = Registers { predicates: [1, 2, 3, 4, 5, 6, 7], ..Registers::default() };
    assert_eq!(run(75, &[], &registers, &mut Setting::default()), registers);
}

/// The forms of an instruction and of its uniform twin, with the architecture: immediates of several
/// kinds.
fn forms(code: u128, list: &[u128], twin: Option<(u128, &[u128])>) -> Vec<(u8, bool, Form)> {
    let mut all = Vec::new();
    for immediate in [0x1234_5678, 1, 0xffff_fff0, 8] {
        all.extend(general(86, code, list, immediate).into_iter().map(|f| (86, false, f)));
        if let Some((code, list)) = twin {
            all.extend(uniform(code, list, immediate).into_iter().map(|f| (80, true, f)));
        }
    }
    all
}

/// Subsets of sign bits.
fn signs(form: Form, a: bool) -> Vec<(Form, [bool; 3])> {
    let mut all = Vec::new();
    for k in 0..8_u32 {
        let wanted = [k & 1 == 1, k & 2 == 2, k & 4 == 4];
        let places = [a.then_some(72), form.minus_b, form.minus_c];
        if wanted.iter().zip(places).any(|(&w, p)| w && p.is_none()) {
            continue;
        }
        let mut signed = form;
        for (_, place) in wanted.iter().zip(places).filter(|(w, _)| **w) {
            signed = signed.with(|w| w.bits(place.unwrap(), 1, 1));
        }
        all.push((signed, wanted));
    }
    all
}

/// Sum in more than 32 bits: negated terms are the literal two's complement, or with carries in the
/// one's complement.
fn sum(terms: &[(u32, bool)], carries: Option<[bool; 2]>) -> u64 {
    let value = |&(x, minus): &(u32, bool)| match minus {
        false => u64::from(x),
        true => u64::from(!x) + u64::from(carries.is_none()),
    };
    terms.iter().map(value).sum::<u64>() + carries.map_or(0, |c| c.into_iter().map(u64::from).sum())
}

#[test]
fn iadd3_adds_with_carries() {
    for (sm, u, form) in forms(0x010, ABC, Some((0x090, UABC))) {
        for (form, minus) in signs(form, true) {
            let terms = move |lane: &Lane<'_>| {
                let values = [form.a, form.b, form.c].map(|s| lane.get(s));
                [(values[0], minus[0]), (values[1], minus[1]), (values[2], minus[2])]
            };
            check(sm, form.word, |lane| vec![register(u, 30, sum(&terms(lane), None) as u32)]);
            // The destination is a source too; carries go out.
            check(sm, form.word.d(AT_64 as u64).pq(1, 2), |lane| {
                let all = sum(&terms(lane), None);
                vec![register(u, AT_64, all as u32), predicate(u, 1, all >= 1 << 32), predicate(u, 2, all >= 2 << 32)]
            });
            // Carries come in, one negated, and go out to the same predicates.
            let word = form.word.bits(74, 1, 1).pq(1, 3).p(1, false).bits(77, 3, 3).bits(80, 1, 1);
            check(sm, word, |lane| {
                let all = sum(&terms(lane), Some([lane.pred(u, 1), !lane.pred(u, 3)]));
                vec![register(u, 30, all as u32), predicate(u, 1, all >= 1 << 32), predicate(u, 3, all >= 2 << 32)]
            });
            let word = form.word.bits(74, 1, 1).p(4, false).bits(77, 3, 7).bits(80, 1, 1);
            check(sm, word, |lane| vec![register(u, 30, sum(&terms(lane), Some([lane.pred(u, 4), false])) as u32)]);
        }
    }
}

#[test]
fn iadd3_drops_the_zero_register_but_not_the_carry_of_its_negation() {
    const RZ: u64 = 255;
    for (k, minus) in (0..8_u32).flat_map(|k| (0..8_u32).map(move |m| (k, m))) {
        let word = Word::new(0x010, 1).d(30).a(2).b(4).c(6).bits(81, 6, 0x3f);
        let mut word = word.bits(72, 1, (minus & 1).into()).bits(63, 1, (minus >> 1 & 1).into());
        word = word.bits(75, 1, (minus >> 2).into());
        for (bit, lo) in [24, 32, 64].into_iter().enumerate() {
            if k >> bit & 1 == 1 {
                word = word.bits(lo, 8, RZ);
            }
        }
        let terms = move |lane: &Lane<'_>| -> Vec<(u32, bool)> {
            let value = |bit: u32, n| if k >> bit & 1 == 1 { 0 } else { lane.get(Source::General(n)) };
            vec![(value(0, 2), minus & 1 == 1), (value(1, 4), minus >> 1 & 1 == 1), (value(2, 6), minus >> 2 == 1)]
        };
        check(75, word, |lane| vec![Change::R(30, sum(&terms(lane), None) as u32)]);
        check(75, word.pq(0, 1), |lane| {
            let all = sum(&terms(lane), None);
            vec![Change::R(30, all as u32), Change::P(0, all >= 1 << 32), Change::P(1, all >= 2 << 32)]
        });
    }
}

#[test]
fn imad_multiplies_and_adds() {
    for (sm, u, form) in forms(0x024, ABC, Some((0x0a4, UABC))) {
        for (form, [_, _, minus]) in signs(form, false).into_iter().filter(|(_, m)| !m[1]) {
            let value = move |lane: &Lane<'_>, carry: Option<bool>| {
                let product = u64::from(lane.get(form.a)) * u64::from(lane.get(form.b));
                sum(&[(product as u32, false), (lane.get(form.c), minus)], carry.map(|c| [c, false])) as u32
            };
            check(sm, form.word, |lane| vec![register(u, 30, value(lane, None))]);
            check(sm, form.word.d(AT_32 as u64).bits(73, 1, 1), |lane| vec![register(u, AT_32, value(lane, None))]);
            check(sm, form.word.bits(74, 1, 1).p(2, true), |lane| {
                vec![register(u, 30, value(lane, Some(!lane.pred(u, 2))))]
            });
        }
    }
}

#[test]
fn imad_moves_adds_and_shifts() {
    const RZ: u64 = 255;
    let r = |lane: &Lane<'_>, n| lane.get(Source::General(n));
    for form in general(70, 0x024, &[2, 3, 4, 5], 1).into_iter().chain(general(75, 0x024, ABC, 8)) {
        let sm = 75;
        check(sm, form.word.a(RZ), |lane| vec![Change::R(30, lane.get(form.c))]);
        if form.minus_c == Some(75) {
            let minus = form.word.a(RZ).bits(75, 1, 1);
            check(sm, minus, |lane| vec![Change::R(30, lane.get(form.c).wrapping_neg())]);
            check(sm, minus.bits(74, 1, 1).p(0, false), |lane| {
                vec![Change::R(30, (!lane.get(form.c)).wrapping_add(lane.p(0).into()))]
            });
            check(sm, form.word.c(RZ), |lane| vec![Change::R(30, lane.get(form.a).wrapping_mul(lane.get(form.b)))]);
        }
    }
    let by_one = general(75, 0x024, &[4], 1)[0];
    check(75, by_one.word, |lane| vec![Change::R(30, r(lane, 2).wrapping_add(r(lane, AT_64)))]);
    check(75, by_one.word.bits(75, 1, 1), |lane| vec![Change::R(30, r(lane, 2).wrapping_sub(r(lane, AT_64)))]);
    check(75, by_one.word.bits(74, 1, 1).p(1, false), |lane| {
        vec![Change::R(30, r(lane, 2).wrapping_add(r(lane, AT_64)).wrapping_add(lane.p(1).into()))]
    });
    for power in 0..32 {
        let shift = general(75, 0x024, &[4], 1 << power)[0].word.c(RZ);
        check(75, shift, |lane| vec![Change::R(30, r(lane, 2) << power)]);
    }
}

#[test]
fn imad_wide_and_high_have_a_64_bit_addend() {
    let list = forms(0x025, ABC, Some((0x0a5, UABC)));
    // The extension of a 32-bit immediate addend is not known.
    for (sm, u, form) in list.into_iter().filter(|(_, _, f)| !matches!(f.c, Source::Immediate(_))) {
        let base = if u { 0x0a5 } else { 0x025 };
        for (form, [_, _, minus]) in signs(form, false).into_iter().filter(|(_, m)| !m[1]) {
            for signed in [false, true] {
                let form = form.with(|w| w.bits(73, 1, signed.into()));
                let value = move |lane: &Lane<'_>, carry: Option<bool>| -> u128 {
                    let (x, y) = (lane.get(form.a), lane.get(form.b));
                    let product = match signed {
                        true => (i64::from(x as i32) * i64::from(y as i32)) as u64,
                        false => u64::from(x) * u64::from(y),
                    };
                    let c = lane.get64(form.c);
                    let c = if minus { u128::from(!c) + u128::from(carry.is_none()) } else { c.into() };
                    u128::from(product) + c + u128::from(carry == Some(true))
                };
                let wide = move |n: usize, value: u128| {
                    vec![register(u, n, value as u32), register(u, n + 1, (value >> 32) as u32)]
                };
                check(sm, form.word, |lane| wide(30, value(lane, None)));
                for n in [2, 3, AT_32, AT_64, AT_64 - 1] {
                    check(sm, form.word.d(n as u64), |lane| wide(n, value(lane, None)));
                }
                check(sm, form.word.pq(1, 7), |lane| {
                    let all = value(lane, None);
                    [wide(30, all), vec![predicate(u, 1, all >> 64 != 0)]].concat()
                });
                check(sm, form.word.bits(74, 1, 1).pq(1, 7).p(1, true), |lane| {
                    {
                        let all = value(lane, Some(!lane.pred(u, 1)));
                        [wide(AT_64, all), vec![predicate(u, 1, all >> 64 != 0)]].concat()
                    }
                    .into_iter()
                    .map(|c| moved(c, AT_64, 30))
                    .collect()
                });
                let high = Form { word: Word(form.word.0 & !0x1ff | (base + 2)), ..form }.word;
                check(sm, high, |lane| vec![register(u, 30, (value(lane, None) >> 32) as u32)]);
                check(sm, high.bits(74, 1, 1).pq(0, 7).p(5, false), |lane| {
                    let all = value(lane, Some(lane.pred(u, 5)));
                    vec![register(u, 30, (all >> 32) as u32), predicate(u, 0, all >> 64 != 0)]
                });
            }
        }
        let without = form.word.c(if u { 63 } else { 255 });
        if form.minus_c == Some(75) {
            let high = Word(without.0 & !0x1ff | (base + 2));
            check(sm, without.bits(73, 1, 1), |lane| {
                let product = i64::from(lane.get(form.a) as i32) * i64::from(lane.get(form.b) as i32);
                vec![register(u, 30, product as u32), register(u, 31, (product >> 32) as u32)]
            });
            check(sm, high, |lane| {
                let product = u64::from(lane.get(form.a)) * u64::from(lane.get(form.b));
                vec![register(u, 30, (product >> 32) as u32)]
            });
        }
    }
}

/// Moves a change of register `from` and following ones to register `to` and following ones.
fn moved(change: Change, from: usize, to: usize) -> Change {
    match change {
        Change::R(n, value) => Change::R(n - from + to, value),
        Change::U(n, value) => Change::U(n - from + to, value),
        change => change,
    }
}

fn relation(number: u64, x: i64, y: i64) -> bool {
    [false, x < y, x == y, x <= y, x > y, x != y, x >= y, true][number as usize]
}

fn combined(number: u64, a: bool, b: bool) -> bool {
    [a && b, a || b, a != b][number as usize]
}

#[test]
fn isetp_compares_words_and_with_the_low_words_comparison_pairs() {
    let mut list = Vec::new();
    for immediate in [0, 5, 0xffff_fff0] {
        list.extend(general(75, 0x00c, AB, immediate).into_iter().map(|f| (75, false, f)));
        list.extend(general(90, 0x00c, AB, immediate).into_iter().map(|f| (90, false, f)));
        list.extend(uniform(0x08c, UAB, immediate).into_iter().map(|f| (80, true, f)));
    }
    for (sm, u, form) in list {
        for compare in 0..8 {
            for combine in 0..3 {
                for signed in [false, true] {
                    let word = form.word.bits(76, 3, compare).bits(74, 2, combine).bits(73, 1, signed.into());
                    let word = word.bits(64, 8, 0).bits(68, 3, 7);
                    let holds = move |lane: &Lane<'_>| {
                        let wide = |x: u32| if signed { (x as i32).into() } else { x.into() };
                        relation(compare, wide(lane.get(form.a)), wide(lane.get(form.b)))
                    };
                    check(sm, word.pq(0, 7).p(7, combine == 1), |lane| {
                        vec![predicate(u, 0, combined(combine, holds(lane), combine != 1))]
                    });
                    check(sm, word.pq(1, 2).p(1, true), |lane| {
                        let (h, r) = (holds(lane), !lane.pred(u, 1));
                        vec![predicate(u, 1, combined(combine, h, r)), predicate(u, 2, combined(combine, !h, r))]
                    });
                    let extended = word.bits(72, 1, 1).bits(68, 3, 3).bits(71, 1, 1);
                    let pair = move |lane: &Lane<'_>| {
                        let low = !lane.pred(u, 3);
                        let constant = compare == 0 || compare == 7;
                        if lane.get(form.a) == lane.get(form.b) && !constant { low } else { holds(lane) }
                    };
                    check(sm, extended.pq(0, 7).p(7, combine == 1), |lane| {
                        vec![predicate(u, 0, combined(combine, pair(lane), combine != 1))]
                    });
                    check(sm, extended.pq(3, 1).p(1, false), |lane| {
                        let (h, r) = (pair(lane), lane.pred(u, 1));
                        vec![predicate(u, 3, combined(combine, h, r)), predicate(u, 1, combined(combine, !h, r))]
                    });
                }
            }
        }
    }
}

#[test]
fn pairs_compare_as_64_bit_numbers() {
    // Low words unsigned, then high words with the first result.
    for (compare, signed) in (1..7).flat_map(|c| [(c, false), (c, true)]) {
        let plain = Word::new(0x00c, 1).bits(81, 6, 0x3f).bits(76, 3, compare).p(7, false);
        let low = plain.a(2).b(4).pq(0, 7).bits(68, 3, 7);
        let high = plain.a(3).b(5).pq(1, 7).bits(73, 1, u64::from(signed)).bits(72, 1, 1).bits(68, 3, 0);
        let mut random = words::check::Random::new(compare + 100);
        for _ in 0..20 {
            let mut before = random.registers();
            // Equal high words are frequent.
            let lanes = random.bits();
            for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                before.general[5][lane] = before.general[3][lane];
            }
            let after = run(75, &[low.0, high.0], &before, &mut Setting::default());
            for lane in 0..32 {
                let value =
                    |n: usize| u64::from(before.general[n][lane]) | u64::from(before.general[n + 1][lane]) << 32;
                let (x, y) = (value(2), value(4));
                let order = if signed { (x as i64).cmp(&(y as i64)) } else { x.cmp(&y) };
                let want = relation(compare, order as i64, 0);
                assert_eq!(after.predicates[1] >> lane & 1 == 1, want, "{compare} {signed} {x:x} {y:x}");
            }
        }
    }
}

#[test]
fn lea_shifts_and_adds() {
    for (sm, u, form) in forms(0x011, ABC, Some((0x091, UABC))) {
        for (form, [minus_a, minus_b, minus_c]) in signs(form, true) {
            // The third operand has no sign. Where B is the register at 64, it has none either: the bit is the
            // shift's lowest.
            let shared = form.minus_b == Some(75);
            if minus_c || shared && minus_b {
                continue;
            }
            for shift in [0_u64, 1, 4, 31] {
                for (high, sign) in [(false, false), (true, false), (true, true)] {
                    let word = form.word.bits(75, 5, shift).bits(80, 1, high.into()).bits(73, 1, sign.into());
                    // The third operand is absent where the first is extended.
                    if sign && matches!(word.0 >> 9 & 7, 2 | 3 | 7) {
                        continue;
                    }
                    let terms = move |lane: &Lane<'_>| {
                        let low = lane.get(form.a);
                        let above = if sign { ((low as i32) >> 31) as u32 } else { lane.get(form.c) };
                        let pair = (u64::from(low) | u64::from(above) << 32) << shift;
                        let shifted = if high { (pair >> 32) as u32 } else { pair as u32 };
                        [(shifted, minus_a), (lane.get(form.b), minus_b)]
                    };
                    check(sm, word, |lane| vec![register(u, 30, sum(&terms(lane), None) as u32)]);
                    check(sm, word.pq(1, 7).d(2), |lane| {
                        let all = sum(&terms(lane), None);
                        vec![register(u, 2, all as u32), predicate(u, 1, all >= 1 << 32)]
                    });
                    check(sm, word.bits(74, 1, 1).pq(0, 7).p(0, true), |lane| {
                        let all = sum(&terms(lane), Some([!lane.pred(u, 0), false]));
                        vec![register(u, 30, all as u32), predicate(u, 0, all >= 1 << 32)]
                    });
                }
            }
        }
    }
}

#[test]
fn lea_of_zero_registers() {
    let r = |lane: &Lane<'_>, n| lane.get(Source::General(n));
    for shift in [0_u64, 3, 31] {
        let word = general(75, 0x011, &[1], 0)[0].word.bits(75, 5, shift);
        check(75, word.bits(32, 8, 255), |lane| vec![Change::R(30, r(lane, 2) << shift)]);
        check(75, word.c(255).bits(80, 1, 1), |lane| {
            let shifted = u64::from(r(lane, 2)) << shift >> 32;
            vec![Change::R(30, (shifted as u32).wrapping_add(r(lane, AT_32)))]
        });
        check(75, word.bits(32, 8, 255).bits(80, 1, 1).bits(73, 1, 1), |lane| {
            vec![Change::R(30, (i64::from(r(lane, 2) as i32) << shift >> 32) as u32)]
        });
    }
}

#[test]
fn minima_and_maxima() {
    let r = |lane: &Lane<'_>, n| lane.get(Source::General(n));
    let best = |signed: bool, least: bool, values: &[u32]| -> u32 {
        let key = |&x: &u32| if signed { i64::from(x as i32) } else { i64::from(x) };
        let ordered = values.iter().copied();
        if least { ordered.min_by_key(key) } else { ordered.max_by_key(key) }.unwrap()
    };
    for signed in [false, true] {
        for form in general(75, 0x017, AB, 0xffff_fff0) {
            let word = form.word.bits(73, 1, signed.into()).c(0);
            let values = move |lane: &Lane<'_>| [lane.get(form.a), lane.get(form.b)];
            check(75, word, |lane| vec![Change::R(30, best(signed, true, &values(lane)))]);
            check(75, word.p(7, true).d(2), |lane| vec![Change::R(2, best(signed, false, &values(lane)))]);
            check(75, word.p(2, true), |lane| vec![Change::R(30, best(signed, !lane.p(2), &values(lane)))]);
        }
        for form in general(90, 0x048, AB, 77) {
            let word = form.word.bits(72, 1, signed.into()).c(0);
            check(90, word.p(3, false), |lane| {
                vec![Change::R(30, best(signed, lane.p(3), &[lane.get(form.a), lane.get(form.b)]))]
            });
        }
        for form in general(90, 0x00f, ABC, 77) {
            let word = form.word.bits(72, 1, signed.into());
            check(90, word.d(AT_64 as u64).p(3, true), |lane| {
                let values = [form.a, form.b, form.c].map(|s| lane.get(s));
                vec![Change::R(AT_64, best(signed, !lane.p(3), &values))]
            });
        }
        for form in general(90, 0x046, ABC, 77) {
            for minus in [false, true] {
                let Some(at) = form.minus_b.filter(|_| minus).or((!minus).then_some(63)) else { continue };
                // Bit 75 is free in these forms.
                let mut word = form.word.bits(72, 1, signed.into());
                if minus {
                    word = word.bits(at, 1, 1);
                }
                check(90, word.p(7, true), |lane| {
                    let (x, y) = (lane.get(form.a), lane.get(form.b));
                    let total = if minus { x.wrapping_sub(y) } else { x.wrapping_add(y) };
                    vec![Change::R(30, best(signed, false, &[total, lane.get(form.c)]))]
                });
            }
        }
    }
    for form in general(90, 0x036, AB, 77) {
        let word = form.word.c(0);
        check(90, word, |lane| vec![Change::R(30, lane.get(form.a).wrapping_add(lane.get(form.b)))]);
        if let Some(bit) = form.minus_b {
            check(90, word.bits(bit, 1, 1), |lane| {
                vec![Change::R(30, lane.get(form.a).wrapping_sub(lane.get(form.b)))]
            });
        }
    }
    check(75, Word::new(0x013, 1).d(30).b(4), |lane| vec![Change::R(30, (r(lane, 4) as i32).unsigned_abs())]);
}

/// Arbitrary words load and run, or are refused.
#[test]
fn no_word_panics() {
    const CODES: [u128; 51] = [
        0x002, 0x003, 0x004, 0x005, 0x006, 0x007, 0x00c, 0x00f, 0x010, 0x011, 0x012, 0x013, 0x014, 0x015, 0x016, 0x017,
        0x019, 0x01a, 0x01b, 0x01c, 0x024, 0x025, 0x026, 0x027, 0x036, 0x038, 0x046, 0x048, 0x082, 0x086, 0x087, 0x08c,
        0x090, 0x091, 0x092, 0x096, 0x099, 0x09a, 0x09c, 0x0a4, 0x0a5, 0x0a7, 0x0b9, 0x0bd, 0x0bf, 0x100, 0x109, 0x119,
        0x189, 0x1a1, 0x1c4,
    ];
    let mut random = words::check::Random::new(7);
    let mut ran = 0;
    for round in 0..12_000 {
        let bits = (0..4).fold(0, |word: u128, _| word << 32 | u128::from(random.bits()));
        let form = 1 + round / CODES.len() % 7;
        let word = Word(bits & !0xfff | CODES[round % CODES.len()] | (form as u128) << 9);
        // Registers that the kernel has, mostly; no bindless banks.
        let word = word.bits(22, 2, 0).bits(30, 2, 0).bits(37, 3, 0).bits(70, 2, 0).bits(54, 5, 0);
        let word = if round % 3 == 0 { word } else { word.bits(91, 1, u64::from(form >= 6)) };
        for sm in [70, 75, 80, 86, 90] {
            if lower::load_words("words", sm, &[word.0, words::EXIT], words::GENERAL as u32).is_ok() {
                let _ = words::try_run(sm, &[word.0], &Registers::default(), &mut Setting::default());
                ran += 1;
            }
        }
    }
    assert!(ran > 5000, "only {ran} words ran");
}
