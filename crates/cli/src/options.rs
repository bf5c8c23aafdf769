//! Options that several commands have, each with one meaning and one text.

use crate::failure::Failure;
use crate::output;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lab::{HostThreads, OutOfBounds, Setup, Time};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use workloads::Size;

/// Cycles after which warps that only repeat themselves are taken for a livelock: simulated in seconds to
/// a few minutes, and more than any sleep or latency.
pub const LIVELOCK_CYCLES: u64 = 1_000_000;

/// The one GPU that a command is about.
#[derive(Clone, Debug, clap::Args)]
pub struct Machine {
    /// GPU: a built-in one (`warpwright list gpus`) or the path of a description [default: the launch file's, else rtx2060s]
    #[arg(long, alias = "gpus", value_name = "NAME|FILE")]
    pub gpu: Option<PathBuf>,
    /// Warp scheduler with its parameters, such as two_level:active=4 (`warpwright list schedulers`) [default: the GPU description's]
    #[arg(long, alias = "schedulers", value_name = "NAME")]
    pub scheduler: Option<String>,
}

/// Values of the GPU description that the user sets.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Settings {
    /// A value of the GPU description, such as sm.issue.schedulers=2 or clocks.core_mhz=1.5GHz; `warpwright list settings` names them
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
}

/// What happens to accesses outside allocations.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Bounds {
    /// What happens when a kernel accesses global memory outside all allocations: error (default), or warn or allow, with which such accesses near allocations are harmless, as on hardware
    #[arg(long, value_name = "POLICY", hide_possible_values = true, value_parser = PossibleValuesParser::new(OutOfBounds::CHOICES.map(|choice| choice.0)).try_map(|name| name.parse::<OutOfBounds>()))]
    out_of_bounds: Option<OutOfBounds>,
}

impl Bounds {
    /// The policy chosen, else the default.
    pub fn policy(self) -> OutOfBounds {
        self.out_of_bounds.unwrap_or_default()
    }
}

/// When a run ends early, and what is checked meanwhile.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Checks {
    /// End each run soon after this number of simulated core cycles, launch latency included, and report what was simulated; looked at every few thousand cycles. What is executed without time (--time) ends after as many warp instructions
    #[arg(long, value_name = "NUMBER")]
    max_cycles: Option<u64>,
    /// Check each instruction against the program order of its warp (hazard auditor) and report the violations. Takes about twice as long
    #[arg(long)]
    audit: bool,
}

impl Checks {
    /// `setup` with these limits and checks.
    pub fn applied(self, setup: Setup) -> Setup {
        Setup { max_cycles: self.max_cycles, audit: self.audit, ..setup }
    }
}

/// What is simulated in time.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Timed {
    /// What is simulated in time, the rest being executed without, or left out of a trace: all (default), none, launches by number and kernels by name (kernels=3,7..9,NAME), CTAs of each launch (ctas=0..79), or representative launches, from which the others are inferred (representative, representative:tolerance=5); ranges have both ends (docs/sampling.md)
    #[arg(long, value_name = "CHOICE")]
    time: Option<String>,
}

impl Timed {
    /// The choice.
    ///
    /// # Errors
    /// There is no such choice.
    pub fn chosen(&self) -> Result<Time, Failure> {
        let parsed = self.time.as_deref().map_or(Ok(Time::All), str::parse);
        parsed.map_err(|problem| Failure::bad_input(format!("--time: {problem}")))
    }
}

/// How much work bundled workloads do.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct WorkSize {
    /// How much work, of bundled workloads: small (default), medium (about a million warp instructions) or large (about ten million)
    #[arg(long, value_name = "SIZE", hide_possible_values = true, value_parser = sizes())]
    pub size: Option<Size>,
}

impl WorkSize {
    /// The size chosen, else the default.
    pub fn chosen(self) -> Size {
        self.size.unwrap_or_default()
    }
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
    /// Whether results are printed as text.
    pub fn as_text(&self) -> bool {
        !self.quiet && self.formats.as_text()
    }
}

/// A page of the results.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Page {
    /// Write the results as a page to look at and to send: one HTML file that needs no other (docs/page.md)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Page {
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
