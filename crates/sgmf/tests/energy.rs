//! Counts of a fabric for the energy model: bits that move, counted where they move, against counts by hand.

use crate::support::{Bench, Graph, PARAM, YES, config, divide, mapping};
use dataflow::graph::{Dataflow, Input, NodeOp, ThreadValue, Uniform};
use dataflow::mapping::{LinkId, Mapped, Wire};
use energy::Event;
use exec::int::Int2;
use gpu::CoreReport;
use sgmf::{SgmfConfig, SgmfCounters};

/// Bits of a TID on a link, and in a token buffer of 16 entries.
const TAG: u64 = 16;
const STORED: u64 = 12;

fn kernel(graph: Graph, links: usize, wires: &[(u32, Wire)], configuration_bits: u64) -> Mapped {
    let uniforms = vec![Uniform::Param { offset: 0, bytes: 8, signed: false, register_bits: 64 }];
    let mut mapping = mapping(graph.0, |_, _| links);
    mapping.wires = wires.iter().map(|&(link, wire)| (LinkId(link), wire)).collect();
    mapping.configuration_bits = configuration_bits;
    Mapped { dataflow: Dataflow { name: "test".into(), uniforms, ..Dataflow::default() }, mappings: vec![mapping] }
}

fn counted(kernel: &Mapped, config: SgmfConfig, threads: u32) -> SgmfCounters {
    let mut bench = Bench::new(config);
    let base = bench.array(&vec![0; threads as usize]);
    bench.launch(kernel, 1, threads, base).expect("it ends");
    bench.counters()
}

/// Thread *t* stores `t + t`, delayed, to word *t*.
fn doubled() -> Graph {
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
    let sum = graph.add(tid, tid);
    let late = graph.delay(3, sum);
    graph.store(PARAM, address, late, YES);
    graph
}

#[test]
fn every_bit_that_moves_is_counted() {
    // Routes in the order of ports: address <- tid, sum <- tid (two ports), delay <- sum, store <- address and delay.
    // Each has two links of its own.
    let wires = [(0, Wire { pitches: 2, is_switched: true }), (9, Wire { pitches: 4, is_switched: true })];
    let threads = 40;
    let core = counted(&kernel(doubled(), 2, &wires, 500), config(16), threads);
    let (f, n) = (&core.fabric, u64::from(threads));
    let word = 32 + TAG;
    assert_eq!((f.injected, f.injected_bits), (n, n * word));
    assert_eq!((f.hops, f.hop_bits), (12 * n, 12 * n * word));
    assert_eq!(f.wire_bits, n * word * (10 + 2 + 4), "ten links of one pitch and two longer ones");
    assert_eq!(f.switched_bits, 2 * n * word);
    assert_eq!((f.tokens, f.token_bits), (6 * n, 6 * n * (32 + STORED)));
    assert_eq!(f.token_bits_read, f.token_bits);
    assert_eq!(f.matches, 4 * n, "both tokens of the sum and of the store");
    assert_eq!(f.firings, 4 * n);
    assert_eq!(f.stage_bits, 2 * n * word, "two units of one stage");
    assert_eq!(f.fifo_bits, n * word);
    // The store's result is a predicate.
    assert_eq!((f.reserved_bits, f.reserved_bits_read), (n * (1 + TAG), n * (1 + TAG)));
    assert_eq!(f.bank_bits, n * (32 + 32 + 2 * TAG));
    assert_eq!((f.bank_reads, f.bank_writes), (0, n));
    assert_eq!((f.configurations, f.configured_bits), (1, 500));
}

/// A register for each cycle of a link, but a wire and a multiplexer for all of them.
#[test]
fn slower_links_have_more_registers_and_no_longer_wires() {
    let wires = [(0, Wire { pitches: 2, is_switched: true })];
    let of = |hop_cycles| counted(&kernel(doubled(), 2, &wires, 0), SgmfConfig { hop_cycles, ..config(16) }, 40).fabric;
    let (one, three) = (of(1), of(3));
    assert_eq!(three.hop_bits, 3 * one.hop_bits);
    assert_eq!((three.wire_bits, three.switched_bits), (one.wire_bits, one.switched_bits));
}

/// Predicates and 64-bit values have the bits that they have; special units hold results in their reservation buffers.
#[test]
fn values_have_their_own_width() {
    let mut graph = Graph::default();
    let (tid, live) = (graph.tid(), graph.inject(ThreadValue::Live));
    let own = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
    let quotient = graph.node(NodeOp::Apply(divide()), &[tid, tid]);
    graph.store(PARAM, own, quotient, live);
    let (core, n) = (counted(&kernel(graph, 1, &[], 0), config(16), 20), 20);
    let (f, word) = (&core.fabric, 32 + TAG);
    assert_eq!(f.injected_bits, n * (word + 1 + TAG));
    // tid to three ports, own, quotient, and live: a link each.
    assert_eq!(f.hop_bits, n * (5 * word + 1 + TAG));
    assert_eq!(f.token_bits, n * (5 * (32 + STORED) + 1 + STORED));
    assert_eq!(f.stage_bits, n * word, "a divider has no pipeline");
    assert_eq!(f.reserved_bits, n * (word + 1 + TAG));
}

/// The events are those counts, and there are none of an SM's register file, pipeline, scheduler and front end.
#[test]
fn events_are_what_the_fabric_counts() {
    let wires = [(0, Wire { pitches: 2, is_switched: true })];
    let core = counted(&kernel(doubled(), 2, &wires, 500), config(16), 40);
    let gpu = config::load("accel-sim/gtx480").expect("built in");
    let events = core.activity(1000, &gpu).events;
    let f = &core.fabric;
    let expected = [
        (Event::TokenWrite, f.token_bits),
        (Event::TokenRead, f.token_bits_read),
        (Event::ReservationWrite, f.reserved_bits),
        (Event::ReservationRead, f.reserved_bits_read),
        (Event::FifoBit, f.fifo_bits),
        (Event::TokenMatch, f.matches),
        (Event::UnitFiring, f.firings),
        (Event::InjectedBit, f.injected_bits),
        (Event::UnitStage, f.stage_bits),
        (Event::LinkBit, f.hop_bits),
        (Event::WireBit, f.wire_bits),
        (Event::SwitchBit, f.switched_bits),
        (Event::BankBit, f.bank_bits),
        (Event::ConfigurationBit, f.configured_bits),
        (Event::IntAdd, 40),
        (Event::IntMul, 40),
    ];
    for (event, count) in expected {
        assert!(count > 0 && events[event] == count as f64, "{}: {count}, {}", event.name(), events[event]);
    }
    let of_l1 = [Event::L1ReadHit, Event::L1ReadMiss, Event::L1WriteHit, Event::L1WriteMiss];
    let others = Event::ALL.iter().filter(|e| !of_l1.contains(e) && expected.iter().all(|(known, _)| known != *e));
    others.for_each(|&event| assert_eq!(events[event], 0.0, "{}", event.name()));
    // 40 words of 2 lines: each is less than a line's access, and none of a line that is fetched.
    let [hits, misses] = [events[Event::L1WriteHit], events[Event::L1WriteMiss]];
    assert!(misses == 2.0 && hits > 38.0 / 32.0 && hits < 38.0 / 8.0, "{hits} {misses}");
}
