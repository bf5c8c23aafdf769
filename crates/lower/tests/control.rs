//! Divergence, loops, calls, indirect branches, ends of threads.

use crate::common;

use common::{kernel, run_words, try_run, try_run_ptx};

/// The word of each thread after `body`, which stores to `[%at]`; words start as their index.
fn each(threads: u32, body: &str) -> Vec<u32> {
    let words: Vec<u32> = (0..threads).collect();
    run_words(&kernel(body), 1, threads, &words)
}

#[test]
fn nested_branches_reach_every_side_and_meet() {
    let out = each(
        70,
        "mov.u32 %r1, 0;\n\
         and.b32 %r2, %i, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;\n\
         and.b32 %r2, %i, 2; setp.eq.u32 %p2, %r2, 0; @%p2 bra ODD_A;\n\
         add.u32 %r1, %r1, 100; bra.uni ODD_END;\n\
         ODD_A: add.u32 %r1, %r1, 200;\n\
         ODD_END: add.u32 %r1, %r1, 1000; bra END;\n\
         EVEN: setp.gt.u32 %p3, %i, 40; @!%p3 bra END; add.u32 %r1, %r1, 7;\n\
         END: vote.sync.ballot.b32 %r3, 1, 0xffffffff; popc.b32 %r4, %r3; shl.b32 %r4, %r4, 16;\n\
         add.u32 %r1, %r1, %r4; st.global.u32 [%at], %r1;",
    );
    for (i, word) in (0..70).zip(out) {
        let value = match i {
            i if i % 2 == 1 => 1000 + if i & 2 == 0 { 200 } else { 100 },
            i if i > 40 => 7,
            _ => 0,
        };
        let lanes = if i < 64 { 32 } else { 6 };
        assert_eq!(word, value + (lanes << 16), "thread {i}");
    }
}

#[test]
fn loops_run_as_often_as_each_lane_wants() {
    // Collatz steps, with a break and a continue.
    let body = "mov.u32 %r1, 0; add.u32 %r2, %i, 1;\n\
         LOOP: setp.eq.u32 %p1, %r2, 1; @%p1 bra DONE;\n\
         add.u32 %r1, %r1, 1; setp.gt.u32 %p4, %r1, 60; @%p4 bra DONE;\n\
         and.b32 %r3, %r2, 1; setp.eq.u32 %p2, %r3, 0; @!%p2 bra ODD;\n\
         shr.u32 %r2, %r2, 1; bra LOOP;\n\
         ODD: mad.lo.u32 %r2, %r2, 3, 1; bra LOOP;\n\
         DONE: activemask.b32 %r5; popc.b32 %r5, %r5; shl.b32 %r5, %r5, 16; or.b32 %r1, %r1, %r5;\n\
         st.global.u32 [%at], %r1;";
    for (i, word) in (0..64).zip(each(64, body)) {
        let (mut n, mut steps) = (i + 1, 0);
        while n != 1 {
            steps += 1;
            if steps > 60 {
                break;
            }
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        }
        assert_eq!(word, steps | 32 << 16, "thread {i}");
    }
}

#[test]
fn lanes_that_exit_early_do_not_hold_up_the_rest() {
    let body = "setp.lt.u32 %p1, %i, 10; @%p1 exit;\n\
         and.b32 %r1, %i, 1; setp.eq.u32 %p2, %r1, 1; @%p2 bra ODD; st.global.u32 [%at], 5; ret;\n\
         ODD: bar.sync 0; st.global.u32 [%at], 6;";
    for (i, word) in (0..33).zip(each(33, body)) {
        assert_eq!(
            word,
            if i < 10 {
                i
            } else if i % 2 == 1 {
                6
            } else {
                5
            },
            "thread {i}"
        );
    }
}

#[test]
fn indirect_branches_go_by_table() {
    let body = "rem.u32 %r1, %i, 3;\n TABLE: .branchtargets A, B, C;\n brx.idx %r1, TABLE;\n\
         A: mov.u32 %r2, 11; bra END;\n B: mov.u32 %r2, 22; bra END;\n C: mov.u32 %r2, 33;\n\
         END: st.global.u32 [%at], %r2;";
    for (i, word) in (0..40).zip(each(40, body)) {
        assert_eq!(word, [11, 22, 33][i % 3], "thread {i}");
    }
    let fault = try_run(&kernel("TABLE: .branchtargets A;\n brx.idx %i, TABLE; A:"), 1, 32, &[0]).err().unwrap();
    assert!(fault.what.contains("index 1 is beyond the table of 1"), "{fault}");
}

const FACTORIAL: &str = "
.func (.param .b32 result) factorial(.param .b32 n) {
  .reg .pred %p; .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  setp.gt.u32 %p, %r1, 1; @%p bra MORE;
  st.param.b32 [result+0], 1; ret;
  MORE: sub.u32 %r2, %r1, 1;
  { .param .b32 arg; .param .b32 back; st.param.b32 [arg+0], %r2;
    call.uni (back), factorial, (arg); ld.param.b32 %r3, [back+0]; }
  mul.lo.u32 %r4, %r3, %r1;
  st.param.b32 [result+0], %r4; ret; }
";

#[test]
fn recursion_keeps_each_frame_apart() {
    let body = "and.b32 %r1, %i, 7;\n\
         { .param .b32 arg; .param .b32 back; st.param.b32 [arg+0], %r1;\n\
           call (back), factorial, (arg); ld.param.b32 %r2, [back+0]; }\n\
         activemask.b32 %r3; xor.b32 %r3, %r3, 0xffffffff; add.u32 %r2, %r2, %r3; st.global.u32 [%at], %r2;";
    let out = run_words(&(FACTORIAL.to_owned() + &kernel(body)), 1, 64, &[0; 64]);
    for (i, word) in (0..64_u32).zip(out) {
        assert_eq!(word, (1..=(i & 7)).product::<u32>().max(1), "thread {i}");
    }
}

/// Arguments and results in registers: a function's own are the ones that its recursive call passes.
#[test]
fn recursion_passes_registers() {
    let functions = "
.func (.reg .u32 result) ackermann(.reg .u32 m, .reg .u32 n) {
  .reg .pred %p, %q; .reg .u32 %r<4>;
  setp.ne.u32 %p, m, 0; @%p bra SOME; add.u32 result, n, 1; ret;
  SOME: sub.u32 %r1, m, 1; setp.ne.u32 %q, n, 0; @%q bra BOTH;
  call (result), ackermann, (%r1, 1); ret;
  BOTH: sub.u32 %r2, n, 1; call (%r3), ackermann, (m, %r2);
  call (result), ackermann, (%r1, %r3); ret; }
.func (.reg .u32 result) turn(.reg .u32 a, .reg .u32 b, .reg .u32 times) {
  .reg .pred %p; .reg .u32 %r<3>;
  setp.ne.u32 %p, times, 0; @%p bra MORE; shl.b32 %r1, a, 8; or.b32 result, %r1, b; ret;
  MORE: sub.u32 %r2, times, 1; call (%r1), turn, (b, a, %r2); add.u32 result, %r1, a; ret; }
";
    let body = "and.b32 %r1, %i, 1; and.b32 %r2, %i, 3; call (%r3), ackermann, (%r1, %r2);\n\
         call (%r4), turn, (3, 5, %r2); shl.b32 %r4, %r4, 16; or.b32 %r3, %r3, %r4; st.global.u32 [%at], %r3;";
    let out = run_words(&(functions.to_owned() + &kernel(body)), 1, 32, &[0; 32]);
    let turned = |times: u32| match times {
        0 => 0x305,
        1 => 0x503 + 3,
        2 => 0x305 + 3 + 5,
        _ => 0x503 + 3 + 5 + 3,
    };
    for (i, word) in (0..32_u32).zip(out) {
        let n = i & 3;
        assert_eq!(word, if i & 1 == 0 { n + 1 } else { n + 2 } | turned(n) << 16, "thread {i}");
    }
}

#[test]
fn calls_pass_structures_and_only_the_calling_lanes() {
    let functions = "
.func (.param .align 8 .b8 out[12]) swap(.param .align 8 .b8 in[12]) {
  .reg .b32 %r; .reg .b64 %d;
  ld.param.b64 %d, [in]; ld.param.b32 %r, [in+8];
  st.param.b32 [out], %r; st.param.b32 [out+4], %r; cvt.u32.u64 %r, %d; st.param.b32 [out+8], %r; ret; }
";
    let body = "setp.gt.u32 %p1, %i, 20; mov.u32 %r9, 77;\n\
         { .param .align 8 .b8 a[12]; .param .align 8 .b8 b[12];\n\
           cvt.u64.u32 %rd1, %i; st.param.b64 [a], %rd1; st.param.b32 [a+8], 9;\n\
           @%p1 call (b), swap, (a);\n\
           ld.param.b32 %r1, [b]; @%p1 ld.param.b32 %r9, [b+8]; }\n\
         add.u32 %r1, %r1, %r9; st.global.u32 [%at], %r1;";
    let out = run_words(&(functions.to_owned() + &kernel(body)), 1, 32, &[0; 32]);
    for (i, word) in (0..32_u32).zip(out) {
        assert_eq!(word, if i > 20 { 9 + i } else { 77 }, "thread {i}");
    }
}

#[test]
fn function_pointers_call_what_they_point_to() {
    let functions = "
.func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; shl.b32 %a, %a, 1; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) square(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; mul.lo.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }
.global .align 8 .u64 table[2] = { twice, square };
";
    let body = "PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
         and.b32 %r1, %i, 1; mul.wide.u32 %rd1, %r1, 8; mov.u64 %rd2, table; add.s64 %rd2, %rd2, %rd1;\n\
         ld.global.u64 %rd3, [%rd2];\n\
         { .param .b32 a; .param .b32 b; st.param.b32 [a], %i;\n call (b), %rd3, (a), PROTO;\n ld.param.b32 %r2, [b]; }\n\
         st.global.u32 [%at], %r2;";
    let out = run_words(&(functions.to_owned() + &kernel(body)), 1, 32, &[0; 32]);
    for (i, word) in (0..32_u32).zip(out) {
        assert_eq!(word, if i % 2 == 0 { 2 * i } else { i * i }, "thread {i}");
    }
    let wild = "PROTO: .callprototype _ ();\n mov.u64 %rd1, 64; call %rd1, (), PROTO;";
    let fault = try_run(&kernel(wild), 1, 1, &[0]).err().unwrap();
    assert!(fault.what.contains("0x40, which is not a function"), "{fault}");
}

#[test]
fn endless_recursion_and_trap_are_faults() {
    let functions = ".func forever() { call forever; ret; }\n";
    let fault = try_run(&(functions.to_owned() + &kernel("call forever;")), 1, 32, &[0]).err().unwrap();
    assert!(fault.what.contains("nested too deeply"), "{fault}");
    let fault = try_run(&kernel("setp.eq.u32 %p1, %i, 37; @%p1 trap;"), 1, 64, &[0]).err().unwrap();
    assert!(fault.what.contains("trap") && fault.thread.x == 37 && fault.lanes == 1 << 5, "{fault}");
    assert!(fault.spot.text.contains("@%p1 trap"), "{fault}");
}

#[test]
fn printf_prints() {
    let items = format!(
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
         .global .align 1 .b8 text[16] = {{37, 100, 32, 37, 46, 50, 102, 10, 0}};\n{}",
        kernel(
            ".local .align 8 .b8 args[16]; .reg .b64 %sp; mov.u64 %sp, args; cvta.local.u64 %rd1, %sp;\n\
             setp.ne.u32 %p1, %i, 3; @%p1 ret;\n\
             st.u32 [%rd1], 42; mov.f64 %d1, 0d3FF8000000000000; st.f64 [%rd1+8], %d1;\n\
             mov.u64 %rd2, text; cvta.global.u64 %rd2, %rd2;\n\
             { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd2; st.param.b64 [b], %rd1;\n\
               call.uni (r), vprintf, (a, b); }"
        )
    );
    // A cubin has no address of `vprintf` before it is linked.
    assert_eq!(try_run_ptx(&items, 1, 32, &[0]).unwrap().output, "42 1.50\n");
}

#[test]
fn carry_survives_divergence_and_special_registers_say_who_is_who() {
    let body = "mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; mov.u32 %r3, %lanemask_lt; popc.b32 %r3, %r3;\n\
         sub.u32 %r3, %r3, %r1; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %ctaid.x;\n\
         shl.b32 %r2, %r2, 8; or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3; shl.b32 %r4, %r4, 16; or.b32 %r1, %r1, %r4;\n\
         shl.b32 %r5, %r5, 24; or.b32 %r1, %r1, %r5; st.global.u32 [%at], %r1;";
    let out = run_words(&kernel(body), 2, 48, &[0; 96]);
    for (i, word) in (0..96_u32).zip(out) {
        let (cta, thread) = (i / 48, i % 48);
        assert_eq!(word, (thread % 32) + ((thread / 32) << 8) + (2 << 16) + (cta << 24), "thread {i}");
    }
}

/// A lock at word 64 that guards the sum at word 65.
const LOCKED_SUM: &str = "add.u32 %r6, %i, 1;\n\
     TAKE: atom.global.cas.b32 %r1, [%buf+256], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TAKE;\n\
     ld.volatile.global.u32 %r2, [%buf+260]; add.u32 %r2, %r2, %r6; st.volatile.global.u32 [%buf+260], %r2; membar.gl;\n\
     atom.global.exch.b32 %r3, [%buf+256], 0;";

#[test]
fn lanes_of_one_warp_take_a_lock_in_turn() {
    let again = "st.global.u32 [%at], %r6;";
    let out = run_words(&kernel(&format!("{LOCKED_SUM}{again}")), 1, 64, &[0; 66]);
    assert_eq!((out[64], out[65], out[63]), (0, 64 * 65 / 2, 64));
    // Some lanes take it, and all meet after that.
    let some = "and.b32 %r7, %i, 3; setp.eq.u32 %p2, %r7, 0; @%p2 bra ALL;\n";
    let all = "ALL: shfl.sync.bfly.b32 %r4, %i, 1, 31, 0xffffffff; st.global.u32 [%at], %r4;";
    let out = run_words(&kernel(&format!("{some}{LOCKED_SUM}{all}")), 1, 64, &[0; 66]);
    let sum: u32 = (0..64).filter(|i| i % 4 != 0).map(|i| i + 1).sum();
    assert_eq!((out[64], out[65]), (0, sum));
    for (i, word) in (0..64).zip(out) {
        assert_eq!(word, i ^ 1, "thread {i}");
    }
}

#[test]
fn a_lock_may_be_taken_in_a_function() {
    let take = ".func take(.param .b64 at) { .reg .pred %p; .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [at];\n\
         TAKE: atom.global.cas.b32 %r, [%d], 0, 1; setp.ne.u32 %p, %r, 0; @%p bra TAKE; ret; }\n";
    let body = "add.u64 %rd1, %buf, 256; and.b32 %r7, %i, 1; setp.eq.u32 %p2, %r7, 0; @%p2 bra END;\n\
         { .param .b64 at; st.param.b64 [at], %rd1; call take, (at); }\n\
         ld.volatile.global.u32 %r2, [%buf+260]; add.u32 %r2, %r2, %i; st.volatile.global.u32 [%buf+260], %r2; membar.gl;\n\
         atom.global.exch.b32 %r3, [%buf+256], 0;\n\
         END: st.global.u32 [%at], %r7;";
    let out = run_words(&(take.to_owned() + &kernel(body)), 1, 64, &[0; 66]);
    assert_eq!((out[64], out[65]), (0, 32 * 32));
}

#[test]
fn a_lane_waits_for_another_of_its_warp() {
    for (first, then) in [(31, 0), (0, 31), (5, 6)] {
        let body = format!(
            "setp.eq.u32 %p1, %i, {then}; @%p1 bra WAIT; setp.ne.u32 %p2, %i, {first}; @%p2 bra END;\n\
             st.volatile.global.u32 [%buf+128], 7; bra END;\n\
             WAIT: ld.volatile.global.u32 %r1, [%buf+128]; setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;\n\
             st.global.u32 [%buf+132], %r1;\n\
             END: bar.warp.sync 0xffffffff; ld.volatile.global.u32 %r2, [%buf+132]; st.global.u32 [%at], %r2;"
        );
        let out = run_words(&kernel(&body), 1, 32, &[0; 34]);
        assert_eq!(out, [7; 34], "{first} before {then}");
    }
}

#[test]
fn lanes_of_one_warp_reach_a_barrier_in_two_branches() {
    let body = "mov.u32 %r1, s; shl.b32 %r2, %i, 2; add.u32 %r1, %r1, %r2; setp.lt.u32 %p1, %i, 40;\n\
         @%p1 bra LOW; st.shared.u32 [%r1], 1000; barrier.sync 0; bra MEET;\n\
         LOW: st.shared.u32 [%r1], %i; barrier.sync 0;\n\
         MEET: mov.u32 %r3, s; xor.b32 %r4, %i, 63; shl.b32 %r4, %r4, 2; add.u32 %r3, %r3, %r4;\n\
         ld.shared.u32 %r5, [%r3]; st.global.u32 [%at], %r5;";
    let out = run_words(&(".shared .b32 s[64];\n".to_owned() + &kernel(body)), 1, 64, &[0; 64]);
    for (i, word) in (0..64).zip(out) {
        assert_eq!(word, if 63 - i < 40 { 63 - i } else { 1000 }, "thread {i}");
    }
}

#[test]
fn a_barrier_in_two_branches_counts_all_votes() {
    let body = "setp.lt.u32 %p1, %i, 40; setp.gt.u32 %p2, %i, 10; @%p1 bra LOW;\n\
         barrier.red.popc.u32 %r1, 0, %p2; bra MEET;\n\
         LOW: barrier.red.popc.u32 %r1, 0, %p2; add.u32 %r1, %r1, 100;\n\
         MEET: st.global.u32 [%at], %r1;";
    for (i, word) in (0..64).zip(run_words(&kernel(body), 1, 64, &[0; 64])) {
        assert_eq!(word, if i < 40 { 153 } else { 53 }, "thread {i}");
    }
}

#[test]
fn a_barrier_for_a_count_of_zero_waits_for_all() {
    let body = "mov.u32 %r1, s; shl.b32 %r2, %i, 2; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %i;\n\
         ld.global.u32 %r6, [%buf]; barrier.sync 1, %r6; xor.b32 %r4, %i, 63; shl.b32 %r4, %r4, 2; mov.u32 %r3, s;\n\
         add.u32 %r3, %r3, %r4; ld.shared.u32 %r5, [%r3]; barrier.sync 1, %r6; st.global.u32 [%at], %r5;";
    let out = run_words(&(".shared .b32 s[64];\n".to_owned() + &kernel(body)), 1, 64, &[0; 64]);
    assert_eq!(out, (0..64).rev().collect::<Vec<u32>>());
}

#[test]
fn a_vote_may_name_lanes_that_do_not_come() {
    let body = "mov.u32 %r1, 0; setp.eq.u32 %p1, %i, 0; @%p1 bra END; setp.gt.u32 %p2, %i, 3;\n\
         vote.sync.any.pred %p3, %p2, 0xffffffff; selp.u32 %r1, 1, 0, %p3;\n\
         END: st.global.u32 [%at], %r1;";
    for (i, word) in (0..32).zip(run_words(&kernel(body), 1, 32, &[0; 32])) {
        assert_eq!(word, u32::from(i != 0), "thread {i}");
    }
}

#[test]
fn lanes_leave_a_loop_to_a_barrier_of_the_warp() {
    // Each lane makes its own number of turns; those that are left vote in each.
    let body = "and.b32 %r1, %i, 7; mov.u32 %r2, 0; mov.u32 %r3, 0xffffffff;\n\
         TURN: setp.gt.u32 %p1, %r1, 0; vote.sync.ballot.b32 %r3, %p1, %r3; @!%p1 bra OUT;\n\
         sub.u32 %r1, %r1, 1; vote.sync.ballot.b32 %r4, 1, %r3; popc.b32 %r4, %r4; add.u32 %r2, %r2, %r4; bra TURN;\n\
         OUT: bar.warp.sync 0xffffffff; st.global.u32 [%at], %r2;";
    for (i, word) in (0..32).zip(run_words(&kernel(body), 1, 32, &[0; 32])) {
        assert_eq!(word, (0..i % 8).map(|turn| 32 - 4 * (turn + 1)).sum::<u32>(), "thread {i}");
    }
}

#[test]
fn lanes_meet_in_a_function_that_they_have_called_apart() {
    // Lanes pass the lock one by one, and call a function that votes.
    let function = ".func (.param .b32 result) count(.param .b32 n) { .reg .pred %p; .reg .b32 %r<4>; ld.param.u32 %r1, [n];\n\
         and.b32 %r2, %r1, 1; setp.eq.u32 %p, %r2, 0; vote.sync.ballot.b32 %r3, %p, 0xffffffff;\n\
         st.param.b32 [result+0], %r3; ret; }\n";
    let call = "{ .param .b32 arg; .param .b32 back; st.param.b32 [arg+0], %i;\n\
         call.uni (back), count, (arg); ld.param.b32 %r5, [back+0]; }\n st.global.u32 [%at], %r5;";
    let out = run_words(&(function.to_owned() + &kernel(&format!("{LOCKED_SUM}{call}"))), 1, 64, &[0; 66]);
    assert_eq!((out[64], out[65]), (0, 64 * 65 / 2));
    assert_eq!(out[..64], [0x5555_5555; 64]);
}

#[test]
fn no_warp_is_far_ahead_of_the_others_after_a_barrier() {
    // The variable is read after one barrier and overwritten without another, which is a race that hardware decides
    // in favour of the readers.
    let items = kernel(
        ".shared .align 4 .u32 s; setp.eq.u32 %p1, %i, 0; @%p1 st.shared.u32 [s], 7; bar.sync 0;\n\
         ld.shared.u32 %r1, [s]; mov.u32 %r2, 0;\n\
         more: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 20; @%p2 bra more;\n\
         @%p1 st.shared.u32 [s], 9; st.global.u32 [%at], %r1;",
    );
    assert_eq!(try_run_ptx(&items, 1, 256, &[0; 256]).unwrap().words, [7; 256]);
}

/// CTAs that are resident together on a GPU may wait for each other: here for their turns, the last CTA first, and then for
/// all.
#[test]
fn ctas_that_wait_for_later_ones_end() {
    let body = "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
        TURN: ld.volatile.global.u32 %r3, [%buf]; sub.u32 %r4, %r2, %r3; sub.u32 %r4, %r4, 1;
        setp.ne.u32 %p1, %r4, %r1; @%p1 bra TURN;
        atom.global.add.u32 %r5, [%buf], 1;
        ALL: ld.volatile.global.u32 %r3, [%buf]; setp.ne.u32 %p1, %r3, %r2; @%p1 bra ALL;";
    assert_eq!(try_run_ptx(&kernel(body), 7, 1, &[0]).unwrap().words[0], 7);
}
