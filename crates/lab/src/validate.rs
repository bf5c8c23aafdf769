//! The model's figures beside those of hardware, each gap with its verdict.
//!
//! Ours come from [`crate::microbench`], the others from [`crate::figures`]. `docs/validation.md` has the
//! table of the GPUs that come with the program.

use crate::figures::{self, Figure};
use crate::microbench::catalogue::Group;
use crate::microbench::{Quantity, has, measure, quantities};
use crate::setup::Setup;
use workloads::Form;
use workloads::device::DeviceError;

/// How far a figure is from hardware's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Verdict {
    /// By no more than 10 %.
    #[serde(rename = "within 10 %")]
    Within10,
    /// By more than 10 % and no more than 30 %.
    #[serde(rename = "within 30 %")]
    Within30,
    /// By more than 30 %.
    #[serde(rename = "beyond")]
    Beyond,
}

impl Verdict {
    /// The verdict on a deviation.
    pub fn of(deviation_percent: f64) -> Self {
        match deviation_percent.abs() {
            ..=10.0 => Self::Within10,
            ..=30.0 => Self::Within30,
            _ => Self::Beyond,
        }
    }

    /// Its words in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Within10 => "within 10 %",
            Self::Within30 => "within 30 %",
            Self::Beyond => "beyond",
        }
    }
}

/// A figure of the model.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Found {
    /// The figure, in the unit of the row.
    pub value: f64,
    /// Its deviation from the nearest published value, in percent of that; 0 within the range of the
    /// published values. None where nothing is published.
    pub deviation_percent: Option<f64>,
    /// What that means.
    pub verdict: Option<Verdict>,
}

impl Found {
    fn new(value: f64, published: Option<&Figure>) -> Self {
        let deviation_percent = published.map(|figure| deviation(value, figure.low, figure.high));
        Self { value, deviation_percent, verdict: deviation_percent.map(Verdict::of) }
    }
}

/// One quantity of one GPU.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Row {
    /// Name of the GPU description.
    pub gpu: String,
    /// Name of the quantity.
    pub quantity: String,
    /// What it belongs to.
    pub group: Group,
    /// Unit of all figures.
    pub unit: &'static str,
    /// What hardware has, if that is published.
    pub published: Option<Figure>,
    /// The model's figure on PTX.
    pub ptx: Option<Found>,
    /// The model's figure on machine code.
    pub machine_code: Option<Found>,
    /// Why it deviates, where that is known and counts.
    pub reason: Option<&'static str>,
}

impl Row {
    /// The figure in a form of code.
    pub fn of(&self, code: Form) -> Option<Found> {
        match code {
            Form::Ptx => self.ptx,
            Form::Sass => self.machine_code,
        }
    }
}

/// How many rows of a form of code are how near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Rows with a published value.
    pub rows: usize,
    /// Of these within 10 %.
    pub within_10_percent: usize,
    /// Of these within 30 %, those within 10 % included.
    pub within_30_percent: usize,
    /// Of those beyond 30 % the ones with a stated reason.
    pub beyond_with_reason: usize,
}

/// Counts the verdicts of a form of code.
pub fn summary(rows: &[Row], code: Form) -> Summary {
    let mut counts = Summary::default();
    for row in rows {
        let Some(verdict) = row.of(code).and_then(|found| found.verdict) else { continue };
        counts.rows += 1;
        counts.within_10_percent += usize::from(verdict == Verdict::Within10);
        counts.within_30_percent += usize::from(verdict != Verdict::Beyond);
        counts.beyond_with_reason += usize::from(verdict == Verdict::Beyond && row.reason.is_some());
    }
    counts
}

/// By how much `ours` is outside of `low..=high`, in percent of the nearer end.
fn deviation(ours: f64, low: f64, high: f64) -> f64 {
    let nearest = ours.clamp(low, high);
    (ours - nearest) / nearest * 100.0
}

/// The rows of one GPU: those of the quantities that `wanted` says, in the forms of code `codes`, measured
/// on up to `jobs` threads.
///
/// # Errors
/// What the simulated device reports; a model that cannot run a microbenchmark is at fault.
pub fn table(
    setup: &Setup,
    codes: &[Form],
    wanted: impl Fn(&Quantity) -> bool,
    jobs: usize,
) -> Result<Vec<Row>, DeviceError> {
    let figures: Vec<&Figure> = figures::of(&setup.gpu.name).collect();
    let mut measured = Vec::new();
    for &code in codes {
        measured.push((code, measure(&Setup { code, ..setup.clone() }, &wanted, jobs)?));
    }
    let sm = setup.gpu.sm_version;
    let in_table = |q: &&Quantity| wanted(q) && codes.iter().any(|&code| has(q, sm, code));
    let row = |quantity: &Quantity| {
        let published = figures.iter().find(|f| f.quantity == quantity.name).copied();
        let found = |code: Form| {
            let all = &measured.iter().find(|(of, _)| *of == code)?.1;
            let one = all.iter().find(|m| m.quantity.name == quantity.name)?;
            Some(Found::new(one.value, published))
        };
        let (ptx, machine_code) = (found(Form::Ptx), found(Form::Sass));
        let beyond = [ptx, machine_code].into_iter().flatten().any(|f| f.verdict == Some(Verdict::Beyond));
        let reason = figures::reason_of(&setup.gpu.name, &quantity.name).filter(|_| beyond);
        Row {
            gpu: setup.gpu.name.clone(),
            quantity: quantity.name.clone(),
            group: quantity.group,
            unit: quantity.unit,
            published: published.cloned(),
            ptx,
            machine_code,
            reason: reason.map(|r| r.text.as_str()),
        }
    };
    Ok(quantities().iter().filter(in_table).map(row).collect())
}

/// A figure with three digits or so: one decimal place below 100, two below 10.
pub fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        ..10.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl Row {
    /// What hardware has, as text: one value or two.
    pub fn published_text(&self) -> String {
        match &self.published {
            None => "-".to_owned(),
            Some(m) if figure(m.low) == figure(m.high) => figure(m.low),
            Some(m) => format!("{} to {}", figure(m.low), figure(m.high)),
        }
    }

    /// The model's figure and its deviation with a sign, as text.
    pub fn found_text(&self, code: Form) -> (String, String) {
        let found = self.of(code);
        let value = found.map_or_else(|| "-".to_owned(), |f| figure(f.value));
        let deviation = found.and_then(|f| f.deviation_percent);
        (value, deviation.map_or_else(|| "-".to_owned(), |d| format!("{:+.0} %", if d.abs() < 0.5 { 0.0 } else { d })))
    }

    /// The verdict on each form in turn, or on both.
    pub fn verdict_text(&self) -> String {
        let of = |code| self.of(code).and_then(|f| f.verdict).map(Verdict::name);
        match (of(Form::Ptx), of(Form::Sass)) {
            (None, None) => "-".to_owned(),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (Some(one), Some(other)) if one == other => one.to_owned(),
            (Some(one), Some(other)) => format!("{one}; {other}"),
        }
    }
}

/// A sentence for a summary.
pub fn summary_text(counts: Summary) -> String {
    let Summary { rows, within_10_percent, within_30_percent, beyond_with_reason } = counts;
    let percent = |n: usize| if rows == 0 { 0.0 } else { n as f64 / rows as f64 * 100.0 };
    format!(
        "{within_10_percent} of {rows} rows within 10 % ({:.0} %), {within_30_percent} within 30 % ({:.0} %); {} beyond, {beyond_with_reason} of them with a reason",
        percent(within_10_percent),
        percent(within_30_percent),
        rows - within_30_percent
    )
}

/// The rows as a table in Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| quantity | unit | hardware | PTX | | machine code | | verdict |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    for row in rows {
        let ((ptx, ptx_off), (machine, machine_off)) = (row.found_text(Form::Ptx), row.found_text(Form::Sass));
        text += &format!(
            "| {} | {} | {} | {ptx} | {ptx_off} | {machine} | {machine_off} | {} |\n",
            row.quantity,
            row.unit,
            row.published_text(),
            row.verdict_text()
        );
    }
    text
}

/// `text` with what is between `<!-- name -->` and `<!-- end of name -->` replaced.
fn replaced(text: &str, name: &str, by: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let from = text.find(&begin).map(|at| at + begin.len());
    match from.and_then(|from| Some((from, from + text[from..].find(&end)?))) {
        Some((from, to)) => Ok(format!("{}\n{by}\n{}", &text[..from], &text[to..])),
        None => Err(format!("the page has no place for the {name}: put {} and {end} into it", begin.trim())),
    }
}

/// A page with the summaries and the tables of GPUs, each by its name, between its marks.
///
/// # Errors
/// The marks that the page lacks.
pub fn page(old: &str, tables: &[(String, Vec<Row>)]) -> Result<String, String> {
    let mut summaries = String::from("| GPU | PTX | machine code |\n| --- | --- | --- |\n");
    let mut sections = String::new();
    for (name, rows) in tables {
        let of = |code| match rows.iter().any(|row| row.of(code).is_some()) {
            true => summary_text(summary(rows, code)),
            false => "-".to_owned(),
        };
        summaries += &format!("| {name} | {} | {} |\n", of(Form::Ptx), of(Form::Sass));
        sections += &format!("### {name}\n\n{}\n", markdown(rows));
        for (row, reason) in rows.iter().filter_map(|row| Some((row, row.reason?))) {
            sections += &format!("- `{}`: {reason}\n", row.quantity);
        }
        if rows.iter().any(|row| row.reason.is_some()) {
            sections.push('\n');
        }
    }
    replaced(&replaced(old, "summaries", &summaries)?, "tables", &sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_take_the_tables_between_their_marks() {
        let row = Row {
            gpu: "g".into(),
            quantity: "l1_latency".into(),
            group: Group::L1,
            unit: "core cycles",
            published: None,
            ptx: Some(Found::new(33.0, None)),
            machine_code: None,
            reason: None,
        };
        let old =
            "a\n<!-- summaries -->\nold\n<!-- end of summaries -->\nb\n<!-- tables -->\n<!-- end of tables -->\nc\n";
        let tables = [("g".to_owned(), vec![row])];
        let new = page(old, &tables).unwrap();
        assert!(new.contains("### g\n") && new.contains("| l1_latency | core cycles | - | 33 |"), "{new}");
        assert!(!new.contains("old") && new.ends_with("<!-- end of tables -->\nc\n"), "{new}");
        assert_eq!(page(&new, &tables).unwrap(), new);
        assert!(page("no marks", &tables).unwrap_err().contains("<!-- summaries -->"));
    }

    #[test]
    fn deviations_are_from_the_nearer_end() {
        assert_eq!(deviation(3.0, 2.0, 4.0), 0.0);
        assert_eq!(deviation(5.0, 2.0, 4.0), 25.0);
        assert_eq!(deviation(1.0, 2.0, 4.0), -50.0);
    }

    #[test]
    fn verdicts_have_their_bounds() {
        use Verdict::*;
        for (deviation, verdict) in
            [(0.0, Within10), (-10.0, Within10), (10.1, Within30), (-30.0, Within30), (30.1, Beyond)]
        {
            assert_eq!(Verdict::of(deviation), verdict, "{deviation}");
        }
    }

    #[test]
    fn figures_are_short() {
        for (value, text) in
            [(4.0, "4"), (4.119, "4.12"), (7257.6, "7258"), (0.5, "0.5"), (100.0, "100"), (33.73, "33.7")]
        {
            assert_eq!(figure(value), text);
        }
    }
}
