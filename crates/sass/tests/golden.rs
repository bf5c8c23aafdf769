//! Every instruction of the bundled cubins and of some cubins of tests decodes, and its text is that of
//! NVIDIA's disassembler.
//!
//! `tools/rebuild-kernels` makes the cubins and their disassembly (`NAME.sass`, with `-` for words that the
//! disassembler omits). This test needs no NVIDIA tool.

use crate::folder;
use sass::decode::decode_function;
use sass::elf::Cubin;
use sass::meaning::{Generation, meaning, of_instruction};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Cubins of an architecture in the order of their names.
fn cubins(sm: u8) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder().join(format!("sm_{sm}"))).expect("the cubins are there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a readable folder").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cubin"));
    files.sort();
    files
}

/// Cubins of textures, surfaces, jumps and Hopper's instructions in more forms than the workloads have.
fn forms(sm: u8) -> impl Iterator<Item = PathBuf> {
    const NAMES: [&str; 47] = [
        "images",
        "jumptable",
        "cases",
        "cases_O0",
        "cases.cuda129",
        "calls",
        "forms",
        "forms_O0",
        "forms80",
        "forms80_O0",
        "forms86",
        "forms89",
        "forms90",
        "results",
        "results_O0",
        "sm_90/dpx.cuda129",
        "sm_90/bf16.cuda129",
        "sm_90/bf16.debug.cuda129",
        "sm_90/fp8.cuda129",
        "sm_90/generic.cuda118",
        "sm_90/generic.cuda129",
        "sm_90/generic.debug.cuda129",
        "sm_90/sync.cuda118",
        "sm_90/sync.cuda129",
        "sm_90/sync.debug.cuda118",
        "sm_90/barriers.cuda124",
        "sm_90/barriers.debug.cuda124",
        "sm_90/barriers.cuda130",
        "sm_90/bulk.cuda124",
        "sm_90/bulk.cuda130",
        "sm_90/remote.cuda129",
        "sm_90/remote.cuda130",
        "sm_90/remote.debug.cuda129",
        "sm_90/wgmma.cuda124",
        "sm_90/wgmma_groups.cuda124",
        "sm_90/wgmma_groups.cuda130",
        "sm_90/wgmma_groups.debug.cuda124",
        "sm_90/cluster.cuda124",
        "sm_90/cluster.cuda130",
        "sm_90/cluster.debug.cuda124",
        "sm_90/small.cuda124",
        "sm_90/small.cuda130",
        "sm_90/registers.cuda124",
        "sm_90/registers.cuda130",
        "sm_90/vectors.cuda130",
        "sm_90/tensor.cuda124",
        "sm_90/tensor.cuda130",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lower/tests/data");
    NAMES.into_iter().map(move |n| folder.join(format!("{n}.sm_{sm}.cubin"))).filter(|f| f.exists())
}

/// The golden text by function: lines of instructions.
fn golden(file: &Path) -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(file.with_extension("sass")).expect("the disassembly is beside the cubin");
    let mut functions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        match line.strip_prefix(".function ") {
            Some(function) => name = function.to_owned(),
            None => functions.entry(name.clone()).or_default().push(line.to_owned()),
        }
    }
    functions
}

/// Compares all cubins of an architecture; reports at most a screen of differences.
fn check(sm: u8, at_least: usize) {
    let (mut compared, mut wrong, mut report) = (0, 0, String::new());
    // No bundled workload is compiled for sm_89.
    let bundled = if sm == 89 { Vec::new() } else { cubins(sm) };
    for file in bundled.into_iter().chain(forms(sm)) {
        let data = std::fs::read(&file).expect("a readable file");
        let cubin = Cubin::parse(&data).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(cubin.sm, sm, "{}", file.display());
        let golden = golden(&file);
        let names: BTreeSet<&str> = cubin.functions.iter().map(|function| function.name).collect();
        assert_eq!(names, golden.keys().map(String::as_str).collect(), "{}", file.display());
        for function in &cubin.functions {
            let expected = &golden[function.name];
            assert_eq!(function.code.len() / 16, expected.len(), "{} {}", file.display(), function.name);
            for (inst, expected) in decode_function(function.code, sm).zip(expected) {
                compared += 1;
                let decoded = inst.is_ok();
                // Traces have the text instead of the word: both say the same to the timing model.
                if let (Ok(inst), true) = (&inst, expected != "-") {
                    let opcode = expected.split(' ').find(|word| !word.starts_with('@')).expect("an opcode");
                    assert_eq!(of_instruction(inst), meaning(opcode, Generation::of(sm.into())), "{expected}");
                }
                let ours = inst.map_or_else(|error| error.to_string(), |inst| inst.to_string());
                // Words that the disassembler omits must decode.
                if if expected == "-" { !decoded } else { ours != *expected } {
                    wrong += 1;
                    if wrong <= 20 {
                        writeln!(report, "{}\n  nvdisasm {expected}\n  ours     {ours}", function.name).unwrap();
                    }
                }
            }
        }
    }
    assert_eq!(wrong, 0, "{wrong} of {compared} differ:\n{report}");
    assert!(compared >= at_least, "only {compared} instructions");
}

#[test]
fn volta() {
    check(70, 5000);
}

#[test]
fn turing() {
    check(75, 5000);
}

#[test]
fn ampere() {
    check(80, 5000);
    check(86, 5000);
}

#[test]
fn ada() {
    check(89, 100);
}

#[test]
fn hopper() {
    check(90, 5000);
}

/// Facts in the code agree with those in the file: exits, targets inside the code, barriers in range.
#[test]
fn kernels_are_consistent() {
    for sm in [70, 75, 80, 86, 90] {
        for file in cubins(sm) {
            let data = std::fs::read(&file).expect("a readable file");
            let cubin = Cubin::parse(&data).expect("a cubin");
            for kernel in cubin.kernels() {
                let context = format!("{} {}", file.display(), kernel.name);
                let code: Vec<_> = decode_function(kernel.code, sm).map(|inst| inst.expect("it decodes")).collect();
                let exits: Vec<u32> = code
                    .iter()
                    .filter(|inst| inst.row.op == sass::decode::SassOp::Exit)
                    .map(|inst| inst.address as u32)
                    .collect();
                assert_eq!(exits, kernel.exits, "{context}");
                for inst in &code {
                    for operand in inst.operands() {
                        if let sass::decode::SassOperand::Target(target) = operand {
                            assert!((0..kernel.code.len() as i64).contains(&target), "{context}: {inst}");
                        }
                        if let sass::decode::SassOperand::Register(register) = operand {
                            let limit = if register.uniform { 63 } else { kernel.registers as u8 };
                            assert!(register.is_zero() || register.index < limit, "{context}: {inst}");
                        }
                    }
                }
                assert!(kernel.parameters.iter().all(|p| p.offset + p.bytes <= kernel.parameter_bytes), "{context}");
            }
        }
    }
}

/// The record names every file by its hash: stale cubins, sources or disassemblies are caught.
#[test]
fn hashes_match_the_record() {
    use sha2::{Digest, Sha256};
    let record = std::fs::read_to_string(folder().join("cubins.toml")).expect("the record is there");
    let check = |file: &Path| {
        let data = std::fs::read(file).expect("a readable file");
        let hash: String = Sha256::digest(&data).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(record.contains(&hash), "{} has changed: run tools/rebuild-kernels", file.display());
    };
    for sm in [70, 75, 80, 86, 90] {
        for cubin in cubins(sm) {
            check(&cubin);
            check(&cubin.with_extension("sass"));
            let name = cubin.file_stem().expect("a name");
            check(&folder().join("..").join(name).with_extension("cu"));
        }
    }
}

/// Words in which every bit matters: each has the text of NVIDIA's disassembler, or is refused.
#[test]
fn no_bit_is_ignored() {
    let (mut count, mut wrong) = (0, Vec::new());
    for line in include_str!("data/words.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.splitn(3, ' ');
        let mut next = || parts.next().expect("three parts");
        let (sm, word, expected) = (next().parse().expect("an architecture"), next(), next());
        let word = u128::from_str_radix(&word[2..], 16).expect("a word");
        let inst = sass::decode::decode(word, 0, sm);
        if let Ok(inst) = &inst {
            let opcode = expected.split(' ').find(|word| !word.starts_with('@')).expect("an opcode");
            assert_eq!(of_instruction(inst), meaning(opcode, Generation::of(sm.into())), "{expected}");
        }
        let ours = inst.map_or("refused".to_owned(), |inst| inst.to_string());
        count += 1;
        if ours != if expected.starts_with("refused") { "refused" } else { expected } {
            wrong.push(format!("sm_{sm} {word:#034x}\n  nvdisasm {expected}\n  ours     {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 600, "only {count} words");
}

#[test]
fn an_opcode_of_another_architecture_is_named() {
    let error = sass::decode::decode(0x000fe200002014000000000200007245, 0, 75).unwrap_err().to_string();
    assert!(error.contains("opcode 0x245 is not known on sm_75, on sm_86 to sm_90 it is a form of I2FP"), "{error}");
}

/// Instructions that are not decoded but known have their names in messages.
#[test]
fn instructions_that_are_not_supported_are_named() {
    let names = sass::decode::names::ROWS;
    for &(code, first, last, name, what) in names {
        for sm in [first, last] {
            let error = sass::decode::decode(u128::from(code) | 7 << 12, 0, sm).expect_err(name).to_string();
            assert!(
                error.starts_with(&format!("{name} ({what}, opcode {code:#05x}) is not supported on sm_{sm}")),
                "{error}"
            );
        }
    }
    let mut count = 0;
    for line in include_str!("data/words.txt").lines() {
        let Some((word, text)) = line.split_once(" refused: ") else { continue };
        let (sm, word) = word.split_once(" 0x").expect("an architecture and a word");
        let word = u128::from_str_radix(word, 16).expect("a word");
        let error = sass::decode::decode(word, 0, sm.parse().expect("a number")).expect_err(text).to_string();
        let name = text.split([' ', '.']).find(|word| !word.starts_with(['@', 'P', '!'])).expect("an opcode");
        assert!(error.contains(name) && !error.contains("reserved value"), "{text}: {error}");
        count += 1;
    }
    assert!(count > 700, "only {count} words");
    let error = sass::decode::decode(0x000ea800081efdc4_00002008020a79a3, 0, 90).unwrap_err().to_string();
    assert!(error.contains("f32 without flush to zero"), "{error}");
}
