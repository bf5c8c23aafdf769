//! Runs on a cluster by Slurm: an array of tasks, each of which makes its share of the missing runs.
//!
//! Only Slurm's own commands are used (`sbatch`, `squeue`), so the site's configuration applies. The tasks share only the
//! folder of runs with this process: a killed, requeued or lost task costs the run that it was in. The job's name follows
//! from the runs, so the same command finds a job that it submitted before.

use crate::store::digest;
use kit::text::shell_word;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time between two looks at the queue.
const LOOK: Duration = Duration::from_secs(2);
/// Failed queries before the controller is given up: it may be restarting.
const PATIENCE: u32 = 150;
/// Submissions without a new run before the job is given up.
const ATTEMPTS: u32 = 3;

/// A job array, one task for each share of the runs.
#[derive(Clone, Debug)]
pub struct Array {
    /// Name of the job.
    pub name: String,
    /// Number of shares.
    pub tasks: usize,
    /// The command of a task, to which `--share N/ALL` is added; its words.
    pub command: Vec<String>,
    /// Words after these.
    pub rest: Vec<String>,
    /// Further options of `sbatch`.
    pub options: Vec<String>,
    /// Folder of the script and of the tasks' output.
    pub folder: PathBuf,
}

/// Progress of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Tasks that wait or run.
    pub tasks: usize,
    /// Runs that are missing.
    pub missing: usize,
}

impl Array {
    /// The script of the shares `shares`, from 1.
    pub fn script(&self, shares: &[usize]) -> String {
        let list: Vec<String> = shares.iter().map(usize::to_string).collect();
        let words = |words: &[String]| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        let rest = if self.rest.is_empty() { String::new() } else { format!(" {}", words(&self.rest)) };
        let output = self.folder.join(format!("{}-%a.out", self.name));
        format!(
            "#!/bin/sh\n#SBATCH --job-name={}\n#SBATCH --array={}\n#SBATCH --output={}\n#SBATCH --open-mode=append\n\
             exec {} --share \"$SLURM_ARRAY_TASK_ID\"/{} --threads \"${{SLURM_CPUS_PER_TASK:-1}}\"{rest}\n",
            self.name,
            list.join(","),
            output.display(),
            words(&self.command),
            self.tasks
        )
    }

    /// Makes all runs. `missing` returns the share, from 1, of each missing run; `report` gets the progress. Returns when no
    /// run is missing, when three submissions have added no run, or when a stop is requested.
    ///
    /// # Errors
    /// Slurm's commands fail: their message. Submitted tasks remain.
    pub fn run(&self, missing: &mut dyn FnMut() -> Vec<usize>, report: &dyn Fn(Progress)) -> Result<(), String> {
        let mut idle = 0;
        let mut left = missing();
        while !left.is_empty() && idle < ATTEMPTS && !kit::stop::requested() {
            if self.tasks_in_queue()? == 0 {
                self.submit(&left)?;
            }
            self.wait(missing, report)?;
            let before = std::mem::replace(&mut left, missing());
            idle = if left.len() < before.len() { 0 } else { idle + 1 };
        }
        Ok(())
    }

    /// Submits the job with the shares that are `left`.
    fn submit(&self, left: &[usize]) -> Result<(), String> {
        let shares: Vec<usize> = BTreeSet::from_iter(left.iter().copied()).into_iter().collect();
        let file = self.folder.join(format!("{}.sh", self.name));
        let written =
            fs::create_dir_all(&self.folder).and_then(|()| kit::output::write(&file, self.script(&shares).as_bytes()));
        written.map_err(|e| format!("cannot write `{}`: {e}", file.display()))?;
        let mut command = Command::new("sbatch");
        asked(command.arg("--parsable").args(&self.options).arg(&file)).map(drop)
    }

    /// Tasks of the job that wait or run.
    fn tasks_in_queue(&self) -> Result<usize, String> {
        // Without this, waiting tasks share a line.
        let mut command = Command::new("squeue");
        let told = asked(command.args(["--noheader", "--array", "--me", "--format=%T", "--name"]).arg(&self.name))?;
        Ok(told.lines().filter(|line| !line.trim().is_empty()).count())
    }

    /// Waits until no task is in the queue.
    fn wait(&self, missing: &mut dyn FnMut() -> Vec<usize>, report: &dyn Fn(Progress)) -> Result<(), String> {
        let mut unanswered = 0;
        loop {
            std::thread::sleep(LOOK);
            match self.tasks_in_queue() {
                Ok(tasks) => {
                    unanswered = 0;
                    report(Progress { tasks, missing: missing().len() });
                    if tasks == 0 || kit::stop::requested() {
                        return Ok(());
                    }
                }
                Err(why) if unanswered == PATIENCE => return Err(why),
                Err(_) if kit::stop::requested() => return Ok(()),
                Err(_) => unanswered += 1,
            }
        }
    }
}

/// Standard output of a Slurm command.
fn asked(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            format!("`{name}` was not found: submitting jobs needs Slurm's commands")
        }
        _ => format!("cannot run `{name}`: {e}"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("`{name}` says: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// The name of a job for the runs with these names in this folder.
pub fn name_of<'a>(keys: impl Iterator<Item = &'a str>, folder: &'a Path) -> String {
    let parts = keys.map(Cow::Borrowed).chain([folder.to_string_lossy()]);
    format!("warpwright-{}", &digest(parts)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_the_shares_and_the_command() {
        let array = Array {
            name: "warpwright-1".into(),
            tasks: 16,
            command: ["/opt/a b/warpwright", "sweep", "it's.toml"].map(str::to_owned).to_vec(),
            rest: Vec::new(),
            options: Vec::new(),
            folder: "/shared/jobs".into(),
        };
        let script = array.script(&[2, 16]);
        let expected = "#!/bin/sh\n#SBATCH --job-name=warpwright-1\n#SBATCH --array=2,16\n\
            #SBATCH --output=/shared/jobs/warpwright-1-%a.out\n#SBATCH --open-mode=append\n\
            exec '/opt/a b/warpwright' 'sweep' 'it'\\''s.toml' --share \"$SLURM_ARRAY_TASK_ID\"/16 \
            --threads \"${SLURM_CPUS_PER_TASK:-1}\"\n";
        assert_eq!(script, expected);
        let with_rest = Array { rest: ["--", "./a b"].map(str::to_owned).to_vec(), ..array };
        let expected = expected.replace(":-1}\"\n", ":-1}\" '--' './a b'\n");
        assert_eq!(with_rest.script(&[2, 16]), expected);
    }

    #[test]
    fn names_are_of_runs_and_folder() {
        let name = |keys: &[&str], folder: &str| name_of(keys.iter().copied(), Path::new(folder));
        assert_eq!(name(&["a", "b"], "/x"), name(&["a", "b"], "/x"));
        assert_ne!(name(&["a", "b"], "/x"), name(&["a", "c"], "/x"));
        assert_ne!(name(&["a", "b"], "/x"), name(&["a", "b"], "/y"));
    }
}
