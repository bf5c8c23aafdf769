//! Exchange between the lanes of a warp, and matrix instructions from PTX.

use crate::common;

use common::{kernel, run_words};

/// Results of 32 threads whose words start as squares of their numbers, `%r0`.
fn lanes(body: &str) -> Vec<u32> {
    let words: Vec<u32> = (0..32).map(|i| i * i).collect();
    run_words(&kernel(&format!("ld.global.u32 %r0, [%at];\n{body}\nst.global.u32 [%at], %r9;")), 1, 32, &words)
}

#[test]
fn shuffles_follow_the_manual() {
    let square = |i: u32| i * i;
    let sum = lanes("shfl.sync.bfly.b32 %r9, %r0, 16, 31, 0xffffffff;");
    assert!((0..32).all(|i| sum[i as usize] == square(i ^ 16)));
    let down = lanes("shfl.sync.down.b32 %r9|%p1, %r0, 3, 31, 0xffffffff; @!%p1 mov.u32 %r9, 7;");
    assert!((0..32).all(|i| down[i as usize] == if i < 29 { square(i + 3) } else { 7 }));
    let up = lanes("shfl.sync.up.b32 %r9|%p1, %r0, 5, 0, 0xffffffff; @!%p1 mov.u32 %r9, 7;");
    assert!((0..32).all(|i| up[i as usize] == if i >= 5 { square(i - 5) } else { 7 }));
    // Segments of eight lanes: c = segment mask 0x18 in bits 8-12, clamp 7.
    let index = lanes("shfl.sync.idx.b32 %r9, %r0, 2, 0x1807, 0xffffffff;");
    assert!((0..32).all(|i| index[i as usize] == square(i / 8 * 8 + 2)));
    // Without a mask, in a module from before it was required.
    let body = "ld.global.u32 %r0, [%at];\nshfl.down.b32 %r9, %r0, 1, 0x1c03;\nst.global.u32 [%at], %r9;";
    let old = format!(".version 6.0\n.target sm_60\n.address_size 64\n{}", kernel(body));
    let old = run_words(&old, 1, 32, &(0..32).map(square).collect::<Vec<_>>());
    assert!((0..32).all(|i| old[i as usize] == square(if i % 4 == 3 { i } else { i + 1 })));
}

/// Reductions over a part of a warp read lanes that do not execute, and add nothing.
#[test]
fn lanes_that_do_not_execute_give_zero_to_shuffles() {
    let part =
        lanes("mov.u32 %r9, 7; setp.ge.u32 %p1, %i, 8; @%p1 bra END; shfl.sync.down.b32 %r9, %r0, 4, 31, 0xff; END:");
    let want = |i: u32| {
        if i < 4 {
            (i + 4) * (i + 4)
        } else if i < 8 {
            0
        } else {
            7
        }
    };
    assert!((0..32).all(|i| part[i as usize] == want(i)), "{part:?}");
}

#[test]
fn votes_matches_and_reductions() {
    let ballot = lanes("setp.gt.u32 %p1, %r0, 400; vote.sync.ballot.b32 %r9, %p1, 0xffffffff;");
    assert!(ballot.iter().all(|&w| w == 0xffe0_0000));
    let all = lanes(
        "setp.lt.u32 %p1, %r0, 1000; vote.sync.all.pred %p2, %p1, 0xffffffff; vote.sync.any.pred %p3, !%p1, 0xffffffff;\n\
         vote.sync.uni.pred %p4, !%p1, 0xffffffff; selp.u32 %r9, 1, 0, %p2; @%p3 add.u32 %r9, %r9, 2; @%p4 add.u32 %r9, %r9, 4;",
    );
    assert!(all.iter().all(|&w| w == 5));
    let same = lanes("shr.u32 %r1, %i, 2; match.any.sync.b32 %r9, %r1, 0xffffffff;");
    assert!((0..32).all(|i| same[i] == 0xf << (i / 4 * 4)));
    let agree = lanes("mov.u32 %r1, 3; match.all.sync.b32 %r9|%p1, %r1, 0xffffffff; @!%p1 mov.u32 %r9, 1;");
    assert!(agree.iter().all(|&w| w == u32::MAX));
    let differ = lanes("match.all.sync.b32 %r9|%p1, %r0, 0xffffffff; @!%p1 add.u32 %r9, %r9, 1;");
    assert!(differ.iter().all(|&w| w == 1));
    let redux = lanes("redux.sync.add.u32 %r9, %r0, 0xffffffff;");
    assert!(redux.iter().all(|&w| w == (0..32).map(|i| i * i).sum::<u32>()));
    let least = lanes("sub.s32 %r1, 5, %r0; redux.sync.min.s32 %r9, %r1, 0xffffffff;");
    assert!(least.iter().all(|&w| w as i32 == 5 - 31 * 31));
    let elect = lanes(
        "mov.u32 %r9, 0; setp.lt.u32 %p1, %i, 4; @%p1 bra END; elect.sync %r9|%p2, 0xfffffff0; @%p2 add.u32 %r9, %r9, 100; END:",
    );
    assert!((0..32).all(|i| elect[i]
        == match i {
            0..4 => 0,
            4 => 104,
            _ => 4,
        }));
}

#[test]
fn a_matrix_product_through_ldmatrix_and_mma() {
    // A (16 x 16) and B (16 x 8, stored by columns) in shared memory as f16: small integers.
    let body = ".shared .align 16 .b8 a[512]; .shared .align 16 .b8 b[256]; .reg .b32 %q<20>; .reg .f32 %c<8>;\n\
         mov.u32 %q0, a; mad.lo.u32 %q1, %i, 16, %q0; mov.u32 %q2, b; mad.lo.u32 %q3, %i, 8, %q2;\n\
         mul.wide.u32 %rd1, %i, 16; add.s64 %rd1, %buf, %rd1; ld.global.v4.u32 {%q4, %q5, %q6, %q7}, [%rd1]; st.shared.v4.u32 [%q1], {%q4, %q5, %q6, %q7};\n\
         mul.wide.u32 %rd2, %i, 8; add.s64 %rd2, %buf, %rd2; ld.global.v2.u32 {%q4, %q5}, [%rd2+512]; st.shared.v2.u32 [%q3], {%q4, %q5};\n\
         bar.sync 0;\n\
         and.b32 %q8, %i, 15; shr.u32 %q9, %i, 4; mul.lo.u32 %q8, %q8, 32; mad.lo.u32 %q8, %q9, 16, %q8; add.u32 %q8, %q8, %q0;\n\
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%q10, %q11, %q12, %q13}, [%q8];\n\
         and.b32 %q8, %i, 7; shr.u32 %q9, %i, 3; and.b32 %q9, %q9, 1; mul.lo.u32 %q8, %q8, 32; mad.lo.u32 %q8, %q9, 16, %q8; add.u32 %q8, %q8, %q2;\n\
         ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%q14, %q15}, [%q8];\n\
         mov.f32 %c0, 0f00000000;\n\
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c1, %c2, %c3, %c4}, {%q10, %q11, %q12, %q13}, {%q14, %q15}, {%c0, %c0, %c0, %c0};\n\
         shr.u32 %q8, %i, 2; and.b32 %q9, %i, 3; mul.lo.u32 %q8, %q8, 8; mad.lo.u32 %q8, %q9, 2, %q8;\n\
         mul.wide.u32 %rd3, %q8, 4; add.s64 %rd3, %buf, %rd3; st.global.v2.f32 [%rd3], {%c1, %c2}; st.global.v2.f32 [%rd3+256], {%c3, %c4};";
    let (a, b) = (|r: usize, k: usize| (r * 3 + k * 5) % 7, |k: usize, c: usize| (k * 2 + c * 3) % 5);
    let half = |x: usize| u32::from(num::half::from_f32::<num::half::F16>(x as f32, num::Rounding::NearestEven));
    let mut words = Vec::new();
    for r in 0..16 {
        words.extend((0..8).map(|w| half(a(r, 2 * w)) | half(a(r, 2 * w + 1)) << 16));
    }
    for c in 0..8 {
        words.extend((0..8).map(|w| half(b(2 * w, c)) | half(b(2 * w + 1, c)) << 16));
    }
    let out = run_words(&kernel(body), 1, 32, &words);
    for r in 0..16 {
        for c in 0..8 {
            let expected: usize = (0..16).map(|k| a(r, k) * b(k, c)).sum();
            assert_eq!(f32::from_bits(out[r * 8 + c]), expected as f32, "({r}, {c})");
        }
    }
}
