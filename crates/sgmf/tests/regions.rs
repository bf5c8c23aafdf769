//! Loops, barriers, live values, batches.

use crate::support::{Bench, Graph, PARAM, config, mapped};
use dataflow::graph::{AccessKind, Input, RegionId, Target, ThreadValue};
use dataflow::mapping::Mapped;
use exec::int::Int2;
use isa::{Dim3, LaunchShape, Space};
use sgmf::{SgmfConfig, SgmfKernel};

/// Thread *t* adds 3 as often as `t & 7` says, and once more: an initialisation, a loop, an epilogue.
fn looping() -> Mapped {
    let mut first = Graph::default();
    let (tid, live) = (first.tid(), first.live());
    let count = first.int(Int2::And32, tid, Input::Immediate(7));
    first.store_live(0, count, live);
    first.store_live(1, tid, live);
    first.0.always = Some(RegionId(1));

    let mut body = Graph::default();
    let live = body.live();
    let count = body.load_live(0, live);
    let value = body.load_live(1, live);
    let sum = body.add(value, Input::Immediate(3));
    let again = body.int(Int2::MinU32, count, Input::Immediate(1));
    let less = body.add(count, Input::Immediate(u32::MAX.into()));
    body.store_live(0, less, live);
    body.store_live(1, sum, live);
    let ends = body.add(again, Input::Immediate(1));
    body.next(1, again);
    body.next(2, ends);

    let mut last = Graph::default();
    let (tid, ctaid, live) = (last.tid(), last.inject(ThreadValue::Ctaid(0)), last.live());
    let value = last.load_live(1, live);
    let cta = last.int(Int2::MulLo32, ctaid, Input::Immediate(200));
    let address = last.int(Int2::MulLo32, tid, Input::Immediate(4));
    let address = last.add(cta, address);
    last.store(PARAM, address, value, live);
    mapped(vec![first, body, last], 2)
}

fn run_loop(entries: u32, skip_masked: bool) -> Bench {
    let mut bench = Bench::new(SgmfConfig { skip_masked, ..config(entries) });
    let base = bench.array(&[0; 100]);
    bench.delay = Box::new(|_, n| 10 + n % 17);
    bench.launch(&looping(), 2, 50, base).expect("it ends");
    let expected: Vec<u32> = (0..100).map(|t| t % 50 + 3 * (t % 50 % 8 + 1)).collect();
    assert_eq!(bench.words(base, 100), expected, "{entries} entries");
    bench
}

#[test]
fn a_loop_runs_until_no_thread_is_left_in_it() {
    for entries in [1, 2, 4, 8, 16, 32, 64] {
        let bench = run_loop(entries, false);
        let fabric = bench.counters().fabric;
        assert_eq!((fabric.passes, fabric.configurations), (10, 3), "8 times round, configured once");
        assert_eq!(fabric.thread_passes, 10 * 100);
        // Threads that have left the loop pass it masked.
        let masked: u32 = (0..100).map(|t| 7 - t % 50 % 8).sum();
        assert_eq!(fabric.masked_threads, u64::from(masked));
        assert_eq!(fabric.disabled_accesses, 4 * u64::from(masked));
        assert_eq!(fabric.live_accesses, 2 * 100 + 4 * (800 - u64::from(masked)) + 100);
    }
}

#[test]
fn masked_threads_can_be_left_out() {
    let fabric = run_loop(16, true).counters().fabric;
    assert_eq!((fabric.masked_threads, fabric.disabled_accesses), (0, 0));
    let rounds: u64 = (0..100).map(|t| t % 50 % 8 + 1).sum();
    assert_eq!(fabric.thread_passes, 200 + rounds);
}

/// Each thread stores its position to shared memory and, after a barrier, reads that of its mirror image.
#[test]
fn shared_memory_is_kept_by_cta_and_barriers_end_regions() {
    const THREADS: u32 = 40;
    let shared = |graph: &mut Graph, kind, address, data, live| {
        graph.access(kind, Target::Space(Space::Shared), Input::Immediate(0), [address, data, live])
    };
    let mut first = Graph::default();
    let (tid, cta, live) = (first.tid(), first.inject(ThreadValue::Ctaid(0)), first.live());
    let address = first.int(Int2::MulLo32, tid, Input::Immediate(4));
    let hundreds = first.int(Int2::MulLo32, cta, Input::Immediate(100));
    let value = first.add(hundreds, tid);
    shared(&mut first, AccessKind::Store, address, value, live);
    first.0.always = Some(RegionId(1));
    let mut second = Graph::default();
    let (tid, cta, live) = (second.tid(), second.inject(ThreadValue::Ctaid(0)), second.live());
    let own = second.int(Int2::MulLo32, tid, Input::Immediate(4));
    let mirrored = second.int(Int2::Sub32, Input::Immediate(u64::from(4 * (THREADS - 1))), own);
    let value = shared(&mut second, AccessKind::Load, mirrored, Input::Immediate(0), live);
    let row = second.int(Int2::MulLo32, cta, Input::Immediate(u64::from(4 * THREADS)));
    let address = second.add(row, own);
    second.store(PARAM, address, value, live);
    second.0.after_barrier = true;
    let made = mapped(vec![first, second], 0);
    let mut bench = Bench::new(config(16));
    let base = bench.array(&[0; 3 * THREADS as usize]);
    let shape = LaunchShape {
        grid: Dim3::new(3, 1, 1),
        block: Dim3::new(THREADS, 1, 1),
        registers_per_thread: 0,
        shared_bytes: 4 * THREADS,
        cluster: None,
    };
    let params = [base as u32, (base >> 32) as u32];
    let kernel = SgmfKernel::of_graph(&made, shape, &params, &bench.config, &bench.timing).expect("it fits");
    bench.run(kernel, 3).expect("it ends");
    let expected: Vec<u32> = (0..3).flat_map(|cta| (0..THREADS).rev().map(move |t| 100 * cta + t)).collect();
    assert_eq!(bench.words(base, 3 * THREADS as usize), expected);
}

/// Half of a CTA's threads wait at one barrier, the others at another.
#[test]
fn barriers_that_cannot_complete_are_named() {
    let mut first = Graph::default();
    let tid = first.tid();
    let odd = first.int(Int2::And32, tid, Input::Immediate(1));
    let even = first.add(odd, Input::Immediate(1));
    first.next(1, odd);
    first.next(2, even);
    let end = || {
        let mut graph = Graph::default();
        let tid = graph.tid();
        graph.add(tid, tid);
        graph.0.after_barrier = true;
        graph
    };
    let lines = Bench::new(config(4)).launch(&mapped(vec![first, end(), end()], 0), 1, 10, 0).expect_err("stuck");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("CTA (0,0,0): 5 threads at the barrier before instruction 0"), "{lines:?}");
}

/// More threads than a batch holds, of two kernels.
#[test]
fn batches_follow_each_other() {
    let mut bench = Bench::new(SgmfConfig { batch_threads: 1024, ..config(16) });
    let base = bench.array(&[0; 30 * 200]);
    let mut graph = Graph::default();
    let (tid, ctaid) = (graph.tid(), graph.inject(ThreadValue::Ctaid(0)));
    let row = graph.int(Int2::MulLo32, ctaid, Input::Immediate(800));
    let own = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
    let address = graph.add(row, own);
    graph.store(PARAM, address, ctaid, crate::support::YES);
    for _ in 0..2 {
        bench.launch(&mapped(vec![graph.clone()], 0), 30, 200, base).expect("it ends");
    }
    let words = bench.words(base, 6000);
    assert!((0..6000).all(|i| words[i] == i as u32 / 200));
    let fabric = bench.counters().fabric;
    assert_eq!((fabric.ctas, fabric.thread_passes), (60, 12_000));
    assert_eq!(fabric.batches, 12, "5 CTAs each");
}
