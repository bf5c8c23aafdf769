//! Types of values of options, each read from one text and written as it: names, numbers, choices. Those about results are
//! in [`shown`](crate::shown).

use crate::BadRequest;
use crate::option::{One, utf8};
use config::{GpuConfig, Profiler};
use kit::suggest;
use lab::{OutOfBounds, RegisterMode, Time};
use launchfile::ModuleOverride;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use workloads::Size;

/// The GPU that runs if neither the user nor a launch file names one.
pub const USUAL_GPU: &str = "rtx2060s";

/// Seed of generated inputs if none is given.
pub(crate) const USUAL_SEED: u64 = 1;

/// The word for all in a list of GPUs, cores or schedulers.
pub const EVERY: &str = "all";

/// Checks that a list has no empty entry and nothing twice.
///
/// # Errors
/// It has: `option` says of which list.
pub fn distinct<T: AsRef<OsStr>>(option: &str, list: &[T]) -> Result<(), BadRequest> {
    let mut seen = BTreeSet::new();
    for one in list.iter().map(AsRef::as_ref) {
        let shown = kit::text::excerpt(&one.to_string_lossy());
        if one.is_empty() {
            let what = if list.len() > 1 { "a name is missing at a comma" } else { "no name is given" };
            return Err(BadRequest::new(format!("{option}: {what}")));
        }
        if !seen.insert(one) {
            return Err(BadRequest::new(format!("{option}: `{shown}` is given twice; give it once")));
        }
    }
    Ok(())
}

/// Maximum number of columns of a comparison.
const MOST_COLUMNS: u64 = 1024;
/// Maximum number of runs of a comparison: workloads by columns.
pub const MOST_RUNS: u64 = 65_536;

/// Checks that a comparison is not too large.
pub fn check_size(workloads: u64, columns: u64) -> Result<(), BadRequest> {
    let problem = if columns > MOST_COLUMNS {
        format!("{columns} columns: a comparison has {MOST_COLUMNS} at most")
    } else if workloads.saturating_mul(columns) > MOST_RUNS {
        format!("{workloads} workloads on {columns} machines: a comparison has {MOST_RUNS} runs at most")
    } else {
        return Ok(());
    };
    Err(BadRequest::new(format!(
        "{problem}\n  hint: columns are combinations of GPUs, cores, schedulers, varied settings and changes of the GPU; list fewer values"
    )))
}

/// A whole number; digits may be grouped: `1_000_000`.
///
/// # Errors
/// It is not one: why.
fn whole<T: FromStr<Err = std::num::ParseIntError>>(text: &OsStr) -> Result<T, String> {
    use std::num::IntErrorKind::{PosOverflow, Zero};
    utf8(text)?.trim().replace('_', "").parse().map_err(|e: std::num::ParseIntError| match e.kind() {
        PosOverflow => "the number is too large".to_owned(),
        Zero => "expected a whole number of at least 1".to_owned(),
        _ => "expected one whole number, such as 1000".to_owned(),
    })
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl One for $type {
            const PYTHON: &'static str = "int";

            fn read(text: &OsStr) -> Result<Self, String> {
                whole(text)
            }

            fn text(&self) -> OsString {
                self.to_string().into()
            }
        }
    )*};
}
numbers!(u16, u32, u64, NonZeroU32, NonZeroU64, NonZeroUsize);

/// Types that are read and written as text by themselves.
macro_rules! texts {
    ($($type:ty: $python:literal),*) => {$(
        impl One for $type {
            const PYTHON: &'static str = $python;

            fn read(text: &OsStr) -> Result<Self, String> {
                utf8(text)?.parse()
            }

            fn text(&self) -> OsString {
                self.to_string().into()
            }
        }
    )*};
}
pub(crate) use texts;
texts!(Amount: "int | str", Time: "str");

/// One of a few values: names, values and meanings.
macro_rules! choices {
    ($($type:ty, $all:expr;)*) => {$(
        impl One for $type {
            fn read(text: &OsStr) -> Result<Self, String> {
                let all: Vec<(&str, $type, &str)> = $all;
                let text = utf8(text)?;
                let found = all.iter().find(|(name, ..)| *name == text).map(|(_, value, _)| value.clone());
                found.ok_or_else(|| {
                    let names: Vec<&str> = all.iter().map(|(name, ..)| *name).collect();
                    suggest::unknown("value", text, &names)
                })
            }

            fn text(&self) -> OsString {
                let all: Vec<(&str, $type, &str)> = $all;
                let found = all.into_iter().find(|(_, value, _)| value == self);
                found.map_or("", |(name, ..)| name).into()
            }

            fn choices() -> Vec<(&'static str, &'static str)> {
                let all: Vec<(&str, $type, &str)> = $all;
                all.into_iter().map(|(name, _, meaning)| (name, meaning)).collect()
            }
        }
    )*};
}
pub(crate) use choices;
choices! {
    Size, Size::ALL.map(|size| (size.name(), size, "")).to_vec();
    RegisterMode, RegisterMode::ALL.map(|mode| (mode.name(), mode, "")).to_vec();
    OutOfBounds, OutOfBounds::CHOICES.map(|(name, value)| (name, value, "")).to_vec();
    Code, vec![
        ("auto", Code::Auto, "Machine code for the GPU's architecture where there is some and the core runs it, else PTX"),
        ("ptx", Code::Ptx, "The virtual machine's code: virtual registers, not scheduled for any GPU"),
        ("sass", Code::Sass, "Machine code for the GPU's architecture"),
    ];
    By, vec![
        (By::Nvtx.name(), By::Nvtx, "The NVTX ranges that were open in the launching thread"),
        (By::Python.name(), By::Python, "The line of Python that launched them"),
    ];
    ProfiledAs, vec![
        ("ncu", ProfiledAs::Profiler(Profiler::Ncu), "Nsight Compute as it is by default: one kernel at a time, caches empty before each"),
        ("nvprof", ProfiledAs::Profiler(Profiler::Nvprof), "nvprof: one kernel at a time, caches as the program leaves them"),
        ("usual", ProfiledAs::Usual, "The profiler that cycles of the GPU are usually counted with, by its description"),
    ];
    Branches, vec![
        ("oracle", Branches::Oracle, "The right path, as if predicted perfectly (Accel-Sim's traces)"),
        ("stall", Branches::Stall, "Nothing until the branch has issued"),
        ("flush", Branches::Flush, "The next instruction in memory, flushed if the branch goes elsewhere (GPGPU-Sim)"),
        ("sequential_flush", Branches::Flush, "The same, by the name that it has as a setting"),
    ];
}

/// Criterion by which the kernels of a program are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The NVTX ranges in which they were launched.
    Nvtx,
    /// The line of Python that launched them.
    Python,
}

impl By {
    /// The word of the option and of reports.
    pub const fn name(self) -> &'static str {
        match self {
            By::Nvtx => "nvtx",
            By::Python => "python",
        }
    }
}

/// Which code runs where a program has PTX and machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Machine code where there is some and the core runs it, else PTX.
    Auto,
    /// PTX.
    Ptx,
    /// Machine code.
    Sass,
}

/// Profiler whose way of running and counting kernels is imitated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfiledAs {
    /// This one.
    Profiler(Profiler),
    /// The GPU's usual one.
    Usual,
}

impl ProfiledAs {
    /// The settings that make `gpu` run kernels as under the profiler, by key.
    pub fn settings(self, gpu: &GpuConfig) -> Vec<(&'static str, String)> {
        let profiler = match self {
            Self::Profiler(profiler) => profiler,
            Self::Usual => gpu.launch.profiler.unwrap_or(Profiler::Ncu),
        };
        let counted = gpu.launch.profiled_cycles.unwrap_or_else(|| gpu.kernel_latency_cycles());
        let mut settings =
            vec![("launch.max_concurrent_kernels", "1".into()), ("launch.kernel_latency_cycles", counted.to_string())];
        if profiler == Profiler::Ncu {
            settings.extend([
                ("launch.flush_l1_between_kernels", "true".into()),
                ("launch.flush_l2_between_kernels", "true".into()),
                ("launch.host_copies_fill_l2", "false".into()),
            ]);
            if gpu.launch.keeps_code == Some(true) {
                settings.push(("launch.keeps_code", "false".into()));
            }
        }
        settings
    }
}

/// Instructions fetched after a branch until it issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branches {
    /// The right path.
    Oracle,
    /// Nothing.
    Stall,
    /// The next instruction in memory.
    Flush,
}

/// Any text.
impl One for String {
    fn read(text: &OsStr) -> Result<Self, String> {
        match utf8(text)? {
            "" => Err("a text is needed".to_owned()),
            text => Ok(text.to_owned()),
        }
    }

    fn text(&self) -> OsString {
        self.into()
    }
}

/// A core design with its parameters, or [`EVERY`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core(pub String);

/// A warp scheduler with its parameters, or [`EVERY`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler(pub String);

macro_rules! parametric {
    ($($type:ident, $check:path;)*) => {$(
        impl One for $type {
            fn read(text: &OsStr) -> Result<Self, String> {
                let name = utf8(text)?;
                if name != EVERY {
                    $check(name)?;
                }
                Ok(Self(name.to_owned()))
            }

            fn text(&self) -> OsString {
                (&self.0).into()
            }

            // Parameters have commas among them too.
            fn split(text: &OsStr) -> Vec<OsString> {
                let Some(text) = text.to_str() else { return vec![text.to_owned()] };
                whole_names(text.split(',').map(str::trim)).into_iter().map(OsString::from).collect()
            }
        }
    )*};
}
parametric! {
    Core, lab::check_core;
    Scheduler, lab::check_scheduler;
}

/// Baseline of speedups: each column is compared with the one that has this instead of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// A core design with its parameters.
    Core(String),
    /// A warp scheduler with its parameters.
    Scheduler(String),
    /// A value among those that vary, as headings have it.
    Value {
        /// `gpu`, `core`, `scheduler`, or a setting by its key or the key's last part.
        axis: String,
        /// The value.
        value: String,
    },
}

impl One for Over {
    fn read(text: &OsStr) -> Result<Self, String> {
        let name = utf8(text)?;
        let [cores, schedulers] = [lab::cores(), lab::schedulers()].map(|list| list.iter().map(|(name, _)| *name));
        let kind = name.split([':', '+']).next().unwrap_or_default();
        if schedulers.clone().any(|known| known == kind) {
            lab::check_scheduler(name).map(|()| Self::Scheduler(name.to_owned()))
        } else if cores.clone().any(|known| known == kind) {
            lab::check_core(name).map(|()| Self::Core(name.to_owned()))
        } else if let Some((axis, value)) = name.split_once(['=', ' ']).map(|(axis, value)| (axis.trim(), value.trim()))
            && !axis.is_empty()
            && !axis.contains([':', '+'])
            && !value.is_empty()
        {
            Ok(Self::Value { axis: axis.to_owned(), value: value.to_owned() })
        } else {
            let known: Vec<&str> = cores.chain(schedulers).collect();
            Err(suggest::unknown("core design or warp scheduler", name, &known))
        }
    }

    fn text(&self) -> OsString {
        match self {
            Self::Core(name) | Self::Scheduler(name) => name.into(),
            Self::Value { axis, value } => format!("{axis}={value}").into(),
        }
    }
}

/// Names of cores or schedulers whose parameters were split at their commas, put together again.
fn whole_names<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for part in parts {
        let is_parameter = part.split_once('=').is_some_and(|(name, _)| !name.contains(':'));
        match whole.last_mut().filter(|last| is_parameter && last.contains(':')) {
            Some(last) => *last += &format!(",{part}"),
            None => whole.push(part.to_owned()),
        }
    }
    whole
}

pub(crate) fn absolute(path: &mut PathBuf) -> io::Result<()> {
    *path = std::path::absolute(&*path)?;
    Ok(())
}

/// A path that is not empty.
pub(crate) fn path(text: &OsStr) -> Result<PathBuf, String> {
    if text.is_empty() { Err("a name or a path is needed".to_owned()) } else { Ok(text.into()) }
}

/// Something that comes with the program, by its name, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameOrFile(pub PathBuf);

impl One for NameOrFile {
    const PYTHON: &'static str = "PathLike";

    fn read(text: &OsStr) -> Result<Self, String> {
        path(text).map(Self)
    }

    fn text(&self) -> OsString {
        self.0.clone().into()
    }

    // A path may have commas.
    fn split(text: &OsStr) -> Vec<OsString> {
        if Path::new(text).exists() {
            return vec![text.to_owned()];
        }
        let parts = text.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        parts.map(|part| OsStr::from_bytes(part).to_owned()).collect()
    }

    fn absolute(&mut self) -> io::Result<()> {
        // Bundled files are found by their names, also where a file has that name.
        let is_name = config::builtin().iter().any(|gpu| Path::new(gpu.name) == self.0);
        if !is_name && self.0.exists() { absolute(&mut self.0) } else { Ok(()) }
    }
}

/// A file or a folder.
impl One for PathBuf {
    const PYTHON: &'static str = "PathLike";

    fn read(text: &OsStr) -> Result<Self, String> {
        path(text)
    }

    fn text(&self) -> OsString {
        self.into()
    }

    fn absolute(&mut self) -> io::Result<()> {
        absolute(self)
    }
}

/// `KEY=VALUE` of the GPU description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting(pub String);

impl One for Setting {
    const PYTHON: &'static str = "Mapping[str, Any] | Sequence[str]";
    const AT_COMMAS: bool = false;

    fn read(text: &OsStr) -> Result<Self, String> {
        utf8(text).map(|text| Self(text.to_owned()))
    }

    fn text(&self) -> OsString {
        (&self.0).into()
    }

    fn absolute(&mut self) -> io::Result<()> {
        if let Some((key, file)) = self.0.split_once('=')
            && key.trim() == "energy.model"
            && Path::new(file.trim()).is_file()
        {
            let file = std::path::absolute(file.trim())?;
            self.0 = format!("{key}={}", file.to_str().ok_or_else(|| io::Error::other("the path is not UTF-8"))?);
        }
        Ok(())
    }
}

/// `NAME=VALUE` of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment(pub String, pub String);

impl One for Assignment {
    const PYTHON: &'static str = "Mapping[str, Any]";
    const AT_COMMAS: bool = false;

    fn read(text: &OsStr) -> Result<Self, String> {
        assignment(utf8(text)?)
    }

    fn text(&self) -> OsString {
        format!("{}={}", self.0, self.1).into()
    }
}

/// Reads `NAME=VALUE`.
pub(crate) fn assignment(text: &str) -> Result<Assignment, String> {
    match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok(Assignment(name.to_owned(), value.to_owned()))
        }
        _ => Err("expected NAME=VALUE, such as n=4096".to_owned()),
    }
}

/// `FILE` or `NAME=FILE` of a module.
impl One for ModuleOverride {
    const PYTHON: &'static str = "Mapping[str | None, PathLike | Sequence[PathLike]]";
    const AT_COMMAS: bool = false;

    // Versions of the module; a path may have commas.
    fn split(text: &OsStr) -> Vec<OsString> {
        let Some(given) = text.to_str().filter(|given| !Path::new(given).exists()) else {
            return vec![text.to_owned()];
        };
        let (name, files) = match given.split_once('=') {
            Some((name, files)) => (format!("{}=", name.trim()), files),
            None => (String::new(), given),
        };
        if Path::new(files).exists() {
            return vec![text.to_owned()];
        }
        files.split(',').map(|file| format!("{name}{}", file.trim()).into()).collect()
    }

    fn read(text: &OsStr) -> Result<Self, String> {
        let wrong = || Err("expected FILE or NAME=FILE, such as kernels.ptx=other.cubin".to_owned());
        let Some(text) = text.to_str() else { return Ok(Self { name: None, path: text.into() }) };
        let named = text.split_once('=').filter(|_| !Path::new(text).exists());
        let (name, path) = named.map_or((None, text), |(name, path)| (Some(name.trim().to_owned()), path.trim()));
        if path.is_empty() || name.as_ref().is_some_and(String::is_empty) {
            return wrong();
        }
        Ok(Self { name, path: path.into() })
    }

    fn text(&self) -> OsString {
        let mut text = self.name.as_ref().map_or_else(OsString::new, |name| format!("{name}=").into());
        text.push(&self.path);
        text
    }

    fn absolute(&mut self) -> io::Result<()> {
        absolute(&mut self.path)
    }
}

/// `KEY=A,B`: what a comparison varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// A value of the GPU description, or a parameter after `core.` or `scheduler.`.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
}

impl One for Vary {
    const PYTHON: &'static str = "Mapping[str, Sequence[Any]]";
    const AT_COMMAS: bool = false;

    fn read(text: &OsStr) -> Result<Self, String> {
        utf8(text)?.parse()
    }

    fn text(&self) -> OsString {
        self.to_string().into()
    }
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = text
            .split_once('=')
            .filter(|(key, values)| !key.is_empty() && !values.is_empty())
            .ok_or("expected KEY=A,B, such as sm.issue.schedulers=1,2,4")?;
        Ok(Self { key: key.to_owned(), values: at_commas(values) })
    }
}

impl Display for Vary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.key, self.values.join(","))
    }
}

/// Splits at commas, except those in brackets: a value may be a list.
fn at_commas(text: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let parts = text.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::to_owned).collect()
}

/// A number, or a multiple of the description's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A number.
    Number(u32),
    /// A multiple of the description's value.
    Times(f64),
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let amount = match text.strip_prefix('x') {
            Some(factor) => factor.parse().ok().filter(|f: &f64| f.is_finite() && *f > 0.0).map(Amount::Times),
            None => text.parse().ok().filter(|n| *n > 0).map(Amount::Number),
        };
        amount.ok_or_else(|| "expected a number above 0, or a multiple such as x2 or x0.5".into())
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Times(factor) => write!(f, "x{factor}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profiler_is_settings_of_its_gpu() {
        let of = |gpu: &str, as_: &str| {
            let gpu = config::load(gpu).unwrap();
            ProfiledAs::read(OsStr::new(as_)).unwrap().settings(&gpu)
        };
        let alone = [("launch.max_concurrent_kernels", "1".to_owned())];
        let counted = |cycles: &str| ("launch.kernel_latency_cycles", cycles.to_owned());
        let cold = [
            ("launch.flush_l1_between_kernels", "true".to_owned()),
            ("launch.flush_l2_between_kernels", "true".to_owned()),
            ("launch.host_copies_fill_l2", "false".to_owned()),
        ];
        assert_eq!(of("gv100", "nvprof"), [&alone[..], &[counted("4363")]].concat());
        assert_eq!(of("gv100", "usual"), of("gv100", "nvprof"));
        let code_too = [("launch.keeps_code", "false".to_owned())];
        assert_eq!(of("h100", "ncu"), [&alone[..], &[counted("1800")], &cold, &code_too].concat());
        assert_eq!(of("h100", "usual"), of("h100", "ncu"));
        assert_eq!(of("rtx2060s", "ncu")[1], counted("1500"));
        // Without a figure of its own: the latency of the description.
        let latency = config::load("gtx480").unwrap().kernel_latency_cycles().to_string();
        assert_eq!(of("gtx480", "ncu")[1], counted(&latency));
    }

    #[test]
    fn amounts() {
        assert_eq!(
            [("64", Amount::Number(64)), ("x2", Amount::Times(2.0)), ("x0.5", Amount::Times(0.5))]
                .map(|(t, a)| t.parse() == Ok(a)),
            [true; 3]
        );
        assert!(["", "0", "-1", "x", "x0", "x-1", "xinf", "2x", "1.5"].iter().all(|t| t.parse::<Amount>().is_err()));
    }

    #[test]
    fn parameters_stay_with_their_core() {
        let text =
            "inorder,ghost:issue_buffer=16,guarded=false+scalar:memory=true,halves=true,inorder+scalar:alus=1,loog";
        let whole = [
            "inorder",
            "ghost:issue_buffer=16,guarded=false+scalar:memory=true,halves=true",
            "inorder+scalar:alus=1",
            "loog",
        ];
        assert_eq!(whole_names(text.split(',')), whole);
        assert_eq!(whole_names(["guarded=false"].into_iter()), ["guarded=false"], "not a core, as its message says");
    }

    #[test]
    fn values_may_be_lists() {
        assert_eq!(at_commas("1,2,4"), ["1", "2", "4"]);
        assert_eq!(at_commas("[1,2],[3,4]"), ["[1,2]", "[3,4]"]);
        assert_eq!(at_commas("x]y,z"), ["x]y", "z"]);
    }

    #[test]
    fn assignments() {
        assert_eq!(assignment(" n = 2 * m "), Ok(Assignment("n".into(), "2 * m".into())));
        assert!(["n", "n=", "=1", "=", ""].iter().all(|wrong| assignment(wrong).is_err()));
    }
}
