//! The seam for memory stages bears another one than the load/store unit: an ideal memory in which
//! every access takes the same time.

use crate::support;

use isa::Space;
use kit::{Cycle, NEVER};
use sm::operands::{CollectorRules, Collectors};
use sm::{
    CachedFetch, CoreDesign, CoreSpec, FrontEnd, InOrder, InstId, IssuePolicy, MemoryStage, MemoryWires, Observer,
    Timeline, WriteBack,
};
use std::collections::VecDeque;
use support::*;

/// Cycles that an access or a fetch takes from the dispatch latch on.
const LATENCY: Cycle = 50;

/// Takes an access in each cycle, whatever its lanes ask for, and makes no request at the port.
struct FixedLatency {
    accesses: VecDeque<(Cycle, InstId)>,
    /// Tokens of fetches.
    fetches: VecDeque<(Cycle, u32)>,
}

impl MemoryStage for FixedLatency {
    fn new(_: &CoreSpec) -> Self {
        Self { accesses: VecDeque::new(), fetches: VecDeque::new() }
    }

    fn has_work<D: CoreDesign<Memory = Self>>(&self, _: Cycle, wires: &MemoryWires<'_, D>) -> bool {
        !self.is_idle() || wires.has_access() || wires.front_end.may_send()
    }

    fn step<D: CoreDesign<Memory = Self>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, D, O>,
        wires: &mut MemoryWires<'_, D>,
    ) {
        let now = wb.now();
        if let Some(&(due, id)) = self.accesses.front()
            && due <= now
            && wb.try_write_registers(id)
        {
            self.accesses.pop_front();
            wb.complete(id);
        }
        if let Some(&(due, token)) = self.fetches.front()
            && due <= now
        {
            self.fetches.pop_front();
            wires.front_end.fill(now, token);
        }
        if let Some(icache) = wires.front_end.send() {
            let requests = std::iter::from_fn(|| icache.pop_miss());
            self.fetches.extend(requests.map(|request| (now + LATENCY, request.token)));
        }
        if wires.has_access() {
            self.accesses.push_back((now + LATENCY, wb.begin_access(wires.oc_ex)));
        }
        let next = |due: Option<Cycle>| due.map_or(NEVER, |due| due.max(now + 1));
        wb.wake_at(next(self.accesses.front().map(|a| a.0)).min(next(self.fetches.front().map(|f| f.0))));
    }

    fn is_idle(&self) -> bool {
        self.accesses.is_empty() && self.fetches.is_empty()
    }
}

/// The in-order core over that memory.
struct OnIdealMemory;

impl CoreDesign for OnIdealMemory {
    type FrontEnd = CachedFetch;
    type Issue = InOrder;
    type Operands = Collectors;
    type Memory = FixedLatency;

    fn operands(_: &<InOrder as IssuePolicy>::Config, spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }
}

fn load_and_use(stride: u64) -> Vec<Line> {
    vec![load(Space::Global, 1, 0, stride), add(2, &[1]), store(Space::Global, 2, 0, stride), fence(), add(3, &[2])]
}

#[test]
fn every_access_takes_the_same_time() {
    let at = |stride, order, letter| {
        let run = Bench::new(&load_and_use(stride)).run_design::<OnIdealMemory, _>(&(), Timeline::default());
        assert!(!run.deadlocked && run.port.outbox.is_empty());
        run.sm.observer.at(0, order, letter).unwrap()
    };
    for stride in [4, 128] {
        assert_eq!(at(stride, 0, 'W') - at(stride, 0, 'E'), LATENCY, "a load of stride {stride}");
        assert_eq!(at(stride, 2, 'W') - at(stride, 2, 'E'), LATENCY, "a store of stride {stride}");
        assert!(at(stride, 4, 'I') >= at(stride, 2, 'W'), "the fence waits for the store");
    }
    let run = Bench::new(&load_and_use(128)).run();
    let taken = run.sm.observer.at(0, 0, 'W').unwrap() - run.sm.observer.at(0, 0, 'E').unwrap();
    assert!(taken > 200, "the load/store unit sends 32 transactions, which took {taken} cycles");
}

#[test]
fn it_brings_instructions_too_and_sleeps_alike() {
    let mut lines = load_and_use(4);
    lines.extend([sync(0, 0), atomic(4, 64, 0), load(Space::Shared, 5, 0, 4), add(6, &[5, 4])]);
    let mut bench = Bench::new(&lines).warps(8);
    bench.gpu.sm.perfect_instruction_and_constant_caches = false;
    bench.ctas = 3;
    let asleep = bench.run_design::<OnIdealMemory, _>(&(), Timeline::default());
    assert!(!asleep.deadlocked, "{:?}", asleep.sm.describe_stalls(&asleep.kernels));
    assert!(asleep.sm.counters().fetch_misses > 0);
    assert_eq!(asleep.sm.counters().warp_instructions, 3 * 8 * (lines.len() as u64 + 1));
    bench.tick_every_cycle = true;
    let awake = bench.run_design::<OnIdealMemory, _>(&(), Timeline::default());
    assert_eq!(awake.sm.observer.draw(), asleep.sm.observer.draw());
    assert!(asleep.ticks < awake.ticks);
}
