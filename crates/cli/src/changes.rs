//! Changes to the GPU: any value of its description by `--set`, and flags for the values that papers
//! vary. Each flag takes several values where machines are compared.

use crate::failure::Failure;
use crate::lookup;
use crate::options::Settings;
use config::GpuConfig;
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

/// Maximum number of warp slots of an SM: its widest masks of warps have 128 bits.
const MOST_WARPS: f64 = 128.0;

/// Changes to the GPU description that the user asks for.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Changes to the GPU")]
pub struct Changes {
    #[command(flatten)]
    pub set: Settings,
    /// Warp slots of an SM, 128 at most: a number, or a multiple of the description's such as x2
    #[arg(long, value_name = "N|xF", value_delimiter = ',')]
    warps_per_sm: Vec<Amount>,
    /// Registers of an SM: a number, or a multiple of the description's such as x2
    #[arg(long, value_name = "N|xF", value_delimiter = ',')]
    register_file: Vec<Amount>,
    /// What is fetched after a branch that has not issued
    #[arg(long, value_name = "FETCHED", value_enum, value_delimiter = ',')]
    branches: Vec<Branches>,
    /// Entries of each warp's instruction buffer; designs with a buffer of their own keep it
    #[arg(long, value_name = "N", value_delimiter = ',')]
    instruction_buffer: Vec<u32>,
}

/// A number, or a multiple of the description's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Number(u32),
    /// A multiple of the description's value.
    Times(f64),
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let amount = match text.strip_prefix('x') {
            Some(factor) => factor.parse().ok().filter(|f: &f64| f.is_finite() && *f > 0.0).map(Amount::Times),
            None => text.parse().ok().filter(|n| *n > 0).map(Amount::Number),
        };
        amount.ok_or_else(|| "expected a number above 0, or a multiple such as x2 or x0.5".into())
    }
}

impl Amount {
    /// The amount where there are `now`; `Err` if that is not a whole number.
    fn of(self, now: u32) -> Result<f64, f64> {
        match self {
            Amount::Number(n) => Ok(n.into()),
            Amount::Times(factor) => {
                let n = f64::from(now) * factor;
                if n.fract() == 0.0 { Ok(n) } else { Err(n) }
            }
        }
    }

    /// `=64` or ` x2`, to follow a name.
    fn text(self) -> String {
        match self {
            Amount::Number(n) => format!("={n}"),
            Amount::Times(factor) => format!(" x{factor}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Branches {
    /// The right path, as if predicted perfectly (Accel-Sim's traces)
    Oracle,
    /// Nothing until the branch has issued
    Stall,
    /// The next instruction in memory, flushed if the branch goes elsewhere (GPGPU-Sim); sequential_flush is the same
    #[value(alias = "sequential_flush")]
    Flush,
}

/// A change to the GPU description, from a flag.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Warps(Amount),
    Registers(Amount),
    Branches(Branches),
    Buffer(u32),
}

impl Change {
    /// The same change as an assignment for `--set` on `gpu`.
    fn setting(self, gpu: &GpuConfig) -> Result<String, Failure> {
        let whole = |option: &str, amount: Amount, now: u32| {
            let of = |n: f64| format!("--{option} {}: {n} of {now} on {}", amount.text().trim_start(), gpu.name);
            amount.of(now).map_err(|n| Failure::bad_input(format!("{}, which is not a whole number", of(n))))
        };
        Ok(match self {
            Change::Warps(amount) => {
                let (now, n) = (gpu.sm.max_warps, whole("warps-per-sm", amount, gpu.sm.max_warps)?);
                if n > MOST_WARPS {
                    return Err(Failure::bad_input(format!(
                        "{n} warp slots on {}, which has {now}: an SM can have {MOST_WARPS} at most\n  hint: choose fewer: --warps-per-sm {MOST_WARPS}",
                        gpu.name
                    )));
                }
                format!("sm.max_warps={n}")
            }
            Change::Registers(amount) => {
                format!("sm.registers={}", whole("register-file", amount, gpu.sm.registers)?)
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

    /// What it changes.
    const fn what(self) -> &'static str {
        match self {
            Change::Warps(_) => "warps",
            Change::Registers(_) => "registers",
            Change::Branches(_) => "branches",
            Change::Buffer(_) => "buffer",
        }
    }

    /// Distinguishes it from other values of the same flag.
    fn label(self) -> String {
        match self {
            Change::Warps(amount) => format!("warps{}", amount.text()),
            Change::Registers(amount) => format!("registers{}", amount.text()),
            Change::Branches(how) => format!("branches={how:?}").to_lowercase(),
            Change::Buffer(entries) => format!("buffer={entries}"),
        }
    }
}

/// A value of each flag that was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    changes: Vec<Change>,
    /// Distinguishes it from the other choices; empty if there is no other.
    pub label: String,
    /// The same by flag, of the flags that have several values: what it changes, and how.
    pub varied: Vec<(&'static str, String)>,
}

impl Choice {
    /// The GPU with `settings` and then these changes, and all of them as assignments for `--set`;
    /// `scheduler` is the warp scheduler, if it is chosen beside them.
    pub fn apply(
        &self,
        gpu: &Path,
        settings: &[String],
        scheduler: Option<&str>,
    ) -> Result<(GpuConfig, Vec<String>), Failure> {
        let described = lookup::gpu(gpu, settings)?;
        let mut all = settings.to_vec();
        // A multiple of a value that is set keeps the setting's effect.
        let mut absolute = settings.to_vec();
        for change in &self.changes {
            let setting = change.setting(&described)?;
            absolute.extend((!change.is_relative()).then(|| setting.clone()));
            all.push(setting);
        }
        absolute.extend(scheduler.map(|name| format!("sm.issue.scheduler={name}")));
        set_once(&absolute)?;
        Ok((if self.changes.is_empty() { described } else { lookup::gpu(gpu, &all)? }, all))
    }
}

/// Checks that no value is set twice: one of the two would be without effect.
fn set_once(settings: &[String]) -> Result<(), Failure> {
    let mut seen = BTreeMap::new();
    for (key, value) in settings.iter().filter_map(|setting| setting.split_once('=')) {
        if let Some(before) = seen.insert(key.trim(), value) {
            let key = key.trim();
            return Err(Failure::bad_input(format!(
                "`{key}` is set twice, to {before} and to {value}\n  hint: set it once; some options are settings too: --warps-per-sm sets sm.max_warps"
            )));
        }
    }
    Ok(())
}

impl Changes {
    /// Every combination of the flags' values, the last flag's fastest.
    pub fn choices(&self) -> Vec<Choice> {
        let flags: [Vec<Change>; 4] = [
            self.warps_per_sm.iter().map(|&a| Change::Warps(a)).collect(),
            self.register_file.iter().map(|&a| Change::Registers(a)).collect(),
            self.branches.iter().map(|&b| Change::Branches(b)).collect(),
            self.instruction_buffer.iter().map(|&n| Change::Buffer(n)).collect(),
        ];
        let mut choices = vec![Choice::default()];
        for values in flags.iter().filter(|values| !values.is_empty()) {
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

    /// The combination, if there is only one; a command about one machine refuses more.
    pub fn only(&self) -> Result<Choice, Failure> {
        let mut choices = self.choices();
        if choices.len() > 1 {
            let labels: Vec<_> = choices.into_iter().map(|c| c.label).collect();
            return Err(Failure::bad_input(format!(
                "one machine at a time, not {}\n  hint: `warpwright compare` takes several values and shows them side by side",
                labels.join(", ")
            )));
        }
        Ok(choices.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        assert_eq!(
            [("64", Amount::Number(64)), ("x2", Amount::Times(2.0)), ("x0.5", Amount::Times(0.5))]
                .map(|(t, a)| t.parse() == Ok(a)),
            [true; 3]
        );
        assert!(["", "0", "-1", "x", "x0", "x-1", "xinf", "2x", "1.5"].iter().all(|t| t.parse::<Amount>().is_err()));
    }

    #[test]
    fn choices_combine_and_scale_what_there_is() {
        let changes = Changes {
            warps_per_sm: vec![Amount::Times(1.0), Amount::Times(2.0)],
            register_file: vec![Amount::Number(131_072)],
            ..Changes::default()
        };
        let choices = changes.choices();
        assert_eq!(choices.iter().map(|c| c.label.as_str()).collect::<Vec<_>>(), ["warps x1", "warps x2"]);
        let (gpu, settings) = choices[1].apply(Path::new("rtx2060s"), &["sm.max_warps=16".into()], None).unwrap();
        assert_eq!((gpu.sm.max_warps, gpu.sm.registers), (32, 131_072));
        assert_eq!(settings, ["sm.max_warps=16", "sm.max_warps=32", "sm.registers=131072"]);
        assert!(changes.only().unwrap_err().message.contains("compare"));
        assert_eq!(choices[1].apply(Path::new("v100"), &[], None).unwrap().0.sm.max_warps, 128);
        let error = choices[1].apply(Path::new("v100"), &["sm.max_warps=68".into()], None).unwrap_err();
        assert!(error.message.contains("136 warp slots on v100"), "{}", error.message);
    }

    #[test]
    fn nothing_is_set_twice() {
        let changes = Changes { instruction_buffer: vec![4], ..Changes::default() };
        let twice = |settings: &[&str], scheduler| {
            let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
            changes.only().unwrap().apply(Path::new("v100"), &settings, scheduler).map_err(|e| e.message)
        };
        assert!(twice(&["sm.issue.scheduler=gto"], None).is_ok());
        let error = twice(&["sm.frontend.buffer_entries=2"], None).unwrap_err();
        assert!(error.contains("`sm.frontend.buffer_entries` is set twice, to 2 and to 4"), "{error}");
        assert!(twice(&["sm.issue.scheduler=gto"], Some("lrr")).unwrap_err().contains("`sm.issue.scheduler`"));
        assert!(twice(&["sm.max_warps=16", "sm.max_warps=32"], None).unwrap_err().contains("to 16 and to 32"));
    }
}
