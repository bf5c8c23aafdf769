//! Drawings in SVG, for a browser: graphs, and their places and routes on a fabric.
//!
//! Each value has a colour. The pointer over a node or a route shows what it is, and dims what neither is this value
//! nor takes it, in the graph and on the fabric. Without a pointer the colours and the names of nodes lead from one to
//! the other.

mod drawing;
mod fabric;
mod graph;

use crate::fabric::Fabric;
use crate::mapping::Mapped;
use crate::text;
use drawing::{WIDTH, escaped};
use std::fmt::Write;

pub use drawing::Source;

/// Between drawings.
const GAP: f64 = 24.0;
const STYLE: &str = "text{font-family:Helvetica,Arial,'DejaVu Sans',sans-serif}\
                     text{font-size:10px;fill:#222;text-anchor:middle;pointer-events:none}\
                     .head{font-size:13px;text-anchor:start}\
                     .title{font-size:16px;font-weight:bold;text-anchor:start}\
                     .net path{fill:none;stroke-width:1.6}\
                     .node rect{stroke:#333;stroke-width:.8}\
                     .region:has(.net:hover,.node:hover) :is(.net,.node){transition:opacity .15s}";

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

/// Rules for the pointer over a value, one for each number of a node.
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
