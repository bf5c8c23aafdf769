//! Checks that need no execution: names, duplicate declarations, instructions by the table of the ISA.
//!
//! All that is found is reported at once; nothing here changes the module.

mod call;
mod declared;
mod instruction;
mod names;
mod operand;
mod special;

use crate::ast::Module;
use crate::diag::Diagnostics;
pub use special::is_special_register;

/// Looks for names that are not declared or declared twice, and instructions that are none of the
/// forms of the [table](crate::isa), that have other operands than their form, or that the module's
/// `.version` or `.target` does not have. In modules of a newer version than the table's, unknown
/// instructions and modifiers are only warned of.
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
