//! Microbenchmarks: the model's latencies and bandwidths as a kernel sees them.
//!
//! Each is a generated kernel run at several lengths; differences of the runs' cycles over
//! differences of the work leave launch, warm-up and loop overhead out. [`measure`] runs the
//! [`catalogue`], as PTX and as the machine code that CUDA's assembler makes of it; hardware's
//! figures of the same quantities are in [`crate::figures`]. The functions of this module are measurements
//! of PTX of the caller's choice, for tests of the model against its own description.

mod bench;
pub mod binaries;
pub mod catalogue;
mod hopper;
pub mod kernels;
mod measure;
mod module;
mod quantity;
pub mod set_by;
pub mod source;

pub use measure::{Measurement, has, measure};
pub use quantity::{Quantity, quantities};

pub use bench::{
    Bandwidth, Bench, Chase, Difference, Steady, Work, chase, dram_bandwidth, l2_bandwidth, l2_port_bandwidth,
};

use lab::Setup;
use workloads::device::DeviceError;

/// Links of the shorter chain.
const LINKS: usize = 32;

/// Threads that keep every pipe busy, as one CTA.
const MANY: u32 = 1024;

/// Cycles from one link of a dependent chain to the next, in one warp of one thread.
///
/// # Errors
/// Errors of the device.
pub fn chain_latency(setup: &Setup, preamble: &str, link: &str) -> Result<f64, DeviceError> {
    Steady { setup: preamble, threads: 1, body: LINKS }.per_line(setup, "cycles", |_| link.to_owned())
}

/// Warp instructions per cycle of one SM when as many warps as a CTA may have issue independent
/// instructions.
///
/// # Errors
/// Errors of the device.
pub fn issue_rate(setup: &Setup, preamble: &str, line: impl Fn(usize) -> String) -> Result<f64, DeviceError> {
    let warps = f64::from(MANY / 32);
    Ok(warps / Steady { setup: preamble, threads: MANY, body: 48 }.per_line(setup, "cycles", line)?)
}

/// Cycles of one load by one warp whose lanes are `stride` bytes apart in shared memory, from one
/// to the next that depends on it.
///
/// # Errors
/// Errors of the device.
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
/// Errors of the device.
pub fn l1_bandwidth(setup: &Setup) -> Result<f64, DeviceError> {
    let preamble = format!("{LANE}mul.wide.u32 %p2, %r1, 4;\nadd.u64 %p2, %p1, %p2;");
    load_bandwidth(setup, &preamble, "ld.global.ca.u32", "%p2")
}

/// Bytes per cycle that loads of one SM get from shared memory.
///
/// # Errors
/// Errors of the device.
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
/// Errors of the device.
pub fn wmma_latency(setup: &Setup, f32_accumulator: bool) -> Result<f64, DeviceError> {
    let (preamble, link) = (wmma_preamble(), wmma(f32_accumulator, 1));
    Steady { setup: &preamble, threads: 32, body: LINKS }.per_line(setup, "cycles", |_| link.clone())
}

/// Cycles per barrier when `warps` warps of one CTA do nothing else.
///
/// # Errors
/// Errors of the device.
pub fn barrier_interval(setup: &Setup, warps: u32) -> Result<f64, DeviceError> {
    let steady = Steady { setup: "", threads: 32 * warps, body: 16 };
    steady.per_line(setup, "cycles", |_| "bar.sync 0;".to_owned())
}

/// Cycles from one multiply-add to the next that depends on it when its three registers have
/// numbers `apart` from each other.
///
/// # Errors
/// Errors of the device.
pub fn mad_latency(setup: &Setup, apart: u32) -> Result<f64, DeviceError> {
    let preamble = kernels::repeat(40, |i| format!("mov.u32 %r{}, 1;", i + 1));
    chain_latency(setup, &preamble, &format!("mad.lo.s32 %r1, %r1, %r{}, %r{};", 1 + apart, 1 + 2 * apart))
}

/// A chase through DRAM whose steps go to rows that were never opened before: as many of them as
/// there are banks on the GPU, or half of those.
///
/// # Errors
/// Errors of the device.
pub fn dram_chase(setup: &Setup) -> Result<Chase, DeviceError> {
    chase(setup, "ld.global.cg.u64", 64, 8192 + 256, false)
}

/// Cycles of a kernel that does nothing, launch latency included.
///
/// # Errors
/// Errors of the device.
pub fn launch_latency(setup: &Setup) -> Result<f64, DeviceError> {
    let mut bench = Bench::new(setup, &kernels::empty(setup.gpu.sm_version))?;
    Ok(bench.run(Work { ctas: 1, threads: 32, ..Work::default() })?.number("total_cycles"))
}
