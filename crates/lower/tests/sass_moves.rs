//! Moves, selections, logic, permutes, predicates and special registers of machine code.

use crate::words;

use words::check::{
    AT_32, AT_64, Change, Form, Lane, Source, check, general, parameter_base, predicate, register, uniform,
};
use words::{Registers, Setting, Word, run};

const ABC: &[u128] = &[1, 2, 3, 4, 5, 6, 7];
const AB: &[u128] = &[1, 4, 5, 6];

fn forms(code: u128, list: &[u128], twin: Option<(u128, &[u128])>, immediate: u32) -> Vec<(u8, bool, Form)> {
    let mut all: Vec<_> = general(86, code, list, immediate).into_iter().map(|f| (86, false, f)).collect();
    if let Some((code, list)) = twin {
        all.extend(uniform(code, list, immediate).into_iter().map(|f| (80, true, f)));
    }
    all
}

#[test]
fn moves_and_selections() {
    for (sm, u, form) in forms(0x002, AB, Some((0x082, &[4])), 0xcafe_babe) {
        let word = if u { form.word } else { form.word.bits(72, 4, 15) };
        check(sm, word.a(0).c(0), |lane| vec![register(u, 30, lane.get(form.b))]);
    }
    let umov = Word::new(0x082, 6).d(30).b(AT_32 as u32).bits(91, 1, 1);
    check(75, umov, |lane| vec![Change::U(30, lane.get(Source::Uniform(AT_32)))]);
    for (sm, u, form) in forms(0x007, AB, Some((0x087, &[1, 4])), 0xcafe_babe) {
        for not in [false, true] {
            check(sm, form.word.c(0).d(2).p(3, not), |lane| {
                vec![register(u, 2, lane.get(if lane.pred(u, 3) != not { form.a } else { form.b }))]
            });
        }
    }
}

/// Bit by bit, from the truth table.
fn lop3(x: u32, y: u32, z: u32, table: u64) -> u32 {
    (0..32).fold(0, |m, k| {
        let at = (x >> k & 1) << 2 | (y >> k & 1) << 1 | z >> k & 1;
        m | (table as u32 >> at & 1) << k
    })
}

#[test]
fn lop3_of_every_truth_table() {
    for table in 0..256 {
        for (sm, u, form) in forms(0x012, ABC, Some((0x092, &[1, 2, 4])), 0x0ff0_1234) {
            // The predicate source is !PT: plain, and where the disassembler shows none.
            let word = form.word.bits(72, 8, table).bits(80, 1, 0).p(7, true);
            let value = move |lane: &Lane<'_>| lop3(lane.get(form.a), lane.get(form.b), lane.get(form.c), table);
            check(sm, word, |lane| vec![register(u, 30, value(lane))]);
            if form.c == Source::General(AT_64) || form.c == Source::Uniform(AT_64) {
                let zero = word.c(if u { 63 } else { 255 });
                check(sm, zero, |lane| vec![register(u, 30, lop3(lane.get(form.a), lane.get(form.b), 0, table))]);
            }
        }
    }
}

#[test]
fn lop3_tells_whether_the_result_is_zero() {
    for table in [0xc0, 0xfc, 0x3c, 0x80, 0x96, 0x00] {
        for (sm, u, form) in forms(0x012, ABC, Some((0x092, &[1, 2, 4])), 1) {
            let zero = if u { 63 } else { 255 };
            let value = move |lane: &Lane<'_>| lop3(lane.get(form.a), lane.get(form.b), lane.get(form.c), table);
            let word = form.word.bits(72, 8, table).pq(1, 7);
            check(sm, word.d(zero).p(7, true), |lane| vec![predicate(u, 1, value(lane) != 0)]);
            check(sm, word.d(2).p(1, false), |lane| {
                vec![register(u, 2, value(lane)), predicate(u, 1, value(lane) != 0 || lane.pred(u, 1))]
            });
            check(sm, word.d(AT_64 as u64).bits(80, 1, 1).p(3, true), |lane| {
                vec![register(u, AT_64, value(lane)), predicate(u, 1, value(lane) != 0 && !lane.pred(u, 3))]
            });
        }
    }
}

#[test]
fn plop3_of_every_truth_table() {
    for table in 0..256_u64 {
        let other = table * 37 % 256;
        let word = |code| {
            let word = Word::new(code, 4).bits(16, 8, other).bits(64, 3, table).bits(72, 5, table >> 3);
            word.pq(0, 2).p(2, true).bits(77, 3, 1).bits(68, 3, 3).bits(71, 1, 1)
        };
        let of = |table: u64, s: [bool; 3]| {
            let at = s.into_iter().fold(0, |at, s| at << 1 | u64::from(s));
            table >> at & 1 == 1
        };
        for (sm, u, word) in [(70, false, word(0x01c)), (86, false, word(0x01c)), (86, true, word(0x09c))] {
            check(sm, word, |lane| {
                let s = [!lane.pred(u, 2), lane.pred(u, 1), !lane.pred(u, 3)];
                vec![predicate(u, 0, of(table, s)), predicate(u, 2, of(other, s))]
            });
        }
        // One of the sources may be a uniform predicate.
        check(86, word(0x01c).bits(67, 1, 1), |lane| {
            let s = [!lane.p(2), lane.p(1), !lane.up(3)];
            vec![Change::P(0, of(table, s)), Change::P(2, of(other, s))]
        });
        check(86, word(0x01c).pq(7, 0).p(7, false), |lane| {
            vec![Change::P(0, of(other, [true, lane.p(1), !lane.p(3)]))]
        });
    }
}

/// Byte `n` of the pair.
fn byte(pair: u64, n: u32) -> u32 {
    (pair >> (8 * (n & 7))) as u32 & 0xff
}

fn permuted(x: u32, selector: u32, z: u32, mode: u64) -> u32 {
    let pair = u64::from(x) | u64::from(z) << 32;
    let n = selector & 3;
    (0..4).fold(0, |m, k| {
        let value = match mode {
            0 => {
                let nibble = selector >> (4 * k);
                let value = byte(pair, nibble);
                match nibble & 8 {
                    0 => value,
                    _ if value >> 7 == 1 => 0xff,
                    _ => 0,
                }
            }
            1 => byte(pair, n + k),
            2 => byte(pair, (n + 8 - k) % 8),
            3 => byte(pair, n),
            4 => byte(pair, k.max(n)),
            5 => byte(pair, k.min(n)),
            _ => byte(pair, (n & 1) * 2 + (k & 1)),
        };
        m | value << (8 * k)
    })
}

#[test]
fn prmt_in_all_modes() {
    for immediate in [0x5410, 0x7632, 0x3210, 0x7770, 0x8880, 0xba98, 0xffff_1054] {
        for (sm, u, form) in forms(0x016, ABC, Some((0x096, &[1, 2, 4])), immediate) {
            for mode in 0..if u { 1 } else { 7 } {
                check(sm, form.word.d(AT_64 as u64).bits(72, 3, mode), |lane| {
                    let value = permuted(lane.get(form.a), lane.get(form.b), lane.get(form.c), mode);
                    vec![register(u, AT_64, value)]
                });
            }
        }
    }
}

#[test]
fn predicates_to_registers_and_back() {
    for mask in [0x01, 0x40, 0x7f, 0x55, 0x00, 0xff] {
        for part in 0..4_u32 {
            for (sm, u, form) in forms(0x003, AB, Some((0x083, &[4, 6])), mask) {
                let word = form.word.c(0).bits(76, 2, part.into());
                let value = move |lane: &Lane<'_>, rest: u32| {
                    let mask = lane.get(form.b) & 0xff;
                    let all = (0..7).fold(0, |m, p| m | u32::from(lane.pred(u, p)) << p);
                    rest & !(mask << (8 * part)) | (all & mask) << (8 * part)
                };
                check(sm, word, |lane| vec![register(u, 30, value(lane, lane.get(form.a)))]);
                check(sm, word.a(if u { 63 } else { 255 }), |lane| vec![register(u, 30, value(lane, 0))]);
            }
            // Predicate 6 is the guard of the check.
            for (sm, u, form) in forms(0x004, &[4], Some((0x084, &[4])), mask & 0x3f) {
                check(sm, form.word.d(0).c(0).bits(76, 2, part.into()), |lane| {
                    let bits = lane.get(form.a) >> (8 * part);
                    (0..6).filter(|p| mask >> p & 1 == 1).map(|p| predicate(u, p, bits >> p & 1 == 1)).collect()
                });
            }
        }
    }
}

/// The results of an instruction in R30 and R31, and UR30.
fn read(sm: u8, word: Word) -> (Registers, [words::Column; 2], u32) {
    let after = run(sm, &[word.0], &Registers::default(), &mut Setting { shared: 4096, ..Setting::default() });
    let pair = [after.general[30], after.general[31]];
    let uniform = after.uniform[30];
    (after, pair, uniform)
}

#[test]
fn special_registers() {
    let s2r = |number: u64| read(75, Word::new(0x119, 4).d(30).bits(72, 8, number)).1[0];
    let lanes = |f: fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    assert_eq!(s2r(0), lanes(|lane| lane));
    assert_eq!(s2r(32), lanes(|lane| lane));
    assert_eq!(s2r(33), lanes(|lane| lane));
    assert_eq!(s2r(34), [0; 32]);
    assert_eq!(s2r(37), [0; 32]);
    assert_eq!(s2r(48), [exec::memory::SHARED_WINDOW as u32; 32]);
    assert_eq!(s2r(47), [(exec::memory::SHARED_WINDOW >> 32) as u32; 32]);
    assert_eq!(s2r(52), [exec::memory::LOCAL_WINDOW as u32; 32]);
    assert_eq!(s2r(50), [4096; 32]);
    assert_eq!(s2r(56), lanes(|lane| 1 << lane));
    assert_eq!(s2r(57), lanes(|lane| (1 << lane) - 1));
    assert_eq!(s2r(58), lanes(|lane| ((2_u64 << lane) - 1) as u32));
    assert_eq!(s2r(59), lanes(|lane| !((2_u64 << lane) - 1) as u32));
    assert_eq!(s2r(60), lanes(|lane| !((1 << lane) - 1)));
    assert_eq!(s2r(136), [0; 32]);
    // Lane, warp from bit 8, SM from bit 20; 32 lanes, 32 warps, 1 SM.
    assert_eq!(s2r(3), lanes(|lane| lane));
    assert_eq!(s2r(2), [32 | 32 << 8 | 1 << 20; 32]);
    let s2ur = |number: u64| read(75, Word::new(0x1c3, 4).d(30).bits(72, 8, number)).2;
    assert_eq!((s2ur(37), s2ur(48), s2ur(33)), (0, exec::memory::SHARED_WINDOW as u32, 0));
    let unknown = lower::load_words("words", 75, &[Word::new(0x119, 4).d(30).bits(72, 8, 51).0, words::EXIT], 40);
    assert!(unknown.is_err_and(|e| e[0].contains("special register")));
}

#[test]
fn cs2r_reads_words_and_pairs() {
    let cs2r = |number: u64, wide: u64| {
        let zeros = Word::new(0x005, 4).d(28).bits(72, 8, 255).bits(80, 1, 1);
        let word = Word::new(0x005, 4).d(30).bits(72, 8, number).bits(80, 1, wide);
        let mut before = Registers::default();
        before.general[28..32].fill([7; 32]);
        run(75, &[zeros.0, word.0], &before, &mut Setting::default())
    };
    let after = cs2r(80, 1);
    // The second instruction reads the clock that the harness sets for it.
    assert_eq!(after.general[28..32], [[0; 32], [0; 32], [1001; 32], [0; 32]]);
    assert_eq!(cs2r(80, 0).general[30..32], [[1001; 32], [7; 32]]);
    assert_eq!(cs2r(255, 0).general[30..32], [[0; 32], [7; 32]]);
    assert_eq!(cs2r(82, 1).general[30..32], [[1001; 32], [0; 32]]);
}

#[test]
fn s2ur_takes_the_first_lane_that_executes() {
    let word = Word::new(0x1c3, 4).d(30).bits(72, 8, 33);
    // Only lanes 5 to 9 branch: the others exit before.
    let exit = Word(words::EXIT).guard(0, true);
    let mut before = Registers::default();
    before.predicates[0] = 0b11_1110_0000;
    let after = run(75, &[exit.0, word.0], &before, &mut Setting::default());
    assert_eq!(after.uniform[30], 5);
}

#[test]
fn uldc_loads_words_pairs_and_parts() {
    let word = |sm: u8, size: u64, offset: u64| {
        Word::new(0x0b9, 5).d(30).bits(73, 3, size).bank(0, parameter_base(sm) + offset).bits(91, 1, 0)
    };
    for sm in [75, 90] {
        let parameter = |lane: &Lane<'_>, k| lane.get(Source::Constant(k));
        check(sm, word(sm, 4, 12), |lane| vec![Change::U(30, parameter(lane, 3))]);
        check(sm, word(sm, 5, 8), |lane| vec![Change::U(30, parameter(lane, 2)), Change::U(31, parameter(lane, 3))]);
        for within in 0..4 {
            let at = |lane: &Lane<'_>| parameter(lane, 5) >> (8 * within);
            check(sm, word(sm, 0, 20 + within), |lane| vec![Change::U(30, at(lane) & 0xff)]);
            check(sm, word(sm, 1, 20 + within), |lane| vec![Change::U(30, i32::from(at(lane) as i8) as u32)]);
            // The assembler also emits loads of words at addresses that are not multiples of four.
            let from = |lane: &Lane<'_>| {
                let bytes = [5, 6, 7].map(|k| parameter(lane, k).to_le_bytes()).concat();
                u64::from_le_bytes(bytes[within as usize..][..8].try_into().unwrap())
            };
            let (low, high) = (|lane: &Lane<'_>| from(lane) as u32, |lane: &Lane<'_>| (from(lane) >> 32) as u32);
            check(sm, word(sm, 2, 20 + within), |lane| vec![Change::U(30, low(lane) & 0xffff)]);
            check(sm, word(sm, 3, 20 + within), |lane| vec![Change::U(30, i32::from(low(lane) as i16) as u32)]);
            check(sm, word(sm, 4, 20 + within), |lane| vec![Change::U(30, low(lane))]);
            check(sm, word(sm, 5, 20 + within), |lane| vec![Change::U(30, low(lane)), Change::U(31, high(lane))]);
        }
    }
}
