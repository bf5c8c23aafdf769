//! The cache of constant operands of a sub-core.

use super::sizes::SubCoreCaches;
use crate::kernel::CONSTANT_BASE;
use crate::warps::mask::WarpMask;
use isa::{ConstantOperand, WarpSlot};
use kit::Cycle;
use mem::cache::CacheOutcome;
use mem::{Cache, Request, RequestKind};

/// The cache, and the warps that its misses keep from issuing.
#[derive(Debug)]
pub(super) struct ConstantCache<M> {
    /// Absent if every look-up hits.
    cache: Option<Cache>,
    line_bytes: u32,
    hold_cycles: Cycle,
    /// Warps whose next instruction lacks its constant.
    waiting: M,
    /// The warp whose miss keeps all from issuing, and until when.
    holder: Option<(WarpSlot, Cycle)>,
    /// The line that hit last, which needs no look-up until a line comes.
    last_line: Option<u64>,
    hits_of_last_line: u64,
}

impl<M: WarpMask> ConstantCache<M> {
    pub fn new(caches: &SubCoreCaches) -> Self {
        let config = caches.constants.as_ref().filter(|_| !caches.perfect);
        Self {
            cache: config.map(Cache::new),
            line_bytes: config.map_or(1, |config| config.line_bytes),
            hold_cycles: caches.constant_hold_cycles.into(),
            waiting: M::NONE,
            holder: None,
            last_line: None,
            hits_of_last_line: 0,
        }
    }

    /// Warps that no miss keeps from issuing.
    #[inline]
    pub fn may_issue(&self) -> M {
        if self.holder.is_some() { M::NONE } else { !self.waiting }
    }

    /// Whether `constant`, which an instruction of `warp` needs to issue at `now`, is there. If not, the warp waits.
    #[inline]
    pub fn look_up(&mut self, now: Cycle, warp: WarpSlot, constant: ConstantOperand) -> bool {
        let Some(cache) = &mut self.cache else { return true };
        let address = CONSTANT_BASE | u64::from(constant.bank) << 16 | u64::from(constant.offset);
        let line = address & !u64::from(self.line_bytes - 1);
        if self.last_line == Some(line) {
            self.hits_of_last_line += 1;
            return true;
        }
        let request = Request::new(RequestKind::Constant, address, 1, u32::from(warp.0));
        if cache.access(now, &request).outcome == CacheOutcome::Hit {
            self.last_line = Some(line);
            return true;
        }
        self.waiting.insert(warp);
        self.holder = Some((warp, now + self.hold_cycles));
        false
    }

    /// The line to request from L1: its address, its bytes, and the number that comes with the reply.
    #[inline]
    pub fn take_request(&mut self) -> Option<(u64, u32, u32)> {
        let miss = self.cache.as_mut()?.pop_miss()?;
        Some((miss.address, miss.bytes, miss.token))
    }

    /// The line of request `id` has come: the warps that wait for it may issue again. It ends the hold of one of them.
    pub fn receive(&mut self, now: Cycle, id: u32) {
        let Some(cache) = &mut self.cache else { return };
        cache.fill(now, id);
        self.last_line = None;
        while let Some(waiter) = cache.pop_ready() {
            let warp = WarpSlot(waiter.token as u16);
            self.waiting.remove(warp);
            self.holder = self.holder.filter(|holder| holder.0 != warp);
        }
    }

    /// The cycle until which the sub-core is held, if it is. A hold until `cycle`, the next one, ends.
    #[inline]
    pub fn end_hold(&mut self, cycle: Cycle) -> Option<Cycle> {
        let until = self.holder?.1.max(cycle);
        if until == cycle {
            self.holder = None;
        }
        Some(until)
    }

    /// Drops what the cache holds.
    pub fn invalidate(&mut self) {
        self.cache.iter_mut().for_each(Cache::invalidate);
        self.last_line = None;
    }

    pub fn hits(&self) -> u64 {
        self.hits_of_last_line + self.cache.as_ref().map_or(0, |cache| cache.counters().read_hits)
    }

    pub fn misses(&self) -> u64 {
        let counters = self.cache.as_ref().map(Cache::counters);
        counters.map_or(0, |counters| counters.reads_missed() + counters.read_merges)
    }
}

kit::persist! {
    struct [M: WarpMask] ConstantCache<M> {
        cache: part, waiting, holder, last_line, hits_of_last_line;
        skip line_bytes, hold_cycles
    }
}
