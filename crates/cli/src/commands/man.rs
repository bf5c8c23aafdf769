//! `warpwright man`: manual pages.

use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use clap::Command;
use clap_mangen::Man;
use std::path::PathBuf;

/// Print the manual page of a command, or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright man | man -l -
  warpwright man compare | man -l -
  warpwright man --dir ~/.local/share/man/man1")]
pub struct Args {
    /// Command, such as run or validate hardware [default: the program itself]
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Vec<String>,
    /// Folder to write a page of each command into; it is made if it does not exist
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints or writes the pages of `command`.
pub fn run(args: &Args, mut command: Command) -> Outcome {
    command.build();
    let Some(folder) = &args.dir else {
        let page = page(chosen(&command, &args.command)?)?;
        output::print(&String::from_utf8(page).map_err(Failure::failed)?)?;
        return Ok(Exit::Success);
    };
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::bad_input(format!("cannot make the folder `{}`: {e}", folder.display())))?;
    for command in all(&command) {
        output::save(&folder.join(format!("{}.1", name(command))), &page(command)?)?;
    }
    Ok(Exit::Success)
}

/// The command that `words` name within `command`.
fn chosen<'a>(command: &'a Command, words: &[String]) -> Result<&'a Command, Failure> {
    words.iter().try_fold(command, |command, word| {
        command.find_subcommand(word).ok_or_else(|| {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            Failure::unknown("command", word, &known)
        })
    })
}

/// `command` and all commands within it, without those that print help.
fn all(command: &Command) -> Vec<&Command> {
    let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    std::iter::once(command).chain(inner.flat_map(all)).collect()
}

/// `warpwright-run`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let man = Man::new(command.clone()).manual("Warpwright");
    man.render(&mut page).map_err(Failure::failed)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let mut command = crate::commands::grammar();
        command.build();
        let names: Vec<&str> = all(&command).into_iter().map(name).collect();
        for expected in ["warpwright", "warpwright-run", "warpwright-validate-hardware"] {
            assert!(names.contains(&expected), "{names:?}");
        }
        let page = String::from_utf8(page(chosen(&command, &["run".to_owned()]).unwrap()).unwrap()).unwrap();
        assert!(page.contains(".TH warpwright-run 1") && page.contains("livelock"), "{page}");
        let wrong = chosen(&command, &["rnu".to_owned()]).unwrap_err().message;
        assert!(wrong.contains("did you mean `run`?"), "{wrong}");
    }
}
