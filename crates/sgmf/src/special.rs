//! Special units (§4.2): several dividers or roots behind one set of token buffers and a reservation buffer, so that
//! the unit takes a thread every cycle while one of them is free.

use crate::configuration::Configuration;
use crate::fabric::Fabric;
use crate::observer::Observer;
use crate::statistics::Reason;
use crate::token::Token;

impl<O: Observer> Fabric<O> {
    /// One cycle of special unit `u`.
    #[inline]
    pub(crate) fn step_special(&mut self, configuration: &Configuration, u: u32, at: u64) {
        let unit = &configuration.units[u as usize];
        self.settle_unit(unit, u, at);
        let outcome = self.fire_special(configuration, u, at);
        self.drain(configuration, u, at);
        self.account(configuration, u, at, outcome);
        if outcome == Reason::Fired && !self.units[u as usize].ready.is_empty() {
            self.wheel.wake(at, at + 1, unit.element);
        }
    }

    #[inline]
    fn fire_special(&mut self, configuration: &Configuration, u: u32, at: u64) -> Reason {
        let unit = &configuration.units[u as usize];
        let state = &self.units[u as usize];
        let Some(&place) = state.ready.front() else { return self.waiting(unit, u) };
        let tag = self.buffers.tag(unit.ports.start, place);
        if let Some(reason) = self.is_full(u) {
            return reason;
        }
        if !self.is_epoch(u, tag) {
            return Reason::Epoch;
        }
        // A block is free in the cycle after its operation is done.
        if state.timed.len() as u32 >= self.config.dividers {
            return Reason::BlocksBusy;
        }
        let operands = self.operands(unit, place);
        let token = Token { value: self.compute(unit, tag, &operands), tag, place };
        self.enter(u, tag, at);
        self.take_tokens(configuration, u, place, tag, at);
        self.units[u as usize].ready.pop_front();
        let latency = self.latency.as_ref().map_or(unit.latency, |of| of(unit.node, tag));
        self.finishes(unit, u, token, at + u64::from(latency) - 1, at);
        Reason::Fired
    }
}
