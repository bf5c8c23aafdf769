//! The control bits of all bundled machine code, against the latencies of GPU descriptions: no read comes early.

use isa::Form;
use lower::{LowerOptions, load_cubin};
use sm::{CoreOptions, CoreSpec, early_reads};
use std::collections::BTreeMap;
use workloads::suite;

/// Early reads in all bundled cubins that run on `gpu`: pairs of opcodes with needed and found distance, and how often.
fn findings(gpu: &str) -> (usize, BTreeMap<String, usize>) {
    let gpu = config::load(gpu).expect("a built-in GPU");
    let spec = CoreSpec::new(&gpu, Form::Sass, CoreOptions::default()).expect("a sound GPU");
    let (mut checked, mut found) = (0, BTreeMap::new());
    for workload in suite::ALL {
        let Some(cubin) = workload.module.cubin(gpu.sm_version) else { continue };
        let loaded = load_cubin(workload.module.name, cubin.file(), LowerOptions::default()).expect("a bundled cubin");
        for kernel in &loaded.module.kernels {
            let program = &kernel.program;
            checked += program.insts().len();
            for early in early_reads(program, &spec) {
                let opcode = |pc| program.text(pc).split(' ').find(|w| !w.starts_with('@')).unwrap_or("").to_owned();
                let needed = early.needed.map_or("a counter".into(), |n| n.to_string());
                let text =
                    format!("{} -> {}: {} of {needed}", opcode(early.writer), opcode(early.reader), early.distance);
                *found.entry(text).or_insert(0) += 1;
            }
        }
    }
    (checked, found)
}

#[test]
fn no_bundled_instruction_reads_too_early() {
    for gpu in ["v100", "rtx2060s", "a6000", "h100"] {
        let (checked, found) = findings(gpu);
        println!("{gpu}: {checked}");
        found.iter().for_each(|(text, count)| println!("  {count:5} {text}"));
    }
}
