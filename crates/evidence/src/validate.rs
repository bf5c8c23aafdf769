//! The model's figures beside hardware's, each gap with its verdict.
//!
//! Ours come from [`crate::microbench`], the others from [`crate::figures`]. `docs/validation.md` counts the verdicts
//! of the GPUs that come with the program.

use crate::figures::{self, Figure};
use crate::microbench::catalogue::Group;
use crate::microbench::{Quantity, has, measure, quantities, set_by};
use config::Raw;
use kit::text::with_section;
use lab::Setup;
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
    /// Verdict on the deviation.
    pub verdict: Option<Verdict>,
    /// Whether a number that sets it has the published value's own source, so that it is not a prediction. None where
    /// nothing is published.
    pub given: Option<bool>,
}

impl Found {
    fn new(value: f64, published: Option<(&Figure, bool)>) -> Self {
        let deviation_percent = published.map(|(figure, _)| deviation(value, figure.low, figure.high));
        let given = published.map(|(_, given)| given);
        Self { value, deviation_percent, verdict: deviation_percent.map(Verdict::of), given }
    }
}

/// Whether the description has a number that sets the figure's quantity from the figure's own source.
fn is_given(figure: &Figure, code: Form, description: &Raw) -> bool {
    let cites = |key| figure.cited.as_deref().is_some_and(|cited| description.cites(key, cited));
    code == Form::Sass && figure.from_machine_code || set_by::keys(&figure.quantity).any(cites)
}

/// One quantity of one GPU.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ValidationRow {
    /// Name of the GPU description.
    pub gpu: String,
    /// Name of the quantity.
    pub quantity: String,
    /// Its group.
    pub group: Group,
    /// Unit of all figures.
    pub unit: &'static str,
    /// Hardware's figures, if published.
    pub published: Option<Figure>,
    /// The model's figure on PTX.
    pub ptx: Option<Found>,
    /// The model's figure on machine code.
    pub machine_code: Option<Found>,
    /// Why it deviates, where that is known and counts.
    pub reason: Option<&'static str>,
}

impl ValidationRow {
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
    /// Rows whose value is a prediction: no number that sets it has the published value's source.
    pub predicted_rows: usize,
    /// Of these within 10 %.
    pub predicted_within_10_percent: usize,
    /// Of these within 30 %.
    pub predicted_within_30_percent: usize,
}

/// Counts the verdicts of a form of code.
pub fn summary(rows: &[ValidationRow], code: Form) -> Summary {
    let mut counts = Summary::default();
    for row in rows {
        let Some((found, verdict)) = row.of(code).and_then(|found| Some((found, found.verdict?))) else { continue };
        let (near, fair) = (usize::from(verdict == Verdict::Within10), usize::from(verdict != Verdict::Beyond));
        counts.rows += 1;
        counts.within_10_percent += near;
        counts.within_30_percent += fair;
        if found.given == Some(false) {
            counts.predicted_rows += 1;
            counts.predicted_within_10_percent += near;
            counts.predicted_within_30_percent += fair;
        }
        counts.beyond_with_reason += usize::from(verdict == Verdict::Beyond && row.reason.is_some());
    }
    counts
}

/// By how much `ours` is outside of `low..=high`, in percent of the nearer end.
fn deviation(ours: f64, low: f64, high: f64) -> f64 {
    let nearest = ours.clamp(low, high);
    (ours - nearest) / nearest * 100.0
}

/// The rows of one GPU: of the quantities that `wanted` says, in the forms of code `codes`, measured
/// on up to `jobs` threads. `description` is the GPU's, with its sources.
///
/// # Errors
/// Errors of the simulated device; a model that cannot run a microbenchmark is at fault.
pub fn table(
    setup: &Setup,
    description: &Raw,
    codes: &[Form],
    wanted: impl Fn(&Quantity) -> bool,
    jobs: usize,
) -> Result<Vec<ValidationRow>, DeviceError> {
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
            Some(Found::new(one.value, published.map(|figure| (figure, is_given(figure, code, description)))))
        };
        let (ptx, machine_code) = (found(Form::Ptx), found(Form::Sass));
        let beyond = [ptx, machine_code].into_iter().flatten().any(|f| f.verdict == Some(Verdict::Beyond));
        let reason = figures::reason_of(&setup.gpu.name, &quantity.name).filter(|_| beyond);
        ValidationRow {
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

impl ValidationRow {
    /// Hardware's figure as text: one value or two.
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
        self.in_turn(|found| found.verdict.map(Verdict::name))
    }

    /// Whether each form's figure was given to the model, in turn, or both.
    pub fn given_text(&self) -> String {
        self.in_turn(|found| found.given.map(|given| if given { "given" } else { "predicted" }))
    }

    fn in_turn(&self, of: impl Fn(Found) -> Option<&'static str>) -> String {
        match [Form::Ptx, Form::Sass].map(|code| self.of(code).and_then(&of)) {
            [None, None] => "-".to_owned(),
            [Some(one), None] | [None, Some(one)] => one.to_owned(),
            [Some(one), Some(other)] if one == other => one.to_owned(),
            [Some(one), Some(other)] => format!("{one}; {other}"),
        }
    }
}

/// A sentence for a summary.
pub fn summary_text(counts: Summary) -> String {
    let Summary { rows, within_10_percent, within_30_percent, beyond_with_reason, .. } = counts;
    let percent = |n: usize| if rows == 0 { 0.0 } else { n as f64 / rows as f64 * 100.0 };
    format!(
        "{within_10_percent} of {rows} rows within 10 % ({:.0} %), {within_30_percent} within 30 % ({:.0} %); {} beyond, {beyond_with_reason} of them with a reason. Predicted, not given by the same source: {} of {} within 10 %, {} within 30 %",
        percent(within_10_percent),
        percent(within_30_percent),
        rows - within_30_percent,
        counts.predicted_within_10_percent,
        counts.predicted_rows,
        counts.predicted_within_30_percent
    )
}

/// The table of a page: for each GPU, and in all, how many of its quantities have a published figure, and how many of
/// these are within 10 and within 30 % of hardware's, in each form of code, given ones and predicted ones.
pub fn summaries<'a>(tables: impl IntoIterator<Item = (&'a str, &'a [ValidationRow])>) -> String {
    let mut text = String::from(
        "| GPU | published | PTX: given | predicted | machine code: given | predicted |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    let mut all: Vec<ValidationRow> = Vec::new();
    for (gpu, rows) in tables {
        text += &summary_line(gpu, rows);
        all.extend_from_slice(rows);
    }
    text + &summary_line("all", &all)
}

/// A row of that table.
fn summary_line(name: &str, rows: &[ValidationRow]) -> String {
    let cells = |code| {
        if rows.iter().all(|row| row.of(code).is_none()) {
            return "- | -".to_owned();
        }
        let all = summary(rows, code);
        let unexplained = match all.rows - all.within_30_percent - all.beyond_with_reason {
            0 => String::new(),
            n => format!(", {n} beyond without a reason"),
        };
        let [near, fair, rows] = [all.predicted_within_10_percent, all.predicted_within_30_percent, all.predicted_rows];
        let given = (all.within_10_percent - near, all.within_30_percent - fair, all.rows - rows);
        format!("{}, {} of {} | {near}, {fair} of {rows}{unexplained}", given.0, given.1, given.2)
    };
    let has_figure = |row: &&ValidationRow| row.ptx.or(row.machine_code).is_some_and(|found| found.verdict.is_some());
    let published = rows.iter().filter(has_figure).count();
    let percent = 100 * published / rows.len().max(1);
    format!("| {name} | {published} of {} ({percent} %) | {} | {} |\n", rows.len(), cells(Form::Ptx), cells(Form::Sass))
}

/// The reasons of the deviations in `tables` as a list, each with its quantities and GPUs.
fn reasons(tables: &[(String, Vec<ValidationRow>)]) -> String {
    let explained: Vec<_> =
        tables.iter().flat_map(|(_, rows)| rows).filter_map(|row| Some((row.reason?, row))).collect();
    let mut texts: Vec<&str> = Vec::new();
    for (reason, _) in &explained {
        if !texts.contains(reason) {
            texts.push(reason);
        }
    }
    let line = |reason: &&str| {
        let mut quantities: Vec<String> = Vec::new();
        let mut gpus: Vec<&str> = Vec::new();
        for (_, row) in explained.iter().filter(|(of, _)| of == reason) {
            let quantity = format!("`{}`", row.quantity);
            if !quantities.contains(&quantity) {
                quantities.push(quantity);
            }
            if !gpus.contains(&row.gpu.as_str()) {
                gpus.push(&row.gpu);
            }
        }
        format!("- {} ({}): {reason}\n", quantities.join(", "), gpus.join(", "))
    };
    texts.iter().map(line).collect()
}

/// A page with the summaries of GPUs, each by its name, and the reasons of deviations between its marks.
///
/// # Errors
/// The marks that the page lacks.
pub fn page(old: &str, tables: &[(String, Vec<ValidationRow>)]) -> Result<String, String> {
    let summaries = summaries(tables.iter().map(|(name, rows)| (name.as_str(), rows.as_slice())));
    let page = with_section(old, "summaries", &format!("\n{summaries}\n"))?;
    with_section(&page, "reasons", &format!("\n{}\n", reasons(tables)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_take_summaries_and_reasons_between_their_marks() {
        let found = |deviation| Found {
            value: 33.0,
            deviation_percent: Some(deviation),
            verdict: Some(Verdict::of(deviation)),
            given: Some(deviation > 30.0),
        };
        let row = |gpu: &str, deviation, reason| ValidationRow {
            gpu: gpu.into(),
            quantity: "l1_latency".into(),
            group: Group::L1,
            unit: "core cycles",
            published: None,
            ptx: Some(found(deviation)),
            machine_code: None,
            reason,
        };
        let old =
            "a\n<!-- summaries -->\nold\n<!-- end of summaries -->\nb\n<!-- reasons -->\n<!-- end of reasons -->\nc\n";
        let tables = [
            ("g".to_owned(), vec![row("g", 40.0, Some("because")), row("g", 20.0, None), row("g", 50.0, None)]),
            ("h".to_owned(), vec![row("h", -40.0, Some("because"))]),
        ];
        let new = page(old, &tables).unwrap();
        let lines = "| g | 3 of 3 (100 %) | 0, 0 of 2 | 0, 1 of 1, 1 beyond without a reason | - | - |\n\
             | h | 1 of 1 (100 %) | 0, 0 of 0 | 0, 0 of 1 | - | - |\n\
             | all | 4 of 4 (100 %) | 0, 0 of 2 | 0, 1 of 2, 1 beyond without a reason | - | - |\n";
        assert!(new.contains(lines), "{new}");
        assert!(new.contains("\n- `l1_latency` (g, h): because\n"), "{new}");
        assert!(!new.contains("old") && new.ends_with("<!-- end of reasons -->\nc\n"), "{new}");
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
