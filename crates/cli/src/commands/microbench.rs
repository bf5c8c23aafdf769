//! `warpwright microbench`: latencies and rates of the model beside hardware's.

use crate::failure::{Exit, Failure, Outcome};
use crate::options::{Jobs, Results, Settings};
use crate::output;
use crate::render::number;
use crate::render::table::{Align, Table};
use crate::render::wrap::wrapped;
use evidence::microbench::{Quantity, quantities};
use evidence::validate::{self, Summary, ValidationRow, Verdict, summary, summary_text};
use kit::text;
use lab::Setup;
use request::{gpu, values};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use workloads::Form;

/// Measure latencies, rates and bandwidths of a GPU, as PTX and as machine code, beside hardware's
///
/// Each figure comes from a small kernel that is run on the simulated GPU: once as PTX, once as the machine code that CUDA's assembler makes of the same PTX for the GPU's architecture. Where hardware's figure is published, the deviation from the nearest published value is given. `warpwright docs validation` counts the verdicts of the GPUs that come with the program.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright microbench v100
  warpwright microbench my-gpu.toml --code sass --only 'dram*'
  warpwright microbench rtx3070 --only 'fp32*,l1*' --set sm.l1d.latency_cycles=30
  warpwright microbench a100 --json
  warpwright microbench --list")]
pub struct Args {
    /// GPU: a name or the path of a description, or `all` that come with the program
    #[arg(value_name = "GPU", required_unless_present = "list")]
    gpu: Option<PathBuf>,
    #[command(flatten)]
    set: Settings,
    #[command(flatten)]
    choice: Choice,
    /// List the quantities and leave
    #[arg(long)]
    list: bool,
    /// Write the counts and reasons between the marks of this page, as docs/validation.md
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    results: Results,
}

/// Choice of quantities and code.
#[derive(Debug, clap::Args)]
pub struct Choice {
    /// Form of code: ptx, sass, or both
    #[arg(long, alias = "isa", value_enum, default_value_t)]
    code: Codes,
    /// Quantities, as fp32_fma_latency; * matches any text
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Codes {
    Ptx,
    Sass,
    #[default]
    Both,
}

impl Codes {
    const fn forms(self) -> &'static [Form] {
        match self {
            Self::Ptx => &[Form::Ptx],
            Self::Sass => &[Form::Sass],
            Self::Both => &[Form::Ptx, Form::Sass],
        }
    }
}

/// The table of one GPU.
#[derive(Debug, Serialize)]
struct Document {
    gpu: String,
    rows: Vec<ValidationRow>,
    /// Of the rows on PTX and on machine code.
    ptx: Option<Summary>,
    machine_code: Option<Summary>,
}

/// The tables of several GPUs.
#[derive(Debug, Serialize)]
struct Documents<'a> {
    gpus: &'a [Document],
}

impl Choice {
    /// Checks that every pattern means something.
    fn check(&self) -> Result<(), Failure> {
        values::distinct("--only", &self.only)?;
        let names: Vec<&str> = quantities().iter().map(|q| q.name.as_str()).collect();
        match self.only.iter().find(|pattern| !names.iter().any(|name| text::matches(pattern, name))) {
            Some(pattern) => Err(Failure::unknown("quantity", pattern, &names)),
            None => Ok(()),
        }
    }

    fn wants(&self, quantity: &Quantity) -> bool {
        self.only.is_empty() || self.only.iter().any(|pattern| text::matches(pattern, &quantity.name))
    }
}

/// Measures a GPU and prints its figures beside hardware's.
pub fn run(args: &Args) -> Outcome {
    let Some(gpu) = args.gpu.as_deref().filter(|_| !args.list) else {
        return list(&args.results).map(|()| Exit::Success);
    };
    // The page is read, too, but only to be written again.
    output::check(args.results.formats.files()?.into_iter().chain(args.page.as_deref()), &gpu::files(gpu))?;
    let documents = measured(gpu, &args.set, &args.choice, args.jobs, &args.results)?;
    let given = give(&documents, &args.results);
    if let Some(page) = &args.page {
        let old = kit::files::read_text(page)
            .map_err(|e| Failure::bad_input(format!("`{}` cannot be read: {e}", page.display())))?;
        let tables: Vec<_> = documents.into_iter().map(|document| (document.gpu, document.rows)).collect();
        output::save(page, validate::page(&old, &tables).map_err(Failure::bad_input)?.as_bytes())?;
    }
    given.map(|()| Exit::Success)
}

/// Prints the tables of a GPU, or of all.
pub fn tables(gpu: &Path, set: &Settings, choice: &Choice, jobs: Jobs, results: &Results) -> Outcome {
    output::check(results.formats.files()?, &gpu::files(gpu))?;
    give(&measured(gpu, set, choice, jobs, results)?, results).map(|()| Exit::Success)
}

/// Gives the forms asked for: as JSON of one GPU its document, of several all of them.
fn give(documents: &[Document], results: &Results) -> Result<(), Failure> {
    let rows = || documents.iter().flat_map(|document| &document.rows).flat_map(figures);
    match documents {
        [one] => results.formats.give(one, rows),
        gpus => results.formats.give(&Documents { gpus }, rows),
    }
}

/// A figure of the model, as CSV has it.
#[derive(Debug, Serialize)]
struct Figure<'a> {
    gpu: &'a str,
    group: &'static str,
    quantity: &'a str,
    unit: &'a str,
    code: &'static str,
    value: f64,
    /// Least and greatest of the values published of hardware.
    hardware_low: Option<f64>,
    hardware_high: Option<f64>,
    deviation_percent: Option<f64>,
    verdict: Option<&'static str>,
    given: Option<bool>,
    reason: Option<&'a str>,
    hardware_source: Option<&'a str>,
}

/// The figures of a row: one of each form of code.
fn figures(row: &ValidationRow) -> impl Iterator<Item = Figure<'_>> {
    let figure = |code: Form| {
        let found = row.of(code)?;
        let published = row.published.as_ref();
        Some(Figure {
            gpu: &row.gpu,
            group: row.group.title(),
            quantity: &row.quantity,
            unit: row.unit,
            code: code.name(),
            value: found.value,
            hardware_low: published.map(|figure| figure.low),
            hardware_high: published.map(|figure| figure.high),
            deviation_percent: found.deviation_percent,
            verdict: found.verdict.map(Verdict::name),
            given: found.given,
            reason: row.reason,
            hardware_source: published.map(|figure| &*figure.source),
        })
    };
    [Form::Ptx, Form::Sass].into_iter().filter_map(figure)
}

/// Measures a GPU, or all, and prints each as soon as it is complete.
fn measured(
    gpu: &Path,
    set: &Settings,
    choice: &Choice,
    jobs: Jobs,
    results: &Results,
) -> Result<Vec<Document>, Failure> {
    choice.check()?;
    let names: Vec<PathBuf> =
        if gpu == Path::new("all") { config::hardware().map(PathBuf::from).collect() } else { vec![gpu.to_owned()] };
    let is_slow = names.len() > 1 && !results.quiet;
    if is_slow {
        output::remark(&format!("{} GPUs are measured one after the other; for one: name it\n", names.len()));
    }
    let begun = Instant::now();
    let mut documents = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if is_slow {
            // As long for each as for those before it.
            let left = begun.elapsed().as_secs_f64() / at as f64 * (names.len() - at) as f64;
            let left = if at == 0 { String::new() } else { format!(", about {} left", number::seconds(left)) };
            output::remark(&format!("{} of {}: {}{left}\n", at + 1, names.len(), name.display()));
        }
        let document = document(name, set, choice, jobs)?;
        if results.as_text() {
            output::print(&render(&document))?;
        }
        documents.push(document);
    }
    Ok(documents)
}

fn document(name: &Path, set: &Settings, choice: &Choice, jobs: Jobs) -> Result<Document, Failure> {
    let gpu = gpu::load(name, &set.settings)?;
    let mut description = config::Raw::open(name).map_err(|e| Failure::bad_input(e.to_string()))?;
    config::with_overrides(&mut description, &set.settings).map_err(|e| Failure::bad_input(e.to_string()))?;
    let host = jobs.host();
    let setup = Setup { settings: set.settings.clone(), threads: host.clone(), ..Setup::new(gpu) };
    let name = setup.gpu.name.clone();
    let forms = choice.code.forms();
    let rows = validate::table(&setup, &description, forms, |q| choice.wants(q), host.total())
        .map_err(|e| Failure::failed(format!("{name} cannot be measured: {e}")))?;
    let counts = |code| forms.contains(&code).then(|| summary(&rows, code));
    let (ptx, machine_code) = (counts(Form::Ptx), counts(Form::Sass));
    Ok(Document { gpu: name, rows, ptx, machine_code })
}

/// A quantity that can be measured.
#[derive(Debug, Serialize)]
struct Measurable<'a> {
    name: &'a str,
    unit: &'a str,
    description: &'a str,
}

#[derive(Debug, Serialize)]
struct Measurables<'a> {
    quantities: Vec<Measurable<'a>>,
}

fn list(results: &Results) -> Result<(), Failure> {
    output::check(results.formats.files()?, &[])?;
    if results.as_text() {
        let mut table = Table::new([("quantity", Align::Left), ("unit", Align::Left), ("what", Align::Left)]);
        quantities().iter().for_each(|q| table.row(&[q.name.clone(), q.unit.to_owned(), q.text.clone()]));
        output::print(&table.render())?;
    }
    let all = quantities().iter().map(|q| Measurable { name: &q.name, unit: q.unit, description: &q.text });
    let list = Measurables { quantities: all.collect() };
    results.formats.give(&list, || &list.quantities)
}

fn render(document: &Document) -> String {
    use Align::{Left, Right};
    let mut text = format!("{}\n", document.gpu);
    let mut groups: Vec<_> = document.rows.iter().map(|row| row.group).collect();
    groups.dedup();
    for group in groups {
        let columns = [
            ("quantity", Left),
            ("unit", Left),
            ("hardware", Right),
            ("PTX", Right),
            ("", Right),
            ("machine code", Right),
            ("", Right),
            ("verdict", Left),
            ("source", Left),
        ];
        let mut table = Table::new(columns);
        for row in document.rows.iter().filter(|row| row.group == group) {
            let ((ptx, ptx_off), (machine, machine_off)) = (row.found_text(Form::Ptx), row.found_text(Form::Sass));
            table.row(&[
                row.quantity.clone(),
                row.unit.to_owned(),
                row.published_text(),
                ptx,
                ptx_off,
                machine,
                machine_off,
                row.verdict_text(),
                row.given_text(),
            ]);
        }
        text += &format!("\n{}\n{}", group.title(), table.render());
    }
    let reasons: Vec<_> = document.rows.iter().filter_map(|row| Some((row.reason?, &row.quantity))).collect();
    let mut told: Vec<&str> = reasons.iter().map(|(reason, _)| *reason).collect();
    told.dedup();
    if !told.is_empty() {
        text += "\nReasons\n";
    }
    for reason in told {
        let of: Vec<_> = reasons.iter().filter(|(r, _)| *r == reason).map(|(_, q)| q.as_str()).collect();
        text += &wrapped(&format!("{}: {reason}", of.join(", ")), "  ", "    ");
    }
    text += "\nSummary\n";
    for (code, counts) in [("PTX", document.ptx), ("machine code", document.machine_code)] {
        if let Some(counts) = counts {
            text += &wrapped(&format!("{code}: {}", summary_text(counts)), "  ", "    ");
        }
    }
    text += "\nHardware figures\n";
    for source in sources(&document.rows) {
        text += &wrapped(&source, "  ", "    ");
    }
    text
}

/// Who measured what, each source once.
fn sources(rows: &[ValidationRow]) -> Vec<String> {
    let mut sources = Vec::new();
    for figure in rows.iter().filter_map(|row| row.published.as_ref()) {
        let line = format!("{}: {}", figure.gpu, figure.source);
        if !sources.contains(&line) {
            sources.push(line);
        }
    }
    if sources.is_empty() {
        sources.push("none for this GPU".to_owned());
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use evidence::figures::Figure;
    use evidence::microbench::catalogue::Group;
    use evidence::validate::Found;

    #[test]
    fn golden() {
        let figure = |low, high| Figure {
            gpu: "TITAN V".into(),
            of: vec!["titanv".into()],
            quantity: String::new(),
            low,
            high,
            source: "someone's microbenchmarks".into(),
            note: String::new(),
            cited: None,
            from_machine_code: false,
        };
        let found = |value: f64, deviation_percent: Option<f64>| {
            let (verdict, given) = (deviation_percent.map(Verdict::of), deviation_percent.map(|off| off > 100.0));
            Some(Found { value, deviation_percent, verdict, given })
        };
        let row = |quantity: &str, group, published, ptx, machine_code, reason| ValidationRow {
            gpu: "titanv".into(),
            quantity: quantity.into(),
            group,
            unit: "core cycles",
            published,
            ptx,
            machine_code,
            reason,
        };
        let rows = vec![
            row(
                "fp32_fma_latency",
                Group::Floating,
                Some(figure(4.0, 4.26)),
                found(10.0, Some(134.7)),
                found(4.0, Some(0.0)),
                Some("Because."),
            ),
            row("fp32_fma_rate", Group::Floating, Some(figure(63.4, 63.4)), found(64.0, Some(0.9)), None, None),
            row("l1_latency", Group::L1, None, found(23.0, None), found(33.0, None), None),
        ];
        let (ptx, machine_code) = (Some(summary(&rows, Form::Ptx)), Some(summary(&rows, Form::Sass)));
        let document = Document { gpu: "titanv".into(), rows, ptx, machine_code };
        insta::assert_snapshot!(anstream::adapter::strip_str(&render(&document)).to_string());
    }
}
