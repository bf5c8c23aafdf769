//! The disassembler's text.

use super::table::CALL_ABSOLUTE;
use super::{Guard, SassInst, SassOp, SassOperand, operand::PT};
use std::fmt;

impl fmt::Display for SassOp {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Guard { index, uniform, not } = *self;
        if index == PT && !not {
            return Ok(());
        }
        write!(f, "@{}{}P", if not { "!" } else { "" }, if uniform { "U" } else { "" })?;
        if index == PT { f.write_str("T ") } else { write!(f, "{index} ") }
    }
}

/// `@!P0 IADD3.X R3, RZ, R3, RZ, P1, !PT`: no final semicolon, single spaces.
impl fmt::Display for SassInst {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}{}", self.guard(), self.row.op)?;
        if let Some(idiom) = self.row.idiom {
            f.write_str(idiom(self))?;
        }
        for modifier in self.row.mods.iter().filter(|m| self.shows(m.show, None)) {
            let value = modifier.field.get(self.word) as usize;
            f.write_str(modifier.text.get(value).copied().unwrap_or_default())?;
        }
        for (at, operand) in self.shown_operands().enumerate() {
            f.write_str(if at == 0 { " " } else { ", " })?;
            match operand {
                // Absolute calls alone leave out what is not added.
                SassOperand::Indirect { register, target: 0 } if self.row.code == CALL_ABSOLUTE => {
                    write!(f, "{register}")?
                }
                operand => write!(f, "{operand}")?,
            }
        }
        Ok(())
    }
}
