//! `warpwright trace`: a run as a trace, to be run later, here or by Accel-Sim.

use crate::failure::{Exit, Failure, Outcome};
use crate::progress::Watch;
use crate::render::number;
use crate::{interrupt, output};
use clap::ValueEnum;
use lab::{Compression, Export, Job, TraceFormat};
use request::command::{Given, Trace};
use request::{code, gpu, name, sweep};
use std::path::PathBuf;

/// Run a workload on the in-order core and record it as a trace
///
/// `warpwright run` runs the trace on any core design, without executing the program again. Accel-Sim runs traces in its own format: PTX instructions appear there as machine instructions for the same work. `warpwright docs traces` describes both formats. A trace in our own format, given in place of a workload, is converted to Accel-Sim's.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright trace matmul -o matmul-trace
  warpwright run matmul-trace/trace.wwt --core ghost
  warpwright trace hotspot --gpu gtx480 -o hotspot-values --values
  warpwright trace bfs --size medium --gpu rtx3070 -o bfs-trace --format accelsim
  warpwright run bfs-trace/kernelslist.g --gpu rtx3070
  warpwright trace matmul-trace/trace.wwt -o matmul-accelsim --format accelsim --compress none")]
pub struct Args {
    /// Bundled workload, or path of a launch file or of a trace.wwt
    #[arg(value_name = "WORKLOAD|LAUNCH.toml")]
    workload: PathBuf,
    /// Directory to write the trace into: trace.wwt, or kernelslist.g with a file for each launch
    #[arg(short, long = "out", alias = "output", value_name = "DIRECTORY")]
    output: PathBuf,
    /// Format of the trace
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// How the files of launches are compressed in Accel-Sim's format [default: xz]
    #[arg(long, value_enum)]
    compress: Option<Compress>,
    /// Also record the values of the registers that each instruction reads, for core designs that depend on
    /// values. The file is many times as large
    #[arg(long)]
    values: bool,
    /// Overwrite a trace that is there already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    given: Given<Trace>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Our own: everything that timing can see of the run, in one file
    #[default]
    Native,
    /// Accel-Sim's, tracer version 5
    Accelsim,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compress {
    /// Plain text
    None,
    /// As gzip does
    Gz,
    /// As xz does, which Accel-Sim reads
    Xz,
    /// As zstd does
    Zst,
}

/// Runs the workload and writes the trace.
pub fn run(args: &Args) -> Outcome {
    let format = format(args)?;
    let options = args.given.options()?;
    let job = name::job(&args.workload, &options)?;
    let (setup, described) = sweep::one(&options, &args.workload)?;
    // The trace itself is tried when it begins.
    let list =
        [lab::NATIVE_FILE, lab::LIST_FILE].map(|name| args.output.join(name)).into_iter().filter(|list| list.exists());
    let outputs: Vec<PathBuf> = list.chain(job.outputs()).collect();
    let inputs: Vec<PathBuf> = job.inputs().into_iter().chain(gpu::files(&described)).collect();
    output::check(outputs.iter().map(PathBuf::as_path), &inputs)?;
    interrupt::install()?;
    let mut watch = Watch::new(options.quiet);
    if let Job::Trace { path, .. } = &job {
        let converted = lab::convert(path, &args.output, format, args.force, &mut watch);
        drop(watch);
        let (list, bytes) = converted.map_err(failure)?;
        return say(options.quiet, &format!("{}: {}\n", list.display(), number::counted(bytes, "byte")), Exit::Success);
    }
    let done = lab::export(&setup, &job, &args.output, format, args.force, &mut watch);
    drop(watch);
    let export = done.map_err(failure)?;
    if let Some(remark) = code::remark(&options, &args.workload, &[&setup.gpu], &[]).filter(|_| !options.quiet) {
        output::remark(&format!("{remark}\n"));
    }
    let wrong = export.report.check.as_ref().filter(|check| !check.passed);
    if let Some(check) = wrong {
        output::error(&format!("the result of the recorded run is wrong: {}", check.details));
    }
    say(options.quiet, &summary(&export), if wrong.is_some() { Exit::Failed } else { Exit::Success })
}

fn say(quiet: bool, text: &str, exit: Exit) -> Outcome {
    if !quiet {
        output::print(text)?;
    }
    Ok(exit)
}

fn failure(error: lab::RunError) -> Failure {
    match () {
        () if interrupt::requested() => Failure { message: error.message, exit: Exit::Interrupted },
        () if error.bad_input => Failure::bad_input(error),
        () => Failure::failed(error),
    }
}

fn format(args: &Args) -> Result<TraceFormat, Failure> {
    match (args.format, args.compress) {
        (Format::Native, None) => Ok(TraceFormat::Native { values: args.values }),
        (Format::Accelsim, _) if args.values => Err(Failure::bad_input(
            "--values is for our own format; Accel-Sim's has no place for them. Leave --format accelsim or --values out",
        )),
        (Format::Native, Some(_)) => Err(Failure::bad_input(
            "--compress is for Accel-Sim's format; our own is always compressed. Add --format accelsim, or leave --compress out",
        )),
        (Format::Accelsim, compress) => Ok(TraceFormat::AccelSim(match compress.unwrap_or(Compress::Xz) {
            Compress::None => Compression::None,
            Compress::Gz => Compression::Gzip,
            Compress::Xz => Compression::Xz,
            Compress::Zst => Compression::Zstd,
        })),
    }
}

fn summary(export: &Export) -> String {
    let written = &export.written;
    let each = written.bytes as f64 / written.warp_instructions.max(1) as f64;
    format!(
        "{}: {}, {each:.2} for each warp instruction\n{}, {}, {}, {}\n",
        export.path.display(),
        number::counted(written.bytes, "byte"),
        number::counted(written.launches, "launch"),
        number::counted(written.ctas, "CTA"),
        number::counted(written.warp_instructions, "warp instruction"),
        number::counted(written.thread_instructions, "thread instruction"),
    )
}
