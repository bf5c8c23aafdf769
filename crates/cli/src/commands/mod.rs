//! The subcommands, one file each.

mod areas;
pub(crate) mod compare;
mod completions;
mod docs;
mod exec;
mod exec_split;
mod explain;
mod import_config;
mod inspect;
mod keeping;
mod licenses;
mod list;
mod man;
mod microbench;
mod mistakes;
mod new_design;
mod on_slurm;
mod profile;
mod reproduce;
mod results_folder;
mod resume;
mod run;
mod schema;
mod sweep;
mod timeline;
mod trace;
mod validate;

use crate::failure::Exit;
use crate::render::wrap;
use crate::{interrupt, output, version};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// A GPU core laboratory: real CUDA kernels, cycle by cycle, on a simulated GPU.
#[derive(Debug, Parser)]
#[command(
    name = "warpwright",
    version = version::TEXT,
    max_term_width = 100,
    after_help = "Examples:
  warpwright run matmul
  warpwright run bfs --gpu v100 --scheduler lrr --size medium
  warpwright compare matmul bfs --schedulers all
  warpwright exec -- ./hotspot 512 2 2 temp_512 power_512 output.out
  warpwright list

Exit status: 0 success, 1 wrong result, fault or deadlock, 2 bad input or usage, 130 Ctrl-C."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Profile(profile::Args),
    Timeline(timeline::Args),
    Exec(exec::Args),
    Trace(trace::Args),
    Compare(compare::Args),
    Sweep(sweep::Args),
    Reproduce(reproduce::Args),
    List(list::Args),
    Inspect(inspect::Args),
    ImportConfig(import_config::Args),
    Microbench(microbench::Args),
    Validate(validate::Args),
    NewDesign(new_design::Args),
    Schema(schema::Args),
    Docs(docs::Args),
    Explain(explain::Args),
    Completions(completions::Args),
    Man(man::Args),
    Licenses(licenses::Args),
}

/// The command line, for what is generated from it.
fn grammar() -> clap::Command {
    <CommandLine as CommandFactory>::command()
}

/// The command line of `words`, among which options of `run` may come again: the last ones count.
fn with_replacements(words: &[OsString]) -> Result<CommandLine, clap::Error> {
    let grammar = grammar().mut_subcommand("run", |run| run.args_override_self(true));
    CommandLine::from_arg_matches(&grammar.try_get_matches_from(words)?)
}

/// Does what the command line asks.
pub fn main() -> ExitCode {
    match std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&n| n > 0) {
        Some(columns) => wrap::set_columns(Some(columns)),
        None if !std::io::stdout().is_terminal() => wrap::keep_tables_whole(),
        None => {}
    }
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let mut parsed = CommandLine::try_parse_from(&words);
    let mut is_completed = false;
    if parsed.as_ref().is_err_and(|said| said.kind() == ErrorKind::MissingRequiredArgument) {
        match resume::completed(&words, &grammar()) {
            Ok(None) => {}
            Ok(Some(completed)) => {
                (words, is_completed) = (completed, true);
                parsed = with_replacements(&words);
            }
            Err(failure) => {
                output::error(&failure.message);
                return failure.exit.into();
            }
        }
    }
    let command = match parsed {
        Ok(line) => line.command,
        Err(said) => return usage(said, &words),
    };
    let outcome = match command {
        Command::Run(args) => run::run(&args, &words[1..], is_completed),
        Command::Profile(args) => profile::run(&args),
        Command::Timeline(args) => timeline::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::List(args) => list::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::ImportConfig(args) => import_config::run(&args),
        Command::Microbench(args) => microbench::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::NewDesign(args) => new_design::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Docs(args) => docs::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Completions(args) => completions::run(&args, grammar()),
        Command::Man(args) => man::run(&args, grammar()),
        Command::Licenses(_) => licenses::run(),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::error(&failure.message);
            // An interrupted command fails because the user ended it.
            if interrupt::requested() { Exit::Interrupted.into() } else { failure.exit.into() }
        }
    }
}

/// Prints help or the version, or what is wrong with the command line.
fn usage(mut said: clap::Error, words: &[OsString]) -> ExitCode {
    mistakes::advise(&mut said, words, &grammar());
    let text = said.render();
    if said.use_stderr() {
        // The command line may be very long, and is repeated.
        output::remark(&kit::text::bounded(&mistakes::in_plain_words(&text.ansi().to_string())));
        return Exit::BadInput.into();
    }
    match output::print(&text.ansi().to_string()) {
        Ok(()) => Exit::Success.into(),
        Err(failure) => {
            output::error(&failure.message);
            failure.exit.into()
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_well_formed() {
        super::grammar().debug_assert();
    }
}
