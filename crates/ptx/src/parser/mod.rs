//! The parser: recursive descent with one token of lookahead, recovering at `;` and `}`.
//!
//! - `module`: directives, variables and functions at the top.
//! - `variable`: declarations of variables, parameters and registers, initialisers.
//! - `function`: headers and call prototypes.
//! - `body`: statements.
//! - `dialect`: modifiers that old versions of PTX imply.
//! - `operand`: operands of instructions.
//! - `number`: literals and constant expressions.

mod body;
mod dialect;
mod function;
mod input;
mod module;
mod number;
mod operand;
mod variable;

use crate::ast::{Loc, LocId, Module, Registers};
use crate::diag::Diagnostic;
use crate::lexer::{Lexer, Tok, Token};
use crate::names::Sym;
use crate::span::Span;
pub use input::{MAX_BYTES, Parsed, parse};

/// Maximum nesting of scopes, vectors, initialisers and constant expressions.
const MAX_DEPTH: u32 = 100;

/// An error has been reported; the rest of the construct must be skipped.
#[derive(Clone, Copy, Debug)]
struct Failed;

type Parse<T> = Result<T, Failed>;

/// Directives of the top level that cannot start a line in a body: if one of them does, the `}` of the body
/// is missing.
fn starts_item(word: &str) -> bool {
    matches!(word, "entry" | "func" | "visible" | "weak" | "version" | "target" | "address_size" | "alias" | "section")
}

/// The state of parsing one text.
struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    tok: Token,
    /// End of the last token that was taken.
    last_end: u32,
    module: Module,
    depth: u32,
    /// Number of functions so far.
    functions: u32,
    /// Registers at module level, which kernels have each for itself.
    module_registers: Vec<Registers>,
    /// The `.loc` that applies here; it may not be in the table yet.
    loc: PendingLoc,
}

/// A `.loc` enters the module's table with the first instruction to which it applies.
enum PendingLoc {
    None,
    /// With the name of the inlined function.
    New(Loc, Option<Token>),
    Stored(LocId),
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let tok = lexer.next();
        let module = Module { address_size: 64, ..Module::default() };
        Self {
            lexer,
            tok,
            last_end: 0,
            module,
            depth: 0,
            functions: 0,
            module_registers: Vec::new(),
            loc: PendingLoc::None,
        }
    }

    /// Takes the next token.
    fn bump(&mut self) -> Token {
        let taken = self.tok;
        self.last_end = taken.end;
        self.tok = self.lexer.next();
        taken
    }

    /// Whether the next token is `kind`.
    fn at(&self, kind: Tok) -> bool {
        self.tok.kind == kind
    }

    /// Takes the token if it is `kind`.
    fn eat(&mut self, kind: Tok) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Whether the next token is a dot and `word`.
    fn at_dot(&self, word: &str) -> bool {
        self.at(Tok::Dot) && self.dot_word() == word
    }

    /// Takes the token if it is a dot and `word`.
    fn eat_dot(&mut self, word: &str) -> bool {
        let found = self.at_dot(word);
        if found {
            self.bump();
        }
        found
    }

    /// The text of a token.
    fn text(&self, token: Token) -> &'a str {
        &self.lexer.text[token.start as usize..token.end as usize]
    }

    /// The word after the dot of the next token, which is a [`Tok::Dot`].
    fn dot_word(&self) -> &'a str {
        &self.lexer.text[self.tok.start as usize + 1..self.tok.end as usize]
    }

    /// The span from `start` to the end of the last token taken.
    fn since(&self, start: u32) -> Span {
        Span::new(start, self.last_end.max(start))
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        self.lexer.diagnostics.push(diagnostic);
        Failed
    }

    fn error(&mut self, span: Span, message: impl Into<String>) -> Failed {
        self.report(Diagnostic::error(span, message))
    }

    /// The next token, for messages.
    fn found(&self) -> String {
        match self.tok.kind {
            Tok::End => "the end of the file".to_owned(),
            Tok::Text => "a string".to_owned(),
            _ => {
                let text = self.text(self.tok);
                let short: String = text.chars().take(40).collect();
                format!("`{short}{}`", if short.len() < text.len() { "…" } else { "" })
            }
        }
    }

    /// Reports that the next token is not the expected one.
    fn expected(&mut self, what: &str) -> Failed {
        let message = format!("expected {what}, found {}", self.found());
        self.error(self.tok.span(), message)
    }

    /// Takes the token, which must be `kind`; messages call it `what`.
    fn expect(&mut self, kind: Tok, what: &str) -> Parse<Token> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.expected(what)) }
    }

    /// Takes a name; messages call it `what`.
    fn name(&mut self, what: &str) -> Parse<(Sym, Span)> {
        let token = self.expect(Tok::Ident, what)?;
        Ok((self.intern(token), token.span()))
    }

    fn intern(&mut self, token: Token) -> Sym {
        let text = self.text(token);
        self.module.names.intern(text)
    }

    /// Takes the `;` that ends a statement. If it is missing at the end of a line, reports that; the next
    /// line is then a statement of its own.
    fn end_statement(&mut self, of: &str) -> Parse<()> {
        if self.eat(Tok::Semi) {
            return Ok(());
        }
        let closes = self.tok.starts_line || matches!(self.tok.kind, Tok::RBrace | Tok::End);
        if !closes {
            return Err(self.expected(&format!("`;` after {of}")));
        }
        let end = Span::new(self.last_end.saturating_sub(1), self.last_end);
        self.error(end, format!("`;` is missing after {of}"));
        Ok(())
    }

    /// Skips the rest of a broken statement: through its `;`, or up to a `}` that it did not open, or up to a
    /// line that starts with a statement.
    fn recover(&mut self) {
        let mut open = 0_u32;
        loop {
            match self.tok.kind {
                Tok::End => return,
                Tok::Semi => {
                    self.bump();
                    return;
                }
                Tok::LBrace => open += 1,
                Tok::RBrace if open == 0 => return,
                Tok::RBrace => open -= 1,
                _ if self.starts_statement() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether the next token is the first on its line and can only be the start of a statement:
    /// a directive, a guard, or an opcode with modifiers.
    fn starts_statement(&self) -> bool {
        self.tok.starts_line
            && match self.tok.kind {
                Tok::Dot | Tok::At => true,
                Tok::Ident => {
                    let text = &self.lexer.text.as_bytes()[self.tok.start as usize..];
                    text[0] != b'%' && text.get((self.tok.end - self.tok.start) as usize) == Some(&b'.')
                }
                _ => false,
            }
    }

    /// Skips a `{…}` whose `{` comes next. Returns whether it was closed.
    fn skip_braces(&mut self) -> bool {
        let mut open = 0_u32;
        loop {
            match self.tok.kind {
                Tok::End => return false,
                Tok::LBrace => open += 1,
                Tok::RBrace => open -= 1,
                // A body without its `}` must not hide the rest of the file.
                Tok::Dot if self.tok.starts_line && starts_item(self.dot_word()) => return false,
                _ => {}
            }
            self.bump();
            if open == 0 {
                return true;
            }
        }
    }

    /// Parses something that may be nested in itself, unless it is nested too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(self.tok.span(), format!("nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// A list of `item`s separated by commas, through `close`; messages call that `what`. The opening token
    /// has been taken.
    fn separated<T>(&mut self, close: Tok, what: &str, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(Tok::Comma) {
                continue;
            }
            if self.eat(close) {
                return Ok(items);
            }
            return Err(self.expected(&format!("`,` or {what}")));
        }
    }
}
