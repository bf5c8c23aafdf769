//! `[[launch]]`, `[[set]]` and `[[loop]]`.

use super::{Reader, Value, flatten};
use crate::expr::Expr;
use crate::model::{Element, LaunchSpec, Located, LoopSpec, MOST_LOOPS, SetSpec, SetValue, Step};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

impl<'t> Reader<'t> {
    /// The steps of the file, or of a loop, in the order in which they are written.
    pub(super) fn steps(&mut self, table: &DeTable<'t>) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        for (table, span) in self.tables(table, "launch") {
            steps.push((span.start, self.launch(table, span).map(|launch| Step::Launch(Box::new(launch)))));
        }
        for (table, span) in self.tables(table, "set") {
            let sets = self.with_names(|names| names.round = true, |reader| reader.sets(table));
            steps.push((span.start, sets.map(Step::Set)));
        }
        for (table, span) in self.tables(table, "loop") {
            steps.push((span.start, self.repeated(table, span).map(|spec| Step::Loop(Box::new(spec)))));
        }
        steps.sort_by_key(|(start, _)| *start);
        steps.into_iter().map(|(_, step)| step).collect()
    }

    fn launch(&mut self, table: &DeTable<'t>, span: Range<usize>) -> Option<LaunchSpec> {
        const KEYS: &[&str] = &[
            "module",
            "kernel",
            "grid",
            "block",
            "shared_bytes",
            "registers",
            "args",
            "repeat",
            "stream",
            "swap",
            "set",
        ];
        self.known_keys(table, KEYS, "a launch");
        let module = self.module(table.get("module"), &span);
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
        let set = table.get("set").map_or(Some(Vec::new()), |v| self.set(v));
        Some(LaunchSpec {
            module: module?,
            kernel: kernel?,
            grid: grid?,
            block: block?,
            shared_bytes: flatten(shared_bytes)?,
            registers: flatten(registers)?,
            args: args?,
            repeat: flatten(repeat)?,
            stream: flatten(stream)?,
            swap: swap?,
            set: set?,
        })
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

    /// `[[loop]]` with `repeat`, or `while` a condition holds after the round.
    fn repeated(&mut self, table: &DeTable<'t>, span: Range<usize>) -> Option<LoopSpec> {
        const KEYS: &[&str] = &["repeat", "while", "at_most", "counter", "swap", "launch", "set", "loop"];
        self.known_keys(table, KEYS, "a loop");
        let header = self.header(&span);
        if self.names.loops.len() == MOST_LOOPS {
            self.problem(header, format!("loops are nested at most {MOST_LOOPS} deep"));
            return None;
        }
        let (repeat, bound) = (table.get("repeat"), table.get("at_most"));
        if repeat.is_none() && !table.contains_key("while") && self.no_problem_in(table) {
            self.problem(header.clone(), "a loop says `repeat`, or `while` with a condition");
        }
        if let Some(bound) = bound.filter(|_| repeat.is_some() || !table.contains_key("while")) {
            self.problem(bound.span(), "`at_most` is the bound of a `while` without `repeat`");
        }
        if ["launch", "loop"].iter().all(|key| !table.contains_key(*key)) && self.no_problem_in(table) {
            self.problem(header, "a loop launches something: add [[loop.launch]]");
        }
        let (repeat, at_most) = (repeat.map(|v| self.round_expr(v)), bound.map(|v| self.round_expr(v)));
        let swap = table.get("swap").map_or(Some(Vec::new()), |v| self.swap(v));
        let counter = table.get("counter").and_then(|v| self.string(v, "a name")).map(|name| {
            self.new_name(&name.item, name.span);
            name.item
        });
        self.names.loops.push(counter);
        let condition = table.get("while").map(|v| self.round_expr(v));
        let steps = self.steps(table);
        self.names.loops.pop();
        Some(LoopSpec {
            repeat: flatten(repeat)?,
            condition: flatten(condition)?,
            at_most: flatten(at_most)?,
            steps: steps?,
            swap: swap?,
            span,
        })
    }

    /// `set = { NAME = … }` of a launch.
    fn set(&mut self, value: &Value<'t>) -> Option<Vec<SetSpec>> {
        let table = self.table(value, "a table of buffers and their new contents")?;
        self.with_names(|names| names.round = true, |reader| reader.sets(table))
    }

    fn sets(&mut self, table: &DeTable<'t>) -> Option<Vec<SetSpec>> {
        let sets: Vec<Option<SetSpec>> = table
            .iter()
            .map(|(key, value)| {
                let buffer = self.buffer_named(key.get_ref(), key.span());
                let (at, value_of) = self.set_value(value)?;
                Some(SetSpec { buffer: buffer?, at, value: value_of, span: key.span() })
            })
            .collect();
        sets.into_iter().collect()
    }

    /// A value for all elements, an array of the first ones, or a table with `value`, `values` or `buffer` that says
    /// which elements.
    fn set_value(&mut self, value: &Value<'t>) -> Option<(Option<Expr>, SetValue)> {
        let table = match value.get_ref() {
            DeValue::Array(_) => return Some((None, SetValue::Values(self.elements(value)?))),
            DeValue::Table(table) if !table.contains_key("address") => table,
            _ => return Some((None, SetValue::Fill { value: self.filled(value)?, count: None })),
        };
        let at = table.get("at").map(|v| self.expr(v));
        let count = table.get("count").map(|v| self.expr(v));
        let known: &[&str] = match () {
            () if table.contains_key("values") => &["values", "at"],
            () if table.contains_key("buffer") => &["buffer", "offset", "at", "count"],
            () => &["value", "at", "count"],
        };
        self.known_keys(table, known, "this");
        let set = if let Some(values) = table.get("values") {
            self.elements(values).map(SetValue::Values)
        } else if let Some(buffer) = table.get("buffer") {
            let name = self.string(buffer, "a buffer's name")?;
            let from = self.buffer_named(&name.item, name.span);
            let offset = table.get("offset").map(|v| self.expr(v));
            Some(SetValue::Copy { from: from?, offset: flatten(offset)?, count: flatten(count.clone())? })
        } else if let Some(one) = table.get("value") {
            let filled = self.filled(one);
            Some(SetValue::Fill { value: filled?, count: flatten(count.clone())? })
        } else {
            if self.no_problem_in(table) {
                self.problem(value.span(), "say what it becomes: value, values, buffer or address");
            }
            None
        };
        count.is_none_or(|c| c.is_some()).then_some((flatten(at)?, set?))
    }

    /// One value for elements, where `i` has a meaning.
    fn filled(&mut self, value: &Value<'t>) -> Option<Element> {
        self.with_names(|names| names.element = true, |reader| reader.element(value))
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
            self.memory_named(&name.item, name.span)
        };
        let (a, b) = (buffer(a), buffer(b));
        let (a, b) = (a?, b?);
        if a == b {
            self.problem(value.span(), "a buffer changes roles with another one");
            return None;
        }
        Some((a, b))
    }
}
