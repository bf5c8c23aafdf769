//! The JSON Schema of what commands write as JSON: description, unit and type of each value.
//!
//! Objects may get new keys, so that none is forbidden here. A test runs the commands and checks their JSON against the
//! schema with other keys forbidden: a key that is not described here fails it.

mod diagnosis;
mod files;
mod lists;
mod reports;
mod terms;
mod validation;

use serde_json::{Value, json};
use terms::{nullable, reference, text};

/// The JSON of a command.
pub struct Command {
    /// Name in `schema NAME` and in `$defs`.
    pub name: &'static str,
    schema: fn() -> Value,
}

/// All commands that write JSON.
pub const COMMANDS: &[Command] = &[
    Command { name: "run", schema: reports::run },
    Command { name: "exec", schema: reports::exec },
    Command { name: "compare", schema: reports::compare },
    Command { name: "sweep", schema: reports::sweep },
    Command { name: "reproduce", schema: reports::reproduce },
    Command { name: "list", schema: lists::lists },
    Command { name: "inspect", schema: files::inspect },
    Command { name: "microbench", schema: validation::microbench },
    Command { name: "validate-accelsim", schema: validation::accelsim },
    Command { name: "validate-accelwattch", schema: validation::accelwattch },
    Command { name: "validate-hardware", schema: validation::hardware },
];

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of the JSON of the command `name`.
pub fn of(name: &str) -> Option<Value> {
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    let title = format!("JSON of warpwright {}", name.replacen('-', " ", 1));
    Some(json!({
        "$schema": DRAFT,
        "title": title,
        "$ref": format!("#/$defs/{name}"),
        "$defs": with_shared(vec![(name.to_owned(), signed((command.schema)()))]),
    }))
}

/// The schema of the JSON of any command.
pub fn of_all() -> Value {
    let each = |command: &Command| (command.name.to_owned(), signed((command.schema)()));
    let any: Vec<Value> = COMMANDS.iter().map(|c| reference(c.name)).collect();
    json!({
        "$schema": DRAFT,
        "title": "JSON of warpwright",
        "anyOf": any,
        "$defs": with_shared(COMMANDS.iter().map(each).collect()),
    })
}

/// The definitions of commands, and those that they have in common.
fn with_shared(commands: Vec<(String, Value)>) -> Value {
    let shared =
        [("report", reports::report()), ("statistics", reports::statistics()), ("comparison", reports::comparison())];
    let shared = shared.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    Value::Object(commands.into_iter().chain(shared).collect())
}

/// The schema of a document, which has the program's commit too.
fn signed(mut schema: Value) -> Value {
    let commit = nullable(text("Commit that the program was built from."));
    let objects: Vec<&mut Value> = match schema.get_mut("anyOf") {
        Some(Value::Array(_)) => schema["anyOf"].as_array_mut().map(|all| all.iter_mut().collect()).unwrap_or_default(),
        _ => vec![&mut schema],
    };
    for object in objects {
        if let Some(properties) = object["properties"].as_object_mut() {
            properties.insert("commit".to_owned(), commit.clone());
        }
        if let Some(required) = object["required"].as_array_mut() {
            required.push("commit".into());
        }
    }
    schema
}
