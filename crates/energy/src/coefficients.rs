//! Energy of each event on a GPU: data files whose numbers have sources.

use crate::event::{Event, PerEvent};
use crate::hardware::Hardware;
use crate::static_power::StaticPower;
use kit::text::{bounded, excerpt, pointed};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Energies and powers of a GPU. Files use the units at the ends of names.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// Name of the GPU description to which they apply.
    pub name: String,
    /// The GPU on which they were measured, or their derivation.
    pub description: String,
    /// Feature size of the process, in nanometres.
    pub node_nm: f64,
    /// Chip voltage for which they are valid.
    pub volts: f64,
    /// Core clock in MHz at which static and constant power were measured.
    pub core_mhz: f64,
    /// Number of SMs of the GPU on which static power was measured.
    pub sms: f64,
    /// Static power is proportional to the number of SMs. AccelWattch uses its V100's unscaled for
    /// other GPUs.
    pub scale_static_by_sms: bool,
    /// Area of the die, in square millimetres.
    pub die_mm2: f64,
    /// Power of the board that does not depend on activity, in watts.
    pub constant_watts: f64,
    /// Power of an SM without warps, in watts.
    pub idle_sm_watts: f64,
    /// Static power of active SMs.
    pub static_power: StaticPower,
    /// Energy of each event, in picojoules.
    pub events_pj: PerEvent,
    /// Sources of the numbers, by key or by the first part of a key.
    pub sources: BTreeMap<String, String>,
}

/// The file's layout.
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

/// The reason why a file of coefficients cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CoefficientError {
    /// The file has a syntax error: line, column and expectation.
    #[error("{0}")]
    Syntax(String),
    /// The file is inconsistent; lists all problems.
    #[error("{}", .0.join("\n"))]
    Content(Vec<String>),
}

/// Files that the program includes, by name.
const BUILTIN: &[(&str, &str)] = &[
    ("gtx480", include_str!("../../../energies/gtx480.toml")),
    ("v100", include_str!("../../../energies/v100.toml")),
    ("v100-hw", include_str!("../../../energies/v100-hw.toml")),
    ("titanv", include_str!("../../../energies/titanv.toml")),
    ("rtx2060s", include_str!("../../../energies/rtx2060s.toml")),
    ("rtx3070", include_str!("../../../energies/rtx3070.toml")),
];

impl Coefficients {
    /// Names of the GPUs whose coefficients the program includes.
    pub fn builtin() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|&(name, _)| name)
    }

    /// Coefficients of a GPU that the program includes; `None` if it has none.
    ///
    /// # Errors
    /// The file has errors. Tests load all files.
    pub fn of(gpu: &str) -> Option<Result<Self, CoefficientError>> {
        BUILTIN.iter().find(|&&(name, _)| name == gpu).map(|&(_, text)| Self::parse(text))
    }

    /// Reads a file's text.
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

    /// These coefficients with the energies of events that follow from the structures of `hardware`, where they give
    /// none themselves.
    pub fn on(mut self, hardware: &Hardware) -> Self {
        for &(event, picojoules) in &hardware.events_pj {
            if self.events_pj[event] == 0.0 {
                self.events_pj[event] = picojoules;
            }
        }
        self
    }

    /// The source of the value of `key`: its own source, or its table's.
    pub fn source(&self, key: &str) -> Option<&str> {
        let table = key.split('.').next().unwrap_or(key);
        self.sources.get(key).or_else(|| self.sources.get(table)).map(String::as_str)
    }
}

/// Plausible power of a chip, or of a part of it, in watts.
const WATTS: RangeInclusive<f64> = 0.0..=10_000.0;

/// Plausible energy of an event in picojoules: the maximum, a millijoule, is far more than any.
const PICOJOULES: RangeInclusive<f64> = 0.0..=1e9;

/// A message if `value` is outside of `range`, which NaN is.
fn outside(key: &str, value: f64, range: RangeInclusive<f64>) -> Option<String> {
    let (least, most) = (range.start(), range.end());
    (!range.contains(&value)).then(|| format!("`{key}` is {value}; it must be from {least} to {most}"))
}

/// The syntax error of the file's text, with its position.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let what = bounded(error.message());
    let Some(at) = error.span().map(|span| span.start).filter(|&at| text.is_char_boundary(at)) else { return what };
    let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let (line, column) = (text[..at].matches('\n').count() + 1, text[start..at].chars().count() + 1);
    let shown = pointed(text[start..].lines().next().unwrap_or(""), at - start, 1);
    format!("line {line}, column {column}: {what}\n    {}\n    {}", shown.line, shown.mark)
}

/// The energies by event: none may be unknown or negative, and all must be present except those that may be lacking (zero).
fn events(given: &BTreeMap<String, f64>, problems: &mut Vec<String>) -> PerEvent {
    let mut events = PerEvent::default();
    for &event in Event::ALL {
        match given.get(event.name()) {
            Some(&pj) => {
                events[event] = pj;
                problems.extend(outside(&format!("events_pj.{}", event.name()), pj, PICOJOULES));
            }
            None if event.may_lack_energy() => {}
            None => problems.push(format!("`events_pj.{}` is missing: {}", event.name(), event.description())),
        }
    }
    let known = |key: &str| Event::ALL.iter().any(|e| e.name() == key);
    let unknown = given.keys().filter(|key| !known(key));
    problems.extend(unknown.map(|key| format!("there is no event `{}`", excerpt(key))));
    events
}
