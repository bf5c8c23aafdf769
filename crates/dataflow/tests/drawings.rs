//! Graphs as text and as drawings.

use crate::support::random::{Builder, dataflow};
use dataflow::fabric::{Fabric, FabricSpec, SwitchLinks};
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
    let drawing = svg::kernel(&compiled.mapped, &fabric, &|pc| format!("line <{}>", pc.0));
    for expected in ["line &lt;3&gt;", "Add32", "next 0", "tid.x", "integer divider"] {
        assert!(drawing.contains(expected), "no {expected}");
    }
}

/// The names of a document's elements in their order. Panics if they are not nested or a text is not escaped.
fn elements(xml: &str) -> Vec<&str> {
    let (mut names, mut open) = (Vec::new(), Vec::new());
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let (text, from) = rest.split_at(at);
        assert!(!text.contains('>') || open.last() == Some(&"style"), "{text}");
        for entity in text.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known)), "{text}");
        }
        let (tag, after) = from[1..].split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_matches('/').split(' ').next().unwrap();
        match () {
            () if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            () if tag.ends_with('/') => names.push(name),
            () => {
                names.push(name);
                open.push(name);
            }
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?}");
    names
}

#[test]
fn drawings_are_well_formed_and_name_each_node() {
    let genes: Vec<u32> = (0..90u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    // Links between switches wrap in both directions, and the special units of a small grid are near each other.
    for spec in [FabricSpec::DEFAULT, FabricSpec { switch_links: SwitchLinks::Diagonal, ..FabricSpec::DEFAULT }] {
        let fabric = Fabric::new(spec).unwrap();
        let compiled = map(&dataflow(&genes, true), &fabric, &Options::default()).unwrap();
        let mapped = &compiled.mapped;
        assert!(mapped.mappings.len() > 1);
        let drawing = svg::kernel(mapped, &fabric, &|pc| format!("line {}: a < b && \"c\"", pc.0));
        let names = elements(&drawing);
        assert_eq!(names[0], "svg");
        assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
        let nodes: usize = mapped.mappings.iter().map(|m| m.region.nodes.len()).sum();
        // In the graph and on the fabric: the lines of a value, and its box.
        assert_eq!(drawing.matches("<g class=\"net ").count(), 2 * nodes);
        assert_eq!(drawing.matches("<g class=\"node ").count(), 2 * nodes);
        for (part, of) in drawing.split("<g class=\"region\">").skip(1).zip(&mapped.mappings) {
            for n in 0..of.region.nodes.len() {
                assert_eq!(part.matches(&format!("class=\"net n{n}\"")).count(), 2, "n{n}");
                let names = [format!(">n{n}<"), format!(">n{n} ")];
                assert!(names.iter().map(|name| part.matches(&**name).count()).sum::<usize>() >= 4, "n{n}");
            }
        }
    }
}
