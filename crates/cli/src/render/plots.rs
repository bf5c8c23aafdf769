//! The picture of a comparison: bars, lines over a setting that varies, or points of one figure over another.

use super::comparison::{Shown, heading};
use ::render::bars::{self, Bar, Bars};
use ::render::curves::{self, Curve, Curves, Point};
use experiment::claim::Correlation;
use experiment::file::PlotKind;
use request::chance::Spread;
use request::comparison::{self, Axis, Column, Comparison, geometric_mean};
use std::collections::BTreeSet;

/// Maximum number of lines in one picture; of more, only the lines of means are drawn.
const MOST_LINES: usize = 12;

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Bars in groups.
    Bars(Bars),
    /// Lines or points.
    Curves(Curves),
}

impl Plot {
    /// As SVG.
    pub fn svg(&self) -> String {
        match self {
            Self::Bars(bars) => bars::svg(bars),
            Self::Curves(curves) => curves::svg(curves),
        }
    }

    /// As PNG; an error says why it cannot be drawn.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Bars(bars) => bars::png(bars),
            Self::Curves(curves) => curves::png(curves),
        }
    }
}

/// Checks that figures `show` of `columns` can be drawn as `kind`.
pub fn check(kind: Option<PlotKind>, show: &[Shown], columns: &[Column]) -> Result<(), String> {
    match kind {
        Some(PlotKind::Line) if Swept::of(columns).is_none() => {
            Err("`plot = \"line\"`: no setting or parameter has several numbers here\n  hint: `vary` gives it some; `plot = \"bars\"` needs none".into())
        }
        Some(PlotKind::Scatter) if show.iter().filter(|what| what.is_number()).count() < 2 => {
            Err("`plot = \"scatter\"`: `show` has fewer than two figures that are numbers; the first is drawn over the second".into())
        }
        _ => Ok(()),
    }
}

/// The picture of the first of the figures `show` that has a value: the speedup, or cycles of one column, if none are chosen.
/// `None` if there is nothing to draw.
pub fn of_comparison(of: &Comparison, show: &[Shown], kind: Option<PlotKind>) -> Option<Plot> {
    let usual = [if of.columns.len() > 1 { Shown::Speedup } else { Shown::Cycles }];
    let show = if show.is_empty() { &usual } else { show };
    let mut drawn = show.iter().copied().filter(|what| has_value(of, *what));
    let first = drawn.next()?;
    let swept = Swept::of(&of.columns);
    match (kind, swept, drawn.next()) {
        (Some(PlotKind::None), ..) => None,
        (Some(PlotKind::Scatter), _, Some(second)) => Some(Plot::Curves(scatter(of, first, second))),
        (Some(PlotKind::Line), Some(swept), _) => Some(Plot::Curves(lines(of, first, &swept))),
        (None, Some(swept), _) if swept.lines(of, first) <= MOST_LINES => Some(Plot::Curves(lines(of, first, &swept))),
        _ => Some(Plot::Bars(bars(of, first))),
    }
}

/// The rows of a claim of a correlation: the claim's figure over the statistic. `None` without two rows that have both.
pub fn of_correlation(parts: &[Comparison], claim: Correlation<'_>) -> Option<Plot> {
    let of = parts.get(claim.part.checked_sub(1)?)?;
    let column = of.columns.iter().position(|column| column.label == claim.column)?;
    let figure = comparison::ratio(claim.figure)?;
    let point = |row: usize| {
        let spread = of.spread(figure, row, column);
        let y = spread.map(|spread| spread.mean).or(figure(of, row, column))?;
        Some(Point { x: of.statistic(claim.with, row, column)?, y, half: spread.map(|s| s.half), published: None })
    };
    let points: Vec<Point> = (0..of.workloads.len()).filter_map(point).collect();
    let unit = unit_of(of, claim.with);
    let curve = Curve { name: claim.column.to_owned(), points };
    (curve.points.len() > 1).then(|| {
        Plot::Curves(Curves {
            title: claim.title.to_owned(),
            axes: [format!("{}{unit}", claim.with), format!("{} over {}", claim.figure, of.baseline(column).label)],
            neutral: Some(1.0),
            curves: vec![curve],
            ..Curves::default()
        })
    })
}

/// The unit of a statistic in brackets.
fn unit_of(of: &Comparison, statistic: &str) -> String {
    let reports = of.cells.iter().filter_map(comparison::Cell::complete);
    let mut infos = reports.flat_map(|report| report.total.0.iter().map(|(info, _)| info));
    infos.find(|info| *info.name == *statistic).map_or_else(String::new, |info| format!(" ({})", info.unit))
}

/// Caption of a figure.
fn title(of: &Comparison, what: Shown) -> String {
    const MOST_CHARACTERS: usize = 64;
    let whole = heading(of, what);
    if whole.len() <= MOST_CHARACTERS { whole } else { format!("{} over {}", what.short().0, of.baseline_name()) }
}

/// Text at the axis of a figure's values.
fn unit(of: &Comparison, what: Shown) -> String {
    match what.statistic() {
        Some(statistic) => unit_of(of, statistic).trim_matches([' ', '(', ')']).to_owned(),
        None if what.relative().is_some() => "over the baseline".to_owned(),
        None => what.short().0.to_owned(),
    }
}

/// The value that means no difference.
fn neutral(what: Shown) -> Option<f64> {
    what.relative().map(|_| 1.0)
}

/// Names of the bars of a group, and their columns: without the baselines' of relative figures.
fn series(of: &Comparison, what: Shown) -> Vec<(String, usize)> {
    if what == Shown::Variation {
        return of.by_difference().into_iter().filter_map(|(name, all)| Some((name, *all.first()?))).collect();
    }
    let columns = of.columns.iter().enumerate().filter(|(at, of)| !what.is_relative() || of.baseline != *at);
    columns.map(|(at, column)| (column.label.clone(), at)).collect()
}

fn has_value(of: &Comparison, what: Shown) -> bool {
    let series = series(of, what);
    (0..of.workloads.len()).any(|row| series.iter().any(|(_, column)| what.value(of, row, *column).is_some()))
}

/// A figure, or its mean over the repeats with half of the width of the confidence interval.
type Ours = (Option<f64>, Option<f64>);

/// A figure of a run.
fn value(of: &Comparison, what: Shown, row: usize, column: usize) -> Ours {
    with_spread(of.over_repeats(|one| what.value(one, row, column)), what.value(of, row, column))
}

fn with_spread(spread: Option<Spread>, one: Option<f64>) -> Ours {
    (spread.map(|spread| spread.mean).or(one), spread.map(|spread| spread.half))
}

/// The geometric mean of a column's ratios.
fn mean(of: &Comparison, ratio: comparison::Figure, column: usize) -> Ours {
    with_spread(of.spread_of_mean(ratio, column, geometric_mean), geometric_mean(&of.all(ratio, column)))
}

/// A paper's mean of a figure.
fn published_mean(of: &Comparison, what: Shown, column: usize) -> Option<f64> {
    if what == Shown::Speedup {
        return of.published_mean(column)?.speedup;
    }
    what.published_mean(of.published_figure(column).filter(|figure| of.is_over_the_same(figure, column))?)
}

/// A group for each row, and of ratios one for the means.
fn bars(of: &Comparison, what: Shown) -> Bars {
    let series = series(of, what);
    let bar = |(value, half), published| Bar { value, half, published };
    let of_row = |row: usize| {
        let bars = series.iter().map(|&(_, at)| bar(value(of, what, row, at), what.published_value(of, row, at)));
        (of.workloads[row].clone(), bars.collect())
    };
    let mut groups: Vec<(String, Vec<Bar>)> = (0..of.workloads.len()).map(of_row).collect();
    if let Some(ratio) = what.ratio().filter(|_| groups.len() > 1) {
        let of_mean = |&(_, at): &(String, usize)| bar(mean(of, ratio, at), published_mean(of, what, at));
        groups.push(("geometric mean".into(), series.iter().map(of_mean).collect()));
    }
    let names = series.into_iter().map(|(name, _)| name).collect();
    Bars { title: title(of, what), unit: unit(of, what), neutral: neutral(what), series: names, groups }
}

/// The first figure over the second, a point for each row and a colour for each column.
fn scatter(of: &Comparison, first: Shown, second: Shown) -> Curves {
    let curve = |(name, column): (String, usize)| {
        let point = |row: usize| {
            let ((y, half), (x, _)) = (value(of, first, row, column), value(of, second, row, column));
            Some(Point { x: x?, y: y?, half, published: None })
        };
        Curve { name, points: (0..of.workloads.len()).filter_map(point).collect() }
    };
    Curves {
        title: format!("{} by {}", title(of, first), second.short().0),
        axes: [title(of, second), unit(of, first)],
        neutral: neutral(first),
        curves: series(of, first).into_iter().map(curve).collect(),
        ..Curves::default()
    }
}

/// A line over the numbers for each row and combination of all else, and of ratios over several rows one of the means.
fn lines(of: &Comparison, what: Shown, swept: &Swept) -> Curves {
    let several = of.workloads.len() > 1;
    let mut curves = Vec::new();
    let mut add = |name: &str, at: &dyn Fn(usize) -> (Ours, Option<f64>)| {
        for rest in swept.combinations(of, what) {
            let point = |(x, column): (f64, usize)| {
                let ((y, half), published) = at(column);
                Some(Point { x, y: y?, half, published })
            };
            let points: Vec<Point> = swept.points(rest).into_iter().filter_map(point).collect();
            let name = [name, rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            curves.extend((!points.is_empty()).then_some(Curve { name, points }));
        }
    };
    let ratio = what.ratio().filter(|_| several);
    if ratio.is_none() || swept.lines(of, what) <= MOST_LINES {
        for (row, workload) in of.workloads.iter().enumerate() {
            let name = if several || swept.combinations(of, what).all(str::is_empty) { workload } else { "" };
            add(name, &|column| (value(of, what, row, column), what.published_value(of, row, column)));
        }
    }
    if let Some(ratio) = ratio {
        add("geometric mean", &|column| (mean(of, ratio, column), published_mean(of, what, column)));
    }
    Curves {
        title: title(of, what),
        axes: [swept.name.clone(), unit(of, what)],
        neutral: neutral(what),
        joined: true,
        places: swept.places.clone(),
        curves,
    }
}

/// A setting or parameter that varies in numbers.
#[derive(Clone, Debug, PartialEq)]
struct Swept {
    name: String,
    /// Places of its values on the axis, with their texts.
    places: Vec<(f64, String)>,
    /// For each column, its number, if it has one, and all else that varies, as headings have it.
    columns: Vec<(Option<f64>, String)>,
    /// Whether the places are logarithms.
    logarithmic: bool,
}

impl Swept {
    /// The setting or parameter with the most numbers.
    fn of(columns: &[Column]) -> Option<Self> {
        let axes = columns.first()?.axes.len();
        let mut best: Option<Self> = None;
        for at in 0..axes {
            let first = &columns[0].axes[at];
            let of_setting =
                Self::new(columns, at, first.short_name(), |axis| Some((axis.bare_value().to_owned(), String::new())));
            let of_parameters = parameters(columns, at).into_iter().filter_map(|name| {
                Self::new(columns, at, &name, |axis| {
                    Some(parameter(&axis.value, &name).unwrap_or_else(|| (String::new(), axis.value.clone())))
                })
            });
            for found in of_setting.into_iter().chain(of_parameters) {
                if best.as_ref().is_none_or(|best| best.places.len() < found.places.len()) {
                    best = Some(found);
                }
            }
        }
        best
    }

    /// The numbers of axis `at`, of which `parts` gives the text of the value, empty if it has none, and the rest.
    fn new(
        columns: &[Column],
        at: usize,
        name: &str,
        parts: impl Fn(&Axis) -> Option<(String, String)>,
    ) -> Option<Self> {
        let mut units = BTreeSet::new();
        let mut places: Vec<(f64, String)> = Vec::new();
        let mut of_columns = Vec::new();
        for column in columns {
            let (text, rest) = parts(column.axes.get(at)?)?;
            let others = column.axes.iter().enumerate().filter(|(other, _)| *other != at);
            let rest = std::iter::once(&*rest).chain(others.map(|(_, axis)| &*axis.value));
            let rest = rest.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            if text.is_empty() {
                of_columns.push((None, rest));
                continue;
            }
            let (value, unit) = quantity(&text)?;
            units.insert(unit.to_owned());
            if places.iter().all(|(known, _)| *known != value) {
                places.push((value, text));
            }
            of_columns.push((Some(value), rest));
        }
        if places.len() < 2 || units.len() > 1 {
            return None;
        }
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Powers of two are evenly spaced.
        let (least, most) = (places[0].0, places[places.len() - 1].0);
        let logarithmic = least > 0.0 && most / least >= 8.0;
        let mut swept = Self { name: name.to_owned(), places, columns: of_columns, logarithmic };
        for at in 0..swept.places.len() {
            swept.places[at].0 = swept.place(swept.places[at].0);
        }
        Some(swept)
    }

    fn place(&self, value: f64) -> f64 {
        if self.logarithmic { value.log2() } else { value }
    }

    /// All else, each combination once; of relative figures without the columns that are only a baseline.
    fn combinations<'a>(&'a self, of: &'a Comparison, what: Shown) -> impl Iterator<Item = &'a str> {
        let is_drawn = move |(at, (value, _)): &(usize, &(Option<f64>, String))| {
            value.is_some() || !what.is_relative() || of.columns[*at].baseline != *at
        };
        let mut all: Vec<&str> = Vec::new();
        for (_, (_, rest)) in self.columns.iter().enumerate().filter(is_drawn) {
            if !all.contains(&rest.as_str()) {
                all.push(rest);
            }
        }
        all.into_iter()
    }

    /// Number of lines of a figure.
    fn lines(&self, of: &Comparison, what: Shown) -> usize {
        let means = usize::from(what.ratio().is_some() && of.workloads.len() > 1);
        (of.workloads.len() + means) * self.combinations(of, what).count()
    }

    /// Places and columns of a combination, from left to right. A column without a number is a level line.
    fn points(&self, rest: &str) -> Vec<(f64, usize)> {
        let mut points = Vec::new();
        for (at, (value, _)) in self.columns.iter().enumerate().filter(|(_, (_, of))| of == rest) {
            match value {
                Some(value) => points.push((self.place(*value), at)),
                None => points
                    .extend([self.places.first(), self.places.last()].into_iter().flatten().map(|(x, _)| (*x, at))),
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }
}

/// A number and its unit: `16`, `x2`, `32KiB`.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let number = text.strip_prefix('x').unwrap_or(text);
    let digits = number.find(|c: char| !(c.is_ascii_digit() || ".-_".contains(c))).unwrap_or(number.len());
    let (number, unit) = number.split_at(digits);
    let is_unit = unit.chars().all(|c| c.is_ascii_alphabetic() || c == '/');
    Some((number.replace('_', "").parse().ok().filter(|_| is_unit)?, unit))
}

/// Names of the parameters of the cores or schedulers on axis `at`.
fn parameters(columns: &[Column], at: usize) -> BTreeSet<String> {
    let axes = columns.iter().filter_map(|column| column.axes.get(at));
    axes.flat_map(Axis::parameters).map(|(name, _)| name.to_owned()).collect()
}

/// The text of a design's parameter, and the design without it: `16` and `ghost+scalar` of `ghost:issue_buffer=16+scalar`.
fn parameter(design: &str, name: &str) -> Option<(String, String)> {
    let start = [':', ','].into_iter().find_map(|before| design.find(&format!("{before}{name}=")))?;
    let value = &design[start + name.len() + 2..];
    let end = value.find([',', '+']).unwrap_or(value.len());
    let (value, after) = value.split_at(end);
    // The next parameter is the first one.
    let rest = match (design.as_bytes()[start], after.strip_prefix(',')) {
        (b':', Some(others)) => format!("{}:{others}", &design[..start]),
        _ => format!("{}{after}", &design[..start]),
    };
    Some((value.to_owned(), rest))
}

#[cfg(test)]
mod tests;
