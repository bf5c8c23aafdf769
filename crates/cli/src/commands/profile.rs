//! `warpwright profile`: where a run spends its issue slots, by instruction.

use super::run::{self, Observed};
use crate::failure::Outcome;
use crate::render::profile::{self, Detail};
use crate::render::{report, slots};
use clap::ValueEnum;
use lab::Report;
use lab::profile::Profile;
use std::num::NonZeroUsize;
use workloads::suggest;

#[derive(Debug, clap::Args)]
#[command(
    about = "Show where a run spends its issue slots: which instructions wait, why, and for which others",
    long_about = "Show where a run spends its issue slots: which instructions wait, why, and for which others\n\nEvery slot of every cycle in which a warp is there belongs to an instruction: one that issues, or one that waits. The slots of an instruction that waits for a register are also charged to the instruction that writes it (awaited). Takes the arguments of `warpwright run`; docs/profile.md explains each column.",
    after_help = "Examples:
  warpwright profile matmul
  warpwright profile bfs --size medium --gpu v100 --order awaited
  warpwright profile my-kernel.toml --core ghost --order code --lines 1000
  warpwright profile traces/bfs --json=profile.json"
)]
pub struct Args {
    #[command(flatten)]
    run: run::Args,
    /// Order of the instructions
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    /// Maximum number of instructions to list for each kernel
    #[arg(long, value_name = "NUMBER", default_value = "20")]
    lines: NonZeroUsize,
    /// List the instructions of this kernel only
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Order {
    /// By the slots that they took
    #[default]
    Slots,
    /// By the slots in which others waited for them
    Awaited,
    /// As in the code
    Code,
}

/// Runs the job and prints the profile.
pub fn run(args: &Args) -> Outcome {
    run::run_and_show(&args.run, Observed { profile: true, ..Observed::default() }, &|report, failed| {
        text(args, report, failed)
    })
}

fn text(args: &Args, report: &Report, failed: bool) -> String {
    let mut sections = vec![report::header(report, failed), slots::render(&report.total)];
    if let Some(counted) = &report.profile {
        let order = match args.order {
            Order::Slots => profile::Order::Slots,
            Order::Awaited => profile::Order::Causes,
            Order::Code => profile::Order::Code,
        };
        let chosen = |name: &str| args.kernel.as_ref().is_none_or(|kernel| name.contains(kernel.as_str()));
        let kernels: Vec<_> = counted.kernels.iter().filter(|kernel| chosen(&kernel.name)).cloned().collect();
        if let (true, Some(kernel)) = (kernels.is_empty(), &args.kernel) {
            let known: Vec<&str> = counted.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            sections.push(format!("no kernel `{kernel}` ran{}\n", suggest::among(kernel, &known)));
        }
        let shown = Profile { nobody: counted.nobody.clone(), kernels };
        sections.push(profile::render(&shown, Detail { order, most: args.lines.get() }));
    }
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}
