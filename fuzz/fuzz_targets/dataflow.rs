//! Any bytes as PTX, its kernels as graphs, and those on a fabric of few units: graphs that hold together, or reasons.
#![no_main]

use dataflow::fabric::{Fabric, FabricSpec};
use dataflow::graph::NodeOp;
use dataflow::map::{Options, map};

/// Nodes of a kernel that is placed and routed, which takes the most time.
const MOST_NODES: usize = 60;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(loaded) = lower::load("fuzz.ptx", bytes, lower::LowerOptions::default()) else { return };
    let spec = FabricSpec { columns: 8, rows: 5, int_dividers: 1, fp_dividers: 1, roots: 1, ..FabricSpec::DEFAULT };
    let fabric = Fabric::new(spec).expect("there is room");
    for kernel in &loaded.module.kernels {
        let graphs = match dataflow::dataflow(kernel) {
            Ok(graphs) => graphs,
            Err(refusals) => {
                assert!(!refusals.is_empty() && refusals.iter().all(|r| !r.to_string().is_empty()));
                continue;
            }
        };
        for region in &graphs.regions {
            for (i, node) in region.nodes.iter().enumerate() {
                assert!(node.tokens().all(|(_, from)| from.index() < i), "a token comes from a later node");
                assert!(matches!(node.op, NodeOp::Inject(_)) || node.tokens().count() > 0, "{node:?} never fires");
            }
        }
        if graphs.regions.iter().map(|region| region.nodes.len()).sum::<usize>() <= MOST_NODES
            && let Err(failure) = map(&graphs, &fabric, &Options::default())
        {
            assert!(!failure.to_string().is_empty());
        }
    }
});
