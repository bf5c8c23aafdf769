//! `warpwright compare`: workloads on several machines, side by side.

use crate::failure::{Exit, Failure, Outcome};
use crate::options::{Page, Results};
use crate::progress::{Board, BoardWatch};
use crate::render::comparison::Shown;
use crate::render::{comparison, page as parts};
use crate::{interrupt, output, version};
use ::render::page;
use lab::{Job, Setup};
use request::command::{Compare, Given};
use request::comparison::{Cell, Comparison};
use request::sweep::Sweep;
use request::{Options, gpu, name, outputs, tables, values};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use workloads::Form;

/// Run workloads on several GPUs, cores, schedulers or settings and show them side by side
///
/// Each workload runs on every combination of what --gpus, --cores, --schedulers and --vary list; speedups, of the time of kernels without launch latency, are over the first combination or over the core that --over names. The order of the output does not depend on which run ends first.
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
  warpwright compare vectoradd --size medium --gpus v100 --vary clocks.core_mhz=1GHz,2GHz --vary clocks.dram_mhz=0.4GHz,0.8GHz --show time
  warpwright compare lud nw --cores inorder,ghost --html lud.html
  warpwright compare kmeans --warps-per-sm x1,x2 --register-file x1,x2
  warpwright compare all --schedulers lrr,gto --set sm.issue.schedulers=2 --json=schedulers.json")]
pub struct Args {
    /// Bundled workloads, parameters after a colon as in nn:places=4096,block=64, launch files or traces; `all` means every bundled workload, those without machine code for the GPUs left out where others have some
    #[arg(value_name = "WORKLOAD|LAUNCH.toml|KERNELSLIST.g", required = true)]
    workloads: Vec<PathBuf>,
    #[command(flatten)]
    given: Given<Compare>,
    /// Figures to show [default: cycles, speedup and ipc, and what fits beside them; time if the GPUs differ]
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',', help_heading = "Output")]
    show: Vec<Shown>,
    /// Show beside speedup, stalls and occupancy the figures that papers report for the core design and a program of the same name, on the same GPU, with the same kind of code and over the same baseline
    #[arg(long, help_heading = "Output")]
    published: bool,
}

impl Args {
    /// The options of the runs.
    pub fn options(&self) -> Result<Options, Failure> {
        Ok(self.given.options()?)
    }

    /// The machines that `options`, its own, ask for.
    pub fn sweep(&self, options: &Options) -> Result<Sweep, Failure> {
        Ok(Sweep::new(options, &self.workloads)?)
    }
}

/// Maximum number of instructions that `--profile` lists for a kernel.
const PROFILE_LINES: usize = 12;

/// Runs everything and shows the tables.
pub fn run(args: &Args) -> Outcome {
    let options = args.options()?;
    let (comparison, exit) = compared(args, &options)?;
    show(args, &options, &comparison)?;
    Ok(exit)
}

/// Runs everything; returns the results and the exit status.
pub fn compared(args: &Args, options: &Options) -> Result<(Comparison, Exit), Failure> {
    let shown = args.show.iter().filter_map(clap::ValueEnum::to_possible_value);
    values::distinct("--show", &shown.map(|value| value.get_name().to_owned()).collect::<Vec<_>>())?;
    let sweep = args.sweep(options)?;
    if !sweep.left_out.is_empty() && !options.quiet {
        let names = sweep.left_out.join(", ");
        output::remark(&format!("left out for lack of machine code for every GPU: {names} (--code ptx runs all)\n"));
    }
    let jobs = sweep.workloads.iter().map(|w| name::job(w, options)).collect::<Result<Vec<_>, _>>()?;
    check_files(options, &sweep, &jobs)?;
    interrupt::install()?;
    let (codes, remarks): (Vec<Form>, Vec<Option<String>>) = sweep.codes(options).into_iter().unzip();
    let Sweep { workloads, columns, setups, .. } = sweep;
    let workloads: Vec<String> = workloads.iter().map(|w| w.display().to_string()).collect();
    let run = |(job, &code)| setups.iter().map(move |setup| (Setup { code, ..setup.clone() }, job));
    let runs: Vec<(Setup, &Job)> = jobs.iter().zip(&codes).flat_map(run).collect();
    let threads = setups.first().map_or(1, |setup| setup.threads.total());
    let cells = run_all(&runs, threads, options.quiet);
    check_time(&cells)?;
    let comparison = Comparison { workloads, codes, remarks, columns, cells }.with_remarks_in_reports();
    let comparison = if options.kernels.is_empty() { comparison } else { comparison.by_kernel(&options.kernels) };
    let exit = match () {
        () if interrupt::requested() => Exit::Interrupted,
        () if comparison.failures().next().is_some() => Exit::Failed,
        () => Exit::Success,
    };
    Ok((comparison, exit))
}

/// Whether `--time` names launches of some workload.
fn check_time(cells: &[Cell]) -> Result<(), Failure> {
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

/// Checks that what is written can be, and is not what is read.
fn check_files(options: &Options, sweep: &Sweep, jobs: &[Job]) -> Result<(), Failure> {
    Results::of(options).formats.files()?;
    let outputs: Vec<PathBuf> = outputs::files(options).into_iter().chain(jobs.iter().flat_map(Job::outputs)).collect();
    if outputs.is_empty() {
        return Ok(());
    }
    let described = sweep.columns.iter().flat_map(|column| gpu::files(&column.gpu_path));
    let energies = sweep.setups.iter().filter_map(|setup| gpu::energy_file(&setup.gpu));
    let model = options.energy_model.iter().map(|model| model.0.clone());
    let inputs: Vec<PathBuf> =
        jobs.iter().flat_map(Job::inputs).chain(described).chain(energies).chain(model).collect();
    // A launch file that runs on several machines writes its results each time.
    output::check(outputs.iter().map(PathBuf::as_path), &inputs)
}

/// A comparison as text, with what `args` ask for.
pub fn text(args: &Args, options: &Options, comparison: &Comparison) -> String {
    let mut text = comparison::render(comparison, &args.show, args.published);
    if options.profile {
        text.push('\n');
        text += &comparison::profiles(comparison, PROFILE_LINES);
    }
    text
}

fn show(args: &Args, options: &Options, comparison: &Comparison) -> Result<(), Failure> {
    let results = Results::of(options);
    if results.quiet {
        for (workload, column, why) in comparison.failures() {
            output::error(&format!("{workload} on {}: {why}", column.label));
        }
    } else if results.as_text() {
        output::print(&text(args, options, comparison))?;
    }
    let about = "Designs side by side. Cycles, times and speedups are of kernels, without launch latency.".to_owned();
    let title = comparison.workloads.join(", ");
    let page = || page::comparison(&title, &[about], &[parts::part(comparison, None)], Vec::new(), version::TEXT);
    Page::of(options).save(page)?;
    let document = comparison.document();
    if options.profile {
        results.formats.give(&document, || tables::of_profiles(comparison))
    } else {
        results.formats.give(&document, || tables::of_comparison(comparison, None))
    }
}

/// Runs everything on a few threads; the cells come back in the order of `runs`.
fn run_all(runs: &[(Setup, &Job)], threads: usize, quiet: bool) -> Vec<Cell> {
    let board = Board::new(quiet, runs.len());
    let next = AtomicUsize::new(0);
    let cells: Vec<Mutex<Option<Cell>>> = runs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(runs.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((setup, job)) = runs.get(index) else { break };
                    let cell = run_one(setup, job, &mut board.watch());
                    *cells[index].lock().expect("nothing panics while it holds this") = Some(cell);
                }
            });
        }
    });
    cells.into_iter().map(|c| c.into_inner().ok().flatten().unwrap_or(Cell::Interrupted(None))).collect()
}

fn run_one(setup: &Setup, job: &Job, watch: &mut BoardWatch<'_>) -> Cell {
    if interrupt::requested() {
        return Cell::Interrupted(None);
    }
    // A defect of the simulator that one run meets must not take the other runs' results along.
    match catch_unwind(AssertUnwindSafe(|| lab::run(setup, job, watch))) {
        Ok(Ok(report)) if interrupt::requested() && report.interrupted => Cell::Interrupted(Some(Box::new(report))),
        Ok(Ok(report)) => match comparison::wrong_result(&report) {
            Some(why) => Cell::Failed(why, Some(Box::new(report))),
            None => Cell::Complete(Box::new(report)),
        },
        Ok(Err(error)) => Cell::Failed(error.message, error.partial),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Cell::Failed(format!("a defect of warpwright: {}; please report it", text.unwrap_or("no message")), None)
        }
    }
}
