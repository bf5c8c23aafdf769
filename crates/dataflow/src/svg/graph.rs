//! The graph of a region, layer by layer from top to bottom.
//!
//! A value that goes past a layer has a narrow place in it, so that its line does not cross boxes. The order within
//! a layer follows the mean position of the neighbours (Sugiyama's method).

use super::drawing::{Drawing, Source, WIDTH, colour, is_sent, title};
use crate::graph::{NodeId, Region};
use crate::resources::kind;

const BOX: [f64; 2] = [80.0, 30.0];
const GAP: f64 = 8.0;
const PASSING: f64 = 7.0;
const PITCH: f64 = 62.0;
const TOP: f64 = 56.0;
const SWEEPS: usize = 12;

/// A place in a layer: the box of a node, or a value that continues in lower layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    node: NodeId,
    is_box: bool,
}

struct Layout {
    layers: Vec<Vec<Place>>,
    layer_of: Vec<usize>,
    /// By layer, by place: the middle.
    x: Vec<Vec<f64>>,
}

/// A region as a drawing, and its height.
pub(super) fn graph(region: &Region, head: &str, source: Source<'_>) -> (Drawing, f64) {
    let layout = Layout::of(region);
    let mut drawing = Drawing::new();
    drawing.head([16.0, 20.0], head);
    let mut kinds: Vec<_> = region.nodes.iter().map(|n| kind(&n.op)).collect();
    kinds.sort();
    kinds.dedup();
    let name = |k: Option<crate::fabric::UnitKind>| (k, k.map_or("injector", |k| k.name()).to_owned());
    drawing.legend(38.0, &kinds.into_iter().map(name).collect::<Vec<_>>());
    let ids = || (0..region.nodes.len()).map(|i| NodeId(i as u32));
    for id in ids() {
        drawing.begin_net(id, &title(region, id, source));
        layout.draw_lines(region, id, &mut drawing);
        drawing.end_group();
    }
    // Above the lines that pass.
    for id in ids() {
        let (node, layer) = (&region.nodes[id.index()], layout.layer_of[id.index()]);
        drawing.begin_node(id, node, &title(region, id, source));
        drawing.node([layout.at(layer, id), middle(layer)], BOX, id, node);
        drawing.end_group();
    }
    (drawing, TOP + PITCH * layout.layers.len() as f64)
}

fn middle(layer: usize) -> f64 {
    TOP + PITCH * layer as f64 + BOX[1] / 2.0
}

impl Layout {
    fn of(region: &Region) -> Self {
        let layer_of = layers(region);
        let count = layer_of.iter().max().map_or(0, |last| last + 1);
        let mut last = layer_of.clone();
        for (i, node) in region.nodes.iter().enumerate() {
            for (_, from) in node.tokens() {
                last[from.index()] = last[from.index()].max(layer_of[i] - 1);
            }
        }
        let mut layers = vec![Vec::new(); count];
        for (i, first) in layer_of.iter().enumerate() {
            let node = NodeId(i as u32);
            layers[*first].push(Place { node, is_box: true });
            (first + 1..=last[i]).for_each(|layer| layers[layer].push(Place { node, is_box: false }));
        }
        let x = layers.iter().map(|layer| packed(layer, None)).collect();
        let mut layout = Self { layers, layer_of, x };
        for sweep in 0..SWEEPS {
            layout.sweep(region, sweep % 2 == 0);
        }
        layout.centre();
        layout
    }

    /// Moves the whole to the middle of the drawing.
    fn centre(&mut self) {
        let all = || self.x.iter().flatten().copied();
        let (left, right) = (all().fold(WIDTH, f64::min), all().fold(0.0, f64::max));
        let by = WIDTH / 2.0 - f64::midpoint(left, right);
        self.x.iter_mut().flatten().for_each(|x| *x += by);
    }

    /// The middle of the place of a node in a layer.
    fn at(&self, layer: usize, node: NodeId) -> f64 {
        let place = self.layers[layer].iter().position(|p| p.node == node).expect("it has a place there");
        self.x[layer][place]
    }

    /// Moves each place towards those that it is linked to in the layer above, or below.
    fn sweep(&mut self, region: &Region, downwards: bool) {
        let count = self.layers.len();
        for step in 1..count {
            let layer = if downwards { step } else { count - 1 - step };
            let mut wanted: Vec<(f64, Place)> = Vec::new();
            for (i, place) in self.layers[layer].iter().enumerate() {
                let linked =
                    if downwards { self.above(region, layer, *place) } else { self.below(region, layer, *place) };
                let mean = linked.iter().sum::<f64>() / linked.len() as f64;
                wanted.push((if linked.is_empty() { self.x[layer][i] } else { mean }, *place));
            }
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (at, places): (Vec<f64>, Vec<Place>) = wanted.into_iter().unzip();
            self.x[layer] = packed(&places, Some(&at));
            self.layers[layer] = places;
        }
    }

    fn above(&self, region: &Region, layer: usize, place: Place) -> Vec<f64> {
        if place.is_box {
            region.nodes[place.node.index()].tokens().map(|(_, from)| self.at(layer - 1, from)).collect()
        } else {
            vec![self.at(layer - 1, place.node)]
        }
    }

    fn below(&self, region: &Region, layer: usize, place: Place) -> Vec<f64> {
        self.layers[layer + 1]
            .iter()
            .filter(|below| match below.is_box {
                true => region.nodes[below.node.index()].tokens().any(|(_, from)| from == place.node),
                false => below.node == place.node,
            })
            .map(|below| self.at(layer + 1, below.node))
            .collect()
    }

    /// The lines from a node to all that take its result.
    fn draw_lines(&self, region: &Region, id: NodeId, drawing: &mut Drawing) {
        let first = self.layer_of[id.index()];
        let mut x = self.at(first, id);
        for layer in first..self.layers.len() {
            if layer > first {
                let Some(place) = self.layers[layer].iter().position(|p| p.node == id) else { break };
                let (top, bottom) = (middle(layer) - BOX[1] / 2.0, middle(layer) + BOX[1] / 2.0);
                let to = self.x[layer][place];
                drawing.path(&format!("{} V{bottom:.1}", curve(x, top - PITCH + BOX[1], to, top)), colour(id));
                x = to;
            }
            let takers = self.layers.get(layer + 1).into_iter().flatten().filter(|p| p.is_box);
            for taker in takers {
                let node = &region.nodes[taker.node.index()];
                let ports: Vec<usize> = node.tokens().filter(|(_, from)| *from == id).map(|(port, _)| port).collect();
                for port in ports {
                    let step = BOX[0] / (node.inputs.len() + 1) as f64;
                    let to = self.at(layer + 1, taker.node) - BOX[0] / 2.0 + step * (port + 1) as f64;
                    let top = middle(layer + 1) - BOX[1] / 2.0;
                    drawing.path(&curve(x, top - PITCH + BOX[1], to, top), colour(id));
                    drawing.dot([to, top], colour(id));
                }
            }
        }
    }
}

fn curve(x: f64, y: f64, to_x: f64, to_y: f64) -> String {
    let half = f64::midpoint(y, to_y);
    format!("M{x:.1} {y:.1} C{x:.1} {half:.1} {to_x:.1} {half:.1} {to_x:.1} {to_y:.1}")
}

/// By node: one more than the last of those that it takes tokens from. What the injector sends is just above the
/// first that takes it.
fn layers(region: &Region) -> Vec<usize> {
    let mut layer_of = vec![0; region.nodes.len()];
    for (i, node) in region.nodes.iter().enumerate() {
        layer_of[i] = node.tokens().map(|(_, from)| layer_of[from.index()] + 1).max().unwrap_or(0);
    }
    for (i, node) in region.nodes.iter().enumerate().filter(|(_, node)| is_sent(node)) {
        debug_assert!(node.inputs.is_empty(), "the injector takes nothing");
        let takes = |to: &usize| region.nodes[*to].tokens().any(|(_, from)| from.index() == i);
        let first = (0..region.nodes.len()).filter(takes).map(|to| layer_of[to] - 1).min();
        layer_of[i] = first.unwrap_or(0);
    }
    layer_of
}

/// The middles of places in a row, as near to `wanted` as their widths allow.
fn packed(places: &[Place], wanted: Option<&[f64]>) -> Vec<f64> {
    let width = |p: &Place| if p.is_box { BOX[0] + GAP } else { PASSING };
    let total: f64 = places.iter().map(width).sum();
    // A layer that is too wide for the drawing is made narrower as a whole: boxes overlap.
    let scale = ((WIDTH - 16.0) / total).min(1.0);
    let halves: Vec<f64> = places.iter().map(|p| width(p) * scale / 2.0).collect();
    let mut edge = (WIDTH - total * scale) / 2.0;
    let side_by_side: Vec<f64> = halves.iter().map(|half| step(&mut edge, *half)).collect();
    let Some(wanted) = wanted else { return side_by_side };
    // Overlaps are resolved towards the right and towards the left: the mean of the two has none either.
    let mut edge = f64::NEG_INFINITY;
    let mut right = Vec::new();
    for (half, at) in halves.iter().zip(wanted) {
        edge = edge.max(at - half);
        right.push(step(&mut edge, *half));
    }
    let mut edge = f64::INFINITY;
    let mut x = Vec::new();
    for ((half, at), right) in halves.iter().zip(wanted).zip(right).rev() {
        edge = edge.min(at + half) - 2.0 * half;
        x.push(f64::midpoint(edge + half, right));
    }
    x.reverse();
    within(x, &halves)
}

/// The middle of the next place, whose end is the new edge.
fn step(edge: &mut f64, half: f64) -> f64 {
    let middle = *edge + half;
    *edge = middle + half;
    middle
}

/// Moves what is outside of the drawing into it.
fn within(mut x: Vec<f64>, halves: &[f64]) -> Vec<f64> {
    let mut edge = 8.0;
    for (x, half) in x.iter_mut().zip(halves) {
        *x = x.max(edge + half);
        edge = *x + half;
    }
    let mut edge = WIDTH - 8.0;
    for (x, half) in x.iter_mut().zip(halves).rev() {
        *x = x.min(edge - half);
        edge = *x - half;
    }
    x
}
