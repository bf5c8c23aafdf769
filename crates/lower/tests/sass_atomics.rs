//! Atomic operations of machine code against a model of bytes.

use crate::sass_memory::*;
use crate::words;
use rand::Rng;
use words::{Registers, Word};

/// An atomic operation on bits, with its type's width.
fn model(op: u64, ty: &str, old: u64, b: u64) -> u64 {
    let wide = ty.contains("64");
    let cut = |x: u64| if wide { x } else { x & 0xffff_ffff };
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as i32) };
    match (op, ty) {
        (0, ".F32.FTZ.RN") => (f32::from_bits(old as u32) + f32::from_bits(b as u32)).to_bits().into(),
        (0, ".F64.RN") => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        (0, _) => cut(old.wrapping_add(b)),
        (1, ".S32" | ".S64") => {
            if signed(old) < signed(b) {
                old
            } else {
                b
            }
        }
        (2, ".S32" | ".S64") => {
            if signed(old) > signed(b) {
                old
            } else {
                b
            }
        }
        (1, _) => old.min(b),
        (2, _) => old.max(b),
        (3, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (4, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        (5, _) => old & b,
        (6, _) => old | b,
        (7, _) => old ^ b,
        _ => b,
    }
}

struct Case {
    code: u64,
    form: u64,
    sm: u8,
    /// Value of the type's field, and its text.
    ty: (u64, &'static str),
    op: u64,
    shared: bool,
}

fn atomic_word(case: &Case, d: u64) -> Word {
    let &Case { code, form, sm, ty, op, shared } = case;
    let word = Word::new(code.into(), form.into()).d(d).a(2).bits(32, 8, 12).bits(73, 3, ty.0).bits(87, 4, op);
    if shared {
        return word;
    }
    let reduction = code == 0x18e || code == 0x1a6;
    let word = word.bits(72, 1, 1).bits(84, 3, 1).bits(73, if sm == 90 { 4 } else { 3 }, ty.0);
    let word = if reduction { word.d(0).bits(87, 3, op) } else { word.bits(81, 3, PT) };
    match sm {
        80.. => {
            let word = word.bits(77, 4, 7).bits(64, 6, DESCRIPTOR).bits(71, 1, 1).bits(91, 1, 1);
            // Bases of 64 bits.
            word.bits(if reduction { 90 } else { 70 }, 1, 1)
        }
        _ => word.bits(77, 2, 2).bits(79, 2, 2),
    }
}

fn check_atomic(case: &Case) {
    let mut bench = Bench::new(case.op + 16 * case.ty.0);
    let wide = case.ty.1.contains("64");
    let float = case.ty.1.contains(".F");
    let text = sass::decode::decode(atomic_word(case, 8).0, 0, case.sm);
    let text = text.map_or_else(|e| e.to_string(), |i| i.to_string());
    // Lanes share eight places, some values are small, so that wrapping and equality occur.
    let size = if wide { 8 } else { 4 };
    let at = |lane: usize| size * (lane % 8);
    let mut memory: Vec<u64> = (0..8).map(|k| if k % 2 == 0 { k } else { bench.random.random() }).collect();
    for lane in 0..32 {
        let value: u64 = if lane % 3 == 0 { lane as u64 } else { bench.random.random() };
        let value = match (float, wide) {
            (true, false) => u64::from((bench.random.random::<f32>() - 0.5).to_bits()),
            (true, true) => (bench.random.random::<f64>() - 0.5).to_bits(),
            _ => value,
        };
        bench.registers.general[12][lane] = value as u32;
        bench.registers.general[13][lane] = (value >> 32) as u32;
    }
    if float {
        memory.iter_mut().for_each(|m| *m = if wide { 1.5_f64.to_bits() } else { 1.5_f32.to_bits().into() });
    }
    if !wide {
        memory.iter_mut().for_each(|m| *m &= 0xffff_ffff);
    }
    let bytes: Vec<u8> = memory.iter().flat_map(|m| m.to_le_bytes()[..size].to_vec()).collect();
    let base = bench.base;
    bench.setting.state.memory.write(base, &bytes).unwrap();
    let mut code = Vec::new();
    if case.shared {
        bench.registers.general[2] = std::array::from_fn(|lane| at(lane) as u32);
        // Fills shared memory from global memory.
        bench.point(4, |lane| base + 4 * (lane % 16));
        bench.registers.general[6] = std::array::from_fn(|lane| 4 * (lane as u32 % 16));
        code.extend([ldg(case.sm, 7, 4, 0, 4).0, sts(6, 0, 7, 4).0]);
    } else {
        bench.point(2, |lane| base + at(lane as usize) as u64);
    }
    code.push(atomic_word(case, 8).0);
    if case.shared {
        code.extend([lds(case.sm, 7, 6, 0, 4).0, stg(case.sm, 4, 0, 7, 4).0]);
    }
    let result = bench.run(case.sm, &code);
    for lane in 0..32 {
        let b = u64::from(bench.registers.general[12][lane]) | u64::from(bench.registers.general[13][lane]) << 32;
        let b = if wide { b } else { b & 0xffff_ffff };
        let place = &mut memory[lane % 8];
        let reduction = matches!(case.code, 0x18e | 0x1a6);
        if !reduction {
            assert_eq!(result.general[8][lane], *place as u32, "{text} lane {lane}");
            if wide {
                assert_eq!(result.general[9][lane], (*place >> 32) as u32, "{text} lane {lane}");
            }
        }
        *place = model(case.op, case.ty.1, *place, b);
    }
    let bytes: Vec<u8> = memory.iter().flat_map(|m| m.to_le_bytes()[..size].to_vec()).collect();
    assert_eq!(bench.memory()[..bytes.len()], bytes, "{text}");
}

#[test]
fn atomics_of_every_operation_and_type() {
    let types = [(0, ""), (1, ".S32"), (2, ".64"), (5, ".S64"), (3, ".F32.FTZ.RN"), (6, ".F64.RN")];
    let types_90 = [(0, ""), (1, ".S32"), (2, ".64"), (3, ".S64")];
    let floats_90 = [(9, ".F32.FTZ.RN"), (15, ".F64.RN")];
    let legal = |op: u64, ty: &str| match op {
        0 => true,
        3 | 4 => ty.is_empty(),
        _ => !ty.contains(".F"),
    };
    for sm in [70, 75, 80, 86, 90] {
        let list: &[(u64, &'static str)] = if sm == 90 { &types_90 } else { &types };
        let form = if sm < 80 { 1 } else { 4 };
        for &ty in list {
            for op in (0..9).filter(|&op| legal(op, ty.1)) {
                for code in [0x1a8, 0x18a] {
                    check_atomic(&Case { code, form, sm, ty, op, shared: false });
                }
                if op < 8 {
                    check_atomic(&Case { code: 0x18e, form: 4, sm, ty, op, shared: false });
                }
            }
        }
        if sm == 90 {
            for ty in floats_90 {
                for code in [0x1a3, 0x1a2, 0x1a6] {
                    check_atomic(&Case { code, form: 4, sm, ty, op: 0, shared: false });
                }
            }
        }
        for ty in [(0, ""), (1, ".S32"), (2, ".64")] {
            for op in (0..9).filter(|&op| legal(op, ty.1)) {
                check_atomic(&Case { code: 0x18c, form: 1, sm, ty, op, shared: true });
            }
        }
    }
    let case = Case { code: 0x18e, form: 4, sm: 75, ty: (3, ""), op: 0, shared: false };
    means("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2], R12", 75, atomic_word(&case, 0));
    let case = Case { code: 0x1a8, form: 4, sm: 86, ty: (2, ""), op: 8, shared: false };
    means("ATOMG.E.EXCH.64.STRONG.GPU PT, R8, [R2.64], R12", 86, atomic_word(&case, 8));
    let case = Case { code: 0x18c, form: 1, sm: 90, ty: (1, ""), op: 1, shared: true };
    means("ATOMS.MIN.S32 R8, [R2], R12", 90, atomic_word(&case, 8));
}

#[test]
fn compare_and_swap() {
    for sm in [70, 75, 80, 90] {
        for wide in [false, true] {
            let ty = if wide { 2 } else { 0 };
            let global = |code| {
                let word = Word::new(code, 1).d(8).a(2).bits(32, 8, 12).c(14).bits(72, 1, 1).bits(73, 3, ty);
                let word = word.bits(84, 3, 1).bits(81, 3, 2);
                if sm < 80 { word.bits(77, 2, 2).bits(79, 2, 2) } else { word.bits(77, 4, 7) }
            };
            let shared = Word::new(0x18d, 1).d(8).a(2).bits(32, 8, 12).c(14).bits(73, 2, ty);
            let cast = shared.bits(87, 2, 3);
            for (number, word) in [global(0x1a9), global(0x18b), shared, cast].into_iter().enumerate() {
                let mut bench = Bench::new(8);
                let (base, in_shared, size) = (bench.base, number >= 2, if wide { 8 } else { 4 });
                // Four lanes use each place; every other one compares with its contents.
                let at = |lane: u64| size * (lane / 4);
                let old: Vec<[u8; 8]> = (0..8).map(|_| bench.random.random()).collect();
                let old: Vec<u64> = old.into_iter().map(u64::from_le_bytes).collect();
                let old: Vec<u64> = old.into_iter().map(|x| if wide { x } else { x & 0xffff_ffff }).collect();
                let bytes: Vec<u8> = old.iter().flat_map(|x| x.to_le_bytes()[..size as usize].to_vec()).collect();
                bench.setting.state.memory.write(base, &bytes).unwrap();
                bench.point(12, |lane| if lane % 2 == 1 { old[lane as usize / 4] } else { 99 });
                bench.point(4, |lane| base + 4 * (lane % 16));
                bench.registers.general[6] = std::array::from_fn(|lane| 4 * (lane as u32 % 16));
                bench.point(2, |lane| if in_shared { at(lane) } else { base + at(lane) });
                bench.registers.predicates = [0; 7];
                let mut code = vec![ldg(sm, 7, 4, 0, 4).0, sts(6, 0, 7, 4).0, word.0];
                if in_shared {
                    code.extend([lds(sm, 7, 6, 0, 4).0, stg(sm, 4, 0, 7, 4).0]);
                }
                let result = bench.run(sm, &code);
                let mut memory = old.clone();
                let pair = |r: &Registers, n: usize, lane: usize| {
                    let high = if wide { r.general[n + 1][lane] } else { 0 };
                    u64::from(r.general[n][lane]) | u64::from(high) << 32
                };
                for lane in 0..32 {
                    let place = &mut memory[lane / 4];
                    let (compared, new) = (pair(&bench.registers, 12, lane), pair(&bench.registers, 14, lane));
                    if number == 3 {
                        assert_eq!(result.general[8][lane], u32::from(*place == compared), "sm_{sm} lane {lane}");
                    } else {
                        assert_eq!(pair(&result, 8, lane), *place, "sm_{sm} lane {lane}");
                    }
                    if *place == compared {
                        *place = new;
                    }
                }
                let bytes: Vec<u8> = memory.iter().flat_map(|x| x.to_le_bytes()[..size as usize].to_vec()).collect();
                assert_eq!(bench.memory()[..bytes.len()], bytes, "sm_{sm} {number}");
                assert_eq!(result.predicates[2], if in_shared { 0 } else { !0 });
            }
        }
    }
    let cast = Word::new(0x18d, 1).d(3).a(0).bits(32, 8, 2).c(3).bits(87, 2, 3);
    means("ATOMS.CAST.SPIN R3, [R0], R2, R3", 75, cast);
}

/// The loop that compilers make of an atomic addition to a number in shared memory.
#[test]
fn a_loop_of_compare_and_store_adds_all_lanes() {
    let mut bench = Bench::new(9);
    bench.registers.general[0] = [16; 32];
    bench.registers.general[5] = std::array::from_fn(|lane| 1 << lane);
    let clear = sts(0, 0, RZ, 4);
    let load = lds(75, 2, 0, 0, 4);
    let set = Word::new(0x18d, 1).d(3).a(0).bits(32, 8, 2).c(5).bits(87, 2, 3);
    let result = bench.run(75, &[clear.0, load.0, set.0, lds(75, 4, 0, 0, 4).0]);
    assert_eq!(result.general[3], std::array::from_fn(|lane| u32::from(lane == 0)), "the first lane wins");
    assert_eq!(result.general[4], [1; 32]);
}

#[test]
fn increments_by_the_number_of_lanes() {
    for sm in [80, 86, 90] {
        let mut bench = Bench::new(10);
        bench.registers.uniform[6] = 8;
        bench.registers.general[2] = std::array::from_fn(|lane| if lane < 20 { 0 } else { 4 });
        bench.registers.predicates[0] = 0x00ff_ffff;
        let clear = [sts(RZ, 8, RZ, 4).0, sts(RZ, 12, RZ, 4).0];
        let inc = Word::new(0x18c, 7).d(RZ).a(2).bits(64, 6, 6).bits(91, 1, 1).guard(0, false);
        let inc = inc.bits(87, 4, if sm < 90 { 10 } else { 11 });
        means("@P0 ATOMS.POPC.INC.32 RZ, [R2+UR6]", sm, inc);
        let read = [lds(sm, 4, RZ, 8, 4).0, lds(sm, 5, RZ, 12, 4).0];
        let result = bench.run(sm, &[clear[0], clear[1], inc.0, read[0], read[1]]);
        assert_eq!((result.general[4][0], result.general[5][0]), (20, 4));
    }
}

#[test]
fn misaligned_and_unknown_atomics_are_refused() {
    for sm in [70, 75, 80, 90] {
        let mut bench = Bench::new(14);
        let base = bench.base;
        let case = Case { code: 0x18e, form: 4, sm, ty: (0, ""), op: 0, shared: false };
        bench.point(2, |_| base + 2);
        assert!(bench.fault(sm, &[atomic_word(&case, 0).0]).contains("misaligned atomic"));
    }
    let refused = |sm: u8, word: Word| lower::load_words("k", sm, &[word.0], 32).unwrap_err().join("\n");
    let case = Case { code: 0x1a8, form: 1, sm: 75, ty: (3, ""), op: 1, shared: false };
    assert!(refused(75, atomic_word(&case, 8)).contains("atomic .MIN of type `.F32.FTZ.RN`"));
    let case = Case { code: 0x1a8, form: 1, sm: 75, ty: (2, ""), op: 3, shared: false };
    assert!(refused(75, atomic_word(&case, 8)).contains("atomic .INC of type `.64`"));
}
