//! Closed-form timing of the copy engine, exact to the cycle.

use crate::support;

use config::CopyEngine;
use isa::{Control, OpClass, TensorUse, Transfer, TransferKind};
use mem::RequestKind;
use sm::passages::{Cycles, Passages, Selection};
use sm::{Stall, Timeline};
use support::*;

const ENGINE: CopyEngine = CopyEngine {
    start_cycles: Some(20),
    completion_cycles: Some(50),
    tensor_load_cycles: Some(100),
    rows_per_cycle: Some(1),
    tensor_maps: Some(2),
    load_bytes_per_cycle: Some(64),
    store_bytes_per_cycle: Some(32),
    reduction_bytes_per_cycle: Some(16),
};

/// One warp that runs `lines` on an SM with this engine.
fn run(engine: CopyEngine, lines: &[Line]) -> Run<Timeline> {
    let run = Bench::new(lines).gpu(|g| g.sm.copy_engine = engine).run();
    assert!(!run.deadlocked, "{:?}", run.sm.describe_stalls(&run.kernels));
    run
}

fn load(bytes: u32) -> Line {
    transfer(TransferKind::GlobalToShared, &[(4096, bytes)])
}

fn wait(control_: Control, left: u8) -> Line {
    Line { async_groups_left: left, ..control(OpClass::Uniform, control_, "wait") }
}

fn store(kind: TransferKind, bytes: u32) -> [Line; 2] {
    [transfer(kind, &[(4096, bytes)]), control(OpClass::Uniform, Control::BulkCommit, "commit")]
}

/// Cycles from the issue of the first instruction to the issue of number `order`.
fn from_first(run: &Run<Timeline>, order: u32) -> u64 {
    at(&run.sm.observer, order, 'I') - at(&run.sm.observer, 0, 'I')
}

/// From the end of a wait at an `mbarrier` to the next instruction's issue: it is decoded in that cycle.
const AFTER_WAIT: u64 = 1;

#[test]
fn a_load_takes_its_start_its_lines_the_memory_and_its_completion() {
    for (bytes, lines) in [(16, 1), (128, 1), (256, 2), (4096, 32)] {
        let run = run(ENGINE, &[load(bytes), await_transfers(1), add(1, &[])]);
        let expected = 20 + (lines - 1) * 2 + 200 + 50 + AFTER_WAIT;
        assert_eq!(from_first(&run, 2), expected, "{bytes} bytes");
        assert_eq!(run.sm.counters().requests, lines);
        assert_eq!((run.sm.counters().transfers, run.sm.counters().transfer_bytes), (1, bytes.into()));
        assert!(run.sm.account().stalled(Stall::Mbarrier) > 200);
    }
}

/// Addresses of tensor maps.
const MAPS: [u64; 3] = [0x1_0000, 0x1_0080, 0x1_0100];

/// `line`, which starts a transfer, by a tensor map.
fn by_map(line: Line, map: u64, rows: u32) -> Line {
    let transfer = line.transfer.map(|transfer| Transfer { tensor: Some(TensorUse { map, rows }), ..transfer });
    Line { transfer, ..line }
}

fn prefetch_of(map: u64) -> Line {
    by_map(transfer(TransferKind::Prefetch, &[]), map, 0)
}

/// Cycles of a load by a tensor map that the engine has, of this many lines, to the end of its wait.
fn of_box(lines: u64) -> u64 {
    20 + 100 + (lines - 1) * 2 + 200 + 50 + AFTER_WAIT
}

#[test]
fn a_tensor_map_is_read_at_its_first_use() {
    for (bytes, rows) in [(128, 1), (1024, 8), (4096, 32)] {
        let load = by_map(load(bytes), MAPS[0], rows);
        let run = run(ENGINE, &[load.clone(), await_transfers(1), load, await_transfers(2), add(1, &[])]);
        let (lines, second) = (u64::from(rows), from_first(&run, 2));
        assert_eq!(second, of_box(lines) + 200, "{bytes} bytes and the read of the map");
        assert_eq!(from_first(&run, 4) - second, of_box(lines), "{bytes} bytes by a map that is there");
        assert_eq!(run.sm.counters().requests, 2 * lines + 1);
        assert_eq!(run.sm.counters().transfer_bytes, 2 * u64::from(bytes));
    }
}

#[test]
fn a_prefetch_brings_a_tensor_map_and_nobody_waits_for_it() {
    let (bulk, load) = (load(1024), by_map(load(128), MAPS[0], 1));
    let passes = |between: &[Line]| {
        let mut lines = vec![prefetch_of(MAPS[0])];
        lines.extend_from_slice(between);
        let transfers = 2 + between.iter().filter(|line| line.transfer.is_some()).count();
        lines.extend([load.clone(), await_transfers(transfers), add(1, &[])]);
        let (run, order) = (run(ENGINE, &lines), between.len() as u32 + 1);
        (from_first(&run, order), from_first(&run, order + 2))
    };
    // The map comes 200 cycles after the prefetch's turn; the load has its own turn before.
    let (issue, end) = passes(&[]);
    assert!(issue < 20, "the warp does not wait for the prefetch: {issue}");
    assert_eq!(end, 20 + 200 + 200 + 50 + AFTER_WAIT);
    let (issue, end) = passes(&[bulk, await_transfers(2)]);
    assert_eq!(end - issue, of_box(1), "the map is there");
}

#[test]
fn the_least_recently_used_tensor_map_goes_first() {
    let reads = |order: &[usize]| {
        let lines: Vec<Line> = order
            .iter()
            .zip(1..)
            .flat_map(|(&map, count)| [by_map(load(128), MAPS[map], 1), await_transfers(count)])
            .collect();
        run(ENGINE, &lines).sm.counters().requests - order.len() as u64
    };
    assert_eq!(reads(&[0, 1, 0, 1, 0]), 2);
    assert_eq!(reads(&[0, 1, 2, 0, 1, 2]), 6);
    assert_eq!(reads(&[0, 1, 0, 2, 0, 1]), 4);
}

#[test]
fn rows_of_a_box_start_one_per_cycle() {
    // Rows of 32 bytes, adjacent in memory, and rows of which the first half is outside the tensor.
    for (runs, rows, lines, last) in
        [(vec![(4096, 1024)], 32, 8, 7 * 4), (vec![(4096, 64), (8192, 64)], 2, 2, 1), (vec![(4096, 128)], 64, 1, 0)]
    {
        let load = by_map(transfer(TransferKind::GlobalToShared, &runs), MAPS[0], rows);
        let lines_of = [load.clone(), await_transfers(1), load.clone(), await_transfers(2), add(1, &[])];
        let run = run(ENGINE, &lines_of);
        assert_eq!(from_first(&run, 4) - from_first(&run, 2), of_box(1) + last, "{runs:?}");
        assert_eq!(run.sm.counters().requests, 2 * lines + 1);
    }
}

#[test]
fn stores_by_a_tensor_map_start_as_bulk_stores_do() {
    let passes = |maps: bool| {
        let mut lines = Vec::new();
        for _ in 0..2 {
            let [copy, commit] = store(TransferKind::SharedToGlobal, 1024);
            lines.extend([if maps { by_map(copy, MAPS[0], 8) } else { copy }, commit, wait(Control::BulkReadWait, 0)]);
        }
        lines.push(add(1, &[]));
        let run = run(ENGINE, &lines);
        (from_first(&run, 3), from_first(&run, 6) - from_first(&run, 3))
    };
    let (bulk, by_map) = (passes(false), passes(true));
    assert_eq!(by_map.0, bulk.0 + 200, "the map is read");
    assert_eq!(by_map.1, bulk.1);
}

#[test]
fn commands_follow_each_other_at_the_rate_of_the_engine() {
    let one = |count: usize| {
        let mut lines = vec![load(1024); count];
        lines.extend([await_transfers(count), add(1, &[])]);
        from_first(&run(ENGINE, &lines), count as u32 + 1)
    };
    let first = one(1);
    for count in 2..6 {
        assert_eq!(one(count), first + (count as u64 - 1) * 16, "{count} loads of 1,024 bytes at 64 a cycle");
    }
}

#[test]
fn runs_are_split_at_lines_and_sent_in_sectors() {
    // The memory takes none of them. From the middle of a sector to the next line; two bytes; a line and a half.
    let runs = [(4096 + 80, 64), (8192 + 34, 2), (16384, 192)];
    let bench = Bench {
        request_interval: 100_000,
        limit: 2000,
        ..Bench::new(&[transfer(TransferKind::SharedToGlobal, &runs)])
    };
    let run = bench.gpu(|g| g.sm.copy_engine = ENGINE).run();
    let seen: Vec<_> = run.port.outbox.iter().map(|(_, r)| (r.kind, r.address, r.bytes, r.byte_mask)).collect();
    let write = RequestKind::Write;
    // A mask holds for every sector of a request.
    assert_eq!(
        seen,
        [
            (write, 4096 + 64, 64, 0xffff_0000),
            (write, 4096 + 128, 32, 0x0000_ffff),
            (write, 8192 + 32, 32, 0b1100),
            (write, 16384, 128, !0),
            (write, 16384 + 128, 64, !0),
        ]
    );
}

#[test]
fn a_wait_for_reads_ends_when_the_last_line_is_sent_and_one_for_groups_with_the_last_reply() {
    for (kind, rate) in [(TransferKind::SharedToGlobal, 32), (TransferKind::SharedReduction, 16)] {
        let passes = |control, left| {
            let mut lines = store(kind, 1024).to_vec();
            lines.extend([wait(control, left), add(1, &[])]);
            from_first(&run(ENGINE, &lines), 3)
        };
        let last = 20 + 7 * 128 / rate;
        // The warp issues in the cycle in which it may.
        assert_eq!(passes(Control::BulkReadWait, 0), last, "{kind:?}");
        assert_eq!(passes(Control::BulkWait, 0), last + 200, "{kind:?}");
        let unheld = passes(Control::BulkWait, 1);
        assert!(unheld < 20, "one group may be pending");
        assert_eq!(passes(Control::BulkReadWait, 1), unheld);
    }
}

#[test]
fn sleeping_changes_nothing_and_warps_end_after_their_transfers() {
    let mut lines = vec![load(512), await_transfers(1)];
    lines.extend(store(TransferKind::SharedToGlobal, 2048));
    lines.extend([wait(Control::BulkReadWait, 0), add(1, &[])]);
    lines.extend(store(TransferKind::SharedReduction, 64));
    let bench = Bench::new(&lines).gpu(|g| g.sm.copy_engine = ENGINE).warps(4);
    bench.sleeping_changes_nothing::<sm::InOrder>(&());
    let run = bench.run();
    let last = (0..4).map(|warp| run.sm.observer.at(warp, 8, 'I').expect("it issues")).max().unwrap();
    assert!(run.now > last + 200, "the reduction's reply comes later than the exit");
    assert_eq!(run.sm.resident_warps(), 0);
}

#[test]
fn each_key_of_the_copy_engine_counts() {
    type Change = fn(&mut CopyEngine);
    let keys: [(&str, Change); 8] = [
        ("start_cycles", |e| e.start_cycles = Some(21)),
        ("completion_cycles", |e| e.completion_cycles = Some(51)),
        ("tensor_load_cycles", |e| e.tensor_load_cycles = Some(101)),
        ("rows_per_cycle", |e| e.rows_per_cycle = Some(2)),
        ("tensor_maps", |e| e.tensor_maps = Some(3)),
        ("load_bytes_per_cycle", |e| e.load_bytes_per_cycle = Some(32)),
        ("store_bytes_per_cycle", |e| e.store_bytes_per_cycle = Some(64)),
        ("reduction_bytes_per_cycle", |e| e.reduction_bytes_per_cycle = Some(32)),
    ];
    let mut lines = vec![load(512), await_transfers(1)];
    for kind in [TransferKind::SharedToGlobal, TransferKind::SharedReduction] {
        lines.extend(store(kind, 2048));
        lines.push(wait(Control::BulkWait, 0));
    }
    // After the load and the two stores.
    for (map, count) in [0, 1, 2, 0].into_iter().zip(4..) {
        lines.extend([by_map(load(512), MAPS[map], 16), await_transfers(count)]);
    }
    let cycles = |engine| run(engine, &lines).now;
    for (key, change) in keys {
        let mut engine = ENGINE;
        change(&mut engine);
        assert_ne!(cycles(engine), cycles(ENGINE), "{key}");
    }
}

/// Slots lost at an `mbarrier` or to a wait for a group are charged to the copy that ended the wait.
#[test]
fn a_wait_is_charged_to_the_copy_that_ended_it() {
    let mut lines = vec![load(128), load(2048), await_transfers(2)];
    lines.extend(store(TransferKind::SharedToGlobal, 1024));
    lines.extend([wait(Control::BulkReadWait, 0), wait(Control::BulkWait, 0), add(1, &[])]);
    let slots = Bench::new(&lines).gpu.sm.issue.schedulers as usize;
    let bench = Bench::new(&lines).gpu(|g| g.sm.copy_engine = ENGINE);
    let run = bench.run_with(sm::Profile::new(slots));
    let rows = &run.sm.observer.codes()[0].rows;
    let causes = |pc: usize, stall: Stall| rows[pc].as_ref().map_or(0, |row| row.causes[stall as usize]);
    let (mbarrier, copies) = (run.sm.account().stalled(Stall::Mbarrier), run.sm.account().stalled(Stall::AsyncCopy));
    assert!(mbarrier > 200 && copies > 200, "{mbarrier}, {copies}");
    assert_eq!([causes(0, Stall::Mbarrier), causes(1, Stall::Mbarrier)], [0, mbarrier], "the second load ends last");
    assert_eq!(causes(3, Stall::AsyncCopy), copies);
}

#[test]
fn passages_hold_transfers() {
    let lines = [load(128), load(2048), await_transfers(2), add(1, &[])];
    let selection = Selection { cycles: Cycles::First(10_000), warps: u128::MAX, kernel: None, most: 1000 };
    let bench = Bench::new(&lines).gpu(|g| g.sm.copy_engine = ENGINE);
    let run = bench.run_with(Passages::new(selection));
    let transfers = run.sm.observer.transfers();
    let seen: Vec<_> = transfers.iter().map(|t| (t.pc.0, t.transferred.bytes, t.transferred.kind)).collect();
    assert_eq!(seen, [(0, 128, TransferKind::GlobalToShared), (1, 2048, TransferKind::GlobalToShared)]);
    let [first, second] = [0, 1].map(|at: usize| transfers[at].transferred);
    assert_eq!(first.begun - first.issued, 20, "the start");
    assert_eq!(second.begun, first.begun + 2, "at 64 bytes a cycle");
    assert_eq!(transfers[0].ended, first.begun + 200 + 50);
    assert_eq!(transfers[1].ended, second.begun + 15 * 2 + 200 + 50);
}
