//! Runs on the machines of a cluster by Slurm: an array of tasks, each of which runs its share of what is missing.
//!
//! Slurm's own commands do everything (`sbatch`, `squeue`), so that what the site has set up holds. The tasks share the
//! folder of runs with this process, and nothing else: one that is killed, requeued or lost costs the run that it was in.
//! The job's name is made from the runs, so that the same command finds a job that it submitted before.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time between two looks at the queue.
const LOOK: Duration = Duration::from_secs(2);
/// Looks at a controller that does not answer before it is given up: it may be restarted meanwhile.
const PATIENCE: u32 = 150;
/// Times that what is missing is submitted without any run having been added.
const ATTEMPTS: u32 = 3;

/// A job for a share of the runs.
#[derive(Clone, Debug)]
pub struct Array {
    /// Name of the job.
    pub name: String,
    /// Number of shares.
    pub tasks: usize,
    /// The command of a task, to which `--share N/ALL` is added; its words.
    pub command: Vec<String>,
    /// Further options of `sbatch`.
    pub options: Vec<String>,
    /// Folder of the script and of the tasks' output.
    pub folder: PathBuf,
}

/// How things stand, told at each look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stand {
    /// Tasks that wait or run.
    pub tasks: usize,
    /// Runs that are missing.
    pub missing: usize,
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl Array {
    /// The script of the shares `shares`, from 1.
    pub fn script(&self, shares: &[usize]) -> String {
        let list: Vec<String> = shares.iter().map(usize::to_string).collect();
        let command: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        let output = self.folder.join(format!("{}-%a.out", self.name));
        format!(
            "#!/bin/sh\n#SBATCH --job-name={}\n#SBATCH --array={}\n#SBATCH --output={}\n#SBATCH --open-mode=append\n\
             exec {} --share \"$SLURM_ARRAY_TASK_ID\"/{} --threads \"${{SLURM_CPUS_PER_TASK:-1}}\"\n",
            self.name,
            list.join(","),
            output.display(),
            command.join(" "),
            self.tasks
        )
    }

    /// Runs everything: `missing` says which shares, from 1, have runs that are missing, and how many runs that are;
    /// `tell` is told how things stand. Returns when nothing is missing or no task adds anything any more.
    ///
    /// # Errors
    /// Slurm cannot be asked, or refuses the job: what it says. Nothing is taken back.
    pub fn run(&self, missing: &dyn Fn() -> (Vec<usize>, usize), tell: &dyn Fn(Stand)) -> Result<(), String> {
        let mut idle = 0;
        loop {
            let (shares, before) = missing();
            if before == 0 {
                return Ok(());
            }
            if self.tasks_in_queue()? == 0 {
                self.submit(&shares)?;
            }
            self.wait(&|| missing().1, tell)?;
            idle = if missing().1 < before { 0 } else { idle + 1 };
            if idle == ATTEMPTS || kit::stop::requested() {
                return Ok(());
            }
        }
    }

    /// Submits the job.
    fn submit(&self, shares: &[usize]) -> Result<(), String> {
        let file = self.folder.join(format!("{}.sh", self.name));
        let written =
            fs::create_dir_all(&self.folder).and_then(|()| kit::output::write(&file, self.script(shares).as_bytes()));
        written.map_err(|e| format!("cannot write `{}`: {e}", file.display()))?;
        let mut command = Command::new("sbatch");
        asked(command.arg("--parsable").args(&self.options).arg(&file)).map(drop)
    }

    /// Tasks of the job that wait or run.
    fn tasks_in_queue(&self) -> Result<usize, String> {
        // A task that waits with others has a line with all of them, without this.
        let mut command = Command::new("squeue");
        let told = asked(command.args(["--noheader", "--array", "--me", "--format=%T", "--name"]).arg(&self.name))?;
        Ok(told.lines().filter(|line| !line.trim().is_empty()).count())
    }

    /// Waits until no task is in the queue.
    fn wait(&self, missing: &dyn Fn() -> usize, tell: &dyn Fn(Stand)) -> Result<(), String> {
        let mut unanswered = 0;
        loop {
            std::thread::sleep(LOOK);
            match self.tasks_in_queue() {
                Ok(tasks) => {
                    unanswered = 0;
                    tell(Stand { tasks, missing: missing() });
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

/// What a command of Slurm prints.
fn asked(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            format!("there is no `{name}` here: Slurm's commands are needed where jobs are submitted")
        }
        _ => format!("cannot run `{name}`: {e}"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("`{name}` says: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// The name of a job for these runs.
pub fn name_of(keys: impl Iterator<Item = impl AsRef<str>>, folder: &Path) -> String {
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |text: &str| {
        digest = text.bytes().fold(digest, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    };
    keys.for_each(|key| add(key.as_ref()));
    add(&folder.to_string_lossy());
    format!("warpwright-{:08x}", digest as u32)
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
            options: Vec::new(),
            folder: "/shared/jobs".into(),
        };
        let script = array.script(&[2, 16]);
        let expected = "#!/bin/sh\n#SBATCH --job-name=warpwright-1\n#SBATCH --array=2,16\n\
            #SBATCH --output=/shared/jobs/warpwright-1-%a.out\n#SBATCH --open-mode=append\n\
            exec '/opt/a b/warpwright' 'sweep' 'it'\\''s.toml' --share \"$SLURM_ARRAY_TASK_ID\"/16 \
            --threads \"${SLURM_CPUS_PER_TASK:-1}\"\n";
        assert_eq!(script, expected);
    }

    #[test]
    fn names_are_of_runs_and_folder() {
        let name = |keys: &[&str], folder: &str| name_of(keys.iter(), Path::new(folder));
        assert_eq!(name(&["a", "b"], "/x"), name(&["a", "b"], "/x"));
        assert_ne!(name(&["a", "b"], "/x"), name(&["a", "c"], "/x"));
        assert_ne!(name(&["a", "b"], "/x"), name(&["a", "b"], "/y"));
    }
}
