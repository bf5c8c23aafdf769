//! Lanes that part, wait and meet.

use super::*;

const ALL: Gathering = Gathering { place: 0, lanes: !0 };

fn started(pc: u32) -> Convergence {
    let mut warp = Convergence::default();
    warp.start(pc, !0);
    warp
}

#[test]
fn both_sides_of_a_branch_meet_at_the_barrier() {
    let mut warp = started(0);
    // 0: @p bra 3; 1: …; 2: …; 3: bsync
    assert!(warp.branch(0xf, 3));
    assert_eq!((warp.pc(), warp.active()), (Some(3), 0xf));
    warp.meet(ALL).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(1), !0xf));
    warp.advance();
    warp.advance();
    warp.meet(ALL).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(4), !0));
}

#[test]
fn lanes_apart_have_a_reconvergence_pc() {
    let mut warp = started(0);
    let inner = Gathering { place: 1, lanes: 0xf };
    warp.gather(ALL, 20);
    assert_eq!(warp.reconvergence(), None, "they are together");
    warp.branch(0xf, 10);
    assert_eq!(warp.reconvergence(), Some(20));
    warp.gather(inner, 15);
    assert_eq!(warp.reconvergence(), Some(20), "the lanes of the inner one are together");
    warp.branch(0x3, 14);
    assert_eq!(warp.reconvergence(), Some(15));
    warp.meet(inner).unwrap();
    assert_eq!((warp.active(), warp.reconvergence()), (0xc, Some(15)));
    warp.leave(inner, 0xc);
    assert_eq!((warp.active(), warp.reconvergence()), (0xc, Some(20)), "they have left the inner one");
    warp.exit(0xc).unwrap();
    assert_eq!((warp.pc(), warp.reconvergence()), (Some(15), Some(20)), "the inner one is over");
    warp.exit(0x3).unwrap();
    assert_eq!((warp.active(), warp.reconvergence()), (!0xf, None), "no others are left");
}

#[test]
fn a_barrier_used_once_more_within_hides_nothing() {
    let mut warp = started(0);
    warp.gather(ALL, 20);
    warp.branch(0xf, 10);
    // The register is saved, used and restored, as around a call.
    warp.gather(Gathering { place: 0, lanes: 0xf }, 30);
    warp.branch(0x1, 14);
    assert_eq!(warp.reconvergence(), Some(30));
    warp.meet(Gathering { place: 0, lanes: 0xf }).unwrap();
    warp.meet(Gathering { place: 0, lanes: 0xf }).unwrap();
    assert_eq!(warp.reconvergence(), Some(20));
}

#[test]
fn lanes_of_an_inner_call_do_not_release_those_of_the_outer_one() {
    let mut warp = started(0);
    // 1: bssy; @p bra 9; 2: call 1; 9: bsync. Lanes 0 to 3 do not call, 4 to 7 do not call once more.
    let inner = Gathering { place: 0, lanes: !0xf };
    warp.gather(ALL, 10);
    warp.branch(0xf, 9);
    warp.meet(ALL).unwrap();
    warp.gather(inner, 10);
    warp.branch(0xf0, 9);
    warp.meet(inner).unwrap();
    assert_eq!(warp.active(), !0xff);
    warp.branch(!0xff, 9);
    warp.meet(inner).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(10), !0xf), "the inner call returns");
    warp.branch(!0xf, 9);
    warp.meet(ALL).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(10), !0));
}

#[test]
fn a_loop_that_begins_a_region_in_each_turn_notes_it_once() {
    let mut warp = started(0);
    for _ in 0..100 {
        warp.gather(ALL, 20);
    }
    assert_eq!(warp.regions.len(), 1);
}

#[test]
fn a_break_in_an_inner_call_does_not_release_those_of_the_outer_one() {
    let mut warp = started(0);
    // Lanes 0 to 3 wait at the barrier of the outer call; the others break out of the same one in an inner call.
    warp.gather(ALL, 10);
    warp.branch(0xf, 9);
    warp.meet(ALL).unwrap();
    let inner = Gathering { place: 0, lanes: !0xf };
    warp.gather(inner, 20);
    warp.leave(inner, 0xf0);
    assert_eq!(warp.others.len(), 1);
    assert_eq!(warp.others[0].waiting, Waiting::Lanes(ALL));
    warp.meet(ALL).unwrap();
    assert_eq!((warp.active(), warp.others.len()), (!0xf, 1), "two places");
}

#[test]
fn an_exit_or_a_break_releases_those_that_wait() {
    let mut warp = started(0);
    warp.branch(0xf, 10);
    warp.meet(ALL).unwrap();
    warp.exit(!0xf).unwrap();
    assert_eq!((warp.pc(), warp.active(), warp.live()), (Some(11), 0xf, 0xf));
    let mut warp = started(0);
    warp.branch(0xf, 10);
    warp.meet(ALL).unwrap();
    warp.leave(ALL, !0xf);
    warp.yield_turn();
    assert_eq!((warp.pc(), warp.active()), (Some(11), 0xf));
}

#[test]
fn a_group_that_spins_lets_others_go_on() {
    let mut warp = started(5);
    warp.branch(0xff, 7);
    // Lanes 0 to 7 spin at 7 until the others, at 6, have done something.
    let mut turns = 0;
    while warp.pc() == Some(7) && turns < 1000 {
        warp.branch(warp.active(), 7);
        turns += 1;
    }
    assert_eq!((warp.pc(), warp.active()), (Some(6), !0xff));
}

#[test]
fn lanes_come_to_a_cta_barrier_together() {
    let mut warp = started(0);
    warp.branch(0xf, 8);
    assert!(!warp.reach_cta_barrier(0));
    assert_eq!((warp.pc(), warp.active()), (Some(1), !0xf));
    warp.branch(warp.active(), 8);
    assert!(warp.reach_cta_barrier(0));
    assert_eq!((warp.pc(), warp.active()), (Some(8), !0));
}

#[test]
fn a_group_at_a_cta_barrier_goes_on_when_the_others_exit() {
    let mut warp = started(0);
    warp.branch(0xf, 8);
    assert!(!warp.reach_cta_barrier(0));
    warp.exit(!0xf).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(8), 0xf));
    assert!(warp.reach_cta_barrier(0));
}

#[test]
fn groups_at_different_cta_barriers_arrive_one_after_the_other() {
    let mut warp = started(0);
    warp.branch(0xf, 8);
    assert!(!warp.reach_cta_barrier(2));
    assert!(warp.reach_cta_barrier(1));
    warp.advance();
    assert_eq!((warp.pc(), warp.active()), (Some(2), !0xf), "the others are still at barrier 2");
    warp.exit(!0xf).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(8), 0xf));
    assert!(warp.reach_cta_barrier(2));
}

/// 0: @p bra 8. Lanes 0 to 3 arrive at `first` there, the others at `then` at 1.
fn apart(first: Gathering, then: Gathering) -> (Convergence, Result<(), Stuck>) {
    let mut warp = started(0);
    warp.branch(0xf, 8);
    warp.meet(first).unwrap();
    let result = warp.meet(then);
    (warp, result)
}

const SYNC: Gathering = Gathering { place: Gathering::WARPSYNC, lanes: !0 };

#[test]
fn lanes_at_warpsync_do_not_hold_those_at_bsync() {
    let (mut warp, _) = apart(ALL, SYNC);
    assert_eq!((warp.pc(), warp.active()), (Some(9), 0xf));
    warp.meet(SYNC).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(10), 0xf), "all have met");
    let (warp, _) = apart(SYNC, ALL);
    assert_eq!((warp.pc(), warp.active()), (Some(2), !0xf));
}

#[test]
fn lanes_that_meet_at_warpsync_hold_those_at_bsync() {
    let mut warp = started(0);
    let some = Gathering { lanes: 0xff0, ..SYNC };
    // Lanes 0 to 3 wait at BSYNC, 4 to 7 and 8 to 11 come to WARPSYNC one after the other.
    warp.branch(!0xf, 4);
    warp.branch(0xff0, 8);
    warp.branch(0xf0, 12);
    warp.meet(some).unwrap();
    assert_eq!(warp.active(), 0xf00);
    warp.branch(0xf00, 12);
    warp.meet(some).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(13), 0xff0));
    warp.meet(ALL).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(5), !0xfff));
    warp.meet(ALL).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(1), 0xf));
    warp.meet(ALL).unwrap();
    assert_eq!(warp.others.len(), 2, "three groups at three places");
    assert!(warp.cleared.is_empty(), "and none was too early");
}

#[test]
fn yielded_lanes_do_not_hold_those_at_bsync() {
    let mut warp = started(0);
    // 0: bssy 3; 1: yield; 2: @p bra 1; 3: bsync
    let held = Gathering { place: 3, lanes: !0 };
    warp.gather(held, 4);
    warp.yield_turn();
    warp.branch(!1, 1);
    assert_eq!((warp.pc(), warp.active()), (Some(1), !1));
    warp.yield_turn();
    assert_eq!((warp.pc(), warp.active()), (Some(3), 1), "the others spin");
    warp.meet(held).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(4), 1));
    warp.yield_turn();
    assert_eq!((warp.pc(), warp.active()), (Some(2), !1));
    // Lane 0 has passed: the others wait for each other only.
    warp.branch(!3, 1);
    warp.advance();
    warp.advance();
    warp.meet(held).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(3), 2));
    warp.meet(held).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(4), !1), "all that spun have met");
    assert!(warp.cleared.is_empty());
}

#[test]
fn yielded_lanes_hold_those_at_warpsync() {
    let mut warp = started(0);
    warp.branch(!1, 8);
    warp.meet(SYNC).unwrap();
    assert_eq!((warp.pc(), warp.active()), (Some(1), 1));
    warp.yield_turn();
    assert_eq!((warp.pc(), warp.active()), (Some(2), 1), "no other can execute");
    warp.meet(SYNC).unwrap();
    assert_eq!(warp.others.len(), 1, "all have met");
}

#[test]
fn a_deadlock_at_bsync_is_resolved() {
    let (warp, result) = apart(Gathering { place: 1, lanes: 0xff }, ALL);
    assert_eq!((result, warp.pc(), warp.active()), (Ok(()), Some(9), 0xf), "the first that came");
}

#[test]
fn waiting_for_lanes_that_wait_for_others_at_warpsync_is_noticed() {
    let (_, result) = apart(Gathering { lanes: 0xff, ..SYNC }, Gathering { lanes: !0xf0, ..SYNC });
    assert_eq!(result, Err(Stuck));
}

#[test]
fn an_indirect_branch_runs_each_way_once() {
    let mut warp = started(0);
    assert!(warp.branch_many(&[(10, 0xff), (20, 0xff00), (30, 0xffff_0000)]));
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push((warp.pc().unwrap(), warp.active()));
        warp.branch(warp.active(), 40);
        warp.meet(ALL).unwrap();
    }
    assert_eq!(seen, [(30, 0xffff_0000), (20, 0xff00), (10, 0xff)]);
    assert_eq!((warp.pc(), warp.active()), (Some(41), !0));
}
