//! The stall counts of machine code, exact to the cycle: Huerta et al., MICRO 2025, section 4.

use crate::support;

use isa::{OpClass, Space};
use sm::{InOrder, Stall};
use support::*;

/// A GPU that honours stall counts, and on which independent instructions issue back to back.
fn bench(lines: &[Line]) -> Bench {
    Bench::new(lines).gpu(|g| {
        g.sm.issue.stall_counts = Some(true);
        g.sm.frontend.fetches_per_cycle = 4;
        g.sm.frontend.instructions_per_fetch = 4;
        g.sm.frontend.buffer_entries = 8;
    })
}

/// From the issue of each of `lines` to that of the next, of a warp alone.
fn distances(lines: &[Line], honours: bool) -> Vec<u64> {
    let count = lines.len() as u32;
    let run = bench(lines).gpu(|g| g.sm.issue.stall_counts = Some(honours)).run();
    let issued: Vec<u64> = (0..count).map(|order| at(&run.sm.observer, order, 'I')).collect();
    issued.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn stall_counts_bound_the_distance_of_issues() {
    // Independent, for two units in turn.
    let alone: Vec<Line> = stream(6).collect();
    let warm = distances(&alone, true);
    assert_eq!(warm[2..], [1, 1, 1]);
    for (stall, yields, distance) in [(0, false, 1), (1, false, 1), (2, false, 2), (8, false, 8), (15, true, 15)] {
        let mut lines = alone.clone();
        lines[3] = lines[3].clone().stall(stall, yields);
        assert_eq!(distances(&lines, true)[2..], [1, distance, 1], "stall {stall}, yield {yields}");
        assert_eq!(distances(&lines, false), warm, "they are ignored unless the GPU honours them");
    }
}

/// A yield leaves the next cycle to another warp, and one with stall count 0 holds its warp for 45 cycles.
#[test]
fn yields_hold_their_warp() {
    for (stall, distance) in [(0, 45), (1, 2), (4, 4)] {
        let mut lines: Vec<Line> = stream(6).collect();
        lines[3] = lines[3].clone().stall(stall, true);
        assert_eq!(distances(&lines, true)[3], distance, "stall {stall}");
    }
}

/// The longer of the two bounds holds: the stall count or the hazard.
#[test]
fn a_hazard_and_a_stall_count_overlap() {
    let chain = |stall| [add(1, &[2]).stall(stall, false), add(1, &[1])];
    let hazard = distances(&chain(1), true)[0];
    for stall in 2..16 {
        assert_eq!(distances(&chain(stall), true)[0], hazard.max(stall.into()));
    }
}

/// Slots of a cycle in which only stall counts keep the warps of a scheduler are lost to them.
#[test]
fn other_warps_issue_while_a_stall_count_runs() {
    let stalls: Vec<Line> = stream(16).map(|line| line.stall(4, false)).collect();
    // Four warps to a scheduler fill its slots; one leaves three of four to its stall count.
    let per_scheduler = |warps: u32| {
        let run = bench(&stalls).warps(4 * warps).scheduler("lrr").run();
        let account = run.sm.account();
        (account.issued(), account.stalled(Stall::StallCount))
    };
    let (issued, lost) = per_scheduler(1);
    assert_eq!(issued, 4 * 17);
    // Three slots behind each of 16 instructions, of four schedulers.
    assert_eq!(lost, 4 * 16 * 3);
    let (issued, lost) = per_scheduler(4);
    assert_eq!(issued, 16 * 17);
    assert!(lost < 4 * 16, "{lost} slots lost where four warps take turns");
}

/// A warp that has exited is held no longer, so that its slot is as another one for the next CTA.
#[test]
fn the_stall_count_of_an_exit_holds_nobody() {
    let cycles = |stall| {
        let mut one = bench(&[add(1, &[2])]);
        one.lines.last_mut().expect("an exit").control_bits = add(1, &[]).stall(stall, false).control_bits;
        let run = Bench { ctas: 40, ..one }.run();
        run.now
    };
    assert_eq!(cycles(15), cycles(1));
}

/// An SM that sleeps through stall counts is the one that is ticked in each cycle, and for each warp the distance
/// between two issues is at least the stall count of the first.
#[test]
fn random_programs_keep_the_distances() {
    for seed in 0..24 {
        let other = |dice: &mut Dice, _: u64, [dst, a, _]: [u16; 3]| {
            op(OpClass::FpAdd, dst, &[a]).stall(dice.below(16) as u8, dice.below(2) == 0)
        };
        let mut lines = random_program(seed, &[Space::Global, Space::Shared], 18, other);
        let dice = &mut Dice(seed + 100);
        for line in lines.iter_mut().filter(|line| line.control_bits.is_none()) {
            *line = line.clone().stall(dice.below(16) as u8, dice.below(4) == 0);
        }
        let bench = Bench { tick_every_cycle: false, ..bench(&lines) }.warps(12);
        bench.sleeping_changes_nothing::<InOrder>(&());
        let run = bench.run_with(Pcs::default());
        let mut last: Vec<Option<(u64, u32)>> = vec![None; 12];
        for (now, warp, pc) in run.sm.observer.0 {
            if let Some((before, from)) = last[usize::from(warp)].replace((now, pc)) {
                let least = bench.lines[from as usize].control_bits.map_or(1, distance);
                assert!(now - before >= least, "warp {warp}: {from} in {before}, {pc} in {now}");
            }
        }
    }
}

/// The instructions that issue, in order: cycle, warp, line.
#[derive(Debug, Default)]
struct Pcs(Vec<(u64, u16, u32)>);

impl sm::Observer for Pcs {
    fn issued(&mut self, now: u64, _: usize, seen: sm::Seen<'_>) {
        self.0.push((now, seen.inst().warp.0, seen.inst().pc.0));
    }
}

/// The least distance after control bits, as the paper states it.
fn distance(bits: isa::ControlBits) -> u64 {
    match (bits.stall_cycles, bits.yields) {
        (0, true) => 45,
        (1, true) => 2,
        (stall, _) => u64::from(stall).max(1),
    }
}
