//! The top level: directives, and the variables and functions among them.

use super::{Failed, Parse, Parser, dialect};
use crate::ast::{Alias, FileEntry, FunctionKind, Item, Pragma};
use crate::diag::Diagnostic;
use crate::lexer::Tok;
use crate::span::Span;
use crate::types::{Linkage, StateSpace, Type};
use kit::suggest;

/// Directives that can start an item.
pub(super) const DIRECTIVES: &[&str] = &[
    "version",
    "target",
    "address_size",
    "file",
    "section",
    "pragma",
    "alias",
    "entry",
    "func",
    "extern",
    "visible",
    "weak",
    "common",
    "global",
    "const",
    "shared",
    "tex",
];

/// Major PTX ISA versions that this parser supports.
const KNOWN_MAJOR: std::ops::RangeInclusive<u32> = 1..=9;

impl Parser<'_> {
    /// Parses all items of a module.
    pub(super) fn module(&mut self) {
        self.header();
        while !self.at(Tok::End) {
            let before = self.tok.start;
            if self.item().is_err() {
                self.recover_item();
            }
            if self.tok.start == before && !self.at(Tok::End) {
                self.bump();
            }
        }
        if self.lexer.diagnostics.has_errors() {
            return;
        }
        let hint = "a PTX module starts with `.version`, `.target` and `.address_size`";
        if self.module.version == (0, 0) {
            self.report(Diagnostic::error(Span::default(), "no `.version` directive").hint(hint));
        } else if self.module.target.is_empty() {
            self.report(Diagnostic::warning(Span::default(), "no `.target` directive").hint(hint));
        }
    }

    /// Skips the rest of a broken item: through its `;`, or through its body, or up to the start of an item.
    fn recover_item(&mut self) {
        loop {
            match self.tok.kind {
                Tok::End => return,
                Tok::Semi => {
                    self.bump();
                    return;
                }
                Tok::LBrace => {
                    self.skip_braces();
                    return;
                }
                Tok::Dot if self.tok.starts_line && self.dot_word() != "param" => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Checks that the text can be PTX, for a better message than a syntax error.
    fn header(&mut self) {
        if self.at(Tok::Dot) || self.at(Tok::End) || self.lexer.diagnostics.has_errors() {
            return;
        }
        let hint = "is this a PTX file? It starts with `.version`, `.target` and `.address_size`";
        let message = format!("expected a directive, found {}", self.found());
        self.report(Diagnostic::error(self.tok.span(), message).hint(hint));
        while !(self.at(Tok::End) || self.at(Tok::Dot) && self.tok.starts_line) {
            self.bump();
        }
    }

    fn item(&mut self) -> Parse<()> {
        let start = self.tok.start;
        match self.tok.kind {
            Tok::Dot => {}
            Tok::Semi => {
                self.bump();
                return Ok(());
            }
            Tok::RBrace => {
                let span = self.bump().span();
                self.report(Diagnostic::error(span, "`}` without a `{`"));
                return Ok(());
            }
            // `@@DWARF` lines of PTX before 2.0.
            Tok::At => return self.dwarf_line(),
            Tok::Ident => {
                let hint = "instructions belong in the body of an `.entry` or `.func`";
                let message = format!("expected a directive, found {}", self.found());
                return Err(self.report(Diagnostic::error(self.tok.span(), message).hint(hint)));
            }
            _ => return Err(self.expected("a directive")),
        }
        match self.dot_word() {
            "version" => self.version(),
            "target" => self.target(),
            "address_size" => self.address_size(),
            "file" => self.file(),
            "section" => self.section(),
            "pragma" => {
                let pragma = self.pragma()?;
                self.module.items.push(Item::Pragma(pragma));
                Ok(())
            }
            "alias" => self.alias(),
            "reg" if self.module.version < dialect::NO_MODULE_REGISTERS => {
                let registers = self.registers()?;
                self.module_registers.push(registers);
                Ok(())
            }
            word => self.definition(word, start),
        }
    }

    /// A variable or function, with its linkage.
    fn definition(&mut self, word: &str, start: u32) -> Parse<()> {
        let linkage = Linkage::from_name(word);
        if linkage.is_some() {
            self.bump();
        }
        if self.at(Tok::Dot) {
            let word = self.dot_word();
            let kind = match word {
                "entry" => Some(FunctionKind::Entry),
                "func" => Some(FunctionKind::Func),
                _ => None,
            };
            if let Some(kind) = kind {
                return self.function(kind, linkage, start);
            }
            if StateSpace::from_name(word).is_some() || linkage.is_some() && word == "align" {
                let mut variables = self.variables(linkage, start)?;
                self.end_statement("the variable")?;
                self.module.items.extend(variables.drain(..).map(Item::Variable));
                return Ok(());
            }
            if Type::from_name(word).is_some() {
                let message = format!("expected a state space before {}", self.found());
                let hint = format!("write `.global .{word} …` or `.shared .{word} …`");
                return Err(self.report(Diagnostic::error(self.tok.span(), message).hint(hint)));
            }
            if linkage.is_none() {
                return self.unknown_directive();
            }
        }
        Err(self.expected("`.entry`, `.func` or a state space such as `.global`"))
    }

    fn version(&mut self) -> Parse<()> {
        let start = self.bump().start;
        let token = self.expect(Tok::Number, "a version number such as 7.8")?;
        let text = self.text(token);
        let parts = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let Some(version) = parts else {
            let message = format!("malformed version number `{text}`");
            return Err(self.report(Diagnostic::error(token.span(), message).hint("write it as `.version 7.8`")));
        };
        let span = self.since(start);
        if self.module.version != (0, 0) {
            self.error(span, "a second `.version` directive");
        } else if !KNOWN_MAJOR.contains(&version.0) {
            self.report(
                Diagnostic::warning(span, format!("PTX version {text} is not known"))
                    .hint("versions up to 9.x are; newer instructions may not be understood"),
            );
        }
        self.module.version = version;
        Ok(())
    }

    fn target(&mut self) -> Parse<()> {
        let start = self.bump().start;
        loop {
            let (sym, _) = self.name("a target architecture such as sm_80")?;
            self.module.target.push(sym);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        match self.module.target_sm() {
            Some(10..=121) => {}
            Some(_) => {
                let span = self.since(start);
                let hint = "sm_10 to sm_121 are; newer instructions may not be understood";
                self.report(Diagnostic::warning(span, "this target is not known").hint(hint));
            }
            None => {
                let span = self.since(start);
                self.error(span, "the first target must be an architecture such as sm_80");
            }
        }
        Ok(())
    }

    fn address_size(&mut self) -> Parse<()> {
        self.bump();
        let span = self.tok.span();
        let size = self.unsigned("32 or 64")?;
        if !matches!(size, 32 | 64) {
            return Err(self.error(span, format!("address size {size} is neither 32 nor 64")));
        }
        self.module.address_size = size as u32;
        Ok(())
    }

    /// `.file index "path"` with an optional time stamp and size.
    pub(super) fn file(&mut self) -> Parse<()> {
        let start = self.bump().start;
        let index = self.unsigned_u32("a file number")?;
        let path = self.string("a file name in quotes")?;
        let mut stamp = None;
        if self.eat(Tok::Comma) {
            let time = self.unsigned("a time stamp")?;
            self.expect(Tok::Comma, "`,` and the file's size")?;
            stamp = Some((time, self.unsigned("the file's size")?));
        }
        self.eat(Tok::Semi);
        let span = self.since(start);
        self.module.files.push(FileEntry { index, path, stamp, span });
        Ok(())
    }

    /// `.section name { … }`: debug information, which is skipped.
    pub(super) fn section(&mut self) -> Parse<()> {
        let start = self.bump().start;
        let name = self.tok;
        if !matches!(name.kind, Tok::Dot | Tok::Ident) {
            return Err(self.expected("the section's name"));
        }
        self.bump();
        let span = self.since(start);
        if !self.at(Tok::LBrace) {
            return Err(self.expected("`{` of the section"));
        }
        let open = self.tok.span();
        if !self.skip_braces() {
            return Err(self.report(Diagnostic::error(open, "this `{` is never closed").hint("is the file truncated?")));
        }
        let message = format!("section `{}` skipped", self.text(name));
        self.report(Diagnostic::note(span, message));
        Ok(())
    }

    /// `.pragma "text", "text";`
    pub(super) fn pragma(&mut self) -> Parse<Pragma> {
        let start = self.bump().start;
        let mut texts = vec![self.string("the pragma in quotes")?];
        while self.eat(Tok::Comma) {
            texts.push(self.string("the pragma in quotes")?);
        }
        self.end_statement("the pragma")?;
        Ok(Pragma { texts, span: self.since(start) })
    }

    fn alias(&mut self) -> Parse<()> {
        let start = self.bump().start;
        let (name, _) = self.name("the alias's name")?;
        self.expect(Tok::Comma, "`,` and the function's name")?;
        let (target, _) = self.name("the function's name")?;
        self.end_statement("the alias")?;
        let span = self.since(start);
        self.module.items.push(Item::Alias(Alias { name, target, span }));
        Ok(())
    }

    /// Skips an unknown directive: through its `;` or `}`, or up to the next line that starts with a
    /// directive.
    pub(super) fn unknown_directive(&mut self) -> Parse<()> {
        let token = self.bump();
        let text = self.text(token);
        let mut note = Diagnostic::note(token.span(), format!("unknown directive `{text}` ignored"));
        if let Some(near) = suggest::nearest(&text[1..], DIRECTIVES.iter().copied()) {
            note = note.hint(format!("did you mean `.{near}`?"));
        }
        self.report(note);
        loop {
            match self.tok.kind {
                Tok::End | Tok::RBrace => return Ok(()),
                Tok::Dot | Tok::At if self.tok.starts_line => return Ok(()),
                Tok::Semi => {
                    self.bump();
                    return Ok(());
                }
                Tok::LBrace => {
                    self.skip_braces();
                    return Ok(());
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    fn dwarf_line(&mut self) -> Parse<()> {
        let first = self.bump();
        if !self.at(Tok::At) {
            return Err(self.error(first.span(), "a guard outside a function's body"));
        }
        while !self.at(Tok::End) && (self.at(Tok::At) || !self.tok.starts_line) {
            self.bump();
        }
        self.report(Diagnostic::note(first.span(), "debug information (`@@DWARF`) skipped"));
        Ok(())
    }

    /// The contents of a string, without quotes, with escapes as written.
    pub(super) fn string(&mut self, what: &str) -> Parse<Box<str>> {
        let token = self.expect(Tok::Text, what)?;
        let text = self.text(token);
        let inner = text.strip_prefix('"').unwrap_or(text);
        Ok(inner.strip_suffix('"').unwrap_or(inner).into())
    }

    /// A constant expression that is a non-negative integer.
    pub(super) fn unsigned(&mut self, what: &str) -> Parse<u64> {
        if !self.at_constant() {
            return Err(self.expected(what));
        }
        let start = self.tok.start;
        let value = self.constant()?;
        match value {
            crate::ast::Immediate::Signed(v) if v >= 0 => Ok(v as u64),
            crate::ast::Immediate::Unsigned(v) => Ok(v),
            _ => {
                let span = self.since(start);
                Err(self.error(span, format!("expected {what}, found a negative or fractional number")))
            }
        }
    }

    /// The same with a maximum of 32 bits.
    pub(super) fn unsigned_u32(&mut self, what: &str) -> Parse<u32> {
        let start = self.tok.start;
        let value = self.unsigned(what)?;
        u32::try_from(value).map_err(|_| -> Failed {
            let span = self.since(start);
            self.error(span, format!("{value} is too large here"))
        })
    }
}
