//! `warpwright docs`: the pages of the documentation. Messages and help name a page by this command, because an
//! installed program has no folder `docs`.

use crate::failure::{Exit, Failure, Outcome};
use crate::output;
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

macro_rules! pages {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../../../docs/", $name, ".md")))),*]
    };
}

/// Name and text.
const PAGES: &[(&str, &str)] = pages![
    "accelsim",
    "applications",
    "checkpoints",
    "cli",
    "cuda",
    "diagnosis",
    "energy",
    "experiments",
    "glossary",
    "gpus",
    "launch-files",
    "limitations",
    "options",
    "page",
    "profile",
    "ptx",
    "python",
    "ranges",
    "registers",
    "sampling",
    "sass",
    "slow-kernel",
    "speed",
    "standins",
    "timeline",
    "traces",
    "validation",
    "designs/comparison",
    "designs/functional",
    "designs/ghost",
    "designs/ideal",
    "designs/limits",
    "designs/load-slice",
    "designs/loog",
    "designs/modern",
    "designs/on-the-modern-core",
    "designs/occupancy",
    "designs/scalar-vector",
    "designs/sgmf",
    "designs/socgpu",
    "designs/war-boards",
    "designs/write-your-own",
    "results/ghost",
    "results/scalar-vector",
    "results/sgmf",
    "results/socgpu",
    "results/war-hazards",
];

/// The first heading of a page.
fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

/// Prints a page or the list.
pub fn run(args: &Args) -> Outcome {
    let Some(wanted) = &args.page else {
        let width = PAGES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let rows = PAGES.iter().map(|(name, text)| format!("{name:width$}  {}\n", title(text)));
        output::print(&rows.collect::<String>())?;
        return Ok(Exit::Success);
    };
    output::print(find(wanted)?)?;
    Ok(Exit::Success)
}

/// The page of a name, or of the path that other pages link to.
fn find(wanted: &str) -> Result<&'static str, Failure> {
    let path = Path::new(wanted);
    let name = path.strip_prefix("docs").unwrap_or(path).with_extension("");
    let found = PAGES.iter().find(|(known, _)| name == Path::new(known));
    found.map(|(_, text)| *text).ok_or_else(|| {
        let known: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
        Failure::unknown("page", wanted, &known)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    fn is_page(name: &str) -> bool {
        PAGES.iter().any(|(known, _)| *known == name)
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
    fn all_pages_of_the_checkout_are_there() {
        let docs = Path::new(ROOT).join("docs");
        let found = files(&docs, "md").into_iter().map(|path| {
            let name = path.strip_prefix(&docs).expect("it is within").with_extension("");
            name.to_str().expect("UTF-8").to_owned()
        });
        // Notes are for people who change the program.
        let found: BTreeSet<String> = found.filter(|name| !name.starts_with("notes/")).collect();
        assert_eq!(found, PAGES.iter().map(|(name, _)| (*name).to_owned()).collect());
        assert!(PAGES.iter().all(|(_, text)| !title(text).is_empty()));
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
}
