//! Power over time, as reports have it.

use energy::{Component, Energy};
use serde::Serialize;

/// Power over time, by component: a run cut into intervals of equal length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerSeries {
    /// Length of an interval in core cycles; the last one may be shorter.
    pub interval_cycles: u64,
    /// The intervals in order, without gaps.
    pub intervals: Vec<Interval>,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Its first core cycle.
    pub start_cycle: u64,
    /// The core cycle after its last.
    pub end_cycle: u64,
    /// Energy of the interval, by component.
    pub energy: Energy,
}

impl Serialize for Interval {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("start_cycle", &self.start_cycle)?;
        map.serialize_entry("end_cycle", &self.end_cycle)?;
        map.serialize_entry("seconds", &self.energy.seconds)?;
        map.serialize_entry("watts", &self.energy.total_watts())?;
        for (component, _) in self.energy.parts() {
            map.serialize_entry(component.name(), &self.energy.watts(component))?;
        }
        map.end()
    }
}

impl PowerSeries {
    /// As a table: a line for each interval, watts by component.
    pub fn csv(&self) -> String {
        let names: Vec<&str> = Component::ALL.iter().map(|c| c.name()).collect();
        let mut out = format!("start_cycle,end_cycle,seconds,watts,{}\n", names.join(","));
        for Interval { start_cycle, end_cycle, energy } in &self.intervals {
            out += &format!("{start_cycle},{end_cycle},{:e},{}", energy.seconds, energy.total_watts());
            Component::ALL.iter().for_each(|&c| out += &format!(",{}", energy.watts(c)));
            out.push('\n');
        }
        out
    }
}
