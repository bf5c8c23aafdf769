//! Special units (§4.2): several dividers or roots behind one set of token buffers and a reservation buffer, so that
//! the unit takes a thread every cycle while one of them is free. An operation leaves after its latency; its block is
//! free earlier, if it is pipelined.

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
        let state = &mut self.units[u as usize];
        state.blocks.retain(|&free| free > at);
        if state.blocks.len() as u32 >= self.config.dividers {
            let first = state.blocks.iter().copied().min().unwrap_or(at + 1);
            self.wheel.wake(at, first, unit.element);
            return Reason::BlocksBusy;
        }
        let operands = self.operands(unit, place);
        let token = Token { value: self.compute(unit, tag, &operands), tag, place };
        self.enter(u, tag, at);
        self.take_tokens(configuration, u, place, tag, at);
        self.units[u as usize].ready.pop_front();
        let varied = self.latency.as_ref().map(|of| of(unit.node, tag));
        let latency = varied.unwrap_or(unit.latency);
        self.units[u as usize].blocks.push(at + u64::from(varied.unwrap_or(unit.occupied)));
        self.finishes(unit, u, token, at + u64::from(latency) - 1, at);
        Reason::Fired
    }
}
