//! A table of the user's own of cycles measured on any GPU, beside ours of the same programs.

use super::agreements::{agreement_table, percent};
use super::rerun::{Machine, Programs, Ran};
use crate::failure::Failure;
use crate::output;
use crate::render::number::count;
use crate::render::table::{Align, Table};
use crate::render::wrap::wrapped;
use evidence::applications::Agreement;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A line of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    suite: String,
    program: String,
    #[serde(default)]
    arguments: String,
    #[serde(default)]
    kernel: String,
    cycles: f64,
    counter: String,
}

/// Cycles of a kernel of a run: of all its launches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    suite: String,
    program: String,
    arguments: String,
    /// Empty for all kernels of the run.
    kernel: String,
    counter: String,
    profiled_as: &'static str,
    hardware: f64,
    /// Lines that were added up.
    lines: usize,
}

/// A row beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredRow {
    suite: String,
    program: String,
    arguments: String,
    kernel: String,
    counter: String,
    profiled_as: &'static str,
    hardware: f64,
    launches: u64,
    /// As the profiler counts: with launches.
    ours: u64,
    /// Ours without launches.
    kernels: u64,
    error_percent: f64,
    /// Without launches on both sides, of as many cycles as ours are.
    kernels_error_percent: Option<f64>,
}

#[derive(Debug, Serialize)]
struct MeasuredShare {
    suite: String,
    ours: Agreement,
    ours_of_kernels: Agreement,
}

#[derive(Debug, Serialize)]
struct NotCompared {
    program: String,
    arguments: String,
    kernel: String,
    reason: String,
}

/// The table beside ours.
#[derive(Debug, Serialize)]
pub struct MeasuredDocument {
    schema: u32,
    gpu: String,
    core: String,
    pub rows: Vec<MeasuredRow>,
    suites: Vec<MeasuredShare>,
    all: MeasuredShare,
    not_compared: Vec<NotCompared>,
}

/// The profiler of a counter: by the tool's name, or by the counter's.
fn profiler(counter: &str) -> Option<&'static str> {
    match counter {
        "nvprof" | "elapsed_cycles_sm" => Some("nvprof"),
        "ncu" => Some("ncu"),
        name if name.contains("__cycles_elapsed") => Some("ncu"),
        _ => None,
    }
}

/// Reads the table. Lines of the same kernel of the same run are its launches.
fn read(text: &str) -> Result<Vec<Measured>, String> {
    let mut found: Vec<Measured> = Vec::new();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| e.to_string())?.clone();
    for record in reader.records() {
        let record = record.map_err(|e| e.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        let wrong = |why: String| format!("line {line}: {why}");
        let row: Line = record.deserialize(Some(&headers)).map_err(|e| wrong(e.to_string()))?;
        let Some(profiled_as) = profiler(&row.counter) else {
            let counter = kit::text::excerpt(&row.counter);
            return Err(wrong(format!(
                "the counter `{counter}` is not known; expected ncu, nvprof, elapsed_cycles_sm or a name with __cycles_elapsed"
            )));
        };
        if row.program.is_empty() || !(row.cycles > 0.0 && row.cycles.is_finite()) {
            return Err(wrong("a program and cycles above 0 are needed".to_owned()));
        }
        let Line { suite, program, arguments, kernel, cycles, counter } = row;
        let suite = if suite.is_empty() { "programs".to_owned() } else { suite };
        let one = Measured { suite, program, arguments, kernel, counter, profiled_as, hardware: 0.0, lines: 0 };
        let same = |other: &Measured| Measured { hardware: 0.0, lines: 0, ..other.clone() } == one;
        let at = found.iter().position(same).unwrap_or_else(|| {
            found.push(one.clone());
            found.len() - 1
        });
        found[at].hardware += cycles;
        found[at].lines += 1;
    }
    if found.is_empty() { Err("it has no rows".to_owned()) } else { Ok(found) }
}

/// A kernel's name without its type, namespaces and parameters.
fn base(name: &str) -> &str {
    let end = name.find(['(', '<']).unwrap_or(name.len());
    let start = name[..end].rfind([' ', ':']).map_or(0, |at| at + 1);
    &name[start..end]
}

/// A row beside a run of its program.
fn compared(row: &Measured, ran: &Ran) -> Result<MeasuredRow, String> {
    let is_same = |name: &str| row.kernel.is_empty() || name == row.kernel || base(name) == base(&row.kernel);
    let cycles: Vec<u64> =
        ran.launches.iter().filter(|launch| is_same(&launch.name)).map(|launch| launch.cycles).collect();
    let launches = cycles.len() as u64;
    if launches == 0 {
        let mut names: Vec<&str> = ran.launches.iter().map(|launch| launch.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(kit::text::excerpt(&format!("the program launches {}, not this kernel", names.join(", "))));
    }
    if row.lines > 1 && row.lines as u64 != launches {
        return Err(format!("{} launches are measured, ours are {launches}", row.lines));
    }
    let (kernels, launching) = (cycles.iter().sum::<u64>(), launches * ran.launch_cycles());
    let error = |ours: u64, hardware: f64| (ours as f64 / hardware - 1.0) * 100.0;
    let of_kernels = row.hardware - launching as f64;
    let Measured { suite, program, arguments, kernel, counter, profiled_as, hardware, .. } = row.clone();
    Ok(MeasuredRow {
        suite,
        program,
        arguments,
        kernel,
        counter,
        profiled_as,
        hardware,
        launches,
        ours: kernels + launching,
        kernels,
        error_percent: error(kernels + launching, hardware),
        kernels_error_percent: (of_kernels > 0.0).then(|| error(kernels, of_kernels)),
    })
}

fn share<'a>(suite: &str, rows: impl Iterator<Item = &'a MeasuredRow> + Clone) -> MeasuredShare {
    let ours: Vec<(f64, f64)> = rows.clone().map(|row| (row.ours as f64, row.hardware)).collect();
    let launching = |row: &MeasuredRow| (row.ours - row.kernels) as f64;
    let comparable = rows.filter(|row| row.kernels_error_percent.is_some());
    let of_kernels: Vec<_> = comparable.map(|row| (row.kernels as f64, row.hardware - launching(row))).collect();
    MeasuredShare { suite: suite.to_owned(), ours: Agreement::of(&ours), ours_of_kernels: Agreement::of(&of_kernels) }
}

/// Runs the programs of the table in `file` and compares each row.
pub fn compare(file: &Path, gpu: &str, programs: &Programs) -> Result<MeasuredDocument, Failure> {
    let bad = |e: String| Failure::bad_input(format!("`{}`: {e}", file.display()));
    let rows = read(&kit::files::read_text(file).map_err(|e| bad(e.to_string()))?).map_err(bad)?;
    let mut runs: Vec<(&str, &str, &str, Result<Ran, String>)> = Vec::new();
    let (mut found, mut not_compared) = (Vec::new(), Vec::new());
    for row in &rows {
        let of = (row.program.as_str(), row.arguments.as_str(), row.profiled_as);
        let at = runs.iter().position(|(program, arguments, as_, _)| (*program, *arguments, *as_) == of);
        let at = at.unwrap_or_else(|| {
            output::remark(&format!("{} {}\n", row.program, row.arguments));
            let machine = Machine { gpu, profiled_as: Some(row.profiled_as), ..Machine::default() };
            let ran = match programs.has(&row.program) {
                true => programs.run(&row.program, &row.arguments, machine),
                false => Err("there is no such program in the folder".to_owned()),
            };
            runs.push((of.0, of.1, of.2, ran));
            runs.len() - 1
        });
        match runs[at].3.as_ref().map_err(Clone::clone).and_then(|ran| compared(row, ran)) {
            Ok(one) => found.push(one),
            Err(reason) => {
                let Measured { program, arguments, kernel, .. } = row.clone();
                not_compared.push(NotCompared { program, arguments, kernel, reason });
            }
        }
    }
    let mut suites: Vec<&str> = found.iter().map(|row| row.suite.as_str()).collect();
    suites.sort_unstable();
    suites.dedup();
    let of = |suite: &&str| share(suite, found.iter().filter(|row| row.suite == **suite));
    let core = runs.iter().find_map(|(.., ran)| ran.as_ref().ok()).map_or_else(String::new, |ran| ran.core.clone());
    Ok(MeasuredDocument {
        schema: 1,
        gpu: gpu.to_owned(),
        core,
        suites: suites.iter().map(of).collect(),
        all: share("all", found.iter()),
        rows: found,
        not_compared,
    })
}

/// Why the comparison has failed if it has no row.
pub const NOTHING: &str = "no row of the table was compared; the output has each reason";

/// The comparison as text.
pub fn render(document: &MeasuredDocument) -> String {
    let mut text = if document.rows.is_empty() { String::new() } else { compared_rows(document) };
    for NotCompared { program, arguments, kernel, reason } in &document.not_compared {
        let name = [program, arguments, kernel].map(String::as_str).join(" ");
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let before = if text.is_empty() { "" } else { "\n" };
        text += &wrapped(&format!("Not compared: {name}: {reason}"), before, "  ");
    }
    text
}

/// The rows with ours beside them, and the agreement by suite.
fn compared_rows(document: &MeasuredDocument) -> String {
    use Align::{Left, Name, Right};
    let heading = format!(
        "Measured cycles beside ours with {}, core {}, run as under the profiler of each counter. of kernels: without launches on both sides, of the cycles that the description has for one.",
        document.gpu, document.core
    );
    let mut text = wrapped(&heading, "", "");
    for share in &document.suites {
        let mut table = Table::new([
            (share.suite.as_str(), Name),
            ("kernel", Name),
            ("counter", Left),
            ("hardware", Right),
            ("ours", Right),
            ("error", Right),
            ("of kernels", Right),
        ]);
        for row in document.rows.iter().filter(|row| row.suite == share.suite) {
            table.row(&[
                format!("{} {}", row.program, row.arguments).trim_end().to_owned(),
                if row.kernel.is_empty() { "all".to_owned() } else { base(&row.kernel).to_owned() },
                row.counter.clone(),
                count(row.hardware.round() as u64),
                count(row.ours),
                percent(row.error_percent),
                row.kernels_error_percent.map_or_else(|| "-".into(), percent),
            ]);
        }
        text += &format!("\n{}", table.render());
    }
    let shares = || document.suites.iter().chain(Some(&document.all).filter(|_| document.suites.len() > 1));
    let rows =
        |of: fn(&MeasuredShare) -> &Agreement| shares().map(move |share| (share.suite.as_str(), vec![of(share)]));
    text += &format!(
        "\n{}\n{}",
        agreement_table("as the profiler counts", &[], rows(|share| &share.ours)),
        agreement_table("without launches", &[], rows(|share| &share.ours_of_kernels))
    );
    text
}

#[cfg(test)]
mod tests {
    use super::super::rerun::Launch;
    use super::*;

    #[test]
    fn lines_of_a_kernel_are_added_up_and_mistakes_have_their_line() {
        let rows = read(
            "program,arguments,kernel,cycles,counter\nbfs,4096,Kernel,100,nvprof\nbfs, 4096, Kernel ,50,nvprof\nbfs,4096,,7,ncu\n",
        )
        .unwrap();
        let found = rows.iter().map(|row| (row.kernel.as_str(), row.profiled_as, row.hardware, row.lines));
        assert_eq!(found.collect::<Vec<_>>(), [("Kernel", "nvprof", 150.0, 2), ("", "ncu", 7.0, 1)]);
        for (text, expected) in [
            ("program,cycles,counter\nbfs,5,clock64\n", "line 2: the counter `clock64`"),
            ("program,cycles,counter\nbfs,0,ncu\n", "line 2: a program and cycles"),
            ("program,cycles,counter\nbfs,inf,ncu\n", "line 2: a program and cycles"),
            ("program,cycles,counter\nbfs,many,ncu\n", "line 2: "),
            ("program,cycles,counter,sms\nbfs,5,ncu,80\n", "line 2: "),
            ("program,cycles\nbfs,5\n", "counter"),
            ("program,cycles,counter\n", "no rows"),
            ("", "no rows"),
        ] {
            let problem = read(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
        assert_eq!(profiler("sm__cycles_elapsed.max"), Some("ncu"));
    }

    #[test]
    fn kernels_are_found_by_their_base_names() {
        for name in ["fan", "fan(float *, int)", "void ns::fan<float>(int)", "ns::fan"] {
            assert_eq!(base(name), "fan", "{name}");
        }
    }

    #[test]
    fn rows_are_compared_as_counted_and_without_launches() {
        let text = "program,kernel,cycles,counter\np,a,3000,ncu\np,,9000,ncu\np,b,1000,ncu\np,a,1,nvprof\np,c,5,ncu\n";
        let rows = read(text).unwrap();
        let launch = |name: &str, cycles| Launch { name: name.to_owned(), cycles, ..Launch::default() };
        let launches = vec![launch("a", 800), launch("a", 1200), launch("b", 600)];
        let ran = Ran { launches, launching: 1500, core: "inorder".to_owned() };
        let of = |at: usize| compared(&rows[at], &ran).unwrap();
        // Two launches of 500 cycles each.
        assert_eq!(
            (of(0).ours, of(0).kernels, of(0).error_percent, of(0).kernels_error_percent),
            (3000, 2000, 0.0, Some(0.0))
        );
        assert_eq!((of(1).launches, of(1).ours), (3, 4100));
        assert_eq!(of(2).kernels_error_percent.map(f64::round), Some(20.0));
        assert_eq!(of(3).kernels_error_percent, None, "launches are more than was measured");
        assert!(compared(&rows[4], &ran).unwrap_err().contains("launches a, b"));
        let twice = Measured { lines: 3, ..rows[0].clone() };
        assert!(compared(&twice, &ran).unwrap_err().contains("3 launches are measured, ours are 2"));
    }
}
