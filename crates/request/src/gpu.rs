//! GPU descriptions, and changes to them: any value by `set`, and options for the values that papers vary.

use crate::BadRequest;
use crate::contents::Contents;
use crate::options::Options;
use crate::shown::MOST_WARPS;
use crate::values::{Amount, Branches};
use config::GpuConfig;
use kit::text::excerpt;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A GPU description with its overrides.
///
/// # Errors
/// There is no such description, or it makes no sense.
pub fn load(name_or_path: &Path, settings: &[String]) -> Result<GpuConfig, BadRequest> {
    config::load_with(name_or_path, settings).map_err(|error| {
        let other = Contents::of(name_or_path).filter(|is| !matches!(is, Contents::Gpu | Contents::Text));
        if let Some(other) = other.filter(|_| name_or_path.is_file()) {
            let (file, advice) = (excerpt(&name_or_path.to_string_lossy()), other.advice(name_or_path));
            return BadRequest::new(format!("`{file}` is not a GPU description. It is {advice}"));
        }
        // A problem of a whole file, such as an empty one, has no place.
        let nowhere = error.problems.iter().all(|problem| problem.spot.is_none());
        let file = if nowhere { format!("`{}`: ", excerpt(&name_or_path.to_string_lossy())) } else { String::new() };
        BadRequest::new(format!("{file}{error}"))
    })
}

/// The files that a GPU description is read from: none if it comes with the program.
pub fn files(name_or_path: &Path) -> Vec<PathBuf> {
    if config::builtin().iter().any(|gpu| Path::new(gpu.name) == name_or_path) {
        return Vec::new();
    }
    config::Raw::open(name_or_path).map_or_else(|_| Vec::new(), |raw| raw.files().to_vec())
}

/// The file that the energy model of a GPU is read from, if it does not come with the program.
pub fn energy_file(gpu: &GpuConfig) -> Option<PathBuf> {
    gpu.energy.model.as_ref().map(PathBuf::from).filter(|path| path.is_file())
}

/// A change to the GPU description, by an option of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Warps(Amount),
    Registers(Amount),
    Branches(Branches),
    Buffer(u32),
}

/// The amount where there are `now`; `Err` if that is not a whole number.
fn amount_of(amount: Amount, now: u32) -> Result<f64, f64> {
    match amount {
        Amount::Number(n) => Ok(n.into()),
        Amount::Times(factor) => {
            let n = f64::from(now) * factor;
            if n.fract() == 0.0 { Ok(n) } else { Err(n) }
        }
    }
}

/// `=64` or ` x2`, to follow a name.
fn after_name(amount: Amount) -> String {
    match amount {
        Amount::Number(n) => format!("={n}"),
        Amount::Times(factor) => format!(" x{factor}"),
    }
}

impl Change {
    /// The same change as an assignment for `set` on `gpu`; `called` gives the name of an option.
    fn setting(self, gpu: &GpuConfig, called: &dyn Fn(&str) -> String) -> Result<String, BadRequest> {
        let whole = |option: &str, amount: Amount, now: u32| {
            let of = |n: f64| format!("{} {amount}: {n} of {now} on {}", called(option), gpu.name);
            amount_of(amount, now).map_err(|n| BadRequest::new(format!("{}, which is not a whole number", of(n))))
        };
        Ok(match self {
            Change::Warps(amount) => {
                let (now, n) = (gpu.sm.max_warps, whole("warps_per_sm", amount, gpu.sm.max_warps)?);
                if n > MOST_WARPS as f64 {
                    return Err(BadRequest::new(format!(
                        "{n} warp slots on {}, which has {now}: an SM can have {MOST_WARPS} at most\n  hint: choose fewer: {} {MOST_WARPS}",
                        gpu.name,
                        called("warps_per_sm")
                    )));
                }
                format!("sm.max_warps={n}")
            }
            Change::Registers(amount) => {
                format!("sm.registers={}", whole("register_file", amount, gpu.sm.registers)?)
            }
            Change::Branches(how) => {
                let fetched = match how {
                    Branches::Oracle => "oracle",
                    Branches::Stall => "stall",
                    Branches::Flush => "sequential_flush",
                };
                format!("sm.frontend.branches={fetched}")
            }
            Change::Buffer(entries) => format!("sm.frontend.buffer_entries={entries}"),
        })
    }

    /// Whether it multiplies the description's value.
    fn is_relative(self) -> bool {
        matches!(self, Change::Warps(Amount::Times(_)) | Change::Registers(Amount::Times(_)))
    }

    /// The settings that it changes.
    const fn what(self) -> &'static str {
        match self {
            Change::Warps(_) => "warps",
            Change::Registers(_) => "registers",
            Change::Branches(_) => "branches",
            Change::Buffer(_) => "buffer",
        }
    }

    /// Distinguishes it from other values of the same option.
    fn label(self) -> String {
        match self {
            Change::Warps(amount) => format!("warps{}", after_name(amount)),
            Change::Registers(amount) => format!("registers{}", after_name(amount)),
            Change::Branches(how) => format!("branches={how:?}").to_lowercase(),
            Change::Buffer(entries) => format!("buffer={entries}"),
        }
    }
}

/// A value of each option that changes the GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    changes: Vec<Change>,
    /// Distinguishes it from the other choices; empty if there is no other.
    pub label: String,
    /// The same by option, of those that have several values: what it changes, and how.
    pub varied: Vec<(&'static str, String)>,
}

impl Choice {
    /// The GPU with `settings` and then these changes, and all of them as assignments for `set`; `scheduler` is the warp
    /// scheduler, if it is chosen beside them, and `called` gives the name of an option.
    ///
    /// # Errors
    /// The description, a setting or a change makes no sense, or a value is set twice.
    pub fn apply(
        &self,
        gpu: &Path,
        settings: &[String],
        scheduler: Option<&str>,
        called: &dyn Fn(&str) -> String,
    ) -> Result<(GpuConfig, Vec<String>), BadRequest> {
        let described = load(gpu, settings)?;
        let mut all = settings.to_vec();
        // A multiple of a value that is set keeps the setting's effect.
        let mut absolute = settings.to_vec();
        for change in &self.changes {
            let setting = change.setting(&described, called)?;
            absolute.extend((!change.is_relative()).then(|| setting.clone()));
            all.push(setting);
        }
        absolute.extend(scheduler.map(|name| format!("sm.issue.scheduler={name}")));
        set_once(&absolute, called)?;
        Ok((if self.changes.is_empty() { described } else { load(gpu, &all)? }, all))
    }
}

/// Checks that no value is set twice: one of the two would be without effect.
fn set_once(settings: &[String], called: &dyn Fn(&str) -> String) -> Result<(), BadRequest> {
    let mut seen = BTreeMap::new();
    for (key, value) in settings.iter().filter_map(|setting| setting.split_once('=')) {
        if let Some(before) = seen.insert(key.trim(), value) {
            let (key, option) = (key.trim(), called("warps_per_sm"));
            return Err(BadRequest::new(format!(
                "`{key}` is set twice, to {before} and to {value}\n  hint: set it once; some options are settings too: {option} sets sm.max_warps"
            )));
        }
    }
    Ok(())
}

/// Every combination of the values of the options that change the GPU, the last option's fastest.
pub fn choices(options: &Options) -> Vec<Choice> {
    let all: [Vec<Change>; 4] = [
        options.warps_per_sm.iter().map(|&a| Change::Warps(a)).collect(),
        options.register_file.iter().map(|&a| Change::Registers(a)).collect(),
        options.branches.iter().map(|&b| Change::Branches(b)).collect(),
        options.instruction_buffer.iter().map(|&n| Change::Buffer(n)).collect(),
    ];
    let mut choices = vec![Choice::default()];
    for values in all.iter().filter(|values| !values.is_empty()) {
        let with = |choice: &Choice, &change: &Change| {
            let mut choice = choice.clone();
            choice.changes.push(change);
            if values.len() > 1 {
                choice.label = format!("{} {}", choice.label, change.label()).trim_start().to_owned();
                choice.varied.push((change.what(), change.label()));
            }
            choice
        };
        choices = choices.iter().flat_map(|choice| values.iter().map(move |v| with(choice, v))).collect();
    }
    choices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Way;

    fn called(name: &str) -> String {
        Options::new(Way::Run).called(name)
    }

    fn apply(
        choice: &Choice,
        gpu: &str,
        settings: &[&str],
        scheduler: Option<&str>,
    ) -> Result<(GpuConfig, Vec<String>), String> {
        let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
        choice.apply(Path::new(gpu), &settings, scheduler, &called).map_err(|e| e.message)
    }

    #[test]
    fn choices_combine_and_scale_what_there_is() {
        let options = Options {
            warps_per_sm: vec![Amount::Times(1.0), Amount::Times(2.0)],
            register_file: vec![Amount::Number(131_072)],
            ..Options::new(Way::Compare)
        };
        let choices = choices(&options);
        assert_eq!(choices.iter().map(|c| c.label.as_str()).collect::<Vec<_>>(), ["warps x1", "warps x2"]);
        let (gpu, settings) = apply(&choices[1], "rtx2060s", &["sm.max_warps=16"], None).unwrap();
        assert_eq!((gpu.sm.max_warps, gpu.sm.registers), (32, 131_072));
        assert_eq!(settings, ["sm.max_warps=16", "sm.max_warps=32", "sm.registers=131072"]);
        assert_eq!(apply(&choices[1], "v100", &[], None).unwrap().0.sm.max_warps, 128);
        let error = apply(&choices[1], "v100", &["sm.max_warps=68"], None).unwrap_err();
        assert!(error.contains("136 warp slots on v100"), "{error}");
    }

    #[test]
    fn nothing_is_set_twice() {
        let options = Options { instruction_buffer: vec![4], ..Options::new(Way::Run) };
        let twice = |settings: &[&str], scheduler| apply(&choices(&options)[0], "v100", settings, scheduler);
        assert!(twice(&["sm.issue.scheduler=gto"], None).is_ok());
        let error = twice(&["sm.frontend.buffer_entries=2"], None).unwrap_err();
        assert!(error.contains("`sm.frontend.buffer_entries` is set twice, to 2 and to 4"), "{error}");
        assert!(twice(&["sm.issue.scheduler=gto"], Some("lrr")).unwrap_err().contains("`sm.issue.scheduler`"));
        assert!(twice(&["sm.max_warps=16", "sm.max_warps=32"], None).unwrap_err().contains("to 16 and to 32"));
    }
}
