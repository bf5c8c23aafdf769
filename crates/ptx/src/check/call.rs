//! Checks arguments and results of calls against the parameters of the function or prototype.

use super::declared::{Declared, Shape, What};
use super::operand::agrees;
use crate::ast::*;
use crate::diag::Diagnostic;
use crate::names::Sym;
use crate::scope::Scopes;
use crate::types::{StateSpace, Type};
use kit::text::counted;

/// Results and parameters of a function or prototype.
#[derive(Clone, Copy)]
pub(super) struct Signature<'a> {
    pub returns: &'a [Variable],
    pub params: &'a [Variable],
}

/// The name of the function, or the label of the prototype, in a call: `call (results), callee, (arguments),
/// prototype`.
pub(super) fn callees(i: &Instruction) -> impl Iterator<Item = Sym> {
    i.operands.iter().rev().filter_map(|o| if let OperandKind::Name(name) = o.kind { Some(name) } else { None })
}

/// The first error in the arguments and results of a call.
pub(super) fn check(
    module: &Module,
    scopes: &Scopes<Declared>,
    i: &Instruction,
    callee: Sym,
    signature: Signature<'_>,
) -> Option<Diagnostic> {
    let at = i.operands.iter().position(|o| matches!(o.kind, OperandKind::Name(_)))?;
    let lists = |operands: &'_ [Operand]| -> Vec<Operand> {
        let mut items = Vec::new();
        for operand in operands {
            if let OperandKind::List(list) = &operand.kind {
                items.extend(list.iter().cloned());
            }
        }
        items
    };
    let (results, arguments) = (lists(&i.operands[..at]), lists(&i.operands[at..]));
    let name = module.name(callee);
    let of = |count: usize, what| counted(count as u64, what);
    for (verb, what, given, formals) in
        [("returns", "value", &results, signature.returns), ("takes", "argument", &arguments, signature.params)]
    {
        if given.len() != formals.len() {
            let message = format!("`{name}` {verb} {}; the call has {}", of(formals.len(), what), given.len());
            return Some(Diagnostic::error(i.span, message));
        }
        for (operand, formal) in given.iter().zip(formals) {
            if let Err((has, wants)) = fits(module, scopes, operand, formal) {
                let parameter = formal.name.map_or("_", |n| module.name(n));
                let message = format!("`{parameter}` of `{name}` is {wants}, not {has}");
                return Some(Diagnostic::error(operand.span, message).related(formal.span, "declared here"));
            }
        }
    }
    None
}

/// Checks that an operand can be passed as a parameter. The error describes the operand and the parameter.
fn fits(
    module: &Module,
    scopes: &Scopes<Declared>,
    operand: &Operand,
    formal: &Variable,
) -> Result<(), (String, String)> {
    let wanted = Shape::of(formal);
    if formal.is_unsized() || formal.vector > 1 {
        return Ok(());
    }
    let given = match &operand.kind {
        OperandKind::Name(name) => match scopes.lookup(&module.names, *name).map(|(d, _)| d) {
            Some(Declared { what: What::Register(ty, 1), .. }) => Shape::scalar(*ty),
            Some(Declared { what: What::Variable(StateSpace::Param), shape: Some(shape), .. }) => *shape,
            _ => return Ok(()),
        },
        OperandKind::Immediate(value) => {
            let number = if value.int_bits().is_some() { "an integer" } else { "a floating-point number" };
            let scalar = !wanted.array && wanted.ty != Type::Pred;
            let class = wanted.ty.is_bits() || wanted.ty.is_float() == value.int_bits().is_none();
            return if scalar && class { Ok(()) } else { Err((number.into(), wanted.to_string())) };
        }
        _ => return Ok(()),
    };
    let same = match (wanted.array, given.array) {
        (false, false) => agrees(wanted.ty, given.ty, false),
        (true, true) => wanted.bytes == given.bytes && wanted.align == given.align,
        _ => false,
    };
    if same { Ok(()) } else { Err((given.to_string(), wanted.to_string())) }
}
