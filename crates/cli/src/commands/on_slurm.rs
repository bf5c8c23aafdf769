//! Runs of a sweep by Slurm: the command of a task, and what is told while it waits.

use super::keeping::{Keeping, line};
use crate::failure::Failure;
use crate::{interrupt, output};
use ::render::number;
use experiment::plan::{Estimate, Runs};
use experiment::slurm;
use experiment::store::Store;
use request::Options;
use std::cell::Cell;
use std::num::NonZeroUsize;

/// Has Slurm make the runs that are left.
pub fn by_slurm(runs: &Runs<'_>, store: &Store, options: &Options, keeping: &Keeping) -> Result<(), Failure> {
    let tasks = keeping.tasks.map_or_else(|| tasks_for(&runs.estimate(1)), NonZeroUsize::get);
    let cannot = |e: std::io::Error| Failure::failed(format!("cannot find out how this command was called: {e}"));
    let program = std::env::current_exe().map_err(cannot)?.to_string_lossy().into_owned();
    let folder = std::path::absolute(store.folder()).map_err(cannot)?;
    let words = without_engine(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()));
    let own = ["--points".to_owned(), folder.to_string_lossy().into_owned(), "--quiet".to_owned()];
    let array = slurm::Array {
        name: slurm::name_of(runs.keys(), &folder),
        tasks,
        command: std::iter::once(program).chain(words).chain(own).collect(),
        options: keeping.sbatch.clone(),
        folder: folder.join("slurm"),
    };
    let missing = || {
        let (shares, count) = runs.missing(store, tasks);
        (shares.into_iter().map(|share| share + 1).collect(), count)
    };
    let told = Cell::new(None);
    let tell = |stand: slurm::Stand| {
        if !options.quiet && told.replace(Some(stand)) != Some(stand) {
            let slurm::Stand { tasks, missing } = stand;
            output::remark(&format!(
                "Slurm job {}: {tasks} tasks wait or run, {missing} runs are missing\n",
                array.name
            ));
        }
    };
    array.run(&missing, &tell).map_err(Failure::failed)?;
    let (_, left) = missing();
    if interrupt::requested() {
        let (name, left) = (&array.name, number::counted(left as u64, "run"));
        let how = format!("the same command gathers it, `scancel --name={name}` ends it");
        return Err(Failure::failed(format!("{left} missing; the job {name} goes on: {how}")));
    }
    if left > 0 {
        let lines: String = runs.left.iter().filter(|point| !store.has(point)).take(5).map(|p| line(p)).collect();
        let (left, folder) = (number::counted(left as u64, "run"), array.folder.display());
        return Err(Failure::failed(format!(
            "{left} missing although their tasks have ended three times:\n{lines}  hint: their output is in `{folder}`"
        )));
    }
    Ok(())
}

/// Tasks that take about ten minutes each.
fn tasks_for(estimate: &Estimate) -> usize {
    (estimate.time.as_secs_f64() / 600.0).ceil().clamp(1.0, 1000.0) as usize
}

/// The words of a command without those that say who makes the runs and where results go.
fn without_engine(words: impl Iterator<Item = String>) -> Vec<String> {
    // Each with whether the next word is its value.
    const OWN: [(&str, bool); 11] = [
        ("-j", true),
        ("--engine", true),
        ("--tasks", true),
        ("--sbatch", true),
        ("--points", true),
        ("--out", true),
        ("--html", true),
        ("--json", false),
        ("--csv", false),
        ("--quiet", false),
        ("--threads", true),
    ];
    let mut kept = Vec::new();
    let is_joined = |word: &str| word.strip_prefix("-j").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let mut words = words.filter(|word| word != "-q" && !is_joined(word));
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(&*word, |(name, _)| name);
        match OWN.iter().find(|(own, _)| *own == name) {
            Some((_, true)) if !word.contains('=') => _ = words.next(),
            Some(_) => {}
            None => kept.push(word),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_the_command_without_what_is_of_the_whole() {
        let words = [
            "sweep",
            "x.toml",
            "--engine",
            "slurm",
            "--tasks=4",
            "--sbatch=--mem=4G",
            "--repeat",
            "3",
            "--json",
            "-q",
            "--out",
            "o",
            "--cores=inorder,ghost",
            "--points",
            "p",
            "--csv=a",
        ];
        let kept = without_engine(words.into_iter().map(str::to_owned));
        assert_eq!(kept, ["sweep", "x.toml", "--repeat", "3", "--cores=inorder,ghost"]);
    }

    #[test]
    fn a_task_is_for_ten_minutes() {
        let of = |seconds| Estimate {
            time: std::time::Duration::from_secs(seconds),
            at_most: std::time::Duration::MAX,
            unknown: 0,
        };
        assert_eq!([0, 600, 601, 10_000_000].map(|seconds| tasks_for(&of(seconds))), [1, 1, 2, 1000]);
    }
}
