//! Drawn timelines of the modern core: the listings and figure 4 of Huerta et al. (MICRO 2025), and two long waits.
//! Change them with `cargo insta review`.

use crate::modern::{CONFIG, bench, early, fma, issues, order_of_warps, plain};
use crate::support;

use designs::modern::{Modern, ModernConfig};
use isa::{OpClass, Space};
use sm::Timeline;
use std::ops::Range;
use support::*;

fn drawn(lines: &[Line]) -> String {
    bench(lines).draw::<Modern>(&CONFIG).draw()
}

/// The instructions `orders` of warp 0 from the issue of the first of them on: earlier ones come from memory.
fn from_issue(drawn: &Timeline, orders: Range<u32>) -> String {
    let from = at(drawn, orders.start, 'I');
    let row = |order| {
        let passed = ['I', 'C', 'E', 'W'].map(|stage| (drawn.at(0, order, stage), stage));
        let passed = passed.iter().filter_map(|&(cycle, stage)| Some(((cycle? - from) as usize, stage)));
        let mut cells = vec![' '; 1];
        for (cycle, stage) in passed {
            let filler = if stage == 'I' { ' ' } else { '.' };
            cells.resize(cells.len().max(cycle + 1), filler);
            cells[cycle] = stage;
        }
        cells.into_iter().collect::<String>()
    };
    orders.map(row).collect::<Vec<_>>().join("\n")
}

/// Issues of the warps of a sub-core as figure 4 has them: a row for each, the youngest first, and a column for each
/// cycle.
fn turns(issued: &[(u64, u64)]) -> String {
    let (first, last) = (issued[0].0, issued[issued.len() - 1].0);
    let row = |warp: u64| {
        let cell = |now| if issued.contains(&(now, warp)) { '#' } else { '.' };
        format!("W{warp} {}", (first..=last).map(cell).collect::<String>().trim_end_matches('.'))
    };
    (0..4).rev().map(row).collect::<Vec<_>>().join("\n")
}

/// Listing 1: the second multiply-add reads three registers of two banks, or of one; the next ones wait in Control.
#[test]
fn listing_1() {
    let pair = |x, y| drawn(&[fma(11, &[10, 12, 14]), fma(13, &[16, x, y]), plain(60), plain(61)]);
    insta::assert_snapshot!(pair(19, 21), @r"
    from 0                         |         |
    w0  fp_fma r11, r10, r12, r14  FDI.CEW
    w0  fp_fma r13, r16, r19, r21   FDI.CEW
    w0  int_add r60                  FDI.CEW
    w0  int_add r61                   FDI.CEW
    w0  exit                           FDI.CEW
    ");
    insta::assert_snapshot!(pair(18, 21), @r"
    from 0                         |         |
    w0  fp_fma r11, r10, r12, r14  FDI.CEW
    w0  fp_fma r13, r16, r18, r21   FDI..CEW
    w0  int_add r60                  FDI..CEW
    w0  int_add r61                   FDI..CEW
    w0  exit                           FD.I.CEW
    ");
    insta::assert_snapshot!(pair(18, 20), @r"
    from 0                         |         |
    w0  fp_fma r11, r10, r12, r14  FDI.CEW
    w0  fp_fma r13, r16, r18, r20   FDI...CEW
    w0  int_add r60                  FDI...CEW
    w0  int_add r61                   FDI...CEW
    w0  exit                           FD..I.CEW
    ");
}

/// Listing 2: by its stall count the reader issues before the result is there, or when it is.
#[test]
fn listing_2() {
    let pair = |stall| drawn(&[op(OpClass::FpAdd, 1, &[2]).stall(stall, false), fma(5, &[1])]);
    insta::assert_snapshot!(pair(1), @r"
    from 0             |
    w0  fp_add r1, r2  FDI.CEW
    w0  fp_fma r5, r1   FD.I.CEW
    w0  exit             FD.I.CEW
    ");
    insta::assert_snapshot!(pair(4), @r"
    from 0             |         |
    w0  fp_add r1, r2  FDI.CEW
    w0  fp_fma r5, r1   FD...I.CEW
    w0  exit             FD...I.CEW
    ");
}

/// Listing 3: a result is read by a move after 4 cycles, as an address after 5. Machine code with less reads too early;
/// code without control bits waits.
#[test]
fn listing_3() {
    let moved = |dst, src| op(OpClass::Move, dst, &[src]);
    let address = || Line { srcs: vec![40], ..load(Space::Global, 44, 0, 4) };
    let of_a6000 = |lines: &[Line]| {
        let gpu = config::load("a6000").expect("a built-in GPU");
        Bench { gpu, memory_latency: 10, ..bench(lines) }
    };
    let needed = |stall, reader: Line| {
        let lines = [moved(40, 16).stall(stall, false), reader.stall(2, false)];
        early(&of_a6000(&lines)).first().map(|read| read.3)
    };
    assert_eq!([3, 4].map(|stall| needed(stall, moved(43, 40))), [Some(Some(4)), None]);
    assert_eq!([4, 5].map(|stall| needed(stall, address())), [Some(Some(5)), None]);
    let waited = |reader| of_a6000(&[moved(40, 16), reader]).draw::<Modern>(&CONFIG);
    assert_eq!([moved(43, 40), address()].map(|reader| issues(&waited(reader), 2)), [[4], [5]]);
    insta::assert_snapshot!(waited(moved(43, 40)).draw(), @r"
    from 0             |         |
    w0  move r40, r16  FDI.CEW
    w0  move r43, r40   FD...I.CEW
    w0  exit             FD...I.CEW
    ");
    insta::assert_snapshot!(waited(address()).draw(), @r"
    from 0             |         |         |         |         |         |
    w0  move r40, r16  FDI.CE.W
    w0  ld.global r44   FD....I..........CE...................................W
    w0  exit             FD....I.CEW
    ");
}

/// Listing 4 after a first reader of R2, R7 and R8 that keeps R2: what the second one keeps or evicts shows in the third,
/// which reads R2, R4 and R8 of one bank.
#[test]
fn listing_4() {
    let line = |dst, srcs: &[u16], reused| op(OpClass::FpFma, dst, srcs).in_slots(reused);
    let after = |second: Line| drawn(&[line(20, &[2, 7, 8], 1), second, line(22, &[2, 4, 8], 0), plain(60)]);
    insta::assert_snapshot!(after(line(21, &[2, 12, 14], 0)), @r"
    from 0                        |         |
    w0  fp_fma r20, r2, r7, r8    FDI.CEW
    w0  fp_fma r21, r2, r12, r14   FDI.CEW
    w0  fp_fma r22, r2, r4, r8      FDI...CEW
    w0  int_add r60                  FDI...CEW
    w0  exit                          FDI...CEW
    ");
    insta::assert_snapshot!(after(line(21, &[2, 12, 14], 1)), @r"
    from 0                        |         |
    w0  fp_fma r20, r2, r7, r8    FDI.CEW
    w0  fp_fma r21, r2, r12, r14   FDI.CEW
    w0  fp_fma r22, r2, r4, r8      FDI..CEW
    w0  int_add r60                  FDI..CEW
    w0  exit                          FDI..CEW
    ");
    insta::assert_snapshot!(after(line(21, &[7, 2, 14], 0)), @r"
    from 0                       |         |
    w0  fp_fma r20, r2, r7, r8   FDI.CEW
    w0  fp_fma r21, r7, r2, r14   FDI.CEW
    w0  fp_fma r22, r2, r4, r8     FDI..CEW
    w0  int_add r60                 FDI..CEW
    w0  exit                         FDI..CEW
    ");
    insta::assert_snapshot!(after(line(21, &[4, 12, 14], 0)), @r"
    from 0                        |         |
    w0  fp_fma r20, r2, r7, r8    FDI.CEW
    w0  fp_fma r21, r4, r12, r14   FDI..CEW
    w0  fp_fma r22, r2, r4, r8      FDI....CEW
    w0  int_add r60                  FDI....CEW
    w0  exit                          FD.I...CEW
    ");
}

/// Figure 4a: four warps of 32 instructions in cold caches. A miss passes the turn to the youngest other warp.
#[test]
fn figure_4a() {
    let lines: Vec<_> = stream(31).map(|line| line.stall(1, false)).collect();
    let mut bench = bench(&lines).warps(4).gpu(|g| g.sm.issue.schedulers = 1);
    // Lines come from memory one after the other, each as the one before has been issued.
    (bench.request_interval, bench.tick_every_cycle) = (11, true);
    let run = bench.run_design::<Modern, _>(&ModernConfig::DEFAULT, Issues::default());
    let issued: Vec<_> = run.sm.observer.0.iter().map(|&(now, warp, _)| (now, u64::from(warp))).collect();
    let turns_of: Vec<_> = issued.chunk_by(|a, b| a.1 == b.1).map(|turn| (turn[0].1, turn.len())).collect();
    assert_eq!(turns_of, [(3, 8), (2, 32), (3, 24), (1, 32), (0, 32)]);
    insta::assert_snapshot!(turns(&issued), @r"
    W3 ########.................................########################
    W2 .........################################
    W1 .................................................................################################
    W0 .................................................................................................################################
    ");
}

/// Figure 4b and 4c: the second instruction of each warp has a stall count of 4, or yields.
#[test]
fn figure_4b_and_4c() {
    let lines = |second: fn(Line) -> Line| -> Vec<Line> {
        (0..32).map(|i| if i == 1 { second(plain(40 + i)) } else { plain(40 + i) }).collect()
    };
    insta::assert_snapshot!(turns(&order_of_warps(&lines(|line| line.stall(4, false)), &CONFIG)), @r"
    W3 ##....###############################
    W2 ..##.................................###############################
    W1 ....##..............................................................###############################
    W0 ...................................................................................................##...###############################
    ");
    insta::assert_snapshot!(turns(&order_of_warps(&lines(|line| line.stall(1, true)), &CONFIG)), @r"
    W3 ##..###############################
    W2 ..##...............................###############################
    W1 ..................................................................##..###############################
    W0 ....................................................................##...............................###############################
    ");
}

/// Section 5.4: a constant of an instruction of fixed latency that L1 has and the sub-core has not.
#[test]
fn a_missed_constant_costs_79_cycles() {
    // Two lines of the sub-core's cache, which has room for one; they are in one line of L1. Each is looked up in the cycle
    // after an issue.
    let lines: Vec<_> = (0..4).map(|at| plain(20 + at).constant(64 * (at % 2))).collect();
    let bench = bench(&lines).gpu(|g| {
        (g.sm.instruction_caches.constant_sets, g.sm.instruction_caches.constant_ways) = (Some(1), Some(1));
    });
    let drawn = bench.draw::<Modern>(&ModernConfig::DEFAULT);
    assert_eq!([2, 3].map(|order| at(&drawn, order, 'I') - at(&drawn, order - 1, 'I')), [80; 2]);
    insta::assert_snapshot!(from_issue(&drawn, 1..4), @r"
    I.CEW
                                                                                    I.CEW
                                                                                                                                                                    I.CEW
    ");
}

/// Section 4: a stall count of 0 with a yield.
#[test]
fn the_long_stall_takes_45_cycles() {
    let lines: Vec<_> = (0..4).map(|at| plain(20 + at).stall(u8::from(at != 1), at == 1)).collect();
    let drawn = bench(&lines).draw::<Modern>(&CONFIG);
    assert_eq!(issues(&drawn, 4), [1, 46, 47]);
    insta::assert_snapshot!(from_issue(&drawn, 0..4), @r"
    I.CEW
     I.CEW
                                                  I.CEW
                                                   I.CEW
    ");
}
