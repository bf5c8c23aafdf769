//! Checks that operands have the kinds and types of a form.
//!
//! Types agree by the manual's rules: untyped bits with any register of the same width, integers with
//! integers and bits, floating-point numbers with their own type and bits; packed types are in untyped
//! registers. Loads, stores and conversions accept wider registers, except for floating-point types.

use super::declared::{Declared, What};
use super::special::{is_special_register, special_type};
use crate::ast::*;
use crate::diag::Diagnostic;
use crate::isa::{self, Form, Match, OperandShape as Spec, SlotKind, vector_length};
use crate::names::{Opcode, Sym};
use crate::scope::Scopes;
use crate::types::{StateSpace, Type};

/// The declarations that operands refer to.
pub(super) struct Operands<'a> {
    pub module: &'a Module,
    pub scopes: &'a Scopes<Declared>,
    pub opcode: &'a Opcode,
}

/// The kind of a name in an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Named {
    Register(Type, u8),
    Special(Option<Type>),
    Variable(StateSpace),
    Function,
    Label,
    /// Not declared, which is reported elsewhere.
    Unknown,
}

/// The error describes an operand that would fit.
type Fit = Result<(), String>;

/// Whether a register of type `register` can hold a value of type `ty`.
pub(super) fn agrees(ty: Type, register: Type, wider: bool) -> bool {
    use Type::*;
    if ty == Pred || register == Pred {
        return ty == register;
    }
    let width = if wider { register.bits() >= ty.bits() } else { register.bits() == ty.bits() };
    let class = match ty {
        U16x2 | S16x2 | Bf16x2 | Tf32 | F32x2 | Bf16 | E4m3x2 | E5m2x2 => register.is_bits(),
        _ if ty.is_bits() => true,
        _ if ty.is_float() => register.is_bits() || register == ty,
        _ => !register.is_float(),
    };
    width && class
}

/// Whether a literal can be a value of type `ty`.
fn literal_agrees(value: Immediate, ty: Type) -> bool {
    match value {
        Immediate::Signed(_) | Immediate::Unsigned(_) => {
            !ty.is_float() && !matches!(ty, Type::U16x2 | Type::S16x2 | Type::B128)
        }
        // The bits of a literal of the same width can be untyped bits.
        Immediate::F32(_) => matches!(ty, Type::F32 | Type::F64 | Type::B32),
        Immediate::F64(_) => matches!(ty, Type::F32 | Type::F64 | Type::B64),
    }
}

impl Operands<'_> {
    fn named(&self, name: Sym) -> Named {
        let names = &self.module.names;
        if let Some((declared, _)) = self.scopes.lookup(names, name) {
            return match declared.what {
                What::Register(ty, vector) => Named::Register(ty, vector),
                What::Variable(space) => Named::Variable(space),
                What::Function => Named::Function,
                What::Label => Named::Label,
            };
        }
        let text = names.text(name);
        if is_special_register(text) { Named::Special(special_type(text)) } else { Named::Unknown }
    }

    /// A description of the guard if it is not a predicate.
    pub fn not_a_predicate(&self, name: Sym) -> Option<String> {
        match self.named(name) {
            Named::Register(Type::Pred, _) | Named::Special(_) | Named::Unknown => None,
            other => Some(describe(other)),
        }
    }

    /// Whether `form` takes this number of operands.
    pub fn counted(&self, form: &Form, count: usize) -> bool {
        let (least, most) = form.arity(|modifier| self.opcode.has(modifier));
        (least..=most).contains(&count)
    }

    /// Checks operands against a form that takes this number of them. An error contains the index of the
    /// operand.
    pub fn check(&self, m: &Match, given: &[Operand]) -> Result<(), (usize, Diagnostic)> {
        let (least, _) = m.form.arity(|modifier| self.opcode.has(modifier));
        let mut extra = given.len().saturating_sub(least);
        let mut rest = given.iter().enumerate();
        let is_wmma = self.opcode.name() == "wmma";
        let fragments = if is_wmma { isa::wmma_fragments(self.opcode.modifiers()) } else { None };
        for spec in &m.form.operands {
            if spec.kind == SlotKind::Rest {
                return Ok(());
            }
            if !spec.is_with(|modifier| self.opcode.has(modifier)) {
                continue;
            }
            if spec.optional {
                if extra == 0 {
                    continue;
                }
                extra -= 1;
            }
            let Some((at, operand)) = rest.next() else { return Ok(()) };
            let fragment = fragments.as_ref().and_then(|f| *f.get(at)?);
            if let Err(wanted) = self.fits(m, spec, operand, fragment) {
                return Err((at, self.wrong(operand, spec, &wanted)));
            }
        }
        Ok(())
    }

    fn wrong(&self, operand: &Operand, spec: &Spec, wanted: &str) -> Diagnostic {
        let opcode = shown(self.opcode);
        let writes = match operand.kind {
            OperandKind::Immediate(_) => Some("a number"),
            OperandKind::Address(_) => Some("memory"),
            OperandKind::Not(_) => Some("a negated predicate"),
            _ => None,
        };
        if let Some(what) = writes.filter(|_| spec.written) {
            let message = format!("`{opcode}` writes its first operand, which cannot be {what}");
            return Diagnostic::error(operand.span, message);
        }
        let given = match (&operand.kind, spec.kind) {
            (OperandKind::Immediate(value), SlotKind::Barrier | SlotKind::Multiple(_)) => {
                value.int_bits().map_or_else(|| self.describe(operand), |n| (n as i64).to_string())
            }
            _ => self.describe(operand),
        };
        let mut diagnostic = Diagnostic::error(operand.span, format!("`{opcode}` takes {wanted} here, not {given}"));
        // ptxas 11.8 and 12.9 accept it and do not agree on its meaning: the elements of `mov.v2.u32 v, 5`
        // become the 16-bit halves of the number.
        if self.opcode.name() == "mov" && matches!(spec.kind, SlotKind::Vector { .. }) && !spec.written {
            return diagnostic.hint("write each element, as in `{5, 5}`");
        }
        let name = match &operand.kind {
            OperandKind::Name(name) | OperandKind::Component(name, _) | OperandKind::Not(name) => *name,
            OperandKind::Address(Address { base: AddressBase::Name(name), .. }) => *name,
            _ => return diagnostic,
        };
        match self.scopes.lookup(&self.module.names, name) {
            Some((declared, _)) => diagnostic = diagnostic.related(declared.span, "declared here"),
            None => diagnostic = diagnostic.hint("move a special register to a register first"),
        }
        diagnostic
    }

    fn describe(&self, operand: &Operand) -> String {
        match &operand.kind {
            OperandKind::Name(name) | OperandKind::Component(name, _) => describe(self.named(*name)),
            OperandKind::Selected(..) => "a part of a register".into(),
            OperandKind::Immediate(value) if value.int_bits().is_some() => "an integer".into(),
            OperandKind::Immediate(_) => "a floating-point number".into(),
            OperandKind::Offset(..) | OperandKind::Element(..) => "the address of a variable".into(),
            OperandKind::Not(_) => "a negated predicate".into(),
            OperandKind::Negated(_) => "a negated register".into(),
            OperandKind::Pair(..) => "two destinations".into(),
            OperandKind::Sink => "the sink `_`".into(),
            OperandKind::Vector(items) => format!("a vector of {}", items.len()),
            OperandKind::List(_) => "a list".into(),
            OperandKind::Address(Address { base: AddressBase::Name(name), .. }) => match self.named(*name) {
                Named::Variable(space) => format!("an address in {space} memory"),
                named => format!("the address in {}", describe(named)),
            },
            OperandKind::Address(_) | OperandKind::Texture(_) => "an address".into(),
        }
    }

    /// Checks an operand against the form; for a matrix, against the type and number of its registers.
    fn fits(&self, m: &Match, spec: &Spec, operand: &Operand, fragment: Option<(Type, usize)>) -> Fit {
        if operand.kind == OperandKind::Sink && spec.sink {
            return Ok(());
        }
        let expect = |fit: bool, wanted: &str| if fit { Ok(()) } else { Err(wanted.to_owned()) };
        match spec.kind {
            SlotKind::Value { ty, number, wider } => match ty.of(&m.types) {
                Some(ty) => self.value(operand, ty, number, wider),
                None => Ok(()),
            },
            SlotKind::Vector { count, ty, wider } => match ty.of(&m.types) {
                Some(ty) => self.vector(operand, count, ty, wider, spec),
                None => Ok(()),
            },
            SlotKind::Parts(ty) => match ty.of(&m.types) {
                Some(ty) => self.parts(operand, ty, spec.written),
                None => Ok(()),
            },
            SlotKind::Predicate => expect(self.is_predicate(operand, !spec.written), "a predicate"),
            SlotKind::WithPredicate { ty, always } => self.with_predicate(operand, ty.of(&m.types), always),
            SlotKind::Selected { ty, number } => self.selected(operand, ty.of(&m.types), number),
            SlotKind::Registers => match fragment {
                Some((ty, count)) if self.is_vector(operand) => self.vector(operand, count as u8, ty, false, spec),
                _ => expect(self.is_vector(operand), "a vector"),
            },
            SlotKind::Sink => expect(operand.kind == OperandKind::Sink, "the sink `_`"),
            SlotKind::Predicates => match &operand.kind {
                OperandKind::Pair(a, b) => {
                    let all = [a, b].into_iter().flatten().all(|&name| self.is_predicate_name(name));
                    expect(all, "two predicates")
                }
                _ => expect(self.is_predicate(operand, false), "a predicate"),
            },
            SlotKind::Address(space) => self.address(operand, space),
            SlotKind::Brackets => expect(
                matches!(operand.kind, OperandKind::Address(_) | OperandKind::Texture(_)),
                "operands in brackets",
            ),
            SlotKind::Image => {
                expect(matches!(operand.kind, OperandKind::Texture(_)), "an image and coordinates in brackets")
            }
            SlotKind::Barrier => self.limited(operand, "a barrier from 0 to 15", |n| n < 16),
            SlotKind::Multiple(of) => self.limited(operand, &format!("a multiple of {of}"), |n| n % u64::from(of) == 0),
            SlotKind::Integer => {
                let integer = matches!(operand.kind, OperandKind::Immediate(value) if value.int_bits().is_some());
                expect(integer, "an integer")
            }
            SlotKind::Symbol => expect(self.is_symbol(operand), "a variable or a function"),
            SlotKind::Special => self.special(operand, m),
            // The check of names finds other kinds than labels.
            SlotKind::Label => expect(matches!(operand.kind, OperandKind::Name(_)), "a label"),
            SlotKind::Any | SlotKind::Rest => Ok(()),
        }
    }

    /// A register of type `ty`, or a literal if `number`.
    fn value(&self, operand: &Operand, ty: Type, number: bool, wider: bool) -> Fit {
        let fits = match &operand.kind {
            OperandKind::Name(name) => match self.named(*name) {
                Named::Register(register, vector) => vector == 1 && agrees(ty, register, wider),
                Named::Unknown => true,
                Named::Special(Some(register)) => self.is_moved() && agrees(ty, register, wider),
                _ => false,
            },
            OperandKind::Component(name, _) | OperandKind::Offset(name, _) => match self.named(*name) {
                Named::Register(register, _) => agrees(ty, register, wider),
                Named::Unknown => true,
                Named::Special(Some(register)) => self.is_moved() && agrees(ty, register, wider),
                _ => false,
            },
            OperandKind::Immediate(value) => number && literal_agrees(*value, ty),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let literal = match number {
            true if literal_agrees(Immediate::Signed(0), ty) => " or an integer",
            true if literal_agrees(Immediate::F32(0), ty) => " or a floating-point number",
            _ => "",
        };
        Err(format!("{}{literal}", registers(ty, wider)))
    }

    /// Whether sources may be special registers: of moves and, in vectors, of stores.
    fn is_moved(&self) -> bool {
        self.opcode.name() == "mov" || self.opcode.name() == "st" && vector_length(|v| self.opcode.has(v)) > 1
    }

    fn vector(&self, operand: &Operand, count: u8, ty: Type, wider: bool, spec: &Spec) -> Fit {
        let by_modifier = vector_length(|v| self.opcode.has(v)) as u8;
        // A matrix instruction has its one register in braces, too.
        let scalar = count == 0 && by_modifier == 1;
        let count = if count == 0 { by_modifier } else { count };
        if scalar && !matches!(operand.kind, OperandKind::Vector(_)) {
            return self.value(operand, ty, !spec.written, wider);
        }
        let wanted = || format!("a vector of {count}, each {}", registers(ty, wider));
        match &operand.kind {
            OperandKind::Vector(items) => {
                if items.len() != usize::from(count) {
                    return Err(wanted());
                }
                let sink = |item: &Operand| spec.written && item.kind == OperandKind::Sink;
                let all = items.iter().all(|i| sink(i) || self.value(i, ty, !spec.written, wider).is_ok());
                if all && self.one_width(items) { Ok(()) } else { Err(wanted()) }
            }
            OperandKind::Name(name) => match self.named(*name) {
                Named::Register(register, vector) if vector == count && agrees(ty, register, wider) => Ok(()),
                Named::Unknown => Ok(()),
                _ => Err(wanted()),
            },
            _ => Err(wanted()),
        }
    }

    /// A register of 32 bits, or a number that satisfies `allowed`.
    fn limited(&self, operand: &Operand, wanted: &str, allowed: impl Fn(u64) -> bool) -> Fit {
        match &operand.kind {
            OperandKind::Immediate(value) if !value.int_bits().is_some_and(allowed) => Err(wanted.into()),
            _ => self.value(operand, Type::U32, true, false),
        }
    }

    fn register_bits(&self, operand: &Operand) -> Option<u32> {
        let (OperandKind::Name(name) | OperandKind::Component(name, _)) = &operand.kind else { return None };
        match self.named(*name) {
            Named::Register(ty, _) => Some(ty.bits()),
            _ => None,
        }
    }

    fn one_width(&self, items: &[Operand]) -> bool {
        let mut widths = items.iter().filter_map(|item| self.register_bits(item));
        let first = widths.next();
        widths.all(|bits| Some(bits) == first)
    }

    /// `{a, b}`, whose registers together have the bits of `ty`.
    fn parts(&self, operand: &Operand, ty: Type, written: bool) -> Fit {
        let wanted = || Err(format!("parts that have {} bits together", ty.bits()));
        let count = match &operand.kind {
            OperandKind::Vector(items) => {
                let sound = items.iter().all(|item| match &item.kind {
                    OperandKind::Sink => written,
                    OperandKind::Immediate(value) => !written && value.int_bits().is_some(),
                    OperandKind::Name(name) | OperandKind::Component(name, _) => {
                        !matches!(self.named(*name), Named::Register(Type::Pred, _) | Named::Variable(_) | Named::Label)
                    }
                    _ => false,
                });
                if !sound || !self.one_width(items) {
                    return wanted();
                }
                let bits = items.iter().find_map(|item| self.register_bits(item));
                return match bits {
                    Some(bits) if bits * items.len() as u32 != ty.bits() => wanted(),
                    _ => Ok(()),
                };
            }
            OperandKind::Name(name) => match self.named(*name) {
                Named::Register(register, vector @ 2..) => u32::from(vector) * register.bits(),
                Named::Unknown => return Ok(()),
                _ => 0,
            },
            _ => 0,
        };
        if count == ty.bits() { Ok(()) } else { wanted() }
    }

    fn is_predicate_name(&self, name: Sym) -> bool {
        matches!(self.named(name), Named::Register(Type::Pred, 1) | Named::Unknown)
    }

    fn is_predicate(&self, operand: &Operand, source: bool) -> bool {
        match &operand.kind {
            OperandKind::Name(name) => self.is_predicate_name(*name),
            OperandKind::Not(name) => source && self.is_predicate_name(*name),
            OperandKind::Immediate(value) => source && value.int_bits().is_some(),
            _ => false,
        }
    }

    /// A register, or a byte or half of it.
    fn selected(&self, operand: &Operand, ty: Option<Type>, number: bool) -> Fit {
        let Some(ty) = ty else { return Ok(()) };
        match &operand.kind {
            OperandKind::Selected(name, _) => match self.named(*name) {
                Named::Register(register, 1) if agrees(ty, register, false) => Ok(()),
                Named::Unknown => Ok(()),
                _ => Err(registers(ty, false)),
            },
            _ => self.value(operand, ty, number, false),
        }
    }

    fn is_vector(&self, operand: &Operand) -> bool {
        match &operand.kind {
            OperandKind::Vector(_) => true,
            OperandKind::Name(name) => matches!(self.named(*name), Named::Register(_, 2..) | Named::Unknown),
            _ => false,
        }
    }

    fn with_predicate(&self, operand: &Operand, ty: Option<Type>, always: bool) -> Fit {
        let Some(ty) = ty else { return Ok(()) };
        let OperandKind::Pair(d, p) = &operand.kind else {
            if always {
                return Err(format!("{} and a predicate, as in `d|p`,", registers(ty, false)));
            }
            return self.value(operand, ty, false, false);
        };
        let register = |name: Sym| match self.named(name) {
            Named::Register(register, 1) => agrees(ty, register, false),
            Named::Unknown => true,
            _ => false,
        };
        if d.is_none_or(register) && p.is_none_or(|p| self.is_predicate_name(p)) {
            return Ok(());
        }
        Err(format!("{} and a predicate", registers(ty, false)))
    }

    fn is_symbol(&self, operand: &Operand) -> bool {
        let (OperandKind::Name(name) | OperandKind::Offset(name, _) | OperandKind::Element(name, _)) = &operand.kind
        else {
            return false;
        };
        match self.named(*name) {
            Named::Variable(found) => self.space().is_none_or(|space| space == found),
            Named::Function => self.space().is_none(),
            Named::Unknown => true,
            _ => false,
        }
    }

    /// The state space among the modifiers.
    fn space(&self) -> Option<StateSpace> {
        let plain = |m: &str| StateSpace::from_name(m.split_once("::").map_or(m, |(plain, _)| plain));
        self.opcode.modifiers().iter().find_map(|m| plain(m))
    }

    fn special(&self, operand: &Operand, m: &Match) -> Fit {
        let ty = m.types[1].or(m.types[0]);
        let (OperandKind::Name(name) | OperandKind::Component(name, _)) = &operand.kind else {
            return Err("a special register".into());
        };
        let Named::Special(register) = self.named(*name) else { return Err("a special register".into()) };
        match (register, ty) {
            (Some(Type::Pred), Some(ty)) if ty != Type::Pred => Err("a predicate".into()),
            // The low half of a word is accepted, too.
            (Some(Type::U32), Some(ty)) if ty.bits() > 32 => {
                Err(format!("{}; this one has 32 bits: it takes `.u32`", registers(ty, false)))
            }
            (Some(Type::U64), Some(ty)) if ty.bits() != 64 => {
                Err(format!("{}; this one has 64 bits: it takes `.u64`", registers(ty, false)))
            }
            _ => Ok(()),
        }
    }

    fn address(&self, operand: &Operand, letter: u8) -> Fit {
        let wanted = "an address in brackets";
        let name = match &operand.kind {
            OperandKind::Address(Address { base: AddressBase::Name(name), .. }) => *name,
            OperandKind::Address(_) => return Ok(()),
            // `x[1]` is the address of an element, also without brackets around it.
            OperandKind::Element(name, index) if matches!(self.named(*name), Named::Variable(_) | Named::Unknown) => {
                if !matches!(index.kind, OperandKind::Immediate(_)) {
                    self.value(index, Type::U32, false, false)?;
                }
                *name
            }
            _ => return Err(wanted.into()),
        };
        let space = match letter {
            b'g' => Some(StateSpace::Global),
            b's' => Some(StateSpace::Shared),
            b'l' => Some(StateSpace::Local),
            b'c' => Some(StateSpace::Const),
            b'p' => Some(StateSpace::Param),
            _ => self.space(),
        };
        match (self.named(name), space) {
            (Named::Register(ty, vector), _) => {
                let integer = !ty.is_float() && ty != Type::Pred && vector == 1;
                if integer { Ok(()) } else { Err("an address in an integer register".into()) }
            }
            (Named::Variable(found), Some(space)) if found != space => Err(format!("an address in {space} memory")),
            (Named::Variable(StateSpace::Param), None) => Err("a generic address".into()),
            (Named::Special(_) | Named::Label, _) => Err(wanted.into()),
            _ => Ok(()),
        }
    }
}

/// An opcode for a message, shortened if it is very long.
pub(super) fn shown(opcode: &Opcode) -> String {
    cut(opcode.text())
}

pub(super) fn cut(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn describe(named: Named) -> String {
    match named {
        Named::Register(Type::Pred, _) => "a predicate".into(),
        Named::Register(ty, 1) => format!("a register of type {ty}"),
        Named::Register(ty, n) => format!("a vector of {n} registers of type {ty}"),
        Named::Special(_) => "a special register".into(),
        Named::Variable(space) => format!("a {space} variable"),
        Named::Function => "a function".into(),
        Named::Label => "a label".into(),
        Named::Unknown => "this".into(),
    }
}

/// Description of the registers that can hold a value of type `ty`.
fn registers(ty: Type, wider: bool) -> String {
    let all = [Type::B8, Type::B16, Type::B32, Type::B64, Type::B128];
    let bits = all.into_iter().find(|b| b.bits() == ty.bits() && *b != ty);
    let or_bits = bits.filter(|_| !ty.is_bits()).map_or(String::new(), |b| format!(" or {b}"));
    let wider = if wider { ", or a wider one" } else { "" };
    match ty {
        Type::Pred => "a predicate".into(),
        _ if ty.is_bits() => {
            format!("a register of {} bits{}", ty.bits(), if wider.is_empty() { "" } else { " or more" })
        }
        _ if !ty.is_float() && ty.bits() > 8 && !matches!(ty, Type::U16x2 | Type::S16x2) => {
            format!("an integer register of {} bits{wider}", ty.bits())
        }
        _ => format!("a register of type {ty}{or_bits}{wider}"),
    }
}
