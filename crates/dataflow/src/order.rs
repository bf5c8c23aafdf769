//! The order of a thread's memory accesses (section 4.3): loads may pass loads; a store waits for all older accesses,
//! a load for older stores. An access that must wait has an enable token of what it waits for.

use crate::graph::NodeId;
use isa::Space;
use std::collections::BTreeSet;

/// Accesses that may touch the same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Global,
    Shared,
    Local,
}

/// Accesses of one class that younger ones may wait for.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// The last stores on the ways to here.
    stores: BTreeSet<NodeId>,
    /// Loads since then.
    loads: BTreeSet<NodeId>,
}

/// The accesses before a place in a region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order([Pending; 3]);

/// The classes that an address of `space` may be in.
fn classes(space: Space) -> &'static [Class] {
    match space {
        Space::Global => &[Class::Global],
        Space::Shared => &[Class::Shared],
        Space::Local => &[Class::Local],
        Space::Generic => &[Class::Global, Class::Shared, Class::Local],
        Space::Constant | Space::Param | Space::Texture => &[],
    }
}

impl Order {
    /// Dependences of an access to `space`.
    pub fn before(&self, space: Space, writes: bool) -> BTreeSet<NodeId> {
        let of = |class: &Class| {
            let Pending { stores, loads } = &self.0[*class as usize];
            // Loads have waited for the stores before them; a store with no load since then is waited for itself.
            let loads = loads.iter().filter(move |_| writes);
            stores.iter().chain(loads).copied().collect::<Vec<_>>()
        };
        classes(space).iter().flat_map(of).collect()
    }

    /// Notes an access to `space`.
    pub fn add(&mut self, space: Space, writes: bool, node: NodeId) {
        for class in classes(space) {
            let pending = &mut self.0[*class as usize];
            if writes {
                *pending = Pending { stores: [node].into(), loads: BTreeSet::new() };
            } else {
                pending.loads.insert(node);
            }
        }
    }

    /// A fence: accesses after it wait for all before it.
    pub fn fence(&mut self) {
        let all: BTreeSet<NodeId> = self.0.iter().flat_map(|p| p.stores.iter().chain(&p.loads)).copied().collect();
        self.0 = std::array::from_fn(|_| Pending { stores: all.clone(), loads: BTreeSet::new() });
    }

    /// Two ways meet.
    pub fn join(&mut self, other: &Self) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            mine.stores.extend(&other.stores);
            mine.loads.extend(&other.loads);
        }
    }
}
