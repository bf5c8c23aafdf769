//! Tokens of PTX.

use crate::diag::{Diagnostic, Diagnostics};
use crate::span::Span;

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    /// End of the text.
    End,
    /// `add`, `%r1`, `$L__BB0_1`, `_Z3fooPf`, `_`
    Ident,
    /// `.global`, `.L2::128B`: a dot and its word.
    Dot,
    /// `12`, `0x1F`, `1.5`, `0f3F800000`: `number` converts the text.
    Number,
    /// `"…"`
    Text,
    LParen,
    RParen,
    LBrace,
    RBrace,
    LBracket,
    RBracket,
    Comma,
    Semi,
    Colon,
    At,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Not,
    Tilde,
    Caret,
    Question,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Lt,
    Le,
    Shl,
    Gt,
    Ge,
    Shr,
    Assign,
    EqEq,
    NotEq,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: Tok,
    /// The first token on its line.
    pub starts_line: bool,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub(crate) fn span(&self) -> Span {
        Span::new(self.start, self.end)
    }
}

const IDENT_START: u8 = 1;
const IDENT: u8 = 2;
const DIGIT: u8 = 4;
const BLANK: u8 = 8;

/// Class of each byte.
static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        table[i] = match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => IDENT_START | IDENT,
            b'%' => IDENT_START,
            b'0'..=b'9' => IDENT | DIGIT,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => BLANK,
            _ => 0,
        };
        i += 1;
    }
    table
}

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Splits a text into tokens. Characters that start no token are reported and skipped.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    pub text: &'a str,
    bytes: &'a [u8],
    at: usize,
    pub diagnostics: Diagnostics,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, diagnostics: Diagnostics::default() }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(crate) fn next(&mut self) -> Token {
        let mut starts_line = self.at == 0;
        loop {
            starts_line |= self.skip_blank();
            let start = self.at;
            if let Some(kind) = self.token(starts_line) {
                return Token { kind, starts_line, start: start as u32, end: self.at as u32 };
            }
        }
    }

    /// Skips blanks; returns whether a line ended among them.
    fn skip_blank(&mut self) -> bool {
        let mut newline = false;
        while let Some(&b) = self.bytes.get(self.at) {
            if !is(b, BLANK) {
                break;
            }
            newline |= b == b'\n';
            self.at += 1;
        }
        newline
    }

    /// The token at this position; `None` after skipping something that is not a token.
    fn token(&mut self, starts_line: bool) -> Option<Tok> {
        let Some(&b) = self.bytes.get(self.at) else { return Some(Tok::End) };
        if is(b, IDENT_START) {
            if b == b'%' && !is(self.peek(1), IDENT) {
                self.at += 1;
                return Some(Tok::Percent);
            }
            self.at += 1;
            self.skip_class(IDENT);
            return Some(Tok::Ident);
        }
        if is(b, DIGIT) {
            self.number();
            return Some(Tok::Number);
        }
        match b {
            b'.' => self.dot(),
            b'"' => self.string(),
            b'/' if self.peek(1) == b'/' => {
                self.skip_line();
                None
            }
            b'/' if self.peek(1) == b'*' => {
                self.block_comment();
                None
            }
            b'#' if starts_line => {
                self.preprocessor_line();
                None
            }
            _ => self.punctuation(b),
        }
    }

    fn skip_class(&mut self, class: u8) {
        while self.at < self.bytes.len() && is(self.bytes[self.at], class) {
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.at += 1;
        }
    }

    /// Skips a `#` line. Line markers (`# 1 "file"`) are harmless; directives may not be.
    fn preprocessor_line(&mut self) {
        let start = self.at as u32;
        let marker = matches!(self.peek(1), b' ') && is(self.peek(2), DIGIT);
        self.skip_line();
        let span = Span::new(start, self.at as u32);
        self.diagnostics.push(if marker {
            Diagnostic::note(span, "line marker ignored")
        } else {
            Diagnostic::warning(span, "preprocessor line ignored").hint("run the C preprocessor on the file first")
        });
    }

    fn block_comment(&mut self) {
        let start = self.at;
        match self.text[start + 2..].find("*/") {
            Some(length) => self.at = start + 2 + length + 2,
            None => {
                self.at = self.bytes.len();
                let span = Span::new(start as u32, start as u32 + 2);
                self.diagnostics.push(Diagnostic::error(span, "comment is never closed").hint("add `*/`"));
            }
        }
    }

    /// Digits, letters, and a fraction with its exponent; `number` converts them.
    fn number(&mut self) {
        let prefixed = self.peek(0) == b'0' && self.peek(1).is_ascii_alphabetic();
        self.skip_class(DIGIT);
        if !prefixed && self.peek(0) == b'.' && (is(self.peek(1), DIGIT) || !is(self.peek(1), IDENT)) {
            self.at += 1;
            self.skip_class(DIGIT);
        }
        let exponent = !prefixed && matches!(self.peek(0), b'e' | b'E');
        if exponent && matches!(self.peek(1), b'+' | b'-') && is(self.peek(2), DIGIT) {
            self.at += 2;
        }
        self.skip_class(IDENT);
    }

    /// A dot and its word: `.v4`, `.shared::cta`. A dot without a word is reported.
    fn dot(&mut self) -> Option<Tok> {
        let start = self.at;
        self.at += 1;
        self.skip_class(IDENT);
        while self.peek(0) == b':' && self.peek(1) == b':' && is(self.peek(2), IDENT) {
            self.at += 2;
            self.skip_class(IDENT);
        }
        if self.at > start + 1 {
            return Some(Tok::Dot);
        }
        let span = Span::new(start as u32, self.at as u32);
        self.diagnostics.push(Diagnostic::error(span, "a dot with nothing after it"));
        None
    }

    fn string(&mut self) -> Option<Tok> {
        let start = self.at;
        self.at += 1;
        while let Some(&b) = self.bytes.get(self.at) {
            match b {
                b'"' => {
                    self.at += 1;
                    return Some(Tok::Text);
                }
                b'\n' => break,
                // The escaped character may have several bytes; none of the others is special.
                b'\\' if !matches!(self.peek(1), b'\n' | 0) => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        let span = Span::new(start as u32, self.at as u32);
        self.diagnostics.push(Diagnostic::error(span, "string is not closed on its line").hint("add `\"`"));
        Some(Tok::Text)
    }

    fn punctuation(&mut self, b: u8) -> Option<Tok> {
        let (kind, length) = match (b, self.peek(1)) {
            (b'(', _) => (Tok::LParen, 1),
            (b')', _) => (Tok::RParen, 1),
            (b'{', _) => (Tok::LBrace, 1),
            (b'}', _) => (Tok::RBrace, 1),
            (b'[', _) => (Tok::LBracket, 1),
            (b']', _) => (Tok::RBracket, 1),
            (b',', _) => (Tok::Comma, 1),
            (b';', _) => (Tok::Semi, 1),
            (b':', _) => (Tok::Colon, 1),
            (b'@', _) => (Tok::At, 1),
            (b'+', _) => (Tok::Plus, 1),
            (b'-', _) => (Tok::Minus, 1),
            (b'*', _) => (Tok::Star, 1),
            (b'/', _) => (Tok::Slash, 1),
            (b'!', b'=') => (Tok::NotEq, 2),
            (b'!', _) => (Tok::Not, 1),
            (b'~', _) => (Tok::Tilde, 1),
            (b'^', _) => (Tok::Caret, 1),
            (b'?', _) => (Tok::Question, 1),
            (b'&', b'&') => (Tok::AmpAmp, 2),
            (b'&', _) => (Tok::Amp, 1),
            (b'|', b'|') => (Tok::PipePipe, 2),
            (b'|', _) => (Tok::Pipe, 1),
            (b'<', b'<') => (Tok::Shl, 2),
            (b'<', b'=') => (Tok::Le, 2),
            (b'<', _) => (Tok::Lt, 1),
            (b'>', b'>') => (Tok::Shr, 2),
            (b'>', b'=') => (Tok::Ge, 2),
            (b'>', _) => (Tok::Gt, 1),
            (b'=', b'=') => (Tok::EqEq, 2),
            (b'=', _) => (Tok::Assign, 1),
            _ => return self.bad_characters(),
        };
        self.at += length;
        Some(kind)
    }

    /// Reports a run of characters that start no token, once, and skips it.
    fn bad_characters(&mut self) -> Option<Tok> {
        let start = self.at;
        let bad = |b: u8| !b.is_ascii() || b.is_ascii_control() && !is(b, BLANK) || matches!(b, b'\\' | b'`' | b'\'');
        self.at += 1;
        while self.at < self.bytes.len() && bad(self.bytes[self.at]) {
            self.at += 1;
        }
        let span = Span::new(start as u32, self.at as u32);
        let first = self.text[start..].chars().next().unwrap_or(' ');
        self.diagnostics.push(Diagnostic::error(span, format!("unexpected character `{}`", first.escape_default())));
        None
    }
}
