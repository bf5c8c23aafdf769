//! Kernels with damaged text: the compiler, partition, placement and routes end with graphs that hold together or
//! with reasons, whatever is left of a kernel. `PROPTEST_CASES=20000` makes a long run of it.

use crate::support::checks::{check_placement, check_routes};
use dataflow::dataflow;
use dataflow::fabric::{Fabric, FabricSpec};
use dataflow::graph::{Dataflow, NodeOp};
use dataflow::map::{Options, map};
use lower::LowerOptions;
use proptest::prelude::*;

/// The text of the bundled kernels.
fn corpus() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/kernels");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "ptx"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// `text` with lines left out, repeated, moved, and words of others in them.
fn damaged(text: &str, genes: &[(u8, u32, u32)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for &(what, a, b) in genes {
        let count = lines.len();
        if count < 2 {
            break;
        }
        let (a, b) = (a as usize % count, b as usize % count);
        match what % 6 {
            0 => _ = lines.remove(a),
            1 => lines.insert(b, lines[a].clone()),
            2 => lines.swap(a, b),
            // The word of another line at the same place.
            3 | 4 => {
                let other: Vec<&str> = lines[b].split_whitespace().collect();
                let mut words: Vec<&str> = lines[a].split_whitespace().collect();
                let at = usize::from(what / 6) % words.len().max(1);
                if let (Some(word), Some(place)) = (other.get(at), words.get_mut(at)) {
                    *place = word;
                }
                lines[a] = words.join(" ");
            }
            _ => {
                let guard = ["@%p1 ", "@!%p2 "][usize::from(what / 6) % 2];
                if lines[a].trim_start().starts_with(|c: char| c.is_ascii_lowercase()) {
                    lines[a] = format!("{guard}{}", lines[a].trim_start());
                }
            }
        }
    }
    lines.join("\n")
}

/// Every token comes from an earlier node, and every node but those of the injector fires.
fn check_graphs(graphs: &Dataflow) -> Result<(), TestCaseError> {
    for region in &graphs.regions {
        for (i, node) in region.nodes.iter().enumerate() {
            prop_assert!(node.tokens().all(|(_, from)| from.index() < i));
            prop_assert!(matches!(node.op, NodeOp::Inject(_)) || node.tokens().count() > 0, "{node:?} never fires");
        }
        let regions = graphs.regions.len();
        prop_assert!(region.successors.iter().chain(&region.always).all(|to| (to.0 as usize) < regions));
    }
    Ok(())
}

fn cases(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(cases), ..ProptestConfig::default() }
}

/// Largest region that is placed and routed: its time is what a case takes.
const MOST_NODES: usize = 60;

proptest! {
    #![proptest_config(cases(150))]
    #[test]
    fn damaged_kernels_are_mapped_or_refused(
        which: prop::sample::Index,
        genes in prop::collection::vec(any::<(u8, u32, u32)>(), 0..6),
        (columns, rows, seed) in (3_u32..=12, 3_u32..=6, any::<u64>()),
    ) {
        let corpus = corpus();
        let text = damaged(&corpus[which.index(corpus.len())], &genes);
        let Ok(loaded) = lower::load("damaged.ptx", &text, LowerOptions::default()) else { return Ok(()) };
        let spec = FabricSpec { columns, rows, int_dividers: 1, fp_dividers: 1, roots: 1, ..FabricSpec::DEFAULT };
        let fabric = Fabric::new(spec);
        for kernel in &loaded.module.kernels {
            let graphs = match dataflow(kernel) {
                Ok(graphs) => graphs,
                Err(refusals) => {
                    prop_assert!(!refusals.is_empty() && refusals.iter().all(|r| !r.what.is_empty()));
                    continue;
                }
            };
            check_graphs(&graphs)?;
            let Ok(fabric) = &fabric else { continue };
            if graphs.regions.iter().map(|region| region.nodes.len()).sum::<usize>() > MOST_NODES {
                continue;
            }
            match map(&graphs, fabric, &Options { seed, ..Options::default() }) {
                Ok(compiled) => {
                    check_graphs(&compiled.mapped.dataflow)?;
                    for mapping in &compiled.mapped.mappings {
                        check_placement(&mapping.region, fabric, &mapping.units)?;
                        check_routes(&mapping.region, fabric, &mapping.units, &mapping.routes)?;
                    }
                }
                Err(failure) => prop_assert!(!failure.to_string().is_empty()),
            }
        }
    }
}
