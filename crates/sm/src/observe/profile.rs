//! Where issue slots and time go, by static instruction.
//!
//! A profile holds the same account of issue slots as [`SlotAccount`](crate::SlotAccount), split over the instructions:
//! a slot that issues belongs to the instruction that issued. A slot that stays empty is charged to the instruction
//! that waits ([`Row::stalls`]) and, where another instruction keeps it waiting, to that one as well ([`Row::causes`]).
//!
//! - The slot's reason is the reason of the warp that came closest to issue; of several warps with this reason the one
//!   in the lowest slot is charged. All warps of a kernel execute the same code, so that this chooses a sample.
//! - The instruction that waits is the next to issue of that warp: the oldest in its buffer, the ready candidate that
//!   found its latch full, or, where the buffer is empty, the next to be fetched. A warp that waits at a barrier, fence,
//!   sleep or for an atomic waits at the instruction that it has issued.
//! - The instruction that is waited for is the youngest one in flight of the same warp with which the waiting one has the
//!   dependence that the reason names; of a pipe, unit or collector without room the one that holds it, and of a barrier
//!   what its last warp waited for (`blame.rs`).
//! - A warp that waits for copies, matrix operations of warp groups or at an `mbarrier` waits for the instruction that
//!   ended its wait: the copy or operation that was complete last, or the last arrival; none of another SM.

use crate::inflight::InstId;
use crate::kernel::{Code, ResidentKernel};
use crate::observe::blame::{self, Blame, Place};
use crate::observe::observer::{Accessed, Awaited, Observer, Seen, Wait};
use crate::observe::stalls::Stall;
use crate::slab::Window;
use crate::spec::Pipe;
use crate::warps::mask::MOST_WARPS;
use isa::{KernelId, Pc, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Fresh, Mismatch, Persist};
use mem::Level;
use std::collections::HashMap;
use std::sync::Arc;

/// Buckets of a power of two in a histogram of latencies.
const STEPS: u32 = 4;
/// Buckets of a histogram: up to 2^16 cycles.
const BUCKETS: usize = (STEPS * 15) as usize;

/// How long instructions took, in cycles from issue to write-back.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    count: u64,
    sum: u64,
    max: u64,
    /// Counts by [`bucket`]; made when the first instruction takes other than the shortest time.
    buckets: Option<Box<[u32; BUCKETS]>>,
    /// The time of all instructions while there are no buckets.
    only: u64,
}

/// The bucket of a latency: exact below 8 cycles, then four for each power of two.
fn bucket(cycles: u64) -> usize {
    let cycles = cycles.clamp(1, (1 << 16) - 1) as u32;
    if cycles < 2 * STEPS {
        return cycles as usize;
    }
    let power = cycles.ilog2();
    let step = (cycles >> (power - STEPS.ilog2())) - STEPS;
    ((power - STEPS.ilog2() + 1) * STEPS + step) as usize
}

/// The longest latency in a bucket.
fn longest(bucket: usize) -> u64 {
    let (high, step) = (bucket as u32 / STEPS, bucket as u32 % STEPS);
    if high < 2 {
        return bucket as u64;
    }
    (u64::from(STEPS + step + 1) << (high - 1)) - 1
}

impl Latencies {
    fn add(&mut self, cycles: u64) {
        if self.count == 0 {
            self.only = cycles;
        }
        if cycles != self.only && self.buckets.is_none() {
            self.open();
        }
        if let Some(buckets) = &mut self.buckets {
            buckets[bucket(cycles)] += 1;
        }
        self.count += 1;
        self.sum += cycles;
        self.max = self.max.max(cycles);
    }

    #[cold]
    fn open(&mut self) {
        let mut buckets = Box::new([0; BUCKETS]);
        buckets[bucket(self.only)] = self.count as u32;
        self.buckets = Some(buckets);
    }

    fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        if self.buckets.is_none() && (other.buckets.is_some() || other.only != self.only) {
            self.open();
        }
        if let Some(mine) = &mut self.buckets {
            match &other.buckets {
                Some(theirs) => mine.iter_mut().zip(theirs.iter()).for_each(|(a, b)| *a += b),
                None => mine[bucket(other.only)] += other.count as u32,
            }
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Number of instructions.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean, in cycles; `None` without instructions.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The longest, in cycles.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The time within which `share` of the instructions were complete, in cycles: exact below 8, else at most a
    /// quarter too long.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let wanted = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        self.histogram().find_map(|(cycles, count)| {
            seen += count;
            (seen >= wanted).then_some(cycles.min(self.max))
        })
    }

    /// The buckets that are not empty: their longest latency in cycles and number of instructions.
    pub fn histogram(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let single = (self.count > 0 && self.buckets.is_none()).then_some((self.only, self.count));
        let several = self.buckets.iter().flat_map(|buckets| buckets.iter().enumerate());
        let several = several.map(|(i, &count)| (longest(i), u64::from(count))).filter(|&(_, count)| count > 0);
        single.into_iter().chain(several)
    }
}

/// Memory accesses of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Executions that access memory with any lane.
    pub accesses: u64,
    /// Transactions that they are split into; passes through the banks for shared memory.
    pub transactions: u64,
    /// Sectors of 32 bytes that these move, other than for shared memory.
    pub sectors: u64,
    /// The number of sectors in which the bytes of all active lanes would fit.
    pub sectors_needed: u64,
    /// Cycles beyond the first that conflicts between banks of shared memory, or different words of constants, take.
    pub conflict_cycles: u64,
    /// Passes through the banks of shared memory beyond those that the bytes of all active lanes fill.
    pub excess_passes: u64,
    /// Transactions of loads and atomics by the level that their data came from ([`Level`]).
    pub served: [u64; Level::COUNT],
}

impl Accesses {
    fn merge(&mut self, other: &Self) {
        self.accesses += other.accesses;
        self.transactions += other.transactions;
        self.sectors += other.sectors;
        self.sectors_needed += other.sectors_needed;
        self.conflict_cycles += other.conflict_cycles;
        self.excess_passes += other.excess_passes;
        self.served.iter_mut().zip(other.served).for_each(|(a, b)| *a += b);
    }
}

/// Profile of a static instruction.
#[derive(Clone, Debug)]
pub struct Row {
    /// How often it issued.
    pub issues: u64,
    /// Lanes that executed it, over all issues.
    pub lanes: u64,
    /// Issues after which lanes of the warp had diverged.
    pub divergences: u64,
    /// Issue slots that stayed empty because it waited, by reason.
    pub stalls: [u64; Stall::COUNT],
    /// Issue slots that stayed empty because another instruction waited for this one, by reason.
    pub causes: [u64; Stall::COUNT],
    /// From issue to write-back.
    pub latencies: Latencies,
    /// Accesses to memory.
    pub memory: Accesses,
    /// From issue to write-back of loads and atomics by the furthest level that any of their data came from.
    pub by_level: Option<Box<[Latencies; Level::COUNT]>>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            issues: 0,
            lanes: 0,
            divergences: 0,
            stalls: [0; Stall::COUNT],
            causes: [0; Stall::COUNT],
            latencies: Latencies::default(),
            memory: Accesses::default(),
            by_level: None,
        }
    }
}

impl Row {
    /// Issue slots that stayed empty because the instruction waited.
    pub fn stalled(&self) -> u64 {
        self.stalls.iter().sum()
    }

    /// Issue slots that stayed empty because another instruction waited for it.
    pub fn caused(&self) -> u64 {
        self.causes.iter().sum()
    }

    fn merge(&mut self, other: &Self) {
        self.issues += other.issues;
        self.lanes += other.lanes;
        self.divergences += other.divergences;
        self.stalls.iter_mut().zip(other.stalls).for_each(|(a, b)| *a += b);
        self.causes.iter_mut().zip(other.causes).for_each(|(a, b)| *a += b);
        self.latencies.merge(&other.latencies);
        self.memory.merge(&other.memory);
        if let Some(theirs) = &other.by_level {
            let mine = self.by_level.get_or_insert_default();
            mine.iter_mut().zip(theirs.iter()).for_each(|(mine, theirs)| mine.merge(theirs));
        }
    }
}

/// Code and what happened to its instructions.
#[derive(Clone, Debug)]
pub struct CodeProfile {
    /// The code.
    pub code: Arc<Code>,
    /// By PC; `None` of instructions to which nothing happened.
    pub rows: Box<[Option<Box<Row>>]>,
}

impl CodeProfile {
    fn new(code: &Arc<Code>) -> Self {
        Self { code: code.clone(), rows: vec![None; code.program.insts().len()].into() }
    }

    fn row(&mut self, pc: Pc) -> &mut Row {
        self.rows[pc.index()].get_or_insert_default()
    }

    /// Adds what was counted of the same instructions elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().merge(theirs);
            }
        }
    }
}

/// An issue slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Why it stayed empty when it was last looked at; `None` if that is not known yet.
    stall: Option<Stall>,
    waits: Option<Place>,
    waited_for: Option<Place>,
    /// The warp that waits, if that is for asynchronous work.
    warp: Option<WarpSlot>,
    /// The pipe of the instruction that waits, if it is ready.
    pipe: Option<Pipe>,
    /// The instruction that waited, and the number of changes of its warp by then: while both stay, so does what it waits for.
    looked: Option<(InstId, WarpSlot, u32)>,
    /// The first cycle not yet accounted for.
    since: Cycle,
}

/// Issued and not complete.
#[derive(Clone, Copy, Debug)]
struct Flight {
    id: InstId,
    place: Place,
    /// The issue slot.
    slot: usize,
    issued: Cycle,
    /// The furthest level that data have come from.
    level: Option<Level>,
}

/// The profile of an SM, or of several added up.
#[derive(Clone, Debug)]
pub struct Profile {
    codes: Vec<CodeProfile>,
    /// Numbers of codes by address; each is kept alive by its entry in `codes`.
    numbers: HashMap<usize, u32>,
    /// The code of the kernel that was last asked for.
    last: Option<(KernelId, u32)>,
    /// Slots that no instruction was the cause of, by reason.
    nobody: [u64; Stall::COUNT],
    slots: Box<[Slot]>,
    flights: Box<[Vec<Flight>]>,
    /// By warp: how often instructions of it have begun or ended to be in flight, or have been flushed.
    changes: Box<[u32]>,
    blame: Blame,
}

impl Profile {
    /// An empty profile of an SM with this number of issue slots.
    pub fn new(slots: usize) -> Self {
        Self {
            codes: Vec::new(),
            numbers: HashMap::new(),
            last: None,
            nobody: [0; Stall::COUNT],
            slots: vec![Slot { stall: Some(Stall::Idle), ..Slot::default() }; slots].into(),
            flights: vec![Vec::new(); MOST_WARPS].into(),
            changes: vec![0; MOST_WARPS].into(),
            blame: Blame::new(slots),
        }
    }

    /// The codes in the order in which they first ran.
    pub fn codes(&self) -> &[CodeProfile] {
        &self.codes
    }

    /// Slots that stayed empty for `reason` where no instruction waited: without a warp, for example.
    pub fn nobody(&self, reason: Stall) -> u64 {
        self.nobody[reason as usize]
    }

    /// Adds what another SM has counted, up to its last [`Observer::settled`].
    pub fn add(&mut self, other: &Self) {
        for theirs in &other.codes {
            let number = self.number_of(&theirs.code);
            self.codes[number as usize].merge(theirs);
        }
        self.nobody.iter_mut().zip(other.nobody).for_each(|(a, b)| *a += b);
    }

    fn number_of(&mut self, code: &Arc<Code>) -> u32 {
        let next = self.codes.len() as u32;
        let number = *self.numbers.entry(Arc::as_ptr(code).addr()).or_insert(next);
        if number == next {
            self.codes.push(CodeProfile::new(code));
        }
        number
    }

    fn place(&mut self, window: Window<'_>, kernel: KernelId, pc: Pc) -> Place {
        let number = match self.last {
            Some((last, number)) if last == kernel => number,
            _ => self.number_of(&window.kernels[kernel.index()].code),
        };
        self.last = Some((kernel, number));
        (number, pc)
    }

    fn row(&mut self, seen: Seen<'_>) -> &mut Row {
        let inst = seen.inst();
        let place = self.place(seen.window, inst.kernel, inst.pc);
        self.row_at(place)
    }

    fn row_at(&mut self, (code, pc): Place) -> &mut Row {
        self.codes[code as usize].row(pc)
    }

    /// The events that instructions of `warp` wait for may have changed.
    fn change(&mut self, warp: WarpSlot) {
        let changes = &mut self.changes[warp.index()];
        *changes = changes.wrapping_add(1);
    }

    /// Charges what `slot` has lost before `until`.
    fn charge(&mut self, slot: usize, until: Cycle) {
        let Slot { stall, waits, waited_for, warp, since, .. } = self.slots[slot];
        let lost = until.saturating_sub(since);
        let Some(stall) = stall.filter(|_| lost > 0) else { return };
        match waits {
            Some(place) => self.row_at(place).stalls[stall as usize] += lost,
            None => self.nobody[stall as usize] += lost,
        }
        if let Some(place) = waited_for {
            self.row_at(place).causes[stall as usize] += lost;
        }
        if stall == Stall::Barrier {
            self.blame.waits_at_barrier(lost);
        }
        if let Some(warp) = warp {
            self.blame.waits(warp, stall, lost);
        }
    }

    /// `slot` waits for `place` from `now` on.
    fn wait_for(&mut self, now: Cycle, slot: usize, place: Place) {
        if self.slots[slot].waited_for != Some(place) {
            self.charge(slot, now);
            let slot = &mut self.slots[slot];
            (slot.waited_for, slot.since) = (Some(place), slot.since.max(now));
        }
    }

    /// The place and the issue slot of an instruction in flight.
    fn flight(&self, seen: Seen<'_>) -> Option<(Place, usize)> {
        let flights = &self.flights[seen.inst().warp.index()];
        flights.iter().find(|flight| flight.id == seen.id).map(|flight| (flight.place, flight.slot))
    }

    /// The instruction in flight that keeps the one of `wait` from issue in `slot`, if it is one.
    fn waited_for(&self, slot: usize, wait: &Wait<'_>) -> Option<Place> {
        let (id, window) = (wait.inst?, wait.window);
        match wait.stall {
            Stall::MemoryPipeFull => return self.blame.memory(),
            Stall::UnitBusy => return self.blame.unit(slot, window.inst(id).pipe),
            Stall::CollectorFull => return self.blame.collector(slot),
            _ => {}
        }
        let flights = &self.flights[window.inst(id).warp.index()];
        let (reads, writes) = (window.srcs(id), window.dsts(id));
        let depends = |flight: &&Flight| match wait.stall {
            Stall::Raw | Stall::RawMemory => window.dsts(flight.id).iter().any(|reg| reads.contains(reg)),
            Stall::Waw => window.dsts(flight.id).iter().any(|reg| writes.contains(reg)),
            Stall::War => window.srcs(flight.id).iter().any(|reg| writes.contains(reg)),
            Stall::MemoryOrder => window.inst(flight.id).mem.is_some(),
            _ => false,
        };
        flights.iter().rev().find(depends).map(|flight| flight.place)
    }
}

impl Observer for Profile {
    fn watches_details(&self) -> bool {
        true
    }

    fn issued(&mut self, now: Cycle, slot: usize, seen: Seen<'_>) {
        self.charge(slot, now);
        self.slots[slot] = Slot { stall: Some(Stall::Idle), since: now + 1, ..Slot::default() };
        let inst = seen.inst();
        let diverged = inst.control != isa::Control::None && seen.window.dynamic(seen.id).diverged;
        let place = self.place(seen.window, inst.kernel, inst.pc);
        let row = self.row_at(place);
        row.issues += 1;
        row.lanes += u64::from(inst.mask.count_ones());
        row.divergences += u64::from(diverged);
        self.blame.issues(now, inst.warp, place, inst.mem.is_some());
        self.blame.goes(slot, seen.id, inst.pipe);
        self.flights[inst.warp.index()].push(Flight { id: seen.id, place, slot, issued: now, level: None });
        self.change(inst.warp);
    }

    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        let warp = seen.inst().warp;
        let flights = &mut self.flights[warp.index()];
        let Some(at) = flights.iter().position(|flight| flight.id == seen.id) else { return };
        let flight = flights.remove(at);
        self.change(warp);
        self.blame.gone(flight.slot, seen.id);
        self.blame.completes(warp, flight.place);
        let row = self.row_at(flight.place);
        row.latencies.add(now - flight.issued);
        if let Some(level) = flight.level {
            row.by_level.get_or_insert_default()[level as usize].add(now - flight.issued);
        }
    }

    fn collecting(&mut self, _now: Cycle, seen: Seen<'_>, _awaited: u64) {
        if let Some((place, slot)) = self.flight(seen) {
            self.blame.collects(slot, seen.id, place);
        }
    }

    fn operands_read(&mut self, _now: Cycle, seen: Seen<'_>) {
        if let Some((_, slot)) = self.flight(seen) {
            self.blame.collected(slot, seen.id);
        }
    }

    fn executing(&mut self, now: Cycle, seen: Seen<'_>) {
        let Some((place, slot)) = self.flight(seen) else { return };
        let pipe = seen.inst().pipe;
        self.blame.executes(slot, seen.id, pipe, place);
        let Slot { stall, pipe, .. } = self.slots[slot];
        let holder = pipe.filter(|_| stall == Some(Stall::UnitBusy)).and_then(|own| self.blame.unit(slot, own));
        if let Some(holder) = holder {
            self.wait_for(now, slot, holder);
        }
    }

    fn released(&mut self, now: Cycle, warps: u128) {
        for slot in 0..self.slots.len() {
            if self.slots[slot].stall == Some(Stall::Barrier) {
                self.charge(slot, now);
                self.slots[slot].since = self.slots[slot].since.max(now);
            }
        }
        let (cause, slots) = self.blame.releases(now, warps);
        if let Some(place) = cause.filter(|_| slots > 0) {
            self.row_at(place).causes[Stall::Barrier as usize] += slots;
        }
    }

    fn awaited(&mut self, now: Cycle, warp: WarpSlot, stall: Stall, by: Option<Awaited<'_>>) {
        for slot in 0..self.slots.len() {
            if self.slots[slot].stall == Some(stall) && self.slots[slot].warp == Some(warp) {
                self.charge(slot, now);
                self.slots[slot].since = self.slots[slot].since.max(now);
            }
        }
        let slots = self.blame.take_waited(warp, stall);
        if let Some(Awaited { place: (kernel, pc), window }) = by.filter(|_| slots > 0) {
            let place = self.place(window, kernel, pc);
            self.row_at(place).causes[stall as usize] += slots;
        }
    }

    fn accessed(&mut self, now: Cycle, seen: Seen<'_>, accessed: Accessed) {
        let inst = seen.inst();
        let place = self.place(seen.window, inst.kernel, inst.pc);
        self.blame.accesses(place);
        for slot in 0..self.slots.len() {
            if self.slots[slot].stall == Some(Stall::MemoryPipeFull) {
                self.wait_for(now, slot, place);
            }
        }
        let lanes = u64::from(inst.mask.count_ones());
        let bytes = inst.mem.map_or(0, |mem| u64::from(mem.bytes));
        let memory = &mut self.row(seen).memory;
        memory.accesses += 1;
        memory.transactions += u64::from(accessed.transactions);
        memory.conflict_cycles += u64::from(accessed.conflict_cycles);
        memory.excess_passes += u64::from(accessed.excess_passes);
        if accessed.bytes > 0 {
            memory.sectors += u64::from(accessed.bytes).div_ceil(32);
            memory.sectors_needed += (lanes * bytes).div_ceil(32);
        }
    }

    fn served(&mut self, _now: Cycle, seen: Seen<'_>, level: Level) {
        self.row(seen).memory.served[level as usize] += 1;
        let flights = &mut self.flights[seen.inst().warp.index()];
        if let Some(flight) = flights.iter_mut().find(|flight| flight.id == seen.id) {
            flight.level = flight.level.max(Some(level));
        }
    }

    fn stalled(&mut self, now: Cycle, slot: usize, wait: &Wait<'_>) {
        let looked = wait.inst.map(|id| {
            let warp = wait.window.inst(id).warp;
            (id, warp, self.changes[warp.index()])
        });
        let Slot { stall, waits: waited, waited_for: cause, looked: before, .. } = self.slots[slot];
        let is_known = looked.is_some() && (stall, before) == (Some(wait.stall), looked);
        if is_known && wait.stall != Stall::CollectorFull {
            return;
        }
        let waits = wait.place.map(|(kernel, pc)| self.place(wait.window, kernel, pc));
        let waited_for = waits.and_then(|_| self.waited_for(slot, wait));
        let pipe = wait.inst.filter(|_| wait.stall.is_blocked()).map(|id| wait.window.inst(id).pipe);
        let warp = wait.warp.filter(|_| blame::is_asynchronous(wait.stall));
        if (stall, waited, cause, self.slots[slot].warp) != (Some(wait.stall), waits, waited_for, warp) {
            self.charge(slot, now);
            let since = self.slots[slot].since.max(now);
            self.slots[slot] = Slot { stall: Some(wait.stall), waits, waited_for, warp, pipe, looked, since };
        } else {
            (self.slots[slot].looked, self.slots[slot].pipe) = (looked, pipe);
        }
    }

    fn flushed(&mut self, _now: Cycle, warp: WarpSlot) {
        self.change(warp);
    }

    fn settled(&mut self, now: Cycle) {
        for slot in 0..self.slots.len() {
            self.charge(slot, now);
            self.slots[slot].since = self.slots[slot].since.max(now);
        }
    }

    fn cta_started(&mut self, now: Cycle, _: KernelId, _: isa::Dim3, _: isa::CtaSlot, warps: &[WarpSlot]) {
        for &warp in warps {
            self.flights[warp.index()].clear();
            self.blame.begins(now, warp);
            self.change(warp);
        }
    }

    /// Codes are written as the first launch that has each.
    fn persist(&mut self, kernels: &[ResidentKernel], archive: &mut Archive) -> Result<(), Mismatch> {
        if self.flights.iter().any(|flights| !flights.is_empty()) {
            return Err(Mismatch::new("an instruction is in flight"));
        }
        let mut count = self.codes.len();
        archive.length(&mut count)?;
        for number in 0..count {
            let known = self.codes.get(number).map(|known| &known.code);
            let mut launch = known.and_then(|code| kernels.iter().position(|kernel| Arc::ptr_eq(&kernel.code, code)));
            launch.persist(archive)?;
            if archive.is_reading() {
                let kernel =
                    launch.and_then(|launch| kernels.get(launch)).ok_or_else(|| archive.wrong("no such code"))?;
                self.number_of(&kernel.code);
            }
            let profile = self.codes.get_mut(number).ok_or_else(|| archive.wrong("the same code twice"))?;
            profile.rows.persist(archive)?;
        }
        let Self { codes: _, numbers: _, last, nobody, slots, flights: _, changes, blame } = self;
        last.persist(archive)?;
        nobody.persist(archive)?;
        slots.persist(archive)?;
        changes.persist(archive)?;
        blame.persist(archive)
    }
}

impl Fresh for Row {
    fn fresh() -> Self {
        Self::default()
    }
}

kit::persist! {
    new struct Latencies { count, sum, max, buckets, only }
    new struct Accesses { accesses, transactions, sectors, sectors_needed, conflict_cycles, excess_passes, served }
    struct Row { issues, lanes, divergences, stalls, causes, latencies, memory, by_level }
    struct Slot { stall, waits, waited_for, looked, since; skip warp, pipe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        let mut last = 0;
        for cycles in 1..70_000u64 {
            let at = bucket(cycles);
            assert!(at == last || at == last + 1, "{cycles} is in bucket {at} after {last}");
            assert!(cycles > 65_535 || longest(at) >= cycles, "{cycles}: {}", longest(at));
            assert!(at == 0 || longest(at - 1) < cycles);
            last = at;
        }
        assert!(last < BUCKETS);
    }

    #[test]
    fn latencies_of_two_sms_add_up() {
        let of = |all: &[u64]| {
            let mut latencies = Latencies::default();
            all.iter().for_each(|&cycles| latencies.add(cycles));
            latencies
        };
        let halves =
            [(&[4, 4, 4][..], &[4, 4][..]), (&[4, 4], &[5]), (&[4], &[300, 20]), (&[30, 20], &[4, 4]), (&[], &[7])];
        for (one, other) in halves {
            let (mut sum, all) = (of(one), of(&[one, other].concat()));
            sum.merge(&of(other));
            assert_eq!(sum.histogram().collect::<Vec<_>>(), all.histogram().collect::<Vec<_>>());
            assert_eq!((sum.count(), sum.mean(), sum.max()), (all.count(), all.mean(), all.max()));
            assert_eq!(sum.quantile(0.95), all.quantile(0.95));
        }
        assert_eq!(of(&[4; 99]).quantile(0.95), Some(4));
        assert_eq!(of(&[4, 4, 4, 4, 4, 4, 4, 4, 4, 1000]).quantile(0.9), Some(4));
        assert_eq!(of(&[4, 1000]).quantile(0.95), Some(1000));
    }
}
