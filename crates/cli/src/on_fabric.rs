//! Which bundled kernels can be mapped onto the fabric of `sgmf`: a table that a test compares with the compiler, which
//! takes seconds for all of them. `BLESS=1 cargo test -p warpwright on_fabric` renews it.

use serde::Serialize;

/// Workload, kernel, outcome and reasons, between tabs.
const TABLE: &str = include_str!("on_fabric.tsv");

/// A kernel of a bundled workload on the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OnFabric {
    /// Name of the workload.
    #[serde(skip)]
    pub workload: &'static str,
    pub kernel: &'static str,
    /// `whole`, `in 2 parts`, `refused`.
    pub outcome: &'static str,
    /// Why it is in parts or refused, if that is asked for.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reasons: &'static str,
}

/// The rows of the table.
pub fn rows() -> impl Iterator<Item = OnFabric> {
    TABLE.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        Some(OnFabric {
            workload: cells.next()?,
            kernel: cells.next()?,
            outcome: cells.next()?,
            reasons: cells.next()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspection::fabric::{FabricInspection, FabricKernel};
    use crate::render::inspection::fabric::outcome;
    use std::collections::BTreeSet;
    use std::fmt::Write;
    use std::path::Path;

    /// Why a mapped kernel is in parts, or another one is refused.
    fn reasons(kernel: &FabricKernel) -> String {
        let Some(mapped) = &kernel.mapped else {
            let mut all: Vec<&str> = kernel.reasons.iter().map(|reason| &*reason.message).collect();
            all.sort_unstable();
            all.dedup();
            return all.join("; ");
        };
        let regions = mapped.parts.iter().map(|part| part.region).max().map_or(0, |last| last + 1);
        let bounds = (regions > 1).then(|| format!("{regions} regions by loops and barriers"));
        let cuts = mapped.cuts.iter().map(|cut| {
            let reasons = cut.reasons.join(", ");
            format!("region {} in {} parts, {} B a thread: {reasons}", cut.region, cut.parts, cut.bytes)
        });
        bounds.into_iter().chain(cuts).collect::<Vec<_>>().join("; ")
    }

    /// The table, and the sentence with its counts.
    fn table() -> (String, String) {
        let gpu = config::load("gtx480").unwrap();
        let (mut rows, [mut whole, mut uncut, mut cut, mut refused]) = (String::new(), [0; 4]);
        // Workloads may share kernels.
        let mut counted = BTreeSet::new();
        for workload in workloads::suite::ALL {
            let ptx = workload.module.ptx().as_bytes();
            let mut module = FabricInspection::new(workload.name, ptx, "sgmf", &gpu).unwrap();
            module.map();
            let is_counted = usize::from(counted.insert(workload.module.name));
            for kernel in &module.kernels {
                *match &kernel.mapped {
                    None => &mut refused,
                    Some(mapped) if mapped.parts.len() == 1 => &mut whole,
                    Some(mapped) if mapped.cuts.is_empty() => &mut uncut,
                    Some(_) => &mut cut,
                } += is_counted;
                let outcome = outcome(kernel.mapped.as_ref().map(|mapped| mapped.parts.len()));
                let (name, reasons) = (&kernel.name, reasons(kernel));
                writeln!(rows, "{}\t{name}\t{outcome}\t{reasons}", workload.name).unwrap();
            }
        }
        let all = whole + uncut + cut + refused;
        let sentence = format!(
            "Of the {all} kernels, {whole} are one graph, {uncut} are in parts only because loops and barriers end a \
             graph, {cut} also because a region needs more units or links than the fabric has, and {refused} are refused."
        );
        (rows, sentence)
    }

    #[test]
    fn the_table_is_what_the_compiler_makes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = root.join("../../docs/designs/sgmf.md");
        let (table, sentence) = table();
        let design = std::fs::read_to_string(&page).unwrap();
        let (head, rest) = design.split_once("Of the ").expect("the page of the design has the counts");
        let (_, tail) = rest.split_once(" refused.").expect("the counts end with those that are refused");
        let renewed = format!("{head}{sentence}{tail}");
        if table != TABLE || renewed != design {
            std::fs::write(root.join("src/on_fabric.tsv"), &table).unwrap();
            std::fs::write(page, &renewed).unwrap();
            assert!(std::env::var_os("BLESS").is_some(), "on_fabric.tsv or docs/designs/sgmf.md was out of date");
        }
    }

    #[test]
    fn every_workload_has_rows() {
        for workload in workloads::suite::ALL {
            let of = || rows().filter(|row| row.workload == workload.name);
            assert!(of().count() > 0, "{}", workload.name);
            for row in of() {
                assert!(workload.module.ptx().contains(&format!(".entry {}(", row.kernel)), "{row:?}");
                assert!(row.outcome == "whole" || !row.reasons.is_empty(), "{row:?}");
            }
        }
    }
}
