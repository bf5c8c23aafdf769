//! From TOML to the model: every key known, every name resolved, all problems at once.

use super::diagnostics::Problem;
use super::expr::{self, Expr, Names, Scope};
use super::model::*;
use crate::element::{Number, ScalarType};
use crate::suggest;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Value<'t> = Spanned<DeValue<'t>>;

/// Reads a launch file's text. `overrides` replace values: (name, expression).
pub fn parse(path: &Path, text: &str, overrides: &[(String, String)]) -> Result<LaunchFile, Vec<Problem>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader { text, problems: Vec::new(), names: Names::default(), values: Vec::new() };
    if !errors.is_empty() {
        // What the rest means is anybody's guess.
        let problem = |e: toml::de::Error| Problem { span: e.span(), message: e.message().replace('\n', ": ") };
        return Err(errors.into_iter().map(problem).collect());
    }
    let root = root.into_inner();
    let file = reader.file(path, &root, overrides);
    match file {
        Some(file) if reader.problems.is_empty() => Ok(file),
        _ => Err(reader.problems),
    }
}

/// The expressions of `[values]` may use the values before them, and nothing else.
struct OnlyValues<'a>(&'a [Number]);

impl Scope for OnlyValues<'_> {
    fn value(&self, slot: usize) -> Number {
        self.0[slot]
    }
    fn length(&self, _: usize) -> u64 {
        0
    }
    fn element(&self, _: usize, _: u64) -> Option<Number> {
        None
    }
}

struct Reader<'t> {
    text: &'t str,
    problems: Vec<Problem>,
    /// Values and buffers so far.
    names: Names,
    values: Vec<Number>,
}

impl<'t> Reader<'t> {
    fn file(&mut self, path: &Path, root: &DeTable<'t>, overrides: &[(String, String)]) -> Option<LaunchFile> {
        const KEYS: &[&str] = &["description", "module", "seed", "values", "buffers", "launch", "output"];
        self.known_keys(root, KEYS, "a launch file");
        let description = root.get("description").and_then(|v| self.string(v, "a text")).map(|s| s.item);
        self.read_values(root.get("values"), overrides);
        let seed = root.get("seed").and_then(|v| self.whole_constant(v)).unwrap_or(0);
        let buffers = self.read_buffers(root.get("buffers"));
        let default_module = root.get("module").and_then(|v| self.string(v, "the path of a PTX file"));
        let mut modules = Vec::new();
        let launches: Vec<Option<LaunchSpec>> = self
            .tables(root, "launch")
            .into_iter()
            .map(|(table, span)| self.launch(table, span, default_module.as_ref(), &mut modules))
            .collect();
        if launches.is_empty() {
            self.problems
                .push(Problem::elsewhere("nothing is launched: add a [[launch]] table with kernel, grid and block"));
        }
        let outputs: Vec<Option<OutputSpec>> =
            self.tables(root, "output").into_iter().map(|(table, span)| self.output(table, span)).collect();
        Some(LaunchFile {
            path: path.to_owned(),
            text: self.text.to_owned(),
            description: description.unwrap_or_default(),
            seed,
            names: std::mem::take(&mut self.names),
            values: std::mem::take(&mut self.values),
            buffers,
            modules,
            launches: launches.into_iter().collect::<Option<_>>()?,
            outputs: outputs.into_iter().collect::<Option<_>>()?,
        })
    }

    // ------------------------------------------------------------------------------ basic values

    fn problem(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.problems.push(Problem::new(span, message));
    }

    fn known_keys(&mut self, table: &DeTable<'_>, known: &[&str], what: &str) {
        for (key, _) in table.iter() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                self.problem(key.span(), format!("{what} has no key `{name}`{}", suggest::among(name, known)));
            }
        }
    }

    fn wrong_type(&mut self, value: &Value<'_>, wanted: &str) {
        let got = value.get_ref().type_str();
        self.problem(value.span(), format!("this must be {wanted}, not {} {got}", article(got)));
    }

    fn string(&mut self, value: &Value<'_>, wanted: &str) -> Option<Located<String>> {
        match value.get_ref() {
            DeValue::String(s) => Some(Located { item: s.to_string(), span: value.span() }),
            _ => {
                self.wrong_type(value, wanted);
                None
            }
        }
    }

    fn table<'v>(&mut self, value: &'v Value<'t>, wanted: &str) -> Option<&'v DeTable<'t>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong_type(value, wanted);
        }
        table
    }

    /// The tables of `[[key]]`; one `[key]` counts as well.
    fn tables<'v>(&mut self, root: &'v DeTable<'t>, key: &str) -> Vec<(&'v DeTable<'t>, Range<usize>)> {
        let Some(value) = root.get(key) else { return Vec::new() };
        let wanted = format!("written [[{key}]]");
        let items: Vec<&Value<'t>> = match value.get_ref() {
            DeValue::Array(array) => array.iter().collect(),
            _ => vec![value],
        };
        items.into_iter().filter_map(|item| Some((self.table(item, &wanted)?, item.span()))).collect()
    }

    /// A number, or a text with an expression.
    fn expr(&mut self, value: &Value<'_>) -> Option<Expr> {
        let span = value.span();
        match value.get_ref() {
            DeValue::Integer(integer) => {
                let parsed = i128::from_str_radix(integer.as_str(), integer.radix());
                Some(Expr::constant(span, Number::Int(parsed.ok()?)))
            }
            DeValue::Float(float) => Some(Expr::constant(span, Number::Float(float.as_str().parse().ok()?))),
            DeValue::Boolean(value) => Some(Expr::constant(span, Number::Int((*value).into()))),
            DeValue::String(text) => {
                let names = self.names.clone();
                self.expression(text, span, &names)
            }
            _ => {
                self.wrong_type(value, "a number, or an expression in quotes");
                None
            }
        }
    }

    /// An expression for each element, where `i` has a meaning.
    fn element_expr(&mut self, value: &Value<'_>) -> Option<Expr> {
        self.with_names(|names| names.element = true, |reader| reader.expr(value))
    }

    /// An expression for each repetition, where `round` has a meaning.
    fn round_expr(&mut self, value: &Value<'_>) -> Option<Expr> {
        self.with_names(|names| names.round = true, |reader| reader.expr(value))
    }

    fn with_names<T>(&mut self, change: impl FnOnce(&mut Names), body: impl FnOnce(&mut Self) -> T) -> T {
        let (element, round) = (self.names.element, self.names.round);
        change(&mut self.names);
        let result = body(self);
        (self.names.element, self.names.round) = (element, round);
        result
    }

    fn expression(&mut self, text: &str, span: Range<usize>, names: &Names) -> Option<Expr> {
        // Places within the text are known if it stands in the file as it is, without escapes.
        let inner = span.start + 1..span.end.saturating_sub(1);
        let verbatim = self.text.get(inner.clone()) == Some(text);
        let parsed = expr::parse(text, inner.start, names);
        match parsed {
            Ok(mut expr) => {
                expr.span = span;
                Some(expr)
            }
            Err(problem) => {
                let span = if verbatim { problem.span } else { Some(span) };
                self.problems.push(Problem { span, message: problem.message });
                None
            }
        }
    }

    fn whole_constant(&mut self, value: &Value<'_>) -> Option<u64> {
        let expr = self.expr(value)?;
        match expr.evaluate(&OnlyValues(&self.values), 0, 0) {
            Ok(Number::Int(i)) if u64::try_from(i).is_ok() => Some(i as u64),
            Ok(other) => {
                self.problem(value.span(), format!("this must be a whole number from 0, not {other}"));
                None
            }
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// Checks that a new name is one, is free, and means nothing else.
    fn new_name(&mut self, name: &str, span: Range<usize>) {
        if !expr::is_name(name) {
            self.problem(span, format!("`{name}` cannot be a name: letters, digits and `_`, and no digit first"));
        } else if expr::is_reserved(name) {
            self.problem(span, format!("`{name}` has a meaning of its own in expressions: choose another name"));
        } else if self.names.values.iter().chain(&self.names.buffers).any(|n| n == name) {
            self.problem(span, format!("`{name}` is both a value and a buffer"));
        }
    }

    fn buffer_named(&mut self, name: &str, span: Range<usize>) -> Option<usize> {
        let found = self.names.buffers.iter().position(|b| b == name);
        if found.is_none() {
            let advice = suggest::among(name, &self.names.buffers);
            self.problem(span, format!("there is no buffer `{name}`{advice}"));
        }
        found
    }

    // ------------------------------------------------------------------------ values and buffers

    fn read_values(&mut self, value: Option<&Value<'t>>, overrides: &[(String, String)]) {
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

    fn read_buffers(&mut self, value: Option<&Value<'t>>) -> Vec<BufferSpec> {
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
    fn no_problem_in(&self, table: &DeTable<'_>) -> bool {
        let within = |span: &Range<usize>| {
            table.iter().any(|(k, v)| k.span().start <= span.start && span.end <= v.span().end.max(k.span().end))
        };
        !self.problems.iter().filter_map(|p| p.span.as_ref()).any(within)
    }

    fn scalar_type(&mut self, value: &Value<'_>) -> Option<ScalarType> {
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

    /// `iota = true` counts from 0; `iota = { start = 1, step = 2 }` as it says.
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

    // ----------------------------------------------------------------------- launches and outputs

    fn launch(
        &mut self,
        table: &DeTable<'t>,
        span: Range<usize>,
        default_module: Option<&Located<String>>,
        modules: &mut Vec<Located<String>>,
    ) -> Option<LaunchSpec> {
        const KEYS: &[&str] =
            &["module", "kernel", "grid", "block", "shared_bytes", "registers", "args", "repeat", "stream", "swap"];
        self.known_keys(table, KEYS, "a launch");
        let own_module = table.get("module").and_then(|v| self.string(v, "the path of a PTX file"));
        let module = own_module.as_ref().or(default_module);
        if module.is_none() && !table.contains_key("module") {
            self.problem(span.clone(), "no module: write `module = \"FILE.ptx\"` here or at the top of the file");
        }
        let kernel = self.required(table, "kernel", &span).and_then(|v| self.string(v, "a kernel's name"));
        let grid = self.required(table, "grid", &span).and_then(|v| self.sizes(v));
        let block = self.required(table, "block", &span).and_then(|v| self.sizes(v));
        let args = match table.get("args") {
            Some(value) => self.args(value),
            None => Some(Located { item: Vec::new(), span: span.clone() }),
        };
        let mut optional = |key: &str| table.get(key).map(|v| self.round_expr(v));
        let (shared_bytes, registers) = (optional("shared_bytes"), optional("registers"));
        let (repeat, stream) = (optional("repeat"), optional("stream"));
        let swap = table.get("swap").map_or(Some(Vec::new()), |v| self.swap(v));
        let module = module?;
        let known = modules.iter().position(|m| m.item == module.item);
        Some(LaunchSpec {
            module: known.unwrap_or_else(|| {
                modules.push(module.clone());
                modules.len() - 1
            }),
            kernel: kernel?,
            grid: grid?,
            block: block?,
            shared_bytes: flatten(shared_bytes)?,
            registers: flatten(registers)?,
            args: args?,
            repeat: flatten(repeat)?,
            stream: flatten(stream)?,
            swap: swap?,
        })
    }

    fn required<'v>(&mut self, table: &'v DeTable<'t>, key: &str, span: &Range<usize>) -> Option<&'v Value<'t>> {
        let value = table.get(key);
        if value.is_none() {
            // The header line is place enough.
            let header = self.text.get(span.clone()).and_then(|t| t.lines().next()).map_or(0, str::len);
            self.problem(span.start..span.start + header, format!("`{key}` is missing"));
        }
        value
    }

    /// A number, or an array of one to three.
    fn sizes(&mut self, value: &Value<'t>) -> Option<Vec<Expr>> {
        let DeValue::Array(array) = value.get_ref() else { return self.round_expr(value).map(|e| vec![e]) };
        if !(1..=3).contains(&array.len()) {
            self.problem(value.span(), format!("one to three sizes are possible, not {}", array.len()));
            return None;
        }
        let sizes: Vec<_> = array.iter().map(|v| self.round_expr(v)).collect();
        sizes.into_iter().collect()
    }

    fn args(&mut self, value: &Value<'t>) -> Option<Located<Vec<ArgSpec>>> {
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type(value, "an array of arguments");
            return None;
        };
        let args: Vec<_> = array.iter().map(|v| self.arg(v)).collect();
        Some(Located { item: args.into_iter().collect::<Option<_>>()?, span: value.span() })
    }

    fn arg(&mut self, value: &Value<'t>) -> Option<ArgSpec> {
        match value.get_ref() {
            DeValue::String(text) if expr::is_name(text) && !self.names.values.iter().any(|v| v == text) => {
                if **text == *"round" || **text == *"pi" {
                    return self.round_expr(value).map(|value| ArgSpec::Scalar { value, ty: None });
                }
                let found = self.names.buffers.iter().position(|b| b == text);
                if found.is_none() {
                    let known: Vec<_> = self.names.buffers.iter().chain(&self.names.values).cloned().collect();
                    let advice = suggest::among(text, &known);
                    self.problem(value.span(), format!("there is no buffer or value `{text}`{advice}"));
                }
                Some(ArgSpec::Buffer { buffer: found?, offset: None, span: value.span() })
            }
            DeValue::Table(table) => self.arg_table(table, value.span()),
            _ => self.round_expr(value).map(|value| ArgSpec::Scalar { value, ty: None }),
        }
    }

    /// `{ buffer, offset }`, `{ value, type }`, `{ f32 = 1.0 }` or `{ bytes = [...] }`.
    fn arg_table(&mut self, table: &DeTable<'t>, span: Range<usize>) -> Option<ArgSpec> {
        if let Some(value) = table.get("buffer") {
            self.known_keys(table, &["buffer", "offset"], "a buffer argument");
            let name = self.string(value, "a buffer's name")?;
            let buffer = self.buffer_named(&name.item, name.span);
            let offset = table.get("offset").map(|v| self.round_expr(v));
            return Some(ArgSpec::Buffer { buffer: buffer?, offset: flatten(offset)?, span });
        }
        if let Some(value) = table.get("bytes") {
            self.known_keys(table, &["bytes"], "an argument of bytes");
            let bytes = value.get_ref().as_array().map(|a| a.iter().map(byte).collect::<Option<Vec<u8>>>());
            if let Some(Some(item)) = bytes {
                return Some(ArgSpec::Bytes(Located { item, span }));
            }
            self.problem(value.span(), "this must be an array of numbers from 0 to 255");
            return None;
        }
        if let Some(value) = table.get("value") {
            self.known_keys(table, &["value", "type"], "a scalar argument");
            let ty = table.get("type").map(|t| self.scalar_type(t));
            let value = self.round_expr(value)?;
            return Some(ArgSpec::Scalar { value, ty: flatten(ty)? });
        }
        let mut entries = table.iter();
        if let (Some((key, value)), None) = (entries.next(), entries.next())
            && let Some(ty) = ScalarType::parse(key.get_ref())
        {
            return self.round_expr(value).map(|value| ArgSpec::Scalar { value, ty: Some(ty) });
        }
        self.problem(
            span,
            "an argument is a number, a buffer's name, { buffer, offset }, { value, type } or { bytes }",
        );
        None
    }

    /// `swap = ["a", "b"]`, or an array of such pairs.
    fn swap(&mut self, value: &Value<'t>) -> Option<Vec<(usize, usize)>> {
        let wanted = "a pair of buffers, [\"a\", \"b\"], or an array of pairs";
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(value, wanted);
            return None;
        };
        if array.iter().all(|item| item.get_ref().is_array()) {
            let pairs: Vec<_> = array.iter().map(|item| self.pair(item)).collect();
            return pairs.into_iter().collect();
        }
        self.pair(value).map(|pair| vec![pair])
    }

    fn pair(&mut self, value: &Value<'t>) -> Option<(usize, usize)> {
        let items: Vec<&Value<'t>> = value.get_ref().as_array()?.iter().collect();
        let [a, b] = items[..] else {
            self.problem(value.span(), "two buffers change roles: [\"a\", \"b\"]");
            return None;
        };
        let mut buffer = |v: &Value<'t>| {
            let name = self.string(v, "a buffer's name")?;
            self.buffer_named(&name.item, name.span)
        };
        let (a, b) = (buffer(a), buffer(b));
        Some((a?, b?))
    }

    fn output(&mut self, table: &DeTable<'t>, span: Range<usize>) -> Option<OutputSpec> {
        self.known_keys(table, &["buffer", "count", "print", "write", "compare"], "an output");
        let name = self.required(table, "buffer", &span).and_then(|v| self.string(v, "a buffer's name"));
        let buffer = name.and_then(|name| self.buffer_named(&name.item, name.span));
        let count = table.get("count").map(|v| self.expr(v));
        let print = table.get("print").map(|v| match v.get_ref() {
            DeValue::Boolean(true) => Some(Expr::constant(v.span(), Number::Int(16))),
            _ => self.expr(v),
        });
        let write = table.get("write").map(|v| self.string(v, "the path of a file"));
        let compare = table.get("compare").map(|v| self.compare(v));
        if !["print", "write", "compare"].iter().any(|key| table.contains_key(*key)) && self.no_problem_in(table) {
            self.problem(span.clone(), "this output does nothing: say print, write or compare");
        }
        Some(OutputSpec {
            buffer: buffer?,
            span,
            count: flatten(count)?,
            print: flatten(print)?,
            write: flatten(write)?,
            compare: flatten(compare)?,
        })
    }

    /// A number, a formula, or a table with `formula` or `file` and tolerances.
    fn compare(&mut self, value: &Value<'t>) -> Option<Compare> {
        let DeValue::Table(table) = value.get_ref() else {
            let against = Against::Formula(self.element_expr(value)?);
            return Some(Compare { against, absolute: None, relative: None });
        };
        self.known_keys(table, &["formula", "file", "absolute", "relative"], "a comparison");
        let against = match (table.get("formula"), table.get("file")) {
            (Some(formula), None) => self.element_expr(formula).map(Against::Formula),
            (None, Some(file)) => self.string(file, "the path of a file").map(Against::File),
            _ => {
                if self.no_problem_in(table) {
                    self.problem(value.span(), "a comparison needs either a formula or a file");
                }
                None
            }
        };
        let absolute = table.get("absolute").map(|v| self.expr(v));
        let relative = table.get("relative").map(|v| self.expr(v));
        Some(Compare { against: against?, absolute: flatten(absolute)?, relative: flatten(relative)? })
    }
}

/// `Some(None)`, given but wrong, spoils the whole; `None`, not given, does not.
fn flatten<T>(given: Option<Option<T>>) -> Option<Option<T>> {
    match given {
        Some(None) => None,
        Some(Some(item)) => Some(Some(item)),
        None => Some(None),
    }
}

fn byte(value: &Value<'_>) -> Option<u8> {
    let integer = value.get_ref().as_integer()?;
    u8::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn type_names() -> String {
    ScalarType::ALL.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ")
}
