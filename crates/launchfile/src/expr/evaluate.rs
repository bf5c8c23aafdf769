//! Evaluation of an expression.

use super::functions::{integer, less, negate, too_large};
use super::{Binary, Expr, Node, OPERATORS, Scope, Unary};
use crate::diagnostics::Problem;
use kit::text::counted;
use workloads::element::Number;

impl Expr {
    /// Its value for one element. `rounds` are the repetitions so far of each loop that it is in, outermost first.
    pub fn evaluate(&self, scope: &dyn Scope, rounds: &[u64], element: u64) -> Result<Number, Problem> {
        Evaluation { scope, rounds, element }
            .node(&self.root)
            .map_err(|message| Problem::new(self.span.clone(), message))
    }
}

struct Evaluation<'a> {
    scope: &'a dyn Scope,
    rounds: &'a [u64],
    element: u64,
}

impl Evaluation<'_> {
    fn node(&self, node: &Node) -> Result<Number, String> {
        match node {
            Node::Constant(number) => Ok(*number),
            Node::Value(slot) => Ok(self.scope.value(*slot)),
            Node::ElementIndex => Ok(Number::Int(self.element.into())),
            Node::Round => Ok(Number::Int(self.rounds.last().copied().unwrap_or(0).into())),
            Node::Counter(depth) => Ok(Number::Int(self.rounds.get(*depth).copied().unwrap_or(0).into())),
            Node::Length(buffer) => Ok(Number::Int(self.scope.length(*buffer).into())),
            Node::Sum(buffer) => self.sum(*buffer),
            Node::Element(buffer, index) => {
                let index = self.node(index)?;
                let at = integer(index, "[ ]")?;
                let found = u64::try_from(at).ok().and_then(|i| self.scope.element(*buffer, i));
                found.ok_or_else(|| {
                    format!("index {at} of a buffer of {}", counted(self.scope.length(*buffer), "element"))
                })
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
