//! The modifiers of an opcode, and which of them the lowering has used.

use ptx::{Opcode, Type};
use std::cell::Cell;

/// A view of an opcode that records which modifiers were read. If a modifier was not read, the lowering does
/// not know it and the instruction is not executable.
pub(super) struct Mods<'a> {
    opcode: &'a Opcode,
    used: Cell<u64>,
}

impl<'a> Mods<'a> {
    pub fn new(opcode: &'a Opcode) -> Self {
        Self { opcode, used: Cell::new(0) }
    }

    pub fn name(&self) -> &'a str {
        self.opcode.name()
    }

    /// All of the opcode.
    pub fn text(&self) -> &'a str {
        self.opcode.text()
    }

    fn modifiers(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.opcode.modifiers().iter().map(|m| &**m).enumerate()
    }

    fn mark(&self, index: usize) {
        self.used.set(self.used.get() | 1 << index.min(63));
    }

    /// Whether `name` is among the modifiers.
    pub fn has(&self, name: &str) -> bool {
        let mut found = false;
        for (i, m) in self.opcode.modifiers().iter().enumerate() {
            if &**m == name {
                self.mark(i);
                found = true;
            }
        }
        found
    }

    /// Accepts any of `names` without effect.
    pub fn ignore(&self, names: &[&str]) {
        for name in names {
            self.has(name);
        }
    }

    /// Accepts modifiers that start with one of `prefixes` without effect.
    pub fn ignore_prefixed(&self, prefixes: &[&str]) {
        for (i, m) in self.opcode.modifiers().iter().enumerate() {
            if prefixes.iter().any(|p| m.starts_with(p)) {
                self.mark(i);
            }
        }
    }

    /// The value in `table` of the first modifier that it contains.
    pub fn one_of<T: Copy>(&self, table: &[(&str, T)]) -> Option<T> {
        for (i, m) in self.opcode.modifiers().iter().enumerate() {
            if let Some((_, value)) = table.iter().find(|(name, _)| *name == &**m) {
                self.mark(i);
                return Some(*value);
            }
        }
        None
    }

    /// The values in `table` of all modifiers that it contains, in order.
    pub fn all_of<T: Copy>(&self, table: &[(&str, T)]) -> Vec<T> {
        let known = |(i, m): (usize, &str)| {
            let (_, value) = table.iter().find(|(name, _)| *name == m)?;
            self.mark(i);
            Some(*value)
        };
        self.modifiers().filter_map(known).collect()
    }

    /// The result of `f` for the first modifier that it accepts.
    pub fn find_map<T>(&self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.opcode.modifiers().iter().enumerate().find_map(|(i, m)| {
            let value = f(m)?;
            self.mark(i);
            Some(value)
        })
    }

    /// The types among the modifiers, in order.
    pub fn types(&self) -> Vec<Type> {
        let typed = |(i, m): (usize, &str)| {
            let ty = Type::from_name(m)?;
            self.mark(i);
            Some(ty)
        };
        self.modifiers().filter_map(typed).collect()
    }

    /// The only type, or the last of several.
    pub fn ty(&self) -> Option<Type> {
        self.types().pop()
    }

    /// A modifier that was not read.
    pub fn leftover(&self) -> Option<&'a str> {
        let modifiers = self.opcode.modifiers();
        (0..modifiers.len()).find(|i| self.used.get() >> i.min(&63) & 1 == 0).map(|i| &*modifiers[i])
    }
}
