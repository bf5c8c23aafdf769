//! What each event costs on a GPU: data files whose numbers carry their source.

use crate::event::{Event, PerEvent};
use crate::static_power::StaticPower;
use kit::text::{bounded, excerpt, pointed};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Energies and powers of a GPU. Files are written in the units that names end in.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// Name of the GPU description that they belong to.
    pub name: String,
    /// What they were measured or derived on, and how.
    pub description: String,
    /// Feature size of the process, in nanometres.
    pub node_nm: f64,
    /// Chip voltage that they hold for.
    pub volts: f64,
    /// Core clock that static and constant power were measured at, in MHz.
    pub core_mhz: f64,
    /// SMs of the GPU that static power was measured on.
    pub sms: f64,
    /// Whether static power grows with the number of SMs. AccelWattch takes that of its V100 for other
    /// GPUs as it is.
    pub scale_static_by_sms: bool,
    /// Area of the die, in square millimetres.
    pub die_mm2: f64,
    /// What the board draws whatever runs, in watts.
    pub constant_watts: f64,
    /// What an SM without a warp draws, in watts.
    pub idle_sm_watts: f64,
    /// Static power of active SMs.
    pub static_power: StaticPower,
    /// Energy of each event, in picojoules.
    pub events_pj: PerEvent,
    /// Where the numbers come from, by key or by the first part of a key.
    pub sources: BTreeMap<String, String>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    description: String,
    node_nm: f64,
    volts: f64,
    core_mhz: f64,
    sms: f64,
    #[serde(default)]
    scale_static_by_sms: bool,
    die_mm2: f64,
    constant_watts: f64,
    idle_sm_watts: f64,
    /// One figure for all mixes of units.
    static_watts: Option<f64>,
    static_power: Option<StaticPower>,
    events_pj: BTreeMap<String, f64>,
    sources: BTreeMap<String, String>,
}

/// Why a file of coefficients cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CoefficientError {
    /// It is not what such a file looks like: line, column and what was expected.
    #[error("{0}")]
    Syntax(String),
    /// It contradicts itself; everything that is wrong with it.
    #[error("{}", .0.join("\n"))]
    Content(Vec<String>),
}

/// Files that come with the program, by name.
const BUILTIN: &[(&str, &str)] = &[
    ("gtx480", include_str!("../../../energies/gtx480.toml")),
    ("v100", include_str!("../../../energies/v100.toml")),
    ("titanv", include_str!("../../../energies/titanv.toml")),
    ("rtx2060s", include_str!("../../../energies/rtx2060s.toml")),
    ("rtx3070", include_str!("../../../energies/rtx3070.toml")),
];

impl Coefficients {
    /// Names of the GPUs whose coefficients come with the program.
    pub fn builtin() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|&(name, _)| name)
    }

    /// Those of a GPU that comes with the program; `None` if there are none for it.
    ///
    /// # Errors
    /// What is wrong with the file. Tests load them all.
    pub fn of(gpu: &str) -> Option<Result<Self, CoefficientError>> {
        BUILTIN.iter().find(|&&(name, _)| name == gpu).map(|&(_, text)| Self::parse(text))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, CoefficientError> {
        let raw: Raw = toml::from_str(text).map_err(|e| CoefficientError::Syntax(syntax(text, &e)))?;
        let mut problems = Vec::new();
        let events_pj = events(&raw.events_pj, &mut problems);
        let static_power = match (raw.static_watts, raw.static_power) {
            (Some(watts), None) => StaticPower::flat(watts),
            (None, Some(power)) => power,
            _ => {
                problems.push("one of `static_watts` and `static_power` must be there".to_owned());
                StaticPower::flat(0.0)
            }
        };
        let mut check = |key: &str, value: f64, range| problems.extend(outside(key, value, range));
        check("node_nm", raw.node_nm, 1.0..=1000.0);
        check("volts", raw.volts, 0.1..=5.0);
        check("core_mhz", raw.core_mhz, 1.0..=100_000.0);
        check("sms", raw.sms, 1.0..=4096.0);
        check("die_mm2", raw.die_mm2, 1.0..=100_000.0);
        check("constant_watts", raw.constant_watts, WATTS);
        check("idle_sm_watts", raw.idle_sm_watts, WATTS);
        for (mix, lanes) in static_power.mixes() {
            check(&format!("static_power.{mix}.first_watts"), lanes.first_watts, WATTS);
            check(&format!("static_power.{mix}.added_watts"), lanes.added_watts, WATTS);
        }
        if raw.name.trim().is_empty() {
            problems.push("`name` is empty; it is the name of a GPU description".to_owned());
        }
        if !problems.is_empty() {
            return Err(CoefficientError::Content(problems));
        }
        Ok(Self {
            name: raw.name,
            description: raw.description,
            node_nm: raw.node_nm,
            volts: raw.volts,
            core_mhz: raw.core_mhz,
            sms: raw.sms,
            scale_static_by_sms: raw.scale_static_by_sms,
            die_mm2: raw.die_mm2,
            constant_watts: raw.constant_watts,
            idle_sm_watts: raw.idle_sm_watts,
            static_power,
            events_pj,
            sources: raw.sources,
        })
    }

    /// The source of the value of `key`: its own source, or that of its table.
    pub fn source(&self, key: &str) -> Option<&str> {
        let table = key.split('.').next().unwrap_or(key);
        self.sources.get(key).or_else(|| self.sources.get(table)).map(String::as_str)
    }
}

/// Watts that a chip, or a part of it, can draw.
const WATTS: RangeInclusive<f64> = 0.0..=10_000.0;

/// Picojoules that an event can take: a millijoule is far more than any.
const PICOJOULES: RangeInclusive<f64> = 0.0..=1e9;

/// What is wrong with `value`, if it is outside of `range`; not a number is.
fn outside(key: &str, value: f64, range: RangeInclusive<f64>) -> Option<String> {
    let (least, most) = (range.start(), range.end());
    (!range.contains(&value)).then(|| format!("`{key}` is {value}; it must be from {least} to {most}"))
}

/// What is wrong with the file's text, and where.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let what = bounded(error.message());
    let Some(at) = error.span().map(|span| span.start).filter(|&at| text.is_char_boundary(at)) else { return what };
    let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let (line, column) = (text[..at].matches('\n').count() + 1, text[start..at].chars().count() + 1);
    let shown = pointed(text[start..].lines().next().unwrap_or(""), at - start, 1);
    format!("line {line}, column {column}: {what}\n    {}\n    {}", shown.line, shown.mark)
}

/// The energies by event: all must be there, none may be unknown or negative.
fn events(given: &BTreeMap<String, f64>, problems: &mut Vec<String>) -> PerEvent {
    let mut events = PerEvent::default();
    for &event in Event::ALL {
        match given.get(event.name()) {
            Some(&pj) => {
                events[event] = pj;
                problems.extend(outside(&format!("events_pj.{}", event.name()), pj, PICOJOULES));
            }
            None => problems.push(format!("`events_pj.{}` is missing: {}", event.name(), event.description())),
        }
    }
    let known = |key: &str| Event::ALL.iter().any(|e| e.name() == key);
    let unknown = given.keys().filter(|key| !known(key));
    problems.extend(unknown.map(|key| format!("there is no event `{}`", excerpt(key))));
    events
}
