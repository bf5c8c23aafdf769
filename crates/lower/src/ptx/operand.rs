//! Operands.

use super::function::FunctionLowering;
use super::scope::Lowered;
use super::scope::{Local, ModuleName};
use exec::access::Address;
use exec::int::Int2;
use exec::kernel::function_address;
use exec::lanes::{Pred, Reg};
use exec::memory::{PARAM_WINDOW, SHARED_WINDOW};
use exec::op::Op;
use isa::Space;
use ptx::ast::{self, AddressBase, Immediate, Operand, OperandKind};
use ptx::{Component, Diagnostic, Span, Sym, Type};

/// The address of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    /// In device memory, or of a function.
    Device {
        address: u64,
        constant: bool,
    },
    Shared {
        offset: Option<u32>,
    },
    Frame {
        offset: u32,
    },
    /// Of a kernel parameter.
    Param {
        offset: u32,
    },
    /// A texture or surface reference: where its handle is. The handle is its value.
    Reference {
        address: u64,
    },
}

/// A register of the PTX text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub reg: Reg,
    pub ty: Type,
}

pub(super) fn error(span: Span, what: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(span, what))
}

impl FunctionLowering<'_, '_> {
    fn text(&self, name: Sym) -> &str {
        self.b.scope.ast.name(name)
    }

    /// Reports an error unless there are `count` operands.
    pub fn expect(&self, o: &[Operand], count: usize) -> Lowered<()> {
        self.expect_between(o, count, count)
    }

    /// Reports an error unless the number of operands is in a range.
    pub fn expect_between(&self, o: &[Operand], least: usize, most: usize) -> Lowered<()> {
        if (least..=most).contains(&o.len()) {
            return Ok(());
        }
        let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Err(self.problem(format!("{wanted} operands expected here, not {}", o.len())))
    }

    /// The register `name`; `None` if it is something else.
    pub fn register_named(&mut self, name: Sym, component: Option<Component>, span: Span) -> Lowered<Option<Register>> {
        let Some(Ok((Local::Registers { declaration, ty, vector }, number))) = self.resolve(name) else {
            return Ok(None);
        };
        if ty == Type::Pred {
            return Err(error(span, format!("`{}` is a predicate; a register is needed here", self.text(name))));
        }
        let element = match component {
            Some(c) if c.index() < vector as usize => c.index() as u8,
            Some(c) => return Err(error(span, format!("`{}` has no element {c}", self.text(name)))),
            None if vector > 1 => {
                return Err(error(span, format!("`{}` is a vector; name one of its elements", self.text(name))));
            }
            None => 0,
        };
        if ty.bits() > 64 {
            return Err(error(span, "registers of 128 bits are not executable"));
        }
        let reg = self.register((declaration, number.unwrap_or(0), element), ty);
        Ok(Some(Register { reg, ty }))
    }

    /// The predicate `name`.
    pub fn pred_named(&mut self, name: Sym, span: Span) -> Lowered<Pred> {
        match self.resolve(name) {
            Some(Ok((Local::Registers { declaration, ty: Type::Pred, .. }, number))) => {
                Ok(self.predicate((declaration, number.unwrap_or(0))))
            }
            Some(_) => Err(error(span, format!("`{}` is not a predicate", self.text(name)))),
            None => Err(error(span, format!("`{}` is not declared", self.text(name)))),
        }
    }

    pub fn any_register(&mut self, o: &Operand) -> Lowered<Register> {
        let found = match &o.kind {
            OperandKind::Name(name) => self.register_named(*name, None, o.span)?,
            OperandKind::Component(name, c) => self.register_named(*name, Some(*c), o.span)?,
            _ => None,
        };
        if let (None, OperandKind::Name(name)) = (&found, &o.kind)
            && self.resolve(*name).is_none()
            && !self.text(*name).starts_with('%')
        {
            return Err(error(o.span, format!("`{}` is not declared", self.text(*name))));
        }
        found.ok_or_else(|| error(o.span, "a register is needed here"))
    }

    /// A destination of type `ty`.
    pub fn dst(&mut self, o: &Operand, ty: Type) -> Lowered<Reg> {
        if o.kind == OperandKind::Sink {
            return Ok(self.b.new_register(ty.bits().div_ceil(32)));
        }
        let r = self.any_register(o)?;
        self.check_width(r, ty, o.span)?;
        Ok(r.reg)
    }

    fn check_width(&self, r: Register, ty: Type, span: Span) -> Lowered<()> {
        let (have, want) = (r.ty.bits().max(16), ty.bits().max(16));
        if have == want {
            return Ok(());
        }
        Err(error(span, format!("a register of {want} bits is needed here, not of {have}")))
    }

    /// A source operand of type `ty`.
    pub fn src(&mut self, o: &Operand, ty: Type) -> Lowered<Reg> {
        match &o.kind {
            OperandKind::Immediate(value) => self.immediate(*value, ty, o.span),
            OperandKind::Name(name) | OperandKind::Offset(name, _) => {
                let offset = if let OperandKind::Offset(_, offset) = o.kind { offset } else { 0 };
                if let Some(r) = self.register_named(*name, None, o.span)? {
                    self.check_width(r, ty, o.span)?;
                    return if offset == 0 { Ok(r.reg) } else { self.register_plus(r, offset, o) };
                }
                if let Some(r) = self.special_source(o) {
                    return Ok(r.reg);
                }
                if self.text(*name) == "WARP_SZ" {
                    return Ok(self.b.constant(32, ty.bits() > 32));
                }
                self.variable_address(*name, offset, ty, o.span)
            }
            OperandKind::Element(name, index) => {
                let OperandKind::Immediate(value) = index.kind else {
                    return Err(error(o.span, "the address of an element needs a constant index here"));
                };
                let offset = self.element_offset(*name, value, o.span)?;
                self.variable_address(*name, offset, ty, o.span)
            }
            _ => {
                if let Some(r) = self.special_source(o) {
                    return Ok(r.reg);
                }
                let r = self.any_register(o)?;
                self.check_width(r, ty, o.span)?;
                Ok(r.reg)
            }
        }
    }

    /// The address of a variable plus an offset, as a constant.
    fn variable_address(&mut self, name: Sym, offset: i64, ty: Type, span: Span) -> Lowered<Reg> {
        match self.module_symbol(name, span)? {
            Symbol::Device { address, .. } => Ok(self.b.constant(address.wrapping_add_signed(offset), ty.bits() > 32)),
            Symbol::Shared { offset: at } => Ok(self.b.shared_address(at, offset, ty.bits() > 32)),
            Symbol::Param { offset: at } => {
                Ok(self.b.constant(u64::from(at).wrapping_add_signed(offset), ty.bits() > 32))
            }
            Symbol::Reference { address } => self.reference(address, offset, ty, span),
            Symbol::Frame { .. } => Err(error(span, "the address of a local variable must be moved first")),
        }
    }

    /// Bytes from the start of the variable `name` to its element `index`.
    fn element_offset(&self, name: Sym, index: Immediate, span: Span) -> Lowered<i64> {
        let index = index.int_bits().ok_or_else(|| error(span, "an index must be an integer"))?;
        Ok((index as i64).wrapping_mul(self.element_bytes(name, span)? as i64))
    }

    fn element_bytes(&self, name: Sym, span: Span) -> Lowered<u64> {
        let local = self.elements.lookup(&self.b.scope.ast.names, name).map(|(&bytes, _)| bytes);
        let bytes = local.or_else(|| self.b.scope.elements.get(&name).copied());
        bytes.ok_or_else(|| error(span, format!("`{}` is not a variable with elements", self.text(name))))
    }

    /// The address `name[index]`, where the index is an unsigned word in a register.
    fn indexed(&mut self, name: Sym, index: &Operand, span: Span) -> Lowered<(Address, Option<Space>)> {
        let bytes = self.element_bytes(name, span)?;
        let start = OperandKind::Address(ast::Address { base: AddressBase::Name(name), offset: 0 });
        let (mut address, space) = self.address(&Operand { kind: start, span })?;
        let index = self.src(index, Type::U32)?;
        let (product, sum) = (self.b.new_register(2), self.b.new_register(2));
        let size = self.b.constant(bytes, false);
        self.push(Op::Int2(Int2::MulWideU32, product, [index, size]), "mul; the index of the next instruction".into());
        self.push(
            Op::Int2(Int2::Add64, sum, [address.base, product]),
            "add; the element of the next instruction".into(),
        );
        address.base = sum;
        Ok((address, space))
    }

    /// A register of 16 or 32 bits, extended with zeros to 32 or 64.
    pub fn extended(&mut self, register: Reg, to: u32) -> Reg {
        let d = self.b.new_register(to / 32);
        let text = "cvt; the address of the next instruction".into();
        if to == 32 {
            let mask = self.b.constant(0xffff, false);
            self.push(Op::Int2(Int2::And32, d, [register, mask]), text);
        } else {
            let zero = self.b.constant(0, false);
            self.push(Op::Pack { d, s: [register, zero, zero, zero], parts: 2, bits: 32 }, text);
        }
        d
    }

    /// A special register as a source of something else than a move of it: a separate instruction reads it.
    pub fn special_source(&mut self, o: &Operand) -> Option<Register> {
        let special = self.special(o)?;
        let columns = u32::from(special.columns());
        let reg = self.b.new_register(columns);
        let text = format!("mov; {} of the next instruction", ptx::print_operand(self.b.scope.ast, o));
        self.push(Op::Special(special, reg), text);
        Some(Register { reg, ty: if columns == 2 { Type::U64 } else { Type::U32 } })
    }

    /// The handle of a texture or surface reference.
    fn reference(&mut self, address: u64, offset: i64, ty: Type, span: Span) -> Lowered<Reg> {
        if offset != 0 || ty.bits() != 64 {
            return Err(error(span, "a texture or surface reference is used here as something else"));
        }
        Ok(self.b.handle(address))
    }

    /// `%r1+4` outside an address: the sum, which a separate instruction computes.
    fn register_plus(&mut self, r: Register, offset: i64, o: &Operand) -> Lowered<Reg> {
        if r.ty.is_float() {
            return Err(error(o.span, "an offset on a floating-point register is not executable"));
        }
        let (op, columns) = match r.ty.bits() {
            64 => (Int2::Add64, 2),
            32 => (Int2::Add32, 1),
            _ => (Int2::Add16, 1),
        };
        let d = self.b.new_register(columns);
        let addend = self.b.constant(offset as u64, columns == 2);
        let text = format!("add; {} of the next instruction", ptx::print_operand(self.b.scope.ast, o));
        self.push(Op::Int2(op, d, [r.reg, addend]), text);
        Ok(d)
    }

    /// A literal of type `ty`, as a constant.
    pub fn immediate(&mut self, value: Immediate, ty: Type, span: Span) -> Lowered<Reg> {
        let bits = value.bits_as(ty).or_else(|| half_bits(value, ty));
        let bits = bits.ok_or_else(|| error(span, format!("this literal cannot be a {ty} value")))?;
        Ok(self.b.constant(bits, ty.bits() > 32))
    }

    /// Several sources of the same type.
    pub fn srcs<const N: usize>(&mut self, o: &[Operand], ty: Type) -> Lowered<[Reg; N]> {
        let mut out = [Reg(0); N];
        for (reg, operand) in out.iter_mut().zip(o) {
            *reg = self.src(operand, ty)?;
        }
        Ok(out)
    }

    /// A predicate source: a predicate, its negation, or a literal truth value.
    pub fn pred_src(&mut self, o: &Operand) -> Lowered<Pred> {
        match &o.kind {
            OperandKind::Name(name) => self.pred_named(*name, o.span),
            OperandKind::Not(name) => Ok(self.pred_named(*name, o.span)?.not()),
            OperandKind::Immediate(value) => match value.int_bits() {
                Some(0) => Ok(Pred::TRUE.not()),
                Some(_) => Ok(Pred::TRUE),
                None => Err(error(o.span, "a predicate is needed here")),
            },
            _ => Err(error(o.span, "a predicate is needed here")),
        }
    }

    pub fn pred_dst(&mut self, o: &Operand) -> Lowered<Pred> {
        match &o.kind {
            OperandKind::Name(name) => self.pred_named(*name, o.span),
            OperandKind::Sink => Ok(Pred::TRUE),
            _ => Err(error(o.span, "a predicate is needed here")),
        }
    }

    /// `d|p`: a register and a predicate destination; or only the register.
    pub fn dst_and_pred(&mut self, o: &Operand, ty: Type) -> Lowered<(Reg, Pred)> {
        match &o.kind {
            OperandKind::Pair(d, p) => {
                let d = match d {
                    Some(d) => {
                        let r = self.register_named(*d, None, o.span)?;
                        let r = r.ok_or_else(|| error(o.span, "a register is needed here"))?;
                        self.check_width(r, ty, o.span)?;
                        r.reg
                    }
                    None => self.b.new_register(1),
                };
                let p = p.map_or(Ok(Pred::TRUE), |p| self.pred_named(p, o.span))?;
                Ok((d, p))
            }
            _ => Ok((self.dst(o, ty)?, Pred::TRUE)),
        }
    }

    /// The parts of `{a, b}` or of a vector register; `None` for any other operand.
    pub fn vector_parts(&self, o: &Operand) -> Option<Vec<Operand>> {
        match &o.kind {
            OperandKind::Vector(parts) => Some(parts.to_vec()),
            OperandKind::Name(name) => {
                let Some(Ok((Local::Registers { vector: vector @ 2.., .. }, _))) = self.resolve(*name) else {
                    return None;
                };
                let element = |&c: &Component| Operand { kind: OperandKind::Component(*name, c), span: o.span };
                let count = (vector as usize).min(Component::ALL.len());
                Some(Component::ALL[..count].iter().map(element).collect())
            }
            _ => None,
        }
    }

    /// The parts of `{a, b}`, of a vector register, or a single operand.
    pub fn parts(&self, o: &Operand) -> Vec<Operand> {
        self.vector_parts(o).unwrap_or_else(|| vec![o.clone()])
    }

    /// The variable or function `name`.
    pub fn symbol(&self, name: Sym, span: Span) -> Lowered<Symbol> {
        match self.resolve(name) {
            Some(Ok((Local::Frame { offset, .. }, _))) => Ok(Symbol::Frame { offset }),
            Some(Ok((Local::Param { offset }, _))) => Ok(Symbol::Param { offset }),
            Some(Ok((Local::Shared { offset }, _))) => Ok(Symbol::Shared { offset }),
            Some(Ok((Local::Device { address, constant }, _))) => Ok(Symbol::Device { address, constant }),
            Some(Ok(_)) => Err(error(span, format!("`{}` has no address", self.text(name)))),
            Some(Err(ModuleName::Device { address, constant })) => Ok(Symbol::Device { address, constant }),
            Some(Err(ModuleName::Function(index))) => {
                Ok(Symbol::Device { address: function_address(index), constant: true })
            }
            Some(Err(ModuleName::Reference(address))) => Ok(Symbol::Reference { address }),
            Some(Err(ModuleName::Unusable(why))) => Err(error(span, why)),
            // `module_symbol` places shared variables.
            Some(Err(ModuleName::Shared(_))) => Err(error(span, "shared variable")),
            None if self.text(name).starts_with('%') => Err(error(
                span,
                format!("`{}` is not a register, or a special one that must be moved first", self.text(name)),
            )),
            None => Err(error(span, format!("`{}` is not declared", self.text(name)))),
        }
    }

    /// As [`Self::symbol`]; places shared variables of the module that were not used before.
    pub fn module_symbol(&mut self, name: Sym, span: Span) -> Lowered<Symbol> {
        if let Some(Err(ModuleName::Shared(item))) = self.resolve(name)
            && let ast::Item::Variable(v) = &self.b.scope.ast.items[item]
        {
            let offset = self.b.shared_offset(item, v)?;
            return Ok(Symbol::Shared { offset });
        }
        self.symbol(name, span)
    }

    /// An address operand, and the space of its base if that is a variable.
    pub fn address(&mut self, o: &Operand) -> Lowered<(Address, Option<Space>)> {
        let element;
        let a = match &o.kind {
            OperandKind::Address(a) => a,
            OperandKind::Element(name, index) => {
                let OperandKind::Immediate(value) = index.kind else { return self.indexed(*name, index, o.span) };
                let offset = self.element_offset(*name, value, o.span)?;
                element = ast::Address { base: AddressBase::Name(*name), offset };
                &element
            }
            _ => return Err(error(o.span, "an address in brackets is needed here")),
        };
        let register = match a.base {
            AddressBase::Absolute => {
                let base = self.b.constant(a.offset as u64, true);
                return Ok((Address { base, wide: true, frame: false, offset: 0 }, None));
            }
            AddressBase::Name(name) => (name, self.register_named(name, None, o.span)?),
        };
        if let (_, Some(r)) = register {
            let (base, wide) = match r.ty.bits() {
                64 => (r.reg, true),
                32 => (r.reg, false),
                16 => (self.extended(r.reg, 32), false),
                bits => return Err(error(o.span, format!("an address has 16, 32 or 64 bits, not {bits}"))),
            };
            return Ok((Address { base, wide, frame: false, offset: a.offset }, None));
        }
        let fixed = |base, frame| Address { base, wide: true, frame, offset: 0 };
        Ok(match self.module_symbol(register.0, o.span)? {
            Symbol::Device { address, constant } => {
                let base = self.b.constant(address.wrapping_add_signed(a.offset), true);
                (fixed(base, false), Some(if constant { Space::Constant } else { Space::Global }))
            }
            Symbol::Shared { offset } => {
                (fixed(self.b.shared_address(offset, a.offset, true), false), Some(Space::Shared))
            }
            Symbol::Frame { offset } => {
                let base = self.b.constant(u64::from(offset).wrapping_add_signed(a.offset), true);
                (fixed(base, true), Some(Space::Local))
            }
            Symbol::Param { offset } => {
                let base = self.b.constant(u64::from(offset).wrapping_add_signed(a.offset), true);
                (fixed(base, false), Some(Space::Param))
            }
            Symbol::Reference { address } => {
                (fixed(self.reference(address, a.offset, Type::B64, o.span)?, false), Some(Space::Texture))
            }
        })
    }

    /// As [`Self::address`], in the generic address space: adds the window of a variable.
    pub fn generic_address(&mut self, o: &Operand) -> Lowered<Address> {
        let (mut address, space) = self.address(o)?;
        address.offset += match space {
            Some(Space::Shared) => SHARED_WINDOW as i64,
            Some(Space::Local) => exec::memory::LOCAL_WINDOW as i64,
            Some(Space::Param) => PARAM_WINDOW as i64,
            _ => 0,
        };
        Ok(address)
    }
}

/// The bits of a floating-point literal as f16 or bf16; of a packed type, only zero.
fn half_bits(value: Immediate, ty: Type) -> Option<u64> {
    let x = value.float()?;
    let round = num::Rounding::NearestEven;
    match ty {
        Type::F16 => Some(u64::from(num::half::from_f64::<num::half::F16>(x, round))),
        Type::Bf16 => Some(u64::from(num::half::from_f64::<num::half::Bf16>(x, round))),
        _ => None,
    }
}
