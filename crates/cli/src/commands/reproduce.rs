//! `warpwright reproduce`: an experiment of a paper.

use super::{compare, list};
use crate::comparison::Document;
use crate::experiments::{self, Experiment};
use crate::failure::{Exit, Failure, Outcome};
use crate::options::{Jobs, Results, WorkSize};
use crate::render::lists;
use crate::render::style::{FAINT, HEADING, styled};
use crate::{lookup, output};
use clap::{FromArgMatches, Parser};
use serde::Serialize;
use std::path::PathBuf;

/// Run an experiment of a paper and show the results beside the paper's
///
/// Each experiment is one or more comparisons over the bundled workloads (`warpwright list figures`); the command of each is printed, for changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright list figures
  warpwright reproduce war-fig5
  warpwright reproduce ghost-fig13 --size medium
  warpwright reproduce socgpu-fig1 --json=socgpu-fig1.json")]
pub struct Args {
    /// Experiment (`warpwright list figures`)
    #[arg(value_name = "FIGURE")]
    figure: String,
    #[command(flatten)]
    size: WorkSize,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    results: Results,
}

/// A comparison as the command line has it.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    compare: compare::Args,
}

/// Runs the experiment's comparisons and shows them.
pub fn run(args: &Args) -> Outcome {
    if let Some(experiment) = experiments::AREAS.iter().find(|experiment| experiment.name == args.figure) {
        return areas(experiment, args);
    }
    let experiment = experiments::find(&args.figure).ok_or_else(|| {
        let known: Vec<&str> = experiments::all().map(|e| e.name).collect();
        lookup::unknown("experiment", &args.figure, &known)
    })?;
    output::check(args.results.file().map(PathBuf::as_path), &[])?;
    let (text, size) = (args.results.as_text(), args.size.chosen());
    let lines = experiment.lines(size).map(|line| Ok((self::line(&line, args)?, line)));
    let lines = lines.collect::<Result<Vec<_>, Failure>>()?;
    if text {
        output::print(&heading(experiment))?;
    }
    let (mut comparisons, mut exit) = (Vec::new(), Exit::Success);
    for (line, command) in &lines {
        let (comparison, ended) = compare::compared(&line.compare)?;
        if text {
            let command = styled(FAINT, format!("$ warpwright compare {command}"));
            output::print(&format!("\n{command}\n{}", compare::text(&line.compare, &comparison)))?;
        }
        comparisons.push(comparison);
        exit = if exit == Exit::Success { ended } else { exit };
    }
    let document = Reproduced {
        schema: SCHEMA,
        figure: experiment.name,
        paper: experiment.paper,
        published: experiment.published,
        size: size.name(),
        parts: comparisons.iter().map(|c| c.document()).collect(),
    };
    args.results.give_json(&document)?;
    Ok(exit)
}

/// The comparison of `line`, with the user's choices.
fn line(line: &str, args: &Args) -> Result<Line, Failure> {
    let mut words = vec!["compare"];
    words.extend(line.split_whitespace());
    let jobs = args.jobs.jobs.map(|jobs| jobs.to_string());
    jobs.iter().for_each(|jobs| words.extend(["--jobs", jobs]));
    words.extend(args.results.quiet.then_some("--quiet"));
    let command = <Line as clap::CommandFactory>::command();
    let matches = command.try_get_matches_from(words).map_err(Failure::failed)?;
    Line::from_arg_matches(&matches).map_err(Failure::failed)
}

/// Shows published areas beside ours.
fn areas(experiment: &Experiment, args: &Args) -> Outcome {
    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        list: list::Args,
    }
    output::check(args.results.file().map(PathBuf::as_path), &[])?;
    let text = args.results.as_text();
    if text {
        output::print(&heading(experiment))?;
    }
    let mut parts = Vec::new();
    for part in experiment.parts {
        let line =
            Line::try_parse_from(["list"].into_iter().chain(part.split_whitespace())).map_err(Failure::failed)?;
        let cores = list::lists(&line.list)?.cores.unwrap_or_default();
        if text {
            let command = styled(FAINT, format!("$ warpwright list {part}"));
            let areas: String = cores.iter().filter_map(|core| core.area.as_ref()).map(lists::hardware).collect();
            output::print(&format!("\n{command}\n{areas}"))?;
        }
        parts.extend(cores.into_iter().filter_map(|core| core.area));
    }
    let Experiment { name, paper, published, .. } = experiment;
    args.results.give_json(&Areas { schema: SCHEMA, figure: name, paper, published, parts })?;
    Ok(Exit::Success)
}

fn heading(experiment: &Experiment) -> String {
    let Experiment { paper, about, published, .. } = experiment;
    format!("{}\n  {about}\n  published: {published}\n", styled(HEADING, paper))
}

/// Version of [`Reproduced`].
const SCHEMA: u32 = 1;

/// An experiment as JSON; `docs/cli.md` describes it.
#[derive(Serialize)]
struct Reproduced<'a> {
    schema: u32,
    figure: &'a str,
    paper: &'a str,
    published: &'a str,
    size: &'a str,
    parts: Vec<Document<'a>>,
}

/// Published areas as JSON.
#[derive(Serialize)]
struct Areas {
    schema: u32,
    figure: &'static str,
    paper: &'static str,
    published: &'static str,
    parts: Vec<lists::Area>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::Input;
    use std::path::Path;
    use workloads::{Size, suite};

    #[test]
    fn every_experiment_is_a_comparison_that_can_be_made() {
        for experiment in experiments::ALL {
            let quiet = Results { quiet: true, ..Results::default() };
            let args = Args {
                figure: experiment.name.into(),
                size: WorkSize::default(),
                jobs: Jobs::default(),
                results: quiet,
            };
            for line in Size::ALL.into_iter().flat_map(|size| experiment.lines(size)) {
                let line = self::line(&line, &args).unwrap_or_else(|e| panic!("{}: {}", experiment.name, e.message));
                let made = compare::machines(&line.compare);
                assert!(made.is_ok_and(|machines| machines.len() > 1), "{}", experiment.name);
            }
        }
    }

    #[test]
    fn workloads_and_kernels_of_experiments_exist() {
        for line in experiments::ALL.iter().flat_map(|e| Size::ALL.into_iter().flat_map(|size| e.lines(size))) {
            let mut words = line.split_whitespace();
            for workload in words.by_ref().take_while(|word| !word.starts_with("--")).filter(|word| *word != "all") {
                assert!(lookup::job(Path::new(workload), &Input::default()).is_ok(), "{workload}: {line}");
            }
            let kernels = line.split_once("--kernels ").and_then(|(_, rest)| rest.split_whitespace().next());
            for kernel in kernels.into_iter().flat_map(|names| names.split(',')) {
                let is_there = |w: &workloads::Workload| w.module.ptx.contains(&format!(".entry {kernel}("));
                assert!(suite::ALL.iter().any(is_there), "{kernel}: {line}");
            }
        }
    }
}
