//! `warpwright exec --split N`: a program in several processes, each of which times its share of the launches.

use super::keeping::{Engine, Share};
use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output, version};
use ::render::report;
use experiment::slurm;
use experiment::split::{self, Identity, ProgramReport};
use experiment::store::Store;
use request::options::{Texts, words};
use request::shown::Destination;
use request::{Group, Options, Way, gpu, outputs, sweep};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Shares of a program.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Shares")]
pub struct Splitting {
    /// Run the program in this number of processes, each of which times its share of the launches, and report them together; runs are stored, and the same command continues what was stopped (`warpwright docs experiments`)
    #[arg(long, value_name = "NUMBER")]
    pub split: Option<NonZeroUsize>,
    /// Folder of stored shares, which processes on several machines may share [default: `warpwright/points` in the user's cache folder]
    #[arg(long, value_name = "FOLDER", requires = "split")]
    points: Option<PathBuf>,
    /// Run only these of the shares, such as 2/16 for every sixteenth from the second, and report nothing: for jobs on several machines
    #[arg(long, value_name = "N/ALL", requires = "split")]
    share: Option<Share>,
    /// Where shares run: here, or by Slurm as a job array
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Engine::Here, requires = "split")]
    engine: Engine,
    /// An option for sbatch, such as --sbatch=--mem=4G; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, requires = "split")]
    sbatch: Vec<String>,
}

/// A program that is split.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub texts: &'a Texts,
    pub options: &'a Options,
    /// Name and arguments.
    pub program: &'a [OsString],
    /// Its file.
    pub file: &'a Path,
    /// The value of `--own-libraries`.
    pub own_libraries: &'a str,
}

impl Asked<'_> {
    /// The options of the process for a share.
    fn of_share(&self) -> impl Iterator<Item = OsString> {
        let of_runs = of_runs(self.texts).into_iter().flat_map(|(row, values)| row.words(Way::Exec, &values));
        of_runs.chain(["--own-libraries".into(), self.own_libraries.into()])
    }
}

/// Runs the missing shares, and reports all.
pub fn run(splitting: &Splitting, count: NonZeroUsize, asked: Asked<'_>) -> Outcome {
    let options = asked.options;
    check(options)?;
    let folder = splitting.points.clone().or_else(Store::usual_folder).ok_or_else(|| {
        Failure::bad_input("XDG_CACHE_HOME and HOME name no cache folder; give a folder for the shares with --points")
    })?;
    let (store, identity) = (Store::new(folder), identity(&asked)?);
    interrupt::install()?;
    let threads = options.threads.map_or_else(|| lab::HostThreads::all().total(), NonZeroUsize::get);
    let (first, status) = match kept(&identity, &store, None) {
        Some(kept) => kept,
        None => timed(&asked, &store, &identity, None, threads)?,
    };
    let launches = split::launches(&first).map_err(Failure::failed)?;
    let shares = split::shares(&launches, count.get());
    let missing = || -> Vec<usize> {
        let is_missing = |at: &usize| kept(&identity, &store, Some(&shares[*at])).is_none();
        (0..shares.len()).filter(is_missing).collect()
    };
    let left = missing();
    if !options.quiet {
        let (all, stored) = (shares.len(), shares.len() - left.len());
        output::remark(&format!("warpwright: {} launches in {all} shares, {stored} of them kept\n", launches.len()));
    }
    let own = |at: &usize| splitting.share.is_none_or(|share| at % share.of == share.number);
    let left: Vec<usize> = left.into_iter().filter(own).collect();
    match splitting.engine {
        Engine::Slurm if splitting.share.is_none() && !left.is_empty() => {
            by_slurm(splitting, count, &asked, &store, &identity, shares.len(), &missing)?;
        }
        _ => {
            let make = |at: usize, threads: usize| {
                let (report, _) = timed(&asked, &store, &identity, Some(&shares[at]), threads)?;
                split::check(&launches, &report).map_err(Failure::failed)
            };
            at_once(&left, threads, &make)?;
        }
    }
    if interrupt::requested() {
        return Ok(Exit::Interrupted);
    }
    if splitting.share.is_some() {
        return Ok(Exit::Success);
    }
    let mut all = Vec::new();
    for share in &shares {
        let (report, other) = kept(&identity, &store, Some(share))
            .ok_or_else(|| Failure::failed(format!("launches {} to {} are missing", share.start, share.end - 1)))?;
        split::check(&launches, &report).map_err(Failure::failed)?;
        if other != status {
            return Err(Failure::failed(format!(
                "the program is not deterministic: its exit status is {status} in its first run, {other} in another"
            )));
        }
        all.push((share.clone(), report));
    }
    let whole = split::gathered(first, &all).map_err(Failure::failed)?;
    show(options, &whole)?;
    let failed =
        options.strict && whole.failed.as_object().is_some_and(|all| all.values().any(|n| n.as_u64() != Some(0)));
    match status {
        0 if failed => Ok(Exit::Failed),
        0 => Ok(Exit::Success),
        // As of the program itself.
        other => std::process::exit(other),
    }
}

/// Refuses what shares cannot be put together of.
fn check(options: &Options) -> Result<(), Failure> {
    if !options.time.is_all() {
        return Err(Failure::bad_input("--split chooses the launches that each process times: leave --time out"));
    }
    if options.gpu.len() > 1 {
        return Err(Failure::bad_input("--split is for programs on one GPU"));
    }
    let given = [
        ("audit", options.audit),
        ("check-memory", options.check_memory),
        ("profile", options.profile),
        ("by", options.by.is_some()),
        ("timeline", options.timeline.is_some()),
        ("sample", options.sample.is_some()),
        ("power", options.power.is_some()),
        ("power-plot", options.power_plot.is_some()),
        ("power-interval", options.power_interval.is_some()),
        ("max-cycles", options.max_cycles.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(Failure::bad_input(format!("--{name} is of one process: leave it or --split out"))),
        None => Ok(()),
    }
}

/// Inputs that determine the results of all runs: the simulator, the options, the program, and its arguments with
/// the contents of files among them.
fn identity(asked: &Asked<'_>) -> Result<Identity, Failure> {
    let cannot = |path: &Path, e: std::io::Error| Failure::bad_input(format!("cannot read `{}`: {e}", path.display()));
    let mut parts = vec![lab::MODEL.to_owned(), version::TEXT.to_owned()];
    let here = std::env::current_dir().map_err(|e| Failure::failed(format!("the current folder is not known: {e}")))?;
    parts.push(here.display().to_string());
    parts.push(asked.own_libraries.to_owned());
    for (row, values) in of_runs(asked.texts) {
        parts.push(row.name.to_owned());
        parts.extend(values.iter().map(|value| value.to_string_lossy().into_owned()));
    }
    for device in sweep::devices(asked.options)? {
        parts.push(format!("{:?}", device.gpu));
        let energy = gpu::energy_file(&device.gpu);
        let model = asked.options.energy_model.iter().map(|model| model.0.clone()).filter(|model| model.is_file());
        for file in energy.into_iter().chain(model) {
            parts.push(contents(&file).map_err(|e| cannot(&file, e))?);
        }
    }
    parts.push(contents(asked.file).map_err(|e| cannot(asked.file, e))?);
    for argument in asked.program {
        parts.push(argument.to_string_lossy().into_owned());
        let path = Path::new(argument);
        if path.is_file() {
            parts.push(contents(path).map_err(|e| cannot(path, e))?);
        }
    }
    Ok(Identity::new(parts))
}

/// A digest of a file.
fn contents(path: &Path) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    std::io::copy(&mut File::open(path)?, &mut digest)?;
    Ok(digest.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The options that are about the runs.
fn of_runs(texts: &Texts) -> Texts {
    texts.iter().filter(|(row, _)| row.group != Group::Output).cloned().collect()
}

/// The choice of `--time` of a share, or of the first run.
fn choice(share: Option<&Range<u32>>) -> String {
    share.map_or_else(|| "none".to_owned(), split::time)
}

fn kept(identity: &Identity, store: &Store, share: Option<&Range<u32>>) -> Option<(ProgramReport, i32)> {
    identity.timing(&choice(share)).get(store)
}

/// Runs the program with a share timed, or nothing, and stores its report. The first run has the program's output.
fn timed(
    asked: &Asked<'_>,
    store: &Store,
    identity: &Identity,
    share: Option<&Range<u32>>,
    threads: usize,
) -> Result<(ProgramReport, i32), Failure> {
    let cannot = |e: std::io::Error| Failure::failed(format!("a process for a share cannot be started: {e}"));
    let folder = tempfile::tempdir().map_err(cannot)?;
    let (json, log) = (folder.path().join("report.json"), folder.path().join("log"));
    let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
    command.arg("exec");
    command.args(asked.of_share());
    let threads = threads.max(1).to_string();
    let own = [
        ("quiet", "1".into()),
        ("time", choice(share).into()),
        ("threads", threads.into()),
        ("json", json.clone().into()),
    ];
    command.args(words(Way::Exec, own)).arg("--").args(asked.program).stdin(Stdio::null());
    if share.is_some() {
        command.stdout(Stdio::null()).stderr(File::create(&log).map_err(cannot)?);
    }
    let ended = command.status().map_err(cannot)?;
    if interrupt::requested() {
        return Err(Failure {
            message: "the shares that have ended are kept: the same command continues".into(),
            exit: Exit::Interrupted,
        });
    }
    let report = fs::read(&json).ok().and_then(|text| serde_json::from_slice::<ProgramReport>(&text).ok());
    let (Some(status), Some(report)) = (ended.code(), report) else {
        let log = fs::read_to_string(&log).unwrap_or_default();
        let said: Vec<&str> = log.lines().rev().take(5).collect();
        let said: String = said.iter().rev().map(|line| format!("\n  {line}")).collect();
        let how = match ended.signal() {
            Some(signal) => format!("was ended by signal {signal}"),
            None => "has no report: it uses no device, or ended before".to_owned(),
        };
        return Err(Failure::failed(format!("the program {how} (--time {}){said}", choice(share))));
    };
    // Early ends, and several devices.
    split::launches(&report).map_err(Failure::failed)?;
    let stored = identity.timing(&choice(share)).put(store, &report, status);
    stored.map_err(|e| Failure::failed(format!("a share cannot be kept in `{}`: {e}", store.folder().display())))?;
    Ok((report, status))
}

/// Makes shares in processes at the same time, which share `threads`. The first failure ends it.
fn at_once(
    shares: &[usize],
    threads: usize,
    make: &(dyn Fn(usize, usize) -> Result<(), Failure> + Sync),
) -> Result<(), Failure> {
    let processes = threads.clamp(1, shares.len().max(1));
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
    let failed = || failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::thread::scope(|scope| {
        for _ in 0..processes {
            scope.spawn(|| {
                while let Some(share) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if interrupt::requested() || failed().is_some() {
                        break;
                    }
                    if let Err(why) = make(*share, threads / processes) {
                        failed().get_or_insert(why);
                    }
                }
            });
        }
    });
    failure.into_inner().ok().flatten().map_or(Ok(()), Err)
}

/// Makes the missing shares by Slurm, a task for each.
fn by_slurm(
    splitting: &Splitting,
    count: NonZeroUsize,
    asked: &Asked<'_>,
    store: &Store,
    identity: &Identity,
    tasks: usize,
    missing: &dyn Fn() -> Vec<usize>,
) -> Result<(), Failure> {
    let cannot = |e: std::io::Error| Failure::failed(format!("cannot find out how this command was called: {e}"));
    let folder = std::path::absolute(store.folder()).map_err(cannot)?;
    let program = std::env::current_exe().map_err(cannot)?;
    let own: [OsString; 4] = ["--split".into(), count.to_string().into(), "--points".into(), folder.clone().into()];
    let own = own.into_iter().chain(words(Way::Exec, [("quiet", "1".into())]));
    let command = [program.into(), "exec".into()].into_iter().chain(asked.of_share()).chain(own);
    let text = |word: OsString| word.to_string_lossy().into_owned();
    let array = slurm::Array {
        name: slurm::name_of([identity.name().as_str(), &count.to_string()].into_iter(), &folder),
        tasks,
        command: command.map(text).collect(),
        rest: std::iter::once("--".into()).chain(asked.program.iter().cloned()).map(text).collect(),
        options: splitting.sbatch.clone(),
        folder: folder.join("slurm"),
    };
    let report = |slurm::Progress { tasks, missing }: slurm::Progress| {
        if !asked.options.quiet {
            output::remark(&format!(
                "Slurm job {}: {tasks} tasks wait or run, {missing} shares are missing\n",
                array.name
            ));
        }
    };
    let mut left = || missing().into_iter().map(|at| at + 1).collect::<Vec<usize>>();
    array.run(&mut left, &report).map_err(Failure::failed)?;
    if !interrupt::requested() && !missing().is_empty() {
        let folder = array.folder.display();
        return Err(Failure::failed(format!(
            "shares are missing although their tasks have ended three times\n  hint: their output is in `{folder}`"
        )));
    }
    Ok(())
}

/// Gives the report in all forms that are asked for.
fn show(options: &Options, program: &ProgramReport) -> Result<(), Failure> {
    let (Some(device), Some(setup)) = (program.devices.first(), sweep::devices(options)?.into_iter().next()) else {
        return Ok(());
    };
    let failures: String = program.failures.iter().map(|failure| format!("{failure}\n")).collect();
    let text = failures + &outputs::text(options, &device.report, false) + "\n" + &report::program(version::TEXT);
    let plain = anstream::adapter::strip_str(&text).to_string();
    let written = outputs::of_program(options, program, &plain, &[(&device.report, &setup.gpu)], version::PROGRAM);
    if !options.quiet && !matches!(options.json, Some(Destination::Printed)) {
        output::remark(&text);
    }
    written.map_err(Failure::failed)
}
