//! Load slice core: loads and the instructions that make their addresses issue from a queue of their own.
//!
//! Paper: T. E. Carlson, W. Heirman, O. Allam, S. Kaxiras, L. Eeckhout, "The Load Slice Core
//! Microarchitecture" (ISCA 2015), a core of a CPU, here for the warps of a GPU.
//!
//! ```text
//!            IST hit?   ┌► queue A: everything else ──────┐
//!  decode ► RDT: who ───┤                                 ├► warp scheduler ► ID_OC
//!           made it?    └► queue B: loads, their slices ──┘
//! ```
//!
//! - **Queues.** Each warp has two. Each issues from its head, in order; one does not wait for the other
//!   unless a dependence says so. If both heads may issue, the older one goes first.
//! - **Slices** (iterative backward dependency analysis). The instruction slice table (IST) has the PCs of
//!   instructions that make addresses, the register dependence table (RDT) the PC of the last writer of
//!   each register. When a load, a store or an instruction in the IST is decoded, the writers of the
//!   registers that its address is made of enter the IST: one step backward with each iteration of a loop.
//!   An instruction that the IST has when it is decoded goes to queue B.
//!
//! The text of the paper was not available beyond its abstract. From public notes on it: the IST has 128
//! entries in 2 ways, replaced by age of use; loads need no entry; the address parts of stores go to queue B,
//! their data parts to queue A. Its queue sizes could not be checked.
//!
//! **Deviations**
//! - D1: each warp has its queues, all warps of an SM share the IST: they run the same code.
//! - D2: registers are not renamed. An instruction notes at decode the youngest older instruction of the other
//!   queue that it depends on (RAW, WAW, WAR), and waits until that one has issued: the queues are in order,
//!   so that one place is enough. After issue the scoreboard keeps RAW and WAW, and a read guard in the operand
//!   collectors WAR ([`CollectorRules::guards_reads`]), as in GhOST.
//! - D3: a store is one instruction, in queue A. Accesses of the two queues issue in program order, loads behind
//!   a store whose data is late among them. The paper's loads wait for the addresses of older stores only, which
//!   takes a store queue that compares the addresses of all lanes.
//! - D4: any arithmetic may go through queue B, and one scheduler serves both queues. By the notes queue B of the
//!   paper is for simple arithmetic.
//! - D5: branches are not predicted: nothing of queue B passes an older branch, and nothing is decoded after one
//!   that is taken until it has issued. With [`LoadSliceConfig::branches`] all are predicted rightly; the paper's
//!   core has a predictor. A branch may pass older instructions of queue B. Synchronisation (barriers, fences,
//!   exits, waits) waits for all of them, and they for it.
//! - D6: of a store's registers, the last ones, as many as its bytes fill, are its data.
//! - D7: the RDT has rows for the warps of the first slots ([`LoadSliceConfig::rdt_warps`]), which learn for all:
//!   rows for every warp would be the largest structure of the core.
//!
//! **Structures**: queues (97 bits an entry as in the instruction buffer, and a place in the other queue; a
//! comparator of 56 bits for each decoded instruction and entry of the other queue), IST (tags of 32-bit
//! PCs), RDT (a PC for each of 263 registers of a warp), scoreboard, read guard as in GhOST. **Stall reasons**:
//! those of the registers of the oldest instruction.

mod slices;

use config::BranchFetch;
use isa::{Control, RegFile, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Mismatch, Persist};
use slices::{Slices, loads};
use sm::CachedFetch;
use sm::DesignStatistic;
use sm::InstructionBuffer;
use sm::LoadStoreUnit;
use sm::PerWarp;
use sm::Stall;
use sm::Units;
use sm::WakeUp;
use sm::WarpMask;
use sm::operands::{CollectorRules, Collectors, read_guard};
use sm::policy::DEPENDENCE_BITS;
use sm::scoreboard::{Board, Scoreboard};
use sm::widened;
use sm::{Allowances, CoreDesign};
use sm::{Candidates, Each, Head, IssuePolicy, Structure};
use sm::{CoreSpec, PipeSet};
use sm::{Flight, Window};
use sm::{InFlight, InstId};

kit::parameters! {
    /// Sizes and choices of the load slice core.
    pub struct LoadSliceConfig {
        /// Entries of a warp's queue A; at least as many as a fetch brings.
        pub queue_a: u32 = 8 in (1, 128),
        /// Entries of a warp's queue B; at least as many as a fetch brings.
        pub queue_b: u32 = 8 in (1, 128),
        /// Entries of the instruction slice table of an SM.
        pub ist_entries: u32 = 128 in (1, 65536),
        /// Ways of the instruction slice table; they divide its entries.
        pub ist_ways: u32 = 2 in (1, 64),
        /// Warps of an SM, in the first slots, for which the register dependence table has rows: what
        /// they execute teaches the instruction slice table.
        pub rdt_warps: u32 = 4 in (1, 128),
        /// Slices are learned. Without that queue B has loads only.
        pub learning: bool = true,
        /// Branches are always predicted rightly: instructions of queue B pass them (D5).
        pub branches: bool = false,
    }
}

/// Number of a queue: A.
const A: usize = 0;

/// Number of a queue: B.
const B: usize = 1;

/// How many instructions of a warp had entered a queue when an instruction had, itself included. It has issued
/// when as many have.
type Turn = u32;

/// The queues A, or B, of all warps.
#[derive(Debug)]
struct Queues<M: WarpMask> {
    buffer: InstructionBuffer<M>,
    entered: PerWarp<Turn, M>,
    issued: PerWarp<Turn, M>,
    /// The last instruction of each warp that reads or writes memory.
    access: PerWarp<Turn, M>,
    /// The last one that steers its warp or synchronises.
    control: PerWarp<Turn, M>,
    /// Warps whose head may issue.
    ready: M,
}

impl<M: WarpMask> Queues<M> {
    fn new(spec: &CoreSpec, entries: u32) -> Self {
        let none = || PerWarp::new(0);
        Self {
            buffer: InstructionBuffer::new(spec, entries),
            entered: none(),
            issued: none(),
            access: none(),
            control: none(),
            ready: M::NONE,
        }
    }
}

/// The last instructions that named a register, by queue.
#[derive(Clone, Copy, Debug, Default)]
struct Named {
    writer: [Turn; 2],
    reader: [Turn; 2],
}

/// The schedulers' view of a warp: the pipes of the heads that may issue, else why none may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Offer {
    pipes: PipeSet,
    stall: Option<Stall>,
}

/// Instructions counted for statistics.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    inserted: u64,
    through_b: u64,
    looked_up: u64,
    found: u64,
    issued: u64,
    reordered: u64,
}

/// The issue design.
#[derive(Debug)]
pub struct LoadSlice<M: WarpMask = u64> {
    slices: Slices,
    queues: [Queues<M>; 2],
    /// The turn in the other queue that each instruction waits for, by its id.
    after: Vec<Turn>,
    /// By registers of each warp, `stride` for each warp.
    named: Vec<Named>,
    stride: usize,
    board: Scoreboard<M>,
    offers: PerWarp<Offer, M>,
    candidates: Candidates<M>,
    /// Warps with a head that may not issue.
    waiting: M,
    /// The oldest instruction of each warp.
    oldest: PerWarp<Option<InstId>, M>,
    counts: Counts,
    predicts: bool,
    sizes: [usize; 2],
    warps: usize,
    per_fetch: usize,
    read_guard: Structure,
}

/// Whether nothing passes an instruction, and it passes nothing.
#[inline]
fn synchronises(inst: &InFlight) -> bool {
    inst.ends_warp || !matches!(inst.control, Control::None | Control::Branch)
}

impl<M: WarpMask> LoadSlice<M> {
    /// The queue of `id`, which is decoded.
    #[inline]
    fn steer(&mut self, window: Window<'_>, id: InstId) -> usize {
        let inst = window.inst(id);
        let is_load = loads(inst);
        let mut found = false;
        if inst.control == Control::None && inst.mem.is_none() {
            found = self.slices.makes_address(window, id);
            self.counts.looked_up += 1;
            self.counts.found += u64::from(found);
        }
        self.slices.follow(window, id, inst.mem.is_some() || found);
        self.counts.inserted += 1;
        self.counts.through_b += u64::from(is_load || found);
        if is_load || found { B } else { A }
    }

    /// The youngest older instruction in the other queue than `mine` on which `id` depends; `id` takes its place
    /// at `turn`.
    #[inline]
    fn depend(&mut self, window: Window<'_>, id: InstId, mine: usize, turn: Turn) -> Turn {
        let (inst, other) = (window.inst(id), 1 - mine);
        let w = inst.warp.index();
        let named = &mut self.named[w * self.stride..][..self.stride];
        let mut after = 0;
        for reg in window.srcs(id) {
            let Named { writer, reader } = &mut named[reg.index()];
            after = after.max(writer[other]);
            reader[mine] = turn;
        }
        for reg in window.dsts(id) {
            let Named { writer, reader } = &mut named[reg.index()];
            after = after.max(writer[other]).max(reader[other]);
            writer[mine] = turn;
        }
        after = after.max(self.queues[other].control[w]);
        if inst.mem.is_some() {
            after = after.max(self.queues[other].access[w]);
            self.queues[mine].access[w] = turn;
        }
        if synchronises(inst) {
            after = self.queues[other].entered[w];
        }
        let branches = inst.control == Control::Branch && !self.predicts;
        if branches || synchronises(inst) {
            self.queues[mine].control[w] = turn;
        }
        after
    }

    /// The heads of `warp`, the older one first.
    #[inline]
    fn heads(&self, window: Window<'_>, warp: WarpSlot) -> [Option<(usize, InstId)>; 2] {
        let head = |q: usize| self.queues[q].buffer.front(warp).map(|id| (q, id));
        let order = |head: Option<(usize, InstId)>| head.map_or(u32::MAX, |(_, id)| window.inst(id).order);
        let (a, b) = (head(A), head(B));
        if order(a) <= order(b) { [a, b] } else { [b, a] }
    }

    /// Looks again for the candidates of `warp`.
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        let w = warp.index();
        let mut offer = Offer::default();
        self.waiting.remove(warp);
        self.queues.iter_mut().for_each(|queue| queue.ready.remove(warp));
        let heads = self.heads(window, warp);
        self.oldest[w] = heads[0].map(|(_, id)| id);
        for (q, id) in heads.into_iter().flatten() {
            let is_behind = self.queues[1 - q].issued[w] < self.after[id.index()];
            // The oldest instruction is behind none: this is no stall that a report shows.
            let stall = if is_behind { Some(Stall::Design) } else { self.board.hazard(window.flight(id)) };
            if stall.is_none() {
                self.queues[q].ready.insert(warp);
                offer.pipes = offer.pipes.with(window.inst(id).pipe);
            } else {
                self.waiting.insert(warp);
                offer.stall = offer.stall.or(stall);
            }
        }
        if offer.pipes != PipeSet::default() {
            offer.stall = None;
        }
        self.show(warp, offer);
    }

    /// The schedulers see `offer` of `warp` from now on.
    fn show(&mut self, warp: WarpSlot, offer: Offer) {
        let old = std::mem::replace(&mut self.offers[warp.index()], offer);
        if old == offer {
            return;
        }
        let (candidates, only) = (&mut self.candidates, M::of(warp));
        candidates.changed |= only;
        old.pipes.except(offer.pipes).iter().for_each(|pipe| candidates.remove(Head::ready(pipe), only));
        offer.pipes.except(old.pipes).iter().for_each(|pipe| candidates.insert(Head::ready(pipe), only));
        if let Some(stall) = old.stall {
            candidates.remove(Head::stalled(stall), only);
        }
        if let Some(stall) = offer.stall {
            candidates.insert(Head::stalled(stall), only);
        }
    }
}

impl<M: WarpMask> CoreDesign for LoadSlice<M> {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    fn operands(_: &LoadSliceConfig, spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules { guards_reads: true, ..CollectorRules::default() })
    }

    fn branches(config: &LoadSliceConfig, of_gpu: BranchFetch) -> BranchFetch {
        if config.branches { BranchFetch::Oracle } else { of_gpu }
    }

    fn allowances(config: &LoadSliceConfig) -> Allowances {
        Allowances { passes_branches: config.branches, ..Allowances::default() }
    }
}

impl<M: WarpMask> IssuePolicy for LoadSlice<M> {
    type Config = LoadSliceConfig;
    type Mask = M;

    fn new(config: &LoadSliceConfig, spec: &CoreSpec) -> Self {
        let (warps, per_fetch) = (spec.sm.max_warps as usize, spec.sm.frontend.instructions_per_fetch);
        let sizes = [config.queue_a, config.queue_b].map(|size| size.clamp(per_fetch, 128));
        let ist = (config.ist_entries as usize, config.ist_ways as usize);
        Self {
            slices: Slices::new(ist, warps.min(config.rdt_warps as usize), config.learning),
            queues: sizes.map(|size| Queues::new(spec, size)),
            after: Vec::new(),
            named: Vec::new(),
            stride: 0,
            board: Scoreboard::new(&(), spec),
            offers: PerWarp::new(Offer::default()),
            candidates: Candidates::default(),
            waiting: M::NONE,
            oldest: PerWarp::new(None),
            counts: Counts::default(),
            predicts: config.branches,
            sizes: sizes.map(|size| size as usize),
            warps,
            per_fetch: per_fetch as usize,
            read_guard: read_guard::structure(spec),
        }
    }

    fn check(config: &LoadSliceConfig, _: &CoreSpec) -> Result<(), String> {
        let LoadSliceConfig { ist_entries, ist_ways, .. } = *config;
        if ist_entries.is_multiple_of(ist_ways) {
            return Ok(());
        }
        Err(format!("`ist_ways` = {ist_ways} does not divide `ist_entries` = {ist_entries}"))
    }

    fn structures(&self) -> Vec<Structure> {
        let [a, b] = self.sizes;
        let place = |size: usize| (size + 1).next_power_of_two().trailing_zeros() as usize;
        let once = Each::Instruction.times(1);
        // An instruction enters one of the two: both are one structure with the ports of two.
        let queues = Structure::new("queues A and B", self.warps, a + b, 1 + 64 + 32 + place(a.max(b)))
            .ports(2, self.per_fetch)
            .compares(self.per_fetch * a.max(b) * DEPENDENCE_BITS)
            .read(once)
            .written(once)
            .searched(once);
        let board = Scoreboard::structure(self.warps);
        [vec![queues], self.slices.structures(self.per_fetch), vec![board, self.read_guard.clone()]].concat()
    }

    fn statistics(&self) -> Vec<DesignStatistic> {
        let Counts { inserted, through_b, looked_up, found, issued, reordered } = self.counts;
        let share = |name, description, count, of| DesignStatistic::count(name, "%", description, count).per(of, 100);
        vec![
            share("bypass_share", "Instructions that went through queue B, as a share of all.", through_b, inserted),
            share(
                "ist_hit_share",
                "Look-ups of the instruction slice table that found an instruction to make addresses, as a share of all.",
                found,
                looked_up,
            ),
            DesignStatistic::reordered_share(reordered, issued),
        ]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        debug_assert!(self.queues.iter().all(|queue| queue.buffer.front(warp).is_none()));
        self.board.start_warp(warp, regs);
        self.slices.start_warp(warp, regs);
        if regs.count() > self.stride {
            let stride = regs.count().next_multiple_of(64);
            self.named = widened(&self.named, self.stride, self.warps, stride, Named::default());
            self.stride = stride;
        }
    }

    #[inline]
    fn room(&self) -> M {
        self.queues[A].buffer.room() & self.queues[B].buffer.room()
    }

    #[inline]
    fn insert(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let warp = flight.warp;
        let q = self.steer(window, id);
        let turn = self.queues[q].entered[warp.index()] + 1;
        let after = self.depend(window, id, q, turn);
        if id.index() >= self.after.len() {
            self.after.resize(id.index() + 1, 0);
        }
        self.after[id.index()] = after;
        let queue = &mut self.queues[q];
        queue.entered[warp.index()] = turn;
        let is_head = queue.buffer.front(warp).is_none();
        queue.buffer.push(warp, id);
        if is_head {
            self.examine(window, warp);
        }
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
    fn select(&self, window: Window<'_>, warp: WarpSlot, pipes: PipeSet) -> InstId {
        let may =
            |&(q, id): &(usize, InstId)| self.queues[q].ready.contains(warp) && pipes.contains(window.inst(id).pipe);
        let (_, id) = self.heads(window, warp).into_iter().flatten().find(may).expect("the warp has a candidate");
        id
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let warp = flight.warp;
        self.counts.issued += 1;
        self.counts.reordered += u64::from(self.oldest[warp.index()] != Some(id));
        let q = if self.queues[A].buffer.front(warp) == Some(id) { A } else { B };
        debug_assert_eq!(self.queues[q].buffer.front(warp), Some(id));
        self.queues[q].buffer.pop(warp);
        self.queues[q].issued[warp.index()] += 1;
        self.board.on_issue(flight);
        self.examine(window, warp);
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        self.board.on_writeback(flight);
        let warp = flight.warp;
        if self.waiting.contains(warp) {
            self.examine(flight.window, warp);
        }
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.oldest[warp.index()]
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.slices.persist(archive)?;
        self.counts.persist(archive)
    }
}

kit::persist! {
    struct Counts { inserted, through_b, looked_up, found, issued, reordered }
}
