//! Microbenchmarks: the model's latencies and bandwidths as a kernel sees them.
//!
//! Each is a generated PTX kernel run at several lengths; differences of the runs' cycles over
//! differences of the work leave launch, warm-up and loop overhead out. The same quantities were
//! measured on hardware by others ([`config::measured`]), to be printed beside ours.

mod bench;
pub mod kernels;

pub use bench::{
    Bandwidth, Bench, Chase, Difference, Steady, Work, chase, dram_bandwidth, l2_bandwidth, l2_port_bandwidth,
};

use crate::setup::Setup;
use config::measured::Quantity;
use isa::OpClass;
use kernels::{chain_of, on_register};
use workloads::device::DeviceError;

/// A measured quantity of the model.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Measurement {
    /// Name, as in [`Quantity`] where hardware figures exist: `fp32_latency`.
    pub name: &'static str,
    /// Cycles, bytes per cycle …
    pub unit: &'static str,
    /// The figure in the quantity's unit.
    pub value: f64,
}

impl Measurement {
    fn of(quantity: Quantity, value: f64) -> Self {
        Self { name: quantity.name(), unit: quantity.unit(), value }
    }
}

/// Links of the shorter chain.
const LINKS: usize = 32;

/// Threads that keep every pipe busy, as one CTA.
const MANY: u32 = 1024;

/// Cycles from one link of a dependent chain to the next, in one warp of one thread.
///
/// # Errors
/// What the device reports.
pub fn chain_latency(setup: &Setup, preamble: &str, link: &str) -> Result<f64, DeviceError> {
    Steady { setup: preamble, threads: 1, body: LINKS }.per_line(setup, "cycles", |_| link.to_owned())
}

/// Warp instructions per cycle of one SM when as many warps as a CTA may have issue independent
/// instructions.
///
/// # Errors
/// What the device reports.
pub fn issue_rate(setup: &Setup, preamble: &str, line: impl Fn(usize) -> String) -> Result<f64, DeviceError> {
    let warps = f64::from(MANY / 32);
    Ok(warps / Steady { setup: preamble, threads: MANY, body: 48 }.per_line(setup, "cycles", line)?)
}

/// Cycles of one load by one warp whose lanes are `stride` bytes apart in shared memory, from one
/// to the next that depends on it.
///
/// # Errors
/// What the device reports.
pub fn shared_latency(setup: &Setup, stride: u32) -> Result<f64, DeviceError> {
    // Every lane's word holds its own address.
    let preamble = format!(
        "mov.u32 %r1, scratch;\nmov.u32 %r2, %tid.x;\nmad.lo.u32 %r3, %r2, {stride}, %r1;\nst.shared.u32 [%r3], %r3;"
    );
    Steady { setup: &preamble, threads: 32, body: LINKS }
        .per_line(setup, "cycles", |_| "ld.shared.u32 %r3, [%r3];".to_owned())
}

/// Bytes per cycle that one SM's loads of 4 bytes per lane get; all lanes' addresses are
/// derived from the register `address`.
fn load_bandwidth(setup: &Setup, preamble: &str, load: &str, address: &str) -> Result<f64, DeviceError> {
    let rate = issue_rate(setup, preamble, |i| format!("{load} %r{}, [{address}+{}];", 10 + i % 16, i % 16 * 128))?;
    Ok(rate * 128.0)
}

/// Puts the lane's number into `%r1`.
const LANE: &str = "mov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 31;\n";

/// Bytes per cycle that loads of one SM get from L1.
///
/// # Errors
/// What the device reports.
pub fn l1_bandwidth(setup: &Setup) -> Result<f64, DeviceError> {
    let preamble = format!("{LANE}mul.wide.u32 %p2, %r1, 4;\nadd.u64 %p2, %p1, %p2;");
    load_bandwidth(setup, &preamble, "ld.global.ca.u32", "%p2")
}

/// Bytes per cycle that loads of one SM get from shared memory.
///
/// # Errors
/// What the device reports.
pub fn shared_bandwidth(setup: &Setup) -> Result<f64, DeviceError> {
    let preamble = format!("{LANE}mov.u32 %r2, scratch;\nmad.lo.u32 %r3, %r1, 4, %r2;");
    load_bandwidth(setup, &preamble, "ld.shared.u32", "%r3")
}

/// One matrix operation of 16x16x16 half-precision elements, its accumulator in registers from
/// `first` on.
fn wmma(f32_accumulator: bool, first: usize) -> String {
    let list = |kind: &str, from: usize, n: usize| {
        let names: Vec<_> = (from..from + n).map(|i| format!("{kind}{i}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let (a, b) = (list("%r", 40, 8), list("%r", 48, 8));
    let (types, c) =
        if f32_accumulator { ("f32.f32", list("%f", first, 8)) } else { ("f16.f16", list("%r", first, 4)) };
    format!("wmma.mma.sync.aligned.row.col.m16n16k16.{types} {c}, {a}, {b}, {c};")
}

/// Gives the registers of [`wmma`] values.
fn wmma_preamble() -> String {
    kernels::repeat(64, |i| format!("mov.f32 %f{i}, 0f00000000;"))
        + &kernels::repeat(63, |i| format!("mov.u32 %r{}, 0;", i + 1))
}

/// Cycles from one matrix operation to the next that accumulates onto its result.
///
/// # Errors
/// What the device reports.
pub fn wmma_latency(setup: &Setup, f32_accumulator: bool) -> Result<f64, DeviceError> {
    let (preamble, link) = (wmma_preamble(), wmma(f32_accumulator, 1));
    Steady { setup: &preamble, threads: 32, body: LINKS }.per_line(setup, "cycles", |_| link.clone())
}

fn latencies(setup: &Setup, found: &mut Vec<Measurement>) -> Result<(), DeviceError> {
    let sm = setup.gpu.sm_version;
    let clear = kernels::clear();
    let classes = [
        (Quantity::Fp32Latency, OpClass::FpFma),
        (Quantity::Int32Latency, OpClass::IntMad),
        (Quantity::Fp16Latency, OpClass::Half),
        (Quantity::Fp64Latency, OpClass::DpFma),
        (Quantity::SfuLatency, OpClass::Sfu),
    ];
    for (quantity, class) in classes {
        if let Some(chain) = chain_of(class).filter(|c| c.lowest_sm <= sm) {
            found.push(Measurement::of(quantity, chain_latency(setup, &clear, chain.link)?));
        }
    }
    if sm >= 70 {
        for (quantity, f32_accumulator) in [(Quantity::WmmaF32Latency, true), (Quantity::WmmaF16Latency, false)] {
            found.push(Measurement::of(quantity, wmma_latency(setup, f32_accumulator)?));
        }
    }
    Ok(())
}

fn rates(setup: &Setup, found: &mut Vec<Measurement>) -> Result<(), DeviceError> {
    let sm = setup.gpu.sm_version;
    let clear = kernels::clear();
    // Operations per lane and instruction.
    let rates: [(Quantity, &str, u32, f64); 5] = [
        (Quantity::Fp32Rate, "fma.rn.f32 %f1, %f1, 0f3f800000, 0f3f800000;", 20, 2.0),
        (Quantity::Int32Rate, "mad.lo.s32 %r1, %r1, 7, 9;", 20, 2.0),
        (Quantity::Fp16Rate, "fma.rn.f16x2 %r1, %r1, %r1, %r1;", 60, 4.0),
        (Quantity::Fp64Rate, "fma.rn.f64 %d1, %d1, 0d3ff0000000000000, 0d3ff0000000000000;", 20, 2.0),
        (Quantity::SfuRate, "sqrt.approx.f32 %f1, %f1;", 20, 1.0),
    ];
    for (quantity, link, lowest_sm, operations) in rates {
        if lowest_sm <= sm {
            let rate = issue_rate(setup, &clear, |i| on_register(link, 1 + i % 8))?;
            found.push(Measurement::of(quantity, rate * 32.0 * operations));
        }
    }
    if sm >= 70 {
        let preamble = wmma_preamble();
        for (quantity, f32_accumulator) in [(Quantity::TensorF32Rate, true), (Quantity::TensorF16Rate, false)] {
            let steady = Steady { setup: &preamble, threads: 512, body: 8 };
            let cycles = steady.per_line(setup, "cycles", |i| wmma(f32_accumulator, 1 + i % 4 * 8))?;
            found.push(Measurement::of(quantity, 16.0 * 4096.0 / cycles));
        }
    }
    let operands = |i| format!("fma.rn.f32 %f{0}, %f{0}, %f{1}, %f{2};", 1 + i % 8, 1 + (i + 1) % 8, 1 + (i + 2) % 8);
    let steady = Steady { setup: &clear, threads: MANY, body: 48 };
    let counted = steady.lines(setup, &["cycles", "sm.register_reads"], operands)?;
    found.push(Measurement::of(Quantity::RegisterBandwidth, counted[1] / counted[0] * 128.0));
    Ok(())
}

fn memory(setup: &Setup, found: &mut Vec<Measurement>) -> Result<(), DeviceError> {
    let gpu = &setup.gpu;
    found.push(Measurement::of(Quantity::L1Latency, chase(setup, "ld.global.ca.u64", 64, 128, true)?.cycles));
    found.push(Measurement::of(Quantity::SharedLatency, shared_latency(setup, 4)?));
    found.push(Measurement::of(Quantity::L2Latency, chase(setup, "ld.global.cg.u64", 64, 4096, true)?.cycles));
    found.push(Measurement::of(Quantity::DramLatency, dram_chase(setup)?.cycles));
    let atomic = "atom.global.add.u32 %r1, [%p1], %r1;";
    found.push(Measurement::of(Quantity::AtomicLatency, chain_latency(setup, &kernels::clear(), atomic)?));

    found.push(Measurement::of(Quantity::L1Bandwidth, l1_bandwidth(setup)?));
    found.push(Measurement::of(Quantity::SharedBandwidth, shared_bandwidth(setup)?));
    found.push(Measurement::of(Quantity::L2Bandwidth, l2_bandwidth(setup, gpu.sm_count, 4)?.bytes_per_cycle));
    let per_cycle = dram_bandwidth(setup, 2)?.bytes_per_cycle;
    found.push(Measurement::of(Quantity::DramBandwidth, per_cycle * gpu.clocks.core_mhz / 1e3));
    Ok(())
}

/// Cycles per barrier when `warps` warps of one CTA do nothing else.
///
/// # Errors
/// What the device reports.
pub fn barrier_interval(setup: &Setup, warps: u32) -> Result<f64, DeviceError> {
    let steady = Steady { setup: "", threads: 32 * warps, body: 16 };
    steady.per_line(setup, "cycles", |_| "bar.sync 0;".to_owned())
}

/// Cycles from one multiply-add to the next that depends on it when its three registers have
/// numbers `apart` from each other.
///
/// # Errors
/// What the device reports.
pub fn mad_latency(setup: &Setup, apart: u32) -> Result<f64, DeviceError> {
    let preamble = kernels::repeat(40, |i| format!("mov.u32 %r{}, 1;", i + 1));
    chain_latency(setup, &preamble, &format!("mad.lo.s32 %r1, %r1, %r{}, %r{};", 1 + apart, 1 + 2 * apart))
}

/// Cost of conflicts and barriers, for which there are no figures of hardware.
fn conflicts(setup: &Setup, found: &mut Vec<Measurement>) -> Result<(), DeviceError> {
    let unit = Quantity::SharedLatency.unit();
    let degrees = [
        ("shared_latency_2_way", 2),
        ("shared_latency_4_way", 4),
        ("shared_latency_8_way", 8),
        ("shared_latency_16_way", 16),
        ("shared_latency_32_way", 32),
    ];
    for (name, degree) in degrees {
        found.push(Measurement { name, unit, value: shared_latency(setup, 4 * degree)? });
    }
    let operands = &setup.gpu.sm.operands;
    let banks = if operands.sub_cores { operands.banks / setup.gpu.sm.issue.schedulers } else { operands.banks };
    found.push(Measurement { name: "int32_latency_one_bank", unit, value: mad_latency(setup, banks)? });
    for (name, warps) in [("barrier_interval_1_warp", 1), ("barrier_interval_32_warps", 32)] {
        found.push(Measurement { name, unit, value: barrier_interval(setup, warps)? });
    }
    Ok(())
}

/// A chase through DRAM whose steps go to rows that were never opened before: as many of them as
/// there are banks on the GPU, or half of those.
///
/// # Errors
/// What the device reports.
pub fn dram_chase(setup: &Setup) -> Result<Chase, DeviceError> {
    chase(setup, "ld.global.cg.u64", 64, 8192 + 256, false)
}

/// Cycles of a kernel that does nothing, launch latency included.
///
/// # Errors
/// What the device reports.
pub fn launch_latency(setup: &Setup) -> Result<f64, DeviceError> {
    let mut bench = Bench::new(setup, &kernels::empty(setup.gpu.sm_version))?;
    Ok(bench.run(Work { ctas: 1, threads: 32, ..Work::default() })?.number("total_cycles"))
}

/// Measures the GPU of `setup`, its warps scheduled by loose round robin: a greedy scheduler lets
/// some end early, and the last ones cannot fill the pipes.
///
/// # Errors
/// What the device reports; a model that cannot run one of the kernels is at fault.
pub fn measure(setup: &Setup) -> Result<Vec<Measurement>, DeviceError> {
    let setup = &Setup { scheduler: Some("lrr".to_owned()), ..setup.clone() };
    let mut found = Vec::new();
    latencies(setup, &mut found)?;
    rates(setup, &mut found)?;
    memory(setup, &mut found)?;
    found.push(Measurement::of(Quantity::LaunchLatency, launch_latency(setup)?));
    conflicts(setup, &mut found)?;
    Ok(found)
}
