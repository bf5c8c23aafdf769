//! `warpwright compare`: workloads on several machines, side by side.

use crate::changes::Changes;
use crate::comparison::{Axis, Cell, Column, Comparison, Shown};
use crate::failure::{Exit, Failure, Outcome};
use crate::lookup::{self, Input};
use crate::options::{Checks, Jobs, LIVELOCK_CYCLES, Page, Results, Timed};
use crate::progress::{Board, BoardWatch};
use crate::render::{comparison, page as parts};
use crate::variations;
use crate::{interrupt, output, simulator, tables, version};
use ::render::page;
use config::GpuConfig;
use lab::{Job, Setup};
use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
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
    /// GPUs: names, paths of descriptions, or `all` [default: that of all launch files here, else rtx2060s]
    #[arg(long, alias = "gpu", value_name = "A,B", value_delimiter = ',')]
    gpus: Vec<PathBuf>,
    /// Core designs with their parameters, such as ghost:issue_buffer=16,guarded=false, or `all`
    #[arg(long, alias = "core", value_name = "A,B", value_delimiter = ',', default_value = "inorder")]
    cores: Vec<String>,
    /// Core design that speedups and other relative figures are over, for each column on the same GPU with the same scheduler and settings; it runs even if --cores leaves it out [default: the first column]
    #[arg(long, value_name = "CORE")]
    over: Option<String>,
    /// Warp schedulers with their parameters, such as two_level:active=4, or `all` [default: the GPU description's]
    #[arg(long, alias = "scheduler", value_name = "A,B", value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Values to compare: of the GPU description, as sm.issue.schedulers=1,2,4, or of a parameter of the cores or the schedulers that have it, as core.issue_buffer=4,8,16 or scheduler.active=4,8; several of these are combined, and two are shown as a grid
    #[arg(long, value_name = "KEY=A,B")]
    vary: Vec<String>,
    /// Show the launches of these kernels only, a row for each, in place of whole workloads
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    kernels: Vec<String>,
    #[command(flatten)]
    time: Timed,
    #[command(flatten)]
    checks: Checks,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct Output {
    /// What to show [default: cycles, speedup and ipc, and what fits beside them; time if the GPUs differ]
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',')]
    show: Vec<Shown>,
    /// Show beside speedup, stalls and occupancy the figures that papers report for the core design and a program of the same name, on the same GPU, with the same kind of code and over the same baseline
    #[arg(long)]
    published: bool,
    /// Show which instructions each machine helps or hurts: the issue slots that each takes in the first column and the change in the others. The rows of --csv are then instructions
    #[arg(long)]
    profile: bool,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    page: Page,
}

/// Maximum number of instructions that `--profile` lists for a kernel.
const PROFILE_LINES: usize = 12;

/// Runs everything and shows the tables.
pub fn run(args: &Args) -> Outcome {
    let (comparison, exit) = compared(args)?;
    show(args, &comparison)?;
    Ok(exit)
}

/// Runs everything; returns the results and the exit status.
pub fn compared(args: &Args) -> Result<(Comparison, Exit), Failure> {
    check_lists(args)?;
    let (columns, mut setups): (Vec<Column>, Vec<Setup>) = machines(args)?.into_iter().unzip();
    let host = args.output.jobs.host();
    setups.iter_mut().for_each(|setup| setup.threads = host.clone());
    let paths: Vec<PathBuf> = columns.iter().map(|column| column.gpu_path.clone()).collect();
    let workloads = workloads(args, &setups);
    let jobs = workloads.iter().map(|w| lookup::job(w, &args.input)).collect::<Result<Vec<_>, _>>()?;
    variations::check_size(jobs.len() as u64, columns.len() as u64)?;
    let workloads: Vec<String> = workloads.iter().map(|w| w.display().to_string()).collect();
    check_files(args, &paths, &jobs, &setups)?;
    interrupt::install()?;
    let (gpus, cores) = (gpus(&setups), cores(&setups));
    let codes: Vec<Form> = workloads.iter().map(|w| args.input.form(w, &gpus, &cores)).collect();
    let run = |(job, &code)| setups.iter().map(move |setup| (Setup { code, ..setup.clone() }, job));
    let runs: Vec<(Setup, &Job)> = jobs.iter().zip(&codes).flat_map(run).collect();
    let cells = run_all(&runs, host.total(), args.output.results.quiet);
    check_time(&cells)?;
    let remarks = workloads.iter().map(|w| args.input.remark(w, &gpus, &cores)).collect();
    let comparison = Comparison { workloads, codes, remarks, columns, cells }.with_remarks_in_reports();
    let comparison = if args.kernels.is_empty() { comparison } else { comparison.by_kernel(&args.kernels) };
    let exit = match () {
        () if interrupt::requested() => Exit::Interrupted,
        () if comparison.failures().next().is_some() => Exit::Failed,
        () => Exit::Success,
    };
    Ok((comparison, exit))
}

/// Checks that lists have each thing once.
fn check_lists(args: &Args) -> Result<(), Failure> {
    lookup::distinct("workload", &args.workloads)?;
    lookup::distinct("--gpus", &args.gpus)?;
    lookup::distinct("--cores", &variations::whole_names(&args.cores))?;
    lookup::distinct("--schedulers", &variations::whole_names(&args.schedulers))?;
    lookup::distinct("--kernels", &args.kernels)?;
    let shown = args.output.show.iter().filter_map(clap::ValueEnum::to_possible_value);
    lookup::distinct("--show", &shown.map(|value| value.get_name().to_owned()).collect::<Vec<_>>())
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
fn check_files(args: &Args, gpus: &[PathBuf], jobs: &[Job], setups: &[Setup]) -> Result<(), Failure> {
    let page = args.output.page.html.as_deref();
    let files = args.output.results.formats.files()?.into_iter().chain(page).map(Path::to_owned);
    let outputs: Vec<PathBuf> = files.chain(jobs.iter().flat_map(Job::outputs)).collect();
    if outputs.is_empty() {
        return Ok(());
    }
    let described = gpus.iter().flat_map(|gpu| lookup::gpu_files(gpu));
    let energies = setups.iter().filter_map(|setup| lookup::energy_file(&setup.gpu));
    let inputs: Vec<PathBuf> = jobs.iter().flat_map(Job::inputs).chain(described).chain(energies).collect();
    // A launch file that runs on several machines writes its results each time.
    output::check(outputs.iter().map(PathBuf::as_path), &inputs)
}

/// A comparison as text, with what `args` ask for.
pub fn text(args: &Args, comparison: &Comparison) -> String {
    let mut text = comparison::render(comparison, &args.output.show, args.output.published);
    if args.output.profile {
        text.push('\n');
        text += &comparison::profiles(comparison, PROFILE_LINES);
    }
    text
}

fn show(args: &Args, comparison: &Comparison) -> Result<(), Failure> {
    let results = &args.output.results;
    if results.quiet {
        for (workload, column, why) in comparison.failures() {
            output::error(&format!("{workload} on {}: {why}", column.label));
        }
    } else if results.as_text() {
        output::print(&text(args, comparison))?;
    }
    let about = "Designs side by side. Cycles, times and speedups are of kernels, without launch latency.".to_owned();
    let title = comparison.workloads.join(", ");
    let page = || page::comparison(&title, &[about], &[parts::part(comparison, None)], Vec::new(), version::TEXT);
    args.output.page.save(page)?;
    let document = comparison.document();
    if args.output.profile {
        results.formats.give(&document, || tables::of_profiles(comparison))
    } else {
        results.formats.give(&document, || tables::of_comparison(comparison, None))
    }
}

fn gpus(setups: &[Setup]) -> Vec<&GpuConfig> {
    setups.iter().map(|setup| &setup.gpu).collect()
}

fn cores(setups: &[Setup]) -> Vec<&str> {
    setups.iter().map(|setup| &*setup.core).collect()
}

/// The workloads to run. `all` leaves out those without machine code for some machine, where others run as
/// machine code, with a remark.
fn workloads(args: &Args, setups: &[Setup]) -> Vec<PathBuf> {
    let (gpus, cores) = (gpus(setups), cores(setups));
    let runs = |w: &&workloads::Workload| !args.input.lacks_code(w, &gpus, &cores);
    let (every, without): (Vec<_>, Vec<_>) = workloads::suite::ALL.iter().partition(runs);
    if args.workloads.iter().any(|w| w == Path::new("all")) && !without.is_empty() && !args.output.results.quiet {
        let names: Vec<&str> = without.iter().map(|w| w.name).collect();
        let names = names.join(", ");
        output::remark(&format!("left out, without machine code for every GPU here: {names} (--isa ptx has all)\n"));
    }
    let every: Vec<&str> = every.iter().map(|w| w.name).collect();
    expanded(&args.workloads, &every)
}

/// The names given, `all` replaced by every known name.
fn expanded<T>(given: &[T], every: &[&str]) -> Vec<T>
where
    T: Clone + AsRef<OsStr> + for<'a> From<&'a str>,
{
    let mut out = Vec::new();
    for name in given {
        if name.as_ref() == "all" { out.extend(every.iter().map(|&n| n.into())) } else { out.push(name.clone()) }
    }
    out
}

fn names(list: &[(&'static str, &str)]) -> Vec<&'static str> {
    list.iter().map(|&(name, _)| name).collect()
}

/// The combinations, in the order of the options; the last one varies fastest.
pub(super) fn machines(args: &Args) -> Result<Vec<(Column, Setup)>, Failure> {
    let every_gpu: Vec<&str> = config::hardware().collect();
    let gpus = if args.gpus.is_empty() {
        vec![lookup::gpu_of(None, &args.workloads.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &args.input)?]
    } else {
        expanded(&args.gpus, &every_gpu)
    };
    let varied = args.vary.iter().map(String::as_str);
    let (of_cores, rest): (Vec<&str>, Vec<&str>) = varied.partition(|v| v.starts_with(variations::CORES.prefix));
    let (of_schedulers, of_gpus): (Vec<&str>, Vec<&str>) =
        rest.iter().partition(|v| v.starts_with(variations::SCHEDULERS.prefix));
    // One that runs PTX only would make the others run as PTX too.
    let is_meant = |core: &&str| lab::is_timed(core) && (args.input.is_ptx() || !lab::needs_ptx(core));
    let all: Vec<&str> = names(simulator::cores()).into_iter().filter(is_meant).collect();
    let mut cores = expanded(&variations::whole_names(&args.cores), &all);
    cores.iter().try_for_each(|c| lookup::core(c))?;
    cores = variations::CORES.varied(&cores, &of_cores)?;
    if let Some(over) = args.over.as_ref().filter(|over| !cores.contains(over)) {
        cores.insert(0, over.clone());
    }
    let schedulers = expanded(&variations::whole_names(&args.schedulers), &names(simulator::schedulers()));
    args.over.iter().try_for_each(|c| lookup::core(c))?;
    schedulers.iter().try_for_each(|s| lookup::scheduler(s))?;
    let schedulers = variations::SCHEDULERS.varied(&schedulers, &of_schedulers)?;
    // Without a choice, the GPU description's own scheduler.
    let schedulers: Vec<Option<String>> =
        if schedulers.is_empty() { vec![None] } else { schedulers.into_iter().map(Some).collect() };
    let (varied, choices) = (variations::of(&of_gpus)?, args.changes.choices());
    let parts = [gpus.len(), cores.len(), schedulers.len(), varied.len(), choices.len()];
    variations::check_size(1, parts.iter().fold(1, |all: u64, &part| all.saturating_mul(part as u64)))?;
    let mut columns = vec![Column::default()];
    columns = combined(&columns, &gpus, |c, gpu| {
        c.gpu = gpu.display().to_string();
        c.gpu_path.clone_from(gpu);
    });
    columns = combined(&columns, &cores, |c, core| c.core.clone_from(core));
    columns = combined(&columns, &schedulers, |c, scheduler| c.scheduler.clone_from(scheduler));
    columns = combined(&columns, &varied, |c, varied| {
        c.settings = args.changes.set.settings.iter().chain(varied).cloned().collect();
        c.label = varied.iter().map(|v| last_part(v)).collect::<Vec<_>>().join(" ");
    });
    columns = combined(&columns, &choices, |c, choice| {
        c.choice = choice.clone();
        c.label = format!("{} {}", c.label, choice.label).trim().to_owned();
    });
    for column in &mut columns {
        let parts = [
            Some(&column.gpu).filter(|_| gpus.len() > 1),
            Some(&column.core).filter(|_| cores.len() > 1),
            column.scheduler.as_ref().filter(|_| schedulers.len() > 1),
            Some(&column.label).filter(|varied| !varied.is_empty()),
        ];
        let label: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        column.label = if label.is_empty() { column.gpu.clone() } else { label.join(" ") };
        let axis = |name: &str, value: &str, is_setting| Axis { name: name.into(), value: value.into(), is_setting };
        let one_design = args.cores.len() == 1 && args.over.is_none();
        let one_scheduler = args.schedulers.len() == 1;
        let of_column = [
            (gpus.len() > 1).then(|| axis("gpu", &column.gpu, false)),
            (cores.len() > 1).then(|| axis("core", &column.core, one_design && of_cores.len() == 1)),
            column
                .scheduler
                .as_ref()
                .filter(|_| schedulers.len() > 1)
                .map(|scheduler| axis("scheduler", scheduler, one_scheduler && of_schedulers.len() == 1)),
        ];
        let set = column.settings.iter().skip(args.changes.set.settings.len());
        let several = set.filter(|setting| varied.iter().any(|of| !of.contains(setting)));
        let settings =
            several.filter_map(|s| Some((s.split_once('=')?.0, s))).map(|(key, s)| axis(key, &last_part(s), true));
        let flags = column.choice.varied.iter().map(|(name, value)| axis(name, value, true));
        column.axes = of_column.into_iter().flatten().chain(settings).chain(flags).collect();
    }
    let baselines: Vec<usize> = columns.iter().map(|column| baseline(&columns, column, args)).collect();
    columns.iter_mut().zip(baselines).for_each(|(column, baseline)| column.baseline = baseline);
    columns.into_iter().map(|column| machine(column, args)).collect()
}

/// The column that `column` is compared with: the one that differs in nothing but the core, if speedups
/// are over a core, else the first.
fn baseline(columns: &[Column], column: &Column, args: &Args) -> usize {
    let Some(over) = &args.over else { return 0 };
    let machine = |c: &Column| (c.gpu.clone(), c.scheduler.clone(), c.settings.clone(), c.choice.clone());
    let same = |c: &Column| c.core == *over && machine(c) == machine(column);
    columns.iter().position(same).unwrap_or(0)
}

/// Every column with every value.
fn combined<T>(columns: &[Column], values: &[T], set: impl Fn(&mut Column, &T)) -> Vec<Column> {
    let mut out = Vec::with_capacity(columns.len() * values.len());
    for column in columns {
        for value in values {
            let mut column = column.clone();
            set(&mut column, value);
            out.push(column);
        }
    }
    out
}

fn machine(mut column: Column, args: &Args) -> Result<(Column, Setup), Failure> {
    let (gpu, settings) = column.choice.apply(&column.gpu_path, &column.settings, column.scheduler.as_deref())?;
    column.settings = settings;
    let setup = Setup {
        core: column.core.clone(),
        scheduler: column.scheduler.clone(),
        settings: column.settings.clone(),
        profile: args.output.profile,
        livelock_cycles: NonZeroU64::new(LIVELOCK_CYCLES),
        time: args.time.chosen()?,
        ..args.checks.applied(args.input.setup(gpu))
    };
    setup.energy.as_ref().map_err(Failure::bad_input)?;
    Ok((column, setup))
}

/// `sm.issue.schedulers=2` as `schedulers=2`: enough to distinguish columns.
fn last_part(assignment: &str) -> String {
    let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    format!("{}={value}", key.rsplit('.').next().unwrap_or(key))
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
    match catch_unwind(AssertUnwindSafe(|| simulator::run(setup, job, watch))) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(words: &[&str]) -> Args {
        use clap::Parser;
        Line::parse_from([&["compare"][..], words].concat()).args
    }

    #[test]
    fn all_is_what_runs_the_same_code_on_all_gpus() {
        let all = |words: &[&str]| {
            let args = args(&[&["all", "-q"][..], words].concat());
            let setups: Vec<Setup> = machines(&args).unwrap().into_iter().map(|(_, setup)| setup).collect();
            let names = workloads(&args, &setups);
            let code = names.iter().map(|name| args.input.form(name, &gpus(&setups), &cores(&setups)));
            (names.len(), code.filter(|code| *code == Form::Sass).count())
        };
        let every = workloads::suite::ALL.len();
        let (turing, _) = all(&[]);
        assert!(turing < every && turing >= 20);
        assert_eq!(all(&["--isa", "sass"]), (turing, turing));
        assert_eq!(all(&[]), (turing, turing));
        assert_eq!(all(&["--gpus", "gtx480"]), (every, 0));
        assert_eq!(all(&["--gpus", "rtx2060s,gtx480"]), (every, 0));
        assert_eq!(all(&["--isa", "ptx"]), (every, 0));
        assert_eq!(all(&["--registers", "allocated"]), (every, 0));
        assert_eq!(all(&["--cores", "inorder,sgmf"]), (every, 0), "what runs PTX only");
        assert_eq!(all(&["--cores", "all"]), (turing, turing));
    }
}
