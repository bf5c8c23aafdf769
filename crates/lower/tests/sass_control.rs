//! Divergence and reconvergence of lanes in machine code.

use crate::words;

use exec::{Arg, DeviceState, Launch, LiveStream};
use isa::{CtaSlot, Dim3, DynInst, StepContext, WarpSlot, WarpStream};
use lower::load_words;
use std::sync::Arc;
use words::{EXIT, Word};

const NOP: Word = Word(0x000fc000_00000000_00000000_00007918);

/// A jump from instruction `at` to `to`.
fn jump(word: Word, at: u64, to: u64) -> Word {
    word.p(7, false).bits(34, 30, 4 * (to - at - 1))
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
