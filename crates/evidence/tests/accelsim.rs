//! Cycles of traces against Accel-Sim's own. Needs reference data beside the repository; without
//! them there is nothing to compare with, and the test says so.

use evidence::accelsim::{Compared, Ours, Reference, Summary, Traces};
use lab::{Job, Setup, Unattended, run};
use std::path::Path;

/// Largest deviation of one run, and of all in the mean of their magnitudes, in percent.
const EACH: f64 = 10.0;
const MEAN: f64 = 2.0;

/// Traces that take little time.
const TRACES: [&str; 3] = ["simtune-ffmakernel-1-32-40", "simple-trace-example", "matmul_s"];

#[test]
fn traces_take_as_long_as_in_accelsim() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let Ok(reference) = Reference::open(&data.join("reference")) else {
        eprintln!("skipped: there are no reference data at {}", data.display());
        return;
    };
    let mut traces = Traces::new(&data.join("traces"));
    let mut compared = Vec::new();
    for row in reference.rows.iter().filter(|row| TRACES.contains(&row.trace.as_str())) {
        let gpu = reference.gpu(&row.config).unwrap().config;
        let setup = Setup { any_architecture: true, ..Setup::new(gpu) };
        let job = Job::Trace { path: traces.list(&row.trace).unwrap(), concurrent_streams: false };
        let report = run(&setup, &job, &mut Unattended).unwrap();
        let ours = Ours::of_report(&serde_json::to_value(&report).unwrap(), report.host.seconds).unwrap();
        let pair = Compared::new(row.clone(), ours);
        let what = format!("{} on {}", row.trace, row.config);
        assert!(pair.same_instructions, "{what}: {:?}", pair.ours);
        assert!(pair.deviation_percent.abs() < EACH, "{what}: {:+.1} %", pair.deviation_percent);
        assert!(report.remarks.iter().all(|r| r.contains("is machine code for")), "{what}: {:?}", report.remarks);
        compared.push(pair);
    }
    let summary = Summary::of(&compared).unwrap();
    assert!(summary.rows >= 15 && summary.mean_deviation_percent < MEAN, "{summary:?}");
}

/// Probes: small traces that show one behaviour each, with the cycles that Accel-Sim (October 2024) took.
mod probes {
    use super::*;
    use std::fmt::Write;

    /// Where generic addresses begin: shared memory above local memory, as in traces of real GPUs.
    const SHARED: u64 = 0x7f5e_0000_0000;
    const LOCAL: u64 = 0x7f5d_dd00_0000;
    const GLOBAL: u64 = 0x7f00_0000_0000;
    /// Four bytes for each lane of a warp of CTA *c*.
    const OF_WARP: u64 = 128;
    const OF_CTA: u64 = 1024;

    /// An instruction as in the text of a trace: what follows the mask. Neighbouring lanes access addresses `stride`
    /// bytes apart.
    fn line(dst: &str, opcode: &str, srcs: &[&str], access: Option<(u64, u32)>) -> String {
        let dst = if dst.is_empty() { "0".to_owned() } else { format!("1 {dst}") };
        let access = access.map_or("0".to_owned(), |(base, stride)| format!("4 1 {base:#x} {stride}"));
        format!("{dst} {opcode} {} {} {access} 0", srcs.len(), srcs.join(" "))
    }

    /// Arithmetic in four chains of dependences, by both units.
    fn arithmetic(count: usize) -> Vec<String> {
        let opcodes = ["IADD3", "FADD", "IMAD", "FFMA"];
        let registers = ["R2", "R3", "R4", "R5"];
        (0..count).map(|i| line(registers[i % 4], opcodes[i % 4], &[registers[i % 4], "R1"], None)).collect()
    }

    /// Eight rounds of the accesses that `parts` names: a load of a line, a store to another line, a fence.
    fn fences(parts: &str, cta: u64, warp: u64) -> Vec<String> {
        let mut lines = arithmetic(4);
        let own = GLOBAL + warp * OF_WARP;
        for round in 0..8 {
            if parts.contains('L') {
                lines.push(line("R6", "LDG.E.SYS", &["R2", "R3"], Some((own + cta * OF_CTA, 4))));
                lines.push(line("R7", "FADD", &["R6", "R7"], None));
            }
            if parts.contains('S') {
                let to = own + 0x100_0000 + (8 * cta + round) * OF_CTA;
                lines.push(line("", "STG.E.SYS", &["R2", "R3", "R7"], Some((to, 4))));
            }
            if parts.contains('F') {
                lines.push(line("", "MEMBAR.SC.GPU", &[], None));
            }
            lines.extend(arithmetic(2));
        }
        lines
    }

    /// Eight generic loads or stores, in the window of `space`.
    fn generic(load: bool, space: &str, cta: u64, warp: u64) -> Vec<String> {
        let mut lines = arithmetic(4);
        for round in 0..8 {
            let (base, stride) = match space {
                "global" => (GLOBAL + (8 * cta + round) * OF_CTA + warp * OF_WARP, 4),
                "shared" => (SHARED + round * OF_CTA + warp * OF_WARP, 4),
                _ => (LOCAL + 4 * round, 0),
            };
            if load {
                lines.push(line("R6", "LD.E.SYS", &["R2", "R3"], Some((base, stride))));
                lines.push(line("R7", "FADD", &["R6", "R7"], None));
            } else {
                lines.push(line("", "ST.E.SYS", &["R2", "R3", "R7"], Some((base, stride))));
            }
        }
        lines
    }

    /// Lines of a warp, by CTA and warp.
    type Body<'a> = Box<dyn Fn(u64, u64) -> Vec<String> + 'a>;

    /// CTAs and warps of a CTA of probe `name`, and the instructions of a warp but its exit.
    fn probe(name: &str) -> (u64, u64, Body<'_>) {
        let (kind, rest) = name.split_once(' ').expect("a kind and what of it");
        match kind {
            "short" if rest == "5-60" => (3000, 1, Box::new(|cta, _| arithmetic((4 + cta * 37 % 56) as usize))),
            "short" => (3000, 1, Box::new(move |_, _| arithmetic(rest.parse::<usize>().expect("a number") - 1))),
            "fences" => (64, 8, Box::new(move |cta, warp| fences(rest, cta, warp))),
            "load" | "store" => (64, 8, Box::new(move |cta, warp| generic(kind == "load", rest, cta, warp))),
            _ => panic!("no probe {name}"),
        }
    }

    /// The trace of probe `name`.
    fn text(name: &str) -> String {
        let (ctas, warps, body) = probe(name);
        let mut text = format!(
            "-kernel name = {}\n-kernel id = 1\n-grid dim = ({ctas},1,1)\n-block dim = ({},1,1)\n-shmem = {}\n-nregs = 32\n\
             -binary version = 70\n-cuda stream id = 0\n-shmem base_addr = {SHARED:#018x}\n\
             -local mem base_addr = {LOCAL:#018x}\n-nvbit version = 1.5.5\n-accelsim tracer version = 5\n\
             -enable lineinfo = 0\n\n#traces format = PC mask dests opcode sources width addresses immediate\n",
            name.replace(' ', "-"),
            32 * warps,
            if name.starts_with("load") || name.starts_with("store") { 8192 } else { 0 },
        );
        for cta in 0..ctas {
            writeln!(text, "\n#BEGIN_TB\n\nthread block = {cta},0,0").unwrap();
            for warp in 0..warps {
                let mut lines = body(cta, warp);
                lines.push(line("", "EXIT", &[], None));
                writeln!(text, "\nwarp = {warp}\ninsts = {}", lines.len()).unwrap();
                lines.iter().enumerate().for_each(|(i, l)| writeln!(text, "{:04x} ffffffff {l}", 16 * i).unwrap());
            }
            writeln!(text, "\n#END_TB").unwrap();
        }
        text
    }

    fn cycles(gpu: &str, name: &str) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kernelslist.g"), "kernel-1.traceg\n").unwrap();
        std::fs::write(folder.path().join("kernel-1.traceg"), text(name)).unwrap();
        let setup = Setup { any_architecture: true, ..Setup::new(config::load(gpu).unwrap()) };
        let job = Job::Trace { path: folder.path().join("kernelslist.g"), concurrent_streams: false };
        let report = run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{name} on {gpu}: {e}"));
        report.total.number("cycles") as u64
    }

    /// Cycles of Accel-Sim without the launch latency, with its configurations of these GPUs.
    const GPUS: [&str; 3] = ["accel-sim/titanv", "accel-sim/rtx2060", "accel-sim/rtx3070"];
    const CYCLES: &[(&str, [u64; 3])] = &[
        ("short 5", [87, 145, 103]),
        ("short 20", [248, 577, 400]),
        ("short 60", [649, 1606, 1175]),
        ("short 5-60", [467, 996, 726]),
        ("fences F", [88, 247, 161]),
        ("fences LF", [2108, 2667, 2602]),
        ("fences SF", [1247, 1691, 1106]),
        ("fences LSF", [2570, 3719, 3449]),
        ("load global", [2938, 3464, 4389]),
        ("load shared", [5844, 5176, 8402]),
        ("load local", [3020, 3455, 4428]),
        ("store global", [1101, 1565, 1106]),
        ("store shared", [7039, 2209, 1883]),
        ("store local", [1240, 1618, 1076]),
    ];

    #[test]
    fn probes_take_as_long_as_in_accelsim() {
        for (name, theirs) in CYCLES {
            for (gpu, theirs) in GPUS.iter().zip(theirs) {
                let ours = cycles(gpu, name);
                // Single runs scatter, most where two SMs share a port of the crossbar.
                let allowed = (theirs * 3 / 100).max(8);
                assert!(ours.abs_diff(*theirs) <= allowed, "{name} on {gpu}: {ours} cycles, Accel-Sim {theirs}");
            }
        }
    }
}
