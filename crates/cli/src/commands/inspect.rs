//! `warpwright inspect`: what is in a file of PTX or machine code.

use crate::failure::{Exit, Failure, Outcome};
use crate::inspection::code::{self, CodeInspection, Contents, Shown};
use crate::inspection::fabric::FabricInspection;
use crate::inspection::facts::EntryFacts;
use crate::inspection::{self, Inspection};
use crate::options::Formats;
use crate::progress::Parts;
use crate::render::inspection as render;
use crate::{interrupt, output, tables};
use kit::output::MadeFolders;
use kit::suggest;
use lab::ReadChecker;
use lab::listing::SourcePlace;
use lower::RegisterLimits;
use request::{contents, gpu};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Show the contents of a file of PTX or machine code: kernels, registers, instruction mix, what cannot be executed
///
/// Files of machine code are cubins, fat binaries and host programs that hold some. Instead of a
/// file, the name of a bundled workload shows its kernels: their PTX, with --arch their machine code.
/// With --fabric it shows what the kernels of PTX are on a dataflow fabric.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright inspect kernel.ptx
  warpwright inspect kernel.ptx --kernel saxpy --json
  warpwright inspect matmul
  warpwright inspect matmul --arch 75 --csv=kernels.csv
  warpwright inspect matmul --arch 75 --code
  warpwright inspect matmul --arch 75 --source
  warpwright inspect a.out --arch 86
  warpwright inspect a.out --arch 86 --early-reads a6000
  warpwright inspect bfs --fabric
  warpwright inspect kernel.ptx --fabric --kernel saxpy --svg saxpy.svg
  warpwright inspect bfs --core sgmf:columns=10,rows=8 --svg drawings")]
pub struct Args {
    /// PTX file, cubin, fat binary, host program, or bundled workload
    #[arg(value_name = "FILE|WORKLOAD")]
    file: PathBuf,
    /// Only this kernel; the plain name of a mangled C++ one is enough
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Show the code that a GPU of this architecture runs, such as 75 [default: the newest cubin of the file that can be read]
    #[arg(long = "arch", alias = "sm", value_name = "NUMBER", value_parser = architecture)]
    sm: Option<u32>,
    /// Maximum number of registers per thread to allocate to kernels of PTX
    #[arg(long, value_name = "NUMBER")]
    max_registers: Option<u32>,
    /// List the instructions of machine code, each with its scheduling bits
    #[arg(long)]
    code: bool,
    /// List them beside their lines of CUDA and PTX, where the file has line tables (nvcc -lineinfo); implies --code
    #[arg(long)]
    source: bool,
    /// List the reads of registers that come too early by the control bits of machine code and the latencies of this GPU: a built-in one or the path of a description
    #[arg(long, value_name = "NAME|FILE")]
    early_reads: Option<PathBuf>,
    /// Show the kernels on a dataflow fabric: graphs, units, links, cuts, or why they cannot be mapped
    #[arg(long)]
    fabric: bool,
    /// Core whose fabric it is, with its parameters, such as sgmf:columns=10,rows=8; implies --fabric [default: sgmf]
    #[arg(long, value_name = "CORE")]
    core: Option<String>,
    /// GPU whose latencies balance the paths of graphs (sgmf:balance=threads): a built-in one or the path of a description
    #[arg(long, value_name = "NAME|FILE", default_value = "gtx480")]
    gpu: PathBuf,
    /// Draw the graphs of each kernel and their places on the fabric to this file (.svg), or to a file a kernel in this folder; implies --fabric
    #[arg(long, value_name = "FILE.svg|FOLDER")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    formats: Formats,
}

fn architecture(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("sm_").unwrap_or(text);
    number.parse().map_err(|_| "an architecture is a number such as 75 or sm_75".to_owned())
}

impl Args {
    /// The files that are read.
    fn inputs(&self) -> Vec<PathBuf> {
        let gpus = [Some(&self.gpu), self.early_reads.as_ref()];
        std::iter::once(self.file.clone()).chain(gpus.into_iter().flatten().flat_map(|gpu| gpu::files(gpu))).collect()
    }
}

/// Shows what is in the file.
pub fn run(args: &Args) -> Outcome {
    output::check(args.formats.files()?, &args.inputs())?;
    interrupt::install()?;
    let on_fabric = args.fabric || args.core.is_some() || args.svg.is_some();
    if on_fabric && lab::is_trace(&args.file) {
        let file = args.file.display();
        return Err(Failure::bad_input(format!(
            "`{file}` is a trace, which holds what warps did; a fabric is configured from PTX: give the program's"
        )));
    }
    let (name, content) = content(&args.file, args.sm)?;
    let wrong = |problem: String| Failure::bad_input(format!("`{name}`: {problem}"));
    if on_fabric {
        return self::on_fabric(args, &name, &content);
    }
    if !kit::files::is_machine_code(&content) {
        let is_ptx = content.starts_with(b".version");
        let other = contents::Contents::of(&args.file).filter(|is| !is_ptx && !is.may_be_ptx());
        if let Some(other) = other {
            return Err(wrong(format!("is {}", other.advice(&args.file))));
        }
        if args.code || args.source || args.sm.is_some() || args.early_reads.is_some() {
            let options = "--arch, --code, --source and --early-reads";
            return Err(wrong(format!("it is not machine code, which {options} are about")));
        }
        return show_ptx(args, &name, [&*content], Vec::new());
    }
    let (entries, contents) = code::choose(&content, args.sm).map_err(wrong)?;
    match contents {
        Contents::Ptx(texts) => show_ptx(args, &name, texts.iter().map(|text| &**text), entries),
        Contents::Cubins(cubins) => {
            let names: Vec<String> = cubins.iter().flat_map(|cubin| code::kernel_names(cubin)).collect();
            must_have(args, &name, &names)?;
            let place = args.source.then(|| source_place(&args.file));
            let kernels = names.iter().filter(|name| args.kernel.as_ref().is_none_or(|k| exec::is_named(name, k)));
            let progress = Parts::new(kernels.count(), "kernels");
            let checker = match &args.early_reads {
                Some(gpu) => Some(ReadChecker::new(&gpu::load(gpu, &[])?).map_err(Failure::bad_input)?),
                None => None,
            };
            let shown = Shown {
                checker: checker.as_ref(),
                kernel: args.kernel.as_deref(),
                code: args.code || args.source,
                place: place.as_ref(),
                progress: Some(&progress),
            };
            let inspections = cubins.iter().map(|cubin| code::inspect(&name, cubin, shown).map_err(wrong));
            let mut all = merge(inspections, CodeInspection::absorb)?;
            all.entries = entries;
            show_code(args, &all)
        }
    }
}

/// Where the sources of the code in a file, or of a bundled workload, are.
fn source_place(file: &Path) -> SourcePlace {
    match workloads::suite::find(&file.to_string_lossy()) {
        Ok(workload) if !file.exists() => SourcePlace::Bundled(&workload.module),
        _ => file.parent().map_or(SourcePlace::AsRecorded, |folder| SourcePlace::Folder(folder.to_owned())),
    }
}

/// One of at least one inspection, which takes in the others.
fn merge<I>(inspections: impl Iterator<Item = Result<I, Failure>>, absorb: impl Fn(&mut I, I)) -> Result<I, Failure> {
    let merged = inspections.reduce(|all, next| {
        let mut all = all?;
        absorb(&mut all, next?);
        Ok(all)
    });
    merged.unwrap_or_else(|| Err(Failure::bad_input("it holds no code".to_owned())))
}

fn show_ptx<'a>(
    args: &Args,
    name: &str,
    texts: impl IntoIterator<Item = &'a [u8]>,
    entries: Vec<EntryFacts>,
) -> Outcome {
    let limits = RegisterLimits { chosen: args.max_registers, ..RegisterLimits::default() };
    let inspections = texts.into_iter().map(|text| Ok(inspection::inspect(name, text, limits)));
    let mut inspection: Inspection = merge(inspections, Inspection::absorb)?;
    inspection.entries = entries;
    // A file in which nothing was understood has nothing to show but its errors.
    if inspection.has_errors && inspection.kernels.is_empty() {
        return Err(Failure::bad_input(inspection.diagnostics_text));
    }
    keep(args, &inspection.file, &mut inspection.kernels, |k| &k.name)?;
    if args.formats.as_text() {
        output::print(&render::render(&inspection))?;
    }
    args.formats.give(&inspection, || tables::of_ptx(&inspection))?;
    Ok(if inspection.has_errors { Exit::BadInput } else { Exit::Success })
}

fn on_fabric(args: &Args, name: &str, content: &[u8]) -> Outcome {
    let core = args.core.as_deref().unwrap_or("sgmf");
    if kit::files::is_machine_code(content) || args.code || args.sm.is_some() {
        return Err(Failure::bad_input(format!(
            "`{name}`: a fabric is configured from PTX, not from machine code; give the PTX file, or the name of a bundled workload without --arch and --code"
        )));
    }
    let mut inspection =
        FabricInspection::new(name, content, core, &gpu::load(&args.gpu, &[])?).map_err(Failure::bad_input)?;
    keep(args, name, &mut inspection.kernels, |k| &k.name)?;
    let drawings = args.svg.as_deref().map_or(Ok(Vec::new()), |to| drawings(to, &inspection))?;
    let folder = args.svg.as_deref().filter(|to| !is_drawing(to)).map(MadeFolders::make).transpose();
    let folder = folder.map_err(|e| Failure::bad_input(format!("--svg: the folder cannot be made: {e}")))?;
    output::check(drawings.iter().map(PathBuf::as_path).chain(args.formats.files()?), &args.inputs())?;
    inspection.map();
    for (file, kernel) in drawings.iter().zip(&inspection.kernels) {
        inspection.drawing(kernel).map_or(Ok(()), |drawing| output::save(file, drawing.as_bytes()))?;
    }
    folder.into_iter().for_each(MadeFolders::keep);
    if args.formats.as_text() {
        output::print(&render::fabric::render(&inspection))?;
    }
    args.formats.give(&inspection, || tables::of_fabric(&inspection))?;
    let lacks_drawing = args.svg.is_some() && inspection.kernels.iter().any(|kernel| kernel.mapped.is_none());
    Ok(if lacks_drawing { Exit::Failed } else { Exit::Success })
}

/// Whether a path names one drawing, and not a folder.
fn is_drawing(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) && !path.is_dir()
}

/// The file of the drawing of each kernel.
fn drawings(to: &Path, inspection: &FabricInspection) -> Result<Vec<PathBuf>, Failure> {
    match &inspection.kernels[..] {
        [_] if is_drawing(to) => Ok(vec![to.to_owned()]),
        several if is_drawing(to) => Err(Failure::bad_input(format!(
            "--svg {} is one file, and there are {} kernels: choose one with --kernel, or give a folder",
            to.display(),
            several.len()
        ))),
        all => Ok(all.iter().map(|kernel| to.join(format!("{}.svg", kernel.name))).collect()),
    }
}

fn show_code(args: &Args, inspection: &CodeInspection) -> Outcome {
    if args.formats.as_text() {
        output::print(&render::code::render(inspection))?;
    }
    args.formats.give(inspection, || tables::of_code(inspection))?;
    Ok(Exit::Success)
}

fn content(path: &Path, sm: Option<u32>) -> Result<(String, Cow<'static, [u8]>), Failure> {
    let file = &*path.to_string_lossy();
    if !path.exists()
        && let Ok(workload) = workloads::suite::find(file)
    {
        let module = &workload.module;
        let Some(sm) = sm else {
            return Ok((format!("{}.ptx", module.name), module.ptx().as_bytes().into()));
        };
        let Some(cubin) = module.cubin(sm) else {
            let known: Vec<String> = module.cubins().map(|cubin| format!("sm_{}", cubin.sm)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Failure::bad_input(format!(
                "`{file}` has no machine code for sm_{sm} (--arch); it has {known}"
            )));
        };
        return Ok((format!("{}.sm_{}.cubin", module.name, cubin.sm), cubin.file().into()));
    }
    let bytes = kit::files::read_code(path).map_err(|e| {
        Failure::bad_input(format!(
            "`{file}` cannot be read: {e}; give the path of a PTX file, a cubin, a fat binary or a program, or the name of a bundled workload"
        ))
    })?;
    Ok((file.to_owned(), bytes.into()))
}

/// Keeps the kernel that was asked for.
fn keep<K>(args: &Args, file: &str, kernels: &mut Vec<K>, name: impl Fn(&K) -> &String) -> Result<(), Failure> {
    let Some(kernel) = &args.kernel else { return Ok(()) };
    let names: Vec<String> = kernels.iter().map(|k| name(k).clone()).collect();
    must_have(args, file, &names)?;
    kernels.retain(|k| exec::is_named(name(k), kernel));
    Ok(())
}

/// # Errors
/// If the kernel that was asked for is not among `names`.
fn must_have(args: &Args, file: &str, names: &[String]) -> Result<(), Failure> {
    let missing = |kernel: &&String| !names.iter().any(|name| exec::is_named(name, kernel));
    args.kernel.as_ref().filter(missing).map_or(Ok(()), |kernel| {
        Err(Failure::bad_input(format!("`{file}` has no kernel `{kernel}`{}", suggest::among(kernel, names))))
    })
}
