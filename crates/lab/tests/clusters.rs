//! Clusters of CTAs in time: placing, shared memory of CTAs on other SMs, the barrier.

#[path = "../../lower/tests/remote/expected.rs"]
mod remote;

use exec::{Arg, Launch};
use isa::Dim3;
use lab::{HostThreads, KernelReport, Setup, SimulatedDevice};
use workloads::{Device, ModuleCode, ModuleSource, ThreadRegisters};

const PTX: &str = include_str!("../../lower/tests/data/sm_90/cluster.ptx");
const CUBIN: &[u8] = include_bytes!("../../lower/tests/data/sm_90/cluster.cuda124.sm_90.cubin");

fn setup(core: &str, threads: usize) -> Setup {
    let gpu = config::load("h100").unwrap();
    let threads = HostThreads::new(threads).shuffled(threads as u64);
    Setup { max_cycles: Some(2_000_000), core: core.into(), threads, ..Setup::new(gpu) }
}

/// The words that `kernel` leaves, and what is reported of it.
fn run(
    setup: &Setup,
    code: ModuleCode<'_>,
    kernel: &str,
    (cluster, ctas, threads): (u32, u32, u32),
    words: usize,
) -> Result<(Vec<u32>, String), String> {
    let mut device = SimulatedDevice::new(setup).map_err(|e| e.to_string())?;
    let module = device.load_module(&ModuleSource { name: "cluster", code }).unwrap();
    let kernel = device.loaded(module).unwrap().kernel(kernel).map_err(|e| e.to_string())?.clone();
    let out = device.memory().allocate("out", 4 * words.max(1) as u64).unwrap();
    let args = vec![Arg::Pointer(out); kernel.params.len()];
    let mut launch = Launch::new(kernel, Dim3::new(ctas, 1, 1), Dim3::new(threads, 1, 1), 0, &args).unwrap();
    launch.set_cluster(Some(Dim3::new(cluster, 1, 1))).map_err(|e| e.to_string())?;
    device.enqueue(0, launch, ThreadRegisters::Estimated, 0).map_err(|e| e.to_string())?;
    device.synchronize().map_err(|e| e.to_string())?;
    let mut bytes = vec![0; 4 * words];
    device.memory().read(out, &mut bytes).unwrap();
    let report = format!("{:?}", device.kernel_reports());
    Ok((bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect(), report))
}

/// The results of kernel `exchange` for a thread, except for the number that it draws.
fn expected(size: u32, rank: u32, thread: u32) -> [u32; 7] {
    let sent = |from: u32, to: u32| 1000 * from + 100_000 * to + thread;
    let sum = |of: &dyn Fn(u32) -> u32| (0..size).fold(0_u32, |sum, k| sum.wrapping_mul(31).wrapping_add(of(k)));
    let ranks = (0..size).fold(0_u32, |sum, k| {
        let two = [k, k, 1].iter().fold(sum, |sum, &x| sum.wrapping_mul(31).wrapping_add(x));
        two + if k == rank { 2 } else { 0 }
    });
    let sums = [sum(&|k| sent(k, rank)), sum(&|k| sent(rank, k)), sum(&|k| sent(rank, k) & 0xffff)];
    [sums[0], sums[1], sums[2], ranks, size * 64, rank, rank]
}

fn check_exchange(context: &str, size: u32, found: &[u32]) {
    for (cluster, rows) in found.chunks(size as usize * 64 * 8).enumerate() {
        let mut drawn = Vec::new();
        for (at, row) in (0..size * 64).zip(rows.chunks(8)) {
            let (rank, thread) = (at / 64, at % 64);
            let [a, b, c, d, draw, e, f, g] = row.try_into().unwrap();
            let row = [a, b, c, d, e, f, g];
            assert_eq!(row, expected(size, rank, thread), "{context}: thread {thread} of CTA {rank} of {cluster}");
            drawn.push(draw);
        }
        drawn.sort_unstable();
        assert_eq!(drawn, (0..size * 64).collect::<Vec<_>>(), "{context}: each number is drawn once");
    }
}

#[test]
fn ctas_on_other_sms_are_reached_alike_on_any_number_of_threads() {
    for size in [1, 2, 4, 8, 16] {
        let shape = (size, 3 * size, 64);
        let words = (3 * size * 64 * 8) as usize;
        for (name, code) in [("PTX", ModuleCode::Ptx(PTX)), ("machine code", ModuleCode::Binary(CUBIN))] {
            for core in ["inorder", "modern"] {
                let context = format!("{name} on {core}, clusters of {size}");
                let alone = run(&setup(core, 1), code, "exchange", shape, words).expect(&context);
                check_exchange(&context, size, &alone.0);
                for threads in [2, 3] {
                    let several = run(&setup(core, threads), code, "exchange", shape, words).unwrap();
                    assert_eq!(several, alone, "{context}, {threads} threads");
                }
            }
        }
    }
}

/// Many more clusters than fit at a time, of a core that runs in step too.
#[test]
fn clusters_come_in_waves() {
    for core in ["inorder", "ghost", "functional"] {
        let mut setup = setup(core, 1);
        (setup.gpu.sm_count, setup.gpu.sm.max_ctas) = (32, 1);
        let (found, _) = run(&setup, ModuleCode::Ptx(PTX), "exchange", (8, 8 * 10, 64), 80 * 64 * 8).unwrap();
        check_exchange(core, 8, &found);
    }
}

#[test]
fn threads_that_exit_complete_the_barrier() {
    for (name, code) in [("PTX", ModuleCode::Ptx(PTX)), ("machine code", ModuleCode::Binary(CUBIN))] {
        for core in ["inorder", "functional"] {
            let (found, _) = run(&setup(core, 1), code, "leave", (4, 8, 96), 8 * 96).unwrap();
            for (at, &word) in found.iter().enumerate() {
                let (cta, thread) = (at / 96 % 4, at % 96);
                let expected = match (cta % 2, thread % 4) {
                    (1, _) | (_, 1 | 3) => 1,
                    (_, 0) => 2,
                    _ => 3,
                };
                assert_eq!(word, expected, "{name} on {core}: thread {thread} of CTA {cta}");
            }
        }
    }
}

#[test]
fn a_barrier_that_cannot_complete_is_reported() {
    for core in ["inorder", "functional"] {
        let problem = run(&setup(core, 1), ModuleCode::Ptx(PTX), "stuck", (2, 2, 32), 0).unwrap_err();
        let waits = "the barrier of cluster 0, as CTA 1 of 2: 32 threads have arrived, 32 have not";
        assert!(problem.contains(waits) && problem.contains("deadlock"), "{core}: {problem}");
    }
}

#[test]
fn clusters_that_never_fit_are_refused() {
    let refusal = |gpu: &str, set: &dyn Fn(&mut config::GpuConfig), cluster| {
        let mut setup = Setup { any_architecture: true, ..setup("inorder", 1) };
        setup.gpu = config::load(gpu).unwrap();
        set(&mut setup.gpu);
        run(&setup, ModuleCode::Ptx(PTX), "exchange", (cluster, cluster, 64), 0).unwrap_err()
    };
    let old = refusal("a100", &|_| (), 2);
    assert!(old.contains("a100 (sm_80) has no clusters: they need sm_90"), "{old}");
    let small = refusal("h100", &|gpu| (gpu.sms_per_gpc, gpu.sm.max_ctas) = (Some(3), 1), 4);
    assert!(small.contains("a cluster of 4 such CTAs does not fit on a GPC of 3 SMs"), "{small}");
}

const REMOTE: [(&str, ModuleCode<'_>); 2] = [
    ("PTX", ModuleCode::Ptx(include_str!("../../lower/tests/data/sm_90/remote.ptx"))),
    ("machine code", ModuleCode::Binary(include_bytes!("../../lower/tests/data/sm_90/remote.cuda129.sm_90.cubin"))),
];

/// The output words of a kernel of `remote.ptx`, and its report.
fn run_remote(
    setup: &Setup,
    code: ModuleCode<'_>,
    (kernel, threads, words): (&str, u32, usize),
    (size, ctas): (u32, u32),
) -> Result<(Vec<u32>, String), String> {
    let mut device = SimulatedDevice::new(setup).map_err(|e| e.to_string())?;
    let module = device.load_module(&ModuleSource { name: "remote", code }).unwrap();
    let function = device.loaded(module).unwrap().kernel(kernel).map_err(|e| e.to_string())?.clone();
    let words = words * ctas as usize;
    let input: Vec<u8> = (0..remote::INPUT).flat_map(|i| remote::input(i).to_le_bytes()).collect();
    let memory = device.memory();
    let from = memory.allocate("input", input.len() as u64).unwrap();
    let out = memory.allocate("output", 4 * words as u64).unwrap();
    let map = memory.allocate_aligned("map", 128, 64).unwrap();
    memory.write(from, &input).unwrap();
    memory.write(out, &vec![0; 4 * words]).unwrap();
    memory.write(map, &remote::tensor(from).to_bytes()).unwrap();
    let args = [Arg::Pointer(out), Arg::Pointer(if kernel == "boxes" { map } else { from })];
    let mut launch = Launch::new(function, Dim3::new(ctas, 1, 1), Dim3::new(threads, 1, 1), 0, &args).unwrap();
    launch.set_cluster(Some(Dim3::new(size, 1, 1))).map_err(|e| e.to_string())?;
    device.enqueue(0, launch, ThreadRegisters::Estimated, 0).map_err(|e| e.to_string())?;
    device.synchronize().map_err(|e| e.to_string())?;
    let mut bytes = vec![0; 4 * words];
    device.memory().read(out, &mut bytes).unwrap();
    let report = format!("{:?}", device.kernel_reports());
    Ok((bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect(), report))
}

/// Copies, stores, reductions and arrivals that reach barriers of CTAs on other SMs.
#[test]
fn work_for_other_ctas_reaches_their_barriers_on_any_number_of_threads() {
    for (name, code) in REMOTE {
        for (kernel, threads, words, most) in remote::KERNELS {
            for size in [1, 2, 3, 8, 16].into_iter().filter(|size| *size <= most) {
                let expected = remote::output(kernel, size as usize, 2 * size as usize);
                for core in ["inorder", "modern", "functional"] {
                    let context = format!("{name}: {kernel} in clusters of {size} on {core}");
                    let run = |threads_of_host| {
                        let setup = setup(core, threads_of_host);
                        run_remote(&setup, code, (kernel, threads, words), (size, 2 * size)).expect(&context)
                    };
                    let alone = run(1);
                    assert_eq!(alone.0, expected, "{context}");
                    assert_eq!(run(3), alone, "{context}, 3 threads");
                }
            }
        }
    }
}

/// Each CTA multiplies its own data: the address in a descriptor is in its own shared memory.
#[test]
fn matrix_groups_read_the_shared_memory_of_their_cta() {
    const MULTIPLY: &str = "
        .version 8.0
        .target sm_90a
        .address_size 64
        .shared .align 128 .b8 data[2560];
        .visible .entry multiply(.param .u64 out)
        {
            .reg .pred p;
            .reg .b32 at, thread, rank, value, cta;
            .reg .b64 a, b, out, offset;
            .reg .f32 d<4>;
            mov.u32 thread, %tid.x;
            mov.u32 rank, %cluster_ctarank;
            mov.u32 cta, %ctaid.x;
            setp.eq.u32 p, rank, 0;
            selp.b32 value, 0x3c003c00, 0x40004000, p;
            mov.u32 at, data;
            shl.b32 thread, thread, 2;
            add.u32 at, at, thread;
            st.shared.u32 [at], value;
            st.shared.u32 [at+512], value;
            st.shared.u32 [at+1024], value;
            st.shared.u32 [at+1536], value;
            st.shared.u32 [at+2048], value;
            fence.proxy.async;
            barrier.cluster.arrive;
            barrier.cluster.wait;
            mov.u32 at, data;
            and.b32 at, at, 0x3ffff;
            shr.u32 at, at, 4;
            cvt.u64.u32 a, at;
            or.b64 a, a, 0x1000080000;
            add.u64 b, a, 128;
            mov.f32 d0, 0f00000000;
            mov.f32 d1, d0;
            mov.f32 d2, d0;
            mov.f32 d3, d0;
            wgmma.fence.sync.aligned;
            wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, a, b, p, 1, 1, 0, 0;
            wgmma.commit_group.sync.aligned;
            wgmma.wait_group.sync.aligned 0;
            ld.param.u64 out, [out];
            mad.lo.u32 thread, cta, 512, thread;
            mul.wide.u32 offset, thread, 4;
            add.u64 out, out, offset;
            st.global.v4.f32 [out], {d0, d1, d2, d3};
            ret;
        }";
    for core in ["inorder", "functional"] {
        let (found, _) = run(&setup(core, 1), ModuleCode::Ptx(MULTIPLY), "multiply", (2, 4, 128), 4 * 512).unwrap();
        for (cta, values) in found.chunks(512).enumerate() {
            // A and B have 1 in the first CTA of a cluster, 2 in the second.
            let expected = if cta % 2 == 0 { 16.0_f32 } else { 64.0 };
            assert!(values.iter().all(|&value| value == expected.to_bits()), "{core}: CTA {cta}: {values:x?}");
        }
    }
}

/// Accesses of one kind by a CTA of a cluster of two to a CTA of rank `%target`, a number of times.
const TIMED: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry chase(.param .u64 out, .param .u32 count, .param .u32 target)
{
    .shared .align 16 .b8 data[16384];
    .shared .align 8 .b64 bar;
    .reg .b64 %out;
    .reg .b32 %t, %rank, %target, %count, %own, %at, %bar, %parity, %v<4>;
    .reg .pred p, q;
    ld.param.u64 %out, [out];
    ld.param.u32 %count, [count];
    ld.param.u32 %target, [target];
    mov.u32 %t, %tid.x;
    mov.u32 %rank, %cluster_ctarank;
    mov.u32 %own, data;
    mapa.shared::cluster.u32 %at, %own, %rank;
    setp.eq.u32 p, %t, 0;
    @p st.shared.u32 [%own], %at;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mapa.shared::cluster.u32 %at, %own, %target;
    setp.ne.u32 q, %rank, 0;
    @q bra END;
NEXT:
    ld.shared::cluster.u32 %at, [%at];
    sub.u32 %count, %count, 1;
    setp.ne.u32 p, %count, 0;
    @p bra NEXT;
    st.global.u32 [%out], %at;
END:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;
}
.visible .entry fill(.param .u64 out, .param .u32 count, .param .u32 target)
{
    .shared .align 16 .b8 data[16384];
    .reg .b32 %t, %rank, %target, %count, %at, %v;
    .reg .pred p, q;
    ld.param.u32 %count, [count];
    ld.param.u32 %target, [target];
    mov.u32 %t, %tid.x;
    mov.u32 %rank, %cluster_ctarank;
    mov.u32 %at, data;
    shl.b32 %v, %t, 4;
    add.u32 %at, %at, %v;
    mapa.shared::cluster.u32 %at, %at, %target;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    setp.ne.u32 q, %rank, 0;
    @q bra END;
NEXT:
    st.shared::cluster.v4.u32 [%at], {%t, %t, %t, %t};
    sub.u32 %count, %count, 1;
    setp.ne.u32 p, %count, 0;
    @p bra NEXT;
    fence.acq_rel.cluster;
END:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;
}
.visible .entry rally(.param .u64 out, .param .u32 count, .param .u32 target)
{
    .shared .align 8 .b64 bar;
    .reg .b32 %t, %rank, %target, %count, %own, %at, %parity;
    .reg .pred p, q, first;
    ld.param.u32 %count, [count];
    ld.param.u32 %target, [target];
    mov.u32 %t, %tid.x;
    mov.u32 %rank, %cluster_ctarank;
    mov.u32 %own, bar;
    xor.b32 %at, %rank, %target;
    mapa.shared::cluster.u32 %at, %own, %at;
    mov.u32 %parity, 0;
    setp.eq.u32 first, %t, 0;
    @first mbarrier.init.shared::cta.b64 [%own], 1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @!first bra END;
    setp.ne.u32 q, %rank, 0;
    @q bra WAIT;
NEXT:
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%at];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 p, [%own], %parity;
    @!p bra WAIT;
    xor.b32 %parity, %parity, 1;
    sub.u32 %count, %count, 1;
    setp.ne.u32 p, %count, 0;
    @p bra NEXT;
    @!q bra END;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%at];
END:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;
}
// CTA k of a cluster of 4 loads part k of 32 KB for all, or all parts for itself, `count` times.
.visible .entry load(.param .u64 out, .param .u32 count, .param .u32 alone)
{
    .shared .align 128 .b8 data[32768];
    .shared .align 8 .b64 bar;
    .reg .b64 %out, %from;
    .reg .b32 %t, %rank, %alone, %count, %bar, %at, %parity, %size, %mask, %v;
    .reg .b16 %ctas;
    .reg .pred p, first;
    ld.param.u64 %out, [out];
    ld.param.u32 %count, [count];
    ld.param.u32 %alone, [alone];
    mov.u32 %t, %tid.x;
    mov.u32 %rank, %cluster_ctarank;
    mov.u32 %bar, bar;
    mov.u32 %parity, 0;
    shl.b32 %v, %rank, 13;
    setp.ne.u32 p, %alone, 0;
    selp.u32 %v, 0, %v, p;
    selp.u32 %size, 32768, 8192, p;
    shl.b32 %mask, 1, %rank;
    selp.u32 %mask, %mask, 15, p;
    cvt.u16.u32 %ctas, %mask;
    mov.u32 %at, data;
    add.u32 %at, %at, %v;
    cvt.u64.u32 %from, %v;
    add.u64 %from, %out, %from;
    setp.eq.u32 first, %t, 0;
    @first mbarrier.init.shared::cta.b64 [%bar], 1;
NEXT:
    @first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 32768;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%at], [%from], %size, [%bar], %ctas;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 p, [%bar], %parity;
    @!p bra WAIT;
    xor.b32 %parity, %parity, 1;
    sub.u32 %count, %count, 1;
    setp.ne.u32 p, %count, 0;
    @p bra NEXT;
    ret;
}";

/// The report of a kernel of [`TIMED`] by a cluster of `ctas` CTAs of `threads` threads, each on an SM of its own.
fn timed(kernel: &str, arguments: [u32; 2], (ctas, threads): (u32, u32), latency: u32, rate: u32) -> KernelReport {
    let [one, three] = [1, 3].map(|host| {
        let mut setup = setup("inorder", host);
        let port = &mut setup.gpu.sm.cluster_port;
        (port.latency_cycles, port.bytes_per_cycle) = (Some(latency), Some(rate));
        setup.gpu.sm.max_ctas = 1;
        let mut device = SimulatedDevice::new(&setup).unwrap();
        let module = device.load_module(&ModuleSource { name: "timed", code: ModuleCode::Ptx(TIMED) }).unwrap();
        let function = device.loaded(module).unwrap().kernel(kernel).unwrap().clone();
        let out = device.memory().allocate("out", 1 << 15).unwrap();
        let args = [Arg::Pointer(out), Arg::U32(arguments[0]), Arg::U32(arguments[1])];
        let mut launch = Launch::new(function, Dim3::new(ctas, 1, 1), Dim3::new(threads, 1, 1), 0, &args).unwrap();
        launch.set_cluster(Some(Dim3::new(ctas, 1, 1))).unwrap();
        device.enqueue(0, launch, ThreadRegisters::Estimated, 0).unwrap();
        device.synchronize().unwrap();
        device.kernel_reports()[0].clone()
    });
    assert_eq!(format!("{one:?}"), format!("{three:?}"), "{kernel} on one host thread and on three");
    one
}

/// Cycles of a kernel of [`TIMED`] by two CTAs of `threads` threads.
fn cycles(kernel: &str, (count, target, threads): (u32, u32, u32), latency: u32, rate: u32) -> u64 {
    timed(kernel, [count, target], (2, threads), latency, rate).statistics.number("total_cycles") as u64
}

/// A multicast reads the L2 once for all, and each receiver's port passes the bytes.
#[test]
fn a_multicast_is_read_once_and_passes_each_port() {
    let [together, alone] = [0, 1].map(|alone| timed("load", [20, alone], (4, 32), 180, 16).statistics);
    let counts = |name: &str| [&together, &alone].map(|statistics| statistics.number(name) as u64);
    let lines = 20 * 32768 / 128;
    assert_eq!(counts("sm.requests"), [lines, 4 * lines], "one of four CTAs asks for a line, or all do");
    assert_eq!(counts("sm.transfer_load_bytes"), [20 * 32768, 4 * 20 * 32768]);
    assert_eq!(counts("sm.multicast_bytes"), [3 * 20 * 32768, 0]);
    // Each port passes as many bytes in both: without that, four CTAs would need a quarter of the time.
    let [together, alone] = counts("total_cycles");
    assert!(together > alone / 2 && together < alone * 3 / 2, "{together} cycles together, {alone} alone");
}

#[test]
fn remote_accesses_take_the_time_of_the_network() {
    // Dependent loads: a latency each.
    let chase = |target, latency| cycles("chase", (100, target, 32), latency, 16);
    let by_latency = [200, 300, 500].map(|latency| chase(1, latency));
    // Barriers of clusters complete at the end of a window.
    let is_about = |found: u64, expected: u64| found.abs_diff(expected) < 100;
    assert!(is_about(by_latency[1] - by_latency[0], 10_000), "{by_latency:?}");
    assert!(is_about(by_latency[2] - by_latency[1], 20_000), "{by_latency:?}");
    let own = [200, 500].map(|latency| chase(0, latency));
    assert_eq!(own[0], own[1], "its own memory is nearer");
    let extra = (by_latency[0] - own[0]) / 100;
    assert!((120..200).contains(&extra), "{extra} cycles more than a load from its own shared memory");
    // Stores of 32 warps, 512 bytes each: the bytes of the port.
    let fill = |rate| cycles("fill", (20, 1, 1024), 180, rate);
    let by_rate = [4, 8, 16].map(fill);
    let bytes = 20 * 1024 * 16;
    for (found, rates) in [(by_rate[0] - by_rate[1], [4, 8]), (by_rate[1] - by_rate[2], [8, 16])] {
        let expected = bytes / rates[0] - bytes / rates[1];
        assert!(found.abs_diff(expected) < expected / 20, "{found} cycles, not {expected}, between {rates:?}");
    }
    // Arrivals there and back: half a latency each.
    let rally = |latency| cycles("rally", (50, 1, 1), latency, 16);
    let by_latency = [200, 400].map(rally);
    // The last one is also acknowledged.
    assert!(is_about(by_latency[1] - by_latency[0], (2 * 50 + 1) * 100), "{by_latency:?}");
}
