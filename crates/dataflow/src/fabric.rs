//! The fabric: functional units on a grid, switches between them, and links (§5.2, §5.3, figures 8 and 9).
//!
//! The grid of units has load/store and special units on its perimeter and alternating columns of compute and
//! control units inside. The paper's 108 units, 64 of them inside, make one grid only: 18 columns of 6 rows.
//!
//! Switches are at the corners of the units, one more in each direction than units: a unit reaches the switches at
//! its four corners and the units beside, above and below it. A switch reaches the units around it and four
//! switches at a distance of two, wrapped around the grid of switches, so that a switch at the rim has as many links
//! as one inside.
//!
//! Deviations and decisions:
//! - D1: the figure's text and drawing disagree on which switches are at "a distance of 2 hops" (SGMF A1). Two
//!   straight on is the default, two along each diagonal the option.
//! - D2: the paper has "units that represent constants" at the edge, and none among its 108 units (SGMF A3). An
//!   injector drives the ports of the switches at the rim that have no unit: two of each, three at a corner of the
//!   grid. One value may enter at several of them.
//! - D3: the depth of the control units' FIFOs is not published: 16 tokens, as the token buffers.

use crate::mapping::{LinkId, UnitId, Wire};

/// Number of kinds of units.
pub const KINDS: usize = UnitKind::ALL.len();

/// Kind of a functional unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitKind {
    /// Integer and floating-point arithmetic, selection.
    Compute,
    /// Labels, joins, delays, ends of regions.
    Control,
    /// Loads, stores, atomics.
    LoadStore,
    /// Integer division and remainder.
    IntDivider,
    /// Floating-point division and reciprocal.
    FpDivider,
    /// Square roots and other special functions.
    Root,
}

impl UnitKind {
    /// All kinds: `ALL[kind as usize] == kind`.
    pub const ALL: [Self; 6] =
        [Self::Compute, Self::Control, Self::LoadStore, Self::IntDivider, Self::FpDivider, Self::Root];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Control => "control",
            Self::LoadStore => "load/store",
            Self::IntDivider => "integer divider",
            Self::FpDivider => "floating-point divider",
            Self::Root => "root",
        }
    }

    /// Ports that take tokens.
    pub const fn ports(self) -> usize {
        match self {
            Self::Compute | Self::LoadStore => 3,
            Self::Control | Self::IntDivider | Self::FpDivider | Self::Root => 2,
        }
    }
}

kit::words! {
    /// Which switches a switch is linked to.
    pub enum SwitchLinks {
        /// Two columns or two rows away.
        Straight = "straight",
        /// Two columns and two rows away.
        Diagonal = "diagonal",
    }
}

kit::parameters! {
    /// Size and mix of a fabric.
    pub struct FabricSpec {
        /// Columns of the grid of units.
        pub columns: u32 = 18 in (3, 32),
        /// Rows of the grid of units.
        pub rows: u32 = 6 in (3, 32),
        /// Columns of control units inside the perimeter, the others being compute units; 0 is half of them.
        pub control_columns: u32 = 0 in (0, 29),
        /// Special units for integer division and remainder, on the perimeter.
        pub int_dividers: u32 = 4 in (0, 124),
        /// Special units for floating-point division and reciprocal, on the perimeter.
        pub fp_dividers: u32 = 4 in (0, 124),
        /// Special units for roots and other special functions, on the perimeter.
        pub roots: u32 = 4 in (0, 124),
        /// Which switches a switch is linked to.
        pub switch_links: SwitchLinks = (SwitchLinks::Straight),
        /// Tokens that the FIFO of a control unit holds.
        pub fifo: u32 = 16 in (1, 255),
    }
}

/// A functional unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub struct Unit {
    pub kind: UnitKind,
    pub column: u16,
    pub row: u16,
}

/// Where a link begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// A functional unit.
    Unit(UnitId),
    /// A switch: its column and row. Switch (0, 0) is at the upper left corner of unit (0, 0).
    Switch(u16, u16),
    /// The source of the values of threads.
    Injector,
}

/// A link, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub struct Link {
    pub from: End,
    pub to: End,
}

/// A fabric.
#[derive(Clone, Debug)]
pub struct Fabric {
    spec: FabricSpec,
    units: Vec<Unit>,
    links: Vec<Link>,
    /// Links that begin at an end, by its index.
    outgoing: Vec<Vec<LinkId>>,
}

impl Default for Fabric {
    /// The paper's.
    fn default() -> Self {
        Self::new(FabricSpec::DEFAULT).expect("the paper's fabric is consistent")
    }
}

impl Fabric {
    /// The fabric of a specification.
    ///
    /// # Errors
    /// The parts do not fit the grid; the message says which and how many there may be.
    pub fn new(spec: FabricSpec) -> Result<Self, String> {
        check(&spec)?;
        let mut fabric = Self { spec, units: units(&spec), links: Vec::new(), outgoing: Vec::new() };
        fabric.outgoing = vec![Vec::new(); fabric.ends()];
        fabric.link_units();
        fabric.link_switches();
        Ok(fabric)
    }

    /// Its specification.
    pub const fn spec(&self) -> &FabricSpec {
        &self.spec
    }

    /// All units, by id: row by row.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// A unit.
    pub fn unit(&self, id: UnitId) -> &Unit {
        &self.units[usize::from(id.0)]
    }

    /// All links, by id.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// A link.
    pub fn link(&self, id: LinkId) -> Link {
        self.links[id.0 as usize]
    }

    /// The wire of a link, laid out along the rows and columns. A switch is half a row and half a column from the units
    /// around it. Links that wrap around are as long as the others: the grid of switches is folded (§5.3). The
    /// injector's switches are beside it.
    pub fn wire(&self, id: LinkId) -> Wire {
        let Link { from, to } = self.link(id);
        let pitches = match (from, to, self.spec.switch_links) {
            (End::Switch(..), End::Switch(..), SwitchLinks::Straight) => 2,
            (End::Switch(..), End::Switch(..), SwitchLinks::Diagonal) => 4,
            _ => 1,
        };
        Wire { pitches, is_switched: matches!(from, End::Switch(..)) }
    }

    /// Number of units by kind.
    pub fn counts(&self) -> [usize; KINDS] {
        let mut counts = [0; KINDS];
        for unit in &self.units {
            counts[unit.kind as usize] += 1;
        }
        counts
    }

    /// Columns and rows of the grid of switches.
    pub const fn switches(&self) -> (u16, u16) {
        (self.spec.columns as u16 + 1, self.spec.rows as u16 + 1)
    }

    /// Number of units, switches and injectors.
    pub fn ends(&self) -> usize {
        let (columns, rows) = self.switches();
        self.units.len() + usize::from(columns) * usize::from(rows) + 1
    }

    /// An end as an index: units, then switches, then the injector.
    pub fn index(&self, end: End) -> usize {
        match end {
            End::Unit(unit) => usize::from(unit.0),
            End::Switch(column, row) => {
                self.units.len() + usize::from(row) * usize::from(self.switches().0) + usize::from(column)
            }
            End::Injector => self.ends() - 1,
        }
    }

    /// Links that begin at `end`.
    pub fn outgoing(&self, end: End) -> &[LinkId] {
        &self.outgoing[self.index(end)]
    }

    fn add(&mut self, from: End, to: End) {
        let from_index = self.index(from);
        self.outgoing[from_index].push(LinkId(self.links.len() as u32));
        self.links.push(Link { from, to });
    }

    fn link_units(&mut self) {
        let (columns, rows) = (self.spec.columns as u16, self.spec.rows as u16);
        let id = |column: u16, row: u16| End::Unit(UnitId(row * columns + column));
        for row in 0..rows {
            for column in 0..columns {
                let unit = id(column, row);
                let beside = [(1, 0), (-1, 0), (0, 1), (0, -1)].into_iter().filter_map(|(right, down)| {
                    let (c, r) = (column.checked_add_signed(right)?, row.checked_add_signed(down)?);
                    (c < columns && r < rows).then(|| id(c, r))
                });
                beside.for_each(|other| self.add(unit, other));
                for corner in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    let switch = End::Switch(column + corner.0, row + corner.1);
                    self.add(unit, switch);
                    self.add(switch, unit);
                }
            }
        }
    }

    fn link_switches(&mut self) {
        let (columns, rows) = self.switches();
        let steps: [(u16, u16); 4] = match self.spec.switch_links {
            SwitchLinks::Straight => [(2, 0), (columns - 2, 0), (0, 2), (0, rows - 2)],
            SwitchLinks::Diagonal => [(2, 2), (2, rows - 2), (columns - 2, 2), (columns - 2, rows - 2)],
        };
        for row in 0..rows {
            for column in 0..columns {
                let switch = End::Switch(column, row);
                for (right, down) in steps {
                    self.add(switch, End::Switch((column + right) % columns, (row + down) % rows));
                }
                let units_around = |at: u16, count: u16| if at == 0 || at == count - 1 { 1 } else { 2 };
                for _ in units_around(column, columns) * units_around(row, rows)..4 {
                    self.add(End::Injector, switch);
                }
            }
        }
    }
}

fn check(spec: &FabricSpec) -> Result<(), String> {
    for (name, value, least, most) in
        [("columns", spec.columns, 3, 32), ("rows", spec.rows, 3, 32), ("fifo", spec.fifo, 1, 255)]
    {
        if !(least..=most).contains(&value) {
            return Err(format!("`{name}` of a fabric is from {least} to {most}, not {value}"));
        }
    }
    let perimeter = 2 * (spec.columns + spec.rows) - 4;
    let special = [spec.int_dividers, spec.fp_dividers, spec.roots].into_iter().fold(0, u32::saturating_add);
    if special >= perimeter {
        return Err(format!(
            "a fabric of {} columns and {} rows has {perimeter} units on its perimeter: {special} special units \
             (`int_dividers`, `fp_dividers`, `roots`) leave no load/store unit; at most {} fit",
            spec.columns,
            spec.rows,
            perimeter - 1
        ));
    }
    let inner = spec.columns - 2;
    if spec.control_columns > inner {
        return Err(format!(
            "a fabric of {} columns has {inner} inside its perimeter: `control_columns` is at most {inner}, not {}",
            spec.columns, spec.control_columns
        ));
    }
    Ok(())
}

/// The units row by row.
fn units(spec: &FabricSpec) -> Vec<Unit> {
    let (columns, rows) = (spec.columns as u16, spec.rows as u16);
    let inner = u32::from(columns) - 2;
    let control = if spec.control_columns == 0 { inner / 2 } else { spec.control_columns };
    // Columns of control units are spread evenly: for half of them, every other one.
    let is_control = |k: u32| (k + 1) * control / inner > k * control / inner;
    let kind = |column: u16| if is_control(u32::from(column) - 1) { UnitKind::Control } else { UnitKind::Compute };
    let is_rim = |column: u16, row: u16| column == 0 || row == 0 || column == columns - 1 || row == rows - 1;
    let mut units: Vec<Unit> = (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (column, row)))
        .map(|(column, row)| {
            let kind = if is_rim(column, row) { UnitKind::LoadStore } else { kind(column) };
            Unit { kind, column, row }
        })
        .collect();
    let rim = perimeter(columns, rows);
    let special = special(spec);
    for (i, kind) in special.iter().enumerate() {
        let (column, row) = rim[(2 * i + 1) * rim.len() / (2 * special.len())];
        units[usize::from(row) * usize::from(columns) + usize::from(column)].kind = *kind;
    }
    units
}

/// The kinds of the special units in the order in which they are spread along the perimeter: taken in turns.
fn special(spec: &FabricSpec) -> Vec<UnitKind> {
    let mut left = [
        (UnitKind::IntDivider, spec.int_dividers),
        (UnitKind::FpDivider, spec.fp_dividers),
        (UnitKind::Root, spec.roots),
    ];
    let mut order = Vec::new();
    while left.iter().any(|(_, n)| *n > 0) {
        for (kind, n) in left.iter_mut().filter(|(_, n)| *n > 0) {
            *n -= 1;
            order.push(*kind);
        }
    }
    order
}

/// The units of the perimeter, clockwise from the upper left corner.
fn perimeter(columns: u16, rows: u16) -> Vec<(u16, u16)> {
    let top = (0..columns).map(|c| (c, 0));
    let right = (1..rows).map(|r| (columns - 1, r));
    let bottom = (0..columns - 1).rev().map(|c| (c, rows - 1));
    let left = (1..rows - 1).rev().map(|r| (0, r));
    top.chain(right).chain(bottom).chain(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Parameters;

    fn links_of(fabric: &Fabric, end: End) -> (Vec<End>, Vec<End>) {
        let out = fabric.outgoing(end).iter().map(|l| fabric.link(*l).to).collect();
        let into = fabric.links().iter().filter(|l| l.to == end).map(|l| l.from).collect();
        (out, into)
    }

    #[test]
    fn the_papers_fabric_has_108_units() {
        let fabric = Fabric::default();
        assert_eq!(fabric.counts(), [32, 32, 32, 4, 4, 4]);
        assert_eq!(fabric.units().len(), 108);
        for (i, unit) in fabric.units().iter().enumerate() {
            let inside = (1..17).contains(&unit.column) && (1..5).contains(&unit.row);
            assert_eq!(inside, matches!(unit.kind, UnitKind::Compute | UnitKind::Control), "unit {i}");
        }
        let columns: Vec<UnitKind> = fabric.units()[18 + 1..18 + 17].iter().map(|u| u.kind).collect();
        assert!(columns.windows(2).all(|pair| pair[0] != pair[1]), "columns alternate: {columns:?}");
    }

    #[test]
    fn a_unit_reaches_four_switches_and_the_units_beside_it() {
        let fabric = Fabric::default();
        for (i, unit) in fabric.units().iter().enumerate() {
            let (out, into) = links_of(&fabric, End::Unit(UnitId(i as u16)));
            let switches = |ends: &[End]| ends.iter().filter(|e| matches!(e, End::Switch(..))).count();
            let at_edge = usize::from(unit.column % 17 == 0) + usize::from(unit.row % 5 == 0);
            assert_eq!((switches(&out), out.len()), (4, 8 - at_edge), "{unit:?}");
            assert_eq!((switches(&into), into.len()), (4, 8 - at_edge), "{unit:?}");
        }
    }

    #[test]
    fn a_switch_at_the_rim_has_as_many_links_as_one_inside() {
        for links in [SwitchLinks::Straight, SwitchLinks::Diagonal] {
            let fabric = Fabric::new(FabricSpec { switch_links: links, ..FabricSpec::DEFAULT }).unwrap();
            let (columns, rows) = fabric.switches();
            for (column, row) in (0..columns).flat_map(|c| (0..rows).map(move |r| (c, r))) {
                let (out, into) = links_of(&fabric, End::Switch(column, row));
                let switches = out.iter().filter(|e| matches!(e, End::Switch(..))).count();
                assert_eq!((switches, into.len()), (4, 8), "switch {column}, {row}");
            }
            assert_eq!(fabric.outgoing(End::Injector).len(), 44 * 2 + 4 * 3);
        }
    }

    #[test]
    fn wires_are_as_long_as_their_links_reach() {
        for (links, pitches) in [(SwitchLinks::Straight, 2), (SwitchLinks::Diagonal, 4)] {
            let fabric = Fabric::new(FabricSpec { switch_links: links, ..FabricSpec::DEFAULT }).unwrap();
            for (i, link) in fabric.links().iter().enumerate() {
                let wire = fabric.wire(LinkId(i as u32));
                let ends = [link.from, link.to].map(|end| matches!(end, End::Switch(..)));
                let expected = if ends == [true; 2] { pitches } else { 1 };
                assert_eq!((wire.pitches, wire.is_switched), (expected, ends[0]), "{link:?}");
            }
        }
    }

    #[test]
    fn links_of_switches_wrap_around() {
        let straight = Fabric::default();
        let (out, _) = links_of(&straight, End::Switch(0, 6));
        for expected in [(2, 6), (17, 6), (0, 1), (0, 4)] {
            assert!(out.contains(&End::Switch(expected.0, expected.1)), "{out:?}");
        }
        let diagonal = Fabric::new(FabricSpec { switch_links: SwitchLinks::Diagonal, ..FabricSpec::DEFAULT }).unwrap();
        let (out, _) = links_of(&diagonal, End::Switch(0, 6));
        for expected in [(2, 1), (2, 4), (17, 1), (17, 4)] {
            assert!(out.contains(&End::Switch(expected.0, expected.1)), "{out:?}");
        }
    }

    #[test]
    fn other_grids_and_mixes_are_parameters() {
        let mut spec = FabricSpec::default();
        for (name, value) in [("columns", "5"), ("rows", "5"), ("control_columns", "1"), ("roots", "0")] {
            spec.set(name, value).unwrap();
        }
        assert_eq!(Fabric::new(spec).unwrap().counts(), [6, 3, 8, 4, 4, 0]);
    }

    #[test]
    fn what_does_not_fit_the_grid_is_refused_with_the_limit() {
        let spec = FabricSpec { columns: 4, rows: 3, ..FabricSpec::DEFAULT };
        let message = Fabric::new(spec).unwrap_err();
        assert!(message.contains("10 units on its perimeter") && message.contains("at most 9 fit"), "{message}");
        let message = Fabric::new(FabricSpec { rows: 2, ..FabricSpec::DEFAULT }).unwrap_err();
        assert_eq!(message, "`rows` of a fabric is from 3 to 32, not 2");
        let spec = FabricSpec { columns: 8, control_columns: 7, ..FabricSpec::DEFAULT };
        let message = Fabric::new(spec).unwrap_err();
        assert!(message.contains("`control_columns` is at most 6, not 7"), "{message}");
    }
}
