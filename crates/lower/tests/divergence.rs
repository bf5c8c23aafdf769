//! Which instructions are marked as writing registers that may be written in only a part of a warp's
//! live threads.

use crate::common;

use common::{kernel, module};

/// Every instruction whose first operand is a register of `marked` is marked, and none whose first
/// operand is one of `whole`.
#[track_caller]
fn check(items: &str, marked: &[&str], whole: &[&str]) {
    let loaded = module(items);
    let program = &loaded.module.kernels[0].program;
    for (registers, expected) in [(marked, true), (whole, false)] {
        for register in registers {
            let mut found = 0;
            for (pc, inst) in program.insts().iter().enumerate() {
                let text = program.text(pc.into());
                let first = text.split(' ').filter(|word| !word.starts_with('@')).nth(1).unwrap_or_default();
                if first.trim_matches(['(', ')', ',']) == *register {
                    assert_eq!(inst.partial, expected, "{text}");
                    found += 1;
                }
            }
            assert!(found > 0, "nothing writes {register}");
        }
    }
}

#[test]
fn a_branch_on_the_thread_parts_lanes_until_they_meet() {
    let body = "mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r5, 5;\n\
         setp.lt.u32 %p1, %i, 7; @%p1 bra THEN;\n\
         mov.u32 %r3, 3; mov.u32 %r1, 4; bra END;\n\
         THEN: mov.u32 %r4, 4;\n\
         END: add.u32 %r6, %r1, %r2;";
    // All write `%r1` before the branch, and one side of the branch writes it.
    check(&kernel(body), &["%r1", "%r3", "%r4"], &["%r2", "%r5", "%r6", "%i", "%at"]);
}

#[test]
fn a_branch_on_a_parameter_parts_nobody() {
    let body = "cvt.u32.u64 %r1, %buf; add.u32 %r1, %r1, %b; setp.lt.u32 %p1, %r1, 7; @%p1 bra THEN;\n\
         mov.u32 %r3, 3; bra END;\n\
         THEN: mov.u32 %r4, 4; @%p1 mov.u32 %r5, 5;\n\
         END: add.u32 %r6, %r3, %r4;";
    check(&kernel(body), &[], &["%r1", "%r3", "%r4", "%r5", "%r6"]);
}

#[test]
fn a_loop_parts_lanes_if_they_leave_it_at_different_times() {
    let turn = |end: &str| {
        format!(
            "mov.u32 %r1, 0; mov.u32 %r2, 10;\n\
             LOOP: add.u32 %r1, %r1, 1; mul.lo.u32 %r3, %r1, 3; setp.lt.u32 %p1, %r1, {end}; @%p1 bra LOOP;\n\
             mov.u32 %r4, %r3;"
        )
    };
    check(&kernel(&turn("%r2")), &[], &["%r1", "%r2", "%r3", "%r4"]);
    check(&kernel(&turn("%n")), &[], &["%r1", "%r2", "%r3", "%r4"]);
    check(&kernel(&turn("%i")), &["%r1", "%r3"], &["%r2", "%r4"]);
}

#[test]
fn what_a_loop_leaves_in_a_lane_differs() {
    // The second loop runs as often as the lane went through the first.
    let body = "mov.u32 %r1, 0; LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %i; @%p1 bra LOOP;\n\
         mov.u32 %r2, 0; NEXT: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra NEXT;\n\
         mov.u32 %r3, 3;";
    check(&kernel(body), &["%r1", "%r2"], &["%r3"]);
}

#[test]
fn a_guard_is_as_good_as_a_branch() {
    let body = "setp.lt.u32 %p1, %i, 7; setp.lt.u32 %p2, %n, 7;\n\
         @%p1 mov.u32 %r1, 1; @%p2 mov.u32 %r2, 2; selp.u32 %r3, 1, 2, %p1; mov.u32 %r1, 3;";
    check(&kernel(body), &["%r1"], &["%r2", "%r3"]);
}

#[test]
fn threads_that_have_ended_are_not_missed() {
    let body = "setp.lt.u32 %p1, %i, 7; @%p1 exit; mov.u32 %r1, 1; @!%p1 ret; mov.u32 %r2, 2;";
    check(&kernel(body), &[], &["%r1", "%r2"]);
    // The lanes that wait for the others at the end are marked.
    let body = "setp.lt.u32 %p1, %i, 7; @%p1 bra END; mov.u32 %r1, 1; END: mov.u32 %r2, 2;";
    check(&kernel(body), &["%r1"], &["%r2"]);
}

#[test]
fn what_is_read_decides() {
    let with =
        |source: &str| format!("{source} setp.eq.u32 %p1, %r1, 7; @%p1 bra END; mov.u32 %r2, 2; END: mov.u32 %r3, 3;");
    let uniform = [
        "ld.global.u32 %r1, [%buf];",
        "mov.u32 %r1, %ctaid.x;",
        "setp.eq.u32 %p2, %i, 1; vote.sync.ballot.b32 %r1, %p2, 0xffffffff;",
    ];
    let varying = [
        "ld.global.u32 %r1, [%at];",
        "ld.u32 %r1, [%buf];",
        "mov.u32 %r1, %laneid;",
        "atom.global.add.u32 %r1, [%buf], 1;",
        "shfl.sync.idx.b32 %r1, %i, 0, 31, 0xffffffff;",
    ];
    for source in uniform {
        check(&kernel(&with(source)), &[], &["%r2", "%r3"]);
    }
    for source in varying {
        check(&kernel(&with(source)), &["%r2"], &["%r3"]);
    }
}

const FUNCTION: &str = ".func (.reg .b32 %out) twice(.reg .b32 %in)\n\
     {\n.reg .b32 %t;\nadd.u32 %t, %in, %in;\nmov.u32 %out, %t;\nret;\n}\n";

#[test]
fn a_function_that_is_called_apart_is_apart() {
    let together = kernel("call (%r1), twice, (%n); mov.u32 %r2, 2;");
    check(&format!("{FUNCTION}{together}"), &[], &["%t", "%out", "%r2"]);
    let apart = kernel("setp.lt.u32 %p1, %i, 7; @%p1 bra END; call (%r1), twice, (%n); END: mov.u32 %r2, 2;");
    check(&format!("{FUNCTION}{apart}"), &["%t", "%out"], &["%r2"]);
    let guarded = kernel("setp.lt.u32 %p1, %i, 7; @%p1 call (%r1), twice, (%n); mov.u32 %r2, 2;");
    check(&format!("{FUNCTION}{guarded}"), &["%t", "%out"], &["%r2"]);
}

#[test]
fn early_returns_part_the_rest_of_a_function() {
    let function = ".func (.reg .b32 %out) f(.reg .b32 %in)\n{\n.reg .b32 %t, %s;\n.reg .pred %q;\n\
         mov.u32 %s, 3;\nsetp.eq.u32 %q, %in, 0;\nmov.u32 %out, 1;\n@%q ret;\nadd.u32 %t, %in, %s;\nret;\n}\n";
    let caller = kernel("call (%r1), f, (%i); mov.u32 %r2, 2;");
    check(&format!("{function}{caller}"), &["%t"], &["%s", "%r2"]);
}

#[test]
fn an_indirect_branch_parts_lanes_by_its_index() {
    let with = |index: &str| {
        format!(
            "and.b32 %r1, {index}, 1; TABLE: .branchtargets A, B; brx.idx %r1, TABLE;\n\
             A: mov.u32 %r2, 2; bra END; B: mov.u32 %r3, 3; END: mov.u32 %r4, 4;"
        )
    };
    check(&kernel(&with("%i")), &["%r2", "%r3"], &["%r1", "%r4"]);
    check(&kernel(&with("%b")), &[], &["%r1", "%r2", "%r3", "%r4"]);
}
