//! `warpwright run`: one workload on one GPU.

use super::{exec, resume};
use crate::changes::Changes;
use crate::failure::{Exit, Failure, Outcome};
use crate::lookup::{self, Input};
use crate::options::{Checks, Jobs, LIVELOCK_CYCLES, Machine, Page, Results, Timed};
use crate::progress::Watch;
use crate::render::{accelsim, number, power, profile, report, timeline};
use crate::{interrupt, output, simulator, tables, version};
use ::render::page;
use clap::ValueEnum;
use config::GpuConfig;
use lab::energy::EnergyModel;
use lab::profile::Profile;
use lab::timeline::{Cycles, TimelineWindow};
use lab::{Checkpoints, HostThreads, Report, Setup};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use workloads::suggest;

/// Run a workload or a trace on a simulated GPU and report results, cycles and statistics
///
/// WORKLOAD is a bundled workload (`warpwright list workloads`); its result is compared with a reference computed on the host. A launch file (.toml) runs any other kernel; docs/launch-files.md describes it. A CUDA program runs as by `warpwright exec`, which can also give it arguments. A trace is an Accel-Sim kernelslist.g, or the folder that holds one, with kernel files plain or compressed (.xz, .gz, .zst).
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "Examples:
  warpwright run matmul
  warpwright run matmul --gpu v100 --scheduler lrr --param m=128 --param n=512
  warpwright run matmul --isa ptx
  warpwright run bfs --size medium --set sm.issue.schedulers=2 --json=bfs.json
  warpwright run my-kernel.toml --gpu my-gpu.toml --stats all
  warpwright run bfs --core ghost --audit
  warpwright run bfs --core ghost --html bfs.html
  warpwright run matmul --gpu v100 --energy --power=power.csv --power-plot=power.svg
  warpwright run bfs --sample 1000 bfs.csv
  warpwright run matmul --timeline=matmul.kanata --sm 3 --warps 0..7
  warpwright run lud --core ghost --timeline=lud.json --cycles 4000..8000
  warpwright run sort.toml --gpu v100 --checkpoint every=10m,file=sort.checkpoint
  warpwright run --resume sort.checkpoint
  warpwright run jacobi.toml --time representative
  warpwright run matmul --size large --time ctas=0..199
  warpwright run traces/bfs/kernelslist.g --gpu rtx3070
  warpwright run traces/bfs --gpu v100 --any-architecture --json=bfs.json")]
pub struct Command {
    #[command(flatten)]
    run: Args,
    #[command(flatten)]
    checkpoints: resume::Options,
}

/// The run of a job, for each command that runs one.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// Bundled workload, or path of a launch file or a trace
    #[arg(value_name = "WORKLOAD|LAUNCH.toml|KERNELSLIST.g")]
    workload: PathBuf,
    #[command(flatten)]
    machine: Machine,
    /// Core design (`warpwright list cores`)
    #[arg(long, alias = "cores", value_name = "NAME", default_value = "inorder")]
    core: String,
    /// End the run as failed after this number of core cycles in which all warps repeated themselves and changed nothing: a livelock. Without time (--time), warp instructions count. 0 turns this off
    #[arg(long, value_name = "NUMBER", default_value_t = LIVELOCK_CYCLES)]
    livelock_cycles: u64,
    /// Check memory accesses: reads of memory that was never written, races of warps in shared memory and of CTAs in global memory. Takes several times as long
    #[arg(long)]
    check_memory: bool,
    /// Count issue slots, latencies and accesses by instruction, and list those that took most slots; `warpwright profile` shows more. Takes about a quarter longer
    #[arg(long)]
    profile: bool,
    #[command(flatten)]
    time: Timed,
    #[command(flatten)]
    checks: Checks,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    energy: Energy,
    #[command(flatten)]
    timeline: Timeline,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    jobs: Jobs,
    /// Run on one host thread, measure the parts of each window, and print how long the run would take on 2 to 64 threads
    #[arg(long, conflicts_with = "threads", help_heading = "Output")]
    scaling: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Energy and power")]
struct Energy {
    /// Show energy by component and by kernel
    #[arg(long)]
    energy: bool,
    /// Coefficients: those of a GPU that comes with the program, or a file (docs/energy.md) [default: the GPU description's energy.model]
    #[arg(long, value_name = "NAME|FILE")]
    energy_model: Option<PathBuf>,
    /// Write power over time, by component, to a CSV file
    #[arg(long, value_name = "FILE")]
    power: Option<PathBuf>,
    /// Draw power over time as an SVG file
    #[arg(long, value_name = "FILE")]
    power_plot: Option<PathBuf>,
    /// Write every statistic over time, and power, to a CSV file: a row for each interval of CYCLES core cycles
    #[arg(long, value_names = ["CYCLES", "FILE"], num_args = 2)]
    sample: Option<Vec<PathBuf>>,
    /// Core cycles between two points of power over time, which the JSON then holds too [default: 1000, if it is asked for]
    #[arg(long, value_name = "CYCLES")]
    power_interval: Option<NonZeroU64>,
}

/// Core cycles between two points of power over time, by default.
const POWER_INTERVAL: NonZeroU64 = NonZeroU64::new(1000).unwrap();

impl Energy {
    fn interval(&self) -> Option<NonZeroU64> {
        let wanted = self.power.is_some() || self.power_plot.is_some();
        self.power_interval.or(wanted.then_some(POWER_INTERVAL))
    }

    /// Interval of statistics over time, and the file that they are written to.
    fn sample(&self) -> Result<Option<(NonZeroU64, &Path)>, Failure> {
        let Some([cycles, file]) = self.sample.as_deref() else { return Ok(None) };
        let text = cycles.to_string_lossy().replace('_', "");
        let Ok(interval) = text.parse() else {
            let hint = "hint: the number of core cycles comes first, as in --sample 1000 bfs.csv";
            return Err(Failure::bad_input(format!("--sample {text}: no number of cycles above 0\n  {hint}")));
        };
        match self.power_interval.filter(|other| *other != interval) {
            Some(other) => Err(Failure::bad_input(format!(
                "--sample {interval} and --power-interval {other}: a run has one interval"
            ))),
            None => Ok(Some((interval, file))),
        }
    }

    /// Writes power over time to the files asked for.
    fn save(&self, report: &Report) -> Result<(), Failure> {
        if let Some(((_, path), samples)) = self.sample()?.zip(report.samples.as_ref()) {
            output::save_as(path, |out| samples.write_csv(report.power.as_ref(), out))?;
        }
        let Some(series) = &report.power else { return Ok(()) };
        if let Some(path) = &self.power {
            output::save(path, series.csv().as_bytes())?;
        }
        if let Some(path) = &self.power_plot {
            let title = format!("{} on {}, core {}", report.workload, report.gpu, report.core);
            output::save(path, power::svg(series, &title).map_err(Failure::failed)?.as_bytes())?;
        }
        Ok(())
    }
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Timeline")]
struct Timeline {
    /// Write what happens to each instruction, cycle by cycle: FILE.json for Perfetto (ui.perfetto.dev), any other for Konata
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Core cycles that the timeline shows, counted from the start of the run, such as 5000..7000 [default: 2,000, from the first CTA of the SM on]
    #[arg(long, value_name = "FROM..TO", value_parser = cycles)]
    cycles: Option<Range<u64>>,
    /// SMs that the timeline shows
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "0")]
    sm: Vec<u16>,
    /// Warp slots that the timeline shows, such as 0..7 [default: all]
    #[arg(long, value_name = "FIRST..LAST", value_parser = warps)]
    warps: Option<u128>,
    /// Kernels that the timeline or a profile shows: those with NAME in their names [default: all]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    kernel: Option<String>,
}

/// Core cycles of a timeline where none are given.
const TIMELINE_CYCLES: u64 = 2000;

impl Args {
    /// Whether the run has come to the cycles of the timeline.
    ///
    /// # Errors
    /// It has not: how many it took.
    pub fn check_timeline(&self, report: &Report) -> Result<(), Failure> {
        self.timeline.check(report)
    }

    /// Whether the cycles of the timeline are chosen by the command line.
    pub fn chooses_cycles(&self) -> bool {
        self.timeline.cycles.is_some()
    }

    /// What was counted of the kernels that are to be shown.
    ///
    /// # Errors
    /// No kernel of the name asked for ran.
    pub fn kernels_of(&self, counted: &Profile) -> Result<Profile, Failure> {
        let Some(kernel) = &self.timeline.kernel else { return Ok(counted.clone()) };
        self.timeline.check_kernel(counted.kernels.iter().map(|kernel| &kernel.name[..]))?;
        Ok(counted.of_kernels(kernel))
    }
}

impl Timeline {
    fn window(&self, wanted: bool) -> Option<TimelineWindow> {
        let cycles = self.cycles.clone().map_or(Cycles::First(TIMELINE_CYCLES), Cycles::Range);
        let (sms, warps) = (self.sm.clone(), self.warps.unwrap_or(u128::MAX));
        let window = TimelineWindow { cycles, sms, warps, kernel: self.kernel.clone() };
        (wanted || self.timeline.is_some()).then_some(window)
    }

    /// Whether the SMs and the warp slots are some of `gpu`.
    fn check_places(&self, gpu: &GpuConfig) -> Result<(), Failure> {
        lookup::distinct("--sm", &self.sm.iter().map(u16::to_string).collect::<Vec<_>>())?;
        let (name, sms, slots) = (&gpu.name, gpu.sm_count, gpu.sm.max_warps);
        if let Some(sm) = self.sm.iter().find(|sm| u32::from(**sm) >= sms) {
            return Err(Failure::bad_input(format!("--sm {sm}: {name} has SMs 0 to {}", sms - 1)));
        }
        match self.warps.map(u128::trailing_zeros) {
            Some(first) if first >= slots => {
                let last = slots - 1;
                Err(Failure::bad_input(format!("--warps from {first} on: an SM of {name} has warp slots 0 to {last}")))
            }
            _ => Ok(()),
        }
    }

    /// Whether the kernels asked for are among those that ran.
    fn check_kernel<'a>(&self, ran: impl Iterator<Item = &'a str> + Clone) -> Result<(), Failure> {
        let Some(kernel) = self.kernel.as_deref().filter(|kernel| !ran.clone().any(|name| name.contains(kernel)))
        else {
            return Ok(());
        };
        let which = suggest::among(kernel, &ran.collect::<Vec<_>>());
        Err(Failure::bad_input(format!("--kernel {kernel}: no such kernel ran{which}")))
    }

    /// Whether the run has come to the cycles asked for.
    fn check(&self, report: &Report) -> Result<(), Failure> {
        let cycles = report.total.number("total_cycles") as u64;
        match &self.cycles {
            Some(asked) if asked.start >= cycles && report.timelines.iter().all(|one| one.instructions.is_empty()) => {
                let all = number::count(cycles);
                Err(Failure::bad_input(format!("--cycles {}..{}: the run took {all} cycles", asked.start, asked.end)))
            }
            _ => Ok(()),
        }
    }

    /// Writes the timelines to the file asked for.
    fn save(&self, report: &Report, gpu: &GpuConfig) -> Result<(), Failure> {
        let Some(path) = &self.timeline else { return Ok(()) };
        self.check(report)?;
        let text = if self.is_for_perfetto() {
            timeline::perfetto::render(report, gpu)
        } else {
            timeline::konata::render(&report.timelines)
        };
        output::save(path, text.as_bytes())
    }

    fn is_for_perfetto(&self) -> bool {
        let extension = self.timeline.as_ref().and_then(|path| path.extension());
        extension.is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
    }
}

/// Two numbers with two dots between them.
fn pair(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once("..")?;
    Some((from.trim().replace('_', "").parse().ok()?, to.trim().replace('_', "").parse().ok()?))
}

fn cycles(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = pair(text).ok_or("two numbers are needed, such as 5000..7000")?;
    if from < to { Ok(from..to) } else { Err("the first cycle must be before the last".to_owned()) }
}

/// Warp slots as a set, one bit each.
fn warps(text: &str) -> Result<u128, String> {
    let one = text.trim().parse().ok().map(|warp: u64| (warp, warp));
    let (first, last) = one.or_else(|| pair(text)).ok_or("a warp slot is a number, several are such as 0..7")?;
    if last >= 128 || first > last {
        return Err("warp slots are 0 to 127, the first before the last".to_owned());
    }
    Ok((first..=last).fold(0, |set, warp| set | 1 << warp))
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct Output {
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    page: Page,
    /// Which statistics the report shows
    #[arg(long, value_enum, default_value_t)]
    stats: Statistics,
    /// List each launch, however many there are
    #[arg(long)]
    all_kernels: bool,
    /// While it runs, redraw a view of several lines on the terminal: CTAs, time left, warp instructions per cycle, SMs, issue slots
    #[arg(long)]
    watch: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Statistics {
    /// A selection
    #[default]
    Summary,
    /// Every statistic
    All,
    /// `name = value` lines as GPGPU-Sim and Accel-Sim print them, for their scripts
    Accelsim,
}

/// Runs a CUDA program as [`exec`] does, with the options of the command line.
fn run_program(path: &Path) -> Outcome {
    #[derive(clap::Parser)]
    #[command(name = "warpwright run PROGRAM", about = "Options of `exec` are for programs")]
    struct Line {
        #[command(flatten)]
        exec: exec::Args,
    }
    // The command is the first word, and the program the last one that is its name: options have values of their own.
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(at) = words.iter().rposition(|word| word.as_os_str() == path.as_os_str()) {
        words.remove(at);
    }
    words.extend(["--".into(), Path::new(".").join(path).into_os_string()]);
    let line = <Line as clap::Parser>::try_parse_from(words).unwrap_or_else(|error| error.exit());
    exec::run(&line.exec)
}

/// Runs the job and prints the report; `words` are those of the command, which may be completed by a checkpoint's.
pub fn run(Command { run: args, checkpoints }: &Command, words: &[OsString], is_completed: bool) -> Outcome {
    if lookup::is_program(&args.workload) {
        if checkpoints.are_given() {
            return Err(resume::not_for_programs());
        }
        return run_program(&args.workload);
    }
    if is_completed {
        resume::check_outputs(&lookup::job(&args.workload, &args.input)?, checkpoints, words)?;
    }
    let observed = Observed { profile: args.profile, ..Observed::default() };
    resume::guarded(checkpoints.resume.as_deref(), || {
        run_kept(
            args,
            observed,
            &|setup| checkpoints.checkpoints((&args.workload, &setup.gpu.name, &setup.core), words),
            &|report, failed| text(args, report, failed),
        )
    })
}

/// What is observed in a run beside what its options ask for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// Counts by instruction.
    pub profile: bool,
    /// What happens cycle by cycle.
    pub timeline: bool,
    /// The table for other programs is that of the instructions.
    pub instructions: bool,
}

/// Makes text of a report; the flag says whether the run failed.
pub type Text<'a> = &'a dyn Fn(&Report, bool) -> Result<String, Failure>;

/// Runs the job and prints what `text` makes of the report. An error there loses nothing that is written elsewhere.
pub fn run_and_show(args: &Args, observed: Observed, text: Text<'_>) -> Outcome {
    run_kept(args, observed, &|_| Ok(Checkpoints::default()), text)
}

/// Gives the checkpoints of a run on a machine.
type Kept<'a> = &'a dyn Fn(&Setup) -> Result<Checkpoints, Failure>;

/// As [`run_and_show`], with the checkpoints that `kept` gives.
fn run_kept(args: &Args, observed: Observed, kept: Kept<'_>, text: Text<'_>) -> Outcome {
    let gpu = lookup::gpu_of(args.machine.gpu.as_deref(), &[&args.workload], &args.input)?;
    let timeline = args.timeline.window(observed.timeline);
    let setup = Setup { profile: observed.profile, timeline, ..setup(args, &gpu)? };
    args.timeline.check_places(&setup.gpu)?;
    let job = lookup::job(&args.workload, &args.input)?;
    let sampled = args.energy.sample.as_ref().and_then(|words| words.get(1));
    let energy = [args.energy.power.as_ref(), args.energy.power_plot.as_ref(), sampled];
    let files = [args.timeline.timeline.as_ref(), args.output.page.html.as_ref()].into_iter().chain(energy);
    let checkpoints = kept(&setup)?;
    let resumed = checkpoints.inputs();
    let written: Vec<PathBuf> = job.outputs().into_iter().chain(checkpoints.files()).collect();
    let outputs = files.flatten().chain(&written).map(PathBuf::as_path);
    let outputs = args.output.results.formats.files()?.into_iter().chain(outputs);
    let described = lookup::gpu_files(&gpu)
        .into_iter()
        .chain(lookup::energy_file(&setup.gpu))
        .chain(resumed)
        .chain(args.energy.energy_model.clone());
    output::check(outputs, &job.inputs().into_iter().chain(described).collect::<Vec<_>>())?;
    interrupt::install()?;
    let mut watch = Watch::new(args.output.results.quiet).live(args.output.watch);
    let result = simulator::run_kept(&setup, &job, checkpoints, &mut watch);
    drop(watch);
    let remark = args.input.remark(&args.workload, &[&setup.gpu], &[&setup.core]);
    match result {
        Ok(mut report) => {
            report.remarks.extend(remark);
            if let Some(check) = report.check.as_ref().filter(|check| args.output.results.quiet && !check.passed) {
                output::error(&format!("the result is wrong: {}", check.details));
            }
            let shown = show(&args.output, observed, &report, || text(&report, false));
            save(args, &setup, &report)?;
            shown?;
            check_choices(args, &report)?;
            Ok(exit(&report))
        }
        Err(mut error) => {
            if let Some(partial) = &mut error.partial {
                partial.remarks.extend(remark);
                let shown = show(&args.output, observed, partial, || text(partial, true));
                // Why the run failed is what counts.
                if let Err(also) = shown.and(save(args, &setup, partial)) {
                    output::error(&also.message);
                }
            }
            Err(if error.bad_input { Failure::bad_input(error) } else { Failure::failed(error) })
        }
    }
}

/// Whether what the options name was in the run.
fn check_choices(args: &Args, report: &Report) -> Result<(), Failure> {
    if report.interrupted {
        return Ok(());
    }
    if let Some((sampling, part)) = report.sampling.as_ref().and_then(|all| Some((all, all.unmatched.first()?))) {
        return Err(Failure::bad_input(format!("--time: {}", sampling.names_nothing(part))));
    }
    args.timeline.check_kernel(report.by_kernel.iter().map(|kernel| &kernel.name[..]))
}

/// Writes the files asked for, beside JSON.
fn save(args: &Args, setup: &Setup, report: &Report) -> Result<(), Failure> {
    args.timeline.save(report, &setup.gpu)?;
    args.energy.save(report)?;
    let run = page::Run { report, gpu: &setup.gpu, program: version::TEXT };
    args.output.page.save(|| page::run(&run))
}

fn setup(args: &Args, gpu: &Path) -> Result<Setup, Failure> {
    lookup::core(&args.core)?;
    let scheduler = &args.machine.scheduler;
    scheduler.as_deref().map_or(Ok(()), lookup::scheduler)?;
    let model = args.energy.energy_model.as_deref();
    let named = model.iter().map(|name| format!("energy.model={}", name.display()));
    let settings: Vec<String> = args.changes.set.settings.iter().cloned().chain(named).collect();
    let (gpu, settings) = args.changes.only()?.apply(gpu, &settings, scheduler.as_deref())?;
    if args.energy.interval().is_some() && gpu.energy.model.is_none() {
        let hint = "give one with --energy-model, such as v100";
        return Err(Failure::bad_input(format!("{} names no energy model (energy.model)\n  hint: {hint}", gpu.name)));
    }
    let sampled = args.energy.sample()?.map(|(interval, _)| interval);
    let power_interval = match sampled {
        Some(interval) => Some(interval).filter(|_| gpu.energy.model.is_some() && lab::has_energy(&args.core)),
        None => args.energy.interval(),
    };
    let code = args.input.form(&args.workload, &[&gpu], &[&args.core]);
    let setup = args.checks.applied(args.input.setup(gpu));
    // As it was given: the path need not be text, and the setting is.
    let energy = match model {
        Some(path) => EnergyModel::named(path, &setup.gpu).map(Some),
        None => setup.energy,
    };
    Ok(Setup {
        energy,
        power_interval,
        sample_interval: sampled,
        overview: args.output.page.html.is_some() || args.timeline.is_for_perfetto(),
        core: args.core.clone(),
        scheduler: scheduler.clone(),
        settings,
        livelock_cycles: NonZeroU64::new(args.livelock_cycles),
        code,
        check_memory: args.check_memory,
        threads: if args.scaling { HostThreads::measuring() } else { args.jobs.host() },
        time: args.time.chosen()?,
        ..setup
    })
}

fn show(
    output: &Output,
    observed: Observed,
    report: &Report,
    text: impl Fn() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let shown = if output.results.as_text() { text().and_then(|text| output::print(&text)) } else { Ok(()) };
    let formats = &output.results.formats;
    match report.profile.as_ref().filter(|_| observed.instructions) {
        Some(profile) => formats.give(report, || tables::of_profile(report, profile))?,
        None => formats.give(report, || tables::of_run(report))?,
    }
    shown
}

/// The report as the options ask for it.
fn text(args: &Args, report: &Report, failed: bool) -> Result<String, Failure> {
    let output = &args.output;
    let all_statistics = output.stats == Statistics::All;
    let energy = args.energy.energy;
    let detail = report::Detail { all_statistics, all_kernels: output.all_kernels, energy, failed };
    let counted = report.profile.as_ref().map(|counted| args.kernels_of(counted)).transpose()?;
    let profile = counted
        .map_or_else(String::new, |counted| format!("\n{}", profile::render(&counted, profile::Detail::default())));
    Ok(match output.stats {
        Statistics::Accelsim => accelsim::render(report),
        Statistics::Summary | Statistics::All => {
            report::render(report, detail) + &profile + &report::program(version::TEXT)
        }
    })
}

fn exit(report: &Report) -> Exit {
    match &report.check {
        _ if interrupt::requested() => Exit::Interrupted,
        Some(check) if !check.passed => Exit::Failed,
        _ => Exit::Success,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;
    use lab::{CheckResult, Job};

    #[test]
    fn a_wrong_result_is_a_failure() {
        let mut report = sample::report();
        assert_eq!(exit(&report), Exit::Success);
        report.check = Some(CheckResult { passed: false, details: "c: 1 of 4096 differs".into() });
        assert_eq!(exit(&report), Exit::Failed);
    }

    #[test]
    fn a_job_is_not_run_on_a_machine_that_does_not_exist() {
        assert!(lookup::core("inordr").unwrap_err().message.contains("did you mean `inorder`?"));
        assert!(matches!(lookup::job(Path::new("vectoradd"), &Input::default()), Ok(Job::Workload { .. })));
    }
}
