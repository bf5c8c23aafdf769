//! Drawings in SVG, for a browser: graphs, and their places and routes on a fabric.
//!
//! Each value has a colour. The pointer over a node or a route shows what it is, and dims what neither is this value
//! nor takes it, in the graph and on the fabric. Without a pointer the colours and the names of nodes lead from one to
//! the other.

mod fabric;
mod graph;

use crate::fabric::{Fabric, UnitKind};
use crate::graph::{Node, NodeId, NodeOp, Region};
use crate::mapping::Mapped;
use crate::resources::kind;
use crate::text;
use isa::Pc;
use std::fmt::Write;

/// Width of a drawing, for the screen of a laptop.
const WIDTH: f64 = 1400.0;
/// Between drawings.
const GAP: f64 = 24.0;
/// Width of a letter of a label, about.
const LETTER: f64 = 6.1;

/// The source text of an instruction, for the titles of nodes.
pub type Source<'a> = &'a dyn Fn(Pc) -> String;

const STYLE: &str = "text{font-family:Helvetica,Arial,'DejaVu Sans',sans-serif}\
                     text{font-size:10px;fill:#222;text-anchor:middle;pointer-events:none}\
                     .head{font-size:13px;text-anchor:start}\
                     .title{font-size:16px;font-weight:bold;text-anchor:start}\
                     .net path{fill:none;stroke-width:1.6}\
                     .node rect{stroke:#333;stroke-width:.8}\
                     .region:has(.net:hover,.node:hover) :is(.net,.node){transition:opacity .15s}";

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

    /// A text in the middle of `width`: narrower letters where it would be wider.
    fn label(&mut self, [x, y]: [f64; 2], text: &str, width: f64) {
        let room = width - 4.0;
        let text = shortened(text, (room / (LETTER * 0.75)) as usize);
        let narrow = match text.chars().count() as f64 * LETTER > room {
            true => format!(" textLength=\"{room:.1}\" lengthAdjust=\"spacingAndGlyphs\""),
            false => String::new(),
        };
        self.add(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\"{narrow}>{}</text>", escaped(&text)));
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

    /// Begins the lines of a value.
    fn begin_net(&mut self, of: NodeId, title: &str) {
        self.add(&format!("<g class=\"net n{}\"><title>{}</title>", of.0, escaped(title)));
    }

    /// Begins the box of a node, which the values that it takes bring out too.
    fn begin_node(&mut self, id: NodeId, node: &Node, title: &str) {
        let takes: String = node.tokens().map(|(_, from)| format!(" t{}", from.0)).collect();
        self.add(&format!("<g class=\"node n{}{takes}\"><title>{}</title>", id.0, escaped(title)));
    }

    fn end_group(&mut self) {
        self.add("</g>");
    }

    /// A box with the node's name and what it does.
    fn node(&mut self, [x, y]: [f64; 2], size: [f64; 2], id: NodeId, node: &Node) {
        self.rect([x, y], size, fill(kind(&node.op)), "");
        let operation = text::operation(&node.op);
        let (verb, rest) = match &node.op {
            NodeOp::Access(_) => operation.split_once(' ').unwrap_or(("", &operation)),
            NodeOp::Label(_) => operation.split_once('.').unwrap_or(("", &operation)),
            _ => ("", &*operation),
        };
        self.label([x, y - 3.0], format!("n{} {verb}", id.0).trim_end(), size[0]);
        self.label([x, y + 9.0], rest, size[0]);
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
}

/// The graphs of a kernel, each above its place on the fabric.
pub fn kernel(mapped: &Mapped, of: &Fabric, source: Source<'_>) -> String {
    let title = escaped(&mapped.dataflow.name);
    let mut body = format!("<text class=\"title\" x=\"16\" y=\"28\">{title}</text>\n");
    let (mut y, mut nodes) = (2.0 * GAP, 0);
    for (part, mapping) in mapped.mappings.iter().enumerate() {
        nodes = nodes.max(mapping.region.nodes.len());
        body += "<g class=\"region\">\n";
        let region = &mapping.region;
        let (nodes, next) = (region.nodes.len(), text::next(region));
        let head = format!("part {part}: {nodes} nodes; {next}; from {}", source(region.entry));
        for (drawing, height) in [graph::graph(region, &head, source), fabric::fabric(mapping, of, source)] {
            writeln!(body, "<g transform=\"translate(0 {y:.0})\">\n{}</g>", drawing.body).expect("strings take text");
            y += height + GAP;
        }
        body += "</g>\n";
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {y:.0}\" width=\"{WIDTH:.0}\" \
         height=\"{y:.0}\">\n<title>{title}</title>\n<style>{STYLE}{}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n",
        hover(nodes)
    )
}

/// What the pointer over a value does: a rule for each number of a node.
fn hover(nodes: usize) -> String {
    let rule = |n: usize| {
        format!(
            ".region:has(.n{n}:hover) :is(.net,.node):not(.n{n},.t{n}){{opacity:.12}}\
             .region:has(.n{n}:hover) .net.n{n} path{{stroke-width:3.5}}\
             .region:has(.n{n}:hover) .node.n{n} rect{{stroke-width:2.5}}"
        )
    };
    (0..nodes).map(rule).collect()
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
        write!(out, "\n{}", source(pc)).expect("strings take text");
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
