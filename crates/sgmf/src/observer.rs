//! Token events for timelines.

use dataflow::graph::{NodeId, RegionId};

/// Something that happened to a thread at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub enum Note {
    /// The injector sends a value.
    Inject { node: NodeId, tid: u32 },
    /// The node's unit executes it.
    Fire { node: NodeId, tid: u32 },
    /// The node's result leaves its unit.
    Send { node: NodeId, tid: u32 },
    /// A token enters a token buffer.
    Arrive { node: NodeId, port: u8, tid: u32 },
    /// An access goes to memory: none that is disabled.
    Access { node: NodeId, tid: u32, address: u64 },
    /// A region begins to run.
    Begin { region: RegionId, threads: u32 },
    /// The last token of a region has been taken.
    End { region: RegionId },
}

/// Sees what happens on a fabric, in order. The one that sees nothing is `()`.
pub trait Observer: Send {
    /// `note` happened in fabric cycle `at`.
    fn note(&mut self, _at: u64, _note: Note) {}
}

impl Observer for () {}

impl Observer for Vec<(u64, Note)> {
    fn note(&mut self, at: u64, note: Note) {
        self.push((at, note));
    }
}
