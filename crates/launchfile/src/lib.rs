//! Launch files: how to run a kernel that is not in the suite.
//!
//! A launch file is TOML. It names a module and its kernels, the buffers they work on and what they
//! hold at first, the launches with their arguments, and which buffers to print, write or compare
//! afterwards. Numbers may be expressions over named values. `docs/launch-files.md` describes the
//! format; `examples/launch/` has examples.
//!
//! [`LaunchFile::load`] reads and checks a file; [`LaunchFile::run`] carries it out on a device.

#![warn(missing_docs)]

mod content;
mod data;
mod diagnostics;
mod expr;
mod model;
mod overrides;
mod parse;
mod runner;
mod scope;
mod values;

pub use diagnostics::{LaunchFileError, Problem};
pub use model::LaunchFile;
pub use overrides::{ModuleOverride, Overrides};
pub use runner::{LaunchFileRunError, LaunchOutcome};

use std::path::{Path, PathBuf};

impl LaunchFile {
    /// Reads a launch file, of which `overrides` replace parts.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Self, LaunchFileRunError> {
        let io = |source| LaunchFileRunError::Io { path: path.to_owned(), source };
        let text = kit::files::read_text(path).map_err(io)?;
        Ok(Self::parse(path, &text, overrides).map_err(Box::new)?)
    }

    /// The same from text; `path` is for messages and for finding other files.
    pub fn parse(path: &Path, text: &str, overrides: &Overrides) -> Result<Self, LaunchFileError> {
        parse::parse(path, text, overrides).map_err(|problems| LaunchFileError::new(path, text, problems))
    }

    /// The GPU that it runs on by default: a name, or the path of a description.
    pub fn gpu(&self) -> Option<PathBuf> {
        let named = &self.gpu.as_ref()?.item;
        let is_path = named.contains(['.', '/', '\\']);
        Some(if is_path { self.beside(named) } else { named.into() })
    }

    /// A problem of the GPU that it names.
    pub fn refused_gpu(&self, message: impl Into<String>) -> LaunchFileError {
        let problem = Problem { span: self.gpu.as_ref().map(|gpu| gpu.span.clone()), message: message.into() };
        LaunchFileError::new(&self.path, &self.text, vec![problem])
    }

    /// Every file that it reads: itself, modules, contents of buffers, what results are compared with.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let contents = self.buffers.iter().filter_map(|buffer| match &buffer.content {
            model::Content::File(path) => Some(&path.item),
            _ => None,
        });
        let expected = self.outputs.iter().filter_map(|output| match &output.compare.as_ref()?.against {
            model::Against::File(path) => Some(&path.item),
            model::Against::Formula(_) => None,
        });
        let beside = contents.chain(expected).map(|path| self.beside(path));
        let modules = self.modules.iter().map(|module| module.path.clone());
        std::iter::once(self.path.clone()).chain(modules).chain(beside).collect()
    }

    /// Every file that it writes.
    pub fn outputs(&self) -> Vec<PathBuf> {
        self.outputs.iter().filter_map(|output| Some(self.beside(&output.write.as_ref()?.item))).collect()
    }

    /// A path relative to the launch file's folder.
    fn beside(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }
}
