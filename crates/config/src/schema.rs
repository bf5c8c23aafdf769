//! The keys of a GPU description: kind of value, bounds, unit, meaning. The keys are
//! listed in [`crate::model`].

use crate::Unit;
pub use crate::model::KEYS;
use isa::{MatrixType, OpClass};
use std::fmt;

/// A key of a GPU description, in whose files it is given.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted path. `<cache>`, `<unit>`, `<timing>`, `<class>` and `<type>` are placeholders for each name of their kind.
    pub path: &'static str,
    /// Values that it takes.
    pub kind: ValueKind,
    /// Unit; empty for choices, names and switches.
    pub unit: &'static str,
    /// Meaning, as documents and messages give it.
    pub doc: &'static str,
    /// A description may leave it out.
    pub optional: bool,
}

/// A word that a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Word {
    /// The word as descriptions have it.
    pub name: &'static str,
    /// Meaning, as documents give it.
    pub meaning: &'static str,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum ValueKind {
    /// An integer between the bounds, both included.
    Int(u32, u32),
    /// A power of two between the bounds, both included.
    Pow2(u32, u32),
    /// A frequency in MHz, from 1 to [`MOST_MHZ`].
    Mhz,
    Volts,
    Bool,
    Text,
    /// One of these words.
    Choice(&'static [Word]),
    /// A list of this many integers (any number if `None`), each between the bounds.
    List(Option<usize>, u32, u32),
}

impl ValueKind {
    /// The values taken, in words.
    pub fn describe(&self) -> String {
        match *self {
            ValueKind::Int(low, u32::MAX) => format!("an integer of at least {low}"),
            ValueKind::Int(low, high) => format!("an integer from {low} to {high}"),
            ValueKind::Pow2(low, high) => format!("a power of two from {low} to {high}"),
            ValueKind::Mhz => format!("a frequency in MHz from 1 to {MOST_MHZ}"),
            ValueKind::Volts => "a voltage from 0.1 to 5".into(),
            ValueKind::Bool => "true or false".into(),
            ValueKind::Text => "text in quotes".into(),
            ValueKind::Choice(words) => {
                format!("one of {}", words.iter().map(|w| w.name).collect::<Vec<_>>().join(", "))
            }
            ValueKind::List(Some(n), low, high) => format!("a list of {n} integers from {low} to {high}"),
            ValueKind::List(None, low, high) => format!("a list of integers from {low} to {high}"),
        }
    }

    /// Whether `value` is such a value. `Err(true)` means: of the right type, but out of bounds.
    pub(crate) fn check(&self, value: &toml::Value) -> Result<(), bool> {
        use toml::Value;
        let within = |v: &Value, low: u32, high: u32| match v {
            Value::Integer(i) => Ok((i64::from(low)..=i64::from(high)).contains(i)),
            _ => Err(false),
        };
        let fits = match (*self, value) {
            (ValueKind::Int(low, high), v) => within(v, low, high)?,
            (ValueKind::Pow2(low, high), v) => {
                within(v, low, high)? && v.as_integer().is_some_and(|i| i.count_ones() == 1)
            }
            (ValueKind::Mhz, Value::Float(f)) => (1.0..=f64::from(MOST_MHZ)).contains(f),
            (ValueKind::Mhz, Value::Integer(i)) => (1..=i64::from(MOST_MHZ)).contains(i),
            (ValueKind::Volts, Value::Float(f)) => (0.1..=5.0).contains(f),
            (ValueKind::Volts, Value::Integer(i)) => (1..=5).contains(i),
            (ValueKind::Bool, Value::Boolean(_)) => true,
            (ValueKind::Text, Value::String(s)) => !s.trim().is_empty(),
            // An unknown word cannot be read at all, so it counts as a wrong type.
            (ValueKind::Choice(words), Value::String(s)) if words.iter().any(|w| w.name == s) => true,
            (ValueKind::List(n, low, high), Value::Array(items)) => {
                let mut fits = true;
                for item in items {
                    fits &= within(item, low, high)?;
                }
                if n.is_some_and(|n| n != items.len()) {
                    return Err(false);
                }
                fits
            }
            _ => return Err(false),
        };
        if fits { Ok(()) } else { Err(true) }
    }
}

/// Highest clock in MHz: far above any chip's.
pub const MOST_MHZ: u32 = 100_000;
/// Largest latency or interval in cycles: beyond it something is wrong with the file.
pub const MAX_LATENCY: u32 = 100_000;

/// The paths of the caches.
pub const CACHES: [&str; 5] =
    ["sm.frontend.icache", "sm.l1d.cache", "sm.constant_cache", "sm.texture_cache", "l2.cache"];

/// Timing of operation classes, by the form of the program.
const TIMINGS: [&str; 2] = ["ptx_timing", "sass_timing"];

/// The row for the concrete dotted `path`, if there is such a key.
pub fn lookup(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| matches(key.path, path)).filter(|_| !is_untimed(path))
}

/// Whether `path` would be of the timing of a class that a program of that form has no instructions of, or that the
/// load/store unit and the caches time.
fn is_untimed(path: &str) -> bool {
    let mut segments = path.split('.').skip(1);
    let (Some(timing), Some(class)) = (segments.next(), segments.next()) else { return false };
    TIMINGS.contains(&timing) && OpClass::ALL.iter().any(|c| c.name() == class && !is_timed(timing, *c))
}

/// Whether the table `timing` has a row for `class`.
pub(crate) fn is_timed(timing: &str, class: OpClass) -> bool {
    use OpClass::{AsyncCopy, Atomic, ConvertInt, DpDiv, FpDiv, IntDiv, Load, MatrixLoad, Store, Uniform};
    match class {
        Load | Store | Atomic | AsyncCopy | MatrixLoad => false,
        Uniform => timing != "ptx_timing",
        IntDiv | FpDiv | DpDiv | ConvertInt => timing != "sass_timing",
        _ => true,
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    if let Some(tail) = pattern.strip_prefix("<cache>.") {
        return path.rsplit_once('.').is_some_and(|(cache, last)| last == tail && CACHES.contains(&cache));
    }
    let (mut patterns, mut segments) = (pattern.split('.'), path.split('.'));
    loop {
        match (patterns.next(), segments.next()) {
            (None, None) => return true,
            (Some("<unit>"), Some(s)) if Unit::WORDS.iter().any(|w| w.name == s) => {}
            (Some("<timing>"), Some(s)) if TIMINGS.contains(&s) => {}
            (Some("<class>"), Some(s)) if OpClass::ALL.iter().any(|c| c.name() == s) => {}
            (Some("<type>"), Some(s)) if MatrixType::ALL.iter().any(|t| t.name() == s) => {}
            (Some(p), Some(s)) if p == s => {}
            _ => return false,
        }
    }
}

type Words = fn() -> Vec<&'static str>;

/// The placeholders in paths, with the words for each.
const PLACEHOLDERS: [(&str, Words); 5] = [
    ("<cache>", || CACHES.to_vec()),
    ("<unit>", || Unit::ALL.iter().map(|u| u.name()).collect()),
    ("<timing>", || TIMINGS.to_vec()),
    ("<class>", || OpClass::ALL.iter().map(|c| c.name()).collect()),
    ("<type>", || MatrixType::ALL.iter().map(|t| t.name()).collect()),
];

/// Every concrete path, placeholders replaced.
pub fn paths() -> impl Iterator<Item = (String, &'static Key)> {
    KEYS.iter().flat_map(|key| {
        let mut paths = Vec::new();
        replace("", key.path, &mut paths);
        paths.into_iter().filter(|path| !is_untimed(path)).map(move |path| (path, key))
    })
}

/// Adds `before` and each path that `path` is for to `paths`.
fn replace(before: &str, path: &str, paths: &mut Vec<String>) {
    let placeholder = path.find('<').and_then(|start| {
        let end = start + path[start..].find('>')? + 1;
        let (_, words) = PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == &path[start..end])?;
        Some((start, end, words))
    });
    match placeholder {
        Some((start, end, words)) => {
            words().into_iter().for_each(|word| {
                replace(&[before, &path[..start], word].concat(), &path[end..], paths);
            });
        }
        None => paths.push([before, path].concat()),
    }
}

/// Keys of which a description gives exactly one.
pub(crate) const ALTERNATIVES: [[&str; 2]; 1] = [["launch.kernel_latency_cycles", "launch.kernel_latency_ns"]];

/// The key in place of which `path` is given.
pub(crate) fn alternative(path: &str) -> Option<&'static str> {
    let other = |pair: &[&'static str; 2]| match *pair {
        [one, other] if one == path => Some(other),
        [other, one] if one == path => Some(other),
        _ => None,
    };
    ALTERNATIVES.iter().find_map(other)
}

/// Whether a description may lack the whole table of `path`, whose keys are given together or not at all: a kind of
/// unit, the rate of matrix operations of a type, the timing of a class that is part of another one.
pub(crate) fn is_in_optional_table(path: &str) -> bool {
    let mut segments = path.split('.');
    match [segments.next(), segments.next(), segments.next()] {
        [Some("sm"), Some("units" | "tensor"), Some(_)] => true,
        [Some("sm"), Some(timing), Some(class)] if TIMINGS.contains(&timing) => {
            OpClass::ALL.iter().any(|c| c.name() == class && c.part_of().is_some())
        }
        _ => false,
    }
}

/// A word of a choice under its first name: what is fetched past a branch has the command line's, too.
pub(crate) fn first_name<'a>(path: &str, word: &'a str) -> &'a str {
    if path == "sm.frontend.branches" && word == "flush" { "sequential_flush" } else { word }
}
