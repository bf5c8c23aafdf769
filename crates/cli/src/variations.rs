//! What `--vary` varies: values of the GPU description, and parameters of core designs and warp schedulers.

use crate::failure::Failure;
use crate::lookup;
use std::collections::BTreeSet;

/// Maximum number of columns of a comparison.
const MOST_COLUMNS: u64 = 1024;
/// Maximum number of runs of a comparison: workloads by columns.
const MOST_RUNS: u64 = 65_536;

/// Checks that a comparison is not too large.
pub fn check_size(workloads: u64, columns: u64) -> Result<(), Failure> {
    let problem = if columns > MOST_COLUMNS {
        format!("{columns} columns: a comparison has {MOST_COLUMNS} at most")
    } else if workloads.saturating_mul(columns) > MOST_RUNS {
        format!("{workloads} workloads on {columns} machines: a comparison has {MOST_RUNS} runs at most")
    } else {
        return Ok(());
    };
    Err(Failure::bad_input(format!(
        "{problem}\n  hint: columns are combinations of --gpus, --cores, --schedulers, --vary and what changes the GPU; list fewer values"
    )))
}

/// Every combination of the values that `--vary` lists.
pub fn of(given: &[&str]) -> Result<Vec<Vec<String>>, Failure> {
    let mut out = vec![Vec::new()];
    for text in given {
        let (key, values) =
            text.split_once('=').filter(|(key, values)| !key.is_empty() && !values.is_empty()).ok_or_else(|| {
                Failure::bad_input(format!("`--vary {text}`: expected KEY=A,B, such as sm.issue.schedulers=1,2,4"))
            })?;
        let values = at_commas(values);
        lookup::distinct(&format!("--vary {key}"), &values)?;
        check_size(1, (out.len() as u64).saturating_mul(values.len() as u64))?;
        out = out
            .iter()
            .flat_map(|before| {
                values.iter().map(move |v| before.iter().cloned().chain([format!("{key}={v}")]).collect())
            })
            .collect();
    }
    Ok(out)
}

/// Splits at commas, except those in brackets: a value may be a list.
fn at_commas(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// Something with parameters of its own, which `--vary` can vary.
pub struct Parametric {
    /// Prefix of the keys of `--vary` that are parameters of these.
    pub prefix: &'static str,
    /// All of them, in messages and as the topic of `list`.
    plural: &'static str,
    check: fn(&str) -> Result<(), Failure>,
    /// One with a parameter set; `None` if it has no such parameter.
    with: fn(&str, &str, &str) -> Result<Option<String>, String>,
}

/// Core designs.
pub const CORES: Parametric =
    Parametric { prefix: "core.", plural: "cores", check: lookup::core, with: lab::with_parameter };

/// Warp schedulers.
pub const SCHEDULERS: Parametric =
    Parametric { prefix: "scheduler.", plural: "schedulers", check: lookup::scheduler, with: lab::scheduler_with };

/// Names of cores or schedulers whose parameters were split at their commas, put together again.
pub fn whole_names(parts: &[String]) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for part in parts {
        let is_parameter = part.split_once('=').is_some_and(|(name, _)| !name.contains(':'));
        match whole.last_mut().filter(|last| is_parameter && last.contains(':')) {
            Some(last) => *last += &format!(",{part}"),
            None => whole.push(part.clone()),
        }
    }
    whole
}

impl Parametric {
    /// Each of `named` with every combination of the values that `given` lists, where it has the parameters.
    pub fn varied(&self, named: &[String], given: &[&str]) -> Result<Vec<String>, Failure> {
        if named.is_empty() && !given.is_empty() {
            let (key, plural) = (given[0].split('=').next().unwrap_or_default(), self.plural);
            return Err(Failure::bad_input(format!(
                "`--vary {key}`: varies the {plural} that --{plural} names, and none is named"
            )));
        }
        let parameter = |assignment: &str| -> (String, String) {
            let (name, value) = assignment[self.prefix.len()..].split_once('=').unwrap_or_default();
            (name.to_owned(), value.to_owned())
        };
        let varied = of(given)?;
        let mut out: Vec<String> = Vec::new();
        let mut found = BTreeSet::new();
        for (one, values) in named.iter().flat_map(|one| varied.iter().map(move |values| (one, values))) {
            let mut one = one.clone();
            for (name, value) in values.iter().map(|value| parameter(value)) {
                if let Some(with) = (self.with)(&one, &name, &value).map_err(Failure::bad_input)? {
                    one = with;
                    found.insert(name);
                }
            }
            (self.check)(&one)?;
            if !out.contains(&one) {
                out.push(one);
            }
        }
        let Self { prefix, plural, .. } = self;
        match varied[0].iter().map(|value| parameter(value).0).find(|name| !found.contains(name)) {
            None => Ok(out),
            Some(name) => Err(Failure::bad_input(format!(
                "`--vary {prefix}{name}`: none of the {plural} has this parameter\n  hint: `warpwright list {plural} {}` shows the parameters",
                named[0]
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_the_last_fastest() {
        let got = of(&["a.x=1,2", "b=3,4"]).unwrap();
        assert_eq!(got, [["a.x=1", "b=3"], ["a.x=1", "b=4"], ["a.x=2", "b=3"], ["a.x=2", "b=4"]]);
        assert_eq!(of(&[]).unwrap(), [Vec::<String>::new()]);
        for wrong in ["a", "=1", "a="] {
            assert!(of(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parameters_stay_with_their_core() {
        let parts =
            "inorder,ghost:issue_buffer=16,guarded=false+scalar:memory=true,halves=true,inorder+scalar:alus=1,loog";
        let parts: Vec<String> = parts.split(',').map(str::to_owned).collect();
        let whole = [
            "inorder",
            "ghost:issue_buffer=16,guarded=false+scalar:memory=true,halves=true",
            "inorder+scalar:alus=1",
            "loog",
        ];
        assert_eq!(whole_names(&parts), whole);
        assert_eq!(whole_names(&["guarded=false".to_owned()]), ["guarded=false"], "not a core, as its message says");
    }

    #[test]
    fn cores_are_varied_as_far_as_they_have_the_parameter() {
        let cores = ["inorder".to_owned(), "ghost".to_owned(), "socgpu".to_owned()];
        let varied = ["core.issue_buffer=4,16", "core.buffer=32"];
        let expected = ["inorder", "ghost:issue_buffer=4", "ghost:issue_buffer=16", "socgpu:buffer=32"];
        assert_eq!(CORES.varied(&cores, &varied).unwrap(), expected);
        assert_eq!(CORES.varied(&cores, &[]).unwrap(), cores);
        let error = |vary: &str| CORES.varied(&cores, &[vary]).unwrap_err().message;
        assert!(error("core.size=1").contains("`--vary core.size`: none of the cores"));
        assert!(error("core.issue_buffer=65").contains("1 to 64"));
    }

    #[test]
    fn schedulers_are_varied_as_far_as_they_have_the_parameter() {
        let schedulers = ["gto".to_owned(), "two_level".to_owned()];
        let varied = |named: &[String], vary: &str| SCHEDULERS.varied(named, &[vary]).map_err(|e| e.message);
        let expected = ["gto", "two_level:active=4", "two_level:active=8"].map(str::to_owned);
        assert_eq!(varied(&schedulers, "scheduler.active=4,8"), Ok(expected.to_vec()));
        assert!(varied(&schedulers, "scheduler.active=65").unwrap_err().contains("`active` is 0 to 64"));
        assert!(varied(&schedulers[..1], "scheduler.active=4").unwrap_err().contains("none of the schedulers"));
        assert!(varied(&[], "scheduler.active=4").unwrap_err().contains("--schedulers"));
    }

    #[test]
    fn values_may_be_lists() {
        assert_eq!(at_commas("1,2,4"), ["1", "2", "4"]);
        assert_eq!(at_commas("[1,2],[3,4]"), ["[1,2]", "[3,4]"]);
        assert_eq!(at_commas("x]y,z"), ["x]y", "z"]);
    }
}
