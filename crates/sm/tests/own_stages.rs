//! The seams bear stages from outside the crate: a memory in which every access takes the same time, and a
//! front end whose sub-cores have caches of their own under a shared one.

use crate::support;

use isa::{Space, WarpSlot};
use kit::{Cycle, NEVER};
use mem::cache::{CacheCounters, CacheOutcome};
use mem::{Cache, Request};
use sm::operands::{CollectorRules, Collectors, OperandStage};
use sm::{
    CachedFetch, Client, CoreDesign, CoreSpec, FetchWires, FrontEnd, InOrder, InstId, IssuePolicy, LoadStoreUnit,
    MemoryStage, MemoryWires, Observer, Outbox, Timeline, Units, WarpMask, WriteBack,
};
use std::collections::VecDeque;
use support::*;

/// Cycles that an access takes from the dispatch latch on.
const LATENCY: Cycle = 50;

/// Takes an access in each cycle, whatever its lanes ask for, and makes no request at the port.
struct FixedLatency {
    accesses: VecDeque<(Cycle, InstId)>,
}

impl Client for FixedLatency {}

impl MemoryStage for FixedLatency {
    fn new(_: &CoreSpec) -> Self {
        Self { accesses: VecDeque::new() }
    }

    fn has_work(&self, _: Cycle, access_waits: bool) -> bool {
        !self.is_idle() || access_waits
    }

    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        if let Some(&(due, id)) = self.accesses.front()
            && due <= wb.now()
            && wb.try_write_registers(id)
        {
            self.accesses.pop_front();
            wb.complete(id);
        }
    }

    fn step<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        wires: &mut MemoryWires<'_>,
    ) {
        if wires.oc_ex.waiting_for_memory() != 0 {
            self.accesses.push_back((wb.now() + LATENCY, wb.begin_access(wires.oc_ex)));
        }
        let next = self.accesses.front().map_or(NEVER, |access| access.0);
        wb.wake_at(next.max(wb.now() + 1));
    }

    fn is_idle(&self) -> bool {
        self.accesses.is_empty()
    }
}

/// The in-order core over that memory.
struct OnIdealMemory;

impl CoreDesign for OnIdealMemory {
    type FrontEnd = CachedFetch;
    type Issue = InOrder;
    type Operands = Collectors;
    type Execution = Units;
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

/// Sub-cores that fetch from caches of their own.
const SUB_CORES: usize = 4;

/// Cycles from the shared cache to one of a sub-core.
const FROM_SHARED: Cycle = 7;

/// Each sub-core has a cache of its own, which one cache that they share fills; only that one asks the memory.
struct TwoLevels {
    own: Vec<Cache>,
    shared: Cache,
    /// Lines on their way to a sub-core, with the tokens of its cache.
    coming: VecDeque<(Cycle, usize, u32)>,
    /// Warps whose instructions are there.
    fetched: VecDeque<WarpSlot>,
    answered: VecDeque<WarpSlot>,
    per_fetch: u8,
}

impl TwoLevels {
    /// Misses of the sub-cores go to the shared cache.
    fn pass_on(&mut self, now: Cycle) {
        for (core, own) in self.own.iter_mut().enumerate() {
            let Some(&miss) = own.peek_miss() else { continue };
            // The token says which sub-core and which of its misses.
            let request = Request { token: miss.token * SUB_CORES as u32 + core as u32, ..miss };
            let access = self.shared.access(now, &request);
            match access.outcome {
                CacheOutcome::Fail(_) => continue,
                CacheOutcome::Hit => self.coming.push_back((now + FROM_SHARED, core, miss.token)),
                CacheOutcome::Miss | CacheOutcome::Merged => {}
            }
            own.pop_miss();
        }
    }

    /// Lines that have come reach the sub-cores and their warps.
    fn arrive(&mut self, now: Cycle) {
        while let Some(&(_, core, token)) = self.coming.front().filter(|line| line.0 <= now) {
            self.coming.pop_front();
            self.own[core].fill(now, token);
            self.answered.extend(std::iter::from_fn(|| self.own[core].pop_ready()).map(|w| WarpSlot(w.token as u16)));
        }
    }
}

impl<M: WarpMask> FrontEnd<M> for TwoLevels {
    fn new(spec: &CoreSpec) -> Self {
        let shared = &spec.sm.frontend.icache;
        let own = config::Cache { sets: 4, ..shared.clone() };
        Self {
            own: (0..SUB_CORES).map(|_| Cache::new(&own)).collect(),
            shared: Cache::new(shared),
            coming: VecDeque::new(),
            fetched: VecDeque::new(),
            answered: VecDeque::new(),
            per_fetch: spec.sm.frontend.instructions_per_fetch as u8,
        }
    }

    fn step<O: Observer>(&mut self, wanting: M, wires: &mut FetchWires<'_, M, O>) {
        let now = wires.now();
        self.arrive(now);
        for warp in std::mem::take(&mut self.answered) {
            wires.answered(warp);
            self.fetched.push_back(warp);
        }
        for warp in wanting.iter() {
            if self.fetched.contains(&warp) {
                continue;
            }
            let Some(pc) = wires.next_pc(warp) else { continue };
            wires.moved();
            let request = wires.request(warp, pc);
            match self.own[warp.index() % SUB_CORES].access(now, &request).outcome {
                CacheOutcome::Hit => {
                    wires.fetched(warp, pc);
                    self.fetched.push_back(warp);
                }
                CacheOutcome::Miss | CacheOutcome::Merged => wires.missed(warp, pc),
                CacheOutcome::Fail(_) => wires.refused(),
            }
        }
        self.pass_on(now);
        // Lines arrive by time alone, and this stage has no other clock.
        if !self.coming.is_empty() || self.own.iter().any(|own| own.peek_miss().is_some()) || !self.fetched.is_empty() {
            wires.moved();
        }
    }

    fn fetches_per_cycle(&self, _: &CoreSpec) -> u32 {
        1
    }

    fn has_packet(&self) -> bool {
        !self.fetched.is_empty()
    }

    fn take_packet(&mut self) -> Option<(WarpSlot, u8)> {
        Some((self.fetched.pop_front()?, self.per_fetch))
    }

    fn receive(&mut self, now: Cycle, reply: &Request) {
        self.shared.fill(now, reply.token);
        while let Some(waiter) = self.shared.pop_ready() {
            let (core, token) = (waiter.token as usize % SUB_CORES, waiter.token / SUB_CORES as u32);
            self.coming.push_back((now + FROM_SHARED, core, token));
        }
    }

    fn counters(&self) -> CacheCounters {
        self.shared.counters().clone()
    }
}

impl Client for TwoLevels {
    fn may_send(&self) -> bool {
        self.shared.peek_miss().is_some()
    }

    fn send(&mut self, outbox: &mut Outbox<'_>) {
        outbox.send_miss(&mut self.shared);
    }
}

/// The in-order core with that front end, over `M`.
struct WithTwoLevels<M>(std::marker::PhantomData<M>);

impl<M: MemoryStage> CoreDesign for WithTwoLevels<M> {
    type FrontEnd = TwoLevels;
    type Issue = InOrder;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = M;

    fn operands(_: &<InOrder as IssuePolicy>::Config, spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }
}

/// Neither memory stage knows of the front end, nor it of them.
fn it_fetches_through_two_levels<M: MemoryStage>() {
    let mut lines = load_and_use(4);
    lines.extend([sync(0, 0), atomic(4, 64, 0), load(Space::Shared, 5, 0, 4), add(6, &[5, 4])]);
    let mut bench = Bench::new(&lines).warps(8);
    bench.gpu.sm.perfect_instruction_and_constant_caches = false;
    bench.ctas = 3;
    let asleep = bench.run_design::<WithTwoLevels<M>, _>(&(), Timeline::default());
    assert!(!asleep.deadlocked, "{:?}", asleep.sm.describe_stalls(&asleep.kernels));
    assert_eq!(asleep.sm.counters().warp_instructions, 3 * 8 * (lines.len() as u64 + 1));
    let shared = asleep.sm.icache_counters();
    // Warps of a sub-core share its cache, so the shared one is asked less often than they miss.
    assert!(shared.accesses() > 0 && asleep.sm.counters().fetch_misses > shared.accesses());
    bench.tick_every_cycle = true;
    let awake = bench.run_design::<WithTwoLevels<M>, _>(&(), Timeline::default());
    assert_eq!(awake.sm.observer.draw(), asleep.sm.observer.draw());
}

#[test]
fn sub_cores_with_caches_of_their_own_fetch_beside_the_load_store_unit() {
    it_fetches_through_two_levels::<LoadStoreUnit>();
}

#[test]
fn sub_cores_with_caches_of_their_own_fetch_beside_an_ideal_memory() {
    it_fetches_through_two_levels::<FixedLatency>();
}
