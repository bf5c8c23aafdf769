//! `warpwright validate`: the model beside hardware and beside other simulators.

mod accelsim;
mod accelwattch;
mod agreements;
mod hardware;
mod measured;
mod power;
mod rerun;

use super::microbench::{self, Choice};
use crate::failure::Outcome;
use crate::options::{Jobs, Results, Settings};
use std::path::PathBuf;

/// Compare the model with hardware, with Accel-Sim or with AccelWattch
///
/// With a GPU: the tables of `warpwright microbench`, latencies, rates and bandwidths beside those published of hardware. `warpwright docs validation` counts the verdicts of the GPUs that come with the program.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  warpwright validate titanv
  warpwright validate all --code sass
  warpwright validate titanv --set l2.latency_cycles=200 --only 'l2*'
  warpwright validate accelsim reference traces
  warpwright validate accelwattch
  warpwright validate hardware")]
pub struct Args {
    #[command(subcommand)]
    other: Option<Other>,
    /// GPU: a name or the path of a description, or `all` that come with the program
    #[arg(value_name = "GPU", default_value = "all")]
    gpu: PathBuf,
    #[command(flatten)]
    set: Settings,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    results: Results,
}

/// Other comparisons of the model.
#[derive(Debug, clap::Subcommand)]
enum Other {
    Accelsim(accelsim::Args),
    Accelwattch(accelwattch::Args),
    Hardware(hardware::Args),
}

/// Prints the comparison that is asked for.
pub fn run(args: &Args) -> Outcome {
    match &args.other {
        Some(Other::Accelsim(args)) => accelsim::run(args),
        Some(Other::Accelwattch(args)) => accelwattch::run(args),
        Some(Other::Hardware(args)) => hardware::run(args),
        None => microbench::tables(&args.gpu, &args.set, &args.choice, args.jobs, &args.results),
    }
}
