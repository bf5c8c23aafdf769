//! Applications on a real GPU beside our runs of the same programs: `docs/hardware-applications.toml`, which comes
//! with the program. Measured and published figures judge the model; they are never an input.

use energy::accelwattch::mean_error_percent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Deviation in percent from which a run is an outlier, which needs a cause.
pub const OUTLIER_PERCENT: f64 = 25.0;
/// Suite of programs that measure one property of a GPU each, and are in no figure over applications.
pub const MICROBENCHMARKS: &str = "microbenchmarks";

/// Figures of applications, by run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applications {
    /// The hardware, and whose figures they are.
    pub published: Published,
    /// Runs that show whether the model has moved since our figures were taken.
    #[serde(default)]
    pub sample: Sample,
    /// How our figures were taken, by GPU description.
    #[serde(default)]
    pub measured: BTreeMap<String, Measured>,
    /// Runs, suite by suite.
    #[serde(rename = "run")]
    pub runs: Vec<Run>,
}

/// Hardware that was measured.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Published {
    pub gpu: String,
    pub clock_mhz: f64,
    /// Profiler that counted the cycles, as `--profiled-as` names it.
    pub profiler: String,
    /// Core cycles of an empty kernel as the profiler counts them, which Accel-Sim has as the latency of a launch.
    pub launch_cycles: u64,
    pub launch_source: String,
    pub source: String,
}

/// Runs of bundled workloads whose cycles are stored with our figures. A test repeats them: where they differ, the
/// figures are of an older model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Names of the workloads, at size small.
    pub workloads: Vec<String>,
}

/// The build that our figures are of.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Measured {
    /// Core design.
    pub core: String,
    /// Profiler whose way of running kernels was imitated (`--profiled-as`).
    pub profiled_as: String,
    /// Core cycles of a launch in our runs, before its first CTA.
    pub launch_cycles: u64,
    pub version: String,
    pub commit: String,
    /// Day of the last run, as `2026-11-23`.
    pub date: String,
    /// Cycles of the [`Sample`] in that build.
    #[serde(default)]
    pub sample: BTreeMap<String, u64>,
}

/// Where the input of a run is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The program makes its own.
    None,
    /// The suite's own file.
    Original,
    /// Made as the suite's generator makes it, from another seed.
    Generator,
    /// A smaller original file, expanded as the suite does it.
    Expanded,
    /// Random values in the same format and size: programs whose course depends on data compare only roughly.
    Shape,
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Suite, for people.
    pub suite: String,
    /// Name of the executable in Accel-Sim's collection.
    pub program: String,
    /// Its command line.
    pub arguments: String,
    /// Where its input is from.
    pub input: Input,
    /// Core cycles of all launches on the hardware, each from the start of its launch.
    pub hardware: u64,
    /// Accel-Sim's published cycles.
    pub accelsim: u64,
    /// GPGPU-Sim 3's published cycles.
    pub gpgpusim: u64,
    /// Why there is no figure of ours.
    pub left_out: Option<String>,
    /// Warp instructions that our run executes.
    pub warp_instructions: Option<u64>,
    /// Launches of kernels.
    #[serde(default)]
    pub launches: u64,
    /// Our core cycles of all kernels without launch latencies, by GPU description.
    #[serde(default)]
    pub cycles: BTreeMap<String, u64>,
    /// Commit of our cycles where the model has moved since, by GPU description.
    #[serde(default)]
    pub older: BTreeMap<String, String>,
    /// Why our cycles are beyond [`OUTLIER_PERCENT`], by GPU description.
    #[serde(default)]
    pub cause: BTreeMap<String, String>,
}

impl Run {
    /// Short name: the program without the suite's name, or the kernel that it is asked for, and what distinguishes its
    /// input.
    pub fn name(&self) -> String {
        let program = self.program.trim_start_matches("parboil-").trim_start_matches("polybench-");
        let program = program.trim_end_matches("-rodinia-3.1");
        let kernel = self.arguments.split_whitespace().find_map(|argument| argument.strip_prefix("--kernels="));
        let program = kernel.unwrap_or(program);
        let input: Vec<&str> = self.arguments.split_whitespace().filter_map(telling).take(3).collect();
        if input.is_empty() { program.to_owned() } else { format!("{program} {}", input.join(" ")) }
    }
}

/// The part of an argument that distinguishes one run of a program from another.
fn telling(argument: &str) -> Option<&str> {
    if let Some((key, value)) = argument.split_once('=') {
        return ["--m", "--n"].contains(&key).then_some(value);
    }
    let first = argument.split(',').next().unwrap_or(argument);
    let file = first.rsplit('/').next().unwrap_or(first);
    (file.starts_with(|c: char| c.is_ascii_digit()) || first.starts_with("./data/")).then_some(file)
}

/// A run of ours beside the hardware's and Accel-Sim's.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct ApplicationRow {
    pub suite: String,
    pub name: String,
    pub input: Input,
    pub hardware: u64,
    /// As the profiler counts: with launches.
    pub ours: u64,
    pub accelsim: u64,
    /// Ours without launches.
    pub kernels: u64,
    /// Cycles of as many empty kernels as there are launches, which are taken from all figures for those without
    /// launches.
    pub launching: u64,
    pub error_percent: f64,
    pub accelsim_error_percent: f64,
    /// Deviation of our kernels from the hardware's without launches; none where launches take all of the hardware's
    /// cycles.
    pub kernels_error_percent: Option<f64>,
    /// Commit of our cycles where the model has moved since.
    pub older: Option<String>,
    /// Why ours is an outlier; none if it is not, or if nobody has found it yet.
    pub cause: Option<String>,
}

impl ApplicationRow {
    /// Whether our cycles are beyond [`OUTLIER_PERCENT`].
    pub fn is_outlier(&self) -> bool {
        self.error_percent.abs() > OUTLIER_PERCENT
    }

    /// Whether it is a program for its own sake, not a microbenchmark.
    pub fn is_application(&self) -> bool {
        self.suite != MICROBENCHMARKS
    }
}

/// Agreement of the cycles of some runs with the hardware's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Runs that it is over.
    pub runs: usize,
    /// Mean of the absolute deviations, in percent.
    pub mean_error_percent: f64,
    /// Their median.
    pub median_error_percent: f64,
    /// Nine tenths of them are at most this.
    pub p90_error_percent: f64,
    /// Mean of the deviations with their signs: negative if the simulated runs are too fast.
    pub signed_mean_percent: f64,
    /// Pearson's correlation of the cycles; none of fewer than two different values.
    pub correlation: Option<f64>,
    /// The same of the logarithms of the cycles, in which the longest runs do not count for all.
    pub log_correlation: Option<f64>,
}

impl Agreement {
    /// The agreement of pairs of simulated and measured cycles.
    pub fn of(pairs: &[(f64, f64)]) -> Self {
        let mut off: Vec<f64> =
            pairs.iter().map(|(simulated, measured)| (simulated / measured - 1.0) * 100.0).collect();
        let signed_mean_percent = off.iter().sum::<f64>() / off.len().max(1) as f64;
        off.iter_mut().for_each(|error| *error = error.abs());
        off.sort_by(f64::total_cmp);
        let logs: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (a.ln(), b.ln())).collect();
        Self {
            runs: pairs.len(),
            mean_error_percent: mean_error_percent(pairs.iter().copied()),
            median_error_percent: quantile(&off, 0.5),
            p90_error_percent: quantile(&off, 0.9),
            signed_mean_percent,
            correlation: correlation(pairs),
            log_correlation: correlation(&logs),
        }
    }
}

/// The value that a part of `sorted` is at most, between two by their distance; 0 of none.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * sorted.len().saturating_sub(1) as f64;
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    let (below, above) = (at(place.floor() as usize), at(place.ceil() as usize));
    below + (above - below) * place.fract()
}

/// Pearson's correlation coefficient; none if either side is constant.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let moment = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let spread = moment(&|p| (p.0 - x).powi(2)) * moment(&|p| (p.1 - y).powi(2));
    (spread > 0.0).then(|| moment(&|p| (p.0 - x) * (p.1 - y)) / spread.sqrt())
}

/// Our agreement and Accel-Sim's over the same rows, with launches or without.
pub fn agreement<'a>(
    rows: impl IntoIterator<Item = &'a ApplicationRow>,
    with_launches: bool,
) -> (Agreement, Agreement) {
    let pair = |row: &'a ApplicationRow| {
        let (ours, launching) = if with_launches { (row.ours, 0) } else { (row.kernels, row.launching) };
        let [hardware, accelsim] = [row.hardware, row.accelsim].map(|cycles| cycles.saturating_sub(launching) as f64);
        ((ours as f64, hardware), (accelsim, hardware))
    };
    let rows = rows.into_iter().filter(|row| with_launches || row.kernels_error_percent.is_some());
    let (ours, accelsim): (Vec<_>, Vec<_>) = rows.map(pair).unzip();
    (Agreement::of(&ours), Agreement::of(&accelsim))
}

impl Applications {
    /// Reads a file of figures.
    ///
    /// # Errors
    /// The mistake, and its place.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|e| e.to_string())
    }

    /// The runs that have a figure of ours on the GPU description `gpu`.
    pub fn rows(&self, gpu: &str) -> Vec<ApplicationRow> {
        let launch_cycles = self.measured.get(gpu).map_or(0, |measured| measured.launch_cycles);
        let row = |run: &Run| {
            let ours = *run.cycles.get(gpu)? + run.launches * launch_cycles;
            let launching = run.launches * self.published.launch_cycles;
            let kernels = ours.saturating_sub(launching);
            let of_hardware = run.hardware.checked_sub(launching).filter(|&cycles| cycles > 0);
            let off = |cycles: u64| (cycles as f64 / run.hardware as f64 - 1.0) * 100.0;
            Some(ApplicationRow {
                suite: run.suite.clone(),
                name: run.name(),
                input: run.input,
                hardware: run.hardware,
                ours,
                accelsim: run.accelsim,
                kernels,
                launching,
                error_percent: off(ours),
                accelsim_error_percent: off(run.accelsim),
                kernels_error_percent: of_hardware.map(|cycles| (kernels as f64 / cycles as f64 - 1.0) * 100.0),
                older: run.older.get(gpu).cloned(),
                cause: run.cause.get(gpu).cloned(),
            })
        };
        self.runs.iter().filter_map(row).collect()
    }
}

const TEXT: &str = include_str!("../../../docs/hardware-applications.toml");
// A test reads the same text, so that it cannot be wrong here.
static FILE: LazyLock<Applications> = LazyLock::new(|| Applications::parse(TEXT).unwrap_or_default());

/// The figures of `docs/hardware-applications.toml`.
pub fn applications() -> &'static Applications {
    &FILE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded() -> Applications {
        Applications::parse(TEXT).unwrap()
    }

    #[test]
    fn the_figures_load_and_no_two_runs_have_one_name() {
        let file = loaded();
        assert_eq!(file.runs.len(), 79, "runs that were published");
        let mut names: Vec<(&str, String)> = file.runs.iter().map(|run| (run.suite.as_str(), run.name())).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 79);
    }

    #[test]
    fn each_run_has_cycles_or_says_why_not() {
        let file = loaded();
        for run in &file.runs {
            assert_ne!(run.cycles.is_empty(), run.left_out.is_none(), "{}", run.name());
            assert_eq!(run.cycles.is_empty(), run.launches == 0, "{}", run.name());
            for gpu in run.cycles.keys().chain(run.cause.keys()) {
                assert!(file.measured.contains_key(gpu), "{}: {gpu} has no entry in [measured]", run.name());
            }
            assert!(run.older.keys().all(|gpu| run.cycles.contains_key(gpu)), "{}: older without cycles", run.name());
        }
    }

    #[test]
    fn all_figures_are_counted_as_the_hardware_s() {
        let file = loaded();
        for (gpu, measured) in &file.measured {
            assert_eq!(measured.profiled_as, file.published.profiler, "{gpu}");
            let launch = config::load(gpu).unwrap().launch;
            assert_eq!(
                launch.profiled_cycles.map_or(measured.launch_cycles, u64::from),
                measured.launch_cycles,
                "{gpu}"
            );
            if config::hardware().any(|name| name == gpu) {
                assert_eq!(launch.profiler, Some(config::Profiler::Nvprof), "{gpu} is usually counted so");
            }
            let sampled: Vec<&String> = measured.sample.keys().collect();
            let mut workloads: Vec<&String> = file.sample.workloads.iter().collect();
            workloads.sort();
            assert_eq!(sampled, workloads, "{gpu}");
        }
    }

    #[test]
    fn each_outlier_has_a_cause_and_nothing_else_has() {
        let file = loaded();
        assert!(!file.measured.is_empty());
        for gpu in file.measured.keys() {
            for row in file.rows(gpu) {
                let has = row.cause.as_deref().is_some_and(|cause| cause.len() > 10);
                assert_eq!(row.is_outlier(), has, "{} on {gpu}: {:+.1} %", row.name, row.error_percent);
            }
        }
    }

    #[test]
    fn accelsim_s_published_error_is_that_of_its_figures() {
        // 15.05 % over all 79 runs, as its own table has it.
        let pairs: Vec<(f64, f64)> = loaded().runs.iter().map(|r| (r.accelsim as f64, r.hardware as f64)).collect();
        assert!((Agreement::of(&pairs).mean_error_percent - 15.05).abs() < 0.01);
    }

    #[test]
    fn agreement_in_closed_form() {
        // Deviations of +10, -20, 0 and +30 %.
        let found = Agreement::of(&[(110.0, 100.0), (80.0, 100.0), (200.0, 200.0), (260.0, 200.0)]);
        assert!((found.mean_error_percent - 15.0).abs() < 1e-9);
        // Of 0, 10, 20 and 30: between the second and the third, and a tenth of the way past the third and 0.6 more.
        assert!((found.median_error_percent - 15.0).abs() < 1e-9);
        assert!((found.p90_error_percent - 27.0).abs() < 1e-9);
        assert!((found.signed_mean_percent - 5.0).abs() < 1e-9);
        // About the means 162.5 and 150: sum of products 13,500, sums of squares 20,475 and 10,000.
        let expected = 13_500.0 / (20_475.0_f64 * 10_000.0).sqrt();
        assert!((found.correlation.unwrap() - expected).abs() < 1e-9, "{:?} {expected}", found.correlation);
        // A power law is a line in logarithms only.
        let cubes = Agreement::of(&[(1.0, 1.0), (8.0, 2.0), (27.0, 3.0), (64.0, 4.0)]);
        assert!((cubes.log_correlation.unwrap() - 1.0).abs() < 1e-12 && cubes.correlation.unwrap() < 0.96);
        assert_eq!(Agreement::of(&[(1.0, 2.0), (3.0, 2.0)]).correlation, None, "one side is constant");
        assert_eq!(Agreement::of(&[]).runs, 0);
    }

    #[test]
    fn names_are_short_and_say_the_input() {
        let run = |program: &str, arguments: &str| Run {
            program: program.into(),
            arguments: arguments.into(),
            ..loaded().runs[0].clone()
        };
        let name = |program, arguments| run(program, arguments).name();
        assert_eq!(name("bfs-rodinia-3.1", "./data/graph65536.txt"), "bfs graph65536.txt");
        assert_eq!(name("polybench-2mm", ""), "2mm");
        assert_eq!(name("vectorAdd", "--size 6000000"), "vectorAdd 6000000");
        assert_eq!(name("cutlass_perf_test", "--seed=2 --m=1 --n=16 --k=1 --kernels=sgemm_nn"), "sgemm_nn 1 16");
        assert_eq!(
            name("parboil-sad", "-i ./data/default/input/reference.bin,./data/x -o out.bin"),
            "sad reference.bin"
        );
    }
}
