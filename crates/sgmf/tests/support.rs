//! Graphs made by hand, and a core with a memory that replies when it is told to.

pub mod program;

use dataflow::graph::{
    Access, AccessKind, Dataflow, Input, LiveId, Node, NodeId, NodeOp, Region, RegionId, Target, ThreadValue, Uniform,
    UniformId,
};
use dataflow::mapping::{LinkId, Mapped, Mapping, Route, UnitId};
use exec::DeviceState;
use exec::float::{Float2, Modifiers};
use exec::function::Function;
use exec::int::Int2;
use exec::lanes::Reg;
use exec::op::Op;
use gpu::{Core, Env};
use isa::{Dim3, KernelId, LaunchShape, Space};
use mem::{Port, Request, RequestKind};
use sgmf::{Kind, Note, Sgmf, SgmfConfig, SgmfCounters, SgmfKernel, Timing, UnitCounts};
use std::collections::BTreeMap;

/// The function of a 32- or 64-bit integer operation.
pub fn int(op: Int2) -> Function {
    Function::of(&Op::Int2(op, Reg(0), [Reg(2), Reg(4)])).expect("pure").0[0].1
}

/// Single-precision division.
pub fn divide() -> Function {
    Function::of(&Op::Float2(Float2::DivRnF32, Modifiers::default(), Reg(0), [Reg(2), Reg(4)])).expect("pure").0[0].1
}

/// A region under construction.
#[derive(Clone, Debug, Default)]
pub struct Graph(pub Region);

impl Graph {
    pub fn node(&mut self, op: NodeOp, inputs: &[Input]) -> Input {
        self.0.nodes.push(Node { op, inputs: inputs.to_vec(), pc: None });
        Input::Token(NodeId(self.0.nodes.len() as u32 - 1))
    }

    pub fn inject(&mut self, value: ThreadValue) -> Input {
        self.node(NodeOp::Inject(value), &[])
    }

    /// Position in the CTA.
    pub fn tid(&mut self) -> Input {
        self.inject(ThreadValue::Tid(0))
    }

    pub fn live(&mut self) -> Input {
        self.inject(ThreadValue::Live)
    }

    pub fn int(&mut self, op: Int2, a: Input, b: Input) -> Input {
        self.node(NodeOp::Apply(int(op)), &[a, b])
    }

    pub fn add(&mut self, a: Input, b: Input) -> Input {
        self.int(Int2::Add32, a, b)
    }

    pub fn delay(&mut self, cycles: u8, a: Input) -> Input {
        self.node(NodeOp::Delay(cycles), &[a])
    }

    pub fn access(&mut self, kind: AccessKind, target: Target, base: Input, inputs: [Input; 3]) -> Input {
        let base = [base, Input::Immediate(0)];
        let access = Access { kind, target, bytes: 4, signed: false, register_bits: 32, base };
        self.node(NodeOp::Access(access), &inputs)
    }

    /// Loads a word of global memory.
    pub fn load(&mut self, base: Input, address: Input, enable: Input) -> Input {
        let inputs = [address, Input::Immediate(0), enable];
        self.access(AccessKind::Load, Target::Space(Space::Global), base, inputs)
    }

    /// Stores a word of global memory.
    pub fn store(&mut self, base: Input, address: Input, data: Input, enable: Input) -> Input {
        self.access(AccessKind::Store, Target::Space(Space::Global), base, [address, data, enable])
    }

    pub fn load_live(&mut self, slot: u32, enable: Input) -> Input {
        let inputs = [Input::Immediate(0), Input::Immediate(0), enable];
        self.access(AccessKind::Load, Target::Live(LiveId(slot)), Input::Immediate(0), inputs)
    }

    pub fn store_live(&mut self, slot: u32, data: Input, enable: Input) -> Input {
        let inputs = [Input::Immediate(0), data, enable];
        self.access(AccessKind::Store, Target::Live(LiveId(slot)), Input::Immediate(0), inputs)
    }

    pub fn next(&mut self, region: u32, condition: Input) {
        self.node(NodeOp::Next(RegionId(region)), &[condition]);
    }
}

/// The index of a node.
pub fn number(input: Input) -> u32 {
    match input {
        Input::Token(node) => node.0,
        _ => panic!("not a node"),
    }
}

/// The first parameter, 8 bytes: a uniform value.
pub const PARAM: Input = Input::Uniform(UniformId(0));
pub const YES: Input = Input::Immediate(1);

/// A region, each node on a unit of its own, each route of `links` links of its own.
pub fn mapping(region: Region, mut links: impl FnMut(NodeId, NodeId) -> usize) -> Mapping {
    let (mut routes, mut next) = (Vec::new(), 0);
    for (to, node) in region.nodes.iter().enumerate() {
        for (port, from) in node.tokens() {
            let to = NodeId(to as u32);
            let count = links(from, to) as u32;
            let links = (next..next + count).map(LinkId).collect();
            next += count;
            routes.push(Route { from, to, port: port as u8, links });
        }
    }
    let is_unit = |op: &NodeOp| !matches!(op, NodeOp::Inject(_));
    let units = region.nodes.iter().enumerate().map(|(i, n)| is_unit(&n.op).then_some(UnitId(i as u16))).collect();
    Mapping { region, copies: 1, units, routes, wires: BTreeMap::new(), configuration_bits: 0 }
}

/// A kernel of `regions` without links, with a parameter of 8 bytes and `live` values of 4.
pub fn mapped(regions: Vec<Graph>, live: usize) -> Mapped {
    let uniforms = vec![Uniform::Param { offset: 0, bytes: 8, signed: false, register_bits: 64 }];
    let dataflow = Dataflow { name: "test".into(), uniforms, live: vec![4; live], ..Dataflow::default() };
    Mapped { dataflow, mappings: regions.into_iter().map(|graph| mapping(graph.0, |_, _| 0)).collect() }
}

/// Units of each kind: enough for any graph.
pub const UNITS: UnitCounts = [1000; Kind::COUNT];

/// Units of one cycle, core and fabric in the same clock.
pub fn config(entries: u32) -> SgmfConfig {
    SgmfConfig { entries, clock_ratio: 1, ..SgmfConfig::default() }
}

/// Cycles from a request to its reply, by request and its number.
pub type Delay = Box<dyn FnMut(&Request, u64) -> u64>;

/// A core with its memory.
pub struct Bench {
    pub core: Sgmf<Vec<(u64, Note)>>,
    pub config: SgmfConfig,
    pub timing: Timing,
    pub device: DeviceState,
    pub delay: Delay,
    pub requests: Vec<(u64, Request)>,
    kernels: Vec<SgmfKernel>,
    port: Port,
    pending: BTreeMap<(u64, u64), Request>,
    pub now: u64,
}

impl Bench {
    pub fn new(config: SgmfConfig) -> Self {
        let gpu = config::load("accel-sim/gtx480").expect("built in");
        Self {
            core: Sgmf::observed(&gpu, config, UNITS, 0, Vec::new()),
            config,
            timing: Timing::unit(),
            device: DeviceState::new(1 << 24, exec::GpuFacts::default()),
            delay: Box::new(|_, _| 20),
            requests: Vec::new(),
            kernels: Vec::new(),
            port: Port::default(),
            pending: BTreeMap::new(),
            now: 0,
        }
    }

    /// `words` in device memory.
    pub fn array(&mut self, words: &[u32]) -> u64 {
        let base = self.device.memory.allocate("array", 4 * words.len() as u64).expect("room");
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.device.memory.write(base, &bytes).expect("there");
        base
    }

    pub fn words(&self, base: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.device.memory.read(base, &mut bytes).expect("there");
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes"))).collect()
    }

    /// Runs `ctas` CTAs of `threads` threads of `mapped`, and gives the lines of a deadlock if it ends in one.
    pub fn launch(&mut self, mapped: &Mapped, ctas: u32, threads: u32, param: u64) -> Result<(), Vec<String>> {
        let shape = LaunchShape {
            grid: Dim3::new(ctas, 1, 1),
            block: Dim3::new(threads, 1, 1),
            registers_per_thread: 0,
            shared_bytes: 0,
            cluster: None,
        };
        let params = [param as u32, (param >> 32) as u32];
        let kernel = SgmfKernel::of_graph(mapped, shape, &params, &self.config, &self.timing).expect("it fits");
        self.run(kernel, ctas)
    }

    pub fn run(&mut self, kernel: SgmfKernel, ctas: u32) -> Result<(), Vec<String>> {
        let id = KernelId::from(self.kernels.len());
        let shape = *gpu::CoreKernel::shape(&kernel);
        self.kernels.push(kernel);
        let (mut started, mut ended) = (0, 0);
        while ended < ctas {
            if started < ctas && self.core.can_accept(&mut std::iter::empty(), &shape) {
                let Self { kernels, device, port, core, now, .. } = self;
                core.start_cta(
                    *now,
                    &mut Env { kernels, shared: gpu::Access::Alone(device), port },
                    id,
                    Dim3::new(started, 0, 0),
                );
                started += 1;
            }
            let next = self.core.next_event(&self.port);
            let reply = self.pending.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
            if next.min(reply) == u64::MAX {
                return Err(self.core.describe_stalls(&self.kernels));
            }
            self.now = if started < ctas { self.now } else { next.min(reply).max(self.now) };
            self.cycle();
            ended += self.core.finished().drain(..).count() as u32;
        }
        self.core.settle(self.now);
        self.core.check();
        self.check_counts();
        Ok(())
    }

    /// Bits that entered buffers have left them, in any graph.
    fn check_counts(&self) {
        let SgmfCounters { fabric: f, works, .. } = self.counters();
        assert_eq!(f.token_bits, f.token_bits_read, "bits of tokens written and read");
        assert_eq!(f.reserved_bits, f.reserved_bits_read, "bits of results written to reservation buffers and read");
        assert_eq!(works.0.iter().sum::<u64>(), f.firings, "firings by what they do");
        assert!(f.reserved_cycles <= f.reservable_cycles && f.busy_cycles <= f.cycles && f.matches <= f.tokens);
        assert!(f.hops <= f.hop_bits && f.configuration_cycles <= f.busy_cycles);
    }

    fn cycle(&mut self) {
        while let Some(((at, number), request)) = self.pending.pop_first() {
            if at > self.now {
                self.pending.insert((at, number), request);
                break;
            }
            self.port.inbox.push_back((self.now, request));
        }
        let Self { kernels, device, port, core, now, .. } = self;
        core.tick(*now, &mut Env { kernels, shared: gpu::Access::Alone(device), port }).expect("no fault");
        while let Some((at, request)) = self.port.outbox.pop_front() {
            let number = self.requests.len() as u64;
            self.requests.push((at, request));
            if request.kind != RequestKind::WriteBack {
                let delay = (self.delay)(&request, number).max(1);
                self.pending.insert((at + delay, number), request);
            }
        }
        self.now += 1;
    }

    pub fn counters(&self) -> SgmfCounters {
        let mut sum = SgmfCounters::default();
        self.core.count(&mut sum);
        sum
    }

    /// Cycles, counted from `from`, in which `node` fired, with the thread.
    pub fn fired(&self, from: u64, node: u32) -> Vec<(u64, u32)> {
        let of = |&(at, note): &(u64, Note)| match note {
            Note::Fire { node: n, tid } if n.0 == node && at >= from => Some((at - from, tid)),
            _ => None,
        };
        self.core.observer().iter().filter_map(of).collect()
    }

    /// A drawing: a row for each node, a column for each cycle from `from`, the thread that the node executes.
    pub fn drawn(&self, from: u64, rows: &[(&str, u32)]) -> String {
        let mut text = String::new();
        for (name, node) in rows {
            let fired = self.fired(from, *node);
            let last = rows.iter().flat_map(|(_, n)| self.fired(from, *n)).map(|(at, _)| at).max().unwrap_or(0);
            let cell = |at| fired.iter().find(|f| f.0 == at).map_or(".".into(), |f| f.1.to_string());
            let cells: Vec<String> = (0..=last).map(cell).collect();
            text += &format!("{name:<5} {}\n", cells.join(" "));
        }
        text
    }
}
