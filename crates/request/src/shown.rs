//! Types of values of options about results: what is shown, of which part of a run, and where it goes.

use crate::option::{One, Shape, shown, utf8};
use crate::values::{absolute, choices, path, texts};
use kit::suggest;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

texts!(Cycles: "str", Warps: "str", Every: "str");
choices! {
    Statistics, vec![
        ("summary", Statistics::Summary, "A selection"),
        ("all", Statistics::All, "Every statistic"),
        ("accelsim", Statistics::Accelsim, "`name = value` lines as GPGPU-Sim and Accel-Sim print them, for their scripts"),
    ];
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

/// Core cycles between two points of power over time, if it is asked for without an interval.
pub(crate) const POWER_INTERVAL: NonZeroU64 = NonZeroU64::new(1000).unwrap();

/// Core cycles of a timeline where none are given.
pub(crate) const TIMELINE_CYCLES: u64 = 2000;

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
                "`{}` is not a number of cycles above 0\n  hint: the number of core cycles comes first, then the file",
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

/// Records the events of each instruction.
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
    const PYTHON: &'static str = "bool | tuple[int, int] | PathLike";

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
pub(crate) const EVERY_TIME: Duration = Duration::from_secs(60);

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
