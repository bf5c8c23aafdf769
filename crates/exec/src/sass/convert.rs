//! Conversions between types.

use super::Lowered;
use super::build::Builder;
use sass::decode::{Inst, Op as Opcode};

pub(super) fn lower(_b: &mut Builder<'_>, inst: &Inst) -> Lowered<bool> {
    match inst.row.op {
        Opcode::Nop => {}
        _ => return Ok(false),
    }
    Ok(true)
}
