//! Modifiers, brackets and declarations that old versions and targets of PTX imply or have elsewhere. The tree has them
//! as in new versions, so that no other part knows of old PTX.
//!
//! The rules are from PTX ISA 1.4 (changes since 1.3) and 3.1, and from the code that ptxas 11.8 makes for sm_75
//! of each instruction in modules of versions 1.0 to 2.3 for sm_10, sm_13 and sm_20. It takes addresses without brackets
//! up to version 1.1, and registers at module level up to 2.3.

use crate::ast::{Address, AddressBase, Operand, OperandKind};
use crate::isa;
use crate::names::Opcode;
use crate::types::Type;

/// Instructions, their type, the modifier that they imply, and the first version that requires it.
type Implied = (&'static [&'static str], Type, &'static str, (u32, u32));

const IMPLIED: &[Implied] = &[
    (&["div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"], Type::F32, "approx", (1, 4)),
    (&["rsqrt"], Type::F64, "approx", (1, 4)),
    (&["div", "sqrt", "mad"], Type::F64, "rn", (1, 4)),
    (&["mad"], Type::F32, "rn", (3, 1)),
];

/// The first target that does not flush all subnormal numbers of single precision to zero.
const KEEPS_SUBNORMALS: u32 = 20;

/// The version from which on registers are declared in functions only.
pub(super) const NO_MODULE_REGISTERS: (u32, u32) = (3, 0);

/// The version from which on addresses of `ld` and `st` need brackets.
const BRACKETS: (u32, u32) = (1, 2);

/// Gives the address of `ld` and `st` the brackets that a module of this version may leave out.
pub(super) fn add_brackets(opcode: &str, operands: &mut [Operand], version: (u32, u32)) {
    let address = match opcode {
        "ld" => operands.get_mut(1),
        "st" => operands.get_mut(0),
        _ => None,
    };
    let Some(operand) = address.filter(|_| version < BRACKETS) else { return };
    let (base, offset) = match operand.kind {
        OperandKind::Name(name) => (AddressBase::Name(name), 0),
        OperandKind::Offset(name, offset) => (AddressBase::Name(name), offset),
        _ => return,
    };
    operand.kind = OperandKind::Address(Address { base, offset });
}

/// The opcode `text` with the modifiers that a module of this version and target implies, if there are some.
pub(super) fn with_implied(text: &str, version: (u32, u32), target: Option<u32>) -> Option<String> {
    let flushes = target.is_some_and(|sm| sm < KEEPS_SUBNORMALS);
    if version >= (3, 1) && !flushes {
        return None;
    }
    let mut opcode = Opcode::new(text);
    let mut changed = false;
    let (name, ty) = (opcode.name().to_owned(), opcode.types().next()?);
    let row = IMPLIED.iter().find(|(names, of, _, until)| names.contains(&&*name) && *of == ty && version < *until);
    let mut add = |modifier: &str, to: &mut Opcode| {
        let explicit = before_types(to, modifier);
        if !isa::match_opcode(&explicit).is_empty() {
            (*to, changed) = (explicit, true);
        }
    };
    if let Some((_, _, modifier, _)) = row
        && isa::match_opcode(&opcode).is_empty()
    {
        add(modifier, &mut opcode);
    }
    // Conversions between floating-point types do not flush.
    let only_single = opcode.types().all(|ty| ty == Type::F32 || !ty.is_float());
    if flushes && only_single && opcode.types().any(Type::is_float) && !opcode.has("ftz") {
        add("ftz", &mut opcode);
    }
    changed.then(|| opcode.text().to_owned())
}

/// `opcode` with a modifier before its first type.
fn before_types(opcode: &Opcode, modifier: &str) -> Opcode {
    let modifiers = opcode.modifiers();
    let at = modifiers.iter().position(|m| Type::from_name(m).is_some()).unwrap_or(modifiers.len());
    let mut parts: Vec<&str> = vec![opcode.name()];
    parts.extend(modifiers.iter().map(|m| &**m));
    parts.insert(at + 1, modifier);
    Opcode::new(&parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::with_implied;

    #[test]
    fn old_modules_imply_modifiers() {
        // Version, target, opcode as written, opcode that is meant (as ptxas 11.8 compiles it).
        let rows = [
            ((1, 0), 10, "div.f32", Some("div.approx.ftz.f32")),
            ((1, 3), 13, "rcp.f32", Some("rcp.approx.ftz.f32")),
            ((1, 3), 13, "ex2.f32", Some("ex2.approx.ftz.f32")),
            ((1, 3), 13, "rsqrt.f64", Some("rsqrt.approx.f64")),
            ((1, 3), 13, "mad.f64", Some("mad.rn.f64")),
            ((1, 4), 13, "mad.f64", None),
            ((1, 4), 13, "mad.f32", Some("mad.rn.ftz.f32")),
            ((2, 3), 20, "mad.f32", Some("mad.rn.f32")),
            ((3, 1), 20, "mad.f32", None),
            ((1, 4), 10, "div.f32", None),
            ((1, 4), 10, "setp.lt.f32", Some("setp.lt.ftz.f32")),
            ((1, 4), 10, "set.gt.u32.f32", Some("set.gt.ftz.u32.f32")),
            ((1, 4), 10, "cvt.rzi.s32.f32", Some("cvt.rzi.ftz.s32.f32")),
            ((1, 4), 10, "cvt.rn.f32.f64", None),
            ((1, 4), 10, "ld.global.f32", None),
            ((1, 4), 10, "mov.f32", None),
            ((1, 4), 10, "add.u32", None),
            ((1, 4), 10, "add.rz.ftz.f32", None),
            ((2, 3), 20, "add.f32", None),
            ((7, 0), 75, "add.f32", None),
        ];
        for (version, target, text, meant) in rows {
            assert_eq!(with_implied(text, version, Some(target)).as_deref(), meant, "{text} {version:?} sm_{target}");
        }
    }
}
