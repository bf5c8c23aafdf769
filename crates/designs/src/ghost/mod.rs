//! GhOST: out-of-order issue from a small buffer after decode.
//!
//! Paper: I. Chaturvedi et al., "GhOST: a GPU Out-of-Order Scheduling Technique for Stall Reduction"
//! (ISCA 2024), section IV.
//!
//! ```text
//!            cycle c          c + 1              c + 2                    c + 3
//!  decode ► instruction ► dependence ► issue buffer ─ oldest ───────► warp
//!             buffer       checkers        │  ▲                     ► scheduler ► ID_OC
//!            (4 / warp)  (4 / scheduler)   ▼  │ IB-dep cleared      │
//!                                     GhOST scheduler ► instruction table
//!                                     (1 warp / cycle)    (2 / warp)
//! ```
//!
//! - **Dependence checkers.** In each cycle each scheduler's four checkers take instructions from the
//!   instruction buffers of its warps, in program order of each warp, the warps in turn. A checker
//!   claims a location of the warp's issue buffer and sets the instruction's IB-dep bits: older
//!   instructions there with a RAW, WAR or WAW register dependence, and older memory operations unless
//!   both are loads. In the next cycle the instruction is in the issue buffer.
//! - **Control.** Instructions after a branch go through the checkers too, but have a control
//!   hazard (the valid bit of an entry) until the branch has issued; the branch itself may pass older
//!   instructions. Synchronisation (barriers, fences, exits, sleep, waits for copies)
//!   enters an empty issue buffer only, and nothing follows until it has issued.
//! - **GhOST scheduler.** In each cycle it looks at one warp, one that had a write-back (WWb) before
//!   one whose instruction table has room (ITE), and puts the two oldest instructions with no IB-dep
//!   bit and no register in flight into the table. They can issue in the next cycle.
//! - **Issue.** The warp scheduler sees one instruction of each warp: its oldest, if that may issue, as
//!   in the baseline; else the first of its table. An issue frees the location and clears its column of
//!   IB-dep bits: WAR dependences end here.
//!
//! GhOST-Precise ([`GhostConfig::precise`]): loads keep their order, and an instruction that must not be executed
//! twice waits until all older loads of its warp have had their TLB check.
//!
//! **Deviations**
//! - D1: an instruction enters a checker only if a location is free for it. The paper lets it wait in
//!   the checker, where one warp with a full issue buffer would keep out all others.
//! - D2: for the same reason synchronisation that waits for its issue buffer to empty takes up none of
//!   the four checkers: four that do would keep out a warp that a barrier waits for.
//! - D3: instructions of one warp may be in checkers together; younger ones are checked against older.
//! - D4: a store also waits for older loads to issue: the paper's rule says that only loads pass loads,
//!   its list of checks leaves this one out. Loads of GPU scope or wider and volatile ones count as
//!   atomics, which keep their places.
//! - D5: the three in-flight bits of an IB-dep vector stand for any number of registers.
//! - D6: the GhOST scheduler does not look at warps of which it knows that it would find nothing. WWb is set by
//!   write-backs for which an instruction in the issue buffer waits. ITE is set when a place in the table becomes free
//!   or an instruction enters the issue buffer, if any is ready; it is cleared when it has looked, whether or not it
//!   found two.
//! - D7: which of the free locations an instruction takes is not modelled after the FIFO: it makes no
//!   difference.
//! - D8: a WAR dependence ends at issue, as in the paper, which does not speak of operands being read
//!   later. So that no write comes before such a read, an instruction waits in front of the operand collectors until
//!   older readers of its result's register have collectors, and in its collector until they have read
//!   ([`CollectorRules::guards_reads`]). Without that ([`GhostConfig::guarded`]) GhOST has the exposure of the in-order
//!   core without WAR protection, and no other.
//! - D9: the oldest instruction, once ready, comes before the table. As the paper words it, the warp
//!   scheduler looks at the oldest only while the table is empty. A chain of dependent instructions beside independent
//!   ones would lose a cycle or more at each link. The paper's own simulator too takes the oldest that is ready.
//!   [`GhostConfig::table_first`] follows the words.
//! - D10: wrong-path instructions after a branch, which would be squashed when it issues, do not come
//!   as far as the checkers (D-F2 of `fetch.rs`).
//!
//! **Structures** of an SM with *w* warps, *s* schedulers, an issue buffer of 8: instruction buffer (4
//! entries a warp), dependence checkers (4 x 111 bits a scheduler), issue buffer (8 banks of *w* / *s*
//! entries of 111 bits a scheduler), location FIFO (8 x 3 bits a warp), age counter and control flag
//! (3 + 1 bits a warp), instruction table (2 x (1 + 3) bits a warp), WWb and ITE (a bit each a warp),
//! scoreboard, read guard of D8 (in each sub-core, for each collector, a bit for each other one whose
//! instruction has yet to read what this one's writes). 111 bits: valid 1, index 3, mask 32, IB-dep 8 + 3,
//! instruction 64. A checker compares 56 bits of registers with each of 8 locations; the GhOST scheduler
//! tests 12 bits of each and compares their ages. The read guard compares the register that an
//! instruction writes, and the warp, with three sources of each other one in a collector or issue latch
//! of the sub-core.
//!
//! **Stall reasons**: of the oldest instruction's registers (RAW, WAW), since WAR and memory order
//! hold back only instructions with an older one that may issue. `design` while instructions are on
//! their way to the issue buffer, or wait for a TLB check.

mod issue_buffer;
mod precise;

use crate::boards::ReorderedBoard;
use isa::{Control, RegFile, WarpSlot};
use issue_buffer::{IssueBuffer, Location, NONE};
use kit::Cycle;
use kit::persist::{Archive, Mismatch, Persist, each};
use precise::Translations;
use sm::CachedFetch;
use sm::CoreDesign;
use sm::DesignStatistic;
use sm::Head;
use sm::Heads;
use sm::InstructionBuffer;
use sm::LoadStoreUnit;
use sm::PerWarp;
use sm::Stall;
use sm::Units;
use sm::WakeUp;
use sm::WarpMask;
use sm::operands::{CollectorRules, Collectors, read_guard};
use sm::policy::DEPENDENCE_BITS;
use sm::scoreboard::Scoreboard;
use sm::{Candidates, Each, IssuePolicy, Structure};
use sm::{CoreSpec, PipeSet, SCHEDULERS};
use sm::{Flight, Window};
use sm::{InFlight, InstId};

kit::parameters! {
    /// Sizes and choices of GhOST; the defaults are the paper's.
    pub struct GhostConfig {
        /// Entries of a warp's issue buffer.
        pub issue_buffer: u32 = 8 in (1, 64),
        /// Entries of a warp's instruction buffer; at least as many as a fetch brings.
        pub instruction_buffer: u32 = 4 in (1, 128),
        /// Dependence checkers of a scheduler.
        pub checkers: u32 = 4 in (1, 32),
        /// Cycles that an instruction is in a dependence checker. With 0 it is in the issue buffer in the same
        /// cycle, which shows what the cycle costs.
        pub checker_cycles: u32 = 1 in (0, 1),
        /// Instructions pass older ones of their warp. Without this only a warp's oldest issues, which shows what
        /// is due to the larger buffers and to the checkers.
        pub reorder: bool = true,
        /// GhOST-Precise: loads leave a state from which their warp can start again at them.
        pub precise: bool = false,
        /// GhOST-Precise: cycles from the one in which a load leaves its operand collector to the one in which
        /// its TLB check ends. The paper names no latency; 1 is the latency of an L1 TLB beside the tags of the L1.
        pub tlb_check_cycles: u32 = 1 in (0, 1000),
        /// The warp scheduler looks at the oldest instruction only while the instruction table is empty, as the
        /// paper words it (D9).
        pub table_first: bool = false,
        /// Operand collectors keep writes after older reads of the same register (D8).
        pub guarded: bool = true,
    }
}

/// State of the time-shared structures of one warp scheduler.
#[derive(Clone, Copy, Debug, Default)]
struct Shared<M> {
    /// Its warps.
    warps: M,
    /// The warp whose instruction last entered a checker.
    checked: u32,
    /// The warp that the GhOST scheduler last looked at.
    served: u32,
}

/// The issue design.
#[derive(Debug)]
pub struct Ghost<M: WarpMask = u64, B: ReorderedBoard = Scoreboard<M>> {
    buffer: InstructionBuffer<M>,
    isb: IssueBuffer<M, B>,
    /// Of each warp scheduler; of the first `schedulers`.
    shared: [Shared<M>; SCHEDULERS],
    schedulers: usize,

    // Masks over the warps.
    /// The instruction buffer is not empty.
    fetched: M,
    /// Control flag: synchronisation has been checked and has not issued.
    flagged: M,
    /// Synchronisation waits for the issue buffer to be empty.
    syncing: M,
    /// Had a write-back (WWb).
    written: M,
    /// The instruction table has room (ITE).
    unfilled: M,
    /// Had a write-back in this cycle.
    writing: M,

    /// The instruction of a warp that waits to synchronise.
    sync: PerWarp<InstId, M>,
    /// Contents of the checkers: warp and location claimed.
    checked: Vec<(WarpSlot, Location)>,
    /// The two entries of each warp in the instruction table, [`NONE`] where there is none.
    table: PerWarp<[Location; 2], M>,
    candidate: PerWarp<Location, M>,
    heads: Heads<M>,
    translations: Option<Translations>,
    config: GhostConfig,
    max_warps: usize,
    read_guard: Structure,

    issued: u64,
    reordered: u64,
}

impl<M: WarpMask, B: ReorderedBoard> Ghost<M, B> {
    /// Recomputes what the warp scheduler sees of `warp`.
    #[inline(never)]
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        self.examine_here(window, warp);
    }

    #[inline(always)]
    fn examine_here(&mut self, window: Window<'_>, warp: WarpSlot) {
        let w = warp.index();
        let (oldest, first) = (self.isb.oldest_ready(warp), self.table[w][0]);
        let first = if self.config.reorder { first } else { NONE };
        let (before, after) = if self.config.table_first { (first, oldest) } else { (oldest, first) };
        let candidate = if before == NONE { after } else { before };
        let head = match candidate {
            NONE => match self.isb.oldest_stall(window, warp) {
                Some(stall) => Head::stalled(stall),
                None if (self.fetched | self.syncing).contains(warp) => Head::stalled(Stall::Design),
                None => Head::EMPTY,
            },
            location => {
                self.candidate[w] = location;
                Head::ready(window.inst(self.isb.id(warp, location)).pipe)
            }
        };
        // The same pipe may mean another instruction, which the schedulers do not tell apart.
        self.heads.set(warp, head);
    }

    /// Each GhOST scheduler looks at one warp, as it stood at the end of the last cycle.
    fn schedule(&mut self, window: Window<'_>) {
        for s in 0..self.schedulers {
            let Shared { warps, served, .. } = self.shared[s % SCHEDULERS];
            let (written, unfilled) = (self.written & warps, self.unfilled & warps);
            let waiting = if written.is_empty() { unfilled } else { written };
            let Some(warp) = waiting.next_after(served) else { continue };
            self.shared[s % SCHEDULERS].served = u32::from(warp.0);
            self.written.remove(warp);
            self.unfilled.remove(warp);
            let selected = self.isb.two_oldest(warp);
            let old = std::mem::replace(&mut self.table[warp.index()], selected);
            // The warp scheduler sees only the first of them, and not while the oldest instruction may issue.
            if old[0] != selected[0] && (self.config.table_first || self.isb.oldest_ready(warp) == NONE) {
                self.examine(window, warp);
            }
        }
    }

    /// Moves the contents of the checkers to the issue buffers.
    fn enter(&mut self, window: Window<'_>) {
        for i in 0..self.checked.len() {
            let (warp, location) = self.checked[i];
            self.enter_one(window, warp, location);
        }
        self.checked.clear();
    }

    #[inline(always)]
    fn enter_one(&mut self, window: Window<'_>, warp: WarpSlot, location: Location) {
        self.isb.enter(window, warp, location);
        if self.table[warp.index()][1] == NONE && self.isb.any_ready(warp) {
            self.unfilled.insert(warp);
        }
        // Of the others the warp scheduler sees those that are in the table.
        if self.isb.is_oldest(warp, location) {
            self.examine(window, warp);
        }
    }

    /// Warps whose next instruction can enter a checker.
    #[inline]
    fn checkable(&self) -> M {
        self.fetched & !(self.flagged | self.isb.full)
    }

    /// Instructions have waited for the registers of `flight`: any, and the oldest.
    #[inline(always)]
    fn end_waits(&mut self, flight: Flight<'_>, (any_waited, oldest_waited): (bool, bool)) {
        if any_waited {
            self.writing.insert(flight.warp);
        }
        // Of the others the warp scheduler sees those that are in the table.
        if oldest_waited {
            self.examine(flight.window, flight.warp);
        }
    }

    /// Instructions enter the checkers of each scheduler, its warps in turn.
    #[inline(never)]
    fn check(&mut self, window: Window<'_>) {
        let checkable = self.checkable();
        for s in 0..self.schedulers {
            let Shared { warps, mut checked, .. } = self.shared[s % SCHEDULERS];
            if !checkable.meets(warps) {
                continue;
            }
            for _ in 0..self.config.checkers {
                let Some(warp) = (self.checkable() & warps).next_after(checked) else { break };
                checked = u32::from(warp.0);
                self.check_one(window, warp);
            }
            self.shared[s % SCHEDULERS].checked = checked;
        }
    }

    /// The oldest instruction in the instruction buffer of `warp` enters a checker.
    #[inline(always)]
    fn check_one(&mut self, window: Window<'_>, warp: WarpSlot) {
        let id = self.buffer.front(warp).expect("the buffer is not empty");
        self.buffer.pop(warp);
        if self.buffer.front(warp).is_none() {
            self.fetched.remove(warp);
        }
        let flight = window.flight(id);
        if synchronises(&flight) {
            self.flagged.insert(warp);
            self.syncing.insert(warp);
            self.sync[warp.index()] = id;
            return;
        }
        let location = self.claim(flight);
        self.checked.push((warp, location));
    }

    #[inline(always)]
    fn claim(&mut self, flight: Flight<'_>) -> Location {
        let Flight { id, window, .. } = flight;
        let (loads, held) = self.translations.as_mut().map_or((0, false), |t| t.check(window, flight.warp, id));
        self.isb.claim(flight, loads, held)
    }

    /// Synchronisation enters issue buffers that have become empty.
    #[inline(never)]
    fn synchronise(&mut self, window: Window<'_>) {
        for warp in (self.syncing & self.isb.empty).iter() {
            self.syncing.remove(warp);
            let location = self.claim(window.flight(self.sync[warp.index()]));
            self.enter_one(window, warp, location);
        }
    }

    /// Warps learn of TLB checks that have ended.
    fn translate(&mut self, now: Cycle, window: Window<'_>, wake_up: &mut WakeUp) {
        while let Some(warp) = self.translations.as_mut().and_then(|t| t.take_done(now, wake_up)) {
            self.isb.translated(warp);
            self.unfilled.insert(warp);
            self.examine(window, warp);
        }
    }
}

/// Whether an instruction enters an empty issue buffer only.
#[inline]
fn synchronises(inst: &InFlight) -> bool {
    inst.ends_warp || !matches!(inst.control, Control::None | Control::Branch)
}

impl<M: WarpMask, B: ReorderedBoard> CoreDesign for Ghost<M, B> {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    fn operands(config: &GhostConfig, spec: &CoreSpec) -> Collectors {
        Collectors::new(
            spec,
            CollectorRules { guards_reads: config.guarded && !B::SEES_READS, ..CollectorRules::default() },
        )
    }
}

impl<M: WarpMask, B: ReorderedBoard> IssuePolicy for Ghost<M, B> {
    type Config = GhostConfig;
    type Mask = M;

    fn new(config: &GhostConfig, spec: &CoreSpec) -> Self {
        let mut config = *config;
        let per_fetch = spec.sm.frontend.instructions_per_fetch;
        config.instruction_buffer = config.instruction_buffer.clamp(per_fetch, 128);
        let (warps, schedulers) = (spec.sm.max_warps as usize, spec.schedulers());
        let warps_of = |s: usize| M::collect((s..warps).step_by(schedulers).map(|w| WarpSlot(w as u16)));
        Self {
            buffer: InstructionBuffer::new(spec, config.instruction_buffer),
            isb: IssueBuffer::new(warps, config.issue_buffer as usize, !config.precise, B::new(&(), spec)),
            shared: std::array::from_fn(|s| Shared { warps: warps_of(s), checked: 0, served: 0 }),
            schedulers,
            fetched: M::NONE,
            flagged: M::NONE,
            syncing: M::NONE,
            written: M::NONE,
            unfilled: M::NONE,
            writing: M::NONE,
            sync: PerWarp::new(InstId(0)),
            checked: Vec::with_capacity(config.checkers as usize * schedulers),
            table: PerWarp::new([NONE; 2]),
            candidate: PerWarp::new(0),
            heads: Heads::default(),
            translations: config.precise.then(|| Translations::new(config.tlb_check_cycles)),
            config,
            max_warps: warps,
            read_guard: read_guard::structure(spec),
            issued: 0,
            reordered: 0,
        }
    }

    fn check(config: &GhostConfig, _: &CoreSpec) -> Result<(), String> {
        if B::SEES_READS && !config.guarded {
            return Err("`guarded=false` is for operand collectors, and sub-cores have none".into());
        }
        Ok(())
    }

    fn structures(&self) -> Vec<Structure> {
        let (size, warps, schedulers) = (self.config.issue_buffer as usize, self.max_warps, self.schedulers);
        let warps_each = warps.div_ceil(schedulers);
        let index = size.next_power_of_two().trailing_zeros() as usize;
        let loads = if self.config.precise { size + 1 } else { 0 };
        // Valid, index, mask, IB-dep (locations and three registers), instruction, InstLoadCounter.
        let entry = 1 + index + 32 + size + 3 + 64 + loads;
        let banks = size.min(8);
        let per_bank = warps_each * size.div_ceil(banks);
        let (once, twice) = (Each::Instruction.times(1), Each::Instruction.times(2));
        // The GhOST scheduler looks at the dependence bits of a warp, an entry's worth of bits, when one
        // of its instructions has issued and when one has written back.
        let looks = twice;
        // Its register dependence checker tests these bits and the valid bit of each location; the two
        // oldest are found by comparing the age of each with that of each other.
        let tested = size * (size + 3 + 1) + size * (size - 1) / 2 * index;
        let of =
            |name, instances, entries, bits| Structure::new(name, instances, entries, bits).read(once).written(once);
        let mut all = vec![
            self.buffer.structure(),
            of("dependence checker", schedulers * self.config.checkers as usize, 1, entry)
                .compares(size * DEPENDENCE_BITS)
                .searched(once),
            // Two looks and the issue.
            of("issue buffer bank", schedulers * banks, per_bank, entry).read(Each::Instruction.times(3)),
            of("location FIFO", warps, size, index),
            of("age counter and control flag", warps, 1, index + 1).written(twice),
            of("instruction table", schedulers, warps_each, 2 * (1 + index))
                .compares(tested)
                .written(looks)
                .searched(looks),
            of("warp write-back bits (WWb)", schedulers, 1, warps_each).written(twice),
            of("instruction table empty bits (ITE)", schedulers, 1, warps_each).written(twice),
        ];
        all.extend(self.isb.board_structures());
        if self.config.guarded && !B::SEES_READS {
            all.push(self.read_guard.clone());
        }
        if self.config.precise {
            all.push(of("load counter", warps, 1, size + 1).written(twice));
        }
        all
    }

    fn statistics(&self) -> Vec<DesignStatistic> {
        vec![DesignStatistic::reordered_share(self.reordered, self.issued)]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        debug_assert!(self.heads.is_empty(warp));
        self.isb.start_warp(warp, regs);
    }

    #[inline]
    fn room(&self) -> M {
        self.buffer.room()
    }

    #[inline]
    fn insert(&mut self, flight: Flight<'_>) {
        let warp = flight.warp;
        self.buffer.push(warp, flight.id);
        self.fetched.insert(warp);
        if self.heads.is_empty(warp) {
            self.heads.set(warp, Head::stalled(Stall::Design));
        }
    }

    #[inline]
    fn tick(&mut self, now: Cycle, window: Window<'_>, wake_up: &mut WakeUp) -> M {
        if self.translations.is_some() {
            self.translate(now, window, wake_up);
        }
        if !(self.written | self.unfilled).is_empty() {
            self.schedule(window);
        }
        if !self.writing.is_empty() {
            self.writing.iter().for_each(|warp| self.isb.end_cycle(warp));
            self.written |= std::mem::take(&mut self.writing);
        }
        if !self.checked.is_empty() {
            self.enter(window);
        }
        if self.syncing.meets(self.isb.empty) {
            self.synchronise(window);
        }
        if !self.checkable().is_empty() {
            self.check(window);
        }
        if self.config.checker_cycles == 0 {
            self.enter(window);
        }
        let busy = self.written | self.unfilled | self.checkable() | self.syncing & self.isb.empty;
        if !busy.is_empty() || !self.checked.is_empty() {
            wake_up.moved();
        }
        self.heads.take_changed()
    }

    #[inline]
    fn candidates(&self) -> &Candidates<M> {
        self.heads.candidates()
    }

    #[inline]
    fn select(&self, _window: Window<'_>, warp: WarpSlot, _pipes: PipeSet) -> InstId {
        self.isb.id(warp, self.candidate[warp.index()])
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let (warp, w) = (flight.warp, flight.warp.index());
        let location = self.candidate[w];
        debug_assert_eq!(self.isb.id(warp, location), id);
        self.issued += 1;
        self.reordered += u64::from(self.isb.issue(flight, location));
        let [first, second] = &mut self.table[w];
        if *first == location {
            (*first, *second) = (*second, NONE);
        } else if *second == location {
            *second = NONE;
        }
        if self.isb.any_ready(warp) {
            self.unfilled.insert(warp);
        }
        if synchronises(&flight) {
            self.flagged.remove(warp);
        }
        self.examine_here(window, warp);
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) {
        if let Some(translations) = &mut self.translations {
            translations.look_up(window, id);
        }
        let flight = window.flight(id);
        let waited = self.isb.operands_read(flight);
        self.end_waits(flight, waited);
    }

    #[inline(always)]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        let waited = self.isb.write_back(flight);
        self.end_waits(flight, waited);
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        let waiting = self.syncing.contains(warp).then(|| self.sync[warp.index()]);
        self.isb.oldest_id(warp).or(waiting).or_else(|| self.buffer.front(warp))
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        each(&mut self.shared, archive)?;
        self.issued.persist(archive)?;
        self.reordered.persist(archive)
    }
}

kit::persist! {
    struct [M: WarpMask] Shared<M> { warps, checked, served }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::Form;
    use sm::CoreOptions;
    use sm::Slab;

    #[test]
    fn a_ghost_scheduler_looks_at_one_warp_in_turn_and_at_write_backs_first() {
        let gpu = config::load("accel-sim/rtx2060s").expect("a built-in GPU");
        let spec = CoreSpec::new(&gpu, Form::Sass, CoreOptions::default()).expect("a sound GPU");
        let mut ghost = Ghost::<u64>::new(&GhostConfig::default(), &spec);
        let slab = Slab::with_capacity(1);
        let mut left_after_a_look = |write_backs: u64, room: u64| {
            ghost.written |= write_backs;
            ghost.unfilled |= room;
            ghost.schedule(Window { slab: &slab, kernels: &[] });
            (ghost.written, ghost.unfilled)
        };
        let [first, second, third] = [1 << 4, 1 << 8, 1 << 12];
        assert_eq!(left_after_a_look(first | second, third), (second, third));
        assert_eq!(left_after_a_look(first, 0), (first, third), "it is the turn of the second");
        assert_eq!(left_after_a_look(0, 0), (0, third));
        assert_eq!(left_after_a_look(0, 0), (0, 0));
    }
}
