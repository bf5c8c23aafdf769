//! The control-data-flow graph of a part of a kernel: what the compiler makes and a fabric executes.
//!
//! A kernel is a [`Dataflow`]: regions without loops and barriers, each one graph. Every thread passes every node of a
//! graph once. A node fires when it has a token of the same thread at each port that takes tokens, and sends its
//! result to all ports that name it.

use exec::atomic::Atomic;
use exec::function::Function;
use exec::op::Op;
use isa::{Pc, Space};

/// A node, by index in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value that all threads of a launch share, by index in its [`Dataflow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniformId(pub u32);

/// A region, by index in its [`Dataflow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub u32);

/// A value that is kept in memory between regions, by index in its [`Dataflow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LiveId(pub u32);

/// Value at a port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The result of a node, a token for each thread.
    Token(NodeId),
    /// A number in the unit's configuration register.
    Immediate(u64),
    /// A value that is put into the configuration register when the kernel is launched.
    Uniform(UniformId),
}

/// A value that the injector at the rim sends for each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadValue {
    /// Position in the CTA, by axis (0: x).
    Tid(u8),
    /// Position of the CTA in the grid, by axis.
    Ctaid(u8),
    /// Whether the thread takes part in this region: a predicate.
    Live,
}

/// Kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Result: the value, extended as the format says.
    Load,
    /// Result: a predicate, the enable token of what comes after it (false if the store was not performed).
    Store,
    /// Read-modify-write at L2, the operation in canonical registers. Result: the old value.
    Atomic(Op),
}

/// Where a memory access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// An address of this state space; shared addresses are within the CTA's array.
    Space(Space),
    /// The place of a live value of the thread. It has no address port.
    Live(LiveId),
}

/// A load, a store or an atomic operation of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its kind.
    pub kind: AccessKind,
    /// Where it goes.
    pub target: Target,
    /// Bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// A loaded value that is narrower than its register is sign-extended.
    pub signed: bool,
    /// Bits of the register that is loaded or stored: 16, 32 or 64.
    pub register_bits: u8,
    /// Added to the address token by the unit: an immediate or a uniform.
    pub base: [Input; 2],
}

/// The operands of an atomic operation, from what is at its data port and at the one for a second value. A
/// compare-and-swap of up to 32 bits has both at the data port, the value to compare with in the lower half.
pub fn operands(atomic: &Atomic, [data, second]: [u64; 2]) -> [u64; 2] {
    let word = u64::from(u32::MAX);
    match atomic.ty.bytes() {
        8 => [data, second],
        _ => [data & word, if atomic.c.is_some() { data >> 32 } else { second }],
    }
}

/// Operation of a node. Ports are in the order of the inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeOp {
    /// The injector sends a value of the thread. No port.
    Inject(ThreadValue),
    /// A pure operation, in a compute unit or a special unit.
    Apply(Function),
    /// Ports: predicate, value if it holds, value if not.
    Select,
    /// A label, or logic on predicates: a function of two predicates, given as truth table (bit `a + 2 b`).
    Label(u8),
    /// Waits for both ports, and sends the value of the first: order of memory accesses.
    Join,
    /// Delays a token by as many firings: balances paths.
    Delay(u8),
    /// Ports: address, data (of stores and atomics; else an immediate), enable, and of a compare-and-swap of 64 bits
    /// the value to store. Without the enable it performs nothing, and sends 0; the token continues all the same.
    Access(Access),
    /// The thread continues in this region if the predicate (the port) holds. Sends nothing.
    Next(RegionId),
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its operation.
    pub op: NodeOp,
    /// By port.
    pub inputs: Vec<Input>,
    /// The instruction that it comes from, for messages and statistics.
    pub pc: Option<Pc>,
}

impl Node {
    /// Nodes that send it tokens, with the port.
    pub fn tokens(&self) -> impl Iterator<Item = (usize, NodeId)> + '_ {
        self.inputs.iter().enumerate().filter_map(|(port, input)| match input {
            Input::Token(node) => Some((port, *node)),
            _ => None,
        })
    }

    /// Whether it sends nothing: stores whose token nobody takes, ends of regions.
    pub fn is_sink(&self) -> bool {
        matches!(self.op, NodeOp::Next(_))
    }
}

/// A region: code without loops and barriers that threads enter at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// In an order in which every token comes from an earlier node.
    pub nodes: Vec<Node>,
    /// Regions in which its threads may continue; none where they end.
    pub successors: Vec<RegionId>,
    /// Threads continue in this one region after it, all of them (no [`NodeOp::Next`] says so).
    pub always: Option<RegionId>,
    /// It begins after a barrier: it runs for a CTA when all of its threads that have not ended are there.
    pub after_barrier: bool,
    /// First instruction, for messages.
    pub entry: Pc,
}

impl Region {
    /// Copies of its graph, one after the other.
    pub fn side_by_side(mut self, copies: u32) -> Self {
        let one = self.nodes.clone();
        for copy in 1..copies {
            let first = copy * one.len() as u32;
            self.nodes.extend(one.iter().cloned().map(|mut node| {
                for input in &mut node.inputs {
                    if let Input::Token(NodeId(from)) = input {
                        *from += first;
                    }
                }
                node
            }));
        }
        self
    }
}

/// A uniform value.
#[derive(Clone, Debug, PartialEq)]
pub enum Uniform {
    /// Bytes of the packed parameters.
    Param {
        /// Where they begin.
        offset: u32,
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Sign-extended to the register.
        signed: bool,
        /// Bits of the register: 16, 32 or 64.
        register_bits: u8,
    },
    /// Threads of a CTA, by axis.
    Ntid(u8),
    /// CTAs of the grid, by axis.
    Nctaid(u8),
    /// A pure operation on immediates and uniforms that come before it.
    Apply(Function, Vec<Input>),
    /// The first where the predicate holds, else the second.
    Select([Input; 3]),
}

/// A kernel as graphs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataflow {
    /// Name of the kernel.
    pub name: String,
    /// The first is where threads begin.
    pub regions: Vec<Region>,
    /// Values that all threads share, in an order in which each uses earlier ones.
    pub uniforms: Vec<Uniform>,
    /// Bytes (1 to 8) of each value that is kept in memory between regions.
    pub live: Vec<u8>,
    /// Shared memory of a CTA without the dynamic part, in bytes.
    pub static_shared: u32,
    /// Local memory of a thread, in bytes.
    pub local_bytes: u32,
}
