//! Exchange between lanes of machine code.

use crate::words;

use words::check::Random;
use words::{Column, EXIT, Registers, Setting, Word, run};

const UNIFORM: usize = 30;

/// Runs a word on the lanes of `active` only, the others having exited.
fn run_on(sm: u8, word: Word, active: u32, before: &Registers) -> Registers {
    let mut before = before.clone();
    before.predicates[6] = active;
    run(sm, &[Word(EXIT).guard(6, true).0, word.0], &before, &mut Setting::default())
}

/// The masks of lanes that tests use.
const MASKS: [u32; 5] = [!0, 1, 0x8000_0000, 0x0000_ffff, 0x5a5a_1234];

fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

/// The lane that `shfl` reads, from the pseudocode of the PTX manual.
fn source(mode: u64, lane: i32, b: u32, c: u32) -> (i32, bool) {
    let (b, clamp, segment) = ((b & 31) as i32, (c & 31) as i32, (c >> 8 & 31) as i32);
    let most = (lane & segment) | (clamp & !segment);
    let least = lane & segment;
    let (j, holds) = match mode {
        1 => (lane - b, lane - b >= most),
        2 => (lane + b, lane + b <= most),
        3 => (lane ^ b, lane ^ b <= most),
        _ => (least | (b & !segment), (least | (b & !segment)) <= most),
    };
    if holds { (j, true) } else { (lane, false) }
}

#[test]
fn shfl_in_all_forms() {
    let mut random = Random::new(1);
    for mode in 0..4_u64 {
        for (lane_at, segment) in
            [(0, 0x1f), (1, 0x1f), (16, 0x1f), (31, 0x1f), (3, 0x181f), (7, 0x1c1f), (2, 0x1e03), (5, 0)]
        {
            let before = random.registers();
            let word = |form| Word::new(0x189, form).d(30).a(2).pq(1, 0).bits(58, 2, mode);
            let forms = [
                (word(1).bits(32, 8, 4).c(6), None, None),
                (word(2).bits(32, 8, 4).bits(40, 13, segment), None, Some(segment)),
                (word(4).bits(53, 5, lane_at).c(6), Some(lane_at), None),
                (word(7).bits(53, 5, lane_at).bits(40, 13, segment), Some(lane_at), Some(segment)),
            ];
            for (word, b, c) in forms {
                let after = run(75, &[word.0], &before, &mut Setting::default());
                for lane in 0..32 {
                    let b = b.map_or(before.general[4][lane], |b| b as u32);
                    let c = c.map_or(before.general[6][lane], |c| c as u32);
                    let (from, holds) = source(mode, lane as i32, b, c);
                    assert_eq!(after.general[30][lane], before.general[2][from as usize], "{mode} {b:x} {c:x} {lane}");
                    assert_eq!(after.predicates[1] >> lane & 1 == 1, holds, "{mode} {b:x} {c:x} {lane}");
                }
            }
        }
    }
}

#[test]
fn shfl_may_overwrite_its_source() {
    let before = Random::new(2).registers();
    // Butterfly by 16, whole warp, in place; no predicate.
    let word = Word::new(0x189, 7).d(2).a(2).pq(7, 0).bits(58, 2, 3).bits(53, 5, 16).bits(40, 13, 0x1f);
    let after = run(80, &[word.0], &before, &mut Setting::default());
    assert_eq!(after.general[2], std::array::from_fn(|lane| before.general[2][lane ^ 16]));
    assert_eq!(after.predicates, before.predicates);
}

#[test]
fn votes_count_active_lanes_only() {
    for (mask, not) in MASKS.into_iter().flat_map(|m| [(m, false), (m, true)]) {
        for votes in [0, !0, 0x1234_5678, mask] {
            let mut before = Random::new(3).registers();
            before.predicates[2] = if not { !votes } else { votes };
            let ballot = votes & mask;
            for (mode, truth) in [(0, ballot == mask), (1, ballot != 0), (2, ballot == mask || ballot == 0)] {
                let vote = Word::new(0x006, 4).bits(72, 2, mode).p(2, not);
                // The predicate is also the source.
                let after = run_on(75, vote.d(30).pq(2, 0), mask, &before);
                for lane in 0..32 {
                    let on = mask >> lane & 1 == 1;
                    let old = (before.general[30][lane], before.predicates[2] >> lane & 1 == 1);
                    let got = (after.general[30][lane], after.predicates[2] >> lane & 1 == 1);
                    assert_eq!(got, if on { (ballot, truth) } else { old });
                }
                let after = run_on(75, vote.d(255).pq(7, 0), mask, &before);
                assert_eq!(after.general, before.general);
                let voteu = Word::new(0x086, 4).bits(72, 2, mode).p(2, not).d(UNIFORM as u64).pq(3, 0);
                let after = run_on(80, voteu, mask, &before);
                assert_eq!(after.uniform[UNIFORM], ballot);
                assert_eq!(after.uniform_predicates[3], truth);
            }
        }
    }
}

#[test]
fn match_finds_equal_values() {
    for mask in MASKS {
        for wide in [false, true] {
            for same in [false, true] {
                let mut before = Random::new(4).registers();
                for lane in 0..32 {
                    before.general[2][lane] = if same { 9 } else { lane as u32 % 3 };
                    before.general[3][lane] = if same { 8 } else { lane as u32 / 16 };
                }
                let value = |lane: usize| (before.general[2][lane], if wide { before.general[3][lane] } else { 0 });
                let word = Word::new(0x1a1, 1).d(2).a(2).bits(73, 1, wide.into());
                let after = run_on(75, word.bits(79, 1, 1), mask, &before);
                for lane in lanes(mask) {
                    let equal = lanes(mask).filter(|&l| value(l) == value(lane)).fold(0, |m, l| m | 1 << l);
                    assert_eq!(after.general[2][lane], equal);
                }
                let after = run_on(75, word.pq(1, 0), mask, &before);
                let agree = lanes(mask).all(|l| value(l) == value(mask.trailing_zeros() as usize));
                for lane in lanes(mask) {
                    assert_eq!(after.general[2][lane], if agree { mask } else { 0 });
                    assert_eq!(after.predicates[1] >> lane & 1 == 1, agree);
                }
            }
        }
    }
}

type Reduction = fn(&[u32]) -> u32;

#[test]
fn redux_reduces_active_lanes_into_a_uniform_register() {
    let operations: [(u64, bool, Reduction); 8] = [
        (0, false, |v| v.iter().fold(!0, |a, b| a & b)),
        (1, false, |v| v.iter().fold(0, |a, b| a | b)),
        (2, false, |v| v.iter().fold(0, |a, b| a ^ b)),
        (3, false, |v| v.iter().fold(0, |a, b| a.wrapping_add(*b))),
        (4, false, |v| *v.iter().min().unwrap()),
        (5, false, |v| *v.iter().max().unwrap()),
        (4, true, |v| v.iter().map(|x| *x as i32).min().unwrap() as u32),
        (5, true, |v| v.iter().map(|x| *x as i32).max().unwrap() as u32),
    ];
    for mask in MASKS {
        for (operation, signed, of) in operations {
            let before = Random::new(mask.into()).registers();
            let word = Word::new(0x1c4, 1).d(UNIFORM as u64).a(2).bits(78, 3, operation).bits(73, 1, signed.into());
            let values: Vec<u32> = lanes(mask).map(|lane| before.general[2][lane]).collect();
            assert_eq!(run_on(80, word, mask, &before).uniform[UNIFORM], of(&values));
        }
    }
}

#[test]
fn r2ur_takes_the_first_active_lane() {
    for mask in MASKS {
        for code in [0x1c2, 0x0ca] {
            let before = Random::new(6).registers();
            let word = Word::new(code, 1).d(UNIFORM as u64).a(2).pq(7, 0);
            let column: Column = before.general[2];
            assert_eq!(run_on(90, word, mask, &before).uniform[UNIFORM], column[mask.trailing_zeros() as usize]);
            // Under a guard that no lane has, nothing is written.
            let mut none = before.clone();
            none.predicates[1] = 0;
            let after = run_on(90, word.guard(1, false), mask, &none);
            assert_eq!(after.uniform[UNIFORM], none.uniform[UNIFORM]);
        }
    }
}

#[test]
fn r2ur_tells_the_lanes_of_other_values() {
    for mask in MASKS {
        for (or, old) in [(0, 0x0f0f_0f0f), (1, 0x0f0f_0f0f)] {
            let mut before = Random::new(7).registers();
            // Values that several lanes share.
            before.general[2] = std::array::from_fn(|lane| lane as u32 % 3);
            before.predicates[0] = old;
            let word = Word::new(0x0ca, 1).d(UNIFORM as u64).a(2).pq(0, or);
            let first = before.general[2][mask.trailing_zeros() as usize];
            let others = (0..32).filter(|&lane| before.general[2][lane] != first).fold(0, |m, lane| m | 1_u32 << lane);
            let found = others | if or == 1 { old } else { 0 };
            let after = run_on(90, word, mask, &before);
            assert_eq!(after.predicates[0], old & !mask | found & mask);
            assert_eq!(after.uniform[UNIFORM], first);
        }
    }
}
