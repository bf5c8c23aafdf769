//! Graphs as text and as drawings.

use crate::support::random::{Builder, dataflow};
use dataflow::fabric::Fabric;
use dataflow::graph::{Input, NodeId, NodeOp, RegionId, UniformId};
use dataflow::map::{Options, map};
use dataflow::partition::partition;
use dataflow::{svg, text};
use exec::int::Int2;

const GENES: [u32; 14] = [
    0x0012_3456,
    0x8765_4324,
    0x0f0f_0f19,
    0x1234_0fb1,
    0x5432_1013,
    0x0bad_cafe,
    0x7777_1238,
    0x1111_2227,
    0x2468_acec,
    0x1357_9bde,
    0xfeed_0135,
    0x0420_4205,
    0x9999_877f,
    0x2222_3312,
];

#[test]
fn a_kernel_is_text_of_a_node_a_line() {
    insta::assert_snapshot!(text::dataflow(&dataflow(&GENES, true)));
}

#[test]
fn a_cut_kernel_shows_its_live_values() {
    let parts = partition(&dataflow(&GENES, true), |_| [4, 6, 6, 1, 1, 1]).unwrap();
    insta::assert_snapshot!(text::dataflow(&parts.dataflow));
}

#[test]
fn a_mapped_kernel_is_drawn() {
    let mut builder = Builder::new();
    let tid = Input::Token(NodeId(0));
    let product = builder.two(Int2::MulLo32, tid, Input::Uniform(UniformId(1)));
    let sum = builder.two(Int2::Add32, product, tid);
    builder.push(NodeOp::Next(RegionId(0)), vec![sum]);
    builder.region.successors = vec![RegionId(0)];
    let kernel = dataflow::graph::Dataflow { regions: vec![builder.region], ..Default::default() };
    let fabric = Fabric::default();
    let compiled = map(&kernel, &fabric, &Options::default()).unwrap();
    let mapping = &compiled.mapped.mappings[0];
    let source = |pc: isa::Pc| Some(format!("line <{}>", pc.0));
    for (name, drawing) in
        [("graph", svg::graph(&mapping.region, &source)), ("fabric", svg::fabric(mapping, &fabric, &source))]
    {
        for expected in ["line &lt;3&gt;", "Add32", "next 0", "tid.x", "integer divider"] {
            let is_there = drawing.contains(expected);
            assert!(is_there || name == "graph" && expected == "integer divider", "{name} lacks {expected}");
        }
        assert_eq!(drawing.matches("<g ").count(), drawing.matches("</g>").count());
        // Each value is a group, in the group of all.
        assert_eq!(drawing.matches("class=\"value\"").count(), mapping.region.nodes.len(), "{name}");
    }
}

/// Writes the drawings of a nearly full fabric to the folder that `DRAWINGS` names, to be looked at.
#[test]
#[ignore = "for people: DRAWINGS=folder"]
fn drawings_of_a_full_fabric() {
    let folder = std::path::PathBuf::from(std::env::var_os("DRAWINGS").expect("DRAWINGS names a folder"));
    let fabric = Fabric::default();
    let genes: Vec<u32> = (0..62u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let kernel = dataflow(&genes, true);
    let began = std::time::Instant::now();
    let compiled = map(&kernel, &fabric, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    eprintln!("{:?}\n{:?}", began.elapsed(), compiled.regions);
    for (i, mapping) in compiled.mapped.mappings.iter().enumerate() {
        std::fs::write(folder.join(format!("graph{i}.svg")), svg::graph(&mapping.region, &|_| None)).unwrap();
        std::fs::write(folder.join(format!("fabric{i}.svg")), svg::fabric(mapping, &fabric, &|_| None)).unwrap();
    }
}
