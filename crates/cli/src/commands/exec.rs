//! `warpwright exec`: a CUDA program as it was built, on simulated GPUs.

use super::resume;
use crate::failure::{Exit, Failure, Outcome};
use crate::libraries::Libraries;
use crate::lookup;
use crate::options::{Jobs, LIVELOCK_CYCLES, Settings, Timed};
use crate::output;
use crate::program;
use clap::builder::PossibleValuesParser;
use kit::output::MadeFolders;
use lab::{OutOfBounds, Time};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run a CUDA program as it was built on simulated GPUs
///
/// The program finds libraries of Warpwright in place of NVIDIA's driver and CUDA runtime. Its kernels run on the simulated GPU with the core design that is chosen; the rest of it runs as always, with its own input, output and exit status. The report follows on standard error when it ends. The program must use the shared CUDA runtime (`nvcc -cudart shared`) or the driver API; docs/cuda.md has the details, and what is supported.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright exec -- ./hotspot 512 2 2 temp_512 power_512 output.out
  warpwright exec --gpu v100 --core ghost --out results -- ./bfs graph1MW_6.txt
  warpwright exec --time kernels=needle_cuda_shared_1 -- ./needle 1024 10
  warpwright exec --gpu rtx2060s,v100 -- ./multi_gpu
  warpwright exec -- python script.py
  eval \"$(warpwright exec --print-environment --gpu v100)\"; gdb ./hotspot")]
pub struct Args {
    /// GPU: a built-in one (`warpwright list gpus`) or the path of a description; several between commas for a program that uses several
    #[arg(long, value_name = "NAME|FILE", default_value = "rtx2060s", value_delimiter = ',')]
    gpu: Vec<PathBuf>,
    /// Core design (`warpwright list cores`)
    #[arg(long, value_name = "NAME", default_value = "inorder")]
    core: String,
    /// Warp scheduler with its parameters (`warpwright list schedulers`) [default: the GPU description's]
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    #[command(flatten)]
    set: Settings,
    #[command(flatten)]
    time: Timed,
    /// Which code of fat binaries runs that have both: auto (machine code, or PTX with a core that runs nothing else), or ptx
    #[arg(long, value_name = "ISA", default_value = "auto", hide_possible_values = true, value_parser = ["auto", "ptx"])]
    isa: String,
    /// End the simulation after this number of core cycles: later calls of the program fail
    #[arg(long, value_name = "NUMBER")]
    max_cycles: Option<u64>,
    #[command(flatten)]
    jobs: Jobs,
    /// Core cycles after which warps that only repeat themselves are a fault. 0 turns this off
    #[arg(long, value_name = "NUMBER", default_value_t = LIVELOCK_CYCLES)]
    livelock_cycles: u64,
    /// Check each instruction against the program order of its warp (hazard auditor)
    #[arg(long)]
    audit: bool,
    /// What happens when a kernel accesses global memory outside all allocations: warn (default) or allow, with which such accesses near allocations are harmless, as on hardware, or error
    #[arg(long, value_name = "POLICY", default_value = "warn", hide_possible_values = true, value_parser = PossibleValuesParser::new(OutOfBounds::CHOICES.map(|choice| choice.0)))]
    out_of_bounds: String,
    /// Check memory accesses: reads of memory that was never written, races of warps in shared memory and of CTAs in global memory. Takes several times as long
    #[arg(long)]
    check_memory: bool,
    /// Core cycles between two points of power over time, for power.csv of --out
    #[arg(long, value_name = "CYCLES")]
    power_interval: Option<NonZeroU64>,
    /// Write report.txt, report.json and, with --power-interval, power.csv to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Write the report as JSON to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Not for whole programs: a message says so
    #[arg(long, hide = true, value_name = "every=TIME,file=FILE")]
    checkpoint: Option<String>,
    #[arg(long, hide = true, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Make the exit status 1 if a kernel was refused or faulted, or a launch failed, and the program's own status is 0
    #[arg(long)]
    strict: bool,
    /// No report on standard error
    #[arg(short, long)]
    quiet: bool,
    /// Print the environment variables as commands of a shell, and run nothing: for debuggers, MPI and notebooks
    #[arg(long)]
    print_environment: bool,
    /// Program and its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "print_environment")]
    program: Vec<OsString>,
}

/// Runs the program.
pub fn run(args: &Args) -> Outcome {
    if args.checkpoint.is_some() || args.resume.is_some() {
        return Err(resume::not_for_programs());
    }
    let program = args.program.first().filter(|_| !args.print_environment);
    let program = program.map(|name| program::find(name)).transpose()?;
    let mut environment = environment(args)?;
    check_files(args, program.as_deref())?;
    let mut libraries = Libraries::find()?;
    let path = std::env::var_os("LD_LIBRARY_PATH").filter(|path| !path.is_empty());
    let path = std::env::join_paths(
        std::iter::once(libraries.folder().to_owned()).chain(path.iter().flat_map(std::env::split_paths)),
    );
    let path = path.map_err(|e| Failure::bad_input(format!("the libraries cannot be found by programs: {e}")))?;
    environment.push(("LD_LIBRARY_PATH", path));
    let finds_runtime = program.as_ref().map_or(Ok(false), |path| program::check(path, &libraries))?;
    if !finds_runtime {
        environment.push(("LD_PRELOAD", preload(&libraries)));
    }
    // Options that are not given have their defaults, whatever the environment says.
    let is_given = |name: &str| environment.iter().any(|(given, _)| *given == name);
    let ours = driver::settings::VARIABLES.iter().map(|(name, _)| *name).filter(|name| name.starts_with("WARPWRIGHT_"));
    let unset: Vec<&str> = ours.filter(|name| !is_given(name)).collect();
    if args.print_environment {
        let unset = unset.iter().map(|name| format!("unset {name}\n"));
        let set = environment.iter().map(|(name, value)| format!("export {name}={}\n", output::quoted(value)));
        output::print(&unset.chain(set).collect::<String>())?;
        if let Some(folder) = libraries.keep() {
            output::remark(&format!("warpwright: `{}` stays until you remove it\n", folder.display()));
        }
        return Ok(Exit::Success);
    }
    let Some((name, rest)) = args.program.split_first() else {
        return Err(Failure::bad_input("no program is given"));
    };
    // Empty again if the program cannot be started.
    let folder = args.out.as_deref().map(made).transpose()?;
    libraries.keep_for_program().map_err(|e| Failure::failed(format!("a temporary folder cannot be used: {e}")))?;
    // The program takes the place of this process, so that signals reach it, and its status is its own.
    let mut command = Command::new(name);
    unset.iter().for_each(|name| _ = command.env_remove(name));
    let problem = command.args(rest).envs(environment).exec();
    drop(folder);
    Err(Failure::bad_input(format!("cannot run `{}`: {problem}", name.to_string_lossy())))
}

/// Files that `--out` has.
const OUT: [&str; 3] = ["report.txt", "report.json", "power.csv"];

/// Checks that what is written can be, and is not what is read: the program, GPU descriptions, energy models. Changes
/// nothing.
fn check_files(args: &Args, program: Option<&Path>) -> Result<(), Failure> {
    let mut inputs: Vec<PathBuf> = program.map(Path::to_owned).into_iter().collect();
    for name in &args.gpu {
        inputs.extend(lookup::gpu_files(name));
        inputs.extend(lookup::energy_file(&lookup::gpu(name, &args.set.settings)?));
    }
    // To be tried, a folder must be there.
    let folder = args.out.as_deref().map(made).transpose()?;
    let in_folder = args.out.iter().flat_map(|folder| OUT.map(|name| folder.join(name)));
    let outputs: Vec<PathBuf> = args.json.iter().cloned().chain(in_folder).collect();
    output::check(outputs.iter().map(PathBuf::as_path), &inputs)?;
    drop(folder);
    Ok(())
}

fn made(folder: &Path) -> Result<MadeFolders, Failure> {
    MadeFolders::make(folder)
        .map_err(|e| Failure::bad_input(format!("cannot make the folder `{}`: {e}", folder.display())))
}

/// The runtimes, for the loader to load before all else. An interpreter's modules may have paths of their own for
/// libraries, as PyTorch's have; a library that is loaded already is taken whatever the paths are. The three are
/// distinguished by the versions of their symbols.
fn preload(libraries: &Libraries) -> OsString {
    let mut list = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    for path in libraries.runtimes() {
        if !list.is_empty() {
            list.push(":");
        }
        // Spaces separate entries of this variable. A name is looked up in `LD_LIBRARY_PATH`.
        let has_space = path.to_string_lossy().contains(char::is_whitespace);
        list.push(if has_space { path.file_name().unwrap_or_default() } else { path.as_os_str() });
    }
    list
}

/// The environment variables that say what the user asks for; mistakes are found here. Paths are absolute: the program
/// may change its folder.
fn environment(args: &Args) -> Result<Vec<(&'static str, OsString)>, Failure> {
    lookup::core(&args.core)?;
    args.scheduler.as_deref().map_or(Ok(()), lookup::scheduler)?;
    let time: Time = args.time.chosen()?;
    let mut gpus = Vec::new();
    for name in &args.gpu {
        lookup::gpu(name, &args.set.settings)?;
        // A built-in one is found by its name, also where a file has that name.
        gpus.push(text(&if lookup::gpu_files(name).is_empty() { name.clone() } else { absolute(name)? })?);
    }
    let settings =
        args.set.settings.iter().map(|setting| with_absolute_path(setting)).collect::<Result<Vec<_>, _>>()?;
    let mut set: Vec<(&'static str, OsString)> = vec![
        ("WARPWRIGHT_GPU", list(&gpus)?),
        ("WARPWRIGHT_CORE", args.core.clone().into()),
        ("WARPWRIGHT_TIME", time.to_string().into()),
        ("WARPWRIGHT_ISA", args.isa.clone().into()),
        ("WARPWRIGHT_OUT_OF_BOUNDS", args.out_of_bounds.clone().into()),
        ("WARPWRIGHT_LIVELOCK_CYCLES", args.livelock_cycles.to_string().into()),
    ];
    let path = |path: &Option<PathBuf>| -> Result<Option<OsString>, Failure> {
        let path = path.as_deref().map(|path| text(&absolute(path)?)).transpose()?;
        Ok(path.map(OsString::from))
    };
    let mut add = |name, value: Option<OsString>| set.extend(value.map(|value| (name, value)));
    add("WARPWRIGHT_SCHEDULER", args.scheduler.clone().map(OsString::from));
    add("WARPWRIGHT_SET", if settings.is_empty() { None } else { Some(list(&settings)?) });
    add("WARPWRIGHT_MAX_CYCLES", args.max_cycles.map(|number| number.to_string().into()));
    add("WARPWRIGHT_THREADS", args.jobs.threads.map(|number| number.to_string().into()));
    add("WARPWRIGHT_POWER_INTERVAL", args.power_interval.map(|number| number.to_string().into()));
    add("WARPWRIGHT_AUDIT", args.audit.then(|| "1".into()));
    add("WARPWRIGHT_CHECK_MEMORY", args.check_memory.then(|| "1".into()));
    add("WARPWRIGHT_STRICT", args.strict.then(|| "1".into()));
    add("WARPWRIGHT_QUIET", args.quiet.then(|| "1".into()));
    add("WARPWRIGHT_OUT", path(&args.out)?);
    add("WARPWRIGHT_JSON", path(&args.json)?);
    Ok(set)
}

/// Values of a variable, as JSON: they may have any characters.
fn list(values: &[String]) -> Result<OsString, Failure> {
    serde_json::to_string(values).map(OsString::from).map_err(Failure::failed)
}

/// A setting, whose value may be the path of a file.
fn with_absolute_path(setting: &str) -> Result<String, Failure> {
    match setting.split_once('=') {
        Some((key, file)) if key.trim() == "energy.model" && Path::new(file.trim()).is_file() => {
            Ok(format!("{key}={}", text(&absolute(Path::new(file.trim()))?)?))
        }
        _ => Ok(setting.to_owned()),
    }
}

/// A path as a variable that a program reads as text.
fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::bad_input(format!("`{}` is not UTF-8, as a path for a program must be", path.display()))
    })
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|e| Failure::bad_input(format!("`{}`: {e}", path.display())))
}
