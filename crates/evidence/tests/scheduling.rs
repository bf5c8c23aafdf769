//! The control bits of all bundled machine code against the latencies of GPU descriptions: no read comes early
//! without a known reason. The compiler is right: each early read is a finding about our latencies.
//! `docs/designs/modern.md` prints their number by reason; renew it with `BLESS=1`. The fuzzed kernels of the corpus are
//! checked by the same rule in `differential` of `lab`.

use config::GpuConfig;
use evidence::microbench::binaries;
use kit::text::with_section;
use lab::{ReadChecker, stalls_without_yield};
use lower::{Loaded, LowerOptions, load_binary, load_cubin};
use std::collections::BTreeMap;
use std::path::Path;
use workloads::suite;

/// A GPU of each architecture with bundled machine code.
const GPUS: [&str; 5] = ["v100", "rtx2060s", "a100", "a6000", "h100"];
const STAND_INS: [&str; 5] = ["blas", "gemm", "rand", "fft", "sparse"];

/// The bundled machine code that runs on `gpu`, one file at a time.
fn bundled(gpu: &GpuConfig, mut each: impl FnMut(&Loaded)) {
    let options = LowerOptions::default();
    let cubins = suite::ALL.iter().filter_map(|workload| {
        let module = &workload.module;
        Some((module.name, module.cubin(gpu.sm_version)?.file()))
    });
    let microbenchmarks = binaries::cubins(gpu.sm_version).expect("an architecture with microbenchmarks");
    let microbenchmarks = microbenchmarks.iter().map(|(name, file)| (name.as_str(), file.as_slice()));
    for (name, file) in cubins.chain(microbenchmarks) {
        each(&load_cubin(name, file, options).expect("it loads"));
    }
    for name in STAND_INS {
        let file = standins::image(name).expect("a fat binary");
        each(&load_binary(name, file, gpu.sm_version, options).expect("it loads"));
    }
}

#[test]
fn no_bundled_instruction_reads_too_early() {
    let mut rows = BTreeMap::<&str, [usize; GPUS.len()]>::new();
    let [mut checked, mut stalls] = [[0; GPUS.len()]; 2];
    let mut unknown = Vec::new();
    for (column, name) in GPUS.into_iter().enumerate() {
        let gpu = config::load(name).expect("a built-in GPU");
        let checker = ReadChecker::new(&gpu).expect("a sound GPU");
        bundled(&gpu, |loaded| {
            assert!(loaded.rejected.is_empty(), "{name}: {:?}", loaded.rejected);
            for kernel in &loaded.module.kernels {
                checked[column] += kernel.program.insts().len();
                stalls[column] += stalls_without_yield(&kernel.program);
                for early in checker.check(&kernel.program) {
                    match early.reason {
                        Some(reason) => rows.entry(reason).or_default()[column] += 1,
                        None => unknown.push(format!("{name}: {}: {early:?}", kernel.name())),
                    }
                }
            }
        });
    }
    assert!(unknown.is_empty(), "{} early reads:\n{}", unknown.len(), unknown.join("\n"));
    assert!(checked.iter().all(|&count| count > 150_000), "{checked:?}");

    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(reason, counts)| (std::cmp::Reverse(counts.iter().sum::<usize>()), *reason));
    rows.extend([("**stall counts above 11 without a yield**", stalls), ("**instructions**", checked)]);
    let mut table =
        format!("\n| early reads by reason | {} |\n| --- {}|\n", GPUS.join(" | "), "| --: ".repeat(GPUS.len()));
    for (reason, counts) in rows {
        let counts = counts.map(|count| count.to_string()).join(" | ");
        table += &format!("| {reason} | {counts} |\n");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/designs/modern.md");
    let page = std::fs::read_to_string(&path).expect("docs/designs/modern.md can be read");
    let renewed = with_section(&page, "early reads", &format!("{table}\n")).expect("the page has the section");
    if renewed != page {
        assert!(
            std::env::var_os("BLESS").is_some(),
            "docs/designs/modern.md is out of date: run with BLESS=1\n{table}"
        );
        std::fs::write(&path, renewed).expect("docs/designs/modern.md can be written");
    }
}
