//! The bundled workloads, their kernels run as graphs.

use crate::device::Graphs;
use crate::support::checks::{check_placement, check_routes};
use dataflow::balance::{Budget, balance};
use dataflow::fabric::{Fabric, UnitKind};
use dataflow::graph::{Dataflow, Node, NodeOp, RegionId};
use dataflow::map::{Options, map};
use dataflow::partition::partition;
use dataflow::resources::needs;
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
    let (mut problems, mut table, mut mapped) = (String::new(), String::new(), String::new());
    let fabric = Fabric::default();
    for workload in ALL {
        let mut device = Graphs::new();
        problems += &check_one(workload, &mut device, Form::Ptx, &[], 1);
        for (name, outcome) in &device.kernels {
            match outcome {
                Ok(graphs) => {
                    _ = writeln!(table, "{name}: {}", sizes(graphs));
                    _ = writeln!(mapped, "{name}:{}", on_fabric(graphs, &fabric));
                }
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
    insta::assert_snapshot!("workloads_on_the_papers_fabric", mapped);
}

/// Units that the regions take on a fabric: compute, control (with delays), memory, special, and what cuts cost.
fn on_fabric(graphs: &Dataflow, fabric: &Fabric) -> String {
    let compiled = match map(graphs, fabric, &Options::default()) {
        Ok(compiled) => compiled,
        Err(failure) => return format!(" {failure}"),
    };
    for mapping in &compiled.mapped.mappings {
        check_placement(&mapping.region, fabric, &mapping.units).unwrap();
        check_routes(&mapping.region, fabric, &mapping.units, &mapping.routes).unwrap();
    }
    let mut out = String::new();
    for report in &compiled.regions {
        let [compute, control, memory, special @ ..] = report.used;
        _ = write!(out, " {compute}/{control}({})/{memory}/{}", report.delays, special.iter().sum::<usize>());
    }
    for cut in &compiled.cuts {
        let reasons: Vec<String> = cut.reason.iter().map(ToString::to_string).collect();
        let (parts, bytes) = (cut.parts.len(), cut.bytes(&compiled.mapped.dataflow));
        _ = write!(out, "\n  region {} in {parts} parts, {bytes} bytes: {}", cut.region.0, reasons.join("; "));
    }
    out
}

/// Regions cut to parts of about half of the units that they need, with delays as many as balance asks for.
fn cut_and_balanced(graphs: Dataflow) -> Dataflow {
    let half = |id: RegionId| {
        let mut counts = needs(&graphs.regions[id.0 as usize].nodes).map(|n| n.div_ceil(2));
        // Room for what a cut adds.
        counts[UnitKind::LoadStore as usize] = counts[UnitKind::LoadStore as usize].max(8);
        counts[UnitKind::Control as usize] = counts[UnitKind::Control as usize].max(3);
        counts
    };
    let Ok(mut parts) = partition(&graphs, half) else { return graphs };
    for region in &mut parts.dataflow.regions {
        *region = balance(region, &Budget { units: 1000, fifo: 4, absorbed: 0 }, |_| 1).region;
    }
    parts.dataflow
}

#[test]
fn cut_and_balanced_workloads_are_right() {
    let (mut problems, mut nodes) = (String::new(), 0);
    for workload in ALL {
        let mut device = Graphs::new();
        device.change = cut_and_balanced;
        problems += &check_one(workload, &mut device, Form::Ptx, &[], 1);
        let regions = device.kernels.values().flatten().flat_map(|k| &k.regions);
        let of_cuts = |n: &&Node| matches!(n.op, NodeOp::Delay(_)) || n.inputs.is_empty();
        nodes += regions.flat_map(|r| &r.nodes).filter(of_cuts).count();
    }
    assert!(problems.is_empty(), "{problems}");
    assert!(nodes > 1000, "{nodes} nodes that cuts and delays add");
}
