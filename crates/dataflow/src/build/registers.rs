//! Registers and predicates as operands while a graph is built.

use super::builder::Builder;
use super::values::{Part, Values};
use crate::graph::Input;
use crate::groups::{GroupId, constant, truth};
use crate::truth::Truth;
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::Use;

impl Builder<'_> {
    pub(super) fn set_group(&self, values: &mut Values, group: GroupId, value: Input) {
        let first = self.groups.first[group];
        match self.groups.columns[group] {
            0 => {
                let number = group - self.groups.of_predicate(Pred(0)).unwrap_or(group);
                values.predicates.insert(number as u16, value);
            }
            n => values.write(Reg(first), n, value),
        }
    }

    /// The values of a group, if it has been written.
    pub(super) fn group(&mut self, values: &Values, group: GroupId) -> Option<Input> {
        let first = self.groups.first[group];
        match self.groups.columns[group] {
            0 => {
                let number = group - self.groups.of_predicate(Pred(0)).unwrap_or(group);
                values.predicates.get(&(number as u16)).copied()
            }
            n => self.register(values, Reg(first), n),
        }
    }

    pub(super) fn select_part(&mut self, path: Truth, a: Part, b: Part) -> Part {
        match (a, b) {
            (Part::Low(a), Part::Low(b)) => Part::Low(self.draft.select(path, a, b)),
            (Part::High(a), Part::High(b)) => Part::High(self.draft.select(path, a, b)),
            _ => {
                let [a, b] = [a, b].map(|part| self.word(part));
                Part::Low(self.draft.select(path, a, b))
            }
        }
    }

    /// A column as a value of 32 bits.
    fn word(&mut self, part: Part) -> Input {
        match part {
            Part::Low(input) => input,
            Part::High(input) => {
                let op = Op::Unpack { d: [None, Some(Reg(2)), None, None], s: Reg(0), parts: 2, bits: 32 };
                self.draft.apply(&op, vec![input])
            }
        }
    }

    /// The value of a register or constant; `None` if it has not been written.
    pub(super) fn register(&mut self, values: &Values, r: Reg, columns: u8) -> Option<Input> {
        if r.is_constant() {
            return Some(Input::Immediate(constant(self.kernel, r, columns)));
        }
        let column = |k: u16| values.columns.get(&(r.0 + k)).copied();
        match columns {
            1 => {
                let part = column(0)?;
                Some(self.word(part))
            }
            _ => match (column(0)?, column(1)?) {
                (Part::Low(low), Part::High(high)) if low == high => Some(low),
                (low, high) => {
                    let words = [self.word(low), self.word(high)];
                    let op = Op::Pack { d: Reg(4), s: [Reg(0), Reg(1), Reg(2), Reg(3)], parts: 2, bits: 32 };
                    Some(self.draft.apply(&op, words.to_vec()))
                }
            },
        }
    }

    /// The value of a predicate, whether or not it is negated.
    pub(super) fn predicate(&mut self, values: &Values, p: Pred) -> Input {
        match p.number() {
            None => Input::Immediate(1),
            // A predicate that was never written reads as false.
            Some(n) => values.predicates.get(&n).copied().unwrap_or(Input::Immediate(0)),
        }
    }

    pub(super) fn guard(&mut self, values: &Values, p: Pred) -> Truth {
        let value = self.predicate(values, p);
        truth(p, value)
    }

    pub(super) fn operand(&mut self, values: &Values, operand: Use) -> Input {
        match operand {
            Use::Read(r, n) => self.register(values, r, n).unwrap_or(Input::Immediate(0)),
            Use::ReadPred(p) => self.predicate(values, p),
            _ => unreachable!("operands are read"),
        }
    }

    /// Writes a register under a guard.
    pub(super) fn write_guarded(&mut self, values: &mut Values, guard: Truth, r: Reg, columns: u8, value: Input) {
        let value = match self.register(values, r, columns) {
            Some(old) if guard != Truth::TRUE => self.draft.select(guard, value, old),
            _ => value,
        };
        values.write(r, columns, value);
    }

    pub(super) fn write_predicate(&mut self, values: &mut Values, guard: Truth, p: Pred, value: Input) {
        let Some(number) = p.number() else { return };
        let value = match values.predicates.get(&number).copied() {
            Some(old) if guard != Truth::TRUE => self.draft.select(guard, value, old),
            _ => value,
        };
        values.predicates.insert(number, value);
    }
}
