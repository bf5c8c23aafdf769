//! The core of NVIDIA's GPUs since Volta: issue by the control bits of machine code.
//!
//! Follows Huerta, Abaie Shoushtary, Cruz, González, *Dissecting and Modeling the Architecture of Modern GPU Cores*
//! (MICRO 2025), sections 4 and 5.
//!
//! ```text
//!            ┌ dependence counters ┐
//!  decode ► instruction buffer ► warp scheduler ► Control ► Allocate ► reads ► units
//!            (3 a warp)            (greedy, then youngest)   sub-core by sub-core
//! ```
//! - **No interlock.** The head of a warp's buffer may issue when its stall counter has run out
//!   ([`config::Issue::stall_counts`]) and the dependence counters that its control bits name are 0, or, for `DEPBAR.LE`,
//!   low enough. Nothing compares registers: the compiler has done it.
//! - **Dependence counters**: six to a warp, of 6 bits. An instruction increments the one that it names for its results
//!   and the one for its sources; both are seen two cycles after its issue, by `DEPBAR.LE` at once: compilers put it right
//!   behind what it waits for, with a stall count of 1 between. It decrements them when its results are
//!   written and its sources are read, which the next issue sees.
//! - **Front end**: [`SubCoreFetch`], with the caches of the GPU description.
//! - **Operands**: [`SubCoreOperands`]. **Memory**: [`SubCoreMemory`].
//! - **Policy**: greedy, then youngest ([`CoreDesign::SCHEDULER`]).
//! - **Programs without control bits** (PTX, traces) have two scoreboards instead, as the paper's section 7.5 has them:
//!   registers with a write under way, and counts of reads under way. So does every program with
//!   [`Dependences::Scoreboard`] or another board ([`boards`](crate::boards)), and on descriptions that do not honour
//!   stall counts; where these are honoured they still bound the distance of issues.
//!
//! **Deviations**
//! - D1: a counter at 63 keeps its warp from issuing what would increment it. Hardware's behaviour is not published;
//!   compilers wait before.
//! - D2: registers below the scoreboards' bits are counted exactly: a register has as many readers as there are.
//! - D3: an instruction without bits in a program that has them (a function of the device runtime) waits for all
//!   counters.
//! - D4: double precision of GPUs whose units serve several sub-cores has an interlock: its machine code has the stall
//!   counts of GPUs of its architecture with units in the sub-cores, and no counters. The scoreboard models the interlock.
//! - D5: `DEPBAR.LE` lets a number of a counter's instructions be on their way, the youngest: their results must come in
//!   order. Texture reads, which end in any order here, are counted off in theirs.
//! - D6: not modelled: after `IMAD.WIDE` the authors' simulator keeps the issue port busy for one more cycle.
//! - D7: not modelled: there each cycle in which Allocate holds an instruction also lengthens the occupation of its unit.
//! - D8: stall counts lose one a cycle, as the paper has measured. Its simulator halves them each cycle; no setting does.
//! - D9: not modelled: times of fences by their scope, which that simulator has fitted (53 cycles for a CTA, 186 for the
//!   GPU, 2,900 for the system). A fence waits for the accesses that [`config::Issue::fences_wait_for`] names.
//! - D10: the second part of `LDGSTS`, its write to shared memory, takes no time: a reader of the data waits for 32
//!   cycles after a hit in L1, where the paper has 39.
//! - D11: `LDC` reads its sources as its unit does, 2 cycles after its issue with a constant address and 11 with a register
//!   in it. The paper has 10 and 29, and does not know why.
//!
//! **Structures**: instruction buffer; dependence counters with the stall counter and the yield bit, 41 bits a warp;
//! register-file cache, six operands a sub-core. **Stall reasons**: `stall_count`; `raw_memory`, `raw` and `war` as the
//! counters that a warp waits for count results of accesses, other results, or reads; `design` at a full counter.

use crate::boards::{BloomConfig, Bloomboard, Release, WarScoreboard, Warpboard};
use config::{LatencyOf, Unit};
use isa::{OpClass, RegFile, WarpSlot};
use kit::Cycle;
use sm::operands::{SubCoreOperands, SubCoreSettings};
use sm::scoreboard::Board;
use sm::{
    Allowances, Candidates, CoreDesign, CoreSpec, Each, Flight, Head, Heads, InstId, InstructionBuffer, IssuePolicy,
    PerWarp, Pipe, PipeSet, Stall, Structure, SubCoreCaches, SubCoreFetch, SubCoreMemory, Units, WakeUp, WarpMask,
    Window,
};

kit::words! {
    /// Mechanism that keeps dependences between instructions.
    #[derive(Default)]
    pub enum Dependences {
        /// The control bits of machine code.
        #[default]
        ControlBits = "control_bits",
        /// Scoreboards, as for programs without control bits: writes wait until older reads are done.
        Scoreboard = "scoreboard",
        /// The same, but writes wait until older readers have written back.
        ScoreboardCommit = "scoreboard_commit",
        /// A [`Warpboard`] that is released on read.
        WarpboardRead = "warpboard_read",
        /// A [`Warpboard`] that is released on commit.
        WarpboardCommit = "warpboard_commit",
        /// A [`Bloomboard`] with bins of one bit,
        Bloomboard1 = "bloomboard_1",
        /// of two bits,
        Bloomboard2 = "bloomboard_2",
        /// without bound.
        BloomboardUnbounded = "bloomboard_unbounded",
    }
}

/// The board of programs that do not go by control bits.
#[derive(Debug)]
enum AnyBoard<M: WarpMask> {
    Exact(WarScoreboard<M>),
    Warp(Warpboard<M>),
    Bloom(Bloomboard<M>),
}

/// Calls `$call` with the board of `$any` as `$board`.
macro_rules! on_board {
    ($any:expr, $board:ident => $call:expr) => {
        match $any {
            AnyBoard::Exact($board) => $call,
            AnyBoard::Warp($board) => $call,
            AnyBoard::Bloom($board) => $call,
        }
    };
}

impl<M: WarpMask> AnyBoard<M> {
    fn of(dependences: Dependences, spec: &CoreSpec) -> Self {
        let bloom = |counter_bits| Self::Bloom(Bloomboard::new(&BloomConfig { counter_bits }, spec));
        match dependences {
            Dependences::ControlBits | Dependences::Scoreboard => Self::Exact(WarScoreboard::new(&Release::Read, spec)),
            Dependences::ScoreboardCommit => Self::Exact(WarScoreboard::new(&Release::Commit, spec)),
            Dependences::WarpboardRead => Self::Warp(Warpboard::new(&Release::Read, spec)),
            Dependences::WarpboardCommit => Self::Warp(Warpboard::new(&Release::Commit, spec)),
            Dependences::Bloomboard1 => bloom(1),
            Dependences::Bloomboard2 => bloom(2),
            Dependences::BloomboardUnbounded => bloom(0),
        }
    }
}

kit::parameters! {
    /// Sizes and choices of the modern core.
    pub struct ModernConfig {
        /// Mechanism that keeps dependences between instructions of machine code.
        pub dependences: Dependences = (Dependences::ControlBits),
        /// Stall counts bound the distance of issues. Without that there are scoreboards and latencies by writer and
        /// reader, as designs that reorder have them.
        pub stall_counts: bool = true,
        /// Instructions of a warp between decode and issue.
        pub instruction_buffer: u32 = 3 in (1, 64),
        /// Instructions and constants come through caches. Without them all hit.
        pub instruction_caches: bool = true,
        /// A miss in a sub-core's instruction cache starts a stream of prefetches.
        pub prefetch: bool = true,
        /// Reads of each register bank in a cycle.
        pub ports: u32 = 1 in (1, 8),
        /// Accesses to memory wait in a queue of each sub-core and have their addresses generated there. Without that
        /// they go to the load/store unit as they come.
        pub memory_queues: bool = true,
        /// Operands that the compiler marks for reuse are kept beside the register banks.
        pub register_cache: bool = true,
    }
}

/// Keys that only front ends (the first four), operand collectors and the caches of the whole SM read.
pub(crate) const UNREAD_BY_SUB_CORES: [&str; 10] = [
    "sm.frontend.fetches_per_cycle",
    "sm.frontend.instructions_per_fetch",
    "sm.frontend.buffer_entries",
    "sm.frontend.icache.",
    "sm.operands.collectors",
    "sm.operands.in_ports",
    "sm.operands.out_ports",
    "sm.operands.reads_per_bank",
    "sm.constant_cache.",
    "sm.perfect_instruction_and_constant_caches",
];

/// Checks that an SM of `spec` has sub-cores as GPUs since Volta.
///
/// # Errors
/// It has not, and which keys say so.
pub(crate) fn check_sub_cores(spec: &CoreSpec) -> Result<(), String> {
    let sm = &spec.sm;
    if !sm.operands.sub_cores || sm.issue.width != 1 {
        return Err("the SM has no sub-cores that issue one instruction a cycle: set sm.operands.sub_cores=true and sm.issue.width=1, or take a GPU since Volta".into());
    }
    if sm.latency != Some(LatencyOf::Issue) {
        return Err("its latencies count from issue to issue: take a description with sm.latency=\"issue\"".into());
    }
    Ok(())
}

/// Dependence counters of a warp.
const COUNTERS: u32 = 6;
/// The most that one counts.
const MOST: u64 = 63;
/// A counter is a byte, from this value up: one that is decremented first takes nothing from its neighbour.
const ZERO: u64 = 0x4040_4040_4040;
/// From the issue of an instruction to the first issue that sees its increments.
const SEEN_AFTER: Cycle = 2;

/// The bytes of the counters in each wait mask.
const BYTES: [u64; 64] = {
    let mut bytes = [0; 64];
    let mut mask = 0;
    while mask < 64 {
        let mut counter = 0;
        while counter < COUNTERS {
            if mask >> counter & 1 != 0 {
                bytes[mask] |= 0xff << (8 * counter);
            }
            counter += 1;
        }
        mask += 1;
    }
    bytes
};

/// The dependence counters of a warp.
#[derive(Clone, Copy, Debug)]
struct Counters {
    /// One byte each, from [`ZERO`] up.
    values: u64,
    /// Increments that issues in cycles of even and odd numbers will be seen to have made.
    coming: [u64; 2],
    /// Counters that count results of accesses to memory, and those that count reads, by their last increments.
    of_memory: u8,
    of_reads: u8,
}

impl Counters {
    const NEW: Self = Self { values: ZERO, coming: [0; 2], of_memory: 0, of_reads: 0 };

    /// Those that are not 0, a byte each.
    #[inline]
    fn pending(&self) -> u64 {
        self.values ^ ZERO
    }

    /// Value of counter `counter`, including increments that are not seen yet.
    #[inline]
    fn value(&self, counter: u32) -> u64 {
        let byte = |values: u64| values >> (8 * counter) & 0xff;
        byte(self.values) + byte(self.coming[0]) + byte(self.coming[1]) - byte(ZERO)
    }

    /// The reason of a wait for the counters in `mask`.
    #[inline]
    fn reason(&self, mask: usize) -> Stall {
        let waited = (0..COUNTERS).filter(|&c| mask >> c & 1 != 0 && self.value(c) != 0);
        let waited = waited.fold(0u8, |all, counter| all | 1 << counter);
        if waited & self.of_memory != 0 {
            Stall::RawMemory
        } else if waited & !self.of_reads != 0 {
            Stall::Raw
        } else {
            Stall::War
        }
    }
}

/// The issue design.
#[derive(Debug)]
pub struct Modern<M: WarpMask = u64> {
    buffer: InstructionBuffer<M>,
    heads: Heads<M>,
    counters: PerWarp<Counters, M>,
    /// Warps with increments that issues in cycles of even and odd numbers have made.
    coming: [M; 2],
    /// The cycle of the last tick.
    now: Cycle,
    /// Texture reads of each warp that a counter counts, in order: each with its counter, and whether it has its results
    /// (D5).
    textures: PerWarp<Vec<(InstId, u32, bool)>, M>,
    board: Box<AnyBoard<M>>,
    /// Warps that the board knows: the others have had no instruction that it is asked about.
    on_board: M,
    by_bits: bool,
    /// Units of double precision serve several sub-cores (D4).
    shares_dp: bool,
    warps: usize,
    sub_cores: usize,
    register_cache: bool,
}

impl<M: WarpMask> Modern<M> {
    /// Whether the dependences of `flight` are its control bits'.
    #[inline(always)]
    fn goes_by_bits(&self, flight: Flight<'_>) -> bool {
        self.by_bits && flight.names().scheduling.has_bits()
    }

    /// Whether the scoreboard knows of `flight`.
    #[inline(always)]
    fn is_on_board(&self, flight: Flight<'_>) -> bool {
        !self.goes_by_bits(flight)
            || self.shares_dp && flight.pipe == Pipe::of(Unit::Dp) && !flight.names().scheduling.counts_results()
    }

    /// The board is asked about an instruction of its warp for the first time.
    #[cold]
    fn begin_on_board(&mut self, flight: Flight<'_>) {
        self.on_board.insert(flight.warp);
        let regs = &flight.code().program.regs;
        on_board!(&mut *self.board, board => board.start_warp(flight.warp, regs));
    }

    /// Offer of a warp whose oldest instruction is `oldest`.
    #[inline(always)]
    fn head(&self, oldest: Flight<'_>) -> Head {
        let on_board = || on_board!(&*self.board, board => board.hazard(oldest));
        let hazard = match self.goes_by_bits(oldest) {
            true if self.shares_dp => self.wait(oldest).or_else(on_board),
            true => self.wait(oldest),
            false => on_board(),
        };
        hazard.map_or(Head::ready(oldest.pipe), Head::stalled)
    }

    /// The wait of `flight` for dependence counters.
    #[inline(always)]
    fn wait(&self, flight: Flight<'_>) -> Option<Stall> {
        let scheduling = flight.names().scheduling;
        let counters = &self.counters[flight.warp.index()];
        let mask = scheduling.wait_mask();
        if counters.pending() & BYTES[mask] != 0 {
            return Some(counters.reason(mask));
        }
        if let Some((counter, at_most)) = scheduling.counter_bound() {
            // It sees every increment before it: compilers put it right behind what it waits for.
            let is_left = |counter: u32| mask >> counter & 1 != 0 && counters.value(counter) != 0;
            if counters.value(counter) > u64::from(at_most) || (0..COUNTERS).any(is_left) {
                return Some(counters.reason(mask | 1 << counter));
            }
        }
        let is_full = |counter: u32| counter < COUNTERS && counters.value(counter) >= MOST;
        scheduling.counters().into_iter().any(is_full).then_some(Stall::Design)
    }

    /// Examines the head of a warp's buffer.
    #[inline(always)]
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        let head = match self.buffer.front(warp) {
            Some(id) => self.head(window.flight(id)),
            None => Head::EMPTY,
        };
        self.heads.set(warp, head);
    }

    #[inline(always)]
    fn examine_if_stalled(&mut self, window: Window<'_>, warp: WarpSlot) {
        if self.heads.is_stalled(warp) {
            self.examine(window, warp);
        }
    }

    /// The results of `id`, a texture read of `warp` that counter number `counter` counts, are there: it is counted off
    /// when those before it are.
    #[cold]
    fn end_texture(&mut self, warp: WarpSlot, id: InstId, counter: u32) {
        let textures = &mut self.textures[warp.index()];
        textures.iter_mut().filter(|texture| texture.0 == id).for_each(|texture| texture.2 = true);
        let is_counted = |texture: &(InstId, u32, bool)| texture.1 == counter;
        while let Some(first) = self.textures[warp.index()].iter().position(is_counted)
            && self.textures[warp.index()][first].2
        {
            self.textures[warp.index()].remove(first);
            self.decrement(warp, counter);
        }
    }

    /// Counter number `counter` of the warp of an instruction counts it no longer. Whether it is one.
    #[inline(always)]
    fn decrement(&mut self, warp: WarpSlot, counter: u32) -> bool {
        if counter < COUNTERS {
            self.counters[warp.index()].values -= 1 << (8 * counter);
        }
        counter < COUNTERS
    }
}

impl<M: WarpMask> CoreDesign for Modern<M> {
    type FrontEnd = SubCoreFetch<M>;
    type Issue = Self;
    type Operands = SubCoreOperands;
    type Execution = Units;
    type Memory = SubCoreMemory;

    const SCHEDULER: Option<&'static str> = Some("gty");
    const UNREAD: &'static [&'static str] = &UNREAD_BY_SUB_CORES;

    fn operands(config: &ModernConfig, spec: &CoreSpec) -> SubCoreOperands {
        let &ModernConfig { ports, register_cache, memory_queues, .. } = config;
        SubCoreOperands::new(spec, SubCoreSettings { ports, register_cache, memory_queues })
    }

    fn allowances(config: &ModernConfig) -> Allowances {
        let trusts_stall_counts = config.dependences == Dependences::ControlBits;
        Allowances { trusts_stall_counts, ..Allowances::default() }
    }

    fn adapt(config: &ModernConfig, spec: &mut CoreSpec) {
        spec.options.times_operations = true;
        if !config.stall_counts {
            spec.sm.issue.stall_counts = Some(false);
        }
    }

    fn memory(config: &ModernConfig, spec: &CoreSpec) -> SubCoreMemory {
        SubCoreMemory::with_caches(spec, config.memory_queues, &caches(config, spec))
    }

    fn front_end(config: &ModernConfig, spec: &CoreSpec) -> SubCoreFetch<M> {
        SubCoreFetch::with_caches(spec, &caches(config, spec))
    }
}

/// The caches of instructions and constants of an SM of `spec`.
fn caches(config: &ModernConfig, spec: &CoreSpec) -> SubCoreCaches {
    let of_gpu = SubCoreCaches::of(spec);
    let stream_buffer_lines = if config.prefetch { of_gpu.stream_buffer_lines } else { 0 };
    let perfect = of_gpu.perfect || !config.instruction_caches;
    SubCoreCaches { perfect, stream_buffer_lines, ..of_gpu }
}

impl<M: WarpMask> IssuePolicy for Modern<M> {
    type Config = ModernConfig;
    type Mask = M;

    fn new(config: &ModernConfig, spec: &CoreSpec) -> Self {
        Self {
            buffer: InstructionBuffer::with_fetches(spec, config.instruction_buffer, 1),
            heads: Heads::default(),
            counters: PerWarp::new(Counters::NEW),
            coming: [M::NONE; 2],
            now: 0,
            textures: PerWarp::from_fn(|_| Vec::new()),
            board: Box::new(AnyBoard::of(config.dependences, spec)),
            on_board: M::NONE,
            by_bits: config.dependences == Dependences::ControlBits && spec.honours_stall_counts(),
            shares_dp: !spec.has_own_units(Pipe::of(Unit::Dp)),
            warps: spec.sm.max_warps as usize,
            sub_cores: spec.partitions,
            register_cache: config.register_cache,
        }
    }

    fn check(config: &ModernConfig, spec: &CoreSpec) -> Result<(), String> {
        check_sub_cores(spec)?;
        if config.memory_queues { SubCoreMemory::check(spec) } else { Ok(()) }
    }

    fn structures(&self) -> Vec<Structure> {
        let one = Each::Instruction.times(1);
        let bits = COUNTERS as usize * 6 + 4 + 1;
        let counters = Structure::new("dependence counters", self.warps, 1, bits).ports(1, 1).read(one).written(one);
        let mut all = vec![self.buffer.structure()];
        if self.by_bits {
            all.push(counters);
        } else {
            all.extend(on_board!(&*self.board, board => board.structures()));
        }
        if self.register_cache {
            // Two banks of three positions; the number of a register and a warp to compare with.
            let cache = Structure::new("register-file cache", self.sub_cores, 6, 1024).compares(3 * 14);
            all.push(cache.read(Each::Source.times(1)).written(one).searched(one));
        }
        all
    }

    fn start_warp(&mut self, warp: WarpSlot, _: &RegFile) {
        debug_assert!(self.heads.is_empty(warp));
        self.counters[warp.index()] = Counters::NEW;
        self.coming.iter_mut().for_each(|warps| warps.remove(warp));
        self.on_board.remove(warp);
    }

    #[inline]
    fn room(&self) -> M {
        self.buffer.room()
    }

    #[inline(always)]
    fn insert(&mut self, flight: Flight<'_>) {
        let warp = flight.warp;
        if (self.shares_dp || !self.goes_by_bits(flight)) && !self.on_board.contains(warp) {
            self.begin_on_board(flight);
        }
        self.buffer.push(warp, flight.id);
        if self.heads.is_empty(warp) {
            // It is the oldest.
            self.heads.set(warp, self.head(flight));
        }
    }

    /// Increments of two cycles ago are seen.
    #[inline]
    fn tick(&mut self, now: Cycle, window: Window<'_>, wake_up: &mut WakeUp) -> M {
        self.now = now;
        let parity = now as usize % 2;
        let seen = std::mem::replace(&mut self.coming[parity], M::NONE);
        for warp in seen.iter() {
            let counters = &mut self.counters[warp.index()];
            counters.values += std::mem::take(&mut counters.coming[parity]);
            self.examine(window, warp);
        }
        if !self.coming[1 - parity].is_empty() {
            wake_up.at(now + 1);
        }
        self.heads.take_changed()
    }

    #[inline]
    fn candidates(&self) -> &Candidates<M> {
        self.heads.candidates()
    }

    #[inline]
    fn select(&self, _window: Window<'_>, warp: WarpSlot, _pipes: PipeSet) -> InstId {
        self.buffer.front(warp).expect("a warp with a candidate has a head")
    }

    #[inline(always)]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let warp = flight.warp;
        debug_assert_eq!(self.buffer.front(warp), Some(id));
        self.buffer.pop(warp);
        if self.goes_by_bits(flight) {
            let [results, reads] = flight.names().scheduling.counters();
            if flight.class == OpClass::Texture && results < COUNTERS {
                self.textures[warp.index()].push((id, results, false));
            }
            let parity = (self.now + SEEN_AFTER) as usize % 2;
            let counters = &mut self.counters[warp.index()];
            for (counter, of_reads) in [(results, false), (reads, true)] {
                if counter < COUNTERS {
                    let bit = 1 << counter;
                    let of_memory = !of_reads && flight.mem.is_some();
                    counters.coming[parity] += 1 << (8 * counter);
                    counters.of_memory = counters.of_memory & !bit | if of_memory { bit } else { 0 };
                    counters.of_reads = counters.of_reads & !bit | if of_reads { bit } else { 0 };
                    self.coming[parity].insert(warp);
                }
            }
        }
        if self.is_on_board(flight) {
            on_board!(&mut *self.board, board => board.on_issue(flight));
        }
        self.examine(window, warp);
    }

    #[inline(always)]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) {
        let flight = window.flight(id);
        let counted = self.goes_by_bits(flight) && self.decrement(flight.warp, flight.names().scheduling.counters()[1]);
        let may_end =
            self.is_on_board(flight) && on_board!(&mut *self.board, board => board.on_operands_read(window, id));
        if counted | may_end {
            self.examine_if_stalled(window, flight.warp);
        }
    }

    #[inline(always)]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        if self.goes_by_bits(flight) {
            let counter = flight.names().scheduling.counters()[0];
            if flight.class == OpClass::Texture && counter < COUNTERS {
                self.end_texture(flight.warp, flight.id, counter);
            } else {
                self.decrement(flight.warp, counter);
            }
        }
        if self.is_on_board(flight) {
            on_board!(&mut *self.board, board => board.on_writeback(flight));
        }
        self.examine_if_stalled(flight.window, flight.warp);
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.buffer.front(warp)
    }
}
