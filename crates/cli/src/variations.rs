//! What `--vary` varies: values of the GPU description, and parameters of core designs.

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

/// Splits at commas, save those in brackets: a value may be a list.
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

/// What a key of `--vary` that is a parameter of cores begins with.
pub const CORE_PREFIX: &str = "core.";

/// Names of cores whose parameters were taken apart at their commas, put together again.
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

/// Each core with every combination of the values that are varied, as far as it has the parameters.
pub fn of_cores(cores: &[String], varied: &[Vec<String>]) -> Result<Vec<String>, Failure> {
    let parameter = |assignment: &str| -> (String, String) {
        let (name, value) = assignment[CORE_PREFIX.len()..].split_once('=').unwrap_or_default();
        (name.to_owned(), value.to_owned())
    };
    let mut out: Vec<String> = Vec::new();
    let mut found = BTreeSet::new();
    for (core, values) in cores.iter().flat_map(|core| varied.iter().map(move |values| (core, values))) {
        let mut core = core.clone();
        for (name, value) in values.iter().map(|value| parameter(value)) {
            if let Some(with) = lab::with_parameter(&core, &name, &value).map_err(Failure::bad_input)? {
                core = with;
                found.insert(name);
            }
        }
        lookup::core(&core)?;
        if !out.contains(&core) {
            out.push(core);
        }
    }
    match varied[0].iter().map(|value| parameter(value).0).find(|name| !found.contains(name)) {
        None => Ok(out),
        Some(name) => Err(Failure::bad_input(format!(
            "`--vary {CORE_PREFIX}{name}`: none of the cores has this parameter\n  hint: `warpwright list cores {}` shows those of a core",
            cores[0]
        ))),
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
        let varied = of(&["core.issue_buffer=4,16", "core.buffer=32"]).unwrap();
        let expected = ["inorder", "ghost:issue_buffer=4", "ghost:issue_buffer=16", "socgpu:buffer=32"];
        assert_eq!(of_cores(&cores, &varied).unwrap(), expected);
        assert_eq!(of_cores(&cores, &of(&[]).unwrap()).unwrap(), cores);
        let error = |vary: &str| of_cores(&cores, &of(&[vary]).unwrap()).unwrap_err().message;
        assert!(error("core.size=1").contains("`--vary core.size`: none of the cores"));
        assert!(error("core.issue_buffer=65").contains("1 to 64"));
    }

    #[test]
    fn values_may_be_lists() {
        assert_eq!(at_commas("1,2,4"), ["1", "2", "4"]);
        assert_eq!(at_commas("[1,2],[3,4]"), ["[1,2]", "[3,4]"]);
        assert_eq!(at_commas("x]y,z"), ["x]y", "z"]);
    }
}
