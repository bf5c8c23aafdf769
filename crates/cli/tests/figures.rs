//! `docs/figures.toml`: which pages a change of the model makes stale, and from which commit their figures are.

use crate::common::{command, from, json, root};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;

#[derive(Clone, Deserialize, Serialize)]
struct Figures {
    sample: Vec<Sample>,
    page: Vec<Page>,
}

/// A comparison of small runs, with the figures of each run in order.
#[derive(Clone, Deserialize, Serialize)]
struct Sample {
    name: String,
    command: String,
    cycles: Vec<u64>,
    nanojoules: Vec<u64>,
}

/// A page of `docs` with figures.
#[derive(Clone, Deserialize, Serialize)]
struct Page {
    name: String,
    /// The commands that make its figures.
    commands: Vec<String>,
    /// The commit that made the figures if the page names it, else the commit that added them to the page.
    commit: String,
    date: String,
    samples: Vec<String>,
    /// Whether it has figures of energy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    energy: bool,
    /// Samples that have changed since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stale: Vec<String>,
    /// Tables that `tools/figures` writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    table: Vec<Table>,
}

/// A table of a page: how its first line begins, and which figure each cell has.
#[derive(Clone, Deserialize, Serialize)]
struct Table {
    head: String,
    cells: String,
    columns: Vec<String>,
    rows: Vec<String>,
}

/// The start of the line in which a page states the commit of its figures.
const LINE: &str = "Figures: commit ";
const REMARK: &str = "The model has changed since.";

impl Page {
    fn line(&self) -> String {
        let remark = if self.stale.is_empty() { String::new() } else { format!(" {REMARK}") };
        format!("{LINE}{} or later, {}.{remark}", self.commit, self.date)
    }

    /// Whether `text` states commit and date, in that line or in the text of a tool that wrote the figures.
    fn is_said_in(&self, text: &str) -> bool {
        let line = text.lines().find(|line| line.starts_with(LINE));
        match line {
            Some(line) => line == self.line(),
            None => self.stale.is_empty() && text.contains(&self.commit) && text.contains(&self.date),
        }
    }

    /// The text with the line, in its place or after the first paragraph.
    fn with_line(&self, text: &str) -> String {
        let mut paragraphs: Vec<String> = text.split("\n\n").map(str::to_owned).collect();
        match paragraphs.iter_mut().find(|paragraph| paragraph.starts_with(LINE)) {
            Some(place) => *place = self.line(),
            None => paragraphs.insert(2, self.line()),
        }
        paragraphs.join("\n\n")
    }
}

/// The cycles and the energy of each run.
fn run(sample: &Sample) -> (Vec<u64>, Vec<u64>) {
    let args: Vec<&str> = sample.command.split_whitespace().chain(["--json"]).collect();
    let ran = from(command(&args).current_dir(root()).output().unwrap());
    assert_eq!(ran.status, 0, "{}\n{}", sample.command, ran.stderr);
    let report = json(&ran.stdout);
    let runs = report["runs"].as_array().unwrap();
    let of = |run: &Value, name: &str| run["report"]["total"][name].as_f64();
    let cycles = runs.iter().map(|run| of(run, "cycles").unwrap() as u64).collect();
    let energy = runs.iter().map(|run| of(run, "energy.total").map_or(0, |joules| (joules * 1e9).round() as u64));
    (cycles, energy.collect())
}

#[test]
fn pages_are_of_the_present_model() {
    let path = root().join("docs/figures.toml");
    let text = fs::read_to_string(&path).unwrap();
    let comment: String =
        text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let mut figures: Figures = toml::from_str(&text).unwrap();
    let bless = std::env::var_os("BLESS").is_some();
    let mut problems = String::new();
    for sample in &mut figures.sample {
        let (cycles, nanojoules) = run(sample);
        let (moved, heated) = (cycles != sample.cycles, nanojoules != sample.nanojoules);
        let is_new = sample.cycles.is_empty();
        for page in figures.page.iter_mut().filter(|_| moved || heated) {
            if !is_new
                && page.samples.contains(&sample.name)
                && (moved || page.energy)
                && !page.stale.contains(&sample.name)
            {
                let _ = writeln!(problems, "docs/{}.md is stale: {} has changed", page.name, sample.name);
                page.stale.push(sample.name.clone());
            }
        }
        if moved || heated {
            let _ = writeln!(
                problems,
                "`{}`: cycles {:?}, were {:?}; nJ {nanojoules:?}, were {:?}",
                sample.command, cycles, sample.cycles, sample.nanojoules
            );
            (sample.cycles, sample.nanojoules) = (cycles, nanojoules);
        }
    }
    for page in &figures.page {
        let file = root().join(format!("docs/{}.md", page.name));
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        if !page.is_said_in(&text) {
            let _ = writeln!(problems, "docs/{}.md does not say: {}", page.name, page.line());
            if bless {
                fs::write(&file, page.with_line(&text)).unwrap();
            }
        }
    }
    if bless {
        fs::write(path, format!("{comment}\n{}", toml::to_string(&figures).unwrap())).unwrap();
    }
    assert!(
        problems.is_empty() || bless,
        "{problems}`tools/figures --stale` renews the figures; with BLESS=1 this test records the change"
    );
}

#[test]
fn every_sample_and_page_is_known() {
    let figures: Figures = toml::from_str(&fs::read_to_string(root().join("docs/figures.toml")).unwrap()).unwrap();
    for page in &figures.page {
        assert!(!page.samples.is_empty() && !page.commands.is_empty(), "{}", page.name);
        for name in page.samples.iter().chain(&page.stale) {
            assert!(figures.sample.iter().any(|sample| sample.name == *name), "{}: {name}", page.name);
        }
        let text = fs::read_to_string(root().join(format!("docs/{}.md", page.name))).unwrap();
        for table in &page.table {
            let found: Vec<&str> = text.split('\n').skip_while(|line| !line.starts_with(&table.head)).collect();
            let rows: Vec<&str> = found.iter().map_while(|line| line.strip_prefix("| ")).skip(1).collect();
            for row in &table.rows {
                let (label, _) = row.split_once(": ").unwrap();
                let cells = rows.iter().find_map(|line| line.strip_prefix(label)?.strip_prefix(" | "));
                let cells = cells.unwrap_or_else(|| panic!("docs/{}.md has no row {label}", page.name));
                assert_eq!(cells.matches('|').count(), table.columns.len(), "docs/{}.md: {label}", page.name);
            }
        }
    }
    for sample in &figures.sample {
        assert!(figures.page.iter().any(|page| page.samples.contains(&sample.name)), "no page of {}", sample.name);
    }
}

#[test]
fn a_page_says_of_which_commit_its_figures_are() {
    let mut page = Page {
        name: "x".into(),
        commands: vec!["run nn".into()],
        commit: "12345678".into(),
        date: "2026-11-30".into(),
        samples: vec!["inorder".into()],
        energy: false,
        stale: Vec::new(),
        table: Vec::new(),
    };
    let bare = "# X\n\nFirst.\n\nSecond.\n";
    assert!(!page.is_said_in(bare));
    let said = page.with_line(bare);
    assert_eq!(said, "# X\n\nFirst.\n\nFigures: commit 12345678 or later, 2026-11-30.\n\nSecond.\n");
    assert!(page.is_said_in(&said) && page.is_said_in("Warpwright 0.1.0 (12345678), 2026-11-30: `x`."));
    page.stale.push("inorder".into());
    assert!(!page.is_said_in(&said) && !page.is_said_in("Warpwright 0.1.0 (12345678), 2026-11-30: `x`."));
    assert_eq!(page.with_line(&said).matches(REMARK).count(), 1);
    assert!(page.is_said_in(&page.with_line(&said)));
}
