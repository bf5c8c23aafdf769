//! `warpwright completions`: a script with which a shell completes the command line.

use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::{Shell, generate};
use experiment::file;

/// Print the script with which a shell completes commands, options and names
///
/// Names are those that come with the program: workloads, GPUs, core designs, schedulers, experiments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright completions bash > ~/.local/share/bash-completion/completions/warpwright
  warpwright completions zsh > ~/.zfunc/_warpwright       (a folder of $fpath)
  warpwright completions fish > ~/.config/fish/completions/warpwright.fish
  warpwright completions powershell >> $PROFILE")]
pub struct Args {
    /// Shell that the script is for
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script for `command`.
pub fn run(args: &Args, command: Command) -> Outcome {
    let mut script = Vec::new();
    let mut command = named(command);
    let name = command.get_name().to_owned();
    generate(args.shell, &mut command, name, &mut script);
    output::print(&String::from_utf8(script).map_err(Failure::failed)?)?;
    Ok(Exit::Success)
}

/// `command` with the names that its arguments take as their values. Only shells may see it: paths are values too.
fn named(command: Command) -> Command {
    let command = command.mut_subcommands(named);
    let ids: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    ids.iter().fold(command, |command, id| match names(id, command.get_name()) {
        names if names.is_empty() => command,
        names => command.mut_arg(id, |arg| arg.value_parser(PossibleValuesParser::new(names))),
    })
}

/// The names that the argument `id` of a command takes.
fn names(id: &str, command: &str) -> Vec<&'static str> {
    let first =
        |list: &[(&'static str, &'static str)]| -> Vec<&'static str> { list.iter().map(|(name, _)| *name).collect() };
    match id {
        // Of `exec` these are names, too; `validate hardware` has no choice of GPUs.
        "gpu" | "gpus" if command != "hardware" => config::builtin().iter().map(|gpu| gpu.name).collect(),
        "core" | "cores" => first(lab::cores()),
        "over" => first(lab::cores()).into_iter().chain(first(lab::schedulers())).collect(),
        "scheduler" | "schedulers" => first(lab::schedulers()),
        "workload" | "workloads" => workloads::suite::ALL.iter().map(|workload| workload.name).collect(),
        "figure" => file::BUNDLED.iter().map(|(name, _)| *name).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shell_completes_names() {
        for &shell in Shell::value_variants() {
            let mut script = Vec::new();
            generate(shell, &mut named(crate::commands::grammar()), "warpwright", &mut script);
            let script = String::from_utf8(script).unwrap();
            let expected: &[&str] = match shell {
                // These complete options and commands only.
                Shell::Elvish | Shell::PowerShell => &["microbench", "livelock-cycles"],
                // And this one values of options.
                Shell::Fish => &["microbench", "livelock-cycles", "rtx2060s", "ghost-precise", "two_level"],
                _ => {
                    &["microbench", "livelock-cycles", "rtx2060s", "ghost-precise", "two_level", "hotspot", "war-fig5"]
                }
            };
            for word in expected {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
