//! Drawn timelines of small programs. Change them with `cargo insta review`.

use crate::support;

use isa::{OpClass, Space};
use support::*;

fn draw(bench: &Bench) -> String {
    bench.run().sm.observer.draw()
}

#[test]
fn a_dependent_pair_and_an_independent_one() {
    let lines = [add(1, &[2]), add(3, &[1]), op(OpClass::FpFma, 4, &[5, 6, 7]), op(OpClass::FpMul, 8, &[9])];
    insta::assert_snapshot!(draw(&Bench::new(&lines)), @r"
    from 0                     |         |
    w0  int_add r1, r2         DI.CE...W
    w0  int_add r3, r1         D.......I.CE...W
    w0  fp_fma r4, r5, r6, r7          DI.CE...W
    w0  fp_mul r8, r9                  D.I.C.E...W
    w0  exit                             DICE..W
    ");
}

#[test]
fn write_after_write_waits() {
    let lines = [op(OpClass::Sfu, 1, &[2]), add(1, &[3]), add(4, &[5])];
    insta::assert_snapshot!(draw(&Bench::new(&lines)), @r"
    from 0              |         |         |         |
    w0  sfu r1, r2      DI.CE......................W
    w0  int_add r1, r3  D..........................I.CE...W
    w0  int_add r4, r5                             DI.C.E...W
    w0  exit                                       D.I..C.E..W
    ");
}

#[test]
fn write_after_read_is_not_seen_by_the_scoreboard() {
    // The first reads four registers of one bank; the second writes one of them before it has.
    let lines = [op(OpClass::IntMad, 1, &[4, 8, 12, 16, 20, 24, 28, 32, 36, 40]), add(40, &[3])];
    let bench = Bench::new(&lines).gpu(|g| {
        g.sm.operands.reads_per_bank = 1;
    });
    let bench = bench.timing(OpClass::IntMad, config::Unit::Sp, 4, 2);
    insta::assert_snapshot!(draw(&bench), @r"
    from 0                                                          |         |         |
    w0  int_mad r1, r4, r8, r12, r16, r20, r24, r28, r32, r36, r40  DI............CE.....W
    w0  int_add r40, r3                                             D.I..CE...W
    w0  exit                                                          DI..C.E..W
    ");
}

#[test]
fn two_warps_of_one_scheduler_under_gto() {
    let lines = [add(1, &[2]), add(3, &[1]), add(4, &[5])];
    let mut bench = Bench::new(&lines).warps(5).scheduler("gto");
    bench.skip = |warp, line| warp % 4 != 0 && line < 3;
    insta::assert_snapshot!(draw(&bench), @r"
    from 0              |         |         |
    w0  int_add r1, r2   DI.CE...W
    w0  int_add r3, r1   D.......I.CE...W
    w0  int_add r4, r5           DI.C.E...W
    w0  exit                     D.I....C.E..W
    w1  exit            DICE..W
    w2  exit            DICE..W
    w3  exit            DICE..W
    w4  int_add r1, r2  FD.I.C.E...W
    w4  int_add r3, r1  FD..........I.C.E...W
    w4  int_add r4, r5              DI....CE...W
    w4  exit                        D.I....C.E..W
    ");
}

#[test]
fn a_barrier_between_two_warps() {
    let lines = [add(1, &[2]), add(1, &[1]), sync(0, 0), add(3, &[4])];
    let mut bench = Bench::new(&lines).warps(2);
    bench.skip = |warp, line| warp == 0 && line < 2;
    insta::assert_snapshot!(draw(&bench), @r"
    from 0              |         |
    w0  bar.sync 0      DICE..W
    w0  int_add r3, r4  F........DI.CE...W
    w0  exit                      DI.C.E..W
    w1  int_add r1, r2  DI.CE...W
    w1  int_add r1, r1  D.......I.CE...W
    w1  bar.sync 0              DI.C.E..W
    w1  int_add r3, r4          FDI...CE...W
    w1  exit                      DI.CE..W
    ");
}

#[test]
fn a_loop_with_flushes() {
    let lines = [add(1, &[2]), add(3, &[4]), branch(-2, 1), add(5, &[6])];
    let bench = Bench::new(&lines).gpu(|g| g.sm.frontend.branches = config::BranchFetch::SequentialFlush);
    insta::assert_snapshot!(draw(&bench), @r"
    from 0              |         |         |
    w0  int_add r1, r2  DI.CE...W
    w0  int_add r3, r4  D.I.C.E...W
    w0  bra               DICE.....W
    w0  int_add r1, r2      D...I.CE...W
    w0  int_add r3, r4      D.....I.CE...W
    w0  bra                       DICE.....W
    w0  int_add r5, r6            D.I.CE...W
    w0  exit                        DI.C.E..W
    ");
}

#[test]
fn shared_memory_with_a_conflict_of_four() {
    let lines = [store(Space::Shared, 1, 0, 16), load(Space::Shared, 2, 0, 16), add(3, &[2])];
    insta::assert_snapshot!(draw(&Bench::new(&lines)), @r"
    from 0              |         |         |         |         |
    w0  st.shared r1    DI.CE...W
    w0  ld.shared r2    D.I.C...E........................W
    w0  int_add r3, r2    D..............................I.CE...W
    w0  exit              D...............................I.C.E..W
    ");
}

#[test]
fn a_miss_and_a_hit_under_it() {
    let lines = [load(Space::Global, 1, 0, 0), load(Space::Global, 2, 4, 0), add(3, &[1]), add(4, &[2])];
    let mut bench = Bench::new(&lines);
    bench.memory_latency = 30;
    insta::assert_snapshot!(draw(&bench), @r"
    from 0              |         |         |         |         |         |         |
    w0  ld.global r1    DI.CE.....................................................W
    w0  ld.global r2    D.I.CE.....................................................W
    w0  int_add r3, r1    D.......................................................I.CE...W
    w0  int_add r4, r2    D........................................................I.C.E...W
    w0  exit                                                                       DI..C.E..W
    ");
}

#[test]
fn dual_issue_from_one_warp() {
    let lines = [add(1, &[2]), op(OpClass::FpAdd, 3, &[4]), add(5, &[6]), add(7, &[8])];
    let bench = Bench::new(&lines).gpu(|g| g.sm.issue.width = 2);
    insta::assert_snapshot!(draw(&bench), @r"
    from 0              |         |
    w0  int_add r1, r2  DI.CE...W
    w0  fp_add r3, r4   DI.CE...W
    w0  int_add r5, r6   DI.C.E...W
    w0  int_add r7, r8   D.I....CE...W
    w0  exit               DI.C.E..W
    ");
}
