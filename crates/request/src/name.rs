//! The meaning of a name: a bundled workload, a launch file or a trace, with what the options say about it. An error names
//! the valid choices.

use crate::BadRequest;
use crate::contents::{Contents, FileKind, kind};
use crate::gpu;
use crate::options::Options;
use crate::values::{Assignment, Code, USUAL_GPU, USUAL_SEED, assignment};
use kit::suggest;
use lab::Job;
use launchfile::{LaunchFile, Overrides};
use std::io;
use std::path::{Path, PathBuf};
use workloads::{Workload, WorkloadError, suite};

/// Replacements of parts of a launch file.
fn overrides(options: &Options) -> Overrides {
    let values = options.param.iter().map(|Assignment(name, value)| (name.clone(), value.clone())).collect();
    Overrides { values, modules: options.module.clone() }
}

/// The GPU to run on if none is given: from the launch files among `workloads`, else the usual one.
///
/// # Errors
/// They name several, or one that makes no sense.
pub fn usual_gpu(options: &Options, workloads: &[&Path]) -> Result<PathBuf, BadRequest> {
    let is_file = |name: &Path| bundled(&name.to_string_lossy()).is_err() && !lab::is_trace(name);
    // The modules do not matter.
    let overrides = Overrides { modules: Vec::new(), ..overrides(options) };
    let mut named: Vec<PathBuf> = Vec::new();
    for path in workloads.iter().filter(|path| is_file(path)) {
        // A file that cannot be read is reported when it is to run.
        let Ok(file) = LaunchFile::load(path, &overrides) else { continue };
        let Some(name) = file.gpu() else { continue };
        gpu::load(&name, &[]).map_err(|e| BadRequest::new(file.refused_gpu(e.message)))?;
        named.push(name);
    }
    named.dedup();
    match &named[..] {
        [] => Ok(USUAL_GPU.into()),
        [one] => Ok(one.clone()),
        [one, other, ..] => {
            let (one, other) = (one.display(), other.display());
            Err(BadRequest::new(format!(
                "the launch files name different GPUs, {one} and {other}: give {}",
                options.called("gpu")
            )))
        }
    }
}

/// The option whose value `name` is, and the kind of value.
pub fn option_of(name: &str) -> Option<(&'static str, &'static str)> {
    let is_gpu = config::builtin().iter().any(|gpu| gpu.name == name);
    match () {
        () if name.is_empty() => None,
        () if lab::check_core(name).is_ok() => Some(("--core", "core design")),
        () if lab::check_scheduler(name).is_ok() => Some(("--scheduler", "warp scheduler")),
        () if is_gpu => Some(("--gpu", "GPU")),
        () => None,
    }
}

/// The kind of a word that does not name a workload, if it is known.
fn other_meaning(name: &str) -> Option<String> {
    let (what, option) = match option_of(name) {
        Some((option, what)) => (what, format!("{option}s A,{name}")),
        None if name.parse::<f64>().is_ok() => ("number", format!("--vary KEY=A,{name}")),
        None => return None,
    };
    Some(format!("`{name}` is a {what}, not a workload; several are listed with commas: {option}"))
}

/// A whole number; digits may be grouped: `1_000_000`.
fn number(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok()
}

/// The bundled workload that `name` begins with, and the parameters that follow it: `nn:places=4096,block=64`.
pub(crate) fn bundled(name: &str) -> Result<(&'static Workload, &str), WorkloadError> {
    let (name, params) = name.split_once(':').unwrap_or((name, ""));
    Ok((suite::find(name)?, params))
}

/// `named` as another process in another folder finds it: files by absolute paths, bundled workloads by their names.
///
/// # Errors
/// The current folder is not known.
pub fn absolute(named: &Path) -> io::Result<PathBuf> {
    let is_file = named.exists() && bundled(&named.to_string_lossy()).is_err();
    if is_file { std::path::absolute(named) } else { Ok(named.to_owned()) }
}

/// The job that `name` means: a bundled workload, a launch file or a trace.
pub fn job(named: &Path, options: &Options) -> Result<Job, BadRequest> {
    for (i, Assignment(param, _)) in options.param.iter().enumerate() {
        if options.param[..i].iter().any(|Assignment(earlier, _)| earlier == param) {
            return Err(BadRequest::new(format!(
                "{} {param} is given twice; give each parameter once",
                options.called("param")
            )));
        }
    }
    // A name that is not text can only be a file's.
    let name = &*named.to_string_lossy();
    match bundled(name) {
        Ok((bundled, params)) => workload(bundled, params, options),
        Err(_) if lab::is_trace(named) => trace(named, options),
        Err(_) if looks_like_a_path(named) => launch_file(named, options),
        Err(unknown) => Err(BadRequest::new(match other_meaning(name) {
            Some(meaning) => meaning,
            None => format!(
                "{unknown}\n    hint: `warpwright list workloads` describes them; a kernel of your own runs from a launch file (`warpwright docs launch-files`)"
            ),
        })),
    }
}

fn looks_like_a_path(path: &Path) -> bool {
    path.components().nth(1).is_some() || path.extension().is_some() || path.exists()
}

/// A run of `workload` with its `own` parameters, as in `places=4096,block=64`, and `param`.
fn workload(workload: &'static Workload, own: &str, options: &Options) -> Result<Job, BadRequest> {
    let name = workload.name;
    if *options.code == Code::Sass && options.registers.is_some() {
        return Err(BadRequest::new(format!(
            "{} is for PTX: machine code has its registers ({} sass). Leave one of the two out",
            options.called("registers"),
            options.called("code")
        )));
    }
    if !options.module.is_empty() {
        return Err(BadRequest::new(format!(
            "`{name}`: {} is for launch files; a bundled workload has its code",
            options.called("module")
        )));
    }
    let size = options.size.unwrap_or_default();
    let mut params = Vec::new();
    let own = own.split(',').filter(|own| !own.is_empty()).map(assignment).collect::<Result<Vec<_>, _>>();
    let own = own.map_err(|why| BadRequest::new(format!("parameters after `{name}:`: {why}")))?;
    for Assignment(param, value) in options.param.iter().chain(&own) {
        let number = number(value).ok_or_else(|| {
            BadRequest::new(format!("{param}={value}: parameters of `{name}` are whole numbers of 64 bits"))
        })?;
        if params.iter().any(|(earlier, _)| earlier == param) {
            return Err(BadRequest::new(format!("parameter {param} of `{name}` is given twice; give it once")));
        }
        params.push((param.clone(), number));
    }
    workload.params(size, &params).map_err(BadRequest::new)?;
    let params = params.into_iter().collect();
    Ok(Job::Workload { name: name.into(), size, params, seed: options.seed.unwrap_or(USUAL_SEED) })
}

fn trace(path: &Path, options: &Options) -> Result<Job, BadRequest> {
    let given = [
        ("size", options.size.is_some()),
        ("param", !options.param.is_empty()),
        ("module", !options.module.is_empty()),
        ("seed", options.seed.is_some()),
        ("code", *options.code == Code::Sass),
        ("registers", options.registers.is_some()),
        ("shift_addresses", options.shift_addresses.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let path = path.display();
        let option = options.called(option);
        return Err(BadRequest::new(format!("`{path}`: {option} is for workloads; a trace has one input")));
    }
    Ok(Job::Trace { path: path.into(), concurrent_streams: options.concurrent_streams })
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
    let _ = io::Read::read_to_end(&mut io::Read::take(file, 4096), &mut head);
    let head = String::from_utf8_lossy(&head);
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let raw = |line: &str| line.starts_with("MemcpyHtoD,") || line.trim_end().ends_with(".trace");
    lines.next().is_some_and(raw) || list && lines.any(raw)
}

/// The form of results that a file of this name has.
pub fn form_of_results(name: &str) -> Option<&'static str> {
    ["json", "csv"].into_iter().find(|form| name.strip_suffix(form).is_some_and(|stem| stem.ends_with('.')))
}

fn launch_file(path: &Path, options: &Options) -> Result<Job, BadRequest> {
    let name = &*path.to_string_lossy();
    let refuse = |why: String| Err(BadRequest::new(format!("`{name}`: {why}")));
    match std::fs::metadata(path) {
        Err(e) => {
            let near = path
                .file_stem()
                .and_then(|s| s.to_str())
                .filter(|stem| stem.len() >= 3)
                .and_then(|stem| suggest::nearest(stem, suite::ALL.iter().map(|w| w.name)));
            let near = near.map_or(String::new(), |n| format!("; did you mean the bundled workload `{n}`?"));
            let near = form_of_results(name).map_or(near, |end| format!("; to write results to it: `--{end}={name}`"));
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
    // Of a file of ours each mistake is reported with its place.
    let is_ours = |found: Contents| {
        found == Contents::LaunchFile || found == Contents::Text && path.extension().is_none_or(|end| end == "toml")
    };
    if let Some(other) = Contents::of(path).filter(|found| !is_ours(*found)) {
        return refuse(format!("is {}", other.advice(path)));
    }
    let kind = kind(path);
    if kind == FileKind::Device || path.extension().is_some_and(|e| e == "cubin" || e == "fatbin") {
        return refuse(
            "machine code has no grids and arguments; write a launch file that names it (`warpwright docs launch-files`), or see what is in it with `warpwright inspect`".into(),
        );
    }
    if kind == FileKind::Host {
        return refuse(
            "is a library: `warpwright inspect` shows the kernels in it, and a launch file may name it as its module (`warpwright docs launch-files`)".into(),
        );
    }
    let given =
        [("size", options.size.is_some()), ("seed", options.seed.is_some()), ("code", *options.code == Code::Sass)];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let option = options.called(option);
        return refuse(format!("{option} is for bundled workloads; a launch file gives its inputs itself"));
    }
    // Read here too, so that all its mistakes are reported before anything runs.
    let overrides = overrides(options);
    LaunchFile::load(path, &overrides).map_err(BadRequest::new)?;
    Ok(Job::LaunchFile { path: path.into(), overrides })
}

/// Whether a workload's name means a bundled one.
pub fn is_bundled(named: &Path) -> bool {
    bundled(&named.to_string_lossy()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Way;
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
    fn numbers_may_be_grouped() {
        assert_eq!(number("1_000"), Some(1000));
        assert!(["-1", "1.5", "99999999999999999999", "", "ten"].iter().all(|wrong| number(wrong).is_none()));
    }

    #[test]
    fn every_bundled_workload_is_a_job_at_every_size() {
        for workload in suite::ALL {
            for size in Size::ALL {
                let options = Options { size: Some(size), ..Options::new(Way::Run) };
                let Job::Workload { size: chosen, .. } = job(Path::new(workload.name), &options).unwrap() else {
                    panic!()
                };
                assert_eq!(chosen, size);
            }
        }
    }
}
