//! Branches, meetings and waits of lanes on a stack.

use super::*;

fn started(pc: u32) -> SimtStack<u8> {
    let mut stack = SimtStack::default();
    stack.start(pc, !0);
    stack
}

#[test]
fn both_sides_of_a_branch_run_and_meet() {
    let mut stack = started(0);
    // 0: @p bra 3; 1: …; 2: bra 4; 3: …; 4: join
    assert!(stack.branch(0xf, 3, 4).unwrap());
    assert_eq!((stack.pc(), stack.active()), (Some(3), 0xf));
    assert_eq!(stack.reconvergence(), Some(4));
    stack.advance();
    assert_eq!((stack.pc(), stack.active()), (Some(1), !0xf));
    stack.advance();
    assert!(!stack.branch(!0xf, 4, 4).unwrap());
    assert_eq!((stack.pc(), stack.active(), stack.height()), (Some(4), !0, 1));
    assert_eq!(stack.reconvergence(), None);
}

#[test]
fn a_loop_with_different_trip_counts_does_not_grow_the_stack() {
    let mut stack = started(5);
    // 5: body; 6: @p bra 5; 7: after
    let mut trips = 0;
    for lane in 0..31 {
        stack.advance();
        stack.branch(stack.active() & !(1 << lane), 5, 7).unwrap();
        trips += 1;
        assert!(stack.height() <= 2);
    }
    stack.advance();
    stack.branch(0, 5, 7).unwrap();
    assert_eq!((stack.pc(), stack.active(), stack.height(), trips), (Some(7), !0, 1, 31));
}

#[test]
fn lanes_that_exit_in_one_way_are_gone_at_the_join() {
    let mut stack = started(0);
    stack.branch(0xff, 10, NOWHERE).unwrap();
    stack.exit(0xff);
    assert_eq!((stack.pc(), stack.active(), stack.live()), (Some(1), !0xff, !0xff));
    stack.exit(!0xff);
    assert_eq!((stack.pc(), stack.live()), (None, 0));
}

#[test]
fn lanes_that_return_early_wait_for_the_rest_of_the_call() {
    let mut stack = started(0);
    stack.call(0xffff, 100, 7).unwrap();
    // In the function: lanes 0-3 return at once, the others one instruction later.
    stack.branch(0xf, 110, NOWHERE).unwrap();
    assert_eq!(stack.pc(), Some(110));
    stack.ret(0xf);
    assert_eq!((stack.frame(), stack.pc(), stack.active()), (Some(&7), Some(101), 0xfff0));
    stack.ret(0xfff0);
    assert_eq!((stack.frame(), stack.pc(), stack.active()), (None, Some(1), !0));
}

#[test]
fn runaway_recursion_is_an_error() {
    let mut stack = started(0);
    let mut depth = 0;
    while stack.call(!0, 0, 0).is_ok() {
        depth += 1;
    }
    assert!(depth > 1000);
}

#[test]
fn an_indirect_branch_runs_each_way_once() {
    let mut stack = started(0);
    stack.branch_many(&[(10, 0xff), (20, 0xff00), (30, 0xffff_0000)], 40).unwrap();
    let mut seen = Vec::new();
    while stack.pc() != Some(40) {
        seen.push((stack.pc().unwrap(), stack.active()));
        stack.branch(stack.active(), 40, 40).unwrap();
    }
    assert_eq!(seen, [(30, 0xffff_0000), (20, 0xff00), (10, 0xff)]);
    assert_eq!(stack.active(), !0);
}

/// 0: @p bra 10; they meet at 20. Lanes 0 to 15 are at 10 and execute, the others at 1.
fn parted() -> SimtStack<u8> {
    let mut stack = started(0);
    stack.branch(0xffff, 10, 20).unwrap();
    stack
}

fn at(stack: &SimtStack<u8>) -> (Option<u32>, LaneMask) {
    (stack.pc(), stack.active())
}

#[test]
fn paths_take_turns_in_polling_loops() {
    let mut stack = parted();
    for _ in 0..4 {
        stack.branch(0xffff, 10, 12).unwrap();
        stack.poll();
        assert_eq!(at(&stack), (Some(1), 0xffff_0000));
        stack.branch(0xffff_0000, 1, 3).unwrap();
        stack.poll();
        assert_eq!(at(&stack), (Some(10), 0xffff));
    }
    stack.branch(0xffff, 20, 20).unwrap();
    assert_eq!(at(&stack), (Some(20), 0xffff), "the others have yielded");
    stack.exit(0xffff);
    assert_eq!(at(&stack), (Some(1), 0xffff_0000));
}

#[test]
fn lanes_that_poll_do_not_hold_those_at_the_join() {
    let mut stack = started(0);
    // 0: poll; 1: @p bra 0; 2: after, up to the end at 9, which lanes reach one by one.
    stack.advance();
    stack.branch(!1, 0, 2).unwrap();
    stack.poll();
    assert_eq!(at(&stack), (Some(2), 1), "lane 0 has what the others poll for");
    stack.exit(1);
    assert_eq!(at(&stack), (Some(0), !1));
    stack.advance();
    stack.branch(0, 0, 2).unwrap();
    assert_eq!((at(&stack), stack.height()), ((Some(2), !1), 1), "the others have met");
}

#[test]
fn lanes_meet_at_an_instruction_that_names_them() {
    let mut stack = parted();
    assert_eq!(stack.meet(&[(0xffff, 0xffff)]), Ok(Some(0xffff)), "they are together");
    stack.advance();
    assert_eq!(stack.meet(&[(0xffff, !0)]), Ok(None));
    assert_eq!(at(&stack), (Some(1), 0xffff_0000));
    stack.branch(0xffff_0000, 11, 20).unwrap();
    assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(Some(!0)), "all are at 11 now");
    assert_eq!(at(&stack), (Some(11), !0));
    stack.branch(!0, 20, 20).unwrap();
    assert_eq!((at(&stack), stack.height()), ((Some(20), !0), 1));
}

#[test]
fn that_lanes_have_met_is_for_one_instruction() {
    let mut stack = parted();
    assert_eq!(stack.meet(&[(0xffff, !0)]), Ok(None));
    // Lanes 0 to 15 have met the others, which exit.
    assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(Some(0xffff_0000)));
    stack.exit(0xffff_0000);
    assert_eq!((at(&stack), stack.is_apart()), ((Some(10), 0xffff), true));
    // They branch without executing the instruction for which they met.
    assert_eq!(stack.top.waiting, Waiting::Met);
    stack.branch(0xff, 12, 15).unwrap();
    assert!(stack.below.iter().all(|entry| entry.waiting == Waiting::Turn));
    assert_eq!(stack.meet(&[(0xff, 0xffff)]), Ok(None), "the others are at 11");
}

#[test]
fn lanes_of_different_calls_meet() {
    let mut stack = parted();
    stack.call(0xffff, 100, 7).unwrap();
    assert_eq!(stack.meet(&[(0xffff, !0)]), Ok(None));
    stack.call(0xffff_0000, 100, 8).unwrap();
    assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(Some(!0)), "all lanes execute it");
    stack.advance_met();
    assert_eq!((at(&stack), stack.frame()), ((Some(101), 0xffff_0000), Some(&8)));
    stack.ret(0xffff_0000);
    assert_eq!((at(&stack), stack.frame()), ((Some(101), 0xffff), Some(&7)), "it is executed once");
    stack.ret(0xffff);
    assert_eq!((at(&stack), stack.frame()), ((Some(2), 0xffff_0000), None));
    stack.branch(0xffff_0000, 20, 20).unwrap();
    assert_eq!((at(&stack), stack.frame()), ((Some(11), 0xffff), None));
}

#[test]
fn lanes_at_different_instructions_meet_and_continue_there() {
    let mut stack = parted();
    assert_eq!(stack.meet(&[(0xffff, !0)]), Ok(None));
    assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(Some(0xffff_0000)));
    stack.branch(0xffff_0000, 20, 20).unwrap();
    assert_eq!((at(&stack), stack.meet(&[(0xffff, !0)])), ((Some(10), 0xffff), Ok(Some(0xffff))));
    stack.branch(0xffff, 20, 20).unwrap();
    assert_eq!((at(&stack), stack.height()), ((Some(20), !0), 1));
}

#[test]
fn lanes_at_the_join_are_released_by_lanes_that_wait_for_them() {
    let mut stack = started(0);
    // Lanes 0 to 15 are at the join, 20; the others name them at 1.
    stack.branch(0xffff, 20, 20).unwrap();
    assert_eq!(at(&stack), (Some(1), 0xffff_0000));
    assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(None));
    assert_eq!(at(&stack), (Some(20), 0xffff));
    stack.exit(0xffff);
    assert_eq!((at(&stack), stack.meet(&[(0xffff_0000, !0)])), ((Some(1), 0xffff_0000), Ok(Some(0xffff_0000))));
}

#[test]
fn lanes_of_one_instruction_that_name_different_lanes_wait_separately() {
    let mut stack = parted();
    assert_eq!(stack.meet(&[(0xff, 0xff), (0xff00, !0xff)]), Ok(Some(0xff)));
    assert_eq!(at(&stack), (Some(10), 0xff), "these have all that they name");
    stack.exit(0xff);
    assert_eq!(stack.meet(&[(0xffff_0000, !0xff)]), Ok(Some(0xffff_0000)));
}

#[test]
fn waiting_for_lanes_that_wait_for_others_is_noticed() {
    let mut stack = parted();
    assert_eq!(stack.meet(&[(0xffff, 0xff_ffff)]), Ok(None));
    assert_eq!(stack.meet(&[(0xffff_0000, 0xffff_ff00)]), Err(Stuck));
}

#[test]
fn lanes_come_to_a_cta_barrier_together() {
    let mut stack = parted();
    assert_eq!(stack.reach_cta_barrier(0), None);
    assert_eq!(at(&stack), (Some(1), 0xffff_0000));
    assert_eq!(stack.reach_cta_barrier(0), Some(vec![(10, 0xffff)]));
    stack.advance();
    assert_eq!(at(&stack), (Some(2), 0xffff_0000));
    stack.branch(0xffff_0000, 20, 20).unwrap();
    assert_eq!(at(&stack), (Some(11), 0xffff));
    let mut stack = parted();
    stack.branch(0xffff, 1, 20).unwrap();
    assert_eq!(stack.reach_cta_barrier(0), None);
    assert_eq!((stack.reach_cta_barrier(0), at(&stack)), (Some(vec![]), (Some(1), !0)), "at one instruction");
}

#[test]
fn lanes_in_different_calls_take_turns() {
    let mut stack = parted();
    stack.call(0xffff, 100, 7).unwrap();
    stack.branch(0xffff, 100, 102).unwrap();
    stack.poll();
    assert_eq!((at(&stack), stack.frame()), ((Some(1), 0xffff_0000), None));
    stack.call(0xffff_0000, 200, 8).unwrap();
    stack.branch(0xffff_0000, 200, 202).unwrap();
    stack.poll();
    assert_eq!((at(&stack), stack.frame()), ((Some(100), 0xffff), Some(&7)));
    stack.ret(0xffff);
    assert_eq!((at(&stack), stack.frame()), ((Some(11), 0xffff), None), "the others have yielded");
    stack.branch(0xffff, 20, 20).unwrap();
    assert_eq!((at(&stack), stack.frame()), ((Some(20), 0xffff), None));
}
