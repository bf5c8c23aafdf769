//! Account of the options of an imported configuration, as text.

use super::style::{BAD, FAINT, GOOD, HEADING, WARNING, styled};
use super::table::{Align, Table};
use config::import::{Import, OptionReport, Outcome};
use kit::text::counted;

/// Options by outcome; those that cannot be honoured come first, for the user to check.
pub fn render(import: &Import) -> String {
    let kinds = [("cannot honour", BAD), ("ignored", WARNING), ("understood", GOOD)];
    let mut sections = Vec::new();
    let mut counts = Vec::new();
    for (title, colour) in kinds {
        let options: Vec<_> = import.report.iter().filter(|o| kind(&o.outcome) == title).collect();
        counts.push(format!("{} {title}", options.len()));
        if !options.is_empty() {
            sections.push(format!("{}\n{}", styled(colour, title), table(&options)));
        }
    }
    sections.push(format!(
        "{}\n",
        styled(HEADING, format!("{}: {}", counted(import.report.len() as u64, "option"), counts.join(", ")))
    ));
    sections.join("\n")
}

fn kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::CannotHonour { .. } => "cannot honour",
        Outcome::Ignored(_) => "ignored",
        Outcome::Understood(_) => "understood",
    }
}

fn table(options: &[&OptionReport]) -> String {
    let mut table = Table::new([("", Align::Left), ("", Align::Left), ("", Align::Left), ("", Align::Left)]);
    for option in options {
        let at = option.at.as_ref().map_or_else(|| "default".to_owned(), |(file, line)| format!("{file}:{line}"));
        table.row(&[option.option.clone(), option.value.clone(), styled(FAINT, at), meaning(&option.outcome)]);
    }
    table.render()
}

fn meaning(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Understood(to) => to.clone(),
        Outcome::Ignored(why) => why.clone(),
        Outcome::CannotHonour { why, instead } => format!("{why}; instead: {instead}"),
    }
}
