//! The sources keep to the syntax of the oldest Rust that the workspace names (`rust-version`): clippy checks by it which
//! functions of the standard library there are, but not the syntax.

use crate::imports::words;
use std::path::{Path, PathBuf};

/// Whether a text has a guard with `let`, which is newer: after a condition with `let` follows the `=>` of a match arm.
fn has_guard_with_let(text: &str) -> bool {
    let words = words(text);
    let is = |at: usize, word: &str| words.get(at).is_some_and(|w| w == word);
    let begins = |at: usize| is(at, "let") && at > 0 && (is(at - 1, "if") || is(at - 1, "&"));
    let is_guard = |begin: usize| {
        let mut depth = 0;
        for (at, word) in words.iter().enumerate().skip(begin) {
            match word.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => return false,
                ")" | "]" | "}" => depth -= 1,
                ";" | "," if depth == 0 => return false,
                "=" if depth == 0 && is(at + 1, ">") => return true,
                _ => {}
            }
        }
        false
    };
    (0..words.len()).any(|at| begins(at) && is_guard(at))
}

#[test]
fn no_match_arm_has_a_guard_with_let() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut folders, mut files, mut found) = (vec![crates], 0, Vec::new());
    while let Some(folder) = folders.pop() {
        let inside: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        for at in inside {
            if at.extension().is_some_and(|e| e == "rs") {
                files += 1;
                let has_guard = has_guard_with_let(&std::fs::read_to_string(&at).unwrap());
                found.extend(has_guard.then(|| at.display().to_string()));
            } else if at.is_dir() {
                folders.push(at);
            }
        }
    }
    assert!(files > 900, "only {files} files were read");
    assert!(found.is_empty(), "a guard with `let`, which Rust 1.88 does not have, is in {}", found.join(", "));
}

#[test]
fn guards_differ_from_conditions() {
    for guard in ["A if let B = c => d", "_ if a()\n && let Some(b) = c() =>\n {}", "A if let Foo { b } = c => d"] {
        assert!(has_guard_with_let(&format!("match x {{ {guard} }}")), "{guard}");
    }
    let conditions = "if let A = match b { C => D, _ => E } { f() } while a && let Some(b) = c { d(|x| x); }\n\
                      match x { A => if let B = c { d } else { e }, F if g => h, /* A if let B = c => d */ }";
    assert!(!has_guard_with_let(conditions));
}
