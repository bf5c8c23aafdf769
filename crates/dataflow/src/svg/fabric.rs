//! A fabric with what is placed and routed on it.
//!
//! Units are boxes, switches the circles at their corners. A link between switches is an arc past the switch
//! between; one that wraps leaves the grid at one edge and enters it at the other.

use super::{Drawing, Source, WIDTH, colour, fill, is_sent, shortened, title};
use crate::fabric::{End, Fabric, UnitKind};
use crate::graph::{NodeId, Region};
use crate::mapping::{LinkId, Mapping, UnitId};
use crate::text;
use std::collections::BTreeSet;

const MARGIN: f64 = 46.0;
const HEAD: f64 = 96.0;
/// How far an arc is from the straight line.
const BULGE: f64 = 7.0;
/// How far the two directions between the same ends are from each other.
const LANE: f64 = 2.2;
const MOST_PITCH: f64 = 110.0;

/// A region on its fabric, as a drawing.
pub fn fabric(mapping: &Mapping, of: &Fabric, source: Source<'_>) -> String {
    let picture = Picture::of(of, &mapping.region);
    let mut drawing = Drawing::new();
    picture.draw_head(mapping, &mut drawing);
    picture.draw_unused(mapping, &mut drawing);
    for i in 0..mapping.region.nodes.len() {
        let id = NodeId(i as u32);
        drawing.begin_value(&picture.title(mapping, id, source));
        picture.draw_routes(mapping, id, &mut drawing);
        match mapping.units[i] {
            Some(unit) => drawing.node(picture.unit(unit), picture.size(), id, &mapping.region.nodes[i]),
            None => picture.draw_sent(&mapping.region, id, &mut drawing),
        }
        drawing.end_value();
    }
    drawing.finish(HEAD + MARGIN + picture.pitch[1] * f64::from(of.spec().rows))
}

struct Picture<'a> {
    fabric: &'a Fabric,
    /// Between units, across and down.
    pitch: [f64; 2],
    /// Nodes of the injector, in the order of the boxes above the grid.
    sent: Vec<NodeId>,
}

impl<'a> Picture<'a> {
    fn of(fabric: &'a Fabric, region: &Region) -> Self {
        let pitch = ((WIDTH - 2.0 * MARGIN) / f64::from(fabric.spec().columns)).min(MOST_PITCH);
        let sent = (0..region.nodes.len()).filter(|i| is_sent(&region.nodes[*i])).map(|i| NodeId(i as u32)).collect();
        Self { fabric, pitch: [pitch, 1.2 * pitch], sent }
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
        [self.pitch[0] * 0.72, self.pitch[1] * 0.45]
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
                "{} nodes from @{}, {} of {} links, {} bits of configuration",
                mapping.region.nodes.len(),
                mapping.region.entry.0,
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
        drawing.head([16.0, 66.0], "injector");
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
        let x = 100.0 + 62.0 * at as f64;
        drawing.rect([x, 62.0], [58.0, 20.0], fill(None), &format!(" style=\"stroke:{}\"", colour(id)));
        let text = format!("n{} {}", id.0, text::operation(&region.nodes[id.index()].op));
        drawing.text([x, 65.0], &shortened(&text, 13));
    }

    fn draw_routes(&self, mapping: &Mapping, id: NodeId, drawing: &mut Drawing) {
        let routes = || mapping.routes.iter().filter(|r| r.from == id);
        let links: BTreeSet<LinkId> = routes().flat_map(|r| r.links.iter().copied()).collect();
        for link in links {
            for path in self.link(link) {
                drawing.path(&path, colour(id));
            }
        }
        let ends: BTreeSet<LinkId> = routes().filter_map(|r| r.links.last().copied()).collect();
        for link in ends {
            let link = self.fabric.link(link);
            let (_, to) = self.lane(self.position(link.from, link.to), self.position(link.to, link.from));
            drawing.dot(to, colour(id));
        }
    }

    /// Where a link meets one of its ends: a unit at its edge or corner.
    fn position(&self, end: End, other: End) -> [f64; 2] {
        match (end, other) {
            (End::Switch(column, row), _) => self.corner(column, row),
            (End::Injector, End::Switch(column, row)) => {
                let [x, y] = self.corner(column, row);
                let (columns, rows) = self.fabric.switches();
                let out = |at: u16, last: u16| if at == 0 { -1.0 } else { f64::from(u8::from(at == last)) };
                [x + 14.0 * out(column, columns - 1), y + 14.0 * out(row, rows - 1)]
            }
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
        let (End::Switch(column, row), End::Switch(to_column, to_row)) = (link.from, link.to) else {
            let (from, to) = self.lane(from, to);
            return vec![format!("M{:.1} {:.1} L{:.1} {:.1}", from[0], from[1], to[0], to[1])];
        };
        let (columns, rows) = self.fabric.switches();
        let step = |at: u16, to: u16, count: u16| {
            let straight = i32::from(to) - i32::from(at);
            match straight.abs() {
                2 | 0 => straight,
                _ if (at + 2) % count == to => 2,
                _ => -2,
            }
        };
        let (right, down) = (step(column, to_column, columns), step(row, to_row, rows));
        let by = [f64::from(right) * self.pitch[0], f64::from(down) * self.pitch[1]];
        if [from[0] + by[0], from[1] + by[1]] == to {
            return vec![arc(from, to)];
        }
        // Half of the wrapped link at each of the two edges, cut a little outside of the grid.
        let cut = |[x, y]: [f64; 2], sign: f64| {
            let share = 0.3;
            [x + sign * by[0] * share, y + sign * by[1] * share]
        };
        vec![arc(from, cut(from, 1.0)), arc(cut(to, -1.0), to)]
    }
}

/// A line that is bent to the left of its direction.
fn arc([x, y]: [f64; 2], [to_x, to_y]: [f64; 2]) -> String {
    let length = (to_x - x).hypot(to_y - y).max(1.0);
    let (left, up) = ((to_y - y) / length * 2.0 * BULGE, -(to_x - x) / length * 2.0 * BULGE);
    let (middle_x, middle_y) = (f64::midpoint(x, to_x) + left, f64::midpoint(y, to_y) + up);
    format!("M{x:.1} {y:.1} Q{middle_x:.1} {middle_y:.1} {to_x:.1} {to_y:.1}")
}
