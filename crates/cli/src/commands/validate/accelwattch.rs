//! `warpwright validate accelwattch`: AccelWattch's published counts through our power model.

use crate::failure::{Exit, Failure, Outcome};
use crate::options::Formats;
use crate::output;
use crate::render::table::{Align, Table};
use ::energy::accelwattch::{AccelWattchRow, mean_error_percent, rows};
use serde::Serialize;

/// Put AccelWattch's published counts through our power model and print its watts, ours and those measured
///
/// 25 kernels on a Quadro V100: hardware counters, simulated watts by component and measured board power are from AccelWattch's artifact (MICRO 2021), which come with the program. Nothing is simulated: this checks the model, not the counts. Parts whose counts are not published (instruction buffer, scheduler, lanes, static power) are taken as published.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright validate accelwattch
  warpwright validate accelwattch --parts btree
  warpwright validate accelwattch --json")]
pub struct Args {
    /// Only kernels whose name has this in it
    #[arg(value_name = "FILTER", default_value = "")]
    filter: String,
    /// Show each kernel's components too; JSON and CSV always have them
    #[arg(long)]
    parts: bool,
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
