//! Cuts regions that need more units than a fabric has into parts that run one after the other (§4.6).
//!
//! The nodes of a region are put into an order in which every token comes from an earlier node, and the order is cut
//! into pieces that fit: as few pieces as possible, and among those cuts the one with the fewest accesses for live
//! values, found by dynamic programming over all places to cut. Two orders are tried: the given one, and one that
//! completes the operands of each sink before it begins the next.
//!
//! Across a cut:
//! - A value is stored at the end of the part that makes it ([`Target::Live`](crate::graph::Target::Live)) and loaded in each later part that
//!   uses it; both accesses take a load/store unit and are enabled by [`ThreadValue::Live`](crate::graph::ThreadValue::Live).
//! - What the injector sends is sent again, and what is computed only from that and from configuration by one
//!   operation of a compute unit is computed again.
//! - An enable token carries a condition and an order. The order is satisfied: all threads have passed a part before
//!   the next one runs, so a join with a token of an earlier part is left out. The condition of a store's token is
//!   that of its enable port, that of a join is its first port: the node that made it is the live value.
//!
//! The paper partitions by hand, "manual and sub-optimal".

mod parts;
mod plan;
mod shape;

pub use parts::Part;

use crate::graph::{Dataflow, NodeId, NodeOp, RegionId};
use crate::resources::{Counts, Misfit, needs, shortages};
use parts::cut;
use plan::plan;
use shape::Shape;
use std::fmt;

/// A kernel whose regions fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioned {
    /// The kernel. Parts of a region follow each other.
    pub dataflow: Dataflow,
    /// By region: the one that it is a part of, or that it is.
    pub origin: Vec<RegionId>,
    /// The regions that were cut.
    pub cuts: Vec<Cut>,
}

/// A region that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The region in the kernel as it was.
    pub region: RegionId,
    /// Why it does not fit.
    pub reason: Vec<Misfit>,
    /// Its parts.
    pub parts: Vec<Part>,
}

impl Cut {
    /// Bytes that each thread stores and loads because of the cut.
    pub fn bytes(&self, dataflow: &Dataflow) -> u32 {
        let live = self.parts.iter().flat_map(|p| p.loads.iter().chain(&p.stores));
        live.map(|id| u32::from(dataflow.live[id.0 as usize])).sum()
    }
}

/// A region that no cut makes fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The region.
    pub region: RegionId,
    /// The node from which on no part fits.
    pub node: NodeId,
    /// Shortages of the shortest part from this node on.
    pub reason: Vec<Misfit>,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason: Vec<String> = self.reason.iter().map(ToString::to_string).collect();
        write!(f, "region {} has no cut that fits: from n{} on, {}", self.region.0, self.node.0, reason.join("; "))
    }
}

/// Cuts the regions that need more than the units `available` for them.
///
/// # Errors
/// No cut of a region fits.
pub fn partition(dataflow: &Dataflow, available: impl Fn(RegionId) -> Counts) -> Result<Partitioned, TooLarge> {
    let mut all = Partitioned { dataflow: dataflow.clone(), origin: Vec::new(), cuts: Vec::new() };
    all.dataflow.regions.clear();
    let mut first = Vec::new();
    for (i, region) in dataflow.regions.iter().enumerate() {
        let id = RegionId(i as u32);
        first.push(RegionId(all.dataflow.regions.len() as u32));
        let available = available(id);
        let reason = shortages(&needs(&region.nodes), &available);
        if reason.is_empty() {
            all.dataflow.regions.push(region.clone());
        } else {
            let shape = Shape::of(region);
            let plan = plan(&shape, &available).map_err(|(node, reason)| TooLarge { region: id, node, reason })?;
            let parts = cut(&shape, &plan, &mut all.dataflow);
            all.cuts.push(Cut { region: id, reason, parts });
        }
        all.origin.resize(all.dataflow.regions.len(), id);
    }
    renumber(&mut all, &first);
    Ok(all)
}

/// Successors name the first part of a region; within a region, each part names the next.
fn renumber(all: &mut Partitioned, first: &[RegionId]) {
    let origin = &all.origin;
    for (i, region) in all.dataflow.regions.iter_mut().enumerate() {
        if origin.get(i + 1) == Some(&origin[i]) {
            region.always = Some(RegionId(i as u32 + 1));
            region.successors = vec![RegionId(i as u32 + 1)];
            continue;
        }
        let next = region.nodes.iter_mut().filter_map(|n| match &mut n.op {
            NodeOp::Next(to) => Some(to),
            _ => None,
        });
        let named = region.successors.iter_mut().chain(&mut region.always).chain(next);
        named.for_each(|to| *to = first[to.0 as usize]);
    }
}
