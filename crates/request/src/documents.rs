//! Options as text: the tables of the documents, and the keywords of Python.

use crate::option::{Group, OptionRow, Shape, Way};
use crate::options::ROWS;
use std::fmt::Write as _;

/// The values of an option as a command line has them.
fn usage(row: &OptionRow) -> String {
    let short = row.short.map_or_else(String::new, |short| format!("-{short}, "));
    let value = match row.shape {
        Shape::Flag => String::new(),
        Shape::Optional => format!("[={}]", row.value),
        Shape::One | Shape::Pair | Shape::List | Shape::Repeated => format!(" {}", row.value),
    };
    format!("{short}--{}{value}", row.option())
}

/// Meaning, choices and default.
fn meaning(row: &OptionRow) -> String {
    let choices: Vec<String> = (row.choices)()
        .into_iter()
        .filter(|(_, meaning)| !meaning.is_empty())
        .map(|(name, meaning)| format!("`{name}`: {}", lower_first(meaning)))
        .collect();
    let choices = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join("; ")) };
    let default = row.default.or(row.usual).map_or_else(String::new, |default| format!(". Default: {default}"));
    let exec = row.exec_default.map_or_else(String::new, |default| format!(", for programs {default}"));
    format!("{}{choices}{default}{exec}", row.text.trim()).replace('|', "\\|")
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect()
}

/// Rows of a table of Markdown: options with their meaning, by group, and the ways in that have them.
pub fn options() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        let _ = writeln!(
            text,
            "\n## {}\n\n| option | meaning | run | compare | sweep | exec | Python |\n| --- | --- | --- | --- | --- | --- | --- |",
            group.heading()
        );
        for row in ROWS.iter().filter(|row| row.group == group) {
            let has = |way| if row.reason(way).is_none() { "x" } else { "" };
            let in_python = Way::ALL.iter().any(|way| way.is_python() && row.reason(*way).is_none());
            let python = if in_python { format!("`{}`", row.keyword()) } else { String::new() };
            let [run, compare, sweep, exec] = [Way::Run, Way::Compare, Way::Sweep, Way::Exec].map(has);
            let usage = usage(row).replace('|', "\\|");
            let _ =
                writeln!(text, "| `{usage}` | {} | {run} | {compare} | {sweep} | {exec} | {python} |", meaning(row));
        }
    }
    text
}

/// Rows of a table of Markdown: why ways in lack options.
pub fn reasons() -> String {
    let mut text = "| option | not in | because |\n| --- | --- | --- |\n".to_owned();
    for row in ROWS {
        for (way, reason) in row.reasons() {
            let _ = writeln!(text, "| `--{}` | {} | {reason} |", row.option(), way.name());
        }
    }
    text
}

/// Rows of a table of Markdown: environment variables.
pub fn variables() -> String {
    let mut text = "| variable | as the option |\n| --- | --- |\n".to_owned();
    for row in ROWS.iter().filter(|row| row.reason(Way::Exec).is_none()) {
        let _ = writeln!(text, "| `{}` | `{}` |", row.variable(), usage(row).replace('|', "\\|"));
    }
    text
}

/// Type of a keyword of Python.
fn python_type(row: &OptionRow) -> String {
    match row.shape {
        Shape::List => format!("{0} | Sequence[{0}]", row.python_type),
        _ => row.python_type.to_owned(),
    }
}

/// The keywords of Python: the text of a module.
pub fn python() -> String {
    let mut text = String::from(
        "\"\"\"Keywords of runs and comparisons, for type checkers and help.\n\nMade from the table of options: \
         `BLESS=1 cargo test -p warpwright-request`. Do not edit.\n\"\"\"\n\nfrom __future__ import annotations\n\n\
         import os\nfrom collections.abc import Mapping, Sequence\nfrom typing import Any, TypedDict, Union\n\n\
         PathLike = Union[str, \"os.PathLike[str]\"]\n",
    );
    let has = |row: &OptionRow, way| row.reason(way).is_none();
    let runs = |row: &OptionRow| has(row, Way::Python);
    let compares = |row: &OptionRow| has(row, Way::PythonCompare);
    let sweeps = |row: &OptionRow| has(row, Way::PythonSweep);
    let mut class = |heading: &str, rows: &dyn Fn(&OptionRow) -> bool, aliases: &dyn Fn(&OptionRow) -> bool| {
        let _ = writeln!(text, "\n\nclass {heading}");
        for row in ROWS {
            let own = std::iter::once(row.keyword()).filter(|_| rows(row));
            for name in own.chain(row.aliases.iter().copied().filter(|_| aliases(row))) {
                let (kind, meaning) = (python_type(row), meaning(row).replace("\\|", "|"));
                let _ = writeln!(text, "\n    {name}: {kind} | None\n    \"\"\"{meaning}.\"\"\"");
            }
        }
    };
    class(
        "_Options(TypedDict, total=False):\n    \"\"\"Keywords of runs, comparisons and sweeps.\"\"\"",
        &|row| runs(row) && sweeps(row),
        &|_| false,
    );
    class(
        "_Findings(_Options, total=False):\n    \"\"\"Keywords of runs and comparisons.\"\"\"",
        &|row| runs(row) && compares(row) && !sweeps(row),
        &|_| false,
    );
    class(
        "RunOptions(_Findings, total=False):\n    \"\"\"Keywords of `run` and `Device`.\"\"\"",
        &|row| runs(row) && !compares(row),
        &|_| false,
    );
    class(
        "SweepOptions(_Options, total=False):\n    \"\"\"Keywords of `sweep`; lists of GPUs, cores, schedulers and changes make columns.\"\"\"",
        &|row| sweeps(row) && !runs(row),
        &sweeps,
    );
    class(
        "CompareOptions(SweepOptions, _Findings, total=False):\n    \"\"\"Keywords of `compare`: the keywords of `sweep`, and findings.\"\"\"",
        &|row| compares(row) && !runs(row) && !sweeps(row),
        &|row| compares(row) && !sweeps(row),
    );
    text
}

/// The option that Python calls `keyword` in a call of `way`.
pub fn by_keyword(keyword: &str) -> Option<&'static OptionRow> {
    ROWS.iter().find(|row| row.keyword() == keyword || row.aliases.contains(&keyword))
}
