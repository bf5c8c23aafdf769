//! Documents show the output of commands: each line of a block that begins with `$ ` is run, and its whole standard
//! output must be the lines that follow. A line `…` matches any number of lines. Figures of the host and the build, in
//! lines that begin with `Simulated in` or `warpwright `, change with each run and are compared as `#`.
//!
//! `BLESS=1 cargo test -p warpwright --test all -- shown` renews lines of which only figures have changed. Read the
//! text around them again.

use crate::common::{command, from, root};
use std::fs;
use std::path::{Path, PathBuf};

/// A command with the lines that a document shows after it.
struct Shown<'a> {
    command: &'a str,
    output: Vec<&'a str>,
}

/// The blocks between fences of a document.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in text.lines() {
        match (&mut open, line.starts_with("```")) {
            (None, true) => open = Some(Vec::new()),
            (Some(_), true) => blocks.extend(open.take()),
            (Some(block), false) => block.push(line),
            (None, false) => {}
        }
    }
    blocks
}

/// The commands that a document shows with their output.
fn shown(text: &str) -> Vec<Shown<'_>> {
    let mut all: Vec<Shown<'_>> = Vec::new();
    for block in blocks(text) {
        let mut is_open = false;
        for line in block {
            if let Some(command) = line.strip_prefix("$ ") {
                all.push(Shown { command, output: Vec::new() });
                is_open = true;
            } else if is_open {
                all.last_mut().unwrap().output.push(line);
            }
        }
    }
    // A command without output is for the reader to run.
    all.retain(|shown| !shown.output.is_empty());
    all
}

/// A line in which figures of the host and the build are `#`.
fn masked(line: &str) -> String {
    let line = line.trim_end();
    if !["Simulated in ", "warpwright "].iter().any(|begin| line.starts_with(begin)) {
        return line.to_owned();
    }
    let is_figure = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    line.split(' ').map(|word| if is_figure(&word) { "#" } else { word }).collect::<Vec<_>>().join(" ")
}

/// A line without its figures and bars, for a figure that has changed.
fn words(line: &str) -> String {
    let is_figure = |word: &&str| word.contains(|c: char| c.is_ascii_digit() || c == '█');
    line.split_whitespace().filter(|word| !is_figure(word)).collect::<Vec<_>>().join(" ")
}

/// The lines of `printed` that match `expected`. Lines between two `…` must be consecutive. Two lines match if `form`
/// is equal for both. `Err` holds the first part without a match.
fn placed(expected: &[&str], printed: &str, form: fn(&str) -> String) -> Result<Vec<String>, String> {
    let is_gap = |line: &&str| ["…", "..."].contains(&line.trim());
    let printed: Vec<&str> = printed.lines().collect();
    let same = |part: &[&str], lines: &[&str]| {
        part.len() == lines.len() && part.iter().zip(lines).all(|(a, b)| form(a) == form(b))
    };
    let parts: Vec<&[&str]> = expected.split(is_gap).collect();
    let (mut rest, mut found) = (&printed[..], Vec::new());
    for (i, part) in parts.iter().enumerate() {
        let size = part.len();
        let (is_first, is_last) = (i == 0, i + 1 == parts.len());
        // The first part must begin the output and the last one end it; next to a gap these are empty.
        let mut places = 0..=rest.len().saturating_sub(size);
        let at = places.find(|&at| {
            (at == 0 || !is_first)
                && (at + size == rest.len() || !is_last || size == 0)
                && same(part, rest.get(at..at + size).unwrap_or_default())
        });
        let at = at.ok_or_else(|| part.join("\n"))?;
        found.extend((i > 0).then(|| "…".to_owned()));
        found.extend(rest[at..at + size].iter().map(|line| line.trim_end().to_owned()));
        rest = &rest[at + size..];
    }
    Ok(found)
}

/// All documents in `folder` and its subfolders.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| if path.is_dir() { documents(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// An empty folder with links to folders of the checkout, for commands that write files.
#[cfg(unix)]
fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["examples", "gpus"] {
        std::os::unix::fs::symlink(root().join(name).canonicalize().unwrap(), folder.path().join(name)).unwrap();
    }
    folder
}

#[cfg(unix)]
#[test]
fn commands_print_what_documents_show() {
    let mut pages = documents(&root().join("docs"));
    pages.push(root().join("README.md"));
    let (mut commands, mut stale) = (0, String::new());
    let bless = std::env::var_os("BLESS").is_some();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let mut renewed = text.clone();
        for Shown { command: line, output } in shown(&text) {
            let args: Vec<&str> =
                line.strip_prefix("warpwright ").expect("a command of ours").split_whitespace().collect();
            let folder = workplace();
            let ran = from(command(&args).current_dir(folder.path()).output().unwrap());
            assert_eq!(ran.status, 0, "{}: {line}\n{}", page.display(), ran.stderr);
            commands += 1;
            let Err(part) = placed(&output, &ran.stdout, masked) else { continue };
            match placed(&output, &ran.stdout, words) {
                Ok(now) if bless => {
                    let [old, new] = [output.join("\n"), now.join("\n")].map(|lines| format!("$ {line}\n{lines}\n"));
                    renewed = renewed.replacen(&old, &new, 1);
                }
                _ => stale += &format!("{}: `{line}` does not print\n{part}\nbut\n{}\n", page.display(), ran.stdout),
            }
        }
        if renewed != text {
            fs::write(&page, renewed).unwrap();
        }
    }
    assert!(stale.is_empty(), "{stale}\n`BLESS=1` renews figures");
    assert!(commands >= 6, "{commands}");
}

/// The README's commands without output succeed, too.
#[test]
fn the_readmes_commands_work() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let lines: Vec<&str> = blocks(&readme).concat();
    let commands: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("warpwright ")).collect();
    assert!(!commands.is_empty());
    for line in commands {
        let args: Vec<&str> = line.split_whitespace().collect();
        let ran = from(command(&args).current_dir(root()).output().unwrap());
        assert_eq!(ran.status, 0, "{line}\n{}", ran.stderr);
    }
}

#[test]
fn lines_that_are_not_printed_are_found() {
    let printed = "a 1\nb\nc\nd\nSimulated in 0.1 s with 4 MiB\n";
    let missing = |expected: &[&str]| placed(expected, printed, masked).err();
    assert_eq!(missing(&["a 1", "b", "c", "d", "Simulated in 7 s with 51 MiB"]), None);
    assert_eq!(missing(&["a 1", "…", "c", "d", "…"]), None);
    assert_eq!(missing(&["…", "b", "…"]), None);
    // Not in this order, not one after the other, not from the start, not to the end, another figure.
    assert_eq!(missing(&["…", "c", "…", "b", "…"]).as_deref(), Some("b"));
    assert_eq!(missing(&["…", "a 1", "c", "…"]).as_deref(), Some("a 1\nc"));
    assert_eq!(missing(&["b", "…"]).as_deref(), Some("b"));
    assert_eq!(missing(&["a 1", "…", "d"]).as_deref(), Some("d"));
    assert_eq!(missing(&["a 2", "…"]).as_deref(), Some("a 2"));
    assert_eq!(missing(&["…", "Simulated in 7 s with 51 GiB"]).as_deref(), Some("Simulated in 7 s with 51 GiB"));
    assert_eq!(placed(&["a 2", "b", "…"], printed, words).unwrap(), ["a 1", "b", "…"]);
}

/// Pages show the messages that their own examples give once the mistakes are in them.
#[test]
fn mistakes_in_examples_have_the_messages_shown() {
    let folder = tempfile::tempdir().unwrap();
    for (page, file, command_line, first, mistakes) in [
        (
            "launch-files",
            "saxpy.toml",
            &["run", "saxpy.toml"][..],
            "module = ",
            &[("length = \"n\"\nrandom", "lenght = \"n\"\nrandom"), ("[2.5, \"x\"", "[2.5, \"z\"")][..],
        ),
        (
            "gpus",
            "mine.toml",
            &["run", "vectoradd", "--gpu", "mine.toml"],
            "extends = ",
            &[("[sm.l1d.cache]", "[sm]\nmax_warps = 130\n\n[sm.operands]\nsub_core = true\n\n[sm.l1d.cache]")],
        ),
    ] {
        let text = fs::read_to_string(root().join(format!("docs/{page}.md"))).unwrap();
        let blocks = blocks(&text);
        let block = |begin: &str| {
            let found = blocks.iter().find(|block| block.first().is_some_and(|line| line.starts_with(begin)));
            found.unwrap_or_else(|| panic!("{page}: {begin}")).join("\n")
        };
        let mut example = block(first);
        for (right, wrong) in mistakes {
            assert!(example.contains(right), "{page}: {right}");
            example = example.replacen(right, wrong, 1);
        }
        fs::write(folder.path().join(file), example).unwrap();
        let ran = from(command(command_line).current_dir(folder.path()).output().unwrap());
        let shown = block(&format!("{file}:"));
        assert!(ran.status == 2 && ran.stderr.contains(&shown), "{page} shows\n{shown}\nbut\n{}", ran.stderr);
    }
}

#[test]
fn the_citation_is_of_this_version() {
    let citation = fs::read_to_string(root().join("CITATION.cff")).unwrap();
    let version = citation.lines().find_map(|line| line.strip_prefix("version: "));
    assert_eq!(version, Some(env!("CARGO_PKG_VERSION")));
}
