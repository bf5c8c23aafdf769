//! Accel-Sim's cycles for traces, and ours beside them.
//!
//! A reference folder holds `accelsim_cycles.csv`, a row for each trace and configuration that
//! Accel-Sim was run with, and `accelsim_configs/<name>/{gpgpusim,trace}.config`.

mod traces;

use config::import::Import;
use serde::Serialize;
use std::path::{Path, PathBuf};
pub use traces::Traces;

/// Options that Accel-Sim's Volta configurations lack for later machine code.
const UNIFORM_UNIT: &str = "\n-specialized_unit_4 1,4,4,4,4,UDP\n-trace_opcode_latency_initiation_spec_op_4 4,1\n";

/// The table's file name.
const TABLE: &str = "accelsim_cycles.csv";
/// First line of the file of figures.
const COLUMNS: &str = "trace,accelsim_config,total_cycles,kernels,warp_instructions,thread_instructions,\
                       host_wall_seconds_best_quiet,host_rss_mib,cycles_per_kernel";

/// Accel-Sim's result for a trace on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccelSimRow {
    /// Name of the trace.
    pub trace: String,
    /// Name of Accel-Sim's configuration.
    pub config: String,
    /// Cycles, launch latencies included.
    pub cycles: u64,
    /// Instructions issued by warps.
    pub warp_instructions: u64,
    /// Instructions executed by threads.
    pub thread_instructions: u64,
    /// Its run time, in seconds.
    pub seconds: f64,
    /// Its memory, in MiB.
    pub memory_mib: f64,
    /// Cycles of each kernel.
    pub kernel_cycles: Vec<u64>,
}

/// Accel-Sim's figures for a trace with a configuration.
#[derive(Clone, Debug)]
pub struct Reference {
    folder: PathBuf,
    /// In the order of the file.
    pub rows: Vec<AccelSimRow>,
}

impl Reference {
    /// Reads the table in `folder`.
    ///
    /// # Errors
    /// The mistake, and its line.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let path = folder.join(TABLE);
        let text = kit::files::read_text(&path).map_err(|e| format!("`{}` cannot be read: {e}", path.display()))?;
        let at = |line: usize, what: &str| format!("{}:{line}: {what}", path.display());
        let mut lines = text.lines().zip(1..);
        if lines.next().is_none_or(|(head, _)| head.trim() != COLUMNS) {
            return Err(at(1, &format!("the columns must be {COLUMNS}")));
        }
        let rows = lines.filter(|(text, _)| !text.trim().is_empty());
        let rows = rows.map(|(text, line)| row(text).ok_or_else(|| at(line, "must be a row of figures")));
        Ok(Self { folder: folder.to_owned(), rows: rows.collect::<Result<_, _>>()? })
    }

    /// The GPU of a configuration of Accel-Sim's.
    ///
    /// # Errors
    /// Its files cannot be read or describe no GPU.
    pub fn gpu(&self, config: &str) -> Result<Import, String> {
        let folder = self.folder.join("accelsim_configs").join(config);
        let read = |file: &str| {
            let path = folder.join(file);
            kit::files::read_text(&path).map_err(|e| format!("`{}` cannot be read: {e}", path.display()))
        };
        let (mut gpgpusim, trace) = (read("gpgpusim.config")?, read("trace.config")?);
        if !gpgpusim.lines().any(|l| l.trim_start().starts_with("-specialized_unit_4")) {
            gpgpusim.push_str(UNIFORM_UNIT);
        }
        let mut import = config::import_accelsim(&gpgpusim, &trace).map_err(|e| format!("{config}: {e}"))?;
        import.config.name = config.to_owned();
        Ok(import)
    }
}

fn row(text: &str) -> Option<AccelSimRow> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [trace, config, cycles, kernels, warp, thread, seconds, memory, each] = fields[..] else { return None };
    let kernel_cycles: Vec<u64> = each.split_whitespace().map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let row = AccelSimRow {
        trace: trace.to_owned(),
        config: config.to_owned(),
        cycles: cycles.parse().ok()?,
        warp_instructions: warp.parse().ok()?,
        thread_instructions: thread.parse().ok()?,
        seconds: seconds.parse().ok()?,
        memory_mib: memory.parse().ok()?,
        kernel_cycles,
    };
    let whole = row.kernel_cycles.len() == kernels.parse::<usize>().ok()? && row.cycles > 0 && row.seconds > 0.0;
    whole.then_some(row)
}

/// Our result for a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// Cycles, launch latencies included.
    pub cycles: u64,
    /// Instructions issued by warps.
    pub warp_instructions: u64,
    /// Instructions executed by threads.
    pub thread_instructions: u64,
    /// Run time, in seconds.
    pub seconds: f64,
    /// Maximum memory held, in MiB, where the system reports it.
    pub memory_mib: Option<f64>,
    /// Name and cycles of each kernel.
    pub kernels: Vec<(String, u64)>,
}

impl Ours {
    /// The figures of a run whose report is `report`, that took `seconds`.
    ///
    /// # Errors
    /// If the report is not complete.
    pub fn of_report(report: &serde_json::Value, seconds: f64) -> Result<Self, String> {
        let count = |stats: &serde_json::Value, name: &str| {
            stats[name].as_u64().ok_or_else(|| format!("the report has no `{name}`"))
        };
        if report["interrupted"] == true {
            return Err("the run was broken off".into());
        }
        let kernel = |k: &serde_json::Value| {
            Ok((k["name"].as_str().unwrap_or_default().to_owned(), count(&k["statistics"], "total_cycles")?))
        };
        let total = &report["total"];
        Ok(Self {
            cycles: count(total, "total_cycles")?,
            warp_instructions: count(total, "warp_instructions")?,
            thread_instructions: count(total, "thread_instructions")?,
            seconds,
            memory_mib: report["host"]["peak_memory_bytes"].as_u64().map(|bytes| bytes as f64 / f64::from(1 << 20)),
            kernels: report["kernels"].as_array().into_iter().flatten().map(kernel).collect::<Result<_, String>>()?,
        })
    }
}

/// A trace on a GPU, in Accel-Sim and here.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Compared {
    pub accelsim: AccelSimRow,
    pub ours: Ours,
    /// Deviation of our cycles from Accel-Sim's, in percent.
    pub deviation_percent: f64,
    /// Whether both executed the same number of instructions, by warps and by threads.
    pub same_instructions: bool,
    /// Accel-Sim's run time over ours.
    pub speed_ratio: f64,
}

impl Compared {
    /// Compares the two.
    pub fn new(accelsim: AccelSimRow, ours: Ours) -> Self {
        Self {
            deviation_percent: deviation_percent(ours.cycles, accelsim.cycles),
            same_instructions: ours.warp_instructions == accelsim.warp_instructions
                && ours.thread_instructions == accelsim.thread_instructions,
            speed_ratio: accelsim.seconds / ours.seconds,
            accelsim,
            ours,
        }
    }

    /// Name, Accel-Sim's cycles and ours of each kernel.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.ours
            .kernels
            .iter()
            .zip(&self.accelsim.kernel_cycles)
            .map(|((name, ours), &theirs)| (name.as_str(), theirs, *ours))
    }
}

/// How far `ours` is from `theirs`, in percent.
pub fn deviation_percent(ours: u64, theirs: u64) -> f64 {
    (ours as f64 / theirs as f64 - 1.0) * 100.0
}

/// Means and extremes over rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Summary {
    pub rows: usize,
    /// Mean of the magnitudes of the deviations, in percent.
    pub mean_deviation_percent: f64,
    /// The greatest magnitude, in percent.
    pub greatest_deviation_percent: f64,
    pub least_speed_ratio: f64,
    /// Geometric mean of the speed ratios.
    pub mean_speed_ratio: f64,
    /// Whether every row takes less memory than in Accel-Sim; absent where that is not known.
    pub less_memory: Option<bool>,
}

impl Summary {
    /// The summary of `rows`; `None` without any.
    pub fn of(rows: &[Compared]) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let count = rows.len() as f64;
        let deviations = || rows.iter().map(|r| r.deviation_percent.abs());
        let less = |r: &Compared| r.ours.memory_mib.map(|ours| ours < r.accelsim.memory_mib);
        let known: Option<Vec<bool>> = rows.iter().map(less).collect();
        Some(Self {
            rows: rows.len(),
            mean_deviation_percent: deviations().sum::<f64>() / count,
            greatest_deviation_percent: deviations().fold(0.0, f64::max),
            least_speed_ratio: rows.iter().map(|r| r.speed_ratio).fold(f64::INFINITY, f64::min),
            mean_speed_ratio: (rows.iter().map(|r| r.speed_ratio.ln()).sum::<f64>() / count).exp(),
            less_memory: known.map(|all| all.into_iter().all(|less| less)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(rows: &str) -> Result<Reference, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(TABLE), format!("{COLUMNS}\n{rows}")).unwrap();
        Reference::open(folder.path())
    }

    #[test]
    fn damage_in_tables_is_reported_by_line() {
        let good = "t,SM7,100,2,5,160,1.5,300,60 40";
        assert_eq!(reference(good).unwrap().rows[0].kernel_cycles, [60, 40]);
        for bad in ["t,SM7,100,2,5,160,1.5,300,60", "t,SM7,100", "t,SM7,x,1,5,160,1.5,300,60", "t,c,0,1,5,5,1,3,0"] {
            let error = reference(&format!("{good}\n{bad}\n")).unwrap_err();
            assert!(error.contains("accelsim_cycles.csv:3: must be"), "{bad}: {error}");
        }
        assert!(Reference::open(Path::new("/nowhere")).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn rows_are_compared_and_summed_up() {
        let row = reference("t,SM7,100,2,5,160,1.5,300,60 40").unwrap().rows.remove(0);
        let ours = |cycles, seconds| Ours {
            cycles,
            warp_instructions: 5,
            thread_instructions: 160,
            seconds,
            memory_mib: Some(20.0),
            kernels: vec![("a".into(), 60), ("b".into(), cycles - 60)],
        };
        let near = Compared::new(row.clone(), ours(101, 0.015));
        let far = Compared::new(row, ours(90, 0.06));
        assert!((near.deviation_percent - 1.0).abs() < 1e-9 && near.same_instructions);
        assert_eq!(far.kernels().collect::<Vec<_>>(), [("a", 60, 60), ("b", 40, 30)]);
        let summary = Summary::of(&[near, far]).unwrap();
        assert!((summary.mean_deviation_percent - 5.5).abs() < 1e-9);
        assert!((summary.greatest_deviation_percent - 10.0).abs() < 1e-9);
        assert!((summary.least_speed_ratio - 25.0).abs() < 1e-9 && (summary.mean_speed_ratio - 50.0).abs() < 1e-9);
        assert_eq!(summary.less_memory, Some(true));
        assert_eq!(Summary::of(&[]), None);
    }
}
