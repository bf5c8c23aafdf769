//! Functions are of a size that a reader can hold. The test reads the indentation that rustfmt makes.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a function at most, from its `fn` to its closing brace.
const MOST_LINES: usize = 100;

/// The sources of the product under `folder`: all but files of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "test");
        if is_tests {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Whether a function begins on this line, which is not indented.
fn begins_function(line: &str) -> bool {
    let mut rest = line;
    if let Some(public) = rest.strip_prefix("pub") {
        rest = if public.starts_with('(') { public.split_once(')').map_or("", |(_, rest)| rest) } else { public };
        rest = rest.trim_start();
    }
    loop {
        if rest.starts_with("fn ") {
            return true;
        }
        let qualifier = ["const ", "async ", "unsafe ", "extern ", "\"C\" "].iter().find_map(|q| rest.strip_prefix(q));
        let Some(after) = qualifier else { return false };
        rest = after;
    }
}

/// The functions of a file outside its module of tests: the number of their first line, counted from 1, and of their
/// lines.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().zip(lines.iter().skip(1));
    let end = end.take_while(|(a, b)| **a != "#[cfg(test)]" || !b.starts_with("mod ") || b.ends_with(';')).count();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().take(end) {
        let indent = line.len() - line.trim_start().len();
        // A function of a line, a declaration without a body.
        if !begins_function(line.trim_start()) || line.ends_with(['}', ';']) {
            continue;
        }
        let closes = |line: &&str| {
            line.get(..indent).is_some_and(|blank| blank.trim().is_empty()) && line[indent..].starts_with(['}', ')'])
        };
        let mut closing = lines.iter().enumerate().skip(at + 1).filter(|(_, line)| closes(line));
        let last = closing.find(|(_, line)| line[indent..].starts_with('}') || line.ends_with(';'));
        // A long signature without a body; a signature that a macro reads.
        let Some((last, _)) = last.filter(|(_, line)| !line.ends_with(';')) else { continue };
        found.push((at + 1, last + 1 - at));
    }
    found
}

#[test]
fn functions_have_at_most_a_hundred_lines() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")) {
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    let (mut count, mut long) = (0, Vec::new());
    for path in files {
        for (line, lines) in functions(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            if lines > MOST_LINES {
                long.push(format!("{}:{line}: {lines} lines", path.display()));
            }
        }
    }
    assert!(count > 5_000, "only {count} functions were read");
    assert!(long.is_empty(), "longer than {MOST_LINES} lines:\n{}", long.join("\n"));
}

#[test]
fn lines_of_functions_are_counted() {
    let text = "fn one() {}\n\
                pub(crate) const unsafe fn four(\n    a: u8,\n) {\n}\n\
                trait T {\n    fn none(\n        &self,\n    );\n    fn three() {\n        fn inner() {}\n    }\n}\n\
                extern \"C\" fn two() {\n}\n\
                #[cfg(test)]\nmod tests {\n    fn three() {\n        ();\n    }\n}\n";
    assert_eq!(functions(text), [(2, 4), (10, 3), (14, 2)]);
    let long = format!("fn long() {{\n{}}}\n", "    f();\n".repeat(99));
    assert_eq!(functions(&long), [(1, 101)]);
}
