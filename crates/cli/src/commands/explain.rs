//! `warpwright explain`: words of reports, from the list of statistics, the glossary and the tables of the diagnosis.

use super::{docs, list};
use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use crate::render::lists::{self, Lists, Named};
use kit::suggest;
use kit::text::excerpt;
use lab::StatInfo;
use lab::diagnosis::{ROOFS, RULES};
use render::summary;
use request::values;
use std::collections::BTreeSet;

/// Explain words of a report: statistics, stall reasons, labels, columns, causes
///
/// Takes each word as a report prints it. A label of several words needs no quotes by itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright explain raw_memory
  warpwright explain cycles of kernels
  warpwright explain l1d.read_merges 'limited by' sector")]
pub struct Args {
    /// Statistic, stall reason, label or column
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
}

/// Prints the meaning of each word.
pub fn run(args: &Args) -> Outcome {
    values::distinct("explain", &args.words)?;
    let (glossary, statistics) = (glossary(), lab::schema());
    let label = args.words.join(" ");
    let is_label = meanings(&label, &glossary, &statistics) != (vec![], vec![]);
    let words = if is_label { vec![label] } else { args.words.clone() };
    let (mut entries, mut places) = (BTreeSet::new(), BTreeSet::new());
    for word in &words {
        let (entry, statistic) = meanings(word, &glossary, &statistics);
        if entry.is_empty() && statistic.is_empty() {
            return Err(unknown(word, &glossary, &statistics));
        }
        entries.extend(entry);
        places.extend(statistic);
    }
    let explained = Lists {
        glossary: (!entries.is_empty()).then(|| entries.iter().map(|&at| glossary[at].clone()).collect()),
        stats: (!places.is_empty()).then(|| places.iter().map(|&at| statistics[at].clone()).collect()),
        ..Lists::default()
    };
    output::print(&lists::render(&explained, true))?;
    Ok(Exit::Success)
}

/// The rows of the page `glossary`, the rules of the diagnosis and its roofs.
fn glossary() -> Vec<Named> {
    let page = docs::text("glossary").unwrap_or_default();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let entry = |(name, meaning): (&str, &str)| Named { name: plain(name), description: plain(meaning) };
    let rows = rows.filter(|(name, _)| !["word", "---"].contains(name)).map(entry);
    let rules = RULES.iter().map(|rule| (rule.name, format!("cause of a diagnosis: {}", rule.description)));
    let roofs = ROOFS.iter().map(|(_, name, share)| (*name, format!("roof of a diagnosis: {share}")));
    rows.chain(rules.chain(roofs).map(|(name, description)| Named { name: name.to_owned(), description })).collect()
}

/// Markdown as plain text, without the marks of code and the targets of links.
fn plain(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let whole = parts.fold(first, |whole, part| whole + part.split_once(')').map_or(part, |(_, rest)| rest));
    whole.replace(['`', '['], "")
}

/// Positions of the glossary entries and the statistics for `word`. An entry has one word or several, with commas. If
/// there is an entry, statistics must match by name, label or a part of the name.
fn meanings(word: &str, glossary: &[Named], statistics: &[StatInfo]) -> (Vec<usize>, Vec<usize>) {
    let wanted = word.trim().to_lowercase();
    let is_meant = |entry: &Named| entry.name.split(", ").any(|one| one.to_lowercase() == wanted);
    let entries: Vec<usize> = (0..glossary.len()).filter(|&at| is_meant(&glossary[at])).collect();
    let statistics = list::statistics_named(word, statistics, entries.is_empty());
    (entries, statistics)
}

fn unknown(word: &str, glossary: &[Named], statistics: &[StatInfo]) -> Failure {
    let mut known: Vec<&str> = summary::labels().collect();
    known.extend(glossary.iter().flat_map(|entry| entry.name.split(", ")));
    // Reports print the last part of a name: the stall reason of `slots.`, the component of `energy.`.
    known.extend(statistics.iter().flat_map(|info| [&*info.name, info.name.rsplit('.').next().unwrap_or_default()]));
    let near = suggest::nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Failure::bad_input(format!(
        "no report has the word `{}`{near}\n  hint: `warpwright list stats` has all statistics, `warpwright docs glossary` all other words",
        excerpt(word)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glossary_is_read_whole_and_plain() {
        let entries = glossary();
        assert!(entries.len() > 20, "{}", entries.len());
        let marked = |text: &String| text.is_empty() || text.contains(['|', '`', '[', ']']);
        let odd = entries.iter().find(|entry| marked(&entry.name) || marked(&entry.description));
        assert!(odd.is_none(), "{odd:?}");
        assert_eq!(plain("a [b c](d.md#e) `f` [g](h)"), "a b c f g");
    }
}
