//! The graph of a region under construction, with what is known of its blocks.

use super::values::Values;
use crate::draft::{Draft, Program};
use crate::flow::Flow;
use crate::graph::{Access, AccessKind, Input, LiveId, NodeId, Target};
use crate::groups::{GroupId, Groups};
use crate::order::Order;
use crate::truth::Truth;
use exec::kernel::Kernel;
use std::collections::HashMap;

/// State at the end of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    pub values: Values,
    pub order: Order,
}

pub(super) struct Builder<'a> {
    pub kernel: &'a Kernel,
    pub flow: &'a Flow,
    pub groups: &'a Groups,
    /// Places in memory of the values that live from region to region.
    pub places: &'a mut HashMap<GroupId, LiveId>,
    pub program: &'a mut Program,
    pub draft: Draft,
    pub region: usize,
    /// Whether a thread takes part in the region.
    pub enabled: Truth,
    /// The conditions under which a block is reached from another that dominates it.
    pub conditions: HashMap<(usize, usize), Truth>,
    pub ends: HashMap<usize, Ending>,
    /// Loads of live values, by group.
    pub loaded: HashMap<GroupId, NodeId>,
}

impl Builder<'_> {
    /// An access to the place of a live value.
    pub fn live_access(&mut self, kind: AccessKind, group: GroupId) -> Access {
        let columns = self.groups.columns[group];
        let bytes = if columns == 0 { 1 } else { 4 * columns };
        let Self { places, program, .. } = self;
        let place = *places.entry(group).or_insert_with(|| program.place(bytes));
        Access {
            kind,
            target: Target::Live(place),
            bytes,
            signed: false,
            register_bits: 32 * columns.max(1),
            base: [Input::Immediate(0); 2],
        }
    }
}
