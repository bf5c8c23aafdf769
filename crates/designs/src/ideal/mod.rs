//! Idealised out-of-order issue: the limit study that motivates GhOST.
//!
//! Paper: I. Chaturvedi et al., "GhOST: a GPU Out-of-Order Scheduling Technique for Stall Reduction"
//! (ISCA 2024), sections II-A and VI-F, table V, figure 1.
//!
//! ```text
//!  decode ► window ─ every instruction that may issue ► warp scheduler ► ID_OC
//!         (64 / warp)
//! ```
//!
//! Instructions of a warp issue in any order from a deep window. Three freedoms, each of which an
//! [`IdealConfig`] grants or not, give the eight columns of table V:
//!
//! - **Unbounded register renaming.** A source waits for the youngest older writer of its register, and
//!   nothing waits for anything else. Without it, an instruction also waits until older ones have
//!   written (WAW) and read (WAR) the registers that it writes, as an exact board sees it.
//! - **Perfect alias checking.** An access waits for the issue of an older one only if the two touch a
//!   byte in common and one of them writes. Without it, only loads pass loads. Atomics, asynchronous
//!   copies, volatile accesses and loads of GPU scope or wider keep their places either way.
//! - **Perfect branch prediction.** Decode follows the warp's true path, and what follows a branch
//!   issues like anything else. Without it, nothing after a branch issues before the branch does, and
//!   decode continues after it as the GPU's front end does.
//!
//! Synchronisation (barriers, fences, sleep, waits for copies, the end of the warp) issues when all
//! older instructions have, and nothing after it issues before.
//!
//! **Deviations**
//! - D1: table V calls its window "very deep". It is 64 here, as in the authors' published configuration
//!   of the limit study: 64 instructions in program order from the oldest that has not issued.
//! - D2: the paper does not say at what rate the window fills. Fetch and decode are the GPU's: on Volta
//!   and Turing eight instructions a cycle and SM, twice as many as can issue.
//! - D3: the window costs no stage: an instruction may issue in the cycle after its decode, as in
//!   order, and in the cycle in which what it waits for ends. The warp scheduler sees all candidates of
//!   a warp and issues the oldest whose issue latch has room.
//! - D4: without renaming, a WAR dependence ends when the reader's operands have been read (predicates
//!   and uniform registers: when it issues). In the paper it ends at issue, as in [GhOST](super::ghost),
//!   which leaves a write in time to overtake a read in its operand collector.
//! - D5: with renaming, an instruction that writes some lanes of a register only (divergence, a guard)
//!   takes the others from the older value: it waits for a write in flight that it does not cover.
//! - D6: branches are never mispredicted, and exits of some of a warp's threads count as branches. Decode
//!   stops at barriers, since what follows depends on other warps.
//! - D7: nothing bounds the registers that renaming takes, as in the paper.
//!
//! **Structures** of an SM with *w* warps: the window (*w* x 64 x 97 bits: valid, mask, instruction). Maps
//! of registers and queues of accesses without bound have no size to give.
//!
//! **Stall reasons**: the oldest instruction's: RAW, WAW, WAR. It has nothing else to wait for.
//!
//! **Statistics**: instructions that issue before an older one of their warp (figure 1).

mod accesses;
mod registers;
mod waits;

use accesses::Accesses;
use config::BranchFetch;
use isa::{Control, RegFile, WarpSlot};
use kit::Cycle;
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist};
use registers::Registers;
use sm::CachedFetch;
use sm::DesignStatistic;
use sm::LoadStoreUnit;
use sm::PerWarp;
use sm::Stall;
use sm::Units;
use sm::WakeUp;
use sm::WarpMask;
use sm::operands::{CollectorRules, Collectors};
use sm::{Allowances, CoreDesign};
use sm::{Candidates, Each, Head, IssuePolicy, Structure};
use sm::{CoreSpec, Pipe, PipeSet};
use sm::{Flight, Window};
use sm::{InFlight, InstId};
use waits::{AllWaiters, Cause, Entry, Places, SPAN, Waiters, Waits, place_of, wait};

kit::parameters! {
    /// The window and the freedoms of the limit study.
    pub struct IdealConfig {
        /// Instructions of a warp, from the oldest that has not issued to the youngest; at least as many as a fetch
        /// brings.
        pub window: u32 = 64 in (1, 64),
        /// Unbounded register renaming.
        pub renaming: bool = true,
        /// Perfect alias checking.
        pub addresses: bool = true,
        /// Perfect branch prediction.
        pub branches: bool = true,
    }
}

impl IdealConfig {
    /// A window of 64 with some of the three freedoms, in the order of table V.
    pub const fn with(renaming: bool, addresses: bool, branches: bool) -> Self {
        Self { window: SPAN as u32, renaming, addresses, branches }
    }
}

/// The window of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct WarpWindow {
    /// Place in program order of the oldest instruction that has not issued, or of the next to come.
    head: u32,
    /// Place in program order of the next to come.
    tail: u32,
    /// Instructions that have not issued.
    waiting: Places,
    /// Of those, the ones that may issue.
    ready: Places,
    /// The same by pipe.
    ready_for: [Places; Pipe::COUNT],
    /// Pipes for which one may.
    pipes: PipeSet,
    /// Synchronisation that waits to be the oldest.
    in_turn: Places,
    /// The youngest instruction that none after it may pass, until it issues.
    wall: Places,
}

impl WarpWindow {
    /// The instruction at the place `mine` may issue.
    #[inline]
    fn make_ready(&mut self, mine: Places, pipe: Pipe) {
        self.ready |= mine;
        self.ready_for[pipe.index()] |= mine;
        self.pipes = self.pipes.with(pipe);
    }

    /// The instruction at the place `mine`, which was ready, has issued.
    #[inline]
    fn take(&mut self, mine: Places, pipe: Pipe) {
        self.waiting &= !mine;
        self.wall &= !mine;
        self.ready &= !mine;
        let same = &mut self.ready_for[pipe.index()];
        *same &= !mine;
        self.pipes = if *same == 0 { self.pipes.without(pipe) } else { self.pipes };
    }

    /// The place of the oldest of `places`, of which there is one.
    #[inline]
    fn oldest(&self, places: Places) -> usize {
        place_of(self.head + places.rotate_right(self.head % SPAN as u32).trailing_zeros())
    }

    /// The oldest instruction has issued. Gives the next if that is synchronisation, whose turn it is.
    #[inline]
    fn advance(&mut self) -> Places {
        let places = self.waiting.rotate_right(self.head % SPAN as u32);
        self.head = if places == 0 { self.tail } else { self.head + places.trailing_zeros() };
        let turn = self.in_turn & 1 << place_of(self.head);
        self.in_turn &= !turn;
        turn
    }
}

/// The schedulers' view of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shown {
    pipes: PipeSet,
    stall: Option<Stall>,
}

/// The issue design.
#[derive(Debug)]
pub struct Ideal<M: WarpMask = u64> {
    config: IdealConfig,
    per_fetch: u32,
    max_warps: usize,

    windows: PerWarp<WarpWindow, M>,
    /// The instructions in them: `SPAN` places for each warp.
    entries: Box<[Entry]>,
    waiters: AllWaiters,
    registers: Registers,
    accesses: Accesses,

    // Masks over the warps.
    room: M,
    candidates: Candidates<M>,
    /// Entry of each warp in `candidates`.
    shown: PerWarp<Shown, M>,

    issued: u64,
    reordered: u64,
}

impl<M: WarpMask> Ideal<M> {
    /// Ends the wait for `cause` of the instructions at the places `waiters` of `warp`.
    #[inline]
    fn wake(&mut self, warp: WarpSlot, waiters: Places, cause: Cause) {
        let w = warp.index();
        let entries = &mut self.entries[w * SPAN..][..SPAN];
        for p in set_bits(waiters) {
            let Entry { waits, pipe, .. } = &mut entries[p];
            waits.end(cause);
            if waits.are_over() {
                self.windows[w].make_ready(1 << p, *pipe);
            }
        }
    }

    /// Updates what the schedulers see of `warp`.
    #[inline]
    fn show(&mut self, warp: WarpSlot) {
        let w = warp.index();
        let of = &self.windows[w];
        let stalled = of.pipes.0 == 0 && of.waiting != 0;
        let stall = if stalled { self.entries[w * SPAN + place_of(of.head)].waits.stall() } else { None };
        let new = Shown { pipes: of.pipes, stall };
        let old = std::mem::replace(&mut self.shown[w], new);
        if old == new {
            return;
        }
        let (candidates, only) = (&mut self.candidates, M::of(warp));
        candidates.changed |= only;
        old.pipes.except(new.pipes).iter().for_each(|pipe| candidates.remove(Head::ready(pipe), only));
        new.pipes.except(old.pipes).iter().for_each(|pipe| candidates.insert(Head::ready(pipe), only));
        if old.stall != new.stall {
            old.stall.into_iter().for_each(|stall| candidates.remove(Head::stalled(stall), only));
            new.stall.into_iter().for_each(|stall| candidates.insert(Head::stalled(stall), only));
        }
    }

    /// Instructions that `id`, the youngest of its warp, waits for at `place`.
    #[inline]
    fn dependences(&mut self, window: Window<'_>, id: InstId, place: usize) -> Waits {
        let inst = window.inst(id);
        let (w, mine) = (inst.warp.index(), 1 << place);
        let entries = &self.entries[w * SPAN..][..SPAN];
        let mut waits = self.registers.enter(window, id, mine, entries, &mut self.waiters);
        let of = &mut self.windows[w];
        let mut older = of.wall;
        if inst.mem.is_some() {
            older |= self.accesses.enter(window, id, place, entries);
        }
        for p in set_bits(older) {
            wait(&mut self.waiters.to_go_on[entries[p].id.index()].issue, mine, &mut waits, Cause::Order);
        }
        let synchronises = synchronises(inst);
        if synchronises && of.head != inst.order {
            of.in_turn |= mine;
            waits.begin(Cause::Order);
        }
        if synchronises || inst.control != Control::None && !self.config.branches {
            of.wall = mine;
        }
        waits
    }
}

/// Whether an instruction issues when all older ones have, and before all younger ones.
#[inline]
fn synchronises(inst: &InFlight) -> bool {
    inst.ends_warp || !matches!(inst.control, Control::None | Control::Branch | Control::Exit)
}

impl<M: WarpMask> CoreDesign for Ideal<M> {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    fn operands(_: &IdealConfig, spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }

    fn branches(config: &IdealConfig, of_gpu: BranchFetch) -> BranchFetch {
        if config.branches { BranchFetch::Oracle } else { of_gpu }
    }

    fn allowances(config: &IdealConfig) -> Allowances {
        Allowances { renames: config.renaming, passes_branches: config.branches, ..Allowances::default() }
    }
}

impl<M: WarpMask> IssuePolicy for Ideal<M> {
    type Config = IdealConfig;
    type Mask = M;

    fn new(config: &IdealConfig, spec: &CoreSpec) -> Self {
        let (warps, per_fetch) = (spec.sm.max_warps as usize, spec.sm.frontend.instructions_per_fetch);
        let config = IdealConfig { window: config.window.max(per_fetch).min(SPAN as u32), ..*config };
        Self {
            config,
            per_fetch,
            max_warps: warps,
            windows: PerWarp::new(WarpWindow::default()),
            entries: vec![Entry { waits: Waits::default(), id: InstId(0), pipe: Pipe(0) }; warps * SPAN].into(),
            waiters: AllWaiters::default(),
            registers: Registers::new(config.renaming),
            accesses: Accesses::new(warps, config.addresses),
            room: M::ALL,
            candidates: Candidates::default(),
            shown: PerWarp::new(Shown::default()),
            issued: 0,
            reordered: 0,
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let once = Each::Instruction.times(1);
        let window = Structure::new("instruction window", self.max_warps, self.config.window as usize, 1 + 64 + 32);
        vec![window.ports(1, self.per_fetch as usize).read(once).written(once)]
    }

    fn statistics(&self) -> Vec<DesignStatistic> {
        let what = "Issued before an older instruction of their warp.";
        vec![
            DesignStatistic::count("reordered", "warp instructions", what, self.reordered),
            DesignStatistic::reordered_share(self.reordered, self.issued),
        ]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        let of = &mut self.windows[warp.index()];
        debug_assert!(of.waiting == 0 && of.in_turn == 0 && of.wall == 0);
        (of.head, of.tail) = (0, 0);
        self.registers.start_warp(warp, regs);
    }

    #[inline]
    fn room(&self) -> M {
        self.room
    }

    #[inline]
    fn insert(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let (warp, w, place) = (flight.warp, flight.warp.index(), place_of(flight.order));
        self.waiters.begin(id, self.config.renaming);
        let waits = self.dependences(window, id, place);
        self.entries[w * SPAN + place] = Entry { waits, id, pipe: flight.pipe };
        let of = &mut self.windows[w];
        of.waiting |= 1 << place;
        of.tail = flight.order + 1;
        if of.tail - of.head + self.per_fetch > self.config.window {
            self.room.remove(warp);
        }
        if waits.are_over() {
            of.make_ready(1 << place, flight.pipe);
        }
        self.show(warp);
    }

    #[inline]
    fn tick(&mut self, _now: Cycle, _window: Window<'_>, _wake_up: &mut WakeUp) -> M {
        self.candidates.take_changed()
    }

    #[inline]
    fn candidates(&self) -> &Candidates<M> {
        &self.candidates
    }

    #[inline]
    fn select(&self, _window: Window<'_>, warp: WarpSlot, pipes: PipeSet) -> InstId {
        let of = &self.windows[warp.index()];
        let open = PipeSet(of.pipes.0 & pipes.0);
        let ready = if open == of.pipes {
            of.ready
        } else {
            open.iter().fold(0, |ready, pipe| ready | of.ready_for[pipe.index()])
        };
        debug_assert!(ready != 0, "a warp that was chosen has a candidate");
        self.entries[warp.index() * SPAN + of.oldest(ready)].id
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let (warp, w, mine) = (flight.warp, flight.warp.index(), 1 << place_of(flight.order));
        let of = &mut self.windows[w];
        let is_oldest = flight.order == of.head;
        self.issued += 1;
        self.reordered += u64::from(!is_oldest);
        of.take(mine, flight.pipe);
        let turn = if is_oldest { of.advance() } else { 0 };
        if of.tail - of.head + self.per_fetch <= self.config.window {
            self.room.insert(warp);
        }
        if flight.mem.is_some() {
            self.accesses.issue(&flight, mine);
        }
        self.registers.issue(window, id, mine);
        let Waiters { issue, .. } = self.waiters.to_go_on[id.index()];
        self.wake(warp, turn, Cause::Order);
        self.wake(warp, issue, Cause::Order);
        self.wake(warp, self.waiters.to_write(id).issue, Cause::War);
        self.show(warp);
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) {
        if self.config.renaming {
            return;
        }
        self.registers.has_read(window, id);
        let waiters = self.waiters.to_write(id).read;
        if waiters != 0 {
            self.wake(window.inst(id).warp, waiters, Cause::War);
            self.show(window.inst(id).warp);
        }
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        self.registers.has_written(window, id);
        let Waiters { result, .. } = self.waiters.to_go_on[id.index()];
        let to_write = self.waiters.to_write(id).result;
        if result | to_write != 0 {
            self.wake(flight.warp, result, registers::raw(&flight));
            self.wake(flight.warp, to_write, Cause::Waw);
            self.show(flight.warp);
        }
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        let of = &self.windows[warp.index()];
        (of.waiting != 0).then(|| self.entries[warp.index() * SPAN + place_of(of.head)].id)
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.issued.persist(archive)?;
        self.reordered.persist(archive)
    }
}
