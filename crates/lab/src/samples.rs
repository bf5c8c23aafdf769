//! Statistics over time: of each interval of a run.

use crate::packed::Values;
use crate::power::PowerSeries;
use config::GpuConfig;
use energy::Component;
use gpu::{AnySnapshot, StatInfo, Value};
use std::io::{Result, Write};
use std::sync::Arc;

/// Every statistic except energy, in intervals of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleSeries {
    /// The statistics: the columns.
    pub columns: Vec<Arc<StatInfo>>,
    /// The intervals in order, without gaps.
    pub rows: Vec<Sample>,
}

/// A run over time in some hundreds of intervals, however long it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// Statistics.
    pub samples: SampleSeries,
    /// Power, if there is a model of energy.
    pub power: Option<PowerSeries>,
}

/// An interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its first core cycle.
    pub start_cycle: u64,
    /// The core cycle after its last.
    pub end_cycle: u64,
    /// Counts of the interval, by column.
    pub values: Values,
}

impl SampleSeries {
    /// Adds what was counted in the next interval on a GPU like `gpu`.
    pub(crate) fn add(&mut self, counted: &AnySnapshot, gpu: &GpuConfig) {
        let start_cycle = self.rows.last().map_or(0, |last| last.end_cycle);
        let mut statistics = counted.statistics(counted.launch.cycles, gpu, None).0;
        // Power over time has them.
        statistics.retain(|(info, _)| !info.name.starts_with("energy.") && !info.name.starts_with("power."));
        if self.columns.is_empty() {
            self.columns = statistics.iter().map(|(info, _)| info.clone()).collect();
        }
        let values = statistics.into_iter().map(|(_, value)| value).collect();
        self.rows.push(Sample { start_cycle, end_cycle: start_cycle + counted.cycles, values });
    }

    /// Writes a table: a line for each interval, a column for each statistic, then watts by component if `power` has
    /// the same intervals. Unknown values are empty.
    ///
    /// # Errors
    /// Errors of `out`, which is written a line at a time.
    pub fn write_csv(&self, power: Option<&PowerSeries>, out: &mut dyn Write) -> Result<()> {
        let power = power.filter(|power| power.intervals.len() == self.rows.len());
        write!(out, "start_cycle,end_cycle")?;
        self.columns.iter().try_for_each(|info| write!(out, ",{}", info.name))?;
        if power.is_some() {
            Component::ALL.iter().try_for_each(|component| write!(out, ",power.{}", component.name()))?;
        }
        writeln!(out)?;
        for (at, Sample { start_cycle, end_cycle, values }) in self.rows.iter().enumerate() {
            write!(out, "{start_cycle},{end_cycle}")?;
            for value in values.iter() {
                match value {
                    Value::Count(n) => write!(out, ",{n}")?,
                    Value::Real(Some(x)) => write!(out, ",{x}")?,
                    Value::Real(None) => write!(out, ",")?,
                }
            }
            if let Some(power) = power {
                let energy = &power.intervals[at].energy;
                Component::ALL.iter().try_for_each(|&component| write!(out, ",{}", energy.watts(component)))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
