//! The checkpoints that a run writes and resumes.

use super::file::{self, Contents};
use super::kernels;
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
    /// Whether the run neither leaves any nor continues from one.
    pub fn are_none(&self) -> bool {
        self.plan.is_none() && self.resume.is_none()
    }

    /// The files that are read: not the checkpoint that the run itself replaces.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let replaced = |path: &PathBuf| self.plan.iter().any(|plan| kit::output::same_file(&plan.file, path));
        self.resume.iter().map(|saved| saved.path.clone()).filter(|path| !replaced(path)).collect()
    }

    /// The files that are written.
    pub fn files(&self) -> Vec<PathBuf> {
        self.plan.iter().flat_map(|plan| [plan.file.clone(), kernels::beside(&plan.file)]).collect()
    }
}

/// A run that can be continued.
#[derive(Clone, Debug)]
pub struct SavedRun {
    pub(super) path: PathBuf,
    pub(super) contents: Contents,
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
