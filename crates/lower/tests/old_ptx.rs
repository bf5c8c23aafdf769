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

/// As ptxas 11.8 compiles them, for all versions.
#[test]
fn addresses_are_in_registers_of_any_width_and_may_be_elements() {
    let items = |body: &str| {
        words(&format!(
            ".version 2.3\n.target sm_20\n.const .u32 table[4] = {{10, 20, 30, 40}};\n.global .v2 .u32 pairs[2];\n\
             .shared .u32 tile[64];\n.entry k(.param .u64 buffer)\n{{\n.reg .u64 %d<9>; .reg .u32 %r<9>; .reg .u16 %h<9>;\n\
             ld.param.u64 %d0, [buffer];\ncvt.u32.u16 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\n\
             {body}\nst.global.u32 [%d0], %r1;\nexit;\n}}\n"
        ))[..32]
            .to_vec()
    };
    let of = |f: fn(u32) -> u32| (0..32).map(f).collect::<Vec<u32>>();
    assert_eq!(items("ld.const.u32 %r1, table[2];"), of(|_| 30));
    assert_eq!(items("and.b32 %r2, %r0, 3;\nld.const.u32 %r1, table[%r2];"), of(|t| 10 + 10 * (t & 3)));
    assert_eq!(
        items("mov.u64 %d2, pairs[1];\nmov.u64 %d3, pairs;\nsub.u64 %d2, %d2, %d3;\ncvt.u32.u64 %r1, %d2;"),
        of(|_| 8)
    );
    assert_eq!(items("st.global.u32 pairs[1], 7;\nmov.u64 %d3, pairs;\nld.global.u32 %r1, [%d3+8];"), of(|_| 7));
    // A register of 16 bits as the address, with one that wraps around.
    let store = "shl.b32 %r2, %r0, 2;\nst.shared.u32 tile[0], %r0;\nmov.u32 %r3, tile;\nadd.u32 %r2, %r2, %r3;\n\
                 st.shared.u32 [%r2], %r2;\ncvt.u16.u32 %h1, %r2;\n";
    assert_eq!(
        items(&format!("{store}add.u16 %h1, %h1, 65535;\nadd.u16 %h1, %h1, 1;\nld.shared.u32 %r1, [%h1];")),
        of(|t| 4 * t)
    );
    // Words are extended with zeros.
    assert_eq!(
        items(
            "ld.const.u32 %r2, table[0];\nmov.u64 %d2, table;\ncvt.u32.u64 %r3, %d2;\nmov.b64 {%r4, %r5}, %d2;\nsub.u32 %r1, %r3, %r4;"
        ),
        of(|_| 0)
    );
}

#[test]
fn versions_before_1_2_need_no_brackets() {
    let text = |version: &str| {
        format!(
            ".version {version}\n.target compute_10\n.entry k\n{{\n.param .u64 buffer;\n.reg .u64 $d<3>; .reg .u32 $r<3>;\n\
             ld.param.u64 $d0, buffer;\ncvt.u32.u16 $r0, %tid.x;\nmul.wide.u32 $d1, $r0, 4;\nadd.u64 $d0, $d0, $d1;\n\
             st.global.u32 $d0, $r0;\nld.global.u32 $r1, $d0+0;\nst.global.u32 $d0, $r1;\nexit;\n}}\n"
        )
    };
    assert_eq!(words(&text("1.1"))[..32], (0..32).collect::<Vec<u32>>());
    assert!(load("old.ptx", text("1.2"), LowerOptions::default()).is_err());
}

#[test]
fn registers_may_be_declared_for_all_kernels_before_3_0() {
    let text = |version: &str, kind: &str| {
        format!(
            ".version {version}\n.target sm_20\n.reg .u32 all<3>; .reg .u64 address;\n{kind}\n{{\n.reg .u64 %d; .reg .u32 all2;\n\
             mov.u32 all1, %tid.x;\nmul.wide.u32 %d, all1, 4;\nmov.u32 all2, 5;\n\
             {{ .reg .u32 all1; mov.u32 all1, 9; add.u32 all2, all2, all1; }}\nadd.u32 all2, all2, all1;\n\
             ld.param.u64 address, [buffer];\nadd.u64 %d, %d, address;\nst.global.u32 [%d], all2;\nret;\n}}\n"
        )
    };
    let kernel = ".entry k(.param .u64 buffer)";
    assert_eq!(words(&text("2.3", kernel))[..32], (14..46).collect::<Vec<u32>>());
    assert!(load("new.ptx", text("3.0", kernel), LowerOptions::default()).is_err());
    // A function would share them with its callers, which is not executable.
    assert!(load("old.ptx", text("2.3", ".func f(.param .u64 buffer)"), LowerOptions::default()).is_err());
}
