//! Variables, parameters, registers, initialisers.

use super::{Parse, Parser};
use crate::ast::{Immediate, Init, InitValue, Pointer, RegisterName, Registers, Variable};
use crate::diag::Diagnostic;
use crate::lexer::Tok;
use crate::span::Span;
use crate::types::{Linkage, StateSpace, Type};
use kit::suggest;

/// Maximum number of names of one `name<count>`.
const MAX_NUMBERED: u32 = 1 << 24;

/// The part of a declaration before its names.
#[derive(Clone, Debug)]
pub(super) struct Specifiers {
    space: Option<StateSpace>,
    align: Option<u32>,
    vector: u8,
    ty: Option<Type>,
    ptr: Option<Pointer>,
    attributes: Vec<Box<str>>,
}

impl Parser<'_> {
    /// `.space .align n .type name = …, name …`, after the linkage. Does not take the `;`.
    pub(super) fn variables(&mut self, linkage: Option<Linkage>, start: u32) -> Parse<Vec<Variable>> {
        let specifiers = self.specifiers()?;
        let mut variables = Vec::new();
        loop {
            let mut variable = self.declarator(&specifiers, start)?;
            variable.linkage = linkage;
            if variable.name.is_none() {
                return Err(self.error(variable.name_span, "a variable must have a name"));
            }
            if self.eat(Tok::Assign) {
                variable.init = self.initial_value(variable.ty)?;
            }
            variable.span = self.since(start);
            self.check_size(&variable);
            variables.push(variable);
            if !self.eat(Tok::Comma) {
                return Ok(variables);
            }
        }
    }

    /// One parameter of a function or prototype.
    pub(super) fn parameter(&mut self) -> Parse<Variable> {
        let start = self.tok.start;
        let specifiers = self.specifiers()?;
        let variable = self.declarator(&specifiers, start)?;
        if !matches!(variable.space, StateSpace::Param | StateSpace::Reg) {
            let message = format!("a parameter cannot be in {}", variable.space);
            return Err(self.report(Diagnostic::error(variable.span, message).hint("use `.param` or `.reg`")));
        }
        self.check_size(&variable);
        Ok(variable)
    }

    /// `.reg .type names;`
    pub(super) fn registers(&mut self) -> Parse<Registers> {
        let start = self.tok.start;
        let specifiers = self.specifiers()?;
        let Some(ty) = specifiers.ty else { return Err(self.expected("a type such as `.b32`")) };
        let mut names = Vec::new();
        loop {
            let (name, span) = self.name("a register's name")?;
            let count = self.count()?;
            names.push(RegisterName { name, count, span: self.since(span.start) });
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.end_statement("the declaration")?;
        Ok(Registers { ty, vector: specifiers.vector, names, span: self.since(start) })
    }

    /// `<count>` after a name, if it follows.
    fn count(&mut self) -> Parse<Option<u32>> {
        if !self.eat(Tok::Lt) {
            return Ok(None);
        }
        // The bound is a bare number: `>` must not be read as a comparison.
        let token = self.expect(Tok::Number, "the number of registers")?;
        let value = self.literal(token)?.int_bits().filter(|&n| n <= u64::from(MAX_NUMBERED));
        self.expect(Tok::Gt, "`>`")?;
        match value {
            Some(n) => Ok(Some(n as u32)),
            None => Err(self.error(token.span(), format!("a number of names must be at most {MAX_NUMBERED}"))),
        }
    }

    /// Everything before the first name.
    fn specifiers(&mut self) -> Parse<Specifiers> {
        let mut s = Specifiers { space: None, align: None, vector: 1, ty: None, ptr: None, attributes: Vec::new() };
        while self.at(Tok::Dot) {
            self.specifier(&mut s)?;
        }
        Ok(s)
    }

    fn specifier(&mut self, s: &mut Specifiers) -> Parse<()> {
        let word = self.dot_word();
        let token = self.tok;
        if let Some(ty) = Type::from_name(word) {
            if s.ty.replace(ty).is_some() {
                return Err(self.error(token.span(), "a second type in one declaration"));
            }
            self.bump();
            return Ok(());
        }
        if let Some(space) = StateSpace::from_name(word) {
            self.bump();
            match &mut s.ptr {
                Some(ptr) => ptr.space = Some(space),
                None if s.space.is_none() => s.space = Some(space),
                None => return Err(self.error(token.span(), "a second state space in one declaration")),
            }
            return self.bank();
        }
        match word {
            "v2" | "v4" => {
                s.vector = word.as_bytes()[1] - b'0';
                self.bump();
            }
            "align" => {
                self.bump();
                let align = self.alignment()?;
                match &mut s.ptr {
                    Some(ptr) => ptr.align = Some(align),
                    None => s.align = Some(align),
                }
            }
            "ptr" => {
                self.bump();
                s.ptr = Some(Pointer { space: None, align: None });
            }
            // Of parameters that nvcc 13 adds to kernels.
            "hidden" => {
                self.bump();
            }
            "attribute" => {
                self.bump();
                s.attributes.extend(self.attribute()?);
            }
            _ => return Err(self.unknown_specifier(word)),
        }
        Ok(())
    }

    fn unknown_specifier(&mut self, word: &str) -> super::Failed {
        let mut diagnostic = Diagnostic::error(self.tok.span(), format!("unknown type or state space `.{word}`"));
        let known = Type::ALL.iter().map(|t| t.name()).chain(StateSpace::ALL.iter().map(|s| s.name()));
        if let Some(near) = suggest::nearest(word, known.chain(["align"])) {
            diagnostic = diagnostic.hint(format!("did you mean `.{near}`?"));
        }
        self.report(diagnostic)
    }

    /// The bank of `.const[2]`, a form of PTX 2.1 and before: read and ignored.
    fn bank(&mut self) -> Parse<()> {
        if self.at(Tok::LBracket) {
            let start = self.bump().start;
            self.unsigned("a bank number")?;
            self.expect(Tok::RBracket, "`]`")?;
            let span = self.since(start);
            self.report(Diagnostic::note(span, "bank of constant memory ignored"));
        }
        Ok(())
    }

    fn alignment(&mut self) -> Parse<u32> {
        let span = self.tok.span();
        let align = self.unsigned_u32("an alignment in bytes")?;
        if !align.is_power_of_two() {
            return Err(self.error(span, format!("alignment {align} is not a power of two")));
        }
        Ok(align)
    }

    /// `(.managed)` or `(.unified(…))` after `.attribute`, as texts.
    pub(super) fn attribute(&mut self) -> Parse<Vec<Box<str>>> {
        self.expect(Tok::LParen, "`(` of the attribute")?;
        let mut texts = Vec::new();
        loop {
            if !self.at(Tok::Dot) {
                return Err(self.expected("an attribute such as `.managed`"));
            }
            let first = self.bump();
            let mut text = self.text(first).to_owned();
            if self.eat(Tok::LParen) {
                let values = self.separated(Tok::RParen, "`)`", |p| p.unsigned("a number"))?;
                let values: Vec<String> = values.iter().map(u64::to_string).collect();
                text = format!("{text}({})", values.join(", "));
            }
            texts.push(text.into());
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.expect(Tok::RParen, "`)` of the attribute")?;
        Ok(texts)
    }

    /// One name with its count or dimensions.
    fn declarator(&mut self, s: &Specifiers, start: u32) -> Parse<Variable> {
        let Some(space) = s.space else { return Err(self.expected("a state space such as `.global`")) };
        let Some(ty) = s.ty else { return Err(self.expected("a type such as `.b32`")) };
        let (sym, name_span) = self.name("a name")?;
        let name = (self.module.names.text(sym) != "_").then_some(sym);
        let count = self.count()?;
        let mut dims = Vec::new();
        while self.eat(Tok::LBracket) {
            let dim = if self.at(Tok::RBracket) { None } else { Some(self.unsigned("a number of elements")?) };
            let bracket = self.expect(Tok::RBracket, "`]`")?;
            if dim.is_none() && !dims.is_empty() {
                self.error(bracket.span(), "only the first dimension can be left open");
            }
            dims.push(dim);
        }
        Ok(Variable {
            space,
            linkage: None,
            align: s.align,
            vector: s.vector,
            ty,
            name,
            count,
            dims,
            ptr: s.ptr,
            attributes: s.attributes.clone(),
            init: None,
            name_span,
            span: self.since(start),
        })
    }

    /// Refuses sizes that no address can reach.
    fn check_size(&mut self, variable: &Variable) {
        if variable.bytes().is_none_or(|bytes| bytes > 1 << 40) {
            self.error(variable.name_span, "this variable is larger than a terabyte");
        }
    }

    /// The text after `=`. The fields of a sampler or texture (`{filter_mode = nearest}`) are ignored.
    fn initial_value(&mut self, ty: Type) -> Parse<Option<Init>> {
        let opaque = matches!(ty, Type::Texref | Type::Samplerref | Type::Surfref);
        if !(opaque && self.at(Tok::LBrace)) {
            return self.initialiser().map(Some);
        }
        let span = self.tok.span();
        if !self.skip_braces() {
            return Err(self.error(span, "this `{` is never closed"));
        }
        self.report(Diagnostic::note(span, format!("fields of the {ty} ignored")));
        Ok(None)
    }

    fn initialiser(&mut self) -> Parse<Init> {
        let start = self.tok.start;
        if self.eat(Tok::LBrace) {
            let list = self.separated(Tok::RBrace, "`}` of the initialiser", |p| p.nested(Self::initialiser))?;
            return Ok(Init::List(list, self.since(start)));
        }
        let value = self.init_value()?;
        Ok(Init::Value(value, self.since(start)))
    }

    fn init_value(&mut self) -> Parse<InitValue> {
        if self.at_constant() {
            let number = self.constant()?;
            let mask = match number {
                Immediate::Signed(v) => Some(v as u64),
                Immediate::Unsigned(v) => Some(v),
                Immediate::F32(_) | Immediate::F64(_) => None,
            };
            if mask.is_some() && self.eat(Tok::LParen) {
                let address = self.init_address(mask)?;
                self.expect(Tok::RParen, "`)`")?;
                return Ok(address);
            }
            return Ok(InitValue::Number(number));
        }
        self.init_address(None)
    }

    /// `symbol+4`, `generic(symbol)+4`
    fn init_address(&mut self, mask: Option<u64>) -> Parse<InitValue> {
        let (mut symbol, span) = self.name("a number, a variable or a function")?;
        let mut generic = false;
        if self.at(Tok::LParen) {
            if self.module.names.text(symbol) != "generic" {
                return Err(self.report(
                    Diagnostic::error(span, "only `generic(…)` can be applied to a symbol")
                        .hint("write `generic(name)`"),
                ));
            }
            self.bump();
            symbol = self.name("a variable or a function")?.0;
            self.expect(Tok::RParen, "`)`")?;
            generic = true;
        }
        let offset = self.offset_tail()?;
        Ok(InitValue::Address { symbol, offset, generic, mask })
    }

    /// The `+4` or `-8` or `+ -4` after a symbol, as often as it comes; 0 if it does not.
    pub(super) fn offset_tail(&mut self) -> Parse<i64> {
        let mut offset = 0_i64;
        while let Tok::Plus | Tok::Minus = self.tok.kind {
            let negative = self.bump().kind == Tok::Minus;
            let start = self.tok.start;
            if self.at(Tok::Ident) && !self.at_constant() {
                let message = format!("expected a number, found {}", self.found());
                let hint = "an address is one register or variable, plus or minus a constant";
                return Err(self.report(Diagnostic::error(self.tok.span(), message).hint(hint)));
            }
            let Some(bits) = self.address_term()?.int_bits() else {
                let span: Span = self.since(start);
                return Err(self.error(span, "an offset must be an integer"));
            };
            let term = bits as i64;
            offset = if negative { offset.wrapping_sub(term) } else { offset.wrapping_add(term) };
        }
        Ok(offset)
    }
}
