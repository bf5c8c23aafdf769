//! Shared memory: a pipe behind the dispatch register, in which bank conflicts keep an access.

use super::Dispatch;
use crate::agenda::Agenda;
use crate::inflight::InstId;
use crate::observer::Observer;
use crate::policy::IssuePolicy;
use crate::sm::Sm;
use crate::spec::CoreSpec;
use isa::WarpStream;
use kit::Cycle;
use mem::shared_banks::conflict_degree;
use std::collections::VecDeque;

/// Accesses with a result on their way through the shared-memory pipe, by the cycle from which the
/// write-back register may take them.
#[derive(Debug)]
pub(super) struct SharedPipe {
    results: VecDeque<(Cycle, InstId)>,
    stages: usize,
    latency: Cycle,
}

impl SharedPipe {
    pub fn new(spec: &CoreSpec) -> Self {
        let latency = spec.sm.shared.latency_cycles.max(1);
        let stages = latency as usize;
        Self { results: VecDeque::with_capacity(stages), stages, latency: Cycle::from(latency) }
    }

    /// Whether nothing is in the pipe.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Whether the first stage is free.
    fn has_room(&self) -> bool {
        self.results.len() < self.stages
    }

    fn push(&mut self, now: Cycle, id: InstId) {
        self.results.push_back((now + self.latency, id));
    }

    /// The oldest result, if it has come through.
    #[inline]
    pub fn take(&mut self, now: Cycle) -> Option<InstId> {
        let &(due, id) = self.results.front()?;
        if due > now {
            return None;
        }
        self.results.pop_front();
        Some(id)
    }

    /// Enters when the oldest result comes through. One that has is taken when the write-back
    /// register is free, which is a movement of its own.
    #[inline]
    pub fn enter_agenda(&self, now: Cycle, agenda: &mut Agenda) {
        if let Some(&(due, _)) = self.results.front() {
            agenda.at(due.max(now + 1));
        }
    }
}

impl<S: WarpStream, P: IssuePolicy, O: Observer> Sm<S, P, O> {
    /// An access to shared memory enters the dispatch register: conflicts keep it there.
    pub(super) fn begin_shared(&mut self, now: Cycle, id: InstId) {
        let shared = &self.spec.sm.shared;
        let addresses = &self.slab.dynamic(id).addresses;
        let degree = conflict_degree(self.slab.get(id).mask, addresses, shared.banks, shared.limited_broadcast).max(1);
        self.counters.shared_accesses += 1;
        self.counters.shared_conflict_cycles += u64::from(degree - 1);
        let dispatch = self.lsu.dispatch.as_mut().expect("just accepted");
        dispatch.ready_at = now + Cycle::from(degree);
    }

    /// Its conflicts resolved, it enters the pipe if it has a result. True if it has gone.
    pub(super) fn go_on_shared(&mut self, now: Cycle, dispatch: Dispatch) -> bool {
        if dispatch.is_store {
            return true;
        }
        if !self.lsu.shared.has_room() {
            return false;
        }
        self.slab.get_mut(dispatch.id).pending = 1;
        self.lsu.shared.push(now, dispatch.id);
        true
    }
}
