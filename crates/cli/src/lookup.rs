//! Turns names and assignments from the command line into what [`lab`] runs; an error names the
//! valid choices.

use crate::failure::Failure;
use crate::options::{Bounds, WorkSize};
use crate::program;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use config::GpuConfig;
use kit::text::excerpt;
use lab::{Job, RegisterChoice, RegisterMode, Setup};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use workloads::launchfile::{LaunchFile, ModuleOverride, Overrides};
use workloads::{Form, Workload, WorkloadError, suggest, suite};

/// A GPU description with its overrides.
pub fn gpu(name_or_path: &Path, settings: &[String]) -> Result<GpuConfig, Failure> {
    config::load_with(name_or_path, settings).map_err(|error| {
        // A problem of a whole file, such as an empty one, has no place.
        let nowhere = error.problems.iter().all(|problem| problem.spot.is_none());
        let file = if nowhere { format!("`{}`: ", excerpt(&name_or_path.to_string_lossy())) } else { String::new() };
        let several = name_or_path.to_str().filter(|name| name.contains(',') && !name_or_path.exists());
        let several = several.map_or("", |_| "\n  hint: one GPU here; `warpwright compare --gpus A,B` takes several");
        Failure::bad_input(format!("{file}{error}{several}"))
    })
}

/// The GPU that `run`, `trace` and `compare` take by default.
const USUAL_GPU: &str = "rtx2060s";

/// The GPU to run on: the one `given`, else that of the launch files among `workloads`, else the usual one.
pub fn gpu_of(given: Option<&Path>, workloads: &[&Path], input: &Input) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let is_file = |name: &Path| bundled(&name.to_string_lossy()).is_err() && !lab::is_trace(name);
    let mut named: Vec<PathBuf> = Vec::new();
    for path in workloads.iter().filter(|path| is_file(path)) {
        // A file that cannot be read is reported when it is to run.
        let Ok(file) = LaunchFile::load(path, &input.overrides()) else { continue };
        let Some(name) = file.gpu() else { continue };
        gpu(&name, &[]).map_err(|e| Failure::bad_input(file.refused_gpu(e.message)))?;
        named.push(name);
    }
    named.dedup();
    match &named[..] {
        [] => Ok(USUAL_GPU.into()),
        [one] => Ok(one.clone()),
        [one, other, ..] => {
            let (one, other) = (one.display(), other.display());
            Err(Failure::bad_input(format!("the launch files name different GPUs, {one} and {other}: give --gpus")))
        }
    }
}

/// The files that a GPU description is read from: none if it comes with the program.
pub fn gpu_files(name_or_path: &Path) -> Vec<PathBuf> {
    if config::builtin().iter().any(|gpu| Path::new(gpu.name) == name_or_path) {
        return Vec::new();
    }
    config::Raw::open(name_or_path).map_or_else(|_| Vec::new(), |raw| raw.files().to_vec())
}

/// The file that the energy model of a GPU is read from, if it does not come with the program.
pub fn energy_file(gpu: &GpuConfig) -> Option<PathBuf> {
    gpu.energy.model.as_ref().map(PathBuf::from).filter(|path| path.is_file())
}

/// Checks the name of a core design.
pub fn core(name: &str) -> Result<(), Failure> {
    lab::check_core(name).map_err(Failure::bad_input)
}

/// Checks the name of a warp scheduler.
pub fn scheduler(name: &str) -> Result<(), Failure> {
    lab::check_scheduler(name).map_err(Failure::bad_input)
}

/// The failure of a `name` that is none of the `known` ones.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> Failure {
    Failure::bad_input(suggest::unknown(what, name, known))
}

/// Checks that a list has no empty entry and nothing twice.
pub fn distinct<T: AsRef<std::ffi::OsStr>>(option: &str, list: &[T]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for one in list.iter().map(AsRef::as_ref) {
        let shown = excerpt(&one.to_string_lossy());
        if one.is_empty() {
            let what = if list.len() > 1 { "a name is missing at a comma" } else { "no name is given" };
            return Err(Failure::bad_input(format!("{option}: {what}")));
        }
        if !seen.insert(one) {
            return Err(Failure::bad_input(format!("{option}: `{shown}` is given twice; give it once")));
        }
    }
    Ok(())
}

/// The kind of a word that does not name a workload, if it is known.
fn other_meaning(name: &str) -> Option<String> {
    let of = |what: &str, option: &str| {
        format!("`{name}` is a {what}, not a workload; several are listed with commas: {option} A,{name}")
    };
    let is_gpu = config::builtin().iter().any(|gpu| gpu.name == name);
    match () {
        () if name.is_empty() => None,
        () if lab::check_core(name).is_ok() => Some(of("core design", "--cores")),
        () if lab::check_scheduler(name).is_ok() => Some(of("warp scheduler", "--schedulers")),
        () if is_gpu => Some(of("GPU", "--gpus")),
        () => None,
    }
}

/// The kind of a file that is not a launch file, by its name, and what to do with it.
pub fn not_runnable(path: &Path) -> Option<&'static str> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match &end[..] {
        "cu" | "cuh" => {
            "is CUDA C++. Compile it: `nvcc -arch=sm_75 -cubin -lineinfo` or `nvcc -ptx` makes a module for a launch file, `nvcc -cudart shared` a program; without CUDA, clang (`clang -S --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc -nocudalib`) or NVRTC (`pip install nvidia-cuda-nvrtc-cu12`) makes PTX"
        }
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => "is C or C++ of the host: compile it to a program and run that",
        "json" => "is JSON, such as a report: what runs is a workload, a launch file (.toml), a trace or a program",
        "csv" | "html" | "svg" => {
            "is an output, not an input: what runs is a workload, a launch file (.toml), a trace or a program"
        }
        "py" | "ipynb" | "sh" | "js" => {
            "is a script: `warpwright exec -- INTERPRETER SCRIPT` runs one, such as `warpwright exec -- python script.py`"
        }
        "cuobjdump" | "sass" => "is text of machine code: what runs is the cubin itself, from a launch file",
        _ => return None,
    })
}

/// `name=value` of a parameter.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE, such as n=4096".to_owned()),
    }
}

/// `FILE` or `NAME=FILE` of a module.
fn module(text: &str) -> Result<ModuleOverride, String> {
    let named = text.split_once('=').filter(|_| !Path::new(text).exists());
    let (name, path) = named.map_or((None, text), |(name, path)| (Some(name.trim().to_owned()), path.trim()));
    if path.is_empty() || name.as_ref().is_some_and(String::is_empty) {
        return Err("expected FILE or NAME=FILE, such as kernels.ptx=other.cubin".to_owned());
    }
    Ok(ModuleOverride { name, path: path.into() })
}

/// A whole number; digits may be grouped: `1_000_000`.
fn number(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok()
}

/// The user's choices of input.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Input")]
pub struct Input {
    #[command(flatten)]
    work: WorkSize,
    /// A parameter of a bundled workload (`warpwright list workloads` names them) or an entry of a launch file's table of values
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = assignment)]
    params: Vec<(String, String)>,
    /// A file in place of the module of a launch file, or in place of the one that it calls NAME
    #[arg(long = "module", value_name = "[NAME=]FILE", value_parser = module)]
    modules: Vec<ModuleOverride>,
    /// Seed of the generated inputs of bundled workloads [default: 1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Which code of a bundled workload runs
    #[arg(long, value_name = "ISA", value_enum, default_value_t)]
    isa: Isa,
    /// Registers that PTX runs with: virtual (default), allocated, or hazard-free, allocated so that no write overtakes a read. Bundled workloads then run as PTX
    #[arg(long, value_name = "WHICH", hide_possible_values = true, value_parser = PossibleValuesParser::new(RegisterMode::ALL.map(RegisterMode::name)).map(|name| register_mode(&name)))]
    registers: Option<RegisterMode>,
    /// Maximum number of registers per thread to allocate; values that do not fit are spilled to local memory [default: as many as the GPU allows]
    #[arg(long, value_name = "NUMBER", requires = "registers")]
    max_registers: Option<u32>,
    /// Stack of each thread where machine code does not bound its own, with recursion or calls through pointers [default: the launch file's, else 1024]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=512 << 10))]
    stack_bytes: Option<u32>,
    #[command(flatten)]
    bounds: Bounds,
    /// Let machine code in traces, cubins and fat binaries of another architecture than the GPU's run
    #[arg(long)]
    any_architecture: bool,
    /// Let kernels of different streams of a trace run at the same time; Accel-Sim runs one after the other
    #[arg(long)]
    concurrent_streams: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Isa {
    /// Machine code for the GPU's architecture where the workload has some and the core runs it, else PTX
    #[default]
    Auto,
    /// The virtual machine's code: virtual registers, not scheduled for any GPU
    Ptx,
    /// Machine code for the GPU's architecture
    Sass,
}

impl Input {
    /// What replaces parts of a launch file.
    fn overrides(&self) -> Overrides {
        Overrides { values: self.params.clone(), modules: self.modules.clone() }
    }

    /// Which code of the bundled workload called `name` runs on all of `gpus` and `cores`. Other inputs have one code
    /// only.
    pub fn form(&self, name: impl AsRef<Path>, gpus: &[&GpuConfig], cores: &[&str]) -> Form {
        match self.isa {
            Isa::Ptx => Form::Ptx,
            Isa::Sass => Form::Sass,
            Isa::Auto if self.registers.is_some() || needs_ptx(cores).is_some() => Form::Ptx,
            Isa::Auto => {
                let name = name.as_ref().to_string_lossy();
                bundled(&name).map_or(Form::Ptx, |(workload, _)| usual_form(workload, gpus))
            }
        }
    }

    /// A remark, if a workload runs as PTX for want of machine code for all of `gpus`, which others have, or because
    /// one of `cores` runs nothing else.
    pub fn remark(&self, name: impl AsRef<Path>, gpus: &[&GpuConfig], cores: &[&str]) -> Option<String> {
        let (workload, _) = bundled(&name.as_ref().to_string_lossy()).ok()?;
        let name = workload.name;
        let has_code = usual_form(workload, gpus) == Form::Sass;
        match needs_ptx(cores) {
            _ if self.isa != Isa::Auto || self.registers.is_some() => None,
            Some(core) if has_code => Some(format!("core {core} executes PTX only: {name} runs as PTX")),
            _ if self.lacks_code(workload, gpus, cores) => {
                let lacks = |gpu: &&&GpuConfig| workload.module.cubin(gpu.sm_version).is_none();
                let lacking: Vec<_> =
                    gpus.iter().filter(lacks).map(|gpu| format!("{} (sm_{})", gpu.name, gpu.sm_version)).collect();
                Some(format!("{name} has no machine code for {}: it runs as PTX", lacking.join(", ")))
            }
            _ => None,
        }
    }

    /// Whether `workload` lacks the machine code for all of `gpus` as which others run.
    pub fn lacks_code(&self, workload: &Workload, gpus: &[&GpuConfig], cores: &[&str]) -> bool {
        let has_code = |workload: &Workload| usual_form(workload, gpus) == Form::Sass;
        let runs_code = match self.isa {
            Isa::Auto => self.registers.is_none() && needs_ptx(cores).is_none() && suite::ALL.iter().any(has_code),
            Isa::Ptx => false,
            Isa::Sass => true,
        };
        runs_code && !has_code(workload)
    }

    /// Whether everything is to run as PTX.
    pub fn is_ptx(&self) -> bool {
        self.isa == Isa::Ptx
    }

    /// A run on `gpu` with these choices; [`Input::form`] gives the code.
    pub fn setup(&self, gpu: GpuConfig) -> Setup {
        Setup {
            registers: RegisterChoice { mode: self.registers.unwrap_or_default(), most: self.max_registers },
            any_architecture: self.any_architecture,
            stack_bytes: self.stack_bytes,
            out_of_bounds: self.bounds.policy(),
            ..Setup::new(gpu)
        }
    }
}

fn register_mode(name: &str) -> RegisterMode {
    RegisterMode::ALL.into_iter().find(|mode| mode.name() == name).unwrap_or_default()
}

/// The first of `cores` that runs PTX only.
fn needs_ptx<'a>(cores: &[&'a str]) -> Option<&'a str> {
    cores.iter().copied().find(|core| lab::needs_ptx(core))
}

/// Machine code where the workload has some for all of `gpus`, else PTX.
fn usual_form(workload: &Workload, gpus: &[&GpuConfig]) -> Form {
    workload.usual_form(gpus.iter().map(|gpu| gpu.sm_version))
}

/// The bundled workload that `name` begins with, and the parameters that follow it: `nn:places=4096,block=64`.
fn bundled(name: &str) -> Result<(&'static Workload, &str), WorkloadError> {
    let (name, params) = name.split_once(':').unwrap_or((name, ""));
    Ok((suite::find(name)?, params))
}

/// The job that `name` means: a bundled workload, a launch file or a trace.
pub fn job(named: &Path, input: &Input) -> Result<Job, Failure> {
    for (i, (param, _)) in input.params.iter().enumerate() {
        if input.params[..i].iter().any(|(earlier, _)| earlier == param) {
            return Err(Failure::bad_input(format!("--param {param} is given twice; give each parameter once")));
        }
    }
    for (i, module) in input.modules.iter().enumerate() {
        if input.modules[..i].iter().any(|earlier| earlier.name == module.name) {
            let name = module.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
            return Err(Failure::bad_input(format!("--module{name} is given twice; give each module once")));
        }
    }
    // A name that is not text can only be that of a file.
    let name = &*named.to_string_lossy();
    match bundled(name) {
        Ok((bundled, params)) => workload(bundled, params, input),
        Err(_) if lab::is_trace(named) => trace(named, input),
        Err(_) if looks_like_a_path(named) => launch_file(named, input),
        Err(unknown) => Err(Failure::bad_input(match other_meaning(name) {
            Some(meaning) => meaning,
            None => format!(
                "{unknown}\n    hint: `warpwright list workloads` describes them; a kernel of your own runs from a launch file (docs/launch-files.md)"
            ),
        })),
    }
}

fn looks_like_a_path(path: &Path) -> bool {
    path.components().nth(1).is_some() || path.extension().is_some() || path.exists()
}

/// A run of `workload` with its `own` parameters, as in `places=4096,block=64`, and those of `--param`.
fn workload(workload: &'static Workload, own: &str, input: &Input) -> Result<Job, Failure> {
    let name = workload.name;
    if input.isa == Isa::Sass && input.registers.is_some() {
        return Err(Failure::bad_input(
            "--registers is for PTX: machine code has its registers (--isa sass). Leave one of the two out",
        ));
    }
    if !input.modules.is_empty() {
        return Err(Failure::bad_input(format!(
            "`{name}`: --module is for launch files; a bundled workload has its code"
        )));
    }
    let size = input.work.chosen();
    let mut params = Vec::new();
    let own = own.split(',').filter(|own| !own.is_empty()).map(assignment).collect::<Result<Vec<_>, _>>();
    let own = own.map_err(|why| Failure::bad_input(format!("parameters after `{name}:`: {why}")))?;
    for (param, value) in input.params.iter().chain(&own) {
        let number = number(value).ok_or_else(|| {
            Failure::bad_input(format!("{param}={value}: parameters of `{name}` are whole numbers of 64 bits"))
        })?;
        if params.iter().any(|(earlier, _)| earlier == param) {
            return Err(Failure::bad_input(format!("parameter {param} of `{name}` is given twice; give it once")));
        }
        params.push((param.clone(), number));
    }
    workload.params(size, &params).map_err(Failure::bad_input)?;
    let params = params.into_iter().collect();
    Ok(Job::Workload { name: name.into(), size, params, seed: input.seed.unwrap_or(1) })
}

fn trace(path: &Path, input: &Input) -> Result<Job, Failure> {
    let given = [
        ("--size", input.work.size.is_some()),
        ("--param", !input.params.is_empty()),
        ("--module", !input.modules.is_empty()),
        ("--seed", input.seed.is_some()),
        ("--isa", input.isa == Isa::Sass),
        ("--registers", input.registers.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let path = path.display();
        return Err(Failure::bad_input(format!("`{path}`: {option} is for workloads; a trace has one input")));
    }
    Ok(Job::Trace { path: path.into(), concurrent_streams: input.concurrent_streams })
}

/// Whether a file is what Accel-Sim's tracer writes and its post-processing reads: the list `kernelslist` of copies and
/// files `.trace`, or one of these. Post-processing sorts the instructions of a kernel by CTA and warp.
fn is_tracer_output(path: &Path) -> bool {
    let (list, kernel) = (path.file_stem().is_some_and(|stem| stem == "kernelslist"), path.extension());
    if kernel.is_some_and(|extension| extension == "trace") {
        return true;
    }
    let Ok(file) = std::fs::File::open(path) else { return false };
    let mut head = Vec::new();
    let _ = std::io::Read::read_to_end(&mut std::io::Read::take(file, 4096), &mut head);
    let head = String::from_utf8_lossy(&head);
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let raw = |line: &str| line.starts_with("MemcpyHtoD,") || line.trim_end().ends_with(".trace");
    lines.next().is_some_and(raw) || list && lines.any(raw)
}

fn launch_file(path: &Path, input: &Input) -> Result<Job, Failure> {
    let name = &*path.to_string_lossy();
    let refuse = |why: String| Err(Failure::bad_input(format!("`{name}`: {why}")));
    match std::fs::metadata(path) {
        Err(e) => {
            let near = path
                .file_stem()
                .and_then(|s| s.to_str())
                .filter(|stem| stem.len() >= 3)
                .and_then(|stem| suggest::nearest(stem, suite::ALL.iter().map(|w| w.name)));
            let near = near.map_or(String::new(), |n| format!("; did you mean the bundled workload `{n}`?"));
            let end = path.extension().and_then(|end| end.to_str()).filter(|end| ["json", "csv"].contains(end));
            let near = end.map_or(near, |end| format!("; to write results to it: `--{end}={name}`"));
            return refuse(format!("the launch file cannot be read: {e}{near}"));
        }
        Ok(meta) if meta.is_dir() => {
            return refuse(format!("is a directory without a trace ({}); give a launch file (.toml)", lab::LIST_FILE));
        }
        Ok(_) => {}
    }
    if is_tracer_output(path) {
        return refuse(
            "is the output of Accel-Sim's tracer before post-processing, whose instructions are in the order of the GPU; \
             run the tracer's `post-traces-processing` on the list, which writes kernelslist.g and the .traceg files \
             that it names, and give that list"
                .to_owned(),
        );
    }
    if name.contains(".traceg") {
        return refuse(format!("is the trace of one kernel; give the list that names it ({})", lab::LIST_FILE));
    }
    if name.contains(".tar") || name.ends_with(".tgz") {
        return refuse("is an archive; unpack it, then give the folder of a trace in it".into());
    }
    if let Some(why) = not_runnable(path) {
        return refuse(why.to_owned());
    }
    if path.extension().is_some_and(|e| e == "ptx") {
        return refuse(
            "PTX has no grids and arguments; write a launch file that names it (docs/launch-files.md), or see what is in it with `warpwright inspect`".into(),
        );
    }
    let kind = program::kind(path);
    if kind == program::Kind::Device || path.extension().is_some_and(|e| e == "cubin" || e == "fatbin") {
        return refuse(
            "machine code has no grids and arguments; write a launch file that names it (docs/launch-files.md), or see what is in it with `warpwright inspect`".into(),
        );
    }
    if kind == program::Kind::Host {
        return refuse(
            "is a library: `warpwright inspect` shows the kernels in it, and a launch file may name it as its module (docs/launch-files.md)".into(),
        );
    }
    let given =
        [("--size", input.work.size.is_some()), ("--seed", input.seed.is_some()), ("--isa", input.isa == Isa::Sass)];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return refuse(format!("{option} is for bundled workloads; a launch file gives its inputs itself"));
    }
    // Read here too, so that all its mistakes are reported before anything runs.
    let overrides = input.overrides();
    LaunchFile::load(path, &overrides).map_err(Failure::bad_input)?;
    Ok(Job::LaunchFile { path: path.into(), overrides })
}

/// Whether a workload's name means a CUDA program.
pub fn is_program(named: &Path) -> bool {
    bundled(&named.to_string_lossy()).is_err() && program::is_program(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::Size;

    #[test]
    fn output_of_the_tracer_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text, raw) in [
            ("kernelslist", "MemcpyHtoD,0x00007fb0fc400000,200000\nkernel-1.trace\n", true),
            ("list", "\nkernel-1.trace\n", true),
            ("kernel-1.trace", "-kernel name = k\n", true),
            ("launch.toml", "module = \"k.ptx\"\n", false),
            ("empty", "", false),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert_eq!(is_tracer_output(&path), raw, "{name}");
        }
        assert!(!is_tracer_output(folder.path()));
    }

    #[test]
    fn assignments() {
        assert_eq!(assignment(" n = 2 * m "), Ok(("n".into(), "2 * m".into())));
        assert!(["n", "n=", "=1", "=", ""].iter().all(|wrong| assignment(wrong).is_err()));
        assert_eq!(number("1_000"), Some(1000));
        assert!(["-1", "1.5", "99999999999999999999", "", "ten"].iter().all(|wrong| number(wrong).is_none()));
    }

    #[test]
    fn machine_code_runs_where_there_is_some() {
        let gpu = |name: &str| config::load(name).unwrap();
        let (turing, ampere, fermi) = (gpu("rtx2060s"), gpu("rtx3070"), gpu("gtx480"));
        let usual = Input::default();
        assert_eq!(usual.form("matmul", &[&turing, &ampere], &["inorder"]), Form::Sass);
        assert_eq!(usual.remark("matmul", &[&turing], &["inorder"]), None);
        // No workload has machine code for that GPU: nothing to remark.
        assert_eq!(
            (usual.form("matmul", &[&fermi], &["inorder"]), usual.remark("matmul", &[&fermi], &["inorder"])),
            (Form::Ptx, None)
        );
        assert_eq!(usual.form("matmul", &[&turing, &fermi], &["inorder"]), Form::Ptx, "the same code on all GPUs");
        assert_eq!(usual.form("asynccopy", &[&turing], &["inorder"]), Form::Ptx);
        let remark = usual.remark("asynccopy", &[&ampere, &turing], &["inorder"]).unwrap();
        assert_eq!(remark, "asynccopy has no machine code for rtx2060s (sm_75): it runs as PTX");
        assert_eq!(usual.form("asynccopy", &[&ampere], &["inorder"]), Form::Sass);
        let with = |isa, registers: Option<RegisterMode>| Input { isa, registers, ..Input::default() };
        assert_eq!(with(Isa::Ptx, None).form("matmul", &[&turing], &["inorder"]), Form::Ptx);
        assert_eq!(
            with(Isa::Sass, None).form("asynccopy", &[&turing], &["inorder"]),
            Form::Sass,
            "an error, which is reported later"
        );
        let allocated = with(Isa::Auto, Some(RegisterMode::Allocated));
        assert_eq!(
            (
                allocated.form("matmul", &[&turing], &["inorder"]),
                allocated.remark("asynccopy", &[&turing], &["inorder"])
            ),
            (Form::Ptx, None)
        );
    }

    #[test]
    fn what_runs_ptx_only_makes_all_run_as_ptx() {
        let (turing, fermi) = (config::load("rtx2060s").unwrap(), config::load("gtx480").unwrap());
        let (usual, cores) = (Input::default(), ["inorder", "sgmf:entries=32"]);
        assert_eq!(usual.form("matmul", &[&turing], &cores), Form::Ptx);
        let remark = usual.remark("matmul", &[&turing], &cores).unwrap();
        assert_eq!(remark, "core sgmf:entries=32 executes PTX only: matmul runs as PTX");
        assert_eq!(usual.remark("matmul", &[&fermi], &cores), None, "nothing runs as machine code there");
        assert_eq!(usual.remark("asynccopy", &[&turing], &cores), None, "it runs as PTX anyway");
        let sass = Input { isa: Isa::Sass, ..Input::default() };
        assert_eq!(sass.form("matmul", &[&turing], &cores), Form::Sass, "an error, which is reported later");
    }

    #[test]
    fn every_bundled_workload_is_a_job_at_every_size() {
        for workload in suite::ALL {
            for size in Size::ALL {
                let input = Input { work: WorkSize { size: Some(size) }, ..Input::default() };
                let Job::Workload { size: chosen, .. } = job(Path::new(workload.name), &input).unwrap() else {
                    panic!()
                };
                assert_eq!(chosen, size);
            }
        }
    }
}
