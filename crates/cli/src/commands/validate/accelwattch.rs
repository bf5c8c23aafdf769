//! `warpwright validate accelwattch`: AccelWattch's published counts through our power model.

use super::power;
use super::rerun::Programs;
use crate::failure::{Exit, Failure, Outcome};
use crate::options::Formats;
use crate::output;
use crate::render::table::{Align, Table};
use ::energy::accelwattch::{AccelWattchRow, mean_error_percent, rows};
use serde::Serialize;
use std::path::PathBuf;

/// Print watts of AccelWattch's kernels: measured, AccelWattch's and ours
///
/// 25 kernels on a Quadro V100: hardware counters, simulated watts by component and measured board power are from AccelWattch's artifact (MICRO 2021), which come with the program. Without --rerun nothing is simulated: the published counts are put through our power model, which checks the model, not the counts. Parts whose counts are not published (instruction buffer, scheduler, lanes, static power) are taken as published. With --rerun the programs run, and watts are of our counts and our time; `warpwright docs energy` says which programs, and what came out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright validate accelwattch
  warpwright validate accelwattch --parts btree
  warpwright validate accelwattch --rerun programs --data inputs
  warpwright validate accelwattch sgemm --rerun programs --core modern --energy-model v100
  warpwright validate accelwattch --json")]
pub struct Args {
    /// Only kernels whose name has this in it
    #[arg(value_name = "FILTER", default_value = "")]
    filter: String,
    /// Show each kernel's components too; JSON and CSV always have them
    #[arg(long)]
    parts: bool,
    /// Run each program of the list that is in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "parts")]
    rerun: Option<PathBuf>,
    /// Input files of the programs [default: the folder `data` beside the programs]
    #[arg(long, value_name = "FOLDER", requires = "rerun")]
    data: Option<PathBuf>,
    /// GPU description: a name or the path of one
    #[arg(long, value_name = "NAME|FILE", default_value = "gv100", requires = "rerun")]
    gpu: String,
    /// Core design [default: the GPU description's]
    #[arg(long, value_name = "NAME", requires = "rerun")]
    core: Option<String>,
    /// Coefficients of a GPU that comes with the program, or a file of them
    #[arg(long, value_name = "NAME|FILE", default_value = "v100-hw", requires = "rerun")]
    energy_model: String,
    #[command(flatten)]
    formats: Formats,
}

#[derive(Debug, Serialize)]
struct Document {
    schema: u32,
    kernels: Vec<Kernel>,
    summary: Summary,
}

#[derive(Debug, Serialize)]
struct Kernel {
    kernel: String,
    published_watts: f64,
    ours_watts: f64,
    measured_watts: f64,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize)]
struct Part {
    part: &'static str,
    published_watts: f64,
    ours_watts: f64,
}

/// Means of the magnitudes of relative errors, in percent.
#[derive(Debug, Serialize)]
struct Summary {
    kernels: usize,
    ours_from_published_percent: f64,
    published_from_measured_percent: f64,
    ours_from_measured_percent: f64,
    /// Deviation of the sum of the parts computed from published counts from the published sum.
    counted_from_published_percent: f64,
    /// Shares of the published watts that we compute from counts and that we take as published, in percent; the
    /// rest is constant.
    counted_share_percent: f64,
    taken_share_percent: f64,
}

impl Document {
    fn new(rows: &[AccelWattchRow]) -> Self {
        let mean = |of: fn(&AccelWattchRow) -> (f64, f64)| mean_error_percent(rows.iter().map(of));
        let share = |of: fn(&AccelWattchRow) -> f64| 100.0 * rows.iter().map(of).sum::<f64>() / rows.len() as f64;
        let summary = Summary {
            kernels: rows.len(),
            ours_from_published_percent: mean(|r| (r.ours(), r.published)),
            published_from_measured_percent: mean(|r| (r.published, r.measured)),
            ours_from_measured_percent: mean(|r| (r.ours(), r.measured)),
            counted_from_published_percent: mean(AccelWattchRow::counted),
            counted_share_percent: share(|r| r.counted().1 / r.published),
            taken_share_percent: share(|r| r.taken / r.published),
        };
        let part = |p: &::energy::accelwattch::PowerPart| Part {
            part: p.name,
            published_watts: p.published,
            ours_watts: p.ours,
        };
        let kernel = |row: &AccelWattchRow| Kernel {
            kernel: row.kernel.clone(),
            published_watts: row.published,
            ours_watts: row.ours(),
            measured_watts: row.measured,
            parts: row.parts.iter().chain([&row.constant]).map(part).collect(),
        };
        Self { schema: 1, kernels: rows.iter().map(kernel).collect(), summary }
    }
}

/// Computes our watts from the published counts and prints both.
pub fn run(args: &Args) -> Outcome {
    output::check(args.formats.files()?, &[])?;
    output::check_names([args.filter.as_str()])?;
    if let Some(folder) = &args.rerun {
        let programs = Programs::new(folder, args.data.as_deref())?;
        let (core, energy_model) = (args.core.as_deref(), args.energy_model.as_str());
        let choice = power::Choice { gpu: &args.gpu, core, energy_model, filter: &args.filter };
        let document = power::rerun(&programs, choice)?;
        if args.formats.as_text() {
            output::print(&power::render(&document))?;
        }
        args.formats.give(&document, || &document.runs)?;
        return Ok(Exit::Success);
    }
    let rows = rows().map_err(Failure::failed)?;
    let rows: Vec<AccelWattchRow> = rows.into_iter().filter(|row| row.kernel.contains(&args.filter)).collect();
    if rows.is_empty() {
        let message = format!("no kernel has `{}` in its name; without a filter, all are shown", args.filter);
        return Err(Failure::bad_input(message));
    }
    let document = Document::new(&rows);
    if args.formats.as_text() {
        output::print(&render(&document, args.parts))?;
    }
    args.formats.give(&document, || document.kernels.iter().flat_map(watts))?;
    Ok(Exit::Success)
}

/// Watts of a kernel, as CSV has them.
#[derive(Debug, Serialize)]
struct Watts<'a> {
    kernel: &'a str,
    /// A component, or `all`.
    part: &'static str,
    published_watts: f64,
    ours_watts: f64,
    /// Of the board, which has no components.
    measured_watts: Option<f64>,
}

/// A kernel's watts, then the watts of each part.
fn watts(of: &Kernel) -> impl Iterator<Item = Watts<'_>> {
    let Kernel { kernel, published_watts, ours_watts, measured_watts, parts } = of;
    let (published_watts, ours_watts) = (*published_watts, *ours_watts);
    let all = Watts { kernel, part: "all", published_watts, ours_watts, measured_watts: Some(*measured_watts) };
    let part = move |&Part { part, published_watts, ours_watts }: &Part| Watts {
        kernel,
        part,
        published_watts,
        ours_watts,
        measured_watts: None,
    };
    std::iter::once(all).chain(parts.iter().map(part))
}

fn percent(found: f64, expected: f64) -> String {
    format!("{:+.1}", (found / expected - 1.0) * 100.0)
}

fn render(document: &Document, parts: bool) -> String {
    let columns = ["kernel", "published W", "ours W", "off %", "measured W", "published off %", "ours off %"];
    let align = |(i, name)| (name, if i == 0 { Align::Left } else { Align::Right });
    let mut table = Table::new(columns.into_iter().enumerate().map(align));
    for kernel in &document.kernels {
        let (published, ours, measured) = (kernel.published_watts, kernel.ours_watts, kernel.measured_watts);
        table.row(&[
            kernel.kernel.clone(),
            format!("{published:.1}"),
            format!("{ours:.1}"),
            percent(ours, published),
            format!("{measured:.1}"),
            percent(published, measured),
            percent(ours, measured),
        ]);
        for part in kernel.parts.iter().filter(|_| parts).filter(|p| p.ours_watts.max(p.published_watts) > 0.005) {
            let (published, ours) = (part.published_watts, part.ours_watts);
            let off = if published > 0.0 { percent(ours, published) } else { String::new() };
            let none = String::new;
            let name = format!("  {}", part.part);
            table.row(&[name, format!("{published:.2}"), format!("{ours:.2}"), off, none(), none(), none()]);
        }
    }
    let Summary { kernels, ours_from_published_percent, published_from_measured_percent, .. } = document.summary;
    let Summary { ours_from_measured_percent, counted_from_published_percent, .. } = document.summary;
    let Summary { counted_share_percent, taken_share_percent, .. } = document.summary;
    let constant = 100.0 - counted_share_percent - taken_share_percent;
    let kernels = kit::text::counted(kernels as u64, "kernel");
    format!(
        "{}\nMean magnitude over {kernels}: ours {ours_from_published_percent:.2} % from published; from measured, published {published_from_measured_percent:.2} % and ours {ours_from_measured_percent:.2} %.\n\
         Of the watts {counted_share_percent:.0} % are computed from counts, in sum {counted_from_published_percent:.2} % from published; {constant:.0} % are constant; the counts of {taken_share_percent:.0} % are not published, which are taken as they are.\n",
        table.render()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden() {
        let rows = rows().unwrap();
        let text = |rows: &[AccelWattchRow], parts| {
            anstream::adapter::strip_str(&render(&Document::new(rows), parts)).to_string()
        };
        insta::assert_snapshot!(text(&rows, false));
        insta::assert_snapshot!("golden_with_parts", text(&rows[..1], true));
    }
}
