//! Values of registers and predicates at a place: static single assignment.

use crate::graph::Input;
use exec::lanes::Reg;
use std::collections::HashMap;

/// A column: a value, or half of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// 32 bits, or the lower 32 of 64.
    Low(Input),
    High(Input),
}

/// The values of columns and predicates at a place; absent before they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub columns: HashMap<u16, Part>,
    pub predicates: HashMap<u16, Input>,
}

impl Values {
    /// Writes a register of one or two columns.
    pub fn write(&mut self, r: Reg, columns: u8, value: Input) {
        self.columns.insert(r.0, Part::Low(value));
        if columns == 2 {
            self.columns.insert(r.0 + 1, Part::High(value));
        }
    }
}
