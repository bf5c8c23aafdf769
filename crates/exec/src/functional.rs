//! Runs a launch without timing: CTAs one after another, their warps in turn. Every timing design must leave
//! the same memory.

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

    /// Called before each turn of a warp.
    fn turn(&mut self, _cta: u64, _warp: WarpSlot) {}

    /// Called for each executed instruction, with the lanes that were live before it.
    fn see(&mut self, live: LaneMask, out: &DynInst) -> ControlFlow<()>;

    /// Called when each warp of a CTA has had its turn.
    fn look(&mut self, _round: Round<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(LaneMask, &DynInst) -> ControlFlow<()>> Observer for F {
    fn see(&mut self, live: LaneMask, out: &DynInst) -> ControlFlow<()> {
        self(live, out)
    }
}

/// A CTA between two turns of its warps.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names of some fields say it all")]
pub struct Round<'a> {
    pub state: &'a mut DeviceState,
    pub stream: &'a mut LiveStream,
    /// Number of the CTA in the grid.
    pub cta: u64,
    pub warps: &'a [WarpSlot],
    /// Warp instructions of the run so far.
    pub executed: u64,
    /// Turns that each warp has had.
    pub turns: &'a [u32],
    /// Threads that have arrived at barriers that are not complete.
    pub arrived: u64,
    waiting: &'a [Waiting],
}

impl Round<'_> {
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
    run_in_order(state, &mut stream, launch, ctas, (Order::default(), stats), observer)
}

/// As [`run_ctas`], in another order, after other CTAs with these `stats`.
pub(crate) fn run_in_order(
    state: &mut DeviceState,
    stream: &mut LiveStream,
    launch: &Launch,
    ctas: impl Iterator<Item = u64>,
    (order, mut stats): (Order, FunctionalStats),
    observer: &mut impl Observer,
) -> Result<Option<FunctionalStats>, Box<Fault>> {
    let id = state.add_launch(launch.clone());
    let size = launch.shape().cluster_ctas();
    // Each cluster is run from its first CTA.
    let mut firsts = ctas.filter(|number| number.is_multiple_of(size));
    let result = firsts.try_for_each(|first| {
        run_ctas_together(state, stream, (id, launch), (first..first + size, order), &mut stats, observer)
    });
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

/// Runs the CTAs with these numbers, one or a cluster. Their warps take turns together.
fn run_ctas_together(
    state: &mut DeviceState,
    stream: &mut LiveStream,
    (id, launch): (KernelId, &Launch),
    (numbers, order): (Range<u64>, Order),
    stats: &mut FunctionalStats,
    observer: &mut impl Observer,
) -> Result<(), Ended> {
    let shape = launch.shape();
    let per_cta = shape.warps() as usize;
    let ctas = (numbers.end - numbers.start) as usize;
    let warps: Vec<WarpSlot> = (0..per_cta * ctas).map(WarpSlot::from).collect();
    let is_cluster = launch.effective_cluster().is_some();
    for number in numbers.clone() {
        stream.prepare_cta(state, id, shape.position(number));
    }
    for (slot, (number, warps)) in numbers.clone().zip(warps.chunks(per_cta)).enumerate() {
        stream.start_cta(state, id, shape.position(number), CtaSlot::from(slot), warps);
    }
    if is_cluster {
        stream.lend(state);
    }
    let mut by_turn = warps.clone();
    if order.is_reversed {
        by_turn.reverse();
    }
    let mut waiting = vec![Waiting::No; warps.len()];
    let mut barriers = vec![[0_u32; crate::warp::BARRIERS]; ctas];
    let mut out = DynInst::default();
    let mut turns = vec![0; warps.len()];
    let mut since_barrier = vec![0_u8; warps.len()];
    loop {
        let mut progress = false;
        for &warp in &by_turn {
            if waiting[warp.index()] == Waiting::No {
                progress = true;
                turns[warp.index()] += 1;
                observer.turn(numbers.start, warp);
                let since = &mut since_barrier[warp.index()];
                let length = FIRST_TURNS.get(usize::from(*since)).map_or(order.turn, |&first| first.min(order.turn));
                let barriers = &mut barriers[warp.index() / per_cta];
                let end = turn(state, stream, (warp, length), stats, (barriers, &mut *observer), &mut out)?;
                *since = if end == Waiting::No { since.saturating_add(1) } else { 0 };
                waiting[warp.index()] = end;
                wake(stream, &mut waiting);
            }
        }
        let round = Round {
            state: &mut *state,
            stream: &mut *stream,
            cta: numbers.start,
            warps: &warps,
            executed: stats.warp_instructions,
            turns: &turns,
            arrived: barriers.iter().flatten().copied().map(u64::from).sum(),
            waiting: &waiting,
        };
        if observer.look(round).is_break() {
            return Err(Ended::Stopped);
        }
        if waiting.iter().all(|w| *w == Waiting::Done) {
            break;
        }
        let mut released = is_cluster && pass_cluster(state, stream, &mut waiting);
        for (cta, barriers) in barriers.iter_mut().enumerate() {
            let first = cta * per_cta;
            released |= release(stream, first, &mut waiting[first..first + per_cta], barriers);
        }
        if !progress && !released {
            return Err(deadlock(stream, (launch, numbers), &waiting, &barriers).into());
        }
    }
    (0..ctas).for_each(|slot| stream.end_cta(CtaSlot::from(slot)));
    if is_cluster {
        stream.lend(state);
    }
    stats.ctas += ctas as u64;
    Ok(())
}

/// Releases the warps of complete barriers of clusters, and of an `mbarrier` at which other CTAs have arrived.
fn pass_cluster(state: &mut DeviceState, stream: &mut LiveStream, waiting: &mut [Waiting]) -> bool {
    if !waiting.contains(&Waiting::Held) {
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

#[cold]
fn deadlock(
    stream: &LiveStream,
    (launch, numbers): (&Launch, Range<u64>),
    waiting: &[Waiting],
    barriers: &[[u32; crate::warp::BARRIERS]],
) -> Box<Fault> {
    let per_cta = launch.shape().warps() as usize;
    let mut who = Vec::new();
    let mut first = None;
    for (i, w) in waiting.iter().enumerate() {
        let (warp, cta) = (i % per_cta, i / per_cta);
        let of = if barriers.len() > 1 { format!(" of CTA {cta} of the cluster") } else { String::new() };
        match w {
            Waiting::Barrier { id, threads } => {
                let wanted = if *threads == 0 { "all".into() } else { threads.to_string() };
                let arrived = barriers[cta][*id as usize];
                who.push(format!("warp {warp}{of} waits at barrier {id} for {wanted} threads ({arrived} arrived)"));
            }
            Waiting::Held => {
                let what = stream.describe_wait(WarpSlot::from(i)).unwrap_or_default();
                who.push(format!("warp {warp}{of} waits for {what}"));
            }
            Waiting::No | Waiting::Done => continue,
        }
        first.get_or_insert(i);
    }
    let first = first.unwrap_or(0);
    let at = stream.waits_at(WarpSlot::from(first)).unwrap_or_else(|| {
        // The warp's program counter is after its barrier instruction, which is therefore the one before.
        let after = stream.next_pc(WarpSlot::from(first)).unwrap_or_default();
        isa::Pc(after.0.saturating_sub(1))
    });
    let shape = launch.shape();
    Box::new(Fault {
        kind: FaultKind::Other,
        what: format!("deadlock: {}", who.join("; ")),
        spot: spot(&launch.kernel, at),
        cta: shape.position(numbers.start + (first / per_cta) as u64),
        thread: launch.block.position((first % per_cta) as u64 * kit::WARP_LANES as u64),
        lanes: stream.live(WarpSlot::from(first)),
    })
}
