//! Statistics: rows of a report, each with a name, a unit and a description.

use config::GpuConfig;
use kit::{CounterGroup, Cycle};
use mem::cache::CacheCounters;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// A text that is mostly part of the program, and copied only where it is made of parts.
pub type Text = Cow<'static, str>;

/// Meaning of one statistic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatInfo {
    /// Unique name, dotted by part: `cycles`, `slots.raw`, `l2.read_hits`.
    pub name: Text,
    /// Unit: `cycles`, `warp instructions`, `%`, `GB/s` …
    pub unit: &'static str,
    /// One sentence for a reader of the report.
    pub description: Text,
}

/// The value of one statistic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum Value {
    Count(u64),
    /// A ratio or rate; absent where its denominator is zero.
    Real(Option<f64>),
}

impl Value {
    /// `numerator / denominator x scale`, absent where the denominator is zero.
    pub fn ratio(numerator: u64, denominator: u64, scale: f64) -> Self {
        Value::Real((denominator != 0).then(|| numerator as f64 / denominator as f64 * scale))
    }

    /// As a number; `None` where it is absent.
    pub fn number(self) -> Option<f64> {
        match self {
            Value::Count(n) => Some(n as f64),
            Value::Real(r) => r,
        }
    }
}

/// The statistics of a kernel or of a run, in the order of the schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats(pub Vec<(Arc<StatInfo>, Value)>);

impl Stats {
    /// The statistic called `name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.0.iter().find(|(info, _)| info.name == name).map(|&(_, value)| value)
    }

    /// The statistic called `name` as a number, 0 where it is absent.
    pub fn number(&self, name: &str) -> f64 {
        self.get(name).and_then(Value::number).unwrap_or(0.0)
    }
}

impl Serialize for Stats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (info, value) in &self.0 {
            map.serialize_entry(&info.name, value)?;
        }
        map.end()
    }
}

/// The time that statistics are about.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Period<'a> {
    /// Core cycles in which a kernel ran that was past its launch latency.
    pub kernel_cycles: Cycle,
    pub gpu: &'a GpuConfig,
}

/// Counts of cores that execute warps for the summary of a run; all added up over cores.
#[derive(Clone, Copy, Debug)]
pub struct WarpWork {
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Thread instructions.
    pub thread_instructions: u64,
    /// Resident warps, added up over cycles.
    pub warp_cycles: u64,
    /// Cycles in which a core had a warp.
    pub active_cycles: u64,
}

/// Collects statistics in the order of the schema.
#[derive(Clone, Debug, Default)]
pub struct Table(pub Stats);

impl Table {
    /// Adds a statistic after those that the table has.
    pub fn put(&mut self, name: impl Into<Text>, unit: &'static str, description: impl Into<Text>, value: Value) {
        let info = StatInfo { name: name.into(), unit, description: description.into() };
        self.0.0.push((info.into(), value));
    }

    /// Adds a statistic that is a count.
    pub fn count(&mut self, name: impl Into<Text>, unit: &'static str, description: impl Into<Text>, value: u64) {
        self.put(name, unit, description, Value::Count(value));
    }

    /// Adds all counters of a group, each name after `part` and a dot.
    pub fn group<C: CounterGroup>(&mut self, part: &str, counters: &C) {
        for (info, value) in C::SCHEMA.iter().zip(counters.values()) {
            self.put([part, ".", info.name].concat(), info.unit, info.description, Value::Count(value));
        }
    }

    /// Adds the summary of `work`: instructions, their rate, occupancy.
    pub fn warp_work(&mut self, Period { kernel_cycles: cycles, gpu }: Period<'_>, work: WarpWork) {
        let WarpWork { warp_instructions: warp, thread_instructions: thread, warp_cycles, active_cycles } = work;
        self.count("warp_instructions", "warp instructions", "Instructions issued by warps.", warp);
        self.count("thread_instructions", "thread instructions", "Instructions executed by threads.", thread);
        self.put(
            "ipc",
            "thread instructions/cycle",
            "Thread instructions per core cycle of kernels.",
            Value::ratio(thread, cycles, 1.0),
        );
        self.put(
            "warp_ipc",
            "warp instructions/cycle",
            "Warp instructions per core cycle of kernels.",
            Value::ratio(warp, cycles, 1.0),
        );
        self.put(
            "lane_use",
            "%",
            "Lanes active in issued instructions: what divergence and guards leave.",
            Value::ratio(thread, warp * kit::WARP_LANES as u64, 100.0),
        );
        let slots = u64::from(gpu.sm.max_warps);
        self.put(
            "occupancy.achieved",
            "%",
            "Resident warps as a share of warp slots, mean over the cycles in which an SM had any.",
            Value::ratio(warp_cycles, active_cycles * slots, 100.0),
        );
        self.put(
            "occupancy.sm_activity",
            "%",
            "Cycles in which an SM had a warp, as a share of the kernels' cycles of all SMs.",
            Value::ratio(active_cycles, cycles * u64::from(gpu.sm_count), 100.0),
        );
    }

    /// Adds a cache's counters and hit rate.
    pub fn cache(&mut self, part: &str, c: &CacheCounters) {
        let hits = c.read_hits + c.write_hits;
        let accesses = c.accesses();
        self.count(format!("{part}.accesses"), "requests", "Reads and writes.", accesses);
        self.put(
            format!("{part}.hit_rate"),
            "%",
            "Reads and writes that found their data, as a share of all.",
            Value::ratio(hits, accesses, 100.0),
        );
        self.group(part, c);
    }
}
