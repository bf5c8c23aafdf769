//! Published figures that the user has, in place of the papers'.

use kit::suggest;
use std::collections::BTreeMap;

/// Figures of one ratio by column and row.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnFigures {
    figure: String,
    /// By the label of a column; under the empty one, of every column that is not a baseline.
    columns: BTreeMap<String, BTreeMap<String, f64>>,
}

impl OwnFigures {
    /// The ratios that have published figures, by their names for `--show`.
    pub const RATIOS: [&str; 3] = ["speedup", "relative-energy", "efficiency"];

    /// The figures of the ratio called `figure`; those under an empty label are of every column that is not a baseline.
    ///
    /// # Errors
    /// Published figures are not of this ratio.
    pub fn new(figure: &str, columns: BTreeMap<String, BTreeMap<String, f64>>) -> Result<Self, String> {
        if !Self::RATIOS.contains(&figure) {
            return Err(format!("published figures are of {}, not of {figure}", Self::RATIOS.join(", ")));
        }
        Ok(Self { figure: figure.to_owned(), columns })
    }

    /// Name of the ratio.
    pub fn figure(&self) -> &str {
        &self.figure
    }

    /// Checks that there are these rows and columns.
    ///
    /// # Errors
    /// One is unknown: which, and the nearest.
    pub fn check(&self, rows: &[&str], labels: &[&str]) -> Result<(), String> {
        for (label, figures) in &self.columns {
            if !label.is_empty() && !labels.contains(&label.as_str()) {
                return Err(suggest::unknown("column", label, labels));
            }
            if let Some(row) = figures.keys().find(|row| !rows.iter().any(|name| name == row || program(name) == *row))
            {
                return Err(suggest::unknown("row", row, rows));
            }
        }
        Ok(())
    }

    /// The figure of a row in a column: by the row's name, or by its name without parameters.
    pub(crate) fn value(&self, row: &str, label: &str, is_baseline: bool) -> Option<f64> {
        let of_all = self.columns.get("").filter(|_| !is_baseline);
        let mut figures = self.columns.get(label).into_iter().chain(of_all);
        figures.find_map(|figures| figures.get(row).or_else(|| figures.get(program(row)))).copied()
    }
}

/// A workload without its parameters.
fn program(row: &str) -> &str {
    row.split(':').next().unwrap_or(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(of: &[(&str, &[(&str, f64)])]) -> OwnFigures {
        let rows = |rows: &[(&str, f64)]| rows.iter().map(|&(row, value)| (row.to_owned(), value)).collect();
        OwnFigures::new("speedup", of.iter().map(|&(label, of)| (label.to_owned(), rows(of))).collect()).unwrap()
    }

    #[test]
    fn a_row_has_the_figure_of_its_name_or_program() {
        let own = figures(&[("", &[("nn", 1.1), ("nn:places=9", 1.2)]), ("loog", &[("nn", 1.3)])]);
        assert_eq!(own.value("nn:places=4", "ghost", false), Some(1.1));
        assert_eq!(own.value("nn:places=9", "ghost", false), Some(1.2));
        assert_eq!(own.value("nn", "loog", false), Some(1.3));
        assert_eq!([own.value("lud", "ghost", false), own.value("nn", "inorder", true)], [None, None]);
    }

    #[test]
    fn unknown_rows_columns_and_ratios_are_refused() {
        let own = figures(&[("ghost", &[("nn", 1.1)])]);
        assert_eq!(own.check(&["nn:places=4"], &["inorder", "ghost"]), Ok(()));
        assert!(own.check(&["nw"], &["ghost"]).unwrap_err().contains("did you mean `nw`"));
        assert!(own.check(&["nn"], &["ghosts"]).unwrap_err().contains("did you mean `ghosts`"));
        assert!(OwnFigures::new("management", BTreeMap::new()).unwrap_err().contains("not of management"));
    }
}
