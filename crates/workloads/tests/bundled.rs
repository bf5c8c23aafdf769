//! The committed PTX is what the committed sources compile to, as far as can be told without the
//! compiler.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;
use workloads::bundled::{Bundled, KernelRecord, Record, record};
use workloads::suite::ALL;

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn each_kernel_is_found_without_reading_the_whole_record() {
    for (name, module) in &record().modules {
        let name: &'static str = name;
        let bundled = Bundled::packed(name, &[], &[]);
        for (kernel, record) in &module.kernels {
            let found = bundled.kernel(kernel).unwrap_or_else(|| panic!("{name} has {kernel}"));
            let all = |r: &KernelRecord| (r.registers.clone(), r.stack_bytes.clone(), r.shared_bytes);
            assert_eq!(all(found), all(record));
        }
    }
}

#[test]
fn hashes_match_the_record() {
    for workload in ALL {
        let module = &workload.module;
        let recorded = &record().modules.get(module.name).unwrap_or_else(|| panic!("{} is not recorded", module.name));
        let advice = "run tools/rebuild-kernels";
        assert_eq!(recorded.source_sha256, sha256(module.cuda()), "{}.cu has changed: {advice}", module.name);
        assert_eq!(recorded.ptx_sha256, sha256(module.ptx()), "{}.ptx has changed: {advice}", module.name);
    }
}

#[test]
fn hashes_of_the_examples_match() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let record: Record = toml::from_str(&read("kernels.toml")).unwrap();
    for (name, module) in &record.modules {
        assert_eq!(module.source_sha256, sha256(&read(&format!("{name}.cu"))), "{name}: run tools/rebuild-kernels");
        assert_eq!(module.ptx_sha256, sha256(&read(&format!("{name}.ptx"))), "{name}: run tools/rebuild-kernels");
    }
}

#[test]
fn headers_name_the_recorded_compiler_and_level() {
    for workload in ALL {
        let (name, ptx) = (workload.module.name, workload.module.ptx());
        let other = record().modules[name].compiler.as_deref();
        let version = other.map_or_else(|| record().compiler.strip_prefix("nvcc "), |name| name.strip_prefix("nvrtc "));
        let version = version.expect("the compiler");
        assert!(ptx.contains(&format!(", V{version}\n")), "{name}.ptx is from another compiler than {version}");
        let level = &record().modules[name].level;
        assert!(ptx.contains(&format!(".target {level}\n")), "{name}.ptx is not for {level}");
    }
}

#[test]
fn every_kernel_is_recorded() {
    for workload in ALL {
        let declared: BTreeSet<&str> = workload
            .module
            .ptx()
            .lines()
            .filter_map(|line| line.strip_prefix(".visible .entry ")?.strip_suffix('('))
            .collect();
        let recorded: BTreeSet<&str> =
            record().modules[workload.module.name].kernels.keys().map(String::as_str).collect();
        assert!(!declared.is_empty());
        assert_eq!(declared, recorded, "{}", workload.name);
    }
}

#[test]
fn no_absolute_path_is_committed() {
    for workload in ALL {
        for line in workload.module.ptx().lines().filter(|line| line.trim_start().starts_with(".file")) {
            assert!(!line.contains('/'), "{}: {line}", workload.name);
        }
    }
}

#[test]
fn every_kernel_file_is_in_the_suite() {
    let listed: BTreeSet<&str> = ALL.iter().map(|w| w.module.name).collect();
    let recorded: BTreeSet<&str> = record().modules.keys().map(String::as_str).collect();
    assert_eq!(listed, recorded);
    assert_eq!(ALL.len(), ALL.iter().map(|w| w.name).collect::<BTreeSet<_>>().len(), "names are unique");
}
