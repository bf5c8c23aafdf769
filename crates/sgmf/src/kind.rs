//! Kinds of functional units, and how many a fabric has of each.

use dataflow::fabric::{Fabric, UnitKind};

/// A kind of functional unit (§5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ALU and FPU.
    Compute,
    /// Labels, joins, delays, ends of regions.
    Control,
    /// Loads, stores and atomic operations.
    Memory,
    /// Division, roots and other functions.
    Special,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = 4;
    /// All kinds in the order of declaration.
    pub const ALL: [Self; Self::COUNT] = [Self::Compute, Self::Control, Self::Memory, Self::Special];

    /// That of a unit of a fabric.
    pub const fn of(unit: UnitKind) -> Self {
        match unit {
            UnitKind::Compute => Self::Compute,
            UnitKind::Control => Self::Control,
            UnitKind::LoadStore => Self::Memory,
            UnitKind::IntDivider | UnitKind::FpDivider | UnitKind::Root => Self::Special,
        }
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Control => "control",
            Self::Memory => "ldst",
            Self::Special => "special",
        }
    }
}

/// Units by kind.
pub type UnitCounts = [u32; Kind::COUNT];

/// The units of `fabric`.
pub fn unit_counts(fabric: &Fabric) -> UnitCounts {
    let mut counts = UnitCounts::default();
    fabric.units().iter().for_each(|unit| counts[Kind::of(unit.kind) as usize] += 1);
    counts
}
