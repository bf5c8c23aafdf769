//! `--checkpoint` and `--resume` of `warpwright run`.
//!
//! A checkpoint has the words of the command that left it, so that `warpwright run --resume FILE` is enough to continue:
//! the words given are added to those, and options among them replace the former ones.

use crate::failure::Failure;
use crate::{output, version};
use kit::locks;
use lab::{CheckpointPlan, Checkpoints, Job, SavedRun};
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Checkpoints")]
pub struct Options {
    /// Write a checkpoint, from which the run can be resumed, when a kernel has ended and TIME (such as 60s, 10m, 0s for each kernel) has passed since the last one; FILE.kernels.jsonl gets the report of each kernel at once (docs/checkpoints.md) [default: every=60s,file=WORKLOAD-GPU-CORE.checkpoint]
    #[arg(long, value_name = "every=TIME,file=FILE", value_parser = Every::from_str)]
    pub checkpoint: Option<Every>,
    /// Continue a run from its checkpoint: the report is that of a run without interruption. Without WORKLOAD all options are those of that run, and options given replace them
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
}

/// How often a checkpoint is written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Every {
    pub time: Duration,
    pub file: Option<PathBuf>,
}

/// Time between two checkpoints by default.
const EVERY: Duration = Duration::from_secs(60);

/// Units of time, with their milliseconds.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (_, each) = UNITS.iter().find(|(unit, _)| *unit == &text[digits..])?;
    Some(Duration::from_millis(text[..digits].parse::<u64>().ok()?.checked_mul(*each)?))
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut every = Self { time: EVERY, file: None };
        let mut rest = text;
        while !rest.is_empty() {
            // A path may have commas: it is the last.
            if let Some(file) = rest.strip_prefix("file=").filter(|file| !file.is_empty()) {
                every.file = Some(file.into());
                break;
            }
            let (one, others) = rest.split_once(',').unwrap_or((rest, ""));
            let time = one.strip_prefix("every=").and_then(duration);
            every.time = time.ok_or("expected every=TIME, file=FILE or both, such as every=60s,file=bfs.checkpoint")?;
            rest = others;
        }
        Ok(every)
    }
}

/// `exec` and `run PROGRAM` have no checkpoints.
pub fn not_for_programs() -> Failure {
    let why = "checkpoints are not for whole programs yet: what a program holds of its own cannot be restored";
    Failure::bad_input(format!(
        "{why}\n  hint: runs of launch files, traces and bundled workloads have them (docs/checkpoints.md)"
    ))
}

impl Options {
    /// Whether any of them is given.
    pub fn are_given(&self) -> bool {
        self.checkpoint.is_some() || self.resume.is_some()
    }

    /// What a run of `workload` on `gpu` with `core` leaves and continues; `words` are the command's.
    pub fn checkpoints(
        &self,
        (workload, gpu, core): (&Path, &str, &str),
        words: &[OsString],
    ) -> Result<Checkpoints, Failure> {
        let resume = self.resume.as_deref().map(SavedRun::open).transpose().map_err(Failure::bad_input)?;
        let plan = self.checkpoint.as_ref().map(|every| CheckpointPlan {
            file: every.file.clone().unwrap_or_else(|| usual_file(workload, gpu, core)),
            every: every.time,
            command: without_resume(words).iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        });
        Ok(Checkpoints { plan, resume, program: version::COMMIT.unwrap_or_default().to_owned() })
    }
}

/// Does `run`, which continues from the checkpoint `from`, if it does from any.
///
/// The state in a file can be one that no run has, although its checksum is right. The machine's parts check what they
/// hold where they use it: the first invariant that does not hold is an error of the file then.
pub fn guarded<T>(from: Option<&Path>, run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    static BROKEN: Mutex<String> = Mutex::new(String::new());
    let Some(from) = from else { return run() };
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|info| *locks::own(&BROKEN) = info.to_string()));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    panic::set_hook(usual);
    result.unwrap_or_else(|_| {
        let broken = locks::own(&BROKEN).replace('\n', " ");
        Err(Failure::bad_input(format!(
            "`{}` cannot be continued: a run does not have the state in it ({})\n  hint: the file may be damaged; begin \
             the run again, without --resume",
            from.display(),
            broken.trim_start_matches("panicked at ")
        )))
    })
}

/// The file of checkpoints if none is given.
fn usual_file(workload: &Path, gpu: &str, core: &str) -> PathBuf {
    let workload = workload.file_stem().map_or_else(|| "run".into(), |stem| stem.to_string_lossy());
    let name = format!("{workload}-{gpu}-{core}").to_lowercase();
    let plain = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    PathBuf::from(name.chars().map(plain).collect::<String>() + ".checkpoint")
}

/// `words` without `--resume` and its value.
fn without_resume(words: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--resume") => _ = words.next(),
            Some(text) if text.starts_with("--resume=") => {}
            _ => kept.push(word.clone()),
        }
    }
    kept
}

/// The value of `--resume` among `words`.
fn resumed(words: &[OsString]) -> Option<PathBuf> {
    let at = words.iter().position(|word| word == "--resume");
    let joined = || words.iter().find_map(|word| word.to_str()?.strip_prefix("--resume=").map(PathBuf::from));
    at.and_then(|at| words.get(at + 1)).map(PathBuf::from).or_else(joined)
}

/// Options of `run` whose values are files that it writes.
const OUTPUTS: [&str; 7] = ["--json", "--csv", "--html", "--power", "--power-plot", "--sample", "--timeline"];

/// The words of a command that names a checkpoint and no workload, after those of the run that is resumed; the first
/// word is the program. `None` if it is not such a command.
///
/// A checkpoint may come from another user. What it says chooses neither the command nor the files that are written.
pub fn completed(words: &[OsString], grammar: &clap::Command) -> Result<Option<Vec<OsString>>, Failure> {
    let Some((program, [command, given @ ..])) = words.split_first() else { return Ok(None) };
    let Some(path) = resumed(given).filter(|_| command == "run") else { return Ok(None) };
    let saved = SavedRun::open(&path).map_err(Failure::bad_input)?;
    let here = std::env::current_dir().unwrap_or_default();
    if here != saved.folder() {
        output::remark(&format!(
            "The run began in `{}`; relative paths are taken from here.\n",
            kit::text::excerpt(&saved.folder().to_string_lossy())
        ));
    }
    let (former, left_out) = without_outputs(saved.command(), grammar, &path).ok_or_else(|| {
        Failure::bad_input(format!("the checkpoint `{}` is not of a run; its command is not used", path.display()))
    })?;
    if !left_out.is_empty() {
        let left_out: Vec<String> = left_out.iter().map(|word| kit::text::excerpt(word)).collect();
        let left_out = left_out.join(" ");
        output::remark(&format!("Outputs are not taken from a checkpoint; the run had: {left_out}\n"));
    }
    let begin = [program.clone(), command.clone()].into_iter();
    Ok(Some(begin.chain(former).chain(given.iter().cloned()).collect()))
}

/// The words of a stored command after `run` without those that name outputs, and the latter. Checkpoints continue in
/// the file `resumed`, which the user names. `None` if it is the command of anything but a run.
fn without_outputs(stored: &[String], grammar: &clap::Command, resumed: &Path) -> Option<(Vec<OsString>, Vec<String>)> {
    let run = grammar.find_subcommand("run")?;
    let (_, stored) = stored.split_first().filter(|(command, _)| *command == "run")?;
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    let mut words = stored.iter();
    while let Some(word) = words.next() {
        let (option, joined) = word.split_once('=').map_or((&**word, None), |(option, value)| (option, Some(value)));
        match option {
            // What follows would not be read as an option any more.
            "--" => return None,
            "--checkpoint" => {
                let every = joined.or_else(|| words.next().map(String::as_str))?.parse::<Every>().ok()?;
                let mut option = OsString::from(format!("--checkpoint=every={}ms,file=", every.time.as_millis()));
                option.push(resumed);
                kept.push(option);
            }
            _ if OUTPUTS.contains(&option) => {
                left_out.push(word.clone());
                let arg = run.get_arguments().find(|arg| arg.get_long() == option.strip_prefix("--"))?;
                let values =
                    if arg.is_require_equals_set() { 0 } else { arg.get_num_args().map_or(1, |n| n.max_values()) };
                left_out.extend(words.by_ref().take(values - usize::from(joined.is_some()).min(values)).cloned());
            }
            _ => kept.push(word.into()),
        }
    }
    Some((kept, left_out))
}

/// Refuses a launch file that a checkpoint names and that writes files.
pub fn check_outputs(job: &Job, resume: &Options, words: &[OsString]) -> Result<(), Failure> {
    let Some(file) = job.outputs().into_iter().next() else { return Ok(()) };
    let words: Vec<String> = words.iter().map(|word| output::quoted(word)).collect();
    let (checkpoint, command) = (resume.resume.as_deref().unwrap_or(Path::new("")).display(), words.join(" "));
    Err(Failure::bad_input(format!(
        "the launch file that the checkpoint `{checkpoint}` names writes `{}`; outputs are not taken from a checkpoint\n  hint: name the launch file: `warpwright {command}`",
        file.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_files() {
        let every = |text: &str| text.parse::<Every>().map(|every| (every.time.as_millis(), every.file));
        assert_eq!(every("every=90s"), Ok((90_000, None)));
        assert_eq!(every("every=0s,file=a,b.checkpoint"), Ok((0, Some("a,b.checkpoint".into()))));
        assert_eq!(every("file=x"), Ok((60_000, Some("x".into()))));
        assert_eq!(every("every=250ms").map(|it| it.0), Ok(250));
        assert_eq!(every("every=2h").map(|it| it.0), Ok(7_200_000));
        for wrong in ["60s", "every=60", "every=s", "every=1d", "file=", "every=9999999999999999h", "every=1s;file=x"] {
            assert!(every(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_checkpoint_names_no_outputs_and_no_other_command() {
        let grammar = crate::commands::grammar();
        let cleared = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            without_outputs(&words, &grammar, Path::new("mine"))
        };
        let (kept, left_out) = cleared(&[
            "run",
            "bfs",
            "--json=a",
            "--json",
            "--csv=b",
            "--power",
            "c",
            "--power-plot=d",
            "--sample",
            "100",
            "e",
            "--html",
            "f",
            "--timeline",
            "g",
            "--core",
            "ghost",
            "--checkpoint",
            "every=2s,file=h",
            "--param=n=1",
        ])
        .unwrap();
        assert_eq!(kept, ["bfs", "--core", "ghost", "--checkpoint=every=2000ms,file=mine", "--param=n=1"]);
        let expected = "--json=a --json --csv=b --power c --power-plot=d --sample 100 e --html f --timeline g";
        assert_eq!(left_out.join(" "), expected);
        for other in [
            &["exec", "--", "/bin/sh"][..],
            &["run", "bfs", "--", "x"],
            &["trace", "bfs", "-o", "x"],
            &["run", "bfs", "--checkpoint"],
            &[],
        ] {
            assert!(cleared(other).is_none(), "{other:?}");
        }
    }

    /// Each option of `run` with a path is an input or one of those outputs.
    #[test]
    fn no_output_is_forgotten() {
        let grammar = crate::commands::grammar();
        let run = grammar.find_subcommand("run").unwrap();
        let names_file = |arg: &&clap::Arg| {
            arg.get_action().takes_values()
                && arg
                    .get_value_names()
                    .into_iter()
                    .flatten()
                    .any(|name| name.contains("FILE") || name.contains("FOLDER"))
        };
        let options: Vec<String> =
            run.get_arguments().filter(names_file).filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
        let inputs = ["--gpu", "--module", "--energy-model", "--resume"];
        for option in &options {
            let known = OUTPUTS.contains(&&**option) || option == "--checkpoint" || inputs.contains(&&**option);
            assert!(known, "{option} names a file: is it written?");
        }
        assert!(OUTPUTS.iter().all(|output| options.iter().any(|option| option == output)), "{options:?}");
    }

    #[test]
    fn a_state_that_no_run_has_is_an_error_of_the_file() {
        let lines = [7; 3];
        let broken = guarded(Some(Path::new("a.checkpoint")), || Ok(lines[std::hint::black_box(5)]));
        let error = broken.unwrap_err().message;
        for part in ["`a.checkpoint` cannot be continued", "index is 5", "resume.rs:"] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(guarded(Some(Path::new("a.checkpoint")), || Ok(3)).ok(), Some(3));
    }

    #[test]
    fn words_of_the_run_without_its_own_checkpoint() {
        let words: Vec<OsString> = ["run", "bfs", "--resume", "a", "--json=x", "--resume=b"].map(Into::into).to_vec();
        assert_eq!(without_resume(&words), ["run", "bfs", "--json=x"]);
        assert_eq!(resumed(&words), Some("a".into()));
        let file = usual_file(Path::new("dir/my kernel.toml"), "RTX 2060 SUPER", "loog:collectors=8");
        assert_eq!(file, Path::new("my-kernel-rtx-2060-super-loog-collectors-8.checkpoint"));
    }
}
