//! Divergence and reconvergence of lanes in machine code.

use crate::words;

use exec::{Arg, DeviceState, Launch, LiveStream};
use isa::{CtaSlot, Dim3, DynInst, StepContext, WarpSlot, WarpStream};
use lower::load_words;
use std::sync::Arc;
use words::{EXIT, Registers, Setting, Word, run};

const NOP: Word = Word(0x000fc000_00000000_00000000_00007918);

/// A jump from instruction `at` to `to`.
fn jump(word: Word, at: u64, to: u64) -> Word {
    word.p(7, false).bits(34, 48, to.wrapping_sub(at + 1).wrapping_mul(4))
}

/// The steps of a warp whose predicate P0 holds in `lanes`: PC, lanes and reconvergence PC.
fn steps(words: &[Word], lanes: u32) -> Vec<(u32, u32, Option<u32>)> {
    let code: Vec<u128> = words.iter().map(|w| w.0).chain([EXIT]).collect();
    let kernel = load_words("words", 75, &code, 8).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    let one = Dim3::new(1, 1, 1);
    let launch = Launch::new(Arc::new(kernel), one, Dim3::new(32, 1, 1), 0, &[Arg::Bytes(vec![0; 64])]).unwrap();
    let mut state = DeviceState::default();
    let id = state.add_launch(launch);
    let (warp, mut stream, mut out) = (WarpSlot(0), LiveStream::new(), DynInst::default());
    stream.start_cta(&state, id, Dim3::new(0, 0, 0), CtaSlot(0), &[warp]);
    stream.registers_mut(warp).unwrap().1[0] = lanes;
    let mut done = Vec::new();
    while stream.next_pc(warp).is_some() {
        stream.step_alone(&mut state, warp, StepContext { now: 0, sm: 0 }, &mut out).unwrap();
        done.push((out.pc.0, out.active, out.reconverge.map(|pc| pc.0)));
    }
    done
}

#[test]
fn lanes_between_bssy_and_bsync_know_where_they_meet() {
    let code = [
        jump(Word::new(0x145, 4), 0, 4),                 // BSSY B0, 4
        jump(Word::new(0x147, 4).guard(0, false), 1, 3), // @P0 BRA 3
        NOP,
        Word::new(0x141, 4).p(7, false), // BSYNC B0
        NOP,
    ];
    let apart = [(0, !0, None), (1, !0, None), (3, 0xff, Some(4)), (2, !0xff, Some(4)), (3, !0xff, Some(4))];
    let together = [(4, !0, None), (5, !0, None)];
    assert_eq!(steps(&code, 0xff), [&apart[..], &together].concat());
    let none_jumps = (0..6).map(|pc| (pc, !0, None)).collect::<Vec<_>>();
    assert_eq!(steps(&code, 0), none_jumps);
}

/// Lanes branch out of the region of B1 to its end; the others use B1 for another region and do not come there.
#[test]
fn lanes_that_set_a_barrier_again_leave_its_lanes() {
    let barrier = |word: Word| word.bits(16, 4, 1);
    let clear = Word::new(0x155, 1).bits(16, 8, 255).bits(24, 4, 1).bits(84, 1, 1); // BMOV.32.CLEAR RZ, B1
    for before in [clear, NOP] {
        let code = [
            jump(Word::new(0x145, 4), 0, 10),                // BSSY B0, 10
            jump(barrier(Word::new(0x145, 4)), 1, 9),        // BSSY B1, 9
            jump(Word::new(0x147, 4).guard(0, false), 2, 8), // @P0 BRA 8
            before,
            jump(barrier(Word::new(0x145, 4)), 4, 6), // BSSY B1, 6
            barrier(Word::new(0x141, 4).p(7, false)), // BSYNC B1
            jump(Word::new(0x147, 4), 6, 9),          // BRA 9
            NOP,
            barrier(Word::new(0x141, 4).p(7, false)), // BSYNC B1
            Word::new(0x141, 4).p(7, false),          // BSYNC B0
            NOP,
        ];
        let order: Vec<(u32, u32)> = steps(&code, 0xff).into_iter().map(|(pc, lanes, _)| (pc, lanes)).collect();
        let begin = [(0, !0), (1, !0), (2, !0), (8, 0xff)];
        let others = [3, 4, 5, 6, 9].map(|pc| (pc, !0xff));
        let end = [(9, 0xff), (10, !0), (11, !0)];
        assert_eq!(order, [&begin[..], &others, &end].concat());
    }
}

/// Two groups of lanes count in one uniform register, in loops that are long enough for the other group's turn.
#[test]
fn groups_of_lanes_have_their_own_uniform_registers() {
    let umov = Word::new(0x082, 4).d(4);
    let uiadd3 = Word(0x000fe200_0fffe03f_00000001_04047890); // UIADD3 UR4, UR4, 0x1, URZ
    let iadd3 = Word::new(0x010, 4).b(1).c(255).bits(81, 6, 0x3f); // IADD3 R0, R0, 0x1, RZ
    let isetp = Word::new(0x00c, 4).bits(76, 3, 5).pq(1, 7).p(7, false); // ISETP.NE.AND P1, PT, R0, turns, PT
    let count = |at: u64, start: u32, turns: u32| {
        [umov.b(start), uiadd3, iadd3, isetp.b(turns), jump(Word::new(0x147, 4).guard(1, false), at + 4, at + 1)]
    };
    let code = [
        &[jump(Word::new(0x147, 4).guard(0, false), 0, 7)][..], // @P0 BRA 7
        &count(1, 1000, 50),
        &[jump(Word::new(0x147, 4), 6, 12)], // BRA 12
        &count(7, 2000, 70),
        &[Word::new(0x002, 6).d(1).b(4).bits(72, 4, 15).bits(91, 1, 1)], // MOV R1, UR4
    ]
    .concat();
    let mut before = Registers::default();
    before.predicates[0] = 0xff;
    let words: Vec<u128> = code.iter().map(|w| w.0).collect();
    let after = run(80, &words, &before, &mut Setting::default());
    assert_eq!(after.general[1], std::array::from_fn(|lane| if lane < 8 { 2070 } else { 1050 }));
}
