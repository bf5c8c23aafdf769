//! The injector at the rim: sends the values of threads, one thread after the other, as fast as the destinations of
//! each value accept them (§4.1, "constant units"). Each value has a place in the order of threads of its own.

use crate::configuration::Configuration;
use crate::fabric::Fabric;
use crate::memory::Outside;
use crate::observer::{Note, Observer};
use crate::token::Token;
use crate::uniforms::along;
use dataflow::graph::{NodeId, ThreadValue};

/// How far the injector is with a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SourceState {
    /// The thread whose value is sent next, by its number in the pass.
    pub next: u32,
    /// The first cycle in which it may be.
    from: u64,
}

impl<O: Observer> Fabric<O> {
    /// One cycle of source `s`.
    #[inline]
    pub(crate) fn inject(&mut self, configuration: &Configuration, s: u32, at: u64, outside: &Outside<'_>) {
        let SourceState { next: tag, from } = self.sources[s as usize];
        if tag == self.pass.count {
            return;
        }
        let source = &configuration.sources[s as usize];
        if from > at {
            self.wheel.wake(at, from, source.element);
            return;
        }
        let place = (tag % self.config.entries) as u8;
        if !self.can_send(configuration, source.element, &source.targets, place) {
            return;
        }
        let tid = self.pass.tid(tag);
        let (cta, thread) = outside.batch.place(tid);
        let value = match source.value {
            ThreadValue::Tid(axis) => along(outside.batch.positions[thread as usize], axis),
            ThreadValue::Ctaid(axis) => along(outside.batch.ctas[cta].position, axis),
            ThreadValue::Live => self.pass.is_live(tag).into(),
        };
        self.deliver(configuration, &source.targets, Token { value, tag, place }, at);
        self.observer.note(at, Note::Inject { node: NodeId(source.node), tid });
        self.counts.fabric.injected += 1;
        self.pass.remaining -= 1;
        let from = at + u64::from(self.config.inject_interval);
        self.sources[s as usize] = SourceState { next: tag + 1, from };
        if tag + 1 < self.pass.count {
            self.wheel.wake(at, from, source.element);
        }
    }
}
