//! `warpwright compare`: workloads on several machines, side by side.

use crate::failure::{Exit, Failure, Outcome};
use crate::options::{Page, Results};
use crate::progress::Board;
use crate::render::comparison::Shown;
use crate::render::{comparison, page as parts};
use crate::{interrupt, output, version};
use ::render::page;
use experiment::plan::Plan;
use experiment::runs;
use experiment::store::Point;
use lab::Job;
use request::command::{Compare, Given};
use request::comparison::{Cell, Comparison};
use request::{Options, gpu, outputs, tables, values};
use std::path::PathBuf;

/// Run workloads on several GPUs, cores, schedulers or settings and show them side by side
///
/// Each workload runs on every combination of what --gpus, --cores, --schedulers and --vary list; speedups, of the time of kernels without launch latency, are over the first combination, of the same GPU where other things vary too, or over what --over names. The order of the output does not depend on which run ends first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright compare matmul --schedulers all
  warpwright compare matmul bfs hotspot --gpus gtx480,v100,rtx3070
  warpwright compare traces/bfs traces/vecadd --gpus v100,titanv --any-architecture
  warpwright compare bfs --size medium --schedulers two_level --vary scheduler.active=4,8,16
  warpwright compare all --cores inorder,ghost --show speedup,stalls,occupancy --published
  warpwright compare all --gpus rtx2060s,v100 --cores inorder,socgpu,ghost --over inorder-war-exact
  warpwright compare gaussian:n=208 nn --cores inorder,ghost --kernels eliminate,distances
  warpwright compare nn bfs gaussian --gpu gtx480 --cores inorder,sgmf
  warpwright compare lud --cores inorder,ghost --profile
  warpwright compare my-kernel.toml --module v1.cubin,v2.cubin --profile
  warpwright compare v1.toml v2.toml --as-columns
  warpwright compare vectoradd --size medium --gpus v100 --vary clocks.core_mhz=1GHz,2GHz --vary clocks.dram_mhz=0.4GHz,0.8GHz --show time
  warpwright compare lud nw --cores inorder,ghost --html lud.html
  warpwright compare kmeans --warps-per-sm x1,x2 --register-file x1,x2
  warpwright compare nn lud --cores inorder,ghost --repeat 5
  warpwright compare all --schedulers lrr,gto --set sm.issue.schedulers=2 --json=schedulers.json")]
pub struct Args {
    /// Bundled workloads, parameters after a colon as in nn:places=4096,block=64, launch files or traces; `all` means every bundled workload, those without machine code for the GPUs left out where others have some
    #[arg(value_name = "WORKLOAD|LAUNCH.toml|KERNELSLIST.g", required = true)]
    workloads: Vec<PathBuf>,
    #[command(flatten)]
    given: Given<Compare>,
    #[command(flatten)]
    shows: Shows,
}

/// Figures of a comparison that are shown.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Shows {
    /// Figures to show [default: cycles, speedup and ipc, and what fits beside them; time if the GPUs differ]
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',', display_order = 7)]
    pub show: Vec<Shown>,
    /// Show beside speedup, stalls and occupancy the figures that papers report for the core design and a program of the same name, on the same GPU, with the same kind of code and over the same baseline
    #[arg(long, help_heading = "Output")]
    pub published: bool,
}

impl Shows {
    /// Checks that nothing is shown twice.
    pub fn check(&self) -> Result<(), Failure> {
        let shown = self.show.iter().filter_map(clap::ValueEnum::to_possible_value);
        let names: Vec<String> = shown.map(|value| value.get_name().to_owned()).collect();
        Ok(values::distinct("--show", &names)?)
    }
}

/// Maximum number of instructions that `--profile` lists for a kernel.
const PROFILE_LINES: usize = 12;

/// Runs everything and shows the tables.
pub fn run(args: &Args) -> Outcome {
    let options = args.given.options()?;
    args.shows.check()?;
    let plan = Plan::new(&options, &args.workloads)?;
    say_what_is_left_out(&plan, &options);
    check_files(&options, &plan, &[])?;
    interrupt::install()?;
    let points: Vec<&Point> = plan.points.iter().collect();
    let cells = runs::run_all(&points, plan.threads(), None, &Board::new(options.quiet, points.len()));
    check_time(&cells)?;
    let comparison = plan.compared(cells);
    show(&args.shows, &options, &comparison)?;
    Ok(exit(&comparison))
}

/// How a command ends that has made this comparison.
pub fn exit(comparison: &Comparison) -> Exit {
    let all = || std::iter::once(comparison).chain(&comparison.again);
    match () {
        () if interrupt::requested() => Exit::Interrupted,
        () if all().any(|one| one.failures().next().is_some()) => Exit::Failed,
        () => Exit::Success,
    }
}

/// Names the workloads that `all` leaves out.
pub fn say_what_is_left_out(plan: &Plan, options: &Options) {
    let remark = |left_out: &[&str], why, hint| {
        if !left_out.is_empty() && !options.quiet {
            output::remark(&format!("left out for lack of {why} every GPU: {}{hint}\n", left_out.join(", ")));
        }
    };
    remark(&plan.sweep.left_out, "machine code for", " (--code ptx runs all)");
    remark(&plan.sweep.of_other_gpus, "their instructions on", "");
}

/// Whether `--time` names launches of some workload.
pub fn check_time(cells: &[Cell]) -> Result<(), Failure> {
    let reports: Vec<_> = cells.iter().filter_map(Cell::complete).collect();
    if reports.len() < cells.len() {
        return Ok(());
    }
    let samplings: Vec<_> = reports.iter().filter_map(|report| report.sampling.as_ref()).collect();
    let nowhere = |part: &&String| samplings.iter().all(|sampling| sampling.unmatched.contains(part));
    let Some((first, part)) = samplings.first().and_then(|first| Some((first, first.unmatched.iter().find(nowhere)?)))
    else {
        return Ok(());
    };
    let others = if cells.len() > 1 { "; the others do not have it either" } else { "" };
    Err(Failure::bad_input(format!("--time: {}{others}", first.names_nothing(part))))
}

/// Checks that what is written can be, and is not what is read; `further` files are written too.
pub fn check_files(options: &Options, plan: &Plan, further: &[PathBuf]) -> Result<(), Failure> {
    Results::of(options).formats.files()?;
    let written = outputs::files(options).into_iter().chain(further.iter().cloned());
    let outputs: Vec<PathBuf> = written.chain(plan.jobs.iter().flat_map(Job::outputs)).collect();
    if outputs.is_empty() {
        return Ok(());
    }
    let described = plan.sweep.columns.iter().flat_map(|column| gpu::files(&column.gpu_path));
    let energies = plan.sweep.setups.iter().filter_map(|setup| gpu::energy_file(&setup.gpu));
    let model = options.energy_model.iter().map(|model| model.0.clone());
    let inputs: Vec<PathBuf> =
        plan.jobs.iter().flat_map(Job::inputs).chain(described).chain(energies).chain(model).collect();
    // A launch file that runs on several machines writes its results each time.
    output::check(outputs.iter().map(PathBuf::as_path), &inputs)
}

/// A comparison as text.
pub fn text(shows: &Shows, options: &Options, comparison: &Comparison) -> String {
    let mut text = comparison::render(comparison, &shows.show, shows.published);
    let versions = if comparison.has_versions() { comparison::versions(comparison) } else { String::new() };
    let profiles = if options.profile { comparison::profiles(comparison, PROFILE_LINES) } else { String::new() };
    for part in [versions, profiles].iter().filter(|part| !part.is_empty()) {
        text.push('\n');
        text += part;
    }
    text
}

/// Gives a comparison in all forms that are asked for.
pub fn show(shows: &Shows, options: &Options, comparison: &Comparison) -> Result<(), Failure> {
    let results = Results::of(options);
    if results.quiet {
        for (workload, column, why) in comparison.failures() {
            output::error(&format!("{workload} on {}: {why}", column.label));
        }
    } else if results.as_text() {
        output::print(&text(shows, options, comparison))?;
    }
    let about = "Designs side by side. Cycles, times and speedups are of kernels, without launch latency.".to_owned();
    let title = comparison.workloads.join(", ");
    let page = || page::comparison(&title, &[about], &[parts::part(comparison, None)], Vec::new(), version::TEXT);
    Page::of(options).save(page)?;
    let document = comparison.document();
    if options.profile {
        results.formats.give(&document, || tables::of_profiles(comparison, version::COMMIT))
    } else {
        results.formats.give(&document, || tables::of_comparisons(&[(comparison, None)], version::COMMIT))
    }
}
