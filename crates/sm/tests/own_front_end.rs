//! A front end is a choice of the core design: one without an instruction cache that fetches for all warps at
//! once, composed with the in-order policy and the usual operand collectors.

use crate::support;

use isa::{OpClass, Space, WarpSlot};
use sm::operands::{CollectorRules, Collectors};
use sm::{
    CachedFetch, CoreDesign, CoreSpec, FetchWires, FrontEnd, InOrder, LoadStoreUnit, Observer, Stall, Timeline,
    WarpMask,
};
use support::*;

/// One instruction of each warp with room in each fetch.
struct PerfectFetch<M> {
    fetched: M,
}

impl<M: WarpMask> FrontEnd<M> for PerfectFetch<M> {
    fn new(_: &CoreSpec) -> Self {
        Self { fetched: M::NONE }
    }

    fn step<O: Observer>(&mut self, wanting: M, wires: &mut FetchWires<'_, M, O>) {
        for warp in (wanting & !self.fetched).iter() {
            let Some(pc) = wires.next_pc(warp) else { continue };
            self.fetched.insert(warp);
            wires.fetched(warp, pc);
            wires.moved();
        }
    }

    fn has_packet(&self) -> bool {
        !self.fetched.is_empty()
    }

    fn take_packet(&mut self) -> Option<(WarpSlot, u8)> {
        let warp = self.fetched.first()?;
        self.fetched.remove(warp);
        Some((warp, 1))
    }
}

/// In-order issue after the front end `F`.
struct With<F>(std::marker::PhantomData<F>);

impl<F: FrontEnd<u64>> CoreDesign for With<F> {
    type FrontEnd = F;
    type Issue = InOrder;
    type Operands = Collectors;
    type Memory = LoadStoreUnit;
    fn operands(_: &(), spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }
}

/// Eight warps on an SM that fetches for one of them in each cycle, through an instruction cache.
fn bench(lines: &[Line]) -> Bench {
    Bench::new(lines).warps(8).gpu(|g| {
        g.sm.frontend.fetches_per_cycle = 1;
        g.sm.frontend.buffer_entries = 8;
        g.sm.perfect_instruction_and_constant_caches = false;
    })
}

fn lines() -> Vec<Line> {
    let some = [load(Space::Global, 1, 0, 4), add(2, &[1]), sync(0, 0), op(OpClass::Sfu, 3, &[2]), branch(-2, 3)];
    some.into_iter().chain([store(Space::Shared, 3, 0, 4), add(4, &[3])]).collect()
}

fn decoded(run: &Run<Timeline, impl CoreDesign>, order: u32) -> Vec<u64> {
    (0..8).map(|warp| run.sm.observer.at(warp, order, 'D').expect("it is decoded")).collect()
}

#[test]
fn a_perfect_front_end_decodes_an_instruction_of_every_warp_in_each_cycle() {
    let arithmetic: Vec<Line> = (0..4).map(|i| add(i, &[10 + i])).collect();
    let run = bench(&arithmetic).run_design::<With<PerfectFetch<u64>>, _>(&(), Timeline::default());
    assert_eq!(decoded(&run, 0), [1; 8]);
    assert_eq!(decoded(&run, 1), [2; 8]);
    let usual = bench(&arithmetic).run_design::<With<CachedFetch>, _>(&(), Timeline::default());
    let first = decoded(&usual, 0);
    assert!(first.iter().all(|&cycle| cycle > 200), "the first fetch misses: {first:?}");
    assert!(first.windows(2).all(|two| two[0] != two[1]), "one warp at a time: {first:?}");
    assert_eq!([run.sm.counters().fetch_misses, run.sm.account().stalled(Stall::InstructionCache)], [0; 2]);
    assert!(usual.sm.counters().fetch_misses > 0 && usual.sm.account().stalled(Stall::InstructionCache) > 0);
}

#[test]
fn the_front_end_changes_only_when_instructions_are_decoded() {
    let perfect = bench(&lines()).run_design::<With<PerfectFetch<u64>>, _>(&(), Timeline::default());
    let usual = bench(&lines()).run_design::<With<CachedFetch>, _>(&(), Timeline::default());
    assert!(!perfect.deadlocked && perfect.now < usual.now);
    let issued = |run: &sm::SmCounters| (run.decoded, run.warp_instructions, run.barrier_arrivals, run.flushes);
    assert_eq!(issued(perfect.sm.counters()), issued(usual.sm.counters()));
    let awake = Bench { tick_every_cycle: true, ..bench(&lines()) };
    let awake = awake.run_design::<With<PerfectFetch<u64>>, _>(&(), Timeline::default());
    assert_eq!(awake.sm.observer.draw(), perfect.sm.observer.draw(), "it sleeps when nothing moves");
}
