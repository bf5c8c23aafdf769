//! The tables in `docs/gpus.md` agree with the schema. Renew them with `BLESS=1`. `docs/from-accel-sim.md` pairs
//! options with the keys that the importer reads from them.

use config::schema::{self, KEYS, Key, ValueKind};
use kit::text::with_section;
use std::fmt::Write;

/// The table of keys, one heading per TOML table.
fn keys() -> String {
    let mut out = String::new();
    let mut section = None;
    for Key { path, kind, unit, doc, .. } in KEYS {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        if section != Some(table) {
            section = Some(table);
            let heading = if table.is_empty() { "Top level".to_string() } else { format!("`[{table}]`") };
            write!(out, "\n### {heading}\n\n| key | value | unit | meaning |\n| --- | --- | --- | --- |\n").unwrap();
        }
        let value = kind.describe();
        write!(out, "| `{key}` | {value} | {unit} | {doc}").unwrap();
        if let ValueKind::Choice(words) = kind {
            words.iter().for_each(|word| write!(out, " `{word}`: {}", word.meaning).unwrap());
        }
        writeln!(out, " |").unwrap();
    }
    out
}

fn classes() -> String {
    let mut out = "\n| class | part of | what belongs to it |\n| --- | --- | --- |\n".to_string();
    for class in isa::OpClass::ALL {
        let name = |class: isa::OpClass| format!("`{}`", class.name());
        let whole = class.part_of().map_or_else(String::new, |ptx| match class.part_of_in_machine_code() {
            Some(sass) if sass != ptx => format!("{}, in machine code {}", name(ptx), name(sass)),
            _ => name(ptx),
        });
        writeln!(out, "| {} | {whole} | {} |", name(*class), class.description()).unwrap();
    }
    out
}

fn types() -> String {
    let mut out = "\n| type | operations |\n| --- | --- |\n".to_string();
    for ty in isa::MatrixType::ALL {
        writeln!(out, "| `{}` | {} |", ty.name(), ty.description()).unwrap();
    }
    out
}

#[test]
fn the_document_has_the_tables_of_the_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gpus.md");
    let text = std::fs::read_to_string(path).unwrap();
    let sections = [("keys", keys()), ("classes", classes()), ("types", types())];
    let expected = sections
        .iter()
        .fold(text.clone(), |text, (name, body)| with_section(&text, name, &format!("{body}\n")).unwrap());
    if text != expected {
        assert!(std::env::var_os("BLESS").is_some(), "docs/gpus.md is out of date: run with BLESS=1");
        std::fs::write(path, expected).unwrap();
    }
}

#[test]
fn every_key_is_explained() {
    for key in KEYS {
        assert!(key.doc.ends_with('.'), "{}", key.path);
        assert!(!key.doc.contains('|') && !key.unit.contains('|'), "{}", key.path);
    }
    assert!(schema::paths().count() > KEYS.len());
}

/// Descriptions that were imported name the options of each key as its source.
#[test]
fn options_of_accel_sim_are_beside_the_keys_that_they_set() {
    let page = include_str!("../../../docs/from-accel-sim.md");
    let imported = include_str!("../../../gpus/accel-sim/rtx2060s.toml");
    let sources: toml::Table = toml::from_str(imported).unwrap();
    let sources = sources["sources"].as_table().unwrap();
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let mut rows = 0;
    for (options, key) in
        page.lines().filter(|line| line.starts_with("| `-")).filter_map(|line| line.split_once("` | `"))
    {
        let key = key.trim_end_matches("` |");
        let source = sources.get(key).unwrap_or_else(|| panic!("`{key}` has no source")).as_str().unwrap();
        for option in names(&format!("{options}`")) {
            assert!(source.contains(&format!(": {option} ")), "{key}: {option} is not in: {source}");
        }
        rows += 1;
    }
    assert!(rows > 30, "{rows}");
}
