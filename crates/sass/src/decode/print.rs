//! The disassembler's text.

use super::operand::{Number, PT};
use super::row::{Style, What};
use super::table::CALL_ABSOLUTE;
use super::{Guard, SassInst, SassOp, SassOperand};
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
        if self.row.op == SassOp::IMad {
            f.write_str(common_use(self))?;
        }
        for modifier in self.row.mods.iter().filter(|m| self.shows(m.show, None)) {
            let value = modifier.field.get(self.word) as usize;
            f.write_str(modifier.text.get(value).copied().unwrap_or_default())?;
        }
        for (at, operand) in self.shown_operands().enumerate() {
            f.write_str(if at == 0 { " " } else { ", " })?;
            match operand {
                // Only absolute calls omit a target of 0.
                SassOperand::Indirect { register, target: 0 } if self.row.code == CALL_ABSOLUTE => {
                    write!(f, "{register}")?
                }
                operand => write!(f, "{operand}")?,
            }
        }
        Ok(())
    }
}

/// The suffix of an `IMAD` that moves, adds or shifts.
pub(crate) fn common_use(imad: &SassInst) -> &'static str {
    let [a, b, c] = [What::A(Style::Signed), What::B(Style::Signed), What::C(Style::Int)].map(|w| imad.operand(w));
    let is_zero = |operand| matches!(operand, SassOperand::Register(register) if register.is_zero());
    let (extended, bindless) = (imad.bit(74), imad.bit(91));
    let value = match b {
        SassOperand::Immediate { number: Number::Hex(value), .. } => value,
        _ if is_zero(b) => 0,
        _ => -1,
    };
    match () {
        () if extended || bindless => "",
        () if is_zero(a) || value == 0 => ".MOV",
        () if value == 1 && is_zero(c) => ".MOV",
        () if value == 1 => ".IADD",
        () if value > 1 && value != 1 << 16 && value.count_ones() == 1 && is_zero(c) => ".SHL",
        () => "",
    }
}
