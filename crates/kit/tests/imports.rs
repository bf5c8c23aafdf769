//! No two files of a crate import each other, directly or through others: the files of each crate have an
//! order in which they can be read. The test reads `use` declarations and paths in code and follows each
//! through re-exports to the file that defines the name. Test modules within files and re-exports are not
//! counted. In the Python package imports for types and within functions are counted, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type ModulePath = Vec<String>;

/// A source file: its imports and re-exports.
#[derive(Default)]
struct File {
    /// Paths that its code names, from the crate's root.
    imports: Vec<ModulePath>,
    /// Names that it re-exports, with the paths they come from; `*` for all of a module.
    reexports: Vec<(String, ModulePath)>,
}

/// The files of a crate by module.
type Crate = BTreeMap<ModulePath, File>;

#[test]
fn files_do_not_import_each_other_in_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = std::fs::read_dir(crates).unwrap().map(|e| e.unwrap().path().join("src")).collect();
    folders.sort();
    let mut problems = Vec::new();
    let mut files = 0;
    for folder in folders.iter().filter(|f| f.is_dir()) {
        let name = folder.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let parsed = parse_crate(folder);
        files += parsed.len();
        problems.extend(circles(&parsed).iter().map(|circle| format!("{name}: {}", circle.join(", "))));
    }
    assert!(files > 300, "only {files} files were read");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_circle_is_found_through_reexports_and_grouped_paths() {
    let texts = [
        ("", "mod a; mod b; mod c; pub use a::Tool;"),
        ("a", "use crate::{b::{One, Two as Three}}; pub struct Tool;"),
        ("b", "/* crate::c::X */ fn f() -> super::c::X { \"crate::a::Tool\" }"),
        ("c", "use crate::Tool; #[cfg(test)] mod tests { use crate::b::One; }"),
        ("d", "use crate::a::Tool;"),
    ];
    let files: Crate = texts
        .iter()
        .map(|(module, text)| {
            let module = path(module);
            let children: BTreeSet<String> =
                texts.iter().filter(|t| module.is_empty() && !t.0.is_empty()).map(|t| t.0.into()).collect();
            (module.clone(), parse(text, &module, &children))
        })
        .collect();
    assert_eq!(circles(&files), [["a", "b", "c"]]);
}

/// The files of the Python package by module; `__init__` is the root.
fn parse_python(folder: &Path) -> Crate {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sources = paths.filter(|path| path.extension().is_some_and(|e| e == "py"));
    let module = |path: &Path| path.file_stem().unwrap().to_str().unwrap().replace("__init__", "");
    python_package(sources.map(|at| (path(&module(&at)), std::fs::read_to_string(&at).unwrap())))
}

/// The files of a Python package, with imports of the others only: `_native` is made from Rust.
fn python_package(texts: impl Iterator<Item = (ModulePath, String)>) -> Crate {
    let mut files: Crate = texts.map(|(module, text)| (module, python(&text))).collect();
    let known: BTreeSet<ModulePath> = files.keys().cloned().collect();
    files.values_mut().for_each(|file| file.imports.retain(|import| known.contains(import)));
    files
}

/// Reads the imports of a file of the Python package from others of it.
fn python(text: &str) -> File {
    let mut file = File::default();
    for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("from .")) {
        let Some((from, names)) = line.split_once(" import ") else { continue };
        let names = names.split(',').filter_map(|name| name.split_whitespace().next());
        match from {
            "" => file.imports.extend(names.map(path)),
            from => file.imports.push(path(from)),
        }
    }
    file
}

#[test]
fn files_of_python_do_not_import_each_other_in_circles() {
    let files = parse_python(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/python/warpwright"));
    assert!(files.len() > 10 && files.values().map(|file| file.imports.len()).sum::<usize>() > 30);
    assert_eq!(circles(&files), Vec::<Vec<String>>::new());
}

#[test]
fn a_circle_of_python_is_found_through_types_and_functions() {
    let texts = [
        ("", "from ._a import A\nfrom . import _b"),
        ("_a", "if TYPE_CHECKING:\n    from ._b import B, C\n"),
        ("_b", "import os\nfrom os import path\ndef f():\n    from . import _native, _c as c\n"),
        ("_c", "from ._a import A"),
        ("_d", "from ._a import A\n# from ._e import E"),
    ];
    let files = python_package(texts.iter().map(|(module, text)| (path(module), (*text).to_owned())));
    assert_eq!(circles(&files), [["_a", "_b", "_c"]]);
}

fn parse_crate(folder: &Path) -> Crate {
    let mut texts: BTreeMap<ModulePath, String> = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), ModulePath::new())];
    while let Some((folder, module)) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let at = entry.unwrap().path();
            let stem = at.file_stem().unwrap().to_str().unwrap().to_owned();
            let inner = [&module[..], std::slice::from_ref(&stem)].concat();
            if at.is_dir() {
                folders.push((at, inner));
            } else if at.extension().is_some_and(|e| e == "rs") {
                let module = if ["mod", "lib", "main"].contains(&&*stem) { module.clone() } else { inner };
                texts.entry(module).or_default().push_str(&std::fs::read_to_string(at).unwrap());
            }
        }
    }
    let children = |of: &ModulePath| {
        texts
            .keys()
            .filter(|m| m.len() == of.len() + 1 && m.starts_with(of))
            .map(|m| m.last().unwrap().clone())
            .collect()
    };
    texts.iter().map(|(module, text)| (module.clone(), parse(text, module, &children(module)))).collect()
}

/// Reads the imports of the file of `module`, which has child modules `children`.
fn parse(text: &str, module: &ModulePath, children: &BTreeSet<String>) -> File {
    let words = words(text);
    let mut file = File::default();
    let mut at = 0;
    while at < words.len() {
        // A module of tests follows, which ends the file.
        if words[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]", "mod"].map(String::from)) {
            break;
        }
        // Excludes the `use<'a>` of a type.
        if words[at] == "use" && words.get(at + 1).is_some_and(|w| w != "<") {
            let public = at > 0 && (words[at - 1] == "pub" || words[at - 1] == ")");
            let mut found = Vec::new();
            at = expand(&words, at + 1, &[], &mut found);
            for (name, names) in found {
                let Some(from) = absolute(&names, module, children) else { continue };
                if public {
                    file.reexports.push((name, from));
                } else {
                    file.imports.push(from);
                }
            }
            continue;
        }
        let follows_path = at > 0 && (words[at - 1] == "::" || words[at - 1] == ".");
        if !follows_path && words.get(at + 1).is_some_and(|w| w == "::") {
            let names: Vec<String> =
                words[at..].chunks(2).take_while(|c| c.len() == 2 && c[1] == "::").map(|c| c[0].clone()).collect();
            let last = words.get(at + 2 * names.len()).cloned();
            let names: Vec<String> = names.into_iter().chain(last).collect();
            file.imports.extend(absolute(&names, module, children));
            at += 2 * names.len() - 1;
            continue;
        }
        at += 1;
    }
    file
}

/// The names, `::` and punctuation of a text, without comments and literals.
pub fn words(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut words, mut at) = (Vec::new(), 0);
    let is = |at: usize, s: &str| s.chars().enumerate().all(|(k, c)| chars.get(at + k) == Some(&c));
    while at < chars.len() {
        let c = chars[at];
        if is(at, "//") {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if is(at, "/*") {
            while at < chars.len() && !is(at, "*/") {
                at += 1;
            }
            at += 2;
        } else if is(at, "r\"") || is(at, "r#\"") {
            let end = if is(at, "r\"") { "\"" } else { "\"#" };
            at += 3;
            while at < chars.len() && !is(at, end) {
                at += 1;
            }
            at += end.len();
        } else if c == '"' {
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                at += 1 + usize::from(chars[at] == '\\');
            }
            at += 1;
        } else if c == '\'' && (chars.get(at + 2) == Some(&'\'') || chars.get(at + 1) == Some(&'\\')) {
            at += 2;
            while at < chars.len() && chars[at] != '\'' {
                at += 1;
            }
            at += 1;
        } else if c.is_alphanumeric() || c == '_' {
            let start = at;
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                at += 1;
            }
            words.push(chars[start..at].iter().collect());
        } else {
            let length = if is(at, "::") { 2 } else { 1 };
            if !c.is_whitespace() {
                words.push(chars[at..at + length].iter().collect());
            }
            at += length;
        }
    }
    words
}

/// The paths of a `use` tree that starts at word `at`, each with the name that it gets. Returns the word after it.
fn expand(words: &[String], mut at: usize, before: &[String], found: &mut Vec<(String, ModulePath)>) -> usize {
    let mut names = before.to_vec();
    loop {
        match words.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while words.get(at).is_some_and(|w| w != "}" && w != ";") {
                    at = expand(words, at, &names, found);
                    at += usize::from(words.get(at).is_some_and(|w| w == ","));
                }
                return at + 1;
            }
            Some("::") => at += 1,
            Some(";" | "," | "}") | None => break,
            Some("as") => {
                found.push((words[at + 1].clone(), names));
                return at + 2;
            }
            Some(name) => {
                names.push(name.to_owned());
                at += 1;
            }
        }
    }
    found.push((names.last().cloned().unwrap_or_default(), names));
    at
}

/// A path from the crate's root; none if it is of another crate.
fn absolute(names: &[String], module: &ModulePath, children: &BTreeSet<String>) -> Option<ModulePath> {
    let mut from = module.clone();
    let mut rest = names;
    match names.first()?.as_str() {
        "crate" => from.clear(),
        "self" => {}
        "super" => {
            while rest.first().is_some_and(|n| n == "super") {
                from.pop();
                rest = &rest[1..];
            }
            return Some([&from[..], rest].concat());
        }
        child if children.contains(child) => return Some([&from[..], names].concat()),
        _ => return None,
    }
    Some([&from[..], &rest[1..]].concat())
}

/// The module whose file defines what a path names.
fn definer(files: &Crate, names: &ModulePath) -> ModulePath {
    let mut names = names.clone();
    // Bounded, since re-exports may form a cycle.
    for _ in 0..20 {
        let depth = (0..=names.len()).rev().find(|&n| files.contains_key(&names[..n])).unwrap_or(0);
        let module = names[..depth].to_vec();
        let Some(name) = names.get(depth) else { return module };
        let file = &files[&module];
        let Some((_, from)) = file.reexports.iter().find(|(known, _)| known == name) else { return module };
        if from == &names {
            return module;
        }
        names = [&from[..], &names[depth + 1..]].concat();
    }
    names
}

/// The sets of files that can be reached from each other.
fn circles(files: &Crate) -> Vec<Vec<String>> {
    let modules: Vec<&ModulePath> = files.keys().collect();
    let number = |m: &ModulePath| modules.binary_search(&m).unwrap();
    let mut reached = vec![vec![false; modules.len()]; modules.len()];
    for (module, file) in files {
        for import in &file.imports {
            let to = definer(files, import);
            if &to != module && files.contains_key(&to) {
                reached[number(module)][number(&to)] = true;
            }
        }
    }
    for via in 0..modules.len() {
        let through = reached[via].clone();
        for row in reached.iter_mut().filter(|row| row[via]) {
            row.iter_mut().zip(&through).for_each(|(to, also)| *to |= also);
        }
    }
    let mut circles: Vec<Vec<String>> = Vec::new();
    let both_ways = |a: usize, b: &usize| reached[a][*b] && reached[*b][a];
    for a in 0..modules.len() {
        if (0..modules.len()).find(|b| both_ways(a, b)) == Some(a) {
            let all = (0..modules.len()).filter(|b| both_ways(a, b));
            circles
                .push(all.map(|b| if modules[b].is_empty() { "lib".into() } else { modules[b].join("::") }).collect());
        }
    }
    circles
}

fn path(module: &str) -> ModulePath {
    module.split("::").filter(|s| !s.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_file_of_tests_is_run() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut missing = Vec::new();
    let folders = std::fs::read_dir(crates).unwrap().map(|e| e.unwrap().path().join("tests"));
    for folder in folders {
        let Ok(main) = std::fs::read_to_string(folder.join("main.rs")) else { continue };
        for path in std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_tests = path.extension().is_some_and(|e| e == "rs") && name != "main";
            if is_tests && !main.contains(&format!("mod {name};\n")) {
                missing.push(path.display().to_string());
            }
        }
    }
    assert!(missing.is_empty(), "the main.rs beside them does not name {}", missing.join(", "));
}
