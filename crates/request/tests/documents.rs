//! Documents and Python say what the table of options says. Renew them with `BLESS=1`.

use kit::text::{between, with_section};
use request::documents::{Call, options, reasons, variables};
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
fn calls_of_python_have_the_options_as_keywords() {
    for call in Call::ALL {
        let file = match call {
            Call::Run => "_run.py",
            Call::Compare => "_compare.py",
            Call::Sweep => "_sweep.py",
            Call::Device | Call::Launch => "_device.py",
        };
        let indent = if call == Call::Device { "    " } else { "" };
        let indented = |text: String| text.lines().map(|line| format!("{indent}{line}\n")).collect::<String>();
        check(&format!("crates/python/python/warpwright/{file}"), |text| {
            let begin = format!(
                "{indent}    # Options of `{}`, made by `BLESS=1 cargo test -p warpwright-request`.\n",
                call.name()
            );
            let end = format!("{indent}    # End of the options.\n");
            let text = between(text, &begin, &end, &indented(call.parameters())).unwrap();
            // The others refer to `run`.
            match call {
                Call::Run | Call::Compare | Call::Sweep => {
                    between(&text, "    Options\n    -------\n", "    \"\"\"\n", &call.meanings()).unwrap()
                }
                Call::Device | Call::Launch => text,
            }
        });
    }
}
