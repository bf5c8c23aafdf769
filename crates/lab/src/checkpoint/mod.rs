//! Checkpoints of runs, taken between kernels.
//!
//! A checkpoint has the state of the machine with device memory ([`gpu::Machine`]), what each kernel's end has brought
//! to the report, and what the host had got of the device. A run that resumes executes the code of the host again, up
//! to the same place: launches are made, but not simulated, and what the host reads comes from the checkpoint.
//! `docs/checkpoints.md` says what that means for users.
//!
//! | file | what it is |
//! | --- | --- |
//! | `file` | the file: format, compression, checksum |
//! | `identity` | what the resuming run must have in common |
//! | `journal` | what the host has got of the device |
//! | `kernels` | the reports of kernels, kept line by line beside the checkpoint |
//! | `keeper` | when checkpoints are taken, and the way back to one |

mod file;
mod identity;
mod journal;
mod keeper;
mod kernels;

pub(crate) use journal::{Answer, Known};
pub(crate) use keeper::Keeper;

use crate::run::Job;
use crate::setup::Setup;
use file::Contents;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where and how often a run leaves checkpoints.
#[derive(Clone, Debug)]
pub struct CheckpointPlan {
    /// The file: the last checkpoint replaces the one before. Beside it, `FILE.kernels.jsonl` has the report of each
    /// kernel that has ended.
    pub file: PathBuf,
    /// Host time between two of them, at least; they are taken when kernels end.
    pub every: Duration,
    /// The words of a command that runs the same, for [`SavedRun::command`].
    pub command: Vec<String>,
}

/// Checkpoints that a run leaves, and the one that it continues.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints {
    /// The run leaves checkpoints.
    pub plan: Option<CheckpointPlan>,
    /// The run continues this one.
    pub resume: Option<SavedRun>,
}

impl Checkpoints {
    /// The files that are written.
    pub fn files(&self) -> Vec<PathBuf> {
        self.plan.iter().flat_map(|plan| [plan.file.clone(), kernels::beside(&plan.file)]).collect()
    }

    /// Keeps the checkpoints of a run of `job` on `setup`; `None` if there are to be none.
    ///
    /// # Errors
    /// The run is not the one to be continued, or what it observes cannot be kept.
    pub(crate) fn keeper(self, setup: &Setup, job: &Job) -> Result<Option<Keeper>, String> {
        let Self { plan, resume } = self;
        if plan.is_none() && resume.is_none() {
            return Ok(None);
        }
        let observers = [
            (setup.timeline.is_some(), "--timeline"),
            (setup.check_memory, "--check-memory"),
            (setup.out_of_bounds == exec::OutOfBounds::Warn, "--out-of-bounds warn"),
        ];
        if let Some((_, option)) = observers.iter().find(|(is_on, _)| *is_on) {
            return Err(format!(
                "checkpoints do not keep what {option} observes; leave out {option}, or --checkpoint and --resume"
            ));
        }
        Keeper::new(plan, resume, identity::of(setup, job)).map(Some)
    }
}

/// A run that can be continued.
#[derive(Clone, Debug)]
pub struct SavedRun {
    path: PathBuf,
    contents: Contents,
}

impl SavedRun {
    /// Reads a checkpoint.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn open(path: &Path) -> Result<Self, String> {
        Ok(Self { path: path.to_owned(), contents: file::open(path)? })
    }

    /// The words of the command that left it ([`CheckpointPlan::command`]).
    pub fn command(&self) -> &[String] {
        &self.contents.command
    }

    /// The folder in which that command ran.
    pub fn folder(&self) -> &Path {
        Path::new(&self.contents.folder)
    }

    /// Kernels that had ended.
    pub fn kernels(&self) -> usize {
        self.contents.step_count
    }
}
