//! The suite, executed without timing.

use crate::host::{self, Host, Runs};
use exec::{DeviceState, Launch, Observer};
use isa::{DynInst, Program};
use kit::{BitSet, LaneMask};
use std::ops::ControlFlow;
use workloads::Form;
use workloads::conformance::check_one;
use workloads::device::{Device, DeviceError, ModuleCode, ModuleSource};
use workloads::suite::{ALL, find};

/// Looks at no instruction.
struct Blind;

impl Observer for Blind {
    const IS_BLIND: bool = true;

    fn see(&mut self, _: LaneMask, _: &DynInst) -> ControlFlow<()> {
        unreachable!("it is blind")
    }
}

/// Executes each launch at once, CTA by CTA: observed, and again as nobody observes it.
struct Functional {
    state: DeviceState,
    warp_instructions: u64,
    /// Architecture whose machine code is run.
    sm_version: u32,
}

/// A device without machine code.
fn functional() -> Host<Functional> {
    functional_of(0)
}

fn functional_of(sm_version: u32) -> Host<Functional> {
    Functional { state: host::memory(), warp_instructions: 0, sm_version }.into()
}

impl Runs for Functional {
    fn state(&mut self) -> &mut DeviceState {
        &mut self.state
    }

    fn run(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        let program = &*launch.kernel.program;
        let mut partly = BitSet::new(program.regs.count());
        let undo = self.state.begin_undo();
        let stats = exec::run_observed(&mut self.state, launch, |live, inst| {
            if inst.mask != 0 && inst.mask != live {
                program.dsts(program.inst(inst.pc)).iter().for_each(|r| {
                    partly.insert(r.index());
                });
            }
        });
        let stats = stats.map_err(DeviceError::Fault)?;
        self.state.undo(undo);
        let unseen = exec::run_ctas(&mut self.state, launch, 0..launch.grid.volume(), &mut Blind);
        if unseen.map_err(DeviceError::Fault)? != Some(stats) {
            return Err(host::other(format!("{}: other counts if nobody observes them", program.name)));
        }
        self.warp_instructions += stats.warp_instructions;
        unmarked(program, &partly).map_or(Ok(()), |problem| Err(host::other(problem)))
    }

    fn sm_version(&self) -> u32 {
        self.sm_version
    }
}

/// An instruction that is not marked though it writes a vector register of `partly`, which some wrote
/// in a part of a warp's live threads.
fn unmarked(program: &Program, partly: &BitSet) -> Option<String> {
    let insts = program.insts();
    let written = |inst| program.dsts(inst).iter().any(|&r| program.regs.is_vector(r) && partly.contains(r.index()));
    let pc = (0..insts.len()).find(|&pc| !insts[pc].partial && written(&insts[pc]))?;
    Some(format!("{} {pc}: {} writes a register that is partly written", program.name, program.text(pc.into())))
}

/// Runs a workload with its small size's parameters, then with odd ones; says what went wrong.
#[track_caller]
fn check(name: &str, odd: &[&[(&str, u64)]]) {
    let workload = find(name).unwrap();
    let mut device = functional();
    let mut problems = check_one(workload, &mut device, Form::Ptx, &[], 1);
    println!("{name}: {} warp instructions", device.warp_instructions);
    // One instruction of a warp group multiplies as much as a thousand of a warp.
    let least = if workload.module.only_on().is_some() { 1000 } else { 15_000 };
    if !(least..110_000).contains(&device.warp_instructions) {
        problems += &format!("{name}: {} warp instructions are not a small size\n", device.warp_instructions);
    }
    for (seed, given) in (2..).zip(odd) {
        let found = check_one(workload, &mut functional(), Form::Ptx, given, seed);
        if !found.is_empty() {
            problems += &format!("{given:?} {found}");
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// Runs a workload's machine code for each architecture likewise.
#[track_caller]
fn check_machine_code(name: &str, odd: &[&[(&str, u64)]]) {
    let workload = find(name).unwrap();
    let mut problems = String::new();
    for sm in workload.module.cubins().map(|cubin| cubin.sm) {
        for (seed, given) in (1..).zip(std::iter::once(&[][..]).chain(odd.iter().copied())) {
            let found = check_one(workload, &mut functional_of(sm), Form::Sass, given, seed);
            if !found.is_empty() {
                problems += &format!("sm_{sm} {given:?} {found}");
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// Runs the suite with allocated registers: as many as there are, and so few that most kernels spill. Each workload has
/// both kinds, and the three limits in turn.
#[test]
fn allocated_registers_leave_the_same_results() {
    check_registers(|turn, limit, kind| (turn + limit) % 3 == kind);
}

#[test]
#[ignore = "every limit of every workload: half a minute"]
fn allocated_registers_leave_the_same_results_under_every_limit() {
    check_registers(|_, _, _| true);
}

/// `takes` chooses from the numbers of a workload, of a limit and of a kind of registers.
fn check_registers(takes: impl Fn(usize, usize, usize) -> bool) {
    let limits = |most| lower::RegisterLimits { chosen: Some(most), ..lower::RegisterLimits::default() };
    let (mut spilled, mut fences) = (0, 0);
    for (turn, workload) in ALL.iter().enumerate() {
        for (number, tight) in [255, 63, 16].into_iter().enumerate() {
            // Fragments of matrices alone take more.
            let least = match workload.name {
                "wmma" | "int8mma" => 48,
                "flashattention" | "transformer" => 63,
                "wgmma" | "flashattention3" => 168,
                _ => 16,
            };
            let kinds = [lower::Registers::Allocated, lower::Registers::HazardFree];
            for (_, registers) in kinds.into_iter().enumerate().filter(|(kind, _)| takes(turn, number, *kind)) {
                let registers = registers(limits(tight.max(least)));
                let mut device = Host { registers, ..functional() };
                let problems = check_one(workload, &mut device, Form::Ptx, &[], 3);
                assert!(problems.is_empty(), "{registers:?}: {problems}");
                for kernel in device.modules.iter().flat_map(|m| &m.module.kernels) {
                    assert!(kernel.registers.per_thread <= tight.max(least), "{}", kernel.name());
                    let allocation = kernel.allocation.unwrap();
                    spilled += allocation.spilled;
                    fences += allocation.fences;
                }
            }
        }
    }
    assert!(spilled > 100 && fences > 0, "{spilled} words spilled, {fences} fences");
}

macro_rules! workloads_run_right {
    ($($name:ident: $($odd:expr),*;)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name), &[$(&$odd),*]);
            }
        )*

        mod machine_code {
            $(
                #[test]
                fn $name() {
                    super::check_machine_code(stringify!($name), &[$(&$odd),*]);
                }
            )*
        }
    };
}

workloads_run_right! {
    vectoradd: [("n", 1)], [("n", 1000), ("block", 96)], [("n", 77), ("block", 1)];
    matmul: [("m", 1), ("n", 1), ("k", 1)], [("m", 17), ("n", 33), ("k", 50)];
    reduction: [("n", 1)], [("n", 12345), ("blocks", 7), ("block", 96)], [("n", 5000), ("blocks", 2), ("block", 1024)];
    histogram: [("bytes", 4)], [("bytes", 5000), ("blocks", 3), ("block", 100)];
    transpose: [("width", 1), ("height", 1)], [("width", 45), ("height", 70)];
    backprop: [("inputs", 16)], [("inputs", 48)], [("inputs", 48), ("constant_words", 1)];
    bfs: [("nodes", 1)], [("nodes", 700), ("degree", 1)], [("nodes", 300), ("degree", 10), ("block", 100)],
        [("nodes", 500), ("kernels", 1)];
    btree: [("keys", 1), ("queries", 1)], [("keys", 900), ("queries", 300), ("order", 4)],
        [("keys", 3000), ("queries", 50), ("order", 33)];
    gaussian: [("n", 2)], [("n", 19), ("side", 8), ("line", 32)];
    hotspot: [("rows", 1), ("cols", 1), ("steps", 1)], [("rows", 19), ("cols", 45), ("steps", 7), ("pyramid", 3)],
        [("rows", 20), ("cols", 20), ("steps", 14), ("pyramid", 7)];
    kmeans: [("points", 3), ("clusters", 5)], [("points", 333), ("features", 3), ("clusters", 7), ("rounds", 10)];
    lavamd: [("boxes", 1), ("particles", 1)], [("boxes", 3), ("particles", 9), ("block", 64)],
        [("boxes", 2), ("particles", 40), ("block", 32)];
    lud: [("n", 16)], [("n", 48)];
    int8mma: [("m", 32), ("n", 32), ("k", 32)], [("m", 64), ("n", 96), ("k", 160)];
    nn: [("places", 1)], [("places", 1001), ("block", 77)];
    nw: [("n", 16)], [("n", 48), ("penalty", 0)];
    pathfinder: [("cols", 1), ("rows", 2)], [("cols", 500), ("rows", 30), ("pyramid", 7)],
        [("cols", 300), ("rows", 130), ("pyramid", 120)];
    stencil: [("nx", 1), ("ny", 1), ("nz", 1)], [("nx", 35), ("ny", 19), ("nz", 5)];
    nbody: [("bodies", 1)], [("bodies", 100), ("block", 32)];
    wmma: [("m", 16), ("n", 16), ("k", 16)], [("m", 48), ("n", 32), ("k", 80), ("block", 64)];
    asynccopy: [("m", 16), ("n", 16), ("k", 16)], [("m", 32), ("n", 48), ("k", 80)];
    lastblock: [("n", 1)], [("n", 999), ("blocks", 5), ("block", 64), ("launches", 3)];
    hashtable: [("keys", 1), ("buckets", 1)], [("keys", 200), ("buckets", 1)], [("keys", 500), ("buckets", 50), ("block", 100)];
    imagefilter: [("width", 1), ("height", 1)], [("width", 45), ("height", 19), ("angle", 200)];
    cfd: [("cells", 1), ("block", 1)], [("cells", 999), ("steps", 3), ("block", 32)], [("cells", 500), ("block", 100)],
        [("cells", 500), ("kernels", 3)];
    particlefilter: [("particles", 1), ("width", 1), ("height", 1), ("frames", 2)],
        [("particles", 600), ("width", 20), ("height", 45), ("frames", 3)],
        [("particles", 600), ("real_words", 2)];
    saxpy: [("n", 1)], [("n", 1000), ("block", 96)];
    bitonic: [("n", 1)], [("n", 513)], [("n", 5000)];
    spmv: [("rows", 1), ("degree", 1)], [("rows", 333), ("degree", 40)], [("rows", 333), ("kernels", 1)];
    lps: [("nx", 1), ("ny", 1), ("nz", 1)], [("nx", 35), ("ny", 7), ("nz", 5), ("sweeps", 3)];
    cp: [("width", 128), ("height", 8), ("atoms", 1)], [("width", 128), ("height", 8), ("atoms", 4050)];
    libor: [("paths", 1), ("maturities", 1), ("periods", 1)], [("paths", 70), ("maturities", 5), ("periods", 9), ("options", 40)],
        [("paths", 1), ("maturities", 40), ("periods", 40)];
    storegpu: [("hashes", 1), ("blocks", 1)], [("hashes", 300), ("blocks", 3), ("hash", 2)], [("hashes", 301), ("hash", 3)];
    aes: [("blocks", 1)], [("blocks", 100)];
    digits: [("digits", 1), ("maps", 1), ("hidden", 1)], [("digits", 3), ("maps", 5), ("hidden", 7)];
    mummer: [("text", 1), ("queries", 1)], [("text", 999), ("queries", 70), ("length", 40), ("least", 1)],
        [("text", 50), ("queries", 3), ("length", 9), ("least", 10)];
    raytrace: [("width", 1), ("height", 1), ("spheres", 1), ("depth", 0)], [("width", 45), ("height", 19), ("spheres", 32), ("depth", 10)];
    binomial: [("options", 1), ("steps", 32)], [("options", 3), ("steps", 480)];
    montecarlo: [("options", 1), ("paths", 1)], [("options", 3), ("paths", 999)], [("options", 1), ("paths", 20_000)];
    srad: [("rows", 4), ("cols", 4)], [("rows", 45), ("cols", 19), ("steps", 3)];
    mandelbrot: [("pictures", 1), ("side", 1), ("most", 1)], [("pictures", 3), ("side", 19), ("block", 96)];
    convolution: [("width", 1), ("height", 1)], [("pictures", 2), ("width", 150), ("height", 70)];
    dct: [("width", 8), ("height", 8)], [("pictures", 2), ("width", 24), ("height", 40)];
    gemm: [("m", 1), ("n", 1), ("k", 1)], [("m", 131), ("n", 70), ("k", 19)], [("math", 2), ("m", 131), ("n", 70), ("k", 19)],
        [("math", 3), ("m", 1), ("n", 1), ("k", 1)], [("math", 3), ("m", 131), ("n", 70), ("k", 39)];
    convlayer: [("width", 1), ("height", 1), ("channels", 1), ("filters", 1), ("stride", 1)],
        [("width", 9), ("height", 5), ("channels", 7), ("batch", 3), ("filters", 70), ("taps_across", 5), ("taps_down", 1),
            ("pad", 2), ("stride", 1)],
        [("width", 20), ("height", 7), ("filters", 3), ("taps_across", 4), ("pad", 0), ("stride", 3)];
    rnn: [("hidden", 1), ("batch", 1), ("steps", 1)], [("cell", 2), ("hidden", 37), ("batch", 33), ("steps", 2)],
        [("hidden", 70), ("batch", 3)], [("persistent", 1), ("hidden", 60), ("batch", 3), ("steps", 4)],
        [("cell", 2), ("persistent", 1), ("hidden", 64), ("batch", 2), ("steps", 3)];
    sssp: [("nodes", 1)], [("nodes", 700), ("degree", 1), ("block", 96)], [("nodes", 500), ("rounds", 2)];
    floydwarshall: [("nodes", 1)], [("nodes", 37), ("degree", 3)], [("nodes", 70), ("between", 5)];
    streamcluster: [("points", 1), ("dimensions", 1), ("centres", 1)], [("points", 700), ("dimensions", 5), ("candidates", 9)], [("points", 100), ("dimensions", 600), ("candidates", 2)];
    des: [("packets", 1), ("bytes", 8)], [("packets", 2), ("bytes", 1240)];
    hybridsort: [("n", 1), ("bucket_bits", 0)], [("n", 1)], [("n", 5001), ("bucket_bits", 3)], [("n", 10_000), ("bucket_bits", 10)];
    dwt2d: [("width", 1), ("height", 1)], [("width", 45), ("height", 70), ("levels", 7)], [("width", 500), ("height", 19)], [("width", 1000), ("height", 7), ("levels", 1)];
    beamformer: [("sets", 1), ("channels", 1), ("samples", 2), ("beams", 1)], [("channels", 5), ("samples", 130), ("beams", 3)];
    bfslevels: [("nodes", 1)], [("nodes", 700), ("degree", 1)], [("nodes", 300), ("degree", 10), ("block", 100)];
    matrixmul: [("n", 1)], [("products", 3), ("n", 19), ("block", 96)];
    multiwork: [("samples", 8), ("branches", 1), ("n", 1)], [("rounds", 3), ("samples", 104), ("branches", 3), ("n", 19), ("block", 96)];
    gru: [("steps", 1)], [("steps", 5)];
    lstm: [("steps", 1)], [("steps", 5)];
    cifarnet: [("side", 8), ("maps", 1)], [("pictures", 3), ("side", 24), ("maps", 2)];
    myocyte: [("steps", 1), ("step_us", 1)], [("steps", 7), ("step_us", 9)];
    wgmma: [("m", 1), ("n", 8), ("k", 16)], [("m", 130), ("n", 264), ("k", 336)],
        [("bits", 8), ("m", 70), ("n", 16), ("k", 80)];
    flashattention: [("length", 1), ("heads", 1)], [("length", 99), ("batch", 2), ("causal", 1)];
    flashattention3: [("length", 1), ("heads", 1)], [("length", 300), ("batch", 2), ("causal", 1)];
    transformer: [("length", 1), ("width", 64)], [("length", 19), ("width", 192), ("batch", 3)];
}

/// Of a workload's instructions that write vector registers, in percent, those whose registers all live
/// threads write at once.
fn written_at_once(name: &str, sm: u32) -> usize {
    let workload = find(name).unwrap();
    let binary = workload.module.cubins().find(|cubin| cubin.sm == sm);
    let code = binary.map_or(ModuleCode::BundledPtx(workload.module.ptx()), |cubin| ModuleCode::Binary(cubin.file()));
    let mut device = functional_of(sm);
    device.load_module(&ModuleSource { name, code }).unwrap();
    let (mut whole, mut all) = (0, 0);
    for kernel in &device.modules[0].module.kernels {
        let program = &kernel.program;
        let writes = |i: &&isa::Inst| program.dsts(i).iter().any(|&r| program.regs.is_vector(r));
        all += program.insts().iter().filter(writes).count();
        whole += program.insts().iter().filter(writes).filter(|i| !i.partial).count();
    }
    100 * whole / all
}

/// An analysis that marks all instructions would be sound and of no use.
#[test]
fn many_instructions_write_for_the_whole_warp() {
    const PTX: u32 = 0;
    for (name, sm, least) in [
        // Threads beyond the end exit at once; of PTX they wait at the end.
        ("vectoradd", PTX, 40),
        ("vectoradd", 80, 100),
        ("matmul", PTX, 80),
        ("matmul", 80, 75),
        ("nbody", PTX, 80),
        ("backprop", 80, 60),
        ("kmeans", 86, 95),
        ("wmma", 75, 75),
        // Each thread walks a list of its own.
        ("bfs", PTX, 15),
        ("bfs", 80, 15),
    ] {
        let share = written_at_once(name, sm);
        assert!(share >= least, "{name} for sm_{sm}: {share} %, expected {least} % or more");
    }
    // Threads of a warp part and stay apart in most of it.
    assert!(written_at_once("histogram", 80) < 20);
}

/// Bytes of shared memory from PTX agree with NVIDIA's assembler.
#[test]
fn shared_memory_as_recorded() {
    for workload in ALL {
        let mut device = functional();
        let source = ModuleSource { name: workload.name, code: ModuleCode::BundledPtx(workload.module.ptx()) };
        let module = device.load_module(&source).unwrap_or_else(|e| panic!("{e}"));
        for (name, record) in &workloads::bundled::record().modules[workload.module.name].kernels {
            let kernel = device.kernel(module, name).unwrap();
            assert_eq!(kernel.static_shared, record.shared_bytes, "{name}");
        }
    }
}

/// Not a test: how much work each size is, and how much of their bounds the results use.
#[test]
#[ignore = "a survey, minutes long: cargo test --release -- --ignored --nocapture survey"]
fn survey() {
    for workload in ALL {
        for size in workloads::Size::ALL {
            let mut device = functional();
            let params = workload.params(size, &[]).unwrap();
            let start = std::time::Instant::now();
            let outcome =
                workload.run(&mut device, Form::Ptx, &params, 1).unwrap_or_else(|e| panic!("{}: {e}", workload.name));
            let (name, count) = (workload.name, device.warp_instructions);
            let checks: Vec<String> = outcome.checks.iter().map(ToString::to_string).collect();
            println!(
                "{name} {}: {count} in {:.1} s; {}",
                size.name(),
                start.elapsed().as_secs_f64(),
                checks.join("; ")
            );
        }
    }
}
