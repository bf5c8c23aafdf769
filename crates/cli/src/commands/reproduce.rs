//! `warpwright reproduce`: an experiment of a paper.

use super::keeping::{Asked, Keeping};
use super::sweep;
use crate::failure::{Failure, Outcome};
use request::command::{Given, Sweep};
use request::options::row;
use workloads::Size;

/// Run an experiment of a paper and show the results beside the paper's
///
/// Each experiment is one or more comparisons on the machine of the paper; the command of each is printed, for changes. Its runs are stored as `warpwright sweep` stores them, and its file is a model for experiments of your own. Options replace the file's in every part.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright list figures
  warpwright reproduce war-fig5
  warpwright reproduce ghost-fig13 --stock
  warpwright reproduce ghost-fig16 --repeat 3 --dry-run
  warpwright reproduce all --quick --out figures
  warpwright reproduce sgmf-fig12 --size large
  warpwright reproduce socgpu-fig1 --json=socgpu-fig1.json
  warpwright reproduce ghost-fig13 --out ghost-fig13")]
pub struct Args {
    /// Experiment (`warpwright list figures`), or `all`
    #[arg(value_name = "FIGURE")]
    figure: String,
    /// Small workloads, as --size small: each figure within about two minutes on two processors
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    given: Given<Sweep>,
    #[command(flatten)]
    keeping: Keeping,
}

/// Runs the experiment's comparisons and shows them.
pub fn run(args: &Args) -> Outcome {
    let options = args.given.options()?;
    let what = [args.figure.clone().into()];
    let mut texts = args.given.texts().clone();
    if args.quick {
        if options.size.is_some() {
            return Err(Failure::bad_input("--quick is --size small: one of them"));
        }
        texts.push((row("size").expect("the option is there"), vec![Size::Small.name().into()]));
    }
    let asked = Asked { what: &what, texts: &texts, options: &options, keeping: &args.keeping };
    sweep::of_figure(&args.figure, &asked)
}
