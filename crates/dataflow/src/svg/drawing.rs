//! Elements of drawings: boxes, lines, labels, colours.

use crate::fabric::UnitKind;
use crate::graph::{Node, NodeId, NodeOp, Region};
use crate::resources::kind;
use crate::text;
use isa::Pc;
use std::fmt::Write;

/// Width of a drawing, for the screen of a laptop.
pub(super) const WIDTH: f64 = 1400.0;
/// Width of a letter of a label, about.
const LETTER: f64 = 6.1;

/// The source text of an instruction, for the titles of nodes.
pub type Source<'a> = &'a dyn Fn(Pc) -> String;

/// Colours of values, taken in turns.
const COLOURS: [&str; 12] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#6b8e23", "#4b0082",
    "#b8860b", "#008080",
];

pub(super) fn colour(node: NodeId) -> &'static str {
    COLOURS[node.index() % COLOURS.len()]
}

/// The fill of a unit; of what the injector sends for `None`.
pub(super) const fn fill(kind: Option<UnitKind>) -> &'static str {
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
pub(super) struct Drawing {
    pub body: String,
}

impl Drawing {
    pub fn new() -> Self {
        Self { body: String::new() }
    }

    pub fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub fn rect(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], fill: &str, more: &str) {
        let (x, y) = (x - width / 2.0, y - height / 2.0);
        self.add(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\" fill=\"{fill}\"{more}/>"
        ));
    }

    /// A text in the middle of `width`: narrower letters where it would be wider.
    pub fn label(&mut self, [x, y]: [f64; 2], text: &str, width: f64) {
        let room = width - 4.0;
        let text = shortened(text, (room / (LETTER * 0.75)) as usize);
        let narrow = match text.chars().count() as f64 * LETTER > room {
            true => format!(" textLength=\"{room:.1}\" lengthAdjust=\"spacingAndGlyphs\""),
            false => String::new(),
        };
        self.add(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\"{narrow}>{}</text>", escaped(&text)));
    }

    pub fn head(&mut self, [x, y]: [f64; 2], text: &str) {
        self.add(&format!("<text class=\"head\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(text)));
    }

    pub fn path(&mut self, path: &str, stroke: &str) {
        self.add(&format!("<path d=\"{path}\" stroke=\"{stroke}\"/>"));
    }

    /// The end of a route, as a dot.
    pub fn dot(&mut self, [x, y]: [f64; 2], fill: &str) {
        self.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{fill}\"/>"));
    }

    /// Begins the lines of a value.
    pub fn begin_net(&mut self, of: NodeId, title: &str) {
        self.add(&format!("<g class=\"net n{}\"><title>{}</title>", of.0, escaped(title)));
    }

    /// Begins the box of a node, which the values that it takes bring out too.
    pub fn begin_node(&mut self, id: NodeId, node: &Node, title: &str) {
        let takes: String = node.tokens().map(|(_, from)| format!(" t{}", from.0)).collect();
        self.add(&format!("<g class=\"node n{}{takes}\"><title>{}</title>", id.0, escaped(title)));
    }

    pub fn end_group(&mut self) {
        self.add("</g>");
    }

    /// A box with the node's name and what it does.
    pub fn node(&mut self, [x, y]: [f64; 2], size: [f64; 2], id: NodeId, node: &Node) {
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
    pub fn legend(&mut self, y: f64, of: &[(Option<UnitKind>, String)]) {
        let mut x = 16.0;
        for (kind, text) in of {
            self.rect([x + 6.0, y - 4.0], [12.0, 12.0], fill(*kind), " stroke=\"#333\"");
            self.head([x + 17.0, y], text);
            x += 34.0 + 6.6 * text.chars().count() as f64;
        }
    }
}

/// Title of a node: its operation, the takers of its result, and its instruction.
pub(super) fn title(region: &Region, id: NodeId, source: Source<'_>) -> String {
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

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Whether the injector sends the value of a node.
pub(super) const fn is_sent(node: &Node) -> bool {
    matches!(node.op, NodeOp::Inject(_))
}
