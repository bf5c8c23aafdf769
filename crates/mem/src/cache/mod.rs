//! One cache for all uses: L1 data, L2 slice, instructions, constants, textures.
//!
//! Sectored or not, set-associative, with MSHRs that merge requests, a miss queue, and the write
//! and allocation policies of [`config::Cache`]. The cache knows no latency and no clock: its user
//! calls [`Cache::access`] when the request has reached the tags, sends what [`Cache::pop_miss`]
//! gives to the next level, reports data with [`Cache::fill`] and replies to the waiters that
//! [`Cache::pop_ready`] gives. The caller also decides how many of these happen per cycle; the
//! ports' occupancy is kept here.
//!
//! The knobs are one file each: [`index`](self) functions, `replacement`, `policy` and `writes`.

mod index;
mod lookup;
mod mshr;
mod policy;
mod replacement;
mod tags;
mod writes;

use crate::dram::AddressMap;
use crate::{Level, Request, RequestKind};
use config::Allocate;
use kit::{Cycle, Ring};
use mshr::{MshrFull, Mshrs};
use std::ops::Range;
use tags::{Atoms, Evicted, NO_LINE, Probe, Tags, Written, sectors_of};

pub use mshr::Waiter;

/// Why a request was not taken; it must be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailReason {
    /// Every line of the set is pinned.
    NoLine,
    /// The miss queue is full.
    MissQueueFull,
    /// No MSHR is free.
    NoMshr,
    /// The block's MSHR cannot merge more requests.
    MshrMergesFull,
    /// The request would change the block's data before all waiting requests have got them.
    WriteBehindRead,
}

/// A request that was not taken, and the state of the cache then: see [`Cache::fails_again`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Refusal {
    pub reason: FailReason,
    changes: u32,
}

impl Refusal {
    /// Whether it needs a free MSHR, whatever else changes.
    #[inline]
    pub fn waits_for_mshr(&self) -> bool {
        self.reason == FailReason::NoMshr
    }
}

/// Outcome of a request at the tags and MSHRs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOutcome {
    /// The data are there.
    Hit,
    /// The data are under way; the request waits with others.
    Merged,
    /// The data are not there.
    Miss,
    /// The request was not taken.
    Fail(FailReason),
}

/// Where the reply to a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The cache itself, now.
    Now,
    /// [`Cache::pop_ready`], some time after the fill.
    WhenReady,
    /// The next level: a write that was passed on with its own token.
    NextLevel,
    /// No reply: the request was not taken.
    None,
}

/// Outcome of [`Cache::access`] for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheAccess {
    /// For statistics and stall reasons.
    pub outcome: CacheOutcome,
    /// Where its reply comes from.
    pub answer: Answer,
}

impl CacheAccess {
    const fn fail(reason: FailReason) -> Self {
        Self { outcome: CacheOutcome::Fail(reason), answer: Answer::None }
    }

    /// Whether the request was taken.
    pub const fn is_taken(&self) -> bool {
        !matches!(self.outcome, CacheOutcome::Fail(_))
    }
}

kit::counters! {
    /// Counts of a cache. Requests are counted when they are taken, failures at every try.
    pub struct CacheCounters {
        /// Reads (and atomics) that found their data.
        pub read_hits: "requests",
        /// Reads (and atomics) that waited for data already under way.
        pub read_merges: "requests",
        /// Reads (and atomics) that found no line.
        pub read_misses: "requests",
        /// Reads (and atomics) that found the line without the sector.
        pub read_sector_misses: "requests",
        /// Writes that found their sector.
        pub write_hits: "requests",
        /// Writes that found their sector under way.
        pub write_merges: "requests",
        /// Writes that found neither line nor sector.
        pub write_misses: "requests",
        /// Writes passed on to the next level.
        pub writes_passed_on: "requests",
        /// Reads sent to the next level.
        pub fetches: "requests",
        /// Fetches made because of a write.
        pub write_fetches: "requests",
        /// Dirty sectors sent to the next level.
        pub written_back_sectors: "sectors",
        /// Lines or sectors filled.
        pub fills: "fills",
        /// Tries that failed: all lines of the set under way.
        pub fails_no_line: "tries",
        /// Tries that failed: miss queue full.
        pub fails_miss_queue: "tries",
        /// Tries that failed: no free MSHR.
        pub fails_no_mshr: "tries",
        /// Tries that failed: MSHR cannot merge more.
        pub fails_mshr_merges: "tries",
        /// Tries that failed: a read waits behind a write.
        pub fails_write_behind_read: "tries",
        /// Cycles in which the data port was occupied.
        pub data_port_busy: "cycles",
    }
}

impl CacheCounters {
    /// Requests that it has taken.
    pub const fn accesses(&self) -> u64 {
        self.reads_served() + self.reads_missed() + self.writes_served() + self.write_misses
    }

    /// Reads that cause no fetch: their data were there or under way.
    pub const fn reads_served(&self) -> u64 {
        self.read_hits + self.read_merges
    }

    /// Reads that missed a line or a sector.
    pub const fn reads_missed(&self) -> u64 {
        self.read_misses + self.read_sector_misses
    }

    /// Writes whose sector was there or under way.
    pub const fn writes_served(&self) -> u64 {
        self.write_hits + self.write_merges
    }
}

impl CacheCounters {
    /// Adds `times` failed tries.
    pub fn count_fails(&mut self, reason: FailReason, times: u64) {
        *match reason {
            FailReason::NoLine => &mut self.fails_no_line,
            FailReason::MissQueueFull => &mut self.fails_miss_queue,
            FailReason::NoMshr => &mut self.fails_no_mshr,
            FailReason::MshrMergesFull => &mut self.fails_mshr_merges,
            FailReason::WriteBehindRead => &mut self.fails_write_behind_read,
        } += times;
    }
}

/// A cache. See the [module](self).
#[derive(Clone, Debug)]
pub struct Cache {
    tags: Tags,
    mshrs: Mshrs,
    misses: Ring<Request>,
    policy: policy::Policy,
    allocate_on_miss: bool,
    all_atoms: Atoms,
    /// Shift from a byte address to what MSHRs are kept for: sectors or lines.
    atom_shift: u32,
    /// The bits of an atom's number that give its place in the line.
    atom_mask: u32,
    line_bytes: u32,
    miss_queue: usize,
    port_bytes: u32,
    /// Cycles for which a fill occupies its port.
    fill_cycles: Cycle,
    data_port_free_at: Cycle,
    fill_port_free_at: Cycle,
    /// Changes whenever a request that failed may succeed.
    changes: u32,
    /// Where the search for the next dirty line to write back begins.
    next_clean: u32,
    counters: CacheCounters,
}

impl Cache {
    /// A cache of the given shape and policies.
    pub fn new(config: &config::Cache) -> Self {
        Self::with_dirty_limit(config, 0)
    }

    /// Creates the cache of an L1 whose dirty lines are replaced only when at least `percent` of all lines
    /// are dirty ([`config::L1Data::write_ratio_percent`]).
    pub fn with_dirty_limit(config: &config::Cache, percent: u32) -> Self {
        let tags = Tags::new(config, percent);
        let line_shift = tags.line_shift();
        let atom_shift = if config.sectored { 5 } else { line_shift };
        let port_bytes = if config.port_bytes == 0 { 1 << line_shift } else { config.port_bytes };
        Self {
            mshrs: Mshrs::new(config.mshr_entries, config.mshr_merges),
            misses: Ring::new(),
            policy: policy::Policy::new(config),
            allocate_on_miss: config.allocate == Allocate::OnMiss,
            all_atoms: sectors_of(config),
            atom_shift,
            atom_mask: (1 << (line_shift - atom_shift)) - 1,
            line_bytes: 1 << line_shift,
            // The worst access needs three places at once: write, fetch, write-back.
            miss_queue: config.miss_queue.max(3) as usize,
            port_bytes,
            fill_cycles: (1u32 << atom_shift).div_ceil(port_bytes).into(),
            data_port_free_at: 0,
            fill_port_free_at: 0,
            changes: 0,
            next_clean: 0,
            counters: CacheCounters::default(),
            tags,
        }
    }

    /// A slice of an L2 that addresses are spread over by `map`: what chose the slice does not choose the set.
    pub(crate) fn of_slice(config: &config::Cache, map: &AddressMap) -> Self {
        let cache = Self::new(config);
        Self { tags: cache.tags.within_slice(map), ..cache }
    }

    /// Looks `request` up and takes it if it can.
    ///
    /// A request stays within one sector if the cache is sectored, else within one line; what it
    /// fetches is the whole sector or line.
    pub fn access(&mut self, now: Cycle, request: &Request) -> CacheAccess {
        self.look_up(now, request)
    }

    /// The same, to be compiled into its caller.
    #[inline(always)]
    pub(crate) fn look_up(&mut self, now: Cycle, request: &Request) -> CacheAccess {
        debug_assert!(
            (request.address + u64::from(request.bytes.max(1)) - 1) >> self.atom_shift
                == request.address >> self.atom_shift,
            "more than a sector or line: {request:?}"
        );
        let block = request.address >> self.tags.line_shift();
        let atoms = self.place_of(request.address >> self.atom_shift);
        let write = request.kind.is_write();
        let probe = self.tags.probe(block, request.address, atoms, write);
        if let Probe::Hit(line) = probe
            && !write
            && request.kind != RequestKind::Atomic
        {
            self.tags.touch(line);
            self.counters.read_hits += 1;
            self.use_data_port(now, request.bytes);
            return CacheAccess { outcome: CacheOutcome::Hit, answer: Answer::Now };
        }
        if write {
            let at = Place { block, atoms, probe };
            let access = self.write(now, request, &at);
            self.count(true, probe, access.outcome);
            if access.outcome == CacheOutcome::Hit {
                self.use_data_port(now, request.bytes);
            }
            return access;
        }
        if let Some(reason) = self.refuses_read(probe) {
            self.counters.count_fails(reason, 1);
            return CacheAccess::fail(reason);
        }
        let at = Place { block, atoms, probe };
        let access = self.read(now, request, &at);
        self.count(false, probe, access.outcome);
        access
    }

    /// Why a read for which the tags say `probe` cannot be taken, if lines or the miss queue are the
    /// reason.
    #[inline]
    fn refuses_read(&self, probe: Probe) -> Option<FailReason> {
        // A write-back may go with the fetch; caches without writes need one place only.
        let places = if self.policy.holds_writes() { 2 } else { 1 };
        match probe {
            Probe::Hit(_) => None,
            Probe::Full => Some(FailReason::NoLine),
            _ => (!self.misses_have_room(places)).then_some(FailReason::MissQueueFull),
        }
    }

    /// The place in its line of atom number `atom`.
    #[inline]
    fn place_of(&self, atom: u64) -> Atoms {
        1 << (atom as u32 & self.atom_mask)
    }

    /// Atoms that `bytes` at `address` touch.
    fn atoms(&self, address: u64, bytes: u32) -> Atoms {
        if self.all_atoms == 1 {
            return 1;
        }
        // A line's size is a power of two.
        let first = (address & u64::from(self.line_bytes - 1)) as u32 / 32;
        if bytes <= 32 {
            return 1 << first;
        }
        let count = bytes.div_ceil(32).clamp(1, 4);
        (((1u32 << count) - 1) << first) as Atoms & self.all_atoms
    }

    /// A read that misses, or an atomic.
    #[inline(always)]
    fn read(&mut self, now: Cycle, request: &Request, at: &Place) -> CacheAccess {
        if let Probe::Hit(line) = at.probe {
            // Of what hits, only atomics come here.
            self.tags.touch(line);
            self.tags.write(line, at.atoms, self.written(request, at));
            self.use_data_port(now, request.bytes);
            return CacheAccess { outcome: CacheOutcome::Hit, answer: Answer::Now };
        }
        match self.fetch(now, request, at, false) {
            Ok(_) => CacheAccess { outcome: at.outcome(), answer: Answer::WhenReady },
            Err(reason) => CacheAccess::fail(reason),
        }
    }

    /// The MSHR of `atom`, for which the tags say `probe`.
    #[inline(always)]
    fn find_mshr(&self, atom: u64, probe: Probe) -> Option<u32> {
        // A cache that allocates at the miss reserves misses in the tags; without a reservation, the MSHR has its data.
        if self.allocate_on_miss && !self.mshrs.is_ready() && !matches!(probe, Probe::Reserved(_)) {
            debug_assert!(self.mshrs.find(atom).is_none(), "under way without a reservation");
            return None;
        }
        self.mshrs.find(atom)
    }

    /// Waits for the data of a miss, and requests them from the next level unless an MSHR has. Gives
    /// the line reserved for them in a cache that allocates at the miss.
    #[inline(always)]
    fn fetch(&mut self, now: Cycle, request: &Request, at: &Place, silent: bool) -> Result<u32, FailReason> {
        let atom = request.address >> self.atom_shift;
        let found = self.find_mshr(atom, at.probe);
        self.mshrs.check(found).map_err(|full| match full {
            MshrFull::Entries => FailReason::NoMshr,
            MshrFull::Merges => FailReason::MshrMergesFull,
        })?;
        let waiter = Waiter { token: request.token, kind: request.kind, silent, from: request.from };
        let Some(id) = found else {
            let line = if self.allocate_on_miss { self.reserve(now, at) } else { NO_LINE };
            let id = self.mshrs.allocate(atom, line, waiter);
            let bytes = 1 << self.atom_shift;
            let kind = if request.kind.is_write() { RequestKind::Read } else { request.kind };
            let address = atom << self.atom_shift;
            self.misses.push_back(Request { address, bytes, kind, byte_mask: u32::MAX, token: id, ..*request });
            self.counters.fetches += 1;
            return Ok(line);
        };
        if !self.mshrs.has_arrived(id) {
            let line = if self.allocate_on_miss { self.reserve(now, at) } else { NO_LINE };
            self.mshrs.wait(id, waiter);
            return Ok(line);
        }
        // The line was replaced before all its waiters had their replies. A read can join them;
        // a line reserved now would wait for data indefinitely.
        if silent || request.kind.is_write() || request.kind == RequestKind::Atomic {
            return Err(FailReason::WriteBehindRead);
        }
        self.mshrs.wait(id, waiter);
        Ok(NO_LINE)
    }

    /// Reserves line and sectors at a miss, in a cache that allocates then; writes back what must go.
    #[inline(always)]
    fn reserve(&mut self, now: Cycle, at: &Place) -> u32 {
        match at.probe {
            Probe::Hit(line) | Probe::Reserved(line) => {
                self.tags.touch(line);
                line
            }
            Probe::SectorMiss(line) => {
                self.tags.reserve(line, at.atoms);
                line
            }
            Probe::Miss { line, set } => {
                if let Some(evicted) = self.tags.replace(line, set, at.block, at.atoms) {
                    self.write_back(now, &evicted);
                }
                line
            }
            Probe::Full => unreachable!("refused before"),
        }
    }

    /// Sends dirty sectors to the next level: one request per run of neighbours.
    fn write_back(&mut self, now: Cycle, evicted: &Evicted) {
        if !self.policy.writes_back() {
            return;
        }
        let line = evicted.block << self.tags.line_shift();
        let mut send = |first: u32, count: u32, byte_mask: u32| {
            let address = line + u64::from(32 * first);
            let request = Request::new(RequestKind::WriteBack, address, 32 * count, u32::MAX);
            self.misses.push_back(Request { byte_mask, ..request });
            self.counters.written_back_sectors += u64::from(count);
        };
        if self.all_atoms == 1 {
            send(0, self.line_bytes / 32, u32::MAX);
            self.use_data_port(now, self.line_bytes);
            return;
        }
        let mut left = u32::from(evicted.modified);
        while left != 0 {
            let first = left.trailing_zeros();
            let count = (left >> first).trailing_ones();
            let run = first as usize..(first + count) as usize;
            send(first, count, evicted.bytes[run].iter().fold(u32::MAX, |m, b| m & b));
            left &= !(((1 << count) - 1) << first);
        }
        self.use_data_port(now, 32 * evicted.modified.count_ones());
    }

    /// The part of its line that a write covers.
    #[inline]
    fn written(&self, request: &Request, at: &Place) -> Written {
        if self.all_atoms != 1 {
            return Written { sectors: u32::from(at.atoms) & 0b1111, bytes: request.byte_mask };
        }
        let first = (request.address & u64::from(self.line_bytes - 1)) as u32 / 32;
        let count = request.bytes.div_ceil(32).clamp(1, 4);
        Written { sectors: ((1 << count) - 1) << first & 0b1111, bytes: request.byte_mask }
    }

    #[inline]
    fn misses_have_room(&self, places: usize) -> bool {
        self.misses.len() + places <= self.miss_queue
    }

    fn use_data_port(&mut self, now: Cycle, bytes: u32) {
        let cycles = u64::from(bytes.div_ceil(self.port_bytes));
        self.data_port_free_at = self.data_port_free_at.max(now) + cycles;
        self.counters.data_port_busy += cycles;
    }

    #[inline(always)]
    fn count(&mut self, write: bool, probe: Probe, outcome: CacheOutcome) {
        let c = &mut self.counters;
        match (outcome, write) {
            (CacheOutcome::Fail(reason), _) => c.count_fails(reason, 1),
            (CacheOutcome::Hit, false) => c.read_hits += 1,
            (CacheOutcome::Hit, true) => c.write_hits += 1,
            (CacheOutcome::Merged, false) => c.read_merges += 1,
            (CacheOutcome::Merged, true) => c.write_merges += 1,
            (CacheOutcome::Miss, true) => c.write_misses += 1,
            (CacheOutcome::Miss, false) if matches!(probe, Probe::SectorMiss(_)) => c.read_sector_misses += 1,
            (CacheOutcome::Miss, false) => c.read_misses += 1,
        }
    }

    /// The next request for the next level, left in the queue. A read carries the number of its
    /// MSHR (below [`config::Cache::mshr_entries`]) as its token, a write its requester's.
    #[inline]
    pub fn peek_miss(&self) -> Option<&Request> {
        self.misses.front()
    }

    /// Whether there is one.
    #[inline]
    pub(crate) fn has_miss(&self) -> bool {
        !self.misses.is_empty()
    }

    /// Takes the next request for the next level.
    #[inline]
    pub fn pop_miss(&mut self) -> Option<Request> {
        let miss = self.misses.pop_front();
        self.changes += u32::from(miss.is_some());
        miss
    }

    /// The data of the read with MSHR `token` have come. Data that no request waits for are ignored.
    pub fn fill(&mut self, now: Cycle, token: u32) {
        self.fill_from(now, token, Level::L2);
    }

    /// The same of data that came from the level `from`, which those that wait for the data learn ([`Waiter::from`]).
    pub fn fill_from(&mut self, now: Cycle, token: u32, from: Level) {
        let Some((atom, line, has_atomic)) = self.mshrs.arrived(token, from) else { return };
        let atoms = self.place_of(atom);
        if self.allocate_on_miss {
            self.tags.fill(line, atoms);
            if has_atomic {
                self.tags.write(line, atoms, Written::LINE);
            }
        } else {
            let atom_address = atom << self.atom_shift;
            let block = atom_address >> self.tags.line_shift();
            let evicted = self.tags.fill_block(block, atom_address, atoms);
            if let Some(evicted) = evicted {
                self.write_back(now, &evicted);
            }
        }
        self.fill_port_free_at = self.fill_port_free_at.max(now) + self.fill_cycles;
        self.counters.fills += 1;
        self.changes += 1;
    }

    /// Puts the sectors (or the line) of `bytes` from `address` on, which are of one line, in as if
    /// they had been fetched: what a copy to the device leaves in L2.
    pub fn preload(&mut self, address: u64, bytes: u32) {
        let atoms = self.atoms(address, bytes);
        let block = address >> self.tags.line_shift();
        self.tags.preload(block, address, atoms);
    }

    /// Whether a waiter can be replied to.
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.mshrs.is_ready()
    }

    /// The next waiter whose data have come, in order of arrival.
    #[inline]
    pub fn pop_ready(&mut self) -> Option<Waiter> {
        if !self.mshrs.is_ready() {
            return None;
        }
        self.changes += 1;
        self.mshrs.pop_ready()
    }

    /// Whether the data port can serve an access at `now`.
    #[inline]
    pub fn data_port_free(&self, now: Cycle) -> bool {
        self.data_port_free_at <= now
    }

    /// First cycle at which the data port is free.
    #[inline]
    pub fn data_port_free_at(&self) -> Cycle {
        self.data_port_free_at
    }

    /// Whether the fill port can take data at `now`.
    #[inline]
    pub fn fill_port_free(&self, now: Cycle) -> bool {
        self.fill_port_free_at <= now
    }

    /// First cycle at which the fill port is free.
    #[inline]
    pub fn fill_port_free_at(&self) -> Cycle {
        self.fill_port_free_at
    }

    /// Whether the sector (or line) of `address` is there. Nothing is counted, and the order of replacement stays.
    pub fn holds(&self, address: u64) -> bool {
        let (block, atoms) = (address >> self.tags.line_shift(), self.place_of(address >> self.atom_shift));
        matches!(self.tags.probe(block, address, atoms, false), Probe::Hit(_))
    }

    /// Whether a read of the sector (or line) of `address` would need nothing from the next level: the data are there or
    /// requested. Nothing is counted.
    pub fn is_served(&self, address: u64) -> bool {
        let is_requested = || self.mshrs.find(address >> self.atom_shift).is_some() && self.misses_have_room(2);
        self.holds(address) || is_requested()
    }

    /// Record of a request that has just failed.
    #[inline]
    pub fn failure(&self, reason: FailReason) -> Refusal {
        Refusal { reason, changes: self.changes }
    }

    /// Whether a request that failed would fail again: until then no try can succeed (count
    /// such cycles with [`Cache::count_fails`]). Requests for one sector must come one after the other:
    /// another one would have an MSHR that this one could join.
    #[inline]
    pub fn fails_again(&self, failure: Refusal) -> bool {
        failure.changes == self.changes || failure.waits_for_mshr() && self.mshrs.is_full()
    }

    /// Counts cycles in which a request waited without being tried.
    pub fn count_fails(&mut self, reason: FailReason, times: u64) {
        self.counters.count_fails(reason, times);
    }

    /// Whether nothing is under way: no MSHR in use, no request waiting to leave.
    pub fn is_idle(&self) -> bool {
        self.mshrs.in_use() == 0 && self.misses.is_empty()
    }

    /// Sends the dirty sectors of one line to the next level, if there is a dirty line that is not under way and room
    /// in the miss queue; what is known of the line stays. Returns whether it did.
    pub fn write_back_one(&mut self, now: Cycle) -> bool {
        // A line's dirty sectors are two runs at most.
        if !self.policy.writes_back() || !self.misses_have_room(2) {
            return false;
        }
        let Some(dirty) = self.tags.clean_next(&mut self.next_clean) else { return false };
        self.write_back(now, &dirty);
        true
    }

    /// Drops dirty lines. Nothing is sent to the next level: like GPGPU-Sim, which does the same
    /// between kernels, this costs no time.
    pub fn flush(&mut self) {
        self.tags.drop_dirty();
        self.changes += 1;
    }

    /// Drops all lines that are not under way.
    pub fn invalidate(&mut self) {
        self.keep_only(&(0..0));
    }

    /// Drops all lines outside the addresses `kept` that are not under way.
    pub fn keep_only(&mut self, kept: &Range<u64>) {
        self.tags.keep_only(kept);
        self.changes += 1;
    }

    /// Lines with dirty data.
    pub fn dirty_lines(&self) -> u32 {
        self.tags.dirty_lines()
    }

    /// Counts so far.
    pub fn counters(&self) -> &CacheCounters {
        &self.counters
    }
}

/// A request in terms of the tags.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: u64,
    atoms: Atoms,
    probe: Probe,
}

impl Place {
    /// A taken request's outcome.
    const fn outcome(&self) -> CacheOutcome {
        match self.probe {
            Probe::Hit(_) => CacheOutcome::Hit,
            Probe::Reserved(_) => CacheOutcome::Merged,
            Probe::SectorMiss(_) | Probe::Miss { .. } | Probe::Full => CacheOutcome::Miss,
        }
    }
}

kit::persist! {
    enum FailReason { NoLine = 0, MissQueueFull = 1, NoMshr = 2, MshrMergesFull = 3, WriteBehindRead = 4 }
    new struct Refusal { reason, changes }
    struct Cache {
        tags, mshrs, misses, data_port_free_at, fill_port_free_at, changes, next_clean, counters;
        skip policy, allocate_on_miss, all_atoms, atom_shift, atom_mask, line_bytes, miss_queue, port_bytes, fill_cycles
    }
}

#[cfg(test)]
mod tests;
