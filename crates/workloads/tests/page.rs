//! `docs/workloads.md` lists the bundled workloads by suite and paper. Renew it with `BLESS=1`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use workloads::{Suite, Workload, suite};

const HEAD: &str = "# Bundled workloads

All have CUDA source, PTX, machine code, inputs from a seed and a host reference. Code and inputs are our own, in the \
manner of the suite's programs: [differences](../crates/workloads/kernels/README.md). `warpwright list workloads` \
describes each, `list workloads NAME` has its parameters with their values at each size. A test writes this page \
(`BLESS=1 cargo test -p warpwright-workloads page`).
";

/// The papers by the names of their machines, with the pages of their designs.
const PAPERS: &[(&str, &str)] = &[
    ("ghost", "[GhOST](designs/ghost.md)"),
    ("scalar", "[scalar-vector](designs/scalar-vector.md)"),
    ("sgmf", "[SGMF](designs/sgmf.md)"),
    ("socgpu", "[SOCGPU](designs/socgpu.md)"),
    ("war", "[write-after-read hazards](designs/war-boards.md)"),
];

/// Programs of our own last.
const SUITES: &[(Suite, &str)] = &[
    (Suite::Rodinia, "Rodinia"),
    (Suite::Ispass, "ISPASS 2009 (Bakhoda et al.)"),
    (Suite::CudaSdk, "NVIDIA's CUDA SDK"),
    (Suite::Pagoda, "Pagoda"),
    (Suite::Pannotia, "Pannotia"),
    (Suite::Tango, "Tango"),
    (Suite::DeepBench, "DeepBench"),
    (Suite::Own, "Of our own"),
];

fn page() -> String {
    let mut out = HEAD.to_owned();
    let mut listed = 0;
    out += "\n## By suite\n\n| suite | workloads |\n| --- | --- |\n";
    for (suite, title) in SUITES {
        let of_suite = suite::ALL.iter().filter(|workload| workload.suite == *suite);
        let names: Vec<String> = of_suite.map(|workload| format!("`{}`", workload.name)).collect();
        listed += names.len();
        let _ = writeln!(out, "| {title} | {} |", names.join(", "));
    }
    assert_eq!(listed, suite::ALL.len(), "a suite has no heading here");
    out += "\n## By paper\n\nIn brackets the name in the paper where it is another one.\n\n| paper | workloads |\n| --- | --- |\n";
    let mut papers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Workload { name, papers: of, .. } in suite::ALL {
        for (paper, there) in *of {
            let is_same = name.eq_ignore_ascii_case(there);
            let shown = if is_same { format!("`{name}`") } else { format!("`{name}` ({there})") };
            papers.entry(paper).or_default().push(shown);
        }
    }
    for (paper, programs) in papers {
        let title = PAPERS.iter().find(|(name, _)| *name == paper).unwrap_or_else(|| panic!("{paper} has no page")).1;
        let _ = writeln!(out, "| {title} | {} |", programs.join(", "));
    }
    out
}

#[test]
fn page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workloads.md");
    let (new, old) = (page(), std::fs::read_to_string(path).unwrap_or_default());
    if new != old {
        assert!(std::env::var_os("BLESS").is_some(), "docs/workloads.md is out of date: run with BLESS=1");
        std::fs::write(path, new).unwrap();
    }
}
