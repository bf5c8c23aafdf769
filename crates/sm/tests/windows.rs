//! A machine of SMs: how many host threads simulate a window, and in which order, changes nothing.

use config::GpuConfig;
use gpu::{HostThreads, Machine, Snapshot, StreamId};
use isa::Form;
use isa::{
    Access, CacheOp, Control, CtaSlot, Dim3, DynInst, Fault, InstSpec, KernelId, LaunchShape, MemAccess, OpClass, Pc,
    Program, ProgramBuilder, RegFile, RegId, Space, StepContext, Traits, WarpSlot, WarpStream,
};
use sm::{
    Code, CoreDesign, CoreOptions, CoreSpec, InOrder, ResidentKernel, Scoreboard, Silent, Sm, SmTotals, SubCoreFetch,
    With,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Warps that go through the program a few times, at addresses drawn for each warp and instruction.
struct Drawn {
    length: u32,
    warps: Vec<Warp>,
}

#[derive(Clone, Copy, Default)]
struct Warp {
    state: u64,
    pc: u32,
    times: u32,
}

impl Warp {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) % below
    }
}

impl WarpStream for Drawn {
    type Shared = ();

    fn start_cta(&mut self, (): &(), _: KernelId, cta: Dim3, _: CtaSlot, warps: &[WarpSlot]) {
        self.warps.resize(64, Warp::default());
        let times = 1 + cta.x % 4;
        for (index, warp) in warps.iter().enumerate() {
            let state = u64::from(cta.x * 64 + index as u32 + 1) << 20;
            self.warps[warp.index()] = Warp { state, pc: 0, times };
        }
    }

    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        let Warp { pc, .. } = self.warps[warp.index()];
        (pc < self.length).then_some(Pc(pc))
    }

    fn step(&mut self, (): &(), warp: WarpSlot, _: StepContext, out: &mut DynInst) -> Result<(), Box<Fault>> {
        let warp = &mut self.warps[warp.index()];
        out.pc = Pc(warp.pc);
        (out.active, out.mask) = (u32::MAX, u32::MAX);
        // Some lines are shared with other SMs, most are not; some accesses touch many lines.
        let (line, stride) = (warp.draw(4096), [4, 4, 4, 64][warp.draw(4) as usize]);
        out.addresses = std::array::from_fn(|lane| 128 * line + stride * lane as u64);
        warp.pc += 1;
        if warp.pc + 1 == self.length && warp.times > 1 {
            (warp.pc, warp.times) = (0, warp.times - 1);
        }
        out.next_pc = (warp.pc < self.length).then_some(Pc(warp.pc));
        Ok(())
    }

    fn end_cta(&mut self, _: CtaSlot) {}
}

/// Loads, stores, texture reads and arithmetic on their results, with a barrier in the middle.
fn program(textures: bool) -> Arc<Program> {
    let mut builder = ProgramBuilder::new("drawn", 8);
    let r = |n: u16| RegId(n);
    let mem = |space, access| Some(MemAccess { space, access, bytes: 4, cache: CacheOp::All });
    for n in 0..6 {
        let load = InstSpec::of(Traits { mem: mem(Space::Global, Access::Load), ..Traits::of(OpClass::Load) });
        builder.push(InstSpec { dsts: &[r(n)], srcs: &[r(8)], ..load });
        (0..4 * n).for_each(|_| {
            builder.push(InstSpec { dsts: &[r(9)], srcs: &[r(9), r(10)], ..InstSpec::of(Traits::of(OpClass::FpFma)) });
        });
        builder.push(InstSpec { dsts: &[r(9)], srcs: &[r(n), r(9)], ..InstSpec::of(Traits::of(OpClass::IntAdd)) });
        let store = InstSpec::of(Traits { mem: mem(Space::Global, Access::Store), ..Traits::of(OpClass::Store) });
        builder.push(InstSpec { srcs: &[r(8), r(9)], ..store });
        if n == 3 {
            builder.push(InstSpec::of(Traits { control: Control::BarrierSync, ..Traits::of(OpClass::Barrier) }));
        }
        if textures {
            let texture =
                InstSpec::of(Traits { mem: mem(Space::Texture, Access::Load), ..Traits::of(OpClass::Texture) });
            builder.push(InstSpec { dsts: &[r(11)], srcs: &[r(8)], ..texture });
        }
    }
    builder.push(InstSpec::of(Traits { control: Control::Exit, ..Traits::of(OpClass::Exit) }));
    Arc::new(builder.finish(RegFile { vector: 12, predicate: 1, uniform: 1 }, Vec::new()))
}

/// Runs two kernels, one after the other; gives all counters after each and the cycles of its CTAs.
fn run<D: CoreDesign<Issue = Baseline>>(
    gpu: &GpuConfig,
    textures: bool,
    threads: HostThreads,
) -> Vec<(u64, u64, Snapshot<SmTotals>)> {
    let options = CoreOptions { decode_past_barriers: true, ..CoreOptions::default() };
    let spec = Arc::new(CoreSpec::new(gpu, Form::Sass, options).expect("a sound GPU"));
    let code = Arc::new(Code::new(program(textures), &spec));
    let length = code.program.insts().len() as u32;
    let stream = |_| Drawn { length, warps: Vec::new() };
    let sm = |i| Sm::<_, D>::new(i, spec.clone(), stream(i), &(), Silent);
    let mut machine = Machine::new(gpu, (), (0..gpu.sm_count as u16).map(sm));
    machine.set_threads(threads);
    let grid = Dim3::new(gpu.sm_count * 9 / 2, 1, 1);
    for threads in [128, 416] {
        let shape = LaunchShape {
            grid,
            block: Dim3::new(threads, 1, 1),
            registers_per_thread: 32,
            shared_bytes: 4096,
            cluster: None,
        };
        machine.launch(ResidentKernel::new(code.clone(), shape, &spec), StreamId(0));
    }
    machine.run(&mut |_| ControlFlow::Continue(())).expect("it ends");
    let mut ends: Vec<_> = machine.take_ended().into_iter().map(|k| (k.start, k.end, k.counters)).collect();
    ends.push((0, 0, machine.counters()));
    ends
}

type Baseline = InOrder<Scoreboard>;

fn check(name: &str, change: impl Fn(&mut GpuConfig)) {
    check_design::<Baseline>(name, change);
}

fn check_design<D: CoreDesign<Issue = Baseline>>(name: &str, change: impl Fn(&mut GpuConfig)) {
    let mut gpu = config::load(name).expect("a built-in GPU");
    gpu.launch.set_kernel_latency_cycles(10);
    gpu.sm_count = 8;
    change(&mut gpu);
    for textures in [false, true] {
        let alone = run::<D>(&gpu, textures, HostThreads::new(1));
        assert!(alone.last().expect("counters").2.core.sm.warp_instructions > 10_000);
        // With textures a window is a cycle: threads meet each other often.
        let numbers: &[usize] = if textures { &[3] } else { &[1, 2, 8] };
        for &threads in numbers {
            // Printed, the counters would fill pages.
            let same = run::<D>(&gpu, textures, HostThreads::new(threads).shuffled(threads as u64)) == alone;
            assert!(same, "{name}, textures: {textures}, {threads} threads");
        }
    }
}

#[test]
fn host_threads_change_nothing() {
    check("rtx2060s", |_| ());
    check("gtx480", |_| ());
}

#[test]
fn nor_with_caches_of_sub_cores() {
    check_design::<With<SubCoreFetch, Baseline>>("rtx2060s", |gpu| {
        (gpu.sm.frontend.instructions_per_fetch, gpu.sm.frontend.buffer_entries) = (1, 3);
    });
}

#[test]
fn nor_with_an_l2_in_two_halves() {
    check("rtx2060s", |gpu| gpu.l2.far_latency_cycles = Some(90));
    check("rtx2060s", |gpu| {
        (gpu.clocks.interconnect_mhz, gpu.clocks.l2_mhz) = (2900.0, 1300.0);
        (gpu.l2.latency_cycles, gpu.l2.far_latency_cycles) = (3, Some(7));
    });
}

#[test]
fn nor_with_other_clocks_beyond_the_sms() {
    check("rtx2060s", |gpu| (gpu.clocks.interconnect_mhz, gpu.clocks.l2_mhz) = (2900.0, 1300.0));
    check("rtx2060s", |gpu| (gpu.clocks.interconnect_mhz, gpu.clocks.l2_mhz) = (1300.0, 4000.0));
}

#[test]
fn nor_with_two_sms_behind_a_port_and_little_room() {
    check("titanv", |_| ());
    check("titanv", |gpu| {
        gpu.interconnect.input_buffer_packets = 16;
        gpu.interconnect.output_buffer_packets = 2;
        gpu.interconnect.ejection_buffer_packets = 2;
        gpu.l2.latency_cycles = 3;
    });
}
