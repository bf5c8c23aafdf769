//! The paper's figures, as drawn timelines: units of one cycle, ports next to each other.

use crate::support::{Bench, Graph, PARAM, YES, config, mapped, number};
use dataflow::graph::{Input, NodeOp, ThreadValue};
use dataflow::mapping::Mapped;
use exec::int::Int2;
use sgmf::EpochGate;

/// Words of the arrays: 32 lines.
const WORDS: usize = 1024;

/// Brings the lines of `threads` (of `stride` bytes each) of the array at `base` into L1.
fn warm(bench: &mut Bench, base: u64, stride: u64, threads: &[u64]) {
    for thread in threads {
        let mut graph = Graph::default();
        let tid = graph.tid();
        graph.load(PARAM, tid, YES);
        bench.launch(&mapped(vec![graph], 0), 1, 1, base + stride * thread).expect("it ends");
    }
}

/// Figures 2 and 3: the load of a word `stride` bytes after the previous thread's, an addition, a multiplication.
fn strided(stride: u64) -> (Mapped, [(&'static str, u32); 3]) {
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(stride));
    let loaded = graph.load(PARAM, address, YES);
    let sum = graph.add(loaded, Input::Immediate(5));
    let product = graph.int(Int2::MulLo32, sum, Input::Immediate(3));
    let rows = [("load", number(loaded)), ("add", number(sum)), ("mul", number(product))];
    (mapped(vec![graph], 0), rows)
}

/// `(a + b) * (c + d)`
#[test]
fn figure_1_threads_follow_each_other_through_the_units() {
    let mut bench = Bench::new(config(4));
    let mut graph = Graph::default();
    let [a, b, c, d] = [ThreadValue::Tid(0), ThreadValue::Tid(1), ThreadValue::Tid(2), ThreadValue::Ctaid(0)]
        .map(|value| graph.inject(value));
    let left = graph.add(a, b);
    let right = graph.add(c, d);
    let product = graph.int(Int2::MulLo32, left, right);
    bench.launch(&mapped(vec![graph], 0), 1, 3, 0).expect("it ends");
    let drawn = "\
left  . 0 1 2 .
right . 0 1 2 .
mul   . . 0 1 2
";
    assert_eq!(bench.drawn(0, &[("left", number(left)), ("right", number(right)), ("mul", number(product))]), drawn);
}

#[test]
fn figure_2_a_thread_that_hits_passes_one_that_misses() {
    let mut bench = Bench::new(config(4));
    let base = bench.array(&[7; WORDS]);
    warm(&mut bench, base, 128, &[1]);
    let (mapped, rows) = strided(128);
    bench.delay = Box::new(|_, _| 4);
    let from = bench.now;
    bench.launch(&mapped, 1, 2, base).expect("it ends");
    let drawn = "\
load  . . 0 1 . . . . .
add   . . . . 1 . . 0 .
mul   . . . . . 1 . . 0
";
    assert_eq!(bench.drawn(from, &rows), drawn);
}

#[test]
fn figure_3_younger_threads_pass_the_one_that_missed() {
    let mut bench = Bench::new(config(4));
    let base = bench.array(&[7; WORDS]);
    warm(&mut bench, base, 128, &[0, 2]);
    let (mapped, rows) = strided(128);
    bench.delay = Box::new(|_, _| 4);
    let from = bench.now;
    bench.launch(&mapped, 1, 3, base).expect("it ends");
    let drawn = "\
load  . . 0 1 2 . . . . .
add   . . . 0 . 2 . . 1 .
mul   . . . . 0 . 2 . . 1
";
    assert_eq!(bench.drawn(from, &rows), drawn);
}

/// Figure 4: a chain of two loads and a constant meet at an addition. Thread *t* of the first load finds the address
/// for the second one; threads 0 and 1 miss, 2 and 3 hit in both.
fn figure_4(epochs: bool, epoch_gate: EpochGate) -> (Result<(), Vec<String>>, Bench) {
    let mut bench = Bench::new(sgmf::SgmfConfig { epochs, epoch_gate, ..config(2) });
    let mut words = [0_u32; WORDS];
    for t in 0..4 {
        // The line of thread t of the second load: 16 + t.
        words[32 * t] = 128 * (16 + t as u32);
    }
    let base = bench.array(&words);
    warm(&mut bench, base, 128, &[1, 2, 3, 18, 19]);
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(128));
    let first = graph.load(PARAM, address, YES);
    let second = graph.load(PARAM, first, YES);
    let constant = graph.inject(ThreadValue::Ctaid(0));
    let sum = graph.add(second, constant);
    graph.int(Int2::MulLo32, sum, Input::Immediate(3));
    bench.delay = Box::new(|_, _| 40);
    let ended = bench.launch(&mapped(vec![graph], 0), 1, 8, base);
    (ended, bench)
}

#[test]
fn figure_4_a_deadlock_without_epochs_is_named() {
    let (ended, _) = figure_4(false, EpochGate::Entry);
    let lines = ended.expect_err("the tokens of threads 0 and 1 cannot meet").join("\n");
    assert!(lines.contains("port 1 holds TID 0, 1"), "{lines}");
    assert!(lines.contains("node 5 (int_add): port 0 holds TID 2, 3"), "{lines}");
    assert!(lines.contains("waits for the other operands of these threads"), "{lines}");
}

#[test]
fn figure_4_epochs_prevent_the_deadlock() {
    for gate in [EpochGate::Entry, EpochGate::Exit] {
        let (ended, bench) = figure_4(true, gate);
        ended.expect("it ends");
        assert_eq!(bench.fired(0, 5).len(), 8);
    }
}

/// Figure 5: two loads, a store, two loads of the same array.
#[test]
fn figure_5_stores_wait_for_loads_and_loads_for_stores() {
    let mut bench = Bench::new(config(4));
    let base = bench.array(&(0..1024).collect::<Vec<u32>>());
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
    let far = graph.add(address, Input::Immediate(2052));
    let a = graph.load(PARAM, address, YES);
    let b = graph.load(PARAM, far, YES);
    let both = graph.node(NodeOp::Join, &[YES, a]);
    let both = graph.node(NodeOp::Join, &[both, b]);
    let stored = graph.store(PARAM, address, Input::Immediate(77), both);
    let c = graph.load(PARAM, address, stored);
    let d = graph.load(PARAM, far, stored);
    let sum = graph.add(c, d);
    graph.store(PARAM, far, sum, YES);
    let mapped = mapped(vec![graph], 0);
    bench.delay = Box::new(|request, _| if request.address & 2048 == 0 { 10 } else { 50 });
    bench.launch(&mapped, 1, 1, base).expect("it ends");
    let at = |node| bench.fired(0, number(node))[0].0;
    assert!(at(stored) > at(a) + 50 && at(stored) > at(b) + 50, "the store waits for both loads");
    assert!(at(c) > at(stored) && at(c) == at(d), "the last loads go together");
    assert_eq!(bench.words(base, 1), [77]);
    assert_eq!(bench.words(base + 2052, 1), [77 + 513]);
}

/// Figure 6: `(a + x) * (b + c + x)` with token buffers of one entry. Gives the cycle of each product.
fn figure_6(balanced: bool, inject_together: bool) -> Vec<u64> {
    let mut bench = Bench::new(sgmf::SgmfConfig { inject_together, ..config(1) });
    let mut graph = Graph::default();
    let [x, a, b, c] = [ThreadValue::Tid(0), ThreadValue::Tid(1), ThreadValue::Tid(2), ThreadValue::Ctaid(0)]
        .map(|value| graph.inject(value));
    let mut left = graph.add(a, x);
    let sum = graph.add(b, c);
    let late = if balanced { graph.delay(1, x) } else { x };
    let right = graph.add(sum, late);
    if balanced {
        left = graph.delay(1, left);
    }
    let product = graph.int(Int2::MulLo32, left, right);
    bench.launch(&mapped(vec![graph], 0), 1, 33, 0).expect("it ends");
    bench.fired(0, number(product)).iter().map(|fired| fired.0).collect()
}

#[test]
fn figure_6_unbalanced_paths_complete_a_thread_every_other_cycle() {
    let gaps = |cycles: Vec<u64>| cycles.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
    assert_eq!(gaps(figure_6(false, true)), [2; 32]);
    assert_eq!(gaps(figure_6(true, true)), [1; 32], "with delays a thread every cycle");
    // Where constants are injected each by itself, `x` falls behind the others by a cycle: the injector is the delay.
    assert_eq!(gaps(figure_6(false, false)), [1; 32]);
}

/// The same with the sum in the other order, `(a + x) * (b + (c + x))`: a thread takes three cycles from the fork to
/// the product, and the shorter path holds two.
#[test]
fn figure_6_in_the_other_order_completes_two_threads_in_three_cycles() {
    for (balanced, cycles) in [(false, 3 * 16), (true, 2 * 16)] {
        let mut bench = Bench::new(config(1));
        let mut graph = Graph::default();
        let [x, a, b, c] = [ThreadValue::Tid(0), ThreadValue::Tid(1), ThreadValue::Tid(2), ThreadValue::Ctaid(0)]
            .map(|value| graph.inject(value));
        let mut left = graph.add(a, x);
        let sum = graph.add(c, x);
        let right = graph.add(b, sum);
        if balanced {
            left = graph.delay(1, left);
        }
        let product = graph.int(Int2::MulLo32, left, right);
        bench.launch(&mapped(vec![graph], 0), 1, 64, 0).expect("it ends");
        let fired = bench.fired(0, number(product));
        assert_eq!(fired[42].0 - fired[10].0, cycles, "balanced: {balanced}");
    }
}

/// Figure 7: code on one side of a branch does not access memory for threads on the other side, nor does what
/// follows it in its chain.
#[test]
fn figure_7_the_side_that_is_not_taken_accesses_nothing() {
    let mut bench = Bench::new(config(4));
    let base = bench.array(&[1; 64]);
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
    // Taken by odd threads; the others store.
    let odd = graph.int(Int2::And32, tid, Input::Immediate(1));
    let taken = graph.node(NodeOp::Label(0b1000), &[odd, YES]);
    let not_taken = graph.node(NodeOp::Label(0b0100), &[odd, YES]);
    let stored = graph.store(PARAM, address, Input::Immediate(9), not_taken);
    let again = graph.store(PARAM, address, tid, stored);
    let loaded = graph.load(PARAM, address, taken);
    bench.launch(&mapped(vec![graph], 0), 1, 16, base).expect("it ends");
    let accesses = |node: Input| -> Vec<u32> {
        let of = |&(_, note): &(u64, sgmf::Note)| match note {
            sgmf::Note::Access { node: n, tid, .. } if n.0 == number(node) => Some(tid),
            _ => None,
        };
        let mut tids: Vec<u32> = bench.core.observer().iter().filter_map(of).collect();
        tids.sort_unstable();
        tids
    };
    let (odds, evens): (Vec<u32>, Vec<u32>) = (0..16).partition(|tid| tid % 2 == 1);
    assert_eq!((accesses(stored), accesses(again), accesses(loaded)), (evens.clone(), evens, odds));
    let expected: Vec<u32> = (0..16).map(|tid| if tid % 2 == 0 { tid } else { 1 }).collect();
    assert_eq!(bench.words(base, 16), expected);
    assert_eq!(bench.counters().fabric.disabled_accesses, 24);
}
