//! The injector at the rim: sends the values of threads, one thread after the other, as fast as the destinations of
//! each value accept them (§4.1, "constant units"). Each value has a place in the order of threads of its own.

use crate::configuration::Configuration;
use crate::fabric::Fabric;
use crate::memory::Outside;
use crate::observer::{Note, Observer};
use crate::state::SourceState;
use crate::token::Token;
use dataflow::graph::{NodeId, ThreadValue};
use dataflow::uniforms::along;
use std::ops::Range;

impl<O: Observer> Fabric<O> {
    /// One cycle of source `s`.
    #[inline]
    pub(crate) fn inject(&mut self, configuration: &Configuration, s: u32, at: u64, outside: &Outside<'_>) {
        let group = configuration.sources[s as usize].group.clone();
        let last = group.end - 1;
        if !self.config.inject_together {
            self.inject_from(configuration, s..s + 1, at, outside);
        } else if s < last {
            // The last one comes after all that takes tokens.
            self.wheel.wake(at, at, configuration.sources[last as usize].element);
        } else {
            self.inject_from(configuration, group, at, outside);
        }
    }

    /// Sends the values of all `sources` for the next thread, if all their destinations have room.
    #[inline]
    fn inject_from(&mut self, configuration: &Configuration, sources: Range<u32>, at: u64, outside: &Outside<'_>) {
        let SourceState { next: tag, from } = self.sources[sources.start as usize];
        if tag >= self.pass.count {
            return;
        }
        let element = configuration.sources[sources.end as usize - 1].element;
        if from > at {
            self.wheel.wake(at, from, element);
            return;
        }
        let place = self.place(configuration, tag);
        let range = sources.start as usize..sources.end as usize;
        for source in &configuration.sources[range.clone()] {
            if !self.can_send(configuration, source.element, &source.targets, place) {
                return;
            }
        }
        let tid = self.pass.tid(tag);
        for source in &configuration.sources[range.clone()] {
            let value = self.value_of(source.value, tag, outside);
            self.counts.fabric.injected_bits += u64::from(source.bits);
            self.deliver(configuration, &source.targets, Token { value, tag, place }, at);
            self.observer.note(at, Note::Inject { node: NodeId(source.node), tid });
        }
        self.counts.fabric.injected += range.len() as u64;
        self.pass.remaining -= range.len() as u64;
        let from = at + u64::from(self.config.inject_interval);
        let next = configuration.shares.next(tag);
        self.sources[range].fill(SourceState { next, from });
        if next < self.pass.count {
            self.wheel.wake(at, from, element);
        }
    }

    /// The place of thread `tag` in token buffers: its number among the threads of its copy, mod their entries.
    #[inline]
    fn place(&self, configuration: &Configuration, tag: u32) -> u8 {
        (configuration.shares.number(tag) % self.config.entries) as u8
    }

    #[inline]
    fn value_of(&self, value: ThreadValue, tag: u32, outside: &Outside<'_>) -> u64 {
        let (cta, thread) = outside.batch.place(self.pass.tid(tag));
        match value {
            ThreadValue::Tid(axis) => along(outside.batch.positions[thread as usize], axis),
            ThreadValue::Ctaid(axis) => along(outside.batch.ctas[cta].position, axis),
            ThreadValue::Live => self.pass.is_live(tag).into(),
        }
    }
}
