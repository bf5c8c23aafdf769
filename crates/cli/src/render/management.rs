//! Energy of managing values and instructions, by component: register file, pipeline and scheduler of an SM beside what
//! a fabric has in their place.

use super::number::{self, ABSENT};
use super::style::{HEADING, styled};
use super::table::{Align, Table};
use super::wrap::table_limit;
use energy::Component;
use request::comparison::Comparison;

/// A row for each component that used energy in a run of a workload, with their sum.
pub fn table(comparison: &Comparison) -> String {
    let labels = comparison.columns.iter().map(|column| (column.label.clone(), Align::Right));
    let names = [(String::new(), Align::Name), ("component".to_owned(), Align::Left)];
    let mut table = Table::new(names.into_iter().chain(labels));
    for (row, workload) in comparison.workloads.iter().enumerate() {
        let of = |statistic: &str| -> Vec<Option<f64>> {
            let joules = |column| comparison.cell(row, column).complete()?.total.get(statistic)?.number();
            (0..comparison.columns.len()).map(joules).collect()
        };
        let components = Component::ALL.iter().filter(|component| component.is_management());
        for name in components.map(|component| component.name()).chain(["management"]) {
            let joules = of(&format!("energy.{name}"));
            if joules.iter().flatten().any(|joules| *joules > 0.0) {
                let cells =
                    joules.into_iter().map(|j| j.map_or_else(|| ABSENT.to_owned(), |j| number::with_prefix(j, "J")));
                let names = [workload.clone(), name.replace('_', " ")];
                table.row(&names.into_iter().chain(cells).collect::<Vec<_>>());
            }
        }
    }
    if table.is_empty() {
        return String::new();
    }
    let heading = "The same by component";
    format!("{}\n{}", styled(HEADING, heading), table.render_within(table_limit()))
}
