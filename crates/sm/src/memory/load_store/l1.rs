//! The L1 data cache behind its look-up queues: one queue per bank, each taking one access per cycle, whose look-up is
//! done when the latency has passed.

use config::{InvalidatingFences, L1Data, LookUpOrder};
use kit::persist::{Archive, Mismatch, Persist, each};
use kit::{Counters, Cycle, NEVER, Ring};
use mem::cache::{CacheCounters, FailReason, Refusal};
use mem::carveout::carve_out;
use mem::{Cache, Request};

/// A shift that leaves nothing of an address.
const NO_BITS: u32 = 63;

/// The cache and its queues.
#[derive(Debug)]
pub struct L1 {
    /// Tags, MSHRs and miss queue.
    pub cache: Cache,
    /// The description that it was made from.
    shape: config::Cache,
    /// Its counts in former shapes.
    former: CacheCounters,
    /// Accesses that it had taken when its contents were dropped.
    dropped_at: u64,
    /// As GPGPU-Sim, it keeps what has come since, if it has taken no access.
    keeps_unused: bool,
    pub(super) queues: Box<[LookUps]>,
    /// Banks whose queues are not empty, and those whose queues are full.
    pub(super) waiting: u64,
    pub(super) full: u64,
    /// No front access but those that have failed is due before.
    pub(super) next_due: Cycle,
    pub(super) failures: Failures,
    latency: Cycle,
    /// Shift to the bank's number in an address, shift to the bits that it is hashed with (the line's, or none), and
    /// mask.
    bank_shift: u32,
    hash_shift: u32,
    bank_mask: usize,
    /// Each bank takes the next part of an access that is its own.
    pub(super) by_bank: bool,
    /// Bytes to or from lanes per cycle.
    pub(super) width: u32,
}

#[derive(Debug)]
pub(super) struct LookUps {
    /// When the front access has waited out the latency; [`NEVER`] without one.
    pub due: Cycle,
    pub accesses: Ring<(Cycle, Request)>,
}

/// Banks whose front access has failed: for want of an MSHR, or for another reason.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Failures {
    pub without_mshr: Failed,
    refused: Failed,
}

/// Banks whose front access has failed for reasons of one kind. All fail again as long as the last of them does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Failed {
    pub banks: u64,
    last: Option<Refusal>,
}

impl Failed {
    /// The banks, if their front accesses fail again.
    #[inline(always)]
    pub fn fail_again(&self, cache: &Cache) -> u64 {
        match self.last {
            Some(failure) if self.banks != 0 && cache.fails_again(failure) => self.banks,
            _ => 0,
        }
    }
}

impl Failures {
    #[inline(always)]
    fn banks(&self) -> u64 {
        self.without_mshr.banks | self.refused.banks
    }

    /// The banks whose front access would fail again.
    #[inline(always)]
    pub fn fail_again(&self, cache: &Cache) -> u64 {
        self.without_mshr.fail_again(cache) | self.refused.fail_again(cache)
    }

    /// `cache` cannot take the front access of `bank`.
    pub fn note(&mut self, bank: usize, reason: FailReason, cache: &Cache) {
        self.forget(bank);
        let failure = cache.failure(reason);
        // One that waits for anything but an MSHR may succeed at any change. There is none while banks look up.
        let failed = if failure.waits_for_mshr() { &mut self.without_mshr } else { &mut self.refused };
        *failed = Failed { banks: failed.banks | 1 << bank, last: Some(failure) };
    }

    /// The cache has taken the front access of `bank`, if it had failed.
    #[inline(always)]
    pub fn forget(&mut self, bank: usize) {
        let others = !(1 << bank);
        self.without_mshr.banks &= others;
        self.refused.banks &= others;
    }
}

impl L1 {
    /// Whether an access waits to be looked up at `now`, or has failed.
    #[inline(always)]
    pub fn has_lookups(&self, now: Cycle) -> bool {
        self.next_due <= now || self.failures.banks() != 0
    }

    /// The banks that are to look their front access up, if that is due.
    #[inline(always)]
    pub fn take_due(&mut self, now: Cycle) -> u64 {
        let failed = self.failures.banks();
        let mut banks = if failed == 0 { 0 } else { failed & !self.failures.fail_again(&self.cache) };
        if self.next_due <= now {
            banks |= self.waiting & !failed;
            self.next_due = NEVER;
        }
        banks
    }

    /// When the next access has waited out the latency.
    pub fn next_lookup(&self) -> Cycle {
        self.next_due
    }

    /// The L1 that the description gives; none if it has no lines.
    /// Accesses have spent `spent` cycles of its latency before they come.
    pub fn new(config: &L1Data, spent: u32) -> Option<Self> {
        if config.cache.sets == 0 || config.cache.ways == 0 {
            return None;
        }
        let latency = config.latency_cycles.saturating_sub(spent).max(1);
        let queue = || LookUps { due: NEVER, accesses: Ring::new() };
        // Where kernels choose its size, the first one does.
        let chosen = !config.shared_carveouts_bytes.is_empty();
        let shape =
            if chosen { config::Cache { sets: 1, ways: 1, ..config.cache.clone() } } else { config.cache.clone() };
        Some(Self {
            cache: Cache::with_dirty_limit(&shape, config.write_ratio_percent),
            shape,
            former: CacheCounters::default(),
            dropped_at: 0,
            keeps_unused: config.fences_invalidate == InvalidatingFences::All,
            queues: (0..config.banks).map(|_| queue()).collect(),
            waiting: 0,
            full: 0,
            next_due: NEVER,
            failures: Failures::default(),
            latency: Cycle::from(latency),
            // Both are powers of two.
            bank_shift: config.bank_interleave_bytes.trailing_zeros(),
            bank_mask: config.banks as usize - 1,
            hash_shift: if config.bank_hash == Some(true) { config.cache.line_bytes.trailing_zeros() } else { NO_BITS },
            by_bank: config.look_up_order == Some(LookUpOrder::Bank),
            width: config.bytes_per_cycle.unwrap_or(u32::MAX),
        })
    }

    #[inline]
    pub fn bank(&self, address: u64) -> usize {
        (address >> self.bank_shift ^ address >> self.hash_shift) as usize & self.bank_mask
    }

    /// Puts an access into the queue of its bank, which has room.
    #[inline]
    pub fn push(&mut self, now: Cycle, bank: usize, request: Request) {
        let queue = &mut self.queues[bank];
        if queue.accesses.is_empty() {
            queue.due = now + self.latency;
            self.next_due = self.next_due.min(queue.due);
        }
        queue.accesses.push_back((now + self.latency, request));
        self.waiting |= 1 << bank;
        self.full |= u64::from(queue.accesses.len() as Cycle == self.latency) << bank;
    }

    /// Drops its contents but for what is under way.
    pub fn invalidate(&mut self) {
        let accesses = self.cache.counters().accesses();
        if self.dropped_at != accesses || !self.keeps_unused {
            self.cache.invalidate();
        }
        self.dropped_at = accesses;
    }

    /// Gives the idle cache another size, if `shape` differs. Its contents are lost.
    pub fn reshape(&mut self, config: &L1Data, shape: &config::Cache) {
        if self.shape != *shape {
            self.former.add(self.cache.counters());
            self.cache = Cache::with_dirty_limit(shape, config.write_ratio_percent);
            self.shape = shape.clone();
            self.dropped_at = 0;
            self.failures = Failures::default();
        }
    }

    /// The L1 between kernels, in the shape that the last kernel chose.
    ///
    /// # Errors
    /// As [`Persist::persist`].
    pub fn persist(&mut self, config: &L1Data, archive: &mut Archive) -> Result<(), Mismatch> {
        // The shapes are the description's: which one it is.
        let bytes = config.shared_carveouts_bytes.iter().copied().chain([0, u32::MAX]);
        let shapes: Vec<_> = bytes.map(|bytes| carve_out(config, bytes).l1).collect();
        let mut shape = shapes.iter().position(|shape| *shape == self.shape);
        shape.persist(archive)?;
        if archive.is_reading()
            && let Some(shape) = shape
        {
            let shape = shapes.get(shape).ok_or_else(|| archive.wrong("no shape of L1"))?;
            self.reshape(config, shape);
        }
        let Self { cache, shape: _, former, dropped_at, queues, waiting, full, next_due, failures, .. } = self;
        cache.persist(archive)?;
        former.persist(archive)?;
        dropped_at.persist(archive)?;
        each(queues, archive)?;
        waiting.persist(archive)?;
        full.persist(archive)?;
        next_due.persist(archive)?;
        failures.persist(archive)
    }

    /// Counts of the cache, in all its shapes.
    pub fn counters(&self) -> CacheCounters {
        let mut all = self.former.clone();
        all.add(self.cache.counters());
        all
    }

    /// Whether nothing is in the queues or under way.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.cache.is_idle()
    }
}

kit::persist! {
    struct LookUps { due, accesses }
    struct Failures { without_mshr, refused }
    struct Failed { banks, last }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mem::RequestKind;
    use mem::cache::CacheOutcome;

    /// As in GPGPU-Sim, a fence drops nothing if no access has come since the last one, though data have.
    #[test]
    fn contents_that_no_access_has_followed_are_kept_where_all_fences_invalidate() {
        for (fences_invalidate, keeps) in [(InvalidatingFences::All, true), (InvalidatingFences::Device, false)] {
            let gpu = config::load("accel-sim/v100").unwrap();
            let mut l1 =
                L1::new(&L1Data { fences_invalidate, shared_carveouts_bytes: Vec::new(), ..gpu.sm.l1d }, 0).unwrap();
            let read = |l1: &mut L1| {
                let request = Request::new(RequestKind::Read, 0x1000, 32, 0);
                l1.cache.access(0, &request).outcome
            };
            let fetch = |l1: &mut L1| l1.cache.pop_miss().map(|miss| l1.cache.fill(0, miss.token));
            assert_eq!(read(&mut l1), CacheOutcome::Miss);
            l1.invalidate();
            fetch(&mut l1).unwrap();
            l1.invalidate();
            let again = read(&mut l1);
            assert_eq!(again == CacheOutcome::Hit, keeps, "{fences_invalidate:?}: {again:?}");
            l1.invalidate();
            assert_ne!(read(&mut l1), CacheOutcome::Hit, "there was an access");
        }
    }
}
