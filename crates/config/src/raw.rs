//! A GPU description as its file gives it: values by dotted path, each with its place and its
//! source, before anything has been checked.

use crate::error::{ConfigError, Lines, Problem, Spot};
use crate::flattened::{Given, values_of};
use crate::node::{Node, nested};
use crate::schema::{self, ValueKind};
use crate::{GpuConfig, builtin, quantity, validate};
use kit::suggest::nearest;
use kit::text::excerpt;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Value;
use toml::de::{DeTable, DeValue};

/// How many descriptions may extend one another in a row.
const MAX_EXTENDS: u32 = 8;
/// Maximum number of problems with keys in a message.
const MOST_PROBLEMS: usize = 50;
/// How deep tables may be nested; the model needs five levels.
const MAX_DEPTH: u32 = 12;

/// A description before it is checked: may be incomplete and wrong.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Raw {
    values: BTreeMap<String, Entry>,
    sources: BTreeMap<String, String>,
    /// The files that it was read from.
    files: Vec<PathBuf>,
    /// Each key is right by itself, and none is missing.
    is_checked: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    value: Value,
    spot: Spot,
}

impl Raw {
    /// Finds a built-in description by its name, or reads a file.
    ///
    /// # Errors
    /// There is neither, or it is not TOML.
    pub fn open(name_or_path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        Self::open_nested(name_or_path.as_ref(), None, MAX_EXTENDS)
    }

    /// As [`Raw::open`], but a built-in description is neither parsed nor checked, and has no sources.
    pub(crate) fn open_values(name_or_path: &Path) -> Result<Self, ConfigError> {
        name_or_path.to_str().and_then(Self::flattened).map_or_else(|| Self::open(name_or_path), Ok)
    }

    /// The values of the built-in description `name`. A test checks them all.
    fn flattened(name: &str) -> Option<Self> {
        let gpu = builtin().iter().find(|gpu| gpu.name == name)?;
        let lines = Lines::new(&file_of(gpu.name).into(), gpu.text);
        let entry = |&(path, constant, offset): &Given| {
            (path.to_owned(), Entry { value: renamed(path, constant.into()), spot: lines.spot(offset) })
        };
        let mut own =
            Self { values: values_of(name)?.iter().map(entry).collect(), is_checked: true, ..Self::default() };
        match own.values.remove("extends") {
            None => Some(own),
            Some(Entry { value, .. }) => Some(own.over(Self::flattened(value.as_str()?)?)),
        }
    }

    /// The files that it was read from, with the files of the descriptions that it extends.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Reads a description from `text`; `origin` names it in messages. It may extend built-in ones.
    ///
    /// # Errors
    /// It is not TOML: every syntax error with its place.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ConfigError> {
        Self::parse_nested(text, origin, None, MAX_EXTENDS)
    }

    fn open_nested(name_or_path: &Path, beside: Option<&Path>, extends_left: u32) -> Result<Self, ConfigError> {
        if let Some(gpu) = builtin().iter().find(|b| Path::new(b.name) == name_or_path) {
            return Self::parse_nested(gpu.text, &file_of(gpu.name), None, extends_left);
        }
        let path = beside.map_or_else(|| name_or_path.to_owned(), |dir| dir.join(name_or_path));
        let shown = path.display().to_string();
        let bytes = kit::files::read(&path, kit::files::MOST_TEXT_BYTES).map_err(|e| {
            let mut names: Vec<_> = builtin().iter().map(|b| b.name).collect();
            names.sort_unstable();
            let name = excerpt(&name_or_path.to_string_lossy());
            let near = nearest(&name, names.iter().copied());
            let near = near.map_or(String::new(), |n| format!("did you mean `{n}`? "));
            Problem::new("", format!("there is no built-in GPU `{name}` and the file cannot be read: {e}"))
                .at(Spot::whole(&shown))
                .hint(format!("{near}built-in GPUs: {}; or give the path of a description", names.join(", ")))
        })?;
        let text = kit::files::text(bytes).map_err(|e| {
            Problem::new("", e)
                .at(Spot::whole(&shown))
                .hint("a GPU description is a TOML file; `warpwright docs gpus` describes it")
        })?;
        let mut raw = Self::parse_nested(&text, &shown, path.parent(), extends_left)?;
        raw.files.push(path);
        Ok(raw)
    }

    fn parse_nested(text: &str, origin: &str, beside: Option<&Path>, extends_left: u32) -> Result<Self, ConfigError> {
        let file: Arc<str> = origin.into();
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut problems: Vec<Problem> = errors
            .iter()
            .map(|e| {
                let problem = Problem::new("", format!("not TOML: {}", e.message()));
                problem.at(e.span().map_or_else(|| Spot::whole(origin), |s| Spot::at(&file, text, s.start)))
            })
            .collect();
        let mut flat = Flattener { lines: Lines::new(&file, text), out: Vec::new(), problems: &mut problems };
        flat.table("", table.get_ref(), 0);
        let all = flat.out;
        ConfigError::unless_none(problems)?;

        let (mut values, mut sources, mut problems) = (Vec::with_capacity(all.len()), Vec::new(), Vec::new());
        for (path, entry) in all {
            match (path.strip_prefix("sources."), entry.value) {
                (None, value) => values.push((path, Entry { value, ..entry })),
                (Some(key), Value::String(source)) => sources.push((key.to_owned(), source)),
                (Some(_), _) => {
                    problems.push(Problem::new(path, "must be text: where the number comes from").at(entry.spot));
                }
            }
        }
        ConfigError::unless_none(problems)?;
        // A map that is made of a list at once takes a fraction of the time of single insertions.
        let (values, sources) = (values.into_iter().collect(), sources.into_iter().collect());
        let own = Self { sources, values, ..Self::default() };
        own.over_base(beside, extends_left)
    }

    /// Lays this description over the one it extends, if it does.
    fn over_base(mut self, beside: Option<&Path>, extends_left: u32) -> Result<Self, ConfigError> {
        let Some(Entry { value, spot }) = self.values.remove("extends") else {
            return Ok(self);
        };
        let Value::String(base) = value else {
            return Err(Problem::new("extends", "must be the name or path of a description").at(spot).into());
        };
        if extends_left == 0 {
            return Err(Problem::new("extends", format!("leads through more than {MAX_EXTENDS} descriptions"))
                .at(spot)
                .hint("do two descriptions extend each other?")
                .into());
        }
        Ok(self.over(Self::open_nested(Path::new(&base), beside, extends_left - 1)?))
    }

    /// This description over `base`.
    fn over(mut self, mut base: Self) -> Self {
        self.values.keys().filter_map(|path| schema::alternative(path)).for_each(|other| base.drop_value(other));
        base.values.append(&mut self.values);
        base.sources.append(&mut self.sources);
        base.files.append(&mut self.files);
        base
    }

    /// Carries out an assignment `key=value` from the command line. Words need no quotes, and numbers may have units.
    ///
    /// # Errors
    /// No such key (with the nearest one), or a value of the wrong kind.
    pub fn set(&mut self, assignment: &str) -> Result<(), Problem> {
        self.is_checked = false;
        let spot = Spot::whole(&format!("--set {}", excerpt(assignment)));
        let (key, text) = assignment.split_once('=').ok_or_else(|| {
            Problem::new("", "is not of the form key=value").at(spot.clone()).hint("for example sm.issue.schedulers=2")
        })?;
        let (key, text) = (key.trim(), text.trim());
        if let Some(cache) = cache_of_capacity(key) {
            return self.set_capacity(cache, key, text, &spot);
        }
        let row = schema::lookup(key).ok_or_else(|| unknown(key).at(spot.clone()))?;
        let quoted = matches!(row.kind, ValueKind::Text | ValueKind::Choice(_)) && !text.starts_with(['"', '\'']);
        let value =
            if quoted { Ok(Value::String(text.into())) } else { quantity::plain(text, row.unit).parse::<Value>() };
        let value = value.map(|value| renamed(key, value));
        let value = value.ok().filter(|v| row.kind.check(v).is_ok());
        let value = value.ok_or_else(|| {
            let text = excerpt(text);
            let must = format!("{}{}", row.kind.describe(), quantity::accepted(row.unit));
            Problem::new(key, format!("cannot be `{text}`: must be {must}")).at(spot.clone())
        })?;
        schema::alternative(key).into_iter().for_each(|other| self.drop_value(other));
        self.values.insert(key.into(), Entry { value, spot });
        self.sources.insert(key.into(), "--set".into());
        Ok(())
    }

    /// Gives a cache the ways that make it `text` large; L2 as a whole, all slices together. An L1 that shares its array with
    /// shared memory has its own from then on.
    fn set_capacity(&mut self, cache: &str, key: &str, text: &str, spot: &Spot) -> Result<(), Problem> {
        let problem = |message: String| Problem::new(key, message).at(spot.clone());
        let number = |path: &str| self.value(path).and_then(Value::as_integer).filter(|n| *n > 0);
        let slices = if cache == "l2.cache" {
            number("l2.partitions").zip(number("l2.slices_per_partition")).map(|(parts, slices)| parts * slices)
        } else {
            Some(1)
        };
        let way =
            slices.and_then(|n| Some(n * number(&format!("{cache}.sets"))? * number(&format!("{cache}.line_bytes"))?));
        let way = way.ok_or_else(|| problem(format!("is the size of `{cache}`, which this GPU does not have")))?;
        let bytes = quantity::plain(text, "bytes").parse::<i64>().ok().filter(|n| *n > 0);
        let ways = bytes.filter(|n| n % way == 0).map(|n| n / way).filter(|n| (1..=4096).contains(n));
        let ways = ways.ok_or_else(|| {
            let must = format!("cannot be `{}`: must be a multiple of {way} bytes, a way of all sets", excerpt(text));
            problem(must).hint("the number of sets is a key of its own")
        })?;
        let mut insert = |key: String, value: Value| {
            self.sources.insert(key.clone(), "--set".into());
            self.values.insert(key, Entry { value, spot: spot.clone() });
        };
        insert(format!("{cache}.ways"), Value::Integer(ways));
        if cache == "sm.l1d.cache" {
            insert("sm.l1d.unified_bytes".into(), Value::Integer(0));
            insert("sm.l1d.shared_carveouts_bytes".into(), Value::Array(Vec::new()));
        }
        Ok(())
    }

    fn drop_value(&mut self, key: &str) {
        self.values.remove(key);
        self.sources.remove(key);
    }

    /// Where the value of `key` comes from: its own source, or the source of the nearest table around it.
    pub fn source_of(&self, key: &str) -> Option<&str> {
        let mut path = key;
        loop {
            if let Some(source) = self.sources.get(path) {
                return Some(source);
            }
            path = path.rsplit_once('.')?.0;
        }
    }

    /// Whether the source of `key`, or of a number in the table `key`, has the text `cited`.
    pub fn cites(&self, key: &str, cited: &str) -> bool {
        let inside = format!("{key}.");
        let own = self.sources.iter().filter(|(path, _)| path.starts_with(&inside)).map(|(_, source)| source.as_str());
        own.chain(self.source_of(key)).any(|source| source.contains(cited))
    }

    /// The `[sources]` table: the source of each number, by dotted path.
    pub fn sources(&self) -> &BTreeMap<String, String> {
        &self.sources
    }

    /// Dotted path of each value that the description gives.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The value of `key`, if the description gives it.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).map(|entry| &entry.value)
    }

    /// Checks everything and hands out the description.
    ///
    /// # Errors
    /// Everything that is wrong, each with its place.
    pub fn config(&self) -> Result<GpuConfig, ConfigError> {
        let (mut problems, readable) = if self.is_checked { (Vec::new(), true) } else { self.check_keys() };
        if readable {
            match GpuConfig::deserialize(self.nested()) {
                Ok(config) => {
                    problems.extend(validate::relations(&config));
                    if problems.is_empty() {
                        return Ok(config);
                    }
                }
                Err(e) => problems.push(Problem::new("", format!("cannot be read: {}", e.message()))),
            }
        }
        for problem in &mut problems {
            if problem.spot.is_none() {
                problem.spot = self.spot(&problem.key);
            }
        }
        match ConfigError::unless_none(problems) {
            Err(e) => Err(e),
            Ok(()) => Err(Problem::new("", "the description cannot be read").into()),
        }
    }

    /// Checks each key by itself, and that none is missing. False: not all can be read.
    fn check_keys(&self) -> (Vec<Problem>, bool) {
        let (mut problems, mut readable) = (Vec::new(), true);
        let paths: Vec<_> = schema::paths().collect();
        let mut known: Vec<_> = (0..paths.len()).collect();
        known.sort_unstable_by_key(|&index| &paths[index].0);
        let mut known = known.into_iter().peekable();
        let mut given = vec![false; paths.len()];
        // Both are sorted by path.
        for (path, Entry { value, .. }) in &self.values {
            if problems.len() == MOST_PROBLEMS {
                return (problems, false);
            }
            while known.next_if(|&index| paths[index].0 < *path).is_some() {}
            let Some(index) = known.next_if(|&index| paths[index].0 == *path) else {
                problems.push(unknown(path));
                readable = false;
                continue;
            };
            given[index] = true;
            let key = paths[index].1;
            if let Err(right_type) = key.kind.check(value) {
                let value = match value {
                    // In full it could have hundreds of zeros.
                    Value::Float(number) => format!("{number:?}"),
                    value => excerpt(&value.to_string()),
                };
                let problem = Problem::new(path, format!("is {value}, must be {}", key.kind.describe()));
                problems.push(problem.hint(format!("it means: {}", key.doc)));
                readable &= right_type;
            }
        }
        for [one, other] in schema::ALTERNATIVES {
            match [one, other].map(|path| self.values.contains_key(path)) {
                [true, true] => {
                    let problem =
                        Problem::new(other, format!("is given, and {one} too: they are two ways to say one thing"));
                    problems.push(problem.hint("leave one of them out"));
                }
                [false, false] => {
                    problems.push(Problem::new(one, format!("is missing, and {other} too")).hint("give one of them"));
                }
                _ => {}
            }
        }
        for ((path, key), given) in paths.iter().zip(given) {
            if given {
                continue;
            }
            let in_table = schema::is_in_optional_table(path);
            let is_needed = if in_table { self.has_sibling(path) } else { !key.optional };
            if !is_needed {
                continue;
            }
            let problem = Problem::new(path, format!("is missing: {}", key.kind.describe()));
            problems.push(problem.hint(format!("it means: {}", key.doc)));
            readable = false;
        }
        (problems, readable)
    }

    /// Whether the table of `path` is given, though perhaps not fully.
    fn has_sibling(&self, path: &str) -> bool {
        let Some((table, _)) = path.rsplit_once('.') else { return false };
        let inside = format!("{table}.");
        self.values.range(inside.clone()..).next().is_some_and(|(key, _)| key.starts_with(&inside))
    }

    /// The place of `key`, else of something in that table, else of the nearest table around it.
    fn spot(&self, key: &str) -> Option<Spot> {
        if let Some(entry) = self.values.get(key) {
            return Some(entry.spot.clone());
        }
        let mut table = key;
        while let Some((outer, _)) = table.rsplit_once('.') {
            let inside = format!("{outer}.");
            let first = self.values.iter().filter(|(k, _)| k.starts_with(&inside));
            if let Some((_, entry)) = first.min_by_key(|(_, e)| (e.spot.line, e.spot.column)) {
                return Some(entry.spot.clone());
            }
            table = outer;
        }
        self.values.values().next().map(|e| Spot::whole(&e.spot.file))
    }

    fn nested(&self) -> Node<'_> {
        let values: Vec<_> = self.values.iter().map(|(path, entry)| (path.as_str(), &entry.value)).collect();
        Node::Table(nested(&values, 0))
    }
}

impl From<&GpuConfig> for Raw {
    /// A description made by a program: no places, no sources.
    fn from(config: &GpuConfig) -> Self {
        let mut raw = Self::default();
        if let Ok(table) = toml::Table::try_from(config) {
            raw.add("", &table);
        }
        raw
    }
}

impl Raw {
    fn add(&mut self, prefix: &str, table: &toml::Table) {
        for (key, value) in table {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                Value::Table(inner) => self.add(&path, inner),
                value => {
                    let entry = Entry { value: value.clone(), spot: Spot::whole("description") };
                    self.values.insert(path, entry);
                }
            }
        }
    }
}

/// The file of the built-in description `name`, as messages name it.
fn file_of(name: &str) -> String {
    format!("gpus/{name}.toml")
}

/// The problem that `path` is not a key; its hint names the probable key or the list of keys.
pub fn unknown(path: &str) -> Problem {
    let paths: Vec<String> = schema::paths().map(|(p, _)| p).collect();
    let problem = Problem::new(path, "is not a key of a GPU description");
    let path = &within(path, &paths);
    if let Some(cache) = cache_of_capacity(path) {
        let parts = ["sets", "ways", "line_bytes"].map(|part| format!("`{cache}.{part}`")).join(" x ");
        return problem.hint(format!("a cache has {parts} bytes: set one of these"));
    }
    // Other words for the capacity of a cache.
    let (table, last) = path.rsplit_once('.').unwrap_or_default();
    let capacity = format!("{table}.bytes");
    if ["size", "capacity", "size_bytes", "kib", "size_kib"].contains(&last) && cache_of_capacity(&capacity).is_some() {
        return problem.hint(format!("did you mean `{capacity}`?"));
    }
    match nearest(path, paths.iter().map(String::as_str)).or_else(|| same_ending(path, &paths)) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(lists(path)),
    }
}

/// `path` with the tables around its first one, if these were left out: `sm.l1d.size` of `l1d.size`.
fn within(path: &str, paths: &[String]) -> String {
    let Some((table, _)) = path.split_once('.') else { return path.to_owned() };
    let (is_there, inner) = (format!("{table}."), format!(".{table}."));
    let around = |p: &String| p.find(&inner).map(|at| p[..=at].to_owned());
    let mut tables = paths.iter().filter_map(around);
    let first = tables.next().filter(|_| !paths.iter().any(|p| p.starts_with(&is_there)));
    let only = first.filter(|first| tables.all(|other| other == *first));
    only.unwrap_or_default() + path
}

/// Where the keys of the table of `path` are listed, or all.
fn lists(path: &str) -> String {
    let tables = path.match_indices('.').rev().map(|(at, _)| &path[..at]);
    let is_table =
        |table: &&str| schema::paths().any(|(p, _)| p.strip_prefix(*table).is_some_and(|rest| rest.starts_with('.')));
    let table = tables.into_iter().find(is_table).map_or_else(String::new, |table| format!(" {table}"));
    format!("`warpwright list settings{table}` lists the keys")
}

/// The cache whose capacity `path` would be: `sm.l1d.cache` of `sm.l1d.bytes`.
fn cache_of_capacity(path: &str) -> Option<&'static str> {
    let part = path.strip_suffix(".bytes")?;
    schema::CACHES.into_iter().find(|cache| *cache == part || cache.strip_suffix(".cache") == Some(part))
}

/// The only key with the last segment of `path`: the table was forgotten.
fn same_ending<'a>(path: &str, paths: &'a [String]) -> Option<&'a str> {
    let last = format!(".{}", path.rsplit('.').next()?);
    let mut with = paths.iter().filter(|p| p.ends_with(&last));
    with.next().filter(|_| with.next().is_none()).map(String::as_str)
}

/// Turns nested TOML tables into values by dotted path.
struct Flattener<'a> {
    lines: Lines,
    out: Vec<(String, Entry)>,
    problems: &'a mut Vec<Problem>,
}

impl Flattener<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>, depth: u32) {
        for (key, value) in table {
            let path =
                if prefix.is_empty() { key.get_ref().to_string() } else { [prefix, ".", key.get_ref()].concat() };
            let spot = self.lines.spot(key.span().start);
            match value.get_ref() {
                DeValue::Table(_) if depth >= MAX_DEPTH => {
                    self.problems.push(Problem::new(path, "is nested too deep").at(spot));
                }
                DeValue::Table(inner) => self.table(&path, inner, depth + 1),
                value => match plain(value) {
                    Some(value) => {
                        let value = renamed(&path, value);
                        self.out.push((path, Entry { value, spot }));
                    }
                    None => {
                        let message = "is neither a number, a word, a switch nor a list of numbers";
                        self.problems.push(Problem::new(path, message).at(spot));
                    }
                },
            }
        }
    }
}

/// The value of `path` with words under their first names.
fn renamed(path: &str, value: Value) -> Value {
    match value {
        Value::String(word) => Value::String(schema::first_name(path, &word).to_owned()),
        other => other,
    }
}

/// The value, if it is of a kind that a description may have.
fn plain(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(i) => Value::Integer(i64::from_str_radix(i.as_str(), i.radix()).ok()?),
        DeValue::Float(f) => Value::Float(f.as_str().parse().ok()?),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Array(items) => {
            let items: Option<Vec<Value>> = items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::Array(_) | DeValue::Table(_) => None,
                    scalar => plain(scalar),
                })
                .collect();
            Value::Array(items?)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}
