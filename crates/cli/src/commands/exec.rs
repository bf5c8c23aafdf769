//! `warpwright exec`: a CUDA program as it was built, on simulated GPUs.

use super::exec_split::{self, Splitting};
use crate::failure::{Exit, Failure, Outcome};
use crate::libraries::Libraries;
use crate::{output, program};
use clap::ValueEnum as _;
use hostcode::families::{CHOICE, FAMILIES};
use kit::output::MadeFolders;
use request::command::{Exec, Given};
use request::{Options, environment, gpu, outputs, sweep};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run a CUDA program as it was built on simulated GPUs
///
/// The program finds libraries of Warpwright in place of NVIDIA's driver and CUDA runtime. Its kernels run on the simulated GPU with the core design that is chosen; the rest of it runs as always, with its own input, output and exit status. The report follows on standard error when it ends. A CUDA runtime that is linked into the program is replaced as well, unless the program is stripped; `warpwright docs cuda` has the details, and what is supported.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright exec -- ./hotspot 512 2 2 temp_512 power_512 output.out
  warpwright exec --gpu v100 --core ghost --out results -- ./bfs graph1MW_6.txt
  warpwright exec --html bfs.html --profile -- ./bfs graph1MW_6.txt
  warpwright exec --time kernels=needle_cuda_shared_1 -- ./needle 1024 10
  warpwright exec --gpu rtx2060s,v100 -- ./multi_gpu
  warpwright exec -- python script.py
  warpwright exec --split 16 --out results -- ./lu -n 8192
  eval \"$(warpwright exec --print-environment --gpu v100)\"; gdb ./hotspot")]
pub struct Args {
    #[command(flatten)]
    given: Given<Exec>,
    #[command(flatten)]
    splitting: Splitting,
    /// Libraries of our own in place of NVIDIA's, beside CUDA's driver and runtime (`warpwright docs standins`)
    #[arg(long, value_name = "WHICH", value_delimiter = ',', default_value = "all")]
    own_libraries: Vec<OwnLibraries>,
    /// Print the environment variables as commands of a shell, and run nothing: for debuggers, MPI and notebooks
    #[arg(long)]
    print_environment: bool,
    /// Program and its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "print_environment")]
    program: Vec<OsString>,
}

/// Which libraries beside CUDA's driver and runtime are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OwnLibraries {
    /// All that follow
    All,
    /// cuBLAS and cuBLASLt
    Blas,
    /// cuRAND's host interface
    Rand,
    /// cuFFT
    Fft,
    /// cuSPARSE
    Sparse,
    /// None: NVIDIA's are loaded, and what they do on the GPU fails
    None,
}

/// The chosen families of libraries.
fn families(chosen: &[OwnLibraries]) -> Result<Vec<&'static str>, Failure> {
    if chosen.contains(&OwnLibraries::None) && chosen.len() > 1 {
        return Err(Failure::bad_input("--own-libraries: `none` excludes other values"));
    }
    let names: Vec<_> = chosen.iter().filter_map(|one| Some(one.to_possible_value()?.get_name().to_owned())).collect();
    let all = chosen.contains(&OwnLibraries::All);
    let families = FAMILIES.iter().map(|(name, _)| *name);
    Ok(families.filter(|family| all || names.iter().any(|name| name == family)).collect())
}

/// The variable that names a library to each copy of NVTX in a program.
const INJECTION: &str = "NVTX_INJECTION64_PATH";

/// Runs the program.
pub fn run(args: &Args) -> Outcome {
    let families = families(&args.own_libraries)?;
    let program = args.program.first().filter(|_| !args.print_environment);
    let program = program.map(|name| program::find(name)).transpose()?;
    // Paths are absolute: the program may change its folder.
    let options = args.given.options()?.absolute().map_err(Failure::failed)?;
    check_files(&options, program.as_deref())?;
    if let Some((count, file)) = args.splitting.split.zip(program.as_deref()) {
        let own_libraries = if families.is_empty() { "none".to_owned() } else { families.join(",") };
        let asked = exec_split::Asked {
            texts: args.given.texts(),
            options: &options,
            program: &args.program,
            file,
            own_libraries: &own_libraries,
        };
        return exec_split::run(&args.splitting, count, asked);
    }
    let mut environment = environment::of(&options)?;
    let mut libraries = Libraries::find()?;
    let path = std::env::var_os("LD_LIBRARY_PATH").filter(|path| !path.is_empty());
    let is_all = families.len() == FAMILIES.len();
    let folder = libraries.folder(is_all);
    let path = std::env::join_paths(std::iter::once(folder.clone()).chain(path.iter().flat_map(std::env::split_paths)));
    let path = path.map_err(|e| Failure::bad_input(format!("the libraries cannot be found by programs: {e}")))?;
    environment.push(("LD_LIBRARY_PATH".to_owned(), path));
    if options.by.is_some() {
        environment.push((INJECTION.to_owned(), folder.join("libcuda.so.1").into()));
    }
    environment.push(("LD_AUDIT".to_owned(), audit(&libraries.folder(!families.is_empty()))));
    if !is_all {
        environment.push((CHOICE.to_owned(), families.join(",").into()));
    }
    program.as_ref().map_or(Ok(()), |path| program::check(path, &libraries))?;
    // Options that are not given have their defaults, whatever the environment says.
    let is_given = |name: &String| environment.iter().any(|(given, _)| given == name);
    let names = environment::names().into_iter().chain([CHOICE.to_owned()]);
    let unset: Vec<String> = names.filter(|name| !is_given(name)).collect();
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
    let made = options.out.as_deref().map(made).transpose()?;
    libraries.keep_for_program().map_err(|e| Failure::failed(format!("a temporary folder cannot be used: {e}")))?;
    // The program takes the place of this process, so that signals reach it, and its status is its own.
    let mut command = Command::new(name);
    unset.iter().for_each(|name| _ = command.env_remove(name));
    let problem = command.args(rest).envs(environment).exec();
    drop(made);
    Err(Failure::bad_input(format!("cannot run `{}`: {problem}", name.to_string_lossy())))
}

/// Checks that what is written can be, and is not what is read: the program, GPU descriptions, energy models. Changes
/// nothing.
fn check_files(options: &Options, program: Option<&Path>) -> Result<(), Failure> {
    let mut inputs: Vec<PathBuf> = program.map(Path::to_owned).into_iter().collect();
    for device in sweep::devices(options)? {
        inputs.extend(gpu::energy_file(&device.gpu));
    }
    inputs.extend(options.gpu.iter().flat_map(|gpu| gpu::files(&gpu.0)));
    inputs.extend(options.energy_model.iter().map(|model| model.0.clone()));
    // To be tried, a folder must be there.
    let folder = options.out.as_deref().map(made).transpose()?;
    let outputs = outputs::files(options);
    output::check(outputs.iter().map(PathBuf::as_path), &inputs)?;
    drop(folder);
    Ok(())
}

fn made(folder: &Path) -> Result<MadeFolders, Failure> {
    MadeFolders::make(folder)
        .map_err(|e| Failure::bad_input(format!("cannot make the folder `{}`: {e}", folder.display())))
}

/// Auditing libraries for the loader, ours the last: it takes our libraries wherever a program looks for NVIDIA's, and
/// replaces NVIDIA's runtime where it is linked in. An interpreter's modules have paths of their own for libraries, as
/// PyTorch's have.
fn audit(folder: &Path) -> OsString {
    let mut list = std::env::var_os("LD_AUDIT").filter(|list| !list.is_empty()).unwrap_or_default();
    if !list.is_empty() {
        list.push(":");
    }
    list.push(Libraries::audit(folder));
    list
}
