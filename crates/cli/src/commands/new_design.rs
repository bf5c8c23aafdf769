//! `warpwright new-design`: the file of a core design and its registrations.

use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use kit::text::excerpt;
use std::path::{Path, PathBuf};

/// Begin a core design of your own in a checkout of Warpwright
///
/// Writes crates/designs/src/NAME.rs, an in-order design that compiles and runs, and registers it: a line in lib.rs beside it and a row in crates/lab/src/designs.rs. `warpwright docs designs/write-your-own` explains the calls that it implements.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright new-design my-core
  cargo run --release -- compare matmul bfs --cores inorder,my-core")]
pub struct Args {
    /// Name on the command line: small letters, digits and hyphens
    #[arg(value_name = "NAME")]
    name: String,
}

/// The file of a new design, in which `NewDesign` is its type. The tests of `designs` compile it.
const TEMPLATE: &str = include_str!("new_design/design.rs");
const DESIGNS: &str = "crates/designs/src";
const REGISTRY: &str = "crates/lab/src/designs.rs";

/// Writes the file and the registrations.
pub fn run(args: &Args) -> Outcome {
    let name = Name::new(&args.name).map_err(Failure::bad_input)?;
    let here =
        std::env::current_dir().map_err(|e| Failure::failed(format!("the current folder cannot be read: {e}")))?;
    let root = checkout(&here).ok_or_else(|| {
        Failure::bad_input(format!(
            "`{}` is in no checkout of Warpwright: there is no {DESIGNS}/lib.rs\n  hint: a design is part of the source; clone the repository and run this in it",
            here.display()
        ))
    })?;
    let file = root.join(DESIGNS).join(format!("{}.rs", name.module));
    let (designs, registry) = (root.join(DESIGNS).join("lib.rs"), root.join(REGISTRY));
    if lab::CORES.iter().any(|(core, _)| *core == args.name) || file.exists() || file.with_extension("").exists() {
        return Err(Failure::bad_input(format!(
            "there is a core design or a module `{}` already; choose another name",
            args.name
        )));
    }
    let read = |path: &Path| {
        let text = kit::files::read_text(path);
        text.map_err(|e| Failure::bad_input(format!("`{}` cannot be read: {e}", path.display())))
    };
    let unknown = |path: &Path| {
        Failure::bad_input(format!(
            "`{}` has no place that is known for a registration; `warpwright docs designs/write-your-own` says what to add",
            path.display()
        ))
    };
    let declared = with_module(&read(&designs)?, &name.module).ok_or_else(|| unknown(&designs))?;
    let registered = with_row(&read(&registry)?, &args.name, &name).ok_or_else(|| unknown(&registry))?;
    output::check([file.as_path(), &designs, &registry], &[])?;
    output::save(&file, TEMPLATE.replace("NewDesign", &name.type_name).as_bytes())?;
    output::save(&designs, declared.as_bytes())?;
    output::save(&registry, registered.as_bytes())?;
    let name = &args.name;
    output::print(&format!(
        "{}\n{}\n{}\n\nNext:\n  cargo run --release -- run matmul --core {name} --audit\n  INSTA_UPDATE=always cargo test -p warpwright-lab contract::   (draws its timelines)\n  cargo run --release -- compare all --cores inorder,{name}\n`warpwright docs designs/write-your-own` explains the rest.\n",
        file.display(),
        designs.display(),
        registry.display(),
    ))?;
    Ok(Exit::Success)
}

/// The names of a design in Rust.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    module: String,
    type_name: String,
}

impl Name {
    fn new(text: &str) -> Result<Self, String> {
        // Words that cannot name a module.
        const RESERVED: &[&str] = &[
            "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
            "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
            "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct",
            "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
            "yield",
        ];
        let words: Vec<&str> = text.split('-').collect();
        let is_word =
            |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if !words.iter().all(is_word) || text.starts_with(|c: char| c.is_ascii_digit()) || RESERVED.contains(&text) {
            let text = excerpt(text);
            return Err(format!(
                "`{text}` cannot be the name of a core design, which has small letters, digits and hyphens, such as my-core, and is not a word of Rust"
            ));
        }
        let capitalised = |word: &&str| word[..1].to_ascii_uppercase() + &word[1..];
        Ok(Self { module: words.join("_"), type_name: words.iter().map(capitalised).collect() })
    }
}

/// The root of the checkout that `folder` is in.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let is_root = |root: &&Path| root.join(DESIGNS).join("lib.rs").is_file() && root.join(REGISTRY).is_file();
    folder.ancestors().find(is_root).map(Path::to_owned)
}

/// `text` of the designs' `lib.rs` with `module` declared, in the order of the alphabet; `None` if nothing is
/// declared there.
fn with_module(text: &str, module: &str) -> Option<String> {
    let declared = |line: &str| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    let lines: Vec<&str> = text.lines().collect();
    let modules = || lines.iter().enumerate().filter_map(|(at, line)| Some((at, declared(line)?)));
    let after = modules().find(|(_, other)| other.as_str() > module).map(|(at, _)| at);
    let at = after.or_else(|| modules().next_back().map(|(at, _)| at + 1))?;
    let line = format!("pub mod {module};");
    Some(joined(&lines[..at], &line, &lines[at..]))
}

/// `text` of the registry with a row for the design `design` after the rows of designs; `None` if there are no rows.
fn with_row(text: &str, design: &str, name: &Name) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let invoked = lines.iter().position(|line| *line == "designs! {")?;
    let begin = invoked + lines[invoked..].iter().position(|line| line.trim() == "designs {")?;
    let end = begin + lines[begin..].iter().position(|line| line.trim() == "}")?;
    let Name { module, type_name } = name;
    let row = format!(
        "        \"{design}\": designs::{module}::{type_name}<M>, \"in-order issue behind an exact WAR scoreboard: a new design\";"
    );
    Some(joined(&lines[..end], &row, &lines[end..]))
}

fn joined(before: &[&str], line: &str, after: &[&str]) -> String {
    before.iter().chain([&line]).chain(after).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str) -> String {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
    }

    #[test]
    fn names_become_those_of_a_module_and_a_type() {
        let name = Name::new("my-core2").unwrap();
        assert_eq!((name.module.as_str(), name.type_name.as_str()), ("my_core2", "MyCore2"));
        assert!(["", "-", "a--b", "2d", "My", "my_core", "loop", "é"].iter().all(|wrong| Name::new(wrong).is_err()));
    }

    #[test]
    fn modules_are_in_the_order_of_the_alphabet() {
        let text = source(&format!("{DESIGNS}/lib.rs"));
        let modules = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| line.ends_with(';'));
            let name = |line: &str| line.trim_start_matches("pub ").strip_prefix("mod ").map(str::to_owned);
            lines.filter_map(name).collect()
        };
        for module in ["aaa", "my_core", "zzz"] {
            let with = with_module(&text, module).unwrap();
            assert!(modules(&with).is_sorted() && with.contains(&format!("\npub mod {module};\n")), "{module}");
            assert_eq!(with.replace(&format!("pub mod {module};\n"), ""), text);
        }
        assert_eq!(with_module("fn main() {}\n", "my_core"), None);
    }

    #[test]
    fn the_row_follows_those_of_designs() {
        let text = source(REGISTRY);
        let with = with_row(&text, "my-core", &Name::new("my-core").unwrap()).unwrap();
        let lines: Vec<&str> = with.lines().collect();
        let at = lines
            .iter()
            .position(|line| line.starts_with("        \"my-core\": designs::my_core::MyCore<M>,"))
            .unwrap();
        assert!(
            lines[at - 1].starts_with("        \"no-dependences\":") && lines[at + 2] == "    others {",
            "{}",
            lines[at - 1]
        );
        assert_eq!(with.lines().count(), text.lines().count() + 1);
        assert_eq!(with_row("", "my-core", &Name::new("my-core").unwrap()), None);
    }

    #[test]
    fn a_checkout_is_found_from_within() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        assert_eq!(checkout(&root.join("crates/sm/src")), Some(root));
        assert_eq!(checkout(Path::new("/")), None);
    }
}
