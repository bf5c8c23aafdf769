//! Programs of a table of hardware's figures, run through `exec`. Where the figures are cycles, they run as under the
//! profiler that counted them.

use crate::failure::Failure;
use request::Way;
use request::options::words;
use serde::Deserialize;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Executables by their names, and their input files.
#[derive(Debug)]
pub struct Programs {
    folder: PathBuf,
    data: PathBuf,
    /// Folder for the files that programs write.
    scratch: TempDir,
}

/// The simulated GPU, and how programs run on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine<'a> {
    pub gpu: &'a str,
    /// Core design; the description's own if none is given.
    pub core: Option<&'a str>,
    /// Profiler that runs are imitated of.
    pub profiled_as: Option<&'a str>,
    /// Part of the run that is simulated in time; all if none is given.
    pub time: Option<&'a str>,
    /// Coefficients; the description's own if none are given.
    pub energy_model: Option<&'a str>,
}

/// A launch that was simulated in time.
#[derive(Debug, Default)]
pub struct Launch {
    pub name: String,
    /// Cycles without launch latency.
    pub cycles: u64,
    /// Cycles and time with launch latency.
    pub total_cycles: f64,
    pub total_micros: f64,
    /// Energy; 0 without coefficients.
    pub joules: f64,
}

/// A run of a program.
#[derive(Debug)]
pub struct Ran {
    pub launches: Vec<Launch>,
    /// Cycles of all launches before their first CTAs.
    pub launching: u64,
    pub core: String,
}

impl Ran {
    /// Cycles of all kernels without launches.
    pub fn cycles(&self) -> u64 {
        self.launches.iter().map(|launch| launch.cycles).sum()
    }

    /// Cycles of each launch before its first CTA.
    pub fn launch_cycles(&self) -> u64 {
        self.launching / (self.launches.len() as u64).max(1)
    }
}

#[derive(Deserialize)]
struct Report {
    devices: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    core: String,
    kernels: Vec<Kernel>,
    total: Total,
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
    statistics: KernelStatistics,
}

#[derive(Deserialize)]
struct KernelStatistics {
    cycles: f64,
    total_cycles: f64,
    total_time: f64,
    #[serde(rename = "energy.total")]
    energy: Option<f64>,
}

#[derive(Deserialize)]
struct Total {
    launch_cycles: f64,
}

impl Programs {
    /// The programs in `folder`; `data` has their input files, `folder/data` if none is given.
    pub fn new(folder: &Path, data: Option<&Path>) -> Result<Self, Failure> {
        let absolute = |path: &Path| {
            path.canonicalize()
                .map_err(|e| Failure::bad_input(format!("cannot use the folder `{}`: {e}", path.display())))
        };
        let folder = absolute(folder)?;
        let data = data.map_or_else(|| Ok(folder.join("data")), absolute)?;
        let failed = |e| Failure::failed(format!("a temporary folder cannot be made: {e}"));
        Ok(Self { folder, data, scratch: tempfile::tempdir().map_err(failed)? })
    }

    /// Whether there is a file of this name.
    pub fn has(&self, program: &str) -> bool {
        self.folder.join(program).is_file()
    }

    /// Runs a program in an empty folder. It finds its input files as `./data`, `../../data` and `../../../data`, as
    /// the suites have them.
    pub fn run(&self, program: &str, arguments: &str, machine: Machine<'_>) -> Result<Ran, String> {
        let inputs = arguments.split([' ', '\t', ',']).filter_map(|word| word.strip_prefix("./data/"));
        if let Some(absent) = inputs.into_iter().find(|name| !self.data.join(name).exists()) {
            return Err(format!("there is no file `{}`", self.data.join(absent).display()));
        }
        self.executed(program, arguments, machine).map_err(|e| format!("it cannot be run: {e}"))?
    }

    fn executed(&self, program: &str, arguments: &str, machine: Machine<'_>) -> std::io::Result<Result<Ran, String>> {
        let root = tempfile::tempdir_in(self.scratch.path())?;
        let place = root.path().join("run/programs/one");
        fs::create_dir_all(&place)?;
        for link in [place.join("data"), root.path().join("run/data"), root.path().join("data")] {
            symlink(&self.data, link)?;
        }
        let report = root.path().join("report.json");
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("exec").args(words(Way::Exec, [("quiet", "1".into()), ("json", report.clone().into())]));
        let given = [
            ("gpu", Some(machine.gpu)),
            ("core", machine.core),
            ("profiled_as", machine.profiled_as),
            ("time", machine.time),
            ("energy_model", machine.energy_model),
        ];
        for (name, value) in given {
            command.args(value.into_iter().flat_map(|value| words(Way::Exec, [(name, value.into())])));
        }
        command.arg("--").arg(self.folder.join(program)).args(arguments.split_whitespace());
        let ended = command.current_dir(&place).stdin(Stdio::null()).stdout(Stdio::null()).output()?;
        let Ok(text) = fs::read_to_string(&report) else {
            let said = String::from_utf8_lossy(&ended.stderr);
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            return Ok(Err(format!("no report, {}: {}", ended.status, kit::text::excerpt(last))));
        };
        Ok(ran(&text))
    }
}

/// The run of a report.
fn ran(report: &str) -> Result<Ran, String> {
    let report: Report = serde_json::from_str(report).map_err(|e| format!("its report cannot be read: {e}"))?;
    let launching = report.devices.iter().map(|device| device.total.launch_cycles).sum::<f64>() as u64;
    let core = report.devices.first().map(|device| device.core.clone()).unwrap_or_default();
    let kernels = report.devices.into_iter().flat_map(|device| device.kernels);
    let launch = |Kernel { name, statistics: s }| Launch {
        name,
        cycles: s.cycles as u64,
        total_cycles: s.total_cycles,
        total_micros: s.total_time,
        joules: s.energy.unwrap_or(0.0),
    };
    let launches: Vec<_> = kernels.map(launch).collect();
    if launches.is_empty() { Err("it launches no kernel".to_owned()) } else { Ok(Ran { launches, launching, core }) }
}
