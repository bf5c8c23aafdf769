//! `[[output]]`.

use super::{Reader, Value, flatten};
use crate::expr::Expr;
use crate::model::{Against, Compare, OutputSpec};
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use workloads::element::Number;

impl<'t> Reader<'t> {
    pub(super) fn output(&mut self, table: &DeTable<'t>, span: Range<usize>) -> Option<OutputSpec> {
        self.known_keys(table, &["buffer", "symbol", "count", "print", "write", "compare"], "an output");
        let symbol = table.get("symbol").filter(|_| !table.contains_key("buffer"));
        let named = symbol.or_else(|| self.required(table, "buffer", &span));
        let name = named.and_then(|v| self.string(v, "a buffer's name"));
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
