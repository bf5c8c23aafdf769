//! The bundled workloads, their kernels run as graphs.

use crate::device::Graphs;
use crate::support::checks::{check_placement, check_routes};
use dataflow::balance::{Budget, balance};
use dataflow::fabric::{Fabric, KINDS, UnitKind};
use dataflow::graph::{Dataflow, Node, NodeOp, RegionId};
use dataflow::map::{Options, map};
use dataflow::partition::partition;
use dataflow::resources::{Counts, needs};
use std::collections::BTreeMap;
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
    let mut stages = BTreeMap::new();
    let fabric = Fabric::default();
    for workload in ALL {
        let mut device = Graphs::device();
        problems += &check_one(workload, &mut device, Form::Ptx, &[], 1);
        stages.append(&mut device.stages);
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
    insta::assert_snapshot!("nodes_after_each_pass", of_passes(&stages));
    assert!(problems.is_empty(), "{problems}");
    insta::assert_snapshot!(table);
    insta::assert_snapshot!("workloads_on_the_papers_fabric", mapped);
}

/// Passes of the table, and what is left of those that are repeated.
const PASSES: [&str; 11] =
    ["ssa", "dead", "labels", "uniform", "common", "strength", "repeated", "addresses", "fuse", "places", "order"];

/// Compute, control, memory and special nodes of kernels after each pass (with the dead ones taken out).
fn of_passes(stages: &BTreeMap<String, Vec<(&'static str, Counts)>>) -> String {
    let cell = |[compute, control, memory, special @ ..]: Counts| {
        format!("{compute}/{control}/{memory}/{}", special.iter().sum::<usize>())
    };
    let mut sums = [[0; KINDS]; PASSES.len()];
    let mut lines = vec![["kernel"].into_iter().chain(PASSES).map(str::to_owned).collect::<Vec<_>>()];
    for (kernel, stages) in stages.iter().filter(|(_, stages)| !stages.is_empty()) {
        let at = |pass: &str| stages.iter().position(|(name, _)| *name == pass).expect("each pass runs");
        let mut line = vec![kernel.clone()];
        for (pass, sum) in PASSES.iter().zip(&mut sums) {
            let counts = match *pass {
                "repeated" => stages[at("addresses") - 1].1,
                // Nodes left over by a pass are dead.
                "addresses" | "fuse" | "order" => stages[at(pass) + 1].1,
                pass => stages[at(pass)].1,
            };
            sum.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
            line.push(cell(counts));
        }
        lines.push(line);
    }
    lines.push([String::from("all")].into_iter().chain(sums.map(cell)).collect());
    let widths: Vec<usize> =
        (0..=PASSES.len()).map(|i| lines.iter().map(|line| line[i].len()).max().unwrap_or(0)).collect();
    let mut table = String::new();
    for line in lines {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        _ = writeln!(table, "{}", cells.join("  ").trim_end());
    }
    table
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
        let mut device = Graphs::device();
        device.change = cut_and_balanced;
        problems += &check_one(workload, &mut device, Form::Ptx, &[], 1);
        let regions = device.kernels.values().flatten().flat_map(|k| &k.regions);
        let of_cuts = |n: &&Node| matches!(n.op, NodeOp::Delay(_)) || n.inputs.is_empty();
        nodes += regions.flat_map(|r| &r.nodes).filter(of_cuts).count();
    }
    assert!(problems.is_empty(), "{problems}");
    assert!(nodes > 1000, "{nodes} nodes that cuts and delays add");
}
