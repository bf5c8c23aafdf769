//! Arithmetic expressions in launch files: `"ceil_div(n, 256)"`, `"2 * x[i] + y[i]"`.
//!
//! Operators and their precedence are those of C; whole numbers stay whole (so `/` of two of them
//! truncates), anything else is double precision. Names are looked up when the expression is
//! compiled, so that evaluating it for each element is a walk over a small tree.

use super::diagnostics::Problem;
use crate::element::Number;
use crate::suggest;
use std::ops::Range;

/// What an expression's names may refer to.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Named numbers, by slot.
    pub values: Vec<String>,
    /// Buffers, by index.
    pub buffers: Vec<String>,
    /// Whether `i`, the index of the element at hand, has a meaning.
    pub element: bool,
    /// Whether `round`, the number of the repetition, has a meaning.
    pub round: bool,
}

/// What the names stand for, while an expression is evaluated.
pub trait Scope {
    /// A named number.
    fn value(&self, slot: usize) -> Number;
    /// Elements of a buffer.
    fn length(&self, buffer: usize) -> u64;
    /// An element of a buffer's first contents.
    fn element(&self, buffer: usize, index: u64) -> Option<Number>;
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Where it stands in the launch file.
    pub span: Range<usize>,
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    Constant(Number),
    Value(usize),
    ElementIndex,
    Round,
    Element(usize, Box<Node>),
    Length(usize),
    Sum(usize),
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Choice(Box<[Node; 3]>),
    Call(&'static Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug)]
enum Unary {
    Negate,
    Not,
    Invert,
}

macro_rules! binary_operators {
    ($($variant:ident $text:literal $level:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Binary { $($variant,)* }
        /// Operator, text, how tightly it binds. Longer texts come before their prefixes.
        const OPERATORS: &[(Binary, &str, u8)] = &[$((Binary::$variant, $text, $level),)*];
    };
}
binary_operators! {
    Or "||" 1, And "&&" 2,
    Equal "==" 6, Unequal "!=" 6,
    ShiftLeft "<<" 8, ShiftRight ">>" 8,
    LessEqual "<=" 7, GreaterEqual ">=" 7, Less "<" 7, Greater ">" 7,
    BitOr "|" 3, BitXor "^" 4, BitAnd "&" 5,
    Add "+" 9, Subtract "-" 9,
    Multiply "*" 10, Divide "/" 10, Remainder "%" 10,
}

struct Function {
    name: &'static str,
    arity: usize,
    apply: fn(&[Number]) -> Result<Number, String>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! float_functions {
    ($($name:literal: $apply:expr),* $(,)?) => {
        &[$(Function { name: $name, arity: 1, apply: |a| {
            let apply: fn(f64) -> f64 = $apply;
            Ok(Number::Float(apply(a[0].as_f64())))
        } },)*]
    };
}

static FLOAT_FUNCTIONS: &[Function] = float_functions! {
    "sqrt": f64::sqrt, "exp": f64::exp, "log": f64::ln, "log2": f64::log2,
    "sin": f64::sin, "cos": f64::cos, "tan": f64::tan, "tanh": f64::tanh,
    "float": |x| x, "f32": |x| f64::from(x as f32),
};

static FUNCTIONS: &[Function] = &[
    Function { name: "min", arity: 2, apply: |a| Ok(if less(a[1], a[0]) { a[1] } else { a[0] }) },
    Function { name: "max", arity: 2, apply: |a| Ok(if less(a[0], a[1]) { a[1] } else { a[0] }) },
    Function { name: "pow", arity: 2, apply: |a| Ok(Number::Float(a[0].as_f64().powf(a[1].as_f64()))) },
    Function { name: "abs", arity: 1, apply: |a| if less(a[0], Number::Int(0)) { negate(a[0]) } else { Ok(a[0]) } },
    Function { name: "int", arity: 1, apply: |a| whole(a[0], f64::trunc) },
    Function { name: "floor", arity: 1, apply: |a| whole(a[0], f64::floor) },
    Function { name: "ceil", arity: 1, apply: |a| whole(a[0], f64::ceil) },
    Function { name: "round_to_int", arity: 1, apply: |a| whole(a[0], f64::round_ties_even) },
    Function { name: "ceil_div", arity: 2, apply: |a| ceil_div(a[0], a[1]) },
];

fn less(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a < b,
        _ => a.as_f64() < b.as_f64(),
    }
}

fn negate(a: Number) -> Result<Number, String> {
    match a {
        Number::Int(a) => a.checked_neg().map(Number::Int).ok_or_else(too_large),
        Number::Float(a) => Ok(Number::Float(-a)),
    }
}

fn whole(a: Number, round: fn(f64) -> f64) -> Result<Number, String> {
    match a {
        Number::Int(a) => Ok(Number::Int(a)),
        Number::Float(a) if round(a).abs() < 1e30 => Ok(Number::Int(round(a) as i128)),
        Number::Float(a) => Err(format!("{a} is no whole number")),
    }
}

fn ceil_div(a: Number, b: Number) -> Result<Number, String> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) if a >= 0 && b > 0 => Ok(Number::Int(a / b + i128::from(a % b != 0))),
        _ => Err(format!("ceil_div({a}, {b}) needs whole numbers, the first not negative, the second positive")),
    }
}

fn too_large() -> String {
    "a whole number is too large".to_owned()
}

fn integer(a: Number, operator: &str) -> Result<i128, String> {
    match a {
        Number::Int(a) => Ok(a),
        Number::Float(a) => Err(format!("`{operator}` needs whole numbers, not {a}")),
    }
}

// ------------------------------------------------------------------------------------ evaluation

impl Expr {
    /// An expression that is a number.
    pub fn constant(span: Range<usize>, value: Number) -> Self {
        Self { span, root: Node::Constant(value) }
    }

    /// start + i * step.
    pub fn progression(span: Range<usize>, start: Expr, step: Expr) -> Self {
        let steps = Node::Binary(Binary::Multiply, Box::new(Node::ElementIndex), Box::new(step.root));
        Self { span, root: Node::Binary(Binary::Add, Box::new(start.root), Box::new(steps)) }
    }

    /// Its value for one repetition and one element.
    pub fn evaluate(&self, scope: &dyn Scope, round: u64, element: u64) -> Result<Number, Problem> {
        Evaluation { scope, round, element }
            .node(&self.root)
            .map_err(|message| Problem::new(self.span.clone(), message))
    }
}

struct Evaluation<'a> {
    scope: &'a dyn Scope,
    round: u64,
    element: u64,
}

impl Evaluation<'_> {
    fn node(&self, node: &Node) -> Result<Number, String> {
        match node {
            Node::Constant(number) => Ok(*number),
            Node::Value(slot) => Ok(self.scope.value(*slot)),
            Node::ElementIndex => Ok(Number::Int(self.element.into())),
            Node::Round => Ok(Number::Int(self.round.into())),
            Node::Length(buffer) => Ok(Number::Int(self.scope.length(*buffer).into())),
            Node::Sum(buffer) => self.sum(*buffer),
            Node::Element(buffer, index) => {
                let index = self.node(index)?;
                let at = integer(index, "[ ]")?;
                let found = u64::try_from(at).ok().and_then(|i| self.scope.element(*buffer, i));
                found.ok_or_else(|| format!("index {at} of a buffer of {} elements", self.scope.length(*buffer)))
            }
            Node::Unary(operator, operand) => unary(*operator, self.node(operand)?),
            Node::Binary(Binary::And, a, b) => Ok(truth(is_true(self.node(a)?) && is_true(self.node(b)?))),
            Node::Binary(Binary::Or, a, b) => Ok(truth(is_true(self.node(a)?) || is_true(self.node(b)?))),
            Node::Binary(operator, a, b) => binary(*operator, self.node(a)?, self.node(b)?),
            Node::Choice(parts) => self.node(&parts[if is_true(self.node(&parts[0])?) { 1 } else { 2 }]),
            Node::Call(function, operands) => {
                let operands: Vec<Number> = operands.iter().map(|o| self.node(o)).collect::<Result<_, _>>()?;
                (function.apply)(&operands)
            }
        }
    }

    fn sum(&self, buffer: usize) -> Result<Number, String> {
        let elements = (0..self.scope.length(buffer)).filter_map(|i| self.scope.element(buffer, i));
        elements.into_iter().try_fold(Number::Int(0), |sum, element| binary(Binary::Add, sum, element))
    }
}

fn truth(value: bool) -> Number {
    Number::Int(value.into())
}

fn is_true(value: Number) -> bool {
    value.as_f64() != 0.0
}

fn unary(operator: Unary, a: Number) -> Result<Number, String> {
    match operator {
        Unary::Negate => negate(a),
        Unary::Not => Ok(truth(!is_true(a))),
        Unary::Invert => Ok(Number::Int(!integer(a, "~")?)),
    }
}

fn binary(operator: Binary, a: Number, b: Number) -> Result<Number, String> {
    use Binary::*;
    match operator {
        Equal => return Ok(truth(!less(a, b) && !less(b, a) && !a.as_f64().is_nan() && !b.as_f64().is_nan())),
        Unequal => return binary(Equal, a, b).map(|same| truth(!is_true(same))),
        Less => return Ok(truth(less(a, b))),
        Greater => return Ok(truth(less(b, a))),
        LessEqual => return Ok(truth(less(a, b) || is_true(binary(Equal, a, b)?))),
        GreaterEqual => return Ok(truth(less(b, a) || is_true(binary(Equal, a, b)?))),
        BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight => return bitwise(operator, a, b),
        _ => {}
    }
    if let (Number::Int(a), Number::Int(b)) = (a, b) {
        if b == 0 && matches!(operator, Divide | Remainder) {
            return Err("division by zero".to_owned());
        }
        let result = match operator {
            Add => a.checked_add(b),
            Subtract => a.checked_sub(b),
            Multiply => a.checked_mul(b),
            Divide => a.checked_div(b),
            _ => a.checked_rem(b),
        };
        return result.map(Number::Int).ok_or_else(too_large);
    }
    let (a, b) = (a.as_f64(), b.as_f64());
    Ok(Number::Float(match operator {
        Add => a + b,
        Subtract => a - b,
        Multiply => a * b,
        Divide => a / b,
        _ => a % b,
    }))
}

fn bitwise(operator: Binary, a: Number, b: Number) -> Result<Number, String> {
    let text = OPERATORS.iter().find(|(op, ..)| *op == operator).map_or("", |(_, text, _)| text);
    let (a, b) = (integer(a, text)?, integer(b, text)?);
    let by = u32::try_from(b).unwrap_or(u32::MAX);
    Ok(Number::Int(match operator {
        Binary::BitAnd => a & b,
        Binary::BitOr => a | b,
        Binary::BitXor => a ^ b,
        Binary::ShiftRight if by < 128 => a >> by,
        Binary::ShiftLeft if by < 100 && a.unsigned_abs().leading_zeros() > by => a << by,
        _ => return Err(format!("{a} {text} {b} is out of range")),
    }))
}

// --------------------------------------------------------------------------------------- parsing

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

/// Deeper nesting than anyone writes; keeps the stack small whatever the input.
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
        match name {
            "i" if self.names.element => Ok(Node::ElementIndex),
            "round" if self.names.round => Ok(Node::Round),
            "pi" => Ok(Node::Constant(Number::Float(std::f64::consts::PI))),
            "inf" => Ok(Node::Constant(Number::Float(f64::INFINITY))),
            "nan" => Ok(Node::Constant(Number::Float(f64::NAN))),
            "i" => Err(self.problem(range, "`i`, the index of an element, has no meaning here")),
            "round" => Err(self.problem(range, "`round`, the number of the repetition, has no meaning here")),
            _ => {
                let known: Vec<&String> = self.names.values.iter().chain(&self.names.buffers).collect();
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
            let message = format!("`{name}` takes {} operands, not {}", function.arity, operands.len());
            return Err(self.problem(range, message));
        }
        Ok(Node::Call(function, operands))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Fixed;

    impl Scope for Fixed {
        fn value(&self, slot: usize) -> Number {
            [Number::Int(1000), Number::Float(0.5)][slot]
        }
        fn length(&self, _: usize) -> u64 {
            4
        }
        fn element(&self, _: usize, index: u64) -> Option<Number> {
            (index < 4).then_some(Number::Int(i128::from(index) * 10))
        }
    }

    fn names() -> Names {
        Names { values: vec!["n".into(), "a".into()], buffers: vec!["x".into()], element: true, round: true }
    }

    fn value(text: &str) -> Result<Number, String> {
        let expr = parse(text, 0, &names()).map_err(|p| format!("{:?} {}", p.span.unwrap(), p.message))?;
        expr.evaluate(&Fixed, 3, 2).map_err(|p| p.message)
    }

    #[track_caller]
    fn check(text: &str, expected: Number) {
        assert_eq!(value(text), Ok(expected), "{text}");
    }

    #[test]
    fn arithmetic() {
        check("1 + 2 * 3", Number::Int(7));
        check("(1 + 2) * 3", Number::Int(9));
        check("10 - 3 - 2", Number::Int(5));
        check("-7 / 2", Number::Int(-3));
        check("7 / 2.0", Number::Float(3.5));
        check("1e-3 * 2", Number::Float(2e-3));
        check("0xff & 0x0f | 1 << 8", Number::Int(0x10f));
        check("2 * x[i] + x[0] + n", Number::Int(1040));
        check("len(x) + sum(x) + round", Number::Int(67));
        check("ceil_div(n, 256)", Number::Int(4));
        check("min(n, 10) + max(a, 0)", Number::Float(10.5));
        check("i % 2 == 0 ? 1 : -1", Number::Int(1));
        check("n >= 1000 && !(n < 5) || 1 / 0", Number::Int(1));
        check("sqrt(16) + floor(-0.5)", Number::Float(3.0));
        check("1_000 == n", Number::Int(1));
    }

    #[test]
    fn mistakes() {
        let check = |text: &str, expected: &str| assert_eq!(value(text), Err(expected.to_owned()), "{text}");
        check("1 +", "3..3 the expression ends too early");
        check("1 + $", "4..5 a number or a name is expected here");
        check("(1 + 2", "6..6 `)` is missing here");
        check("1 2", "2..3 this is not part of the expression before it");
        check("x + 1", "0..1 `x` is a buffer: write `x[i]` for an element");
        check("m + 1", "0..1 there is no value or buffer `m`; did you mean `n`?");
        check("sqr(2)", "0..3 there is no function `sqr`; did you mean `sqrt`?");
        check("min(2)", "0..3 `min` takes 2 operands, not 1");
        check("1 / 0", "division by zero");
        check("x[9]", "index 9 of a buffer of 4 elements");
        check("1 << 1.5", "`<<` needs whole numbers, not 1.5");
        check("12ab", "0..4 `12ab` is not a number");
        assert!(value(&"(".repeat(2_000)).unwrap_err().contains("nested too deeply"));
        assert!(value(&"-".repeat(2_000)).unwrap_err().contains("nested too deeply"));
    }

    proptest! {
        #[test]
        fn whole_numbers_as_in_rust(a in -1000i128..1000, b in 1i128..1000, c in -1000i128..1000) {
            let text = format!("({a} + {b}) * ({c}) - {a} / {b} + ({c}) % {b}");
            prop_assert_eq!(value(&text), Ok(Number::Int((a + b) * c - a / b + c % b)));
        }

        #[test]
        fn no_text_panics(text in "[0-9a-zé.+*/()<>=?:, \\[\\]|&-]{0,40}") {
            _ = value(&text);
        }
    }
}
