//! The seam for issue designs bears more than in-order issue: a small out-of-order window that
//! holds entries until write-back, and reservation stations in the operand collectors.

use crate::support;

use isa::{Control, OpClass, RegFile, Space, WarpSlot};
use kit::Cycle;
use sm::operands::{CollectorRules, Collectors, FeedsStations, ReservationStations, StationCounts};
use sm::{
    CachedFetch, Candidates, CoreDesign, CoreSpec, Flight, Head, InOrder, InstId, IssuePolicy, LoadStoreUnit, PipeSet,
    Stall, Structure, Timeline, Units, WakeUp, Window,
};
use support::*;

/// Up to eight instructions per warp, held until write-back, any of which may issue once no older
/// one in the window is in conflict with it.
struct SmallWindow {
    /// Entries of each warp, oldest first, and whether they have issued.
    entries: Vec<Vec<(InstId, bool)>>,
    candidates: Candidates,
    room: u64,
    per_fetch: usize,
}

const ENTRIES: usize = 8;

impl SmallWindow {
    fn conflict(window: Window<'_>, older: InstId, younger: InstId) -> bool {
        let meets = |a: &[isa::RegId], b: &[isa::RegId]| a.iter().any(|r| b.contains(r));
        let (dsts, srcs) = (window.dsts(younger), window.srcs(younger));
        let steers = |id| window.inst(id).control != Control::None;
        meets(window.dsts(older), srcs)
            || meets(window.dsts(older), dsts)
            || meets(window.srcs(older), dsts)
            || (window.inst(older).mem.is_some() && window.inst(younger).mem.is_some())
            || steers(older)
            || steers(younger)
    }

    fn free<'a>(&'a self, window: Window<'a>, warp: WarpSlot) -> impl Iterator<Item = InstId> + 'a {
        let entries = &self.entries[warp.index()];
        entries.iter().enumerate().filter(|(_, e)| !e.1).map(|(i, e)| (i, e.0)).filter_map(move |(i, id)| {
            let free = entries[..i].iter().all(|older| !Self::conflict(window, older.0, id));
            free.then_some(id)
        })
    }

    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        let bit = 1 << warp.0;
        let pipes: Vec<_> = self.free(window, warp).map(|id| window.inst(id).pipe).collect();
        self.candidates.changed |= bit;
        PipeSet::ALL.iter().for_each(|p| self.candidates.remove(Head::ready(p), bit));
        pipes.iter().for_each(|&p| self.candidates.insert(Head::ready(p), bit));
        self.candidates.remove(Head::stalled(Stall::Raw), bit);
        let entries = &self.entries[warp.index()];
        if pipes.is_empty() && !entries.is_empty() {
            self.candidates.insert(Head::stalled(Stall::Raw), bit);
        }
        if entries.len() + self.per_fetch <= ENTRIES {
            self.room |= bit;
        } else {
            self.room &= !bit;
        }
    }
}

impl CoreDesign for SmallWindow {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;
    fn operands(_: &(), spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }
}

impl IssuePolicy for SmallWindow {
    type Config = ();
    type Mask = u64;

    fn new(_: &(), spec: &CoreSpec) -> Self {
        Self {
            entries: vec![vec![]; 64],
            candidates: Candidates::default(),
            room: u64::MAX,
            per_fetch: spec.sm.frontend.instructions_per_fetch as usize,
        }
    }

    fn structures(&self) -> Vec<Structure> {
        vec![Structure::new("window", 64, ENTRIES, 100).ports(1, 2)]
    }

    fn start_warp(&mut self, _: WarpSlot, _: &RegFile) {}

    fn room(&self) -> u64 {
        self.room
    }

    fn insert(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let warp = flight.warp;
        self.entries[warp.index()].push((id, false));
        self.examine(window, warp);
    }

    fn tick(&mut self, _: Cycle, _: Window<'_>, _: &mut WakeUp) -> u64 {
        self.candidates.take_changed()
    }

    fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    fn select(&self, window: Window<'_>, warp: WarpSlot, pipes: PipeSet) -> InstId {
        self.free(window, warp).find(|&id| pipes.contains(window.inst(id).pipe)).expect("there is one")
    }

    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let warp = flight.warp;
        self.entries[warp.index()].iter_mut().find(|e| e.0 == id).expect("it is in the window").1 = true;
        self.examine(window, warp);
    }

    fn on_writeback(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let warp = flight.warp;
        self.entries[warp.index()].retain(|e| e.0 != id);
        self.examine(window, warp);
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.entries[warp.index()].first().map(|e| e.0)
    }
}

#[test]
fn an_out_of_order_window_issues_past_a_stalled_instruction() {
    let lines = [op(OpClass::Sfu, 1, &[2]), add(3, &[1]), add(4, &[5]), op(OpClass::FpMul, 6, &[7])];
    let run = Bench::new(&lines).run_design::<SmallWindow, _>(&(), Timeline::default());
    let issue = |order| run.sm.observer.at(0, order, 'I').unwrap();
    assert!(issue(2) < issue(1) && issue(3) < issue(1));
    assert_eq!(issue(1), run.sm.observer.at(0, 0, 'W').unwrap(), "legal in the cycle of the write-back");
    insta::assert_snapshot!(run.sm.observer.draw(), @r"
    from 0              |         |         |         |
    w0  sfu r1, r2      DI.CE......................W
    w0  int_add r3, r1  D..........................I.CE...W
    w0  int_add r4, r5  D.I.CE...W
    w0  fp_mul r6, r7   D..I.CE...W
    w0  exit            D.................................ICE..W
    ");
}

#[test]
fn designs_run_the_same_instructions_and_sleep_alike() {
    let mut lines = vec![load(Space::Global, 1, 0, 4), add(2, &[1]), add(3, &[4]), sync(0, 0)];
    lines.extend([
        store(Space::Shared, 2, 0, 8),
        load(Space::Shared, 3, 0, 8),
        branch(-1, 3),
        atomic(4, 64, 0),
        fence(),
    ]);
    let mut bench = Bench::new(&lines).warps(8);
    bench.ctas = 5;
    let in_order = bench.run_with(sm::Silent);
    let window = bench.run_design::<SmallWindow, _>(&(), Timeline::default());
    assert!(!window.deadlocked, "{:?}", window.sm.describe_stalls(&window.kernels));
    assert_eq!(window.sm.counters().warp_instructions, in_order.sm.counters().warp_instructions);
    assert_eq!(window.sm.counters().thread_instructions, in_order.sm.counters().thread_instructions);
    bench.sleeping_changes_nothing::<SmallWindow>(&());
}

/// In-order issue that sees no RAW hazard on arithmetic: an instruction goes to its collector and
/// awaits there the results of the instructions before it, as in a reservation station.
struct Stations {
    in_order: InOrder<NoBoard>,
    /// (consumer, producers it awaits).
    waiting: Vec<(InstId, Vec<InstId>)>,
    in_flight: Vec<InstId>,
    woken: Vec<InstId>,
}

impl Stations {
    /// The youngest instruction in flight before `id` that writes `reg`.
    fn producer(&self, window: Window<'_>, id: InstId, reg: isa::RegId) -> Option<InstId> {
        let me = window.inst(id);
        let before = |p: &&InstId| window.inst(**p).warp == me.warp && window.inst(**p).order < me.order;
        let writes = self.in_flight.iter().filter(before).filter(|p| window.dsts(**p).contains(&reg));
        writes.max_by_key(|p| window.inst(**p).order).copied()
    }
}

impl CoreDesign for Stations {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = ReservationStations;
    type Execution = Units;
    type Memory = LoadStoreUnit;
    fn operands(_: &(), spec: &CoreSpec) -> ReservationStations {
        ReservationStations::new(spec, StationCounts { any: spec.sm.operands.collectors, of_memory: 0 })
    }
}

impl IssuePolicy for Stations {
    type Config = ();
    type Mask = u64;
    fn new(_: &(), spec: &CoreSpec) -> Self {
        Self { in_order: InOrder::new(&(), spec), waiting: vec![], in_flight: vec![], woken: vec![] }
    }
    fn structures(&self) -> Vec<Structure> {
        self.in_order.structures()
    }
    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        self.in_order.start_warp(warp, regs);
    }
    fn room(&self) -> u64 {
        self.in_order.room()
    }
    fn insert(&mut self, flight: Flight<'_>) {
        self.in_order.insert(flight);
    }
    fn tick(&mut self, now: Cycle, window: Window<'_>, wake_up: &mut WakeUp) -> u64 {
        self.in_order.tick(now, window, wake_up)
    }
    fn candidates(&self) -> &Candidates {
        self.in_order.candidates()
    }
    fn select(&self, window: Window<'_>, warp: WarpSlot, pipes: PipeSet) -> InstId {
        self.in_order.select(window, warp, pipes)
    }
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let sources = window.vector_srcs(id).iter();
        let producers = sources.filter_map(|&r| self.producer(window, id, r)).collect();
        self.waiting.push((id, producers));
        self.in_flight.push(id);
        self.in_order.on_issue(flight);
    }
    fn on_writeback(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        self.in_flight.retain(|&p| p != id);
        self.waiting.retain(|w| w.0 != id);
        for (consumer, producers) in &mut self.waiting {
            let awaited = producers.iter().filter(|&&p| p == id).count();
            producers.retain(|&p| p != id);
            if window.inst(*consumer).station != sm::InFlight::NO_STATION {
                self.woken.extend(std::iter::repeat_n(*consumer, awaited));
            }
        }
        self.in_order.on_writeback(flight);
    }
    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.in_order.oldest(warp)
    }
}

impl FeedsStations for Stations {
    fn awaited(&self, window: Window<'_>, id: InstId) -> u64 {
        let producers = &self.waiting.iter().find(|w| w.0 == id).expect("it has issued").1;
        let awaits = |r: isa::RegId| producers.iter().any(|&p| window.dsts(p).contains(&r));
        window.vector_srcs(id).iter().enumerate().fold(0, |mask, (i, &r)| mask | u64::from(awaits(r)) << i)
    }
    fn take_woken(&mut self) -> Option<InstId> {
        self.woken.pop()
    }
}

#[test]
fn collectors_serve_as_reservation_stations() {
    let lines = [op(OpClass::Sfu, 1, &[2]), op(OpClass::FpMul, 3, &[1, 4]), op(OpClass::FpAdd, 5, &[3, 1])];
    let run = Bench::new(&lines).run_design::<Stations, _>(&(), Timeline::default());
    let at = |order, letter| run.sm.observer.at(0, order, letter).unwrap();
    assert_eq!(at(1, 'I'), at(0, 'I') + 1, "issues at once");
    assert_eq!(at(1, 'C'), at(0, 'W'), "leaves its collector in the cycle of the broadcast");
    assert_eq!(at(2, 'C'), at(1, 'W'));
}
