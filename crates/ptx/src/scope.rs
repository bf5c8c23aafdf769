//! The declaration of a name, by the scoping rules of PTX.

use crate::names::{Names, Sym};
use std::collections::HashMap;

/// A stack of scopes: each is a set of declared names with a value of type `T` for each.
///
/// Declare module-level names first, then [`push`](Scopes::push) for a function's parameters and for each
/// `{`, and [`pop`](Scopes::pop) at its end. Labels are visible in their whole block, also before their
/// position, so declare the labels of a block when it is entered.
///
/// ```
/// # use ptx::{Names, Scopes};
/// let mut names = Names::default();
/// let (prefix, seven) = (names.intern("%r"), names.intern("%r7"));
/// let mut scopes = Scopes::new();
/// scopes.declare(prefix, Some(10), "32-bit");
/// assert_eq!(scopes.lookup(&names, seven), Some((&"32-bit", Some(7))));
/// ```
#[derive(Clone, Debug)]
pub struct Scopes<T> {
    /// Per name, its declarations from the outermost scope inwards.
    single: HashMap<Sym, Vec<Entry<T>>>,
    /// The same for the first part of numbered names.
    numbered: HashMap<Sym, Vec<Entry<T>>>,
    /// Declarations of each open scope, to undo them.
    log: Vec<Vec<(Sym, bool)>>,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    depth: usize,
    /// Number of numbered names; 1 for a plain name.
    count: u32,
    value: T,
}

impl<T> Default for Scopes<T> {
    fn default() -> Self {
        Self { single: HashMap::new(), numbered: HashMap::new(), log: vec![Vec::new()] }
    }
}

impl<T> Scopes<T> {
    /// Creates the scope of the module, empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a scope.
    pub fn push(&mut self) {
        self.log.push(Vec::new());
    }

    /// Closes the innermost scope and removes its declarations. The module's scope stays.
    pub fn pop(&mut self) {
        if self.log.len() == 1 {
            return;
        }
        for (name, numbered) in self.log.pop().into_iter().flatten() {
            let map = if numbered { &mut self.numbered } else { &mut self.single };
            if let Some(entries) = map.get_mut(&name) {
                entries.pop();
            }
        }
    }

    /// Declares `name` in the innermost scope; with `count` the names `name0` to `name(count-1)`. Returns
    /// `false`, and changes nothing, if this scope has the same declaration already.
    pub fn declare(&mut self, name: Sym, count: Option<u32>, value: T) -> bool {
        let depth = self.log.len();
        let map = if count.is_some() { &mut self.numbered } else { &mut self.single };
        let entries = map.entry(name).or_default();
        if entries.last().is_some_and(|e| e.depth == depth) {
            return false;
        }
        entries.push(Entry { depth, count: count.unwrap_or(1), value });
        if let Some(scope) = self.log.last_mut() {
            scope.push((name, count.is_some()));
        }
        true
    }

    /// The visible declaration of `name`: the innermost one. For a row of numbered names also the number.
    pub fn lookup(&self, names: &Names, name: Sym) -> Option<(&T, Option<u32>)> {
        let mut best: Option<(usize, &T, Option<u32>)> = None;
        if let Some(entry) = self.single.get(&name).and_then(|e| e.last()) {
            best = Some((entry.depth, &entry.value, None));
        }
        for (prefix, number) in numbered_parts(names.text(name)) {
            let Some(entries) = names.get(prefix).and_then(|p| self.numbered.get(&p)) else { continue };
            let Some(entry) = entries.iter().rev().find(|e| number < e.count) else { continue };
            if best.is_none_or(|(depth, ..)| depth < entry.depth) {
                best = Some((entry.depth, &entry.value, Some(number)));
            }
        }
        best.map(|(_, value, number)| (value, number))
    }

    /// The innermost declaration of exactly `name`, as a plain name or a row.
    pub fn latest(&self, name: Sym, row: bool) -> Option<&T> {
        let map = if row { &self.numbered } else { &self.single };
        map.get(&name)?.last().map(|entry| &entry.value)
    }

    /// Number of names of the innermost row that starts with `prefix`.
    pub fn row(&self, prefix: Sym) -> Option<u32> {
        self.numbered.get(&prefix)?.last().map(|entry| entry.count)
    }

    /// The plain names that are visible, ordered by id.
    pub fn visible(&self) -> impl Iterator<Item = Sym> {
        let mut names: Vec<Sym> = self.single.iter().filter(|(_, e)| !e.is_empty()).map(|(&name, _)| name).collect();
        names.sort_unstable();
        names.into_iter()
    }

    /// Number of open scopes, including the module's.
    pub fn depth(&self) -> usize {
        self.log.len()
    }
}

/// All splits of `text` into a name and a number without leading zeros: (`%r`, 12) and (`%r1`, 2) for `%r12`.
pub fn numbered_parts(text: &str) -> impl Iterator<Item = (&str, u32)> {
    let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (text.len() - digits.min(9)..text.len()).filter(|&at| at > 0).filter_map(|at| {
        let (prefix, number) = text.split_at(at);
        let plain = number == "0" || !number.starts_with('0');
        plain.then(|| number.parse().ok().map(|n| (prefix, n))).flatten()
    })
}
