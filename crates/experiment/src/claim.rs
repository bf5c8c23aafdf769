//! Claims of a paper, compared with the simulated values.
//!
//! ```toml
//! [[claim]]
//! claim = "mean speedup"
//! column = "ghost"
//! published = 1.069
//! why = "what is known of the difference"
//! ```
//! A claim is about a figure of a column: a mean or a bound over the rows of a part, or a row's. `docs/experiments.md`
//! describes the keys for users.

use evidence::{published, published_costs};
use kit::suggest;
use request::BadRequest;
use request::chance::Spread;
use request::comparison::{Comparison, Figure, RATIOS, arithmetic_mean, geometric_mean, ratio};
use serde::{Deserialize, Serialize};

/// A claim, as the file of an experiment has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim in words.
    claim: String,
    /// Number of the part that shows it, from 1.
    #[serde(default = "one")]
    part: usize,
    /// Label of the column.
    #[serde(default)]
    column: String,
    /// The figure: a ratio to the baseline, by the name that `--show` has for it.
    #[serde(default = "speedup")]
    figure: String,
    /// Reduction of the rows' figures to one value.
    #[serde(default)]
    take: Take,
    /// The row, if it is about one.
    row: Option<String>,
    /// The statistic that `take = "correlation"` correlates the figure with.
    with: Option<String>,
    /// In place of a column's figure: an area or a power, by the name that `docs/published-figures.toml` has for it.
    cost: Option<String>,
    /// The published value. Without one and without a bound: the paper's mean over the programs that ran here.
    published: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// Known cause of the difference.
    #[serde(default)]
    why: String,
}

fn one() -> usize {
    1
}

fn speedup() -> String {
    "speedup".into()
}

/// The plot of a correlation: a figure of each row over a statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation<'a> {
    /// The claim in words.
    pub title: &'a str,
    /// Number of the part, from 1.
    pub part: usize,
    /// Label of the column.
    pub column: &'a str,
    /// The figure, a ratio.
    pub figure: &'a str,
    /// The statistic.
    pub with: &'a str,
}

/// Reduction of the figures of all rows to one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Take {
    #[default]
    GeometricMean,
    ArithmeticMean,
    Least,
    Most,
    /// Share of the rows whose figure is below 1.
    #[serde(rename = "share_below_1")]
    ShareBelow1,
    /// Pearson's correlation with a statistic.
    Correlation,
}

/// Result of the comparison of a claim with the simulated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A bound is met, a value differs by at most a quarter of the effect, or a value is in the confidence interval.
    Holds,
    /// The effect has the published sign, and another size.
    SameSign,
    /// Neither.
    Not,
    /// No run of this request shows it.
    Unknown,
}

impl Verdict {
    /// The verdict in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::SameSign => "same sign",
            Self::Not => "no",
            Self::Unknown => "not run",
        }
    }
}

/// A claim with the simulated value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The claim in words.
    pub claim: String,
    /// The published value or bound.
    pub published: String,
    /// Our value.
    pub ours: Option<f64>,
    /// Half of the 95 % confidence interval, of repeated runs.
    pub half: Option<f64>,
    /// Rows that it is over.
    pub rows: usize,
    /// Result of their comparison.
    pub verdict: Verdict,
    /// Known cause of the difference.
    pub why: String,
}

/// A published value: exact, or a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    Value(f64),
    AtLeast(f64),
    AtMost(f64),
}

/// A value, half of its confidence interval, and the number of rows it is over.
type Ours = (f64, Option<f64>, usize);

/// Largest share of the published effect by which ours may differ.
const TOLERANCE: f64 = 0.25;

impl Claim {
    /// Checks what can be checked without a run; there are `parts` of the experiment.
    ///
    /// # Errors
    /// It does not make sense: why.
    pub(crate) fn check(&self, parts: usize) -> Result<(), BadRequest> {
        let wrong = |why: String| Err(BadRequest::new(format!("claim `{}`: {why}", self.claim)));
        let bounds = [self.published, self.at_least, self.at_most].into_iter().flatten().count();
        match &self.cost {
            _ if bounds > 1 => wrong("it has one of `published`, `at_least` and `at_most`".into()),
            Some(name) if published::costs().iter().all(|cost| cost.what != *name) => {
                let known: Vec<&str> = published::costs().iter().map(|cost| cost.what.as_str()).collect();
                wrong(suggest::unknown("cost", name, &known))
            }
            Some(_) if bounds > 0 => wrong("docs/published-figures.toml has the published value of a cost".into()),
            Some(_) => Ok(()),
            None if !(1..=parts).contains(&self.part) => wrong(format!("there is no part {}", self.part)),
            None if ratio(&self.figure).is_none() => {
                let known: Vec<&str> = RATIOS.iter().map(|(name, _)| *name).collect();
                wrong(suggest::unknown("figure", &self.figure, &known))
            }
            None if self.column.is_empty() => wrong("`column` is the label of a column".into()),
            None if (self.take == Take::Correlation) != self.with.is_some() => {
                wrong("`with` names the statistic of a correlation".into())
            }
            None if bounds == 0 && (self.take != Take::GeometricMean || self.figure != speedup()) => {
                wrong("`published`, `at_least` or `at_most` is missing".into())
            }
            None => Ok(()),
        }
    }

    /// Compares the claim with the results of an experiment's parts.
    pub fn judged(&self, parts: &[Comparison]) -> Judged {
        let found = if self.cost.is_some() { self.of_cost() } else { self.of_part(parts) };
        let (published, ours) = found.map_or((None, None), |(published, ours)| (published, Some(ours)));
        let bound = self.bound().or(published.map(Bound::Value));
        let verdict = match (bound, ours) {
            (Some(bound), Some((ours, half, _))) => verdict(bound, self.neutral(), ours, half.unwrap_or(0.0)),
            _ => Verdict::Unknown,
        };
        let digits = |value: f64| render::number::real(value);
        let published = match bound {
            Some(Bound::Value(value)) => digits(value),
            Some(Bound::AtLeast(value)) => format!("at least {}", digits(value)),
            Some(Bound::AtMost(value)) => format!("at most {}", digits(value)),
            None => render::number::ABSENT.to_owned(),
        };
        Judged {
            claim: self.claim.clone(),
            published,
            ours: ours.map(|(value, ..)| value),
            half: ours.and_then(|(_, half, _)| half),
            rows: ours.map_or(0, |(.., rows)| rows),
            verdict,
            why: self.why.clone(),
        }
    }

    /// Number of the part, label of the column, and row that show it; `None` for a cost.
    pub fn place(&self) -> Option<(usize, &str, Option<&str>)> {
        self.cost.is_none().then_some((self.part, &self.column, self.row.as_deref()))
    }

    /// Its plot, if it claims a correlation.
    pub fn correlation(&self) -> Option<Correlation<'_>> {
        let (part, column, _) = self.place()?;
        let with = self.with.as_deref()?;
        Some(Correlation { title: &self.claim, part, column, figure: &self.figure, with })
    }

    /// The value without an effect; areas, powers and shares have no such value.
    fn neutral(&self) -> Option<f64> {
        match self.take {
            _ if self.cost.is_some() => None,
            Take::ShareBelow1 => None,
            Take::Correlation => Some(0.0),
            Take::GeometricMean | Take::ArithmeticMean | Take::Least | Take::Most => Some(1.0),
        }
    }

    /// The claim's own value or bound.
    fn bound(&self) -> Option<Bound> {
        let value = self.published.map(Bound::Value);
        value.or(self.at_least.map(Bound::AtLeast)).or(self.at_most.map(Bound::AtMost))
    }

    /// Published value and ours of an area or a power.
    fn of_cost(&self) -> Option<(Option<f64>, Ours)> {
        let cost = published::costs().iter().find(|cost| Some(&cost.what) == self.cost.as_ref())?;
        Some((Some(cost.value), (published_costs::ours(cost).ok()?, None, 1)))
    }

    /// Our value, and the paper's mean over the programs that ran here where the claim gives none.
    fn of_part(&self, parts: &[Comparison]) -> Option<(Option<f64>, Ours)> {
        let of = parts.get(self.part - 1)?;
        let column = of.columns.iter().position(|column| column.label == self.column)?;
        if self.bound().is_none() {
            let common = of.in_common(column)?;
            let spread = of.over_repeats(|one| Some(one.in_common(column)?.ours));
            return Some((Some(common.published), value(common.ours, spread, common.workloads)));
        }
        let figure = ratio(&self.figure)?;
        let rows = match &self.row {
            Some(row) => vec![of.workloads.iter().position(|name| name == row)?],
            None => (0..of.workloads.len()).collect(),
        };
        if matches!(self.take, Take::Least | Take::Most) {
            return Some((None, self.extreme(of, figure, &rows, column)?));
        }
        let ours = |one: &Comparison| self.taken(one, figure, &rows, column);
        let (first, counted) = ours(of)?;
        let spread = of.over_repeats(|one| Some(ours(one)?.0));
        Some((None, value(first, spread, counted)))
    }

    /// The least or greatest figure of a row.
    fn extreme(&self, of: &Comparison, figure: Figure, rows: &[usize], column: usize) -> Option<Ours> {
        let one = |&row: &usize| Some(value(figure(of, row, column)?, of.spread(figure, row, column), 1));
        let found: Vec<Ours> = rows.iter().filter_map(one).collect();
        surest(&found, if self.take == Take::Least { 1.0 } else { -1.0 })
    }

    /// The reduced figure, and the number of rows that have one.
    fn taken(&self, of: &Comparison, figure: Figure, rows: &[usize], column: usize) -> Option<(f64, usize)> {
        let with = |row: usize| of.statistic(self.with.as_ref()?, row, column);
        let pairs: Vec<(f64, Option<f64>)> =
            rows.iter().filter_map(|&row| Some((figure(of, row, column)?, with(row)))).collect();
        let values: Vec<f64> = pairs.iter().map(|(value, _)| *value).collect();
        let taken = match self.take {
            Take::GeometricMean => geometric_mean(&values)?,
            Take::ArithmeticMean => arithmetic_mean(&values)?,
            Take::Least | Take::Most => return None,
            Take::ShareBelow1 if values.is_empty() => return None,
            Take::ShareBelow1 => values.iter().filter(|value| **value < 1.0).count() as f64 / values.len() as f64,
            Take::Correlation => {
                let both: Vec<(f64, f64)> = pairs.iter().filter_map(|(value, with)| Some((*value, (*with)?))).collect();
                return Some((correlation(&both)?, both.len()));
            }
        };
        Some((taken, values.len()))
    }
}

/// The mean of the repeats if there are any, else the value of the only run.
fn value(one: f64, spread: Option<Spread>, rows: usize) -> Ours {
    spread.map_or((one, None, rows), |spread| (spread.mean, Some(spread.half), rows))
}

/// The row that is least (`sign` 1) or greatest (-1) beyond its own chance, which another row's does not widen.
fn surest(rows: &[Ours], sign: f64) -> Option<Ours> {
    let end = |(ours, half, _): &Ours| sign * ours + half.unwrap_or(0.0);
    let (ours, half, _) = *rows.iter().min_by(|a, b| end(a).total_cmp(&end(b)))?;
    Some((ours, half, rows.len()))
}

fn verdict(bound: Bound, neutral: Option<f64>, ours: f64, half: f64) -> Verdict {
    match bound {
        Bound::AtLeast(least) if ours + half >= least => Verdict::Holds,
        Bound::AtMost(most) if ours - half <= most => Verdict::Holds,
        Bound::AtLeast(_) | Bound::AtMost(_) => Verdict::Not,
        Bound::Value(published) => {
            let none = neutral.unwrap_or(0.0);
            let (effect, found) = (published - none, ours - none);
            match () {
                () if (found - effect).abs() <= half.max(TOLERANCE * effect.abs()) => Verdict::Holds,
                () if neutral.is_some() && found * effect > 0.0 && found.abs() > half => Verdict::SameSign,
                () => Verdict::Not,
            }
        }
    }
}

/// Pearson's correlation; `None` of fewer than three pairs, or where one side does not vary.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
    let scale = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    (pairs.len() >= 3 && scale > 0.0).then(|| sum(&|x, y| x * y) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_about_the_effect() {
        let of = |bound, ours, half| verdict(bound, Some(1.0), ours, half);
        // A quarter of 8 %.
        assert_eq!(of(Bound::Value(1.08), 1.06, 0.0), Verdict::Holds);
        assert_eq!(of(Bound::Value(1.08), 1.059, 0.0), Verdict::SameSign);
        assert_eq!(of(Bound::Value(1.08), 1.059, 0.03), Verdict::Holds);
        // The sign is within chance.
        assert_eq!(of(Bound::Value(1.08), 1.01, 0.02), Verdict::Not);
        assert_eq!(of(Bound::Value(1.08), 0.99, 0.0), Verdict::Not);
        assert_eq!(of(Bound::Value(0.81), 0.85, 0.0), Verdict::Holds);
        assert_eq!(of(Bound::AtLeast(1.0), 0.998, 0.001), Verdict::Not);
        assert_eq!(of(Bound::AtLeast(1.0), 0.998, 0.002), Verdict::Holds);
        assert_eq!(of(Bound::AtMost(0.12), 0.13, 0.0), Verdict::Not);
        assert_eq!(verdict(Bound::Value(-0.73), Some(0.0), -0.6, 0.0), Verdict::Holds);
        assert_eq!(verdict(Bound::Value(-0.73), Some(0.0), 0.6, 0.0), Verdict::Not);
        assert_eq!(
            [10.0, 15.0].map(|area| verdict(Bound::Value(20.0), None, area, 0.0)),
            [Verdict::Not, Verdict::Holds]
        );
    }

    #[test]
    fn a_row_s_chance_is_its_own() {
        let rows = [(0.943, Some(0.087), 1), (0.987, Some(0.010), 1), (1.2, Some(0.001), 1)];
        assert_eq!(surest(&rows, 1.0), Some((0.987, Some(0.010), 3)));
        assert_eq!(surest(&rows, -1.0), Some((1.2, Some(0.001), 3)));
        assert_eq!(surest(&[(0.5, None, 1), (0.4, None, 1)], 1.0), Some((0.4, None, 2)));
        assert_eq!(surest(&[], 1.0), None);
    }

    #[test]
    fn correlations() {
        let line: Vec<(f64, f64)> = (0..5).map(|x| (f64::from(x), 3.0 - 2.0 * f64::from(x))).collect();
        assert!((correlation(&line).unwrap() + 1.0).abs() < 1e-12);
        let square = [(-1.0, 1.0), (0.0, 0.0), (1.0, 1.0)];
        assert!(correlation(&square).unwrap().abs() < 1e-12);
        assert_eq!([correlation(&line[..2]), correlation(&[(1.0, 1.0); 4])], [None, None]);
    }

    #[test]
    fn claims_that_make_no_sense_are_refused() {
        let read = |text: &str| {
            let claim: Claim = toml::from_str(text).expect("TOML");
            claim.check(1).map_err(|e| e.to_string())
        };
        assert_eq!(read("claim = 'c'\ncolumn = 'x'\npublished = 1.0"), Ok(()));
        assert_eq!(read("claim = 'c'\ncost = 'a core at 40 nm'"), Ok(()));
        for (text, why) in [
            ("claim = 'c'\ncolumn = 'x'\npublished = 1.0\nat_most = 2.0", "one of"),
            ("claim = 'c'\ncolumn = 'x'\npart = 2\npublished = 1.0", "no part 2"),
            ("claim = 'c'\ncolumn = 'x'\npart = 0\npublished = 1.0", "no part 0"),
            ("claim = 'c'\ncolumn = 'x'\nfigure = 'speedups'\npublished = 1.0", "speedup"),
            ("claim = 'c'\npublished = 1.0", "label of a column"),
            ("claim = 'c'\ncolumn = 'x'\ntake = 'least'", "is missing"),
            ("claim = 'c'\ncolumn = 'x'\ntake = 'correlation'\npublished = 1.0", "statistic"),
            ("claim = 'c'\ncost = 'a core at 41 nm'", "a core at 40 nm"),
            ("claim = 'c'\ncost = 'a core at 40 nm'\npublished = 1.0", "published-figures"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
