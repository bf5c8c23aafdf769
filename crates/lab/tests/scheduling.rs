//! The control bits of all bundled machine code against the latencies of GPU descriptions: no read comes early
//! without a known reason. The compiler is right: each early read is a finding about our latencies. The fuzzed kernels
//! of the corpus are checked by the same rule in `differential`.

use lab::ReadChecker;
use lower::{LowerOptions, load_cubin};
use std::collections::BTreeMap;
use workloads::suite;

#[test]
fn no_bundled_instruction_reads_too_early() {
    for (gpu, least) in [("v100", 38_000), ("rtx2060s", 37_000), ("a6000", 38_000), ("h100", 40_000)] {
        let gpu = config::load(gpu).expect("a built-in GPU");
        let checker = ReadChecker::new(&gpu).expect("a sound GPU");
        let (mut checked, mut known, mut unknown) = (0, BTreeMap::<&str, usize>::new(), Vec::new());
        for workload in suite::ALL {
            let Some(cubin) = workload.module.cubin(gpu.sm_version) else { continue };
            let loaded = load_cubin(workload.module.name, cubin.file(), LowerOptions::default()).expect("it loads");
            for kernel in &loaded.module.kernels {
                checked += kernel.program.insts().len();
                for early in checker.check(&kernel.program) {
                    match early.reason {
                        Some(reason) => *known.entry(reason).or_default() += 1,
                        None => unknown.push(format!("{}: {early:?}", kernel.name())),
                    }
                }
            }
        }
        println!("{}: {checked} instructions", gpu.name);
        known.iter().for_each(|(&reason, count)| println!("  {count:5} {reason}"));
        assert!(checked > least, "{checked}");
        assert!(unknown.is_empty(), "{}: {} early reads:\n{}", gpu.name, unknown.len(), unknown.join("\n"));
    }
}
