//! Microbenchmarks: what the model's latencies and bandwidths come to as a kernel sees them.
//!
//! Each is a generated PTX kernel run at two lengths; the difference of the two runs' cycles over
//! the difference of the work leaves launch, warm-up and loop overhead out. The same quantities
//! were measured on hardware by others (`config::measured`), to be printed beside ours.

use crate::{Setup, SimulatedDevice};
use isa::Dim3;
use std::fmt::Write as _;
use workloads::device::{Arg, Buffer, Code, Device, DeviceError, Launch, ModuleSource, Registers};

/// One quantity that the model was found to have.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Measurement {
    /// Name, as in `config::measured` where hardware figures exist: `fp32_latency`.
    pub name: &'static str,
    /// Cycles, bytes per cycle …
    pub unit: &'static str,
    /// The figure.
    pub value: f64,
}

/// A dependent chain whose cycles per link are the latency of an instruction.
struct Chain {
    name: &'static str,
    /// Declares and sets up the registers.
    setup: &'static str,
    /// One link: reads and writes the same register.
    link: &'static str,
    /// Lowest sm_XX that has it.
    target: u32,
}

const CHAINS: &[Chain] = &[
    Chain { name: "int32_latency", setup: "mov.u32 %r1, 3;", link: "add.s32 %r1, %r1, %r1;", target: 20 },
    Chain { name: "int32_mul_latency", setup: "mov.u32 %r1, 3;", link: "mul.lo.s32 %r1, %r1, %r1;", target: 20 },
    Chain { name: "int32_mad_latency", setup: "mov.u32 %r1, 3;", link: "mad.lo.s32 %r1, %r1, %r1, %r1;", target: 20 },
    Chain { name: "fp32_latency", setup: "mov.f32 %f1, 0f3f800000;", link: "add.f32 %f1, %f1, %f1;", target: 20 },
    Chain { name: "fp32_mul_latency", setup: "mov.f32 %f1, 0f3f800000;", link: "mul.f32 %f1, %f1, %f1;", target: 20 },
    Chain {
        name: "fp32_fma_latency",
        setup: "mov.f32 %f1, 0f3f800000;",
        link: "fma.rn.f32 %f1, %f1, %f1, %f1;",
        target: 20,
    },
    Chain {
        name: "fp64_latency",
        setup: "mov.f64 %d1, 0d3ff0000000000000;",
        link: "add.f64 %d1, %d1, %d1;",
        target: 20,
    },
    Chain {
        name: "fp64_fma_latency",
        setup: "mov.f64 %d1, 0d3ff0000000000000;",
        link: "fma.rn.f64 %d1, %d1, %d1, %d1;",
        target: 20,
    },
    Chain { name: "fp16_latency", setup: "mov.u32 %r1, 1006648320;", link: "add.f16x2 %r1, %r1, %r1;", target: 60 },
    Chain { name: "sfu_latency", setup: "mov.f32 %f1, 0f3f800000;", link: "sqrt.approx.f32 %f1, %f1;", target: 20 },
];

/// Instructions in the shorter of two loop bodies; the longer one has twice as many.
const BODY: usize = 32;
/// Trips of the loop around a body.
const TRIPS: usize = 32;

fn header(sm: u32) -> String {
    let (version, target) = if sm < 60 { ("3.2", 20) } else { ("6.4", sm.min(70)) };
    format!(".version {version}\n.target sm_{target}\n.address_size 64\n")
}

/// A kernel that runs `body` in a loop of [`TRIPS`].
fn looped(sm: u32, setup: &str, body: &str) -> String {
    let mut text = header(sm);
    let _ = write!(
        text,
        ".visible .entry bench(.param .u64 pointer)\n{{\n\
         .reg .b32 %r<20>;\n.reg .f32 %f<20>;\n.reg .f64 %d<20>;\n.reg .b64 %p<4>;\n.reg .pred %q<2>;\n\
         .shared .align 16 .b8 scratch[8192];\n\
         ld.param.u64 %p1, [pointer];\nmov.u32 %r0, {TRIPS};\n{setup}\nLOOP:\n{body}\
         sub.s32 %r0, %r0, 1;\nsetp.ne.s32 %q1, %r0, 0;\n@%q1 bra LOOP;\nret;\n}}\n"
    );
    text
}

/// Follows `%p1` through memory for the number of steps that the second parameter says.
fn chase(sm: u32, load: &str) -> String {
    let mut text = header(sm);
    let _ = write!(
        text,
        ".visible .entry bench(.param .u64 pointer, .param .u32 steps)\n{{\n\
         .reg .b32 %r<2>;\n.reg .b64 %p<2>;\n.reg .pred %q<2>;\n\
         ld.param.u64 %p1, [pointer];\nld.param.u32 %r0, [steps];\nLOOP:\n\
         {load} %p1, [%p1];\n\
         sub.s32 %r0, %r0, 1;\nsetp.ne.s32 %q1, %r0, 0;\n@%q1 bra LOOP;\nret;\n}}\n"
    );
    text
}

/// Reads `chunk` 16-byte pieces per thread, a grid's width apart, `rounds` times over.
fn stream(sm: u32, load: &str) -> String {
    let mut text = header(sm);
    let _ = write!(
        text,
        ".visible .entry bench(.param .u64 pointer, .param .u32 chunk, .param .u32 rounds)\n{{\n\
         .reg .b32 %r<20>;\n.reg .b64 %p<6>;\n.reg .pred %q<2>;\n\
         ld.param.u64 %p1, [pointer];\nld.param.u32 %r10, [rounds];\n\
         mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmov.u32 %r4, %nctaid.x;\n\
         mad.lo.u32 %r5, %r1, %r2, %r3;\nmul.lo.u32 %r6, %r4, %r2;\n\
         mul.wide.u32 %p2, %r5, 16;\nadd.u64 %p1, %p1, %p2;\nmul.wide.u32 %p3, %r6, 16;\n\
         ROUND:\nld.param.u32 %r0, [chunk];\nmov.u64 %p4, %p1;\nLOOP:\n"
    );
    for i in 0..4 {
        let _ = writeln!(text, "{load} {{%r{}, %r12, %r13, %r14}}, [%p4];\nadd.u64 %p4, %p4, %p3;", 15 + i);
    }
    text.push_str(
        "sub.s32 %r0, %r0, 4;\nsetp.gt.s32 %q1, %r0, 0;\n@%q1 bra LOOP;\n\
         sub.s32 %r10, %r10, 1;\nsetp.ne.s32 %q1, %r10, 0;\n@%q1 bra ROUND;\nret;\n}\n",
    );
    text
}

/// A device with one microbenchmark loaded.
struct Bench<'a> {
    setup: &'a Setup,
}

impl Bench<'_> {
    /// Cycles of one run of `text` on a fresh device; `prepare` makes the buffer and gives the
    /// arguments.
    fn cycles(
        &self,
        text: &str,
        (ctas, threads): (u32, u32),
        prepare: impl FnOnce(&mut SimulatedDevice) -> Result<Vec<Arg>, DeviceError>,
    ) -> Result<f64, DeviceError> {
        let mut device = SimulatedDevice::new(self.setup)?;
        let module = device.load_module(&ModuleSource { name: "microbenchmark", code: Code::Ptx(text) })?;
        let args = prepare(&mut device)?;
        device.launch(&Launch {
            module,
            kernel: "bench",
            grid: Dim3::new(ctas, 1, 1),
            block: Dim3::new(threads, 1, 1),
            dynamic_shared_bytes: 0,
            args: &args,
            registers: Registers::Given(32),
            stream: 0,
        })?;
        device.synchronize()?;
        Ok(device.total_statistics().number("cycles"))
    }

    fn sm(&self) -> u32 {
        self.setup.gpu.sm_version
    }

    /// Cycles per unit of `link` when `threads` threads run it in a loop.
    fn per_link(&self, threads: u32, setup: &str, link: impl Fn(usize) -> String) -> Result<f64, DeviceError> {
        let run = |n: usize| {
            let body: String = (0..n).map(|i| link(i) + "\n").collect();
            self.cycles(&looped(self.sm(), setup, &body), (1, threads), |d| Ok(vec![d.alloc("unused", 4096)?.into()]))
        };
        Ok((run(2 * BODY)? - run(BODY)?) / (BODY * TRIPS) as f64)
    }

    /// Cycles per step of a walk through a ring of `nodes` pointers `stride` bytes apart, with a
    /// full turn beforehand if `warm`.
    fn chase(&self, load: &str, nodes: u64, stride: u64, warm: bool) -> Result<f64, DeviceError> {
        let ring = |device: &mut SimulatedDevice| -> Result<Buffer, DeviceError> {
            let buffer = device.alloc("ring", nodes * stride)?;
            let mut bytes = vec![0; (nodes * stride) as usize];
            for i in 0..nodes {
                let next = buffer.address + (i + 1) % nodes * stride;
                bytes[(i * stride) as usize..][..8].copy_from_slice(&next.to_le_bytes());
            }
            device.write(buffer, 0, &bytes)?;
            Ok(buffer)
        };
        let text = chase(self.sm(), load);
        let before = if warm { nodes } else { 0 };
        let run =
            |steps: u64| self.cycles(&text, (1, 1), |d| Ok(vec![ring(d)?.into(), Arg::from((before + steps) as u32)]));
        let steps = if warm { 64 } else { nodes / 2 };
        Ok((run(2 * steps)? - run(steps)?) / steps as f64)
    }

    /// Bytes per cycle when the whole GPU reads: `(chunk, rounds)` of the shorter and longer run.
    fn bandwidth(&self, load: &str, (c1, r1): (u32, u32), (c2, r2): (u32, u32)) -> Result<f64, DeviceError> {
        let gpu = &self.setup.gpu;
        let per_sm = (gpu.sm.max_warps * 32 / 256).min(gpu.sm.max_ctas);
        let (ctas, threads) = (gpu.sm_count * per_sm, 256);
        let bytes = |chunk: u32| u64::from(ctas) * u64::from(threads) * 16 * u64::from(chunk);
        let text = stream(self.sm(), load);
        let run = |chunk: u32, rounds: u32| {
            self.cycles(&text, (ctas, threads), |d| {
                Ok(vec![d.alloc("data", bytes(chunk))?.into(), chunk.into(), rounds.into()])
            })
        };
        let moved = bytes(c2) * u64::from(r2) - bytes(c1) * u64::from(r1);
        Ok(moved as f64 / (run(c2, r2)? - run(c1, r1)?))
    }
}

/// Measures the GPU of `setup`.
///
/// # Errors
/// What the device reports; a model that cannot run one of the kernels is at fault.
pub fn measure(setup: &Setup) -> Result<Vec<Measurement>, DeviceError> {
    let bench = Bench { setup };
    let sm = bench.sm();
    let mut found = Vec::new();
    let mut note = |name, unit, value| found.push(Measurement { name, unit, value });

    for chain in CHAINS.iter().filter(|c| c.target <= sm) {
        note(chain.name, "cycles", bench.per_link(1, chain.setup, |_| chain.link.to_owned())?);
    }
    let shared = "mov.u64 %p2, scratch;\nst.shared.u64 [scratch], %p2;";
    note("shared_latency", "cycles", bench.per_link(1, shared, |_| "ld.shared.u64 %p2, [%p2];".into())?);
    note("l1_latency", "cycles", bench.chase("ld.global.ca.u64", 16, 128, true)?);
    note("l2_latency", "cycles", bench.chase("ld.global.cg.u64", 16, 4096, true)?);
    note("dram_latency", "cycles", bench.chase("ld.global.cg.u64", 256, 8192 + 256, false)?);

    // Eight independent chains per thread, all the threads that a CTA may have.
    let rates: &[(&str, &str, u32, fn(usize) -> String)] = &[
        ("int32_rate", "operations/cycle/SM", 20, |i| format!("add.s32 %r{0}, %r{0}, %r{0};", 1 + i % 8)),
        ("fp32_rate", "operations/cycle/SM", 20, |i| format!("fma.rn.f32 %f{0}, %f{0}, %f{0}, %f{0};", 1 + i % 8)),
        ("fp64_rate", "operations/cycle/SM", 20, |i| format!("fma.rn.f64 %d{0}, %d{0}, %d{0}, %d{0};", 1 + i % 8)),
        ("sfu_rate", "operations/cycle/SM", 20, |i| format!("sqrt.approx.f32 %f{0}, %f{0};", 1 + i % 8)),
    ];
    let clear: String = (1..9)
        .flat_map(|i| [format!("mov.u32 %r{i}, 0;"), format!("mov.f32 %f{i}, 0f0;"), format!("mov.f64 %d{i}, 0d0;")])
        .collect::<Vec<_>>()
        .join("\n")
        .replace("0f0;", "0f00000000;")
        .replace("0d0;", "0d0000000000000000;");
    for &(name, unit, target, link) in rates {
        if target <= sm {
            note(name, unit, 1024.0 / bench.per_link(1024, &clear, link)?);
        }
    }
    note("l2_bandwidth", "bytes/cycle", bench.bandwidth("ld.global.cg.v4.u32", (4, 4), (4, 12))?);
    note("dram_bandwidth", "bytes/cycle", bench.bandwidth("ld.global.cg.v4.u32", (16, 1), (32, 1))?);
    Ok(found)
}
