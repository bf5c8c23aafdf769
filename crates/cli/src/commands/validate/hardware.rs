//! `warpwright validate hardware`: applications on a real GPU beside our runs of the same programs.

use super::agreements::{agreement_table, percent};
use super::measured;
use super::rerun::{Machine, Programs, Ran};
use crate::failure::{Exit, Failure, Outcome};
use crate::options::Formats;
use crate::output;
use crate::render::number::count;
use crate::render::scatter::{self, Group};
use crate::render::table::{Align, Table};
use crate::render::wrap::wrapped;
use crate::version;
use evidence::applications::{
    Agreement, ApplicationRow, Applications, Input, Measured, OUTLIER_PERCENT, Published, Run, agreement, applications,
};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Print cycles of applications on a Quadro GV100, or of a table of your own, beside ours
///
/// The figures of the GV100 and Accel-Sim's come with the program; nothing is simulated without `--rerun`. `warpwright docs applications` says how they were taken, how to repeat them, and what a table of your own has. Microbenchmarks are a group of their own and are in no figure over all applications.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright validate hardware
  warpwright validate hardware --gpu accel-sim/v100
  warpwright validate hardware --svg applications.svg
  warpwright validate hardware --rerun programs --data inputs --only 'bfs*'
  warpwright validate hardware --gpu a100 --measured ncu.csv --rerun programs
  warpwright validate hardware --json")]
pub struct Args {
    /// GPU description: a name, or with --rerun also the path of one [default: gv100]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Write the scatter plot as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Run again each program of the table that is in this folder, and say which figures are older than the model
    #[arg(long, value_name = "FOLDER")]
    rerun: Option<PathBuf>,
    /// Input files of the programs [default: the folder `data` beside the programs]
    #[arg(long, value_name = "FOLDER", requires = "rerun")]
    data: Option<PathBuf>,
    /// Runs to repeat, by name; * matches any text
    #[arg(long, value_name = "PATTERN", value_delimiter = ',', requires = "rerun")]
    only: Vec<String>,
    /// Compare a table of your own: CSV with program, arguments, kernel, cycles and counter
    #[arg(long, value_name = "FILE", requires = "rerun", conflicts_with_all = ["svg", "only"])]
    measured: Option<PathBuf>,
    #[command(flatten)]
    formats: Formats,
}

/// The GPU of the table that comes with the program.
const USUAL: &str = "gv100";

/// Agreement over a suite, or over all applications.
#[derive(Debug, Serialize)]
struct Share {
    suite: String,
    ours: Agreement,
    accelsim: Agreement,
    /// The same without launches.
    ours_of_kernels: Agreement,
    accelsim_of_kernels: Agreement,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    suite: String,
    name: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    hardware: &'a Published,
    gpu: String,
    measured: &'a Measured,
    rows: Vec<ApplicationRow>,
    suites: Vec<Share>,
    applications: Share,
    left_out: Vec<LeftOut>,
    rerun: Option<Rerun>,
}

/// Runs repeated.
#[derive(Debug, Serialize)]
struct Rerun {
    /// With a figure in the table.
    repeated: usize,
    /// Of these, with other cycles than the table has.
    older: Vec<Older>,
}

/// A figure of the table that is older than the model.
#[derive(Debug, Serialize)]
struct Older {
    suite: String,
    name: String,
    /// Cycles of kernels without launches, in the table and of this build.
    recorded: u64,
    now: u64,
}

/// Prints the comparison.
pub fn run(args: &Args) -> Outcome {
    output::check(args.formats.files()?.into_iter().chain(args.svg.as_deref()), &[])?;
    let programs = args.rerun.as_deref().map(|folder| Programs::new(folder, args.data.as_deref())).transpose()?;
    if let Some((table, programs)) = args.measured.as_deref().zip(programs.as_ref()) {
        let document = measured::compare(table, args.gpu.as_deref().unwrap_or(USUAL), programs)?;
        if args.formats.as_text() {
            output::print(&measured::render(&document))?;
        }
        args.formats.give(&document, || &document.rows)?;
        return if document.rows.is_empty() { Err(Failure::failed(measured::NOTHING)) } else { Ok(Exit::Success) };
    }
    let again = programs.map(|programs| repeated(applications(), args, &programs)).transpose()?;
    let (file, rerun) =
        again.map_or((Cow::Borrowed(applications()), None), |(file, rerun)| (Cow::Owned(file), Some(rerun)));
    let document = Document { rerun, ..document(&file, args.gpu.as_deref()).map_err(Failure::bad_input)? };
    if let Some(path) = &args.svg {
        let title = format!("{} on {}, core {}", document.gpu, file.published.gpu, document.measured.core);
        let picture = scatter::svg(&groups(&document), &title, OUTLIER_PERCENT).map_err(Failure::failed)?;
        output::save(path, picture.as_bytes())?;
    }
    if args.formats.as_text() {
        output::print(&render(&document))?;
    }
    args.formats.give(&document, || &document.rows)?;
    Ok(Exit::Success)
}

/// The table with the cycles of this build, of the runs whose programs are at hand.
fn repeated(table: &Applications, args: &Args, programs: &Programs) -> Result<(Applications, Rerun), Failure> {
    let gpu = args.gpu.as_deref().unwrap_or(USUAL);
    request::gpu::load(Path::new(gpu), &[])?;
    let mut file = table.clone();
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|only| kit::text::matches(only, name));
    file.runs.retain(|run| programs.has(&run.program) && wanted(&run.name()));
    // The shortest first.
    file.runs.sort_by_key(|run| run.warp_instructions.unwrap_or(u64::MAX));
    let recorded = file.measured.get(gpu).cloned();
    let machine = Machine {
        gpu,
        core: recorded.as_ref().map(|measured| measured.core.as_str()),
        profiled_as: Some(&table.published.profiler),
        ..Machine::default()
    };
    let mut rerun = Rerun { repeated: 0, older: Vec::new() };
    file.measured.remove(gpu);
    for run in &mut file.runs {
        output::remark(&format!("{}\n", run.name()));
        let before = run.cycles.remove(gpu);
        run.older.remove(gpu);
        match programs.run(&run.program, &run.arguments, machine) {
            Ok(ran) => {
                let now = ran.cycles();
                rerun.repeated += usize::from(before.is_some());
                let (suite, name) = (run.suite.clone(), run.name());
                let moved = before.filter(|&recorded| recorded != now);
                rerun.older.extend(moved.map(|recorded| Older { suite, name, recorded, now }));
                file.measured.entry(gpu.to_owned()).or_insert_with(|| of_this_build(&ran, &table.published.profiler));
                run.launches = ran.launches.len() as u64;
                run.cycles.insert(gpu.to_owned(), now);
            }
            Err(reason) => run.left_out = Some(reason),
        }
    }
    // In the order of the table.
    let place = |run: &Run| {
        table.runs.iter().position(|other| (&other.program, &other.arguments) == (&run.program, &run.arguments))
    };
    file.runs.sort_by_key(place);
    if !file.measured.contains_key(gpu) {
        let reasons: Vec<&str> = file.runs.iter().filter_map(|run| run.left_out.as_deref()).take(1).collect();
        let why = reasons
            .first()
            .map_or_else(|| "no program of the table is there".to_owned(), |why| format!("the first run: {why}"));
        return Err(Failure::bad_input(format!("nothing could be run again: {why}")));
    }
    Ok((file, rerun))
}

/// How the cycles of a run of this build were taken.
fn of_this_build(ran: &Ran, profiled_as: &str) -> Measured {
    Measured {
        core: ran.core.clone(),
        profiled_as: profiled_as.to_owned(),
        launch_cycles: ran.launch_cycles(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: version::COMMIT.unwrap_or("unknown").to_owned(),
        date: "now".to_owned(),
        sample: BTreeMap::new(),
    }
}

fn document<'a>(file: &'a Applications, gpu: Option<&str>) -> Result<Document<'a>, String> {
    let known = || file.measured.keys().map(String::as_str).collect::<Vec<_>>();
    let preferred = || known().into_iter().find(|&name| name == "gv100").or(known().first().copied());
    let gpu = gpu.or_else(preferred).unwrap_or_default().to_owned();
    let measured = file.measured.get(&gpu);
    let measured = measured.ok_or_else(|| format!("there are no runs on `{gpu}`, only on {}", known().join(", ")))?;
    let rows = file.rows(&gpu);
    let share = |suite: &str, of: &dyn Fn(&ApplicationRow) -> bool| {
        let of = |with_launches| agreement(rows.iter().filter(|row| of(row)), with_launches);
        let ((ours, accelsim), (ours_of_kernels, accelsim_of_kernels)) = (of(true), of(false));
        Share { suite: suite.to_owned(), ours, accelsim, ours_of_kernels, accelsim_of_kernels }
    };
    let mut names: Vec<&str> = rows.iter().map(|row| row.suite.as_str()).collect();
    names.dedup();
    let suites = names.iter().map(|&name| share(name, &|row| row.suite == name)).collect();
    let absent = file.runs.iter().filter(|run| !run.cycles.contains_key(&gpu));
    let left_out = absent.map(|run| LeftOut {
        suite: run.suite.clone(),
        name: run.name(),
        reason: run.left_out.clone().unwrap_or_else(|| "not run on this description".to_owned()),
    });
    Ok(Document {
        schema: 1,
        hardware: &file.published,
        measured,
        suites,
        applications: share("all applications", &ApplicationRow::is_application),
        left_out: left_out.collect(),
        rerun: None,
        gpu,
        rows,
    })
}

/// The points of each suite.
fn groups(document: &Document) -> Vec<Group> {
    let points = |suite: &str| {
        let rows = document.rows.iter().filter(|row| row.suite == suite);
        rows.map(|row| (row.hardware as f64, row.ours as f64)).collect()
    };
    document.suites.iter().map(|s| Group { name: s.suite.clone(), points: points(&s.suite) }).collect()
}

fn render(document: &Document) -> String {
    use Align::{Name, Right};
    let (hardware, measured) = (document.hardware, document.measured);
    let heading = format!(
        "Cycles on a {} at {} MHz beside ours with {}, core {} (version {}, commit {}, {}), and Accel-Sim's published ones. {}. Launches are in the counts: {} cycles each in {}'s, {} in ours, which ran with --profiled-as {}.",
        hardware.gpu,
        hardware.clock_mhz,
        document.gpu,
        measured.core,
        measured.version,
        measured.commit,
        measured.date,
        hardware.source,
        hardware.launch_cycles,
        hardware.profiler,
        measured.launch_cycles,
        measured.profiled_as
    );
    let mut text = wrapped(&heading, "", "") + &document.rerun.as_ref().map(older).unwrap_or_default();
    let (mut rough, mut old) = (false, false);
    for share in &document.suites {
        let mut table = Table::new([
            (share.suite.as_str(), Name),
            ("hardware", Right),
            ("ours", Right),
            ("error", Right),
            ("of kernels", Right),
            ("Accel-Sim", Right),
            ("error", Right),
        ]);
        for row in document.rows.iter().filter(|row| row.suite == share.suite) {
            let (is_rough, is_old) = (row.input == Input::Shape, row.older.is_some());
            (rough, old) = (rough || is_rough, old || is_old);
            let marks = [(is_rough, " ~"), (is_old, " *")].map(|(is, mark)| if is { mark } else { "" }).concat();
            table.row(&[
                format!("{}{marks}", row.name),
                count(row.hardware),
                count(row.ours),
                percent(row.error_percent),
                row.kernels_error_percent.map_or_else(|| "-".into(), percent),
                count(row.accelsim),
                percent(row.accelsim_error_percent),
            ]);
        }
        text += &format!("\n{}", table.render());
    }
    let legends = [
        (rough, "~ input of the same format and size with random values"),
        (old, "* simulated before the model changed: `warpwright validate hardware --rerun` repeats it"),
    ];
    let legends: String = legends.iter().filter(|(is, _)| *is).map(|(_, text)| format!("  {text}\n")).collect();
    if !legends.is_empty() {
        text += &format!("\n{legends}");
    }
    text += &format!("\n{}\n{}", agreements(document), scatter::text(&groups(document)));
    text + &outliers(document) + &left_out(document)
}

/// The figures of the table that are older than the model.
fn older(rerun: &Rerun) -> String {
    use Align::{Name, Right};
    let Rerun { repeated, older } = rerun;
    if older.is_empty() {
        return format!("\nAll {repeated} figures of the table that were repeated are of this model.\n");
    }
    let mut table = Table::new([("run", Name), ("in the table", Right), ("now", Right), ("change", Right)]);
    for Older { name, recorded, now, .. } in older {
        let change = percent((*now as f64 / (*recorded).max(1) as f64 - 1.0) * 100.0);
        table.row(&[name.clone(), count(*recorded), count(*now), change]);
    }
    let heading = format!(
        "{} of {repeated} figures of the table are older than the model; cycles without launches:",
        older.len()
    );
    format!("\n{}{}", wrapped(&heading, "", ""), table.render())
}

/// The agreements of suites, as the profiler counts and of kernels without launches.
fn agreements(document: &Document) -> String {
    let shares = || document.suites.iter().chain([&document.applications]);
    let rows = |of: fn(&Share) -> Vec<&Agreement>| shares().map(move |share| (share.suite.as_str(), of(share)));
    let counted = format!("as {} counts", document.hardware.profiler);
    let counted = agreement_table(&counted, &["Accel-Sim"], rows(|share| vec![&share.ours, &share.accelsim]));
    let of_kernels = rows(|share| vec![&share.ours_of_kernels, &share.accelsim_of_kernels]);
    let kernels = agreement_table("without launches", &["Accel-Sim"], of_kernels);
    let legend = "mean, median, 90 %: of absolute errors. signed: mean with signs, negative where a simulator is too fast. of logs: correlation of logarithms. of kernels, without launches: on all sides.";
    format!("{counted}\n{kernels}{}", wrapped(legend, "  ", "  "))
}

fn outliers(document: &Document) -> String {
    let found: Vec<&ApplicationRow> = document.rows.iter().filter(|row| row.is_outlier()).collect();
    let mut text = format!("\n{} beyond {OUTLIER_PERCENT} %\n", kit::text::counted(found.len() as u64, "run"));
    for row in found {
        let cause = row.cause.as_deref().unwrap_or("no cause found yet");
        text += &wrapped(&format!("{}, {}: {cause}", row.name, percent(row.error_percent)), "  ", "    ");
    }
    text
}

fn left_out(document: &Document) -> String {
    let mut text = String::new();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in &document.left_out {
        match reasons.iter_mut().find(|(reason, _)| *reason == run.reason) {
            Some((_, names)) => names.push(&run.name),
            None => reasons.push((&run.reason, vec![&run.name])),
        }
    }
    for (reason, names) in reasons {
        text += &wrapped(&format!("Without a figure of ours ({reason}): {}", names.join(", ")), "\n", "  ");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [published]
        gpu = "Quadro GV100"
        clock_mhz = 1132
        profiler = "nvprof"
        launch_cycles = 5000
        launch_source = "someone's microbenchmark"
        source = "someone's figures"

        [measured.gv100]
        core = "inorder"
        profiled_as = "nvprof"
        launch_cycles = 4000
        version = "0.1.0"
        commit = "0123456"
        date = "2026-01-02"

        [[run]]
        suite = "Rodinia 3.1"
        program = "bfs-rodinia-3.1"
        arguments = "./data/graph4096.txt"
        input = "original"
        hardware = 100_000
        accelsim = 90_000
        gpgpusim = 50_000
        launches = 2
        cycles = { gv100 = 100_000 }

        [[run]]
        suite = "Rodinia 3.1"
        program = "nw-rodinia-3.1"
        arguments = "2048 10"
        input = "none"
        hardware = 3_000_000
        accelsim = 2_500_000
        gpgpusim = 7_000_000
        left_out = "takes too long"

        [[run]]
        suite = "Parboil"
        program = "parboil-histo"
        arguments = "-i ./data/img.bin -- 20 4"
        input = "shape"
        hardware = 5_000_000
        accelsim = 3_000_000
        gpgpusim = 2_000_000
        launches = 100
        cycles = { gv100 = 2_000_000 }
        older = { gv100 = "0000000" }
        cause = { gv100 = "the real image has more values in one bin" }

        [[run]]
        suite = "microbenchmarks"
        program = "l2_lat"
        arguments = ""
        input = "none"
        hardware = 7_000_000
        accelsim = 6_000_000
        gpgpusim = 5_000_000
        launches = 1
        cycles = { gv100 = 6_995_000 }
    "#;

    #[test]
    fn golden() {
        let file = Applications::parse(FILE).unwrap();
        let document = document(&file, None).unwrap();
        // 10 and 50 %: microbenchmarks do not count.
        assert!((document.applications.ours.mean_error_percent - 30.0).abs() < 1e-9);
        insta::assert_snapshot!(anstream::adapter::strip_str(&render(&document)).to_string());
    }

    #[test]
    fn other_descriptions_are_refused_by_name() {
        let file = Applications::parse(FILE).unwrap();
        let message = document(&file, Some("v100")).unwrap_err();
        assert_eq!(message, "there are no runs on `v100`, only on gv100");
    }
}
