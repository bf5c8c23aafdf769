//! `warpwright schema`: what the JSON of each command holds.

use crate::failure::{Exit, Failure, Outcome};
use crate::{output, schema};

/// Print the JSON Schema of the JSON that a command writes
///
/// The schema (draft 2020-12) has a description of each value and, where it has one, its `unit`; the statistics of a
/// run are listed by `warpwright list stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright schema run > run.schema.json
  warpwright schema validate-hardware
  warpwright schema")]
pub struct Args {
    /// Command whose JSON is meant: run, exec, compare, sweep, reproduce, list, inspect, microbench, validate-accelsim, validate-accelwattch, validate-hardware [default: any of them]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// Prints the schema.
pub fn run(args: &Args) -> Outcome {
    let schema = match &args.command {
        None => schema::of_all(),
        Some(name) => schema::of(name).ok_or_else(|| {
            let known: Vec<&str> = schema::COMMANDS.iter().map(|command| command.name).collect();
            Failure::unknown("schema", name, &known)
        })?,
    };
    let text = serde_json::to_string_pretty(&schema).map_err(Failure::failed)?;
    output::print(&(text + "\n"))?;
    Ok(Exit::Success)
}
