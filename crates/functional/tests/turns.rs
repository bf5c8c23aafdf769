//! Whose turn it is, in each cycle: warps that follow a script on one core, ticked as a machine ticks it.

use functional::{FunctionalConfig, FunctionalCore, FunctionalCounters, FunctionalKernel, FunctionalSpec};
use gpu::{Access, Core, Env};
use isa::{
    BarrierArrival, Control, CtaSlot, Dim3, DynInst, Fault, InstSpec, KernelId, LaunchShape, OpClass, Pc, Program,
    ProgramBuilder, RegFile, StepContext, Traits, WarpSlot, WarpStream,
};
use kit::{Cycle, NEVER};
use mem::Port;
use std::sync::{Arc, Mutex};

/// Cycles that each sleep takes.
const NAP: u32 = 10;

/// Warps that execute the lines of a program one after the other; warp *w* skips `skips[w]` lines at the beginning.
#[derive(Debug, Default)]
struct Script {
    lines: usize,
    skips: Vec<usize>,
    at: Vec<usize>,
    ended: Vec<CtaSlot>,
}

impl WarpStream for Script {
    /// Turns taken: cycle and warp slot.
    type Shared = Mutex<Vec<(Cycle, u16)>>;

    fn start_cta(&mut self, _: &Self::Shared, _: KernelId, _: Dim3, _: CtaSlot, warps: &[WarpSlot]) {
        for warp in warps {
            self.at.resize(self.at.len().max(warp.index() + 1), 0);
            self.at[warp.index()] = self.skips.get(warp.index()).copied().unwrap_or(0);
        }
    }

    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        Some(self.at[warp.index()]).filter(|&at| at < self.lines).map(Pc::from)
    }

    fn step(
        &mut self,
        turns: &Self::Shared,
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Result<(), Box<Fault>> {
        turns.lock().unwrap().push((context.now, warp.0));
        out.pc = Pc::from(self.at[warp.index()]);
        (out.mask, out.active) = (u32::MAX, u32::MAX);
        (out.barrier, out.sleep_cycles) = (BarrierArrival::default(), NAP);
        self.at[warp.index()] += 1;
        out.next_pc = self.next_pc(warp);
        Ok(())
    }

    fn end_cta(&mut self, slot: CtaSlot) {
        self.ended.push(slot);
    }
}

fn program(lines: &[Control]) -> Arc<Program> {
    let mut builder = ProgramBuilder::new("script", 16);
    for &control in lines {
        builder.push(InstSpec::of(Traits { control, ..Traits::of(OpClass::IntAdd) }));
    }
    Arc::new(builder.finish(RegFile::default(), Vec::new()))
}

/// Runs a CTA of `warps` warps from cycle 100 on; gives the turns, the cycle after the last one and the counters.
fn run(lines: &[Control], warps: u32, skips: &[usize], width: u32) -> (Vec<(Cycle, u16)>, Cycle, FunctionalCounters) {
    let gpu = config::load("rtx2060s").expect("a built-in GPU");
    let spec = Arc::new(FunctionalSpec::new(&gpu, &FunctionalConfig { width }));
    let stream = Script { lines: lines.len(), skips: skips.to_vec(), ..Script::default() };
    let mut core = FunctionalCore::new(0, spec, stream);
    let (grid, block) = (Dim3::new(1, 1, 1), Dim3::new(32 * warps, 1, 1));
    let shape = LaunchShape { grid, block, registers_per_thread: 16, shared_bytes: 0, cluster: None };
    let kernels = [FunctionalKernel::new(program(lines), shape)];
    let (mut port, mut turns) = (Port::default(), Mutex::default());
    let mut env = Env { kernels: &kernels, shared: Access::Alone(&mut turns), port: &mut port };
    assert_eq!(core.next_event(env.port), NEVER);
    core.start_cta(100, &mut env, KernelId(0), grid);
    loop {
        let next = core.next_event(env.port);
        if next == NEVER {
            break;
        }
        core.tick(next, &mut env).expect("scripts have no faults");
    }
    let ended = core.is_idle();
    assert_eq!(core.finished().len(), usize::from(ended));
    let mut counters = FunctionalCounters::default();
    core.count(&mut counters);
    assert_eq!(counters.ctas_finished, u64::from(ended));
    let cycles = core.cycles();
    (turns.into_inner().unwrap(), cycles, counters)
}

const ADD: Control = Control::None;
const END: Control = Control::Exit;

#[test]
fn warps_take_turns_round_robin_as_many_a_cycle_as_the_core_is_wide() {
    let (turns, end, counters) = run(&[ADD, ADD, END], 2, &[], 1);
    assert_eq!(turns, [(100, 0), (101, 1), (102, 0), (103, 1), (104, 0), (105, 1)]);
    assert_eq!((end, counters.warp_instructions, counters.thread_instructions), (106, 6, 6 * 32));
    // Two warps for five cycles, then one.
    assert_eq!((counters.active_cycles, counters.warp_cycles), (6, 11));
    // A warp has several turns in a cycle if there are more turns than ready warps.
    let (turns, end, _) = run(&[ADD, ADD, END], 2, &[], 4);
    assert_eq!(turns, [(100, 0), (100, 1), (100, 0), (100, 1), (101, 0), (101, 1)]);
    assert_eq!(end, 102);
    // By default it is as wide as the four schedulers.
    assert_eq!(run(&[ADD, ADD, END], 2, &[], 0).0, turns);
}

#[test]
fn a_barrier_holds_warps_until_the_last_arrives_or_exits() {
    let (turns, ..) = run(&[ADD, ADD, Control::BarrierSync, END], 2, &[2, 0], 1);
    assert_eq!(turns, [(100, 0), (101, 1), (102, 1), (103, 1), (104, 0), (105, 1)]);
    // Warp 1 exits without having arrived.
    let (turns, ..) = run(&[Control::BarrierSync, ADD, END], 2, &[0, 2], 1);
    assert_eq!(turns, [(100, 0), (101, 1), (102, 0), (103, 0)]);
    // One that has nothing to execute is no warp to wait for.
    let (turns, ..) = run(&[Control::BarrierSync, END], 2, &[0, 2], 1);
    assert_eq!(turns, [(100, 0), (101, 0)]);
}

#[test]
fn a_warp_that_sleeps_rises_after_its_time_and_nothing_is_ticked_before() {
    let (turns, end, counters) = run(&[Control::Sleep, END], 2, &[0, 0], 1);
    let nap = Cycle::from(NAP);
    assert_eq!(turns, [(100, 0), (101, 1), (100 + nap, 0), (101 + nap, 1)]);
    assert_eq!((end, counters.active_cycles), (102 + nap, 2 + nap));
}

#[test]
fn fences_and_waits_for_copies_are_complete_at_once() {
    let lines = [Control::Fence, Control::FenceCta, Control::AsyncCommit, Control::AsyncWait, END];
    assert_eq!(run(&lines, 1, &[], 1).1, 105);
}
