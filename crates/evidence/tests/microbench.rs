//! The microbenchmarks' code: the cubins are of the PTX that is generated now, and hold what they are to
//! measure; every quantity can be measured in both forms.

use evidence::figures;
use evidence::microbench::{binaries, measure, quantities, source};
use lab::Setup;
use sass::decode::decode_function;
use sass::elf::Cubin;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use workloads::Form;

fn sha256(data: &[u8]) -> String {
    Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_cubins_are_those_of_the_ptx() {
    let recorded: toml::Table =
        toml::from_str(include_str!("../microbenchmarks/microbenchmarks.toml")).expect("the record is TOML");
    for kernel in source::kernels() {
        let record =
            recorded.get(&kernel.name).unwrap_or_else(|| panic!("{}: run tools/rebuild-microbenchmarks", kernel.name));
        let hash = |key: &str| record.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let stale = "the PTX has changed: run tools/rebuild-microbenchmarks";
        assert_eq!(hash("ptx_sha256"), Some(sha256(kernel.ptx.as_bytes())), "{}: {stale}", kernel.name);
        for sm in binaries::architectures() {
            let cubin = binaries::cubins(sm).unwrap().get(&kernel.name).map(|cubin| sha256(cubin));
            assert_eq!(hash(&format!("sm_{sm}")), cubin, "{} of sm_{sm}", kernel.name);
            assert_eq!(cubin.is_some(), kernel.lowest_sm <= sm, "{} of sm_{sm}", kernel.name);
        }
    }
}

/// How often each opcode is in a function.
fn opcodes(cubin: &Cubin<'_>, function: &str) -> BTreeMap<String, usize> {
    let function = cubin.functions.iter().find(|f| f.name == function).expect("the entry is there");
    let mut counts = BTreeMap::new();
    for inst in decode_function(function.code, cubin.sm) {
        let text = inst.expect("an instruction that decodes").to_string();
        let text =
            text.split_once("@").map_or(text.as_str(), |(_, guarded)| guarded.split_once(' ').map_or("", |g| g.1));
        let name = text.split(['.', ' ', ';']).next().unwrap_or_default();
        *counts.entry(name.to_owned()).or_insert(0) += 1;
    }
    counts
}

/// Each line is there as often as it was written: the assembler has neither merged nor removed any.
#[test]
fn the_cubins_hold_the_instructions_that_they_measure() {
    let mut checked = 0;
    for kernel in source::kernels() {
        let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
        for opcode in &kernel.opcodes {
            *expected.entry(opcode).or_insert(0) += 1;
        }
        for sm in binaries::architectures().filter(|sm| kernel.lowest_sm <= *sm) {
            let data = &binaries::cubins(sm).unwrap()[&kernel.name];
            let cubin = Cubin::parse(data).expect("a cubin");
            let of = |function: &str, wanted: &str| {
                let counts = opcodes(&cubin, function);
                wanted.split('|').filter_map(|name| counts.get(name)).sum::<usize>()
            };
            for (wanted, count) in &expected {
                let (found, lines) = match kernel.lines {
                    Some((short, long)) => (of("long", wanted) - of("short", wanted), long - short),
                    None => (of("bench", wanted), 1),
                };
                // A wmma operation is several machine instructions, as many as the architecture takes.
                let whole = if kernel.name.starts_with("wmma") { found / lines * lines } else { count * lines };
                assert!(
                    found > 0 && found == whole,
                    "{} of sm_{sm}: {found} of {wanted}, expected {whole}",
                    kernel.name
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 400, "{checked}");
}

/// The stall counts of a link of a chain, added up. A load's count is within its latency.
fn stalls(sm: u32, kernel: &str) -> f64 {
    let cubin = Cubin::parse(&binaries::cubins(sm).unwrap()[kernel]).expect("a cubin");
    let of = |function: &str| {
        let function = cubin.functions.iter().find(|f| f.name == function).expect("the entry is there");
        let insts = decode_function(function.code, cubin.sm).map(Result::unwrap);
        let counted = insts.filter(|inst| !inst.to_string().contains("LDS"));
        counted.map(|inst| f64::from(inst.control_bits().stall_cycles)).sum::<f64>()
    };
    let (short, long) = source::kernels().iter().find(|k| k.name == kernel).and_then(|k| k.lines).unwrap();
    (of("long") - of("short")) / (long - short) as f64
}

/// The figures that are read off machine code are its stall counts, and the core takes exactly these.
#[test]
fn chains_take_their_stall_counts() {
    let chains = [
        ("guard_latency", "guard_latency"),
        ("cross_pipes_latency", "cross_pipes_latency"),
        ("shared_address_latency", "shared_address_chase"),
    ];
    for name in config::hardware().filter(|name| *name != "gtx480") {
        let setup = Setup { code: Form::Sass, ..Setup::new(config::load(name).unwrap()) };
        let sm = setup.gpu.sm_version;
        let found = measure(&setup, |q| chains.iter().any(|(name, _)| *name == q.name), 1).unwrap();
        for (quantity, kernel) in chains {
            let figure = figures::of(name).find(|f| f.quantity == quantity).unwrap();
            let expected = stalls(sm, kernel);
            assert!(figure.from_machine_code, "{name} {quantity}");
            assert_eq!((figure.low, figure.high), (expected, expected), "{name} {quantity}: the stall counts");
            let value = found.iter().find(|m| m.quantity.name == quantity).unwrap().value;
            assert!((value - expected).abs() < 0.02, "{name} {quantity}: {value}, stall counts {expected}");
        }
    }
}

#[test]
fn quantities_have_names_of_their_own_and_are_measured() {
    let names: std::collections::BTreeSet<_> = quantities().iter().map(|q| &q.name).collect();
    assert_eq!(names.len(), quantities().len());
    // The cheap ones: a warp or an SM. The whole table is the document's.
    let cheap =
        |name: &str| !name.starts_with("dram") && !name.starts_with("l2_b") && name != "atomic_one_address_rate";
    for (gpu, code) in [("gtx480", Form::Ptx), ("a40", Form::Ptx), ("a40", Form::Sass)] {
        let setup = Setup { code, ..Setup::new(config::load(gpu).unwrap()) };
        let found =
            measure(&setup, |q| cheap(&q.name) && q.name.len() % 2 == 0, 2).unwrap_or_else(|e| panic!("{gpu}: {e}"));
        assert!(found.len() > 30, "{gpu}: {}", found.len());
        assert!(found.iter().all(|m| m.value.is_finite() && m.value > 0.0), "{gpu}: {found:?}");
    }
}

/// Measurements in machine code equal the description where a closed form exists.
#[test]
fn machine_code_takes_the_time_of_its_row() {
    let gpu = config::load("a40").unwrap();
    let (ffma, fadd) = (&gpu.sm.sass_timing["fp_fma"], &gpu.sm.sass_timing["fp_add"]);
    let difference = f64::from(ffma.latency_cycles) - f64::from(fadd.latency_cycles);
    let setup = Setup { code: Form::Sass, ..Setup::new(gpu) };
    let found = measure(&setup, |q| ["fp32_fma_latency", "fp32_add_latency"].contains(&q.name.as_str()), 1).unwrap();
    let value = |name: &str| found.iter().find(|m| m.quantity.name == name).unwrap().value;
    assert_eq!(value("fp32_fma_latency") - value("fp32_add_latency"), difference);
}

/// The launches of a measurement run on different SMs, whose caches have different code where they keep it.
#[test]
fn figures_do_not_depend_on_the_number_of_sms() {
    for sms in [2, 5] {
        let mut gpu = config::load("rtx2060s").unwrap();
        gpu.sm_count = sms;
        assert_eq!(gpu.launch.keeps_code, Some(true));
        let setup = Setup { code: Form::Sass, ..Setup::new(gpu) };
        let found = measure(&setup, |q| q.name == "fp32_add_latency", 1).unwrap();
        assert_eq!(found[0].value, 4.0, "{sms}");
    }
}
