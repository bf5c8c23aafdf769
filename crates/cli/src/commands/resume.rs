//! `--checkpoint` and `--resume` of `warpwright run`.
//!
//! A checkpoint has the words of the command that left it, so that `warpwright run --resume FILE` is enough to continue:
//! the words given are added to those, and options among them replace the former ones.

use crate::failure::Failure;
use crate::output;
use kit::locks;
use lab::{CheckpointPlan, Checkpoints, Job, SavedRun};
use request::options::row;
use request::shown::Every;
use request::{Options, ROWS, Way};
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The checkpoints that a run of `workload` on `gpu` with `core` writes and resumes; `words` are the command's.
pub fn checkpoints(
    options: &Options,
    (workload, gpu, core): (&Path, &str, &str),
    words: &[OsString],
) -> Result<Checkpoints, Failure> {
    let resume = options.resume.as_deref().map(SavedRun::open).transpose().map_err(Failure::bad_input)?;
    let plan = options.checkpoint.as_ref().map(|every| CheckpointPlan {
        file: every.file.clone().unwrap_or_else(|| usual_file(workload, gpu, core)),
        every: every.time,
        command: without_resume(words).iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    });
    Ok(Checkpoints { plan, resume })
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

/// Whether `word` is an option whose value is a file that results are written to.
fn is_output(word: &str) -> bool {
    ROWS.iter().any(|row| row.writes && word.strip_prefix("--").is_some_and(|option| option == row.option()))
}

/// The words of a command that names a checkpoint and no workload, after the words of the resumed run; the first
/// word is the program. `None` if it is not such a command.
///
/// A checkpoint may come from another user. Its contents choose neither the command nor the files that are written.
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
    let checkpoint = row("checkpoint")?.called(Way::Run);
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    let mut words = stored.iter();
    while let Some(word) = words.next() {
        let (option, joined) = word.split_once('=').map_or((&**word, None), |(option, value)| (option, Some(value)));
        match option {
            // Words that follow it are not parsed as options.
            "--" => return None,
            _ if option == checkpoint => {
                let every = joined.or_else(|| words.next().map(String::as_str))?.parse::<Every>().ok()?;
                let mut option = OsString::from(format!("{checkpoint}=every={}ms,file=", every.time.as_millis()));
                option.push(resumed);
                kept.push(option);
            }
            _ if is_output(option) => {
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
pub fn check_outputs(job: &Job, options: &Options, words: &[OsString]) -> Result<(), Failure> {
    let Some(file) = job.outputs().into_iter().next() else { return Ok(()) };
    let words: Vec<String> = words.iter().map(|word| output::quoted(word)).collect();
    let (checkpoint, command) = (options.resume.as_deref().unwrap_or(Path::new("")).display(), words.join(" "));
    Err(Failure::bad_input(format!(
        "the launch file that the checkpoint `{checkpoint}` names writes `{}`; outputs are not taken from a checkpoint\n  hint: name the launch file: `warpwright {command}`",
        file.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let inputs = ["--gpu", "--module", "--energy-model", "--baseline", "--resume"];
        for option in &options {
            let known = is_output(option) || option == "--checkpoint" || inputs.contains(&&**option);
            assert!(known, "{option} names a file: is it written?");
        }
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
