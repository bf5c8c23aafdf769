//! Reservation buffers and epochs (§4.1): LDST and special units hold the threads of operations in flight, finish
//! them in any order, and process a thread only after all threads of older epochs have left.

use crate::config::EpochGate;
use crate::configuration::{Configuration, Unit};
use crate::fabric::Fabric;
use crate::observer::Observer;
use crate::state::UnitState;
use crate::statistics::Reason;
use crate::token::Token;
use std::cmp::Reverse;

impl<O: Observer> Fabric<O> {
    /// The epoch of thread `tag`: its number among the threads of its copy by the entries.
    #[inline]
    fn epoch(&self, tag: u32) -> u32 {
        self.configuration.shares.number(tag) / self.config.entries
    }

    /// Whether all threads of epochs older than `tag`'s are among the first `count` of their copy: threads enter and leave
    /// a unit epoch by epoch.
    #[inline]
    fn is_after(&self, tag: u32, count: u32) -> bool {
        !self.config.epochs || count >= self.epoch(tag) * self.config.entries
    }

    /// Whether unit `u` may process thread `tag`: all threads of older epochs have left it. With the gate at the exit
    /// all of them have entered, so that none waits for an entry of the reservation buffer that younger ones hold.
    #[inline]
    pub(crate) fn is_epoch(&self, u: u32, tag: u32) -> bool {
        let state = &self.units[u as usize];
        let is_entry = self.config.epoch_gate == EpochGate::Entry;
        self.is_after(tag, if is_entry { state.left } else { state.fired })
    }

    /// Which of the results of unit `u` that are done may be sent: the oldest one, or with the gate at the exit the
    /// oldest one of the current epoch.
    #[inline]
    fn sendable(&self, u: u32) -> Option<usize> {
        let UnitState { done, left, .. } = &self.units[u as usize];
        if self.config.epoch_gate == EpochGate::Entry {
            return (!done.is_empty()).then_some(0);
        }
        (0..done.len()).find(|&i| done.get(i).is_some_and(|token| self.is_after(token.tag, *left)))
    }

    /// Thread `tag` enters the reservation buffer of unit `u`.
    #[inline]
    pub(crate) fn enter(&mut self, u: u32, tag: u32, at: u64) {
        let epoch = self.epoch(tag);
        let state = &mut self.units[u as usize];
        debug_assert!(
            !self.config.epochs
                || state.reserved == 0
                || epoch - state.epoch <= u32::from(self.config.epoch_gate == EpochGate::Exit),
            "a reservation buffer holds epochs {} and {epoch}",
            state.epoch
        );
        if state.fired == 0 || state.epoch != epoch {
            state.epoch = epoch;
            self.counts.fabric.epochs += 1;
        }
        self.counts.fabric.reserved_bits += u64::from(self.configuration.units[u as usize].moves.result);
        self.reserve(u, at, 1);
    }

    /// The operation of `token` is done in cycle `due`.
    #[inline]
    pub(crate) fn finishes(&mut self, unit: &Unit, u: u32, token: Token, due: u64, at: u64) {
        self.units[u as usize].timed.push(Reverse((due, token.tag, token.value, token.place)));
        if due > at {
            self.wheel.wake(at, due, unit.element);
        }
    }

    /// Why unit `u` with a full reservation buffer does not fire.
    pub(crate) fn is_full(&self, u: u32) -> Option<Reason> {
        let state = &self.units[u as usize];
        (state.reserved >= self.config.entries).then(|| match self.sendable(u) {
            Some(_) => Reason::OutputBlocked,
            None if state.done.is_empty() => Reason::ReservationFull,
            None => Reason::Epoch,
        })
    }

    /// Operations of unit `u` that are done by cycle `at` may leave, one a cycle in the order in which they were done.
    #[inline]
    pub(crate) fn drain(&mut self, configuration: &Configuration, u: u32, at: u64) {
        let unit = &configuration.units[u as usize];
        let state = &mut self.units[u as usize];
        let mut changed = false;
        while let Some(&Reverse((due, tag, value, place))) = state.timed.peek()
            && due <= at
        {
            state.timed.pop();
            state.done.push_back(Token { value, tag, place });
            changed = true;
        }
        if let Some(i) = self.sendable(u)
            && let Some(&token) = self.units[u as usize].done.get(i)
            && self.send(configuration, unit.element, &unit.targets, token, at)
        {
            self.units[u as usize].done.remove(i);
            self.reserve(u, at, -1);
            self.counts.fabric.reserved_bits_read += u64::from(unit.moves.result);
            self.complete(unit, u, token.tag, at);
            changed = true;
        }
        let state = &self.units[u as usize];
        if changed && (!state.ready.is_empty() || !state.done.is_empty()) {
            self.wheel.wake(at, at + 1, unit.element);
        }
    }
}
