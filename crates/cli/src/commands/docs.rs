//! `warpwright docs`: the pages of the documentation. Messages and help name a page by this command, because an
//! installed program has no folder `docs`.

use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use crate::render::style::{HEADING, styled};
use lzma_rust2::XzReader;
use std::io::Read as _;
use std::path::Path;

/// Print a page of the documentation, or list all
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright docs
  warpwright docs launch-files | less")]
pub struct Args {
    /// Page, such as launch-files or designs/ghost [default: the list]
    #[arg(value_name = "PAGE")]
    page: Option<String>,
}

/// Part of the book, name, title, and length in bytes of each page, in the order of `docs/SUMMARY.md`.
const PAGES: &[(&str, &str, &str, usize)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The texts of the pages, one after the other.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pages.xz"));

/// The text of the page called `name`, if there is one.
pub(super) fn text(name: &str) -> Option<String> {
    let at = PAGES.iter().position(|(_, known, ..)| *known == name)?;
    let begin: usize = PAGES[..at].iter().map(|(.., bytes)| bytes).sum();
    let mut all = String::new();
    XzReader::new(PACKED, false).read_to_string(&mut all).ok()?;
    all.get(begin..begin + PAGES[at].3).map(str::to_owned)
}

/// The pages by the parts of the book.
fn contents() -> String {
    let width = PAGES.iter().map(|(_, name, ..)| name.len()).max().unwrap_or(0);
    let part = |pages: &[(&str, &str, &str, usize)]| {
        let rows = pages.iter().map(|(_, name, title, _)| format!("  {name:width$}  {title}\n"));
        format!("{}\n{}", styled(HEADING, pages[0].0), rows.collect::<String>())
    };
    PAGES.chunk_by(|one, next| one.0 == next.0).map(part).collect::<Vec<_>>().join("\n")
}

/// Prints a page or the list.
pub fn run(args: &Args) -> Outcome {
    let text = args.page.as_deref().map_or_else(|| Ok(contents()), find)?;
    output::print(&text)?;
    Ok(Exit::Success)
}

/// The page of a name, or of the path that other pages link to.
fn find(wanted: &str) -> Result<String, Failure> {
    let path = Path::new(wanted);
    let name = path.strip_prefix("docs").unwrap_or(path).with_extension("");
    name.to_str().and_then(text).ok_or_else(|| {
        let known: Vec<&str> = PAGES.iter().map(|(_, name, ..)| *name).collect();
        Failure::unknown("page", wanted, &known)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    fn is_page(name: &str) -> bool {
        PAGES.iter().any(|(_, known, ..)| *known == name)
    }

    /// The pages that `text` names by the command, and by the path that only a checkout has.
    fn named(text: &str) -> (Vec<&str>, Vec<&str>) {
        fn part(rest: &str) -> &str {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '/'));
            &rest[..end.unwrap_or(rest.len())]
        }
        let after = |mark| text.split(mark).skip(1).map(part).filter(|name| !name.is_empty()).collect::<Vec<_>>();
        (after("warpwright docs "), after("docs/").into_iter().filter(|name| is_page(name)).collect())
    }

    fn helps(command: &mut clap::Command, to: &mut String) {
        *to += &command.render_long_help().to_string();
        command.get_subcommands_mut().for_each(|inner| helps(inner, to));
    }

    fn files(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries
            .flat_map(|path| match path.is_dir() {
                true => files(&path, ending),
                false => vec![path],
            })
            .filter(|path| path.extension().is_some_and(|found| found == ending))
            .collect()
    }

    #[test]
    fn each_page_is_the_file_of_the_checkout() {
        assert!(PAGES.len() > 40, "{}", PAGES.len());
        for (_, name, title, _) in PAGES {
            let file = fs::read_to_string(Path::new(ROOT).join(format!("docs/{name}.md"))).expect("text");
            assert!(text(name).as_ref() == Some(&file) && file.contains(&format!("# {title}\n")), "{name}");
        }
        let contents = contents();
        assert!(
            PAGES.iter().all(|(part, name, ..)| contents.contains(part) && contents.contains(&format!("\n  {name} ")))
        );
    }

    /// Help and messages name pages by this command, and only pages that it has.
    #[test]
    fn pages_that_help_and_messages_name_are_there() {
        let mut texts = String::new();
        helps(&mut crate::commands::grammar(), &mut texts);
        // A line that is broken within a name of the command is one again.
        let mut texts = texts.split_whitespace().collect::<Vec<_>>().join(" ");
        for krate in fs::read_dir(Path::new(ROOT).join("crates")).expect("a folder") {
            let source = krate.expect("an entry").path().join("src");
            for file in if source.is_dir() { files(&source, "rs") } else { Vec::new() } {
                let code = fs::read_to_string(&file).expect("text");
                // Neither comments, nor the tests below the code, nor files that it has in it.
                let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                code.lines()
                    .filter(|line| !line.trim_start().starts_with("//") && !line.contains("\"../../"))
                    .for_each(|line| texts += &format!("\n{line}"));
            }
        }
        let (by_command, by_path) = named(&texts);
        let unknown: Vec<&&str> = by_command.iter().filter(|name| !is_page(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert!(by_command.contains(&"launch-files") && by_command.contains(&"designs/write-your-own"));
        // The pages of a checkout that these commands write to.
        let written = ["accelsim", "validation"];
        let left: Vec<&&str> = by_path.iter().filter(|name| !written.contains(name)).collect();
        assert!(left.is_empty(), "name them as `warpwright docs PAGE`: {left:?}");
    }

    #[test]
    fn a_page_may_be_named_as_a_file() {
        for name in ["cuda", "cuda.md", "docs/cuda.md", "designs/ghost"] {
            assert!(find(name).is_ok(), "{name}");
        }
        let wrong = find("launch-file").unwrap_err().message;
        assert!(wrong.contains("did you mean `launch-files`?"), "{wrong}");
    }

    /// The program accepts every command in a block of a document or in the list of figures. Commands with `…`, which
    /// the user replaces, are skipped.
    #[test]
    fn commands_of_documents_are_understood() {
        let root = Path::new(ROOT);
        let mut pages = files(&root.join("docs"), "md");
        pages.push(root.join("README.md"));
        let (mut commands, mut wrong) = (0, String::new());
        for page in pages {
            let text = fs::read_to_string(&page).expect("text").replace("\\\n", " ");
            let mut is_code = false;
            for line in text.lines() {
                is_code ^= line.starts_with("```");
                let line = line.strip_prefix("$ ").unwrap_or(line);
                if !is_code || !line.starts_with("warpwright ") || line.contains('…') {
                    continue;
                }
                // The rest of the command is in the checkpoint.
                if line.contains(" --resume ") {
                    continue;
                }
                // Of a pipe the first command; brackets are around options that may be left out.
                let line = line.split(" | ").next().unwrap_or_default().split(" > ").next().unwrap_or_default();
                let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
                commands += 1;
                if let Err(said) = crate::commands::grammar().try_get_matches_from(words) {
                    wrong += &format!("{}: {line}\n{said}\n", page.display());
                }
            }
        }
        let figures = fs::read_to_string(root.join("docs/figures.toml")).expect("text");
        let figures: toml::Table = toml::from_str(&figures).expect("TOML");
        let rows = ["sample", "page"].into_iter().flat_map(|list| figures[list].as_array().expect("a list"));
        let of = |row: &toml::Value| match row.get("command") {
            Some(one) => vec![one.clone()],
            None => row["commands"].as_array().expect("a list").clone(),
        };
        for line in rows.flat_map(of) {
            let line = line.as_str().expect("a text");
            commands += 1;
            if let Err(said) =
                crate::commands::grammar().try_get_matches_from(["warpwright"].into_iter().chain(line.split(' ')))
            {
                wrong += &format!("docs/figures.toml: {line}\n{said}\n");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        assert!(commands > 110, "{commands}");
    }
}
