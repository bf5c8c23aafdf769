//! Checks that need no execution: names, duplicate declarations, instructions by the table of the ISA.
//!
//! All errors are reported at once; the module is not changed.

mod call;
mod declared;
mod instruction;
mod names;
mod operand;
mod special;

use crate::ast::Module;
use crate::diag::Diagnostics;
pub use special::is_special_register;

/// Finds names that are not declared or declared twice, and instructions that match no form of the
/// [table](crate::isa), have other operands than their form, or are not in the module's `.version` or
/// `.target`. In modules of a newer version than the table's, unknown instructions and modifiers are only
/// warnings.
///
/// ```
/// let parsed = ptx::parse("k.ptx", b"\
/// .version 7.0\n.target sm_75\n.entry k()\n{\n.reg .b32 %r<3>;\nadd.s32 %r1, %r2;\nbra DONE;\n}\n");
/// assert_eq!(ptx::check(&parsed.module).render(&parsed.source, ptx::Severity::Error), "\
/// k.ptx:6:1: error: `add.s32` takes 3 operands, not 2
///     6 | add.s32 %r1, %r2;
///       | ^^^^^^^^^^^^^^^^^
/// k.ptx:7:5: error: label `DONE` is not declared
///     7 | bra DONE;
///       |     ^^^^
/// ");
/// ```
pub fn check(module: &Module) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    names::check(module, &mut diagnostics);
    diagnostics
}
