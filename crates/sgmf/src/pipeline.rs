//! Compute and control units (§5.2): pipelined, in order, one firing a cycle. A unit of latency *l* holds *l* - 1
//! results between cycles: one whose result finds no room does not fire. The FIFO of a delay holds as many tokens as
//! it has places, and an empty one passes a token in two cycles.

use crate::configuration::Configuration;
use crate::fabric::Fabric;
use crate::observer::Observer;
use crate::statistics::Reason;
use crate::token::Token;

impl<O: Observer> Fabric<O> {
    /// One cycle of compute or control unit `u`.
    #[inline]
    pub(crate) fn step_pipelined(&mut self, configuration: &Configuration, u: u32, at: u64) {
        let unit = &configuration.units[u as usize];
        self.settle_unit(unit, u, at);
        if let Some(&(due, token)) = self.units[u as usize].pipeline.front()
            && due <= at
            && self.send(configuration, unit.element, &unit.targets, token, at)
        {
            self.units[u as usize].pipeline.pop_front();
            self.complete(unit, u, token.tag, at);
        }
        let outcome = self.fire_pipelined(configuration, u, at);
        self.account(configuration, u, at, outcome);
        let state = &self.units[u as usize];
        let goes_on = outcome == Reason::Fired && !state.ready.is_empty();
        let is_due = state.pipeline.front().is_some_and(|&(due, _)| due <= at) && !self.blocked[unit.element as usize];
        if goes_on || is_due {
            self.wheel.wake(at, at + 1, unit.element);
        }
    }

    #[inline]
    fn fire_pipelined(&mut self, configuration: &Configuration, u: u32, at: u64) -> Reason {
        let unit = &configuration.units[u as usize];
        let state = &self.units[u as usize];
        let Some(&place) = state.ready.front() else { return self.waiting(unit, u) };
        if state.next_fire > at {
            self.wheel.wake(at, state.next_fire, unit.element);
            return Reason::Interval;
        }
        let at_once = unit.holds == 0;
        if at_once {
            if !self.can_send(configuration, unit.element, &unit.targets, place) {
                return Reason::OutputBlocked;
            }
        } else if state.pipeline.len() >= unit.holds {
            return Reason::OutputBlocked;
        }
        let tag = self.buffers.tag(unit.ports.start, place);
        let operands = self.operands(unit, place);
        let token = Token { value: self.compute(unit, tag, &operands), tag, place };
        self.take_tokens(configuration, u, place, tag, at);
        let state = &mut self.units[u as usize];
        state.ready.pop_front();
        state.next_fire = at + u64::from(unit.interval);
        if at_once {
            self.deliver(configuration, &unit.targets, token, at);
            self.complete(unit, u, tag, at);
        } else {
            let due = at + u64::from(unit.latency) - 1;
            state.pipeline.push_back((due, token));
            self.wheel.wake(at, due, unit.element);
        }
        Reason::Fired
    }
}
