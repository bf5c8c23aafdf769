//! `[values]` and `[buffers]`.

use super::{OnlyValues, Reader, Value, type_names};
use crate::element::{Number, ScalarType};
use crate::launchfile::diagnostics::Problem;
use crate::launchfile::expr::{self, Expr};
use crate::launchfile::model::{BufferSpec, Content, Distribution, Located};
use crate::suggest;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

impl<'t> Reader<'t> {
    pub(super) fn read_values(&mut self, value: Option<&Value<'t>>, overrides: &[(String, String)]) {
        let empty = DeTable::new();
        let table = value.and_then(|v| self.table(v, "a table of named numbers")).unwrap_or(&empty);
        for (key, value) in table.iter() {
            let name: &str = key.get_ref();
            self.new_name(name, key.span());
            let given = overrides.iter().rev().find(|(n, _)| n == name);
            let number = match given {
                Some((_, text)) => self.override_value(name, text),
                None => self.expr(value).and_then(|expr| {
                    let number = expr.evaluate(&OnlyValues(&self.values), 0, 0);
                    number.map_err(|problem| self.problems.push(problem)).ok()
                }),
            };
            // A wrong value is reported once: whatever refers to it sees a number.
            self.values.push(number.unwrap_or(Number::Int(1)));
            self.names.values.push(name.to_owned());
        }
        for (name, _) in overrides.iter().filter(|(n, _)| !self.names.values.contains(n)) {
            let advice = suggest::among(name, &self.names.values);
            self.problems.push(Problem::elsewhere(format!("[values] has no `{name}` to set{advice}")));
        }
    }

    fn override_value(&mut self, name: &str, text: &str) -> Option<Number> {
        let value = expr::parse(text, 0, &self.names).and_then(|expr| expr.evaluate(&OnlyValues(&self.values), 0, 0));
        value.map_err(|p| self.problems.push(Problem::elsewhere(format!("setting {name}={text}: {}", p.message)))).ok()
    }

    pub(super) fn read_buffers(&mut self, value: Option<&Value<'t>>) -> Vec<BufferSpec> {
        let Some(table) = value.and_then(|v| self.table(v, "a table of buffers: [buffers.NAME]")) else {
            return Vec::new();
        };
        let mut buffers = Vec::new();
        for (key, value) in table.iter() {
            let name = Located { item: key.get_ref().to_string(), span: key.span() };
            self.new_name(&name.item, key.span());
            let content = self.table(value, "a table with type, length and contents").map(|t| self.buffer(t, &name));
            let (ty, length, content) = content.unwrap_or((None, None, Content::Zero));
            self.names.buffers.push(name.item.clone());
            buffers.push(BufferSpec { name, ty, length, content });
        }
        buffers
    }

    fn buffer(&mut self, table: &DeTable<'t>, name: &Located<String>) -> (Option<ScalarType>, Option<Expr>, Content) {
        const CONTENTS: &[&str] = &["zero", "fill", "formula", "iota", "values", "random", "file"];
        let known = [&["type", "length"], CONTENTS].concat();
        self.known_keys(table, &known, "a buffer");
        let ty = table.get("type").and_then(|v| self.scalar_type(v));
        let length = table.get("length").and_then(|v| self.expr(v));
        let given: Vec<_> = table.iter().filter(|(key, _)| CONTENTS.contains(&&**key.get_ref())).collect();
        if let [_, (second, _), ..] = given[..] {
            let message = format!("buffer `{}` has several contents: keep one of {}", name.item, CONTENTS.join(", "));
            self.problem(second.span(), message);
        }
        let content = given.first().and_then(|(key, value)| self.content(key.get_ref(), value));
        let knows_length = matches!(content, Some(Content::Values(_) | Content::File(_)));
        if !table.contains_key("length") && !knows_length && given.len() <= 1 && self.no_problem_in(table) {
            self.problem(name.span.clone(), format!("buffer `{}` needs a length", name.item));
        }
        let from_file = matches!(content, Some(Content::File(_)));
        if !table.contains_key("type") && !from_file && self.no_problem_in(table) {
            self.problem(name.span.clone(), format!("buffer `{}` needs a type: {}", name.item, type_names()));
        }
        (ty, length, content.unwrap_or(Content::Zero))
    }

    /// Whether a table was read without a problem: else a key that seems to be missing may be one
    /// that is misspelt.
    pub(super) fn no_problem_in(&self, table: &DeTable<'_>) -> bool {
        let within = |span: &Range<usize>| {
            table.iter().any(|(k, v)| k.span().start <= span.start && span.end <= v.span().end.max(k.span().end))
        };
        !self.problems.iter().filter_map(|p| p.span.as_ref()).any(within)
    }

    pub(super) fn scalar_type(&mut self, value: &Value<'_>) -> Option<ScalarType> {
        let name = self.string(value, "the name of a type")?;
        let found = ScalarType::parse(&name.item);
        if found.is_none() {
            self.problem(name.span, format!("there is no type `{}`: {}", name.item, type_names()));
        }
        found
    }

    fn content(&mut self, key: &str, value: &Value<'t>) -> Option<Content> {
        match key {
            "zero" => match value.get_ref() {
                DeValue::Boolean(true) => Some(Content::Zero),
                _ => {
                    self.problem(value.span(), "this can only be `true`");
                    None
                }
            },
            "fill" | "formula" => self.element_expr(value).map(Content::Formula),
            "iota" => self.iota(value),
            "values" => match value.get_ref() {
                DeValue::Array(array) => {
                    let values: Vec<_> = array.iter().map(|v| self.expr(v)).collect();
                    values.into_iter().collect::<Option<_>>().map(Content::Values)
                }
                _ => {
                    self.wrong_type(value, "an array of numbers");
                    None
                }
            },
            "random" => self.random(value),
            _ => self.string(value, "the path of a file").map(Content::File),
        }
    }

    /// `iota = true` counts from 0; `iota = { start = 1, step = 2 }` from 1 in steps of 2.
    fn iota(&mut self, value: &Value<'t>) -> Option<Content> {
        let constant = |number: i128| Expr::constant(value.span(), Number::Int(number));
        let (start, step) = match value.get_ref() {
            DeValue::Boolean(true) => (Some(constant(0)), Some(constant(1))),
            DeValue::Table(table) => {
                self.known_keys(table, &["start", "step"], "`iota`");
                let mut part = |key: &str, default| table.get(key).map_or(Some(constant(default)), |v| self.expr(v));
                (part("start", 0), part("step", 1))
            }
            _ => {
                self.wrong_type(value, "`true` or { start, step }");
                return None;
            }
        };
        Some(Content::Formula(Expr::progression(value.span(), start?, step?)))
    }

    /// `random = true`, or a table with low and high, or mean and deviation, and a seed.
    fn random(&mut self, value: &Value<'t>) -> Option<Content> {
        let constant = |number: i128| Expr::constant(value.span(), Number::Int(number));
        let even = |low, high| Distribution::Uniform { low, high };
        let DeValue::Table(table) = value.get_ref() else {
            if !matches!(value.get_ref(), DeValue::Boolean(true)) {
                self.wrong_type(value, "`true`, { low, high } or { mean, deviation }");
                return None;
            }
            return Some(Content::Random { distribution: even(constant(0), constant(1)), seed: None });
        };
        self.known_keys(table, &["low", "high", "mean", "deviation", "seed"], "`random`");
        let mut part = |key: &str, default| table.get(key).map_or(Some(constant(default)), |v| self.expr(v));
        let (low, high) = (part("low", 0), part("high", 1));
        let (mean, deviation) = (part("mean", 0), part("deviation", 1));
        let normal = table.contains_key("mean") || table.contains_key("deviation");
        if normal && (table.contains_key("low") || table.contains_key("high")) {
            self.problem(value.span(), "give either low and high, or mean and deviation");
        }
        let seed = table.get("seed").and_then(|v| self.whole_constant(v));
        let distribution =
            if normal { Distribution::Normal { mean: mean?, deviation: deviation? } } else { even(low?, high?) };
        Some(Content::Random { distribution, seed })
    }
}
