//! Timelines drawn in the pages of core designs are those that tests of the designs draw.

use std::fs;
use std::path::{Path, PathBuf};

/// Adds all files below `folder` with this end of their names.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

/// The stages of a row such as `sfu r1, r50  DI.CE..W  waits`: the word of letters and dots that begins with decode.
fn stages(row: &str) -> Option<&str> {
    let is_stages = |word: &&str| {
        word.len() > 7 && word.starts_with('D') && word.contains('I') && word.chars().all(|c| "DICEW.".contains(c))
    };
    row.split_whitespace().find(is_stages).map(|word| word.trim_end_matches('.'))
}

#[test]
fn drawn_timelines_are_in_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut sources, mut pages) = (Vec::new(), Vec::new());
    for tests in ["crates/designs/tests", "crates/designs/src", "crates/sm/tests"] {
        files(&root.join(tests), ".rs", &mut sources);
    }
    files(&root.join("docs/designs"), ".md", &mut pages);
    let tests: String = sources.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut drawn = 0;
    for page in pages {
        for row in fs::read_to_string(&page).unwrap().lines() {
            let Some(stages) = stages(row) else { continue };
            drawn += 1;
            assert!(tests.contains(stages), "no test draws this row of {}: {row}", page.display());
        }
    }
    assert!(drawn > 50, "{drawn}");
}

#[test]
fn rows_of_timelines_are_recognised() {
    assert_eq!(stages("sfu r1, r50  DI.CE....W   waits for r1"), Some("DI.CE....W"));
    assert_eq!(stages("int_add r6, r5  D......I.CE.."), Some("D......I.CE"));
    assert_eq!(stages("The DRAM is not refreshed, D.E.W. said"), None);
}
