//! `warpwright profile`: where a run spends its issue slots, by instruction.

use super::run;
use crate::failure::{Failure, Outcome};
use crate::render::profile::{self, Detail, View};
use crate::render::{changes, diagnosis, report, slots};
use clap::ValueEnum;
use lab::Report;
use request::Options;
use std::num::NonZeroUsize;

#[derive(Debug, clap::Args)]
#[command(
    about = "Show where a run spends its issue slots: which instructions wait, why, and for which others",
    long_about = "Show where a run spends its issue slots: which instructions wait, why, and for which others\n\nEvery slot of every cycle in which a warp is there belongs to an instruction: one that issues, or one that waits. The slots of an instruction that waits for a register are also charged to the instruction that writes it (awaited). Takes the arguments of `warpwright run`; `warpwright docs profile` explains each column.",
    after_help = "Examples:
  warpwright profile matmul
  warpwright profile bfs --size medium --gpu v100 --order awaited
  warpwright profile matmul --gpu v100 --show lines
  warpwright profile my-kernel.toml --core ghost --show listing --lines 1000
  warpwright profile bfs --show latencies --order awaited
  warpwright profile matmul --html matmul.html
  warpwright profile traces/bfs --json=profile.json --csv=profile.csv"
)]
pub struct Args {
    #[command(flatten)]
    run: run::Args,
    /// Rows of the table
    #[arg(long, value_enum, default_value_t)]
    show: Show,
    /// Order of the rows; a listing is in the order of the code
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    /// Maximum number of rows for each kernel
    #[arg(long, value_name = "NUMBER", default_value = "20")]
    lines: NonZeroUsize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Show {
    /// An instruction
    #[default]
    Instructions,
    /// A line of the source, with what its instructions took together
    Lines,
    /// The code, instructions below their lines of source and of PTX
    Listing,
    /// A load or atomic and a level of memory: how long it took when its data came from there
    Latencies,
    /// A cause of the run's time that can be removed, with its line and the gain at most
    Causes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Order {
    /// By the slots that they took
    #[default]
    Slots,
    /// By the slots in which others waited for them
    Awaited,
    /// By the energy that they caused
    Energy,
    /// As in the code
    Code,
}

/// Runs the job and prints the profile.
pub fn run(args: &Args) -> Outcome {
    run::profiled(&args.run, &|options, report, failed| text(args, options, report, failed))
}

/// The profile as the options ask for it.
///
/// # Errors
/// No kernel of the name asked for ran.
fn text(args: &Args, options: &Options, report: &Report, failed: bool) -> Result<String, Failure> {
    let mut sections = vec![report::header(report, failed), slots::render(&report.total)];
    if args.show == Show::Causes {
        sections.push(diagnosis::all(report));
        sections.extend(changes(report));
        sections.retain(|section| !section.is_empty());
        return Ok(sections.join("\n"));
    }
    sections.push(diagnosis::first(report));
    sections.extend(changes(report));
    if let Some(counted) = &report.profile {
        let order = match args.order {
            Order::Slots => profile::Order::Slots,
            Order::Awaited => profile::Order::Causes,
            Order::Energy => profile::Order::Energy,
            Order::Code => profile::Order::Code,
        };
        let view = match args.show {
            Show::Instructions => View::Instructions,
            Show::Lines => View::Lines,
            Show::Listing => View::Listing,
            Show::Latencies | Show::Causes => View::Latencies,
        };
        let chosen = run::kernels_of(options, counted)?;
        sections.push(profile::render(&chosen, Detail { view, order, most: args.lines.get() }));
    }
    sections.retain(|section| !section.is_empty());
    Ok(sections.join("\n"))
}

/// The changes from the baseline, if there is one.
fn changes(report: &Report) -> Option<String> {
    report.changes.as_ref().map(|changes| changes::section(changes, None))
}
