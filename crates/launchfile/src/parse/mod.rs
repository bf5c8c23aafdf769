//! From TOML to the model: every key known, every name resolved, all problems at once.

mod arguments;
mod buffers;
mod outputs;
mod steps;

use super::diagnostics::Problem;
use super::expr::{self, Expr, Names, Scope};
use super::model::*;
use super::overrides::Overrides;
use exec::memory::MAX_LOCAL_BYTES;
use kit::suggest;
use kit::text::bounded;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use workloads::element::{Number, ScalarType};

type Value<'t> = Spanned<DeValue<'t>>;

/// Reads a launch file's text.
pub fn parse(path: &Path, text: &str, overrides: &Overrides) -> Result<LaunchFile, Vec<Problem>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader {
        path,
        text,
        overrides,
        problems: Vec::new(),
        names: Names::default(),
        all_buffers: Vec::new(),
        symbols_from: 0,
        values: Vec::new(),
        default_module: None,
        modules: Vec::new(),
    };
    if !errors.is_empty() {
        // The meaning of the rest is unknown.
        let problem =
            |e: toml::de::Error| Problem { span: e.span(), message: bounded(&e.message().replace('\n', ": ")) };
        return Err(errors.into_iter().map(problem).collect());
    }
    let root = root.into_inner();
    let file = reader.file(&root);
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
    path: &'t Path,
    text: &'t str,
    overrides: &'t Overrides,
    problems: Vec<Problem>,
    /// Values and buffers so far.
    names: Names,
    /// Names of all buffers and symbols.
    all_buffers: Vec<String>,
    /// Index of the first symbol.
    symbols_from: usize,
    values: Vec<Number>,
    /// The module of launches and symbols that name none.
    default_module: Option<ModuleSpec>,
    modules: Vec<ModuleSpec>,
}

/// The largest heap of kernels.
const MAX_HEAP_BYTES: u64 = 16 << 30;

impl<'t> Reader<'t> {
    fn file(&mut self, root: &DeTable<'t>) -> Option<LaunchFile> {
        const KEYS: &[&str] = &[
            "description",
            "module",
            "gpu",
            "seed",
            "stack_bytes",
            "heap_bytes",
            "values",
            "buffers",
            "symbols",
            "textures",
            "surfaces",
            "launch",
            "set",
            "loop",
            "output",
        ];
        self.known_keys(root, KEYS, "a launch file");
        let description = root.get("description").and_then(|v| self.string(v, "a text")).map(|s| s.item);
        let gpu = root.get("gpu").map(|v| self.string(v, "the name of a GPU, or the path of a description"));
        self.read_values(root.get("values"));
        let seed = root.get("seed").and_then(|v| self.whole_constant(v)).unwrap_or(0);
        let stack_bytes =
            root.get("stack_bytes").and_then(|v| self.size(v, "a thread's stack", MAX_LOCAL_BYTES.into()));
        let heap_bytes = root.get("heap_bytes").and_then(|v| self.size(v, "the heap of kernels", MAX_HEAP_BYTES));
        self.read_default_module(root.get("module"));
        let buffers = self.read_buffers(root);
        let references = self.read_references(root);
        let steps = self.steps(root);
        if ["launch", "loop"].iter().all(|key| !root.contains_key(*key)) {
            self.problems
                .push(Problem::elsewhere("nothing is launched: add a [[launch]] table with kernel, grid and block"));
        }
        let outputs: Vec<Option<OutputSpec>> =
            self.tables(root, "output").into_iter().map(|(table, span)| self.output(table, span)).collect();
        self.check_modules();
        Some(LaunchFile {
            path: self.path.to_owned(),
            text: self.text.to_owned(),
            description: description.unwrap_or_default(),
            gpu: flatten(gpu)?,
            seed,
            stack_bytes: stack_bytes.map(|bytes| bytes as u32),
            heap_bytes,
            names: std::mem::take(&mut self.names),
            values: std::mem::take(&mut self.values),
            buffers,
            references,
            modules: std::mem::take(&mut self.modules),
            steps: steps?,
            outputs: outputs.into_iter().collect::<Option<_>>()?,
        })
    }

    /// The module that launches have by default: the command line's, else `module`'s.
    fn read_default_module(&mut self, value: Option<&Value<'t>>) {
        let named = value.and_then(|v| self.string(v, "the path of a PTX file"));
        let own = named.as_ref().map(|n| (self.overrides.module(&n.item), beside(self.path, &n.item)));
        let own = own.map(|(given, own)| given.cloned().unwrap_or(own));
        let path = self.overrides.default_module().cloned().or(own);
        let name = named.as_ref().map_or_else(String::new, |n| n.item.clone());
        self.default_module = path.map(|path| ModuleSpec { name, span: named.map(|n| n.span), path });
    }

    /// The module that `value` names, else the default; its index.
    fn module(&mut self, value: Option<&Value<'t>>, span: &Range<usize>) -> Option<usize> {
        let spec = match value {
            Some(value) => {
                let named = self.string(value, "the path of a PTX file")?;
                let same = self.default_module.as_ref().filter(|module| module.name == named.item);
                let path = self.overrides.module(&named.item).or_else(|| same.map(|module| &module.path));
                let path = path.cloned().unwrap_or_else(|| beside(self.path, &named.item));
                ModuleSpec { name: named.item, span: Some(named.span), path }
            }
            None => match &self.default_module {
                Some(module) => module.clone(),
                None => {
                    let message = "no module: write `module = \"FILE.ptx\"` here or at the top of the file";
                    self.problem(span.clone(), message);
                    return None;
                }
            },
        };
        let known = self.modules.iter().position(|m| m.name == spec.name);
        Some(known.unwrap_or_else(|| {
            self.modules.push(spec);
            self.modules.len() - 1
        }))
    }

    /// Refuses a module of the command line that nothing uses.
    fn check_modules(&mut self) {
        let default = self.default_module.as_ref().map(|module| &*module.name);
        for replaced in &self.overrides.modules {
            let name = replaced.name.as_deref().or(default);
            if self.modules.iter().any(|module| Some(&*module.name) == name) {
                continue;
            }
            let known: Vec<&str> = self.modules.iter().map(|module| &*module.name).collect();
            let message = match &replaced.name {
                Some(name) => format!("there is no module `{name}` to replace{}", suggest::among(name, &known)),
                None => format!(
                    "module {}: each launch names its module; say which, as in {}=FILE",
                    replaced.path.display(),
                    known.first().unwrap_or(&"NAME")
                ),
            };
            self.problems.push(Problem::elsewhere(message));
        }
    }

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
        // Places within the text are known if the file has it without escapes.
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
        match expr.evaluate(&OnlyValues(&self.values), &[], 0) {
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

    fn size(&mut self, value: &Value<'_>, what: &str, most: u64) -> Option<u64> {
        let bytes = self.whole_constant(value)?;
        if bytes > most {
            self.problem(value.span(), format!("{what} has at most {most} bytes, not {bytes}"));
            return None;
        }
        Some(bytes)
    }

    /// Checks that a new name is one, is free, and means nothing else.
    fn new_name(&mut self, name: &str, span: Range<usize>) {
        if !expr::is_name(name) {
            self.problem(span, format!("`{name}` cannot be a name: letters, digits and `_`, and no digit first"));
        } else if expr::is_reserved(name) {
            self.problem(span, format!("`{name}` has a meaning of its own in expressions: choose another name"));
        } else if self.is_named(name) {
            self.problem(span, format!("`{name}` is the name of something else too"));
        }
    }

    fn is_named(&self, name: &str) -> bool {
        let Names { values, buffers, loops, .. } = &self.names;
        values.iter().chain(buffers).chain(loops.iter().flatten()).any(|n| n == name)
    }

    /// A buffer or symbol, also of those that follow.
    fn any_buffer_named(&mut self, name: &str, span: Range<usize>) -> Option<usize> {
        let found = self.all_buffers.iter().position(|b| b == name);
        if found.is_none() {
            let advice = suggest::among(name, &self.all_buffers);
            self.problem(span, format!("there is no buffer `{name}`{advice}"));
        }
        found
    }

    /// A buffer that is memory of its own.
    fn memory_named(&mut self, name: &str, span: Range<usize>) -> Option<usize> {
        let found = self.buffer_named(name, span.clone())?;
        if found >= self.symbols_from {
            self.problem(span, format!("`{name}` is a variable of the module, whose place is fixed"));
            return None;
        }
        Some(found)
    }

    fn required<'v>(&mut self, table: &'v DeTable<'t>, key: &str, span: &Range<usize>) -> Option<&'v Value<'t>> {
        let value = table.get(key);
        if value.is_none() {
            self.problem(self.header(span), format!("`{key}` is missing"));
        }
        value
    }

    /// The first line of a table: place enough for what concerns all of it.
    fn header(&self, span: &Range<usize>) -> Range<usize> {
        let line = self.text.get(span.clone()).and_then(|t| t.lines().next()).map_or(0, str::len);
        span.start..span.start + line
    }

    fn buffer_named(&mut self, name: &str, span: Range<usize>) -> Option<usize> {
        let found = self.names.buffers.iter().position(|b| b == name);
        if found.is_none() {
            let advice = suggest::among(name, &self.names.buffers);
            self.problem(span, format!("there is no buffer `{name}`{advice}"));
        }
        found
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

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn type_names() -> String {
    ScalarType::ALL.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ")
}

/// A path relative to the folder of the launch file at `file`.
fn beside(file: &Path, path: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(path)
}
