//! LOOG: in-order issue into operand collectors that are reservation stations.
//!
//! K. Iliakis, S. Xydis, D. Soudris, "LOOG: Improving GPU Efficiency With Light-Weight Out-Of-Order
//! Execution" (CAL 2019), and "Repurposing GPU Microarchitectures with Light-Weight Out-Of-Order
//! Execution" (TPDS 2022), as the GhOST paper (ISCA 2024, sections II-B and VI-G) and M. Zerva et al.,
//! "sCROOGe: Circuit-level Design and Optimization Framework for RISC-V Out-of-Order GPUs" (section
//! V-C), of which Iliakis is an author, describe them.
//!
//! ```text
//!  instruction ► warp      ► ID_OC ► reservation stations ─► units, out of order
//!  buffer        scheduler     │     (operand collectors,      │
//!  (in order)                  │      load-store queue)        │
//!                              ▼        ▲           ▲          ▼
//!                        register alias ┘           └──── result broadcast
//!                        table (a warp)
//! ```
//!
//! - **Issue** is in order and knows no hazard of registers: the scoreboard is gone.
//! - **Register alias table** (RAT): of each register of a warp, whether it is in the register file or
//!   which station will produce it. An instruction that issues looks up its sources and enters itself
//!   for its results, so that WAR and WAW dependences vanish.
//! - **Reservation stations**: an instruction takes a station ([`ReservationStations`]) of its sub-core, reads
//!   there the sources that are in the register file and awaits the others. It leaves for its unit when it has all,
//!   whatever older ones do, and keeps the station until its result is broadcast.
//! - **Result broadcast**: a result is written to the register file and captured by all stations that
//!   await it, in the cycle of the write-back.
//! - **Load-store queue**: an access leaves its station before an older one of its warp only if both
//!   are loads, or the older one's addresses are known and no lane's meets any lane's of the other.
//!   Atomics, volatile accesses, accesses of GPU scope or wider and asynchronous copies neither pass nor
//!   are passed.
//! - **Control**: branches, synchronisation and exits read their registers at issue. Barriers and exits
//!   wait for the accesses of their warp to leave their stations.
//!
//! There is no precise state, and nothing that looks how full the stations are: a warp that waits in
//! many of them keeps others out (the GhOST paper's criticism).
//!
//! **Deviations and guesses**
//! - D1: neither source says whether the load-store queue holds accesses beside their collectors or in
//!   place of them: sCROOGe has the latter, the GhOST paper counts only collectors as what holds
//!   instructions. Both can be set; by default accesses take collectors like all others, and the queue
//!   has an entry for each collector, so that it never is what lacks.
//! - D2: stations and queue entries are a sub-core's, for all its warps; they are taken in the order of
//!   issue over the sub-core, so that no consumer can keep its producer out. sCROOGe, with one
//!   scheduler, allocates so.
//! - D3: predicates and uniform registers are renamed and captured like vector registers. The GhOST
//!   paper does not say; sCROOGe's instructions have none.
//! - D4: an access's addresses are known when all its sources are there, a store's data among them, as
//!   in sCROOGe, which compares accesses that are ready. Comparing takes no time, as sCROOGe says of LOOG.
//! - D5: sources in the register file are read when their bank has time, not at once, so that a younger
//!   write could come first. An instruction therefore does not leave while an older one of its warp has
//!   yet to read a register that it writes from there.
//! - D6: all results of a cycle are broadcast; no wire is too long.
//! - D7: each result is written to the register file, also one whose register has been renamed since,
//!   which sCROOGe keeps back. It costs a bank's write.
//! - D8: a station whose instruction has no result is free when it leaves. The paper does not say.
//! - D9: an instruction with more than 64 sources waits for them before it issues.
//! - D10: a warp that could issue while its SM issued 4,096 to 8,192 instructions of others goes before
//!   all others of its scheduler, once. The sources know no such rule; without it, older warps that spin
//!   on a lock can take all stations under a greedy scheduler, indefinitely, while younger ones hold it. The
//!   number is a guess: small enough to end that, too large to matter otherwise.
//!
//! **Structures** of an SM: instruction buffer; RAT (263 registers a warp, each a valid bit and a
//! station's number); reservation stations (three operands of 32 lanes x 32 bits and a guard of 32
//! bits, each with a valid bit and a station's number; instruction 64, mask 32, warp, a valid and a
//! sent bit); load-store queue (32 addresses of 49 bits, mask, width, a station's number, valid and
//! known). The width of an address is NVIDIA's since Pascal; the bits of the rest are guesses, since no
//! source gives them.
//!
//! **Stall reasons**: `operand_collector_full` when no station is free; `raw`, `raw_memory` of control
//! only; `memory_order` of barriers and exits whose older accesses wait in stations.

mod alias_table;
mod stations;

use crate::extent::{Extent, overlap};
use alias_table::AliasTable;
use isa::{Access, CacheOp, Control, RegFile, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Mismatch, Persist};
use sm::CachedFetch;
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
use sm::operands::{FeedsStations, ReservationStations, StationCounts};
use sm::{Allowances, CoreDesign};
use sm::{Candidates, Each, IssuePolicy, Structure};
use sm::{CoreSpec, PipeSet};
use sm::{Flight, Window};
use sm::{InFlight, InstId};
use stations::InStations;

/// Most sources that a station awaits.
const MAX_AWAITED: usize = 64;

kit::parameters! {
    /// Sizes of LOOG, shared out evenly among the sub-cores; 64 together at most. The defaults are what the GhOST
    /// paper compares with: four times the collectors of the RTX 2060 Super.
    pub struct LoogConfig {
        /// Operand collectors of an SM.
        pub collectors: u32 = 32 in (1, 64),
        /// Entries of an SM's load-store queues, which hold accesses in place of collectors; 0: accesses take
        /// collectors.
        pub queue: u32 = 0 in (0, 63),
    }
}

/// Instructions that an SM issues before a warp that could issue all the while goes first (D10).
const PATIENCE: u64 = 4096;

/// Counts of the design.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    issued: u64,
    reordered: u64,
    starved: u64,
}

/// The issue design.
#[derive(Debug)]
pub struct Loog<M: WarpMask = u64> {
    buffer: InstructionBuffer<M>,
    table: AliasTable,
    heads: Heads<M>,
    /// Accesses of each warp that have issued and not left their stations.
    queued: PerWarp<u16, M>,
    in_stations: InStations<M>,
    /// Warps that could issue when the SM had last issued a multiple of [`PATIENCE`], and have not since.
    passed_over: M,
    counts: Counts,
    config: LoogConfig,
    warps: usize,
    partitions: usize,
}

impl<M: WarpMask> Loog<M> {
    /// Examines the head of a warp's buffer.
    #[inline]
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        let head = match self.buffer.front(warp) {
            None => Head::EMPTY,
            Some(id) => match self.hazard(window, id) {
                None => Head::ready(window.inst(id).pipe),
                Some(stall) => Head::stalled(stall),
            },
        };
        self.heads.set(warp, head);
    }

    /// Why `id` may not issue.
    #[inline]
    fn hazard(&self, window: Window<'_>, id: InstId) -> Option<Stall> {
        if !reads_at_issue(window, id) {
            return None;
        }
        let inst = window.inst(id);
        if gathers(inst) && self.queued[inst.warp.index()] > 0 {
            return Some(Stall::MemoryOrder);
        }
        self.table.pending(window, id)
    }

    /// Finds the warps that have been passed over since this was last done.
    #[cold]
    fn find_starved(&mut self) {
        let (candidates, first) = (self.heads.candidates(), self.heads.candidates().first);
        let could_issue = candidates.ready();
        let starved = self.passed_over & could_issue;
        self.counts.starved += u64::from((starved & !first).count());
        // Passed over for a whole period: they go first.
        self.heads.set_first(starved | first);
        self.passed_over = could_issue;
    }

    #[inline]
    fn examine_if_stalled(&mut self, window: Window<'_>, warp: WarpSlot) {
        if self.heads.is_stalled(warp) {
            self.examine(window, warp);
        }
    }
}

/// Whether an instruction reads its registers when it issues.
#[inline]
fn reads_at_issue(window: Window<'_>, id: InstId) -> bool {
    let inst = window.inst(id);
    inst.control != Control::None || inst.ends_warp || window.srcs(id).len() > MAX_AWAITED
}

/// Whether an instruction informs other warps that the accesses before it are under way.
fn gathers(inst: &InFlight) -> bool {
    let arrives = matches!(inst.control, Control::BarrierSync | Control::BarrierArrive) && inst.mask != 0;
    arrives || inst.ends_warp
}

/// Whether an access neither passes nor is passed by another one.
fn keeps_its_place(inst: &InFlight) -> bool {
    inst.mem.is_some_and(|m| {
        !matches!(m.access, Access::Load | Access::Store) || matches!(m.cache, CacheOp::L2 | CacheOp::Volatile)
    })
}

/// Whether two accesses touch a byte in common.
fn meet(window: Window<'_>, a: InstId, b: InstId) -> bool {
    Extent::of(window, a).may_meet(&Extent::of(window, b)) && overlap(window, a, b)
}

impl<M: WarpMask> CoreDesign for Loog<M> {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = ReservationStations;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    fn operands(config: &LoogConfig, spec: &CoreSpec) -> ReservationStations {
        ReservationStations::new(spec, StationCounts { any: config.collectors, of_memory: config.queue })
    }

    fn allowances(_: &LoogConfig) -> Allowances {
        Allowances { renames: true, ..Allowances::default() }
    }
}

impl<M: WarpMask> IssuePolicy for Loog<M> {
    type Config = LoogConfig;
    type Mask = M;

    fn new(config: &LoogConfig, spec: &CoreSpec) -> Self {
        Self {
            buffer: InstructionBuffer::new(spec, spec.sm.frontend.buffer_entries),
            table: AliasTable::default(),
            heads: Heads::default(),
            queued: PerWarp::new(0),
            in_stations: InStations::default(),
            passed_over: M::NONE,
            counts: Counts::default(),
            config: *config,
            warps: spec.sm.max_warps as usize,
            partitions: spec.partitions,
        }
    }

    fn check(config: &LoogConfig, spec: &CoreSpec) -> Result<(), String> {
        let LoogConfig { collectors, queue } = *config;
        if collectors + queue > 64 {
            return Err(format!("{collectors} collectors and a queue of {queue} are more than 64 together"));
        }
        match spec.partitions as u32 {
            n if collectors.is_multiple_of(n) && queue.is_multiple_of(n) => Ok(()),
            n => {
                Err(format!("{collectors} collectors and a queue of {queue} cannot be shared out among {n} sub-cores"))
            }
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let (warps, partitions) = (self.warps, self.partitions);
        let each = self.config.collectors as usize / partitions;
        let queue = self.config.queue as usize / partitions;
        let bits_of = |count: usize| count.next_power_of_two().trailing_zeros() as usize;
        // A result comes from a collector or, if they hold accesses, from a queue entry.
        let name = bits_of(each + queue);
        let operand = |bits| 1 + name + bits;
        let station = 64 + 32 + bits_of(warps.div_ceil(partitions)) + 2 + operand(32);
        // In a queue of its own an access has its sources there: two registers of address, one of data.
        let access = 32 * 49 + 32 + 5 + name + 2 + if queue > 0 { station + 3 * operand(32 * 32) } else { 0 };
        let entries = if queue > 0 { queue } else { each };
        let once = Each::Instruction.times(1);
        vec![
            self.buffer.structure(),
            Structure::new("register alias table", warps, 263, 1 + name)
                .ports(4, 2)
                .read(Each::Source.times(1))
                .written(Each::Result.times(2)),
            Structure::new("reservation station", partitions, each, station).ports(1, 2).read(once).written(once),
            // A result is compared with the names of all operands and guards.
            Structure::new("operand of a station", partitions, 3 * each, operand(32 * 32))
                .ports(3, 2)
                .compares(4 * each * name)
                .read(Each::Source.times(1))
                .written(Each::Source.times(1))
                .searched(Each::Result.times(1)),
            // Each lane's address with that of the same lane in all entries: a guess, and the least.
            Structure::new("load-store queue", partitions, entries, access)
                .compares(entries * 32 * 49)
                .read(Each::Access.times(1))
                .written(Each::Access.times(1))
                .searched(Each::Access.times(1)),
        ]
    }

    fn statistics(&self) -> Vec<DesignStatistic> {
        let AliasTable { captured, broadcasts, .. } = self.table;
        let Counts { issued, reordered, starved } = self.counts;
        vec![
            DesignStatistic::count("results_broadcast", "results", "Results broadcast to the stations.", broadcasts),
            DesignStatistic::count(
                "operands_captured",
                "operands",
                "Operands that stations took from results rather than from the register file.",
                captured,
            ),
            DesignStatistic::reordered_share(reordered, issued),
            DesignStatistic::count(
                "warps_starved",
                "warps",
                "Times that a warp went first since others had been chosen before it for long.",
                starved,
            ),
        ]
    }

    fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        debug_assert!(self.heads.is_empty(warp) && self.in_stations.is_empty(warp));
        self.table.start_warp(warp, regs);
    }

    #[inline]
    fn room(&self) -> M {
        self.buffer.room()
    }

    #[inline]
    fn insert(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        let warp = flight.warp;
        self.buffer.push(warp, id);
        if self.heads.is_empty(warp) {
            self.examine(window, warp);
        }
    }

    #[inline]
    fn tick(&mut self, _now: Cycle, _window: Window<'_>, _wake_up: &mut WakeUp) -> M {
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

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        self.buffer.pop(flight.warp);
        self.queued[flight.warp.index()] += u16::from(flight.mem.is_some());
        self.table.rename(window, id, reads_at_issue(window, id));
        self.in_stations.enter(flight.warp, flight.order);
        self.examine(window, flight.warp);
        let first = self.heads.candidates().first;
        if (self.passed_over | first).contains(flight.warp) {
            self.passed_over.remove(flight.warp);
            self.heads.set_first(first & !M::of(flight.warp));
        }
        self.counts.issued += 1;
        if self.counts.issued.is_multiple_of(PATIENCE) {
            self.find_starved();
        }
    }

    #[inline]
    fn on_operands_read(&mut self, window: Window<'_>, id: InstId) {
        let inst = window.inst(id);
        self.counts.reordered += u64::from(self.in_stations.leave(inst.warp, inst.order));
        if inst.mem.is_some() {
            self.queued[inst.warp.index()] -= 1;
            self.examine_if_stalled(window, inst.warp);
        }
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        self.table.broadcast(window, id);
        self.examine_if_stalled(window, flight.warp);
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.buffer.front(warp)
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.table.persist(archive)?;
        self.counts.persist(archive)
    }
}

impl<M: WarpMask> FeedsStations for Loog<M> {
    #[inline]
    fn awaited(&self, _window: Window<'_>, id: InstId) -> u64 {
        self.table.awaited(id)
    }

    #[inline]
    fn take_woken(&mut self) -> Option<InstId> {
        self.table.take_woken()
    }

    #[inline]
    fn may_pass(window: Window<'_>, younger: InstId, older: InstId, known: bool) -> bool {
        let (me, other) = (window.inst(younger), window.inst(older));
        if keeps_its_place(me) || keeps_its_place(other) {
            return false;
        }
        let loads = |inst: &InFlight| inst.mem.is_some_and(|m| m.access == Access::Load);
        loads(me) && loads(other) || known && !meet(window, younger, older)
    }
}

kit::persist! {
    struct Counts { issued, reordered, starved }
}
