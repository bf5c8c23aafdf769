//! `warpwright sweep`: comparisons whose runs are kept, and experiments as files.

use super::areas::areas;
use super::compare::{self, Shows};
use super::keeping::{Asked, Engine, Keeping};
use super::on_slurm::by_slurm;
use super::results_folder::{SCHEMA, about, heading, in_folder, made_folder, of_claim, of_part, title, write_folder};
use crate::failure::{Exit, Failure, Outcome};
use crate::options::{Page, Results};
use crate::progress::Board;
use crate::render::claims;
use crate::render::comparison::Shown;
use crate::render::page as parts;
use crate::render::plots;
use crate::render::style::{FAINT, HEADING, styled};
use crate::{interrupt, output, version};
use ::render::number;
use ::render::page::{self, Section, html};
use clap::ValueEnum;
use experiment::claim::Judged;
use experiment::file::{self, Experiment, Machines, Named, Part};
use experiment::plan::{Estimate, Plan, Runs};
use experiment::runs;
use experiment::store::{Key, Store};
use request::chance::Spread;
use request::command::{Given, Sweep};
use request::comparison::{Cell, Column, Comparison, Document};
use request::{Options, tables};
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Run a comparison or an experiment and store each run: it can be stopped, continued and changed, and only missing runs are made
///
/// A stored run is identified by everything that its results depend on: program, inputs, GPU description, core, options, and the simulator's model. Another comparison with the same run reads it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright sweep lud nn bfs --cores inorder,ghost --vary core.issue_buffer=4,8,16 --repeat 5
  warpwright sweep lud nn bfs --cores inorder,ghost --dry-run
  warpwright sweep ghost-fig16 --repeat 3 --out ghost-fig16
  warpwright sweep experiment.toml --threads 8
  warpwright sweep experiment.toml --share 2/16 --points /shared/points")]
pub struct Args {
    /// File of an experiment (`warpwright docs experiments`), figure of a paper (`warpwright list figures`), or workloads as for `compare`
    #[arg(value_name = "EXPERIMENT.toml|FIGURE|WORKLOAD", required = true)]
    what: Vec<PathBuf>,
    #[command(flatten)]
    given: Given<Sweep>,
    #[command(flatten)]
    shows: Shows,
    #[command(flatten)]
    keeping: Keeping,
}

/// Runs the comparison or the experiment.
pub fn run(args: &Args) -> Outcome {
    args.shows.check()?;
    let options = args.given.options()?;
    let asked = Asked { what: &args.what, texts: args.given.texts(), options: &options, keeping: &args.keeping };
    if let [what] = &args.what[..]
        && let Some(Named { name, experiment, folder }) = Named::find(what)?
    {
        if !args.shows.show.is_empty() || args.shows.published {
            return Err(Failure::bad_input("an experiment's parts set --show and --published"));
        }
        return Ok(of_experiment(&name, &experiment, &folder, &asked)?.0);
    }
    if args.keeping.stock {
        return Err(Failure::bad_input("--stock is for experiments of papers (`warpwright list figures`)"));
    }
    let folder = made_folder(&options)?;
    let plan = Plan::new(&options, &args.what)?;
    compare::say_what_is_left_out(&plan, &options);
    compare::check_files(&options, &plan, &in_folder(&options, std::iter::once(of_part(1))))?;
    let plans = [plan];
    let Some(mut all) = made(&plans, &asked)? else { return Ok(ended()) };
    let comparison = all.pop().unwrap_or_default();
    compare::show(&args.shows, &options, &comparison)?;
    let text = compare::text(&args.shows, &options, &comparison);
    let title = comparison.workloads.join(", ");
    let page = || page::comparison(&title, &[], &[parts::part(&comparison, None)], Vec::new(), version::TEXT);
    let rows = || tables::of_comparisons(&[(&comparison, None)], version::COMMIT);
    let pictures: Vec<_> =
        plots::of_comparison(&comparison, &args.shows.show, None).map(|plot| (of_part(1), plot)).into_iter().collect();
    write_folder(&options, &text, &comparison.document(), rows, page, &pictures)?;
    folder.keep();
    Ok(compare::exit(&comparison))
}

/// Exit status of a share or a dry run.
fn ended() -> Exit {
    if interrupt::requested() { Exit::Interrupted } else { Exit::Success }
}

/// The folder of the runs.
fn store(keeping: &Keeping) -> Result<Store, Failure> {
    let folder = keeping.points.clone().or_else(Store::usual_folder).ok_or_else(|| {
        Failure::bad_input("XDG_CACHE_HOME and HOME name no cache folder; give a folder for the runs with --points")
    })?;
    Ok(Store::new(folder))
}

/// Makes the comparisons of `plans`. `None` for a dry run or a share.
fn made(plans: &[Plan], asked: &Asked<'_>) -> Result<Option<Vec<Comparison>>, Failure> {
    let Asked { options, keeping, .. } = *asked;
    let store = store(keeping)?;
    let runs = Runs::of(plans, &store);
    let threads = plans.first().map_or(1, Plan::threads);
    if !options.quiet {
        output::remark(&plan_text(&runs, &runs.estimate(threads), threads));
    }
    if keeping.dry_run {
        let lines: String = runs.left.iter().map(|point| point.described() + "\n").collect();
        output::print(&lines)?;
        return Ok(None);
    }
    interrupt::install()?;
    let left = match (keeping.engine, keeping.share) {
        (Engine::Slurm, _) => {
            by_slurm(&runs, &store, asked)?;
            runs.left.iter().copied().filter(|point| !point.can_be_kept()).collect()
        }
        (Engine::Here, Some(share)) => runs.share(share.number, share.of),
        (Engine::Here, None) => runs.left.clone(),
    };
    let board = Board::new(options.quiet, left.len());
    let cells = runs::run_all(&left, threads, Some(&store), &board);
    drop(board);
    if keeping.share.is_some() {
        let failed = cells.iter().zip(&left).filter_map(|(cell, point)| Some((point, cell.reason()?)));
        let failed: Vec<String> = failed.map(|(point, why)| format!("{}: {why}", point.described())).collect();
        return if failed.is_empty() { Ok(None) } else { Err(Failure::failed(failed.join("\n"))) };
    }
    let ran: HashMap<&Key, Cell> = left.iter().map(|point| point.key()).zip(cells).collect();
    let board = Board::new(true, 0);
    let complete = |plan: &Plan| {
        let cells = runs::outcomes(plan, &ran, &store, &board);
        compare::check_time(&cells)?;
        Ok(plan.compared(cells))
    };
    plans.iter().map(complete).collect::<Result<Vec<_>, Failure>>().map(Some)
}

/// Number of runs, and the time of the missing ones.
fn plan_text(runs: &Runs<'_>, estimate: &Estimate, threads: usize) -> String {
    let (all, left) = (runs.count(), runs.left.len());
    let mut text = match all - left {
        0 => number::counted(all as u64, "run"),
        kept => format!("{}, {kept} of them kept", number::counted(all as u64, "run")),
    };
    if left > 0 {
        let (time, most) = (estimate.time.as_secs_f64(), estimate.at_most.as_secs_f64());
        let on = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let unknown = match estimate.unknown {
            0 => String::new(),
            unknown => format!("; of {unknown} of them nothing is known"),
        };
        text += &format!(
            "; what is left takes about {}, at most some {}, on {on}{unknown}",
            number::about_seconds(time),
            number::about_seconds(most)
        );
    }
    text + "\n"
}

/// Runs every bundled experiment, each with its own folder in the requested one, and shows the claims of all papers.
fn of_all(asked: &Asked<'_>) -> Outcome {
    let Options { json, csv, html, out, .. } = asked.options;
    if json.is_some() || csv.is_some() || html.is_some() {
        let why = "`all` has several results: --out FOLDER writes each figure's to a folder in it";
        return Err(Failure::bad_input(why));
    }
    let folder = made_folder(asked.options)?;
    let as_text = Results::of(asked.options).as_text();
    let (mut all, mut figures) = (Exit::Success, Vec::new());
    for (name, experiment) in file::bundled() {
        let options = Options { out: out.as_ref().map(|folder| folder.join(name)), ..asked.options.clone() };
        let of_one = Asked { what: &[name.into()], options: &options, ..*asked };
        let (exit, claims) = of_experiment(name, &experiment, Path::new(""), &of_one)?;
        figures.push(claims::Figure { name: name.to_owned(), paper: experiment.paper().to_owned(), claims });
        all = all.and(exit);
        if interrupt::requested() {
            return Ok(all);
        }
        if as_text {
            output::print("\n")?;
        }
    }
    if asked.keeping.dry_run || asked.keeping.share.is_some() {
        return Ok(all);
    }
    let mut text = String::new();
    for (paper, figures) in claims::by_paper(&figures) {
        let claims: Vec<_> = figures.iter().flat_map(|figure| figure.claims.clone()).collect();
        if !claims.is_empty() {
            text += &format!("{}\n{}\n", styled(HEADING, paper), claims::table_text(&claims));
        }
    }
    if as_text {
        output::print(&text)?;
    }
    if let Some(out) = out {
        let plain = anstream::adapter::strip_str(&text).to_string();
        output::save(&out.join("claims.txt"), plain.as_bytes())?;
        output::save(&out.join("index.html"), claims::page(&figures).as_bytes())?;
        output::save(&out.join("claims.md"), claims::markdown(&figures).as_bytes())?;
    }
    folder.keep();
    Ok(all)
}

/// The bundled experiment called `name`, or all of them.
pub fn of_figure(name: &str, asked: &Asked<'_>) -> Outcome {
    if name == request::values::EVERY {
        return of_all(asked);
    }
    let text = file::find(name).ok_or_else(|| {
        let known: Vec<&str> = file::BUNDLED.iter().map(|(name, _)| *name).collect();
        Failure::unknown("experiment", name, &known)
    })?;
    Ok(of_experiment(name, &Experiment::read(text)?, Path::new(""), asked)?.0)
}

/// Runs the parts of an experiment and shows them, with the paper's claims, if it has any.
fn of_experiment(
    name: &str,
    experiment: &Experiment,
    folder: &Path,
    asked: &Asked<'_>,
) -> Result<(Exit, Vec<Judged>), Failure> {
    let Asked { options, keeping, .. } = *asked;
    let results = Results::of(options);
    results.formats.files()?;
    if !experiment.areas().is_empty() {
        return areas(name, experiment, options);
    }
    let given = asked.of_runs();
    let mut all = experiment.parts(folder, &given, Machines::Named)?;
    let named = all.len();
    if keeping.stock {
        all.extend(experiment.parts(folder, &given, Machines::Stock)?);
    }
    let shows = all.iter().map(shows_of).collect::<Result<Vec<_>, _>>()?;
    let plan = |(at, part): (usize, &Part)| {
        let plan = Plan::new(&part.options, &part.workloads).and_then(|plan| plan.with_figures(part.figures.clone()));
        plan.map_err(|e| Failure::bad_input(format!("part {}: {e}", at % named + 1)))
    };
    let plans = all.iter().enumerate().map(plan).collect::<Result<Vec<_>, Failure>>()?;
    let folder_of_results = made_folder(options)?;
    let correlations: Vec<_> = experiment.correlations().collect();
    for (at, ((plan, part), shows)) in plans.iter().zip(&all).zip(&shows).enumerate() {
        let drawn = plots::check(part.plot, &shows.show, &plan.sweep.columns);
        drawn.map_err(|why| Failure::bad_input(format!("part {}: {why}", at % named + 1)))?;
        let claims = correlations.iter().map(|(number, _)| of_claim(*number));
        compare::check_files(options, plan, &in_folder(options, (1..=plans.len()).map(of_part).chain(claims)))?;
    }
    let Some(comparisons) = made(&plans, asked)? else { return Ok((ended(), Vec::new())) };
    let (papers, stock) = comparisons.split_at(named);
    let headlines = headlines(papers, stock);
    let means: Vec<String> = headlines.iter().map(|headline| headline.text(named)).collect();
    let mut text = heading(experiment, name);
    for ((part, shows), comparison) in all.iter().zip(&shows).zip(&comparisons) {
        let command = styled(FAINT, format!("$ {}", part.command));
        text += &format!("\n{command}\n{}", compare::text(shows, &part.options, comparison));
    }
    if !means.is_empty() {
        let title = styled(HEADING, "Geometric means of speedups on both machines");
        text += &format!("\n{title}\n{}\n", means.join("\n"));
    }
    let judged = experiment.judged(papers);
    text += &claims::text(&judged);
    if results.as_text() {
        output::print(&text)?;
    }
    let page = || page_of(experiment, name, &comparisons, &all, &means, &judged);
    Page::of(options).save(page)?;
    let document = Reproduced {
        schema: SCHEMA,
        figure: name,
        paper: &experiment.title,
        published: &experiment.published,
        size: all.first().and_then(|part| part.options.size).unwrap_or_default().name(),
        parts: papers.iter().map(Comparison::document).collect(),
        stock: stock.iter().map(Comparison::document).collect(),
        headlines: &headlines,
        claims: &judged,
    };
    let rows = || {
        let papers = papers.iter().enumerate().map(|part| ("paper", part));
        let all = papers.chain(stock.iter().enumerate().map(|part| ("stock", part)));
        let part = |(machines, (at, one))| (one, Some(tables::ExperimentPart { machines, number: at + 1 }));
        tables::of_comparisons(&all.map(part).collect::<Vec<_>>(), version::COMMIT)
    };
    results.formats.give(&document, rows)?;
    let of_parts = comparisons.iter().zip(&shows).zip(&all).enumerate();
    let of_parts = of_parts.filter_map(|(at, ((comparison, shows), part))| {
        Some((of_part(at + 1), plots::of_comparison(comparison, &shows.show, part.plot)?))
    });
    let of_claims = correlations
        .iter()
        .filter_map(|(number, claim)| Some((of_claim(*number), plots::of_correlation(papers, *claim)?)));
    let pictures: Vec<_> = of_parts.chain(of_claims).collect();
    write_folder(options, &text, &document, rows, page, &pictures)?;
    folder_of_results.keep();
    Ok((comparisons.iter().map(compare::exit).fold(Exit::Success, Exit::and), judged))
}

/// Figures that a part shows.
fn shows_of(part: &Part) -> Result<Shows, Failure> {
    let known = || Shown::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let shown = |name: &String| {
        Shown::from_str(name, false).map_err(|_| {
            let known: Vec<String> = known().map(|value| value.get_name().to_owned()).collect();
            Failure::unknown("figure to show", name, &known.iter().map(String::as_str).collect::<Vec<_>>())
        })
    };
    let show = part.show.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    let shows = Shows { show, published: part.published };
    shows.check()?;
    Ok(shows)
}

/// The comparisons as a page, each with its command.
fn page_of(
    experiment: &Experiment,
    name: &str,
    comparisons: &[Comparison],
    all: &[Part],
    means: &[String],
    judged: &[Judged],
) -> String {
    let parts = comparisons.iter().zip(all).map(|(one, part)| parts::part(one, Some(part.command.clone())));
    let rows: String = means.iter().map(|line| html::note(line.trim())).collect();
    let means = (!rows.is_empty()).then(|| Section {
        id: "means".into(),
        title: "Geometric means of speedups on both machines".into(),
        body: rows,
    });
    let further = means.into_iter().chain(claims::section(judged)).collect();
    page::comparison(title(experiment, name), &about(experiment), &parts.collect::<Vec<_>>(), further, version::TEXT)
}

/// The mean speedup of a column on the paper's machine and on the stock GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Headline {
    /// The first part with the column, from 1.
    part: usize,
    /// The column on the paper's machine.
    label: String,
    papers_machine: String,
    on_papers: f64,
    /// The same over the repeats, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats_on_papers: Option<Spread>,
    stock_gpu: String,
    on_stock: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats_on_stock: Option<Spread>,
    /// The paper's mean over all its programs.
    published: Option<f64>,
    /// The paper's mean over the programs that ran here.
    published_in_common: Option<f64>,
}

impl Headline {
    /// As a line of an experiment with `parts` parts.
    fn text(&self, parts: usize) -> String {
        let Self { part, label, papers_machine, stock_gpu, .. } = self;
        let mean = |one: f64, repeats: Option<Spread>| match repeats {
            Some(repeats) => format!("{:.3} ±{:.3}", repeats.mean, repeats.half),
            None => format!("{one:.3}"),
        };
        let on_papers = mean(self.on_papers, self.repeats_on_papers);
        let on_stock = mean(self.on_stock, self.repeats_on_stock);
        let in_common = self.published_in_common.map(|mean| format!(", {mean:.3} for these programs"));
        let published = self.published.map(|mean| format!("; published {mean:.3}{}", in_common.unwrap_or_default()));
        let published = published.unwrap_or_default();
        let part = if parts > 1 { format!("part {part}, ") } else { String::new() };
        format!("  {part}{label}: {on_papers} on {papers_machine}, {on_stock} on {stock_gpu}{published}")
    }
}

/// The columns of all parts, except baselines, of which both means are known. A column that a later part shows again,
/// with the same figures, is listed once.
fn headlines(papers: &[Comparison], stock: &[Comparison]) -> Vec<Headline> {
    let mut all: Vec<Headline> = Vec::new();
    for (at, (papers, stock)) in papers.iter().zip(stock).enumerate() {
        for headline in headlines_of_part(at + 1, papers, stock) {
            if !all.iter().any(|listed| Headline { part: listed.part, ..headline.clone() } == *listed) {
                all.push(headline);
            }
        }
    }
    all
}

fn headlines_of_part(part: usize, papers: &Comparison, stock: &Comparison) -> Vec<Headline> {
    let headline = |(at, column): (usize, &Column)| {
        let published = papers.published_mean(at);
        let (on_papers, on_stock) = (papers.mean(at), stock.mean(at));
        Some(Headline {
            part,
            label: column.label.clone(),
            papers_machine: column.gpu.clone(),
            on_papers: on_papers.speedup?,
            repeats_on_papers: on_papers.repeats,
            stock_gpu: stock.columns.get(at)?.gpu.clone(),
            on_stock: on_stock.speedup?,
            repeats_on_stock: on_stock.repeats,
            published: published.as_ref().and_then(|mean| mean.speedup),
            published_in_common: published.and_then(|mean| Some(mean.in_common?.published)),
        })
    };
    let columns = papers.columns.iter().enumerate();
    columns.filter(|(at, column)| column.baseline != *at).filter_map(headline).collect()
}

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
    headlines: &'a [Headline],
    claims: &'a [Judged],
}
