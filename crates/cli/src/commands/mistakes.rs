//! Mistakes in a command line: what to write instead.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use kit::text::excerpt;
use request::name;
use std::ffi::OsString;
use std::path::Path;

/// The standard library's words for numbers that cannot be read, and ours.
const NUMBERS: [(&str, &str); 5] = [
    ("invalid digit found in string", "expected one whole number, such as 1000"),
    ("cannot parse integer from empty string", "expected one whole number, such as 1000"),
    ("number would be zero for non-zero type", "expected a whole number of at least 1"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
];

/// The text of a mistake, without the standard library's words, and without the heading that clap leaves of a suggestion
/// that has been taken away.
pub fn in_plain_words(text: &str) -> String {
    let is_empty_tip = |line: &str| line.trim_end().trim_end_matches("\x1b[0m").ends_with("tip:");
    let text: String = text.split_inclusive('\n').filter(|line| !is_empty_tip(line)).collect();
    NUMBERS.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// Replaces clap's tips by ours, where there is one.
pub fn advise(said: &mut clap::Error, words: &[OsString], grammar: &clap::Command) {
    let is_useless = matches!(said.get(ContextKind::Suggested), Some(ContextValue::StyledStrs(tips))
        // To write an unknown option as a value, which no command takes.
        if tips.iter().any(|tip| tip.to_string().contains("as a value, use")));
    match tip(said, words, grammar) {
        Some(tip) => {
            // Words of the user may be long.
            let tips = vec![StyledStr::from(kit::text::bounded(&tip))];
            said.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
            said.insert(ContextKind::SuggestedSubcommand, ContextValue::None);
        }
        None if is_useless => _ = said.insert(ContextKind::Suggested, ContextValue::None),
        None => {}
    }
}

fn tip(said: &clap::Error, words: &[OsString], grammar: &clap::Command) -> Option<String> {
    let text = |kind| match said.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let command = words.get(1)?.to_str()?;
    match said.kind() {
        ErrorKind::InvalidSubcommand => no_command(text(ContextKind::InvalidSubcommand)?, words),
        ErrorKind::UnknownArgument => {
            let of = grammar.find_subcommand(command)?;
            unknown_argument(text(ContextKind::InvalidArg)?, words, of)
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            value(text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?)
        }
        _ => None,
    }
}

/// A workload, or an option, in place of a command.
fn no_command(word: &str, words: &[OsString]) -> Option<String> {
    let shown = excerpt(word);
    if word == "resume" {
        let file = words.get(2).map_or("FILE".into(), |file| file.to_string_lossy());
        return Some(format!("to continue from a checkpoint: `warpwright run --resume {}`", excerpt(&file)));
    }
    let is_runnable = name::is_bundled(Path::new(word)) || Path::new(word).is_file();
    is_runnable.then(|| format!("to run it: `warpwright run {shown}`"))
}

fn unknown_argument(word: &str, words: &[OsString], of: &clap::Command) -> Option<String> {
    let shown = excerpt(word);
    let before = words.windows(2).find(|pair| pair[1].as_os_str() == word).and_then(|pair| pair[0].to_str());
    // Options with an optional value take it after an equals sign only.
    if let Some(option @ ("--json" | "--csv")) = before {
        return Some(format!("to write to a file: `{option}={shown}`"));
    }
    let has_option = |name: &str| of.get_arguments().any(|arg| arg.get_long() == Some(name));
    if word == "--page" && has_option("html") {
        return Some("the results as a page: `--html FILE`".to_owned());
    }
    if word.starts_with("--") {
        let is_argument = ["--gpu", "--gpus"].contains(&word) && of.get_positionals().any(|arg| arg.get_id() == "gpu");
        return is_argument.then(|| format!("the GPU has no option here: `warpwright {} NAME`", of.get_name()));
    }
    // A long option with one hyphen, of which clap names the first letter.
    if let Some(letter) = word.strip_prefix('-') {
        let is_cut = |given: &&str| given.strip_prefix('-').is_some_and(|rest| rest.starts_with(letter));
        let given = words.iter().filter_map(|word| word.to_str()).find(|given| is_cut(given) && given.len() > 2)?;
        let name = given.split('=').next().unwrap_or_default().trim_start_matches('-');
        let is_option =
            of.get_arguments().any(|arg| arg.get_long_and_visible_aliases().is_some_and(|all| all.contains(&name)));
        return is_option.then(|| format!("an option has two hyphens: `--{name}`"));
    }
    let command = of.get_name();
    if command == "exec" {
        return Some(format!("the program and its arguments follow `--`: `warpwright exec -- {shown}`"));
    }
    if let Some((option, what)) = name::option_of(word) {
        return Some(format!("`{shown}` is a {what}: `{option} {shown}`"));
    }
    if ["run", "profile", "timeline"].contains(&command) {
        return Some("`warpwright compare` takes several and shows them side by side".to_owned());
    }
    None
}

/// A value that an option does not take.
fn value(option: &str, value: &str) -> Option<String> {
    let option = option.split(' ').next()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = value.split(',').collect();
    if parts.len() > 1 && parts.iter().all(|part| is_number(part)) {
        let are_groups = parts[1..].iter().all(|part| part.len() == 3) && parts[0].len() <= 3;
        return if are_groups {
            Some(format!("without separators: `{option} {}`", excerpt(&parts.concat())))
        } else if option == "--seed" {
            Some(
                "a run has one seed; `warpwright compare --repeat 3` measures how much of a result is chance"
                    .to_owned(),
            )
        } else {
            Some(format!("`{option}` takes one value a run"))
        };
    }
    (option == "--size" && is_number(value)).then(|| {
        "`--param NAME=VALUE` sets a parameter of a workload (`warpwright list workloads` names them)".to_owned()
    })
}
