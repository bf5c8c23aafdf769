//! From text to a tree.

use super::functions::{FLOAT_FUNCTIONS, FUNCTIONS, Function};
use super::{Expr, Names, Node, OPERATORS, Unary};
use crate::diagnostics::Problem;
use kit::suggest;
use kit::text::counted;
use std::ops::Range;
use workloads::element::Number;

/// Parses `text`, whose first byte is at `offset` of the launch file.
pub fn parse(text: &str, offset: usize, names: &Names) -> Result<Expr, Problem> {
    if text.len() > MAX_LENGTH {
        let message = format!("the expression is longer than {MAX_LENGTH} characters");
        return Err(Problem::new(offset..offset + text.len(), message));
    }
    let mut parser = Parser { text, at: 0, offset, names, depth: 0 };
    let root = parser.choice()?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return Err(parser.problem(parser.at..text.len(), "this is not part of the expression before it"));
    }
    Ok(Expr { span: offset..offset + text.len(), root })
}

/// Whether `text` is a name, and nothing else.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Names that values and buffers cannot have.
pub fn is_reserved(name: &str) -> bool {
    matches!(name, "i" | "round" | "len" | "sum" | "pi" | "inf" | "nan") || function(name).is_some()
}

fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().chain(FLOAT_FUNCTIONS).find(|f| f.name == name)
}

/// Maximum nesting, which keeps the stack small for any input.
const MAX_DEPTH: u32 = 100;
/// The same, for chains such as 1 + 1 + 1 + ...
const MAX_LENGTH: usize = 4096;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    offset: usize,
    names: &'a Names,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn problem(&self, range: Range<usize>, message: impl Into<String>) -> Problem {
        Problem::new(self.offset + range.start..self.offset + range.end, message)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), Problem> {
        if self.take(token) {
            return Ok(());
        }
        let here = self.at..(self.at + 1).min(self.text.len());
        Err(self.problem(here, format!("`{token}` is missing here")))
    }

    fn choice(&mut self) -> Result<Node, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.problem(self.at..self.text.len(), "the expression is nested too deeply"));
        }
        let condition = self.binary(0)?;
        let node = if self.take("?") {
            let yes = self.choice()?;
            self.expect(":")?;
            let no = self.choice()?;
            Node::Choice(Box::new([condition, yes, no]))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(node)
    }

    fn binary(&mut self, least: u8) -> Result<Node, Problem> {
        let mut left = self.unary()?;
        loop {
            self.skip_blanks();
            let next = OPERATORS.iter().find(|(_, text, _)| self.rest().starts_with(text));
            let Some(&(operator, text, level)) = next.filter(|(.., level)| *level > least) else { return Ok(left) };
            self.at += text.len();
            left = Node::Binary(operator, Box::new(left), Box::new(self.binary(level)?));
        }
    }

    fn unary(&mut self) -> Result<Node, Problem> {
        for (token, operator) in [("-", Unary::Negate), ("!", Unary::Not), ("~", Unary::Invert)] {
            if self.take(token) {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self.problem(self.at..self.text.len(), "the expression is nested too deeply"));
                }
                let operand = self.unary()?;
                self.depth -= 1;
                return Ok(Node::Unary(operator, Box::new(operand)));
            }
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Node, Problem> {
        if self.take("(") {
            let inner = self.choice()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let start = self.at;
        let first = self.rest().chars().next();
        match first {
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            Some(c) => Err(self.problem(start..start + c.len_utf8(), "a number or a name is expected here")),
            None => Err(self.problem(start..start, "the expression ends too early")),
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number(&mut self) -> Result<Node, Problem> {
        let start = self.at;
        let mut digits = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
        let hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
        if !hexadecimal && digits.ends_with(['e', 'E']) && self.rest().starts_with(['+', '-']) {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
            digits = &self.text[start..self.at];
        }
        let clean = digits.replace('_', "");
        let value = if hexadecimal {
            i128::from_str_radix(&clean[2..], 16).ok().map(Number::Int)
        } else {
            clean.parse().map(Number::Int).ok().or_else(|| clean.parse().map(Number::Float).ok())
        };
        let range = start..self.at;
        value.map(Node::Constant).ok_or_else(|| self.problem(range, format!("`{digits}` is not a number")))
    }

    fn name(&mut self) -> Result<Node, Problem> {
        let start = self.at;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let range = start..self.at;
        if self.take("(") {
            return self.call(name, range);
        }
        if let Some(buffer) = self.names.buffers.iter().position(|b| b == name) {
            if !self.take("[") {
                return Err(self.problem(range, format!("`{name}` is a buffer: write `{name}[i]` for an element")));
            }
            let index = self.choice()?;
            self.expect("]")?;
            return Ok(Node::Element(buffer, Box::new(index)));
        }
        if let Some(slot) = self.names.values.iter().position(|v| v == name) {
            return Ok(Node::Value(slot));
        }
        if let Some(depth) = self.names.loops.iter().rposition(|l| l.as_deref() == Some(name)) {
            return Ok(Node::Counter(depth));
        }
        match name {
            "i" if self.names.element => Ok(Node::ElementIndex),
            "round" if self.names.round => Ok(Node::Round),
            "pi" => Ok(Node::Constant(Number::Float(std::f64::consts::PI))),
            "inf" => Ok(Node::Constant(Number::Float(f64::INFINITY))),
            "nan" => Ok(Node::Constant(Number::Float(f64::NAN))),
            "i" => Err(self.problem(range, "`i`, the index of an element, has no meaning here")),
            "round" => Err(self.problem(range, "`round`, the number of the repetition, has no meaning here")),
            _ => {
                let counters = self.names.loops.iter().flatten();
                let known: Vec<&String> = self.names.values.iter().chain(&self.names.buffers).chain(counters).collect();
                Err(self
                    .problem(range, format!("there is no value or buffer `{name}`{}", suggest::among(name, &known))))
            }
        }
    }

    fn call(&mut self, name: &str, range: Range<usize>) -> Result<Node, Problem> {
        if matches!(name, "len" | "sum") {
            self.skip_blanks();
            let start = self.at;
            let buffer = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            let found = self.names.buffers.iter().position(|b| b == buffer).ok_or_else(|| {
                let message = format!("there is no buffer `{buffer}`{}", suggest::among(buffer, &self.names.buffers));
                self.problem(start..self.at, message)
            })?;
            self.expect(")")?;
            return Ok(if name == "len" { Node::Length(found) } else { Node::Sum(found) });
        }
        let Some(function) = function(name) else {
            let known: Vec<&str> =
                FUNCTIONS.iter().chain(FLOAT_FUNCTIONS).map(|f| f.name).chain(["len", "sum"]).collect();
            return Err(self.problem(range, format!("there is no function `{name}`{}", suggest::among(name, &known))));
        };
        let mut operands = Vec::new();
        if !self.take(")") {
            loop {
                operands.push(self.choice()?);
                if !self.take(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if operands.len() != function.arity {
            let message =
                format!("`{name}` takes {}, not {}", counted(function.arity as u64, "operand"), operands.len());
            return Err(self.problem(range, message));
        }
        Ok(Node::Call(function, operands))
    }
}
