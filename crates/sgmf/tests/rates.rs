//! Peak rates, epochs, and the accounts of cycles.

use crate::support::{Bench, Graph, PARAM, YES, config, divide, mapped, mapping, number};
use dataflow::graph::{Input, NodeOp, ThreadValue};
use dataflow::mapping::Mapping;
use exec::int::Int2;
use isa::OpClass;
use sgmf::{EpochGate, L1Write, Note, SgmfConfig, Timing};

/// Cycles between the firings of `node`.
fn gaps(bench: &Bench, node: Input) -> Vec<u64> {
    bench.fired(0, number(node)).windows(2).map(|pair| pair[1].0 - pair[0].0).collect()
}

#[test]
fn a_balanced_graph_completes_a_thread_every_cycle() {
    for (entries, links, latency) in [(1, 0, 1), (1, 3, 1), (1, 2, 5), (16, 1, 8)] {
        let mut bench = Bench::new(config(entries));
        bench.timing.classes[OpClass::IntAdd as usize] = latency;
        let mut graph = Graph::default();
        let tid = graph.tid();
        let [a, b] = [1, 2].map(|n| graph.add(tid, Input::Immediate(n)));
        let sum = graph.add(a, b);
        let mut made = mapped(vec![], 0);
        made.mappings = vec![mapping(graph.0, |_, _| links)];
        bench.launch(&made, 3, 100, 0).expect("it ends");
        assert_eq!(gaps(&bench, sum), [1; 299], "{entries} entries, {links} links, latency {latency}");
        let hops = 3 * 100 * 4 * links as u64;
        assert_eq!((bench.counters().fabric.hops, bench.counters().fabric.tokens), (hops, 3 * 100 * 4));
    }
}

#[test]
fn copies_of_a_graph_complete_a_thread_each_every_cycle() {
    for together in [false, true] {
        let mut bench = Bench::new(SgmfConfig { inject_together: together, ..config(2) });
        let mut graph = Graph::default();
        let (tid, cta) = (graph.tid(), graph.inject(ThreadValue::Ctaid(0)));
        let sum = graph.add(tid, cta);
        let nodes = graph.0.nodes.len() as u32;
        let mut made = mapped(vec![], 0);
        made.mappings = vec![Mapping { copies: 3, ..mapping(graph.0.side_by_side(3), |_, _| 1) }];
        bench.launch(&made, 1, 100, 0).expect("it ends");
        let of = |copy: u32| bench.fired(0, number(sum) + copy * nodes);
        for (copy, threads) in [34, 33, 33].into_iter().enumerate() {
            let fired = of(copy as u32);
            assert!(fired.windows(2).all(|w| w[1].0 == w[0].0 + 1), "every cycle: {fired:?}");
            let tids: Vec<u32> = fired.iter().map(|f| f.1).collect();
            assert_eq!(tids, (0..threads).map(|i| 3 * i + copy as u32).collect::<Vec<_>>());
        }
    }
}

/// Blocks of threads go to the copies in turn, and each copy takes a thread a cycle.
#[test]
fn copies_of_a_graph_take_blocks_of_threads() {
    let mut bench = Bench::new(SgmfConfig { copy_block: 4, ..config(2) });
    let mut graph = Graph::default();
    let (tid, cta) = (graph.tid(), graph.inject(ThreadValue::Ctaid(0)));
    let sum = graph.add(tid, cta);
    let nodes = graph.0.nodes.len() as u32;
    let mut made = mapped(vec![], 0);
    made.mappings = vec![Mapping { copies: 2, ..mapping(graph.0.side_by_side(2), |_, _| 1) }];
    bench.launch(&made, 1, 22, 0).expect("it ends");
    let tids = |copy: u32| bench.fired(0, number(sum) + copy * nodes).iter().map(|f| f.1).collect::<Vec<_>>();
    assert_eq!(tids(0), [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19]);
    assert_eq!(tids(1), [4, 5, 6, 7, 12, 13, 14, 15, 20, 21]);
    let fired = bench.fired(0, number(sum));
    assert!(fired.windows(2).all(|w| w[1].0 == w[0].0 + 1), "every cycle: {fired:?}");
}

#[test]
fn a_unit_of_n_dividers_has_n_times_their_rate() {
    let mut bench = Bench::new(SgmfConfig { dividers: 4, ..config(64) });
    bench.timing.classes[OpClass::FpDiv as usize] = 10;
    bench.timing.blocks[OpClass::FpDiv as usize] = 10;
    let mut graph = Graph::default();
    let tid = graph.tid();
    let quotient = graph.node(NodeOp::Apply(divide()), &[tid, Input::Immediate(0x4000_0000)]);
    let after = graph.add(quotient, YES);
    bench.launch(&mapped(vec![graph], 0), 1, 64, 0).expect("it ends");
    let fired = bench.fired(0, number(quotient));
    assert!(fired.windows(5).all(|w| w[4].0 - w[0].0 == 10), "4 in 10 cycles: {fired:?}");
    assert_eq!(bench.fired(0, number(after)).len(), 64);
    assert!(bench.counters().special.blocks_busy > 0);
}

#[test]
fn a_pipelined_divider_is_free_before_its_operation_is_done() {
    let mut bench = Bench::new(SgmfConfig { dividers: 2, ..config(64) });
    bench.timing.classes[OpClass::FpDiv as usize] = 30;
    bench.timing.blocks[OpClass::FpDiv as usize] = 5;
    let mut graph = Graph::default();
    let tid = graph.tid();
    let quotient = graph.node(NodeOp::Apply(divide()), &[tid, Input::Immediate(0x4000_0000)]);
    let after = graph.add(quotient, YES);
    bench.launch(&mapped(vec![graph], 0), 1, 64, 0).expect("it ends");
    let (fired, sent) = (bench.fired(0, number(quotient)), bench.fired(0, number(after)));
    assert!(fired.windows(3).all(|w| w[2].0 - w[0].0 == 5), "2 in 5 cycles: {fired:?}");
    assert!(fired.iter().zip(&sent).all(|(a, b)| b.0 - a.0 == 30), "each takes 30 cycles: {sent:?}");
}

/// §4.2: a division "in (practically) every cycle". The threads of an epoch begin one a cycle, and the next epoch begins
/// once the last of them has left; the GPU's latency takes most of the time of an epoch.
#[test]
fn special_units_begin_an_epoch_in_its_entries_and_the_latency() {
    let gpu = ::config::load("papers/sgmf").expect("bundled");
    let own = 2 * ::config::OpTable::of_ptx(&gpu.sm).expect("complete").of(OpClass::FpDiv).latency_cycles;
    for (special_latency, latency) in [(8, 8), (3, 3), (0, own)] {
        let config = SgmfConfig { special_latency, clock_ratio: 2, ..SgmfConfig::default() };
        let timing = Timing::of(&gpu, &config).expect("complete");
        let mut bench = Bench::new(SgmfConfig { clock_ratio: 1, ..config });
        for class in dataflow::resources::SPECIAL_CLASSES {
            bench.timing.classes[class as usize] = timing.classes[class as usize];
            bench.timing.blocks[class as usize] = timing.blocks[class as usize];
        }
        let mut graph = Graph::default();
        let tid = graph.tid();
        let quotient = graph.node(NodeOp::Apply(divide()), &[tid, Input::Immediate(0x4000_0000)]);
        let after = graph.add(quotient, YES);
        bench.launch(&mapped(vec![graph], 0), 1, 64, 0).expect("it ends");
        let (fired, sent) = (bench.fired(0, number(quotient)), bench.fired(0, number(after)));
        assert_eq!(fired[15].0 - fired[0].0, 15, "one a cycle: {fired:?}");
        assert_eq!(fired[48].0 - fired[32].0, 16 + u64::from(latency) - 1, "of latency {latency}: {fired:?}");
        assert!(fired.iter().zip(&sent).all(|(a, b)| b.0 - a.0 == u64::from(latency)), "{sent:?}");
    }
}

#[test]
fn double_precision_takes_a_compute_unit_for_as_long_as_the_parameter_says() {
    let add = exec::op::Op::Float2(
        exec::float::Float2::AddF64,
        exec::float::Modifiers::default(),
        exec::lanes::Reg(0),
        [exec::lanes::Reg(2), exec::lanes::Reg(4)],
    );
    let add = exec::function::Function::of(&add).expect("pure").0[0].1;
    for (config, cycles) in [(config(16), 1), (SgmfConfig { double_interval: 16, ..config(16) }, 16)] {
        let mut bench = Bench::new(config);
        let mut graph = Graph::default();
        let tid = graph.tid();
        let sum = graph.node(NodeOp::Apply(add), &[tid, Input::Immediate(0)]);
        bench.launch(&mapped(vec![graph], 0), 1, 20, 0).expect("it ends");
        assert_eq!(gaps(&bench, sum), [cycles; 19]);
        assert_eq!(bench.counters().compute.interval, 19 * (cycles - 1));
    }
}

#[test]
fn the_injector_s_rate_is_a_parameter() {
    let mut bench = Bench::new(SgmfConfig { inject_interval: 3, ..config(16) });
    let mut graph = Graph::default();
    let tid = graph.tid();
    let sum = graph.add(tid, YES);
    bench.launch(&mapped(vec![graph], 0), 1, 20, 0).expect("it ends");
    assert_eq!(gaps(&bench, sum), [3; 19]);
}

/// Special units finish threads of an epoch in any order, and no thread of a younger epoch before an older one's.
#[test]
fn younger_threads_pass_within_an_epoch_only() {
    let mut orders = Vec::new();
    for epochs in [true, false] {
        let mut bench = Bench::new(SgmfConfig { epochs, ..config(4) });
        bench.core.vary_latency(|_, tag| if tag % 4 == 0 { 9 } else { 2 });
        let mut graph = Graph::default();
        let tid = graph.tid();
        let quotient = graph.node(NodeOp::Apply(divide()), &[tid, Input::Immediate(0x4000_0000)]);
        let after = graph.add(quotient, YES);
        bench.launch(&mapped(vec![graph], 0), 1, 12, 0).expect("it ends");
        orders.push(bench.fired(0, number(after)).iter().map(|f| f.1).collect::<Vec<_>>());
    }
    assert_eq!(orders[0], [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8]);
    assert_ne!(orders[1], orders[0]);
    orders[1].sort_unstable();
    assert_eq!(orders[1], (0..12).collect::<Vec<_>>());
}

/// With the gate at the exit (§5.1) a unit takes threads of the next epoch while older ones are under way, up to the
/// entries of its reservation buffer, and sends their results after those.
#[test]
fn with_the_gate_at_the_exit_the_next_epoch_is_processed_and_waits_to_be_sent() {
    let mut ends = Vec::new();
    for epoch_gate in [EpochGate::Entry, EpochGate::Exit] {
        let mut bench = Bench::new(SgmfConfig { epoch_gate, ..config(4) });
        bench.core.vary_latency(|_, tag| if tag % 4 == 0 { 9 } else { 2 });
        let mut graph = Graph::default();
        let tid = graph.tid();
        let quotient = graph.node(NodeOp::Apply(divide()), &[tid, Input::Immediate(0x4000_0000)]);
        let after = graph.add(quotient, YES);
        bench.launch(&mapped(vec![graph], 0), 1, 12, 0).expect("it ends");
        let sent: Vec<u32> = bench.fired(0, number(after)).iter().map(|f| f.1).collect();
        assert_eq!(sent, [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8], "{epoch_gate:?}");
        let fired = bench.fired(0, number(quotient));
        ends.push(fired[11].0 - fired[0].0);
        let sent = bench.fired(0, number(after));
        let first_of_next = fired[4].0;
        let last_of_first = sent.iter().find(|f| f.1 == 0).expect("sent").0;
        assert_eq!(first_of_next < last_of_first, epoch_gate == EpochGate::Exit);
    }
    assert!(ends[1] < ends[0], "{ends:?}");
}

/// Figure 3's graph with 16 entries: a critical path of 3, 48 threads (§2.2).
#[test]
fn threads_in_flight_are_bounded_by_path_and_entries() {
    let mut most = 0;
    for latency in [5, 40, 200] {
        let mut bench = Bench::new(config(16));
        let base = bench.array(&[1; 8192]);
        bench.delay = Box::new(move |request, n| latency + request.address / 128 % 7 * 3 + n % 5);
        let mut graph = Graph::default();
        let tid = graph.tid();
        let address = graph.int(Int2::MulLo32, tid, Input::Immediate(128));
        let loaded = graph.load(PARAM, address, YES);
        let sum = graph.add(loaded, YES);
        let last = graph.int(Int2::MulLo32, sum, Input::Immediate(3));
        bench.launch(&mapped(vec![graph], 0), 2, 128, base).expect("it ends");
        let mut in_flight = 0_i64;
        for &(_, note) in bench.core.observer() {
            match note {
                // From the load's token buffer on.
                Note::Arrive { node, .. } if node.0 == number(loaded) => in_flight += 1,
                Note::Send { node, .. } if node.0 == number(last) => in_flight -= 1,
                _ => {}
            }
            most = most.max(in_flight);
        }
        assert_eq!(in_flight, 0);
    }
    assert!((17..=48).contains(&most), "{most}");
}

#[test]
fn each_cycle_of_each_unit_has_one_reason() {
    let mut bench = Bench::new(SgmfConfig { clock_ratio: 2, configuration_bits: 100, ..config(4) });
    let base = bench.array(&[1; 8192]);
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
    let loaded = graph.load(PARAM, address, YES);
    graph.store(PARAM, address, loaded, YES);
    let mut made = mapped(vec![graph], 0);
    made.mappings[0].configuration_bits = 950;
    bench.launch(&made, 4, 50, base).expect("it ends");
    let counters = bench.counters();
    let fabric = &counters.fabric;
    assert_eq!((fabric.configuration_cycles, fabric.configurations), (20, 1), "10 core cycles");
    assert_eq!(counters.compute.configuration, 20 * 1000);
    for (kind, fired) in [(&counters.compute, 200), (&counters.ldst, 400), (&counters.control, 0)] {
        assert_eq!(kind.total(), 1000 * fabric.cycles);
        assert_eq!(kind.fired, fired);
    }
    assert!(counters.ldst.waits_for_operand > 0 && counters.ldst.epoch > 0, "{:?}", counters.ldst);
    assert_eq!((fabric.firings, fabric.injected, fabric.thread_passes), (600, 200, 200));
    // A batch ends after its dirty lines have been written back.
    assert!(fabric.write_back_cycles > 0);
    assert_eq!(bench.config.write, L1Write::Back);
}

/// Events in the middle of a run are those up to then.
#[test]
fn accounts_are_settled_at_any_time() {
    use gpu::Core;
    let mut bench = Bench::new(config(4));
    let base = bench.array(&[1; 64]);
    let mut graph = Graph::default();
    let tid = graph.tid();
    graph.load(PARAM, tid, YES);
    bench.launch(&mapped(vec![graph.clone()], 0), 1, 1, base).expect("it ends");
    for idle in [0, 7, 100] {
        bench.now += idle;
        bench.core.settle(bench.now);
        bench.core.check();
        bench.launch(&mapped(vec![graph.clone()], 0), 1, 1, base).expect("it ends");
    }
    assert_eq!(bench.counters().fabric.cycles, bench.now);
}
