//! Documents and Python say what the table of options says. Renew them with `BLESS=1`.

use kit::text::with_section;
use request::documents::{options, python, reasons, variables};
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Compares a file with what it should be; with `BLESS=1`, makes it so.
fn check(file: &str, expected: impl FnOnce(&str) -> String) {
    let path = root().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let expected = expected(&text);
    if text != expected {
        assert!(std::env::var_os("BLESS").is_some(), "{file} is out of date: run with BLESS=1");
        std::fs::write(path, expected).unwrap();
    }
}

#[test]
fn the_documents_have_the_table_of_options() {
    let tables = [("options", options()), ("reasons", reasons()), ("variables", variables())];
    check("docs/options.md", |text| {
        tables
            .iter()
            .fold(text.to_owned(), |text, (name, table)| with_section(&text, name, &format!("\n{table}\n")).unwrap())
    });
}

#[test]
fn python_has_the_options_as_keywords() {
    check("crates/python/python/warpwright/_options.py", |_| python());
}
