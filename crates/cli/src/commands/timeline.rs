//! `warpwright timeline`: what the pipeline of an SM does, cycle by cycle, on the terminal.

use super::run;
use crate::failure::Outcome;
use crate::render::timeline::drawn::Drawing;
use crate::render::{report, timeline};
use std::num::NonZeroUsize;

#[derive(Debug, clap::Args)]
#[command(
    about = "Draw what happens to each instruction of a few warps, cycle by cycle",
    long_about = "Draw what happens to each instruction of a few warps, cycle by cycle\n\nA row is an instruction, a column a cycle, or several where a window of --cycles is wide. Takes the arguments of `warpwright run`, of which --cycles, --sm, --warps and --kernel choose what is drawn; --timeline writes it to a file for Konata or Perfetto as well (`warpwright docs timeline`).",
    after_help = "Examples:
  warpwright timeline vectoradd
  warpwright timeline matmul --warps 0..3 --cycles 4000..4120
  warpwright timeline lud --core ghost --warps 0 --sm 0 --timeline=lud.kanata"
)]
pub struct Args {
    #[command(flatten)]
    run: run::Args,
    /// Maximum number of instructions to draw
    #[arg(long, value_name = "NUMBER", default_value = "60")]
    lines: NonZeroUsize,
    /// Maximum number of columns to draw. More cycles than that, if --cycles chooses them, share columns
    #[arg(long, value_name = "NUMBER", default_value = "120")]
    width: NonZeroUsize,
}

/// Runs the job and draws the timeline.
pub fn run(args: &Args) -> Outcome {
    run::recorded(&args.run, &|options, report, failed| {
        run::check_timeline(options, report)?;
        let is_whole = options.cycles.is_some();
        let drawing = Drawing { most: args.lines.get(), width: args.width.get(), is_whole };
        let drawn = timeline::drawn::render(&report.timelines, drawing);
        Ok(format!("{}\n{drawn}", report::header(report, failed)))
    })
}
