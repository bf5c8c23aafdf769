//! `warpwright validate accelsim`: Accel-Sim's cycles, run time and memory for traces beside ours.

use crate::failure::{Exit, Failure, Outcome};
use crate::options::Formats;
use crate::progress::Board;
use crate::render::table::{Align, Table};
use crate::render::wrap::wrapped;
use crate::{interrupt, output, preparation};
use evidence::accelsim::{AccelSimRow, Compared, Ours, Reference, Summary, Traces, deviation_percent};
use kit::text::with_section;
use request::Way;
use request::options::words;
use serde::Serialize;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Run traces on Accel-Sim's own GPU configurations and print its cycles, run time and memory beside ours
///
/// Each row is a run of `warpwright run` in a process of its own, one after the other, on one thread. Our time is that process's wall time from start to end; our memory is the most that it held (VmHWM). Accel-Sim's figures are from the reference file. `warpwright docs accelsim` shows the table.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright validate accelsim reference traces
  warpwright validate accelsim reference traces bfs SM7 --kernels
  warpwright validate accelsim reference traces --repeat 3 --page docs/accelsim.md
  warpwright validate accelsim reference traces --json")]
pub struct Args {
    /// Folder with accelsim_cycles.csv and accelsim_configs
    #[arg(value_name = "REFERENCE")]
    reference: PathBuf,
    /// Folder with the traces, unpacked or as archives (.tar.xz, .tar.gz, .tar.zst)
    #[arg(value_name = "TRACES")]
    traces: PathBuf,
    /// Only rows whose trace or configuration has each of these in its name
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Show each kernel's cycles too
    #[arg(long)]
    kernels: bool,
    /// Run each row this number of times and take the least time
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    repeat: NonZeroU32,
    /// Write the table into this Markdown file, between `<!-- table -->` and `<!-- end of table -->`
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    #[command(flatten)]
    formats: Formats,
}

impl Args {
    /// The files of `files` that exist in the folders that are read.
    fn read_of(&self, files: &[&Path]) -> Vec<PathBuf> {
        let folders: Vec<PathBuf> =
            [&self.reference, &self.traces].into_iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        let is_read = |file: &&&Path| {
            let found = file.canonicalize().unwrap_or_default();
            folders.iter().any(|folder| found.starts_with(folder))
        };
        files.iter().filter(is_read).map(|file| file.to_path_buf()).collect()
    }
}

#[derive(Debug, Serialize)]
struct Document {
    schema: u32,
    rows: Vec<Compared>,
    failed: Vec<FailedRow>,
    summary: Option<Summary>,
}

/// A row without figures of ours.
#[derive(Debug, Serialize)]
struct FailedRow {
    accelsim: AccelSimRow,
    reason: String,
}

/// Runs the traces and prints the figures beside Accel-Sim's.
pub fn run(args: &Args) -> Outcome {
    output::check_names(args.filters.iter().map(String::as_str))?;
    let reference = Reference::open(&args.reference).map_err(Failure::bad_input)?;
    let wanted = |row: &&AccelSimRow| args.filters.iter().all(|f| row.trace.contains(f) || row.config.contains(f));
    let rows: Vec<&AccelSimRow> = reference.rows.iter().filter(wanted).collect();
    if rows.is_empty() {
        return Err(Failure::bad_input("no row has all of these in its names; without a filter, all rows are run"));
    }
    // The page is read, too, but only to be written again.
    let outputs: Vec<&Path> = args.formats.files()?.into_iter().collect();
    output::check(outputs.iter().copied().chain(args.page.as_deref()), &args.read_of(&outputs))?;
    interrupt::install()?;
    // Each run is a process of its own, with a bound of its own on the time before its first cycle.
    preparation::end();
    let document = compare(args, &reference, &rows)?;
    if let Some(page) = &args.page {
        let old = kit::files::read_text(page)
            .map_err(|e| Failure::bad_input(format!("`{}` cannot be read: {e}", page.display())))?;
        output::save(page, with_table(&old, &markdown(&document)).map_err(Failure::bad_input)?.as_bytes())?;
    }
    if args.formats.as_text() {
        output::print(&render(&document, args.kernels))?;
    }
    args.formats.give(&document, || document.rows.iter().map(figures))?;
    Ok(match () {
        () if interrupt::requested() => Exit::Interrupted,
        () if !document.failed.is_empty() || document.rows.iter().any(|r| !r.same_instructions) => Exit::Failed,
        () => Exit::Success,
    })
}

/// The figures of a row, as CSV has them.
#[derive(Debug, Serialize)]
struct Figures<'a> {
    trace: &'a str,
    configuration: &'a str,
    accelsim_cycles: u64,
    cycles: u64,
    deviation_percent: f64,
    accelsim_warp_instructions: u64,
    warp_instructions: u64,
    accelsim_thread_instructions: u64,
    thread_instructions: u64,
    accelsim_seconds: f64,
    seconds: f64,
    speed_ratio: f64,
    accelsim_memory_mib: f64,
    memory_mib: Option<f64>,
}

fn figures(row: &Compared) -> Figures<'_> {
    let (theirs, ours) = (&row.accelsim, &row.ours);
    Figures {
        trace: &theirs.trace,
        configuration: &theirs.config,
        accelsim_cycles: theirs.cycles,
        cycles: ours.cycles,
        deviation_percent: row.deviation_percent,
        accelsim_warp_instructions: theirs.warp_instructions,
        warp_instructions: ours.warp_instructions,
        accelsim_thread_instructions: theirs.thread_instructions,
        thread_instructions: ours.thread_instructions,
        accelsim_seconds: theirs.seconds,
        seconds: ours.seconds,
        speed_ratio: row.speed_ratio,
        accelsim_memory_mib: theirs.memory_mib,
        memory_mib: ours.memory_mib,
    }
}

fn compare(args: &Args, reference: &Reference, rows: &[&AccelSimRow]) -> Result<Document, Failure> {
    let mut traces = Traces::new(&args.traces);
    let mut document = Document { schema: 1, rows: Vec::new(), failed: Vec::new(), summary: None };
    let board = Board::new(!args.formats.as_text(), rows.len());
    for &row in rows {
        let _row_of_board = board.watch();
        if interrupt::requested() {
            break;
        }
        let list = traces.list(&row.trace).map_err(Failure::bad_input)?;
        let gpu = reference.gpu(&row.config).map_err(Failure::bad_input)?.to_toml();
        match measure(&list, &gpu, args.repeat.get()) {
            Ok(ours) => document.rows.push(Compared::new(row.clone(), ours)),
            Err(_) if interrupt::requested() => break,
            Err(reason) => document.failed.push(FailedRow { accelsim: row.clone(), reason }),
        }
    }
    document.summary = Summary::of(&document.rows);
    Ok(document)
}

/// The figures of the quickest of `repeat` runs.
fn measure(list: &Path, gpu: &str, repeat: u32) -> Result<Ours, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let description = folder.path().join("gpu.toml");
    kit::output::write(&description, gpu.as_bytes())
        .map_err(|e| format!("`{}` cannot be written: {e}", description.display()))?;
    let mut best = run_apart(list, &description)?;
    for _ in 1..repeat {
        let again = run_apart(list, &description)?;
        if again.seconds < best.seconds {
            best = again;
        }
    }
    Ok(best)
}

/// Runs one trace in a process of its own.
fn run_apart(list: &Path, gpu: &Path) -> Result<Ours, String> {
    let program = std::env::current_exe().map_err(|e| format!("this program cannot be found: {e}"))?;
    let mut command = Command::new(program);
    let given = [
        ("gpu", gpu.into()),
        ("any_architecture", "1".into()),
        ("threads", "1".into()),
        ("quiet", "1".into()),
        ("json", "-".into()),
    ];
    command.arg("run").arg(list).args(words(Way::Run, given));
    let started = Instant::now();
    let ran = command.stdin(Stdio::null()).output().map_err(|e| format!("this program cannot be run again: {e}"))?;
    let seconds = started.elapsed().as_secs_f64();
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).trim().trim_start_matches("error: ").to_owned());
    }
    let report = serde_json::from_slice(&ran.stdout).map_err(|e| format!("the report cannot be read: {e}"))?;
    Ours::of_report(&report, seconds)
}

const COLUMNS: [(&str, Align); 11] = [
    ("trace", Align::Name),
    ("configuration", Align::Left),
    ("Accel-Sim", Align::Right),
    ("ours", Align::Right),
    ("deviation", Align::Right),
    ("instructions", Align::Left),
    ("their s", Align::Right),
    ("our s", Align::Right),
    ("speed", Align::Right),
    ("their MiB", Align::Right),
    ("our MiB", Align::Right),
];

/// The columns of results; those after them are what the host took.
const RESULTS: [usize; 6] = [0, 1, 2, 3, 4, 5];

fn cells(row: &Compared) -> [String; 11] {
    let (theirs, ours) = (&row.accelsim, &row.ours);
    [
        theirs.trace.clone(),
        theirs.config.clone(),
        theirs.cycles.to_string(),
        ours.cycles.to_string(),
        format!("{:+.1} %", row.deviation_percent),
        if row.same_instructions { "equal" } else { "DIFFER" }.to_owned(),
        format!("{:.1}", theirs.seconds),
        format!("{:.3}", ours.seconds),
        format!("{:.0}x", row.speed_ratio),
        format!("{:.0}", theirs.memory_mib),
        ours.memory_mib.map_or_else(|| "?".to_owned(), |mib| format!("{mib:.0}")),
    ]
}

fn render(document: &Document, kernels: bool) -> String {
    // Results, then what the host took: together they are wider than a terminal.
    let part = |columns: &[usize]| {
        let mut table = Table::new(columns.iter().map(|&c| COLUMNS[c]));
        for row in &document.rows {
            let cells = cells(row);
            table.row(&columns.iter().map(|&c| cells[c].clone()).collect::<Vec<_>>());
        }
        table.render()
    };
    let mut text = format!("{}\n{}", part(&RESULTS), part(&[0, 1, 6, 7, 8, 9, 10]));
    if kernels {
        text += &render_kernels(&document.rows);
    }
    for row in &document.failed {
        text += &format!("{} on {} FAILED: {}\n", row.accelsim.trace, row.accelsim.config, row.reason);
    }
    text + &document.summary.map_or(String::new(), |s| format!("\n{}", wrapped(&sentence(&s), "", "  ")))
}

fn render_kernels(rows: &[Compared]) -> String {
    use Align::{Left, Right};
    let columns = [
        ("configuration", Left),
        ("#", Right),
        ("kernel", Left),
        ("Accel-Sim", Right),
        ("ours", Right),
        ("deviation", Right),
    ];
    let mut table = Table::new(columns);
    for row in rows {
        for (number, (name, theirs, ours)) in row.kernels().enumerate() {
            table.row(&[
                row.accelsim.config.clone(),
                number.to_string(),
                name.to_owned(),
                theirs.to_string(),
                ours.to_string(),
                format!("{:+.1} %", deviation_percent(ours, theirs)),
            ]);
        }
    }
    format!("\n{}", table.render())
}

/// How far cycles are from Accel-Sim's.
fn deviations(summary: &Summary) -> String {
    format!(
        "{}: deviation {:.1} % on average, {:.1} % at most",
        kit::text::counted(summary.rows as u64, "row"),
        summary.mean_deviation_percent,
        summary.greatest_deviation_percent
    )
}

fn sentence(summary: &Summary) -> String {
    let memory = match summary.less_memory {
        Some(true) => "; less memory than Accel-Sim in each",
        Some(false) => "; NOT less memory than Accel-Sim in each",
        None => "",
    };
    format!(
        "{}; {:.0} times Accel-Sim's speed (geometric mean), {:.0} at least{memory}",
        deviations(summary),
        summary.mean_speed_ratio,
        summary.least_speed_ratio
    )
}

/// The table of a page: cycles only, because Accel-Sim's times are of another machine.
fn markdown(document: &Document) -> String {
    let columns = &COLUMNS[..RESULTS.len()];
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(columns.iter().map(|(heading, _)| (*heading).to_owned()).collect());
    let rule = |align: &Align| if *align == Align::Right { "---:" } else { "---" }.to_owned();
    text += &line(columns.iter().map(|(_, align)| rule(align)).collect());
    text += &document.rows.iter().map(|row| line(cells(row)[..columns.len()].to_vec())).collect::<String>();
    text + &document.summary.map_or(String::new(), |s| format!("\n{}.\n", deviations(&s)))
}

/// `page` with `table` between its marks.
fn with_table(page: &str, table: &str) -> Result<String, String> {
    with_section(page, "table", &format!("\n{table}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let row = AccelSimRow {
            trace: "vecadd".into(),
            config: "SM7_QV100".into(),
            cycles: 1000,
            warp_instructions: 64,
            thread_instructions: 2048,
            seconds: 1.5,
            memory_mib: 300.0,
            kernel_cycles: vec![600, 400],
        };
        let ours = Ours {
            cycles: 1010,
            warp_instructions: 64,
            thread_instructions: 2048,
            seconds: 0.015,
            memory_mib: Some(21.4),
            kernels: vec![("first".into(), 600), ("second".into(), 410)],
        };
        let failed = vec![FailedRow { accelsim: row.clone(), reason: "deadlock".into() }];
        let mut other = Compared::new(row.clone(), Ours { warp_instructions: 65, memory_mib: None, ..ours.clone() });
        other.accelsim.config = "SM86_RTX3070".into();
        let rows = vec![Compared::new(row, ours), other];
        Document { schema: 1, summary: Summary::of(&rows), rows, failed }
    }

    #[test]
    fn golden() {
        insta::assert_snapshot!(anstream::adapter::strip_str(&render(&document(), true)).to_string());
    }

    #[test]
    fn pages_take_the_table_between_their_marks() {
        let page = "before\n<!-- table -->\nold\n<!-- end of table -->\nafter\n";
        let new = with_table(page, &markdown(&document())).unwrap();
        assert!(
            new.starts_with("before\n<!-- table -->\n\n| trace |") && new.ends_with("<!-- end of table -->\nafter\n")
        );
        assert!(!new.contains("old") && new.contains("| vecadd | SM7_QV100 | 1000 | 1010 | +1.0 % | equal |"), "{new}");
        assert_eq!(with_table(&new, &markdown(&document())).unwrap(), new, "again, the same");
        assert!(with_table("nothing", "t").is_err());
    }
}
