//! The configuration of a fabric for a region (§5.2, §5.3): what each unit does, and where its results go.
//!
//! All that can move in a cycle is an *element*: a unit, a segment of links, or a value that the injector sends.
//! Elements are numbered from the sinks of the graph to its sources: whatever takes an element's tokens has a lower
//! number.

use crate::config::{SgmfConfig, Timing};
use crate::kind::Kind;
use crate::shares::Shares;
use dataflow::graph::{AccessKind, Input, NodeOp, RegionId, Target as Place, ThreadValue};
use dataflow::mapping::{LinkId, Mapping, UnitId};
use dataflow::{resources, width};
use exec::atomic::Atomic;
use exec::function::Function;
use exec::op::Op;
use exec::single::Element as MemoryElement;
use isa::{OpClass, Pc, Space, Work};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Maximum number of ports of a unit: an atomic operation has an address, two operands and an enable.
pub(crate) const MOST_PORTS: usize = 4;

/// Why a mapping is none of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub struct KernelError {
    /// First instruction of the region.
    pub entry: Pc,
    pub what: String,
}

impl std::fmt::Display for KernelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the region at instruction {} cannot be configured: {}", self.entry.0, self.what)
    }
}

impl std::error::Error for KernelError {}

/// Where a port of a unit has its values from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    /// A token buffer.
    Port(u32),
    /// The configuration register.
    Constant(u64),
}

/// A memory access, its uniform values resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub kind: AccessKind,
    pub atomic: Option<Atomic>,
    pub target: Place,
    pub element: MemoryElement,
    /// Added to the address.
    pub base: u64,
}

impl Access {
    /// Whether it is kept apart by thread.
    pub const fn is_private(&self) -> bool {
        matches!(self.target, Place::Live(_) | Place::Space(Space::Local))
    }
}

/// Operation of a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Apply(Function),
    Select,
    Label(u8),
    /// The value of the first port.
    First,
    Next(RegionId),
    Access(Access),
}

/// A unit in use.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub kind: Kind,
    pub action: Action,
    /// Index of its node in the region.
    pub node: u32,
    /// Which copy of the graph it is of.
    pub copy: u32,
    pub pc: Option<Pc>,
    pub element: u32,
    /// In cycles.
    pub latency: u32,
    /// Results that it holds between cycles, if it is pipelined.
    pub holds: usize,
    /// Cycles from one firing to the next.
    pub interval: u32,
    /// Cycles for which an operation occupies a block of a special unit.
    pub occupied: u32,
    /// Its token buffers.
    pub ports: Range<u32>,
    pub operands: [Operand; MOST_PORTS],
    pub targets: Range<u32>,
    /// Work of a firing.
    pub work: Work,
    pub moves: Moves,
}

/// Bits that a firing moves within its unit, each with its tag.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moves {
    /// The result.
    pub result: u32,
    /// Through the stages of a pipeline, summed over them.
    pub stages: u32,
    /// Through a delay FIFO.
    pub fifo: u32,
}

/// A token buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub unit: u32,
    /// The element that fills it.
    pub feeder: u32,
    /// Which of the node's inputs it is.
    pub input: u8,
    /// Bits of an entry.
    pub bits: u32,
}

/// Links in a row, without a branch between them, each with its registers.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub element: u32,
    pub feeder: u32,
    pub targets: Range<u32>,
    pub links: Vec<LinkId>,
    /// Registers: tokens that it holds, and cycles that a token takes.
    pub registers: u32,
    /// Bits of a token that its registers store, summed over them.
    pub bits: u32,
    /// Bits of a token times the distance that they travel.
    pub wire: u32,
    /// Bits of a token that pass multiplexers of switches, summed over them.
    pub switched: u32,
}

/// A value that the injector sends.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub value: ThreadValue,
    pub node: u32,
    /// Which copy of the graph it is for.
    pub copy: u32,
    pub element: u32,
    pub targets: Range<u32>,
    /// Bits of a token.
    pub bits: u32,
    /// All sources of its copy.
    pub group: Range<u32>,
}

/// Where a token goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Segment(u32),
    Port(u32),
}

/// An element: an index by kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element {
    Unit(u32),
    Segment(u32),
    Source(u32),
}

/// A region as a fabric executes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configuration {
    pub elements: Vec<Element>,
    pub units: Vec<Unit>,
    pub ports: Vec<Port>,
    pub segments: Vec<Segment>,
    pub sources: Vec<Source>,
    pub targets: Vec<Target>,
    /// Copies of the graph side by side, and which threads pass which.
    pub shares: Shares,
    /// Units in use, by kind.
    pub used: [u32; Kind::COUNT],
    /// Links in use.
    pub links: u32,
    /// In core cycles.
    pub configuration_cycles: u64,
    pub configuration_bits: u64,
    /// Threads continue there, all of them.
    pub always: Option<RegionId>,
    pub after_barrier: bool,
    pub entry: Pc,
}

impl Configuration {
    /// The configuration of `mapping`, whose uniform values are `uniforms`.
    ///
    /// # Errors
    /// The mapping is not one of a fabric of `config`: what is wrong with it.
    pub fn new(mapping: &Mapping, uniforms: &[u64], config: &SgmfConfig, timing: &Timing) -> Result<Self, KernelError> {
        let bits = mapping.configuration_bits;
        let cycles = if config.configuration_bits == 0 { 0 } else { bits.div_ceil(config.configuration_bits.into()) };
        let mut build = Builder {
            mapping,
            uniforms,
            config,
            timing,
            made: Self {
                shares: Shares { copies: mapping.copies, block: config.copy_block },
                configuration_cycles: cycles,
                configuration_bits: bits,
                always: mapping.region.always,
                after_barrier: mapping.region.after_barrier,
                entry: mapping.region.entry,
                ..Self::default()
            },
            widths: width::bits(&mapping.region.nodes),
            taken: BTreeSet::new(),
            units: BTreeSet::new(),
        };
        let nodes = mapping.region.nodes.len();
        if mapping.copies == 0 || !nodes.is_multiple_of(mapping.copies as usize) {
            return Err(build.bad(format!("{nodes} nodes are not {} equal copies", mapping.copies)));
        }
        let mut routes = vec![Vec::new(); nodes];
        for (at, route) in mapping.routes.iter().enumerate() {
            let of = routes.get_mut(route.from.index()).ok_or_else(|| build.bad("a route begins at no node"))?;
            of.push(at);
        }
        let mut ports = vec![[None; MOST_PORTS]; nodes];
        for node in (0..nodes).rev() {
            build.node(node, &routes[node], &mut ports)?;
        }
        build.finish()
    }

    /// A node's unit or source has this many targets.
    pub fn targets(&self, of: &Range<u32>) -> &[Target] {
        &self.targets[of.start as usize..of.end as usize]
    }
}

/// A part of the way of a result.
#[derive(Debug)]
enum Branch {
    /// A link and where it leads.
    Link(LinkId, Vec<Self>),
    Port(u32),
}

struct Builder<'a> {
    mapping: &'a Mapping,
    uniforms: &'a [u64],
    config: &'a SgmfConfig,
    timing: &'a Timing,
    made: Configuration,
    /// Bits of the result of each node.
    widths: Vec<u8>,
    taken: BTreeSet<LinkId>,
    units: BTreeSet<UnitId>,
}

impl Builder<'_> {
    fn bad(&self, what: impl Into<String>) -> KernelError {
        KernelError { entry: self.mapping.region.entry, what: what.into() }
    }

    /// Which copy of the graph a node is of.
    fn copy(&self, node: usize) -> u32 {
        let nodes = self.mapping.region.nodes.len() / self.mapping.copies as usize;
        (node / nodes) as u32
    }

    /// Adds the segments of a node's links, the nearest to the sinks first, and then the node itself.
    fn node(
        &mut self,
        node: usize,
        routes: &[usize],
        ports: &mut [[Option<u32>; MOST_PORTS]],
    ) -> Result<(), KernelError> {
        let roots = self.tree(node, routes, ports)?;
        let bits = self.token_bits(node);
        let roots: Vec<Target> = roots.into_iter().map(|root| self.segments(root, Vec::new(), bits)).collect();
        let targets = self.add_targets(&roots);
        let element = self.made.elements.len() as u32;
        for target in &roots {
            self.feed(*target, element);
        }
        let region = &self.mapping.region.nodes[node];
        match (&region.op, resources::kind(&region.op).map(Kind::of)) {
            (NodeOp::Inject(value), _) => {
                self.made.elements.push(Element::Source(self.made.sources.len() as u32));
                let (copy, group) = (self.copy(node), 0..0);
                self.made.sources.push(Source {
                    value: *value,
                    node: node as u32,
                    copy,
                    element,
                    targets,
                    bits,
                    group,
                });
            }
            (_, Some(kind)) => self.unit(node, kind, targets, &mut ports[node])?,
            (_, None) => {}
        }
        Ok(())
    }

    /// Where a node's result goes: a tree of links.
    fn tree(
        &mut self,
        node: usize,
        routes: &[usize],
        ports: &[[Option<u32>; MOST_PORTS]],
    ) -> Result<Vec<Branch>, KernelError> {
        let mut roots: Vec<Branch> = Vec::new();
        let mut before_of: BTreeMap<LinkId, Option<LinkId>> = BTreeMap::new();
        for &route in routes {
            let route = &self.mapping.routes[route];
            let mut before: Option<LinkId> = None;
            let mut branches = &mut roots;
            for &link in &route.links {
                if *before_of.entry(link).or_insert(before) != before {
                    return Err(self.bad(format!("link {} joins two branches of node {node}", link.0)));
                }
                let known = branches.iter().position(|branch| matches!(branch, Branch::Link(l, _) if *l == link));
                if known.is_none() {
                    if !self.taken.insert(link) {
                        return Err(self.bad(format!("link {} is used by two results", link.0)));
                    }
                    branches.push(Branch::Link(link, Vec::new()));
                }
                let at = known.unwrap_or(branches.len() - 1);
                let Branch::Link(_, next) = &mut branches[at] else { unreachable!("a link was found") };
                (before, branches) = (Some(link), next);
            }
            let port = ports.get(route.to.index()).and_then(|ports| *ports.get(usize::from(route.port))?);
            let Some(port) = port else {
                return Err(self.bad(format!("no token goes to port {} of node {}", route.port, route.to.0)));
            };
            branches.push(Branch::Port(port));
        }
        Ok(roots)
    }

    /// Adds the segments of `branch`, to which the links `before` lead without a branch.
    fn segments(&mut self, branch: Branch, mut before: Vec<LinkId>, bits: u32) -> Target {
        let branches = match branch {
            Branch::Port(port) if before.is_empty() => return Target::Port(port),
            Branch::Port(_) => vec![branch],
            Branch::Link(link, branches) => {
                before.push(link);
                branches
            }
        };
        let targets: Vec<Target> = match <[Branch; 1]>::try_from(branches) {
            Ok([next @ Branch::Link(..)]) => return self.segments(next, before, bits),
            Ok([Branch::Port(port)]) => vec![Target::Port(port)],
            Err(branches) => branches.into_iter().map(|next| self.segments(next, Vec::new(), bits)).collect(),
        };
        let (id, element) = (self.made.segments.len() as u32, self.made.elements.len() as u32);
        self.made.elements.push(Element::Segment(id));
        targets.iter().for_each(|target| self.feed(*target, element));
        let registers = before.len() as u32 * self.config.hop_cycles;
        let targets = self.add_targets(&targets);
        let wires = before.iter().map(|link| self.mapping.wires.get(link).copied().unwrap_or_default());
        let pitches: u32 = wires.clone().map(|wire| u32::from(wire.pitches)).sum();
        let switches = wires.filter(|wire| wire.is_switched).count() as u32;
        self.made.segments.push(Segment {
            element,
            feeder: u32::MAX,
            targets,
            links: before,
            registers,
            bits: bits * registers,
            wire: bits * pitches,
            switched: bits * switches,
        });
        Target::Segment(id)
    }

    /// Bits of the tokens of a node, with their tag.
    fn token_bits(&self, node: usize) -> u32 {
        u32::from(self.widths[node]) + self.config.tag_bits()
    }

    fn add_targets(&mut self, targets: &[Target]) -> Range<u32> {
        let first = self.made.targets.len() as u32;
        self.made.targets.extend_from_slice(targets);
        first..self.made.targets.len() as u32
    }

    fn feed(&mut self, target: Target, element: u32) {
        match target {
            Target::Segment(segment) => self.made.segments[segment as usize].feeder = element,
            Target::Port(port) => self.made.ports[port as usize].feeder = element,
        }
    }

    fn unit(
        &mut self,
        at: usize,
        kind: Kind,
        targets: Range<u32>,
        ports: &mut [Option<u32>; MOST_PORTS],
    ) -> Result<(), KernelError> {
        let node = &self.mapping.region.nodes[at];
        if let Some(&Some(unit)) = self.mapping.units.get(at)
            && !self.units.insert(unit)
        {
            return Err(self.bad(format!("unit {} has two nodes", unit.0)));
        }
        if node.inputs.len() > MOST_PORTS {
            return Err(self.bad(format!("node {at} has {} ports; a unit has {MOST_PORTS}", node.inputs.len())));
        }
        let unit = self.made.units.len() as u32;
        let first = self.made.ports.len() as u32;
        let mut operands = [Operand::Constant(0); MOST_PORTS];
        for (number, input) in node.inputs.iter().enumerate() {
            operands[number] = match *input {
                Input::Token(from) => {
                    let port = self.made.ports.len() as u32;
                    let value = self.widths.get(from.index()).copied().unwrap_or_default();
                    let bits = u32::from(value) + self.config.stored_tag_bits();
                    self.made.ports.push(Port { unit, feeder: u32::MAX, input: number as u8, bits });
                    ports[number] = Some(port);
                    Operand::Port(port)
                }
                constant => Operand::Constant(self.constant(constant)?),
            };
        }
        let last = self.made.ports.len() as u32;
        if first == last {
            return Err(self.bad(format!("node {at} takes no token: nothing says for which thread it fires")));
        }
        let (latency, interval) = (self.timing.of_node(&node.op), self.interval(&node.op));
        let holds = match node.op {
            NodeOp::Delay(places) => usize::from(places).saturating_sub(1),
            _ => latency as usize - 1,
        };
        let action = self.action(&node.op)?;
        let work = match &node.op {
            NodeOp::Apply(function) => function.work(),
            NodeOp::Select => Work::IntAdd,
            NodeOp::Access(_) => Work::Memory,
            _ => Work::None,
        };
        let moves = self.moves(at, kind, latency);
        let element = self.made.elements.len() as u32;
        self.made.elements.push(Element::Unit(unit));
        self.made.used[kind as usize] += 1;
        self.made.units.push(Unit {
            kind,
            action,
            node: at as u32,
            copy: self.copy(at),
            pc: node.pc,
            element,
            latency,
            holds,
            interval,
            occupied: match &node.op {
                NodeOp::Apply(function) => self.timing.blocks[function.class() as usize],
                _ => 1,
            },
            ports: first..last,
            operands,
            targets,
            work,
            moves,
        });
        Ok(())
    }

    /// Bits moved in its unit by a firing of node `at`.
    fn moves(&self, at: usize, kind: Kind, latency: u32) -> Moves {
        let result = self.token_bits(at);
        let is_fifo = matches!(self.mapping.region.nodes[at].op, NodeOp::Delay(_));
        let is_pipeline = !is_fifo && matches!(kind, Kind::Compute | Kind::Control);
        Moves { result, stages: if is_pipeline { result * latency } else { 0 }, fifo: if is_fifo { result } else { 0 } }
    }

    fn constant(&self, input: Input) -> Result<u64, KernelError> {
        match input {
            Input::Immediate(value) => Ok(value),
            Input::Uniform(id) => {
                let value = self.uniforms.get(id.0 as usize);
                value.copied().ok_or_else(|| self.bad(format!("there is no uniform value {}", id.0)))
            }
            Input::Token(_) => Err(self.bad("a base address is a token")),
        }
    }

    /// Cycles from one firing to the next of a unit that executes `op`.
    fn interval(&self, op: &NodeOp) -> u32 {
        use OpClass::{DpAdd, DpFma, DpMinMax, DpMul};
        let is_double = |function: &Function| matches!(function.class(), DpAdd | DpMinMax | DpMul | DpFma);
        if matches!(op, NodeOp::Apply(function) if is_double(function)) { self.config.double_interval } else { 1 }
    }

    fn action(&self, op: &NodeOp) -> Result<Action, KernelError> {
        Ok(match op {
            NodeOp::Apply(function) => Action::Apply(*function),
            NodeOp::Select => Action::Select,
            NodeOp::Label(table) => Action::Label(*table),
            NodeOp::Join | NodeOp::Delay(_) | NodeOp::Inject(_) => Action::First,
            NodeOp::Next(region) => Action::Next(*region),
            NodeOp::Access(access) => {
                let atomic = match access.kind {
                    AccessKind::Atomic(Op::Atomic(atomic)) => Some(atomic),
                    AccessKind::Atomic(_) => return Err(self.bad("an atomic access without an atomic operation")),
                    _ => None,
                };
                let [a, b] = access.base;
                let base = self.constant(a)?.wrapping_add(self.constant(b)?);
                let element =
                    MemoryElement { bytes: access.bytes, signed: access.signed, register_bits: access.register_bits };
                if !matches!(access.bytes, 1 | 2 | 4 | 8) || !matches!(access.register_bits, 16 | 32 | 64) {
                    return Err(self.bad(format!("an access of {} bytes", access.bytes)));
                }
                Action::Access(Access { kind: access.kind, atomic, target: access.target, element, base })
            }
        })
    }

    fn finish(self) -> Result<Configuration, KernelError> {
        if let Some(port) = self.made.ports.iter().find(|port| port.feeder == u32::MAX) {
            let node = self.made.units[port.unit as usize].node;
            return Err(self.bad(format!("no route ends at port {} of node {node}", port.input)));
        }
        let mut made = self.made;
        let mut first = 0;
        for group in made.sources.chunk_by_mut(|a, b| a.copy == b.copy) {
            let end = first + group.len() as u32;
            group.iter_mut().for_each(|source| source.group = first..end);
            first = end;
        }
        made.links = self.taken.len() as u32;
        Ok(made)
    }
}
