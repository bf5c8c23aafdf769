//! Random graphs on random fabrics with a random memory: the same memory as the graph evaluated thread by thread,
//! whatever the entries, links, latencies and copies are.

use crate::support::{Bench, Graph, PARAM, config, int, mapped, mapping};
use dataflow::graph::{Access, AccessKind, Input, NodeId, NodeOp, Region, ThreadValue};
use dataflow::mapping::Mapping;
use exec::function::Evaluator;
use exec::int::Int2;
use proptest::prelude::*;
use sgmf::{EpochGate, L1Write, SgmfConfig};

/// Words of a thread.
const WORDS: u32 = 4;
const OPERATIONS: [Int2; 4] = [Int2::Add32, Int2::MulLo32, Int2::Sub32, Int2::And32];

/// A graph in which each step uses earlier values; accesses are in order.
fn graph(steps: &[(u8, u8, u8, u8)]) -> Region {
    let mut graph = Graph::default();
    let (tid, ctaid, live) = (graph.tid(), graph.inject(ThreadValue::Ctaid(0)), graph.live());
    let row = graph.int(Int2::MulLo32, ctaid, Input::Immediate(40 * 16));
    let own = graph.int(Int2::MulLo32, tid, Input::Immediate(u64::from(4 * WORDS)));
    let place = graph.add(row, own);
    let mut values = vec![tid, ctaid, place];
    let mut chain = live;
    for &(what, a, b, c) in steps {
        let value = |n: u8| values[usize::from(n) % values.len()];
        let (a, b, c) = (value(a), value(b), value(c));
        let base = 4 * u64::from(what % WORDS as u8);
        match what % 8 {
            0..=3 => {
                let function = int(OPERATIONS[usize::from(what) % 4]);
                values.push(graph.node(NodeOp::Apply(function), &[a, b]));
            }
            4 => values.push(graph.node(NodeOp::Select, &[a, b, c])),
            5 => values.push(graph.delay(what % 5 + 1, a)),
            6 => {
                let address = graph.add(place, Input::Immediate(base));
                let loaded = graph.load(PARAM, address, chain);
                chain = graph.node(NodeOp::Join, &[chain, loaded]);
                values.push(loaded);
            }
            _ => {
                let label = graph.node(NodeOp::Label(0b1000), &[chain, a]);
                let address = graph.add(place, Input::Immediate(base));
                let stored = graph.store(PARAM, address, b, label);
                // Later accesses wait for it, and are enabled as before.
                chain = graph.node(NodeOp::Join, &[chain, stored]);
            }
        }
    }
    let last = *values.last().expect("some");
    graph.store(PARAM, place, last, chain);
    graph.0
}

/// The memory after all threads.
fn evaluated(region: &Region, base: u64, memory: &mut [u32], ctas: u32, threads: u32) {
    let mut evaluator = Evaluator::default();
    for (cta, thread) in (0..ctas).flat_map(|cta| (0..threads).map(move |thread| (cta, thread))) {
        let mut values: Vec<u64> = Vec::new();
        for node in &region.nodes {
            let of = |input: &Input| match *input {
                Input::Token(id) => values[id.index()],
                Input::Immediate(value) => value,
                Input::Uniform(_) => base,
            };
            let inputs: Vec<u64> = node.inputs.iter().map(of).collect();
            let value = match &node.op {
                NodeOp::Inject(ThreadValue::Tid(_)) => thread.into(),
                NodeOp::Inject(ThreadValue::Ctaid(_)) => cta.into(),
                NodeOp::Inject(ThreadValue::Live) => 1,
                NodeOp::Apply(function) => evaluator.apply(function, &inputs),
                NodeOp::Select => inputs[if inputs[0] & 1 == 1 { 1 } else { 2 }],
                NodeOp::Label(table) => u64::from(table >> (inputs[0] & 1 | (inputs[1] & 1) << 1) & 1),
                NodeOp::Access(Access { kind, .. }) if inputs[2] & 1 == 1 => {
                    let word = &mut memory[inputs[0] as usize / 4];
                    if *kind == AccessKind::Load {
                        u64::from(*word)
                    } else {
                        *word = inputs[1] as u32;
                        1
                    }
                }
                NodeOp::Access(_) | NodeOp::Next(_) => 0,
                NodeOp::Join | NodeOp::Delay(_) => inputs[0],
            };
            values.push(value);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn a_fabric_computes_what_the_graph_says(
        steps in prop::collection::vec(any::<(u8, u8, u8, u8)>(), 1..24),
        (entries, hop_cycles, seed) in (1_u32..=64, 1_u32..=3, any::<u32>()),
        (through, l1_kib, mshrs, skip_masked) in (any::<bool>(), 1_u32..=4, 1_u32..=8, any::<bool>()),
        (latency, ratio, threads) in (1_u32..=9, 1_u32..=3, 1_u32..=40),
        (copies, copy_block, exit) in (1_u32..=3, 1_u32..=20, any::<bool>()),
    ) {
        let write = if through { L1Write::Through } else { L1Write::Back };
        let epoch_gate = if exit { EpochGate::Exit } else { EpochGate::Entry };
        let config = SgmfConfig {
            hop_cycles, write, l1_kib, mshrs, skip_masked, copy_block, epoch_gate, clock_ratio: ratio, ..config(entries)
        };
        let mut bench = Bench::new(config);
        bench.timing.classes = [latency; isa::OpClass::COUNT];
        bench.delay = Box::new(move |_, n| 1 + (u64::from(seed).wrapping_mul(2 * n + 1) >> 7) % 90);
        let region = graph(&steps);
        let words: Vec<u32> = (0..2 * 40 * WORDS).map(|i| i.wrapping_mul(seed | 1)).collect();
        let base = bench.array(&words);
        let mut made = mapped(vec![], 0);
        let links = |from: NodeId, to: NodeId| (from.0 + 3 * to.0 + seed) as usize % 4;
        made.mappings = vec![Mapping { copies, ..mapping(region.clone().side_by_side(copies), links) }];
        if let Err(lines) = bench.launch(&made, 2, threads, base) {
            panic!("deadlock:\n{}", lines.join("\n"));
        }
        let mut expected = words;
        evaluated(&region, base, &mut expected, 2, threads);
        prop_assert_eq!(bench.words(base, expected.len()), expected);
    }
}
