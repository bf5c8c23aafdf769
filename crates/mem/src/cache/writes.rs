//! Effect of writes, by [`Policy`](super::policy::Policy).
//!
//! | on a hit | line becomes | passed on |
//! | --- | --- | --- |
//! | write-back | dirty | no |
//! | write-through | dirty (to count its share), never written back | yes |
//! | write-evict | dropped | yes |
//!
//! | on a miss | line | passed on | fetch |
//! | --- | --- | --- | --- |
//! | none | untouched | yes | no |
//! | write | reserved | yes | yes, without a waiter |
//! | fetch on write | dirty once fetched; at once if the write covers it | no | unless covered |
//! | lazy fetch on read | dirty at once, unreadable until whole | if write-through | when read |
//!
//! `LocalWriteBackGlobalWriteThrough` evicts on global writes, as GPGPU-Sim's policy of that name
//! does: the line is dropped, not updated.

use super::policy::OnHit;
use super::{Answer, Cache, CacheAccess, CacheOutcome, FailReason, Place, Probe};
use crate::{Request, RequestKind};
use config::{WriteAllocate, WritePolicy};
use kit::Cycle;

impl Cache {
    pub(super) fn write(&mut self, now: Cycle, request: &Request, at: &Place) -> CacheAccess {
        if let Probe::Hit(line) = at.probe {
            return self.write_hit(request, at, line);
        }
        if at.probe == Probe::Full && self.policy.allocate != WriteAllocate::None {
            return CacheAccess::fail(FailReason::NoLine);
        }
        match self.policy.allocate {
            WriteAllocate::None => self.write_around(request, at),
            WriteAllocate::Write => self.write_and_fetch(now, request, at),
            WriteAllocate::FetchOnWrite => self.fetch_on_write(now, request, at),
            WriteAllocate::LazyFetchOnRead => self.lazy_fetch(now, request, at),
        }
    }

    fn write_hit(&mut self, request: &Request, at: &Place, line: u32) -> CacheAccess {
        let on_hit = self.policy.on_hit(request.local);
        if on_hit != OnHit::Keep && !self.misses_have_room(1) {
            return CacheAccess::fail(FailReason::MissQueueFull);
        }
        if on_hit == OnHit::DropAndPassOn {
            self.tags.drop_atoms(line, at.atoms);
        } else {
            self.tags.touch(line);
            self.tags.write(line, at.atoms, self.written(request, at));
        }
        let answer = if on_hit == OnHit::Keep { Answer::Now } else { self.pass_on(request) };
        CacheAccess { outcome: CacheOutcome::Hit, answer }
    }

    /// Passes a write on to the next level, which replies to it.
    fn pass_on(&mut self, request: &Request) -> Answer {
        self.misses.push_back(*request);
        self.counters.writes_passed_on += 1;
        Answer::NextLevel
    }

    fn write_around(&mut self, request: &Request, at: &Place) -> CacheAccess {
        if !self.misses_have_room(1) {
            return CacheAccess::fail(FailReason::MissQueueFull);
        }
        CacheAccess { outcome: at.outcome(), answer: self.pass_on(request) }
    }

    fn write_and_fetch(&mut self, now: Cycle, request: &Request, at: &Place) -> CacheAccess {
        if !self.misses_have_room(3) {
            return CacheAccess::fail(FailReason::MissQueueFull);
        }
        let fetch = Request { kind: RequestKind::Read, ..*request };
        match self.fetch(now, &fetch, at, true) {
            Ok(_) => {
                self.counters.write_fetches += 1;
                CacheAccess { outcome: at.outcome(), answer: self.pass_on(request) }
            }
            Err(reason) => CacheAccess::fail(reason),
        }
    }

    fn fetch_on_write(&mut self, now: Cycle, request: &Request, at: &Place) -> CacheAccess {
        if self.covers(request) {
            if !self.misses_have_room(1) {
                return CacheAccess::fail(FailReason::MissQueueFull);
            }
            self.write_now(now, request, at);
            return CacheAccess { outcome: at.outcome(), answer: Answer::Now };
        }
        if !self.misses_have_room(2) {
            return CacheAccess::fail(FailReason::MissQueueFull);
        }
        // A second write must not overtake a read that waits behind the first.
        let found = self.find_mshr(request.address >> self.atom_shift, at.probe);
        if found.is_some_and(|id| self.mshrs.has_read_behind_write(id)) {
            return CacheAccess::fail(FailReason::WriteBehindRead);
        }
        match self.fetch(now, request, at, request.kind == RequestKind::WriteBack) {
            Ok(line) => {
                self.tags.write_under_way(line, at.atoms, self.written(request, at));
                self.counters.write_fetches += 1;
                CacheAccess { outcome: at.outcome(), answer: Answer::WhenReady }
            }
            Err(reason) => CacheAccess::fail(reason),
        }
    }

    fn lazy_fetch(&mut self, now: Cycle, request: &Request, at: &Place) -> CacheAccess {
        if !self.misses_have_room(1) {
            return CacheAccess::fail(FailReason::MissQueueFull);
        }
        let through = self.policy.write == WritePolicy::WriteThrough;
        let answer = if through { self.pass_on(request) } else { Answer::Now };
        self.write_now(now, request, at);
        CacheAccess { outcome: at.outcome(), answer }
    }

    /// Writes into the line, or one taken for the write, or notes the write for the fill under way.
    fn write_now(&mut self, now: Cycle, request: &Request, at: &Place) {
        let written = self.written(request, at);
        match at.probe {
            Probe::Reserved(line) => {
                self.tags.touch(line);
                self.tags.write_under_way(line, at.atoms, written);
            }
            Probe::SectorMiss(line) => {
                self.tags.miss_sector(line);
                self.tags.write(line, at.atoms, written);
            }
            _ => {
                let line = self.reserve(now, at);
                self.tags.write(line, at.atoms, written);
            }
        }
    }

    /// Whether a write covers the whole sector (or line).
    fn covers(&self, request: &Request) -> bool {
        request.byte_mask == u32::MAX && request.bytes >= 1 << self.atom_shift
    }
}
