//! GPU descriptions: data files whose numbers carry their source, checked when loaded; the built-in ones by a test.
//!
//! **Invariant:** a [`GpuConfig`] from [`load`] is consistent; the simulator does not check it
//! again.
//!
//! ```
//! let gpu = config::load("v100")?;
//! assert_eq!(gpu.sm_count, 80);
//!
//! let two = config::load_with("v100", &["sm.issue.schedulers=2"])?;
//! assert_eq!(two.sm.issue.schedulers, 2);
//!
//! let error = config::load_with("v100", &["sm.max_warp=8"]).unwrap_err();
//! assert!(error.to_string().contains("did you mean `sm.max_warps`?"));
//! # Ok::<(), config::ConfigError>(())
//! ```
#![warn(missing_docs)]

pub mod choices;
mod derived;
mod error;
mod flattened;
pub mod import;
pub mod model;
mod node;
mod quantity;
mod raw;
pub mod schema;
mod table;
mod validate;
mod write;

pub use choices::*;
pub use error::{ConfigError, Problem, Spot};
pub use import::{Import, OptionReport, Outcome, import_accelsim};
pub use model::*;
pub use raw::{Raw, unknown as unknown_key};
pub use write::to_toml;

use std::path::Path;

/// Kind of a built-in description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptionKind {
    /// A GPU as its documents and measurements show it: `gpus/`.
    Hardware,
    /// A configuration of Accel-Sim, by the importer: `gpus/accel-sim/`.
    AccelSim,
    /// The machine that a paper simulates: `gpus/papers/`.
    Paper,
}

impl DescriptionKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Hardware, Self::AccelSim, Self::Paper];

    /// Name in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::AccelSim => "accel-sim",
            Self::Paper => "paper",
        }
    }
}

/// A description that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub struct Builtin {
    /// Name, as on the command line.
    pub name: &'static str,
    pub kind: DescriptionKind,
    pub text: &'static str,
}

macro_rules! builtin {
    ($($kind:ident { $($name:literal,)* })*) => {
        const BUILTIN: &[Builtin] = &[$($(Builtin {
            name: $name,
            kind: DescriptionKind::$kind,
            text: include_str!(concat!("../../../gpus/", $name, ".toml")),
        },)*)*];
    };
}

builtin! {
    Hardware {
        "gtx480", "v100", "gv100", "titanv", "rtx2060s", "a100", "rtx3070", "rtx3090", "a6000", "a40", "rtx4090", "l40",
        "h100-pcie", "h100", "h200",
    }
    AccelSim {
        "accel-sim/gtx480", "accel-sim/v100", "accel-sim/gv100", "accel-sim/titanv", "accel-sim/rtx2060",
        "accel-sim/rtx2060s", "accel-sim/rtx3070",
    }
    Paper {
        "papers/ghost", "papers/ghost-rtx3070", "papers/scalar", "papers/sgmf", "papers/socgpu", "papers/war",
    }
}

/// The descriptions that come with the program, by kind, oldest GPU first.
pub fn builtin() -> &'static [Builtin] {
    BUILTIN
}

/// Names of the built-in descriptions of hardware, oldest GPU first.
pub fn hardware() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().filter(|gpu| gpu.kind == DescriptionKind::Hardware).map(|gpu| gpu.name)
}

/// Loads a built-in description by name, or one from a file.
///
/// # Errors
/// All its mistakes, with line, column and a hint.
pub fn load(name_or_path: impl AsRef<Path>) -> Result<GpuConfig, ConfigError> {
    Raw::open_values(name_or_path.as_ref())?.config()
}

/// Loads a description and changes some of its values: `sm.issue.schedulers=2`.
///
/// # Errors
/// As [`load`] and [`with_overrides`].
pub fn load_with<S: AsRef<str>>(name_or_path: impl AsRef<Path>, overrides: &[S]) -> Result<GpuConfig, ConfigError> {
    let mut raw = Raw::open_values(name_or_path.as_ref())?;
    with_overrides(&mut raw, overrides)?;
    raw.config()
}

/// Carries out assignments `key=value`, as the command line's `--set` gives them.
///
/// # Errors
/// Every unknown key, with the nearest known one, and every value of the wrong kind.
pub fn with_overrides<S: AsRef<str>>(raw: &mut Raw, overrides: &[S]) -> Result<(), ConfigError> {
    let problems: Vec<_> = overrides.iter().filter_map(|o| raw.set(o.as_ref()).err()).collect();
    ConfigError::unless_none(problems)
}

impl GpuConfig {
    /// Checks a description made by a program as [`load`] checks a file.
    ///
    /// # Errors
    /// Everything that is wrong with it, by key.
    pub fn check(&self) -> Result<(), ConfigError> {
        Raw::from(self).config().map(|_| ())
    }
}
