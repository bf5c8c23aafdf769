//! `cvt`, moves, comparisons and selections.

use crate::common;

use common::{check, check_where, value};
use num::half::{Bf16, F16, Half};
use num::{Mode, Rounding, convert, half, small};

const INTS: [&str; 8] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];

/// The register type that holds a PTX type.
fn register(ty: &str) -> &str {
    match ty {
        "u8" | "s8" => "u16",
        ty => ty,
    }
}

fn range(ty: &str) -> (i128, i128) {
    let n: u32 = ty[1..].parse().unwrap();
    if ty.starts_with('s') { (-(1 << (n - 1)), (1 << (n - 1)) - 1) } else { (0, (1 << n) - 1) }
}

/// `x` cut to the type and extended to its register.
fn wrap(x: i128, ty: &str) -> u64 {
    value(x as u64, ty) as u64
}

#[test]
fn integers_to_integers() {
    for from in INTS {
        for to in INTS {
            check(&format!("cvt.{to}.{from} $d, $a"), register(to), &[register(from)], |[a, ..]| {
                wrap(value(a, from), to)
            });
            // It saturates only where the range requires it.
            let (within, whole) = (range(from), range(to));
            if whole.0 <= within.0 && within.1 <= whole.1 {
                continue;
            }
            check(&format!("cvt.sat.{to}.{from} $d, $a"), register(to), &[register(from)], |[a, ..]| {
                let (least, most) = range(to);
                value(a, from).clamp(least, most) as u64
            });
        }
    }
    // Registers wider than the types, as compilers use them.
    check("cvt.s32.s8 $d, $a", "s32", &["u32"], |[a, ..]| a as i8 as i32 as u64);
    check("cvt.s8.s32 $d, $a", "u32", &["s32"], |[a, ..]| a as i8 as i32 as u64);
    check("cvt.u64.u16 $d, $a", "u64", &["u64"], |[a, ..]| a & 0xffff);
}

#[test]
fn integers_to_floats_to_nearest() {
    for from in INTS {
        check(&format!("cvt.rn.f32.{from} $d, $a"), "f32", &[register(from)], |[a, ..]| {
            u64::from((value(a, from) as f32).to_bits())
        });
        check(&format!("cvt.rn.f64.{from} $d, $a"), "f64", &[register(from)], |[a, ..]| {
            (value(a, from) as f64).to_bits()
        });
    }
}

#[test]
fn floats_to_integers_round_and_clamp() {
    type Round = fn(f64) -> f64;
    let modes: [(&str, Round); 4] =
        [("rni", f64::round_ties_even), ("rzi", f64::trunc), ("rmi", f64::floor), ("rpi", f64::ceil)];
    for to in INTS {
        let (least, most) = range(to);
        for (mode, round) in modes {
            let clamp = |x: f64| {
                let x = round(x);
                if x >= most as f64 {
                    most
                } else if x <= least as f64 {
                    least
                } else {
                    x as i128
                }
            };
            check(&format!("cvt.{mode}.{to}.f32 $d, $a"), register(to), &["f32"], |[a, ..]| {
                let x = f32::from_bits(a as u32);
                // NaN: zero, but only the highest bit for 64-bit results, as in the ISA.
                if x.is_nan() { if to.ends_with("64") { 1 << 63 } else { 0 } } else { clamp(f64::from(x)) as u64 }
            });
            check(&format!("cvt.{mode}.{to}.f64 $d, $a"), register(to), &["f64"], |[a, ..]| {
                let x = f64::from_bits(a);
                if x.is_nan() { convert::f64_to_int(x, int_type(to), Rounding::Zero) } else { clamp(x) as u64 }
            });
        }
    }
}

fn int_type(ty: &str) -> convert::IntType {
    convert::IntType::ALL[["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"].iter().position(|t| *t == ty).unwrap()]
}

#[test]
fn floats_to_floats() {
    let f = |x: u64| f32::from_bits(x as u32);
    let bits = |x: f32| u64::from(if x.is_nan() { 0x7fff_ffff } else { x.to_bits() });
    check("cvt.f64.f32 $d, $a", "f64", &["f32"], |[a, ..]| convert::f32_to_f64(f(a), false, false).to_bits());
    check("cvt.rn.f32.f64 $d, $a", "f32", &["f64"], |[a, ..]| bits(f64::from_bits(a) as f32));
    for (mode, round) in [("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)] {
        check(&format!("cvt.{mode}.f32.f64 $d, $a"), "f32", &["f64"], |[a, ..]| {
            u64::from(convert::f64_to_f32(f64::from_bits(a), Mode { round, ..Mode::RN }).to_bits())
        });
    }
    check("cvt.rni.f32.f32 $d, $a", "f32", &["f32"], |[a, ..]| bits(f(a).round_ties_even()));
    check("cvt.rpi.f64.f64 $d, $a", "f64", &["f64"], |[a, ..]| {
        let x = f64::from_bits(a).ceil();
        if x.is_nan() { num::float64::NAN.to_bits() } else { x.to_bits() }
    });
    check("cvt.sat.f32.f32 $d, $a", "f32", &["f32"], |[a, ..]| {
        let x = f(a);
        u64::from((if x > 0.0 { x.min(1.0) } else { 0.0 }).to_bits())
    });
    check("cvt.rn.f16.f32 $d, $a", "b16", &["f32"], |[a, ..]| {
        u64::from(half::from_f32::<F16>(f(a), Rounding::NearestEven))
    });
    check("cvt.rz.bf16.f32 $d, $a", "b16", &["f32"], |[a, ..]| u64::from(half::from_f32::<Bf16>(f(a), Rounding::Zero)));
    check("cvt.f32.f16 $d, $a", "f32", &["b16"], |[a, ..]| bits(F16::to_f32(a as u16)));
    check("cvt.f32.bf16 $d, $a", "f32", &["b16"], |[a, ..]| a << 16);
    let tf32 = |x| u64::from(small::tf32_from_f32(f(x), Rounding::NearestAway, false, false).to_bits());
    let number = |[a, ..]: [u64; 4]| !f(a).is_nan();
    check_where("cvt.rna.tf32.f32 $d, $a", "b32", &["f32"], |[a, ..]| Some(tf32(a)), number);
    check("cvt.rn.f16x2.f32 $d, $a, $b", "b32", &["f32"; 2], |[a, b, ..]| {
        let one = |x| u64::from(half::from_f32::<F16>(f(x), Rounding::NearestEven));
        one(a) << 16 | one(b)
    });
    check("cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b", "b16", &["f32"; 2], |[a, b, ..]| {
        u64::from(small::e4m3_from_f32(f(a), false)) << 8 | u64::from(small::e4m3_from_f32(f(b), false))
    });
    check("cvt.pack.sat.u16.s32 $d, $a, $b", "b32", &["s32"; 2], |[a, b, ..]| {
        let one = |x: u64| (x as i32).clamp(0, 65535) as u64;
        one(a) << 16 | one(b)
    });
    check("cvt.pack.sat.s8.s32.b32 $d, $a, $b, $c", "b32", &["s32", "s32", "b32"], |[a, b, c, _]| {
        let one = |x: u64| (x as i32).clamp(-128, 127) as u8;
        (c & 0xffff) << 16 | u64::from(one(a)) << 8 | u64::from(one(b))
    });
}

#[test]
fn comparisons() {
    type Test = fn(i128, i128) -> bool;
    let relations: [(&str, Test); 6] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
    ];
    for ty in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        for (name, test) in relations {
            let body = format!("setp.{name}.{ty} %p1, $a, $b; selp.u32 $d, 1, 0, %p1;");
            check(&body, "u32", &[ty, ty], |[a, b, ..]| u64::from(test(value(a, ty), value(b, ty))));
        }
    }
    let unordered = |a: f32, b: f32| a.is_nan() || b.is_nan();
    type FloatTest = fn(f32, f32) -> bool;
    let floats: [(&str, FloatTest, bool); 14] = [
        ("eq", |a, b| a == b, false),
        ("ne", |a, b| a != b, false),
        ("lt", |a, b| a < b, false),
        ("le", |a, b| a <= b, false),
        ("gt", |a, b| a > b, false),
        ("ge", |a, b| a >= b, false),
        ("equ", |a, b| a == b, true),
        ("neu", |a, b| a != b, true),
        ("ltu", |a, b| a < b, true),
        ("leu", |a, b| a <= b, true),
        ("gtu", |a, b| a > b, true),
        ("geu", |a, b| a >= b, true),
        ("num", |_, _| true, false),
        ("nan", |_, _| false, true),
    ];
    for (name, test, if_nan) in floats {
        let body = format!(
            "setp.{name}.f32 %p1|%p2, $a, $b; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; or.b32 $d, %r1, %r2;"
        );
        check(&body, "u32", &["f32", "f32"], |[a, b, ..]| {
            let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            if if unordered(a, b) { if_nan } else { test(a, b) } { 1 } else { 2 }
        });
        let body = format!("setp.{name}.f64 %p1, $a, $b; selp.u32 $d, 1, 0, %p1;");
        check(&body, "u32", &["f64", "f64"], |[a, b, ..]| {
            // Only the sign and size of the halves decide; random doubles are rarely equal.
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            let order = |x: f64| if x.is_nan() { f32::NAN } else { 0.0 };
            let holds = match a.partial_cmp(&b) {
                None => if_nan,
                Some(o) => test(o as i8 as f32, 0.0) && order(a) == 0.0,
            };
            u64::from(holds)
        });
    }
}

#[test]
fn combined_comparisons_and_selections() {
    let body = "setp.ne.u32 %p3, $c, 0; setp.lt.and.u32 %p1|%p2, $a, $b, !%p3; \
                selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; or.b32 $d, %r1, %r2;";
    check(body, "u32", &["u32"; 3], |[a, b, c, _]| {
        let with = c == 0;
        u64::from(a < b && with) | u64::from(a >= b && with) << 1
    });
    // Under a guard, ptxas 11.8 converts the truth value to f32 in all lanes.
    check("set.lt.f32.s32 $d, $a, $b;", "f32", &["s32"; 2], |[a, b, ..]| {
        if (a as i32) < b as i32 { u64::from(1.0_f32.to_bits()) } else { 0 }
    });
    check("set.gtu.u32.f32 $d, $a, $b", "u32", &["f32"; 2], |[a, b, ..]| {
        let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        if a > b || a.is_nan() || b.is_nan() { 0xffff_ffff } else { 0 }
    });
    check(
        "slct.u64.s32 $d, $a, $b, $c",
        "u64",
        &["u64", "u64", "s32"],
        |[a, b, c, _]| if c as i32 >= 0 { a } else { b },
    );
    check(
        "setp.eq.f16x2 %p1|%p2, $a, $b; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; or.b32 $d, %r1, %r2;",
        "u32",
        &["b32"; 2],
        |[a, b, ..]| {
            let same = |s: u32| F16::to_f32((a >> s) as u16) == F16::to_f32((b >> s) as u16);
            u64::from(same(0)) | u64::from(same(16)) << 1
        },
    );
}

#[test]
fn packing_moves() {
    check("mov.b64 $d, {$a, $b}", "b64", &["b32"; 2], |[a, b, ..]| b << 32 | a);
    check("mov.b64 {%r1, %r2}, $a; sub.u32 $d, %r1, %r2;", "b32", &["b64"], |[a, ..]| {
        (a as u32).wrapping_sub((a >> 32) as u32).into()
    });
    check("mov.b32 $d, {$a, $b}", "b32", &["b16"; 2], |[a, b, ..]| b << 16 | a);
    check("mov.b32 {%h1, %h2}, $a; mov.b32 $d, {%h2, %h1};", "b32", &["b32"], |[a, ..]| {
        (a << 16 | a >> 16) & 0xffff_ffff
    });
    check("mov.b64 {%h1, %h2, %h3, %h4}, $a; mov.b64 $d, {%h4, %h3, %h2, %h1};", "b64", &["b64"], |[a, ..]| {
        (0..4).fold(0, |r, k| r << 16 | a >> (16 * k) & 0xffff)
    });
    // A part may overwrite the whole.
    check("mov.b64 %rd1, $a; mov.b64 {_, %r1}, %rd1; mov.b32 $d, %r1;", "b32", &["b64"], |[a, ..]| a >> 32);
}

/// `.ftz` makes a subnormal selector a zero of its sign, and -0 is at least 0.
#[test]
fn slct_with_ftz() {
    let minus = |bits: u32| 1 << 31 | bits;
    let rows = [(1, 1, 1), (minus(1), 2, 1), (minus(0x7f_ffff), 2, 1), (minus(0x80_0000), 2, 2), (minus(0), 1, 1)];
    for (c, plain, ftz) in
        rows.into_iter().chain([(0x7fc0_0000, 2, 2), (0x3f80_0000, 1, 1), (minus(0x7f80_0000), 2, 2)])
    {
        let body = format!(
            "mov.b32 %f1, {c}; slct.b32.f32 %r1, 1, 2, %f1; slct.ftz.b32.f32 %r2, 1, 2, %f1;\n\
             mov.b64 %rd1, 1; mov.b64 %rd2, 2; slct.ftz.u64.f32 %rd3, %rd1, %rd2, %f1; cvt.u32.u64 %r3, %rd3;\n\
             mov.b16 %h1, 1; mov.b16 %h2, 2; slct.ftz.b16.f32 %h3, %h1, %h2, %f1; cvt.u32.u16 %r4, %h3;\n\
             st.global.v4.u32 [%buf], {{%r1, %r2, %r3, %r4}};"
        );
        let loaded = common::module(&common::kernel(&body));
        let mut state = exec::DeviceState::default();
        let buffer = state.memory.allocate("buffer", 16).unwrap();
        let one = isa::Dim3::new(1, 1, 1);
        let kernel = loaded.module.kernels[0].clone();
        let launch = exec::Launch::new(kernel, one, one, 0, &[exec::Arg::Pointer(buffer)]).unwrap();
        exec::run(&mut state, &launch).unwrap();
        let mut bytes = [0; 16];
        state.memory.read(buffer, &mut bytes).unwrap();
        assert_eq!([0, 4, 8, 12].map(|at| u32::from(bytes[at])), [plain, ftz, ftz, ftz], "{c:#x}");
    }
}
