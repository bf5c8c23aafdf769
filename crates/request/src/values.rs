//! Types of values of options, each read from one text and written as it.

use crate::option::{One, Shape, shown, utf8};
use kit::suggest;
use lab::{OutOfBounds, RegisterMode, Time};
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io;
use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use workloads::Size;
use workloads::launchfile::ModuleOverride;

/// What stands in a list of GPUs, cores or schedulers for every one of them.
pub const EVERY: &str = "all";

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
numbers!(u16, u32, u64, NonZeroU64, NonZeroUsize);

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
texts!(Amount: "int | str", Cycles: "str", Warps: "str", Time: "str", Every: "str");

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
choices! {
    Size, Size::ALL.map(|size| (size.name(), size, "")).to_vec();
    RegisterMode, RegisterMode::ALL.map(|mode| (mode.name(), mode, "")).to_vec();
    OutOfBounds, OutOfBounds::CHOICES.map(|(name, value)| (name, value, "")).to_vec();
    Code, vec![
        ("auto", Code::Auto, "Machine code for the GPU's architecture where there is some and the core runs it, else PTX"),
        ("ptx", Code::Ptx, "The virtual machine's code: virtual registers, not scheduled for any GPU"),
        ("sass", Code::Sass, "Machine code for the GPU's architecture"),
    ];
    Branches, vec![
        ("oracle", Branches::Oracle, "The right path, as if predicted perfectly (Accel-Sim's traces)"),
        ("stall", Branches::Stall, "Nothing until the branch has issued"),
        ("flush", Branches::Flush, "The next instruction in memory, flushed if the branch goes elsewhere (GPGPU-Sim)"),
        ("sequential_flush", Branches::Flush, "The same, by the name that it has as a setting"),
    ];
    Statistics, vec![
        ("summary", Statistics::Summary, "A selection"),
        ("all", Statistics::All, "Every statistic"),
        ("accelsim", Statistics::Accelsim, "`name = value` lines as GPGPU-Sim and Accel-Sim print them, for their scripts"),
    ];
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

/// What is fetched after a branch that has not issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branches {
    /// The right path.
    Oracle,
    /// Nothing.
    Stall,
    /// The next instruction in memory.
    Flush,
}

/// Which statistics a report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistics {
    /// A selection.
    Summary,
    /// All.
    All,
    /// Lines for Accel-Sim's scripts.
    Accelsim,
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

fn absolute(path: &mut PathBuf) -> io::Result<()> {
    *path = std::path::absolute(&*path)?;
    Ok(())
}

/// A path that is not empty.
fn path(text: &OsStr) -> Result<PathBuf, String> {
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
        // What comes with the program is found by its name, also where a file has that name.
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

/// Where results go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Printed,
    /// A file.
    File(PathBuf),
}

impl Destination {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Printed => None,
            Self::File(path) => Some(path),
        }
    }
}

impl One for Destination {
    const SHAPE: Shape = Shape::Optional;
    const PYTHON: &'static str = "PathLike";

    fn read(text: &OsStr) -> Result<Self, String> {
        Ok(if text == "-" { Self::Printed } else { Self::File(path(text)?) })
    }

    fn text(&self) -> OsString {
        self.file().map_or_else(|| "-".into(), |file| file.into())
    }

    fn absolute(&mut self) -> io::Result<()> {
        match self {
            Self::Printed => Ok(()),
            Self::File(path) => absolute(path),
        }
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
    const PYTHON: &'static str = "Mapping[str | None, PathLike]";
    const AT_COMMAS: bool = false;

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

/// Two numbers with two dots between them.
fn pair(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once("..")?;
    Some((from.trim().replace('_', "").parse().ok()?, to.trim().replace('_', "").parse().ok()?))
}

/// Core cycles from the start of a run: the first, and the one after the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycles(pub Range<u64>);

impl FromStr for Cycles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = pair(text).ok_or("two numbers are needed, such as 5000..7000")?;
        if from < to { Ok(Self(from..to)) } else { Err("the first cycle must be before the last".to_owned()) }
    }
}

impl Display for Cycles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.0.start, self.0.end)
    }
}

/// Maximum number of warp slots of an SM: its widest masks of warps have 128 bits.
pub(crate) const MOST_WARPS: u64 = 128;

/// Warp slots, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warps {
    /// The first.
    pub first: u32,
    /// The last.
    pub last: u32,
}

impl Warps {
    /// The same as a set, one bit each.
    pub fn mask(self) -> u128 {
        (self.first..=self.last).fold(0, |set, warp| set | 1 << warp)
    }
}

impl FromStr for Warps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = text.trim().parse().ok().map(|warp: u64| (warp, warp));
        let (first, last) = one.or_else(|| pair(text)).ok_or("a warp slot is a number, several are such as 0..7")?;
        if last >= MOST_WARPS || first > last {
            return Err("warp slots are 0 to 127, the first before the last".to_owned());
        }
        Ok(Self { first: first as u32, last: last as u32 })
    }
}

impl Display for Warps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

/// Statistics over time: the interval in core cycles, and the file that they are written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Core cycles.
    pub interval: NonZeroU64,
    /// Absent in Python, where the result has them.
    pub file: Option<PathBuf>,
}

impl One for Sample {
    const SHAPE: Shape = Shape::Pair;
    const PYTHON: &'static str = "int";

    fn read(text: &OsStr) -> Result<Self, String> {
        let text = utf8(text)?;
        let (interval, file) = text.split_once(',').map_or((text, None), |(interval, file)| (interval, Some(file)));
        let interval = interval.trim().replace('_', "").parse().map_err(|_| {
            format!(
                "`{}` is not a number of cycles above 0\n  hint: the number of core cycles comes first, as in --sample 1000 bfs.csv",
                shown(interval.as_ref())
            )
        })?;
        Ok(Self { interval, file: file.map(PathBuf::from) })
    }

    fn text(&self) -> OsString {
        let mut text = OsString::from(self.interval.to_string());
        if let Some(file) = &self.file {
            text.push(",");
            text.push(file);
        }
        text
    }

    fn absolute(&mut self) -> io::Result<()> {
        self.file.iter_mut().try_for_each(absolute)
    }
}

/// What happens to each instruction is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The result has it.
    Kept,
    /// It is written to a file.
    File(PathBuf),
}

impl Recorded {
    /// The file, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Kept => None,
            Self::File(path) => Some(path),
        }
    }
}

impl One for Recorded {
    const PYTHON: &'static str = "bool";

    fn read(text: &OsStr) -> Result<Self, String> {
        Ok(if text == "true" { Self::Kept } else { Self::File(path(text)?) })
    }

    fn text(&self) -> OsString {
        self.file().map_or_else(|| "true".into(), |file| file.into())
    }

    fn absolute(&mut self) -> io::Result<()> {
        match self {
            Self::Kept => Ok(()),
            Self::File(path) => absolute(path),
        }
    }
}

/// How often a checkpoint is written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Every {
    /// Time between two.
    pub time: Duration,
    /// The file, if one is named.
    pub file: Option<PathBuf>,
}

/// Time between two checkpoints by default.
const EVERY_TIME: Duration = Duration::from_secs(60);

/// Units of time, with their milliseconds.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (_, each) = UNITS.iter().find(|(unit, _)| *unit == &text[digits..])?;
    Some(Duration::from_millis(text[..digits].parse::<u64>().ok()?.checked_mul(*each)?))
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut every = Self { time: EVERY_TIME, file: None };
        let mut rest = text;
        while !rest.is_empty() {
            // A path may have commas: it is the last.
            if let Some(file) = rest.strip_prefix("file=").filter(|file| !file.is_empty()) {
                every.file = Some(file.into());
                break;
            }
            let (one, others) = rest.split_once(',').unwrap_or((rest, ""));
            let time = one.strip_prefix("every=").and_then(duration);
            every.time = time.ok_or("expected every=TIME, file=FILE or both, such as every=60s,file=bfs.checkpoint")?;
            rest = others;
        }
        Ok(every)
    }
}

impl Display for Every {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "every={}ms", self.time.as_millis())?;
        self.file.as_ref().map_or(Ok(()), |file| write!(f, ",file={}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn times_and_files() {
        let every = |text: &str| text.parse::<Every>().map(|every| (every.time.as_millis(), every.file));
        assert_eq!(every("every=90s"), Ok((90_000, None)));
        assert_eq!(every("every=0s,file=a,b.checkpoint"), Ok((0, Some("a,b.checkpoint".into()))));
        assert_eq!(every("file=x"), Ok((60_000, Some("x".into()))));
        assert_eq!(every("every=250ms").map(|it| it.0), Ok(250));
        assert_eq!(every("every=2h").map(|it| it.0), Ok(7_200_000));
        for wrong in ["60s", "every=60", "every=s", "every=1d", "file=", "every=9999999999999999h", "every=1s;file=x"] {
            assert!(every(wrong).is_err(), "{wrong}");
        }
    }
}
