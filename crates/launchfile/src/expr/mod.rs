//! Arithmetic expressions in launch files: `"ceil_div(n, 256)"`, `"2 * x[i] + y[i]"`.
//!
//! Operators and their precedence are C's; whole numbers stay whole (so `/` of two of them
//! truncates), anything else is double precision. Names are looked up when the expression is
//! compiled, so that evaluating it for each element is a walk over a small tree.

mod evaluate;
mod functions;
mod parse;

pub use parse::{is_name, is_reserved, parse};

use functions::Function;
use std::ops::Range;
use workloads::element::Number;

/// Objects that an expression's names may refer to.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Named numbers, by slot.
    pub values: Vec<String>,
    /// Names of the buffers, by index.
    pub buffers: Vec<String>,
    /// Whether `i`, the index of the element at hand, has a meaning.
    pub element: bool,
    /// Whether `round`, the number of the repetition, has a meaning.
    pub round: bool,
    /// The loops that the expression is in, outermost first: what each calls its number of rounds, if it does.
    pub loops: Vec<Option<String>>,
}

/// The values of names while an expression is evaluated.
pub trait Scope {
    /// The value of `[values]` at `slot`.
    fn value(&self, slot: usize) -> Number;
    /// Elements of a buffer.
    fn length(&self, buffer: usize) -> u64;
    /// An element of a buffer's first contents.
    fn element(&self, buffer: usize, index: u64) -> Option<Number>;
}

/// An expression that is parsed and whose names are resolved.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The place in the launch file.
    pub span: Range<usize>,
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    Constant(Number),
    Value(usize),
    ElementIndex,
    /// Repetitions of the innermost loop.
    Round,
    /// Rounds of an outer loop, by its depth.
    Counter(usize),
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

    /// Whether its value differs from element to element.
    pub fn uses_element(&self) -> bool {
        let mut found = false;
        self.root.visit(&mut |node| found |= matches!(node, Node::ElementIndex));
        found
    }

    /// The buffers whose contents it reads, each once.
    pub fn buffers(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.root.visit(&mut |node| match node {
            Node::Element(buffer, _) | Node::Sum(buffer) => found.push(*buffer),
            _ => {}
        });
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Node {
    fn visit(&self, see: &mut dyn FnMut(&Node)) {
        see(self);
        match self {
            Node::Element(_, inner) | Node::Unary(_, inner) => inner.visit(see),
            Node::Binary(_, a, b) => [a, b].into_iter().for_each(|n| n.visit(see)),
            Node::Choice(parts) => parts.iter().for_each(|n| n.visit(see)),
            Node::Call(_, operands) => operands.iter().for_each(|n| n.visit(see)),
            Node::Constant(_) | Node::Value(_) | Node::ElementIndex | Node::Round => {}
            Node::Counter(_) | Node::Length(_) | Node::Sum(_) => {}
        }
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
        Names {
            values: vec!["n".into(), "a".into()],
            buffers: vec!["x".into()],
            element: true,
            round: true,
            loops: vec![Some("outer".into()), None],
        }
    }

    fn value(text: &str) -> Result<Number, String> {
        let expr = parse(text, 0, &names()).map_err(|p| format!("{:?} {}", p.span.unwrap(), p.message))?;
        expr.evaluate(&Fixed, &[5, 3], 2).map_err(|p| p.message)
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
        check("10 * outer + round", Number::Int(53));
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

    #[test]
    fn what_an_expression_reads() {
        let expr = |text: &str| parse(text, 0, &names()).unwrap();
        assert_eq!(expr("len(x) + n * round").buffers(), [0usize; 0]);
        assert_eq!(expr("min(-x[0], n) > 1 ? sum(x) : 0").buffers(), [0]);
        assert!(expr("x[0] ? 1 : -(2 * i)").uses_element());
        assert!(!expr("x[0] + round + outer").uses_element());
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
