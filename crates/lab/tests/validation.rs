//! `docs/validation.md` holds the table as it comes out now: rewritten with `BLESS=1`, compared
//! otherwise.

use lab::Setup;
use lab::validate::{Reason, markdown, side_by_side, table};
use std::path::Path;

/// GPUs of which the document shows the figures.
const GPUS: [&str; 6] = ["titanv", "rtx3070", "a40", "v100", "rtx2060s", "gtx480"];

/// `text` with what stands between `<!-- name -->` and `<!-- end of name -->` replaced.
fn replaced(text: &str, name: &str, by: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let from = text.find(&begin).unwrap_or_else(|| panic!("the document has {begin}")) + begin.len();
    let to = text.find(&end).unwrap_or_else(|| panic!("the document has {end}"));
    format!("{}\n{by}\n{}", &text[..from], &text[to..])
}

#[test]
fn the_document_shows_the_figures_of_now() {
    let mut rows = Vec::new();
    for name in GPUS {
        let gpu = config::load(name).unwrap();
        let setup = Setup::new(gpu);
        rows.extend(table(&setup).unwrap_or_else(|e| panic!("{name}: {e}")));
    }
    let ours = side_by_side(&rows);
    let measured: Vec<_> = rows.into_iter().filter(|r| r.measured.is_some()).collect();
    assert!(measured.iter().all(|r| r.reason != Reason::Unexplained.name()), "every gap has a reason: {measured:?}");
    let reasons = Reason::ALL.iter().filter(|r| measured.iter().any(|row| row.reason == r.name()));
    let reasons: String = reasons.map(|r| format!("- `{}`: {}\n", r.name(), r.text())).collect();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation.md");
    let old = std::fs::read_to_string(&path).expect("docs/validation.md can be read");
    let mut new = replaced(&old, "table", &markdown(&measured));
    new = replaced(&new, "reasons", &reasons);
    new = replaced(&new, "ours", &ours);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, new).expect("docs/validation.md can be written");
    } else {
        assert!(new == old, "docs/validation.md is out of date: run this test with BLESS=1\n{new}");
    }
}
