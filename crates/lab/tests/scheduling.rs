//! The control bits of all bundled machine code against the latencies of GPU descriptions: no read comes early
//! without a known reason. The compiler is right: each early read is a finding about our latencies.

use isa::{Form, Program};
use lower::{LowerOptions, load_cubin};
use sm::{CoreOptions, CoreSpec, EarlyRead, early_reads};
use std::collections::BTreeMap;
use workloads::suite;

/// Why a read may come early: opcodes of the writer and of the reader by their first letters, and the reason.
const KNOWN: &[(&str, &str, &str)] = &[
    ("", "BAR", "a barrier reads what its reductions would, whether or not it has one"),
    ("", "LDC", "a load of constants executes in the integer unit here; it reads like a decoupled instruction"),
    ("", "FCHK", "the same of FCHK"),
    ("", "F2F", "the same of conversions"),
    ("IMAD.WIDE", "", "the lower word of a wide product comes two cycles before the upper one"),
    ("", "IMAD.WIDE", "a wide product reads its third operand two cycles later"),
    ("D", "", "double precision has one latency here; on sm_90 its own operations read it after 8 cycles"),
    ("", "WARPSYNC", "the mask is read like a decoupled instruction's operand"),
];

/// The opcode at `pc`, with its modifiers.
fn opcode(program: &Program, pc: isa::Pc) -> &str {
    let words = program.text(pc).split(' ');
    words.into_iter().find(|word| !word.starts_with('@')).unwrap_or_default()
}

/// The reason of an early read, if it is known.
fn reason(program: &Program, early: &EarlyRead) -> Option<usize> {
    let (writer, reader) = (opcode(program, early.writer), opcode(program, early.reader));
    let counted = early.needed.is_none();
    KNOWN.iter().position(|(from, to, _)| !counted && writer.starts_with(from) && reader.starts_with(to))
}

#[test]
fn no_bundled_instruction_reads_too_early() {
    for (gpu, least) in [("v100", 38_000), ("rtx2060s", 37_000), ("a6000", 38_000), ("h100", 40_000)] {
        let gpu = config::load(gpu).expect("a built-in GPU");
        let options = CoreOptions { times_operations: true, ..CoreOptions::default() };
        let spec = CoreSpec::new(&gpu, Form::Sass, options).expect("a sound GPU");
        let (mut checked, mut known, mut unknown) = (0, BTreeMap::<usize, usize>::new(), Vec::new());
        for workload in suite::ALL {
            let Some(cubin) = workload.module.cubin(gpu.sm_version) else { continue };
            let loaded = load_cubin(workload.module.name, cubin.file(), LowerOptions::default()).expect("it loads");
            for kernel in &loaded.module.kernels {
                let program = &kernel.program;
                checked += program.insts().len();
                for early in early_reads(program, &spec) {
                    match reason(program, &early) {
                        Some(reason) => *known.entry(reason).or_default() += 1,
                        None => {
                            let [writer, reader] = [early.writer, early.reader].map(|pc| opcode(program, pc));
                            let EarlyRead { distance, needed, .. } = early;
                            unknown.push(format!("{}: {writer} -> {reader}: {distance} of {needed:?}", program.name));
                        }
                    }
                }
            }
        }
        println!("{}: {checked} instructions", gpu.name);
        known.iter().for_each(|(&reason, count)| println!("  {count:5} {:?}", KNOWN[reason]));
        assert!(checked > least, "{checked}");
        assert!(unknown.is_empty(), "{}: {} early reads:\n{}", gpu.name, unknown.len(), unknown.join("\n"));
    }
}
