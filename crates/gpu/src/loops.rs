//! The work of a warp that repeats itself: the instructions of its loop and what they read.

use crate::livelock::{LoopStep, SpinningWarp};
use isa::{Access, DynInst, Program, Space, StepContext, WarpSlot, WarpStream};
use kit::lanes;

/// Maximum number of instructions of a loop that are followed.
const MOST_STEPS: usize = 4096;
/// Maximum number of addresses, and of barriers, that an instruction is said to read.
const NAMED_READS: usize = 4;

impl SpinningWarp {
    /// Executes a round of the warp's loop in `program`, through barriers, which are released each time, and notes
    /// its instructions: the machine cannot continue after this.
    pub fn follow<S: WarpStream>(
        &mut self,
        stream: &mut S,
        shared: &mut S::Shared,
        program: &Program,
        context: StepContext,
    ) {
        let warp = self.warp;
        let (first, mut done) = (stream.digest(warp), DynInst::default());
        while let Some(pc) = stream.next_pc(warp) {
            if stream.step_alone(shared, warp, context, &mut done).is_err() {
                break;
            }
            if done.held {
                break;
            }
            let mut step = LoopStep::new(program, pc);
            step.reads = reads(stream, shared, program, warp, &done);
            step.polls = stream.describe_polls(shared, warp, &done, NAMED_READS);
            self.lanes |= done.active;
            self.steps.push(step);
            if stream.digest(warp) == first {
                // Where it was found in its loop does not matter.
                let top = (0..self.steps.len()).min_by_key(|&i| self.steps[i].pc).unwrap_or(0);
                self.steps.rotate_left(top);
                break;
            }
            if self.steps.len() == MOST_STEPS {
                break;
            }
        }
    }
}

/// Memory that `done` reads and others may write, and the words there.
fn reads<S: WarpStream>(
    stream: &S,
    shared: &S::Shared,
    program: &Program,
    warp: WarpSlot,
    done: &DynInst,
) -> Vec<(Space, u64, Option<u32>)> {
    let reads = program.inst(done.pc).mem.is_some_and(|m| matches!(m.access, Access::Load | Access::Atomic));
    if !reads || !matches!(done.space, Space::Global | Space::Shared) {
        return Vec::new();
    }
    let mut addresses: Vec<u64> = lanes(done.mask).map(|lane| done.addresses[lane]).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let words = addresses.iter().take(NAMED_READS);
    words.map(|&a| (done.space, a, stream.word_at(shared, warp, done.space, a))).collect()
}
