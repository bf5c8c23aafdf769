//! The issue buffer of GhOST: instructions of each warp after their dependence check, with what each
//! waits for as bit masks over the warp's locations.

use crate::boards::ReorderedBoard;
use isa::{Access, CacheOp, Control, RegFile, RegId, WarpSlot};
use kit::bits::set_bits;
use sm::PerWarp;
use sm::Stall;
use sm::Structure;
use sm::WarpMask;
use sm::widened;
use sm::{Flight, Window};
use sm::{InFlight, InstId};

/// A location in the issue buffer of a warp.
pub(super) type Location = u8;

/// Most locations of a warp.
const MOST: usize = 64;

/// No location.
pub(super) const NONE: Location = Location::MAX;

/// The locations of one warp, one bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Locations {
    /// Claimed, by instructions in a dependence checker or here.
    taken: u64,
    /// Their instruction is here and not in a checker any more.
    valid: u64,
    /// Some IB-dep bit is set: an older instruction must issue first.
    behind: u64,
    /// A register has a write in flight.
    in_flight: u64,
    /// Freed of their last write in flight in this cycle: the GhOST scheduler sees that in the next.
    fresh: u64,
    /// Non-idempotent and after loads that have not had their TLB check (GhOST-Precise).
    held: u64,
    /// Locations of accesses to memory.
    memory: u64,
    /// Of those, loads that may pass other loads.
    loads: u64,
    /// Branches: those after one have a control hazard (the paper's valid bit) until it has issued.
    branches: u64,
    /// How many are taken.
    len: u8,
}

impl Locations {
    /// Those whose instruction may issue.
    fn ready(&self) -> u64 {
        self.valid & !self.behind & !self.in_flight & !self.held
    }
}

/// A location of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// IB-dep: older instructions of the warp, by location, that must issue first.
    behind: u64,
    /// The column of its location: younger instructions that wait for it.
    ahead_of: u64,
    id: InstId,
    /// InstLoadCounter of GhOST-Precise.
    loads: u8,
}

/// Locations of a warp whose instructions name a register.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    writers: u64,
    readers: u64,
}

/// The issue buffers of all warps.
#[derive(Debug)]
pub(super) struct IssueBuffer<M: WarpMask, B> {
    entries: Box<[Entry]>,
    /// Locations of each warp by age, oldest first: what index bits and location FIFO say.
    by_age: PerWarp<[Location; MOST], M>,
    /// Locations per warp.
    size: usize,
    /// Of each warp's registers, `stride` for each warp.
    uses: Vec<Uses>,
    stride: usize,
    warps: PerWarp<Locations, M>,
    /// Warps with no location taken.
    pub empty: M,
    /// Warps with all taken.
    pub full: M,
    /// The registers with a write in flight, or with reads that a write would overtake.
    board: B,
    /// Loads may pass each other.
    loads_pass: bool,
}

/// Takes what is at `place` out of a row of which `size` places are used; those behind it move up.
#[inline]
fn remove(row: &mut [Location; MOST], size: usize, place: usize) {
    // A buffer of eight, as in the paper, is a word of the host.
    if size <= 8 {
        let row = row.first_chunk_mut::<8>().expect("it is longer");
        let (word, behind) = (u64::from_le_bytes(*row), u64::MAX << (8 * (place % 8)));
        *row = (word & !behind | word >> 8 & behind).to_le_bytes();
    } else {
        row.copy_within(place + 1..size, place);
    }
}

impl<M: WarpMask, B: ReorderedBoard> IssueBuffer<M, B> {
    pub fn new(warps: usize, size: usize, loads_pass: bool, board: B) -> Self {
        Self {
            entries: vec![Entry::default(); warps * size].into(),
            by_age: PerWarp::new([0; MOST]),
            size,
            uses: Vec::new(),
            stride: 0,
            warps: PerWarp::new(Locations::default()),
            empty: M::ALL,
            full: M::NONE,
            board,
            loads_pass,
        }
    }

    /// The hardware of what knows the registers in flight.
    pub fn board_structures(&self) -> Vec<Structure> {
        self.board.structures()
    }

    pub fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        debug_assert_eq!(self.warps[warp.index()].len, 0);
        self.board.start_warp(warp, regs);
        if regs.count() > self.stride {
            self.widen(regs.count().next_multiple_of(64));
        }
    }

    /// A kernel with more registers than any before it has come.
    fn widen(&mut self, stride: usize) {
        let warps = self.entries.len() / self.size;
        self.uses = widened(&self.uses, self.stride, warps, stride, Uses::default());
        self.stride = stride;
    }

    /// Who names the registers of a warp.
    #[inline]
    fn uses_of(&mut self, warp: WarpSlot) -> &mut [Uses] {
        &mut self.uses[warp.index() * self.stride..][..self.stride]
    }

    fn entries_of(&mut self, warp: WarpSlot) -> &mut [Entry] {
        let first = warp.index() * self.size;
        &mut self.entries[first..first + self.size]
    }

    #[inline]
    pub fn id(&self, warp: WarpSlot, location: Location) -> InstId {
        self.entries[warp.index() * self.size + usize::from(location)].id
    }

    /// The oldest instruction of `warp`, here or in a checker.
    pub fn oldest_id(&self, warp: WarpSlot) -> Option<InstId> {
        let any = self.warps[warp.index()].len > 0;
        any.then(|| self.id(warp, self.by_age[warp.index()][0]))
    }

    /// The dependence check of `flight`, the youngest of its warp, which claims a location; there is one.
    /// It is here once it is [entered](Self::enter). `loads`: see [`Entry`].
    #[inline(always)]
    pub fn claim(&mut self, flight: Flight<'_>, loads: u8, held: bool) -> Location {
        let (id, warp, w) = (flight.id, flight.warp, flight.warp.index());
        let location = (!self.warps[w].taken).trailing_zeros() as Location;
        let mine = 1 << location;
        let mut behind = 0;
        let uses = self.uses_of(warp);
        for reg in flight.srcs() {
            behind |= uses[reg.index()].writers;
            uses[reg.index()].readers |= mine;
        }
        for reg in flight.dsts() {
            let Uses { writers, readers } = uses[reg.index()];
            behind |= writers | readers;
            uses[reg.index()].writers |= mine;
        }
        let is_load = self.loads_pass && is_plain_load(&flight);
        let of = &mut self.warps[w];
        if flight.mem.is_some() {
            behind |= if is_load { of.memory & !of.loads } else { of.memory };
            of.memory |= mine;
            of.loads |= if is_load { mine } else { 0 };
        }
        behind |= of.branches;
        of.branches |= if flight.control == Control::Branch { mine } else { 0 };
        behind &= !mine;
        of.taken |= mine;
        of.behind |= if behind != 0 { mine } else { 0 };
        of.held |= if held { mine } else { 0 };
        let place = usize::from(of.len) % MOST;
        of.len += 1;
        self.empty.remove(warp);
        if usize::from(of.len) == self.size {
            self.full.insert(warp);
        }
        self.by_age[w][place] = location;
        let entries = self.entries_of(warp);
        entries[usize::from(location)] = Entry { behind, ahead_of: 0, id, loads };
        set_bits(behind).for_each(|older| entries[older].ahead_of |= mine);
        location
    }

    /// The instruction that has claimed `location` comes from its checker.
    #[inline(always)]
    pub fn enter(&mut self, window: Window<'_>, warp: WarpSlot, location: Location) {
        let waits = self.board.hazard(window.flight(self.id(warp, location))).is_some();
        let of = &mut self.warps[warp.index()];
        of.valid |= 1 << location;
        of.in_flight |= u64::from(waits) << location;
    }

    /// `flight`, the instruction at `location`, issues: the location is free, no other waits for its issue any
    /// more, but may wait for its write. Returns whether it passes an older one.
    #[inline(always)]
    pub fn issue(&mut self, flight: Flight<'_>, location: Location) -> bool {
        let (warp, w) = (flight.warp, flight.warp.index());
        self.board.on_issue(flight);
        // In place: a copy of what is known of a warp would be ten words each way.
        let of = &mut self.warps[w];
        let ages = &mut self.by_age[w];
        let place = ages.iter().position(|&l| l == location).expect("it is in the buffer");
        remove(ages, self.size, place);
        let gone: u64 = 1 << location;
        of.len -= 1;
        of.taken &= !gone;
        of.valid &= !gone;
        of.fresh &= !gone;
        of.memory &= !gone;
        of.loads &= !gone;
        of.branches &= !gone;
        let uses = &mut self.uses[w * self.stride..][..self.stride];
        let awaits_reads = B::awaits_reads(flight);
        let mut waiting = 0;
        for reg in flight.srcs() {
            let of_reg = &mut uses[reg.index()];
            of_reg.readers &= !gone;
            waiting |= if awaits_reads { of_reg.writers } else { 0 };
        }
        for reg in flight.dsts() {
            let of_reg = &mut uses[reg.index()];
            of_reg.writers &= !gone;
            waiting |= of_reg.writers | of_reg.readers;
        }
        // Those that name what is now being written, or write what is yet to be read, are younger, or this would not
        // have issued. Those in checkers look for themselves when they come.
        of.in_flight |= waiting & of.valid;
        of.fresh &= !waiting;
        let entries = &mut self.entries[w * self.size..][..self.size];
        let mut free = 0;
        for l in set_bits(entries[usize::from(location)].ahead_of) {
            entries[l].behind &= !gone;
            free |= u64::from(entries[l].behind == 0) << l;
        }
        of.behind &= !free;
        let is_empty = of.taken == 0;
        self.full.remove(warp);
        if is_empty {
            self.empty.insert(warp);
        }
        place > 0
    }

    /// `flight` has written its registers. Returns whether an instruction waited for that, and whether the oldest did.
    #[inline(always)]
    pub fn write_back(&mut self, flight: Flight<'_>) -> (bool, bool) {
        self.board.on_writeback(flight);
        self.free(flight.window, flight.warp.index(), flight.dsts())
    }

    /// `flight` has read its registers; the same.
    #[inline]
    pub fn operands_read(&mut self, flight: Flight<'_>) -> (bool, bool) {
        if !self.board.on_operands_read(flight.window, flight.id) {
            return (false, false);
        }
        self.free(flight.window, flight.warp.index(), flight.srcs())
    }

    /// Instructions of warp number `w` that name any of `regs` may wait no longer: whether any did, and the oldest.
    #[inline(always)]
    fn free(&mut self, window: Window<'_>, w: usize, regs: &[RegId]) -> (bool, bool) {
        let of = &mut self.warps[w];
        if of.in_flight == 0 {
            return (false, false);
        }
        let uses = &self.uses[w * self.stride..][..self.stride];
        let named = regs.iter().map(|reg| uses[reg.index()]);
        let waiting = named.fold(0, |all, u| all | u.writers | u.readers) & of.in_flight;
        let entries = &self.entries[w * self.size..][..self.size];
        for l in set_bits(waiting) {
            if self.board.hazard(window.flight(entries[l].id)).is_none() {
                of.in_flight &= !(1 << l);
                of.fresh |= 1 << l;
            }
        }
        (waiting != 0, waiting >> self.by_age[w][0] & 1 != 0)
    }

    /// Whether an instruction of `warp` may issue.
    #[inline]
    pub fn any_ready(&self, warp: WarpSlot) -> bool {
        self.warps[warp.index()].ready() != 0
    }

    /// A cycle ends for `warp`: what was written in it is old.
    #[inline]
    pub fn end_cycle(&mut self, warp: WarpSlot) {
        self.warps[warp.index()].fresh = 0;
    }

    /// The selection of the GhOST scheduler: the two oldest that were ready at the end of the last
    /// cycle.
    #[inline]
    pub fn two_oldest(&self, warp: WarpSlot) -> [Location; 2] {
        let of = &self.warps[warp.index()];
        let ready = of.ready() & !of.fresh;
        if ready == 0 {
            return [NONE; 2];
        }
        let ages = &self.by_age[warp.index()][..usize::from(of.len) % (MOST + 1)];
        let mut oldest = ages.iter().copied().filter(|&l| ready >> l & 1 != 0);
        std::array::from_fn(|_| oldest.next().unwrap_or(NONE))
    }

    /// Whether the instruction at `location` is the oldest of `warp`.
    #[inline]
    pub fn is_oldest(&self, warp: WarpSlot, location: Location) -> bool {
        self.by_age[warp.index()][0] == location
    }

    /// The oldest instruction of `warp`, if it may issue, else [`NONE`].
    #[inline]
    pub fn oldest_ready(&self, warp: WarpSlot) -> Location {
        let location = self.by_age[warp.index()][0];
        // A free location is not ready.
        if self.warps[warp.index()].ready() >> location & 1 != 0 { location } else { NONE }
    }

    /// Why the oldest instruction of `warp`, which may not issue, may not; nothing if there is none.
    #[inline]
    pub fn oldest_stall(&self, window: Window<'_>, warp: WarpSlot) -> Option<Stall> {
        let of = &self.warps[warp.index()];
        let location = self.by_age[warp.index()][0];
        if of.len == 0 {
            return None;
        }
        if (!of.valid | of.held) >> location & 1 != 0 {
            return Some(Stall::Design);
        }
        self.board.hazard(window.flight(self.id(warp, location)))
    }

    /// The oldest load of `warp` that had not had its TLB check has had it (GhOST-Precise).
    pub fn translated(&mut self, warp: WarpSlot) {
        let mut held = self.warps[warp.index()].held;
        let taken = self.warps[warp.index()].taken;
        for l in set_bits(taken) {
            let entry = &mut self.entries_of(warp)[l];
            entry.loads = entry.loads.saturating_sub(1);
            held &= !(u64::from(entry.loads == 0) << l);
        }
        self.warps[warp.index()].held = held;
    }
}

/// A load that may pass other loads. Accesses of wider scope than the CTA and volatile ones keep
/// their places.
fn is_plain_load(inst: &InFlight) -> bool {
    inst.mem.is_some_and(|m| m.access == Access::Load && !matches!(m.cache, CacheOp::L2 | CacheOp::Volatile))
}
