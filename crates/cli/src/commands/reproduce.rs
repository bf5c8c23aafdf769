//! `warpwright reproduce`: an experiment of a paper.

use super::{compare, list};
use crate::experiments::{self, Experiment, Machines};
use crate::failure::{Exit, Failure, Outcome};
use crate::options::{Jobs, Page, Results, Work};
use crate::render::style::{FAINT, HEADING, styled};
use crate::render::{lists, page as parts};
use crate::{output, version};
use ::render::page::{self, Section, html};
use clap::{FromArgMatches, Parser};
use request::comparison::{Column, Comparison, Document};
use request::tables;
use serde::Serialize;
use workloads::Size;

/// Run an experiment of a paper and show the results beside the paper's
///
/// Each experiment is one or more comparisons over the bundled workloads (`warpwright list figures`) on the machine of the paper; the command of each is printed, for changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright list figures
  warpwright reproduce war-fig5
  warpwright reproduce ghost-fig13 --stock
  warpwright reproduce sgmf-fig12 --size large
  warpwright reproduce socgpu-fig1 --json=socgpu-fig1.json
  warpwright reproduce ghost-fig13 --html ghost-fig13.html")]
pub struct Args {
    /// Experiment (`warpwright list figures`)
    #[arg(value_name = "FIGURE")]
    figure: String,
    /// Run everything on the stock GPU that the paper simulates too, and compare the mean speedups
    #[arg(long)]
    stock: bool,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    page: Page,
}

impl Args {
    /// Checks that what is written can be.
    fn check_files(&self) -> Result<(), Failure> {
        let page = self.page.html.as_deref();
        output::check(self.results.formats.files()?.into_iter().chain(page), &[])
    }
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
        Failure::unknown("experiment", &args.figure, &known)
    })?;
    args.check_files()?;
    let (text, size) = (args.results.as_text(), args.work.size.unwrap_or(experiment.size));
    let papers = lines(experiment, size, Machines::Papers, args)?;
    let stock = if args.stock { lines(experiment, size, Machines::Stock, args)? } else { Vec::new() };
    if text {
        output::print(&heading(experiment))?;
    }
    let (mut comparisons, mut exit) = (Vec::new(), Exit::Success);
    for (line, command) in papers.iter().chain(&stock) {
        let options = line.compare.options()?;
        let (comparison, ended) = compare::compared(&line.compare, &options)?;
        if text {
            let command = styled(FAINT, format!("$ warpwright compare {command}"));
            output::print(&format!("\n{command}\n{}", compare::text(&line.compare, &options, &comparison)))?;
        }
        comparisons.push(comparison);
        exit = if exit == Exit::Success { ended } else { exit };
    }
    let commands: Vec<&String> = papers.iter().chain(&stock).map(|(_, command)| command).collect();
    let (papers, stock) = comparisons.split_at(papers.len());
    let headlines: Vec<Headline> =
        papers.iter().zip(stock).flat_map(|(paper, stock)| headlines(paper, stock)).collect();
    if text && !headlines.is_empty() {
        let rows: Vec<String> = headlines.iter().map(Headline::text).collect();
        let title = styled(HEADING, "Geometric means of speedups on both machines");
        output::print(&format!("\n{title}\n{}\n", rows.join("\n")))?;
    }
    args.page.save(|| page_of(experiment, &comparisons, &commands, &headlines))?;
    let document = Reproduced {
        schema: SCHEMA,
        figure: experiment.name,
        paper: experiment.paper,
        published: experiment.published,
        size: size.name(),
        parts: papers.iter().map(|c| c.document()).collect(),
        stock: stock.iter().map(|c| c.document()).collect(),
        headlines,
    };
    let rows = || {
        let papers = papers.iter().enumerate().map(|part| ("paper", part));
        let all = papers.chain(stock.iter().enumerate().map(|part| ("stock", part)));
        let rows = |(machines, (at, one))| {
            tables::of_comparison(one, Some(tables::ExperimentPart { machines, number: at + 1 }))
        };
        all.flat_map(rows)
    };
    args.results.formats.give(&document, rows)?;
    Ok(exit)
}

/// The comparisons as a page, each with its command.
fn page_of(experiment: &Experiment, parts: &[Comparison], commands: &[&String], headlines: &[Headline]) -> String {
    let parts = parts.iter().zip(commands).map(|(part, command)| parts::part(part, Some((*command).clone())));
    let rows: String = headlines.iter().map(|headline| html::note(headline.text().trim())).collect();
    let means = (!rows.is_empty()).then(|| Section {
        id: "means".into(),
        title: "Geometric means of speedups on both machines".into(),
        body: rows,
    });
    let further = means.into_iter().collect();
    page::comparison(experiment.paper, &about(experiment), &parts.collect::<Vec<_>>(), further, version::TEXT)
}

/// Subject of an experiment, and the paper's findings.
fn about(experiment: &Experiment) -> [String; 2] {
    [experiment.about.to_owned(), format!("published: {}", experiment.published)]
}

/// The comparisons of `experiment` on `machines`, each with its command.
fn lines(experiment: &Experiment, size: Size, machines: Machines, args: &Args) -> Result<Vec<(Line, String)>, Failure> {
    experiment.lines(size, machines).map(|text| Ok((line(&text, args)?, text))).collect()
}

/// The mean speedup of a column on the paper's machine and on the stock GPU.
#[derive(Debug, Serialize)]
struct Headline {
    /// The column on the paper's machine.
    label: String,
    papers_machine: String,
    on_papers: f64,
    stock_gpu: String,
    on_stock: f64,
    /// The paper's mean over all its programs.
    published: Option<f64>,
    /// The paper's mean over the programs that ran here.
    published_in_common: Option<f64>,
}

impl Headline {
    fn text(&self) -> String {
        let Self { label, papers_machine, on_papers, stock_gpu, on_stock, .. } = self;
        let in_common = self.published_in_common.map(|mean| format!(", {mean:.3} for these programs"));
        let published = self.published.map(|mean| format!("; published {mean:.3}{}", in_common.unwrap_or_default()));
        let published = published.unwrap_or_default();
        format!("  {label}: {on_papers:.3} on {papers_machine}, {on_stock:.3} on {stock_gpu}{published}")
    }
}

/// The columns of a part, except baselines, of which both means are known.
fn headlines(papers: &Comparison, stock: &Comparison) -> Vec<Headline> {
    let headline = |(at, column): (usize, &Column)| {
        let published = papers.published_mean(at);
        Some(Headline {
            label: column.label.clone(),
            papers_machine: column.gpu.clone(),
            on_papers: papers.mean(at).speedup?,
            stock_gpu: stock.columns.get(at)?.gpu.clone(),
            on_stock: stock.mean(at).speedup?,
            published: published.as_ref().and_then(|mean| mean.speedup),
            published_in_common: published.and_then(|mean| Some(mean.in_common?.published)),
        })
    };
    let columns = papers.columns.iter().enumerate();
    columns.filter(|(at, column)| column.baseline != *at).filter_map(headline).collect()
}

/// The comparison of `line`, with the user's choices.
fn line(line: &str, args: &Args) -> Result<Line, Failure> {
    let mut words = vec!["compare"];
    words.extend(line.split_whitespace());
    let jobs = args.jobs.threads.map(|jobs| jobs.to_string());
    jobs.iter().for_each(|jobs| words.extend(["--threads", jobs]));
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
    args.check_files()?;
    let text = args.results.as_text();
    if text {
        output::print(&heading(experiment))?;
    }
    let (mut all, mut sections) = (Vec::new(), Vec::new());
    for part in experiment.parts {
        let line =
            Line::try_parse_from(["list"].into_iter().chain(part.split_whitespace())).map_err(Failure::failed)?;
        let cores = list::lists(&line.list)?.cores.unwrap_or_default();
        let areas: String = cores.iter().filter_map(|core| core.area.as_ref()).map(lists::hardware).collect();
        if text {
            let command = styled(FAINT, format!("$ warpwright list {part}"));
            output::print(&format!("\n{command}\n{areas}"))?;
        }
        let plain = anstream::adapter::strip_str(&areas).to_string();
        let body = format!("<pre>$ warpwright list {}\n{}</pre>\n", html::escaped(part), html::escaped(&plain));
        sections.push(Section { id: format!("part{}", sections.len() + 1), title: "Areas".into(), body });
        all.extend(cores);
    }
    args.page.save(|| page::comparison(experiment.paper, &about(experiment), &[], sections, version::TEXT))?;
    let Experiment { name, paper, published, .. } = experiment;
    let parts = all.iter().filter_map(|core| core.area.as_ref()).collect();
    let areas = Areas { schema: SCHEMA, figure: name, paper, published, parts };
    args.results.formats.give(&areas, || lists::tables::parts(&all))?;
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
    /// The same parts on the stock GPU, with `--stock`.
    stock: Vec<Document<'a>>,
    headlines: Vec<Headline>,
}

/// Published areas as JSON.
#[derive(Serialize)]
struct Areas<'a> {
    schema: u32,
    figure: &'a str,
    paper: &'a str,
    published: &'a str,
    parts: Vec<&'a lists::Area>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use request::{Options, Way, name};
    use std::path::Path;
    use workloads::suite;

    fn on_both(experiment: &Experiment, size: Size) -> impl Iterator<Item = String> {
        [Machines::Papers, Machines::Stock].into_iter().flat_map(move |machines| experiment.lines(size, machines))
    }

    #[test]
    fn experiments_run_on_the_papers_machine_and_on_the_stock_gpu() {
        let words = |name: &str, machines| {
            let lines: Vec<String> = experiments::find(name).unwrap().lines(Size::Medium, machines).collect();
            assert!(lines.iter().all(|line| line.contains("papers/") == (machines == Machines::Papers)), "{lines:?}");
            let words = lines[0].split_whitespace().skip_while(|word| *word != "--gpus");
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        for experiment in experiments::ALL {
            let (paper, stock) = (words(experiment.name, Machines::Papers), words(experiment.name, Machines::Stock));
            // The scheduler is a setting: `--schedulers` is refused where a column is a core without any.
            let named = |words: &[String]| words.iter().any(|word| word == "--schedulers");
            assert_eq!(named(&paper), named(&stock), "{stock:?}");
        }
        let stock = words("ghost-fig13", Machines::Stock).join(" ");
        assert!(stock.starts_with("--gpus rtx2060s ") && stock.ends_with(" --set sm.issue.scheduler=gto"), "{stock}");
        let stock = words("war-fig4", Machines::Stock).join(" ");
        assert!(stock.starts_with("--gpus gtx480 ") && !stock.ends_with("gto"), "the schedulers of the paper: {stock}");
    }

    #[test]
    fn every_experiment_is_a_comparison_that_can_be_made() {
        for experiment in experiments::ALL {
            let quiet = Results { quiet: true, ..Results::default() };
            let args = Args {
                figure: experiment.name.into(),
                stock: false,
                work: Work::default(),
                jobs: Jobs::default(),
                results: quiet,
                page: Page::default(),
            };
            for line in Size::ALL.into_iter().flat_map(|size| on_both(experiment, size)) {
                let line = self::line(&line, &args).unwrap_or_else(|e| panic!("{}: {}", experiment.name, e.message));
                let made = line.compare.options().and_then(|options| line.compare.sweep(&options));
                assert!(made.is_ok_and(|sweep| sweep.columns.len() > 1), "{}", experiment.name);
            }
        }
    }

    #[test]
    fn workloads_and_kernels_of_experiments_exist() {
        for line in experiments::ALL.iter().flat_map(|e| Size::ALL.into_iter().flat_map(|size| on_both(e, size))) {
            let mut words = line.split_whitespace();
            for workload in words.by_ref().take_while(|word| !word.starts_with("--")).filter(|word| *word != "all") {
                assert!(name::job(Path::new(workload), &Options::new(Way::Run)).is_ok(), "{workload}: {line}");
            }
            let kernels = line.split_once("--kernels ").and_then(|(_, rest)| rest.split_whitespace().next());
            for kernel in kernels.into_iter().flat_map(|names| names.split(',')) {
                let is_there = |w: &workloads::Workload| w.module.ptx.contains(&format!(".entry {kernel}("));
                assert!(suite::ALL.iter().any(is_there), "{kernel}: {line}");
            }
        }
    }
}
