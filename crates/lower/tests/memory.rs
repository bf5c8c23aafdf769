//! Loads, stores, spaces, atomics, asynchronous copies, barriers, and faults.

use crate::common;

use common::{check, kernel, run_words, try_run, try_run_ptx};

#[test]
fn narrow_and_vector_accesses_extend_and_pack() {
    check("st.global.b32 [%in], $a; ld.global.s8 $d, [%in+1];", "s32", &["b32"], |[a, ..]| {
        i64::from((a >> 8) as i8) as u64
    });
    check("st.global.b32 [%in], $a; ld.global.u16 $d, [%in+2];", "u32", &["b32"], |[a, ..]| a >> 16);
    check("st.global.b32 [%in], $a; ld.global.s16 $d, [%in+2];", "s64", &["b32"], |[a, ..]| {
        i64::from((a >> 16) as i16) as u64
    });
    check("st.global.u8 [%in+3], $a; ld.global.u32 $d, [%in];", "u32", &["b16", "b16"], |[a, ..]| a & 0xffff | a << 24);
    check(
        "ld.global.v2.u32 {%r1, %r2}, [%in]; st.global.v2.b32 [%in], {%r2, %r1}; ld.global.u64 $d, [%in];",
        "b64",
        &["b64"],
        |[a, ..]| a.rotate_left(32),
    );
    check("ld.global.v2.u64 {%rd1, $d}, [%in];", "b64", &["b64", "b64"], |[_, b, ..]| b);
    check(
        "ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%in]; st.global.v4.u8 [%in], {%h4, %h3, %h2, %h1}; ld.global.u32 $d, [%in];",
        "b32",
        &["b32"],
        |[a, ..]| u64::from((a as u32).swap_bytes()),
    );
    check("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%in]; mov.b32 $d, %f4;", "b32", &["b64", "b64"], |[_, b, ..]| {
        b >> 32
    });
}

#[test]
fn every_space_keeps_what_is_stored() {
    let items = ".const .align 4 .u32 c[3] = {7, 8, 9};\n.global .align 8 .u64 g = 0x123456789abcdef0;\n".to_owned();
    let body = ".shared .align 4 .b8 tile[128]; .local .align 8 .b8 mine[16];\n\
         mov.u32 %r1, tile; mad.lo.u32 %r1, %i, 4, %r1; st.shared.u32 [%r1], %i; bar.sync 0;\n\
         xor.b32 %r2, %i, 31; mov.u32 %r3, tile; mad.lo.u32 %r3, %r2, 4, %r3; ld.shared.u32 %r4, [%r3];\n\
         st.local.u32 [mine+4], %r4; mov.u64 %rd1, mine; cvta.local.u64 %rd1, %rd1; ld.u32 %r5, [%rd1+4];\n\
         mov.u64 %rd2, tile; cvta.shared.u64 %rd2, %rd2; mul.wide.u32 %rd3, %i, 4; add.s64 %rd2, %rd2, %rd3;\n\
         ld.u32 %r6, [%rd2]; shl.b32 %r6, %r6, 8; or.b32 %r5, %r5, %r6;\n\
         ld.const.u32 %r7, [c+8]; shl.b32 %r7, %r7, 16; or.b32 %r5, %r5, %r7;\n\
         ld.global.u8 %r8, [g+1]; shl.b32 %r8, %r8, 24; or.b32 %r5, %r5, %r8;\n\
         isspacep.shared %p1, %rd2; isspacep.local %p2, %rd1; isspacep.global %p3, %buf; and.pred %p1, %p1, %p2; and.pred %p1, %p1, %p3;\n\
         @%p1 st.global.u32 [%at], %r5;";
    let out = run_words(&(items + &kernel(body)), 1, 32, &[0; 32]);
    for (i, word) in (0..32_u32).zip(out) {
        assert_eq!(word, (31 - i) | i << 8 | 9 << 16 | 0xde << 24, "thread {i}");
    }
}

#[test]
fn a_generic_access_may_fall_in_several_spaces() {
    let body = ".shared .align 4 .b8 tile[128]; .local .align 4 .b8 mine[4];\n\
         mov.u64 %rd1, mine; cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, tile; cvta.shared.u64 %rd2, %rd2;\n\
         mul.wide.u32 %rd3, %i, 4; add.s64 %rd2, %rd2, %rd3; mov.u64 %rd4, %at;\n\
         rem.u32 %r1, %i, 3; setp.eq.u32 %p1, %r1, 1; selp.b64 %rd4, %rd1, %rd4, %p1;\n\
         setp.eq.u32 %p2, %r1, 2; selp.b64 %rd4, %rd2, %rd4, %p2;\n\
         st.u32 [%rd4], %i; ld.u32 %r2, [%rd4]; add.u32 %r2, %r2, 100; atom.add.u32 %r3, [%rd4], 5; ld.u32 %r4, [%rd4];\n\
         shl.b32 %r4, %r4, 16; or.b32 %r2, %r2, %r4; st.global.u32 [%at], %r2;";
    for (i, word) in (0..32_u32).zip(run_words(&kernel(body), 1, 32, &[0; 32])) {
        assert_eq!(word, (i + 100) | ((i + 5) << 16), "thread {i}");
    }
}

#[test]
fn atomics_return_old_values_and_lose_no_update() {
    // All threads on one word: the old values are a permutation.
    let out = run_words(&kernel("atom.global.add.u32 %r1, [%buf], 1; st.global.u32 [%at+4], %r1;"), 2, 64, &[0; 129]);
    assert_eq!(out[0], 128);
    let mut old = out[1..].to_vec();
    old.sort_unstable();
    assert!(old.into_iter().eq(0..128));
    let check_two = |op: &str, ty: &str, f: &dyn Fn(u64, u64) -> u64| {
        let n = ty.trim_start_matches(|c: char| c.is_alphabetic());
        let width = if n == "64" { "b64" } else { "b32" };
        // An exchange without a result is a store.
        let red = if op == "exch" { format!("atom.global.exch.{ty} _,") } else { format!("red.global.{op}.{ty}") };
        check(
            &format!("st.global.{width} [%in+16], $a; {red} [%in+16], $b; ld.global.{width} $d, [%in+16];"),
            width,
            &[width; 2],
            |[a, b, ..]| f(a, b),
        );
        check(
            &format!("st.global.{width} [%in+16], $a; atom.global.{op}.{ty} $d, [%in+16], $b;"),
            width,
            &[width; 2],
            |[a, ..]| a,
        );
    };
    check_two("add", "u32", &|a, b| a.wrapping_add(b));
    check_two("add", "u64", &|a, b| a.wrapping_add(b));
    check_two("min", "s32", &|a, b| (a as i32).min(b as i32) as u64);
    check_two("max", "u32", &|a, b| a.max(b));
    check_two("max", "s64", &|a, b| (a as i64).max(b as i64) as u64);
    check_two("and", "b32", &|a, b| a & b);
    check_two("or", "b64", &|a, b| a | b);
    check_two("xor", "b32", &|a, b| a ^ b);
    check_two("inc", "u32", &|a, b| if a >= b { 0 } else { a + 1 });
    check_two("dec", "u32", &|a, b| if a == 0 || a > b { b } else { a - 1 });
    check_two("exch", "b64", &|_, b| b);
    check(
        "st.global.b32 [%in+16], $a; atom.global.cas.b32 %r1, [%in+16], $b, $c; ld.global.b32 $d, [%in+16];",
        "b32",
        &["b32"; 3],
        |[a, b, c, _]| if a == b { c } else { a },
    );
    check(
        "st.global.b32 [%in+16], $a; atom.global.cas.b32 %r1, [%in+16], $a, $b; ld.global.b32 $d, [%in+16];",
        "b32",
        &["b32"; 2],
        |[_, b, ..]| b,
    );
    check(
        "st.global.f64 [%in+16], $a; atom.global.add.f64 %d1, [%in+16], $b; ld.global.f64 $d, [%in+16];",
        "f64",
        &["f64"; 2],
        |[a, b, ..]| {
            let sum = f64::from_bits(a) + f64::from_bits(b);
            if sum.is_nan() { num::float64::NAN.to_bits() } else { sum.to_bits() }
        },
    );
    let body = ".shared .align 4 .u32 sum; setp.eq.u32 %p1, %i, 0; @%p1 st.shared.u32 [sum], 0; bar.sync 0;\n\
         cvt.rn.f32.u32 %f1, %i; red.shared.add.f32 [sum], %f1; bar.sync 0; ld.shared.f32 %f2, [sum]; st.global.f32 [%at], %f2;";
    let out = run_words(&kernel(body), 1, 96, &[0; 96]);
    assert!(out.iter().all(|&w| f32::from_bits(w) == (96 * 95 / 2) as f32));
    check(
        "st.global.b32 [%in+16], $a; atom.global.add.noftz.f16x2 %r1, [%in+16], $b; ld.global.b32 $d, [%in+16];",
        "b32",
        &["b32"; 2],
        |[a, b, ..]| u64::from(num::atomic::add_half2::<num::half::F16>(a as u32, b as u32)),
    );
}

#[test]
fn asynchronous_copies_arrive_and_fill_with_zeros() {
    let body = ".shared .align 16 .b8 tile[512]; mov.u32 %r1, tile; mad.lo.u32 %r1, %i, 16, %r1;\n\
         mul.wide.u32 %rd1, %i, 16; add.s64 %rd1, %buf, %rd1; and.b32 %r2, %i, 15;\n\
         cp.async.cg.shared.global [%r1], [%rd1], 16, %r2; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;\n\
         ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1]; st.global.v4.u32 [%rd1], {%r6, %r5, %r4, %r3};";
    let words: Vec<u32> = (0..128).map(|i| 0x0101_0101 * (i % 255 + 1)).collect();
    let out = run_words(&kernel(body), 1, 32, &words);
    for i in 0..32 {
        let mut bytes: Vec<u8> = words[4 * i..4 * i + 4].iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes[i & 15..].fill(0);
        let expected: Vec<u32> = bytes.as_chunks::<4>().0.iter().rev().map(|b| u32::from_le_bytes(*b)).collect();
        assert_eq!(out[4 * i..4 * i + 4], expected, "thread {i}");
    }
}

/// Also where the other lanes of a half of the warp read adjacent words.
#[test]
fn asynchronous_copies_of_some_lanes_are_zeros() {
    let body = ".shared .align 16 .b8 tile[512]; mov.u32 %r1, tile; mad.lo.u32 %r1, %i, 16, %r1;\n\
         mul.wide.u32 %rd1, %i, 16; add.s64 %rd1, %buf, %rd1; and.b32 %r2, %i, 3; setp.eq.u32 %p1, %r2, 3;\n\
         cp.async.cg.shared.global [%r1], [%rd1], 16, %p1; cp.async.wait_all; bar.sync 0;\n\
         ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1]; st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};";
    let out = run_words(&kernel(body), 1, 32, &(1..129).collect::<Vec<u32>>());
    for (i, word) in out.into_iter().enumerate() {
        assert_eq!(word, if i / 4 % 4 == 3 { 0 } else { i as u32 + 1 }, "word {i}");
    }
}

#[test]
fn barriers_reduce_over_the_block_and_count_threads() {
    let body = "setp.lt.u32 %p1, %i, 50; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 1, %p1; bar.red.or.pred %p3, 1, %p1;\n\
         selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 2, 0, %p3; or.b32 %r2, %r2, %r3; shl.b32 %r1, %r1, 8; or.b32 %r1, %r1, %r2;\n\
         st.global.u32 [%at], %r1;";
    assert!(run_words(&kernel(body), 1, 100, &[0; 100]).iter().all(|&w| w == 50 << 8 | 2));
    // Two warps produce, one consumes: arrive and sync on a barrier of 96 threads.
    let body = ".shared .align 4 .b8 box[256]; mov.u32 %r1, box; mad.lo.u32 %r1, %i, 4, %r1; setp.ge.u32 %p1, %i, 64; @%p1 bra CONSUME;\n\
         st.shared.u32 [%r1], %i; bar.arrive 3, 96; ret;\n\
         CONSUME: bar.sync 3, 96; ld.shared.u32 %r2, [%r1-256]; ld.shared.u32 %r3, [%r1-128]; add.u32 %r2, %r2, %r3; st.global.u32 [%at], %r2;";
    let out = run_words(&kernel(body), 1, 96, &[0; 96]);
    assert!((64..96).all(|i| out[i] == 2 * (i as u32 - 64) + 32), "{out:?}");
}

#[test]
fn a_barrier_that_no_lane_executes_is_no_arrival() {
    let body =
        "setp.gt.u32 %p1, %i, 1000; @%p1 bar.sync 1, 64; @%p1 bar.red.popc.u32 %r1, 2, %p1; st.global.u32 [%at], 4;";
    assert_eq!(run_words(&kernel(body), 1, 32, &[0; 32]), [4; 32]);
}

fn fault(body: &str, threads: u32) -> isa::Fault {
    *try_run(&kernel(body), 1, threads, &[0; 64]).expect_err("a fault")
}

#[test]
fn bad_addresses_are_faults_that_name_place_and_thread() {
    let f = fault("setp.eq.u32 %p1, %i, 40; @%p1 st.global.u32 [%buf+256], 1;", 64);
    assert!(
        f.what.contains("nearest is `buffer` (256 bytes") && f.what.contains("directly after its last byte"),
        "{f}"
    );
    assert_eq!((f.thread.x, f.lanes, f.cta.x), (40, 1 << 8, 0));
    assert!(f.spot.kernel == "k" && f.spot.text == "@%p1 st.global.u32 [%buf+256], 1;" && f.spot.line > 0, "{f}");

    let f = fault("ld.global.u32 %r1, [%buf+2];", 32);
    assert!(f.what.starts_with("misaligned load") && f.lanes == u32::MAX, "{f}");
    let f = fault("ld.global.u64 %rd1, [%buf+252];", 32);
    assert!(f.what.contains("misaligned") || f.what.contains("out-of-bounds"), "{f}");
    let f = fault("mov.u64 %rd1, 0; ld.u32 %r1, [%rd1+8];", 32);
    assert!(f.what.contains("out-of-bounds load from global address 0x8"), "{f}");
    let f = fault(".shared .align 4 .b8 s[64]; mov.u32 %r1, s; st.shared.u32 [%r1+64], 1;", 32);
    assert!(f.what.contains("outside the CTA's 64 bytes of shared memory"), "{f}");
    let f = fault(".local .align 4 .b8 l[16]; mov.u64 %rd1, l; ld.local.u32 %r1, [%rd1+4096];", 32);
    assert!(f.what.contains("outside the thread's 16 bytes of local memory"), "{f}");
    let f = fault("atom.global.add.u32 %r1, [%buf+1024], 1;", 32);
    assert!(f.what.contains("out-of-bounds atomic access"), "{f}");
    let f = fault("mov.u32 %r1, 16; bar.sync %r1;", 32);
    assert!(f.what.contains("barrier 16 does not exist"), "{f}");
    let f = *try_run(
        &(".const .u32 c = 1;\n".to_owned() + &kernel("mov.u64 %rd1, c; st.global.u32 [%rd1], 2;")),
        1,
        1,
        &[0],
    )
    .err()
    .unwrap();
    assert!(f.what.contains("`c` (4 bytes") && f.what.contains("which is constant"), "{f}");
}

#[test]
fn faults_have_the_kind_of_their_error_code() {
    use isa::FaultKind::*;
    let of = |body| fault(body, 32).kind;
    assert_eq!(of("ld.global.u32 %r1, [%buf+4096];"), IllegalAddress);
    assert_eq!(of("mov.u64 %rd1, 16; ld.u32 %r1, [%rd1];"), IllegalAddress);
    assert_eq!(of(".shared .align 4 .b8 s[64]; st.shared.u32 [s+64], 1;"), IllegalAddress);
    assert_eq!(of("atom.global.add.u32 %r1, [%buf+1024], 1;"), IllegalAddress);
    assert_eq!(of("ld.global.u32 %r1, [%buf+2];"), MisalignedAddress);
    assert_eq!(of("atom.global.add.u64 %rd1, [%buf+4], 1;"), MisalignedAddress);
    assert_eq!(of("trap;"), Trap);
    assert_eq!(of("mov.u32 %r1, 16; bar.sync %r1;"), IllegalInstruction);
    assert_eq!(of("setp.lt.u32 %p1, %i, 16; @%p1 bar.sync 1, 64;"), Other);
    assert_eq!(of("PROTO: .callprototype _ ();\n mov.u64 %rd1, 64; call %rd1, (), PROTO;"), InvalidPc);
    let assertion =
        ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
            .to_owned()
            + &kernel(
                "{ .param .b64 a; .param .b32 n; st.param.b64 [a], %buf; st.param.b32 [n], 7; call.uni __assertfail, (a, a, n, a, a); }",
            );
    let failed = *try_run_ptx(&assertion, 1, 32, &[0; 32]).unwrap_err();
    assert!(failed.kind == Assert && failed.what.starts_with("assertion"), "{failed}");
    let recursion = ".visible .func f(.param .b32 n) { call.uni f, (n); ret; }\n".to_owned()
        + &kernel("{ .param .b32 n; st.param.b32 [n], 1; call.uni f, (n); }");
    assert_eq!(try_run_ptx(&recursion, 1, 32, &[0; 32]).unwrap_err().kind, StackOverflow);
}

#[test]
fn a_barrier_that_cannot_complete_names_its_warps() {
    let f = fault("setp.lt.u32 %p1, %i, 32; @%p1 bra WAIT; LOOP: bar.sync 1; bra END; WAIT: bar.sync 2; END:", 96);
    assert!(f.what.contains("warp 0 waits at barrier 2 for all threads (32 arrived)"), "{f}");
    assert!(f.what.contains("warp 2 waits at barrier 1"), "{f}");
    assert!(f.spot.text.starts_with("bar.sync"), "{f}");
}

#[test]
fn faults_name_the_file_and_show_the_instruction() {
    let f = fault("add.u64 %at, %at, 1;\n\t@!%p1 ld.global.u32 %r1,\n [%at];", 32);
    let shown = f.to_string();
    let (line, pc, carets) = (f.spot.line, f.spot.pc.0, "^".repeat(24));
    let excerpt =
        format!("at test.ptx:{line}:2, instruction {pc}:\n{line:>5} | \t@!%p1 ld.global.u32 %r1,\n      | \t{carets}");
    assert!(shown.ends_with(&excerpt), "{shown}\n{excerpt}");

    let cubin = include_bytes!("data/jumptable.sm_70.cubin");
    let loaded = lower::load_cubin("jumptable.sm_70.cubin", cubin, lower::LowerOptions::default()).unwrap();
    let mut kernel = loaded.kernel("jumptable").unwrap().clone();
    let fault = |kernel: &std::sync::Arc<exec::Kernel>| {
        let args = [exec::Arg::Pointer(0x1001), exec::Arg::U32(0)];
        let one = isa::Dim3::new(1, 1, 1);
        let launch = exec::Launch::new(kernel.clone(), one, isa::Dim3::new(32, 1, 1), 0, &args).unwrap();
        exec::run(&mut exec::DeviceState::default(), &launch).unwrap_err()
    };
    let f = fault(&kernel);
    let offset = 16 * f.spot.pc.0;
    let place = format!("at jumptable.sm_70.cubin, byte {offset:#x} of the kernel, instruction {}: ", f.spot.pc.0);
    assert!(f.to_string().contains(&(place + kernel.program.text(f.spot.pc))), "{f}");
    assert!(f.spot.text.starts_with("LDG") || f.spot.text.starts_with("STG"), "{f}");

    let program = std::sync::Arc::make_mut(&mut std::sync::Arc::make_mut(&mut kernel).program);
    program.files.push("jumptable.cu".to_owned());
    program.set_origin(f.spot.pc, (program.files.len() as u16 - 1, 7));
    let f = fault(&kernel).to_string();
    assert!(f.ends_with("\n  from jumptable.cu:7") && f.matches("jumptable.cu:").count() == 1, "{f}");
}
