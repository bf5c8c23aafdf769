//! `docs/validation.md` holds the tables as they come out now. `BLESS=1` measures everything and rewrites them
//! (in release: minutes); otherwise the rows of some quantities are compared.

use lab::Setup;
use lab::validate::{Row, figure, markdown, summary, summary_text, table};
use std::fmt::Write as _;
use std::path::Path;
use workloads::Form;

/// Quantities that take a moment even without optimisation.
const QUICK: [&str; 3] = ["fp32_fma_latency", "shared_latency", "l1_latency"];

const CODES: [Form; 2] = [Form::Ptx, Form::Sass];

/// `text` with what is between `<!-- name -->` and `<!-- end of name -->` replaced.
fn replaced(text: &str, name: &str, by: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let from = text.find(&begin).unwrap_or_else(|| panic!("the document has {begin}")) + begin.len();
    let to = text.find(&end).unwrap_or_else(|| panic!("the document has {end}"));
    format!("{}\n{by}\n{}", &text[..from], &text[to..])
}

fn rows(name: &str, wanted: impl Fn(&str) -> bool) -> Vec<Row> {
    let setup = Setup::new(config::load(name).unwrap());
    let codes = if setup.gpu.sm_version < 70 { &CODES[..1] } else { &CODES };
    table(&setup, codes, |q| wanted(&q.name), 2).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The summaries of all GPUs and the table of each.
fn all() -> (String, String) {
    let mut summaries = String::from("| GPU | PTX | machine code |\n| --- | --- | --- |\n");
    let mut tables = String::new();
    for name in config::hardware() {
        let rows = rows(name, |_| true);
        let of = |code| summary_text(summary(&rows, code));
        let machine = if rows.iter().any(|row| row.machine_code.is_some()) { of(Form::Sass) } else { "-".to_owned() };
        let _ = writeln!(summaries, "| {name} | {} | {machine} |", of(Form::Ptx));
        let _ = write!(tables, "### {name}\n\n{}\n", markdown(&rows));
        let beyond = rows.iter().filter_map(|row| Some((row, row.reason?)));
        for (row, reason) in beyond {
            let _ = writeln!(tables, "- `{}`: {reason}", row.quantity);
        }
        tables.push('\n');
    }
    (summaries, tables)
}

#[test]
fn the_document_shows_the_figures_of_now() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation.md");
    let old = std::fs::read_to_string(&path).expect("docs/validation.md can be read");
    if std::env::var_os("BLESS").is_some() {
        let (summaries, tables) = all();
        let new = replaced(&replaced(&old, "summaries", &summaries), "tables", tables.trim_end());
        std::fs::write(&path, new).expect("docs/validation.md can be written");
        return;
    }
    for name in config::hardware() {
        let begin = old.find(&format!("### {name}\n")).unwrap_or_else(|| panic!("{name} has no table: BLESS=1"));
        let section = old[begin + 4..].split("###").next().unwrap_or_default();
        for row in rows(name, |quantity| QUICK.contains(&quantity)) {
            let line = markdown(std::slice::from_ref(&row));
            let line = line.lines().last().unwrap_or_default();
            assert!(section.contains(line), "docs/validation.md is out of date: BLESS=1\n{name}: {line}");
        }
    }
}

#[test]
fn every_gap_that_counts_has_a_reason() {
    for row in rows("a40", |quantity| QUICK.contains(&quantity)) {
        let found = row.of(Form::Sass).expect("machine code of the A40");
        let off = found.deviation_percent.expect("published or a relation's");
        assert!(off.abs() <= 30.0 || row.reason.is_some(), "{}: {}", row.quantity, figure(found.value));
    }
}
