//! Values of the command line in place of a launch file's.

use std::path::PathBuf;

/// Replacements for parts of a launch file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Entries of `[values]`: name and expression.
    pub values: Vec<(String, String)>,
    /// Modules.
    pub modules: Vec<ModuleOverride>,
}

/// A file in place of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleOverride {
    /// The module as the launch file names it; `None` for the module of launches that name none.
    pub name: Option<String>,
    /// The file.
    pub path: PathBuf,
}

impl Overrides {
    /// Replacements of values only.
    pub fn of_values(values: &[(String, String)]) -> Self {
        Self { values: values.to_vec(), modules: Vec::new() }
    }

    /// The file in place of the module of launches that name none.
    pub(super) fn default_module(&self) -> Option<&PathBuf> {
        self.modules.iter().rev().find(|m| m.name.is_none()).map(|m| &m.path)
    }

    /// The file in place of the module called `name`.
    pub(super) fn module(&self, name: &str) -> Option<&PathBuf> {
        self.modules.iter().rev().find(|m| m.name.as_deref() == Some(name)).map(|m| &m.path)
    }
}
