//! `[values]` and `[buffers]`.

use super::{OnlyValues, Reader, Value, flatten, type_names};
use crate::diagnostics::Problem;
use crate::expr::{self, Expr};
use crate::model::{Address, BufferSpec, Content, Distribution, Element, Located, ReferenceSpec, SymbolSpec};
use kit::suggest;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use workloads::element::{Number, ScalarType};

impl<'t> Reader<'t> {
    pub(super) fn read_values(&mut self, value: Option<&Value<'t>>) {
        let overrides = &self.overrides.values;
        let empty = DeTable::new();
        let table = value.and_then(|v| self.table(v, "a table of named numbers")).unwrap_or(&empty);
        for (key, value) in table.iter() {
            let name: &str = key.get_ref();
            self.new_name(name, key.span());
            let given = overrides.iter().rev().find(|(n, _)| n == name);
            let number = match given {
                Some((_, text)) => self.override_value(name, text),
                None => self.expr(value).and_then(|expr| {
                    let number = expr.evaluate(&OnlyValues(&self.values), &[], 0);
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
        let value = expr::parse(text, 0, &self.names).and_then(|expr| expr.evaluate(&OnlyValues(&self.values), &[], 0));
        value.map_err(|p| self.problems.push(Problem::elsewhere(format!("setting {name}={text}: {}", p.message)))).ok()
    }

    /// Buffers, then symbols.
    pub(super) fn read_buffers(&mut self, root: &DeTable<'t>) -> Vec<BufferSpec> {
        const BUFFERS: (&str, &str) = ("buffers", "a table of buffers: [buffers.NAME]");
        const SYMBOLS: (&str, &str) = ("symbols", "a table of variables: [symbols.NAME]");
        let tables = [BUFFERS, SYMBOLS].map(|(key, wanted)| root.get(key).and_then(|v| self.table(v, wanted)));
        // Addresses may be of buffers that follow.
        self.all_buffers =
            tables.iter().flatten().flat_map(|t| t.iter().map(|(key, _)| key.get_ref().to_string())).collect();
        let mut buffers = Vec::new();
        for (table, is_symbol) in tables.into_iter().zip([false, true]) {
            for (key, value) in table.iter().flat_map(|table| table.iter()) {
                let name = Located { item: key.get_ref().to_string(), span: key.span() };
                self.new_name(&name.item, key.span());
                let read = self.table(value, "a table with type, length and contents");
                let symbol = is_symbol.then(|| self.symbol(read, &name)).flatten();
                let content = read.map(|table| self.buffer(table, &name, is_symbol));
                let (ty, length, content) = content.unwrap_or((None, None, Content::Zero));
                self.names.buffers.push(name.item.clone());
                buffers.push(BufferSpec { name, ty, length, content, symbol });
            }
            if !is_symbol {
                self.symbols_from = buffers.len();
            }
        }
        buffers
    }

    /// Which variable a symbol is.
    fn symbol(&mut self, table: Option<&DeTable<'t>>, name: &Located<String>) -> Option<SymbolSpec> {
        let table = table?;
        let module = self.module(table.get("module"), &name.span);
        let own = table.get("name").map(|v| self.string(v, "the name of a variable in the module"));
        let offset = table.get("offset").map(|v| self.expr(v));
        Some(SymbolSpec {
            module: module?,
            name: flatten(own)?.unwrap_or_else(|| name.clone()),
            offset: flatten(offset)?,
        })
    }

    /// `[textures.NAME]` and `[surfaces.NAME]`: references and the buffers that they are bound to.
    pub(super) fn read_references(&mut self, root: &DeTable<'t>) -> Vec<ReferenceSpec> {
        let mut references = Vec::new();
        for (key, texture) in [("textures", true), ("surfaces", false)] {
            let wanted = format!("a table of references: [{key}.NAME]");
            let Some(table) = root.get(key).and_then(|v| self.table(v, &wanted)) else { continue };
            for (name, value) in table.iter() {
                let name = Located { item: name.get_ref().to_string(), span: name.span() };
                references.extend(self.reference(value, name, texture));
            }
        }
        references
    }

    fn reference(&mut self, value: &Value<'t>, name: Located<String>, texture: bool) -> Option<ReferenceSpec> {
        let table = self.table(value, "a table with a buffer and sizes")?;
        let module = self.module(table.get("module"), &name.span);
        let own = table.get("name").map(|v| self.string(v, "the name of a reference in the module"));
        let buffer = self.required(table, "buffer", &name.span)?;
        let image = self.image(table, buffer, texture, &["buffer", "module", "name"], name.span.clone());
        Some(ReferenceSpec { module: module?, name: flatten(own)?.unwrap_or(name), image: image? })
    }

    fn buffer(
        &mut self,
        table: &DeTable<'t>,
        name: &Located<String>,
        is_symbol: bool,
    ) -> (Option<ScalarType>, Option<Expr>, Content) {
        const CONTENTS: &[&str] = &["zero", "fill", "formula", "iota", "values", "struct", "address", "random", "file"];
        let own: &[&str] = if is_symbol { &["module", "name", "offset"] } else { &[] };
        let known = [&["type", "length"], CONTENTS, own].concat();
        let what = if is_symbol { "a symbol" } else { "a buffer" };
        self.known_keys(table, &known, what);
        let ty = table.get("type").and_then(|v| self.scalar_type(v));
        let length = table.get("length").and_then(|v| self.expr(v));
        let given: Vec<_> = table.iter().filter(|(key, _)| CONTENTS.contains(&&**key.get_ref())).collect();
        if let [_, (second, _), ..] = given[..] {
            let message = format!("{what} `{}` has several contents: keep one of {}", name.item, CONTENTS.join(", "));
            self.problem(second.span(), message.trim_start_matches("a "));
        }
        let content = given.first().and_then(|(key, value)| self.content(key.get_ref(), value));
        let (ty, own_type) = match content {
            Some(Content::Structs(_)) => (self.implied(table, ty, ScalarType::U8), true),
            _ if table.contains_key("address") => (self.implied(table, ty, ScalarType::U64), true),
            Some(Content::File(_)) => (ty, true),
            _ => (ty, false),
        };
        let knows_length = is_symbol || matches!(content, Some(Content::Values(_) | Content::File(_)));
        if !table.contains_key("length") && !knows_length && given.len() <= 1 && self.no_problem_in(table) {
            self.problem(name.span.clone(), format!("buffer `{}` needs a length", name.item));
        }
        if !table.contains_key("type") && !own_type && self.no_problem_in(table) {
            let what = what.trim_start_matches("a ");
            self.problem(name.span.clone(), format!("{what} `{}` needs a type: {}", name.item, type_names()));
        }
        let none = if is_symbol && given.is_empty() { Content::Kept } else { Content::Zero };
        (ty, length, content.unwrap_or(none))
    }

    /// The type that contents have themselves.
    fn implied(&mut self, table: &DeTable<'t>, given: Option<ScalarType>, ty: ScalarType) -> Option<ScalarType> {
        if let Some(value) = table.get("type").filter(|_| given.is_some_and(|given| given != ty)) {
            self.problem(value.span(), format!("the type of these contents is {}: leave it out", ty.name()));
        }
        Some(ty)
    }

    /// An array of numbers and addresses.
    pub(super) fn elements(&mut self, value: &Value<'t>) -> Option<Vec<Element>> {
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type(value, "an array of numbers");
            return None;
        };
        let values: Vec<_> = array.iter().map(|v| self.element(v)).collect();
        values.into_iter().collect()
    }

    /// A number or `{ address = "x", offset, when }`.
    pub(super) fn element(&mut self, value: &Value<'t>) -> Option<Element> {
        match value.get_ref() {
            DeValue::Table(table) if table.contains_key("address") => {
                self.address(table, "address", value.span()).map(Element::Address)
            }
            DeValue::Table(_) => {
                self.wrong_type(value, "a number, an expression in quotes, or { address }");
                None
            }
            _ => self.expr(value).map(Element::Number),
        }
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
            "values" => self.elements(value).map(Content::Values),
            "struct" => {
                let structure =
                    self.with_names(|names| names.element = true, |reader| reader.structure(value, None, false));
                structure.map(Content::Structs)
            }
            "address" => {
                let name = self.string(value, "a buffer's name")?;
                let buffer = self.any_buffer_named(&name.item, name.span)?;
                let address = Address { buffer, offset: None, when: None, span: value.span() };
                Some(Content::Values(vec![Element::Address(address)]))
            }
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
