//! Speed of the simulation with all 108 units of a fabric busy: fabric cycles and firings per second.
//!
//! `cargo run --release -p warpwright-sgmf --example peak [THREADS]`; under callgrind, the instructions per firing.

use dataflow::fabric::{Fabric, FabricSpec};
use dataflow::graph::{
    Access, AccessKind, Dataflow, Input, Node, NodeId, NodeOp, Region, Target, ThreadValue, Uniform, UniformId,
};
use dataflow::mapping::{LinkId, Mapped, Mapping, Route, UnitId};
use exec::float::{Float2, Modifiers};
use exec::function::Function;
use exec::int::Int2;
use exec::lanes::Reg;
use exec::op::Op;
use exec::{DeviceState, GpuFacts};
use gpu::{Machine, StreamId};
use isa::{Dim3, LaunchShape, Space};
use sgmf::{Sgmf, SgmfConfig, SgmfKernel, Timing, unit_counts};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Links of each route.
const LINKS: u32 = 2;
const THREADS_PER_CTA: u32 = 256;

struct Graph(Region);

impl Graph {
    fn node(&mut self, op: NodeOp, inputs: &[Input]) -> Input {
        self.0.nodes.push(Node { op, inputs: inputs.to_vec(), pc: None });
        Input::Token(NodeId(self.0.nodes.len() as u32 - 1))
    }
}

fn function(op: Op) -> NodeOp {
    NodeOp::Apply(Function::of(&op).expect("pure").0[0].1)
}

/// 32 times: an address, a load, a delay; 12 of the loaded values are divided.
fn all_units() -> Region {
    let mut graph = Graph(Region::default());
    let tid = graph.node(NodeOp::Inject(ThreadValue::Tid(0)), &[]);
    for lane in 0..32 {
        let scale = Op::Int2(Int2::MulLo32, Reg(0), [Reg(2), Reg(4)]);
        let address = graph.node(function(scale), &[tid, Input::Immediate(4)]);
        let access = Access {
            kind: AccessKind::Load,
            target: Target::Space(Space::Global),
            bytes: 4,
            signed: false,
            register_bits: 32,
            base: [Input::Uniform(UniformId(0)), Input::Immediate(4 * lane)],
        };
        let inputs = [address, Input::Immediate(0), Input::Immediate(1)];
        let loaded = graph.node(NodeOp::Access(access), &inputs);
        let later = graph.node(NodeOp::Delay(2), &[loaded]);
        if lane < 12 {
            let divide = Op::Float2(Float2::DivRnF32, Modifiers::default(), Reg(0), [Reg(2), Reg(4)]);
            graph.node(function(divide), &[later, Input::Immediate(0x4000_0000)]);
        }
    }
    graph.0
}

fn mapping(region: Region) -> Mapping {
    let (mut routes, mut next) = (Vec::new(), 0);
    for (to, node) in region.nodes.iter().enumerate() {
        for (port, from) in node.tokens() {
            let links = (next..next + LINKS).map(LinkId).collect();
            next += LINKS;
            routes.push(Route { from, to: NodeId(to as u32), port: port as u8, links });
        }
    }
    let units = region.nodes.iter().enumerate();
    let units = units.map(|(i, n)| (!n.inputs.is_empty()).then_some(UnitId(i as u16))).collect();
    Mapping { region, copies: 1, units, routes, wires: BTreeMap::new(), configuration_bits: 0 }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let threads: u32 = std::env::args().nth(1).map_or(Ok(200_000), |text| text.parse())?;
    let mut gpu = config::load("gtx480")?;
    gpu.sm_count = 1;
    // Every unit takes a thread in each cycle: as many entries as the latency of a hit, and no wait between epochs.
    let config = SgmfConfig { entries: 64, dividers: 64, epochs: false, ..SgmfConfig::DEFAULT };
    let timing = Timing { l1_hit: 4, classes: [4; isa::OpClass::COUNT], blocks: [4; isa::OpClass::COUNT], control: 1 };
    let mut state = DeviceState::new(1 << 20, GpuFacts::default());
    let base = state.memory.allocate("array", 8 << 10)?;
    let uniforms = vec![Uniform::Param { offset: 0, bytes: 8, signed: false, register_bits: 64 }];
    let dataflow = Dataflow { name: "peak".into(), uniforms, ..Dataflow::default() };
    let mapped = Mapped { dataflow, mappings: vec![mapping(all_units())] };
    let shape = LaunchShape {
        grid: Dim3::new(threads.div_ceil(THREADS_PER_CTA), 1, 1),
        block: Dim3::new(THREADS_PER_CTA, 1, 1),
        registers_per_thread: 0,
        shared_bytes: 0,
        cluster: None,
    };
    let params = [base as u32, (base >> 32) as u32];
    let kernel = SgmfKernel::of_graph(&mapped, shape, &params, &config, &timing)?;
    let mut machine =
        Machine::new(&gpu, state, vec![Sgmf::new(&gpu, config, unit_counts(&Fabric::new(FabricSpec::default())?), 0)]);
    machine.launch(kernel, StreamId(0));
    let begun = std::time::Instant::now();
    machine.run(&mut |_| ControlFlow::Continue(())).map_err(|error| format!("{error:?}"))?;
    let seconds = begun.elapsed().as_secs_f64();
    let counters = machine.counters().core;
    let (cycles, firings) = (counters.fabric.cycles as f64, counters.fabric.firings as f64);
    println!("{cycles} fabric cycles, {firings} firings ({:.1} a cycle)", firings / cycles);
    println!("{:.0} fabric cycles/s, {:.1} ns a firing", cycles / seconds, 1e9 * seconds / firings);
    Ok(())
}
