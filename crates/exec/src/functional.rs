//! Runs a launch without timing: CTAs one after another, their warps in turn. Every timing design must leave
//! the same memory.
//!
//! A CTA may wait for a later one, as CTAs that are resident together on a GPU may: if CTAs execute a million instructions
//! and none of them ends, the next ones join them.

use crate::launch::Launch;
use crate::spot::spot;
use crate::state::DeviceState;
use crate::stream::LiveStream;
use crate::turn::Turn;
use isa::{CtaSlot, DynInst, Fault, FaultKind, KernelId, StepContext, WarpSlot, WarpStream};
use kit::LaneMask;
use std::ops::{ControlFlow, Range};

/// Instructions that a warp executes before the next warp's turn: large enough for speed, small enough that
/// warps that wait for each other's stores make progress.
const TURN: u32 = 256;

/// Instructions of a warp's first turns after each barrier. All warps of an SM pass a barrier at about the same time,
/// and programs rely on it: they overwrite a variable of shared memory soon after the barrier before which it was
/// set, when a warp that has executed 256 instructions by itself would find the others still about to read it.
const FIRST_TURNS: [u32; 3] = [2, 8, 32];

/// Warp instructions of the CTAs that have begun before others join them: one, then two, four and so on.
const PATIENCE: u64 = 1 << 20;
/// Warps of all CTAs that have begun, beyond which none joins.
const MOST_WARPS: usize = 1 << 14;

/// The order in which the warps of a CTA have their turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// The last warp is the first.
    pub is_reversed: bool,
    /// Instructions of a turn.
    pub turn: u32,
}

impl Default for Order {
    fn default() -> Self {
        Self { is_reversed: false, turn: TURN }
    }
}

/// Counts of a functional run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct FunctionalStats {
    /// Instructions executed by warps.
    pub warp_instructions: u64,
    /// Instructions executed by threads whose guard holds.
    pub thread_instructions: u64,
    pub ctas: u64,
}

/// The state of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    No,
    /// Waits at a barrier for this number of threads (0 for all of the CTA).
    Barrier {
        id: u8,
        threads: u32,
    },
    /// Waits at an `mbarrier` or at the barrier of the cluster.
    Held,
    Done,
}

/// Observer of a functional run, which may stop it. A closure sees the executed instructions only.
pub trait Observer {
    /// Whether it does not look at instructions: they are executed faster then, and [`Observer::see`] is not called.
    const IS_BLIND: bool = false;

    /// Called before each turn of a warp of the CTA, or of the cluster that begins with it.
    fn turn(&mut self, _cta: u64, _warp: usize) {}

    /// Called for each executed instruction, with the lanes that were live before it.
    fn see(&mut self, live: LaneMask, out: &DynInst) -> ControlFlow<()>;

    /// Called when each warp has had its turn.
    fn look(&mut self, _round: Round<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(LaneMask, &DynInst) -> ControlFlow<()>> Observer for F {
    fn see(&mut self, live: LaneMask, out: &DynInst) -> ControlFlow<()> {
        self(live, out)
    }
}

/// The CTAs that have begun, each between two turns of its warps.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names of some fields say it all")]
pub struct Round<'a> {
    pub state: &'a mut DeviceState,
    pub stream: &'a mut LiveStream,
    /// CTAs that have begun in the run.
    pub begun: u64,
    /// Warps of CTAs that have not ended.
    pub warps: &'a [WarpSlot],
    /// Warp instructions of the run so far.
    pub executed: u64,
    /// Turns that each warp has had.
    pub turns: &'a [u32],
    /// Threads that have arrived at barriers that are not complete.
    pub arrived: u64,
    waiting: &'a [Waiting],
    /// Numbers in the grid, by CTA slot.
    numbers: &'a [u64],
    warps_per_cta: usize,
}

impl Round<'_> {
    /// Number in the grid of the CTA of `warp`, and the warp's index in it.
    pub fn place(&self, warp: WarpSlot) -> (u64, usize) {
        (self.numbers[warp.index() / self.warps_per_cta], warp.index() % self.warps_per_cta)
    }

    /// Whether `warp` waits at a barrier.
    pub fn is_waiting(&self, warp: WarpSlot) -> bool {
        matches!(self.waiting[warp.index()], Waiting::Barrier { .. } | Waiting::Held)
    }

    /// Whether all threads of `warp` have exited.
    pub fn is_done(&self, warp: WarpSlot) -> bool {
        self.waiting[warp.index()] == Waiting::Done
    }
}

/// Runs `launch` to its end.
///
/// # Errors
/// The first [`Fault`]; a barrier that cannot complete is one.
pub fn run(state: &mut DeviceState, launch: &Launch) -> Result<FunctionalStats, Box<Fault>> {
    run_observed(state, launch, |_, _| ())
}

/// As [`run`]. Calls `observe` for each executed instruction, with the lanes that were live before it.
///
/// # Errors
/// As of [`run`].
pub fn run_observed(
    state: &mut DeviceState,
    launch: &Launch,
    mut observe: impl FnMut(LaneMask, &DynInst),
) -> Result<FunctionalStats, Box<Fault>> {
    let mut see = |live: LaneMask, out: &DynInst| {
        observe(live, out);
        ControlFlow::Continue(())
    };
    let ran = run_ctas(state, launch, 0..launch.grid.volume(), &mut see);
    ran.map(|stats| stats.expect("nothing stops it"))
}

/// As [`run_observed`], of the CTAs with these numbers only. `None` if `observer` has stopped it.
///
/// # Errors
/// As of [`run`].
pub fn run_ctas(
    state: &mut DeviceState,
    launch: &Launch,
    ctas: Range<u64>,
    observer: &mut impl Observer,
) -> Result<Option<FunctionalStats>, Box<Fault>> {
    let (mut stream, stats) = (LiveStream::new(), FunctionalStats::default());
    let only = (ctas, 0..0);
    run_in_order(state, &mut stream, launch, only, (Order::default(), stats), observer)
}

/// As [`run_ctas`], in another order, after other CTAs with these `stats`. The first `ctas` are run to their end; the others
/// are those that may join them, and the iterator is left at the first one that has not.
pub(crate) fn run_in_order(
    state: &mut DeviceState,
    stream: &mut LiveStream,
    launch: &Launch,
    (ctas, mut others): (impl Iterator<Item = u64>, impl Iterator<Item = u64>),
    (order, mut stats): (Order, FunctionalStats),
    observer: &mut impl Observer,
) -> Result<Option<FunctionalStats>, Box<Fault>> {
    let id = state.add_launch(launch.clone());
    let mut group = Group::new((id, launch), order);
    let result = group.run(state, stream, (ctas, &mut others), &mut stats, observer);
    state.take_back_launch(id);
    match result {
        Ok(()) => Ok(Some(stats)),
        Err(Ended::Stopped) => Ok(None),
        Err(Ended::Fault(fault)) => Err(fault),
    }
}

/// Why a CTA has not run to its end.
enum Ended {
    Fault(Box<Fault>),
    Stopped,
}

impl From<Box<Fault>> for Ended {
    fn from(fault: Box<Fault>) -> Self {
        Ended::Fault(fault)
    }
}

/// The units that have begun and not ended: CTAs, or clusters, whose CTAs begin and end together.
struct Group<'a> {
    id: KernelId,
    launch: &'a Launch,
    order: Order,
    warps_per_cta: usize,
    /// CTAs of a unit.
    ctas: usize,
    is_cluster: bool,
    /// Places of the units, in the order in which they began.
    units: Vec<usize>,
    /// Their warps.
    warps: Vec<WarpSlot>,
    /// CTAs that have begun.
    begun: u64,
    /// By place: whether a warp has had a turn in the present round.
    progress: Vec<bool>,
    /// By CTA slot: its number in the grid, and the threads at its barriers.
    numbers: Vec<u64>,
    barriers: Vec<[u32; crate::warp::BARRIERS]>,
    /// By warp slot: also its turns, all of them and those since the last barrier.
    waiting: Vec<Waiting>,
    turns: Vec<u32>,
    since_barrier: Vec<u8>,
}

impl<'a> Group<'a> {
    fn new((id, launch): (KernelId, &'a Launch), order: Order) -> Self {
        let shape = launch.shape();
        Self {
            id,
            launch,
            order,
            warps_per_cta: shape.warps() as usize,
            ctas: shape.cluster_ctas() as usize,
            is_cluster: launch.effective_cluster().is_some(),
            units: Vec::new(),
            warps: Vec::new(),
            begun: 0,
            progress: Vec::new(),
            numbers: Vec::new(),
            barriers: Vec::new(),
            waiting: Vec::new(),
            turns: Vec::new(),
            since_barrier: Vec::new(),
        }
    }

    /// Runs `ctas` to their end; `others` join them if they wait.
    fn run(
        &mut self,
        state: &mut DeviceState,
        stream: &mut LiveStream,
        (ctas, others): (impl Iterator<Item = u64>, &mut impl Iterator<Item = u64>),
        stats: &mut FunctionalStats,
        observer: &mut impl Observer,
    ) -> Result<(), Ended> {
        let size = self.ctas as u64;
        let is_first = |number: &u64| number.is_multiple_of(size);
        let mut due = ctas.filter(is_first);
        let (mut joining, mut since) = (1, stats.warp_instructions);
        loop {
            if self.units.is_empty() {
                let Some(first) = due.next() else { return Ok(()) };
                self.begin(state, stream, first);
                (joining, since) = (1, stats.warp_instructions);
            }
            for at in 0..self.units.len() {
                self.take_turns(state, stream, self.units[at], stats, observer)?;
            }
            self.show(state, stream, stats, observer)?;
            if self.pass_barriers(state, stream, stats)? {
                since = stats.warp_instructions;
            }
            let has_room = self.warps.len() + joining * self.ctas * self.warps_per_cta <= MOST_WARPS;
            if has_room && !self.units.is_empty() && stats.warp_instructions - since > PATIENCE {
                let next = due.by_ref().chain(others.by_ref().filter(is_first)).take(joining);
                next.for_each(|first| self.begin(state, stream, first));
                (joining, since) = (joining * 2, stats.warp_instructions);
            }
        }
    }

    /// The unit whose first CTA has this number begins, at the first free place.
    fn begin(&mut self, state: &mut DeviceState, stream: &mut LiveStream, first: u64) {
        let shape = self.launch.shape();
        let place = (0..).find(|place| !self.units.contains(place)).unwrap_or(0);
        let (slots, warps) = (self.slots(place), self.warps_of(place));
        let numbers = first..first + self.ctas as u64;
        for number in numbers.clone() {
            stream.prepare_cta(state, self.id, shape.position(number));
        }
        let begins: Vec<WarpSlot> = warps.clone().map(WarpSlot::from).collect();
        for ((slot, number), warps) in slots.clone().zip(numbers.clone()).zip(begins.chunks(self.warps_per_cta)) {
            stream.start_cta(state, self.id, shape.position(number), CtaSlot::from(slot), warps);
        }
        if self.is_cluster {
            stream.lend(state);
        }
        self.progress.resize(self.progress.len().max(place + 1), false);
        self.numbers.resize(self.numbers.len().max(slots.end), 0);
        self.barriers.resize(self.numbers.len(), [0; crate::warp::BARRIERS]);
        self.waiting.resize(self.waiting.len().max(warps.end), Waiting::Done);
        self.turns.resize(self.waiting.len(), 0);
        self.since_barrier.resize(self.waiting.len(), 0);
        for (slot, number) in slots.zip(numbers) {
            (self.numbers[slot], self.barriers[slot]) = (number, [0; crate::warp::BARRIERS]);
        }
        self.waiting[warps.clone()].fill(Waiting::No);
        self.turns[warps.clone()].fill(0);
        self.since_barrier[warps].fill(0);
        self.units.push(place);
        self.warps.extend(begins);
        self.begun += self.ctas as u64;
    }

    /// CTA slots of the unit at `place`.
    fn slots(&self, place: usize) -> Range<usize> {
        place * self.ctas..(place + 1) * self.ctas
    }

    /// Warp slots of the unit at `place`.
    fn warps_of(&self, place: usize) -> Range<usize> {
        let slots = self.slots(place);
        slots.start * self.warps_per_cta..slots.end * self.warps_per_cta
    }

    /// Each warp of the unit at `place` that does not wait has a turn.
    fn take_turns(
        &mut self,
        state: &mut DeviceState,
        stream: &mut LiveStream,
        place: usize,
        stats: &mut FunctionalStats,
        observer: &mut impl Observer,
    ) -> Result<(), Ended> {
        let warps = self.warps_of(place);
        let number = self.numbers[self.slots(place).start];
        let mut out = DynInst::default();
        self.progress[place] = false;
        for index in 0..warps.len() {
            let index = if self.order.is_reversed { warps.len() - 1 - index } else { index };
            let warp = warps.start + index;
            if self.waiting[warp] != Waiting::No {
                continue;
            }
            self.progress[place] = true;
            self.turns[warp] += 1;
            observer.turn(number, index);
            let since = &mut self.since_barrier[warp];
            let most = self.order.turn;
            let length = FIRST_TURNS.get(usize::from(*since)).map_or(most, |&first| first.min(most));
            let barriers = &mut self.barriers[warp / self.warps_per_cta];
            let end = turn(state, stream, (WarpSlot::from(warp), length), stats, (barriers, &mut *observer), &mut out)?;
            *since = if end == Waiting::No { since.saturating_add(1) } else { 0 };
            self.waiting[warp] = end;
            wake(stream, &mut self.waiting);
        }
        Ok(())
    }

    /// The observer looks at the CTAs.
    fn show(
        &self,
        state: &mut DeviceState,
        stream: &mut LiveStream,
        stats: &FunctionalStats,
        observer: &mut impl Observer,
    ) -> Result<(), Ended> {
        let arrived = |place: &usize| self.barriers[self.slots(*place)].as_flattened();
        let round = Round {
            state,
            stream,
            begun: self.begun,
            warps: &self.warps,
            executed: stats.warp_instructions,
            turns: &self.turns,
            arrived: self.units.iter().flat_map(arrived).copied().map(u64::from).sum(),
            waiting: &self.waiting,
            numbers: &self.numbers,
            warps_per_cta: self.warps_per_cta,
        };
        if observer.look(round).is_break() { Err(Ended::Stopped) } else { Ok(()) }
    }

    /// Ends the units whose warps are done, and releases the warps of the others that wait at complete barriers. Whether a
    /// unit has ended.
    fn pass_barriers(
        &mut self,
        state: &mut DeviceState,
        stream: &mut LiveStream,
        stats: &mut FunctionalStats,
    ) -> Result<bool, Ended> {
        let (mut has_ended, mut at) = (false, 0);
        while let Some(&place) = self.units.get(at) {
            let (warps, slots) = (self.warps_of(place), self.slots(place));
            if self.waiting[warps.clone()].iter().all(|waiting| *waiting == Waiting::Done) {
                slots.for_each(|slot| stream.end_cta(CtaSlot::from(slot)));
                if self.is_cluster {
                    stream.lend(state);
                }
                stats.ctas += self.ctas as u64;
                self.units.remove(at);
                self.warps.retain(|warp| !warps.contains(&warp.index()));
                has_ended = true;
                continue;
            }
            at += 1;
            let mut released = self.is_cluster && pass_cluster(state, stream, &mut self.waiting, warps);
            for slot in slots.clone() {
                let first = slot * self.warps_per_cta;
                let waiting = &mut self.waiting[first..first + self.warps_per_cta];
                released |= release(stream, first, waiting, &mut self.barriers[slot]);
            }
            if !self.progress[place] && !released {
                return Err(self.deadlock(stream, slots).into());
            }
        }
        Ok(has_ended)
    }

    /// The fault of a unit whose warps all wait, in these CTA slots.
    #[cold]
    fn deadlock(&self, stream: &LiveStream, slots: Range<usize>) -> Box<Fault> {
        let mut who = Vec::new();
        let mut first = None;
        for slot in slots.clone() {
            let of = match slots.len() {
                1 => String::new(),
                _ => format!(" of CTA {} of the cluster", slot - slots.start),
            };
            for warp in 0..self.warps_per_cta {
                let at = slot * self.warps_per_cta + warp;
                match self.waiting[at] {
                    Waiting::Barrier { id, threads } => {
                        let wanted = if threads == 0 { "all".into() } else { threads.to_string() };
                        let arrived = self.barriers[slot][usize::from(id)];
                        who.push(format!(
                            "warp {warp}{of} waits at barrier {id} for {wanted} threads ({arrived} arrived)"
                        ));
                    }
                    Waiting::Held => {
                        let what = stream.describe_wait(WarpSlot::from(at)).unwrap_or_default();
                        who.push(format!("warp {warp}{of} waits for {what}"));
                    }
                    Waiting::No | Waiting::Done => continue,
                }
                first.get_or_insert(at);
            }
        }
        let first = first.unwrap_or(slots.start * self.warps_per_cta);
        let at = stream.waits_at(WarpSlot::from(first)).unwrap_or_else(|| {
            // The warp's program counter is after its barrier instruction, which is therefore the one before.
            let after = stream.next_pc(WarpSlot::from(first)).unwrap_or_default();
            isa::Pc(after.0.saturating_sub(1))
        });
        let (cta, warp) = (self.numbers[first / self.warps_per_cta], first % self.warps_per_cta);
        Box::new(Fault {
            kind: FaultKind::Other,
            what: format!("deadlock: {}", who.join("; ")),
            spot: spot(&self.launch.kernel, at),
            cta: self.launch.shape().position(cta),
            thread: self.launch.block.position(warp as u64 * kit::WARP_LANES as u64),
            lanes: stream.live(WarpSlot::from(first)),
        })
    }
}

/// Releases the warps of complete barriers of clusters, and of an `mbarrier` at which other CTAs have arrived. Whether any of
/// `warps` waited for one, and any warp was released.
fn pass_cluster(
    state: &mut DeviceState,
    stream: &mut LiveStream,
    waiting: &mut [Waiting],
    warps: Range<usize>,
) -> bool {
    if !waiting[warps].contains(&Waiting::Held) {
        return false;
    }
    stream.lend(state);
    stream.take_back(state);
    wake(stream, waiting)
}

/// Continues the warps that the stream has woken. Returns whether any were woken.
fn wake(stream: &mut LiveStream, waiting: &mut [Waiting]) -> bool {
    let woken = std::iter::from_fn(|| stream.take_woken());
    woken.inspect(|warp| waiting[warp.index()] = Waiting::No).count() > 0
}

/// Executes up to `left` instructions of a warp.
fn turn<O: Observer>(
    state: &mut DeviceState,
    stream: &mut LiveStream,
    (warp, mut left): (WarpSlot, u32),
    stats: &mut FunctionalStats,
    (barriers, observer): (&mut [u32], &mut O),
    out: &mut DynInst,
) -> Result<Waiting, Ended> {
    while left > 0 {
        let mut context = StepContext { now: stats.warp_instructions, sm: 0 };
        let before = context.now;
        let threads = &mut stats.thread_instructions;
        let end = if O::IS_BLIND {
            stream.take_unseen_turn(state, warp, (left, &mut context), out, threads)?
        } else {
            let see = |live: LaneMask, out: &DynInst| {
                *threads += u64::from(out.mask.count_ones());
                observer.see(live, out)
            };
            stream.take_turn(state, warp, (left, &mut context), out, see)?
        };
        stats.warp_instructions = context.now;
        left -= (context.now - before) as u32;
        match end {
            Turn::Over => break,
            Turn::Stopped => return Err(Ended::Stopped),
            Turn::Done => return Ok(Waiting::Done),
            Turn::Held => return Ok(Waiting::Held),
            Turn::Barrier { waits } => {
                barriers[out.barrier.id as usize] += kit::WARP_LANES as u32;
                if waits {
                    return Ok(Waiting::Barrier { id: out.barrier.id, threads: u32::from(out.barrier.threads) });
                }
            }
        }
    }
    Ok(Waiting::No)
}

/// Releases the warps of a complete barrier of a CTA, of which `first` is the first. A barrier for the whole CTA waits
/// for its live warps.
fn release(stream: &LiveStream, first: usize, waiting: &mut [Waiting], barriers: &mut [u32]) -> bool {
    let live = (0..waiting.len()).filter(|&i| stream.live(WarpSlot::from(first + i)) != 0).count() as u32;
    let mut released = false;
    for id in 0..barriers.len() {
        let here = |w: &Waiting| matches!(w, Waiting::Barrier { id: at, .. } if *at as usize == id);
        let Some(&Waiting::Barrier { threads, .. }) = waiting.iter().find(|w| here(w)) else { continue };
        let needed = if threads == 0 { live * kit::WARP_LANES as u32 } else { threads };
        if barriers[id] >= needed {
            barriers[id] = 0;
            waiting.iter_mut().filter(|w| here(w)).for_each(|w| *w = Waiting::No);
            released = true;
        }
    }
    released
}
