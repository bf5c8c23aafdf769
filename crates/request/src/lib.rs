//! The request for a run, once: its options, the meaning of a name, the machines of a comparison, and the files of the
//! results. Every way in (command, environment of a program, Python) is made from it.
//!
//! | module | role |
//! | --- | --- |
//! | [`option`], [`values`], [`shown`] | what an option is: a row; types of values |
//! | [`options`] | **the table of options** |
//! | `command` (feature `clap`), [`environment`], [`documents`] | options as arguments, as variables, as text |
//! | [`contents`] | the kind of a file, for messages |
//! | [`name`] | the meaning of a name: bundled workload, launch file, trace |
//! | [`code`] | which code of it runs |
//! | [`gpu`] | GPU descriptions, and changes to them |
//! | [`machine`], [`sweep`] | the machines: one, or every combination of a comparison's axes |
//! | [`versions`] | versions of the same work as columns |
//! | [`baseline`] | the report of an earlier run, with which a run is compared |
//! | [`chance`] | the same run again, with what should not matter changed |
//! | [`comparison`] | what came out, side by side: baselines, speedups, means |
//! | [`tables`], [`outputs`] | results as rows, and as files |

#![warn(missing_docs)]

pub mod baseline;
pub mod chance;
pub mod code;
#[cfg(feature = "clap")]
pub mod command;
pub mod comparison;
pub mod contents;
pub mod derived;
pub mod documents;
pub mod environment;
pub mod gpu;
pub mod machine;
pub mod name;
pub mod option;
pub mod options;
pub mod outputs;
pub mod own_figures;
mod relative;
pub mod shown;
pub mod sweep;
pub mod tables;
pub mod values;
pub mod versions;
pub mod write;

pub use option::{Group, OptionRow, Shape, Way};
pub use options::{Options, ROWS};

/// Mistake in a request: problem, place, reason, remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRequest {
    /// May have several lines.
    pub message: String,
}

impl BadRequest {
    /// With this message.
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string() }
    }
}

impl std::fmt::Display for BadRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadRequest {}
