//! Drawings in SVG, for a browser: a graph, and its places and routes on a fabric.
//!
//! Each value has a colour. The pointer over a node or a route shows what it is, and dims all other values.

mod fabric;
mod graph;

pub use fabric::fabric;
pub use graph::graph;

use crate::fabric::UnitKind;
use crate::graph::{Node, NodeId, NodeOp, Region};
use crate::resources::kind;
use crate::text;
use isa::Pc;
use std::fmt::Write;

/// Width of a drawing, for the screen of a laptop.
const WIDTH: f64 = 1360.0;

/// The source text of an instruction, for the titles of nodes.
pub type Source<'a> = &'a dyn Fn(Pc) -> Option<String>;

const STYLE: &str = "text{font:9px sans-serif;fill:#222;text-anchor:middle;pointer-events:none}\
                     .head{font-size:12px;text-anchor:start}\
                     .value path{fill:none;stroke-width:1.5}\
                     .value rect{stroke:#333;stroke-width:.8}\
                     .value:hover path{stroke-width:4}\
                     .value:hover rect{stroke-width:2.5}\
                     svg:hover .value:not(:hover){transition:opacity .15s}\
                     .all:has(.value:hover) .value:not(:hover){opacity:.15}";

/// Colours of values, taken in turns.
const COLOURS: [&str; 12] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#6b8e23", "#4b0082",
    "#b8860b", "#008080",
];

fn colour(node: NodeId) -> &'static str {
    COLOURS[node.index() % COLOURS.len()]
}

/// The fill of a unit; of what the injector sends for `None`.
const fn fill(kind: Option<UnitKind>) -> &'static str {
    match kind {
        None => "#ffffff",
        Some(UnitKind::Compute) => "#cfe3f7",
        Some(UnitKind::Control) => "#dcefd2",
        Some(UnitKind::LoadStore) => "#fde2c4",
        Some(UnitKind::IntDivider) => "#ead9f2",
        Some(UnitKind::FpDivider) => "#f6d5e5",
        Some(UnitKind::Root) => "#f9d3cf",
    }
}

/// A drawing under construction.
struct Drawing {
    body: String,
}

impl Drawing {
    fn new() -> Self {
        Self { body: String::new() }
    }

    fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    fn rect(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], fill: &str, more: &str) {
        let (x, y) = (x - width / 2.0, y - height / 2.0);
        self.add(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\" fill=\"{fill}\"{more}/>"
        ));
    }

    fn text(&mut self, [x, y]: [f64; 2], text: &str) {
        self.add(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(text)));
    }

    fn head(&mut self, [x, y]: [f64; 2], text: &str) {
        self.add(&format!("<text class=\"head\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(text)));
    }

    fn path(&mut self, path: &str, stroke: &str) {
        self.add(&format!("<path d=\"{path}\" stroke=\"{stroke}\"/>"));
    }

    /// The end of a route, as a dot.
    fn dot(&mut self, [x, y]: [f64; 2], fill: &str) {
        self.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{fill}\"/>"));
    }

    /// Begins the group of a value, which the pointer brings out as a whole.
    fn begin_value(&mut self, title: &str) {
        self.add(&format!("<g class=\"value\"><title>{}</title>", escaped(title)));
    }

    fn end_value(&mut self) {
        self.add("</g>");
    }

    /// A box with the node's name and what it does.
    fn node(&mut self, [x, y]: [f64; 2], size: [f64; 2], id: NodeId, node: &Node) {
        self.rect([x, y], size, fill(kind(&node.op)), "");
        let most = (size[0] / 5.0) as usize;
        self.text([x, y - 3.0], &format!("n{}", id.0));
        self.text([x, y + 9.0], &shortened(&text::operation(&node.op), most));
    }

    /// The legend: kinds with a text each.
    fn legend(&mut self, y: f64, of: &[(Option<UnitKind>, String)]) {
        let mut x = 16.0;
        for (kind, text) in of {
            self.rect([x + 6.0, y - 4.0], [12.0, 12.0], fill(*kind), " stroke=\"#333\"");
            self.head([x + 17.0, y], text);
            x += 34.0 + 6.6 * text.chars().count() as f64;
        }
    }

    fn finish(self, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" width=\"{WIDTH:.0}\" \
             height=\"{height:.0}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <g class=\"all\">\n{}</g>\n</svg>\n",
            self.body
        )
    }
}

/// What a node is, who takes its result, and the instruction that it comes from.
fn title(region: &Region, id: NodeId, source: Source<'_>) -> String {
    let node = &region.nodes[id.index()];
    let mut out = format!("n{} = {}", id.0, text::node(node));
    let takes = |n: &Node| n.tokens().any(|(_, from)| from == id);
    let takers: Vec<String> =
        (0..region.nodes.len()).filter(|i| takes(&region.nodes[*i])).map(|i| format!("n{i}")).collect();
    if !takers.is_empty() {
        write!(out, "\nto {}", takers.join(", ")).expect("strings take text");
    }
    if let Some(pc) = node.pc {
        let source = source(pc).map_or(String::new(), |text| format!(": {text}"));
        write!(out, "\n@{}{source}", pc.0).expect("strings take text");
    }
    out
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Whether the injector sends the value of a node.
const fn is_sent(node: &Node) -> bool {
    matches!(node.op, NodeOp::Inject(_))
}
