//! A region on a fabric: which unit executes which node, and over which links tokens travel.

use crate::graph::{Dataflow, NodeId, Region};
use std::collections::BTreeMap;

/// A functional unit of a fabric, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub u16);

/// A link between units or switches, in one direction, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// The way of a token from the node that makes it to a port that takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub struct Route {
    pub from: NodeId,
    pub to: NodeId,
    pub port: u8,
    /// In order. Routes of one result share links from its unit on; those to several ports of one unit are the same.
    /// A value of the injector begins at the injector, perhaps with several links of it.
    pub links: Vec<LinkId>,
}

/// A link as energy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Its length in distances of adjacent units.
    pub pitches: u8,
    /// It begins at a switch, whose multiplexer its tokens pass.
    pub is_switched: bool,
}

impl Default for Wire {
    /// From a unit to the next one.
    fn default() -> Self {
        Self { pitches: 1, is_switched: false }
    }
}

/// A region, placed and routed.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// The region, with the delays that balance its paths: all copies of it, one after the other.
    pub region: Region,
    /// Copies of the graph side by side, of equal numbers of nodes. Thread *t* of a pass goes through copy *t* mod
    /// `copies`.
    pub copies: u32,
    /// By node: its unit; none of what the injector sends.
    pub units: Vec<Option<UnitId>>,
    /// One for each port that takes tokens.
    pub routes: Vec<Route>,
    /// Wires of the links of the routes; one that is missing is [`Wire::default`].
    pub wires: BTreeMap<LinkId, Wire>,
    /// Bits of the configuration registers of its units and switches.
    pub configuration_bits: u64,
}

/// A kernel, ready for a fabric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapped {
    /// Its uniform values, values kept between regions, and memory; its regions are in `mappings`.
    pub dataflow: Dataflow,
    /// By region.
    pub mappings: Vec<Mapping>,
}
