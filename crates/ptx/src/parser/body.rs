//! Statements of a function's body.

use super::{Parse, Parser, PendingLoc, dialect};
use crate::ast::{Block, Guard, Inlined, Instruction, Label, Loc, LocId, Statement, Targets};
use crate::diag::Diagnostic;
use crate::lexer::{Tok, Token};
use crate::names::{OpcodeId, Sym};
use crate::types::{Linkage, StateSpace};
use kit::suggest;
use std::borrow::Cow;

/// Directives that can start a statement.
const DIRECTIVES: &[&str] =
    &["reg", "local", "shared", "param", "const", "global", "loc", "pragma", "extern", "section"];

impl Parser<'_> {
    /// `{ … }`; its `{` comes next. Reports its own errors. `whole_body` is false in a nested scope.
    pub(super) fn block(&mut self, whole_body: bool) -> Block {
        let open = self.bump();
        let mut statements = Vec::new();
        loop {
            match self.tok.kind {
                Tok::RBrace => {
                    self.bump();
                    break;
                }
                Tok::End => {
                    self.unclosed(open, whole_body, "is the file truncated?");
                    break;
                }
                Tok::Dot if self.tok.starts_line && self.at_item() => {
                    let hint = format!("add `}}` before {}", self.found());
                    self.unclosed(open, whole_body, &hint);
                    break;
                }
                _ => self.statement_or_recover(&mut statements),
            }
        }
        statements.shrink_to_fit();
        Block { statements, span: self.since(open.start) }
    }

    fn at_item(&self) -> bool {
        super::starts_item(self.dot_word()) && !self.at_dot("section")
    }

    /// Reports a missing `}` once for the body, not for each scope in it.
    fn unclosed(&mut self, open: Token, whole_body: bool, hint: &str) {
        if whole_body {
            self.report(Diagnostic::error(open.span(), "this `{` is never closed").hint(hint));
        }
    }

    fn statement_or_recover(&mut self, statements: &mut Vec<Statement>) {
        let before = self.tok.start;
        if self.statement(statements).is_err() {
            if self.tok.start == before && !matches!(self.tok.kind, Tok::RBrace | Tok::End) {
                self.bump();
            }
            self.recover();
        }
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Parse<()> {
        match self.tok.kind {
            Tok::Ident => self.label_or_instruction(statements),
            Tok::At => {
                let start = self.tok.start;
                let guard = self.guard()?;
                let opcode = self.opcode("an instruction after the guard")?;
                self.instruction(Some(guard), opcode, start, statements)
            }
            Tok::Dot => self.directive(statements),
            Tok::LBrace => {
                let block = self.nested(|p| Ok(p.block(false)));
                if block.is_err() {
                    self.skip_braces();
                }
                statements.extend(block.map(Statement::Block));
                Ok(())
            }
            Tok::Semi => {
                self.bump();
                Ok(())
            }
            _ => Err(self.expected("an instruction, a label or a directive")),
        }
    }

    fn label_or_instruction(&mut self, statements: &mut Vec<Statement>) -> Parse<()> {
        let token = self.bump();
        if self.at(Tok::Colon) {
            self.bump();
            let name = self.intern(token);
            return self.labelled(name, token, statements);
        }
        let opcode = self.opcode_from(token);
        self.instruction(None, opcode, token.start, statements)
    }

    /// The text after `name:`: a list of targets, a prototype, or nothing that belongs to it.
    fn labelled(&mut self, label: Sym, token: Token, statements: &mut Vec<Statement>) -> Parse<()> {
        let start = token.start;
        if self.at_dot("branchtargets") {
            let targets = self.targets(label, start)?;
            statements.push(Statement::BranchTargets(targets));
        } else if self.at_dot("calltargets") {
            let targets = self.targets(label, start)?;
            statements.push(Statement::CallTargets(targets));
        } else if self.at_dot("callprototype") {
            let prototype = self.call_prototype(label, start)?;
            statements.push(Statement::CallPrototype(Box::new(prototype)));
        } else {
            statements.push(Statement::Label(Label { name: label, span: token.span() }));
        }
        Ok(())
    }

    fn targets(&mut self, label: Sym, start: u32) -> Parse<Targets> {
        self.bump();
        let mut targets = vec![self.name("a target")?];
        while self.eat(Tok::Comma) {
            targets.push(self.name("a target")?);
        }
        self.end_statement("the targets")?;
        Ok(Targets { label, targets, span: self.since(start) })
    }

    fn directive(&mut self, statements: &mut Vec<Statement>) -> Parse<()> {
        let start = self.tok.start;
        match self.dot_word() {
            "loc" => self.loc_directive(),
            "reg" => {
                let registers = self.registers()?;
                statements.push(Statement::Registers(registers));
                Ok(())
            }
            "pragma" => {
                let pragma = self.pragma()?;
                statements.push(Statement::Pragma(pragma));
                Ok(())
            }
            "section" => self.section(),
            "file" => self.file(),
            "branchtargets" | "calltargets" | "callprototype" => {
                let message = format!("{} needs a label before it", self.found());
                Err(self.report(Diagnostic::error(self.tok.span(), message).hint("write `name: .branchtargets …;`")))
            }
            word => {
                let linkage = Linkage::from_name(word);
                if linkage.is_none() && StateSpace::from_name(word).is_none() {
                    return self.unknown_in_body(word);
                }
                if linkage.is_some() {
                    self.bump();
                }
                let variables = self.variables(linkage, start)?;
                self.end_statement("the declaration")?;
                statements.extend(variables.into_iter().map(|v| Statement::Variable(Box::new(v))));
                Ok(())
            }
        }
    }

    /// An unknown directive: a note, or an error if it is a misspelt known one.
    fn unknown_in_body(&mut self, word: &str) -> Parse<()> {
        if let Some(near) = suggest::nearest(word, DIRECTIVES.iter().copied()) {
            let message = format!("unknown directive `.{word}`");
            let hint = format!("did you mean `.{near}`?");
            return Err(self.report(Diagnostic::error(self.tok.span(), message).hint(hint)));
        }
        self.unknown_directive()
    }

    /// `.loc file line column`, with `, function_name label+n, inlined_at file line column`.
    fn loc_directive(&mut self) -> Parse<()> {
        let start = self.bump().start;
        let file = self.plain_u32("a file number")?;
        let line = self.plain_u32("a line number")?;
        let column = if self.at(Tok::Number) && !self.tok.starts_line { self.plain_u32("a column")? } else { 0 };
        let (mut inlined, mut function) = (None, None);
        if self.eat(Tok::Comma) {
            let (place, name) = self.inlined()?;
            (inlined, function) = (Some(place), Some(name));
        }
        self.eat(Tok::Semi);
        let span = self.since(start);
        self.loc = PendingLoc::New(Loc { file, line, column, inlined, span }, function);
        Ok(())
    }

    /// The place of inlining, and the token that names its function. It becomes a name only with the first
    /// instruction to which the place applies.
    fn inlined(&mut self) -> Parse<(Inlined, Token)> {
        self.keyword("function_name")?;
        let name = self.expect(Tok::Ident, "a label of the debug section")?;
        let offset = self.offset_tail()?;
        self.expect(Tok::Comma, "`, inlined_at`")?;
        self.keyword("inlined_at")?;
        let file = self.plain_u32("a file number")?;
        let line = self.plain_u32("a line number")?;
        let column = self.plain_u32("a column")?;
        Ok((Inlined { function: Sym::default(), offset, file, line, column }, name))
    }

    fn keyword(&mut self, word: &str) -> Parse<()> {
        if self.at(Tok::Ident) && self.text(self.tok) == word {
            self.bump();
            return Ok(());
        }
        Err(self.expected(&format!("`{word}`")))
    }

    /// A number that is not an expression: several of them follow one another.
    fn plain_u32(&mut self, what: &str) -> Parse<u32> {
        let token = self.expect(Tok::Number, what)?;
        let value = self.literal(token)?;
        match value.int_bits().and_then(|v| u32::try_from(v).ok()) {
            Some(value) => Ok(value),
            None => Err(self.error(token.span(), format!("expected {what}"))),
        }
    }

    /// `@p` or `@!p`
    fn guard(&mut self) -> Parse<Guard> {
        let start = self.bump().start;
        let negated = self.eat(Tok::Not);
        let (register, _) = self.name("a predicate register after `@`")?;
        Ok(Guard { register, negated, span: self.since(start) })
    }

    fn opcode(&mut self, what: &str) -> Parse<OpcodeId> {
        let token = self.expect(Tok::Ident, what)?;
        Ok(self.opcode_from(token))
    }

    /// The opcode that starts with `token`, which has been taken, and its modifiers.
    fn opcode_from(&mut self, token: Token) -> OpcodeId {
        let mut end = token.end;
        let mut contiguous = true;
        while self.at(Tok::Dot) {
            contiguous &= self.tok.start == end;
            end = self.bump().end;
        }
        let text = &self.lexer.text[token.start as usize..end as usize];
        let text: Cow<'_, str> = if contiguous { text.into() } else { without_blanks(text).into() };
        match dialect::with_implied(&text, self.module.version, self.module.target_sm()) {
            Some(explicit) => self.module.opcodes.intern(&explicit),
            None => self.module.opcodes.intern(&text),
        }
    }

    /// Operands and `;` after the opcode.
    fn instruction(
        &mut self,
        guard: Option<Guard>,
        opcode: OpcodeId,
        start: u32,
        statements: &mut Vec<Statement>,
    ) -> Parse<()> {
        let is_call = self.module.opcodes.get(opcode).name() == "call";
        let mut operands = Vec::with_capacity(4);
        let ends = |kind| matches!(kind, Tok::Semi | Tok::RBrace | Tok::End);
        if !ends(self.tok.kind) && !self.starts_statement() {
            operands.push(self.operand(is_call)?);
            while self.eat(Tok::Comma) {
                operands.push(self.operand(is_call)?);
            }
        }
        self.end_statement("the instruction")?;
        dialect::add_brackets(self.module.opcodes.get(opcode).name(), &mut operands, self.module.version);
        let loc = self.current_loc();
        let span = self.since(start);
        statements.push(Statement::Instruction(Instruction { guard, opcode, operands: operands.into(), loc, span }));
        Ok(())
    }

    fn current_loc(&mut self) -> Option<LocId> {
        let id = match std::mem::replace(&mut self.loc, PendingLoc::None) {
            PendingLoc::None => return None,
            PendingLoc::Stored(id) => id,
            PendingLoc::New(mut loc, function) => {
                if let (Some(inlined), Some(name)) = (&mut loc.inlined, function) {
                    inlined.function = self.intern(name);
                }
                self.module.locs.push(loc);
                LocId::from(self.module.locs.len() - 1)
            }
        };
        self.loc = PendingLoc::Stored(id);
        Some(id)
    }
}

/// The text of an opcode without blanks and comments.
fn without_blanks(text: &str) -> String {
    let mut lexer = crate::lexer::Lexer::new(text);
    let mut joined = String::with_capacity(text.len());
    loop {
        let token = lexer.next();
        if token.kind == Tok::End {
            return joined;
        }
        joined.push_str(&text[token.start as usize..token.end as usize]);
    }
}
