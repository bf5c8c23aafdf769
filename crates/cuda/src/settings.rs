//! What the user asks for, from environment variables: `warpwright exec` sets them, and so can a user.

use crate::host::Host;
use lab::{HostThreads, OutOfBounds, Setup, Time};
use std::env::VarError;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use workloads::Form;

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The devices, each with its core design.
    pub devices: Vec<Setup>,
    /// Folder for report, JSON and power.
    pub out: Option<PathBuf>,
    /// File for the report as JSON.
    pub json: Option<PathBuf>,
    /// No report on standard error.
    pub quiet: bool,
    /// A failure of a kernel or a launch makes the exit status of a program that succeeds otherwise 1.
    pub strict: bool,
}

/// The variables, each with what it means: `warpwright exec --help` and the documentation list them.
pub const VARIABLES: &[(&str, &str)] = &[
    ("WARPWRIGHT_GPU", "GPU, or several between commas or as an array of JSON: built-in ones or paths of descriptions"),
    ("WARPWRIGHT_CORE", "core design"),
    ("WARPWRIGHT_SCHEDULER", "warp scheduler"),
    (
        "WARPWRIGHT_SET",
        "values of the GPU description, between semicolons, KEY=VALUE;KEY=VALUE, or as an array of JSON",
    ),
    (
        "WARPWRIGHT_TIME",
        "what is simulated in time, the rest being executed without: all, none, kernels=3,7..9, kernels=NAME, ctas=0..79, representative (docs/sampling.md)",
    ),
    ("WARPWRIGHT_OUT", "folder for report.txt, report.json and power.csv"),
    ("WARPWRIGHT_JSON", "file for the report as JSON"),
    ("WARPWRIGHT_QUIET", "1: no report on standard error"),
    ("WARPWRIGHT_STRICT", "1: the exit status is not 0 if a kernel was refused or faulted, or a launch failed"),
    ("WARPWRIGHT_MAX_CYCLES", "core cycles after which nothing is simulated any more"),
    ("WARPWRIGHT_LIVELOCK_CYCLES", "core cycles after which warps that only repeat themselves are a fault; 0: never"),
    ("WARPWRIGHT_THREADS", "host threads of the simulation"),
    ("WARPWRIGHT_AUDIT", "1: checks each instruction against the program order of its warp"),
    ("WARPWRIGHT_ISA", "code of fat binaries that have both: auto (default: machine code), ptx"),
    ("WARPWRIGHT_OUT_OF_BOUNDS", "accesses of kernels outside allocations: error, warn (default), allow"),
    ("WARPWRIGHT_CHECK_MEMORY", "1: checks reads of memory that was never written, and races"),
    ("WARPWRIGHT_POWER_INTERVAL", "core cycles between two points of power over time"),
    ("CUDA_VISIBLE_DEVICES", "devices that the program sees, by number"),
];

/// Cycles after which warps that only repeat themselves count as a livelock.
const LIVELOCK_CYCLES: u64 = 1_000_000;

/// The variables, and what is wrong with them.
struct Variables<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<String>,
}

impl Variables<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).filter(|value| !value.trim().is_empty())
    }

    fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value != "0")
    }

    /// What `parse` makes of a variable that is set.
    fn parsed<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let parsed = parse(&self.text(name)?);
        parsed.map_err(|problem| self.problems.push(format!("{name}: {problem}"))).ok()
    }

    fn number(&mut self, name: &str) -> Option<u64> {
        self.parsed(name, |text| {
            let number = text.trim().replace('_', "").parse();
            number.map_err(|_| format!("`{}` is not a whole number", kit::text::excerpt(text)))
        })
    }

    /// Values of a variable: an array of JSON, or words with `separator` between them.
    fn list(&mut self, name: &str, separator: char) -> Option<Vec<String>> {
        self.parsed(name, |text| match text.trim_start().starts_with('[') {
            true => serde_json::from_str(text).map_err(|e| format!("not an array of texts in JSON: {e}")),
            false => Ok(text.split(separator).map(|one| one.trim().to_owned()).collect()),
        })
    }

    /// A device of each GPU.
    fn devices(&mut self) -> Vec<Setup> {
        let sets = self.list("WARPWRIGHT_SET", ';').unwrap_or_default();
        let max_cycles = self.number("WARPWRIGHT_MAX_CYCLES");
        let threads = self.number("WARPWRIGHT_THREADS").and_then(|number| usize::try_from(number).ok());
        let threads = threads.map_or_else(HostThreads::all, HostThreads::new);
        let livelock = self.number("WARPWRIGHT_LIVELOCK_CYCLES").unwrap_or(LIVELOCK_CYCLES);
        let power_interval = self.number("WARPWRIGHT_POWER_INTERVAL").and_then(NonZeroU64::new);
        let core = self.parsed("WARPWRIGHT_CORE", |core| lab::check_core(core).map(|()| core.to_owned()));
        let core = core.unwrap_or_else(|| "inorder".to_owned());
        let scheduler =
            self.parsed("WARPWRIGHT_SCHEDULER", |name| lab::check_scheduler(name).map(|()| name.to_owned()));
        let out_of_bounds = self.parsed("WARPWRIGHT_OUT_OF_BOUNDS", str::parse).unwrap_or(OutOfBounds::Warn);
        let code = self.parsed("WARPWRIGHT_ISA", code).unwrap_or(Form::Sass);
        let time: Time = self.parsed("WARPWRIGHT_TIME", str::parse).unwrap_or_default();
        let gpus = self.list("WARPWRIGHT_GPU", ',').unwrap_or_else(|| vec!["rtx2060s".to_owned()]);
        let mut devices = Vec::new();
        for name in gpus {
            match config::load_with(Path::new(&name), &sets) {
                Ok(gpu) => devices.push(Setup {
                    core: core.clone(),
                    scheduler: scheduler.clone(),
                    settings: sets.clone(),
                    max_cycles,
                    code,
                    livelock_cycles: NonZeroU64::new(livelock),
                    audit: self.flag("WARPWRIGHT_AUDIT"),
                    out_of_bounds,
                    check_memory: self.flag("WARPWRIGHT_CHECK_MEMORY"),
                    threads: threads.clone(),
                    time: time.clone(),
                    power_interval: power_interval.filter(|_| gpu.energy.model.is_some()),
                    ..Setup::new(gpu)
                }),
                Err(problem) => self.problems.push(format!("WARPWRIGHT_GPU: {problem}")),
            }
        }
        devices
    }
}

/// The code that `WARPWRIGHT_ISA` means.
fn code(text: &str) -> Result<Form, String> {
    match text {
        "auto" => Ok(Form::Sass),
        "ptx" => Ok(Form::Ptx),
        _ => Err(format!("`{}` is not one of auto, ptx", kit::text::excerpt(text))),
    }
}

impl Settings {
    /// Reads the settings; `get` gives the value of a variable.
    ///
    /// # Errors
    /// A variable has no meaning: all problems.
    pub fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut variables = Variables { get, problems: Vec::new() };
        let devices = variables.devices();
        if !variables.problems.is_empty() {
            return Err(variables.problems.join("\n"));
        }
        let path = |name: &str| variables.text(name).map(PathBuf::from);
        Ok(Self {
            devices: visible(devices, get("CUDA_VISIBLE_DEVICES").as_deref()),
            out: path("WARPWRIGHT_OUT"),
            json: path("WARPWRIGHT_JSON"),
            quiet: variables.flag("WARPWRIGHT_QUIET"),
            strict: variables.flag("WARPWRIGHT_STRICT"),
        })
    }

    /// As [`Settings::read`], from the variables of the process. Problems are reported to the user, and leave a process
    /// without devices.
    pub fn from_environment(host: &dyn Host) -> Self {
        let is_text = |(name, _): &&(&str, _)| !matches!(std::env::var(name), Err(VarError::NotUnicode(_)));
        let read = match VARIABLES.iter().find(|variable| !is_text(variable)) {
            Some((name, _)) => Err(format!("{name}: its value is not UTF-8")),
            None => Self::read(&|name| std::env::var(name).ok()),
        };
        read.unwrap_or_else(|problems| {
            host.message(&format!("{problems}\nno device is simulated"));
            Self { devices: Vec::new(), out: None, json: None, quiet: true, strict: false }
        })
    }
}

/// The devices that a list of numbers lets a program see: up to the first number that is none.
fn visible(devices: Vec<Setup>, list: Option<&str>) -> Vec<Setup> {
    let Some(list) = list else { return devices };
    let mut seen = Vec::new();
    for entry in list.split(',') {
        match entry.trim().parse::<usize>() {
            Ok(number) if number < devices.len() && !seen.contains(&number) => seen.push(number),
            _ => break,
        }
    }
    seen.into_iter().map(|number| devices[number].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn variables_choose_devices_and_kernels() {
        let settings = read(&[
            ("WARPWRIGHT_GPU", "v100,rtx2060s"),
            ("WARPWRIGHT_CORE", "ghost"),
            ("WARPWRIGHT_TIME", "kernels=add, mul"),
            ("WARPWRIGHT_SET", "sm_count=4"),
            ("CUDA_VISIBLE_DEVICES", "1,0,7,0"),
        ]);
        let settings = settings.unwrap();
        let names: Vec<&str> = settings.devices.iter().map(|d| &*d.gpu.name).collect();
        assert_eq!(names, ["rtx2060s", "v100"]);
        assert_eq!((settings.devices[0].gpu.sm_count, &*settings.devices[0].core), (4, "ghost"));
        let time = &settings.devices[1].time;
        assert!(time.includes(0, "_Z3addPf") && time.includes(1, "mul") && !time.includes(2, "sub"));
    }

    #[test]
    fn lists_may_be_json() {
        let settings = read(&[
            ("WARPWRIGHT_GPU", r#"["v100", "rtx2060s"]"#),
            ("WARPWRIGHT_SET", r#"["sm_count=4", "name=a;b,[c]"]"#),
        ]);
        let settings = settings.unwrap();
        let gpus: Vec<_> = settings.devices.iter().map(|device| (&*device.gpu.name, device.gpu.sm_count)).collect();
        assert_eq!(gpus, [("a;b,[c]", 4); 2]);
        assert_eq!(settings.devices[0].settings, ["sm_count=4", "name=a;b,[c]"]);
        for wrong in ["[", "[1]", r#"["a"] b"#] {
            assert!(
                read(&[("WARPWRIGHT_SET", wrong)]).unwrap_err().contains("WARPWRIGHT_SET: not an array"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let problems = read(&[("WARPWRIGHT_GPU", "rtx2060"), ("WARPWRIGHT_CORE", "gost"), ("WARPWRIGHT_TIME", "some")]);
        let problems = problems.unwrap_err();
        for name in ["WARPWRIGHT_GPU", "WARPWRIGHT_CORE", "WARPWRIGHT_TIME"] {
            assert!(problems.contains(name), "{problems}");
        }
    }
}
