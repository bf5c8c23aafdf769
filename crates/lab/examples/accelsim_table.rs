//! Prints, for each trace and GPU configuration that Accel-Sim was run with, its cycles and ours.
//!
//! ```text
//! cargo run --release -p warpwright-lab --example accelsim_table -- REFERENCE TRACES [FILTER]
//! ```
//! `REFERENCE` holds `accelsim_cycles.csv` and `accelsim_configs/<name>/{gpgpusim,trace}.config`,
//! `TRACES` holds the unpacked traces, a folder each. `FILTER` selects rows that contain it, and
//! prints each kernel's cycles too.

use lab::{TraceRun, TraceSetup, run_trace};
use std::error::Error;
use std::path::Path;

/// Options that Accel-Sim's Volta configurations lack for later machine code.
const UNIFORM_UNIT: &str = "\n-specialized_unit_4 1,4,4,4,4,UDP\n-trace_opcode_latency_initiation_spec_op_4 4,1\n";

fn setup(reference: &Path, name: &str) -> Result<TraceSetup, Box<dyn Error>> {
    let folder = reference.join("accelsim_configs").join(name);
    let read = |file: &str| std::fs::read_to_string(folder.join(file));
    let (mut gpgpusim, trace) = (read("gpgpusim.config")?, read("trace.config")?);
    if !gpgpusim.lines().any(|l| l.trim_start().starts_with("-specialized_unit_4")) {
        gpgpusim.push_str(UNIFORM_UNIT);
    }
    let gpu = config::import_accelsim(&gpgpusim, &trace)?.config;
    Ok(TraceSetup { gpu, scheduler: None, any_architecture: true })
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [reference, traces, filter @ ..] = &args[..] else {
        return Err("usage: accelsim_table REFERENCE TRACES [FILTER]".into());
    };
    let (reference, traces) = (Path::new(reference), Path::new(traces));
    let rows = std::fs::read_to_string(reference.join("accelsim_cycles.csv"))?;
    println!(
        "{:30}{:15}{:>10}{:>10}{:>8}  {:12}{:>9}",
        "trace", "config", "accelsim", "ours", "dev", "instructions", "speed"
    );
    let mut deviations = Vec::new();
    for row in rows.lines().skip(1).filter(|row| filter.iter().all(|f| row.contains(f.as_str()))) {
        let fields: Vec<&str> = row.split(',').collect();
        let [trace, config, cycles, _, warp, thread, host, _, kernels] = fields[..] else { continue };
        let run = match run_trace(&traces.join(trace).join("kernelslist.g"), &setup(reference, config)?) {
            Ok(run) => run,
            Err(e) => {
                println!("{trace:30}{config:15}{e}");
                continue;
            }
        };
        let theirs: u64 = cycles.parse()?;
        let deviation = percent(run.cycles(), theirs);
        deviations.push(deviation);
        let same = run.warp_instructions() == warp.parse()? && run.thread_instructions() == thread.parse()?;
        let speed = host.parse::<f64>()? / run.host_time.as_secs_f64();
        let counts = if same { "equal" } else { "DIFFER" };
        println!("{trace:30}{config:15}{theirs:>10}{:>10}{deviation:>+7.1}%  {counts:12}{speed:>8.0}x", run.cycles());
        if !filter.is_empty() {
            print_kernels(&run, kernels)?;
        }
    }
    let mean = deviations.iter().map(|d| d.abs()).sum::<f64>() / deviations.len() as f64;
    let most = deviations.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
    println!("{} runs: mean deviation {mean:.1}%, greatest {most:.1}%", deviations.len());
    Ok(())
}

fn percent(ours: u64, theirs: u64) -> f64 {
    (ours as f64 / theirs as f64 - 1.0) * 100.0
}

fn print_kernels(run: &TraceRun, theirs: &str) -> Result<(), Box<dyn Error>> {
    for (kernel, theirs) in run.kernels.iter().zip(theirs.split_whitespace()) {
        let theirs = theirs.parse()?;
        let c = &kernel.counters;
        println!("    {theirs:>7}{:>7}{:>+7.1}%  {}", kernel.cycles, percent(kernel.cycles, theirs), kernel.name);
        if std::env::var_os("COUNTERS").is_some() {
            println!("{:#?}", (&c.sm, &c.l1d, &c.memory));
        }
    }
    Ok(())
}
