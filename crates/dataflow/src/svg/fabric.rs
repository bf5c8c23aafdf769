//! A fabric with what is placed and routed on it.
//!
//! Units are boxes, switches the dots at their corners. A link between switches is an arc past the switch between.
//! One that wraps leaves the grid at one edge and enters it at the other; there and where the injector sends a value,
//! the line ends in the name of the node that makes the value.

use super::drawing::{Drawing, Source, WIDTH, colour, fill, is_sent, title};
use crate::fabric::{End, Fabric, UnitKind};
use crate::graph::{NodeId, Region};
use crate::mapping::{LinkId, Mapping, UnitId};
use crate::text;
use std::collections::{BTreeMap, BTreeSet};

const MARGIN: f64 = 66.0;
const HEAD: f64 = 132.0;
/// How far an arc is from the straight line.
const BULGE: f64 = 7.0;
/// How far the two directions between the same ends are from each other.
const LANE: f64 = 2.2;
const MOST_PITCH: f64 = 110.0;
/// From the outer switches to the gates.
const GATE: f64 = 30.0;
/// From gate to gate of a switch, across and down.
const GATES: [f64; 2] = [24.0, 15.0];

/// A region on its fabric, as a drawing, and its height.
pub(super) fn fabric(mapping: &Mapping, of: &Fabric, source: Source<'_>) -> (Drawing, f64) {
    let picture = Picture::of(of, mapping);
    let mut drawing = Drawing::new();
    picture.draw_head(mapping, &mut drawing);
    picture.draw_unused(mapping, &mut drawing);
    let ids = || (0..mapping.region.nodes.len()).map(|i| NodeId(i as u32));
    for id in ids() {
        drawing.begin_net(id, &picture.title(mapping, id, source));
        picture.draw_routes(mapping, id, &mut drawing);
        drawing.end_group();
    }
    for id in ids() {
        let node = &mapping.region.nodes[id.index()];
        drawing.begin_node(id, node, &picture.title(mapping, id, source));
        match mapping.units[id.index()] {
            Some(unit) => drawing.node(picture.unit(unit), picture.size(), id, node),
            None => picture.draw_sent(&mapping.region, id, &mut drawing),
        }
        drawing.end_group();
    }
    (drawing, HEAD + MARGIN + picture.pitch[1] * f64::from(of.spec().rows))
}

/// An edge of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Left,
    Right,
    Top,
    Bottom,
}

/// Where lines of an edge cross it beside a switch, the first coordinate of which is not that of the edge.
type Gate = (Side, u16);

struct Picture<'a> {
    fabric: &'a Fabric,
    /// Between units, across and down.
    pitch: [f64; 2],
    /// Nodes of the injector, in the order of the boxes above the grid.
    sent: Vec<NodeId>,
    /// Links that cross the edge of the grid, by gate.
    gates: BTreeMap<Gate, Vec<LinkId>>,
}

impl<'a> Picture<'a> {
    fn of(fabric: &'a Fabric, mapping: &Mapping) -> Self {
        let pitch = ((WIDTH - 2.0 * MARGIN) / f64::from(fabric.spec().columns)).min(MOST_PITCH);
        let region = &mapping.region;
        let sent = (0..region.nodes.len()).filter(|i| is_sent(&region.nodes[*i])).map(|i| NodeId(i as u32)).collect();
        let mut picture = Self { fabric, pitch: [pitch, 1.2 * pitch], sent, gates: BTreeMap::new() };
        let links: BTreeSet<LinkId> = mapping.routes.iter().flat_map(|r| r.links.iter().copied()).collect();
        for link in links {
            for gate in picture.gates_of(link).into_iter().flatten() {
                picture.gates.entry(gate).or_default().push(link);
            }
        }
        picture
    }

    fn corner(&self, column: u16, row: u16) -> [f64; 2] {
        [MARGIN + self.pitch[0] * f64::from(column), HEAD + self.pitch[1] * f64::from(row)]
    }

    fn unit(&self, id: UnitId) -> [f64; 2] {
        let unit = self.fabric.unit(id);
        let [x, y] = self.corner(unit.column, unit.row);
        [x + self.pitch[0] / 2.0, y + self.pitch[1] / 2.0]
    }

    fn size(&self) -> [f64; 2] {
        [self.pitch[0] * 0.78, self.pitch[1] * 0.46]
    }

    /// Which unit executes it and how long its routes are, after what it is.
    fn title(&self, mapping: &Mapping, id: NodeId, source: Source<'_>) -> String {
        let mut out = title(&mapping.region, id, source);
        if let Some(id) = mapping.units[id.index()] {
            let unit = self.fabric.unit(id);
            out += &format!("\n{} unit {} (column {}, row {})", unit.kind.name(), id.0, unit.column, unit.row);
        }
        let routes = mapping.routes.iter().filter(|r| r.from == id);
        let lengths: Vec<String> = routes.map(|r| format!("n{}: {}", r.to.0, r.links.len())).collect();
        if !lengths.is_empty() {
            out += &format!("\nlinks to {}", lengths.join(", "));
        }
        out
    }

    fn draw_head(&self, mapping: &Mapping, drawing: &mut Drawing) {
        let links: BTreeSet<LinkId> = mapping.routes.iter().flat_map(|r| r.links.iter().copied()).collect();
        drawing.head(
            [16.0, 20.0],
            &format!(
                "on the fabric: {} of {} links, {} bits of configuration",
                links.len(),
                self.fabric.links().len(),
                mapping.configuration_bits
            ),
        );
        let counts = self.fabric.counts();
        let used = crate::resources::needs(&mapping.region.nodes);
        let kinds = UnitKind::ALL.into_iter().filter(|k| counts[*k as usize] > 0);
        let text = |k: UnitKind| (Some(k), format!("{} {} of {}", k.name(), used[k as usize], counts[k as usize]));
        drawing.legend(40.0, &kinds.map(text).collect::<Vec<_>>());
        drawing.head([16.0, 69.0], "injector");
    }

    fn draw_unused(&self, mapping: &Mapping, drawing: &mut Drawing) {
        let used: BTreeSet<UnitId> = mapping.units.iter().flatten().copied().collect();
        for (i, unit) in self.fabric.units().iter().enumerate() {
            let id = UnitId(i as u16);
            if !used.contains(&id) {
                let style = " fill-opacity=\".4\" stroke=\"#bbb\" stroke-dasharray=\"2 2\"";
                drawing.rect(self.unit(id), self.size(), fill(Some(unit.kind)), style);
            }
        }
        let (columns, rows) = self.fabric.switches();
        for (column, row) in (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row))) {
            let [x, y] = self.corner(column, row);
            drawing.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"#999\"/>"));
        }
    }

    /// The box of a value that the injector sends, above the grid.
    fn draw_sent(&self, region: &Region, id: NodeId, drawing: &mut Drawing) {
        let at = self.sent.iter().position(|s| *s == id).expect("the injector sends it");
        let (middle, size) = ([120.0 + 92.0 * at as f64, 65.0], [84.0, 20.0]);
        drawing.rect(middle, size, fill(None), &format!(" style=\"stroke:{}\"", colour(id)));
        let text = format!("n{} {}", id.0, text::operation(&region.nodes[id.index()].op));
        drawing.label([middle[0], middle[1] + 3.5], &text, size[0]);
    }

    fn draw_routes(&self, mapping: &Mapping, id: NodeId, drawing: &mut Drawing) {
        let routes = || mapping.routes.iter().filter(|r| r.from == id);
        let links: BTreeSet<LinkId> = routes().flat_map(|r| r.links.iter().copied()).collect();
        for link in links {
            self.link(link).iter().for_each(|path| drawing.path(path, colour(id)));
            for gate in self.gates_of(link).into_iter().flatten() {
                let ([x, y], [right, down]) = self.gate(gate, link);
                let at = [x + 12.0 * right, y + 8.0 * down + 3.5];
                drawing.label(at, &format!("n{}", id.0), GATES[0]);
            }
        }
        let ends: BTreeSet<LinkId> = routes().filter_map(|r| r.links.last().copied()).collect();
        for link in ends {
            let link = self.fabric.link(link);
            let (_, to) = self.lane(self.position(link.from, link.to), self.position(link.to, link.from));
            drawing.dot(to, colour(id));
        }
    }

    /// Where a link crosses the edge of the grid: when it leaves, when it enters.
    fn gates_of(&self, link: LinkId) -> [Option<Gate>; 2] {
        let link = self.fabric.link(link);
        let (_, rows) = self.fabric.switches();
        match (link.from, link.to) {
            (End::Injector, End::Switch(column, row)) => {
                let gate = match () {
                    () if row == 0 => (Side::Top, column),
                    () if row == rows - 1 => (Side::Bottom, column),
                    () if column == 0 => (Side::Left, row),
                    () => (Side::Right, row),
                };
                [None, Some(gate)]
            }
            (End::Switch(column, row), End::Switch(to_column, to_row)) => {
                let is_wrapped = |at: u16, to: u16| at.abs_diff(to) > 2;
                let (across, down) = (is_wrapped(column, to_column), is_wrapped(row, to_row));
                // Of four switches in a row, both directions are as far: the straight one is drawn.
                match (across, down) {
                    (false, false) => [None, None],
                    (true, _) if column < to_column => [Some((Side::Left, row)), Some((Side::Right, to_row))],
                    (true, _) => [Some((Side::Right, row)), Some((Side::Left, to_row))],
                    (_, true) if row < to_row => [Some((Side::Top, column)), Some((Side::Bottom, to_column))],
                    (_, true) => [Some((Side::Bottom, column)), Some((Side::Top, to_column))],
                }
            }
            _ => [None, None],
        }
    }

    /// Where a link crosses the edge, and the direction out of the grid.
    fn gate(&self, gate: Gate, link: LinkId) -> ([f64; 2], [f64; 2]) {
        let (side, at) = gate;
        let links = &self.gates[&gate];
        let slot = links.iter().position(|l| *l == link).expect("it crosses there") as f64;
        let along = slot - (links.len() - 1) as f64 / 2.0;
        let (columns, rows) = self.fabric.switches();
        let (column, row, out) = match side {
            Side::Left => (0, at, [-1.0, 0.0]),
            Side::Right => (columns - 1, at, [1.0, 0.0]),
            Side::Top => (at, 0, [0.0, -1.0]),
            Side::Bottom => (at, rows - 1, [0.0, 1.0]),
        };
        let [x, y] = self.corner(column, row);
        let [right, down]: [f64; 2] = out;
        let across = along * GATES[0] * down.abs() + right * GATE;
        ([x + across, y + along * GATES[1] * right.abs() + down * GATE], out)
    }

    /// Where a link meets one of its ends: a unit at its edge or corner.
    fn position(&self, end: End, other: End) -> [f64; 2] {
        match (end, other) {
            (End::Switch(column, row), _) => self.corner(column, row),
            (End::Unit(unit), other) => {
                let [x, y] = self.unit(unit);
                let [to_x, to_y] = match other {
                    End::Unit(other) => self.unit(other),
                    End::Switch(column, row) => self.corner(column, row),
                    End::Injector => [x, y],
                };
                let [width, height] = self.size();
                let towards = |from: f64, to: f64| if (to - from).abs() < 1.0 { 0.0 } else { (to - from).signum() };
                [x + towards(x, to_x) * width / 2.0, y + towards(y, to_y) * height / 2.0]
            }
            (End::Injector, _) => [0.0, 0.0],
        }
    }

    /// The line between two points, moved to the left of its direction.
    fn lane(&self, [x, y]: [f64; 2], [to_x, to_y]: [f64; 2]) -> ([f64; 2], [f64; 2]) {
        let length = (to_x - x).hypot(to_y - y).max(1.0);
        let (left, up) = ((to_y - y) / length * LANE, -(to_x - x) / length * LANE);
        ([x + left, y + up], [to_x + left, to_y + up])
    }

    /// The lines of a link: two if it wraps.
    fn link(&self, id: LinkId) -> Vec<String> {
        let link = self.fabric.link(id);
        let (from, to) = (self.position(link.from, link.to), self.position(link.to, link.from));
        let straight = |[x, y]: [f64; 2], [to_x, to_y]: [f64; 2]| format!("M{x:.1} {y:.1} L{to_x:.1} {to_y:.1}");
        match (self.gates_of(id), link.from, link.to) {
            ([None, None], End::Switch(..), End::Switch(..)) => vec![arc(from, to)],
            ([None, None], ..) => {
                let (from, to) = self.lane(from, to);
                vec![straight(from, to)]
            }
            (gates, ..) => {
                let [leaves, enters] = gates.map(|gate| gate.map(|gate| self.gate(gate, id).0));
                let lines = [leaves.map(|gate| straight(from, gate)), enters.map(|gate| straight(gate, to))];
                lines.into_iter().flatten().collect()
            }
        }
    }
}

/// A line that is bent to the left of its direction.
fn arc([x, y]: [f64; 2], [to_x, to_y]: [f64; 2]) -> String {
    let length = (to_x - x).hypot(to_y - y).max(1.0);
    let (left, up) = ((to_y - y) / length * 2.0 * BULGE, -(to_x - x) / length * 2.0 * BULGE);
    let (middle_x, middle_y) = (f64::midpoint(x, to_x) + left, f64::midpoint(y, to_y) + up);
    format!("M{x:.1} {y:.1} Q{middle_x:.1} {middle_y:.1} {to_x:.1} {to_y:.1}")
}
