//! Each pass of the compiler on a small kernel: the graphs before and after it, as text.

use crate::support::ptx::kernel;
use dataflow::{text, watched};

/// The instructions, and the graphs before and after `pass`, the first time that it changes them.
fn change(pass: &str, body: &str) -> String {
    let (mut before, mut found) = (String::new(), None);
    let kernel = kernel(body);
    let compiled = watched(&kernel, &mut |name, graphs| {
        let now = text::dataflow(graphs);
        if name == pass && now != before && found.is_none() {
            found = Some(format!("{}\n\nbefore:\n{before}\nafter:\n{now}", body.trim_end()));
        }
        before = now;
    });
    compiled.unwrap_or_else(|refusals| panic!("{refusals:?}"));
    found.unwrap_or_else(|| panic!("{pass} changes nothing"))
}

#[test]
fn ssa_and_predication() {
    // A branch whose sides store and leave different values, a guard, a load on one side only.
    insta::assert_snapshot!(change(
        "ssa",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 7;
    @%p1 bra Less;
    add.u32 %r2, %r1, 3;
    bra Meet;
Less:
    ld.global.u32 %r2, [%rd1];
    st.global.u32 [%rd1+4], %r1;
Meet:
    @!%p1 xor.b32 %r2, %r2, %r1;
    st.global.u32 [%rd1+8], %r2;
    ret;"
    ));
}

#[test]
fn loops_are_regions_with_live_values() {
    insta::assert_snapshot!(change(
        "ssa",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
Loop:
    add.u32 %r2, %r2, %r1;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra Loop;
    st.global.u32 [%rd1], %r2;
    ret;"
    ));
}

#[test]
fn what_few_operations_make_has_no_place_in_memory() {
    // The address in shared memory is made anew after the barrier, the value that is loaded is kept.
    insta::assert_snapshot!(change(
        "ssa",
        "
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.u32 %r4, %r3, %r2;
    ld.global.u32 %r5, [%rd1];
    st.shared.u32 [%r4], %r5;
    bar.sync 0;
    ld.shared.u32 %r6, [%r4+4];
    add.u32 %r7, %r6, %r5;
    st.global.u32 [%rd1], %r7;
    ret;"
    ));
}

#[test]
fn labels() {
    // Logic on predicates leaves the compute units; a negation is in the table or the selection that takes it.
    insta::assert_snapshot!(change(
        "labels",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 7;
    setp.gt.u32 %p2, %r1, 3;
    and.pred %p3, %p1, %p2;
    not.pred %p4, %p3;
    selp.u32 %r2, %r1, 9, %p4;
    @%p4 st.global.u32 [%rd1], %r2;
    ret;"
    ));
}

#[test]
fn labels_of_labels() {
    // Where both sides of a loop's branch store a live value, its label is that of the loop.
    insta::assert_snapshot!(change(
        "labels",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r3, 0;
Loop:
    add.u32 %r3, %r3, %r1;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra Loop;
    st.global.u32 [%rd1], %r3;
    ret;"
    ));
}

#[test]
fn uniform() {
    insta::assert_snapshot!(change(
        "uniform",
        "
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ntid.x;
    mul.lo.u32 %r3, %r1, %r2;
    mov.u32 %r4, 6;
    shl.b32 %r5, %r4, 2;
    setp.gt.u32 %p1, %r3, %r5;
    selp.u32 %r6, %r3, %r5, %p1;
    mov.u32 %r7, %tid.x;
    add.u32 %r8, %r7, %r6;
    @%p1 st.global.u32 [%rd1], %r8;
    ret;"
    ));
}

#[test]
fn common() {
    // The operands of a sum may change places, those of a sum of floats may not.
    insta::assert_snapshot!(change(
        "common",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    add.u32 %r3, %r1, %r2;
    add.u32 %r4, %r2, %r1;
    setp.lt.u32 %p1, %r1, 5;
    selp.u32 %r5, %r3, %r4, %p1;
    st.global.u32 [%rd1], %r5;
    mov.b32 %f1, %r1;
    mov.b32 %f2, %r2;
    add.f32 %f3, %f1, %f2;
    add.f32 %f4, %f2, %f1;
    st.global.f32 [%rd1+4], %f3;
    st.global.f32 [%rd1+8], %f4;
    ret;"
    ));
}

#[test]
fn strength() {
    insta::assert_snapshot!(change(
        "strength",
        "
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r20, [n];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 8;
    st.global.u32 [%rd1], %r2;
    div.u32 %r3, %r1, 16;
    st.global.u32 [%rd1+4], %r3;
    rem.u32 %r4, %r1, 16;
    st.global.u32 [%rd1+8], %r4;
    mul.lo.u32 %r5, %r1, 0;
    st.global.u32 [%rd1+12], %r5;
    and.b32 %r6, %r1, 255;
    and.b32 %r7, %r6, 60;
    st.global.u32 [%rd1+16], %r7;
    add.u32 %r8, %r1, %r20;
    sub.u32 %r9, %r8, 2;
    add.u32 %r10, %r9, 7;
    st.global.u32 [%rd1+20], %r10;
    div.s32 %r11, %r1, 16;
    st.global.u32 [%rd1+24], %r11;
    ret;"
    ));
}

#[test]
fn addresses() {
    // The base, the parameter's part and the immediate; in shared memory sums of 32 bits as well.
    insta::assert_snapshot!(change(
        "addresses",
        "
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r20, [n];
    cvt.u64.u32 %rd2, %r20;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd4, %rd2;
    ld.global.u32 %r2, [%rd5+12];
    mov.u32 %r3, tile;
    shl.b32 %r4, %r1, 2;
    add.u32 %r5, %r3, %r4;
    st.shared.u32 [%r5+8], %r2;
    ret;"
    ));
}

#[test]
fn fuse() {
    // The second product has two uses; floats round twice and stay apart.
    insta::assert_snapshot!(change(
        "fuse",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mul.lo.u32 %r3, %r1, %r2;
    add.u32 %r4, %r3, %r1;
    st.global.u32 [%rd1], %r4;
    mul.lo.u32 %r5, %r4, %r2;
    add.u32 %r6, %r5, %r1;
    st.global.u32 [%rd1+4], %r6;
    st.global.u32 [%rd1+8], %r5;
    shl.b32 %r7, %r1, 3;
    add.u32 %r8, %r7, %r2;
    st.global.u32 [%rd1+12], %r8;
    mov.b32 %f1, %r1;
    mov.b32 %f2, %r2;
    mul.f32 %f3, %f1, %f2;
    add.f32 %f4, %f3, %f1;
    st.global.f32 [%rd1+16], %f4;
    ret;"
    ));
}

#[test]
fn places() {
    // The loop keeps %r3, which no region changes after it, and nobody needs %r4 after the loop.
    insta::assert_snapshot!(change(
        "places",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r3, %r1, 5;
    mov.u32 %r4, 0;
Loop:
    add.u32 %r4, %r4, %r1;
    mul.lo.u32 %r4, %r4, 0;
    or.b32 %r3, %r3, %r4;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra Loop;
    st.global.u32 [%rd1], %r3;
    ret;"
    ));
}

#[test]
fn order() {
    // Figure 5: both loads before the first store, the stores in a chain, loads after it. The last store needs no
    // join with the load that its data come from. The data of the first store do not depend on the load before it:
    // the product with 0 is 0.
    insta::assert_snapshot!(change(
        "order",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 9;
    ld.global.u32 %r2, [%rd1];
    mul.lo.u32 %r3, %r2, 0;
    @%p1 st.global.u32 [%rd1], %r3;
    @%p1 st.global.u32 [%rd1+4], %r1;
    ld.global.u32 %r4, [%rd1+8];
    ld.global.u32 %r5, [%rd1+12];
    add.u32 %r6, %r4, %r5;
    st.global.u32 [%rd1+16], %r6;
    st.global.u32 [%rd1+20], %r2;
    ret;"
    ));
}

#[test]
fn dead() {
    insta::assert_snapshot!(change(
        "dead",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    add.u32 %r3, %r1, %r2;
    ld.global.u32 %r4, [%rd1];
    st.global.u32 [%rd1], %r1;
    ret;"
    ));
}

#[test]
fn regions() {
    // A branch to a block that only continues.
    insta::assert_snapshot!(change(
        "regions",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
Outer:
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra After;
Inner:
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p2, %r1, 3;
    @%p2 bra Inner;
    bra Between;
Between:
    bra Outer;
After:
    st.global.u32 [%rd1], %r1;
    ret;"
    ));
}

#[test]
fn what_has_more_operands_than_ports_is_refused_with_its_line() {
    let refusals = dataflow::dataflow(&kernel(
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 9;
    mul.wide.u32 %rd2, %r1, 8;
    add.u64 %rd3, %rd1, %rd2;
    mul.wide.u32 %rd4, %r1, %r1;
    @%p1 atom.global.cas.b64 %rd5, [%rd3], %rd2, %rd4;
    ret;",
    ));
    let found = refusals.unwrap_err()[0].to_string();
    let expected = "it takes 4 values of each thread, a load/store unit has 3 ports";
    assert!(found.starts_with("line 14: `") && found.ends_with(expected), "{found}");
}

#[test]
fn a_compare_and_swap_has_its_values_in_one_token() {
    insta::assert_snapshot!(change(
        "order",
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    add.u32 %r2, %r1, 1;
    atom.global.cas.b32 %r3, [%rd1], %r1, %r2;
    st.global.u32 [%rd1+8], %r3;
    mov.u64 %rd2, 5;
    cvt.u64.u32 %rd3, %r1;
    atom.global.cas.b64 %rd4, [%rd1+16], %rd2, %rd3;
    ret;"
    ));
}

/// The graphs of a kernel with this body.
fn compiled(body: &str) -> String {
    let graphs = dataflow::dataflow(&kernel(body)).unwrap_or_else(|refusals| panic!("{refusals:?}"));
    text::dataflow(&graphs)
}

#[test]
fn an_access_that_no_thread_performs_is_left_out() {
    // The load has the value 0; the last store waits for the first one, although the one between them is gone.
    insta::assert_snapshot!(compiled(
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, 1, 1;
    mov.u32 %r2, 5;
    st.global.u32 [%rd1], %r1;
    @%p1 ld.global.u32 %r3, [%rd1+4];
    @%p1 st.global.u32 [%rd1+8], %r3;
    @%p1 ld.global.u32 %r2, [%rd1+12];
    add.u32 %r2, %r2, %r1;
    st.global.u32 [%rd1], %r2;
    ret;"
    ));
}

#[test]
fn a_first_region_that_does_nothing_is_left_out() {
    // Values from before the loop are made anew in it: threads begin in the loop.
    insta::assert_snapshot!(compiled(
        "
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
Loop:
    atom.global.add.u32 %r2, [%rd1], %r1;
    setp.lt.u32 %p1, %r2, 100;
    @%p1 bra Loop;
    ret;"
    ));
}
