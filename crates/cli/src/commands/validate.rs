//! `warpwright validate`: the model's latencies and rates beside those of hardware.

mod accelsim;
mod accelwattch;
mod hardware;

use crate::failure::{Exit, Failure, Outcome};
use crate::options::Settings;
use crate::render::table::{Align, Table};
use crate::render::wrap::wrapped;
use crate::{lookup, output};
use lab::Setup;
use lab::validate::{self, Reason, Row};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Measure latencies and rates of the model and print them beside hardware's
///
/// Each figure comes from a small kernel that is run on the simulated GPU. Where the same quantity was measured on hardware, the deviation is given with the mechanism behind it. docs/validation.md holds the table for the GPUs that come with the program.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  warpwright validate
  warpwright validate accelsim reference traces
  warpwright validate accelwattch
  warpwright validate hardware
  warpwright validate --gpu titanv,my-gpu.toml --json
  warpwright validate --gpu titanv --set l2.latency_cycles=200")]
pub struct Args {
    #[command(subcommand)]
    other: Option<Other>,
    /// GPUs: names, paths of descriptions, or `all`
    #[arg(long, alias = "gpus", value_name = "A,B", value_delimiter = ',', default_value = "titanv,rtx3070")]
    gpu: Vec<PathBuf>,
    #[command(flatten)]
    set: Settings,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What else the model is compared with.
#[derive(Debug, clap::Subcommand)]
enum Other {
    Accelsim(accelsim::Args),
    Accelwattch(accelwattch::Args),
    Hardware(hardware::Args),
}

/// A reason that rows refer to.
#[derive(Debug, Serialize)]
struct Explanation {
    key: &'static str,
    text: &'static str,
}

#[derive(Debug, Serialize)]
struct Document {
    rows: Vec<Row>,
    reasons: Vec<Explanation>,
}

/// Measures the model and prints the figures beside hardware's.
pub fn run(args: &Args) -> Outcome {
    match &args.other {
        Some(Other::Accelsim(args)) => return accelsim::run(args),
        Some(Other::Accelwattch(args)) => return accelwattch::run(args),
        Some(Other::Hardware(args)) => return hardware::run(args),
        None => {}
    }
    let mut rows = Vec::new();
    for setup in setups(args)? {
        let name = setup.gpu.name.clone();
        rows.extend(validate::table(&setup).map_err(|e| Failure::failed(format!("{name} cannot be measured: {e}")))?);
    }
    let used = |key: &str| rows.iter().any(|row| row.reason == key);
    let reasons = Reason::ALL.iter().filter(|r| used(r.name()));
    let reasons = reasons.map(|r| Explanation { key: r.name(), text: r.text() }).collect();
    let document = Document { rows, reasons };
    if args.json {
        output::print_json(&document)?;
    } else {
        output::print(&render(&document))?;
    }
    Ok(Exit::Success)
}

fn setups(args: &Args) -> Result<Vec<Setup>, Failure> {
    let every = config::hardware().map(PathBuf::from);
    let all = args.gpu.iter().any(|g| g == Path::new("all"));
    let names: Vec<PathBuf> = if all { every.collect() } else { args.gpu.clone() };
    let setup = |name: &PathBuf| {
        let gpu = lookup::gpu(name, &args.set.settings)?;
        Ok(Setup { settings: args.set.settings.clone(), ..Setup::new(gpu) })
    };
    names.iter().map(setup).collect()
}

fn render(document: &Document) -> String {
    use Align::{Left, Right};
    let columns = [
        ("GPU", Left),
        ("quantity", Left),
        ("unit", Left),
        ("hardware", Right),
        ("ours", Right),
        ("deviation", Right),
        ("reason", Left),
    ];
    let mut table = Table::new(columns);
    for row in &document.rows {
        table.row(&[
            row.gpu.clone(),
            row.quantity.to_owned(),
            row.unit.to_owned(),
            row.measured_text(),
            validate::figure(row.ours),
            row.deviation_text(),
            row.reason.to_owned(),
        ]);
    }
    let mut text = table.render();
    for reason in &document.reasons {
        text += &format!("\n{}\n{}", reason.key, wrapped(reason.text, "  ", "  "));
    }
    text += "\nHardware figures:\n";
    for source in sources(&document.rows) {
        text += &wrapped(&source, "  ", "  ");
    }
    text
}

/// Who measured what, each source once.
fn sources(rows: &[Row]) -> Vec<String> {
    let mut sources = Vec::new();
    for measured in rows.iter().filter_map(|row| row.measured.as_ref()) {
        let line = format!("{}: {}", measured.gpu, measured.source);
        if !sources.contains(&line) {
            sources.push(line);
        }
    }
    if sources.is_empty() {
        sources.push("none for these GPUs".to_owned());
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::validate::Measured;

    fn row(quantity: &'static str, measured: Option<(f64, f64)>, ours: f64, reason: Reason) -> Row {
        let measured = measured.map(|(low, high)| Measured {
            gpu: "TITAN V".into(),
            low,
            high,
            source: "someone's microbenchmarks".into(),
            note: String::new(),
        });
        let deviation_percent = measured.as_ref().map(|m| (ours / m.low - 1.0) * 100.0);
        let (gpu, unit) = ("titanv".to_owned(), "core cycles");
        Row { gpu, quantity, unit, measured, ours, deviation_percent, reason: reason.name() }
    }

    #[test]
    fn golden() {
        let rows = vec![
            row("fp32_latency", Some((4.0, 4.26)), 10.0, Reason::PtxLatency),
            row("fp32_rate", Some((126.9, 126.9)), 128.0, Reason::Agrees),
            row("l1_latency", None, 23.0, Reason::Unmeasured),
        ];
        let explain = |r: Reason| Explanation { key: r.name(), text: r.text() };
        let reasons = [Reason::Unmeasured, Reason::Agrees, Reason::PtxLatency].map(explain).into();
        let text = anstream::adapter::strip_str(&render(&Document { rows, reasons })).to_string();
        insta::assert_snapshot!(text);
    }
}
