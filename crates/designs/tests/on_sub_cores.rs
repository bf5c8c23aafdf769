//! Designs of papers over the stages of sub-cores.

use crate::modern::bench;
use crate::support;

use designs::boards::AccessReads;
use designs::ghost::{Ghost, GhostConfig};
use designs::ideal::{Ideal, IdealConfig};
use designs::modern::{Dependences, Modern, ModernConfig};
use designs::on_sub_cores::OnSubCores;
use designs::socgpu::{Socgpu, SocgpuConfig};
use isa::{Form, Space};
use sm::{CoreDesign, CoreOptions, CoreSpec};
use support::*;

type OverSubCores = OnSubCores<Ghost<u64, AccessReads>>;

fn perfect_caches(lines: &[Line]) -> Bench {
    bench(lines).gpu(|g| g.sm.instruction_caches.perfect = Some(true))
}

/// Cycles from the issue of line `from` to the issue of line `to` with `D`.
fn distance<D: CoreDesign>(lines: &[Line], config: &sm::ConfigOf<D>, from: u32, to: u32) -> i64 {
    let drawn = perfect_caches(lines).draw::<D>(config);
    at(&drawn, to, 'I') as i64 - at(&drawn, from, 'I') as i64
}

#[test]
fn writes_wait_until_the_queue_has_read() {
    // The addition writes what the store reads from its queue, ten cycles and more after its issue.
    let lines = [store(Space::Global, 10, 0, 4), add(10, &[]), add(12, &[])];
    let config = GhostConfig::default();
    let drawn = perfect_caches(&lines).draw::<OverSubCores>(&config);
    let (read, overwritten, passing) = (at(&drawn, 0, 'C'), at(&drawn, 1, 'I'), at(&drawn, 2, 'I'));
    assert_eq!(read - at(&drawn, 0, 'I'), 14, "the registers of a store");
    assert!((read..=read + 2).contains(&overwritten), "read in {read}, {overwritten}");
    assert!(passing < overwritten, "the last addition passes");
    for lines in
        [&lines[..], &[load(Space::Shared, 8, 0, 4), store(Space::Shared, 8, 0, 4), load(Space::Shared, 8, 0, 4)]]
    {
        let bench = perfect_caches(lines).warps(8);
        assert_eq!(bench.audit::<OverSubCores>(&config).total(), 0);
        assert_eq!(bench.audit::<OnSubCores<Socgpu>>(&SocgpuConfig::default()).total(), 0);
        assert_eq!(bench.audit::<OnSubCores<Ideal>>(&IdealConfig::with(false, true, true)).total(), 0);
        bench.sleeping_changes_nothing::<OverSubCores>(&config);
        bench.sleeping_changes_nothing::<OnSubCores<Ideal>>(&IdealConfig::default());
    }
}

/// The same where the write is in the issue buffer before the store can issue; arithmetic reads in the order of issue.
#[test]
fn writes_in_the_issue_buffer_wait_for_queues_only() {
    let slow = op(isa::OpClass::Sfu, 10, &[]);
    let lines = [slow, store(Space::Global, 10, 0, 4), add(10, &[])];
    assert_eq!(distance::<OverSubCores>(&lines, &GhostConfig::default(), 1, 2), 14);
    let lines = [add(11, &[10]), add(10, &[])];
    assert_eq!(distance::<OverSubCores>(&lines, &GhostConfig::default(), 0, 1), 1);
}

/// By its paper alone GhOST ends a write-after-read dependence at issue, which is too early where accesses wait in queues.
#[test]
fn the_papers_board_would_let_a_write_pass_a_read_in_a_queue() {
    let lines = [store(Space::Global, 10, 0, 4), add(10, &[])];
    let findings =
        perfect_caches(&lines).audit::<OnSubCores<Ghost>>(&GhostConfig { guarded: false, ..Default::default() });
    assert_eq!(findings.count(sm::Violation::War), 1, "{findings}");
}

#[test]
fn stall_counts_do_not_hold_designs_that_reorder() {
    let lines = [add(10, &[]).stall(15, false), add(11, &[]).stall(15, false), add(12, &[10]).stall(15, false)];
    assert_eq!(distance::<Modern>(&lines, &ModernConfig::default(), 0, 2), 30);
    // From the first to its reader the latency is 4.
    assert_eq!(distance::<OverSubCores>(&lines, &GhostConfig::default(), 0, 2), 4);
    assert_eq!(distance::<OnSubCores<Ideal>>(&lines, &IdealConfig::default(), 0, 2), 4);
    let in_order = ModernConfig { stall_counts: false, ..ModernConfig::default() };
    assert_eq!(distance::<Modern>(&lines, &in_order, 0, 2), 4);
}

/// In order each of the boards keeps what it is for, whatever the control bits say.
#[test]
fn boards_take_the_place_of_dependence_counters() {
    let lines = [
        load(Space::Global, 8, 0, 4).stall(1, false),
        store(Space::Global, 10, 0, 4).stall(1, false),
        add(10, &[8]).stall(1, false),
        add(11, &[10]).stall(4, false),
    ];
    for dependences in [
        Dependences::Scoreboard,
        Dependences::ScoreboardCommit,
        Dependences::WarpboardRead,
        Dependences::WarpboardCommit,
        Dependences::Bloomboard1,
        Dependences::Bloomboard2,
        Dependences::BloomboardUnbounded,
    ] {
        let config = ModernConfig { dependences, ..ModernConfig::default() };
        let bench = perfect_caches(&lines).warps(4);
        assert_eq!(bench.audit::<Modern>(&config).total(), 0, "{dependences:?}");
        bench.sleeping_changes_nothing::<Modern>(&config);
    }
    let to_add = |dependences, reader: &Line| {
        let lines = [reader.clone().stall(1, false), add(10, &[]).stall(1, false)];
        distance::<Modern>(&lines, &ModernConfig { dependences, ..ModernConfig::default() }, 0, 1)
    };
    let store_to_add = |dependences| to_add(dependences, &store(Space::Global, 10, 0, 4));
    let special = op(isa::OpClass::Sfu, 12, &[10]);
    assert_eq!(store_to_add(Dependences::ControlBits), 1, "no counter keeps it");
    let read = store_to_add(Dependences::Scoreboard);
    assert_eq!(read, 14, "table 2 of Huerta et al., WAR of a store");
    assert!([Dependences::WarpboardRead, Dependences::Bloomboard1].map(store_to_add).iter().all(|&d| d == read));
    assert_eq!(to_add(Dependences::Scoreboard, &special), 2);
    assert_eq!(to_add(Dependences::ScoreboardCommit, &special), 20, "its latency");
}

#[test]
fn what_needs_operand_collectors_is_refused() {
    let spec = |name| {
        let gpu = config::load(name).expect("a built-in GPU");
        CoreSpec::new(&gpu, Form::Sass, CoreOptions::default()).expect("a sound GPU")
    };
    let unguarded = GhostConfig { guarded: false, ..GhostConfig::default() };
    let at_issue = SocgpuConfig { reads_end: designs::socgpu::Until::Issue, ..SocgpuConfig::default() };
    let v100 = spec("v100");
    assert!(OverSubCores::check(&GhostConfig::default(), &v100).is_ok());
    assert!(OverSubCores::check(&unguarded, &v100).unwrap_err().contains("guarded=false"));
    assert!(OnSubCores::<Socgpu>::check(&at_issue, &v100).unwrap_err().contains("operand collectors"));
    assert!(OverSubCores::check(&GhostConfig::default(), &spec("gtx480")).unwrap_err().contains("sub-cores"));
}
