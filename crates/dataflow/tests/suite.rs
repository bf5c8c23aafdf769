//! The bundled workloads, their kernels run as graphs.

use crate::device::Graphs;
use dataflow::graph::{Dataflow, NodeOp};
use std::fmt::Write;
use workloads::Form;
use workloads::conformance::check_one;
use workloads::suite::ALL;

/// Nodes of a kernel by region: compute, control, memory.
fn sizes(graphs: &Dataflow) -> String {
    let of = |region: &dataflow::graph::Region| {
        let count = |wanted: fn(&NodeOp) -> bool| region.nodes.iter().filter(|n| wanted(&n.op)).count();
        let compute = count(|op| matches!(op, NodeOp::Apply(_) | NodeOp::Select));
        let control = count(|op| matches!(op, NodeOp::Label(_) | NodeOp::Join | NodeOp::Next(_)));
        let memory = count(|op| matches!(op, NodeOp::Access(_)));
        format!("{compute}/{control}/{memory}")
    };
    graphs.regions.iter().map(of).collect::<Vec<_>>().join(" ")
}

#[test]
fn workloads_are_right_as_graphs() {
    let (mut problems, mut table) = (String::new(), String::new());
    for workload in ALL {
        let mut device = Graphs::new();
        problems += &check_one(workload, &mut device, Form::Ptx, &[], 1);
        for (name, outcome) in &device.kernels {
            match outcome {
                Ok(graphs) => _ = writeln!(table, "{name}: {}", sizes(graphs)),
                Err(refusals) => {
                    let mut reasons: Vec<&str> = refusals.iter().map(|r| &*r.what).collect();
                    reasons.sort_unstable();
                    reasons.dedup();
                    _ = writeln!(table, "{name}: refused: {}", reasons.join("; "));
                }
            }
        }
    }
    println!("{table}");
    assert!(problems.is_empty(), "{problems}");
    insta::assert_snapshot!(table);
}
