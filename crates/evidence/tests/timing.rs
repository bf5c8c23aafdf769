//! Closed-form timing of the whole GPU: what generated PTX kernels take is what the description
//! adds up to.
//!
//! The fixed part between issue and issue of a dependent instruction, from the pipeline that
//! `crates/sm` describes. An instruction that issues in cycle *I* enters its operand collector in
//! *I + 1*. Registers are read in rounds, `reads_per_bank` (*p*) of them per cycle; one round fills
//! the collector, one per register in the bank with the most of its registers (*r*) reads them,
//! and it leaves in the round after: in *I + 1 + (r + 1) / p*, whole cycles. It enters its unit a
//! cycle later, and with latency *L* writes back *L + 2* cycles after that, in time for a dependent
//! instruction to issue in that cycle: *L + 4 + (r + 1) / p* from issue to issue. The load/store unit
//! takes an access as a unit does, begins with it a cycle later, and when it has the data a dependent
//! instruction issues through the write-back register two cycles later, or, released by the look-up
//! in L1, in that cycle.

use config::{GpuConfig, Unit};
use evidence::microbench::{self, Chase, Steady, Work, kernels};
use isa::{Dim3, OpClass};
use lab::{Setup, SimulatedDevice};
use workloads::{ArgBytes, Device, LaunchRequest, ModuleCode, ModuleSource, ThreadRegisters};

const GPUS: [&str; 4] = ["accel-sim/gtx480", "accel-sim/v100", "accel-sim/rtx2060s", "accel-sim/rtx3070"];

/// Instructions and constants always hit: their misses depend on the code, not on what is timed.
/// Warps take turns: a greedy scheduler lets some end early, and the last ones cannot fill the pipes.
fn setup(gpu: &str) -> Setup {
    let mut gpu = config::load(gpu).unwrap();
    gpu.sm.perfect_instruction_and_constant_caches = true;
    Setup { scheduler: Some("lrr".into()), ..Setup::new(gpu) }
}

/// The operand collectors' part of [the fixed part](self), for `reads` reads from one bank.
fn collection(gpu: &GpuConfig, reads: u32) -> f64 {
    f64::from((reads + 1) / gpu.sm.operands.reads_per_bank)
}

/// Issue to issue of a dependent instruction, without the unit's latency.
fn fixed(gpu: &GpuConfig, reads: u32) -> f64 {
    4.0 + collection(gpu, reads)
}

/// Banks that one warp's registers lie in.
fn banks(gpu: &GpuConfig) -> u32 {
    let operands = &gpu.sm.operands;
    if operands.sub_cores { operands.banks / gpu.sm.issue.schedulers } else { operands.banks }
}

fn latency(gpu: &GpuConfig, class: OpClass) -> f64 {
    f64::from(gpu.sm.ptx_timing[class.name()].latency_cycles)
}

/// `value` lies within `percent` below `expected`, and not above it by more than what a start or an end makes.
fn at_most(what: &str, value: f64, expected: f64, percent: f64) {
    let low = expected * (1.0 - percent / 100.0);
    assert!((low..=expected * 1.005).contains(&value), "{what}: {value}, expected {expected} less up to {percent} %");
}

#[test]
fn a_dependent_chain_of_each_class_takes_latency_and_fixed_part() {
    for name in GPUS {
        let setup = setup(name);
        let clear = kernels::clear();
        let steady = Steady { setup: &clear, threads: 1, body: 16 };
        for chain in kernels::CHAINS.iter().filter(|c| c.lowest_sm <= setup.gpu.sm_version) {
            let mix = format!("mix.{}", chain.class.name());
            let found = steady.lines(&setup, &["cycles", &mix], |_| chain.link.into()).unwrap();
            assert_eq!(found[1], 1.0, "{name}: {} is one {mix}", chain.link);
            assert_eq!(found[0], latency(&setup.gpu, chain.class) + fixed(&setup.gpu, 1), "{name}: {}", chain.link);
        }
    }
}

#[test]
fn a_matrix_operation_waits_for_its_registers_one_by_one() {
    for name in ["accel-sim/v100", "accel-sim/rtx2060s", "accel-sim/rtx3070"] {
        let setup = setup(name);
        // Two operands of eight registers, an accumulator of eight or four, all side by side.
        for (f32_accumulator, registers) in [(true, 24u32), (false, 20)] {
            let found = microbench::wmma_latency(&setup, f32_accumulator).unwrap();
            let reads = registers.div_ceil(banks(&setup.gpu));
            assert_eq!(found, latency(&setup.gpu, OpClass::Tensor) + fixed(&setup.gpu, reads), "{name}");
        }
    }
}

#[test]
fn registers_in_one_bank_are_read_one_per_round() {
    for name in GPUS {
        let setup = setup(name);
        let banks = banks(&setup.gpu);
        for (apart, reads) in [(banks, 3), (1, 3u32.div_ceil(banks))] {
            let expected = latency(&setup.gpu, OpClass::IntMad) + fixed(&setup.gpu, reads);
            assert_eq!(microbench::mad_latency(&setup, apart).unwrap(), expected, "{name}: {apart} apart");
        }
    }
}

/// Warp instructions per cycle that an SM can sustain: the narrowest of front end, schedulers,
/// operand collectors' ports, units and result buses.
fn sustained(gpu: &GpuConfig, class: OpClass) -> f64 {
    let sm = &gpu.sm;
    let timing = sm.ptx_timing[class.name()];
    let (ports, rounds) = (sm.operands.in_ports.min(sm.operands.out_ports), sm.operands.reads_per_bank);
    [
        f64::from(sm.frontend.fetches_per_cycle * sm.frontend.instructions_per_fetch),
        f64::from(sm.issue.schedulers * sm.issue.width),
        f64::from(ports * rounds),
        f64::from(sm.units[&timing.unit].count) / f64::from(timing.initiation_cycles.max(1)),
        f64::from(sm.writeback_width),
    ]
    .into_iter()
    .fold(f64::INFINITY, f64::min)
}

#[test]
fn independent_instructions_issue_at_the_rate_of_the_narrowest_stage() {
    use OpClass::*;
    for name in GPUS {
        let setup = setup(name);
        let clear = kernels::clear();
        for class in [Move, IntAdd, IntMul, IntMad, Shuffle, Convert, FpAdd, FpMul, FpFma, FpDiv, DpAdd, DpFma, Sfu] {
            let chain = kernels::chain_of(class).unwrap();
            if chain.lowest_sm > setup.gpu.sm_version {
                continue;
            }
            let line = |i: usize| kernels::on_register(chain.link, 1 + i % 8);
            let found = microbench::issue_rate(&setup, &clear, line).unwrap();
            let expected = sustained(&setup.gpu, class);
            assert_eq!(found, expected, "{name}: {}", class.name());
        }
        if setup.gpu.sm_version >= 60 {
            let packed = |i: usize| kernels::on_register("add.f16x2 %r1, %r1, %r1;", 1 + i % 8);
            let found = microbench::issue_rate(&setup, &clear, packed).unwrap();
            assert_eq!(found, sustained(&setup.gpu, Half), "{name}: packed half");
        }
    }
}

#[test]
fn a_conflict_of_degree_n_costs_n_minus_1_cycles() {
    for name in GPUS {
        let setup = setup(name);
        let base = f64::from(setup.gpu.sm.shared.latency_cycles) + 3.0 + collection(&setup.gpu, 1);
        for degree in [1, 2, 4, 8, 16, 32] {
            let found = microbench::shared_latency(&setup, 4 * degree).unwrap();
            assert_eq!(found, base + f64::from(degree), "{name}: {degree} lanes in each bank");
        }
    }
}

/// The only thing that was counted among hits and misses is `expected`, once per step.
fn assert_served_by(chase: &Chase, expected: &str) {
    let places = ["l1d.read_hits", "l1d.read_misses", "l1d.read_sector_misses", "l2.read_hits", "l2.read_misses"];
    for place in places {
        let steps = if place == expected { chase.steps } else { 0.0 };
        assert_eq!(chase.counted.of(place), steps, "{place}");
    }
}

#[test]
fn an_l1_hit_takes_the_latency_of_l1() {
    for name in GPUS {
        let setup = setup(name);
        let found = microbench::chase(&setup, "ld.global.ca.u64", 64, 128, true).unwrap();
        assert_served_by(&found, "l1d.read_hits");
        // Released by the look-up itself: no write-back register behind it.
        let expected = f64::from(setup.gpu.sm.l1d.latency_cycles) + 3.0 + collection(&setup.gpu, 1);
        assert_eq!(found.cycles, expected, "{name}");
    }
}

/// Latency of a request past L1 that hits in L2, in core cycles. In the SM: the
/// fixed part and the cycle in which the load/store unit begins. On the way: out of the
/// outbox (1), into the slice (1), the latency path, look-up (1), to the crossbar (1), out of it (1),
/// into the inbox (1).
fn l2_latency(gpu: &GpuConfig) -> f64 {
    let clocks = &gpu.clocks;
    assert_eq!((clocks.interconnect_mhz, clocks.l2_mhz), (clocks.core_mhz, clocks.core_mhz), "one clock for all");
    fixed(gpu, 1) + 1.0 + 6.0 + f64::from(gpu.l2.latency_cycles)
}

#[test]
fn an_l2_hit_takes_its_way_and_the_latency_of_l2() {
    for name in GPUS {
        let setup = setup(name);
        let found = microbench::chase(&setup, "ld.global.cg.u64", 64, 4096, true).unwrap();
        assert_served_by(&found, "l2.read_hits");
        assert_eq!(found.cycles, l2_latency(&setup.gpu), "{name}");
    }
}

#[test]
fn an_atomic_takes_as_long_as_an_l2_hit() {
    for name in GPUS {
        let setup = setup(name);
        let found = microbench::chain_latency(&setup, &kernels::clear(), "atom.global.add.u32 %r1, [%p1], %r1;");
        assert_eq!(found.unwrap(), l2_latency(&setup.gpu), "{name}");
    }
}

#[test]
fn a_miss_in_l2_adds_the_latencies_of_dram() {
    for name in GPUS {
        let setup = setup(name);
        let found = microbench::dram_chase(&setup).unwrap();
        assert_served_by(&found, "l2.read_misses");
        let (dram, t) = (&setup.gpu.dram, &setup.gpu.dram.timing);
        let of = |event: &str| found.counted.of(event) / found.steps;
        assert_eq!(found.counted.of("dram.read_commands"), found.steps * f64::from(32u32.div_ceil(dram.burst_bytes())));
        // In L2 cycles: to the DRAM queue, from the fill to the answer. In command cycles: into the
        // latency queue, the latency, to the scheduler, row commands, read to data, to the slice.
        let row = of("dram.activates") * f64::from(t.tRCD) + of("dram.precharges") * f64::from(t.tRP);
        let commands = f64::from(dram.latency_cycles + t.tCL) + row + 3.0;
        let expected = l2_latency(&setup.gpu) + 2.0 + commands * setup.gpu.clocks.core_mhz / setup.gpu.clocks.dram_mhz;
        // The first command cycle may be one that has nearly passed; the answer waits for the next
        // edge of the core's clock.
        let (off, command) = (found.cycles - expected, setup.gpu.clocks.core_mhz / setup.gpu.clocks.dram_mhz);
        assert!((-command..=1.0).contains(&off), "{name}: {}, expected {expected}", found.cycles);
    }
}

#[test]
fn one_sm_gets_a_sector_per_cycle_from_l2() {
    for name in GPUS {
        let found = microbench::l2_bandwidth(&setup(name), 1, 8).unwrap();
        at_most(name, found.bytes_per_cycle, 32.0, 1.0);
    }
}

#[test]
fn each_slice_of_l2_delivers_a_sector_per_cycle() {
    for name in GPUS {
        let setup = setup(name);
        let found = microbench::l2_port_bandwidth(&setup, 8).unwrap();
        let pairs = f64::from(setup.gpu.l2.slices().min(setup.gpu.sm_count));
        assert_eq!(found.counted.of("l2.read_misses"), 0.0);
        at_most(name, found.bytes_per_cycle, 32.0 * pairs, 3.0);
    }
}

#[test]
fn bandwidth_of_l2_lies_between_head_of_line_blocking_and_the_peak() {
    for name in GPUS {
        let setup = setup(name);
        let gpu = &setup.gpu;
        let found = microbench::l2_bandwidth(&setup, gpu.sm_count, 2).unwrap();
        let peak = gpu.l2_peak_bytes_per_core_cycle().min(32.0 * f64::from(gpu.sm_count));
        // One queue per input, whose head blocks those behind it: of random traffic 2 - sqrt(2) of
        // the peak gets through (Karol, Hluchyj and Morgan 1987), of long bursts one half (Li 1992).
        at_most(name, found.bytes_per_cycle, peak, 50.0);
        assert_eq!(found.counted.of("l2.read_misses"), 0.0);
    }
}

#[test]
fn bandwidth_of_dram_comes_near_the_peak() {
    for name in GPUS {
        let setup = setup(name);
        let found = microbench::dram_bandwidth(&setup, 2).unwrap();
        // L2 asks for sectors: of a longer burst, the rest is lost.
        let useful = (32.0 / f64::from(setup.gpu.dram.burst_bytes())).min(1.0);
        let peak = setup.gpu.dram_peak_bytes_per_core_cycle() * useful;
        at_most(name, found.bytes_per_cycle, peak, 8.0);
        assert_eq!(found.counted.of("l2.read_hits"), 0.0);
    }
}

#[test]
fn an_empty_kernel_takes_the_launch_and_an_exit() {
    for name in GPUS {
        for cta_latency in [0, 7] {
            let mut setup = setup(name);
            setup.gpu.launch.cta_latency_cycles = cta_latency;
            let gpu = &setup.gpu;
            let found = microbench::launch_latency(&setup).unwrap();
            // Dispatched; fetched a cycle later; decoded in that cycle, if it has room for another
            // fetch; issued a cycle later; retired as the exit ends, and reported a cycle later.
            let decode = if gpu.sm.frontend.fetches_per_cycle > 1 { 0.0 } else { 1.0 };
            let launch = f64::from(gpu.kernel_latency_cycles() + cta_latency);
            let exit = latency(gpu, OpClass::Exit) + fixed(gpu, 0);
            assert_eq!(found, launch + 1.0 + decode + 1.0 + exit + 1.0, "{name}");
        }
    }
}

#[test]
fn loads_get_what_the_banks_deliver() {
    for name in GPUS {
        let setup = setup(name);
        // A warp's 128 bytes per cycle: from 32 banks of four bytes, from a line or four sectors.
        at_most(&format!("{name}: shared memory"), microbench::shared_bandwidth(&setup).unwrap(), 128.0, 1.0);
        at_most(&format!("{name}: L1"), microbench::l1_bandwidth(&setup).unwrap(), 128.0, 1.0);
    }
}

/// Cycles per barrier when `warps` warps do nothing else.
fn barrier(gpu: &GpuConfig, warps: u32) -> f64 {
    let sm = &gpu.sm;
    let timing = sm.ptx_timing["barrier"];
    let per_scheduler = warps.div_ceil(sm.issue.schedulers);
    if sm.operands.sub_cores {
        // Each sub-core's unit takes its warps' barriers one by one.
        return f64::from(per_scheduler * timing.initiation_cycles);
    }
    // A fetch brings two barriers. For the first one, warps are fetched one per cycle; the second
    // has waited in decode and is issued by each scheduler for one warp after the other; the fetch
    // of the next pair begins a cycle later.
    assert_eq!((sm.frontend.fetches_per_cycle, sm.frontend.instructions_per_fetch), (1, 2));
    f64::from(warps + per_scheduler + 1) / 2.0
}

#[test]
fn a_barrier_lets_warps_of_a_scheduler_go_one_by_one() {
    for name in GPUS {
        let setup = setup(name);
        for warps in [1, 2, 4, 8, 16, 32] {
            let found = microbench::barrier_interval(&setup, warps).unwrap();
            assert_eq!(found, barrier(&setup.gpu, warps), "{name}: {warps} warps");
        }
    }
}

#[test]
fn units_of_different_kinds_work_side_by_side() {
    for name in ["accel-sim/v100", "accel-sim/rtx2060s", "accel-sim/rtx3070"] {
        let setup = setup(name);
        let (int, fp) = (kernels::chain_of(OpClass::IntAdd).unwrap(), kernels::chain_of(OpClass::FpAdd).unwrap());
        assert_ne!(setup.gpu.sm.ptx_timing["int_add"].unit, Unit::Sp);
        let line = |i: usize| kernels::on_register(if i.is_multiple_of(2) { int.link } else { fp.link }, 1 + i / 2 % 8);
        let found = microbench::issue_rate(&setup, &kernels::clear(), line).unwrap();
        let both = 2.0 * sustained(&setup.gpu, OpClass::IntAdd);
        assert_eq!(found, both.min(f64::from(setup.gpu.sm.issue.schedulers)), "{name}");
    }
}

#[test]
fn a_run_is_the_same_twice() {
    let setup = setup("accel-sim/rtx2060s");
    let text = kernels::looped(75, &kernels::clear(), "add.s32 %r1, %r1, %r2;");
    let run = || {
        let mut bench = microbench::Bench::new(&setup, &text).unwrap();
        bench.run(Work { ctas: 4, threads: 64, trips: 9, ..Work::default() }).unwrap()
    };
    assert_eq!(run(), run());
}

/// `%globaltimer` is `%clock64` as a time, under designs that run ahead of what issues too.
#[test]
fn the_timer_is_the_clock_in_nanoseconds() {
    let text = ".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
                .reg .b32 %r<9>;\n.reg .b64 %p, %d<9>;\n.reg .pred %q;\nld.param.u64 %p, [p];\nmov.u32 %r1, 500;\n\
                mov.u64 %d1, %clock64;\nmov.u64 %d2, %globaltimer;\nL:\nadd.u32 %r2, %r2, %r1;\n\
                sub.u32 %r1, %r1, 1;\nsetp.ne.u32 %q, %r1, 0;\n@%q bra L;\nmov.u64 %d3, %clock64;\n\
                mov.u64 %d4, %globaltimer;\nsub.u64 %d3, %d3, %d1;\nsub.u64 %d4, %d4, %d2;\nadd.u32 %r1, %r1, %r2;\n\
                st.global.u64 [%p], %d3;\nst.global.u64 [%p+8], %d4;\nst.global.u32 [%p+16], %r1;\nret;\n}\n";
    for core in ["inorder", "ideal", "loog", "functional"] {
        for (core_mhz, nanoseconds) in [(500.0, 2.0), (1250.0, 0.8)] {
            let mut gpu = config::load("rtx2060s").unwrap();
            gpu.clocks.core_mhz = core_mhz;
            let mut device = SimulatedDevice::new(&Setup { core: core.into(), ..Setup::new(gpu) }).unwrap();
            let module = device.load_module(&ModuleSource { name: "timer.ptx", code: ModuleCode::Ptx(text) }).unwrap();
            let buffer = device.alloc("times", 64).unwrap();
            let one = Dim3::new(1, 1, 1);
            let args = &[ArgBytes::from(buffer)];
            let (dynamic_shared_bytes, registers) = (0, ThreadRegisters::Given(16));
            let request = LaunchRequest {
                module,
                kernel: "k",
                grid: one,
                block: one,
                dynamic_shared_bytes,
                args,
                registers,
                stream: 0,
            };
            device.launch(&request).unwrap();
            let mut bytes = [0; 16];
            device.read(buffer, 0, &mut bytes).unwrap();
            let [cycles, time] = [0, 1].map(|i| u64::from_le_bytes(bytes.as_chunks::<8>().0[i]) as f64);
            assert!(cycles > 400.0, "{core}: {cycles} cycles");
            assert!(
                (time - nanoseconds * cycles).abs() <= 30.0,
                "{core} at {core_mhz} MHz: {time} ns, {cycles} cycles"
            );
        }
    }
}
