//! How well cycles agree with hardware's, as text.

use crate::render::table::{Align, Table};
use evidence::applications::Agreement;

/// A deviation with its sign.
pub fn percent(x: f64) -> String {
    format!("{x:+.1} %")
}

/// A table of agreements: ours, and of each of `others`.
pub fn agreement_table<'a>(
    way: &str,
    others: &[&str],
    rows: impl IntoIterator<Item = (&'a str, Vec<&'a Agreement>)>,
) -> String {
    use Align::{Left, Right};
    let columns = ["runs", "mean", "median", "90 %", "signed", "of logs"].map(str::to_owned);
    let of_others = others.iter().flat_map(|other| {
        [format!("{other}: mean")].into_iter().chain(["median", "90 %", "signed"].map(str::to_owned))
    });
    let columns = columns.into_iter().chain(of_others).map(|column| (column, Right));
    let mut table = Table::new([(way.to_owned(), Left)].into_iter().chain(columns));
    let errors = |of: &Agreement| {
        let absolute = [of.mean_error_percent, of.median_error_percent, of.p90_error_percent];
        absolute.map(|x| format!("{x:.1} %")).into_iter().chain([percent(of.signed_mean_percent)])
    };
    for (name, all) in rows {
        let Some((ours, others)) = all.split_first() else { continue };
        let correlation = ours.log_correlation.map_or_else(|| "-".to_owned(), |x| format!("{x:.3}"));
        let cells = [name.to_owned(), ours.runs.to_string()].into_iter().chain(errors(ours)).chain([correlation]);
        table.row(&cells.chain(others.iter().flat_map(|other| errors(other))).collect::<Vec<_>>());
    }
    table.render()
}
