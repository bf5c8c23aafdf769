//! Functions that expressions call, and arithmetic that they share with operators.

use workloads::element::Number;

/// A function by name.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) arity: usize,
    pub(super) apply: fn(&[Number]) -> Result<Number, String>,
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

pub(super) static FLOAT_FUNCTIONS: &[Function] = float_functions! {
    "sqrt": f64::sqrt, "exp": f64::exp, "log": f64::ln, "log2": f64::log2,
    "sin": f64::sin, "cos": f64::cos, "tan": f64::tan, "tanh": f64::tanh,
    "float": |x| x, "f32": |x| f64::from(x as f32),
};

pub(super) static FUNCTIONS: &[Function] = &[
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

pub(super) fn less(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a < b,
        _ => a.as_f64() < b.as_f64(),
    }
}

pub(super) fn negate(a: Number) -> Result<Number, String> {
    match a {
        Number::Int(a) => a.checked_neg().map(Number::Int).ok_or_else(too_large),
        Number::Float(a) => Ok(Number::Float(-a)),
    }
}

fn whole(a: Number, round: fn(f64) -> f64) -> Result<Number, String> {
    match a {
        Number::Int(a) => Ok(Number::Int(a)),
        Number::Float(a) if round(a).abs() < 1e30 => Ok(Number::Int(round(a) as i128)),
        Number::Float(a) => Err(format!("{a} is not a whole number")),
    }
}

fn ceil_div(a: Number, b: Number) -> Result<Number, String> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) if a >= 0 && b > 0 => Ok(Number::Int(a / b + i128::from(a % b != 0))),
        _ => Err(format!("ceil_div({a}, {b}) needs whole numbers, the first not negative, the second positive")),
    }
}

pub(super) fn too_large() -> String {
    "a whole number is too large".to_owned()
}

pub(super) fn integer(a: Number, operator: &str) -> Result<i128, String> {
    match a {
        Number::Int(a) => Ok(a),
        Number::Float(a) => Err(format!("`{operator}` needs whole numbers, not {a}")),
    }
}
