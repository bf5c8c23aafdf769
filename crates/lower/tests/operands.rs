//! Forms of operands: vectors as wholes and by element, offsets on registers, predicates and vectors as
//! arguments, variables of functions, accesses of 32 bytes.

use crate::common;

use common::{kernel, run_words, try_run, try_run_ptx};

/// Lanes' words of a kernel of one warp whose body starts from the thread's number in `%i`.
fn lanes(items: &str, body: &str) -> Vec<u32> {
    run_words(&format!("{items}{}", kernel(body)), 1, 32, &[0; 32 * 16])
}

#[test]
fn vectors_are_moved_whole() {
    let body = ".reg .v4 .u16 v, w;\n.reg .v2 .f32 f;\n.reg .v2 .b16 h;\n.reg .v2 .b64 d;\n\
        cvt.u16.u32 %h0, %i;\nadd.u16 %h1, %h0, 100;\nadd.u16 %h2, %h0, 200;\nadd.u16 %h3, %h0, 300;\n\
        mov.v4.u16 v, {%h0, %h1, %h2, %h3};\nmov.v4.u16 w, v;\n\
        mov.v4.u16 {%h4, %h5, %h6, %h7}, w;\n\
        mov.b32 %r0, {%h5, %h4};\nmov.b32 %r1, {%h7, w.z};\n\
        mov.b64 %rd0, w;\nmov.b64 v, %rd0;\nmov.b32 %r2, {v.w, v.y};\n\
        mov.v2.b32 {%r3, %r4}, {%i, 7};\n\
        mov.v2.b32 {%r3, %r4}, {%r4, %r3};\n\
        cvt.rn.f32.u32 %f0, %i;\nmov.v2.f32 f, {%f0, 0f40000000};\nfma.rn.f32 f.y, f.x, f.y, f.g;\ncvt.rzi.u32.f32 %r5, f.y;\n\
        mov.b32 h, %i;\nmov.b32 %r6, h;\nmov.v2.b64 d, {%rd0, %off};\nmov.b64 {%r7, _}, d.y;\n\
        mul.lo.u32 %r8, %i, 28;\nadd.u64 %at, %at, %r8;\n";
    let body = body.replace("add.u64 %at, %at, %r8;", "cvt.u64.u32 %rd1, %r8;\nadd.u64 %at, %at, %rd1;");
    let stores: String = (0..8).map(|k| format!("st.global.u32 [%at+{}], %r{k};\n", 4 * k)).collect();
    let words = lanes("", &format!("{body}{stores}"));
    for i in 0..32 {
        let want =
            [i << 16 | (i + 100), (i + 200) << 16 | (i + 300), (i + 100) << 16 | (i + 300), 7, i, 2 * i + 2, i, 4 * i];
        assert_eq!(words[8 * i as usize..][..8], want, "lane {i}");
    }
}

#[test]
fn matrix_instructions_take_whole_vectors() {
    let text = |list: &str, accumulators: &str, at: &str| {
        kernel(&format!(
            ".reg .v2 .b32 a;\n.reg .v4 .f32 c;\n.reg .v2 .b32 b;\n.shared .align 16 .b8 s[1024];\n\
             mov.u32 %r8, s;\nshl.b32 %r9, %i, 4;\nadd.u32 %r9, %r8, %r9;\ncvt.rn.f32.u32 %f0, %i;\n\
             cvt.rn.f16x2.f32 %r0, %f0, 0f3f800000;\nst.shared.v4.b32 [%r9], {{%r0, %r0, %r0, %r0}};\nbar.sync 0;\n\
             ldmatrix.sync.aligned.m8n8.x2.shared.b16 {list}, [%r9];\nmov.b32 b.x, %r0;\n\
             mov.v4.f32 c, {{0f00000000, 0f3f800000, 0f40000000, 0f40400000}};\n\
             mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {accumulators}, {list}, {{b.x}}, {accumulators};\n\
             mul.wide.u32 %off, %i, 16;\nadd.s64 %at, %buf, %off;\nst.global.v4.f32 [%at], {at};"
        ))
    };
    let by_elements =
        run_words(&text("{a.x, a.y}", "{c.x, c.y, c.z, c.w}", "{c.r, c.g, c.b, c.a}"), 1, 32, &[0; 32 * 4]);
    // Of whole vectors ptxas 11.8 makes no sense: it crashes for sm_80, and mixes up registers for sm_90.
    let whole = try_run_ptx(&text("a", "c", "c"), 1, 32, &[0; 32 * 4]).unwrap();
    assert_eq!(whole.words, by_elements);
    assert!(by_elements.iter().any(|&w| f32::from_bits(w) > 100.0));
}

#[test]
fn a_register_may_have_an_offset_where_no_address_is() {
    let body = "add.u32 %r0, %i+4, %i;\nmov.u32 %r1, %i+-1;\nsetp.lt.u32 %p0, %i+28, 40;\nselp.u32 %r2, %i+1, 0, %p0;\n\
        add.u64 %rd0, %off+8, 1;\ncvt.u32.u64 %r3, %rd0;\nmul.wide.u32 %off, %i+0, 16;\nadd.s64 %at, %buf, %off;\n\
        @!%p0 mov.u32 %r1, %r1+100;\nst.global.v4.u32 [%at], {%r0, %r1, %r2, %r3};\nst.global.u32 [%at], %r0+5;";
    let words = lanes("", body);
    for i in 0..32_u32 {
        let low = i + 28 < 40;
        let want = [
            2 * i + 9,
            i.wrapping_sub(1).wrapping_add(if low { 0 } else { 100 }),
            if low { i + 1 } else { 0 },
            4 * i + 9,
        ];
        assert_eq!(words[4 * i as usize..][..4], want, "lane {i}");
    }
}

#[test]
fn predicates_and_vectors_are_passed_to_functions_and_back() {
    let items = ".func (.reg .pred r) odd(.reg .u32 a)\n{\n.reg .u32 x;\nand.b32 x, a, 1;\nsetp.ne.u32 r, x, 0;\nret;\n}\n\
        .func (.reg .pred both, .reg .u32 n) test(.reg .pred p, .reg .pred q, .reg .v2 .u32 v)\n{\n\
        and.pred both, p, q;\nadd.u32 n, v.x, v.y;\n@both ret;\nadd.u32 n, n, 1000;\nret;\n}\n\
        .func (.reg .pred r) below(.reg .u32 a, .reg .pred start)\n{\n.reg .pred q;\n.reg .u32 x;\n\
        mov.pred r, start;\nsetp.eq.u32 q, a, 0;\n@q ret;\nsub.u32 x, a, 1;\nnot.pred q, start;\n\
        call (r), below, (x, q);\nret;\n}\n";
    let body = ".reg .v2 .u32 v;\nmov.v2.u32 v, {%i, 50};\ncall (%p0), odd, (%i);\nsetp.gt.u32 %p1, %i, 15;\n\
        call (%p2, %r0), test, (%p0, !%p1, v);\nselp.u32 %r1, 1, 0, %p0;\nselp.u32 %r2, 1, 0, %p2;\n\
        setp.lt.u32 %p3, %i, 100;\n@%p1 call (%p3, %r0), test, (%p3, %p3, v);\nselp.u32 %r3, 1, 0, %p3;\n\
        call (%p4), below, (%i, %p3);\n@%p4 add.u32 %r3, %r3, 2;\ncall (_), odd, (%i);\n\
        mul.wide.u32 %off, %i, 16;\nadd.s64 %at, %buf, %off;\nst.global.v4.u32 [%at], {%r0, %r1, %r2, %r3};";
    let words = lanes(items, body);
    for i in 0..32_u32 {
        let (odd, high) = (i % 2, u32::from(i > 15));
        let both = odd & (1 - high);
        let sum = i + 50 + if high == 1 || both == 1 { 0 } else { 1000 };
        assert_eq!(words[4 * i as usize..][..4], [sum, odd, both, 1 + 2 * u32::from(i % 2 == 0)], "lane {i}");
    }
}

#[test]
fn functions_have_variables_of_their_own_in_global_and_constant_memory() {
    let items = ".global .u32 g = 1;\n\
        .func (.reg .u32 n) count(.reg .u32 a)\n{\n.global .u32 g = 1000;\n.const .u32 step[2] = {10, 20};\n.reg .u32 s;\n\
        ld.const.u32 s, [step+4];\natom.global.add.u32 n, [g], s;\nret;\n}\n";
    let body = ".global .u64 where = here;\n.global .u32 here[2] = {5, 6};\n\
        setp.ne.u32 %p0, %i, 0;\n@%p0 exit;\n\
        call (%r0), count, (%i);\ncall (%r1), count, (%i);\nld.global.u32 %r2, [g];\n\
        { .global .u32 here = 77;\nld.global.u32 %r4, [here]; }\n\
        ld.global.u64 %rd0, [where];\nld.global.u32 %r3, [%rd0+4];\nst.global.u32 [%at+16], %r4;\n\
        st.global.v4.u32 [%at], {%r0, %r1, %r2, %r3};";
    let body = body.replace(
        ".global .u64 where = here;\n.global .u32 here[2] = {5, 6};",
        ".global .u32 first[2] = {5, 6};\n.global .u64 where = first;",
    );
    let words = common::MODES.map(|mode| {
        let text = format!("{items}{}", kernel(&body));
        common::run_with(&text, mode, (1, 32), &[0; 8]).unwrap_or_else(|fault| panic!("{fault}")).words
    });
    for words in words {
        assert_eq!(words[..5], [1000, 1020, 1, 6, 77]);
    }
}

#[test]
fn accesses_of_32_bytes() {
    let header = ".version 8.8\n.target sm_100\n.address_size 64\n";
    let body = "mul.wide.u32 %off, %i, 64;\nadd.s64 %at, %buf, %off;\nmov.u64 %rd0, %at;\n\
        ld.global.v8.u32 {%r0, %r1, %r2, %r3, %r4, _, %r6, %r7}, [%at];\nadd.u32 %r0, %r0, %r7;\n\
        ld.global.nc.L2::cache_hint.v4.b64 {%rd1, %rd2, %rd0, %rd4}, [%rd0], %off;\n\
        ld.v8.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%at];\ncvt.u32.u64 %r5, %rd4;\n\
        st.global.v8.b32 [%at+32], {%r0, %r1, %r2, 9, %r4, %r5, %r6, %r7};\n\
        st.global.v4.b64 [%at], {%rd4, %rd0, %rd2, %rd1};\n@%p0 st.global.v8.f32 [%at], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};";
    let before: Vec<u32> = (0..32 * 16).map(|k| k * 7 + 1).collect();
    let words = run_words(&format!("{header}{}", kernel(&format!("setp.eq.u32 %p0, %i, 3;\n{body}"))), 1, 32, &before);
    for lane in 0..32 {
        let (old, new) = (&before[16 * lane..][..16], &words[16 * lane..][..16]);
        let swapped = [old[6], old[7], old[4], old[5], old[2], old[3], old[0], old[1]];
        assert_eq!(new[..8], if lane == 3 { <[u32; 8]>::try_from(&old[..8]).unwrap() } else { swapped }, "lane {lane}");
        assert_eq!(new[8..], [old[0] + old[7], old[1], old[2], 9, old[4], old[6], old[6], old[7]], "lane {lane}");
    }
}

#[test]
fn cache_policies_are_accepted_and_have_no_effect() {
    let body = "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd0, 0.5;\n\
        createpolicy.fractional.L2::evict_first.b64 %rd1;\n\
        createpolicy.range.global.L2::evict_last.b64 %rd2, [%buf], %i, 4096;\n\
        createpolicy.cvt.L2.b64 %rd3, 0x10F0000000000000;\n\
        ld.global.L2::cache_hint.u32 %r0, [%at], %rd0;\nadd.u32 %r0, %r0, 3;\n\
        st.global.L1::no_allocate.L2::cache_hint.u32 [%at], %r0, %rd1;\n\
        atom.global.add.L2::cache_hint.u32 %r1, [%at], %r0, %rd2;\nred.global.add.L2::cache_hint.u32 [%at], %r1, %rd3;";
    let words = lanes("", body);
    assert!(words[..32].iter().all(|&w| w == 9), "{words:?}");
    let refused = kernel("ld.global.L2::cache_hint.u32 %r0, [%at], %r1;");
    let text = format!(".version 8.3\n.target sm_90\n.address_size 64\n{refused}");
    let loaded = lower::load("t.ptx", text, lower::LowerOptions::default());
    let problems = match loaded {
        Ok(loaded) => loaded.problems().unwrap_or_default(),
        Err(error) => error.to_string(),
    };
    assert!(problems.contains("64 bits"), "{problems}");
}

#[test]
fn a_fault_in_an_operand_of_its_own_is_that_of_the_instruction() {
    let Err(fault) = try_run(&kernel("ld.global.u32 %r0, [%at+1];\nadd.u32 %r1, %r0+4, 1;"), 1, 32, &[0; 32]) else {
        panic!("a misaligned access is a fault")
    };
    assert!(fault.to_string().contains("ld.global.u32"), "{fault}");
}
