//! Options of commands that are not about one run: `microbench`, `validate`, `list`, `inspect`. They are
//! rows of the table of `request`.

use crate::failure::Failure;
use crate::output;
use clap::{ArgMatches, Command};
use lab::HostThreads;
use request::Options;
use request::command::{options_of, with_options};
use request::shown::Destination;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Makes groups of options arguments of commands: each with the names of its rows, and the default in words where it is
/// another one than in the table.
macro_rules! rows {
    (@usual) => { None };
    (@usual $usual:literal) => { Some($usual) };
    ($($group:ident: $($name:literal $(= $usual:literal)?),*;)*) => {$(
        impl clap::Args for $group {
            fn augment_args(command: Command) -> Command {
                with_options(command, &[$(($name, rows!(@usual $($usual)?))),*])
            }

            fn augment_args_for_update(command: Command) -> Command {
                Self::augment_args(command)
            }
        }

        impl clap::FromArgMatches for $group {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                Ok(Self::of(&options_of(matches, &[$(($name, rows!(@usual $($usual)?))),*])?))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    )*};
}
rows! {
    Settings: "set";
    Formats: "json", "csv";
    Results: "json", "csv", "quiet";
    Page: "html";
    Jobs: "threads";
}

/// Values of the GPU description that the user sets.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// As `--set` takes them.
    pub settings: Vec<String>,
}

impl Settings {
    /// Those that are asked for.
    fn of(options: &Options) -> Self {
        Self { settings: options.set.iter().map(|setting| setting.0.clone()).collect() }
    }
}

/// The forms in which other programs get the results.
#[derive(Clone, Debug, Default)]
pub struct Formats {
    json: Option<Option<PathBuf>>,
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
#[derive(Clone, Debug, Default)]
pub struct Results {
    pub formats: Formats,
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
#[derive(Clone, Debug, Default)]
pub struct Page {
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Jobs {
    pub threads: Option<NonZeroUsize>,
}

impl Jobs {
    /// The number that is asked for.
    fn of(options: &Options) -> Self {
        Self { threads: options.threads }
    }

    /// The threads to run on.
    pub fn host(self) -> HostThreads {
        self.threads.map_or_else(HostThreads::all, |threads| HostThreads::new(threads.get()))
    }
}
