//! Figures of the user's own, derived from statistics: `bytes per instruction=dram.bytes / warp_instructions`.
//!
//! Expressions have `+ - * /`, parentheses, numbers, and statistics by the names of `warpwright list stats`.

use crate::option::{One, utf8};
use kit::suggest;
use std::ffi::{OsStr, OsString};

/// A derived figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Its name, as headings have it.
    pub name: String,
    /// As the user wrote it.
    text: String,
    expression: Expression,
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Number(f64),
    Statistic(String),
    Binary(u8, Box<[Expression; 2]>),
}

/// Maximum length of an expression, and depth of its parentheses and signs.
const MOST_BYTES: usize = 4096;
const MOST_NESTED: usize = 64;

impl Derived {
    /// The figure called `name`.
    ///
    /// # Errors
    /// The text is not an expression, or names an unknown statistic.
    pub fn new(name: &str, text: &str) -> Result<Self, String> {
        if text.len() > MOST_BYTES {
            return Err(format!("the expression is longer than {MOST_BYTES} bytes"));
        }
        let mut parser = Parser { rest: text, nested: 0 };
        let expression = parser.sum()?;
        if !parser.peek().is_empty() {
            return Err(format!("expected an operator at `{}`", kit::text::excerpt(parser.rest)));
        }
        Ok(Self { name: name.to_owned(), text: text.to_owned(), expression })
    }

    /// Its value, from `statistic`; `None` where a statistic is absent, or a divisor is zero.
    pub fn value(&self, statistic: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        self.expression.value(statistic).filter(|value| value.is_finite())
    }
}

impl Expression {
    fn value(&self, statistic: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Statistic(name) => statistic(name),
            Self::Binary(operator, sides) => {
                let [left, right] = [sides[0].value(statistic)?, sides[1].value(statistic)?];
                match operator {
                    b'+' => Some(left + right),
                    b'-' => Some(left - right),
                    b'*' => Some(left * right),
                    _ => Some(left / right).filter(|_| right != 0.0),
                }
            }
        }
    }
}

/// The rest of a text.
struct Parser<'a> {
    rest: &'a str,
    nested: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> &str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    /// Operands and the operators `of` between them, from left to right.
    fn chain(
        &mut self,
        of: [u8; 2],
        operand: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = operand(self)?;
        while let Some(&operator) = self.peek().as_bytes().first().filter(|byte| of.contains(byte)) {
            self.rest = &self.rest[1..];
            left = Expression::Binary(operator, Box::new([left, operand(self)?]));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain([b'+', b'-'], |parser| parser.chain([b'*', b'/'], Self::operand))
    }

    fn operand(&mut self) -> Result<Expression, String> {
        if self.nested == MOST_NESTED {
            return Err(format!("more than {MOST_NESTED} parentheses and signs within each other"));
        }
        self.nested += 1;
        let operand = match self.peek().as_bytes().first() {
            Some(b'(') => {
                self.rest = &self.rest[1..];
                let inner = self.sum()?;
                self.peek();
                self.rest = self.rest.strip_prefix(')').ok_or("a `)` is missing")?;
                inner
            }
            Some(b'-') => {
                self.rest = &self.rest[1..];
                Expression::Binary(b'-', Box::new([Expression::Number(0.0), self.operand()?]))
            }
            _ => self.word()?,
        };
        self.nested -= 1;
        Ok(operand)
    }

    /// A number or a statistic.
    fn word(&mut self) -> Result<Expression, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        let mut end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        // The sign of an exponent: `1e-9`.
        let is_exponent = self.rest[..end].strip_suffix(['e', 'E']).is_some_and(|digits| digits.parse::<f64>().is_ok());
        if is_exponent && self.rest[end..].starts_with(['-', '+']) {
            end += 1 + self.rest[end + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len() - end - 1);
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let number = word.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
            return number.map(Expression::Number).ok_or_else(|| format!("`{word}` is not a number"));
        }
        let schema = lab::schema();
        if schema.iter().any(|info| *info.name == *word) {
            return Ok(Expression::Statistic(word.to_owned()));
        }
        if word.is_empty() {
            let found = if rest.is_empty() { "the end".to_owned() } else { format!("`{}`", kit::text::excerpt(rest)) };
            return Err(format!("expected a number, a statistic or `(` at {found}"));
        }
        let known: Vec<&str> = schema.iter().map(|info| &*info.name).collect();
        Err(format!("{}\n  hint: `warpwright list stats` names them", suggest::unknown("statistic", word, &known)))
    }
}

impl One for Derived {
    const PYTHON: &'static str = "Mapping[str, str]";
    const AT_COMMAS: bool = false;

    fn read(text: &OsStr) -> Result<Self, String> {
        let text = utf8(text)?;
        match text.split_once('=').map(|(name, expression)| (name.trim(), expression.trim())) {
            Some((name, expression)) if !name.is_empty() => Self::new(name, expression),
            _ => Err("expected NAME=EXPRESSION, such as bytes=dram.bytes / warp_instructions".to_owned()),
        }
    }

    fn text(&self) -> OsString {
        format!("{}={}", self.name, self.text).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let statistic = |name: &str| match name {
            "cycles" => Some(8.0),
            "dram.bytes" => Some(0.0),
            _ => None,
        };
        Derived::new("x", text).unwrap().value(&statistic)
    }

    #[test]
    fn expressions_have_the_usual_precedence() {
        assert_eq!(value("2 + 3*cycles"), Some(26.0));
        assert_eq!(value("(2+3) * cycles / 4 / 2"), Some(5.0));
        assert_eq!(value("2 - 3 - -1"), Some(0.0));
        assert_eq!(value("1e-3 * 1_000 + 2e+0-cycles"), Some(-5.0));
    }

    #[test]
    fn absent_statistics_and_divisions_by_zero_have_no_value() {
        assert_eq!(value("cycles / dram.bytes"), None);
        assert_eq!(value("dram.bytes / dram.bytes"), None);
        assert_eq!(value("1 + design.reordered_share"), None);
        assert_eq!(value("1e308 * 1e308"), None);
    }

    #[test]
    fn mistakes_say_where_and_name_the_nearest_statistic() {
        let error = |text: &str| Derived::read(OsStr::new(text)).unwrap_err();
        assert!(error("x=cycels").contains("did you mean `cycles`"), "{}", error("x=cycels"));
        assert!(error("x=(cycles").contains("`)` is missing"));
        assert!(error("x=cycles cycles").contains("operator at `cycles`"));
        assert!(error("x=cycles *").contains("at the end"));
        assert!(error("x=2 ^ 3").contains("operator at `^ 3`"));
        assert!(error("x=1.2.3").contains("not a number"));
        assert!(error("cycles").contains("NAME=EXPRESSION"));
        assert!(error(&format!("x={}1", "(".repeat(100))).contains("64"));
        assert!(error(&format!("x={}1", "-".repeat(100))).contains("64"));
        assert!(error(&format!("x={}1", "1+".repeat(100_000))).contains("4096 bytes"));
        let text = "a b=1 + cycles / 2";
        assert_eq!(Derived::read(OsStr::new(text)).unwrap().text(), text);
    }
}
