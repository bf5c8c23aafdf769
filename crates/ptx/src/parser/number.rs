//! Number literals and constant expressions, folded while they are parsed.

use super::{Parse, Parser};
use crate::ast::Immediate;
use crate::diag::Diagnostic;
use crate::lexer::{Tok, Token};
use Immediate::{F32, F64, Signed, Unsigned};

/// Converts a number literal. The error describes the problem.
pub(super) fn read_number(text: &str) -> Result<Immediate, &'static str> {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.get(1)) {
        (Some(b'0'), Some(b'f' | b'F')) => {
            let bits = float_digits(&text[2..], 8).ok_or("`0f` takes exactly 8 hexadecimal digits")?;
            Ok(F32(bits as u32))
        }
        (Some(b'0'), Some(b'd' | b'D')) => {
            Ok(F64(float_digits(&text[2..], 16).ok_or("`0d` takes exactly 16 hexadecimal digits")?))
        }
        _ if text.contains('.') || is_exponent_form(text) => {
            text.parse::<f64>().map(|v| F64(v.to_bits())).map_err(|_| "malformed number")
        }
        _ => read_integer(text),
    }
}

/// `1e5`, a notation of floating-point numbers by some compilers.
fn is_exponent_form(text: &str) -> bool {
    !text.starts_with('0') && text.contains(['e', 'E'])
}

fn float_digits(digits: &str, count: usize) -> Option<u64> {
    if digits.len() != count || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

fn read_integer(text: &str) -> Result<Immediate, &'static str> {
    let (body, unsigned) = match text.strip_suffix(['U', 'u']) {
        Some(body) => (body, true),
        None => (text, false),
    };
    let (digits, radix) = match body.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&body[2..], 16),
        [b'0', b'b' | b'B', ..] => (&body[2..], 2),
        [b'0', _, ..] => (&body[1..], 8),
        _ => (body, 10),
    };
    let value = u64::from_str_radix(digits, radix).map_err(|error| match error.kind() {
        std::num::IntErrorKind::PosOverflow => "number does not fit in 64 bits",
        _ => "malformed number",
    })?;
    Ok(match i64::try_from(value) {
        Ok(value) if !unsigned => Signed(value),
        _ => Unsigned(value),
    })
}

/// Precedence of binary operators.
const fn binding(kind: Tok) -> Option<u8> {
    Some(match kind {
        Tok::PipePipe => 1,
        Tok::AmpAmp => 2,
        Tok::Pipe => 3,
        Tok::Caret => 4,
        Tok::Amp => 5,
        Tok::EqEq | Tok::NotEq => 6,
        Tok::Lt | Tok::Le | Tok::Gt | Tok::Ge => 7,
        Tok::Shl | Tok::Shr => 8,
        Tok::Plus | Tok::Minus => 9,
        Tok::Star | Tok::Slash | Tok::Percent => 10,
        _ => return None,
    })
}

impl Parser<'_> {
    /// A number token's value.
    pub(super) fn literal(&mut self, token: Token) -> Parse<Immediate> {
        let text = self.text(token);
        read_number(text).map_err(|problem| {
            let shown: String = text.chars().take(40).collect();
            let mut diagnostic = Diagnostic::error(token.span(), format!("{problem}: `{shown}`"));
            if text.starts_with("0b") || text.starts_with("0B") {
                diagnostic = diagnostic.hint("`0b` starts a binary number: digits 0 and 1 only");
            } else if text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()) {
                diagnostic = diagnostic.hint("a leading 0 makes a number octal: digits 0 to 7 only");
            }
            self.report(diagnostic)
        })
    }

    /// Whether a constant expression can start with the next token.
    pub(super) fn at_constant(&self) -> bool {
        matches!(self.tok.kind, Tok::Number | Tok::Minus | Tok::Plus | Tok::Tilde | Tok::Not | Tok::LParen)
            || self.at(Tok::Ident) && self.text(self.tok) == "WARP_SZ"
            || self.at(Tok::Dot) && self.dot_word().as_bytes()[0].is_ascii_digit()
    }

    /// Parses and folds a constant expression.
    pub(super) fn constant(&mut self) -> Parse<Immediate> {
        if self.at(Tok::Number) {
            let token = self.bump();
            if binding(self.tok.kind).is_none() && !self.at(Tok::Question) {
                return self.literal(token);
            }
            let left = self.literal(token)?;
            return self.constant_from(left, token.start);
        }
        let condition = self.binary(1)?;
        self.conditional(condition)
    }

    /// A constant expression whose first token, a minus at `start`, has been taken.
    pub(super) fn negative_constant(&mut self, start: u32) -> Parse<Immediate> {
        let left = self.unary_after(Tok::Minus, start)?;
        self.constant_from(left, start)
    }

    /// The rest of a constant expression after its first operand `left`.
    pub(super) fn constant_from(&mut self, left: Immediate, start: u32) -> Parse<Immediate> {
        let condition = self.binary_from(left, start, 1)?;
        self.conditional(condition)
    }

    /// `? a : b` after its condition, if it follows.
    fn conditional(&mut self, condition: Immediate) -> Parse<Immediate> {
        if !self.eat(Tok::Question) {
            return Ok(condition);
        }
        let then = self.nested(Self::constant)?;
        self.expect(Tok::Colon, "`:` of the conditional expression")?;
        let otherwise = self.nested(Self::constant)?;
        Ok(if truth(condition) { then } else { otherwise })
    }

    /// A sum or product within an address: `4`, `4*8`. Operators have at least the precedence of `*`.
    pub(super) fn address_term(&mut self) -> Parse<Immediate> {
        self.binary(10)
    }

    fn binary(&mut self, least: u8) -> Parse<Immediate> {
        let start = self.tok.start;
        let left = self.nested(Self::unary)?;
        self.binary_from(left, start, least)
    }

    fn binary_from(&mut self, mut left: Immediate, start: u32, least: u8) -> Parse<Immediate> {
        while let Some(tightness) = binding(self.tok.kind).filter(|&t| t >= least) {
            let operator = self.bump();
            let right = self.nested(|p| p.binary(tightness + 1))?;
            left = match fold(operator.kind, left, right) {
                Ok(value) => value,
                Err(problem) => {
                    let span = self.since(start);
                    return Err(self.error(span, problem));
                }
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parse<Immediate> {
        let start = self.tok.start;
        match self.tok.kind {
            Tok::Number => {
                let token = self.bump();
                self.literal(token)
            }
            Tok::Dot if self.dot_word().as_bytes()[0].is_ascii_digit() => {
                let token = self.bump();
                self.literal(token)
            }
            Tok::Ident if self.text(self.tok) == "WARP_SZ" => {
                self.bump();
                Ok(Unsigned(32))
            }
            Tok::LParen => self.parenthesised(),
            Tok::Minus | Tok::Plus | Tok::Not | Tok::Tilde => {
                let operator = self.bump().kind;
                self.unary_after(operator, start)
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// The operand of a unary operator at `start`, which has been taken, and the result.
    fn unary_after(&mut self, operator: Tok, start: u32) -> Parse<Immediate> {
        let value = self.nested(Self::unary)?;
        match apply_unary(operator, value) {
            Some(value) => Ok(value),
            None => {
                let span = self.since(start);
                Err(self.error(span, "this operator needs an integer"))
            }
        }
    }

    /// `(expression)`, or a cast: `(.s64) value`, `(.u64) value`.
    fn parenthesised(&mut self) -> Parse<Immediate> {
        self.bump();
        for (word, signed) in [("s64", true), ("u64", false)] {
            if self.eat_dot(word) {
                self.expect(Tok::RParen, "`)` of the cast")?;
                let bits = match self.nested(Self::unary)? {
                    Signed(value) => value as u64,
                    Unsigned(value) => value,
                    F32(bits) => truncate(f64::from(f32::from_bits(bits)), signed),
                    F64(bits) => truncate(f64::from_bits(bits), signed),
                };
                return Ok(if signed { Signed(bits as i64) } else { Unsigned(bits) });
            }
        }
        let value = self.nested(Self::constant)?;
        self.expect(Tok::RParen, "`)`")?;
        Ok(value)
    }
}

fn truncate(value: f64, signed: bool) -> u64 {
    if signed { value as i64 as u64 } else { value as u64 }
}

fn truth(value: Immediate) -> bool {
    value.float().map_or_else(|| value.int_bits() != Some(0), |v| v != 0.0)
}

fn apply_unary(operator: Tok, value: Immediate) -> Option<Immediate> {
    Some(match (operator, value) {
        (Tok::Plus, value) => value,
        // -2^63 is written as the negation of 2^63, which is unsigned by itself.
        (Tok::Minus, Unsigned(0x8000_0000_0000_0000)) => Signed(i64::MIN),
        (Tok::Minus, Signed(v)) => Signed(v.wrapping_neg()),
        (Tok::Minus, Unsigned(v)) => Unsigned(v.wrapping_neg()),
        (Tok::Minus, F32(bits)) => F32(bits ^ 0x8000_0000),
        (Tok::Minus, F64(bits)) => F64(bits ^ 0x8000_0000_0000_0000),
        (Tok::Not, Signed(_) | Unsigned(_)) => Signed(i64::from(!truth(value))),
        (Tok::Tilde, Signed(v)) => Signed(!v),
        (Tok::Tilde, Unsigned(v)) => Unsigned(!v),
        _ => return None,
    })
}

/// The value of a binary operation, in the types the ISA's table of constant expressions gives.
fn fold(operator: Tok, left: Immediate, right: Immediate) -> Result<Immediate, &'static str> {
    if let (Tok::AmpAmp, l, r) = (operator, left, right) {
        return Ok(Signed(i64::from(truth(l) && truth(r))));
    }
    if operator == Tok::PipePipe {
        return Ok(Signed(i64::from(truth(left) || truth(right))));
    }
    match (left, right) {
        (Signed(l), Signed(r)) => fold_signed(operator, l, r),
        (Signed(_) | Unsigned(_), Signed(_) | Unsigned(_)) => {
            let (l, r) = (left.int_bits().unwrap_or(0), right.int_bits().unwrap_or(0));
            match (operator, left) {
                // A shift has the type of its left operand.
                (Tok::Shl | Tok::Shr, Signed(l)) => fold_signed(operator, l, i64::try_from(r).unwrap_or(64)),
                _ => fold_unsigned(operator, l, r),
            }
        }
        _ => fold_float(operator, as_float(left), as_float(right)),
    }
}

fn as_float(value: Immediate) -> f64 {
    match value {
        Signed(v) => v as f64,
        Unsigned(v) => v as f64,
        F32(bits) => f64::from(f32::from_bits(bits)),
        F64(bits) => f64::from_bits(bits),
    }
}

const DIVISION_BY_ZERO: &str = "division by zero in a constant expression";

fn compare<T: PartialOrd + Copy>(operator: Tok, l: T, r: T) -> Option<Immediate> {
    let holds = match operator {
        Tok::EqEq => l == r,
        Tok::NotEq => l != r,
        Tok::Lt => l < r,
        Tok::Le => l <= r,
        Tok::Gt => l > r,
        Tok::Ge => l >= r,
        _ => return None,
    };
    Some(Signed(i64::from(holds)))
}

fn fold_signed(operator: Tok, l: i64, r: i64) -> Result<Immediate, &'static str> {
    if let Some(result) = compare(operator, l, r) {
        return Ok(result);
    }
    let shift = u32::try_from(r).unwrap_or(64);
    Ok(Signed(match operator {
        Tok::Plus => l.wrapping_add(r),
        Tok::Minus => l.wrapping_sub(r),
        Tok::Star => l.wrapping_mul(r),
        Tok::Slash | Tok::Percent if r == 0 => return Err(DIVISION_BY_ZERO),
        Tok::Slash => l.wrapping_div(r),
        Tok::Percent => l.wrapping_rem(r),
        Tok::Shl => l.checked_shl(shift).unwrap_or(0),
        Tok::Shr => l >> shift.min(63),
        Tok::Amp => l & r,
        Tok::Pipe => l | r,
        _ => l ^ r,
    }))
}

fn fold_unsigned(operator: Tok, l: u64, r: u64) -> Result<Immediate, &'static str> {
    if let Some(result) = compare(operator, l, r) {
        return Ok(result);
    }
    let shift = u32::try_from(r).unwrap_or(64);
    Ok(Unsigned(match operator {
        Tok::Plus => l.wrapping_add(r),
        Tok::Minus => l.wrapping_sub(r),
        Tok::Star => l.wrapping_mul(r),
        Tok::Slash | Tok::Percent if r == 0 => return Err(DIVISION_BY_ZERO),
        Tok::Slash => l / r,
        Tok::Percent => l % r,
        Tok::Shl => l.checked_shl(shift).unwrap_or(0),
        Tok::Shr => l.checked_shr(shift).unwrap_or(0),
        Tok::Amp => l & r,
        Tok::Pipe => l | r,
        _ => l ^ r,
    }))
}

fn fold_float(operator: Tok, l: f64, r: f64) -> Result<Immediate, &'static str> {
    if let Some(result) = compare(operator, l, r) {
        return Ok(result);
    }
    let value = match operator {
        Tok::Plus => l + r,
        Tok::Minus => l - r,
        Tok::Star => l * r,
        Tok::Slash => l / r,
        _ => return Err("this operator needs integers"),
    };
    Ok(F64(value.to_bits()))
}
