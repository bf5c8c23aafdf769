//! Operands of instructions.

use super::{Parse, Parser};
use crate::ast::{Address, AddressBase, Operand, OperandKind};
use crate::diag::Diagnostic;
use crate::lexer::Tok;
use crate::names::Sym;
use crate::span::Span;
use crate::types::Component;

impl Parser<'_> {
    /// One operand. `lists` says whether `(…)` is a list, as in calls, and not an expression.
    pub(super) fn operand(&mut self, lists: bool) -> Parse<Operand> {
        let start = self.tok.start;
        let kind = match self.tok.kind {
            _ if self.starts_statement() => return Err(self.expected("an operand")),
            Tok::Ident => self.name_operand()?,
            Tok::LBracket => self.bracketed()?,
            Tok::LBrace => {
                self.bump();
                let items = self.separated(Tok::RBrace, "`}` of the vector", |p| p.nested(|p| p.operand(false)))?;
                OperandKind::Vector(items.into())
            }
            Tok::LParen if lists => {
                self.bump();
                let items = self.separated(Tok::RParen, "`)` of the list", |p| p.nested(|p| p.operand(false)))?;
                OperandKind::List(items.into())
            }
            Tok::Not => self.negated()?,
            Tok::Minus => self.negative()?,
            _ if self.at_constant() => OperandKind::Immediate(self.constant()?),
            _ => return Err(self.expected("an operand")),
        };
        Ok(Operand { kind, span: self.since(start) })
    }

    /// `!p`, or the logical negation of a constant.
    fn negated(&mut self) -> Parse<OperandKind> {
        let start = self.tok;
        self.bump();
        if self.at(Tok::Ident) && self.text(self.tok) != "WARP_SZ" {
            return Ok(OperandKind::Not(self.name("a predicate register")?.0));
        }
        // A constant after all: `!` binds tighter than any binary operator.
        let value = self.nested(Self::constant)?;
        match value.int_bits() {
            Some(bits) => Ok(OperandKind::Immediate(crate::ast::Immediate::Signed(i64::from(bits == 0)))),
            None => Err(self.error(start.span(), "this operator needs an integer")),
        }
    }

    /// `-r`, or a constant that starts with a minus.
    fn negative(&mut self) -> Parse<OperandKind> {
        let start = self.bump().start;
        if self.at(Tok::Ident) && self.text(self.tok) != "WARP_SZ" {
            return Ok(OperandKind::Negated(Box::new(self.nested(|p| p.operand(false))?)));
        }
        Ok(OperandKind::Immediate(self.negative_constant(start)?))
    }

    /// An operand that starts with a name.
    fn name_operand(&mut self) -> Parse<OperandKind> {
        let token = self.bump();
        let text = self.text(token);
        match self.tok.kind {
            Tok::Comma | Tok::Semi if text != "_" && text != "WARP_SZ" => {
                return Ok(OperandKind::Name(self.intern(token)));
            }
            Tok::Dot => return self.part_of(token.span()),
            Tok::Pipe => return self.pair(token.span()),
            _ => {}
        }
        match text {
            "_" => return Ok(OperandKind::Sink),
            "WARP_SZ" => {
                let value = crate::ast::Immediate::Unsigned(32);
                return Ok(OperandKind::Immediate(self.constant_from(value, token.start)?));
            }
            _ => {}
        }
        let name = self.intern(token);
        match self.tok.kind {
            Tok::Plus | Tok::Minus => {
                let offset = self.offset_tail()?;
                Ok(if offset == 0 { OperandKind::Name(name) } else { OperandKind::Offset(name, offset) })
            }
            Tok::LBracket => {
                self.bump();
                let index = self.nested(|p| p.operand(false))?;
                self.expect(Tok::RBracket, "`]`")?;
                Ok(OperandKind::Element(name, Box::new(index)))
            }
            _ => Ok(OperandKind::Name(name)),
        }
    }

    /// `.x`, `.b0` after a name.
    fn part_of(&mut self, name: Span) -> Parse<OperandKind> {
        let word = self.dot_word();
        let base = self.lexer.text.get(name.range()).unwrap_or("");
        let sym = self.module.names.intern(base);
        if let Some(component) = Component::from_any_name(word) {
            self.bump();
            return Ok(OperandKind::Component(sym, component));
        }
        if is_selector(word) {
            let selector = self.module.names.intern(word);
            self.bump();
            return Ok(OperandKind::Selected(sym, selector));
        }
        let message = format!("`.{word}` is not part of a register");
        Err(self.report(Diagnostic::error(self.tok.span(), message).hint("parts are `.x`, `.y`, `.z` and `.w`")))
    }

    /// `|q` after `p`.
    fn pair(&mut self, first: Span) -> Parse<OperandKind> {
        self.bump();
        let second = self.expect(Tok::Ident, "the second destination after `|`")?;
        let first_sym = self.name_or_sink(first);
        let second_sym = self.name_or_sink(second.span());
        if first_sym.is_none() && second_sym.is_none() {
            return Err(self.error(first.to(second.span()), "both destinations are thrown away"));
        }
        Ok(OperandKind::Pair(first_sym, second_sym))
    }

    fn name_or_sink(&mut self, span: Span) -> Option<Sym> {
        let text = self.lexer.text.get(span.range()).unwrap_or("_");
        (text != "_").then(|| self.module.names.intern(text))
    }

    /// `[base+offset]`, or several parts: `[tex, {x, y}]`.
    fn bracketed(&mut self) -> Parse<OperandKind> {
        self.bump();
        let start = self.tok.start;
        let address = self.address()?;
        if self.eat(Tok::RBracket) {
            return Ok(OperandKind::Address(address));
        }
        if !self.at(Tok::Comma) {
            return Err(self.expected("`]` of the address"));
        }
        let first = match address {
            Address { base: AddressBase::Name(name), offset: 0 } => OperandKind::Name(name),
            _ => OperandKind::Address(address),
        };
        let mut parts = vec![Operand { kind: first, span: self.since(start) }];
        while self.eat(Tok::Comma) {
            parts.push(self.nested(|p| p.operand(false))?);
        }
        self.expect(Tok::RBracket, "`]`")?;
        Ok(OperandKind::Texture(parts.into()))
    }

    fn address(&mut self) -> Parse<Address> {
        if self.at(Tok::Ident) && self.text(self.tok) != "WARP_SZ" {
            let (name, _) = self.name("a register or variable")?;
            let mut offset = 0;
            match self.tok.kind {
                Tok::Plus | Tok::Minus => offset = self.offset_tail()?,
                Tok::Ident => {
                    let hint = "an address is a register or variable plus a constant";
                    let message = format!("expected `]` of the address, found {}", self.found());
                    return Err(self.report(Diagnostic::error(self.tok.span(), message).hint(hint)));
                }
                _ => {}
            }
            return Ok(Address { base: AddressBase::Name(name), offset });
        }
        if !self.at_constant() {
            return Err(self.expected("an address"));
        }
        let start = self.tok.start;
        match self.constant()?.int_bits() {
            Some(bits) => Ok(Address { base: AddressBase::Absolute, offset: bits as i64 }),
            None => {
                let span = self.since(start);
                Err(self.error(span, "an address must be an integer"))
            }
        }
    }
}

/// Selectors and masks of video instructions: `b0`, `h1`, `b3210`, `h10`, `b210`.
fn is_selector(word: &str) -> bool {
    let (kind, digits) = word.split_at(word.len().min(1));
    let limit = match kind {
        "b" => b'7',
        "h" => b'3',
        _ => return false,
    };
    (1..=4).contains(&digits.len()) && digits.bytes().all(|d| (b'0'..=limit).contains(&d))
}
