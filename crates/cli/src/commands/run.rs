//! `warpwright run`: one workload on one GPU.

use super::{exec, resume};
use crate::failure::{Exit, Failure, Outcome};
use crate::options::Results;
use crate::progress::Watch;
use crate::render::report;
use crate::{interrupt, output, program, version};
use lab::profile::Profile;
use lab::{Checkpoints, Report, Setup};
use request::baseline::Baseline;
use request::command::{Given, Run};
use request::comparison::Input;
use request::shown::{Recorded, Statistics};
use request::{Options, code, gpu, name, outputs, sweep, tables};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Run a workload or a trace on a simulated GPU and report results, cycles and statistics
///
/// WORKLOAD is a bundled workload (`warpwright list workloads`); its result is compared with a reference computed on the host. A launch file (.toml) runs any other kernel; `warpwright docs launch-files` describes it. A CUDA program runs as by `warpwright exec`, which can also give it arguments. A trace is an Accel-Sim kernelslist.g, or the folder that holds one, with kernel files plain or compressed (.xz, .gz, .zst).
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "Examples:
  warpwright run matmul
  warpwright run matmul --gpu v100 --scheduler lrr --param m=128 --param n=512
  warpwright run matmul --code ptx
  warpwright run bfs --size medium --set sm.issue.schedulers=2 --json=bfs.json
  warpwright run my-kernel.toml --gpu my-gpu.toml --stats all
  warpwright run my-kernel.toml --profile --json=before.json
  warpwright run my-kernel.toml --profile --baseline before.json
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
pub struct Args {
    /// Bundled workload, or path of a launch file or a trace
    #[arg(value_name = "WORKLOAD|LAUNCH.toml|KERNELSLIST.g")]
    workload: PathBuf,
    #[command(flatten)]
    given: Given<Run>,
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

/// Runs the job and prints the report; `words` are the command's, which may be completed by a checkpoint's.
pub fn run(args: &Args, words: &[OsString], is_completed: bool) -> Outcome {
    if program::is_asked_for(&args.workload) {
        return run_program(&args.workload);
    }
    let options = args.given.options()?;
    if is_completed {
        resume::check_outputs(&name::job(&args.workload, &options)?, &options, words)?;
    }
    let run = Asked { workload: &args.workload, options: &options, instructions: false };
    resume::guarded(options.resume.as_deref(), || {
        run_kept(
            &run,
            &|setup| resume::checkpoints(&options, (&args.workload, &setup.gpu.name, &setup.core), words),
            &|report, failed| text(&options, report, failed),
        )
    })
}

/// A run as it is asked for.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    workload: &'a Path,
    options: &'a Options,
    /// The table for other programs has instructions in place of statistics.
    instructions: bool,
}

/// Makes text of a report; the flag says whether the run failed.
pub type Text<'a> = &'a dyn Fn(&Options, &Report, bool) -> Result<String, Failure>;

/// Counts by instruction, and prints what `text` makes of the report.
pub fn profiled(args: &Args, text: Text<'_>) -> Outcome {
    let options = Options { profile: true, ..args.given.options()? };
    run_and_show(args, &options, true, text)
}

/// Records what happens cycle by cycle, and prints what `text` makes of the report.
pub fn recorded(args: &Args, text: Text<'_>) -> Outcome {
    let options = args.given.options()?;
    let timeline = Some(options.timeline.clone().unwrap_or(Recorded::Kept));
    run_and_show(args, &Options { timeline, ..options }, false, text)
}

fn run_and_show(args: &Args, options: &Options, instructions: bool, text: Text<'_>) -> Outcome {
    let run = Asked { workload: &args.workload, options, instructions };
    run_kept(&run, &|_| Ok(Checkpoints::default()), &|report, failed| text(options, report, failed))
}

/// Gives the checkpoints of a run on a machine.
type Kept<'a> = &'a dyn Fn(&Setup) -> Result<Checkpoints, Failure>;

/// Runs the job, with the checkpoints that `kept` gives, and prints what `text` makes of the report. An error there loses
/// nothing that is written elsewhere.
fn run_kept(run: &Asked<'_>, kept: Kept<'_>, text: &dyn Fn(&Report, bool) -> Result<String, Failure>) -> Outcome {
    let &Asked { workload, options, instructions } = run;
    let (setup, described) = sweep::one(options, workload)?;
    let job = name::job(workload, options)?;
    let baseline = Baseline::of(options, &setup)?;
    let (results, input) = (Results::of(options), Input::of(&job));
    results.formats.files()?;
    let checkpoints = kept(&setup)?;
    let outputs: Vec<PathBuf> =
        outputs::files(options).into_iter().chain(job.outputs()).chain(checkpoints.files()).collect();
    let inputs = gpu::files(&described)
        .into_iter()
        .chain(gpu::energy_file(&setup.gpu))
        .chain(checkpoints.inputs())
        .chain(options.energy_model.iter().map(|model| model.0.clone()))
        .chain(options.baseline.clone())
        .chain(job.inputs());
    output::check(outputs.iter().map(PathBuf::as_path), &inputs.collect::<Vec<_>>())?;
    interrupt::install()?;
    let mut watch = Watch::new(options.quiet).live(options.watch);
    let result = lab::run_kept(&setup, &job, checkpoints, &mut watch);
    drop(watch);
    let remark = code::remark(options, workload, &[&setup.gpu], &[&setup.core]);
    let save = |report: &Report| {
        check_timeline(options, report)?;
        outputs::of_run(options, report, &setup.gpu, 0, version::PROGRAM).map_err(Failure::failed)
    };
    match result {
        Ok(mut report) => {
            report.remarks.extend(remark);
            if report.sampling.as_ref().is_some_and(|sampling| sampling.timed_cycles == 0) {
                // All its figures are zero.
                check_time(&report)?;
            }
            let changes = baseline.map_or(Ok(None), |baseline| baseline.against(options, &report));
            let compared = changes.map(|changes| report.changes = changes);
            if let Some(check) = report.check.as_ref().filter(|check| options.quiet && !check.passed) {
                output::error(&format!("the result is wrong: {}", check.details));
            }
            let shown = show(&results, instructions, (&report, input), || text(&report, false));
            save(&report)?;
            shown?;
            compared?;
            check_choices(options, &report)?;
            Ok(exit(&report))
        }
        Err(mut error) => {
            if let Some(partial) = &mut error.partial {
                partial.remarks.extend(remark);
                let shown = show(&results, instructions, (partial, input), || text(partial, true));
                // Why the run failed is what counts.
                if let Err(also) = shown.and(save(partial)) {
                    output::error(&also.message);
                }
            }
            Err(if error.bad_input { Failure::bad_input(error) } else { Failure::failed(error) })
        }
    }
}

/// Whether what the options name was in the run.
fn check_choices(options: &Options, report: &Report) -> Result<(), Failure> {
    if report.interrupted {
        return Ok(());
    }
    check_time(report)?;
    check_kernel(options, report.by_kernel.iter().map(|kernel| &kernel.name[..]))
}

/// Fails if a launch to be simulated in time was not in the run.
fn check_time(report: &Report) -> Result<(), Failure> {
    match report.sampling.as_ref().and_then(|all| Some((all, all.unmatched.first()?))) {
        Some((sampling, part)) if !report.interrupted => {
            Err(Failure::bad_input(format!("--time: {}", sampling.names_nothing(part))))
        }
        _ => Ok(()),
    }
}

/// Whether the kernels asked for are among those that ran.
fn check_kernel<'a>(options: &Options, ran: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    outputs::missing_kernel(options, ran).map_or(Ok(()), |message| Err(Failure::bad_input(message)))
}

/// Whether the run has come to the cycles of the timeline.
///
/// # Errors
/// It has not: how many it took.
pub fn check_timeline(options: &Options, report: &Report) -> Result<(), Failure> {
    outputs::missing_cycles(options, &[report]).map_or(Ok(()), |message| Err(Failure::bad_input(message)))
}

/// The counts of the kernels that are to be shown.
///
/// # Errors
/// No kernel of the name asked for ran.
pub fn kernels_of(options: &Options, counted: &Profile) -> Result<Profile, Failure> {
    check_kernel(options, counted.kernels.iter().map(|kernel| &kernel.name[..]))?;
    Ok(outputs::kernels_of(options, counted))
}

fn show(
    results: &Results,
    instructions: bool,
    (report, input): (&Report, Input),
    text: impl Fn() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let shown = if results.as_text() { text().and_then(|text| output::print(&text)) } else { Ok(()) };
    match report.profile.as_ref().filter(|_| instructions) {
        Some(profile) => {
            results.formats.give(report, || tables::of_profile(report, profile, input, version::COMMIT))?
        }
        None => results.formats.give(report, || tables::of_run(report, input, version::COMMIT))?,
    }
    shown
}

/// The report as the options ask for it.
fn text(options: &Options, report: &Report, failed: bool) -> Result<String, Failure> {
    report.profile.as_ref().map(|counted| kernels_of(options, counted)).transpose()?;
    let text = outputs::text(options, report, failed);
    // Scripts read the other lines.
    let is_for_scripts = *options.stats == Statistics::Accelsim;
    Ok(if is_for_scripts { text } else { text + &report::program(version::TEXT) })
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
    use lab::CheckResult;

    #[test]
    fn a_wrong_result_is_a_failure() {
        let mut report = sample::report();
        assert_eq!(exit(&report), Exit::Success);
        report.check = Some(CheckResult { passed: false, details: "c: 1 of 4096 differs".into() });
        assert_eq!(exit(&report), Exit::Failed);
    }
}
