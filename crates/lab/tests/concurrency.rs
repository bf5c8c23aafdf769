//! Barriers of part of a CTA, streams, and what the user meets when a kernel goes wrong, on the
//! whole timed GPU.

use isa::Dim3;
use lab::{KernelReport, Setup, SimulatedDevice, Stats};
use workloads::{ArgBytes, Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleSource, ThreadRegisters};

fn setup() -> Setup {
    let gpu = config::load("rtx2060s").unwrap();
    Setup { max_cycles: Some(5_000_000), ..Setup::new(gpu) }
}

/// A kernel `k(u64 p)` with registers to use and `%i`, the thread's number in its CTA.
fn module(body: &str) -> String {
    format!(
        ".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %i, %r<9>;\n.reg .b64 %p, %at;\n.reg .pred %q<4>;\n.shared .align 4 .b8 s[4096];\n\
         mov.u32 %i, %tid.x;\nld.param.u64 %p, [p];\nmul.wide.u32 %at, %i, 4;\nadd.u64 %at, %at, %p;\n\
         {body}\nret;\n}}\n"
    )
}

struct Bench {
    device: SimulatedDevice<'static>,
    module: workloads::ModuleId,
    buffer: Buffer,
}

impl Bench {
    fn new(body: &str) -> Self {
        Self::on(&setup(), body)
    }

    fn on(setup: &Setup, body: &str) -> Self {
        let mut device = SimulatedDevice::new(setup).unwrap();
        let text = module(body);
        let module = device.load_module(&ModuleSource { name: "test.ptx", code: ModuleCode::Ptx(&text) }).unwrap();
        let buffer = device.alloc("words", 4096).unwrap();
        device.write(buffer, 0, &[0; 4096]).unwrap();
        Self { device, module, buffer }
    }

    fn launch(&mut self, ctas: u32, threads: u32, stream: u32) {
        let launch = LaunchRequest {
            module: self.module,
            kernel: "k",
            grid: Dim3::new(ctas, 1, 1),
            block: Dim3::new(threads, 1, 1),
            dynamic_shared_bytes: 0,
            args: &[ArgBytes::from(self.buffer)],
            registers: ThreadRegisters::Given(16),
            stream,
        };
        self.device.launch(&launch).unwrap();
    }

    fn words(&mut self, count: usize) -> Result<Vec<u32>, DeviceError> {
        let mut bytes = vec![0; 4 * count];
        self.device.read(self.buffer, 0, &mut bytes)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
    }
}

#[test]
fn a_barrier_whose_guard_fails_in_a_whole_warp_is_no_arrival() {
    // Warp 0 produces for warp 1 over barrier 1; warps 2 and 3 skip it.
    let mut bench = Bench::new(
        "setp.lt.u32 %q1, %i, 64;\nsetp.lt.u32 %q2, %i, 32;\nadd.u32 %r1, %i, 7;\n\
         mul.lo.u32 %r2, %i, 4;\nmov.u32 %r4, s;\nadd.u32 %r2, %r2, %r4;\n\
         @%q2 st.shared.u32 [%r2], %r1;\n@%q1 bar.sync 1, 64;\n\
         mov.u32 %r3, 1;\n@%q2 bra DONE;\n@%q1 ld.shared.u32 %r3, [%r2+-128];\nDONE:\nst.global.u32 [%at], %r3;",
    );
    bench.launch(1, 128, 0);
    let words = bench.words(128).unwrap();
    let expected = |i: usize| if (32..64).contains(&i) { i as u32 - 32 + 7 } else { 1 };
    assert_eq!(words, (0..128).map(expected).collect::<Vec<_>>());
}

#[test]
fn kernels_of_two_streams_overlap_and_those_of_one_do_not() {
    // About 20,000 cycles of dependent work in one warp.
    let body = "mov.u32 %r1, 2000;\nL:\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, %r2;\nsub.u32 %r1, %r1, 1;\n\
                setp.ne.u32 %q1, %r1, 0;\n@%q1 bra L;\nst.global.u32 [%at], %r2;";
    let cycles = |streams: [u32; 2]| {
        let mut bench = Bench::new(body);
        streams.into_iter().for_each(|stream| bench.launch(1, 32, stream));
        bench.device.synchronize().unwrap();
        assert_eq!(bench.device.kernel_reports().len(), 2);
        bench.device.total_statistics().number("cycles")
    };
    let (serial, parallel) = (cycles([0, 0]), cycles([0, 1]));
    assert!(parallel < 0.51 * serial, "{parallel} against {serial} cycles");
    assert!(parallel > 0.49 * serial, "{parallel} against {serial} cycles");
}

/// Launches beyond those that may wait begin when there is room: as early as without that bound.
#[test]
fn many_launches_of_a_stream_follow_each_other_without_a_gap() {
    let cycles = |count: u32| {
        let mut setup = setup();
        setup.gpu.launch.set_kernel_latency_cycles(100);
        let mut bench = Bench::on(&setup, "st.global.u32 [%at], %i;");
        (0..count).for_each(|_| bench.launch(1, 32, 0));
        bench.device.synchronize().unwrap();
        let starts: Vec<_> = bench.device.kernel_reports().iter().map(|k| k.start_cycle).collect();
        assert_eq!(starts.len(), count as usize);
        starts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    let gaps = cycles(2500);
    // Each SM fetches the code once.
    let warm = &gaps[100..];
    assert!(warm.iter().all(|&gap| gap == warm[0]), "{:?}", &gaps[1000..1100]);
}

/// A store by each thread after some work.
const WORK: &str = "mov.u32 %r1, 200;\nL:\nadd.u32 %r2, %r2, %r1;\nsub.u32 %r1, %r1, 1;\n\
                    setp.ne.u32 %q1, %r1, 0;\n@%q1 bra L;\nst.global.u32 [%at], %r2;";

/// Latency of a launch, in cycles, and what each CTA of it adds.
const LAUNCH: (u32, u32) = (1000, 3);

/// CTAs and stream of each launch: statistics of the run, start and statistics of each kernel.
fn launches(all: &[(u32, u32)]) -> (Stats, Vec<(f64, Stats)>) {
    let mut setup = setup();
    setup.gpu.launch.set_kernel_latency_cycles(LAUNCH.0);
    setup.gpu.launch.cta_latency_cycles = LAUNCH.1;
    let mut bench = Bench::on(&setup, WORK);
    all.iter().for_each(|&(ctas, stream)| bench.launch(ctas, 64, stream));
    bench.device.synchronize().unwrap();
    let mut kernels = bench.device.kernel_reports().to_vec();
    kernels.sort_by_key(|k| k.launch);
    let of = |k: &KernelReport| (k.start_cycle as f64, k.statistics.unpacked());
    (bench.device.total_statistics(), kernels.iter().map(of).collect())
}

/// Invariants of the statistics of a run and of each kernel.
fn adds_up(stats: &Stats) {
    let of = |name| stats.number(name);
    assert_eq!(of("cycles") + of("launch_cycles"), of("total_cycles"));
    // 34 SMs with four schedulers.
    assert_eq!(of("slots.all"), of("cycles") * 34.0 * 4.0);
    let reasons = stats.0.iter().filter(|(info, _)| info.name.starts_with("slots.") && info.name != "slots.all");
    assert_eq!(reasons.filter_map(|(_, value)| value.number()).sum::<f64>(), of("slots.all"));
    assert!((of("ipc") * of("cycles") - of("thread_instructions")).abs() < 1e-3);
    assert!((0.0..=100.0).contains(&of("dram.utilisation")));
}

#[test]
fn launch_latency_is_apart_from_the_cycles_of_kernels() {
    let (total, kernels) = launches(&[(1, 0), (70, 0)]);
    let latencies = [1003.0, 1210.0];
    for ((_, stats), latency) in kernels.iter().zip(latencies) {
        adds_up(stats);
        assert_eq!(stats.number("launch_cycles"), latency);
    }
    adds_up(&total);
    assert_eq!(total.number("launch_cycles"), latencies.iter().sum::<f64>());
    for name in ["cycles", "launch_cycles", "total_cycles", "thread_instructions", "slots.all", "slots.idle"] {
        let sum: f64 = kernels.iter().map(|(_, k)| k.number(name)).sum();
        assert_eq!(total.number(name), sum, "{name}");
    }
}

#[test]
fn kernels_that_overlap_count_a_cycle_of_the_run_once() {
    // The second one's latency ends 900 cycles after the first has begun, which runs far longer.
    let (total, kernels) = launches(&[(1, 0), (301, 1)]);
    let ends: Vec<f64> = kernels.iter().map(|(start, k)| start + k.number("total_cycles")).collect();
    for (start, stats) in &kernels {
        adds_up(stats);
        assert_eq!(*start, 0.0);
    }
    adds_up(&total);
    let latency = |kernel: usize| kernels[kernel].1.number("launch_cycles");
    assert_eq!([latency(0), latency(1), total.number("launch_cycles")], [1003.0, 1903.0, 1003.0]);
    assert!(ends[0] > 1903.0 + 1000.0, "{ends:?}");
    assert_eq!(total.number("total_cycles"), ends[0].max(ends[1]));
    // The first kernel's work is not counted for the second.
    let alone = |ctas| launches(&[(ctas, 0)]).1[0].1.number("warp_instructions");
    let others = kernels[1].1.number("warp_instructions") - alone(301);
    assert!(others > 0.0 && others < alone(1), "{others} of {}", alone(1));
}

#[test]
fn a_store_out_of_bounds_names_kernel_thread_line_and_allocation() {
    let mut bench = Bench::new("add.u64 %at, %at, 4096;\nst.global.u32 [%at+64], %i;");
    bench.launch(2, 32, 0);
    let message = bench.words(1).unwrap_err().to_string();
    for part in ["`k`", "`words`", "4096", "thread (0,0,0)", "CTA (0,0,0)", "st.global.u32", "test.ptx:15:1"] {
        assert!(message.contains(part), "no {part} in:\n{message}");
    }
    // The device says so ever after, and does not crash.
    assert!(bench.words(1).unwrap_err().to_string().contains("stopped earlier"));
}

#[test]
fn a_barrier_that_cannot_complete_is_reported_with_who_waits() {
    let mut bench = Bench::new("setp.lt.u32 %q1, %i, 32;\n@%q1 bra DONE;\nbar.sync 2, 128;\nDONE:");
    bench.launch(1, 64, 0);
    let message = bench.words(1).unwrap_err().to_string();
    for part in ["deadlock", "barrier 2", "`k`", "warp 1", "(test.ptx:1"] {
        assert!(message.contains(part), "no {part} in:\n{message}");
    }
}
