//! Modules of PTX 1.x and 2.x, and of compilers newer than the table: what they compute.

use crate::common::run_kernel;
use lower::{LowerOptions, load};

/// Runs the only kernel of a module on two CTAs of 32 threads, with a buffer of zeros.
fn words(text: &str) -> Vec<u32> {
    let loaded = load("old.ptx", text, LowerOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(loaded.problems(), None);
    run_kernel(&loaded, &loaded.module.kernels[0], (2, 32), &[0; 64]).unwrap().words
}

#[test]
fn special_registers_are_sources_of_conversions() {
    let text = include_str!("../../ptx/tests/data/valid/old_special_registers.ptx");
    assert_eq!(words(text), (0..64).collect::<Vec<u32>>());
}

#[test]
fn prototypes_need_no_semicolon() {
    let text = include_str!("../../ptx/tests/data/valid/old_prototype_without_semicolon.ptx");
    assert_eq!(words(text)[..32], (0..32).map(|n| 2 * n).collect::<Vec<u32>>());
}

/// A body over `$buf`, `$tid` and `$one`, a float of 1, in a module of PTX 1.3, which declares parameters in the body.
fn of_version_1_3(body: &str) -> u32 {
    let text = format!(
        ".version 1.3\n.target sm_13\n.entry k\n{{\n.param .u64 buffer;\n.reg .u64 $buf; .reg .u32 $r<9>; .reg .u16 $h<9>;\n\
         .reg .f32 $f<9>; .reg .pred $p;\nld.param.u64 $buf, [buffer];\ncvt.u32.u16 $r0, %tid.x;\nsetp.ne.u32 $p, $r0, 5;\n\
         @$p exit;\n{body}\nst.global.u32 [$buf], $r1;\nexit;\n}}\n"
    );
    words(&text)[0]
}

#[test]
fn old_forms_compute_what_ptxas_makes_of_them() {
    let rows = [
        ("mov.v4.u32 {$r1, $r2, $r3, $r4}, %tid;", 5),
        ("mov.v4.u32 {$r2, $r3, $r4, $r1}, %ntid;", 0),
        ("mov.v4.u16 {$h1, $h2, $h3, $h4}, %ntid; cvt.u32.u16 $r1, $h1;", 32),
        ("mov.b32 {$h1, $h2}, %tid.x; cvt.u32.u16 $r1, $h2;", 0),
        ("cvt.u32.u8 $r1, %ntid.x;", 32),
        ("mov.f32 $f1, 0f40800000; rcp.f32 $f1, $f1; mov.b32 $r1, $f1;", 0.25_f32.to_bits()),
        ("mov.f32 $f1, 0f40800000; sqrt.f32 $f1, $f1; mov.b32 $r1, $f1;", 2_f32.to_bits()),
        ("mov.f32 $f1, 0f40800000; mad.f32 $f1, $f1, $f1, $f1; mov.b32 $r1, $f1;", 20_f32.to_bits()),
        // Targets before sm_20 flush subnormal numbers.
        ("mov.b32 $f1, 1; add.f32 $f1, $f1, $f1; mov.b32 $r1, $f1;", 0),
        ("mov.b32 $f1, 1; neg.f32 $f1, $f1; mov.b32 $r1, $f1;", 0x8000_0000),
        ("mov.b32 $f1, 1; mov.f32 $f2, $f1; mov.b32 $r1, $f2;", 1),
    ];
    for (body, expected) in rows {
        assert_eq!(of_version_1_3(body), expected, "{body}");
    }
}
