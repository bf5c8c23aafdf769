//! The state of a functional unit (fig. 8), and what all kinds have in common: token buffers are emptied, results
//! are sent, each cycle is accounted for.

use crate::configuration::{Action, Configuration, MOST_PORTS, Operand, Unit};
use crate::fabric::Fabric;
use crate::observer::{Note, Observer};
use crate::statistics::Reason;
use dataflow::graph::NodeId;

impl<O: Observer> Fabric<O> {
    /// Cycles of unit `u` before `upto` are accounted for.
    #[inline]
    pub(crate) fn settle_unit(&mut self, unit: &Unit, u: u32, upto: u64) {
        let state = &mut self.units[u as usize];
        let cycles = upto.saturating_sub(state.since);
        state.since += cycles;
        self.counts.spend(unit.kind, state.reason, 1, cycles);
    }

    /// Unit `u` did `outcome` in cycle `at` and, until it is looked at again, does what follows from its state.
    #[inline]
    pub(crate) fn account(&mut self, configuration: &Configuration, u: u32, at: u64, outcome: Reason) {
        let unit = &configuration.units[u as usize];
        self.counts.spend(unit.kind, outcome, 1, 1);
        let reason = if outcome == Reason::Fired { self.waiting(unit, u) } else { outcome };
        let state = &mut self.units[u as usize];
        (state.since, state.reason) = (at + 1, reason);
    }

    /// Why unit `u`, for which no thread is ready, does not fire.
    #[inline]
    pub(crate) fn waiting(&self, unit: &Unit, u: u32) -> Reason {
        if self.units[u as usize].fired == self.configuration.shares.of_copy(unit.copy, self.pass.count) {
            Reason::NoThread
        } else if unit.ports.clone().all(|port| self.buffers.is_empty(port)) {
            Reason::NoToken
        } else {
            Reason::Operand
        }
    }

    /// The operands of the thread at `place`.
    #[inline]
    pub(crate) fn operands(&self, unit: &Unit, place: u8) -> [u64; MOST_PORTS] {
        unit.operands.map(|operand| match operand {
            Operand::Port(port) => self.buffers.value(port, place),
            Operand::Constant(value) => value,
        })
    }

    /// Unit `u` executes the thread at `place`: its token buffers have room again.
    #[inline]
    pub(crate) fn take_tokens(&mut self, configuration: &Configuration, u: u32, place: u8, tag: u32, at: u64) {
        let unit = &configuration.units[u as usize];
        for port in unit.ports.clone() {
            self.buffers.free(port, place);
            let of = configuration.ports[port as usize];
            self.counts.fabric.token_bits_read += u64::from(of.bits);
            self.unblock(of.feeder, at);
        }
        self.units[u as usize].fired += 1;
        let fabric = &mut self.counts.fabric;
        fabric.firings += 1;
        fabric.stage_bits += u64::from(unit.moves.stages);
        fabric.fifo_bits += u64::from(unit.moves.fifo);
        fabric.instruction_firings += u64::from(unit.pc.is_some());
        self.counts.works.0[unit.work as usize] += 1;
        let tid = self.pass.tid(tag);
        self.observer.note(at, Note::Fire { node: NodeId(unit.node), tid });
    }

    /// The value that `unit` computes; the end of a region notes where the thread continues.
    #[inline]
    pub(crate) fn compute(&mut self, unit: &Unit, tag: u32, operands: &[u64; MOST_PORTS]) -> u64 {
        let [a, b, c, _] = *operands;
        match &unit.action {
            Action::Apply(function) => self.evaluator.apply(function, operands),
            Action::Select => {
                if a & 1 == 1 {
                    b
                } else {
                    c
                }
            }
            Action::Label(table) => u64::from(table >> (a & 1 | (b & 1) << 1) & 1),
            Action::First | Action::Access(_) => a,
            Action::Next(region) => {
                if a & 1 == 1 {
                    self.pass.goes_on(tag, *region);
                }
                a
            }
        }
    }

    /// The result of unit `u` has been sent for a thread.
    #[inline]
    pub(crate) fn complete(&mut self, unit: &Unit, u: u32, tag: u32, at: u64) {
        self.units[u as usize].left += 1;
        self.pass.remaining -= 1;
        let tid = self.pass.tid(tag);
        self.observer.note(at, Note::Send { node: NodeId(unit.node), tid });
    }

    /// The reservation buffer of unit `u` changes.
    #[inline]
    pub(crate) fn reserve(&mut self, u: u32, at: u64, change: i32) {
        let state = &mut self.units[u as usize];
        self.counts.fabric.reserved_cycles += u64::from(state.reserved) * (at - state.reserved_since);
        state.reserved_since = at;
        state.reserved = state.reserved.wrapping_add_signed(change);
    }
}
