//! The sources keep to the syntax of the oldest Rust that the workspace names (`rust-version`): clippy checks by it which
//! functions of the standard library there are, but not the syntax.

use std::path::{Path, PathBuf};

/// Lines with a guard `if let`, which is newer: the `=>` of a match arm follows without an open bracket between.
fn guards_with_let(text: &str) -> Vec<&str> {
    let is_guard = |line: &&str| {
        let code = line.split("//").next().unwrap_or_default();
        let Some((_, guard)) = code.split_once("if let ") else { return false };
        let Some((guard, _)) = guard.split_once("=>") else { return false };
        let open = guard.chars().filter(|c| "([{".contains(*c)).count();
        open == guard.chars().filter(|c| ")]}".contains(*c)).count()
    };
    text.lines().filter(is_guard).collect()
}

#[test]
fn no_match_arm_has_a_guard_with_let() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut folders, mut files, mut found) = (vec![crates], 0, Vec::new());
    while let Some(folder) = folders.pop() {
        let inside: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        for at in inside {
            // This file has examples.
            if at.extension().is_some_and(|e| e == "rs") && !at.ends_with("tests/oldest_rust.rs") {
                files += 1;
                let text = std::fs::read_to_string(&at).unwrap();
                found.extend(guards_with_let(&text).iter().map(|line| format!("{}: {line}", at.display())));
            } else if at.is_dir() {
                folders.push(at);
            }
        }
    }
    assert!(files > 900, "only {files} files were read");
    assert!(found.is_empty(), "Rust 1.88 cannot compile:\n{}", found.join("\n"));
}

#[test]
fn guards_differ_from_conditions() {
    let text = "Some(x) if let Some(y) = f(x) => y,\n    if let Foo { a } = b =>\nif let A = match b { C => D, _ => E } {\n\
                if let Some(f) = g(|x| x) {\n// A if let B = c => d";
    assert_eq!(guards_with_let(text), ["Some(x) if let Some(y) = f(x) => y,", "    if let Foo { a } = b =>"]);
}
