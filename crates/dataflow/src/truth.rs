//! Conditions while a graph is built: predicates, perhaps negated, and labels that combine two of them.

use crate::draft::Draft;
use crate::graph::{Input, NodeOp};

/// Truth table of the negation of the first port.
pub(crate) const NOT: u8 = 0b01;

/// A predicate, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Truth {
    pub input: Input,
    pub negated: bool,
}

impl Truth {
    pub const TRUE: Self = Self { input: Input::Immediate(1), negated: false };
    pub const FALSE: Self = Self { input: Input::Immediate(0), negated: false };

    /// The predicate `input`.
    pub fn of(input: Input) -> Self {
        Self { input, negated: false }.known()
    }

    #[must_use]
    pub fn not(self) -> Self {
        Self { negated: !self.negated, ..self }.known()
    }

    fn known(self) -> Self {
        match self.input {
            Input::Immediate(x) if (x & 1 == 1) != self.negated => Self::TRUE,
            Input::Immediate(_) => Self::FALSE,
            _ => self,
        }
    }
}

impl Draft {
    /// `a` where the predicate holds, else `b`.
    pub fn select(&mut self, condition: Truth, a: Input, b: Input) -> Input {
        let (yes, no) = if condition.negated { (b, a) } else { (a, b) };
        match condition.input {
            _ if yes == no => yes,
            Input::Immediate(x) if x & 1 == 1 => yes,
            Input::Immediate(_) => no,
            input => self.once(NodeOp::Select, vec![input, yes, no]),
        }
    }

    fn combine(&mut self, a: Truth, b: Truth, or: bool) -> Truth {
        let row = |x: u8, y: u8| {
            let (x, y) = (x ^ u8::from(a.negated), y ^ u8::from(b.negated));
            if or { x | y } else { x & y }
        };
        let table = row(0, 0) | row(1, 0) << 1 | row(0, 1) << 2 | row(1, 1) << 3;
        Truth::of(self.once(NodeOp::Label(table), vec![a.input, b.input]))
    }

    pub fn and(&mut self, a: Truth, b: Truth) -> Truth {
        match (a, b) {
            (Truth::TRUE, x) | (x, Truth::TRUE) => x,
            (Truth::FALSE, _) | (_, Truth::FALSE) => Truth::FALSE,
            _ if a == b => a,
            _ if a == b.not() => Truth::FALSE,
            _ => self.combine(a, b, false),
        }
    }

    pub fn or(&mut self, a: Truth, b: Truth) -> Truth {
        match (a, b) {
            (Truth::FALSE, x) | (x, Truth::FALSE) => x,
            (Truth::TRUE, _) | (_, Truth::TRUE) => Truth::TRUE,
            _ if a == b => a,
            _ if a == b.not() => Truth::TRUE,
            _ => self.combine(a, b, true),
        }
    }

    /// The predicate as an input.
    pub fn value(&mut self, truth: Truth) -> Input {
        match truth.negated {
            true => self.once(NodeOp::Label(NOT), vec![truth.input, Input::Immediate(0)]),
            false => truth.input,
        }
    }
}
