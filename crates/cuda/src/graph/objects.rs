//! The data of graphs: nodes, executable graphs, objects of the program.

use crate::graph::kind;
use crate::timeline::OpId;
use crate::work::{Call, Work};
use std::collections::BTreeMap;

/// A graph.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Graph {
    pub context: u64,
    pub device: usize,
    /// In the order in which they were added.
    pub(super) nodes: Vec<u64>,
    /// Graphs within graphs: levels of them.
    pub(super) depth: u32,
    /// Whether a node of another graph owns it.
    pub(super) is_child: bool,
    /// References to objects of the program.
    pub(crate) objects: BTreeMap<u64, u32>,
}

/// A node of a graph.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Node {
    pub graph: u64,
    pub task: Task,
    /// The nodes that it follows.
    pub after: Vec<u64>,
    /// The node of which a clone of the graph made this one; otherwise 0.
    pub(super) original: u64,
    /// Attributes of the kernel that the program has set, by number.
    pub attributes: BTreeMap<u32, Vec<u8>>,
    /// Addresses of the arguments, for programs that ask for them.
    pub argument_list: Box<[u64]>,
}

/// Operation of a node.
#[derive(Clone, Debug)]
pub enum Task {
    /// A kernel, copy, fill, call, store, wait for a value, or nothing.
    Work(Work),
    /// Stores and waits for values, one after the other.
    Several(Vec<Work>),
    /// A graph.
    Child(u64),
    /// Records an event.
    Record(u64),
    /// Waits for an event.
    Wait(u64),
    /// Allocates memory: address and bytes.
    Allocate(u64, u64),
    /// Frees memory that a node has allocated.
    Free(u64),
}

impl Task {
    /// The kind of node, as a number (`CU_GRAPH_NODE_TYPE_*`).
    pub fn kind(&self) -> u32 {
        match self {
            Self::Work(Work::Launch(_)) => kind::KERNEL,
            Self::Work(Work::Copy(_)) => kind::COPY,
            Self::Work(Work::Fill(_)) => kind::FILL,
            Self::Work(Work::Call(_)) => kind::CALL,
            Self::Child(_) => kind::GRAPH,
            Self::Work(Work::Nothing | Work::Record(_) | Work::Release(_)) => kind::NOTHING,
            Self::Wait(_) => kind::WAIT,
            Self::Record(_) => kind::RECORD,
            Self::Allocate(..) => kind::ALLOCATE,
            Self::Free(_) => kind::FREE,
            Self::Work(Work::Store(..) | Work::WaitValue(_)) | Self::Several(_) => kind::VALUES,
        }
    }
}

/// An executable graph.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Executable {
    pub context: u64,
    pub device: usize,
    pub flags: u64,
    /// Each after those that it follows.
    pub(super) steps: Vec<Step>,
    /// The last operation of the last launch.
    pub(super) last: Option<OpId>,
    /// Objects of the program, each with one reference.
    pub(super) objects: Vec<u64>,
}

/// A node as it is executed.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) node: u64,
    pub(super) task: Task,
    /// The steps that it follows.
    pub(super) after: Vec<usize>,
    pub(super) is_enabled: bool,
    /// The first step of a node that is a graph; of other nodes the step itself.
    pub(super) first: usize,
}

/// An object with its references.
#[derive(Clone, Copy, Debug)]
pub struct UserObject {
    pub(super) device: usize,
    pub(super) destructor: Call,
    pub(super) references: u32,
}
