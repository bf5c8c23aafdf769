//! Options of commands that are not about one run: `microbench`, `validate`, `list`, `inspect`, `reproduce`.

use crate::failure::Failure;
use crate::output;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lab::HostThreads;
use request::Options;
use request::shown::Destination;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use workloads::Size;

/// Values of the GPU description that the user sets.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Settings {
    /// A value of the GPU description, such as sm.issue.schedulers=2 or clocks.core_mhz=1.5GHz; `warpwright list settings` names them
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
}

/// Reads the name of a size.
pub fn sizes() -> impl TypedValueParser<Value = Size> {
    let size = |name: String| Size::ALL.into_iter().find(|size| size.name() == name).unwrap_or_default();
    PossibleValuesParser::new(Size::ALL.map(Size::name)).map(size)
}

/// The forms in which other programs get the results.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Formats {
    /// Print the results as JSON, or write them to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    json: Option<Option<PathBuf>>,
    /// Print the results as a table of comma-separated values, or write it to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    csv: Option<Option<PathBuf>>,
}

impl Formats {
    /// Those that a run is asked for.
    fn of(options: &Options) -> Self {
        let form = |to: &Option<Destination>| to.as_ref().map(|to| to.file().map(Path::to_owned));
        Self { json: form(&options.json), csv: form(&options.csv) }
    }

    /// Whether results are printed as text: not if they are printed in another form.
    pub fn as_text(&self) -> bool {
        self.json != Some(None) && self.csv != Some(None)
    }

    /// The files that results are written to.
    ///
    /// # Errors
    /// Two forms are to be printed to standard output.
    pub fn files(&self) -> Result<Vec<&Path>, Failure> {
        if self.json == Some(None) && self.csv == Some(None) {
            return Err(Failure::bad_input(
                "--json and --csv both print to standard output; write one of them to a file, as in --csv=FILE",
            ));
        }
        Ok([&self.json, &self.csv].into_iter().flatten().flatten().map(PathBuf::as_path).collect())
    }

    /// Gives `value` as JSON and its `rows` as CSV, where these are asked for.
    pub fn give<R: Serialize, Rows: IntoIterator<Item = R>>(
        &self,
        value: &impl Serialize,
        rows: impl FnOnce() -> Rows,
    ) -> Result<(), Failure> {
        if let Some(file) = &self.json {
            output::give(file.as_deref(), |out| output::json(value, out))?;
        }
        let Some(file) = &self.csv else { return Ok(()) };
        output::give(file.as_deref(), |out| output::csv(rows(), out))
    }
}

/// Where results are written, and how much is printed.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Results {
    #[command(flatten)]
    pub formats: Formats,
    /// Print neither progress nor results: only errors, and the JSON or CSV asked for
    #[arg(short, long)]
    pub quiet: bool,
}

impl Results {
    /// Those that a run is asked for.
    pub fn of(options: &Options) -> Self {
        Self { formats: Formats::of(options), quiet: options.quiet }
    }

    /// Whether results are printed as text.
    pub fn as_text(&self) -> bool {
        !self.quiet && self.formats.as_text()
    }
}

/// A page of the results.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Page {
    /// Write the results as a page to look at and to send: one HTML file that needs no other (`warpwright docs page`)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Page {
    /// The one that a run is asked for.
    pub fn of(options: &Options) -> Self {
        Self { html: options.html.clone() }
    }

    /// Writes the page, if one is asked for.
    pub fn save(&self, page: impl FnOnce() -> String) -> Result<(), Failure> {
        self.html.as_ref().map_or(Ok(()), |path| output::save(path, page().as_bytes()))
    }
}

/// The number of host threads.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Jobs {
    /// Host threads, which runs at the same time share; results do not depend on them [default: one per processor]
    #[arg(short = 'j', long = "threads", visible_alias = "jobs", value_name = "NUMBER")]
    pub threads: Option<NonZeroUsize>,
}

impl Jobs {
    /// The threads to run on.
    pub fn host(self) -> HostThreads {
        self.threads.map_or_else(HostThreads::all, |threads| HostThreads::new(threads.get()))
    }
}
