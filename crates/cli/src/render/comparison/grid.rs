//! A comparison in which two settings vary, as grids: a row for each value of the first, a column for each of the
//! second.

use crate::render::style::{HEADING, styled};
use crate::render::table::{Align, Table};
use crate::render::wrap::table_limit;
use request::comparison::{Axis, Comparison};

/// The columns of a comparison by the values of two settings.
#[derive(Debug)]
pub struct Grid<'a> {
    comparison: &'a Comparison,
    rows: Vec<&'a str>,
    columns: Vec<&'a str>,
}

impl<'a> Grid<'a> {
    /// The grid of `comparison`; `None` unless exactly two settings vary, and nothing else does.
    pub fn of(comparison: &'a Comparison) -> Option<Self> {
        let values = |at: usize| -> Option<Vec<&'a str>> {
            let mut values: Vec<&str> = Vec::new();
            for column in &comparison.columns {
                let [first, second] = &column.axes[..] else { return None };
                let Axis { value, is_setting, .. } = [first, second][at];
                if !is_setting {
                    return None;
                }
                if !values.contains(&value.as_str()) {
                    values.push(value);
                }
            }
            Some(values)
        };
        Some(Self { comparison, rows: values(0)?, columns: values(1)? })
    }

    /// The grid of one figure, of which `cell` is the text in a column of the comparison.
    pub fn table(&self, heading: &str, cell: impl Fn(usize) -> String) -> String {
        let headings = self.columns.iter().map(|&value| (value, Align::Right));
        let mut table = Table::new(std::iter::once(("", Align::Name)).chain(headings));
        for &row in &self.rows {
            let at = |column: &str| {
                let is_it = |axes: &[Axis]| axes[0].value == row && axes[1].value == column;
                self.comparison.columns.iter().position(|of| is_it(&of.axes))
            };
            let cells = self.columns.iter().map(|column| at(column).map_or_else(String::new, &cell));
            table.row(&std::iter::once(row.to_owned()).chain(cells).collect::<Vec<_>>());
        }
        format!("{}\n{}", styled(HEADING, heading), table.render_within(table_limit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;
    use request::comparison::{Cell, Column, Input};
    use workloads::Form;

    fn comparison(axes: &[[(&str, bool); 2]]) -> Comparison {
        let axis = |&(value, is_setting): &(&str, bool)| Axis { name: "a".into(), value: value.into(), is_setting };
        let column = |of: &[(&str, bool); 2]| Column { axes: of.iter().map(axis).collect(), ..Column::default() };
        let cells = axes.iter().map(|_| Cell::Complete(Box::new(sample::report()))).collect();
        Comparison {
            workloads: vec!["matmul".into()],
            codes: vec![Form::Sass],
            inputs: vec![Input::default()],
            remarks: vec![None],
            columns: axes.iter().map(column).collect(),
            cells,
            ..Comparison::default()
        }
    }

    #[test]
    fn two_settings_make_rows_and_columns() {
        let pairs =
            [("l1=32KiB", "warps=16"), ("l1=32KiB", "warps=32"), ("l1=64KiB", "warps=16"), ("l1=64KiB", "warps=32")];
        let both = comparison(&pairs.map(|(row, column)| [(row, true), (column, true)]));
        let cell = |column: usize| format!("{}", 10 * column);
        let text = sample::plain(&Grid::of(&both).unwrap().table("Cycles", cell));
        let expected =
            "Cycles\n            warps=16  warps=32\n  l1=32KiB         0        10\n  l1=64KiB        20        30\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_core_that_varies_makes_no_grid() {
        let one = comparison(&[[("inorder", false), ("warps=16", true)], [("ghost", false), ("warps=16", true)]]);
        assert!(Grid::of(&one).is_none());
    }
}
